"""Buffers between streams, and the replay buffer, which supplies an operand repeatedly."""

import operator

from amaranth import *
from amaranth.hdl import Assert
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .probe import QueueProbe

__all__ = ["ReplayBuffer", "StreamFIFO", "StreamRegister"]


class StreamRegister(wiring.Component):
    """Register slice: two entries that cut a stream's forward and backward paths.

    ``o.valid``, ``o.payload`` and ``i.ready`` come from registers (``i.ready`` through one inverter). No path leads
    through this block within a cycle, in either direction.

    Timing: latency one cycle, throughput one item per cycle, even right after a stall.

    Parameters
    ----------
    shape : :class:`ShapeLike`
        Shape of the payload.

    Members
    -------
    i : :py:`In(stream.Signature(shape))`
        Items. Ready while the block holds fewer than two.
    o : :py:`Out(stream.Signature(shape))`
        The same items in the same order.

    Raises
    ------
    :exc:`TypeError`
        If ``shape`` is not shape-like.
    """

    def __init__(self, shape):
        self._shape = _check_shape(shape)
        self.probe = QueueProbe(shape, self.depth)

        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    @property
    def shape(self):
        return self._shape

    @property
    def depth(self):
        """Largest number of items held."""
        return 2

    @property
    def latency(self):
        """Cycles from accepting an item to offering it, if no older item is held."""
        return 1

    def elaborate(self, platform):
        m = Module()

        # An item goes straight to the output register unless this register is stalled. The producer sees a stall one
        # cycle late; `spare` takes the one item that arrives in between.
        spare = Signal(self._shape)
        spare_valid = Signal()
        m.d.comb += self.i.ready.eq(~spare_valid)

        with m.If(self.o.ready | ~self.o.valid):
            m.d.sync += self.o.valid.eq(self.i.valid | spare_valid)
            m.d.sync += self.o.payload.eq(Mux(spare_valid, spare, self.i.payload))
            m.d.sync += spare_valid.eq(0)
        with m.Elif(self.i.valid & self.i.ready):
            m.d.sync += spare.eq(self.i.payload)
            m.d.sync += spare_valid.eq(1)

        if platform == "formal":
            m.d.comb += [
                Assert(self.o.valid | ~spare_valid, "StreamRegister: the spare is used only behind an offered item"),
                self.probe.level.eq(self.o.valid + spare_valid),
                self.probe.item.eq(Mux(self.probe.index == 0, self.o.payload, spare)),
            ]

        return m


