"""Tables 1, 4 and 6, sections 4 to 6: hardware, mapping, links, prices."""

from __future__ import annotations

from typing import Any

from ....constraints.cent.decoder import PRESETS as DECODERS
from ....constraints.cent.isa import INSTRUCTIONS, PAPER, WORD
from ....constraints.cent.pnm import PRESETS as PNM
from ....constraints.cent.riscv import PRESETS as CORES
from ....constraints.core.errors import ConfigError
from ...cent.block import BANKS, LANES, LATCHES, ROW
from ...cent.costs import transfers
from ...cost import controller_cost, load_costs, system_usd
from ...llm import load_model
from ...memory.aim import CHANNELS
from ...systems import load_system
from ...systems.cent import CentSystem
from ..category import Source
from ..evidence import Evidence, Finding
from .common import CHECKS, PIPELINED, gpus
from .table import NAMES

GIB = 1 << 30


def default() -> CentSystem:
    system = load_system("cent")
    assert isinstance(system, CentSystem)
    return system


@CHECKS.of(
    "cent-sys-dev",
    "cent-bank-cap",
    "cent-gb",
    "cent-pu-mac",
    "cent-pu-acc",
    "cent-pnm-acc",
    "cent-pnm-red",
    "cent-pnm-exp",
    "cent-pnm-rv",
    "cent-lanes",
    "cent-timing",
    "cent-tflops",
    "cent-bw",
    "cent-cap",
    "cent-table1-aim",
    "cent-multicast",
    "cent-switch",
    "cent-dp-share",
    "cent-scale-16gb",
    by=Source.SETTING,
)
def hardware(evidence: Evidence, claim: str) -> Finding:
    system = default()
    spec, memory, p = system.spec, system.memory, system.memory.parameters
    ns = memory.clock_ps * 1e-3
    units = spec.device.count * CHANNELS * BANKS
    access_ghz = 1 / (p["nCCDL"] * ns)
    flops = 2 * LANES * access_ghz * 1e9
    bank = memory.rows * ROW * 2
    values: dict[str, Any] = {
        "cent-sys-dev": {
            "devices": spec.device.count,
            "channels_per_device": CHANNELS,
            "chips_per_device": CHANNELS // 2,
            "channels_per_controller": 2,
        },
        "cent-bank-cap": {
            "bank_mb": bank / 2**20,
            "bank_groups": memory.levels["bank_group"],
            "banks_per_group": memory.levels["bank"],
        },
        "cent-gb": ROW * 2 / 1024,
        "cent-pu-mac": {"lanes": LANES, "ghz": access_ghz, "gflops": flops * 1e-9, "format": "bf16"},
        "cent-pu-acc": LATCHES,
        "cent-pnm-acc": {"units": spec.pnm.units, "lanes": spec.pnm.lanes},
        "cent-pnm-red": {"units": spec.pnm.units, "inputs": spec.pnm.lanes},
        "cent-pnm-exp": {"units": spec.pnm.units, "lanes": spec.pnm.lanes, "taylor_order": PNM["cent-taylor"].order},
        "cent-pnm-rv": spec.pnm.cores,
        "cent-lanes": {"host": None, "device": spec.link.lanes},
        "cent-timing": {
            "tRCDRD": p["nRCDRD"] * ns,
            "tRAS": p["nRAS"] * ns,
            "tCL": p["nCL"] * ns,
            "tRCDWR": p["nRCDWR"] * ns,
            "tCCDS": p["nCCDS"] * ns,
            "tRP": p["nRP"] * ns,
        },
        "cent-tflops": {
            "pim": units * flops / 2**10 * 1e-9,
            "pnm": 3 * spec.pnm.units * spec.pnm.lanes * spec.pnm.clock_ghz * spec.device.count / 2**10,
        },
        "cent-bw": units * LANES * 2 * access_ghz / 2**10,
        "cent-cap": units * bank / GIB,
        "cent-table1-aim": {
            "mem_units": f"{CHANNELS} channels",
            "ext_tbs": None,
            "int_tbs": CHANNELS * BANKS * 32 * access_ghz / 2**10,
            "gb": CHANNELS * BANKS * bank / GIB,
            "tflops": CHANNELS * BANKS * flops / 2**10 * 1e-9,
            "ops_per_byte": flops / (32 * access_ghz * 1e9),
            "density_percent": None,
        },
        "cent-multicast": {
            "bandwidth_factor": 0.5 if spec.link.multicast else 1.0,
            "latency_factor": 2 if spec.link.multicast else 1,
        },
        "cent-switch": {"lanes": spec.link.switch_lanes, "ports": None},
        "cent-dp-share": "bf16",
        "cent-scale-16gb": 2 * units * bank / GIB,
    }
    why = {
        "cent-tflops": "The paper's prefix is 1024.",
        "cent-bw": "The paper's prefix is 1024.",
        "cent-pnm-exp": "The order is the one of the preset cent-taylor; the default is within 1 ulp.",
    }.get(claim, "")
    return Finding(values[claim], "cent.yaml and gddr6-aim", why, tolerance=0.01)


@CHECKS.of("cent-sb", "cent-ib", "cent-rv-ib", "cent-dvcount", "cent-isa", by=Source.SETTING)
def units(evidence: Evidence, claim: str) -> Finding:
    """Sizes of the generated units, presets ``cent``, and instructions. Arithmetic ones come first, then transfers."""
    pnm, names = PNM["cent"], [one.mnemonic for one in INSTRUCTIONS.values() if one.source == PAPER]
    transfers_from = names.index("SEND_CXL")
    values: dict[str, Any] = {
        "cent-sb": {
            "kb": pnm.gpr_bytes / 1024,
            "slots": pnm.registers,
            "slot_bits": 8 * pnm.gpr_bytes // pnm.registers,
        },
        "cent-ib": DECODERS["cent"].buffer_bytes / 2**20,
        "cent-rv-ib": CORES["cent"].memory_bytes / 1024,
        "cent-dvcount": WORD.widths["DV"],
        "cent-isa": {"arithmetic": names[:transfers_from], "movement": names[transfers_from:]},
    }
    return Finding(values[claim], "presets cent of the units, words of cent_isa.py")


