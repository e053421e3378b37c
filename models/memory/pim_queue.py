"""Programs and traces of AttAcc's HBM: each channel queues near-bank requests, behind one in-order front end."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...constraints.core.errors import ConfigError, nearest
from ...constraints.memory import Constraint, Memory, load_memory
from ..program import Command, Loop, Node, Program, Stage
from . import pim_queue_kernel as kernel
from .answer import TraceTiming
from .compiled import brief
from .lines import Progress, line_blocks
from .plan import make_plan
from .tables import Numbering, Tables, make_tables

__all__ = ["OPERATIONS", "Issue", "QueueController", "QueueTiming", "Requests", "read_trace", "trace_lines"]

#: Operations of a trace and the memory's command for each; a barrier has no command. Source: the AttAcc simulator.
OPERATIONS: dict[str, str | None] = {
    "LD": "RD",
    "ST": "WR",
    "PIM_MAC_AB": "MAC_AB",
    "PIM_MAC_SB": "MAC_SB",
    "PIM_MAC_PB": "MAC_PB",
    "PIM_WR_GB": "WR_GB",
    "PIM_MV_SB": "MV_SB",
    "PIM_MV_GB": "MV_GB",
    "PIM_SFM": "SFM",
    "PIM_SET_MODEL": "SET_MODEL",
    "PIM_SET_HEAD": "SET_HEAD",
    "PIM_BARRIER": None,
}
#: The same operations by the command's name, as in programs, with their numbers in ``Requests.kinds``.
KINDS = {command or "BARRIER": number for number, command in enumerate(OPERATIONS.values())}

QUIRKS = "attacc-simulator"


class Requests(NamedTuple):
    """Requests as the kernel takes them: int64 arrays.

    A request goes ``counts`` times to all channels of ``masks`` (bit 0: channel 0), in ascending order. The next
    request follows after that. ``addresses`` are bytes within a channel. They advance by ``steps`` from one time to the
    next.
    """

    kinds: np.ndarray
    masks: np.ndarray
    addresses: np.ndarray
    steps: np.ndarray
    counts: np.ndarray

    def __len__(self) -> int:
        return len(self.kinds)

    @property
    def total(self) -> int:
        """Requests of all channels, barriers included."""
        return int((self.counts * np.bitwise_count(self.masks)).sum())


class Issue(NamedTuple):
    """A command of the issue log. ``address`` has bank, row and column as the request names them, by level; -1: any."""

    cycle: int
    channel: int
    command: str
    address: dict[str, int]


@dataclass
class QueueTiming(TraceTiming):
    """Time of a program or trace on AttAcc's HBM. ``requests`` counts all channels, barriers included."""

    requests: int

    @property
    def row_hits(self) -> int:
        """Accesses that did not open their row themselves."""
        by_rule = {
            rule: sum(n for name, n in self.commands.items() if self.memory.commands[name].row == rule)
            for rule in ("needs", "opens")
        }
        return by_rule["needs"] - by_rule["opens"]


