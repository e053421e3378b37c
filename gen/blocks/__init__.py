"""Blocks that several units use: buffers between streams, and ports of AXI buses."""

from .axi import AxiLiteRegisters, AxiMemoryPort, AxiReader, AxiWriter
from .stream import ReplayBuffer, StreamFIFO, StreamRegister

__all__ = [
    "AxiLiteRegisters",
    "AxiMemoryPort",
    "AxiReader",
    "AxiWriter",
    "ReplayBuffer",
    "StreamFIFO",
    "StreamRegister",
]
