"""Rules of softmax units: formats, masks, the order and the rounding of sums, and the division, for hardware and models.

Source: INF2, accelerator (groups of 32 elements, FP16 sums, -1e4 for masked scores); PAM (sums in a fixed-point window, no
division). The bits of every step are this project's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

from ..core.formats import FP16, FP32, FloatFormat
from .exponential import _nearest
from .geometry import ExpTable, SumWindow

__all__ = ["DIVISIONS", "INF2_SOFTMAX", "INF2_SOFTMAX_FP32", "SUMS", "SoftmaxRule"]

#: Rules of the sum: a tree of rounded additions, then rounded additions one after the other; or a fixed-point integer.
SUMS = ("float", "window")
#: Rules of the division: none; the quotient, rounded once; a product with a reciprocal of some bits, rounded once.
DIVISIONS = ("none", "exact", "reciprocal")


@dataclass(frozen=True)
class SoftmaxRule:
    """What decides the bits of a softmax.

    A row has ``lanes`` scores in a beat; the last beat is filled up with scores of -infinity. A masked score is replaced
    by ``mask_value``. The weights are ``exp(score - maximum)`` in the format ``io``, less than a unit in the last place
    from the exact exponential.

    ``sums="float"``: the lanes of a beat form ``groups`` groups. The weights of a group are converted to ``acc`` and added
    in a binary tree of neighbours. The sums of beat k are added to accumulator k modulo ``chains`` of their groups, which
    starts from 0. At the end a binary tree of neighbours adds the accumulators: of a group first, then of the groups.
    Each addition is rounded to ``acc``.

    ``sums="window"``: every weight is truncated to ``acc.precision + guard_bits`` fraction bits, integers are added, and
    the sum is rounded once to ``acc``. Their order does not matter.

    ``division="exact"``: every weight is divided by the sum, and the quotient rounded once to ``io``, as IEEE 754 says.
    ``division="reciprocal"``: R is the smallest integer that is not below ``2**(precision - 1 + reciprocal_bits) / m``,
    where m is the significand of the sum, with ``acc.precision`` bits. The product of R and a weight's significand,
    without its last ``io.precision`` bits, is rounded once. From ``io.precision + acc.precision + 2`` bits on, this equals
    the exact quotient. ``division="none"``: the weights stay as they are.

    Attributes
    ----------
    score, io, acc : formats of scores, weights, and sums
    lanes, groups, chains : powers of two; ``groups`` divides ``lanes``
    mask_value : what a masked score becomes; -infinity is allowed
    reciprocal_bits : for ``division="reciprocal"``
    max_tokens : largest row (headroom of the window)
    """

    score: FloatFormat = FP16
    io: FloatFormat = FP16
    acc: FloatFormat = FP16
    lanes: int = 128
    groups: int = 4
    chains: int = 1
    sums: Literal["float", "window"] = "float"
    guard_bits: int = 3
    mask_value: float = -1e4
    division: Literal["none", "exact", "reciprocal"] = "exact"
    reciprocal_bits: int = 25
    max_tokens: int = 1 << 17

    @cached_property
    def table(self) -> ExpTable:
        """Constants of the exponential."""
        return ExpTable(self.io)

    @property
    def window(self) -> SumWindow:
        return SumWindow(self.io, self.acc.precision, self.guard_bits, self.max_tokens, self.acc)

    @property
    def quotient_bits(self) -> int:
        """Bits of R, without the one that only a power of two has."""
        if self.division == "exact":
            return self.io.precision + self.acc.precision + 2
        return self.reciprocal_bits

    @cached_property
    def mask_bits(self) -> int:
        """``mask_value`` in the format ``score``, rounded to nearest. Beyond the range it is an infinity."""
        fmt, size = self.score, abs(self.mask_value)
        bits = fmt.infinity if math.isinf(size) else min(_nearest(Fraction(size), fmt), fmt.infinity)
        return bits | fmt.sign_mask * (self.mask_value < 0)

    def beats(self, tokens: int) -> int:
        """Beats of a row."""
        return -(-tokens // self.lanes)


#: The paper's accelerator: FP16 throughout. And the same with FP32 sums.
INF2_SOFTMAX = SoftmaxRule()
INF2_SOFTMAX_FP32 = SoftmaxRule(acc=FP32, division="reciprocal")