class QueueController:
    """Front end and channel controllers of an AttAcc device.

    Parameters
    ----------
    memory : :class:`Memory` or name
        Memory with AttAcc's commands and sizes that are powers of two.
    quirks : :class:`str` or None
        ``attacc-simulator`` reproduces the public simulator. None leaves out its quirks.
    power_limit : :class:`bool`
        Whether the memory's power limit holds.
    refresh : :class:`bool`
        Whether channels refresh.
    paces : mapping of command to :class:`int`
        Least cycles of a channel from one such command to the next, for units that are slower than the memory.
    """

    def __init__(
        self,
        memory: Memory | str = "hbm3-5.2",
        *,
        quirks: str | None = None,
        power_limit: bool = True,
        refresh: bool = True,
        paces: Mapping[str, int] | None = None,
    ) -> None:
        memory = load_memory(memory) if isinstance(memory, str) else memory
        memory = memory.with_quirks(quirks).at(power_limit)
        slower = [
            Constraint("channel", frozenset({name}), frozenset({name}), cycles, 1, "same", 0)
            for name, cycles in (paces or {}).items()
        ]
        self.memory = replace(memory, constraints=(*memory.constraints, *slower)) if slower else memory
        missing = {name for name in OPERATIONS.values() if name} - self.memory.commands.keys()
        if missing:
            raise ConfigError(f"{memory.name}: not an AttAcc device: no command {min(missing)}")
        if refresh and self.memory.refresh is None:
            raise ConfigError(f"{memory.name}: the memory states no refresh")
        sizes = [memory.channels, *memory.levels.values(), memory.rows, memory.columns, memory.column_bytes]
        if any(size & (size - 1) for size in sizes) or memory.channels > 32:
            raise ConfigError(f"{memory.name}: addresses need sizes that are powers of two, and at most 32 channels")
        self.names = list(self.memory.commands)
        tables, self.numbering = make_tables(self.memory)
        # Bits of an address, from below: byte of a column, column, row, bank (outermost level on top), channel.
        self.row_shift = (memory.columns * memory.column_bytes).bit_length() - 1
        self.bank_shift = self.row_shift + memory.rows.bit_length() - 1
        self.channel_shift = self.bank_shift + memory.banks.bit_length() - 1
        bits = [self.row_shift, memory.rows.bit_length() - 1, self.bank_shift, memory.banks.bit_length() - 1]
        self.lookup = self._lookup()
        refreshing = self.memory.refresh
        interval = refreshing.interval if refresh and refreshing else 0
        refreshes = self.numbering.targets[refreshing.command] if refreshing else np.zeros(1, np.int64)
        if quirks:
            tables = _as_simulated(tables, self.numbering, self.memory, refreshes)
        plan, groups = make_plan(tables, self._used(tables, refreshes))
        self.image, self.lookup[:, 1:] = kernel.make_image(
            plan,
            groups,
            self.lookup[:, 1:],
            [quirks is not None] * len(kernel.FLAGS),
            interval,
            bits,
            self.names.index("RD"),
            refreshes,
            memory.banks,
            self.numbering.ring_times,
        )
        self._fresh = kernel.fresh_state(self.image, memory.channels, len(self.names))
        self.state, self.members, self.host = (part.copy() for part in self._fresh)

    def _used(self, tables: Tables, refreshes: np.ndarray) -> np.ndarray:
        """Targets that can issue."""
        used = set(refreshes.tolist()) | set(self.lookup[:, 1:].ravel().tolist()) - {-1}
        used |= {int(x[target]) for target in used for x in (tables.activate, tables.precharge)} - {-1}
        return np.array(sorted(used), np.int64)

    def _lookup(self) -> np.ndarray:
        """For each kind of request its queue, and its target by the bank of its address (-1: a barrier)."""
        levels = self.memory.levels
        banks = np.arange(self.memory.banks)
        place = dict(zip(levels, np.unravel_index(banks, tuple(levels.values())), strict=True))
        out = np.full((len(OPERATIONS), 1 + len(banks)), -1, np.int64)
        for kind, name in enumerate(OPERATIONS.values()):
            out[kind, 0] = {"RD": kernel.READS, "WR": kernel.WRITES}.get(name or "", kernel.PIM)
            if name is not None:
                index = np.zeros(len(banks), np.int64)
                for level in self.memory.commands[name].scope:
                    index = index * levels[level] + place[level]
                out[kind, 1:] = self.numbering.targets[name][index]
        return out

    # Running ---------------------------------------------------------------------------------------------------------

    def time(self, work: Program | Requests) -> QueueTiming:
        """Time of requests, or of a program of them (see :meth:`requests`), from closed rows on."""
        return self.run([work] if isinstance(work, Requests) else self.requests(work))

    def run(self, blocks: Iterable[Requests]) -> QueueTiming:
        """Time of requests in blocks, as :func:`read_trace` gives them."""
        self._reset(separate=False)
        total = 0
        for block, final in _marked(blocks):
            self._advance(block, final, _NO_LOG)
            total += block.total
        return QueueTiming(self.memory, int(self.host[kernel.CLOCK]), self._issued(), total)

    def _issued(self) -> dict[str, int]:
        return {name: n for name, n in zip(self.names, self.host[kernel.ISSUED :].tolist(), strict=True) if n}

    def issues(self, blocks: Iterable[Requests], lines: int = 1 << 16) -> Iterator[Issue]:
        """The issue log: every command of every channel, in order of time."""
        for log in self.logs(blocks, lines):
            for cycle, members, command, address in log.tolist():
                where = self._where(address)
                for channel in range(self.memory.channels):
                    if members >> channel & 1:
                        yield Issue(cycle, channel, self.names[command], where)

    def logs(self, blocks: Iterable[Requests], lines: int = 1 << 16) -> Iterator[np.ndarray]:
        """The issue log as arrays of cycle, mask of channels, number of the command, address within the channel."""
        log = np.zeros((lines + 2 * self.memory.channels, 4), np.int64)
        self._reset(separate=True)
        for block, final in _marked(blocks):
            through = False
            while not through:
                self.host[kernel.LOGGED] = 0
                through = self._advance(block, final, log)
                yield log[: self.host[kernel.LOGGED]].copy()

    def _where(self, address: int) -> dict[str, int]:
        if address < 0:  # a refresh
            levels = list(self.memory.levels)
            return dict.fromkeys([*levels, "row", "column"], -1) | {levels[0]: -1 - address}
        bank = np.unravel_index(address >> self.bank_shift, tuple(self.memory.levels.values()))
        return {
            **{level: int(index) for level, index in zip(self.memory.levels, bank, strict=True)},
            "row": address >> self.row_shift & (self.memory.rows - 1),
            "column": (address & ((1 << self.row_shift) - 1)) // self.memory.column_bytes,
        }

    def _reset(self, separate: bool) -> None:
        self.state[0], self.members[:], self.host[:] = self._fresh[0][0], self._fresh[1], self._fresh[2]
        self.image[kernel.APART] = separate

    def _advance(self, block: Requests, final: bool, log: np.ndarray) -> bool:
        """Go on with a block. Returns whether the block is through; otherwise the log is full."""
        state = self.state, self.members, self.host
        with brief(block.total):
            through = kernel.advance(self.image, *state, *block, final, self.lookup, log)
        if self.host[kernel.STUCK]:
            cycle = int(self.host[kernel.CLOCK])
            raise ConfigError(f"{self.memory.name}: at cycle {cycle} requests close each other's rows for ever")
        if through:
            self.host[kernel.HEAD] = 0
        return bool(through)

    # Programs --------------------------------------------------------------------------------------------------------

    def requests(self, program: Program, lines: int = 1 << 16) -> Iterator[Requests]:
        """Requests of a program, block by block.

        Its commands are ``BARRIER`` and the commands of :data:`OPERATIONS`, with the memory's names. Operands are the
        levels of a bank, ``row``, ``column`` and ``offset`` (bytes within a column: the place in a unit's buffer). They
        are 0 if left out. ``mask`` selects channels (bit 0: channel 0), all channels if left out.
        """
        for part in self._parts(program.body, (), lines):
            out = np.ascontiguousarray(part.T)
            most = (1 << self.memory.channels) - 1
            if out.shape[1] and not 0 <= out[1].min() <= out[1].max() <= most:
                raise ConfigError(f"{self.memory.name}: mask beyond {most:#x}")
            yield Requests(*out)

    def _parts(self, body: Sequence[Node], indices: tuple[int, ...], lines: int) -> Iterator[np.ndarray]:
        ready: list[np.ndarray] = []
        size = 0
        for node in body:
            if isinstance(node, Stage):
                inner: Iterable[np.ndarray] = self._parts(node.body, indices, lines)
            elif isinstance(node, Loop) and not (
                node.count and len(node.body) == 1 and isinstance(node.body[0], Command)
            ):
                inner = (
                    part for index in range(node.count) for part in self._parts(node.body, (*indices, index), lines)
                )
            else:
                inner = [self._row(node, indices)]
            for part in inner:
                ready.append(part)
                size += len(part)
                if size >= lines:
                    yield np.concatenate(ready)
                    ready, size = [], 0
        if ready:
            yield np.concatenate(ready)

    def _row(self, node: Node, indices: tuple[int, ...]) -> np.ndarray:
        """A command, or a loop over one command, as a row of :class:`Requests`."""
        count, command = (node.count, node.body[0]) if isinstance(node, Loop) else (1, node)
        if not isinstance(command, Command):
            raise ConfigError("the front end sends requests as soon as the queues accept them: a program cannot wait")
        if command.op not in KINDS:
            raise ConfigError(f"{self.memory.name}: {nearest('request', command.op, KINDS)}")
        size = {
            **self.memory.levels,
            "row": self.memory.rows,
            "column": self.memory.columns,
            "offset": self.memory.column_bytes,
        }
        weight: dict[str, int] = {}
        above = 1 << self.channel_shift
        for name, values in size.items():
            above //= values
            weight[name] = above
        depth = len(indices)
        mask, address, step = (1 << self.memory.channels) - 1, 0, 0
        for name, value in command.operands:
            stride = value.strides[depth] if len(value.strides) > depth else 0
            base = value.at(indices)
            if name == "mask":
                if stride and count > 1:
                    raise ConfigError(
                        f"{self.memory.name}: {command.op}: the mask must not move with an innermost loop"
                    )
                mask = base
                continue
            if name not in weight:
                raise ConfigError(f"{self.memory.name}: {command.op}: {nearest('operand', name, [*weight, 'mask'])}")
            low, high = sorted((base, base + stride * (count - 1)))
            if not 0 <= low <= high < size[name]:
                raise ConfigError(
                    f"{self.memory.name}: {command.op}: {name} must be 0 to {size[name] - 1}, not "
                    f"{low if low < 0 else high}"
                )
            address += base * weight[name]
            step += stride * weight[name]
        return np.array([[KINDS[command.op], mask, address, step, count]], np.int64)


