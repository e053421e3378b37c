"""Bench of ``inf2-accelerator``: attention of shards in memory, compared bit for bit with the functional model.

The accelerator stands between a memory, a drive that fills it, and a host that programs it (``axi_shell``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...constraints.inf2.accelerator import (
    ADDRESSES,
    AcceleratorPoint,
    AcceleratorTiming,
    AcceleratorWorkload,
    Inf2AcceleratorConfig,
    Inf2AcceleratorResult,
    Job,
    JobError,
    MaskKind,
)
from ...constraints.inf2.gemv import Gemv, GemvMode
from ...constraints.memory import Memory, load_memory
from ...models.inf2.accelerator import attention, reference
from ...models.memory.streams import stream_arrivals
from ...models.numerics import to_float64
from ..bench.axi_shell import AxiRig, HostStep, Report, memory_pace
from ..bench.campaign import Campaign, Played, Stimulus, play_stimulus
from ..bench.request import SimRequest
from ..bench.streams import Items
from .gemv import KINDS, random_episode

__all__ = [
    "Episode",
    "Outcome",
    "Shard",
    "bench",
    "bad_jobs",
    "random_shard",
    "simulate",
    "stimulus",
    "stress_episodes",
]

#: Token counts that are measured too, with every kind of mask.
TOKENS = (1, 31, 32, 33, 1024)

#: Words of the bench's memory: a shard of 32 K tokens and a head dimension of 128 fits.
LEAST_ROOM = 1 << 19

#: Clocks in which the surroundings store or move a word at least, for the bound of a run.
SLOWEST = 8


@dataclass
class Shard:
    """A job with its numbers.

    Attributes
    ----------
    q, k, v : bits: ``(head_dim,)``, and ``(row, head_dim)`` for the rows that were there and the new ones
    bits : mask in memory, ``(mask_length,)``
    outside : names of address registers that point outside the memory
    """

    job: Job
    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    bits: np.ndarray | None = None
    outside: tuple[str, ...] = ()


@dataclass
class Episode:
    """Jobs that follow each other.

    Attributes
    ----------
    drive : memory from which K and V come while the job runs; None: they have come before
    dram : memory whose pace bounds all accesses; None: a word in every clock
    step_words : words after which the host declares what has come
    drive_share : accelerators that share the drive, each at the same part of its pace
    """

    shards: list[Shard]
    drive: Memory | None = None
    dram: Memory | None = None
    latency: int = 0
    step_words: int = 1
    drive_share: int = 1


@dataclass
class Outcome(Played):
    """Outcome of a simulation of episodes."""

    config: Inf2AcceleratorConfig = field(kw_only=True)
    reports: list[Report] = field(kw_only=True)
    shards: list[Shard] = field(kw_only=True)
    max_abs_error: float = field(kw_only=True)
    rms_error: float = field(kw_only=True)

    @property
    def violations(self) -> int:
        """Violations of AXI's rules."""
        return max((one.violations for one in self.reports), default=0)

    @property
    def early(self) -> int:
        """Words that were read before they had come."""
        return max((one.early for one in self.reports), default=0)

    @property
    def errors(self) -> int:
        return sum(_error(self.config, shard) is not JobError.NONE for shard in self.shards)

    def point(self, number: int) -> AcceleratorPoint:
        """Figures of a job."""
        job, seen = self.shards[number].job, self.reports[number]
        ideal = 2 * job.row * self.config.gemv.tiles(job.head_dim)
        shares = {
            f"{name}_share": round(count / seen.cycles, 6)
            for name, count in (
                ("port", seen.port),
                ("dram", seen.memory),
                ("latency", seen.latency),
                ("p2p", seen.load),
                ("unit", seen.unit),
            )
        }
        return AcceleratorPoint(
            tokens=job.row,
            head_dim=job.head_dim,
            mask=job.mask_kind.name.lower(),
            cycles=seen.cycles,
            ideal_cycles=ideal,
            utilisation=round(ideal / seen.cycles, 6),
            **shares,
        )


