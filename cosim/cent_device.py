"""Bench of ``cent-device``: a LLaMA block, token by token, from instruction words to results.

The host loads the cores' programs, sends instructions and vectors, and takes results. A memory at each channel holds
weights and caches, and answers at the clocks that the timing engine gives. Every command, column, write and result is
compared with the functional model. The results are compared with the same block in binary64.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from ..constraints.cent_isa import WORD_BYTES, fields_of
from ..constraints.cent_programs import image_for
from ..constraints.contract import Layout
from ..constraints.errors import ConfigError
from ..constraints.formats import FP32
from ..constraints.memory import Memory, load_memory
from ..constraints.units.cent_device import BlockStep, CentDeviceConfig, CentDeviceResult, LlamaBlock
from ..constraints.units.cent_riscv import AHEAD_WORDS
from ..models.cent.device import DeviceModel
from ..models.cent.executable import MATRICES, SCALARS, ExecutableBlock
from ..models.cent.reference import EPSILON, Reference, rotary
from ..models.cent.words import encode_words
from ..models.numerics import from_float64, to_float64
from ..models.program import Program
from .aim_channel import number_rows
from .aim_module import ModuleOutcome, Rig, expected_rows, memory_items, step_cycles
from .campaign import Campaign, Stimulus, play_stimulus
from .request import SimRequest
from .streams import Items

__all__ = ["Decoded", "Outcome", "Session", "bench", "block_of", "simulate", "stimulus"]


def block_of(config: CentDeviceConfig, work: LlamaBlock) -> ExecutableBlock:
    """The block on all channels of the device.

    Raises
    ------
    :exc:`ConfigError`
        If the block does not fit the device.
    """
    block = ExecutableBlock(
        work.hidden, work.heads, work.kv_heads, work.head_dim, work.ffn, config.channels, config.channel.banks,
        config.channel.lanes, config.channel.columns, config.channel.registers, config.hub.registers,
        max_tokens=work.past + work.tokens, subtract_maximum=work.maximum)
    if block.regions["end"] > config.decoder.rows:
        raise ConfigError(f"the block needs {block.regions['end']} rows of a bank, but decoder.rows has "
                          f"{config.decoder.rows}")
    return block


@dataclass
class Decoded:
    """A token: places of its commands and results, and the exact result."""

    tokens: int
    commands: slice
    results: slice
    exact: np.ndarray


@dataclass
class Episode:
    """Work of the host before it waits: columns of the memories, words of the cores, instructions, vectors."""

    loads: list[list[tuple[int, int, np.ndarray]]]
    program: list[int] = field(default_factory=list)
    words: list[np.ndarray] = field(default_factory=list)
    vectors: list[np.ndarray] = field(default_factory=list)
    ends: dict[str, int] = field(default_factory=dict)


class Session:
    """A host that decodes tokens on a device. The model executes every action of the host immediately."""

    def __init__(self, config: CentDeviceConfig, work: LlamaBlock, rng: np.random.Generator) -> None:
        self.config, self.block, self.rng = config, block_of(config, work), rng
        self.fmt = config.hub.fmt
        self.decoded: list[Decoded] = []
        self.episodes: list[Episode] = []
        block, channels = self.block, range(config.channels)
        matrices = {name: self._numbers(block.matrix(name)[::-1], block.matrix(name)[0]**-0.5) for name in MATRICES}
        norms = [to_float64(self._bits(1 + 0.1 * rng.normal(size=block.hidden)), self.fmt) for _ in range(2)]
        self.reference = Reference(block, matrices, norms)
        rows = block.contents({name: self._bits(matrix) for name, matrix in matrices.items()},
                              [self._bits(norm) for norm in norms], int(self._bits(np.array(block.head_dim**-0.5))),
                              self._bits(rng.normal(size=(block.regions["end"], block.channels, block.columns, block.banks,
                                                          block.lanes))))
        self._x = [self._numbers((block.hidden,), 1.0) for _ in range(work.tokens)]
        keys, values = (self._numbers((work.past, block.kv_heads, block.head_dim), 1.0) for _ in range(2))
        if work.score_range and work.past:
            query = self.reference.query(self._x[0], work.past)
            scores = np.einsum("thd,hgd->thg", keys, query.reshape(block.kv_heads, block.group, -1)) / block.head_dim**0.5
            keys = to_float64(self._bits(keys * (work.score_range / np.abs(scores).max())), self.fmt)
        self.reference.keys, self.reference.values = list(keys), list(values)
        block.fill_caches(rows, self._bits(keys), self._bits(values))
        image = image_for(config.hub.lanes).with_parameters(
            inverse_length=int(from_float64(np.array(1 / block.hidden), FP32)),
            epsilon=int(from_float64(np.array(EPSILON), FP32)))
        self._entries = {name: image.entry(name) for name in SCALARS}
        self.model = DeviceModel(config, [{row: columns[n].copy() for row, columns in rows.items()} for n in channels])
        # The cores fetch ahead of a return, so words behind the programs are defined too.
        words = [*image.words, *[0] * AHEAD_WORDS]
        self.model.load(words)
        self._begin()
        episode = self.episodes[-1]
        episode.program = words
        episode.loads = [[(row, column, columns[n][column]) for row, columns in rows.items()
                          for column in range(block.columns)] for n in channels]
        setup = Program()
        setup.command("WR_GPR", opsize=1, gpr=block.slot("zero"))
        self._send(np.zeros(block.lanes, np.int64))
        self._run(setup)
        for x in self._x:
            self._token(x)
        self._close()

    def _bits(self, values: np.ndarray) -> np.ndarray:
        return from_float64(values, self.fmt)

    def _numbers(self, shape: tuple[int, ...], scale: float) -> np.ndarray:
        """Random numbers of the format, as binary64."""
        return to_float64(self._bits(self.rng.normal(size=shape) * scale), self.fmt)

    # ---- Actions of the host -----------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._close()
        self.episodes.append(Episode([[] for _ in range(self.config.channels)]))

    def _close(self) -> None:
        if self.episodes:
            model = self.model
            self.episodes[-1].ends = {
                "issued": len(model.issued), "done": len(self.episodes[-1].words) + self._before("done"),
                "host_out": len(model.given),
                **{f"beat_{n}": len(read) for n, read in enumerate(model.read)},
                **{f"stored_{n}": len(written) for n, written in enumerate(model.written)}}

    def _before(self, name: str) -> int:
        return self.episodes[-2].ends[name] if len(self.episodes) > 1 else 0

    def _send(self, vector: np.ndarray) -> None:
        words = vector.reshape(-1, self.block.lanes)
        self.episodes[-1].vectors += list(words)
        self.model.host_words += list(words)

    def _run(self, program: Program) -> slice:
        """Send a program; returns the places of its commands."""
        words = encode_words(program, self.config.decoder.isa)
        commands = self.config.decoder.isa.commands(fields_of(words))
        first = len(self.model.issued)
        commands["position"] = first + np.arange(len(words))
        self.model.run(np.stack([commands[name] for name in self.config.command_layout.widths], axis=1))
        self.episodes[-1].words.append(words)
        return slice(first, len(self.model.issued))

    def _token(self, x: np.ndarray) -> None:
        block, position = self.block, len(self.reference.keys)
        self._begin()
        program = Program()
        for name, vector in (("x", x), *zip(("cos", "sin"), rotary(block.head_dim, position), strict=True)):
            program.command("WR_GPR", opsize=len(vector) // block.lanes, gpr=block.slot(name))
            self._send(self._bits(vector))
        program.extend(block.program(position + 1, self._entries))
        program.command("RD_GPR", opsize=block.hidden // block.lanes, gpr=block.slot("x"))
        given = len(self.model.given)
        commands = self._run(program)
        self.decoded.append(Decoded(position + 1, commands, slice(given, len(self.model.given)), self.reference.step(x)))


# Simulation --------------------------------------------------------------------------------------------------------------


@dataclass
class Outcome(ModuleOutcome[Session]):
    """Outcome of the simulation of a session."""


def stimulus(session: Session, memory: Memory | None) -> Stimulus:
    """All actions of a session's host, the pace of the memories, and the expected outputs of its model."""
    config, model = session.config, session.model
    rig = Rig(config, session.block.regions["end"])
    word, program_layout = config.hub.word_layout, config.hub.program_layout
    blocks: dict[str, list[Items]] = {port.name: [] for port in rig.ports() if port.is_input}
    ends = [dict.fromkeys(session.episodes[0].ends, 0), *(episode.ends for episode in session.episodes)]
    every = (1 << config.hub.cores.cores) - 1
    for number, (episode, (before, after)) in enumerate(zip(session.episodes, pairwise(ends), strict=True)):
        # Instructions wait until memories and cores are loaded, a word in four clocks at least.
        loaded = 16 + max(4 * len(episode.program), *(len(loads) for loads in episode.loads))
        words = np.concatenate(episode.words).reshape(-1, WORD_BYTES)
        host = np.zeros((len(words), WORD_BYTES + 1), np.uint8)
        host[:, :WORD_BYTES] = words
        blocks["host"].append(Items.of(host, epoch=number, cycle=loaded))
        blocks["host_in"].append(Items.of(number_rows(word, episode.vectors), epoch=number))
        program = np.array(episode.program, np.int64)
        blocks["program"].append(Items.of(program_layout.pack(
            address=np.arange(len(program)), data=program, cores=np.full(len(program), every)), epoch=number))
        issued = model.issued[before["issued"]:after["issued"]]
        for name, block in memory_items(rig, episode.loads, issued, memory, number).items():
            blocks[name].append(block)
    expected = expected_rows(rig, model, model.issued)
    positions = np.cumsum([len(words) for episode in session.episodes for words in episode.words]) - 1
    expected["done"] = config.decoder.done_layout.pack(code=np.zeros(len(positions), np.int64), position=positions)
    items = {name: Items.join(parts) for name, parts in blocks.items()}
    pace = sum(int(Layout.plain(32).unpack(items[f"pace_{n}"].payload)[""].sum()) for n in range(config.channels))
    sizes = sum(values[1] for values in model.issued)
    return Stimulus(items, expected, {name: np.diff([end[name] for end in ends]) for name in expected},
                    work=sum(len(block.payload) for block in items.values()) + int(sizes) * 8 + pace,
                    held=[name for name in rig.direct if name != "program"])


