"""Reading a program from its text, as ``str(program)`` writes it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from ...constraints.core.document import read_text
from ...constraints.core.errors import ConfigError
from .nodes import Affine, Command, Loop, Newest, Node, Stage, Tokens, Wait
from .program import Program

__all__ = ["parse_program", "read_program"]

#: Greatest size of a file in bytes, and greatest nesting of loops and stages.
MAX_BYTES = 1 << 26
MAX_DEPTH = 64

_DIGITS = 20  # of a number: far beyond any operand
_LOOP = re.compile(r"loop\s+i(\d+)\s*<\s*(\S+)")
_TOKENS = re.compile(r"tokens/(\d{1,20})([+-]\d{1,20})?(?:@(\d{1,20}))?")
_TERM = re.compile(r"([+-]?)(?:(\d+)\*)?(?:i(\d+)|t/(\d+))|([+-]?)(\d+)")
_OPERAND = re.compile(r"([^\s=]+)=(\S+)")

#: Called with every command and the counts of the enclosing loops; raises :exc:`ConfigError` for an impossible command.
Check = Callable[[Command, tuple[int, ...]], None]


def read_program(path: str | os.PathLike[str], check: Check | None = None) -> Program:
    """The program of a text file; see :func:`parse_program`."""
    return parse_program(read_text(path, "a program", MAX_BYTES), os.fspath(path), check)


def parse_program(text: str, where: str = "program", check: Check | None = None) -> Program:
    """The program of a text: ``parse_program(str(program)) == program``.

    A line has one of these forms:

    - ``loop i0 < 8``, or ``loop i0 < tokens/256+1@0`` (see :class:`Tokens`)
    - ``stage NAME``
    - ``wait 12``
    - a command with its operands: ``RD row=4+2*i0 bank=0``, or ``RD row=4+t/256`` (see :class:`Newest`)

    The body of a loop or stage is indented below it. Empty lines and text behind a ``#`` are comments.

    Parameters
    ----------
    where : names the text in errors
    check : called for every command, to raise errors of the program's reader

    Raises
    ------
    :exc:`ConfigError`
        ``where:line: reason``.
    """
    # For each open block: its indentation (None until its first line), its nodes, and the function that makes its node.
    blocks: list[tuple[list[int | None], list[Node], Callable[[tuple[Node, ...]], Node] | None]] = [([0], [], None)]
    counts: list[int] = []
    loops: list[bool] = []
    number = 0

    def close() -> None:
        _, body, make = blocks.pop()
        assert make is not None
        blocks[-1][1].append(make(tuple(body)))
        if loops.pop():
            counts.pop()

    for number, line in enumerate(text.split("\n"), 1):
        content = line.split("#", 1)[0].rstrip() if "#" in line else line.rstrip()
        words = content.lstrip()
        if not words:
            continue
        try:
            if content[: -len(words)].strip(" "):
                raise ConfigError("a line is indented with spaces, not with tabs")
            indent = len(content) - len(words)
            while True:
                inside, body, _ = blocks[-1]
                if inside[0] is None:
                    outer = blocks[-2][0][0]
                    assert outer is not None
                    if indent > outer:
                        inside[0] = indent
                if inside[0] == indent:
                    break
                if len(blocks) == 1 or (inside[0] is not None and indent > inside[0]):
                    raise ConfigError("the line is indented, but belongs to no loop or stage")
                close()
            loop = _LOOP.fullmatch(words)
            if loop:
                level, count = int(loop[1][:_DIGITS]), _count(loop[2])
                if level != len(counts):
                    raise ConfigError(f"the index of this loop is i{len(counts)}, not i{loop[1]}")
                if len(blocks) > MAX_DEPTH:
                    raise ConfigError(f"more than {MAX_DEPTH} loops and stages within each other")
                blocks.append(([None], [], _maker(Loop, count)))
                counts.append(count)
                loops.append(True)
            elif words.split(None, 1)[0] == "stage":
                if len(words.split(None, 1)) == 1:
                    raise ConfigError("a stage needs a name")
                if len(blocks) > MAX_DEPTH:
                    raise ConfigError(f"more than {MAX_DEPTH} loops and stages within each other")
                blocks.append(([None], [], _maker(Stage, words.split(None, 1)[1])))
                loops.append(False)
            elif words.split()[0] == "wait":
                parts = words.split()
                if len(parts) != 2:
                    raise ConfigError("a wait is 'wait CYCLES'")
                body.append(Wait(_whole("the cycles of a wait", parts[1])))
            elif words.split()[0] == "loop":
                raise ConfigError(f"a loop is 'loop i{len(counts)} < COUNT'")
            else:
                command = _command(words, len(counts))
                if check is not None:
                    check(command, tuple(counts))
                body.append(command)
        except ConfigError as error:
            raise ConfigError(f"{where}:{number}: {error}") from None
    while len(blocks) > 1:
        close()
    return Program(blocks[0][1])


def _maker(kind: type[Loop] | type[Stage], what: int | str) -> Callable[[tuple[Node, ...]], Node]:
    return lambda body: kind(what, body)  # type: ignore[arg-type]


def _count(text: str) -> int:
    if match := _TOKENS.fullmatch(text):
        return Tokens(*(int(part or 0) for part in match.groups()))  # type: ignore[return-value]  # until it is bound
    return _whole("the count of a loop", text)


def _whole(what: str, text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > _DIGITS:
        raise ConfigError(f"{what} must be a whole number, not '{_short(text)}'")
    return int(text)


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:20]}... ({len(text)} characters)"


def _command(text: str, depth: int) -> Command:
    name, *operands = text.split()
    if not name.isidentifier():
        raise ConfigError(f"'{_short(name)}' is not the name of a command")
    values: dict[str, Affine] = {}
    for operand in operands:
        match = _OPERAND.fullmatch(operand)
        if match is None:
            raise ConfigError(f"{name}: an operand is NAME=VALUE, not '{_short(operand)}'")
        if match[1] in values:
            raise ConfigError(f"{name}: operand {_short(match[1])} appears twice")
        values[match[1]] = _affine(name, match[1], match[2], depth)
    return Command(name, values)


def _affine(command: str, operand: str, text: str, depth: int) -> Affine:
    base, strides, place = 0, [0] * depth, 0
    newest: list[tuple[int, int]] = []
    while place < len(text):
        match = _TERM.match(text, place)
        if match is None or (place and not (match[1] or match[5])):
            break
        sign, times, level, divisor, plain_sign, plain = match.groups()
        if max(len(part or "") for part in (times, level, divisor, plain)) > _DIGITS:
            break
        value = (-1 if "-" in (sign, plain_sign) else 1) * int(plain or times or 1)
        if plain is not None:
            base += value
        elif divisor is not None:
            newest.append((int(divisor), value))
        elif int(level) >= depth:
            raise ConfigError(
                f"{command}: operand {operand} uses i{level}, "
                + (f"but the loops here are i0 to i{depth - 1}" if depth else "but no loop is here")
            )
        else:
            strides[int(level)] += value
        place = match.end()
    if place < len(text) or not text:
        raise ConfigError(f"{command}: operand {operand} must be like 4+2*i0, not '{_short(text)}'")
    return Affine(Newest(base, tuple(newest)) if newest else base, tuple(strides))  # type: ignore[arg-type]
