"""Moves of tokens between tiers, which run beside the steps.

A swap exchanges two tokens of neighbouring tiers. Each pair of tiers has an interface that works in both directions at
once. Moves are a queue that continues from step to step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...pam.placement import TierShape
from .hardware import Hardware, Tier
from .share import Share

__all__ = ["Migration"]


class Migration:
    """Time and energy of a share's swaps. A byte of the GPU's memory takes ``dram_pj_per_byte``."""

    def __init__(self, hardware: Hardware, share: Share, shapes: Sequence[TierShape], dram_pj_per_byte: float) -> None:
        self.hardware, self.share, self.shapes = hardware, share, shapes
        hbm, ddr, ssd = hardware.tiers
        #: The faster and the slower tier of each pair.
        self.pairs: dict[str, tuple[Tier, Tier]] = {"ssd-ddr": (ddr, ssd), "ddr-hbm": (hbm, ddr)}
        self._pj_per_byte = 2 * dram_pj_per_byte + hardware.spec.links.pj_per_byte

    def transfer(self, moves: Mapping[str, int]) -> tuple[float, float]:
        """Seconds and energy (pJ) of swaps by pair of tiers. A pair's interface reaches a fraction of the slower side's
        rate."""
        size, worst, energy = self.share.token_bytes, 0.0, 0.0
        for pair, count in moves.items():
            if not count:
                continue
            fast, slow = self.pairs[pair]
            rates = [fast.bytes_per_s, slow.bytes_per_s, slow.link_bytes_per_s]
            up = count * size / (min(rates) * self.hardware.rate_fraction(slow, fast))
            if slow.flash:
                rates.append(slow.program_bytes_per_s)
            down = count * size / (min(rates) * self.hardware.rate_fraction(fast, slow))
            worst = max(worst, up, down)
            energy += 2 * count * size * self._pj_per_byte
        return worst, energy

    @property
    def swap_s(self) -> list[float]:
        """Mean seconds for which a swap occupies a bank group (in flash: a channel) of each tier."""
        return [tier.swap_s(self.share, shape) for tier, shape in zip(self.hardware.tiers, self.shapes, strict=True)]

    def occupied(self, moves: Mapping[str, int]) -> dict[str, float]:
        """Seconds for which the swaps of a step occupy a bank group or channel of each tier, as the mean over them."""
        return {
            tier.name: sum(count for pair, count in moves.items() if tier in self.pairs[pair]) * each
            for tier, each in zip(self.hardware.tiers, self.swap_s, strict=True)
        }

    def limits(self, step_s: float, busy_s: Mapping[str, float]) -> dict[str, int]:
        """Number of swaps of each pair for which a step of ``step_s`` seconds has time. Both tiers read and write tokens
        while they do not attend; each attends for its ``busy_s`` seconds."""
        spare = {name: step_s - busy for name, busy in busy_s.items()}
        each = {tier.name: seconds for tier, seconds in zip(self.hardware.tiers, self.swap_s, strict=True)}
        out = {}
        for pair, (fast, slow) in self.pairs.items():
            time = min(step_s / self.transfer({pair: 1})[0], *(spare[t.name] / each[t.name] for t in (fast, slow)))
            out[pair] = max(0, int(time))
            for tier in (slow, fast):
                spare[tier.name] -= out[pair] * each[tier.name]
        return out
