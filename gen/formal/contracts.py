"""Contracts of streams as properties to prove: for any unit, for a queue, and for the replay buffer."""

import operator

from amaranth import *
from amaranth.hdl import Assert, Assume, Cover
from amaranth.lib import stream, wiring

__all__ = ["ReplayContract", "StreamContract", "StreamProtocol"]


class StreamProtocol(Elaboratable):
    """Any unit in an environment that obeys the rules of streams but is otherwise free.

    The proof assumes for every input stream: once valid, it stays valid with the same payload until the item is
    transferred. It proves the same for every output stream. Reset, ``ready`` of the outputs, and all other inputs may
    change at any time. Assertions that the unit itself makes under :py:`platform == "formal"` are also proved. For each
    stream a transfer must be reachable, and for each output stream also a stalled item. Otherwise the proof says
    nothing.

    Parameters
    ----------
    dut : :class:`wiring.Component`
        The unit, in the ``sync`` domain.
    invariants : :class:`dict` of :class:`str` to :class:`ValueLike`
        Further properties to prove in every cycle, by name. They are expressions of the unit's ports and public
        signals.
    assumptions : :class:`dict` of :class:`str` to :class:`ValueLike`
        Restrictions on the environment in every cycle, by name.
    covers : :class:`dict` of :class:`str` to :class:`ValueLike`
        Situations that must be reachable, by name.

    Attributes
    ----------
    ports : :class:`list` of :class:`Signal`
        The free inputs.
    least_depth : :class:`int`
        Least number of cycles that the prover must look ahead to reach every cover.

    Raises
    ------
    :exc:`TypeError`
        If ``dut`` is not a component.
    """

    def __init__(self, dut, *, invariants=None, assumptions=None, covers=None):
        if not isinstance(dut, wiring.Component):
            raise TypeError(f"Unit must be a wiring.Component, not {dut!r}")
        self.dut = dut
        self.invariants = dict(invariants or {})
        self.assumptions = dict(assumptions or {})
        self.covers = dict(covers or {})
        self.least_depth = 0
        self.inputs = list(_streams(dut, wiring.In))
        self.outputs = list(_streams(dut, wiring.Out))
        self.ports = []
        for _, member, port in dut.signature.flatten(dut):
            if member.flow is wiring.In and not isinstance(port, Const):
                self.ports.append(Value.cast(port))

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = self.dut

        for name, port in self.inputs:
            m.d.comb += Assume(_is_stable(m, name, port), f"{name} is stable while stalled")
            m.d.comb += Cover(port.valid & port.ready, f"{name} transfers an item")
        for name, port in self.outputs:
            m.d.comb += Assert(_is_stable(m, name, port), f"{name} is stable while stalled")
            m.d.comb += Cover(port.valid & port.ready, f"{name} transfers an item")
            if not isinstance(port.ready, Const):
                m.d.comb += Cover(port.valid & ~port.ready, f"{name} is stalled")
        for name, value in self.assumptions.items():
            m.d.comb += Assume(value, name)
        for name, value in self.invariants.items():
            m.d.comb += Assert(value, name)
        for name, value in self.covers.items():
            m.d.comb += Cover(value, name)

        return m


