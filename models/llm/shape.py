"""Shape of a decoder-only transformer, read from a Hugging Face ``config.json``."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from ...constraints.core.document import MAX_BYTES, Strict, parse_json, read_text
from ...constraints.core.errors import ConfigError, nearest
from ...constraints.llm import MODELS

__all__ = ["ROTARY", "ModelShape", "load_model", "model_names"]

#: Families with rotary positions, and norms of the root mean square.
ROTARY = ("llama", "mistral", "qwen2", "qwen3")

#: Bytes of one element of weights, activations and KV cache.
DTYPE_BYTES = {"float16": 2, "bfloat16": 2, "float32": 4, "int8": 1}


class ModelShape(Strict):
    """Properties of a decoder-only transformer that decide the cost of decoding.

    Attributes
    ----------
    layers, hidden_size, heads, kv_heads, head_dim, intermediate_size, vocab_size : :class:`int`
        As in the model card; ``heads / kv_heads`` queries share each key and value (grouped-query attention).
    gated : :class:`bool`
        Whether the FFN has three matrices (gate, up, down) or two (up, down).
    activation : :class:`str`
        Name of the activation function.
    max_context : :class:`int`
        Positions that the model was made for.
    sliding_window : :class:`int` or None
        Largest number of tokens that a query attends to.
    embed_dim : :class:`int`
        Width of the embedding; differs from ``hidden_size`` in some OPT models, which then have two projections more.
    position_rows : :class:`int`
        Rows of a learned position table, 0 without one.
    qkv_bias, out_bias, ffn_bias : :class:`bool`
        Which linear layers add a bias.
    norm_vectors, final_norm_vectors : :class:`int`
        Weight and bias vectors of ``hidden_size`` elements in the norms of one layer, and after the last one.
    qk_norm : :class:`bool`
        Whether queries and keys pass a norm of ``head_dim`` weights each.
    dtype : :class:`str`
        Format of weights, activations and KV cache.
    """

    name: str
    family: str
    layers: int = Field(ge=1, le=100_000)
    hidden_size: int = Field(ge=1, le=1 << 24)
    heads: int = Field(ge=1, le=1 << 16)
    kv_heads: int = Field(ge=1, le=1 << 16)
    head_dim: int = Field(ge=1, le=1 << 16)
    intermediate_size: int = Field(ge=1, le=1 << 26)
    vocab_size: int = Field(ge=1, le=1 << 26)
    max_context: int = Field(ge=1, le=1 << 40)
    gated: bool
    activation: str
    dtype: Literal["float16", "bfloat16", "float32", "int8"]
    tied_embeddings: bool
    embed_dim: int = Field(ge=1, le=1 << 24)
    sliding_window: int | None = Field(default=None, ge=1)
    position_rows: int = Field(default=0, ge=0, le=1 << 40)
    qkv_bias: bool = False
    out_bias: bool = False
    ffn_bias: bool = False
    norm_vectors: int = Field(default=2, ge=0, le=8)
    final_norm_vectors: int = Field(default=1, ge=0, le=8)
    qk_norm: bool = False

    @model_validator(mode="after")
    def _check(self) -> ModelShape:
        if self.heads % self.kv_heads:
            raise ValueError(f"{self.heads} attention heads can't share {self.kv_heads} key/value heads evenly")
        return self

    @property
    def dtype_bytes(self) -> int:
        return DTYPE_BYTES[self.dtype]

    @property
    def group(self) -> int:
        """Query heads that share one key/value head."""
        return self.heads // self.kv_heads

    @property
    def qkv_rows(self) -> int:
        """Outputs of the query, key and value projections together."""
        return (self.heads + 2 * self.kv_heads) * self.head_dim

    @property
    def stored_head_dim(self) -> int:
        """Elements of a head for which units beside memory are timed."""
        return self.head_dim

    def columns(self, heads: int) -> int:
        """Columns of a projection for so many heads."""
        return heads * self.head_dim

    def ffn_share(self, tp: int) -> float:
        """Columns of the FFN on one of ``tp`` devices.

        Raises
        ------
        :exc:`ConfigError`
            If they are no whole number.
        """
        if self.intermediate_size % tp:
            raise ConfigError(
                f"tensor parallelism of {tp} does not divide the model's {self.intermediate_size} FFN columns"
            )
        return self.intermediate_size // tp

    # Parameters --------------------------------------------------------------------------------------------------

    @property
    def layer_parameters(self) -> int:
        """Parameters of one decoder layer, biases and norms included."""
        d, attn, f = self.hidden_size, self.heads * self.head_dim, self.intermediate_size
        matrices = self.qkv_rows * d + attn * d + (3 if self.gated else 2) * d * f
        biases = self.qkv_bias * self.qkv_rows + self.out_bias * d + self.ffn_bias * ((1 + self.gated) * f + d)
        return matrices + biases + self.norm_vectors * d + self.qk_norm * 2 * self.head_dim

    @property
    def embedding_parameters(self) -> int:
        """Parameters before the first layer: token and position tables, and the projection of a narrower embedding."""
        projection = self.embed_dim * self.hidden_size if self.embed_dim != self.hidden_size else 0
        return self.vocab_size * self.embed_dim + self.position_rows * self.hidden_size + projection

    @property
    def head_parameters(self) -> int:
        """Parameters after the last layer: final norm and output matrix (0 of its own if tied to the embedding)."""
        projection = self.embed_dim * self.hidden_size if self.embed_dim != self.hidden_size else 0
        own = 0 if self.tied_embeddings else self.vocab_size * self.embed_dim
        return own + projection + self.final_norm_vectors * self.hidden_size

    @property
    def parameters(self) -> int:
        return self.embedding_parameters + self.layers * self.layer_parameters + self.head_parameters

    @property
    def weight_bytes(self) -> int:
        return self.parameters * self.dtype_bytes

    # KV cache ----------------------------------------------------------------------------------------------------

    @property
    def kv_bytes_per_token(self) -> int:
        """Bytes of keys and values of one token in all layers."""
        return 2 * self.layers * self.kv_heads * self.head_dim * self.dtype_bytes

    def attended(self, context: Any) -> Any:
        """Tokens that a query attends to, and whose KV is kept, when ``context`` tokens precede it (array or int)."""
        if self.sliding_window is None:
            return context
        import numpy as np

        return np.minimum(context, self.sliding_window)


# Reading config.json -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Reader:
    """Values of one ``config.json``, with errors that name file and line."""

    path: str
    text: str
    values: dict[str, Any]

    def place(self, key: str) -> str:
        found = re.search(rf'"{re.escape(key)}"\s*:', self.text)
        return f"{self.path}:{self.text.count(chr(10), 0, found.start()) + 1}" if found else self.path

    def integer(self, key: str, default: int | None = None) -> int:
        value = self.values.get(key)
        if value is None and default is not None:
            return default
        # Some cards write whole numbers as 4096.0
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ConfigError(f"{self.place(key)}: {key} must be a positive whole number, not {value!r}")
        return value

    def flag(self, key: str, default: bool) -> bool:
        value = self.values.get(key)
        value = default if value is None else value
        if not isinstance(value, bool):
            raise ConfigError(f"{self.place(key)}: {key} must be true or false, not {value!r}")
        return value

    def word(self, key: str, default: str) -> str:
        value = self.values.get(key)
        value = default if value is None else value
        if not isinstance(value, str):
            raise ConfigError(f"{self.place(key)}: {key} must be text, not {value!r}")
        return value

    def require(self, keys: tuple[str, ...]) -> None:
        missing = [key for key in keys if self.values.get(key) is None]
        if missing:
            told = []
            for key in missing:
                close = difflib.get_close_matches(key, [str(k) for k in self.values if k not in keys], 1, 0.75)
                told.append(f"'{key}'" + (f" (did you mean '{close[0]}'?)" if close else ""))
            raise ConfigError(
                f"{self.path}: model_type '{self.values.get('model_type')}' needs key "
                f"{', '.join(told)}; found {_some(self.values)}"
            )


def _some(values: dict[str, Any]) -> str:
    keys = [str(key) for key in values]
    return ", ".join(keys[:8]) + (f" and {len(keys) - 8} more" if len(keys) > 8 else "") if keys else "no key"


def _llama(r: _Reader) -> dict[str, Any]:
    """llama, mistral, qwen2, qwen3: RMS norms without bias, gated FFN, rotary positions."""
    family = r.values["model_type"]
    hidden, heads = r.integer("hidden_size"), r.integer("num_attention_heads")
    window = r.values.get("sliding_window")
    kinds = r.values.get("layer_types")
    if kinds is not None and (not isinstance(kinds, list) or len({str(kind) for kind in kinds}) > 1):
        raise ConfigError(
            f"{r.place('layer_types')}: layer_types must be a list of equal entries: layers with different "
            "windows are not supported"
        )
    if kinds and kinds[0] == "full_attention":
        window = None
    elif kinds and kinds[0] != "sliding_attention":
        valid = ("full_attention", "sliding_attention")
        raise ConfigError(f"{r.place('layer_types')}: {nearest('layer type', str(kinds[0]), valid)}")
    if family.startswith("qwen"):
        # These cards give a window that use_sliding_window switches on, for the layers above max_window_layers only.
        if r.flag("use_sliding_window", False):
            raise ConfigError(f"{r.place('use_sliding_window')}: use_sliding_window is not supported")
        window = None
    attention_bias = r.flag("attention_bias", False)
    return dict(
        layers=r.integer("num_hidden_layers"),
        hidden_size=hidden,
        heads=heads,
        kv_heads=r.integer("num_key_value_heads", heads),
        head_dim=_head_dim(r, hidden, heads, "hidden_size", "num_attention_heads"),
        intermediate_size=r.integer("intermediate_size"),
        vocab_size=r.integer("vocab_size"),
        max_context=r.integer("max_position_embeddings"),
        gated=True,
        activation=r.word("hidden_act", "silu"),
        tied_embeddings=r.flag("tie_word_embeddings", False),
        embed_dim=hidden,
        sliding_window=None if window is None else r.integer("sliding_window"),
        qkv_bias=family == "qwen2" or attention_bias,
        out_bias=family != "qwen2" and attention_bias,
        ffn_bias=r.flag("mlp_bias", False),
        norm_vectors=2,
        final_norm_vectors=1,
        qk_norm=family == "qwen3",
    )


def _opt(r: _Reader) -> dict[str, Any]:
    """OPT: layer norms with bias, two-matrix FFN, learned positions offset by two rows, embedding tied."""
    hidden, heads = r.integer("hidden_size"), r.integer("num_attention_heads")
    context, bias = r.integer("max_position_embeddings"), r.flag("enable_bias", True)
    before = r.flag("do_layer_norm_before", True) and not r.flag("_remove_final_layer_norm", False)
    affine = 2 if r.flag("layer_norm_elementwise_affine", True) else 0
    return dict(
        layers=r.integer("num_hidden_layers"),
        hidden_size=hidden,
        heads=heads,
        kv_heads=heads,
        head_dim=_head_dim(r, hidden, heads, "hidden_size", "num_attention_heads"),
        intermediate_size=r.integer("ffn_dim"),
        vocab_size=r.integer("vocab_size"),
        max_context=context,
        gated=False,
        activation=r.word("activation_function", "relu"),
        tied_embeddings=r.flag("tie_word_embeddings", True),
        embed_dim=r.integer("word_embed_proj_dim", hidden),
        position_rows=context + 2,
        qkv_bias=bias,
        out_bias=bias,
        ffn_bias=bias,
        norm_vectors=2 * affine,
        final_norm_vectors=affine if before else 0,
    )


def _gpt2(r: _Reader) -> dict[str, Any]:
    hidden, heads = r.integer("n_embd"), r.integer("n_head")
    context = r.integer("n_positions")
    return dict(
        layers=r.integer("n_layer"),
        hidden_size=hidden,
        heads=heads,
        kv_heads=heads,
        head_dim=_head_dim(r, hidden, heads, "n_embd", "n_head"),
        intermediate_size=r.integer("n_inner", 4 * hidden),
        vocab_size=r.integer("vocab_size"),
        max_context=context,
        gated=False,
        activation=r.word("activation_function", "gelu_new"),
        tied_embeddings=r.flag("tie_word_embeddings", True),
        embed_dim=hidden,
        position_rows=context,
        qkv_bias=True,
        out_bias=True,
        ffn_bias=True,
        norm_vectors=4,
        final_norm_vectors=2,
    )


def _mpt(r: _Reader) -> dict[str, Any]:
    """MPT: layer norms without bias if ``no_bias``; ALiBi needs no table."""
    hidden, heads = r.integer("d_model"), r.integer("n_heads")
    attention = r.values.get("attn_config") or {}
    if not isinstance(attention, dict):
        raise ConfigError(f"{r.place('attn_config')}: attn_config must be a mapping, not {attention!r}")
    inner = _Reader(r.path, r.text, attention)
    kv_heads = 1 if attention.get("attn_type") == "multiquery_attention" else inner.integer("kv_n_heads", heads)
    bias = not r.flag("no_bias", False)
    alibi = inner.flag("alibi", False)
    ratio = r.values.get("expansion_ratio", 4)
    if isinstance(ratio, bool) or not isinstance(ratio, (int, float)) or not 0 < ratio <= 1024:
        raise ConfigError(f"{r.place('expansion_ratio')}: expansion_ratio must be a positive number, not {ratio!r}")
    context = r.integer("max_seq_len")
    return dict(
        layers=r.integer("n_layers"),
        hidden_size=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=_head_dim(r, hidden, heads, "d_model", "n_heads"),
        intermediate_size=int(ratio * hidden),
        vocab_size=r.integer("vocab_size"),
        max_context=context,
        gated=False,
        activation="gelu",
        tied_embeddings=r.flag("tie_word_embeddings", True),
        embed_dim=hidden,
        position_rows=0 if alibi or not r.flag("learned_pos_emb", True) else context,
        qkv_bias=bias,
        out_bias=bias,
        ffn_bias=bias,
        norm_vectors=4 if bias else 2,
        final_norm_vectors=2 if bias else 1,
    )


def _head_dim(r: _Reader, hidden: int, heads: int, hidden_key: str, heads_key: str) -> int:
    if r.values.get("head_dim") is not None:
        return r.integer("head_dim")
    if hidden % heads:
        raise ConfigError(
            f"{r.place(heads_key)}: {hidden_key} {hidden} is not a multiple of {heads_key} {heads}, "
            f"and there is no head_dim"
        )
    return hidden // heads


_LLAMA_KEYS = (
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "vocab_size",
    "max_position_embeddings",
)

#: Keys that a family needs, and its reader.
FAMILIES: dict[str, tuple[tuple[str, ...], Callable[[_Reader], dict[str, Any]]]] = {
    **{family: (_LLAMA_KEYS, _llama) for family in ROTARY},
    "opt": (
        ("hidden_size", "num_hidden_layers", "num_attention_heads", "ffn_dim", "vocab_size", "max_position_embeddings"),
        _opt,
    ),
    "gpt2": (("n_embd", "n_layer", "n_head", "n_positions", "vocab_size"), _gpt2),
    "mpt": (("d_model", "n_layers", "n_heads", "max_seq_len", "vocab_size"), _mpt),
}

#: Keys whose presence means something that is not modelled.
_REFUSED = {
    "num_experts": "mixture-of-experts models are",
    "num_local_experts": "mixture-of-experts models are",
    "n_routed_experts": "mixture-of-experts models are",
    "quantization_config": "quantised weights are",
}


def model_names() -> list[str]:
    """Names of the built-in models."""
    return list(MODELS)


def _builtin(name: str) -> str | None:
    """Built-in model that a bare ``name`` means. Case, ``_`` for ``-`` and ``llama3`` for ``llama-3`` don't matter."""
    if os.sep in name:
        return None
    plain = name.strip().lower().replace("_", "-").replace(" ", "-").removeprefix("meta-")
    return next((name for name in (plain, re.sub(r"^([a-z]+)(?=\d)", r"\1-", plain)) if name in MODELS), None)


