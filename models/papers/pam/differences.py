"""Why our values of PAM's claims are off: a cause for each, and the number that would change the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ....constraints.pam.cpu_path import cpu_path
from ...llm import load_model
from ...pam.sparsity import Locality
from ...systems.reads import read_pj
from ..difference import Difference
from ..evidence import Evidence
from ..verdict import Judgement
from .area import INTERFACES, composed, counts, gate_equivalents, interface_mm2, um2_per_ge
from .common import CHECKS, PU, config_of, system_of
from .memory import media_rate
from .placement import KvTable, hbm_of_a_gpu
from .results import ATTENTION_ENERGY, LIMITS_MS, MEMORY_ENERGY, energy_of, energy_runs, reduction_runs, served
from .runs import BATCHES, ENERGY_BATCHES, LONGEST, OFFLINE, ONLINE, online, prepared, requests, run, steady
from .settings import MODELS


def scaled(cause: str, number: str, ours: float, factor: float | None, unit: str | None = None) -> Difference:
    """A number that our value is proportional to, or inversely proportional: the paper's needs ``factor`` times ours."""
    return Difference(
        cause=cause,  # type: ignore[arg-type]  # checked by pydantic
        number=number,
        ours=ours,
        needed=None if factor is None else ours * factor,
        unit=unit,
    )


def inverse(judged: Judgement) -> float | None:
    return 1 / judged.ratio if judged.ratio else None


# Throughput ------------------------------------------------------------------------------------------------------------


def at_the_peak(evidence: Evidence, model: str, workload: str, prefill: bool) -> float:
    """Tokens per second if all GPUs did the products with the weights at their peak and attention took no time. With
    ``prefill`` they also do the products of the prompts."""
    gpu, shape = system_of(evidence, "gpu-only").spec.gpu, load_model(MODELS[model])
    weights = shape.parameters - shape.embedding_parameters
    drawn = requests(evidence, workload)
    share = drawn.output.mean() / (drawn.prompt.mean() + drawn.output.mean()) if prefill else 1.0
    return float(gpu.count * gpu.peak_tflops * 1e12 / (2 * weights) * share)


def gain_difference(
    base: str, rate: float, judged: Judgement, bound: float, paper: float | None, what: str
) -> Difference:
    """A gain over a baseline: ``bound`` is the gain that the GPUs' peak allows, with attention in no time.

    The paper says that its baseline with offload keeps in HBM what fits. If the peak then allows less than the paper's
    gain, the gain and this text contradict each other. The text does not say it of the other baselines.
    """
    beyond = paper is not None and bound < paper
    told = f"the GPUs' peak allows a gain of at most {bound:.1f}"
    return scaled(
        "contradiction" if beyond and base == "vllm-offload" else "unpublished-input",
        f"rate of `{base}` {what}; " + (told if beyond else "the paper gives no batch of it"),
        rate,
        judged.ratio,
        "tokens/s",
    )


def paper_value(ours: Any, judged: Judgement) -> float | None:
    """The paper's value of the part that was judged."""
    value = ours
    for key in filter(None, (judged.part or "").split(".")):
        value = value[key]
    return value / judged.ratio if judged.ratio else None


