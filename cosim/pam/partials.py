"""Partial results of attention as beats, alike for the processing unit, the reduction unit and compositions of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...constraints.core.contract import Layout
from ...constraints.pam.partials import PartialKind

__all__ = ["beat_name", "partial_beats"]


def partial_beats(
    layout: Layout,
    m: np.ndarray,
    scalar: np.ndarray,
    o: np.ndarray,
    *,
    kind: PartialKind = PartialKind.SUM,
    all_final: bool = True,
) -> np.ndarray:
    """Payloads of the partial results of a step: uint8, shape ``(beats, payload_bytes)``.

    A partial result has m and l of each query, one query after the other. Then it has chunk 0 of O of each query, chunk 1
    of each query, and so on.

    Parameters
    ----------
    layout : as ``constraints.pam.partials.partial_layout`` makes it
    m : contents of the first beat of each: the row maximum, with the scale above it if there is one
    scalar, kind : contents of the second beat, and their kind
    o : elements of O, shape ``(partial results, head_dim)``
    all_final : whether ``final`` is on every beat of O of the last partial result; else only on its last

    With several queries, ``m`` and ``scalar`` have the shape ``(partial results, queries)``, and ``o`` has the shape
    ``(partial results, queries, head_dim)``.
    """
    lanes = next(field.count for field in layout.fields if field.name == "data")
    count, dim = len(o), o.shape[-1]
    m, scalar, o = (part.reshape(count, -1, *tail) for part, tail in ((m, ()), (scalar, ()), (o, (dim,))))
    queries, chunks = m.shape[1], dim // lanes
    numbered = "query" in layout.widths

    def number(query: np.ndarray) -> dict[str, np.ndarray]:
        return {"query": np.tile(query, count)} if numbered else {}

    last = np.arange(chunks * queries) == chunks * queries - 1
    final = (np.arange(count) == count - 1)[:, None] & (last | all_final)
    beats = np.empty((count, (2 + chunks) * queries, layout.payload_bytes), np.uint8)
    each = number(np.arange(queries))
    for place, values, what in ((0, m, PartialKind.MAXIMUM), (1, scalar, kind)):
        beats[:, place : 2 * queries : 2] = layout.pack(data=values.ravel(), kind=what, **each).reshape(
            count, queries, -1
        )
    elements = o.reshape(count, queries, chunks, lanes).swapaxes(1, 2).reshape(-1, lanes)
    beats[:, 2 * queries :] = layout.pack(
        data=elements,
        kind=PartialKind.OUTPUT,
        last=np.tile(last, count),
        final=final.ravel(),
        **number(np.tile(np.arange(queries), chunks)),
    ).reshape(count, chunks * queries, -1)
    return beats.reshape(-1, layout.payload_bytes)


def beat_name(results: Sequence[tuple[str, int, int]], at: int) -> str:
    """Name of beat ``at`` in a sequence of partial results. Each result has a name, a number of queries and a number of
    beats of O for each query. The beats of O follow m and l."""
    for name, queries, chunks in results:
        if at < (2 + chunks) * queries:
            of_query = at < 2 * queries
            query = at // 2 if of_query else (at - 2 * queries) % queries
            name += f", query {query}" if queries > 1 else ""
            return f"{name}, " + (("m", "l")[at % 2] if of_query else f"O chunk {(at - 2 * queries) // queries}")
        at -= (2 + chunks) * queries
    raise IndexError(at)
