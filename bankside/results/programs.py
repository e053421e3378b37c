"""Results of commands for programs of a CENT device."""

from __future__ import annotations

from typing import Literal

from .result import Result, key

__all__ = ["Asm", "Disasm", "Words"]


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
