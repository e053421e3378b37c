"""Placements: where tokens lie. Slots, access units, rows, and what a selection reads.

A slot holds the key, and in another region the value, of one token. Units of memory are read whole. STARC counts 8 vectors
of 128 elements an access (section VI-C). AttAcc's mapping has 16 tokens in two accesses that belong together. A row of all
banks of a channel holds 256 vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...constraints.core.errors import ConfigError

__all__ = ["ROW_TOKENS", "UNITS", "Fetch", "Placement", "Selected", "check_runs", "fetch", "pages", "runs", "units_of"]

#: Tokens of an access unit: STARC's text, and AttAcc's mapping.
UNITS = {"paper": 8, "attacc": 16}

#: Vectors of 128 elements in a row of all banks of a channel.
ROW_TOKENS = 256

#: Runs of access units of each list, as :func:`runs` has them: first units and lengths.
Selected = Sequence[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Placement:
    """Order of the tokens of one head in memory.

    Attributes
    ----------
    slot : int64 array
        Slot of each token; all are different.
    slots : number of slots

    Raises
    ------
    :exc:`ConfigError`
        If two tokens share a slot, or a slot is outside.
    """

    slot: np.ndarray
    slots: int

    def __post_init__(self) -> None:
        if len(self.slot) and (self.slot.min() < 0 or self.slot.max() >= self.slots):
            raise ConfigError(f"a placement has slots outside its {self.slots}")
        if len(np.unique(self.slot)) != len(self.slot):
            raise ConfigError("a placement gives two tokens the same slot")

    @classmethod
    def in_order(cls, tokens: int) -> Placement:
        """Tokens in order of their positions."""
        return cls(np.arange(tokens), tokens)

    @classmethod
    def clustered(cls, labels: np.ndarray, tokens: int, pad: int = 1) -> Placement:
        """Cluster after cluster, the tokens of a cluster in order. Tokens without a label come behind, in order.

        Parameters
        ----------
        labels : int64 array: cluster of each of the first tokens; clusters of earlier tokens have smaller numbers
        tokens : all tokens
        pad : each cluster takes a multiple of so many slots; 1 as in STARC
        """
        order = np.argsort(labels, kind="stable")
        sizes = np.bincount(labels) if len(labels) else np.zeros(0, np.int64)
        room = -(-sizes // pad) * pad
        first, begin = np.cumsum(room) - room, np.cumsum(sizes) - sizes
        slot = np.empty(tokens, np.int64)
        slot[order] = np.repeat(first - begin, sizes) + np.arange(len(labels))
        end = int(room.sum())
        slot[len(labels) :] = end + np.arange(tokens - len(labels))
        return cls(slot, end + tokens - len(labels))

    def of(self, positions: np.ndarray) -> np.ndarray:
        """Slots of positions.

        Raises
        ------
        :exc:`ConfigError`
            For a position outside the placement.
        """
        positions = np.asarray(positions, np.int64)
        wrong = positions[(positions < 0) | (positions >= len(self.slot))]
        if len(wrong):
            raise ConfigError(f"token {wrong[0]} is outside the placement of {len(self.slot)} tokens")
        return self.slot[positions]


def runs(slots: np.ndarray, unit: int) -> tuple[np.ndarray, np.ndarray]:
    """Runs of neighbouring access units that hold some slots: first unit and length of each, ascending."""
    if unit < 1:
        raise ConfigError(f"tokens of an access unit must be at least 1, not {unit}")
    units = np.unique(np.asarray(slots, np.int64) // unit)
    breaks = np.flatnonzero(np.diff(units) != 1) + 1
    first = np.concatenate([np.zeros(min(len(units), 1), np.int64), breaks])
    return units[first], np.diff(np.append(first, len(units)))


def check_runs(selected: Selected, lists: Sequence[int], units: int) -> None:
    """Raise :exc:`ConfigError` unless a program can read these runs.

    Parameters
    ----------
    selected : one list for all heads, or a list for each
    lists : numbers of heads, or of queries, that may have lists of their own
    units : access units of the placement
    """
    if len(selected) not in (1, *lists):
        raise ConfigError(
            f"runs must be for all heads together or for each of "
            f"{' or '.join(map(str, dict.fromkeys(lists)))}, not for {len(selected)}"
        )
    for head, (starts, lengths) in enumerate(selected):
        if not len(starts) or len(starts) != len(lengths):
            raise ConfigError(f"head {head}: needs at least one run, and a length for each")
        ends = np.asarray(starts) + lengths
        if np.min(lengths) < 1 or np.any(np.asarray(starts)[1:] < ends[:-1]):
            raise ConfigError(f"head {head}: runs must be ascending, without overlap, of at least one access unit")
        if starts[0] < 0 or ends[-1] > units:
            wrong = int(np.flatnonzero((np.asarray(starts) < 0) | (ends > units))[0])
            raise ConfigError(
                f"head {head}: the run of access units {starts[wrong]} to {ends[wrong] - 1} is outside "
                f"the placement of {units} units"
            )


def units_of(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Access units of runs, ascending: int64."""
    starts, lengths = np.asarray(starts, np.int64), np.asarray(lengths, np.int64)
    return np.repeat(starts - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())


def pages(slots: np.ndarray, page: int) -> np.ndarray:
    """Pages that hold some slots, ascending."""
    return np.unique(np.asarray(slots, np.int64) // page)


@dataclass(frozen=True)
class Fetch:
    """What the reads of a selection fetch: means over selections.

    Attributes
    ----------
    wanted, fetched, overfetch : tokens
    units, runs, rows : access units, runs of neighbours among them, rows that are opened for K
    """

    wanted: float
    fetched: float
    overfetch: float
    units: float
    runs: float
    rows: float


def fetch(placements: Sequence[Placement], chosen: Sequence[np.ndarray], unit: int) -> Fetch:
    """What selections fetch, one for each placement. ``chosen``: positions."""
    found = []
    for placement, positions in zip(placements, chosen, strict=True):
        slots = placement.of(positions)
        _, lengths = runs(slots, unit)
        fetched = int(lengths.sum()) * unit
        found.append(
            (
                len(positions),
                fetched,
                fetched - len(positions),
                lengths.sum(),
                len(lengths),
                len(pages(slots, ROW_TOKENS)),
            )
        )
    return Fetch(*np.mean(found, axis=0).tolist())
