# amaranth: UnusedElaboratable=no
"""The operators as units of the command line: each function returns the stream component for a configuration."""

from amaranth import *
from amaranth.lib import data

from ...constraints.core.formats import FloatFormat
from .activation import interpolate
from .add import add
from .compare import compare, maximum, minimum
from .convert import convert, from_integer, to_integer
from .divide import IterativeDivider, divide
from .dot import DotAccumulator, dot
from .exponential import IterativeExponential, exponential
from .float_shape import FloatShape
from .fma import fma
from .logarithm import logarithm
from .multiply import multiply
from .reciprocal import reciprocal, reciprocal_square_root
from .square_root import IterativeSquareRoot, square_root
from .stream_operator import StreamOperator
from .vector import dot_tree, vector_add, vector_mac, vector_multiply, vector_scale

__all__ = [
    "fp_activation",
    "fp_add",
    "fp_compare",
    "fp_convert",
    "fp_div",
    "fp_dot",
    "fp_exp",
    "fp_fma",
    "fp_log",
    "fp_mul",
    "fp_recip",
    "fp_rsqrt",
    "fp_sqrt",
    "fp_vector",
]


def _shape(operand):
    fmt = operand.format
    shape = FloatShape(fmt) if isinstance(fmt, FloatFormat) else Shape(fmt.width, fmt.signed)
    return shape if operand.count == 1 else data.ArrayLayout(shape, operand.count)


def _shapes(operands):
    return {name: _shape(operand) for name, operand in operands.items()}


def _component(function, config, **options):
    return StreamOperator(
        function, _shapes(config.operands), _shapes(config.results), depth=config.depth, options=options
    )


def fp_mul(config):
    """Multiplier (:func:`multiply`)."""
    return _component(multiply, config, fmt=config.fmt, flush_to_zero=config.flush_to_zero, fabric=config.fabric)


def fp_add(config):
    """Adder or subtractor (:func:`add`)."""
    return _component(
        add, config, fmt=config.fmt, subtract=config.variant == "subtract", flush_to_zero=config.flush_to_zero
    )


def fp_fma(config):
    """Fused multiply-add (:func:`fma`)."""
    return _component(
        fma, config, fmt=config.fmt, acc=config.acc, flush_to_zero=config.flush_to_zero, fabric=config.fabric
    )


def fp_compare(config):
    """Comparator, or the larger or smaller of two numbers (:func:`compare`, :func:`maximum`, :func:`minimum`)."""
    function = {"compare": compare, "max": maximum, "min": minimum}[config.variant]
    return _component(function, config, fmt=config.fmt, flush_to_zero=config.flush_to_zero)


def fp_convert(config):
    """Converter (:func:`convert`, :func:`to_integer`, :func:`from_integer`)."""
    source, target = config.source_format, config.target_format
    if not isinstance(source, FloatFormat):
        return _component(from_integer, config, fmt=target, signed=source.signed)
    if not isinstance(target, FloatFormat):
        return _component(
            to_integer, config, fmt=source, width=target.width, signed=target.signed, flush_to_zero=config.flush_to_zero
        )
    return _component(convert, config, source=source, target=target, flush_to_zero=config.flush_to_zero)


def fp_div(config):
    """Divider (:func:`divide`, :class:`IterativeDivider`)."""
    if config.variant == "iterative":
        return IterativeDivider(config.fmt, bits_per_cycle=config.bits_per_cycle, flush_to_zero=config.flush_to_zero)
    return _component(divide, config, fmt=config.fmt, flush_to_zero=config.flush_to_zero)


def fp_sqrt(config):
    """Square root (:func:`square_root`, :class:`IterativeSquareRoot`)."""
    if config.variant == "iterative":
        return IterativeSquareRoot(config.fmt, bits_per_cycle=config.bits_per_cycle, flush_to_zero=config.flush_to_zero)
    return _component(square_root, config, fmt=config.fmt, flush_to_zero=config.flush_to_zero)


def fp_dot(config):
    """Dot product (:func:`dot`, :func:`dot_tree`, :class:`DotAccumulator`)."""
    if config.variant == "accumulate":
        return DotAccumulator(
            config.fmt,
            config.lanes,
            result=config.acc,
            window=config.window_bits,
            beats=config.beats,
            depth=config.depth,
            flush_to_zero=config.flush_to_zero,
            fabric=config.fabric,
        )
    if config.variant == "tree":
        return _component(
            dot_tree,
            config,
            fmt=config.fmt,
            result=config.acc,
            flush_to_zero=config.flush_to_zero,
            fabric=config.fabric,
        )
    return _component(
        dot,
        config,
        fmt=config.fmt,
        result=config.acc,
        window=config.window_bits,
        flush_to_zero=config.flush_to_zero,
        fabric=config.fabric,
    )


def fp_exp(config):
    """Exponential (:func:`exponential`, :class:`IterativeExponential`)."""
    if config.iterative:
        return IterativeExponential(
            config.fmt, order=config.order, range_reduced=config.range_reduced, flush_to_zero=config.flush_to_zero
        )
    if config.variant == "table":
        return _component(interpolate, config, table=config.table("exp"))
    series = {"variant": "taylor", "order": config.order, "range_reduced": config.range_reduced}
    return _unary(exponential, config, **(series if config.variant != "faithful" else {}))


def fp_activation(config):
    """Activation function (:func:`interpolate`)."""
    return _component(interpolate, config, table=config.table(config.variant))


def fp_vector(config):
    """Vector operator (:func:`vector_scale`, :func:`vector_mac`, :func:`vector_multiply`, :func:`vector_add`)."""
    function = {"scale": vector_scale, "mac": vector_mac, "multiply": vector_multiply, "add": vector_add}[
        config.variant
    ]
    options = {"result": config.acc} if config.variant == "mac" else {}
    return _component(
        function, config, fmt=config.fmt, flush_to_zero=config.flush_to_zero, fabric=config.fabric, **options
    )


def fp_log(config):
    """Natural logarithm (:func:`logarithm`)."""
    return _unary(logarithm, config)


def fp_recip(config):
    """Reciprocal (:func:`reciprocal`)."""
    return _unary(reciprocal, config)


def fp_rsqrt(config):
    """Reciprocal square root (:func:`reciprocal_square_root`)."""
    return _unary(reciprocal_square_root, config)


def _unary(function, config, **options):
    return _component(function, config, fmt=config.fmt, flush_to_zero=config.flush_to_zero, **options)
