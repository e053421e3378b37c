"""Keys of systems of AiM modules in the result of ``eval``."""

from __future__ import annotations

from typing import Literal

from ...constraints.core.result import Part, key

__all__ = ["HybridKeys", "ModuleKeys"]


class ModuleAttention(Part):
    """Attention on AiM modules alone (`lol-pim`, `aimx-pim`)."""

    memory: str = key("name of the memory")
    partition: Literal["token", "head"] = key(
        "`token` or `head`: see [LoL-PIM as a system](lolpim/system.md#where-operands-lie)"
    )
    ping_pong: bool = key("whether there are two sets of buffers")
    kv_heads_per_module: int = key("key/value heads of each request on a module")
    queries_per_head: int = key("queries that share a head's keys and values")
    modules_per_head: int = key("modules that share an attention head")
    score_us_per_layer: float = key("time of the channels for the scores of one request on a module", "µs")
    context_us_per_layer: float = key(
        "time of the channels for the product with the values of one request on a module", "µs"
    )
    softmax_us_per_layer: float = key("time of the hub for the softmax, hidden or not", "µs")
    sums_us_per_layer: float = key("time of the hub for sums of partial results, hidden or not", "µs")
    kv_append_us_per_layer: float = key("time to write the new token's key and value", "µs")


class ModuleKeys(Part):
    """Keys of a system of AiM modules alone."""

    attention: ModuleAttention = key("attention on the modules")


class HybridAttention(Part):
    """Attention on AiM modules beside GPUs."""

    memory: str = key("name of the memory")
    partition: Literal["token", "head"] = key(
        "`token` or `head`: see [LoL-PIM as a system](lolpim/system.md#where-operands-lie)"
    )
    ping_pong: bool = key("whether there are two sets of buffers")
    modules_per_gpu: int = key("modules of a GPU")
    requests_per_module: int = key("requests of a micro-batch on a module")
    kv_heads_per_module: int = key("key/value heads of each request on a module")
    queries_per_head: int = key("queries that share a head's keys and values")


class HybridKeys(Part):
    """Keys of a system of AiM modules beside GPUs."""

    attention: HybridAttention = key("attention on the modules")
