"""Traces of AiM devices: reading traces, and writing programs as traces."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat

import numpy as np

from ...constraints.aim.encoding import COMMANDS, HUB_CODES
from ...constraints.core.errors import ConfigError, nearest
from ..program import Affine, Command, Loop, Node, Program, Stage, Wait
from . import aim_kernel as kernel
from .aim import AF_ROW, ALL_CHANNELS, CHANNELS, INSTRUCTIONS, FrontEnd, FrontEndTiming, Instructions, _Leaf
from .lines import LONGEST, Progress, line_blocks, shown

__all__ = ["check_command", "is_aim", "memory_view", "read_trace", "time_trace", "trace_lines"]

#: Number of different lines that are remembered.
REMEMBERED = 1 << 17

_BUS = {b"W_MEM", b"R_MEM", b"GPR", b"CFR"}
_MOST_OPERATIONS = 1 << 20


def _sizes(front_end: FrontEnd) -> dict[str, int]:
    """Operands that matter to timing, and their greatest values."""
    memory = front_end.memory
    return {
        "opsize": _MOST_OPERATIONS,
        "mask": ALL_CHANNELS,
        "bank": memory.banks - 1,
        "row": memory.rows - 1,
        "channel": CHANNELS - 1,
    }


class _Reader:
    """Turns lines into rows of the kernel's arrays: kind, target, operations, channels, row, whether the host waits."""

    def __init__(self, path: str | os.PathLike[str], front_end: FrontEnd) -> None:
        self.path = path
        targets, sizes = front_end.numbering.targets, _sizes(front_end)
        column = {"opsize": 2, "mask": 3, "channel": 3, "row": 4}
        self.plans: dict[bytes, tuple[list[int], list[tuple[int, str, int, int]], int]] = {}
        for name, what in INSTRUCTIONS.items():
            fixed = [
                what.kind,
                -1 if what.command is None else int(targets[what.command][0]),
                int(what.kind != kernel.NOTHING),
                ALL_CHANNELS if what.kind == kernel.SYNC else 0,
                0,
                int(what.blocks),
            ]
            fields = [(n, f, column.get(f, 1), sizes[f]) for n, f in enumerate(what.fields) if f in sizes]
            self.plans[name.encode()] = fixed, fields, len(what.fields)
        self.af_row = AF_ROW
        self.ended = 0

    def fail(self, number: int, text: str) -> ConfigError:
        return ConfigError(f"{self.path}:{number}: {text}")

    def row(self, line: bytes, number: int) -> tuple[list[int] | None, bool]:
        """The row of a line (None if the line is empty), and whether equal lines always have equal rows."""
        if len(line) > LONGEST:
            raise self.fail(number, f"more than {LONGEST} bytes in a line; not a trace")
        words = line.split(b"#", 1)[0].split()
        if not words:
            return None, True
        if self.ended:
            raise self.fail(number, f"an instruction behind the AiM EOC of line {self.ended}")
        head = words[0]
        if head == b"AiM":
            if len(words) < 2:
                raise self.fail(number, "an instruction is missing behind AiM")
            name, operands = words[1].removeprefix(b"ISR_"), words[2:]
        elif head in (b"W", b"R") and len(words) > 1 and words[1] in (b"MEM", b"GPR", b"CFR"):
            name, operands = head + b"_MEM" if words[1] == b"MEM" else words[1], words[2:]
        else:
            raise self.fail(number, f"'{shown(head)}' is not the begin of an AiM line (AiM, W or R MEM, GPR, CFR)")
        plan = self.plans.get(name)
        if plan is None or (head == b"AiM") == (name in _BUS):
            valid = [n for n in INSTRUCTIONS if n.encode() not in _BUS]
            raise self.fail(number, nearest("instruction", shown(name), valid))
        fixed, fields, count = plan
        row = fixed.copy()
        if name == b"CFR" and len(operands) == 2 and _integer(operands[0]) == 2:
            value = _integer(operands[1])
            if value is None:
                raise self.fail(number, f"'{shown(operands[1])}' is not a number")
            self.af_row = AF_ROW + value
            return row, False
        if name not in (b"GPR", b"CFR") and len(operands) != count:
            raise self.fail(
                number,
                f"{name.decode()} has {count} operands "
                f"({', '.join(INSTRUCTIONS[name.decode()].fields) or 'none'}), not {len(operands)}",
            )
        for place, field, where, most in fields:
            value = _integer(operands[place])
            if value is None:
                raise self.fail(number, f"{field} must be a number, not '{shown(operands[place])}'")
            if not 0 <= value <= most:
                raise self.fail(number, f"{field} must be 0 to {most}, not {value}")
            if field == "bank":
                row[1] += value
            elif field == "mask":
                row[3] = int(f"{value:0{CHANNELS}b}"[::-1], 2)
            elif field == "channel":
                row[3] = 1 << value
            elif row[0] != kernel.NOTHING:
                row[where] = value
        if name == b"AF":
            row[4] = self.af_row
        elif name == b"EOC":
            self.ended = number
        return row, name not in (b"AF", b"EOC")


