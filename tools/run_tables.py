"""Rewrite the table of docs/starc/system.md that shows what a selection costs in the channels of three systems.

Usage::

    .venv/bin/python tools/run_tables.py            rewrites the table
    .venv/bin/python tools/run_tables.py --json     prints the figures as JSON instead
    .venv/bin/python tools/run_tables.py --print    prints the table instead

The table stands in the page between ``<!-- table channel_runs -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bankside.constraints.core.errors import BanksideError
from bankside.constraints.core.workspace import write_files
from bankside.constraints.memory import load_memory
from bankside.constraints.pam.pu import PRESETS, Step
from bankside.models.attacc import AttentionLayer, LayerTimer
from bankside.models.cent import BlockMapping, block_program
from bankside.models.memory import time_program
from bankside.models.memory.aim import CHANNELS, FrontEnd
from bankside.models.pam.selected import selected_program, unit_tokens
from bankside.models.program import Program
from bankside.models.program.selected import runs
from bankside.models.sparse import make_method
from bankside.models.sparse.source import Synthetic
from bankside.pages.unit_page import fill, table

ROOT = Path(__file__).resolve().parent.parent

PAGE = "docs/starc/system.md"

#: Heads with a channel each, their elements, tokens of K and V, and the tokens that a selection takes.
HEADS, HEAD_DIM, TOKENS, BUDGET = 16, 128, 2048, 256

#: Method of each row.
ROWS = {"all tokens": "full", "token-wise": "top", "page-wise": "quest", "clustered": "starc"}


def selections() -> dict[str, list[np.ndarray]]:
    """Slots of each head, by name of the row."""
    source = Synthetic(HEADS, HEAD_DIM)
    keys, (queries, _) = source.keys(TOKENS), source.queries(TOKENS)
    out = {}
    for name, method in ROWS.items():
        own = make_method(method, BUDGET, **({"prefill": TOKENS} if method == "starc" else {}))
        counts = np.array([TOKENS])
        out[name] = [
            own.placement(keys[head], TOKENS).of(own.choose(queries[head : head + 1], keys[head], counts).tokens)
            for head in range(HEADS)
        ]
    return out


def opened(commands: Mapping[str, int]) -> int:
    """Rows that a channel opened, counted once for all of its banks."""
    return sum(count for name, count in commands.items() if name.startswith("ACT"))


def attacc(slots: Sequence[np.ndarray]) -> tuple[float, int, float]:
    """Access units of a head, cycles of all heads, and rows opened in a channel."""
    layer = AttentionLayer(TOKENS, HEADS, selected=[runs(own, 16) for own in slots])
    timing = LayerTimer().time(layer)
    return mean_units(slots, 16), timing.cycles, opened(timing.commands) / HEADS


def pam(slots: Sequence[np.ndarray]) -> tuple[float, int, float]:
    """The same. A head is one program, and the longest of them counts."""
    config, memory = PRESETS["pam-hbm"], load_memory("hbm3-5.2")
    unit = unit_tokens(memory)
    timings = [
        time_program(selected_program(config, memory, [Step(TOKENS // unit, HEAD_DIM)], [runs(own, unit)]), memory)
        for own in slots
    ]
    return (
        mean_units(slots, unit),
        max(timing.cycles for timing in timings),
        float(np.mean([opened(timing.commands) for timing in timings])),
    )


def cent(slots: Sequence[np.ndarray]) -> tuple[float, int, float]:
    """The same: products of queries and keys, and of probabilities and values, in a block of as many channels."""
    mapping = BlockMapping(
        HEADS * HEAD_DIM, HEADS, HEADS, 4 * HEADS * HEAD_DIM, HEADS, slips=False, shared_inputs=False
    )
    block = block_program(mapping, TOKENS, [runs(own, 16) for own in slots])
    timing = FrontEnd().time(
        Program(stage for stage in block.body if getattr(stage, "name", "") in ("attn_score", "attn_output"))
    )
    return mean_units(slots, 16), timing.cycles, opened(timing.commands) / CHANNELS


def mean_units(slots: Sequence[np.ndarray], unit: int) -> float:
    return float(np.mean([runs(own, unit)[1].sum() for own in slots]))


def figures() -> dict[str, dict[str, dict[str, float]]]:
    """Figures by row and system."""
    return {
        row: {
            system.__name__: dict(zip(("units", "cycles", "rows"), system(slots), strict=True))
            for system in (attacc, pam, cent)
        }
        for row, slots in selections().items()
    }


def channel_runs(rows: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    names = {"attacc": "AttAcc", "pam": "PAM", "cent": "CENT"}
    out: list[list[Any]] = []
    for row, systems in rows.items():
        cells = [
            f"{one[key]:,.{digits}f}"
            for one in systems.values()
            for key, digits in (("units", 1), ("cycles", 0), ("rows", 1))
        ]
        out.append([row + (f" (`{ROWS[row]}`)" if ROWS[row] != "full" else ""), *cells])
    return table(
        ["selection", *(f"{name}: {key}" for name in names.values() for key in ("units", "cycles", "rows"))], out
    )


def main(arguments: Sequence[str]) -> None:
    known = ("--json", "--print")
    for argument in arguments:
        if argument not in known:
            raise SystemExit(f"unknown option '{argument}' (valid: {', '.join(known)})")
    rows = figures()
    if "--json" in arguments:
        print(json.dumps(rows, indent=1))
    elif "--print" in arguments:
        print(channel_runs(rows))
    else:
        write_files(ROOT, {PAGE: fill((ROOT / PAGE).read_text(), {"channel_runs": channel_runs(rows)})})


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except BanksideError as error:
        raise SystemExit(f"run_tables: {error}") from None
