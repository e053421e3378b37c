"""Why our values of INF2's claims are off: a cause for each, and the number that would change the verdict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...systems import load_system
from ..difference import Difference
from ..evidence import Evidence
from ..verdict import Judgement
from .common import BATCH, CHECKS, H100, LONG, SEQUENCES, rate, system, taken


def solve(value: Callable[[float], float], wanted: float, low: float, high: float) -> float | None:
    """Argument for which the rising ``value`` is ``wanted``; None if it lies outside."""
    if not value(low) <= wanted <= value(high):
        return None
    for _ in range(7):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if value(middle) < wanted else (low, middle)
    return float((low * high) ** 0.5)


@CHECKS.off(
    "inf2-up",
    "inf2-csd8",
    "inf2-csd16",
    "inf2-mem",
    "inf2-perf",
    "inf2-scale",
    "inf2-ab-all",
    "inf2-ab-x",
    "inf2-ab-wb",
)
def drive_path(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    """Drives load for nearly all of a step, so the gain goes with their rate."""
    own = system().own.attention.path.gb_s
    return Difference(
        cause="unpublished-input",
        number="rate at which a drive's software fills its accelerator's DRAM",
        ours=own,
        needed=own / judged.ratio if judged.ratio else None,
        unit="GB/s",
    )


@CHECKS.off("inf2-mem175", "inf2-ds", "inf2-kvio")
def path(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    own = load_system("flexgen").description.spec.path.gb_s
    return Difference(
        cause="unpublished-input",
        number="rate of FlexGen's path from the drives",
        ours=own,
        needed=own / judged.ratio if judged.ratio else None,
        unit="GB/s",
    )


@CHECKS.off("inf2-raid")
def knee(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    return Difference(
        cause="contradiction",
        number="drives beyond which a RAID0 gains nothing: three in figure 3, two in figure 16",
        ours=float(ours["fig16"]),
        unit="drives",
    )


@CHECKS.off("inf2-h100")
def another_gpu(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    """The rate with whole sequences that an H100 needs for the largest printed gain. The printed gains of INF2 on an H100
    need the A100's."""
    base = rate(evidence, "flexgen", "opt-175b", LONG)
    own = system().own.sequences.tflops

    def more(tflops: float) -> float:
        changes: dict[str, Any] = {SEQUENCES: tflops, **H100}
        return 100 * (rate(evidence, "flexgen", "opt-175b", LONG, **changes) / base - 1)

    needed = solve(more, 19, own, 20 * own)
    return Difference(
        cause="unpublished-input",
        number="rate that the software reaches with whole sequences on an H100",
        ours=own,
        needed=needed,
        unit="TFLOP/s",
    )


@CHECKS.off("inf2-tpd")
def batch(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    """The batch with which the model has the paper's throughput."""
    wanted = ours["inf2_tok_s"] / judged.ratio if judged.ratio else 0.0
    needed = next(
        (count for count in range(1, 65) if rate(evidence, "inf2", "opt-175b", 1024, batch=count, **H100) >= wanted),
        None,
    )
    return Difference(
        cause="unpublished-input",
        number="requests of the run of INF2; the paper states them for the GPUs only",
        ours=float(BATCH),
        needed=None if needed is None else float(needed),
        unit="requests",
    )


@CHECKS.off("inf2-res-lut", "inf2-res-ff", "inf2-res-bram", "inf2-res-uram", "inf2-res-dsp")
def resources(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    """The paper does not say what its shell, its buffers and its tools' pipelining take."""
    kind = claim.rsplit("-", 1)[1]
    used = taken(evidence)[kind]
    return Difference(
        cause="design",
        number=f"{kind.upper()} of the accelerator, shell included",
        ours=used,
        needed=None if not judged.ratio else used / judged.ratio,
    )
