"""Functional model of PAM's interface: which bytes end up where, and in which order its schedulers ask for them.

Source: PAM (MICRO 2025) section 6.2; the maps are those of ``constraints.pam_layout``, the rule of order this project's
(``gen.pam.scheduler``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from ...constraints.errors import ConfigError
from ...constraints.units.pam_interface import MemorySide, PamInterfaceConfig

__all__ = ["Access", "Image", "SchedulerModel", "Tokens", "replay", "transfer"]


@dataclass(frozen=True)
class Tokens:
    """Descriptors: one entry a token in every array. ``tag`` names it at completion."""

    source_group: np.ndarray
    source_slot: np.ndarray
    destination_group: np.ndarray
    destination_slot: np.ndarray
    tag: np.ndarray

    def __len__(self) -> int:
        return len(self.tag)


@dataclass(frozen=True)
class Image:
    """What a memory holds: blocks of ``access_bytes`` by the address of their first byte, in ascending order."""

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
    """What the transfers write: every byte of every token once, by the destination's map."""
    data = source.tokens(config.source, config.token_bytes, tokens.source_group, tokens.source_slot)
    return Image.of(config.destination, config.token_bytes, tokens.destination_group, tokens.destination_slot, data)


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
class SchedulerModel:
    """The scheduler of ``gen.pam.scheduler``, cycle by cycle.

    Parameters
    ----------
    side, token_bytes, depth, bank_cycles, recovery_cycles, hit_limit : as the hardware's
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

    def __post_init__(self) -> None:
        self._layout = self.side.layout
        self._per_window = self.side.bank_states // self.side.windows
        self._fragments = [f.accesses for f in self.side.fragments(self.token_bytes)]
        self._firsts = np.array([f[0] for f in self._fragments])
        one = self.side.bank_states == self.side.banks
        self._lanes: list[deque[Access]] = [deque() for _ in range(1 if one else 2)]

    @property
    def _shown(self) -> int:
        """Lane that offers."""
        return self._turn if self._lanes[self._turn] or len(self._lanes) == 1 or not self._lanes[1 - self._turn] else (
            1 - self._turn)

    @property
    def offered(self) -> Access | None:
        """What is offered in this cycle."""
        lane = self._lanes[self._shown]
        return lane[0] if lane else None

    @property
    def ready(self) -> bool:
        """Whether a token would be accepted in this cycle."""
        return len(self._entries) < self.depth

    def _free_at(self, entry: _Entry) -> int:
        """First cycle in which the entry's bank may open a row."""
        at = self._bank_free.get(entry.state, 0)
        past = self._openings.get(entry.state // self._per_window)
        if past:
            at = max(at, past[-1] + self.side.activate_cycles)
            if self.side.window_cycles and len(past) == 4:
                at = max(at, past[0] + self.side.window_cycles)
        return at

    def _vacant(self) -> tuple[deque[Access] | None, list[_Entry]]:
        """The lane that is free for a row, and the tokens that may use it: those outside the other lane's group."""
        for n, lane in enumerate(self._lanes):
            if not lane:
                other = self._lanes[1 - n] if len(self._lanes) == 2 else None
                if not other:
                    return lane, self._entries
                group = other[0].group // self.side.lockstep
                return lane, [e for e in self._entries if e.group // self.side.lockstep != group]
        return None, []

    def _choose(self) -> None:
        lane, entries = self._vacant()
        if lane is None:
            return
        hits = [e for e in entries if self._open.get(e.state, -1) in e.pending]
        hit_tokens = {e.token for e in hits}
        misses = [e for e in entries if e.token not in hit_tokens and self._free_at(e) <= self.cycle]
        opens = not hits or (self._run == self.hit_limit and bool(misses))
        candidates = misses if opens else hits
        if not candidates:
            return
        entry = candidates[0]
        row = min(entry.pending) if opens else self._open[entry.state]
        if opens:
            self._run = 0
            self._open[entry.state] = row
            self._bank_free[entry.state] = self.cycle + self.bank_cycles
            self._openings.setdefault(entry.state // self._per_window, deque(maxlen=4)).append(self.cycle)
        elif misses:
            self._run += 1
        accesses = entry.pending.pop(row)
        _, columns = self._layout.position(entry.index, np.array(accesses), self.token_bytes)
        for k, (number, column) in enumerate(zip(accesses, columns.tolist(), strict=True)):
            last = not entry.pending and k == len(accesses) - 1
            lane.append(Access(entry.token, number, entry.group, entry.bank, row, column, last))
        if not entry.pending:
            self._entries.remove(entry)

    def step(self, item: tuple[int, int] | None, taken: bool) -> None:
        """End this cycle: ``item`` is a token (group, slot) that is offered, ``taken`` whether the access offered is."""
        accepted = item is not None and self.ready
        if self.offered:
            shown = self._shown
            if taken:
                left = self._lanes[shown].popleft()
                if not self._lanes[shown]:
                    state = int(self._layout.bank_state(left.group, left.bank))
                    self._bank_free[state] = max(self._bank_free.get(state, 0), self.cycle + self.recovery_cycles)
            self._turn = (shown ^ int(taken)) if len(self._lanes) == 2 else 0
        self._choose()
        if accepted:
            assert item is not None
            self._insert(*item)
        self.cycle += 1

    def _insert(self, group: int, slot: int) -> None:
        place = self._layout.place(slot)
        bank, index = int(place.bank), int(place.index)
        rows, _ = self._layout.position(index, self._firsts, self.token_bytes)
        state = int(self._layout.bank_state(group, bank))
        self._entries.append(_Entry(self.accepted, group, bank, state, index,
                                    dict(zip(rows.tolist(), self._fragments, strict=True))))
        self.accepted += 1

    def skip(self, limit: int) -> None:
        """Pass over cycles in which nothing can happen by itself, up to cycle ``limit``; nothing is taken in them."""
        lane, entries = self._vacant()
        due = limit
        if lane is not None:
            if any(self._open.get(e.state, -1) in e.pending for e in entries):
                return
            due = min((self._free_at(e) for e in entries), default=limit)
        if min(due, limit) > self.cycle:
            self._turn = self._shown if self.offered else self._turn
            self.cycle = min(due, limit)


def replay(model: SchedulerModel, arrivals: Iterable[tuple[int, int, int]], departures: Iterable[int]) -> list[Access]:
    """Order of accesses, given from when tokens are offered (cycle, group, slot; in order, one a cycle) and in which cycles
    an access was taken. It ends early at a cycle in which the model offers none."""
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
