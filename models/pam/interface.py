"""Functional model of PAM's interface: where transfers put each byte, and the order in which its schedulers access it.

Source: PAM (MICRO 2025) section 6.2. ``constraints.pam_layout`` defines the maps. The rule of order is this project's
(``gen.pam.scheduler``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from ...constraints.core.errors import ConfigError
from ...constraints.pam.interface import MemorySide, PamInterfaceConfig

__all__ = ["Access", "Image", "SchedulerModel", "Tokens", "bundles", "replay", "transfer"]


@dataclass(frozen=True)
class Tokens:
    """Descriptors: every array has one entry for each token. ``tag`` names the token at completion."""

    source_group: np.ndarray
    source_slot: np.ndarray
    destination_group: np.ndarray
    destination_slot: np.ndarray
    tag: np.ndarray

    def __len__(self) -> int:
        return len(self.tag)


@dataclass(frozen=True)
class Image:
    """Contents of a memory: blocks of ``access_bytes``, in ascending order of the address of their first byte."""

    address: np.ndarray
    block: np.ndarray

    @staticmethod
    def of(side: MemorySide, token_bytes: int, group: np.ndarray, slot: np.ndarray, data: np.ndarray) -> Image:
        """Tokens ``data`` (uint8, shape ``(tokens, token_bytes)``) at places of a memory.

        Raises
        ------
        :exc:`ConfigError`
            If two tokens share a place, or one is outside the memory.
        """
        accesses = side.layout.accesses(0, group, slot, token_bytes)
        address = side.layout.byte_address(accesses).ravel()
        block = np.ascontiguousarray(data, np.uint8).reshape(len(address), side.access_bytes)
        order = np.argsort(address, kind="stable")
        if (np.diff(address[order]) == 0).any():
            raise ConfigError(f"two tokens have the same place in '{side.format}'")
        return Image(address[order], block[order])

    def tokens(self, side: MemorySide, token_bytes: int, group: np.ndarray, slot: np.ndarray) -> np.ndarray:
        """Bytes of tokens, shape ``(tokens, token_bytes)``; :exc:`ConfigError` if a place holds nothing."""
        accesses = side.layout.accesses(0, group, slot, token_bytes)
        address = side.layout.byte_address(accesses)
        at = np.minimum(np.searchsorted(self.address, address), len(self.address) - 1)
        if not len(self.address) or (self.address[at] != address).any():
            raise ConfigError(f"a place of '{side.format}' that is to be read holds no token")
        return self.block[at].reshape(len(address), token_bytes)


def transfer(config: PamInterfaceConfig, source: Image, tokens: Tokens) -> Image:
    """Contents that the transfers write: every byte of every token once, where the destination's map puts it."""
    data = source.tokens(config.source, config.token_bytes, tokens.source_group, tokens.source_slot)
    return Image.of(config.destination, config.token_bytes, tokens.destination_group, tokens.destination_slot, data)


