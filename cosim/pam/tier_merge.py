"""Bench of ``pam-tier-merge``: whole decode steps of attention, tokens in HBM, DDR and SSD, every tier's units in RTL.

Each tier is one group of units: a bank group of HBM, a bank group of DDR, a channel of the SSD controller. All groups
have equally many units. Each runs at its own clock, with K and V arriving when the timing engine says. Its result
crosses to the clock of the tier merge, in RTL too. Each simulation receives the output of the one before. Every result
is compared with the functional models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np

from ...constraints.core.document import load
from ...constraints.core.errors import ConfigError
from ...constraints.core.formats import FloatFormat
from ...constraints.pam.bank_group import PamBankGroupConfig
from ...constraints.pam.layout import TIERS
from ...constraints.pam.tier_merge import (
    PRESETS,
    DataKind,
    DecodeCase,
    DecodeMerge,
    DecodeResult,
    DecodeTier,
    DecodeWorkload,
    PamTierMergeConfig,
    parse_shares,
)
from ...constraints.systems import RATIOS, RatioTable
from ...models.numerics import from_float64
from ...models.pam.compositions import tier_merge
from ...models.pam.placement import KvTable, TierShape
from ..bench.campaign import Campaign
from ..bench.request import Part, SimRequest
from ..bench.streams import Items
from .compositions import Decode, Episode, Outcome, answered, attention_error, memory_arrivals, played, simulate
from .ru import commands

__all__ = ["KINDS", "Case", "Parts", "bench", "corner_cases", "run_cases"]

#: Kinds of data.
KINDS: tuple[DataKind, ...] = get_args(DataKind)

#: Clocks of the receiver that a beat takes to cross to the receiver's clock: two flip-flops in a row, as is usual.
CROSSING_CYCLES = 2


@dataclass(frozen=True)
class Case:
    """A decode step: number of tokens, proportions in which the tiers share them, kind of data, queries that share the
    tokens."""

    tokens: int
    shares: tuple[int, int, int]
    kind: DataKind = "normal"
    queries: int = 1

    def slots(self) -> list[int]:
        """Tokens for which each tier has room, just enough for all. A share that is not 0 has at least one token."""
        total = sum(self.shares)
        if min(self.shares) < 0 or not total:
            raise ConfigError(
                "shares must be three numbers of at least 0, not all 0, not " + ":".join(map(str, self.shares))
            )
        ends = [-(-self.tokens * sum(self.shares[: n + 1]) // total) for n in range(3)]
        return np.diff([0, *ends]).tolist()


@dataclass(frozen=True)
class Parts:
    """The RTL of each level, with its configuration."""

    hbm: Part
    ddr: Part
    ssd: Part
    merge: Part

    @property
    def tiers(self) -> dict[str, Part]:
        return {"hbm": self.hbm, "ddr": self.ddr, "ssd": self.ssd}


def placed(case: Case, units: int, page_tokens: int, rng: np.random.Generator) -> list[list[np.ndarray]]:
    """Tokens of every unit of every tier, in the order of their places there, as the placement model puts them.

    The table holds one request, and one device with one group for each tier. Importance is drawn at random. Algorithm 2
    exchanges tokens until the calibrated ratios of the tiers' importances are reached.
    """
    table = KvTable([TierShape(name, 1, 1, slots) for name, slots in zip(TIERS, case.slots(), strict=True)])
    table.add([case.tokens])
    table.importance[: case.tokens] = rng.exponential(size=case.tokens)
    ratios = load(RATIOS, RatioTable).models["default"]
    table.schedule(ratios.x, ratios.y, most=case.tokens)
    where = table.places()
    out = []
    for number, name in enumerate(TIERS):
        mine = np.flatnonzero(table.tier[where] == number)
        mine = mine[np.argsort(table.slot[where[mine]])]
        slot = table.slot[where[mine]].astype(np.int64)
        # The SSD's pages go to the units in turn, as the layout gives them to dies.
        layout = TIERS[name].model_copy(
            update={"banks": units, **({"interleave": page_tokens} if name == "ssd" else {})}
        )
        bank = layout.place(slot).bank
        out.append([mine[bank == unit] for unit in range(units)])
    return out


def random_data(case: Case, head_dim: int, io: FloatFormat, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Bits of q (scaled; with an axis of queries if there are several), k and v."""
    q = rng.normal(size=head_dim if case.queries == 1 else (case.queries, head_dim)) * head_dim**-0.5
    k, v = rng.normal(size=(2, case.tokens, head_dim))
    if case.kind == "equal" and case.tokens:
        k[:] = k[0]
    elif case.kind == "dominant" and case.tokens:
        k[rng.integers(case.tokens)] = 16 * head_dim**0.5 * np.atleast_2d(q)[0]
    elif case.kind == "extreme":
        q[...] = np.eye(head_dim)[0]
        k[:, 0] = rng.choice([-65504.0, 65504.0], case.tokens)
    return from_float64(q, io), from_float64(k, io), from_float64(v, io)


