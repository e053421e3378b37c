"""Programs as words of a dispatcher's command buffer, and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...constraints.aim.encoding import (
    COMMANDS,
    DISPATCHER_COMMANDS,
    END,
    MORE,
    OPERANDS,
    WORD_BITS,
    DispatchError,
    ProgramEncoding,
    pack,
    signed,
    unpack,
)
from ...constraints.core.errors import ConfigError, nearest
from .nodes import Affine, Command, Loop, Newest, Node, Stage, Tokens, Wait
from .program import Program

__all__ = ["canonical", "decode_line", "decode_program", "encode_program", "listing"]

_CODES = {command.code: name for name, command in DISPATCHER_COMMANDS.items()}
_TARGETS = list(OPERANDS)


@dataclass
class _Line:
    op: int
    loops: list[_Begin] = field(default_factory=list)
    modifiers: list[tuple[int, int, int, int]] = field(default_factory=list)  # target, level, stride, shift
    operands: dict[str, int] = field(default_factory=dict)
    virtual: bool = False


@dataclass
class _Begin:
    count: object
    line: int = 0
    end: int = 0


def encode_program(program: Program, encoding: ProgramEncoding, *, first: int = 0, layer: bool = False) -> np.ndarray:
    """Words of a program and of its end line, from line ``first`` of the buffer on.

    A command with an operand ``slot`` has a virtual row: ``row`` counts the rows of the request in that slot. Slots
    count from the slot with which the run starts. Names of stages are dropped, and so are loops without commands.

    Parameters
    ----------
    first : line to which the program will be written; it decides whether the words fit, but changes no word
    layer : the program is one loop over the layers of a model; its body is encoded, to run for the current layer

    Returns
    -------
    np.ndarray
        uint32 of shape ``(lines, line_words)``.

    Raises
    ------
    :exc:`ConfigError`
        If the encoding cannot express the program: a wait, unknown commands or operands, values that do not fit. Also
        for loops that are nested too deeply or have a divisor that is not a power of two. Also if the program does not
        fit the buffer.
    """
    lines: list[_Line] = []
    body: Sequence[Node] = tuple(_flat(program.body))
    outer = 0
    if layer:
        if len(body) != 1 or not isinstance(body[0], Loop):
            raise ConfigError("a program of the current layer must be one loop, over the layers")
        body, outer = tuple(_flat(body[0].body)), 1

    def visit(nodes: Sequence[Node], depth: int, begun: list[_Begin]) -> None:
        """Encode nodes. ``begun`` has the loops that begin with the next command, which empties it."""
        for node in nodes:
            if isinstance(node, Loop):
                inner = tuple(_flat(node.body))
                if not _has_command(inner):
                    continue
                if depth - outer >= encoding.nesting:
                    raise ConfigError(f"more than {encoding.nesting} loops within each other")
                begin = _Begin(node.count)
                begun.append(begin)
                visit(inner, depth + 1, begun)
                begin.end = len(lines) - 1
            elif isinstance(node, Command):
                line = _command(node, encoding, depth, outer)
                _place(lines, line, begun, encoding)
                begun.clear()
            else:
                raise ConfigError("a dispatcher cannot wait: its memory takes the commands when it can")

    visit(body, outer, [])
    lines.append(_Line(END))
    if first + len(lines) > encoding.lines:
        raise ConfigError(f"the program takes {len(lines)} lines, but the command buffer has {encoding.lines - first}")
    return np.array([_words(line, encoding) for line in lines], np.uint32).reshape(-1, encoding.line_words)


def _flat(body: Sequence[Node]) -> Iterator[Node]:
    for node in body:
        if isinstance(node, Stage):
            yield from _flat(node.body)
        else:
            yield node


def _has_command(body: Sequence[Node]) -> bool:
    return any(
        isinstance(node, (Command, Wait)) or (isinstance(node, Loop) and _has_command(tuple(_flat(node.body))))
        for node in body
    )


def _command(command: Command, encoding: ProgramEncoding, depth: int, outer: int) -> _Line:
    what = DISPATCHER_COMMANDS.get(command.op)
    if what is None:
        raise ConfigError(nearest("command", command.op, DISPATCHER_COMMANDS))
    line = _Line(what.code)
    for name in what.fields:
        if command.get(name) is None:
            raise ConfigError(f"{command.op}: needs the operand {name}")
    half = 1 << (encoding.stride_bits - 1)

    def modify(name: str, place: str, level: int, stride: int, shift: int = 0) -> None:
        if not -half <= stride < half:
            raise ConfigError(f"{command.op}: {name}: a stride must be {-half} to {half - 1}, not {stride}")
        line.modifiers.append((_TARGETS.index(place), level, stride, shift))

    for name, value in command.operands:
        place = what.places.get(name, name)
        if name not in what.places and not (name == "slot" and what.has_row):
            raise ConfigError(f"{command.op}: {nearest('operand', name, tuple(what.places))}")
        at: object = value.base
        base, newest = (at.base, at.terms) if isinstance(at, Newest) else (value.base, ())
        if not 0 <= base < 1 << encoding.operands[place]:
            raise ConfigError(
                f"{command.op}: {name} must begin at 0 to {(1 << encoding.operands[place]) - 1}, not {base}"
            )
        if len(value.strides) > depth:
            raise ConfigError(f"{command.op}: {name} uses the index of a loop that is not open")
        line.virtual |= name == "slot"
        line.operands[place] = base
        for level, stride in enumerate(value.strides):
            if stride:
                modify(name, place, encoding.layer_level if level < outer else level - outer, stride)
        for divisor, times in newest:
            shift, room = divisor.bit_length() - 1, encoding.modifier_fields.get("shift", 0)
            if shift >= 1 << room:
                raise ConfigError(
                    f"{command.op}: {name}: the newest token is divided by at most {1 << (1 << room) - 1}, "
                    f"not {divisor}"
                )
            modify(name, place, encoding.newest_level, times, shift)
    return line


def _place(lines: list[_Line], line: _Line, begun: list[_Begin], encoding: ProgramEncoding) -> None:
    """Append a command. Loops and modifiers that do not fit its line go into lines before it."""

    def append(line: _Line) -> None:
        for begin in line.loops:
            begin.line = len(lines)
        lines.append(line)

    loops, modifiers, room = list(begun), line.modifiers, encoding.prefix_words
    while (beyond := len(loops) + len(modifiers) - room) > 0:
        # Take as little as possible, loops first. Best is the outermost loop alone: its iterations begin behind this
        # line.
        taken = (beyond - 1) % room + 1
        more = _Line(MORE, loops[:taken], modifiers[: max(0, taken - len(loops))])
        loops, modifiers = loops[len(more.loops) :], modifiers[len(more.modifiers) :]
        append(more)
    line.loops, line.modifiers = loops, modifiers
    append(line)


def _words(line: _Line, encoding: ProgramEncoding) -> list[int]:
    head = pack(
        encoding.command_fields,
        op=line.op,
        loops=len(line.loops),
        modifiers=len(line.modifiers),
        virtual=int(line.virtual),
        **line.operands,
    )
    words = [head >> WORD_BITS * k & ((1 << WORD_BITS) - 1) for k in range(encoding.command_words)]
    for begin in line.loops:
        words.append(_loop_word(begin.count, begin.end - begin.line + 1, encoding))
    for target, level, stride, shift in line.modifiers:
        words.append(pack(encoding.modifier_fields, target=target, level=level, stride=stride, shift=shift))
    return words + [0] * (encoding.line_words - len(words))


def _loop_word(count: object, length: int, encoding: ProgramEncoding) -> int:
    if not isinstance(count, Tokens):
        assert isinstance(count, int)
        if count > encoding.most_iterations:
            raise ConfigError(f"a loop must have a count of at most {encoding.most_iterations}, not {count}")
        return pack(encoding.loop_fields, length=length, value=count)
    shift = count.divisor.bit_length() - 1
    if count.divisor != 1 << shift or shift > encoding.token_bits:
        raise ConfigError(
            f"the divisor of a count by tokens must be a power of two up to {1 << encoding.token_bits}, "
            f"not {count.divisor}"
        )
    half = 1 << (encoding.offset_bits - 1)
    if not -half <= count.offset < half:
        raise ConfigError(f"the offset of a count by tokens must be {-half} to {half - 1}, not {count.offset}")
    if count.slot >= encoding.slots:
        raise ConfigError(f"the slot of a count by tokens must be 0 to {encoding.slots - 1}, not {count.slot}")
    value = pack(encoding.tokens_fields, shift=shift, slot=count.slot, offset=count.offset)
    return pack(encoding.loop_fields, by_tokens=1, length=length, value=value)


# Decoding ----------------------------------------------------------------------------------------------------------------


def decode_line(words: Sequence[int], encoding: ProgramEncoding) -> tuple[dict[str, int], list[int]]:
    """Fields of the command, and the prefix words."""
    head = sum(int(word) << WORD_BITS * k for k, word in enumerate(words[: encoding.command_words]))
    return unpack(encoding.command_fields, head), [int(word) for word in words[encoding.command_words :]]


def _loop(word: int, encoding: ProgramEncoding) -> tuple[object, int]:
    fields = unpack(encoding.loop_fields, word)
    if not fields["by_tokens"]:
        return fields["value"], fields["length"]
    by = unpack(encoding.tokens_fields, fields["value"])
    return Tokens(1 << by["shift"], signed(by["offset"], encoding.offset_bits), by["slot"]), fields["length"]


def decode_program(
    words: np.ndarray, encoding: ProgramEncoding, *, first: int = 0, layers: int | None = None
) -> Program:
    """The program in lines ``first`` and following. For words of :func:`encode_program` it is its :func:`canonical`
    form.

    Parameters
    ----------
    words : array of shape ``(lines, line_words)``
    layers : if given, the program is for the current layer, and becomes the body of a loop over this number of layers

    Raises
    ------
    :exc:`ConfigError`
        ``line N: reason`` for words that are not a program.
    """
    outer = 0 if layers is None else 1
    stack: list[tuple[object, int, list[Node]]] = [(0, -1, [])]
    extra: list[int] = []
    at = first

    def fail(error: DispatchError) -> ConfigError:
        return ConfigError(f"line {at}: {error.meaning}")

    while True:
        if at >= len(words):
            raise fail(DispatchError.BEYOND)
        fields, prefix = decode_line(words[at], encoding)
        op, begins, modifiers = fields["op"], fields["loops"], fields["modifiers"]
        if op not in _CODES and op not in (END, MORE):
            raise fail(DispatchError.OPCODE)
        if begins + modifiers > encoding.prefix_words or (op == END and begins + modifiers):
            raise fail(DispatchError.FORMAT)
        if op == END:
            if len(stack) > 1:
                raise fail(DispatchError.BODY)
            break
        for word in prefix[:begins]:
            count, length = _loop(word, encoding)
            if len(stack) > encoding.nesting:
                raise fail(DispatchError.NESTING)
            if not length or (len(stack) > 1 and at + length - 1 > stack[-1][1]):
                raise fail(DispatchError.BODY)
            stack.append((count, at + length - 1, []))
        extra += prefix[begins : begins + modifiers]
        if op != MORE:
            what, strides = COMMANDS[_CODES[op]], {name: [0] * (len(stack) - 1 + outer) for name in OPERANDS}
            newest: dict[str, list[tuple[int, int]]] = {name: [] for name in OPERANDS}
            for word in extra:
                change = unpack(encoding.modifier_fields, word)
                if change["target"] >= len(OPERANDS):
                    raise fail(DispatchError.MODIFIER)
                target, stride = _TARGETS[change["target"]], signed(change["stride"], encoding.stride_bits)
                if change["level"] == encoding.newest_level:
                    newest[target].append((1 << change.get("shift", 0), stride))
                    continue
                level = 0 if change["level"] == encoding.layer_level else change["level"] + outer
                if level >= len(stack) - 1 + outer or (change["level"] == encoding.layer_level and not outer):
                    raise fail(DispatchError.MODIFIER)
                strides[target][level] += stride
            extra = []
            places = dict(what.fields)
            places |= {
                name: place
                for name, place in what.optional.items()
                if fields[place] or any(strides[place]) or newest[place]
            }
            places |= {"slot": "slot"} if fields["virtual"] else {}
            stack[-1][2].append(
                Command(
                    _CODES[op],
                    {
                        name: Affine(Newest(fields[place], tuple(newest[place])), tuple(strides[place]))  # type: ignore[arg-type]
                        for name, place in places.items()
                    },
                )
            )
        while stack[-1][1] == at:
            count, _, nodes = stack.pop()
            stack[-1][2].append(Loop(count, tuple(nodes)))  # type: ignore[arg-type]
        at += 1
    nodes = stack[0][2]
    return Program(nodes) if layers is None else Program([Loop(layers, tuple(nodes))])


def canonical(program: Program) -> Program:
    """The program as its encoding gives it back: without stages, empty loops and optional operands that are 0."""

    def visit(body: Sequence[Node]) -> Iterator[Node]:
        for node in _flat(body):
            if isinstance(node, Command):
                optional = COMMANDS[node.op].optional if node.op in COMMANDS else ()
                yield Command(
                    node.op,
                    {name: value for name, value in node.operands if name not in optional or value != Affine(0)},
                )
            elif isinstance(node, Loop):
                inner = tuple(visit(node.body))
                if _has_command(inner):
                    yield Loop(node.count, inner)
            else:
                yield node

    return Program(visit(program.body))


def listing(words: np.ndarray, encoding: ProgramEncoding, *, first: int = 0) -> Iterator[str]:
    """Readable lines of an encoded program: number, words, and their meaning."""
    for number, line in enumerate(words, first):
        fields, prefix = decode_line(line, encoding)
        parts = []
        for word in prefix[: fields["loops"]]:
            count, length = _loop(word, encoding)
            parts.append(f"Dyn-Loop({count}, {length})")
        for word in prefix[fields["loops"] : fields["loops"] + fields["modifiers"]]:
            change = unpack(encoding.modifier_fields, word)
            by = {encoding.layer_level: "layer", encoding.newest_level: f"t/{1 << change.get('shift', 0)}"}.get(
                change["level"], f"i{change['level']}"
            )
            target = _TARGETS[change["target"]] if change["target"] < len(_TARGETS) else "?"
            parts.append(f"Dyn-Modi({target}, {signed(change['stride'], encoding.stride_bits)}*{by})")
        name = {END: "end", MORE: "more"}.get(fields["op"], _CODES.get(fields["op"], "?"))
        what = COMMANDS.get(name)
        places = what.places if what else {}
        if fields["virtual"]:
            places["slot"] = "slot"
        parts.append(" ".join([name, *(f"{n}={fields[p]}" for n, p in places.items())]))
        yield f"{number:5d}  {' '.join(f'{int(word):08x}' for word in line)}  {'; '.join(parts)}"
