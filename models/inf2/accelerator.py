"""Functional model of INF2's accelerator, bit-exact with the RTL: scores, softmax, attention output.

Source: INF2, accelerator. The parts have models of their own.
"""

from __future__ import annotations

import numpy as np

from ...constraints.inf2.accelerator import Inf2AcceleratorConfig, Job
from ...constraints.inf2.gemv import Gemv, GemvMode
from ..numerics import to_float64
from ..numerics.softmax import softmax
from .gemv import gemv

__all__ = ["attention", "reference"]


def attention(
    config: Inf2AcceleratorConfig, job: Job, q: np.ndarray, k: np.ndarray, v: np.ndarray, masked: np.ndarray
) -> np.ndarray:
    """The attention output of a job, as bits.

    Parameters
    ----------
    q : integer array ``(head_dim,)``
    k, v : integer arrays ``(row, head_dim)``: the rows that were there, and the new ones
    masked : bool array ``(row,)``

    Returns
    -------
    int64 array ``(head_dim,)``
    """
    scores = gemv(config.gemv, Gemv(GemvMode.QK, job.row, job.head_dim), q, k)[: job.row]
    weights = softmax(scores, ~masked, config.softmax.rule)
    return gemv(config.gemv, Gemv(GemvMode.SV, job.row, job.head_dim), weights, v)[: job.head_dim]


def reference(
    config: Inf2AcceleratorConfig, q: np.ndarray, k: np.ndarray, v: np.ndarray, masked: np.ndarray
) -> np.ndarray:
    """The same attention in binary64. Masked tokens have the score -10,000, as the accelerator's mask defines."""
    q, k, v = (to_float64(np.asarray(x), config.gemv.io) for x in (q, k, v))
    with np.errstate(all="ignore"):
        scores = np.where(masked, -1e4, k @ q)
        weights = np.exp(scores - scores.max())
        return np.asarray(weights @ v / weights.sum())