def load_model(name_or_path: str | os.PathLike[str] | ModelShape) -> ModelShape:
    """Shape of a built-in model, of a ``config.json``, or of a folder that has one.

    A name with ``/`` is a path; a bare name is the built-in model if there is one.

    Raises
    ------
    :exc:`ConfigError`
        If there is no such model or file, or the file is not the configuration of a supported model.
    """
    if isinstance(name_or_path, ModelShape):
        return name_or_path
    name = os.fspath(name_or_path)
    builtin = _builtin(name)
    path = Path(name)
    if builtin:
        return _read(MODELS[builtin], builtin)
    if path.is_dir():
        path = path / "config.json"
    elif os.sep in name and not path.exists():
        hint = _builtin(path.name)
        raise ConfigError(
            f"{name}: no such file or directory" + (f"; the built-in model is called {hint}" if hint else "")
        )
    if not path.exists() and not name.endswith(".json") and os.sep not in name.rstrip(os.sep):
        raise ConfigError(f"{nearest('model', name, MODELS)}, or give the path of a Hugging Face config.json")
    return _read(path, path.parent.resolve().name if path.name == "config.json" else path.stem)


def _read(path: Path, name: str) -> ModelShape:
    text = read_text(path, "a model's config.json", MAX_BYTES)
    values = parse_json(text, str(path))
    if not isinstance(values, dict):
        raise ConfigError(
            f"{path}: not a model's config.json: a list of keys and values is needed, not {type(values).__name__}"
        )
    r = _Reader(str(path), text, values)
    family = values.get("model_type")
    if family is None:
        architecture = values.get("architectures") or [""]
        word = str(architecture[0]).lower() if isinstance(architecture, list) else ""
        family = next((known for known in FAMILIES if word.startswith(known)), None)
        if family is None:
            raise ConfigError(f"{path}: not a model's config.json: no key 'model_type'; found {_some(values)}")
        values["model_type"] = family
    for key, what in _REFUSED.items():
        if values.get(key):
            raise ConfigError(f"{r.place(key)}: key '{key}': {what} not supported")
    if not isinstance(family, str) or family not in FAMILIES:
        raise ConfigError(f"{r.place('model_type')}: {nearest('model_type', str(family), FAMILIES)}")
    keys, reader = FAMILIES[family]
    r.require(keys)
    dtype: Any = values.get("dtype") or values.get("torch_dtype") or "float16"
    if dtype not in DTYPE_BYTES:
        key = "dtype" if values.get("dtype") else "torch_dtype"
        raise ConfigError(f"{r.place(key)}: {nearest(key, str(dtype), DTYPE_BYTES)}")
    fields = reader(r)
    try:
        return ModelShape(name=name, family=family, dtype=dtype, **fields)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in problem["loc"])
        message = problem["msg"].removeprefix("Value error, ")
        raise ConfigError(f"{path}: {field + ': ' if field else ''}{message}") from None
