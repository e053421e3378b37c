"""Keys of ``cent`` in the result of ``eval``."""

from __future__ import annotations

from ...constraints.core.result import Pair, Part, key

__all__ = ["CentKeys"]


class CentBlock(Part):
    pim_cycles: int = key("cycles of a block's program", "memory clocks")
    pim_ms: float = key("time of a block on the channels", "ms")
    cxl_ms: float = key("time of a block on the links", "ms")
    acc_ms: float = key("time of a block on the units near memory", "ms")
    transfer_bytes: float = key(
        "payload that devices receive for a block, as the authors' simulator counts it", "bytes"
    )


class CentController(Part):
    process: str = key("process of the die")
    units_mm2: dict[str, float] = key("measured area by unit, in the process of the die", "mm²")
    measured_mm2: float = key("measured area of all units", "mm²")
    measured_band_mm2: Pair = key("low and high end of the measured area", "mm²")
    published_mm2: float = key("published area of the units near memory, which the measured area replaces", "mm²")
    die_mm2: float = key("area of a controller with the measured area", "mm²")
    die_usd: float = key("price of its die", "$")
    package_usd: float = key("price of its package", "$")
    nre_usd: float = key("its share of the development", "$")
    published_die_mm2: float = key("area of a controller with the published area", "mm²")
    published_usd: float = key("its price: die, package and development", "$")
    slowest: str | None = key("unit with the longest path")
    slowest_mhz: Pair | None = key("its clock in the process, an estimate without and with wires", "MHz")


class CentKeys(Part):
    """Further keys of `cent`."""

    block: CentBlock = key("a block of the model")
    embedding_ms: float = key("time of a token for embedding, last norm and output matrix", "ms")
    host_ms: float = key("time of a token on the host", "ms")
    power_w: float = key("power of all devices", "W")
    power_breakdown_w: dict[str, float] = key("power by component", "W")
    stages: int = key("stages of the pipeline")
    utilised_devices: int = key("devices with a stage")
    controller: CentController | None = key(
        "the controller of a device with measured areas; null under quirks and if an area has not been measured"
    )
    price_usd: dict[str, float] = key("price by part", "$")
    usd_per_hour: float = key("price over three years, and electricity", "$/h")
    tokens_per_usd: float = key("tokens for a dollar", "1/$")

    def text_lines(self) -> list[tuple[str, str]]:
        """No lines for people: the page has these keys."""
        return []
