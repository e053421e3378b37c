"""Tables 1, 4 and 6, sections 4 to 6: hardware, mapping, links, prices."""

from __future__ import annotations

from typing import Any

from ....constraints.cent.isa import INSTRUCTIONS, PAPER, WORD
from ....constraints.core.errors import ConfigError
from ...cent.block import BANKS, LANES, LATCHES, ROW, matrices_program
from ...cent.costs import transfers
from ...cost import controller_cost, load_costs, system_usd
from ...llm import load_model
from ...memory.aim import CHANNELS
from ...systems import load_system
from ...systems.cent import CentSystem
from ...systems.cent_orders import AuthorsOrder
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
    "cent-pu-mac",
    "cent-pu-acc",
    "cent-tflops",
    "cent-table1-aim",
    "cent-multicast",
    "cent-dp-share",
    "cent-scale-16gb",
    by=Source.SETTING,
)
def hardware(evidence: Evidence, claim: str) -> Finding:
    system = default()
    spec, memory = system.spec, system.memory
    units = spec.device.count * CHANNELS * BANKS
    access_ghz = 1 / (memory.parameters["nCCDL"] * memory.clock_ps * 1e-3)
    flops = 2 * LANES * access_ghz * 1e9
    bank = memory.rows * ROW * 2
    values: dict[str, Any] = {
        "cent-sys-dev": {
            "devices": spec.device.count,
            "channels_per_device": CHANNELS,
            "chips_per_device": CHANNELS // 2,
            "channels_per_controller": 2,
        },
        "cent-pu-mac": {"lanes": LANES, "ghz": access_ghz, "gflops": flops * 1e-9, "format": "bf16"},
        "cent-pu-acc": LATCHES,
        "cent-tflops": {
            "pim": units * flops / 2**10 * 1e-9,
            "pnm": 3 * spec.pnm.units * spec.pnm.lanes * spec.pnm.clock_ghz * spec.device.count / 2**10,
        },
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
        "cent-dp-share": "bf16",
        "cent-scale-16gb": 2 * units * bank / GIB,
    }
    why = "The paper's prefix is 1024." if claim == "cent-tflops" else ""
    return Finding(values[claim], "cent.yaml and gddr6-aim", why, tolerance=0.01)


@CHECKS.of("cent-dvcount", "cent-isa", by=Source.SETTING)
def instructions(evidence: Evidence, claim: str) -> Finding:
    """Words and instructions. Arithmetic ones come first, then transfers."""
    names = [one.mnemonic for one in INSTRUCTIONS.values() if one.source == PAPER]
    transfers_from = names.index("SEND_CXL")
    values: dict[str, Any] = {
        "cent-dvcount": WORD.widths["DV"],
        "cent-isa": {"arithmetic": names[:transfers_from], "movement": names[transfers_from:]},
    }
    return Finding(values[claim], "presets cent of the units, words of cent_isa.py")


@CHECKS.of("cent-tp-xfer", "cent-hybrid-ex", "cent-batch", "cent-devs", "cent-workload", by=Source.SETTING)
def mapping(evidence: Evidence, claim: str) -> Finding:
    model = load_model("llama-2-70b")
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
    assert isinstance(shared, CentSystem) and isinstance(shared.order, AuthorsOrder)
    others = shared.front_end.time(matrices_program(shared.order.mapping(model, 1)))
    return Finding(
        set(others.stages) == {"gemv_wq", "gemv_wk", "gemv_wv", "gemv_wo", "gemv_w1_af", "gemv_w3", "gemv_w2"},
        "stages of the program of the devices beside the first",
    )


@CHECKS.of("cent-cost-parts", by=Source.SETTING)
def prices(evidence: Evidence, claim: str) -> Finding:
    costs, price = load_costs().system, system_usd(32, 512)
    return Finding(
        {
            "host_cpu": price["host"],
            "gddr6_pim": price["memory"],
            "cxl_controllers": price["controllers"],
            "switch": price["switch"],
            "gpus": costs.gpus * costs.gpu_usd,
        },
        "cent/cost.yaml",
        f"A controller costs {controller_cost().usd:.2f} $.",
        tolerance=0.001,
    )


@CHECKS.of("cent-mac-cur", by=Source.SETTING)
def power(evidence: Evidence, claim: str) -> Finding:
    """A read takes 1.25 ns at its current, a product of all banks 1 ns at its own."""
    commands = default().memory.commands
    return Finding(commands["MAC16"].energy_pj["cell"] / (commands["RD"].energy_pj["cell"] / 1.25), "gddr6-aim")