def read_trace(
    path: str | os.PathLike[str], front_end: FrontEnd, progress: Progress | None = None
) -> Iterator[Instructions]:
    """Instructions of an AiM trace file, block by block. A line that has been read before is looked up.

    Raises
    ------
    :exc:`ConfigError`
        ``file:line: reason`` for a line that is not text or has an unknown instruction. Also for operands that are
        missing, too many, not numbers or out of range. Also for instructions behind ``AiM EOC``, and for a trace that
        does not end with ``AiM EOC``.
    """
    reader = _Reader(path, front_end)
    known: dict[bytes, int] = {}
    table = np.zeros((1 << 12, 6), np.int64)  # row 0: nothing
    size, last = 1, 0
    for first, lines in line_blocks(path, progress):
        if len(known) > REMEMBERED:
            known.clear()
            size = 1
        new: list[list[int]] = []
        last = first + len(lines) - 1
        picks = list(map(known.get, lines, repeat(-1)))
        place = -1
        try:
            while True:
                place = picks.index(-1, place + 1)
                if reader.ended:
                    picks[place:] = [_behind(reader, line, n) for n, line in enumerate(lines[place:], first + place)]
                    break
                line = lines[place]
                pick = known.get(line, -1)  # may have come earlier in this block
                if pick >= 0:
                    picks[place] = pick
                    continue
                row, always = reader.row(line, first + place)
                if row is None:
                    pick = 0
                else:
                    pick = size + len(new)
                    new.append(row)
                picks[place] = pick
                if always:
                    known[line] = pick
                elif reader.ended:
                    picks[place + 1 :] = [
                        _behind(reader, line, n) for n, line in enumerate(lines[place + 1 :], first + place + 1)
                    ]
                    break
        except ValueError:  # no further line is new to the reader
            pass
        if new:
            if size + len(new) > len(table):
                table = np.concatenate([table[:size], np.zeros((size + 2 * len(new), 6), np.int64)])
            table[size : size + len(new)] = new
            size += len(new)
        chosen = np.array(picks, np.int64)
        chosen = chosen[chosen > 0]
        if len(chosen):
            yield Instructions(*np.ascontiguousarray(table[chosen].T))
    if not reader.ended:
        if not last:
            raise ConfigError(f"{path}: an empty file; an AiM trace ends with AiM EOC")
        raise ConfigError(f"{path}:{last}: the end without AiM EOC: the trace is cut off")


def _behind(reader: _Reader, line: bytes, number: int) -> int:
    reader.row(line, number)
    return 0


def _integer(word: bytes) -> int | None:
    if b"_" in word:
        return None
    try:
        return int(word, 0)
    except ValueError:
        return None


# Timing ----------------------------------------------------------------------------------------------------------------

#: Least and greatest number of instructions of a part that is looked up.
SHORTEST, LONGEST_PART = 16, 512

#: Outcomes that are kept. A block of more than ``_JUDGED`` parts shows whether looking up is of use. If it is of none,
#: the next ``_WITHOUT`` blocks go without.
KEPT = 1 << 13
_JUDGED, _WITHOUT = 32, 16


def time_trace(front_end: FrontEnd, blocks: Iterable[Instructions]) -> FrontEndTiming:
    """As :meth:`FrontEnd.run`, but parts that have been timed from the same state are looked up.

    A part ends before its first instruction comes again, whatever the row. This finds the loops of the program that
    wrote the trace. If nothing repeats, the trace is timed instruction by instruction.
    """
    state, cycles, total = front_end._start, 0, 0
    counts = np.zeros(len(front_end.names), np.int64)
    codes: dict[bytes, Instructions] = {}
    without = 0
    for code in blocks:
        total += len(code)
        if without:
            without -= 1
            front_end._unpack(*state)
            front_end._advance(code, counts)
            cycles += int(front_end.host[kernel.CLOCK])
            state = front_end._pack()
            continue
        if len(front_end.known) > KEPT:
            for memory in (front_end.known, front_end.shapes, codes):
                memory.clear()
        before, parts = len(front_end.known), _parts(code)
        for first, last in parts:
            state, outcome = front_end._piece(_Leaf(Instructions(*(c[first:last] for c in code)), codes), state)
            cycles += outcome[2]
            counts += outcome[3]
        new = len(front_end.known) - before
        without = _WITHOUT if len(parts) > _JUDGED and new > 0.75 * len(parts) else 0
    return FrontEndTiming(
        front_end.memory, cycles, {name: int(n) for name, n in zip(front_end.names, counts, strict=True) if n}, total
    )


