"""Static timing analysis of a mapped netlist with the tables of its Liberty library.

Rising and falling edges are analysed apart, with the unateness of every arc. A stage's delay and output transition come
from its tables at the transition of its input and the load of its output. Tables are bilinear, and extended linearly
beyond their ends. The load is the sum of the pin capacitances on the net; wires have none. Where several arcs meet, the
latest arrival and the slowest transition go on, each on its own, as in OpenSTA. The clock is ideal: it reaches all
flip-flops at the same time, with a step. Flip-flops and memory macros launch at their clock-to-output delay and capture
with their setup time. Between flip-flops of opposite clock edges half the period is available, so such a path counts
twice. Asynchronous set and reset, hold times, clock gating and latches are not analysed; a latch or a gated clock is an
error.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from bankside.constraints.core.errors import ConfigError

from .liberty import EDGES, Cell, Table
from .netlist import MACRO, OPEN, Instance, Netlist

__all__ = ["PATH_KINDS", "PathStep", "Timing", "TimingPath", "analyse"]

PATH_KINDS = ("register_to_register", "input_to_register", "register_to_output", "input_to_output")

_COMBINATIONAL = {"combinational": (0, 1), "combinational_rise": (0,), "combinational_fall": (1,)}
_TRANSITIONS = {
    "positive_unate": ((0, 0), (1, 1)),
    "negative_unate": ((1, 0), (0, 1)),
    "non_unate": ((0, 0), (1, 0), (0, 1), (1, 1)),
}
_IGNORED = (
    "hold",
    "recovery",
    "removal",
    "min_pulse_width",
    "minimum_period",
    "non_seq",
    "nochange",
    "skew",
    "preset",
    "clear",
    "three_state",
    "max_clock_tree",
    "min_clock_tree",
)


@dataclass(frozen=True)
class PathStep:
    """One arc of a path: ``arc`` is like ``A rise -> Y fall``; ``net`` is the net at its end, if the source named it.

    ``beside`` are the source's names of the nets at the other inputs of the cell.
    """

    instance: str
    cell: str
    arc: str
    delay_ps: float
    net: str | None
    beside: tuple[str, ...] = ()


@dataclass(frozen=True)
class TimingPath:
    """The longest path of one kind; ``length_ns`` includes clock to output and setup of the registers at its ends.

    ``start`` and ``end`` are ports, memories, or registers by the source's name of their output.
    """

    kind: str
    length_ns: float
    start: str
    end: str
    steps: tuple[PathStep, ...]

    @property
    def sentence(self) -> str:
        """The course of the path, in the source's names.

        Mapping keeps the names of registers, ports and memories, but loses names of logic between them. A path is
        therefore described by its ends and by the named signals that its gates combine with it. At most four are named,
        the most frequent first, equally frequent ones by name.
        """
        met = Counter(
            family for step in self.steps for family in {_family(name) for name in step.beside if "$" not in name}
        )
        gates = len(self.steps) - self.kind.startswith("register") - self.kind.endswith("register")
        text = f"from {self.start} to {self.end} through {gates} gate{'s' * (gates != 1)}"
        if met:
            # Sets have another order in each process.
            most = sorted(met.items(), key=lambda one: (-one[1], one[0]))[:4]
            text += ", beside " + ", ".join(f"{name} ({count})" for name, count in most)
        return text


def _family(name: str) -> str:
    """A signal's name without its numbers: the common part of ``held_3[0]`` and ``held_17[1]``."""
    return re.sub(r"\d+", "*", re.sub(r"(\[\d+\])+$", "", name))


@dataclass(frozen=True)
class Timing:
    """Longest path of each kind that exists, in the order of :data:`PATH_KINDS`.

    ``inward``: longest path from each bit of an input port to a register or an output, ns. ``outward``: longest path
    from a register or an input to each bit of an output port.
    """

    paths: dict[str, TimingPath]
    clocks: tuple[str, ...]
    inward: dict[str, float] = field(default_factory=dict, repr=False)
    outward: dict[str, float] = field(default_factory=dict, repr=False)

    @property
    def critical(self) -> TimingPath | None:
        """The longest of all paths. The clock must allow it if ideal registers stand directly outside the ports."""
        return max(self.paths.values(), key=lambda p: p.length_ns, default=None)