@dataclass
class StepResult:
    """One case: figures by level, and the error of the final output against attention in binary64."""

    case: Case
    tiers: dict[str, DecodeTier]
    merge: DecodeMerge
    time_ns: float
    reduction_ns: float
    max_abs_error: float
    rms_error: float

    @property
    def reduction_share(self) -> float:
        """Fraction of the time that is reduction: from the last beat of K and V at any tier to the last beat of the
        result."""
        return self.reduction_ns / self.time_ns


def run_cases(
    parts: Parts,
    cases: Sequence[Case],
    head_dim: int,
    *,
    seed: int = 1,
    stalls: float = 0.0,
    memories: dict[str, str] | None = None,
) -> tuple[list[StepResult], dict[str, Outcome]]:
    """Simulate cases. Each tier has one simulation for all cases, and then one simulation does all merges.

    Parameters
    ----------
    stalls : probability that an input is withheld, or an output refused, in a clock
    memories : memory of each tier; by default as in ``constraints.pam_layout``

    Returns
    ------- results of the cases, and outcomes by level
    """
    rng = np.random.default_rng(seed)
    units, io = parts.hbm.config.units, parts.hbm.config.processing.io
    for name, part in parts.tiers.items():
        if part.config.units != units or part.config.reduction.lanes != parts.merge.config.unit.lanes:
            raise ConfigError(
                f"{name}: {part.config.units} units and results of {part.config.reduction.lanes} lanes; "
                f"hbm has {units} units, the merge {parts.merge.config.unit.lanes} lanes"
            )
    page_tokens = parts.ssd.config.processing.tile_tokens
    data = [random_data(case, head_dim, io, rng) for case in cases]
    places = [placed(case, units, page_tokens, rng) for case in cases]
    outcomes, figures = {}, {}
    memory_ns: dict[str, list[float]] = {}
    for number, (name, part) in enumerate(parts.tiers.items()):
        steps = [
            Decode(q, [k[t] for t in place[number]], [v[t] for t in place[number]], normalise=False)
            for (q, k, v), place in zip(data, places, strict=True)
        ]
        timed = [memory_arrivals(part, (memories or {}).get(name, TIERS[name].memory), step) for step in steps]
        memory_ns[name] = [nanoseconds for nanoseconds, _ in timed]
        episodes = [Episode([step], arrival=arrival) for step, (_, arrival) in zip(steps, timed, strict=True)]
        outcomes[name] = simulate(
            part.config, part.verilog, episodes, top=part.module, stalls=stalls, seed=seed + number
        )
        figures[name] = [
            _figures(part.config, outcomes[name], n, memory_ns[name][n], step) for n, step in enumerate(steps)
        ]
    queries = [case.queries for case in cases]
    outcomes["merge"] = _merge(parts, outcomes, queries, seed=seed + 3, stalls=stalls)

    out = []
    clock = parts.merge.config.clock_mhz
    for n, (case, (q, k, v)) in enumerate(zip(cases, data, strict=True)):
        tiers = {name: figures[name][n] for name in parts.tiers}
        end = outcomes["merge"].run.epochs[n].end_cycle + 1
        time_ns = end / clock * 1e3
        with np.errstate(all="ignore"):
            error = attention_error(parts.hbm.config, outcomes["merge"].expected[n], q, k, v)
        slowest = max(t.time_ns for t in tiers.values())
        merge = DecodeMerge(
            clock_mhz=clock, end_cycle=end, cycles=end - int(np.floor(slowest * clock / 1e3)), time_ns=round(time_ns, 3)
        )
        out.append(
            StepResult(
                case,
                tiers,
                merge,
                time_ns,
                time_ns - max(t.local_ns for t in tiers.values()),
                float(error.max()),
                float(np.sqrt(np.mean(error**2))),
            )
        )
    return out, outcomes


