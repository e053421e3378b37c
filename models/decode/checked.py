"""Something else in the place of a unit's model: for chosen heads its bits go on, and both are compared bit for bit."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from ...constraints.core.errors import CheckFailed, ConfigError
from ..llm import ModelShape
from ..pam.pu import Partials
from .backend import Backend, Place, UnitBackend

__all__ = ["answered", "parse_heads"]


def parse_heads(text: str, shape: ModelShape) -> list[tuple[int, int]]:
    """Layers and query heads of ``LAYER.HEAD,LAYER.HEAD`` or ``all``.

    Raises
    ------
    :exc:`ConfigError`
        If the text has another form, or a head does not exist.
    """
    if text == "all":
        return [(layer, head) for layer in range(shape.layers) for head in range(shape.heads)]
    out = []
    for part in text.split(","):
        found = re.fullmatch(r"(\d{1,6})\.(\d{1,6})", part)
        if not found:
            raise ConfigError(f"heads must be LAYER.HEAD with commas between, or all, not '{part}'")
        layer, head = int(found[1]), int(found[2])
        if layer >= shape.layers or head >= shape.heads:
            raise ConfigError(
                f"head {part} does not exist: {shape.name} has layers 0 to {shape.layers - 1} with heads 0 "
                f"to {shape.heads - 1}"
            )
        out.append((layer, head))
    return out


def answered(backend: Backend, places: Collection[Place], answer: Callable[..., Any]) -> Backend:
    """Let ``answer`` compute what the backend's unit computes at some places. It must give the same bits, which go on.

    Parameters
    ----------
    answer
        Called as :meth:`UnitBackend.unit`, or as ``local`` of the backend ``pam``. Its last argument is the model's result.

    Raises
    ------
    :exc:`ConfigError`
        If the backend has no unit. Later, :exc:`CheckFailed` names the first result that differs.
    """
    if not isinstance(backend, UnitBackend):
        raise ConfigError(f"{backend.name} has no unit whose model could be replaced")
    seam = "local" if hasattr(backend, "local") else "unit"
    model = getattr(backend, seam)

    def replaced(place: Place, *arguments: Any) -> Any:
        want = model(place, *arguments)
        if place not in places:
            return want
        got = answer(place, *arguments, want)
        names = ("m", "l", "o") if isinstance(want, Partials) else ("",)
        for name in names:
            a, b = (np.asarray(getattr(one, name) if name else one) for one in (want, got))
            if a.shape != b.shape:
                raise CheckFailed(f"layer {place.layer}, head {place.head}: results of shape {b.shape}, not {a.shape}")
            wrong = np.argwhere(a != b)
            if len(wrong):
                at = tuple(int(n) for n in wrong[0])
                raise CheckFailed(
                    f"layer {place.layer}, head {place.head} of keys and values: {name or 'result'}"
                    f"{list(at)} is {int(b[at]):#x}, the model says {int(a[at]):#x}"
                )
        return got

    setattr(backend, seam, replaced)
    return backend
