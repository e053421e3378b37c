"""The operators as units of the command line: a stream component for a configuration."""

from amaranth import *
from amaranth.lib import data

from ...constraints.formats import FloatFormat
from .add import add
from .compare import compare, maximum, minimum
from .convert import convert, from_integer, to_integer
from .divide import IterativeDivider, divide
from .float_shape import FloatShape
from .fma import fma
from .multiply import multiply
from .square_root import IterativeSquareRoot, square_root
from .stream_operator import StreamOperator

__all__ = ["fp_add", "fp_compare", "fp_convert", "fp_div", "fp_fma", "fp_mul", "fp_sqrt"]


def _shape(operand):
    fmt = operand.format
    shape = FloatShape(fmt) if isinstance(fmt, FloatFormat) else Shape(fmt.width, fmt.signed)
    return shape if operand.count == 1 else data.ArrayLayout(shape, operand.count)


def _shapes(operands):
    return {name: _shape(operand) for name, operand in operands.items()}


def _component(function, config, meanings, **options):
    return StreamOperator(function, _shapes(config.operands), _shapes(config.results), depth=config.depth,
                          meanings=meanings, options=options)


def fp_mul(config):
    """Multiplier (:func:`multiply`)."""
    return _component(multiply, config, {"a": "factor", "b": "factor", "result": "a b, rounded"},
                      fmt=config.fmt, flush_to_zero=config.flush_to_zero)


def fp_add(config):
    """Adder or subtractor (:func:`add`)."""
    sign = "-" if config.variant == "subtract" else "+"
    return _component(add, config, {"a": "first operand", "b": "second operand", "result": f"a {sign} b, rounded"},
                      fmt=config.fmt, subtract=config.variant == "subtract", flush_to_zero=config.flush_to_zero)


def fp_fma(config):
    """Fused multiply-add (:func:`fma`)."""
    return _component(fma, config, {"a": "factor", "b": "factor", "c": "addend", "result": "a b + c, rounded once"},
                      fmt=config.fmt, acc=config.acc, flush_to_zero=config.flush_to_zero)


def fp_compare(config):
    """Comparator, or the larger or smaller of two numbers (:func:`compare`, :func:`maximum`, :func:`minimum`)."""
    function = {"compare": compare, "max": maximum, "min": minimum}[config.variant]
    return _component(function, config, {"a": "first operand", "b": "second operand", "less": "a < b", "equal": "a = b",
                                         "greater": "a > b", "unordered": "a or b is NaN",
                                         "result": f"{config.variant}imum of a and b"}, fmt=config.fmt)


def fp_convert(config):
    """Converter (:func:`convert`, :func:`to_integer`, :func:`from_integer`)."""
    source, target = config.source_format, config.target_format
    meanings = {"a": "number to convert", "result": "the same number, rounded"}
    if not isinstance(source, FloatFormat):
        return _component(from_integer, config, meanings, fmt=target, signed=source.signed)
    if not isinstance(target, FloatFormat):
        return _component(to_integer, config, meanings, fmt=source, width=target.width, signed=target.signed)
    return _component(convert, config, meanings, source=source, target=target, flush_to_zero=config.flush_to_zero)


def fp_div(config):
    """Divider (:func:`divide`, :class:`IterativeDivider`)."""
    if config.variant == "iterative":
        return IterativeDivider(config.fmt, bits_per_cycle=config.bits_per_cycle, flush_to_zero=config.flush_to_zero)
    return _component(divide, config, {"a": "dividend", "b": "divisor", "result": "a / b, rounded"},
                      fmt=config.fmt, flush_to_zero=config.flush_to_zero)


def fp_sqrt(config):
    """Square root (:func:`square_root`, :class:`IterativeSquareRoot`)."""
    if config.variant == "iterative":
        return IterativeSquareRoot(config.fmt, bits_per_cycle=config.bits_per_cycle, flush_to_zero=config.flush_to_zero)
    return _component(square_root, config, {"a": "radicand", "result": "square root, rounded"},
                      fmt=config.fmt, flush_to_zero=config.flush_to_zero)
