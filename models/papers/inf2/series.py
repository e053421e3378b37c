"""Our values beyond the paper's text: throughput over models, batch, memory, output, drives and prices, and how the results
move with each fitted constant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ....constraints.core.errors import ConfigError
from ..evidence import Evidence
from ..package import Series
from .common import ALONE, BATCH, BUDGETS, H100, LONG, MODELS, OUTPUT, OUTPUTS, SHORT, gain, rate, run

__all__ = ["CHANGES", "SERIES", "sensitivity"]

BASELINES = ("accelerate", "deepspeed-zero", "flexgen")
DRIVES = (1, 2, 4, 8, 16)
BATCHES = (1, 4, 8, 16, 32, 64)


def _try(value: Callable[[], float]) -> float | None:
    try:
        return value()
    except ConfigError:  # no room
        return None


def _row(
    places: Iterable[Any], value: Callable[[Any], float], name: Callable[[Any], str] = str
) -> dict[str, float | None]:
    return {name(place): _try(lambda place=place: value(place)) for place in places}  # type: ignore[misc]


def performance(evidence: Evidence) -> Series:
    """Tokens per second on an A100, prefill included."""
    places = [(model, tokens) for tokens in (SHORT, LONG) for model in MODELS]
    return {
        name: _row(
            places,
            lambda at, name=name: rate(evidence, name, *at),  # type: ignore[misc]
            lambda at: f"{at[0].removeprefix('opt-')}\n{at[1] >> 10}K",
        )
        for name in (*BASELINES, "inf2")
    }


def outputs(evidence: Evidence) -> Series:
    """Gain over FlexGen by output tokens: H100, 16 K tokens."""
    return {
        model: _row(
            OUTPUTS,
            lambda count, model=model: gain(  # type: ignore[misc]
                evidence, model, SHORT, output=count, **H100
            ),
        )
        for model in MODELS
    }


def memory(evidence: Evidence) -> Series:
    """Gain over FlexGen by memory of the host in GB: H100, 32 K tokens."""
    return {
        model: _row(
            BUDGETS,
            lambda budget, model=model: gain(  # type: ignore[misc]
                evidence, model, LONG, **{"server.memory_gb": budget}, **H100
            ),
        )
        for model in MODELS
    }


def inputs(evidence: Evidence) -> Series:
    """Requests whose inputs the host keeps, of 32, by memory of the host in GB: H100, 32 K tokens."""
    return {
        model: _row(
            BUDGETS,
            lambda budget, model=model: float(
                run(  # type: ignore[misc]
                    evidence, "inf2", model, LONG, **{"server.memory_gb": budget}, **H100
                ).more["x_cache_requests"]
            ),
        )
        for model in MODELS
    }


def weights(evidence: Evidence) -> Series:
    """Tokens per second by place of the weights: OPT-66B, A100, 16 K tokens."""
    return {
        name: _row(
            ("host", "drives"),
            lambda place, name=name: rate(  # type: ignore[misc]
                evidence, name, "opt-66b", SHORT, weights=place
            ),
        )
        for name in ("flexgen", "inf2")
    }


def batch(evidence: Evidence) -> Series:
    """Tokens per second by requests: OPT-66B, A100, 16 K tokens. FlexGen keeps a small batch in the host's memory."""
    return {
        name: _row(
            BATCHES,
            lambda count, name=name: rate(  # type: ignore[misc]
                evidence, name, "opt-66b", SHORT, batch=count
            ),
        )
        for name in ("flexgen", "inf2")
    }


def drives(evidence: Evidence) -> Series:
    """Throughput over FlexGen with one drive: OPT-30B, H100, 32 K tokens."""
    one = rate(evidence, "flexgen", "opt-30b", LONG, devices=1, **H100)
    return {
        name: _row(
            DRIVES,
            lambda count, name=name: (
                rate(  # type: ignore[misc]
                    evidence, name, "opt-30b", LONG, devices=count, **H100
                )
                / one
            ),
        )
        for name in ("flexgen", "inf2")
    }


def raid(evidence: Evidence) -> Series:
    """Tokens per second of FlexGen by drives: A100, 16 K tokens."""
    return {
        model: _row(
            range(1, 7),
            lambda count, model=model: rate(  # type: ignore[misc]
                evidence, "flexgen", model, SHORT, devices=count
            ),
        )
        for model in MODELS
    }


def cost(evidence: Evidence) -> Series:
    """Millionths of a token per second and dollar: OPT-175B, 16 K tokens, by GPU and drives."""
    cards: tuple[tuple[str, Mapping[str, Any]], ...] = (("A100", {}), ("H100", H100))
    places = [(card, changes, count) for card, changes in cards for count in (2, 8, 16)]
    return {
        name: _row(
            places,
            lambda at, name=name: (
                1e6
                * run(  # type: ignore[misc]
                    evidence, name, "opt-175b", SHORT, devices=at[2], **at[1]
                ).more["tok_s_per_usd"]
            ),
            lambda at: f"{at[0]}\n{at[2]}",
        )
        for name in ("flexgen", "inf2")
    }


#: Fitted constants of ``inf2`` by key of its file, and values that a reader may doubt or prefer. The time of a write is
#: left out: with delayed write-back it is hidden.
CONSTANTS: dict[str, tuple[float, ...]] = {
    "attention.path.gb_s": (0.6, 1.16, 2.4, 1000.0),
    "sequences.tflops": (20.0, 37.7, 75.0, 1000.0),
}