@CHECKS.off(*(f"pam-thr-{name}{row}" for name in ("online", "online-avg", "wild", "lspim") for row in ("", "-decode")))
def conversations(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    base, prefill = "ls-pim" if claim.startswith("pam-thr-lspim") else "vllm-offload", served(claim)
    models = [judged.part] if judged.part in MODELS else list(MODELS)
    workloads = [judged.part] if judged.part in ONLINE else list(ONLINE)
    bounds = []
    for model in models:
        for workload in workloads:
            found = online(evidence, base, model, workload, prefill=prefill)
            peak = at_the_peak(evidence, model, workload, prefill)
            bounds.append(float(np.mean([peak / state.tokens_per_s for state in found.values() if state])))
    model = models[0] if len(models) == 1 else "llama3-70b"
    workload = workloads[0] if len(workloads) == 1 else "wildchat"
    found = online(evidence, base, model, workload, prefill=prefill)
    limit, state = next((limit, state) for limit in reversed(LIMITS_MS) if (state := found[limit]))
    return gain_difference(
        base,
        state.tokens_per_s,
        judged,
        float(np.mean(bounds)),
        paper_value(ours, judged),
        f"with {model} on {workload} within {limit} ms per token",
    )


@CHECKS.off("pam-thr-off", "pam-thr-off-avg", "pam-thr-off-decode", "pam-thr-off-avg-decode")
def long_contexts(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    prefill = served(claim)
    pairs = [tuple(judged.part.split("."))] if judged.part else [(model, load) for model in BATCHES for load in OFFLINE]

    def rate(model: str, workload: str, batch: int) -> float:
        return steady(evidence, "vllm-offload", model, workload, batch, prefill=prefill).tokens_per_s

    bound = float(
        np.mean(
            [
                at_the_peak(evidence, model, workload, prefill) / rate(model, workload, batch)
                for model, workload in pairs
                for batch in BATCHES[model]
            ]
        )
    )
    model, workload = pairs[0] if judged.part else ("llama3-70b", "arxiv_sum")
    batch = BATCHES[model][-1]
    return gain_difference(
        "vllm-offload",
        rate(model, workload, batch),
        judged,
        bound,
        paper_value(ours, judged),
        f"with {batch} requests of {model} on {workload}",
    )


@CHECKS.off("pam-lpim-ssd")
def tokens_in_the_ssd(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    """HBM and DDR hold the same tokens, however many requests there are."""
    requests, share, needed = BATCHES["opt-175b"][-1], ours["min_kv_percent"] / 100, None
    if judged.part == "min_kv_percent" and judged.ratio:
        needed = requests * (1 - share) / (1 - share / judged.ratio)
    return Difference(
        cause="contradiction",
        number=f"requests of OPT-175B at {LONGEST} tokens; the paper's largest batch leaves fewer tokens for the SSD",
        ours=requests,
        needed=needed,
        unit="requests",
    )


@CHECKS.off("pam-scale")
def configurations(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    return Difference(
        cause="unpublished-input",
        number="GPUs of the largest configuration; from there on L-PIM needs no SSD",
        ours=16,
        unit="GPUs",
    )


# Energy ----------------------------------------------------------------------------------------------------------------


#: Components that scale with the energy of reading a byte beside a bank.
READS = ("pim_cell_reads", "pu_compute")


def energy_factor(
    ours: Mapping[str, float], theirs: Mapping[str, float], scaled_: tuple[str, ...], saved: float
) -> float | None:
    """Factor of some components in both systems with which the first saves this share of the second's energy. None if no
    factor does."""
    rest, parts = (
        [sum(value for name, value in one.items() if (name in scaled_) == inside) for one in (ours, theirs)]
        for inside in (False, True)
    )
    wanted = 1 - saved
    missing, change = rest[0] - wanted * rest[1], wanted * parts[1] - parts[0]
    return missing / change if change and missing / change > 0 else None


@CHECKS.off(
    "pam-energy-vllm", "pam-energy-lpim", "pam-energy-lspim", "pam-energy-vllm-memory", "pam-energy-lpim-memory"
)
def energy_of_the_baseline(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    """The energy of a byte that decides the load at the end of the interval that is farther off."""
    base = {"vllm": "vllm-offload", "lpim": "l-pim", "lspim": "ls-pim"}[claim.split("-")[2]]
    counted = ATTENTION_ENERGY if base == "ls-pim" else MEMORY_ENERGY if claim.endswith("-memory") else None

    def joules(system: str, load: tuple[str, str, int]) -> dict[str, float]:
        return {
            name: value
            for name, value in energy_of(evidence, system, *load).items()
            if counted is None or name in counted
        }

    end = int(judged.part.strip("[]"))
    loads = {load: (joules("pam", load), joules(base, load)) for load in energy_runs()}
    load = (min, max)[end](loads, key=lambda one: 1 - sum(loads[one][0].values()) / sum(loads[one][1].values()))
    pam, other = loads[load]
    wanted = ours[end] / judged.ratio / 100 if judged.ratio else 0.0
    at = f"with {load[2]} requests of {load[0]} on {load[1]}"
    if base == "vllm-offload" and other.get("kv_transfers", 0) > 0:
        offload: Any = system_of(evidence, base)
        byte = (
            offload.offload.tiers[0].pj_per_byte
            + offload.offload.links.pj_per_byte
            + offload.spec.energy.dram_pj_per_byte
        )
        needed = energy_factor(pam, other, ("kv_transfers",), wanted)
        return scaled(
            "unpublished-input",
            f"energy of a byte that the GPUs fetch from DDR4 and write to HBM, {at}",
            byte,
            needed,
            "pJ",
        )
    needed = energy_factor(pam, other, READS, wanted)
    if needed is None:
        most = max(pam, key=lambda name: pam[name] - other.get(name, 0.0))
        return Difference(
            cause="design",
            number=f"energy of `{most}` for a token of `pam` {at}; `{base}` has {other.get(most, 0.0):.3g} J",
            ours=pam[most],
            needed=max(pam[most] - sum(pam.values()) + (1 - wanted) * sum(other.values()), 0.0),
            unit="J",
        )
    tiers: Any = system_of(evidence, "pam")
    memory = tiers.hardware.tiers[0].memory
    return scaled(
        "unpublished-input",
        f"energy of a byte that a unit in HBM reads, {at}; the paper defines no standard read",
        read_pj(memory, tiers.pim.energy.boundary) / memory.column_bytes,
        needed,
        "pJ",
    )


@CHECKS.off("pam-energy-kv")
def energy_of_transfers(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    result = run(evidence, "vllm-offload", "opt-175b", 8192, ENERGY_BATCHES["offline"]["opt-175b"])
    parts = {name: value for name, value in result.energy_breakdown_mj.items() if isinstance(value, int | float)}
    moving = parts.pop("kv_transfers")
    wanted = ours["min_energy_percent"] / judged.ratio / 100 if judged.ratio else 1.0
    return Difference(
        cause="unpublished-input",
        number="energy of moving the KV of a token to the GPUs",
        ours=moving,
        needed=sum(parts.values()) * wanted / (1 - wanted) if wanted < 1 else None,
        unit="mJ",
    )


# Ablation --------------------------------------------------------------------------------------------------------------


@CHECKS.off("pam-abl-small", "pam-abl-large", "pam-abl-dep")
def size_of_a_batch(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    large = claim == "pam-abl-large"
    return Difference(
        cause="unpublished-input",
        number=f"requests of the {'large' if large else 'small'} batch, and the activations of its tokens",
        ours=BATCHES["llama3-70b"][-1 if large else 0],
        unit="requests",
    )


# Reduction, moves and the interface ------------------------------------------------------------------------------------


@CHECKS.off("pam-ru-lat")
def clocks_of_a_merge(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    """Reduction that no attention hides: a merge of few partial results takes as long as a merge of all sources."""
    one = max(reduction_runs(evidence).values(), key=lambda each: each["reduction"]["share_percent"])
    reduction, tiers = one["reduction"], one["tiers"]
    tier = max(tiers, key=lambda name: tiers[name]["total_us"])
    system: Any = prepared(evidence, "pam", "llama3-70b")[0]
    reducer = next(each.reducer for each in system.hardware.tiers if each.name == tier)
    figures, config = reducer.figures, reducer.config
    clocks = config.sources * 128 / config.lanes / figures.merge_utilisation + figures.step_cycles
    share = ours["max_percent"] / judged.ratio / 100 if judged.ratio else 0.0
    hidden, exposed, merge = tiers[tier]["local_us"], reduction["exposed_us"], reduction["merge_us"]
    whole = 100 * (exposed + merge) / reduction["share_percent"] - exposed
    fits = (hidden + max((share * whole - merge) / (1 - share), 0.0)) / tiers[tier]["reduce_us"]
    return Difference(
        cause="design",
        number=f"clocks of a merge in the device's reduction units of `{tier}`, for one "
        "query of a request with few active tokens",
        ours=clocks,
        needed=fits * clocks,
        unit="clocks",
    )


@CHECKS.off("pam-ru-xfer")
def hops(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    return Difference(
        cause="unpublished-input", number="hops from a bank to the logic die whose bytes count", ours=2, unit="hops"
    )


@CHECKS.off("pam-ru-bw")
def rate_of_a_device(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    return Difference(
        cause="unpublished-input", number="devices between which the gain is compared", ours=2, unit="tiers"
    )


@CHECKS.off("pam-migr", "pam-migr-ssd")
def tokens_that_stay(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    """About as many tokens move as change between active and idle."""
    keep = Locality().keep
    return Difference(
        cause="unpublished-input",
        number="probability that a token stays as active as it was, from a trace of activations",
        ours=keep,
        needed=1 - (1 - keep) / judged.ratio if judged.ratio else None,
    )


@CHECKS.off("pam-if-lat")
def rate_of_a_copy(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    return scaled(
        "unpublished-input",
        "percentage of the memories' rates that a CPU's copy reaches",
        100 * cpu_path().share_of_bandwidth,
        judged.ratio,
        "%",
    )


@CHECKS.off("pam-bg-id")
def bits_of_a_group(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    bits = 8 * KvTable([hbm_of_a_gpu(evidence)]).group.itemsize
    return scaled("unpublished-input", "bits of a bank group's number", bits, inverse(judged), "bits")


# Areas and clocks ------------------------------------------------------------------------------------------------------


@CHECKS.off("pam-area-hbm", "pam-area-hbm-old")
def gates_of_a_die(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    units, reducers = counts(evidence, "hbm")
    total = units * gate_equivalents(evidence, "pu", "hbm") + reducers * gate_equivalents(evidence, "ru", "hbm")
    return scaled(
        "design",
        "gate equivalents of all units of a die; our products are exact and our sums have FP32 precision",
        total / 1e3,
        inverse(judged),
        "kGE",
    )


@CHECKS.off("pam-area-hbm-pu")
def gates_of_a_unit(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    if judged.part == "buffer_percent":
        return scaled(
            "unpublished-input",
            "area of the staging buffer as a percentage of the unit",
            ours[judged.part],
            inverse(judged),
            "%",
        )
    return scaled(
        "design",
        "gate equivalents of a unit; our products are exact and our sums have FP32 precision",
        gate_equivalents(evidence, "pu", "hbm") / 1e3,
        inverse(judged),
        "kGE",
    )


@CHECKS.off("pam-area-hbm-ru")
def gates_of_a_reduction_unit(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    return scaled(
        "design",
        "gate equivalents of a reduction unit; our sums have FP32 precision",
        gate_equivalents(evidence, "ru", "hbm") / 1e3,
        inverse(judged),
        "kGE",
    )


@CHECKS.off("pam-area-ddr", "pam-area-ddr-pu")
def gate_in_the_process(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    return scaled(
        "unpublished-input",
        "area of a placed gate equivalent of logic of the DRAM's generation",
        um2_per_ge("ddr")[0],
        inverse(judged),
        "um2",
    )


@CHECKS.off("pam-area-ssd")
def shared_buffer(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    missing = composed(evidence, "ssd", 64, 8) * ((inverse(judged) or 1.0) - 1)
    return Difference(
        cause="unpublished-input",
        number="area of the controller's shared buffer",
        ours=0,
        needed=max(missing, 0.0),
        unit="mm2",
    )


@CHECKS.off("pam-if-area", "pam-area-if-hbm")
def channels_of_an_interface(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    channels = INTERFACES["hbm"][1]
    each = interface_mm2(evidence, "hbm") / channels
    return scaled(
        "unpublished-input",
        f"channels whose interfaces the paper's area holds; an interface of ours has {each:.3f} mm2",
        channels,
        inverse(judged),
    )


@CHECKS.off("pam-pu-freq-hbm", "pam-pu-freq-ddr", "pam-pu-freq-ssd")
def critical_path(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    tier = claim.split("-")[3]
    path = evidence.record("pam-pu", PU[tier], config_of(tier), "synth").results["critical_path_ns"]
    return scaled(
        "unpublished-input",
        "critical path of the unit in the paper's process; ours is in a 45 nm class library",
        float(path),
        judged.ratio,
        "ns",
    )


# Memories, settings and the printed algorithm --------------------------------------------------------------------------


@CHECKS.off("pam-hbm-tBL")
def cycles_of_a_burst(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    return scaled(
        "design", "clock cycles of a burst; ours takes half of them on twice the pins", ours, inverse(judged), "tCK"
    )


@CHECKS.off("pam-cap-hbm")
def operations_of_a_unit(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    return scaled(
        "contradiction",
        "operations of a unit in a clock cycle, with the paper's 64 units and 666 MHz",
        2 * config_of("hbm").lanes,
        inverse(judged),
        "operations",
    )


@CHECKS.off("pam-cap-ssd")
def rate_of_a_flash_channel(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    return scaled(
        "design",
        "rate of a flash channel; ours includes commands, register transfers and turnarounds",
        media_rate(evidence) / 1e9,
        inverse(judged),
        "GB/s",
    )


@CHECKS.off("pam-mot-ssd")
def rate_of_a_gpu(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    return scaled(
        "contradiction",
        "bandwidth of a GPU; the paper gives the figure of an A100 and evaluates H100",
        ours["hbm_gbs"],
        inverse(judged),
        "GB/s",
    )


@CHECKS.off("pam-workload-online")
def length_of_an_input(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    return scaled(
        "our-error",
        "mean input of the three workloads; ours all have one mean output",
        ours["in"],
        inverse(judged) if judged.part == "in" else None,
        "tokens",
    )


@CHECKS.off("pam-alg1-literal")
def drawn_numbers(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    return Difference(cause="unpublished-input", number="seed of the drawn queries, keys and values", ours=1)
