"""A unit and a system that are not of Bankside."""
