"""Speed of the tool itself: measured, printed, never asserted in a test."""

from __future__ import annotations

import fnmatch
import functools
import json
import os
import platform
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from bankside.constraints.core.document import parse_json, read_text, validate
from bankside.constraints.core.errors import CheckFailed, ConfigError
from bankside.constraints.core.workspace import write_files

from ..provenance.version import PACKAGE, version
from ..results.tool import Bench, BenchBefore, BenchCompared, BenchMachine, Benchmark

__all__ = ["Entry", "compared", "entry_of", "keep", "last", "lines", "run"]

_CHECKOUT = PACKAGE.parent

#: The history of a checkout. An installed package keeps its history in the working folder.
HISTORY = (
    _CHECKOUT / "docs" / "bench-history.jsonl"
    if (_CHECKOUT / "pyproject.toml").is_file()
    else Path("bench-history.jsonl")
)

#: Bytes of a history that are read at most; a whole run has about 6 kB.
MAX_BYTES = 1 << 24


class Entry(BenchBefore):
    """A line of a history: one run of ``bankside bench``. Seconds are better when smaller, rates when larger."""

    results: list[Benchmark]


def run(log: Callable[[str], None], pattern: str = "*", show: Callable[[str], None] = print) -> Bench:
    """Measure the benchmarks with names like ``pattern``. ``show`` gets one line per figure as soon as it is there.

    Raises
    ------
    :exc:`ConfigError`
        If no benchmark has a name like ``pattern``.
    """
    rows = []
    chosen = [one for one in _benchmarks() if fnmatch.fnmatchcase(one[0], pattern)]
    if not chosen:
        raise ConfigError(f"no benchmark is called '{pattern}': " + ", ".join(name for name, _ in _benchmarks()))
    for name, function in chosen:
        log(f"measuring: {name}")
        for what, value, unit in function():
            rows.append(Benchmark(benchmark=name, what=what, value=value, unit=unit))
            show(f"{name:<24} {what:<46} {value:>14,.4g} {unit}")
    return Bench(results=rows)


def entry_of(result: Bench) -> Entry:
    """The line of a history for the result of :func:`run`, measured here and now."""
    return Entry(
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        version=version(),
        commit=_commit(),
        machine=BenchMachine(processor=_processor(), cores=os.cpu_count() or 1, python=platform.python_version()),
        results=result.results,
    )


