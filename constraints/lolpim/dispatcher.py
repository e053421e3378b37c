"""Parameters of LoL-PIM's DPA dispatcher, its host port, and presets.

Source: LoL-PIM section 5.3 and Table 5 (96 KB each of command buffer and Va2Pa table, 512 KB of registers in the hub,
16384 rows). The other widths are this project's.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from pydantic import Field as Key
from pydantic import model_validator

from ..aim.encoding import OPERANDS, WORD_BITS, Host, ProgramEncoding, Slot, bits
from ..core.contract import Field, Layout, Port, RateResult, Row, Trial, Unit, UnitConfig, Workload
from ..core.document import Strict
from ..core.errors import ConfigError

__all__ = ["PRESETS", "TOKENS_PER_ROW", "UNIT", "DpaDispatcherConfig", "DpaDispatcherResult", "ScoreWorkload", "Shape"]

#: Tokens that one virtual row stands for in the measured program (LoL-PIM section 5.1).
TOKENS_PER_ROW = 256


class DpaDispatcherConfig(UnitConfig):
    """Parameters of the generator ``dpa-dispatcher``."""

    command_bytes: int = Key(default=96 << 10, ge=32, le=1 << 22, description="bytes of the command buffer")
    table_entries: int = Key(default=48 << 10, ge=2, le=1 << 20, description="rows that the Va2Pa table maps")
    entry_bits: int = Key(
        default=16, ge=2, le=32, description="bits of a table entry: a row, and whether there is one (top bit)"
    )
    table_banks: int = Key(
        default=4, ge=1, le=64, description="memories that the table is made of, for a faster access"
    )
    slots: int = Key(default=16, ge=1, le=256, description="requests in the configuration")
    nesting: int = Key(default=4, ge=1, le=8, description="loops within each other")
    line_words: int = Key(
        default=8,
        ge=2,
        le=32,
        description="words of 32 bits that are decoded in a clock: a command, its loops and modifiers",
    )
    row_bits: int = Key(default=14, ge=1, le=24, description="physical row")
    column_bits: int = Key(default=6, ge=1, le=16, description="column")
    bank_bits: int = Key(default=4, ge=1, le=8, description="bank")
    mask_bits: int = Key(default=32, ge=1, le=64, description="channel mask")
    gpr_bits: int = Key(default=14, ge=1, le=24, description="register of the hub (512 KB of 32 bytes)")
    register_bits: int = Key(default=5, ge=1, le=8, description="accumulation register of the processing units")
    opsize_bits: int = Key(default=18, ge=1, le=24, description="accesses of a command, elements of the hub's vectors")
    request_bits: int = Key(default=16, ge=1, le=31, description="name of a request")
    token_bits: int = Key(default=20, ge=1, le=31, description="number of tokens of a request")
    layer_bits: int = Key(default=8, ge=1, le=16, description="number of layers, and current layer")
    count_bits: int = Key(default=16, ge=1, le=24, description="a loop has at most 2**count_bits iterations")
    stride_bits: int = Key(default=18, ge=2, le=24, description="stride of an operand, signed")
    clock_mhz: float = Key(default=1000.0, gt=0, le=10000, strict=False, description="target clock")

    @model_validator(mode="after")
    def _check(self) -> DpaDispatcherConfig:
        line_bytes = self.line_words * WORD_BITS // 8
        if self.command_bytes % line_bytes or self.command_bytes < 2 * line_bytes:
            raise ValueError(
                f"command_bytes must be at least two lines of line_words ({2 * line_bytes} bytes) and a "
                f"multiple of a line, not {self.command_bytes}"
            )
        if self.lines > 1 << 16:
            raise ValueError(
                f"command_bytes must be at most {line_bytes << 16} (65536 lines), not {self.command_bytes}"
            )
        if self.entry_bits <= self.row_bits:
            raise ValueError(f"entry_bits must be more than row_bits ({self.row_bits}), not {self.entry_bits}")
        try:
            _ = self.encoding
        except ConfigError as error:
            raise ValueError(f"{error} (line_words, widths)") from None
        return self

    @property
    def lines(self) -> int:
        """Lines of the command buffer."""
        return self.command_bytes * 8 // (self.line_words * WORD_BITS)

    @property
    def virtual_bits(self) -> int:
        """Width of a virtual row."""
        return bits(self.table_entries)

    @property
    def size_bits(self) -> int:
        """Width of the number of virtual rows of a request."""
        return bits(self.table_entries + 1)

    @cached_property
    def encoding(self) -> ProgramEncoding:
        widths = (
            self.opsize_bits,
            self.mask_bits,
            max(self.virtual_bits, self.row_bits),
            self.column_bits,
            self.bank_bits,
            self.gpr_bits,
            self.gpr_bits,
            self.register_bits,
            1,
            bits(self.slots),
        )
        return ProgramEncoding(
            self.lines,
            self.line_words,
            self.nesting,
            self.slots,
            self.count_bits,
            self.stride_bits,
            self.token_bits,
            widths,
        )

    # ---- Host port -------------------------------------------------------------------------------------------------

    @property
    def address_bits(self) -> int:
        """Address of the host port: an index, and above it two bits for registers (0), table (1), command buffer (2)."""
        return 2 + bits(max(self.lines << bits(self.line_words), self.table_entries, 4 * self.slots + len(Host)))

    def slot_address(self, slot: int, register: Slot) -> int:
        return 4 * slot + register

    def host_address(self, register: Host) -> int:
        return 4 * self.slots + register

    def table_address(self, entry: int) -> int:
        return (1 << self.address_bits - 2) + entry

    def command_address(self, line: int, word: int) -> int:
        """Address of a word of a line of the command buffer."""
        return (2 << self.address_bits - 2) + (line << bits(self.line_words)) + word

    # ---- Ports -----------------------------------------------------------------------------------------------------

    @cached_property
    def host_layout(self) -> Layout:
        """A write of the host."""
        return Layout.of(
            Field("address", self.address_bits, "register, entry of the Va2Pa table, or word of the command buffer"),
            Field("data", WORD_BITS, "what is written"),
        )

    @cached_property
    def command_layout(self) -> Layout:
        """An issued command: its code, its operands, the request that its virtual row belonged to, and its line."""
        meanings = {**OPERANDS, "row": "physical row"}
        widths = {**self.encoding.operands, "row": self.row_bits}
        return Layout.of(
            Field("op", self.encoding.command_fields["op"], "operation code"),
            *(Field(name, widths[name], meanings[name]) for name in OPERANDS if name != "slot"),
            Field("request", self.request_bits, "name of the request whose row it is, 0 if the row was not virtual"),
            Field("line", bits(self.lines + 1), "line of the command buffer that it came from"),
        )

    @cached_property
    def done_layout(self) -> Layout:
        """End of a run: code of :class:`DispatchError`, and line."""
        return Layout.of(
            Field("code", 4, "0, or what was wrong"),
            Field("line", bits(self.lines + 1), "line of the end, or where it was wrong"),
        )

    @property
    def status_port(self) -> Port:
        return Port(
            "status",
            "out",
            Layout.plain(3),
            "bit 0: a run is under way; 1: an error is to be cleared; 2: a released slot's entries are being "
            "invalidated",
            stream=False,
        )

    def ports(self) -> tuple[Port, ...]:
        return (
            Port("host", "in", self.host_layout, "a write of the host"),
            Port("command", "out", self.command_layout, "a command"),
            Port("done", "out", self.done_layout, "a run is over and its commands are taken"),
            self.status_port,
        )


PRESETS: dict[str, DpaDispatcherConfig] = {
    # Table 5: 96 KB of commands; 96 KB of table, 49,152 entries of 16 bits: a row of 14, and whether there is one.
    "lol-pim": DpaDispatcherConfig()
}


class ScoreWorkload(Workload):
    """Scores of a request."""

    tokens: int = Key(default=32_768, ge=0, le=1 << 31, description="tokens of the request")

    def check(self, config: DpaDispatcherConfig) -> None:
        if self.tokens >= 1 << config.token_bits or -(-self.tokens // TOKENS_PER_ROW) > config.table_entries:
            most = min((1 << config.token_bits) - 1, config.table_entries * TOKENS_PER_ROW)
            raise ConfigError(f"tokens must be at most {most} for this configuration, not {self.tokens}")


class Shape(Strict):
    """A program of the bench at full rate."""

    commands: int = Key(description="that the program issues")
    clocks: int = Key(description="from the first command to the last")


class DpaDispatcherResult(RateResult):
    """Measurements of the bench of ``dpa-dispatcher``; the measured program computes scores of a request."""

    commands: int = Key(description="that the measured program issues")
    cycles: int = Key(description="from the acceptance of the start to the run's end")
    ideal_cycles: int = Key(description="commands, one a clock")
    commands_per_clock: float = Key(description="from the first command to the last")
    start_cycles: int = Key(description="from the acceptance of the start to the first command")
    end_cycles: int = Key(description="from the last command to the run's end")
    shapes: dict[str, Shape] = Key(description="programs that show what a line, a loop and a modifier cost")
    errors_seen: list[str] = Key(description="codes that runs ended with")

    def figures(self, workload: Mapping[str, Any]) -> list[Row]:
        return [
            *super().figures(workload),
            (
                "commands",
                f"{self.commands} in {self.cycles} cycles, the first {self.start_cycles} cycles after START; "
                f"{self.commands_per_clock:g} a clock from there",
            ),
            ("errors seen", ", ".join(self.errors_seen)),
        ]


UNIT = Unit(
    "dpa-dispatcher",
    "dispatcher of programs for memory commands: loops by tokens, virtual rows",
    "LoL-PIM section 5.3 (DPA)",
    module="dpa_dispatcher",
    config=DpaDispatcherConfig,
    presets=PRESETS,
    generator="bankside.gen.lolpim.dispatcher:DpaDispatcher",
    model="bankside.models.lolpim.dispatcher:dispatch",
    bench="bankside.cosim.lolpim.dispatcher:bench",
    page="docs/lolpim/dispatcher.md",
    workload=ScoreWorkload,
    result=DpaDispatcherResult,
    trial=Trial({"command_bytes": 4096, "table_entries": 256, "slots": 3}, {"tokens": 3000}),
)
