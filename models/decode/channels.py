"""What LoL-PIM and CENT share: products on the BF16 channels of AiM memories, for many vectors at once.

Bit for bit, these are the results of :class:`bankside.models.aim.channel.ChannelModel` for the programs of the compilers.
A register adds 16 products at a time and is rounded when it is read. So the order of an operator's inputs is all that
decides its bits, not the channel and bank of an output.
"""

from __future__ import annotations

import numpy as np

from ...constraints.aim.channel import AimChannelConfig
from ...constraints.core.formats import BF16
from ..numerics import encode, interpolate
from ..numerics.sums import Factors, Lists, Sum, mixtures, scores
from .backend import UnitBackend, values

__all__ = ["ChannelBackend", "bits"]

#: Elements of a matrix that is kept taken apart. Larger ones would need several times the memory of the model.
KEPT = 1 << 22


def bits(x: np.ndarray) -> np.ndarray:
    """Float32 rounded to BF16."""
    return encode(x, BF16).astype(np.int64)


class ChannelBackend(UnitBackend):
    """See the module.

    Attributes
    ----------
    channel : configuration of each channel
    piece : inputs of a product whose sum stays in a register; sums of several pieces are added. None: all inputs
    """

    io = BF16
    channel: AimChannelConfig
    piece: int | None = None

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._matrices: dict[str, Factors] = {}

    @property
    def sum(self) -> Sum:
        """A register's sum, of a word at a time."""
        return Sum(self.channel.window, self.channel.lanes)

    def embed(self, x: np.ndarray) -> np.ndarray:
        return values(bits(x), BF16)

    def order(self, name: str, inputs: int) -> np.ndarray | None:
        """Order of a matrix's inputs on the channels; None: their own."""
        return None

    def gemv(self, name: str, x: np.ndarray, matrix: np.ndarray) -> np.ndarray:
        order = self.order(name, matrix.shape[1])
        factors = self._matrices.get(name)
        if factors is None:
            ordered = bits(matrix if order is None else matrix[:, order])
            factors = Factors.of(_padded(ordered, self.channel.lanes), BF16)
            if matrix.size <= KEPT:
                self._matrices[name] = factors
        vector = bits(x if order is None else x[:, order])
        how = self.sum if self.piece is None else Sum(self.channel.window, self.channel.lanes, self.piece, then="add")
        full = np.full(len(x), len(matrix))
        return values(scores(Factors.of(_padded(vector, self.channel.lanes), BF16), factors, full, how), BF16)

    def sigmoid(self, x: np.ndarray) -> np.ndarray:
        """AF of bits."""
        number = self.channel.activations.split(",").index("sigmoid")
        return interpolate(x, self.channel.tables[number])

    def score_bits(self, q: np.ndarray, k: np.ndarray, lists: Lists) -> np.ndarray:
        """Scores of the tokens of lists, one after the other."""
        counts = np.zeros(len(q), np.int64)
        np.maximum.at(counts, lists.owners, lists.tokens + 1)
        return scores(Factors.of(q, BF16), Factors.of(k, BF16), counts, self.sum)[lists.owners, lists.tokens]

    def output_bits(self, p: np.ndarray, v: np.ndarray, lists: Lists) -> np.ndarray:
        """Probabilities times values, one row for each list."""
        return mixtures(p, Factors.of(v, BF16), lists, self.sum)


def _padded(x: np.ndarray, lanes: int) -> np.ndarray:
    """Rows of whole words; a product with 0 changes no sum."""
    return np.pad(x, ((0, 0), (0, -x.shape[1] % lanes)))
