"""The base of all results: typed objects, from which JSON, its schema, texts and pages follow."""

from __future__ import annotations

from typing import Any

from pydantic import PrivateAttr

from bankside.constraints.core import result as _core
from bankside.constraints.core.result import Pair, key

from ..provenance.envelope import SCHEMA
from .notebook import Shown

__all__ = ["Noted", "Pair", "Part", "Result", "key"]


class Part(Shown, _core.Part):
    """Some keys of a result, which a notebook shows."""


class Result(Part):
    """The result of a command. Keys that no value was given for are left out of its JSON."""

    _document: dict[str, Any] = PrivateAttr(default_factory=dict)

    def printed(self) -> dict[str, Any]:
        """The object that the command line prints with ``--json``. ``inputs`` has every file, record and source from
        which the Python face made the result, ``tools`` the versions of its tools."""
        return self._document or self.to_json()

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON, in the order of the keys of the class."""
        return self.model_dump(by_alias=True, exclude_unset=True)

    def to_document(self) -> dict[str, Any]:
        """Plain data that stands alone or in a list: the version of the keys, then the keys."""
        return {"schema": SCHEMA, **self.to_json()}


class Noted(Result):
    """A result with remarks, and with the tools that made what it rests on."""

    notes: list[str] = key("remarks for readers of the figures", default=[])
    tools: dict[str, Any] = key("version of each tool that affects the result", default={})
