"""Table 1 and section 5.2.2, from the system files of ``pam`` and of its baselines."""

from __future__ import annotations

from typing import Any

from ....constraints.core.document import validate
from ....constraints.systems import OffloadSystemSpec, PimTier, TieredSystemSpec
from ...llm import load_model
from ...systems import load_system
from ...systems.registry import read_spec
from ..category import Source
from ..evidence import Evidence, Finding
from .common import CHECKS, MEMORY, system_of
from .placement import entry_bytes, memory_bytes
from .settings import MODELS

GIB = 1 << 30


def spec_of(evidence: Evidence, name: str, schema: Any) -> Any:
    def read() -> Any:
        document, lines, where = read_spec(name)[:3]
        return validate(document, schema, where, lines)

    system_of(evidence, name)
    return evidence.once(("spec", name), read)


def pam(evidence: Evidence) -> TieredSystemSpec:
    return spec_of(evidence, "pam", TieredSystemSpec)


def tier(evidence: Evidence, name: str) -> PimTier:
    return next(tier for tier in pam(evidence).tiers if tier.name == name)


def devices(evidence: Evidence, name: str) -> int:
    """Stacks, DIMMs or SSDs of the node."""
    return tier(evidence, name).devices_per_gpu * system_of(evidence, "gpu-only").spec.gpu.count


@CHECKS.of("pam-sys-ssd", by=Source.SETTING)
def ssd_capacity(evidence: Evidence, claim: str) -> Finding:
    spec = spec_of(evidence, "vllm-offload", OffloadSystemSpec)
    whole = next(t.gib_per_gpu for t in spec.tiers if t.name == "ssd") * system_of(evidence, "gpu-only").spec.gpu.count
    own = tier(evidence, "ssd")
    pim = (
        devices(evidence, "ssd")
        * own.channels_per_device
        * memory_bytes(evidence, "ssd")
        / evidence.memory(MEMORY["ssd"]).channels
    )
    return Finding(
        whole * GIB / 1e12,
        "SSD tier of the baseline vllm-offload, TB",
        "The system file states rounded GiB. The SSDs of Table 1, which the system `pam` has, hold "
        f"{pim / 1e12:.1f} TB.",
        0.05,
    )


@CHECKS.of("pam-ssd-ifc", by=Source.SETTING)
def units_in_the_controller(evidence: Evidence, claim: str) -> Finding:
    """The system file counts the SSD's units per drive, and no command of a die feeds a unit beside it."""
    near = [name for name in evidence.memory(MEMORY["ssd"]).commands if name.startswith("MAC")]
    return Finding(
        tier(evidence, "ssd").units_per_device is not None and not near,
        "the SSD tier of pam counts units per drive; flash-nand has no command for a unit at a die",
    )


@CHECKS.of("pam-sys-mgmt", by=Source.SETTING)
def management(evidence: Evidence, claim: str) -> Finding:
    """Block table for as many tokens as all tiers hold, with the model whose tokens are smallest."""
    shapes = [load_model(name) for name in MODELS.values()]
    system = load_system("pam")
    most = max(sum(shape.capacity for shape in system.tier_shapes(model)) for model in shapes)  # type: ignore[attr-defined]
    reserved = tier(evidence, "ddr").reserved_gib * system_of(evidence, "gpu-only").spec.gpu.count
    return Finding(
        {"used_gb_max": most * entry_bytes() / 1e9, "reserved_gb": reserved},
        f"block table of {entry_bytes():g} bytes per token for all tokens that the tiers hold; host memory that "
        "pam leaves free",
    )
