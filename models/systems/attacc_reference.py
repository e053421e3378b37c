"""Systems against results of the AttAcc simulator, row by row and component by component.

A row of such a file is a run: conditions in some columns, the simulator's results in others. The same run is composed here
of the layers of the systems ``dgx``, ``dgx-attacc`` and ``dgx-cpu``. Results are of decoder layers alone, as in the
simulator. Columns ``s_`` are of the prompts, in ms. Columns ``g_`` are of a decode step, in ms and nJ.
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...constraints.core.document import read_text
from ...constraints.core.errors import ConfigError, nearest
from ..llm import ModelShape, Operator, layer_operators, simulated_models
from ..llm.operators import SOFTMAX_FLOPS
from .attacc import AttAccSystem
from .platform import GpuPlatform, MicroBatch
from .registry import load_system
from .results import Cost

__all__ = ["COMPONENTS", "CONDITIONS", "CYCLES", "SYSTEMS", "Run", "compare", "read_reference"]

CYCLES = "pim_cycles"

#: Columns with counts and cycles of one attention layer of a stack.
_PIM = (CYCLES, "pim_mac", "pim_latency_ns")

#: Operators by the group that the simulator counts them in.
_GROUPS = {
    "qkv": "qkv",
    "out_projection": "prj",
    "ffn_up": "ff",
    "ffn_gate": "ff",
    "ffn_down": "ff",
    "attention": "matmul",
    "attention_score": "matmul",
    "attention_context": "matmul",
    "attention_softmax": "softmax",
    "ffn_activation": "act",
    "attention_norm": "lnorm",
    "ffn_norm": "lnorm",
    "attention_allreduce": "g2g",
    "ffn_allreduce": "g2g",
    "attention_send": "c2g",
    "attention_receive": "c2g",
}

_PROMPT = ("s_time", "s_matmul", "s_fc", "s_comm", "s_softmax", "s_act", "s_lnorm")
_TIMES = (
    "g_time (ms)",
    "g_matmul",
    "g_fc",
    "g_comm",
    "g_etc",
    "g_qkv_time",
    "g_prj_time",
    "g_ff_time",
    "g2g_comm",
    "c2g_comm",
    "g_softmax",
    "g_act",
    "g_lnorm",
)
_ENERGIES = (
    "g_energy (nJ)",
    "g_dram_energy",
    "g_l2_energy",
    "g_l1_energy",
    "g_reg_energy",
    "g_alu_energy",
    "g_fc_mem_energy",
    "g_fc_comp_energy",
    "g_attn_mem_energy",
    "g_attn_comp_energy",
    "g_etc_mem_energy",
    "g_etc_comp_energy",
    "g_comm_energy",
)

#: Columns that are compared.
COMPONENTS = (*_PIM, "s_flops", "g_flops", *_PROMPT, *_TIMES, *_ENERGIES)

#: Systems that a row can name.
SYSTEMS = ("dgx", "dgx-attacc", "dgx-cpu")
_BASES = {"A100a": "dgx", "H100": "dgx-h100"}
_PLACEMENTS = {"bank": "bank", "bg": "bank-group", "buffer": "buffer"}
_FORMATS: dict[str, Literal["float16", "int8"]] = {"W16A16": "float16", "W8A8": "int8"}
_FLAGS = {"True": True, "False": False}


@dataclass(frozen=True)
class Run:
    """A row of a reference file.

    Attributes
    ----------
    path : :class:`str`
        The file.
    line : :class:`int`
        In the file.
    system, gpu, placement, model, format : :class:`str`
        Names of the simulator, but placements as in system files; empty without units.
    power_limit, feed_forward, heads : :class:`bool`
    input_tokens, output_tokens, batch, gpus : :class:`int`
        ``output_tokens`` counts the one that the prompt gives.
    results : mapping of column to number
        The :data:`COMPONENTS` that the row has.
    """

    path: str
    line: int
    system: str
    gpu: str
    placement: str
    model: str
    power_limit: bool
    feed_forward: bool
    heads: bool
    input_tokens: int
    output_tokens: int
    batch: int
    gpus: int
    format: str
    results: Mapping[str, float]

    @property
    def where(self) -> str:
        """File and line."""
        return f"{self.path}:{self.line}"

    @property
    def conditions(self) -> dict[str, Any]:
        """What the row was run with, by the file's columns."""
        short = {long: short for short, long in _PLACEMENTS.items()}
        return {
            "system": self.system,
            "gpu": self.gpu,
            "pim": short.get(self.placement, ""),
            "powerlimit": self.power_limit,
            "ffopt": self.feed_forward,
            "pipeopt": self.heads,
            "model": self.model,
            "Lin": self.input_tokens,
            "Lout": self.output_tokens,
            "bs": self.batch,
            "dtype": self.format,
            "cores": self.gpus,
        }


