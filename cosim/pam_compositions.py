"""Benches of compositions of PAM's units: a bank group, a slice, an SSD controller, a tree of reduction units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..constraints.errors import ConfigError
from ..constraints.memory import load_memory
from ..constraints.units.pam_bank_group import PamBankGroupConfig
from ..constraints.units.pam_hbm_slice import PamSliceConfig
from ..constraints.units.pam_pu import Step
from ..constraints.units.pam_reduction_tree import PamReductionTreeConfig, merger
from ..constraints.units.pam_ru import PamRuConfig
from ..constraints.units.pam_ssd_controller import PamSsdControllerConfig
from ..constraints.units.pam_tier_merge import PamTierMergeConfig
from ..models.memory import time_program
from ..models.numerics import to_float64
from ..models.pam.compositions import group_attention, reduction_tree, slice_attention
from ..models.pam.flash import page_arrivals, page_program
from ..models.pam.pu import attention
from ..models.pam.ru import Partial, Reduced, merged
from . import pam_pu, pam_ru
from .request import Part, SimRequest
from .streams import Items, StreamPort, StreamRun, compare, play, verdict

__all__ = ["Decode", "Episode", "Outcome", "bench", "check", "memory_arrivals", "ports", "random_decode", "random_partials",
           "result_beats", "simulate", "spread", "stimulus", "stress_episodes", "tier_ports",
           "tree_bench", "tree_ports", "tree_simulate"]

Config = PamBankGroupConfig | PamSsdControllerConfig


@dataclass
class Decode:
    """One step: a query (bits, already scaled) against K and V of every processing unit, each ``(tokens, head_dim)``."""

    q: np.ndarray
    k: list[np.ndarray]
    v: list[np.ndarray]
    normalise: bool = True

    @property
    def head_dim(self) -> int:
        return len(self.q)

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
        """What one processing unit sees."""
        more = self.more or [False] * len(self.steps)
        steps = [Step(len(s.k[unit]), s.head_dim, chained) for s, chained in zip(self.steps, more, strict=True)]
        return pam_pu.Episode(steps, [s.q for s in self.steps], [s.k[unit] for s in self.steps],
                              [s.v[unit] for s in self.steps])


@dataclass
class Outcome:
    """What a simulation showed; ``feeds`` are the streams of K and V (of a tree, its sources)."""

    run: StreamRun
    expected: list[Reduced]
    vectors: int
    mismatches: int
    first_mismatch: str | None
    notes: list[str]
    feeds: list[str]

    def cycles(self, number: int) -> int:
        """First beat of K to last beat of the result."""
        log = self.run.epochs[number]
        return log.end_cycle - log.first_of(self.feeds) + 1

    def drain_cycles(self, number: int) -> int:
        """Last beat of V to last beat of the result."""
        log = self.run.epochs[number]
        return log.end_cycle - log.last_of(self.feeds)

    def ideal_cycles(self, number: int) -> int:
        """Beats of the busiest stream of K and V."""
        log = self.run.epochs[number]
        return int(max(log.moved[name].sum() for name in self.feeds))

    def stall_cycles(self, number: int) -> int:
        """Most clocks in which a stream offered a beat within a phase that was not taken."""
        log = self.run.epochs[number]
        return int(max(log.stalled[name][[pam_pu.KEY, pam_pu.VALUE]].sum() for name in self.feeds))


def _feeds(config: Config) -> list[str]:
    """Streams of K and V."""
    if isinstance(config, PamSsdControllerConfig):
        return [f"data_{c}" for c in range(config.groups)]
    return [f"kv_{n}" for n in range(config.units)]


def _page_bits(config: PamSsdControllerConfig) -> list[int]:
    processing = config.processing
    return [processing.tile_tokens.bit_length(), (config.max_head_dim // processing.lanes).bit_length(),
            (max(config.reduction.sources, 2) - 1).bit_length()]


def ports(config: Config) -> list[StreamPort]:
    """The streams (widths follow from the configuration as in the generators' layouts)."""
    processing, width = config.processing, config.processing.io.width
    beat = processing.lanes * width
    step = sum(w for _, w in pam_pu.command_fields(processing))
    pages = [StreamPort(f"page_{c}", sum(_page_bits(config)), True) for c in range(config.groups)] \
        if isinstance(config, PamSsdControllerConfig) else []
    return [StreamPort("command", step + config.units, True), StreamPort("query", beat + config.units, True),
            StreamPort("merge", 1, True), *pages, *(StreamPort(name, beat, True) for name in _feeds(config)),
            StreamPort("result", config.reduction.lanes * width + 4, False)]


def _packed(fields: Sequence[tuple[int, int]]) -> int:
    """Values and widths as one number, the first lowest."""
    word = shift = 0
    for value, width in fields:
        word |= int(value) << shift
        shift += width
    return word


def _rows(numbers: Sequence[int], size: int) -> np.ndarray:
    """Numbers as little-endian bytes."""
    return np.frombuffer(b"".join(n.to_bytes(size, "little") for n in numbers), np.uint8).reshape(len(numbers), size)


def stimulus(config: Config, episodes: Sequence[Episode]) -> dict[str, Items]:
    processing = config.processing
    widths = [w for _, w in pam_pu.command_fields(processing)]
    beat = processing.lanes * processing.io.width
    sizes = {port.name: port.payload_bytes for port in ports(config)}
    items: dict[str, list[Items]] = {port.name: [] for port in ports(config) if port.is_input}
    for number, episode in enumerate(episodes):
        commands, queries = [], []
        more = episode.more or [False] * len(episode.steps)
        for step, chained in zip(episode.steps, more, strict=True):
            tokens, chunks = np.array(step.tokens), processing.chunks(step.head_dim)
            for count in np.unique(tokens)[::-1].tolist():
                select = _packed([(int(n == count), 1) for n in tokens])
                commands.append(_packed([*zip((count, chunks, int(chained)), widths, strict=True), (select, config.units)]))
            # A query in several slices goes anew to those units that have another tile.
            times = np.array([0 if not n else 1 if chunks <= processing.query_beats else len(processing.tiles(n))
                              for n in step.tokens])
            words = pam_pu.element_bytes(step.q.reshape(-1, processing.lanes), processing.io)
            for turn in range(int(times.max())):
                select = _packed([(int(n > turn), 1) for n in times])
                queries += [_packed([(int.from_bytes(bytes(word), "little"), beat), (select, config.units)])
                            for word in words]
        items["command"].append(Items.of(_rows(commands, sizes["command"]), epoch=number))
        items["query"].append(Items.of(_rows(queries, sizes["query"]), epoch=number))
        items["merge"].append(Items.of(np.array([[s.normalise] for s in episode.steps], np.uint8), epoch=number))
        if isinstance(config, PamSsdControllerConfig):
            _pages(config, episode, number, items, sizes)
        else:
            for unit in range(config.units):
                seen = episode.of_unit(unit)
                seen.arrival = episode.arrival[unit] if episode.arrival is not None else None
                items[f"kv_{unit}"].append(pam_pu.kv_items(processing, seen, number))
    return {name: Items.join(parts) for name, parts in items.items()}


def _pages(config: PamSsdControllerConfig, episode: Episode, number: int, items: dict[str, list[Items]],
           sizes: dict[str, int]) -> None:
    processing, each = config.processing, config.reduction.sources
    for c in range(config.groups):
        announced, beats = [], [np.empty((0, processing.lanes), np.int64)]
        for step in episode.steps:
            mine = slice(c * each, (c + 1) * each)
            for unit, tile, count in config.pages(step.tokens[mine]):
                rows = slice(tile * processing.tile_tokens, tile * processing.tile_tokens + count)
                both = np.stack([step.k[mine][unit][rows], step.v[mine][unit][rows]], axis=1)
                announced.append(_packed(list(zip((count, processing.chunks(step.head_dim), unit), _page_bits(config),
                                                  strict=True))))
                beats.append(both.reshape(-1, processing.lanes))
        data = np.concatenate(beats)
        items[f"page_{c}"].append(Items.of(_rows(announced, sizes[f"page_{c}"]), epoch=number))
        items[f"data_{c}"].append(Items.of(pam_pu.element_bytes(data, processing.io), epoch=number,
                                           cycle=episode.arrival[c] if episode.arrival is not None else 0))


def result_beats(config: PamRuConfig, result: Reduced, normalise: bool) -> np.ndarray:
    """Payloads of a result as a reduction unit sends it: uint8, ``(beats, bytes)``."""
    one = Partial(*(np.asarray(part)[None] for part in (result.m, result.scale, result.l, result.o)))
    scalars = np.atleast_1d(result.log_sum if normalise else result.l)  # type: ignore[arg-type]
    return pam_ru.partial_beats(one, lanes=config.lanes, io=config.io, score=config.score, scale_bits=config.scale_bits,
                                scalars=scalars, final_beats=True,
                                kind=pam_ru.BEAT_LOG_SUM if normalise else pam_ru.BEAT_SUM)


def check(verilog: str, top: str, streams: Sequence[StreamPort], items: dict[str, Items],
          blocks: Sequence[Sequence[np.ndarray]], results: list[Reduced], feeds: list[str], *, stalls: float = 0.0,
          lazy: bool = False, seed: int = 1, waves: Path | None = None, **options: Any) -> Outcome:
    """Play items and compare what comes on ``result`` with ``blocks``: for each epoch, for each step, the beats.

    ``options`` are ``power_up`` and ``resets`` of :func:`~.streams.play`.

    Raises
    ------
    :exc:`CheckFailed`
        If the simulation crashed or hung. Wrong results do not raise: see ``mismatches``.
    """
    expected = np.concatenate([block for epoch in blocks for block in epoch])
    targets = np.array([sum(map(len, epoch)) for epoch in blocks])
    slack = 1.0 if not stalls else 4.0 / (1.0 - stalls) ** 2
    work, latest = sum(len(block.payload) for block in items.values()), max(
        int(block.cycle.max(initial=0)) for block in items.values())
    run = play(verilog, top, streams, items, {"result": targets}, stalls={port.name: stalls for port in streams}, lazy=lazy,
               seed=seed, limit=int(latest + work * 8 * slack + 100_000), waves=waves, **options)

    def part(_: str, number: int, at: int) -> str:
        return pam_pu.beat_name([(f"step {n}", len(block) - 2) for n, block in enumerate(blocks[number])], at)

    mismatches, first, notes = compare(run, items, {"result": expected}, {"result": targets}, part=part)
    return Outcome(run, results, len(expected), mismatches, first, notes, feeds)


def simulate(config: Config, verilog: str, episodes: Sequence[Episode], *, top: str, **options: Any) -> Outcome:
    """Run episodes through the RTL of a bank group, slice or SSD controller and compare every beat with the functional
    model; ``options`` as for :func:`check`."""
    for episode in episodes:
        for step in episode.steps:
            config.reduction.check_head_dim(step.head_dim)
            for count in step.tokens:
                config.processing.check_step(Step(count, step.head_dim))
    results = [[step.result(config) for step in episode.steps] for episode in episodes]
    blocks = [[result_beats(config.reduction, result, step.normalise)
               for result, step in zip(part, episode.steps, strict=True)]
              for part, episode in zip(results, episodes, strict=True)]
    return check(verilog, top, ports(config), stimulus(config, episodes), blocks, [r for part in results for r in part],
                 _feeds(config), **options)


# ---- Data ---------------------------------------------------------------------------------------------------------------


def random_decode(config: Config, tokens: Sequence[int], head_dim: int, rng: np.random.Generator, *, kind: str = "normal",
                  normalise: bool = True) -> Decode:
    """A step with so many tokens of every unit, data as :func:`bankside.cosim.pam_pu.random_episode` makes them."""
    whole = pam_pu.random_episode(config.processing, [Step(int(sum(tokens)), head_dim)], rng, kind=kind)
    cuts = np.cumsum(tokens)[:-1]
    return Decode(whole.q[0], np.split(whole.k[0], cuts), np.split(whole.v[0], cuts), normalise)


def stress_episodes(config: Config, rng: np.random.Generator, count: int) -> list[Episode]:
    """Small random steps of every kind of data: units without a token, with one, with tokens around tile borders; final and
    inner levels; chained steps where the units take K of a tile before V of the one before."""
    tile, lanes = config.processing.tile_tokens, config.reduction.lanes
    sizes = sorted({0, 1, 2, tile, tile + 1, 2 * tile + 1})
    top = min(config.max_head_dim, 8 * lanes)
    dims = [d for d in (lanes, top // 2, top) if d and d % lanes == 0 and d % config.processing.lanes == 0]
    kinds = ("normal", "wide", "bits", "special", "equal", "dominant")
    episodes = []
    for number in range(count):
        steps = []
        for place in range(int(rng.integers(1, 4))):
            # Some units idle, all with the same, or each another number.
            tokens = (rng.choice(sizes, config.units) if number % 3 else
                      np.full(config.units, rng.choice(sizes)) * (rng.random(config.units) < 0.5))
            steps.append(random_decode(config, tokens.tolist(), int(rng.choice(dims)), rng,
                                       kind=kinds[(number + place) % 6], normalise=bool(rng.integers(2))))
        chained = not isinstance(config, PamSsdControllerConfig)
        more = [bool(rng.integers(2)) and chained for _ in steps[1:]] + [False]
        episodes.append(Episode(steps, more))
    alone = np.zeros(config.units, int)
    alone[rng.integers(config.units)] = 1
    corners = [alone.tolist(), [0] * config.units]  # one token in all, none
    return episodes + [Episode([random_decode(config, tokens, dims[-1], rng)]) for tokens in corners]


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
    """Time of the memory's program in ns, and for each stream of K and V the clock cycle in which each beat is there."""
    config: Config = unit.config
    processing, counts = config.processing, step.tokens
    if isinstance(config, PamSsdControllerConfig):
        device, each = load_memory(memory), config.reduction.sources
        nanoseconds, arrivals = 0.0, []
        for c in range(config.groups):
            pages = [count for _, _, count in config.pages(counts[c * each:(c + 1) * each])]
            sizes = [2 * count * step.head_dim * processing.io.width // 8 for count in pages]
            timing = time_program(page_program(device, sizes), device)
            nanoseconds = max(nanoseconds, float(timing.time_ns))
            cycles = page_arrivals(device, sizes, processing.beat_bytes, timing)
            arrivals.append(np.ceil(cycles * device.clock_ps * config.clock_mhz / 1e6 - 1e-9).astype(np.int64))
        return nanoseconds, arrivals
    device = load_memory(memory)
    gap_cycles = int(np.ceil(unit.latency["last_k_to_first_v"] / processing.clock_mhz * 1e6 / device.clock_ps))
    # All banks read the same rows; one with fewer tokens drops what its neighbours read for their last.
    timings = {count: pam_pu.measured_timing(processing, memory, [Step(count, step.head_dim)], gap_cycles=gap_cycles)
               for count in set(counts)}
    return float(timings[max(counts)][0].time_ns), [timings[count][1] for count in counts]


# ---- Benches ------------------------------------------------------------------------------------------------------------


def bench(request: SimRequest) -> dict[str, Any]:
    """Run the whole bench of a bank group, a slice or an SSD controller.

    Four runs, each compared beat by beat: the measured step with data at every clock; the same with data at the cycles that
    the memory's timing gives; small random steps of all kinds of data with random stalls on every stream; the same with an
    output that becomes ready only after it was asked to.

    Returns
    -------
    dict with the keys of ``bankside sim --json`` that depend on the unit. ``cycles``, ``ideal_cycles``, ``stall_cycles``
    and ``utilisation`` are of the first run, ``drain_cycles`` from its last beat of K and V to the last of the result.
    """
    config, rng = request.config, np.random.default_rng(request.seed)
    memory, tokens, head_dim = (request.workload[key] for key in ("memory", "tokens", "head_dim"))
    device = load_memory(memory)
    config.reduction.check_head_dim(head_dim)
    main = random_decode(config, spread(config, tokens), head_dim, rng)
    nanoseconds, arrivals = memory_arrivals(request, memory, main)

    def run(name: str, episodes: list[Episode], **options: Any) -> Outcome:
        request.progress(f"simulating: {name}")
        return simulate(config, request.verilog, episodes, top=request.module, seed=request.seed, **options)

    request.progress("building the Verilated model")
    full = run("a beat at every clock", [Episode([main])])
    paced = run(f"data at the cycles of {device.name}", [Episode([main], arrival=arrivals)], waves=request.waves)
    # Episodes of a large composition are long ones: as much work as a bank group has.
    count = max(2, 48 // config.units)
    stressed = run("random stalls and back-pressure", stress_episodes(config, rng, count), stalls=0.35)
    lazy = run("an output that waits to be asked", stress_episodes(config, rng, -(-count // 2)), stalls=0.1, lazy=True)
    outcomes = {"full_rate": full, "memory": paced, "stalls": stressed, "lazy_output": lazy}

    with np.errstate(all="ignore"):
        reference = attention(config.processing, main.q, np.concatenate(main.k), np.concatenate(main.v))
        error = np.abs(to_float64(full.expected[0].o, config.reduction.io) - reference)
    cycles, paced_cycles = full.cycles(0), paced.cycles(0)
    clocks = sum(o.run.clocks for o in outcomes.values())
    return {
        **verdict(outcomes),
        "units": config.units,
        "cycles": cycles,
        "ideal_cycles": full.ideal_cycles(0),
        "stall_cycles": full.stall_cycles(0),
        "utilisation": round(full.ideal_cycles(0) / cycles, 6),
        "drain_cycles": full.drain_cycles(0),
        "max_abs_error": float(error.max(initial=0.0)),
        "rms_error": float(np.sqrt(np.mean(error**2))),
        "memory_timing": {
            "memory": device.name,
            "cycles": paced_cycles,
            "time_ns": round(paced_cycles / config.clock_mhz * 1e3, 3),
            "memory_time_ns": round(nanoseconds, 3),
            "stall_cycles": paced.stall_cycles(0),
            "drain_cycles": paced.drain_cycles(0),
            "utilisation": round(paced.ideal_cycles(0) / paced_cycles, 6),
        },
        "runs": {name: {"vectors": o.vectors, "mismatches": o.mismatches,
                        "cycles": sum(o.cycles(n) for n in range(len(o.run.epochs))), "clocks": o.run.clocks}
                 for name, o in outcomes.items()},
        "waves": str(paced.run.waves) if paced.run.waves else None,
        "clocks": clocks,
        "clocks_per_second": round(clocks / sum(o.run.seconds for o in outcomes.values())),
    }


# ---- A tree of reduction units alone ------------------------------------------------------------------------------------


def tree_ports(config: PamReductionTreeConfig) -> list[StreamPort]:
    """The streams of a tree."""
    beat = config.unit.lanes * config.unit.io.width + 4
    return [StreamPort("merge", 1, True), *(StreamPort(f"source_{n}", beat, True) for n in range(config.inputs)),
            StreamPort("result", beat, False)]


def tier_ports(config: PamTierMergeConfig) -> list[StreamPort]:
    """The streams of a merge of tiers."""
    return tree_ports(PamReductionTreeConfig(unit=config.unit, inputs=3))


def random_partials(config: PamReductionTreeConfig, counts: Sequence[int], head_dim: int, rng: np.random.Generator,
                    kind: str = "scaled") -> list[Partial]:
    """Partial results of every source; ``kind`` as for :func:`bankside.cosim.pam_ru.random_merge`."""
    one = PamRuConfig(**{**merger(config.unit, 2).model_dump(), "sources": 1})
    return [pam_ru.random_merge(one, [count], head_dim, rng, kind=kind).sources[0] for count in counts]


def tree_simulate(config: PamReductionTreeConfig, verilog: str, steps: Sequence[tuple[list[Partial], bool]], *, top: str,
                  **options: Any) -> Outcome:
    """Run steps (partial results of every source, whether the result is normalised) one after the other, an epoch each."""
    unit = config.unit
    items: dict[str, list[Items]] = {port.name: [] for port in tree_ports(config) if port.is_input}
    results, blocks = [], []
    for number, (sources, normalise) in enumerate(steps):
        unit.check_head_dim(int(sources[0].o.shape[-1]))
        items["merge"].append(Items.of(np.array([[normalise]], np.uint8), epoch=number))
        for n, source in enumerate(sources):
            beats = pam_ru.partial_beats(source, lanes=unit.lanes, io=unit.io, score=unit.score, scale_bits=unit.scale_bits,
                                         scalars=source.l, final_beats=True)
            items[f"source_{n}"].append(Items.of(beats, epoch=number))
        results.append(reduction_tree(config, sources, normalise=normalise))
        blocks.append([result_beats(unit, results[-1], normalise)])
    joined = {name: Items.join(parts) for name, parts in items.items()}
    return check(verilog, top, tree_ports(config), joined, blocks, results,
                 [f"source_{n}" for n in range(config.inputs)], **options)


def tree_bench(request: SimRequest) -> dict[str, Any]:
    """Run the whole bench of a tree: a partial result of every source at a beat a clock, normalised and as an inner level;
    random numbers of partial results and all kinds of data with stalls; the same with a lazy output."""
    config, rng = request.config, np.random.default_rng(request.seed)
    if not config.levels:
        raise ConfigError("inputs must be at least 2: a tree of one input has no unit to simulate")
    head_dim = request.workload["head_dim"]
    config.unit.check_head_dim(head_dim)
    main = random_partials(config, [1] * config.inputs, head_dim, rng)

    def random_steps(count: int) -> list[tuple[list[Partial], bool]]:
        kinds = pam_ru.KINDS
        return [(random_partials(config, rng.choice([1, 1, 2, 3], config.inputs).tolist(),
                                 int(rng.choice([head_dim, config.unit.lanes])), rng, kinds[n % len(kinds)]), bool(n % 2))
                for n in range(count)]

    def run(name: str, steps: list[tuple[list[Partial], bool]], **options: Any) -> Outcome:
        request.progress(f"simulating: {name}")
        return tree_simulate(config, request.verilog, steps, top=request.module, seed=request.seed, **options)

    request.progress("building the Verilated model")
    full = run("a beat at every clock", [(main, True), (main, False)], waves=request.waves)
    stressed = run("random stalls and back-pressure", random_steps(len(pam_ru.KINDS)), stalls=0.35)
    lazy = run("an output that waits to be asked", random_steps(len(pam_ru.KINDS)), stalls=0.1, lazy=True)
    outcomes = {"full_rate": full, "stalls": stressed, "lazy_output": lazy}
    stacked = Partial(*(np.concatenate([getattr(s, name) for s in main]) for name in ("m", "scale", "l", "o")))
    error = np.abs(to_float64(full.expected[0].o, config.unit.io) - merged(config.unit, stacked))
    # The busiest unit merges this many beats of O, one a clock.
    ideal = max(map(max, config.levels)) * head_dim // config.unit.lanes
    clocks = sum(o.run.clocks for o in outcomes.values())
    return {
        **verdict(outcomes),
        "units": config.units,
        "levels": len(config.levels),
        "cycles": full.cycles(0),
        "inner_cycles": full.cycles(1),
        "ideal_cycles": ideal,
        "utilisation": round(ideal / full.cycles(0), 6),
        "max_abs_error": float(error.max()),
        "rms_error": float(np.sqrt(np.mean(error**2))),
        "runs": {name: {"vectors": o.vectors, "mismatches": o.mismatches,
                        "cycles": sum(o.cycles(n) for n in range(len(o.run.epochs))), "clocks": o.run.clocks}
                 for name, o in outcomes.items()},
        "waves": str(full.run.waves) if full.run.waves else None,
        "clocks": clocks,
        "clocks_per_second": round(clocks / sum(o.run.seconds for o in outcomes.values())),
    }
