"""Units of CENT's device."""

from .pnm import CentPnm
from .riscv import RiscvCluster

__all__ = ["CentPnm", "RiscvCluster"]
