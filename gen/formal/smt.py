"""Proof of an operator against the SMT-LIB theory of floating-point numbers, for every operand.

The specification is a formula of SMT-LIB's theory FloatingPoint, which restates IEEE 754. It shares nothing with the
hardware, nor with the models in NumPy. Yosys writes the combinational operator as functions of bit vectors. z3 searches
for operands for which the formula is false. One query covers all operands.

Bits and numbers differ in one point: the theory has a single NaN. :func:`is_number` demands the canonical NaN.
"""

import importlib.util
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from amaranth.back import rtlil

from ...constraints.core.errors import ToolMissing
from ...constraints.core.formats import FloatFormat
from ...constraints.core.workspace import cache_folder
from .netlist import operator_module
from .prover import _run_yosys

__all__ = ["Verdict", "constant", "flushed", "is_number", "number", "prove_operator", "prove_operators", "sort"]


#: Wall time for Yosys to write all netlists.
_YOSYS_S = 600


# Specifications -------------------------------------------------------------------------------------------------------


def sort(fmt):
    """SMT-LIB sort of a format's numbers."""
    return f"(_ FloatingPoint {fmt.exponent_bits} {fmt.precision})"


def number(bits, fmt):
    """The number that a bit vector encodes."""
    return f"((_ to_fp {fmt.exponent_bits} {fmt.precision}) {bits})"


def constant(value, width):
    """A bit vector with a constant value."""
    return f"(_ bv{value} {width})"


def is_number(bits, value, fmt):
    """Whether ``bits`` encode the number ``value``. -0 is not +0, and NaN must be the canonical NaN."""
    return f"(and (= {number(bits, fmt)} {value}) (=> (fp.isNaN {value}) (= {bits} {constant(fmt.nan, fmt.width)})))"


def flushed(value, fmt):
    """``value``, or the zero of its sign if it is subnormal."""
    zero = (
        f"(ite (fp.isNegative {value}) (_ -zero {fmt.exponent_bits} {fmt.precision}) "
        f"(_ +zero {fmt.exponent_bits} {fmt.precision}))"
    )
    return f"(ite (fp.isSubnormal {value}) {zero} {value})"


