"""Values that are made once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

__all__ = ["kept"]

Key = TypeVar("Key")
Value = TypeVar("Value")


def kept(memo: dict[Key, Value], key: Key, make: Callable[[], Value], most: int = 1 << 16) -> Value:
    """The value of a key in ``memo``, made if it is not there. A memo of more than ``most`` values begins anew."""
    if key not in memo:
        if len(memo) > most:
            memo.clear()
        memo[key] = make()
    return memo[key]
