"""Partial results of attention as beats, alike for the processing unit, the reduction unit and compositions of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..constraints.contract import Layout
from ..constraints.units.pam_partials import PartialKind

__all__ = ["beat_name", "partial_beats"]


def partial_beats(layout: Layout, m: np.ndarray, scalar: np.ndarray, o: np.ndarray, *, kind: PartialKind = PartialKind.SUM,
                  all_final: bool = True) -> np.ndarray:
    """Payloads of the partial results of a step: uint8, shape ``(beats, payload_bytes)``.

    Parameters
    ----------
    layout : as ``constraints.units.pam_partials.partial_layout`` makes it
    m : contents of the first beat of each: the row maximum, with the scale above it if there is one
    scalar, kind : contents of the second beat, and their kind
    o : elements of O, shape ``(partial results, head_dim)``
    all_final : whether ``final`` is on every beat of O of the last partial result; else only on its last
    """
    lanes = next(field.count for field in layout.fields if field.name == "data")
    count, chunks = len(o), o.shape[1] // lanes
    last = np.arange(chunks) == chunks - 1
    final = (np.arange(count) == count - 1)[:, None] & (last | all_final)
    beats = np.empty((count, 2 + chunks, layout.payload_bytes), np.uint8)
    beats[:, 0] = layout.pack(data=m, kind=PartialKind.MAXIMUM)
    beats[:, 1] = layout.pack(data=scalar, kind=kind)
    beats[:, 2:] = layout.pack(data=o.reshape(-1, lanes), kind=PartialKind.OUTPUT, last=np.tile(last, count),
                               final=final.ravel()).reshape(count, chunks, -1)
    return beats.reshape(-1, layout.payload_bytes)


def beat_name(results: Sequence[tuple[str, int]], at: int) -> str:
    """Name of beat ``at`` in a sequence of partial results. Each result has a name and a number of beats of O, which
    follow m and l."""
    for name, chunks in results:
        if at < 2 + chunks:
            return f"{name}, " + (("m", "l")[at] if at < 2 else f"O chunk {at - 2}")
        at -= 2 + chunks
    raise IndexError(at)