def _one_of(valid: Mapping[str, Any] | tuple[str, ...]) -> Callable[[str, str], Any]:
    def read(column: str, text: str) -> Any:
        if text not in valid:
            raise ConfigError(f"column '{column}': {nearest(column, text, valid)}")
        return valid[text] if isinstance(valid, Mapping) else text

    return read


def _whole(least: int, most: int) -> Callable[[str, str], int]:
    def read(column: str, text: str) -> int:
        if not text.isdecimal() or not least <= int(text[:12]) <= most or len(text) > 12:
            raise ConfigError(f"column '{column}': must be a whole number in {least}..{most}, not '{text[:40]}'")
        return int(text)

    return read


#: Columns with conditions, and what reads them.
CONDITIONS: dict[str, Callable[[str, str], Any]] = {
    "system": _one_of(SYSTEMS),
    "gpu": _one_of(tuple(_BASES)),
    "pim": _one_of({"": "", **_PLACEMENTS}),
    "powerlimit": _one_of(_FLAGS),
    "ffopt": _one_of(_FLAGS),
    "pipeopt": _one_of(_FLAGS),
    "model": lambda column, text: _one_of(tuple(simulated_models()))(column, text),
    "Lin": _whole(1, 1 << 20),
    "Lout": _whole(2, 1 << 12),
    "bs": _whole(1, 1 << 16),
    "dtype": _one_of(tuple(_FORMATS)),
    "cores": _whole(1, 1 << 10),
}


def read_reference(path: str | os.PathLike[str]) -> list[Run]:
    """Rows of a CSV file of the simulator's results, its conditions in front.

    Raises
    ------
    :exc:`ConfigError`
        With file, line and column: if a column of conditions is missing, there is none with results, or a value is wrong.
    """
    name = os.fspath(path)
    text = read_text(path, "a reference of the AttAcc simulator", 1 << 26)
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    runs: list[Run] = []
    try:
        header = next(lines, [])
        missing = [column for column in CONDITIONS if column not in header]
        if missing:
            raise ConfigError(
                f"not a reference of the AttAcc simulator: no column '{missing[0]}' (needed: {', '.join(CONDITIONS)})"
            )
        twice = sorted({column for column in header if header.count(column) > 1})
        if twice:
            raise ConfigError(f"column '{twice[0]}' comes twice")
        found = [column for column in COMPONENTS if column in header]
        if not found:
            raise ConfigError(f"no column with results (valid: {', '.join(COMPONENTS)})")
        for cells in lines:
            if cells:
                runs.append(_run(name, lines.line_num, header, cells, found))
        if not runs:
            raise ConfigError("no row with results")
    except csv.Error as error:
        raise ConfigError(f"{name}:{lines.line_num}: not CSV: {error}") from None
    except ConfigError as error:
        raise ConfigError(f"{name}:{max(lines.line_num, 1)}: {error}") from None
    return runs


