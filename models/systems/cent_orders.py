"""Programs of a block of CENT: the one that the RTL executes, and the order of the authors' trace generator.

An order gives the program of a block, and its work in the units near memory. It also gives the transfers between devices
that share a block, and the rows of a bank that a model takes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ...constraints.cent.isa import CentIsa
from ...constraints.core.errors import ConfigError
from ...constraints.memory import Memory
from ...constraints.systems.cent import CentSystemSpec
from ..cent.block import (
    BANKS,
    LANES,
    ROW,
    BlockMapping,
    block_program,
    embedding_program,
    matrices_program,
    output_program,
)
from ..cent.costs import (
    Activity,
    MeasuredPort,
    PnmClocks,
    Transfers,
    activity,
    collected,
    measured_clocks,
    pnm_clocks,
    transfers,
)
from ..cent.executable import ExecutableBlock, memory_commands
from ..cent.step import ENTRIES, block_work, near_activity, near_clocks, output_work
from ..cent.words import decode_words, encode_words
from ..llm import ROTARY, ModelShape
from ..memory.aim import CHANNELS
from ..memory.standby import StandbyFrontEnd, StandbyTiming
from ..program import Program, Wait
from ..program.nodes import Command, Loop, Node
from ..program.selected import Selected
from .capabilities import Executed, digest_of
from .memo import kept

__all__ = ["AuthorsOrder", "ExecutedOrder", "Order", "Timed", "block_of"]


@dataclass(frozen=True)
class Timed:
    """A program on a device, and what it costs beside the memory.

    Attributes
    ----------
    timing : of the memory
    instructions : of the program
    clocks, work : of the units near memory
    """

    timing: StandbyTiming
    instructions: int
    clocks: PnmClocks
    work: Activity


class Devices(Protocol):
    """The system to which an order belongs (:class:`bankside.models.systems.cent.CentSystem`)."""

    name: str
    tp: int
    rules: Any
    spec: CentSystemSpec
    units: Any
    memory: Memory

    @property
    def devices(self) -> int: ...
    @property
    def front_end(self) -> StandbyFrontEnd: ...
    def stages(self, model: ModelShape) -> Any: ...
    def stages_per_device(self, model: ModelShape) -> int: ...


class Order(Protocol):
    """Programs of a system's blocks."""

    #: What the order is, for the reader of a result.
    text: str

    def channels(self, model: ModelShape) -> int:
        """Channels of a block on a device."""

    def turns(self, model: ModelShape) -> int:
        """Blocks of a device that take turns on its channels."""

    def check(self, model: ModelShape) -> None:
        """Raise :exc:`ConfigError` unless there is a program of the model's blocks."""

    def block(
        self,
        model: ModelShape,
        tokens: int,
        selected: Selected | None,
        fetched: int,
        front_end: StandbyFrontEnd | None = None,
    ) -> Timed:
        """A token through a block on the first of its devices. ``fetched``: tokens that attention reads. ``front_end``: in
        place of the system's."""

    def others(self, model: ModelShape, block: Timed) -> tuple[StandbyTiming, int] | None:
        """Timing and instructions of each further device that shares a block."""

    def ends(self, model: ModelShape) -> StandbyTiming:
        """Last norm and output matrix, on each of the devices that share it."""

    def transfers(self, model: ModelShape, shared: bool, port: MeasuredPort | None) -> Transfers:
        """Transfers of a block."""

    def weight_rows(self, model: ModelShape) -> int:
        """Rows of a bank of the fullest device for the weights and vectors of its blocks."""

    def kv_rows(self, model: ModelShape, tokens: int) -> int:
        """Rows of a bank of the fullest device for keys and values of a request, in its blocks."""


def _count(body: tuple[Node, ...]) -> int:
    """Instructions of a program without the host's own reads and writes."""
    out = 0
    for node in body:
        if isinstance(node, Command):
            out += node.op not in ("W_MEM", "R_MEM")
        elif isinstance(node, Loop):
            assert isinstance(node.count, int)
            out += node.count * _count(node.body)
        else:
            out += _count(node.body)  # type: ignore[union-attr]
    return out


def _instructions(program: Program) -> int:
    """Instructions of a program, its end included, without the host's own reads and writes."""
    return _count(program.body) + 1


