"""Measurement records that come with the package: one JSON file each, written by ``make records``."""
