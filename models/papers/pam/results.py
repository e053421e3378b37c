"""Sections 1, 5.2.2, 6.3 and 7.2 to 7.6: throughput, energy, reduction and moves of the systems."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...llm import load_model
from ...serving.steady import SteadyState
from ...systems.results import Evaluation
from ..category import Source
from ..evidence import Evidence, Finding
from .area import reducer
from .common import CHECKS, MEMORY, config_of, system_of
from .runs import (
    BATCHES,
    ENERGY_BATCHES,
    LIMITS_MS,
    LONGEST,
    OFFLINE,
    ONLINE,
    context_of,
    fits,
    gain,
    online,
    run,
    state,
    steady,
)
from .settings import MODELS

GIB = 1 << 30

#: Largest difference of a system's speed or energy that counts as ``within``.
MODEL = 0.25


# Throughput ------------------------------------------------------------------------------------------------------------


CONVERSATION = (
    "serving with continuous batching, prefill first and the workload's lengths; the batch with the most "
    "tokens per second within 100, 150 and 200 ms per token"
)
DECODING = (
    "decode steps alone, with all keys and values of prompts in place; otherwise as in the row of served requests"
)
LONG = "serving with continuous batching, prefill first and the workload's lengths; the paper's batches, always full"


def shares(state: SteadyState) -> str:
    """Batch, TPOT and prefill of a state, as the predicate of a sentence."""
    return (
        f"serves {state.limit} requests at a TPOT of {1e3 * state.tpot_s:.0f} ms and spends "
        f"{100 * state.prefill_share:.0f} % of the time in prefill"
    )


#: Other readings of the KV that the baseline with offload keeps in HBM.
KEEPING = {"all of a batch or none": {"keeps": "batch"}, "none": {"keeps": "nothing"}}


def online_gains(
    evidence: Evidence, base: str, overrides: Mapping[str, Any] | None = None, *, prefill: bool = True
) -> dict[tuple[str, str], float]:
    def made() -> dict[tuple[str, str], float]:
        return {
            (model, workload): gain(evidence, base, model, workload, overrides, prefill=prefill)
            for model in MODELS
            for workload in ONLINE
        }

    return evidence.once(("online gains", base, str(overrides), prefill), made)


def means(gains: dict[tuple[str, str], float]) -> dict[str, float]:
    """Mean gain of each model over the workloads."""
    return {model: float(np.mean([gains[model, workload] for workload in ONLINE])) for model in MODELS}


def conversation_why(evidence: Evidence, base: str, prefill: bool) -> str:
    """Reason for a difference: the state of both systems at a limit, and other readings of the baseline."""
    limit = LIMITS_MS[-1]
    ours, theirs = (online(evidence, name, "llama3-70b", "wildchat", prefill=prefill)[limit] for name in ("pam", base))
    assert ours and theirs
    at = f"LLaMA3-70B, WildChat, limit {limit} ms: `pam` {shares(ours)}. `{base}` {shares(theirs)}. "
    if not prefill:
        return f"The paper does not say whether its measured time includes prefill. {at}"
    if base == "vllm-offload":
        others = " ".join(
            f"With {kept} in HBM the gains would be "
            + ", ".join(f"{model} {value:.2f}" for model, value in means(online_gains(evidence, base, change)).items())
            + "."
            for kept, change in KEEPING.items()
        )
        told = (
            "The baseline keeps as much KV in HBM as fits, because the paper says that it loses nothing where all KV "
            f"fits. {others} The paper does not give its baseline's batches."
        )
    else:
        told = (
            "Most batches within the limits fit HBM. Nothing needs scheduling there, and attention is the smaller part "
            "of a step. The paper does not give its batches."
        )
    return f"Prefill runs on the same GPUs in both systems. {at}{told}"


def served(claim: str) -> bool:
    """Whether a row is about served requests. The other rows are about decode steps alone."""
    return not claim.endswith("-decode")


def conversation(
    evidence: Evidence, claim: str, base: str, value: Callable[[dict[tuple[str, str], float]], Any]
) -> Finding:
    prefill = served(claim)
    return Finding(
        value(online_gains(evidence, base, prefill=prefill)),
        CONVERSATION if prefill else DECODING,
        conversation_why(evidence, base, prefill),
        MODEL,
    )


def mean(gains: dict[tuple[str, str], float]) -> float:
    return float(np.mean(list(gains.values())))


@CHECKS.of("pam-thr-online", "pam-thr-online-decode", by=Source.RECORD)
def by_model(evidence: Evidence, claim: str) -> Finding:
    return conversation(evidence, claim, "vllm-offload", means)


@CHECKS.of("pam-thr-online-avg", "pam-thr-online-avg-decode", by=Source.RECORD)
def by_model_mean(evidence: Evidence, claim: str) -> Finding:
    return conversation(evidence, claim, "vllm-offload", mean)


@CHECKS.of("pam-thr-wild", "pam-thr-wild-decode", by=Source.RECORD)
def by_workload(evidence: Evidence, claim: str) -> Finding:
    return conversation(
        evidence,
        claim,
        "vllm-offload",
        lambda gains: {
            workload: float(np.mean([gains[model, workload] for model in MODELS]))
            for workload in ("wildchat", "sharegpt")
        },
    )


@CHECKS.of("pam-thr-lspim", "pam-thr-lspim-decode", by=Source.RECORD)
def over_ls_pim(evidence: Evidence, claim: str) -> Finding:
    return conversation(evidence, claim, "ls-pim", mean)


def offline_gain(
    evidence: Evidence, model: str, workload: str, prefill: bool, overrides: Mapping[str, Any] | None
) -> float:
    ours, theirs = (
        [
            steady(evidence, name, model, workload, batch, change, prefill=prefill).tokens_per_s
            for batch in BATCHES[model]
        ]
        for name, change in (("pam", None), ("vllm-offload", overrides))
    )
    return float(np.mean([a / b for a, b in zip(ours, theirs, strict=True)]))


def offline_gains(
    evidence: Evidence, *, prefill: bool = True, overrides: Mapping[str, Any] | None = None
) -> dict[str, dict[str, float]]:
    """Gains by model and workload. Without ``prefill`` only decoding counts; ``overrides`` change the baseline."""
    return {
        model: {workload: offline_gain(evidence, model, workload, prefill, overrides) for workload in OFFLINE}
        for model in BATCHES
    }


def listed(gains: dict[str, dict[str, float]]) -> str:
    return ", ".join(
        f"`{model} {workload}` {value:.1f}" for model, some in gains.items() for workload, value in some.items()
    )


def offline_why(evidence: Evidence, prefill: bool) -> str:
    each = []
    for model, workload in (("llama3-70b", "arxiv_sum"), ("opt-175b", "write_doc")):
        batch = BATCHES[model][-1]
        each.append(
            f"`{model} {workload}`: "
            + " ".join(
                f"`{name}` {shares(steady(evidence, name, model, workload, batch, prefill=prefill))}."
                for name in ("pam", "vllm-offload")
            )
        )
    if not prefill:
        return " ".join(["The paper does not say whether its measured time includes prefill.", *each])
    return (
        " ".join(each) + " The prompts of arxiv_sum are long and its outputs short, so prefill takes most of PAM's "
        "time. "
        + " ".join(
            f"With {kept} of the baseline's KV in HBM, the gains would be "
            f"{listed(offline_gains(evidence, overrides=change))}."
            for kept, change in KEEPING.items()
        )
    )


@CHECKS.of("pam-thr-off", "pam-thr-off-decode", by=Source.RECORD)
def long_contexts(evidence: Evidence, claim: str) -> Finding:
    prefill = served(claim)
    return Finding(
        offline_gains(evidence, prefill=prefill), LONG if prefill else DECODING, offline_why(evidence, prefill), MODEL
    )


@CHECKS.of("pam-thr-off-avg", "pam-thr-off-avg-decode", by=Source.RECORD)
def long_contexts_mean(evidence: Evidence, claim: str) -> Finding:
    prefill = served(claim)
    gains = offline_gains(evidence, prefill=prefill)
    return Finding(
        float(np.mean([value for some in gains.values() for value in some.values()])),
        LONG if prefill else DECODING,
        offline_why(evidence, prefill),
        MODEL,
    )


@CHECKS.of("pam-lpim-ssd", by=Source.RECORD)
def slow_tier(evidence: Evidence, claim: str) -> Finding:
    result = run(evidence, "l-pim", "opt-175b", LONGEST, 64)
    assert result.attention is not None
    tiers = result.attention["tiers"]
    tokens, times = ({name: one[key] for name, one in tiers.items()} for key in ("tokens", "total_us"))
    return Finding(
        {
            "min_kv_percent": 100 * tokens["ssd"] / sum(tokens.values()),
            "min_time_percent": 100 * times["ssd"] / sum(times.values()),
        },
        f"l-pim, 64 requests of OPT-175B at {LONGEST} tokens, the largest of the long-context runs; time of the "
        "tier divided by the sum of the times of all tiers",
        "The HBM that the weights leave and 1.25 TiB of DDR4 hold the other tokens, as on the paper's platform."
        if tokens["ssd"] < 0.65 * sum(tokens.values())
        else "",
    )


@CHECKS.of("pam-scale", by=Source.RECORD)
def scaling(evidence: Evidence, claim: str) -> Finding:
    ratios, pace = {}, {}
    for count, tensor, pipeline in ((8, 8, 1), (8, 4, 2), (8, 2, 4), (16, 8, 2), (16, 4, 4)):
        change = {"gpu.count": count, "parallelism.tensor": tensor, "parallelism.pipeline": pipeline}
        pam, base = (steady(evidence, name, "llama3-70b", "write_doc", 1024, change) for name in ("pam", "l-pim"))
        ratios[tensor, pipeline], pace[tensor, pipeline] = pam.tokens_per_s / base.tokens_per_s, pam.tokens_per_s
    told = ", ".join(f"`{t} x {p}` {ratio:.2f}" for (t, p), ratio in ratios.items())
    return Finding(
        [min(ratios.values()), max(ratios.values())],
        "serving of 1024 requests of LLaMA3-70B on write_doc, with 8 and 16 GPUs and their shares of all tiers",
        f"Gains by tensor-parallel degree x pipeline stages: {told}. Twice the GPUs make PAM "
        f"{pace[8, 2] / pace[4, 2]:.2f} times as fast. L-PIM is slow on 8 GPUs because of the SSD; on 16 GPUs "
        "its KV needs no SSD.",
        MODEL,
    )


# Energy ----------------------------------------------------------------------------------------------------------------


def energy_runs() -> list[tuple[str, str, int]]:
    """Model, workload and batch of the energy runs (section 7.3)."""
    return [
        (model, workload, batch)
        for kind, workload in (("online", "wildchat"), ("offline", "arxiv_sum"))
        for model, batch in ENERGY_BATCHES[kind].items()
    ]


def energy_loads(evidence: Evidence) -> list[tuple[str, int, int]]:
    """Model, mean context and batch of the energy runs."""
    return [
        (model, context_of(evidence, workload), batch)
        for kind, workload in (("online", "wildchat"), ("offline", "arxiv_sum"))
        for model, batch in ENERGY_BATCHES[kind].items()
    ]


#: Locality that was fitted to a trace of a real model.
FITTED = "bankside-small"

#: Components of memories, of units and of transfers to and from memories.
MEMORY_ENERGY = (
    "gpu_dram",
    "kv_transfers",
    "pim_cell_reads",
    "flash_reads",
    "pu_compute",
    "transfers",
    "reduction",
    "migration",
)

ATTENTION_ENERGY = ("pim_cell_reads", "flash_reads", "pu_compute", "transfers", "reduction", "migration")


def energy_of(evidence: Evidence, system: str, model: str, workload: str, batch: int) -> dict[str, float]:
    """Joules per token of a served run, by component."""
    return steady(evidence, system, model, workload, batch, energy=True).energy_j


@CHECKS.of(
    "pam-energy-vllm",
    "pam-energy-lpim",
    "pam-energy-lspim",
    "pam-energy-vllm-memory",
    "pam-energy-lpim-memory",
    by=Source.RECORD,
)
def energy(evidence: Evidence, claim: str) -> Finding:
    base = {"vllm": "vllm-offload", "lpim": "l-pim", "lspim": "ls-pim"}[claim.split("-")[2]]
    memory = claim.endswith("-memory")
    counted = ATTENTION_ENERGY if base == "ls-pim" else MEMORY_ENERGY if memory else None
    saved, told = [], []
    for model, workload, batch in energy_runs():
        ours, theirs = (
            {
                name: joules
                for name, joules in energy_of(evidence, name_, model, workload, batch).items()
                if counted is None or name in counted
            }
            for name_ in ("pam", base)
        )
        saved.append(100 * (1 - sum(ours.values()) / sum(theirs.values())))
        most = {name: max(parts, key=lambda key: parts[key]) for name, parts in (("pam", ours), (base, theirs))}
        told.append(
            f"`{model} {workload} {batch}`: PAM saves {saved[-1]:.1f} % of {sum(theirs.values()):.3g} J per token. "
            f"The largest component is `{most[base]}` ({100 * theirs[most[base]] / sum(theirs.values()):.0f} %) in "
            f"`{base}` and `{most['pam']}` ({100 * ours[most['pam']] / sum(ours.values()):.0f} %) in `pam`."
        )
    what = (
        "; components that only attention has"
        if base == "ls-pim"
        else "; memories, units and transfers alone, without the GPUs' arithmetic and caches"
        if memory
        else ", prefill included"
    )
    static = (
        "The paper names no source of the GPUs' power."
        if memory
        else "Static power of the GPUs is not modelled, so taking longer costs a system no energy."
    )
    return Finding(
        [min(saved), max(saved)],
        f"modelled energy per token of served runs{what}; WildChat and arxiv_sum at "
        "the batches of the paper's energy runs; a near-bank read of any memory is charged for its cells",
        " ".join(told) + " " + static,
        MODEL,
    )


@CHECKS.of("pam-energy-kv", by=Source.RUN)
def moved(evidence: Evidence, claim: str) -> Finding:
    batch, context = ENERGY_BATCHES["offline"]["opt-175b"], 8192
    result = run(evidence, "vllm-offload", "opt-175b", context, batch)
    assert result.attention is not None
    gpus = system_of(evidence, "gpu-only").spec.gpu.count
    fetched = sum(result.attention["fetched_bytes_per_gpu_and_step"].values()) * gpus
    parts = {name: value for name, value in result.energy_breakdown_mj.items() if isinstance(value, int | float)}
    moving, rest = parts.pop("kv_transfers"), max(parts, key=lambda name: parts[name])
    return Finding(
        {"gb": fetched / GIB, "min_energy_percent": 100 * moving / (moving + sum(parts.values()))},
        f"KV that the GPUs of vllm-offload fetch in a step of {batch} requests of {context} tokens, GiB; "
        "percentage of kv_transfers in its energy",
        "The paper's volume corresponds to 8192 tokens per request, the longest context of its workloads. The "
        f"next largest part of the energy is `{rest}` ({100 * parts[rest] / (moving + sum(parts.values())):.0f} "
        "%), because the GPUs read the fetched KV from their own memory.",
    )


# Ablation --------------------------------------------------------------------------------------------------------------

#: What of PAM is left out.
WITHOUT = {
    "vs_no_pamattention": "features.pam_attention",
    "vs_no_mapping": "features.kv_mapping",
    "vs_no_scheduling": "features.kv_scheduling",
}


def attention_ms(result: Evaluation) -> float:
    """Time per token of attention with its merge, softmax, KV append and exposed migration."""
    return sum(
        ms
        for name, ms in result.breakdown_ms.items()
        if name in ("attention", "attention_merge", "attention_softmax", "attention_kv_append", "migration_exposed")
    )


def ablation(evidence: Evidence, model: str, batch: int) -> dict[str, float]:
    """Gains in the time of attention on write_doc over LS-PIM and over PAM without a feature."""
    context = context_of(evidence, "write_doc")
    whole = attention_ms(run(evidence, "pam", model, context, batch))
    out = {"vs_lspim": attention_ms(run(evidence, "ls-pim", model, context, batch)) / whole}
    for name, feature in WITHOUT.items():
        out[name] = attention_ms(run(evidence, "pam", model, context, batch, {feature: False})) / whole
    return out


def ablations_by_model(evidence: Evidence, which: int) -> dict[str, dict[str, float]]:
    """The gains at the smallest (0) or largest (-1) batch of the long-context runs."""
    return {model: ablation(evidence, model, batches[which]) for model, batches in BATCHES.items()}


def mean_ablation(evidence: Evidence, which: int) -> dict[str, float]:
    """Means over the models, as in section 7.4."""
    each = ablations_by_model(evidence, which).values()
    return {name: float(np.mean([one[name] for one in each])) for name in ("vs_lspim", *WITHOUT)}


def told_ablation(evidence: Evidence, which: int) -> str:
    return " ".join(
        f"`{model} {BATCHES[model][which]}`: "
        + ", ".join(f"{name.removeprefix('vs_')} {value:.2f}" for name, value in one.items())
        + "."
        for model, one in ablations_by_model(evidence, which).items()
    )


ABLATION_WHY = (
    "The paper does not state its batches or workload. Without mapping, the tokens of a request lie in "
    "contiguous blocks of groups. LS-PIM has AttAcc's lockstep and layout. Where all KV fits HBM, nothing "
    "needs scheduling."
)


@CHECKS.of("pam-abl-small", "pam-abl-large", by=Source.RECORD)
def ablations(evidence: Evidence, claim: str) -> Finding:
    which = 0 if claim.endswith("small") else -1
    return Finding(
        mean_ablation(evidence, which),
        "time of attention on write_doc, mean of "
        + " and ".join(f"{some[which]} requests of {model}" for model, some in BATCHES.items())
        + "; features of pam off one at a time",
        f"{ABLATION_WHY} Gains by model and requests: {told_ablation(evidence, which)}",
        MODEL,
    )


@CHECKS.of("pam-abl-dep", by=Source.RECORD)
def larger_batches_gain_more(evidence: Evidence, claim: str) -> Finding:
    small, large = (mean_ablation(evidence, which) for which in (0, -1))
    less = [name for name in small if large[name] <= small[name]]
    return Finding(
        not less, "the two ablations", f"The large batch gains no more for {', '.join(less)}." if less else ""
    )


# Rules and settings ----------------------------------------------------------------------------------------------------


@CHECKS.of("pam-slo", by=Source.SETTING)
def limits(evidence: Evidence, claim: str) -> Finding:
    return Finding(list(LIMITS_MS), "limits of the conversations' runs")


@CHECKS.of("pam-off-batch", by=Source.SETTING)
def batches(evidence: Evidence, claim: str) -> Finding:
    return Finding({model: list(some) for model, some in BATCHES.items()}, "batches of the long-context runs")


@CHECKS.of("pam-batch-energy", by=Source.SETTING)
def energy_batches(evidence: Evidence, claim: str) -> Finding:
    return Finding({kind: dict(some) for kind, some in ENERGY_BATCHES.items()}, "batches of the energy runs")


@CHECKS.of("pam-offload", by=Source.RECORD)
def work_split(evidence: Evidence, claim: str) -> Finding:
    """All operators except attention take the same time with PAM as on the GPUs alone. Attention does not."""
    context, batch = context_of(evidence, "wildchat"), 256
    ours, gpu = (run(evidence, name, "llama3-70b", context, batch).breakdown_ms for name in ("pam", "gpu-only"))
    same = [name for name in gpu if name in ours and abs(gpu[name] - ours[name]) <= 1e-9 * gpu[name]]
    wanted = [name for name in gpu if any(word in name for word in ("qkv", "projection", "ffn", "out"))]
    return Finding(
        bool(wanted) and set(wanted) <= set(same) and "attention" not in same,
        f"operators of pam that take the same time on the GPUs alone: {', '.join(same)}",
    )


@CHECKS.of("pam-attacc-off", by=Source.RUN)
def no_offload(evidence: Evidence, claim: str) -> Finding:
    context, batch = LONGEST, 1024
    tried = {name: fits(evidence, name, "llama3-70b", context, batch) for name in ("attacc", "vllm-offload", "pam")}
    small = fits(evidence, "attacc", "llama3-70b", 738, 256)
    return Finding(
        small and not tried["attacc"] and tried["vllm-offload"] and tried["pam"],
        f"{batch} requests of LLaMA3-70B at {LONGEST} tokens fit vllm-offload and pam but not attacc; "
        "a small batch fits attacc",
    )


@CHECKS.of("pam-merge-level", by=Source.RECORD)
def last_merge(evidence: Evidence, claim: str) -> Finding:
    """With twice the reduction units per device of a tier, only HBM makes the last merge faster."""
    from ...systems import load_system

    model, times = load_model("llama-3-70b"), {}
    for name in ("none", "hbm", "ddr", "ssd"):
        system: Any = load_system("pam")
        twice = {
            f"tiers.{tier.name}.device_reduction_units": 2 * tier.device_reduction_units
            for tier in system.pim.tiers
            if tier.name == name
        }
        system = system.changed(twice).bind(model, evidence.records).system
        times[name] = system.step_at(model, 1024, 738).merge_s  # many more merges than units
    faster = [name for name in ("hbm", "ddr", "ssd") if times[name] < times["none"]]
    return Finding(
        faster == ["hbm"], "time of the last merge with the reduction units of one tier doubled, each tier in turn"
    )


# Reduction and moves ---------------------------------------------------------------------------------------------------


def reduction_runs(evidence: Evidence) -> dict[str, dict[str, Any]]:
    """Attention of a decode step, for each energy run of PAM."""
    out = {}
    for model, context, batch in energy_loads(evidence):
        attention = run(evidence, "pam", model, context, batch).attention
        assert attention is not None
        out[f"{model} {batch} x {context}"] = attention
    return out


@CHECKS.of("pam-ru-lat", by=Source.RECORD)
def reduction_share(evidence: Evidence, claim: str) -> Finding:
    """Percentage of exposed reduction and last merge in the time of attention, for the worst load."""
    shares = {name: one["reduction"]["share_percent"] for name, one in reduction_runs(evidence).items()}
    return Finding(
        {"max_percent": max(shares.values())},
        "reduction that exceeds the time of the units that it overlaps, and the last merge, divided by the time "
        "of attention; the worst of the energy runs",
        "Percentages by load: " + ", ".join(f"`{name}` {value:.2f} %" for name, value in shares.items()) + ".",
    )


@CHECKS.of("pam-ru-xfer", by=Source.RECORD)
def transfers(evidence: Evidence, claim: str) -> Finding:
    """Partial results that move through a device: from banks to bank groups, and from there to the place of merging."""
    saved, last = {}, []
    for name, one in reduction_runs(evidence).items():
        share = one["tiers"]["hbm"]["partial_results"]["saved_percent"]
        saved[name] = share["device"]
        last.append(share["group_to_device"])
    return Finding(
        float(np.mean(list(saved.values()))),
        "bytes of partial results in HBM from banks to groups and from groups to the logic die, compared with a "
        "device without reduction units at the groups; mean of the energy runs",
        "The paper does not say which transfers it counts. Bytes saved on both hops, by `model requests x "
        "context`: "
        + ", ".join(f"`{name}` {value:.1f} %" for name, value in saved.items())
        + f". From groups to the logic die alone: {np.mean(last):.0f} %. A unit for four banks saves at most "
        "three quarters on this hop, and nothing on the hop from the banks.",
        MODEL,
    )


@CHECKS.of("pam-ru-bw", by=Source.SETTING)
def reduction_bandwidth(evidence: Evidence, claim: str) -> Finding:
    """Rate of partial results into the units of a device's bank groups, over the rate through the channels to one place."""
    gains = {}
    for tier in ("hbm", "ddr"):
        config, memory = reducer(tier), evidence.memory(MEMORY[tier])
        groups = memory.channels * memory.banks // memory.levels["bank"]
        inside = groups * config.lanes * config_of(tier).io.width / 8 * config.clock_mhz * 1e6
        gains[tier] = inside / (memory.channels * memory.channel_bytes_per_s)
    told = ", ".join(f"{tier.upper()} {value:.2f}" for tier, value in gains.items())
    return Finding(
        [min(gains.values()), max(gains.values())],
        f"rate of the reduction units of a device's bank groups, divided by the rate of its channels: {told}",
        "The paper does not say which devices its two ends are of.",
        MODEL,
    )


