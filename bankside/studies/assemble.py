"""``bankside asm`` and ``bankside disasm``: CENT's instructions as text and as words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bankside.constraints.core.errors import ConfigError

from ..results.programs import Asm, Disasm

if TYPE_CHECKING:
    from bankside.constraints.cent.decoder import CentDecoderConfig

__all__ = ["FORMATS", "assemble_result", "disassemble_result", "size_text", "slots_of"]

#: Largest file to read, in bytes, and most warnings that are printed one by one.
MAX_BYTES = 1 << 26
MAX_WARNINGS = 20

FORMATS = ("bin", "hex")


def slots_of(texts: Sequence[str], slots: int) -> list[tuple[int, int]]:
    """First and last slot of the ranges ``3`` or ``0-511``.

    Raises
    ------
    :exc:`ConfigError`
        For any other text, and for slots that the device does not have.
    """
    out = []
    for text in texts:
        match = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", text)
        if match is None:
            raise ConfigError(f"--written {text}: must be a slot or a range of slots, such as 0-511")
        first, last = int(match[1]), int(match[2] or match[1])
        if not first <= last < slots:
            raise ConfigError(f"--written {text}: slots must be 0 to {slots - 1}, the first one first")
        out.append((first, last))
    return out


def _format(name: str | None, path: str) -> Any:
    """Format of a file of words: as named, else by its suffix."""
    return name or ("hex" if Path(path).suffix.lower() in (".hex", ".mem", ".txt") else "bin")


def _sizes(config: CentDecoderConfig, words: np.ndarray) -> dict[str, Any]:
    from bankside.constraints.cent.isa import BY_OPCODE

    codes, counts = np.unique(words[:, 0], return_counts=True)
    kinds = {BY_OPCODE[code].mnemonic: count for code, count in zip(codes.tolist(), counts.tolist(), strict=True)}
    return {
        "instructions": len(words),
        "bytes": int(words.size),
        "buffer_bytes": config.buffer_bytes,
        "mnemonics": kinds,
    }


def assemble_result(
    file: str, config: CentDecoderConfig, output: str, *, form: str | None = None, written: Sequence[str] = ()
) -> Asm:
    """Result of ``bankside asm``. The words of the text are written to ``output``.

    Parameters
    ----------
    form : ``bin`` (16 bytes for each word, the least significant one first) or ``hex``; by default by the suffix
    written : ranges of slots that are written before the program

    Raises
    ------
    :exc:`ConfigError`
        ``FILE:LINE:COLUMN: reason`` for a wrong text; and if a file can't be read or written.
    """
    from bankside.constraints.core.document import read_text
    from bankside.constraints.core.workspace import write_files
    from bankside.models.cent.assembly import assemble, hex_words, unwritten

    from ..provenance.envelope import warn
    from ..provenance.sources import note_sources

    note_sources(assemble_result)
    given = slots_of(written, config.slots)
    program = assemble(read_text(file, "a program", MAX_BYTES), config.isa, file)
    words = config.isa.pack(program.columns)
    found = unwritten(program.columns, config.isa, given)
    for one in found[:MAX_WARNINGS]:
        slots = f"slot {one.first}" if one.first == one.last else f"slots {one.first} to {one.last}"
        warn(
            f"{file}:{program.lines[one.instruction]}: {one.mnemonic} reads {slots}, which nothing before it has written"
        )
    if len(found) > MAX_WARNINGS:
        warn(
            f"{file}: {len(found) - MAX_WARNINGS} further instructions read slots that nothing before them has written"
        )
    written_as = _format(form, output)
    write_files(Path(output).parent, {Path(output).name: hex_words(words) if written_as == "hex" else words.tobytes()})
    return Asm(**_sizes(config, words), unwritten_reads=len(found), format=written_as, file=output)


def disassemble_result(
    file: str, config: CentDecoderConfig, *, form: str | None = None, output: str | None = None
) -> Disasm:
    """Result of ``bankside disasm``: the text of the words, or with ``output`` the file that it was written to.

    Raises
    ------
    :exc:`ConfigError`
        ``FILE: word N (MNEMONIC): reason`` for a word that is not legal; and if a file can't be read or written.
    """
    from bankside.constraints.cent.isa import WORD_BYTES
    from bankside.constraints.core.document import read_text
    from bankside.constraints.core.workspace import read_bytes, write_files
    from bankside.models.cent.assembly import disassemble, parse_hex

    from ..provenance.sources import note_sources

    note_sources(disassemble_result)
    if _format(form, file) == "hex":
        words = parse_hex(read_text(file, "words of a program", MAX_BYTES), file)
    else:
        data = read_bytes(file, "words of a program", MAX_BYTES)
        if len(data) % WORD_BYTES:
            raise ConfigError(
                f"{file}: {len(data)} bytes are not whole words of {WORD_BYTES} bytes (a file in hexadecimal "
                f"ends with .hex, or needs --format hex)"
            )
        words = np.frombuffer(data, np.uint8).reshape(-1, WORD_BYTES)
    try:
        lines = disassemble(words, config.isa)
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from None
    sizes, written = _sizes(config, words), _format(form, file)
    if output is None:
        return Disasm(**sizes, format=written, text=lines)
    write_files(Path(output).parent, {Path(output).name: "".join(f"{line}\n" for line in lines)})
    return Disasm(**sizes, format=written, file=output)


def size_text(result: Asm | Disasm) -> str:
    """A line about the size of a program, and one about its file."""
    kinds = ", ".join(f"{count} {name}" for name, count in result.mnemonics.items())
    out = [
        f"{result.instructions} instructions, {result.bytes} of {result.buffer_bytes} bytes of the instruction "
        f"buffer" + (f": {kinds}" if kinds else "")
    ]
    return "\n".join([*out, *([] if result.file is None else [f"written to {result.file}"])])
