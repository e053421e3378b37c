"""INF2: scores and outputs of the GEMV engine, and the softmax unit between them. Everything else is float32.

Tokens come in pages of 128. The scores of a page behind the newest token are masked with -1e4, as the unit does it.
"""

from __future__ import annotations

import numpy as np

from ...constraints.arith.softmax import INF2_SOFTMAX, INF2_SOFTMAX_FP32
from ...constraints.inf2.accelerator import PRESETS as ACCELERATORS
from ...constraints.inf2.gemv import PRESETS, Gemv, GemvMode
from ..llm.weights import Model
from ..numerics import convert
from ..numerics.softmax import softmax
from ..numerics.sums import Factors, Lists, Sum, mixtures, scores
from .backend import Backend, Place, UnitBackend

__all__ = ["Inf2Backend", "make"]


class Inf2Backend(UnitBackend):
    """See the module. ``wide``: sums in FP32, in both units.

    Attributes
    ----------
    config, accelerator : the engine, and the accelerator that holds it and the softmax
    """

    system = "inf2"
    #: Queries at a time. Their rows of scores are as long as the longest of them, so few share a row's length.
    block = 128

    def __init__(self, name: str, wide: bool = False) -> None:
        super().__init__(name)
        preset = "inf2-fp32" if wide else "inf2"
        self.config, self.accelerator = PRESETS[preset], ACCELERATORS[preset]
        self.rule = INF2_SOFTMAX_FP32 if wide else INF2_SOFTMAX
        self.io = self.config.io

    def begin(self, model: Model, room: int) -> None:
        super().begin(model, room)
        for mode in GemvMode:
            self.config.check_command(Gemv(mode, room, model.shape.head_dim))

    def unit(self, place: Place, q: np.ndarray, k: np.ndarray, v: np.ndarray, lists: Lists) -> np.ndarray:
        config, io = self.config, self.io
        how = Sum(config.window, 1, config.lanes, then="add")
        counts = np.zeros(len(q), np.int64)
        np.maximum.at(counts, lists.owners, lists.tokens + 1)
        found = scores(Factors.of(q, io), Factors.of(k, io), counts, how)[lists.owners, lists.tokens]
        found = convert(found, config.acc, io)
        return convert(mixtures(self.softmax(found, lists), Factors.of(v, io), lists, how), config.acc, io)

    def softmax(self, found: np.ndarray, lists: Lists) -> np.ndarray:
        """Probabilities of each list, from the scores of its tokens."""
        # Rows of whole pages: the list's tokens in order, then masked places.
        sizes, lanes = lists.sizes, self.rule.lanes
        row = np.arange(len(found)) - np.repeat(lists.first[:-1], sizes)
        rows = np.zeros((len(sizes), -(-int(sizes.max()) // lanes) * lanes), np.int64)
        valid = np.zeros(rows.shape, bool)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        rows[owner, row], valid[owner, row] = found, True
        return softmax(rows, valid, self.rule)[owner, row]


def make(name: str, wide: bool = False) -> Backend:
    return Inf2Backend(name, wide)
