"""Claims that need a unit, a program or a measurement that is not here."""

from __future__ import annotations

from ..evidence import Evidence, Finding, NotCheckable
from .common import CHECKS

#: Reasons by claim.
REASONS: dict[str, str] = {
    "inf2-hw-host": "the processors are not modelled, and the paper's 48 cores of a Gold 6342 are doubtful",
    "inf2-sd-cap": "whether a file system takes direct I/O is a property of the machine; the store uses it where it can",
    "inf2-llama": "needs the memory management of the baselines themselves",
    "inf2-hf175": "needs the memory management of Accelerate itself",
    "inf2-gpu8": "a published measurement of eight GPUs; no kernels of SmoothQuant are known here",
}


@CHECKS.of(*REASONS, by=())
def not_here(evidence: Evidence, claim: str) -> Finding:
    raise NotCheckable(REASONS[claim])