def simulate(session: Session, verilog: str, *, top: str = "cent_device", memory: Memory | None = None,
             **options: Any) -> Outcome:
    """Simulate all actions of a session's host, and compare with its model.

    Parameters
    ----------
    verilog : text of the unit, generated for the session's configuration
    memory : its timing gives the pace of the channels' memories; None: a step in every clock
    options : as of :func:`play_stimulus`, and the same errors
    """
    rig = Rig(session.config, session.block.regions["end"])
    played = play_stimulus(rig, rig.verilog(verilog, top), f"{top}_bench", stimulus(session, memory), **options)
    return Outcome(**vars(played), session=session)


def bench(request: SimRequest) -> CentDeviceResult:
    """Run the whole bench of ``cent-device``.

    Tokens are decoded at the pace of the memory's timing, with an always ready memory, and with random stalls on every
    stream of the host. The same tokens also run from random registers, with resets.
    """
    config, workload = request.config, request.workload
    memory = load_memory(workload.memory)
    block_of(config, workload)

    def session() -> Session:
        return Session(config, workload, np.random.default_rng(request.seed))

    campaign = Campaign(request, lambda made, **options: simulate(made(), request.verilog, top=request.module, **options))
    paced = campaign.run("memory", session, memory=memory, waves=True)
    full = campaign.run("full_rate", session, "a memory that is always ready")
    campaign.run("stalls", session, "random stalls of the host")
    campaign.run("power_up", session)

    steps, errors = [], []
    for one in paced.session.decoded:
        issued = paced.session.model.issued[one.commands]
        error = paced.result(one) - one.exact
        errors.append(error)
        scale = memory.clock_ps * config.clock_mhz * 1e-6
        steps.append(BlockStep(
            tokens=one.tokens, instructions=len(issued), cycles=paced.cycles(one), full_rate_cycles=full.cycles(one),
            memory_cycles=round(step_cycles(config, issued, memory)[1] * scale),
            relative_error=float(np.linalg.norm(error) / np.linalg.norm(one.exact))))
    last = steps[-1]
    return campaign.result(
        CentDeviceResult, instructions=last.instructions, instruction_bytes=last.instructions * WORD_BYTES,
        cycles=last.cycles, memory_cycles=last.memory_cycles, steps=steps,
        max_abs_error=float(np.abs(errors).max()), rms_error=float(np.sqrt(np.mean(np.square(errors)))))