def _error(config: Inf2AcceleratorConfig, shard: Shard) -> JobError:
    found = config.error_of(shard.job)
    if found is JobError.NONE and set(shard.outside) - {"output"}:
        return JobError.READ
    return JobError.WRITE if found is JobError.NONE and shard.outside else found


@dataclass
class _Plan:
    """An episode in the memory: words to load, steps of the host, and what must come of them."""

    setup: np.ndarray
    places: list[np.ndarray] = field(default_factory=list)
    words: list[np.ndarray] = field(default_factory=list)
    cycles: list[np.ndarray] = field(default_factory=list)
    steps: list[HostStep] = field(default_factory=list)
    answers: list[tuple[int, int]] = field(default_factory=list)
    written: list[np.ndarray] = field(default_factory=list)
    loaded: int = 0

    def load(self, place: int, words: np.ndarray, cycle: np.ndarray | int = 0) -> None:
        """Words of bytes ``(words, bytes)`` to consecutive places."""
        self.places.append(place + np.arange(len(words)))
        self.words.append(words)
        self.cycles.append(np.broadcast_to(np.asarray(cycle, np.int64), len(words)))
        self.loaded += len(words)

    def write(self, address: int, value: int) -> None:
        self.steps.append(HostStep("write", address, value & 0xFFFFFFFF))
        self.answers.append((0, 0))

    def read(self, address: int, value: int) -> None:
        self.steps.append(HostStep("read", address))
        self.answers.append((0, value))


def _bytes(config: Inf2AcceleratorConfig, numbers: np.ndarray) -> np.ndarray:
    """Bytes of words of numbers ``(words, lanes)``."""
    return np.ascontiguousarray(numbers.astype("<u2")).view(np.uint8).reshape(-1, config.word_bytes)


class _Room:
    """Places of the memory, given out one after the other with random gaps."""

    def __init__(self, words: int, rng: np.random.Generator) -> None:
        self._words, self._rng, self._next = words, rng, 0

    def take(self, count: int, spare: int) -> int:
        """Place of ``count`` words, of which ``spare`` more are wanted later."""
        free = self._words - self._next - count - spare
        assert free >= 0
        place = self._next + int(self._rng.integers(0, min(free, 100) + 1))
        self._next = place + count
        return place


