"""CENT: CXL devices of AiM channels that execute whole models.

A stage of the pipeline has one or more blocks. A block has all channels of the ``tensor`` devices that share it, and the
stages of a device take turns. :mod:`.cent_orders` has the programs: the one that the RTL executes, and the authors' order.
``docs/cent/system.md`` has the formulas, and each difference from the authors' simulator.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, Self

import numpy as np

from ...constraints.cent import cxl_port as cent_cxl_port
from ...constraints.cent import decoder as cent_decoder
from ...constraints.cent import pnm as cent_pnm
from ...constraints.cent import riscv as cent_riscv
from ...constraints.core.errors import ConfigError
from ...constraints.core.records import Record
from ...constraints.memory import Memory
from ...constraints.systems.cent import CentSystemSpec, CentUnitsSpec
from ..cent.block import BANKS, LANES, ROW
from ..cent.costs import Activity, MeasuredPort, PnmClocks, device_energy_pj, exchange, transfers
from ..cost import (
    UnitArea,
    controller_cost,
    hourly_usd,
    load_costs,
    load_nodes,
    register_ports,
    system_usd,
    tokens_per_usd,
    unit_area,
)
from ..llm import ModelShape
from ..llm.roles import EnergyRole, Role
from ..memory.aim import CHANNELS
from ..memory.standby import StandbyFrontEnd, StandbyTiming
from .capabilities import Executed
from .cent_keys import CentKeys
from .cent_orders import AuthorsOrder, ExecutedOrder, Order, Timed
from .description import Description
from .memo import kept
from .results import Capacity, MissingRecord, RecordSource
from .room import GIB, Load, Room
from .system import Assumption, Details, Option, Served, StepCost, System
from .units import CoreFigures, MeasuredUnit, PnmFigures, PortFigures

__all__ = ["RULES", "CentSystem", "Point", "Rules"]

#: Contexts of a series of output tokens that are evaluated, if the timing has refresh; times between them lie on straight
#: lines. Without refresh, all are.
SAMPLES = 5

#: Tokens between the contexts at which the share of refresh is evaluated for serving.
REFRESHED = 4096


@dataclass(frozen=True)
class Rules:
    """Where the model leaves the authors' simulator. All off is that simulator; the system has all on.

    Attributes
    ----------
    bank_timing : constraints of banks and the window of four activations; off: those of the AiM simulator
    refresh : channels refresh
    mended : without the three slips of the generator's order (:class:`BlockMapping`)
    own_inputs : each block of a device has its own input
    own_keys : the keys are on the device that attends
    lookup : the embedding is a row that the host reads; off: a product with a vector of the vocabulary
    whole_blocks : a stage has whole blocks, and the slowest stage sets the pace
    spread_output : the output matrix is spread over all channels of all devices, which exchange its vectors; off: each
        stage bears its share of the time that the channels of one block take
    links : lanes of a device, decimal bytes, the latency of a multicast, no gather from one device
    residuals : the units near memory add a block's results to its input; off: this takes no time
    measured : clocks of the units near memory from measurement records; off: those of the authors' simulator
    ports : latency and pace of the CXL port from measurement records; off: latencies and flits of the file
    all_standby : standby of all channels, of devices that wait, and of devices without a stage; off: of one channel
    executed : the program that the RTL executes; off: the order of the authors' generator
    """

    bank_timing: bool = True
    refresh: bool = True
    mended: bool = True
    own_inputs: bool = True
    own_keys: bool = True
    lookup: bool = True
    whole_blocks: bool = True
    spread_output: bool = True
    links: bool = True
    residuals: bool = True
    measured: bool = True
    ports: bool = True
    all_standby: bool = True
    executed: bool = True


#: Rules in the order in which the table of causes takes them.
RULES = tuple(field.name for field in fields(Rules))

SIMULATOR = Rules(**dict.fromkeys(RULES, False))


@dataclass(frozen=True)
class Point:
    """A token of one context on the whole system.

    Attributes
    ----------
    pim_cycles : cycles of a block's program
    pim_s, cxl_s, acc_s : seconds of a block on the channels, the links, and the units near memory; in the authors' order
        units near memory work for all blocks of a device
    embedding_s : seconds of embedding, last norm and output matrix
    period_s : seconds between two tokens of the pipeline, of whatever request
    token_s : seconds of a token of one request: in the authors' order beside others in all stages, else alone
    energy_pj : of a token, by component
    """

    pim_cycles: int
    pim_s: float
    cxl_s: float
    acc_s: float
    embedding_s: float
    host_s: float
    period_s: float
    token_s: float
    energy_pj: dict[str, float]

    @property
    def block_s(self) -> float:
        return self.pim_s + self.cxl_s + self.acc_s


@dataclass(frozen=True)
class Pace:
    """Times of a token, see :class:`Point`; ``energy_elements``: elements that transfers charge."""

    pim_s: float
    cxl_s: float
    acc_s: float
    embedding_s: float
    period_s: float
    token_s: float
    energy_elements: int


@lru_cache(maxsize=8)
def _front_end(memory: Memory, quirks: bool, refresh: bool) -> StandbyFrontEnd:
    """The front end whose known parts all systems with the same memory share."""
    return StandbyFrontEnd(memory, quirks="aim-simulator" if quirks else None, refresh=refresh)


class CentUnits:
    """The generated units of a device, and their measurements once they have been looked up."""

    def __init__(self, name: str, spec: CentUnitsSpec) -> None:
        self.name = name
        self.pnm = MeasuredUnit(name, cent_pnm.UNIT, PnmFigures, spec.pnm, synth="wanted")
        self.riscv = MeasuredUnit(name, cent_riscv.UNIT, CoreFigures, spec.riscv, synth="wanted")
        self.cxl = MeasuredUnit(name, cent_cxl_port.UNIT, PortFigures, spec.port, synth="wanted")
        self.decoder: MeasuredUnit[Any, Any] = MeasuredUnit(name, cent_decoder.UNIT, None, spec.decoder, synth="wanted")
        self.all: tuple[MeasuredUnit[Any, Any], ...] = (self.pnm, self.riscv, self.cxl, self.decoder)

    def look_up(self, records: RecordSource) -> bool:
        """Take the measurements; whether they are others than before.

        Raises
        ------
        :exc:`MissingRecord`
            If a simulation has not been made.
        """
        before = self.records
        missing = [need for unit in self.all for need in unit.look_up(records)]
        if missing:
            raise MissingRecord(self.name, missing)
        return self.records != before

    @property
    def records(self) -> list[Record]:
        return [record for unit in self.all for record in unit.records.values()]

    @property
    def notes(self) -> list[str]:
        """Areas that nobody measured."""
        return [
            f"area not measured: run `{need.command}`; the price has the published area"
            for unit in self.all
            for need in unit.unmeasured
        ]

    def areas(self, node: str) -> dict[str, UnitArea] | None:
        """Area of each unit in a logic process of ``nodes.yaml``; None unless all have been synthesised."""
        if any(unit.synth is None for unit in self.all):
            return None
        return {
            unit.unit.name: unit_area(
                unit.synthesis.model_dump(), node, node, ports=register_ports(unit.config) if unit is self.pnm else None
            )
            for unit in self.all
        }

    def controller(self) -> dict[str, Any] | None:
        """The controller with the measured area of its units in place of the published one. None unless all have been
        synthesised."""
        costs = load_costs()
        process = costs.controller.process
        areas = self.areas(load_nodes().processes[process].logic_node)
        if areas is None:
            return None
        measured = sum(area.mm2 for area in areas.values())
        band = [sum(area.logic_mm2[end] + area.memories_mm2 for area in areas.values()) for end in (0, 1)]
        ours, theirs = controller_cost(costs, pnm_mm2=measured), controller_cost(costs)
        clocks = {unit.unit.name: unit.process.fmax_mhz for unit in self.all if unit.process is not None}
        slowest = min(clocks, key=lambda name: clocks[name][0], default=None)
        return {
            "process": process,
            "units_mm2": {name: area.mm2 for name, area in areas.items()},
            "measured_mm2": measured,
            "measured_band_mm2": band,
            "published_mm2": costs.controller.parts_mm2["pnm"],
            "die_mm2": ours.area_mm2,
            "die_usd": ours.die_usd,
            "package_usd": ours.package_usd,
            "nre_usd": ours.nre_usd,
            "published_die_mm2": theirs.area_mm2,
            "published_usd": theirs.usd,
            "slowest": slowest,
            "slowest_mhz": None if slowest is None else list(clocks[slowest]),
        }

    def command(self, op: str, slots: int) -> float:
        """Clocks of a command of ``cent-pnm``."""
        return self.pnm.figures.command_clocks(op, slots, int(self.pnm.records["sim"].workload["slots"]))

    def program(self, name: str, micro_operations: int) -> float:
        """Clocks of a program of ``cent-riscv``."""
        return self.riscv.figures.program_clocks(self.riscv.config, name, micro_operations)

    def alone(self, name: str, slots: int) -> float:
        """Clocks of a program of one core."""
        return self.riscv.figures.alone_clocks(name, slots)

    @property
    def port(self) -> MeasuredPort:
        """The port, at its target clock."""
        figures, config = self.cxl.figures, self.cxl.config
        size = int(self.cxl.records["sim"].workload["bytes"])
        return MeasuredPort(
            figures.latency_clocks(size) / config.clock_mhz * 1e3,
            figures.clocks_per_byte(size) * config.link.beat_bytes,
            config.link.beat_bytes * config.clock_mhz * 1e-3,
        )


class CentSystem(System):
    """CXL devices that execute whole models.

    Attributes
    ----------
    tp : devices that share a block
    pp : stages; 0 for one for each block
    rules : where the model leaves the authors' simulator
    """

    kind = "cent"
    result = CentKeys
    options = (
        Option("--devices", "device.count", "N", "devices (default: 32)", least=1),
        Option("--quirks", "quirks", "Q", "simulator whose slips are included: cent-simulator"),
        Option("--order", "order", "O", "program of a block: executed, or authors for the order of their generator"),
    )
    roles = {**System.roles, "cxl": Role.COMMUNICATION, "pipeline_wait": Role.WAIT}
    energy_roles = {
        **System.energy_roles,
        "activations": EnergyRole.BANKS,
        "reads": EnergyRole.BANKS,
        "writes": EnergyRole.BANKS,
        "products": EnergyRole.UNITS,
        "units": EnergyRole.UNITS,
    }
    schema = CentSystemSpec
    not_modelled = ("host",)
    longest = 1 << 24
    reads_runs = True

    def __init__(self, description: Description[CentSystemSpec], rules: Rules | None = None) -> None:
        super().__init__(description)
        self.spec = spec = description.spec
        self.memory = description.memory(spec.device.memory)
        self.tp, self._stages = spec.parallelism.tensor, spec.parallelism.pipeline
        self.pp = self._stages or 0
        self.rules = (
            rules
            if rules is not None
            else SIMULATOR
            if spec.quirks
            else replace(Rules(), refresh=spec.device.refresh, executed=spec.order == "executed")
        )
        self.units = CentUnits(self.name, spec.units)
        self._points: dict[Any, Point] = {}
        self._ends: dict[ModelShape, StandbyTiming] = {}
        self.order: Order = ExecutedOrder(self) if self.rules.executed else AuthorsOrder(self)

    # Splits ----------------------------------------------------------------------------------------------------------

    @property
    def devices(self) -> int:
        return self.spec.device.count

    def unbound(self) -> Self:
        own = type(self)(self.description, self.rules)
        own.selected = self.selected
        return own

    def with_rules(self, rules: Rules) -> Self:
        """The same system with other rules, for the table of causes. It has this one's measurements."""
        other = type(self)(self.description, rules)
        other.units = self.units
        return other

    def requested(self, tensor: int, pipeline: int) -> Self:
        if tensor > 1 and tensor * pipeline > self.devices:
            raise ConfigError(
                f"--split {tensor}x{pipeline}: {pipeline} stages of {tensor} whole devices need "
                f"{tensor * pipeline}, {self.name} has {self.devices}; a stage is never on a part of two "
                "devices"
            )
        return self.with_split(tensor, pipeline)

    def splits(self, model: ModelShape) -> list[Self]:
        """A block for each stage, and tensor parallelism with as many stages of whole devices as there are."""
        out = [self.with_split(1, model.layers)]
        out += [
            self.with_split(t, self.devices // t)
            for t in range(1, self.devices + 1)
            if self.devices % t == 0 and self.devices // t <= model.layers
        ]
        return [one for k, one in enumerate(out) if (one.tp, one.pp) not in {(o.tp, o.pp) for o in out[:k]}]

    def count(self, model: ModelShape) -> int:
        return self._stages or model.layers

    def whole_devices(self, model: ModelShape) -> bool:
        """Whether a block has all channels of its devices and shares its matrices with them."""
        return self.tp > 1 or self.count(model) <= self.devices

    def stages_per_device(self, model: ModelShape) -> int:
        return 1 if self.whole_devices(model) else math.ceil(self.count(model) / self.devices)

    def utilised(self, model: ModelShape) -> int:
        """Devices with a stage."""
        if self.whole_devices(model):
            return self.tp * self.count(model)
        return math.ceil(self.count(model) / self.stages_per_device(model))

    def check_tensor(self, model: ModelShape) -> None:
        self.check_numbers(model, 2)
        if self.tp > self.devices:
            raise ConfigError(f"{self.name}: {self.tp} devices share a block, there are {self.devices}")

    def check(self, model: ModelShape) -> None:
        self.check_tensor(model)
        self.stages(model)
        if self.tp > 1 and self.tp * self.count(model) > self.devices:
            raise ConfigError(
                f"{self.name}: {self.count(model)} stages of {self.tp} whole devices need "
                f"{self.tp * self.count(model)} devices, there are {self.devices}; a stage is never on a "
                "part of two devices"
            )
        if self.stages_per_device(model) > CHANNELS:
            raise ConfigError(
                f"{self.name}: {self.count(model)} stages on {self.devices} devices of {CHANNELS} channels: "
                f"too few devices for {model.name}"
            )
        self.order.check(model)

    def channels(self, model: ModelShape) -> int:
        """Channels of a block on a device."""
        return self.order.channels(model)

    def default_batch(self, model: ModelShape) -> int:
        """A request for each stage."""
        return self.count(model)

    # Time ------------------------------------------------------------------------------------------------------------

    @property
    def front_end(self) -> StandbyFrontEnd:
        return _front_end(self.memory, not self.rules.bank_timing, self.rules.refresh)

    @property
    def plain_front_end(self) -> StandbyFrontEnd:
        """The front end without refresh."""
        return _front_end(self.memory, not self.rules.bank_timing, False)

    def prepare(self, model: ModelShape, records: RecordSource, refresh: bool) -> None:
        """Check the split, and look up the measurements of units and port. ``refresh`` adds refresh to the timing of a
        system whose file leaves it out."""
        self.check(model)
        if (self.rules.measured or self.rules.ports) and self.units.look_up(records):
            self._points.clear()
        if refresh and not self.rules.refresh:
            if not self.rules.bank_timing:
                raise ConfigError("the AiM simulator never refreshes: refresh cannot be combined with its quirks")
            self.rules = replace(self.rules, refresh=True)
            self._points.clear()
            self._ends.clear()

    @property
    def records(self) -> list[Record]:
        return self.units.records

    def point(self, model: ModelShape, tokens: int) -> Point:
        """A token that attends to ``tokens`` tokens. :meth:`prepare` comes first, but not under quirks."""
        tokens = int(model.attended(tokens))
        key = (model, tokens, self.selected)
        return kept(self._points, key, lambda: self._point(model, tokens), 1 << 17)

    def ends(self, model: ModelShape) -> StandbyTiming:
        """Timing of last norm and output matrix, and under quirks of the embedding."""
        return kept(self._ends, model, lambda: self.order.ends(model))

    def _point(self, model: ModelShape, tokens: int) -> Point:
        if self.selected is None or self.selected.room != tokens:
            return self._point_of(model, tokens, None)
        self.selected.check(model)
        points = [self._point_of(model, tokens, layer) for layer in range(model.layers)]
        means = {
            one.name: float(np.mean([getattr(point, one.name) for point in points]))
            for one in fields(Point)
            if one.name != "energy_pj"
        }
        energy = {name: float(np.mean([point.energy_pj[name] for point in points])) for name in points[0].energy_pj}
        return Point(round(means.pop("pim_cycles")), **means, energy_pj=energy)

    def _point_of(self, model: ModelShape, tokens: int, layer: int | None) -> Point:
        """A token whose blocks all read what the selection has for a layer; None: all tokens."""
        rules, spec = self.rules, self.spec
        chosen = None if layer is None or self.selected is None else self.selected.runs(layer, LANES)
        fetched = tokens
        if layer is not None and self.selected is not None:
            fetched = min(self.selected.fetched(layer, LANES), tokens)
        block, ends = self.order.block(model, tokens, chosen, fetched), self.ends(model)
        pace = self.pace(model, block.timing.cycles, block.clocks)
        round_s = pace.period_s * self.count(model) if rules.all_standby else 0.0
        energy = self._energy(model, block, pace.energy_elements, round_s, ends)
        return Point(
            block.timing.cycles,
            pace.pim_s,
            pace.cxl_s,
            pace.acc_s,
            pace.embedding_s,
            spec.host.host_ms * 1e-3,
            pace.period_s,
            pace.token_s,
            energy,
        )

    def pace(self, model: ModelShape, cycles: float, clocks: PnmClocks) -> Pace:
        """Times of a token whose blocks take so many cycles of the memory and clocks of the units near it."""
        rules, spec, clock = self.rules, self.spec, self.memory.clock_ps * 1e-12
        pim, embedding, host = cycles * clock, self.ends(model).cycles * clock, spec.host.host_ms * 1e-3
        whole, count, turns = self.whole_devices(model), self.count(model), self.order.turns(model)
        acc = clocks.seconds * (self.stages_per_device(model) // turns)
        port = self.units.port if rules.ports else None
        sent = self.order.transfers(model, whole, port)
        cxl, layers = sent.seconds, model.layers
        # One hop at the end of a stage; devices that share a block exchange vectors in every block.
        hops_each_block = not rules.links or (whole and self.tp > 1)
        if rules.spread_output:
            embedding += exchange(spec.link, model.hidden_size, model.vocab_size, self.devices, not rules.links, port)
        blocks = max(self.stages(model)) if rules.whole_blocks else layers / count
        stage = blocks * (pim + acc + (cxl if hops_each_block else 0.0)) + (0.0 if hops_each_block else cxl)
        if rules.executed:  # the stages of a device take turns, and all devices stop for the output of each token
            period = turns * stage + embedding
            exchanged = layers * cxl if hops_each_block else count * cxl
            token = layers * (pim + acc) + exchanged + embedding + host
        elif rules.spread_output:  # all devices stop for the output of each token
            period = stage + embedding
            token = count * period + host
        elif rules.whole_blocks:
            period = stage + embedding / count
            token = count * period + host
        else:
            token = layers * (pim + cxl + acc) + embedding + host
            period = token / count
        return Pace(pim, cxl, acc, embedding, period, token, sent.energy_elements)

    def _energy(
        self, model: ModelShape, block: Timed, elements: int, round_s: float, ends: StandbyTiming
    ) -> dict[str, float]:
        """Energy of a token. A pass of a device's program serves a token of each of its stages.

        ``round_s``: seconds in which each request gets a token; devices stand by for what their programs leave of it. 0
        as the authors' scripts have it, without.
        """
        spec, clock = self.spec, self.memory.clock_ps * 1e-12
        standby = CHANNELS if self.rules.all_standby else 1
        passes = model.layers * self.order.turns(model) / self.stages_per_device(model)
        if not self.whole_devices(model) and not self.rules.whole_blocks:
            passes = self.utilised(model)
        link = elements if not self.rules.all_standby else 16 * elements  # bits of an element
        programs = [(passes, block.timing, block.instructions)]
        others = self.order.others(model, block)
        if others is not None:
            programs.append((passes * (self.tp - 1), *others))
        each = [
            (times, device_energy_pj(spec.energy, spec.pnm, timing, size, block.work, link, standby=standby))
            for times, timing, size in programs
        ]
        busy = sum(times * timing.cycles * clock for times, timing, _ in programs)
        out: dict[str, float] = {}
        for times, parts in each:
            for name, pj in parts.items():
                out[name] = out.get(name, 0.0) + times * pj
        if self.rules.all_standby:
            sharing = self.devices if self.rules.spread_output else self.tp
            for name, pj in device_energy_pj(
                spec.energy, spec.pnm, ends, 0, Activity(0, 0, 0, 0, 0, 0), 0.0, standby=standby
            ).items():
                out[name] = out.get(name, 0.0) + sharing * pj
            # All devices of the system wait for the rest of the round, which every request of it shares.
            share = self.devices * round_s / self.count(model)
            waiting = max(share - busy - sharing * ends.cycles * clock, 0.0) * 1e9
            out["standby"] += waiting * CHANNELS * spec.energy.standby_mw
            out["buffers"] += waiting * (
                CHANNELS * spec.energy.global_buffer_mw[0]
                + spec.energy.shared_buffer_mw[0]
                + spec.energy.instruction_buffer_mw[0]
            )
            out["units"] += waiting * spec.energy.control_mw
        return out

    def power_w(self, model: ModelShape, point: Point) -> dict[str, float]:
        """Power by component. The authors' scripts divide by the time of the channels alone."""
        count = self.count(model)
        seconds = point.period_s if self.rules.all_standby else point.pim_s * (model.layers / count)
        return {name: pj * 1e-12 / seconds for name, pj in point.energy_pj.items()}

    def executed(self, model: ModelShape, tokens: int) -> list[Executed]:
        """A block's program, from the words of its instructions as the decoder takes them. In the authors' order, no device
        executes it."""
        if not isinstance(self.order, ExecutedOrder):
            return [Executed("block", self.order.text, "nothing: no RTL executes this order")]
        return [self.order.executed(model, tokens)]

    # Steps -----------------------------------------------------------------------------------------------------------

    def decode_step(self, model: ModelShape, batch: int, contexts: np.ndarray) -> StepCost:
        contexts = np.asarray(contexts)
        first, last = int(contexts[0]), int(contexts[-1])
        chosen = (
            contexts
            if not self.rules.refresh
            else np.unique(np.linspace(first, last, min(len(contexts), SAMPLES)).round().astype(np.int64))
        )
        points = [self.point(model, int(tokens)) for tokens in chosen]
        layers, count = model.layers, self.count(model)
        # In the authors' order, a token stands still for the output of all others.
        each = count if self.rules.spread_output and not self.rules.executed else 1
        parts = {
            "pim": [layers * p.pim_s for p in points],
            "cxl": [layers * p.cxl_s for p in points],
            "pnm": [layers * p.acc_s for p in points],
            "embedding": [each * p.embedding_s for p in points],
            "host": [p.host_s for p in points],
        }
        if self.rules.links and not (self.whole_devices(model) and self.tp > 1):
            parts["cxl"] = [count * p.cxl_s for p in points]
        needed = [max(p.token_s, batch * p.period_s) for p in points]
        parts["pipeline_wait"] = [
            max(total - sum(values[k] for values in parts.values()), 0.0) for k, total in enumerate(needed)
        ]
        if not any(parts["pipeline_wait"][k] > 1e-12 * needed[k] for k in range(len(points))):
            parts.pop("pipeline_wait")
        energy = {name: [batch * p.energy_pj[name] for p in points] for name in points[0].energy_pj}

        def over(values: dict[str, list[float]]) -> dict[str, np.ndarray]:
            return {name: np.interp(contexts, chosen, series) for name, series in values.items()}

        return StepCost(over(parts), over(energy), 1)

    def serving(self, model: ModelShape) -> CentServed:
        return CentServed(self, model)

    # Room ------------------------------------------------------------------------------------------------------------

    @property
    def rows(self) -> int:
        """Rows of a bank."""
        return self.memory.rows * self.spec.device.chip_gbit // 8

    def weight_rows(self, model: ModelShape) -> int:
        """Rows of a bank of the fullest device that hold weights and vectors: its blocks, and the output matrix."""
        head = -(-model.vocab_size // (CHANNELS * BANKS * self.devices)) * -(-model.hidden_size // ROW)
        return self.order.weight_rows(model) + head

    def kv_rows(self, model: ModelShape, tokens: int) -> int:
        """Rows of a bank of the fullest device for keys and values of a request, in its blocks."""
        return self.order.kv_rows(model, int(model.attended(tokens)))

    def _bytes(self, model: ModelShape, rows: int) -> int:
        """Bytes of so many rows in all banks of a device that are in use."""
        used = self.channels(model) * self.stages_per_device(model) // self.order.turns(model)
        return rows * used * BANKS * ROW * LANES // LANES * 2

    def rooms(self, model: ModelShape) -> list[Room]:
        whole, weights = (self._bytes(model, rows) for rows in (self.rows, self.weight_rows(model)))
        return [Room(whole, weights, lambda batch, tokens: self._bytes(model, batch * self.kv_rows(model, tokens)))]

    def check_fits(self, model: ModelShape, context: int, batch: int, output_tokens: int = 1) -> Capacity:
        """As of any system; the authors' simulator checks nothing."""
        if self.spec.quirks:
            return self.capacity(model, context, batch, output_tokens)
        return super().check_fits(model, context, batch, output_tokens)

    def check_weights(self, model: ModelShape) -> None:
        """Raise :exc:`ConfigError` unless the weights fit."""
        if not self.fits(model, 0, 1):
            raise ConfigError(self.too_large(model, Load(1, 0)))

    def lacks(self, model: ModelShape, load: Load, capacity: Capacity) -> str:
        need = self.weight_rows(model) + load.batch * self.kv_rows(model, load.last)
        return f"batch {load.batch} at context {load.last} needs {need} rows of a bank, {self.rows} are there"

    def lacks_weights(self, model: ModelShape, load: Load, capacity: Capacity) -> str:
        return (
            f"too few devices: the weights need {self.weight_rows(model)} rows of a bank on the fullest of "
            f"{self.devices} devices, {self.rows} are there"
        )

    def kv_block_tokens(self, model: ModelShape) -> int:
        """Values of a head lie in rows of so many tokens."""
        return ROW

    # Results ---------------------------------------------------------------------------------------------------------

    def details(self, model: ModelShape, batch: int, context: int, cost: StepCost) -> Details:
        point = self.point(model, context)
        count, used = self.count(model), self.utilised(model)
        power = self.power_w(model, point)
        simulator = transfers(self.spec.link, model, self.tp, self.devices, self.whole_devices(model), True)
        notes = []
        if used < self.devices:
            notes.append(f"{used} of {self.devices} devices have a stage")
        if batch < count:
            notes.append(f"{batch} request{'s' if batch > 1 else ''} for {count} stages: {count - batch} are idle")
        if self.spec.quirks and not self.fits(model, batch, context):
            notes.append("weights, keys and values do not fit the devices, which the authors' simulator does not check")
        gigabytes = self.devices * CHANNELS * BANKS * self.rows * ROW * 2 / GIB
        controller = self.units.controller() if self.rules.measured else None
        if self.rules.measured:
            notes += self.units.notes
        mhz = None if controller is None or controller["slowest"] is None else controller["slowest_mhz"][1]
        if controller is not None and mhz is not None and mhz < 1e3 * self.spec.pnm.clock_ghz:
            notes.append(
                f"{controller['slowest']} reaches {mhz:.0f} MHz with wires in its process (estimate); results "
                f"take {self.spec.pnm.clock_ghz:g} GHz for granted"
            )
        price = system_usd(self.devices, gigabytes, pnm_mm2=None if controller is None else controller["measured_mm2"])
        hour = hourly_usd(sum(price.values()), sum(power.values()) + self.spec.host.power_w)
        more = {
            "block": {
                "pim_cycles": point.pim_cycles,
                "pim_ms": point.pim_s * 1e3,
                "cxl_ms": point.cxl_s * 1e3,
                "acc_ms": point.acc_s * 1e3,
                "transfer_bytes": simulator.payload_bytes,
            },
            "embedding_ms": point.embedding_s * 1e3,
            "host_ms": point.host_s * 1e3,
            "power_w": sum(power.values()),
            "power_breakdown_w": power,
            "stages": count,
            "utilised_devices": used,
            "controller": controller,
            "price_usd": price,
            "usd_per_hour": hour,
            "tokens_per_usd": tokens_per_usd(batch / float(cost.total_s.mean()), hour),
        }
        return Details(notes=notes, more=more)

    def assumptions(self) -> dict[str, Assumption]:
        spec, rules = self.spec, self.rules
        source = "CENT's simulator"
        return {
            "attention": Assumption(
                "attention, norms, positions and products are programs on the AiM channels: "
                + self.order.text
                + ("" if rules.mended else ", slips included"),
                "executed" if rules.executed else "authors",
                spec.device.source,
            ),
            **(
                {}
                if self.selected is None
                else {
                    "selection": Assumption(
                        "attention reads the access units of 16 slots of each query's selection; the units near memory take the "
                        "mean of the queries, and a step the mean of the layers",
                        "runs",
                    )
                }
            ),
            "pnm": Assumption(
                (
                    "units near memory take their measured clocks, in the commands of the instruction set, at "
                    f"{spec.pnm.clock_ghz:g} GHz"
                    if rules.measured
                    else "units near memory take the clocks of the authors' model"
                )
                + ", one block of a device after the other"
                + (", and each word of a result a clock of the shared buffer's port" if rules.executed else ""),
                spec.units.model_dump(exclude={"source"})
                if rules.measured
                else spec.pnm.model_dump(exclude={"source"}),
                spec.pnm.source,
            ),
            "ports": Assumption(
                "latency and pace of the CXL port are measured, with a switch of one level"
                if rules.ports
                else "ports and switch take the file's latencies",
                rules.ports,
                spec.link.source,
            ),
            "overlap": Assumption("channels, units near memory and links work one after the other", False, source),
            "inputs": Assumption(
                "the blocks of a device take turns on all of its channels"
                if rules.executed
                else "each block of a device has its own input"
                if rules.own_inputs
                else "one input serves all blocks of a device",
                rules.own_inputs,
            ),
            "parallelism": Assumption(
                f"{self.tp} device{'s' if self.tp > 1 else ''} to a block, "
                f"{self._stages or 'as many stages as blocks' if not self._stages else f'{self._stages} stages'}"
                + (
                    ""
                    if self.tp == 1
                    else "; each device attends for some heads, and the first adds the results of all"
                    if rules.executed
                    else "; the first device attends while the others wait"
                ),
                {"tensor": self.tp, "pipeline": self._stages},
                spec.parallelism.source,
            ),
            "stages": Assumption(
                "a stage has whole blocks, and the slowest sets the pace"
                if rules.whole_blocks
                else "a token takes the sum of all blocks, and stages share it evenly",
                rules.whole_blocks,
            ),
            "embedding": Assumption(
                "the host reads the row of the embedding; last norm and output matrix are programs"
                if rules.lookup
                else "the embedding is a product with a vector of the vocabulary",
                rules.lookup,
            ),
            "links": Assumption(
                f"transfers of a shared block are counted as '{spec.link.accounting}', one after the other",
                spec.link.accounting,
                spec.link.source,
            ),
            "host": Assumption(f"the host takes {spec.host.host_ms:g} ms a token", spec.host.host_ms, spec.host.source),
            "standby": Assumption(
                "all channels stand by" if rules.all_standby else "one channel's standby counts",
                rules.all_standby,
                spec.energy.source,
            ),
            "refresh": Assumption(
                "refresh " + ("is" if rules.refresh else "is not") + " part of the timing", rules.refresh
            ),
            "prefill": Assumption(
                "a prompt is computed token by token, as in decoding", "token by token", "CENT section 5.5"
            ),
        }


class CentServed(Served):
    """An instance of CENT for the serving engine. A step takes as long as the longest token of its requests, or as the
    pipeline needs for all of them."""

    system: CentSystem
    interpolated = 0.01

    def __init__(self, system: CentSystem, model: ModelShape) -> None:
        super().__init__(system, model)
        self._paces: dict[int, Pace] = {}
        self._shares: dict[int, float] = {}

    def _at(self, contexts: Iterable[int] | np.ndarray, what: str) -> np.ndarray:
        """A time of points at contexts.

        Programs change at the first token of a row of keys in all banks. So points are evaluated at the first and the last
        word of such a row, and times between them lie on straight lines.
        """
        wanted = np.asarray(self.model.attended(np.asarray(contexts, np.int64)))
        edge = self.system.channels(self.model) * BANKS
        whole = np.arange(int(wanted.min() - 1) // edge, int(wanted.max() - 1) // edge + 2) * edge
        grid = np.stack([whole[:-1] + LANES, whole[1:]], axis=1).reshape(-1)
        values = [getattr(self._pace(int(tokens)), what) for tokens in grid]
        return np.interp(-(-wanted // LANES) * LANES, grid, values)

    def _pace(self, tokens: int) -> Pace:
        """Times at a context. Cycles without refresh are multiplied by the share of refresh."""

        def make() -> Pace:
            block = self.system.order.block(self.model, tokens, None, tokens, self.system.plain_front_end)
            return self.system.pace(self.model, block.timing.cycles * self._refreshed(tokens), block.clocks)

        return kept(self._paces, tokens, make)

    def _refreshed(self, tokens: int) -> float:
        """Cycles with refresh over cycles without, evaluated at multiples of :data:`REFRESHED` tokens."""
        if not self.system.rules.refresh:
            return 1.0
        low, part = divmod(tokens, REFRESHED)
        return float(
            np.interp(part / REFRESHED, [0, 1], [self._share(low * REFRESHED), self._share((low + 1) * REFRESHED)])
        )

    def _share(self, tokens: int) -> float:
        def make() -> float:
            at = max(tokens, 1)
            order, system = self.system.order, self.system
            whole, plain = (
                order.block(self.model, at, None, at, front_end).timing.cycles
                for front_end in (system.front_end, system.plain_front_end)
            )
            return whole / plain

        return kept(self._shares, tokens, make)

    def decode_seconds(self, contexts: np.ndarray) -> float:
        """Seconds of a step."""
        return float(max(self._at(contexts, "token_s").max(), self._at(contexts, "period_s").sum()))

    def prefill_seconds(self, tokens: np.ndarray, past: np.ndarray) -> float:
        """Seconds to compute prompts token by token; prompts are in the pipeline side by side."""
        longest = total = 0.0
        for count, begun in zip(np.asarray(tokens).tolist(), np.asarray(past).tolist(), strict=True):
            contexts = begun + 1 + np.arange(count)
            longest = max(longest, float(self._at(contexts, "token_s").sum()))
            total += float(self._at(contexts, "period_s").sum())
        return max(longest, total)
