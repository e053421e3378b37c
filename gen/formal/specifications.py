"""Specifications of the operators in SMT-LIB's theory of floating-point numbers.

Each function is named after an operator and returns the operands and the specification that
:func:`~.smt.prove_operator` takes::

    prove_operator(add, *specifications.add(FP16), {"fmt": FP16})

The theory rounds and computes as IEEE 754 says. This module defines the rest. With ``flush_to_zero`` subnormal operands
count as zeros, and a result that is below the normal range before rounding is a zero. If "before rounding" needs the
exact value, a wider format holds this value, or at least holds it on the right side of the border.
"""

from .smt import constant, flushed, is_number, number

__all__ = [
    "add",
    "compare",
    "convert",
    "divide",
    "fma",
    "from_integer",
    "maximum",
    "minimum",
    "multiply",
    "round_to_integral",
    "square_root",
    "to_integer",
]


def _operands(fmt, names):
    return {name: fmt for name in names}


def _read(bits, fmt, flush):
    return flushed(number(bits, fmt), fmt) if flush else number(bits, fmt)


def _wide(value, exponent_bits, precision):
    """The same number in a wider sort."""
    return f"((_ to_fp {exponent_bits} {precision}) RNE {value})"


def _tiny(value, fmt, exponent_bits, precision):
    """Whether a number of a wide sort is not zero and below the normal range of ``fmt``."""
    border = f"((_ to_fp {exponent_bits} {precision}) RNE {number(constant(fmt.smallest_normal, fmt.width), fmt)})"
    return f"(and (fp.lt (fp.abs {value}) {border}) (not (fp.isZero {value})))"


def _zero_like(value, fmt):
    return (
        f"(ite (fp.isNegative {value}) (_ -zero {fmt.exponent_bits} {fmt.precision}) "
        f"(_ +zero {fmt.exponent_bits} {fmt.precision}))"
    )


def _rounded(wide, fmt, sort, flush):
    """A number of the wide sort in ``fmt``."""
    value = f"((_ to_fp {fmt.exponent_bits} {fmt.precision}) RNE {wide})"
    return f"(ite {_tiny(wide, fmt, *sort)} {_zero_like(wide, fmt)} {value})" if flush else value


def _let(name, term, body):
    return f"(let (({name} {term})) {body})"


def multiply(fmt, *, flush_to_zero=False):
    sort = fmt.exponent_bits + 2, 2 * fmt.precision  # holds every product

    def formula(result, a, b):
        x, y = (_read(n, fmt, flush_to_zero) for n in (a, b))
        if not flush_to_zero:
            return is_number(result, f"(fp.mul RNE {x} {y})", fmt)
        product = f"(fp.mul RNE {_wide(x, *sort)} {_wide(y, *sort)})"
        return _let("exact", product, is_number(result, _rounded("exact", fmt, sort, True), fmt))

    return _operands(fmt, "ab"), formula


def add(fmt, *, subtract=False, flush_to_zero=False):
    """A sum below the normal range is exact, so flushing after rounding equals flushing before rounding."""
    # z3 adds only if the precision is at least the number of exponent bits. Other formats are added exactly and
    # rounded.
    sort = fmt.exponent_bits + 1, (1 << fmt.exponent_bits) + fmt.precision
    exactly = fmt.exponent_bits > fmt.precision

    def formula(result, a, b):
        x, y = (_read(n, fmt, flush_to_zero) for n in (a, b))
        operation = f"fp.{'sub' if subtract else 'add'} RNE"
        value = f"({operation} {x} {y})"
        if exactly:
            value = _rounded(f"({operation} {_wide(x, *sort)} {_wide(y, *sort)})", fmt, sort, False)
        return _let("sum", value, is_number(result, flushed("sum", fmt) if flush_to_zero else "sum", fmt))

    return _operands(fmt, "ab"), formula


def fma(fmt, *, acc=None):
    """``a b + c``, with ``c`` and the result in ``acc``.

    For a wider ``acc``, a sort that contains both formats is used. It is wide enough for an exact product.
    """
    acc = acc or fmt
    exponent_bits = max(fmt.exponent_bits + 2, acc.exponent_bits)
    precision = max(2 * fmt.precision, acc.precision)

    def formula(result, a, b, c):
        if acc == fmt:
            return is_number(result, f"(fp.fma RNE {number(a, fmt)} {number(b, fmt)} {number(c, fmt)})", fmt)
        if (exponent_bits, precision) != (acc.exponent_bits, acc.precision):
            raise ValueError(f"Products of {fmt.name} must be exact in {acc.name}")
        product = (
            f"(fp.mul RNE {_wide(number(a, fmt), exponent_bits, precision)} "
            f"{_wide(number(b, fmt), exponent_bits, precision)})"
        )
        return is_number(result, f"(fp.add RNE {product} {number(c, acc)})", acc)

    return {"a": fmt, "b": fmt, "c": acc}, formula


