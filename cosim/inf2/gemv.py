"""Bench of ``inf2-gemv``: scores and attention outputs, compared bit for bit with the functional model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...constraints.inf2.gemv import Gemv, GemvMode, GemvPaced, GemvPoint, GemvWorkload, Inf2GemvConfig, Inf2GemvResult
from ...constraints.memory import Memory, load_memory
from ...models.inf2.gemv import gemv, reference
from ...models.memory.streams import stream_arrivals
from ...models.numerics import from_float64, to_float64
from ..bench.campaign import Campaign, Played, Stimulus, play_stimulus
from ..bench.request import SimRequest
from ..bench.streams import EpochLog, Items
from ..pam.pu import special_numbers

__all__ = ["Episode", "Outcome", "bench", "points", "random_episode", "simulate", "stimulus", "stress_episodes"]

#: Kinds of random data.
KINDS = ("normal", "wide", "bits", "special")
#: Head dimensions and token counts that are measured too.
HEAD_DIMS, TOKENS = (32, 64, 80, 96, 128, 160, 256), (1, 31, 32, 33, 1024)


@dataclass
class Episode:
    """Commands that follow each other.

    Attributes
    ----------
    vectors : of every command, bits: the query or the probabilities
    matrices : of every command, bits of shape ``(tokens, head_dim)``
    memory : a memory at whose cycles the rows come; None: at every clock
    """

    commands: list[Gemv]
    vectors: list[np.ndarray]
    matrices: list[np.ndarray]
    memory: Memory | None = None


@dataclass
class Outcome(Played):
    """Outcome of a simulation of episodes, with the error of all outputs against binary64."""

    config: Inf2GemvConfig = field(kw_only=True)
    episodes: list[Episode] = field(kw_only=True)
    max_abs_error: float = field(kw_only=True)
    rms_error: float = field(kw_only=True)

    @property
    def matrices(self) -> list[str]:
        return [f"matrix_{n}" for n in range(self.config.blocks)]

    def point(self, number: int) -> GemvPoint:
        """Figures of an episode whose commands are equal."""
        log, commands = self.run.epochs[number], self.episodes[number].commands
        one = commands[0]
        config = self.config
        first, row_cycles = log.first_of(self.matrices), _busiest(log, self.matrices)
        ideal = -(-len(commands) * one.tokens * one.head_dim // (config.blocks * config.lanes))
        cycles = log.end_cycle - first + 1
        return GemvPoint(
            mode="sv" if one.mode is GemvMode.SV else "qk",
            tokens=one.tokens,
            head_dim=one.head_dim,
            commands=len(commands),
            cycles=cycles,
            row_cycles=row_cycles,
            ideal_cycles=ideal,
            utilisation=round(ideal / cycles, 6),
            steady=round(ideal / row_cycles, 6),
        )

    def paced(self, number: int) -> GemvPaced:
        """Figures of an episode whose commands are equal, and whose rows came from a memory."""
        episode, point, log = self.episodes[number], self.point(number), self.run.epochs[number]
        assert episode.memory is not None
        words = len(episode.commands) * point.tokens * self.config.tiles(point.head_dim)
        came = stream_arrivals(episode.memory, words, self.config.word_bytes)
        clocks = log.last_of(self.matrices) - log.first_of(self.matrices) + 1
        there = sum(int(counts[name].sum()) for counts in (log.moved, log.stalled) for name in self.matrices)
        share = there / (clocks * self.config.blocks)
        return GemvPaced(
            **point.model_dump(exclude={"row_cycles", "steady"}),
            memory=episode.memory.name,
            time_ns=round(point.cycles / self.config.clock_mhz * 1e3, 3),
            memory_time_ns=round(float(came[-1] - came[0]) * 1e-3, 3),
            stall_cycles=self.stall_cycles(number),
            rows_per_clock=round((words - 1) / max(clocks - 1, 1), 6),
            mac_share=round(share, 6),
            memory_share=round(1 - share, 6),
        )

    def stall_cycles(self, number: int) -> int:
        log = self.run.epochs[number]
        return int(sum(log.stalled[name].sum() for name in self.matrices))


def _busiest(log: EpochLog, names: Sequence[str]) -> int:
    """Clocks from the first to the last row of the block that takes longest."""
    return max(log.last_of([name]) - log.first_of([name]) + 1 for name in names if log.moved[name].any())


def stimulus(config: Inf2GemvConfig, episodes: Sequence[Episode]) -> Stimulus:
    """Commands, vectors and rows of episodes, and the results of the model."""
    commands = [command for episode in episodes for command in episode.commands]
    vectors = [one for episode in episodes for one in episode.vectors]
    matrices = [one for episode in episodes for one in episode.matrices]
    epochs = np.repeat(np.arange(len(episodes)), [len(episode.commands) for episode in episodes])
    lanes = config.lanes
    cycles = np.concatenate([_arrivals(config, episode) for episode in episodes])
    items = {
        "command": Items.of(
            config.command_layout.pack(
                mode=np.array([c.mode for c in commands], np.int64),
                tokens=np.array([c.tokens for c in commands], np.int64),
                head_dim=np.array([c.head_dim for c in commands], np.int64),
            ),
            epoch=epochs,
        )
    }

    beats = [_filled(config, one, config.tiles(len(one)) * lanes).reshape(-1, lanes) for one in vectors]
    wide = [
        _filled(config, one.T, config.tiles(one.shape[1]) * lanes).T.reshape(len(one), -1, lanes) for one in matrices
    ]
    for block in range(config.blocks):
        which = config.block_vectors(commands, block)
        given = np.array([beats[command][beat] for command, beat in which], np.int64).reshape(-1, lanes)
        items[f"vector_{block}"] = Items.of(config.beat_layout.pack({"": given}), epoch=epochs[which[:, 0]])
        rows = config.block_rows(commands, block)
        given = np.empty((len(rows), lanes), np.int64)
        for number in np.unique(rows["command"]):
            mine = rows["command"] == number
            given[mine] = wide[number][rows["token"][mine], rows["dim"][mine] // lanes]
        items[f"matrix_{block}"] = Items.of(
            config.beat_layout.pack({"": given}),
            epoch=epochs[rows["command"]],
            cycle=cycles[config.word_places(commands, rows)],
        )

    results = [gemv(config, *one).reshape(-1, lanes) for one in zip(commands, vectors, matrices, strict=True)]
    last = np.concatenate([np.arange(len(one)) == len(one) - 1 for one in results]).astype(np.int64)
    expected = config.result_layout.pack(data=np.concatenate(results), last=last)
    counts = np.array([config.tiles(c.outputs) for c in commands])
    targets = np.bincount(epochs, counts, len(episodes)).astype(np.int64)

    def part(_: str, epoch: int, at: int) -> str:
        for number in np.flatnonzero(epochs == epoch):
            if at < counts[number]:
                c = commands[number]
                return f"command {number} ({c.mode.name}, {c.tokens} tokens, head dimension {c.head_dim}), beat {at}"
            at -= int(counts[number])
        raise IndexError(at)

    return Stimulus(items, {"result": expected}, {"result": targets}, part=part)


def _arrivals(config: Inf2GemvConfig, episode: Episode) -> np.ndarray:
    """Cycles of the episode at which its rows come, in the order in which a memory is read."""
    words = sum(command.tokens * config.tiles(command.head_dim) for command in episode.commands)
    if episode.memory is None:
        return np.zeros(words, np.int64)
    came = stream_arrivals(episode.memory, words, config.word_bytes)
    return np.ceil(came * config.clock_mhz * 1e-6 - 1e-9).astype(np.int64)


def _filled(config: Inf2GemvConfig, array: np.ndarray, size: int) -> np.ndarray:
    """An array with further rows up to ``size``. The unit must not use them: they are all ones, which is a NaN."""
    out = np.full((size, *array.shape[1:]), (1 << config.io.width) - 1, np.int64)
    out[: len(array)] = array
    return out


def simulate(
    config: Inf2GemvConfig, verilog: str, episodes: Sequence[Episode], *, top: str = "inf2_gemv", **options: Any
) -> Outcome:
    """Run episodes through the RTL and compare every result beat with the functional model. ``options`` and errors are
    as of :func:`play_stimulus`."""
    played = play_stimulus(config, verilog, top, stimulus(config, episodes), **options)
    errors = [np.zeros(0)]
    for episode in episodes:
        for command, vector, matrix in zip(episode.commands, episode.vectors, episode.matrices, strict=True):
            with np.errstate(all="ignore"):
                got = to_float64(gemv(config, command, vector, matrix)[: command.outputs], config.io)
                error = np.abs(got - reference(config, command, vector, matrix))
            errors.append(error if np.isfinite(error).all() else np.zeros(0))
    error = np.concatenate(errors)
    return Outcome(
        **vars(played),
        config=config,
        episodes=list(episodes),
        max_abs_error=float(error.max(initial=0.0)),
        rms_error=float(np.sqrt(np.mean(error**2))) if len(error) else 0.0,
    )


def random_episode(
    config: Inf2GemvConfig,
    commands: Sequence[Gemv],
    rng: np.random.Generator,
    *,
    kind: str = "normal",
    memory: Memory | None = None,
) -> Episode:
    """Random data for commands, whose rows a memory brings, of one ``kind``:

    - ``normal`` (as in a language model: unit-variance K and V, a query scaled by 1/sqrt(head_dim), probabilities)
    - ``wide`` (magnitudes over the whole range)
    - ``bits`` (any bit pattern, NaN and infinities included)
    - ``special`` (corner values only)
    """
    io = config.io

    def draw(shape: tuple[int, ...]) -> np.ndarray:
        if kind == "bits":
            return rng.integers(0, 1 << io.width, shape)
        if kind == "special":
            return rng.choice(special_numbers(io), shape)
        value = rng.normal(size=shape)
        if kind == "wide":
            value = value * 2.0 ** rng.uniform(1 - io.bias - io.fraction_bits, io.bias, shape)
        return from_float64(value, io)

    vectors = []
    for command in commands:
        if kind != "normal":
            vectors.append(draw((command.terms,)))
        elif command.mode is GemvMode.QK:
            vectors.append(from_float64(rng.normal(size=command.terms) * command.terms**-0.5, io))
        else:
            weights = np.exp(rng.normal(size=command.terms))
            vectors.append(from_float64(weights / weights.sum(), io))
    return Episode(list(commands), vectors, [draw((c.tokens, c.head_dim)) for c in commands], memory)


def stress_episodes(config: Inf2GemvConfig, rng: np.random.Generator, count: int) -> list[Episode]:
    """Small random commands of both modes and all kinds of data: sizes around tile borders."""
    lanes = config.lanes
    sizes = sorted({1, 2, lanes - 1, lanes, lanes + 1, 2 * lanes + 3, 4 * lanes, 5 * lanes, 9 * lanes - 1})
    tokens = [n for n in sizes if 1 <= n <= config.max_tokens]
    dims = [n for n in sorted({*sizes, config.max_head_dim}) if 1 <= n <= config.max_head_dim]
    return [
        random_episode(
            config,
            [
                Gemv(GemvMode(int(rng.integers(2))), int(rng.choice(tokens)), int(rng.choice(dims)))
                for _ in range(int(rng.integers(1, 6)))
            ],
            rng,
            kind=KINDS[number % len(KINDS)],
        )
        for number in range(count)
    ]


def points(config: Inf2GemvConfig, commands: int) -> list[list[Gemv]]:
    """Commands of every measured mode, head dimension and token count."""
    return [
        [Gemv(mode, tokens, dim)] * commands
        for mode in GemvMode
        for dim in HEAD_DIMS
        for tokens in TOKENS
        if dim <= config.max_head_dim and tokens <= config.max_tokens
    ]


def bench(request: SimRequest) -> Inf2GemvResult:
    """Run the whole bench of ``inf2-gemv``. Each run is compared beat by beat:

    - the measured commands of both modes, and commands of other sizes, at full rate
    - the measured commands with rows at the cycles of a memory, also at other head dimensions
    - small random commands with all kinds of data and stalls on every stream
    - the same with a result that becomes ready only after it was valid
    - the same from random registers, with resets
    """
    config, rng = request.config, np.random.default_rng(request.seed)
    workload: GemvWorkload = request.workload
    works = [[Gemv(mode, workload.tokens, workload.head_dim)] * workload.commands for mode in GemvMode]
    works.append([Gemv(GemvMode.QK, min(config.lanes, config.max_tokens), min(config.lanes, config.max_head_dim))])
    if workload.sweep:
        works += points(config, workload.commands)
    campaign = Campaign(
        request, lambda episodes, **options: simulate(config, request.verilog, episodes, top=request.module, **options)
    )
    full = campaign.run("full_rate", [random_episode(config, work, rng) for work in works], waves=True)
    memory = load_memory(workload.memory)
    dims = [workload.head_dim, *(dim for dim in HEAD_DIMS if workload.sweep and dim != workload.head_dim)]
    paced = campaign.run(
        "memory",
        [
            random_episode(config, [Gemv(mode, workload.tokens, dim)] * workload.commands, rng, memory=memory)
            for dim in dims
            if dim <= config.max_head_dim
            for mode in GemvMode
        ],
    )
    campaign.stress(lambda count: stress_episodes(config, rng, count))
    qk, sv, single, *others = (full.point(n) for n in range(len(works)))
    return campaign.result(
        Inf2GemvResult,
        cycles=qk.cycles,
        ideal_cycles=qk.ideal_cycles,
        stall_cycles=full.stall_cycles(0),
        utilisation=qk.utilisation,
        qk=qk,
        sv=sv,
        latency_cycles=single.cycles,
        points=others,
        memory_timing=[paced.paced(number) for number in range(len(paced.episodes))],
        max_abs_error=full.max_abs_error,
        rms_error=full.rms_error,
    )
