"""The generated Verilog that the repository carries: the published presets of every unit, with a manifest."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from bankside.constraints.core.errors import CheckFailed, ConfigError
from bankside.constraints.core.registry import UNITS
from bankside.constraints.core.workspace import write_files

from .generate import _back_end, generated_files
from .selection import select

__all__ = ["MANIFEST", "differing", "published_files", "rebuild", "require_same"]

MANIFEST = "manifest.json"


def published_files() -> dict[str, str]:
    """Path below ``rtl/`` and content of every file, the manifest included."""
    files: dict[str, str] = {}
    entries = []
    for unit in UNITS.values():
        for preset in unit.published_presets:
            selection = select(unit.name, preset=preset)
            folder = f"{unit.name}/{preset}"
            mine = {f"{folder}/{name}": text for name, text in generated_files(selection).items()}
            files.update(mine)
            entries.append(
                {
                    "unit": unit.name,
                    "preset": preset,
                    "config_hash": selection.config_hash,
                    "command": f"bankside gen {selection.arguments} -o rtl/{folder}",
                    "sha256": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in mine.items()},
                }
            )
    files[MANIFEST] = json.dumps({"schema": 1, "tools": _back_end(), "configurations": entries}, indent=1) + "\n"
    return files


def rebuild(folder: str) -> list[Path]:
    """Write all files below ``folder``."""
    return write_files(folder, published_files())


def differing(folder: str) -> list[str]:
    """Files below ``folder`` that differ from the output of the generators.

    Raises
    ------
    :exc:`ConfigError`
        If there is no such folder of generated Verilog.
    """
    root = Path(folder)
    if not (root / MANIFEST).is_file():
        raise ConfigError(f"{root / MANIFEST}: not found; `make rtl` writes it")
    return [
        name
        for name, text in published_files().items()
        if not (root / name).is_file() or (root / name).read_bytes() != text.encode()
    ]


def require_same(folder: str, differ: list[str]) -> None:
    """Raise :exc:`CheckFailed` if any file differs (:func:`differing`)."""
    if differ:
        count = f"{len(differ)} file{'s differ' if len(differ) > 1 else ' differs'}"
        raise CheckFailed(
            f"{count} from the output of the generators, first {Path(folder) / differ[0]}; run `make rtl`"
        )
