"""Area and timing of generated Verilog: Liberty libraries, mapping by Yosys, static timing analysis."""

from .flow import EFFORTS, Synthesis, synthesise
from .liberty import Library
from .libraries import available, from_file, get

__all__ = ["EFFORTS", "Library", "Synthesis", "available", "from_file", "get", "synthesise"]
