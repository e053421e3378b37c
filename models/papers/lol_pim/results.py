"""Sections 5.4 and 8: batches, throughput, splits, latency."""

from __future__ import annotations

from ...llm import load_model
from ...lolpim.peak import utilisation
from ...serving.splits import decode
from ...systems import load_system
from ..category import Source
from ..evidence import Evidence, Finding, NotCheckable
from .common import CHECKS, TECHNIQUES, baseline, decoded, most_tensor, sized_splits, splits

#: Model and nodes of the rows of Table 8.
TABLE_8 = {"lolpim-t7b": ("qwen1.5-7b", 4), "lolpim-t14b": ("qwen1.5-14b", 5), "lolpim-t72b": ("qwen1.5-72b", 16)}

#: Mean input of Musique, as Table 2 has it.
CONTEXT = 16362

#: GPUs at their bound: fused attention and least traffic.
ROOFLINE = {"gpu.rule": "roofline"}

#: Columns of Table 8.
COLUMNS = {"pim": (), "arch_dpa": TECHNIQUES[:2], "arch_dpa_io": TECHNIQUES}


@CHECKS.of(*TABLE_8, by=Source.RECORD)
def table_8(evidence: Evidence, claim: str) -> Finding:
    model, nodes = TABLE_8[claim]
    found = {name: splits(evidence, model, nodes, *on)[0] for name, on in COLUMNS.items()}
    shape = load_model(model)
    ours = {
        name: [one.tokens_per_s, 100 * utilisation(shape, one.tokens_per_s, nodes, CONTEXT)]
        for name, one in found.items()
    }
    told = ", ".join(
        f"{name} {one.parallelism[0]} x {one.parallelism[1]} with a batch of {one.batch:.1f}"
        for name, one in found.items()
    )
    widest = most_tensor(splits(evidence, model, nodes))
    return Finding(
        {"nodes": nodes, **ours},
        f"Musique, best split (tensor x pipeline): {told}",
        "Our model leaves out host time, latency of links and the output matrix. With its most tensor "
        f"parallelism, {widest.parallelism[0]} x {widest.parallelism[1]}, the PIM decodes "
        f"{widest.tokens_per_s:.0f} tokens/s.",
        tolerance=0.25,
    )


@CHECKS.of("lolpim-dpa-batch", by=Source.RECORD)
def batches(evidence: Evidence, claim: str) -> Finding:
    """Mean batch of lazy over static allocation, with 1024 GB and tensor 8 or the nearest legal degree."""

    def one(model: str, workload: str) -> float:
        shape = load_model(model)
        split = min(load_system("lol-pim").sized(1024).splits(shape), key=lambda s: abs(s.tp - 8))
        lazy = decode(split, shape, workload, records=evidence.records)
        static = decode(split.changed({"features.lazy_allocation": False}), shape, workload, records=evidence.records)
        return 100 * (lazy.batch / static.batch - 1)

    def run() -> dict[str, float]:
        evidence.progress("LoL-PIM: batches of lazy and static allocation")
        return {
            model: max(one(model, workload) for workload in ("qmsum", "hotpotqa", "musique"))
            for model in ("qwen1.5-7b", "mpt-7b-storywriter", "llama-3.1-8b")
        }

    found = evidence.once("lol-pim batches", run)
    told = ", ".join(f"{name} {value:.0f} %" for name, value in found.items())
    return Finding(
        {"max_percent": max(found.values())},
        f"1024 GB; the largest of QMSum, HotpotQA, Musique: {told}",
        "Static allocation reserves the model's longest context, so its ratio to the tokens in use sets the "
        f"increase. A limit of 65536 tokens gives {found['mpt-7b-storywriter']:.0f} %; 131072 tokens give the "
        "maximum. The paper states neither its models nor its reservation.",
    )


@CHECKS.of("lolpim-dpa-perf", "lolpim-par-gap", "lolpim-par-shift", by=Source.RECORD)
def spread(evidence: Evidence, claim: str) -> Finding:
    """Splits of Qwen1.5-7B on Musique, with 4 nodes (as in Table 8) and 16 nodes. Section 4.3 has no exchange between
    modules for a head, so a head has one module."""
    gain, gap, widest, shift, told = 0.0, 0.0, 0.0, 0.0, []
    heads = load_model("qwen1.5-7b").heads
    for nodes in (4, 16):
        without = {one.parallelism: one for one in splits(evidence, "qwen1.5-7b", nodes, "token_parallel", "ping_pong")}
        every = splits(evidence, "qwen1.5-7b", nodes, *TECHNIQUES)
        with_it = [one for one in every if one.parallelism[0] <= heads]
        rates = {one.parallelism: one.tokens_per_s for one in with_it}
        gains = {split: rates[split] / without[split].tokens_per_s for split in rates if split in without}
        best = max(without.values(), key=lambda one: one.tokens_per_s).parallelism
        gain, gap = max(gain, *gains.values()), max(gap, with_it[0].tokens_per_s / with_it[-1].tokens_per_s)
        widest = max(widest, every[0].tokens_per_s / every[-1].tokens_per_s)
        shift = max(shift, 100 * (with_it[0].tokens_per_s / rates[best] - 1))
        told.append(f"{nodes} nodes: gains {', '.join(f'{s[0]} x {s[1]} {g:.2f}' for s, g in sorted(gains.items()))}")
    basis = "; ".join(told)
    if claim == "lolpim-dpa-perf":
        return Finding(
            {"max_ratio": gain},
            basis,
            "The gain is largest where static allocation admits fewer requests than the pipeline has stages. "
            "The paper does not print which splits it shows.",
            tolerance=0.1,
        )
    if claim == "lolpim-par-gap":
        return Finding(
            {"max_ratio": gap},
            "fastest over slowest legal split, all techniques, 4 and 16 nodes, at most a module for each head",
            f"The paper does not print which splits it shows. With several modules for a head the gap is {widest:.2f}.",
            tolerance=0.1,
        )
    return Finding(
        {"max_percent": shift},
        "all techniques: the best split compared with the split that is best without lazy allocation",
        "The paper does not print which splits it shows.",
        0.1,
    )


