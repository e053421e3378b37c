"""Benches of INF²."""
