"""Put tables into the pages: tables that follow from the contracts of units, and measured tables.

Usage::

    .venv/bin/python tools/unit_tables.py                 every table (minutes: synthesis of several configurations)
    .venv/bin/python tools/unit_tables.py cycles errors   only these tables
    .venv/bin/python tools/unit_tables.py contract        tables of contracts and commands, and the block diagrams
    .venv/bin/python tools/unit_tables.py --print cycles  on standard output instead

A table stands in a page between `<!-- table NAME -->` and `<!-- end -->`. `bankside/pages/unit_page.py` makes the tables of
the contracts. `demo` is taken from out/demo/results.json.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bankside.constraints.aim.encoding import COMMANDS, OPERANDS, DispatchError, Host, ProgramEncoding, Slot
from bankside.constraints.aim.hub import PRESETS as HUBS
from bankside.constraints.arith.geometry import AlignedWindow, ExpTable
from bankside.constraints.arith.softmax import INF2_SOFTMAX, INF2_SOFTMAX_FP32
from bankside.constraints.cent.isa import INSTRUCTIONS, WORD, DecodeError
from bankside.constraints.cent.pnm import PRESETS as PNMS
from bankside.constraints.core.errors import BanksideError
from bankside.constraints.core.formats import FP16
from bankside.constraints.core.records import Kind
from bankside.constraints.core.registry import UNITS
from bankside.constraints.core.workspace import write_files
from bankside.constraints.libraries import macro_family
from bankside.constraints.lolpim.dispatcher import PRESETS as DISPATCHERS
from bankside.constraints.memory import load_memory
from bankside.constraints.pam.interface import SIDES, MemorySide
from bankside.constraints.pam.pu import PRESETS, PamPuConfig, Step
from bankside.constraints.pam.ru import PRESETS as RU_PRESETS
from bankside.constraints.pam.ru import PamRuConfig
from bankside.constraints.starc.attention import UPDATE
from bankside.cosim.aim import hub as pim_hub
from bankside.cosim.pam import ru as pam_ru
from bankside.cosim.pam.pu import KEY, VALUE, VALUE_FIRST, random_episode, simulate
from bankside.evidence import measure
from bankside.evidence.records import RecordFolder
from bankside.hardware import generate
from bankside.hardware.selection import Selection, select
from bankside.models.aim.hub import layer_norm
from bankside.models.aim.hub import softmax as hub_softmax
from bankside.models.cost import (
    buffer_cost,
    load_nodes,
    logic_area,
    process_clock,
    register_ports,
    second_opinion,
    unit_area,
)
from bankside.models.cost.memories import banked, macro_ports
from bankside.models.memory import time_program
from bankside.models.numerics import from_float64, to_float64
from bankside.models.numerics.softmax import softmax_parts
from bankside.models.pam.program import attention_program
from bankside.models.pam.pu import attention, merge
from bankside.pages.block_diagram import block_diagram
from bankside.pages.unit_page import MARK, areas, contract_tables, fill, table
from bankside.shell.reference import command_tables

ROOT = Path(__file__).resolve().parent.parent
PAGES = (
    "README.md",
    *dict.fromkeys(unit.page for unit in UNITS.values()),
    "docs/numerics.md",
    "docs/synthesis.md",
    "docs/cent/system.md",
    "docs/inf2/system.md",
)

TOKENS = (1, 17, 512, 4096)
DIMENSIONS = (64, 80, 96, 128, 160, 192, 256)
QUERIES = 8
STEPS_PER_FIGURE = 64
#: Density penalty of the DRAM process, published area of one unit (PAM section 5.2, Table 2; for the SSD only 64 PUs, 8 RUs
#: and a buffer together are published, 8.16 mm2).
PROCESSES = {"pam-hbm": (10, 0.13, "0.13"), "pam-ddr": (10, 0.46, "0.46"), "pam-ssd": (1, 8.16 / 64, "below 0.128")}
#: The same for one reduction unit.
RU_PROCESSES = {"pam-hbm": (10, 0.18, "0.18"), "pam-ddr": (10, 0.68, "0.68")}
#: Banks of the hub's registers that the page compares, and presets that differ in them alone.
HUB_BANKS = (8, 16)
HUB_MEMORIES = ("lol-pim-two-ported", "lol-pim")


def counts(selection: Selection, cases: Sequence[Sequence[Step]]) -> list[dict[str, Any]]:
    """Simulate one episode per case with a beat offered at every clock; the counts of each episode."""
    config: Any = selection.config
    rng = np.random.default_rng(1)
    outcome = simulate(config, generate.verilog(selection), [random_episode(config, list(case), rng) for case in cases])
    if outcome.mismatches:
        raise SystemExit(f"{selection.label}: {outcome.first_mismatch}")
    out = []
    for log in outcome.run.epochs:
        moved, stalled = log.moved["kv"], log.stalled["kv"]
        cycles = log.end_cycle - int(log.first["kv"][moved > 0].min()) + 1
        out.append(
            {
                "beats": int(moved.sum()),
                "cycles": cycles,
                "utilisation": f"{moved.sum() / cycles:.4f}",
                "key_stalls": int(stalled[KEY]),
                "value_stalls": int(stalled[VALUE]),
                "softmax": int(stalled[VALUE_FIRST]),
                "drain": log.end_cycle - int(log.last["kv"][moved > 0].max()),
            }
        )
    return out


#: Presets whose steps have one query.
SINGLE = [name for name, config in PRESETS.items() if config.queries == 1]
#: The preset that others hold several queries of, and these.
SHARING = ["pam-hbm", *(name for name in PRESETS if name not in SINGLE)]


def preset(name: str) -> Selection:
    return select("pam-pu", preset=name)


def cycles() -> str:
    rows = []
    for name in SINGLE:
        for tokens, c in zip(TOKENS, counts(preset(name), [[Step(tokens, 128)] for tokens in TOKENS]), strict=True):
            rows.append([name, tokens, *c.values()])
    return table(
        [
            "preset",
            "tokens",
            "beats = ideal cycles",
            "cycles",
            "utilisation",
            "stalls in K",
            "stalls in V",
            "waiting for softmax",
            "drain",
        ],
        rows,
    )


def dimensions() -> str:
    columns = [counts(preset(name), [[Step(512, d)] for d in DIMENSIONS]) for name in SINGLE]
    return table(
        ["head dimension", *SINGLE],
        [
            [
                d,
                *(
                    f"{c[row]['utilisation']}, {c[row]['key_stalls'] + c[row]['value_stalls']}, {c[row]['softmax']}"
                    for c in columns
                ),
            ]
            for row, d in enumerate(DIMENSIONS)
        ],
    )


def groups() -> str:
    rows = []
    for name in ("pam-hbm", "pam-ddr"):
        for tokens in (8, 17, 512):
            chained = [Step(tokens, 128, number < QUERIES - 1) for number in range(QUERIES)]
            both = counts(preset(name), [[Step(tokens, 128)] * QUERIES, chained])
            rows.append([name, tokens, *(c[key] for c in both for key in ("cycles", "utilisation", "softmax"))])
    return table(
        [
            "preset",
            "tokens",
            "`more` 0: cycles",
            "utilisation",
            "waiting for softmax",
            "`more` 1: cycles",
            "utilisation",
            "waiting for softmax",
        ],
        rows,
    )


def shared() -> str:
    """One step of queries that share K and V, for every number of queries that the preset takes."""
    rows = []
    for name in SHARING:
        numbers = [n for n in (1, 2, 3, 4, 8) if n <= PRESETS[name].queries]
        for tokens in (17, 512):
            found = counts(preset(name), [[Step(tokens, 128, queries=n)] for n in numbers])
            for n, c in zip(numbers, found, strict=True):
                ideal = c["beats"] * PRESETS[name].burst_clocks(n)
                rows.append(
                    [
                        name,
                        tokens,
                        n,
                        c["beats"],
                        ideal,
                        c["cycles"],
                        f"{ideal / c['cycles']:.4f}",
                        f"{c['beats'] / c['cycles']:.4f}",
                    ]
                )
    return table(
        ["preset", "tokens", "queries", "bursts", "ideal cycles", "cycles", "multipliers used", "bursts per clock"],
        rows,
    )


def shared_pace() -> str:
    """The measured step of the bench with data at the cycles of the memory."""
    rows = []
    for name in SHARING:
        r = _measured(preset(name), "sim")
        m, queries = r["memory_timing"], PRESETS[name].queries
        rows.append(
            [
                name,
                queries,
                m["cycles"],
                f"{m['time_ns']:.0f}",
                f"{m['time_ns'] / queries:.0f}",
                f"{m['utilisation']:.4f}",
                f"{m['burst_utilisation']:.4f}",
                f"{m['energy_pj'] / queries / 1e6:.1f}",
            ]
        )
    return table(
        [
            "preset",
            "queries",
            "cycles",
            "time, ns",
            "time per query, ns",
            "multipliers used",
            "bursts used",
            "memory energy per query and channel, µJ",
        ],
        rows,
    )


def shared_memory() -> str:
    """Time of the memory per query if it waits for a unit of some multipliers per lane: a step of 4,096 tokens."""

    def nanoseconds(config: PamPuConfig, memory: str, queries: int, multipliers: int, limit: bool) -> float:
        device = load_memory(memory)
        clocks = -(-queries // multipliers) * device.column_bytes / config.beat_bytes
        cycles = int(np.ceil(clocks / config.clock_mhz * 1e6 / device.clock_ps - 1e-9))
        program = attention_program(config, device, [Step(4096, 128)], burst_cycles=cycles)
        return float(time_program(program, device, refresh=False, power_limit=limit).time_ns) / queries

    rows: list[list[Any]] = []
    for memory, name, numbers in (("hbm3-5.2", "pam-hbm", (4, 6, 8)), ("ddr4-3200", "pam-ddr", (2, 4, 8))):
        for queries in numbers:
            found = []
            for limit in (True, False):
                times = [nanoseconds(PRESETS[name], memory, queries, m, limit) for m in (1, 2, 4)]
                found.append([f"{time / 1e3:.1f} ({times[0] / time:.2f})" for time in times])
            states = {"on": found[0], "off": found[1]} if found[0] != found[1] else {"on or off": found[0]}
            rows += [[name, memory, state, queries, *times] for state, times in states.items()]
    return table(["lanes and clock of", "memory", "power limit", "queries", "1 multiplier per lane", "2", "4"], rows)


def shared_area() -> str:
    rows, first = [], 0.0
    for name in SHARING:
        r, queries = _measured(preset(name), "synth"), PRESETS[name].queries
        first = first or r["area_ge"]
        growth = f"{(r['area_ge'] - first) / (queries - 1) / 1e3:.1f}" if queries > 1 else ""
        rows.append([name, queries, *_area(r), r["memory_bits"], r["flip_flops"], f"{r['fmax_mhz']:.0f}", growth])
    return table(
        [
            "preset",
            "queries",
            "area, kGE",
            "flip-flops, kGE",
            "logic, kGE",
            "memories, kGE (estimate)",
            "memory bits",
            "flip-flops",
            "frequency, MHz",
            "growth per query, kGE",
        ],
        rows,
    )


def outputs() -> str:
    """Stalls in V where every V beat finishes an output beat: tiles of one token."""
    rows = []
    for name, places in (("pam-hbm", (0, 4)), ("pam-ddr", (0, 4, 6, 7, 8))):
        for skid in places:
            selection = select("pam-pu", preset=name, sets=[f"output_skid_beats={skid}"])
            config: Any = selection.config
            found = counts(selection, [[Step(1, d)] for d in (64, 128, 160, 256)])
            rows.append([name, config.output_beats, skid, *(c["value_stalls"] for c in found)])
    return table(
        ["preset", "output beats in the buffer", "`output_skid_beats`", "head dimension 64", "128", "160", "256"], rows
    )


def memories() -> str:
    rows = []
    for name, memory in (("pam-hbm", "hbm3-5.2"), ("pam-ddr", "ddr4-3200")):
        r = measure.simulate(preset(name), memory=memory, tokens=512, head_dim=128, seed=1)
        m = r["memory_timing"]
        rows.append(
            [
                name,
                m["memory"],
                m["cycles"],
                f"{m['time_ns']:.0f}",
                f"{m['memory_time_ns']:.0f}",
                f"{m['utilisation']:.4f}",
                m["stall_cycles"],
                m["exposed_softmax_cycles"],
            ]
        )
    return table(
        ["preset", "memory", "cycles", "time, ns", "memory alone, ns", "utilisation", "stalls", "waiting for softmax"],
        rows,
    )


def errors() -> str:
    return table(
        ["preset", "tokens", "largest", "root mean square", "best possible: largest", "root mean square"],
        [[name, tokens, *_errors(PRESETS[name], tokens)] for name in ("pam-hbm", "pam-ddr") for tokens in TOKENS],
    )


def formats() -> str:
    base = PRESETS["pam-hbm"].model_dump()
    rows = []
    for changes in (
        {},
        {"score_format": "fp16"},
        {"acc_format": "fp16"},
        {"acc_format": "fp16", "score_format": "fp16"},
        {"guard_bits": 1},
        {"tile_tokens": 128},
        {"format": "bf16"},
        {"format": "bf16", "acc_format": "bf16", "score_format": "bf16"},
    ):
        config = PamPuConfig(**(base | changes))
        rows.append([", ".join(f"`{k}={v}`" for k, v in changes.items()) or "`pam-hbm`", *_errors(config, 512)])
    return table(["configuration", "largest", "root mean square", "best possible: largest", "root mean square"], rows)


def _errors(config: PamPuConfig, tokens: int) -> list[str]:
    """Errors of merged, normalised outputs and of the correctly rounded output, against binary64."""
    rng = np.random.default_rng(1)
    unit, best = [], []
    for _ in range(STEPS_PER_FIGURE):
        episode = random_episode(config, [Step(tokens, 128)], rng)
        reference = attention(config, episode.q[0], episode.k[0], episode.v[0])
        _, total, output = merge(config, episode.partials(config)[0])
        unit.append(output / total - reference)
        best.append(to_float64(from_float64(reference, config.io), config.io) - reference)
    return [text for e in (np.abs(unit), np.abs(best)) for text in (f"{e.max():.1e}", f"{np.sqrt(np.mean(e**2)):.1e}")]


def _synthesised(selection: Selection, effort: str = "balanced") -> dict[str, Any]:
    return measure.synthesise(selection, effort=effort)


def synthesis() -> str:
    rows = []
    for name in PRESETS:
        r = _synthesised(preset(name))
        rows.append(
            [
                name,
                *_area(r),
                r["memory_bits"],
                r["flip_flops"],
                f"{r['area_um2']:.0f}",
                f"{r['critical_path_ns']:.3f}",
                f"{r['critical_path_ns'] * 1e3 / r['fo4_ps']:.0f}",
                f"{r['fmax_mhz']:.0f}",
                f"{r['target_clock_mhz']:g}",
            ]
        )
    return table(
        [
            "preset",
            "area, kGE",
            "flip-flops, kGE",
            "logic, kGE",
            "memories, kGE (estimate)",
            "memory bits",
            "flip-flops",
            "area, µm²",
            "critical path, ns",
            "in FO4",
            "frequency, MHz",
            "target, MHz",
        ],
        rows,
    )


def _area(r: dict[str, Any]) -> list[str]:
    return [f"{r[key] / 1e3:.1f}" for key in ("area_ge", "sequential_ge", "combinational_ge", "memory_ge_estimate")]


def variants() -> str:
    rows = []
    for sets, effort in (
        ((), "balanced"),
        ((), "area"),
        (("acc_format=fp16",), "balanced"),
        (("acc_format=fp16", "score_format=fp16"), "balanced"),
        (
            (
                "acc_format=fp16",
                "score_format=fp16",
                "score_tiles=1",
                "score_storage=buffer",
                "query_bytes=256",
                "buffer_bytes=576",
            ),
            "area",
        ),
    ):
        r = _synthesised(select("pam-pu", sets=sets), effort)
        rows.append([", ".join(f"`{s}`" for s in sets) or "`pam-hbm`", effort, *_area(r), f"{r['fmax_mhz']:.0f}"])
    return table(
        ["configuration", "effort", "area, kGE", "flip-flops", "logic", "memories (estimate)", "frequency, MHz"], rows
    )


def area() -> str:
    return _processes({name: _synthesised(preset(name)) for name in PROCESSES}, PROCESSES)


def _processes(results: dict[str, dict[str, Any]], processes: dict[str, tuple[int, float, str]]) -> str:
    """One unit in the paper's processes: gate equivalents times NAND2, over placement, times the DRAM penalty."""
    nodes = load_nodes()
    fill = nodes.placement_utilisation
    rows = []
    for name, (penalty, published, text) in processes.items():
        node = nodes.processes[nodes.units["pam-pu"][name]].logic_node
        ge = results[name]["area_ge"]
        nand2 = nodes.nodes[node].nand2_um2
        low, high = (ge * um2 * penalty * 1e-6 for um2 in (nand2.low / fill.high, nand2.high / fill.low))
        rows.append(
            [
                name,
                f"{ge / 1e3:.1f}",
                node,
                f"{nand2.low:g} to {nand2.high:g}",
                penalty,
                f"{low:.3f} to {high:.3f}",
                text,
                f"{low / published:.2f} to {high / published:.2f}",
            ]
        )
    return table(
        ["preset", "kGE", "logic process", "its NAND2, µm²", "DRAM penalty", "this unit, mm²", "PAM, mm²", "ratio"],
        rows,
    )


