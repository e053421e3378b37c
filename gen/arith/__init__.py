"""Arithmetic on binary floating-point formats: shapes, and operators as functions of signals and stream components."""

from .activation import interpolate
from .add import add
from .aligned import Rounder, Unpacked, leading_zeros, unpack
from .compare import compare, maximum, minimum
from .convert import convert, from_integer, round_to_integral, to_integer
from .divide import IterativeDivider, divide
from .dot import DotAccumulator, DotRegisters, dot
from .exponential import IterativeExponential, SoftmaxExp, exponential, negative_power, scaled_difference, softmax_exp
from .float_shape import FloatLayout, FloatShape, FloatView
from .fma import add_product, addend_distance, exact_product, fma, product_layout
from .logarithm import logarithm
from .multiply import multiply
from .pipeline import Pipeline, operator
from .reciprocal import reciprocal, reciprocal_square_root
from .square_root import IterativeSquareRoot, square_root
from .stream_operator import StreamOperator
from .vector import dot_tree, vector_add, vector_mac, vector_multiply, vector_scale

__all__ = [
    "DotAccumulator",
    "DotRegisters",
    "FloatLayout",
    "FloatShape",
    "FloatView",
    "IterativeDivider",
    "IterativeExponential",
    "IterativeSquareRoot",
    "Pipeline",
    "Rounder",
    "SoftmaxExp",
    "StreamOperator",
    "Unpacked",
    "add",
    "add_product",
    "addend_distance",
    "compare",
    "convert",
    "divide",
    "dot",
    "dot_tree",
    "exact_product",
    "exponential",
    "fma",
    "from_integer",
    "interpolate",
    "leading_zeros",
    "logarithm",
    "maximum",
    "minimum",
    "multiply",
    "negative_power",
    "operator",
    "product_layout",
    "reciprocal",
    "reciprocal_square_root",
    "round_to_integral",
    "scaled_difference",
    "softmax_exp",
    "square_root",
    "to_integer",
    "unpack",
    "vector_add",
    "vector_mac",
    "vector_multiply",
    "vector_scale",
]