class StreamContract(StreamProtocol):
    """A queue: every item accepted on ``i`` leaves on ``o``, once, in order and in time.

    The queue *holds* the items that it has accepted and not yet delivered. These properties are proved in addition to
    :class:`StreamProtocol`:

    * The queue offers nothing while it holds nothing.
    * It never holds more than ``depth`` items. It accepts an item whenever it holds fewer than ``depth``.
    * The k-th item offered is the k-th item accepted, passed through ``function``.
    * The oldest item is offered ``latency`` cycles after it was accepted, or, if later, ``interval`` cycles after the
      previous item left. With ``exact``, it is not offered earlier than ``latency`` cycles after it was accepted.
    * With ``sustained``, an item is accepted in every cycle as long as the consumer has not stalled since reset.

    The k-th item stands for any item: the proof follows an item that the free input ``follow`` picks. For induction to
    close, the unit must show the position of this item through a :class:`QueueProbe` in its attribute ``probe``.

    Parameters
    ----------
    dut : :class:`wiring.Component`
        The queue, with streams ``i`` and ``o``.
    depth : :class:`int`
        Number of items that the queue can hold; by default :py:`dut.depth`.
    latency : :class:`int`
        Cycles from acceptance to offer, at least 1; by default :py:`dut.latency`.
    interval : :class:`int`
        Cycles from one item's departure to the next item's offer, at least 1.
    exact : :class:`bool`
        Whether ``latency`` is also the smallest latency.
    sustained : :class:`bool`
        Whether the queue promises one item per cycle.
    function : callable
        Computes the payload of ``o`` from the payload of ``i``; by default both are the same.
    **properties
        ``invariants``, ``assumptions`` and ``covers`` of :class:`StreamProtocol`.

    Raises
    ------
    :exc:`TypeError`
        If ``dut`` is not a component with streams ``i`` and ``o``, or a number is not an integer.
    :exc:`ValueError`
        If a number is less than 1.
    """

    def __init__(
        self, dut, *, depth=None, latency=None, interval=1, exact=True, sustained=True, function=None, **properties
    ):
        super().__init__(dut, **properties)
        if "i" not in dict(self.inputs) or "o" not in dict(self.outputs):
            raise TypeError(f"Queue must be a component with an input stream i and an output stream o, not {dut!r}")
        self.depth = _at_least_1("Depth", dut.depth if depth is None else depth)
        self.latency = _at_least_1("Latency", dut.latency if latency is None else latency)
        self.interval = _at_least_1("Interval", interval)
        self.exact = bool(exact)
        self.sustained = bool(sustained)
        self.function = function or (lambda payload: payload)
        self.follow = Signal()
        self.ports.append(self.follow)
        self.least_depth = (self.depth + 2) * self.interval + self.latency + 2

    def elaborate(self, platform):
        m = super().elaborate(platform)
        i, o = self.dut.i, self.dut.o

        push = Signal()
        pop = Signal()
        held = Signal(range(self.depth + 2))  # can count one item too many, so that an error shows
        m.d.comb += push.eq(i.valid & i.ready)
        m.d.comb += pop.eq(o.valid & o.ready)
        m.d.sync += held.eq(held + push - pop)
        m.d.comb += [
            Assert(~o.valid | (held != 0), "nothing is offered while nothing is held"),
            Assert(held <= self.depth, "no more than depth items are held"),
            Assert((held == self.depth) | i.ready, "an item is accepted whenever fewer than depth are held"),
            Cover(held == self.depth, "the queue is full"),
        ]

        followed = _Followed(m, self.follow, push, pop, held, self.depth, self.function(i.payload))
        front = followed.active & (followed.ahead == 0)
        m.d.comb += [
            Assert(
                ~(front & o.valid) | (Value.cast(o.payload) == followed.value),
                "the k-th item offered is the k-th accepted",
            ),
            Cover(front & pop, "the followed item is delivered"),
        ]

        # Both counters stop at the value that the assertions need.
        age = Signal(range(self.latency + 1))  # cycles since the followed item was accepted
        since = Signal(range(self.interval + 1), init=self.interval)  # cycles since the last delivery
        with m.If(followed.start):
            m.d.sync += age.eq(1)
        with m.Elif(age != self.latency):
            m.d.sync += age.eq(age + 1)
        with m.If(pop):
            m.d.sync += since.eq(1)
        with m.Elif(since != self.interval):
            m.d.sync += since.eq(since + 1)
        m.d.comb += Assert(
            ~(front & (age == self.latency) & (since == self.interval)) | o.valid,
            "an item is offered after latency cycles at the latest",
        )
        if self.exact:
            m.d.comb += Assert(
                ~(front & o.valid) | (age == self.latency), "an item is offered after latency cycles at the earliest"
            )

        if self.sustained:
            flowing = Signal(init=1)
            with m.If(~o.ready):
                m.d.sync += flowing.eq(0)
            m.d.comb += Assert(~(flowing & o.ready) | i.ready, "an item is accepted in every cycle without stalls")

        followed.compare(m, getattr(self.dut, "probe", None), held)

        return m