@CHECKS.of(
    "cent-pp-xfer", "cent-tp-xfer", "cent-hybrid-ex", "cent-batch", "cent-devs", "cent-workload", by=Source.SETTING
)
def mapping(evidence: Evidence, claim: str) -> Finding:
    model = load_model("llama-2-70b")
    if claim == "cent-pp-xfer":
        return Finding(2 * model.hidden_size / 1024, "hidden size of Llama-2-70B")
    if claim == "cent-tp-xfer":
        link = default().spec.link
        paper, full = (
            transfers(link.model_copy(update={"accounting": name}), model, 32, 32, True, False).payload_bytes / 1024
            for name in ("paper", "gathers")
        )
        return Finding(
            paper,
            "four broadcasts and two gathers, 32 devices",
            f"With a gather after every product there are {full:.0f} KiB. The paper does not list its terms.",
        )
    if claim == "cent-hybrid-ex":
        system = default().requested(8, 4)
        return Finding({"tp": system.tp, "pp": system.count(model)}, "cent --split 8x4")
    if claim == "cent-batch":
        return Finding({f"llama2-{key}": one.pipeline for key, one in PIPELINED.items()}, "a request for each block")
    if claim == "cent-devs":
        return Finding(
            {
                "gpus": {key: gpus().gpus[NAMES[one.model]] for key, one in PIPELINED.items()},
                "cxl_devices": {key: one.devices for key, one in PIPELINED.items()},
            },
            "configurations of the table",
        )
    return Finding({"prefill": 512, "decode": 4096 - 512}, "positions of the table")


@CHECKS.of("cent-pp-nosplit", by=Source.SETTING)
def whole(evidence: Evidence, claim: str) -> Finding:
    try:
        default().requested(2, 32)
    except ConfigError:
        return Finding(True, "a split that needs more whole devices than there are is refused")
    return Finding(False, "a split that needs more whole devices than there are is accepted")


@CHECKS.of("cent-nobatch", "cent-attn-master", by=Source.RUN)
def rules(evidence: Evidence, claim: str) -> Finding:
    model, system = load_model("llama-2-7b"), load_system("cent", {"device.count": 8, "quirks": "cent-simulator"})
    assert isinstance(system, CentSystem)
    if claim == "cent-nobatch":
        import numpy as np

        one, two = (float(system.decode_step(model, batch, np.array([256])).total_s[0]) for batch in (32, 64))
        return Finding(abs(two - 2 * one) < 1e-9, "64 requests in 32 stages take twice as long as 32")
    shared = load_system(
        "cent", {"device.count": 8, "parallelism.tensor": 8, "parallelism.pipeline": 1, "quirks": "cent-simulator"}
    )
    assert isinstance(shared, CentSystem)
    _, others, _ = shared._fixed(model)
    return Finding(
        others is not None
        and set(others.stages) == {"gemv_wq", "gemv_wk", "gemv_wv", "gemv_wo", "gemv_w1_af", "gemv_w3", "gemv_w2"},
        "stages of the program of the devices beside the first",
    )


@CHECKS.of("cent-elec", "cent-cost-parts", "cent-wafer", "cent-nre", "cent-pkg", "cent-gpuprice", by=Source.SETTING)
def prices(evidence: Evidence, claim: str) -> Finding:
    costs = load_costs()
    price = system_usd(32, 512)
    values: dict[str, Any] = {
        "cent-elec": costs.operation.usd_per_kwh,
        "cent-cost-parts": {
            "host_cpu": price["host"],
            "gddr6_pim": price["memory"],
            "cxl_controllers": price["controllers"],
            "switch": price["switch"],
            "gpus": costs.system.gpus * costs.system.gpu_usd,
        },
        "cent-wafer": {"usd": costs.controller.wafer_usd, "defects_per_mm2": costs.controller.defects_per_mm2},
        "cent-nre": costs.nre.volume,
        "cent-pkg": 100 * costs.controller.package_share,
        "cent-gpuprice": costs.system.gpu_usd,
    }
    why = "" if claim != "cent-cost-parts" else f"A controller costs {controller_cost().usd:.2f} $."
    return Finding(values[claim], "cent/cost.yaml", why, tolerance=0.001)


@CHECKS.of("cent-pwr-mc", "cent-pwr-rv", "cent-mac-cur", by=Source.SETTING)
def power(evidence: Evidence, claim: str) -> Finding:
    energy, memory = default().spec.energy, default().memory
    if claim == "cent-mac-cur":
        # A read takes 1.25 ns at its current, a product of all banks 1 ns at its own.
        ratio = memory.commands["MAC16"].energy_pj["cell"] / (memory.commands["RD"].energy_pj["cell"] / 1.25)
        return Finding(ratio, "gddr6-aim")
    if claim == "cent-pwr-rv":
        return Finding(
            energy.core_mw,
            "cent.yaml: a core at work, as in the authors' scripts",
            "The paper states 250 mW a core in section 6 and 190 mW for eight in Table 5.",
        )
    return Finding(
        energy.controller_request_mw + energy.controller_command_mw,
        "cent.yaml: accesses and commands of one clock",
        "The authors' scripts charge 267.7 mW for accesses and 381.0 mW for commands, halved.",
        tolerance=0.05,
    )
