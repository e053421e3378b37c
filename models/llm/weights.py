"""Weights of a decoder-only transformer, read from a local Hugging Face folder: ``config.json``, ``*.safetensors``, and
``tokenizer.json``. The extra ``llm`` has the two packages that it needs; PyTorch is none of them.
"""

from __future__ import annotations

import importlib
import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from ...constraints.core.document import MAX_BYTES, parse_json, read_text
from ...constraints.core.errors import ConfigError, ToolMissing, nearest
from .shape import ROTARY, ModelShape, load_model

__all__ = ["SMALL", "Model", "expected_tensors", "read_model"]

#: Folder of the model that comes with the package.
SMALL = Path(__file__).parent / "small"

#: Element types of a safetensors file that a weight can have.
_DTYPES: dict[str, Any] = {"F16": np.float16, "BF16": ml_dtypes.bfloat16, "F32": np.float32, "F64": np.float64}


@dataclass(frozen=True)
class Model:
    """A transformer with its weights.

    Attributes
    ----------
    folder : :class:`~pathlib.Path`
        Where the files are.
    shape : :class:`ModelShape`
        Sizes from ``config.json``.
    tensors : dict of :class:`~numpy.ndarray`
        Float32 weights by their Hugging Face name; a matrix has the shape (outputs, inputs).
    tokenizer : :class:`tokenizers.Tokenizer` or None
        From ``tokenizer.json``; None for a folder without one.
    norm_eps : :class:`float`
        Added to the mean square in each norm.
    rotary : :class:`~numpy.ndarray`
        Float64, ``head_dim / 2`` elements: radians by which one position turns each pair (i, i + head_dim / 2).
    """

    folder: Path
    shape: ModelShape
    tensors: dict[str, np.ndarray]
    tokenizer: Any
    norm_eps: float
    rotary: np.ndarray

    @property
    def embedding(self) -> np.ndarray:
        """Token embedding, (vocabulary, hidden)."""
        return self.tensors["model.embed_tokens.weight"]

    @property
    def output(self) -> np.ndarray:
        """Matrix that makes logits, (vocabulary, hidden): the embedding if the two are tied."""
        return self.embedding if self.shape.tied_embeddings else self.tensors["lm_head.weight"]

    def layer(self, index: int) -> dict[str, np.ndarray]:
        """Tensors of one layer, named as within the layer (``self_attn.q_proj.weight``)."""
        prefix = f"model.layers.{index}."
        return {name.removeprefix(prefix): tensor for name, tensor in self.tensors.items() if name.startswith(prefix)}


