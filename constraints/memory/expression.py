"""Arithmetic over named values: integers, names, ``+ - * //``, ``min``, ``max`` and parentheses; ``/`` for energies."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from ..core.errors import nearest

__all__ = ["evaluate", "resolve"]

Number = int | float


def evaluate(text: str | Number, lookup: Callable[[str], Number], exact: bool = True) -> Number:
    """Value of an expression; ``lookup`` gives the value of a name (and raises :exc:`ValueError` for an unknown one).

    With ``exact`` all numbers are integers and ``/`` is not allowed.

    Raises
    ------
    :exc:`ValueError`
        With the fault in one clause.
    """
    if isinstance(text, (int, float)):
        return text
    if len(text) > 200:
        raise ValueError(f"an expression of {len(text)} characters; at most 200")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"'{text}' is not an arithmetic expression") from None

    def visit(node: ast.expr) -> Number:
        if isinstance(node, ast.Constant) and type(node.value) in ((int,) if exact else (int, float)):
            return node.value  # type: ignore[return-value]
        if isinstance(node, ast.Name):
            return lookup(node.id)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -visit(node.operand)
        if isinstance(node, ast.BinOp):
            left, right = visit(node.left), visit(node.right)
            if isinstance(node.op, ast.Add):
                return left + right
            if isinstance(node.op, ast.Sub):
                return left - right
            if isinstance(node.op, ast.Mult):
                return left * right
            if isinstance(node.op, (ast.FloorDiv,) if exact else (ast.FloorDiv, ast.Div)):
                if not right:
                    raise ValueError(f"'{text}' divides by zero")
                return left // right if isinstance(node.op, ast.FloorDiv) else left / right
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("min", "max")
            and len(node.args) >= 2
            and not node.keywords
        ):
            values = [visit(argument) for argument in node.args]
            return min(values) if node.func.id == "min" else max(values)
        raise ValueError(
            f"'{text}' may hold only integers, names, + - * //, min, max and parentheses"
            if exact
            else f"'{text}' may hold only numbers, names, + - * / //, min, max and parentheses"
        )

    return visit(tree)


def resolve(values: Mapping[str, Any], what: str, fail: Callable[[str, str], Exception]) -> dict[str, int]:
    """Values of names defined by expressions over each other; ``fail(name, message)`` makes the error to raise."""
    done: dict[str, int] = {}
    open_: list[str] = []

    def value(name: str) -> int:
        if name in done:
            return done[name]
        if name not in values:
            raise ValueError(nearest(what, name, values))
        if name in open_:
            circle = " -> ".join([*open_[open_.index(name) :], name])
            raise ValueError(f"defined by itself: {circle}")
        open_.append(name)
        result = evaluate(values[name], value)
        open_.pop()
        done[name] = int(result)
        return done[name]

    for name in values:
        try:
            value(name)
        except ValueError as error:
            raise fail(open_[-1] if open_ else name, str(error)) from None
    return done
