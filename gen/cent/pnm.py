# amaranth: UnusedElaboratable=no
"""CENT's PNM units: accumulators, reduction trees and exponent units beside the registers of a device."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...constraints.aim.encoding import COMMANDS
from ...constraints.cent.pnm import KINDS, OPERANDS_OF, CentPnmConfig
from ...constraints.core.formats import FP32
from ..aim.engine import Engine, is_op
from ..aim.hub import Hub
from ..aim.registers import Client
from ..aim.transfers import Transfers
from ..arith import add, dot, dot_tree, exponential
from ..blocks.shared import shared
from .hazard import Use, slots_meet

__all__ = ["AccUnit", "CentPnm", "ExpUnit", "RedUnit", "SlotEngine"]


class _SlotUnit(wiring.Component):
    """A unit for a slot: ``result`` follows the operands after ``LATENCY`` clocks. One slot per clock.

    Members
    -------
    x, y : ``In(word)``; only units with two operands use y
    result : ``Out(word)``
    """

    def __init__(self, config):
        self.config = config
        self.LATENCY = getattr(config, f"{self.KIND}_depth") + 1
        word = config.word_bits
        super().__init__({"x": In(word), "y": In(word), "result": Out(word)})

    def elaborate(self, platform):
        m = Module()
        width = self.config.fmt.width
        x, y = ([value.word_select(n, width) for n in range(self.config.lanes)] for value in (self.x, self.y))
        m.d.sync += self.result.eq(self._result(m, x, y))
        return m


class AccUnit(_SlotUnit):
    """Accumulator: the sum of two slots, element by element, rounded to the format."""

    KIND = "acc"

    def _result(self, m, x, y):
        config = self.config
        return Cat(
            add(m, a, b, fmt=config.fmt, depth=config.acc_depth, name=f"add_{n}_")
            for n, (a, b) in enumerate(zip(x, y, strict=True))
        )


class RedUnit(_SlotUnit):
    """Reduction tree: the sum of the elements of a slot in element 0, and 0 in all others."""

    KIND = "red"
    #: Bits of the exact sum that are kept below the largest element's leading bit: those of an FP32 sum.
    WINDOW = FP32.precision + 3

    def _result(self, m, x, y):
        config, fmt = self.config, self.config.fmt
        ones = [Const(fmt.bias << fmt.fraction_bits, fmt.width)] * len(x)
        if config.reduction == "tree":
            return dot_tree(m, x, ones, fmt=fmt, depth=config.red_depth, name="tree_")
        return dot(m, x, ones, fmt=fmt, result=fmt, window=self.WINDOW, depth=config.red_depth, name="dot_")


class ExpUnit(_SlotUnit):
    """Exponent unit: the exponential of each element of a slot."""

    KIND = "exp"

    def _result(self, m, x, y):
        config = self.config
        series = (
            {}
            if config.exponential == "faithful"
            else {"variant": "taylor", "order": config.order, "range_reduced": config.exponential == "taylor-reduced"}
        )
        return Cat(
            exponential(m, a, fmt=config.fmt, depth=config.exp_depth, name=f"exp_{n}_", **series)
            for n, a in enumerate(x)
        )


_UNITS = {"acc": AccUnit, "red": RedUnit, "exp": ExpUnit}


class SlotEngine(Engine):
    """Sends slots through units of one kind, and writes the results.

    The engine takes a *group* of slots at a time: one for each unit, but at most one of each bank of the registers. With
    more units than banks, groups go to sets of units in turn. A command with two operands reads them one after the other.
    The last read promises the write of the results.

    Several commands can be under way: some whose results are in the units, one that reads, and one that waits behind it.
    The engine compares the slots of the command at hand, of whatever engine, with the slots of its own commands. The
    command at hand waits while the engine owes results to slots that the command uses, or has to read slots that the
    command writes. A command of another kind, whose slots are not known, waits until the engine owes nothing.

    Timing: a read of the registers in each clock in which the registers grant it. The first read of the command that waits
    follows the last read of the one before in the next clock.

    Parameters
    ----------
    config : :class:`CentPnmConfig`
    op : the command: EWADD, RED or EXP
    """

    #: Commands with so many slots, and longer ones, follow each other without a gap.
    WHOLE = 256

    def __init__(self, config, op):
        self._op, self._units = op, config.units_of(op)
        self._group = config.group_of(op)
        self._latency = _UNITS[KINDS[op]](config).LATENCY
        self.client = Client(width=self._group, latency=self._latency + 2)
        #: Commands under way at most: the one that reads, and those before it whose results are in the units.
        self.places = 1 + -(-self.client.latency // config.least_clocks(op, min(self.WHOLE, config.registers)))
        #: Whether the command at hand may begin beside what this engine has under way; whether it owes results.
        self.settled, self.busy = Signal(), Signal()
        #: All engines of this kind, which this one asks too.
        self.peers = (self,)
        super().__init__(config, (op,))

    def elaborate(self, platform):
        m = Module()
        config, registers, command = self._config, self.registers, self.command
        word, group, pairs = config.word_bits, self._group, OPERANDS_OF[self._op] == 2
        first, second, target = (Signal.like(command.gpr, name=n) for n in ("first", "second", "target"))
        left, running, half = Signal.like(command.opsize), Signal(), Signal()
        go, whole, last = Signal(), Signal(), Signal()
        m.d.comb += [
            registers.read.eq(running),
            registers.read_address.eq(Mux(half, second, first) if pairs else first),
            registers.promise.eq(half if pairs else 1),
            registers.target.eq(target),
            go.eq(registers.read & registers.grant),
            whole.eq(go & registers.promise),
            last.eq(whole & (left <= group)),
        ]
        if group > 1:
            m.d.comb += registers.lanes.eq(Cat(left > n for n in range(group)))
        if pairs:
            with m.If(go):
                m.d.sync += half.eq(~half)
        with m.If(whole):
            m.d.sync += [
                first.eq(first + group),
                second.eq(second + group),
                target.eq(target + group),
                left.eq(left - group),
            ]

        # ---- The command that waits, and the one that reads ----------------------------------------------------------
        waiting, free = Signal(), Signal()
        next_first, next_second = (
            Signal.like(command.gpr, name=f"next_{n}", reset_less=True) for n in ("first", "second")
        )
        next_left = Signal.like(command.opsize, name="next_left", reset_less=True)
        m.d.comb += free.eq(~running | last)
        with m.If(free):
            come = [
                (first, next_first, command.gpr),
                (second, next_second, command.gpr1),
                (target, next_first if pairs else next_second, command.gpr if pairs else command.gpr1),
                (left, next_left, command.opsize),
            ]
            m.d.sync += [
                running.eq(waiting | self.start),
                waiting.eq(0),
                *(now.eq(Mux(waiting, then, new)) for now, then, new in come),
            ]
        with m.Elif(self.start):
            m.d.sync += [
                waiting.eq(1),
                next_first.eq(command.gpr),
                next_second.eq(command.gpr1),
                next_left.eq(command.opsize),
            ]

        # ---- Results that are owed -----------------------------------------------------------------------------------
        # The newest command is the first. A command leaves in the clock before its last write: who reads then follows it.
        owed = [
            (
                Signal.like(command.gpr, name=f"owed_{n}", reset_less=True),
                Signal.like(command.opsize, name=f"owed_{n}_size", reset_less=True),
            )
            for n in range(self.places)
        ]
        count, ends = Signal(range(self.places + 1)), Signal(self.client.latency - 1)
        done = ends[-1]
        m.d.sync += [ends.eq(Cat(last, ends)), count.eq(count + self.start - done)]
        with m.If(self.start):
            news = (command.gpr if pairs else command.gpr1, command.opsize)
            for now, new in zip(owed, [news, *owed[:-1]], strict=True):
                m.d.sync += [a.eq(b) for a, b in zip(now, new, strict=True)]

        # ---- Whether the command at hand may begin -------------------------------------------------------------------
        use = Use(m, config, command)
        own = command.op == COMMANDS[self._op].code
        owes, overtakes, room = Signal(), Signal(), Signal()
        # Results of one engine are written in the order of its commands, and so are its operands read.
        looks = use.two & ~(own & use.to_second)
        m.d.comb += [
            owes.eq(
                Cat(
                    (count > n)
                    & (slots_meet(at, size, use.first, use.size) | looks & slots_meet(at, size, use.second, use.size))
                    for n, (at, size) in enumerate(owed)
                ).any()
            ),
            overtakes.eq(
                ~own
                & use.writes
                & (
                    running & slots_meet(second if pairs else first, left, use.target, use.size)
                    | waiting & slots_meet(next_second if pairs else next_first, next_left, use.target, use.size)
                )
            ),
            room.eq(~waiting & (count != self.places)),
            self.busy.eq(count != 0),
            self.settled.eq(Mux(use.known, ~owes & ~overtakes, ~self.busy)),
            self.ready.eq(room & Cat(peer.settled for peer in self.peers).all()),
            self.idle.eq(self.settled & (room | ~own)),
        ]
        under_way = Signal()
        m.d.sync += under_way.eq(whole)

        # ---- Operands, a clock after their read ----------------------------------------------------------------------
        before = registers.read_data
        if pairs:
            before = Signal(group * word, reset_less=True)
            taken = Signal()
            m.d.sync += taken.eq(go & ~half)
            with m.If(taken):
                m.d.sync += before.eq(registers.read_data)
        sets = self._units // group
        turn = Signal(range(sets)) if sets > 1 else Const(0)
        turns = [turn]  # the set of a group, by clocks since its last read
        if sets > 1:
            with m.If(whole):
                m.d.sync += turn.eq(turn + 1)
            for n in range(self.client.latency):
                now = Signal(range(sets), name=f"turn_{n + 1}", reset_less=True)
                m.d.sync += now.eq(turns[-1])
                turns.append(now)
        results = []
        for s in range(sets):
            x, y = (Signal(group * word, name=f"{name}_{s}", reset_less=True) for name in "xy")
            with m.If(under_way & (turns[1] == s) if sets > 1 else under_way):
                m.d.sync += x.eq(before)
                if pairs:
                    m.d.sync += y.eq(registers.read_data)
            of_set = []
            for n in range(group):
                unit = _UNITS[KINDS[self._op]](config)
                m.submodules[f"{unit.KIND}_{s * group + n}"] = shared(platform, unit, unit.KIND, part=True)
                m.d.comb += [unit.x.eq(x.word_select(n, word)), unit.y.eq(y.word_select(n, word) if pairs else 0)]
                of_set.append(unit.result)
            results.append(Cat(of_set))
        m.d.comb += registers.result.eq(results[0] if sets == 1 else Array(results)[turns[-1]])
        return m


class CentPnm(Hub):
    """A device's registers (slots) with transfers and an engine for each of CENT's accumulations, reductions and
    exponentials.

    The functional model is ``bankside.models.cent.pnm.PnmModel``, equal bit for bit.

    Source: CENT section 4.2.

    Parameters
    ----------
    config : :class:`CentPnmConfig`

    Members
    -------
    command : ``In(stream.Signature(payload(config.command_layout)))``
    host_in, host_out : ``In`` and ``Out(stream.Signature(word))``
    result_0 ... : ``In(stream.Signature(word))``
    data_0 ... : ``Out(stream.Signature(word))``
    """

    def __init__(self, config):
        if not isinstance(config, CentPnmConfig):
            raise TypeError(f"Configuration must be a CentPnmConfig, not {config!r}")
        super().__init__(config)

    @property
    def latency(self):
        """Fixed latencies in cycles, from a read of a slot to the write of its result."""
        return {kind: SlotEngine(self._config, op).client.latency for op, kind in KINDS.items()}

    def _engines(self, platform):
        self._slot_engines = {kind: SlotEngine(self._config, op) for op, kind in KINDS.items()}
        for engine in self._slot_engines.values():
            engine.peers = tuple(self._slot_engines.values())
        return {"transfers": Transfers(self._config), **self._slot_engines}

    def elaborate(self, platform):
        """The hub, behind a check of ``overlap``.

        A command without ``overlap`` means that everything before it counts as done, although results may still be owed.
        A later command with ``overlap`` may rely on this. An engine of slots compares slots in any case. For any other
        engine ``overlap`` is taken away while results may be owed that count as done, so that slots are compared.
        """
        port, self.command = self.command, self.command.signature.create()
        m = super().elaborate(platform)
        inner, self.command = self.command, port
        m.d.comb += [inner.payload.eq(port.payload), inner.valid.eq(port.valid), port.ready.eq(inner.ready)]
        newer, older, quiet = Signal(), Signal(), Signal()
        computes = is_op(port.p.op, KINDS)
        with m.If(older & ~computes):
            m.d.comb += inner.p.overlap.eq(0)
        m.d.comb += quiet.eq(
            ~m.submodules.commands.o.valid & ~Cat(one.busy for one in self._slot_engines.values()).any()
        )
        with m.If(port.valid & port.ready):
            m.d.sync += [
                newer.eq(computes | newer & ~quiet & port.p.overlap),
                older.eq(~quiet & (older | newer & ~port.p.overlap)),
            ]
        with m.Elif(quiet):
            m.d.sync += [newer.eq(0), older.eq(0)]
        return m
