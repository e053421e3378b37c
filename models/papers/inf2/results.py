"""Sections 3 and 7: throughput of INF2 over its baselines, ablation, memory, scaling.

Clocks of the GEMV engine are measured. The paper prints no rate of any software. Five constants of the systems' files are
fitted to printed numbers. A claim to which a constant was fitted says so.
"""

from __future__ import annotations

from typing import Any

from ..category import Source
from ..evidence import Evidence, Finding
from .common import (
    ALONE,
    BATCH,
    BUDGETS,
    CHECKS,
    H100,
    LONG,
    MODELS,
    OUTPUT,
    OUTPUTS,
    SHORT,
    TOLERANCE,
    gain,
    rate,
    run,
    system,
)

#: Our runs rest on the measured GEMV engine, and on constants that are fitted to numbers of the paper.
FITTED = (Source.RUN, Source.RECORD, Source.PAPER)

#: Runs of baselines alone rest on no unit.
BASELINE = (Source.RUN, Source.PAPER)


def ends(values: list[float]) -> list[float]:
    return [min(values), max(values)]


def told(values: Any) -> str:
    return " / ".join(f"{value:.2f}" for value in values)


def ablation(evidence: Evidence, changes: dict[str, Any]) -> list[float]:
    """Throughput over near-storage attention alone, by model."""
    return [
        rate(evidence, "inf2", model, SHORT, **changes) / rate(evidence, "inf2", model, SHORT, **ALONE)
        for model in MODELS
    ]


@CHECKS.of("inf2-ab-x", "inf2-ab-wb", "inf2-ab-all", by=FITTED)
def parts(evidence: Evidence, claim: str) -> Finding:
    changes: dict[str, dict[str, Any]] = {
        "inf2-ab-x": {"writeback.delayed": False},
        "inf2-ab-wb": {"x_cache.use": "off"},
        "inf2-ab-all": {},
    }
    values, spec = ablation(evidence, changes[claim]), system().own
    why = f"30B / 66B / 175B: {told(values)}."
    if claim == "inf2-ab-wb":
        why += f" Fitted: writeback.write_us ({spec.writeback.write_us:g}) meets the middle."
    else:
        kept = [run(evidence, "inf2", model, SHORT, **changes[claim]).more["x_cache_requests"] for model in MODELS]
        why += f" The GPU attends for {' / '.join(map(str, kept))} of {BATCH} requests."
    return Finding(ends(values), "inf2, 32 requests of 16 K tokens", why, tolerance=TOLERANCE)


@CHECKS.of("inf2-perf", by=FITTED)
def gains(evidence: Evidence, claim: str) -> Finding:
    values = {model: gain(evidence, model, SHORT) for model in MODELS}
    return Finding(
        {"opt-30b": values["opt-30b"], "opt-175b": values["opt-175b"], "min_all": min(values.values())},
        "inf2 over flexgen on an A100",
        f"30B / 66B / 175B: {told(values.values())}. Fitted: attention.path.gb_s "
        f"({system().own.attention.path.gb_s:g}) meets the gain of OPT-175B.",
        tolerance=TOLERANCE,
    )


@CHECKS.of("inf2-up", by=FITTED)
def most(evidence: Evidence, claim: str) -> Finding:
    values = {model: max(gain(evidence, model, SHORT, output=count, **H100) for count in OUTPUTS) for model in MODELS}
    return Finding(
        max(values.values()),
        "inf2 over flexgen on an H100",
        f"Largest gain of 16 to 512 output tokens, 30B / 66B / 175B: {told(values.values())}.",
        tolerance=TOLERANCE,
    )


@CHECKS.of("inf2-ds", by=BASELINE)
def unified_memory(evidence: Evidence, claim: str) -> Finding:
    values = [
        rate(evidence, "flexgen", model, SHORT) / rate(evidence, "deepspeed-zero", model, SHORT) for model in MODELS
    ]
    return Finding(
        {"min_ratio": min(values)},
        "flexgen over deepspeed-zero on an A100, 16 K tokens",
        f"30B / 66B / 175B: {told(values)}. Fitted: path.gb_s of deepspeed-zero meets the bound.",
    )


@CHECKS.of("inf2-kvio", by=BASELINE)
def share_of_transfers(evidence: Evidence, claim: str) -> Finding:
    """Share of the time of a run, prefill included."""
    shares = []
    for model in MODELS:
        result = run(evidence, "flexgen", model, SHORT)
        shares.append(
            100
            * result.breakdown_ms["transfer_wait"]
            * 1e-3
            * OUTPUT
            / (BATCH * OUTPUT / result.more["run_throughput_tok_s"])
        )
    return Finding(
        {"min_percent": min(shares)},
        "flexgen on an A100, 16 K tokens, with prefill",
        f"30B / 66B / 175B: {told(shares)} %. Fitted: sequences.tflops "
        f"({system().own.sequences.tflops:g}) meets the bound.",
    )


