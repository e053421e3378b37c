"""Measurements: making them, and keeping them as records."""
