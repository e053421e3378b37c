"""Why our values of LoL-PIM's claims are off: a cause for each, and the number that would change the verdict."""

from __future__ import annotations

from typing import Any

from ....constraints.aim.channel import PRESETS as CHANNELS
from ....constraints.lolpim.dispatcher import PRESETS as DISPATCHERS
from ...cost import unit_area
from ...llm import load_model
from ..difference import Difference
from ..evidence import Evidence
from ..verdict import Judgement
from .area import LOGIC, MEMORIES
from .buffers import operators, timers, without_transfers
from .common import CHECKS, TECHNIQUES, baseline, decoded, splits


def inverse(judged: Judgement) -> float:
    return 1 / judged.ratio if judged.ratio else 1.0


# Systems ---------------------------------------------------------------------------------------------------------------


@CHECKS.off("lolpim-thr-7b", "lolpim-thr-72b")
def rate_of_the_baseline(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    """A gain is our rate over the baseline's, in the size of memory where it is largest."""
    base = "gpu-gddr" if judged.part == "vs_gpu_gddr" else "aimx-pim"
    model, sizes = ("qwen1.5-7b", (1024,)) if claim == "lolpim-thr-7b" else ("qwen1.5-72b", (256, 512, 1024))
    rates = {
        size: (
            decoded(evidence, "lol-pim", size, model).tokens_per_s,
            baseline(evidence, base, size, model).tokens_per_s,
        )
        for size in sizes
    }
    size = max(rates, key=lambda one: rates[one][0] / rates[one][1])
    rate = rates[size][1]
    return Difference(
        cause="unpublished-input",
        number=f"rate of `{base}` with {model} on {size} GB, which its split and its attention decide",
        ours=rate,
        needed=rate * (judged.ratio or 1.0),
        unit="tokens/s",
    )


@CHECKS.off("lolpim-t7b", "lolpim-t14b", "lolpim-t72b")
def rate_of_table_8(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    column = judged.part.split("[")[0]
    return Difference(
        cause="unpublished-input",
        number=f"rate of the split in column {column}; the table does not print splits",
        ours=ours[column][0],
        needed=ours[column][0] * inverse(judged),
        unit="tokens/s",
    )


@CHECKS.off("lolpim-dpa-batch")
def reserved_tokens(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    """Static allocation admits as many requests as its reservation leaves."""
    longest = load_model("llama-3.1-8b").max_context
    gain = ours["max_percent"] / 100
    return Difference(
        cause="unpublished-input",
        number="tokens that static allocation reserves for a request",
        ours=longest,
        needed=longest * (1 + gain * inverse(judged)) / (1 + gain),
        unit="tokens",
    )


@CHECKS.off("lolpim-dpa-perf", "lolpim-par-gap", "lolpim-par-shift")
def splits_that_are_shown(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    shown = sum(len(splits(evidence, "qwen1.5-7b", nodes, *TECHNIQUES)) for nodes in (4, 16))
    return Difference(
        cause="unpublished-input",
        number="splits that the comparison includes; the paper does not list its own",
        ours=shown,
        unit="splits",
    )


@CHECKS.off("lolpim-lat-comb")
def time_of_the_hybrid(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    before, after = (
        1e6 / decoded(evidence, name, 1024, "qwen1.5-72b").tokens_per_s for name in ("gpu-aimx-pim", "gpu-lol-pim")
    )
    wanted = ours["min_percent"] * inverse(judged) / 100
    return Difference(
        cause="unpublished-input",
        number="time of a token in the hybrid with all techniques, of which the GPUs' part is not printed",
        ours=after,
        needed=before * (1 - wanted),
        unit="us",
    )


@CHECKS.off("lolpim-hyb-gap")
def rate_of_the_hybrid(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    gaps = {
        model: decoded(evidence, "lol-pim", 1024, model).tokens_per_s
        / decoded(evidence, "gpu-lol-pim", 1024, model).tokens_per_s
        for model in ("qwen1.5-7b", "qwen1.5-72b")
    }
    model = max(gaps, key=lambda name: gaps[name])
    rate = decoded(evidence, "gpu-lol-pim", 1024, model).tokens_per_s
    return Difference(
        cause="design",
        number=f"rate of `gpu-lol-pim` with {model}; its modules hold half the requests",
        ours=rate,
        needed=rate * (judged.ratio or 1.0),
        unit="tokens/s",
    )


# Buffers ---------------------------------------------------------------------------------------------------------------


@CHECKS.off("lolpim-io-over")
def products_of_scores(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    """The transfers stay as they are; a product opens its row in the time that the memory file says."""
    timer, score = timers(evidence)[0], operators()["qk"]
    whole, products = timer.time(score).cycles, timer.program(without_transfers(score.program)).cycles
    wanted = ours["min_percent"] * inverse(judged) / 100
    return Difference(
        cause="unpublished-input",
        number="cycles that the products of QK^T take, opening rows included; the paper prints no timing",
        ours=products,
        needed=(whole - products) * (1 - wanted) / wanted,
        unit="cycles",
    )


@CHECKS.off("lolpim-io-qk", "lolpim-io-sv", "lolpim-io-ffn1", "lolpim-io-ffn2")
def transfers(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    """Two sets of buffers hide at most the transfers of one set."""
    timer, operator = timers(evidence)[0], operators()[claim.removeprefix("lolpim-io-")]
    whole, products = timer.time(operator).cycles, timer.program(without_transfers(operator.program)).cycles
    wanted = ours * inverse(judged) / 100
    return Difference(
        cause="unpublished-input",
        number="cycles of the transfers with one set of buffers; the paper prints no timing",
        ours=whole - products,
        needed=products * wanted / (1 - wanted),
        unit="cycles",
    )


# Areas -----------------------------------------------------------------------------------------------------------------


@CHECKS.off("lolpim-area-gb")
def macro(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    return Difference(
        cause="unpublished-input",
        number="area of a buffer of 2 KB in the process that the paper means",
        ours=ours["mm2"],
        needed=ours["mm2"] * inverse(judged),
        unit="mm2",
    )


@CHECKS.off("lolpim-area-disp")
def macros_of_the_dispatcher(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    area = unit_area(
        evidence.record("dpa-dispatcher", "lol-pim", DISPATCHERS["lol-pim"], "synth").results, LOGIC, MEMORIES
    )
    needed = area.memories_mm2 - area.mm2 * (1 - inverse(judged))
    return Difference(
        cause="unpublished-input",
        number="area of two buffers of 96 KB, which their ports decide",
        ours=area.memories_mm2,
        needed=max(needed, 0.0),
        unit="mm2",
    )


@CHECKS.off("lolpim-io-area")
def area_of_a_channel(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    one = unit_area(evidence.record("aim-channel", "aim", CHANNELS["aim"], "synth").results, LOGIC, MEMORIES)
    return Difference(
        cause="design",
        number="area of a channel with one set of buffers; ours has activation functions and multipliers",
        ours=one.mm2,
        needed=one.mm2 * (judged.ratio or 1.0),
        unit="mm2",
    )


@CHECKS.off("lolpim-models")
def elements_of_a_head(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    return Difference(
        cause="contradiction",
        number="elements of a head of the 1.8B model; its model card has twice the table's",
        ours=ours["1.8B"][2],
        needed=ours["1.8B"][2] * inverse(judged),
        unit="elements",
    )
