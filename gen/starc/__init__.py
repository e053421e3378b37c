"""STARC's unit."""
