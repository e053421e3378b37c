"""Everything that can be named on the command line. Adding a unit is one folder in ``gen`` and one entry here."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from bankside.constraints.contract import Option, Unit
from bankside.constraints.discovery import discover
from bankside.constraints.document import Strict
from bankside.constraints.errors import ConfigError, nearest

__all__ = ["UNITS", "Unit", "unit"]


@dataclass(frozen=True)
class _Listed:
    """A unit that has no contract yet."""

    name: str
    summary: str
    source: str
    module: str
    config_path: str
    presets_path: str
    generator: str
    model: str
    bench: str
    page: str
    workload: Mapping[str, Any] = field(hash=False)
    published: tuple[str, ...] | None = None
    result = None

    published_presets = Unit.published_presets
    load_generator, load_model, load_bench, preset = (
        Unit.load_generator, Unit.load_model, Unit.load_bench, Unit.preset)

    @cached_property
    def config(self) -> type[Strict]:
        return _named(self.config_path)

    @cached_property
    def presets(self) -> Mapping[str, Strict]:
        return _named(self.presets_path)


def _named(path: str) -> Any:
    module, name = path.split(":")
    return getattr(importlib.import_module(module), name)


_ATTENTION_STEP = {"memory": "hbm3-5.2", "tokens": 512, "head_dim": 128}
_COMPOSITIONS = "docs/pam-compositions.md"


_LISTED: dict[str, Any] = {u.name: u for u in (
    _Listed("pam-ru", "reduction unit: merges partial results of attention", "PAM (MICRO 2025) section 5.2.2",
         module="pam_ru",
         config_path="bankside.constraints.units.pam_ru:PamRuConfig",
         presets_path="bankside.constraints.units.pam_ru:PRESETS",
         generator="bankside.gen.pam:PamRu", model="bankside.models.pam.ru:reduce_partials",
         bench="bankside.cosim.pam_ru:bench", page="docs/pam-ru.md", workload={"partials": 16, "head_dim": 128},
         published=("pam-hbm",)),
    _Listed("pam-interface", "transfer of KV tokens between memory tiers of different layout",
         "PAM (MICRO 2025) section 6.2",
         module="pam_interface",
         config_path="bankside.constraints.units.pam_interface:PamInterfaceConfig",
         presets_path="bankside.constraints.units.pam_interface:PRESETS",
         generator="bankside.gen.pam:PamInterface", model="bankside.models.pam.interface:transfer",
         bench="bankside.cosim.pam_interface:bench", page="docs/pam-interface.md", workload={"tokens": 512},
         published=("ddr-ssd",)),
    _Listed("pam-bank-group", "processing units of a bank group and their reduction unit", "PAM (MICRO 2025) section 5.2.2",
         module="pam_bank_group",
         config_path="bankside.constraints.units.pam_bank_group:PamBankGroupConfig",
         presets_path="bankside.constraints.units.pam_bank_group:PRESETS",
         generator="bankside.gen.pam:PamBankGroup", model="bankside.models.pam.compositions:group_attention",
         bench="bankside.cosim.pam_compositions:bench", page=_COMPOSITIONS, workload=_ATTENTION_STEP, published=()),
    _Listed("pam-hbm-slice", "bank groups of a channel (or DIMM) and the tree that merges their results",
         "PAM (MICRO 2025) section 5.2.2", module="pam_hbm_slice",
         config_path="bankside.constraints.units.pam_hbm_slice:PamSliceConfig",
         presets_path="bankside.constraints.units.pam_hbm_slice:PRESETS",
         generator="bankside.gen.pam:PamSlice", model="bankside.models.pam.compositions:slice_attention",
         bench="bankside.cosim.pam_compositions:bench", page=_COMPOSITIONS, workload=_ATTENTION_STEP, published=()),
    _Listed("pam-ssd-controller", "processing and reduction units of an SSD controller behind a shared buffer of pages",
         "PAM (MICRO 2025) section 5.2", module="pam_ssd_controller",
         config_path="bankside.constraints.units.pam_ssd_controller:PamSsdControllerConfig",
         presets_path="bankside.constraints.units.pam_ssd_controller:PRESETS",
         generator="bankside.gen.pam:PamSsdController", model="bankside.models.pam.compositions:slice_attention",
         bench="bankside.cosim.pam_compositions:bench", page=_COMPOSITIONS,
         workload={**_ATTENTION_STEP, "memory": "flash-nand"}, published=()),
    _Listed("pam-reduction-tree", "tree of reduction units: logic die, central buffer", "PAM (MICRO 2025) section 5.2.2",
         module="pam_reduction_tree",
         config_path="bankside.constraints.units.pam_reduction_tree:PamReductionTreeConfig",
         presets_path="bankside.constraints.units.pam_reduction_tree:PRESETS",
         generator="bankside.gen.pam:PamReductionTree", model="bankside.models.pam.compositions:reduction_tree",
         bench="bankside.cosim.pam_compositions:tree_bench", page=_COMPOSITIONS, workload={"head_dim": 128}, published=()),
    _Listed("pam-tier-merge", "last level: merges the results of HBM, DDR and SSD; "
         "its bench is a decode step over all three",
         "PAM (MICRO 2025) section 5.2.2", module="pam_tier_merge",
         config_path="bankside.constraints.units.pam_tier_merge:PamTierMergeConfig",
         presets_path="bankside.constraints.units.pam_tier_merge:PRESETS",
         generator="bankside.gen.pam:PamTierMerge", model="bankside.models.pam.compositions:tier_merge",
         bench="bankside.cosim.pam_decode_step:bench", page=_COMPOSITIONS,
         workload={"tokens": 512, "head_dim": 128, "shares": "12:3:1", "data": "normal"}, published=()),
)}


#: Every unit by name.
UNITS: dict[str, Any] = {**discover("bankside.units", Unit), **_LISTED}


def workload_options(unit: Any) -> Mapping[str, Any]:
    """Options of a unit's workload by name."""
    if isinstance(unit.workload, Mapping):
        return {name: Option(name, type(value), value, 0, None, "") for name, value in unit.workload.items()}
    return unit.workload.options()


def unit(name: str) -> Unit:
    """A unit by name; :exc:`ConfigError` with the nearest name if there is none."""
    if name not in UNITS:
        raise ConfigError(nearest("unit", name, UNITS))
    return UNITS[name]
