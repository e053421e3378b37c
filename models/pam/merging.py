"""PAM's reduction unit for many steps at once, bit for bit :func:`bankside.models.pam.ru.reduce_partials`."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ...constraints.core.formats import FP32, FloatFormat
from ...constraints.pam.ru import PamRuConfig
from ..memory.compiled import compiled
from ..numerics import convert, logarithm, negative_difference, negative_power, to_float64
from ..numerics.sums import difference, fields, format_numbers, length, power, rounded, table_numbers, value_bits
from .ru import FLUSH, Partial, Reduced, reduce_partials, shift

__all__ = ["merge_lists"]


def merge_lists(
    config: PamRuConfig, partials: Partial, order: np.ndarray, first: np.ndarray, *, normalise: bool
) -> Reduced:
    """Merge several lists of partial results.

    Parameters
    ----------
    partials : with a first axis over the partial results of all lists
    order : int64 array
        Partial results of all lists in the order of their merges, one list after the other.
    first : int64 array of one more element than lists
        Place of each list's first element in ``order``. Each list has at least one.
    normalise : final level: divide O by l

    Returns
    -------
    :class:`Reduced`
        With a first axis over the lists. ``log_sum`` is None.
    """
    if config.acc != FP32:
        # The compiled loop has O in binary64 and rounds it to FP32.
        names = ("m", "scale", "l", "o")
        each = [
            reduce_partials(
                config, Partial(*(getattr(partials, name)[order[low:high]] for name in names)), normalise=normalise
            )
            for low, high in pairwise(first.tolist())
        ]
        return Reduced(*(np.array([getattr(one, name) for one in each]) for name in names))
    io, acc, table = config.io, config.acc, config.table
    lists, dim = len(first) - 1, partials.o.shape[-1]
    m, scale, total = (np.zeros(lists, np.int64) for _ in range(3))
    o = np.zeros((lists, dim))
    constant = np.array(
        [
            table.constant,
            table.constant_bits,
            table.integer_bits + table.fraction_bits,
            table.fraction_bits,
            config.scale_bits,
            FLUSH,
        ],
        np.int64,
    )
    _merge(
        *(np.ascontiguousarray(part, np.int64) for part in (partials.m, partials.scale, partials.l, partials.o)),
        _values(io),
        np.ascontiguousarray(order, np.int64),
        np.ascontiguousarray(first, np.int64),
        format_numbers(config.score),
        format_numbers(io),
        format_numbers(acc),
        table_numbers(table, config.score),
        np.asarray(table.values, np.int64),
        np.asarray(table.slopes, np.int64),
        constant,
        m,
        scale,
        total,
        o,
    )
    # As in the unit: l becomes a number from 1 to below 2, and O follows.
    field = total >> acc.fraction_bits & acc.exponent_max
    none, special = field == 0, field == acc.exponent_max
    steps = np.where(none | special, 0, field - acc.bias)
    fraction = np.where(none, 0, shift(total, steps, acc))
    wrapped = scale + (steps << table.fraction_bits)
    half = 1 << (config.scale_bits - 1)
    wrapped = ((wrapped + half) & ((1 << config.scale_bits) - 1)) - half
    factor = np.full(lists, io.bias << io.fraction_bits, np.int64)
    if normalise:
        ln = logarithm(convert(fraction, acc, config.log), fmt=config.log)
        plain = ~none & ~special & (total & acc.sign_mask == 0)
        high = np.where(plain, convert(ln, config.log, config.score), 0)
        below = negative_difference(high, np.zeros_like(high), config.score, table)
        factor = negative_power(below * table.constant >> table.constant_bits, table)
        factor = np.where(none, 0, np.where(plain, factor, io.nan))
    out = np.zeros((lists, dim), np.int64)
    _finish(o, steps, _values(io)[factor], format_numbers(io), format_numbers(acc), out)
    return Reduced(m, wrapped, fraction, out, None)


def _values(fmt: FloatFormat) -> np.ndarray:
    return to_float64(np.arange(1 << fmt.width), fmt)


@compiled
def _sum(sa, a, ea, sb, b, eb, fmt, flush):
    """Bits of the sum of two finite numbers ``magnitude * 2**exponent`` below 2**36, rounded once. ``flush``: a sum below
    the normal range becomes zero."""
    if a == 0 and b == 0:
        return (sa & sb) << fmt[3]
    if b == 0 or (a and length(a) + ea < length(b) + eb):
        high, sh, eh, low, sl, el = b, sb, eb, a, sa, ea
        if b == 0:
            high, sh, eh, low, sl, el = a, sa, ea, b, sb, eb
    elif a == 0:
        high, sh, eh, low, sl, el = b, sb, eb, a, sa, ea
    else:
        high, sh, eh, low, sl, el = a, sa, ea, b, sb, eb
    up = 60 - length(high)
    high <<= up
    eh -= up
    if low:
        gap = eh - el
        if gap <= 0:
            low <<= -gap
        else:
            right = min(gap, np.int64(62))
            kept = low >> right
            if (kept << right) != low:
                kept |= 1  # stands for all bits that were shifted out
            low = kept
    total = high + low if sh == sl else high - low
    if total == 0:
        return np.int64(0)
    if total < 0:
        total, sh = -total, 1 - sh
    if flush and length(total) + eh <= 1 - fmt[4]:
        return sh << fmt[3]
    return rounded(sh, total, eh, fmt)


@compiled
def _moved(bits, steps, fmt):
    """See ``shift``."""
    field = bits >> fmt[0] & fmt[1]
    if steps == 0 or field == fmt[1]:
        return bits
    sign = bits & (np.int64(1) << fmt[3])
    moved = field - steps
    if field == 0 or moved <= 0:
        return sign
    if moved >= fmt[1]:
        return sign | fmt[1] << fmt[0]
    return bits - (steps << fmt[0])


@compiled
def _fused(weight, total, old, io, acc):
    """``weight * total + old`` in the accumulation format; subnormal numbers count as zeros."""
    infinity = acc[1] << acc[0]
    nan = infinity | np.int64(1) << (acc[0] - 1)
    sw, ew, w, iw, nw = fields(weight, io)
    sx, ex, x, ix, nx = fields(total, acc)
    sy, ey, y, iy, ny = fields(old, acc)
    if x >> acc[0] == 0:
        x = np.int64(0)
    if y >> acc[0] == 0:
        y = np.int64(0)
    zero_x, zero_w = x == 0 and not (ix or nx), w == 0
    if nw or nx or ny or (iw and zero_x) or (ix and zero_w):
        return nan
    sign = sw ^ sx
    if iw or ix:
        return nan if iy and sign != sy else infinity | sign << acc[3]
    if iy:
        return old
    return _sum(sign, w * x, ew - io[4] - io[0] + ex - acc[4] - acc[0], sy, y, ey - acc[4] - acc[0], acc, True)


@compiled
def _merge(
    m,
    scale,
    total,
    o,
    values,
    order,
    first,
    score,
    io,
    acc,
    numbers,
    table,
    slopes,
    constant,
    out_m,
    out_scale,
    out_l,
    out_o,
):
    one = np.int64(1) << constant[3]
    half, mask = np.int64(1) << (constant[4] - 1), (np.int64(1) << constant[4]) - 1
    limit = (np.int64(1) << constant[2]) - 1
    infinity, sign_mask = score[1] << score[0], np.int64(1) << score[3]
    low_bits = infinity | sign_mask
    io_nan = io[1] << io[0] | np.int64(1) << (io[0] - 1)
    acc_lowest = 2.0 ** (1.0 - acc[4])
    dim = o.shape[1]
    for each in range(len(first) - 1):
        run, run_scale, run_l = low_bits, np.int64(0), np.int64(0)
        row = out_o[each]
        for d in range(dim):
            row[d] = 0.0
        for n in range(first[each], first[each + 1]):
            at = order[n]
            new, new_scale = m[at], scale[at]
            start = n == first[each]
            sx, _, x, ix, nx = fields(new, score)
            sy, _, y, iy, ny = fields(run, score)
            unordered = nx or ny
            greater = False
            if not unordered and not (x == 0 and y == 0):
                a = new & (sign_mask - 1)
                b = run & (sign_mask - 1)
                greater = (-a if sx else a) > (-b if sy else b)
            x_low, y_low = ix and sx == 1, iy and sy == 1
            plain = not (ix or nx or iy or ny)
            below = np.int64(0)
            if plain:
                below = difference(new if greater else run, run if greater else new, score, numbers)
            far = not plain or below == limit
            delta = below * constant[0] >> constant[1]
            restart = start or y_low or (far and greater)
            key = new_scale + delta if greater else new_scale - delta
            gap = run_scale - key
            kept = gap & (one - 1) if gap < 0 else gap
            steps = (kept - gap) >> constant[3] if gap < 0 else np.int64(0)
            if restart:
                steps = constant[5]
            elif far:
                steps = np.int64(0)
            else:
                steps = min(steps, constant[5])
            after = kept + (new_scale if greater else new_scale - delta)
            if restart:
                after = new_scale
            elif far:
                after = run_scale
            after = ((after + half) & mask) - half
            weight = power(np.int64(0) if restart else kept, io, numbers, table, slopes)
            if x_low or (far and not restart):
                weight = np.int64(0)
            if nx or ny or (ix and sx == 0):
                weight = io_nan
            run_l = _fused(weight, total[at], np.int64(0) if start else _moved(run_l, steps, acc), io, acc)
            factor = values[weight]
            down = 2.0 ** -np.float64(steps)
            if start:
                for d in range(dim):
                    row[d] = np.float64(np.float32(factor * values[o[at, d]] + 0.0))
            else:
                for d in range(dim):
                    old = row[d]
                    if steps:
                        # A subnormal operand or result is a zero of its sign; infinities and NaN stay.
                        moved = old * down
                        old = moved if abs(moved) >= acc_lowest and abs(old) >= acc_lowest or old != old else old * 0.0
                    product = factor * values[o[at, d]]
                    result = product + old
                    part = result - product
                    error = (product - (result - part)) + (old - part)
                    near = np.float64(np.float32(result))
                    if error != 0 and error == error and near != result:
                        # Two roundings differ from one only beside the midpoint of two numbers of the format.
                        other = 2 * result - near
                        if np.float64(np.float32(other)) == other:
                            up = error > 0
                            near = max(near, other) if up else min(near, other)
                    row[d] = near
            run, run_scale = (new if greater or start else run), after
            if unordered:
                run = infinity | np.int64(1) << (score[0] - 1)
        out_m[each], out_scale[each], out_l[each] = run, run_scale, run_l


@compiled
def _finish(o, steps, factors, io, acc, out):
    """O moved by powers of two, in the stream's format, times the factors."""
    lowest = 2.0 ** (1.0 - acc[4])
    for each in range(len(o)):
        step = steps[each]
        down = 2.0 ** -np.float64(step)
        for d in range(o.shape[1]):
            value = o[each, d]
            if step:
                moved = value * down
                value = moved if abs(moved) >= lowest and abs(value) >= lowest or value != value else value * 0.0
            bits = value_bits(value, io)
            _, exponent, significand, infinite, nan = fields(bits, io)
            if infinite or nan:
                number = np.nan if nan else np.copysign(np.inf, value)
            else:
                number = np.copysign(significand * 2.0 ** np.float64(exponent - io[4] - io[0]), value)
            out[each, d] = value_bits(number * factors[each] + 0.0, io)
