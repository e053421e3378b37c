"""Writes ``generic.lib``, the built-in cell library, from the theory of logical effort: ``python make_generic.py``.

The library describes no foundry's cells. It is our own data, computed from the assumptions below, so that area in gate
equivalents and delays of the right order are available to everyone; for a real process give its Liberty file.

Area. A static CMOS gate in a row of cells takes one polysilicon column per transistor pair, times its drive strength,
and one column to the neighbour. Two-stage cells have a first stage of half the output stage's strength (at least 1).
A two-input NAND is 3 columns and defined as 0.8 um2 (45 nm class), so a column is 0.2667 um2.

Delay. A stage that drives ``h`` times its input capacitance takes ``tau (g h + p)``, with logical effort ``g`` and
parasitic delay ``p`` from I. Sutherland, B. Sproull, D. Harris, "Logical Effort" (1999), tables of chapters 1 and 4
(pMOS twice as wide as nMOS, parasitics of the output node only); for gates that are not in them by the book's method
of counting transistor widths. Several stages in a cell add up. Rising and falling edges are equal.
``tau`` is 5 ps: the delay of an inverter that drives four others (FO4) is 5 tau = 25 ps. Nangate's open 45 nm library
has 21.4 ps at its typical corner by the same measure, without wires.

Transitions. A ramp of duration T at the input adds ``T (1 + 2 n) / 6`` to the delay with a step (N. Hedenstierna,
K. Jeppson, "CMOS circuit speed and buffer optimization", IEEE Trans. CAD 6(2), 1987); ``n``, threshold over supply, is
taken as 0.3. A constant current moves the output through 20-80 % in 1.2 times the delay to 50 %. Transitions are
20-80 %, so 0.6 T. The step delay is chosen such that a chain of equal stages has exactly the delay of logical effort.

Delay and transition are linear in input transition and load, so tables of 2 x 2 points hold them without error.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

TAU_NS = 0.005
UNIT_CAPACITANCE_FF = 1.6  # input of the smallest inverter (Nangate 45 nm: 1.7 fF)
COLUMN_UM2 = 0.8 / 3
THRESHOLD_RATIO = 0.3
RAMP = (1 + 2 * THRESHOLD_RATIO) / 6 / 0.6  # delay per input transition
EDGE = 0.6 / 0.5  # output transition per step delay
STEP = 1 / (1 + RAMP * EDGE)  # share of a stage's delay that a step at its input leaves
MAX_TRANSITION_NS = 0.2
SLEWS_NS = (0.0, 0.2)


@dataclass(frozen=True)
class Stage:
    """One inverting stage: logical effort of the input in use, parasitic delay, and width of its transistors."""

    g: float
    p: float
    width: float = 1.0

    @property
    def capacitance_ff(self) -> float:
        return UNIT_CAPACITANCE_FF * self.width

    def step_ns(self, load_ff: float) -> float:
        return STEP * TAU_NS * (self.g * load_ff / self.capacitance_ff + self.p)


@dataclass(frozen=True)
class Chain:
    """Stages from an input pin to the output; ``extra_ff`` is what each drives besides the next stage."""

    stages: tuple[Stage, ...]
    extra_ff: tuple[float, ...] = ()

    def delay_and_transition(self, slew_ns: float, load_ff: float) -> tuple[float, float]:
        delay = 0.0
        for i, stage in enumerate(self.stages):
            last = i == len(self.stages) - 1
            load = load_ff if last else self.stages[i + 1].capacitance_ff
            if i < len(self.extra_ff):
                load += self.extra_ff[i]
            step = stage.step_ns(load)
            delay += step + RAMP * slew_ns
            slew_ns = EDGE * step
        return delay, slew_ns

    @property
    def max_load_ff(self) -> float:
        """Load at which the output transition reaches the limit."""
        last = self.stages[-1]
        return (MAX_TRANSITION_NS / (EDGE * STEP * TAU_NS) - last.p) * last.capacitance_ff / last.g


@dataclass(frozen=True)
class Arc:
    pin: str
    sense: str
    path: Chain
    when: str | None = None


@dataclass(frozen=True)
class Gate:
    """A cell: ``inputs`` gives each pin's width in units of the smallest inverter."""

    name: str
    columns: float
    inputs: dict[str, float]
    function: str
    arcs: tuple[Arc, ...]


