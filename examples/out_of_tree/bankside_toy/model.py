"""Functional model of the toy unit."""


def add(config, numbers):
    """Sums of an integer array."""
    return numbers + config.step & (1 << config.width) - 1
