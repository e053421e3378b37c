"""Queries, keys and values of a text in a folder, and the trace of attention that follows from them.

A folder holds ``layer-NN.safetensors`` with ``q``, ``k`` and ``v`` of shapes ``(heads, tokens, head_dim)`` in float16.
Queries and keys are turned to their positions. Layers but the first also have ``ahead``: the queries that the attention
input of the layer before gives with this layer's weights. ``capture.json`` has the model's configuration, digests, and the
tokens.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...constraints.core.document import parse_json, read_text, validate
from ...constraints.core.errors import ConfigError, ToolMissing
from ...constraints.core.workspace import file_digest, read_bytes, write_files
from ..llm.shape import ModelShape
from ..llm.weights import Model
from ..numerics.sums import Lists
from ..pam.sparsity import TraceStep, write_trace
from .backend import Backend, exact_attention
from .decoder import Decoder

__all__ = ["FORMAT", "Capture", "capture", "layers_of", "model_digest", "read_capture", "trace_of"]

FORMAT, VERSION = "bankside-capture", 1

#: Tokens over active tokens in a trace; PAM section 7.1.
COMPRESSION = 8


def model_digest(model: Model) -> str:
    """SHA-256 of the names and digests of a model's configuration and weights."""
    digest = hashlib.sha256()
    for path in [model.folder / "config.json", *sorted(model.folder.glob("*.safetensors"))]:
        digest.update(f"{path.name} {file_digest(path)}\n".encode())
    return digest.hexdigest()


def capture(model: Model, tokens: np.ndarray, folder: str | os.PathLike[str], text_sha256: str) -> dict[str, Any]:
    """Write queries, keys and values of a text; returns the contents of ``capture.json``.

    Raises
    ------
    :exc:`ConfigError`
        If a number leaves float16, or the folder can't be written.
    :exc:`ToolMissing`
        If the extra ``llm`` is not installed.
    """
    save = _safetensors().save
    decoder = Decoder(model, Backend(), len(tokens), capture=True)
    decoder.forward(tokens)
    files: dict[str, str | bytes] = {}
    digests = {}
    for number, parts in enumerate(decoder.captured):
        tensors = {}
        ahead = decoder.ahead[number]
        for name, part in [*zip("qkv", parts, strict=True), *([] if ahead is None else [("ahead", ahead)])]:
            with np.errstate(over="ignore"):
                tensors[name] = np.ascontiguousarray(part.swapaxes(0, 1).astype(np.float16))
            if not np.isfinite(tensors[name]).all():
                raise ConfigError(f"layer {number}: {name} has numbers beyond float16")
        file = f"layer-{number:02}.safetensors"
        data = save(tensors)
        files[file], digests[file] = data, hashlib.sha256(data).hexdigest()
    head = {
        "format": FORMAT,
        "version": VERSION,
        "model": model.shape.model_dump(),
        "model_sha256": model_digest(model),
        "text_sha256": text_sha256,
        "tokens": tokens.tolist(),
        "files": digests,
    }
    write_files(folder, {**files, "capture.json": json.dumps(head, indent=2) + "\n"})
    return head


def _safetensors() -> Any:
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
            tensors: dict[str, np.ndarray] = _safetensors().load(data)
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


def trace_of(folder: str | os.PathLike[str], output: str | os.PathLike[str], *, compression: int = COMPRESSION) -> int:
    """Write a trace of attention (:mod:`bankside.models.pam.sparsity`) of the second half of a captured text.

    A step has the tokens with the largest weights, averaged over layers and heads. Returns the number of steps.
    """
    total, first, count = None, 0, 0
    for layer in layers_of(folder):
        tokens = layer["q"].shape[1]
        first, group = tokens // 2, layer["q"].shape[0] // layer["k"].shape[0]
        lists = Lists.prefixes(np.arange(first + 1, tokens + 1))
        for head, query in enumerate(layer["q"].astype(np.float32)):
            k, v = (layer[name][head // group].astype(np.float32) for name in "kv")
            weights = exact_attention(query[first:], k, v, lists)[1]
            total = weights if total is None else total + weights
            count += 1
    assert total is not None
    steps = []
    for row, weights in enumerate(total / count):
        context = first + row + 1
        number = -(-context // compression)
        active = np.sort(np.argpartition(-weights[:context], number - 1)[:number])
        steps.append(TraceStep(0, context, active, weights[active]))
    write_trace(output, steps)
    return len(steps)
