# amaranth: UnusedElaboratable=no
"""Order of accesses to one memory: row hits first, then the oldest token whose bank is ready."""

from functools import reduce
from operator import or_
from typing import NamedTuple

from amaranth import *
from amaranth.hdl import Assert
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...constraints.pam.interface import MemorySide
from ..blocks.ports import payload
from ..blocks.priority import lowest

__all__ = ["AccessScheduler", "access_layout", "location_layout"]


def _bits(size):
    """Bits of a number below ``size``, a power of two; 0 bits for 1."""
    return (size - 1).bit_length()


def _port(size):
    """As :func:`_bits`, but at least one bit, for a port."""
    return max(1, _bits(size))


def place_fields(side, token_bytes):
    """Fields of a token's place: group and slot."""
    return {field.name: field.bits for field in side.place_fields(token_bytes)}


def location_layout(side):
    """Layout of an access's location."""
    return payload(side.location_layout)


def access_layout(side, token_bytes, ref):
    """One access: its location, its number within the token, and whether it is the token's last."""
    return data.StructLayout(
        {
            "location": location_layout(side),
            "access": _port(side.layout.accesses_of_token(token_bytes)),
            "last": 1,
            "ref": ref,
        }
    )


class _Map:
    """Address map of a side. Each bit of an address is one bit of a token's number or of an access's number."""

    def __init__(self, side, token_bytes):
        layout = side.layout
        self.index_bits = _bits(layout.slots_of_bank(token_bytes))
        self.count_bits = _bits(layout.part_accesses(token_bytes))
        self.column_bits = _bits(side.columns)
        self.region_bits = _bits(layout.region_rows())
        self.parts = layout.parts()
        self.fragments = side.fragments(token_bytes)
        self.bank_bits, self.group_bits, self._lock = _bits(side.banks), _bits(side.groups), _bits(side.lockstep)
        self._window_bits = _bits(side.windows)
        self.row_bits = self.region_bits + (self.parts == 2)
        #: per region: source of each bit of the access number within the region, lowest first
        self.sources = []
        for part in range(self.parts):
            run, tile = _bits(layout.run(part, token_bytes)), min(_bits(side.tile_tokens), self.index_bits)
            low = [("access", bit) for bit in range(run)]
            token = [("index", bit) for bit in range(tile)]
            piece = [("access", bit) for bit in range(run, self.count_bits)]
            block = [("index", bit) for bit in range(tile, self.index_bits)]
            self.sources.append(low + token + piece + block)
            assert len(self.sources[-1]) == self.column_bits + self.region_bits
        #: per region: bits of the access number that count through the accesses of one row, lowest first
        self.counted = [
            [bit for name, bit in sources[: self.column_bits] if name == "access"] for sources in self.sources
        ]
        self.step_bits = max(1, *map(len, self.counted))

    def address(self, index, access):
        """Row and column of an access of token ``index``."""

        def bits(part):
            named = {"index": index, "access": access}
            return Cat(named[name][bit] for name, bit in self.sources[part])

        if self.parts == 1:
            linear, part = bits(0), Const(0, 0)
        else:
            part = access[self.count_bits]
            linear = Mux(part, bits(1), bits(0))
        return Cat(linear[self.column_bits :], part), linear[: self.column_bits]

    def walk(self, part, step, access_bits):
        """Offset from the number of a row's first access, after ``step`` accesses."""
        counted = self.counted[part]
        return Cat(step[counted.index(bit)] if bit in counted else 0 for bit in range(access_bits))

    def upper(self, group):
        """A group's number, without the bits that tell groups in lockstep apart."""
        return group[self._lock : self.group_bits]

    def state(self, bank, group):
        """Number of the bank among the banks that have a row of their own."""
        return Cat(bank[: self.bank_bits], self.upper(group))

    def window(self, state):
        """Rank of a bank."""
        return state[len(state) - self._window_bits :]

    def matches(self, part, first, index, row):
        """Whether access ``first`` of token ``index`` lies in ``row``.

        Only the bits of ``first`` that select the row matter. Returns two conditions, which must both hold. One depends
        on the token, the other on the access.
        """
        by_token, by_access = Const(1), Const(1)
        for position, (name, bit) in enumerate(self.sources[part][self.column_bits :]):
            if name == "index":
                by_token &= row[position] == index[bit]
            else:
                by_access &= row[position] == first >> bit & 1
        if self.parts == 2:
            by_access &= row[self.region_bits] == part
        return by_token, by_access


