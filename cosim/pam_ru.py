"""Bench of ``pam-ru``: merges of partial results, bit for bit against the functional model, in cycles against the ideal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..constraints.formats import FloatFormat
from ..constraints.units.pam_ru import PamRuConfig
from ..models.numerics import from_float64, to_float64
from ..models.pam.ru import Partial, Reduced, identity, in_order, merged, reduce_partials
from .pam_pu import beat_name, special_numbers
from .request import SimRequest
from .streams import Items, StreamPort, StreamRun, compare, play, verdict

__all__ = ["KINDS", "Merge", "Outcome", "ports", "random_merge", "simulate", "stress_merges"]

#: Tags of input beats: m and l, and O.
HEADER, OUTPUT = range(2)

#: Kinds of beats on the streams.
BEAT_OUTPUT, BEAT_MAXIMUM, BEAT_SUM, BEAT_LOG_SUM = range(4)

#: Kinds of random data, see :func:`random_merge`.
KINDS = ("normal", "spread", "bits", "special", "equal", "dominant", "extreme", "rising", "empty", "scaled")


@dataclass
class Merge:
    """One step: the partial results of every source, each with a first axis, and whether the result is normalised.

    ``arrival``: per source, first cycle of the episode in which its beats may be offered.
    """

    sources: list[Partial]
    normalise: bool
    arrival: list[int] | None = None

    @property
    def head_dim(self) -> int:
        return int(self.sources[0].o.shape[-1])

    def partials(self, config: PamRuConfig) -> Partial:
        return in_order(config, self.sources)

    def result(self, config: PamRuConfig) -> Reduced:
        return reduce_partials(config, self.partials(config), normalise=self.normalise)

    def beats(self, config: PamRuConfig) -> int:
        """Beats of O of all partial results, ``lanes`` elements each."""
        return sum(len(s.m) for s in self.sources) * (self.head_dim // config.lanes)


@dataclass
class Outcome:
    """What a simulation of episodes (lists of steps) showed.

    ``cycles`` of an episode count from its first accepted beat to its last result beat, ``merge_cycles`` to its last
    accepted beat of O; ``ideal_cycles`` are the beats of O of all partial results, one a clock.
    """

    config: PamRuConfig
    episodes: list[list[Merge]]
    run: StreamRun
    vectors: int
    mismatches: int
    first_mismatch: str | None
    max_abs_error: float
    rms_error: float
    notes: list[str] = field(default_factory=list)

    def episode_cycles(self, number: int) -> dict[str, int]:
        """Figures of one episode: ``ideal_cycles``, ``cycles``, ``merge_cycles``, ``drain_cycles``."""
        log = self.run.epochs[number]
        names = [f"source_{n}" for n in range(self.config.sources)]
        first, last = log.first_of(names), log.last_of(names)
        return {"ideal_cycles": sum(step.beats(self.config) for step in self.episodes[number]),
                "cycles": log.end_cycle - first + 1, "merge_cycles": last - first + 1,
                "drain_cycles": log.end_cycle - last}

    @property
    def cycles(self) -> int:
        return sum(self.episode_cycles(n)["cycles"] for n in range(len(self.episodes)))

    @property
    def ideal_cycles(self) -> int:
        return sum(self.episode_cycles(n)["ideal_cycles"] for n in range(len(self.episodes)))


def ports(config: PamRuConfig) -> list[StreamPort]:
    """The unit's streams (widths follow from the configuration as in the generator's layouts)."""
    width = config.io.width
    return [StreamPort("command", 1, True),
            *(StreamPort(f"source_{n}", config.source_lanes * width + 4, True) for n in range(config.sources)),
            StreamPort("result", config.lanes * width + 4, False)]


def partial_beats(partial: Partial, *, lanes: int, io: FloatFormat, score: FloatFormat, scale_bits: int,
                  scalars: np.ndarray, kind: int = BEAT_SUM, final_beats: bool = False) -> np.ndarray:
    """Partial results (with a first axis) as beats: uint8 array, payloads as little-endian bytes.

    ``scalars``: what the second beat carries; ``final_beats``: ``final`` on every beat of the last partial result's O, as
    units send it.
    """
    count, dim = partial.o.shape
    chunks, data_bytes = dim // lanes, lanes * io.width // 8
    size = -(-(lanes * io.width + 4) // 8)
    block = np.zeros((count, 2 + chunks, size), np.uint8)
    scale = (np.asarray(partial.scale) & ((1 << scale_bits) - 1)).astype(np.uint64) << np.uint64(score.width)
    for beat, numbers in ((0, np.asarray(partial.m).astype(np.uint64) | scale), (1, np.asarray(scalars).astype(np.uint64))):
        raw = np.ascontiguousarray(numbers, "<u8").reshape(-1, 1).view(np.uint8)
        used = min(data_bytes, 8)
        block[:, beat, :used] = raw[:, :used]
    elements = np.ascontiguousarray(partial.o.astype(f"<u{io.width // 8}")).view(np.uint8)
    block[:, 2:, :data_bytes] = elements.reshape(count, chunks, data_bytes)
    flags = np.zeros((count, 2 + chunks), np.uint8)  # kind in bits 0 and 1, last in bit 2, final in bit 3
    flags[:, 0], flags[:, 1] = BEAT_MAXIMUM, kind
    flags[:, -1] |= 4
    flags[-1, 2:] |= 8 if final_beats else 0
    flags[-1, -1] |= 8
    block[:, :, data_bytes] = flags
    return block.reshape(-1, size)


def _stimulus(config: PamRuConfig, episodes: Sequence[Sequence[Merge]]) -> dict[str, Items]:
    items: dict[str, list[Items]] = {port.name: [] for port in ports(config) if port.is_input}
    for number, steps in enumerate(episodes):
        flags = np.array([[step.normalise] for step in steps], np.uint8)
        items["command"].append(Items.of(flags, epoch=number))
        for step in steps:
            for n, source in enumerate(step.sources):
                beats = partial_beats(source, lanes=config.source_lanes, io=config.io, score=config.score,
                                      scale_bits=config.scale_bits, scalars=source.l, final_beats=bool(n % 2))
                chunks = 2 + step.head_dim // config.source_lanes
                tag = np.where(np.arange(len(beats)) % chunks < 2, HEADER, OUTPUT)
                items[f"source_{n}"].append(Items.of(beats, epoch=number, tag=tag,
                                                     cycle=step.arrival[n] if step.arrival else 0))
    return {name: Items.join(parts) for name, parts in items.items()}


def _expected(config: PamRuConfig, step: Merge, result: Reduced) -> np.ndarray:
    one = Partial(*(np.asarray(part)[None] for part in (result.m, result.scale, result.l, result.o)))
    scalars = np.atleast_1d(result.log_sum if step.normalise else result.l)  # type: ignore[arg-type]
    return partial_beats(one, lanes=config.lanes, io=config.io, score=config.score, scale_bits=config.scale_bits,
                         scalars=scalars, kind=BEAT_LOG_SUM if step.normalise else BEAT_SUM, final_beats=True)


def simulate(config: PamRuConfig, verilog: str, episodes: Sequence[Sequence[Merge]], *, top: str = "pam_ru",
             stalls: float = 0.0, lazy: bool = False, seed: int = 1, waves: Path | None = None, **options: Any) -> Outcome:
    """Run episodes through the RTL and compare every result beat with the functional model.

    Parameters
    ----------
    verilog : text of the unit, generated for ``config``
    episodes : lists of steps that follow each other
    stalls : probability that an input is withheld, or the output refused, in a clock
    options : ``power_up`` and ``resets`` of :func:`~.streams.play`

    Raises
    ------
    :exc:`CheckFailed`
        If the simulation crashed or hung. Wrong results do not raise: see ``mismatches``.
    """
    for steps in episodes:
        for step in steps:
            config.check_head_dim(step.head_dim)
    items = _stimulus(config, episodes)
    steps = [step for episode in episodes for step in episode]
    results = [step.result(config) for step in steps]
    blocks = [_expected(config, step, result) for step, result in zip(steps, results, strict=True)]
    expected = np.concatenate(blocks)
    targets = np.array([sum(2 + step.head_dim // config.lanes for step in episode) for episode in episodes])
    work = sum(len(block.payload) for block in items.values())
    latest = max(int(block.cycle.max(initial=0)) for block in items.values())
    slack = 1.0 if not stalls else 4.0 / (1.0 - stalls) ** 2
    run = play(verilog, top, ports(config), items, {"result": targets},
               stalls={port.name: stalls for port in ports(config)}, lazy=lazy, seed=seed,
               limit=int(latest + work * 8 * slack + 100_000), waves=waves, **options)
    def part(_: str, number: int, at: int) -> str:
        return beat_name([(f"step {n} ({sum(len(x.m) for x in step.sources)} partial results, head dimension "
                           f"{step.head_dim})", step.head_dim // config.lanes)
                          for n, step in enumerate(episodes[number])], at)

    mismatches, first, notes = compare(run, items, {"result": expected}, {"result": targets}, part=part)
    error = np.concatenate([np.empty(0), *(_error(config, step, result) for step, result in
                                           zip(steps, results, strict=True))])
    return Outcome(config, [list(e) for e in episodes], run, len(expected), mismatches, first,
                   float(error.max(initial=0.0)), float(np.sqrt(np.mean(error**2))) if len(error) else 0.0, notes)


def _error(config: PamRuConfig, step: Merge, result: Reduced) -> np.ndarray:
    """Absolute error of the normalised output against the merge of the same bits in binary64; empty unless finite."""
    if not step.normalise:
        return np.empty(0)
    with np.errstate(all="ignore"):
        error = np.abs(to_float64(result.o, config.io) - merged(config, step.partials(config)))
    return error if np.isfinite(error).all() else np.empty(0)


def random_merge(config: PamRuConfig, counts: Sequence[int], head_dim: int, rng: np.random.Generator, *,
                 normalise: bool = True, kind: str = "normal") -> Merge:
    """Random partial results, ``counts`` of each source.

    ``kind``: ``normal`` (as processing units send: scores of unit variance, l from 1 to 32); ``spread`` (maxima tens
    apart); ``bits`` (any bit pattern, NaN and infinities included); ``special`` (corner values only); ``equal`` (all
    maxima equal); ``dominant`` (one maximum far above the rest); ``extreme`` (maxima of plus and minus 65504);
    ``rising`` (every maximum above the one before); ``empty`` (identities, some or all); ``scaled`` (with scales, as
    reduction units send).
    """
    io, acc, score = config.io, config.acc, config.score
    sources = []
    top = 0
    for count in counts:
        m: np.ndarray = rng.normal(size=count)
        scale = np.zeros(count, np.int64)
        if kind == "spread":
            m = m * 30
        elif kind == "equal":
            m = np.full(count, 1.75)
        elif kind == "extreme":
            m = rng.choice([-65504.0, 65504.0], count)
        elif kind == "rising":
            m = np.arange(top, top + count) * 0.75
            top += count
        l = rng.uniform(1, 32, count)  # noqa: E741
        o = rng.normal(size=(count, head_dim)) * np.sqrt(l)[:, None]
        if kind == "scaled":
            l = rng.uniform(1, 2, count)  # noqa: E741
            scale = rng.integers(-(4 << config.table.fraction_bits), 20 << config.table.fraction_bits, count)
        sources.append([from_float64(m, score), scale, from_float64(l, acc), from_float64(o, io)])
    for part in sources:
        if kind in ("bits", "special"):
            for place, fmt in ((0, score), (2, acc), (3, io)):
                shape = part[place].shape
                part[place] = (rng.integers(0, 1 << fmt.width, shape) if kind == "bits" else
                               rng.choice(special_numbers(fmt), shape))
            half = 1 << (config.scale_bits - 1)
            part[1] = rng.integers(-half, half, part[1].shape) if kind == "bits" else part[1]
        if kind == "empty":
            nothing = identity(config, head_dim)
            gone = rng.random(len(part[0])) < rng.choice([0.5, 1.0])
            for place, value in enumerate((nothing.m, nothing.scale, nothing.l, nothing.o)):
                part[place][gone] = value
    if kind == "dominant":
        chosen = sources[rng.integers(len(sources))]
        chosen[0][rng.integers(len(chosen[0]))] = from_float64(np.asarray(300.0), score)
    return Merge([Partial(*part) for part in sources], normalise)


def stress_merges(config: PamRuConfig, rng: np.random.Generator, count: int) -> list[list[Merge]]:
    """Small random episodes of every kind of data: uneven numbers of partial results, all head dimensions, sources that
    arrive at different times."""
    dims = sorted({d for d in (config.lanes, 2 * config.lanes, 64, 80, 128, config.max_head_dim)
                   if d % config.lanes == 0 and d <= config.max_head_dim})
    episodes = []
    for number in range(count):
        steps = []
        for place in range(int(rng.integers(1, 4))):
            counts = rng.choice([1, 1, 2, 3, 5], config.sources).tolist()
            step = random_merge(config, counts, int(rng.choice(dims)), rng, normalise=bool(rng.integers(2)),
                                kind=KINDS[(number + place) % len(KINDS)])
            step.arrival = rng.integers(0, 120, config.sources).tolist() if number % 2 and not place else None
            steps.append(step)
        episodes.append(steps)
    return episodes


def spread_counts(config: PamRuConfig, partials: int) -> list[int]:
    """So many partial results in all, evenly over the sources; one that would have none sends an identity."""
    return [max(1, partials // config.sources + (n < partials % config.sources)) for n in range(config.sources)]


def bench(request: SimRequest) -> dict[str, Any]:
    """Run the whole bench of ``pam-ru``.

    Three runs, each compared beat by beat: the measured merge with a beat at every clock on every source, normalised, and
    then the same as a non-final level; small random steps of all kinds of data with random stalls on every stream; the
    same with an output that becomes ready only after it was asked to.

    Returns
    -------
    dict with the keys of ``bankside sim --json`` that depend on the unit. ``cycles``, ``ideal_cycles``, ``utilisation`` are
    of the measured merge.
    """
    config, rng = request.config, np.random.default_rng(request.seed)
    partials, head_dim = request.workload["partials"], request.workload["head_dim"]
    config.check_head_dim(head_dim)
    counts = spread_counts(config, partials)
    main = random_merge(config, counts, head_dim, rng)
    level = Merge(main.sources, False)

    def run(name: str, episodes: list[list[Merge]], **options: Any) -> Outcome:
        request.progress(f"simulating: {name}")
        return simulate(config, request.verilog, episodes, top=request.module, seed=request.seed, **options)

    request.progress("building the Verilated model")
    full = run("a beat at every clock", [[main], [level], [main, main]], waves=request.waves)
    stressed = run("random stalls and back-pressure", stress_merges(config, rng, 24), stalls=0.35)
    lazy = run("an output that waits to be asked", stress_merges(config, rng, 12), stalls=0.1, lazy=True)
    outcomes = {"full_rate": full, "stalls": stressed, "lazy_output": lazy}
    final, partial, pair = (full.episode_cycles(n) for n in range(3))
    clocks = sum(o.run.clocks for o in outcomes.values())
    return {
        **verdict(outcomes),
        "cycles": final["cycles"],
        "ideal_cycles": final["ideal_cycles"],
        "stall_cycles": final["merge_cycles"] - final["ideal_cycles"],
        "utilisation": round(final["ideal_cycles"] / final["cycles"], 6),
        "merge_cycles": final["merge_cycles"],
        "merge_utilisation": round(final["ideal_cycles"] / final["merge_cycles"], 6),
        "drain_cycles": final["drain_cycles"],
        "partial_drain_cycles": partial["drain_cycles"],
        "two_steps_cycles": pair["cycles"],
        "max_abs_error": full.max_abs_error,
        "rms_error": full.rms_error,
        "runs": {name: {"vectors": o.vectors, "mismatches": o.mismatches, "cycles": o.cycles, "clocks": o.run.clocks}
                 for name, o in outcomes.items()},
        "waves": str(full.run.waves) if full.run.waves else None,
        "clocks": clocks,
        "clocks_per_second": round(clocks / sum(o.run.seconds for o in outcomes.values())),
    }
