"""Nodes of a program: immutable, hashable, comparable."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ...constraints.core.errors import ConfigError

__all__ = ["Affine", "Command", "Loop", "Newest", "Node", "Stage", "Tokens", "Wait", "integer", "simplified"]


def integer(what: str, value: object) -> int:
    """``value`` as a Python int. NumPy integers are allowed, booleans and floats are not."""
    if isinstance(value, bool):
        raise TypeError(f"{what} must be an integer, not {value!r}")
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{what} must be an integer, not {value!r}") from None


@dataclass(frozen=True, slots=True)
class Newest:
    """``base`` plus multiples of floor(newest / divisor): the place of the newest token of a request.

    ``newest`` is the number of the newest token, counted from 0, of the request for which a program runs. A
    :class:`Newest` is the base of an :class:`Affine` operand in a program that is not bound. It has no value before
    :meth:`Program.bind`.

    Attributes
    ----------
    terms : divisor (a power of two) and multiple of each term, sorted; no multiple is 0
    """

    base: int
    terms: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        totals: dict[int, int] = {}
        for divisor, multiple in self.terms:
            divisor = integer("divisor of the newest token", divisor)
            if divisor < 1 or divisor & (divisor - 1):
                raise ConfigError(f"the newest token is divided by powers of two, not by {divisor}")
            totals[divisor] = totals.get(divisor, 0) + integer("a multiple of the newest token", multiple)
        object.__setattr__(self, "base", integer("base", self.base))
        object.__setattr__(self, "terms", tuple(sorted((d, times) for d, times in totals.items() if times)))

    def at(self, tokens: int) -> int:
        """The value for a request of ``tokens`` tokens, at least 1."""
        if tokens < 1:
            raise ConfigError(f"an operand is {self}, but the request has no token")
        return self.base + sum(times * ((tokens - 1) // divisor) for divisor, times in self.terms)

    def __add__(self, other: int | Newest) -> Newest:
        if isinstance(other, Newest):
            return Newest(self.base + other.base, self.terms + other.terms)
        return Newest(self.base + integer("base", other), self.terms)

    __radd__ = __add__

    def __str__(self) -> str:
        out = str(self.base) if self.base else ""
        for divisor, times in self.terms:
            sign = "-" if times < 0 else "+" if out else ""
            out += f"{sign}{f'{abs(times)}*' if abs(times) != 1 else ''}t/{divisor}"
        return out or "0"

    def _unknown(self, *_: object) -> int:
        raise ConfigError(f"an operand is {self}: bind the program to a number of tokens first")

    __index__ = __int__ = __mul__ = __rmul__ = __sub__ = __rsub__ = _unknown
    __lt__ = __le__ = __gt__ = __ge__ = _unknown  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Affine:
    """``base + strides[0] * i0 + strides[1] * i1 + ...`` over the indices of the enclosing loops, outermost first.

    Trailing zero strides are dropped, so equal values compare equal at any depth. The base may be :class:`Newest` in a
    program that is not bound.
    """

    base: int
    strides: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        strides = tuple(integer("stride", stride) for stride in self.strides)
        while strides and not strides[-1]:
            strides = strides[:-1]
        base: object = self.base
        if isinstance(base, Newest):
            base = base if base.terms else base.base
        else:
            base = integer("base", base)
        object.__setattr__(self, "base", base)
        object.__setattr__(self, "strides", strides)

    def at(self, indices: Sequence[int]) -> int:
        """Value at the given loop indices (at least one for each stride)."""
        return self.base + sum(stride * index for stride, index in zip(self.strides, indices, strict=False))

    def bounds(self, counts: Sequence[int]) -> tuple[int, int]:
        """Least and greatest value over loops of the given counts (each at least 1)."""
        low = high = self.base
        for stride, count in zip(self.strides, counts, strict=False):
            low += min(0, stride * (count - 1))
            high += max(0, stride * (count - 1))
        return low, high

    def __add__(self, other: Affine) -> Affine:
        longest = max(len(self.strides), len(other.strides))
        pad = [s.strides + (0,) * (longest - len(s.strides)) for s in (self, other)]
        return Affine(self.base + other.base, tuple(a + b for a, b in zip(*pad, strict=True)))

    def __str__(self) -> str:
        out = str(self.base) if isinstance(self.base, Newest) or self.base or not self.strides else ""
        for level, stride in enumerate(self.strides):
            if stride:
                sign = ("-" if stride < 0 else "+") if out else ("-" if stride < 0 else "")
                out += f"{sign}{f'{abs(stride)}*' if abs(stride) != 1 else ''}i{level}"
        return out


@dataclass(frozen=True, slots=True)
class Tokens:
    """Count of a loop that is known only when the program runs: ``ceil(tokens / divisor) + offset``, at least 0.

    ``tokens`` is the number of tokens of the request in ``slot``, counted from the slot for which the program runs. A
    program with such counts must be bound to numbers of tokens (:meth:`Program.bind`) before a reader needs numbers.
    """

    divisor: int
    offset: int = 0
    slot: int = 0

    def __post_init__(self) -> None:
        for name in ("divisor", "offset", "slot"):
            object.__setattr__(self, name, integer(f"{name} of a count by tokens", getattr(self, name)))
        if self.divisor < 1 or self.slot < 0:
            raise ConfigError(f"a count by tokens needs a divisor of at least 1 and a slot of at least 0, not {self}")

    def at(self, tokens: int) -> int:
        """The count for ``tokens`` tokens."""
        return max(0, -(-tokens // self.divisor) + self.offset)

    def __str__(self) -> str:
        return (
            f"tokens/{self.divisor}{f'{self.offset:+d}' if self.offset else ''}{f'@{self.slot}' if self.slot else ''}"
        )

    def _unknown(self, *_: object) -> int:
        raise ConfigError(f"the count of a loop is {self}: bind the program to a number of tokens first")

    __index__ = __mul__ = __rmul__ = __sub__ = _unknown


@dataclass(frozen=True, slots=True, init=False)
class Command:
    """One command of the memory, with operands affine in the indices of the enclosing loops.

    ``Command("MAC_AB", row=Affine(4, (1,)), column=0)``. The memory determines the operands of a command.
    """

    op: str
    operands: tuple[tuple[str, Affine], ...]

    def __init__(self, op: str, /, operands: Mapping[str, Affine | int] | None = None, **named: Affine | int) -> None:
        if not isinstance(op, str):
            raise TypeError(f"the name of a command must be text, not {op!r}")
        if not op.isidentifier():
            raise ConfigError(f"the name of a command must be an identifier, not {op!r}")
        values = {**(operands or {}), **named}
        pairs = (
            (name, v if isinstance(v, Affine) else Affine(integer(f"{op}: operand {name}", v)))
            for name, v in values.items()
        )
        object.__setattr__(self, "op", op)
        object.__setattr__(self, "operands", tuple(sorted(pairs)))

    def __getitem__(self, name: str) -> Affine:
        for key, value in self.operands:
            if key == name:
                return value
        raise KeyError(name)

    def get(self, name: str) -> Affine | None:
        """The operand ``name``, or :data:`None`."""
        for key, value in self.operands:
            if key == name:
                return value
        return None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the operands, sorted."""
        return tuple(name for name, _ in self.operands)

    def __str__(self) -> str:
        return " ".join([self.op, *(f"{name}={value}" for name, value in self.operands)])


