"""Results of commands for programs: of a CENT device, and of the modules of a system."""

from __future__ import annotations

from typing import Literal

from .result import Noted, Part, Result, key
from .systems import Parallelism

__all__ = ["Asm", "Compile", "Compiled", "Disasm", "Operator", "Words"]


class Words(Result):
    """Size of a program for a CENT device."""

    instructions: int = key("number of instructions")
    bytes: int = key("size of the words", "bytes")
    buffer_bytes: int = key("size of the device's instruction buffer", "bytes")
    mnemonics: dict[str, int] = key("number of instructions with this mnemonic")


class Asm(Words):
    unwritten_reads: int = key("number of instructions that read slots which nothing before them has written")
    format: Literal["bin", "hex"] = key("`bin` or `hex`")
    file: str = key("file of the words")


class Disasm(Words):
    format: Literal["bin", "hex"] = key("`bin` or `hex`")
    text: list[str] | None = key("instructions as text, without `--output`", default=None)
    file: str | None = key("file of the text, with `--output`", default=None)


class Operator(Part):
    operator: str = key("name of the operator")
    where: str = key("place of execution: `channels`, `hub` or `links`")
    shape: str = key("shape of the computation")
    partition: str = key("division of the work over modules, channels and banks")
    communication: str = key("data that moves")
    commands: dict[str, int] = key("commands of the program by name; empty for `hub` and `links`")
    cycles: float | None = key(
        "cycles of the memory's clock; null if the channels do not execute the operator", "cycles"
    )
    microseconds: float | None = key("time; null for an operator of the hub whose clocks have not been measured", "µs")


class Compiled(Part):
    lines: int | None = key("lines of the dispatcher's command buffer", default=None)
    bytes: int | None = key("size of the program", "bytes", default=None)
    buffer_bytes: int | None = key("size of the command buffer", "bytes", default=None)
    listing: list[str] | None = key("listing of the commands, with `--listing`", default=None)
    file: str | None = key("written file, with `--output`", default=None)


class Compile(Noted):
    model: str = key("name of the model")
    system: str = key("name of the system")
    tokens: int = key("tokens of the request", "tokens")
    parallelism: Parallelism = key("`tensor` and `pipeline`, over modules")
    layers: int = key("layers of the fullest stage")
    patterns: list[str] = key("patterns that the compiler recognised in the model")
    operators: list[Operator] = key("operators in order")
    registers: int = key("registers of the hub that the program uses, 32 bytes each")
    virtual_rows: int = key("rows of a request of the longest context; 0 without lazy allocation")
    warnings: list[str] = key("doubts about the programs")
    not_measured: list[str] = key("commands that make the missing measurements for the times")
    program: Compiled | None = key("the program of one operator or layer", default=None)
