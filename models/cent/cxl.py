"""CENT's network, bit-exact: flits of a CXL link, and what devices and a host at a switch do to each other.

The model has no timing. :class:`FlitCodec` gives every bit of a flit. :class:`FabricModel` executes the commands of all
devices and the requests of the host, and gives every message between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...constraints.cent.cxl_link import (
    CREDIT_BITS,
    CREDIT_BYTE,
    DATA_BYTES,
    FLIT_BYTES,
    MESSAGES,
    SLOT_BYTES,
    CxlLinkConfig,
    MessageClass,
    Region,
    position_bytes,
)
from ...constraints.cent.cxl_port import CentCxlPortConfig, PortOp
from ...constraints.core.contract import Layout
from ...constraints.core.errors import ConfigError

__all__ = ["Ack", "Command", "Episode", "FabricModel", "FlitCodec", "Flits", "Message", "rows"]


# Flits -----------------------------------------------------------------------------------------------------------------


@dataclass
class Flits:
    """Contents of flits.

    Attributes
    ----------
    kinds : int array ``(flits, 3)``, 0 for no message, else the number of its :class:`MessageClass` plus 1
    messages : uint8 ``(flits, 3, payload_bytes)``, payloads of ``data_layout``, with zeros where no data are
    acked : bool array ``(flits, 3)``
    acks : uint8 ``(flits, 3, payload_bytes)``, payloads of ``ack_layout``
    credits : int array ``(flits, 4)``, credits returned by class
    """

    kinds: np.ndarray
    messages: np.ndarray
    acked: np.ndarray
    acks: np.ndarray
    credits: np.ndarray

    def of(self, kind: MessageClass) -> np.ndarray:
        """Payloads of a class in the order in which they were sent."""
        return self.acks[self.acked] if kind is MessageClass.NDR else self.messages[self.kinds == kind + 1]

    def flit_of(self, kind: MessageClass) -> np.ndarray:
        """Number of the flit of each of :meth:`of`."""
        return np.nonzero(self.acked if kind is MessageClass.NDR else self.kinds == kind + 1)[0]


class FlitCodec:
    """Flits of a link as bytes: uint8 of shape ``(flits, 256)``."""

    def __init__(self, config: CxlLinkConfig) -> None:
        self.config = config

    def _fields(self) -> list[tuple[int, int, int, int]]:
        """For each position the first bit of kind and header, of the data, of the acknowledgement's mark, and of the
        acknowledgement."""
        head = self.config.header_layout.bits
        out = []
        for position in range(MESSAGES):
            first, body = (8 * byte for byte in position_bytes(position))
            out.append((first, body, first + 2 + head, first + 3 + head))
        return out

    def encode(self, flits: Flits) -> np.ndarray:
        head, ack = self.config.header_layout.bits, self.config.ack_layout.bits
        bits = np.zeros((len(flits.kinds), 8 * FLIT_BYTES), np.uint8)
        for n, (first, body, mark, answer) in enumerate(self._fields()):
            bits[:, first : first + 2] = _bits(flits.kinds[:, n], 2)
            message = np.unpackbits(flits.messages[:, n], axis=1, bitorder="little")
            bits[:, first + 2 : first + 2 + head] = message[:, :head]
            bits[:, body : body + 8 * DATA_BYTES] = message[:, head : head + 8 * DATA_BYTES]
            bits[:, mark] = flits.acked[:, n]
            bits[:, answer : answer + ack] = np.unpackbits(flits.acks[:, n], axis=1, bitorder="little")[:, :ack]
        for n in range(len(MessageClass)):
            first = 8 * CREDIT_BYTE + n * CREDIT_BITS
            bits[:, first : first + CREDIT_BITS] = _bits(flits.credits[:, n], CREDIT_BITS)
        return np.packbits(bits, axis=1, bitorder="little")

    def decode(self, rows: np.ndarray) -> Flits:
        """The inverse. Bits that no field has are lost, so ``encode(decode(rows))`` differs from wrong rows."""
        head, ack = self.config.header_layout.bits, self.config.ack_layout.bits
        bits = np.unpackbits(rows, axis=1, bitorder="little")
        kinds, messages, acked, acks = [], [], [], []
        for first, body, mark, answer in self._fields():
            kind = bits[:, first : first + 2] @ np.array([1, 2])
            content = bits[:, body : body + 8 * DATA_BYTES]
            message = np.concatenate([bits[:, first + 2 : first + 2 + head], content], axis=1)
            kinds.append(kind)
            messages.append(np.packbits(message, axis=1, bitorder="little"))
            acked.append(bits[:, mark].astype(bool))
            acks.append(np.packbits(bits[:, answer : answer + ack], axis=1, bitorder="little"))
        first = 8 * CREDIT_BYTE
        credits = bits[:, first : first + len(MessageClass) * CREDIT_BITS].reshape(-1, len(MessageClass), CREDIT_BITS)
        return Flits(
            np.stack(kinds, axis=1),
            np.stack(messages, axis=1),
            np.stack(acked, axis=1),
            np.stack(acks, axis=1),
            credits @ (1 << np.arange(CREDIT_BITS)),
        )

    def beats(self, rows: np.ndarray) -> np.ndarray:
        """Beats of flits, uint8 ``(beats, beat_bytes)``."""
        return rows.reshape(-1, self.config.beat_bytes)

    def fewest(self, count: int) -> int:
        """Fewest flits for ``count`` messages."""
        return -(-count // MESSAGES)


def _bits(values: np.ndarray, width: int) -> np.ndarray:
    return (np.asarray(values)[:, None] >> np.arange(width) & 1).astype(np.uint8)


# Devices and host ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Command:
    """A command of a port; operands as its ``command_layout`` names them."""

    op: int
    opsize: int = 0
    gpr: int = 0
    gpr1: int = 0
    device: int = 0


@dataclass(frozen=True, eq=False)
class Message:
    """A message with or without data. ``data``: uint8 of 64 bytes. ``targets``: nodes (0 the host, n + 1 device n)."""

    kind: MessageClass
    targets: tuple[int, ...]
    address: int
    tag: int = 0
    source: int = 0
    region: int = Region.SHARED_BUFFER
    half: bool = False
    last: bool = False
    data: np.ndarray | None = None

    def row(self, layout: Layout) -> int:
        """Payload of ``layout`` as an integer."""
        content = {} if self.data is None else {"data": int.from_bytes(self.data.tobytes(), "little")}
        return layout.word(
            half=self.half,
            last=self.last,
            source=self.source,
            tag=self.tag,
            region=self.region,
            targets=sum(1 << target for target in self.targets),
            address=self.address,
            **content,
        )


@dataclass(frozen=True)
class Ack:
    """A write acknowledgement."""

    source: int
    target: int
    tag: int

    def row(self, layout: Layout) -> int:
        return layout.word(source=self.source, target=self.target, tag=self.tag)


@dataclass
class Episode:
    """Work that follows all earlier work, and its outcome.

    Attributes
    ----------
    commands : for each device its commands
    requests : of the host, REQ and RWD
    sent : for each node the messages that it sends, by class and in order
    acks : for each node the acknowledgements that it sends, in order for each target
    writes : for each device the slots that are written, as ``(source node, slot, 32 bytes)``, in order for each source
    accesses : for each device the accesses to other regions, in order for each kind
    received : for each device the number of RECV_CXL that are done
    acknowledged : for each device the tags of its commands
    """

    commands: Sequence[Sequence[Command]]
    requests: Sequence[Message] = ()
    sent: list[list[Message]] = field(default_factory=list)
    acks: list[list[Ack]] = field(default_factory=list)
    writes: list[list[tuple[int, int, np.ndarray]]] = field(default_factory=list)
    accesses: list[list[Message]] = field(default_factory=list)
    received: list[int] = field(default_factory=list)
    acknowledged: list[list[int]] = field(default_factory=list)


class FabricModel:
    """A host and devices at a switch.

    Devices run until all their commands are done. The order between devices is arbitrary, so programs must not depend
    on it. In an episode no slot may have two sources that write it, or be read and written without RECV_CXL between. The
    requests of the host follow the same rule.

    Attributes
    ----------
    buffers : uint8 ``(devices, slots, 32)``, the shared buffers
    memory : for each device its contents past the shared buffer, by region and address; 0 where nothing was written
    transfers : for each device the transfers that have come and that no RECV_CXL has taken
    """

    def __init__(self, config: CentCxlPortConfig, devices: int) -> None:
        if not 1 <= devices <= config.link.devices:
            raise ConfigError(f"devices must be 1 to link.devices ({config.link.devices}), not {devices}")
        self.config, self.devices = config, devices
        self.buffers = np.zeros((devices, config.slots, SLOT_BYTES), np.uint8)
        self.memory: list[dict[tuple[int, int], np.ndarray]] = [{} for _ in range(devices)]
        self.transfers = [0] * devices
        self._tags = [0] * devices

    def slots(self, device: int, places: np.ndarray) -> np.ndarray:
        """Contents of slots of a device, uint8 ``(places, 32)``."""
        return self.buffers[device, places]

    def store(self, device: int, places: np.ndarray, words: np.ndarray) -> None:
        """Write slots of a device."""
        self.buffers[device, places] = words

    def targets(self, device: int, command: Command) -> tuple[int, ...]:
        """Nodes that get the messages of a SEND_CXL or BCAST_CXL."""
        if command.op == PortOp.SEND_CXL:
            return (command.device + 1,) if command.device < self.config.link.devices else ()
        last = min(device + command.device, self.config.link.devices - 1)
        return tuple(n + 1 for n in range(device + 1, last + 1))

    def messages(self, device: int, command: Command, tag: int) -> list[Message]:
        """Messages of a SEND_CXL or BCAST_CXL with the present contents of the shared buffer."""
        targets = self.targets(device, command)
        most = self.config.slots_per_message
        out = []
        for first in range(0, command.opsize if targets else 0, most):
            count = min(most, command.opsize - first)
            slots = (command.gpr + first + np.arange(count)) % self.config.slots
            content = np.zeros(DATA_BYTES, np.uint8)
            content[: count * SLOT_BYTES] = self.slots(device, slots).reshape(-1)
            out.append(
                Message(
                    MessageClass.RWD,
                    targets,
                    (command.gpr1 + first) % self.config.slots,
                    tag,
                    device + 1,
                    half=count == 1,
                    last=first + count == command.opsize,
                    data=content,
                )
            )
        return out

    def run(self, commands: Sequence[Sequence[Command]], requests: Sequence[Message] = ()) -> Episode:
        """Execute an episode.

        Raises
        ------
        :exc:`ConfigError`
            If a device waits for a transfer that nobody sends, or a message goes to a device that is not there.
        """
        done = self.episode(commands, requests)
        at = [0] * self.devices
        moved = True
        while moved:
            moved = False
            for device, program in enumerate(commands):
                while at[device] < len(program) and self.execute(done, device, program[at[device]]):
                    at[device] += 1
                    moved = True
        for device, program in enumerate(commands):
            if at[device] < len(program):
                raise ConfigError(f"command {at[device]} of device {device} waits for a transfer that nobody sends")
        for message in requests:
            self.deliver(done, message)
        return done

    def episode(self, commands: Sequence[Sequence[Command]] = (), requests: Sequence[Message] = ()) -> Episode:
        """An episode in which nothing is done yet."""
        nodes, devices = range(self.devices + 1), range(self.devices)
        return Episode(
            commands,
            requests,
            [[] for _ in nodes],
            [[] for _ in nodes],
            [[] for _ in devices],
            [[] for _ in devices],
            [0 for _ in devices],
            [[] for _ in devices],
        )

    def execute(self, done: Episode, device: int, command: Command) -> bool:
        """Execute a command of a device; False if it waits for a transfer."""
        if command.op == PortOp.RECV_CXL:
            if not self.transfers[device]:
                return False
            self.transfers[device] -= 1
            done.received[device] += 1
        elif command.op in (PortOp.SEND_CXL, PortOp.BCAST_CXL):
            tag = self._tags[device]
            self._tags[device] = (tag + 1) % self.config.tags
            sent = self.messages(device, command, tag)
            for message in sent:
                self.deliver(done, message)
            done.acknowledged[device].append(tag)
            if sent:
                for target in sent[0].targets:
                    self.transfers[target - 1] += 1
        return True

    def deliver(self, done: Episode, message: Message) -> None:
        """Deliver a message to its receivers, which acknowledge or answer it.

        Raises
        ------
        :exc:`ConfigError`
            If a receiver is not there.
        """
        done.sent[message.source].append(message)
        for target in message.targets:
            device = target - 1
            if not 0 <= device < self.devices:
                raise ConfigError(
                    f"a message of node {message.source} goes to device {device}, but there are {self.devices}"
                )
            slots = (message.address + np.arange(2 - message.half)) % self.config.slots
            here = message.region == Region.SHARED_BUFFER
            if not here:
                done.accesses[device].append(message)
            if message.kind is MessageClass.RWD:
                assert message.data is not None
                if here:
                    words = message.data.reshape(-1, SLOT_BYTES)[: len(slots)]
                    self.store(device, slots, words)
                    done.writes[device] += [
                        (message.source, int(slot), word) for slot, word in zip(slots, words, strict=True)
                    ]
                else:
                    self.memory[device][message.region, message.address] = message.data
                done.acks[target].append(Ack(target, message.source, message.tag))
                continue
            content = np.zeros(DATA_BYTES, np.uint8)
            if here:
                content[: SLOT_BYTES * len(slots)] = self.slots(device, slots).reshape(-1)
            else:
                content = self.memory[device].get((message.region, message.address), content)
            done.sent[target].append(
                Message(
                    MessageClass.DRS,
                    (message.source,),
                    message.address,
                    message.tag,
                    target,
                    message.region,
                    message.half,
                    data=content,
                )
            )


def rows(layout: Layout, items: Iterable[Message | Ack]) -> np.ndarray:
    """Payloads of messages or acknowledgements."""
    return layout.rows(item.row(layout) for item in items)
