"""Parameters of CENT's CXL port: sends, broadcasts and receives vectors, and serves accesses of the host.

Source: CENT (ASPLOS 2025) sections 4.2 and 4.3, Tables 2 and 3. Depths, tags and the interfaces on the device's side are
this project's choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from functools import cached_property
from typing import Any

from pydantic import Field as Key
from pydantic import model_validator

from ..core.contract import Field, Layout, Port, Row, SimResult, Trial, Unit, UnitConfig, Workload
from ..core.errors import ConfigError
from .cxl_link import DATA_BYTES, SLOT_BYTES, CxlLinkConfig, link_ports
from .cxl_link import PRESETS as LINKS
from .cxl_link import UNIT as LINK

__all__ = ["PRESETS", "UNIT", "CentCxlPortConfig", "FabricResult", "PortOp", "VectorWorkload"]


class PortOp(IntEnum):
    """Commands of the port, by their codes in the program encoding. Other codes do nothing."""

    SEND_CXL = 57
    RECV_CXL = 58
    BCAST_CXL = 59


class CentCxlPortConfig(UnitConfig):
    """Parameters of the generator."""

    link: CxlLinkConfig = Key(default=LINKS["cent"], description="the link")
    slots: int = Key(default=2048, ge=2, le=1 << 16, description="slots of the shared buffer, a power of two")
    slots_per_message: int = Key(
        default=2,
        ge=1,
        le=DATA_BYTES // SLOT_BYTES,
        description="most slots of a sent message; 1: as the instruction set says",
    )
    receive_depth: int = Key(default=4, ge=2, le=64, description="requests in each receive queue, H2L and R2L")
    send_depth: int = Key(default=4, ge=2, le=64, description="writes in the send queue L2R")
    answer_depth: int = Key(
        default=4, ge=2, le=64, description="reads under way, and acknowledgements in each send queue"
    )
    reads_in_flight: int = Key(default=8, ge=4, le=64, description="slots that are asked of the shared buffer at once")
    tags: int = Key(default=32, ge=1, le=256, description="SEND_CXL and BCAST_CXL whose acknowledgements are awaited")

    @model_validator(mode="after")
    def _check(self) -> CentCxlPortConfig:
        if self.slots & (self.slots - 1):
            raise ValueError(f"slots must be a power of two, not {self.slots}")
        if self.slots > 1 << self.link.address_bits:
            raise ValueError(
                f"slots must be at most {1 << self.link.address_bits} with {self.link.address_bits} "
                f"link.address_bits, not {self.slots}"
            )
        if self.tags > 1 << self.link.tag_bits:
            raise ValueError(
                f"tags must be at most {1 << self.link.tag_bits} with {self.link.tag_bits} link.tag_bits, "
                f"not {self.tags}"
            )
        return self

    @property
    def clock_mhz(self) -> float:
        return self.link.clock_mhz

    @property
    def slot_bits(self) -> int:
        """Bits of a slot's number."""
        return (self.slots - 1).bit_length()

    # Layouts ----------------------------------------------------------------------------------------------------------

    @cached_property
    def command_layout(self) -> Layout:
        return Layout.of(
            Field("op", 6, "code of the program encoding; one that is none of the port does nothing"),
            Field("opsize", self.slots.bit_length(), "SEND_CXL, BCAST_CXL: slots; 0: nothing is sent"),
            Field("gpr", self.slot_bits, "first slot here"),
            Field("gpr1", self.slot_bits, "first slot at the receivers"),
            Field("device", 8, "SEND_CXL: receiver; BCAST_CXL: number of devices behind this one that receive"),
        )

    @property
    def address_layout(self) -> Layout:
        return Layout.plain(self.slot_bits)

    @property
    def slot_layout(self) -> Layout:
        return Layout.plain(8 * SLOT_BYTES)

    @cached_property
    def write_layout(self) -> Layout:
        return Layout.of(Field("slot", self.slot_bits, "slot"), Field("data", 8 * SLOT_BYTES, "its new contents"))

    @cached_property
    def memory_layout(self) -> Layout:
        return Layout.of(
            Field("write", 1, "1 write, 0 read"),
            Field("region", 2, "region of the address, not 0"),
            Field("address", self.link.address_bits, "64 bytes"),
            Field("data", 8 * DATA_BYTES, "to write"),
        )

    def ports(self) -> tuple[Port, ...]:
        return (
            Port("command", "in", self.command_layout, "a command"),
            Port("slot_read", "out", self.address_layout, "slot of the shared buffer to read"),
            Port("slot_data", "in", self.slot_layout, "contents of the slots read, in order"),
            Port("slot_write", "out", self.write_layout, "slot of the shared buffer to write"),
            Port("memory", "out", self.memory_layout, "access past the shared buffer, to the PIM controllers"),
            Port("memory_data", "in", Layout.plain(8 * DATA_BYTES), "data of the reads of `memory`, in order"),
            Port("received", "out", Layout.plain(1), "a RECV_CXL has its transfer; always 0"),
            Port(
                "acknowledged",
                "out",
                Layout.plain(self.link.tag_bits),
                "all receivers have done the writes of a SEND_CXL or BCAST_CXL; its tag, in the order of the commands",
            ),
            *link_ports(self.link),
            Port("identity", "in", Layout.plain(self.link.node_bits), "number of this device", stream=False),
        )


