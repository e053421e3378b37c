"""Benches of compositions of PAM's units: a bank group, a slice, an SSD controller, a tree of reduction units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...constraints.memory import load_memory
from ...constraints.pam.bank_group import CompositionResult, CompositionTiming, CompositionWorkload, PamBankGroupConfig
from ...constraints.pam.hbm_slice import PamSliceConfig
from ...constraints.pam.pu import Step
from ...constraints.pam.reduction_tree import PamReductionTreeConfig, TreeResult, TreeWorkload, merger
from ...constraints.pam.ru import PamRuConfig
from ...constraints.pam.ssd_controller import PamSsdControllerConfig
from ...models.memory import time_program
from ...models.numerics import to_float64
from ...models.pam.compositions import group_attention, reduction_tree, slice_attention
from ...models.pam.flash import page_arrivals, page_program
from ...models.pam.pu import attention
from ...models.pam.ru import Partial, Reduced, merged
from ..bench.campaign import Campaign, Contracted, Played, Stimulus, play_stimulus
from ..bench.request import Part, SimRequest
from ..bench.streams import Items
from . import pu as pam_pu
from . import ru as pam_ru
from .partials import beat_name

__all__ = [
    "Decode",
    "Episode",
    "Outcome",
    "answered",
    "bench",
    "memory_arrivals",
    "played",
    "random_decode",
    "random_partials",
    "simulate",
    "spread",
    "stimulus",
    "stress_episodes",
    "tree_bench",
    "tree_simulate",
]

Config = PamBankGroupConfig | PamSsdControllerConfig


@dataclass
class Decode:
    """One step: a query (bits, already scaled) against K and V of every processing unit, each ``(tokens, head_dim)``.

    Several queries that share K and V make ``q`` an array of shape ``(queries, head_dim)``.
    """

    q: np.ndarray
    k: list[np.ndarray]
    v: list[np.ndarray]
    normalise: bool = True

    @property
    def head_dim(self) -> int:
        return self.q.shape[-1]

    @property
    def queries(self) -> int:
        return len(np.atleast_2d(self.q))

    @property
    def tokens(self) -> list[int]:
        return [len(k) for k in self.k]

    def result(self, config: Config) -> Reduced:
        model = slice_attention if isinstance(config, PamSliceConfig) else group_attention
        return model(config, self.q, self.k, self.v, normalise=self.normalise)  # type: ignore[arg-type]


@dataclass
class Episode:
    """Steps that follow each other.

    Attributes
    ----------
    steps : the steps
    more : for each step whether it is chained to the next one (``Step.more``)
    arrival : optional: for each stream of K and V (bank or flash channel) the first cycle in which each beat may be offered
    """

    steps: list[Decode]
    more: list[bool] = field(default_factory=list)
    arrival: list[np.ndarray] | None = None

    def of_unit(self, unit: int) -> pam_pu.Episode:
        """The episode as one processing unit sees it."""
        more = self.more or [False] * len(self.steps)
        steps = [
            Step(len(s.k[unit]), s.head_dim, chained, s.queries) for s, chained in zip(self.steps, more, strict=True)
        ]
        return pam_pu.Episode(
            steps, [s.q for s in self.steps], [s.k[unit] for s in self.steps], [s.v[unit] for s in self.steps]
        )


@dataclass
class Outcome(Played):
    """Outcome of a simulation; ``feeds`` are the streams of K and V (in a tree, its sources)."""

    expected: list[Reduced] = field(kw_only=True)
    feeds: list[str] = field(kw_only=True)

    def run_figures(self) -> dict[str, int]:
        return {"cycles": sum(self.cycles(number) for number in range(len(self.run.epochs)))}

    def cycles(self, number: int) -> int:
        """Cycles from the first beat of K to the last beat of the result."""
        log = self.run.epochs[number]
        return log.end_cycle - log.first_of(self.feeds) + 1

    def drain_cycles(self, number: int) -> int:
        """Cycles from the last beat of V to the last beat of the result."""
        log = self.run.epochs[number]
        return log.end_cycle - log.last_of(self.feeds)

    def ideal_cycles(self, number: int) -> int:
        """Beats of the busiest stream of K and V."""
        log = self.run.epochs[number]
        return int(max(log.moved[name].sum() for name in self.feeds))

    def stall_cycles(self, number: int, held: int = 0) -> int:
        """Clocks in which a stream offered a beat within a phase that was not taken, for the stream with the most.

        ``held``: clocks that each beat stays for further queries, in which the next beat waits. They do not count.
        """
        log = self.run.epochs[number]
        return int(
            max((log.stalled[name] - held * log.moved[name])[[pam_pu.KEY, pam_pu.VALUE]].sum() for name in self.feeds)
        )


def _feeds(config: Config) -> list[str]:
    """Streams of K and V."""
    if isinstance(config, PamSsdControllerConfig):
        return [f"data_{c}" for c in range(config.groups)]
    return [port.name for port in config.feeds()]


def stimulus(config: Config, episodes: Sequence[Episode], results: Sequence[Reduced]) -> Stimulus:
    """Commands, queries, keys and values of episodes. The expected beats are ``results``, the model's results of all
    their steps."""
    items: dict[str, list[Items]] = {port.name: [] for port in config.ports() if port.is_input}
    for number, episode in enumerate(episodes):
        items["command"].append(Items.of(_commands(config, episode), epoch=number))
        items["query"].append(Items.of(_queries(config, episode), epoch=number))
        merges = pam_ru.commands(
            config.reduction, [step.normalise for step in episode.steps], [step.queries for step in episode.steps]
        )
        items["merge"].append(Items.of(merges, epoch=number))
        if isinstance(config, PamSsdControllerConfig):
            _pages(config, episode, number, items)
        else:
            for unit in range(config.units):
                seen = episode.of_unit(unit)
                seen.arrival = episode.arrival[unit] if episode.arrival is not None else None
                items[f"kv_{unit}"].append(pam_pu.kv_items(config.processing, seen, number))
    return answered(
        config.reduction,
        {name: Items.join(parts) for name, parts in items.items()},
        [len(episode.steps) for episode in episodes],
        results,
    )


def _commands(config: Config, episode: Episode) -> np.ndarray:
    """Payloads of commands. Units with equal steps are selected together, units with most tokens first."""
    rows, select = [], []
    for step, chained in zip(episode.steps, episode.more or [False] * len(episode.steps), strict=True):
        tokens, chunks = np.array(step.tokens), config.processing.chunks(step.head_dim)
        for count in np.unique(tokens)[::-1].tolist():
            rows.append((count, chunks, chained, step.queries))
            select.append(tokens == count)
    count, chunks, more, queries = np.array(rows, np.int64).T
    several = {"queries": queries} if config.processing.queries > 1 else {}
    return config.command_layout.pack(tokens=count, chunks=chunks, more=more, select=np.stack(select), **several)


def _queries(config: Config, episode: Episode) -> np.ndarray:
    """Payloads of queries. A query in several slices goes anew to the units that have another tile."""
    processing = config.processing
    data, select = [np.empty((0, processing.lanes), np.int64)], [np.empty((0, config.units), bool)]
    for step in episode.steps:
        # A query that fits is taken once, whatever the number of tokens.
        once = processing.query_order([Step(min(1, max(step.tokens)), step.head_dim, queries=step.queries)])
        fits = processing.chunks(step.head_dim) <= processing.slice_beats
        times = np.array([0 if not n else 1 if fits else len(processing.tiles(n)) for n in step.tokens])
        beats = step.q.reshape(step.queries, -1, processing.lanes)[once[:, 2], once[:, 1]]
        for turn in range(int(times.max())):
            data.append(beats)
            select.append(np.tile(times > turn, (len(beats), 1)))
    return config.query_layout.pack(data=np.concatenate(data), select=np.concatenate(select))


def _pages(config: PamSsdControllerConfig, episode: Episode, number: int, items: dict[str, list[Items]]) -> None:
    processing, each = config.processing, config.reduction.sources
    for c in range(config.groups):
        announced, beats = [], [np.empty((0, processing.lanes), np.int64)]
        for step in episode.steps:
            mine = slice(c * each, (c + 1) * each)
            for unit, tile, count in config.pages(step.tokens[mine]):
                rows = slice(tile * processing.tile_tokens, tile * processing.tile_tokens + count)
                both = np.stack([step.k[mine][unit][rows], step.v[mine][unit][rows]], axis=1)
                announced.append((count, processing.chunks(step.head_dim), unit))
                beats.append(both.reshape(-1, processing.lanes))
        tokens, chunks, units = np.array(announced, np.int64).reshape(-1, 3).T
        items[f"page_{c}"].append(
            Items.of(config.page_layout.pack(tokens=tokens, chunks=chunks, unit=units), epoch=number)
        )
        items[f"data_{c}"].append(
            Items.of(
                processing.beat_layout.pack({"": np.concatenate(beats)}),
                epoch=number,
                cycle=episode.arrival[c] if episode.arrival is not None else 0,
            )
        )


def answered(
    unit: PamRuConfig, items: Mapping[str, Items], steps: Sequence[int], results: Sequence[Reduced]
) -> Stimulus:
    """The ``items``, and the beats of ``results`` that the final reduction unit ``unit`` must send for them. Each epoch
    has its number of ``steps``."""
    blocks = [pam_ru.result_beats(unit, result) for result in results]
    first = np.cumsum([0, *steps])

    def part(_: str, number: int, at: int) -> str:
        mine = results[first[number] : first[number + 1]]
        return beat_name(
            [(f"step {n}", np.size(result.m), result.o.shape[-1] // unit.lanes) for n, result in enumerate(mine)], at
        )

    targets = [sum(map(len, blocks[a:b])) for a, b in zip(first[:-1], first[1:], strict=True)]
    return Stimulus(items, {"result": np.concatenate(blocks)}, {"result": np.array(targets)}, part=part)


def played(
    config: Contracted,
    verilog: str,
    top: str,
    stimulus: Stimulus,
    results: Sequence[Reduced],
    feeds: list[str],
    **options: Any,
) -> Outcome:
    """Play a stimulus to the RTL. ``options`` and errors are as of :func:`play_stimulus`."""
    return Outcome(
        **vars(play_stimulus(config, verilog, top, stimulus, **options)), expected=list(results), feeds=feeds
    )


def simulate(config: Config, verilog: str, episodes: Sequence[Episode], *, top: str, **options: Any) -> Outcome:
    """Run episodes through the RTL of a bank group, slice or SSD controller. Every beat is compared with the functional
    model. ``options`` and errors are as of :func:`play_stimulus`."""
    steps = [step for episode in episodes for step in episode.steps]
    for step in steps:
        config.reduction.check_head_dim(step.head_dim)
        for count in step.tokens:
            config.processing.check_step(Step(count, step.head_dim, queries=step.queries))
    results = [step.result(config) for step in steps]
    return played(config, verilog, top, stimulus(config, episodes, results), results, _feeds(config), **options)


# ---- Data ---------------------------------------------------------------------------------------------------------------


def random_decode(
    config: Config,
    tokens: Sequence[int],
    head_dim: int,
    rng: np.random.Generator,
    *,
    kind: str = "normal",
    normalise: bool = True,
    queries: int = 1,
) -> Decode:
    """A step with the given number of tokens of every unit. Data are as :func:`bankside.cosim.pam.pu.random_episode`
    makes them."""
    whole = pam_pu.random_episode(
        config.processing, [Step(int(sum(tokens)), head_dim, queries=queries)], rng, kind=kind
    )
    cuts = np.cumsum(tokens)[:-1]
    return Decode(whole.q[0], np.split(whole.k[0], cuts), np.split(whole.v[0], cuts), normalise)


def stress_episodes(config: Config, rng: np.random.Generator, count: int) -> list[Episode]:
    """Small random steps of every kind of data:

    - units without a token, with one token, with tokens around tile borders
    - final and inner levels
    - chained steps where the units take K of a tile before V of the tile before
    - every number of queries that the units take
    """
    tile, lanes = config.processing.tile_tokens, config.reduction.lanes
    sizes = sorted({0, 1, 2, tile, tile + 1, 2 * tile + 1})
    top = min(config.max_head_dim, 8 * lanes)
    dims = [d for d in (lanes, top // 2, top) if d and d % lanes == 0 and d % config.processing.lanes == 0]
    kinds = ("normal", "wide", "bits", "special", "equal", "dominant")
    episodes = []
    for number in range(count):
        steps = []
        for place in range(int(rng.integers(1, 4))):
            # Either some units idle and the others have the same number, or each has another number.
            tokens = (
                rng.choice(sizes, config.units)
                if number % 3
                else np.full(config.units, rng.choice(sizes)) * (rng.random(config.units) < 0.5)
            )
            steps.append(
                random_decode(
                    config,
                    tokens.tolist(),
                    int(rng.choice(dims)),
                    rng,
                    kind=kinds[(number + place) % 6],
                    normalise=bool(rng.integers(2)),
                    queries=pam_ru.drawn_queries(config.reduction, rng),
                )
            )
        chained = not isinstance(config, PamSsdControllerConfig)
        more = [bool(rng.integers(2)) and chained and may_chain(config, step) for step in steps[:-1]] + [False]
        episodes.append(Episode(steps, more))
    alone = np.zeros(config.units, int)
    alone[rng.integers(config.units)] = 1
    corners = [alone.tolist(), [0] * config.units]  # one token in all, none
    return episodes + [
        Episode([random_decode(config, tokens, dims[-1], rng, queries=config.reduction.queries)]) for tokens in corners
    ]


def may_chain(config: Config, step: Decode) -> bool:
    """Whether the next step may be chained to this one: K of the next one precedes V of this one's last tile.

    A unit with few tiles then needs the next query, which goes to all units at once. A unit with many tiles has no room
    for it before its own last tile. With several queries, its results wait in the unit until their turn. So the numbers
    of tiles may differ by one at most. With one query, a unit may be two tiles ahead.
    """
    tiles = [len(config.processing.tiles(count)) for count in step.tokens]
    return max(tiles) - min(tiles) <= (1 if config.processing.queries > 1 else 2)


def spread(config: Config, tokens: int) -> list[int]:
    """Tokens of each unit: evenly over banks, page by page over the units of all channels."""
    if not isinstance(config, PamSsdControllerConfig):
        return [tokens // config.units + (n < tokens % config.units) for n in range(config.units)]
    each, tile = config.reduction.sources, config.processing.tile_tokens
    counts = np.zeros((config.groups, each), int)
    for page in range(-(-tokens // tile)):
        turn, channel = divmod(page, config.groups)
        counts[channel, turn % each] += min(tile, tokens - page * tile)
    return counts.reshape(-1).tolist()


def memory_arrivals(unit: Part | SimRequest, memory: str, step: Decode) -> tuple[float, list[np.ndarray]]:
    """Time of the memory's program in ns. Also, for each stream of K and V, the clock cycle from which each beat is
    available."""
    config: Config = unit.config
    processing, counts = config.processing, step.tokens
    if isinstance(config, PamSsdControllerConfig):
        device, each = load_memory(memory), config.reduction.sources
        nanoseconds, arrivals = 0.0, []
        for c in range(config.groups):
            pages = [count for _, _, count in config.pages(counts[c * each : (c + 1) * each])]
            sizes = [2 * count * step.head_dim * processing.io.width // 8 for count in pages]
            timing = time_program(page_program(device, sizes), device)
            nanoseconds = max(nanoseconds, float(timing.time_ns))
            cycles = page_arrivals(device, sizes, processing.beat_bytes, timing)
            arrivals.append(np.ceil(cycles * device.clock_ps * config.clock_mhz / 1e6 - 1e-9).astype(np.int64))
        return nanoseconds, arrivals
    device = load_memory(memory)
    gap_cycles = int(np.ceil(unit.latency["last_k_to_first_v"] / processing.clock_mhz * 1e6 / device.clock_ps))
    # All banks read the same rows. A bank with fewer tokens drops the data that its neighbours read for their last.
    timings = {
        count: pam_pu.measured_timing(
            processing, memory, [Step(count, step.head_dim, queries=step.queries)], gap_cycles=gap_cycles
        )
        for count in set(counts)
    }
    return float(timings[max(counts)][0].time_ns), [timings[count][1] for count in counts]


# ---- Benches ------------------------------------------------------------------------------------------------------------


def bench(request: SimRequest) -> CompositionResult:
    """Run the whole bench of a bank group, a slice or an SSD controller. It has five runs, each compared beat by beat:

    - the measured step with data at every clock
    - the same with data at the cycles that the memory's timing gives
    - small random steps of all kinds of data with random stalls on every stream
    - the same with an output that becomes ready only after it was valid
    - the same from random registers with resets at random clocks
    """
    config, rng = request.config, np.random.default_rng(request.seed)
    workload: CompositionWorkload = request.workload
    workload.check(config)
    device = load_memory(workload.memory)
    queries = config.processing.queries
    clocks = config.processing.burst_clocks(queries)
    main = random_decode(config, spread(config, workload.tokens), workload.head_dim, rng, queries=queries)
    nanoseconds, arrivals = memory_arrivals(request, workload.memory, main)

    campaign = Campaign(
        request, lambda episodes, **options: simulate(config, request.verilog, episodes, top=request.module, **options)
    )
    full = campaign.run("full_rate", [Episode([main])])
    paced = campaign.run(
        "memory", [Episode([main], arrival=arrivals)], f"data at the cycles of {device.name}", waves=True
    )
    # Episodes of a large composition are long ones: as much work as a bank group has.
    campaign.stress(lambda count: stress_episodes(config, rng, count), max(2, 48 // config.units))

    with np.errstate(all="ignore"):
        error = attention_error(config, full.expected[0], main.q, np.concatenate(main.k), np.concatenate(main.v))
    cycles, paced_cycles = full.cycles(0), paced.cycles(0)
    return campaign.result(
        CompositionResult,
        units=config.units,
        queries=queries,
        cycles=cycles,
        ideal_cycles=full.ideal_cycles(0) * clocks,
        stall_cycles=full.stall_cycles(0, 0 if isinstance(config, PamSsdControllerConfig) else clocks - 1),
        utilisation=round(full.ideal_cycles(0) * clocks / cycles, 6),
        drain_cycles=full.drain_cycles(0),
        max_abs_error=float(error.max(initial=0.0)),
        rms_error=float(np.sqrt(np.mean(error**2))),
        memory_timing=CompositionTiming(
            memory=device.name,
            cycles=paced_cycles,
            time_ns=round(paced_cycles / config.clock_mhz * 1e3, 3),
            memory_time_ns=round(nanoseconds, 3),
            stall_cycles=paced.stall_cycles(0),
            drain_cycles=paced.drain_cycles(0),
            utilisation=round(paced.ideal_cycles(0) * clocks / paced_cycles, 6),
        ),
    )


def attention_error(config: Config, result: Reduced, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Absolute error of a normalised result against attention in binary64, for every query."""
    reference = np.stack([attention(config.processing, one, k, v) for one in np.atleast_2d(q)])
    return np.abs(np.atleast_2d(to_float64(result.o, config.reduction.io)) - reference)


