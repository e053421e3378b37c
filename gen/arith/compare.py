"""Order of two numbers: comparison, maximum, minimum."""

from amaranth import *

from .pipeline import operator

__all__ = ["compare", "maximum", "minimum"]


@operator
def compare(p, a, b, *, fmt, flush_to_zero=False):
    """Compare two numbers: exactly one of four bits is 1.

    The order follows IEEE 754: -0 equals +0, infinities are the largest, and a NaN is unordered with every number and
    with itself. Nothing is rounded.

    Parameters
    ----------
    p : :class:`Pipeline` (or :class:`Module`, see :func:`operator`)
    a, b : value of ``fmt.width`` bits
    fmt : :class:`FloatFormat`
    flush_to_zero : :class:`bool`
        Subnormal operands count as zeros.

    Returns
    -------
    less, equal, greater, unordered : 1-bit values: ``a < b``, ``a == b``, ``a > b``, or none of these

    Raises
    ------
    :exc:`ValueError`
        If an operand is not as wide as the format.
    """
    a, b = _operands(a, b, fmt, flush_to_zero)
    zero = ~(a[:-1] | b[:-1]).any()
    p.keep(zero=zero, unordered=_nan(a, fmt) | _nan(b, fmt), a_sign=a[-1], b_sign=b[-1])
    _order(p, a, b)
    equal = p.zero | (p.same & (p.a_sign == p.b_sign))
    less = Mux(p.a_sign == p.b_sign, p.a_sign ^ p.below, p.a_sign) & ~equal
    return less & ~p.unordered, equal & ~p.unordered, ~(less | equal | p.unordered), p.unordered


@operator
def maximum(p, a, b, *, fmt, flush_to_zero=False):
    """The larger of two numbers: maximumNumber of IEEE 754-2019.

    One NaN operand is ignored. Two NaNs give the canonical quiet NaN. -0 is less than +0. The result is exact.

    Parameters
    ----------
    p : :class:`Pipeline` (or :class:`Module`, see :func:`operator`)
    a, b : value of ``fmt.width`` bits
    fmt : :class:`FloatFormat`
    flush_to_zero : :class:`bool`
        Subnormal operands count as zeros of their sign.

    Returns
    -------
    value of ``fmt.width`` bits

    Raises
    ------
    :exc:`ValueError`
        If an operand is not as wide as the format.
    """
    return _extreme(p, a, b, fmt, flush_to_zero, largest=1)


@operator
def minimum(p, a, b, *, fmt, flush_to_zero=False):
    """The smaller of two numbers: minimumNumber of IEEE 754-2019. Otherwise it works as :func:`maximum`."""
    return _extreme(p, a, b, fmt, flush_to_zero, largest=0)


def _extreme(p, a, b, fmt, flush_to_zero, *, largest):
    a, b = _operands(a, b, fmt, flush_to_zero)
    p.keep(a=a, b=b, a_nan=_nan(a, fmt), b_nan=_nan(b, fmt))
    _order(p, a, b)
    # If the operands are equal, either one is right.
    less = Mux(p.a[-1] ^ p.b[-1], p.a[-1], p.a[-1] ^ p.below)
    second = (p.a_nan | ~(less ^ largest)) & ~p.b_nan
    chosen = Mux(second, p.b, p.a)
    nan = p.a_nan & p.b_nan
    top = fmt.fraction_bits - 1
    return Cat(chosen[:top] & ~nan.replicate(top), chosen[top] | nan, chosen[top + 1 : -1], chosen[-1] & ~nan)


def _operands(a, b, fmt, flush_to_zero):
    for name, value in (("a", a), ("b", b)):
        if len(value) != fmt.width:
            raise ValueError(f"Operand {name} must have {fmt.width} bits, not {len(value)}")
    if not flush_to_zero:
        return a[:], b[:]
    size = fmt.fraction_bits
    return tuple(Cat(v[:size] & v[size:-1].any().replicate(size), v[size:]) for v in (a, b))


def _nan(bits, fmt):
    return bits[fmt.fraction_bits : -1].all() & bits[: fmt.fraction_bits].any()


def _order(p, a, b):
    """Put ``below`` and ``same`` into the pipeline: the magnitude of ``a`` is smaller than ``b``'s, or equal to it.

    A tree over the bits compares them: the upper half decides unless it is equal.
    """
    ranks = [(~a[i] & b[i], ~(a[i] ^ b[i])) for i in range(len(a) - 1)]
    while len(ranks) > 4:
        ranks = _halved(ranks)
    for index, (below, same) in enumerate(ranks):
        p[f"below_{index}"], p[f"same_{index}"] = below, same
    p.cut(2 * (len(a) - 1).bit_length() - 2)
    ranks = [(p[f"below_{index}"], p[f"same_{index}"]) for index in range(len(ranks))]
    while len(ranks) > 1:
        ranks = _halved(ranks)
    p.below, p.same = ranks[0]


def _halved(ranks):
    pairs = [(high[0] | high[1] & low[0], high[1] & low[1]) for low, high in zip(ranks[::2], ranks[1::2], strict=False)]
    return pairs + ranks[len(pairs) * 2 :]
