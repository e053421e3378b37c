"""CENT's instructions as text: the paper's mnemonics and operands, a line for each instruction."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...constraints.cent.isa import BY_OPCODE, INSTRUCTIONS, RESULTS, WORD, WORD_BYTES, CentIsa, Instruction, fields_of
from ...constraints.core.errors import ConfigError, nearest
from .words import Columns

__all__ = ["Assembled", "Unwritten", "assemble", "disassemble", "hex_words", "parse_hex", "unwritten"]

_TOKEN = re.compile(r"[^\s,]+|,")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F_]{1,20}|0[bB][01_]{1,80}|[0-9]{1,20}")


@dataclass
class Assembled:
    """Instructions of a text by field of the word, and the line of each."""

    columns: Columns
    lines: np.ndarray


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:20]}... ({len(text)} characters)"


def _number(text: str) -> int | None:
    if not text.isascii() or _NUMBER.fullmatch(text) is None:
        return None
    digits = text.replace("_", "")
    try:
        return int(digits, 0) if digits[:2].lower() in ("0x", "0b") else int(digits)
    except ValueError:  # a prefix without digits
        return None


def assemble(text: str, isa: CentIsa, where: str = "program") -> Assembled:
    """The instructions of a text.

    A line is a mnemonic and its operands: ``RD_MAC CHmask=0xffffffff Rd=5 Regid=0``. Operands are in any order by name,
    or without names in the order of the paper's table; a space or a comma is between them. Numbers are decimal,
    ``0x...`` or ``0b...``. Text behind a ``#`` is a comment.

    Parameters
    ----------
    where : names the text in errors

    Raises
    ------
    :exc:`ConfigError`
        ``where:line:column: reason``. Lines and columns count from 1.
    """
    names = [name for name in WORD.widths if name != "unused"]
    at = {name: number for number, name in enumerate(names)}
    rows: list[list[int]] = []
    lines: list[int] = []
    known: dict[str, list[int]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        content = line.split("#", 1)[0] if "#" in line else line
        content = content.strip()
        if not content:
            continue
        row = known.get(content)
        if row is None:
            begin = line.index(content)
            try:
                fields = _parse(content, begin + 1, isa)
            except _Fault as fault:
                raise ConfigError(f"{where}:{number}:{fault.column}: {fault.reason}") from None
            row = [0] * len(names)
            for name, value in fields.items():
                row[at[name]] = value
            known[content] = row
        rows.append(row)
        lines.append(number)
    table = np.array(rows, np.int64).reshape(-1, len(names))
    return Assembled({name: table[:, k].copy() for name, k in at.items()}, np.array(lines, np.int64))


class _Fault(Exception):
    """A fault of a line: its column and its reason."""

    def __init__(self, column: int, reason: str) -> None:
        super().__init__(reason)
        self.column, self.reason = column, reason


def _tokens(content: str, begin: int) -> list[tuple[int, str]]:
    """Words of a line with their columns. A comma may stand between two operands."""
    out: list[tuple[int, str]] = []
    comma = None
    for match in _TOKEN.finditer(content):
        column = begin + match.start()
        if match[0] != ",":
            out.append((column, match[0]))
            comma = None
        elif len(out) < 2 or comma is not None:
            raise _Fault(column, "a comma stands between two operands")
        else:
            comma = column
    if comma is not None:
        raise _Fault(comma, "a comma stands between two operands")
    return out


def _parse(content: str, begin: int, isa: CentIsa) -> dict[str, int]:
    """Fields of a line. ``begin``: column of its first character."""
    (column, mnemonic), *operands = _tokens(content, begin)
    instruction = INSTRUCTIONS.get(mnemonic)
    if instruction is None:
        close = mnemonic.upper()
        raise _Fault(
            column,
            f"unknown mnemonic '{mnemonic}'; did you mean '{close}'?"
            if close in INSTRUCTIONS
            else nearest("mnemonic", _short(mnemonic), INSTRUCTIONS),
        )
    needed = [one for one in instruction.operands if one.default is None]
    values: dict[str, int] = {}
    columns: dict[str, int] = {}
    for place, (column, text) in enumerate(operands):
        name, sign, given = text.partition("=")
        if not sign:
            if any("=" in before for _, before in operands[:place]):
                raise _Fault(column, "an operand without a name may not follow operands with names")
            if place >= len(needed):
                raise _Fault(
                    column,
                    f"{mnemonic} takes {len(needed)} operands without a name"
                    + (f" ({' '.join(one.name for one in needed)})" if needed else "")
                    + f", not '{_short(text)}'",
                )
            name, given = needed[place].name, text
        elif name not in instruction.by_name:
            raise _Fault(column, f"{mnemonic}: {nearest('operand', _short(name), instruction.by_name)}")
        if name in values:
            raise _Fault(column, f"{mnemonic}: operand {name} appears twice")
        column += len(name) + 1 if sign else 0
        found = _number(given)
        if found is None:
            raise _Fault(column, f"{mnemonic}: {name} must be a number, not '{_short(given)}'")
        values[name], columns[name] = found, column
    for one in needed:
        if one.name not in values:
            raise _Fault(begin, f"{mnemonic}: needs the operand {one.name} ({' '.join(o.name for o in needed)})")
    fields = {"opcode": instruction.opcode}
    for one in instruction.operands:
        value = values.get(one.name, 0 if one.default in (None, "CO") else int(one.default))
        if one.name == "GB" and one.name in values:
            if not 0 <= value < isa.columns:
                raise _Fault(columns["GB"], f"{mnemonic}: GB must be 0 to {isa.columns - 1}, not {value}")
            value = (value - values["CO"]) % isa.columns
        fields[one.field] = value
    whole = dict.fromkeys(WORD.widths, 0) | fields
    for one in instruction.operands:
        fault = isa.fault(instruction, one, whole)
        if fault:
            raise _Fault(columns.get(one.name, begin), f"{mnemonic}: {one.name} {fault}")
    return fields


# Text --------------------------------------------------------------------------------------------------------------------


def disassemble(words: np.ndarray, isa: CentIsa, what: str = "word") -> list[str]:
    """A line for each word, so that :func:`assemble` gives the same words.

    Raises
    ------
    :exc:`ConfigError`
        ``WHAT N (MNEMONIC): reason`` for the first word that is not legal.
    """
    columns = fields_of(words)
    isa.require(columns, what)
    names = list(WORD.widths)
    made: dict[tuple[int, ...], str] = {}
    out = []
    for row in zip(*(columns[name].tolist() for name in names), strict=True):
        if row not in made:
            made[row] = _line(BY_OPCODE[row[0]], dict(zip(names, row, strict=True)), isa)
        out.append(made[row])
    return out


def _line(instruction: Instruction, of: Mapping[str, int], isa: CentIsa) -> str:
    parts = [instruction.mnemonic]
    for one in instruction.operands:
        value = of[one.field]
        if value == (0 if one.default == "CO" else one.default):
            continue
        if one.name == "GB":
            value = (of["CO"] + value) % isa.columns
        parts.append(f"{one.name}=0x{value:08x}" if one.name == "CHmask" else f"{one.name}={value}")
    return " ".join(parts)


def hex_words(words: np.ndarray) -> str:
    """A line of 32 hexadecimal digits for each word, the highest digit first, as ``$readmemh`` reads it."""
    return "".join(bytes(word[::-1]).hex() + "\n" for word in np.ascontiguousarray(words))


def parse_hex(text: str, where: str = "program") -> np.ndarray:
    """Words of :func:`hex_words`; empty lines, and text behind ``#`` or ``//``, are comments.

    Raises
    ------
    :exc:`ConfigError`
        ``where:line:column: reason``.
    """
    words = []
    for number, line in enumerate(text.split("\n"), 1):
        content = line.split("#", 1)[0].split("//", 1)[0].strip()
        if not content:
            continue
        if len(content) != 2 * WORD_BYTES or re.fullmatch(r"[0-9a-fA-F]+", content) is None:
            raise ConfigError(
                f"{where}:{number}:{line.index(content) + 1}: a word is {2 * WORD_BYTES} hexadecimal digits, "
                f"not '{_short(content)}'"
            )
        words.append(bytes.fromhex(content)[::-1])
    return np.frombuffer(b"".join(words), np.uint8).reshape(-1, WORD_BYTES)


# Slots that nothing wrote ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Unwritten:
    """An instruction that reads slots ``first`` to ``last``, of which nothing has written all before it."""

    instruction: int
    mnemonic: str
    first: int
    last: int


def unwritten(
    columns: Mapping[str, np.ndarray], isa: CentIsa, given: Sequence[tuple[int, int]] = ()
) -> list[Unwritten]:
    """Instructions that read slots of the shared buffer before anything wrote them, in order.

    Behind RECV_CXL every slot counts as written, because the slots that another device sent are not known here. The
    same holds behind RISCV, whose program writes any slot.

    Parameters
    ----------
    given : first and last slot of ranges that are written before the program
    """
    opcode, count = columns["opcode"], len(columns["opcode"])
    index = np.arange(count)

    def chosen(names: Sequence[str]) -> np.ndarray:
        return np.isin(opcode, [INSTRUCTIONS[name].opcode for name in names])

    size = np.where(_with(opcode, "OPsize"), columns["OPsize"], 1)
    results = chosen(RESULTS)
    written = size.copy()
    written[results] = [mask.bit_count() for mask in columns["CHmask"][results].tolist()]
    # First write of each slot: every range as two overlapping ranges of a power of two, handed down to single slots.
    writes = np.flatnonzero(_with(opcode, "Rd") & ~chosen(("SEND_CXL", "BCAST_CXL")))
    start = np.r_[columns["Rd"][writes], np.array([first for first, _ in given], np.int64)]
    length = np.r_[written[writes], np.array([last - first + 1 for first, last in given], np.int64)]
    when = np.r_[writes, np.full(len(given), -1)]
    levels = isa.slots.bit_length()
    table = np.full((levels, isa.slots), count + 1)
    level = _log2(length)
    np.minimum.at(table, (level, start), when)
    np.minimum.at(table, (level, start + length - (1 << level)), when)
    for one in range(levels - 1, 0, -1):
        half = 1 << (one - 1)
        table[one - 1] = np.minimum(table[one - 1], table[one])
        table[one - 1, half:] = np.minimum(table[one - 1, half:], table[one, :-half])
    # Latest of the first writes of a range, from ranges of a power of two.
    latest = table
    for one in range(1, levels):
        half = 1 << (one - 1)
        latest[one] = np.maximum(latest[one - 1], np.r_[latest[one - 1][half:], np.full(half, -1)])
    anything = np.flatnonzero(chosen(("RECV_CXL", "RISCV")))
    known = index <= (anything[0] if len(anything) else count)
    out = []
    for name, reads in (("Rs", _with(opcode, "Rs")), ("Rd", chosen(("ACC",)))):
        at = np.flatnonzero(reads & known)
        level, first = _log2(size[at]), columns[name][at]
        seen = np.maximum(latest[level, first], latest[level, first + size[at] - (1 << level)])
        for n in at[seen >= at].tolist():
            low = int(columns[name][n])
            out.append(Unwritten(n, BY_OPCODE[int(opcode[n])].mnemonic, low, low + int(size[n]) - 1))
    return sorted(out, key=lambda one: one.instruction)


def _log2(sizes: np.ndarray) -> np.ndarray:
    """Largest powers of two that are not above numbers: their exponents."""
    return np.frexp(sizes.astype(np.float64))[1].astype(np.int64) - 1


def _with(opcode: np.ndarray, operand: str) -> np.ndarray:
    return np.isin(opcode, [one.opcode for one in INSTRUCTIONS.values() if operand in one.by_name])
