"""Exchangeable sources of sparsity: the tokens that a decode step activates, and their scores.

A source reads the block table. It answers with a mask over its storage and a score for each active token. PAM (MICRO
2025) takes both from a published sparsity method at 8 times compression, but is ambiguous about the method. Therefore
this module replays traces of any method and fits a synthetic source to them.

Trace files are JSON Lines. The first line is the header::

    {"format": "bankside-attention-trace", "version": 1, "requests": 2}

Every other line is one decode step of one request. It has the number of the request, the number of tokens in its
context (the new token included), and the active tokens, counted from 0. If their scores are known, it has them too.
Scores are attention weights averaged over heads and layers::

    {"request": 0, "context": 512, "tokens": [0, 3, 511], "scores": [0.2, 0.1, 0.7]}

Steps of a request follow each other in the order of the file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np

from ...constraints.core.document import parse_json
from ...constraints.core.errors import ConfigError
from ...constraints.core.workspace import reading, writing
from .placement import KvTable

__all__ = [
    "Activation",
    "DenseSource",
    "Locality",
    "ReplaySource",
    "SparsitySource",
    "SyntheticSource",
    "TraceStep",
    "fit",
    "read_trace",
    "write_trace",
]

FORMAT, VERSION = "bankside-attention-trace", 1
MAX_LINE = 1 << 26


@dataclass(frozen=True)
class Activation:
    """Active tokens of one step.

    Attributes
    ----------
    active : int64 array
        Storage places, ascending.
    scores : float32 array or None
        Score of each; None: all 1.
    """

    active: np.ndarray
    scores: np.ndarray | None = None


class SparsitySource(Protocol):
    """Source of activations.

    Attributes
    ----------
    weighs : whether the importance of tokens follows their activations; without, it stays as it is
    """

    weighs: bool

    def added(self, table: KvTable, requests: np.ndarray) -> None:
        """New requests are in the table, with all tokens of their prompt."""

    def appended(self, table: KvTable, places: np.ndarray) -> None:
        """New tokens are in the table."""

    def settle(self, table: KvTable) -> None:
        """Set the importance of the tokens before the first step, if the source knows it."""

    def step(self, table: KvTable) -> Activation:
        """The tokens that the next decode step activates."""


class DenseSource:
    """Every token, at every step. All tokens are equally important."""

    weighs = False

    def added(self, table: KvTable, requests: np.ndarray) -> None:
        pass

    def appended(self, table: KvTable, places: np.ndarray) -> None:
        pass

    def settle(self, table: KvTable) -> None:
        table.importance[: table.size] = 1

    def step(self, table: KvTable) -> Activation:
        return Activation(np.flatnonzero(table.tier[: table.size] >= 0))


@dataclass(frozen=True)
class Locality:
    """Parameters of the synthetic source. Each token has its own probability to be active at a step.

    Attributes
    ----------
    compression : :class:`float`
        Tokens over active tokens, on average; 8 in PAM (section 7.1).
    spread : :class:`float`
        Standard deviation of the logarithm of this probability before it is cut at 1: how much some tokens stand out.
    keep : :class:`float`
        Probability that a token stays as it was in the step before. Otherwise it is drawn anew. This gives locality in
        time.
    sink, recent : :class:`int`
        First and last tokens of a context that are always active.
    """

    compression: float = 8.0
    spread: float = 1.5
    keep: float = 0.8
    sink: int = 4
    recent: int = 16

    def __post_init__(self) -> None:
        for name, low, high in (
            ("compression", 1, 1e6),
            ("spread", 0, 8),
            ("keep", 0, 0.9999),
            ("sink", 0, 1 << 20),
            ("recent", 0, 1 << 20),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise ConfigError(f"{name} of the synthetic sparsity must be in {low}..{high:g}, not {value!r}")

    @property
    def forced(self) -> int:
        return self.sink + self.recent


def _mean_clipped(scale: np.ndarray, spread: float) -> np.ndarray:
    """Mean of ``min(1, scale * exp(spread * z))`` for a normal ``z``, by quadrature over 2001 quantiles."""
    edge = np.linspace(-5, 5, 2001)
    weight = np.exp(-edge * edge / 2)
    return (np.minimum(1, np.asarray(scale)[..., None] * np.exp(spread * edge)) * (weight / weight.sum())).sum(axis=-1)


class SyntheticSource:
    """Activations with locality in time, from the parameters of :class:`Locality`.

    Every token has a fixed probability ``min(1, c * exp(spread * z))``. With the factor ``c``, ``1 / compression`` of a
    request's tokens are active on average, ``sink`` and ``recent`` tokens included. From step to step a token stays as
    it was with probability ``keep``. This changes neither the mean nor the probability of any token. All scores are 1,
    so the importance of a token approaches its probability.
    """

    weighs = True

    def __init__(self, locality: Locality | None = None, seed: int = 1) -> None:
        self.locality = locality or Locality()
        self.random = np.random.default_rng(seed)
        # Mean against scale, both ascending, to look up the scale of a wanted mean.
        self._scale = np.geomspace(1e-9, 1e9, 361)
        self._mean = np.maximum.accumulate(_mean_clipped(self._scale, self.locality.spread))
        self._mean += np.arange(len(self._mean)) * 1e-15

    def scale(self, contexts: np.ndarray) -> np.ndarray:
        """Factor ``c`` for requests of these contexts; 0 where the forced tokens alone are enough."""
        a = self.locality
        contexts = np.asarray(contexts, float)
        others = np.maximum(contexts - a.forced, 1)
        mean = (contexts / a.compression - a.forced) / others
        return np.where(mean <= 0, 0.0, np.exp(np.interp(mean, self._mean, np.log(self._scale))))

    def added(self, table: KvTable, requests: np.ndarray) -> None:
        places = table.places(requests)
        self._draw(table, places, np.repeat(self.scale(table.length[requests]), table.length[requests]))

    def appended(self, table: KvTable, places: np.ndarray) -> None:
        owners = table.owners()[places]
        self._draw(table, places, self.scale(table.length[owners]))

    def _draw(self, table: KvTable, places: np.ndarray, scale: np.ndarray) -> None:
        for name, kind in (("probability", np.float32), ("was_active", bool)):
            have = table.extra.get(name)
            if have is None:
                table.extra[name] = np.zeros(len(table.tier), kind)
        chance = np.exp(np.float32(self.locality.spread) * self.random.standard_normal(len(places), np.float32))
        chance = np.minimum(chance * scale.astype(np.float32), np.float32(1))
        table.extra["probability"][places] = chance
        table.extra["was_active"][places] = self.random.random(len(places), np.float32) < chance

    def settle(self, table: KvTable) -> None:
        """Set the importance of every token to its probability, its average after many steps."""
        np.copyto(table.importance[: table.size], table.extra["probability"][: table.size])
        table.importance[self._forced(table)] = 1

    def _forced(self, table: KvTable) -> np.ndarray:
        live = np.flatnonzero(table.room > 0)
        start, length = table.start[live, None], table.length[live, None]
        first = np.arange(self.locality.sink)[None, :]
        last = length - 1 - np.arange(self.locality.recent)[None, :]
        return np.concatenate([(start + first)[first < length], (start + last)[last >= 0]])

    def step(self, table: KvTable) -> Activation:
        """The time is proportional to the number of tokens: one random number for each."""
        size, keep = table.size, np.float32(self.locality.keep)
        chance, active = table.extra["probability"][:size], table.extra["was_active"][:size]
        # One number decides both: below `keep` the token stays, from there to `keep + (1 - keep) chance` it is drawn.
        number = self.random.random(size, np.float32)
        drawn = chance * (1 - keep)
        drawn += keep
        np.logical_or(active, number >= keep, out=active)
        np.logical_and(active, number < drawn, out=active)
        now = active.copy()
        now[self._forced(table)] = True
        now[table.tier[:size] < 0] = False
        return Activation(np.flatnonzero(now))


# Traces ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TraceStep:
    """One line of a trace: see the module."""

    request: int
    context: int
    tokens: np.ndarray
    scores: np.ndarray | None = None


def write_trace(path: str | os.PathLike[str], steps: Sequence[TraceStep]) -> None:
    """Write steps as a trace file."""
    with writing(path) as file:
        header = {"format": FORMAT, "version": VERSION, "requests": len({step.request for step in steps})}
        file.write(json.dumps(header).encode() + b"\n")
        for step in steps:
            line: dict[str, Any] = {
                "request": int(step.request),
                "context": int(step.context),
                "tokens": np.asarray(step.tokens).tolist(),
            }
            if step.scores is not None:
                line["scores"] = [round(float(score), 6) for score in step.scores]
            file.write(json.dumps(line).encode() + b"\n")


def read_trace(path: str | os.PathLike[str]) -> list[list[TraceStep]]:
    """Steps of each request of a trace file, requests in ascending order.

    Raises
    ------
    :exc:`ConfigError`
        ``file:line: reason`` for the first line that does not follow the format of the module's description.
    """
    where = os.fspath(path)
    requests: dict[int, list[TraceStep]] = {}
    with reading(path, "a trace of attention") as file:
        number = 0
        while raw := file.readline(MAX_LINE):
            number += 1
            if raw.strip():
                _line(f"{where}:{number}", raw, number, requests)
    if not number:
        raise ConfigError(f"{where}: is empty; a trace of attention begins with a header line")
    if not requests:
        raise ConfigError(f"{where}: has a header and no step")
    return [requests[key] for key in sorted(requests)]


def _line(where: str, raw: bytes, number: int, requests: dict[int, list[TraceStep]]) -> None:
    if not raw.endswith(b"\n") and len(raw) == MAX_LINE:
        raise ConfigError(f"{where}: a line has at most {MAX_LINE} bytes")
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise ConfigError(f"{where}: not UTF-8 text") from None
    data = parse_json(text, where, numbered=False)
    if not isinstance(data, dict):
        raise ConfigError(f"{where}: a line is an object of keys and values, not {type(data).__name__}")
    if number == 1:
        if data.get("format") != FORMAT or data.get("version") != VERSION:
            raise ConfigError(f'{where}: the first line must have "format": "{FORMAT}" and "version": {VERSION}')
        return

    def whole(key: str, least: int, most: int = 1 << 40) -> int:
        value = data.get(key)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ConfigError(f"{where}: '{key}' must be a whole number in {least}..{most}, not {value!r:.40}")
        return value

    unknown = [key for key in data if key not in ("request", "context", "tokens", "scores")]
    if unknown:
        raise ConfigError(f"{where}: unknown key '{unknown[0]}' (valid: context, request, scores, tokens)")
    request, context = whole("request", 0), whole("context", 1, 1 << 30)
    given = data.get("tokens")
    if not isinstance(given, list) or any(type(value) is not int for value in given):
        raise ConfigError(f"{where}: 'tokens' must be a list of whole numbers")
    wrong = next((value for value in given if not 0 <= value < context), None)
    if wrong is not None:
        raise ConfigError(f"{where}: token {wrong} is outside the context of {context}")
    tokens = np.asarray(given, np.int64)
    if len(np.unique(tokens)) != len(tokens):
        raise ConfigError(f"{where}: a token appears twice")
    scores = None
    if "scores" in data:
        values = data["scores"]
        if not isinstance(values, list) or len(values) != len(tokens):
            raise ConfigError(f"{where}: 'scores' must be a list as long as 'tokens' ({len(tokens)})")
        if any(type(value) not in (int, float) or not 0 <= value < float("inf") for value in values):
            raise ConfigError(f"{where}: a score must be a number of at least 0")
        scores = np.asarray(values, np.float32)
    order = np.argsort(tokens)
    steps = requests.setdefault(request, [])
    if steps and context < steps[-1].context:
        raise ConfigError(f"{where}: the context of request {request} shrinks from {steps[-1].context} to {context}")
    steps.append(TraceStep(request, context, tokens[order], None if scores is None else scores[order]))


class ReplaySource:
    """Activations of a trace file.

    The requests of the batch take the requests of the trace in turn. A request of the trace begins again after its last
    step. A context of the batch that differs from the trace's context is an error, unless ``stretch`` scales positions.
    Scores are relative: an active token of average weight has score 1, so contexts of different lengths compare.
    """

    weighs = True

    def __init__(self, trace: str | os.PathLike[str] | Sequence[Sequence[TraceStep]], stretch: bool = False) -> None:
        self.name = os.fspath(trace) if isinstance(trace, (str, os.PathLike)) else "the trace"
        self.requests = read_trace(trace) if isinstance(trace, (str, os.PathLike)) else [list(s) for s in trace]
        self.stretch, self.number = stretch, 0
        if not self.requests or not all(self.requests):
            raise ConfigError(f"{self.name}: every request needs at least one step")

    def added(self, table: KvTable, requests: np.ndarray) -> None:
        pass

    def appended(self, table: KvTable, places: np.ndarray) -> None:
        pass

    def settle(self, table: KvTable) -> None:
        pass

    def step(self, table: KvTable) -> Activation:
        places, scores = [], []
        for turn, request in enumerate(np.flatnonzero(table.room > 0).tolist()):
            steps = self.requests[turn % len(self.requests)]
            step = steps[self.number % len(steps)]
            length = int(table.length[request])
            tokens, weights = step.tokens, step.scores
            if length != step.context:
                if not self.stretch:
                    raise ConfigError(
                        f"{self.name}: request {step.request} has {step.context} tokens in its context, the "
                        f"batch has {length}; sparsity.stretch true scales positions"
                    )
                tokens, chosen = np.unique(tokens * length // step.context, return_index=True)
                weights = None if weights is None else weights[chosen]
            places.append(table.start[request] + tokens)
            mean = 0.0 if weights is None else float(weights.mean()) if len(weights) else 0.0
            scores.append(
                np.ones(len(tokens), np.float32)
                if weights is None or not mean
                else (weights / np.float32(mean)).astype(np.float32)
            )
        self.number += 1
        where = np.concatenate([np.empty(0, np.int64), *places])
        order = np.argsort(where, kind="stable")
        return Activation(where[order], np.concatenate([np.empty(0, np.float32), *scores])[order])


def fit(trace: str | os.PathLike[str] | Sequence[Sequence[TraceStep]], *, sink: int = 4, recent: int = 16) -> Locality:
    """Parameters of the synthetic source that reproduce a trace's fraction of active tokens and their persistence.

    Tokens beyond ``sink`` and ``recent`` are compared with themselves one and two steps later. Let ``m`` be the active
    fraction, ``A1`` and ``A2`` the fractions active at both times, and ``M`` the mean square of a token's probability.
    The source has ``A1 = M + keep (m - M)`` and ``A2 = M + keep^2 (m - M)``. These equations give ``keep`` and ``M``.
    With ``spread``, the cut log-normal distribution has this mean and mean square.

    Raises
    ------
    :exc:`ConfigError`
        If no request has three steps, or no token is active beyond the forced tokens.
    """
    requests = read_trace(trace) if isinstance(trace, (str, os.PathLike)) else [list(steps) for steps in trace]
    seen = active = ones = base = pairs1 = both1 = pairs2 = both2 = 0
    for steps in requests:
        seen += sum(step.context for step in steps)
        active += sum(len(step.tokens) for step in steps)
        low = sink
        masks = []
        # The same tokens at every step: tokens that are never recent
        high = steps[0].context - recent
        if high <= low:
            continue
        for step in steps:
            mask = np.zeros(step.context, bool)
            mask[step.tokens] = True
            masks.append(mask[low:high])
        for mask in masks:
            ones, base = ones + int(mask.sum()), base + mask.size
        for first, second in zip(masks, masks[1:], strict=False):
            pairs1, both1 = pairs1 + first.size, both1 + int((first & second).sum())
        for first, second in zip(masks, masks[2:], strict=False):
            pairs2, both2 = pairs2 + first.size, both2 + int((first & second).sum())
    if not pairs2 or not ones:
        raise ConfigError(
            f"a fit needs a request with three steps and active tokens beyond the first {sink} and the last {recent}"
        )
    m, a1, a2 = ones / base, both1 / pairs1, both2 / pairs2
    keep = float(np.clip((m - a2) / (m - a1) - 1, 0, 0.99)) if m > a1 else 0.99
    square = float(np.clip(m - (m - a1) / (1 - keep), m * m, m))
    # Mean square of the cut log-normal grows with the spread at a fixed mean.
    edge = np.linspace(-5, 5, 2001)
    weight = np.exp(-edge * edge / 2) / np.exp(-edge * edge / 2).sum()
    low_spread, high_spread = 0.0, 8.0
    for _ in range(30):
        spread = (low_spread + high_spread) / 2
        scales = np.geomspace(1e-9, 1e9, 181)
        scale = np.exp(np.interp(m, _mean_clipped(scales, spread) + np.arange(181) * 1e-15, np.log(scales)))
        reached = float((np.minimum(1, scale * np.exp(spread * edge)) ** 2 * weight).sum())
        low_spread, high_spread = (spread, high_spread) if reached < square else (low_spread, spread)
    return Locality(
        compression=max(1.0, seen / active), spread=round(spread, 4), keep=round(keep, 4), sink=sink, recent=recent
    )


def describe(locality: Locality) -> dict[str, Any]:
    """Plain data for results."""
    return asdict(locality)