def bundles(config: PamInterfaceConfig, tokens: Tokens) -> np.ndarray:
    """Number of the bundle of each token, ascending.

    Tokens that follow each other form a bundle if they have the same slot on different chips and the chips ascend. The
    tokens of a bundle share their commands.
    """
    chips = config.chips
    if chips == 1:
        return np.arange(len(tokens))
    at = "source" if config.source.chips > 1 else "destination"
    group, slot = np.asarray(getattr(tokens, f"{at}_group")), np.asarray(getattr(tokens, f"{at}_slot"))
    new = np.ones(len(tokens), bool)
    new[1:] = (np.diff(group // chips) != 0) | (np.diff(slot) != 0) | (np.diff(group % chips) <= 0)
    return np.cumsum(new) - 1


@dataclass(frozen=True)
class Access:
    """One access of a scheduler. ``token`` is the number of the token in order of acceptance."""

    token: int
    access: int
    group: int
    bank: int
    row: int
    column: int
    last: bool


@dataclass
class _Entry:
    token: int
    group: int
    bank: int
    state: int
    index: int
    pending: dict[int, tuple[int, ...]]  # row -> numbers of the accesses there, lowest row first


@dataclass
class _Ahead:
    """A chosen row that waits until its lane has finished the row before."""

    entry: _Entry
    row: int
    opens: bool
    lane: int


@dataclass
class SchedulerModel:
    """The scheduler of ``gen.pam.scheduler``, cycle by cycle.

    Where commands reach several chips, ``side`` is the memory as commands see it, and a token stands for a bundle.

    Parameters
    ----------
    side, token_bytes, depth, bank_cycles, recovery_cycles, hit_limit : as in the hardware
    """

    side: MemorySide
    token_bytes: int
    depth: int
    bank_cycles: int
    recovery_cycles: int
    hit_limit: int
    cycle: int = 0
    accepted: int = 0
    _entries: list[_Entry] = field(default_factory=list)
    _open: dict[int, int] = field(default_factory=dict)
    _bank_free: dict[int, int] = field(default_factory=dict)
    _openings: dict[int, deque[int]] = field(default_factory=dict)
    _run: int = 0
    _turn: int = 0
    _ahead: _Ahead | None = None

    def __post_init__(self) -> None:
        self._layout = self.side.layout
        self._per_window = self.side.bank_states // self.side.windows
        self._fragments = [f.accesses for f in self.side.fragments(self.token_bytes)]
        self._firsts = np.array([f[0] for f in self._fragments])
        one = self.side.bank_states == self.side.banks
        self._lanes: list[deque[Access]] = [deque() for _ in range(1 if one else 2)]

    @property
    def _shown(self) -> int:
        """Lane that offers its access."""
        return (
            self._turn
            if self._lanes[self._turn] or len(self._lanes) == 1 or not self._lanes[1 - self._turn]
            else (1 - self._turn)
        )

    @property
    def offered(self) -> Access | None:
        """Access that the scheduler offers in this cycle."""
        lane = self._lanes[self._shown]
        return lane[0] if lane else None

    @property
    def ready(self) -> bool:
        """Whether a token would be accepted in this cycle."""
        return len(self._entries) < self.depth

    def _free_at(self, entry: _Entry) -> int:
        """First cycle in which the entry can be chosen to open a row. Its bank opens the row one cycle later."""
        at = self._bank_free.get(entry.state, 0)
        past = self._openings.get(entry.state // self._per_window)
        if past:
            at = max(at, past[-1] + self.side.activate_cycles - 1)
            if self.side.window_cycles and len(past) == 4:
                at = max(at, past[0] + self.side.window_cycles - 1)
        return at

    def _next(self) -> tuple[int, list[_Entry], set[int]]:
        """Lane that needs a row next, tokens whose rows it may get, and banks in which no row may be opened."""
        ahead = self._ahead
        rows: list[tuple[int, int, int] | None] = [  # group, state, accesses after the next one
            (lane[0].group, int(self._layout.bank_state(lane[0].group, lane[0].bank)), len(lane) - 1) if lane else None
            for lane in self._lanes
        ]
        in_use = {row[1] for row in rows if row}
        entries, lane = self._entries, 0
        if ahead:
            in_use.add(ahead.entry.state)
            rows[ahead.lane] = (ahead.entry.group, ahead.entry.state, len(ahead.entry.pending[ahead.row]) - 1)
            entries = [e for e in entries if e is not ahead.entry]
        if len(rows) == 2:
            first, second = rows
            if first and second:
                tie = 1 - ahead.lane if ahead else self._turn
                lane = tie if first[2] == second[2] else int(second[2] < first[2])
            else:
                lane = int(first is not None)
            if other := rows[1 - lane]:
                group = other[0] // self.side.lockstep
                entries = [e for e in entries if e.group // self.side.lockstep != group]
        return lane, entries, in_use

    def _hits(self, entry: _Entry) -> bool:
        return self._open.get(entry.state, -1) in entry.pending

    def _choose(self) -> _Ahead | None:
        """Choice of this cycle, from the state at its start."""
        lane, entries, in_use = self._next()
        hits = [e for e in entries if self._hits(e)]
        misses = [e for e in entries if not self._hits(e) and e.state not in in_use and self._free_at(e) <= self.cycle]
        opens = not hits or (self._run == self.hit_limit and bool(misses))
        candidates = misses if opens else hits
        if not candidates:
            return None
        if opens:
            self._run = 0
        elif misses:
            self._run += 1
        entry = candidates[0]
        return _Ahead(entry, min(entry.pending) if opens else self._open[entry.state], opens, lane)

    def _begin(self, ahead: _Ahead) -> None:
        """Put the accesses of the chosen row into its lane."""
        entry = ahead.entry
        if ahead.opens:
            self._open[entry.state] = ahead.row
            self._bank_free[entry.state] = self.cycle + self.bank_cycles - 1
            self._openings.setdefault(entry.state // self._per_window, deque(maxlen=4)).append(self.cycle)
        accesses = entry.pending.pop(ahead.row)
        _, columns = self._layout.position(entry.index, np.array(accesses), self.token_bytes)
        for k, (number, column) in enumerate(zip(accesses, columns.tolist(), strict=True)):
            last = not entry.pending and k == len(accesses) - 1
            self._lanes[ahead.lane].append(
                Access(entry.token, number, entry.group, entry.bank, ahead.row, column, last)
            )
        if not entry.pending:
            self._entries.remove(entry)

    def step(self, item: tuple[int, int] | None, taken: bool) -> None:
        """End this cycle. ``item`` is the offered token (group, slot), ``taken`` whether the offered access is
        taken."""
        accepted = item is not None and self.ready
        ahead, offered, shown = self._ahead, self.offered, self._shown
        ends = offered is not None and taken and len(self._lanes[shown]) == 1
        begins = ahead is not None and (not self._lanes[ahead.lane] or (ends and shown == ahead.lane))
        if ahead is None or begins:
            self._ahead = None if ahead and ahead.opens else self._choose()
        if offered:
            if taken:
                self._lanes[shown].popleft()
            if ends:
                state = int(self._layout.bank_state(offered.group, offered.bank))
                self._bank_free[state] = max(self._bank_free.get(state, 0), self.cycle + self.recovery_cycles - 1)
            self._turn = (shown ^ int(taken)) if len(self._lanes) == 2 else 0
        if ahead and begins:
            self._begin(ahead)
        if accepted:
            assert item is not None
            self._insert(*item)
        self.cycle += 1

    def _insert(self, group: int, slot: int) -> None:
        place = self._layout.place(slot)
        bank, index = int(place.bank), int(place.index)
        rows, _ = self._layout.position(index, self._firsts, self.token_bytes)
        state = int(self._layout.bank_state(group, bank))
        self._entries.append(
            _Entry(self.accepted, group, bank, state, index, dict(zip(rows.tolist(), self._fragments, strict=True)))
        )
        self.accepted += 1

    def due(self, limit: int) -> int:
        """First cycle, at most ``limit``, in which something may happen without a new token or a taken access."""
        if self._ahead is None:
            _, entries, in_use = self._next()
            if any(self._hits(e) for e in entries):
                return self.cycle
            return min((self._free_at(e) for e in entries if e.state not in in_use), default=limit)
        return limit if self._lanes[self._ahead.lane] else self.cycle

    def skip(self, limit: int) -> None:
        """Skip cycles in which nothing can happen, up to cycle ``limit``. No token and no access is taken in them."""
        due = min(self.due(limit), limit)
        if due > self.cycle:
            self._turn = self._shown if self.offered else self._turn
            self.cycle = due


def replay(model: SchedulerModel, arrivals: Iterable[tuple[int, int, int]], departures: Iterable[int]) -> list[Access]:
    """Order of accesses. It ends early if the model offers no access in a cycle of ``departures``.

    Parameters
    ----------
    arrivals
        First cycle in which each token is offered, its group and its slot; in order, one token a cycle.
    departures
        Cycles in which an access was taken.
    """
    out: list[Access] = []
    waiting = deque(arrivals)

    def step(taken: bool) -> None:
        item = waiting[0][1:] if waiting and waiting[0][0] <= model.cycle and model.ready else None
        if item:
            waiting.popleft()
        model.step(item, taken)

    for cycle in departures:
        while model.cycle < cycle:
            if not waiting or not model.ready:
                limit = cycle
            else:
                limit = min(cycle, max(model.cycle, waiting[0][0]))
            before = model.cycle
            model.skip(limit)
            if model.cycle == before:
                step(False)
        if model.offered is None:
            break
        out.append(model.offered)
        step(True)
    return out
