"""Heads of a language model in a unit's Verilog, token by token, in simulations that stay alive.

A bench memory holds the heads' keys and values where the unit's program reads them. Every step appends to it through its
write port, reads it, and compares each result with the functional model. The first difference ends the run: it is named by
token, layer, head and tile, and a waveform shows the cycles around it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Self

import numpy as np

from ...constraints.core.errors import CheckFailed, ConfigError
from ...constraints.memory import load_memory
from ...constraints.pam.pu import BEAT_DTYPE, PamPuConfig, Step
from ...models.numerics.sums import Lists
from ...models.pam.batch import local_attention_lists
from ...models.pam.pu import Partials
from ..bench.request import Part
from ..bench.streams import Items
from ..pam.partials import beat_name
from ..pam.pu import _received, measured_timing, result_beats
from .unit import Gather, LiveStep, LiveUnit, Recorded

__all__ = ["Bank", "Figures", "LivePamPu", "Named", "PamRequest", "RtlMismatch", "Simulations", "Waveform"]

#: Cycles before and after the first wrong item that a waveform shows.
BEFORE, AFTER = 1500, 100

#: Most cycles of a step of the watched head that are recorded.
RECORDED = 4096


class RtlMismatch(CheckFailed):
    """The Verilog gave other bits than the functional model."""


@dataclass
class Figures:
    """Figures of simulations: query heads and tokens that they answered, clocks, and differences from the model.

    ``seconds`` is the processor time of the simulations, all added up.
    """

    heads: set[tuple[int, int]] = field(default_factory=set)
    tokens: set[int] = field(default_factory=set)
    clocks: int = 0
    seconds: float = 0.0
    mismatches: int = 0

    def plain(self) -> dict[str, int | float]:
        return {
            "heads": len(self.heads),
            "tokens": len(self.tokens),
            "clocks": self.clocks,
            "clocks_per_second": round(self.clocks / self.seconds, 1) if self.seconds else 0.0,
            "mismatches": self.mismatches,
        }


@dataclass(frozen=True)
class Named:
    """What a result belongs to, for people: a token's position, layer and query head."""

    token: int
    layer: int
    head: int

    def __str__(self) -> str:
        return f"token {self.token}, layer {self.layer}, head {self.head}"


@dataclass(frozen=True)
class Waveform:
    """The streams of a unit in a step of the watched head.

    Attributes
    ----------
    part : the unit
    named : to which the step belongs
    clocks : of the whole step, whose first :data:`RECORDED` clocks are here at most
    """

    part: Part
    named: Named
    clocks: int
    streams: dict[str, Recorded]


