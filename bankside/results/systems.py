"""Results of the studies of a system: ``bankside eval``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ValidationError, create_model

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.result import Pair
from bankside.models.llm.roles import ENERGY_ROLES, ROLES, EnergyRole, Role
from bankside.models.systems import System

from .result import Noted, Part, key

__all__ = [
    "Eval",
    "EvalLayer",
    "EvalReference",
    "EvalRuns",
    "EvalWorkload",
    "Noted",
    "eval_of",
    "evaluated",
    "plain_keys",
]


class Parallelism(Part):
    tensor: int = key("devices that share a layer")
    pipeline: int = key("pipeline stages")
    micro_batch: int | None = key("requests of a micro-batch", default=None)


class Split(Part):
    tensor: int = key("devices that share a layer")
    pipeline: int = key("pipeline stages")
    throughput_tok_s: float | None = key("rate of the split; null if it is not possible", "tokens/s")
    why: str | None = key("reason why the split is not possible")


class StepTimeline(Part):
    file: str = key("written file")
    spans: int = key("number of spans")
    layers: int = key("layers that have spans")
    of_layers: int = key("layers of the model")


class Capacity(Part):
    """Memory of the fullest device."""

    available_bytes_per_device: int = key("memory of a device for weights, keys and values", "bytes")
    weight_bytes_per_device: int = key("weights on the fullest device", "bytes")
    kv_bytes_per_device: int = key("keys and values on the fullest device", "bytes")
    largest_batch: int = key("largest batch that fits at this context")
    largest_batch_with_output: int = key("largest batch that fits at this context with the output tokens")


class DieArea(Part):
    """Units on one DRAM die, against the published budget."""

    unit_ge: float = key("measured area of one unit", "GE")
    units_per_die: int = key("number of units on a die")
    unit_mm2: Pair = key("area of one unit in the DRAM process, low and high end", "mm²")
    units_mm2: Pair = key("area of all units of a die, low and high end", "mm²")
    die_percent: Pair = key("`units_mm2` as a percentage of the die", "%")
    with_other_percent: Pair = key(
        "the same percentage with the area of `other` added: "
        "`reduction_mm2` if the reduction units are measured, else the published area",
        "%",
    )
    placed_percent: Pair = key("the same percentage with the customary placement utilisation at both ends", "%")
    other: str = key("further hardware that the budget covers, for example `16 reduction units, measured`")
    other_mm2: float = key("published area of this hardware", "mm²")
    published_unit_mm2: float = key("area of the paper's unit", "mm²")
    published_units_percent: float = key("area of the paper's units as a percentage of the die", "%")
    die_mm2: float = key("area of the die", "mm²")
    budget_mm2: float = key("total area that the paper states", "mm²")
    budget_percent: float = key("`budget_mm2` as a percentage of the die", "%")
    logic_node: str = key("logic process from which areas are converted")
    density_penalty: float = key("area in the DRAM process over area in the logic process")
    source: str = key("sources of the keys in `area`")
    reduction_mm2: Pair | None = key(
        "area of all reduction units of a die, low and high end; null if none is measured", "mm²"
    )


class Eval(Noted):
    """``bankside eval SYSTEM --model MODEL``: one decode step, or the mean over output tokens."""

    #: Keys that the kind of system adds, and the roles that it gives to the keys of both breakdowns.
    own: ClassVar[tuple[str, ...]] = ()
    roles: ClassVar[Mapping[str, Role]] = ROLES
    energy_roles: ClassVar[Mapping[str, EnergyRole]] = ENERGY_ROLES

    config_hash: str = key("hash of the system's description, the model's shape and the options")
    system: str = key("name of the system")
    model: str = key("name of the model")
    context: int = key("context of the first step", "tokens")
    batch: int = key("requests of all instances together")
    output_tokens: int = key("number of generated tokens")
    instances: int = key("number of copies of the system")
    tpot_ms: float = key("time per output token of a request", "ms")
    throughput_tok_s: float = key("tokens of all requests per second", "tokens/s")
    energy_mj_per_token: float = key("modelled energy per token", "mJ")
    breakdown_ms: dict[str, float] = key("`tpot_ms` by operator; the values add up to `tpot_ms`", "ms")
    energy_breakdown_mj: dict[str, float | str] = key("energy by component, or `not modelled`", "mJ")
    capacity: Capacity = key("memory of the fullest device")
    parallelism: Parallelism = key("division of the model over devices")
    area: DieArea | None = key("units on a die; null for a system without units")
    unit: dict[str, Any] | None = key("the unit with measured figures; null for a system without units")
    attention: dict[str, Any] | None = key("attention beside memory; null for a system without units")
    records: list[str] = key("measurement records and kernel records on which the result rests")
    assumptions: list[str] = key("assumptions of the model")
    utilisation_percent: float | None = key(
        "[operations over their peak](lolpim/system.md#results); only on systems of AiM modules alone", "%"
    )
    gpu_rule: str | None = key("[rule](gpu.md) by which GPUs take their times")
    splits: list[Split] | None = key("splits that `--split` tried", default=None)
    timeline: StepTimeline | None = key("the file of `--timeline`", default=None)

    def text_lines(self) -> list[tuple[str, str]]:
        """Lines for people: the keys that the kind of system adds, unless the kind has lines of its own."""
        return [(re.sub("[_.]", " ", name), _plain(value)) for name, value in self.own_figures().items()]

    def own_figures(self) -> dict[str, Any]:
        """Plain values of the keys that the kind of system adds, by dotted key; lists are left out."""
        return self._figures(self.own)

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON: keys of the study stand around keys of the system."""
        found = super().to_json()
        behind: dict[str, Any] = {
            name: found.pop(name) for name in ("splits", "timeline", "instances", "tools") if name in found
        }
        return {"config_hash": found.pop("config_hash"), **found, **behind}