def _words(config: Inf2AcceleratorConfig, shard: Shard) -> dict[str, int]:
    """Words of every part of a shard in memory."""
    job, groups = shard.job, config.gemv.tiles(max(shard.job.head_dim, 1))
    mask = 0 if shard.bits is None else -(-len(shard.bits) // config.data_bits)
    return {
        "q": groups,
        "mask": mask,
        "new_k": job.new_tokens * groups,
        "new_v": job.new_tokens * groups,
        "k": job.tokens * groups,
        "v": job.tokens * groups,
        "output": groups,
    }


def _plan(
    config: Inf2AcceleratorConfig, episode: Episode, room: int, pattern: int, rng: np.random.Generator, stalls: float
) -> _Plan:
    address = {one.name: one.offset for one in config.registers}
    sizes = [_words(config, shard) for shard in episode.shards]
    plan = _Plan(np.empty(0))
    memory = _Room(room, rng)
    left = sum(sum(size.values()) for size in sizes)
    plan.write(address["enable"], 3)
    for shard, size in zip(episode.shards, sizes, strict=True):
        error = _error(config, shard)
        places = {}
        for name, count in size.items():
            left -= count
            places[name] = memory.take(count, left)
        job = replace(
            shard.job, **{name: getattr(shard.job, name) + places[name] * config.word_bytes for name in ADDRESSES}
        )
        for name in shard.outside:
            job = replace(job, **{name: room * config.word_bytes + getattr(job, name)})
        refused = config.error_of(shard.job) is not JobError.NONE
        if not refused:
            _load(config, plan, episode, shard, places)
        for name in ADDRESSES:
            for high in range(2 if config.address_bits > 32 else 1):
                plan.write(address[name] + 4 * high, getattr(job, name) >> 32 * high)
        for name in ("tokens", "new_tokens", "head_dim", "mask_kind", "mask_length"):
            plan.write(address[name], int(getattr(job, name)))
        _start(config, plan, episode, job, address, refused)
        plan.steps.append(HostStep("interrupt"))
        plan.read(address["events"], 1 if error is JobError.NONE else 2)
        plan.read(address["error"], int(error))
        plan.read(address["busy"], 0)
        plan.write(address["events"], 3)
        if error in (JobError.NONE, JobError.WRITE):
            plan.written.append(_output(config, shard, job, config.masked(job, shard.bits)))
    plan.setup = _rig(config, room).setup(
        seed=int(rng.integers(1 << 30)),
        loads=plan.loaded if episode.drive else 0,
        latency=episode.latency,
        stalls=stalls,
        pattern_clocks=pattern,
    )
    return plan


def _load(config: Inf2AcceleratorConfig, plan: _Plan, episode: Episode, shard: Shard, places: dict[str, int]) -> None:
    """Load what belongs to a shard: first what comes from the host, then the rows of K and V, at the drive's pace."""
    job, fill = shard.job, (1 << config.gemv.io.width) - 1
    plan.load(places["q"], _bytes(config, config.rows(shard.q[None], fill)))
    if shard.bits is not None and len(shard.bits):
        given = np.ones(-(-len(shard.bits) // config.data_bits) * config.data_bits, np.uint8)
        given[: len(shard.bits)] = shard.bits
        plan.load(places["mask"], np.packbits(given, bitorder="little").reshape(-1, config.word_bytes))
    parts = [(f"new_{name}", matrix[job.tokens :]) for name, matrix in (("k", shard.k), ("v", shard.v))]
    parts += [("k", shard.k[: job.tokens]), ("v", shard.v[: job.tokens])]
    size = 2 * job.tokens * config.gemv.tiles(job.head_dim)
    came = np.zeros(size, np.int64)
    if episode.drive is not None and size:
        arrival = stream_arrivals(episode.drive, size, config.word_bytes)
        came = np.ceil(arrival * episode.drive_share * config.clock_mhz * 1e-6 - 1e-9).astype(np.int64)
    at = 0
    for name, rows in parts:
        words = _bytes(config, config.rows(rows, fill))
        plan.load(places[name], words, came[at : at + len(words)] if name in ("k", "v") else 0)
        at += len(words) if name in ("k", "v") else 0


def _start(
    config: Inf2AcceleratorConfig, plan: _Plan, episode: Episode, job: Job, address: dict[str, int], refused: bool
) -> None:
    """Start a job, and tell it what has come."""
    groups = config.gemv.tiles(max(job.head_dim, 1))
    words = 0 if refused else 2 * job.tokens * groups
    before = plan.loaded - words
    if episode.drive is None or not words:
        plan.steps.append(HostStep("loaded", value=plan.loaded))
        for name in ("arrived_k", "arrived_v"):
            plan.write(address[name], job.tokens)
        plan.write(address["start"], 1)
        return
    for name in ("arrived_k", "arrived_v"):
        plan.write(address[name], 0)
    half = words // 2
    ends = [min(end, words) for end in range(episode.step_words, words + episode.step_words, episode.step_words)]
    for number, end in enumerate(ends):
        plan.steps.append(HostStep("loaded", value=before + end))
        begin = ends[number - 1] if number else 0
        for name, first in (("arrived_k", 0), ("arrived_v", half)):
            rows = [min(max(place - first, 0), half) // groups for place in (begin, end)]
            if rows[0] != rows[1]:
                plan.write(address[name], rows[1])
        if not number:
            plan.write(address["start"], 1)


def _output(config: Inf2AcceleratorConfig, shard: Shard, job: Job, masked: np.ndarray) -> np.ndarray:
    """Words that a job writes."""
    out = attention(config, job, shard.q, shard.k, shard.v, masked)
    rows = _bytes(config, config.rows(out[None]))
    strobes = (np.arange(rows.size) < job.head_dim * config.gemv.io.width // 8).reshape(rows.shape).astype(np.int64)
    layout = _rig(config, 2).written_layout
    return layout.pack(
        data=rows.astype(np.int64), strobes=strobes, address=job.output + np.arange(len(rows)) * config.word_bytes
    )


def _rig(config: Inf2AcceleratorConfig, words: int) -> AxiRig:
    return AxiRig(config.ports(), words, config.burst, config.outstanding)


def _room(config: Inf2AcceleratorConfig, episodes: Sequence[Episode]) -> int:
    """Words of a memory that holds each episode, a power of two. All smaller episodes have the same, so that one Verilated
    model serves them."""
    most = max(sum(sum(_words(config, shard).values()) for shard in episode.shards) for episode in episodes)
    return max(LEAST_ROOM, 1 << (most - 1).bit_length())


def stimulus(
    config: Inf2AcceleratorConfig, episodes: Sequence[Episode], *, room: int, stalls: float = 0.0, seed: int = 1
) -> Stimulus:
    """What the surroundings play, and the answers and writes that must come."""
    rig, rng = _rig(config, room), np.random.default_rng(seed)
    pace = [
        np.zeros(0, np.int64) if one.dram is None else memory_pace(one.dram, config.word_bytes, config.clock_mhz)
        for one in episodes
    ]
    plans = [_plan(config, one, room, len(pattern), rng, stalls) for one, pattern in zip(episodes, pace, strict=True)]

    def joined(parts: Iterator[np.ndarray], empty: np.ndarray) -> np.ndarray:
        return np.concatenate([empty, *parts])

    items = {
        "setup": Items.join([Items.of(plan.setup, epoch=n) for n, plan in enumerate(plans)]),
        "pace": Items.join([Items.of(pattern.astype(np.uint8)[:, None], epoch=n) for n, pattern in enumerate(pace)]),
        "host": Items.join([Items.of(rig.host(plan.steps), epoch=n) for n, plan in enumerate(plans)]),
        "load": Items.join(
            [
                Items.of(
                    rig.loads(np.concatenate(plan.places), np.concatenate(plan.words)),
                    epoch=n,
                    cycle=np.concatenate(plan.cycles),
                )
                if plan.places
                else Items.of(np.zeros((0, rig.load_layout.payload_bytes), np.uint8), epoch=n)
                for n, plan in enumerate(plans)
            ]
        ),
    }
    written = [joined(iter(plan.written), np.zeros((0, rig.written_layout.payload_bytes), np.uint8)) for plan in plans]
    return Stimulus(
        items,
        {"answer": rig.answers([one for plan in plans for one in plan.answers]), "written": np.concatenate(written)},
        {
            "answer": np.array([len(plan.answers) for plan in plans]),
            "written": np.array([len(one) for one in written]),
            "report": np.array([len(one.shards) for one in episodes]),
        },
        work=SLOWEST * max(plan.loaded + len(plan.steps) for plan in plans),
        held=["answer", "written", "report"],
    )


def simulate(
    config: Inf2AcceleratorConfig,
    verilog: str,
    episodes: Sequence[Episode],
    *,
    top: str = "inf2_accelerator",
    stalls: float = 0.0,
    seed: int = 1,
    **options: Any,
) -> Outcome:
    """Run episodes through the RTL and compare every answer of the registers and every written word. ``options`` and errors
    are as of :func:`play_stimulus`."""
    room = _room(config, episodes)
    rig = _rig(config, room)
    played = play_stimulus(
        rig,
        rig.verilog(verilog, top),
        f"{top}_bench",
        stimulus(config, episodes, room=room, stalls=stalls, seed=seed),
        stalls=stalls,
        seed=seed,
        **options,
    )
    reports = rig.reports(played.run.outputs["report"])
    shards = [shard for episode in episodes for shard in episode.shards]
    errors = [np.zeros(0)]
    for shard in shards:
        if _error(config, shard) is JobError.NONE:
            masked = config.masked(shard.job, shard.bits)
            with np.errstate(all="ignore"):
                got = to_float64(attention(config, shard.job, shard.q, shard.k, shard.v, masked), config.gemv.io)
                error = np.abs(got - reference(config, shard.q, shard.k, shard.v, masked))
            errors.append(error if np.isfinite(error).all() else np.zeros(0))
    error = np.concatenate(errors)
    outcome = Outcome(
        **vars(played),
        config=config,
        reports=reports,
        shards=shards,
        max_abs_error=float(error.max(initial=0.0)),
        rms_error=float(np.sqrt(np.mean(error**2))) if len(error) else 0.0,
    )
    outcome.require(not outcome.violations, f"{outcome.violations} violations of the rules of AXI")
    outcome.require(not outcome.early, f"{outcome.early} words were read before they had come")
    return outcome


def random_shard(config: Inf2AcceleratorConfig, job: Job, rng: np.random.Generator, *, kind: str = "normal") -> Shard:
    """Random numbers for a job, of a ``kind`` of :func:`bankside.cosim.inf2.gemv.random_episode`."""
    commands = [Gemv(mode, max(job.row, 1), max(job.head_dim, 1)) for mode in GemvMode]
    one = random_episode(config.gemv, commands, rng, kind=kind)
    bits = rng.integers(0, 2, min(job.mask_length, max(job.row, 1))) if job.mask_kind is MaskKind.BITS else None
    return Shard(job, one.vectors[0], one.matrices[0], one.matrices[1], bits)


def _mask_length(kind: MaskKind, row: int, rng: np.random.Generator) -> int:
    """Length of a mask: often the whole row or nothing."""
    return int(rng.choice([0, 1, row, int(rng.integers(0, row + 1))])) if kind is not MaskKind.NONE else 0


def bad_jobs(config: Inf2AcceleratorConfig, rng: np.random.Generator) -> list[Shard]:
    """A job for every reason of an error, and a good one behind each."""
    good = Job(tokens=min(5, config.max_tokens), head_dim=min(config.lanes, config.max_head_dim))
    half = config.word_bytes // 2
    wrong = [
        replace(good, q=half),
        replace(good, k=half),
        replace(good, v=half),
        replace(good, output=half),
        replace(good, tokens=4, new_tokens=1, new_k=half),
        replace(good, tokens=4, new_tokens=1, new_v=half),
        replace(good, mask_kind=MaskKind.BITS, mask_length=2, mask=half),
        replace(good, tokens=0),
        replace(good, tokens=config.max_tokens + 1),
        replace(good, head_dim=0),
        replace(good, head_dim=config.max_head_dim + 1),
        *(replace(good, mask_kind=kind, mask_length=good.row + 1) for kind in MaskKind if kind is not MaskKind.NONE),
    ]
    shards = []
    for job in wrong:
        small = replace(job, tokens=min(job.tokens, good.tokens), head_dim=min(job.head_dim, good.head_dim))
        shards += [replace(random_shard(config, small, rng), job=job), random_shard(config, good, rng)]
    for name in ("q", "k", "v", "output"):
        shards += [replace(random_shard(config, good, rng), outside=(name,)), random_shard(config, good, rng)]
    return shards


def stress_episodes(config: Inf2AcceleratorConfig, rng: np.random.Generator, count: int) -> list[Episode]:
    """Small random jobs with every kind of mask and data, errors among them, with and without a drive.

    Half of the episodes with a drive have one that is slower than the accelerator's reads. Some episodes have masks from
    memory alone, so the mask of one job follows another's.
    """
    lanes = config.lanes
    sizes = [
        n
        for n in sorted({1, 2, lanes - 1, lanes, lanes + 1, 2 * lanes + 3, 4 * lanes, 5 * lanes, 9 * lanes - 1})
        if 1 <= n <= config.max_tokens
    ]
    dims = [
        n
        for n in sorted({1, lanes - 1, lanes, lanes + 1, 3 * lanes, config.max_head_dim})
        if 1 <= n <= config.max_head_dim
    ]
    drive, dram = load_memory("nvme-smartssd"), load_memory("ddr4-2400")
    bad = bad_jobs(config, rng)
    episodes = []
    for number in range(count):
        shards, slow, masked = [], number % 8 == 2, number % 6 == 3
        for _ in range(3 if masked else int(rng.integers(1, 4))):
            row, kind = int(rng.choice(sizes)), MaskKind.BITS if masked else MaskKind(int(rng.integers(len(MaskKind))))
            new = int(rng.choice([0, 1, row, int(rng.integers(0, row + 1))]))
            length = row if masked else _mask_length(kind, row, rng)
            job = Job(row - new, int(rng.choice(dims)), new, kind, length)
            shards.append(random_shard(config, job, rng, kind=KINDS[number % len(KINDS)]))
        if number % 3 == 1:
            first = 2 * int(rng.integers(len(bad) // 2))
            shards += bad[first : first + 2]
        episodes.append(
            Episode(
                shards,
                drive if number % 4 == 2 else None,
                dram if number % 2 else None,
                int(rng.choice([0, 3, 40])),
                1 if slow else int(rng.choice([1, 7, 64])),
                16 if slow else 1,
            )
        )
    return episodes


def bench(request: SimRequest) -> Inf2AcceleratorResult:
    """Run the whole bench of ``inf2-accelerator``:

    - the measured shard, and shards of other sizes with every kind of mask, at full rate
    - the measured shard with K and V at the pace of the drive, in a memory at the pace of the DRAM
    - small random jobs and errors with stalls on every channel
    - the same to a bench that takes writes only after they were offered
    - the same from random registers, with resets
    """
    config, rng = request.config, np.random.default_rng(request.seed)
    workload: AcceleratorWorkload = request.workload
    job = Job(workload.tokens - workload.new_tokens, workload.head_dim, workload.new_tokens)
    jobs = [job]
    if workload.sweep:
        for row in TOKENS:
            if row <= config.max_tokens:
                for kind in MaskKind:
                    new = min(workload.new_tokens, row)
                    jobs.append(Job(row - new, workload.head_dim, new, kind, (row + 1) // 2 if kind else 0))
    campaign = Campaign(
        request, lambda episodes, **options: simulate(config, request.verilog, episodes, top=request.module, **options)
    )
    main = random_shard(config, job, rng)
    full = campaign.run(
        "full_rate", [Episode([main, *(random_shard(config, one, rng) for one in jobs[1:])], latency=workload.latency)]
    )
    drive, dram = load_memory(workload.memory), load_memory(workload.dram)
    step = max(workload.doorbell_kib * 1024 // config.word_bytes, 1)
    paced = campaign.run(
        "memory",
        [Episode([main], None if drive.name == dram.name else drive, dram, workload.latency, step)],
        waves=True,
    )
    errors = campaign.run("errors", [Episode(bad_jobs(config, rng))], "jobs with errors")
    campaign.stress(lambda count: stress_episodes(config, rng, count))

    first, timed = full.point(0), paced.point(0)
    came = stream_arrivals(drive, max(2 * workload.tokens * config.gemv.tiles(job.head_dim), 1), config.word_bytes)
    outcomes = campaign.outcomes.values()
    return campaign.result(
        Inf2AcceleratorResult,
        cycles=first.cycles,
        ideal_cycles=first.ideal_cycles,
        utilisation=first.utilisation,
        axi_violations=sum(one.violations for one in outcomes),
        early_reads=sum(one.early for one in outcomes),
        errors=errors.errors,
        points=[full.point(n) for n in range(1, len(jobs))],
        memory_timing=AcceleratorTiming(
            **timed.model_dump(),
            memory=drive.name,
            dram=dram.name,
            time_ns=round(timed.cycles / config.clock_mhz * 1e3, 3),
            memory_time_ns=round(float(came[-1] - came[0]) * 1e-3, 3),
            stall_cycles=timed.cycles - paced.reports[0].port,
        ),
        max_abs_error=full.max_abs_error,
        rms_error=full.rms_error,
    )
