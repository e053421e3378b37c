"""Functional model of INF2's GEMV engine, bit-exact with the RTL.

Source of the tiling: INF2, accelerator. Source of the rounding: this project (``models.numerics``).
"""

from __future__ import annotations

import numpy as np

from ...constraints.inf2.gemv import Gemv, GemvMode, Inf2GemvConfig
from ..numerics import Accumulator, add, aligned_add, aligned_result, convert, exact_products, to_float64

__all__ = ["gemv", "reference", "tile_sums"]

#: Products that are computed at a time.
BLOCK = 1 << 20


def tile_sums(config: Inf2GemvConfig, vector: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Sums over tiles of ``lanes`` products, each rounded once to the accumulator's format.

    Parameters
    ----------
    vector : integer array of shape ``(terms,)``, bits
    matrix : integer array of shape ``(terms, outputs)``, bits

    Returns
    -------
    int64 array of shape ``(tiles, outputs)``, bits
    """
    lanes, window = config.lanes, config.window
    terms, outputs = matrix.shape
    tiles = -(-terms // lanes)
    # A product of zeros changes no sum.
    x = np.zeros(tiles * lanes, np.int64)
    x[:terms] = vector
    x = x.reshape(tiles, lanes)
    y = np.zeros((tiles * lanes, outputs), np.int64)
    y[:terms] = matrix
    y = y.reshape(tiles, lanes, outputs)
    out = np.empty((tiles, outputs), np.int64)
    size = max(BLOCK // max(outputs, 1), 1)
    for first in range(0, tiles, size):
        part = slice(first, first + size)
        state = Accumulator.zeros(out[part].shape, window)
        for term in range(min(lanes, terms)):
            aligned_add(state, exact_products(x[part, term, None], y[part, term], config.io), window)
        out[part] = aligned_result(state, window)
    return out


def gemv(config: Inf2GemvConfig, command: Gemv, vector: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Run one command.

    Parameters
    ----------
    vector : integer array: the query, of shape ``(head_dim,)``; or probabilities, of shape ``(tokens,)``
    matrix : integer array of shape ``(tokens, head_dim)``: K or V, bits

    Returns
    -------
    int64 array, bits in ``config.format``: all beats of the result one after the other. The outputs come first. The last
    beat may have more lanes, whose sums are of products with 0.

    Notes
    -----
    The first tile's sum becomes the output. The sums of further tiles are added to it in the accumulator's format, in
    their order. In the end the output is converted to ``config.format``.
    """
    config.check_command(command)
    vector, matrix = np.asarray(vector, np.int64), np.asarray(matrix, np.int64)
    if matrix.shape != (command.tokens, command.head_dim) or vector.shape != (command.terms,):
        raise ValueError(
            f"Matrix and vector must have the shapes {(command.tokens, command.head_dim)} and "
            f"{(command.terms,)}, not {matrix.shape} and {vector.shape}"
        )
    outputs = command.outputs
    given = np.zeros((command.terms, config.tiles(outputs) * config.lanes), np.int64)
    given[:, :outputs] = matrix.T if command.mode is GemvMode.QK else matrix
    total, *others = tile_sums(config, vector, given)
    for one in others:
        total = add(total, one, config.acc)
    return convert(total, config.acc, config.io)


def reference(config: Inf2GemvConfig, command: Gemv, vector: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """The outputs of the same bits in binary64."""
    x, y = to_float64(np.asarray(vector), config.io), to_float64(np.asarray(matrix), config.io)
    with np.errstate(all="ignore"):
        return np.asarray(y @ x if command.mode is GemvMode.QK else x @ y)