def windows() -> str:
    """Geometry of the accumulators of the presets and of some other formats."""
    rows = []
    for label, changes in (
        ("`pam-hbm`", {}),
        ("`pam-ddr`", PRESETS["pam-ddr"].model_dump()),
        ("`acc_format=fp16`", {"acc_format": "fp16"}),
        ("`format=bf16`", {"format": "bf16"}),
    ):
        c = PamPuConfig(**(PRESETS["pam-hbm"].model_dump() | changes))
        for what, terms, result in (("output element", c.tile_tokens, c.io), ("score", c.max_head_dim + 1, c.score)):
            w = AlignedWindow(c.io, c.acc.precision, c.guard_bits, terms, result)
            rows.append([label, what, w.magnitude_bits, w.left, terms, w.width, w.unit, w.floor, result.name])
    return table(["configuration", "accumulator of", "W", "left", "terms", "bits", "unit", "floor", "rounded to"], rows)


def exponential() -> str:
    rows = []
    for name in ("fp16", "bf16"):
        t = ExpTable(PamPuConfig(format=name).io)
        rows.append(
            [
                name,
                t.integer_bits,
                t.fraction_bits,
                f"{t.constant} / 2^{t.constant_bits}",
                f"{1 << t.index_bits} x {t.value_bits + 1} bits",
            ]
        )
    return table(["format of P", "integer bits", "fraction bits", "log2 e", "table"], rows)


def demo() -> str:
    from rich.console import Console

    from bankside.pages.demo import answer
    from bankside.results.schemas import result_of
    from bankside.results.text import cosimulation_lines, summary_table
    from bankside.studies.decode import decode_text

    path = ROOT / "out" / "demo" / "results.json"
    if not path.is_file():
        raise SystemExit(f"{path}: not there; `make demo` writes it")
    data = json.loads(path.read_text())
    out = io.StringIO()
    Console(file=out, width=104, color_system=None).print(summary_table(data))
    text = "\n".join(line.rstrip() for line in out.getvalue().splitlines())
    return "\n".join(
        [
            "```text",
            *answer(data["crossover"]),
            text,
            *cosimulation_lines(data["sim"]),
            *decode_text(result_of(data["decoding"])).splitlines(),
            "```",
        ]
    )


def operators() -> str:
    """The published presets of every operator and two more: area and delay in the generic library, and errors."""
    return _operators(library="generic")


def operators_nangate45() -> str:
    """The same in Nangate's library, whose Liberty file $BANKSIDE_NANGATE45 names."""
    path = os.environ.get("BANKSIDE_NANGATE45")
    if not path:
        raise SystemExit("operators_nangate45: $BANKSIDE_NANGATE45 must name the Liberty file")
    return _operators(liberty=path)


def _operators(**library: str) -> str:
    rows = []
    for unit in (u for u in UNITS.values() if u.name.startswith("fp-")):
        for name in (*unit.published_presets, *{"fp-fma": ("fp16-fp32",), "fp-dot": ("fp16",)}.get(unit.name, ())):
            config: Any = unit.presets[name]
            if config.depth:
                continue  # among the pipelined ones
            r = measure.synthesise(select(unit.name, preset=name), effort="area", **library)
            rows.append(
                [
                    f"`{unit.name}`",
                    name,
                    f"{r['area_ge']:.0f}",
                    f"{r['critical_path_ns']:.2f}",
                    *_accuracy(unit.name, config),
                ]
            )
    return table(["unit", "preset", "GE", "ns", "max ulp", "mean ulp", "not correctly rounded"], rows)


