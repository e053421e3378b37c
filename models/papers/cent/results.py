"""Section 7 and the data behind its figures: latency, throughput, power, cost, scaling."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ...cost import controller_cost, hourly_usd, load_costs, load_nodes, system_usd, unit_area
from ...llm import load_model
from ...memory.standby import StandbyFrontEnd
from ...program import Program
from ...systems import load_system
from ...systems.cent import CentSystem, Point
from ..category import Source
from ..evidence import Evidence, Finding
from .area import syntheses
from .common import CHECKS, GPU_FILE, MODELS, PHASES, PIPELINED, SHARED, geomean, gpus, mean_of, phase, simulated
from .table import NAMES, Configuration

#: Sources of a ratio of the authors' simulator with a GPU that they measured.
RATIO = (Source.RUN, Source.PAPER)

#: Sources of a ratio of the system as it is with such a GPU.
OURS_RATIO = (Source.RUN, Source.RECORD, Source.PAPER)

BASIS = f"measured GPUs of {GPU_FILE}; "
OURS, THEIRS = "cent, with refresh and measured clocks of units and port", "cent --quirks cent-simulator"


def rate(point: Point) -> float:
    return 1 / point.period_s


def token_s(point: Point) -> float:
    return point.token_s


def energy_mj(point: Point) -> float:
    return sum(point.energy_pj.values()) * 1e-9


def rates(evidence: Evidence, name: str, simulator: bool) -> dict[str, float]:
    """Throughput over the GPUs', by model."""
    return {
        key: phase(evidence, one, name, simulator, rate) / getattr(gpus().tokens_per_s[NAMES[one.model]], name)
        for key, one in PIPELINED.items()
    }


def latencies(evidence: Evidence, simulator: bool) -> dict[str, float]:
    """Latency of a query on the GPUs over its latency here, by model."""
    return {
        key: gpus().latency_s[NAMES[one.model]] / (4096 * phase(evidence, one, "end2end", simulator, token_s))
        for key, one in SHARED.items()
    }


def efficiencies(evidence: Evidence, name: str, simulator: bool) -> dict[str, float]:
    """Tokens per joule over the GPUs', by model."""
    return {
        key: 1e3
        / phase(evidence, one, name, simulator, energy_mj)
        / getattr(gpus().tokens_per_j[NAMES[one.model]], name)
        for key, one in PIPELINED.items()
    }


def hour_usd(evidence: Evidence, simulator: bool) -> float:
    """Cost of an hour of the published 32 devices; without ``simulator`` with the measured area of their controllers."""
    costs = load_costs()
    if simulator:
        return costs.published.cent_usd_per_h
    node = load_nodes().processes[costs.controller.process].logic_node
    mm2 = sum(unit_area(results, node, node).mm2 for results in syntheses(evidence).values())
    more = controller_cost(pnm_mm2=mm2).usd - controller_cost().usd
    return costs.published.cent_usd_per_h + costs.system.devices * more / costs.operation.hours


def per_dollar(evidence: Evidence, simulator: bool) -> dict[str, float]:
    """Tokens per dollar over the GPUs', by model. Published costs of an hour, in proportion to devices and GPUs."""
    cost, system = load_costs().published, load_costs().system
    out = {}
    for key, ratio in rates(evidence, "end2end", simulator).items():
        gpu = cost.gpu_usd_per_h * gpus().gpus[NAMES[MODELS[key]]] / system.gpus
        out[key] = ratio * gpu / (hour_usd(evidence, simulator) * PIPELINED[key].devices / system.devices)
    return out


def told(values: dict[str, float]) -> str:
    return " / ".join(f"{value:.2f}" for value in values.values())


# Ratios with the measured GPUs -----------------------------------------------------------------------------------------


