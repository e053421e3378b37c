"""The configuration of a unit that a command uses: a preset, a file, and single keys, each overriding the one
before."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bankside.constraints.core.contract import UnitConfig
from bankside.constraints.core.document import Strict, parse, read_text, validate
from bankside.constraints.core.errors import ConfigError, nearest
from bankside.constraints.core.records import config_hash
from bankside.constraints.core.registry import Unit, unit

__all__ = ["Selection", "select"]


@dataclass(frozen=True)
class Selection:
    """A unit with its configuration. ``preset`` is None if any key differs from the preset's."""

    unit: Unit
    preset: str | None
    config: UnitConfig

    @property
    def config_hash(self) -> str:
        return config_hash(self.unit.name, self.config)

    @property
    def arguments(self) -> str:
        """How to select this configuration on the command line."""
        return " ".join(
            [f"{self.unit.name} --preset {self.closest}", *(f"--set {k}={v}" for k, v in self.changes.items())]
        )

    @property
    def closest(self) -> str:
        """The preset, or the preset with the fewest different keys."""
        return self.preset or _closest_preset(self.unit, self.config)[0]

    @property
    def changes(self) -> dict[str, Any]:
        """Values that differ from the closest preset's, by dotted key."""
        if self.preset:
            return {}
        before = _flat(_closest_preset(self.unit, self.config)[1].model_dump(mode="json"))
        return {k: v for k, v in _flat(self.config.model_dump(mode="json")).items() if before.get(k, k) != v}

    @property
    def keys(self) -> dict[str, Any]:
        """Keys of results that say which configuration they are of."""
        return {
            "unit": self.unit.name,
            "preset": self.preset,
            "config_hash": self.config_hash,
            "config": self.config.model_dump(mode="json"),
        }

    @property
    def label(self) -> str:
        return self.preset or self.config_hash


def _closest_preset(unit: Unit, config: UnitConfig) -> tuple[str, UnitConfig]:
    mine = _flat(config.model_dump(mode="json"))

    def alike(item: tuple[str, UnitConfig]) -> int:
        theirs = _flat(item[1].model_dump(mode="json"))
        return sum(theirs.get(k, k) == v for k, v in mine.items())

    return max(unit.presets.items(), key=alike)


def _flat(values: dict[str, Any]) -> dict[str, Any]:
    """The values with dotted keys for parts."""
    out = {}
    for key, value in values.items():
        out.update({f"{key}.{k}": v for k, v in _flat(value).items()} if isinstance(value, dict) else {key: value})
    return out


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """``base`` with the keys of ``over``, part by part."""
    return {
        **base,
        **{
            k: _merged(base[k], v) if isinstance(v, dict) and isinstance(base.get(k), dict) else v
            for k, v in over.items()
        },
    }


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
            if not isinstance(named, str) or named not in chosen.presets:
                raise ConfigError(
                    f"{file}:{lines[('preset',)]}: " + nearest(f"preset of {chosen.name}", named, chosen.presets)
                )
            preset = preset or named
    _, base = chosen.preset(preset)
    values = base.model_dump()
    config = base
    if document:
        # Only keys of the file are checked against its lines; the other keys are the preset's.
        config = validate(_merged(values, document), chosen.config, str(file), lines)
    if sets:
        overrides: dict[str, Any] = {}
        for text in sets:
            overrides = _merged(overrides, _assignment(text, chosen.config))
        config = validate(_merged(config.model_dump(), overrides), chosen.config, "--set")
    for label, candidate in chosen.presets.items():
        if candidate == config and (preset is None or label == preset):
            return Selection(chosen, label, config)
    return Selection(chosen, None, config)


def _assignment(text: str, model: type[Strict]) -> dict[str, Any]:
    """Values of a text ``key=value``; a key of a part is written ``part.key``."""
    path, equals, value = text.partition("=")
    if not equals or not path:
        raise ConfigError(f"--set {text}: must be key=value")
    *parts, key = path.split(".")
    for part in parts:
        inner = model.model_fields[part].annotation if part in model.model_fields else None
        if not (isinstance(inner, type) and issubclass(inner, Strict)):
            raise ConfigError(
                f"--set {text}: {nearest('key', part, model.model_fields)}"
                if inner is None
                else f"--set {text}: '{part}' has no keys of its own"
            )
        model = inner
    if key not in model.model_fields:
        raise ConfigError(f"--set {text}: {nearest('key', key, model.model_fields)}")
    # Numbers are written as in a file; the schema reports any other value.
    if re.fullmatch(r"[-+.\w]{1,40}", value):
        out: Any = parse(value, f"--set {path}", numbered=False)[0]
    else:
        out = value if len(value) <= 40 else f"{value[:20]}... ({len(value)} characters)"
    for part in reversed([*parts, key]):
        out = {part: out}
    return out
