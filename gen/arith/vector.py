"""Operators on vectors, made of scalar operators lane by lane; and the conventional tree of a dot product.

A vector is a list of values, or one value with all lanes, lane 0 lowest. A result is one value. Every lane is rounded
like the scalar operator, so the functional models of the scalar operators apply.
"""

from amaranth import *

from ...constraints.core.formats import FloatFormat
from .add import add
from .convert import convert
from .fma import fma
from .multiply import multiply
from .pipeline import operator

__all__ = ["dot_tree", "vector_add", "vector_mac", "vector_multiply", "vector_scale"]


def numbers(bits, fmt, which):
    """The numbers of a vector as a list of values.

    Raises
    ------
    :exc:`TypeError`
        If the format is not a :class:`FloatFormat`.
    :exc:`ValueError`
        If there is no number, or a number does not have the width of the format.
    """
    if not isinstance(fmt, FloatFormat):
        raise TypeError(f"Format must be a FloatFormat, not {fmt!r}")
    if isinstance(bits, list | tuple):
        values = [Value.cast(value) for value in bits]
        for value in values:
            if len(value) != fmt.width:
                raise ValueError(f"{which} must have {fmt.width} bits for each number, not {len(value)}")
    else:
        word = Value.cast(bits)
        if len(word) % fmt.width:
            raise ValueError(f"{which} must have a multiple of {fmt.width} bits, not {len(word)}")
        values = [word[low : low + fmt.width] for low in range(0, len(word), fmt.width)]
    if not values:
        raise ValueError(f"{which} must have at least one number")
    return values


def pair(a, b, fmt_a, fmt_b, names=("First operand", "Second operand")):
    """Two vectors of equal length as lists of values. Errors are as in :func:`numbers`."""
    a, b = numbers(a, fmt_a, names[0]), numbers(b, fmt_b, names[1])
    if len(a) != len(b):
        raise ValueError(f"Operands must have the same number of lanes, not {len(a)} and {len(b)}")
    return a, b


def _scalar(bits, fmt):
    (value,) = numbers([bits], fmt, "Scalar")
    return value


@operator
def vector_multiply(p, a, b, *, fmt, flush_to_zero=False):
    """``a[i] * b[i]`` of every lane, each a :func:`multiply`, with the same depth, rounding and errors.

    Returns one value, lane 0 lowest.
    """
    a, b = pair(a, b, fmt, fmt)
    return Cat(p.parallel("lane", len(a), lambda p, n: multiply(p, a[n], b[n], fmt=fmt, flush_to_zero=flush_to_zero)))


@operator
def vector_add(p, a, b, *, fmt, subtract=False, flush_to_zero=False):
    """``a[i] + b[i]`` of every lane, each an :func:`add`; ``a[i] - b[i]`` if ``subtract`` (one bit for all lanes).

    Returns one value, lane 0 lowest.
    """
    a, b = pair(a, b, fmt, fmt)
    return Cat(
        p.parallel(
            "lane", len(a), lambda p, n: add(p, a[n], b[n], fmt=fmt, subtract=subtract, flush_to_zero=flush_to_zero)
        )
    )


@operator
def vector_scale(p, s, x, *, fmt, flush_to_zero=False):
    """``s * x[i]``: every lane of a vector times one number, each a :func:`multiply`.

    Returns one value, lane 0 lowest.
    """
    s, x = _scalar(s, fmt), numbers(x, fmt, "Vector")
    return Cat(p.parallel("lane", len(x), lambda p, n: multiply(p, s, x[n], fmt=fmt, flush_to_zero=flush_to_zero)))


@operator
def vector_mac(p, s, x, acc, *, fmt, result=None, fused=True, flush_to_zero=False):
    """``s * x[i] + acc[i]``: every lane of a vector times one number, added to that lane of an accumulator.

    Parameters
    ----------
    s : ``fmt.width`` bits
    x : vector in ``fmt``
    acc : vector of as many lanes in ``result``
    result : :class:`FloatFormat` or None
        Format of the accumulator and the result. None: ``fmt``.
    fused : bool
        True: each lane is an :func:`fma`, rounded once. False: each lane is a :func:`multiply`, rounded to ``fmt`` and
        converted to ``result``, and then an :func:`add`, rounded to ``result``.
    flush_to_zero : bool
        As in the scalar operators.

    Returns
    -------
    Value of as many lanes in ``result``, lane 0 lowest.
    """
    result = fmt if result is None else result
    s = _scalar(s, fmt)
    x, acc = pair(x, acc, fmt, result, ("Vector", "Accumulator"))

    def lane(p, n):
        if fused:
            return fma(p, s, x[n], acc[n], fmt=fmt, acc=result, flush_to_zero=flush_to_zero)
        p.acc = acc[n]
        p.product = multiply(p.part("product"), s, x[n], fmt=fmt, flush_to_zero=flush_to_zero)
        p.cut(6)
        p.product = _converted(p, p.product, fmt, result, flush_to_zero)
        return add(p.part("sum"), p.product, p.acc, fmt=result, flush_to_zero=flush_to_zero)

    return Cat(p.parallel("lane", len(x), lane))


@operator
def dot_tree(p, a, b, acc=None, *, fmt, result=None, flush_to_zero=False):
    """Dot product with rounded multiplications and a tree of rounded additions, for comparison with :func:`dot`.

    The factors are converted to ``result``, without loss if it is wider. Then every product and every sum is rounded to
    ``result``. Neighbours are added first: ``(p0 + p1) + (p2 + p3)``. If their number is odd, the last one waits a
    level. ``acc`` comes last. So the result depends on the order of the lanes.

    Parameters
    ----------
    a, b : vectors of n lanes in ``fmt``
    acc : ``result.width`` bits, or None
    result : :class:`FloatFormat` or None
        Format of products, sums, ``acc`` and the result. None: ``fmt``.

    Returns
    -------
    Value, ``result.width`` bits
    """
    result = fmt if result is None else result
    a, b = pair(a, b, fmt, fmt)
    if acc is not None:
        (p.acc,) = numbers([acc], result, "Addend")

    def product(p, n):
        p.x, p.y = p.beside(
            *(
                lambda p, name=name, bits=bits: _converted(p.part(name), bits, fmt, result, flush_to_zero)
                for name, bits in (("a", a[n]), ("b", b[n]))
            )
        )
        return multiply(p.part("product"), p.x, p.y, fmt=result, flush_to_zero=flush_to_zero)

    terms = p.parallel("product", len(a), product)
    level = 0
    while len(terms) > 1:
        for number, term in enumerate(terms):
            p[f"term_{level}_{number}"] = term
        p.cut(6)
        inputs = [p[f"term_{level}_{number}"] for number in range(len(terms))]
        sums = p.parallel(
            f"sum_{level}",
            len(inputs) // 2,
            lambda p, n, x=inputs: add(p, x[2 * n], x[2 * n + 1], fmt=result, flush_to_zero=flush_to_zero),
        )
        terms = [*sums, *([p[f"term_{level}_{len(inputs) - 1}"]] if len(inputs) % 2 else [])]
        level += 1
    if acc is None:
        return terms[0]
    p.total = terms[0]
    p.cut(6)
    return add(p.part("last"), p.total, p.acc, fmt=result, flush_to_zero=flush_to_zero)


def _converted(p, bits, source, target, flush_to_zero):
    """A number in another format, as a signal, because many places use it."""
    p.given = bits
    if source != target:
        p.given = convert(p.part("converted"), p.given, source=source, target=target, flush_to_zero=flush_to_zero)
    return p.given
