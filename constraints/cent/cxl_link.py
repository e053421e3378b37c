"""Parameters of one end of a CXL link of CENT: messages of four classes in flits of 256 bytes, and credits.

Source: CENT (ASPLOS 2025) section 4.2 and the public simulator: messages of 64 bytes, three in a flit of 256 bytes. Every
place within a flit, and the credits, are this project's choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from functools import cached_property
from typing import Any, Literal

from pydantic import Field as Key
from pydantic import model_validator

from ..core.contract import Field, Layout, Port, Row, SimResult, Trial, Unit, UnitConfig, Workload

__all__ = [
    "CREDIT_BITS",
    "CREDIT_BYTE",
    "DATA_BYTES",
    "FLIT_BYTES",
    "HEADER_BITS",
    "PRESETS",
    "SLOT_BYTES",
    "UNIT",
    "CxlLinkConfig",
    "CxlLinkResult",
    "LinkWorkload",
    "MessageClass",
    "Region",
    "link_ports",
    "position_bytes",
]

#: Bytes of a flit, of the data of a message, and of a slot of a shared buffer.
FLIT_BYTES, DATA_BYTES, SLOT_BYTES = 256, 64, 32

#: Messages of a flit: each has a header of 16 bytes and its data. The physical layer has two bytes of the first header.
MESSAGES = 3

#: Bits of a header.
HEADER_BITS = 112

#: First byte of the returned credits, and bits of each class there. The bytes behind belong to the physical layer.
CREDIT_BYTE, CREDIT_BITS = 240, 4


class MessageClass(IntEnum):
    """Classes of messages. The kind of a message in a header is its number plus 1."""

    REQ = 0
    RWD = 1
    DRS = 2
    NDR = 3


class Region(IntEnum):
    """What an address of a device names. Other regions are as the memory: the port passes their accesses on."""

    SHARED_BUFFER = 0
    MEMORY = 1


def position_bytes(position: int) -> tuple[int, int]:
    """First byte of the header and of the data of a message at a position of a flit."""
    first = position * (16 + DATA_BYTES)
    return max(first, 2), first + 16


class CxlLinkConfig(UnitConfig):
    """Parameters of the generator. Both ends of a link have the same."""

    devices: int = Key(default=32, ge=2, le=64, description="devices that a message can name, beside the host")
    beat_bytes: Literal[16, 32, 64] = Key(default=32, description="bytes of a flit that pass in a clock")
    credits_req: int = Key(default=8, ge=2, le=64, description="read requests that an end holds")
    credits_rwd: int = Key(default=32, ge=2, le=64, description="writes that an end holds")
    credits_drs: int = Key(default=16, ge=2, le=64, description="data responses that an end holds")
    credits_ndr: int = Key(default=48, ge=2, le=64, description="write acknowledgements that an end holds")
    tag_bits: int = Key(default=8, ge=1, le=16, description="bits of a tag")
    address_bits: int = Key(
        default=28,
        ge=1,
        le=40,
        description="bits of an address: a slot of the shared buffer, or 64 bytes of the memory",
    )
    flush_clocks: int = Key(
        default=16, ge=1, le=255, description="clocks that an unfinished flit waits for further messages"
    )
    clock_mhz: float = Key(default=1000.0, gt=0, le=10000, strict=False, description="target clock")

    @model_validator(mode="after")
    def _check(self) -> CxlLinkConfig:
        bits = 2 + self.header_layout.bits + 1 + self.ack_layout.bits
        if bits > HEADER_BITS:
            raise ValueError(f"a header has {HEADER_BITS} bits, but devices, tag_bits and address_bits need {bits}")
        return self

    @property
    def nodes(self) -> int:
        """The host and the devices. The host is node 0, device n is node n + 1."""
        return self.devices + 1

    @property
    def node_bits(self) -> int:
        return (self.nodes - 1).bit_length()

    @property
    def credits(self) -> dict[MessageClass, int]:
        return {one: getattr(self, f"credits_{one.name.lower()}") for one in MessageClass}

    @property
    def beats(self) -> int:
        """Beats of a flit."""
        return FLIT_BYTES // self.beat_bytes

    # Layouts ----------------------------------------------------------------------------------------------------------

    @cached_property
    def header_layout(self) -> Layout:
        """Header of a message with or without data: REQ, RWD, DRS."""
        return Layout.of(
            Field("half", 1, "the message is about one slot, not about two"),
            Field("last", 1, "RWD: the last message of a transfer"),
            Field("source", self.node_bits, "node that sends it: 0 the host, n + 1 device n"),
            Field("targets", self.nodes, "nodes that receive it, a bit for each; several bits: a broadcast"),
            Field("tag", self.tag_bits, "name that the answer repeats"),
            Field("region", 2, "0 shared buffer, 1 memory, 2 and 3 as the memory"),
            Field("address", self.address_bits, "slot, or 64 bytes of the memory"),
        )

    @cached_property
    def data_layout(self) -> Layout:
        """A message with data."""
        return Layout.of(*self.header_layout.fields, Field("data", 8 * DATA_BYTES, "64 bytes, the first slot lowest"))

    @cached_property
    def ack_layout(self) -> Layout:
        """NDR: a write is done."""
        return Layout.of(
            Field("source", self.node_bits, "node that has done the write"),
            Field("target", self.node_bits, "node that sent the write"),
            Field("tag", self.tag_bits, "tag of the write"),
        )

    @cached_property
    def beat_layout(self) -> Layout:
        return Layout.plain(8 * self.beat_bytes)

    def layout(self, kind: MessageClass) -> Layout:
        """Payload of a class of messages."""
        return {MessageClass.REQ: self.header_layout, MessageClass.NDR: self.ack_layout}.get(kind, self.data_layout)

    def ports(self) -> tuple[Port, ...]:
        return (
            *(Port(f"send_{one.name.lower()}", "in", self.layout(one), f"{one.name} to send") for one in MessageClass),
            *(Port(f"got_{one.name.lower()}", "out", self.layout(one), f"{one.name} received") for one in MessageClass),
            *link_ports(self),
        )


def link_ports(config: CxlLinkConfig, suffix: str = "") -> tuple[Port, Port]:
    """The two directions of a link's flits."""
    return (
        Port(f"rx{suffix}", "in", config.beat_layout, "beats of received flits, the lowest bytes first"),
        Port(f"tx{suffix}", "out", config.beat_layout, "beats of sent flits, the lowest bytes first"),
    )