PRESETS: dict[str, CentCxlPortConfig] = {"cent": CentCxlPortConfig()}


class VectorWorkload(Workload):
    """Vectors that devices send through the switch."""

    bytes: int = Key(
        default=16384,
        ge=2 * SLOT_BYTES,
        le=1 << 20,
        multiple_of=2 * SLOT_BYTES,
        description="bytes of a measured vector",
    )

    def check(self, config: Any) -> None:
        port: CentCxlPortConfig = config if isinstance(config, CentCxlPortConfig) else config.port
        if 2 * self.bytes > port.slots * SLOT_BYTES:
            raise ConfigError(
                f"bytes must be at most half the shared buffer, {port.slots * SLOT_BYTES // 2} for this "
                f"configuration, not {self.bytes}"
            )


class FabricResult(SimResult):
    """Measurements of the benches of ``cent-cxl-port`` and ``cent-cxl-switch``: devices and a host at a switch."""

    devices: int = Key(description="devices at the switch")
    cycles: int = Key(description="of a SEND_CXL of the vector, from its command to RECV_CXL at the receiver")
    ideal_cycles: int = Key(description="beats of the fewest flits that hold the vector, one a clock")
    utilisation: float = Key(description="`ideal_cycles` over `cycles`")
    payload_percent: float = Key(description="bytes of the vector in percent of the bytes of the sender's flits")
    literal_cycles: int = Key(description="the same vector with a SEND_CXL for each slot, as the instruction set says")
    literal_payload_percent: float = Key(description="its share of the bytes of the sender's flits")
    broadcast_cycles: int = Key(description="of a BCAST_CXL of the vector to all other devices, until all have it")
    exchange_cycles: int = Key(description="until every device has sent the vector to the next one and received one")
    exchange_payload_percent: float = Key(
        description="bytes of all vectors in percent of the bytes of all devices' flits"
    )
    gather_cycles: int = Key(
        description="until the first device has a vector of every other device, one after the other"
    )
    send_clocks: int = Key(description="of a SEND_CXL of two slots: from its command to its first beat")
    receive_clocks: int = Key(description="of the same: from its last beat at the receiver to RECV_CXL")
    slot_clocks: int = Key(description="of the same: from its command to RECV_CXL, through the switch")
    acknowledge_clocks: int = Key(description="of the same: from its command to the gathered acknowledgement")
    switch_clocks: int = Key(description="of the same: from its last beat into the switch to its last beat out of it")
    host_read_clocks: int = Key(description="of a read of two slots by the host, from its request to its data")

    def figures(self, workload: Mapping[str, Any]) -> list[Row]:
        return [
            *super().figures(workload),
            (
                "send",
                f"{self.cycles} cycles, ideal {self.ideal_cycles}, utilisation {self.utilisation:.4f}; payload "
                f"{self.payload_percent:.2f} % of the flits",
            ),
            ("a slot per message", f"{self.literal_cycles} cycles, payload {self.literal_payload_percent:.2f} %"),
            ("broadcast", f"{self.broadcast_cycles} cycles to {self.devices - 1} devices"),
            ("exchange", f"{self.exchange_cycles} cycles, payload {self.exchange_payload_percent:.2f} %"),
            ("gather", f"{self.gather_cycles} cycles"),
            (
                "latency",
                f"{self.slot_clocks} clocks for two slots: {self.send_clocks} to the line, {self.switch_clocks} in "
                f"the switch, {self.receive_clocks} from the line; acknowledged after {self.acknowledge_clocks}; "
                f"host read {self.host_read_clocks}",
            ),
        ]


#: The smallest port.
SMALL: dict[str, Any] = {
    **LINK.trial.within("link"),
    "slots": 32,
    "receive_depth": 2,
    "send_depth": 2,
    "answer_depth": 2,
    "reads_in_flight": 4,
    "tags": 4,
}

UNIT = Unit(
    "cent-cxl-port",
    "CXL port of a device: send, broadcast, receive, and accesses of the host",
    "CENT (ASPLOS 2025) section 4.2",
    module="cent_cxl_port",
    config=CentCxlPortConfig,
    presets=PRESETS,
    generator="bankside.gen.cent.cxl_port:CentCxlPort",
    model="bankside.models.cent.cxl:FabricModel",
    bench="bankside.cosim.cent.cxl_port:bench",
    page="docs/cent/cxl_port.md",
    workload=VectorWorkload,
    result=FabricResult,
    published=(),
    trial=Trial(SMALL, {"bytes": 256}),
)
