"""Selections of a run: what each head reads, at some of the contexts of the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..program.selected import Fetch, fetch, runs
from .methods import Method
from .source import KeySource

__all__ = ["StepSelection", "sampled_contexts", "select_steps"]


@dataclass(frozen=True)
class StepSelection:
    """Selections of all heads of a source at one context.

    Attributes
    ----------
    context : tokens that are there, the step's own included
    runs : for each head, first units and lengths of its runs, ascending
    slots : slots of the heads' placements, the largest number
    fetch : means over heads
    """

    context: int
    runs: tuple[tuple[np.ndarray, np.ndarray], ...]
    slots: int
    fetch: Fetch


def sampled_contexts(first: int, last: int, most: int, interval: int, origin: int = 0) -> np.ndarray:
    """At most ``most`` of the contexts ``first`` to ``last``, ascending, int64.

    Fewer contexts are all taken. Else ``most`` parts of equal size give one each. Tokens that are not clustered
    yet grow with the context after ``origin``, up to ``interval``. So contexts come with evenly spread remainders of
    ``interval``, in the order of reversed bits. A part smaller than an interval gives its middle.
    """
    count = last - first + 1
    if count <= most:
        return np.arange(first, last + 1)
    bits = max((most - 1).bit_length(), 1)
    out = []
    for number in range(most):
        low, high = first + number * count // most, first + (number + 1) * count // most
        middle = (low + high) // 2
        if high - low >= interval:
            wanted = int(f"{number:0{bits}b}"[::-1], 2) * interval // (1 << bits)
            begin = middle - interval // 2
            middle = begin + (wanted - (begin - origin)) % interval
            middle += interval * ((middle < low) - (middle >= high))
        out.append(middle)
    return np.array(out, np.int64)


def select_steps(
    method: Method, source: KeySource, contexts: Sequence[int] | np.ndarray, unit: int
) -> list[StepSelection]:
    """Selections of all heads of a source at some contexts. ``unit``: tokens of an access unit.

    Raises
    ------
    :exc:`ConfigError`
        For a key that is no number, or a method that needs more than the source has.
    """
    contexts = np.asarray(contexts, np.int64)
    keys = source.keys(int(contexts.max()))
    asked = [source.queries(int(context)) for context in contexts]
    queries = np.stack([one[0] for one in asked], axis=1)
    hints = None if any(one[1] is None for one in asked) else np.stack([np.asarray(one[1]) for one in asked], axis=1)
    method.learn(keys)
    placed, chosen = [], []
    for head in range(len(keys)):
        lists = method.choose(
            queries[head], keys[head], contexts, head=head, hint=None if hints is None else hints[head]
        )
        chosen.append([lists.tokens[low:high] for low, high in zip(lists.first[:-1], lists.first[1:], strict=True)])
        placed.append(method.placements(keys[head], contexts, head=head))
    out = []
    for number, context in enumerate(contexts.tolist()):
        placements, tokens = [one[number] for one in placed], [one[number] for one in chosen]
        out.append(
            StepSelection(
                context,
                tuple(runs(place.of(some), unit) for place, some in zip(placements, tokens, strict=True)),
                max(place.slots for place in placements),
                fetch(placements, tokens, unit),
            )
        )
    return out
