"""Rows of tables that no sweep gives, and what cells of tables compute: see ``tools/tables.py``.

A function that yields mappings makes rows. The others stand in expressions of the pages.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import mpmath
import numpy as np

from bankside.constraints.aim.encoding import OPERANDS, Host, Slot
from bankside.constraints.aim.hub import PRESETS as HUBS
from bankside.constraints.arith.geometry import AlignedWindow, ExpTable
from bankside.constraints.arith.softmax import INF2_SOFTMAX, INF2_SOFTMAX_FP32
from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.formats import FP16
from bankside.constraints.core.records import Kind
from bankside.constraints.core.registry import UNITS
from bankside.constraints.libraries import macro_family
from bankside.constraints.memory import load_memory
from bankside.constraints.pam.interface import SIDES
from bankside.constraints.pam.pu import PRESETS, PamPuConfig, Step
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
    load_costs,
    load_nodes,
    logic_area,
    process_clock,
    register_ports,
    second_opinion,
    tokens_per_usd,
    unit_area,
)
from bankside.models.cost.memories import macro_ports
from bankside.models.memory import time_program
from bankside.models.numerics import exact_function, from_float64, to_float64, ulp_errors
from bankside.models.numerics.softmax import softmax_parts
from bankside.models.pam.program import attention_program
from bankside.models.pam.pu import attention, merge

__all__ = [
    "ExpTable", "Host", "OPERANDS", "SIDES", "Slot", "UPDATE", "accuracy", "attention_errors", "attention_ms", "bit_range",
    "bit_ranges", "both", "figure", "file_of", "hub_errors", "in_process", "load_costs", "logic_area", "merge_errors",
    "register_macros", "register_ports", "results", "second_port", "tokens_per_usd", "unit_area", "window",
]  # fmt: skip

ROOT = Path(__file__).resolve().parent.parent

Rows = Iterator[dict[str, Any]]

STEPS_PER_FIGURE = 64


# Any unit --------------------------------------------------------------------------------------------------------------


def results(kind: Kind, unit: str, preset: str | None = None, **workload: Any) -> dict[str, Any]:
    """Results of the record of a preset; measured if there is none."""
    measurement = measure.measurement_of(kind, select(unit, preset=preset), **workload)
    record = RecordFolder().find(measurement)
    return measure.make(measurement).to_json() if record is None else record.results


def file_of(variable: str) -> str:
    """The file that a variable of the environment names."""
    if not (path := os.environ.get(variable)):
        raise ConfigError(f"${variable} must name a file")
    return path


def figure(value: float | None) -> str | None:
    """Three digits, more if it is a whole number of four or five."""
    return (
        None
        if value is None
        else f"{value:,.0f}"
        if value >= 1000
        else f"{value:.3g}"
        if value < 100
        else f"{value:.0f}"
    )


def bit_range(low: int, width: int) -> str:
    return f"{low}" if width == 1 else f"{low + width - 1}:{low}"


def bit_ranges(layout: Mapping[str, int], low: int = 0) -> dict[str, str]:
    """Bits of the fields of a word."""
    ends = np.cumsum([low, *layout.values()]).tolist()
    return {name: bit_range(at, width) for at, (name, width) in zip(ends, layout.items(), strict=False)}


def largest_and_mean(errors: Iterable[Any]) -> list[float]:
    """Largest error and root mean square, of each of several lists of errors."""
    return [float(x) for e in map(np.abs, errors) for x in (e.max(), np.sqrt(np.mean(e**2)))]


@dataclass(frozen=True)
class InProcess:
    """Area of a unit in its paper's process, in mm²: gate equivalents times NAND2, over placement, times the DRAM penalty."""

    node: str
    nand2: Any
    low: float
    high: float


def in_process(unit: str, preset: str, ge: float, penalty: float = 1) -> InProcess:
    nodes = load_nodes()
    node, fill = nodes.processes[nodes.units[unit][preset]].logic_node, nodes.placement_utilisation
    nand2 = nodes.nodes[node].nand2_um2
    return InProcess(
        node, nand2, ge * nand2.low / fill.high * penalty * 1e-6, ge * nand2.high / fill.low * penalty * 1e-6
    )


