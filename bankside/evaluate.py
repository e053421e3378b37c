"""Evaluate a system: resolves names, makes missing measurements if asked to."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Callable
from typing import Any

from bankside.constraints.document import Strict
from bankside.constraints.errors import ConfigError

from .generate import tool_versions
from .records import RecordFolder

__all__ = ["calibrate", "evaluate", "measuring"]


def evaluate(system: str, model: str, *, context: int, batch: int, output_tokens: int = 1, refresh: bool = False,
             split: str | None = None, measure: bool = False, records: str | None = None,
             progress: Callable[[str], None] = lambda text: None) -> dict[str, Any]:
    """Result of ``bankside eval --json``. ``config_hash`` is of all that was asked for: the system's description, the
    model's shape, the load; that of a unit's configuration is in ``unit``. With ``split`` (``TPxPP`` or ``auto``),
    ``splits`` has each split that was tried, and the rest is that of the fastest.

    Raises
    ------
    :exc:`MissingRecord`
        If the result would rest on a measurement that has not been made (and ``measure`` is off).
    :exc:`ConfigError`
        For an unknown system or model, or what does not fit.
    """
    from bankside.models.llm import load_model
    from bankside.models.systems import load_system

    shape, loaded = load_model(model), load_system(system)
    folder = RecordFolder(records)
    load = {"context": context, "batch": batch, "output_tokens": output_tokens, "refresh": refresh}

    def attempt() -> Any:
        return loaded.evaluate(shape, context=context, batch=batch, output_tokens=output_tokens, records=folder,
                               refresh=refresh)

    tried: list[dict[str, Any]] = []
    if split is None:
        result = measuring(attempt, measure, records, progress)
    else:
        from bankside.models.lolpim.search import chosen_splits

        found: list[tuple[float, int, Any, Any]] = []
        problem: ConfigError | None = None
        for one_split in chosen_splits(loaded, shape, split):
            loaded = one_split
            row: dict[str, Any] = {"tensor": loaded.tp, "pipeline": loaded.pp, "throughput_tok_s": None, "why": None}
            tried.append(row)
            try:
                one = measuring(attempt, measure, records, progress)
            except ConfigError as error:
                row["why"], problem = str(error), error
                continue
            row["throughput_tok_s"] = one.throughput_tok_s
            found.append((one.throughput_tok_s, -len(found), one, loaded))
        if not found:
            raise problem or ConfigError("no split")
        _, _, result, loaded = max(found, key=lambda each: each[:2])
    document = result.to_json()
    if tried:
        document["splits"] = tried
    asked = [part.model_dump(mode="json") for part in (*vars(loaded).values(), shape) if isinstance(part, Strict)]
    digest = hashlib.sha256(json.dumps([asked, load], sort_keys=True).encode()).hexdigest()[:16]
    return {"schema": 1, "config_hash": digest, **document, "tools": {**tool_versions(), **document.get("tools", {})}}


def measuring(attempt: Callable[[], Any], measure: bool, records: str | None, progress: Callable[[str], None]) -> Any:
    """The result of ``attempt``; measurements that it lacks are made first if ``measure``."""
    from bankside.models.systems import MissingRecord

    try:
        return attempt()
    except MissingRecord as missing:
        if not measure:
            raise
        from .cli import run_arguments

        for command in missing.commands:
            progress(f"measuring: {command}")
            run_arguments(command if records is None else f"{command} --records {shlex.quote(records)}")
        return attempt()


def calibrate(system: str, model: str, *, context: int, rounds: int, output: str | None = None, measure: bool = False,
              records: str | None = None, progress: Callable[[str], None] = lambda text: None) -> dict[str, Any]:
    """Result of ``bankside calibrate --json``; with ``output`` the table of ratios in that file is made or changed."""
    from dataclasses import asdict
    from pathlib import Path

    from bankside.constraints.document import load
    from bankside.constraints.errors import ConfigError
    from bankside.constraints.systems import RATIOS, RatioTable
    from bankside.constraints.workspace import write_files
    from bankside.models.llm import load_model
    from bankside.models.systems import load_system
    from bankside.models.systems.calibration import calibrate as find
    from bankside.models.systems.calibration import table_text, with_ratios
    from bankside.models.systems.pam import TieredPimSystem

    shape, loaded = load_model(model), load_system(system)
    table = None
    if output is not None:  # tells at once if it is no table
        path = Path(output)
        table = load(path if path.exists() else RATIOS, RatioTable)
    if not isinstance(loaded, TieredPimSystem):
        raise ConfigError(f"{loaded.name} moves no tokens between tiers: there is nothing to calibrate")
    tiered, folder = loaded, RecordFolder(records)
    found = measuring(lambda: find(tiered, shape, folder, context=context, rounds=rounds, progress=progress), measure,
                       records, progress)
    if table is not None:
        write_files(path.parent, {path.name: table_text(with_ratios(table, shape.name, found))})
    return {"schema": 1, "system": loaded.name, "model": shape.name, **asdict(found), "file": output}
