"""Objects that several checks of INF2 share: runs of the system and of its baselines."""

from __future__ import annotations

from typing import Any

from ....constraints.inf2.accelerator import PRESETS as ACCELERATOR
from ....constraints.libraries.fpga import FpgaDevice, fpga_families
from ...llm import load_model
from ...systems import Evaluation, evaluate, load_system
from ...systems.inf2 import Inf2System
from ..evidence import Checks, Evidence

__all__ = [
    "ALONE",
    "BATCH",
    "BUDGETS",
    "CHECKS",
    "H100",
    "LONG",
    "MODELS",
    "OUTPUT",
    "OUTPUTS",
    "SEQUENCES",
    "SHORT",
    "TOLERANCE",
    "gain",
    "ku15p",
    "rate",
    "run",
    "system",
    "taken",
]

CHECKS = Checks()

MODELS = ("opt-30b", "opt-66b", "opt-175b")

#: Requests and output tokens of the paper's runs (section 7.1).
BATCH, OUTPUT = 32, 64

#: Output tokens of the sweep in our runs.
OUTPUTS = (16, 32, 64, 128, 256, 512)

#: Tokens of the two prompts.
SHORT, LONG = 1 << 14, 1 << 15

#: Budgets of the host's memory, in GB.
BUDGETS = (256, 512, 1000)

#: Key of both systems: rate that the software reaches with whole sequences.
SEQUENCES = "sequences.tflops"

#: Changes of a system's file. ALONE is near-storage attention without X-cache and delayed write-back.
H100: dict[str, Any] = {"base": "gpu-h100-pcie"}
ALONE: dict[str, Any] = {"writeback.delayed": False, "x_cache.use": "off"}

#: No rate of any software is printed, so the largest tolerance that a check may have.
TOLERANCE = 0.25


def ku15p() -> FpgaDevice:
    """The accelerator's FPGA (section 7.1)."""
    return fpga_families()["xcup"].devices["ku15p"]


def taken(evidence: Evidence) -> dict[str, float]:
    """What the generated accelerator takes of its FPGA."""
    return ku15p().taken(
        evidence.record("inf2-accelerator", "inf2", ACCELERATOR["inf2"], "synth", fpga="xcup").results["fpga"]
    )


def system(**changes: Any) -> Inf2System:
    """INF2 as its file has it."""
    found = load_system("inf2", changes)
    assert isinstance(found, Inf2System)
    return found


def run(
    evidence: Evidence, name: str, model: str, context: int, *, batch: int = BATCH, output: int = OUTPUT, **changes: Any
) -> Evaluation:
    """A run of a system; keys of ``changes`` have dots."""
    key = ("inf2", name, model, context, batch, output, tuple(sorted((k, str(v)) for k, v in changes.items())))
    return evidence.once(
        key,
        lambda: evaluate(
            name,
            load_model(model),
            context=context,
            batch=batch,
            output_tokens=output,
            records=evidence.records,
            overrides=changes,
        ),
    )


def rate(
    evidence: Evidence, name: str, model: str, context: int, *, batch: int = BATCH, output: int = OUTPUT, **changes: Any
) -> float:
    """Tokens per second of a run with its prefill."""
    result = run(evidence, name, model, context, batch=batch, output=output, **changes)
    return float(result.more["run_throughput_tok_s"])


def gain(evidence: Evidence, model: str, context: int, *, output: int = OUTPUT, **changes: Any) -> float:
    """Throughput of INF2 over FlexGen's."""
    return rate(evidence, "inf2", model, context, output=output, **changes) / rate(
        evidence, "flexgen", model, context, output=output, **changes
    )