class StreamFIFO(wiring.Component):
    """First-in first-out queue in a memory with one write port and one synchronous read port.

    The queue holds ``depth`` items in ``depth`` words of storage. One word is the memory's read register. With
    ``output_register``, another word is the output register. The memory has ``rows`` rows. A row is never read and
    written in the same cycle. The behaviour of a two-port macro in that case therefore does not matter.

    Timing: an item accepted in cycle t is offered from cycle t + ``latency`` on, or, if later, from the cycle after the
    previous item left. ``latency`` is 3. Without ``output_register`` it is 2, and ``o.payload`` then carries the access
    time of the memory. Queues of one, two and three items consist of registers only and have latency 1, 1 and 2.
    Throughput is one item per cycle at every depth. ``i.ready`` depends on registers only, except at depth 1. There an
    item can be accepted while the previous one leaves, so ``i.ready`` follows ``o.ready`` within the cycle.

    Parameters
    ----------
    shape : :class:`ShapeLike`
        Shape of the payload.
    depth : :class:`int`
        Number of items that the queue can hold. At least 1; need not be a power of two.
    output_register : :class:`bool`
        Whether ``o.payload`` comes from a register. If not, it comes from the read port of the memory.

    Members
    -------
    i : :py:`In(stream.Signature(shape))`
        Items. Ready whenever the queue holds fewer than ``depth``.
    o : :py:`Out(stream.Signature(shape))`
        The same items in the same order.
    level : :py:`Out(range(depth + 1))`
        Number of items accepted and not yet delivered, anywhere in the queue.

    Raises
    ------
    :exc:`TypeError`
        If ``shape`` is not shape-like or ``depth`` is not an integer.
    :exc:`ValueError`
        If ``depth`` is less than 1.
    """

    def __init__(self, shape, depth, *, output_register=True):
        self._shape = _check_shape(shape)
        self._depth = _check_depth(depth)
        self._output_register = bool(output_register)
        self.probe = QueueProbe(shape, self._depth)

        super().__init__(
            {"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape)), "level": Out(range(self._depth + 1))}
        )

    @property
    def shape(self):
        return self._shape

    @property
    def depth(self):
        """Largest number of items held."""
        return self._depth

    @property
    def output_register(self):
        return self._output_register

    @property
    def latency(self):
        """Cycles from accepting an item to offering it, if no older item is held."""
        return {1: 1, 2: 1, 3: 2}.get(self._depth, 2 + self._output_register)

    @property
    def rows(self):
        """Rows of the memory; 0 if the queue consists of registers only."""
        # With the latency of a memory, fewer than four items in flight can't sustain one per cycle. And with fewer than
        # two rows, an item would have to enter a row in the cycle in which another item leaves it.
        return 0 if self._depth <= 3 else self._depth - 1 - self._output_register

    def elaborate(self, platform):
        m = Module()

        push = self.i.valid & self.i.ready
        pop = self.o.valid & self.o.ready
        m.d.sync += self.level.eq(self.level + push - pop)

        if self.rows:
            self._elaborate_memory(m, platform, push)
        else:
            self._elaborate_registers(m, platform)

        if platform == "formal":
            m.d.comb += Assert(self.probe.level == self.level, "StreamFIFO: level counts the items held")

        return m

    def _elaborate_registers(self, m, platform):
        # Behind a register slice, the single register holds the oldest item whenever the slice holds one that waits.
        parts = {1: [_Stage], 2: [StreamRegister], 3: [StreamRegister, _Stage]}[self._depth]
        parts = [part(self._shape) for part in parts]
        source = wiring.flipped(self.i)
        for index, part in enumerate(parts):
            m.submodules[f"part_{index}"] = part
            wiring.connect(m, source=source, part=part.i)
            source = part.o
        wiring.connect(m, source=source, sink=wiring.flipped(self.o))

        if platform == "formal":
            *behind, front = parts
            m.d.comb += front.probe.index.eq(self.probe.index)
            m.d.comb += self.probe.level.eq(sum(part.probe.level for part in parts))
            m.d.comb += self.probe.item.eq(front.probe.item)
            for part in behind:
                m.d.comb += part.probe.index.eq(self.probe.index - front.probe.level)
                m.d.comb += Assert(front.o.valid | part.i.ready, "StreamFIFO: ready whenever fewer than depth are held")
                with m.If(self.probe.index >= front.probe.level):
                    m.d.comb += self.probe.item.eq(part.probe.item)

    def _elaborate_memory(self, m, platform, push):
        m.submodules.memory = memory = Memory(shape=self._shape, depth=self.rows, init=[])
        write_port = memory.write_port()
        read_port = memory.read_port()

        # The read register of the memory is a pipeline stage of its own. An item moves from its row into `fetched` as
        # soon as the previous item has moved on. This frees the row.
        stored = Signal(range(self.rows + 1))
        fetched = Signal()
        take_fetched = Signal()
        fetch = Signal()
        m.d.comb += self.i.ready.eq(self.level != self._depth)
        m.d.comb += fetch.eq((stored != 0) & (~fetched | take_fetched))
        m.d.sync += stored.eq(stored + push - fetch)

        m.d.comb += write_port.data.eq(self.i.payload)
        m.d.comb += write_port.en.eq(push)
        with m.If(push):
            m.d.sync += write_port.addr.eq(_following(write_port.addr, self.rows))

        m.d.comb += read_port.en.eq(fetch)
        with m.If(fetch):
            m.d.sync += read_port.addr.eq(_following(read_port.addr, self.rows))
            m.d.sync += fetched.eq(1)
        with m.Elif(take_fetched):
            m.d.sync += fetched.eq(0)

        if self._output_register:
            m.d.comb += take_fetched.eq(self.o.ready | ~self.o.valid)
            with m.If(take_fetched):
                m.d.sync += self.o.valid.eq(fetched)
                m.d.sync += self.o.payload.eq(read_port.data)
        else:
            m.d.comb += take_fetched.eq(self.o.ready)
            m.d.comb += self.o.valid.eq(fetched)
            m.d.comb += self.o.payload.eq(read_port.data)

        if platform == "formal":
            # Oldest first: the output register, the read register, then the rows.
            stages = [(self.o.valid, self.o.payload)] if self._output_register else []
            stages.append((fetched, read_port.data))
            row = Signal(range(self._depth))
            m.d.comb += row.eq(self.probe.index - sum(valid for valid, _ in stages))
            probe_port = memory.read_port(domain="comb")
            m.d.comb += probe_port.addr.eq(_offset(read_port.addr, row, self.rows))
            m.d.comb += self.probe.item.eq(probe_port.data)
            position = 0
            for valid, item in stages:
                with m.If(valid & (self.probe.index == position)):
                    m.d.comb += self.probe.item.eq(item)
                position = position + valid
            m.d.comb += self.probe.level.eq(stored + position)
            m.d.comb += [
                Assert(stored <= self.rows, "StreamFIFO: the rows suffice"),
                Assert(read_port.addr < self.rows, "StreamFIFO: the read address is a row"),
                Assert(
                    write_port.addr == _offset(read_port.addr, stored, self.rows),
                    "StreamFIFO: the rows in use are those from the read to the write address",
                ),
                Assert(
                    ~(push & fetch & (read_port.addr == write_port.addr)),
                    "StreamFIFO: no row is read and written in one cycle",
                ),
            ]


class _Stage(wiring.Component):
    """One register: latency one cycle, one item per cycle; ``i.ready`` follows ``o.ready`` within the cycle."""

    def __init__(self, shape):
        self._shape = shape
        self.probe = QueueProbe(shape, 1)

        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform):
        m = Module()

        m.d.comb += self.i.ready.eq(self.o.ready | ~self.o.valid)
        with m.If(self.i.ready):
            m.d.sync += self.o.valid.eq(self.i.valid)
            m.d.sync += self.o.payload.eq(self.i.payload)

        if platform == "formal":
            m.d.comb += self.probe.level.eq(self.o.valid)
            m.d.comb += self.probe.item.eq(self.o.payload)

        return m


