"""Programs, and a builder whose code reads like the algorithm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

import numpy as np

from ...constraints.core.errors import ConfigError
from .nodes import Affine, Command, Loop, Newest, Node, Stage, Tokens, Wait, integer, shift

__all__ = ["Index", "Program"]


class Index:
    """An integer expression in loop indices, as written in the ``with`` block of a loop: ``2 * t + base``.

    It may also contain the number of the newest token (:meth:`Program.newest`). Only sums and integer multiples are
    allowed. Anything else is not affine and raises :exc:`TypeError`.
    """

    __slots__ = ("base", "terms")

    def __init__(self, base: int, terms: dict[object, int]) -> None:
        self.base = base
        self.terms = terms

    def __add__(self, other: Operand) -> Index:
        if isinstance(other, Index):
            terms = dict(self.terms)
            for loop, stride in other.terms.items():
                terms[loop] = terms.get(loop, 0) + stride
            return Index(self.base + other.base, terms)
        return Index(self.base + integer("a term of an operand", other), self.terms)

    __radd__ = __add__

    def __mul__(self, other: int) -> Index:
        if isinstance(other, Index):
            raise TypeError("the product of two loop indices is not affine")
        factor = integer("a stride", other)
        return Index(self.base * factor, {loop: stride * factor for loop, stride in self.terms.items()})

    __rmul__ = __mul__

    def __neg__(self) -> Index:
        return self * -1

    def __sub__(self, other: Operand) -> Index:
        return self + (-other)

    def __rsub__(self, other: int) -> Index:
        return -self + other

    # NumPy integers on the left must not take the expression for an array element.
    __array_ufunc__ = None


Operand: TypeAlias = int | Index


class Program:
    """Commands and loops for one memory channel, in the order of execution.

    ::

        p = Program()
        with p.loop(tokens // 16) as t:
            with p.loop(8) as c:
                p.command("MAC_AB", row=base + t, column=c)
            p.wait(12)

    All methods except :meth:`expand` and :meth:`operands` take time in proportion to the length of the text, not to
    loop counts. Two programs with the same nodes are equal.

    Parameters
    ----------
    body : sequence of :class:`Node`
        Nodes to begin with.
    """

    def __init__(self, body: Iterable[Node] = ()) -> None:
        self._stack: list[list[Node]] = [list(Stage("body", tuple(body)).body)]
        self._loops: list[object] = []

    # Building ----------------------------------------------------------------------------------------------------

    def command(self, op: str, /, **operands: Operand | Affine) -> None:
        """Append a command. Operands are integers or expressions in the indices of the enclosing loops."""
        self._stack[-1].append(Command(op, {name: self._affine(op, name, v) for name, v in operands.items()}))

    def wait(self, cycles: int) -> None:
        """Append a :class:`Wait`."""
        self._stack[-1].append(Wait(cycles))

    @contextmanager
    def loop(self, count: int | Tokens) -> Iterator[Index]:
        """Append a loop; the ``with`` block is its body, and the value is its index, 0 to ``count - 1``."""
        token = object()
        self._loops.append(token)
        self._stack.append([])
        try:
            yield Index(0, {token: 1})
            node = Loop(count, tuple(self._stack[-1]))  # type: ignore[arg-type]  # by tokens until it is bound
        finally:
            self._stack.pop()
            self._loops.pop()
        self._stack[-1].append(node)

    def newest(self, divisor: int = 1, modulus: int | None = None) -> Index:
        """Number of the newest token of the request for which the program runs, counted from 0.

        The number is divided by ``divisor`` and rounded down. With ``modulus``, the result is the remainder of this
        quotient. Both must be powers of two.
        """
        if modulus is None:
            return Index(0, {Newest(0, ((divisor, 1),)): 1})
        return self.newest(divisor) - modulus * self.newest(divisor * modulus)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Append a :class:`Stage`; the ``with`` block is its body."""
        self._stack.append([])
        try:
            yield
            node = Stage(name, tuple(self._stack[-1]))
        finally:
            self._stack.pop()
        self._stack[-1].append(node)

    def extend(self, other: Program | Sequence[Node], **offsets: Operand) -> None:
        """Append a copy of another program, adding ``offsets`` to its operands of the same name.

        ``p.extend(score, row=256 * head)`` inside a loop over ``head`` moves a whole program to other rows.
        """
        body = other.body if isinstance(other, Program) else tuple(other)
        affine = {name: self._affine("extend", name, value) for name, value in offsets.items()}
        self._stack[-1].extend(shift(body, len(self._loops), affine))

    def bind(self, tokens: int | Sequence[int]) -> Program:
        """The program for requests with these numbers of tokens (one for every slot, or a single number for slot 0).

        Raises
        ------
        :exc:`ConfigError`
            If a loop counts by the tokens of a slot without a number.
        """
        known = (tokens,) if np.ndim(tokens) == 0 else tuple(tokens)  # type: ignore[arg-type]

        def count(of: object) -> int:
            if not isinstance(of, Tokens):
                return integer("count of a loop", of)
            if of.slot >= len(known):
                raise ConfigError(f"the count of a loop is {of}, but slots are 0 to {len(known) - 1}")
            return of.at(integer("a number of tokens", known[of.slot]))

        def visit(body: Sequence[Node]) -> Iterator[Node]:
            for node in body:
                if isinstance(node, Loop):
                    yield Loop(count(node.count), tuple(visit(node.body)))
                elif isinstance(node, Stage):
                    yield Stage(node.name, tuple(visit(node.body)))
                elif isinstance(node, Command) and any(isinstance(value.base, Newest) for _, value in node.operands):
                    yield Command(
                        node.op,
                        {
                            name: Affine(value.base.at(integer("a number of tokens", known[0])), value.strides)
                            if isinstance(value.base, Newest)
                            else value
                            for name, value in node.operands
                        },
                    )
                else:
                    yield node

        return Program(visit(self.body))

    def _affine(self, op: str, name: str, value: Operand | Affine) -> Affine:
        if isinstance(value, Affine):
            return value
        if not isinstance(value, Index):
            return Affine(integer(f"{op}: operand {name}", value))
        base: int | Newest = value.base
        for loop, stride in value.terms.items():
            if isinstance(loop, Newest):
                base = Newest(0, tuple((divisor, stride * times) for divisor, times in loop.terms)) + base
            elif stride and loop not in self._loops:
                raise ConfigError(f"{op}: operand {name} uses the index of a loop that is closed")
        return Affine(base, tuple(value.terms.get(loop, 0) for loop in self._loops))  # type: ignore[arg-type]

    # Reading -----------------------------------------------------------------------------------------------------

    @property
    def body(self) -> tuple[Node, ...]:
        """The nodes. Raises :exc:`ConfigError` while a loop is open."""
        if len(self._stack) > 1:
            raise ConfigError("a program cannot be read inside the `with` block of one of its loops")
        return tuple(self._stack[0])

    def counts(self) -> dict[str, int]:
        """Number of executions of each command, by name; in closed form."""
        total: Counter[str] = Counter()

        def visit(body: Sequence[Node], times: int) -> None:
            for node in body:
                if isinstance(node, Command):
                    total[node.op] += times
                elif isinstance(node, Loop):
                    visit(node.body, times * node.count)
                elif isinstance(node, Stage):
                    visit(node.body, times)

        visit(self.body, 1)
        return {op: count for op, count in total.items() if count}

    def commands(self) -> Iterator[tuple[Command, tuple[int, ...]]]:
        """Every command of the text once, with the counts of the enclosing loops, outermost first."""

        def visit(body: Sequence[Node], loops: tuple[int, ...]) -> Iterator[tuple[Command, tuple[int, ...]]]:
            for node in body:
                if isinstance(node, Command):
                    yield node, loops
                elif isinstance(node, Loop):
                    yield from visit(node.body, (*loops, node.count))
                elif isinstance(node, Stage):
                    yield from visit(node.body, loops)

        return visit(self.body, ())

    def expand(self) -> Iterator[tuple[str, dict[str, int]] | Wait]:
        """Every execution in order: ``(op, operand values)`` or a :class:`Wait`. For tests and small programs."""

        def visit(body: Sequence[Node], at: tuple[int, ...]) -> Iterator[tuple[str, dict[str, int]] | Wait]:
            for node in body:
                if isinstance(node, Command):
                    yield node.op, {name: value.at(at) for name, value in node.operands}
                elif isinstance(node, Loop):
                    for i in range(node.count):
                        yield from visit(node.body, (*at, i))
                elif isinstance(node, Stage):
                    yield from visit(node.body, at)
                else:
                    yield node

        return visit(self.body, ())

    def operands(self, op: str) -> dict[str, np.ndarray]:
        """Operand values of every execution of ``op``: for each operand an int64 array in program order.

        The arrays have the length ``counts()[op]`` and are aligned with ``Timing.issue_cycles(op)``.

        Raises
        ------
        :exc:`ConfigError`
            If the program has no such command, or its occurrences have different operands.
        """
        names = {command.names for command, _ in self.commands() if command.op == op}
        if len(names) != 1:
            raise ConfigError(
                f"the commands {op} of a program must have the same operands"
                if names
                else f"the program has no command {op}"
            )
        order = names.pop()

        # coefficients[execution, operand, 0] is the base, [..., 1 + k] the stride of loop k that is still symbolic
        def visit(body: Sequence[Node], depth: int) -> np.ndarray:
            parts = [np.empty((0, len(order), depth + 1), np.int64)]
            for node in body:
                if isinstance(node, Command) and node.op == op:
                    parts.append(
                        np.array(
                            [[[v.base, *v.strides] + [0] * (depth - len(v.strides)) for _, v in node.operands]],
                            np.int64,
                        ).reshape(1, len(order), depth + 1)
                    )
                elif isinstance(node, Loop):
                    inner = visit(node.body, depth + 1)
                    index = np.arange(node.count)[:, None, None]
                    outer = np.broadcast_to(inner[..., :-1], (node.count, *inner.shape[:2], depth + 1)).copy()
                    outer[..., 0] += inner[..., -1] * index
                    parts.append(outer.reshape(-1, len(order), depth + 1))
                elif isinstance(node, Stage):
                    parts.append(visit(node.body, depth))
            return np.concatenate(parts)

        values = visit(self.body, 0)[..., 0]
        return {name: np.ascontiguousarray(values[:, k]) for k, name in enumerate(order)}

    def __eq__(self, other: object) -> bool:
        return self.body == other.body if isinstance(other, Program) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # a program grows

    def __str__(self) -> str:
        lines: list[str] = []

        def visit(body: Sequence[Node], indent: str, depth: int) -> None:
            for node in body:
                if isinstance(node, Loop):
                    lines.append(f"{indent}loop i{depth} < {node.count}")
                    visit(node.body, indent + "  ", depth + 1)
                elif isinstance(node, Stage):
                    lines.append(f"{indent}stage {node.name}")
                    visit(node.body, indent + "  ", depth)
                else:
                    lines.append(f"{indent}{node}")

        visit(self.body, "", 0)
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Program: {sum(self.counts().values())} commands>"
