"""Arithmetic on binary floating-point formats: shapes, and pipelined pieces that datapaths are made of."""

from .aligned import Rounder, Unpacked, leading_zeros, unpack
from .exponential import SoftmaxExp
from .float_shape import FloatShape

__all__ = ["FloatShape", "Rounder", "SoftmaxExp", "Unpacked", "leading_zeros", "unpack"]
