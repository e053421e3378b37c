"""Time of one layer's attention in each tier, from the places of the active tokens.

DRAM tiers (HBM, DDR). A bank group works through the requests one after the other. Groups that share commands, rows and
tokens count as one (:func:`together`). A tile is the tokens whose K shares a row of each bank; so does their V. For each
tile with an active token the group opens these rows, and every bank reads the columns of its own active tokens. The bank
with the most active tokens decides. :func:`tile_cycles` compiles the program of tiles with ``n`` active tokens by the
compiler whose program ``sim pam-pu`` plays, and the timing engine gives its cycles. Cycles of tiles add up, because every
row that a tile opens is closed before the next one.

SSD. A channel reads each page that holds an active token once for all queries. Array reads and bus transfers overlap
over the dies; the timing engine computes their time. The controller's units take the data from the controller's buffer.

For each query of a request, a bank group's reduction unit merges the partial results of its banks. Each tile of a bank
with an active token gives one. A bank without tokens of the request sends the identity, which takes as long as a partial
result.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...constraints.memory import Memory
from ...constraints.pam.layout import TierFormat
from ...constraints.pam.pu import PamPuConfig, Step
from ..memory import time_program
from ..program import Program
from .program import MAC, attention_program, tile_rows

__all__ = [
    "Flash",
    "NearBank",
    "TierWork",
    "append_cycles",
    "exchange_cycles",
    "page_cycles",
    "row_tile",
    "tile_cycles",
    "together",
]

_MANY = 24


def row_tile(config: PamPuConfig, memory: Memory, head_dim: int) -> PamPuConfig:
    """The unit with the tile that a row of each bank holds, at most its own; at least one token.

    A token has one row and column for its K and one for its V (PAM, section 6.1). An active token among inactive ones
    opens these two rows.
    """
    fitting = memory.row_bytes // (config.chunks(head_dim) * config.beat_bytes)
    return config.model_copy(update={"tile_tokens": min(max(fitting, 1), config.tile_tokens)})


def tile_cycles(
    config: PamPuConfig,
    memory: Memory,
    tokens: int,
    head_dim: int,
    *,
    gap_cycles: int = 0,
    burst_cycles: int = 0,
    refresh: bool = False,
) -> float:
    """Memory cycles of a tile in a long sequence of tiles, with ``tokens`` active tokens in each bank.

    ``tokens`` is at most the unit's tile. ``gap_cycles`` and ``burst_cycles`` are as in :func:`attention_program`.
    """
    return _tile(memory, config, tokens, head_dim, gap_cycles, burst_cycles, refresh)


@lru_cache(maxsize=4096)
def _tile(memory: Memory, config: PamPuConfig, tokens: int, head_dim: int, gap: int, pace: int, refresh: bool) -> float:
    def cycles(tiles: int) -> int:
        # Each tile is a step of its own. The K of the next one precedes its V where the unit holds two tiles of scores.
        steps = [Step(tokens, head_dim, more=number < tiles - 1) for number in range(tiles)]
        program = attention_program(config, memory, steps, gap_cycles=gap, burst_cycles=pace)
        return time_program(program, memory, refresh=refresh, power_limit=memory.power_limited is not False).cycles

    # With refresh over many intervals, so that it takes the same fraction of long and short tiles
    few, many = (_MANY, 2 * _MANY) if not refresh else (256, 4096)
    return (cycles(many) - cycles(few)) / (many - few)


@lru_cache(maxsize=256)
def page_cycles(memory: Memory, reads: int) -> float:
    """Memory cycles of a flash channel per page in a long sequence of pages, with ``reads`` column reads a page.

    All dies read. The bus empties one die after the other, and each emptied die goes on to its next page.
    """
    dies = [{"die": d, "plane": 0} for d in range(memory.levels["die"])]

    def cycles(rounds: int) -> int:
        program = Program()
        for die in dies:
            program.command("READ", **die, row=0)
        with program.loop(rounds) as turn:
            for die in dies:
                program.command("NEXT", **die, row=turn)
                with program.loop(reads) as column:
                    program.command("RD", **die, row=turn, column=column)
        return time_program(program, memory).cycles

    return (cycles(2 * _MANY) - cycles(_MANY)) / _MANY / len(dies)


@lru_cache(maxsize=256)
def _tokens(memory: Memory, command: str, rows: int, columns: int) -> float:
    bank = dict.fromkeys(memory.command(command).scope, 0)

    def cycles(tokens: int) -> int:
        program = Program()
        with program.loop(tokens) as token, program.loop(rows) as row, program.loop(columns) as column:
            program.command(command, **bank, row=rows * token + row, column=column)
        return time_program(program, memory).cycles

    return (cycles(2 * _MANY) - cycles(_MANY)) / _MANY


def append_cycles(memory: Memory, rows: int, columns: int) -> float:
    """Memory cycles to write one token of a long sequence: ``columns`` columns in each of ``rows`` rows of a bank."""
    return _tokens(memory, "WR", rows, columns)


def exchange_cycles(memory: Memory, rows: int, columns: int) -> float:
    """Memory cycles for which one token that leaves a bank and one that takes its place occupy the bank."""
    return _tokens(memory, "RD", rows, columns) + _tokens(memory, "WR", rows, columns)


@dataclass(frozen=True)
class TierWork:
    """Work of one tier for one head and one query of one layer, in seconds and counts.

    Attributes
    ----------
    key_s, value_s : :class:`float`
        Reading K and V in the busiest part of the tier, units included.
    reduce_s : :class:`float`
        The bank groups' reduction units in the busiest group.
    tokens : :class:`int`
        Active tokens.
    rows, reads : :class:`float`
        Rows opened and columns read, summed over banks.
    partials : :class:`int`
        Partial results that leave the banks: one for each tile of a request with an active token.
    bank_pairs, group_pairs, channel_pairs, device_pairs : :class:`int`
        Combinations of a request with a bank, group, channel or device that holds an active token of the request.
    busiest_group_pairs, busiest_channel_pairs : :class:`int`
        Pairs with groups of the busiest channel, and its requests.
    busiest_channel_tokens : :class:`int`
        Active tokens of the busiest channel.
    requests : :class:`int`
        Requests with an active token in the tier.
    imbalance : :class:`float`
        Time of the busiest part divided by the mean.
    """

    key_s: float = 0.0
    value_s: float = 0.0
    reduce_s: float = 0.0
    tokens: int = 0
    rows: float = 0.0
    reads: float = 0.0
    partials: int = 0
    bank_pairs: int = 0
    group_pairs: int = 0
    channel_pairs: int = 0
    device_pairs: int = 0
    busiest_group_pairs: int = 0
    busiest_channel_pairs: int = 0
    busiest_channel_tokens: int = 0
    requests: int = 0
    imbalance: float = 1.0

    @property
    def local_s(self) -> float:
        return self.key_s + self.value_s


def _starts(keys: np.ndarray) -> np.ndarray:
    """Where a new value begins in a sorted array."""
    new = np.empty(len(keys), bool)
    new[:1] = True
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    return np.flatnonzero(new)


def _distinct(keys: np.ndarray) -> np.ndarray:
    """Distinct keys of a sorted array."""
    return keys[_starts(keys)]


def _largest_of(keys: np.ndarray, inner: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Occurrences of each key in sorted ``keys``, for each value of ``key // inner``.

    Returns these values, the largest number of occurrences of a key for each, and the sum of all.
    """
    breaks = _starts(keys)
    counts = np.diff(np.append(breaks, len(keys)))
    outer = keys[breaks] // inner
    starts = _starts(outer)
    return outer[starts], np.maximum.reduceat(counts, starts), np.add.reduceat(counts, starts)


