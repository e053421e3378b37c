"""Liberty cell libraries: area, pins, functions, flip-flops and delay tables of the cells, in one set of units.

Reads the parts of the Liberty format that synthesis and timing need, from any vendor's file: groups, simple and complex
attributes, non-linear delay tables. Linear delays of older libraries are read too. Everything is converted on reading:
time in ns, capacitance in fF, area in um2. Power, noise, current-source and test groups are skipped.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.workspace import read_bytes

__all__ = ["Arc", "Cell", "FlipFlop", "Library", "Pin", "Table", "parse", "read", "truth_table"]

MAX_BYTES = 256 << 20
EDGES = ("rise", "fall")

# Groups without data on area, function or delay; most of the reading speed comes from skipping them.
_SKIPPED = frozenset(
    {
        "internal_power",
        "leakage_power",
        "pg_pin",
        "ccsn_first_stage",
        "ccsn_last_stage",
        "output_current_rise",
        "output_current_fall",
        "receiver_capacitance",
        "receiver_capacitance1_rise",
        "receiver_capacitance1_fall",
        "receiver_capacitance2_rise",
        "receiver_capacitance2_fall",
        "test_cell",
        "wire_load",
        "wire_load_table",
        "wire_load_selection",
        "operating_conditions",
        "normalized_driver_waveform",
        "dynamic_current",
        "electromigration",
        "hyperbolic_noise_high",
        "hyperbolic_noise_low",
        "hyperbolic_noise_above_high",
        "hyperbolic_noise_below_low",
        "power_lut_template",
        "minimum_period",
        "mode_definition",
        "voltage_map",
        "em_lut_template",
    }
)

# One statement from its start: a closing brace, or a name followed by ``: value ;``, ``(...) ;`` or ``(...) {``.
_STATEMENT = re.compile(
    r"""[\s;]*(?:
        (?P<close>\})
      | (?P<name>[A-Za-z_][\w.\[\]]*)\s*
        (?: :\s*(?P<value>"[^"]*"|[^;"\n{}]*?)\s*(?:;|(?=\n)|(?=\})|\Z)
          | \((?P<args>(?:[^()"]|"[^"]*")*)\)\s*(?P<open>\{)?
        )
    )""",
    re.VERBOSE,
)
_BRACE = re.compile(r'"[^"]*"|[{}]')
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


@dataclass
class _Group:
    """A parsed group: its kind, its arguments, its attributes (last one wins) and its groups in order."""

    kind: str
    args: tuple[str, ...]
    attributes: dict[str, str] = field(default_factory=dict)
    complex: dict[str, list[str]] = field(default_factory=dict)
    groups: list[_Group] = field(default_factory=list)

    def each(self, *kinds: str) -> Iterator[_Group]:
        return (g for g in self.groups if g.kind in kinds)

    def number(self, name: str, default: float | None = None) -> float | None:
        text = self.attributes.get(name)
        if text is None:
            return default
        try:
            return float(text)
        except ValueError:
            return default


@dataclass(frozen=True, eq=False)
class Table:
    """A delay, transition or constraint in ns over two axes, linear in between and beyond the ends.

    Attributes
    ----------
    axis_1 : array (n,)
        Input transition (delay tables) or transition of the constrained pin (constraint tables), ns.
    axis_2 : array (m,)
        Load, fF (delay tables) or transition of the related pin, ns (constraint tables).
    values : array (n, m)
        ns.
    """

    axis_1: np.ndarray
    axis_2: np.ndarray
    values: np.ndarray

    def __call__(self, x: float, y: float) -> float:
        """The bilinear value at ``(x, y)``; outside the axes the nearest segment is extended."""
        i, fx = _segment(self.axis_1, x)
        j, fy = _segment(self.axis_2, y)
        v = self.values
        i1, j1 = min(i + 1, v.shape[0] - 1), min(j + 1, v.shape[1] - 1)
        low = v[i, j] + fy * (v[i, j1] - v[i, j])
        high = v[i1, j] + fy * (v[i1, j1] - v[i1, j])
        return float(low + fx * (high - low))


def _segment(axis: np.ndarray, x: float) -> tuple[int, float]:
    if len(axis) == 1:
        return 0, 0.0
    i = int(np.clip(np.searchsorted(axis, x, side="right") - 1, 0, len(axis) - 2))
    return i, float((x - axis[i]) / (axis[i + 1] - axis[i]))


@dataclass(frozen=True, eq=False)
class Arc:
    """A timing arc that ends at a pin.

    Attributes
    ----------
    related_pin : :class:`str`
        The pin where it starts.
    kind : :class:`str`
        The Liberty ``timing_type`` (``combinational`` when absent).
    sense : ``"positive_unate"``, ``"negative_unate"`` or ``"non_unate"``
    delay, transition : mapping of ``"rise"`` / ``"fall"`` (edge of this pin) to :class:`Table`
        For a delay arc.
    constraint : mapping of ``"rise"`` / ``"fall"`` (edge of this pin) to :class:`Table`
        For a setup arc.
    """

    related_pin: str
    kind: str
    sense: str
    delay: dict[str, Table]
    transition: dict[str, Table]
    constraint: dict[str, Table]


@dataclass(frozen=True, eq=False)
class Pin:
    """A pin of a cell; capacitance in fF, also for a rising and a falling edge if the file has both."""

    name: str
    direction: str
    capacitance_ff: float
    rise_capacitance_ff: float
    fall_capacitance_ff: float
    max_capacitance_ff: float | None
    function: str | None
    clock: bool
    arcs: tuple[Arc, ...]


@dataclass(frozen=True)
class FlipFlop:
    """The ``ff`` group of a cell, expressions as in the file."""

    next_state: str
    clocked_on: str
    clear: str | None
    preset: str | None


@dataclass(frozen=True, eq=False)
class Cell:
    """A cell of a library; ``area_um2`` is the file's number."""

    name: str
    area_um2: float
    pins: dict[str, Pin]
    flip_flops: tuple[FlipFlop, ...]
    latch: bool
    dont_use: bool

    @property
    def sequential(self) -> bool:
        return bool(self.flip_flops) or self.latch

    @property
    def inputs(self) -> tuple[Pin, ...]:
        return tuple(p for p in self.pins.values() if p.direction == "input")

    @property
    def outputs(self) -> tuple[Pin, ...]:
        return tuple(p for p in self.pins.values() if p.direction == "output")

    @cached_property
    def clock_pins(self) -> tuple[str, ...]:
        """Pins whose edge changes an output or captures a data pin."""
        kinds = ("rising_edge", "falling_edge", "setup_rising", "setup_falling")
        related = (arc.related_pin for pin in self.pins.values() for arc in pin.arcs if arc.kind in kinds)
        return tuple(dict.fromkeys(related))

    @cached_property
    def function(self) -> int | None:
        """Truth table of a combinational cell with one output, over its inputs in order; None for other cells."""
        if self.sequential or len(self.outputs) != 1 or not self.outputs[0].function:
            return None
        try:
            return truth_table(self.outputs[0].function, tuple(p.name for p in self.inputs))
        except ValueError:
            return None


@dataclass(frozen=True, eq=False)
class Library:
    """A cell library.

    Attributes
    ----------
    name : :class:`str`
        Name in the file.
    source : :class:`str`
        The file from which it was read, for messages.
    text : :class:`str`
        The file itself, for the tools that read it again.
    cells : mapping of name to :class:`Cell`
    dont_use : tuple of :class:`str`
        Name patterns of cells that synthesis must not use.
    """

    name: str
    source: str
    text: str = field(repr=False)
    cells: dict[str, Cell] = field(repr=False)
    dont_use: tuple[str, ...] = ()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the text."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogateescape")).hexdigest()

    @cached_property
    def nand2(self) -> Cell:
        """The smallest two-input NAND: the gate equivalent of this library."""
        return self._smallest(2, 0b0111)

    @cached_property
    def inverter(self) -> Cell:
        """The smallest inverter."""
        return self._smallest(1, 0b01)

    @cached_property
    def buffers(self) -> tuple[Cell, ...]:
        """Non-inverting buffers, smallest first."""
        found = [c for c in self.cells.values() if not c.dont_use and len(c.inputs) == 1 and c.function == 0b10]
        return tuple(sorted(found, key=lambda c: (c.area_um2, c.name)))

    @cached_property
    def flip_flop(self) -> Cell:
        """The smallest D flip-flop: the one with the fewest pins and the least area."""
        return min(_d_flip_flops(self.cells.values()), key=lambda c: (len(c.inputs), c.area_um2, c.name))

    @property
    def ge_um2(self) -> float:
        """Area of one gate equivalent, um2."""
        return self.nand2.area_um2

    @cached_property
    def fo4_ns(self) -> float:
        """Delay of the smallest inverter that drives four copies of itself, in a chain of such stages: mean of both
        edges, ns."""
        pin, out = self.inverter.inputs[0], self.inverter.outputs[0]
        arc = next(a for a in out.arcs if a.delay)
        slew = dict.fromkeys(EDGES, 0.0)
        delay = dict.fromkeys(EDGES, 0.0)
        for _ in range(40):  # the transition times settle within a few stages
            load = {"rise": 4 * pin.rise_capacitance_ff, "fall": 4 * pin.fall_capacitance_ff}
            delay = {e: arc.delay[e](slew[_other(e)], load[e]) for e in EDGES}
            slew = {e: arc.transition[e](slew[_other(e)], load[e]) if e in arc.transition else 0.0 for e in EDGES}
        return (delay["rise"] + delay["fall"]) / 2

    def _smallest(self, inputs: int, function: int) -> Cell:
        found = [
            c for c in self.cells.values() if not c.dont_use and len(c.inputs) == inputs and c.function == function
        ]
        return min(found, key=lambda c: (c.area_um2, c.name))


