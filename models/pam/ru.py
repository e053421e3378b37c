"""Functional model of PAM's reduction unit, bit-exact with the RTL.

Source of the algorithm: PAM (MICRO 2025) Algorithm 1, function Reduce, and equations 3 to 6. The representation and the
order are this project's: powers of two scale accumulators down when the maximum grows, and each merge rounds once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...constraints.core.formats import FloatFormat
from ...constraints.pam.ru import SCALE_INTEGER_BITS, PamRuConfig
from ..numerics import (
    compare,
    convert,
    decode,
    fma,
    from_integer,
    logarithm,
    negative_difference,
    negative_power,
    to_float64,
)

__all__ = ["Partial", "Reduced", "identity", "in_order", "merged", "reduce_partials"]


@dataclass(frozen=True)
class Partial:
    """Partial results. ``(m, 2**scale l, 2**scale O)`` stands for the tokens processed so far.

    All arrays may have leading axes of the same shape.

    Attributes
    ----------
    m : int64 array
        Row maximum of the scores, bits in the score format.
    scale : int64 array
        Logarithm to base 2 of the common factor, in units of ``2**-table.fraction_bits``; 0 from a processing unit.
    l : int64 array
        Sum of ``exp(score - m)``, bits in the accumulation format.
    o : int64 array of shape ``(..., head_dim)``
        Unnormalised output, bits in the stream format.
    """

    m: np.ndarray
    scale: np.ndarray
    l: np.ndarray  # noqa: E741  (the paper's name)
    o: np.ndarray

    def at(self, index: Any) -> Partial:
        """The partial results at an index of the leading axes."""
        return Partial(*(np.asarray(part)[index] for part in (self.m, self.scale, self.l, self.o)))


@dataclass(frozen=True)
class Reduced(Partial):
    """Output of the unit for a step.

    With ``normalise``, O is divided by l. ``log_sum`` is then m + ln l (with the scale) in the accumulation format. It
    leaves the unit in the place of l.
    """

    log_sum: np.ndarray | None = None


def identity(config: PamRuConfig, head_dim: int) -> Partial:
    """Partial result of an empty source: m = -infinity, l = 0, O = 0."""
    zero = np.int64(0)
    return Partial(
        np.asarray(config.score.negative_infinity), np.asarray(zero), np.asarray(zero), np.zeros(head_dim, np.int64)
    )


def in_order(config: PamRuConfig, sources: Sequence[Partial]) -> Partial:
    """The partial results of all sources, in the order of the unit. The lengths of their first axes may differ."""
    order = config.order([len(np.asarray(s.m)) for s in sources])
    return Partial(*(np.stack([getattr(sources[s], name)[n] for s, n in order]) for name in ("m", "scale", "l", "o")))


def shift(bits: np.ndarray, steps: np.ndarray, fmt: FloatFormat) -> np.ndarray:
    """``bits * 2**-steps``. A subnormal result is a zero of its sign; a subnormal operand stays only for 0 steps."""
    field = bits >> fmt.fraction_bits & fmt.exponent_max
    moved = field - steps
    sign = bits & fmt.sign_mask
    special = field == fmt.exponent_max
    out = np.where(
        (field == 0) | (moved <= 0),
        sign,
        np.where(moved >= fmt.exponent_max, sign | fmt.infinity, bits - (steps << fmt.fraction_bits)),
    )
    return np.where(special | (steps == 0), bits, out)


@dataclass
class _State:
    """Values that the unit holds during a step."""

    m: np.ndarray
    scale: np.ndarray
    l: np.ndarray  # noqa: E741
    o: np.ndarray


#: Number of steps that turn any finite number of the formats into a zero.
FLUSH = (1 << SCALE_INTEGER_BITS) - 1


def weights(
    config: PamRuConfig, m: np.ndarray, scale: np.ndarray, run: np.ndarray, run_scale: np.ndarray, *, first: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Merge the maxima: weight of the new partial result, steps by which the accumulators move down, new maximum and scale.

    Let M be the larger maximum. The accumulators have the factor ``2**run_scale exp(run)``, written as ``2**a exp(M)``.
    The new partial result has the factor ``2**b exp(M)``. The accumulators move by whole powers of two until their
    scale ``a + steps`` is at least b. The weight is ``2**(b - a - steps)``, at most 1.
    """
    score, table, io = config.score, config.table, config.io
    one = 1 << table.fraction_bits
    x, y = decode(m, score), decode(run, score)
    _, _, greater, unordered = compare(m, run, score)
    x_low, y_low = x.inf & (x.sign == 1), y.inf & (y.sign == 1)
    high, low = np.where(greater, m, run), np.where(greater, run, m)
    plain = ~(x.inf | x.nan | y.inf | y.nan)
    difference = negative_difference(np.where(plain, high, 0), np.where(plain, low, 0), score, table)
    far = ~plain | (difference == (1 << (table.integer_bits + table.fraction_bits)) - 1)
    delta = difference * table.constant >> table.constant_bits
    restart = first | y_low | (far & greater)

    key = np.where(greater, scale + delta, scale - delta)
    below = run_scale - key  # a - b
    kept = np.where(below < 0, below & (one - 1), below)
    steps = np.where(below < 0, (kept - below) >> table.fraction_bits, 0)
    steps = np.where(restart, FLUSH, np.where(far, 0, np.minimum(steps, FLUSH)))
    exponent = np.where(restart, 0, kept)
    new_scale = kept + np.where(greater, scale, scale - delta)
    new_scale = np.where(restart, scale, np.where(far, run_scale, new_scale))
    new_scale = _wrapped(new_scale, config.scale_bits)

    weight = negative_power(exponent, table)
    weight = np.where(x_low | (far & ~restart), 0, weight)
    weight = np.where(x.nan | y.nan | (x.inf & (x.sign == 0)), io.nan, weight)
    maximum = np.where(unordered, score.nan, high)
    return weight, steps, maximum, new_scale