@CHECKS.of("cent-lat", by=OURS_RATIO)
def latency(evidence: Evidence, claim: str) -> Finding:
    mine, theirs = latencies(evidence, False), latencies(evidence, True)
    return Finding(
        geomean(mine.values()),
        BASIS + OURS,
        f"7B / 13B / 70B: {told(mine)}. The authors' simulator gives {told(theirs)}, geometric mean "
        f"{geomean(theirs.values()):.2f}; its keys are spread over devices that do not attend.",
        tolerance=0.05,
    )


@CHECKS.of("cent-thr", "cent-thr-70b", "cent-thr-prefill", "cent-thr-decode", by=OURS_RATIO)
def throughput(evidence: Evidence, claim: str) -> Finding:
    name = {"cent-thr-prefill": "prefill", "cent-thr-decode": "decoding"}.get(claim, "end2end")
    mine, theirs = (rates(evidence, name, simulator) for simulator in (False, True))
    value = mine["70b"] if claim == "cent-thr-70b" else geomean(mine.values())
    return Finding(
        1 / value if name == "prefill" else value,
        BASIS + OURS,
        f"CENT over GPU, 7B / 13B / 70B: {told(mine)}. The authors' simulator gives {told(theirs)}.",
        tolerance=0.1,
    )


@CHECKS.of("cent-tokdollar", by=OURS_RATIO)
def dollars(evidence: Evidence, claim: str) -> Finding:
    mine, theirs = per_dollar(evidence, False), per_dollar(evidence, True)
    return Finding(
        geomean(mine.values()),
        BASIS + OURS + "; published costs of an hour, with controllers of measured area",
        f"7B / 13B / 70B: {told(mine)}. The authors' simulator gives {told(theirs)}.",
        tolerance=0.1,
    )


@CHECKS.of("cent-energy", "cent-energy-pd", by=OURS_RATIO)
def energy(evidence: Evidence, claim: str) -> Finding:
    mine, theirs = (
        {name: geomean(efficiencies(evidence, name, simulator).values()) for name in PHASES}
        for simulator in (False, True)
    )
    why = (
        f"Prefill / decoding / all: {told(mine)}. The authors' simulator gives {told(theirs)}; it charges the standby "
        "of one channel of 32."
    )
    if claim == "cent-energy":
        return Finding({"abstract": mine["end2end"], "conclusion": mine["end2end"]}, BASIS + OURS, why, tolerance=0.1)
    return Finding(
        {"prefill_gpu_better": 1 / mine["prefill"], "decode_cent_better": mine["decoding"]},
        BASIS + OURS,
        why,
        tolerance=0.1,
    )


@CHECKS.of("cent-r-lat", "cent-r-thr", "cent-r-tokdollar", "cent-r-energy", by=RATIO)
def data_of_figures(evidence: Evidence, claim: str) -> Finding:
    """Figures 13 and 15c, under the quirks of the authors' simulator."""
    short = {"prefill": "prefill", "decode": "decoding", "e2e": "end2end"}
    value: Any
    if claim == "cent-r-lat":
        value = latencies(evidence, True)
    elif claim == "cent-r-tokdollar":
        value = per_dollar(evidence, True)
        value["geomean"] = geomean(value.values())
    else:
        make = rates if claim == "cent-r-thr" else efficiencies
        value = {key: list(make(evidence, name, True).values()) for key, name in short.items()}
    return Finding(value, BASIS + THEIRS, tolerance=2e-4)


@CHECKS.of("cent-r-ctx", "cent-ctx", by=RATIO)
def contexts(evidence: Evidence, claim: str) -> Finding:
    """A context of n tokens stands at its mean while 3584 tokens are generated."""
    measured = gpus().decoding_by_context_tok_s
    points = simulated(evidence, PIPELINED["70b"], [int(context) - 1792 for context in measured])
    gains = [rate(point) / gpu for point, gpu in zip(points, measured.values(), strict=True)]
    why = (
        "Capacity is not checked here. 80 requests of 32 K tokens need 860 GB for keys and values beside 138 GB of "
        "weights, and 27 of the 32 devices hold them."
    )
    return Finding(
        gains if claim == "cent-r-ctx" else gains[-1],
        BASIS + THEIRS,
        why,
        tolerance=2e-4 if claim != "cent-ctx" else 0.02,
    )