@CHECKS.of("lolpim-thr-7b", "lolpim-thr-72b", "lolpim-thr-abs", by=Source.RECORD)
def throughput(evidence: Evidence, claim: str) -> Finding:
    if claim == "lolpim-thr-abs":
        raise NotCheckable(
            "The body of the paper has no figure of 16.0. The figure of 8.54 is in section 8.2 and is checked there."
        )
    model, sizes = ("qwen1.5-7b", (1024,)) if claim == "lolpim-thr-7b" else ("qwen1.5-72b", (256, 512, 1024))
    ratios: dict[str, list[float]] = {"vs_gpu_gddr": [], "vs_pim": []}
    told, others = [], []
    for size in sizes:
        own = decoded(evidence, "lol-pim", size, model)
        gpu, pim = (sized_splits(evidence, name, size, model) for name in ("gpu-gddr", "aimx-pim"))
        bound = sized_splits(evidence, "gpu-gddr", size, model, ROOFLINE)[0]
        used = {
            "vs_gpu_gddr": baseline(evidence, "gpu-gddr", size, model),
            "vs_pim": baseline(evidence, "aimx-pim", size, model),
        }
        for key, one in used.items():
            ratios[key].append(own.tokens_per_s / one.tokens_per_s)
        told.append(
            f"{size} GB: "
            + ", ".join(
                f"{name} {one.tokens_per_s:.0f} ({one.parallelism[0]} x {one.parallelism[1]})"
                for name, one in zip(("lol-pim", "gpu-gddr", "aimx-pim"), (own, *used.values()), strict=True)
            )
        )
        gains = [own.tokens_per_s / one.tokens_per_s for one in (gpu[0], bound, most_tensor(pim), pim[0])]
        others.append(f"At {size} GB they are " + ", ".join(f"{gain:.2f}" for gain in gains) + ".")
    return Finding(
        {key: max(values) for key, values in ratios.items()},
        "tokens/s on Musique (tensor x pipeline); LoL-PIM with its best split, both baselines with the most "
        f"tensor parallelism that gives a head to one module: {'; '.join(told)}",
        "The paper prints no split. Its GPU simulator has tensor parallelism only, and section 3.2 raises the "
        "PIM's tensor parallelism with its modules. Section 4.3 exchanges nothing between modules for a head. "
        "Other readings give other gains, in this order. The first two are over GPUs with their best split, and "
        "over such GPUs as a roofline. The last two are over PIM with all modules in tensor parallelism, where "
        f"several modules share a head, and with its best split. {' '.join(others)}",
        tolerance=0.25,
    )


@CHECKS.of("lolpim-lat-comb", by=Source.RECORD)
def latency(evidence: Evidence, claim: str) -> Finding:
    alone = decoded(evidence, "aimx-pim", 1024, "qwen1.5-72b"), decoded(evidence, "lol-pim", 1024, "qwen1.5-72b")
    hybrid = (
        decoded(evidence, "gpu-aimx-pim", 1024, "qwen1.5-72b"),
        decoded(evidence, "gpu-lol-pim", 1024, "qwen1.5-72b"),
    )
    cut = [100 * (1 - before.tokens_per_s / after.tokens_per_s) for before, after in (alone, hybrid)]
    return Finding(
        {"min_percent": min(cut)},
        "time per token of all requests, 1024 GB, Musique",
        f"The reduction is {cut[0]:.1f} % standalone and {cut[1]:.1f} % in the hybrid, where the GPUs' part "
        "stays the same.",
    )


@CHECKS.of("lolpim-hyb-gap", by=Source.RECORD)
def hybrid_gap(evidence: Evidence, claim: str) -> Finding:
    found = {
        model: decoded(evidence, "lol-pim", 1024, model).tokens_per_s
        / decoded(evidence, "gpu-lol-pim", 1024, model).tokens_per_s
        for model in ("qwen1.5-7b", "qwen1.5-72b")
    }
    told = ", ".join(f"{name} {value:.2f}" for name, value in found.items())
    return Finding(
        {"max_ratio": max(found.values())},
        f"1024 GB, Musique: {told}",
        "An all-reduce of our GPUs takes microseconds. The standalone system has twice the room for keys and "
        "values, which gives larger batches.",
    )
