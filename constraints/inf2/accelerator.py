"""Parameters of INF2's accelerator: its registers, its jobs, and the layout of a shard in memory.

Source: INF2, accelerator: GEMV, softmax and GEMV around the accelerator's DRAM. The shell (AXI4, registers, order of
accesses) is this project's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from pydantic import Field as Key
from pydantic import model_validator

from ..core.axi import Register, axi4_ports, axi_lite_ports
from ..core.contract import (
    Layout,
    MemoryTiming,
    NumericResult,
    Port,
    RateResult,
    Row,
    Trial,
    Unit,
    UnitConfig,
    Workload,
    memory_port,
)
from ..core.document import Strict
from ..core.errors import ConfigError
from .gemv import PRESETS as GEMV_PRESETS
from .gemv import Gemv, GemvMode, Inf2GemvConfig
from .softmax import PRESETS as SOFTMAX_PRESETS
from .softmax import Inf2SoftmaxConfig

__all__ = [
    "ADDRESSES",
    "PRESETS",
    "UNIT",
    "AcceleratorPoint",
    "AcceleratorTiming",
    "AcceleratorWorkload",
    "Inf2AcceleratorConfig",
    "Inf2AcceleratorResult",
    "Job",
    "JobError",
    "MaskKind",
]


class MaskKind(IntEnum):
    """Tokens whose scores the accelerator writes over."""

    NONE = 0  #: no token
    FIRST = 1  #: the first ``mask_length`` tokens of the row: padding on the left
    LAST = 2  #: the last ``mask_length`` tokens of the row
    BITS = 3  #: tokens whose bit in memory is 1, among the first ``mask_length`` tokens


class JobError(IntEnum):
    """Why a job ended without a result."""

    NONE = 0
    ADDRESS = 1  #: an address is no multiple of a word
    TOKENS = 2  #: no tokens, or too many
    HEAD_DIM = 3  #: no head dimension, or too large
    MASK = 4  #: the mask is longer than the row
    READ = 5  #: the memory answered a read with an error
    WRITE = 6  #: the memory answered a write with an error


#: Registers that hold an address.
ADDRESSES = ("q", "k", "v", "new_k", "new_v", "output", "mask")


@dataclass(frozen=True)
class Job:
    """Attention of one query over a shard: what the registers say.

    Attributes
    ----------
    q, k, v, new_k, new_v, output, mask : byte addresses
    tokens, new_tokens : rows at ``k`` and ``v``, and rows behind them at ``new_k`` and ``new_v``
    mask_length : tokens that the mask covers
    """

    tokens: int
    head_dim: int
    new_tokens: int = 0
    mask_kind: MaskKind = MaskKind.NONE
    mask_length: int = 0
    q: int = 0
    k: int = 0
    v: int = 0
    new_k: int = 0
    new_v: int = 0
    output: int = 0
    mask: int = 0

    @property
    def row(self) -> int:
        """Tokens of the row of scores."""
        return self.tokens + self.new_tokens


class Inf2AcceleratorConfig(UnitConfig):
    """Parameters of the generator ``inf2-accelerator``. A word of the memory has ``gemv.lanes`` numbers."""

    gemv: Inf2GemvConfig = Key(default=GEMV_PRESETS["inf2"], description="the engine of both products")
    softmax: Inf2SoftmaxConfig = Key(default=SOFTMAX_PRESETS["inf2"], description="the softmax between them")
    address_bits: int = Key(default=64, ge=12, le=64, description="width of addresses on the memory port")
    id_bits: int = Key(default=1, ge=0, le=16, description="width of identifiers on the memory port")
    burst: int = Key(default=64, ge=1, le=256, description="most words of a burst")
    outstanding: int = Key(default=8, ge=1, le=64, description="most bursts that are under way, of reads and of writes")
    read_words: int = Key(default=256, ge=1, le=1 << 14, description="words that the reader can hold, at least `burst`")
    clock_mhz: float = Key(default=200.0, gt=0, le=10000, strict=False, description="target clock")

    @model_validator(mode="after")
    def _check(self) -> Inf2AcceleratorConfig:
        if not 8 <= self.data_bits <= 1024:
            raise ValueError(
                f"gemv.lanes {self.gemv.lanes}: a word of the memory port has 8 to 1024 bits, not {self.data_bits}"
            )
        if self.burst * self.word_bytes > 4096:
            raise ValueError(f"burst {self.burst}: a burst of words of {self.word_bytes} bytes exceeds 4096 bytes")
        if self.softmax.streamed or not self.softmax.divides or self.softmax.rule.score != self.gemv.io:
            raise ValueError("softmax must keep its rows on the chip, divide, and take scores in the format of gemv")
        if self.softmax.lanes % self.lanes:
            raise ValueError(
                f"softmax.lanes {self.softmax.lanes} must be a multiple of gemv.lanes, which is {self.lanes}"
            )
        if self.softmax.max_tokens != self.max_tokens:
            raise ValueError(
                f"softmax.max_tokens {self.softmax.max_tokens} must be gemv.max_tokens, which is {self.max_tokens}"
            )
        if self.read_words < self.burst:
            raise ValueError(f"read_words {self.read_words} must be at least burst, which is {self.burst}")
        return self

    # Derived sizes ---------------------------------------------------------------------------------------------------

    @property
    def lanes(self) -> int:
        return self.gemv.lanes

    @property
    def word_bytes(self) -> int:
        return self.gemv.word_bytes

    @property
    def data_bits(self) -> int:
        return 8 * self.word_bytes

    @property
    def max_tokens(self) -> int:
        return self.gemv.max_tokens

    @property
    def max_head_dim(self) -> int:
        return self.gemv.max_head_dim

    @property
    def row_words(self) -> int:
        """Most words of a row of K or V."""
        return self.gemv.tiles(self.max_head_dim)

    @property
    def mask_words(self) -> int:
        """Words of the longest mask."""
        return -(-self.max_tokens // self.data_bits)

    @property
    def token_bits(self) -> int:
        return self.max_tokens.bit_length()

    @property
    def lite_bits(self) -> int:
        """Width of addresses of registers."""
        return 8

    @property
    def registers(self) -> tuple[Register, ...]:
        """Registers, in the order of their addresses."""
        address, tokens = self.address_bits, 32
        texts = {
            "q": "query, scaled by the host",
            "k": "rows of K",
            "v": "rows of V",
            "new_k": "rows of K behind these",
            "new_v": "rows of V behind these",
            "output": "attention output",
            "mask": "bits of the mask, token 0 lowest",
        }
        return (
            Register("start", 0x00, 1, "pulse", description="1: begin a job; without effect during a job"),
            Register("busy", 0x04, 1, "ro", description="a job runs"),
            Register(
                "events",
                0x08,
                2,
                "w1c",
                description="bit 0: a job ended with its result; bit 1: it ended with an error",
            ),
            Register("enable", 0x0C, 2, "rw", description="events that raise the interrupt"),
            Register(
                "error",
                0x10,
                4,
                "ro",
                description="reason of the last job's error: "
                + ", ".join(f"{one.value} {one.name.lower()}" for one in JobError),
            ),
            Register("cycles", 0x14, 32, "ro", description="clocks of the last job"),
            *(
                Register(name, 0x18 + 8 * n, address, "rw", description=f"address: {texts[name]}")
                for n, name in enumerate(ADDRESSES)
            ),
            Register("tokens", 0x50, tokens, "rw", description="rows at `k` and `v`"),
            Register("new_tokens", 0x54, tokens, "rw", description="rows at `new_k` and `new_v`"),
            Register("head_dim", 0x58, 16, "rw", description="head dimension"),
            Register(
                "mask_kind",
                0x5C,
                2,
                "rw",
                description="masked: " + ", ".join(f"{one.value} {one.name.lower()}" for one in MaskKind),
            ),
            Register("mask_length", 0x60, tokens, "rw", description="tokens that the mask covers"),
            Register(
                "arrived_k", 0x64, tokens, "rw", description="rows that lie at `k` by now; the job waits for others"
            ),
            Register(
                "arrived_v", 0x68, tokens, "rw", description="rows that lie at `v` by now; the job waits for others"
            ),
        )

    @property
    def pointers(self) -> tuple[str, ...]:
        """Registers that hold an address of the memory."""
        return ADDRESSES

    # Ports -----------------------------------------------------------------------------------------------------------

    def ports(self) -> tuple[Port, ...]:
        return (
            *axi4_ports("m_axi", self.address_bits, self.data_bits, self.id_bits),
            *axi_lite_ports("s_axi", self.lite_bits),
            Port("irq", "out", Layout.plain(1), "an event that is enabled", stream=False),
        )

    # Work ------------------------------------------------------------------------------------------------------------

    def error_of(self, job: Job) -> JobError:
        """The error that the registers alone cause."""
        used = [
            "q",
            "k",
            "v",
            "output",
            *(("new_k", "new_v") if job.new_tokens else ()),
            *(("mask",) if job.mask_kind is MaskKind.BITS else ()),
        ]
        if any(getattr(job, name) % self.word_bytes for name in used):
            return JobError.ADDRESS
        if not 1 <= job.row <= self.max_tokens:
            return JobError.TOKENS
        if not 1 <= job.head_dim <= self.max_head_dim:
            return JobError.HEAD_DIM
        if job.mask_kind is not MaskKind.NONE and job.mask_length > job.row:
            return JobError.MASK
        return JobError.NONE

    def masked(self, job: Job, bits: np.ndarray | None = None) -> np.ndarray:
        """Whether each token of the row is masked: bool array ``(row,)``. ``bits``: the mask in memory, of shape
        ``(mask_length,)``."""
        token = np.arange(job.row)
        if job.mask_kind is MaskKind.FIRST:
            return token < job.mask_length
        if job.mask_kind is MaskKind.LAST:
            return token >= job.row - job.mask_length
        out = np.zeros(job.row, bool)
        if job.mask_kind is MaskKind.BITS:
            out[: job.mask_length] = np.asarray(bits, bool)
        return out

    def rows(self, matrix: np.ndarray, fill: int = 0) -> np.ndarray:
        """Numbers of rows of K or V as they lie in memory: each row begins a word. Shape ``(tokens, words, lanes)``."""
        tokens, dims = matrix.shape
        words = self.gemv.tiles(dims)
        out = np.full((tokens, words * self.lanes), fill, np.int64)
        out[:, :dims] = matrix
        return out.reshape(tokens, words, self.lanes)


def _preset(name: str) -> Inf2AcceleratorConfig:
    """The parts of a preset, with multipliers and adders for an FPGA."""
    return Inf2AcceleratorConfig(
        gemv=GEMV_PRESETS[name].model_copy(update={"fabric": "xilinx"}),
        softmax=SOFTMAX_PRESETS[name].model_copy(update={"fabric": "xilinx"}),
    )


#: The accelerator of the paper, for its FPGA; and the same with FP32 sums.
PRESETS: dict[str, Inf2AcceleratorConfig] = {name: _preset(name) for name in ("inf2", "inf2-fp32")}


class AcceleratorWorkload(Workload):
    """Attention of one query over a shard."""

    memory: str = memory_port("nvme-smartssd")
    dram: str = Key(default="ddr4-2400", description="memory beside the accelerator; as `memory`: K and V lie in it")
    tokens: int = Key(default=1024, ge=1, le=1 << 30, description="tokens of the measured shard, the new ones included")
    head_dim: int = Key(default=128, ge=1, le=4096, description="head dimension")
    new_tokens: int = Key(default=2, ge=0, le=1 << 20, description="tokens among them that come from the host's buffer")
    doorbell_kib: int = Key(
        default=64,
        ge=1,
        le=1 << 20,
        description="KiB after which the host tells the accelerator what has come from the drive",
    )
    latency: int = Key(default=40, ge=0, le=10000, description="clocks from the address of a burst to its first word")
    sweep: int = Key(default=1, ge=0, le=1, description="1: measure other token counts and masks too; 0: do not")

    def check(self, config: Inf2AcceleratorConfig) -> None:
        config.gemv.check_command(Gemv(GemvMode.QK, self.tokens, self.head_dim))
        if self.new_tokens > self.tokens:
            raise ConfigError(f"new_tokens must be in 0..{self.tokens} (tokens), not {self.new_tokens}")


class AcceleratorPoint(Strict):
    """A job alone: from the write that starts it to the interrupt."""

    tokens: int = Key(description="of the shard")
    head_dim: int = Key(description="of the shard")
    mask: str = Key(description="kind of mask: none, first, last or bits")
    cycles: int = Key(description="from the write that starts the job to the interrupt")
    ideal_cycles: int = Key(description="words of K and V, one a clock")
    utilisation: float = Key(description="`ideal_cycles` over `cycles`")
    port_share: float = Key(description="share of the clocks with a word on the memory port")
    dram_share: float = Key(description="share in which a word waited for the pace of the DRAM")
    latency_share: float = Key(description="share in which a read was under way otherwise")
    p2p_share: float = Key(description="share without a read, in which words still had to come from the drive")
    unit_share: float = Key(description="the rest: products, softmax and output")


class AcceleratorTiming(AcceleratorPoint, MemoryTiming):
    """The measured shard at the pace of the memories."""

    cycles: int = Key(description="from the write that starts the job to the interrupt")
    memory_time_ns: float = Key(description="from the first to the last word of K and V at the memory's own pace")
    stall_cycles: int = Key(description="clocks without a word on the memory port")
    dram: str = Key(description="memory beside the accelerator")


class Inf2AcceleratorResult(RateResult, NumericResult):
    """Measurements of the bench of ``inf2-accelerator``. Figures at full rate have a memory that gives a word in every
    clock, in which all of K and V lie."""

    cycles: int = Key(description="from the write that starts the job to the interrupt")
    ideal_cycles: int = Key(description="words of K and V, one a clock")
    axi_violations: int = Key(description="violations of the rules of AXI4 and AXI4-Lite, in all runs")
    early_reads: int = Key(description="words that were read before they had come, in all runs")
    errors: int = Key(description="jobs that were refused or failed, as they should")
    points: list[AcceleratorPoint] = Key(description="jobs of other sizes and masks at full rate")
    memory_timing: AcceleratorTiming = Key(description="the measured shard at the pace of the memories")

    def figures(self, workload: Mapping[str, Any]) -> list[Row]:
        one = self.memory_timing
        return [
            *super().figures(workload),
            ("AXI", f"{self.axi_violations} violations, {self.early_reads} early reads; {self.errors} jobs refused"),
            one.row,
            (
                "bound by",
                f"P2P {one.p2p_share:.1%}, DRAM {one.dram_share:.1%}, its latency {one.latency_share:.1%}, words "
                f"on the port {one.port_share:.1%}, the unit {one.unit_share:.1%} of the clocks",
            ),
        ]


UNIT = Unit(
    "inf2-accelerator",
    "attention beside storage: products and softmax in a shell of AXI4",
    "INF² (near-storage processing), accelerator",
    module="inf2_accelerator",
    config=Inf2AcceleratorConfig,
    presets=PRESETS,
    generator="bankside.gen.inf2.accelerator:Inf2Accelerator",
    model="bankside.models.inf2.accelerator:attention",
    bench="bankside.cosim.inf2.accelerator:bench",
    page="docs/inf2/accelerator.md",
    workload=AcceleratorWorkload,
    result=Inf2AcceleratorResult,
    published=(),
    fpga="xcup",
    trial=Trial(
        {
            "gemv.blocks": 2,
            "gemv.lanes": 4,
            "gemv.max_head_dim": 24,
            "gemv.max_tokens": 255,
            "softmax.lanes": 8,
            "softmax.max_tokens": 255,
            "softmax.slack_beats": 4,
            "softmax.row_slots": 4,
            "burst": 8,
            "read_words": 32,
            "address_bits": 32,
        },
        {"tokens": 40, "head_dim": 20, "sweep": 0, "doorbell_kib": 1},
    ),
)