def expected_tensors(shape: ModelShape) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the tensors that a model of this shape has."""
    d, width = shape.hidden_size, {"q": shape.heads, "k": shape.kv_heads, "v": shape.kv_heads}
    tensors: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (shape.vocab_size, d)}
    for index in range(shape.layers):
        prefix = f"model.layers.{index}."
        tensors[prefix + "input_layernorm.weight"] = (d,)
        for name, heads in width.items():
            rows = heads * shape.head_dim
            tensors[f"{prefix}self_attn.{name}_proj.weight"] = (rows, d)
            if shape.qkv_bias:
                tensors[f"{prefix}self_attn.{name}_proj.bias"] = (rows,)
            if shape.qk_norm and name != "v":
                tensors[f"{prefix}self_attn.{name}_norm.weight"] = (shape.head_dim,)
        tensors[prefix + "self_attn.o_proj.weight"] = (d, shape.heads * shape.head_dim)
        if shape.out_bias:
            tensors[prefix + "self_attn.o_proj.bias"] = (d,)
        tensors[prefix + "post_attention_layernorm.weight"] = (d,)
        for name, rows, columns in (
            ("gate", shape.intermediate_size, d),
            ("up", shape.intermediate_size, d),
            ("down", d, shape.intermediate_size),
        ):
            tensors[f"{prefix}mlp.{name}_proj.weight"] = (rows, columns)
            if shape.ffn_bias:
                tensors[f"{prefix}mlp.{name}_proj.bias"] = (rows,)
    tensors["model.norm.weight"] = (d,)
    if not shape.tied_embeddings:
        tensors["lm_head.weight"] = (shape.vocab_size, d)
    return tensors


def read_model(folder: str | os.PathLike[str] = SMALL) -> Model:
    """Model in a local folder that Hugging Face's tools could have written.

    Weights are one or more ``*.safetensors`` files in FP16, BF16, FP32 or FP64. An index file decides which of them
    belong to the model; without one they all do.

    Raises
    ------
    :exc:`ConfigError`
        If the folder has no model of a supported architecture, or its tensors aren't those that ``config.json`` asks for.
    :exc:`ToolMissing`
        If the extra ``llm`` is not installed.
    """
    path = Path(folder)
    if not path.is_dir():
        raise ConfigError(
            f"{path}: a model is a folder with config.json and *.safetensors; "
            + ("this is a file" if path.exists() else "there is no such folder")
        )
    config = path / "config.json"
    if not config.is_file():
        raise ConfigError(f"{path}: no config.json; a model is a folder with config.json and *.safetensors")
    shape = load_model(config)
    values = parse_json(read_text(config, "a model's config.json", MAX_BYTES), str(config))
    if shape.family not in ROTARY:
        raise ConfigError(
            f"{config}: architecture '{shape.family}' can't be decoded (valid: {', '.join(sorted(ROTARY))})"
        )
    if shape.activation != "silu":
        raise ConfigError(f"{config}: hidden_act '{shape.activation}' can't be decoded (valid: silu)")
    if shape.head_dim % 2:
        raise ConfigError(f"{config}: head_dim {shape.head_dim} must be even for rotary positions")
    return Model(
        path,
        shape,
        _tensors(path, shape),
        _tokenizer(path, shape),
        _positive(config, values, "rms_norm_eps", 1e-6),
        _rotary(config, values, shape),
    )


# Files ---------------------------------------------------------------------------------------------------------------


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ToolMissing(
            f"reading a model's weights needs the package {name}; this installs it: pip install 'bankside[llm]'"
        ) from None


def _files(folder: Path) -> list[Path]:
    """Files that hold the weights."""
    index = folder / "model.safetensors.index.json"
    if not index.is_file():
        files = sorted(folder.glob("*.safetensors"))
        if not files:
            raise ConfigError(f"{folder}: no weights: there is no *.safetensors file")
        return files
    values = parse_json(read_text(index, "an index of weights", MAX_BYTES), str(index))
    named = values.get("weight_map") if isinstance(values, dict) else None
    if (
        not isinstance(named, dict)
        or not named
        or not all(isinstance(name, str) and Path(name).name == name for name in named.values())
    ):
        raise ConfigError(f"{index}: 'weight_map' must give the file in this folder of each tensor")
    files = [folder / name for name in sorted(set(named.values()))]
    missing = [file.name for file in files if not file.is_file()]
    if missing:
        raise ConfigError(f"{folder}: no file {_few(missing)}, which {index.name} names")
    return files


def _tensors(folder: Path, shape: ModelShape) -> dict[str, np.ndarray]:
    """Float32 tensors of the model, in the order of :func:`expected_tensors`."""
    safetensors = _module("safetensors")
    expected = expected_tensors(shape)
    # An older exporter also stored the rotary frequencies, some store the tied matrix twice.
    spare = {"lm_head.weight"} | {
        f"model.layers.{index}.self_attn.rotary_emb.inv_freq" for index in range(shape.layers)
    }
    found: dict[str, np.ndarray] = {}
    place: dict[str, Path] = {}
    for file in _files(folder):
        try:
            entries = safetensors.deserialize(file.read_bytes())
        except OSError as error:
            raise ConfigError(f"{file}: {error.strerror}") from None
        except safetensors.SafetensorError as error:
            raise ConfigError(f"{file}: not a safetensors file: {str(error).splitlines()[0]}") from None
        for name, entry in entries:
            if name not in expected and name in spare:
                continue
            if name in place:
                raise ConfigError(f"{file}: tensor {name} is in {place[name].name} too")
            place[name] = file
            if name not in expected:
                continue
            if tuple(entry["shape"]) != expected[name]:
                raise ConfigError(
                    f"{file}: tensor {name} has shape {_size(entry['shape'])}; "
                    f"config.json asks for {_size(expected[name])}"
                )
            if entry["dtype"] not in _DTYPES:
                raise ConfigError(f"{file}: tensor {name} has elements {entry['dtype']} (valid: {', '.join(_DTYPES)})")
            values = np.frombuffer(entry["data"], _DTYPES[entry["dtype"]]).reshape(expected[name])
            with np.errstate(over="ignore"):
                found[name] = values.astype(np.float32)
            bad = int(np.count_nonzero(~np.isfinite(found[name])))
            if bad:
                raise ConfigError(
                    f"{file}: tensor {name} has {bad} element{'s' * (bad > 1)} that "
                    f"{'are' if bad > 1 else 'is'} no finite float32 number"
                )
    missing, extra = [name for name in expected if name not in found], [name for name in place if name not in expected]
    if missing or extra:
        raise ConfigError(
            f"{folder}: the weights don't match config.json: "
            + "; ".join(
                [f"{len(missing)} missing ({_few(missing)})"] * bool(missing)
                + [f"{len(extra)} too many ({_few(extra)})"] * bool(extra)
            )
        )
    return {name: found[name] for name in expected}


def _tokenizer(folder: Path, shape: ModelShape) -> Any:
    file = folder / "tokenizer.json"
    if not file.is_file():
        return None
    tokenizers = _module("tokenizers")
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(file))
    except Exception as error:  # the package raises bare Exception
        raise ConfigError(f"{file}: not a tokenizer: {str(error).splitlines()[0]}") from None
    size = tokenizer.get_vocab_size()
    if size > shape.vocab_size:
        raise ConfigError(f"{file}: a vocabulary of {size} tokens; config.json has {shape.vocab_size}")
    return tokenizer


# Numbers of config.json that decide no size --------------------------------------------------------------------------


def _positive(config: Path, values: dict[str, Any], key: str, default: float | None = None) -> float:
    value = values.get(key, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not (math.isfinite(value) and value > 0):
        raise ConfigError(f"{config}: {key} must be a positive number, not {json.dumps(value)}")
    return float(value)


def _rotary(config: Path, values: dict[str, Any], shape: ModelShape) -> np.ndarray:
    """Radians per position of each pair; ``rope_scaling`` stretches them (Llama 3.1: long waves only)."""
    newer = values.get("rope_parameters")
    scaling = newer if newer is not None else values.get("rope_scaling") or {}
    if not isinstance(scaling, dict):
        raise ConfigError(f"{config}: rope_scaling must be a mapping, not {json.dumps(scaling)}")
    theta = _positive(config, values if newer is None or "rope_theta" not in newer else newer, "rope_theta", 10_000.0)
    turns = theta ** (-np.arange(0, shape.head_dim, 2, dtype=np.float64) / shape.head_dim)
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    if kind == "default":
        return turns
    if kind == "linear":
        return turns / _positive(config, scaling, "factor")
    if kind != "llama3":
        raise ConfigError(f"{config}: {nearest('rope_type', str(kind), ('default', 'linear', 'llama3'))}")
    factor, low, high, context = (
        _positive(config, scaling, key)
        for key in ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")
    )
    if high <= low:
        raise ConfigError(f"{config}: high_freq_factor {high:g} must be above low_freq_factor {low:g}")
    # 0 for a wave longer than context / low, 1 for one shorter than context / high, linear between them.
    kept = np.clip((context * turns / (2 * np.pi) - low) / (high - low), 0, 1)
    return turns * (kept + (1 - kept) / factor)


def _size(shape: Any) -> str:
    return "x".join(str(n) for n in shape) or "scalar"


def _few(names: list[str]) -> str:
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")
