"""Functional models of compositions of PAM's units: the models of the parts, applied level by level, bit-exact.

Source: PAM (MICRO 2025) Algorithm 1 and section 5.2.2. ``constraints.pam`` defines the shape of the tree.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...constraints.core.formats import FORMATS
from ...constraints.pam.bank_group import PamBankGroupConfig
from ...constraints.pam.hbm_slice import PamSliceConfig
from ...constraints.pam.pu import PamPuConfig
from ...constraints.pam.reduction_tree import PamReductionTreeConfig, merger
from ...constraints.pam.tier_merge import PamTierMergeConfig
from ..numerics import convert
from .pu import group_partials
from .ru import Partial, Reduced, in_order, reduce_partials

__all__ = ["as_source", "bank_partials", "group_attention", "reduction_tree", "slice_attention", "tier_merge"]


def as_source(result: Reduced) -> Partial:
    """Turn a result into the only partial result that a source of the next level sends."""
    return Partial(*(np.asarray(part)[None] for part in (result.m, result.scale, result.l, result.o)))


def bank_partials(config: PamPuConfig, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> Partial:
    """Partial results that a processing unit sends for a step, one for each tile; see :func:`group_partials`.

    With ``q`` of shape ``(queries, head_dim)``, they have a second axis, of queries.
    """
    parts = group_partials(config, np.atleast_2d(q), k, v)
    m, total, o = (np.stack([getattr(part, name) for part in parts], axis=1) for name in ("m", "l", "o"))
    several = Partial(m, np.zeros_like(m), total, o)
    return several if np.ndim(q) > 1 else several.at((slice(None), 0))


def group_attention(
    config: PamBankGroupConfig, q: np.ndarray, k: Sequence[np.ndarray], v: Sequence[np.ndarray], *, normalise: bool
) -> Reduced:
    """One step of a bank group.

    Parameters
    ----------
    q : int64 array of shape ``(head_dim,)``, or ``(queries, head_dim)``
        Bits of the query, scaled by 1/sqrt(head_dim). The results of several queries have an axis of queries.
    k, v : for each bank, int64 array of shape ``(tokens, head_dim)``
    normalise : whether O is divided by l
    """
    sources = [bank_partials(config.processing, q, *part) for part in zip(k, v, strict=True)]
    return reduce_partials(config.reduction, in_order(config.reduction, sources), normalise=normalise)


def reduction_tree(config: PamReductionTreeConfig, sources: Sequence[Partial], *, normalise: bool) -> Reduced:
    """One step of a tree of at least one unit. ``sources`` has the partial results of every source; the lengths of
    their first axes may differ."""
    level: list[Partial] = list(sources)
    for number, sizes in enumerate(config.levels):
        merged: list[Partial] = []
        first = 0
        last = number == len(config.levels) - 1
        for size in sizes:
            here, first = level[first : first + size], first + size
            if size == 1:
                merged += here
            else:
                unit = merger(config.unit, size)
                result = reduce_partials(unit, in_order(unit, here), normalise=last and normalise)
                if last:
                    return result
                merged.append(as_source(result))
        level = merged
    raise ValueError("a tree of one input has no unit")


def slice_attention(
    config: PamSliceConfig, q: np.ndarray, k: Sequence[np.ndarray], v: Sequence[np.ndarray], *, normalise: bool
) -> Reduced:
    """One step of several bank groups and their tree, or of an SSD controller.

    The arguments are as for :func:`group_attention`, with ``k`` and ``v`` for all processing units.
    """
    each, alone = config.reduction.sources, config.groups == 1
    results = [
        group_attention(
            config.group, q, k[g * each : (g + 1) * each], v[g * each : (g + 1) * each], normalise=normalise and alone
        )
        for g in range(config.groups)
    ]
    return results[0] if alone else reduction_tree(config.tree, [as_source(r) for r in results], normalise=normalise)


def tier_merge(config: PamTierMergeConfig, results: Sequence[Reduced], *, normalise: bool) -> Reduced:
    """Merge the results of HBM, DDR and SSD, each with m in its tier's format."""
    sources = []
    for result, name in zip(results, config.score_formats, strict=True):
        source, fmt = as_source(result), FORMATS[name]
        m = source.m if fmt == config.unit.score else convert(source.m, fmt, config.unit.score)
        sources.append(Partial(m, source.scale, source.l, source.o))
    return reduce_partials(config.unit, in_order(config.unit, sources), normalise=normalise)
