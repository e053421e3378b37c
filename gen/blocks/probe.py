"""The window through which a queue shows a proof what it holds."""

from amaranth import *

__all__ = ["QueueProbe"]


class QueueProbe:
    """Contents of a queue as seen by a proof.

    Induction starts from an arbitrary state, so a proof of "the k-th item in is the k-th item out" must be able to say
    where the items lie in between. A unit makes one of these in its constructor and drives it under
    :py:`platform == "formal"` only; in every other netlist the signals have no driver and no reader, and don't exist.
    The proof does not trust it: each statement about it is proved together with the rest.

    Parameters
    ----------
    shape : :class:`ShapeLike`
        Shape of one item.
    capacity : :class:`int`
        Most items that the queue can hold.

    Attributes
    ----------
    level : :py:`Signal(range(capacity + 1))`
        Number of items held; driven by the unit.
    index : :py:`Signal(range(capacity))`
        Position that the proof asks about, 0 for the oldest item; driven by the proof.
    item : :py:`Signal(shape)`
        The item at position ``index``, for ``index < level``; driven by the unit, combinationally.
    """

    def __init__(self, shape, capacity):
        self.level = Signal(range(capacity + 1), name="probe_level")
        self.index = Signal(range(capacity), name="probe_index")
        self.item = Signal(shape, name="probe_item")
