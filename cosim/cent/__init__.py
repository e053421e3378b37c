"""Benches of CENT."""
