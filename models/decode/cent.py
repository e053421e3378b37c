"""CENT: a whole block on a device, as its program computes it: products, norms, rotary positions, softmax, SwiGLU, sums.

Bit for bit, a block is :class:`bankside.models.cent.executable.ExecutableBlock` on a device. The embedding, the last norm
and the output matrix follow the same rules.
"""

from __future__ import annotations

from threading import Lock
from typing import Any, Literal

import numpy as np

from ...constraints.cent.device import CentDeviceConfig, wide
from ...constraints.core.formats import BF16, FP32
from ..cent.executable import ExecutableBlock
from ..cent.pnm import exponentials, reduced
from ..llm.weights import Model
from ..numerics import (
    DotAccumulation,
    add,
    convert,
    encode,
    fma,
    maximum,
    order_key,
    reciprocal,
    reciprocal_square_root,
    to_float64,
    vector_multiply,
)
from ..numerics.sums import Lists
from .backend import Backend, Place, values
from .channels import ChannelBackend, bits

__all__ = ["CentBackend", "make"]

Exponential = Literal["faithful", "taylor", "taylor-reduced"]

#: Channels of the device on which a block runs.
CHANNELS = 2


class CentBackend(ChannelBackend):
    """See the module.

    Parameters
    ----------
    exponential : of the PNM units
    maximum : whether the largest score is subtracted first; the paper does not
    device : configuration of the device
    """

    system = "cent"

    def __init__(
        self,
        name: str,
        exponential: Exponential = "taylor-reduced",
        maximum: bool = False,
        device: CentDeviceConfig | None = None,
    ) -> None:
        super().__init__(name)
        self.device = device or wide(CHANNELS)
        self.channel, self.maximum = self.device.channel, maximum
        self.pnm = self.device.hub.model_copy(update={"exponential": exponential})
        self.block_shape: ExecutableBlock
        self._powers = exponentials(self.pnm, np.arange(1 << BF16.width))
        #: Scores, those whose exponential is off by more than a tenth, and the smallest and largest score.
        self._seen = np.zeros(2, np.int64)
        self._range = np.array([np.inf, -np.inf])
        self._wrong = self._off()
        self._lock = Lock()

    def begin(self, model: Model, room: int) -> None:
        super().begin(model, room)
        shape, device = model.shape, self.device
        self.block_shape = ExecutableBlock(
            shape.hidden_size,
            shape.heads,
            shape.kv_heads,
            shape.head_dim,
            shape.intermediate_size,
            device.channels,
            device.channel.banks,
            device.channel.lanes,
            device.channel.columns,
            device.channel.registers,
            device.hub.registers,
            max_tokens=max(room, 1),
            subtract_maximum=self.maximum,
        )

    # Attention -------------------------------------------------------------------------------------------------------

    def query(self, q: np.ndarray) -> np.ndarray:
        """Queries times the scale, as an element-wise product of the banks."""
        scale = int(bits(np.array(self.block_shape.head_dim**-0.5, np.float32)))
        return vector_multiply(bits(q), np.int64(scale), fmt=BF16)

    def unit(self, place: Place, q: np.ndarray, k: np.ndarray, v: np.ndarray, lists: Lists) -> np.ndarray:
        """Exponentials times the values and a column of ones, which gives their sum. The product with 1 / sum follows."""
        scores = self.score_bits(q, k, lists)
        self._count(scores)
        ones = np.full((len(v), 1), BF16.bias << BF16.fraction_bits, np.int64)
        values = np.concatenate([v, ones], axis=1)
        return self.divided(self.output_bits(self.exponentials(scores, lists), values, lists))

    def exponentials(self, scores: np.ndarray, lists: Lists) -> np.ndarray:
        """EXP of scores, less the largest of each list if the backend subtracts it."""
        if self.maximum:
            scores = add(scores, np.repeat(self._largest(scores, lists) ^ BF16.sign_mask, lists.sizes), BF16)
        return self._powers[scores]

    @staticmethod
    def divided(sums: np.ndarray) -> np.ndarray:
        """Sums of values, times the inverse of the last sum of each row, whose factors were ones."""
        factor = convert(reciprocal(convert(sums[:, -1:], BF16, FP32), fmt=FP32), FP32, BF16)
        return vector_multiply(sums[:, :-1], factor, fmt=BF16)

    @staticmethod
    def _largest(scores: np.ndarray, lists: Lists) -> np.ndarray:
        """Largest score of each list. A NaN counts only if there is nothing else."""
        nan = scores & ~BF16.sign_mask > BF16.infinity
        key = np.where(nan, -1, order_key(scores, BF16))
        some = np.flatnonzero(lists.sizes)
        best = np.full(len(lists.sizes), BF16.negative_infinity)
        if len(some):
            most = np.maximum.reduceat(key, lists.first[some])
            there = np.where(key == np.repeat(most, lists.sizes[some]), np.arange(len(key)), len(key))
            found = scores[np.minimum.reduceat(there, lists.first[some])]
            best[some] = np.where(most < 0, BF16.negative_infinity, found)
        return maximum(np.full_like(best, BF16.negative_infinity), best, BF16)

    def _folded(self, slots: np.ndarray) -> np.ndarray:
        slots, count = slots.copy(), slots.shape[1]
        while count > 1:
            half = count // 2
            slots[:, :half] = add(slots[:, :half], slots[:, count - half : count], BF16)
            count -= half
        return reduced(self.pnm, slots[:, 0])

    # Other parts -----------------------------------------------------------------------------------------------------

    def order(self, name: str, inputs: int) -> np.ndarray | None:
        return self.block_shape.context_order if name.endswith("o_proj") else None

    def norm(self, x: np.ndarray, weight: np.ndarray) -> np.ndarray:
        block, lanes, shape = self.block_shape, self.channel.lanes, x.shape
        rows = bits(x.reshape(-1, shape[-1]))
        words = shape[-1] // lanes
        pairs = block.units // 2
        each = -(-words // pairs)
        padded = np.zeros((len(rows), pairs * each, lanes), np.int64)
        padded[:, :words] = rows.reshape(len(rows), words, lanes)
        squares = padded.reshape(len(rows) * pairs, each, lanes)
        state = DotAccumulation(len(squares), self.channel.window)
        state.minus[:] = False
        for beat in range(each):
            state.add(squares[:, beat], squares[:, beat])
        slots = np.zeros((len(rows), block.channels, block.banks), np.int64)
        slots[:, :, ::2] = state.result().reshape(len(rows), block.channels, -1)
        total = convert(self._folded(slots), BF16, FP32)
        share, epsilon = (
            np.int64(np.float32(number).view(np.uint32)) for number in (1 / shape[-1], self.model.norm_eps)
        )
        factor = convert(reciprocal_square_root(fma(total, share, epsilon, FP32), fmt=FP32), FP32, BF16)
        normed = vector_multiply(rows, factor[:, None], fmt=BF16)
        return values(vector_multiply(normed, bits(weight), fmt=BF16), BF16).reshape(shape)

    def rotate(self, x: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
        turned = np.roll(x, x.shape[-1] // 2, axis=-1)
        straight, crossed = (
            vector_multiply(bits(part), np.broadcast_to(bits(factor), part.shape), fmt=BF16)
            for part, factor in ((x, cos), (turned, sin))
        )
        return values(add(straight, crossed, BF16), BF16)

    def activation(self, gate: np.ndarray, up: np.ndarray) -> np.ndarray:
        x = bits(gate)
        return values(vector_multiply(bits(up), vector_multiply(x, self.sigmoid(x), fmt=BF16), fmt=BF16), BF16)

    def add(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return values(add(bits(x), bits(y), BF16), BF16)

    # Hazard: scores beyond the range of the exponential --------------------------------------------------------------

    def _off(self) -> np.ndarray:
        """Operands whose exponential is off by more than a tenth."""
        x = to_float64(np.arange(1 << BF16.width), BF16)
        with np.errstate(all="ignore"):
            exact = to_float64(encode(np.exp(x), BF16), BF16)
            error = np.abs(to_float64(self._powers, BF16) - exact)
            return ~np.isnan(x) & ~((error <= 0.1 * exact) | (exact == to_float64(self._powers, BF16)))

    def _count(self, scores: np.ndarray) -> None:
        if len(scores):
            found = to_float64(scores, BF16)
            finite = found[np.isfinite(found)]
            with self._lock:
                self._seen += [len(scores), int(self._wrong[scores].sum())]
                if len(finite):
                    self._range = np.array([min(self._range[0], finite.min()), max(self._range[1], finite.max())])

    def details(self) -> dict[str, Any]:
        count, wrong = self._seen.tolist()
        low, high = self._range.tolist() if np.isfinite(self._range).all() else (None, None)
        return {
            "scores": count,
            "smallest_score": low,
            "largest_score": high,
            "scores_beyond_exponential": 0 if self.maximum else wrong,
        }


def make(name: str, exponential: Exponential = "taylor-reduced", maximum: bool = False) -> Backend:
    return CentBackend(name, exponential, maximum)
