"""Bench of ``pam-ru``: merges of partial results, compared bit for bit with the model and in cycles with the ideal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...constraints.core.contract import Layout
from ...constraints.pam.partials import PartialKind
from ...constraints.pam.ru import PamRuConfig, PamRuResult, PamRuWorkload
from ...models.numerics import from_float64, to_float64
from ...models.pam.ru import Partial, Reduced, identity, in_order, merged, reduce_partials
from ..bench.campaign import Campaign, Played, Stimulus, play_stimulus
from ..bench.request import SimRequest
from ..bench.streams import Items
from .partials import beat_name, partial_beats
from .pu import special_numbers

__all__ = [
    "KINDS",
    "Merge",
    "Outcome",
    "commands",
    "drawn_queries",
    "queries_of",
    "random_merge",
    "result_beats",
    "simulate",
    "source_beats",
    "stimulus",
    "stress_merges",
]

#: Tags of input beats: m and l, and O.
HEADER, OUTPUT = range(2)

#: Kinds of random data, see :func:`random_merge`.
KINDS = ("normal", "spread", "bits", "special", "equal", "dominant", "extreme", "rising", "empty", "scaled")


@dataclass
class Merge:
    """One step: the partial results of every source, each with a first axis, and whether the result is normalised.

    With several queries, the partial results have a second axis of that length.

    ``arrival``: per source, first cycle of the episode in which its beats may be offered.
    """

    sources: list[Partial]
    normalise: bool
    arrival: list[int] | None = None

    @property
    def head_dim(self) -> int:
        return int(self.sources[0].o.shape[-1])

    @property
    def queries(self) -> int:
        return queries_of(self.sources[0])

    def partials(self, config: PamRuConfig) -> Partial:
        return in_order(config, self.sources)

    def result(self, config: PamRuConfig) -> Reduced:
        return reduce_partials(config, self.partials(config), normalise=self.normalise)

    def beats(self, config: PamRuConfig) -> int:
        """Beats of O of all partial results, ``lanes`` elements each."""
        return sum(len(s.m) for s in self.sources) * self.queries * (self.head_dim // config.lanes)


@dataclass
class Outcome(Played):
    """Outcome of a simulation of episodes (lists of steps).

    ``cycles`` of an episode count from its first accepted beat to its last result beat. ``merge_cycles`` count to its
    last accepted beat of O. ``ideal_cycles`` are the beats of O of all partial results, one a clock.
    """

    config: PamRuConfig = field(kw_only=True)
    episodes: list[list[Merge]] = field(kw_only=True)
    max_abs_error: float = field(kw_only=True)
    rms_error: float = field(kw_only=True)

    def run_figures(self) -> dict[str, int]:
        return {"cycles": self.cycles}

    def episode_cycles(self, number: int) -> dict[str, int]:
        """Figures of one episode: ``ideal_cycles``, ``cycles``, ``merge_cycles``, ``drain_cycles``."""
        log = self.run.epochs[number]
        names = [f"source_{n}" for n in range(self.config.sources)]
        first, last = log.first_of(names), log.last_of(names)
        return {
            "ideal_cycles": sum(step.beats(self.config) for step in self.episodes[number]),
            "cycles": log.end_cycle - first + 1,
            "merge_cycles": last - first + 1,
            "drain_cycles": log.end_cycle - last,
        }

    @property
    def cycles(self) -> int:
        return sum(self.episode_cycles(n)["cycles"] for n in range(len(self.episodes)))

    @property
    def ideal_cycles(self) -> int:
        return sum(self.episode_cycles(n)["ideal_cycles"] for n in range(len(self.episodes)))


def source_beats(config: PamRuConfig, layout: Layout, source: Partial, *, all_final: bool = True) -> np.ndarray:
    """Payloads of partial results as a source sends them, in beats of ``layout``."""
    return partial_beats(layout, _maxima(config, source), source.l, source.o, all_final=all_final)


def result_beats(config: PamRuConfig, result: Reduced) -> np.ndarray:
    """Payloads of a result as the unit must send it. A normalised result has a logarithm."""
    normalised = result.log_sum is not None
    return partial_beats(
        config.result_layout,
        _maxima(config, result),
        np.atleast_1d(result.log_sum if result.log_sum is not None else result.l),
        result.o[None],
        kind=PartialKind.LOG_SUM if normalised else PartialKind.SUM,
    )


def _maxima(config: PamRuConfig, partial: Partial) -> np.ndarray:
    """Row maxima, each with its scale in the bits above."""
    layout = config.maximum_layout
    return layout.lowest(layout.pack(m=np.ravel(partial.m), scale=np.ravel(partial.scale)), "m", layout.bits)


def queries_of(partial: Partial) -> int:
    """Queries of partial results with a first axis."""
    return np.shape(partial.m)[1] if np.ndim(partial.m) > 1 else 1


def commands(config: PamRuConfig, normalise: Sequence[bool], queries: Sequence[int]) -> np.ndarray:
    """Payloads of steps: whether each is normalised, and its number of queries."""
    several = {"queries": np.array(queries, np.int64)} if config.queries > 1 else {}
    return config.command_layout.pack(normalise=np.array(normalise, bool), **several)


def stimulus(config: PamRuConfig, episodes: Sequence[Sequence[Merge]], results: Sequence[Reduced]) -> Stimulus:
    """Commands and partial results of episodes. The expected beats are ``results``, the model's results of all their
    steps."""
    items: dict[str, list[Items]] = {port.name: [] for port in config.ports() if port.is_input}
    for number, steps in enumerate(episodes):
        items["command"].append(
            Items.of(
                commands(config, [step.normalise for step in steps], [step.queries for step in steps]), epoch=number
            )
        )
        for step in steps:
            headers = 2 * step.queries
            beats_each = headers + step.queries * (step.head_dim // config.source_lanes)
            for n, source in enumerate(step.sources):
                # ``final`` on the last beat is enough; every other source marks all beats of O, as processing units do.
                beats = source_beats(config, config.source_layout, source, all_final=bool(n % 2))
                tag = np.where(np.arange(len(beats)) % beats_each < headers, HEADER, OUTPUT)
                items[f"source_{n}"].append(
                    Items.of(beats, epoch=number, tag=tag, cycle=step.arrival[n] if step.arrival else 0)
                )

    def part(_: str, number: int, at: int) -> str:
        return beat_name(
            [
                (
                    f"step {n} ({sum(len(x.m) for x in step.sources)} partial results, head dimension {step.head_dim})",
                    step.queries,
                    step.head_dim // config.lanes,
                )
                for n, step in enumerate(episodes[number])
            ],
            at,
        )

    return Stimulus(
        {name: Items.join(parts) for name, parts in items.items()},
        {"result": np.concatenate([result_beats(config, result) for result in results])},
        {
            "result": np.array(
                [sum(step.queries * (2 + step.head_dim // config.lanes) for step in steps) for steps in episodes]
            )
        },
        part=part,
    )


def simulate(
    config: PamRuConfig, verilog: str, episodes: Sequence[Sequence[Merge]], *, top: str = "pam_ru", **options: Any
) -> Outcome:
    """Run episodes (lists of steps that follow each other) through the RTL and compare every result beat with the
    functional model. ``options`` and errors are as of :func:`play_stimulus`."""
    steps = [step for episode in episodes for step in episode]
    for step in steps:
        config.check_head_dim(step.head_dim)
        config.check_queries(step.queries)
    results = [step.result(config) for step in steps]
    played = play_stimulus(config, verilog, top, stimulus(config, episodes, results), **options)
    error = np.concatenate(
        [np.empty(0), *(_error(config, step, result) for step, result in zip(steps, results, strict=True))]
    )
    return Outcome(
        **vars(played),
        config=config,
        episodes=[list(e) for e in episodes],
        max_abs_error=float(error.max(initial=0.0)),
        rms_error=float(np.sqrt(np.mean(error**2))) if len(error) else 0.0,
    )


def _error(config: PamRuConfig, step: Merge, result: Reduced) -> np.ndarray:
    """Absolute error of the normalised output against the merge of the same bits in binary64; empty unless finite."""
    if not step.normalise:
        return np.empty(0)
    with np.errstate(all="ignore"):
        error = np.abs(to_float64(result.o, config.io) - merged(config, step.partials(config)))
    return error.ravel() if np.isfinite(error).all() else np.empty(0)


def random_merge(
    config: PamRuConfig,
    counts: Sequence[int],
    head_dim: int,
    rng: np.random.Generator,
    *,
    normalise: bool = True,
    kind: str = "normal",
    queries: int = 1,
) -> Merge:
    """Random partial results of ``queries`` queries, ``counts`` of each source, of one ``kind``:

    - ``normal`` (as processing units send: scores of unit variance, l from 1 to 32)
    - ``spread`` (maxima tens apart)
    - ``bits`` (any bit pattern, NaN and infinities included)
    - ``special`` (corner values only)
    - ``equal`` (all maxima equal)
    - ``dominant`` (one maximum far above the rest)
    - ``extreme`` (maxima of plus and minus 65504)
    - ``rising`` (every maximum above the one before)
    - ``empty`` (identities, some or all)
    - ``scaled`` (with scales, as reduction units send)
    """
    io, acc, score = config.io, config.acc, config.score
    sources = []
    top = 0
    for count in (number * queries for number in counts):
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
                part[place] = (
                    rng.integers(0, 1 << fmt.width, shape)
                    if kind == "bits"
                    else rng.choice(special_numbers(fmt), shape)
                )
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
    if queries > 1:
        sources = [[part.reshape(-1, queries, *part.shape[1:]) for part in source] for source in sources]
    return Merge([Partial(*part) for part in sources], normalise)


def drawn_queries(config: PamRuConfig, rng: np.random.Generator) -> int:
    """A number of queries that the unit takes."""
    return int(rng.integers(1, config.queries + 1)) if config.queries > 1 else 1


def stress_merges(config: PamRuConfig, rng: np.random.Generator, count: int) -> list[list[Merge]]:
    """Small random episodes of every kind of data: uneven numbers of partial results, all head dimensions, sources that
    arrive at different times."""
    dims = sorted(
        {
            d
            for d in (config.lanes, 2 * config.lanes, 64, 80, 128, config.max_head_dim)
            if d % config.lanes == 0 and d <= config.max_head_dim
        }
    )
    episodes = []
    for number in range(count):
        steps = []
        for place in range(int(rng.integers(1, 4))):
            counts = rng.choice([1, 1, 2, 3, 5], config.sources).tolist()
            step = random_merge(
                config,
                counts,
                int(rng.choice(dims)),
                rng,
                normalise=bool(rng.integers(2)),
                kind=KINDS[(number + place) % len(KINDS)],
                queries=drawn_queries(config, rng),
            )
            step.arrival = rng.integers(0, 120, config.sources).tolist() if number % 2 and not place else None
            steps.append(step)
        episodes.append(steps)
    return episodes


def spread_counts(config: PamRuConfig, partials: int) -> list[int]:
    """Number of partial results of each source: ``partials`` in all, evenly spread. A source that would have none sends
    an identity."""
    return [max(1, partials // config.sources + (n < partials % config.sources)) for n in range(config.sources)]


def bench(request: SimRequest) -> PamRuResult:
    """Run the whole bench of ``pam-ru``. Each run is compared beat by beat:

    - the measured merge with a beat at every clock on every source, normalised, and then the same as a non-final level
    - small random steps of all kinds of data with random stalls on every stream
    - the same with an output that becomes ready only after it was valid
    """
    config, rng = request.config, np.random.default_rng(request.seed)
    workload: PamRuWorkload = request.workload
    workload.check(config)
    main = random_merge(
        config, spread_counts(config, workload.partials), workload.head_dim, rng, queries=config.queries
    )
    level = Merge(main.sources, False)

    campaign = Campaign(
        request, lambda episodes, **options: simulate(config, request.verilog, episodes, top=request.module, **options)
    )
    full = campaign.run("full_rate", [[main], [level], [main, main]], waves=True)
    campaign.stress(lambda count: stress_merges(config, rng, count))
    final, partial, pair = (full.episode_cycles(n) for n in range(3))
    return campaign.result(
        PamRuResult,
        queries=config.queries,
        cycles=final["cycles"],
        ideal_cycles=final["ideal_cycles"],
        stall_cycles=final["merge_cycles"] - final["ideal_cycles"],
        utilisation=round(final["ideal_cycles"] / final["cycles"], 6),
        merge_cycles=final["merge_cycles"],
        merge_utilisation=round(final["ideal_cycles"] / final["merge_cycles"], 6),
        drain_cycles=final["drain_cycles"],
        partial_drain_cycles=partial["drain_cycles"],
        two_steps_cycles=pair["cycles"],
        max_abs_error=full.max_abs_error,
        rms_error=full.rms_error,
    )
