"""Capturing a text: queries, keys and values in a folder (:mod:`bankside.models.llm.captured`), and a trace of attention."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import numpy as np

from ...constraints.core.errors import ConfigError
from ...constraints.core.workspace import write_files
from ..llm.captured import FORMAT, VERSION, Capture, layers_of, model_digest, safetensors
from ..llm.weights import Model
from ..numerics.sums import Lists
from ..pam.sparsity import TraceStep, write_trace
from .backend import Backend, exact_attention
from .decoder import Decoder

__all__ = ["capture", "trace_of"]

#: Tokens over active tokens in a trace; PAM section 7.1.
COMPRESSION = 8


def capture(model: Model, tokens: np.ndarray, folder: str | os.PathLike[str], text_sha256: str) -> Capture:
    """Write queries, keys and values of a text; returns the head of the folder.

    Raises
    ------
    :exc:`ConfigError`
        If a number leaves float16, or the folder can't be written.
    :exc:`ToolMissing`
        If the extra ``llm`` is not installed.
    """
    save = safetensors().save
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
    made = Capture(Path(folder) / "capture.json", model.shape, model_digest(model), tokens, digests)
    head = {
        "format": FORMAT,
        "version": VERSION,
        "model": model.shape.model_dump(),
        "model_sha256": made.model_sha256,
        "text_sha256": text_sha256,
        "tokens": tokens.tolist(),
        "files": digests,
    }
    write_files(folder, {**files, "capture.json": json.dumps(head, indent=2) + "\n"})
    return made


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
