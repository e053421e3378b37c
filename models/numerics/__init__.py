"""Bit-accurate arithmetic in NumPy: what the generated operators compute, to the last bit."""

from .accuracy import Exact, exact_function, ulp_errors
from .aligned import Accumulator, Products, aligned_add, aligned_result, exact_products, preload, probability_sum
from .exponential import negative_difference, negative_exp, softmax_exp
from .formats import decode, encode, from_float64, order_key, round_to_format, to_float64

__all__ = ["Accumulator", "Exact", "Products", "aligned_add", "aligned_result", "decode", "encode", "exact_function",
           "exact_products",
           "from_float64", "negative_difference", "negative_exp", "order_key", "preload", "probability_sum",
           "round_to_format", "softmax_exp", "to_float64", "ulp_errors"]
