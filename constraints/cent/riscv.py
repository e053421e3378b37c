"""Parameters of the RISC-V cores beside CENT's shared buffer: their memories, ports and programs.

Source: CENT, ASPLOS'25, section 4.2. A device has eight cores, each with 64 KB for instructions that the host loads. They
see the 64 KB of the shared buffer through 16-bit accesses. The core, its custom operations and its address map are this
project's.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from pydantic import Field as Key
from pydantic import model_validator

from ..core.contract import Field, Layout, Port, Row, SimResult, Trial, Unit, UnitConfig, Workload
from ..core.document import Strict
from ..core.errors import ConfigError
from ..core.formats import BF16
from .programs import SLOT_ELEMENTS, image_for, load_image

__all__ = [
    "AHEAD_WORDS",
    "PRESETS",
    "SLOT_ELEMENTS",
    "UNIT",
    "CentRiscvConfig",
    "CentRiscvResult",
    "CentRiscvWorkload",
    "ProgramClocks",
]

#: Words that the bench loads behind an image: a program that returns at once, and what the core fetches ahead of that.
AHEAD_WORDS = 17


class CentRiscvConfig(UnitConfig):
    """Parameters of the generator ``cent-riscv``."""

    cores: int = Key(default=8, ge=1, le=32, description="cores; a start begins the same program on all of them")
    memory_bytes: int = Key(
        default=1 << 16, ge=1 << 12, le=1 << 20, description="bytes of each core's memory of instructions and data"
    )
    window_bytes: int = Key(default=1 << 16, ge=64, le=1 << 20, description="bytes of the shared buffer")
    slot_elements: int = Key(default=SLOT_ELEMENTS, ge=4, le=32, description="elements of a slot of the shared buffer")
    queue: int = Key(default=8, ge=1, le=32, description="reads of the shared buffer that a core has under way at most")
    float_depth: int = Key(
        default=2, ge=1, le=8, description="registers of the multiply-add, the reciprocals and the rounding to BF16"
    )
    clock_mhz: float = Key(default=1000.0, gt=0, le=10000, strict=False, description="target clock")

    @model_validator(mode="after")
    def _check(self) -> CentRiscvConfig:
        for name in ("memory_bytes", "window_bytes", "slot_elements"):
            value = getattr(self, name)
            if value & (value - 1):
                raise ValueError(f"{name} must be a power of two, not {value}")
        if self.window_bytes < 128 * self.cores:
            raise ValueError(
                f"window_bytes must be at least 128 for each core, not {self.window_bytes} for {self.cores}"
            )
        return self

    @property
    def slots(self) -> int:
        """Slots of the shared buffer."""
        return self.window_bytes // (2 * self.slot_elements)

    @cached_property
    def command_layout(self) -> Layout:
        """What the host and the decoder give to the cores."""
        slot = max((self.slots - 1).bit_length(), 1)
        return Layout.of(
            Field("start", 1, "0: a word of a program is loaded; 1: all cores begin a program"),
            Field(
                "address", (self.memory_bytes // 4 - 1).bit_length(), "word of the memory; with start where it begins"
            ),
            Field("data", 32, "the word that is loaded"),
            Field("cores", self.cores, "cores that load the word, bit n core n"),
            Field("gpr0", slot, "start: first slot of the source"),
            Field("gpr1", slot, "start: first slot of the destination"),
            Field("opsize", 16, "start: micro-operations, which the cores divide among them"),
        )

    @cached_property
    def done_layout(self) -> Layout:
        """The end of a program on all cores."""
        return Layout.of(
            Field("trapped", self.cores, "cores that ended with an exception"),
            Field(
                "strayed", self.cores, "cores that accessed addresses without memory, or wrote one byte to the buffer"
            ),
        )

    @cached_property
    def request_layout(self) -> Layout:
        """An access to the shared buffer."""
        return Layout.of(
            Field("address", (self.window_bytes // 2 - 1).bit_length(), "element of the shared buffer"),
            Field("data", 16, "element that is written", number=BF16),
            Field("write", 1, "1: the access writes; 0: it reads"),
        )

    def ports(self) -> tuple[Port, ...]:
        cores = range(self.cores)
        return (
            Port("command", "in", self.command_layout, "a word of a program, or the start of a program"),
            Port("done", "out", self.done_layout, "a program has ended on all cores"),
            *(Port(f"request_{n}", "out", self.request_layout, f"an access of core {n}") for n in cores),
            *(
                Port(
                    f"response_{n}", "in", Layout.numbers(BF16, 1), f"what core {n} has read, in the order of its reads"
                )
                for n in cores
            ),
        )


PRESETS: dict[str, CentRiscvConfig] = {"cent": CentRiscvConfig()}


class CentRiscvWorkload(Workload):
    """Operands of the measured programs."""

    elements: int = Key(default=4096, ge=32, le=1 << 15, description="elements of a vector, which RoPE rearranges")
    heads: int = Key(default=32, ge=1, le=1024, description="heads, whose sums softmax inverts")
    program: str | None = Key(
        default=None,
        description="image of `tools/cent_programs.py` in place of the programs of the "
        "repository: a file. Each of its programs gets `heads` micro-operations",
    )
    buffer_latency: int = Key(default=2, ge=1, le=64, description="clocks from a read request to its response")

    def check(self, config: CentRiscvConfig) -> None:
        image = image_for(config.slot_elements) if self.program is None else load_image(self.program)
        image.check_fits(config.memory_bytes - 4 * AHEAD_WORDS)
        slots = max(self.heads, -(-self.elements // config.slot_elements))
        if self.elements % (2 * config.slot_elements):
            raise ConfigError(f"elements must be a multiple of {2 * config.slot_elements}, not {self.elements}")
        if 2 * slots > config.slots:
            raise ConfigError(
                f"operands and results of {slots} slots each do not fit into the {config.slots} slots of the "
                "shared buffer"
            )


class ProgramClocks(Strict):
    """A program on all cores, at full rate."""

    micro_operations: int = Key(description="of the start")
    accesses: int = Key(description="16-bit accesses of all cores to the shared buffer")
    cycles: int = Key(description="from the accepted start to the accepted end, caches filled by a run before")
    cold_cycles: int = Key(description="the same with empty caches")
    first_core_cycles: int = Key(description="of one micro-operation, on one core, caches filled")
    cycles_per_item: float = Key(description="cycles over heads (softmax, largest) or elements (RoPE)")


class CentRiscvResult(SimResult):
    """Measurements of the bench of ``cent-riscv``."""

    programs: dict[str, ProgramClocks] = Key(description="each program of the repository")
    start_cycles: int = Key(description="of a program that returns at once")
    instructions: int = Key(description="instructions of the random programs, executed by the model")

    def figures(self, workload: Mapping[str, object]) -> list[Row]:
        return [
            *super().figures(workload),
            *(
                (
                    name,
                    f"{one.cycles} cycles for {one.micro_operations} micro-operations, {one.cold_cycles} with empty "
                    f"caches, {one.first_core_cycles} for one; {one.cycles_per_item:.3g} for each item",
                )
                for name, one in self.programs.items()
            ),
            ("start and end", f"{self.start_cycles} cycles"),
            ("random programs", f"{self.instructions} instructions"),
        ]


UNIT = Unit(
    "cent-riscv",
    "RISC-V cores with FP32 operators beside a shared buffer",
    "CENT section 4.2",
    module="cent_riscv",
    config=CentRiscvConfig,
    presets=PRESETS,
    generator="bankside.gen.cent.riscv:RiscvCluster",
    model="bankside.models.cent.riscv:ClusterModel",
    bench="bankside.cosim.cent.riscv:bench",
    page="docs/cent/riscv.md",
    workload=CentRiscvWorkload,
    result=CentRiscvResult,
    published=(),
    trial=Trial({"cores": 1}, {"elements": 32, "heads": 2}),
)
