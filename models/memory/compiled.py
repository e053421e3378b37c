"""The compiled half of the timing engine: functions over plain arrays, compiled by Numba if it is installed.

Without Numba, or with ``BANKSIDE_INTERPRETED`` set, the same functions run as Python. The results are the same, but
some hundred times slower. Numba is imported with the first call that needs it. That takes half a second, in which
Python does some work too: see :func:`brief`.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

__all__ = ["COMPILED", "borrowed", "brief", "compiled", "ones"]

COMPILED = not os.environ.get("BANKSIDE_INTERPRETED") and find_spec("numba") is not None

#: Steps that Python does before Numba is imported: about as many as it does in half the time of the import.
STEPS = 500


class _Regions(threading.local):
    """Whether this thread is inside :func:`brief`."""

    python = not COMPILED


_region = _Regions()
_left = STEPS


class _Compiled:
    """A function that Numba compiles for the types of its first call, and keeps on disk."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function

    @functools.cached_property
    def dispatcher(self) -> Any:
        from numba import njit

        return njit(cache=True, nogil=True)(self.py_func)

    @property
    def _numba_type_(self) -> Any:
        """The type under which other compiled functions call this one."""
        return self.dispatcher._numba_type_

    def __call__(self, *arguments: Any) -> Any:
        return (self.py_func if _region.python else self._compile())(*arguments)

    def _compile(self) -> Any:
        global _left
        _left = -1
        return self.dispatcher


def brief(steps: int) -> contextlib.AbstractContextManager[None]:
    """Python itself does work of so few steps, as long as no other work has needed Numba.

    A step is an issued command, or as much work as one.
    """
    return _WITH_NUMBA if steps > _left or _region.python else _in_python(steps)


_WITH_NUMBA = contextlib.nullcontext()


@contextlib.contextmanager
def _in_python(steps: int) -> Iterator[None]:
    global _left
    _left -= steps
    _region.python = True
    try:
        yield
    finally:
        _region.python = False


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, compiled on its first call for these types and kept on disk."""
    return _Compiled(function) if COMPILED else function


class _Borrowed:
    """An array in a form for which compiled code counts no references. Counting costs more than most of its work.

    The caller of the compiled function must keep the array.
    """

    def __call__(self, array: Any) -> Any:
        return array

    @functools.cached_property
    def _numba_type_(self) -> Any:
        from numba.core import cgutils
        from numba.core.registry import cpu_target
        from numba.extending import intrinsic
        from numba.np.arrayobj import make_array

        @intrinsic
        def _borrowed(context: Any, array: Any) -> Any:
            def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
                out = make_array(signature.return_type)(context, builder, value=values[0])
                out.meminfo = cgutils.get_null_value(out.meminfo.type)
                out.parent = cgutils.get_null_value(out.parent.type)
                return out._getvalue()

            return array(array), build

        context = cpu_target.typing_context
        context.refresh()
        return context.resolve_value_type(_borrowed)


borrowed = _Borrowed()


@compiled
def ones(x):
    """Number of bits of a number that are set."""
    n = 0
    while x:
        x &= x - 1
        n += 1
    return n