class Simulations:
    """Equal simulations of a unit side by side. Use it in ``with``: their processes end with the block.

    Parameters
    ----------
    part : the unit
    count : number of simulations
    waves : folder for the waveform of a difference; None: no waveform

    Attributes
    ----------
    watched : layer and query head; the streams of each step that begins with it are recorded
    waveform : of the last such step
    """

    watched: tuple[int, int] | None = None
    waveform: Waveform | None = None

    def __init__(self, part: Part, *, count: int = 1, waves: Path | None = None) -> None:
        if count < 1:
            raise ConfigError(f"there must be at least 1 simulation, not {count}")
        self.part, self.waves, self.figures = part, waves, Figures()
        with ExitStack() as stack:
            self.units = [stack.enter_context(LiveUnit(part.config, part.verilog, part.module)) for _ in range(count)]
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes. More calls have no effect."""
        self._stack.close()

    def record(self, named: Named) -> int:
        """Cycles to record of a step that begins with a query."""
        return RECORDED if self.watched == (named.layer, named.head) else 0

    def finish(
        self, unit: LiveUnit, expected: Mapping[str, np.ndarray], name: Callable[[str, int], str], named: Named
    ) -> LiveStep:
        """Wait for the step of a simulation, and compare its outputs.

        Parameters
        ----------
        expected : payloads of each output stream
        name : names a payload for people: called with the stream and the payload's number
        named : the query with which the step begins

        Raises
        ------
        :exc:`RtlMismatch`
            If a payload differs. The simulation can't go on.
        """
        began = unit.seconds, unit.clocks
        step = unit.finish()
        self.figures.seconds += unit.seconds - began[0]
        self.figures.clocks += unit.clocks - began[1]
        if self.record(named):
            self.waveform = Waveform(self.part, named, step.clocks, step.recorded)
        wrong = [
            (int(step.cycles[stream][at]), stream, int(at))
            for stream, rows in expected.items()
            for at in np.flatnonzero((step.outputs[stream] != rows).any(axis=1))
        ]
        if not wrong:
            return step
        self.figures.mismatches += len(wrong)
        cycle, stream, at = min(wrong)
        got, right = ("0x" + rows[at][::-1].tobytes().hex() for rows in (step.outputs[stream], expected[stream]))
        told = f"{self.part.module}: {name(stream, at)}: got {got}, expected {right}; in cycle {cycle}"
        total = sum(map(len, expected.values()))
        told += f"; {len(wrong)} of {total} results of the step differ"
        try:
            if self.waves is not None:
                path = self.waves / f"{self.part.module}-step-{unit.steps - 1}"
                kept, alone = unit.waves(path, cycle - BEFORE, cycle + AFTER, int(1e6 / self.part.config.clock_mhz))
                told += f"; waveform {kept}" + ("" if alone else " (the step alone gives other results)")
        finally:
            self.close()
        raise RtlMismatch(told)


# PAM ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bank:
    """A bank: it holds keys and values of a layer and a KV head, beside the unit of that number."""

    layer: int
    head: int
    unit: int = 0


@dataclass(frozen=True)
class PamRequest:
    """A query against the first tokens of a bank.

    Attributes
    ----------
    q : int64 bits of shape ``(head_dim,)``, already scaled by 1/sqrt(head_dim)
    expected : result of the functional model; None: :meth:`LivePamPu.model` computes it
    """

    bank: Bank
    q: np.ndarray
    tokens: int
    named: Named
    expected: Partials | None = None


@dataclass
class _Held:
    """What lies in a bank: its region in the memory of a simulation, and the bits there."""

    simulation: int
    base: int
    room: int
    k: np.ndarray
    v: np.ndarray
    tokens: int = 0


class LivePamPu(Simulations):
    """Banks of keys and values, each with a processing unit: ``pam-pu``. A simulation does the work of its banks in turn.

    Keys and values lie at :meth:`PamPuConfig.address`, a region of K and a region of V for each bank.

    Parameters
    ----------
    part : the unit ``pam-pu``
    memory : name of a memory. Keys and values arrive at its cycles. None: they are there
    room : tokens for which a bank has space at first
    """

    def __init__(
        self,
        part: Part,
        head_dim: int,
        *,
        memory: str | None = None,
        room: int = 2048,
        count: int = 1,
        waves: Path | None = None,
    ) -> None:
        part.config.check_head_dim(head_dim)
        super().__init__(part, count=count, waves=waves)
        self.config: PamPuConfig = part.config
        self.head_dim, self.memory = head_dim, memory
        self._room = self._whole(room)
        self._banks: dict[Bank, _Held] = {}
        self._end = [0] * count

    def _whole(self, tokens: int) -> int:
        """Tokens of whole tiles."""
        tile = self.config.tile_tokens
        return max(-(-tokens // tile), 1) * tile

    # Memory ----------------------------------------------------------------------------------------------------------

    def append(self, bank: Bank, k: np.ndarray, v: np.ndarray) -> None:
        """Write keys and values of further tokens: bits of shape ``(tokens, head_dim)``; of one token also
        ``(head_dim,)``."""
        k, v = np.atleast_2d(k), np.atleast_2d(v)
        held = self._held(bank, self.tokens(bank) + len(k))
        self._store(held, np.arange(held.tokens, held.tokens + len(k)), k, v)
        held.tokens += len(k)

    def tokens(self, bank: Bank) -> int:
        """Tokens in a bank."""
        return self._banks[bank].tokens if bank in self._banks else 0

    def changes(self, bank: Bank, k: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Tokens of a bank that are not yet as ``k`` and ``v`` say."""
        held = self._banks.get(bank)
        known = min(held.tokens, len(k)) if held else 0
        if held is None:
            return np.arange(len(k))
        differ = (held.k[:known] != k[:known]).any(axis=1) | (held.v[:known] != v[:known]).any(axis=1)
        return np.concatenate([np.flatnonzero(differ), np.arange(known, len(k))])

    def hold(self, bank: Bank, k: np.ndarray, v: np.ndarray) -> None:
        """Make ``k`` and ``v`` the first tokens of a bank. Only tokens that differ are written."""
        mine = self.changes(bank, k, v)
        if len(mine):
            held = self._held(bank, len(k))
            self._store(held, mine, k[mine], v[mine])
            held.tokens = max(held.tokens, len(k))

    def _held(self, bank: Bank, tokens: int) -> _Held:
        """The bank, with space for so many tokens. A bank that is full moves to a region twice as large."""
        held = self._banks.get(bank)
        if held is not None and tokens <= held.room:
            return held
        self.config.check_step(Step(tokens, self.head_dim))
        simulation = held.simulation if held else len(self._banks) % len(self.units)
        room = max(self._whole(tokens), 2 * held.room if held else self._room)
        k, v = (np.zeros((room, self.head_dim), np.int64) for _ in range(2))
        new = _Held(simulation, self._end[simulation], room, k, v)
        self._end[simulation] += 2 * room * self.config.chunks(self.head_dim)
        if held is not None and held.tokens:
            self._store(new, np.arange(held.tokens), held.k[: held.tokens], held.v[: held.tokens])
            new.tokens = held.tokens
        self._banks[bank] = new
        return new

    def _store(self, held: _Held, tokens: np.ndarray, k: np.ndarray, v: np.ndarray) -> None:
        config, chunks = self.config, self.config.chunks(self.head_dim)
        held.k[tokens], held.v[tokens] = k, v
        beats = np.zeros((2, len(tokens), chunks), BEAT_DTYPE)
        beats["value"] = np.arange(2)[:, None, None]
        beats["token"], beats["chunk"] = tokens[None, :, None], np.arange(chunks)
        beats["tile"] = beats["token"] // config.tile_tokens
        addresses = self._address(held, config.address(beats.ravel(), self.head_dim), beats["value"].ravel())
        payloads = config.beat_layout.pack({"": np.stack([k, v]).reshape(-1, config.lanes)})
        self.units[held.simulation].write("kv", addresses, payloads)

    def _address(self, held: _Held, place: np.ndarray, value: np.ndarray) -> np.ndarray:
        return held.base + place + value.astype(np.int64) * held.room * self.config.chunks(self.head_dim)

    # Steps -----------------------------------------------------------------------------------------------------------

    def attend(self, requests: Sequence[PamRequest]) -> list[Partials]:
        """Answer queries. The simulations work at the same time, each on the requests of its banks in their order.

        Raises
        ------
        :exc:`RtlMismatch`
            If a result differs from the functional model's.
        """
        out: dict[int, Partials] = {}
        waiting: list[list[int]] = [[] for _ in self.units]
        for number, request in enumerate(requests):
            waiting[self._banks[request.bank].simulation].append(number)
        while any(waiting):
            began = []
            for unit, mine in zip(self.units, waiting, strict=True):
                # Arrival times are of one step alone.
                batch = mine[:1] if self.memory else mine[:]
                del mine[: len(batch)]
                if batch:
                    self._start(unit, [requests[number] for number in batch])
                    began.append((unit, batch))
            for unit, batch in began:
                for number, part in zip(batch, self._finish(unit, [requests[n] for n in batch]), strict=True):
                    out[number] = part
        return [out[number] for number in range(len(requests))]

    def _start(self, unit: LiveUnit, requests: Sequence[PamRequest]) -> None:
        config, dim, lanes = self.config, self.head_dim, self.config.lanes
        steps = [Step(request.tokens, dim) for request in requests]
        several = {"queries": 1} if config.queries > 1 else {}
        commands = config.command_layout.pack(
            tokens=np.array([step.tokens for step in steps], np.int64), chunks=config.chunks(dim), **several
        )
        order = config.query_order(steps)
        queries = np.stack([request.q for request in requests]).reshape(len(requests), -1, lanes)[
            order[:, 0], order[:, 1]
        ]
        addresses = []
        for request in requests:
            place, value = _reads(config, request.tokens, dim)
            addresses.append(self._address(self._banks[request.bank], place, value))
        arrival = None if self.memory is None else _arrival(self.part, self.memory, requests[0].tokens, dim)
        unit.start(
            {
                "command": Items.of(commands),
                "query": Items.of(config.beat_layout.pack({"": queries})),
                "kv": Gather(np.concatenate(addresses), arrival),
            },
            {"result": sum(len(config.tiles(step.tokens)) for step in steps) * (2 + config.chunks(dim))},
            record=self.record(requests[0].named),
        )

    def _finish(self, unit: LiveUnit, requests: Sequence[PamRequest]) -> list[Partials]:
        config, chunks = self.config, self.config.chunks(self.head_dim)
        expected = [request.expected or self.model(request) for request in requests]
        rows = np.concatenate([result_beats(config, [part]) for part in expected])

        def name(_: str, at: int) -> str:
            tiles = [
                (
                    f"{request.named}, tile {tile}" + (f" of unit {request.bank.unit}" if request.bank.unit else ""),
                    1,
                    chunks,
                )
                for request in requests
                for tile in range(len(config.tiles(request.tokens)))
            ]
            return beat_name(tiles, at)

        step = self.finish(unit, {"result": rows}, name, requests[0].named)
        self.figures.heads |= {(request.named.layer, request.named.head) for request in requests}
        self.figures.tokens |= {request.named.token for request in requests}
        return _received(
            config, expected, [Step(request.tokens, self.head_dim) for request in requests], step.outputs["result"]
        )

    def model(self, request: PamRequest) -> Partials:
        """Result of the functional model on the bits in the bank."""
        held, tokens = self._banks[request.bank], request.tokens
        return local_attention_lists(
            self.config, request.q[None], held.k[:tokens], held.v[:tokens], Lists.prefixes(np.array([tokens]))
        )


@lru_cache(maxsize=64)
def _reads(config: PamPuConfig, tokens: int, head_dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Place of every beat of a step in its region, and whether it is in the region of V."""
    beats = config.beats([Step(tokens, head_dim)])
    return config.address(beats, head_dim), beats["value"]


@lru_cache(maxsize=64)
def _arrivals(config: PamPuConfig, memory: str, gap_cycles: int, tokens: int, head_dim: int) -> np.ndarray:
    return measured_timing(config, memory, [Step(tokens, head_dim)], gap_cycles=gap_cycles)[1]


def _arrival(part: Part, memory: str, tokens: int, head_dim: int) -> np.ndarray:
    """Clock of the step in which each beat of K and V has arrived from the memory."""
    config = part.config
    gap = int(np.ceil(part.latency["last_k_to_first_v"] / config.clock_mhz * 1e6 / load_memory(memory).clock_ps))
    return _arrivals(config, memory, gap, tokens, head_dim)
