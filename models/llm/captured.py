"""Queries, keys and values of a text in a folder, as ``bankside capture`` writes them.

A folder holds ``layer-NN.safetensors`` with ``q``, ``k`` and ``v`` of shapes ``(heads, tokens, head_dim)`` in float16.
Queries and keys are turned to their positions. Layers but the first also have ``ahead``: the queries that the attention
input of the layer before gives with this layer's weights. ``capture.json`` has the model's configuration, digests, and the
tokens.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...constraints.core.document import parse_json, read_text, validate
from ...constraints.core.errors import ConfigError, ToolMissing
from ...constraints.core.workspace import file_digest, read_bytes
from .shape import ModelShape
from .weights import Model

__all__ = ["FORMAT", "VERSION", "Capture", "layers_of", "model_digest", "read_capture", "safetensors"]

FORMAT, VERSION = "bankside-capture", 1


def model_digest(model: Model) -> str:
    """SHA-256 of the names and digests of a model's configuration and weights."""
    digest = hashlib.sha256()
    for path in [model.folder / "config.json", *sorted(model.folder.glob("*.safetensors"))]:
        digest.update(f"{path.name} {file_digest(path)}\n".encode())
    return digest.hexdigest()


def safetensors() -> Any:
    """The package's module for NumPy; :exc:`ToolMissing` if it is not installed."""
    try:
        import safetensors.numpy as package
    except ImportError:
        raise ToolMissing(
            "captures need the package safetensors; this installs it: pip install 'bankside[llm]'"
        ) from None
    return package


@dataclass(frozen=True)
class Capture:
    """The contents of ``capture.json``.

    Attributes
    ----------
    path : the file
    shape : of the model that was captured
    model_sha256 : digest of its configuration and weights
    tokens : int64 array
    files : digest of the file of each layer, in the order of the layers
    """

    path: Path
    shape: ModelShape
    model_sha256: str
    tokens: np.ndarray
    files: dict[str, str]

    def check(self, model: Model) -> None:
        """Raise :exc:`ConfigError` if another model was captured."""
        for name in ("layers", "heads", "kv_heads", "head_dim"):
            theirs, ours = getattr(self.shape, name), getattr(model.shape, name)
            if theirs != ours:
                raise ConfigError(
                    f"{self.path}: does not fit {model.folder}: {name} is {theirs}, and the model has {ours}"
                )
        digest = model_digest(model)
        if self.model_sha256 != digest:
            raise ConfigError(
                f"{self.path}: does not fit {model.folder}: model_sha256 is {self.model_sha256:.12}, and the "
                f"model has {digest:.12}"
            )

    def layer(self, number: int) -> dict[str, np.ndarray]:
        """Float16 tensors of a layer by name.

        Raises
        ------
        :exc:`ConfigError`
            If there is no such layer, or the file is not the one that was written. A tensor that does not fit the shape or
            has a number that is not finite raises it too.
        """
        if not 0 <= number < self.shape.layers:
            raise ConfigError(f"{self.path.parent}: has layers 0 to {self.shape.layers - 1}, not {number}")
        name, digest = list(self.files.items())[number]
        file = self.path.parent / name
        data = read_bytes(file, "a layer of a capture", 1 << 34)
        if hashlib.sha256(data).hexdigest() != digest:
            raise ConfigError(f"{file}: has another digest than {self.path.name} says")
        try:
            tensors: dict[str, np.ndarray] = safetensors().load(data)
        except Exception as error:  # of the package, and KeyError for an element type that NumPy lacks
            raise ConfigError(f"{file}: not a safetensors file: {str(error).splitlines()[0]}") from None
        shape = self.shape
        for key in ("q", "k", "v", *(["ahead"] if "ahead" in tensors else [])):
            wanted = (shape.kv_heads if key in "kv" else shape.heads, len(self.tokens), shape.head_dim)
            found = tensors.get(key)
            if found is None or found.dtype != np.float16 or found.shape != wanted:
                have = "missing" if found is None else f"{found.dtype} of shape {_size(found.shape)}"
                raise ConfigError(
                    f"{file}: tensor {key} is {have}; {self.path.name} asks for float16 of shape {_size(wanted)}"
                )
            fine = np.isfinite(found).all(axis=-1)
            if not fine.all():
                head, token = np.argwhere(~fine)[0].tolist()
                raise ConfigError(f"{file}: layer {number}, head {head}, token {token}: {key} has NaN or an infinity")
        return tensors


def _size(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))


def read_capture(folder: str | os.PathLike[str]) -> Capture:
    """The head of a captured folder.

    Raises
    ------
    :exc:`ConfigError`
        If the folder is no capture.
    """
    path = Path(folder) / "capture.json"
    head = parse_json(read_text(path, "a capture", 1 << 28), str(path))
    if not isinstance(head, dict) or head.get("format") != FORMAT or head.get("version") != VERSION:
        raise ConfigError(f'{path}: not a capture: "format" must be "{FORMAT}" and "version" {VERSION}')
    shape = validate(head.get("model"), ModelShape, f"{path}: model")
    tokens, files, digest = (head.get(key) for key in ("tokens", "files", "model_sha256"))
    if (
        not isinstance(tokens, list)
        or not tokens
        or any(type(one) is not int or not 0 <= one < shape.vocab_size for one in tokens)
    ):
        raise ConfigError(f"{path}: 'tokens' must be a list of numbers in 0..{shape.vocab_size - 1}")
    if not isinstance(digest, str):
        raise ConfigError(f"{path}: 'model_sha256' must be a digest")
    names = [f"layer-{number:02}.safetensors" for number in range(shape.layers)]
    if not isinstance(files, dict) or list(files) != names or not all(isinstance(one, str) for one in files.values()):
        raise ConfigError(f"{path}: 'files' must have a digest for each of {_named(names)}")
    return Capture(path, shape, digest, np.array(tokens, np.int64), files)


def _named(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"


def layers_of(folder: str | os.PathLike[str]) -> Iterator[dict[str, np.ndarray]]:
    """Queries, keys and values of each layer of a captured folder.

    Raises
    ------
    :exc:`ConfigError`
        As :func:`read_capture` and :meth:`Capture.layer`.
    """
    head = read_capture(folder)
    for number in range(head.shape.layers):
        yield head.layer(number)
