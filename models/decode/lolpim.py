"""LoL-PIM: products on BF16 channels, softmax and norms of the hub. The host turns queries and keys, and scales queries.

Bit for bit, attention is :attr:`bankside.models.lolpim.head.Head.attend` on a module.
"""

from __future__ import annotations

import numpy as np

from ...constraints.aim.hub import INNER, PimHubConfig
from ...constraints.arith.geometry import dot_window
from ...constraints.core.errors import ConfigError
from ...constraints.core.formats import BF16, FP32
from ...constraints.lolpim.module import PRESETS, LolPimModuleConfig
from ..llm.weights import Model
from ..lolpim.head import Head
from ..memory.compiled import compiled
from ..numerics import convert, dot_stream, fma, from_integer, reciprocal, reciprocal_square_root
from ..numerics.sums import Lists, fields, format_numbers, rounded, softmax_powers, value_bits
from .backend import Backend, Place, values
from .channels import ChannelBackend, bits

__all__ = ["LolPimBackend", "make"]

ONE, MINUS_ZERO = np.int64(FP32.bias << FP32.fraction_bits), np.int64(FP32.sign_mask)


class LolPimBackend(ChannelBackend):
    """See the module."""

    system = "lol-pim"

    def __init__(self, name: str, config: LolPimModuleConfig = PRESETS["lol-pim-channel"]) -> None:
        super().__init__(name)
        self.config, self.channel, self.hub = config, config.channel, config.hub
        self.piece = config.channel.lanes * config.channel.columns

    def begin(self, model: Model, room: int) -> None:
        super().begin(model, room)
        head = Head(self.config, model.shape.head_dim)
        if room > head.most_tokens:
            raise ConfigError(f"the hub's registers hold the scores of {head.most_tokens} tokens, not of {room}")

    def unit(self, place: Place, q: np.ndarray, k: np.ndarray, v: np.ndarray, lists: Lists) -> np.ndarray:
        p = hub_softmax(self.hub, self.score_bits(q, k, lists), lists)
        return self.output_bits(p, v, lists)

    def norm(self, x: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """RMSNORM of the hub, then GPR_MUL with the weights."""
        hub, shape = self.hub, x.shape
        rows = x.reshape(-1, shape[-1])
        wide = convert(bits(rows), BF16, FP32)
        share = reciprocal(from_integer(np.int64(shape[-1]), FP32, signed=False), fmt=FP32)
        epsilon = np.int64(np.float32(self.model.norm_eps).view(np.uint32))
        variance = fma(_sums(hub, wide), share, epsilon, FP32)
        factor = reciprocal_square_root(variance, fmt=FP32)[:, None]
        normed = convert(fma(wide, factor, MINUS_ZERO, FP32), FP32, BF16)
        return values(self._product(normed, bits(weight)), BF16).reshape(shape)

    def activation(self, gate: np.ndarray, up: np.ndarray) -> np.ndarray:
        """AF, then two products of the hub."""
        x = bits(gate)
        return values(self._product(self._product(x, self.sigmoid(x)), bits(up)), BF16)

    def add(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """EWADD of the hub."""
        a, b = (convert(bits(part), BF16, FP32) for part in (x, y))
        return values(convert(fma(a, ONE, b, FP32), FP32, BF16), BF16)

    def _product(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        a, b = (convert(part, BF16, FP32) for part in (x, y))
        return convert(fma(a, b, MINUS_ZERO, FP32), FP32, BF16)


def _sums(hub: PimHubConfig, rows: np.ndarray) -> np.ndarray:
    """FP32 sum of the squares of each row, as the hub's lanes add them."""
    lanes = hub.lanes
    terms = convert(rows, FP32, INNER)
    words = np.pad(terms, ((0, 0), (0, -terms.shape[1] % lanes))).reshape(len(rows), -1, lanes)
    beats = words.shape[1]
    first, last = (np.tile(np.arange(beats) == edge, len(rows)) for edge in (0, beats - 1))
    flat = words.reshape(-1, lanes)
    return dot_stream(flat, flat, first, last, fmt=INNER, result=FP32, beats=hub.beats)


def hub_softmax(hub: PimHubConfig, scores: np.ndarray, lists: Lists) -> np.ndarray:
    """SOFTMAX of each list: bits of :func:`bankside.models.aim.hub.softmax`."""
    _, powers, _ = softmax_powers(scores, lists, None, BF16, hub.table, False)
    total = np.zeros(len(lists.sizes), np.int64)
    _totals(powers, lists.first, hub.lanes, hub_window(hub), format_numbers(INNER), format_numbers(FP32), total)
    factor = reciprocal(total, fmt=FP32)
    out = np.zeros(len(powers), np.int64)
    _scaled(
        powers, lists.first, values(factor, FP32).astype(np.float64), format_numbers(INNER), format_numbers(BF16), out
    )
    return out


def hub_window(hub: PimHubConfig) -> np.ndarray:
    """Left shift, unit and floor of the hub's sums."""
    window = dot_window(INNER, FP32, hub.lanes, None, beats=hub.beats)
    return np.array([window.left, window.unit, max(window.floor, 0)], np.int64)


@compiled
def _totals(powers, first, lanes, window, io, fmt, out):
    """FP32 sum of each list's exponentials, ``lanes`` at a time, as products with 1."""
    left, unit, floor = window[0], window[1], window[2]
    one = np.int64(1) << io[0]
    for each in range(len(first) - 1):
        value, exponent, bad = np.int64(0), floor, False
        for low in range(first[each], first[each + 1], lanes):
            high = min(low + lanes, first[each + 1])
            grown = exponent
            for n in range(low, high):
                _, own, significand, _, nan = fields(powers[n], io)
                if nan:
                    bad = True
                elif significand:
                    grown = max(grown, own + io[4])
            value >>= min(grown - exponent, np.int64(62))
            exponent = grown
            for n in range(low, high):
                _, own, significand, _, nan = fields(powers[n], io)
                if significand and not nan:
                    term = significand * one
                    term = term << left if left >= 0 else term >> -left
                    value += term >> min(grown - own - io[4], np.int64(62))
        out[each] = (
            fmt[1] << fmt[0] | np.int64(1) << (fmt[0] - 1) if bad else rounded(np.int64(0), value, exponent + unit, fmt)
        )


@compiled
def _scaled(powers, first, factors, io, fmt, out):
    """Exponentials times a number of each list, rounded to FP32 and to the format."""
    for each in range(len(first) - 1):
        for n in range(first[each], first[each + 1]):
            _, exponent, significand, _, nan = fields(powers[n], io)
            value = np.nan if nan else significand * 2.0 ** np.float64(exponent - io[4] - io[0])
            out[n] = value_bits(np.float64(np.float32(value * factors[each])), fmt)


def make(name: str) -> Backend:
    return LolPimBackend(name)
