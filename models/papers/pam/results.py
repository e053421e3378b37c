"""Sections 1, 5.2.2, 6.3 and 7.2 to 7.6: what the systems do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...llm import load_model
from ...serving.steady import SteadyState
from ...systems.results import Evaluation
from ..evidence import Evidence, Finding, NotCheckable
from .area import reducer
from .common import CHECKS, config_of, system_of
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


def named(function: Any, *names: str) -> dict[str, float]:
    return {name: function(name) for name in names}


# Throughput ------------------------------------------------------------------------------------------------------------


CONVERSATION = ("served: continuous batching, prefill first, the workload's lengths, the batch with the most tokens per "
                "second within 100, 150 and 200 ms a token")
LONG = "served: continuous batching, prefill first, the workload's lengths, the paper's batches always full"


def shares(state: SteadyState) -> str:
    """Where the time of a state goes."""
    return (f"{state.limit} in work, {1e3 * state.tpot_s:.0f} ms a token, prefill {100 * state.prefill_share:.0f} % of the "
            "time")


#: The baseline with offload that leaves a batch in HBM that fits there.
KEEPING = {"keeps": "batch"}


def online_gains(evidence: Evidence, base: str, overrides: Mapping[str, Any] | None = None) -> dict[tuple[str, str], float]:
    def made() -> dict[tuple[str, str], float]:
        return {(model, workload): gain(evidence, base, model, workload, overrides)
                for model in MODELS for workload in ONLINE}

    return evidence.once(("online gains", base, bool(overrides)), made)


def means(gains: dict[tuple[str, str], float]) -> dict[str, float]:
    """By model, over the workloads."""
    return {model: float(np.mean([gains[model, workload] for workload in ONLINE])) for model in MODELS}


def conversation_why(evidence: Evidence, base: str) -> str:
    """Where the time goes, and what is left if prompts cost nothing."""
    limit = LIMITS_MS[-1]
    ours, theirs = (online(evidence, name, "llama3-70b", "wildchat")[limit] for name in ("pam", base))
    assert ours and theirs
    alone = []
    for model, batch in (("llama3-70b", 1024), ("opt-175b", 256)):
        steps = [1e3 * steady(evidence, name, model, "wildchat", batch).step_s for name in ("pam", base)]
        alone.append(f"{batch} requests of {model} {steps[0]:.0f} ms, {base} {steps[1]:.0f} ms")
    if base == "vllm-offload":
        kept = ", ".join(f"{model} {value:.2f}" for model, value in means(online_gains(evidence, base, KEEPING)).items())
        told = ("The baseline's offload is a switch, as DeepSpeed-Inference's is: no KV stays in HBM. If a batch that fits "
                f"stayed there the gains were {kept}, since most batches within the limits fit. The paper does not give "
                "its baseline's batches")
    else:
        told = ("Batches within the limits mostly fit HBM, where there is nothing to schedule and attention is the smaller "
                "part of a step; the paper does not give its batches")
    return (f"prefill runs on the same GPUs in both; LLaMA3-70B, WildChat, {limit} ms: pam {shares(ours)}; {base} "
            f"{shares(theirs)}. Decode steps alone: pam {'; pam '.join(alone)}. {told}")


@CHECKS.of("pam-thr-online")
def by_model(evidence: Evidence, claim: str) -> Finding:
    return Finding(means(online_gains(evidence, "vllm-offload")), CONVERSATION, conversation_why(evidence, "vllm-offload"),
                   MODEL)


@CHECKS.of("pam-thr-online-avg")
def by_model_mean(evidence: Evidence, claim: str) -> Finding:
    return Finding(float(np.mean(list(online_gains(evidence, "vllm-offload").values()))), CONVERSATION,
                   conversation_why(evidence, "vllm-offload"), MODEL)


@CHECKS.of("pam-thr-wild")
def by_workload(evidence: Evidence, claim: str) -> Finding:
    gains = online_gains(evidence, "vllm-offload")
    return Finding({workload: float(np.mean([gains[model, workload] for model in MODELS]))
                    for workload in ("wildchat", "sharegpt")}, CONVERSATION,
                   conversation_why(evidence, "vllm-offload"), MODEL)


@CHECKS.of("pam-thr-lspim")
def over_ls_pim(evidence: Evidence, claim: str) -> Finding:
    return Finding(float(np.mean(list(online_gains(evidence, "ls-pim").values()))), CONVERSATION,
                   conversation_why(evidence, "ls-pim"), MODEL)


def offline_gain(evidence: Evidence, model: str, workload: str, prefill: bool,
                 overrides: Mapping[str, Any] | None) -> float:
    ours, theirs = ([steady(evidence, name, model, workload, batch, change, prefill=prefill).tokens_per_s
                     for batch in BATCHES[model]] for name, change in (("pam", None), ("vllm-offload", overrides)))
    return float(np.mean([a / b for a, b in zip(ours, theirs, strict=True)]))


def offline_gains(evidence: Evidence, *, prefill: bool = True, overrides: Mapping[str, Any] | None = None
                  ) -> dict[str, dict[str, float]]:
    """By model and workload; of decoding alone without ``prefill``, and over the baseline with ``overrides``."""
    return {model: {workload: offline_gain(evidence, model, workload, prefill, overrides) for workload in OFFLINE}
            for model in BATCHES}


def listed(gains: dict[str, dict[str, float]]) -> str:
    return ", ".join(f"{model} {workload} {value:.1f}" for model, some in gains.items() for workload, value in some.items())


def offline_why(evidence: Evidence) -> str:
    each = []
    for model, workload in (("llama3-70b", "arxiv_sum"), ("opt-175b", "write_doc")):
        batch = BATCHES[model][-1]
        each.append(f"{model} {workload}: " + "; ".join(f"{name} {shares(steady(evidence, name, model, workload, batch))}"
                                                     for name in ("pam", "vllm-offload")))
    return (". ".join(each) + f". If prompts cost nothing: {listed(offline_gains(evidence, prefill=False))}. With "
            "arxiv_sum's long prompts and short outputs prefill is most of PAM's time. If the baseline left a batch that "
            f"fits in HBM: {listed(offline_gains(evidence, overrides=KEEPING))}")


@CHECKS.of("pam-thr-off")
def long_contexts(evidence: Evidence, claim: str) -> Finding:
    return Finding(offline_gains(evidence), LONG, offline_why(evidence), MODEL)


@CHECKS.of("pam-thr-off-avg")
def long_contexts_mean(evidence: Evidence, claim: str) -> Finding:
    return Finding(float(np.mean([value for some in offline_gains(evidence).values() for value in some.values()])),
                   LONG, offline_why(evidence), MODEL)


@CHECKS.of("pam-lpim-ssd")
def slow_tier(evidence: Evidence, claim: str) -> Finding:
    result = run(evidence, "l-pim", "opt-175b", LONGEST, 64)
    assert result.attention is not None
    tiers = result.attention["tiers"]
    tokens, times = ({name: one[key] for name, one in tiers.items()} for key in ("tokens", "total_us"))
    return Finding({"min_kv_percent": 100 * tokens["ssd"] / sum(tokens.values()),
                    "min_time_percent": 100 * times["ssd"] / sum(times.values())},
                   f"l-pim, 64 requests of OPT-175B at {LONGEST} tokens, the largest of the long-context runs; time of the "
                   "tier over the times of all",
                   "HBM less the weights and 1.25 TiB of DDR4 hold the rest, as on the paper's platform"
                   if tokens["ssd"] < 0.65 * sum(tokens.values()) else "")


@CHECKS.of("pam-scale")
def scaling(evidence: Evidence, claim: str) -> Finding:
    ratios, pace = {}, {}
    for count, tensor, pipeline in ((8, 8, 1), (8, 4, 2), (8, 2, 4), (16, 8, 2), (16, 4, 4)):
        change = {"gpu.count": count, "parallelism.tensor": tensor, "parallelism.pipeline": pipeline}
        pam, base = (steady(evidence, name, "llama3-70b", "write_doc", 1024, change) for name in ("pam", "l-pim"))
        ratios[tensor, pipeline], pace[tensor, pipeline] = pam.tokens_per_s / base.tokens_per_s, pam.tokens_per_s
    told = ", ".join(f"tensor {t} x pipeline {p}: {ratio:.2f}" for (t, p), ratio in ratios.items())
    return Finding([min(ratios.values()), max(ratios.values())],
                   "1024 requests of LLaMA3-70B, write_doc, served, on 8 and 16 GPUs with their share of all tiers",
                   f"{told}. Twice the GPUs make PAM {pace[8, 2] / pace[4, 2]:.2f} times as fast; on 16 the KV of L-PIM "
                   "needs no SSD, which is what it loses with on 8", interval=True)


# Energy ----------------------------------------------------------------------------------------------------------------


def energy_runs() -> list[tuple[str, str, int]]:
    """Model, workload and batch of the energy runs (section 7.3)."""
    return [(model, workload, batch) for kind, workload in (("online", "wildchat"), ("offline", "arxiv_sum"))
            for model, batch in ENERGY_BATCHES[kind].items()]


def energy_loads(evidence: Evidence) -> list[tuple[str, int, int]]:
    """The same with the mean context."""
    return [(model, context_of(evidence, workload), batch) for kind, workload in (("online", "wildchat"),
                                                                                 ("offline", "arxiv_sum"))
            for model, batch in ENERGY_BATCHES[kind].items()]


ATTENTION_ENERGY = ("pim_cell_reads", "flash_reads", "pu_compute", "transfers", "reduction", "migration")


def energy_of(evidence: Evidence, system: str, model: str, workload: str, batch: int) -> dict[str, float]:
    """Joules per token of a served run, by component."""
    return steady(evidence, system, model, workload, batch, energy=True).energy_j


@CHECKS.of("pam-energy-vllm", "pam-energy-lpim", "pam-energy-lspim")
def energy(evidence: Evidence, claim: str) -> Finding:
    base = {"vllm": "vllm-offload", "lpim": "l-pim", "lspim": "ls-pim"}[claim.split("-")[2]]
    attention = base == "ls-pim"
    saved, told = [], []
    for model, workload, batch in energy_runs():
        ours, theirs = ({name: joules for name, joules in energy_of(evidence, name_, model, workload, batch).items()
                         if not attention or name in ATTENTION_ENERGY} for name_ in ("pam", base))
        saved.append(100 * (1 - sum(ours.values()) / sum(theirs.values())))
        most = {name: max(parts, key=lambda key: parts[key]) for name, parts in (("pam", ours), (base, theirs))}
        told.append(f"{model} {workload} {batch}: {saved[-1]:.1f} % of {sum(theirs.values()):.3g} J, most of it "
                    f"{most[base]} ({100 * theirs[most[base]] / sum(theirs.values()):.0f} %), PAM's {most['pam']} "
                    f"({100 * ours[most['pam']] / sum(ours.values()):.0f} %)")
    return Finding([min(saved), max(saved)], "energy per token of served runs, of what is modelled"
                   + (", components that only attention has" if attention else ", prefill included")
                   + "; WildChat and arxiv_sum at the batches of the paper's energy runs",
                   "; ".join(told) + ". Static power of the GPUs is not modelled, so a system that takes longer pays "
                   "nothing for it", interval=True)


@CHECKS.of("pam-energy-kv")
def moved(evidence: Evidence, claim: str) -> Finding:
    batch, context = ENERGY_BATCHES["offline"]["opt-175b"], 8192
    result = run(evidence, "vllm-offload", "opt-175b", context, batch)
    assert result.attention is not None
    gpus = system_of(evidence, "gpu-only").spec.gpu.count
    fetched = sum(result.attention["fetched_bytes_per_gpu_and_step"].values()) * gpus
    parts = {name: value for name, value in result.energy_breakdown_mj.items() if isinstance(value, int | float)}
    moving, rest = parts.pop("kv_transfers"), max(parts, key=lambda name: parts[name])
    return Finding({"gb": fetched / GIB, "min_energy_percent": 100 * moving / (moving + sum(parts.values()))},
                   f"KV that the GPUs of vllm-offload fetch in a step of {batch} requests of {context} tokens, GiB; "
                   "kv_transfers of its energy",
                   "the paper's volume is that of 8192 tokens a request, the longest that its workloads reach. Of the "
                   f"energy {rest} has the next part ({100 * parts[rest] / (moving + sum(parts.values())):.0f} %): what "
                   "was fetched is read from the GPUs' own memory")


# Ablation --------------------------------------------------------------------------------------------------------------

#: What of PAM is left out.
WITHOUT = {"vs_no_pamattention": "features.pam_attention", "vs_no_mapping": "features.kv_mapping",
           "vs_no_scheduling": "features.kv_scheduling"}


def attention_ms(result: Evaluation) -> float:
    """Time per token of attention, its merge and what moves for it."""
    return sum(ms for name, ms in result.breakdown_ms.items()
               if name in ("attention", "attention_merge", "attention_softmax", "attention_kv_append", "migration_exposed"))


def ablation(evidence: Evidence, batch: int) -> dict[str, float]:
    context = context_of(evidence, "write_doc")
    whole = attention_ms(run(evidence, "pam", "llama3-70b", context, batch))
    out = {"vs_lspim": attention_ms(run(evidence, "ls-pim", "llama3-70b", context, batch)) / whole}
    for name, feature in WITHOUT.items():
        out[name] = attention_ms(run(evidence, "pam", "llama3-70b", context, batch, {feature: False})) / whole
    return out


ABLATION_WHY = ("the paper does not say its batches, model or workload; here a small batch fits HBM, where there is "
                "nothing to schedule, and the synthetic activations are spread so evenly over the groups that choosing "
                "groups by activation gains nothing; traces of real models may differ")


@CHECKS.of("pam-abl-small", "pam-abl-large")
def ablations(evidence: Evidence, claim: str) -> Finding:
    batch = BATCHES["llama3-70b"][0 if claim.endswith("small") else -1]
    return Finding(ablation(evidence, batch),
                   f"time of attention, {batch} requests of LLaMA3-70B, write_doc, features of pam off one at a time",
                   ABLATION_WHY, MODEL)


@CHECKS.of("pam-abl-dep")
def larger_batches_gain_more(evidence: Evidence, claim: str) -> Finding:
    small, large = (ablation(evidence, BATCHES["llama3-70b"][k]) for k in (0, -1))
    less = [name for name in small if large[name] <= small[name]]
    return Finding(not less, "the two ablations", f"not for {', '.join(less)}" if less else "")


# Rules and settings ----------------------------------------------------------------------------------------------------


@CHECKS.of("pam-slo")
def limits(evidence: Evidence, claim: str) -> Finding:
    """Limits whose throughputs were computed."""
    return Finding([limit for limit, found in online(evidence, "pam", "llama3-70b", "wildchat").items() if found],
                   "limits of the conversations that pam keeps to with LLaMA3-70B")


def held(state: SteadyState) -> int:
    """Requests that were in work, to the nearest whole one."""
    return round(state.batch)


@CHECKS.of("pam-off-batch")
def batches(evidence: Evidence, claim: str) -> Finding:
    return Finding({model: [held(steady(evidence, "pam", model, "write_doc", batch)) for batch in some]
                    for model, some in BATCHES.items()}, "requests in work in the long-context runs of pam")


@CHECKS.of("pam-batch-energy")
def energy_batches(evidence: Evidence, claim: str) -> Finding:
    where = {"online": "wildchat", "offline": "arxiv_sum"}
    return Finding({kind: {model: held(steady(evidence, "pam", model, where[kind], batch, energy=True))
                           for model, batch in some.items()} for kind, some in ENERGY_BATCHES.items()},
                   "requests in work in the energy runs of pam")


@CHECKS.of("pam-offload")
def work_split(evidence: Evidence, claim: str) -> Finding:
    """What is not attention takes the GPUs' time with and without PAM; attention does not."""
    context, batch = context_of(evidence, "wildchat"), 256
    ours, gpu = (run(evidence, name, "llama3-70b", context, batch).breakdown_ms for name in ("pam", "gpu-only"))
    same = [name for name in gpu if name in ours and abs(gpu[name] - ours[name]) <= 1e-9 * gpu[name]]
    wanted = [name for name in gpu if any(word in name for word in ("qkv", "projection", "ffn", "out"))]
    return Finding(bool(wanted) and set(wanted) <= set(same) and "attention" not in same,
                   f"operators of pam with the time that they have on the GPUs alone: {', '.join(same)}")