def processes() -> Rows:
    """Every preset with a process: its clock in the library, and estimated in the process."""
    for unit, presets in load_nodes().units.items():
        for name in presets:
            synth = results("synth", unit, name)
            own = process_clock(unit, name, synth, UNITS[unit].presets[name].clock_mhz)
            yield {"unit": unit, "preset": name, "own": own, "fmax_mhz": synth["fmax_mhz"]}


# PAM -------------------------------------------------------------------------------------------------------------------


def simulated(selection: Selection, cases: Sequence[Sequence[Step]]) -> Rows:
    """Counts of an episode of each case, with a beat offered at every clock."""
    config: Any = selection.config
    rng = np.random.default_rng(1)
    outcome = simulate(config, generate.verilog(selection), [random_episode(config, list(case), rng) for case in cases])
    if outcome.mismatches:
        raise SystemExit(f"{selection.label}: {outcome.first_mismatch}")
    for log in outcome.run.epochs:
        moved, stalled = log.moved["kv"], log.stalled["kv"]
        yield {
            "beats": int(moved.sum()),
            "cycles": log.end_cycle - int(log.first["kv"][moved > 0].min()) + 1,
            "key_stalls": int(stalled[KEY]),
            "value_stalls": int(stalled[VALUE]),
            "softmax": int(stalled[VALUE_FIRST]),
            "drain": log.end_cycle - int(log.last["kv"][moved > 0].max()),
        }


def steps(
    preset: Sequence[str],
    tokens: Sequence[int],
    head_dim: Sequence[int] = (128,),
    queries: Sequence[int] = (1,),
    count: Sequence[int] = (1,),
    more: Sequence[int] = (0,),
    skid: Sequence[int] = (-1,),
) -> Rows:
    """Episodes of ``pam-pu``: ``count`` equal steps, chained by ``more``; ``skid``: its ``output_skid_beats``."""
    for name, beats in product(preset, skid):
        selection = select("pam-pu", preset=name, sets=[f"output_skid_beats={beats}"] if beats >= 0 else [])
        config: Any = selection.config
        points = [one for one in product(tokens, head_dim, queries, count, more) if one[2] <= config.queries]
        cases = [[Step(t, d, bool(m) and at < n - 1, queries=q) for at in range(n)] for t, d, q, n, m in points]
        for point, found in zip(points, simulated(selection, cases), strict=True):
            asked = zip(("tokens", "head_dim", "queries", "count", "more"), point, strict=True)
            yield {"preset": name, "config": config, "skid": beats, **dict(asked), **found}