def _other(edge: str) -> str:
    return "fall" if edge == "rise" else "rise"


def _d_flip_flops(cells: Any) -> list[Cell]:
    out = []
    for cell in cells:
        if len(cell.flip_flops) != 1 or cell.latch or cell.dont_use:
            continue
        flip_flop = cell.flip_flops[0]
        names = {p.name for p in cell.inputs}
        clock = flip_flop.clocked_on.strip("()!' ")
        if flip_flop.next_state.strip("() ") in names and clock in names:
            out.append(cell)
    return out


def read(path: str | os.PathLike[str], dont_use: tuple[str, ...] = ()) -> Library:
    """Read the Liberty file ``path``; cells whose names match a pattern of ``dont_use`` (``*`` and ``?``) are not used.

    Raises
    ------
    :exc:`ConfigError`
        If the file can't be read, is no Liberty file, or lacks an inverter, a two-input NAND or a D flip-flop.
    """
    path = Path(path)
    data = read_bytes(path, "a Liberty file", MAX_BYTES)
    return parse(data.decode("utf-8", "surrogateescape"), str(path), dont_use)


def parse(text: str, source: str, dont_use: tuple[str, ...] = ()) -> Library:
    """The library in a Liberty text; ``source`` names it in messages. Raises as :func:`read`. Parsed texts are kept."""
    return _parse(text, source, dont_use)


