"""Why our values of PAM's claims are off: a cause for each, and the number that would change the verdict."""

from __future__ import annotations

from typing import Any

from ....constraints.pam_cpu_path import cpu_path
from ...pam.sparsity import Locality
from ..difference import Difference
from ..evidence import Evidence
from ..verdict import Judgement
from .area import INTERFACES, composed, counts, gate_equivalents, interface_mm2, um2_per_ge
from .common import CHECKS, PU, config_of
from .memory import media_rate
from .placement import KvTable, hbm_of_a_gpu
from .results import ATTENTION_ENERGY, LIMITS_MS, MEMORY_ENERGY, energy_of, energy_runs, served
from .runs import BATCHES, ENERGY_BATCHES, LONGEST, ONLINE, online, run, steady
from .settings import MODELS


def scaled(cause: str, number: str, ours: float, factor: float | None, unit: str | None = None) -> Difference:
    """A number that our value is proportional to, or inversely proportional: the paper's needs ``factor`` times ours."""
    return Difference(cause=cause, number=number, ours=ours,  # type: ignore[arg-type]  # checked by pydantic
                      needed=None if factor is None else ours * factor, unit=unit)


def inverse(judged: Judgement) -> float | None:
    return 1 / judged.ratio if judged.ratio else None


# Throughput ------------------------------------------------------------------------------------------------------------


