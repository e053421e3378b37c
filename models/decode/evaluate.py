"""Runs over texts, teacher-forced or free, and their comparison with float32."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...constraints.core.errors import ConfigError
from ..llm.weights import Model
from .backend import Backend
from .decoder import Decoder

__all__ = ["Compared", "Run", "Sampling", "compare", "free_run", "log_softmax", "perplexity", "teacher_forced"]


@dataclass(frozen=True)
class Sampling:
    """How the next token is chosen. A temperature of 0 takes the most probable one."""

    temperature: float = 0.0
    seed: int = 1


@dataclass
class Run:
    """A sequence of tokens and their logits.

    Attributes
    ----------
    tokens : int64 array: prompt and generated tokens
    prompt : number of tokens of the prompt
    logits : float32 of shape ``(tokens, vocabulary)``: after each token; None for a token that nothing follows
    reference : the same of float32 on the same tokens
    error : relative L2 error of attention, of shape ``(layers, heads)``
    weights : mean attention of float32 over layers and heads, of shape ``(tokens, tokens)``
    selected : share of the heads whose query takes a token, of the same shape; None without sparse attention
    reads : what sparse attention reads for some positions (:class:`StepInfo`); None without it
    details : of the backend
    interrupted : whether the user ended a free run early
    """

    tokens: np.ndarray
    prompt: int
    logits: np.ndarray
    reference: np.ndarray
    error: np.ndarray
    weights: np.ndarray
    selected: np.ndarray | None
    reads: np.ndarray | None
    details: dict[str, Any]
    interrupted: bool = False


@dataclass(frozen=True)
class Compared:
    """Figures of a run beside float32's. Positions are those whose next token is known."""

    perplexity: float
    bits_per_byte: float
    reference_perplexity: float
    reference_bits_per_byte: float
    agreement: float
    first_difference: int | None
    kl_mean_nats: float
    max_abs_logit_error: float
    agrees: np.ndarray
    kl_nats: np.ndarray


def teacher_forced(model: Model, backend: Backend, tokens: np.ndarray, *, reference: Run | None = None) -> Run:
    """All tokens of a text at once. ``reference``: a run over the same tokens, whose float32 logits are used again."""
    tokens = np.asarray(tokens, np.int64)
    if reference is None or not np.array_equal(reference.tokens, tokens):
        exact = Decoder(model, Backend(), len(tokens), watch=True)
        logits, weights = exact.forward(tokens), exact.seen.weights
        assert weights is not None
    else:
        logits, weights = reference.reference, reference.weights
    decoder = Decoder(model, backend, len(tokens), watch=True)
    backend.arrive(weights)
    got = decoder.forward(tokens)
    return Run(
        tokens,
        len(tokens),
        got,
        logits,
        _error(decoder),
        weights,
        decoder.seen.selected,
        decoder.seen.reads,
        backend.details(),
    )


def free_run(
    model: Model,
    backend: Backend,
    prompt: np.ndarray,
    count: int,
    sampling: Sampling | None = None,
    progress: Callable[[int], None] = lambda token: None,
) -> Run:
    """``count`` tokens behind a prompt, one by one. Float32 sees the same tokens. ``progress`` gets each token.

    An interruption ends the run early, if the prompt is done.
    """
    sampling = sampling or Sampling()
    room = len(prompt) + count
    exact, decoder = (Decoder(model, one, room, watch=True) for one in (Backend(), backend))
    random = np.random.default_rng(sampling.seed)
    tokens, new = np.asarray(prompt, np.int64), np.asarray(prompt, np.int64)
    steps: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]] = []
    reads: list[np.ndarray] = []
    interrupted = False
    try:
        while True:
            expected = exact.forward(new)
            assert exact.seen.weights is not None
            backend.arrive(exact.seen.weights)
            got = decoder.forward(new)
            steps.append((got, expected, exact.seen.weights, decoder.seen.selected))
            if decoder.seen.reads is not None:
                reads.append(decoder.seen.reads)
            if len(tokens) == room:
                break
            chosen = _choose(got[-1], sampling, random)
            tokens, new = np.append(tokens, chosen), np.array([chosen])
            progress(chosen)
    except KeyboardInterrupt:
        if not steps:
            raise
        interrupted = True
    logits, reference = (np.concatenate([step[n] for step in steps]) for n in range(2))
    weights, selected = (_square([step[n] for step in steps]) for n in (2, 3))
    assert weights is not None
    return Run(
        tokens[: len(logits)],
        len(prompt),
        logits,
        reference,
        _error(decoder),
        weights,
        selected,
        np.concatenate(reads) if reads else None,
        backend.details(),
        interrupted,
    )


