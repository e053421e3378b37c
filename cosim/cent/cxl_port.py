"""Bench of ``cent-cxl-port`` and ``cent-cxl-switch``: devices with shared buffers and a host at a switch, all in RTL.

Every slot that is written, every access, answer, acknowledgement and every flit of every line is compared with the model
of the fabric. Messages of different sources come in any order. The bench compares them source by source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ...constraints.cent.cxl_link import DATA_BYTES, FLIT_BYTES, SLOT_BYTES, CxlLinkConfig, MessageClass, Region
from ...constraints.cent.cxl_port import CentCxlPortConfig, FabricResult, PortOp
from ...constraints.core.contract import Layout, Port
from ...models.cent.cxl import Command, Episode, FabricModel, FlitCodec, Flits, Message, rows
from ..bench.campaign import Campaign, Played, Stimulus, play_stimulus, streams
from ..bench.request import SimRequest
from ..bench.streams import Items, compare
from .cxl_link import lines_text, seen_flits

__all__ = [
    "Fabric",
    "FabricRig",
    "Outcome",
    "Session",
    "bench",
    "compare_lines",
    "random_session",
    "settings",
    "simulate",
    "sorted_rows",
    "switch_bench",
]

REQ, RWD, DRS, NDR = MessageClass

#: Cycle of what does not happen.
NEVER = 1 << 62

#: Address bits of the memory past the shared buffer that the bench keeps.
PLACE_BITS = 3


@dataclass(frozen=True)
class Fabric:
    """RTL of the network: texts and modules of port, switch and link, which the bench connects."""

    config: CentCxlPortConfig
    devices: int
    port: tuple[str, str]
    switch: tuple[str, str]
    link: tuple[str, str]


@dataclass(frozen=True)
class FabricRig:
    """Devices and a host at a switch. With ``seen`` the bench sees each beat of each line, and holds it up with stalls.

    Lines ``up_N`` go from node N to the switch, lines ``down_N`` to the node. Node 0 is the host.
    """

    fabric: Fabric
    seen: bool = True

    @cached_property
    def load_layout(self) -> Layout:
        return Layout.of(*self.fabric.config.write_layout.fields)

    def ports(self) -> tuple[Port, ...]:
        config, devices, nodes = self.fabric.config, range(self.fabric.devices), range(self.fabric.devices + 1)
        unit = {port.name: port for port in config.ports()}
        layout = config.link.layout

        def of_unit(name: str, outside: str) -> list[Port]:
            return [Port(f"{outside}_{n}", unit[name].flow, unit[name].layout, unit[name].meaning) for n in devices]

        return (
            *(Port(f"load_{n}", "in", self.load_layout, "a slot to begin with") for n in devices),
            *of_unit("command", "command"),
            *(
                Port(f"host_send_{kind.name.lower()}", "in", layout(kind), f"{kind.name} of the host")
                for kind in (REQ, RWD)
            ),
            *of_unit("slot_write", "write"),
            *of_unit("memory", "access"),
            *of_unit("received", "received"),
            *of_unit("acknowledged", "acknowledged"),
            *(
                Port(f"host_got_{kind.name.lower()}", "out", layout(kind), f"{kind.name} for the host")
                for kind in (DRS, NDR)
            ),
            *(
                Port(f"{way}_{node}", "out", config.link.beat_layout, "a beat, seen")
                for way in ("up", "down")
                for node in nodes
                if self.seen
            ),
        )

    def verilog(self, top: str) -> str:
        """Text of module ``top``_bench, with all parts in it."""
        fabric, config = self.fabric, self.fabric.config
        nodes = range(fabric.devices + 1)
        own = [port for port in config.link.ports() if port.name not in ("rx", "tx")]
        there = {port.name for port in self.ports()}
        host = [
            *(
                (port.name, f"host_{port.name}", 0 if f"host_{port.name}" in there else port.layout.bits)
                for port in own
            ),
            ("rx", "rx_0", 0),
            ("tx", "tx_0", 0),
        ]
        lines = [
            line
            for node in nodes
            for line in ((f"tx_{node}", f"in_{node}", f"up_{node}"), (f"out_{node}", f"rx_{node}", f"down_{node}"))
        ]
        return (
            fabric.port[0]
            + fabric.switch[0]
            + fabric.link[0]
            + lines_text(
                top=top,
                ports=streams(self),
                shown=there,
                lines=lines,
                ends=[("host", host)],
                devices=fabric.devices,
                link=fabric.link[1],
                port=fabric.port[1],
                switch=fabric.switch[1],
                beat_bits=config.link.beat_layout.bits,
                slot_bits=config.slot_bits,
                memory_bits=config.memory_layout.bits,
                place_bits=PLACE_BITS,
                node_bits=config.link.node_bits,
            )
        )


# Work -------------------------------------------------------------------------------------------------------------------


class Session:
    """Episodes of a fabric that the model executes immediately. All slots of the shared buffers begin with any bits."""

    def __init__(self, config: CentCxlPortConfig, devices: int, rng: np.random.Generator) -> None:
        self.config, self.devices, self.rng = config, devices, rng
        self.model = FabricModel(config, devices)
        self.model.buffers[:] = rng.integers(0, 256, self.model.buffers.shape, np.uint8)
        self.loads = self.model.buffers.copy()
        self.episodes: list[Episode] = []

    def run(self, commands: Mapping[int, Sequence[Command]], requests: Sequence[Message] = ()) -> int:
        """Add an episode: commands by device, requests of the host. Returns its number."""
        self.episodes.append(self.model.run([commands.get(n, ()) for n in range(self.devices)], requests))
        return len(self.episodes) - 1

    def owners(self, episode: Episode, device: int) -> np.ndarray:
        """For each slot of a device the only node that writes it in an episode."""
        owner = np.full(self.config.slots, -1)
        for source, slot, _ in episode.writes[device]:
            assert owner[slot] in (-1, source), "two sources write a slot in an episode"
            owner[slot] = source
        return owner


def random_session(
    config: CentCxlPortConfig, devices: int, rng: np.random.Generator, count: int, size: int = 12
) -> Session:
    """Episodes of random transfers, receives and requests of the host.

    In an episode half of the slots are read, and the other half is written, each part of it by one source. The halves
    change places, so what came is sent on. Halves begin at any slot, so they wrap.
    """
    session = Session(config, devices, rng)
    half, base = config.slots // 2, int(rng.integers(config.slots))
    part = half // (devices + 1)
    for _ in range(count):
        base += half
        commands: dict[int, list[tuple[float, Command]]] = {n: [] for n in range(devices)}

        def place(source: int, slots: int, base: int = base) -> int:
            """A place for slots in the half that is written."""
            return (base + half + source * part + int(rng.integers(part - slots + 1))) % config.slots

        for step in range(int(rng.integers(size + 1))):
            device = int(rng.integers(devices))
            slots = (
                int(rng.integers(1, min(part, 40) + 1)) if rng.random() < 0.7 else min(part, int(rng.integers(1, 4)))
            )
            gpr, gpr1 = (base + int(rng.integers(half - slots + 1))) % config.slots, place(device + 1, slots)
            if rng.random() < 0.3:
                behind = int(rng.integers(devices - device))
                if devices == config.link.devices and rng.random() < 0.3:
                    behind += 8  # the numbers do not wrap
                command = Command(PortOp.BCAST_CXL, slots, gpr, gpr1, behind)
            else:
                command = Command(PortOp.SEND_CXL, slots, gpr, gpr1, int(rng.integers(devices)))
            commands[device].append((step, command))
            for target in session.model.targets(device, command):
                # All devices work through these steps in order, so nobody waits for ever.
                commands[target - 1].append(
                    (
                        step + 1 - rng.random() / 2 + int(rng.integers(3)) * int(rng.random() < 0.5),
                        Command(PortOp.RECV_CXL),
                    )
                )
            odd = rng.random()
            if odd < 0.3:
                commands[device].append(
                    (
                        step + 0.1,
                        Command(
                            PortOp.SEND_CXL if odd < 0.2 else int(rng.integers(PortOp.SEND_CXL)),
                            0 if odd < 0.1 else 1,
                            gpr,
                            gpr1,
                            int(rng.integers(devices)) if odd < 0.1 else config.link.devices,
                        ),
                    )
                )
        session.run(
            {n: [command for _, command in sorted(mine, key=lambda one: one[0])] for n, mine in commands.items()},
            [_request(session, base, half, part, rng) for _ in range(int(rng.integers(size + 1)))],
        )
    return session


def _request(session: Session, base: int, half: int, part: int, rng: np.random.Generator) -> Message:
    """A request of the host: it reads what nobody writes, and writes its own part."""
    config, devices = session.config, session.devices
    write, here, one = (
        rng.random() < 0.5,
        rng.random() < 0.6 or config.link.address_bits < PLACE_BITS,
        rng.random() < 0.3,
    )
    slots = 1 if one or part < 2 else 2
    targets: tuple[int, ...] = (int(rng.integers(devices)) + 1,)
    if write and rng.random() < 0.3:
        targets = tuple(int(n) + 1 for n in np.flatnonzero(rng.random(devices) < 0.6)) or targets
    if here:
        region = Region.SHARED_BUFFER.value
        address = (
            base + half + int(rng.integers(part - slots + 1)) if write else base + int(rng.integers(half - slots + 1))
        )
        address %= config.slots
    else:
        # Places of even and odd episodes: one kind is read, the other written.
        region, turn = int(rng.integers(1, 4)), (len(session.episodes) + write) % 2
        address = int(rng.integers(1 << PLACE_BITS - 1)) * 2 + turn
    data = np.frombuffer(rng.bytes(DATA_BYTES), np.uint8).copy()
    if slots == 1:
        data[SLOT_BYTES:] = 0
    return Message(
        RWD if write else REQ,
        targets,
        address,
        int(rng.integers(1 << config.link.tag_bits)),
        0,
        region,
        slots == 1,
        write and bool(rng.random() < 0.5),
        data if write else None,
    )


# Simulation -------------------------------------------------------------------------------------------------------------


@dataclass
class Outcome(Played):
    """Outcome of a session; ``flits``: by line, if they were seen."""

    session: Session = field(kw_only=True)
    targets: dict[str, np.ndarray] = field(kw_only=True)
    flits: dict[str, Flits] = field(kw_only=True)

    def first(self, name: str, episode: int) -> int:
        """Cycle of an episode in which the first item of an input was taken."""
        return self.run.epochs[episode].first_of([name])

    def last(self, name: str, episode: int) -> int:
        """Cycle of an episode in which its last item of an output was taken."""
        return int(self.run.output_cycles[name][self.targets[name][: episode + 1].sum() - 1])

    def span(self, device: int, episode: int) -> slice:
        """Flits of a device from its first write in an episode to its next write after the episode."""
        counts = [len([one for one in each.sent[device + 1] if one.kind is RWD]) for each in self.session.episodes]
        flits = np.r_[self.flits[f"up_{device + 1}"].flit_of(RWD), len(self.flits[f"up_{device + 1}"].kinds)]
        first = sum(counts[:episode])
        return slice(int(flits[first]), int(flits[first + counts[episode]]))

    def beats(self, line: str, device: int, episode: int) -> tuple[int, int]:
        """Cycles of the first and last beat of the flit with the first write of a device in an episode."""
        flits, beats = self.flits[line], self.session.config.link.beats
        before = sum(
            one.kind is RWD and (line[:2] == "up" or int(line[5:]) in one.targets)
            for each in self.session.episodes[:episode]
            for one in each.sent[device + 1]
        )
        source = flits.of(RWD)
        column = self.session.config.link.data_layout.unpack(source)["source"] == device + 1
        flit = int(flits.flit_of(RWD)[column][before])
        cycles = self.run.output_cycles[line]
        return int(cycles[flit * beats]), int(cycles[(flit + 1) * beats - 1])


def sorted_rows(payload: np.ndarray, keys: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Rows of an output by episode and then by key, otherwise in order."""
    episode = np.repeat(np.arange(len(targets) + 1), np.r_[targets, max(0, len(payload) - targets.sum())])[
        : len(payload)
    ]
    return payload[np.lexsort((np.arange(len(payload)), keys, episode))]


