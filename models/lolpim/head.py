"""Attention of one head on a LoL-PIM module: places of keys and values, and programs that the dispatcher executes.

A chunk of tokens takes two rows in every bank: virtual rows ``2 n`` (keys) and ``2 n + 1`` (values) of its request. The
programs are the operators of :mod:`bankside.models.aim.operators` that the system times, with SOFTMAX between them.

- Keys: the tokens are spread over all banks, and a row holds all keys that fit into it (``Score``, ``token``).
- Values: the head dimensions are spread over the banks. The tokens of the chunk lie along the row, one dimension of a unit
  behind the other. With fewer dimensions than banks, the tokens of the chunk are cut into parts (``Context``, ``token``).

The programs are the same for all requests and all numbers of tokens. Loops count by tokens, and operands follow the
newest token. In the last row of keys, keys beyond the newest token are multiplied too; the softmax does not read these
products. With one part, values are read only up to the word that holds the newest token. So the row must hold finite
numbers from the newest token to the end of that word. With several parts, whole runs are read, and all of the row must hold
finite numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...constraints.aim.encoding import COMMANDS
from ...constraints.core.errors import ConfigError
from ...constraints.lolpim.module import LolPimModuleConfig
from ..aim.operators import Context, Module, Score
from ..memory.aim import INSTRUCTIONS
from ..program import Program
from ..program.encoding import encode_program
from ..program.nodes import simplified
from .dispatcher import Dispatcher
from .host import load, set_request, start

__all__ = ["Head", "dispatched", "issued_steps"]

#: Rows of a bank that a chunk takes: keys and values.
ROWS = 2


@dataclass(frozen=True)
class Head:
    """One head of ``head_dim`` elements on all channels of a module, for ``group`` queries.

    Attributes
    ----------
    zero, query, key, value, result, scores : registers of the hub, the first of each
    """

    config: LolPimModuleConfig
    head_dim: int
    group: int = 1

    def __post_init__(self) -> None:
        row = self.lanes * self.columns
        least = self.config.channel.banks
        if self.head_dim & (self.head_dim - 1) or not least <= self.head_dim <= row:
            raise ConfigError(
                f"head dimension must be a power of two from {least}, the banks of a channel, to "
                f"{row}, the elements of a row, not {self.head_dim}"
            )
        if self.units & (self.units - 1):
            raise ConfigError(f"channels must be a power of two, not {self.config.channels}")
        if self.most_tokens < 1:
            raise ConfigError(
                f"the hub's {self.config.hub.registers} registers do not hold the scores of a chunk of "
                f"{self.chunk} tokens"
            )

    # ---- Sizes -----------------------------------------------------------------------------------------------------

    @property
    def lanes(self) -> int:
        return self.config.hub.lanes

    @property
    def columns(self) -> int:
        """Columns of a row, and words of the global buffer."""
        return self.config.channel.columns

    @property
    def units(self) -> int:
        """Banks of the module."""
        return self.config.channels * self.config.channel.banks

    @property
    def words(self) -> int:
        """Words of a vector of the head."""
        return self.head_dim // self.lanes

    @property
    def fit(self) -> int:
        """Keys that share a row of a bank."""
        return self.columns // self.words

    @property
    def chunk(self) -> int:
        """Tokens of a chunk."""
        return self.fit * self.units

    @property
    def passes(self) -> int:
        """Dimensions that a bank holds."""
        return max(self.head_dim // self.units, 1)

    @property
    def parts(self) -> int:
        """Parts of a chunk's tokens, each with the dimensions of the head on channels of its own."""
        return max(self.units // self.head_dim, 1)

    @property
    def run(self) -> int:
        """Words that a part's tokens of a chunk take in one dimension: columns of a row."""
        return self.chunk // self.parts // self.lanes

    @property
    def module(self) -> Module:
        channel = self.config.channel
        return Module(
            self.config.channels,
            channel.banks,
            self.lanes,
            self.lanes * self.columns,
            registers=channel.registers_per_set,
            mask_bits=self.config.dispatcher.mask_bits,
        )

    # ---- Registers of the hub: a zero, vectors of the head, scores -------------------------------------------------

    zero = 0

    @property
    def query(self) -> int:
        return 1

    @property
    def key(self) -> int:
        return 1 + self.group * self.words

    @property
    def value(self) -> int:
        return self.key + self.words

    @property
    def result(self) -> int:
        return self.value + self.words

    @property
    def result_words(self) -> int:
        """Registers of a query's results, of all parts."""
        return self.passes * self.config.channels

    @property
    def scores(self) -> int:
        return self.result + self.group * self.result_words

    @property
    def query_scores(self) -> int:
        """Registers for the scores of a query."""
        return (self.config.hub.registers - self.scores) // self.group

    @property
    def most_tokens(self) -> int:
        """Greatest number of tokens whose scores fit the registers, in whole chunks."""
        hub = self.config.hub
        behind = self.chunk // self.lanes + self.config.channels if self.parts > 1 else 0
        return min((self.query_scores - behind) * self.lanes, hub.max_elements) // self.chunk * self.chunk

    # ---- Places ----------------------------------------------------------------------------------------------------

    def place_key(self, token: int) -> tuple[int, int, int, int]:
        """Channel, bank, virtual row and first column of a key."""
        step, unit = divmod(token, self.units)
        channel, bank = divmod(unit, self.config.channel.banks)
        return channel, bank, ROWS * (step // self.fit), step % self.fit * self.words

    def place_value(self, token: int, dim: int) -> tuple[int, int, int, int, int]:
        """Channel, bank, virtual row, column and element of a value."""
        one, unit = divmod(dim, self.units)
        channel, bank = divmod(unit, self.config.channel.banks)
        column, element = divmod(token % (self.run * self.lanes), self.lanes)
        channel += self.part(token) * (self.config.channels // self.parts)
        return channel, bank, ROWS * (token // self.chunk) + 1, one * self.run + column, element

    def part(self, token: int) -> int:
        """Part of its chunk that holds a token's value."""
        return token // (self.run * self.lanes) % self.parts

    # ---- Programs --------------------------------------------------------------------------------------------------

    def append(self, channel: int, part: int = 0) -> Program:
        """Write key and value of the newest token from the host into the rows. The key belongs to ``channel``, the value to
        ``part``."""
        p, module, each = Program(), self.module, self.config.channels // self.parts
        banks, row = self.config.channel.banks, ROWS * p.newest(self.chunk)
        p.command("WR_GPR", opsize=2 * self.words, gpr=self.key)
        with p.loop(self.words) as word:
            p.command(
                "WR_SBK",
                gpr=self.key + word,
                mask=module.mask_of(1, channel),
                bank=p.newest(1, banks),
                row=row,
                slot=0,
                column=self.words * p.newest(self.units, self.fit) + word,
            )
        for n in range(each):
            with p.loop(self.passes) as one:
                p.command(
                    "WR_ABK",
                    gpr=self.value + n + each * one,
                    mask=module.mask_of(1, part * each + n),
                    row=row + 1,
                    slot=0,
                    column=p.newest(self.lanes, self.run) + self.run * one,
                    element=p.newest(1, self.lanes),
                )
        return p

    @cached_property
    def _common(self) -> dict[str, Any]:
        """Fields of both operators."""
        return {
            "group": self.group,
            "stride": ROWS,
            "by_tokens": True,
            "zero": self.zero,
            "double": self.config.channel.sets > 1,
            "scores": self.query_scores,
            "run": self.run * self.lanes,
        }

    def score(self, tokens: int = 1) -> Score:
        """Products of the queries with the keys. ``tokens``: for which the program is timed."""
        shape = (self.module, "token", tokens, self.head_dim)
        return Score(*shape, source=self.query, target=self.scores, **self._common)  # type: ignore[arg-type]

    def context(self, tokens: int = 1) -> Context:
        """Products of the probabilities with the values. ``tokens``: for which the program is timed."""
        shape = (self.module, "token", tokens, self.head_dim)
        return Context(
            *shape,  # type: ignore[arg-type]
            base=1,
            source=self.scores,
            target=self.result,
            shared=self.passes > 1,
            **self._common,
        )

    @cached_property
    def attend(self) -> Program:
        """Take the queries from the host, compute scores, softmax and weighted values, and send the results to the
        host."""
        p = Program()
        p.command("WR_GPR", opsize=self.group * self.words, gpr=self.query)
        p.extend(self.score().program)
        with p.loop(self.group) as query:
            at = self.scores + self.query_scores * query
            p.command("SOFTMAX", opsize=1 + p.newest(), gpr0=at, gpr1=at)
        p.extend(self.context().program)
        with p.loop(self.group) as query:
            p.command("RD_GPR", opsize=self.words, gpr=self.result + self.result_words * query)
        return Program(simplified(p.body))


def dispatched(head: Head, tokens: int) -> list[tuple[str, dict[str, int]]]:
    """Commands that the dispatcher issues for the attention of a request, from the words of the head's program."""
    config = head.config.dispatcher
    dispatcher, rows = Dispatcher(config), ROWS * -(-tokens // head.chunk)
    for address, data in (
        *load(config, encode_program(head.attend, config.encoding)),
        *set_request(config, 0, 1, tokens, 0, range(rows)),
        start(config),
    ):
        dispatcher.write(address, data)
    names = {command.code: name for name, command in COMMANDS.items()}
    found = [dict(zip(config.command_layout.widths, values, strict=True)) for values in dispatcher.issued]
    return [(names[one["op"]], one) for one in found]


def issued_steps(commands: Iterable[tuple[str, Mapping[str, int]]]) -> list[tuple[str, int, int, int | None]]:
    """What decides the time of commands of the memory: name, accesses, channels and row. Rows are numbered as they come."""
    rows: dict[int, int] = {}
    out = []
    for op, at in commands:
        if op in INSTRUCTIONS and INSTRUCTIONS[op].command is not None:
            fields = INSTRUCTIONS[op].fields
            row = rows.setdefault(at["row"], len(rows)) if "row" in fields else None
            out.append((op, at["opsize"] if "opsize" in fields else 1, at["mask"], row))
    return out