# ---- A tree of reduction units alone ------------------------------------------------------------------------------------


def random_partials(
    config: PamReductionTreeConfig,
    counts: Sequence[int],
    head_dim: int,
    rng: np.random.Generator,
    kind: str = "scaled",
    queries: int = 1,
) -> list[Partial]:
    """Partial results of every source; ``kind`` as for :func:`bankside.cosim.pam.ru.random_merge`."""
    one = PamRuConfig(**{**merger(config.unit, 2).model_dump(), "sources": 1})
    return [pam_ru.random_merge(one, [count], head_dim, rng, kind=kind, queries=queries).sources[0] for count in counts]


def tree_simulate(
    config: PamReductionTreeConfig,
    verilog: str,
    steps: Sequence[tuple[list[Partial], bool]],
    *,
    top: str,
    **options: Any,
) -> Outcome:
    """Run steps one after the other, an epoch each. A step is the partial results of every source, and whether the
    result is normalised."""
    unit = config.unit
    streams = {port.name: port.layout for port in config.ports() if port.is_input}
    items: dict[str, list[Items]] = {name: [] for name in streams}
    for number, (sources, normalise) in enumerate(steps):
        unit.check_head_dim(int(sources[0].o.shape[-1]))
        queries = pam_ru.queries_of(sources[0])
        unit.check_queries(queries)
        items["merge"].append(Items.of(pam_ru.commands(unit, [normalise], [queries]), epoch=number))
        for n, source in enumerate(sources):
            beats = pam_ru.source_beats(unit, streams[f"source_{n}"], source)
            items[f"source_{n}"].append(Items.of(beats, epoch=number))
    results = [reduction_tree(config, sources, normalise=normalise) for sources, normalise in steps]
    work = answered(unit, {name: Items.join(parts) for name, parts in items.items()}, [1] * len(steps), results)
    return played(config, verilog, top, work, results, [f"source_{n}" for n in range(config.inputs)], **options)


