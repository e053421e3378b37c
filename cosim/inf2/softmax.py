"""Bench of ``inf2-softmax``: weights of rows with every kind of mask, compared bit for bit with the functional model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...constraints.core.contract import Layout
from ...constraints.inf2.softmax import MASKS, Inf2SoftmaxConfig, Inf2SoftmaxResult, SoftmaxPoint, SoftmaxWorkload
from ...models.numerics import from_float64, to_float64
from ...models.numerics.softmax import SoftmaxParts, masked_scores, softmax_parts, softmax_reference
from ..bench.campaign import Campaign, Played, Stimulus, play_stimulus
from ..bench.request import SimRequest
from ..bench.streams import Items
from ..pam.pu import special_numbers

__all__ = [
    "Outcome",
    "SoftmaxRow",
    "bench",
    "lengths",
    "random_mask",
    "random_row",
    "random_rows",
    "simulate",
    "stimulus",
    "stress_episodes",
]

#: Kinds of random data.
KINDS = ("normal", "wide", "bits", "special", "equal")
#: Lengths of rows that are measured too.
TOKENS = (1, 31, 32, 33, 1024, 32768, 131072)
#: Rows of a length follow each other until there are about so many beats.
BEATS = 32


@dataclass
class SoftmaxRow:
    """A row of scores.

    Attributes
    ----------
    scores : integer array ``(tokens,)``, bits
    valid : bool array ``(tokens,)``; False: masked
    """

    scores: np.ndarray
    valid: np.ndarray


@dataclass
class Outcome(Played):
    """Outcome of a simulation of episodes, with the error of all weights against binary64."""

    config: Inf2SoftmaxConfig = field(kw_only=True)
    episodes: list[list[SoftmaxRow]] = field(kw_only=True)
    max_abs_error: float = field(kw_only=True)
    rms_error: float = field(kw_only=True)

    def point(self, number: int) -> SoftmaxPoint:
        """Figures of an episode whose rows have one length."""
        log, rows = self.run.epochs[number], self.episodes[number]
        beats = self.config.rule.beats(len(rows[0].scores))
        counts = [sum(self.config.rule.beats(len(row.scores)) for row in episode) for episode in self.episodes]
        results = self.run.output_cycles["result"][sum(counts[:number]) :][: counts[number]]
        first, ideal = log.first_of(["score"]), len(rows) * beats
        cycles, steady = log.end_cycle - first + 1, int(results[-1] - results[0]) + 1
        return SoftmaxPoint(
            tokens=len(rows[0].scores),
            rows=len(rows),
            cycles=cycles,
            steady_cycles=steady,
            ideal_cycles=ideal,
            utilisation=round(ideal / cycles, 6),
            steady=round(ideal / steady, 6),
            rows_per_clock=round(len(rows) / steady, 8),
            latency_cycles=int(results[0]) - first - (beats - 1),
        )

    def stall_cycles(self, number: int) -> int:
        return int(self.run.epochs[number].stalled["score"].sum())


def stimulus(config: Inf2SoftmaxConfig, episodes: Sequence[Sequence[SoftmaxRow]]) -> Stimulus:
    """Rows of episodes, and the results of the model."""
    rule = config.rule
    rows = [row for episode in episodes for row in episode]
    epochs = np.repeat(np.arange(len(episodes)), [len(episode) for episode in episodes])
    parts = [softmax_parts(row.scores, row.valid, rule) for row in rows]
    beats = np.array([rule.beats(len(row.scores)) for row in rows], np.int64)
    ends = np.zeros(int(beats.sum()), np.int64)
    ends[np.cumsum(beats) - 1] = 1
    of_beats = np.repeat(epochs, beats)

    def filled(array: np.ndarray) -> np.ndarray:
        """Lanes behind the last token: all ones. The unit must not use them."""
        out = np.full(rule.beats(len(array)) * rule.lanes, -1, np.int64)
        out[: len(array)] = array
        return out.reshape(-1, rule.lanes)

    data = np.concatenate([filled(row.scores) for row in rows]) & ((1 << rule.score.width) - 1)
    mask = np.concatenate([filled(~row.valid) for row in rows]) & 1
    tokens = np.array([len(row.scores) for row in rows], np.int64)
    items = {
        "row": Items.of(config.row_layout.pack(tokens=tokens), epoch=epochs),
        "score": Items.of(config.score_layout.pack(data=data, mask=mask), epoch=of_beats),
    }

    def packed(layout: Layout, arrays: list[np.ndarray]) -> np.ndarray:
        return layout.pack(data=np.concatenate(arrays).reshape(-1, rule.lanes), last=ends)

    counts = np.bincount(epochs, beats, len(episodes)).astype(np.int64)
    expected, targets = {}, {}
    if config.streamed:
        kept = {
            "score": packed(config.kept_scores_layout, [masked_scores(row.scores, row.valid, rule) for row in rows])
        }
        if config.divides:
            kept["weight"] = packed(config.result_layout, [one.weights for one in parts])
        for name, payloads in kept.items():
            items[f"again_{name}"] = Items.of(payloads, epoch=of_beats)
            expected[f"kept_{name}"], targets[f"kept_{name}"] = payloads, counts
    if not config.divides:
        expected["sum"] = config.sum_layout.pack(
            maximum=np.array([one.maximum for one in parts], np.int64),
            sum=np.array([one.sum for one in parts], np.int64),
        )
        targets["sum"] = np.bincount(epochs, minlength=len(episodes)).astype(np.int64)
    expected["result"], targets["result"] = packed(config.result_layout, [one.result for one in parts]), counts

    def part(name: str, epoch: int, at: int) -> str:
        for number, row in enumerate(episodes[epoch]):
            count = 1 if name == "sum" else rule.beats(len(row.scores))
            if at < count:
                return f"row {number} ({len(row.scores)} tokens), beat {at}"
            at -= count
        raise IndexError(at)

    return Stimulus(items, expected, targets, part=part)


def simulate(
    config: Inf2SoftmaxConfig,
    verilog: str,
    episodes: Sequence[Sequence[SoftmaxRow]],
    *,
    top: str = "inf2_softmax",
    **options: Any,
) -> Outcome:
    """Run episodes through the RTL and compare every beat with the functional model. ``options`` and errors are as of
    :func:`play_stimulus`."""
    played = play_stimulus(config, verilog, top, stimulus(config, episodes), **options)
    errors = [np.zeros(0), *(_error(config, row) for episode in episodes for row in episode)]
    error = np.concatenate(errors)
    return Outcome(
        **vars(played),
        config=config,
        episodes=[list(episode) for episode in episodes],
        max_abs_error=float(error.max(initial=0.0)),
        rms_error=float(np.sqrt(np.mean(error**2))) if len(error) else 0.0,
    )


def _error(config: Inf2SoftmaxConfig, row: SoftmaxRow) -> np.ndarray:
    """Errors of the weights of a row after division; none for a row whose exact weights are not all numbers."""
    rule = config.rule
    parts: SoftmaxParts = softmax_parts(row.scores, row.valid, rule)
    got = to_float64(parts.result, rule.io)[: len(row.scores)]
    with np.errstate(all="ignore"):
        if not config.divides:
            got = got / to_float64(parts.sum, rule.acc)
        error = np.abs(got - softmax_reference(row.scores, row.valid, rule))
    return error if np.isfinite(error).all() else np.zeros(0)


def random_mask(tokens: int, rng: np.random.Generator, kind: str) -> np.ndarray:
    """Which tokens are valid, by a kind of :data:`MASKS`."""
    valid = np.ones(tokens, bool)
    at = int(rng.integers(tokens))
    if kind == "right":
        valid[at + 1 :] = False
    elif kind == "left":
        valid[:at] = False
    elif kind == "latest":
        valid[:-1] = False
    elif kind == "any":
        valid = rng.random(tokens) < 0.7
    elif kind == "all":
        valid[:] = False
    return valid


def random_row(
    config: Inf2SoftmaxConfig, tokens: int, rng: np.random.Generator, *, kind: str = "normal", mask: str = "none"
) -> SoftmaxRow:
    """Random scores of one ``kind``:

    - ``normal`` (as in a language model: a few units apart)
    - ``wide`` (magnitudes over the whole range)
    - ``bits`` (any bit pattern, NaN and infinities included)
    - ``special`` (corner values only)
    - ``equal`` (one number)
    """
    fmt = config.rule.score
    if kind == "bits":
        scores = rng.integers(0, 1 << fmt.width, tokens)
    elif kind == "special":
        scores = rng.choice(special_numbers(fmt), tokens)
    elif kind == "equal":
        scores = np.full(tokens, from_float64(rng.normal(), fmt))  # type: ignore[arg-type]
    else:
        value = rng.normal(size=tokens) * 3
        if kind == "wide":
            value = value * 2.0 ** rng.uniform(1 - fmt.bias - fmt.fraction_bits, fmt.bias - 2, tokens)
        scores = from_float64(value, fmt)
    return SoftmaxRow(scores, random_mask(tokens, rng, mask))


def random_rows(config: Inf2SoftmaxConfig, tokens: int, rows: int, rng: np.random.Generator) -> list[SoftmaxRow]:
    """Rows of one length: scores as in a language model, with every kind of mask in turn."""
    return [random_row(config, tokens, rng, mask=MASKS[number % len(MASKS)]) for number in range(rows)]


def stress_episodes(config: Inf2SoftmaxConfig, rng: np.random.Generator, count: int) -> list[list[SoftmaxRow]]:
    """Small random rows with all kinds of data and masks: lengths around whole beats, and now and then the longest row."""
    lanes = config.lanes
    sizes = sorted({1, 2, lanes - 1, lanes, lanes + 1, 2 * lanes + 3, 4 * lanes, 7 * lanes - 1})
    sizes = [n for n in sizes if 1 <= n <= config.max_tokens]
    if config.rule.beats(config.max_tokens) <= 64:
        sizes.append(config.max_tokens)
    return [
        [
            random_row(
                config,
                int(rng.choice(sizes)),
                rng,
                kind=KINDS[(number + n) % len(KINDS)],
                mask=MASKS[int(rng.integers(len(MASKS)))],
            )
            for n in range(int(rng.integers(1, 9)))
        ]
        for number in range(count)
    ]


def lengths(config: Inf2SoftmaxConfig) -> list[int]:
    """Lengths of rows that are measured."""
    return [tokens for tokens in TOKENS if tokens <= config.max_tokens]


def bench(request: SimRequest) -> Inf2SoftmaxResult:
    """Run the whole bench of ``inf2-softmax``. Each run is compared beat by beat:

    - the measured rows, and rows of other lengths, at full rate, with every kind of mask
    - small random rows with all kinds of data and stalls on every stream
    - the same with results that become ready only after they were valid
    - the same from random registers, with resets
    """
    config, rng = request.config, np.random.default_rng(request.seed)
    workload: SoftmaxWorkload = request.workload
    works = [workload.tokens, *(lengths(config) if workload.sweep else [])]
    campaign = Campaign(
        request, lambda episodes, **options: simulate(config, request.verilog, episodes, top=request.module, **options)
    )
    full = campaign.run(
        "full_rate",
        [
            random_rows(config, tokens, workload.rows * max(BEATS // config.rule.beats(tokens), 1), rng)
            for tokens in works
        ],
        waves=True,
    )
    campaign.stress(lambda count: stress_episodes(config, rng, count))
    measured, *others = (full.point(n) for n in range(len(works)))
    return campaign.result(
        Inf2SoftmaxResult,
        cycles=measured.cycles,
        ideal_cycles=measured.ideal_cycles,
        stall_cycles=full.stall_cycles(0),
        utilisation=measured.utilisation,
        steady=measured.steady,
        rows_per_clock=measured.rows_per_clock,
        latency_cycles=measured.latency_cycles,
        points=others,
        max_abs_error=full.max_abs_error,
        rms_error=full.rms_error,
    )
