"""Units of PAM (Processing Across Memory Hierarchy)."""

from .bank_group import PamBankGroup
from .hbm_slice import PamSlice
from .interface import PamInterface
from .pu import PamPu
from .reduction_tree import PamReductionTree
from .ru import PamRu
from .ssd_controller import PamSsdController
from .tier_merge import PamTierMerge

__all__ = [
    "PamBankGroup",
    "PamInterface",
    "PamPu",
    "PamReductionTree",
    "PamRu",
    "PamSlice",
    "PamSsdController",
    "PamTierMerge",
]