def _parts(code: Instructions) -> list[tuple[int, int]]:
    """First and last instruction of the parts of a block."""
    size = len(code)
    # Equal instructions have equal numbers. Rarely, others do too; this only moves the end of a part.
    names = (code.targets * 1000003 + code.masks) * 1000003 + code.ops
    order = np.argsort(names, kind="stable")
    again = np.full(size, size, np.int64)
    same = names[order[1:]] == names[order[:-1]]
    again[order[:-1][same]] = order[1:][same]
    after = again.tolist()
    out, first = [], 0
    while first < size:
        last = after[first]
        while last - first < SHORTEST and last < size:
            last = after[last]
        last = min(last, first + LONGEST_PART)
        out.append((first, last))
        first = last
    return out


# Writing ---------------------------------------------------------------------------------------------------------------


def trace_lines(program: Program) -> Iterator[str]:
    """A program of AiM instructions as lines of a trace, its end (``AiM EOC``) included.

    Raises
    ------
    :exc:`ConfigError`
        If the program waits, or has commands that no AiM instruction makes.
    """
    for item in program.expand():
        if isinstance(item, Wait):
            raise ConfigError("an AiM trace cannot wait: its host paces the commands")
        op, values = item
        what = INSTRUCTIONS.get(op)
        if what is None:
            raise ConfigError(f"not an AiM program: {nearest('instruction', op, INSTRUCTIONS)}")
        if missing := [name for name in what.fields if name not in values]:
            raise ConfigError(f"{op}: needs the operand {missing[0]}")
        words = [f"{values[name]:#010x}" if name == "mask" else str(values[name]) for name in what.fields]
        times = values.get("opsize") or 1 if "opsize" in what.optional else 1
        if op in ("W_MEM", "R_MEM"):
            yield " ".join([op[0], "MEM", *words])
        elif what.kind == kernel.NOTHING and not what.fields:
            yield f"W {op} 0" if op == "GPR" else f"W {op} 0 0"
        else:
            yield from [" ".join(["AiM", op, *words])] * times
    yield "AiM EOC"


def _hub_alone(op: str) -> bool:
    """Whether a command belongs to the hub, and so takes no time of the memory."""
    return op in COMMANDS and COMMANDS[op].code >= HUB_CODES


def is_aim(op: str) -> bool:
    """Whether ``op`` is an instruction of an AiM host, or a command of its hub."""
    return op in INSTRUCTIONS or _hub_alone(op)


def check_command(front_end: FrontEnd, op: str, operands: Iterable[tuple[str, tuple[int, int]]]) -> None:
    """Check that an instruction's operands, given with their least and greatest values, exist and are in range.

    Operands that do not affect timing are allowed: column, register and similar operands, and the slot of the
    request that has the row.
    """
    if not is_aim(op):
        raise ConfigError(nearest("instruction", op, INSTRUCTIONS))
    code = COMMANDS[op]
    fields = INSTRUCTIONS[op].fields if op in INSTRUCTIONS else tuple(code.fields)
    known = (*fields, *code.optional, *(("slot",) if code.has_row else ()))
    sizes, given = {**_sizes(front_end), "column": front_end.memory.columns - 1}, dict(operands)
    for name, (low, high) in given.items():
        if name not in known:
            raise ConfigError(f"{op}: {nearest('operand', name, known)}")
        if low < 0 or name in sizes and high > sizes[name]:
            most = f"0 to {sizes[name]}" if name in sizes else "at least 0"
            raise ConfigError(f"{op}: {name} must be {most}, not {low if low < 0 else high}")
    for name in fields:
        if name not in given:
            raise ConfigError(f"{op}: needs the operand {name}")


def memory_view(program: Program, rows: int) -> Program:
    """A program of channel and hub commands as the memory sees it.

    It has no commands of the hub and no operands that do not affect timing. Rows of requests, which the dispatcher
    looks up, lie behind the other rows, in the order of their numbers.

    Parameters
    ----------
    rows : rows of a bank

    Raises
    ------
    :exc:`ConfigError`
        If the rows do not fit a bank.
    """
    least, most = 0, -1
    for command, loops in program.commands():
        row = command.get("row")
        if row is not None and all(loops):
            high = row.bounds(loops)[1]
            least, most = (least, max(most, high)) if command.get("slot") is not None else (max(least, high + 1), most)
    if most >= 0 and least + most >= rows:
        raise ConfigError(f"the program has {least} rows and its request {most + 1}; a bank has {rows}")

    def visit(body: Sequence[Node]) -> Iterator[Node]:
        for node in body:
            if isinstance(node, Loop):
                yield Loop(node.count, tuple(visit(node.body)))
            elif isinstance(node, Stage):
                yield Stage(node.name, tuple(visit(node.body)))
            elif not isinstance(node, Command):
                yield node
            elif node.op in INSTRUCTIONS:
                what, virtual = INSTRUCTIONS[node.op], node.get("slot") is not None
                yield Command(
                    node.op,
                    {
                        name: value + Affine(least) if virtual and name == "row" else value
                        for name, value in node.operands
                        if name in what.fields + what.optional
                    },
                )

    return Program(visit(program.body))
