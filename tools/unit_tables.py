"""Measure what the pages show of the unit `pam-pu` and put the tables into them.

    .venv/bin/python tools/unit_tables.py                 every table (minutes: synthesis of several configurations)
    .venv/bin/python tools/unit_tables.py cycles errors   only those
    .venv/bin/python tools/unit_tables.py --print cycles  on standard output instead

A table stands in a page between `<!-- table NAME -->` and `<!-- end -->`. `demo` is taken from out/demo/results.json.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from bankside.constraints.arithmetic import AlignedWindow, ExpTable
from bankside.constraints.errors import BanksideError
from bankside.constraints.units.arith import OperatorConfig
from bankside.constraints.units.pam_pu import PRESETS, PamPuConfig, Step
from bankside.constraints.workspace import write_files
from bankside.cosim.pam_pu import KEY, VALUE, VALUE_FIRST, random_episode, simulate
from bankside.models.cost import load_nodes
from bankside.models.numerics import from_float64, to_float64
from bankside.models.pam.pu import attention, merge

from bankside import generate, measure
from bankside.registry import UNITS
from bankside.selection import Selection, select

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "docs/pam-pu.md", "docs/numerics.md", "docs/arithmetic.md")

TOKENS = (1, 17, 512, 4096)
DIMENSIONS = (64, 80, 96, 128, 160, 192, 256)
QUERIES = 8
STEPS_PER_FIGURE = 64
#: Logic process of the generation of each DRAM process, density penalty of the DRAM process, published area of one unit
#: (PAM section 5.2, Table 2; for the SSD only 64 PUs, 8 RUs and a buffer together are published, 8.16 mm2).
PROCESSES = {"pam-hbm": ("14nm", 10, 0.13, "0.13"), "pam-ddr": ("28nm", 10, 0.46, "0.46"),
             "pam-ssd": ("14nm", 1, 8.16 / 64, "below 0.128")}


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in row) + " |" for row in lines)


def counts(selection: Selection, cases: Sequence[Sequence[Step]]) -> list[dict[str, Any]]:
    """Simulate one episode per case with a beat offered at every clock; what each showed."""
    config: Any = selection.config
    rng = np.random.default_rng(1)
    outcome = simulate(config, generate.verilog(selection), [random_episode(config, list(case), rng) for case in cases])
    if outcome.mismatches:
        raise SystemExit(f"{selection.label}: {outcome.first_mismatch}")
    out = []
    for log in outcome.run.epochs:
        moved, stalled = log.moved["kv"], log.stalled["kv"]
        cycles = log.end_cycle - int(log.first["kv"][moved > 0].min()) + 1
        out.append({"beats": int(moved.sum()), "cycles": cycles, "utilisation": f"{moved.sum() / cycles:.4f}",
                    "key_stalls": int(stalled[KEY]), "value_stalls": int(stalled[VALUE]),
                    "softmax": int(stalled[VALUE_FIRST]),
                    "drain": log.end_cycle - int(log.last["kv"][moved > 0].max())})
    return out


def preset(name: str) -> Selection:
    return select("pam-pu", preset=name)


def presets() -> str:
    return table(["parameter", *PRESETS, "meaning"],
                 [[f"`{name}`", *(_plain(getattr(config, name)) for config in PRESETS.values()), field.description]
                  for name, field in PamPuConfig.model_fields.items()])


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def ports() -> str:
    first, *others = (generate.describe(preset(name)) for name in PRESETS)
    rows: list[list[Any]] = []
    for number, port in enumerate(first["ports"]):
        same = [port, *(other["ports"][number] for other in others)]
        rows.append([f"`{port['name']}`", port["direction"], _widths(same), port["meaning"]])
        for place, entry in enumerate(port.get("fields", ())):
            fields = [p["fields"][place] for p in same]
            rows.append([f"`.{entry['name']}`", "", f"{_widths(fields)} at {_widths(fields, 'offset')}", entry["meaning"]])
    return table(["port", "direction", "bits", "meaning"], rows)


def _widths(ports: Sequence[dict[str, Any]], key: str = "width") -> str:
    widths = [str(port[key]) for port in ports]
    return widths[0] if len(set(widths)) == 1 else " / ".join(widths)


def cycles() -> str:
    rows = []
    for name in PRESETS:
        for tokens, c in zip(TOKENS, counts(preset(name), [[Step(tokens, 128)] for tokens in TOKENS]), strict=True):
            rows.append([name, tokens, *c.values()])
    return table(["preset", "tokens", "beats = ideal cycles", "cycles", "utilisation", "stalls in K", "stalls in V",
                  "waiting for softmax", "drain"], rows)


def dimensions() -> str:
    columns = [counts(preset(name), [[Step(512, d)] for d in DIMENSIONS]) for name in PRESETS]
    return table(["head dimension", *PRESETS], [
        [d, *(f"{c[row]['utilisation']}, {c[row]['key_stalls'] + c[row]['value_stalls']}, {c[row]['softmax']}"
              for c in columns)] for row, d in enumerate(DIMENSIONS)])


def groups() -> str:
    rows = []
    for name in ("pam-hbm", "pam-ddr"):
        for tokens in (8, 17, 512):
            chained = [Step(tokens, 128, number < QUERIES - 1) for number in range(QUERIES)]
            both = counts(preset(name), [[Step(tokens, 128)] * QUERIES, chained])
            rows.append([name, tokens, *(c[key] for c in both for key in ("cycles", "utilisation", "softmax"))])
    return table(["preset", "tokens", "`more` 0: cycles", "utilisation", "waiting for softmax",
                  "`more` 1: cycles", "utilisation", "waiting for softmax"], rows)


def outputs() -> str:
    """Stalls in V where every V beat finishes an output beat: tiles of one token."""
    rows = []
    for name, places in (("pam-hbm", (0, 4)), ("pam-ddr", (0, 4, 6, 7, 8))):
        for skid in places:
            selection = select("pam-pu", preset=name, sets=[f"output_skid_beats={skid}"])
            config: Any = selection.config
            found = counts(selection, [[Step(1, d)] for d in (64, 128, 160, 256)])
            rows.append([name, config.output_beats, skid, *(c["value_stalls"] for c in found)])
    return table(["preset", "output beats in the buffer", "`output_skid_beats`", "head dimension 64", "128", "160", "256"],
                 rows)


def memories() -> str:
    rows = []
    for name, memory in (("pam-hbm", "hbm3-5.2"), ("pam-ddr", "ddr4-3200")):
        r = measure.simulate(preset(name), memory=memory, tokens=512, head_dim=128, seed=1)
        m = r["memory_timing"]
        rows.append([name, m["memory"], m["cycles"], f"{m['time_ns']:.0f}", f"{m['memory_time_ns']:.0f}",
                     f"{m['utilisation']:.4f}", m["stall_cycles"], m["exposed_softmax_cycles"]])
    return table(["preset", "memory", "cycles", "time, ns", "memory alone, ns", "utilisation", "stalls",
                  "waiting for softmax"], rows)


def errors() -> str:
    return table(["preset", "tokens", "largest", "root mean square", "best possible: largest", "root mean square"],
                 [[name, tokens, *_errors(PRESETS[name], tokens)] for name in ("pam-hbm", "pam-ddr") for tokens in TOKENS])


def formats() -> str:
    base = PRESETS["pam-hbm"].model_dump()
    rows = []
    for changes in ({}, {"score_format": "fp16"}, {"acc_format": "fp16"}, {"acc_format": "fp16", "score_format": "fp16"},
                    {"guard_bits": 1}, {"tile_tokens": 128}, {"format": "bf16"},
                    {"format": "bf16", "acc_format": "bf16", "score_format": "bf16"}):
        config = PamPuConfig(**(base | changes))
        rows.append([", ".join(f"`{k}={v}`" for k, v in changes.items()) or "`pam-hbm`", *_errors(config, 512)])
    return table(["configuration", "largest", "root mean square", "best possible: largest", "root mean square"], rows)


def _errors(config: PamPuConfig, tokens: int) -> list[str]:
    """Error of merged, normalised outputs against binary64, and that of the correctly rounded output."""
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
        rows.append([name, *_area(r), r["memory_bits"], r["flip_flops"], f"{r['area_um2']:.0f}",
                     f"{r['critical_path_ns']:.3f}", f"{r['critical_path_ns'] * 1e3 / r['fo4_ps']:.0f}",
                     f"{r['fmax_mhz']:.0f}", f"{r['target_clock_mhz']:g}"])
    return table(["preset", "area, kGE", "flip-flops, kGE", "logic, kGE", "memories, kGE (estimate)", "memory bits",
                  "flip-flops", "area, µm²", "critical path, ns", "in FO4", "frequency, MHz", "target, MHz"], rows)


def _area(r: dict[str, Any]) -> list[str]:
    return [f"{r[key] / 1e3:.1f}" for key in ("area_ge", "sequential_ge", "combinational_ge", "memory_ge_estimate")]


def variants() -> str:
    rows = []
    for sets, effort in (((), "balanced"), ((), "area"), (("acc_format=fp16",), "balanced"),
                         (("acc_format=fp16", "score_format=fp16"), "balanced"),
                         (("acc_format=fp16", "score_format=fp16", "score_tiles=1", "score_storage=buffer",
                           "query_bytes=256", "buffer_bytes=576"), "area")):
        r = _synthesised(select("pam-pu", sets=sets), effort)
        rows.append([", ".join(f"`{s}`" for s in sets) or "`pam-hbm`", effort, *_area(r), f"{r['fmax_mhz']:.0f}"])
    return table(["configuration", "effort", "area, kGE", "flip-flops", "logic", "memories (estimate)", "frequency, MHz"],
                 rows)


def area() -> str:
    """One unit in the paper's processes: gate equivalents times NAND2, over placement, times the DRAM penalty."""
    nodes = load_nodes()
    fill = nodes.placement_utilisation
    rows = []
    for name, (node, penalty, published, text) in PROCESSES.items():
        ge = _synthesised(preset(name))["area_ge"]
        nand2 = nodes.nodes[node].nand2_um2
        low, high = (ge * um2 * penalty * 1e-6 for um2 in (nand2.low / fill.high, nand2.high / fill.low))
        rows.append([name, f"{ge / 1e3:.1f}", node, f"{nand2.low:g} to {nand2.high:g}", penalty,
                     f"{low:.3f} to {high:.3f}", text, f"{low / published:.2f} to {high / published:.2f}"])
    return table(["preset", "kGE", "logic process", "its NAND2, µm²", "DRAM penalty", "this unit, mm²", "PAM, mm²",
                  "ratio"], rows)


