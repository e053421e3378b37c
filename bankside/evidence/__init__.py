"""Measurements: making them, keeping them as records, and explaining what rests on them."""