@lru_cache(maxsize=8)
def _parse(text: str, source: str, dont_use: tuple[str, ...]) -> Library:
    root = _groups(text, source)
    time_ns, cap_ff = _units(root, source)
    templates = {g.args[0]: g for g in root.each("lu_table_template") if g.args}
    default_cap = (root.number("default_input_pin_cap", 0.0) or 0.0) * cap_ff
    cells = {}
    for group in root.each("cell"):
        if not group.args:
            raise ConfigError(f"{source}: a cell without a name")
        name = group.args[0]
        if name in cells:
            raise ConfigError(f"{source}: cell '{name}' appears twice")
        if any(fnmatchcase(name, pattern) for pattern in dont_use):
            group.attributes["dont_use"] = "true"
        cells[name] = _cell(group, templates, time_ns, cap_ff, default_cap, source)
    library = Library(root.args[0] if root.args else "", source, text, cells, dont_use)
    _require(library)
    return library


def _require(library: Library) -> None:
    """Refuse a library that synthesis cannot use; the message names missing and found cells."""
    cells = [c for c in library.cells.values() if not c.dont_use]
    found = f"{len(cells)} cells"
    if cells:
        names = sorted(c.name for c in cells)
        found += f": {', '.join(names[:6])}{', ...' if len(names) > 6 else ''}"
    missing = []
    for what, inputs, function in (("an inverter", 1, 0b01), ("a two-input NAND", 2, 0b0111)):
        if not any(len(c.inputs) == inputs and c.function == function for c in cells):
            missing.append(what)
    if not _d_flip_flops(cells):
        missing.append("a D flip-flop")
    if missing:
        raise ConfigError(f"{library.source}: library '{library.name}' lacks {' and '.join(missing)} (found {found})")
    if library.nand2.area_um2 <= 0:
        raise ConfigError(
            f"{library.source}: area of {library.nand2.name} is {library.nand2.area_um2}; must be positive"
        )