def _figures(config: PamBankGroupConfig, outcome: Outcome, number: int, memory_ns: float, step: Decode) -> DecodeTier:
    """Cycles of a tier from the first command of its memory on; ``local`` is the part until its last beat of K and V."""
    log = outcome.run.epochs[number]
    moved = any(log.moved[name].any() for name in outcome.feeds)
    local = log.last_of(outcome.feeds) + 1 if moved else 0
    end = log.end_cycle + 1
    ideal = outcome.ideal_cycles(number) * config.processing.burst_clocks(step.queries)
    return DecodeTier(
        tokens=sum(step.tokens),
        clock_mhz=config.clock_mhz,
        memory_time_ns=round(memory_ns, 3),
        local_cycles=local,
        reduction_cycles=end - local,
        cycles=end,
        stall_cycles=outcome.stall_cycles(number),
        utilisation=round(ideal / end, 6),
        local_ns=round(local / config.clock_mhz * 1e3, 3),
        time_ns=round(end / config.clock_mhz * 1e3, 3),
    )


def _merge(parts: Parts, tiers: Mapping[str, Outcome], queries: Sequence[int], **options: Any) -> Outcome:
    """Merge the results of the tiers' RTL, beat by beat at the cycles at which they came. ``queries``: of every case.
    ``options`` are as of :func:`play_stimulus`."""
    config: PamTierMergeConfig = parts.merge.config
    cases = len(queries)
    steps = commands(config.unit, [True] * cases, queries)
    items: dict[str, Items] = {"merge": Items.of(steps, epoch=np.arange(cases))}
    for number, (name, part) in enumerate(parts.tiers.items()):
        outcome = tiers[name]
        beats = outcome.vectors // sum(queries)
        cycle = outcome.run.output_cycles["result"] + 1
        arrival = np.ceil(cycle * config.clock_mhz / part.config.clock_mhz - 1e-9).astype(np.int64) + CROSSING_CYCLES
        items[f"source_{number}"] = Items.of(
            outcome.run.outputs["result"], cycle=arrival, epoch=np.repeat(np.arange(cases), beats * np.array(queries))
        )
    results = [
        tier_merge(config, [tiers[name].expected[n] for name in parts.tiers], normalise=True) for n in range(cases)
    ]
    return played(
        config,
        parts.merge.verilog,
        parts.merge.module,
        answered(config.unit, items, [1] * cases, results),
        results,
        [f"source_{number}" for number in range(len(parts.tiers))],
        **options,
    )


def corner_cases(tokens: int = 96, queries: int = 1) -> list[Case]:
    """Each tier empty, all but one empty, one token in each tier alone, and every kind of data.

    ``queries``: most queries of a step. The cases have all numbers up to it in turn.
    """
    flags = [(n >> 2 & 1, n >> 1 & 1, n & 1) for n in range(1, 7)]
    alone = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    cases = [
        *(Case(tokens, shares) for shares in flags),
        *(Case(1, shares) for shares in alone),
        *(Case(tokens, (1, 1, 1), kind) for kind in KINDS),
    ]
    return [replace(case, queries=queries - n % queries) for n, case in enumerate(cases)]