class EvalWorkload(Noted):
    """``bankside eval --workload``: decoding in steady state."""

    system: str = key("name of the system")
    model: str = key("name of the model")
    workload: str = key("name of the workload")
    throughput_tok_s: float = key("tokens of all requests per second", "tokens/s")
    batch: float = key("number of requests, mean over the steps")
    context: float = key("mean context of a request", "tokens")
    largest_batch: int = key("largest batch of all steps")
    longest_context: int = key("longest context of all steps", "tokens")
    preempted: int = key("requests that lost their room because other requests grew")
    utilisation_percent: float | None = key(
        "[operations over their peak](lolpim/system.md#results); only on systems of AiM modules alone", "%"
    )
    parallelism: Parallelism = key("`tensor` and `pipeline` of the fastest split")
    splits: list[Split] = key("splits that `--split` tried")
    records: list[str] = key("measurement records on which the result rests")


class Layer(Part):
    tokens: int = key("tokens of K and V")
    heads_per_stack: int = key("heads on the stack")
    head_dim: int = key("head dimension")
    bytes: int = key("bytes of an element", "bytes")
    placement: str = key("place of the units")


class EvalLayer(Noted):
    """``bankside eval attacc --layer``."""

    system: Literal["attacc"] = key("`attacc`")
    layer: Layer = key("the layer")
    memory: str = key("name of the memory")
    power_limit: bool = key("whether the power limit applies")
    quirks: str | None = key("simulator whose defects are included")
    cycles: int = key("time until all channels have finished", "memory clocks")
    time_ns: float = key("`cycles` in ns", "ns")
    commands: dict[str, int] = key("number of issued commands by name, in all channels")
    row_hits: int = key("accesses that did not open their row themselves")
    energy_pj: float | None = key("energy of all channels", "pJ")
    energy_breakdown_pj: dict[str, float] | None = key("energy by component", "pJ")


