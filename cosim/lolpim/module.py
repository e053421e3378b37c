"""Bench of ``lol-pim-module``: attention of one head, decode steps of several requests, from programs to results.

The host writes programs, requests and rows. The dispatcher's RTL executes the programs' words, and its commands drive
the RTL of the channels and the hub. A memory at each channel gives keys and values from the row that a command names,
at the clocks that the timing engine gives. The channels' writes go to the same memory. Every command, column, write and
result is compared with the functional model. Every command is also compared with the programs' own expansion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from ...constraints.aim.encoding import COMMANDS
from ...constraints.core.contract import Layout
from ...constraints.core.errors import ConfigError
from ...constraints.lolpim.module import DecodeCase, LolPimModuleConfig, LolPimModuleResult
from ...constraints.memory import Memory, load_memory
from ...models.lolpim.allocation import Allocator
from ...models.lolpim.head import ROWS, Head
from ...models.lolpim.host import Write, load, map_rows, release, set_request, set_size, set_tokens, start
from ...models.lolpim.module import LolPimModel
from ...models.numerics import from_float64, to_float64
from ...models.program import Program, Wait
from ...models.program.encoding import encode_program
from ..aim.channel import number_rows
from ..aim.module import NAMES, ModuleOutcome, Rig, expected_rows, memory_items, step_cycles
from ..bench.campaign import Campaign, Stimulus, play_stimulus
from ..bench.request import SimRequest
from ..bench.streams import Items

__all__ = ["KINDS", "Decoded", "Outcome", "Session", "bench", "cases", "decode_steps", "simulate", "stimulus"]

#: Kinds of data: scores of unit variance; all scores equal; one key far above the rest; scores of plus and minus 60000.
KINDS = ("normal", "equal", "dominant", "extreme")


# What the host does ------------------------------------------------------------------------------------------------------


@dataclass
class Decoded:
    """A decode step of a request: its tokens, the places of its commands and results, and the exact result.

    Attributes
    ----------
    commands : commands of its attention, as a slice of all issued commands
    results : registers of its result, as a slice of all registers that the host receives
    """

    slot: int
    tokens: int
    kind: str
    commands: slice
    results: slice
    exact: np.ndarray


@dataclass
class Episode:
    """Work of the host before it waits: columns that are in the memories, its writes, the registers that it sends."""

    loads: list[list[tuple[int, int, np.ndarray]]]
    writes: list[Write] = field(default_factory=list)
    words: list[np.ndarray] = field(default_factory=list)
    ends: dict[str, int] = field(default_factory=dict)


class Session:
    """A host with requests in slots, each with its keys and values. The model executes every action of the host
    immediately.

    Parameters
    ----------
    rows : rows of every bank, which requests get in random order
    group : queries that share the keys and values of the head
    """

    def __init__(
        self, config: LolPimModuleConfig, head_dim: int, rows: int, rng: np.random.Generator, *, group: int = 1
    ) -> None:
        self.config, self.rng, self.rows = config, rng, rows
        self.head = Head(config, head_dim, group)
        self.fmt = config.channel.fmt
        self.model = LolPimModel(config, [{} for _ in range(config.channels)])
        self.allocator = Allocator(rows // ROWS, self.head.chunk)
        self.physical = rng.permutation(rows // ROWS * ROWS).reshape(-1, ROWS)
        self.keys: dict[int, np.ndarray] = {}
        self.values: dict[int, np.ndarray] = {}
        self.decoded: list[Decoded] = []
        self.expanded: list[tuple[int, ...]] = []
        self.episodes: list[Episode] = []
        self._entries = config.dispatcher.table_entries // config.dispatcher.slots
        self._mapped: dict[int, int] = {}
        self.begin()
        self._programs: list[tuple[int, Program]] = []
        line = 0
        setup = Program()
        setup.command("WR_GPR", opsize=1, gpr=self.head.zero)
        appends = (self.head.append(n, part) for part in range(self.head.parts) for n in range(config.channels))
        for program in (setup, *appends, self.head.attend):
            words = encode_program(program, config.dispatcher.encoding, first=line)
            self._write(*load(config.dispatcher, words, line))
            self._programs.append((line, program))
            line += len(words)
        self._send(np.zeros(self.head.lanes, np.int64))
        self._run(0, 0)

    # ---- Writes and words ------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin a new episode, which starts when everything before it is done."""
        self._close()
        self.episodes.append(Episode([[] for _ in range(self.config.channels)]))

    def _close(self) -> None:
        if self.episodes:
            model = self.model
            self.episodes[-1].ends = {
                "issued": len(model.dispatcher.issued),
                "done": len(model.dispatcher.done),
                "host_out": len(model.given),
                **{f"beat_{n}": len(read) for n, read in enumerate(model.read)},
                **{f"stored_{n}": len(written) for n, written in enumerate(model.written)},
            }

    def _write(self, *writes: Write) -> None:
        self.episodes[-1].writes += writes
        for write in writes:
            self.model.write(*write)

    def _send(self, words: np.ndarray) -> None:
        words = words.reshape(-1, self.head.lanes)
        self.episodes[-1].words += list(words)
        self.model.host_words += list(words)

    def _run(self, number: int, slot: int) -> None:
        """Start a program, and record by its own expansion the commands that it must issue."""
        line, program = self._programs[number]
        tokens = self.model.dispatcher.slots[slot].tokens
        fields = list(self.config.dispatcher.command_layout.widths)
        for item in program.bind(tokens).expand():
            assert not isinstance(item, Wait)
            op, operands = item
            values = dict.fromkeys(fields, 0) | {"op": COMMANDS[op].code}
            for name, value in operands.items():
                if name != "slot":
                    values[COMMANDS[op].places[name]] = value
            if "slot" in operands:
                values["request"] = self.model.dispatcher.slots[slot].request
                values["row"] = self._row(slot, operands["row"])
            self.expanded.append(tuple(values[name] for name in fields))
        self._write(start(self.config.dispatcher, line, slot))

    def _row(self, slot: int, virtual: int) -> int:
        chunk, part = divmod(virtual, ROWS)
        return int(self.physical[self.allocator.table[slot][chunk], part])

    # ---- Requests --------------------------------------------------------------------------------------------------

    def _fresh(self, row: int) -> None:
        """Fill a row with its earlier contents: any finite numbers."""
        head, banks = self.head, self.config.channel.banks
        for n, rows in enumerate(self.model.rows):
            bits = self.rng.integers(0, 1 << self.fmt.width, (head.columns, banks, head.lanes))
            inf = (bits & self.fmt.infinity) == self.fmt.infinity
            rows[row] = np.where(inf, bits ^ (1 << self.fmt.fraction_bits), bits)
            self.episodes[-1].loads[n] += [(row, column, rows[row][column].copy()) for column in range(head.columns)]

    def _grow(self, slot: int, tokens: int) -> list[int]:
        """Allot chunks for ``tokens`` tokens. Returns the rows that are new."""
        known = len(self.allocator.table.get(slot, []))
        if tokens > self.head.most_tokens or ROWS * self.allocator.need(tokens) > self._entries:
            most = min(self.head.most_tokens, self._entries // ROWS * self.head.chunk)
            raise ConfigError(f"tokens must be at most {most} for this configuration, not {tokens}")
        if not self.allocator.grow(slot, tokens):
            raise ConfigError(f"{self.rows} rows of the banks are too few")
        new = [int(row) for chunk in self.allocator.table[slot][known:] for row in self.physical[chunk]]
        for row in new:
            if row not in self.model.rows[0]:
                self._fresh(row)
        return new

    def admit(self, slot: int, name: int, keys: np.ndarray, values: np.ndarray) -> None:
        """Admit a request. The keys and values of its prompt, of shape ``(tokens, head_dim)``, are in the rows."""
        head, config = self.head, self.config.dispatcher
        self.keys[slot], self.values[slot] = keys, values
        self._grow(slot, len(keys))
        rows = [self._row(slot, virtual) for virtual in range(ROWS * len(self.allocator.table[slot]))]
        for token, key in enumerate(keys):
            channel, bank, row, column = head.place_key(token)
            self.model.rows[channel][rows[row]][column : column + head.words, bank] = key.reshape(-1, head.lanes)
        places = [[head.place_value(token, dim) for dim in range(head.head_dim)] for token in range(len(values))]
        for token, value in enumerate(values):
            for dim, (channel, bank, row, column, element) in enumerate(places[token]):
                self.model.rows[channel][rows[row]][column, bank, element] = value[dim]
        for n, columns in enumerate(self.model.rows):
            self.episodes[-1].loads[n] += [
                (row, column, columns[row][column].copy()) for row in rows for column in range(head.columns)
            ]
        self._mapped[slot] = len(rows)
        self._write(*set_request(config, slot, name, len(keys), slot * self._entries, rows))

    def new_token(self, slot: int, key: np.ndarray, value: np.ndarray) -> None:
        """Add a token to a request. The host maps rows for it while the run before goes on. The module stores it."""
        config = self.config.dispatcher
        self.keys[slot] = np.concatenate([self.keys[slot], key[None]])
        self.values[slot] = np.concatenate([self.values[slot], value[None]])
        tokens = len(self.keys[slot])
        new = self._grow(slot, tokens)
        if new:
            self._write(*map_rows(config, slot * self._entries + self._mapped[slot], new))
            self._mapped[slot] += len(new)
            self._write(set_size(config, slot, self._mapped[slot]))
        self._write(set_tokens(config, slot, tokens))
        self._send(np.concatenate([key, value]))
        newest = tokens - 1
        self._run(1 + self.head.part(newest) * self.config.channels + self.head.place_key(newest)[0], slot)

    def ask(self, slot: int, query: np.ndarray) -> None:
        """Attention of a query, or of a group of queries, over a request's tokens."""
        self._send(query)
        self._run(len(self._programs) - 1, slot)

    def decode(self, slot: int, query: np.ndarray, key: np.ndarray, value: np.ndarray, kind: str = "normal") -> None:
        """Decode one more token of a request, and its attention."""
        model = self.model
        self.new_token(slot, key, value)
        first, given = len(model.dispatcher.issued), len(model.given)
        self.ask(slot, query)
        k, v, q = (to_float64(x, self.fmt) for x in (self.keys[slot], self.values[slot], np.atleast_2d(query)))
        scores = q @ k.T
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        self.decoded.append(
            Decoded(
                slot,
                len(k),
                kind,
                slice(first, len(model.dispatcher.issued)),
                slice(given, len(model.given)),
                (p / p.sum(axis=1, keepdims=True) @ v).reshape(-1),
            )
        )

    def retire(self, slot: int) -> None:
        """End the request of a slot and free its rows. No run of the request may be under way."""
        self._write(release(self.config.dispatcher, slot))
        self.allocator.release(slot)

    # ---- Data ------------------------------------------------------------------------------------------------------

    def data(self, tokens: int, steps: int, kind: str = "normal") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Bits of keys, values (prompt and new tokens) and queries (of the new tokens, scaled). Each step has a query, or as
        many as share the head."""
        rng, dim, group = self.rng, self.head.head_dim, self.head.group
        q = rng.normal(size=(steps, group, dim)) * dim**-0.5
        k, v = rng.normal(size=(2, tokens + steps, dim))
        if kind == "equal":
            k[:] = k[0]
        elif kind == "dominant":
            k[rng.integers(tokens + 1)] = 16 * dim**0.5 * q[0, 0]
        elif kind == "extreme":
            q[:, :] = np.eye(dim)[0]
            k[:, 0] = rng.choice([-60000.0, 60000.0], len(k))
        return from_float64(k, self.fmt), from_float64(v, self.fmt), from_float64(q if group > 1 else q[:, 0], self.fmt)


def decode_steps(session: Session, requests: Sequence[tuple[int, int, str]], steps: int) -> None:
    """An episode with requests in slots 0, 1, ...: each has tokens, a largest number of new steps, and a kind of data.
    Requests decode one token each in turn, until each has done its steps. Earlier requests are retired first."""
    session.begin()
    for slot in list(session.allocator.table):
        session.retire(slot)
    made = [session.data(tokens, min(steps, most), kind) for tokens, most, kind in requests]
    for slot, ((tokens, _, _), (k, v, _)) in enumerate(zip(requests, made, strict=True)):
        session.admit(slot, 100 * len(session.episodes) + slot + 1, k[:tokens], v[:tokens])
    for step in range(steps):
        for slot, ((tokens, most, _), (k, v, q)) in enumerate(zip(requests, made, strict=True)):
            if step < most:
                session.decode(slot, q[step], k[tokens + step], v[tokens + step], requests[slot][2])


# Simulation --------------------------------------------------------------------------------------------------------------


@dataclass
class Outcome(ModuleOutcome[Session]):
    """Outcome of the simulation of a session."""

    def errors(self, one: Decoded) -> np.ndarray:
        """Absolute errors of a decode step's result against attention in binary64 on the same bits."""
        return np.abs(self.result(one) - one.exact)


def stimulus(session: Session, memory: Memory | None) -> Stimulus:
    """All actions of a session's host, the pace of the memories (see :func:`simulate`), and the expected outputs of its
    model."""
    session._close()
    config, model, rig = session.config, session.model, Rig(session.config, session.rows)
    dispatcher, word = config.dispatcher, config.hub.word_layout
    blocks: dict[str, list[Items]] = {port.name: [] for port in rig.ports() if port.is_input}
    ends = [dict.fromkeys(session.episodes[0].ends, 0), *(episode.ends for episode in session.episodes)]
    for number, (episode, (before, after)) in enumerate(zip(session.episodes, pairwise(ends), strict=True)):
        loaded = 4 + max(len(loads) for loads in episode.loads)
        address, data = np.array(episode.writes, np.int64).reshape(-1, 2).T
        host = dispatcher.host_layout.pack(address=address, data=data)
        blocks["host"].append(Items.of(host, epoch=number, cycle=loaded))
        blocks["host_in"].append(Items.of(number_rows(word, episode.words), epoch=number))
        issued = model.dispatcher.issued[before["issued"] : after["issued"]]
        for name, block in memory_items(rig, episode.loads, issued, memory, number).items():
            blocks[name].append(block)
    expected = expected_rows(rig, model, model.dispatcher.issued)
    expected["done"] = dispatcher.done_layout.pack(
        code=np.array([end.code for end in model.dispatcher.done], np.int64),
        line=np.array([end.line for end in model.dispatcher.done], np.int64),
    )
    items = {name: Items.join(parts) for name, parts in blocks.items()}
    pace = sum(int(Layout.plain(32).unpack(items[f"pace_{n}"].payload)[""].sum()) for n in range(config.channels))
    sizes = sum(values[1] for values in model.dispatcher.issued)
    return Stimulus(
        items,
        expected,
        {name: np.diff([end[name] for end in ends]) for name in expected},
        work=sum(len(block.payload) for block in items.values()) + int(sizes) + pace,
        held=rig.direct,
    )


def simulate(
    session: Session, verilog: str, *, top: str = "lol_pim_module", memory: Memory | None = None, **options: Any
) -> Outcome:
    """Simulate all actions of a session's host, and compare with its model. The model's commands are compared with the
    programs' own expansion.

    Parameters
    ----------
    verilog : text of the unit, generated for the session's configuration
    memory : its timing gives the pace of the channels' memories; None: a step in every clock
    options : as of :func:`play_stimulus`, and the same errors
    """
    rig = Rig(session.config, session.rows)
    played = play_stimulus(rig, rig.verilog(verilog, top), f"{top}_bench", stimulus(session, memory), **options)
    by_model, by_expansion = (
        np.array(issued, np.int64)[:, :-1] for issued in (session.model.dispatcher.issued, session.expanded)
    )
    played.require(np.array_equal(by_model, by_expansion), "what was issued is not the programs' expansion")
    return Outcome(**vars(played), session=session)


# Bench -------------------------------------------------------------------------------------------------------------------


def cases(head: Head, slots: int, tokens: int) -> dict[str, tuple[list[tuple[int, int, str]], int]]:
    """Episodes of the bench: requests (tokens before, new tokens, data), and steps.

    - the measured step alone
    - requests of different lengths that grow by turns: one crosses the border of a chunk while the others run, and
      another starts from its first token
    - a step with every kind of data
    """
    chunk = head.chunk
    several = [(chunk - 2, 4, "normal"), (0, 3, "normal"), (2 * chunk - 1, 2, "normal")][:slots]
    corners = [(chunk + n, 1, kind) for n, kind in enumerate(KINDS)][-slots:]
    return {"measured": ([(tokens - 1, 1, "normal")], 1), "several": (several, 4), "corners": (corners, 1)}


def bench(request: SimRequest) -> LolPimModuleResult:
    """Run the whole bench of ``lol-pim-module``.

    :func:`cases` run at the pace of the memory's timing, with an always ready memory, and with random stalls on every
    stream of the host. The last of the cases also runs from random registers, with resets.
    """
    config, workload = request.config, request.workload
    memory = load_memory(workload.memory)
    head = Head(config, workload.head_dim)
    work = cases(head, config.dispatcher.slots, workload.tokens)
    chunks = max(sum(-(-(before + new) // head.chunk) for before, new, _ in requests) for requests, _ in work.values())
    rows = 1 << (ROWS * chunks + 2).bit_length()
    if rows > 1 << config.dispatcher.row_bits:
        raise ConfigError(
            f"{workload.tokens} tokens need {rows} rows of the bench's memory, but dispatcher.row_bits has "
            f"{1 << config.dispatcher.row_bits}"
        )

    def session(episodes: Sequence[str] = tuple(work)) -> Session:
        made = Session(config, workload.head_dim, rows, np.random.default_rng(request.seed))
        for name in episodes:
            decode_steps(made, *work[name])
        return made

    campaign = Campaign(
        request, lambda made, **options: simulate(made(), request.verilog, top=request.module, **options)
    )
    paced = campaign.run("memory", session, memory=memory, waves=True)
    full = campaign.run("full_rate", session, "a memory that is always ready")
    campaign.run("stalls", session, "random stalls of the host")
    campaign.run("power_up", lambda: session(["corners"]))

    main = paced.session.decoded[0]
    issued = paced.session.model.dispatcher.issued[main.commands]
    _, memory_cycles = step_cycles(config, issued, memory)
    accesses = sum(values[1] for values in issued if NAMES[values[0]] == "MAC_ABK")
    errors = [paced.errors(one) for one in paced.session.decoded]
    cycles = paced.cycles(main)
    return campaign.result(
        LolPimModuleResult,
        commands=len(issued),
        cycles=cycles,
        ideal_cycles=accesses,
        stall_cycles=cycles - accesses,
        utilisation=round(accesses / cycles, 6),
        time_ns=round(cycles / config.clock_mhz * 1e3, 3),
        memory_time_ns=round(memory_cycles * memory.clock_ps * 1e-3, 3),
        full_rate_cycles=full.cycles(full.session.decoded[0]),
        max_abs_error=float(errors[0].max()),
        rms_error=float(np.sqrt(np.mean(errors[0] ** 2))),
        cases=[
            DecodeCase(
                tokens=one.tokens,
                slot=one.slot,
                data=one.kind,
                cycles=paced.cycles(one),
                full_rate_cycles=full.cycles(one),
                max_abs_error=float(error.max()),
            )
            for one, error in zip(paced.session.decoded, errors, strict=True)
        ],
    )
