"""Result of the demo: the whole loop once."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, WithJsonSchema

from .result import Part, Result, key
from .systems import Eval
from .units import Sim, Synth

__all__ = ["Channel", "Crossover", "CrossoverModel", "CrossoverPoint", "Demo", "DemoSim"]


class CrossoverPoint(Part):
    context: int = key("tokens in the KV cache of a request")
    without_ms: float = key("time per output token without units", "ms")
    without_attention_ms: float = key("attention in this time", "ms")
    with_ms: float = key("time per output token with units", "ms")
    with_attention_ms: float = key("attention in this time", "ms")


class CrossoverModel(Part):
    model: str = key("name of the model")
    queries_per_kv_head: int = key("query heads that share a key/value head")
    unit: str = key("system with units, a name of `systems`")
    queries_per_pass: int = key("most queries that a burst of K or V meets")
    gpu_rule: str = key("rule by which GPUs take their times")
    points: list[CrossoverPoint] = key("times at each context")


class Crossover(Part):
    systems: list[str] = key("systems without units, then with units")
    batch: int = key("requests that decode together")
    models: list[CrossoverModel] = key("each model, rule of the GPU and unit")


class Channel(Part):
    """A KV head's decode step over the banks of a channel."""

    memory: str = key("name of the memory")
    tokens: int = key("tokens in the KV cache")
    banks: int = key("banks over which they lie")
    queries: int = key("queries that share the KV head")
    head_dim: int = key("head dimension")
    vectors: int = key("result beats that were compared")
    mismatches: int = key("result beats that differ from the functional model")
    first_mismatch: str | None = key("the first result beat that differs")
    cycles: int = key("of the slowest bank", "clocks")
    time_ns: float = key("the same in ns", "ns")
    memory_time_ns: float = key("time of the memory's commands alone", "ns")
    stall_cycles: int = key("clocks in which an offered beat was not taken", "clocks")
    exposed_softmax_cycles: int = key("clocks that wait for softmax", "clocks")
    max_abs_error: float = key("against binary64 on the same bits")
    rms_error: float = key("root mean square of that error")
    clocks: int = key("clocks simulated")


class DemoSim(Sim):
    channel: Channel = key("a KV head's decode step over the banks of a channel")


#: The schema of ``eval`` describes its objects.
Evaluated = Annotated[
    Eval,
    BeforeValidator(
        lambda one: Eval(**{k: v for k, v in one.items() if k != "schema"}) if isinstance(one, dict) else one
    ),
    WithJsonSchema({"additionalProperties": True, "type": "object"}),
]


def _document(value: Any) -> Any:
    """Plain data of a result, or of results within lists and mappings."""
    if isinstance(value, Result):
        return value.to_document()
    if isinstance(value, BaseModel):
        return value.model_dump(by_alias=True, exclude_unset=True)
    if isinstance(value, dict):
        return {key: _document(one) for key, one in value.items()}
    return [_document(one) for one in value] if isinstance(value, list) else value


class Demo(Result):
    crossover: Crossover = key("times with and without units for each model, rule of the GPU, unit and context")
    evaluations: list[Evaluated] = key("objects of `eval`")
    by_rule: list[list[Evaluated]] = key("the evaluations under each rule of the GPU; the first are also `evaluations`")
    sweeps: dict[str, list[Evaluated]] = key("objects of `eval` with short and long contexts, by system")
    sim: DemoSim = key("object of `sim`, with `channel`")
    synth: Synth = key("object of `synth`")
    decoding: dict[str, Any] = key("object of `decode`")
    commands: list[str] = key("commands that repeat the parts")
    files: list[str] = key("written files")

    def to_json(self) -> dict[str, Any]:
        return {name: _document(value) for name, value in self if name in self.model_fields_set}
