"""Parameters of CENT's instruction decoder with its instruction buffer, and presets.

Source: CENT section 4.1 (2 MB of instructions, 32 channels, shared buffer of 64 KB) and Tables 2, 3. The paper gives no
encoding and no pipeline: ports, answers and the buffer as a ring are this project's.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

from pydantic import Field as Key
from pydantic import model_validator

from ..aim.encoding import OPERANDS, bits
from ..core.contract import Field, Layout, Port, RateResult, Row, Trial, Unit, UnitConfig, Workload
from ..core.document import Strict
from ..core.errors import ConfigError
from .isa import INSTRUCTIONS, WORD_BITS, WORD_BYTES, CentIsa

__all__ = [
    "BLOCKING",
    "PRESETS",
    "REGISTERS",
    "UNIT",
    "CentDecoderConfig",
    "CentDecoderResult",
    "InstructionWorkload",
    "Wait",
]

#: Instructions behind which the decoder waits for an answer. ``paper``: CENT section 4.3 names RECV_CXL; SYNC and EOC
#: are nothing but a wait. ``simulator``: the authors' simulator waits for results too.
BLOCKING: dict[str, tuple[str, ...]] = {
    "paper": ("RECV_CXL", "SYNC", "EOC"),
    "simulator": ("RECV_CXL", "SYNC", "EOC", "RD_MAC", "RD_AF"),
    "none": (),
}

#: Words of a bank of the buffer that are not in its memory: the memory's read register, and the register behind it.
REGISTERS = 2


class CentDecoderConfig(UnitConfig):
    """Parameters of the generator ``cent-decoder``."""

    buffer_bytes: int = Key(
        default=2 << 20, ge=64, le=1 << 24, description="bytes of the instruction buffer's memories"
    )
    buffer_banks: int = Key(
        default=8,
        ge=1,
        le=64,
        description="memories that the instruction buffer is made of, which take turns; a power of two",
    )
    channels: int = Key(default=32, ge=1, le=32, description="channels of the device")
    banks: int = Key(default=16, ge=1, le=16, description="banks of a channel")
    rows: int = Key(default=16384, ge=1, le=16384, description="rows of a bank")
    columns: int = Key(default=64, ge=1, le=64, description="accesses of a row, and words of the global buffer")
    lanes: int = Key(default=16, ge=1, le=32, description="elements of an access")
    slots: int = Key(default=2048, ge=1, le=2048, description="slots of the shared buffer")
    registers: int = Key(default=32, ge=1, le=32, description="accumulation registers")
    functions: int = Key(default=8, ge=1, le=8, description="activation functions")
    devices: int = Key(default=256, ge=2, le=256, description="devices of a system")
    program_words: int = Key(default=16384, ge=1, le=16384, description="words of the memory of a RISC-V core")
    blocking: Literal["simulator", "paper", "none"] = Key(
        default="simulator",
        description="instructions that wait for an answer: RECV_CXL, SYNC and EOC (paper), also "
        "RD_MAC and RD_AF (simulator), or none",
    )
    micro_ops: bool = Key(
        default=False,
        description="an instruction leaves as OPsize commands of one access each; if not, "
        "as one command with its OPsize",
    )
    position_bits: int = Key(default=32, ge=8, le=48, description="number of an instruction since the last CLEAR")
    clock_mhz: float = Key(default=1000.0, gt=0, le=10000, strict=False, description="target clock")

    @model_validator(mode="after")
    def _check(self) -> CentDecoderConfig:
        if self.buffer_bytes % WORD_BYTES:
            raise ValueError(f"buffer_bytes must be a multiple of a word ({WORD_BYTES} bytes), not {self.buffer_bytes}")
        if self.buffer_banks & (self.buffer_banks - 1):
            raise ValueError(f"buffer_banks must be a power of two, not {self.buffer_banks}")
        if self.memory_words % self.buffer_banks or self.memory_words < 2 * self.buffer_banks:
            raise ValueError(
                f"buffer_bytes must be at least two words ({WORD_BYTES} bytes each) for each of the "
                f"{self.buffer_banks} banks, and as many for each, not {self.buffer_bytes}"
            )
        try:
            _ = self.isa
        except ConfigError as error:
            raise ValueError(str(error)) from None
        return self

    @cached_property
    def isa(self) -> CentIsa:
        """Instruction words that are legal here."""
        return CentIsa(
            self.channels,
            self.banks,
            self.rows,
            self.columns,
            self.lanes,
            self.slots,
            self.registers,
            self.functions,
            self.devices,
            self.program_words,
        )

    @property
    def memory_words(self) -> int:
        """Words of the instruction buffer's memories."""
        return self.buffer_bytes // WORD_BYTES

    @property
    def depth(self) -> int:
        """Words that the buffer holds, in its memories and in registers behind them."""
        return self.memory_words + REGISTERS * self.buffer_banks

    @property
    def blocking_opcodes(self) -> tuple[int, ...]:
        return tuple(sorted(INSTRUCTIONS[name].opcode for name in BLOCKING[self.blocking]))

    # Ports ------------------------------------------------------------------------------------------------------------

    @cached_property
    def host_layout(self) -> Layout:
        """An instruction, or CLEAR."""
        return Layout.of(
            Field("word", WORD_BITS, "instruction"),
            Field("clear", 1, "no instruction, but CLEAR: instructions count from 0 again"),
        )

    @cached_property
    def command_layout(self) -> Layout:
        """An issued command: its code, its operands, and the number of its instruction."""
        meanings = {
            **OPERANDS,
            "opsize": "accesses and slots; 1 for instructions without OPsize",
            "row": "row; RISCV: first instruction; SEND_CXL: device; BCAST_CXL: devices",
            "gpr1": "second slot; or element, function, neighbour",
        }
        return Layout.of(
            Field("op", 6, "operation code"),
            *(Field(name, width, meanings[name]) for name, width in self.isa.operand_bits.items()),
            Field("position", self.position_bits, "number of the instruction"),
        )

    @cached_property
    def finished_layout(self) -> Layout:
        """Answer to a blocking instruction."""
        return Layout.of(Field("op", 6, "operation code of the command that is done"))

    @cached_property
    def done_layout(self) -> Layout:
        """End of a program: code of :class:`~bankside.constraints.cent.isa.DecodeError`, and place."""
        return Layout.of(
            Field("code", 4, "0: end of a program; else what was wrong"),
            Field("position", self.position_bits, "number of the EOC, or of the wrong instruction"),
        )

    @cached_property
    def status_layout(self) -> Layout:
        return Layout.of(
            Field("level", bits(self.depth + 1), "words in the buffer"),
            Field("waiting", 1, "a blocking instruction has no answer yet"),
            Field("failed", 1, "an instruction was wrong, and no CLEAR followed"),
        )

    def ports(self) -> tuple[Port, ...]:
        return (
            Port("host", "in", self.host_layout, "an instruction for the buffer, or CLEAR"),
            Port("finished", "in", self.finished_layout, "a blocking instruction is done"),
            Port("command", "out", self.command_layout, "a command"),
            Port("done", "out", self.done_layout, "a program has ended, or an instruction was wrong"),
            Port("status", "out", self.status_layout, "level of the buffer, and state", stream=False),
        )


