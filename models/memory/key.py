"""The content of a memory as the key of caches: equal memories share what was computed, whichever file they came from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

from ...constraints.memory import Memory

__all__ = ["content", "memory_cache"]

P = ParamSpec("P")
R = TypeVar("R")


def content(memory: Memory) -> str:
    """SHA-256 of all values of a memory, with its variants. The file, its lines and the order of parameters do not
    count. It is computed once for each object, in a few milliseconds."""

    def plain(part: Any) -> Any:
        if isinstance(part, Memory) and part is not memory:
            return content(part)
        if isinstance(part, frozenset):
            return sorted(part)
        return {name: value for name, value in vars(part).items() if name not in ("file", "line", "_content")}

    kept = vars(memory)
    if "_content" not in kept:
        values = plain(memory) | {"parameters": sorted(memory.parameters.items())}
        kept["_content"] = hashlib.sha256(json.dumps(values, default=plain).encode()).hexdigest()
    return str(kept["_content"])


class _Key:
    """A memory that is equal to each other memory of the same content."""

    __slots__ = ("digest", "memory")

    def __init__(self, memory: Memory) -> None:
        self.memory, self.digest = memory, content(memory)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.digest == self.digest

    def __hash__(self) -> int:
        return hash(self.digest)


def memory_cache(maxsize: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Keep results of a function by its arguments, of which memories count by their :func:`content`. Other arguments are
    hashable."""

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        @lru_cache(maxsize=maxsize)
        def known(*given: Any, **named: Any) -> Any:
            return function(*map(_plain, given), **{name: _plain(one) for name, one in named.items()})

        @wraps(function)
        def call(*given: P.args, **named: P.kwargs) -> R:
            result: R = known(*map(_keyed, given), **{name: _keyed(one) for name, one in named.items()})
            return result

        return call

    return decorated


def _keyed(one: Any) -> Any:
    return _Key(one) if isinstance(one, Memory) else one


def _plain(one: Any) -> Any:
    return one.memory if isinstance(one, _Key) else one
