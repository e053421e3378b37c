"""Heads on further units whose simulations stay alive: AiM channels, INF2's engine and accelerator, LoL-PIM modules;
merges of PAM."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...constraints.aim.channel import AimChannelConfig
from ...constraints.core.errors import CheckFailed, ConfigError
from ...constraints.inf2.accelerator import Inf2AcceleratorConfig, Job
from ...constraints.inf2.gemv import Gemv, GemvMode, Inf2GemvConfig
from ...constraints.lolpim.module import LolPimModuleConfig
from ...constraints.memory import Memory
from ...constraints.pam.ru import PamRuConfig
from ...models.aim.channel import ChannelModel
from ...models.aim.program import gemv as channel_program
from ...models.inf2.gemv import gemv
from ...models.lolpim.head import ROWS
from ...models.pam.ru import Partial, Reduced
from ..aim.channel import stimulus as channel_stimulus
from ..aim.module import Rig
from ..bench.axi_shell import AxiRig
from ..bench.campaign import Stimulus
from ..bench.request import Part
from ..bench.streams import Items
from ..inf2.accelerator import Episode, Shard, _rig, _room
from ..inf2.accelerator import stimulus as accelerator_stimulus
from ..lolpim.module import Session
from ..lolpim.module import stimulus as module_stimulus
from ..pam.ru import Merge
from ..pam.ru import stimulus as merge_stimulus
from .pam import Bank, Named, Simulations
from .unit import Gather, LiveStep, LiveUnit

__all__ = ["LiveAimChannel", "LiveInf2Accelerator", "LiveInf2Gemv", "LiveLolPim", "LivePamRu", "Softmax"]

#: Bits of probabilities from the bits of the scores of a query.
Softmax = Callable[[np.ndarray], np.ndarray]


class Played(Simulations):
    """One simulation that plays the stimulus of a unit's bench, an episode a step."""

    @property
    def unit(self) -> LiveUnit:
        return self.units[0]

    def play(self, stimulus: Stimulus, named: Named, gathered: Mapping[str, Gather] | None = None) -> LiveStep:
        """Play the only episode of a stimulus and compare its outputs. ``gathered``: streams whose items are in the
        memory."""
        targets = {name: int(counts[0]) for name, counts in stimulus.targets.items()}
        self.unit.start(
            {**stimulus.items, **(gathered or {})}, targets, limit=2 * stimulus.limit(0.0), record=self.record(named)
        )

        def name(stream: str, at: int) -> str:
            part = stimulus.part(stream, 0, at) if stimulus.part else f"{stream} {at}"
            return f"{named}, {part}"

        step = self.finish(self.unit, stimulus.expected, name, named)
        self.figures.heads.add((named.layer, named.head))
        self.figures.tokens.add(named.token)
        return step


class LivePamRu(Played):
    """PAM's reduction unit, which merges partial results of its sources: ``pam-ru``."""

    def merge(self, sources: list[Partial], named: Named, *, normalise: bool) -> Reduced:
        """Merge partial results, of each source an array of them. What the RTL sends equals the returned bits."""
        config: PamRuConfig = self.part.config
        config.check_head_dim(int(sources[0].o.shape[-1]))
        merge = Merge(sources, normalise)
        result = merge.result(config)
        self.play(merge_stimulus(config, [[merge]], [result]), named)
        return result


@dataclass
class _Rows:
    """Keys and values of a bank, and the place of both in the memory."""

    base: int
    k: np.ndarray
    v: np.ndarray
    tokens: int = 0


