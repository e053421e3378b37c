"""Operators of one decode step of a transformer, with shapes, bytes and floating-point operations.

A decode step makes one token for each of ``batch`` requests. Under tensor parallelism of degree ``tp`` the matrices are
split over devices (Megatron-LM, Shoeybi et al. 2019). Each device has ``1/tp`` of the rows of the query/key/value, gate
and up matrices. It also has ``1/tp`` of the columns of the output and down matrices. So two all-reduces per layer
remain. Operators here are of ONE device.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ...constraints.core.errors import ConfigError
from .shape import ModelShape

__all__ = ["Operator", "embedding_operators", "head_operators", "layer_operators"]

#: Floating-point operations per element, counted as the AttAcc simulator does (Park et al., ASPLOS 2024): a norm 5,
#: softmax 5, ReLU 1, GELU 8, a gated activation 8 and the product.
NORM_FLOPS, SOFTMAX_FLOPS, RELU_FLOPS, GELU_FLOPS, GATED_FLOPS = 5, 5, 1, 8, 9


@dataclass(frozen=True)
class Operator:
    """One operator on one device.

    Attributes
    ----------
    name : :class:`str`
        Name in breakdowns.
    kind : :class:`str`
        Kind of work: ``gemm``, ``attention``, ``norm``, ``activation``, ``allreduce`` or ``lookup``.
    m, n, k : :class:`int` or array
        GEMM of ``m x k`` by ``k x n``, ``count`` times. A vector operator has ``m x n`` elements and k 1. ``n`` or
        ``k`` of attention is the context and may be an array.
    weight_bytes, kv_bytes, activation_bytes : :class:`int` or array
        Least bytes to move: parameters, keys and values (once per group of queries), inputs and outputs.
    flops : :class:`int` or array
        Floating-point operations.
    dtype_bytes : :class:`int`
        Bytes of one element.
    merged : :class:`int`
        GEMMs with the same input that serving engines run as one kernel, this one among them.
    """

    name: str
    kind: Literal["gemm", "attention", "norm", "activation", "allreduce", "lookup"]
    m: Any
    n: Any
    k: Any
    count: Any = 1
    weight_bytes: Any = 0
    kv_bytes: Any = 0
    activation_bytes: Any = 0
    flops: Any = 0
    dtype_bytes: int = 2
    merged: int = 1

    @property
    def bytes(self) -> Any:
        """Least bytes that the operator moves."""
        return self.weight_bytes + self.kv_bytes + self.activation_bytes


def _share(what: str, total: int, tp: int) -> int:
    if total % tp:
        raise ConfigError(f"tensor parallelism of {tp} does not divide the model's {total} {what}")
    return total // tp


def _gemm(name: str, m: int, n: float, k: float, dtype_bytes: int, bias: bool = False, merged: int = 1) -> Operator:
    return Operator(
        name,
        "gemm",
        m,
        n,
        k,
        weight_bytes=(n * k + bias * n) * dtype_bytes,
        activation_bytes=(m * k + m * n) * dtype_bytes,
        flops=2 * m * n * k,
        dtype_bytes=dtype_bytes,
        merged=merged,
    )


def layer_operators(model: ModelShape, batch: int, context: Any, tp: int = 1) -> list[Operator]:
    """Operators of one decoder layer on one of ``tp`` devices, in order of execution.

    ``context`` is the number of tokens attended to, the new one included (int or integer array). With fewer key/value
    heads than devices each device holds a copy of one.

    Raises
    ------
    :exc:`ConfigError`
        If ``tp`` does not divide the attention heads or the FFN width. Also if neither ``tp`` nor the number of
        key/value heads divides the other.
    """
    b, d, size = batch, model.hidden_size, model.dtype_bytes
    heads = _share("attention heads", model.heads, tp)
    width = model.ffn_share(tp)
    if model.kv_heads >= tp:
        kv_heads = _share("key/value heads", model.kv_heads, tp)
    elif tp % model.kv_heads:
        raise ConfigError(f"tensor parallelism of {tp} is no multiple of the model's {model.kv_heads} key/value heads")
    else:
        kv_heads = 1
    group, dim = heads // kv_heads, model.head_dim
    attended = model.attended(context)
    instances = b * kv_heads
    kv = instances * attended * dim * size

    norm_bytes = 3 * b * d * size
    vectors = -(-model.norm_vectors // 2)

    def norm(name: str) -> Operator:
        return Operator(
            name,
            "norm",
            b,
            d,
            1,
            weight_bytes=vectors * d * size,
            activation_bytes=norm_bytes,
            flops=NORM_FLOPS * b * d,
        )

    out = [
        norm("attention_norm"),
        _gemm("qkv", b, model.columns(heads + 2 * kv_heads), d, size, model.qkv_bias),
        Operator(
            "attention_score",
            "attention",
            group,
            attended,
            dim,
            instances,
            kv_bytes=kv,
            activation_bytes=instances * group * dim * size,
            flops=(2 * dim + SOFTMAX_FLOPS) * instances * group * attended,
            dtype_bytes=size,
        ),
        Operator(
            "attention_context",
            "attention",
            group,
            dim,
            attended,
            instances,
            kv_bytes=kv,
            activation_bytes=instances * group * dim * size,
            flops=2 * dim * instances * group * attended,
            dtype_bytes=size,
        ),
        _gemm("out_projection", b, d, model.columns(heads), size, model.out_bias),
    ]
    if tp > 1:
        out.append(Operator("attention_allreduce", "allreduce", b, d, 1, activation_bytes=b * d * size))
    out.append(norm("ffn_norm"))
    if model.gated:
        out += [_gemm(name, b, width, d, size, model.ffn_bias, merged=2) for name in ("ffn_gate", "ffn_up")]
        flops, operands = GATED_FLOPS, 3
    else:
        out.append(_gemm("ffn_up", b, width, d, size, model.ffn_bias))
        flops, operands = RELU_FLOPS if model.activation == "relu" else GELU_FLOPS, 2
    out.append(
        Operator(
            "ffn_activation",
            "activation",
            b,
            width,
            1,
            activation_bytes=operands * b * width * size,
            flops=flops * b * width,
        )
    )
    out.append(_gemm("ffn_down", b, d, width, size, model.ffn_bias))
    if tp > 1:
        out.append(Operator("ffn_allreduce", "allreduce", b, d, 1, activation_bytes=b * d * size))
    return out


def embedding_operators(model: ModelShape, batch: int) -> list[Operator]:
    """Operators before the first layer: reading ``batch`` rows of the tables, and the projection of a narrow
    embedding."""
    size = model.dtype_bytes
    rows = batch * (model.embed_dim + (model.hidden_size if model.position_rows else 0)) * size
    out = [
        Operator(
            "embedding",
            "lookup",
            batch,
            model.embed_dim,
            1,
            weight_bytes=rows,
            activation_bytes=batch * model.embed_dim * size,
        )
    ]
    if model.embed_dim != model.hidden_size:
        out.append(_gemm("embedding_projection", batch, model.hidden_size, model.embed_dim, size))
    return out


def head_operators(model: ModelShape, batch: int, tp: int = 1) -> list[Operator]:
    """Operators after the last layer: final norm, the projection of a narrow embedding, and the output matrix.

    The vocabulary is split over ``tp`` devices (rounded up). Choosing the token from the logits is not included.
    """
    b, d, size = batch, model.hidden_size, model.dtype_bytes
    out = []
    if model.final_norm_vectors:
        out.append(
            Operator(
                "final_norm",
                "norm",
                b,
                d,
                1,
                weight_bytes=model.final_norm_vectors * d * size,
                activation_bytes=3 * b * d * size,
                flops=NORM_FLOPS * b * d,
            )
        )
    if model.embed_dim != d:
        out.append(_gemm("head_projection", b, model.embed_dim, d, size))
    out.append(_gemm("lm_head", b, -(-model.vocab_size // tp), model.embed_dim, size))
    return out