def _groups(text: str, source: str) -> _Group:
    """The ``library`` group of a text."""
    if "/*" in text:  # keep the newlines: they count lines and end attributes
        text = _COMMENT.sub(lambda m: "\n" * m[0].count("\n") or " ", text)
    if "\\" in text:
        text = re.sub(r"\\[ \t]*\r?\n", " \n", text)
    if "//" in text:
        text = re.sub(r"(?m)^[ \t]*//.*$", "", text)

    def fail(position: int, problem: str) -> ConfigError:
        return ConfigError(f"{source}:{text.count(chr(10), 0, position) + 1}: {problem}")

    root: _Group | None = None
    stack: list[_Group] = []
    position = 0
    match_at = _STATEMENT.match
    while True:
        match = match_at(text, position)
        if match is None:
            rest = text[position:].strip(" \t\r\n;")
            if not rest:
                break
            start = position + len(text[position:]) - len(text[position:].lstrip())
            raise fail(start, f"not a Liberty file (at {rest.splitlines()[0][:40]!r})")
        position = match.end()
        name = match["name"]
        if name is None:
            if not stack:
                raise fail(match.end(), "not a Liberty file (unexpected '}')")
            stack.pop()
            continue
        if root is None and not (name == "library" and match["open"]):
            raise fail(match.start("name"), "not a Liberty file (must begin with 'library (NAME) {')")
        if root is not None and not stack:
            raise fail(match.start("name"), f"not a Liberty file ('{name}' after the end of the library)")
        args = match["args"]
        if args is None:
            stack[-1].attributes[name] = match["value"].strip('" \t\r')
        elif match["open"] is None:
            stack[-1].complex[name] = [a.strip() for a in re.findall(r'"([^"]*)"|([^\s,"]+)', args) for a in a if a]
        elif name in _SKIPPED:
            depth = 1
            for brace in _BRACE.finditer(text, position):
                if brace[0] == "{":
                    depth += 1
                elif brace[0] == "}":
                    depth -= 1
                    if depth == 0:
                        position = brace.end()
                        break
            else:
                raise fail(match.start("name"), f"group '{name}' is not closed")
        else:
            group = _Group(name, tuple(a.strip(' \t\r\n"') for a in args.split(",")) if args.strip() else ())
            if root is None:
                root = group
            else:
                stack[-1].groups.append(group)
            stack.append(group)
    if root is None:
        raise ConfigError(f"{source}: is empty")
    if stack:
        raise fail(len(text), f"file ends inside {stack[-1].kind} ({', '.join(stack[-1].args)}); is it cut short?")
    return root


