"""Places of all KV tokens: the block table over the tiers, the mapping within a tier, and the moves between tiers.

Source: PAM (MICRO 2025) sections 4.2.2 (block table), 6.1 (mapping by activation frequency) and 6.3 (importance,
Algorithm 2). A token here is one position of one request. K and V of all its layers and heads move together. They lie
at the same group and slot in every device that holds a share of them, so one entry describes them all.

The state is one NumPy array per property, over the tokens of all requests. No code loops over tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...constraints.core.errors import ConfigError, nearest

__all__ = ["ABSENT", "MAPPINGS", "KvTable", "Moves", "TierShape", "fill_lowest", "plan_swaps"]

#: Ways to choose the group of a token.
MAPPINGS = ("activation", "blocks", "turn")

#: Tier of a storage place that holds no token.
ABSENT = -1


@dataclass(frozen=True)
class TierShape:
    """One tier as seen by the mapping.

    Attributes
    ----------
    name : :class:`str`
    devices : :class:`int`
        Stacks, DIMMs or SSDs.
    groups : :class:`int`
        Bank groups (channels in an SSD) of one device.
    slots : :class:`int`
        Tokens that a group holds.
    """

    name: str
    devices: int
    groups: int
    slots: int

    @property
    def all_groups(self) -> int:
        return self.devices * self.groups

    @property
    def capacity(self) -> int:
        """Tokens that the tier holds."""
        return self.all_groups * self.slots


@dataclass(frozen=True)
class Moves:
    """Pairs of tokens that exchange their places: ``down[k]`` leaves the faster tier for the place of ``up[k]``."""

    down: np.ndarray
    up: np.ndarray

    def __len__(self) -> int:
        return len(self.up)


def fill_lowest(load: np.ndarray, free: np.ndarray, count: int, step: int = 1) -> np.ndarray:
    """Groups of ``count`` placements, one after the other, each in the group of the lowest load that has space.

    A placement raises the load of its group by ``step``. Among groups of equal load, the first is taken. The loop
    ``g = argmin(load where free > 0); load[g] += step; free[g] -= 1`` gives the same result.

    Parameters
    ----------
    load, free : integer arrays
        Load of each group, and number of placements that fit into it.
    """
    load, free = np.asarray(load, np.int64), np.asarray(free, np.int64)
    if count > free.sum():
        raise ValueError(f"{count} placements, space for {free.sum()}")
    if not count:
        return np.empty(0, np.int64)

    def below(level: int) -> np.ndarray:
        """Placements of each group at loads less than ``level``."""
        return np.clip(-((load - level) // step), 0, free)

    low, high = int(load.min()), int(load.max()) + step * (count + 1)
    while high - low > 1:
        middle = (low + high) // 2
        if int(below(middle).sum()) <= count:
            low = middle
        else:
            high = middle
    full = below(low)
    rest = count - int(full.sum())
    order = np.repeat(np.arange(len(load)), full)
    turn = np.arange(len(order)) - np.repeat(np.cumsum(full) - full, full)
    order = order[np.lexsort((order, load[order] + turn * step))]
    # The remaining placements are at exactly the level `low`, in the order of the groups.
    last = np.flatnonzero(below(low + 1) > full)[:rest]
    return np.concatenate([order, last])


def plan_swaps(
    importance: np.ndarray,
    fast: np.ndarray,
    slow: np.ndarray,
    *,
    sums: tuple[float, float, float],
    counts: tuple[int, int, int],
    x: float,
    y: float,
    which: str,
    most: int,
) -> tuple[Moves, tuple[float, ...]]:
    """One of the two loops of Algorithm 2, all its swaps at once.

    The loop swaps the least important token of the faster tier with the most important token of the slower tier. It
    ends when the device scores reach their ratio. Each swap uses the next token of two sorted lists. The lists need no
    update: the guard ends the loop before a token that just moved would be chosen again.

    Parameters
    ----------
    importance : float array over all tokens
    fast, slow : integer arrays
        Tokens of the two tiers, in ascending order (ties go to the first, as ``argmin`` and ``argmax`` do).
    sums, counts
        Sum of importance, and number of tokens, for each of HBM, DDR and SSD.
    x, y : :class:`float`
        Target ``IS_H : IS_D : IS_S = x : y : 1``.
    which : ``"ssd-ddr"`` or ``"ddr-hbm"``
        First loop (HBM and DDR together) or second loop.
    most : :class:`int`
        Greatest number of swaps.

    Returns
    -------
    moves, sums
        Moves in the order of the loop, and sums after the moves.
    """
    first = which == "ssd-ddr"
    nothing = Moves(np.empty(0, np.int64), np.empty(0, np.int64))

    def below(total: np.ndarray) -> np.ndarray:
        """Whether the loop goes on. It compares products, not quotients: no empty or unimportant tier divides by 0."""
        score = [total[k] / counts[k] if counts[k] else np.zeros_like(total[k]) for k in range(3)]
        return score[0] + score[1] < (x + y) * score[2] if first else score[0] * y < score[1] * x

    most = min(most, len(fast), len(slow))
    if most <= 0 or not below(np.array(sums)[:, None])[0]:
        return nothing, sums
    # Swaps end where the least important of the fast tier is as important as the most important of the slow one.
    best = importance[slow].max()
    low = fast[importance[fast] < best]
    if not len(low):
        return nothing, sums
    high = slow[importance[slow] > importance[low].min()]
    most = min(most, len(low), len(high))
    down = _smallest(importance, low, most)
    up = _smallest(-importance, high, most)
    gain = importance[up].astype(np.float64) - importance[down].astype(np.float64)
    better = gain > 0
    number = len(gain) if better.all() else int(np.argmin(better))
    moved_down, moved_up = importance[down[:number]].astype(np.float64), importance[up[:number]].astype(np.float64)
    # A cumulative sum adds in the order of the loop, so it rounds as the loop does.
    into, out_of = (1, 2) if first else (0, 1)
    total = np.repeat(np.array(sums, np.float64)[:, None], number + 1, axis=1)
    change = np.empty(2 * number + 1)
    for tier, gained, lost in ((into, moved_up, moved_down), (out_of, moved_down, moved_up)):
        change[0], change[1::2], change[2::2] = sums[tier], gained, -lost
        total[tier] = np.cumsum(change)[::2]
    on = below(total)
    if not on.all():
        number = int(np.argmin(on))
    return Moves(down[:number], up[:number]), tuple(float(value) for value in total[:, number])


def _smallest(values: np.ndarray, among: np.ndarray, count: int) -> np.ndarray:
    """The ``count`` members of ``among`` (ascending) with the smallest ``values``, by value, then by number."""
    own = values[among]
    if count < len(among):
        limit = np.partition(own, count - 1)[count - 1]
        less, equal = np.flatnonzero(own < limit), np.flatnonzero(own == limit)
        chosen = np.concatenate([less, equal[: count - len(less)]])
    else:
        chosen = np.arange(len(among))
    return among[chosen[np.argsort(own[chosen], kind="stable")]]


def _order(keys: np.ndarray) -> np.ndarray:
    """Stable order of whole numbers. NumPy sorts numbers of 16 bits by radix, several times as fast as longer ones."""
    if len(keys) and 0 <= int(keys.min()) and int(keys.max()) < 1 << 16:
        keys = keys.astype(np.uint16)
    return np.argsort(keys, kind="stable")


class KvTable:
    """The block table of one node.

    Storage has one segment of consecutive places for each request. The tokens of a request lie there in the order of
    their positions, with room for more.

    Parameters
    ----------
    tiers : sequence of :class:`TierShape`
        Fastest first.
    window : :class:`int`
        Decode steps over which activations are counted.
    run_tokens : :class:`int`
        Consecutive tokens of a request that go to one group together, in consecutive slots. One row over all banks of
        the group holds them there. Unused slots of a request's last run are kept for tokens that decoding adds, as long
        as nothing else needs these slots. With 1, each token is placed by itself.
    mapping : ``activation``, ``blocks`` or ``turn``
        Choice of groups: by activation frequency, in contiguous blocks, or run by run in turn. Blocks give each group
        of a device an equal number of tokens.

    Attributes
    ----------
    tier : int8 array
        Tier of each storage place, :data:`ABSENT` if there is no token.
    group : int16 array
        Group, counted over all devices of the tier.
    slot : int32 array
        Number within the group.
    importance : float32 array
    start, length, room : int64 arrays
        First place, number of tokens and number of places of each request. A request that has left has room 0.
    """

    def __init__(
        self, tiers: Sequence[TierShape], *, window: int = 10, run_tokens: int = 128, mapping: str = "activation"
    ) -> None:
        self.tiers = tuple(tiers)
        for what, value in (("window", window), ("run_tokens", run_tokens)):
            if value < 1:
                raise ConfigError(f"{what} must be at least 1, not {value}")
        if any(shape.all_groups > 1 << 15 for shape in self.tiers):
            raise ConfigError(f"a tier has at most {1 << 15} groups")
        if mapping not in MAPPINGS:
            raise ConfigError(nearest("mapping", mapping, MAPPINGS))
        self.run_tokens, self.mapping = run_tokens, mapping
        self.tier = np.empty(0, np.int8)
        self.group = np.empty(0, np.int16)
        self.slot = np.empty(0, np.int32)
        self.importance = np.empty(0, np.float32)
        #: Properties that other classes keep for tokens; they move with the tokens when storage is compacted.
        self.extra: dict[str, np.ndarray] = {}
        self.start, self.length, self.room = (np.empty(0, np.int64) for _ in range(3))
        self.home = np.empty((0, len(self.tiers)), np.int16)
        self.size = 0
        self.windows = [np.zeros((window, shape.all_groups), np.int64) for shape in self.tiers]
        # Run that each request's next tokens go to: its tier (ABSENT: none) and group, the slots left, the slots.
        self._run_tier, self._run_group = np.empty(0, np.int8), np.empty(0, np.int16)
        self._run_left, self._run_slots = np.empty(0, np.int16), np.empty((0, run_tokens), np.int32)
        self._kept = [np.zeros(shape.all_groups, np.int64) for shape in self.tiers]
        #: Tokens that decoding added, by step (modulo the window) and group.
        self.added = [np.zeros_like(counts) for counts in self.windows]
        self.pending = [np.zeros(shape.all_groups, np.int64) for shape in self.tiers]
        self._top = [np.zeros(shape.all_groups, np.int64) for shape in self.tiers]
        self._holes = [np.empty(0, np.int64) for _ in self.tiers]
        self._hole_counts = [np.zeros(shape.all_groups, np.int64) for shape in self.tiers]
        self._turn = [0] * len(self.tiers)
        self._step = 0
        self._owner = np.empty(0, np.int32)

    # Space -------------------------------------------------------------------------------------------------------

    def free(self, tier: int) -> np.ndarray:
        """Free slots of each group of a tier, without the slots that are kept for the runs of requests."""
        return self.tiers[tier].slots - self._top[tier] + self._hole_counts[tier]

    def used(self) -> list[int]:
        """Tokens in each tier."""
        return [shape.capacity - int(self.free(k).sum() + self._kept[k].sum()) for k, shape in enumerate(self.tiers)]

    @property
    def tokens(self) -> int:
        return int(self.length[self.room > 0].sum())

    @property
    def table_bytes(self) -> int:
        """Bytes of the entries of the tokens now held: place and importance."""
        return self.tokens * (self.tier.itemsize + self.group.itemsize + self.slot.itemsize + self.importance.itemsize)

    @property
    def tracking_bytes(self) -> int:
        """Bytes of the activation counters, 32 bits each."""
        return sum(counts.size * 4 for counts in self.windows)

    def _check_space(self, count: int) -> None:
        """Raise if ``count`` more tokens do not fit. Slots that are kept for runs are given up where they are
        needed."""
        left = sum(int(self.free(k).sum()) for k in range(len(self.tiers)))
        kept = sum(int(counts.sum()) for counts in self._kept)
        if count > left and kept:
            self._give_up(np.flatnonzero(self._run_left > 0))
            left += kept
        if count > left:
            have = ", ".join(f"{shape.name} {shape.capacity}" for shape in self.tiers)
            raise ConfigError(
                f"{self.tokens + count} KV tokens are needed, {self.tokens + left} fit ({have}): "
                f"{count - left} more than the last tier '{self.tiers[-1].name}' can take"
            )

    # Requests ----------------------------------------------------------------------------------------------------

    def add(
        self, contexts: Sequence[int] | np.ndarray, room: Sequence[int] | np.ndarray | None = None, keep_free: int = 0
    ) -> np.ndarray:
        """Place the tokens of new requests, fastest tier first; returns the numbers of the requests.

        ``room`` is the number of tokens that each request may grow to (its context by default). ``keep_free`` places of
        the first tier stay free for tokens that decoding adds, as long as there is space elsewhere.

        Raises
        ------
        :exc:`ConfigError`
            If the tiers have no space for the tokens.
        """
        contexts = np.asarray(contexts, np.int64)
        places = np.maximum(contexts, np.asarray(contexts if room is None else room, np.int64))
        self._check_space(int(contexts.sum()))
        self._reserve(int(places.sum()))
        numbers = np.arange(len(self.start), len(self.start) + len(contexts))
        first = self.size + np.cumsum(places) - places
        self.start = np.concatenate([self.start, first])
        self.length = np.concatenate([self.length, contexts])
        self.room = np.concatenate([self.room, places])
        self.home = np.concatenate([self.home, np.full((len(contexts), len(self.tiers)), -1, np.int16)])
        self._run_tier = np.concatenate([self._run_tier, np.full(len(contexts), ABSENT, np.int8)])
        self._run_group, self._run_left = (
            np.concatenate([old, np.zeros(len(contexts), np.int16)]) for old in (self._run_group, self._run_left)
        )
        self._run_slots = np.concatenate([self._run_slots, np.zeros((len(contexts), self.run_tokens), np.int32)])
        self.size += int(places.sum())
        owner = np.repeat(np.arange(len(contexts)), contexts)
        where = first[owner] + np.arange(len(owner)) - (np.cumsum(contexts) - contexts)[owner]
        space = [int(self.free(k).sum()) for k in range(len(self.tiers))]
        space[0] = max(space[0] - keep_free, len(where) - sum(space[1:]), 0) if keep_free else space[0]
        begin = 0
        for k in range(len(self.tiers)):
            stop = min(begin + space[k], len(where))
            if stop > begin:
                self._place(k, where[begin:stop], numbers[owner[begin:stop]])
            begin = stop
        return numbers

    def append(self, requests: np.ndarray) -> np.ndarray:
        """One new token for each of ``requests``, in the fastest tier with space; returns their storage places."""
        requests = np.asarray(requests, np.int64)
        if np.any(self.length[requests] >= self.room[requests]):
            raise ValueError("a request has no room for another token")
        where = self.start[requests] + self.length[requests]
        # A run continues in its tier, unless a faster tier has space for all new tokens.
        fastest = next((k for k in range(len(self.tiers)) if int(self.free(k).sum()) >= len(requests)), len(self.tiers))
        goes_on = (self._run_left[requests] > 0) & (self._run_tier[requests] <= fastest)
        others = np.flatnonzero(~goes_on)
        self._check_space(len(others))
        goes_on &= self._run_left[requests] > 0  # unless the check gave up the run
        others = np.flatnonzero(~goes_on)
        self._go_on(requests[goes_on], where[goes_on])
        self._give_up(requests[others])
        self.length[requests] += 1
        begin = 0
        for k in range(len(self.tiers)):
            if begin + int(self.free(k).sum()) < len(others):
                self._give_up(np.flatnonzero((self._run_left > 0) & (self._run_tier == k)))
            stop = min(begin + int(self.free(k).sum()), len(others))
            if stop > begin:
                self._place(k, where[others[begin:stop]], requests[others[begin:stop]], decoded=True)
            begin = stop
        return where

    def _go_on(self, requests: np.ndarray, where: np.ndarray) -> None:
        """Put the next token of each request into the next slot of its run."""
        tier, group = self._run_tier[requests], self._run_group[requests]
        self.tier[where], self.group[where] = tier, group
        self.slot[where] = self._run_slots[requests, self.run_tokens - self._run_left[requests]]
        self._run_left[requests] -= 1
        for k, shape in enumerate(self.tiers):
            counts = np.bincount(group[tier == k], minlength=shape.all_groups)
            self._kept[k] -= counts
            self.added[k][self._step % len(self.added[k])] += counts

    def _give_up(self, requests: np.ndarray) -> None:
        """Free the slots that are kept for the runs of ``requests``."""
        requests = requests[self._run_left[requests] > 0]
        if not len(requests):
            return
        left = self._run_left[requests].astype(np.int64)
        places = np.arange(self.run_tokens)[None, :] >= self.run_tokens - left[:, None]
        slots = self._run_slots[requests][places]
        group, tier = np.repeat(self._run_group[requests], left), np.repeat(self._run_tier[requests], left)
        self._run_left[requests] = 0
        for k, shape in enumerate(self.tiers):
            mine = tier == k
            counts = np.bincount(group[mine], minlength=shape.all_groups)
            self._holes[k] = np.sort(
                np.concatenate([self._holes[k], group[mine].astype(np.int64) * shape.slots + slots[mine]])
            )
            self._hole_counts[k] += counts
            self._kept[k] -= counts

    def remove(self, requests: np.ndarray) -> None:
        """Remove requests; new tokens may use their places."""
        requests = np.asarray(requests, np.int64)
        self._give_up(requests)
        where = self.places(requests)
        for k, shape in enumerate(self.tiers):
            mine = where[self.tier[where] == k]
            keys = self.group[mine].astype(np.int64) * shape.slots + self.slot[mine]
            self._holes[k] = np.sort(np.concatenate([self._holes[k], keys]))
            self._hole_counts[k] += np.bincount(self.group[mine], minlength=shape.all_groups)
        self.tier[where] = ABSENT
        self.importance[where] = 0
        self.length[requests] = 0
        self.room[requests] = 0

    def places(self, requests: np.ndarray | None = None) -> np.ndarray:
        """Storage places of the tokens of ``requests`` (of all by default), in order."""
        requests = np.flatnonzero(self.room > 0) if requests is None else np.asarray(requests, np.int64)
        count = self.length[requests]
        return np.repeat(self.start[requests] - (np.cumsum(count) - count), count) + np.arange(int(count.sum()))

    def owners(self) -> np.ndarray:
        """Request of every storage place, int32, also of a request's free places; -1 where the request has left."""
        if len(self._owner) != self.size:
            live = np.flatnonzero(self.room > 0)
            order = live[np.argsort(self.start[live])]
            self._owner = np.full(self.size, -1, np.int32)
            count = self.room[order]
            at = np.repeat(self.start[order] - (np.cumsum(count) - count), count) + np.arange(int(count.sum()))
            self._owner[at] = np.repeat(order, count)
        return self._owner

    def _reserve(self, more: int) -> None:
        """Make space in storage for ``more`` places; segments of requests that left are removed first."""
        live = np.flatnonzero(self.room > 0)
        kept = int(self.room[live].sum())
        if self.size + more > len(self.tier) and kept < 3 * self.size // 4:
            count = self.room[live]
            first = np.cumsum(count) - count
            at = np.repeat(self.start[live] - first, count) + np.arange(kept)
            for name in ("tier", "group", "slot", "importance"):
                setattr(self, name, getattr(self, name)[at])
            self.extra = {name: values[at] for name, values in self.extra.items()}
            self.start[live], self.size = first, kept
            self._owner = np.empty(0, np.int32)
        if self.size + more > len(self.tier):
            # Storage doubles as it grows; the first batch gets exactly the places that it needs.
            total = max(self.size + more, 2 * self.size if self.size else 0)

            def longer(values: np.ndarray, fill: float) -> np.ndarray:
                out = np.full(total, fill, values.dtype)
                out[: self.size] = values[: self.size]
                return out

            self.tier = longer(self.tier, ABSENT)
            self.group, self.slot = longer(self.group, 0), longer(self.slot, 0)
            self.importance = longer(self.importance, 0)
            self.extra = {name: longer(values, 0) for name, values in self.extra.items()}

    # Mapping within a tier ---------------------------------------------------------------------------------------

    def load(self, tier: int) -> np.ndarray:
        """Activations of each group in the window.

        A token that decoding added counts as activated in the steps of the window before it came. The reason: the
        latest tokens are activated in every step. Otherwise a group would receive tokens until their activations show.
        A token of a prompt counts once until its first step.
        """
        window = len(self.windows[tier])
        filled = max(1, min(self._step, window))
        age = (self._step - np.arange(window)) % window
        missing = np.maximum(filled - age, 0) * (age <= self._step)
        return self.windows[tier].sum(axis=0) + self.pending[tier] + missing @ self.added[tier]

    def record(self, active: np.ndarray) -> list[np.ndarray]:
        """Count the activations of a step at storage places ``active``; returns the count of each group, by tier."""
        out, tiers = [], self.tier[active]
        for k, shape in enumerate(self.tiers):
            counts = np.bincount(self.group[active[tiers == k]], minlength=shape.all_groups)
            self.windows[k][self._step % len(self.windows[k])] = counts
            self.pending[k][:] = 0
            out.append(counts)
        self._step += 1
        for added in self.added:
            added[self._step % len(added)] = 0
        return out

    def _place(self, tier: int, where: np.ndarray, requests: np.ndarray, decoded: bool = False) -> None:
        """Place tokens (storage places, ascending by request) in a tier that has space for them."""
        shape = self.tiers[tier]
        device, parts = self._devices(tier, requests)
        for d in np.unique(device[parts]) if shape.devices > 1 else (0,):
            chosen = np.flatnonzero(device[parts] == d) if shape.devices > 1 else slice(None)
            self._place_on(tier, int(d), where[chosen], requests[chosen], decoded)

    def _devices(self, tier: int, requests: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Device of each token. A request stays on one device of a tier while the device has space."""
        shape = self.tiers[tier]
        if shape.devices == 1:
            self.home[requests, tier] = 0
            return np.zeros(1, np.int64), np.zeros(len(requests), np.int64)
        free = self.free(tier).reshape(shape.devices, shape.groups).sum(axis=1)
        breaks = np.flatnonzero(np.diff(requests, prepend=-1))
        counts = np.diff(np.append(breaks, len(requests)))
        devices: list[int] = []
        pieces: list[int] = []
        left = free.tolist()
        for request, count in zip(requests[breaks].tolist(), counts.tolist(), strict=True):
            home = int(self.home[request, tier])
            while count:
                if home < 0 or not left[home]:
                    home = max(range(len(left)), key=left.__getitem__)
                    if self.home[request, tier] < 0:
                        self.home[request, tier] = home
                piece = min(count, left[home])
                devices.append(home)
                pieces.append(piece)
                left[home] -= piece
                count -= piece
        return np.asarray(devices), np.repeat(np.arange(len(pieces)), pieces)

    def _place_on(self, tier: int, device: int, where: np.ndarray, requests: np.ndarray, decoded: bool) -> None:
        """Place whole runs while there is space for them, then single tokens."""
        shape, run = self.tiers[tier], self.run_tokens
        here = slice(device * shape.groups, (device + 1) * shape.groups)
        if run > 1:
            first = np.flatnonzero(np.diff(requests, prepend=-1))
            counts = np.diff(np.append(first, len(requests)))
            runs = -(-counts // run)
            # Each run of a request has `run` tokens; its last run has the rest.
            sizes = np.full(int(runs.sum()), run, np.int64)
            ends = np.cumsum(runs) - 1
            sizes[ends] = counts - (runs - 1) * run
            sizes = sizes[: int((self.free(tier)[here] // run).sum())]
            tokens = int(sizes.sum())
            self._place_runs(tier, here, where[:tokens], requests[:tokens], sizes, run, decoded)
            where, requests = where[tokens:], requests[tokens:]
        if len(where):
            if len(where) > int(self.free(tier)[here].sum()):
                self._give_up(np.flatnonzero((self._run_left > 0) & (self._run_tier == tier)))
            self._place_runs(tier, here, where, requests, np.ones(len(where), np.int64), 1, decoded)

    def _place_runs(
        self,
        tier: int,
        here: slice,
        where: np.ndarray,
        requests: np.ndarray,
        sizes: np.ndarray,
        run: int,
        decoded: bool,
    ) -> None:
        """Choose a group for each run of ``sizes`` tokens. Unused ones of its ``run`` slots are kept for its
        request."""
        if not len(sizes):
            return
        shape, free = self.tiers[tier], self.free(tier)[here] // run
        weight = run * (max(1, min(self._step, len(self.windows[tier]))) if decoded else 1)
        if self.mapping == "activation":
            chosen = fill_lowest(self.load(tier)[here], free, len(sizes), weight)
        else:
            chosen = self._in_turn(tier, free, len(sizes))
            if self.mapping == "blocks":
                chosen.sort()
        chosen = chosen + here.start
        group = np.repeat(chosen, run)
        slot = self._take(tier, group)
        used = np.arange(len(group)) % run < np.repeat(sizes, run)
        self.tier[where], self.group[where], self.slot[where] = tier, group[used], slot[used]
        counts = np.bincount(group[used], minlength=shape.all_groups)
        if decoded:
            self.added[tier][self._step % len(self.added[tier])] += counts
        else:
            self.pending[tier] += counts
        short = np.flatnonzero(sizes < run)
        if len(short):
            owners = requests[(np.cumsum(sizes) - sizes)[short]]
            self._give_up(owners)
            self._run_tier[owners], self._run_group[owners] = tier, chosen[short]
            self._run_left[owners] = run - sizes[short]
            self._run_slots[owners] = slot.reshape(-1, run)[short]
            self._kept[tier] += np.bincount(
                chosen[short], weights=run - sizes[short], minlength=shape.all_groups
            ).astype(np.int64)

    def _in_turn(self, tier: int, free: np.ndarray, count: int) -> np.ndarray:
        """Groups one after the other, each as long as it has space. Every round begins one group later than the round
        before. Otherwise a group could always serve the requests of one micro-batch, which are dealt out in turn too."""
        groups, begin = len(free), self._turn[tier]
        self._turn[tier] += count
        turn = np.arange(begin, begin + count)
        chosen = (turn + turn // groups) % groups
        if (np.bincount(chosen, minlength=groups) <= free).all():
            return chosen
        start = begin % groups
        return (fill_lowest(np.zeros(groups, np.int64), np.roll(free, -start), count) + start) % groups

    def _take(self, tier: int, group: np.ndarray) -> np.ndarray:
        """Take the next slots of groups, in the given order: first slots that were given back, then new slots."""
        shape = self.tiers[tier]
        need = np.bincount(group, minlength=shape.all_groups)
        order = _order(group)
        rank = np.empty(len(group), np.int64)
        rank[order] = np.arange(len(group)) - (np.cumsum(need) - need)[group[order]]
        holes = self._hole_counts[tier]
        slot = self._top[tier][group] + rank - np.minimum(holes, need)[group]
        reused = rank < holes[group]
        if reused.any():
            at = (np.cumsum(holes) - holes)[group[reused]] + rank[reused]
            slot[reused] = self._holes[tier][at] % shape.slots
            self._holes[tier] = np.delete(self._holes[tier], at)
        taken = np.minimum(holes, need)
        self._top[tier] += need - taken
        self._hole_counts[tier] = holes - taken
        return slot

    # Moves between tiers -----------------------------------------------------------------------------------------

    def schedule(self, x: float, y: float, most: int, limits: Mapping[str, int] | None = None) -> dict[str, Moves]:
        """Algorithm 2: decide the swaps of one step and make them.

        ``most`` limits all swaps together, ``limits`` the swaps between two tiers. The table must have the three tiers
        HBM, DDR and SSD. The number of tokens in a tier never changes.

        Returns
        -------
        mapping ``"ssd-ddr"``, ``"ddr-hbm"`` to :class:`Moves`
        """
        if not (x > 0 and y > 0):
            raise ConfigError(f"the ratios of importance x and y must be greater than 0, not {x:g} and {y:g}")
        out: dict[str, Moves] = {}
        tier, importance = self.tier[: self.size], self.importance[: self.size]
        where = [np.flatnonzero(tier == k) for k in range(3)]
        counts = (len(where[0]), len(where[1]), len(where[2]))
        sums: tuple[float, ...] = tuple(float(importance[part].sum(dtype=np.float64)) for part in where)
        for which, fast, slow in (("ssd-ddr", 1, 2), ("ddr-hbm", 0, 1)):
            if slow == 1 and len(out["ssd-ddr"]):
                where[1] = np.flatnonzero(tier == 1)
            moves, sums = plan_swaps(
                importance,
                where[fast],
                where[slow],
                sums=(sums[0], sums[1], sums[2]),
                counts=counts,
                x=x,
                y=y,
                which=which,
                most=min(most, (limits or {}).get(which, most)),
            )
            most -= len(moves)
            self.exchange(moves, fast, slow)
            out[which] = moves
        return out

    def exchange(self, moves: Moves, fast: int, slow: int) -> None:
        """Let the tokens of ``moves`` change places.

        The pairs of a tier may be formed freely. A token first takes a place that a token of its request leaves,
        then a place on the device that holds the request's other tokens. Tokens of a request get places that lie
        together.
        """
        if not len(moves):
            return
        moved = []
        for tier, movers, leavers in ((fast, moves.up, moves.down), (slow, moves.down, moves.up)):
            movers, leavers = self._matched(tier, movers, leavers)
            moved.append((tier, movers, self.group[leavers], self.slot[leavers]))
        for tier, movers, groups, slots in moved:
            self.tier[movers], self.group[movers], self.slot[movers] = tier, groups, slots

    def _matched(self, tier: int, movers: np.ndarray, leavers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Movers, and for each mover the token whose place in ``tier`` it takes."""
        shape, owners = self.tiers[tier], self.owners()
        # Tokens of a request in the order of their positions; its places in the order in which they lie.
        movers = np.sort(movers)
        movers = movers[_order(owners[movers])]
        leavers = leavers[np.argsort(self.group[leavers].astype(np.int64) * shape.slots + self.slot[leavers])]
        by_owner = leavers[_order(owners[leavers])]
        size = len(self.start)
        have, want = (np.bincount(owners[part], minlength=size) for part in (by_owner, movers))
        both = np.minimum(have, want)

        def first(part: np.ndarray, counts: np.ndarray) -> np.ndarray:
            """Which tokens are among the first ``both`` of their request."""
            owner = owners[part]
            return np.arange(len(part)) - (np.cumsum(counts) - counts)[owner] < both[owner]

        mine, left = first(movers, want), first(by_owner, have)
        pairs = [(movers[mine], by_owner[left])]
        movers, taken = movers[~mine], np.zeros(self.size, bool)
        taken[by_owner[left]] = True
        leavers = leavers[~taken[leavers]]
        home, device = self.home[owners[movers], tier], self.group[leavers] // shape.groups
        open_movers, open_places = np.ones(len(movers), bool), np.ones(len(leavers), bool)
        for d in range(shape.devices if shape.devices > 1 else 0):
            those, there = np.flatnonzero(home == d), np.flatnonzero(device == d)
            count = min(len(those), len(there))
            pairs.append((movers[those[:count]], leavers[there[:count]]))
            open_movers[those[:count]] = False
            open_places[there[:count]] = False
        pairs.append((movers[open_movers], leavers[open_places]))
        return np.concatenate([pair[0] for pair in pairs]), np.concatenate([pair[1] for pair in pairs])