@CHECKS.of("pam-migr", "pam-migr-ssd", by=Source.RECORD)
def moves(evidence: Evidence, claim: str) -> Finding:
    """Moves without a limit per step, with tokens in three tiers."""
    free = {"scheduling.budget_percent": 100}
    steps, fitted = (
        state(evidence, "opt-175b", LONGEST, 64, 12, changes)[4:]
        for changes in (free, {**free, "sparsity.locality": FITTED})
    )

    def moved(steps: list[Any], pair: str) -> float:
        return float(np.mean([100 * step.moves[pair] / sum(step.tokens) for step in steps]))

    slow, fast = (moved(steps, pair) for pair in ("ssd-ddr", "ddr-hbm"))
    other = sum(moved(fitted, pair) for pair in ("ssd-ddr", "ddr-hbm"))
    basis = (
        f"mean of 8 steps of 64 requests of OPT-175B at {LONGEST} tokens, synthetic activations, no limit on moves; "
        "tokens by tier " + ", ".join(f"{count:,}" for count in steps[-1].tokens)
    )
    why = (
        "The percentage depends on how long a token stays active, which the synthetic source assumes (keep 0.8). With "
        f"the locality of a trace of {FITTED}, it is {other:.4g} %. So the paper's models keep their active tokens "
        "longer than that small model does on Python sources."
    )
    return (
        Finding(slow + fast, basis, why, MODEL) if claim == "pam-migr" else Finding({"max_percent": slow}, basis, why)
    )


# Motivation ------------------------------------------------------------------------------------------------------------


@CHECKS.of("pam-mot-att", by=Source.RUN)
def motivation(evidence: Evidence, claim: str) -> Finding:
    model, batch = load_model("llama-3-70b"), 1024
    result = run(evidence, "vllm-offload", "llama3-70b", LONGEST, batch)
    kv = batch * LONGEST * model.kv_bytes_per_token
    times = result.breakdown_ms
    attention = sum(
        ms
        for name, ms in times.items()
        if name.startswith(("attention", "kv", "offload", "fetch")) and "norm" not in name and "allreduce" not in name
    )
    return Finding(
        {
            "min_runtime_percent": 100 * attention / sum(times.values()),
            "min_memory_percent": 100 * kv / (kv + model.weight_bytes),
        },
        f"vllm-offload, {batch} requests of LLaMA3-70B at {LONGEST} tokens",
        "Memory here is KV and weights. Shorter contexts or smaller batches give lower percentages.",
    )
