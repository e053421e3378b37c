"""Parameters of INF2's GEMV engine, and the order in which its blocks take matrix rows and vectors.

Source: INF2, accelerator: 32 multiply-accumulate units in each of four blocks, tiles of 32 x 32, a transposing tile buffer
that V bypasses, FP16 sums. The split over blocks, the streams and the order of sums are this project's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Literal

import numpy as np
from pydantic import Field as Key
from pydantic import model_validator

from ..arith.geometry import AlignedWindow
from ..core.contract import (
    Field,
    Layout,
    MemoryTiming,
    NumericResult,
    Port,
    RateResult,
    Row,
    Trial,
    Unit,
    UnitConfig,
    Workload,
    memory_port,
)
from ..core.document import Strict
from ..core.errors import ConfigError
from ..core.formats import FORMATS, FP32, FloatFormat
from ..pam.partials import check_power_of_two

__all__ = [
    "PRESETS",
    "ROW_DTYPE",
    "UNIT",
    "Gemv",
    "GemvMode",
    "GemvPaced",
    "GemvPoint",
    "GemvWorkload",
    "Inf2GemvConfig",
    "Inf2GemvResult",
]

#: A matrix row that a block takes: of which command, and the place of its first element in K or V.
ROW_DTYPE = np.dtype([("command", "i4"), ("token", "i4"), ("dim", "i4")])


class GemvMode(IntEnum):
    """The product that a command asks for."""

    QK = 0  #: scores: q times K transposed; an output per token
    SV = 1  #: attention output: probabilities times V; an output per dimension


@dataclass(frozen=True)
class Gemv:
    """A command: one query of one head against the tokens of a shard.

    Attributes
    ----------
    tokens, head_dim : rows and columns of the stored K or V, at least 1
    """

    mode: GemvMode
    tokens: int
    head_dim: int

    @property
    def outputs(self) -> int:
        return self.tokens if self.mode is GemvMode.QK else self.head_dim

    @property
    def terms(self) -> int:
        """Products of an output."""
        return self.head_dim if self.mode is GemvMode.QK else self.tokens


class Inf2GemvConfig(UnitConfig):
    """Parameters of the generator ``inf2-gemv``.

    A tile has ``lanes`` x ``lanes`` elements. Lane j holds output j. In a clock, a block takes one matrix row and one
    broadcast element.
    """

    blocks: int = Key(default=4, ge=1, le=16, description="blocks, each with a matrix stream; a power of two")
    lanes: int = Key(
        default=32,
        ge=2,
        le=64,
        description="multiply-accumulate units of a block, and rows and columns of a tile; a power of two",
    )
    format: Literal["fp16", "bf16"] = Key(default="fp16", description="format of vectors, matrices and results")
    accumulator: Literal["same", "fp32"] = Key(
        default="same",
        description="format of outputs that are being built, to which a tile's sum is rounded too; same: `format`",
    )
    max_head_dim: int = Key(default=256, ge=1, le=4096, description="largest head dimension of a command")
    max_tokens: int = Key(default=1 << 17, ge=1, le=1 << 30, description="largest token count of a command")
    guard_bits: int = Key(default=3, ge=1, le=16, description="bits of a tile's sum below the accumulator's precision")
    add_depth: int = Key(default=3, ge=1, le=5, description="registers of the adder of a block's outputs")
    result_beats: int = Key(default=4, ge=1, le=64, description="finished beats of a block that can wait")
    # Left out at its default, so that configurations keep their hashes.
    fabric: Literal["asic", "xilinx"] = Key(
        default="asic",
        exclude_if=lambda value: value == "asic",
        description="asic: compressor trees and prefix adders; xilinx: * for DSP blocks and + for carry chains",
    )
    clock_mhz: float = Key(default=200.0, gt=0, le=10000, strict=False, description="target clock")

    @model_validator(mode="after")
    def _check(self) -> Inf2GemvConfig:
        check_power_of_two("blocks", self.blocks)
        check_power_of_two("lanes", self.lanes)
        return self

    # Derived sizes -----------------------------------------------------------------------------------------------

    @property
    def io(self) -> FloatFormat:
        return FORMATS[self.format]

    @property
    def acc(self) -> FloatFormat:
        """Format of the sums."""
        return FP32 if self.accumulator == "fp32" else self.io

    @property
    def window(self) -> AlignedWindow:
        """The sum of a tile's products, rounded once."""
        return AlignedWindow(self.io, self.acc.precision, self.guard_bits, self.lanes, self.acc)

    def tiles(self, size: int) -> int:
        """Tiles along ``size`` outputs or products."""
        return -(-size // self.lanes)

    @property
    def word_bytes(self) -> int:
        """Bytes of a matrix row as a block takes it."""
        return self.lanes * self.io.width // 8

    @property
    def vector_beats(self) -> int:
        """Beats of vectors that a block holds: the longest query."""
        return max(self.tiles(self.max_head_dim), 2)

    @property
    def max_tiles(self) -> int:
        """Most tiles along a side of a matrix."""
        return self.tiles(max(self.max_head_dim, self.max_tokens))

    @property
    def slots(self) -> int:
        """Output tiles of V that a block builds at the same time."""
        return -(-self.tiles(self.max_head_dim) // self.blocks)

    @property
    def sum_clocks(self) -> int:
        """Least clocks of a tile: its sums are added to the outputs one after the other."""
        return max(self.lanes, self.add_depth + 2)

    # Ports -------------------------------------------------------------------------------------------------------

    @property
    def command_layout(self) -> Layout:
        return Layout.of(
            Field("mode", 1, "0: QK, 1: SV", kinds=GemvMode),
            Field("tokens", self.max_tokens.bit_length(), f"tokens, at most {self.max_tokens}"),
            Field("head_dim", self.max_head_dim.bit_length(), f"head dimension, at most {self.max_head_dim}"),
        )

    @property
    def beat_layout(self) -> Layout:
        """``lanes`` elements."""
        return Layout.numbers(self.io, self.lanes)

    @property
    def result_layout(self) -> Layout:
        return Layout.of(
            Field("data", self.lanes * self.io.width, "lanes outputs, lane 0 lowest", self.lanes, self.io),
            Field("last", 1, "last beat of the command"),
        )

    def ports(self) -> tuple[Port, ...]:
        blocks = range(self.blocks)
        return (
            Port("command", "in", self.command_layout, "a product of a vector and a matrix"),
            *(
                Port(
                    f"vector_{n}",
                    "in",
                    self.beat_layout,
                    f"lanes elements of the query or of probabilities, for block {n}",
                )
                for n in blocks
            ),
            *(
                Port(f"matrix_{n}", "in", self.beat_layout, f"lanes elements of a row of K or V, for block {n}")
                for n in blocks
            ),
            Port("result", "out", self.result_layout, "lanes outputs, in order"),
        )

    # Work --------------------------------------------------------------------------------------------------------

    def check_command(self, command: Gemv) -> None:
        """Raise :exc:`ConfigError` if this configuration can't run a command."""
        for name, most in (("tokens", self.max_tokens), ("head_dim", self.max_head_dim)):
            if not 1 <= getattr(command, name) <= most:
                raise ConfigError(f"{name} must be in 1..{most}, not {getattr(command, name)}")

    def shares(self, commands: Sequence[Gemv]) -> list[list[np.ndarray]]:
        """Output tiles of every block and command: tile n of all commands together belongs to block n modulo
        ``blocks``."""
        first, out = 0, []
        for command in commands:
            tiles = self.tiles(command.outputs)
            out.append([np.arange((block - first) % self.blocks, tiles, self.blocks) for block in range(self.blocks)])
            first += tiles
        return out

    def block_rows(self, commands: Sequence[Gemv], block: int) -> np.ndarray:
        """Matrix rows that a block takes, in order, as an array of ``ROW_DTYPE``.

        K comes output tile by output tile, V tile of tokens by tile of tokens. So the sums of all output tiles of V are
        built at the same time. A tile has a row per token, of ``lanes`` dimensions.
        """
        out = [np.empty(0, ROW_DTYPE)]
        lanes = self.lanes
        for number, (command, shares) in enumerate(zip(commands, self.shares(commands), strict=True)):
            mine = shares[block]
            steps = np.arange(self.tiles(command.terms))
            if command.mode is GemvMode.QK:
                token, dim = np.repeat(mine, len(steps)), np.tile(steps, len(mine))
            else:
                token, dim = np.repeat(steps, len(mine)), np.tile(mine, len(steps))
            tokens = (token[:, None] * lanes + np.arange(lanes)).ravel()
            rows = np.empty(len(tokens), ROW_DTYPE)
            rows["command"], rows["token"], rows["dim"] = number, tokens, np.repeat(dim * lanes, lanes)
            out.append(rows[tokens < command.tokens])
        return np.concatenate(out)

    def word_places(self, commands: Sequence[Gemv], rows: np.ndarray) -> np.ndarray:
        """Places of ``rows`` (of ``ROW_DTYPE``) among all rows of the commands, in the order in which a memory is read.

        The memory is read command by command, ``lanes`` tokens at a time, and these by groups of ``lanes`` dimensions. K
        and V lie there token by token, and a row is a word."""
        tokens = np.array([command.tokens for command in commands], np.int64)
        groups = np.array([self.tiles(command.head_dim) for command in commands], np.int64)
        first = np.cumsum(tokens * groups) - tokens * groups
        number, (tile, within) = rows["command"], np.divmod(rows["token"].astype(np.int64), self.lanes)
        height = np.minimum(tokens[number] - tile * self.lanes, self.lanes)
        return first[number] + tile * self.lanes * groups[number] + rows["dim"] // self.lanes * height + within

    def block_vectors(self, commands: Sequence[Gemv], block: int) -> np.ndarray:
        """Beats of vectors that a block takes, in order: array ``(beats, 2)`` of (command, beat). A block that has no
        output tile of a command takes none of its vector."""
        out = [np.empty((0, 2), np.int64)]
        for number, (command, shares) in enumerate(zip(commands, self.shares(commands), strict=True)):
            if len(shares[block]):
                beats = np.arange(self.tiles(command.terms))
                out.append(np.stack([np.full(len(beats), number), beats], axis=1))
        return np.concatenate(out)


#: The accelerator has four blocks of 32 units and FP16 sums. Its clock is not given: 200 MHz is a default.
PRESETS: dict[str, Inf2GemvConfig] = {"inf2": Inf2GemvConfig(), "inf2-fp32": Inf2GemvConfig(accumulator="fp32")}


class GemvWorkload(Workload):
    """Commands that follow each other, each of another head."""

    memory: str = memory_port("ddr4-2400")
    tokens: int = Key(default=1024, ge=1, le=1 << 30, description="tokens of the measured commands")
    head_dim: int = Key(default=128, ge=1, le=4096, description="head dimension of the measured commands")
    commands: int = Key(default=4, ge=1, le=256, description="commands of each mode that follow each other")
    sweep: int = Key(
        default=1, ge=0, le=1, description="1: measure other head dimensions and token counts too; 0: do not"
    )

    def check(self, config: Inf2GemvConfig) -> None:
        config.check_command(Gemv(GemvMode.QK, self.tokens, self.head_dim))


class GemvPoint(Strict):
    """Commands of one mode and size at full rate, one after the other."""

    mode: Literal["qk", "sv"] = Key(description="qk: scores, sv: attention output")
    tokens: int = Key(description="of a command")
    head_dim: int = Key(description="of a command")
    commands: int = Key(description="that follow each other")
    cycles: int = Key(description="from the first matrix row to the last result")
    row_cycles: int = Key(description="from the first matrix row to the last one, of the busiest block")
    ideal_cycles: int = Key(description="products over the multipliers of all blocks")
    utilisation: float = Key(description="`ideal_cycles` over `cycles`")
    steady: float = Key(
        description="`ideal_cycles` over `row_cycles`: share of multipliers with a useful product while rows come"
    )


class GemvPaced(MemoryTiming):
    """Commands of one mode and size, one after the other, with K or V at the cycles of a memory."""

    mode: Literal["qk", "sv"] = Key(description="qk: scores, sv: attention output")
    tokens: int = Key(description="of a command")
    head_dim: int = Key(description="of a command")
    commands: int = Key(description="that follow each other")
    memory_time_ns: float = Key(description="from the first row to the last one, at the memory's own pace")
    cycles: int = Key(description="from the first matrix row to the last result")
    stall_cycles: int = Key(
        description="clocks in which a block did not take a row that had come, summed over the blocks"
    )
    ideal_cycles: int = Key(description="products over the multipliers of all blocks")
    rows_per_clock: float = Key(description="rows that the memory gives in a clock while rows come")
    memory_share: float = Key(
        description="share of the blocks' clocks, while rows come, in which no row had come for the block"
    )
    mac_share: float = Key(description="share of the blocks' clocks in which a row was there: the lanes set the pace")


class Inf2GemvResult(RateResult, NumericResult):
    """Measurements of the bench of ``inf2-gemv``. The figures of one mode are of the scores (QK)."""

    cycles: int = Key(description="from the first matrix row to the last result, of scores")
    ideal_cycles: int = Key(description="products over the multipliers of all blocks, of scores")
    stall_cycles: int = Key(
        description="clocks in which a block did not take a row that it was offered, of scores, summed over the blocks"
    )
    sv: GemvPoint = Key(description="the attention output")
    qk: GemvPoint = Key(description="the scores")
    latency_cycles: int = Key(
        description="from the first matrix row to the result, of a command with a single tile of K"
    )
    points: list[GemvPoint] = Key(description="other head dimensions and token counts")
    memory_timing: list[GemvPaced] = Key(
        description="the measured commands of both modes with rows at the cycles of the "
        "memory, then the same at other head dimensions"
    )

    def figures(self, workload: Mapping[str, Any]) -> list[Row]:
        return [
            *super().figures(workload),
            (
                "commands",
                f"{self.qk.commands} of each mode, {workload['tokens']} tokens, head dimension {workload['head_dim']}",
            ),
            *(
                (
                    name,
                    f"{one.cycles} cycles, ideal {one.ideal_cycles}; {one.steady:.4f} of the multipliers used while rows "
                    f"come",
                )
                for name, one in (("QK", self.qk), ("SV", self.sv))
            ),
            ("latency", f"{self.latency_cycles} cycles for one tile of K"),
            *(
                (
                    f"{one.mode.upper()} from {one.memory}",
                    f"head dimension {one.head_dim}: {one.cycles} cycles, utilisation {one.utilisation:.4f}; bound by the "
                    f"memory in {one.memory_share:.1%} of the clocks, by the lanes in {one.mac_share:.1%}",
                )
                for one in self.memory_timing
            ),
        ]


UNIT = Unit(
    "inf2-gemv",
    "blocks of multiply-accumulate lanes for scores and attention output beside storage",
    "INF² (near-storage processing), accelerator",
    module="inf2_gemv",
    config=Inf2GemvConfig,
    presets=PRESETS,
    generator="bankside.gen.inf2.gemv:Inf2Gemv",
    model="bankside.models.inf2.gemv:gemv",
    bench="bankside.cosim.inf2.gemv:bench",
    page="docs/inf2/gemv.md",
    workload=GemvWorkload,
    result=Inf2GemvResult,
    published=(),
    trial=Trial(
        {"blocks": 2, "lanes": 4, "max_head_dim": 24, "max_tokens": 255},
        {"tokens": 9, "head_dim": 10, "commands": 2, "sweep": 0},
    ),
)