def queries(evidence: Evidence) -> list[tuple[float, float]]:
    """Queries a minute and minutes of a query, for the splits of figure 14b."""
    out = []
    for one in (
        *(Configuration("Llama2-70B", 32, stages, 32 // stages) for stages in (1, 2, 4, 8, 16)),
        PIPELINED["70b"],
    ):
        minutes = 4096 * phase(evidence, one, "end2end", True, token_s) / 60
        out.append((phase(evidence, one, "end2end", True, rate) * 60 / 4096, minutes))
    return out


@CHECKS.of("cent-qos", by=RATIO)
def quality(evidence: Evidence, claim: str) -> Finding:
    """Against the GPU's batch of the nearest throughput; the last split is beyond all of them."""
    gains = []
    for per_minute, minutes in queries(evidence)[:-1]:
        _, seconds, _ = min(gpus().batches["4096"], key=lambda row: abs(row[2] - per_minute))
        gains.append(seconds / 60 / minutes)
    return Finding(
        [min(gains), max(gains)],
        BASIS + THEIRS,
        f"By split: {' / '.join(f'{gain:.2f}' for gain in gains)}.",
        tolerance=0.05,
    )


@CHECKS.of("cent-inout", by=RATIO)
def phases_of_a_query(evidence: Evidence, claim: str) -> Finding:
    one, measured = PIPELINED["70b"], gpus().latency_min
    prefill = 512 * phase(evidence, one, "prefill", True, token_s) / 60 / measured["prefill"]
    gains = []
    for count in (128, 512, 1024, 3584):
        points = simulated(evidence, one, range(640, 513 + count, 128))
        gains.append(measured[f"decoding_{count}"] / (count * mean_of([point.token_s for point in points]) / 60))
    return Finding(
        {"prefill_slower": prefill, "decode_faster": [min(gains), max(gains)]}, BASIS + THEIRS, tolerance=0.05
    )


@CHECKS.of("cent-gpu-8x", by=RATIO)
def power_of_a_gpu(evidence: Evidence, claim: str) -> Finding:
    device = power_w(evidence, "end2end") / 27
    gpu = gpus().power_w["llama-2-70b"].end2end / gpus().gpus["llama-2-70b"]
    return Finding(gpu / device, BASIS + THEIRS, f"{gpu:.0f} W and {device:.1f} W.", tolerance=0.1)


@CHECKS.of("cent-prefill-share", "cent-mot-util", by=(Source.PAPER, Source.SETTING))
def gpu_alone(evidence: Evidence, claim: str) -> Finding:
    rates_of = gpus().tokens_per_s
    if claim == "cent-mot-util":
        one = rates_of["llama-2-70b"]
        return Finding(
            {"utilisation_percent": None, "decode_over_prefill": one.prefill / one.decoding},
            GPU_FILE,
            "Operations of the GPUs are not part of the measurements.",
            tolerance=0.02,
        )
    shares = [512 / one.prefill / (512 / one.prefill + 3584 / one.decoding) for one in rates_of.values()]
    return Finding(
        100 * mean_of(shares),
        GPU_FILE,
        "7B / 13B / 70B: " + " / ".join(f"{100 * s:.1f} %" for s in shares) + ".",
        tolerance=0.25,
    )


@CHECKS.of("cent-mot-sat", by=(Source.PAPER, Source.SETTING))
def saturation(evidence: Evidence, claim: str) -> Finding:
    """The smallest batch within 10 % of the most queries a minute."""
    batches = {}
    for context, table in gpus().batches.items():
        most = max(row[2] for row in table)
        batches[int(context)] = int(next(row[0] for row in table if row[2] >= 0.9 * most))
    return Finding(
        {"4K": batches[4096], "32K_sec2": batches[32768], "32K_sec7": batches[32768]},
        GPU_FILE,
        "Section 2 says 8 at 32 K, section 7.1 says 16.",
    )


# CENT alone ------------------------------------------------------------------------------------------------------------


def power_w(evidence: Evidence, name: str) -> float:
    """Power of the published 70B system, as the authors' simulator has it."""
    return phase(
        evidence, PIPELINED["70b"], name, True, lambda point: sum(point.energy_pj.values()) * 1e-12 / point.pim_s
    )


@CHECKS.of("cent-r-power", "cent-r-abs70", "cent-r-break", by=Source.RUN)
def absolute(evidence: Evidence, claim: str) -> Finding:
    one = PIPELINED["70b"]
    if claim == "cent-r-power":
        return Finding([power_w(evidence, name) for name in PHASES], THEIRS, tolerance=1e-3)
    if claim == "cent-r-abs70":
        return Finding(
            {
                "decode_tok_s": phase(evidence, one, "decoding", True, rate),
                "e2e_tok_s": phase(evidence, one, "end2end", True, rate),
                "decode_mj": phase(evidence, one, "decoding", True, energy_mj),
                "latency_s": 4096 * phase(evidence, one, "end2end", True, token_s),
            },
            THEIRS,
            tolerance=1e-3,
        )
    minutes = 4096 / 60 * 80
    points = simulated(evidence, one, [*PHASES["end2end"], 6400, 14592, 30976])
    parts = [minutes * mean_of([getattr(point, name) for point in points]) for name in ("pim_s", "cxl_s", "acc_s")]
    short = minutes * phase(evidence, one, "end2end", True, lambda point: point.pim_s)
    return Finding(
        [*parts, points[0].host_s * 4096 / 60],
        THEIRS,
        "The authors' row is a mean over 35 contexts, of which three are above 4096 tokens. Up to 4096 tokens, "
        f"the first part is {short:.3f} min.",
        tolerance=1e-3,
    )


@CHECKS.of("cent-power-dev", by=Source.RUN)
def device_power(evidence: Evidence, claim: str) -> Finding:
    one = PIPELINED["70b"]

    def share(name: str) -> float:
        return 100 * phase(
            evidence, one, "end2end", True, lambda point: point.energy_pj[name] / sum(point.energy_pj.values())
        )

    return Finding(
        {
            "watts": power_w(evidence, "end2end") / 27,
            "pim_percent": share("products"),
            "actpre_percent": share("activations"),
            "devices_used": load_70b().utilised(load_model("llama-2-70b")),
        },
        THEIRS,
        "The authors divide energy by the time of the channels alone. Over the time of a token, the "
        "units near memory included, the power is lower.",
        tolerance=0.02,
    )


def load_70b() -> CentSystem:
    system = load_system("cent", {"quirks": "cent-simulator"})
    assert isinstance(system, CentSystem)
    return system


@CHECKS.of("cent-macpj", by=Source.RUN)
def energy_of_a_product(evidence: Evidence, claim: str) -> Finding:
    """Rows of 64 column accesses in all banks, with the standby of the channel in that time."""
    front_end = StandbyFrontEnd(quirks="aim-simulator")
    p = Program()
    with p.loop(100) as row:
        p.command("MAC_ABK", opsize=64, mask=1 << 31, row=row)
    timing = front_end.time(p)
    energy = load_70b().spec.energy
    standby = 0.5 * (energy.active_standby_mw * timing.open_cycles / 1)
    bits = timing.commands["MAC16"] * 16 * 256
    value = (timing.energy_pj["total"] + standby) / bits
    return Finding(
        {"cent": value, "hbm2": None, "ratio": None},
        "gddr6-aim, 100 rows of a channel",
        "The energy of HBM2 is a number that the paper cites, so its ratio is not checked.",
        tolerance=0.1,
    )


@CHECKS.of("cent-scale", by=Source.RUN)
def scaling(evidence: Evidence, claim: str) -> Finding:
    """The best division of the devices into systems that serve requests of their own; 80 stages on each."""
    model = load_model("llama-2-70b")

    @lru_cache
    def one(devices: int) -> float:
        system = load_system("cent", {"device.count": devices, "quirks": "cent-simulator"})
        assert isinstance(system, CentSystem)
        return mean_of([rate(system.point(model, tokens)) for tokens in range(256, 4097, 256)])

    @lru_cache
    def best(devices: int) -> float:
        return max([0.0, *(one(size) + best(devices - size) for size in (16, 20, 27, 40, 80) if size <= devices)])

    return Finding(
        {"16_devices": best(16), "128_devices": best(128)},
        THEIRS,
        f"44 devices give as much as 40: {best(44):.0f} and {best(40):.0f} tokens/s.",
        tolerance=0.05,
    )


@CHECKS.of("cent-stage-time", by=Source.RUN)
def stage(evidence: Evidence, claim: str) -> Finding:
    """Weights of a block of Llama-2-70B at the peak of ten channels, and the time of a stage."""
    model, memory = load_model("llama-2-70b"), load_70b().memory
    per_s = 10 * 16 * 32 * 1e12 / (memory.parameters["nCCDL"] * memory.clock_ps)
    actual = phase(evidence, PIPELINED["70b"], "decoding", True, lambda point: point.period_s)
    return Finding(
        {"ideal_us": 2 * model.layer_parameters / per_s * 1e6, "actual_us": actual * 1e6},
        THEIRS,
        "The ideal time is that of 16-bit weights; the actual one is the mean of decoding.",
        tolerance=0.02,
    )


@CHECKS.of("cent-mac-share", by=Source.SETTING)
def share_of_products(evidence: Evidence, claim: str) -> Finding:
    model = load_model("llama-2-70b")
    products = model.layer_parameters + 2 * 4096 * model.heads * model.head_dim
    others = (
        5 * 4096 * model.heads + 10 * model.hidden_size + 5 * model.intermediate_size + 6 * model.heads * model.head_dim
    )
    return Finding({"min_percent": 100 * products / (products + others / 2)}, "operations of a block at 4096 tokens")


# Cost ------------------------------------------------------------------------------------------------------------------


@CHECKS.of("cent-tco", by=Source.RUN)
def ownership(evidence: Evidence, claim: str) -> Finding:
    costs = load_costs()
    price = sum(system_usd(32, 512).values())
    gpu = costs.system.host_usd + costs.system.gpus * costs.system.gpu_usd
    power = load_70b().spec.host.power_w + power_w(evidence, "end2end")
    return Finding(
        {
            "cent": {"owned": hourly_usd(price, power), "rental": None},
            "gpu": {"owned": hourly_usd(gpu, costs.published.gpu_power_w), "rental": None},
        },
        "prices of cent/cost.yaml; power of host and switch as the paper's total needs it",
        "Rents follow from no price.",
        tolerance=0.02,
    )


@CHECKS.of("cent-r-die", "cent-cost", by=Source.SETTING)
def cost(evidence: Evidence, claim: str) -> Finding:
    costs = load_costs()
    if claim == "cent-r-die":
        one = controller_cost()
        return Finding([one.die_usd, one.package_usd, one.nre_usd], "prices of cent/cost.yaml", tolerance=1e-3)
    price = sum(system_usd(32, 512).values())
    gpu = costs.system.host_usd + costs.system.gpus * costs.system.gpu_usd
    return Finding({"gpu": gpu, "cent": price}, "prices of cent/cost.yaml", tolerance=1e-3)


@CHECKS.of("cent-die", by=Source.SETTING)
def die(evidence: Evidence, claim: str) -> Finding:
    return Finding(controller_cost().area_mm2, "parts of the die in cent/cost.yaml", tolerance=0.01)
