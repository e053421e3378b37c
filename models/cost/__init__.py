"""Cost of hardware: area on a die, energy of buffers, clock in a process."""

from .area import DieArea, die_area, load_nodes, logic_area
from .clock import ProcessClock, clock_in_process, delay_factor, process_clock, process_of
from .memories import PUBLISHED, BufferCost, PublishedBuffer, buffer_cost, register_ports, second_opinion
from .ownership import (
    ControllerCost,
    controller_cost,
    development_usd,
    hourly_usd,
    load_costs,
    system_usd,
    tokens_per_usd,
)
from .units import UnitArea, unit_area

__all__ = [
    "PUBLISHED",
    "BufferCost",
    "ControllerCost",
    "DieArea",
    "ProcessClock",
    "PublishedBuffer",
    "UnitArea",
    "buffer_cost",
    "clock_in_process",
    "controller_cost",
    "delay_factor",
    "development_usd",
    "die_area",
    "hourly_usd",
    "load_costs",
    "load_nodes",
    "logic_area",
    "process_clock",
    "process_of",
    "register_ports",
    "second_opinion",
    "system_usd",
    "tokens_per_usd",
    "unit_area",
]
