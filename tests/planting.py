"""Errors planted in a generator, for tests that must find them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

__all__ = ["planted"]


def planted(module: ModuleType, old: str, new: str) -> ModuleType:
    """Copy of a module with the only occurrence of ``old`` in its source replaced. The module stays as it is."""
    text = Path(module.__file__).read_text()
    assert text.count(old) == 1, old
    spec = importlib.util.spec_from_file_location(f"{module.__name__}_planted", module.__file__)
    copy = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = copy  # data classes look their module up
    exec(compile(text.replace(old, new), "planted.py", "exec"), copy.__dict__)
    return copy
