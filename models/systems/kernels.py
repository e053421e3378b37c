"""Measured times of a GPU's operators, interpolated between the measured points.

Along the axes of a table, times are straight lines between measured points. Shapes of attention and numbers of GPUs must
have been measured. A matrix between measured ones takes its share of a bound from the four nearest measured matrices. Their
distances are of the logarithms of ``n`` and ``k``; the weights are the inverse squares. This is the rule of the source,
``aiconfigurator-core``: its compiled engine was asked at points in between. Work beyond the largest measured number of
rows, columns or requests runs in several calls. Nothing else is extrapolated.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from ...constraints.core.document import parse_json, read_text, validate
from ...constraints.core.errors import ConfigError, nearest
from ...constraints.core.workspace import kept
from ...constraints.kernels import FILES, OPERATORS, KernelFile

__all__ = ["KernelGap", "Kernels", "load_kernels", "neighbours"]

#: Largest file of kernel records, in bytes.
_MAX_BYTES = 64 << 20

#: Measured matrices that a matrix in between is interpolated from.
_NEIGHBOURS = 4


class KernelGap(ConfigError):
    """A time that was not measured and lies between no measured points."""


class Kernels:
    """Times of a file, in seconds.

    Attributes
    ----------
    name : :class:`str`
        Name of the built-in file, or the path.
    file : :class:`KernelFile`
        Contents of the file.

    Raises
    ------
    :exc:`KernelGap`
        By every method, for a point outside the measured ones. The message names the shape and what was measured.
    """

    def __init__(self, name: str, file: KernelFile) -> None:
        self.name, self.file = name, file
        self._axes: dict[str, list[np.ndarray]] = {
            operator: [np.array(points) for points in table.axes.values()] for operator, table in file.tables.items()
        }
        self._times: dict[str, dict[tuple[int, ...], np.ndarray]] = {
            operator: {shape: np.array(grid, float) * 1e-6 for shape, grid in table.shapes()}
            for operator, table in file.tables.items()
        }
        if "gemm" in self._times:
            self._matrices = np.array(list(self._times["gemm"]))
            self._rows = np.array(list(self._times["gemm"].values()))
        self._matrix_memo: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = {}

    @property
    def largest_rows(self) -> int:
        """Rows of the largest measured matrix products."""
        self._table("gemm")
        return int(self._axes["gemm"][0][-1])

    @property
    def shortest_context(self) -> int:
        """Smallest context of decoding with measured times."""
        self._table("attention_decode")
        return int(self._axes["attention_decode"][1][0])

    def longest_context(self, heads: int, kv_heads: int, head_dim: int) -> int:
        """Largest context of decoding with measured times; 0 if there is none."""
        known = _filled(self._grid("attention_decode", (heads, kv_heads, head_dim))[0])
        return int(self._axes["attention_decode"][1][known - 1]) if known else 0

    def gemm(self, m: int, n: int, k: int) -> float:
        """Time of a product of ``m x k`` by ``k x n``. Rows beyond the largest measured number run in several calls, and
        columns beyond it in equal parts."""
        self._table("gemm")
        parts = -(-n // int(self._matrices[:, 0].max()))
        if parts > 1:
            return parts * self.gemm(m, -(-n // parts), k)
        largest = self.largest_rows
        if m > largest:
            calls, rest = divmod(m, largest)
            return calls * self.gemm(largest, n, k) + (self.gemm(rest, n, k) if rest else 0.0)
        low, high, share = self._along("gemm", 0, m, (n, k))
        which, weights = self._nearest(n, k)
        rows = self._rows[which]
        seconds = rows[:, low] + share * (rows[:, high] - rows[:, low])
        if np.isnan(seconds).any():
            raise self._gap("gemm", (n, k), f"m {m}", "has a hole there")
        if len(which) == 1:
            return float(seconds[0])
        sizes = self._matrices[which]
        reached = self._bound(m, sizes[:, 0], sizes[:, 1]) / seconds
        return float(self._bound(m, n, k) / (weights @ reached))

    def _nearest(self, n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Places of the measured matrices next to ``n x k``, and their weights."""
        if (n, k) not in self._matrix_memo:
            least, most = self._matrices.min(axis=0), self._matrices.max(axis=0)
            if not (least <= (n, k)).all() or not ((n, k) <= most).all():
                raise self._gap("gemm", (n, k), "", f"lies beyond {least[0]} x {least[1]} to {most[0]} x {most[1]}")
            which, weights = neighbours(self._matrices, n, k)
            self._matrix_memo[n, k] = which, weights
        return self._matrix_memo[n, k]

    def _bound(self, m: int, n: Any, k: Any) -> Any:
        """Least time of a product by the peak and the bandwidth of the file."""
        return np.maximum(
            2.0 * m * n * k / (self.file.peak_tflops * 1e12),
            2.0 * (m * k + n * k + m * n) / (self.file.bandwidth_gb_s * 1e9),
        )

    def decode_attention(
        self, batch: int, contexts: np.ndarray, heads: int, kv_heads: int, head_dim: int
    ) -> np.ndarray:
        """Times of attention of ``batch`` requests that attend to ``contexts[i]`` tokens each, for every ``i``. Requests
        beyond the largest number measured at that context run in several calls."""
        return self._attention("attention_decode", batch, contexts, (heads, kv_heads, head_dim))

    def prefill_attention(self, batch: int, tokens: np.ndarray, heads: int, kv_heads: int, head_dim: int) -> np.ndarray:
        """Times of causal attention of ``batch`` prompts of ``tokens[i]`` tokens each, for every ``i``."""
        return self._attention("attention_prefill", batch, tokens, (heads, kv_heads, head_dim))

    def _attention(self, operator: str, batch: int, tokens: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        grid, (batches, points) = self._grid(operator, shape), self._axes[operator]
        asked = np.asarray(tokens, np.int64)
        for number in (int(asked.min()), int(asked.max())):
            self._along(operator, 1, number, shape)
        low = np.searchsorted(points, asked, "right") - 1
        high = np.where(points[low] == asked, low, low + 1)
        out = np.empty(asked.shape)
        for left, right in {*zip(low.ravel().tolist(), high.ravel().tolist(), strict=True)}:
            here = (low == left) & (high == right)
            both = grid[:, [left, right]]
            known = _filled(both.sum(axis=1))
            if not known:
                raise self._gap(
                    operator,
                    shape,
                    f"batch {batch}, {OPERATORS[operator].axes[1]} {int(asked[here].min())}",
                    "has a hole there",
                )
            calls, rest = divmod(batch, int(batches[known - 1])) if batch > batches[known - 1] else (0, batch)
            ends = [
                calls * one[known - 1] + (np.interp(rest, batches[:known], one[:known]) if rest else 0.0)
                for one in both.T
            ]
            out[here] = np.interp(asked[here], points[[left, right]], ends) if left != right else ends[0]
        return out

    def all_reduce(self, elements: int, gpus: int) -> float:
        """Time to sum ``elements`` numbers over ``gpus`` GPUs of a node."""
        grid = self._grid("all_reduce", (gpus,))
        low, high, share = self._along("all_reduce", 0, elements, (gpus,))
        return float(grid[low] + share * (grid[high] - grid[low]))

    # Lookup ----------------------------------------------------------------------------------------------------------

    def _table(self, operator: str) -> dict[tuple[int, ...], np.ndarray]:
        if operator not in self._times:
            raise KernelGap(f"kernel records {self.name}: no table '{operator}'; it has {', '.join(self._times)}")
        return self._times[operator]

    def _grid(self, operator: str, shape: tuple[int, ...]) -> np.ndarray:
        table = self._table(operator)
        if shape not in table:
            near = sorted(table, key=lambda other: sum(abs(np.log(a / b)) for a, b in zip(other, shape, strict=True)))[
                :3
            ]
            raise self._gap(
                operator,
                shape,
                "",
                "was not measured; the nearest are " + ", ".join(" x ".join(map(str, each)) for each in near),
            )
        return table[shape]

    def _along(self, operator: str, axis: int, value: int, shape: tuple[int, ...]) -> tuple[int, int, float]:
        points = self._axes[operator][axis]
        if not points[0] <= value <= points[-1]:
            name = OPERATORS[operator].axes[axis]
            raise self._gap(operator, shape, f"{name} {value}", f"lies beyond {points[0]} to {points[-1]}")
        return _between(points, value)

    def _gap(self, operator: str, shape: tuple[int, ...], point: str, why: str) -> KernelGap:
        what = f"{' x '.join(OPERATORS[operator].shape)} = {' x '.join(map(str, shape))}" + (
            f", {point}" if point else ""
        )
        return KernelGap(f"kernel records {self.name}: {operator} with {what} {why}")


def neighbours(matrices: np.ndarray, n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Places of the measured ``matrices`` that a matrix ``n x k`` is interpolated from, and weights that add up to 1."""
    distance = np.hypot(*(np.log(matrices) - np.log((n, k))).T)
    which = np.argsort(distance, kind="stable")[:_NEIGHBOURS]
    if distance[which[0]] == 0:
        return which[:1], np.ones(1)
    weights = distance[which] ** -2.0
    return which, weights / weights.sum()


def _filled(times: np.ndarray) -> int:
    """Number of times before the first hole."""
    holes = np.isnan(times)
    return int(np.argmax(holes)) if holes.any() else len(times)


def _between(points: np.ndarray, value: float) -> tuple[int, int, float]:
    """Places of the points around ``value``, and its share of the way between them."""
    low = int(np.searchsorted(points, value, "right")) - 1
    if points[low] == value:
        return low, low, 0.0
    return low, low + 1, float((value - points[low]) / (points[low + 1] - points[low]))


def load_kernels(name_or_path: str | os.PathLike[str]) -> Kernels:
    """Kernel records by name of a built-in file, or by path (a name with ``/`` or ``.json``).

    Raises
    ------
    :exc:`ConfigError`
        If there is no such file, or its contents do not satisfy the schema.
    """
    text = os.fspath(name_or_path)
    if "/" in text or text.endswith(".json"):
        path = Path(text)
    elif text in FILES:
        path = FILES[text]
    else:
        raise ConfigError(nearest("kernel records", text, FILES))
    return _loaded(text, str(path), path.stat().st_mtime if path.exists() else 0.0)


@kept
def _loaded(name: str, path: str, stamp: float) -> Kernels:
    document = parse_json(read_text(path, "kernel records", _MAX_BYTES), path)
    return Kernels(name, validate(document, KernelFile, path))
