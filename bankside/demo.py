"""The whole loop once, on a real unit and a real model's shape: parameters to Verilog to cycles and area to a server."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bankside.constraints.workspace import write_files

from .envelope import enveloped
from .evaluate import evaluate
from .generate import generated_files, verilog
from .measure import measurement_of, require_equal
from .measuring import measure_all
from .report import summary_table, write_report
from .selection import select

__all__ = ["run"]

UNIT, PRESET, MEMORY = "pam-pu", "pam-hbm", "hbm3-5.2"
MODEL, CONTEXT, BATCH, TOKENS = "llama-3-70b", 4096, 16, 512
SYSTEMS = ("gpu-only", "pam-hbm-only")
STAGES = 5


def run(output: str, log: Callable[[str], None]) -> dict[str, Any]:
    """Run the demo; files go to ``output``, the table to standard output."""
    began = time.perf_counter()
    stage = 0

    def tell(text: str) -> None:
        nonlocal stage
        stage += 1
        log(f"[{stage}/{STAGES}] {time.perf_counter() - began:5.0f} s  {text}")

    folder = Path(output)
    write_files(folder, {})  # tells at once if it can't be written
    selection = select(UNIT, preset=PRESET)

    tell(f"generating {UNIT} {PRESET}")
    paths = write_files(folder / "rtl", generated_files(selection))
    tell(f"co-simulating against the functional model, data at the cycles of {MEMORY}, and synthesising beside it")
    asked = (measurement_of("sim", selection, memory=MEMORY, tokens=TOKENS, head_dim=128),
             measurement_of("synth", selection))
    made = measure_all(asked, None, lambda text: log(f"           {text}"))
    results = {measurement.kind: outcome.result or {} for measurement, outcome in made.items()}
    sim, synth = results["sim"], results["synth"]
    tell(f"co-simulating one KV head's decode step: {TOKENS} tokens over the banks of a channel")
    channel = _channel(selection, sim)
    require_equal(channel)

    tell(f"evaluating {' and '.join(SYSTEMS)} with {MODEL}, context {CONTEXT}, batch {BATCH}")
    evaluations = [evaluate(system, MODEL, context=CONTEXT, batch=BATCH) for system in SYSTEMS]
    sweeps = {e["system"]: _sweep(e) for e in evaluations}

    tell("writing the page")
    commands = [f"bankside gen {UNIT} --preset {PRESET}", f"bankside sim {UNIT} --preset {PRESET} --tokens {TOKENS}",
                f"bankside synth {UNIT} --preset {PRESET}",
                *(f"bankside eval {s} --model {MODEL} --context {CONTEXT} --batch {BATCH}" for s in SYSTEMS)]
    data = {"evaluations": evaluations, "sweeps": sweeps, "sim": {**sim, "channel": channel}, "synth": synth,
            "commands": commands}
    files = [str(folder / "index.html"), str(folder / "results.json"), *map(str, paths)]
    result = {"schema": 1, **data, "files": files}
    write_files(folder, {"results.json": json.dumps(enveloped(result, "demo"), indent=1) + "\n"})
    write_report(folder / "index.html", data)

    from rich.console import Console

    console = Console()
    console.print(summary_table(data))
    console.print(f"channel: {channel['tokens']} tokens over {channel['banks']} banks, {channel['queries']} queries: "
                  f"{channel['vectors']} result beats bit-exact, {channel['time_ns'] / 1e3:.1f} us "
                  f"(memory alone {channel['memory_time_ns'] / 1e3:.1f} us), max error {channel['max_abs_error']:.2g}",
                  highlight=False)
    log(f"done in {time.perf_counter() - began:.0f} s: {folder / 'index.html'}, {folder / 'results.json'}, {paths[0]}")
    return result


def _channel(selection: Any, sim: dict[str, Any]) -> dict[str, Any]:
    import math

    from bankside.constraints.memory import load_memory
    from bankside.cosim.pam_pu import simulate_channel
    from bankside.models.llm import load_model

    memory, shape = load_memory(MEMORY), load_model(MODEL)
    gap = math.ceil(sim["softmax_gap_cycles"] / selection.config.clock_mhz * 1e6 / memory.clock_ps)
    return simulate_channel(selection.config, verilog(selection), memory=MEMORY, tokens=TOKENS, banks=memory.banks,
                            queries=shape.heads // shape.kv_heads, head_dim=shape.head_dim, gap_cycles=gap)


def _sweep(evaluation: dict[str, Any]) -> list[dict[str, Any]]:
    """The same system and model at batches up to the largest that fits."""
    largest = evaluation["capacity"]["largest_batch"]
    batches = sorted({b for b in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024) if b <= largest} | {largest})
    return [evaluate(evaluation["system"], MODEL, context=CONTEXT, batch=batch) for batch in batches]
