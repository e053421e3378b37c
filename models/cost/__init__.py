"""Cost of hardware: area on a die, energy of buffers."""

from .area import DieArea, die_area, load_nodes, logic_area
from .memories import PUBLISHED, BufferCost, PublishedBuffer, buffer_cost
from .units import UnitArea, unit_area

__all__ = ["PUBLISHED", "BufferCost", "DieArea", "PublishedBuffer", "UnitArea", "buffer_cost", "die_area", "load_nodes",
           "logic_area", "unit_area"]