@CHECKS.off(*(f"pam-thr-{name}{row}" for name in ("online", "online-avg", "wild", "lspim") for row in ("", "-decode")))
def conversations(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    """A gain is our rate over the baseline's, whose batches the paper does not give."""
    base = "ls-pim" if claim.startswith("pam-thr-lspim") else "vllm-offload"
    model = judged.part if judged.part in MODELS else "llama3-70b"
    workload = judged.part if judged.part in ONLINE else "wildchat"
    found = online(evidence, base, model, workload, prefill=served(claim))
    limit, state = next((limit, state) for limit in reversed(LIMITS_MS) if (state := found[limit]))
    return scaled("unpublished-input", f"rate of `{base}` with {model} on {workload} within {limit} ms per token, which "
                  "its batches decide", state.tokens_per_s, judged.ratio, "tokens/s")


@CHECKS.off("pam-thr-off", "pam-thr-off-avg", "pam-thr-off-decode", "pam-thr-off-avg-decode")
def long_contexts(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    model, workload = judged.part.split(".") if judged.part else ("llama3-70b", "arxiv_sum")
    batch = BATCHES[model][-1]
    return scaled("unpublished-input", f"rate of `vllm-offload` with {batch} requests of {model} on {workload}; the "
                  "paper does not say whether prefill is in it",
                  steady(evidence, "vllm-offload", model, workload, batch, prefill=served(claim)).tokens_per_s,
                  judged.ratio, "tokens/s")


@CHECKS.off("pam-lpim-ssd")
def tokens_in_the_ssd(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    """HBM and DDR hold the same tokens, however many requests there are."""
    requests, share, needed = BATCHES["opt-175b"][-1], ours["min_kv_percent"] / 100, None
    if judged.part == "min_kv_percent" and judged.ratio:
        needed = requests * (1 - share) / (1 - share / judged.ratio)
    return Difference(cause="contradiction", number=f"requests of OPT-175B at {LONGEST} tokens; the paper's largest batch "
                      "leaves fewer tokens for the SSD", ours=requests, needed=needed, unit="requests")


@CHECKS.off("pam-scale")
def configurations(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    return Difference(cause="unpublished-input", number="GPUs of the largest configuration; from there on L-PIM needs no "
                      "SSD", ours=16, unit="GPUs")


# Energy ----------------------------------------------------------------------------------------------------------------


@CHECKS.off("pam-energy-vllm", "pam-energy-lpim", "pam-energy-lspim", "pam-energy-vllm-memory", "pam-energy-lpim-memory")
def energy_of_the_baseline(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    """A token of the baseline, for the load at the end of the interval that is farther off."""
    base = {"vllm": "vllm-offload", "lpim": "l-pim", "lspim": "ls-pim"}[claim.split("-")[2]]
    counted = ATTENTION_ENERGY if base == "ls-pim" else MEMORY_ENERGY if claim.endswith("-memory") else None

    def joules(system: str, load: tuple[str, str, int]) -> float:
        return sum(value for name, value in energy_of(evidence, system, *load).items()
                   if counted is None or name in counted)

    end = int(judged.part.strip("[]"))
    saved = {load: 100 * (1 - joules("pam", load) / joules(base, load)) for load in energy_runs()}
    load = (min, max)[end](saved, key=lambda one: saved[one])
    wanted = ours[end] / judged.ratio / 100 if judged.ratio else 1.0
    if base == "ls-pim":
        return Difference(cause="design", number=f"energy of attention for a token of `pam` with {load[2]} requests of "
                          f"{load[0]} on {load[1]}; a lone token opens a row per V chunk",
                          ours=joules("pam", load), needed=joules(base, load) * (1 - wanted),
                          unit="J")
    return Difference(cause="unpublished-input", number=f"energy of a token of `{base}` with {load[2]} requests of "
                      f"{load[0]} on {load[1]}; the paper does not print the energies of its devices",
                      ours=joules(base, load),
                      needed=joules("pam", load) / (1 - wanted) if wanted < 1 else None, unit="J")


@CHECKS.off("pam-energy-kv")
def energy_of_transfers(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    result = run(evidence, "vllm-offload", "opt-175b", 8192, ENERGY_BATCHES["offline"]["opt-175b"])
    parts = {name: value for name, value in result.energy_breakdown_mj.items() if isinstance(value, int | float)}
    moving = parts.pop("kv_transfers")
    wanted = ours["min_energy_percent"] / judged.ratio / 100 if judged.ratio else 1.0
    return Difference(cause="unpublished-input", number="energy of moving the KV of a token to the GPUs", ours=moving,
                      needed=sum(parts.values()) * wanted / (1 - wanted) if wanted < 1 else None, unit="mJ")


# Ablation --------------------------------------------------------------------------------------------------------------


@CHECKS.off("pam-abl-small", "pam-abl-large", "pam-abl-dep")
def size_of_a_batch(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    large = claim == "pam-abl-large"
    return Difference(cause="unpublished-input", number=f"requests of the {'large' if large else 'small'} batch, and the "
                      "activations of its tokens", ours=BATCHES["llama3-70b"][-1 if large else 0], unit="requests")


# Reduction, moves and the interface ------------------------------------------------------------------------------------


@CHECKS.off("pam-ru-xfer")
def hops(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    return Difference(cause="unpublished-input", number="hops from a bank to the logic die whose bytes count", ours=2,
                      unit="hops")


@CHECKS.off("pam-ru-bw")
def rate_of_a_device(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    return Difference(cause="unpublished-input", number="devices between which the gain is compared", ours=2, unit="tiers")


@CHECKS.off("pam-migr", "pam-migr-ssd")
def tokens_that_stay(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    """About as many tokens move as change between active and idle."""
    keep = Locality().keep
    return Difference(cause="unpublished-input", number="probability that a token stays as active as it was, from a "
                      "trace of activations", ours=keep, needed=1 - (1 - keep) / judged.ratio if judged.ratio else None)


@CHECKS.off("pam-if-lat")
def rate_of_a_copy(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    return scaled("unpublished-input", "percentage of the memories' rates that a CPU's copy reaches",
                  100 * cpu_path().share_of_bandwidth, judged.ratio, "%")


@CHECKS.off("pam-bg-id")
def bits_of_a_group(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    bits = 8 * KvTable([hbm_of_a_gpu(evidence)]).group.itemsize
    return scaled("unpublished-input", "bits of a bank group's number", bits, inverse(judged), "bits")


# Areas and clocks ------------------------------------------------------------------------------------------------------


@CHECKS.off("pam-area-hbm", "pam-area-hbm-old")
def gates_of_a_die(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    units, reducers = counts(evidence, "hbm")
    total = units * gate_equivalents(evidence, "pu", "hbm") + reducers * gate_equivalents(evidence, "ru", "hbm")
    return scaled("design", "gate equivalents of all units of a die; our products are exact and our sums have FP32 "
                      "precision", total / 1e3, inverse(judged), "kGE")


@CHECKS.off("pam-area-hbm-pu")
def gates_of_a_unit(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    if judged.part == "buffer_percent":
        return scaled("unpublished-input", "area of the staging buffer as a percentage of the unit", ours[judged.part],
                      inverse(judged), "%")
    return scaled("design", "gate equivalents of a unit; our products are exact and our sums have FP32 precision",
                  gate_equivalents(evidence, "pu", "hbm") / 1e3, inverse(judged), "kGE")


@CHECKS.off("pam-area-hbm-ru")
def gates_of_a_reduction_unit(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    return scaled("design", "gate equivalents of a reduction unit; our sums have FP32 precision",
                  gate_equivalents(evidence, "ru", "hbm") / 1e3, inverse(judged), "kGE")


@CHECKS.off("pam-area-ddr", "pam-area-ddr-pu")
def gate_in_the_process(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    return scaled("unpublished-input", "area of a placed gate equivalent of logic of the DRAM's generation",
                  um2_per_ge("ddr")[0], inverse(judged), "um2")


@CHECKS.off("pam-area-ssd")
def shared_buffer(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    missing = composed(evidence, "ssd", 64, 8) * ((inverse(judged) or 1.0) - 1)
    return Difference(cause="unpublished-input", number="area of the controller's shared buffer", ours=0,
                      needed=max(missing, 0.0), unit="mm2")


@CHECKS.off("pam-if-area", "pam-area-if-hbm")
def channels_of_an_interface(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    channels = INTERFACES["hbm"][1]
    each = interface_mm2(evidence, "hbm") / channels
    return scaled("unpublished-input", "channels whose interfaces the paper's area holds; an interface of ours has "
                  f"{each:.3f} mm2", channels, inverse(judged))


@CHECKS.off("pam-pu-freq-hbm", "pam-pu-freq-ddr", "pam-pu-freq-ssd")
def critical_path(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    tier = claim.split("-")[3]
    path = evidence.record("pam-pu", PU[tier], config_of(tier), "synth").results["critical_path_ns"]
    return scaled("unpublished-input", "critical path of the unit in the paper's process; ours is in a 45 nm class library",
                  float(path), judged.ratio, "ns")


# Memories, settings and the printed algorithm --------------------------------------------------------------------------


@CHECKS.off("pam-hbm-tBL")
def cycles_of_a_burst(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    return scaled("design", "clock cycles of a burst; ours takes half of them on twice the pins", ours, inverse(judged),
                  "tCK")


@CHECKS.off("pam-cap-hbm")
def operations_of_a_unit(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    return scaled("contradiction", "operations of a unit in a clock cycle, with the paper's 64 units and 666 MHz",
                  2 * config_of("hbm").lanes, inverse(judged), "operations")


@CHECKS.off("pam-cap-ssd")
def rate_of_a_flash_channel(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    return scaled("design", "rate of a flash channel; ours includes commands, register transfers and turnarounds",
                  media_rate(evidence) / 1e9, inverse(judged), "GB/s")


@CHECKS.off("pam-mot-ssd")
def rate_of_a_gpu(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    return scaled("contradiction", "bandwidth of a GPU; the paper gives the figure of an A100 and evaluates H100",
                  ours["hbm_gbs"], inverse(judged), "GB/s")


@CHECKS.off("pam-workload-online")
def length_of_an_input(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    return scaled("our-error", "mean input of the three workloads; ours all have one mean output", ours["in"],
                  inverse(judged) if judged.part == "in" else None, "tokens")


@CHECKS.off("pam-alg1-literal")
def drawn_numbers(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    return Difference(cause="unpublished-input", number="seed of the drawn queries, keys and values", ours=1)