def constants(evidence: Evidence) -> Series:
    """Gain over FlexGen by value of a fitted constant: A100, 16 K tokens. A constant of both systems changes in both."""

    def one(at: tuple[str, float], model: str) -> float:
        key, value = at
        both: dict[str, Any] = {key: value} if key.startswith("sequences.") else {}
        own: dict[str, Any] = {key: value}
        return rate(evidence, "inf2", model, SHORT, **own) / rate(evidence, "flexgen", model, SHORT, **both)

    places = [(key, value) for key, values in CONSTANTS.items() for value in values]
    return {
        model: _row(
            places,
            lambda at, model=model: one(at, model),  # type: ignore[misc]
            lambda at: f"{at[0].split('.')[-1]}\n{at[1]:g}",
        )
        for model in MODELS
    }


#: One change each of the default run: prompt, requests, output tokens, and keys of both systems.
CHANGES: dict[str, dict[str, Any]] = {
    "none": {},
    "4 requests": {"batch": 4},
    "16 requests": {"batch": 16},
    "64 requests": {"batch": 64},
    "256 GB": {"server.memory_gb": 256},
    "1000 GB": {"server.memory_gb": 1000},
    "16 output tokens": {"output": 16},
    "512 output tokens": {"output": 512},
    "8 drives": {"devices": 8},
    "4 drives": {"devices": 4},
    "32 K tokens": {"context": LONG},
    "H100": H100,
}


def sensitivity(evidence: Evidence, model: str = "opt-66b") -> Series:
    """Tokens per second of both systems, the gain, and requests from inputs, by one change of the default run."""
    out: Series = {"flexgen": {}, "inf2": {}, "gain": {}, "inputs": {}}
    for label, changes in CHANGES.items():
        more = dict(changes)
        context = more.pop("context", SHORT)
        base, own = (run(evidence, name, model, context, **more).more for name in ("flexgen", "inf2"))
        out["flexgen"][label], out["inf2"][label] = base["run_throughput_tok_s"], own["run_throughput_tok_s"]
        out["gain"][label] = own["run_throughput_tok_s"] / base["run_throughput_tok_s"]
        out["inputs"][label] = float(own["x_cache_requests"])
    return out


def gains(evidence: Evidence) -> Series:
    """Gain over FlexGen by one change of the default run."""
    return {model: sensitivity(evidence, model)["gain"] for model in MODELS}


def techniques(evidence: Evidence) -> Series:
    """Throughput over near-storage attention alone: A100, 16 K tokens."""
    changes: dict[str, dict[str, Any]] = {
        "X-cache": {"writeback.delayed": False},
        "write-back": {"x_cache.use": "off"},
        "both": {},
    }
    return {
        model: _row(
            changes,
            lambda name, model=model: (
                rate(  # type: ignore[misc]
                    evidence, "inf2", model, SHORT, **changes[name]
                )
                / rate(evidence, "inf2", model, SHORT, **ALONE)
            ),
        )
        for model in MODELS
    }


def step(evidence: Evidence) -> Series:
    """Seconds of a run by part: A100, 16 K tokens, 32 requests, 64 output tokens."""
    found: Series = {"prefill": {}, "drives and transfers": {}, "GPU and links": {}}
    for name in ("flexgen", "inf2"):
        for model in MODELS:
            place = f"{model.removeprefix('opt-')}\n{name}"
            result = run(evidence, name, model, SHORT, batch=BATCH, output=OUTPUT)
            parts = result.breakdown_ms
            moving = parts["transfer_wait"] + (parts["attention"] + parts["kv_write"] if name == "inf2" else 0.0)
            found["prefill"][place] = float(result.more["prefill_s"])
            found["drives and transfers"][place] = moving * OUTPUT * 1e-3
            found["GPU and links"][place] = (result.tpot_ms - moving) * OUTPUT * 1e-3
    return found


def accelerator(evidence: Evidence) -> Series:
    """Microseconds of a shard by part and tokens, OPT-30B: what its drive waits for is the longest."""
    tokens = (1024, 4096, SHORT, LONG)
    shards = {count: run(evidence, "inf2", "opt-30b", count, output=1, batch=1).more["accelerator"] for count in tokens}
    hardware = {
        count: run(evidence, "inf2", "opt-30b", count, output=1, batch=1, **{"attention.path.gb_s": 1000.0}).more[
            "accelerator"
        ]["load_us"]
        for count in tokens
    }
    names = {
        "GEMV engine": lambda one: one["scores_us"] + one["output_us"],
        "softmax": lambda one: one["softmax_us"],
        "DRAM": lambda one: one["dram_us"],
        "flash to DRAM": lambda one: one["load_us"],
    }
    out: Series = {
        name: {f"{count >> 10}K": value(one) for count, one in shards.items()} for name, value in names.items()
    }
    return {"flash to DRAM, hardware": {f"{count >> 10}K": us for count, us in hardware.items()}} | out


#: By name.
SERIES: dict[str, Callable[[Evidence], Series]] = {
    one.__name__: one
    for one in (
        performance,
        outputs,
        memory,
        inputs,
        weights,
        batch,
        drives,
        gains,
        raid,
        cost,
        constants,
        techniques,
        step,
        accelerator,
    )
}
