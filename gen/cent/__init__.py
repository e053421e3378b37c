"""CENT's units."""