PRESETS: dict[str, CentDecoderConfig] = {
    # Section 4.1: a buffer of 2 MB, 32 channels, 2048 slots of 256 bits; 32 accumulators.
    "cent": CentDecoderConfig(),
    # The device of small co-simulations: two channels of four banks and four lanes.
    "cent-small": CentDecoderConfig(
        buffer_bytes=4096,
        buffer_banks=1,
        channels=2,
        banks=4,
        rows=64,
        columns=8,
        lanes=4,
        slots=128,
        devices=4,
        program_words=1024,
    ),
}


class InstructionWorkload(Workload):
    """A program of non-blocking instructions, and one of blocking ones."""

    instructions: int = Key(default=16384, ge=8, le=1 << 20, description="instructions of the measured program")


class Wait(Strict):
    """A blocking instruction whose answer comes at once."""

    instructions: int = Key(description="blocking instructions, one behind the other")
    clocks: int = Key(description="from the first command to the last")
    clocks_each: float = Key(description="from a blocking command to the next one")


class CentDecoderResult(RateResult):
    """Measurements of the bench of ``cent-decoder``."""

    instructions: int = Key(description="of the measured program, without EOC")
    commands: int = Key(description="that the measured program issues, with EOC")
    cycles: int = Key(description="from the first instruction's arrival to the end of the program")
    ideal_cycles: int = Key(description="commands, one a clock")
    commands_per_clock: float = Key(description="from the first command to the last")
    start_cycles: int = Key(description="from the arrival of an instruction to its command, with an empty buffer")
    end_cycles: int = Key(description="from the last command to the end of the program")
    full_cycles: int = Key(
        description="of a program twice as long as the buffer, whose commands wait until the buffer is full"
    )
    full_commands_per_clock: float = Key(description="of that program, from the second command to the last")
    blocking: Wait = Key(description="blocking instructions alone")
    errors_seen: list[str] = Key(description="codes that programs ended with")

    def figures(self, workload: Mapping[str, Any]) -> list[Row]:
        return [
            *super().figures(workload),
            (
                "commands",
                f"{self.commands} of {self.instructions} instructions in {self.cycles} cycles, the first after "
                f"{self.start_cycles}; {self.commands_per_clock:g} a clock",
            ),
            ("full buffer", f"{self.full_commands_per_clock:g} commands a clock while the host refills"),
            ("blocking", f"{self.blocking.clocks_each:g} clocks each if the answer comes at once"),
            ("errors seen", ", ".join(self.errors_seen)),
        ]


UNIT = Unit(
    "cent-decoder",
    "instruction buffer and decoder of a CENT device: 128-bit words to commands",
    "CENT section 4.1, Tables 2, 3",
    module="cent_decoder",
    config=CentDecoderConfig,
    presets=PRESETS,
    generator="bankside.gen.cent.decoder:CentDecoder",
    model="bankside.models.cent.decoder:decode",
    bench="bankside.cosim.cent.decoder:bench",
    page="docs/cent/decoder.md",
    workload=InstructionWorkload,
    result=CentDecoderResult,
    published=(),
    trial=Trial(
        {
            "buffer_bytes": 256,
            "buffer_banks": 2,
            "channels": 2,
            "banks": 4,
            "rows": 64,
            "columns": 8,
            "lanes": 4,
            "slots": 64,
            "registers": 4,
            "devices": 4,
            "program_words": 64,
            "position_bits": 16,
        },
        {"instructions": 64},
    ),
)
