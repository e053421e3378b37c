"""Errors planted in a generator, for tests that must find them."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

__all__ = ["pattern", "planted"]


def pattern(text: str) -> re.Pattern[str]:
    """Finds a piece of Python however its lines are broken: between two words or signs any white space may stand, and
    before a closing bracket a comma."""
    closed = re.sub(r",?\s*([)\]}])", r"\1", text)
    return re.compile(
        r"\s*".join((r"(?:,\s*)?" if one in ")]}" else "") + re.escape(one) for one in re.findall(r"\w+|\S", closed))
    )


def planted(module: ModuleType, old: str, new: str) -> ModuleType:
    """Copy of a module with the only occurrence of ``old`` in its source replaced, wherever lines are broken there. The
    module stays as it is."""
    text, places = re.subn(pattern(old), lambda _: new.strip(), Path(module.__file__).read_text())
    assert places == 1, old
    spec = importlib.util.spec_from_file_location(f"{module.__name__}_planted", module.__file__)
    copy = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = copy  # data classes look their module up
    exec(compile(text, "planted.py", "exec"), copy.__dict__)
    return copy