class AuthorsOrder:
    """The order of the authors' trace generator. No RTL executes it: it has no data.

    The blocks of a device share out its channels, and run in lock step. One device of those that share a block attends.
    """

    text = "the order of CENT's generator, which no RTL executes"

    def __init__(self, system: Devices) -> None:
        self.system, self.rules = system, system.rules
        self._mappings: dict[tuple[ModelShape, int], BlockMapping] = {}

    def channels(self, model: ModelShape) -> int:
        return CHANNELS // self.system.stages_per_device(model)

    def turns(self, model: ModelShape) -> int:
        return 1

    def check(self, model: ModelShape) -> None:
        self.mapping(model, 1)

    def mapping(self, model: ModelShape, tokens: int) -> BlockMapping:
        """Mapping of a block with room for ``tokens`` tokens, and for no fewer than the authors' generator has."""
        rules, most = self.rules, max(int(tokens), 4096)
        return kept(
            self._mappings,
            (model, most),
            lambda: BlockMapping(
                model.hidden_size,
                model.heads,
                model.kv_heads,
                model.intermediate_size,
                self.channels(model),
                self.system.tp,
                most,
                model.head_dim,
                gated=model.gated,
                rotary=model.family in ROTARY,
                slips=not rules.mended,
                shared_inputs=not rules.own_inputs,
                keys_apart=not rules.own_keys,
            ),
        )

    def block(
        self,
        model: ModelShape,
        tokens: int,
        selected: Selected | None,
        fetched: int,
        front_end: StandbyFrontEnd | None = None,
    ) -> Timed:
        spec, program = self.system.spec, block_program(self.mapping(model, tokens), tokens, selected)
        clocks = self.clocks(model, fetched)
        work = activity(spec.pnm, model, fetched, clocks)
        timing = (front_end or self.system.front_end).time(program)
        return Timed(timing, _instructions(program), clocks, work)

    def clocks(self, model: ModelShape, tokens: int) -> PnmClocks:
        spec, residuals = self.system.spec, self.rules.residuals
        if self.rules.measured:
            channels = self.mapping(model, 1).channels
            return measured_clocks(self.system.units, spec.pnm, model, tokens, channels, residuals=residuals)
        return pnm_clocks(spec.pnm, spec.energy, model, tokens, residuals=residuals)

    def others(self, model: ModelShape, block: Timed) -> tuple[StandbyTiming, int] | None:
        if self.system.tp == 1:
            return None
        program = matrices_program(self.mapping(model, 1))
        return self.system.front_end.time(program), _instructions(program)

    def ends(self, model: ModelShape) -> StandbyTiming:
        mapping = self.mapping(model, 1)
        if self.rules.spread_output:  # on all channels of all devices
            mapping = replace(mapping, channels=CHANNELS, devices=self.system.devices)
        make = output_program if self.rules.lookup else embedding_program
        return self.system.front_end.time(make(mapping, model.vocab_size))

    def transfers(self, model: ModelShape, shared: bool, port: MeasuredPort | None) -> Transfers:
        system = self.system
        return transfers(system.spec.link, model, system.tp, system.devices, shared, not self.rules.links, port)

    def weight_rows(self, model: ModelShape) -> int:
        regions = list(self.mapping(model, 1).regions().items())
        ends = [*(first for _, first in regions[1:]), regions[-1][1] + 1]
        size = {name: end - first for (name, first), end in zip(regions, ends, strict=True)}
        return max(self.system.stages(model)) * sum(
            count for name, count in size.items() if name not in ("cache_k", "cache_v")
        )

    def kv_rows(self, model: ModelShape, tokens: int) -> int:
        mapping = self.mapping(model, 1)
        keys = -(-tokens // mapping.banks) * -(-mapping.kv_width // ROW)
        values = -(-tokens // ROW) * mapping.value_heads * mapping.value_parts
        return max(self.system.stages(model)) * (keys + values)


def block_of(
    model: ModelShape, devices: int, channels: int, most: int, *, columns: int = 64, slots: int = 2048
) -> ExecutableBlock:
    """A block of a model on ``channels`` channels of the fullest of ``devices`` devices, with room for ``most`` tokens.

    Raises
    ------
    :exc:`ConfigError`
        If no program of a device computes it, or the devices can't share its heads.
    """
    if model.family not in ROTARY or not model.gated:
        missing = "no gate" if model.family in ROTARY else "norms with a mean and learned positions"
        raise ConfigError(f"no program of cent-device computes the blocks of {model.name}, which have {missing}")
    kv_heads, group = model.kv_heads, model.heads // model.kv_heads
    if devices > kv_heads:
        share = -(-devices // kv_heads)
        if devices % kv_heads or group % share:
            raise ConfigError(
                f"{devices} devices can't share {model.heads} heads with {kv_heads} heads of keys and values evenly"
            )
        group, kv_heads = group // share, kv_heads * share
    own = -(-kv_heads // devices)
    return ExecutableBlock(
        model.hidden_size,
        own * group,
        own,
        model.head_dim,
        -(-model.intermediate_size // (devices * LANES)) * LANES,
        channels,
        BANKS,
        LANES,
        columns,
        slots=slots,
        max_tokens=most,
        devices=devices,
    )


class ExecutedOrder:
    """The program that ``cent-device`` executes (:class:`ExecutableBlock`).

    A block has all channels of its devices, and the blocks of a device take turns. Each of the devices that share a block
    has some of its heads. With more devices than heads of keys and values, several devices hold the same head, each for
    some of its queries.
    """

    text = "the program that cent-device executes"

    def __init__(self, system: Devices) -> None:
        self.system = system
        self._shapes: dict[tuple[ModelShape, int], ExecutableBlock] = {}

    def channels(self, model: ModelShape) -> int:
        return CHANNELS

    def turns(self, model: ModelShape) -> int:
        return self.system.stages_per_device(model)

    def check(self, model: ModelShape) -> None:
        try:
            self.shape(model, 1)
        except ConfigError as error:
            raise ConfigError(
                f"{self.system.name}: {error}; --order authors times {model.name} in the order of the authors' generator"
            ) from None

    def shape(self, model: ModelShape, tokens: int) -> ExecutableBlock:
        """The block on the fullest of its devices, with room for ``tokens`` tokens."""
        most = max(1 << (int(tokens) - 1).bit_length(), 4096)
        return kept(self._shapes, (model, most), lambda: self._shape(model, most))

    def _shape(self, model: ModelShape, most: int) -> ExecutableBlock:
        memory = self.system.memory
        columns, slots = memory.row_bytes // memory.column_bytes, self.system.units.pnm.config.registers
        return block_of(model, self.system.tp, CHANNELS, most, columns=columns, slots=slots)

    def block(
        self,
        model: ModelShape,
        tokens: int,
        selected: Selected | None,
        fetched: int,
        front_end: StandbyFrontEnd | None = None,
    ) -> Timed:
        system = self.system
        if selected is not None and len(selected) > 1 and system.tp > 1:
            raise ConfigError(
                f"{system.name}: {system.tp} devices share a block, so a selection needs one list for all heads; "
                "--order authors attends on one device"
            )
        work = block_work(self.shape(model, tokens), tokens, selected)
        clocks = near_clocks(work, system.units, system.spec.pnm.clock_ghz)
        timing = (front_end or system.front_end).time(work.memory)
        return Timed(timing, work.instructions, clocks, near_activity(work, clocks))

    def executed(self, model: ModelShape, tokens: int) -> Executed:
        """A block's program as the system times it, and as a device decodes it from words."""
        block, front_end = self.shape(model, tokens), self.system.front_end
        isa = CentIsa(slots=block.slots)
        words = encode_words(block.program(tokens, ENTRIES), isa)

        def told(program: Program) -> str:
            each = [
                (item[0], [item[1].get(key, int(key == "opsize")) for key in ("opsize", "mask", "bank", "row")])
                for item in program.expand()
                if not isinstance(item, Wait)
            ]
            cycles = front_end.time(program).cycles
            return f"{len(each)} commands, digest {digest_of(each)}, {cycles} cycles of the memory"

        return Executed(
            f"block of {model.name} at {tokens} tokens",
            told(block_work(block, tokens).memory),
            told(memory_commands(decode_words(words, isa))),
            "units near memory, and the port of the shared buffer",
        )

    def others(self, model: ModelShape, block: Timed) -> tuple[StandbyTiming, int] | None:
        return None if self.system.tp == 1 else (block.timing, block.instructions)

    def ends(self, model: ModelShape) -> StandbyTiming:
        one = replace(self.shape(model, 1), devices=1)
        return self.system.front_end.time(output_work(one, math.ceil(model.vocab_size / self.system.devices)).memory)

    def transfers(self, model: ModelShape, shared: bool, port: MeasuredPort | None) -> Transfers:
        system, link = self.system, self.system.spec.link
        if system.tp == 1:
            return transfers(link, model, 1, system.devices, False, False, port)
        return collected(link, model.hidden_size, self.shape(model, 1).piece * LANES, system.tp, system.devices, port)

    def _blocks(self, model: ModelShape) -> int:
        """Blocks of the fullest device."""
        return max(self.system.stages(model)) * self.system.stages_per_device(model)

    def weight_rows(self, model: ModelShape) -> int:
        regions = list(self.shape(model, 1).regions.items())
        size = {name: end - first for (name, first), (_, end) in zip(regions, regions[1:], strict=False)}
        return self._blocks(model) * sum(
            count for name, count in size.items() if name not in ("present", "keys", "values")
        )

    def kv_rows(self, model: ModelShape, tokens: int) -> int:
        one = self.shape(model, 1)
        keys = -(-tokens // one.units) * -(-one.kv_heads // one.fit)
        values = (one.turns * one.parts + 1) * -(-tokens // one.row)
        return self._blocks(model) * (keys + values)
