"""Parameters of PAM's local-attention processing unit, and the order in which it takes K and V.

Source: PAM (MICRO 2025) section 5.2.1 and Table 1 for widths, buffer and clocks. The paper leaves the stream order and
the use of the buffer open; they are this project's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Literal

import numpy as np
from pydantic import Field as Key
from pydantic import model_validator

from ..core.contract import (
    AttentionWorkload,
    Field,
    Layout,
    MemoryTiming,
    NumericResult,
    Port,
    RateResult,
    Row,
    Trial,
    Unit,
)
from ..core.errors import ConfigError
from .partials import Kind, PartialUnitConfig, ScoringKind, check_power_of_two, partial_layout, queries_field

__all__ = ["BEAT_DTYPE", "PRESETS", "UNIT", "PamPuConfig", "PamPuResult", "PamPuTiming", "Step"]

#: One element per column burst that the unit takes, in stream order. ``value`` is 0 for K and 1 for V; ``token`` counts
#: within the step, ``chunk`` counts groups of ``lanes`` elements within the head dimension.
BEAT_DTYPE = np.dtype([("step", "i4"), ("tile", "i4"), ("value", "u1"), ("token", "i4"), ("chunk", "i2")])


@dataclass(frozen=True)
class Step:
    """One decode step of one query, or of several queries that share K and V, against the tokens of the bank.

    Attributes
    ----------
    tokens : :class:`int`
        Tokens, at least 0.
    head_dim : :class:`int`
        Elements of the query, of every key and of every value.
    more : :class:`bool`
        Whether another step follows, whose first K precedes the V of this step's last tile. This hides the softmax of
        the last tile. It needs a next step: another query of a group that shares K and V, or the next request.
    queries : :class:`int`
        Queries that every burst of K and V meets, at least 1.
    scores : :class:`bool`
        Whether the step has only K, and its results are the scores of the tokens. ``more`` has no meaning then.
    """

    tokens: int
    head_dim: int
    more: bool = False
    queries: int = 1
    scores: bool = False


class PamPuConfig(PartialUnitConfig):
    """Parameters of the generator ``pam-pu``; every value here is free, the presets are the paper's.

    The local buffer of ``buffer_bytes`` holds, in this order:

    - the query (or a slice of it) in ``query_bytes``;
    - the scores of ``score_tiles`` tiles if ``score_storage`` is ``buffer``;
    - finished output elements waiting to leave, in the rest.

    A query that does not fit is taken in slices of ``query_bytes``. Between slices a score is rounded to
    ``score_format``, except in tiles of at most ``score_accumulators`` tokens.

    With ``queries`` above 1, a step may have several queries that share K and V. ``query_bytes`` and the scores are then
    for all of them: each query has a ``queries``-th part. With ``multipliers_per_lane`` above 1, the unit consists of that
    many cores. The buffer is shared out among them, each has a skid, and a burst meets a query of each core in one clock.
    """

    lanes: int = Key(default=16, ge=2, le=64, description="multipliers; elements of one column burst")
    # At 1, the value stands in no document: the unit is the one that had no such parameter.
    queries: int = Key(
        default=1,
        ge=1,
        le=8,
        exclude_if=lambda value: value == 1,
        description="most queries of a step, which share each burst of K and V",
    )
    multipliers_per_lane: int = Key(
        default=1,
        ge=1,
        le=8,
        exclude_if=lambda value: value == 1,
        description="multipliers of a lane: queries that a burst meets in one clock",
    )
    format: Literal["fp16", "bf16"] = Key(default="fp16", description="format of Q, K, V, of probabilities and of O")
    acc_format: Literal["fp32", "fp16", "bf16"] = Key(
        default="fp32", description="precision of accumulation: width of the aligned accumulators"
    )
    score_format: Literal["fp32", "fp16", "bf16"] = Key(
        default="fp32", description="format of scores, of the row maximum m and between query slices"
    )
    buffer_bytes: int = Key(default=512, ge=8, le=1 << 20, description="local staging buffer")
    query_bytes: int = Key(default=256, ge=4, le=1 << 20, description="share of the buffer that holds the query")
    score_storage: Literal["separate", "buffer"] = Key(
        default="separate", description="whether scores are kept beside the buffer or in it"
    )
    tile_tokens: int = Key(default=32, ge=1, le=65536, description="tokens of one softmax tile")
    score_tiles: Literal[1, 2] = Key(
        default=2, description="tiles of scores held: 2 lets the K of the next tile hide the softmax of this one"
    )
    score_accumulators: int = Key(
        default=2, ge=1, le=8, description="tokens of a short tile whose scores stay in accumulators between slices"
    )
    output_skid_beats: int = Key(
        default=0, ge=0, le=1024, description="places beside the buffer for output beats in flight in the pipeline"
    )
    max_head_dim: int = Key(default=256, ge=2, le=4096, description="largest head dimension of a step")
    max_tokens: int = Key(default=1 << 20, ge=1, le=1 << 30, description="largest token count of a step")
    guard_bits: int = Key(default=3, ge=1, le=16, description="accumulator bits below the precision of acc_format")
    clock_mhz: float = Key(default=666.0, gt=0, le=10000, strict=False, description="target clock")
    # Without it, the unit is the one that had no such parameter.
    scores: bool = Key(
        default=False,
        exclude_if=lambda value: not value,
        description="whether a step may be scores alone: K without softmax and V",
    )

    @model_validator(mode="after")
    def _check(self) -> PamPuConfig:
        check_power_of_two("multipliers_per_lane", self.multipliers_per_lane)
        if self.queries % self.multipliers_per_lane:
            raise ValueError(
                f"queries must be a multiple of multipliers_per_lane ({self.multipliers_per_lane}), not {self.queries}"
            )
        output = self.beat_bytes * self.multipliers_per_lane
        least = self.beat_bytes * self.queries
        if self.query_bytes % least:
            beats = "a beat" if self.queries == 1 else f"a beat of each of {self.queries} queries"
            raise ValueError(f"query_bytes must be a multiple of the {least} bytes of {beats}, not {self.query_bytes}")
        if self.output_bytes < output:
            raise ValueError(
                f"buffer_bytes {self.buffer_bytes} leaves {self.output_bytes} bytes for output; query_bytes "
                f"{self.query_bytes} and {self.score_bytes} bytes of scores need at least "
                f"{self.query_bytes + self.score_bytes + output}"
            )
        if self.output_bytes % output:
            raise ValueError(
                f"buffer_bytes must leave a multiple of {output} bytes for output, not {self.output_bytes}"
            )
        return self

    # Derived sizes -----------------------------------------------------------------------------------------------

    @property
    def core(self) -> PamPuConfig:
        """One of the ``multipliers_per_lane`` cores, each with its share of the queries and of the buffer."""
        cores = self.multipliers_per_lane
        return PamPuConfig(
            **{
                **self.model_dump(),
                "multipliers_per_lane": 1,
                "queries": self.queries // cores,
                "query_bytes": self.query_bytes // cores,
                "buffer_bytes": self.buffer_bytes // cores,
            }
        )

    def burst_clocks(self, queries: int) -> int:
        """Clocks that a burst stays for a step of ``queries`` queries."""
        return -(-queries // self.multipliers_per_lane)

    @property
    def score_bytes(self) -> int:
        """Bytes of the local buffer that hold scores (0 when they are stored beside it)."""
        if self.score_storage == "separate":
            return 0
        return self.score_tiles * self.tile_tokens * self.queries * max(self.score.width, self.io.width) // 8

    @property
    def output_bytes(self) -> int:
        return self.buffer_bytes - self.query_bytes - self.score_bytes

    @property
    def query_beats(self) -> int:
        """Beats of the query buffer, of all queries."""
        return self.query_bytes // self.beat_bytes

    @property
    def slice_beats(self) -> int:
        """Beats of the longest slice of a query. It depends on no step, and so does the place of K in the bank."""
        return self.query_beats // self.queries

    @property
    def output_beats(self) -> int:
        """Beats of finished output that can wait."""
        return self.output_bytes // self.beat_bytes

    def keeps_scores(self, count: int) -> bool:
        """Whether the scores of a tile of ``count`` tokens stay unrounded in accumulators between query slices.

        In a short tile the unit returns to a token before the token's rounded partial score could be read again.
        """
        return count <= self.score_accumulators

    # Ports -------------------------------------------------------------------------------------------------------

    @property
    def command_layout(self) -> Layout:
        """One step."""
        return Layout.of(
            Field("tokens", self.max_tokens.bit_length(), "tokens of the step; 0 is legal"),
            Field("chunks", self.max_chunks.bit_length(), "head dimension divided by lanes; at least 1"),
            Field("more", 1, "the first K of the next step comes before the V of this step's last tile"),
            *queries_field(self.queries),
            *([Field("scores", 1, "the step has K alone; its results are scores")] if self.scores else []),
        )

    @property
    def beat_layout(self) -> Layout:
        """Elements of Q, K or V."""
        return Layout.numbers(self.io, self.lanes)

    @property
    def kinds(self) -> type[IntEnum]:
        """Contents of a beat of a result."""
        return ScoringKind if self.scores else Kind

    @property
    def result_layout(self) -> Layout:
        """Beat of a tile's partial result, or a score."""
        scalars, score = ("m, l or a score", ", 3: a score (score format)") if self.scores else ("m or l", "")
        return partial_layout(
            self.lanes,
            self.io,
            self.kinds,
            data=f"lanes elements of O, lane 0 lowest; or {scalars} in the lowest bits",
            kind=f"0: O, 1: m (score format), 2: l (accumulation format){score}",
            last="last beat of the tile" if self.queries > 1 else "last beat of the partial result",
            final="O of the step's last tile" if not self.scores else "O or scores of the step's last tile",
            queries=self.queries,
        )

    def ports(self) -> tuple[Port, ...]:
        return (
            Port("command", "in", self.command_layout, "one decode step"),
            Port(
                "query",
                "in",
                self.beat_layout,
                "lanes elements of Q, already scaled by 1/sqrt(head dimension), lane 0 lowest",
            ),
            Port("kv", "in", self.beat_layout, "a column burst: lanes elements of K or V, lane 0 lowest"),
            Port(
                "result",
                "out",
                self.result_layout,
                "a beat of a tile's partial result: m, then l, then the chunks of O",
            ),
        )

    # Work of a step ----------------------------------------------------------------------------------------------

    def check_step(self, step: Step) -> None:
        """Raise :exc:`ConfigError` if this configuration can't run ``step``."""
        if not 0 <= step.tokens <= self.max_tokens:
            raise ConfigError(f"tokens must be in 0..{self.max_tokens}, not {step.tokens}")
        if not 1 <= step.queries <= self.queries:
            raise ConfigError(f"queries of a step must be in 1..{self.queries}, not {step.queries}")
        if step.scores and not self.scores:
            raise ConfigError("a step of scores alone needs the parameter scores")
        self.check_head_dim(step.head_dim)

    def group_steps(self, tokens: int, head_dim: int, queries: int) -> list[Step]:
        """Steps of a group of ``queries`` queries that share K and V: as few passes as possible, of numbers of queries as
        equal as possible."""
        passes = -(-queries // self.queries)
        return [
            Step(tokens, head_dim, number < passes - 1, queries // passes + (number < queries % passes))
            for number in range(passes)
        ]

    def chunks(self, head_dim: int) -> int:
        """Beats of one query, key or value."""
        return head_dim // self.lanes

    def query_slices(self, head_dim: int) -> list[int]:
        """Beats of each query slice: as many whole buffers as fit, then the rest."""
        chunks = self.chunks(head_dim)
        return [min(self.slice_beats, chunks - first) for first in range(0, chunks, self.slice_beats)]

    def tiles(self, tokens: int) -> list[int]:
        """Tokens of each tile of a step; one empty tile if there is no token."""
        return [min(self.tile_tokens, tokens - first) for first in range(0, tokens, self.tile_tokens)] or [0]

    def key_order(self, count: int, head_dim: int) -> np.ndarray:
        """Order of K within a tile of ``count`` tokens: ``(beats, 2)`` array of (token, chunk).

        Query slice by query slice, token by token, chunk by chunk.
        """
        out, first = [np.empty((0, 2), np.int64)], 0
        for size in self.query_slices(head_dim):
            token, chunk = np.divmod(np.arange(count * size), size)
            out.append(np.stack([token, first + chunk], axis=1))
            first += size
        return np.concatenate(out)

    def value_order(self, count: int, head_dim: int) -> np.ndarray:
        """Order of V within a tile of ``count`` tokens: chunk by chunk, token by token."""
        chunk, token = np.divmod(np.arange(count * self.chunks(head_dim)), max(count, 1))
        return np.stack([token, chunk], axis=1)

    def address(self, beats: np.ndarray, head_dim: int) -> np.ndarray:
        """Place of beats (``BEAT_DTYPE``) in the K or V region of the bank, in beats.

        A tile occupies ``tile_tokens * chunks`` beats in stream order, so reading a full tile is sequential: K by
        (slice, token, chunk), V by (chunk, token). K and V have a region each.
        """
        tile = self.tile_tokens
        token = beats["token"] % tile
        start = np.cumsum([0, *self.query_slices(head_dim)])
        which = np.searchsorted(start, beats["chunk"], side="right") - 1
        first = start[which]
        size = np.asarray([*self.query_slices(head_dim), 0])[which]
        key = first * tile + token * size + (beats["chunk"] - first)
        value = beats["chunk"].astype(np.int64) * tile + token
        return beats["tile"].astype(np.int64) * tile * self.chunks(head_dim) + np.where(beats["value"], value, key)

    def phases(self, steps: Sequence[Step]) -> list[tuple[int, int, int, int]]:
        """Order of tiles for a sequence of steps: ``(step, tile, value, tokens of the tile)``, K phases 0, V phases 1.

        With ``score_tiles`` 2, the K of a tile precedes the V of the tile before it. If ``more`` is set, this holds
        across steps too. With 1, the V of each tile follows its K. An empty tile has both phases, with no beat. A step of
        scores has K phases alone, and the V that waits comes before them.
        """
        order: list[tuple[int, int, int, int]] = []
        waiting: tuple[int, int, int, int] | None = None
        for number, step in enumerate(steps):
            self.check_step(step)
            sizes = self.tiles(step.tokens)
            if step.scores:
                order += [
                    *([waiting] if waiting else []),
                    *((number, tile, 0, count) for tile, count in enumerate(sizes)),
                ]
                waiting = None
                continue
            for tile, count in enumerate(sizes):
                order.append((number, tile, 0, count))
                if waiting:
                    order.append(waiting)
                waiting = (number, tile, 1, count)
                last = tile == len(sizes) - 1
                if self.score_tiles == 1 or (last and not step.more):
                    order.append(waiting)
                    waiting = None
        if waiting:
            raise ConfigError("the last step must not have 'more': nothing would come before the V of its last tile")
        return order

    def beats(self, steps: Sequence[Step]) -> np.ndarray:
        """Every K and V beat of a sequence of steps in stream order, as an array of ``BEAT_DTYPE``."""
        out = [np.empty(0, BEAT_DTYPE)]
        for number, tile, value, count in self.phases(steps):
            dim = steps[number].head_dim
            pairs = self.value_order(count, dim) if value else self.key_order(count, dim)
            block = np.empty(len(pairs), BEAT_DTYPE)
            block["step"], block["tile"], block["value"] = number, tile, value
            block["token"] = tile * self.tile_tokens + pairs[:, 0]
            block["chunk"] = pairs[:, 1]
            out.append(block)
        return np.concatenate(out)

    def query_order(self, steps: Sequence[Step]) -> np.ndarray:
        """Beats of Q in the order in which the unit takes them: ``(beats, 3)`` array of (step, chunk, query).

        Chunk by chunk, and query by query within a chunk. A query that fits is taken once per step; a query in several
        slices is taken again for every tile. A step without tokens takes none.
        """
        out = [np.empty((0, 3), np.int64)]
        for number, step in enumerate(steps):
            chunks = self.chunks(step.head_dim)
            times = 0 if not step.tokens else 1 if chunks <= self.slice_beats else len(self.tiles(step.tokens))
            chunk, query = np.divmod(np.arange(chunks * step.queries), step.queries)
            once = np.stack([np.full(len(chunk), number), chunk, query], axis=1)
            out.append(np.tile(once, (times, 1)))
        return np.concatenate(out)


#: Section 5.2.1 (lanes, buffer), section 7.1 (clocks). pam-ddr: the 128-byte buffer holds a query slice of 32 elements
#: (64 B), 16 scores (32 B) and 16 output elements (32 B). Every preset has 12 places for output beats, skid included: as
#: many as the pipeline has in flight, so that tiles of a single token do not stall P V. pam-hbm-gqa4 and pam-hbm-gqa8 are
#: no units of the paper: they are pam-hbm with 256 bytes for each of 4 and 8 queries that share K and V. pam-hbm-gqa8-m2
#: has two multipliers in each lane, as two of pam-hbm-gqa4 side by side.
PRESETS: dict[str, PamPuConfig] = {
    "pam-hbm": PamPuConfig(output_skid_beats=4),
    "pam-ddr": PamPuConfig(
        lanes=4,
        buffer_bytes=128,
        query_bytes=64,
        tile_tokens=16,
        score_tiles=1,
        score_format="fp16",
        score_storage="buffer",
        output_skid_beats=8,
        clock_mhz=500.0,
    ),
    "pam-ssd": PamPuConfig(output_skid_beats=4, clock_mhz=1000.0),
    "pam-hbm-gqa4": PamPuConfig(queries=4, query_bytes=1024, buffer_bytes=1280, output_skid_beats=4),
    "pam-hbm-gqa8": PamPuConfig(queries=8, query_bytes=2048, buffer_bytes=2304, output_skid_beats=4),
    "pam-hbm-gqa8-m2": PamPuConfig(
        queries=8, multipliers_per_lane=2, query_bytes=2048, buffer_bytes=2560, output_skid_beats=4
    ),
}


class PamPuTiming(MemoryTiming):
    """The measured step with data that arrive at the cycles of a memory."""

    memory_cycles: int = Key(description="clocks of the memory for its commands alone")
    commands: dict[str, int] = Key(description="commands of the memory by name")
    energy_pj: float | None = Key(description="of one channel of the memory; null if the memory states none")
    exposed_softmax_cycles: int = Key(description="clocks in which the first V beat of a tile waited for its softmax")
    burst_utilisation: float = Key(description="time of the same reads at the memory's own pace over `time_ns`")


class PamPuResult(RateResult, NumericResult):
    """Measurements of the bench of ``pam-pu``."""

    cycles: int = Key(description="from the first accepted K or V beat of the step to its last result beat")
    ideal_cycles: int = Key(
        description="K and V beats times queries over `multipliers_per_lane`: every multiplier works in every clock"
    )
    stall_cycles: int = Key(
        description="clocks in which a K or V beat was offered within a phase and not taken, except "
        "while the beat before meets further queries"
    )
    key_stall_cycles: int = Key(description="stall cycles with K beats")
    value_stall_cycles: int = Key(description="stall cycles with V beats")
    exposed_softmax_cycles: int = Key(description="clocks in which the first V beat of a tile waited for its softmax")
    queries: int = Key(default=1, description="queries of the step, which share each K and V beat")
    beats_per_clock: float = Key(description="K and V beats accepted per clock in the streaming phases")
    softmax_gap_cycles: int = Key(
        description="from the last K beat of a tile to its first V beat, when nothing hides it"
    )
    drain_cycles: int = Key(description="from the last V beat to the last result beat")
    max_abs_error: float = Key(description="of the merged output against attention in binary64")
    memory_timing: PamPuTiming = Key(description="the same step with data at the cycles of the memory")

    def figures(self, workload: Mapping[str, Any]) -> list[Row]:
        return [
            *super().figures(workload),
            (
                "step",
                f"{workload['tokens']} tokens, head dimension {workload['head_dim']}"
                + (f", {self.queries} queries" if self.queries > 1 else ""),
            ),
            ("waiting", f"{self.stall_cycles} stall cycles, {self.exposed_softmax_cycles} for softmax"),
            self.memory_timing.row,
            ("latency", f"softmax {self.softmax_gap_cycles} cycles, drain {self.drain_cycles} cycles"),
        ]


#: Memory of a tier with units at its banks, by the second word of a preset.
MEMORIES = {"hbm": "hbm3-5.2", "ddr": "ddr4-3200"}

UNIT = Unit(
    "pam-pu",
    "local-attention processing unit beside a memory bank",
    "PAM (MICRO 2025) section 5.2.1",
    module="pam_pu",
    config=PamPuConfig,
    presets=PRESETS,
    generator="bankside.gen.pam.pu:PamPu",
    model="bankside.models.pam.pu:group_partials",
    bench="bankside.cosim.pam.pu:bench",
    page="docs/pam/pu.md",
    workload=AttentionWorkload,
    result=PamPuResult,
    program="bankside.models.pam.program:attention_program",
    memories={name: MEMORIES[name.split("-")[1]] for name in PRESETS if name.split("-")[1] in MEMORIES},
    trial=Trial(
        {
            "lanes": 4,
            "buffer_bytes": 48,
            "query_bytes": 32,
            "tile_tokens": 4,
            "max_head_dim": 16,
            "max_tokens": 255,
            "format": "bf16",
            "acc_format": "bf16",
            "score_format": "bf16",
        },
        {"tokens": 9, "head_dim": 8},
    ),
)
