"""The base of all results: typed objects, from which JSON, its schema, texts and pages follow."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator

from .notebook import Shown

__all__ = ["Noted", "Part", "Result", "key"]


class Part(Shown, BaseModel):
    """Some keys of a result. Its values are checked when it is made; undeclared keys are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, protected_namespaces=())

    @field_validator("*", mode="wrap")
    @classmethod
    def _as_given(cls, value: Any, check: Any) -> Any:
        """A whole number stays one, where any number is allowed."""
        found = check(value)
        return value if found == value else found


class Result(Part):
    """The result of a command. Keys that no value was given for are left out of its JSON."""

    _printed: dict[str, Any] = PrivateAttr(default_factory=dict)

    def printed(self) -> dict[str, Any]:
        """The object that the command line prints with ``--json``. ``inputs`` has every file, record and source from
        which the Python face made the result, ``tools`` the versions of its tools."""
        return self._printed or self.to_json()

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON, in the order of the keys of the class."""
        return self.model_dump(by_alias=True, exclude_unset=True)


def key(text: str, unit: str | None = None, **options: Any) -> Any:
    """A key of a result: its meaning, and the unit of its values."""
    return Field(description=text, json_schema_extra=None if unit is None else {"unit": unit}, **options)


class Noted(Result):
    """A result with remarks, and with the tools that made what it rests on."""

    notes: list[str] = key("remarks for readers of the figures", default=[])
    tools: dict[str, Any] = key("version of each tool that affects the result", default={})