class _Lane:
    """A row in access."""

    def __init__(self, number, access, index, step_bits):
        def signal(shape, name, **more):
            return Signal(shape, name=f"{name}_{number}", **more)

        self.busy, self.now = signal(1, "busy"), signal(access, "now", reset_less=True)
        self.index, self.first = (
            signal(like.shape(), name, reset_less=True)
            for like, name in ((index, "now_index"), (self.now.access, "first"))
        )
        self.step, self.left = (
            signal(step_bits, "step"),
            signal(step_bits, "left"),
        )  # accesses before and after this one
        self.access = signal(self.first.shape(), "access")
        self.done, self.free = signal(1, "done"), signal(1, "free")


class _Tokens(NamedTuple):
    """The tokens held, by place.

    Attributes
    ----------
    group, bank, index, ref : group, bank, number in the bank, and reference of the token
    pending : rows still to be accessed; if there is none, the place is free
    older : tokens that arrived earlier
    opened, row : whether a row of the token's bank is open; the open row
    valid : one bit per place; 1 if the place is taken
    """

    group: list
    bank: list
    index: list
    ref: list
    pending: list
    older: list
    opened: list
    row: list
    valid: Signal


class _Banks(NamedTuple):
    """The banks.

    Attributes
    ----------
    open, row : whether a row is open; the open row
    wait : per bank, timer until it may open a row
    gaps : per rank, timer until it may open a row
    windows : per rank, timers of its last four openings; empty if the number of openings is not limited
    rest, recovery : initial values of ``wait`` after an opening and after a row's last access
    gap, window_rest : initial values of ``gaps`` and ``windows``
    """

    open: Array
    row: Array
    wait: list
    gaps: list
    windows: list
    rest: int
    recovery: int
    gap: int
    window_rest: int


class _Ahead(NamedTuple):
    """A chosen row that waits for its lane.

    Attributes
    ----------
    waits, opens : there is such a choice; it opens a row
    lane, left : its lane; accesses of the row after the first
    chosen, group, bank : its token
    choice : its row, among the rows of the token
    go : its lane is free
    """

    waits: Signal
    opens: Signal
    lane: Signal
    chosen: Signal
    group: Signal
    bank: Signal
    choice: Signal
    left: Signal
    go: Signal


class _Turn(NamedTuple):
    """The turns of the lanes.

    Attributes
    ----------
    shown, lane_next : lane whose access is offered; lane of the next choice
    busy, groups : per lane at the time of that choice, whether it is busy and the groups that it uses
    """

    shown: Signal
    lane_next: Signal
    busy: list
    groups: list


class _Row(NamedTuple):
    """The row of a choice: its token's index, pending rows and reference, its first access, its number, its bank."""

    index: Signal
    pending: Signal
    ref: Value
    first: Signal
    row: Signal
    state: Signal


