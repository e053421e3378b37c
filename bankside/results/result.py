"""The base of all results: typed objects, from which JSON, its schema, texts and pages follow."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from ..provenance.envelope import SCHEMA
from .notebook import Shown

__all__ = ["Pair", "Part", "Result", "key"]

#: Two ends of a band, or an estimate without and with wires.
Pair = Annotated[
    list[float],
    BeforeValidator(lambda pair: list(pair) if isinstance(pair, tuple) else pair),
    Field(min_length=2, max_length=2),
]


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

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON, in the order of the keys of the class."""
        return self.model_dump(by_alias=True, exclude_unset=True)

    def to_document(self) -> dict[str, Any]:
        """Plain data that stands alone or in a list: the version of the keys, then the keys."""
        return {"schema": SCHEMA, **self.to_json()}


def key(text: str, unit: str | None = None, **options: Any) -> Any:
    """A key of a result: its meaning, and the unit of its values."""
    return Field(description=text, json_schema_extra=None if unit is None else {"unit": unit}, **options)