PRESETS: dict[str, CxlLinkConfig] = {"cent": CxlLinkConfig()}


class LinkWorkload(Workload):
    """A vector as writes from one end to the other."""

    bytes: int = Key(default=16384, ge=64, le=1 << 22, multiple_of=64, description="bytes of the measured vector")


class CxlLinkResult(SimResult):
    """Measurements of the bench of ``cent-cxl-link``: a link with an end at each side."""

    cycles: int = Key(description="from the first write accepted to the last write received")
    ideal_cycles: int = Key(description="beats of the fewest flits that hold the vector, one a clock")
    utilisation: float = Key(description="`ideal_cycles` over `cycles`")
    flits: int = Key(description="flits that carried the vector, with all others of the same direction")
    payload_percent: float = Key(description="bytes of the vector in percent of the bytes of these flits")
    exchange_percent: float = Key(description="the same while both ends send a vector and acknowledge the other's")
    message_clocks: int = Key(description="from a single write accepted to the same write received")
    pack_clocks: int = Key(description="from a single write accepted to the first beat of its flit")
    unpack_clocks: int = Key(description="from the beat that ends a write to the write received")

    def figures(self, workload: Mapping[str, Any]) -> list[Row]:
        return [
            *super().figures(workload),
            ("vector", f"{self.cycles} cycles, ideal {self.ideal_cycles}, utilisation {self.utilisation:.4f}"),
            (
                "payload",
                f"{self.payload_percent:.2f} % of {self.flits} flits; {self.exchange_percent:.2f} % if both ends send",
            ),
            (
                "latency",
                f"{self.message_clocks} clocks for a write: {self.pack_clocks} to its first beat, "
                f"{self.unpack_clocks} after its last",
            ),
        ]


#: The smallest link: two devices, few credits, beats of 64 bytes.
SMALL: dict[str, Any] = {
    "devices": 2,
    "beat_bytes": 64,
    "credits_req": 2,
    "credits_rwd": 4,
    "credits_drs": 2,
    "credits_ndr": 4,
    "tag_bits": 4,
    "address_bits": 6,
    "flush_clocks": 4,
}

UNIT = Unit(
    "cent-cxl-link",
    "end of a CXL link: messages packed into flits of 256 bytes, and credits",
    "CENT (ASPLOS 2025) section 4.2",
    module="cent_cxl_link",
    config=CxlLinkConfig,
    presets=PRESETS,
    generator="bankside.gen.cent.cxl_link:CxlLink",
    model="bankside.models.cent.cxl:FlitCodec",
    bench="bankside.cosim.cent.cxl_link:bench",
    page="docs/cent/cxl_port.md",
    workload=LinkWorkload,
    result=CxlLinkResult,
    published=(),
    trial=Trial(SMALL, {"bytes": 256}),
)