def _run(path: str, line: int, header: list[str], cells: list[str], found: list[str]) -> Run:
    if len(cells) != len(header):
        raise ConfigError(f"{len(cells)} values where the header has {len(header)} columns")
    row = dict(zip(header, cells, strict=True))
    values = [read(column, row[column].strip()) for column, read in CONDITIONS.items()]
    system, gpu, placement, power_limit, feed_forward, heads, model, tokens, output, batch, form, gpus = values
    if (system == "dgx-attacc") != bool(placement):
        raise ConfigError(
            f"column 'pim': {system} "
            + ("needs one of bank, bg, buffer" if not placement else f"has no units: must be empty, not '{row['pim']}'")
        )
    results = {}
    for column in found:
        text = row[column].strip()
        if not text:
            continue
        try:
            results[column] = float(text)
        except ValueError:
            results[column] = math.nan
        if not math.isfinite(results[column]):
            raise ConfigError(f"column '{column}': must be a number, not '{text[:40]}'")
    return Run(
        path,
        line,
        system,
        gpu,
        placement,
        model,
        power_limit,
        feed_forward,
        heads,
        tokens,
        output,
        batch,
        gpus,
        form,
        results,
    )


# Running -----------------------------------------------------------------------------------------------------------------


class _Systems:
    """Systems of runs; those with equal settings are one, so that layers are timed once."""

    def __init__(self, changes: Mapping[str, Any]) -> None:
        self.changes = dict(changes)
        self.known: dict[tuple[Any, ...], GpuPlatform] = {}

    def of(self, run: Run) -> GpuPlatform:
        key = (run.system, run.gpu, run.placement, run.power_limit, run.feed_forward, run.heads, run.gpus)
        if key not in self.known:
            base = _BASES[run.gpu]
            changes: dict[str, Any] = {"gpu.count": run.gpus, "parallelism.tensor": run.gpus}
            if run.system == "dgx-attacc":
                changes |= {
                    "placement": run.placement,
                    "power_limit": run.power_limit,
                    "overlaps.feed_forward": run.feed_forward,
                    "overlaps.pipelining": "heads" if run.heads else "transfers",
                }
            if run.system != "dgx":
                changes["base"] = base
            system = load_system(base if run.system == "dgx" else run.system, changes | self.changes)
            assert isinstance(system, GpuPlatform)
            self.known[key] = system
        return self.known[key]


def compare(runs: Iterable[Run], changes: Mapping[str, Any] | None = None) -> Iterator[dict[str, float]]:
    """What the systems give for each run, by the columns that it has. ``changes`` of system files are made to all.

    Raises
    ------
    :exc:`ConfigError`
        With file and line, for a run that a system can't do.
    """
    systems = _Systems(changes or {})
    for run in runs:
        model = simulated_models(_FORMATS[run.format])[run.model]
        try:
            found = _results(systems.of(run), model, run)
        except ConfigError as error:
            raise ConfigError(f"{run.where}: {error}") from None
        yield {column: found[column] for column in run.results}


