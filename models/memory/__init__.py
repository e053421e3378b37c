"""Timing and energy of a program on a memory, exact to the cycle and without unrolling loops."""

from .energy import energy_pj
from .engine import time_program
from .timing import Timing

__all__ = ["Timing", "energy_pj", "time_program"]
