"""The whole loop once, on a real unit and a real model's shape: parameters, Verilog, cycles and area, a server, a text."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from bankside.constraints.core.workspace import write_files
from bankside.cosim.bench.build import LEVEL

from ..evidence.measure import measurement_of, require_equal
from ..evidence.side_by_side import failure, measure_all
from ..hardware.generate import generated_files, verilog
from ..hardware.selection import select
from ..pages import write_page
from ..pages.demo import answer, attention_ms
from ..provenance.envelope import enveloped
from ..results.demo import Channel, Crossover, CrossoverModel, CrossoverPoint, Demo, DemoSim
from ..results.schemas import result_of
from ..results.systems import Eval, plain_keys
from ..results.text import cosimulation_lines, summary_table
from ..results.units import Sim, Synth
from ..studies.decode import decode_text
from ..studies.evaluate import evaluate

__all__ = ["run"]

UNIT, PRESET, MEMORY = "pam-pu", "pam-hbm", "hbm3-5.2"
MODEL, CONTEXT, BATCH, TOKENS = "llama-3-70b", 4096, 16, 512
#: The GPUs alone, with the published unit, and with the same unit for the queries of a group: name on the page, system,
#: changes of its file.
SYSTEMS: dict[str, tuple[str, dict[str, Any]]] = {
    "gpu-only": ("gpu-only", {}),
    "pam-hbm-only": ("pam-hbm-only", {}),
    "pam-hbm-only, gqa8": ("pam-hbm-only", {"unit.preset": "pam-hbm-gqa8"}),
}
STAGES = 7

#: The unit's bits in a language model: system, its query head in Verilog, further systems on the same tokens, tokens to
#: generate. The prompt is held-out text of the model between these two lines.
DECODED, HEAD, COMPARED, GENERATED = "pam-hbm", "0.0", ("inf2", "lol-pim", "cent"), 32
PROMPT_FILE, DECODED_PAGE = "prompt.txt", "decode.html"
PROMPT = ("class TestTemplate(unittest.TestCase):\n", "    def test_regular_templates_with_upper_case(self):\n")

#: Rules of the GPUs. The charts are of the first.
RULES = ("measured", "roofline", "attacc-simulator")

#: Two models of about the same size, with 8 queries per KV head and with one, and contexts from short to long.
CROSSOVER, CONTEXTS = (MODEL, "qwen1.5-72b"), (512, 1024, 2048, 4096, 8192, 16384, 32768)


def with_channel(sim: Sim, channel: Channel) -> DemoSim:
    """The simulation of a unit with its decode step over the banks of a channel."""
    return DemoSim.model_validate({**sim.to_json(), "channel": channel})


def run(output: str, log: Callable[[str], None]) -> Demo:
    """Run the demo; files go to ``output``, the table to standard output."""
    began = time.perf_counter()
    os.environ.setdefault(LEVEL, "0")  # few clocks are simulated: the compiler need not optimise the models
    stage = 0

    def tell(text: str) -> None:
        nonlocal stage
        stage += 1
        log(f"[{stage}/{STAGES}] {time.perf_counter() - began:5.0f} s  {text}")

    folder = Path(output)
    write_files(folder, {})  # fails at once if it can't be written
    selection = select(UNIT, preset=PRESET)

    tell(f"generating {UNIT} {PRESET}")
    paths = write_files(folder / "rtl", generated_files(selection))
    tell(
        f"beside the next steps, decoding {GENERATED} tokens of a language model with {DECODED}, head {HEAD} in Verilog"
    )
    with _Decoding(folder) as decoding:
        tell(f"co-simulating against the functional model, data at the cycles of {MEMORY}, and synthesising beside it")
        asked = (
            measurement_of("sim", selection, memory=MEMORY, tokens=TOKENS, head_dim=128),
            measurement_of("synth", selection),
        )
        made = measure_all(asked, None, lambda text: log(f"           {text}"))
        results = {measurement.kind: outcome.result for measurement, outcome in made.items()}
        sim, synth = Sim.model_validate(results["sim"]), Synth.model_validate(results["synth"])

        tell(f"co-simulating one KV head's decode step: {TOKENS} tokens over the banks of a channel")
        figures: Any = sim.measured  # an instance of the unit's own class
        channel = _channel(selection, figures.softmax_gap_cycles)
        require_equal(channel)

        tell(f"evaluating {len(SYSTEMS)} systems with {MODEL}, context {CONTEXT}, batch {BATCH}")
        by_rule = [[_evaluate(system, MODEL, CONTEXT, BATCH, rule) for system in SYSTEMS] for rule in RULES]
        evaluations = by_rule[0]
        sweeps = {e.system: _sweep(e) for e in evaluations}

        tell(f"the same with {CROSSOVER[1]}, and with contexts of {CONTEXTS[0]} to {CONTEXTS[-1]} tokens")
        crossover = _crossover()
        decoded = decoding.result()

    tell("writing the page")
    commands = [
        f"bankside gen {UNIT} --preset {PRESET}",
        f"bankside sim {UNIT} --preset {PRESET} --tokens {TOKENS}",
        f"bankside synth {UNIT} --preset {PRESET}",
        *(
            " ".join(
                (
                    f"bankside eval {system} --model {MODEL} --context {CONTEXT} --batch {BATCH}",
                    *(f"--set {key}={value}" for key, value in (*changes.items(), ("gpu.rule", rule))),
                )
            )
            for system, changes in SYSTEMS.values()
            for rule in RULES
        ),
        decoding.command,
    ]
    files = [str(folder / name) for name in ("index.html", "results.json", PROMPT_FILE, DECODED_PAGE)] + [
        *map(str, paths)
    ]
    result = Demo(
        crossover=crossover,
        evaluations=evaluations,
        by_rule=by_rule,
        sweeps=sweeps,
        sim=with_channel(sim, channel),
        synth=synth,
        decoding=decoded,
        commands=commands,
        files=files,
    )
    document = enveloped(result.to_json(), "demo")
    write_files(folder, {"results.json": json.dumps(document, indent=1) + "\n"})
    write_page(folder / "index.html", document, result=result)
    write_page(folder / DECODED_PAGE, decoded)

    from rich.console import Console

    console = Console()
    for line in answer(crossover):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    console.print(summary_table(result))
    for line in (*cosimulation_lines(result.sim), decode_text(result_of(decoded))):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    log(f"done in {time.perf_counter() - began:.0f} s: {folder / 'index.html'}, {folder / 'results.json'}, {paths[0]}")
    return result


class _Decoding:
    """A process that decodes. Use it in ``with``: it ends with the block."""

    def __init__(self, folder: Path) -> None:
        from bankside.models.llm.weights import SMALL

        text = (SMALL / "heldout.txt").read_text(encoding="utf-8")
        begun = text.index(PROMPT[0])
        prompt = text[begun : text.index(PROMPT[1], begun) + len(PROMPT[1])]
        write_files(folder, {PROMPT_FILE: prompt})
        arguments = [
            "decode",
            "--prompt",
            str(folder / PROMPT_FILE),
            "--system",
            DECODED,
            "--tokens",
            str(GENERATED),
            "--rtl",
            HEAD,
            "--compare",
            ",".join(COMPARED),
        ]
        self.command = " ".join(["bankside", *arguments])
        self._out, self._said = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # pipes could fill up
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bankside", *arguments, "--json"],
            stdout=self._out,
            stderr=self._said,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGTERM)
            self._process.wait()
        self._out.close()
        self._said.close()

    def result(self) -> dict[str, Any]:
        """Wait for the result.

        Raises
        ------
        :exc:`CheckFailed`, :exc:`ConfigError` or :exc:`ToolMissing`
            If the command fails.
        """
        code = self._process.wait()
        for file in (self._out, self._said):
            file.seek(0)
        if code:
            lines = self._said.read().decode(errors="replace").strip().splitlines()
            raise failure(code)(f"`{self.command}` failed: {lines[-1] if lines else f'exit code {code}'}")
        return json.loads(self._out.read())


def _channel(selection: Any, gap_cycles: float) -> Channel:
    import math

    from bankside.constraints.memory import load_memory
    from bankside.cosim.pam.pu import simulate_channel
    from bankside.models.llm import load_model

    memory, shape = load_memory(MEMORY), load_model(MODEL)
    gap = math.ceil(gap_cycles / selection.config.clock_mhz * 1e6 / memory.clock_ps)
    channel = simulate_channel(
        selection.config,
        verilog(selection),
        memory=MEMORY,
        tokens=TOKENS,
        banks=memory.banks,
        queries=shape.heads // shape.kv_heads,
        head_dim=shape.head_dim,
        gap_cycles=gap,
    )
    return Channel(**channel)


def _evaluate(name: str, model: str, context: int, batch: int, rule: str) -> Eval:
    """Result of one of :data:`SYSTEMS`, which the page shows under this name."""
    system, changes = SYSTEMS[name]
    found = evaluate(system, model, context=context, batch=batch, changes={**changes, "gpu.rule": rule})
    return found.model_copy(update={"system": name})


def _crossover() -> Crossover:
    """Time of a token with units and without, at all contexts at which the batch fits. Each model has series with
    measured GPUs and with their roofline, for each unit that takes other numbers of its queries in a pass."""
    from bankside.constraints.core.errors import ConfigError
    from bankside.models.llm import load_model

    series = []
    without, *units = SYSTEMS
    for name in CROSSOVER:
        shape = load_model(name)
        for rule in RULES[:2]:
            known: dict[int, Eval] = {}
            taken: set[int] = set()
            for unit in units:
                points: list[CrossoverPoint] = []
                together = 0
                for context in CONTEXTS:
                    try:
                        if context not in known:
                            known[context] = _evaluate(without, name, context, BATCH, rule)
                        alone, aided = known[context], _evaluate(unit, name, context, BATCH, rule)
                    except ConfigError:
                        break  # the KV cache is full
                    together = plain_keys(aided.attention)["queries_per_pass"]
                    if together in taken:
                        break  # passes are those of a unit before
                    points.append(
                        CrossoverPoint(
                            context=context,
                            without_ms=alone.tpot_ms,
                            without_attention_ms=attention_ms(alone),
                            with_ms=aided.tpot_ms,
                            with_attention_ms=attention_ms(aided),
                        )
                    )
                if points:
                    taken.add(together)
                    series.append(
                        CrossoverModel(
                            model=name,
                            queries_per_kv_head=shape.heads // shape.kv_heads,
                            unit=unit,
                            queries_per_pass=together,
                            gpu_rule=rule,
                            points=points,
                        )
                    )
    return Crossover(systems=list(SYSTEMS), batch=BATCH, models=series)


def _sweep(evaluation: Eval) -> list[Eval]:
    """The same system and model at batches up to the largest that fits."""
    largest = evaluation.capacity.largest_batch
    batches = sorted({b for b in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024) if b <= largest} | {largest})
    return [_evaluate(evaluation.system, MODEL, CONTEXT, batch, RULES[0]) for batch in batches]
