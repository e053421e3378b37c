"""Simulations that stay alive while a program talks to them."""
