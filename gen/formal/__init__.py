"""Proofs about generated units: properties of streams, and a prover that needs nothing but the bundled Yosys."""

from .contracts import ReplayContract, StreamContract, StreamProtocol
from .probe import QueueProbe
from .prover import Result, prove

__all__ = ["QueueProbe", "ReplayContract", "Result", "StreamContract", "StreamProtocol", "prove"]
