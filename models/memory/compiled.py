"""The compiled half of the timing engine: functions over plain arrays, compiled by Numba if it is installed.

Without Numba, or with ``BANKSIDE_INTERPRETED`` set, the same functions run as Python. The results are the same, but
some hundred times slower.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

__all__ = ["COMPILED", "borrowed", "compiled", "ones"]

try:
    if os.environ.get("BANKSIDE_INTERPRETED"):
        raise ImportError
    from numba import njit
    from numba.core import cgutils
    from numba.extending import intrinsic
    from numba.np.arrayobj import make_array

    COMPILED = True
except ImportError:
    COMPILED = False


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, compiled on its first call for these types and kept on disk."""
    return njit(cache=True, nogil=True)(function) if COMPILED else function


def borrowed(array: Any) -> Any:
    """The array in a form for which compiled code counts no references. Counting costs more than most of its work.

    The caller of the compiled function must keep the array.
    """
    return array


if COMPILED:

    @intrinsic
    def _borrowed(context: Any, array: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            out = make_array(signature.return_type)(context, builder, value=values[0])
            out.meminfo = cgutils.get_null_value(out.meminfo.type)
            out.parent = cgutils.get_null_value(out.parent.type)
            return out._getvalue()

        return array(array), build

    borrowed = _borrowed  # type: ignore[assignment]


@compiled
def ones(x):
    """Number of bits of a number that are set."""
    n = 0
    while x:
        x &= x - 1
        n += 1
    return n
