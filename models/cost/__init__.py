"""Cost of hardware: area on a die, energy of buffers, clock in a process."""

from .area import DieArea, die_area, load_nodes, logic_area
from .clock import ProcessClock, clock_in_process, delay_factor, process_clock, process_of
from .memories import PUBLISHED, BufferCost, PublishedBuffer, buffer_cost, register_ports, second_opinion
from .units import UnitArea, unit_area

__all__ = ["PUBLISHED", "BufferCost", "DieArea", "ProcessClock", "PublishedBuffer", "UnitArea", "buffer_cost",
           "clock_in_process", "delay_factor", "die_area", "load_nodes", "logic_area", "process_clock", "process_of",
           "register_ports", "second_opinion", "unit_area"]
