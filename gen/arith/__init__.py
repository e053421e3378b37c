"""Arithmetic on binary floating-point formats: shapes, operators as functions of signals, and as stream components."""

from .aligned import Rounder, Unpacked, leading_zeros, unpack
from .dot import dot
from .exponential import SoftmaxExp
from .float_shape import FloatLayout, FloatShape, FloatView
from .pipeline import Pipeline, operator
from .stream_operator import StreamOperator

__all__ = ["FloatLayout", "FloatShape", "FloatView", "Pipeline", "Rounder", "SoftmaxExp", "StreamOperator",
           "Unpacked", "dot", "leading_zeros", "operator", "unpack"]