@CHECKS.of("pam-attacc-off")
def no_offload(evidence: Evidence, claim: str) -> Finding:
    context, batch = LONGEST, 1024
    tried = {name: fits(evidence, name, "llama3-70b", context, batch) for name in ("attacc", "vllm-offload", "pam")}
    small = fits(evidence, "attacc", "llama3-70b", 738, 256)
    return Finding(small and not tried["attacc"] and tried["vllm-offload"] and tried["pam"],
                   f"{batch} requests of LLaMA3-70B at {LONGEST} tokens fit vllm-offload and pam, not attacc, "
                   "which a small batch does")


@CHECKS.of("pam-merge-level")
def last_merge(evidence: Evidence, claim: str) -> Finding:
    """Twice the reduction units at a device: only those of HBM make the last merge faster."""
    from ...systems import load_system

    model, times = load_model("llama-3-70b"), {}
    for name in ("none", "hbm", "ddr", "ssd"):
        system: Any = load_system("pam")
        system.prepare(model, evidence.records, False)
        system.pim = system.pim.model_copy(update={"tiers": [
            tier.model_copy(update={"device_reduction_units": tier.device_reduction_units * (1 + (tier.name == name))})
            for tier in system.pim.tiers]})
        times[name] = system.step_at(model, 1024, 738).merge_s  # many more merges than units
    faster = [name for name in ("hbm", "ddr", "ssd") if times[name] < times["none"]]
    return Finding(faster == ["hbm"], "time of the last merge with twice the reduction units in each tier in turn")


