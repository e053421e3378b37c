"""Which configuration of a unit a command is about: a preset, a file, and single keys, each over the one before."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bankside.constraints.document import Strict, parse, read_text, validate
from bankside.constraints.errors import ConfigError, nearest
from bankside.constraints.records import config_hash

from .registry import Unit, unit

__all__ = ["Selection", "select"]


@dataclass(frozen=True)
class Selection:
    """A unit with its configuration. ``preset`` is None if any key differs from the preset's."""

    unit: Unit
    preset: str | None
    config: Strict

    @property
    def config_hash(self) -> str:
        return config_hash(self.unit.name, self.config)

    @property
    def arguments(self) -> str:
        """How to select this configuration on the command line."""
        if self.preset:
            return f"{self.unit.name} --preset {self.preset}"
        name, base = _closest_preset(self.unit, self.config)
        changed = {k: v for k, v in self.config.model_dump(mode="json").items()
                   if base.model_dump(mode="json")[k] != v}
        return f"{self.unit.name} --preset {name} " + " ".join(f"--set {k}={v}" for k, v in changed.items())

    @property
    def label(self) -> str:
        return self.preset or self.config_hash


def _closest_preset(unit: Unit, config: Strict) -> tuple[str, Strict]:
    mine = config.model_dump(mode="json")
    return max(unit.preset_table.items(), key=lambda item: sum(
        item[1].model_dump(mode="json")[k] == v for k, v in mine.items()))


def select(name: str, *, preset: str | None = None, file: str | None = None, sets: Sequence[str] = ()) -> Selection:
    """Resolve ``UNIT [--preset P] [--config FILE] [--set key=value ...]``.

    Raises
    ------
    :exc:`ConfigError`
        For an unknown unit, preset or key (with the nearest valid name), or a value that is not allowed.
    """
    chosen = unit(name)
    document: dict[str, Any] = {}
    lines: dict[tuple[Any, ...], int] = {}
    if file is not None:
        document, lines = parse(read_text(file), file)
        if not isinstance(document, dict):
            raise ConfigError(f"{file}: must be a mapping of keys to values, not {type(document).__name__}")
        named = document.pop("preset", None)
        if named is not None:
            if not isinstance(named, str) or named not in chosen.preset_table:
                raise ConfigError(f"{file}:{lines[('preset',)]}: "
                                  + nearest(f"preset of {chosen.name}", named, chosen.preset_table))
            preset = preset or named
    _, base = chosen.preset(preset)
    values = base.model_dump()
    config = base
    if document:
        # Only what the file says is checked against its lines; the rest is the preset's.
        config = validate({**values, **document}, chosen.config_class, str(file), lines)
    if sets:
        overrides = dict(_assignment(text, chosen.config_class) for text in sets)
        config = validate({**config.model_dump(), **overrides}, chosen.config_class, "--set")
    for label, candidate in chosen.preset_table.items():
        if candidate == config and (preset is None or label == preset):
            return Selection(chosen, label, config)
    return Selection(chosen, None, config)


def _assignment(text: str, model: type[Strict]) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise ConfigError(f"--set {text}: must be key=value")
    if key not in model.model_fields:
        raise ConfigError(f"--set {text}: {nearest('key', key, model.model_fields)}")
    # Numbers are written as in a file; whatever else it is is told by the schema.
    if re.fullmatch(r"[-+.\w]{1,40}", value):
        return key, parse(value, f"--set {key}")[0]
    return key, value if len(value) <= 40 else f"{value[:20]}... ({len(value)} characters)"