def _results(system: GpuPlatform, model: ModelShape, run: Run) -> dict[str, float]:
    """All components of a run; times in ms and energies in nJ, of all layers, means over the decode steps."""
    contexts = run.input_tokens + np.arange(1, run.output_tokens, dtype=np.int64)
    layer = system.layer(model, MicroBatch(run.batch, run.batch), contexts)
    times: dict[str, float] = {}
    memory: dict[str, float] = {}
    compute: dict[str, float] = {}
    levels: dict[str, float] = {}
    for name, cost in layer.items():
        group = _GROUPS[name]
        times[group] = times.get(group, 0.0) + _mean(cost.time_s, contexts) * model.layers * 1e3
        for level, pj in cost.levels_pj.items():
            energy = _mean(pj, contexts) * model.layers * 1e-3
            levels[level] = levels.get(level, 0.0) + energy
            if level != "links":
                kind = memory if level == "memory" else compute
                kind[group] = kind.get(group, 0.0) + energy

    def total(parts: Mapping[str, float], *groups: str) -> float:
        return sum(parts.get(group, 0.0) for group in groups)

    linear, attention, rest = ("qkv", "prj", "ff"), ("matmul", "softmax"), ("act", "lnorm")
    return {
        **_prompt(system, model, run),
        **_stack(system, model, run),
        "g_flops": sum(_mean(op.flops, contexts) for op in layer_operators(model, run.batch, contexts, system.tp))
        * system.tp
        * model.layers,
        "g_time (ms)": sum(times.values()),
        "g_matmul": total(times, "matmul"),
        "g_fc": total(times, *linear),
        "g_comm": total(times, "g2g", "c2g"),
        "g_etc": total(times, *rest),
        "g_qkv_time": total(times, "qkv"),
        "g_prj_time": total(times, "prj"),
        "g_ff_time": total(times, "ff"),
        "g2g_comm": total(times, "g2g"),
        "c2g_comm": total(times, "c2g"),
        "g_softmax": total(times, "softmax"),
        "g_act": total(times, "act"),
        "g_lnorm": total(times, "lnorm"),
        "g_energy (nJ)": sum(levels.values()),
        "g_dram_energy": total(levels, "memory"),
        "g_l2_energy": total(levels, "l2"),
        "g_l1_energy": total(levels, "l1"),
        "g_reg_energy": total(levels, "registers"),
        "g_alu_energy": total(levels, "arithmetic"),
        "g_fc_mem_energy": total(memory, *linear),
        "g_fc_comp_energy": total(compute, *linear),
        "g_attn_mem_energy": total(memory, *attention),
        "g_attn_comp_energy": total(compute, *attention),
        "g_etc_mem_energy": total(memory, *rest),
        "g_etc_comp_energy": total(compute, *rest),
        "g_comm_energy": total(levels, "links"),
    }


def _prompt(system: GpuPlatform, model: ModelShape, run: Run) -> dict[str, float]:
    """The prompts, on the GPUs: each attends to all of its tokens, in three kernels or one as in decoding."""
    tokens, heads, roofline = run.input_tokens, model.heads // system.tp, system.roofline
    half: dict[str, Any] = {
        "count": heads * run.batch,
        "dtype_bytes": model.dtype_bytes,
        "kv_bytes": heads * run.batch * tokens * model.head_dim * model.dtype_bytes,
        "activation_bytes": heads * run.batch * tokens * model.head_dim * model.dtype_bytes,
    }
    products = 2 * heads * run.batch * tokens * tokens * model.head_dim
    score = Operator("attention_score", "attention", tokens, tokens, model.head_dim, flops=products, **half)
    context = Operator("attention_context", "attention", tokens, model.head_dim, tokens, flops=products, **half)
    costs: list[tuple[str, Cost]] = []
    flops = 2 * products + SOFTMAX_FLOPS * heads * run.batch * tokens * tokens
    for op in layer_operators(model, run.batch * tokens, 1, system.tp):
        if op.kind != "attention":
            flops += op.flops
            costs.append((op.name, roofline.of(op, system.tp)))
    costs += roofline.attention(score, context, run.batch).items()
    out = dict.fromkeys(_PROMPT, 0.0)
    columns = {
        "qkv": "s_fc",
        "prj": "s_fc",
        "ff": "s_fc",
        "matmul": "s_matmul",
        "softmax": "s_softmax",
        "act": "s_act",
        "lnorm": "s_lnorm",
        "g2g": "s_comm",
    }
    for name, cost in costs:
        ms = float(np.max(cost.time_s)) * model.layers * 1e3
        out[columns[_GROUPS[name]]] += ms
        out["s_time"] += ms
    return out | {"s_flops": flops * system.tp * model.layers / (run.output_tokens - 1)}


def _stack(system: GpuPlatform, model: ModelShape, run: Run) -> dict[str, float]:
    """An attention layer of the busiest stack at the first decode step."""
    if not isinstance(system, AttAccSystem):
        return {}
    timing = system.timing(model, run.input_tokens + 1, system.heads(model, run.batch))
    return {
        CYCLES: timing.cycles,
        "pim_latency_ns": timing.time_ns,
        "pim_mac": sum(count for name, count in timing.commands.items() if name.startswith("MAC_")),
    }


def _mean(value: Any, contexts: np.ndarray) -> float:
    return float(np.mean(np.broadcast_to(value, contexts.shape)))