class AccessScheduler(wiring.Component):
    """Takes tokens, and gives their accesses in a good order for the memory.

    The scheduler holds up to ``depth`` tokens. A token's accesses lie in one or more rows. The scheduler accesses up to
    two rows at a time and alternates between them access by access. The two rows lie in different groups, because a
    bank group takes accesses at half the rate of the bus. When a row's last access has left, the next row comes from a
    group without the other row. Two rules choose it:

    1. A row hit: the oldest token with an access to a row that is open in its bank. After ``hit_limit`` hits in
       succession, a token that may open a row goes first.
    2. Otherwise, the oldest token whose bank may open a row. It opens the first of its remaining rows.

    A bank may open a row if its last opening is ``bank_cycles`` ago, and the last access of its row is
    ``recovery_cycles`` ago. The limits of its rank must also hold. The open row of a bank is the row that this unit has
    requested last.

    The scheduler chooses the next row ahead of time, while others are accessed. The next row takes the place of the row
    that will end first, so its group differs from the group of the remaining row. A choice takes two cycles. It does
    not see the effects of the previous choice in its second cycle. It therefore excludes the token of the previous
    choice. In the cycle after a choice that opens a row, there is no choice.

    Timing: a token accepted in cycle t can be chosen in t + 1, and its first access is offered in t + 3. The scheduler
    offers one access per clock, even with one access per row.

    The functional model is ``bankside.models.pam.interface.SchedulerModel``, equal in every cycle.

    Source: PAM (MICRO 2025) section 6.2 (command-reorder unit). The rules are this project's.

    Parameters
    ----------
    side : :class:`MemorySide`
    token_bytes : :class:`int`
    depth : :class:`int`
    ref : :class:`ShapeLike`
        Shape of the reference that accompanies a token.
    bank_cycles : :class:`int`
        Clocks between two openings in a bank.
    recovery_cycles : :class:`int`
        Clocks from the last access of a row to the opening of another row in its bank.
    hit_limit : :class:`int`

    Members
    -------
    i : ``In(stream.Signature(...))``
        Tokens: ``group``, ``slot``, ``ref``.
    o : ``Out(stream.Signature(access_layout(side, token_bytes, ref)))``
        Accesses.
    """

    def __init__(self, side, token_bytes, depth, ref, *, bank_cycles, recovery_cycles, hit_limit):
        if not isinstance(side, MemorySide):
            raise TypeError(f"Side must be a MemorySide, not {side!r}")
        self._side, self._token_bytes, self._depth, self._ref = side, token_bytes, depth, ref
        self._bank_cycles, self._recovery_cycles, self._hit_limit = bank_cycles, recovery_cycles, hit_limit
        super().__init__(
            {
                "i": In(stream.Signature(data.StructLayout({**place_fields(side, token_bytes), "ref": ref}))),
                "o": Out(stream.Signature(access_layout(side, token_bytes, ref))),
            }
        )

    @property
    def depth(self):
        return self._depth

    def elaborate(self, platform):
        m = Module()
        mapping = _Map(self._side, self._token_bytes)
        tokens = self._tokens(m, mapping)
        banks = self._banks(m, mapping)
        lanes, ahead = self._lanes(m, mapping, tokens)
        turn = self._turn(m, mapping, lanes, ahead)
        hits, misses, choice = self._candidates(m, mapping, tokens, banks, lanes, ahead, turn)
        self._choose(m, tokens, ahead, turn, hits, misses, choice)
        found = self._row(m, mapping, tokens, ahead)
        for number, lane in enumerate(lanes):
            self._walk(m, mapping, number, lane, banks, ahead, turn, found)
        self._begin_row(m, mapping, tokens, banks, ahead, found)
        self._new_token(m, mapping, tokens, banks, ahead, found)
        if platform == "formal":
            chosen, choice = ahead.chosen, ahead.choice
            m.d.comb += [
                Assert((chosen & (chosen - 1)[: self._depth]) == 0, "AccessScheduler: at most one token is chosen"),
                Assert(~ahead.waits | ((choice & (choice - 1)[: len(choice)]) == 0), "AccessScheduler: of one row"),
                Assert(~ahead.waits | choice.any(), "AccessScheduler: a chosen token has something to do"),
            ]
        return m

    def _tokens(self, m, mapping):
        """Places for tokens."""
        depth, count = range(self._depth), len(mapping.fragments)
        tokens = _Tokens(
            group=[Signal(max(1, mapping.group_bits), name=f"group_{n}", reset_less=True) for n in depth],
            bank=[Signal(mapping.bank_bits, name=f"bank_{n}", reset_less=True) for n in depth],
            index=[Signal(mapping.index_bits, name=f"index_{n}", reset_less=True) for n in depth],
            ref=[Signal(self._ref, name=f"ref_{n}", reset_less=True) for n in depth],
            pending=[Signal(count, name=f"pending_{n}") for n in depth],
            older=[Signal(self._depth, name=f"older_{n}", reset_less=True) for n in depth],
            opened=[Signal(name=f"opened_{n}", reset_less=True) for n in depth],
            row=[Signal(mapping.row_bits, name=f"row_{n}", reset_less=True) for n in depth],
            valid=Signal(self._depth, name="valid"),
        )
        m.d.comb += tokens.valid.eq(Cat(p.any() for p in tokens.pending))
        return tokens

    def _banks(self, m, mapping):
        """Open rows, and timers. A row may be chosen when its timers are 0; the row opens a cycle later."""
        side, states = self._side, self._side.bank_states

        def timer(most, name):
            return Signal(max(1, most.bit_length()), name=name)

        rest, recovery, gap, window_rest = (
            max(0, cycles - 2)
            for cycles in (self._bank_cycles, self._recovery_cycles, side.activate_cycles, side.window_cycles)
        )
        banks = _Banks(
            open=Array(Signal(name=f"bank_open_{n}") for n in range(states)),
            row=Array(Signal(mapping.row_bits, name=f"bank_row_{n}", reset_less=True) for n in range(states)),
            wait=[timer(max(rest, recovery), f"bank_wait_{n}") for n in range(states)],
            gaps=[timer(gap, f"gap_{w}") for w in range(side.windows)],
            windows=[[timer(window_rest, f"window_{w}_{k}") for k in range(4)] for w in range(side.windows)]
            if side.window_cycles
            else [],
            rest=rest,
            recovery=recovery,
            gap=gap,
            window_rest=window_rest,
        )
        for running in (*banks.wait, *banks.gaps, *(one for window in banks.windows for one in window)):
            with m.If(running != 0):
                m.d.sync += running.eq(running - 1)
        return banks

    # ---- First cycle of a choice: which token -------------------------------------------------------------------------

    def _lanes(self, m, mapping, tokens):
        """Lanes for one or two rows in access, and the choice that waits for its lane."""
        side, index = self._side, tokens.index[0]
        lanes = [
            _Lane(n, self.o.p.shape(), index, mapping.step_bits)
            for n in range(1 if side.bank_states == side.banks else 2)
        ]
        ahead = _Ahead(
            waits=Signal(name="ahead"),
            opens=Signal(name="ahead_opens"),
            lane=Signal(name="ahead_lane"),
            chosen=Signal(self._depth, name="chosen"),
            group=Signal.like(tokens.group[0], name="ahead_group"),
            bank=Signal.like(tokens.bank[0], name="ahead_bank"),
            choice=Signal(len(mapping.fragments), name="ahead_choice", reset_less=True),
            left=Signal(mapping.step_bits, name="ahead_left"),
            go=Signal(name="go"),
        )
        finals = [(1 << len(bits)) - 1 for bits in mapping.counted]  # accesses of a row after the first
        if mapping.parts == 1:
            m.d.comb += ahead.left.eq(finals[0])
        else:
            of_value = Cat(ahead.choice[f] for f, fragment in enumerate(mapping.fragments) if fragment.part)
            m.d.comb += ahead.left.eq(Mux(of_value.any(), finals[1], finals[0]))
        return lanes, ahead

    def _turn(self, m, mapping, lanes, ahead):
        """The lane whose access is offered, and the lane of the next choice.

        When an access is taken, ``turn`` changes to the other lane. Otherwise ``turn`` keeps the offered lane, so an
        offer stays.
        """
        turn, shown, lane_next = Signal(name="turn"), Signal(name="shown"), Signal(name="lane_next")
        if len(lanes) == 1:
            return _Turn(shown, lane_next, [], [])
        m.d.comb += shown.eq(Mux(turn, lanes[1].busy | ~lanes[0].busy, ~lanes[0].busy & lanes[1].busy))
        with m.If(self.o.valid):
            m.d.sync += turn.eq(shown ^ self.o.ready)
        # Rows in access when the next choice takes effect. The next choice takes the lane of the row that ends first.
        coming = [ahead.waits & (ahead.lane == n) for n in range(2)]
        busy = [lane.busy | coming[n] for n, lane in enumerate(lanes)]
        left = [Mux(coming[n], ahead.left, lane.left) for n, lane in enumerate(lanes)]
        groups = [mapping.upper(Mux(coming[n], ahead.group, lane.now.location.group)) for n, lane in enumerate(lanes)]
        first_ends = Mux(left[0] == left[1], Mux(ahead.waits, ~ahead.lane, turn), left[1] < left[0])
        m.d.comb += lane_next.eq(busy[0] & (~busy[1] | first_ends))
        return _Turn(shown, lane_next, busy, groups)

    def _candidates(self, m, mapping, tokens, banks, lanes, ahead, turn):
        """Candidates of the next choice.

        ``hits`` are tokens with an access to an open row. ``misses`` are tokens whose bank may open a row. ``choice``
        is the row that each token would access.
        """
        side, count = self._side, len(mapping.fragments)
        bank_free = Array(wait == 0 for wait in banks.wait)
        window_free = Array(
            (banks.gaps[w] == 0) & (banks.windows[w][3] == 0 if banks.windows else 1) for w in range(side.windows)
        )
        hits, misses = Signal(self._depth, name="hits"), Signal(self._depth, name="misses")
        choice = [Signal(count, name=f"choice_{n}") for n in range(self._depth)]
        for n in range(self._depth):
            index, row, pending = tokens.index[n], tokens.row[n], tokens.pending[n]
            found = Signal(count, name=f"found_{n}")
            tags = [mapping.matches(part, 0, index, row)[0] for part in range(mapping.parts)]
            for f, fragment in enumerate(mapping.fragments):
                _, right = mapping.matches(fragment.part, fragment.accesses[0], index, row)
                m.d.comb += found[f].eq(pending[f] & tokens.opened[n] & tags[fragment.part] & right)
            place = Signal(_bits(side.bank_states), name=f"state_{n}")
            m.d.comb += place.eq(mapping.state(tokens.bank[n], tokens.group[n]))
            in_use = Cat(
                lane.busy & (place == mapping.state(lane.now.location.bank, lane.now.location.group)) for lane in lanes
            ).any()
            in_use = in_use | (ahead.waits & (place == mapping.state(ahead.bank, ahead.group)))
            free = bank_free[place] & window_free[mapping.window(place)] & ~in_use
            allowed = ~(ahead.waits & ahead.chosen[n])
            if len(lanes) == 2:
                beside = [turn.busy[k] & (mapping.upper(tokens.group[n]) == turn.groups[k]) for k in range(2)]
                allowed &= ~Mux(turn.lane_next, beside[0], beside[1])
            m.d.comb += [
                hits[n].eq(found.any() & allowed),
                misses[n].eq(tokens.valid[n] & ~found.any() & free & allowed),
                choice[n].eq(Mux(found.any(), found, pending & (~pending + 1)[:count])),
            ]
        return hits, misses, choice

    def _choose(self, m, tokens, ahead, turn, hits, misses, choice):
        """Choose the oldest hit. Choose the oldest miss if there is no hit, or if too many hits came before."""
        depth, older = self._depth, tokens.older
        run = Signal(range(self._hit_limit + 1), name="run")
        opens, oldest = Signal(name="opens"), Signal(depth, name="oldest")
        m.d.comb += opens.eq(~hits.any() | ((run == self._hit_limit) & misses.any()))
        # Find the oldest of both kinds in parallel, because ``opens`` is known late.
        m.d.comb += [
            oldest[n].eq(Mux(opens, misses[n] & ~(misses & older[n]).any(), hits[n] & ~(hits & older[n]).any()))
            for n in range(depth)
        ]
        with m.If(~ahead.waits | ahead.go):
            m.d.sync += ahead.waits.eq(0)
            with m.If(~(ahead.waits & ahead.opens) & (hits.any() | misses.any())):
                m.d.sync += [
                    ahead.waits.eq(1),
                    ahead.opens.eq(opens),
                    ahead.lane.eq(turn.lane_next),
                    ahead.chosen.eq(oldest),
                    ahead.group.eq(_pick(oldest, tokens.group)),
                    ahead.bank.eq(_pick(oldest, tokens.bank)),
                    ahead.choice.eq(_pick(oldest, choice)),
                ]
                with m.If(opens):
                    m.d.sync += run.eq(0)
                with m.Elif(misses.any()):
                    m.d.sync += run.eq(run + 1)

    # ---- Second cycle: the row ----------------------------------------------------------------------------------------

    def _row(self, m, mapping, tokens, ahead):
        """The row of the waiting choice, with the data of its token."""
        count = len(mapping.fragments)
        found = _Row(
            index=Signal.like(tokens.index[0], name="the_index"),
            pending=Signal(count, name="the_pending"),
            ref=_pick(ahead.chosen, tokens.ref),
            first=Signal(len(self.o.p.access), name="the_first"),
            row=Signal(mapping.row_bits, name="the_row"),
            state=Signal(_bits(self._side.bank_states), name="the_state"),
        )
        m.d.comb += [
            found.index.eq(_pick(ahead.chosen, tokens.index)),
            found.pending.eq(_pick(ahead.chosen, tokens.pending)),
            found.first.eq(_pick(ahead.choice, [one.accesses[0] for one in mapping.fragments])),
        ]
        m.d.comb += [
            found.row.eq(mapping.address(found.index, found.first)[0]),
            found.state.eq(mapping.state(ahead.bank, ahead.group)),
        ]
        return found

    def _walk(self, m, mapping, n, lane, banks, ahead, turn, found):
        """Offer the accesses of a lane's row, in turn with the other lane. Then start the row that waits for it."""
        offset = mapping.walk(0, lane.step, len(lane.access))
        if mapping.parts == 2:
            offset = Mux(lane.first[mapping.count_bits], mapping.walk(1, lane.step, len(lane.access)), offset)
        taken = self.o.ready & (turn.shown == n)
        m.d.comb += [
            lane.access.eq(lane.first | offset),
            lane.done.eq(lane.busy & taken & (lane.left == 0)),
            lane.free.eq(~lane.busy | lane.done),
        ]
        with m.If(lane.busy & taken):
            m.d.sync += [lane.step.eq(lane.step + 1), lane.left.eq(lane.left - 1)]
        with m.If(lane.done):
            m.d.sync += lane.busy.eq(0)
        with m.If(turn.shown == n):
            row_now, column_now = mapping.address(lane.index, lane.access)
            m.d.comb += [
                self.o.valid.eq(lane.busy),
                self.o.p.eq(lane.now),
                self.o.p.access.eq(lane.access),
                self.o.p.last.eq(lane.now.last & (lane.left == 0)),
                self.o.p.location.row.eq(row_now),
                self.o.p.location.column.eq(column_now),
            ]

        # The bank may open another row only when the last access of this row is over.
        lane_state = mapping.state(lane.now.location.bank, lane.now.location.group)
        with m.If(lane.done):
            for s, wait in enumerate(banks.wait):
                with m.If((lane_state == s) & (wait <= banks.recovery)):
                    m.d.sync += wait.eq(banks.recovery)

        with m.If(ahead.waits & (ahead.lane == n) & lane.free):
            m.d.comb += ahead.go.eq(1)
            m.d.sync += [
                lane.busy.eq(1),
                lane.step.eq(0),
                lane.left.eq(ahead.left),
                lane.first.eq(found.first),
                lane.index.eq(found.index),
                lane.now.last.eq(~(found.pending & ~ahead.choice).any()),
                lane.now.location.group.eq(ahead.group),
                lane.now.location.bank.eq(ahead.bank),
                Value.cast(lane.now.ref).eq(found.ref),
            ]

    def _begin_row(self, m, mapping, tokens, banks, ahead, found):
        """Update tokens and banks when a choice enters its lane.

        The token has one pending row less. If the choice opens a row, the bank has this open row and its timers start.
        """
        with m.If(ahead.go):
            for n, pending in enumerate(tokens.pending):
                with m.If(ahead.chosen[n]):
                    m.d.sync += pending.eq(pending & ~ahead.choice)
                with m.If(ahead.opens & (mapping.state(tokens.bank[n], tokens.group[n]) == found.state)):
                    m.d.sync += [tokens.opened[n].eq(1), tokens.row[n].eq(found.row)]
            with m.If(ahead.opens):
                for s, wait in enumerate(banks.wait):
                    with m.If(found.state == s):
                        m.d.sync += [banks.open[s].eq(1), banks.row[s].eq(found.row), wait.eq(banks.rest)]
                for w, gap in enumerate(banks.gaps):
                    with m.If(mapping.window(found.state) == w):
                        m.d.sync += gap.eq(banks.gap)
                        if banks.windows:
                            m.d.sync += banks.windows[w][0].eq(banks.window_rest)
                            for newer, older_one in zip(banks.windows[w], banks.windows[w][1:], strict=False):
                                m.d.sync += older_one.eq(Mux(newer == 0, 0, newer - 1))

    def _new_token(self, m, mapping, tokens, banks, ahead, found):
        """Put a new token into the first free place, as the youngest."""
        item = self.i.p
        in_group = Signal.like(tokens.group[0], name="in_group")
        in_bank = Signal(mapping.bank_bits)
        in_index = Signal(mapping.index_bits)
        inner = _bits(self._side.interleave)
        m.d.comb += [in_group.eq(item.group), in_bank.eq(item.slot[inner : inner + mapping.bank_bits])]
        m.d.comb += in_index.eq(Cat(item.slot[:inner], item.slot[inner + mapping.bank_bits :]))
        in_state = Signal(_bits(self._side.bank_states))
        m.d.comb += in_state.eq(mapping.state(in_bank, in_group))
        same = ahead.go & ahead.opens & (found.state == in_state)  # its bank opens another row in this cycle
        place, free = lowest(m, ~tokens.valid, "place")
        m.d.comb += self.i.ready.eq(free)
        for n in range(self._depth):
            with m.If(self.i.valid & free & (place == n)):
                m.d.sync += [
                    tokens.group[n].eq(in_group),
                    tokens.bank[n].eq(in_bank),
                    tokens.index[n].eq(in_index),
                    tokens.ref[n].eq(item.ref),
                    tokens.pending[n].eq(-1),
                    tokens.older[n].eq(tokens.valid),
                    tokens.opened[n].eq(banks.open[in_state] | same),
                    tokens.row[n].eq(Mux(same, found.row, banks.row[in_state])),
                ]
                for other in range(self._depth):
                    if other != n:
                        m.d.sync += tokens.older[other][n].eq(0)


def _pick(which, values):
    """The one of ``values`` whose bit in ``which`` is 1."""
    return reduce(
        or_,
        [
            Mux(bit, value if isinstance(value, int) else Value.cast(value), 0)
            for bit, value in zip(which, values, strict=True)
        ],
    )