class KeysAndValues(Played):
    """A unit whose bench memory holds keys and values of some heads. Each head has space for ``room`` tokens."""

    head_dim: int
    room: int

    def __init__(self, part: Part, head_dim: int, *, room: int = 2048, waves: Path | None = None) -> None:
        super().__init__(part, waves=waves)
        self.head_dim, self.room = head_dim, room
        self._banks: dict[Bank, _Rows] = {}

    #: Words of the memory that a head takes.
    size: int

    def store(self, rows: _Rows, tokens: np.ndarray) -> None:
        """Write the keys and values of some tokens."""
        raise NotImplementedError

    def append(self, bank: Bank, k: np.ndarray, v: np.ndarray) -> None:
        """Write keys and values of further tokens, bits of shape ``(tokens, head_dim)`` or ``(head_dim,)``."""
        rows = self._rows(bank)
        k, v = np.atleast_2d(k), np.atleast_2d(v)
        self._put(rows, np.arange(rows.tokens, rows.tokens + len(k)), k, v)
        rows.tokens += len(k)

    def hold(self, bank: Bank, k: np.ndarray, v: np.ndarray) -> None:
        """Make ``k`` and ``v`` the first tokens of a head. Only tokens that differ are written."""
        rows, known = self._rows(bank), min(self._rows(bank).tokens, len(k))
        differ = (rows.k[:known] != k[:known]).any(axis=1) | (rows.v[:known] != v[:known]).any(axis=1)
        mine = np.concatenate([np.flatnonzero(differ), np.arange(known, len(k))])
        if len(mine):
            self._put(rows, mine, k[mine], v[mine])
            rows.tokens = max(rows.tokens, len(k))

    def tokens(self, bank: Bank) -> int:
        return self._banks[bank].tokens if bank in self._banks else 0

    def _rows(self, bank: Bank) -> _Rows:
        if bank not in self._banks:
            k, v = (np.zeros((self.room, self.head_dim), np.int64) for _ in range(2))
            self._banks[bank] = _Rows(len(self._banks) * self.size, k, v)
        return self._banks[bank]

    def _put(self, rows: _Rows, tokens: np.ndarray, k: np.ndarray, v: np.ndarray) -> None:
        if len(tokens) and tokens[-1] >= self.room:
            raise ConfigError(f"{int(tokens[-1]) + 1} tokens are more than the {self.room} that there is room for")
        rows.k[tokens], rows.v[tokens] = k, v
        self.store(rows, tokens)