_NO_LOG = np.zeros((0, 4), np.int64)


def _marked(blocks: Iterable[Requests]) -> Iterator[tuple[Requests, bool]]:
    """Each block, and whether it is the last block."""
    before: Requests | None = None
    for block in blocks:
        if before is not None:
            yield before, False
        before = block
    if before is not None:
        yield before, True


def _as_simulated(tables: Tables, numbering: Numbering, memory: Memory, refreshes: np.ndarray) -> Tables:
    """The tables with three slips of the simulator that no constraint can state.

    - Activations of several banks only check the refresh of the first pseudo-channel.
    - A broadcast access in some rank holds up the precharge of its own bank. It also holds up the precharge of the same
      bank in rank 0, in the bank group with the rank's number.
    - Precharges of same banks and of broadcast banks share their cycle with no column command.
    """
    sets = [tables.set_slot[a:b].tolist() for a, b in pairwise(tables.set_start.tolist())]
    checks = [set(tables.check_slot[a:b].tolist()) for a, b in pairwise(tables.check_start.tolist())]
    first = set(sets[refreshes[0]])
    for refresh in refreshes[1:]:
        sets[refresh] = [slot for slot in sets[refresh] if slot not in first]
    sizes = [memory.levels[level] for level in memory.commands["MAC_PB"].scope]
    accesses, precharges = (numbering.targets[name].reshape(sizes) for name in ("MAC_PB", "PREPB"))
    if sizes[1] < sizes[0]:
        raise ConfigError(f"{memory.name}: the simulator's quirks need as many bank groups as ranks")
    own = {at: set(sets[accesses[at]]) & checks[precharges[at]] for at in np.ndindex(*sizes)}
    for at in np.ndindex(*sizes):
        sets[accesses[at]] = sorted(set(sets[accesses[at]]) | own[0, at[0], at[2]])
    start = np.cumsum([0, *map(len, sets)])
    bus = tables.bus.copy()
    for name in ("PRESB", "PREPB"):
        bus[numbering.targets[name]] = -1
    return tables._replace(
        set_start=start.astype(np.int64), set_slot=np.array([x for y in sets for x in y], np.int64), bus=bus
    )


