"""Keys of systems with drives in the result of ``eval``."""

from __future__ import annotations

from typing import Literal

from ...constraints.core.result import Part, key

__all__ = ["Inf2Keys", "OffloadKeys"]


class LinkBytes(Part):
    down: float = key("bytes away from the host", "bytes")
    up: float = key("bytes towards the host", "bytes")


class Accelerator(Part):
    preset: str = key("preset of `inf2-accelerator`")
    clock_mhz: float = key("its clock", "MHz")
    load_us: float = key("a shard from the flash to the DRAM", "µs")
    scores_us: float = key("keys of the shard on the port, for one query", "µs")
    softmax_us: float = key("softmax and all other clocks of a query", "µs")
    output_us: float = key("values of the shard on the port, for one query", "µs")
    dram_us: float = key("the DRAM takes the shard and gives it to each query", "µs")
    bound: Literal["load", "units", "dram"] = key("longest of these: `load`, `units` or `dram`")


class StorageKeys(Part):
    """Keys of a system with drives."""

    traffic_bytes: dict[str, LinkBytes] = key("bytes of a decode step over all links of a name")
    prefill_s: float = key("prefill of all requests", "s")
    run_throughput_tok_s: float = key("throughput with the prefill counted", "tokens/s")
    weights_at: Literal["gpu", "host", "drives"] = key("place of the weights: `gpu`, `host` or `drives`")
    price_usd: dict[str, float] | None = key(
        "price of `gpu`, `server`, `expansion` and `drives`; null for a GPU without a price", "$"
    )
    tok_s_per_usd: float | None = key("`run_throughput_tok_s` over the whole price", "tokens/s/$")

    def text_lines(self) -> list[tuple[str, str]]:
        """No lines for people: the page has these keys."""
        return []


class OffloadKeys(StorageKeys):
    """Keys of a baseline of `inf2`."""

    kv_at: Literal["host", "drives"] = key("place of keys and values")


class Inf2Keys(StorageKeys):
    """Keys of `inf2`."""

    x_cache_requests: int = key("requests whose inputs the host keeps")
    x_cache_bound: str = key("why there are not more")
    shards_per_drive: int = key("key/value heads of requests on the busiest drive")
    accelerator: Accelerator = key("stages of a query and a shard")
    dram_pieces: int = key("pieces in which a shard passes the drive's DRAM")