def simulate(fabric: Fabric, session: Session, *, top: str = "cent_cxl_port", **options: Any) -> Outcome:
    """Simulate a session, and compare everything with its model.

    Parameters
    ----------
    options : as of :func:`play_stimulus`, and the same errors
    """
    config, link, devices = fabric.config, fabric.config.link, range(fabric.devices)
    rig = FabricRig(fabric, "power_up" not in options)
    layout = {port.name: port.layout for port in rig.ports()}
    loads = config.slots + 4
    blocks: dict[str, list[Items]] = {port.name: [] for port in rig.ports() if port.is_input}
    expected: dict[str, list[np.ndarray]] = {port.name: [] for port in rig.ports() if not port.is_input}
    keys: dict[str, np.ndarray] = {}
    for number, episode in enumerate(session.episodes):
        start = 0 if number else loads
        for n in devices:
            if not number:
                data = [int.from_bytes(slot.tobytes(), "little") for slot in session.loads[n]]
                blocks[f"load_{n}"].append(
                    Items.of(
                        rig.load_layout.rows(
                            rig.load_layout.word(slot=slot, data=word) for slot, word in enumerate(data)
                        )
                    )
                )
            commands = episode.commands[n]
            blocks[f"command_{n}"].append(
                Items.of(
                    config.command_layout.rows(config.command_layout.word(**vars(command)) for command in commands),
                    epoch=number,
                    cycle=start,
                )
            )
            writes = sorted(episode.writes[n], key=lambda write: write[0])
            expected[f"write_{n}"].append(
                config.write_layout.rows(
                    config.write_layout.word(slot=slot, data=int.from_bytes(word.tobytes(), "little"))
                    for _, slot, word in writes
                )
            )
            accesses = sorted(episode.accesses[n], key=lambda one: one.kind is RWD)
            expected[f"access_{n}"].append(
                config.memory_layout.rows(
                    config.memory_layout.word(
                        write=one.kind is RWD,
                        region=one.region,
                        address=one.address,
                        data=0 if one.data is None else int.from_bytes(one.data.tobytes(), "little"),
                    )
                    for one in accesses
                )
            )
            expected[f"received_{n}"].append(np.zeros((episode.received[n], 1), np.uint8))
            tags = layout[f"acknowledged_{n}"]
            expected[f"acknowledged_{n}"].append(tags.pack({"": np.array(episode.acknowledged[n], np.int64)}))
        for kind in (REQ, RWD):
            blocks[f"host_send_{kind.name.lower()}"].append(
                Items.of(
                    rows(link.layout(kind), [one for one in episode.sent[0] if one.kind is kind]),
                    epoch=number,
                    cycle=start,
                )
            )
        expected["host_got_drs"].append(
            rows(
                link.data_layout,
                [one for node in range(1, fabric.devices + 1) for one in episode.sent[node] if one.kind is DRS],
            )
        )
        expected["host_got_ndr"].append(
            rows(
                link.ack_layout,
                [ack for node in range(1, fabric.devices + 1) for ack in episode.acks[node] if ack.target == 0],
            )
        )
    seen = [name for name in expected if name.startswith(("up_", "down_"))]
    targets = {
        name: np.array([len(part) for part in parts] or [0] * len(session.episodes), np.int64)
        for name, parts in expected.items()
    }
    stimulus = Stimulus(
        {name: Items.join(parts) for name, parts in blocks.items()},
        {name: np.concatenate(parts) for name, parts in expected.items() if name not in seen},
        targets,
        work=3 * sum(len(part) for name, parts in expected.items() for part in parts) + loads,
        held=[name for name in (*blocks, *expected) if not name.startswith("load_")],
    )
    played = play_stimulus(rig, rig.verilog(top), f"{top}_bench", stimulus, **options)

    # Sources share a stream in any order.
    run = played.run
    for name, payload in run.outputs.items():
        if name in seen:
            continue
        if name.startswith("write_"):
            slot = config.write_layout.unpack(payload)["slot"]
            n, counts = int(name[6:]), targets[name]
            at = np.minimum(
                np.searchsorted(np.cumsum(counts), np.arange(len(payload)), side="right"), len(session.episodes) - 1
            )
            owners = np.array([session.owners(one, n) for one in session.episodes])
            keys[name] = owners[at, slot]
        elif name.startswith("access_"):
            keys[name] = config.memory_layout.unpack(payload)["write"]
        elif name.startswith("host_got_"):
            keys[name] = layout[name].unpack(payload)["source"]
    run.outputs.update({name: sorted_rows(run.outputs[name], key, targets[name]) for name, key in keys.items()})
    mismatches, first, notes = compare(run, stimulus.items, stimulus.expected, targets)
    outcome = Outcome(run, played.vectors, mismatches, first, notes, session=session, targets=targets, flits={})
    for n in devices:
        _require_whole_transfers(outcome, n, keys[f"write_{n}"])
    if rig.seen:
        for name in seen:
            outcome.flits[name] = seen_flits(link, outcome, name)
        compare_lines(link, session.episodes, outcome, outcome.flits)
    return outcome