# Reduction and moves ---------------------------------------------------------------------------------------------------


def reduction_runs(evidence: Evidence) -> dict[str, dict[str, Any]]:
    """The attention of a step of each energy run of PAM."""
    out = {}
    for model, context, batch in energy_loads(evidence):
        attention = run(evidence, "pam", model, context, batch).attention
        assert attention is not None
        out[f"{model} {batch} x {context}"] = attention
    return out


@CHECKS.of("pam-ru-lat")
def reduction_share(evidence: Evidence, claim: str) -> Finding:
    """Reduction that nothing hides, and the last merge, over attention: the worst of the loads."""
    shares = {name: one["reduction"]["share_percent"] for name, one in reduction_runs(evidence).items()}
    return Finding({"max_percent": max(shares.values())},
                   "reduction beyond the time of the units that it overlaps, and the last merge, over the time of "
                   "attention; the worst of the energy runs",
                   ", ".join(f"{name}: {value:.2f} %" for name, value in shares.items()))


@CHECKS.of("pam-ru-xfer")
def transfers(evidence: Evidence, claim: str) -> Finding:
    """Partial results on their way through a device: from banks to bank groups, and from these to where all meet."""
    saved, last = {}, []
    for name, one in reduction_runs(evidence).items():
        share = one["tiers"]["hbm"]["partial_results"]["saved_percent"]
        saved[name] = share["device"]
        last.append(share["group_to_device"])
    return Finding(float(np.mean(list(saved.values()))),
                   "bytes of partial results in HBM from banks to groups and from groups to the logic die, against those "
                   "without reduction units at the groups; mean of the energy runs",
                   "the paper does not say which transfers it counts. "
                   + ", ".join(f"{name}: {value:.1f} %" for name, value in saved.items())
                   + f"; of what leaves the groups alone {np.mean(last):.0f} %. A unit for four banks saves at most three "
                   "quarters there, and nothing on the way to it", MODEL)


