"""Errors of a function of one number against an exact reference, in units in the last place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ...constraints.core.formats import FloatFormat
from .formats import order_key, round_to_format, to_float64

__all__ = ["Exact", "exact_function", "ulp_errors"]


class Exact(NamedTuple):
    """Real numbers ``(high + low) * 2**exponent``, known far more precisely than any format can show.

    Attributes
    ----------
    high : float64 array
        0, or of magnitude 0.5 to 1. Infinite or NaN where the number is infinite or NaN.
    low : float64 array
        The rest that ``high`` leaves out, at most half a unit of its last place.
    exponent : int64 array
    """

    high: np.ndarray
    low: np.ndarray
    exponent: np.ndarray


#: Greatest exponent, far outside every format: larger exponents count as equal.
_FAR = 1 << 20


def exact_function(function: Callable[[Any], Any], precision: int = 160) -> Callable[[np.ndarray], Exact]:
    """Turn a function of mpmath numbers into a function of binary64 arrays, as in ``exact_function(mpmath.exp)``.

    It is evaluated with ``precision`` bits. A complex result counts as NaN, and so does a pole
    (:exc:`ZeroDivisionError`).
    """
    import mpmath

    def reference(values: np.ndarray) -> Exact:
        values = np.asarray(values, np.float64).ravel()
        high, low, exponent = np.zeros(len(values)), np.zeros(len(values)), np.zeros(len(values), np.int64)
        with mpmath.workprec(precision):
            for n, value in enumerate(values.tolist()):
                try:
                    y = function(mpmath.mpf(value))
                except (ZeroDivisionError, ValueError):
                    y = mpmath.nan
                if isinstance(y, mpmath.mpc):
                    y = mpmath.nan
                if not mpmath.isfinite(y):
                    high[n] = float(y)
                    continue
                mantissa, e = mpmath.frexp(y)
                high[n] = float(mantissa)
                low[n] = float(mantissa - high[n])
                exponent[n] = max(-_FAR, min(_FAR, int(e)))
        return Exact(high, low, exponent)

    return reference


def _exact(values: Exact | np.ndarray) -> Exact:
    if isinstance(values, Exact):
        return values
    high, exponent = np.frexp(np.asarray(values, np.float64))
    return Exact(high, np.zeros(high.shape), exponent.astype(np.int64))


def _rounded(y: Exact, fmt: FloatFormat) -> np.ndarray:
    """Bits of exact numbers, correctly rounded; the sign of a zero is plus."""
    finite = np.isfinite(y.high)
    high = np.where(finite, y.high, 0.0)
    negative = high < 0
    high, low = np.abs(high), np.where(negative, -y.low, y.low)
    # 60 bits, and a last bit that stands for all bits below them.
    units = np.ldexp(low, 60)
    below = np.floor(units)
    magnitude = np.ldexp(high, 60).astype(np.int64) + below.astype(np.int64)
    magnitude = magnitude << 1 | (units != below)
    bits = round_to_format(negative.astype(np.int64), magnitude, y.exponent - 61, fmt)
    infinite = np.where(y.high < 0, fmt.negative_infinity, fmt.infinity)
    return np.where(np.isnan(y.high), fmt.nan, np.where(finite, bits, infinite))


def _errors(got: np.ndarray, y: Exact, fmt: FloatFormat) -> np.ndarray:
    """Distance of results from exact numbers, in units of the format's last place at the exact number.

    A result or exact number that is too large counts as the power of two above the largest number of the format.
    """
    top = fmt.exponent_max - fmt.bias + 1  # exponent of that power, with a mantissa of 0.5
    over = (y.exponent >= top) | np.isinf(y.high)
    sign = np.sign(y.high)
    high, low = np.where(over, 0.5 * sign, y.high), np.where(over, 0.0, y.low)
    exponent = np.where(over, top, y.exponent)
    last = np.maximum(exponent - 1, 1 - fmt.bias) - fmt.fraction_bits
    last = np.where(over, fmt.exponent_max - 1 - fmt.bias - fmt.fraction_bits, last)
    inf = fmt.infinity
    infinite = (got & ~fmt.sign_mask) == inf
    value = to_float64(np.where(infinite, 0, got), fmt)
    mantissa, e = np.frexp(value)
    mantissa, e = np.where(infinite, np.where(got == inf, 0.5, -0.5), mantissa), np.where(infinite, top, e)
    reach = np.clip(exponent - last, -1060, 1000)
    # Both are multiples of small powers of two near each other: the first difference is exact where it matters.
    return np.abs(np.ldexp(mantissa, np.clip(e - last, -1060, 1000)) - np.ldexp(high, reach) - np.ldexp(low, reach))


def ulp_errors(
    function: Callable[[np.ndarray], np.ndarray],
    fmt: FloatFormat,
    reference: Callable[[np.ndarray], Exact | np.ndarray],
    *,
    inputs: np.ndarray | None = None,
    special: Mapping[int, int] | None = None,
    result: FloatFormat | None = None,
) -> dict[str, Any]:
    """Errors of a function of one number against the exact function.

    Parameters
    ----------
    function
        From an int64 array of bits of ``fmt`` to the bits of the results.
    fmt
        Format of the operand.
    reference
        The exact function of binary64 values: :func:`exact_function`, or a function that returns binary64 values where
        they are accurate enough. It gives NaN where the result must be NaN.
    inputs
        Bits of the operands. Default: all operands, for formats of at most 16 bits.
    special
        Required results of certain operands, by bits (infinities and zeros). NaN operands must give the canonical NaN.
        So must operands whose reference is NaN.
    result
        Format of the result, ``fmt`` if not given.

    Returns
    -------
    dict
        ``inputs``: finite operands whose reference is a number. ``max_ulp``, ``mean_ulp``: distance from the exact
        value, in units of the format's last place there. A correctly rounded result has a distance of at most 0.5.
        ``worst``: bits of the operand with the largest distance. ``max_steps``: greatest distance of a result from the
        correctly rounded result, counted in numbers of the format. ``not_correctly_rounded``: fraction of the operands.
        ``monotonic``: between neighbouring operands no result moves against the exact function. ``special``: all
        special values are as required.

    Raises
    ------
    :exc:`ValueError`
        If ``inputs`` are missing and there are too many of them.
    """
    result = result or fmt
    if inputs is None:
        if fmt.width > 16:
            raise ValueError(f"Inputs must be given for a format of more than 16 bits, not for {fmt.name}")
        inputs = np.arange(1 << fmt.width)
    inputs = np.asarray(inputs, np.int64)
    got = np.asarray(function(inputs), np.int64)

    magnitude = inputs & ~fmt.sign_mask
    nan = magnitude > fmt.infinity
    fine = bool((got[nan] == result.nan).all())
    for operand, expected in (special or {}).items():
        answers = np.asarray(function(np.array([operand], np.int64)), np.int64)
        fine &= int(answers[0]) == expected
    order = np.argsort(order_key(inputs[magnitude < fmt.infinity], fmt), kind="stable")
    operands, results = (a[magnitude < fmt.infinity][order] for a in (inputs, got))
    y = _exact(reference(to_float64(operands, fmt)))
    undefined = np.isnan(y.high)
    fine &= bool((results[undefined] == result.nan).all())

    operands, results = operands[~undefined], results[~undefined]
    y = Exact(*(part[~undefined] for part in y))
    correct = _rounded(y, result)
    wrong = (results & ~result.sign_mask) > result.infinity  # NaN for a number
    plain = np.where(wrong, correct, results)
    key, right = _steps(plain, result), _steps(correct, result)
    errors = np.where(wrong, np.inf, _errors(plain, y, result))
    moved = np.diff(key)
    return {
        "inputs": len(operands),
        "max_ulp": float(errors.max()),
        "mean_ulp": float(errors.mean()),
        "worst": int(operands[errors.argmax()]),
        "max_steps": int(np.abs(key - right).max()),
        "not_correctly_rounded": float((wrong | (key != right)).mean()),
        "monotonic": bool((moved * _direction(y) >= 0).all()) and not wrong.any(),
        "special": fine,
    }


def _steps(bits: np.ndarray, fmt: FloatFormat) -> np.ndarray:
    """Integers that count numbers of a format; both zeros are 0."""
    magnitude = bits & ~fmt.sign_mask
    return np.where(bits & fmt.sign_mask, -magnitude, magnitude)


def _direction(y: Exact) -> np.ndarray:
    """Sign of the differences of successive numbers."""
    # Comparable keys: sign times (exponent, high, low), as zeros and infinities have no exponent of their own.
    sign = np.sign(y.high)
    exponent = np.where(y.high == 0, -2 * _FAR, np.where(np.isinf(y.high), 2 * _FAR, y.exponent)) * sign
    direction = np.zeros(len(y.high) - 1, np.int64)
    for part in (y.low, y.high, exponent, sign):
        difference = np.sign(np.diff(np.where(np.isinf(part), 0, part))).astype(np.int64)
        direction = np.where(difference != 0, difference, direction)
    return direction