def together(layout: TierFormat, groups: int) -> TierFormat:
    """The layout with ``groups`` neighbouring groups as one. Their banks open rows together and share out the tokens."""
    return layout.model_copy(
        update={"levels": {"set": layout.groups // groups}, "banks": layout.banks * groups, "lockstep": 1}
    )


class NearBank:
    """A DRAM tier whose banks have a unit each.

    Parameters
    ----------
    config
        Configuration of the unit. Its tile is the one of :func:`row_tile`.
    layout, memory
        Places of tokens, and the memory that holds the tokens.
    devices : :class:`int`
        Stacks or DIMMs of a share.
    head_dim : :class:`int`
        Elements of a K and of a V.
    burst_cycles, gap_cycles : :class:`int`
        Memory cycles that the unit takes for a column, and for the softmax of a tile.
    partial_s, step_s : :class:`float`
        Seconds of a bank group's reduction unit for one partial result, and for one query of a request in addition.
    read_pj : :class:`float` or None
        Energy of a column read of one bank; the memory file's if None.
    """

    def __init__(
        self,
        config: PamPuConfig,
        layout: TierFormat,
        memory: Memory,
        devices: int,
        head_dim: int,
        *,
        burst_cycles: int = 0,
        gap_cycles: int = 0,
        partial_s: float = 0.0,
        step_s: float = 0.0,
        refresh: bool = False,
        read_pj: float | None = None,
    ) -> None:
        self.token_bytes = 2 * config.chunks(head_dim) * config.beat_bytes
        layout.check_token(self.token_bytes)
        self.config = row_tile(config, memory, head_dim)
        self.layout, self.memory, self.devices, self.head_dim = layout, memory, devices, head_dim
        self.burst_cycles, self.gap_cycles = burst_cycles, gap_cycles
        self.partial_s, self.step_s, self.refresh, self.read_pj = partial_s, step_s, refresh, read_pj
        self.clock_s = memory.clock_ps * 1e-12
        self.groups = devices * layout.channels * layout.groups
        #: Rows of a bank that hold the K (or the V) of a tile, and columns that hold the K (or the V) of a token.
        self.rows, self.columns = tile_rows(self.config, memory, head_dim), layout.part_accesses(self.token_bytes)

    def _cost(self, most: np.ndarray) -> np.ndarray:
        """Cycles of tiles, from the number of active tokens in the fullest bank of each tile."""
        cost = np.zeros(int(most.max()) + 1)
        for n in np.flatnonzero(np.bincount(most)).tolist():
            cost[n] = tile_cycles(
                self.config,
                self.memory,
                n,
                self.head_dim,
                gap_cycles=self.gap_cycles,
                burst_cycles=self.burst_cycles,
                refresh=self.refresh,
            )
        return cost[most]

    def work(self, request: np.ndarray, group: np.ndarray, slot: np.ndarray) -> TierWork:
        """Attention over the active tokens with these requests, groups (over all devices) and slots."""
        if not len(request):
            return TierWork()
        layout, banks, sets = self.layout, self.layout.banks, self.groups
        place = layout.place(slot)
        bank = place.bank
        tile = place.index // self.config.tile_tokens
        tiles = int(tile.max()) + 1
        front = np.sort(((request.astype(np.int64) * sets + group) * tiles + tile) * banks + bank)
        outer, most, _ = _largest_of(front, banks)
        busy = np.bincount(outer // tiles % sets, weights=self._cost(most), minlength=sets)
        worst = int(busy.argmax())
        # With every tile a partial result leaves each bank that has an active token of the tile.
        partials = _distinct(front)
        per_group = np.bincount(partials // (banks * tiles) % sets, minlength=sets)
        pairs = _distinct(np.sort((request.astype(np.int64) * sets + group) * banks + bank))
        by_group = np.bincount(pairs // banks % sets, minlength=sets)
        group_pairs = _distinct(pairs // banks)
        # A bank of the group without tokens of the request sends the identity.
        steps = np.bincount(group_pairs % sets, minlength=sets)
        merged = (per_group + steps * banks - by_group) * self.partial_s + steps * self.step_s
        channel_groups = layout.groups
        channels = sets // channel_groups
        channel_pairs = _distinct(group_pairs // channel_groups)
        per_channel = np.bincount(channel_pairs % channels, minlength=channels)
        groups_per_channel = np.bincount(group_pairs % sets // channel_groups, minlength=channels)
        # K and V of a tile have equally many rows and columns.
        half_s = float(busy[worst]) / 2 * self.clock_s
        return TierWork(
            key_s=half_s,
            value_s=half_s,
            reduce_s=float(merged.max()),
            tokens=len(request),
            rows=2.0 * len(outer) * self.rows * banks,
            reads=2.0 * len(request) * self.columns,
            partials=len(partials),
            bank_pairs=len(pairs),
            group_pairs=len(group_pairs),
            channel_pairs=len(channel_pairs),
            device_pairs=len(_distinct(channel_pairs // layout.channels)),
            busiest_group_pairs=int(groups_per_channel.max()),
            busiest_channel_pairs=int(per_channel.max()),
            busiest_channel_tokens=int(np.bincount(group // channel_groups, minlength=channels).max()),
            requests=len(_distinct(channel_pairs // channels)),
            imbalance=float(busy[worst] / busy.mean()),
        )

    def energy_pj(self, work: TierWork) -> tuple[float, float]:
        """Energy of the rows opened and of the columns read."""
        mac = self.memory.command(MAC)
        activate = self.memory.command(mac.activate) if mac.activate else None
        per_read = sum(mac.energy_pj.values()) / self.memory.banks if self.read_pj is None else self.read_pj
        per_row = sum(activate.energy_pj.values()) / self.memory.banks if activate else 0.0
        return work.rows * per_row, work.reads * per_read


class Flash:
    """An SSD whose controller has the units.

    Parameters
    ----------
    layout, memory
        Places of tokens, and the memory that holds the tokens.
    channels, devices : :class:`int`
        Flash channels and SSDs of a share.
    token_bytes, slot_bytes : :class:`int`
        K and V of a token that an attention step reads from a page, and the space that they have in the page. They
        belong to one head, or to all heads of the share that lie together.
    """

    def __init__(
        self,
        layout: TierFormat,
        memory: Memory,
        channels: int,
        devices: int,
        token_bytes: int,
        slot_bytes: int | None = None,
    ) -> None:
        slot_bytes = slot_bytes or token_bytes
        layout.check_token(slot_bytes)
        self.layout, self.memory, self.channels, self.devices = layout, memory, channels, devices
        self.clock_s = memory.clock_ps * 1e-12
        self.page_tokens = layout.row_bytes // slot_bytes
        self.reads_of_token = max(1, -(-token_bytes // layout.access_bytes))

    def work(self, request: np.ndarray, group: np.ndarray, slot: np.ndarray) -> TierWork:
        """Work to read the pages of the active tokens. ``key_s`` is the whole time, because K and V share the page."""
        if not len(request):
            return TierWork()
        layout = self.layout
        place = layout.place(slot)
        page = (group.astype(np.int64) * layout.banks + place.bank) * layout.rows + place.index // self.page_tokens
        pages = np.sort(page)
        starts = _starts(pages)
        counts = np.diff(np.append(starts, len(pages)))
        cost = np.zeros(int(counts.max()) + 1)
        for n in np.flatnonzero(np.bincount(counts)).tolist():
            cost[n] = page_cycles(self.memory, min(n * self.reads_of_token, layout.columns))
        channel = pages[starts] // (layout.rows * layout.banks)
        busy = np.bincount(channel, weights=cost[counts], minlength=self.channels)
        keys = _distinct(np.sort(request.astype(np.int64) * self.channels + group))
        device_keys = _distinct(keys // (self.channels // self.devices))
        return TierWork(
            key_s=float(busy.max()) * self.clock_s,
            tokens=len(request),
            rows=float(len(starts)),
            reads=float(len(pages) * self.reads_of_token),
            partials=len(keys),
            bank_pairs=len(keys),
            group_pairs=len(keys),
            channel_pairs=len(keys),
            device_pairs=len(device_keys),
            busiest_channel_pairs=int(np.bincount(keys % self.channels).max()),
            busiest_channel_tokens=int(np.bincount(group, minlength=self.channels).max()),
            requests=len(_distinct(keys // self.channels)),
            imbalance=float(busy.max() / busy.mean()),
        )
