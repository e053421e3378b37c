"""Bench of ``starc-attention``: scores of centroids, programs of selections, and attention over the selected tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from ...constraints.memory import Memory, load_memory
from ...constraints.pam.pu import Step
from ...constraints.starc.attention import (
    UPDATE,
    SelectionOrder,
    StarcAttentionConfig,
    StarcAttentionResult,
    StarcAttentionWorkload,
)
from ...models.memory import Timing, time_program
from ...models.numerics import from_float64
from ...models.pam.program import MAC, attention_program, burst_arrivals, region_rows
from ...models.pam.pu import attention, key_scores, local_attention, merge
from ...models.program import Program
from ...models.starc.attention import Head, SparseAttention, sparse_attention
from ...models.starc.select import Selection, select
from ..bench.campaign import Campaign, Played, Stimulus, play_stimulus
from ..bench.request import SimRequest
from ..bench.streams import Items
from ..pam import pu as pam_pu
from . import select as starc_select

__all__ = ["Episode", "Outcome", "Part", "bench", "random_head", "reads", "simulate", "stimulus", "stress_episodes"]

#: Tags of beats of ``kv``: centroids, keys and values of attention.
CENTROID, KEY, VALUE = range(3)

#: Parts of a head's work, in the order of data: scores that select, attention; and scores that leave as results.
Work = Literal["select", "attend", "scores"]


@dataclass(frozen=True)
class Part:
    """A step of a head."""

    work: Work
    head: Head


@dataclass
class Episode:
    """Steps that follow each other.

    Attributes
    ----------
    parts : the steps
    arrival : optional integer array, one entry per K/V beat: first clock cycle in which it may be offered
    """

    parts: list[Part]
    arrival: np.ndarray | None = None


@dataclass
class Outcome(Played):
    """Outcome of a simulation of episodes. ``answers``: of the model, by episode and step."""

    config: StarcAttentionConfig = field(kw_only=True)
    episodes: list[Episode] = field(kw_only=True)
    answers: list[list[SparseAttention]] = field(kw_only=True)

    def run_figures(self) -> dict[str, int]:
        return {"cycles": sum(self.cycles(number) for number in range(len(self.episodes)))}

    def cycles(self, number: int) -> int:
        """Cycles from the first K beat of an episode to its last result beat."""
        log = self.run.epochs[number]
        return log.end_cycle - log.first_of(["kv"]) + 1

    def program_ends(self, number: int) -> np.ndarray:
        """Cycles in which the last beat of each program of an episode left."""
        beats = [
            np.array(
                [
                    len(one.selected.beats(self.config.selection)["last"])
                    for part, one in zip(episode.parts, answers, strict=True)
                    if part.work == "select"
                ],
                np.int64,
            )
            for episode, answers in zip(self.episodes, self.answers, strict=True)
        ]
        first = sum(int(one.sum()) for one in beats[:number])
        return self.run.output_cycles["program"][first + np.cumsum(beats[number]) - 1]


def _unit_episode(
    parts: Sequence[Part], answers: Sequence[SparseAttention], arrival: np.ndarray | None = None
) -> pam_pu.Episode:
    """Steps as the processing unit sees them."""
    steps, k, v = [], [], []
    for part, answer in zip(parts, answers, strict=True):
        head, attends = part.head, part.work == "attend"
        steps.append(Step(len(answer.tokens) if attends else len(head.centroids), len(head.q), scores=not attends))
        k.append(head.k[answer.tokens] if attends else head.centroids)
        v.append(head.v[answer.tokens] if attends else head.centroids)
    return pam_pu.Episode(steps, [part.head.q for part in parts], k, v, arrival)


def _answers(config: StarcAttentionConfig, episodes: Sequence[Episode]) -> list[list[SparseAttention]]:
    """Answers of the model, once for each head. A head whose scores only leave has no selection."""
    parts = [part for episode in episodes for part in episode.parts]
    whole = {id(part.head) for part in parts if part.work != "scores"}
    kept: dict[int, SparseAttention] = {}
    none = np.zeros(0, np.int64)
    for head in (part.head for part in parts):
        if id(head) not in kept and id(head) in whole:
            kept[id(head)] = sparse_attention(config, head)
        elif id(head) not in kept:
            kept[id(head)] = SparseAttention(
                Selection(key_scores(config.processing, head.q, head.centroids), head.sizes, 0),
                select(config.selection, Selection(none, none, 0)),
                none,
                local_attention(config.processing, head.q, head.k[:0], head.v[:0]),
            )
    return [[kept[id(part.head)] for part in episode.parts] for episode in episodes]


def stimulus(
    config: StarcAttentionConfig, episodes: Sequence[Episode], answers: Sequence[Sequence[SparseAttention]]
) -> Stimulus:
    """Inputs of episodes, and the results and programs of the model."""
    processing = config.processing
    units = [_unit_episode(one.parts, found, one.arrival) for one, found in zip(episodes, answers, strict=True)]
    flat = [
        (part, answer)
        for one, found in zip(episodes, answers, strict=True)
        for part, answer in zip(one.parts, found, strict=True)
    ]
    scores = [answer.selection.scores[None] for part, answer in flat if part.work != "attend"]
    given = pam_pu.stimulus(
        processing, units, [answer.partials for part, answer in flat if part.work == "attend"], scores
    )
    commands = processing.command_layout.unpack(given.items["command"].payload)
    items = dict(given.items)
    items["command"] = replace(
        items["command"],
        payload=config.command_layout.pack(
            commands, selects=np.array([part.work == "select" for part, _ in flat], np.int64)
        ),
    )
    tags = []
    for one in units:
        beats = processing.beats(one.steps)
        alone = np.array([step.scores for step in one.steps])[beats["step"]] if len(beats) else np.zeros(0, bool)
        tags.append(np.where(alone, CENTROID, np.where(beats["value"] == 1, VALUE, KEY)))
    items["kv"] = replace(items["kv"], tag=np.concatenate(tags))

    chosen = [
        [answer for part, answer in zip(one.parts, found, strict=True) if part.work == "select"]
        for one, found in zip(episodes, answers, strict=True)
    ]
    programs = starc_select.stimulus(
        config.selection,
        [[one.selection for one in some] for some in chosen],
        [[one.selected for one in some] for some in chosen],
    )
    items["selection"] = programs.items["command"]
    sizes = config.selection.cluster_layout.unpack(programs.items["cluster"].payload)["size"]
    items["size"] = Items.of(config.size_layout.pack(size=sizes), epoch=programs.items["cluster"].epoch)

    # Results are those of the processing unit, without the scores that select.
    leaves = [
        [pair for pair in zip(one.parts, found, strict=True) if pair[0].work != "select"]
        for one, found in zip(episodes, answers, strict=True)
    ]
    out = pam_pu.stimulus(
        processing,
        [_unit_episode([part for part, _ in some], [answer for _, answer in some]) for some in leaves],
        [answer.partials for part, answer in flat if part.work == "attend"],
        [answer.selection.scores[None] for part, answer in flat if part.work == "scores"],
    )

    def part_name(stream: str, epoch: int, at: int) -> str:
        one = programs if stream == "program" else out
        assert one.part is not None
        return one.part(stream, epoch, at)

    return Stimulus(
        items,
        {"result": out.expected["result"], "program": programs.expected["program"]},
        {"result": out.targets["result"], "program": programs.targets["program"]},
        work=(given.work or 0) + (programs.work or 0),
        part=part_name,
    )


def simulate(
    config: StarcAttentionConfig,
    verilog: str,
    episodes: Sequence[Episode],
    *,
    top: str = "starc_attention",
    **options: Any,
) -> Outcome:
    """Run episodes through the RTL and compare every beat with the functional model. ``options`` and errors are as of
    :func:`play_stimulus`."""
    answers = _answers(config, episodes)
    played = play_stimulus(config, verilog, top, stimulus(config, episodes, answers), **options)
    return Outcome(**vars(played), config=config, episodes=list(episodes), answers=answers)


# ---- Data ---------------------------------------------------------------------------------------------------------------


def random_head(
    config: StarcAttentionConfig,
    clusters: int,
    budget: int,
    recent: int,
    tokens: int,
    head_dim: int,
    rng: np.random.Generator,
    *,
    kind: str = "normal",
) -> Head:
    """A head with ``tokens`` tokens in clusters. Keys lie around the centres of their clusters, and a centroid is the mean
    of its keys. Other kinds are as of :func:`bankside.cosim.pam.pu.random_episode`."""
    io = config.processing.io
    shaped = starc_select.random_selection(config.selection, clusters, budget, recent, tokens, rng)
    if kind != "normal":
        one = pam_pu.random_episode(
            config.processing, [Step(clusters, head_dim), Step(tokens + recent, head_dim)], rng, kind=kind
        )
        return Head(one.q[0], one.k[0], shaped.sizes, one.k[1], one.v[1], budget, shaped.row, shaped.mask)
    centres = rng.normal(size=(clusters, head_dim))
    keys = np.repeat(centres, shaped.sizes, axis=0) + 0.5 * rng.normal(size=(tokens, head_dim))
    sums = np.zeros((clusters, head_dim))
    np.add.at(sums, np.repeat(np.arange(clusters), shaped.sizes), keys)
    means = np.where(shaped.sizes[:, None] > 0, sums / np.maximum(shaped.sizes, 1)[:, None], centres)
    keys = np.concatenate([keys, rng.normal(size=(recent, head_dim))])
    q, centroids, k, v = (
        from_float64(values, io)
        for values in (rng.normal(size=head_dim) * head_dim**-0.5, means, keys, rng.normal(size=keys.shape))
    )
    return Head(q, centroids, shaped.sizes, k, v, budget, shaped.row, shaped.mask)


def measured_head(config: StarcAttentionConfig, workload: StarcAttentionWorkload, rng: np.random.Generator) -> Head:
    """A head of a workload."""
    return random_head(
        config,
        workload.clusters,
        workload.budget,
        workload.recent,
        workload.clusters * workload.cluster_tokens,
        workload.head_dim,
        rng,
    )


def stress_episodes(config: StarcAttentionConfig, rng: np.random.Generator, count: int) -> list[Episode]:
    """Small random steps that follow each other: scores that select and scores that leave, with and without clusters, and
    attention; numbers of every kind."""
    most, lanes = config.selection.max_tokens, config.processing.lanes
    kinds = ("normal", "normal", "bits", "special", "wide", "equal")
    dims = [dim for dim in (lanes, 2 * lanes, 64, 128) if dim % lanes == 0 and dim <= config.processing.max_head_dim]
    episodes = []
    for number in range(count):
        heads = []
        for _ in range(int(rng.integers(1, 4))):
            clusters = int(rng.choice([0, 1, *rng.integers(0, min(config.selection.clusters, 40) + 1, 4)]))
            spare = (config.selection.unit_tokens - 1) * clusters if config.selection.padded else 0
            tokens = int(rng.integers(max(min(most, 8 * clusters) - spare, 0) + 1)) if clusters else 0
            if spare > most:
                clusters, tokens = 0, 0
            recent = int(rng.integers(min(max(most - spare - tokens, 0), 12) + 1))
            budget = int(rng.choice([0, 1, int(rng.integers(tokens + 1)), min(2 * tokens, most)]))
            heads.append(
                random_head(
                    config,
                    clusters,
                    budget,
                    recent,
                    tokens,
                    int(rng.choice(dims)),
                    rng,
                    kind=kinds[number % len(kinds)],
                )
            )
        works: list[Work] = ["select", "attend", "scores"]
        parts = [Part(works[int(place)], head) for head in heads for place in rng.permutation(3)[: rng.integers(1, 4)]]
        # The results of the last step come after all inputs.
        episodes.append(Episode([*(parts[place] for place in rng.permutation(len(parts))), Part("attend", heads[0])]))
    return episodes


# ---- Memory -------------------------------------------------------------------------------------------------------------


def reads(
    config: StarcAttentionConfig, device: Memory, steps: Sequence[Step], waits: Sequence[int], gap_cycles: int
) -> Timing:
    """Timing of the reads of steps, each from rows of its own. Before a step the memory waits at least ``waits`` cycles."""
    processing, program, row = config.processing, Program(), 0
    pace = pam_pu.burst_cycles(processing.model_copy(update={"clock_mhz": config.clock_mhz}), device, steps)
    for step, wait in zip(steps, waits, strict=True):
        if wait:
            program.wait(wait)
        program.extend(
            attention_program(processing, device, [step], key_row=row, gap_cycles=gap_cycles, burst_cycles=pace)
        )
        row += region_rows(processing, device, step.tokens, step.head_dim) * (1 if step.scores else 2)
    return time_program(program, device)


def _first_reads(config: StarcAttentionConfig, steps: Sequence[Step], arrival: np.ndarray) -> np.ndarray:
    """Arrival of the first and of the last beat of each step: ``(steps, 2)``."""
    step = config.processing.beats(steps)["step"]
    first = np.searchsorted(step, np.arange(len(steps)))
    last = np.searchsorted(step, np.arange(len(steps)), side="right") - 1
    return np.stack([arrival[first], arrival[last]], axis=1)


def _in_order(
    campaign: Campaign[Outcome], request: SimRequest, name: str, parts: list[Part]
) -> tuple[SelectionOrder, Outcome]:
    """Simulate parts at the cycles of the memory. Reads of attention wait for the head's program.

    A first run, without such waits, gives the cycles in which programs end.
    """
    config: StarcAttentionConfig = request.config
    device = load_memory(request.workload.memory)
    scale = config.clock_mhz * device.clock_ps / 1e6  # clocks of the unit in a cycle of the memory
    gap = int(np.ceil(request.latency["last_k_to_first_v"] / scale))
    unit = _unit_episode(parts, _answers(config, [Episode(parts)])[0])

    def timed(waits: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Cycle of the unit in which each beat arrives; cycle of the memory in which each step's first read is issued."""
        timing = reads(config, device, unit.steps, waits, gap)
        arrival = burst_arrivals(config.processing, device, unit.steps, timing)
        issued = _first_reads(config, unit.steps, arrival) - device.command(MAC).latency
        return np.ceil(arrival * scale - 1e-9).astype(np.int64), issued

    waits = [0] * len(parts)
    arrival, _ = timed(waits)
    text = f"data at the cycles of {device.name}"
    free = campaign.run(f"{name}_free", [Episode(parts, arrival)], f"{text}, reads that know the selection")
    selects = [n for n, part in enumerate(parts) if part.work == "select"]
    ends = dict(zip((id(parts[n].head) for n in selects), free.program_ends(0), strict=True))
    for n, part in enumerate(parts):
        if part.work == "attend":
            # A wait delays the next command of the memory. Its rows open only then.
            _, issued = timed(waits)
            before = issued[n - 1, 1]
            due = int(np.ceil((ends[id(part.head)] + 1) / scale))
            waits[n] = max(due - int(before), 0) if issued[n, 0] < due else 0
    if not any(waits):
        paced = free
    else:
        arrival, _ = timed(waits)
        paced = campaign.run(name, [Episode(parts, arrival)], f"{text}, reads that wait for the program", waves=True)
    ends_now = dict(zip((id(parts[n].head) for n in selects), paced.program_ends(0), strict=True))
    _, issued = timed(waits)
    for n, part in enumerate(parts):
        if part.work == "attend":
            paced.require(
                ends_now[id(part.head)] < issued[n, 0] * scale, f"{name}: step {n} is read before its program has ended"
            )
    heads = len({id(part.head) for part in parts})
    exposed = paced.cycles(0) - free.cycles(0)
    return SelectionOrder(heads=heads, cycles=paced.cycles(0), exposed_cycles=exposed, share_of_attention=0.0), paced