def tree_bench(request: SimRequest) -> TreeResult:
    """Run the whole bench of a tree:

    - a partial result of every source at a beat a clock, normalised and as an inner level
    - random numbers of partial results and all kinds of data with stalls
    - the same with a lazy output
    - the same from random registers with resets at random clocks
    """
    config, rng = request.config, np.random.default_rng(request.seed)
    workload: TreeWorkload = request.workload
    workload.check(config)
    head_dim, kinds = workload.head_dim, pam_ru.KINDS
    main = random_partials(config, [1] * config.inputs, head_dim, rng, queries=config.unit.queries)

    def random_steps() -> list[tuple[list[Partial], bool]]:
        return [
            (
                random_partials(
                    config,
                    rng.choice([1, 1, 2, 3], config.inputs).tolist(),
                    int(rng.choice([head_dim, config.unit.lanes])),
                    rng,
                    kind,
                    pam_ru.drawn_queries(config.unit, rng),
                ),
                bool(n % 2),
            )
            for n, kind in enumerate(kinds)
        ]

    campaign = Campaign(
        request, lambda steps, **options: tree_simulate(config, request.verilog, steps, top=request.module, **options)
    )
    full = campaign.run("full_rate", [(main, True), (main, False)], waves=True)
    campaign.run("stalls", random_steps())
    campaign.run("lazy_output", random_steps())
    campaign.run("power_up", random_steps())
    stacked = Partial(*(np.concatenate([getattr(s, name) for s in main]) for name in ("m", "scale", "l", "o")))
    error = np.abs(to_float64(full.expected[0].o, config.unit.io) - merged(config.unit, stacked))
    # The busiest unit merges this many beats of O, one a clock.
    ideal = max(map(max, config.levels)) * config.unit.queries * head_dim // config.unit.lanes
    return campaign.result(
        TreeResult,
        units=config.units,
        levels=len(config.levels),
        queries=config.unit.queries,
        cycles=full.cycles(0),
        inner_cycles=full.cycles(1),
        ideal_cycles=ideal,
        utilisation=round(ideal / full.cycles(0), 6),
        max_abs_error=float(error.max()),
        rms_error=float(np.sqrt(np.mean(error**2))),
    )
