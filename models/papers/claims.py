"""Claims of a paper: schema and files."""

from __future__ import annotations

import math
import os
from typing import Any, Literal

from pydantic import Field, PrivateAttr, field_validator, model_validator
from pydantic.json_schema import SkipJsonSchema

from ...constraints.core.document import Strict, load
from ...constraints.core.errors import ConfigError, nearest
from ...constraints.core.workspace import kept
from .locator import Ours
from .package import paper_packages

__all__ = ["Claim", "Paper", "load_paper", "paper_names"]


class Claim(Strict):
    """One statement of a paper.

    Attributes
    ----------
    source : :class:`str`
        Section, table or figure.
    value : number, text, truth value, or a list or mapping of these
        What the paper states, in ``unit``.
    bounds : :class:`bool`
        Whether keys of a mapping with the word ``max`` or ``min`` are bounds. Else they are values, as in "up to 1.3
        times": the largest value that the paper saw.
    kind : :class:`str`
        ``config`` is a choice of the paper, ``derived`` follows from others, ``measured-by-paper`` is a result.
    ours : :class:`Ours` or text
        Where our value stands in data, for a claim without a function that checks it; a text is its ``value``.
    """

    id: str = Field(pattern=r"^[a-z0-9][A-Za-z0-9-]*$", description="name of the claim")
    source: str = Field(min_length=1, description="place of the claim in the paper")
    statement: str = Field(min_length=1, description="content of the claim")
    quantity: str = Field(min_length=1, description="quantity that the claim is about")
    value: Any = Field(description="the paper's value, in `unit`")
    unit: str | None = Field(description="unit of the value")
    conditions: str | None = Field(description="conditions of the claim")
    kind: Literal["config", "derived", "measured-by-paper"] = Field(
        description="`config` (a choice), `derived`, or `measured-by-paper`"
    )
    bounds: bool = Field(default=True, description="whether keys of a mapping with the word `max` or `min` are bounds")
    ours: SkipJsonSchema[Ours | None] = Field(default=None, exclude=True)

    @field_validator("value")
    @classmethod
    def _check_value(cls, value: Any) -> Any:
        _plain(value)
        return value

    @field_validator("ours", mode="before")
    @classmethod
    def _check_ours(cls, ours: Any) -> Any:
        return {"value": ours} if isinstance(ours, str) else ours

    @model_validator(mode="after")
    def _check_parts(self) -> Claim:
        if self.ours is not None:
            _require_parts(self.value, self.ours.value)
        return self


def _plain(value: Any) -> None:
    """Raise unless ``value`` can be compared."""
    if isinstance(value, dict | list):
        if not value:
            raise ValueError("a value must not be an empty list or mapping")
        for item in value.values() if isinstance(value, dict) else value:
            _plain(item)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"a value must be finite, not {value}")
    elif not isinstance(value, bool | int | float | str):
        raise ValueError(f"a value must be a number, text, true or false, or a list or mapping of these, not {value!r}")


def _require_parts(value: Any, ours: Any, within: str = "ours.value.") -> None:
    """Raise if ``ours`` has a part that ``value`` lacks."""
    if isinstance(ours, dict):
        parts = value if isinstance(value, dict) else {}
        for key, item in ours.items():
            if key not in parts:
                raise ValueError(nearest("part", key, parts, within=within))
            _require_parts(parts[key], item, f"{within}{key}.")


class Paper(Strict):
    """A paper and its claims, each with an id of its own."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    title: str = Field(min_length=1)
    published: str | None = None
    claims: list[Claim] = Field(min_length=1)
    _file: str = PrivateAttr("")

    @property
    def file(self) -> str:
        """File that it was read from; its name if it was not read from one."""
        return self._file or self.name

    @model_validator(mode="after")
    def _check(self) -> Paper:
        seen: set[str] = set()
        for claim in self.claims:
            if claim.id in seen:
                raise ValueError(f"claim '{claim.id}' appears twice")
            seen.add(claim.id)
        return self

    def claim(self, identifier: str) -> Claim:
        """The claim of this id; :exc:`ConfigError` if the paper has none."""
        for claim in self.claims:
            if claim.id == identifier:
                return claim
        raise ConfigError(nearest(f"claim of {self.name}", identifier, [claim.id for claim in self.claims]))


def paper_names() -> list[str]:
    """Names of the installed papers, from this project and from other packages."""
    return sorted(paper_packages())


def load_paper(paper: str | os.PathLike[str]) -> Paper:
    """A paper by name (:func:`paper_names`; hyphens and case don't matter) or by the path of a YAML file.

    Raises
    ------
    :exc:`ConfigError`
        ``file:line: what is wrong``, or for a name that no paper has, or if the file has another name than the entry point.
    """
    text = os.fspath(paper)
    if text.endswith((".yaml", ".yml")) or os.sep in text:
        return _read(text)
    plain = {name.replace("-", ""): name for name in paper_names()}
    name = plain.get(text.replace("-", "").lower())
    if name is None:
        raise ConfigError(nearest("paper", text, paper_names()))
    return _installed(name)


def _read(file: str | os.PathLike[str]) -> Paper:
    paper = load(file, Paper, "a file of claims")
    paper._file = os.fspath(file)
    return paper


@kept
def _installed(name: str) -> Paper:
    file = paper_packages()[name].claims
    paper = _read(file)
    if paper.name != name:
        raise ConfigError(f"{file}: name must be '{name}' as in the entry point, not '{paper.name}'")
    return paper
