"""Keys of a result that are declared with their types: of a command, or of one kind of system."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

__all__ = ["Pair", "Part", "key"]

#: Two ends of a band, or an estimate without and with wires.
Pair = Annotated[
    list[float],
    BeforeValidator(lambda pair: list(pair) if isinstance(pair, tuple) else pair),
    Field(min_length=2, max_length=2),
]


class Part(BaseModel):
    """Some keys of a result. Its values are checked when it is made; undeclared keys are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, protected_namespaces=(), defer_build=True)

    @field_validator("*", mode="wrap")
    @classmethod
    def _as_given(cls, value: Any, check: Any) -> Any:
        """A whole number stays one, where any number is allowed."""
        found = check(value)
        return value if found == value else found


def key(text: str, unit: str | None = None, **options: Any) -> Any:
    """A key of a result: its meaning, and the unit of its values."""
    return Field(description=text, json_schema_extra=None if unit is None else {"unit": unit}, **options)
