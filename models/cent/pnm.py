"""Functional model of CENT's PNM units, bit-exact with the RTL.

Source of the commands: CENT (ASPLOS 2025) Tables 2 and 3. Rounding is this project's: see the page.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...constraints.cent.pnm import KINDS, CentPnmConfig
from ...constraints.core.formats import FP32
from ..aim.hub import HubCommand, HubModel, Transfers
from ..numerics import add, dot, dot_tree, exponential

__all__ = ["PnmModel", "SlotUnits", "exponentials", "reduced"]

#: Bits of the exact sum that a fused reduction keeps.
WINDOW = FP32.precision + 3


def reduced(config: CentPnmConfig, slots: np.ndarray) -> np.ndarray:
    """Sums of the elements of slots, of shape ``(slots, lanes)``."""
    fmt = config.fmt
    ones = np.full(slots.shape, fmt.bias << fmt.fraction_bits)
    if config.reduction == "tree":
        return dot_tree(slots, ones, fmt=fmt)
    return dot(slots, ones, fmt=fmt, result=fmt, window=WINDOW)


def exponentials(config: CentPnmConfig, x: np.ndarray) -> np.ndarray:
    """Exponentials of elements."""
    if config.exponential == "faithful":
        return exponential(x, config.fmt)
    return exponential(
        x, config.fmt, variant="taylor", order=config.order, range_reduced=config.exponential == "taylor-reduced"
    )


class SlotUnits:
    """The engines of EWADD (CENT's ACC), RED and EXP."""

    claims = tuple(KINDS)

    def __init__(self, hub: HubModel) -> None:
        self.hub = hub

    def execute(self, command: HubCommand, words: np.ndarray | None) -> None:
        hub, op, size = self.hub, command.op, command.opsize
        config = hub.config
        assert isinstance(config, CentPnmConfig)
        x = hub.words(op, command.gpr, size)
        if op == "EWADD":
            hub.store(command.gpr, add(x, hub.words(op, command.gpr1, size), config.fmt))
        elif op == "EXP":
            hub.store(command.gpr1, exponentials(config, x))
        else:
            sums = np.zeros_like(x)
            sums[:, 0] = reduced(config, x)
            hub.store(command.gpr1, sums)


class PnmModel(HubModel):
    """State of a device's registers, and the effect of commands on them (:class:`HubModel`)."""

    ENGINES: tuple[Any, ...] = (Transfers, SlotUnits)
