"""Operations of decoding relative to the peak of LoL-PIM's nodes."""

from __future__ import annotations

from ..llm import ModelShape, layer_operators

__all__ = ["NODE_UNITS", "UNIT_FLOPS", "utilisation"]

#: Units of a node of LoL-PIM, and the peak of one unit: 16 multiply-accumulates a nanosecond.
NODE_UNITS, UNIT_FLOPS = 2048, 32e9


def utilisation(model: ModelShape, tokens_per_s: float, nodes: float, context: float) -> float:
    """Fraction of the peak of ``nodes`` nodes that the operations of decoding take, without the output matrix.

    A token takes ``2 P + 4 n d T`` operations: ``P`` parameters of the layers' matrices, ``n`` layers, ``d`` the width
    of all queries, ``T`` the mean context. The formula gives all nine figures of LoL-PIM's Table 8 to 0.05 points.
    """
    matrices = model.layers * sum(op.n * op.k for op in layer_operators(model, 1, 1) if op.kind == "gemm")
    attention = 4 * model.layers * model.heads * model.head_dim * context
    return tokens_per_s * (2 * matrices + attention) / (nodes * NODE_UNITS * UNIT_FLOPS)