class ReferenceRow(Part):
    line: int = key("line of the file")
    system: str = key("system of the row")
    gpu: str = key("kind of GPU, as in the file")
    pim: str = key("place of the units, as in the file")
    powerlimit: bool = key("whether the power limit of the memory applies")
    ffopt: bool = key("feed-forward co-processing")
    pipeopt: bool = key("head-level pipelining")
    model: str = key("model of the row")
    Lin: int = key("tokens of the prompt", "tokens")
    Lout: int = key("generated tokens", "tokens")
    bs: int = key("requests")
    dtype: str = key("number format, as in the file")
    cores: int = key("GPUs")
    results: dict[str, int | float] = key("what Bankside calculates, by column of the file")
    reference: dict[str, int | float] = key("value of the file")
    relative_error: dict[str, float] = key("`(result - reference) / reference`; 1 if only the reference is 0")


class EvalReference(Noted):
    """``bankside eval SYSTEM --reference FILE``."""

    system: str = key("`SYSTEM`")
    reference: str = key("the file")
    rows: list[ReferenceRow] = key("each row of the file")
    components: list[str] = key("columns that are compared")
    worst_relative_error: dict[str, float] = key("by component: largest absolute relative error of all rows")
    median_relative_error: dict[str, float] = key("by component: median relative error")
    cycle_rows: int = key("rows with `pim_cycles`")
    exact_cycles: int = key("rows in which `pim_cycles` is equal")
    not_compared: dict[str, int] = key(
        "by component: rows of units on the logic die, where the simulator's energy depends on what it ran before"
    )


class KernelTime(Part):
    prefill_s: float | None = key("kernels of the prefill, by rule", "s")
    decode_s: float | None = key("kernels of all decode steps", "s")
    share_of_measured: float | None = key("kernel time over the measured time")
    host_ms_per_step: float | None = key("measured time without kernels, for each step", "ms")
    why: str | None = key("why a rule has no time")


class RunRow(Part):
    model: str = key("built-in model")
    gpus: int = key("GPUs of the run")
    batch: int = key("requests of the run")
    measured_s: float = key("time of the run", "s")
    measured_ms_per_step: float = key("the same for each generated token of a request", "ms")
    rules: dict[str, KernelTime] = key("kernel times by rule of the GPU")


class EvalRuns(Noted):
    """``bankside eval SYSTEM --reference FILE`` with timed runs of a serving engine."""

    system: str = key("the system of GPUs")
    reference: str = key("the file")
    prompt_tokens: int = key("prompt of each request", "tokens")
    output_tokens: int = key("output of each request", "tokens")
    rows: list[RunRow] = key("each run of the file")


def plain_keys(part: Any) -> dict[str, Any]:
    """Plain data of a part whose class the kind of system declares, or that it leaves undeclared; empty for None."""
    return part.model_dump(exclude_unset=True) if isinstance(part, BaseModel) else dict(part or {})


def _plain(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@cache
def eval_of(kind: type[System]) -> type[Eval]:
    """Result of ``eval`` of a kind of system: :class:`Eval` with the kind's own keys."""
    own = kind.result
    if own is None and (kind.roles, kind.energy_roles) == (ROLES, ENERGY_ROLES):
        return Eval
    title = "".join(part.capitalize() for part in kind.kind.split("-"))
    bases: Any = (Eval,) if own is None else (own, Eval)
    made: type[Eval] = create_model(f"Eval{title}", __base__=bases, __doc__=Eval.__doc__)
    made.own = tuple(name for name in made.model_fields if name not in Eval.model_fields)
    made.roles, made.energy_roles = kind.roles, kind.energy_roles
    return made


def evaluated(kind: type[System], values: Mapping[str, Any]) -> Eval:
    """The result of ``eval`` with these values.

    Raises
    ------
    :exc:`ConfigError`
        If the kind of system gives other keys than its result class declares, or values of another type.
    """
    try:
        return eval_of(kind)(**values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ConfigError(f"system kind '{kind.kind}': key '{where}' of its result: {first['msg']}") from error