class ReplayBuffer(wiring.Component):
    """Circular buffer: a stream fills it, reads are random, entries are released in order.

    It serves an operand that is used many times, such as the queries of a query group. Entries arrive on ``i``. The
    datapath reads any present entry any number of times, and frees the oldest one with ``release``. Positions count
    from the oldest entry, so each release moves all entries up by one position.

    Timing: an entry accepted in cycle t is counted in ``available`` and can be read from cycle t + 1 on. ``data`` is
    valid in the cycle after ``read``. One read per cycle is possible. A release takes effect in the next cycle. In its
    own cycle ``offset`` still counts from the released entry, which may be read one last time. The buffer can accept
    one entry and release one entry in every cycle. ``i.ready`` is ``available != depth`` and depends on registers only,
    except at depth 1. There ``release`` makes the buffer ready within the cycle. A row is never read and written in the
    same cycle, as long as only present entries are read.

    Parameters
    ----------
    shape : :class:`ShapeLike`
        Shape of an entry.
    depth : :class:`int`
        Number of entries. At least 1; need not be a power of two.

    Members
    -------
    i : :py:`In(stream.Signature(shape))`
        Entries, oldest first.
    read : :py:`In(1)`
        Strobe: read the entry at ``offset``.
    offset : :py:`In(range(max(2, depth)))`
        Position of the entry to read, 0 for the oldest; sampled with ``read``. If ``offset >= available``, the value
        read is unspecified. A read has no other effect.
    release : :py:`In(1)`
        Strobe: free the oldest entry. Ignored while ``available`` is 0.
    available : :py:`Out(range(depth + 1))`
        Number of entries present.
    data : :py:`Out(shape)`
        The entry that was read last. It changes only in the cycle after ``read``.

    Raises
    ------
    :exc:`TypeError`
        If ``shape`` is not shape-like or ``depth`` is not an integer.
    :exc:`ValueError`
        If ``depth`` is less than 1.
    """

    #: Cycles from ``read`` to ``data``.
    LATENCY = 1

    def __init__(self, shape, depth):
        self._shape = _check_shape(shape)
        self._depth = _check_depth(depth)
        self.probe = QueueProbe(shape, self._depth)

        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "read": In(1),
                "offset": In(range(max(2, self._depth))),  # a port has at least one bit
                "release": In(1),
                "available": Out(range(self._depth + 1)),
                "data": Out(shape),
            }
        )

    @property
    def shape(self):
        return self._shape

    @property
    def depth(self):
        """Largest number of entries held."""
        return self._depth

    @property
    def rows(self):
        """Rows of the memory."""
        return max(2, self._depth)  # at depth 1 the new entry must not overwrite the one being read

    def elaborate(self, platform):
        m = Module()

        m.submodules.memory = memory = Memory(shape=self._shape, depth=self.rows, init=[])
        write_port = memory.write_port()
        read_port = memory.read_port()

        push = Signal()
        pop = Signal()
        oldest = Signal(range(self.rows))
        m.d.comb += push.eq(self.i.valid & self.i.ready)
        m.d.comb += pop.eq(self.release & (self.available != 0))
        m.d.comb += self.i.ready.eq(self.available != self._depth)
        if self._depth == 1:
            with m.If(self.release):
                m.d.comb += self.i.ready.eq(1)
        m.d.sync += self.available.eq(self.available + push - pop)

        m.d.comb += write_port.data.eq(self.i.payload)
        m.d.comb += write_port.en.eq(push)
        with m.If(push):
            m.d.sync += write_port.addr.eq(_following(write_port.addr, self.rows))
        with m.If(pop):
            m.d.sync += oldest.eq(_following(oldest, self.rows))

        m.d.comb += read_port.en.eq(self.read)
        m.d.comb += read_port.addr.eq(_offset(oldest, self.offset, self.rows))
        m.d.comb += self.data.eq(read_port.data)

        if platform == "formal":
            probe_port = memory.read_port(domain="comb")
            m.d.comb += [
                probe_port.addr.eq(_offset(oldest, self.probe.index, self.rows)),
                self.probe.item.eq(probe_port.data),
                self.probe.level.eq(self.available),
                Assert(oldest < self.rows, "ReplayBuffer: the oldest entry has a row"),
                Assert(
                    write_port.addr == _offset(oldest, self.available, self.rows),
                    "ReplayBuffer: the rows in use are those from the oldest entry to the write address",
                ),
                Assert(
                    ~(push & self.read & (self.offset < self.available) & (read_port.addr == write_port.addr)),
                    "ReplayBuffer: no entry present is overwritten while it is read",
                ),
            ]

        return m


def _following(address, rows):
    """The row after :py:`address`, cyclically."""
    return Mux(address == rows - 1, 0, address + 1)


def _offset(address, offset, rows):
    """The row :py:`offset` (0 to :py:`rows`) rows after :py:`address`, cyclically."""
    total = address + offset
    return Mux(total >= rows, total - rows, total)


def _check_shape(shape):
    try:
        Shape.cast(shape)
    except TypeError:
        raise TypeError(f"Shape must be a shape-like object, not {shape!r}") from None
    return shape


def _check_depth(depth):
    try:
        if isinstance(depth, bool):
            raise TypeError
        depth = operator.index(depth)
    except TypeError:
        raise TypeError(f"Depth must be an integer, not {depth!r}") from None
    if depth < 1:
        raise ValueError(f"Depth must be at least 1, not {depth!r}")
    return depth
