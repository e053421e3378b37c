"""Programs and traces of AiM devices: 32 channels behind one host that decodes one instruction a cycle."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from ...constraints.core.errors import ConfigError, nearest
from ...constraints.memory import Memory, load_memory
from ..program import Affine, Command, Loop, Node, Program, Stage
from ..program.nodes import shift
from . import aim_kernel as kernel
from .answer import TraceTiming
from .compiled import brief, compiled
from .tables import make_image, make_tables

__all__ = ["ALL_CHANNELS", "FrontEnd", "FrontEndTiming", "Instruction", "Instructions", "INSTRUCTIONS", "channel_mask"]

CHANNELS = kernel.CHANNELS
ALL_CHANNELS = (1 << CHANNELS) - 1

#: A loop of up to ``LEAF`` requests is unrolled. So is a longer loop whose rows move, if its body has fewer than
#: ``PIECE`` instructions.
LEAF, PIECE = 256, 8

#: Least number of compiled parts of programs that are kept.
KEPT = 1 << 13

#: Row that addresses the activation function's table: far above the rows of a bank.
AF_ROW = 1 << 29


@dataclass(frozen=True)
class Instruction:
    """An instruction of the host.

    Attributes
    ----------
    kind : kind of the instruction for the front end
    command : command of the memory that the instruction makes, or None
    fields : operands as in a trace; ``opsize`` requests go to each channel of ``mask``
    blocks : whether the host waits until the instruction has come back from every channel
    optional : operands that a trace does not have. ``opsize`` left out or 0 is one request.
    """

    kind: int
    command: str | None
    fields: tuple[str, ...]
    blocks: bool = False
    optional: tuple[str, ...] = ()


#: ``AiM`` lines of a trace by name; ``W MEM`` and ``R MEM`` are ``W_MEM`` and ``R_MEM``. Source: the AiM simulator.
INSTRUCTIONS: dict[str, Instruction] = {
    "WR_GB": Instruction(kernel.COMMAND, "WRGB", ("opsize", "gpr", "mask")),
    "WR_BIAS": Instruction(kernel.COMMAND, "WRMAC16", ("gpr", "mask")),
    "RD_MAC": Instruction(kernel.COMMAND, "RDMAC16", ("gpr", "mask"), True),
    "RD_AF": Instruction(kernel.COMMAND, "RDAF16", ("gpr", "mask"), True),
    "MAC_ABK": Instruction(kernel.COMMAND, "MAC16", ("opsize", "mask", "row")),
    "MAC_SBK": Instruction(kernel.COMMAND, "MAC", ("opsize", "mask", "bank", "row")),
    "EWMUL": Instruction(kernel.COMMAND, "EWMUL16", ("opsize", "mask", "row")),
    "AF": Instruction(kernel.COMMAND, "AF16", ("mask",)),
    "COPY_BKGB": Instruction(kernel.COMMAND, "RDCP", ("opsize", "mask", "bank", "row")),
    "COPY_GBBK": Instruction(kernel.COMMAND, "WRCP", ("opsize", "mask", "bank", "row")),
    "WR_ABK": Instruction(kernel.COMMAND, "WRA16", ("gpr", "mask", "row")),
    "WR_SBK": Instruction(kernel.WRITE, "WR", ("gpr", "mask", "bank", "row"), optional=("opsize",)),
    "RD_SBK": Instruction(kernel.READ, "RD", ("gpr", "mask", "bank", "row"), optional=("opsize",)),
    "EWADD": Instruction(kernel.NOTHING, None, ("opsize", "gpr0", "gpr1")),
    "SYNC": Instruction(kernel.SYNC, None, (), True),
    "EOC": Instruction(kernel.SYNC, None, (), True),
    "W_MEM": Instruction(kernel.WRITE, "WR", ("channel", "bank", "row")),
    "R_MEM": Instruction(kernel.READ, "RD", ("channel", "bank", "row")),
    "GPR": Instruction(kernel.NOTHING, None, ()),
    "CFR": Instruction(kernel.NOTHING, None, ()),
}


def channel_mask(channels: int, first: int = 0) -> int:
    """Mask of consecutive channels. In a mask, bit 31 is channel 0."""
    return sum(1 << (CHANNELS - 1 - channel) for channel in range(first, first + channels))


def _reversed(mask: int) -> int:
    return int(f"{mask:0{CHANNELS}b}"[::-1], 2)


class Instructions(NamedTuple):
    """Instructions as the kernel takes them: int64 arrays; masks have channel 0 in bit 0."""

    kinds: np.ndarray
    targets: np.ndarray
    ops: np.ndarray
    masks: np.ndarray
    rows: np.ndarray
    blocks: np.ndarray

    def __len__(self) -> int:
        return len(self.kinds)


@dataclass
class FrontEndTiming(TraceTiming):
    """Time of a program or trace on an AiM device.

    Attributes
    ----------
    instructions : instructions of the host
    stages : cycles between the ends of named stages, as the host sees them
    """

    instructions: int
    stages: dict[str, int] = field(default_factory=dict)


# The state between two pieces ------------------------------------------------------------------------------------------


_LONG_AGO, _NEVER = -(1 << 30), kernel.NEVER


@compiled
def _name(names, count, row):
    """Number of a row in the list of names. A new row joins the list; a closed row stays -1."""
    if row < 0:
        return row, count
    for k in range(count - 1, -1, -1):
        if names[k] == row:
            return k, count
    names[count] = row
    return count, count + 1


@compiled
def _pack(state, members, classes, layout, horizon, ring_horizon, clock, buffer, names):
    """Pack the state relative to the clock, with classes in order of their lowest channel.

    The packed state and the next refresh decide everything that happens next. Rows are replaced by their numbers in
    ``names``. Returns the sizes of both, and the cycles to the first refresh of a class. Refreshes are packed relative to
    that one.
    """
    n = 0
    named = 0
    c = layout[3]
    due = _NEVER
    for k in range(classes):
        if state[k, c + 9] != _NEVER and (due == _NEVER or state[k, c + 9] - clock < due):
            due = state[k, c + 9] - clock
    done = np.zeros(classes, np.int64)
    for _ in range(classes):
        which = -1
        for k in range(classes):
            if not done[k] and (which < 0 or members[k] & -members[k] < members[which] & -members[which]):
                which = k
        done[which] = 1
        s = state[which]
        buffer[n] = members[which] - (members[which] >> 31 << 32)
        n += 1
        for k in range(layout[1]):
            buffer[n], named = _name(names, named, s[k])
            n += 1
        for k in range(len(horizon)):
            age = s[layout[1] + k] - clock
            buffer[n] = age if age + horizon[k] > 1 else _LONG_AGO
            n += 1
        for k in range(len(ring_horizon)):
            age = s[layout[2] + k] - clock
            buffer[n] = age if age + ring_horizon[k] > 1 else _LONG_AGO
            n += 1
        for k in range(10):
            value = s[c + k]
            if k == 7:
                value = max(value - clock, 0)
            elif k == 9:
                value = value - clock - due if value != _NEVER else _NEVER
            buffer[n] = value
            n += 1
        for k in range(s[c + 2]):
            buffer[n] = s[layout[4] + 2 * k]
            buffer[n + 1], named = _name(names, named, s[layout[4] + 2 * k + 1])
            n += 2
        for part in range(3):
            for k in range(s[c + 3 + part]):
                place = layout[5 + part] + 3 * k
                buffer[n] = s[place]
                buffer[n + 1], named = _name(names, named, s[place + 1])
                buffer[n + 2] = s[place + 2] - clock
                n += 3
        for k in range(2 * s[c + 6]):
            buffer[n] = s[layout[8] + k] - (clock if k % 2 else 0)
            n += 1
    return n, named, due


@compiled
def _row(names, number):
    return names[number] if number >= 0 else number


@compiled
def _unpack(state, members, layout, times, ring_times, clock, due, buffer, size, names):
    """The opposite of :func:`_pack`; returns the number of classes."""
    n = 0
    which = 0
    c = layout[3]
    while n < size:
        s = state[which]
        members[which] = buffer[n]
        members[which] &= 0xFFFFFFFF
        n += 1
        for k in range(layout[1]):
            s[k] = _row(names, buffer[n])
            n += 1
        for k in range(times + ring_times):
            s[layout[1] + k] = buffer[n] + clock
            n += 1
        for k in range(10):
            s[c + k] = buffer[n]
            if k == 7:
                s[c + k] += clock
            elif k == 9 and buffer[n] != _NEVER:
                s[c + k] += clock + due
            n += 1
        for k in range(s[c + 2]):
            s[layout[4] + 2 * k] = buffer[n]
            s[layout[4] + 2 * k + 1] = _row(names, buffer[n + 1])
            n += 2
        for part in range(3):
            for k in range(s[c + 3 + part]):
                place = layout[5 + part] + 3 * k
                s[place] = buffer[n]
                s[place + 1] = _row(names, buffer[n + 1])
                s[place + 2] = buffer[n + 2] + clock
                n += 3
        for k in range(2 * s[c + 6]):
            s[layout[8] + k] = buffer[n] + (clock if k % 2 else 0)
            n += 1
        which += 1
    return which


class _State(NamedTuple):
    """State that decides everything that happens next: packed, with rows by number, the rows themselves, and the cycles to
    the next refresh of a channel. Without refresh these are :data:`kernel.NEVER`."""

    shape: bytes
    rows: tuple[int, ...]
    due: int

    def spares(self, cycles: int) -> bool:
        """Whether no refresh falls due in the next ``cycles`` cycles. Then what happens does not depend on it."""
        return self.due == _NEVER or self.due > cycles + 1

    def after(self, cycles: int) -> int:
        """Cycles to the next refresh, later by cycles without one."""
        return _NEVER if self.due == _NEVER else self.due - cycles


# Pieces of a program ---------------------------------------------------------------------------------------------------


class _Piece:
    """Part of a program. Its time depends on which of its rows are equal, not on the numbers of the rows.

    Attributes
    ----------
    rows : rows of the part, in order of appearance
    digest : digest of the contents, with each row replaced by its place in ``rows``
    size : number of instructions
    """

    def __init__(self, rows: Sequence[int], digest: bytes, size: int) -> None:
        self.rows, self.digest, self.size = tuple(rows), digest, size

    @cached_property
    def index(self) -> dict[int, int]:
        """Place of each row."""
        return {row: k for k, row in enumerate(self.rows)}

    def at(self, rows: Sequence[int]) -> _Piece:
        """The same piece on other rows."""
        moved = object.__new__(type(self))
        moved.__dict__.update(self.__dict__)
        moved.rows = tuple(rows)
        moved.__dict__.pop("index", None)
        return moved


def _digest(*parts: bytes) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(part)
    return digest.digest()


class _Leaf(_Piece):
    """Consecutive instructions. ``codes`` has the instructions of known leaves, by digest."""

    def __init__(self, code: Instructions, codes: dict[bytes, Instructions]) -> None:
        values, first, inverse = np.unique(code.rows, return_index=True, return_inverse=True)
        order = np.argsort(first[values >= 0], kind="stable")  # the rows in order of their first use
        rank = np.full(len(values), -1, np.int64)
        rank[values >= 0] = np.argsort(order)
        code = Instructions(code.kinds, code.targets, code.ops, code.masks, rank[inverse], code.blocks)
        super().__init__(
            values[values >= 0][order].tolist(), _digest(*(column.tobytes() for column in code)), len(code)
        )
        self.code = codes.setdefault(self.digest, code)


class _Repeat(_Piece):
    """A piece executed ``count`` times without a change."""

    def __init__(self, count: int, piece: _Piece) -> None:
        self.count, self.first = count, piece
        super().__init__(piece.rows, _digest(b"repeat %d" % count, piece.digest), count * piece.size)

    @property
    def piece(self) -> _Piece:
        return self.first if self.first.rows == self.rows else self.first.at(self.rows)


class _Sequence(_Piece):
    """Pieces after each other. Some are stages with a name."""

    def __init__(self, pieces: list[_Piece], names: list[str | None]) -> None:
        self.parts, self.names = pieces, names
        rows = dict.fromkeys(row for piece in pieces for row in piece.rows)
        place = {row: k for k, row in enumerate(rows)}
        self.places = [[place[row] for row in piece.rows] for piece in pieces]
        text = [repr(names).encode()]
        for piece, places in zip(pieces, self.places, strict=True):
            text += [piece.digest, np.array(places, np.int64).tobytes()]
        super().__init__(tuple(rows), _digest(*text), sum(piece.size for piece in pieces))

    def __iter__(self) -> Iterator[tuple[str | None, _Piece]]:
        for name, part, places in zip(self.names, self.parts, self.places, strict=True):
            rows = tuple([self.rows[k] for k in places])
            yield name, part if part.rows == rows else part.at(rows)


def _joined(pieces: list[tuple[str | None, _Piece]]) -> _Piece:
    """Pieces after each other as a balanced tree. So runs that reach the same state share the pieces that follow."""
    if len(pieces) == 1 and pieces[0][0] is None:
        return pieces[0][1]
    if len(pieces) <= 3 or any(name is not None for name, _ in pieces):
        return _Sequence([piece for _, piece in pieces], [name for name, _ in pieces])
    middle = len(pieces) // 2
    return _Sequence([_joined(pieces[:middle]), _joined(pieces[middle:])], [None, None])


#: Effect of a piece on a state, as a plain tuple that the garbage collector need not inspect: packed state afterwards;
#: rows of this state, each as the number of a row of the piece or, behind these, of a row of the state before; cycles;
#: commands by number; names and cycles of its stages; cycles from its end to the next refresh.
_Outcome = tuple[bytes, tuple[int, ...], int, np.ndarray, tuple[tuple[str, int], ...], int]


class FrontEnd:
    """Host and channels of an AiM device. A piece that was timed before from the same state is looked up.

    Parameters
    ----------
    memory : :class:`Memory` or name
        Memory with AiM commands.
    quirks : :class:`str` or None
        ``aim-simulator`` reproduces the public simulator. None leaves out its quirks.
    refresh : :class:`bool`
        Whether channels refresh. Not allowed with quirks, because that simulator never refreshes.
    """

    def __init__(self, memory: Memory | str = "gddr6-aim", *, quirks: str | None = None, refresh: bool = False) -> None:
        memory = load_memory(memory) if isinstance(memory, str) else memory
        self.memory = memory.with_quirks(quirks)
        missing = {i.command for i in INSTRUCTIONS.values() if i.command} - self.memory.commands.keys()
        if missing or memory.channels != CHANNELS:
            raise ConfigError(
                f"{memory.name}: not an AiM device: "
                + (f"no command {min(missing)}" if missing else f"{memory.channels} channels, not {CHANNELS}")
            )
        if refresh and quirks:
            raise ConfigError("the AiM simulator never refreshes: refresh cannot be combined with its quirks")
        if refresh and memory.refresh is None:
            raise ConfigError(f"{memory.name}: the memory states no refresh")
        self.tables, self.numbering = make_tables(self.memory)
        self.image = make_image(self.tables)
        self.layout = kernel.Layout(self.memory.banks, self.numbering.slots, self.numbering.ring_times)
        self.names = list(self.memory.commands)
        self.flags = np.full(len(kernel.FLAGS), quirks is not None)
        refreshing = self.memory.refresh
        self.interval = refreshing.interval if refresh and refreshing else 0
        self.refresh_target = int(self.numbering.targets[refreshing.command][0]) if refreshing else -1
        switch = self.memory.mode_switch
        self.mode_switch = int(self.numbering.targets[switch][0]) if switch else -1
        self.state, self.members, self.host = kernel.fresh_state(self.layout, self.interval)
        self.buffer = np.zeros(CHANNELS * (self.layout.size + 1), np.int32)
        self.named = np.zeros(CHANNELS * self.layout.size, np.int64)
        self.known: dict[tuple[Any, ...], _Outcome] = {}
        self.shapes: dict[bytes, bytes] = {}
        self.pieces: dict[Any, list[_Piece]] = {}  # compiled recently
        self.older: dict[Any, list[_Piece]] = {}  # compiled before
        self.codes: dict[bytes, Instructions] = {}
        self._start = self._pack()
        self._end = _Leaf(self._encode([("EOC", {})]), self.codes)

    # Running ---------------------------------------------------------------------------------------------------------

    def _advance(self, code: Instructions, counts: np.ndarray, log: np.ndarray | None = None) -> None:
        """Run the kernel over instructions from the present state."""
        self.host[kernel.HEAD] = 0
        with brief(int(code.ops.sum())):
            kernel.advance(
                self.image,
                self.state,
                self.members,
                self.host,
                self.layout.array,
                self.numbering.slot_horizon,
                self.numbering.ring_horizon,
                *code,
                counts,
                self.mode_switch,
                self.refresh_target,
                self.interval,
                self.flags,
                _NO_LOG if log is None else log,
            )
        if self.host[kernel.STUCK]:
            raise ConfigError(f"{self.memory.name}: instruction {int(self.host[kernel.HEAD]) + 1} waits for ever")

    def _pack(self) -> _State:
        with brief(1):
            kernel._join(
                self.state,
                self.members,
                self.host,
                self.layout.array,
                self.numbering.slot_horizon,
                self.numbering.ring_horizon,
            )
            size, named, due = _pack(
                self.state,
                self.members,
                self.host[kernel.CLASSES],
                self.layout.array,
                self.numbering.slot_horizon,
                self.numbering.ring_horizon,
                self.host[kernel.CLOCK],
                self.buffer,
                self.named,
            )
        shape = self.buffer[:size].tobytes()
        return _State(self.shapes.setdefault(shape, shape), tuple(self.named[:named].tolist()), int(due))

    def _unpack(self, shape: bytes, rows: Sequence[int], due: int) -> None:
        values = np.frombuffer(shape, np.int32)
        self.host[:] = 0
        with brief(1):
            self.host[kernel.CLASSES] = _unpack(
                self.state,
                self.members,
                self.layout.array,
                self.numbering.slots,
                self.numbering.ring_times,
                0,
                due,
                values,
                len(values),
                np.array(rows, np.int64),
            )

    def _piece(self, piece: _Piece, state: _State) -> tuple[_State, _Outcome]:
        """State after a piece, and the effect of the piece.

        The effect is looked up for every time of the next refresh that is after the piece.
        """
        index, rows = piece.index, piece.rows
        common = tuple([index.get(row, -1) for row in state[1]])
        key: tuple[Any, ...] = (piece.digest, common, state[0])
        outcome = self.known.get(key)
        if outcome is None or not state.spares(outcome[2]):
            exact = (*key, state.due)
            outcome = self.known.get(exact)
            if outcome is None:
                if isinstance(piece, _Leaf):
                    outcome = self._leaf(piece, state, common)
                elif isinstance(piece, _Repeat):
                    outcome = self._repeat(piece, state)
                else:
                    assert isinstance(piece, _Sequence)
                    outcome = self._sequence(piece, state)
                self.known[key if state.spares(outcome[2]) else exact] = outcome
        own, due = len(rows), state.after(outcome[2]) if state.spares(outcome[2]) else outcome[5]
        return _State(outcome[0], tuple([rows[k] if k < own else state[1][k - own] for k in outcome[1]]), due), outcome

    def _leaf(self, piece: _Leaf, state: _State, common: tuple[int, ...]) -> _Outcome:
        """Run the kernel, on rows by number."""
        own = len(piece.rows)
        self._unpack(state.shape, [k if k >= 0 else own + n for n, k in enumerate(common)], state.due)
        counts = np.zeros(len(self.names), np.int64)
        self._advance(piece.code, counts)
        cycles = int(self.host[kernel.CLOCK])
        after = self._pack()
        return after.shape, after.rows, cycles, counts, (), after.due

    def _outcome(
        self,
        piece: _Piece,
        before: _State,
        after: _State,
        cycles: int,
        counts: np.ndarray,
        stages: tuple[tuple[str, int], ...],
    ) -> _Outcome:
        place = {row: len(piece.rows) + k for k, row in enumerate(before.rows)}
        rows = tuple([piece.index[row] if row in piece.index else place[row] for row in after.rows])
        return after.shape, rows, cycles, counts, stages, after.due

    def _repeat(self, piece: _Repeat, state: _State) -> _Outcome:
        """Iterate until a state repeats. From there on the same iterations repeat. If the time to the next refresh does
        not repeat, this holds for the iterations that end before it."""
        before, body = state, piece.piece
        left, cycles, counts = piece.count, 0, np.zeros(len(self.names), np.int64)
        seen: dict[
            tuple[Any, ...], tuple[int, int, np.ndarray]
        ] = {}  # with the refresh, and since the last one without
        free: dict[tuple[Any, ...], tuple[int, int, np.ndarray]] = {}
        while left:
            place = state[:2]
            if found := seen.get(state) or free.get(place):
                period, span, more = found[0] - left, cycles - found[1], counts - found[2]
                times = left // period
                if state not in seen:
                    times = min(times, max(state.due - 2, 0) // span)
                    state = state._replace(due=state.due - times * span)
                left, cycles, counts = left - times * period, cycles + times * span, counts + times * more
                if not left:
                    break
            seen[state] = free[place] = left, cycles, counts
            previous = state
            state, outcome = self._piece(body, previous)
            if state.due != previous.after(outcome[2]):
                free.clear()
            left, cycles, counts = left - 1, cycles + outcome[2], counts + outcome[3]
        return self._outcome(piece, before, state, cycles, counts, ())

    def _sequence(self, piece: _Sequence, state: _State) -> _Outcome:
        after, cycles, counts, stages, _ = self._run(piece, state)
        return self._outcome(piece, state, after, cycles, counts, tuple(stages.items()))

    def _run(
        self, pieces: Iterable[tuple[str | None, _Piece]], state: _State
    ) -> tuple[_State, int, np.ndarray, dict[str, int], int]:
        """Run pieces in order. Returns the state afterwards, cycles, commands, cycles of stages, and instructions."""
        cycles, counts, size = 0, np.zeros(len(self.names), np.int64), 0
        stages: dict[str, int] = {}
        for name, part in pieces:
            state, outcome = self._piece(part, state)
            cycles += outcome[2]
            counts += outcome[3]
            size += part.size
            for inner, value in outcome[4]:
                stages[inner] = stages.get(inner, 0) + value
            if name is not None:
                stages[name] = stages.get(name, 0) + outcome[2]
        return state, cycles, counts, stages, size

    def time(self, program: Program) -> FrontEndTiming:
        """Time of a program whose commands are :data:`INSTRUCTIONS`, with an end (``EOC``) behind its last command.

        Raises
        ------
        :exc:`ConfigError`
            For an unknown instruction or an operand that is missing or out of range.
        """
        _, cycles, counts, stages, size = self._run([*self._compile(program.body), (None, self._end)], self._start)
        commands = {name: n for name, n in zip(self.names, counts.tolist(), strict=True) if n}
        return FrontEndTiming(self.memory, cycles, commands, size, stages)

    def stage_ends(self, program: Program) -> dict[str, int]:
        """For each stage on the top level, the cycles of the program up to its end, with an ``EOC`` there."""
        state, cycles = self._start, 0
        ends: dict[str, int] = {}
        for name, piece in self._compile(program.body):
            state, outcome = self._piece(piece, state)
            cycles += outcome[2]
            if name is not None:
                ends[name] = cycles + self._piece(self._end, state)[1][2]
        return ends

    # Compiling -------------------------------------------------------------------------------------------------------

    def _compile(self, body: Sequence[Node]) -> list[tuple[str | None, _Piece]]:
        """Pieces of a program without symbolic operands, with the names of stages."""
        out: list[tuple[str | None, _Piece]] = []
        plain: list[Node] = []

        def flush() -> None:
            if plain:
                out.extend((None, piece) for piece in self._seen(tuple(plain)))
                plain.clear()

        for node in body:
            if isinstance(node, Stage):
                flush()
                out.append((node.name, self._seen(node)[0]))
            elif isinstance(node, Loop) and _apart(node):
                flush()
                out.extend((None, piece) for piece in self._seen(node))
            else:
                plain.append(node)
        flush()
        return out

    def _seen(self, what: Stage | Loop | tuple[Node, ...]) -> list[_Piece]:
        """Piece of a stage, of a loop that is not unrolled, or of unrolled nodes. Empty without instructions."""
        pieces = self.pieces.get(what)
        if pieces is None:
            pieces = self.older.get(what)
            if pieces is None:
                if isinstance(what, Stage):
                    pieces = [_joined(self._compile(what.body))]
                elif isinstance(what, Loop):
                    base = min(_bases(what.body), default=0)
                    if base:  # programs at other rows use it too
                        first = self._seen(Loop(what.count, tuple(shift(what.body, 0, {"row": Affine(-base)}))))[0]
                        pieces = [first.at([row + base for row in first.rows])]
                    else:
                        pieces = [self._loop(what)]
                else:
                    code = self._unrolled(what)
                    pieces = [_Leaf(code, self.codes)] if len(code) else []
            if len(self.pieces) >= KEPT:
                self.older, self.pieces = self.pieces, {}
            self.pieces[what] = pieces
        return pieces

    def _loop(self, loop: Loop) -> _Piece:
        first = _joined(self._compile(_lowered(loop.body)))
        if loop.count == 1:
            return first
        strides = _strides(loop.body, 0)
        if strides == {0}:
            return _Repeat(loop.count, first)
        if len(strides) == 1 and (stride := strides.pop()) is not None:
            return _joined([(None, first.at([row + stride * k for row in first.rows])) for k in range(loop.count)])
        turns = (_joined(self._compile(_lowered(loop.body, k))) for k in range(1, loop.count))
        return _joined([(None, first), *((None, turn) for turn in turns)])

    def _unrolled(self, body: Sequence[Node]) -> Instructions:
        """All instructions of a piece in order."""
        columns = _expand(body, 0, self._columns)
        return Instructions(*np.ascontiguousarray(columns[:, :, 0].T)) if len(columns) else _EMPTY

    def _columns(self, command: Command, depth: int) -> np.ndarray:
        """One instruction as bases and strides of its fields, of shape ``(1, 6, 1 + depth)``."""
        what = INSTRUCTIONS.get(command.op)
        if what is None:
            raise ConfigError(f"{self.memory.name}: {nearest('instruction', command.op, INSTRUCTIONS)}")
        out = np.zeros((1, 6, 1 + depth), np.int64)
        given = dict(command.operands)
        for name in given:
            if name not in what.fields and name not in what.optional:
                valid = (*what.fields, *what.optional)
                raise ConfigError(f"{self.memory.name}: {command.op}: {nearest('operand', name, valid)}")

        def operand(name: str) -> np.ndarray:
            if name not in given:
                raise ConfigError(f"{self.memory.name}: {command.op}: needs the operand {name}")
            value = given[name]
            return np.array([value.base, *value.strides] + [0] * (depth - len(value.strides)), np.int64)

        out[0, 0, 0], out[0, 5, 0] = what.kind, what.blocks
        if what.kind == kernel.NOTHING:
            return out
        one = np.eye(1, 1 + depth, dtype=np.int64)[0]
        out[0, 2] = operand("opsize") if "opsize" in what.fields or "opsize" in given else one
        if "opsize" in what.optional and not out[0, 2].any():
            out[0, 2] = one
        if what.kind == kernel.SYNC:
            out[0, 1, 0], out[0, 3, 0] = -1, ALL_CHANNELS
            return out
        assert what.command is not None
        targets = self.numbering.targets[what.command]
        out[0, 1, 0] = targets[0]
        if "bank" in what.fields:
            out[0, 1] += operand("bank")
        if "mask" in what.fields:
            mask = operand("mask")
            if mask[1:].any():
                raise ConfigError(f"{self.memory.name}: {command.op}: the mask must not move with a loop")
            out[0, 3, 0] = _reversed(int(mask[0]))
        else:
            out[0, 3] = operand("channel")  # becomes a mask when its value is known
            out[0, 5] = 0
            out[0, 0, 0] += 16
        out[0, 4] = operand("row") if "row" in what.fields else -one
        if command.op == "AF":
            out[0, 4, 0] = AF_ROW
        return out

    def _encode(self, lines: list[tuple[str, dict[str, int]]]) -> Instructions:
        return self._unrolled([Command(op, operands) for op, operands in lines])

    # Traces ----------------------------------------------------------------------------------------------------------

    def run(self, blocks: Iterator[Instructions] | Sequence[Instructions]) -> FrontEndTiming:
        """Time of instructions in blocks, as :func:`~.aim_trace.read_trace` gives them."""
        self._unpack(*self._start)
        counts, total = np.zeros(len(self.names), np.int64), 0
        for code in blocks:
            self._advance(code, counts)
            total += len(code)
        return FrontEndTiming(
            self.memory,
            int(self.host[kernel.CLOCK]),
            {name: int(n) for name, n in zip(self.names, counts, strict=True) if n},
            total,
        )


_EMPTY = Instructions(*(np.zeros(0, np.int64) for _ in range(6)))
_NO_LOG = np.zeros((0, 4), np.int64)


@lru_cache(maxsize=1 << 12)
def _apart(loop: Loop) -> bool:
    """Whether a loop stays a piece of its own, not unrolled."""
    return _size(loop.body, True) * loop.count > LEAF and (_size(loop.body) >= PIECE or _strides(loop.body, 0) == {0})


def _bases(body: Sequence[Node]) -> Iterator[int]:
    """First rows of the commands of a body."""
    for node in body:
        if isinstance(node, Loop | Stage):
            yield from _bases(node.body)
        elif isinstance(node, Command) and (row := node.get("row")) is not None:
            yield row.base


def _strides(body: Sequence[Node], level: int) -> set[int | None]:
    """Strides of the rows in ``body`` over loop ``level``; with None if another operand moves too."""
    out: set[int | None] = set()
    for node in body:
        if isinstance(node, Loop | Stage):
            out |= _strides(node.body, level)
        elif isinstance(node, Command):
            for name, value in node.operands:
                stride = value.strides[level] if len(value.strides) > level else 0
                if name == "row":
                    out.add(stride)
                elif stride:
                    out.add(None)
    return out or {0}


def _size(body: Sequence[Node], requests: bool = False) -> int:
    """Number of instructions of a body, or of requests that the instructions make."""
    total = 0
    for node in body:
        if isinstance(node, Loop):
            total += node.count * _size(node.body, requests)
        elif isinstance(node, Stage):
            total += _size(node.body, requests)
        elif isinstance(node, Command):
            size = node.get("opsize") if requests else None
            total += 1 if size is None else size.base
    return total


def _lowered(body: Sequence[Node], index: int = 0) -> tuple[Node, ...]:
    """The body of an outermost loop in its iteration ``index``, without the level of this loop."""
    out: list[Node] = []
    for node in body:
        if isinstance(node, Command):
            out.append(
                Command(
                    node.op,
                    {
                        name: type(v)(v.base + (v.strides[0] if v.strides else 0) * index, v.strides[1:])
                        for name, v in node.operands
                    },
                )
            )
        elif isinstance(node, Loop):
            out.append(Loop(node.count, _lowered(node.body, index)))
        elif isinstance(node, Stage):
            out.append(Stage(node.name, _lowered(node.body, index)))
        else:
            raise ConfigError("the host paces the commands: a program cannot wait")
    return tuple(out)


def _expand(body: Sequence[Node], depth: int, columns: Any) -> np.ndarray:
    parts = [np.zeros((0, 6, 1 + depth), np.int64)]
    for node in body:
        if isinstance(node, Command):
            parts.append(columns(node, depth))
        elif isinstance(node, Loop):
            inner = _expand(node.body, depth + 1, columns)
            outer = np.broadcast_to(inner[..., :-1], (node.count, *inner.shape[:2], depth + 1)).copy()
            outer[..., 0] += inner[..., -1] * np.arange(node.count)[:, None, None]
            parts.append(outer.reshape(-1, 6, depth + 1))
        elif isinstance(node, Stage):
            parts.append(_expand(node.body, depth, columns))
        else:
            raise ConfigError("the host paces the commands: a program cannot wait")
    out = np.concatenate(parts)
    if not depth and len(out):
        addressed = out[:, 0, 0] >= 16
        channel = out[:, 3, 0]
        if addressed.any() and not (0 <= channel[addressed].min() and channel[addressed].max() < CHANNELS):
            raise ConfigError(f"channel must be 0 to {CHANNELS - 1}")
        out[:, 3, 0] = np.where(addressed, 1 << (channel & (CHANNELS - 1)), channel)
        out[:, 0, 0] &= 15
    return out
