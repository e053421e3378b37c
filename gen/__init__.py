"""Amaranth generators. Nothing here knows the models, the benches or the command line."""