def _units(root: _Group, source: str) -> tuple[float, float]:
    """(ns per time unit, fF per capacitance unit)."""
    text = root.attributes.get("time_unit", "1ns")
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ns|ps|us|fs)\s*", text)
    if not match:
        raise ConfigError(f"{source}: time_unit '{text}' is not understood (valid: 1ns, 100ps, 10ps, 1ps)")
    time_ns = float(match[1]) * {"us": 1e3, "ns": 1.0, "ps": 1e-3, "fs": 1e-6}[match[2]]
    cap = root.complex.get("capacitive_load_unit", ["1", "pf"])
    try:
        cap_ff = float(cap[0]) * {"ff": 1.0, "pf": 1e3, "nf": 1e6}[cap[1].lower()]
    except (ValueError, KeyError, IndexError):
        raise ConfigError(
            f"{source}: capacitive_load_unit ({', '.join(cap)}) is not understood (valid: 1,ff; 1,pf)"
        ) from None
    return time_ns, cap_ff


def _cell(
    group: _Group, templates: dict[str, _Group], time_ns: float, cap_ff: float, default_cap_ff: float, source: str
) -> Cell:
    name = group.args[0]
    where = f"{source}: cell {name}"
    area = group.number("area", 0.0) or 0.0
    flip_flops = tuple(
        FlipFlop(
            next_state=g.attributes.get("next_state", ""),
            clocked_on=g.attributes.get("clocked_on", ""),
            clear=g.attributes.get("clear"),
            preset=g.attributes.get("preset"),
        )
        for g in group.each("ff", "ff_bank")
    )
    latch = any(True for _ in group.each("latch", "latch_bank", "statetable"))
    pins: dict[str, Pin] = {}
    pin_groups = list(group.each("pin"))
    for bus in group.each("bus", "bundle"):
        pin_groups += bus.each("pin")
    input_names = tuple(a for g in pin_groups if g.attributes.get("direction") == "input" for a in g.args)
    for g in pin_groups:
        cap = g.number("capacitance")
        cap = default_cap_ff if cap is None else cap * cap_ff
        direction = g.attributes.get("direction", "")
        rise, fall = (_edge_capacitance(g, edge, cap, cap_ff) for edge in EDGES)
        limit = g.number("max_capacitance")
        function = g.attributes.get("function")
        three_state = "three_state" in g.attributes
        arcs = []
        for timing in g.each("timing"):
            arcs += _arcs(timing, templates, time_ns, cap_ff, function, input_names, where)
        for pin_name in g.args:
            pins[pin_name] = Pin(
                name=pin_name,
                direction="tristate" if three_state and direction == "output" else direction,
                capacitance_ff=cap,
                rise_capacitance_ff=rise,
                fall_capacitance_ff=fall,
                max_capacitance_ff=None if limit is None else limit * cap_ff,
                function=function,
                clock=g.attributes.get("clock", "false").lower() == "true",
                arcs=tuple(arcs),
            )
    dont_use = group.attributes.get("dont_use", "false").lower() == "true"
    return Cell(name, area, pins, flip_flops, latch, dont_use)


def _edge_capacitance(group: _Group, edge: str, capacitance: float, cap_ff: float) -> float:
    """Capacitance for one edge: the upper end of its range, else its own value, else the pin's."""
    bounds = group.complex.get(f"{edge}_capacitance_range")
    if bounds and len(bounds) == 2:
        try:
            return float(bounds[1]) * cap_ff
        except ValueError:
            pass
    value = group.number(f"{edge}_capacitance")
    return capacitance if value is None else value * cap_ff


