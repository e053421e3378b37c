"""Units that several processing units share: buffers between streams."""

from .stream import ReplayBuffer, StreamFIFO, StreamRegister

__all__ = ["ReplayBuffer", "StreamFIFO", "StreamRegister"]