@CHECKS.of("pam-ru-bw")
def reduction_bandwidth(evidence: Evidence, claim: str) -> Finding:
    """Partial results per time: what the units of a stack's bank groups take over what reaches one place through its
    channels."""
    config, memory = reducer("hbm"), evidence.memory("hbm3-5.2")
    groups = memory.channels * memory.banks // memory.levels["bank"]
    inside = groups * config.lanes * config_of("hbm").io.width / 8 * config.clock_mhz * 1e6
    return Finding(inside / (memory.channels * memory.channel_bytes_per_s),
                   f"{groups} units of {config.lanes} lanes at {config.clock_mhz:g} MHz over the rate of a stack's "
                   "channels, through which a central unit gets its partial results", interval=True)


@CHECKS.of("pam-migr", "pam-migr-ssd")
def moves(evidence: Evidence, claim: str) -> Finding:
    """Without the limit of moves per step; three tiers take part."""
    steps = state(evidence, "opt-175b", LONGEST, 64, 12, {"scheduling.budget_percent": 100})[4:]
    slow = float(np.mean([100 * step.moves["ssd-ddr"] / sum(step.tokens) for step in steps]))
    fast = float(np.mean([100 * step.moves["ddr-hbm"] / sum(step.tokens) for step in steps]))
    basis = (f"mean of 8 steps of 64 requests of OPT-175B at {LONGEST} tokens, synthetic activations, no limit of moves; "
             "tokens by tier " + ", ".join(f"{count:,}" for count in steps[-1].tokens))
    why = ("the share follows from how long a token stays active, which the synthetic source assumes (keep 0.8); attention "
           "traces of real models decide it")
    return Finding(slow + fast, basis, why, MODEL) if claim == "pam-migr" else Finding({"max_percent": slow}, basis, why)