def _arcs(
    group: _Group,
    templates: dict[str, _Group],
    time_ns: float,
    cap_ff: float,
    function: str | None,
    inputs: tuple[str, ...],
    where: str,
) -> list[Arc]:
    kind = group.attributes.get("timing_type", "combinational")
    tables: dict[str, dict[str, Table]] = {"delay": {}, "transition": {}, "constraint": {}}
    for g in group.groups:
        part, _, edge = g.kind.partition("_")
        if g.kind in ("cell_rise", "cell_fall"):
            tables["delay"][edge] = _table(g, templates, time_ns, cap_ff, where)
        elif g.kind in ("rise_transition", "fall_transition"):
            tables["transition"][part] = _table(g, templates, time_ns, cap_ff, where)
        elif g.kind in ("rise_constraint", "fall_constraint"):
            tables["constraint"][part] = _table(g, templates, time_ns, cap_ff, where)
    for edge in EDGES:  # linear delay of libraries without tables: intrinsic + resistance x load, step transitions
        intrinsic = group.number(f"intrinsic_{edge}")
        if intrinsic is not None and not any(tables.values()):
            if kind.startswith(("setup", "hold", "recovery", "removal")):
                tables["constraint"][edge] = _plane(intrinsic * time_ns)
            else:
                resistance = group.number(f"{edge}_resistance", 0.0) or 0.0
                tables["delay"][edge] = _plane(intrinsic * time_ns, resistance * time_ns / cap_ff)
                tables["transition"][edge] = _plane(0.0)
        elif intrinsic is not None and edge not in tables["delay"] and tables["delay"]:
            resistance = group.number(f"{edge}_resistance", 0.0) or 0.0
            tables["delay"][edge] = _plane(intrinsic * time_ns, resistance * time_ns / cap_ff)
            tables["transition"][edge] = _plane(0.0)
    sense = group.attributes.get("timing_sense")
    out = []
    for related in group.attributes.get("related_pin", "").split():
        how = sense or _sense(function, related, inputs)
        out.append(Arc(related, kind, how, tables["delay"], tables["transition"], tables["constraint"]))
    return out


def _plane(constant: float, per_ff: float = 0.0) -> Table:
    """A table that is linear in the load (fF) and ignores the input transition."""
    return Table(np.zeros(1), np.array([0.0, 1.0]), np.array([[constant, constant + per_ff]]))


def _table(group: _Group, templates: dict[str, _Group], time_ns: float, cap_ff: float, where: str) -> Table:
    template = templates.get(group.args[0]) if group.args else None
    rows = group.complex.get("values")
    if rows is None:
        raise ConfigError(f"{where}: {group.kind} has no values")
    try:
        values = np.array(" ".join(rows).replace(",", " ").split(), dtype=float) * time_ns
        axes: dict[str, np.ndarray] = {}
        order = []
        for index in ("1", "2", "3"):
            variable = template.attributes.get(f"variable_{index}") if template else None
            if variable is None:
                continue
            points = group.complex.get(f"index_{index}") or (
                template.complex.get(f"index_{index}") if template else None
            )
            if points is None:
                raise ConfigError(f"{where}: {group.kind} has no index_{index}")
            axis = np.array(" ".join(points).replace(",", " ").split(), dtype=float)
            is_load = "capacitance" in variable
            axes[variable] = axis * (cap_ff if is_load else time_ns)
            order.append(variable)
    except ValueError:
        raise ConfigError(f"{where}: {group.kind} has a value that is no number") from None
    shape = tuple(len(axes[v]) for v in order)
    if len(order) > 2:
        raise ConfigError(f"{where}: {group.kind} has {len(order)} axes; at most two are supported")
    if int(np.prod(shape)) != values.size:
        raise ConfigError(f"{where}: {group.kind} has {values.size} values for axes of {' x '.join(map(str, shape))}")
    if any(len(a) > 1 and np.any(np.diff(a) <= 0) for a in axes.values()):
        raise ConfigError(f"{where}: {group.kind} has an axis that does not ascend")
    values = values.reshape(shape or (1, 1))
    first = [v for v in order if v in ("input_net_transition", "input_transition_time", "constrained_pin_transition")]
    second = [v for v in order if v not in first]
    if len(first) > 1 or len(second) > 1:
        raise ConfigError(f"{where}: {group.kind} over {' and '.join(order)} is not supported")
    if len(order) == 2 and order[0] == second[0]:
        values = values.T
    elif len(order) == 1:
        values = values.reshape((-1, 1) if first else (1, -1))
    axis_1 = axes[first[0]] if first else np.zeros(1)
    axis_2 = axes[second[0]] if second else np.zeros(1)
    return Table(axis_1, axis_2, np.ascontiguousarray(values))


