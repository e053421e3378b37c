"""Benches of STARC."""