def _accuracy(name: str, config: Any) -> list[str]:
    """Largest and mean error in ulp, and the fraction that is not correctly rounded."""
    import mpmath

    from bankside.models.numerics import exact_function, ulp_errors

    functions = {
        "fp-exp": mpmath.exp,
        "fp-log": mpmath.log,
        "fp-recip": lambda x: 1 / x,
        "fp-rsqrt": lambda x: 1 / mpmath.sqrt(x),
    }
    if name in ("fp-mul", "fp-add", "fp-fma", "fp-div", "fp-sqrt", "fp-convert"):
        return ["0.5", "", "0"]
    if name not in functions:
        return ["", "", ""]
    model = UNITS[name].load_model()
    inputs = None
    if config.fmt.width > 16:
        inputs = np.sort(np.random.default_rng(1).integers(0, 1 << config.fmt.width, 50_000))
    e = ulp_errors(lambda a: model(config, a)[0], config.fmt, exact_function(functions[name]), inputs=inputs)
    return [
        f"{e['max_ulp']:.3g}",
        f"{e['mean_ulp']:.3g}",
        f"{e['not_correctly_rounded']:.1%}" + ("" if inputs is None else " (sample)"),
    ]


def operators_pipelined() -> str:
    rows = []
    for unit, preset, sets in (
        ("fp-mul", "fp16", ("depth=2",)),
        ("fp-add", "fp16", ("depth=2",)),
        ("fp-add", "fp16", ("depth=3",)),
        ("fp-fma", "fp16", ("depth=3",)),
        ("fp-fma", "fp16-fp32", ("depth=4",)),
        ("fp-exp", "fp16", ("depth=3",)),
        ("fp-log", "fp16", ("depth=4",)),
        ("fp-recip", "fp16", ("depth=2",)),
        ("fp-div", "fp16", ("depth=6",)),
        ("fp-div", "fp16-iterative", ()),
        ("fp-sqrt", "fp16", ("depth=6",)),
        ("fp-sqrt", "fp16-iterative", ()),
        ("fp-dot", "fp16-accumulate", ("depth=5",)),
    ):
        r = measure.synthesise(select(unit, preset=preset, sets=sets), effort="area")
        rows.append(
            [
                f"`{unit}`",
                preset + "".join(f", `{s}`" for s in sets),
                f"{r['combinational_ge']:.0f}",
                f"{r['sequential_ge'] + r['memory_ge_estimate']:.0f}",
                f"{r['register_fmax_mhz'] or 0:.0f}",
            ]
        )
    return table(["unit", "configuration", "logic, GE", "registers, GE", "register to register, MHz"], rows)


def operators_fpga() -> str:
    """Resources on UltraScale+, each operator for gates and for the FPGA."""
    rows = []
    for unit, preset, sets in (
        ("fp-mul", "fp16", ()),
        ("fp-fma", "fp16", ()),
        ("fp-dot", "fp16-accumulate", ("lanes=4",)),
    ):
        for fabric in ("asic", "xilinx"):
            r = measure.synthesise_fpga(select(unit, preset=preset, sets=[*sets, f"fabric={fabric}"]), fpga="xcup")
            used = r["fpga"]
            rows.append(
                [
                    f"`{unit}`",
                    preset + "".join(f", `{s}`" for s in sets),
                    f"`{fabric}`",
                    f"{used['lut']:,}",
                    f"{used['ff']:,}",
                    str(used["dsp"]),
                    str(used["carry4"]),
                    str(used["srl"] + used["lutram"]),
                    str(r["lut_levels"]),
                ]
            )
    return table(
        ["unit", "configuration", "fabric", "LUT", "flip-flops", "DSP", "CARRY4", "LUTs as memory", "LUT levels"], rows
    )


# dpa-dispatcher ---------------------------------------------------------------------------------------------------------


def _dispatcher() -> tuple[Any, ProgramEncoding]:
    config = DISPATCHERS["lol-pim"]
    return config, config.encoding


def dispatcher_words() -> str:
    """The layouts of the words; bits of a command are numbered through all its words."""
    _, encoding = _dispatcher()
    meanings = {
        "op": "operation code",
        "loops": "loops that begin here",
        "modifiers": "modifiers, behind them",
        "virtual": "`row` is virtual",
        **OPERANDS,
        "by_tokens": "iterations by a request's tokens",
        "length": "lines of the body, this one included",
        "value": "iterations, or as the next three",
        "shift": "ceil(tokens / 2^shift) ...",
        "offset": "... + offset, signed",
        "target": "operand, numbered in the order above from `opsize` = 0",
        "level": f"loop, 0 the outermost; {encoding.layer_level}: the current layer; {encoding.newest_level}: the "
        "newest token",
        "stride": "signed",
    }
    own = {
        ("loop by tokens", "slot"): "slot, counted from the run's",
        ("modifier", "shift"): "by the newest token: its number, counted from 0, over 2^shift",
    }
    rows = []
    for what, layout, low in (
        ("command", encoding.command_fields, 0),
        ("loop", encoding.loop_fields, 0),
        ("loop by tokens", encoding.tokens_fields, 1 + encoding.loop_fields["length"]),
        ("modifier", encoding.modifier_fields, 0),
    ):
        for name, width in layout.items():
            rows.append(
                [
                    what,
                    f"`{name}`",
                    low if width == 1 else f"{low + width - 1}:{low}",
                    own.get((what, name)) or meanings[name],
                ]
            )
            low += width
    return table(["word", "field", "bits", "meaning"], rows)


def dispatcher_commands() -> str:
    def places(names: Any) -> str:
        return ", ".join(name if name == place else f"{name} (in `{place}`)" for name, place in names.items())

    return table(
        ["code", "command", "LoL-PIM", "operands", "may be left out"],
        [
            [what.code, f"`{name}`", what.paper, places(what.fields), places(what.optional)]
            for name, what in COMMANDS.items()
        ],
    )


def dispatcher_errors() -> str:
    return table(["code", "name", "meaning"], [[int(error), error.name, error.meaning] for error in DispatchError])


def dispatcher_registers() -> str:
    config, _ = _dispatcher()
    slot = {
        Slot.REQUEST: f"bit 31: the slot holds a request; below: its name ({config.request_bits} bits)",
        Slot.TOKENS: "its tokens, T_cur",
        Slot.BASE: "table entry of its virtual row 0",
        Slot.SIZE: "its virtual rows",
    }
    host = {
        Host.LAYER: "bits 15:0 current layer, 31:16 layers",
        Host.START: "bits 15:0 first line, 31:16 slot: starts a run",
        Host.STOP: "ends the run under way before its next line",
        Host.CLEAR: "after an error: runs may be started again",
        Host.RELEASE: "number of a slot: it holds no request any more, and its table entries are invalidated",
    }
    rows = [[f"0x{config.slot_address(0, register):x} + 4 × slot", register.name, slot[register]] for register in Slot]
    rows += [[f"0x{config.host_address(register):x}", register.name, host[register]] for register in Host]
    rows += [
        [
            f"0x{config.table_address(0):x} + entry",
            "table",
            f"bits {config.row_bits - 1}:0 physical row, bit {config.entry_bits - 1}: there is one",
        ],
        [f"0x{config.command_address(0, 0):x} + {config.line_words} × line + word", "command buffer", "a word"],
    ]
    return table(["address", "name", "data"], rows)


# pam-interface ----------------------------------------------------------------------------------------------------------


def _interfaces() -> list[Selection]:
    return [select("pam-interface", preset=name) for name in UNITS["pam-interface"].presets]


def interface_memories() -> str:
    return table(
        ["key", *SIDES, "meaning"],
        [
            [f"`{name}`", *(str(getattr(side, name)).lower() for side in SIDES.values()), field.description]
            for name, field in MemorySide.model_fields.items()
        ],
    )


def _measured(selection: Selection, kind: Kind) -> dict[str, Any]:
    """Results of the record of this configuration; measured if there is none."""
    return _results(selection, kind)


def _results(selection: Selection, kind: Kind, **workload: Any) -> dict[str, Any]:
    record = RecordFolder().find(measure.measurement_of(kind, selection, **workload))
    if record is not None:
        return record.results
    if "fpga" in workload:
        return measure.synthesise_fpga(selection, **workload)
    return measure.synthesise(selection) if kind == "synth" else measure.simulate(selection, **workload)


def interface_rates() -> str:
    rows = []
    for selection in _interfaces():
        for name, r in _measured(selection, "sim")["patterns"].items():
            rows.append(
                [
                    selection.label,
                    name,
                    r["tokens"],
                    f"{r['time_ns']:.0f}",
                    f"{r['source_own_ns']:.0f}",
                    f"{r['destination_own_ns']:.0f}",
                    f"{r['gb_per_s']:.3f}",
                    f"{r['fraction']:.3f}",
                    f"{r['first_done_ns']:.0f}",
                    f"{r['cpu_ratio']:.1f}",
                ]
            )
    return table(
        [
            "preset",
            "pattern",
            "tokens",
            "time, ns",
            "source alone, ns",
            "destination alone, ns",
            "GB/s",
            "fraction",
            "first token done, ns",
            "CPU path / interface",
        ],
        rows,
    )


def interface_quoted() -> str:
    """Against the paper's time of the CPU path, for the pattern ``sequential``."""
    return table(
        ["preset", "500 ms for 1 MiB / interface"],
        [[selection.label, f"{_measured(selection, 'sim')['cpu_quoted_ratio']:.0f}"] for selection in _interfaces()],
    )


def interface_synthesis() -> str:
    """Area and clock, and the area in the paper's process."""
    nodes, rows = load_nodes(), []
    fill = nodes.placement_utilisation
    for selection in _interfaces():
        nand2 = nodes.nodes[nodes.processes[nodes.units["pam-interface"][selection.preset]].logic_node].nand2_um2
        r = _measured(selection, "synth")
        low, high = (r["area_ge"] * um2 * 1e-6 for um2 in (nand2.low / fill.high, nand2.high / fill.low))
        rows.append(
            [
                selection.label,
                *_area(r),
                f"{r['critical_path_ns']:.3f}",
                f"{r['fmax_mhz']:.0f}",
                f"{low:.3f} to {high:.3f}",
            ]
        )
    return table(
        ["preset", "kGE", "registers", "logic", "memories (estimate)", "critical path, ns", "MHz", "mm² at 14 nm"], rows
    )


# The reduction unit ---------------------------------------------------------------------------------------------------


#: Partial results of a merge: kind of data of ``cosim.pam_ru.random_merge``, their number, and further settings.
RU_DATA = (
    ("normal", 8, {}),
    ("normal", 64, {}),
    ("equal", 64, {}),
    ("dominant", 64, {}),
    ("extreme", 64, {}),
    ("normal", 250, {"tokens": 8000}),
)


