"""Our values for plots of LoL-PIM whose values the text does not print, by series and place on the axis."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ...aim.operators import Gemv, Module
from ...serving.splits import Decoding
from ..evidence import Evidence, NotCheckable
from ..package import Series
from .buffers import SHAPES, timers
from .common import TECHNIQUES, baseline, decoded, most_tensor, sized_splits, splits

__all__ = ["SERIES"]

#: Systems of the throughput figures, and sizes in GB.
SYSTEMS = ("gpu-hbm", "gpu-gddr", "gpu-aimx-pim", "gpu-lol-pim", "aimx-pim", "lol-pim")
SIZES = (128, 256, 512, 1024)

#: Baselines whose splits with tensor parallelism are series of their own.
BASELINES = ("gpu-gddr", "aimx-pim")


def _rate(one: Callable[[], Decoding]) -> float | None:
    try:
        return one().tokens_per_s
    except NotCheckable:  # no room
        return None


def throughput(evidence: Evidence, model: str) -> Series:
    """Tokens per second on Musique. First come baselines with the most tensor parallelism that gives a head to one
    module. Then come the PIM with all modules in tensor parallelism, and the best splits."""
    tensor: Series = {
        f"{system}, most tensor": {str(size): _rate(partial(baseline, evidence, system, size, model)) for size in SIZES}
        for system in BASELINES
    }
    beyond: Series = {
        "aimx-pim, modules share a head": {
            str(size): _rate(
                lambda size=size: most_tensor(  # type: ignore[misc]
                    sized_splits(evidence, "aimx-pim", size, model)
                )
            )
            for size in SIZES
        }
    }
    best: Series = {
        system: {str(size): _rate(partial(decoded, evidence, system, size, model)) for size in SIZES}
        for system in SYSTEMS
    }
    return tensor | beyond | best


def latency(evidence: Evidence) -> Series:
    """Microseconds per token of all requests: Qwen1.5-72B, 1024 GB, Musique, techniques added one by one."""
    steps = ((), TECHNIQUES[:1], TECHNIQUES[:2], TECHNIQUES)
    names = ("none", "token-parallel", "and lazy", "and two sets")
    alone: dict[str, float | None] = {
        name: 1e6 / splits(evidence, "qwen1.5-72b", 16, *on)[0].tokens_per_s
        for name, on in zip(names, steps, strict=True)
    }
    ends = [
        _rate(partial(decoded, evidence, system, 1024, "qwen1.5-72b")) for system in ("gpu-aimx-pim", "gpu-lol-pim")
    ]
    hybrid = [None if rate is None else 1e6 / rate for rate in ends]
    return {
        "modules alone": alone,
        "hybrid with GPUs": dict(zip(names, (hybrid[0], None, None, hybrid[1]), strict=True)),
    }


def by_split(evidence: Evidence) -> Series:
    """Tokens per second by split: Qwen1.5-7B on 4 nodes, Musique."""
    out: Series = {}
    for name, on in (("no technique", ()), ("all but lazy", ("token_parallel", "ping_pong")), ("all", TECHNIQUES)):
        found = sorted(splits(evidence, "qwen1.5-7b", 4, *on), key=lambda one: one.parallelism)
        out[name] = {f"{one.parallelism[0]} x {one.parallelism[1]}": one.tokens_per_s for one in found}
    return out


def matrices(evidence: Evidence) -> Series:
    """Microseconds of a GEMV, for the shapes of Table 6."""
    return {
        name: {
            f"{shape[0]} x {shape[1]}": timer.time(Gemv(Module(), *shape, double=timer.ping_pong)).seconds * 1e6
            for shape in SHAPES
        }
        for name, timer in zip(("one set of buffers", "two sets"), timers(evidence), strict=True)
    }


#: By name.
SERIES: dict[str, Callable[[Evidence], Series]] = {
    "throughput-7b": lambda evidence: throughput(evidence, "qwen1.5-7b"),
    "throughput-72b": lambda evidence: throughput(evidence, "qwen1.5-72b"),
    "latency": latency,
    "splits": by_split,
    "matrices": matrices,
}