def windows() -> str:
    """Geometry of the accumulators of the presets and of some other formats."""
    rows = []
    for label, changes in (("`pam-hbm`", {}), ("`pam-ddr`", PRESETS["pam-ddr"].model_dump()),
                           ("`acc_format=fp16`", {"acc_format": "fp16"}), ("`format=bf16`", {"format": "bf16"})):
        c = PamPuConfig(**(PRESETS["pam-hbm"].model_dump() | changes))
        for what, terms, result in (("output element", c.tile_tokens, c.io), ("score", c.max_head_dim + 1, c.score)):
            w = AlignedWindow(c.io, c.acc.precision, c.guard_bits, terms, result)
            rows.append([label, what, w.magnitude_bits, w.left, terms, w.width, w.unit, w.floor, result.name])
    return table(["configuration", "accumulator of", "W", "left", "terms", "bits", "unit", "floor", "rounded to"], rows)


def exponential() -> str:
    rows = []
    for name in ("fp16", "bf16"):
        t = ExpTable(PamPuConfig(format=name).io)
        rows.append([name, t.integer_bits, t.fraction_bits, f"{t.constant} / 2^{t.constant_bits}",
                     f"{1 << t.index_bits} x {t.value_bits + 1} bits"])
    return table(["format of P", "integer bits", "fraction bits", "log2 e", "table"], rows)


