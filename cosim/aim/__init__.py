"""Benches of AiM channels."""