def multipliers(preset: Sequence[str], memory: Sequence[str], queries: Sequence[int]) -> Rows:
    """Time of the memory for a query if it waits for a unit of some multipliers per lane: a step of 4,096 tokens."""
    for (name, device_name), count in product(zip(preset, memory, strict=True), queries):
        config, device = PRESETS[name], load_memory(device_name)
        found: dict[bool, list[float]] = {True: [], False: []}
        for limit, some in product(found, (1, 2, 4)):
            clocks = -(-count // some) * device.column_bytes / config.beat_bytes
            cycles = int(np.ceil(clocks / config.clock_mhz * 1e6 / device.clock_ps - 1e-9))
            program = attention_program(config, device, [Step(4096, 128)], burst_cycles=cycles)
            timing = time_program(program, device, refresh=False, power_limit=limit)
            found[limit].append(float(timing.time_ns) / count / 1e3)
        texts = {
            limit: [f"{us:.1f} ({us_one / us:.2f})" for us in times for us_one in times[:1]]
            for limit, times in found.items()
        }
        limits = {"on": found[True], "off": found[False]} if texts[True] != texts[False] else {"on or off": found[True]}
        yield {"preset": name, "memory": device_name, "queries": count, "limits": limits}


def attention_errors(config: PamPuConfig, tokens: int) -> list[float]:
    """Errors of merged, normalised outputs and of the correctly rounded output, against binary64."""
    rng = np.random.default_rng(1)
    unit, best = [], []
    for _ in range(STEPS_PER_FIGURE):
        episode = random_episode(config, [Step(tokens, 128)], rng)
        reference = attention(config, episode.q[0], episode.k[0], episode.v[0])
        _, total, output = merge(config, episode.partials(config)[0])
        unit.append(output / total - reference)
        best.append(to_float64(from_float64(reference, config.io), config.io) - reference)
    return largest_and_mean([unit, best])


def merge_errors(config: PamRuConfig, kind: str, count: int, **more: Any) -> list[float]:
    """Errors against the merge of the same bits in binary64, head dimension 128: of the normalised output, and of the correctly
    rounded one. The last value is the largest error of m + ln l."""
    rng = np.random.default_rng(1)
    unit, best, logs = [], [], []
    for _ in range(16):
        share = [len(part) for part in np.array_split(np.arange(count), config.sources)]
        merge_of = pam_ru.random_merge(config, share, 128, rng, kind=kind)
        partials, result = merge_of.partials(config), merge_of.result(config)
        reference = pam_ru.merged(config, partials)
        unit.append(to_float64(result.o, config.io) - reference)
        best.append(to_float64(from_float64(reference, config.io), config.io) - reference)
        assert result.log_sum is not None
        m = to_float64(partials.m, config.score)
        exact = m.max() + np.log((np.exp(m - m.max()) * to_float64(partials.l, config.acc)).sum())
        logs.append(abs(float(to_float64(result.log_sum, config.acc)) - exact))
    return [*largest_and_mean([unit, best]), max(logs)]


def merges(preset: Sequence[str], head_dim: Sequence[int], rounds: Sequence[int]) -> Rows:
    """Merges of ``pam-ru`` of as many partial results for each source."""
    for name in preset:
        selection = select("pam-ru", preset=name)
        config: Any = selection.config
        rng = np.random.default_rng(1)
        cases = [(dim, n * config.sources) for dim, n in product(head_dim, rounds)]
        outcome = pam_ru.simulate(
            config,
            generate.verilog(selection),
            [
                [pam_ru.random_merge(config, pam_ru.spread_counts(config, n), dim, rng, queries=config.queries)]
                for dim, n in cases
            ],
        )
        if outcome.mismatches:
            raise SystemExit(f"{selection.label}: {outcome.first_mismatch}")
        for number, (dim, n) in enumerate(cases):
            yield {"preset": name, "head_dim": dim, "partials": n, **outcome.episode_cycles(number)}


def window(config: PamPuConfig, terms: int, result: Any) -> AlignedWindow:
    return AlignedWindow(config.io, config.acc.precision, config.guard_bits, terms, result)


# Operators and the softmax engine ---------------------------------------------------------------------------------------


def accuracy(name: str, config: Any) -> list[str]:
    """Largest and mean error in ulp, and the fraction that is not correctly rounded."""
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
    model, inputs = UNITS[name].load_model(), None
    if config.fmt.width > 16:
        inputs = np.sort(np.random.default_rng(1).integers(0, 1 << config.fmt.width, 50_000))
    e = ulp_errors(lambda a: model(config, a)[0], config.fmt, exact_function(functions[name]), inputs=inputs)
    sampled = "" if inputs is None else " (sample)"
    return [f"{e['max_ulp']:.3g}", f"{e['mean_ulp']:.3g}", f"{e['not_correctly_rounded']:.1%}{sampled}"]


def operators() -> Rows:
    """The published presets of every operator and two more. A pipelined operator is left out."""
    for unit in (u for u in UNITS.values() if u.name.startswith("fp-")):
        for name in (*unit.published_presets, *{"fp-fma": ("fp16-fp32",), "fp-dot": ("fp16",)}.get(unit.name, ())):
            config: Any = unit.presets[name]
            if not config.depth:
                yield {"target": unit.name, "preset": name, "config": config}


def softmax_sums() -> Rows:
    """Errors of sums by the rule and the length of rows."""
    rules = (
        replace(INF2_SOFTMAX, lanes=1, groups=1),
        INF2_SOFTMAX,
        INF2_SOFTMAX_FP32,
        replace(INF2_SOFTMAX_FP32, sums="window"),
    )
    rng = np.random.default_rng(1)
    draws: dict[str, Callable[[int], Any]] = {"equal": np.zeros, "uniform in -1..0": lambda n: rng.uniform(-1, 0, n)}
    for (label, draw), tokens in product(draws.items(), (1 << 10, 1 << 15, 1 << 17)):
        scores = from_float64(draw(tokens), FP16)
        errors = []
        for rule in rules:
            parts = softmax_parts(scores, None, rule)
            exact = to_float64(parts.weights[:tokens], FP16).sum()
            error = to_float64(parts.sum, rule.acc) / exact - 1
            errors.append("overflow" if np.isinf(error) else f"{100 * error:.2g} %" if error else "0")
        yield {"label": label, "tokens": tokens, "errors": errors}


def ku15p() -> Rows:
    """Resources of the accelerator in Table 2 of the paper, then of the presets with a record (minutes for each)."""
    from bankside.constraints.libraries.fpga import fpga_families
    from bankside.models.papers.claims import load_paper

    device, claims = fpga_families()["xcup"].devices["ku15p"], load_paper("inf2")
    whole = {**device.totals, **device.counted_as}
    printed = {kind: claims.claim(f"inf2-res-{kind}").value for kind in whole}
    yield {
        "label": "Table 2 of the paper",
        "cells": [f"{round(printed[kind] / 100 * total):,} ({printed[kind]} %)" for kind, total in whole.items()],
    }
    for name in UNITS["inf2-accelerator"].presets:
        record = RecordFolder().find(
            measure.measurement_of("synth", select("inf2-accelerator", preset=name), fpga="xcup")
        )
        if record is not None:
            count = device.taken(record.results["fpga"])
            cells = [f"{count[kind]:,} ({100 * count[kind] / total:.2f} %)" for kind, total in whole.items()]
            yield {"label": f"`{name}`", "cells": cells}


# AiM's channel and hub --------------------------------------------------------------------------------------------------


def second_port(synth: Any) -> float:
    """Gate equivalents of second ports of global buffers. A buffer is either filled or read, so one port would do; the
    netlist does not show this."""
    second = 1 + macro_family("generic")[1].extra_port_factor
    buffers = sum(m.area_um2_estimate for m in synth.memories if m.name.startswith("buffer"))
    return float(buffers / synth.nand2_um2 * (1 - 1 / second))


def banks(counts: Sequence[int]) -> Rows:
    """The hub's registers as one memory of two ports, and as so many single-ported banks, at the process of the library."""
    from bankside.models.cost.memories import load_cacti

    config = HUBS["lol-pim"]
    bits, width, cacti = 8 * config.gpr_bytes, config.word_bits, load_cacti()
    two, whole = buffer_cost(bits, width, 2, "45nm").mm2, cacti.find(bits, width, 2, "45nm")
    for count in (0, *counts):
        mm2 = buffer_cost(bits, width, 1, "45nm", banks=count).mm2 if count else two
        point = cacti.find(bits // count, width, 1, "45nm") if count else whole
        other = None if point is None or whole is None else max(count, 1) * point.mm2
        share = None if other is None or whole is None else other / whole.mm2
        yield {"count": count, "mm2": mm2, "share": mm2 / two, "cacti": other, "cacti_share": share}


def register_macros(memories: Sequence[Any], config: Any) -> tuple[int, float, float]:
    """The hub's memories of registers: their number, and mm² of the model and of CACTI."""
    own, ports = [dict(m) for m in memories if m.name.startswith("registers.")], register_ports(config)
    model = sum(buffer_cost(m["bits"], m["width"], macro_ports(m, ports), "45nm").mm2 for m in own)
    return len(own), model, (second_opinion(own, ports) or (0, 0.0, float("nan")))[2]


def hub_errors(config: Any, op: str, count: int) -> list[float]:
    """Errors of the functional model and of the correctly rounded result, against binary64 on the same bits."""
    unit, best = [], []
    for seed in range(8):
        x = from_float64(np.random.default_rng(seed).normal(size=count) * 2 + 1, config.fmt)
        got = hub_softmax(config, x) if op == "SOFTMAX" else layer_norm(config, x, centred=op == "LAYERNORM")
        right = pim_hub.exact(op, to_float64(x, config.fmt), config.epsilon)
        unit.append(to_float64(got, config.fmt) - right)
        best.append(to_float64(from_float64(right, config.fmt), config.fmt) - right)
    return largest_and_mean([unit, best])


# CENT ------------------------------------------------------------------------------------------------------------------


def wide_device() -> Rows:
    """The bench of a device with CENT's width; measured if there is no record."""
    from bankside.constraints.cent.device import wide

    block = {"hidden": 256, "head_dim": 64, "ffn": 704, "tokens": 1, "past": 95}
    measurement = measure.measurement_of("sim", Selection(UNITS["cent-device"], None, wide(2)), **block)
    record = RecordFolder().find(measurement)
    yield measure.make(measurement).to_json() if record is None else record.results


#: Hidden elements, heads, heads of K and V, and inner elements of models.
SHAPES = {"Llama-2-7B": (4096, 32, 32, 11008), "Llama-2-70B": (8192, 64, 8, 28672)}


def blocks(model: Sequence[str], channels: Sequence[int], tokens: Sequence[int]) -> Rows:
    """A block of models on so many channels: its instructions, and cycles of its memory beside the authors' order of commands.
    ``read``, ``fetched``, ``sent`` and ``computed`` are slots that pass the ports of the shared buffer."""
    from bankside.constraints.aim.hub import RECEIVING, SENDING
    from bankside.constraints.cent.isa import BY_OPCODE, WORD_BYTES, CentIsa, fields_of
    from bankside.constraints.cent.pnm import OPERANDS_OF
    from bankside.models.cent import BlockMapping, block_program, encode_words
    from bankside.models.cent.executable import SCALARS, ExecutableBlock, memory_commands
    from bankside.models.memory.aim import FrontEnd

    assert set(RECEIVING) == {"RD_MAC", "RD_AF", "RD_SBK"}
    device, theirs = load_memory("gddr6-aim"), FrontEnd("gddr6-aim", quirks="aim-simulator")
    for (name, many), count in product(zip(model, channels, strict=True), tokens):
        hidden, heads, kv_heads, ffn = SHAPES[name]
        program = ExecutableBlock(hidden, heads, kv_heads, 128, ffn, many).program(count, dict.fromkeys(SCALARS, 0))
        words, memory = encode_words(program, CentIsa()), memory_commands(program)
        columns = fields_of(words)
        commands = np.array([BY_OPCODE[code].command for code in columns["opcode"].tolist()])
        size = np.maximum(columns["OPsize"], 1)
        results = np.where(
            np.isin(commands, ("RD_MAC", "RD_AF")), np.bitwise_count(columns["CHmask"].astype(np.uint32)), 0
        )
        operands = size * np.where(commands == "EWADD", 2, 1)
        yield {
            "model": name,
            "channels": many,
            "tokens": count,
            "instructions": len(words),
            "bytes": len(words) * WORD_BYTES,
            "read": int(results.sum()),
            "fetched": int(np.where(commands == "RD_SBK", size, 0).sum()),
            "sent": int(np.where(np.isin(commands, SENDING), size, 0).sum()),
            "computed": int(np.where(np.isin(commands, tuple(OPERANDS_OF)), operands, 0).sum()),
            "clocks": round(FrontEnd(device).time(memory).cycles * device.clock_ps / 1000),
            "cycles": theirs.time(memory).cycles,
            "authors_cycles": theirs.time(block_program(BlockMapping(hidden, heads, kv_heads, ffn, many), count)).cycles,
        }  # fmt: skip


def causes(model: Sequence[str], devices: Sequence[int], stages: Sequence[int]) -> Rows:
    """From the authors' numbers to ours, at 2048 tokens."""
    from bankside.models.papers.cent import causes as cent
    from bankside.models.papers.cent.table import Configuration

    for row in cent.causes(Configuration(model[0], devices[0], stages[0], 1), 2048, RecordFolder()):
        yield {"label": cent.CAUSES.get(row.name, "the authors' simulator"), "found": row}


def controller() -> Rows:
    """Measured area of the units of CENT's controller in the processes of Table 5 and of the die, all of them, the authors'."""
    from bankside.models.papers.claims import load_paper
    from bankside.models.systems import load_system
    from bankside.models.systems.cent import CentSystem

    system = load_system("cent")
    assert isinstance(system, CentSystem)
    system.units.look_up(RecordFolder())
    small, large = (system.units.areas(node) for node in ("7nm", "28nm"))
    whole, paper = system.units.controller(), load_paper("cent")
    assert small is not None and large is not None and whole is not None
    for name, one in small.items():
        yield {"label": f"`{name}`", "kge": one.logic_ge / 1e3, "large": large[name].mm2, "small": f"{one.mm2:.3f}"}
    low, high = whole["measured_band_mm2"]
    yield {
        "label": "all",
        "kge": sum(one.logic_ge for one in small.values()) / 1e3,
        "large": sum(one.mm2 for one in large.values()),
        "small": f"{whole['measured_mm2']:.2f} ({low:.2f} to {high:.2f})",
    }
    published = next(claim.value["total"][0] for claim in paper.claims if claim.id == "cent-t5")
    small_text = f"{whole['published_mm2']:.2f}"
    yield {"label": "the authors' units near memory", "kge": None, "large": published, "small": small_text}


# Systems ---------------------------------------------------------------------------------------------------------------


def inf2_sensitivity() -> Rows:
    """One change of a run of INF² and of FlexGen."""
    from bankside.models.papers import Evidence
    from bankside.models.papers.inf2.series import sensitivity

    found = sensitivity(Evidence(RecordFolder()))
    for label, gain in found["gain"].items():
        yield {"label": label, "gain": gain, **{name: found[name][label] for name in ("flexgen", "inf2", "inputs")}}


def attention_ms(breakdown: Mapping[str, float]) -> float:
    """Attention with all that belongs to it."""
    parts = "kv_fetch", "attention_merge", "attention_softmax", "attention_kv_append", "migration_exposed"
    return sum(ms for name, ms in breakdown.items() if name in ("attention", *parts))


def ratios() -> Rows:
    """The calibrated ratios, and the times of the tiers that they lead to."""
    from bankside.constraints.core.document import load
    from bankside.constraints.systems import RATIOS, RatioTable

    for model, found in load(RATIOS, RatioTable).models.items():
        times = [float(part.split()[1]) for part in found.conditions.split(": ", 1)[1].split(", ")]
        yield {"model": model, "x": found.x, "y": found.y, "times": ", ".join(figure(one) or "" for one in times)}


def calibrated(models: Sequence[str] = ("llama-3-70b", "qwen2.5-32b", "opt-175b")) -> None:
    """Find the ratios of models anew. The ratios of the first model are also the default."""
    from bankside.constraints.core.document import load
    from bankside.constraints.core.workspace import write_files
    from bankside.constraints.systems import RATIOS, RatioTable
    from bankside.models.systems.calibration import table_text
    from bankside.studies.calibrate import calibrate

    for model in models:
        calibrate("pam", model, context=738, rounds=10, output=str(RATIOS))
    found = load(RATIOS, RatioTable)
    whole = found.model_copy(update={"models": {**found.models, "default": found.models[models[0]]}})
    write_files(Path(RATIOS).parent, {Path(RATIOS).name: table_text(whole)})


#: Groups of 4, 8, 5 and 1 queries. At this batch, all contexts fit for the models with groups.
SHARING_MODELS, SHARING_BATCH = ("llama-3-8b", "llama-3-70b", "qwen2.5-32b", "opt-175b"), 8


@cache
def _sharing() -> list[Any]:
    from bankside.models.llm import load_model
    from bankside.models.systems.sharing import sharing
    from bankside.studies.evaluate import measuring

    contexts = tuple(1 << n for n in range(11, 18))
    return measuring(
        lambda: sharing(RecordFolder(), [*map(load_model, SHARING_MODELS)], contexts, batch=SHARING_BATCH),
        True,
        None,
        print,
    )


def sharing() -> Rows:
    """Designs of ``pam-pu`` for several queries by model: a row under the power limit, and without it in ``free``."""
    from bankside.models.systems.sharing import best

    free = {(row.model, row.design): row for row in _sharing() if not row.power_limit}
    chosen = best(_sharing())
    for row in (one for one in _sharing() if one.power_limit):
        paces = [
            max(one.burst_cycles or 0, one.interval_cycles or 0)
            for one in (row, free.get((row.model, row.design), row))
        ]
        yield {
            "row": row,
            "free": free.get((row.model, row.design), row),
            "paces": paces,
            "best": chosen is not None and chosen.design == row.design,
        }


def both(on: str | None, off: str | None) -> str:
    """A cell with and without the power limit, once if they are equal."""
    return (on or "") if on == off else f"{on} / {off}"


def opened(commands: Mapping[str, int]) -> int:
    """Rows that a channel opened, counted once for all of its banks."""
    return sum(count for name, count in commands.items() if name.startswith("ACT"))


def selected_runs(
    method: Sequence[str], heads: Sequence[int], head_dim: Sequence[int], tokens: Sequence[int], budget: Sequence[int]
) -> Rows:
    """Cost of a selection in the channels of AttAcc, PAM and CENT, a head in each. The values of a system are access units of
    a head, cycles of all heads, and rows opened in a channel."""
    from bankside.models.attacc import AttentionLayer, LayerTimer
    from bankside.models.cent import BlockMapping, block_program
    from bankside.models.memory.aim import CHANNELS, FrontEnd
    from bankside.models.pam.selected import selected_program, unit_tokens
    from bankside.models.program import Program
    from bankside.models.program.selected import runs
    from bankside.models.sparse import make_method
    from bankside.models.sparse.source import Synthetic

    (count,), (dim,), (length,), (chosen,) = heads, head_dim, tokens, budget
    config, hbm = PRESETS["pam-hbm"], load_memory("hbm3-5.2")
    unit, width = unit_tokens(hbm), count * dim
    mapping = BlockMapping(width, count, count, 4 * width, count, slips=False, shared_inputs=False)
    source = Synthetic(count, dim)
    keys, (queries, _) = source.keys(length), source.queries(length)
    for name in method:
        own = make_method(name, chosen, **({"prefill": length} if name == "starc" else {}))
        slots = [
            own.placement(keys[n], length).of(own.choose(queries[n : n + 1], keys[n], np.array([length])).tokens)
            for n in range(count)
        ]
        each = {size: [runs(one, size) for one in slots] for size in (16, unit)}
        units = {size: float(np.mean([one[1].sum() for one in found])) for size, found in each.items()}
        layer = LayerTimer().time(AttentionLayer(length, count, selected=each[16]))
        timings = [  # a head is one program, and the longest of them counts
            time_program(selected_program(config, hbm, [Step(length // unit, dim)], [one]), hbm) for one in each[unit]
        ]
        stages = block_program(mapping, length, each[16]).body
        products = (stage for stage in stages if getattr(stage, "name", "") in ("attn_score", "attn_output"))
        block = FrontEnd().time(Program(products))
        yield {
            "method": name,
            "systems": [
                [units[16], layer.cycles, opened(layer.commands) / count],
                [
                    units[unit],
                    max(one.cycles for one in timings),
                    float(np.mean([opened(one.commands) for one in timings])),
                ],
                [units[16], block.cycles, opened(block.commands) / CHANNELS],
            ],
        }


def demo() -> str:
    """Results of the demo, from out/demo/results.json."""
    from rich.console import Console

    from bankside.pages.demo import answer
    from bankside.results.schemas import result_of
    from bankside.results.text import cosimulation_lines, summary_table
    from bankside.studies.decode import decode_text

    path = ROOT / "out" / "demo" / "results.json"
    if not path.is_file():
        raise SystemExit(f"{path}: not there; `make demo` writes it")
    data, out = result_of(json.loads(path.read_text())), io.StringIO()
    Console(file=out, width=104, color_system=None).print(summary_table(data))
    text = "\n".join(line.rstrip() for line in out.getvalue().splitlines())
    lines = (
        *answer(data.crossover),
        text,
        *cosimulation_lines(data.sim),
        *decode_text(result_of(data.decoding)).splitlines(),
    )
    return "\n".join(["```text", *lines, "```"])


#: Tables that a function makes whole.
TEXTS: Mapping[str, Callable[[], str]] = {"demo": demo}