def demo() -> str:
    from rich.console import Console

    from bankside.report import summary_table

    path = ROOT / "out" / "demo" / "results.json"
    if not path.is_file():
        raise SystemExit(f"{path}: not there; `make demo` writes it")
    data = json.loads(path.read_text())
    out = io.StringIO()
    Console(file=out, width=104, color_system=None).print(summary_table(data))
    channel = data["sim"]["channel"]
    text = "\n".join(line.rstrip() for line in out.getvalue().splitlines())
    return (f"```text\n{text}\nchannel: {channel['tokens']} tokens over {channel['banks']} banks, {channel['queries']} "
            f"queries: {channel['vectors']} result beats bit-exact, {channel['time_ns'] / 1e3:.1f} us\n```")


def parameters() -> str:
    """Presets and parameters of the operators."""
    rows = [[f"`{unit.name}`", ", ".join(f"`{name}`" for name in unit.preset_table),
             "; ".join(f"`{name}`: {field.description}" for name, field in unit.config_class.model_fields.items()
                       if name not in OperatorConfig.model_fields)]
            for unit in UNITS.values() if unit.name.startswith("fp-")]
    common = "; ".join(f"`{name}`: {field.description}" for name, field in OperatorConfig.model_fields.items())
    return table(["unit", "presets", "parameters"], [["all", "", common], *rows])


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
            config: Any = unit.preset_table[name]
            if config.depth:
                continue  # among the pipelined ones
            r = measure.synthesise(select(unit.name, preset=name), effort="area", **library)
            rows.append([f"`{unit.name}`", name, f"{r['area_ge']:.0f}", f"{r['critical_path_ns']:.2f}",
                         *_accuracy(unit.name, config)])
    return table(["unit", "preset", "GE", "ns", "max ulp", "mean ulp", "not correctly rounded"], rows)


