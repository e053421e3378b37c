# amaranth: UnusedElaboratable=no
"""Order of accesses to one memory: row hits first, then the oldest token whose bank is ready."""

from functools import reduce
from operator import or_

from amaranth import *
from amaranth.hdl import Assert
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...constraints.units.pam_interface import MemorySide
from ..blocks.ports import payload

__all__ = ["AccessScheduler", "access_layout", "location_layout"]


def _bits(size):
    """Bits of a number below ``size``, a power of two; 0 bits for 1."""
    return (size - 1).bit_length()


def _port(size):
    """The same for a port: at least one bit."""
    return max(1, _bits(size))


def place_fields(side, token_bytes):
    """Fields of a token's place: group and slot."""
    return {field.name: field.bits for field in side.place_fields(token_bytes)}


def location_layout(side):
    """Where an access goes."""
    return payload(side.location_layout)


def access_layout(side, token_bytes, ref):
    """One access: its location, its number within the token, and whether it is the token's last."""
    return data.StructLayout({"location": location_layout(side),
                              "access": _port(side.layout.accesses_of_token(token_bytes)), "last": 1, "ref": ref})


class _Map:
    """The map of a side as a choice of bits: which bit of a token's number or of an access each bit of an address is."""

    def __init__(self, side, token_bytes):
        layout = side.layout
        self.index_bits = _bits(layout.slots_of_bank(token_bytes))
        self.count_bits = _bits(layout.part_accesses(token_bytes))
        self.column_bits = _bits(side.columns)
        self.region_bits = _bits(layout.region_rows())
        self.parts = layout.parts()
        #: per region: what each bit of the access number within the region is, lowest first
        self.sources = []
        for part in range(self.parts):
            run, tile = _bits(layout.run(part, token_bytes)), min(_bits(side.tile_tokens), self.index_bits)
            low = [("access", bit) for bit in range(run)]
            token = [("index", bit) for bit in range(tile)]
            piece = [("access", bit) for bit in range(run, self.count_bits)]
            block = [("index", bit) for bit in range(tile, self.index_bits)]
            self.sources.append(low + token + piece + block)
            assert len(self.sources[-1]) == self.column_bits + self.region_bits

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
        return Cat(linear[self.column_bits:], part), linear[:self.column_bits]

    def walked(self, part):
        """Bits of the access number that count through the accesses of one row."""
        return [bit for name, bit in self.sources[part][:self.column_bits] if name == "access"]

    def matches(self, part, first, index, row):
        """Whether ``row`` is that of token ``index`` with the row-choosing bits of access ``first``: a pair of the part
        that depends on the token and the part that depends on the access."""
        by_token, by_access = Const(1), Const(1)
        for position, (name, bit) in enumerate(self.sources[part][self.column_bits:]):
            if name == "index":
                by_token &= row[position] == index[bit]
            else:
                by_access &= row[position] == first >> bit & 1
        if self.parts == 2:
            by_access &= row[self.region_bits] == part
        return by_token, by_access


class _Lane:
    """A row that is being accessed."""

    def __init__(self, number, access, index, step_bits):
        def signal(shape, name, **more):
            return Signal(shape, name=f"{name}_{number}", **more)

        self.busy, self.now = signal(1, "busy"), signal(access, "now", reset_less=True)
        self.index, self.first = (signal(like.shape(), name, reset_less=True)
                                  for like, name in ((index, "now_index"), (self.now.access, "first")))
        self.step, self.left = signal(step_bits, "step"), signal(step_bits, "left")  # accesses before and after this one
        self.access = signal(self.first.shape(), "access")
        self.done, self.free = signal(1, "done"), signal(1, "free")


