"""Claims that need a unit, a program or a measurement that is not here."""

from __future__ import annotations

from ..evidence import Evidence, Finding, NotCheckable
from .common import CHECKS

#: Reasons by claim.
REASONS: dict[str, str] = {
    **dict.fromkeys(("inf2-gemv", "inf2-gemv-blk", "inf2-tile", "inf2-soft-load", "inf2-soft-mask", "inf2-soft-red",
                     "inf2-soft-fp16", "inf2-soft-pass", "inf2-split"),
                    "no model of its accelerator: the unit does not exist here yet"),
    **dict.fromkeys(("inf2-res-lut", "inf2-res-ff", "inf2-res-bram", "inf2-res-uram", "inf2-res-dsp", "inf2-hw-fpga"),
                    "no model of its FPGA: the accelerator does not exist here yet"),
    "inf2-power": "power of an FPGA is an input; nothing here measures it",
    "inf2-hw-host": "the processors are not modelled, and the paper's 48 cores of a Gold 6342 are doubtful",
    "inf2-layout": "the model has the bytes of keys and values, not their files",
    "inf2-sd-cap": "the model has the bytes of keys and values, not the system calls that move them",
    "inf2-llama": "needs the memory management of the baselines themselves",
    "inf2-hf175": "needs the memory management of Accelerate itself",
    "inf2-cost": "prices are inputs; no model of the cost of this server",
    "inf2-gpu8": "a published measurement of eight GPUs; no kernels of SmoothQuant are known here",
}


@CHECKS.of(*REASONS, by=())
def not_here(evidence: Evidence, claim: str) -> Finding:
    raise NotCheckable(REASONS[claim])
