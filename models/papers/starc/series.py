"""Our values beyond the paper's text: latency and energy by part, reads, and what moves the results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..evidence import Evidence
from ..package import Series
from .common import DECODES, METHODS, PREFILL, attention_mj, batch, reads, reduction, run

__all__ = ["CHANGES", "SERIES", "sensitivity"]


def _place(decode: int, method: str) -> str:
    return f"{method}\n{decode >> 10}K"


def latency(evidence: Evidence) -> Series:
    """Time of a token over the time with all tokens, by part."""
    found: Series = {"attention": {}, "other": {}}
    for decode in DECODES:
        whole = run(evidence, "full", decode).tpot_ms
        for method in METHODS:
            result = run(evidence, method, decode)
            attention = result.more["attention_us"] * 1e-3
            found["attention"][_place(decode, method)] = attention / whole
            found["other"][_place(decode, method)] = (result.tpot_ms - attention) / whole
    return found


def energy(evidence: Evidence) -> Series:
    """Energy of a token over the energy with all tokens, by part."""
    found: Series = {"attention": {}, "other": {}}
    for decode in DECODES:
        whole = run(evidence, "full", decode).energy_mj_per_token
        for method in METHODS:
            result = run(evidence, method, decode)
            found["attention"][_place(decode, method)] = attention_mj(result) / whole
            found["other"][_place(decode, method)] = (result.energy_mj_per_token - attention_mj(result)) / whole
    return found


def alone(evidence: Evidence) -> Series:
    """Time of attention over its time with all tokens."""
    return {
        method: {
            f"{PREFILL >> 10}K + {decode >> 10}K": run(evidence, method, decode).more["attention_us"]
            / run(evidence, "full", decode).more["attention_us"]
            for decode in DECODES
        }
        for method in METHODS
    }


def fetches(evidence: Evidence) -> Series:
    """Tokens that a head fetches in a mean step."""
    return {
        method: {
            f"{PREFILL >> 10}K + {decode >> 10}K": run(evidence, method, decode).more["fetched"] for decode in DECODES
        }
        for method in METHODS
    }


def clumps(evidence: Evidence) -> Series:
    """Fetched share of a context of 2,048 tokens, per cent, by budget over context, of a real model and made-up keys."""
    places = {"1/2": 1 / 2, "1/3": 1 / 3, "1/6": 1 / 6, "1/8": 1 / 8}
    return {
        f"{method}, {source}": {name: 100 * reads(evidence, source, method, share) for name, share in places.items()}
        for method in ("sparq", "quest", "starc")
        for source in ("real", "synthetic")
    }


#: One change each of the longest run.
CHANGES: dict[str, dict[str, Any]] = {
    "none": {},
    "units of 16": {"selection.unit_tokens": 16},
    "padded clusters": {"selection.padding": 8},
    "shorter sequence": {"selection.reads": "count"},
    "2 full layers": {"selection.full_layers": 2},
    "budget 512": {"selection.budget": 512},
    "budget 2048": {"selection.budget": 2048},
    "16 requests": {"requests": 16},
    "no power limit": {"power_limit": False},
    "passages of 16": {"selection.keys.synthetic.passage": 16.0},
    "passages of 256": {"selection.keys.synthetic.passage": 256.0},
    "noise 0.5": {"selection.keys.synthetic.noise": 0.5},
    "noise 2": {"selection.keys.synthetic.noise": 2.0},
}


def sensitivity(evidence: Evidence) -> Series:
    """Reduction of the time of attention and of a token, per cent, by one change of the longest run."""
    out: Series = {"attention, full": {}, "attention, sparq": {}, "token, full": {}, "token, sparq": {}}
    for label, changes in CHANGES.items():
        more = {"requests": batch()} | changes
        found = {name: run(evidence, name, DECODES[-1], **more) for name in ("starc", "full", "sparq")}
        for other in ("full", "sparq"):
            out[f"attention, {other}"][label] = reduction(
                found["starc"].more["attention_us"], found[other].more["attention_us"]
            )
            out[f"token, {other}"][label] = reduction(found["starc"].tpot_ms, found[other].tpot_ms)
    return out


#: By name.
SERIES: dict[str, Callable[[Evidence], Series]] = {
    one.__name__: one for one in (latency, energy, alone, fetches, clumps, sensitivity)
}