def _require_whole_transfers(outcome: Outcome, device: int, sources: np.ndarray) -> None:
    """Require that each RECV_CXL ends after the last slot of its transfer is in the shared buffer.

    ``sources``: node that writes each slot of the device, in the order of the writes.
    """
    run, model, done, waiting = outcome.run, outcome.session.model, {"write": 0, "received": 0}, 0
    for number, episode in enumerate(outcome.session.episodes):
        cycles, owners = {}, np.zeros(0, np.int64)
        for name in done:
            count = int(outcome.targets[f"{name}_{device}"][number])
            cycles[name] = run.output_cycles[f"{name}_{device}"][done[name] : done[name] + count]
            if name == "write":
                owners = sources[done[name] : done[name] + count]
            done[name] += count
        ends = []
        for sender, commands in enumerate(episode.commands):
            sizes = [
                one.opsize
                for one in commands
                if one.op in (PortOp.SEND_CXL, PortOp.BCAST_CXL)
                and one.opsize
                and device + 1 in model.targets(sender, one)
            ]
            mine = cycles["write"][owners[: len(cycles["write"])] == sender + 1]
            last = np.cumsum(sizes, dtype=np.int64) - 1
            ends += [int(mine[n]) if n < len(mine) else NEVER for n in last]
        ends = [-1] * waiting + sorted(ends)
        early = [int(cycle) for cycle, whole in zip(cycles["received"], ends, strict=False) if cycle <= whole]
        outcome.require(
            not early and len(cycles["received"]) <= len(ends),
            f"received_{device}: RECV_CXL of episode {number} ends before its transfer is whole",
        )
        waiting = max(len(ends) - len(cycles["received"]), 0)


