"""Parameters of LoL-PIM's DPA dispatcher, its host port, and presets.

Source: LoL-PIM section 5.3 and Table 5 (96 KB each of command buffer and Va2Pa table, 512 KB of registers in the hub,
16384 rows); the other widths are this project's.
"""

from __future__ import annotations

from functools import cached_property

from pydantic import Field, model_validator

from ..document import Strict
from ..errors import ConfigError
from ..program_encoding import WORD_BITS, Fields, Host, ProgramEncoding, Slot, bits

__all__ = ["PRESETS", "DpaDispatcherConfig"]


class DpaDispatcherConfig(Strict):
    """Parameters of the generator ``dpa-dispatcher``."""

    command_bytes: int = Field(default=96 << 10, ge=32, le=1 << 22, description="command buffer")
    table_entries: int = Field(default=48 << 10, ge=2, le=1 << 20, description="rows that the Va2Pa table maps")
    entry_bits: int = Field(default=16, ge=2, le=32,
                            description="entry of the table: a row, and whether there is one (top bit)")
    table_banks: int = Field(default=4, ge=1, le=64, description="memories that the table is made of, for a faster access")
    slots: int = Field(default=16, ge=1, le=256, description="requests in the configuration")
    nesting: int = Field(default=4, ge=1, le=8, description="loops within each other")
    line_words: int = Field(default=8, ge=2, le=32,
                            description="words of 32 bits that are decoded in a clock: a command, its loops and modifiers")
    row_bits: int = Field(default=14, ge=1, le=24, description="physical row")
    column_bits: int = Field(default=6, ge=1, le=16, description="column")
    bank_bits: int = Field(default=4, ge=1, le=8, description="bank")
    mask_bits: int = Field(default=32, ge=1, le=64, description="channel mask")
    gpr_bits: int = Field(default=14, ge=1, le=24, description="register of the hub (512 KB of 32 bytes)")
    register_bits: int = Field(default=5, ge=1, le=8, description="accumulation register of the processing units")
    opsize_bits: int = Field(default=18, ge=1, le=24, description="accesses of a command, elements of the hub's vectors")
    request_bits: int = Field(default=16, ge=1, le=31, description="name of a request")
    token_bits: int = Field(default=20, ge=1, le=31, description="number of tokens of a request")
    layer_bits: int = Field(default=8, ge=1, le=16, description="number of layers, and current layer")
    count_bits: int = Field(default=16, ge=1, le=24, description="a loop has at most 2**count_bits iterations")
    stride_bits: int = Field(default=18, ge=2, le=24, description="stride of an operand, signed")
    clock_mhz: float = Field(default=1000.0, gt=0, le=10000, strict=False, description="target clock")

    @model_validator(mode="after")
    def _check(self) -> DpaDispatcherConfig:
        line_bytes = self.line_words * WORD_BITS // 8
        if self.command_bytes % line_bytes or self.command_bytes < 2 * line_bytes:
            raise ValueError(f"command_bytes must be at least two lines of line_words ({2 * line_bytes} bytes) and a "
                             f"multiple of a line, not {self.command_bytes}")
        if self.lines > 1 << 16:
            raise ValueError(f"command_bytes must be at most {line_bytes << 16} (65536 lines), not {self.command_bytes}")
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
        widths = (self.opsize_bits, self.mask_bits, max(self.virtual_bits, self.row_bits), self.column_bits, self.bank_bits,
                  self.gpr_bits, self.gpr_bits, self.register_bits, 1, bits(self.slots))
        return ProgramEncoding(self.lines, self.line_words, self.nesting, self.slots, self.count_bits, self.stride_bits,
                               self.token_bits, widths)

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

    # ---- Answers ---------------------------------------------------------------------------------------------------

    @property
    def command_fields(self) -> Fields:
        """Command that is issued: its code, its operands, the request that a virtual row was of, and its line."""
        encoding = self.encoding
        operands = {name: self.row_bits if name == "row" else width for name, width in encoding.operands.items()
                    if name != "slot"}
        return {"op": encoding.command_fields["op"], **operands, "request": self.request_bits, "line": bits(self.lines + 1)}

    @property
    def done_fields(self) -> Fields:
        """End of a run: code of :class:`DispatchError`, and line."""
        return {"code": 4, "line": bits(self.lines + 1)}


PRESETS: dict[str, DpaDispatcherConfig] = {
    # Table 5: 96 KB of commands; 96 KB of table, 49,152 entries of 16 bits: a row of 14, and whether there is one.
    "lol-pim": DpaDispatcherConfig(),
}