def ru_errors() -> str:
    """Normalised output against the merge of the same bits in binary64, head dimension 128."""
    rows = []
    for label, changes in (
        ("pam-hbm", {}),
        ("pam-ddr", RU_PRESETS["pam-ddr"].model_dump()),
        ("`log_format=fp32`", {"log_format": "fp32"}),
        ("`acc_format=fp16`", {"acc_format": "fp16"}),
        ("`format=bf16`, `log_format=bf16`", {"format": "bf16", "log_format": "bf16"}),
    ):
        config = PamRuConfig(**changes)
        for kind, count, more in RU_DATA:
            rng = np.random.default_rng(1)
            unit, best, logs = [], [], []
            for _ in range(16):
                share = [len(part) for part in np.array_split(np.arange(count), config.sources)]
                merge_of = pam_ru.random_merge(config, share, 128, rng, kind=kind)
                partials, result = merge_of.partials(config), merge_of.result(config)
                reference = pam_ru.merged(config, partials)
                unit.append(to_float64(result.o, config.io) - reference)
                best.append(to_float64(from_float64(reference, config.io), config.io) - reference)
                m = to_float64(partials.m, config.score)
                exact = m.max() + np.log((np.exp(m - m.max()) * to_float64(partials.l, config.acc)).sum())
                logs.append(abs(float(to_float64(result.log_sum, config.acc)) - exact))
            what = {
                "normal": "normal",
                "equal": "equal maxima",
                "dominant": "one maximum of 300",
                "extreme": "maxima of ±65504",
            }[kind] + (", 8000 tokens" if "tokens" in more else "")
            rows.append(
                [
                    label,
                    what,
                    count,
                    *(
                        text
                        for e in (np.abs(unit), np.abs(best))
                        for text in (f"{e.max():.1e}", f"{np.sqrt(np.mean(e**2)):.1e}")
                    ),
                    f"{max(logs):.1e}",
                ]
            )
    return table(
        [
            "configuration",
            "data",
            "partial results",
            "largest",
            "root mean square",
            "best possible: largest",
            "root mean square",
            "largest of m + ln l",
        ],
        rows,
    )


def ru_cycles() -> str:
    rows = []
    for name in RU_PRESETS:
        selection = select("pam-ru", preset=name)
        config: Any = selection.config
        rng = np.random.default_rng(1)
        cases = [(dim, n) for dim in (64, 128) for n in (config.sources, 4 * config.sources, 16 * config.sources)]
        merges = [
            [pam_ru.random_merge(config, pam_ru.spread_counts(config, n), dim, rng, queries=config.queries)]
            for dim, n in cases
        ]
        outcome = pam_ru.simulate(config, generate.verilog(selection), merges)
        if outcome.mismatches:
            raise SystemExit(f"{selection.label}: {outcome.first_mismatch}")
        for number, (dim, n) in enumerate(cases):
            c = outcome.episode_cycles(number)
            rows.append(
                [
                    name,
                    dim,
                    n,
                    c["ideal_cycles"],
                    c["merge_cycles"],
                    f"{c['ideal_cycles'] / c['merge_cycles']:.4f}",
                    c["drain_cycles"],
                    c["cycles"],
                    f"{c['ideal_cycles'] / c['cycles']:.4f}",
                ]
            )
    return table(
        [
            "preset",
            "head dimension",
            "partial results",
            "beats",
            "merge, clocks",
            "beats a clock",
            "drain, clocks",
            "all, clocks",
            "utilisation",
        ],
        rows,
    )


#: Configurations that are synthesised: preset, changes.
RU_MAPPED: Sequence[tuple[str, tuple[str, ...]]] = (
    *((name, ()) for name in RU_PRESETS),
    ("pam-hbm", ("acc_format=fp16",)),
    ("pam-hbm", ("exponential_units=1",)),
)


def ru_synthesis() -> str:
    selections = [select("pam-ru", preset=name, sets=sets) for name, sets in RU_MAPPED]
    return areas(
        (name + "".join(f", `{s}`" for s in sets), selection.config, _measured(selection, "synth"))
        for (name, sets), selection in zip(RU_MAPPED, selections, strict=True)
    )


def ru_area() -> str:
    return _processes({name: _measured(select("pam-ru", preset=name), "synth") for name in RU_PROCESSES}, RU_PROCESSES)


# Compositions of PAM ------------------------------------------------------------------------------------------------------

#: Simulations: unit, preset, workload.
COMPOSED: Sequence[tuple[str, str, dict[str, Any]]] = (
    ("pam-bank-group", "pam-hbm", {"tokens": 512}),
    ("pam-bank-group", "pam-ddr", {"memory": "ddr4-3200", "tokens": 512}),
    ("pam-hbm-slice", "pam-hbm", {"tokens": 2048}),
    ("pam-hbm-slice", "pam-hbm", {"tokens": 8192}),
    ("pam-hbm-slice", "pam-ddr", {"memory": "ddr4-3200", "tokens": 4096}),
    ("pam-ssd-controller", "pam-ssd", {"tokens": 2048}),
)
COMPOSITIONS = ("pam-bank-group", "pam-hbm-slice", "pam-ssd-controller", "pam-reduction-tree", "pam-tier-merge")


def composition_cycles() -> str:
    rows = []
    for unit, name, changes in COMPOSED:
        selection = select(unit, preset=name)
        workload = selection.unit.workload(**changes).model_dump()
        r = _results(selection, "sim", **workload)
        m = r["memory_timing"]
        rows.append(
            [
                f"`{unit}` {name}",
                r["units"],
                workload["tokens"],
                r["vectors"],
                r["cycles"],
                r["ideal_cycles"],
                f"{r['utilisation']:.3f}",
                r["drain_cycles"],
                workload["memory"],
                f"{m['time_ns'] / 1e3:.2f}",
                f"{m['memory_time_ns'] / 1e3:.2f}",
                f"{r['max_abs_error']:.1e}",
            ]
        )
    return table(
        [
            "unit",
            "processing units",
            "tokens",
            "beats compared",
            "clocks at full rate",
            "beats of a stream",
            "utilisation",
            "drain",
            "memory",
            "at its pace, µs",
            "memory alone, µs",
            "largest error",
        ],
        rows,
    )


def composition_synthesis() -> str:
    rows = []
    for unit in COMPOSITIONS:
        for name, config in UNITS[unit].presets.items():
            r = _measured(select(unit, preset=name), "synth")
            kinds = ", ".join(f"{part['count']} x {part['area_ge'] / 1e3:.1f}" for part in r["parts"][1:])
            rows.append(
                [
                    f"`{unit}` {name}",
                    f"{r['area_ge'] / 1e3:.0f}",
                    f"{r['memory_ge_estimate'] / 1e3:.0f}",
                    kinds,
                    f"{r['parts'][0]['area_ge'] / 1e3:.1f}",
                    f"{r['critical_path_ns']:.3f}",
                    f"{r['fmax_mhz']:.0f}",
                    f"{config.clock_mhz:g}",
                ]
            )  # type: ignore[attr-defined]
    return table(
        [
            "unit",
            "area, kGE",
            "memories of it, kGE (estimate)",
            "parts, number x kGE",
            "around them, kGE",
            "critical path, ns",
            "frequency, MHz",
            "target, MHz",
        ],
        rows,
    )


# CENT's network ---------------------------------------------------------------------------------------------------------

#: Units with devices and a host at a switch.
FABRICS = ("cent-cxl-port", "cent-cxl-switch")


def cxl_cycles() -> str:
    """Vectors of the benches with the default workload."""
    link = _simulated("cent-cxl-link")
    rows = [
        ["`cent-cxl-link`", "", "one end sends", link["cycles"], f"{link['payload_percent']:.2f} %"],
        ["`cent-cxl-link`", "", "both ends send", "", f"{link['exchange_percent']:.2f} %"],
    ]
    for unit in FABRICS:
        r = _simulated(unit)
        for text, key in (
            ("SEND_CXL", ""),
            ("a SEND_CXL for each slot", "literal_"),
            ("BCAST_CXL to all others", "broadcast_"),
            ("each device to the next one", "exchange_"),
            ("a part from each other device", "gather_"),
        ):
            share = r.get(f"{key}payload_percent")
            rows.append([f"`{unit}`", r["devices"], text, r[f"{key}cycles"], "" if share is None else f"{share:.2f} %"])
    return table(["bench", "devices", "vector of 16 KB", "clocks", "payload of the flits"], rows)


def cxl_latency() -> str:
    """Clocks of a transfer of two slots, and of a read of the host."""
    keys = {
        "send_clocks": "from SEND_CXL to the first beat",
        "switch_clocks": "switch: from last beat in to last beat out",
        "receive_clocks": "from the last beat to `received`",
        "slot_clocks": "from SEND_CXL to `received`, two lines included",
        "acknowledge_clocks": "from SEND_CXL to `acknowledged`",
        "host_read_clocks": "read of the host",
    }
    found = [_simulated(unit) for unit in FABRICS]
    return table(
        ["two slots", *(f"`{unit}`" for unit in FABRICS)],
        [[text, *(r[key] for r in found)] for key, text in keys.items()],
    )


def cxl_synthesis() -> str:
    return areas(
        (f"`{unit}` {name}", config, _measured(select(unit, preset=name), "synth"))
        for unit in ("cent-cxl-link", *FABRICS)
        for name, config in UNITS[unit].presets.items()
    )


# cent-device ------------------------------------------------------------------------------------------------------------


def device_steps() -> str:
    """Clocks and errors of the tokens that the bench decodes."""
    steps = _simulated("cent-device")["steps"]
    return table(
        [
            "tokens in the caches",
            "instructions",
            "clocks at the memory's pace",
            "of the memory's commands alone",
            "with a memory that is always ready",
            "error of the result, of its norm",
        ],
        [
            [
                step["tokens"],
                step["instructions"],
                step["cycles"],
                step["memory_cycles"],
                step["full_rate_cycles"],
                f"{step['relative_error']:.2%}",
            ]
            for step in steps
        ],
    )


#: A block for a device with CENT's width.
WIDE_BLOCK = {"hidden": 256, "head_dim": 64, "ffn": 704, "tokens": 1, "past": 95}


def device_others() -> str:
    """The last token of a block on several devices, and on wide channels; measured if there is no record."""
    from bankside.constraints.cent.device import wide

    unit, default = UNITS["cent-device"], select("cent-device")
    rows = []
    for what, selection, workload in (
        ("one small device", default, {}),
        ("two small devices", default, {"devices": 2}),
        ("one wide device", Selection(unit, None, wide(2)), WIDE_BLOCK),
    ):
        result = _results(selection, "sim", **workload)
        last = result["steps"][-1]
        rows.append(
            [
                what,
                last["tokens"],
                last["instructions"],
                last["cycles"],
                last["memory_cycles"],
                last["full_rate_cycles"],
                result["flits"],
                f"{last['relative_error']:.2%}",
                result["vectors"],
                result["mismatches"],
            ]
        )
    return table(
        [
            "devices",
            "tokens in the caches",
            "instructions of a device",
            "clocks at the memory's pace",
            "of the memory's commands alone",
            "with a memory that is always ready",
            "flits of all tokens",
            "error of the result, of its norm",
            "compared",
            "mismatches",
        ],
        rows,
    )


