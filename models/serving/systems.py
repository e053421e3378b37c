"""Systems of :mod:`bankside.models.systems` for the serving engine."""

from __future__ import annotations

import os

from ..llm import ModelShape
from ..systems import RecordSource, System, load_system
from ..systems.system import ServedSystem

__all__ = ["served_system"]


def served_system(
    system: str | os.PathLike[str] | System, model: ModelShape, *, records: RecordSource, refresh: bool = False
) -> ServedSystem:
    """A system by name, file or object, ready to serve ``model``.

    Raises
    ------
    :exc:`ConfigError`
        If there is no such system, the model can't be split as the system says, or the weights do not fit.
    :exc:`MissingRecord`
        If a measurement is missing.
    """
    loaded = load_system(system) if isinstance(system, (str, os.PathLike)) else system
    return loaded.served(model, records, refresh)