@CHECKS.of("inf2-raid", by=BASELINE)
def knee(evidence: Evidence, claim: str) -> Finding:
    """Drives after which another one brings less than 1 %."""
    rates = [rate(evidence, "flexgen", "opt-30b", LONG, devices=count, **H100) for count in range(1, 17)]
    drives = next((count for count in range(1, 16) if rates[count] < 1.01 * rates[count - 1]), 16)
    return Finding(
        {"fig3": drives, "fig16": drives},
        "flexgen with OPT-30B, 32 K tokens, on an H100",
        f"Two drives bring {2 * system().flash_bytes_per_s * 1e-9:.1f} GB/s, more than the software's path.",
    )


@CHECKS.of("inf2-mem", by=FITTED)
def budgets(evidence: Evidence, claim: str) -> Finding:
    values = {
        model: [gain(evidence, model, LONG, **{"server.memory_gb": budget}, **H100) for budget in BUDGETS]
        for model in MODELS
    }
    return Finding(
        ends([one for row in values.values() for one in row]),
        "inf2 over flexgen on an H100, 32 K tokens",
        "256 / 512 / 1000 GB: " + "; ".join(f"{model} {told(row)}" for model, row in values.items()) + ".",
        tolerance=TOLERANCE,
    )


@CHECKS.of("inf2-mem175", by=BASELINE)
def largest_model(evidence: Evidence, claim: str) -> Finding:
    low, high = (
        rate(evidence, "flexgen", "opt-175b", LONG, **{"server.memory_gb": budget}, **H100)
        for budget in (BUDGETS[0], BUDGETS[-1])
    )
    return Finding(
        {"256GB": low, "1TB": high},
        "flexgen on an H100",
        "Fitted: path.gb_s of flexgen meets the value with 1 TB. With 256 GB the weights are on the drives.",
        tolerance=0.05,
    )


@CHECKS.of("inf2-h100", by=BASELINE)
def another_gpu(evidence: Evidence, claim: str) -> Finding:
    values = {
        (model, tokens): 100
        * (rate(evidence, "flexgen", model, tokens, **H100) / rate(evidence, "flexgen", model, tokens) - 1)
        for model in MODELS
        for tokens in (SHORT, LONG)
    }
    return Finding(
        ends(list(values.values())),
        "flexgen on an H100 over an A100, 16 K and 32 K tokens",
        " / ".join(
            f"{model.removeprefix('opt-')} {tokens >> 10}K {value:.1f}" for (model, tokens), value in values.items()
        )
        + " %. In the model, an H100 is no faster with whole sequences. If it were, the gains of inf2 on it "
        "would exceed the printed 3.46 and 3.71.",
        tolerance=TOLERANCE,
    )


@CHECKS.of("inf2-csd8", "inf2-csd16", by=FITTED)
def drives(evidence: Evidence, claim: str) -> Finding:
    count = int(claim.removeprefix("inf2-csd"))
    values = [gain(evidence, model, SHORT, devices=count) for model in MODELS]
    return Finding(
        ends(values),
        f"inf2 over flexgen on an A100, 16 K tokens, {count} drives each",
        f"30B / 66B / 175B: {told(values)}. The paper states no model, GPU and prompt of this claim.",
        tolerance=TOLERANCE,
    )


@CHECKS.of("inf2-scale", by=FITTED)
def scaling(evidence: Evidence, claim: str) -> Finding:
    one, two = (rate(evidence, "flexgen", "opt-30b", LONG, devices=count, **H100) for count in (1, 2))
    return Finding(
        {"baseline_2ssd": two / one, "inf2_16csd": rate(evidence, "inf2", "opt-30b", LONG, **H100) / one},
        "OPT-30B, 32 K tokens, on an H100, over flexgen with one drive",
        tolerance=TOLERANCE,
    )


@CHECKS.of("inf2-tpd", by=FITTED)
def per_dollar(evidence: Evidence, claim: str) -> Finding:
    """The paper states 16 requests for its GPUs, and 32 as its default."""
    small, large = (
        run(evidence, "inf2", "opt-175b", 1024, batch=batch, output=OUTPUT, **H100).more
        for batch in (BATCH // 2, BATCH)
    )
    price = large["price_usd"]
    return Finding(
        {
            "gpu": None,
            "inf2": large["tok_s_per_usd"],
            "inf2_tok_s": large["run_throughput_tok_s"],
            "inf2_usd": sum(price.values()),
        },
        "inf2 with its default of 32 requests on an H100",
        f"16 requests, which the paper states for its GPUs, give {small['run_throughput_tok_s']:.2f} tokens/s: "
        "weights of 350 GB over PCIe 4.0 x16 take 11 s of a step. The GPUs are not modelled.",
        tolerance=TOLERANCE,
    )