def compare_lines(
    link: CxlLinkConfig, episodes: Sequence[Episode], outcome: Played, flits: Mapping[str, Flits]
) -> None:
    """Compare what passed on each line, source by source. ``flits``: by line, as the bench saw them."""
    nodes = range(len(episodes[0].sent))
    sent = {node: [one for episode in episodes for one in episode.sent[node]] for node in nodes}
    acks = {node: [ack for episode in episodes for ack in episode.acks[node]] for node in nodes}

    def check(line: str, kind: MessageClass, source: int, right: np.ndarray, target: int | None = None) -> None:
        got = flits[line].of(kind)
        layout = link.ack_layout if kind is NDR else link.data_layout
        columns = layout.unpack(got)
        mine = columns["source"] == source
        if target is not None:
            mine &= columns["target"] == target
        outcome.vectors += len(right)
        outcome.require(np.array_equal(got[mine], right), f"{line}: other {kind.name} of node {source} than it sends")

    for node in nodes:
        for kind in (REQ, RWD, DRS):
            payloads = rows(link.data_layout, [one for one in sent[node] if one.kind is kind])
            check(f"up_{node}", kind, node, payloads)
            for target in nodes:
                check(
                    f"down_{target}",
                    kind,
                    node,
                    rows(link.data_layout, [one for one in sent[node] if one.kind is kind and target in one.targets]),
                )
        for target in nodes:
            payloads = rows(link.ack_layout, [ack for ack in acks[node] if ack.target == target])
            for line in (f"up_{node}", f"down_{target}"):
                check(line, NDR, node, payloads, target)
    for node in nodes:
        for one, other in ((f"up_{node}", f"down_{node}"), (f"down_{node}", f"up_{node}")):
            for kind in MessageClass:
                outcome.require(
                    flits[one].credits[:, kind].sum() <= len(flits[other].of(kind)),
                    f"{one}: more credits of {kind.name} than messages",
                )


