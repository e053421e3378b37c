"""Benches of LoL-PIM."""
