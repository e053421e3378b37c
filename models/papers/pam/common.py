"""Objects that several checks of PAM share."""

from __future__ import annotations

from typing import Any

from ....constraints.pam.pu import PRESETS as PU_PRESETS
from ....constraints.pam.pu import PamPuConfig
from ...systems import load_system
from ..evidence import Checks, Evidence, NotCheckable

__all__ = ["CHECKS", "MEMORY", "PU", "config_of", "system_of"]

CHECKS = Checks()

#: Memory file of each tier.
MEMORY = {"hbm": "hbm3-5.2", "ddr": "ddr4-3200", "ssd": "flash-nand"}

#: Preset of the processing unit of each tier.
PU = {"hbm": "pam-hbm", "ddr": "pam-ddr", "ssd": "pam-ssd"}


def config_of(tier: str) -> PamPuConfig:
    """Configuration of a tier's processing unit."""
    return PU_PRESETS[PU[tier]]


def system_of(evidence: Evidence, name: str) -> Any:
    """A built-in system; :exc:`NotCheckable` if there is none of that name."""
    from ...systems import system_names

    if name not in system_names():
        raise NotCheckable(f"needs the system '{name}'")
    return evidence.once(("system", name), lambda: load_system(name))