class LiveAimChannel(KeysAndValues):
    """Scores and outputs of heads on a channel of AiM memory: ``aim-channel``. Its banks hold the heads.

    Key t belongs to bank t modulo the banks, and dimension d of the values to bank d modulo the banks. Ones lie behind the
    values.
    The programs are :func:`bankside.models.aim.program.gemv`.
    """

    def __init__(self, part: Part, head_dim: int, *, room: int = 2048, waves: Path | None = None) -> None:
        config: AimChannelConfig = part.config
        fill = config.lanes * config.columns
        if not 1 <= head_dim <= fill:
            raise ConfigError(f"head dimension must be in 1..{fill}, the elements of the global buffer, not {head_dim}")
        super().__init__(part, head_dim, room=room, waves=waves)
        self.config, self.model = config, ChannelModel(config)
        banks, lanes = config.banks, config.lanes
        # Columns of a key, of all keys; of the values of a dimension, of all values.
        self._key, self._value = -(-head_dim // lanes), -(-room // lanes)
        self._keys = -(-room // banks) * self._key
        self._ones = self._keys + -(-head_dim // banks) * self._value
        self.size = self._ones + self._value

    def store(self, rows: _Rows, tokens: np.ndarray) -> None:
        banks, lanes, layout = self.config.banks, self.config.lanes, self.config.column_layout
        rounds = np.unique(tokens // banks)
        keys = np.zeros((-(-self.room // banks) * banks, self._key * lanes), np.int64)
        keys[: self.room, : self.head_dim] = rows.k
        columns = keys.reshape(-1, banks, self._key, lanes)[rounds].swapaxes(1, 2).reshape(-1, banks * lanes)
        self.unit.write(
            "bank", rows.base + (rounds[:, None] * self._key + np.arange(self._key)).ravel(), layout.pack({"": columns})
        )
        words = np.unique(tokens // lanes)
        values = np.zeros((-(-self.head_dim // banks) * banks, self._value * lanes), np.int64)
        values[: self.head_dim, : self.room] = rows.v.T
        columns = values.reshape(-1, banks, self._value, lanes).swapaxes(1, 2)[:, words]
        places = rows.base + self._keys + np.arange(len(columns))[:, None] * self._value + words
        self.unit.write("bank", places.ravel(), layout.pack({"": columns.reshape(-1, banks * lanes)}))
        ones = np.full((len(words), banks * lanes), self._one, np.int64)
        self.unit.write("bank", rows.base + self._ones + words, layout.pack({"": ones}))

    @property
    def _one(self) -> int:
        """Bits of 1."""
        return self.config.fmt.bias << self.config.fmt.fraction_bits

    def total(self, p: np.ndarray, bank: Bank, named: Named) -> int:
        """Bits of the sum of ``p``, from its product with the ones of a head."""
        ones = np.full((self.config.banks, len(p)), self._one, np.int64)
        return int(self._product(ones, p, self._rows(bank).base + self._ones, self._value, named)[0])

    def scores(self, bank: Bank, q: np.ndarray, tokens: int, named: Named) -> np.ndarray:
        """Bits of the scores of the first tokens of a head."""
        rows = self._rows(bank)
        return self._product(rows.k[:tokens], q, rows.base, self._key, named)

    def output(self, bank: Bank, p: np.ndarray, tokens: int, named: Named) -> np.ndarray:
        """Bits of the sum of the first tokens' values, weighted by ``p``."""
        rows = self._rows(bank)
        return self._product(rows.v[:tokens].T, p, rows.base + self._keys, self._value, named)

    def attend(self, bank: Bank, q: np.ndarray, tokens: int, named: Named, softmax: Softmax) -> np.ndarray:
        """Bits of the output of a query, with the softmax of another unit."""
        return self.output(bank, softmax(self.scores(bank, q, tokens, named)), tokens, named)

    def _product(self, weights: np.ndarray, inputs: np.ndarray, base: int, words: int, named: Named) -> np.ndarray:
        config, model = self.config, self.model
        model.results.clear()
        model.writes.clear()
        stimulus = channel_stimulus(config, model, [channel_program(config, weights, inputs)])
        # The same program on the places of the weights: bank 0's first element of every column has the column's place.
        outputs, length = weights.shape
        places = (np.arange(outputs)[:, None] // config.banks * words + np.arange(length) // config.lanes) + base
        steps = channel_program(config, places, inputs)
        addresses = np.concatenate([step.accesses[:, 0, 0] for step in steps if step.accesses is not None])
        step = self.play(stimulus, named, {"bank": Gather(addresses)})
        return config.word_layout.unpack(step.outputs["result"])[""].reshape(-1)[:outputs]


class LiveInf2Gemv(KeysAndValues):
    """Scores and outputs of heads on INF2's GEMV engine: ``inf2-gemv``. A row of a token is ``lanes`` elements long."""

    def __init__(self, part: Part, head_dim: int, *, room: int = 2048, waves: Path | None = None) -> None:
        config: Inf2GemvConfig = part.config
        for mode in GemvMode:
            config.check_command(Gemv(mode, room, head_dim))
        super().__init__(part, head_dim, room=room, waves=waves)
        self.config, self._row = config, config.tiles(head_dim)
        self.size = 2 * room * self._row

    def store(self, rows: _Rows, tokens: np.ndarray) -> None:
        config, lanes = self.config, self.config.lanes
        # The unit must not use elements behind the head's: they are all ones, which is a NaN.
        filled = np.full((2, len(tokens), self._row * lanes), (1 << config.io.width) - 1, np.int64)
        filled[:, :, : self.head_dim] = rows.k[tokens], rows.v[tokens]
        places = (
            np.arange(2)[:, None, None] * self.room * self._row + tokens[:, None] * self._row + np.arange(self._row)
        )
        payloads = config.beat_layout.pack({"": filled.reshape(-1, lanes)})
        for block in range(config.blocks):
            self.unit.write(f"matrix_{block}", rows.base + places.ravel(), payloads)

    def scores(self, bank: Bank, q: np.ndarray, tokens: int, named: Named) -> np.ndarray:
        """Bits of the scores of the first tokens of a head."""
        return self._product(bank, Gemv(GemvMode.QK, tokens, self.head_dim), q, named)

    def output(self, bank: Bank, p: np.ndarray, tokens: int, named: Named) -> np.ndarray:
        """Bits of the sum of the first tokens' values, weighted by ``p``."""
        return self._product(bank, Gemv(GemvMode.SV, tokens, self.head_dim), p, named)

    def attend(self, bank: Bank, q: np.ndarray, tokens: int, named: Named, softmax: Softmax) -> np.ndarray:
        """Bits of the output of a query, with the softmax of another unit."""
        return self.output(bank, softmax(self.scores(bank, q, tokens, named)), tokens, named)

    def _product(self, bank: Bank, command: Gemv, vector: np.ndarray, named: Named) -> np.ndarray:
        config, rows, lanes = self.config, self._rows(bank), self.config.lanes
        matrix = (rows.v if command.mode is GemvMode.SV else rows.k)[: command.tokens]
        base = rows.base + (self.room * self._row if command.mode is GemvMode.SV else 0)
        filled = np.full(config.tiles(command.terms) * lanes, (1 << config.io.width) - 1, np.int64)
        filled[: command.terms] = vector
        # The engine begins every command with another block: the commands before count too.
        items: dict[str, Items | Gather] = {
            "command": Items.of(
                config.command_layout.pack(
                    mode=np.array([command.mode], np.int64), tokens=command.tokens, head_dim=command.head_dim
                )
            )
        }
        before = Gemv(GemvMode.QK, max(self._tiles, 1) * lanes, 1) if self._tiles else None
        commands = [command] if before is None else [before, command]
        for block in range(config.blocks):
            beats = config.block_vectors(commands, block)
            beats = beats[beats[:, 0] == len(commands) - 1, 1]
            items[f"vector_{block}"] = Items.of(config.beat_layout.pack({"": filled.reshape(-1, lanes)[beats]}))
            place = config.block_rows(commands, block)
            place = place[place["command"] == len(commands) - 1]
            items[f"matrix_{block}"] = Gather(
                base + place["token"].astype(np.int64) * self._row + place["dim"] // lanes
            )
        result = gemv(config, command, vector, matrix).reshape(-1, lanes)
        last = (np.arange(len(result)) == len(result) - 1).astype(np.int64)
        expected = {"result": config.result_layout.pack(data=result, last=last)}
        self._tiles = (self._tiles + config.tiles(command.outputs)) % config.blocks
        self.unit.start(items, {"result": len(result)}, record=self.record(named))
        step = self.finish(
            self.unit,
            expected,
            lambda _, at: f"{named}, {command.mode.name} of {command.tokens} tokens, beat {at}",
            named,
        )
        self.figures.heads.add((named.layer, named.head))
        self.figures.tokens.add(named.token)
        return config.result_layout.unpack(step.outputs["result"])["data"].reshape(-1)[: command.outputs]

    #: Output tiles so far, modulo the blocks.
    _tiles = 0


class LiveInf2Accelerator(Played):
    """Attention of heads on INF2's accelerator, a job for each query: ``inf2-accelerator`` with memory and host. The memory
    gets the query, K and V of every job, as from a drive.

    Parameters
    ----------
    room : most tokens of a job
    memory : its pace bounds all accesses; None: a word in every clock
    """

    def __init__(
        self, part: Part, head_dim: int, *, room: int = 2048, memory: Memory | None = None, waves: Path | None = None
    ) -> None:
        config: Inf2AcceleratorConfig = part.config
        for mode in GemvMode:
            config.gemv.check_command(Gemv(mode, room, head_dim))
        self.config, self.head_dim, self.memory = config, head_dim, memory
        none = np.zeros(0, np.int64)
        self._words = _room(config, [Episode([Shard(Job(room, head_dim), none, none, none)])])
        self.rig = _rig(config, self._words)
        super().__init__(
            Part(
                _Rigged(self.rig, config.clock_mhz),
                self.rig.verilog(part.verilog, part.module),
                f"{part.module}_bench",
                part.latency,
            ),
            waves=waves,
        )
        self._held: dict[Bank, tuple[np.ndarray, np.ndarray]] = {}

    def hold(self, bank: Bank, k: np.ndarray, v: np.ndarray) -> None:
        """Make ``k`` and ``v``, bits of shape ``(tokens, head_dim)``, the tokens of a head."""
        self._held[bank] = k, v

    def attend(self, bank: Bank, q: np.ndarray, named: Named) -> np.ndarray:
        """Bits of the output of a query over all tokens of a head.

        Raises
        ------
        :exc:`CheckFailed`
            If the accelerator breaks a rule of AXI, or reads a word that has not come.
        """
        k, v = self._held[bank]
        episode = Episode([Shard(Job(len(k), self.head_dim), q, k, v)], dram=self.memory)
        step = self.play(accelerator_stimulus(self.config, [episode], room=self._words), named)
        [report] = self.rig.reports(step.outputs["report"])
        if report.violations or report.early:
            raise CheckFailed(
                f"{self.part.module}: {named}: {report.violations} violations of AXI's rules, {report.early} "
                "words read before they had come"
            )
        data = self.rig.written_layout.unpack(step.outputs["written"])["data"]
        return np.ascontiguousarray(data.astype(np.uint8)).view("<u2").reshape(-1)[: self.head_dim].astype(np.int64)


# LoL-PIM -----------------------------------------------------------------------------------------------------------------


class LiveSession(Session):
    """A host whose actions are simulated one episode at a time. What has been simulated is forgotten."""

    def forget(self) -> None:
        """Begin a new episode, and forget what the model did before."""
        self._close()
        model = self.model
        logs: list[list[Any]] = [
            model.dispatcher.issued,
            model.dispatcher.done,
            model.given,
            *model.read,
            *model.written,
            *model.commands,
            self.expanded,
            self.decoded,
            self.episodes,
        ]
        for log in logs:
            log.clear()
        self.begin()


class LiveLolPim(Played):
    """Attention of heads on a LoL-PIM module, a request for each: ``lol-pim-module`` with a memory at each channel.

    Parameters
    ----------
    room : tokens of each head
    heads : number of heads of keys and values
    memory : its timing gives the pace of the channels' memories; None: a step in every clock
    """

    def __init__(
        self,
        part: Part,
        head_dim: int,
        *,
        room: int = 2048,
        heads: int = 1,
        memory: Memory | None = None,
        waves: Path | None = None,
    ) -> None:
        config: LolPimModuleConfig = part.config
        self.config, self.memory = config, memory
        if heads > config.dispatcher.slots:
            raise ConfigError(f"a module has {config.dispatcher.slots} slots for heads, not {heads}")
        units, row = config.channels * config.channel.banks, config.channel.lanes * config.channel.columns
        chunk = row // head_dim * units if 1 <= head_dim <= row else 1
        rows = 1 << max(ROWS * heads * -(-room // chunk) + 1, 2).bit_length()
        if rows > 1 << config.dispatcher.row_bits:
            raise ConfigError(
                f"{heads} heads of {room} tokens need {rows} rows, but dispatcher.row_bits has "
                f"{1 << config.dispatcher.row_bits}"
            )
        self.session = LiveSession(config, head_dim, rows, np.random.default_rng(1))
        if room > self.session.head.most_tokens:
            raise ConfigError(
                f"the hub's registers hold the scores of {self.session.head.most_tokens} tokens, not of {room}"
            )
        rig = Rig(config, rows)
        super().__init__(
            Part(
                _Rigged(rig, config.clock_mhz),
                rig.verilog(part.verilog, part.module),
                f"{part.module}_bench",
                part.latency,
            ),
            waves=waves,
        )
        self._slots: dict[Bank, int] = {}

    def append(self, bank: Bank, k: np.ndarray, v: np.ndarray) -> None:
        """Add tokens to a head. The first ones are in the rows of the banks; the module writes later ones itself when
        it answers the next query."""
        k, v = np.atleast_2d(k), np.atleast_2d(v)
        if bank not in self._slots:
            self._slots[bank] = slot = len(self._slots)
            self.session.admit(slot, slot + 1, k, v)
            return
        for key, value in zip(k, v, strict=True):
            self.session.new_token(self._slots[bank], key, value)

    def hold(self, bank: Bank, k: np.ndarray, v: np.ndarray) -> None:
        """Make ``k`` and ``v`` the tokens of a head, by new tokens if they continue it, else as a new request."""
        if bank in self._slots:
            slot, session = self._slots[bank], self.session
            known = session.keys[slot], session.values[slot]
            if len(known[0]) <= len(k) and all(
                np.array_equal(a, b[: len(a)]) for a, b in zip(known, (k, v), strict=True)
            ):
                self.append(bank, k[len(known[0]) :], v[len(known[0]) :])
                return
            session.retire(slot)
            session.admit(slot, slot + 1, k, v)
            return
        self.append(bank, k, v)

    def tokens(self, bank: Bank) -> int:
        return len(self.session.keys[self._slots[bank]]) if bank in self._slots else 0

    def attend(self, bank: Bank, q: np.ndarray, named: Named) -> np.ndarray:
        """Bits of the output of a query over all tokens of a head."""
        self.session.ask(self._slots[bank], q)
        stimulus = module_stimulus(self.session, self.memory)
        step = self.play(stimulus, named)
        self.session.forget()
        return self.config.hub.word_layout.unpack(step.outputs["host_out"])[""].reshape(-1)


@dataclass(frozen=True)
class _Rigged:
    """The ports of a unit with its surroundings, and its clock."""

    rig: Rig | AxiRig
    clock_mhz: float

    def ports(self) -> Any:
        return self.rig.ports()