def tiers_of(request: SimRequest) -> Parts:
    """The tiers of a merge: a bank group of HBM, a bank group of DDR, a channel of the SSD controller with equally many
    units.

    For the published merge, the units have the published sizes. For another merge, the units are as wide as the merge's
    own, two to a tier. All have the same buffers, and hold the queries of a step and two beats of output.
    """
    config: PamTierMergeConfig = request.config
    sets: dict[str, tuple[str, ...]] = {"hbm": (), "ddr": (), "ssd": ("groups=1", "reduction.sources=4")}
    if config != PRESETS["pam"]:
        unit = config.unit
        query_bytes = unit.queries * unit.max_head_dim * unit.io.width // 8
        reduction = {**unit.model_dump(exclude={"clock_mhz"}), "sources": 2}
        processing = {
            "lanes": unit.lanes,
            "queries": unit.queries,
            "format": unit.format,
            "acc_format": unit.acc_format,
            "max_head_dim": unit.max_head_dim,
            "query_bytes": query_bytes,
            "buffer_bytes": query_bytes + 2 * unit.beat_bytes,
            "tile_tokens": 4,
            "score_storage": "separate",
            "score_tiles": 1,
            "output_skid_beats": 4,
        }
        for name, score in zip(sets, config.score_formats, strict=True):
            keys = {
                part: {**values, "score_format": score}
                for part, values in (("processing", processing), ("reduction", reduction))
            }
            sets[name] = ("groups=1",) * (name == "ssd") + tuple(
                f"{part}.{key}={value}" for part, values in keys.items() for key, value in values.items()
            )
    merge = Part(config, request.verilog, request.module, request.latency)
    return Parts(
        request.part("pam-bank-group", "pam-hbm", sets["hbm"]),
        request.part("pam-bank-group", "pam-ddr", sets["ddr"]),
        request.part("pam-ssd-controller", "pam-ssd", sets["ssd"]),
        merge,
    )


def bench(request: SimRequest) -> DecodeResult:
    """Run decode steps over three tiers.

    Every level has two runs. The first simulates the measured step and the corner cases, with data at the cycles of the
    memories. The second adds random stalls on every stream. A third run, of the merge alone, starts from random
    registers and is reset at random clocks.
    """
    workload: DecodeWorkload = request.workload
    workload.check(request.config)
    queries = request.config.unit.queries
    corners = corner_cases(queries=queries)[-1 if request.quick else 0 :]
    cases = [Case(workload.tokens, parse_shares(workload.shares), workload.data, queries), *corners]
    request.progress("generating the tiers")
    parts = tiers_of(request)
    # A level receives the output of the level before, so a run consists of all levels, each with its own outcome.
    campaign: Campaign[Outcome] = Campaign(
        request, lambda tiers, **options: _merge(parts, tiers, [case.queries for case in cases], **options)
    )
    steps: list[StepResult] = []
    for run, text, seed, stalls in (
        ("memory", "data at the cycles of the memories", request.seed, 0.0),
        ("stalls", "random stalls and back-pressure", request.seed + 4, 0.35),
    )[request.quick :]:
        request.progress(f"simulating: {text}")
        results, outcomes = run_cases(parts, cases, workload.head_dim, seed=seed, stalls=stalls)
        for level, outcome in outcomes.items():
            campaign.add(f"{level}_{run}", outcome)
        steps += results
    if not request.quick:
        campaign.run("power_up", outcomes)
    main = steps[0]
    return campaign.result(
        DecodeResult,
        time_ns=round(main.time_ns, 3),
        reduction_ns=round(main.reduction_ns, 3),
        reduction_share=round(main.reduction_share, 6),
        tiers=main.tiers,
        merge=main.merge,
        max_abs_error=main.max_abs_error,
        rms_error=main.rms_error,
        cases=[
            DecodeCase(
                tokens=s.case.tokens,
                shares=":".join(map(str, s.case.shares)),
                data=s.case.kind,
                queries=s.case.queries,
                time_ns=round(s.time_ns, 3),
                max_abs_error=s.max_abs_error,
            )
            for s in steps
        ],
        queries=queries,
        cycles=main.merge.end_cycle,
    )
