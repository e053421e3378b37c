"""CXL-PNM: CXL devices with a processor beside LPDDR memory, with which CENT is compared.

A device is a roofline. Its bandwidth is the one that a stream of whole rows reaches in the timing of its memory, and its
capacity is the memory's. What nobody published about the processor is in the system's file as an assumption.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from ...constraints.core.errors import ConfigError
from ...constraints.memory import Memory
from ...constraints.systems import GpuSpec, GpuSystemSpec, Overhead, StackSpec
from ...constraints.systems.cxl_pnm import CxlPnmSystemSpec
from ..memory.streams import stream_share
from .description import Description
from .gpu import GpuSystem
from .system import GIB, Assumption

__all__ = ["CxlPnmSystem"]


@lru_cache(maxsize=16)
def _share(memory: Memory, refresh: bool) -> float:
    """Share of the peak that a stream reaches."""
    return stream_share(memory, refresh=refresh)


def _as_gpus(spec: CxlPnmSystemSpec, memory: Memory) -> GpuSystemSpec:
    """The devices in the words of the roofline."""
    gb_s = memory.channels * memory.channel_bytes_per_s * 1e-9
    share = _share(memory, spec.device.refresh)
    vector = Overhead(
        fixed_us=spec.processor.vector_fixed_us, us_per_byte=1e-3 / (gb_s * share), reference_bandwidth_gb_s=gb_s
    )
    gib = memory.channels * memory.banks * memory.rows * memory.row_bytes / GIB
    return GpuSystemSpec(
        kind="gpu",
        description=spec.description,
        gpu=GpuSpec(
            name=spec.device.name,
            count=spec.device.count,
            peak_tflops=spec.processor.peak_tflops,
            bandwidth_gb_s=gb_s,
            compute_utilisation=spec.processor.compute_utilisation,
            memory_utilisation=share,
            norm=vector,
            activation=vector,
            source=f"{spec.device.source}; {spec.processor.source}",
        ),
        memory=StackSpec(stacks_per_gpu=1, stack_gib=gib, reserved_gib_per_gpu=0, source=spec.device.source),
        parallelism=spec.parallelism,
        link=spec.link,
        energy=spec.energy,
    )


class CxlPnmSystem(GpuSystem):
    """CXL devices with a processor beside their memory.

    Raises
    ------
    :exc:`ConfigError`
        If the memory has no plain reads.
    """

    kind = "cxl-pnm"
    schema = CxlPnmSystemSpec  # type: ignore[assignment]
    not_modelled = ("static_power", "dram_refresh_and_standby", "host")

    def __init__(self, description: Description[CxlPnmSystemSpec]) -> None:
        self.own = spec = description.spec
        self.memory = description.memory(spec.device.memory)
        if not {"ACT", "RD"} <= self.memory.commands.keys():
            raise ConfigError(f"{description.name}: device.memory '{self.memory.name}' has no plain reads (ACT, RD)")
        super().__init__(replace(description, gpus=_as_gpus(spec, self.memory)))
        # Changes are changes of the system's own file.
        self.description = description
        self.part_gb = round(self.available_bytes_per_device / GIB)

    def several(self, count: int) -> dict[str, int]:
        return {"device.count": count, "parallelism.tensor": count}

    def assumptions(self) -> dict[str, Assumption]:
        gpu, processor = self.spec.gpu, self.own.processor
        return super().assumptions() | {
            "bandwidth": Assumption(
                f"a stream of whole rows reaches {100 * gpu.memory_utilisation:.1f} % of the {gpu.bandwidth_gb_s:.0f} GB/s "
                f"of {self.memory.name} in its timing, {'with' if self.own.device.refresh else 'without'} refresh",
                gpu.memory_utilisation,
                self.own.device.source,
            ),
            "attention": Assumption(
                "the processor attends: K and V are read once per group of query heads, and scores stay on chip",
                "fused",
            ),
            "processor": Assumption(
                f"a peak of {processor.peak_tflops:g} TFLOPS, of which products reach "
                f"{processor.compute_utilisation:g}: not published",
                processor.model_dump(exclude={"source"}),
                processor.source,
            ),
            "links": Assumption(
                "bandwidth and latency of the links are not published",
                self.own.link.both_ways_gb_s,
                self.own.link.source,
            ),
            "energy": Assumption(
                "energies of the device are not published", self.own.energy.dram_pj_per_byte, self.own.energy.source
            ),
        }
