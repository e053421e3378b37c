"""Evaluate a system: resolves names, makes missing measurements if asked to."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

from .generate import tool_versions
from .records import RecordFolder

__all__ = ["evaluate"]


def evaluate(system: str, model: str, *, context: int, batch: int, output_tokens: int = 1, refresh: bool = False,
             measure: bool = False, records: str | None = None,
             progress: Callable[[str], None] = lambda text: None) -> dict[str, Any]:
    """Result of ``bankside eval --json``.

    Raises
    ------
    :exc:`MissingRecord`
        If the result would rest on a measurement that has not been made (and ``measure`` is off).
    :exc:`ConfigError`
        For an unknown system or model, or what does not fit.
    """
    from bankside.models.llm import load_model
    from bankside.models.systems import MissingRecord
    from bankside.models.systems import evaluate as run

    shape = load_model(model)
    folder = RecordFolder(records)

    def attempt() -> Any:
        return run(system, shape, context=context, batch=batch, output_tokens=output_tokens, records=folder,
                   refresh=refresh)

    try:
        result = attempt()
    except MissingRecord as missing:
        if not measure:
            raise
        from .cli import run_arguments

        for command in missing.commands:
            progress(f"measuring: {command}")
            run_arguments(command if records is None else f"{command} --records {shlex.quote(records)}")
        result = attempt()
    document = result.to_json()
    return {"schema": 1, **document, "tools": {**tool_versions(), **document.get("tools", {})}}
