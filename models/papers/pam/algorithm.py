"""Section 5.1: PAMattention in binary64, the correct algorithm and the printed one."""

from __future__ import annotations

import numpy as np

from ..category import Source
from ..evidence import Evidence, Finding
from .common import CHECKS

State = tuple[float, float, np.ndarray]

#: Tokens, head dimension and tokens of a tile of the printed listing's counter-example, and how many draws.
TOKENS, DIM, TILE, DRAWS = 12, 8, 4, 200


def local(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> State:
    """Algorithm 1, Local, for one tile: maximum, sum and unnormalised output."""
    if not len(k):
        return -np.inf, 0.0, np.zeros(v.shape[1])
    s = k @ q
    p = np.exp(s - s.max())
    return float(s.max()), float(p.sum()), p @ v


def merge(states: list[State]) -> State:
    """Merge the partial results of one query. Their order does not matter."""
    top = max(state[0] for state in states)
    weights = [0.0 if state[0] == -np.inf else float(np.exp(state[0] - top)) for state in states]
    return (
        top,
        sum(w * state[1] for w, state in zip(weights, states, strict=True)),
        sum((w * state[2] for w, state in zip(weights, states, strict=True)), np.zeros(len(states[0][2]))),
    )


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    s = k @ q
    p = np.exp(s - s.max())
    return p @ v / p.sum()


@CHECKS.of("pam-alg1-exact", by=Source.RUN)
def exact(evidence: Evidence, claim: str) -> Finding:
    """Largest error over random partitions of tokens into tiers and tiles, in random order."""
    random = np.random.default_rng(1)
    worst = 0.0
    for _ in range(DRAWS):
        tokens, dim = int(random.integers(1, 200)), 2 ** int(random.integers(2, 8))
        q, k, v = random.standard_normal(dim) / np.sqrt(dim), *random.standard_normal((2, tokens, dim))
        tier = random.integers(0, 3, tokens)
        tiers = []
        for t in range(3):
            mine = random.permutation(np.flatnonzero(tier == t))
            tile = int(random.integers(1, 33))
            tiers.append(
                merge(
                    [local(q, k[mine[a : a + tile]], v[mine[a : a + tile]]) for a in range(0, max(len(mine), 1), tile)]
                )
            )
        _, total, output = merge(tiers)
        worst = max(worst, float(np.abs(output / total - attention(q, k, v)).max()))
    return Finding(
        {"max_abs_err_fp64": worst},
        f"{DRAWS} random partitions of up to 200 tokens over three tiers, binary64",
        "The error is the rounding of binary64 sums of up to 200 terms." if worst > 1e-15 else "",
    )


@CHECKS.of("pam-alg1-literal", by=Source.RUN)
def literal(evidence: Evidence, claim: str) -> Finding:
    """Error of the printed listing: Reduce returns m + log(sum) as the sum, and the caller divides by it."""
    random = np.random.default_rng(1)
    divided, fixed = [], []
    for _ in range(DRAWS):
        q, k, v = random.standard_normal(DIM) / np.sqrt(DIM), *random.standard_normal((2, TOKENS, DIM))
        tiles = [local(q, k[a : a + TILE], v[a : a + TILE]) for a in range(0, TOKENS, TILE)]
        truth = attention(q, k, v)
        top, total, output = merge(tiles)
        divided.append(np.abs(output / (top + np.log(total)) - truth).max())
        # Two levels, the logarithm of the first taken as a sum by the second, the division replaced by exp(m - l).
        first = [(m, m + np.log(s), o) for m, s, o in (merge(tiles[:2]), merge(tiles[2:]))]
        top, total, output = merge(first)
        with np.errstate(invalid="ignore"):
            fixed.append(np.abs(output * np.exp(top - (top + np.log(total))) - truth).max())
    ours, told = {}, []
    for name, errors in (("err_divide_by_lse", divided), ("err_two_level_exp_fix", fixed)):
        low, middle, high = np.nanquantile(errors, (0.05, 0.5, 0.95))
        ours[name] = float(middle)
        told.append(f"`{name}` {low:.2g} to {high:.2g}")
    return Finding(
        ours,
        f"median over {DRAWS} draws of {TOKENS} tokens of {DIM} elements in tiles of {TILE}",
        "The error depends on the drawn numbers, and the claim has the values of one draw. Ours lie in these "
        f"ranges (5 to 95 % of the draws): {', '.join(told)}. Any draw gives an error far above rounding.",
    )