# Proof ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """Outcome of :func:`prove_operator`. It is true in a condition if the operator is proved.

    Attributes
    ----------
    name : str
    status : str
        ``"proved"``: the specification holds for all operands. ``"counterexample"``: it does not hold for ``values``.
        ``"unknown"``: the solver gave no answer in time; ``detail`` says why.
    values : dict of str to int
        Operands and results of the counterexample, as bits.
    detail : str
    seconds : float
        Wall time of the solver.
    """

    name: str
    status: str
    values: dict = field(default_factory=dict)
    detail: str = ""
    seconds: float = 0.0

    def __bool__(self):
        return self.status == "proved"

    def __str__(self):
        shown = ", ".join(f"{name} = {value:#x}" for name, value in self.values.items())
        return (
            f"{self.name}: {self.status}{': ' + (shown or self.detail) if shown or self.detail else ''} "
            f"({self.seconds:.1f} s)"
        )


def prove_operator(function, operands, specification, options=None, *, name=None, timeout_s=300):
    """Prove that ``specification`` holds for every operand of a combinational operator.

    Parameters
    ----------
    function : operator
    operands : mapping of name to :class:`FloatFormat`, shape or width
    specification : callable
        It gets the results as positional arguments and the operands as keyword arguments. Each is an SMT-LIB term, a
        bit vector. It returns the formula.
    options : dict
        Further arguments of ``function``.
    timeout_s : float
        Time limit of the solver.

    Returns
    -------
    :class:`Verdict`

    Raises
    ------
    :exc:`ToolMissing`
        If ``z3-solver`` is not installed.
    """
    name = name or getattr(function, "__name__", "operator")
    (verdict,) = prove_operators({name: (function, operands, specification, options)}, timeout_s=timeout_s)
    return verdict


def prove_operators(questions, *, timeout_s=300):
    """Prove several operators with one run of Yosys.

    Parameters
    ----------
    questions : mapping of name to tuple (function, operands, specification, options) as of :func:`prove_operator`

    Returns
    -------
    list of :class:`Verdict`
    """
    if importlib.util.find_spec("z3") is None:
        raise ToolMissing("proof against SMT-LIB needs z3: pip install z3-solver")
    cache = cache_folder() / "formal"
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix="smt-") as place:
        folder = Path(place)
        script, asked = [], []
        for number, (name, (function, operands, specification, options)) in enumerate(questions.items()):
            shapes = {key: shape.width if isinstance(shape, FloatFormat) else shape for key, shape in operands.items()}
            m, ports, _ = operator_module(function, shapes, options or {})
            (folder / f"{number}.il").write_text(rtlil.convert(m, name="top", ports=ports, emit_src=False))
            script += [
                "design -reset",
                f"read_rtlil {number}.il",
                "prep -flatten -top top",
                "memory_map",
                "opt -full",
                "clean",
                f"write_smt2 -stbv {number}.smt2",
            ]
            asked.append((name, ports, shapes, specification))
        in_time, error = _run_yosys(folder, script, _YOSYS_S)
        if error or not in_time:
            return [
                Verdict(name, "unknown", detail=error or f"Yosys did not end within {_YOSYS_S} s") for name in questions
            ]
        verdicts = []
        for number, (name, ports, shapes, specification) in enumerate(asked):
            path = folder / f"{number}.smt2"
            path.write_text(query(path.read_text(), ports, shapes, specification))
            verdicts.append(_solve(name, path, [port.name for port in ports], timeout_s))
        return verdicts


def query(netlist, ports, operands, specification):
    """The SMT-LIB text of a question to a solver. The answer ``unsat`` is a proof."""
    lines = ["(set-logic ALL)", netlist, "(declare-const state |top_s|)"]
    for port in ports:
        read = f"(|top_n {port.name}| state)"
        if len(port) == 1:  # Yosys makes it a truth value
            read = f"(ite {read} #b1 #b0)"
        lines += [f"(declare-const {port.name} (_ BitVec {len(port)}))", f"(assert (= {port.name} {read}))"]
    results = [port.name for port in ports[len(operands) :]]
    lines.append(f"(assert (not {specification(*results, **{name: name for name in operands})}))")
    return "\n".join(lines) + "\n"


_SOLVE = """
import sys, z3
solver = z3.Solver()
solver.set("timeout", int(sys.argv[2]))
solver.from_file(sys.argv[1])
answer = solver.check()
print(answer, solver.reason_unknown() if answer == z3.unknown else "")
if answer == z3.sat:
    model = solver.model()
    for name in sys.argv[3:]:
        print(name, model[[d for d in model if d.name() == name][0]].as_long())
"""


def _solve(name, path, ports, timeout_s):
    """Ask z3, in a process of its own so that it can be stopped."""
    start = time.monotonic()
    try:
        done = subprocess.run(
            [sys.executable, "-c", _SOLVE, str(path), str(round(timeout_s * 1000)), *ports],
            capture_output=True,
            text=True,
            timeout=timeout_s + 30,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return Verdict(name, "unknown", detail=f"no answer within {timeout_s} s", seconds=time.monotonic() - start)
    seconds = time.monotonic() - start
    answer, *model = done.stdout.splitlines() or [""]
    if done.returncode == 0 and answer.split() == ["unsat"]:
        return Verdict(name, "proved", seconds=seconds)
    if done.returncode == 0 and answer.split() == ["sat"]:
        values = {key: int(value) for key, value in (line.split() for line in model)}
        return Verdict(name, "counterexample", values, seconds=seconds)
    detail = answer.removeprefix("unknown").strip() or (done.stderr.strip().splitlines() or ["no output"])[-1]
    return Verdict(name, "unknown", detail=f"z3: {detail}", seconds=seconds)