def _wrapped(value: np.ndarray, bits: int) -> np.ndarray:
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def reduce_partials(config: PamRuConfig, partials: Partial, *, normalise: bool) -> Reduced:
    """Merge partial results along the first axis, in its order.

    Parameters
    ----------
    partials : with a first axis of at least 1; further axes are independent
    normalise : final level: divide O by l

    Notes
    -----
    Each merge is one fused multiply-add per element, rounded to ``acc_format``: weight times O, plus the accumulator
    moved by a power of two. In the multiply-add of l, subnormal numbers count as 0. The output is rounded to ``format``
    once. With ``normalise``, it is rounded once more after the multiplication by 1 / l.
    """
    io, acc = config.io, config.acc
    m, scale, l, o = (np.asarray(part, np.int64) for part in (partials.m, partials.scale, partials.l, partials.o))  # noqa: E741
    batch = m.shape[1:]
    state = _State(
        np.full(batch, config.score.negative_infinity, np.int64),
        np.zeros(batch, np.int64),
        np.zeros(batch, np.int64),
        np.zeros(o.shape[1:], np.int64),
    )
    for n in range(len(m)):
        weight, steps, top, new_scale = weights(config, m[n], scale[n], state.m, state.scale, first=n == 0)
        wide = convert(weight, io, acc)
        old_l = np.zeros_like(state.l) if n == 0 else shift(state.l, steps, acc)
        old_o = np.zeros_like(state.o) if n == 0 else shift(state.o, steps[..., None], acc)
        state = _State(
            top,
            new_scale,
            fma(wide, l[n], old_l, acc, flush_to_zero=True),
            fma(weight[..., None], o[n], old_o, io, acc=acc),
        )
    return _finish(config, state, normalise)


def _finish(config: PamRuConfig, state: _State, normalise: bool) -> Reduced:
    io, acc, score, table = config.io, config.acc, config.score, config.table
    field = state.l >> acc.fraction_bits & acc.exponent_max
    none, special = field == 0, field == acc.exponent_max
    power = np.where(none | special, 0, field - acc.bias)  # of l, as a whole number
    fraction = shift(state.l, power, acc)  # 1 <= fraction < 2
    fraction = np.where(none, 0, fraction)
    output = convert(shift(state.o, power[..., None], acc), acc, io)
    scale = _wrapped(state.scale + (power << table.fraction_bits), config.scale_bits)
    log_sum = None
    factor = np.broadcast_to(np.int64(io.bias << io.fraction_bits), np.shape(state.l))
    if normalise:
        ln = logarithm(convert(fraction, acc, config.log), fmt=config.log)
        plain = ~none & ~special & (state.l & acc.sign_mask == 0)
        high = np.where(plain, convert(ln, config.log, score), 0)
        difference = negative_difference(high, np.zeros_like(high), score, table)
        factor = negative_power(difference * table.constant >> table.constant_bits, table)
        factor = np.where(none, 0, np.where(plain, factor, io.nan))
        log_sum = _log_sum(config, state.m, scale, ln)
    scaled = fma(factor[..., None], output, np.zeros_like(output), io, acc=acc)
    return Reduced(state.m, scale, fraction, convert(scaled, acc, io), log_sum)


def _log_sum(config: PamRuConfig, m: np.ndarray, scale: np.ndarray, ln: np.ndarray) -> np.ndarray:
    acc = config.acc
    whole = from_integer(scale >> (config.table.fraction_bits - config.log_scale_bits), acc)
    part = fma(whole, np.full_like(ln, config.log_constant), convert(ln, config.log, acc), acc, flush_to_zero=True)
    one = np.full_like(ln, acc.bias << acc.fraction_bits)
    return fma(part, one, convert(m, config.score, acc), acc, flush_to_zero=True)


def merged(config: PamRuConfig, partials: Partial) -> np.ndarray:
    """Merged and normalised output of the same bits along the first axis, in binary64; 0 without tokens."""
    m, l = to_float64(partials.m, config.score), to_float64(partials.l, config.acc)  # noqa: E741
    factor = 2.0 ** (np.asarray(partials.scale) / (1 << config.table.fraction_bits))
    top = m.max(axis=0)
    weight = np.where(np.isneginf(m), 0.0, np.exp(m - np.where(np.isneginf(top), 0.0, top))) * factor
    total = (weight * l).sum(axis=0)
    output = (weight[..., None] * to_float64(partials.o, config.io)).sum(axis=0)
    return np.where(total[..., None] == 0, 0.0, output / np.where(total == 0, 1.0, total)[..., None])