def bench(request: SimRequest) -> StarcAttentionResult:
    """Run the whole bench of ``starc-attention``. Each run is compared beat by beat:

    - a head with data at every clock
    - the same at the cycles of the memory, without waits and with reads that wait for the program
    - three heads, whose centroids are read before the attention of the head before
    - an update of clusters: scores that leave as results
    - small random steps with all kinds of numbers and stalls on every stream
    - the same with outputs that become ready only after they were valid
    - the same from random registers, with resets
    """
    config, rng = request.config, np.random.default_rng(request.seed)
    workload: StarcAttentionWorkload = request.workload
    heads = [measured_head(config, workload, rng) for _ in range(3)]
    head = heads[0]
    campaign = Campaign(
        request, lambda episodes, **options: simulate(config, request.verilog, episodes, top=request.module, **options)
    )
    alone = [Part("select", head), Part("attend", head)]
    full = campaign.run("full_rate", [Episode(alone)])
    single, paced = _in_order(campaign, request, "memory", alone)
    order = [Part("select", heads[0])]
    for n, one in enumerate(heads):
        order += [*([Part("select", heads[n + 1])] if n + 1 < len(heads) else []), Part("attend", one)]
    several, _ = _in_order(campaign, request, "interleaved", order)
    update = _update(campaign, config, workload.head_dim, rng)
    campaign.stress(lambda count: stress_episodes(config, rng, count))

    answer = full.answers[0][0]
    log, timed = full.run.epochs[0], paced.run.epochs[0]
    attention_cycles = timed.end_cycle - int(timed.first["kv"][KEY]) + 1
    single, several = (
        one.model_copy(update={"share_of_attention": round(one.exposed_cycles / (attention_cycles * one.heads), 6)})
        for one in (single, several)
    )
    _, total, output = merge(config.processing, answer.partials)
    error = np.abs(output / total - attention(config.processing, head.q, head.k[answer.tokens], head.v[answer.tokens]))
    ideal = int(log.moved["kv"].sum())
    cycles = full.cycles(0)
    return campaign.result(
        StarcAttentionResult,
        cycles=cycles,
        ideal_cycles=ideal,
        utilisation=round(ideal / cycles, 6),
        stall_cycles=int(log.stalled["kv"][CENTROID]),
        selected=int((answer.selected.tokens > 0).sum()),
        wanted=len(answer.tokens),
        fetched=int(answer.selected.length.sum()) * config.selection.unit_tokens,
        commands=len(answer.selected.commands),
        memory=load_memory(workload.memory).name,
        score_cycles=int(timed.last["kv"][CENTROID] - timed.first["kv"][CENTROID]) + 1,
        tail_cycles=int(paced.program_ends(0)[0] - timed.last["kv"][CENTROID]),
        attention_cycles=attention_cycles,
        share_of_attention=single.share_of_attention,
        alone=single,
        interleaved=several,
        max_abs_error=float(error.max()),
        update_cycles=update,
        update_ideal_cycles=UPDATE.clocks(config.processing, workload.head_dim),
    )


def _update(campaign: Campaign[Outcome], config: StarcAttentionConfig, head_dim: int, rng: np.random.Generator) -> int:
    """Clocks of an update of clusters. An iteration needs the scores of the one before, so each has its own epoch."""
    keys = from_float64(rng.normal(size=(UPDATE.keys, head_dim)), config.processing.io)
    none = np.zeros((0, head_dim), np.int64)
    episodes = []
    for _ in range(UPDATE.iterations):
        means = from_float64(rng.normal(size=(UPDATE.clusters, head_dim)), config.processing.io)
        # The centroid is the query. A head without tokens has no attention.
        episodes.append(
            Episode([Part("scores", Head(mean, keys, np.zeros(len(keys), np.int64), none, none, 0)) for mean in means])
        )
    outcome = campaign.run("update", episodes, "keys of an update of clusters")
    return sum(outcome.cycles(number) for number in range(len(episodes)))
