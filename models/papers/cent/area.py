"""Section 6 and Table 5: area and paths of the controller's units, from their synthesis."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ....constraints.cent import cxl_port as cent_cxl_port
from ....constraints.cent import decoder as cent_decoder
from ....constraints.cent import pnm as cent_pnm
from ....constraints.cent import riscv as cent_riscv
from ...cost import PUBLISHED, ProcessClock, clock_in_process, load_costs, logic_area, unit_area
from ..category import Source
from ..difference import Difference
from ..evidence import Evidence, Finding
from ..verdict import Judgement
from .common import CHECKS

#: Units of the controller, and the process of Table 5.
UNITS, PROCESS, NODE = (cent_pnm.UNIT, cent_riscv.UNIT, cent_decoder.UNIT, cent_cxl_port.UNIT), "logic-28", "28nm"


def syntheses(evidence: Evidence) -> dict[str, Mapping[str, Any]]:
    """Results of the synthesis of each unit's preset ``cent``."""
    return {unit.name: evidence.record(unit.name, "cent", unit.presets["cent"], "synth").results for unit in UNITS}


def logic_mm2(gates: float) -> float:
    """Area of gates at the middle of the band."""
    return math.sqrt(math.prod(logic_area(gates, NODE)))


def parts_mm2(found: Mapping[str, Mapping[str, Any]], ports: int | None = None) -> dict[str, float]:
    """Area by the parts of Table 5, with memories of so many ports or of their own."""
    areas = {name: unit_area(results, NODE, NODE, ports=ports) for name, results in found.items()}
    pnm, decoder = areas["cent-pnm"], areas["cent-decoder"]
    engines = sum(
        part["count"] * part["area_ge"] for part in found["cent-pnm"]["parts"] if part["module"] != "cent_pnm"
    )
    parts = {
        "instr_buffer": decoder.memories_mm2,
        "shared_buffer": pnm.memories_mm2,
        "accelerators": logic_mm2(engines),
        "riscv": areas["cent-riscv"].mm2,
        "others": logic_mm2(pnm.logic_ge - engines) + logic_mm2(decoder.logic_ge) + areas["cent-cxl-port"].mm2,
    }
    return parts | {"total": sum(parts.values())}


def slowest(evidence: Evidence, process: str) -> tuple[str, ProcessClock]:
    """The unit with the longest path, in a process."""
    clocks = {
        name: clock_in_process(results["critical_path_ns"], results["fo4_ps"], 1000, process)
        for name, results in syntheses(evidence).items()
    }
    name = max(clocks, key=lambda one: clocks[one].critical_path_ns)
    return name, clocks[name]


@CHECKS.of("cent-t5", by=Source.RECORD)
def table_5(evidence: Evidence, claim: str) -> Finding:
    parts = parts_mm2(syntheses(evidence))
    return Finding(
        {name: [mm2, None] for name, mm2 in parts.items()},
        f"synthesis of {', '.join(unit.name for unit in UNITS)}, preset cent: logic and macros in {NODE}",
        "Power is not measured. Decoder, transfers of the shared buffer and CXL port are the others. Our "
        "memories have a read and a write port. With one port the total is "
        f"{parts_mm2(syntheses(evidence), 1)['total']:.2f} mm2.",
        tolerance=0.25,
    )


@CHECKS.off("cent-t5")
def two_ports(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    single = parts_mm2(syntheses(evidence), 1)["instr_buffer"]
    needed = next(one.mm2 for one in PUBLISHED if one.name.startswith("CENT instruction buffer"))
    return Difference(
        cause="design",
        number="area of the instruction buffer with two ports, since the host fills it "
        f"while the decoder reads; {single:.2f} mm2 with one",
        ours=ours["instr_buffer"][0],
        needed=needed,
        unit="mm2",
    )


@CHECKS.of("cent-rtl-28", "cent-ctrl-freq", by=Source.RECORD)
def clock(evidence: Evidence, claim: str) -> Finding:
    name, own = slowest(evidence, PROCESS if claim == "cent-rtl-28" else load_costs().controller.process)
    bare, wired = own.critical_path_ns if claim == "cent-rtl-28" else (mhz * 1e-3 for mhz in own.fmax_mhz)
    return Finding(
        wired,
        f"longest path of the units, in {name}, from a 45 nm class library to {own.logic_node}",
        f"An estimate with wires; without them it is {bare:.2f}. The delay is the one of {own.delay_node}.",
        tolerance=0.25,
    )