# Motivation ------------------------------------------------------------------------------------------------------------


@CHECKS.of("pam-mot-att")
def motivation(evidence: Evidence, claim: str) -> Finding:
    model, batch = load_model("llama-3-70b"), 1024
    result = run(evidence, "vllm-offload", "llama3-70b", LONGEST, batch)
    kv = batch * LONGEST * model.kv_bytes_per_token
    times = result.breakdown_ms
    attention = sum(ms for name, ms in times.items()
                    if name.startswith(("attention", "kv", "offload", "fetch")) and "norm" not in name
                    and "allreduce" not in name)
    return Finding({"min_runtime_percent": 100 * attention / sum(times.values()),
                    "min_memory_percent": 100 * kv / (kv + model.weight_bytes)},
                   f"vllm-offload, {batch} requests of LLaMA3-70B at {LONGEST} tokens",
                   "KV against KV and weights; less with shorter contexts or smaller batches")


@CHECKS.of("pam-sys-rdma")
def network(evidence: Evidence, claim: str) -> Finding:
    spec = system_of(evidence, "gpu-only").spec
    rdma = getattr(spec, "network", None)
    if rdma is None:
        raise NotCheckable("needs several nodes: the systems here are one node each")
    return Finding({"links": spec.gpu.count, "gbps_each": 8 * rdma.gb_s_per_gpu},
                   "network of gpu-only: a link for each GPU of a node")