def _single(name: str, drive: int, function: str, efforts: dict[str, float], p: float) -> Gate:
    arcs = tuple(Arc(pin, "negative_unate", Chain((Stage(g, p, drive),))) for pin, g in efforts.items())
    return Gate(f"{name}_X{drive}", len(efforts) * drive + 1, dict.fromkeys(efforts, drive), function, arcs)


def _with_inverter(name: str, drive: int, function: str, efforts: dict[str, float], p: float) -> Gate:
    first = max(1, drive // 2)
    out = Stage(1, 1, drive)
    arcs = tuple(Arc(pin, "positive_unate", Chain((Stage(g, p, first), out))) for pin, g in efforts.items())
    return Gate(f"{name}_X{drive}", len(efforts) * first + drive + 1, dict.fromkeys(efforts, first), function, arcs)


def _exclusive(name: str, drive: int, function: str, first: Stage, direct: Stage, through: Stage, when: str) -> Gate:
    """XOR is an AND-OR-invert gate beside a NOR, XNOR its dual: one value of a pin inverts, the other passes both."""
    arcs = []
    for pin, other in (("A", "B"), ("B", "A")):
        negative, positive = (other, f"!{other}") if when == "1" else (f"!{other}", other)
        arcs.append(Arc(pin, "negative_unate", Chain((direct,)), negative))
        arcs.append(Arc(pin, "positive_unate", Chain((first, through)), positive))
    columns = 2 * first.width + 3 * drive + 1
    pins = dict.fromkeys("AB", first.width + drive)
    return Gate(f"{name}_X{drive}", columns, pins, function, tuple(arcs))


def _multiplexer(drive: int) -> Gate:
    """AND-OR-invert of both data with the select signal and its complement, then an inverter."""
    first = max(1, drive // 2)
    core, out, select = Stage(2, 4, first), Stage(1, 1, drive), Stage(1, 1, 1)
    arcs = (
        Arc("A", "positive_unate", Chain((core, out))),
        Arc("B", "positive_unate", Chain((core, out))),
        Arc("S", "positive_unate", Chain((core, out)), "!A * B"),
        Arc("S", "negative_unate", Chain((select, core, out)), "A * !B"),
    )
    pins: dict[str, float] = {"A": first, "B": first, "S": first + 1}
    return Gate(f"MUX2_X{drive}", 1 + 4 * first + drive + 1, pins, "(A * !S) + (B * S)", arcs)


def gates() -> list[Gate]:
    """All combinational cells, with (g, p) of each input."""
    out = []
    for drive in (1, 2, 4, 8, 16):
        out.append(_single("INV", drive, "!A", {"A": 1}, 1))
        out.append(_with_inverter("BUF", drive, "A", {"A": 1}, 1))
    for drive in (1, 2, 4):
        abc = "ABCD"
        for n in (2, 3, 4):
            pins = abc[:n]
            out.append(_single(f"NAND{n}", drive, f"!({' * '.join(pins)})", dict.fromkeys(pins, (n + 2) / 3), n))
        for n in (2, 3):
            pins = abc[:n]
            out.append(_single(f"NOR{n}", drive, f"!({' + '.join(pins)})", dict.fromkeys(pins, (2 * n + 1) / 3), n))
        out.append(_with_inverter("AND2", drive, "A * B", dict.fromkeys("AB", 4 / 3), 2))
        out.append(_with_inverter("OR2", drive, "A + B", dict.fromkeys("AB", 5 / 3), 2))
        # Widths: series nMOS 2, single nMOS 1, series pMOS 4, single pMOS 2; divided by the inverter's 3.
        out.append(_single("AOI21", drive, "!((A * B) + C)", {"A": 2, "B": 2, "C": 5 / 3}, 7 / 3))
        out.append(_single("OAI21", drive, "!((A + B) * C)", {"A": 2, "B": 2, "C": 4 / 3}, 8 / 3))
        out.append(_single("AOI22", drive, "!((A * B) + (C * D))", dict.fromkeys(abc, 2), 4))
        out.append(_single("OAI22", drive, "!((A + B) * (C + D))", dict.fromkeys(abc, 2), 4))
        half = max(1, drive // 2)
        out.append(
            _exclusive(
                "XOR2", drive, "A ^ B", Stage(5 / 3, 2, half), Stage(2, 7 / 3, drive), Stage(5 / 3, 7 / 3, drive), "1"
            )
        )
        out.append(
            _exclusive(
                "XNOR2",
                drive,
                "!(A ^ B)",
                Stage(4 / 3, 2, half),
                Stage(2, 8 / 3, drive),
                Stage(4 / 3, 8 / 3, drive),
                "0",
            )
        )
        out.append(_multiplexer(drive))
    return sorted(out, key=lambda g: (g.name.rpartition("_X")[0], int(g.name.rpartition("_X")[2])))


# The flip-flop: two clock inverters, a clocked inverter into the master, its inverter and clocked feedback, a
# transmission gate into the slave, its inverter and clocked feedback, an inverter each for Q and QN; the clocked
# gates interrupt the diffusion three times; one column to the neighbour.
FLIP_FLOP_COLUMNS = 2 + 2 + 1 + 2 + 1 + 1 + 2 + 2 + 3 + 1
_CLOCKED = Stage(2, 2)  # clocked (tri-state) inverter
_FEEDBACK_FF = 0.5 * UNIT_CAPACITANCE_FF  # drain and gate of a minimum feedback inverter


def flip_flop_paths(drive: int) -> tuple[Chain, Chain, float]:
    """(CK to Q, CK to QN, setup in ns for a step at D)."""
    clock = Stage(1, 1)
    gate_load = 2 * UNIT_CAPACITANCE_FF  # half of the clocked transistors: each phase drives a gate of every pair
    slave = Stage(1, 1)
    qn, q = Stage(1, 1, drive), Stage(1, 1, drive)
    # CK, two inverters, then the slave opens (a clocked inverter's effort) and its inverter drives Q's and QN's.
    to_q = Chain((clock, clock, _CLOCKED, slave, q), (gate_load, gate_load, _FEEDBACK_FF, _FEEDBACK_FF))
    to_qn = Chain((clock, clock, _CLOCKED, qn), (gate_load, gate_load, slave.capacitance_ff + _FEEDBACK_FF))
    # D must have passed the input gate, the master's inverter and its feedback when the first clock inverter closes it.
    data = TAU_NS * ((2 * 1.5 + 2) + (1 * 2 + 1) + (2 * 1 + 2))
    close = TAU_NS * (1 * 3 + 1)
    return to_q, to_qn, data - close


def _number(value: float) -> str:
    text = f"{value:.6f}".rstrip("0").rstrip(".")
    return text or "0"


def _tables(path: Chain, loads: tuple[float, float], indent: str) -> list[str]:
    points = [[path.delay_and_transition(s, load) for load in loads] for s in SLEWS_NS]
    lines = []
    for kinds, which in ((("cell_rise", "cell_fall"), 0), (("rise_transition", "fall_transition"), 1)):
        rows = ", ".join('"' + ", ".join(_number(p[which]) for p in row) + '"' for row in points)
        for kind in kinds:
            lines.append(f"{indent}{kind} (delay_2x2) {{")
            lines.append(f'{indent}  index_1 ("{", ".join(_number(s) for s in SLEWS_NS)}");')
            lines.append(f'{indent}  index_2 ("{", ".join(_number(c) for c in loads)}");')
            lines.append(f"{indent}  values ({rows});")
            lines.append(f"{indent}}}")
    return lines


def _output(name: str, function: str, paths: list[tuple[Chain, list[str]]]) -> list[str]:
    limit = round(min(path.max_load_ff for path, _ in paths), 3)
    lines = [
        f"    pin ({name}) {{",
        "      direction : output;",
        f'      function : "{function}";',
        f"      max_capacitance : {_number(limit)};",
    ]
    for path, attributes in paths:
        lines += ["      timing () {", *(f"        {a};" for a in attributes)]
        lines += _tables(path, (0.0, limit), "        ")
        lines.append("      }")
    return [*lines, "    }"]


def _input(name: str, width: float, extra: tuple[str, ...] = ()) -> list[str]:
    return [
        f"    pin ({name}) {{",
        "      direction : input;",
        f"      capacitance : {_number(UNIT_CAPACITANCE_FF * width)};",
        *extra,
        "    }",
    ]


def text() -> str:
    """The whole file."""
    comment = "\n".join(f" * {line}".rstrip() for line in (__doc__ or "").strip().splitlines())
    lines = [
        "/*",
        " * Generated by make_generic.py: change the numbers there, not here.",
        " *",
        comment,
        " */",
        "library (generic) {",
        "  delay_model : table_lookup;",
        '  time_unit : "1ns";',
        '  voltage_unit : "1V";',
        '  current_unit : "1mA";',
        '  pulling_resistance_unit : "1kohm";',
        '  leakage_power_unit : "1nW";',
        "  capacitive_load_unit (1, ff);",
        "  nom_process : 1;",
        "  nom_voltage : 1.1;",
        "  nom_temperature : 25;",
    ]
    for edge in ("rise", "fall"):
        lines += [
            f"  input_threshold_pct_{edge} : 50;",
            f"  output_threshold_pct_{edge} : 50;",
            f"  slew_lower_threshold_pct_{edge} : 20;",
            f"  slew_upper_threshold_pct_{edge} : 80;",
        ]
    lines += [
        f"  default_max_transition : {_number(MAX_TRANSITION_NS)};",
        "  default_input_pin_cap : 0;",
        "  default_output_pin_cap : 0;",
        "  default_inout_pin_cap : 0;",
        "  default_fanout_load : 1;",
        "  lu_table_template (delay_2x2) {",
        "    variable_1 : input_net_transition;",
        "    variable_2 : total_output_net_capacitance;",
        '    index_1 ("0, 1");',
        '    index_2 ("0, 1");',
        "  }",
        "  lu_table_template (setup_2x2) {",
        "    variable_1 : constrained_pin_transition;",
        "    variable_2 : related_pin_transition;",
        '    index_1 ("0, 1");',
        '    index_2 ("0, 1");',
        "  }",
    ]
    for gate in gates():
        lines += [f"  cell ({gate.name}) {{", f"    area : {_number(gate.columns * COLUMN_UM2)};"]
        for pin, width in gate.inputs.items():
            lines += _input(pin, width)
        paths = []
        for arc in gate.arcs:
            attributes = [f'related_pin : "{arc.pin}"', f"timing_sense : {arc.sense}"]
            if arc.when:
                attributes.append(f'when : "{arc.when}"')
            paths.append((arc.path, attributes))
        lines += [*_output("Y", gate.function, paths), "  }"]
    for drive in (1, 2, 4):
        to_q, to_qn, setup_ns = flip_flop_paths(drive)
        lines += [
            f"  cell (DFF_X{drive}) {{",
            f"    area : {_number((FLIP_FLOP_COLUMNS + 2 * (drive - 1)) * COLUMN_UM2)};",
            "    ff (IQ, IQN) {",
            '      next_state : "D";',
            '      clocked_on : "CK";',
            "    }",
        ]
        constraints: list[str] = []
        for kind, base in (("setup_rising", setup_ns), ("hold_rising", 0.0)):
            constraints += ["      timing () {", '        related_pin : "CK";', f"        timing_type : {kind};"]
            ramp = RAMP if kind == "setup_rising" else 0.0  # a slow edge at D arrives that much later
            for edge in ("rise_constraint", "fall_constraint"):
                rows = ", ".join(f'"{_number(base + ramp * s)}, {_number(base + ramp * s)}"' for s in SLEWS_NS)
                axis = ", ".join(_number(s) for s in SLEWS_NS)
                constraints += [
                    f"        {edge} (setup_2x2) {{",
                    f'          index_1 ("{axis}");',
                    f'          index_2 ("{axis}");',
                    f"          values ({rows});",
                    "        }",
                ]
            constraints.append("      }")
        lines += _input("D", 1, tuple(constraints))
        lines += _input("CK", 1, ("      clock : true;",))
        for name, function, path in (("Q", "IQ", to_q), ("QN", "IQN", to_qn)):
            attributes = ['related_pin : "CK"', "timing_type : rising_edge", "timing_sense : non_unate"]
            lines += _output(name, function, [(path, attributes)])
        lines.append("  }")
    return "\n".join([*lines, "}", ""])


def main() -> None:
    target = Path(__file__).with_name("generic.lib")
    with tempfile.NamedTemporaryFile("w", dir=target.parent, delete=False, encoding="utf-8", newline="\n") as file:
        file.write(text())
    os.chmod(file.name, 0o644)
    os.replace(file.name, target)


if __name__ == "__main__":
    main()
