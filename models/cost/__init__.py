"""Cost of hardware: area on a die."""

from .area import DieArea, die_area, load_nodes, logic_area

__all__ = ["DieArea", "die_area", "load_nodes", "logic_area"]
