"""Bench of ``cent-device``: a LLaMA block, token by token, from instruction words to results.

The host loads the cores' programs, sends instructions and vectors, and takes results. A memory at each channel holds
weights and caches, and answers at the clocks that the timing engine gives. Every command, column, write and result is
compared with the functional model. The results are compared with the same block in binary64.

Several devices share the block. A switch joins their CXL ports with each other and with the host, all in RTL. The host
then writes the inputs through the switch, and reads the results of every device through it too. Every flit of every line
is also compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from ...constraints.cent.cxl_link import SLOT_BYTES, MessageClass
from ...constraints.cent.device import BlockStep, CentDeviceConfig, CentDeviceResult, LlamaBlock
from ...constraints.cent.isa import WORD_BYTES, fields_of
from ...constraints.cent.programs import image_for
from ...constraints.cent.riscv import AHEAD_WORDS
from ...constraints.core.contract import Layout, Port
from ...constraints.core.errors import ConfigError
from ...constraints.core.formats import FP32
from ...constraints.memory import Memory, load_memory
from ...models.cent.cxl import Episode as Passed
from ...models.cent.cxl import Flits, Message, rows
from ...models.cent.device import DeviceModel, DevicesModel
from ...models.cent.executable import MATRICES, SCALARS, ExecutableBlock
from ...models.cent.reference import EPSILON, Reference, rotary
from ...models.cent.words import encode_words
from ...models.numerics import from_float64, to_float64
from ...models.program import Program
from ..aim.channel import number_rows
from ..aim.module import ModuleOutcome, Rig, expected_rows, memory_items, step_cycles
from ..bench.campaign import Campaign, Stimulus, play_stimulus, streams
from ..bench.request import SimRequest
from ..bench.streams import Items, compare
from .cxl_link import lines_text, seen_flits
from .cxl_port import compare_lines, settings, sorted_rows

__all__ = [
    "Decoded",
    "DevicesRig",
    "Host",
    "Mixes",
    "Outcome",
    "Session",
    "Wires",
    "bench",
    "blocks_of",
    "simulate",
    "stimulus",
]

REQ, RWD, DRS, NDR = MessageClass

#: Tags of the host's requests.
TAGS = 16

#: Episodes of random transfers between devices.
MIXES = 12


def blocks_of(config: CentDeviceConfig, work: LlamaBlock) -> list[ExecutableBlock]:
    """The block on all channels of the devices: the part of each device.

    Raises
    ------
    :exc:`ConfigError`
        If the block does not fit the devices.
    """
    devices = work.devices
    first = ExecutableBlock(
        work.hidden,
        work.heads // devices,
        work.kv_heads // devices,
        work.head_dim,
        work.ffn // devices,
        config.channels,
        config.channel.banks,
        config.channel.lanes,
        config.channel.columns,
        config.channel.registers,
        config.hub.registers,
        max_tokens=work.past + work.tokens,
        subtract_maximum=work.maximum,
        devices=devices,
    )
    if first.regions["end"] > config.decoder.rows:
        raise ConfigError(
            f"the block needs {first.regions['end']} rows of a bank, but decoder.rows has {config.decoder.rows}"
        )
    return [replace(first, device=number) for number in range(devices)]


@dataclass(frozen=True)
class Shape:
    """Shape of the whole block."""

    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int

    @property
    def group(self) -> int:
        return self.heads // self.kv_heads

    def matrix(self, name: str) -> tuple[int, int]:
        """Outputs and inputs of a matrix."""
        sizes = {
            "queries": self.heads * self.head_dim,
            "kv_width": self.kv_heads * self.head_dim,
            "hidden": self.hidden,
            "ffn": self.ffn,
        }
        inputs, outputs = MATRICES[name]
        return sizes[outputs], sizes[inputs]


@dataclass
class Decoded:
    """A token: places of its commands and results on device 0, and the exact result."""

    tokens: int
    commands: slice
    results: slice
    exact: np.ndarray


@dataclass
class Episode:
    """Work of the host before it waits.

    Attributes
    ----------
    loads, words, vectors : columns of the memories, instructions, vectors, for each device
    passed : messages through the switch
    program : words of the cores of all devices
    ends : number of items of each output until the end
    """

    loads: list[list[list[tuple[int, int, np.ndarray]]]]
    words: list[list[np.ndarray]]
    vectors: list[list[np.ndarray]]
    passed: Passed | None = None
    program: list[int] = field(default_factory=list)
    ends: dict[str, int] = field(default_factory=dict)


class Host:
    """A host with one or several devices. The models execute every action of the host immediately.

    Parameters
    ----------
    config : of each device
    contents : of each device its rows by number, arrays of bits of shape ``(channels, columns, banks, lanes)``
    rows : rows of every bank
    """

    def __init__(self, config: CentDeviceConfig, contents: Sequence[Mapping[int, np.ndarray]], rows: int) -> None:
        self.config, self.rows = config.joined if len(contents) > 1 else config, rows
        self.fmt, channels = config.hub.fmt, range(config.channels)
        self.decoded: list[Decoded] = []
        self.episodes: list[Episode] = []
        self.models = [
            DeviceModel(self.config, [{row: columns[n].copy() for row, columns in own.items()} for n in channels])
            for own in contents
        ]
        self.joined = DevicesModel(self.models) if len(contents) > 1 else None
        self._begin()
        self.episodes[-1].loads = [
            [
                [
                    (row, column, columns[n][column])
                    for row, columns in own.items()
                    for column in range(config.channel.columns)
                ]
                for n in channels
            ]
            for own in contents
        ]

    @property
    def names(self) -> list[str]:
        """What precedes the names of each device's streams in the bench."""
        return [f"d{n}_" for n in range(len(self.models))] if self.joined else [""]

    # ---- Actions of the host -----------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._close()
        channels, devices = range(self.config.channels), range(len(self.models))
        self.episodes.append(
            Episode(
                [[[] for _ in channels] for _ in devices],
                [[] for _ in devices],
                [[] for _ in devices],
                self.joined.episode() if self.joined else None,
            )
        )

    def _close(self) -> None:
        if not self.episodes:
            return
        episode, before = self.episodes[-1], self.episodes[-2].ends if len(self.episodes) > 1 else {}
        for name, model, words in zip(self.names, self.models, episode.words, strict=True):
            episode.ends |= {
                f"{name}issued": len(model.issued),
                f"{name}done": len(words) + before.get(f"{name}done", 0),
                f"{name}host_out": len(model.given),
                **{f"{name}beat_{n}": len(read) for n, read in enumerate(model.read)},
                **{f"{name}stored_{n}": len(written) for n, written in enumerate(model.written)},
            }
        if episode.passed:
            drs, ndr = (len(found) for found in _for_host(episode.passed))
            episode.ends |= {
                "host_got_drs": drs + before.get("host_got_drs", 0),
                "host_got_ndr": ndr + before.get("host_got_ndr", 0),
            }

    def _send(self, vector: np.ndarray, device: int | None = None) -> None:
        """Send a vector to a device, or to each one."""
        words = vector.reshape(-1, self.config.hub.lanes)
        for number, (model, vectors) in enumerate(zip(self.models, self.episodes[-1].vectors, strict=True)):
            if device in (None, number):
                vectors += list(words)
                model.host_words += list(words)

    def _request(self, messages: Iterable[Message]) -> None:
        """Send requests through the switch."""
        passed = self.episodes[-1].passed
        assert self.joined and passed
        for message in messages:
            self.joined.deliver(passed, message)

    def _run(self, programs: Sequence[Program]) -> slice:
        """Send a program to each device; returns the places of the commands of device 0."""
        isa, first, every = self.config.decoder.isa, len(self.models[0].issued), []
        for model, program, sent in zip(self.models, programs, self.episodes[-1].words, strict=True):
            words = encode_words(program, isa)
            commands = isa.commands(fields_of(words))
            commands["position"] = len(model.issued) + np.arange(len(words))
            every.append(np.stack([commands[name] for name in self.config.command_layout.widths], axis=1))
            sent.append(words)
        if self.joined:
            self.episodes[-1].passed = self.joined.run_programs(every)
        else:
            self.models[0].run(every[0])
        return slice(first, len(self.models[0].issued))

    def _multicast(self, first: int, vector: np.ndarray) -> Iterator[Message]:
        """Writes of the host that put a vector into the slots of all devices from ``first`` on."""
        words = vector.astype("<u2").reshape(-1, self.config.hub.lanes).view(np.uint8)
        for at in range(0, len(words), 2):
            two = words[at : at + 2]
            data = np.zeros((2, SLOT_BYTES), np.uint8)
            data[: len(two), : two.shape[1]] = two
            yield Message(
                RWD,
                tuple(range(1, len(self.models) + 1)),
                first + at,
                tag=at % TAGS,
                half=len(two) == 1,
                last=at + 2 >= len(words),
                data=data.reshape(-1),
            )


