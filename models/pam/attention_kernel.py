"""The compiled half of PAM's attention model: scores, and probabilities times values, over plain arrays.

The arithmetic is :mod:`bankside.models.numerics.aligned`, number by number. :mod:`bankside.models.pam.batch` calls these
functions. Numbers are int64 arrays of bits. ``io`` is a table of :data:`COLUMNS` for every pattern of the 16-bit format:
significand, biased exponent, and class.
"""

from __future__ import annotations

import numpy as np

from ..memory.compiled import compiled

__all__ = ["COLUMNS", "FINITE", "INFINITE", "NOT_A_NUMBER", "ZERO", "outputs", "scores"]

#: Columns of the table of a format.
COLUMNS = ("significand", "exponent", "class")
SIGNIFICAND, EXPONENT, CLASS = range(3)

#: Classes of numbers.
FINITE, ZERO, INFINITE, NOT_A_NUMBER = range(4)

#: Flags of an accumulator.
NAN, POSITIVE, NEGATIVE = 1, 2, 4


@compiled
def _rounded(negative, magnitude, exponent, fraction_bits, exponent_max, lsb_exponent, sign_bit):
    """Bits of a number rounded to nearest, ties to even; see ``round_to_format``."""
    if magnitude == 0:
        return negative << sign_bit
    length = 0
    rest = magnitude
    while rest:
        rest >>= 1
        length += 1
    last = max(exponent + length - fraction_bits - 1, lsb_exponent)
    drop = last - exponent
    if drop > 0:
        right = min(drop, 62)
        kept = magnitude >> right
        low = magnitude - (kept << right)
        half = np.int64(1) << (right - 1)
        if drop <= 62 and (low > half or (low == half and kept & 1)):
            kept += 1
    else:
        kept = magnitude << min(-drop, 62)
    field = last - lsb_exponent
    infinity = exponent_max << fraction_bits
    packed = infinity if field >= exponent_max else min(kept + (field << fraction_bits), infinity)
    return packed | negative << sign_bit


@compiled
def _result(value, exponent, flags, unit, fmt):
    """Bits of an accumulator; see ``aligned_result``."""
    fraction_bits, exponent_max, lsb_exponent, sign_bit = fmt[0], fmt[1], fmt[2], fmt[3]
    infinity = exponent_max << fraction_bits
    if flags & NAN or (flags & POSITIVE and flags & NEGATIVE):
        return infinity | np.int64(1) << (fraction_bits - 1)
    if flags & POSITIVE:
        return infinity
    if flags & NEGATIVE:
        return infinity | np.int64(1) << sign_bit
    negative = np.int64(value < 0)
    return _rounded(negative, abs(value), exponent + unit, fraction_bits, exponent_max, lsb_exponent, sign_bit)


@compiled
def _product_flags(a, b, negative):
    """Flags of a product of numbers of two classes."""
    if a == NOT_A_NUMBER or b == NOT_A_NUMBER or (a == INFINITE and b == ZERO) or (a == ZERO and b == INFINITE):
        return NAN
    if a == INFINITE or b == INFINITE:
        return NEGATIVE if negative else POSITIVE
    return 0


