"""Locators: where our value of a claim stands in data, as text such as ``system cent: device.count``.

A locator names an object and a dotted key of it. Keys may be multiplied, divided and added, and converted with the name of
a unit. It holds no number, so our value can only come from data.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from functools import cached_property
from typing import Any

from pydantic import BaseModel, Field, model_validator

from ...constraints.core.document import Strict
from ...constraints.core.errors import ConfigError, nearest
from ..cost import load_costs
from ..llm import load_model
from ..systems import load_system
from .category import Source
from .evidence import MAX_TOLERANCE, Check, Evidence, Finding, NotCheckable

__all__ = ["FACTORS", "LocatorError", "Ours", "located"]

#: Numbers that a locator may name: bits of a byte, bytes, time in ps, shares.
FACTORS: Mapping[str, float] = {
    "byte": 8,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
    "GB": 1e9,
    "TB": 1e12,
    "ns": 1e3,
    "us": 1e6,
    "percent": 1e-2,
}

OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "+": operator.add,
}


class LocatorError(ConfigError):
    """A locator that leads to nothing. The message names file, claim and locator."""


# Objects ---------------------------------------------------------------------------------------------------------------


def _keys(thing: Any) -> list[str]:
    """Keys of a part of an object: fields and public properties, keys of a mapping, or names in a list."""
    if isinstance(thing, Mapping):
        return list(thing)
    if isinstance(thing, list | tuple):
        return [one.name for one in thing if isinstance(getattr(one, "name", None), str)]
    kind = type(thing)
    if not isinstance(thing, BaseModel) and not is_dataclass(thing):
        return []
    fields = kind.model_fields if isinstance(thing, BaseModel) else kind.__dataclass_fields__
    members = {name: member for one in reversed(kind.__mro__[:-1]) for name, member in vars(one).items()}
    derived = [name for name, member in members.items() if isinstance(member, property | cached_property)]
    return [*fields, *(name for name in derived if name[0] != "_" and not name.startswith("model_"))]


def _part(thing: Any, key: str) -> Any:
    if isinstance(thing, Mapping):
        return thing[key]
    return next(one for one in thing if one.name == key) if isinstance(thing, list | tuple) else getattr(thing, key)


def _system(evidence: Evidence, name: str) -> Mapping[str, Any]:
    """What the file of a system has; ``base`` is the GPU system that it is built on."""
    description = evidence.once(("system", name), lambda: load_system(name)).description
    own = {key: getattr(description.spec, key) for key in _keys(description.spec)}
    return own if description.gpus is None else {**own, "base": description.gpus}


def _memory(evidence: Evidence, name: str) -> Mapping[str, Any]:
    """A memory: what it has, with its levels and timings (in cycles) among the keys."""
    memory = evidence.memory(name)
    own = {key: getattr(memory, key) for key in _keys(memory)}
    return {**memory.parameters, **memory.levels, **own}


def _unit(evidence: Evidence, name: str, preset: str) -> Any:
    from ...constraints.core.registry import unit  # loads every unit

    return unit(name).preset(preset)[1]


#: Objects by their kind: the names after the kind, and the reader.
OBJECTS: Mapping[str, tuple[tuple[str, ...], Callable[..., Any]]] = {
    "system": (("NAME",), _system),
    "memory": (("NAME",), _memory),
    "unit": (("NAME", "PRESET"), _unit),
    "model": (("NAME",), lambda evidence, name: load_model(name)),
    "costs": ((), lambda evidence: load_costs()),
}


# The grammar -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """A key of an object."""

    kind: str
    names: tuple[str, ...]
    path: str

    def resolved(self, evidence: Evidence) -> list[str]:
        """Names of the object. ``SYSTEM:KEY`` in the place of a name is the name that the system has there."""
        parts = [name.partition(":") for name in self.names]
        return [str(Place("system", (name,), key).value(evidence)) if key else name for name, _, key in parts]

    def value(self, evidence: Evidence) -> Any:
        """A number, a text or a truth value; :exc:`ConfigError` if there is none."""
        names, within = self.resolved(evidence), ""
        found, said = OBJECTS[self.kind][1](evidence, *names), " ".join((self.kind, *names))
        for key in self.path.split("."):
            if key not in _keys(found):
                raise ConfigError(nearest(f"key of {said}", key, _keys(found), within=within))
            found, within = _part(found, key), f"{within}{key}."
        if not isinstance(found, bool | int | float | str):
            more = f"has the keys {', '.join(keys)}" if (keys := _keys(found)) else "has no value"
            raise ConfigError(f"{self.path} of {said} {more}")
        return found


class Reader:
    """Reads locators in their order. A key without an object is of the object before it.

    Attributes
    ----------
    value : callable
        The value of a :class:`Place`.
    places : list of :class:`Place`
        Places that were read.
    """

    def __init__(self, value: Callable[[Place], Any]) -> None:
        self.value, self.places = value, list[Place]()

    def tree(self, tree: Any, within: str = "") -> Any:
        """Values of a tree of locators.

        Raises
        ------
        :exc:`ValueError`
            For a fault of the grammar.
        :exc:`ConfigError`
            For a place without a value that the locator can use.
        """
        if isinstance(tree, dict):
            return {key: self.tree(item, f"{within}{key}: ") for key, item in tree.items()}
        if isinstance(tree, list):
            return [self.tree(item, f"{within}{n}: ") for n, item in enumerate(tree)]
        if tree is None:
            return None
        try:
            if not isinstance(tree, str):
                raise ValueError(f"{tree!r} is no locator, but text, or null for a part that is not checked")
            found = [self._total(one) for one in tree.split(", ")]
        except (ValueError, ConfigError) as error:
            raise type(error)(f"{within}{error}") from None
        except (ZeroDivisionError, OverflowError):
            raise ConfigError(f"{within}'{tree}' has no finite value") from None
        return found if len(found) > 1 else found[0]

    def fill(self, text: str) -> str:
        """The text with the values of its locators in braces."""
        return re.sub(r"\{([^}]*)\}", lambda match: str(self.tree(match[1])), text)

    def _total(self, text: str) -> Any:
        """A sum of products, from the left."""
        return self._series(text, r" (\+) ", self._product)

    def _product(self, text: str) -> Any:
        if all(piece in FACTORS for piece in re.split(r" (?:\*|//?) ", text)):
            raise ValueError(f"'{text}' names no key")
        return self._series(text, r" (\*|//?) ", self._factor)

    def _series(self, text: str, operators: str, read: Callable[[str], Any]) -> Any:
        first, *rest = re.split(operators, text)
        result = read(first)
        for sign, piece in zip(rest[::2], rest[1::2], strict=True):
            other = read(piece)
            for one in (result, other):
                if isinstance(one, bool | str):
                    raise ConfigError(f"'{text}' computes with '{one}', which is no number")
            result = OPERATORS[sign](result, other)
        return result

    def _factor(self, text: str) -> Any:
        if text in FACTORS:
            return FACTORS[text]
        said, _, path = text.rpartition(": ")
        kind, *names = said.split() if said else (self.places[-1].kind, *self.places[-1].names) if self.places else [""]
        if kind not in OBJECTS:
            valid = ", ".join(" ".join((name, *after)) for name, (after, _) in OBJECTS.items())
            raise ValueError(
                f"'{text}' must name an object and a key, as in 'system cent: device.count' (valid: {valid})"
            )
        if len(names) != len(OBJECTS[kind][0]):
            raise ValueError(f"'{said}' must be '{' '.join((kind, *OBJECTS[kind][0]))}'")
        if not re.fullmatch(r"[A-Za-z_][\w-]*(\.[\w-]+)*", path):
            raise ValueError(f"'{path}' is neither a dotted key nor a unit (valid: {', '.join(FACTORS)})")
        self.places.append(Place(kind, tuple(names), path))
        return self.value(self.places[-1])


# Our value of a claim --------------------------------------------------------------------------------------------------


class Ours(Strict):
    """Our value of a claim as locators, or why it can't be checked.

    Attributes
    ----------
    value : text, or a list or mapping of texts
        Locators in the shape of the claim's value; null for a part that is not checked. Without it, ``why`` is the reason.
    basis : :class:`str`
        The sources of the value; by default the names of the objects. ``{LOCATOR}`` in it, or in ``why``, is a value.
    why : :class:`str`
        Why the value differs from the paper's, or which parts it leaves out.
    tolerance : :class:`float`
        Largest relative difference that counts as ``within``.
    """

    value: Any = None
    basis: str = ""
    why: str = ""
    tolerance: float = Field(default=0.0, ge=0, le=MAX_TOLERANCE)

    @model_validator(mode="after")
    def _check(self) -> Ours:
        reader = Reader(lambda place: 1)
        reader.tree(self.value)
        if not reader.places and (self.value is not None or self.basis or self.tolerance or not self.why):
            raise ValueError(
                "value must hold a locator, as 'system cent: device.count'; or give `why` alone, the reason"
            )
        reader.fill(self.basis + self.why)
        return self

    @property
    def sources(self) -> tuple[Source, ...]:
        """What shows our value; nothing for a claim that can't be checked."""
        return () if self.value is None else (Source.SETTING,)

    def finding(self, evidence: Evidence) -> Finding:
        """Our value; :exc:`ConfigError` for a locator that leads to nothing, :exc:`NotCheckable` without a value."""
        reader = Reader(lambda place: place.value(evidence))
        if self.value is None:
            raise NotCheckable(reader.fill(self.why))
        value, places = reader.tree(self.value), reader.places[:]
        names = " and ".join(dict.fromkeys(" ".join(place.resolved(evidence)) or place.kind for place in places))
        if len(places) == 1 and places[0].kind == "memory":  # a timing
            names = f"{places[0].path} of {names}"
        return Finding(value, reader.fill(self.basis) or names, reader.fill(self.why), self.tolerance)


def located(ours: Ours, where: str) -> Check:
    """The check of a claim with locators; errors name ``where`` it stands."""

    def check(evidence: Evidence, claim: str) -> Finding:
        try:
            return ours.finding(evidence)
        except ConfigError as error:
            raise LocatorError(f"{where}: claim '{claim}': ours: {error}") from None

    return check
