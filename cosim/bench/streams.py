"""Play recorded items to a unit's streams and collect its answers: the bench that all units share."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...constraints.core.errors import CheckFailed, ToolMissing
from ...constraints.core.formats import FloatFormat
from ...constraints.core.workspace import cache_folder
from .build import build_model, model_arguments, simulator_environment

if TYPE_CHECKING:
    import jinja2

__all__ = [
    "POWER_UP",
    "TAGS",
    "EpochLog",
    "Items",
    "StreamPort",
    "StreamRun",
    "compare",
    "is_clocked",
    "play",
    "reset_clocks",
    "stop_simulations",
    "verdict",
]

#: Number of classes of items that are counted separately.
TAGS = 4


@dataclass(frozen=True)
class StreamPort:
    """A stream of the unit: its name in the bench, its port prefix, payload width in bits, direction.

    ``numbers``: name, lowest bit and format of each part that waveforms also show as a number.
    """

    name: str
    width: int
    is_input: bool
    numbers: tuple[tuple[str, int, FloatFormat], ...] = ()

    @property
    def port(self) -> str:
        return self.name

    @property
    def payload_bytes(self) -> int:
        return -(-self.width // 8)

    @property
    def record(self) -> int:
        """Bits of an item in the file: epoch, cycle, tag, payload."""
        return 72 + 8 * self.payload_bytes


@dataclass
class Items:
    """Items for one input stream, in order.

    Attributes
    ----------
    payload : uint8 array of shape ``(items, payload_bytes)``, least significant byte first
    epoch, cycle : integer arrays of shape ``(items,)``
        An item is offered in its epoch, not before this cycle of the epoch.
    tag : integer array, below ``TAGS``
    """

    payload: np.ndarray
    epoch: np.ndarray
    cycle: np.ndarray
    tag: np.ndarray

    @classmethod
    def of(
        cls, payload: np.ndarray, *, epoch: np.ndarray | int = 0, cycle: np.ndarray | int = 0, tag: np.ndarray | int = 0
    ) -> Items:
        n = len(payload)
        return cls(payload, *(np.broadcast_to(np.asarray(a, np.int64), n) for a in (epoch, cycle, tag)))

    @classmethod
    def join(cls, parts: Sequence[Items]) -> Items:
        """All items of ``parts``, one after the other."""
        return cls(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in ("payload", "epoch", "cycle", "tag"))
        )

    def file_bytes(self, port: StreamPort) -> bytes:
        n = len(self.payload)
        out = np.zeros((n, port.record // 8), np.uint8)
        for start, values in ((0, self.epoch), (4, self.cycle)):
            out[:, start : start + 4] = np.asarray(values, ">u4").reshape(n, 1).view(np.uint8).reshape(n, 4)
        out[:, 8] = self.tag
        out[:, 9:] = self.payload[:, ::-1]
        return out.tobytes()


@dataclass(frozen=True)
class EpochLog:
    """Counts of one epoch. Cycles count from 0; arrays have shape ``(TAGS,)``, one entry for each tag.

    ``first`` and ``last`` are the cycles of the first and last transfer (meaningless where ``moved`` is 0).
    """

    end_cycle: int
    moved: dict[str, np.ndarray]
    stalled: dict[str, np.ndarray]
    first: dict[str, np.ndarray]
    last: dict[str, np.ndarray]

    def _cycles(self, which: str, names: Sequence[str]) -> list[int]:
        return [int(n) for name in names for n in getattr(self, which)[name][self.moved[name] > 0]]

    def first_of(self, names: Sequence[str]) -> int:
        """Cycle of the first transfer on any of these streams; 0 if there was none."""
        return min(self._cycles("first", names), default=0)

    def last_of(self, names: Sequence[str]) -> int:
        """Cycle of the last transfer on any of these streams; 0 if there was none."""
        return max(self._cycles("last", names), default=0)


@dataclass
class StreamRun:
    """Result of :func:`play`: recorded payloads by output stream (uint8, ``(items, payload_bytes)``), and counts.

    ``output_cycles``: by output stream, the cycle of its epoch in which each item was taken.
    """

    outputs: dict[str, np.ndarray]
    epochs: list[EpochLog]
    clocks: int
    seconds: float
    waves: Path | None = None
    faults: list[str] = field(default_factory=list)
    output_cycles: dict[str, np.ndarray] = field(default_factory=dict)


def play(
    verilog: str,
    top: str,
    ports: Sequence[StreamPort],
    items: Mapping[str, Items],
    targets: Mapping[str, np.ndarray],
    *,
    stalls: Mapping[str, float] | None = None,
    lazy: bool = False,
    seed: int = 1,
    limit: int = 1 << 31,
    waves: Path | None = None,
    power_up: str = "zeros",
    resets: int = 0,
) -> StreamRun:
    """Simulate a unit. It is reset once before its first item.

    With ``power_up="random"`` or ``resets`` everything is first simulated from zeros, with no further reset. From other
    states the unit must give the same items in the same cycles. Every difference is one of ``faults``.

    Parameters
    ----------
    verilog, top : text and name of the unit's module; its ports are ``NAME__valid`` / ``__ready`` / ``__payload``
    ports : all its streams
    items : for every input stream
    targets : for every output stream, the number of items that end each epoch
    stalls : probability, per stream, that an input is not offered or an output not accepted in a cycle
    lazy : outputs become ready only after they were valid for a cycle
    seed : of the stalls, of random contents and of the clocks of resets
    limit : cycles after which an epoch counts as hung
    waves : file to copy the waveform to (the suffix is set by the format: ``.fst`` or ``.vcd``)
    power_up : what registers and memories hold before the first reset: ``"zeros"`` or ``"random"``
    resets : number of further resets: the first when all items have been played, the others at random clocks. Answers
        before a reset are compared and left out of the result. Then everything is played from the first item again

    Raises
    ------
    :exc:`CheckFailed`
        If the simulation crashed or an epoch hung.
    """
    if power_up not in POWER_UP:
        raise ValueError(f"Power-up must be one of {', '.join(POWER_UP)}, not {power_up!r}")
    unit = _Unit(verilog, top, tuple(ports), waves)
    options: dict[str, Any] = {"stalls": stalls or {}, "lazy": lazy, "seed": seed, "limit": limit}
    if power_up == "zeros" and not resets:
        (done,), clocks, seconds, kept = unit.run(items, targets, **options)
        return StreamRun(done.outputs, done.epochs, clocks, seconds, kept, done.faults, done.cycles)
    (plain,), length, before, _ = dataclasses.replace(unit, waves=None).run(items, targets, **options)
    cuts = reset_clocks(length, resets, seed)
    played, clocks, seconds, kept = unit.run(items, targets, **options, random=power_up == "random", resets=cuts)
    faults = list(plain.faults)
    for number, (done, clock) in enumerate(zip(played, (*cuts, None), strict=True)):
        told = f"after reset {number} at clock {cuts[number - 1]}" if number else f"from {power_up} registers"
        faults += [f"{told}: {what}" for what in (*done.faults, *_differences(plain, done, targets, clock))]
    return StreamRun(
        played[-1].outputs, played[-1].epochs, length + clocks, before + seconds, kept, faults, played[-1].cycles
    )


#: Contents that registers and memories of a unit can have before its first reset.
POWER_UP = ("zeros", "random")


def reset_clocks(length: int, resets: int, seed: int) -> list[int]:
    """Clocks after which a run of ``length`` clocks is reset: at its end, then anywhere."""
    return [length - 1, *np.random.default_rng(seed).integers(1, length, max(resets - 1, 0)).tolist()][:resets]


@dataclass
class _Played:
    """Answers and counts between two resets, as the bench saw them."""

    outputs: dict[str, np.ndarray]
    cycles: dict[str, np.ndarray]
    epochs: list[EpochLog]
    faults: list[str]
    lines: list[str]


def _differences(plain: _Played, done: _Played, targets: Mapping[str, np.ndarray], clock: int | None) -> list[str]:
    """Differences between the answers until ``clock`` (None: to the end) and the beginning of ``plain``."""
    found = [
        f"epoch {n} has other cycles: {got} instead of {want}"
        for n, (got, want) in enumerate(zip(done.lines, plain.lines, strict=False))
        if got != want
    ][:1]
    starts = np.cumsum([0, *(log.end_cycle + 1 for log in plain.epochs)])
    for name, want in plain.outputs.items():
        epochs = np.repeat(np.arange(len(plain.epochs)), np.asarray(targets[name])[: len(plain.epochs)])
        cycles, got = plain.cycles[name], done.outputs[name]
        size = min(len(epochs), len(cycles))
        count = size if clock is None else int(np.count_nonzero(starts[epochs[:size]] + cycles[:size] < clock))
        if len(got) != count:
            found.append(f"{name}: {len(got)} items instead of {count}")
        both = min(count, len(got))
        wrong = np.flatnonzero((got[:both] != want[:both]).any(axis=1) | (done.cycles[name][:both] != cycles[:both]))
        if len(wrong):
            at = int(wrong[0])
            (a, b), (c, d) = (
                ("0x" + side.outputs[name][at][::-1].tobytes().hex(), int(side.cycles[name][at]))
                for side in (done, plain)
            )
            found.append(f"{name} {at} (epoch {epochs[at]}): {a} in cycle {b} instead of {c} in cycle {d}")
    return found


@dataclass(frozen=True)
class _Unit:
    """A unit with its bench, see :func:`play`."""

    verilog: str
    top: str
    ports: tuple[StreamPort, ...]
    waves: Path | None

    def run(
        self,
        items: Mapping[str, Items],
        targets: Mapping[str, np.ndarray],
        *,
        stalls: Mapping[str, float],
        lazy: bool,
        seed: int,
        limit: int,
        random: bool = False,
        resets: Sequence[int] = (),
    ) -> tuple[list[_Played], int, float, Path | None]:
        """Play the items once, and again from the first item after each reset. Returns the answers of each time, the
        number of all clocks, seconds of the simulation, and the file of the waveform."""
        inputs = [p for p in self.ports if p.is_input]
        outputs = [p for p in self.ports if not p.is_input]
        text = bench_text(self.top, inputs, outputs, clocked=is_clocked(self.verilog), waves=self.waves is not None)
        model = build_model(self.verilog, self.top, text, waves=self.waves is not None)
        base = cache_folder() / "runs"
        base.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="run-", dir=base) as name:
            work = Path(name)
            for port in inputs:
                (work / f"{port.name}.bin").write_bytes(items[port.name].file_bytes(port))
            counts = np.stack([np.asarray(targets[p.name]) for p in outputs], axis=1)
            (work / "epochs.bin").write_bytes(counts.astype(">u4").tobytes())
            (work / "resets.bin").write_bytes(np.array(resets, ">u4").tobytes())
            rng = np.random.default_rng(seed)
            plusargs = [f"+limit={limit}"]
            if random:
                plusargs += ["+verilator+rand+reset+2", f"+verilator+seed+{1 + seed % (2**31 - 1)}"]
            for port in self.ports:
                chance = stalls.get(port.name, 0.0)
                plusargs += [
                    f"+{port.name}_stall={min(int(chance * 2**32), 2**32 - 1)}",
                    f"+{port.name}_seed={int(rng.integers(1, 2**32))}",
                ]
                if lazy and not port.is_input:
                    plusargs.append(f"+{port.name}_lazy=1")
            seconds = _simulate(model, work, plusargs, seed, self.waves is not None)
            summary = json.loads((work / "summary.json").read_text())
            logs = [_read_log(part, inputs) for part in _parts((work / "log.txt").read_bytes())]
            log, faults, _ = logs[-1]
            if any(f.startswith("limit") for f in faults):
                after = f" after reset {len(logs) - 1}" if len(logs) > 1 else ""
                raise CheckFailed(
                    f"{self.top}: {len(log)} of {len(counts)} epochs finished{after}, then no end within "
                    f"{limit} cycles ({faults[-1]})"
                )
            recorded = {
                p.name: [_read_output(part, p) for part in _parts((work / f"{p.name}.out").read_bytes())]
                for p in outputs
            }
            kept = None
            if self.waves is not None:
                dump = next(iter(sorted(work.glob("dump.*"))), None)
                if dump is not None:
                    kept = self.waves.with_suffix(dump.suffix)
                    shutil.move(dump, kept)
        played = [
            _Played(
                {name: parts[n][0] for name, parts in recorded.items()},
                {name: parts[n][1] for name, parts in recorded.items()},
                *log,
            )
            for n, log in enumerate(logs)
        ]
        return played, summary["clocks"], seconds, kept


def _parts(text: bytes) -> list[bytes]:
    """Contents of a bench's file, split at the resets."""
    return re.split(rb"^reset.*\n", text, flags=re.MULTILINE)


