"""Benches of arithmetic."""