def _commit() -> str | None:
    """Commit of the checkout; None without git. ``-dirty`` says that files differ from it."""
    command = ["git", "-C", str(_CHECKOUT), "describe", "--always", "--dirty", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        text = ""
    names = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def last(path: str | Path) -> Entry:
    """The last run in a history.

    Raises
    ------
    :exc:`ConfigError`
        If the file can't be read or has no run, or if its last line is no run.
    """
    text = read_text(path, "a history of benchmarks", MAX_BYTES)
    numbered = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not numbered:
        raise ConfigError(f"{path}: no run in it; `bankside bench --keep` adds one")
    number, line = numbered[-1]
    where = f"{path}:{number}"
    return validate(parse_json(line, where, numbered=False), Entry, where)


def keep(path: str | Path, entry: Entry | None = None) -> None:
    """Add ``entry`` to the history ``path``, which is made if it is not there. Without ``entry`` only check the file.

    Raises
    ------
    :exc:`ConfigError`
        If the file is no history, or can't be written.
    """
    path = Path(path)
    before = read_text(path, "a history of benchmarks", MAX_BYTES) if path.exists() else ""
    if before.strip():
        last(path)
        before = before.rstrip("\n") + "\n"
    if entry is not None:
        write_files(path.parent, {path.name: f"{before}{json.dumps(entry.model_dump())}\n"})


def compared(before: Entry, now: Entry) -> list[BenchCompared]:
    """Figures that both runs have."""
    known = {(row.benchmark, row.what, row.unit): row.value for row in before.results}
    return [
        BenchCompared(
            benchmark=row.benchmark,
            what=row.what,
            before=was,
            now=row.value,
            unit=row.unit,
            speed=was / row.value if row.unit == "s" else row.value / was,
        )
        for row in now.results
        if (was := known.get((row.benchmark, row.what, row.unit)))
    ]


def lines(before: Entry, now: Entry) -> list[str]:
    """The comparison for people: one line per figure that both runs have."""
    head = f"against {before.date}, version {before.version}, commit {before.commit or 'unknown'}"
    if before.machine != now.machine:
        one = before.machine
        head += f"; other machine: {one.processor}, {one.cores} cores, Python {one.python}"
    rows = compared(before, now)
    return [
        head,
        *(
            f"{row.benchmark:<24} {row.what:<46} {row.before:>12,.4g} -> {row.now:>12,.4g} {row.unit:<11}"
            f" {row.speed:6.2f} times as fast"
            for row in rows
        ),
        *([] if rows else ["no figure is in both runs"]),
    ]


def _benchmarks() -> list[tuple[str, Callable[[], Iterable[tuple[str, float, str]]]]]:
    return [
        ("start", _starts),
        ("co-simulation of one PU", _cosimulation),
        ("heads in RTL", _live_heads),
        ("functional model", _model),
        ("operators", _operators),
        ("timing engine", _timing),
        ("plain requests", _requests),
        ("AiM traces", _traces),
        ("CENT's blocks", _blocks),
        ("CENT's results", _cent_results),
        ("attacc layers", _layers),
        ("Verilog generation", _generation),
        ("system evaluation", _evaluation),
        ("decode step of pam", _decode_step),
        ("decoding", _decoding),
        ("serving", _serving),
    ]


#: Commands whose time is mostly their start; ``TRACE`` is a file of two lines.
_STARTS = (
    ("list",),
    ("eval", "gpu-only", "--model", "llama-3-70b"),
    ("time", "TRACE"),
    ("eval", "cent", "--model", "llama-2-70b"),
)


def _starts() -> Iterator[tuple[str, float, str]]:
    """User and system time of whole commands, as multiples of the time of imports that every command needs.

    Each is the median of 9 runs with byte code and caches in place. A command without the records that it needs is left out."""
    import os
    import statistics
    import subprocess
    import sys
    import tempfile
    from pathlib import Path

    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}

    def seconds(words: Iterable[str]) -> float | None:
        spent = []
        for _ in range(10):  # the first one fills caches
            before = os.times()
            if subprocess.run([sys.executable, *words], env=environment, capture_output=True).returncode:
                return None
            after = os.times()
            spent.append(after[2] + after[3] - before[2] - before[3])
        return statistics.median(spent[1:])

    imports = seconds(["-c", "import numpy, pydantic, yaml"])
    assert imports is not None
    yield "import numpy, pydantic, yaml", imports, "s"
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace"
        trace.write_text("AiM WR_SBK 0 1 0 0\nAiM EOC\n")
        for command in _STARTS:
            words = [str(trace) if word == "TRACE" else word for word in command]
            if (spent := seconds(["-m", "bankside", *words])) is not None:
                yield " ".join(command), spent / imports, "x imports"