def device_ports() -> str:
    """Slots that pass the ports of the shared buffer in a token, beside the time of the memory's commands."""
    from bankside.constraints.aim.hub import RECEIVING, SENDING
    from bankside.constraints.cent.isa import BY_OPCODE, CentIsa, fields_of
    from bankside.constraints.cent.pnm import OPERANDS_OF
    from bankside.constraints.memory import load_memory
    from bankside.models.cent import encode_words
    from bankside.models.cent.executable import SCALARS, ExecutableBlock, memory_commands
    from bankside.models.memory.aim import FrontEnd

    device, entries, rows = load_memory("gddr6-aim"), dict.fromkeys(SCALARS, 0), []
    for name, (hidden, heads, kv_heads, ffn), channels in (
        ("Llama-2-7B", (4096, 32, 32, 11008), 8),
        ("Llama-2-7B", (4096, 32, 32, 11008), 32),
        ("Llama-2-70B", (8192, 64, 8, 28672), 10),
    ):
        program = ExecutableBlock(hidden, heads, kv_heads, 128, ffn, channels).program(4096, entries)
        columns = fields_of(encode_words(program, CentIsa()))
        commands = np.array([BY_OPCODE[code].command for code in columns["opcode"].tolist()])
        size = np.maximum(columns["OPsize"], 1)
        many = np.isin(commands, ("RD_MAC", "RD_AF"))
        results = np.where(many, np.bitwise_count(columns["CHmask"].astype(np.uint32)), 0)
        fetched = np.where(commands == "RD_SBK", size, 0)
        sent = np.where(np.isin(commands, SENDING), size, 0)
        computed = np.where(np.isin(commands, tuple(OPERANDS_OF)), size * np.where(commands == "EWADD", 2, 1), 0)
        assert set(RECEIVING) == {"RD_MAC", "RD_AF", "RD_SBK"}
        total = int((results + fetched + sent + computed).sum())
        memory = round(FrontEnd(device).time(memory_commands(program)).cycles * device.clock_ps / 1000)
        rows.append(
            [
                name,
                channels,
                int(results.sum()),
                int(fetched.sum()),
                int(sent.sum()),
                int(computed.sum()),
                total,
                memory,
                f"{total / memory:.1%}",
            ]
        )
    return table(
        [
            "model, 4096 tokens",
            "channels",
            "results of RD_MAC, RD_AF",
            "RD_SBK",
            "sent to channels",
            "PNM units",
            "clocks of all slots",
            "clocks of the memory's commands",
            "share",
        ],
        rows,
    )


def device_blocks() -> str:
    """Instructions of a block, and cycles of its memory, beside the authors' order of commands."""
    from bankside.constraints.cent.isa import WORD_BYTES, CentIsa
    from bankside.models.cent import BlockMapping, block_program, encode_words
    from bankside.models.cent.executable import SCALARS, ExecutableBlock, memory_commands
    from bankside.models.memory.aim import FrontEnd

    rows, memory, entries = [], FrontEnd("gddr6-aim", quirks="aim-simulator"), dict.fromkeys(SCALARS, 0)
    for name, (hidden, heads, kv_heads, ffn), channels in (
        ("Llama-2-7B", (4096, 32, 32, 11008), 8),
        ("Llama-2-70B", (8192, 64, 8, 28672), 10),
    ):
        block, theirs = (
            ExecutableBlock(hidden, heads, kv_heads, 128, ffn, channels),
            BlockMapping(hidden, heads, kv_heads, ffn, channels),
        )
        for tokens in (512, 4096):
            program = block.program(tokens, entries)
            count = len(encode_words(program, CentIsa()))
            rows.append(
                [
                    name,
                    channels,
                    tokens,
                    count,
                    count * WORD_BYTES,
                    memory.time(memory_commands(program)).cycles,
                    memory.time(block_program(theirs, tokens)).cycles,
                ]
            )
    return table(
        [
            "model",
            "channels",
            "tokens",
            "instructions",
            "bytes",
            "cycles of the memory",
            "cycles of the authors' order",
        ],
        rows,
    )


# AiM channel and hub ----------------------------------------------------------------------------------------------------


def aim_cycles() -> str:
    rows = []
    for name in BUFFERINGS:
        works = _simulated("aim-channel", name)["works"]
        for what, text in WORKS.items():
            work = works[what]
            rows.append([name, text, work["ideal_cycles"], work["cycles"], f"{work['utilisation']:.4f}"])
    return table(["preset", "work", "column accesses", "clocks", "utilisation"], rows)


def _simulated(unit: str, preset: str | None = None) -> dict[str, Any]:
    """Results of the bench of a preset with the defaults of its workload; measured if there is no record."""
    return _results(select(unit, preset=preset), "sim")


#: Two presets that differ in the buffers alone.
BUFFERINGS = ("aim", "aim-ping-pong")


#: Works of the bench of `aim-channel`.
WORKS = {
    "q_k": "Q Kᵀ, 512 tokens, head dimension 128",
    "s_v": "S V, 512 tokens, head dimension 128",
    "gemv": "64 outputs of 2048 inputs",
}


def aim_memory() -> str:
    """At the memory's pace: one set against two."""
    rows = []
    single, double = (_simulated("aim-channel", name)["memory_timing"] for name in BUFFERINGS)
    for what, text in WORKS.items():
        one, two = single[what], double[what]
        rows.append(
            [
                text,
                *(
                    x
                    for work in (one, two)
                    for x in (work["memory_cycles"] / 2, work["cycles"], work["read_to_result"])
                ),
                f"{1 - two['cycles'] / one['cycles']:.1%}",
            ]
        )
    return table(
        [
            "work",
            "memory, ns",
            "unit, clocks",
            "read to result, clocks",
            "two sets: memory, ns",
            "unit, clocks",
            "read to result, clocks",
            "fewer clocks",
        ],
        rows,
    )


def _mapped(unit: str, presets: Sequence[str] = ()) -> str:
    return areas(
        (name, UNITS[unit].presets[name], _measured(select(unit, preset=name), "synth"))
        for name in presets or UNITS[unit].presets
    )


def _parts_of(unit: str, presets: Sequence[str]) -> str:
    rows = []
    for name in presets:
        r = _measured(select(unit, preset=name), "synth")
        for part in r["parts"]:
            rows.append(
                [
                    name,
                    f"`{part['module']}`",
                    part["count"],
                    f"{part['area_ge'] / 1e3:.1f}",
                    f"{part['memory_ge_estimate'] / 1e3:.1f}",
                    part["flip_flops"],
                    f"{part['critical_path_ns']:.3f}",
                    f"{part['count'] * part['area_ge'] / r['area_ge']:.1%}",
                ]
            )
    return table(
        [
            "preset",
            "part",
            "number",
            "kGE each",
            "memories, kGE (estimate)",
            "flip-flops each",
            "longest path, ns",
            "share of the area",
        ],
        rows,
    )


def aim_synthesis() -> str:
    return _mapped("aim-channel")


def aim_parts() -> str:
    return _parts_of("aim-channel", (*BUFFERINGS, "cent"))


def aim_area() -> str:
    """The second set of buffers: what it adds to a channel."""
    single, double = (_measured(select("aim-channel", preset=name), "synth") for name in BUFFERINGS)
    pairs = {
        what: (single[key], double[key])
        for what, key in (("all", "area_ge"), ("memories, a read and a write port (estimate)", "memory_ge_estimate"))
    }
    every, macros = pairs.values()
    pairs["logic"] = every[0] - macros[0], every[1] - macros[1]
    # A buffer is either filled or read, so one port would do; the netlist does not show this.
    second = 1 + macro_family("generic")[1].extra_port_factor
    spared = [
        sum(m["area_um2_estimate"] for m in r["memories"] if m["name"].startswith("buffer"))
        / r["nand2_um2"]
        * (1 - 1 / second)
        for r in (single, double)
    ]
    pairs["all, global buffers with one port (estimate)"] = every[0] - spared[0], every[1] - spared[1]
    rows = [
        [what, f"{one / 1e3:.1f}", f"{two / 1e3:.1f}", f"{(two - one) / 1e3:.1f}", f"{(two - one) / one:.2%}"]
        for what, (one, two) in pairs.items()
    ]
    return table(["", "aim, kGE", "aim-ping-pong, kGE", "more, kGE", "more"], rows)


def module_cases() -> str:
    """The decode steps of the bench at published size."""
    return table(
        [
            "slot",
            "tokens",
            "data",
            "clocks at the memory's pace",
            "clocks, memory always ready",
            "largest error against binary64",
        ],
        [
            [c["slot"], c["tokens"], c["data"], c["cycles"], c["full_rate_cycles"], f"{c['max_abs_error']:.1e}"]
            for c in _simulated("lol-pim-module")["cases"]
        ],
    )


def hub_synthesis() -> str:
    return _mapped("pim-hub", ("lol-pim",))


def hub_parts() -> str:
    return _parts_of("pim-hub", ("lol-pim",))


def hub_banks() -> str:
    """The registers as one macro and as banks, at the process of the library."""
    config = HUBS["lol-pim"]
    return banked(8 * config.gpr_bytes, config.word_bits, "45nm", HUB_BANKS)


def process_clocks() -> str:
    """The clock of every unit with a process: in the library, and estimated in the process."""
    rows = []
    for unit, presets in load_nodes().units.items():
        for name in presets:
            selection = select(unit, preset=name)
            r = _measured(selection, "synth")
            own = process_clock(unit, name, r, selection.config.clock_mhz)
            assert own is not None
            rows.append(
                [
                    f"`{unit}` {name}",
                    f"{own.clock_mhz:g}",
                    f"{r['fmax_mhz']:.0f}",
                    own.delay_node + (" x DRAM" if own.dram else ""),
                    f"{own.delay_factor:.2f}",
                    *(f"{mhz:.0f}" for mhz in own.fmax_mhz),
                    "wires decide" if own.verdict == "undecided" else own.verdict,
                ]
            )
    return table(
        [
            "unit, preset",
            "target, MHz",
            "45 nm class library, MHz",
            "process",
            "delay factor",
            "in the process, MHz",
            "with wires, MHz",
            "verdict",
        ],
        rows,
    )


def hub_cycles() -> str:
    commands = _simulated("pim-hub", "lol-pim")["commands"]
    return table(
        ["command", "words through the EPU", "clocks", "utilisation"],
        [
            [f"`{op}`", c["ideal_cycles"], c["cycles"], f"{c['ideal_cycles'] / c['cycles']:.4f}"]
            for op in pim_hub.PASSES
            for c in [commands[op]]
        ],
    )


def riscv_clocks() -> str:
    """Clocks of the programs of CENT's RISC-V cores."""
    programs = _simulated("cent-riscv")["programs"]
    return table(
        [
            "program",
            "micro-operations",
            "accesses",
            "clocks",
            "with empty caches",
            "of one micro-operation",
            "for each item",
        ],
        [
            [
                f"`{name}`",
                c["micro_operations"],
                c["accesses"],
                c["cycles"],
                c["cold_cycles"],
                c["first_core_cycles"],
                f"{c['cycles_per_item']:.2f}",
            ]
            for name, c in programs.items()
        ],
    )


