"""GPUs alone, and GPUs whose host attends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...constraints.core.errors import ConfigError
from ...constraints.systems import GpuCpuSystemSpec, GpuSystemSpec
from ..llm import ModelShape, layer_operators
from .description import Description
from .gpu_serving import GpuServed, GridServed
from .platform import GpuPlatform, MicroBatch
from .results import Cost, RecordSource
from .roofline import Roofline
from .room import GIB
from .system import Assumption, Option

if TYPE_CHECKING:
    from .gpu_reference import Run

__all__ = ["GpuCpuSystem", "GpuSystem"]


class GpuSystem(GpuPlatform):
    """GPUs alone."""

    kind = "gpu"
    schema = GpuSystemSpec

    #: A GPU with HBM has 80 GB, and comparisons count 64 GB of them.
    part_gb = 64

    def several(self, count: int) -> dict[str, int]:
        return {"gpu.count": count, "parallelism.tensor": count}

    def compare_runs(
        self, runs: Sequence[Run], records: RecordSource, progress: Callable[[str], None] = lambda text: None
    ) -> list[dict[str, Any]]:
        """See :func:`bankside.models.systems.gpu_reference.compare_runs`."""
        from .gpu_reference import compare_runs

        return compare_runs(self, runs, records, progress)

    def serving(self, model: ModelShape) -> GpuServed:
        return GpuServed(self, model)


class GpuCpuSystem(GpuPlatform):
    """GPUs with keys, values and attention on the processors of their host. Nothing overlaps, and the host's energy is not
    modelled."""

    kind = "gpu-cpu"
    options = (Option("--quirks", "quirks", "Q", "simulator whose defects are included: attacc-simulator"),)
    schema = GpuCpuSystemSpec

    def __init__(self, description: Description[GpuCpuSystemSpec]) -> None:
        super().__init__(description)
        host = self.spec.host
        if host is None:
            raise ConfigError(f"{self.name}: the GPU system '{description.spec.base}' has no group 'host'; dgx has one")
        self.own, self.host = description.spec, host
        like = self.spec.gpu.model_copy(
            update={
                "rule": "attacc-simulator",
                "gemm": None,
                "attention": None,
                "peak_tflops": host.peak_tflops,
                "bandwidth_gb_s": host.bandwidth_gb_s,
                "tiles": host.tiles,
                "compute_utilisation": host.compute_utilisation,
                "memory_utilisation": host.memory_utilisation,
            }
        )
        self.processor = Roofline(like, self.spec.link, self.spec.energy, waves=False)
        #: GPUs that share a processor.
        self.sharing = 1.0 if self.own.quirks else self.spec.gpu.count / host.sockets

    def kv_room(self, model: ModelShape) -> int:
        return int(self.host.sockets * self.host.gib_per_socket * GIB // self.spec.gpu.count)

    def attention(self, model: ModelShape, micro: MicroBatch, contexts: np.ndarray) -> dict[str, Cost]:
        score, context = (op for op in layer_operators(model, micro.size, contexts, self.tp) if op.kind == "attention")
        own, others, size = model.heads // self.tp, max(model.kv_heads // self.tp, 1), model.dtype_bytes
        return {
            "attention_send": self._moved(micro.size * model.columns(own + 2 * others) * size),
            **{
                name: Cost(cost.time_s * self.sharing)
                for name, cost in self.processor.attention(score, context, micro.size).items()
            },
            "attention_receive": self._moved(micro.size * model.columns(own) * size),
        }

    def _moved(self, count: float) -> Cost:
        return Cost(count * self.sharing / (self.host.both_ways_gb_s * 1e9 / 2))

    def kv_write_seconds(self, model: ModelShape, tokens: int) -> float:
        return float(self._moved(tokens * self.kv_token_bytes(model)).time_s)

    def serving(self, model: ModelShape) -> GridServed:
        return GridServed(self, model)

    def assumptions(self) -> dict[str, Assumption]:
        return super().assumptions() | {
            "attention": Assumption(
                "attention is on the host: "
                + (
                    "each GPU has one of its processors to itself"
                    if self.own.quirks
                    else f"{self.sharing:g} GPUs share each of its processors"
                ),
                self.sharing,
                self.own.source,
            ),
            "kv_kept": Assumption("KV is in the host's memory", "all"),
        }
