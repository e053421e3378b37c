"""Blocks that several units use: buffers between streams."""

from .stream import ReplayBuffer, StreamFIFO, StreamRegister

__all__ = ["ReplayBuffer", "StreamFIFO", "StreamRegister"]
