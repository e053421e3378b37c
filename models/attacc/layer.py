"""An attention layer on one HBM stack of AttAcc: its requests, its program, its trace, its time."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from ...constraints.core.errors import ConfigError, nearest
from ...constraints.core.workspace import write_files
from ...constraints.memory import Memory, load_memory
from ..memory.pim_queue import KINDS, OPERATIONS, QueueController, QueueTiming, Requests, trace_lines
from ..program import Affine, Command, Loop, Node, Program, Stage
from ..program.selected import Selected, check_runs
from .schedule import BANK, BANK_GROUP, BUFFER, GROUPS, PHASES, Runs, Shape, schedule

__all__ = ["PLACEMENTS", "QUIRKS", "READS", "AttentionLayer", "LayerTimer", "read_interval", "shared_timer"]

#: Where the units that multiply are: beside every bank, for the banks of a group, on the logic die.
PLACEMENTS = {"bank": BANK, "bank-group": BANK_GROUP, "buffer": BUFFER}

#: Command with which the units at a place read.
READS = {"bank": "MAC_AB", "bank-group": "MAC_SB", "buffer": "MAC_PB"}

QUIRKS = "attacc-simulator"

#: Most queries that share a read.
MOST_QUERIES = 64

#: Tokens for which AttAcc's generator reserves memory, as if an element had one byte.
_RESERVED = 4096

#: Names of kinds of requests, as programs have them.
_OPS = list(KINDS)


@dataclass(frozen=True)
class AttentionLayer:
    """Attention of one token over the keys and values of the tokens before it, for some heads of one stack.

    A head has a channel to itself. Tokens are spread over units. The head dimension is spread over the banks of a unit
    and over columns (AttAcc, ASPLOS 2024, and its public simulator).

    Parameters
    ----------
    tokens, heads : :class:`int`
        Tokens of K and V; heads of the stack.
    placement : ``bank``, ``bank-group`` or ``buffer``
    element_bytes : 1 or 2
    head_dim : :class:`int`
    quirks : :class:`str` or None
        ``attacc-simulator``: requests as in the trace of that simulator's generator. The second round of a pair reads
        the first round's V. Requests of the remainder are forgotten when a round's query or probabilities are dealt out
        to steps. None: without these quirks.
    memory : name or :class:`Memory`
    queries : :class:`int`
        Queries that share the keys and values of a head, 1 in AttAcc. Each read meets all of them. Requests that write
        queries, start the softmax, move scores, probabilities and results are as many for each query as with one.
    selected : sequence of two int64 arrays for each head, or None
        Runs of access units that the head reads: first units and lengths, ascending, as
        :func:`bankside.models.sparse.runs` has them. One pair is for all heads. Each head has at least one run. None: all
        units.
    wide : :class:`bool`
        Whether a vector lies in the banks of two groups, as STARC's text has it. An access then meets 8 vectors of 128
        elements of 2 bytes, and not half of 16.
    """

    tokens: int
    heads: int
    placement: str = "bank"
    element_bytes: int = 2
    head_dim: int = 128
    quirks: str | None = None
    memory: str | Memory = "hbm3-5.2"
    queries: int = 1
    selected: Selected | None = None
    wide: bool = False

    def __post_init__(self) -> None:
        for what, value in (
            ("tokens", self.tokens),
            ("heads per stack", self.heads),
            ("head dimension", self.head_dim),
        ):
            if not 1 <= value <= 1 << 30:
                raise ConfigError(f"{what} must be 1 to {1 << 30}, not {value}")
        if not 1 <= self.queries <= MOST_QUERIES:
            raise ConfigError(f"queries that share a read must be 1 to {MOST_QUERIES}, not {self.queries}")
        if self.placement not in PLACEMENTS:
            raise ConfigError(nearest("placement", self.placement, PLACEMENTS))
        if self.element_bytes not in (1, 2):
            raise ConfigError(f"bytes of an element must be 1 or 2, not {self.element_bytes}")
        if self.quirks not in (None, QUIRKS):
            raise ConfigError(nearest("quirks", str(self.quirks), [QUIRKS]))
        memory = load_memory(self.memory) if isinstance(self.memory, str) else self.memory
        object.__setattr__(self, "memory", memory)
        if self.wide and (self.placement != "bank" or _levels(memory)[2] % 2):
            raise ConfigError("vectors in the banks of two groups need the placement bank and an even number of groups")
        self._fits()
        if self.selected is not None:
            check_runs(self.selected, [self.heads], self.shape.groups)

    @property
    def unit_tokens(self) -> int:
        """Tokens of an access unit."""
        memory = self.memory
        assert isinstance(memory, Memory)
        pseudo_channels, ranks, bank_groups, _ = _levels(memory)
        return pseudo_channels * (1 if self.placement == "buffer" else ranks * bank_groups) // (1 + self.wide)

    @property
    def runs(self) -> Runs:
        """Access units that heads read, as the schedule takes them."""
        chosen = self.selected or [(np.zeros(1, np.int64), np.array([self.shape.groups]))]
        lengths = [np.cumsum(each[1], dtype=np.int64) for each in chosen]
        return Runs(
            np.cumsum([0, *map(len, lengths)], dtype=np.int64),
            np.concatenate([np.asarray(each[0], np.int64) for each in chosen]),
            np.concatenate(lengths),
        )

    @property
    def waiting(self) -> float:
        """Share of the reads' time in which a head has none, because another head of its round has more: mean over
        heads."""
        runs = self.runs
        counts = runs.ends[runs.first[1:] - 1]
        if len(counts) == 1:
            return 0.0
        assert isinstance(self.memory, Memory)
        size = self.memory.channels
        turns = [counts[low : low + size] for low in range(0, len(counts), size)]
        return float(sum((turn.max() - turn).sum() for turn in turns) / sum(turn.max() * len(turn) for turn in turns))

    @property
    def shape(self) -> Shape:
        """Values on which the requests depend. Layers of equal shape take equal time."""
        memory = self.memory
        assert isinstance(memory, Memory)
        pseudo_channels, ranks, bank_groups, banks = _levels(memory)
        lanes = memory.column_bytes // self.element_bytes
        placement = PLACEMENTS[self.placement]
        whole = pseudo_channels * (1 if placement == BUFFER else ranks * bank_groups)
        tokens = self.unit_tokens
        parts = banks * (1 + self.wide) if placement == BANK else 1
        groups = -(-self.tokens // tokens)
        # Buffers get as much for the tokens that are read, however a vector is spread.
        read = groups if self.selected is None else max(int(np.sum(each[1])) for each in self.selected)
        count = self.tokens if self.selected is None else read * tokens
        columns = passes = -(-self.head_dim // (parts * lanes))
        row = memory.columns * memory.column_bytes
        bank = row * memory.rows
        next_head = self._rows(groups * columns) * row
        if self.quirks:
            next_head = -(-_RESERVED * self.head_dim // memory.banks)
        return Shape(
            placement,
            self.heads,
            memory.channels,
            groups,
            columns,
            passes,
            self.queries * -(-count // (whole * lanes)),
            self.queries * columns * (1 + self.wide),
            ranks,
            bank_groups,
            banks,
            memory.column_bytes,
            row,
            bank,
            bank * banks,
            bank * banks * bank_groups,
            next_head,
            bank // 2,
            int(self.quirks is None),
            self.queries,
            GROUPS * (1 + self.wide),
        )

    def _rows(self, accesses: int) -> int:
        """Rows of each bank that hold K or V of a head."""
        memory = self.memory
        assert isinstance(memory, Memory)
        _, ranks, bank_groups, banks = _levels(memory)
        in_turn = {"bank": 1, "bank-group": banks, "buffer": banks * bank_groups * ranks}[self.placement]
        return -(-accesses // (memory.columns * in_turn))

    def _fits(self) -> None:
        memory, shape = self.memory, self.shape
        assert isinstance(memory, Memory)
        rounds = -(-self.heads // shape.channels)
        own = self._rows(shape.groups * shape.columns) * shape.row
        # The simulator's generator lets heads overlap if they have more tokens than it reserves. Time is the same.
        needed = (rounds - 1) * shape.next_head + own
        if needed > shape.values:
            raise ConfigError(
                f"{memory.name}: K of {self.tokens} tokens and {rounds} heads of a channel needs "
                f"{-(-needed // shape.row)} rows; half of a bank has {shape.values // shape.row}"
            )

    def requests(self) -> Requests:
        """The layer's requests in order."""
        return _built(self.shape, self.runs)[0]

    def program(self) -> Program:
        """The layer as a program for :meth:`QueueController.time`, with a stage for every part of a pair of rounds."""
        requests, phases = _built(self.shape, self.runs)
        memory = self.memory
        assert isinstance(memory, Memory)
        weights: dict[str, tuple[int, int]] = {}
        above = memory.banks * memory.rows * memory.columns * memory.column_bytes
        for name, size in {
            **memory.levels,
            "row": memory.rows,
            "column": memory.columns,
            "offset": memory.column_bytes,
        }.items():
            above //= size
            weights[name] = (above, size)
        row = memory.columns * memory.column_bytes
        stages: list[Node] = []
        body: list[Node] = []
        ends = np.append(np.flatnonzero(np.diff(phases)), len(phases) - 1)
        for index, (kind, mask, address, step, count) in enumerate(np.stack(requests, axis=1).tolist()):
            while count:
                # A run along the columns ends with its row, a run along the places of a buffer with its column.
                within = row if step == memory.column_bytes else memory.column_bytes
                run = min(count, (within - 1 - address % within) // step + 1) if step else count
                body.append(_node(_OPS[kind], mask, address, step, run, weights, memory.column_bytes))
                count -= run
                address += step * run
            if index in ends:
                pair, part = divmod(int(phases[index]), len(PHASES))
                stages.append(Stage(PHASES[part].format(pair, pair + 1), tuple(body)))
                body = []
        return Program(stages)

    def write_trace(self, path: str | os.PathLike[str], controller: QueueController | None = None) -> None:
        """Write the layer as a trace of the AttAcc simulator."""
        controller = controller or QueueController(self.memory)
        target = Path(path)
        write_files(target.parent, {target.name: "".join(trace_lines(self.requests(), controller))})


def _levels(memory: Memory) -> tuple[int, int, int, int]:
    names = ("pseudo_channel", "rank", "bank_group", "bank")
    if tuple(memory.levels) != names or not {name for name in OPERATIONS.values() if name} <= memory.commands.keys():
        raise ConfigError(
            f"{memory.name}: not an AttAcc device: needs the levels {', '.join(names)} and AttAcc's commands"
        )
    a, b, c, d = (memory.levels[name] for name in names)
    return a, b, c, d


def _node(
    op: str, mask: int, address: int, step: int, count: int, weights: dict[str, tuple[int, int]], column_bytes: int
) -> Node:
    operands: dict[str, Affine | int] = {"mask": mask}
    if op != "BARRIER":
        operands |= {name: address // weight % size for name, (weight, size) in weights.items()}
    if count == 1:
        return Command(op, operands)
    moving = "column" if step == column_bytes else "offset"
    first = operands[moving]
    assert isinstance(first, int)
    operands[moving] = Affine(first, (1,))
    return Loop(count, (Command(op, operands),))


def _built(shape: Shape, runs: Runs) -> tuple[Requests, np.ndarray]:
    out = np.zeros((6, 1 << 12), np.int64)
    needed = schedule(shape, runs, out)
    if needed > out.shape[1]:
        out = np.zeros((6, needed), np.int64)
        schedule(shape, runs, out)
    return Requests(*out[:5, :needed]), out[5, :needed]


class LayerTimer:
    """Time of attention layers. A shape that has been timed before is looked up.

    Parameters
    ----------
    quirks : :class:`str` or None
        ``attacc-simulator``: the controllers of that simulator.
    power_limit : :class:`bool`
    paces : mapping of command to :class:`int`
        Least cycles between two such commands, for units that are slower than the memory.
    """

    def __init__(
        self,
        memory: Memory | str = "hbm3-5.2",
        *,
        quirks: str | None = None,
        power_limit: bool = True,
        paces: Mapping[str, int] | None = None,
    ) -> None:
        self.controller = QueueController(memory, quirks=quirks, power_limit=power_limit, paces=paces)
        self.known: dict[tuple[Shape, bytes], QueueTiming] = {}

    def time(self, layer: AttentionLayer) -> QueueTiming:
        """Time and commands of the layer on one stack."""
        shape, runs = layer.shape, layer.runs
        key = (
            shape,
            b"" if layer.selected is None else hashlib.blake2b(b"".join(part.tobytes() for part in runs)).digest(),
        )
        timing = self.known.get(key)
        if timing is None:
            timing = self.known[key] = self.controller.time(_built(shape, runs)[0])
        return timing


def read_interval(memory: Memory, placement: str) -> int:
    """Least cycles of a channel between two reads of the units, without power limit. AttAcc's units keep up with it."""
    name = READS[placement]
    return max(
        (
            c.cycles
            for c in memory.at(False).constraints
            if c.level == "channel" and c.between == "same" and c.window == 1 and name in c.from_ and name in c.to
        ),
        default=1,
    )


@lru_cache(maxsize=64)
def _timer(memory: Memory, quirks: str | None, power_limit: bool, paces: tuple[tuple[str, int], ...]) -> LayerTimer:
    return LayerTimer(memory, quirks=quirks, power_limit=power_limit, paces=dict(paces))


def shared_timer(
    memory: Memory, quirks: str | None, power_limit: bool, paces: Mapping[str, int] | None = None
) -> LayerTimer:
    """The timer of a memory; systems that differ in other things share what has been timed."""
    return _timer(memory, quirks, power_limit, tuple(sorted((paces or {}).items())))