def _square(steps: list[Any]) -> np.ndarray | None:
    """Rows of all steps, as long as the last one."""
    if steps[-1] is None:
        return None
    out = np.zeros((sum(len(step) for step in steps), steps[-1].shape[1]), np.float32)
    first = 0
    for step in steps:
        out[first : first + len(step), : step.shape[1]] = step
        first += len(step)
    return out


def _choose(logits: np.ndarray, sampling: Sampling, random: np.random.Generator) -> int:
    """The next token. NaN is never chosen unless all logits are NaN."""
    logits = np.where(np.isnan(logits), -np.inf, logits).astype(np.float64)
    if not sampling.temperature or not np.isfinite(logits.max()):
        return int(logits.argmax())
    weights = np.exp((logits - logits.max()) / sampling.temperature)
    return int(
        np.searchsorted(np.cumsum(weights / weights.sum()), random.random(), side="right").clip(0, len(logits) - 1)
    )


def _error(decoder: Decoder) -> np.ndarray:
    wrong, norm = decoder.seen.error
    return np.sqrt(wrong / np.where(norm == 0, 1, norm))


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Logarithms of probabilities in binary64, of the shape of the logits."""
    wide = logits.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        wide = wide - wide.max(axis=-1, keepdims=True)
        return wide - np.log(np.exp(wide).sum(axis=-1, keepdims=True))


def perplexity(logits: np.ndarray, tokens: np.ndarray) -> float:
    """Perplexity of tokens, each given those before it. NaN logits give NaN."""
    found = log_softmax(logits[: len(tokens) - 1])
    with np.errstate(over="ignore"):
        return float(np.exp(-found[np.arange(len(tokens) - 1), tokens[1:]].mean()))


def compare(model: Model, run: Run) -> Compared:
    """Figures of a run.

    Raises
    ------
    :exc:`ConfigError`
        If the run has a single token, so nothing is predicted.
    """
    tokens, count = run.tokens, len(run.tokens) - 1
    if count < 1:
        raise ConfigError("a text of one token predicts nothing: at least two are needed")
    own, exact = log_softmax(run.logits), log_softmax(run.reference)
    at = np.arange(count)
    size = _bytes(model, tokens)
    with np.errstate(invalid="ignore", over="ignore"):
        loss, reference = (-one[at, tokens[1:]] for one in (own, exact))
        kl = (np.exp(exact) * (exact - own)).sum(axis=-1)
        largest = float(np.abs(run.logits - run.reference).max())
        own_perplexity, exact_perplexity = (float(np.exp(one.mean())) for one in (loss, reference))
        own_bits, exact_bits = (float(one.sum() / np.log(2) / size) for one in (loss, reference))
    chosen = np.where(np.isnan(run.logits), -np.inf, run.logits).argmax(axis=-1)
    agrees = chosen == run.reference.argmax(axis=-1)
    first = 0 if run.prompt == len(tokens) else run.prompt - 1
    different = np.flatnonzero(~agrees[first:])
    return Compared(
        own_perplexity,
        own_bits,
        exact_perplexity,
        exact_bits,
        float(agrees[first:].mean()),
        int(different[0]) + first if len(different) else None,
        float(kl.mean()),
        largest,
        agrees,
        kl,
    )


def _bytes(model: Model, tokens: np.ndarray) -> int:
    """Bytes of the text of all tokens but the first; the tokens themselves without a tokenizer."""
    if model.tokenizer is None:
        return len(tokens) - 1
    text, start = (model.tokenizer.decode(part.tolist(), skip_special_tokens=False) for part in (tokens, tokens[:1]))
    return max(len(text.encode()) - len(start.encode()), 1)