# Trace files -----------------------------------------------------------------------------------------------------------

_KIND = {name.encode(): number for number, name in enumerate(OPERATIONS)}


def read_trace(
    path: str | os.PathLike[str], controller: QueueController, progress: Progress | None = None
) -> Iterator[Requests]:
    """Requests of a trace file of the AttAcc simulator, block by block: lines ``OP 0xADDRESS``.

    Raises
    ------
    :exc:`ConfigError`
        ``file:line: reason`` for a line that is not text or has an unknown operation. Also for an address that is
        missing, not a number or beyond the device, and for a file without a request.
    """
    end = controller.memory.channels << controller.channel_shift
    any_request = False
    for first, lines in line_blocks(path, progress):
        try:
            pairs = [(_KIND[op], int(address, 0)) for op, address in map(bytes.split, lines)]
        except (ValueError, KeyError):
            pairs = _slowly(path, lines, first - 1, end)
        try:
            values = np.array(pairs, np.int64).reshape(-1, 2)
            beyond = len(values) and (values[:, 1].min() < 0 or values[:, 1].max() >= end)
        except OverflowError:
            beyond = True
        if beyond:
            _slowly(path, lines, first - 1, end)
        if pairs:
            any_request = True
            yield _gathered(values, controller)
    if not any_request:
        raise ConfigError(f"{path}: no request in the file; lines of an AttAcc trace are like PIM_MAC_AB 0x00000000")


