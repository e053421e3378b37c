"""A LLaMA decoder whose attention, products, norms and activations a system computes, bit for bit."""

from .backend import BACKENDS, Backend, Place, make_backend
from .decoder import Decoder, StepInfo
from .evaluate import Compared, Run, compare, free_run, teacher_forced

__all__ = [
    "BACKENDS",
    "Backend",
    "Compared",
    "Decoder",
    "Place",
    "Run",
    "StepInfo",
    "compare",
    "free_run",
    "make_backend",
    "teacher_forced",
]
