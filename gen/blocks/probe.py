"""Signals through which a queue shows its contents to a proof."""

from amaranth import *

__all__ = ["QueueProbe"]


class QueueProbe:
    """Contents of a queue, for a proof.

    Induction starts from an arbitrary state. A proof of "the k-th item in is the k-th item out" must therefore know
    where the items are inside the queue. A unit creates a probe in its constructor and drives it only under
    :py:`platform == "formal"`. In every other netlist its signals have no driver and no reader, so they do not exist.
    The proof does not rely on the probe; it proves that the probe is right.

    Parameters
    ----------
    shape : :class:`ShapeLike`
        Shape of one item.
    capacity : :class:`int`
        Largest number of items that the queue can hold.

    Attributes
    ----------
    level : :py:`Signal(range(capacity + 1))`
        Number of items held. The unit drives it.
    index : :py:`Signal(range(capacity))`
        Position that the proof asks for; 0 is the oldest item. The proof drives it.
    item : :py:`Signal(shape)`
        The item at position ``index``, for ``index < level``. The unit drives it combinationally.
    """

    def __init__(self, shape, capacity):
        self.level = Signal(range(capacity + 1), name="probe_level")
        self.index = Signal(range(capacity), name="probe_index")
        self.item = Signal(shape, name="probe_item")