@dataclass(frozen=True, slots=True)
class Wait:
    """The next command issues at least ``cycles`` memory clock cycles after the command before.

    A unit beside a bank cannot stall the memory, so a compiler inserts the unit's latency. Waits in a row add up.
    """

    cycles: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "cycles", integer("cycles of a wait", self.cycles))
        if self.cycles < 0:
            raise ConfigError(f"a wait must have at least 0 cycles, not {self.cycles}")

    def __str__(self) -> str:
        return f"wait {self.cycles}"


@dataclass(frozen=True, slots=True)
class Loop:
    """``body`` executed ``count`` times (0: not at all); the count is :class:`Tokens` in a program that is not bound."""

    count: int
    body: tuple[Node, ...]
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.count, Tokens):
            object.__setattr__(self, "count", integer("count of a loop", self.count))
            if self.count < 0:
                raise ConfigError(f"a loop must have a count of at least 0, not {self.count}")
        object.__setattr__(self, "body", tuple(self.body))
        _check(self.body)
        object.__setattr__(self, "_hash", hash((self.count, self.body)))

    def __hash__(self) -> int:
        return self._hash  # trees of loops are often looked up


@dataclass(frozen=True, slots=True)
class Stage:
    """A named part of a program: reports give the timing of each stage. A stage is not a loop level."""

    name: str
    body: tuple[Node, ...]
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "body", tuple(self.body))
        if not isinstance(self.name, str) or not self.name:
            raise ConfigError(f"the name of a stage must be text, not {self.name!r}")
        _check(self.body)
        object.__setattr__(self, "_hash", hash((self.name, self.body)))

    def __hash__(self) -> int:
        return self._hash


Node: TypeAlias = "Command | Wait | Loop | Stage"


def _check(body: tuple[object, ...]) -> None:
    for node in body:
        if not isinstance(node, (Command, Wait, Loop, Stage)):
            raise TypeError(f"a program holds Command, Wait, Loop and Stage, not {type(node).__name__}")


def shift(body: Sequence[Node], depth: int, offsets: Mapping[str, Affine]) -> Iterator[Node]:
    """``body`` moved below ``depth`` further loops, with ``offsets`` added to operands of the same name."""
    for node in body:
        if isinstance(node, Command):
            moved = {
                name: Affine(value.base, (0,) * depth + value.strides) if depth and value.strides else value
                for name, value in node.operands
            }
            yield Command(
                node.op, {name: value + offsets[name] if name in offsets else value for name, value in moved.items()}
            )
        elif isinstance(node, Loop):
            yield Loop(node.count, tuple(shift(node.body, depth, offsets)))
        elif isinstance(node, Stage):
            yield Stage(node.name, tuple(shift(node.body, depth, offsets)))
        else:
            yield node


def simplified(body: Sequence[Node], gone: tuple[int, ...] = ()) -> tuple[Node, ...]:
    """``body`` without loops of one iteration or none. ``gone`` marks surrounding levels that were such loops."""
    out: list[Node] = []
    depth = len(gone)
    for node in body:
        if isinstance(node, Command):
            out.append(
                Command(
                    node.op,
                    {
                        name: Affine(
                            value.base,
                            tuple(
                                stride
                                for level, stride in enumerate(value.strides)
                                if level >= depth or not gone[level]
                            ),
                        )
                        for name, value in node.operands
                    },
                )
            )
        elif isinstance(node, Stage):
            inner = simplified(node.body, gone)
            if inner:
                out.append(Stage(node.name, inner))
        elif isinstance(node, Loop):
            once = not isinstance(node.count, Tokens) and node.count <= 1
            inner = () if once and not node.count else simplified(node.body, (*gone, int(once)))
            out.extend(inner if once else [Loop(node.count, inner)])
    return tuple(out)
