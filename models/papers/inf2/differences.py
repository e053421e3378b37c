"""Why our values of INF2's claims are off: a cause for each, and the number that would change the verdict."""

from __future__ import annotations

from typing import Any

from ...systems import load_system
from ..difference import Difference
from ..evidence import Evidence
from ..verdict import Judgement
from .common import CHECKS, H100, run, system


@CHECKS.off("inf2-up", "inf2-csd8", "inf2-csd16", "inf2-mem", "inf2-perf", "inf2-scale", "inf2-ab-all", "inf2-ab-x",
            "inf2-ab-wb")
def accelerator(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    """Drives attend for nearly all of a step, so the gain goes with their rate."""
    own = system().own.attention.gb_s
    return Difference(cause="unpublished-input", number="rate at which an accelerator attends, software included",
                      ours=own, needed=own / judged.ratio if judged.ratio else None, unit="GB/s")


@CHECKS.off("inf2-mem175", "inf2-ds", "inf2-kvio")
def path(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    own = load_system("flexgen").description.spec.path.gb_s
    return Difference(cause="unpublished-input", number="rate of FlexGen's path from the drives", ours=own,
                      needed=own / judged.ratio if judged.ratio else None, unit="GB/s")


@CHECKS.off("inf2-raid")
def knee(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    return Difference(cause="contradiction", number="drives beyond which a RAID0 gains nothing: three in figure 3, two in "
                      "figure 16", ours=float(ours["fig16"]), unit="drives")


@CHECKS.off("inf2-h100")
def another_gpu(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    """The part of a step that a faster GPU can shorten, and the part that the smallest printed gain needs."""
    result = run(evidence, "flexgen", "opt-175b", 1 << 14)
    part = 100 * (1 - result.breakdown_ms["transfer_wait"] / result.tpot_ms)
    return Difference(cause="unpublished-input", number="part of a step of OPT-175B in FlexGen that waits for no drive",
                      ours=part, needed=100 * (1 - 1 / 1.08) if part < 100 * (1 - 1 / 1.08) else None, unit="%")


@CHECKS.off("inf2-tpd")
def batch(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    """The batch with which the model has the paper's throughput."""
    wanted = ours["inf2_tok_s"] / judged.ratio if judged.ratio else 0.0
    needed = next((count for count in range(1, 65) if
                   run(evidence, "inf2", "opt-175b", 1024, batch=count, **H100).throughput_tok_s >= wanted), None)
    return Difference(cause="unpublished-input", number="requests of the run of INF2; the paper states them for the GPUs "
                      "only", ours=16.0, needed=None if needed is None else float(needed), unit="requests")
