"""Operators of floating-point arithmetic."""
