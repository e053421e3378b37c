"""Operators as functions of arrays: their Verilog, made and simulated in one call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bankside.cosim.bench.vectors import evaluate

__all__ = ["evaluate_operator"]


def evaluate_operator(
    component: Any, operands: Mapping[str, np.ndarray], *, name: str = "operator"
) -> dict[str, np.ndarray]:
    """Results of a :class:`StreamOperator` for every set of operands, through its Verilog.

    Parameters
    ----------
    component : :class:`StreamOperator`, of any depth
    operands : for each field of its input payload an integer array of shape ``(n,)`` with bit patterns, or ``(n,
        length)`` for a field that is an array; fields are up to 64 bits wide
    name : name of the module in the Verilog

    Returns
    -------
    For each field of its output payload an int64 array (uint64 at 64 bits) of the same kind of shape.
    """
    from amaranth.back import verilog

    text = verilog.convert(component, name=name, emit_src=False, strip_internal_attrs=True)
    fields, width = _fields(component._operands)
    if set(operands) != set(component._operands):
        raise ValueError(f"Operands must be {', '.join(component._operands)}, not {', '.join(operands)}")
    arrays = {key: np.asarray(value) for key, value in operands.items()}
    lengths = {key: len(array) for key, array in arrays.items()}
    if len(set(lengths.values())) != 1:
        raise ValueError(f"Vectors of all inputs must be equally many, not {lengths}")
    for key, array in arrays.items():
        several = [index + 1 for other, index, _, _ in fields if other == key and index is not None]
        shape = f"(n, {several[-1]})" if several else "(n,)"
        if array.dtype.kind not in "iub" or array.shape[1:] != tuple(several[-1:]):
            raise ValueError(
                f"Vectors of {key!r} must be integers of shape {shape}, not {array.dtype} of {array.shape}"
            )
    count = len(next(iter(arrays.values())))
    payload: np.ndarray
    if width <= 64:
        payload = np.zeros(count, np.uint64)
    else:
        payload = np.zeros((count, -(-width // 64)), np.uint64)
    for key, index, offset, size in fields:
        values = arrays[key] if index is None else arrays[key][:, index]
        values = values.astype(np.int64 if values.dtype.kind == "i" else np.uint64).view(np.uint64)
        values = values & np.uint64((1 << size) - 1)
        if width <= 64:
            payload |= values << np.uint64(offset)
        else:
            payload[:, offset // 64] |= values << np.uint64(offset % 64)
            if offset % 64 + size > 64:
                payload[:, offset // 64 + 1] |= values >> np.uint64(64 - offset % 64)
    results, out_width = _fields(component._results)
    out = evaluate(
        text,
        name,
        [("i__payload", width)],
        [("o__payload", out_width)],
        {"i__payload": payload},
        latency=component.latency["result"],
    )["o__payload"]
    if out_width > 64:
        out = np.pad(out, ((0, 0), (0, -out.shape[1] % 8))).view("<u8")
    else:
        out = out.astype(np.uint64).reshape(count, 1)
    found: dict[str, list[np.ndarray]] = {}
    for key, _, offset, size in results:
        values = out[:, offset // 64] >> np.uint64(offset % 64)
        if offset % 64 + size > 64:
            values = values | out[:, offset // 64 + 1] << np.uint64(64 - offset % 64)
        values = values & np.uint64((1 << size) - 1)
        found.setdefault(key, []).append(values if size == 64 else values.astype(np.int64))
    single = {key for key, index, _, _ in results if index is None}
    return {key: parts[0] if key in single else np.stack(parts, axis=1) for key, parts in found.items()}


def _fields(shapes: Mapping[str, Any]) -> tuple[list[tuple[str, int | None, int, int]], int]:
    """Name, index in an array or None, offset and width of every number in a payload; and its width."""
    from amaranth.hdl import Shape
    from amaranth.lib import data

    fields: list[tuple[str, int | None, int, int]] = []
    offset = 0
    for key, shape in shapes.items():
        indices: list[int | None] = [None]
        size = Shape.cast(shape).width
        if isinstance(shape, data.ArrayLayout):
            indices, size = list(range(shape.length)), Shape.cast(shape.elem_shape).width
        for index in indices:
            if size > 64:
                raise ValueError(f"Fields must be 64 bits wide at most, not {size}: {key}")
            fields.append((key, index, offset, size))
            offset += size
    return fields, offset