class ReplayContract(StreamProtocol):
    """A replay buffer: a read at a position gives the entry at that position, for as long as the entry is present.

    These properties are proved in addition to :class:`StreamProtocol`, for a unit with the ports of
    :class:`ReplayBuffer`:

    * ``available`` counts the entries accepted and not yet released, at most ``depth``.
    * An entry is accepted whenever fewer than ``depth`` are present. At depth 1, an entry is also accepted while the
      only one is released.
    * ``data`` is the entry at the position read, from the cycle after a read to the cycle after the next read.

    The properties hold for any entry: the proof follows an entry that the free input ``follow`` picks.

    Parameters
    ----------
    dut : :class:`ReplayBuffer`
        The unit.
    **properties
        ``invariants``, ``assumptions`` and ``covers`` of :class:`StreamProtocol`.

    Raises
    ------
    :exc:`TypeError`
        If ``dut`` is not a component with a stream ``i``.
    """

    def __init__(self, dut, **properties):
        super().__init__(dut, **properties)
        if "i" not in dict(self.inputs):
            raise TypeError(f"Replay buffer must be a component with an input stream i, not {dut!r}")
        self.depth = dut.depth
        self.follow = Signal()
        self.ports.append(self.follow)
        self.least_depth = self.depth + 6

    def elaborate(self, platform):
        m = super().elaborate(platform)
        dut = self.dut

        push = Signal()
        pop = Signal()
        held = Signal(range(self.depth + 2))
        m.d.comb += push.eq(dut.i.valid & dut.i.ready)
        m.d.comb += pop.eq(dut.release & (held != 0))
        m.d.sync += held.eq(held + push - pop)
        m.d.comb += [
            Assert(dut.available == held, "available counts the entries present"),
            Assert(held <= self.depth, "no more than depth entries are present"),
            Assert((held == self.depth) | dut.i.ready, "an entry is accepted whenever fewer than depth are present"),
            Cover(held == self.depth, "the buffer is full"),
            Cover(push & pop, "an entry is accepted while another is released"),
        ]

        if self.depth == 1:
            m.d.comb += Assert(~pop | dut.i.ready, "an entry is accepted while the only one is released")

        followed = _Followed(m, self.follow, push, pop, held, self.depth, dut.i.payload)
        expected = Signal.like(followed.value)
        expects = Signal()
        releases = Signal()  # whether an entry was released in the cycle of the read
        with m.If(dut.read):
            m.d.sync += expects.eq(followed.active & (dut.offset == followed.ahead))
            m.d.sync += expected.eq(followed.value)
            m.d.sync += releases.eq(pop)
        m.d.comb += [
            Assert(~expects | (Value.cast(dut.data) == expected), "data is the entry at the position read"),
            Cover(expects & (expected != 0) & ~releases, "an entry is read"),
            Cover(expects & (expected != 0) & releases, "an entry is read in the cycle of a release"),
        ]

        followed.compare(m, getattr(dut, "probe", None), held)

        return m


class _Followed:
    """One arbitrary item in a queue: whether there is one, its value, and the number of items ahead of it."""

    def __init__(self, m, follow, push, pop, held, depth, value):
        value = Value.cast(value)
        self.start = Signal(name="followed_start")
        self.active = Signal(name="followed_active")
        self.ahead = Signal(range(depth + 1), name="followed_ahead")
        self.value = Signal(value.shape(), name="followed_value")

        m.d.comb += self.start.eq(push & follow & ~self.active)
        with m.If(self.start):
            m.d.sync += self.active.eq(1)
            m.d.sync += self.ahead.eq(held - pop)
            m.d.sync += self.value.eq(value)
        with m.Elif(self.active & pop):
            m.d.sync += self.active.eq(self.ahead != 0)
            m.d.sync += self.ahead.eq(self.ahead - 1)
        m.d.comb += Assert(~self.active | (self.ahead < held), "the followed item is held")

    def compare(self, m, probe, held):
        """Prove that the unit's probe, if there is one, agrees with the followed item."""
        if probe is None:
            return
        m.d.comb += [
            probe.index.eq(self.ahead),
            Assert(probe.level == held, "the probe counts the items held"),
            Assert(~self.active | (Value.cast(probe.item) == self.value), "the probe shows the followed item"),
        ]


def _streams(component, flow):
    """Names and interfaces of the streams of :py:`component` in direction :py:`flow`, one by one in arrays too."""

    def walk(name, member, interface, dimensions):
        if dimensions:
            for index in range(dimensions[0]):
                yield from walk(f"{name}[{index}]", member, interface[index], dimensions[1:])
        elif isinstance(member.signature, stream.Signature):
            if member.flow is flow:
                yield name, interface
        else:
            for inner_name, inner in member.signature.members.items():  # already flipped if `member` is an input
                if inner.is_signature:
                    yield from walk(f"{name}.{inner_name}", inner, getattr(interface, inner_name), inner.dimensions)

    for name, member in component.signature.members.items():
        if member.is_signature:
            yield from walk(name, member, getattr(component, name), member.dimensions)


def _is_stable(m, name, port):
    """Whether an item of :py:`port` that was not transferred in the previous cycle is still offered."""
    prefix = "".join(char if char.isalnum() else "_" for char in name)
    payload = Value.cast(port.payload)
    stalled = Signal(name=f"{prefix}_was_stalled")
    last = Signal(payload.shape(), name=f"{prefix}_last_payload")
    m.d.sync += stalled.eq(port.valid & ~port.ready)
    m.d.sync += last.eq(payload)
    return ~stalled | (port.valid & (payload == last))


def _at_least_1(name, value):
    try:
        value = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {value!r}") from None
    if value < 1:
        raise ValueError(f"{name} must be at least 1, not {value!r}")
    return value