# Bench ------------------------------------------------------------------------------------------------------------------


def measured(
    config: CentCxlPortConfig, devices: int, rng: np.random.Generator, size: int
) -> tuple[Session, dict[str, int]]:
    """The measured episodes by name. Vectors of ``size`` slots come from the lower half and go to the upper half."""
    session, half = Session(config, devices, rng), config.slots // 2
    receive = Command(PortOp.RECV_CXL)

    def send(slots: int, to: int, gpr: int = 0, gpr1: int = half) -> Command:
        return Command(PortOp.SEND_CXL, slots, gpr, gpr1, to)

    part = max(size // (devices - 1), 1)
    following = [(n + 1) % devices for n in range(devices)]
    return session, {
        "send": session.run({0: [send(size, 1)], 1: [receive]}),
        "literal": session.run({0: [send(1, 1, n, half + n) for n in range(size)], 1: [receive] * size}),
        "broadcast": session.run(
            {0: [Command(PortOp.BCAST_CXL, size, 0, half, devices - 1)], **{n: [receive] for n in range(1, devices)}}
        ),
        "exchange": session.run({n: [send(size, to), receive] for n, to in enumerate(following)}),
        "close": session.run({n: [send(2, to), receive] for n, to in enumerate(following)}),
        "pair": session.run({0: [send(2, 1)], 1: [receive]}),
        "gather": session.run(
            {0: [receive] * (devices - 1), **{n: [send(part, 0, 0, half + (n - 1) * part)] for n in range(1, devices)}}
        ),
        "read": session.run({}, [Message(REQ, (1,), 0)]),
    }


def _bench(request: SimRequest, fabric: Fabric) -> FabricResult:
    config, devices, rng = fabric.config, fabric.devices, np.random.default_rng(request.seed)
    size = request.workload.bytes // SLOT_BYTES
    campaign = Campaign(request, lambda make, **options: simulate(fabric, make(), top=request.module, **options))
    session, at = measured(config, devices, rng, size)
    full = campaign.run("full_rate", lambda: session, "vectors between devices", waves=True)

    def stress(count: int) -> Callable[[], Session]:
        seed = int(rng.integers(1 << 32))
        return lambda: random_session(config, devices, np.random.default_rng(seed), count)

    campaign.stress(stress, 16)

    def cycles(name: str, receivers: Sequence[int], senders: Sequence[int] = (0,)) -> int:
        first = min(full.first(f"command_{n}", at[name]) for n in senders)
        return max(full.last(f"received_{n}", at[name]) for n in receivers) - first + 1

    def percent(name: str, slots: int, senders: Sequence[int] = (0,)) -> float:
        flits = sum(span.stop - span.start for span in (full.span(n, at[name]) for n in senders))
        return round(100 * len(senders) * slots * SLOT_BYTES / (flits * FLIT_BYTES), 4)

    every = range(devices)
    pair = at["pair"]
    begin, end = full.first("command_0", pair), full.last("received_1", pair)
    up, down = full.beats("up_1", 0, pair), full.beats("down_2", 0, pair)
    ideal = FlitCodec(config.link).fewest(-(-size * SLOT_BYTES // DATA_BYTES)) * config.link.beats
    whole = cycles("send", [1])
    return campaign.result(
        FabricResult,
        devices=devices,
        cycles=whole,
        ideal_cycles=ideal,
        utilisation=round(ideal / whole, 6),
        payload_percent=percent("send", size),
        literal_cycles=cycles("literal", [1]),
        literal_payload_percent=percent("literal", size),
        broadcast_cycles=cycles("broadcast", range(1, devices)),
        exchange_cycles=cycles("exchange", every, every),
        exchange_payload_percent=percent("exchange", size, every),
        gather_cycles=cycles("gather", [0], range(1, devices)),
        send_clocks=up[0] - begin,
        receive_clocks=end - down[1],
        slot_clocks=end - begin,
        acknowledge_clocks=full.last("acknowledged_0", pair) - begin,
        switch_clocks=down[1] - up[1],
        host_read_clocks=full.last("host_got_drs", at["read"]) - full.first("host_send_req", at["read"]),
    )


def settings(values: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Settings of a configuration as ``key=value``."""
    return [
        text
        for key, value in values.items()
        for text in (settings(value, f"{prefix}{key}.") if isinstance(value, dict) else [f"{prefix}{key}={value}"])
    ]


def bench(request: SimRequest) -> FabricResult:
    """Run the whole bench of ``cent-cxl-port``: ports and a host at a switch.

    - a vector from device to device, with two slots and with one slot in a message
    - broadcast, exchange in a ring, gather, a transfer of two slots, a read of the host
    - random transfers, broadcasts and requests of the host, with stalls of every stream and of every line
    """
    config = request.config
    devices = min(3, config.link.devices)
    link = request.part("cent-cxl-link", "cent", settings(config.link.model_dump()))
    switch = request.part("cent-cxl-switch", "cent", [*settings(config.model_dump(), "port."), f"joined={devices}"])
    return _bench(
        request,
        Fabric(
            config,
            devices,
            (request.verilog, request.module),
            (switch.verilog, switch.module),
            (link.verilog, link.module),
        ),
    )


def switch_bench(request: SimRequest) -> FabricResult:
    """Run the bench of ``cent-cxl-switch``: as :func:`bench`, with all devices of the switch."""
    config = request.config
    link = request.part("cent-cxl-link", "cent", settings(config.link.model_dump()))
    port = request.part("cent-cxl-port", "cent", settings(config.port.model_dump()))
    return _bench(
        request,
        Fabric(
            config.port,
            config.joined,
            (port.verilog, port.module),
            (request.verilog, request.module),
            (link.verilog, link.module),
        ),
    )
