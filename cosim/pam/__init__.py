"""Benches of PAM."""
