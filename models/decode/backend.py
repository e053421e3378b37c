"""What computes the parts of a decoder: the base of every backend, and their names."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from ...constraints.core.errors import ConfigError, nearest
from ...constraints.core.formats import FloatFormat
from ..numerics import encode, to_float64
from ..numerics.sums import Lists

if TYPE_CHECKING:
    from ..llm.weights import Model
    from ..sparse import Method

__all__ = ["BACKENDS", "Backend", "Place", "UnitBackend", "make_backend", "values"]


@dataclass(frozen=True)
class Place:
    """A group of query heads that share keys and values: its layer, and the number of its head of keys and values."""

    layer: int
    head: int


class Backend:
    """Float32 throughout. A subclass replaces what its system computes in another way.

    Arrays of activations are float32, of shape ``(tokens, elements)``. A subclass whose system has another format gives
    numbers of that format.

    Attributes
    ----------
    name : as ``--system`` writes it
    selection : sparse attention before the backend, or None
    model : after :meth:`begin`
    """

    #: System of ``bankside eval`` that has the time of a step; None for a backend without one.
    system: str | None = None

    def __init__(self, name: str = "float32") -> None:
        self.name = name
        self.selection: Method | None = None
        self.model: Model

    def begin(self, model: Model, room: int) -> None:
        """Get ready to decode ``room`` tokens.

        Raises
        ------
        :exc:`ConfigError`
            If the units can't take the model's shape.
        """
        self.model = model

    def arrive(self, weights: np.ndarray) -> None:
        """The next tokens come. ``weights`` has the attention that float32 gives them: the mean over layers and heads, of
        shape ``(new tokens, all tokens)``."""

    # Attention -------------------------------------------------------------------------------------------------------

    def keep(self, x: np.ndarray) -> np.ndarray:
        """Keys or values as the cache holds them."""
        return x

    def attention(self, place: Place, q: np.ndarray, k: np.ndarray, v: np.ndarray, lists: Lists) -> np.ndarray:
        """Attention of queries that share keys and values.

        Parameters
        ----------
        q : float32 of shape ``(queries, head_dim)``
        k, v : of shape ``(tokens, head_dim)``, as :meth:`keep` gave them
        lists : tokens of each query, a list for each

        Returns
        -------
        float32 array of the shape of ``q``
        """
        return exact_attention(q, k, v, lists)[0]

    # Other parts -----------------------------------------------------------------------------------------------------

    def embed(self, x: np.ndarray) -> np.ndarray:
        return x

    def gemv(self, name: str, x: np.ndarray, matrix: np.ndarray) -> np.ndarray:
        """Products of vectors with a matrix of shape ``(outputs, inputs)``. ``name`` is the tensor's."""
        return x @ matrix.T

    def norm(self, x: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Root mean square norm."""
        mean = np.mean(np.square(x), axis=-1, keepdims=True, dtype=np.float32)
        return x * (1 / np.sqrt(mean + np.float32(self.model.norm_eps))) * weight

    def rotate(self, x: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
        """Rotary positions of heads: ``x`` of shape ``(tokens, heads, head_dim)``; the sines have the sign of each half."""
        return x * cos + np.roll(x, x.shape[-1] // 2, axis=-1) * sin

    def activation(self, gate: np.ndarray, up: np.ndarray) -> np.ndarray:
        """SwiGLU: ``silu(gate) * up``."""
        with np.errstate(over="ignore"):
            return gate / (1 + np.exp(-gate)) * up

    def add(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return x + y

    # Results ---------------------------------------------------------------------------------------------------------

    def details(self) -> dict[str, Any]:
        """Further results of a run, as plain data."""
        return {}


def exact_attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, lists: Lists) -> tuple[np.ndarray, np.ndarray]:
    """Attention in float32, and its weights of shape ``(queries, tokens)``."""
    scores = (q * np.float32(q.shape[-1] ** -0.5)) @ k.T
    dead = np.ones(scores.shape, bool)
    dead[lists.owners, lists.tokens] = False
    scores[dead] = -np.inf
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights @ v, weights


def values(bits: np.ndarray, fmt: FloatFormat) -> np.ndarray:
    """Numbers of a format as float32, which holds them exactly."""
    return to_float64(bits, fmt).astype(np.float32)


class UnitBackend(Backend):
    """A backend whose attention is a unit's: bits in, bits out.

    Attributes
    ----------
    io : format of queries, keys and values
    block : queries that are computed at a time
    """

    io: FloatFormat
    block = 512

    def keep(self, x: np.ndarray) -> np.ndarray:
        return encode(x, self.io)

    def attention(self, place: Place, q: np.ndarray, k: np.ndarray, v: np.ndarray, lists: Lists) -> np.ndarray:
        bits, out = self.query(q), np.empty_like(q)
        for low in range(0, len(q), self.block):
            high = min(low + self.block, len(q))
            part = Lists(
                lists.tokens[lists.first[low] : lists.first[high]],
                lists.first[low : high + 1] - lists.first[low],
                np.arange(high - low),
            )
            last = int(part.tokens.max()) + 1
            out[low:high] = values(
                self.attend(place, bits[low:high], k[:last].astype(np.int64), v[:last].astype(np.int64), part, low),
                self.io,
            )
        return out

    def query(self, q: np.ndarray) -> np.ndarray:
        """Bits of the queries as the unit takes them: scaled by 1/sqrt(head_dim) in float32, then rounded."""
        return encode(q * np.float32(q.shape[-1] ** -0.5), self.io).astype(np.int64)

    def attend(self, place: Place, q: np.ndarray, k: np.ndarray, v: np.ndarray, lists: Lists, first: int) -> np.ndarray:
        """Bits of the outputs, of shape ``(queries, head_dim)``. ``first``: number of the first of these queries among all
        of the call. The units' part of it is :meth:`unit`."""
        return self.unit(place, q, k, v, lists)

    def unit(self, place: Place, q: np.ndarray, k: np.ndarray, v: np.ndarray, lists: Lists) -> np.ndarray:
        """What the unit sends for each list, as bits. RTL takes its place (:mod:`.checked`)."""
        raise NotImplementedError


def _float32(name: str) -> Backend:
    return Backend(name)


def _of(module: str, **options: Any) -> Callable[[str], Backend]:
    def make(name: str) -> Backend:
        return import_module(f".{module}", __package__).make(name, **options)

    return make


#: Backends by name.
BACKENDS: dict[str, Callable[[str], Backend]] = {
    "float32": _float32,
    "float16": _of("halves"),
    "pam": _of("pam"),
    "pam-hbm": _of("pam", hbm_only=True),
    "lol-pim": _of("lolpim"),
    "cent": _of("cent"),
    "cent-maximum": _of("cent", maximum=True),
    "cent-taylor": _of("cent", exponential="taylor"),
    "inf2": _of("inf2"),
    "inf2-fp32": _of("inf2", wide=True),
}


def make_backend(name: str) -> Backend:
    """A backend by its name, with ``METHOD-BUDGET-`` before it for sparse attention: ``quest-256-pam``.

    Raises
    ------
    :exc:`ConfigError`
        If there is no such backend or method.
    """
    from ..sparse import METHODS, make_method

    found = re.fullmatch(r"([a-z]+)-(\d+)-(.+)", name)
    base = name
    method = None
    if found and name not in BACKENDS:
        method, base = found[1], found[3]
        if method not in METHODS:
            raise ConfigError(nearest("method of sparse attention", method, METHODS))
    if base not in BACKENDS:
        raise ConfigError(
            nearest("system", base, BACKENDS) + "; a method of sparse attention can precede it, as in quest-256-pam"
        )
    backend = BACKENDS[base](name)
    if found and method is not None:
        budget = int(found[2]) if len(found[2]) < 12 else 0
        backend.selection = make_method(method, budget)
    return backend
