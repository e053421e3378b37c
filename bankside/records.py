"""Measurement records on disk: written by ``sim`` and ``synth``, read by ``eval``."""

from __future__ import annotations

import hashlib
import json
import os
import re
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from bankside.constraints.document import validate
from bankside.constraints.errors import ConfigError
from bankside.constraints.records import Record
from bankside.constraints.workspace import cache_folder, write_files

__all__ = ["RecordFolder", "generator_digest"]


@lru_cache(maxsize=1)
def generator_digest() -> str:
    """Digest of the generators' source text: a record of other hardware is not found again."""
    digest = hashlib.sha256()
    gen, constraints = resources.files("bankside.gen"), resources.files("bankside.constraints")
    shared = [entry for entry in constraints.iterdir()
              if re.fullmatch(r"(activation|arithmetic|elementary|formats|pam_layout|program_encoding)\w*\.py", entry.name)]
    for path in sorted([*_python_files(gen), *_python_files(constraints.joinpath("units")), *shared], key=str):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _python_files(folder: Any) -> list[Any]:
    found = []
    for entry in folder.iterdir():
        if entry.is_dir():
            if entry.name not in ("__pycache__", "formal"):
                found += _python_files(entry)
        elif entry.name.endswith(".py"):
            found.append(entry)
    return found


class RecordFolder:
    """A folder of records (``$BANKSIDE_RECORDS``, else in the cache folder)."""

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = Path(folder or os.environ.get("BANKSIDE_RECORDS") or cache_folder() / "records")

    def prepare(self) -> None:
        """Raise :exc:`ConfigError` if no record can be written here: to be told before a long measurement."""
        write_files(self.folder, {})
        if not os.access(self.folder, os.W_OK | os.X_OK):
            raise ConfigError(f"can't write to {self.folder}: permission denied")

    def write(self, record: Record) -> Path:
        """Keep a record; an older one of the same conditions is replaced."""
        text = json.dumps(record.model_dump(mode="json"), indent=1, sort_keys=True) + "\n"
        # A library may have any name; a file may not.
        return write_files(self.folder, {re.sub(r"[^\w.=@+-]", "_", record.name) + ".json": text})[0]

    def find(self, unit: str, config_hash: str, kind: str, **conditions: Any) -> Record | None:
        """The newest record of a configuration that meets ``conditions``, made with today's generators; else None."""
        if self.folder.exists() and not self.folder.is_dir():
            raise ConfigError(f"{self.folder}: a folder of records is needed, not a file")
        best: tuple[int, Record] | None = None
        for path in sorted(self.folder.glob(f"{unit}-{config_hash}-{kind}-*.json")):
            record = self.read(path)
            if record.tools.get("generator") != generator_digest():
                continue
            if any(record.conditions.get(key) != value for key, value in conditions.items()):
                continue
            when = path.stat().st_mtime_ns
            if best is None or when > best[0]:
                best = when, record
        return best[1] if best else None

    @staticmethod
    def read(path: Path) -> Record:
        try:
            document = json.loads(path.read_text())
        except (OSError, ValueError) as error:
            raise ConfigError(f"{path}: not a measurement record: {error}") from None
        return validate(document, Record, str(path))