def _cosimulation() -> list[tuple[str, float, str]]:
    from bankside.constraints.pam.pu import Step
    from bankside.cosim.pam.pu import random_episode, simulate

    from ..hardware.generate import verilog
    from ..hardware.selection import select

    out = []
    for preset in ("pam-hbm", "pam-ddr", "pam-ssd"):
        selection = select("pam-pu", preset=preset)
        config: Any = selection.config
        text = verilog(selection)
        rng = np.random.default_rng(1)
        tokens = 4096
        beats = 2 * tokens * config.chunks(128)
        steps = [Step(tokens, 128, number < 7) for number in range(max(1_000_000 // beats, 1))]
        data = random_episode(config, steps[:1], rng)
        # The queries of a group share K and V.
        episode = type(data)(
            [Step(s.tokens, s.head_dim, s.more and i < len(steps) - 1) for i, s in enumerate(steps)],
            data.q * len(steps),
            data.k * len(steps),
            data.v * len(steps),
        )
        simulate(config, text, [random_episode(config, [Step(1, 128)], rng)])  # builds the model
        began = time.perf_counter()
        outcome = simulate(config, text, [episode])
        seconds, clocks = time.perf_counter() - began, outcome.run.clocks
        if outcome.mismatches:
            raise CheckFailed(f"{preset}: {outcome.first_mismatch}")
        out.append((f"{preset}, {clocks} clocks, simulator alone", clocks / outcome.run.seconds, "clocks/s"))
        out.append((f"{preset}, with stimulus, model and comparison", clocks / seconds, "clocks/s"))
    return out


def _live_heads() -> list[tuple[str, float, str]]:
    """Tokens of a model with 4 layers, 4 query and 2 KV heads of dimension 128 at 2048 tokens, in two live simulations."""
    from bankside.cosim.bench.request import Part
    from bankside.cosim.live.pam import Bank, LivePamPu, Named, PamRequest
    from bankside.models.numerics import from_float64

    from ..hardware.generate import latency, verilog
    from ..hardware.selection import select

    selection, tokens = select("pam-pu", preset="pam-hbm"), 3
    config: Any = selection.config
    rng = np.random.default_rng(1)

    def draw(*shape: int, scale: float = 1.0) -> np.ndarray:
        return from_float64(rng.normal(size=shape) * scale, config.io)

    part = Part(config, verilog(selection), selection.unit.module, latency(selection))
    with LivePamPu(part, 128, count=2, room=2048 + tokens) as live:
        banks = [Bank(layer, head) for layer in range(4) for head in range(2)]
        for bank in banks:
            live.append(bank, draw(2047, 128), draw(2047, 128))
        seconds = 0.0
        for token in range(tokens):
            if token == 1:
                seconds = time.perf_counter()  # the first one compiles the functional model
                before = live.figures.clocks
            for layer in range(4):
                for bank in banks[2 * layer : 2 * layer + 2]:
                    live.append(bank, draw(128), draw(128))
                live.attend(
                    [
                        PamRequest(
                            banks[2 * layer + head // 2],
                            draw(128, scale=128**-0.5),
                            2048 + token,
                            Named(2047 + token, layer, head),
                        )
                        for head in range(4)
                    ]
                )
        seconds = time.perf_counter() - seconds
        figures = live.figures
        return [
            ("pam-hbm, 16 heads at 2048 tokens, a simulator", figures.clocks / figures.seconds, "clocks/s"),
            ("two simulators, model and comparison", (figures.clocks - before) / seconds, "clocks/s"),
            ("32 tokens of the 16 heads", 32 * seconds / (tokens - 1), "s"),
        ]


def _model() -> list[tuple[str, float, str]]:
    from bankside.constraints.pam.pu import PRESETS, Step
    from bankside.cosim.pam.pu import random_episode
    from bankside.models.numerics import exact_products

    out = []
    rng = np.random.default_rng(1)
    config = PRESETS["pam-hbm"]
    episode = random_episode(config, [Step(4096, 128)], rng)
    seconds = _cpu(lambda: episode.partials(config))
    out.append(("attention over tokens (d = 128)", 4096 / seconds, "tokens/s"))
    a, b = rng.integers(0, 1 << 16, (2, 1_000_000))
    out.append(("exact products", 1e6 / _cpu(lambda: exact_products(a, b, config.io)), "products/s"))
    return out


def _operators() -> list[tuple[str, float, str]]:
    from bankside.constraints.core.formats import FORMATS, FP16
    from bankside.models.numerics import add, dot, fma, multiply

    out = []
    rng = np.random.default_rng(1)
    for name, fmt in FORMATS.items():
        a, b, c = rng.integers(0, 1 << fmt.width, (3, 4_000_000))
        functions: dict[str, Callable[..., Any]] = {"multiply": multiply, "add": add, "fma": fma}
        for what, function in functions.items():
            operands = (a, b, c) if what == "fma" else (a, b)
            function(*(x[:1000] for x in operands), fmt)  # tables
            seconds = _cpu(functools.partial(function, *operands, fmt))
            out.append((f"{what} {name}", len(a) / seconds, "results/s"))
    x, y = rng.integers(0, 1 << 16, (2, 200_000, 16))
    dot(x[:10], y[:10], fmt=FP16)
    out.append(("fused dot of 16 lanes fp16", len(x) / _cpu(lambda: dot(x, y, fmt=FP16)), "results/s"))
    return out


def _timing() -> list[tuple[str, float, str]]:
    from bankside.constraints.memory import load_memory
    from bankside.constraints.pam.pu import PRESETS, Step
    from bankside.models.memory import time_program
    from bankside.models.pam.program import attention_program

    memory = load_memory("hbm3-5.2")
    config = PRESETS["pam-hbm"]
    out = []
    for tokens in (512, 32768):
        program = attention_program(config, memory, [Step(tokens, 128)])
        commands = sum(program.counts().values())
        for mode in ("jump", "step"):
            if mode == "step" and tokens > 1000:
                continue
            seconds = _cpu(functools.partial(time_program, program, memory, mode=mode))
            out.append((f"{tokens} tokens a bank, {mode}", commands / seconds, "commands/s"))
    return out


def _requests() -> list[tuple[str, float, str]]:
    """Requests per second, from the trace file to the result."""
    import tempfile
    from pathlib import Path

    from bankside.models.memory.request_reader import read_requests
    from bankside.models.memory.requests import RequestFrontEnd

    rng = np.random.default_rng(1)
    count = 200_000
    out = []
    with tempfile.TemporaryDirectory() as folder:
        for what, lines in (("stream", np.arange(count)), ("random", rng.integers(0, 1 << 24, count))):
            path = Path(folder) / what
            path.write_text(
                "".join(f"{'ST' if n % 3 == 2 else 'LD'} {line * 64:#x}\n" for n, line in enumerate(lines.tolist()))
            )
            for memory, controller in (("ddr4-3200-jedec", "ramulator"), ("hbm3-5.2", "attacc-simulator")):

                def run(path: Path = path, memory: str = memory, controller: str = controller) -> None:
                    front_end = RequestFrontEnd(memory, controller)
                    front_end.run(read_requests(path, front_end))

                run()  # compiles
                out.append((f"{what}, {memory}", count / _cpu(run), "requests/s"))
    return out


def _traces() -> list[tuple[str, float, str]]:
    """Lines of traces read and timed in a second. Results are reused within a trace, but not from before it."""
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from bankside.models.cent import BlockMapping, block_program
    from bankside.models.memory.aim import FrontEnd
    from bankside.models.memory.aim_trace import read_trace, time_trace, trace_lines

    out = []
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trace"
        blocks = {"Llama2-7B": BlockMapping(4096, 32, 32, 11008, 8), "Llama2-70B": BlockMapping(8192, 64, 8, 28672, 10)}
        for name, mapping in blocks.items():
            path.write_text("\n".join(trace_lines(block_program(mapping, 512))))
            for what, function in (("in parts", time_trace), ("line by line", FrontEnd.run)):
                function(FrontEnd(quirks="aim-simulator"), read_trace(path, FrontEnd()))  # compiles
                front_end = FrontEnd(quirks="aim-simulator")
                lines = 0

                def run(function: Callable[..., Any] = function, front_end: FrontEnd = front_end) -> None:
                    nonlocal lines
                    lines = function(front_end, read_trace(path, front_end)).instructions

                seconds = _cpu(run)
                out.append((f"AiM, a block of {name}, 512 tokens, {what}", lines / seconds, "lines/s"))
    return out


#: CENT's evaluation: devices that share a matrix (tensor parallelism), by model, and channels of a block without it.
_CENT = {
    "llama-2-7b": (8, (1, 2, 4, 8)),
    "llama-2-13b": (16, (1, 2, 4, 5, 10, 20)),
    "llama-2-70b": (10, (1, 2, 4, 8, 16, 32)),
}


def _blocks() -> list[tuple[str, float, str]]:
    """Time of block programs on AiM channels, their construction included."""
    from bankside.models.cent import BlockMapping, block_program
    from bankside.models.llm import load_model
    from bankside.models.memory.aim import FrontEnd

    def mapping(name: str, channels: int, devices: int = 1) -> BlockMapping:
        model = load_model(name)
        return BlockMapping(model.hidden_size, model.heads, model.kv_heads, model.intermediate_size, channels, devices)

    FrontEnd(quirks="aim-simulator").time(block_program(mapping("llama-2-7b", 8), 5))  # compiles
    front_end = FrontEnd(quirks="aim-simulator")
    out = [
        (
            f"Llama2-70B at 4096 tokens, {what}",
            _cpu(lambda: front_end.time(block_program(mapping("llama-2-70b", 10), 4096))),
            "s",
        )
        for what in ("from cold", "seen before")
    ]
    front_end = FrontEnd(quirks="aim-simulator")
    count = 0

    def positions() -> None:
        nonlocal count
        for name, (channels, factors) in _CENT.items():
            for each in (mapping(name, channels), *(mapping(name, 32, devices) for devices in factors)):
                for tokens in range(1, each.max_tokens + 1):
                    front_end.time(block_program(each, tokens))
                    count += 1

    seconds = _cpu(positions)
    return [*out, (f"Llama2 7B, 13B, 70B, all {count} positions", seconds, "s")]


def _cent_results() -> list[tuple[str, float, str]]:
    """The table of ``bankside repro cent --results``, on all cores."""
    from bankside.models.papers.cent.table import CONFIGURATIONS, results

    began = time.perf_counter()
    rows = results().count("\n") - 1
    return [(f"{len(CONFIGURATIONS)} configurations, {rows} rows", time.perf_counter() - began, "s")]


def _generation() -> list[tuple[str, float, str]]:
    from ..hardware.generate import _generate
    from ..hardware.selection import select

    def generate() -> None:
        _generate.cache_clear()
        chosen = select("pam-pu")
        _generate(chosen.unit, chosen.config, chosen.unit.module)

    return [("pam-hbm", _cpu(generate), "s")]


def _evaluation() -> list[tuple[str, float, str]]:
    from bankside.models.llm import load_model
    from bankside.models.systems import evaluate

    from ..evidence.records import RecordFolder

    model = load_model("llama-3-70b")
    seconds = _cpu(lambda: evaluate("gpu-only", model, context=4096, batch=16, records=RecordFolder()))
    return [("gpu-only, LLaMA-3-70B, one point", seconds, "s")]


def _decode_step() -> list[tuple[str, float, str]]:
    """A step of PAM: activations, importance, times of the tiers, moves, new tokens. It measures nothing without the
    records of its times."""
    import numpy as np

    from bankside.models.llm import load_model
    from bankside.models.systems import MissingRecord, load_system
    from bankside.models.systems.capabilities import PlacesTokens

    from ..evidence.records import RecordFolder

    batch, context, steps = 8192, 738, 3
    system, model = load_system("pam"), load_model("llama-3-70b")
    try:
        system = system.bind(model, RecordFolder()).system
    except MissingRecord:
        return []
    assert isinstance(system, PlacesTokens)
    node = system.node(model, np.full(batch, context, np.int64), steps + 1)
    node.settle()
    node.step()  # compiles
    seconds = _cpu(lambda: [node.step() for _ in range(steps)]) / steps
    return [(f"LLaMA-3-70B, {batch} requests of {context} tokens", seconds, "s")]


#: Shape of the benchmark's model: 4 million random weights.
_DECODER = {
    "model_type": "llama",
    "hidden_size": 256,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 128,
    "intermediate_size": 704,
    "vocab_size": 1024,
    "max_position_embeddings": 2048,
    "tie_word_embeddings": True,
}


def _decoding() -> Iterator[tuple[str, float, str]]:
    """Processor time of the perplexity of a text, compiled before; float32's logits are known."""
    import json
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from bankside.models.decode import BACKENDS, compare, make_backend, teacher_forced
    from bankside.models.llm import load_model
    from bankside.models.llm.weights import Model, expected_tensors

    rng = np.random.default_rng(1)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "config.json"
        path.write_text(json.dumps(_DECODER))
        shape = load_model(path)
    tensors = {
        name: (rng.normal(size=size) * size[-1] ** -0.5 if len(size) > 1 else np.ones(size)).astype(np.float32)
        for name, size in expected_tensors(shape).items()
    }
    model = Model(Path("."), shape, tensors, None, 1e-5, 10000.0 ** (-np.arange(64) / 64))
    tokens = rng.integers(0, shape.vocab_size, 2048)
    exact = {count: teacher_forced(model, make_backend("float32"), tokens[:count]) for count in (40, 512, 2048)}

    def seconds(name: str, count: int) -> float:
        return _cpu(
            lambda: compare(model, teacher_forced(model, make_backend(name), tokens[:count], reference=exact[count]))
        )

    for name in (*BACKENDS, "quest-256-pam"):
        seconds(name, 40)  # compiles
        for count in (512, 2048):
            yield f"perplexity of {count} tokens, {name}", seconds(name, count), "s"


def _layers() -> list[tuple[str, float, str]]:
    """Attention layers on AttAcc's stacks, as the public simulator does them."""
    from bankside.models.attacc import AttentionLayer, LayerTimer

    out = []
    timer = LayerTimer(quirks="attacc-simulator")

    def sweep(placement: str, tokens: range, heads: tuple[int, ...]) -> float:
        layers = [AttentionLayer(count, n, placement, quirks="attacc-simulator") for n in heads for count in tokens]
        timer.known.clear()
        return len(layers) / _cpu(lambda: [timer.time(layer) for layer in layers])

    sweep("bank", range(1, 2), (1,))  # compiles
    heads = (1, 8, 16, 20, 32, 40)
    out.append(("every length to 4096, 6 numbers of heads", sweep("bank", range(1, 4097), heads), "layers/s"))
    out.append(("multiples of 16 to 4096: all new", sweep("bank", range(16, 4097, 16), heads), "layers/s"))
    for placement in ("bank-group", "buffer"):
        rate = sweep(placement, range(256, 4097, 256), (1,))
        out.append((f"{placement}, multiples of 256, 1 head: all new", rate, "layers/s"))
    layer = AttentionLayer(4096, 16, quirks="attacc-simulator")
    requests = layer.requests()
    commands = sum(timer.controller.time(requests).commands.values()) / 16
    seconds = _cpu(lambda: [timer.controller.time(requests) for _ in range(100)]) / 100
    out.append(("4096 tokens, 16 heads, commands of a channel", commands / seconds, "commands/s"))
    return out


def _serving() -> list[tuple[str, float, str]]:
    """Requests served in a second, every decode step evaluated."""
    from bankside.models.llm import load_model
    from bankside.models.serving import Policy, draw, serve, served_system

    from ..evidence.records import RecordFolder

    count = 5000
    workload = draw("sharegpt", count)
    out = []
    for limit in (256, 4096):
        system = served_system("gpu-only", load_model("llama-3-70b"), records=RecordFolder())
        seconds = _cpu(functools.partial(serve, system, workload, Policy(batch_limit=limit)))
        out.append((f"gpu-only, ShareGPT, batch limit {limit}", count / seconds, "requests/s"))
    return out


def _cpu(function: Callable[[], Any]) -> float:
    """CPU seconds of one call."""
    began = time.process_time()
    function()
    return max(time.process_time() - began, 1e-9)