@compiled
def scores(queries, keys, io, io_sign, window, fmt, lanes, slices, out):
    """Scores of every query with every key.

    Parameters
    ----------
    queries : ``(heads, queries, head_dim)``; keys : ``(heads, tokens, head_dim)``
    io, io_sign : table of the format of the factors, and its sign bit
    window : left shift, right shift, unit, floor, and left shift of a preloaded significand of the score format
    fmt : of the scores: fraction bits, largest exponent, exponent of the last bit, sign bit, bias
    lanes : products that are added at a time
    slices : chunks of ``lanes`` elements between two roundings, for each token; the same row of sizes for all tokens
    out : ``(heads, queries, tokens)``
    """
    left, right, unit, floor, lift = window[0], window[1], window[2], window[3], window[4]
    fraction_bits, exponent_max, sign_bit, bias = fmt[0], fmt[1], fmt[3], fmt[4]
    sign_mask = np.int64(1) << io_sign
    products = np.zeros(lanes, np.int64)
    exponents = np.zeros(lanes, np.int64)
    for head in range(keys.shape[0]):
        for query in range(queries.shape[1]):
            for token in range(keys.shape[1]):
                at = 0
                bits = np.int64(0)
                for number in range(len(slices)):
                    value, exponent, flags = np.int64(0), floor, 0
                    if number:      # the rounded partial score is a product with its leading bit at the product's place
                        field = bits >> fraction_bits & exponent_max
                        fraction = bits & ((np.int64(1) << fraction_bits) - 1)
                        negative = bits >> sign_bit & 1
                        if field == exponent_max:
                            flags = NAN if fraction else NEGATIVE if negative else POSITIVE
                        else:
                            value = fraction | (np.int64(1) << fraction_bits if field else np.int64(0))
                            value = value << lift if lift > 0 else value >> -lift
                            value = -value if negative else value
                            own = max(field, 1) - bias - fraction_bits - lift - unit
                            exponent = max(own, floor)
                            value >>= min(exponent - own, 62)
                    for _ in range(slices[number]):
                        grown = exponent
                        for lane in range(lanes):
                            a, b = queries[head, query, at + lane], keys[head, token, at + lane]
                            kinds = io[a, CLASS] + io[b, CLASS]
                            if kinds == FINITE:
                                own = io[a, EXPONENT] + io[b, EXPONENT]
                                product = io[a, SIGNIFICAND] * io[b, SIGNIFICAND]
                                products[lane] = -product if (a ^ b) & sign_mask else product
                                exponents[lane] = own
                                grown = max(grown, own)
                            else:
                                products[lane] = 0
                                flags |= _product_flags(io[a, CLASS], io[b, CLASS], (a ^ b) & sign_mask)
                        total = np.int64(0)
                        for lane in range(lanes):
                            product = products[lane]
                            if product:
                                term = (abs(product) << left) >> min(grown - exponents[lane] + right, 62)
                                total += term if product > 0 else -term
                        value = (value >> min(grown - exponent, 62)) + total
                        exponent = grown
                        at += lanes
                    bits = _result(value, exponent, flags, unit, fmt)
                out[head, query, token] = bits


@compiled
def outputs(probabilities, values, tokens, tile, io, io_sign, window, fmt, out):
    """Probabilities times values, tile by tile and token by token.

    Parameters
    ----------
    probabilities : ``(heads, queries, tiles * tile)``; values : ``(heads, tokens, head_dim)``
    window : left shift, right shift, unit, floor
    out : ``(heads, queries, tiles, head_dim)``
    """
    left, right, unit, floor = window[0], window[1], window[2], window[3]
    sign_mask = np.int64(1) << io_sign
    dim = values.shape[2]
    value, exponent, flags = np.zeros(dim, np.int64), np.zeros(dim, np.int64), np.zeros(dim, np.int64)
    for head in range(values.shape[0]):
        for query in range(probabilities.shape[1]):
            for number in range(out.shape[2]):
                value[:] = 0
                exponent[:] = floor
                flags[:] = 0
                for token in range(number * tile, min((number + 1) * tile, tokens)):
                    a = probabilities[head, query, token]
                    significand, own, kind = io[a, SIGNIFICAND], io[a, EXPONENT], io[a, CLASS]
                    for d in range(dim):
                        b = values[head, token, d]
                        if kind + io[b, CLASS] == FINITE:
                            sum_exponent = own + io[b, EXPONENT]
                            grown = max(exponent[d], sum_exponent)
                            term = (significand * io[b, SIGNIFICAND] << left) >> min(grown - sum_exponent + right, 62)
                            value[d] = (value[d] >> min(grown - exponent[d], 62)) + (
                                -term if (a ^ b) & sign_mask else term)
                            exponent[d] = grown
                        else:
                            flags[d] |= _product_flags(kind, io[b, CLASS], (a ^ b) & sign_mask)
                for d in range(dim):
                    out[head, query, number, d] = _result(value[d], exponent[d], flags[d], unit, fmt)
