"""Bench of ``starc-select``: programs of selections, compared word by word with the functional model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...constraints.pam.pu import Step
from ...constraints.starc.select import SelectWorkload, StarcSelectConfig, StarcSelectResult
from ...models.numerics import from_float64
from ...models.starc.select import Selected, Selection, select
from ..bench.campaign import Campaign, Played, Stimulus, play_stimulus
from ..bench.request import SimRequest
from ..bench.streams import Items
from ..pam import pu as pam_pu

__all__ = [
    "KINDS",
    "Outcome",
    "bench",
    "measured_selection",
    "random_selection",
    "simulate",
    "stimulus",
    "stress_episodes",
]

#: Kinds of random scores.
KINDS = ("normal", "bits", "ties", "special")


@dataclass
class Outcome(Played):
    """Outcome of a simulation of episodes, lists of selections that follow each other."""

    config: StarcSelectConfig = field(kw_only=True)
    episodes: list[list[Selection]] = field(kw_only=True)
    selected: list[list[Selected]] = field(kw_only=True)

    def tail(self, number: int) -> int:
        """Clocks from the last score (or the command, without clusters) to the last beat of an episode's program."""
        log = self.run.epochs[number]
        return log.end_cycle - log.last_of(["cluster"] if log.moved["cluster"].any() else ["command"])


def stimulus(
    config: StarcSelectConfig,
    episodes: Sequence[Sequence[Selection]],
    selected: Sequence[Sequence[Selected]],
    pace: int = 1,
) -> Stimulus:
    """Commands and clusters of episodes, and the programs of the model. Scores come ``pace`` clocks apart."""
    flat = [one for episode in episodes for one in episode]
    epochs = np.repeat(np.arange(len(episodes)), [len(episode) for episode in episodes])
    counts = np.array([len(one.sizes) for one in flat], np.int64)
    columns = {
        name: np.array([getattr(one, name) for one in flat], np.int64) for name in ("budget", "recent", "row", "mask")
    }
    of_cluster = np.repeat(epochs, counts)
    # Place of each cluster in its epoch.
    place = np.arange(len(of_cluster)) - np.searchsorted(of_cluster, of_cluster)
    items = {
        "command": Items.of(config.command_layout.pack(clusters=counts, **columns), epoch=epochs),
        "cluster": Items.of(
            config.cluster_layout.pack(
                score=np.concatenate([np.empty(0, np.int64), *(one.scores for one in flat)]),
                size=np.concatenate([np.empty(0, np.int64), *(one.sizes for one in flat)]),
            ),
            epoch=of_cluster,
            cycle=place * pace if pace > 1 else 0,
        ),
    }
    outputs = [one.beats(config) for episode in selected for one in episode]
    beats = np.array([len(one["last"]) for one in outputs], np.int64)
    none = {
        name: np.zeros((0, *more), np.int64)
        for name, more in (("data", (config.output_words,)), ("last", ()), ("short", ()))
    }
    expected = config.program_layout.pack(
        {name: np.concatenate([none[name], *(one[name] for one in outputs)]) for name in none}
    )

    def part(_: str, epoch: int, at: int) -> str:
        for number in np.flatnonzero(epochs == epoch):
            if at < beats[number]:
                return f"selection {number} ({counts[number]} clusters, budget {flat[number].budget}), beat {at}"
            at -= int(beats[number])
        raise IndexError(at)

    targets = np.bincount(epochs, beats, len(episodes)).astype(np.int64)
    # A list, passes of radix, and programs take longer than the items of an episode say.
    work = sum(len(one.payload) for one in items.values()) * (config.digits + 2) + config.digits * 128 * len(flat)
    return Stimulus(items, {"program": expected}, {"program": targets}, work=work, part=part)


def simulate(
    config: StarcSelectConfig,
    verilog: str,
    episodes: Sequence[Sequence[Selection]],
    *,
    top: str = "starc_select",
    pace: int = 1,
    **options: Any,
) -> Outcome:
    """Run episodes through the RTL and compare every beat with the functional model. ``options`` and errors are as of
    :func:`play_stimulus`."""
    selected = [[select(config, one) for one in episode] for episode in episodes]
    played = play_stimulus(config, verilog, top, stimulus(config, episodes, selected, pace), **options)
    return Outcome(**vars(played), config=config, episodes=[list(one) for one in episodes], selected=selected)


