"""Why our values of CENT's claims are off: a cause for each, and the number that would change the verdict."""

from __future__ import annotations

from typing import Any

from ...systems.cent import Point
from ..difference import Difference
from ..evidence import Evidence
from ..verdict import Judgement
from .common import CHECKS, PIPELINED, SHARED, phase
from .results import energy_mj, token_s


@CHECKS.off("cent-mot-sat")
def saturation(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    return Difference(
        cause="contradiction",
        number="batch at which GPUs saturate at 32 K tokens: 8 in section 2, 16 in section 7.1",
        ours=float(ours["32K_sec2"]),
        unit="requests",
    )


@CHECKS.off("cent-pwr-rv")
def core(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    return Difference(
        cause="contradiction",
        number="power of a RISC-V core: 250 mW in section 6, 190 mW for eight in Table 5",
        ours=float(ours),
        unit="mW",
    )


@CHECKS.off("cent-energy")
def joules(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    energy = phase(evidence, PIPELINED["70b"], "end2end", False, energy_mj)
    return Difference(
        cause="contradiction",
        number="energy of a token of Llama2-70B with the standby of all "
        "channels; the paper states 2.9 and 2.3 times less than GPUs",
        ours=energy,
        needed=phase(evidence, PIPELINED["70b"], "end2end", True, energy_mj),
        unit="mJ",
    )


@CHECKS.off("cent-energy-pd")
def joules_by_phase(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    return Difference(
        cause="design",
        number="energy of a token of Llama2-70B in decoding, all channels' standby included",
        ours=phase(evidence, PIPELINED["70b"], "decoding", False, energy_mj),
        needed=phase(evidence, PIPELINED["70b"], "decoding", True, energy_mj),
        unit="mJ",
    )


@CHECKS.off("cent-lat")
def latency(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    return Difference(
        cause="design",
        number="mean time of a token of Llama2-70B on 32 devices: with refresh, all sums on the first device, and "
        "measured clocks of units",
        ours=1e3 * phase(evidence, SHARED["70b"], "end2end", False, token_s),
        needed=1e3 * phase(evidence, SHARED["70b"], "end2end", True, token_s),
        unit="ms",
    )


@CHECKS.off("cent-thr", "cent-thr-70b", "cent-thr-prefill", "cent-thr-decode", "cent-tokdollar")
def throughput(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    key, model = ("70b", "Llama2-70B in 80") if claim == "cent-thr-70b" else ("13b", "Llama2-13B in 40")
    when = {"cent-thr-prefill": "prefill", "cent-thr-decode": "decoding"}.get(claim, "end2end")

    def period_us(point: Point) -> float:
        return 1e6 * point.period_s

    return Difference(
        cause="design",
        number=f"mean time between two tokens of {model} stages, with refresh, measured clocks of units, and the program "
        "that the RTL executes",
        ours=phase(evidence, PIPELINED[key], when, False, period_us),
        needed=phase(evidence, PIPELINED[key], when, True, period_us),
        unit="us",
    )
