"""Queries, keys and values of a text in a folder, and the trace of attention that follows from them.

A folder holds ``layer-NN.safetensors`` with ``q``, ``k`` and ``v`` of shapes ``(heads, tokens, head_dim)`` in float16.
Queries and keys are turned to their positions. ``capture.json`` has the model's configuration, digests, and the tokens.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...constraints.document import parse_json, read_text
from ...constraints.errors import ConfigError, ToolMissing
from ...constraints.workspace import file_digest, read_bytes, write_files
from ..llm.weights import Model
from ..numerics.sums import Lists
from ..pam.sparsity import TraceStep, write_trace
from .backend import Backend, exact_attention
from .decoder import Decoder

__all__ = ["FORMAT", "capture", "layers_of", "model_digest", "trace_of"]

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
        for name, part in zip("qkv", parts, strict=True):
            with np.errstate(over="ignore"):
                tensors[name] = np.ascontiguousarray(part.swapaxes(0, 1).astype(np.float16))
            if not np.isfinite(tensors[name]).all():
                raise ConfigError(f"layer {number}: {name} has numbers beyond float16")
        file = f"layer-{number:02}.safetensors"
        data = save(tensors)
        files[file], digests[file] = data, hashlib.sha256(data).hexdigest()
    head = {"format": FORMAT, "version": VERSION, "model": model.shape.model_dump(), "model_sha256": model_digest(model),
            "text_sha256": text_sha256, "tokens": tokens.tolist(), "files": digests}
    write_files(folder, {**files, "capture.json": json.dumps(head, indent=2) + "\n"})
    return head


def _safetensors() -> Any:
    try:
        import safetensors.numpy as package
    except ImportError:
        raise ToolMissing("captures need the package safetensors; this installs it: pip install 'bankside[llm]'") from None
    return package


def layers_of(folder: str | os.PathLike[str]) -> Iterator[dict[str, np.ndarray]]:
    """Queries, keys and values of each layer of a captured folder.

    Raises
    ------
    :exc:`ConfigError`
        If the folder is no capture, or a file is not the one that was written.
    """
    path = Path(folder) / "capture.json"
    head = parse_json(read_text(path, "a capture", 1 << 28), str(path))
    if not isinstance(head, dict) or head.get("format") != FORMAT or not isinstance(head.get("files"), dict):
        raise ConfigError(f"{path}: not a capture: \"format\" must be \"{FORMAT}\"")
    for name, digest in head["files"].items():
        data = read_bytes(path.parent / name, "a layer of a capture", 1 << 34)
        if hashlib.sha256(data).hexdigest() != digest:
            raise ConfigError(f"{path.parent / name}: has another digest than {path.name} says")
        yield _safetensors().load(data)


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
