"""Results in notebooks: a table as HTML, and a data frame."""

from __future__ import annotations

import html
from collections.abc import Collection
from importlib import import_module
from typing import Any

from bankside.constraints.core.errors import ToolMissing

__all__ = ["Shown"]


class Shown:
    """A pydantic model whose figures a notebook shows."""

    def _figures(self, keys: Collection[str] | None = None) -> dict[str, Any]:
        """Plain values by dotted key, of some keys or all; lists are left out."""
        found: dict[str, Any] = {}
        dumped = self.model_dump(by_alias=True, include=None if keys is None else {*keys})  # type: ignore[attr-defined]
        waiting = [("", dumped)]
        while waiting:
            before, values = waiting.pop()
            for key, value in values.items():
                if isinstance(value, dict):
                    waiting.append((f"{before}{key}.", value))
                elif not isinstance(value, list):
                    found[before + key] = value
        return found

    def _rows(self) -> list[dict[str, Any]]:
        """Rows of the data frame."""
        return [self._figures()]

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{html.escape(key)}</th><td>{html.escape(str(value))}</td></tr>"
            for key, value in self._figures().items()
        )
        return f"<table>{rows}</table>"

    def to_frame(self) -> Any:
        """The figures as a data frame, of pandas or else polars: one row, or the rows of a sweep.

        Raises
        ------
        :exc:`ToolMissing`
            If neither is installed.
        """
        for name in ("pandas", "polars"):
            try:
                return import_module(name).DataFrame(self._rows())
            except ImportError:
                continue
        raise ToolMissing("to_frame() needs pandas or polars: pip install pandas")
