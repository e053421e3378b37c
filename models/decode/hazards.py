"""What the number formats and orders of the systems do to a text: each hazard measured by runs that differ in it alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...constraints.core.formats import BF16
from ..llm.weights import Model
from ..numerics import encode
from ..numerics.sums import Lists
from .backend import Backend, Place, make_backend, values
from .evaluate import Run, compare, teacher_forced
from .inf2 import Inf2Backend

__all__ = ["Hazard", "hazards"]


@dataclass(frozen=True)
class Hazard:
    """A hazard, the perplexity with it and without it, and further figures by name."""

    name: str
    with_it: str
    without_it: str
    perplexity: float
    perplexity_without: float
    figures: dict[str, Any]


class RoundedScores(Backend):
    """Float32, with scores rounded to BF16. It notes the largest score and the largest error."""

    def __init__(self) -> None:
        super().__init__("float32 with BF16 scores")
        self.largest = self.error = 0.0

    def attention(self, place: Place, q: np.ndarray, k: np.ndarray, v: np.ndarray, lists: Lists) -> np.ndarray:
        scores = (q * np.float32(q.shape[-1] ** -0.5)) @ k.T
        dead = np.ones(scores.shape, bool)
        dead[lists.owners, lists.tokens] = False
        rounded = values(encode(scores, BF16), BF16)
        self.error = max(self.error, float(np.abs(np.where(dead, 0, rounded - scores)).max()))
        self.largest = max(self.largest, float(np.abs(np.where(dead, 0, scores)).max()))
        rounded[dead] = -np.inf
        weights = np.exp(rounded - rounded.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True) @ v


class _Inf2Masks(Inf2Backend):
    """INF2, with masks of another value."""

    def __init__(self, name: str, mask: float) -> None:
        super().__init__(name)
        self.rule = replace(self.rule, mask_value=mask)


def hazards(
    model: Model, tokens: np.ndarray, reference: Run | None = None, progress: Callable[[str], None] = lambda text: None
) -> list[Hazard]:
    """Measure every hazard on a text.

    Parameters
    ----------
    reference : a run over the same tokens, whose float32 logits are used again
    """
    done: dict[str, Run] = {}

    def run(name: str, backend: Backend) -> Run:
        nonlocal reference
        if name not in done:
            progress(name)
            done[name] = teacher_forced(model, backend, tokens, reference=reference)
            reference = reference or done[name]
        return done[name]

    def named(name: str) -> Run:
        return run(name, make_backend(name))

    def hazard(name: str, wrong: tuple[str, Run], right: tuple[str, Run], **figures: Any) -> Hazard:
        a, b = (compare(model, one) for one in (wrong[1], right[1]))
        different = float(np.abs(wrong[1].logits - right[1].logits).max())
        return Hazard(
            name, wrong[0], right[0], a.perplexity, b.perplexity, {"max_abs_logit_difference": different, **figures}
        )

    out = [hazard("FP16 sums of INF2", ("inf2", named("inf2")), ("inf2-fp32", named("inf2-fp32")))]
    scores = RoundedScores()
    rounded, exact = run("BF16 scores", scores), named("float32")
    out.append(
        hazard(
            "BF16 scores",
            ("float32 with BF16 scores", rounded),
            ("float32", exact),
            largest_score=scores.largest,
            largest_score_error=scores.error,
        )
    )
    taylor = named("cent-taylor")
    seen = taylor.details
    out.append(
        hazard(
            "Taylor exponential of CENT without maximum",
            ("cent-taylor", taylor),
            ("cent", named("cent")),
            smallest_score=seen["smallest_score"],
            largest_score=seen["largest_score"],
            scores=seen["scores"],
            scores_beyond_range=seen["scores_beyond_exponential"],
        )
    )
    out.append(hazard("order of P V over tiers", ("pam", named("pam")), ("pam-hbm", named("pam-hbm"))))
    masks = [run(name, _Inf2Masks(name, mask)) for name, mask in (("-1e4", -1e4), ("-inf", -np.inf))]
    out.append(hazard("masks of -1e4", ("inf2", masks[0]), ("inf2 with masks of -infinity", masks[1])))
    return out