class AccessScheduler(wiring.Component):
    """Takes tokens, gives their accesses in the order in which the memory should see them.

    Up to ``depth`` tokens are held. A token's accesses lie in one or more rows. Two rows are accessed at a time, one access
    of each in turn, if there are two in different groups: a bank group takes accesses at half the rate of the bus.
    Whenever a row's last access has left, the choice of the next, in a group without the other row, is: the oldest token
    with something in a row that is open in its bank; else the oldest whose bank may open a row (its last opening is
    ``bank_cycles`` ago, the last access of its row ``recovery_cycles``, and the rank's limits are kept), which opens that
    of its rows that comes first. After ``hit_limit`` hits in succession, a token that may open a row goes first. "Open" is
    what this unit has asked for last.

    A row is chosen ahead, while others are accessed: for the place of the one that will end first, so in a group without
    the other. It takes two cycles. A choice does not see what the one before does in its second cycle, so it leaves out
    that token, and after one that opens a row there is none for a cycle.

    Timing: a token accepted in cycle t can be chosen in t + 1, and its first access is offered in t + 3. One access per
    clock, also with one access to a row.

    The functional model is ``bankside.models.pam.interface.SchedulerModel``, equal in every cycle.

    Source: PAM (MICRO 2025) section 6.2 (command-reorder unit); the rule is this project's.

    Parameters
    ----------
    side : :class:`MemorySide`
    token_bytes : :class:`int`
    depth : :class:`int`
    ref : :class:`ShapeLike`
        Shape of what accompanies a token.
    bank_cycles : :class:`int`
        Clocks between two openings in a bank.
    recovery_cycles : :class:`int`
        Clocks from the last access of a row to the opening of another in its bank.
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
        super().__init__({
            "i": In(stream.Signature(data.StructLayout({**place_fields(side, token_bytes), "ref": ref}))),
            "o": Out(stream.Signature(access_layout(side, token_bytes, ref))),
        })

    @property
    def depth(self):
        return self._depth

    def elaborate(self, platform):
        m = Module()
        side, depth = self._side, self._depth
        mapping = _Map(side, self._token_bytes)
        fragments = side.fragments(self._token_bytes)
        count = len(fragments)
        bank_bits, group_bits, lock = _bits(side.banks), _bits(side.groups), _bits(side.lockstep)
        access_bits = len(self.o.p.access)
        row_shape = mapping.region_bits + (mapping.parts == 2)

        # ---- Tokens held --------------------------------------------------------------------------------------------
        group   = [Signal(max(1, group_bits), name=f"group_{n}", reset_less=True) for n in range(depth)]
        bank    = [Signal(bank_bits, name=f"bank_{n}", reset_less=True) for n in range(depth)]
        index   = [Signal(mapping.index_bits, name=f"index_{n}", reset_less=True) for n in range(depth)]
        ref     = [Signal(self._ref, name=f"ref_{n}", reset_less=True) for n in range(depth)]
        pending = [Signal(count, name=f"pending_{n}") for n in range(depth)]          # rows still to be accessed
        older   = [Signal(depth, name=f"older_{n}", reset_less=True) for n in range(depth)]
        opened  = [Signal(name=f"opened_{n}", reset_less=True) for n in range(depth)]  # a row of its bank is open,
        row     = [Signal(row_shape, name=f"row_{n}", reset_less=True) for n in range(depth)]  # and which
        valid   = Signal(depth)
        m.d.comb += valid.eq(Cat(p.any() for p in pending))

        def state(in_bank, in_group):
            return Cat(in_bank[:bank_bits], in_group[lock:group_bits])

        # ---- Banks: open rows and when the next may be opened -------------------------------------------------------
        states = side.bank_states
        bank_open = Array(Signal(name=f"bank_open_{n}") for n in range(states))
        bank_row  = Array(Signal(row_shape, name=f"bank_row_{n}", reset_less=True) for n in range(states))
        def timer(most, name):
            return Signal(max(1, most.bit_length()), name=name)

        # A timer is at 0 when a choice may be made whose row opens a cycle later.
        rest, recovery, gap, window_rest = (max(0, cycles - 2) for cycles in (
            self._bank_cycles, self._recovery_cycles, side.activate_cycles, side.window_cycles))
        bank_wait = [timer(max(rest, recovery), f"bank_wait_{n}") for n in range(states)]
        bank_free = Array(wait == 0 for wait in bank_wait)
        waits = [[timer(window_rest, f"window_{w}_{k}") for k in range(4)]
                 for w in range(side.windows)] if side.window_cycles else []
        gaps = [timer(gap, f"gap_{w}") for w in range(side.windows)]
        for running in (*bank_wait, *gaps, *(one for window in waits for one in window)):
            with m.If(running != 0):
                m.d.sync += running.eq(running - 1)
        window_free = Array((gaps[w] == 0) & (waits[w][3] == 0 if waits else 1) for w in range(side.windows))
        window_bits = _bits(side.windows)

        # ---- First cycle of a choice: which token ---------------------------------------------------------------------
        # What was chosen and waits for its place among the rows accessed.
        ahead, ahead_opens, ahead_lane = Signal(), Signal(), Signal()
        chosen = Signal(depth)
        ahead_group, ahead_bank = (Signal.like(like[0], name=name)
                                   for like, name in ((group, "ahead_group"), (bank, "ahead_bank")))
        ahead_choice = Signal(count, reset_less=True)
        go = Signal()  # its place is free

        walked = [mapping.walked(part) for part in range(mapping.parts)]
        step_bits = max(1, *map(len, walked))
        lanes = [_Lane(n, self.o.p.shape(), index[0], step_bits) for n in range(1 if states == side.banks else 2)]
        finals = [(1 << len(bits)) - 1 for bits in walked]  # accesses of a row after the first
        ahead_left = Signal(step_bits)
        if mapping.parts == 1:
            m.d.comb += ahead_left.eq(finals[0])
        else:
            of_value = Cat(ahead_choice[f] for f, fragment in enumerate(fragments) if fragment.part)
            m.d.comb += ahead_left.eq(Mux(of_value.any(), finals[1], finals[0]))

        # ``turn`` only changes when an access is taken, or to what is offered, so that an offer stays.
        turn, shown = Signal(), Signal()
        lane_next = Signal()
        if len(lanes) == 2:
            m.d.comb += shown.eq(Mux(turn, lanes[1].busy | ~lanes[0].busy, ~lanes[0].busy & lanes[1].busy))
            with m.If(self.o.valid):
                m.d.sync += turn.eq(shown ^ self.o.ready)
            # The rows that are accessed when this choice's turn comes: the place is that of the one which ends first.
            coming = [ahead & (ahead_lane == n) for n in range(2)]
            busy = [lane.busy | coming[n] for n, lane in enumerate(lanes)]
            left = [Mux(coming[n], ahead_left, lane.left) for n, lane in enumerate(lanes)]
            groups = [Mux(coming[n], ahead_group, lane.now.location.group)[lock:group_bits] for n, lane in enumerate(lanes)]
            first_ends = Mux(left[0] == left[1], Mux(ahead, ~ahead_lane, turn), left[1] < left[0])
            m.d.comb += lane_next.eq(busy[0] & (~busy[1] | first_ends))

        hits, misses = Signal(depth), Signal(depth)
        choice = [Signal(count, name=f"choice_{n}") for n in range(depth)]
        for n in range(depth):
            found = Signal(count, name=f"found_{n}")
            tags = [mapping.matches(part, 0, index[n], row[n])[0] for part in range(mapping.parts)]
            for f, fragment in enumerate(fragments):
                _, right = mapping.matches(fragment.part, fragment.accesses[0], index[n], row[n])
                m.d.comb += found[f].eq(pending[n][f] & opened[n] & tags[fragment.part] & right)
            place = Signal(_bits(states), name=f"state_{n}")
            m.d.comb += place.eq(state(bank[n], group[n]))
            in_use = Cat(lane.busy & (place == state(lane.now.location.bank, lane.now.location.group))
                         for lane in lanes).any()
            in_use = in_use | (ahead & (place == state(ahead_bank, ahead_group)))
            free = bank_free[place] & window_free[place[len(place) - window_bits:]] & ~in_use
            allowed = ~(ahead & chosen[n])
            if len(lanes) == 2:
                beside = [busy[k] & (group[n][lock:group_bits] == groups[k]) for k in range(2)]
                allowed &= ~Mux(lane_next, beside[0], beside[1])
            m.d.comb += [
                hits[n].eq(found.any() & allowed),
                misses[n].eq(valid[n] & ~found.any() & free & allowed),
                choice[n].eq(Mux(found.any(), found, pending[n] & (~pending[n] + 1)[:count])),
            ]
        run = Signal(range(self._hit_limit + 1))
        opens, oldest = Signal(), Signal(depth)
        m.d.comb += opens.eq(~hits.any() | ((run == self._hit_limit) & misses.any()))
        # The oldest of both kinds, side by side: which kind it is to be is known late.
        m.d.comb += [oldest[n].eq(Mux(opens, misses[n] & ~(misses & older[n]).any(), hits[n] & ~(hits & older[n]).any()))
                     for n in range(depth)]

        def pick(which, values):
            """That of ``values`` whose token is the one in ``which``."""
            return reduce(or_, [Mux(which[n], Value.cast(values[n]), 0) for n in range(depth)])

        with m.If(~ahead | go):
            m.d.sync += ahead.eq(0)
            with m.If(~(ahead & ahead_opens) & (hits.any() | misses.any())):
                m.d.sync += [
                    ahead.eq(1), ahead_opens.eq(opens), ahead_lane.eq(lane_next), chosen.eq(oldest),
                    ahead_group.eq(pick(oldest, group)), ahead_bank.eq(pick(oldest, bank)),
                    ahead_choice.eq(pick(oldest, choice)),
                ]
                with m.If(opens):
                    m.d.sync += run.eq(0)
                with m.Elif(misses.any()):
                    m.d.sync += run.eq(run + 1)

        # ---- Second cycle: the row ------------------------------------------------------------------------------------
        the_index, the_pending, the_first = Signal.like(index[0]), Signal(count), Signal(access_bits)
        m.d.comb += [
            the_index.eq(pick(chosen, index)), the_pending.eq(pick(chosen, pending)),
            the_first.eq(reduce(or_, [Mux(ahead_choice[f], one.accesses[0], 0) for f, one in enumerate(fragments)])),
        ]
        the_row, the_state = Signal(row_shape), Signal(_bits(states))
        m.d.comb += [the_row.eq(mapping.address(the_index, the_first)[0]), the_state.eq(state(ahead_bank, ahead_group))]

        # ---- The accesses of one row, or of two rows in different groups in turns --------------------------------------
        def walk(part, step):
            return Cat(step[walked[part].index(bit)] if bit in walked[part] else 0 for bit in range(access_bits))

        for n, lane in enumerate(lanes):
            offset = walk(0, lane.step)
            if mapping.parts == 2:
                offset = Mux(lane.first[mapping.count_bits], walk(1, lane.step), offset)
            taken = self.o.ready & (shown == n)
            m.d.comb += [
                lane.access.eq(lane.first | offset),
                lane.done.eq(lane.busy & taken & (lane.left == 0)),
                lane.free.eq(~lane.busy | lane.done),
            ]
            with m.If(lane.busy & taken):
                m.d.sync += [lane.step.eq(lane.step + 1), lane.left.eq(lane.left - 1)]
            with m.If(lane.done):
                m.d.sync += lane.busy.eq(0)
            with m.If(shown == n):
                row_now, column_now = mapping.address(lane.index, lane.access)
                m.d.comb += [
                    self.o.valid.eq(lane.busy),
                    self.o.p.eq(lane.now),
                    self.o.p.access.eq(lane.access),
                    self.o.p.last.eq(lane.now.last & (lane.left == 0)),
                    self.o.p.location.row.eq(row_now),
                    self.o.p.location.column.eq(column_now),
                ]

            # Its bank may open another row only when this one's last access is over.
            lane_state = state(lane.now.location.bank, lane.now.location.group)
            with m.If(lane.done):
                for s in range(states):
                    with m.If((lane_state == s) & (bank_wait[s] <= recovery)):
                        m.d.sync += bank_wait[s].eq(recovery)

            with m.If(ahead & (ahead_lane == n) & lane.free):
                m.d.comb += go.eq(1)
                m.d.sync += [
                    lane.busy.eq(1), lane.step.eq(0), lane.left.eq(ahead_left), lane.first.eq(the_first),
                    lane.index.eq(the_index), lane.now.last.eq(~(the_pending & ~ahead_choice).any()),
                    lane.now.location.group.eq(ahead_group), lane.now.location.bank.eq(ahead_bank),
                    Value.cast(lane.now.ref).eq(pick(chosen, ref)),
                ]
        with m.If(go):
            for n in range(depth):
                with m.If(chosen[n]):
                    m.d.sync += pending[n].eq(pending[n] & ~ahead_choice)
                with m.If(ahead_opens & (state(bank[n], group[n]) == the_state)):
                    m.d.sync += [opened[n].eq(1), row[n].eq(the_row)]
            with m.If(ahead_opens):
                for s in range(states):
                    with m.If(the_state == s):
                        m.d.sync += [bank_open[s].eq(1), bank_row[s].eq(the_row), bank_wait[s].eq(rest)]
                for w in range(side.windows):
                    with m.If(the_state[len(the_state) - window_bits:] == w):
                        m.d.sync += gaps[w].eq(gap)
                        if waits:
                            m.d.sync += waits[w][0].eq(window_rest)
                            for newer, older_one in zip(waits[w], waits[w][1:], strict=False):
                                m.d.sync += older_one.eq(Mux(newer == 0, 0, newer - 1))

        # ---- A new token --------------------------------------------------------------------------------------------
        item = self.i.p
        in_group, in_bank, in_index = Signal.like(group[0]), Signal(bank_bits), Signal(mapping.index_bits)
        inner = _bits(side.interleave)
        m.d.comb += [in_group.eq(item.group), in_bank.eq(item.slot[inner:inner + bank_bits])]
        m.d.comb += in_index.eq(Cat(item.slot[:inner], item.slot[inner + bank_bits:]))
        in_state = Signal(_bits(states))
        m.d.comb += in_state.eq(state(in_bank, in_group))
        same = go & ahead_opens & (the_state == in_state)  # its bank is given another row in this very cycle
        m.d.comb += self.i.ready.eq(~valid.all())
        taken = Const(0)
        for n in range(depth):
            with m.If(self.i.valid & ~valid[n] & ~taken):
                m.d.sync += [
                    group[n].eq(in_group), bank[n].eq(in_bank), index[n].eq(in_index), ref[n].eq(item.ref),
                    pending[n].eq(-1), older[n].eq(valid),
                    opened[n].eq(bank_open[in_state] | same), row[n].eq(Mux(same, the_row, bank_row[in_state])),
                ]
                for other in range(depth):
                    if other != n:
                        m.d.sync += older[other][n].eq(0)
            taken = taken | ~valid[n]

        if platform == "formal":
            m.d.comb += [
                Assert((chosen & (chosen - 1)[:depth]) == 0, "AccessScheduler: at most one token is chosen"),
                Assert(~ahead | ((ahead_choice & (ahead_choice - 1)[:count]) == 0), "AccessScheduler: of one row"),
                Assert(~ahead | ahead_choice.any(), "AccessScheduler: a chosen token has something to do"),
            ]
        return m