# ---- Boolean functions ------------------------------------------------------------------------------------------

_TOKEN = re.compile(r"\s*([A-Za-z_][\w\[\].]*|[01]|[!'()*&+|^])")


def truth_table(expression: str, inputs: tuple[str, ...]) -> int:
    """Truth table of a Liberty Boolean expression: bit ``k`` is its value where input ``i`` is bit ``i`` of ``k``.

    Operators: ``!`` and postfix ``'``, then ``^``, then ``*``, ``&`` or juxtaposition, then ``+`` or ``|``.

    Raises
    ------
    :exc:`ValueError`
        If the expression is malformed, names something other than an input, or has more than 12 inputs.
    """
    count = len(inputs)
    if count > 12:
        raise ValueError(f"{count} inputs; at most 12")
    full = (1 << (1 << count)) - 1
    values = {}
    for i, name in enumerate(inputs):
        values[name] = sum(1 << k for k in range(1 << count) if k >> i & 1)
    tokens: list[str] = []
    position = 0
    expression = expression.strip().strip('"')
    while position < len(expression):
        match = _TOKEN.match(expression, position)
        if not match:
            if not expression[position:].strip():
                break
            raise ValueError(f"unexpected {expression[position:]!r}")
        tokens.append(match[1])
        position = match.end()
    at = 0

    def peek() -> str | None:
        return tokens[at] if at < len(tokens) else None

    def take() -> str:
        nonlocal at
        if at >= len(tokens):
            raise ValueError("expression ends early")
        at += 1
        return tokens[at - 1]

    def factor() -> int:
        token = take()
        if token == "!":
            return full & ~factor()
        if token == "(":
            value = disjunction()
            if take() != ")":
                raise ValueError("missing ')'")
        elif token in "01":
            value = full if token == "1" else 0
        elif token in values:
            value = values[token]
        else:
            raise ValueError(f"unknown input '{token}'")
        while peek() == "'":
            take()
            value = full & ~value
        return value

    def exclusive() -> int:
        value = factor()
        while peek() == "^":
            take()
            value ^= factor()
        return value

    def conjunction() -> int:
        value = exclusive()
        while (token := peek()) is not None and token not in ")+|":
            if token in "*&":
                take()
            value &= exclusive()
        return value

    def disjunction() -> int:
        value = conjunction()
        while peek() in ("+", "|"):
            take()
            value |= conjunction()
        return value

    value = disjunction()
    if at != len(tokens):
        raise ValueError(f"unexpected '{tokens[at]}'")
    return value


def _sense(function: str | None, pin: str, inputs: tuple[str, ...]) -> str:
    """Unateness of a function in one input, for arcs that do not state it."""
    if not function or pin not in inputs:
        return "non_unate"
    try:
        table = truth_table(function, inputs)
    except ValueError:
        return "non_unate"
    bit = 1 << inputs.index(pin)
    rises = falls = False
    for k in itertools.filterfalse(lambda k: k & bit, range(1 << len(inputs))):
        low, high = table >> k & 1, table >> (k | bit) & 1
        rises |= high > low
        falls |= low > high
    return "non_unate" if rises == falls else "positive_unate" if rises else "negative_unate"
