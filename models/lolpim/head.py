"""Attention of one head on a LoL-PIM module: places of keys and values, and programs that the dispatcher executes.

A chunk of tokens takes two rows in every bank: virtual rows ``2 n`` (keys) and ``2 n + 1`` (values) of its request.

- Keys: the tokens are spread over all banks, and a row holds all keys that fit into it
  (:class:`bankside.models.aim.operators.Score`, ``token``).
- Values: the head dimensions are spread over all banks. The tokens of the chunk lie along the row, one pass over the
  units behind the other.

The programs are the same for all requests and all numbers of tokens. Loops count by tokens, and operands follow the
newest token. In the last row of keys, keys beyond the newest token are multiplied too; the softmax does not read these
products. Values are read only up to the word that holds the newest token. So the row must hold finite numbers from the
newest token to the end of that word.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ...constraints.aim.encoding import mask_of
from ...constraints.core.errors import ConfigError
from ...constraints.lolpim.module import LolPimModuleConfig
from ..program import Program, Tokens

__all__ = ["Head"]

#: Rows of a bank that a chunk takes: keys and values.
ROWS = 2


@dataclass(frozen=True)
class Head:
    """One head of ``head_dim`` elements on all channels of a module.

    Attributes
    ----------
    zero, query, key, value, result, scores : registers of the hub, the first of each
    """

    config: LolPimModuleConfig
    head_dim: int

    def __post_init__(self) -> None:
        row = self.lanes * self.columns
        if self.head_dim & (self.head_dim - 1) or not self.units <= self.head_dim <= row:
            raise ConfigError(
                f"head dimension must be a power of two from {self.units}, the banks of the module, to "
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
        return self.head_dim // self.units

    @property
    def run(self) -> int:
        """Words that a chunk's tokens take in one dimension: columns of a row."""
        return self.chunk // self.lanes

    @property
    def mask(self) -> int:
        return self._mask(*range(self.config.channels))

    def _mask(self, *channels: int) -> int:
        return mask_of(channels, self.config.dispatcher.mask_bits)

    # ---- Registers of the hub: a zero, vectors of the head, scores -------------------------------------------------

    zero = 0

    @property
    def query(self) -> int:
        return 1

    @property
    def key(self) -> int:
        return 1 + self.words

    @property
    def value(self) -> int:
        return 1 + 2 * self.words

    @property
    def result(self) -> int:
        return 1 + 3 * self.words

    @property
    def scores(self) -> int:
        return 1 + 4 * self.words

    @property
    def most_tokens(self) -> int:
        """Greatest number of tokens whose scores fit the registers, in whole chunks."""
        hub = self.config.hub
        return min((hub.registers - self.scores) * self.lanes, hub.max_elements) // self.chunk * self.chunk

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
        column, element = divmod(token % self.chunk, self.lanes)
        return channel, bank, ROWS * (token // self.chunk) + 1, one * self.run + column, element

    # ---- Programs --------------------------------------------------------------------------------------------------

    def append(self, channel: int) -> Program:
        """Write key and value of the newest token from the host into the rows; the key belongs to ``channel``."""
        p, every = Program(), self.config.channels
        banks, row = self.config.channel.banks, ROWS * p.newest(self.chunk)
        p.command("WR_GPR", opsize=2 * self.words, gpr=self.key)
        with p.loop(self.words) as word:
            p.command(
                "WR_SBK",
                gpr=self.key + word,
                mask=self._mask(channel),
                bank=p.newest(1, banks),
                row=row,
                slot=0,
                column=self.words * p.newest(self.units, self.fit) + word,
            )
        for n in range(every):
            with p.loop(self.passes) as one:
                p.command(
                    "WR_ABK",
                    gpr=self.value + n + every * one,
                    mask=self._mask(n),
                    row=row + 1,
                    slot=0,
                    column=p.newest(self.lanes, self.run) + self.run * one,
                    element=p.newest(1, self.lanes),
                )
        return p

    @cached_property
    def attend(self) -> Program:
        """Take the query from the host, compute scores, softmax and weighted values, and send the result to the
        host."""
        p, every, mask = Program(), self.config.channels, self.mask
        p.command("WR_GPR", opsize=self.words, gpr=self.query)
        p.command("WR_GB", opsize=self.words, gpr=self.query, mask=mask)
        with p.loop(Tokens(self.chunk)) as chunk, p.loop(self.fit) as step:
            p.command("WR_BIAS", gpr=self.zero, mask=mask)
            p.command("MAC_ABK", opsize=self.words, mask=mask, row=ROWS * chunk, slot=0, column=self.words * step)
            p.command("RD_MAC", gpr=self.scores + every * (self.fit * chunk + step), mask=mask)
        p.command("SOFTMAX", opsize=1 + p.newest(), gpr0=self.scores, gpr1=self.scores)
        # The registers of a set limit the dimensions at a time. With fewer registers, the scores are sent more often.
        together = min(self.config.channel.registers_per_set, self.passes)
        with p.loop(self.passes // together) as group:
            with p.loop(together) as one:
                p.command("WR_BIAS", gpr=self.zero, mask=mask, register=one)
            first = group * (together * self.run)
            with p.loop(Tokens(self.chunk, -1)) as chunk:
                p.command("WR_GB", opsize=self.run, gpr=self.scores + self.run * chunk, mask=mask)
                with p.loop(together) as one:
                    p.command(
                        "MAC_ABK",
                        opsize=self.run,
                        mask=mask,
                        row=ROWS * chunk + 1,
                        slot=0,
                        column=first + self.run * one,
                        register=one,
                    )
            last, words = p.newest(self.chunk), 1 + p.newest(self.lanes, self.run)
            p.command("WR_GB", opsize=words, gpr=self.scores + self.run * last, mask=mask)
            with p.loop(together) as one:
                p.command(
                    "MAC_ABK",
                    opsize=words,
                    mask=mask,
                    row=ROWS * last + 1,
                    slot=0,
                    column=first + self.run * one,
                    register=one,
                )
            with p.loop(together) as one:
                p.command("RD_MAC", gpr=self.result + every * (together * group + one), mask=mask, register=one)
        p.command("RD_GPR", opsize=self.words, gpr=self.result)
        return p
