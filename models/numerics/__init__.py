"""Bit-exact models of the generated arithmetic operators, in NumPy."""

from .accuracy import Exact, exact_function, ulp_errors
from .activation import interpolate
from .aligned import Accumulator, Products, aligned_add, aligned_result, exact_products, preload, probability_sum
from .dot import (
    DotAccumulation,
    dot,
    dot_stream,
    dot_tree,
    vector_add,
    vector_mac,
    vector_multiply,
    vector_scale,
)
from .elementary import logarithm, reciprocal, reciprocal_square_root
from .exponential import exponential, negative_difference, negative_exp, negative_power, softmax_exp
from .formats import decode, encode, from_float64, order_key, round_to_format, to_float64
from .ieee import (
    add,
    compare,
    convert,
    divide,
    fma,
    from_integer,
    is_nan,
    maximum,
    minimum,
    multiply,
    round_to_integral,
    square_root,
    subtract,
    to_integer,
)

__all__ = ["Accumulator", "DotAccumulation", "Exact", "Products", "add", "aligned_add", "aligned_result", "compare",
           "convert", "decode", "divide", "dot", "dot_stream", "dot_tree", "encode", "exact_function",
           "exact_products", "exponential", "fma", "from_float64", "from_integer", "interpolate", "is_nan",
           "logarithm", "maximum", "minimum", "multiply", "negative_difference", "negative_exp", "negative_power",
           "order_key", "preload", "probability_sum", "reciprocal", "reciprocal_square_root", "round_to_format",
           "round_to_integral", "softmax_exp", "square_root", "subtract", "to_float64", "to_integer", "ulp_errors",
           "vector_add", "vector_mac", "vector_multiply", "vector_scale"]