def riscv_synthesis() -> str:
    return _mapped("cent-riscv")


def riscv_parts() -> str:
    return _parts_of("cent-riscv", ("cent",))


#: `cv32e40p` of the package `pythondata-cpu-cv32e40p` 1.0.1.post1909, measured once, outside the records, under the
#: conditions on the page: kGE, longest path in ns, and clocks of RMSNorm, of 32 heads of softmax, of RoPE on 4096 elements.
CV32E40P = {
    "`cv32e40p`, no FPU": (41.63, 2.082, None),
    "`cv32e40p`, FPU with 1 register, Zfinx": (68.55, 4.075, (106, 242, 1750)),
    "`cv32e40p`, FPU with 3 registers inside, Zfinx": (73.46, 2.338, (110, 250, 1750)),
    "`cv32e40p`, FPU with 1 register, own registers (F)": (83.07, 4.260, (116, 264, 1755)),
}


def riscv_cores() -> str:
    """Candidates for CENT's RISC-V core: clocks of the three scalar programs, and area without memories."""
    config, r = select("cent-riscv").config, _measured(select("cent-riscv"), "synth")
    sim = _simulated("cent-riscv")["programs"]
    core = next(p for p in r["parts"] if p["module"] == "cent_riscv_core")
    own = (
        (core["area_ge"] - core["memory_ge_estimate"]) / 1e3,
        core["critical_path_ns"],
        tuple(sim[name]["cycles"] for name in ("rmsnorm", "softmax", "rope_swap")),
    )
    rows = []
    for name, (kge, ns, clocks) in {
        f"VexRiscv with FP32 operators of {config.float_depth + 2} clocks": own,
        **CV32E40P,
    }.items():
        low, high = logic_area(kge * 1e3, "28nm")
        each = [] if clocks is None else [n / k for n, k in zip(clocks, (1, 32, 4096), strict=True)]
        rows.append(
            [
                name,
                f"{kge:.1f}",
                f"{low:.3f} to {high:.3f}",
                f"{ns:.2f}",
                *(f"{x:.{d}f}" for x, d in zip(each, (0, 2, 3), strict=False)),
                *(f"{x * kge:.{d}f}" for x, d in zip(each, (0, 0, 1), strict=False)),
                *([""] * (6 - 2 * len(each))),
            ]
        )
    rows.append(["BOOM, as CENT's authors count", "", "0.37", "", "26", "17.25", "0.375", *[""] * 3])
    return table(
        [
            "core",
            "kGE",
            "mm² at 28 nm",
            "longest path, ns",
            "RMSNorm, clocks",
            "softmax, clocks a head",
            "RoPE, clocks an element",
            "RMSNorm, clocks x kGE",
            "softmax, clocks x kGE",
            "RoPE, clocks x kGE",
        ],
        rows,
    )


def hub_registers() -> str:
    """The hub with its registers in banks beside the hub with one memory of two ports: area and clocks, from records."""
    rows = []
    for name in HUB_MEMORIES:
        config, synth, sim = HUBS[name], _measured(select("pim-hub", preset=name), "synth"), _simulated("pim-hub", name)
        own = [m for m in synth["memories"] if m["name"].startswith("registers.")]
        ports = register_ports(config)
        gates = (float(synth["area_ge"]) - float(synth["memory_ge_estimate"])) / 1e3
        macros = sum(buffer_cost(m["bits"], m["width"], macro_ports(m, ports), "45nm").mm2 for m in own)
        _, _, cacti = second_opinion(own, ports) or (0, 0.0, float("nan"))
        rows.append(
            [
                name,
                f"{len(own)} with {config.bank_ports} port{'s' if config.bank_ports > 1 else ''}",
                f"{macros:.2f}",
                f"{cacti:.2f}",
                f"{gates:.1f}",
                f"{unit_area(synth, '45nm', '45nm', ports=ports).mm2:.2f}",
                f"{synth['fmax_mhz']:.0f}",
                *(sim["commands"][op]["cycles"] for op in pim_hub.PASSES),
                sim["overlapped_cycles"],
            ]
        )
    return table(
        [
            "preset",
            "memories of the registers",
            "model, mm²",
            "CACTI, mm²",
            "logic and flip-flops, kGE",
            "hub, mm²",
            "MHz",
            *(f"`{op}`, clocks" for op in pim_hub.PASSES),
            "`SOFTMAX` beside transfers, clocks",
        ],
        rows,
    )


#: Presets of `cent-pnm` that differ in units and banks.
PNM_SHAPES = ("cent-1x1", "cent", "cent-32x32")


def _shape(config: Any) -> str:
    return f"{config.exp_units} x {config.banks}"


def pnm_cycles() -> str:
    rows = []
    for name in PNM_SHAPES:
        for op, c in _simulated("cent-pnm", name)["commands"].items():
            rows.append(
                [
                    name,
                    _shape(PNMS[name]),
                    f"`{op}`",
                    c["ideal_cycles"],
                    c["cycles"],
                    f"{c['utilisation']:.4f}",
                    c["cycles_32"],
                    c["cycles_1"],
                    c["stream_cycles"],
                    f"{c['stream_utilisation']:.4f}",
                    c["dependent_cycles"],
                ]
            )
    return table(
        [
            "preset",
            "units x banks",
            "command",
            "ports, clocks",
            "256 slots, clocks",
            "utilisation",
            "32 slots, clocks",
            "one slot, clocks",
            "32 commands in a stream, clocks",
            "utilisation in a stream",
            "command that needs the one before, clocks",
        ],
        rows,
    )


def pnm_synthesis() -> str:
    rows = []
    for name in PNM_SHAPES:
        config, r = PNMS[name], _measured(select("cent-pnm", preset=name), "synth")
        ports = register_ports(config)
        parts = {
            kind: sum(p["count"] * p["area_ge"] for p in r["parts"] if p["module"] == f"cent_pnm_{kind}") / 1e3
            for kind in ("acc", "red", "exp")
        }
        rest = (float(r["area_ge"]) - float(r["memory_ge_estimate"])) / 1e3 - sum(parts.values())
        area = unit_area(r, "45nm", "45nm", ports=ports)
        rows.append(
            [
                name,
                _shape(config),
                *(f"{parts[kind]:.1f}" for kind in parts),
                f"{rest:.1f}",
                f"{area.memories_mm2:.2f}",
                f"{area.mm2:.2f}",
                f"{r['fmax_mhz']:.0f}",
            ]
        )
    return table(
        [
            "preset",
            "units x banks",
            "accumulators, kGE",
            "reduction trees, kGE",
            "exponent units, kGE",
            "rest without memories, kGE",
            "memories, mm² (estimate)",
            "unit at 45 nm, mm²",
            "MHz",
        ],
        rows,
    )


def hub_errors() -> str:
    """Errors of the functional model and of the correctly rounded result, against binary64 on the same bits."""
    rows = []
    for name in ("lol-pim", "lol-pim-fp16"):
        config = HUBS[name]
        for op in ("SOFTMAX", "LAYERNORM", "RMSNORM"):
            for count in (128, 4096):
                worst = []
                for seed in range(8):
                    x = from_float64(np.random.default_rng(seed).normal(size=count) * 2 + 1, config.fmt)
                    got = (
                        hub_softmax(config, x) if op == "SOFTMAX" else layer_norm(config, x, centred=op == "LAYERNORM")
                    )
                    right = pim_hub.exact(op, to_float64(x, config.fmt), config.epsilon)
                    best = to_float64(from_float64(right, config.fmt), config.fmt)
                    worst.append([np.abs(y - right) for y in (to_float64(got, config.fmt), best)])
                rows.append(
                    [
                        name,
                        f"`{op}`",
                        count,
                        *(
                            text
                            for e in np.array(worst).transpose(1, 0, 2)
                            for text in (f"{e.max():.1e}", f"{np.sqrt(np.mean(e**2)):.1e}")
                        ),
                    ]
                )
    return table(
        ["preset", "command", "elements", "largest", "root mean square", "best possible: largest", "root mean square"],
        rows,
    )


# cent-decoder -----------------------------------------------------------------------------------------------------------


def cent_words() -> str:
    return table(
        ["field", "bits", "meaning"],
        [
            [f"`{field.name}`", low if field.bits == 1 else f"{low + field.bits - 1}:{low}", field.meaning]
            for low, field in WORD.items()
        ],
    )


def cent_instructions() -> str:
    def operands(one: Any) -> str:
        needed = [operand.name for operand in one.operands if operand.default is None]
        return " ".join([*needed, *(f"[{operand.name}]" for operand in one.operands if operand.default is not None)])

    return table(
        ["code", "instruction", "operands", "command", "source"],
        [
            [
                one.opcode,
                f"`{one.mnemonic}`",
                operands(one),
                "" if one.command == one.mnemonic else f"`{one.command}`",
                one.source,
            ]
            for one in INSTRUCTIONS.values()
        ],
    )


def cent_errors() -> str:
    return table(["code", "name", "meaning"], [[int(error), error.name, error.meaning] for error in DecodeError])


def cent_decoder() -> str:
    """Clocks and area of the presets."""
    rows = []
    for name in UNITS["cent-decoder"].presets:
        selection = select("cent-decoder", preset=name)
        sim, synth = _measured(selection, "sim"), _measured(selection, "synth")
        rows.append(
            [
                name,
                sim["vectors"],
                sim["mismatches"],
                sim["cycles"],
                f"{sim['utilisation']:.4f}",
                sim["start_cycles"],
                f"{sim['full_commands_per_clock']:g}",
                f"{sim['blocking']['clocks_each']:g}",
                f"{(synth['area_ge'] - synth['memory_ge_estimate']) / 1000:.1f}",
                f"{synth['memory_area_um2_estimate'] / 1e6:.3f}",
                f"{synth['fmax_mhz']:.0f}",
            ]
        )
    return table(
        [
            "preset",
            "compared",
            "mismatches",
            "clocks",
            "utilisation",
            "first command after",
            "commands a clock, full buffer",
            "clocks of a blocking instruction",
            "logic, kGE",
            "memories, mm² (estimate)",
            "MHz",
        ],
        rows,
    )


# cent -------------------------------------------------------------------------------------------------------------------


def _causes(model: str, devices: int, stages: int) -> str:
    """From the authors' numbers to ours, at 2048 tokens."""
    from bankside.models.papers.cent.causes import CAUSES, causes
    from bankside.models.papers.cent.table import Configuration

    return table(
        ["rule", "cycles of a block", "tokens/s", "ms a token", "mJ a token"],
        [
            [
                CAUSES.get(row.name, "the authors' simulator"),
                f"{row.pim_cycles:,}",
                f"{row.tokens_per_s:,.1f}",
                f"{row.token_ms:.3f}",
                f"{row.energy_mj:,.1f}",
            ]
            for row in causes(Configuration(model, devices, stages, 1), 2048, RecordFolder())
        ],
    )


