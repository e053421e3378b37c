"""The compiled half of the timing engine: functions over plain arrays, by Numba where it is installed.

Without Numba, or with ``BANKSIDE_INTERPRETED`` set, the same functions run as Python: the same answers, some hundred times
slower.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

__all__ = ["COMPILED", "compiled"]

try:
    if os.environ.get("BANKSIDE_INTERPRETED"):
        raise ImportError
    from numba import njit

    COMPILED = True
except ImportError:
    COMPILED = False


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, compiled on its first call for these types and kept on disk."""
    return njit(cache=True, nogil=True)(function) if COMPILED else function
