"""Proofs about generated units: properties of streams, and a prover that needs nothing but the bundled Yosys."""

from .probe import QueueProbe

__all__ = ["QueueProbe"]