def divide(fmt, *, flush_to_zero=False):
    # A quotient of two significands of p bits is a power of two, or its relative distance to one is at least 2**-2p.
    sort = fmt.exponent_bits + 2, 2 * fmt.precision + 3

    def formula(result, a, b):
        x, y = (_read(n, fmt, flush_to_zero) for n in (a, b))
        value = f"(fp.div RNE {x} {y})"
        if flush_to_zero:
            near = f"(fp.div RNE {_wide(x, *sort)} {_wide(y, *sort)})"
            value = f"(ite {_tiny(near, fmt, *sort)} {_zero_like(near, fmt)} {value})"
        return _let("quotient", value, is_number(result, "quotient", fmt))

    return _operands(fmt, "ab"), formula


def square_root(fmt, *, flush_to_zero=False):
    """A root is never below the normal range."""

    def formula(result, a):
        return is_number(result, f"(fp.sqrt RNE {_read(a, fmt, flush_to_zero)})", fmt)

    return _operands(fmt, "a"), formula


def compare(fmt, *, flush_to_zero=False):
    """The four relations of IEEE 754. Exactly one of them holds."""

    def formula(less, equal, greater, unordered, a, b):
        x, y = (_read(n, fmt, flush_to_zero) for n in (a, b))
        wanted = {
            less: f"(fp.lt {x} {y})",
            equal: f"(fp.eq {x} {y})",
            greater: f"(fp.gt {x} {y})",
            unordered: f"(or (fp.isNaN {x}) (fp.isNaN {y}))",
        }
        return f"(and {' '.join(f'(= (= {bit} #b1) {value})' for bit, value in wanted.items())})"

    return _operands(fmt, "ab"), formula


def _extreme(fmt, order, zero, flush_to_zero):
    """The operand that comes first in ``order``. If both are zeros, one for which ``zero`` holds, if there is one."""

    def formula(result, a, b):
        x, y = (_read(n, fmt, flush_to_zero) for n in (a, b))
        zeros = f"(and (fp.isZero {x}) (fp.isZero {y}))"
        first = f"(or (fp.isNaN {y}) ({order} {x} {y}) (and {zeros} ({zero} {x})))"
        return _let("chosen", f"(ite (and (not (fp.isNaN {x})) {first}) {x} {y})", is_number(result, "chosen", fmt))

    return _operands(fmt, "ab"), formula


def maximum(fmt, *, flush_to_zero=False):
    """IEEE 754-2019 maximumNumber: one NaN is ignored, two NaNs give NaN, and -0 is less than +0."""
    return _extreme(fmt, "fp.gt", "fp.isPositive", flush_to_zero)


def minimum(fmt, *, flush_to_zero=False):
    """IEEE 754-2019 minimumNumber, with the same rules as :func:`maximum`."""
    return _extreme(fmt, "fp.lt", "fp.isNegative", flush_to_zero)


def convert(source, target, *, flush_to_zero=False):
    sort = max(source.exponent_bits, target.exponent_bits) + 2, max(source.precision, target.precision)

    def formula(result, a):
        value = _wide(_read(a, source, flush_to_zero), *sort)
        return is_number(result, _rounded(value, target, sort, flush_to_zero), target)

    return {"a": source}, formula


def to_integer(fmt, width, signed, *, flush_to_zero=False):
    """To nearest, ties to even. Beyond the range it is the nearest integer in the range, and for NaN the largest."""
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
    sort = max(fmt.exponent_bits, (width + 2).bit_length() + 1), max(fmt.precision, width + 1)

    def formula(result, a):
        x = _wide(_read(a, fmt, flush_to_zero), *sort)
        limit = {
            n: f"((_ to_fp {sort[0]} {sort[1]}) RNE {'(- ' if v < 0 else ''}{abs(v)}.0{')' if v < 0 else ''})"
            for n, v in (("low", low), ("high", high))
        }
        inside = f"((_ fp.to_{'s' if signed else 'u'}bv {width}) RNE x)"
        value = (
            f"(ite (or (fp.isNaN x) (fp.geq x {limit['high']})) {constant(high, width)} "
            f"(ite (fp.leq x {limit['low']}) {constant(low % (1 << width), width)} {inside}))"
        )
        return _let("x", f"(fp.roundToIntegral RNE {x})", f"(= {result} {value})")

    return {"a": fmt}, formula


def from_integer(fmt, width, signed):
    """``width`` is the width of the operand. The operator takes it as a signed or unsigned value."""
    from amaranth.hdl import Shape

    def formula(result, a):
        kind = "to_fp" if signed else "to_fp_unsigned"
        return is_number(result, f"((_ {kind} {fmt.exponent_bits} {fmt.precision}) RNE {a})", fmt)

    return {"a": Shape(width, signed)}, formula


def round_to_integral(fmt, *, flush_to_zero=False):
    def formula(result, a):
        return is_number(result, f"(fp.roundToIntegral RNE {_read(a, fmt, flush_to_zero)})", fmt)

    return {"a": fmt}, formula