def cent_controller() -> str:
    """Measured area of the controller's units in the processes of Table 5 and of the die."""
    from bankside.models.papers.claims import load_paper
    from bankside.models.systems import load_system
    from bankside.models.systems.cent import CentSystem

    system = load_system("cent")
    assert isinstance(system, CentSystem)
    system.units.look_up(RecordFolder())
    small, large = (system.units.areas(node) for node in ("7nm", "28nm"))
    assert small is not None and large is not None
    rows: list[list[Any]] = [
        [f"`{name}`", f"{area.logic_ge / 1e3:.0f}", f"{large[name].mm2:.2f}", f"{area.mm2:.3f}"]
        for name, area in small.items()
    ]
    controller, paper = system.units.controller(), load_paper("cent")
    assert controller is not None
    low, high = controller["measured_band_mm2"]
    published = next(claim.value["total"][0] for claim in paper.claims if claim.id == "cent-t5")
    rows += [
        [
            "all",
            f"{sum(area.logic_ge for area in small.values()) / 1e3:.0f}",
            f"{sum(area.mm2 for area in large.values()):.2f}",
            f"{controller['measured_mm2']:.2f} ({low:.2f} to {high:.2f})",
        ],
        ["the authors' units near memory", "", f"{published:.2f}", f"{controller['published_mm2']:.2f}"],
    ]
    return table(["unit", "logic, kGE", "mm² at 28 nm", "mm² at 7 nm"], rows)


def cent_costs() -> str:
    """The controller with measured and with published area, and what follows."""
    from bankside.models.cost import load_costs, tokens_per_usd
    from bankside.studies.evaluate import evaluate

    one, rows = evaluate("cent", "llama-2-70b", context=2048, batch=None).to_json(), []
    controller, costs = one["controller"], load_costs()
    price = sum(controller[f"{part}_usd"] for part in ("die", "package", "nre"))
    saved = costs.system.devices * (price - controller["published_usd"]) / costs.operation.hours
    for what, area, usd, hour in (
        (
            "the authors' area",
            controller["published_die_mm2"],
            controller["published_usd"],
            one["usd_per_hour"] - saved,
        ),
        ("measured area", controller["die_mm2"], price, one["usd_per_hour"]),
    ):
        rows.append(
            [
                what,
                f"{area:.2f}",
                f"{usd:.2f}",
                f"{hour:.4f}",
                f"{tokens_per_usd(one['throughput_tok_s'], hour) / 1e6:.3f}",
            ]
        )
    return table(
        ["controller", "die, mm²", "price of a controller, $", "32 devices, $/h", "million tokens for a $"], rows
    )


def cent_causes_70b() -> str:
    return _causes("Llama2-70B", 32, 80)


def cent_causes_7b() -> str:
    return _causes("Llama2-7B", 8, 32)


# inf2-gemv --------------------------------------------------------------------------------------------------------------


def inf2_sensitivity() -> str:
    """One change of a run of INF2 and of FlexGen."""
    from bankside.evidence.records import RecordFolder
    from bankside.models.papers import Evidence
    from bankside.models.papers.inf2.series import sensitivity

    found = sensitivity(Evidence(RecordFolder()))
    return table(
        ["change", "FlexGen, tokens/s", "INF², tokens/s", "gain", "requests from inputs"],
        [
            [
                label,
                *(f"{found[name][label]:.3f}" for name in ("flexgen", "inf2")),
                f"{gain:.2f}",
                f"{found['inputs'][label]:.0f}",
            ]
            for label, gain in found["gain"].items()
        ],
    )


def gemv_presets() -> str:
    """Clocks and errors of the presets."""
    rows = []
    for name in UNITS["inf2-gemv"].presets:
        sim = _measured(select("inf2-gemv", preset=name), "sim")
        rows.append(
            [
                name,
                *(
                    text
                    for one in (sim["qk"], sim["sv"])
                    for text in (one["cycles"], one["ideal_cycles"], f"{one['steady']:.4f}")
                ),
                sim["latency_cycles"],
                f"{sim['rms_error']:.1e}",
                f"{sim['max_abs_error']:.1e}",
            ]
        )
    return table(
        [
            "preset",
            "QK clocks",
            "ideal",
            "steady",
            "SV clocks",
            "ideal",
            "steady",
            "one tile of K",
            "error, root mean square",
            "largest",
        ],
        rows,
    )


def gemv_synthesis() -> str:
    """Area and frequency of the presets."""
    rows = []
    for name in UNITS["inf2-gemv"].presets:
        r = _measured(select("inf2-gemv", preset=name), "synth")
        rows.append(
            [
                name,
                f"{r['area_ge'] / 1e3:.0f}",
                f"{r['sequential_ge'] / 1e3:.0f}",
                f"{r['memory_ge_estimate'] / 1e3:.0f}",
                f"{r['critical_path_ns']:.2f}",
                f"{r['fmax_mhz']:.0f}",
            ]
        )
    return table(
        [
            "preset",
            "area, kGE",
            "flip-flops, kGE",
            "memories of it, kGE (estimate)",
            "critical path, ns",
            "frequency, MHz",
        ],
        rows,
    )


def gemv_sizes() -> str:
    """Share of the multipliers that are used, by head dimension and tokens."""
    points = _measured(select("inf2-gemv", preset="inf2"), "sim")["points"]
    tokens = list(dict.fromkeys(one["tokens"] for one in points))
    found = {(one["mode"], one["head_dim"], one["tokens"]): one for one in points}
    return table(
        ["mode", "head dimension", *(f"{n} tokens" for n in tokens), f"{tokens[-1]} tokens, steady"],
        [
            [
                mode.upper(),
                dim,
                *(f"{found[mode, dim, n]['utilisation']:.3f}" for n in tokens),
                f"{found[mode, dim, tokens[-1]]['steady']:.4f}",
            ]
            for mode, dim in dict.fromkeys((one["mode"], one["head_dim"]) for one in points)
        ],
    )


def gemv_memory() -> str:
    """The preset inf2 with rows at the pace of the DRAM."""
    sim = _measured(select("inf2-gemv", preset="inf2"), "sim")
    timing = sorted(sim["memory_timing"], key=lambda one: (one["mode"], one["head_dim"]))
    return table(
        [
            "mode",
            "head dimension",
            "clocks",
            "ideal",
            "utilisation",
            "rows a clock",
            "bound by the memory",
            "by the lanes",
        ],
        [
            [
                one["mode"].upper(),
                one["head_dim"],
                one["cycles"],
                one["ideal_cycles"],
                f"{one['utilisation']:.3f}",
                f"{one['rows_per_clock']:.3f}",
                f"{one['memory_share']:.1%}",
                f"{one['mac_share']:.1%}",
            ]
            for one in timing
        ],
    )


# inf2-softmax -----------------------------------------------------------------------------------------------------------


def softmax_presets() -> str:
    """Clocks and errors of the presets."""
    rows = []
    for name in UNITS["inf2-softmax"].presets:
        sim = _measured(select("inf2-softmax", preset=name), "sim")
        rows.append(
            [
                name,
                sim["cycles"],
                sim["ideal_cycles"],
                f"{sim['steady']:.4f}",
                sim["latency_cycles"],
                f"{sim['rms_error']:.1e}",
                f"{sim['max_abs_error']:.1e}",
            ]
        )
    return table(["preset", "clocks", "ideal", "steady", "latency", "error, root mean square", "largest"], rows)


def softmax_lengths() -> str:
    """Clocks by the length of rows."""
    points = _measured(select("inf2-softmax", preset="inf2"), "sim")["points"]
    return table(
        ["tokens", "rows", "clocks", "ideal", "used", "steady", "clocks for a row", "latency"],
        [
            [
                one["tokens"],
                one["rows"],
                one["cycles"],
                one["ideal_cycles"],
                f"{one['utilisation']:.3f}",
                f"{one['steady']:.4f}",
                f"{1 / one['rows_per_clock']:.2f}",
                one["latency_cycles"],
            ]
            for one in points
        ],
    )


def softmax_fpga() -> str:
    """Resources on UltraScale+, of the unit and of its parts without parts inside them."""
    r = measure.synthesise_fpga(
        select("inf2-softmax", preset="inf2", sets=["fabric=xilinx", "exp_depth=14"]), fpga="xcup"
    )
    keys = ("lut", "ff", "dsp", "bram18", "srl", "lutram")
    rows = [["whole unit", "1", *(f"{r['fpga'][key]:,}" for key in keys), str(r["lut_levels"])]]
    for part in r["parts"]:
        if part["count"] * part["lut"] >= 1000:
            name = part["module"].split("$")[0].replace("inf2_softmax", "").strip("._") or "passes"
            rows.append([f"`{name}`", str(part["count"]), *(f"{part[key]:,}" for key in keys), str(part["lut_levels"])])
    return table(
        [
            "part",
            "number",
            "LUT",
            "flip-flops",
            "DSP",
            "BRAM18",
            "LUTs as shift registers",
            "LUTs as memory",
            "LUT levels",
        ],
        rows,
    )


#: Rules of the sum beside each other: name, and rule.
SOFTMAX_SUMS = {
    "FP16, one after the other": replace(INF2_SOFTMAX, lanes=1, groups=1),
    "FP16, tree of 32 first (the paper's)": INF2_SOFTMAX,
    "FP32, tree of 32 first": INF2_SOFTMAX_FP32,
    "fixed point, rounded to FP32": replace(INF2_SOFTMAX_FP32, sums="window"),
}


def softmax_sums() -> str:
    """Errors of sums by the rule and the length of rows."""
    rng = np.random.default_rng(1)
    rows = []
    for label, draw in (("equal", np.zeros), ("uniform in -1..0", lambda n: rng.uniform(-1, 0, n))):
        for tokens in (1 << 10, 1 << 15, 1 << 17):
            scores = from_float64(draw(tokens), FP16)
            errors = []
            for rule in SOFTMAX_SUMS.values():
                parts = softmax_parts(scores, None, rule)
                exact = to_float64(parts.weights[:tokens], FP16).sum()
                error = to_float64(parts.sum, rule.acc) / exact - 1
                errors.append("overflow" if np.isinf(error) else f"{100 * error:.2g} %" if error else "0")
            rows.append([label, f"{tokens >> 10} K", *errors])
    return table(["scores", "tokens", *SOFTMAX_SUMS], rows)


# inf2-accelerator -------------------------------------------------------------------------------------------------------


def accelerator_registers() -> str:
    """Registers of the accelerator."""
    rows = []
    for one in UNITS["inf2-accelerator"].preset(None)[1].registers:
        place = f"0x{one.offset:02X}" + (f" to 0x{one.offset + 4:02X}" if one.bits > 32 else "")
        rows.append([place, f"`{one.name}`", one.bits, one.access, one.description])
    return table(["offset", "register", "bits", "access", "meaning"], rows)


