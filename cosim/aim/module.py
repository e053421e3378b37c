"""A module of AiM channels with a memory at each channel, for the benches of modules: ports, pace, expected columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from typing import Generic, Protocol, TypeVar

import numpy as np

from ...constraints.aim.encoding import COMMANDS, HUB_CODES, channels_of, operations
from ...constraints.aim.module import AimModuleConfig
from ...constraints.core.contract import Field, Layout, Port
from ...constraints.memory import Memory
from ...models.aim.channel import BANK_COMMANDS
from ...models.aim.module import WRITING, Access, ModuleModel
from ...models.memory.aim import INSTRUCTIONS, channel_mask
from ...models.memory.issue_log import LoggedFrontEnd, Recorder
from ...models.numerics import to_float64
from ...models.program import Program
from ..bench.campaign import Played, streams
from ..bench.streams import Items
from .channel import number_rows

__all__ = [
    "NAMES",
    "ModuleOutcome",
    "Rig",
    "Step",
    "column_rows",
    "expected_rows",
    "memory_items",
    "memory_program",
    "memory_steps",
    "step_cycles",
]

#: Commands by code.
NAMES = {command.code: name for name, command in COMMANDS.items()}


# Time of the memory ------------------------------------------------------------------------------------------------------


def memory_program(config: AimModuleConfig, issued: Sequence[Sequence[int]]) -> Program:
    """The issued commands as instructions of an AiM host, without commands of the hub alone."""
    program, fields = Program(), list(config.command_layout.widths)
    for values in issued:
        command = dict(zip(fields, values, strict=True))
        op = NAMES[command["op"]]
        if command["op"] >= HUB_CODES or INSTRUCTIONS[op].command is None:
            continue
        channels = channels_of(command["mask"], config.mask_bits)
        known = {**command, "gpr": 0, "channel": command["gpr1"], "mask": sum(channel_mask(1, n) for n in channels)}
        what = INSTRUCTIONS[op]
        program.command(op, **{name: known[name] for name in what.fields + what.optional})
    return program


def step_cycles(
    config: AimModuleConfig, issued: Sequence[Sequence[int]], memory: Memory
) -> tuple[list[np.ndarray], int]:
    """Cycles of the unit in which each channel's memory issues each step of its commands, in the order of the program.
    A step that issues before an earlier step counts with the earlier one. The second value is the memory's cycles for
    all of it."""
    front_end = LoggedFrontEnd(memory)
    recorder = Recorder(front_end.memory, channels=range(config.channels))
    timing = front_end.record_program(memory_program(config, issued), recorder)
    log = recorder.log(timing.cycles, config.channels)
    names = np.array(list(memory.commands))[log.commands]
    cycles = np.ceil(log.cycles * memory.clock_ps * config.clock_mhz * 1e-6 - 1e-9).astype(np.int64)
    fields = list(config.command_layout.widths)
    out = []
    for n in range(config.channels):
        mine = log.channel(n)
        places = {name: iter(cycles[mine][names[mine] == name]) for name in set(names[mine])}
        times: list[int] = []
        for values in issued:
            command = dict(zip(fields, values, strict=True))
            op = NAMES[command["op"]]
            if command["op"] >= HUB_CODES or n not in channels_of(command["mask"], config.mask_bits):
                continue
            name = INSTRUCTIONS[op].command
            steps = operations(op, command["opsize"])
            if name is not None:
                times += [int(next(places[name])) for _ in range(steps)]
        out.append(np.maximum.accumulate(np.array(times, np.int64)) if times else np.zeros(0, np.int64))
    return out, int(timing.cycles)


# Simulation --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rig:
    """The module with a memory of ``rows`` rows at each channel. The bench plays its stimulus to this design."""

    config: AimModuleConfig
    rows: int

    @cached_property
    def column_layout(self) -> Layout:
        """A column of all banks, and its place in them."""
        channel = self.config.channel
        return Layout.of(
            Field("data", channel.column_layout.bits, "a word of every bank", channel.banks * channel.lanes),
            Field("column", self.config.command_layout.widths["column"], "column of the row"),
            Field("row", max(1, (self.rows - 1).bit_length()), "row"),
        )

    @cached_property
    def stored_layout(self) -> Layout:
        """A column after a write."""
        return Layout.of(
            *self.column_layout.fields, Field("banks", self.config.channel.banks, "banks that were written")
        )

    def ports(self) -> tuple[Port, ...]:
        unit = {port.name: port for port in self.config.ports()}
        channels = range(self.config.channels)
        front = [port for port in (*self.config.front_ports(), *self.config.hub_ports()) if port.stream]
        return (
            *(port for port in front if port.is_input),
            unit["host_in"],
            *(Port(f"load_{n}", "in", self.column_layout, "a column to begin with") for n in channels),
            *(Port(f"pace_{n}", "in", Layout.plain(32), "clocks from the step before") for n in channels),
            Port("issued", "out", self.config.command_layout, "a command of the front end, seen"),
            *(port for port in front if not port.is_input),
            unit["host_out"],
            *(Port(f"beat_{n}", "out", self.column_layout, "a column that was read, seen") for n in channels),
            *(Port(f"stored_{n}", "out", self.stored_layout, "a column that was written, seen") for n in channels),
        )

    @property
    def direct(self) -> list[str]:
        """Streams between the bench and the module itself."""
        front = [port for port in (*self.config.front_ports(), *self.config.hub_ports()) if port.stream]
        return [
            *(port.name for port in front if port.is_input),
            "host_in",
            *(port.name for port in front if not port.is_input),
            "host_out",
        ]

    @property
    def signals(self) -> list[Port]:
        """Inputs of the module that are no streams."""
        return [port for port in self.config.ports() if port.is_input and not port.stream]

    def verilog(self, unit: str, top: str, *, inside: bool = False) -> str:
        """Text of module ``top``_bench, with the ``unit`` of module ``top`` in it. ``inside``: a further module gives the
        signals. Otherwise they are 0."""
        import jinja2

        text = resources.files(__package__).joinpath("channel_memory.sv.j2").read_text()
        template = jinja2.Environment(
            trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True
        ).from_string(text)
        config, channel, place = self.config, self.config.channel, self.column_layout.widths
        fields = [
            (field.name, min(field.bits, place["row"]) if field.name == "row" else field.bits, low)
            for low, field in config.memory_layout.items()
        ]
        return unit + template.render(
            top=top,
            ports=streams(self),
            channels=config.channels,
            rows=1 << place["row"],
            fields=fields,
            data_bits=place["data"],
            row_bits=place["row"],
            column_bits=place["column"],
            place_bits=place["row"] + place["column"],
            load_bits=self.column_layout.bits,
            write_bits=channel.write_layout.bits,
            element_bits=channel.write_layout.widths["element"],
            command_bits=config.memory_layout.bits,
            opsize_bits=config.memory_layout.widths["opsize"],
            issued_bits=config.issued_layout.bits,
            status_bits=next(port.layout.bits for port in config.front_ports() if port.name == "status"),
            banks=channel.banks,
            bank_bits=channel.command_layout.widths["bank"],
            groups=channel.groups,
            word=channel.word_bits,
            width=channel.fmt.width,
            columns=channel.columns,
            reading=[COMMANDS[name].code for name in BANK_COMMANDS],
            writing=[COMMANDS[name].code for name in WRITING],
            direct=self.direct,
            signals=[(port.name, port.layout.bits) for port in self.signals if inside],
            given=[(port.name, port.name if inside else f"{port.layout.bits}'d0") for port in self.signals],
            inner=[f"{name}_{n}" for n in range(config.channels) for name in ("memory", "bank", "write")],
        )


def column_rows(layout: Layout, accesses: Sequence[Access]) -> np.ndarray:
    """Payloads of columns with their places, and with the banks of a write if the layout has them."""
    count = layout.fields[0].count
    columns = {"data": np.array([one.words for one in accesses], np.int64).reshape(len(accesses), count)}
    for name in list(layout.widths)[1:]:
        columns[name] = np.array([getattr(one, name) for one in accesses], np.int64)
    return layout.pack(columns)


def memory_steps(config: AimModuleConfig, values: Sequence[int], channel: int) -> int:
    """Steps of a command in the memory of a channel."""
    command = dict(zip(config.command_layout.widths, values, strict=True))
    op = NAMES[command["op"]]
    if command["op"] >= HUB_CODES or INSTRUCTIONS[op].command is None:
        return 0
    if channel not in channels_of(command["mask"], config.mask_bits):
        return 0
    return operations(op, command["opsize"])


def memory_items(
    rig: Rig,
    loads: Sequence[Sequence[tuple[int, int, np.ndarray]]],
    issued: Sequence[Sequence[int]],
    memory: Memory | None,
    epoch: int,
) -> dict[str, Items]:
    """What the memories of the channels get for an episode: columns to begin with, and the pace of the steps of the issued
    commands. Without ``memory`` there is a step in every clock."""
    config, items = rig.config, {}
    channels = range(config.channels)
    if memory is None:
        gaps = [np.zeros(sum(memory_steps(config, values, n) for values in issued), np.int64) for n in channels]
    else:
        gaps = [np.diff(times, prepend=times[:1]) for times in step_cycles(config, issued, memory)[0]]
    for n in channels:
        columns = [Access(row, column, words) for row, column, words in loads[n]]
        items[f"load_{n}"] = Items.of(column_rows(rig.column_layout, columns), epoch=epoch)
        items[f"pace_{n}"] = Items.of(Layout.plain(32).pack({"": gaps[n]}), epoch=epoch)
    return items


def expected_rows(rig: Rig, model: ModuleModel, issued: Sequence[Sequence[int]]) -> dict[str, np.ndarray]:
    """Payloads of the outputs that every module has: issued commands, registers for the host, columns read and written."""
    layout, channels = rig.config.command_layout, range(rig.config.channels)
    commands = np.array(issued, np.int64).reshape(-1, len(layout.fields))
    return {
        "issued": layout.pack(dict(zip(layout.widths, commands.T, strict=True))),
        "host_out": number_rows(rig.config.hub.word_layout, model.given),
        **{f"beat_{n}": column_rows(rig.column_layout, model.read[n]) for n in channels},
        **{f"stored_{n}": column_rows(rig.stored_layout, model.written[n]) for n in channels},
    }


# Results -----------------------------------------------------------------------------------------------------------------


class Step(Protocol):
    """A part of a session: its commands among all issued commands, its results among all registers for the host."""

    @property
    def commands(self) -> slice: ...
    @property
    def results(self) -> slice: ...


class OfModule(Protocol):
    """A host's session with a module."""

    @property
    def config(self) -> AimModuleConfig: ...


Session = TypeVar("Session", bound=OfModule)


@dataclass
class ModuleOutcome(Played, Generic[Session]):
    """Outcome of the simulation of a session.

    Attributes
    ----------
    module : what precedes the names of the streams of the module that is measured, if the bench has several
    """

    session: Session = field(kw_only=True)
    module: str = field(default="", kw_only=True)

    def cycles(self, one: Step) -> int:
        """Clocks of a step: from its first command to its last result, both included."""
        cycles, of = self.run.output_cycles, self.module
        return int(cycles[f"{of}host_out"][one.results.stop - 1] - cycles[f"{of}issued"][one.commands.start]) + 1

    def result(self, one: Step) -> np.ndarray:
        """Numbers that the host receives in a step, as binary64."""
        hub = self.session.config.hub
        got = hub.word_layout.unpack(self.run.outputs[f"{self.module}host_out"][one.results])[""]
        return to_float64(got.reshape(-1), hub.fmt)