class _Tables:
    """All tables of the cells in use in padded arrays, evaluated many at a time."""

    def __init__(self) -> None:
        self._index: dict[int, int] = {}
        self._tables: list[Table] = []

    def add(self, table: Table) -> int:
        key = id(table)
        if key not in self._index:
            self._index[key] = len(self._tables)
            self._tables.append(table)
        return self._index[key]

    def freeze(self) -> None:
        count = len(self._tables)
        rows = max([2, *(len(t.axis_1) for t in self._tables)])
        columns = max([2, *(len(t.axis_2) for t in self._tables)])
        self.axis_1 = np.full((count, rows), np.inf)
        self.axis_2 = np.full((count, columns), np.inf)
        self.last_1 = np.zeros(count, dtype=np.int64)
        self.last_2 = np.zeros(count, dtype=np.int64)
        self.values = np.zeros((count, rows, columns))
        for k, table in enumerate(self._tables):
            axes, values = [], table.values
            for dimension, axis in enumerate((table.axis_1, table.axis_2)):
                if len(axis) == 1:  # constant along this axis
                    axis = np.array([axis[0], axis[0] + 1.0])
                    values = np.repeat(values, 2, axis=dimension)
                axes.append(axis)
            n, m = values.shape
            self.axis_1[k, :n], self.axis_2[k, :m] = axes
            self.values[k, :n, :m] = values
            self.last_1[k], self.last_2[k] = n - 2, m - 2

    def __call__(self, table: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Values of the tables numbered ``table`` at ``(x, y)``; all arrays (n,)."""
        i = np.minimum((x[:, None] >= self.axis_1[table, 1:]).sum(axis=1), self.last_1[table])
        j = np.minimum((y[:, None] >= self.axis_2[table, 1:]).sum(axis=1), self.last_2[table])
        x0, y0 = self.axis_1[table, i], self.axis_2[table, j]
        fx = (x - x0) / (self.axis_1[table, i + 1] - x0)
        fy = (y - y0) / (self.axis_2[table, j + 1] - y0)
        v = self.values
        low = v[table, i, j] * (1 - fy) + v[table, i, j + 1] * fy
        high = v[table, i + 1, j] * (1 - fy) + v[table, i + 1, j + 1] * fy
        return low * (1 - fx) + high * fx


@dataclass
class _Group:
    """Instances of one kind: ``nets[pin]`` is an array with the dense net number of that pin, -1 if it has none."""

    cell: Cell
    members: list[Instance]
    nets: dict[str, np.ndarray]


def analyse(
    netlist: Netlist,
    cells: Mapping[str, Cell],
    *,
    macro_cells: Mapping[str, Cell] | None = None,
    input_transition_ns: float = 0.0,
    output_load_ff: float = 0.0,
    before: Mapping[str, float] | None = None,
    after: Mapping[str, float] | None = None,
) -> Timing:
    """Longest paths of ``netlist``.

    Parameters
    ----------
    cells
        The library's cells by name.
    macro_cells
        A cell with the timing of each memory macro, by instance name.
    input_transition_ns, output_load_ff
        Transition at every input port, and load on every output port.
    before, after
        Times of paths inside parts, by the bits of the parts' ports, ns. ``before``: from a register to an input of
        this netlist. ``after``: from an output to a register.

    Raises
    ------
    :exc:`ConfigError`
        If a clock comes from logic, a cell is a latch, a net has two drivers, or logic forms a loop.
    """
    return _Analysis(
        netlist, cells, macro_cells or {}, input_transition_ns, output_load_ff, before or {}, after or {}
    ).run()


class _Analysis:
    def __init__(
        self,
        netlist: Netlist,
        cells: Mapping[str, Cell],
        macro_cells: Mapping[str, Cell],
        input_transition_ns: float,
        output_load_ff: float,
        before: Mapping[str, float],
        after: Mapping[str, float],
    ) -> None:
        self.netlist = netlist
        self.before, self.after = before, after
        self.inputs, self.outputs = netlist.inputs, netlist.outputs
        self.input_transition_ns = input_transition_ns
        self.tables = _Tables()
        self._number_nets()
        by_kind: dict[str, list[Instance]] = {}
        for instance in netlist.instances:
            by_kind.setdefault(instance.cell, []).append(instance)
        self.groups = [self._group(cells[kind], members) for kind, members in by_kind.items()]
        self.groups += [self._group(macro_cells[m.name], [m]) for m in netlist.macros]
        self._loads(output_load_ff)
        self._clock_network()
        self._collect_arcs()

    def _number_nets(self) -> None:
        self.dense: dict[int, int] = {}
        for net in (*self.inputs.values(), *self.outputs.values()):
            self.dense.setdefault(net, len(self.dense))
        for instance in (*self.netlist.instances, *self.netlist.macros):
            for net in instance.pins.values():
                if net >= 0:
                    self.dense.setdefault(net, len(self.dense))
        self.source_net = {number: net for net, number in self.dense.items()}
        self.count = len(self.dense)

    def _group(self, cell: Cell, members: list[Instance]) -> _Group:
        if cell.latch:
            raise ConfigError(
                f"{self.netlist.top}: {members[0].name} is a latch ({cell.name}); timing needs flip-flops"
            )
        dense = self.dense
        nets = {
            pin: np.array([dense.get(m.pins.get(pin, -1), -1) for m in members], dtype=np.int64) for pin in cell.pins
        }
        return _Group(cell, members, nets)

    def _loads(self, output_load_ff: float) -> None:
        """Load of every (net, edge) in fF, and one driver for every net."""
        load = np.zeros((self.count, 2))
        drivers = np.zeros(self.count, dtype=np.int64)
        for net in self.inputs.values():
            drivers[self.dense[net]] += 1
        for group in self.groups:
            for pin in group.cell.pins.values():
                nets = group.nets[pin.name]
                nets = nets[nets >= 0]
                if pin.direction == "input":
                    used = np.bincount(nets, minlength=self.count)
                    load[:, 0] += used * pin.rise_capacitance_ff
                    load[:, 1] += used * pin.fall_capacitance_ff
                else:
                    drivers += np.bincount(nets, minlength=self.count)
        for net in self.outputs.values():
            load[self.dense[net]] += output_load_ff
        if (drivers > 1).any():
            raise ConfigError(f"{self.netlist.top}: net {self._name(int(np.argmax(drivers > 1)))} has two drivers")
        self.load = load.reshape(-1)  # node = 2 * net + edge; edge 0 rises, 1 falls

    def _clock_network(self) -> None:
        """Follow every clock pin back through buffers and inverters to its port; remember the inversions."""
        single: dict[int, tuple[int, bool, str]] = {}
        clock_pins: set[int] = set()
        for group in self.groups:
            cell = group.cell
            for pin in cell.clock_pins:
                clock_pins.update(int(n) for n in group.nets[pin] if n >= 0)
            if len(cell.inputs) == 1 and cell.function in (0b01, 0b10):
                source, target = group.nets[cell.inputs[0].name], group.nets[cell.outputs[0].name]
                for k, (a, b) in enumerate(zip(source.tolist(), target.tolist(), strict=True)):
                    if b >= 0:
                        single[b] = (a, cell.function == 0b01, group.members[k].name)
        ports = {self.dense[net]: name for name, net in self.inputs.items()}
        self.clock_inverted: dict[int, bool] = {}
        self.clock_nets: set[int] = set()
        roots: set[str] = set()
        for pin_net in sorted(clock_pins):
            net, inverted = pin_net, False
            while net not in ports:
                self.clock_nets.add(net)
                if net not in single:
                    raise ConfigError(
                        f"{self.netlist.top}: clock {self._name(pin_net)} comes from logic or is undriven; "
                        "timing needs clocks from a port"
                    )
                net, invert, _ = single[net]
                inverted ^= invert
            self.clock_nets.add(net)
            roots.add(ports[net])
            self.clock_inverted[pin_net] = inverted
        self.clocks = tuple(sorted(roots))

    def _edges(self, group: _Group, pin: str, kind: str) -> np.ndarray:
        """For a clock pin of a group: the acting edge of the root clock (0 rising, 1 falling); -1 without clock."""
        falling = kind.endswith("falling") or kind.startswith("falling")
        return np.array(
            [-1 if n < 0 else int(falling ^ self.clock_inverted[n]) for n in group.nets[pin].tolist()], dtype=np.int64
        )

    def _collect_arcs(self) -> None:
        parts: dict[str, list[np.ndarray]] = {
            k: [] for k in ("source", "target", "delay", "slew", "group", "member", "arc")
        }
        launches: dict[str, list[np.ndarray]] = {
            k: [] for k in ("target", "delay", "slew", "edge", "group", "member", "arc")
        }
        captures: dict[str, list[np.ndarray]] = {k: [] for k in ("source", "setup", "edge", "group", "member", "arc")}
        self.arc_names: list[str] = []
        for g, group in enumerate(self.groups):
            members = np.arange(len(group.members))
            for pin in group.cell.pins.values():
                here = group.nets[pin.name]
                for arc in pin.arcs:
                    if arc.kind in _COMBINATIONAL and arc.delay:
                        there = group.nets.get(arc.related_pin)
                        if there is None:
                            continue
                        ok = (here >= 0) & (there >= 0)
                        ok &= ~np.isin(here, list(self.clock_nets)) if self.clock_nets else True
                        for e_in, e_out in _TRANSITIONS[arc.sense]:
                            if EDGES[e_out] not in arc.delay or e_out not in _COMBINATIONAL[arc.kind]:
                                continue
                            label = self._label(f"{arc.related_pin} {EDGES[e_in]} -> {pin.name} {EDGES[e_out]}")
                            n = int(ok.sum())
                            parts["source"].append(2 * there[ok] + e_in)
                            parts["target"].append(2 * here[ok] + e_out)
                            parts["delay"].append(np.full(n, self.tables.add(arc.delay[EDGES[e_out]])))
                            parts["slew"].append(np.full(n, self._slew_table(arc.transition, e_out)))
                            parts["group"].append(np.full(n, g))
                            parts["member"].append(members[ok])
                            parts["arc"].append(np.full(n, label))
                    elif arc.kind in ("rising_edge", "falling_edge"):
                        edge = self._edges(group, arc.related_pin, arc.kind)
                        ok = (here >= 0) & (edge >= 0)
                        for e_out in (0, 1):
                            if EDGES[e_out] not in arc.delay:
                                continue
                            label = self._label(f"{arc.related_pin} -> {pin.name} {EDGES[e_out]}")
                            n = int(ok.sum())
                            launches["target"].append(2 * here[ok] + e_out)
                            launches["delay"].append(np.full(n, self.tables.add(arc.delay[EDGES[e_out]])))
                            launches["slew"].append(np.full(n, self._slew_table(arc.transition, e_out)))
                            launches["edge"].append(edge[ok])
                            launches["group"].append(np.full(n, g))
                            launches["member"].append(members[ok])
                            launches["arc"].append(np.full(n, label))
                    elif arc.kind in ("setup_rising", "setup_falling"):
                        edge = self._edges(group, arc.related_pin, arc.kind)
                        ok = (here >= 0) & (edge >= 0)
                        for e_in in (0, 1):
                            if EDGES[e_in] not in arc.constraint:
                                continue
                            label = self._label(f"{pin.name} {EDGES[e_in]} setup to {arc.related_pin}")
                            n = int(ok.sum())
                            captures["source"].append(2 * here[ok] + e_in)
                            captures["setup"].append(np.full(n, self.tables.add(arc.constraint[EDGES[e_in]])))
                            captures["edge"].append(edge[ok])
                            captures["group"].append(np.full(n, g))
                            captures["member"].append(members[ok])
                            captures["arc"].append(np.full(n, label))
                    elif not arc.kind.startswith(_IGNORED) and arc.kind not in _COMBINATIONAL:
                        raise ConfigError(f"{group.cell.name}: timing type '{arc.kind}' is not supported")

        def join(lists: dict[str, list[np.ndarray]]) -> dict[str, np.ndarray]:
            return {
                k: np.concatenate(v).astype(np.int64) if v else np.zeros(0, dtype=np.int64) for k, v in lists.items()
            }

        self.arcs, self.launches, self.captures = join(parts), join(launches), join(captures)
        self.tables.freeze()

    def _label(self, text: str) -> int:
        self.arc_names.append(text)
        return len(self.arc_names) - 1

    def _constant_table(self) -> int:
        if not hasattr(self, "_zero"):
            self._zero = Table(np.zeros(1), np.zeros(1), np.zeros((1, 1)))
        return self.tables.add(self._zero)

    def _slew_table(self, transition: dict[str, Table], edge: int) -> int:
        table = transition.get(EDGES[edge])
        return self._constant_table() if table is None else self.tables.add(table)

    # ---- propagation ----------------------------------------------------------------------------------------------

    def run(self) -> Timing:
        nodes = 2 * self.count
        # Start classes: registers that launch at the rising edge, at the falling edge, input ports.
        self.arrival = np.full((3, nodes), -np.inf)
        self.slew = np.full(nodes, -np.inf)
        launch = self.launches
        if launch["target"].size:
            target = launch["target"]
            zero = np.zeros(target.size)
            delay = self.tables(launch["delay"], zero, self.load[target])
            slew = self.tables(launch["slew"], zero, self.load[target])
            np.maximum.at(self.arrival, (launch["edge"], target), delay)
            np.maximum.at(self.slew, target, slew)
            self.launch_delay = delay
        for name, net in self.inputs.items():
            number = self.dense[net]
            if number not in self.clock_nets:
                start = 0 if name in self.before else 2
                self.arrival[start, 2 * number : 2 * number + 2] = self.before.get(name, 0.0)
                self.slew[2 * number : 2 * number + 2] = self.input_transition_ns
        self._propagate(nodes)
        return self._longest()

    def _boundary(self) -> tuple[dict[str, float], dict[str, float]]:
        """``inward`` and ``outward`` of :class:`Timing`."""
        longest = np.full(2 * self.count, -np.inf)
        source = self.captures["source"]
        if source.size:
            slew = self.slew[source]
            setup = self.tables(self.captures["setup"], np.where(np.isfinite(slew), slew, 0.0), np.zeros(source.size))
            np.maximum.at(longest, source, setup)
        for name, net in self.outputs.items():
            node = 2 * self.dense[net]
            longest[node : node + 2] = np.maximum(longest[node : node + 2], self.after.get(name, 0.0))
        source, target = self.arcs["source"], self.arcs["target"]
        for begin, end in reversed(self.levels):
            np.maximum.at(longest, source[begin:end], self.delay[begin:end] + longest[target[begin:end]])
        latest = self.arrival.max(axis=0)

        def of(ports: dict[str, int], time: np.ndarray) -> dict[str, float]:
            found = {
                name: float(time[2 * self.dense[net] : 2 * self.dense[net] + 2].max()) for name, net in ports.items()
            }
            return {name: value for name, value in found.items() if np.isfinite(value)}

        return of(self.inputs, longest), of(self.outputs, latest)

    def _propagate(self, nodes: int) -> None:
        source, target = self.arcs["source"], self.arcs["target"]
        level = self._levels(source, target, nodes)
        order = np.lexsort((target, level[target]))
        for key in self.arcs:
            self.arcs[key] = self.arcs[key][order]
        source, target = self.arcs["source"], self.arcs["target"]
        self.delay = np.zeros(source.size)
        bounds = (
            np.flatnonzero(np.diff(level[target], prepend=-1, append=nodes + 1)) if target.size else np.zeros(1, int)
        )
        self.levels = list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))
        for begin, end in self.levels:
            s, t = source[begin:end], target[begin:end]
            slew_in = self.slew[s]
            known = np.isfinite(slew_in)
            x = np.where(known, slew_in, 0.0)
            y = self.load[t]
            delay = self.tables(self.arcs["delay"][begin:end], x, y)
            slew = np.where(known, self.tables(self.arcs["slew"][begin:end], x, y), -np.inf)
            self.delay[begin:end] = delay
            first = np.flatnonzero(np.diff(t, prepend=-1))
            at = t[first]
            self.slew[at] = np.maximum(self.slew[at], np.maximum.reduceat(slew, first))
            late = np.maximum.reduceat(self.arrival[:, s] + delay, first, axis=1)
            self.arrival[:, at] = np.maximum(self.arrival[:, at], late)

    def _levels(self, source: np.ndarray, target: np.ndarray, nodes: int) -> np.ndarray:
        """Longest distance in arcs of every node from a start; by repeated removal of nodes without pending inputs."""
        level = np.zeros(nodes, dtype=np.int64)
        pending = np.bincount(target, minlength=nodes)
        order = np.argsort(source, kind="stable")
        begin = np.searchsorted(source[order], np.arange(nodes + 1))
        front = np.flatnonzero(pending == 0)
        done = front.size
        depth = 0
        while front.size:
            counts = begin[front + 1] - begin[front]
            offsets = np.repeat(begin[front] - np.concatenate(([0], np.cumsum(counts)[:-1])), counts)
            arcs = order[np.arange(int(counts.sum())) + offsets]
            reached = target[arcs]
            np.subtract.at(pending, reached, 1)
            depth += 1
            front = np.unique(reached[pending[reached] == 0])
            level[front] = depth
            done += front.size
        if done < nodes:
            node = int(np.argmax(pending > 0))
            raise ConfigError(f"{self.netlist.top}: logic forms a loop through net {self._name(node // 2)}")
        return level

    # ---- results --------------------------------------------------------------------------------------------------

    def _longest(self) -> Timing:
        best: dict[str, tuple[float, int, int, int, float]] = {}  # kind: (length, class, node, capture, setup)

        def offer(
            kind: str, length: np.ndarray, start: int, node: np.ndarray, capture: np.ndarray, setup: np.ndarray
        ) -> None:
            if not length.size:
                return
            k = int(np.argmax(length))
            if np.isfinite(length[k]) and (kind not in best or length[k] > best[kind][0]):
                best[kind] = (float(length[k]), start, int(node[k]), int(capture[k]), float(setup[k]))

        capture = self.captures
        if capture["source"].size:
            node = capture["source"]
            slew = self.slew[node]
            reached = np.isfinite(slew)
            setup = self.tables(capture["setup"], np.where(reached, slew, 0.0), np.zeros(node.size))
            index = np.arange(node.size)
            for start in range(3):
                arrival = self.arrival[start, node]
                half = 1.0 if start == 2 else np.where(capture["edge"] == start, 1.0, 2.0)
                length = np.where(np.isfinite(arrival), (arrival + setup) * half, -np.inf)
                offer("input_to_register" if start == 2 else "register_to_register", length, start, node, index, setup)
        inside: dict[int, float] = {}
        for name, net in self.outputs.items():
            if name in self.after:
                inside[self.dense[net]] = max(self.after[name], inside.get(self.dense[net], 0.0))
        ports = {self.dense[net] for name, net in self.outputs.items() if name not in self.after}
        for numbers, end in ((ports - self.clock_nets, "output"), (set(inside) - self.clock_nets, "register")):
            outputs = np.array(sorted(numbers), dtype=np.int64)
            node = np.concatenate((2 * outputs, 2 * outputs + 1))
            more = np.array([inside.get(n, 0.0) if end == "register" else 0.0 for n in (node // 2).tolist()])
            none = np.full(node.size, -1)
            for start in range(3):
                kind = f"{'input' if start == 2 else 'register'}_to_{end}"
                offer(kind, self.arrival[start, node] + more, start, node, none, more)
        order = np.argsort(self.arcs["target"], kind="stable")
        into = np.searchsorted(self.arcs["target"][order], np.arange(2 * self.count + 1))
        paths = {kind: self._trace(kind, *best[kind], order=order, into=into) for kind in PATH_KINDS if kind in best}
        return Timing(paths, self.clocks, *self._boundary())

    def _trace(
        self,
        kind: str,
        length: float,
        start: int,
        node: int,
        capture: int,
        setup: float,
        *,
        order: np.ndarray,
        into: np.ndarray,
    ) -> TimingPath:
        steps: list[PathStep] = []
        if capture >= 0:
            steps.append(self._step(self.captures, capture, setup, None))
            end = self._held(self.captures, capture)
        else:
            end = self._port(self.outputs, node // 2)
            if setup:
                steps.append(PathStep(end, "part", "into the part", setup * 1e3, None))
        while True:
            arcs = order[into[node] : into[node + 1]]
            if arcs.size:
                late = self.arrival[start, self.arcs["source"][arcs]] + self.delay[arcs]
                k = int(np.argmax(late))
            if not arcs.size or not np.isfinite(late[k]):
                break
            steps.append(self._step(self.arcs, int(arcs[k]), float(self.delay[arcs[k]]), node))
            node = int(self.arcs["source"][arcs[k]])
        mine = np.flatnonzero((self.launches["target"] == node) & (self.launches["edge"] == start))
        if start == 2 or not mine.size:
            begin = self._port(self.inputs, node // 2)
            if start != 2:
                steps.append(PathStep(begin, "part", "out of the part", float(self.arrival[start, node]) * 1e3, None))
        else:
            k = int(mine[np.argmax(self.launch_delay[mine])])
            steps.append(self._step(self.launches, k, float(self.launch_delay[k]), node))
            begin = self._held(self.launches, k)
        return TimingPath(kind, length, begin, end, tuple(reversed(steps)))

    def _step(self, arcs: dict[str, np.ndarray], k: int, delay_ns: float, node: int | None) -> PathStep:
        group = self.groups[int(arcs["group"][k])]
        member = group.members[int(arcs["member"][k])]
        label = self.arc_names[int(arcs["arc"][k])]
        names = self.netlist.net_names
        net = None if node is None else names.get(self.source_net[node // 2])
        others = (
            ()
            if group.cell.sequential
            else (member.pins.get(pin.name, OPEN) for pin in group.cell.inputs if pin.name != label.split()[0])
        )
        return PathStep(
            member.name,
            member.cell,
            label,
            delay_ns * 1e3,
            net,
            tuple(names[other] for other in others if other in names),
        )

    def _held(self, arcs: dict[str, np.ndarray], k: int) -> str:
        """Name of the launching or capturing cell: a register's is the net of its output, a memory has its own."""
        group = self.groups[int(arcs["group"][k])]
        member = group.members[int(arcs["member"][k])]
        if member.cell == MACRO:
            return f"memory {member.name}"
        nets = [member.pins.get(pin.name, OPEN) for pin in group.cell.outputs]
        return next((self.netlist.net_names[net] for net in nets if net in self.netlist.net_names), member.name)

    def _name(self, number: int) -> str:
        net = self.source_net[number]
        return self.netlist.net_names.get(net, f"net {net}")

    def _port(self, ports: dict[str, int], number: int) -> str:
        net = self.source_net[number]
        return next(name for name, n in ports.items() if n == net)