class Session(Host):
    """A host that decodes tokens on devices."""

    def __init__(self, config: CentDeviceConfig, work: LlamaBlock, rng: np.random.Generator) -> None:
        self.blocks, self._rng, self._fmt = blocks_of(config, work), rng, config.hub.fmt
        self.block = self.blocks[0]
        shape = Shape(work.hidden, work.heads, work.kv_heads, work.head_dim, work.ffn)
        matrices = {name: self._numbers(shape.matrix(name), shape.matrix(name)[1] ** -0.5) for name in MATRICES}
        norms = [to_float64(self._bits(1 + 0.1 * rng.normal(size=work.hidden)), self._fmt) for _ in range(2)]
        self.reference = Reference(shape, matrices, norms)
        contents = [
            block.contents(
                {name: self._bits(block.share(name, matrix)) for name, matrix in matrices.items()},
                [self._bits(norm) for norm in norms],
                int(self._bits(np.array(work.head_dim**-0.5))),
                self._bits(
                    rng.normal(size=(block.regions["end"], block.channels, block.columns, block.banks, block.lanes))
                ),
            )
            for block in self.blocks
        ]
        xs = [self._numbers((work.hidden,), 1.0) for _ in range(work.tokens)]
        keys, values = (self._numbers((work.past, work.kv_heads, work.head_dim), 1.0) for _ in range(2))
        if work.score_range and work.past:
            query = self.reference.query(xs[0], work.past)
            scores = np.einsum("thd,hgd->thg", keys, query.reshape(work.kv_heads, shape.group, -1)) / work.head_dim**0.5
            keys = to_float64(self._bits(keys * (work.score_range / np.abs(scores).max())), self._fmt)
        self.reference.keys, self.reference.values = list(keys), list(values)
        for block, own in zip(self.blocks, contents, strict=True):
            heads = slice(block.device * block.kv_heads, (block.device + 1) * block.kv_heads)
            block.fill_caches(own, self._bits(keys[:, heads]), self._bits(values[:, heads]))
        super().__init__(config, contents, self.block.regions["end"])
        image = image_for(config.hub.lanes).with_parameters(
            inverse_length=int(from_float64(np.array(1 / work.hidden), FP32)),
            epsilon=int(from_float64(np.array(EPSILON), FP32)),
        )
        self._entries = {name: image.entry(name) for name in SCALARS}
        # The cores fetch ahead of a return, so words behind the programs are defined too.
        words = [*image.words, *[0] * AHEAD_WORDS]
        for model in self.models:
            model.load(words)
        self.episodes[-1].program = words
        setup = Program()
        setup.command("WR_GPR", opsize=2, gpr=self.block.slot("zero"))
        # An episode ends with its outputs. The answer comes behind both words, which EOC does not wait for.
        setup.command("RD_GPR", opsize=2, gpr=self.block.slot("zero"))
        one = self._fmt.bias << self._fmt.fraction_bits
        self._send(np.repeat(np.array([0, one], np.int64), self.block.lanes))
        self._run([setup] * work.devices)
        for x in xs:
            self._token(x)
        if self.joined:
            # The host reads the result of every device.
            self._begin()
            size, first = self.block.hidden // self.block.lanes, self.block.slot("x")
            self._request(
                Message(REQ, (number + 1,), first + at, tag=at % TAGS, half=at + 1 == size)
                for number in range(work.devices)
                for at in range(0, size, 2)
            )
        self._close()

    def _bits(self, values: np.ndarray) -> np.ndarray:
        return from_float64(values, self._fmt)

    def _numbers(self, shape: tuple[int, ...], scale: float) -> np.ndarray:
        """Random numbers of the format, as binary64."""
        return to_float64(self._bits(self._rng.normal(size=shape) * scale), self._fmt)

    def _token(self, x: np.ndarray) -> None:
        block, position = self.block, len(self.reference.keys)
        given = {"x": x, **dict(zip(("cos", "sin"), rotary(block.head_dim, position), strict=True))}
        if self.joined:
            self._begin()
            self._request(self._multicast(block.slot("x"), self._bits(given.pop("x"))))
        self._begin()
        programs = []
        for one in self.blocks:
            program = Program()
            for name, vector in given.items():
                program.command("WR_GPR", opsize=len(vector) // block.lanes, gpr=block.slot(name))
            program.extend(one.program(position + 1, self._entries))
            program.command("RD_GPR", opsize=block.hidden // block.lanes, gpr=block.slot("x"))
            programs.append(program)
        for vector in given.values():
            self._send(self._bits(vector))
        results = len(self.models[0].given)
        commands = self._run(programs)
        self.decoded.append(
            Decoded(position + 1, commands, slice(results, len(self.models[0].given)), self.reference.step(x))
        )


class Mixes(Host):
    """Random transfers between devices, mixed with commands of the shared buffer.

    In an episode each device computes in slots of its own, and sends some of them. The next command changes slots that were
    just sent. Then the device waits for all transfers of the episode, and gives the received slots to the host.
    """

    #: Areas of the shared buffer: one of a device's own, and one for each device that sends.
    AREAS = 8

    def __init__(self, config: CentDeviceConfig, devices: int, rows: int, rng: np.random.Generator, count: int) -> None:
        super().__init__(config, [{}] * devices, rows)
        size, fmt, lanes = config.hub.registers // self.AREAS, config.hub.fmt, config.hub.lanes
        for number in range(count):
            if number:
                self._begin()
            own, *areas = (int(area) * size for area in rng.permutation(self.AREAS))
            programs = [Program() for _ in range(devices)]
            received: list[list[tuple[int, int]]] = [[] for _ in range(devices)]
            for device, program in enumerate(programs):
                program.command("WR_GPR", opsize=size, gpr=own)
                self._send(from_float64(rng.normal(size=(size, lanes)), fmt), device)
                for _ in range(int(rng.integers(1, 5))):
                    for overlap in range(int(rng.integers(1, 4))):
                        slots = int(rng.integers(1, size // 2 + 1))
                        source = own + int(rng.integers(size - slots + 1))
                        target = areas[device] + int(rng.integers(size - slots + 1))
                        given = {"opsize": slots, "gpr0": source, "gpr1": target, "overlap": int(overlap > 0)}
                        behind = devices - 1 - device
                        if behind and rng.random() < 0.4:
                            some = int(rng.integers(1, behind + 1))
                            program.command("BCAST_CXL", count=some, **given)
                            to = list(range(device + 1, device + some + 1))
                        else:
                            to = [int(rng.integers(devices))]
                            program.command("SEND_CXL", device=to[0], **given)
                        for receiver in to:
                            received[receiver].append((target, slots))
                    # The command behind changes slots that were just sent.
                    half = size // 2
                    op, first = str(rng.choice(["EWADD", "EXP", "RED"])), own + half * int(rng.integers(2))
                    other = own if first != own else own + half
                    program.command(op, opsize=half, gpr0=first, gpr1=other)
            for program, transfers in zip(programs, received, strict=True):
                for _ in transfers:
                    program.command("RECV_CXL")
                for target, slots in transfers:
                    program.command("RD_GPR", opsize=slots, gpr=target)
                program.command("RD_GPR", opsize=size, gpr=own)
            self._run(programs)
        self._close()


def _for_host(passed: Passed) -> tuple[list[Message], list[Any]]:
    """Data and acknowledgements that the host gets, device by device."""
    return (
        [one for sent in passed.sent[1:] for one in sent if one.kind is DRS],
        [ack for acks in passed.acks[1:] for ack in acks if ack.target == 0],
    )


# Simulation --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wires:
    """RTL between devices: texts and modules of a switch, and of a link for the host's end."""

    switch: tuple[str, str]
    link: tuple[str, str]


@dataclass(frozen=True)
class DevicesRig:
    """Devices with their memories, and a host, at a switch. Streams of device N begin with ``dN_``.

    The bench sees each beat of each line, and holds it up with stalls. Lines ``up_N`` go from node N to the switch, lines
    ``down_N`` to the node. Node 0 is the host.
    """

    config: CentDeviceConfig
    rows: int
    devices: int
    wires: Wires

    @cached_property
    def inner(self) -> Rig:
        """A device with its memories."""
        return Rig(self.config, self.rows)

    @property
    def within(self) -> list[str]:
        """Streams of a device that end inside."""
        return ["cxl_rx", "cxl_tx"]

    def ports(self) -> tuple[Port, ...]:
        link, nodes = self.config.hub.cxl.link, range(self.devices + 1)
        return (
            *(
                Port(f"d{n}_{port.name}", port.flow, port.layout, port.meaning)
                for n in range(self.devices)
                for port in self.inner.ports()
                if port.name not in self.within
            ),
            *(
                Port(f"host_send_{kind.name.lower()}", "in", link.layout(kind), f"{kind.name} of the host")
                for kind in (REQ, RWD)
            ),
            *(
                Port(f"host_got_{kind.name.lower()}", "out", link.layout(kind), f"{kind.name} for the host")
                for kind in (DRS, NDR)
            ),
            *(
                Port(f"{way}_{node}", "out", link.beat_layout, "a beat, seen")
                for way in ("up", "down")
                for node in nodes
            ),
        )

    @property
    def held(self) -> list[str]:
        """Streams that stalls hold up."""
        direct = [name for name in self.inner.direct if name not in ("program", *self.within)]
        return [
            *(f"d{n}_{name}" for n in range(self.devices) for name in direct),
            *(port.name for port in self.ports() if port.name.startswith(("host_", "up_", "down_"))),
        ]

    def verilog(self, unit: str, top: str) -> str:
        """Text of module ``top``_devices_bench, with all parts in it."""
        link = self.config.hub.cxl.link
        there = {port.name for port in self.ports()}
        host = [
            *(
                (port.name, f"host_{port.name}", 0 if f"host_{port.name}" in there else port.layout.bits)
                for port in link.ports()
                if port.name not in ("rx", "tx")
            ),
            ("rx", "rx_0", 0),
            ("tx", "tx_0", 0),
        ]
        lines = [
            line
            for node in range(self.devices + 1)
            for line in ((f"tx_{node}", f"in_{node}", f"up_{node}"), (f"out_{node}", f"rx_{node}", f"down_{node}"))
        ]
        whole = [
            (
                n,
                [(port.name, f"{port.layout.bits}'d{n}") for port in self.inner.signals],
                [
                    *((port.name, f"d{n}_{port.name}") for port in self.inner.ports() if port.name not in self.within),
                    ("cxl_rx", f"rx_{n + 1}"),
                    ("cxl_tx", f"tx_{n + 1}"),
                ],
            )
            for n in range(self.devices)
        ]
        return (
            self.inner.verilog(unit, top, inside=True)
            + self.wires.switch[0]
            + self.wires.link[0]
            + lines_text(
                top=f"{top}_devices",
                ports=streams(self),
                shown=there,
                lines=lines,
                ends=[("host", host)],
                whole=whole,
                device=f"{top}_bench",
                link=self.wires.link[1],
                switch=self.wires.switch[1],
                beat_bits=link.beat_layout.bits,
            )
        )


@dataclass
class Outcome(ModuleOutcome[Host]):
    """Outcome of the simulation of a session; ``flits``: by line."""

    flits: dict[str, Flits] = field(default_factory=dict, kw_only=True)


def stimulus(session: Host, memory: Memory | None, rig: Rig | DevicesRig) -> Stimulus:
    """All actions of a session's host, the pace of the memories, and the expected outputs of its models."""
    config = session.config
    inner = rig if isinstance(rig, Rig) else rig.inner
    word, program_layout = config.hub.word_layout, config.hub.program_layout
    inputs = {port.name: port.layout for port in rig.ports() if port.is_input}
    blocks: dict[str, list[Items]] = {
        name: [Items.of(np.zeros((0, layout.payload_bytes), np.uint8))] for name, layout in inputs.items()
    }
    expected = {
        port.name: np.zeros((0, port.layout.payload_bytes), np.uint8)
        for port in rig.ports()
        if not port.is_input and not port.name.startswith(("up_", "down_"))
    }
    ends = [dict.fromkeys(session.episodes[0].ends, 0), *(episode.ends for episode in session.episodes)]
    every = (1 << config.hub.cores.cores) - 1
    for number, (episode, (before, after)) in enumerate(zip(session.episodes, pairwise(ends), strict=True)):
        # Instructions wait until memories and cores are loaded, a word in four clocks at least.
        loaded = 16 + max(4 * len(episode.program), *(len(loads) for own in episode.loads for loads in own))
        for device, (name, model) in enumerate(zip(session.names, session.models, strict=True)):
            words = np.concatenate([np.zeros((0, WORD_BYTES), np.uint8), *episode.words[device]])
            host = np.zeros((len(words), WORD_BYTES + 1), np.uint8)
            host[:, :WORD_BYTES] = words
            blocks[f"{name}host"].append(Items.of(host, epoch=number, cycle=loaded))
            blocks[f"{name}host_in"].append(Items.of(number_rows(word, episode.vectors[device]), epoch=number))
            program = np.array(episode.program, np.int64)
            blocks[f"{name}program"].append(
                Items.of(
                    program_layout.pack(
                        address=np.arange(len(program)), data=program, cores=np.full(len(program), every)
                    ),
                    epoch=number,
                )
            )
            issued = model.issued[before[f"{name}issued"] : after[f"{name}issued"]]
            for one, block in memory_items(inner, episode.loads[device], issued, memory, number).items():
                blocks[f"{name}{one}"].append(block)
        if episode.passed:
            link, requests = config.hub.cxl.link, episode.passed.sent[0]
            for kind in (REQ, RWD):
                blocks[f"host_send_{kind.name.lower()}"].append(
                    Items.of(
                        rows(link.layout(kind), [one for one in requests if one.kind is kind]),
                        epoch=number,
                        cycle=loaded,
                    )
                )
            data, acks = _for_host(episode.passed)
            for one, right in (
                ("host_got_drs", rows(link.data_layout, data)),
                ("host_got_ndr", rows(link.ack_layout, acks)),
            ):
                expected[one] = np.concatenate([expected[one], right])
    done = config.decoder.done_layout
    for device, (name, model) in enumerate(zip(session.names, session.models, strict=True)):
        expected |= {f"{name}{one}": found for one, found in expected_rows(inner, model, model.issued).items()}
        positions = np.cumsum([len(words) for episode in session.episodes for words in episode.words[device]]) - 1
        expected[f"{name}done"] = done.pack(code=np.zeros(len(positions), np.int64), position=positions)
    items = {name: Items.join(parts) for name, parts in blocks.items()}
    pace = max(
        int(Layout.plain(32).unpack(items[f"{name}pace_{n}"].payload)[""].sum())
        for name in session.names
        for n in range(config.channels)
    )
    sizes = sum(values[1] for model in session.models for values in model.issued)
    targets = {port.name: np.diff([end.get(port.name, 0) for end in ends]) for port in rig.ports() if not port.is_input}
    return Stimulus(
        items,
        expected,
        targets,
        work=sum(len(block.payload) for block in items.values()) + int(sizes) * 8 + pace * config.channels,
        held=[name for name in rig.direct if name != "program"] if isinstance(rig, Rig) else rig.held,
    )


def simulate(
    session: Host,
    verilog: str,
    *,
    top: str = "cent_device",
    memory: Memory | None = None,
    wires: Wires | None = None,
    **options: Any,
) -> Outcome:
    """Simulate all actions of a session's host, and compare with its models.

    Parameters
    ----------
    verilog : text of the unit, generated for the session's configuration
    memory : its timing gives the pace of the channels' memories; None: a step in every clock
    wires : what joins the devices of a session with several
    options : as of :func:`play_stimulus`, and the same errors
    """
    count = session.rows
    if not session.joined:
        rig = Rig(session.config, count)
        played = play_stimulus(
            rig, rig.verilog(verilog, top), f"{top}_bench", stimulus(session, memory, rig), **options
        )
        return Outcome(**vars(played), session=session)
    assert wires is not None
    several = DevicesRig(session.config, count, len(session.models), wires)
    given = stimulus(session, memory, several)
    played = play_stimulus(several, several.verilog(verilog, top), f"{top}_devices_bench", given, **options)
    run, link = played.run, session.config.hub.cxl.link
    # Answers of several devices come in any order.
    for name, layout in (("host_got_drs", link.data_layout), ("host_got_ndr", link.ack_layout)):
        payload = run.outputs[name]
        run.outputs[name] = sorted_rows(payload, layout.unpack(payload)["source"], given.targets[name])
    found = compare(run, given.items, given.expected, given.targets)
    outcome = Outcome(run, played.vectors, *found, session=session, module="d0_")
    outcome.flits = {name: seen_flits(link, outcome, name) for name in run.outputs if name.startswith(("up_", "down_"))}
    compare_lines(link, [episode.passed for episode in session.episodes if episode.passed], outcome, outcome.flits)
    return outcome


def bench(request: SimRequest) -> CentDeviceResult:
    """Run the whole bench of ``cent-device``.

    Tokens are decoded at the pace of the memory's timing, with an always ready memory, and with random stalls. Stalls hold
    up every stream of the host, and every line. On one device, the same tokens also run from random registers, with resets.
    Several devices also run random transfers.
    """
    config, workload = request.config, request.workload
    memory = load_memory(workload.memory)
    blocks_of(config, workload)
    text, wires = request.verilog, None
    if workload.devices > 1:
        cxl = config.hub.cxl
        if not config.hub.network:
            text = request.part("cent-device", "cent-small", settings(config.joined.model_dump())).verilog
        switch = request.part(
            "cent-cxl-switch", "cent", [*settings(cxl.model_dump(), "port."), f"joined={workload.devices}"]
        )
        link = request.part("cent-cxl-link", "cent", settings(cxl.link.model_dump()))
        wires = Wires((switch.verilog, switch.module), (link.verilog, link.module))

    def session() -> Session:
        return Session(config, workload, np.random.default_rng(request.seed))

    campaign = Campaign(
        request, lambda made, **options: simulate(made(), text, top=request.module, wires=wires, **options)
    )
    paced = campaign.run("memory", session, memory=memory, waves=True)
    full = campaign.run("full_rate", session, "a memory that is always ready")
    campaign.run(
        "stalls", session, "random stalls of the host and of all lines" if wires else "random stalls of the host"
    )
    if wires:

        def mixes() -> Mixes:
            return Mixes(
                config,
                workload.devices,
                blocks_of(config, workload)[0].regions["end"],
                np.random.default_rng(request.seed),
                MIXES,
            )

        campaign.run("transfers", mixes, "random transfers and commands, random stalls", stalls=0.35)
    else:
        campaign.run("power_up", session)

    steps, errors = [], []
    for one in paced.session.decoded:
        issued = paced.session.models[0].issued[one.commands]
        error = paced.result(one) - one.exact
        errors.append(error)
        scale = memory.clock_ps * config.clock_mhz * 1e-6
        steps.append(
            BlockStep(
                tokens=one.tokens,
                instructions=len(issued),
                cycles=paced.cycles(one),
                full_rate_cycles=full.cycles(one),
                memory_cycles=round(step_cycles(config, issued, memory)[1] * scale),
                relative_error=float(np.linalg.norm(error) / np.linalg.norm(one.exact)),
            )
        )
    last = steps[-1]
    return campaign.result(
        CentDeviceResult,
        instructions=last.instructions,
        instruction_bytes=last.instructions * WORD_BYTES,
        cycles=last.cycles,
        memory_cycles=last.memory_cycles,
        steps=steps,
        flits=sum(len(flits.kinds) for name, flits in paced.flits.items() if name.startswith("up_") and name != "up_0"),
        max_abs_error=float(np.abs(errors).max()),
        rms_error=float(np.sqrt(np.mean(np.square(errors)))),
    )