def is_clocked(verilog: str) -> bool:
    """Whether a unit has a clock. A unit without registers has none."""
    return re.search(r"\binput\s+(wire\s+)?clk\b", verilog) is not None


@functools.cache
def _bench_template() -> jinja2.Template:
    import jinja2

    source = resources.files(__package__).joinpath("bench.sv.j2").read_text()
    return jinja2.Environment(
        trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    ).from_string(source)


def bench_text(
    top: str, inputs: Sequence[StreamPort], outputs: Sequence[StreamPort], *, clocked: bool = True, waves: bool = False
) -> str:
    numbers = [(port, *number) for port in (*inputs, *outputs) for number in port.numbers] if waves else []
    return _bench_template().render(
        top=top, inputs=list(inputs), outputs=list(outputs), tags=TAGS, clocked=clocked, numbers=numbers
    )


#: Simulations in progress, in any thread.
_running: set[subprocess.Popen[str]] = set()


def stop_simulations() -> None:
    """Stop every simulation in progress. The threads that wait for them raise :exc:`CheckFailed`."""
    for process in tuple(_running):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)


def _simulate(model: Path, work: Path, plusargs: list[str], seed: int, waves: bool) -> float:
    """Run the program under cocotb in ``work``. Returns the wall time of the simulator process in seconds."""
    import time

    from cocotb_tools import config
    from cocotb_tools.check_results import get_results
    from find_libpython import find_libpython

    env = simulator_environment()
    libpython = find_libpython()
    if libpython is None:
        raise ToolMissing("cocotb needs a shared libpython: apt-get install libpython3-dev")
    env.update(
        {
            "PATH": env["PATH"] + os.pathsep + str(config.libs_dir),
            "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
            "PYGPI_PYTHON_BIN": sys.executable,
            "GPI_USERS": f"{libpython};{config.pygpi_entry_point()}",
            "COCOTB_TOPLEVEL": "bench",
            "COCOTB_TEST_MODULES": f"{__package__}.tb_streams",
            "TOPLEVEL_LANG": "verilog",
            "COCOTB_TRUST_INERTIAL_WRITES": "1",
            "COCOTB_RANDOM_SEED": str(seed),
            "COCOTB_REWRITE_ASSERTION_FILES": "",  # the bench has no assertion; rewriting them takes most of a short run
            "COCOTB_RESULTS_FILE": str(work / "results.xml"),
            "BENCH_SUMMARY": str(work / "summary.json"),
        }
    )
    began = time.perf_counter()
    command = [str(model / "bench"), *(["--trace"] if waves else []), *plusargs, *model_arguments()]
    process = subprocess.Popen(
        command, cwd=work, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    _running.add(process)
    try:
        output, _ = process.communicate()
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.communicate()
        raise
    finally:
        _running.discard(process)
    seconds = time.perf_counter() - began
    tests = failed = 0
    if (work / "results.xml").exists():
        tests, failed = get_results(work / "results.xml")
    # A simulation that ran no test, or crashed, is a failure too.
    if process.returncode or failed or tests != 1 or not (work / "summary.json").exists():
        lines = [line for line in output.splitlines() if re.search("rror|ault|xception", line)] or output.splitlines()[
            -1:
        ]
        raise CheckFailed(
            f"the simulation stopped (exit {process.returncode}, {failed} of {tests} tests failed): "
            f"{(lines or ['no output'])[0].strip()}"
        )
    return seconds


def _read_log(text: bytes, inputs: Sequence[StreamPort]) -> tuple[list[EpochLog], list[str], list[str]]:
    """Counts of epochs, faults, and the unchanged lines of epochs."""
    epochs, faults, lines = [], [], []
    for line in text.decode().splitlines():
        kind, *rest = line.split()
        if kind != "epoch":
            faults.append(line)
            continue
        numbers = np.array(rest[2:], np.int64).reshape(len(inputs), TAGS, 4)
        parts = [{p.name: numbers[i, :, k] for i, p in enumerate(inputs)} for k in range(4)]
        epochs.append(EpochLog(int(rest[1]), *parts))
        lines.append(line)
    return epochs, faults, lines


def _read_output(text: bytes, port: StreamPort) -> tuple[np.ndarray, np.ndarray]:
    """Payloads and cycles of an output stream."""
    words = text.split()
    digits = 2 * port.payload_bytes
    joined = b"".join(word.rjust(digits, b"0") for word in words[1::2])
    data = np.frombuffer(bytes.fromhex(joined.decode()), np.uint8).reshape(len(words) // 2, port.payload_bytes)
    return data[:, ::-1], np.array(words[::2], np.int64)


def compare(
    run: StreamRun,
    items: Mapping[str, Items],
    expected: Mapping[str, np.ndarray],
    targets: Mapping[str, Sequence[int] | np.ndarray],
    *,
    part: Callable[[str, int, int], str] | None = None,
) -> tuple[int, str | None, list[str]]:
    """Number of mismatches, the first one as text, and notes.

    A row of an output that differs, is missing or is surplus is a mismatch. Further mismatches are an input whose items
    were not all taken, and a fault that the bench saw.

    Parameters
    ----------
    items : of every input
    expected : rows of every output
    targets : for every output, the number of rows in each epoch
    part : names a row: called with the output, the episode and the row's number in it
    """
    notes, mismatches, first = list(run.faults), len(run.faults), None
    for name, block in items.items():
        taken = sum(int(log.moved[name].sum()) for log in run.epochs)
        if taken != len(block.payload):
            mismatches += 1
            notes.append(f"{name}: {taken} of {len(block.payload)} items taken")
    for name, right in expected.items():
        got = run.outputs[name]
        count = min(len(got), len(right))
        wrong = np.flatnonzero((got[:count] != right[:count]).any(axis=1))
        mismatches += len(wrong) + abs(len(got) - len(right))
        if first is None and (len(wrong) or len(got) != len(right)):
            at = int(wrong[0]) if len(wrong) else count
            pair = ["0x" + rows[at][::-1].tobytes().hex() if at < len(rows) else "nothing" for rows in (got, right)]
            ends = np.cumsum(targets[name])
            episode = int(np.searchsorted(ends, at, side="right"))
            where = f"episode {episode}"
            if part is not None and episode < len(ends):
                where += ", " + part(name, episode, at - int(np.r_[0, ends][episode]))
            first = f"{name} {at} ({where}): got {pair[0]}, expected {pair[1]}"
    return mismatches, first or (notes[0] if notes else None), notes


class Compared(Protocol):
    """A run that was compared with the model."""

    @property
    def vectors(self) -> int: ...
    @property
    def mismatches(self) -> int: ...
    @property
    def first_mismatch(self) -> str | None: ...
    @property
    def notes(self) -> Sequence[str]: ...


def verdict(outcomes: Mapping[str, Compared]) -> dict[str, Any]:
    """Figures over all runs of a bench: ``vectors``, ``mismatches``, ``first_mismatch``, ``notes``."""
    wrong = [f"{name}: {o.first_mismatch}" for name, o in outcomes.items() if o.mismatches]
    return {
        "vectors": sum(o.vectors for o in outcomes.values()),
        "mismatches": sum(o.mismatches for o in outcomes.values()),
        "first_mismatch": wrong[0] if wrong else None,
        "notes": [f"{name}: {note}" for name, o in outcomes.items() for note in o.notes][:20],
    }