def _accuracy(name: str, config: Any) -> list[str]:
    """Largest and mean error in ulp, and share not correctly rounded."""
    import mpmath
    from bankside.models.numerics import exact_function, ulp_errors

    functions = {"fp-exp": mpmath.exp, "fp-log": mpmath.log, "fp-recip": lambda x: 1 / x,
                 "fp-rsqrt": lambda x: 1 / mpmath.sqrt(x)}
    if name in ("fp-mul", "fp-add", "fp-fma", "fp-div", "fp-sqrt", "fp-convert"):
        return ["0.5", "", "0"]
    if name not in functions:
        return ["", "", ""]
    model = UNITS[name].functional_model()
    inputs = None
    if config.fmt.width > 16:
        inputs = np.sort(np.random.default_rng(1).integers(0, 1 << config.fmt.width, 50_000))
    e = ulp_errors(lambda a: model(config, a)[0], config.fmt, exact_function(functions[name]), inputs=inputs)
    return [f"{e['max_ulp']:.3g}", f"{e['mean_ulp']:.3g}",
            f"{e['not_correctly_rounded']:.1%}" + ("" if inputs is None else " (sample)")]


def operators_pipelined() -> str:
    rows = []
    for unit, preset, sets in (
            ("fp-mul", "fp16", ("depth=2",)), ("fp-add", "fp16", ("depth=2",)), ("fp-add", "fp16", ("depth=3",)),
            ("fp-fma", "fp16", ("depth=3",)), ("fp-fma", "fp16-fp32", ("depth=4",)), ("fp-exp", "fp16", ("depth=3",)),
            ("fp-log", "fp16", ("depth=4",)), ("fp-recip", "fp16", ("depth=2",)), ("fp-div", "fp16", ("depth=6",)),
            ("fp-div", "fp16-iterative", ()), ("fp-sqrt", "fp16", ("depth=6",)), ("fp-sqrt", "fp16-iterative", ()),
            ("fp-dot", "fp16-accumulate", ("depth=5",))):
        r = measure.synthesise(select(unit, preset=preset, sets=sets), effort="area")
        rows.append([f"`{unit}`", preset + "".join(f", `{s}`" for s in sets), f"{r['combinational_ge']:.0f}",
                     f"{r['sequential_ge'] + r['memory_ge_estimate']:.0f}", f"{r['register_fmax_mhz'] or 0:.0f}"])
    return table(["unit", "configuration", "logic, GE", "registers, GE", "register to register, MHz"], rows)


TABLES: dict[str, Callable[[], str]] = {f.__name__: f for f in (
    presets, ports, windows, exponential, cycles, dimensions, groups, outputs, memories, errors, formats, synthesis,
    variants, area, demo, parameters, operators, operators_nangate45, operators_pipelined)}

MARK = re.compile(r"(<!-- table (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def places() -> dict[str, list[str]]:
    """The tables that each page holds."""
    return {page: [m[2] for m in MARK.finditer((ROOT / page).read_text())] for page in PAGES}


def main(arguments: Sequence[str]) -> None:
    show = "--print" in arguments
    names = [a for a in arguments if a != "--print"]
    unknown = [name for name in names if name not in TABLES]
    if unknown:
        raise SystemExit(f"unknown table '{unknown[0]}' (valid: {', '.join(TABLES)})")
    held = {name for page in places().values() for name in page}
    # What needs a library that does not come with the package is made when it is asked for.
    for name in names or [name for name in TABLES if (show or name in held) and name != "operators_nangate45"]:
        print(f"measuring: {name}", file=sys.stderr)
        text = TABLES[name]()
        if show:
            print(f"{text}\n")
            continue
        for page, present in places().items():
            if name in present:
                old = (ROOT / page).read_text()
                new = MARK.sub(lambda m, n=name, t=text: f"{m[1]}{t}\n{m[4]}" if m[2] == n else m[0], old)  # type: ignore[misc]
                write_files(ROOT, {page: new})


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except BanksideError as error:
        raise SystemExit(f"unit_tables: {error}") from None