def accelerator_measured() -> str:
    """Clocks of jobs of the preset inf2: at full rate, and at the pace of the memories."""
    sim = _measured(select("inf2-accelerator", preset="inf2"), "sim")
    paced = sim["memory_timing"]
    rows = [
        [
            f"{one['tokens']}",
            one["mask"],
            one["cycles"],
            one["ideal_cycles"],
            f"{one['utilisation']:.3f}",
            *(f"{one[f'{name}_share']:.1%}" for name in ("port", "dram", "latency", "p2p", "unit")),
        ]
        for one in sim["points"]
    ]
    rows.append(
        [
            f"{paced['tokens']}, from {paced['memory']} and {paced['dram']}",
            paced["mask"],
            paced["cycles"],
            paced["ideal_cycles"],
            f"{paced['utilisation']:.3f}",
            *(f"{paced[f'{name}_share']:.1%}" for name in ("port", "dram", "latency", "p2p", "unit")),
        ]
    )
    return table(
        [
            "tokens",
            "mask",
            "clocks",
            "ideal",
            "utilisation",
            "word on the port",
            "DRAM's pace",
            "its latency",
            "P2P",
            "the unit",
        ],
        rows,
    )


def accelerator_fpga() -> str:
    """Resources of the presets on the KU15P, beside Table 2 of the paper."""
    from bankside.constraints.libraries.fpga import fpga_families
    from bankside.models.papers.claims import load_paper

    device = fpga_families()["xcup"].devices["ku15p"]
    claims = load_paper("inf2")
    whole = {**device.totals, **device.counted_as}
    printed = {kind: claims.claim(f"inf2-res-{kind}").value for kind in whole}
    rows = [
        [
            "Table 2 of the paper",
            *(f"{round(printed[kind] / 100 * total):,} ({printed[kind]} %)" for kind, total in whole.items()),
        ]
    ]
    for name in UNITS["inf2-accelerator"].presets:
        record = RecordFolder().find(
            measure.measurement_of("synth", select("inf2-accelerator", preset=name), fpga="xcup")
        )
        if record is None:
            continue  # minutes for each preset: `bankside records --make` measures them
        count = device.taken(record.results["fpga"])
        rows.append(
            [f"`{name}`", *(f"{count[kind]:,} ({100 * count[kind] / total:.2f} %)" for kind, total in whole.items())]
        )
    return table(["", "LUT", "flip-flops", "BRAM of 36 Kbit", "URAM", "DSP"], rows)


# starc-select -----------------------------------------------------------------------------------------------------------


def select_presets() -> str:
    """Clocks of the measured selection."""
    rows = []
    for name in UNITS["starc-select"].presets:
        r = _measured(select("starc-select", preset=name), "sim")
        rows.append(
            [
                name,
                r["selected"],
                r["wanted"],
                r["fetched"],
                r["commands"],
                r["stall_cycles"],
                r["tail_cycles"],
                r["paced_tail_cycles"],
                r["score_cycles"],
                r["attention_cycles"],
                f"{100 * r['share_of_attention']:.2f} %",
            ]
        )
    return table(
        [
            "preset",
            "clusters selected",
            "tokens wanted",
            "fetched",
            "commands",
            "stall cycles",
            "tail",
            "tail, paced",
            "score cycles",
            "attention cycles",
            "share",
        ],
        rows,
    )


def select_synthesis() -> str:
    """Area and frequency of the presets."""
    rows = []
    for name in UNITS["starc-select"].presets:
        r = _measured(select("starc-select", preset=name), "synth")
        rows.append(
            [
                name,
                f"{r['area_ge'] / 1e3:.0f}",
                f"{r['sequential_ge'] / 1e3:.0f}",
                f"{r['memory_ge_estimate'] / 1e3:.0f}",
                f"{r['critical_path_ns']:.2f}",
                f"{r['fmax_mhz']:.0f}",
            ]
        )
    return table(
        [
            "preset",
            "area, kGE",
            "flip-flops, kGE",
            "memories of it, kGE (estimate)",
            "critical path, ns",
            "frequency, MHz",
        ],
        rows,
    )


def select_update() -> str:
    """Clocks of the dot products of a k-means update of 128 keys into 4 clusters, head dimension 128."""
    attention = _measured(select("starc-select", preset="list"), "sim")["attention_cycles"]
    rows = []
    for name, config in UNITS["pam-pu"].presets.items():
        groups, clocks = len(UPDATE.steps(config, 128)), UPDATE.clocks(config, 128)
        share = f"{100 * clocks / 128 / attention:.1f} %" if name == "pam-hbm" else ""
        rows.append([name, groups, clocks, clocks // 128, share])
    return table(
        [
            "preset of `pam-pu`",
            "passes over the keys in an iteration",
            "clocks of an update",
            "clocks a step",
            "share of a step",
        ],
        rows,
    )


def attention_orders() -> str:
    """Reads of attention that wait for programs, for the orders of heads that are measured."""
    r = _measured(select("starc-attention"), "sim")
    return table(
        ["order", "heads", "clocks", "of them waiting for programs", "share of attention"],
        [
            [
                text,
                r[name]["heads"],
                r[name]["cycles"],
                r[name]["exposed_cycles"],
                f"{100 * r[name]['share_of_attention']:.2f} %",
            ]
            for name, text in (
                ("alone", "centroids, then attention"),
                ("interleaved", "centroids of the next head before attention"),
            )
        ],
    )


def attention_clocks() -> str:
    """Clocks of the parts of a head, from memory."""
    r = _measured(select("starc-attention"), "sim")
    return table(
        ["clusters selected", "tokens wanted", "fetched", "commands", "centroids, clocks", "tail", "attention, clocks"],
        [
            [
                r["selected"],
                r["wanted"],
                r["fetched"],
                r["commands"],
                r["score_cycles"],
                r["tail_cycles"],
                r["attention_cycles"],
            ]
        ],
    )


def attention_update() -> str:
    """Measured clocks of an update of clusters."""
    r = _measured(select("starc-attention"), "sim")
    attention = _measured(select("starc-select", preset="list"), "sim")["attention_cycles"]
    return table(
        ["clocks of an update", "of them the multipliers work", "clocks a step", "share of attention"],
        [
            [
                r["update_cycles"],
                r["update_ideal_cycles"],
                round(r["update_cycles"] / UPDATE.keys),
                f"{100 * r['update_cycles'] / UPDATE.keys / attention:.1f} %",
            ]
        ],
    )


def attention_synthesis() -> str:
    """Area and frequency of the composition."""
    r = _measured(select("starc-attention"), "synth")
    return table(
        ["area, kGE", "flip-flops, kGE", "memories of it, kGE (estimate)", "critical path, ns", "frequency, MHz"],
        [
            [
                f"{r['area_ge'] / 1e3:.0f}",
                f"{r['sequential_ge'] / 1e3:.0f}",
                f"{r['memory_ge_estimate'] / 1e3:.0f}",
                f"{r['critical_path_ns']:.2f}",
                f"{r['fmax_mhz']:.0f}",
            ]
        ],
    )


TABLES: dict[str, Callable[[], str]] = {
    f.__name__: f
    for f in (
        select_presets,
        select_synthesis,
        select_update,
        attention_orders,
        attention_clocks,
        attention_update,
        attention_synthesis,
        windows,
        exponential,
        cycles,
        dimensions,
        groups,
        shared,
        shared_pace,
        shared_memory,
        shared_area,
        outputs,
        memories,
        errors,
        formats,
        synthesis,
        variants,
        area,
        ru_errors,
        ru_cycles,
        ru_synthesis,
        ru_area,
        composition_cycles,
        composition_synthesis,
        demo,
        operators,
        operators_nangate45,
        operators_pipelined,
        operators_fpga,
        dispatcher_words,
        dispatcher_commands,
        dispatcher_errors,
        dispatcher_registers,
        aim_cycles,
        aim_memory,
        aim_synthesis,
        aim_parts,
        aim_area,
        module_cases,
        hub_cycles,
        hub_errors,
        hub_synthesis,
        hub_parts,
        hub_banks,
        hub_registers,
        pnm_cycles,
        pnm_synthesis,
        process_clocks,
        interface_memories,
        interface_rates,
        interface_quoted,
        interface_synthesis,
        cxl_cycles,
        cxl_latency,
        cxl_synthesis,
        riscv_clocks,
        riscv_synthesis,
        riscv_parts,
        riscv_cores,
        cent_words,
        cent_instructions,
        cent_errors,
        cent_decoder,
        device_steps,
        device_others,
        device_ports,
        device_blocks,
        cent_controller,
        cent_costs,
        cent_causes_70b,
        cent_causes_7b,
        inf2_sensitivity,
        gemv_presets,
        gemv_sizes,
        gemv_synthesis,
        gemv_memory,
        softmax_presets,
        softmax_lengths,
        softmax_sums,
        softmax_fpga,
        accelerator_registers,
        accelerator_measured,
        accelerator_fpga,
    )
}


def held(page: str) -> list[str]:
    """Names of the tables that a page holds."""
    return [m[2] for m in MARK.finditer((ROOT / page).read_text())]


def put(page: str, tables: Mapping[str, str]) -> None:
    write_files(ROOT, {page: fill((ROOT / page).read_text(), tables)})


def put_contract_tables() -> None:
    for page in dict.fromkeys(unit.page for unit in UNITS.values()):
        put(page, contract_tables([unit for unit in UNITS.values() if unit.page == page], "../diagrams"))
    put("docs/cli.md", command_tables((ROOT / "docs" / "cli.md").read_text()))
    write_files(
        ROOT / "docs" / "diagrams",
        {f"{unit.name}.svg": block_diagram(unit, next(iter(unit.presets))) for unit in UNITS.values()},
    )


def main(arguments: Sequence[str]) -> None:
    show = "--print" in arguments
    names = [a for a in arguments if a != "--print"]
    unknown = [name for name in names if name not in (*TABLES, "contract")]
    if unknown:
        raise SystemExit(f"unknown table '{unknown[0]}' (valid: contract, {', '.join(TABLES)})")
    if not show and (not names or "contract" in names):
        put_contract_tables()
    shown = {name for page in PAGES for name in held(page)}
    # A table of a library that does not come with the package is made on request only.
    for name in (
        [n for n in names if n != "contract"]
        if names
        else [n for n in TABLES if (show or n in shown) and n != "operators_nangate45"]
    ):
        print(f"measuring: {name}", file=sys.stderr)
        text = TABLES[name]()
        if show:
            print(f"{text}\n")
            continue
        for page in PAGES:
            if name in held(page):
                put(page, {name: text})


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except BanksideError as error:
        raise SystemExit(f"unit_tables: {error}") from None