def _slowly(path: str | os.PathLike[str], lines: list[bytes], before: int, end: int) -> list[tuple[int, int]]:
    """The same, line by line, with empty lines and comments (``#``). Errors name the wrong line."""
    out = []
    for number, line in enumerate(lines, before + 1):
        where = f"{path}:{number}: "
        words = line.split(b"#", 1)[0].split()
        if not words:
            continue
        if words[0] not in _KIND:
            raise ConfigError(where + nearest("operation", _shown(words[0]), OPERATIONS))
        if len(words) != 2:
            raise ConfigError(f"{where}{words[0].decode()} has an address, not {len(words) - 1} operands")
        try:
            address = int(words[1], 0)
        except ValueError:
            raise ConfigError(f"{where}the address must be a number, not '{_shown(words[1])}'") from None
        if not 0 <= address < end:
            raise ConfigError(f"{where}address {_shown(words[1])} is beyond the device ({end:#x} bytes)")
        out.append((_KIND[words[0]], address))
    return out


def _gathered(values: np.ndarray, controller: QueueController) -> Requests:
    """Gather lines into requests to several channels, and these requests into runs along the columns."""
    kinds, whole = values[:, 0].astype(np.int64), values[:, 1].astype(np.int64)
    channels, addresses = whole >> controller.channel_shift, whole & ((1 << controller.channel_shift) - 1)
    new = np.ones(len(kinds), bool)
    new[1:] = (kinds[1:] != kinds[:-1]) | (addresses[1:] != addresses[:-1]) | (channels[1:] <= channels[:-1])
    starts = np.flatnonzero(new)
    masks = np.bitwise_or.reduceat(np.left_shift(np.int64(1), channels), starts)
    kinds, addresses = kinds[starts], addresses[starts]
    step = controller.memory.column_bytes
    new = np.ones(len(kinds), bool)
    new[1:] = (
        (kinds[1:] != kinds[:-1])
        | (masks[1:] != masks[:-1])
        | (addresses[1:] != addresses[:-1] + step)
        | (kinds[1:] <= KINDS["WR"])
    )
    starts = np.flatnonzero(new)
    counts = np.diff(np.append(starts, len(kinds)))
    return Requests(kinds[starts], masks[starts], addresses[starts], np.where(counts > 1, step, 0), counts)


def trace_lines(requests: Requests, controller: QueueController) -> Iterator[str]:
    """Lines of a trace file, each with its end."""
    names = list(OPERATIONS)
    for kind, mask, address, step, count in np.stack(requests, axis=1).tolist():
        channels = [n << controller.channel_shift for n in range(controller.memory.channels) if mask >> n & 1]
        for time in range(count):
            for channel in channels:
                yield f"{names[kind]} 0x{channel + address + step * time:08x}\n"


def _shown(word: bytes) -> str:
    text = word.decode("utf-8", "backslashreplace")
    return text if len(text) <= 40 and text.isprintable() else repr(text[:20]) + "..."
