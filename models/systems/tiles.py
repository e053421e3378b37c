"""Tiles of a matrix product on a device whose processors have a cache each and share another.

The output is cut into tiles, and a processor works on one tile at a time. Tiles go in waves, and the last wave leaves
processors idle. The tile of a processor's cache moves the fewest bytes out of the shared cache, over the square of the
share of busy processors. The tile of the shared cache moves the fewest bytes out of memory.
This is the search of the AttAcc simulator (Park et al., ASPLOS 2024).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ...constraints.systems import TileSpec

__all__ = ["Tiling", "find_tiling", "waves"]

#: Tiles that are looked at together, of all products.
_BLOCK = 1 << 19


@dataclass(frozen=True)
class Tiling:
    """What the best tiles of a product cost; one value per product.

    Attributes
    ----------
    memory_bytes, shared_bytes
        Bytes that pass memory and the shared cache.
    busy
        Share of the processors that work, over all waves.
    """

    memory_bytes: np.ndarray
    shared_bytes: np.ndarray
    busy: np.ndarray


def waves(spec: TileSpec, blocks: Any) -> Any:
    """Share of the processors that work while they take so many blocks in waves."""
    return blocks / (np.ceil(blocks / spec.processors) * spec.processors)


def find_tiling(spec: TileSpec, m: float, n: Any, k: Any, count: float, size: int, *, split: bool) -> Tiling:
    """The best tiles of ``count`` products of ``m x k`` by ``k x n`` elements of ``size`` bytes.

    ``n`` and ``k`` may be arrays. With ``split`` each tile has a processor to itself, without each product.
    """
    n, k = np.broadcast_arrays(np.asarray(n, float), np.asarray(k, float))
    if split or n.size == 1:
        return _found(spec, float(m), n, k, float(count), size, split)
    # Products that are not split have the same tiles, however many there are.
    one = _one_each(spec.model_dump_json(), float(m), n.tobytes(), k.tobytes(), size)
    return Tiling(
        *(
            (values * times).reshape(n.shape)
            for values, times in (
                (one.memory_bytes, count),
                (one.shared_bytes, count),
                (np.ones(n.size), waves(spec, count)),
            )
        )
    )


@lru_cache(maxsize=16)
def _one_each(spec: str, m: float, n: bytes, k: bytes, size: int) -> Tiling:
    """Tiles of one product of each shape, whole on its processor."""
    return _found(TileSpec.model_validate_json(spec), m, np.frombuffer(n), np.frombuffer(k), 1.0, size, False)


def _found(spec: TileSpec, m: float, n: np.ndarray, k: np.ndarray, count: float, size: int, split: bool) -> Tiling:
    pairs, where = np.unique(np.stack([n.ravel(), k.ravel()]), axis=1, return_inverse=True)
    block = max(_BLOCK // len(spec.sizes) ** 2, 1)
    parts = [
        _search(spec, m, wide, deep, count, size, split)
        for wide, deep in (pairs[:, begin : begin + block] for begin in range(0, pairs.shape[1], block))
    ]
    return Tiling(*(np.concatenate(part)[where.ravel()].reshape(n.shape) for part in zip(*parts, strict=True)))


def _search(
    spec: TileSpec, m: float, n: np.ndarray, k: np.ndarray, count: float, size: int, split: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Memory bytes, shared bytes and busy share. Sums are in the order of the simulator, so that ties fall as there."""
    sizes = np.array(spec.sizes, float)
    rows, columns = (grid.reshape(-1, 1) for grid in np.meshgrid(sizes, sizes, indexing="ij"))
    tm, tn = np.minimum(rows, m), np.minimum(columns, n)
    shared = (np.ceil(n / tn) * m * k * size * count + np.ceil(m / tm) * n * k * size * count) + m * n * size * count
    blocks = np.ceil(m / tm) * np.ceil(n / tn) * count if split else np.full(tn.shape, count)
    busy = waves(spec, blocks)
    held = (tm + tn) * spec.l1_depth * size + tm * tn * size
    cost = np.where(held > spec.l1_kib * 1024, np.inf, shared * (1 / busy) ** 2)
    best = cost.argmin(axis=0)
    at = np.arange(len(n))
    tm, tn, shared, busy = tm[best, 0], tn[best, at], shared[best, at], busy[best, at]

    # Columns of a shared tile: as many whole ones of a processor as fit beside its rows, since more never cost more.
    capacity, depth = spec.l2_mib * 2**20 / size, k / spec.l2_parts
    # Rows beyond what the cache holds beside the fewest columns need no look.
    most = int((np.minimum(m, capacity / tn) / tm).max()) + 2
    high = np.minimum(tm * np.arange(1, most)[:, None], m)

    def fits(wide: np.ndarray) -> np.ndarray:
        return np.asarray((high + wide) * depth + high * wide <= capacity)

    many = np.floor(np.clip((capacity - high * depth) / (high + depth), 0, n) / tn)
    many = np.where(fits((many + 1) * tn), many + 1, np.where(fits(many * tn), many, many - 1))
    wide = np.where(fits(np.broadcast_to(n, high.shape)), n, np.minimum(many, np.floor(n / tn)) * tn)
    # A processor's own tile is taken even where it does not fit.
    wide = np.where((wide <= 0) & (high == tm), tn, np.maximum(wide, 0))
    with np.errstate(divide="ignore"):
        moved = np.ceil(m / high) * n * k * size + np.ceil(n / wide) * m * k * size + m * n * size
    return moved.min(axis=0) * count, shared, busy
