"""Cost of hardware: area on a die."""

from .area import DieArea, die_area, load_nodes

__all__ = ["DieArea", "die_area", "load_nodes"]