def random_selection(
    config: StarcSelectConfig,
    clusters: int,
    budget: int,
    recent: int,
    tokens: int,
    rng: np.random.Generator,
    *,
    kind: str = "normal",
) -> Selection:
    """Random scores of one ``kind``, and clusters that have ``tokens`` tokens in all.

    - ``normal``: unit variance
    - ``bits``: any bit pattern, NaN and infinities included
    - ``ties``: few different scores
    - ``special``: corner values only, zeros of both signs included
    """
    fmt = config.score
    if kind == "bits":
        scores = rng.integers(0, 1 << fmt.width, clusters)
    elif kind == "special":
        scores = rng.choice(pam_pu.special_numbers(fmt), clusters)
    else:
        scores = from_float64(rng.normal(size=clusters), fmt)
        if kind == "ties" and clusters:
            scores = rng.choice(scores[: max(clusters // 5, 1)], clusters)
    shares = rng.gamma(2.0, size=clusters)
    sizes = rng.multinomial(tokens, shares / shares.sum()) if clusters else np.zeros(0, np.int64)
    operands = config.encoding.operands
    return Selection(
        np.asarray(scores, np.int64),
        np.asarray(sizes, np.int64),
        budget,
        recent,
        int(rng.integers((1 << operands["row"]) - config.max_row_span + 1)),
        int(rng.integers(1 << min(operands["mask"], 62))),
    )


def measured_selection(config: StarcSelectConfig, workload: SelectWorkload, rng: np.random.Generator) -> Selection:
    """The selection of a workload."""
    return random_selection(
        config, workload.clusters, workload.budget, workload.recent, workload.clusters * workload.cluster_tokens, rng
    )


def stress_episodes(config: StarcSelectConfig, rng: np.random.Generator, count: int) -> list[list[Selection]]:
    """Small random selections that follow each other, of all kinds of scores. Stores are empty, full or between; budgets
    are 0, end within the first cluster, or go beyond all tokens."""
    most = config.max_tokens
    out = []
    for number in range(count):
        episode = []
        for _ in range(int(rng.integers(1, 4))):
            clusters = int(rng.choice([0, 1, config.clusters, *rng.integers(0, min(config.clusters, 64) + 1, 5)]))
            spare = (config.unit_tokens - 1) * clusters if config.padded else 0
            tokens = int(rng.integers(max(most - spare, 0) // 2 + 1)) if clusters else 0
            recent = int(rng.choice(np.array([0, rng.integers(max(most - spare - tokens, 0) // 4 + 1)])))
            budget = int(rng.choice(np.array([0, 1, rng.integers(most + 1), rng.integers(tokens // 2 + 1)])))
            if config.padded and spare > most:
                clusters, tokens = 0, 0
            episode.append(
                random_selection(config, clusters, budget, recent, tokens, rng, kind=KINDS[number % len(KINDS)])
            )
        out.append(episode)
    return out


def bench(request: SimRequest) -> StarcSelectResult:
    """Run the whole bench of ``starc-select``. Each run is compared beat by beat:

    - the measured selection, with a score at every clock
    - the same with scores at the pace at which ``pam-pu`` takes keys, beside attention over the tokens it selects
    - small random selections with all kinds of scores and stalls on every stream
    - the same with a program that becomes ready only after it was valid
    - the same from random registers, with resets
    """
    config, rng = request.config, np.random.default_rng(request.seed)
    workload: SelectWorkload = request.workload
    measured = measured_selection(config, workload, rng)
    outcome = select(config, measured)
    wanted = int(outcome.tokens.sum()) + workload.recent
    campaign = Campaign(
        request, lambda episodes, **options: simulate(config, request.verilog, episodes, top=request.module, **options)
    )
    full = campaign.run("full_rate", [[measured]], waves=True)
    beside: dict[str, Any] = dict.fromkeys(
        ("paced_tail_cycles", "score_cycles", "attention_cycles", "share_of_attention")
    )
    if workload.attention != "none" and not request.quick:
        pu = request.part("pam-pu", workload.attention)
        request.progress(f"simulating: attention over {wanted} tokens in pam-pu")
        attention = pam_pu.simulate(
            pu.config,
            pu.verilog,
            [pam_pu.random_episode(pu.config, [Step(wanted, workload.head_dim)], rng)],
            top=pu.module,
            seed=request.seed,
        )
        # Keys of a tile follow each other without a pause, one a `pace`.
        pace, scale = pu.config.chunks(workload.head_dim), config.clock_mhz / pu.config.clock_mhz
        paced = campaign.run("paced", [[measured]], "scores at the pace of keys", pace=max(round(pace * scale), 1))
        beside = {
            "paced_tail_cycles": paced.tail(0),
            "score_cycles": workload.clusters * pace,
            "attention_cycles": attention.cycles,
            "share_of_attention": round(paced.tail(0) / scale / attention.cycles, 6),
        }
    campaign.stress(lambda count: stress_episodes(config, rng, count))
    log = full.run.epochs[0]
    begin = log.first_of(["cluster"]) if workload.clusters else 0
    cycles = log.end_cycle - begin + 1
    return campaign.result(
        StarcSelectResult,
        cycles=cycles,
        ideal_cycles=workload.clusters,
        stall_cycles=log.last_of(["cluster"]) - begin + 1 - workload.clusters if workload.clusters else 0,
        utilisation=round(workload.clusters / cycles, 6),
        tail_cycles=full.tail(0),
        selected=int((outcome.tokens > 0).sum()),
        wanted=wanted,
        fetched=int(outcome.length.sum()) * config.unit_tokens,
        commands=len(outcome.commands),
        **beside,
    )
