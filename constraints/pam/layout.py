"""Where the KV tokens of PAM lie in its three tiers: the one definition that hardware and system models share.

A KV token here is K and V of one token of one head: ``token_bytes`` in all, K in the first half. Its place is a *group*
(a bank group of HBM or DDR, a channel of the SSD) and a *slot*, its number within the group. The map gives the bank,
row and columns of each of its bytes.

Source: PAM (MICRO 2025) section 6.1 and Table 1. Tokens are spread evenly over the banks of a group, at the same row
and column in every bank. The SSD interleaves pages. Table 1 gives the organisation. The paper leaves the order within a
bank open. Here it is the order in which the processing unit streams tokens (``PamPuConfig.address`` of
``constraints.pam.pu``): tile by tile. K is in the lower half of a bank's rows and V in the upper half.

All functions take integers or arrays and return int64 arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import Field, model_validator

from ..core.document import Strict
from ..core.errors import ConfigError

__all__ = ["ACCESS_DTYPE", "TIERS", "Place", "TierFormat", "slot_bytes"]

#: One access of a token: its place, and the bytes of the token that it carries (``offset`` counts to the first byte).
ACCESS_DTYPE = np.dtype(
    [("channel", "i4"), ("group", "i4"), ("bank", "i4"), ("row", "i8"), ("column", "i4"), ("offset", "i4")]
)


@dataclass(frozen=True)
class Place:
    """Bank of a token and its number there.

    Attributes
    ----------
    bank : bank (die in the SSD) within the group
    index : number of the token within the bank
    """

    bank: np.ndarray
    index: np.ndarray


class TierFormat(Strict):
    """How one tier stores tokens. Sizes are powers of two, so that an address is a choice of bits."""

    name: str = Field(description="tier")
    memory: str = Field(description="memory file of constraints/memory with its organisation and timing")
    channels: int = Field(ge=1, le=1 << 12, description="channels of a device")
    levels: Mapping[str, int] = Field(
        description="levels between channel and bank, outermost first; their product is "
        "the number of groups in a channel"
    )
    lockstep: int = Field(
        default=1, ge=1, description="groups (the innermost level) that share their commands and rows"
    )
    banks: int = Field(ge=1, le=64, description="banks (dies) of a group")
    rows: int = Field(ge=2, description="rows (pages) of a bank")
    row_bytes: int = Field(ge=1, description="bytes of a row (page) in one bank")
    access_bytes: int = Field(ge=1, description="bytes of one column access of one bank")
    tile_tokens: int = Field(ge=1, description="tokens of a tile of the processing unit")
    key_run: int = Field(ge=1, description="bytes of a K that lie together before the next token's follow")
    value_run: int = Field(ge=1, description="the same for a V")
    split: bool = Field(default=True, description="K in the lower half of the rows and V in the upper; else one run")
    interleave: int = Field(default=1, ge=1, description="consecutive slots in a bank before the next bank's turn")

    @model_validator(mode="after")
    def _check(self) -> TierFormat:
        numbers = {
            key: getattr(self, key)
            for key in (
                "channels",
                "lockstep",
                "banks",
                "rows",
                "row_bytes",
                "access_bytes",
                "tile_tokens",
                "key_run",
                "value_run",
                "interleave",
            )
        }
        for key, value in {**numbers, **{f"level {k}": v for k, v in self.levels.items()}}.items():
            if value < 1 or value & (value - 1):
                raise ValueError(f"{key} of the format '{self.name}' must be a power of two, not {value}")
        if self.access_bytes > self.row_bytes:
            raise ValueError(
                f"access_bytes of the format '{self.name}' must be at most its row_bytes "
                f"({self.row_bytes}), not {self.access_bytes}"
            )
        if self.lockstep > self.groups:
            raise ValueError(
                f"lockstep of the format '{self.name}' must be at most its {self.groups} groups, not {self.lockstep}"
            )
        return self

    # Organisation ------------------------------------------------------------------------------------------------

    @property
    def groups(self) -> int:
        """Groups of a channel."""
        return int(np.prod(list(self.levels.values()), dtype=np.int64))

    @property
    def columns(self) -> int:
        """Accesses of a row."""
        return self.row_bytes // self.access_bytes

    @property
    def bank_states(self) -> int:
        """Rows that a channel can hold open: one per bank, where banks in lockstep count once."""
        return self.groups // self.lockstep * self.banks

    def check_token(self, token_bytes: int) -> None:
        """Raise :exc:`ConfigError` unless tokens of this size lie in whole accesses and whole runs."""
        if token_bytes < 2 or token_bytes & (token_bytes - 1):
            raise ConfigError(f"token_bytes must be a power of two, not {token_bytes}")
        part = self.part_bytes(token_bytes)
        if part < self.access_bytes:
            raise ConfigError(
                f"token_bytes {token_bytes} is too small for the format '{self.name}': "
                f"{'K' if self.split else 'a token'} must fill an access of {self.access_bytes} bytes"
            )
        if self.interleave > self.slots_of_bank(token_bytes):
            raise ConfigError(
                f"interleave of the format '{self.name}' must be at most the tokens of a bank "
                f"({self.slots_of_bank(token_bytes)}), not {self.interleave}"
            )
        if self.tile_tokens * part * (1 + self.split) > self.rows * self.row_bytes:
            raise ConfigError(
                f"a tile of {self.tile_tokens} tokens of {token_bytes} bytes does not fit a bank of the "
                f"format '{self.name}' ({self.rows * self.row_bytes} bytes)"
            )

    def part_bytes(self, token_bytes: int) -> int:
        """Bytes of a token in each region: K, then V; or the whole token."""
        return token_bytes // 2 if self.split else token_bytes

    def parts(self) -> int:
        """Regions in which a token has bytes."""
        return 2 if self.split else 1

    def part_accesses(self, token_bytes: int) -> int:
        """Accesses of a token in each region."""
        return self.part_bytes(token_bytes) // self.access_bytes

    def accesses_of_token(self, token_bytes: int) -> int:
        return token_bytes // self.access_bytes

    def run(self, part: int, token_bytes: int) -> int:
        """Accesses of a token that lie together in region ``part`` (0: K or the whole token, 1: V)."""
        run = (self.key_run, self.value_run)[part] // self.access_bytes
        return min(max(run, 1), self.part_accesses(token_bytes))

    def region_rows(self) -> int:
        """Rows of each region of a bank."""
        return self.rows // self.parts()

    def slots_of_bank(self, token_bytes: int) -> int:
        """Tokens that a bank holds."""
        return self.region_rows() * self.row_bytes // self.part_bytes(token_bytes)

    def slots_of_group(self, token_bytes: int) -> int:
        """Tokens that a group holds."""
        return self.slots_of_bank(token_bytes) * self.banks

    def tokens_of_device(self, token_bytes: int) -> int:
        """Tokens that all channels hold."""
        return self.slots_of_group(token_bytes) * self.groups * self.channels

    # The map -----------------------------------------------------------------------------------------------------

    def split_group(self, group: Any) -> dict[str, np.ndarray]:
        """Index at each level of a flat group number, outermost level first."""
        rest, out = np.asarray(group, np.int64), {}
        for name, size in reversed(list(self.levels.items())):
            rest, out[name] = np.divmod(rest, size)
        return dict(reversed(list(out.items())))

    def place(self, slot: Any) -> Place:
        """Bank and number within the bank of a slot of a group: round robin over the banks, ``interleave`` at a time."""
        turn, low = np.divmod(np.asarray(slot, np.int64), self.interleave)
        high, bank = np.divmod(turn, self.banks)
        return Place(bank, high * self.interleave + low)

    def slot(self, bank: Any, index: Any) -> np.ndarray:
        """Inverse of :meth:`place`."""
        high, low = np.divmod(np.asarray(index, np.int64), self.interleave)
        return (high * self.banks + np.asarray(bank, np.int64)) * self.interleave + low

    def bank_state(self, group: Any, bank: Any) -> np.ndarray:
        """Which of a channel's ``bank_states`` a bank belongs to."""
        return np.asarray(group, np.int64) // self.lockstep * self.banks + np.asarray(bank, np.int64)

    def position(self, index: Any, access: Any, token_bytes: int) -> tuple[np.ndarray, np.ndarray]:
        """Row and column of access ``access`` of token ``index`` in its bank; accesses follow the token's bytes."""
        index, access = np.asarray(index, np.int64), np.asarray(access, np.int64)
        count, tile = self.part_accesses(token_bytes), self.tile_tokens
        part, inner = np.divmod(access, count)
        runs = np.array([self.run(p, token_bytes) for p in range(self.parts())], np.int64)[part]
        piece, low = np.divmod(inner, runs)
        block, token = np.divmod(index, tile)
        linear = (block * (count // runs) + piece) * tile * runs + token * runs + low
        row, column = np.divmod(linear, self.columns)
        return row + part * self.region_rows(), column

    def accesses(self, channel: Any, group: Any, slot: Any, token_bytes: int) -> np.ndarray:
        """Every access of tokens, in the order of their bytes: array of ``ACCESS_DTYPE`` of shape ``(tokens, accesses)``.

        Raises
        ------
        :exc:`ConfigError`
            If a location is outside the tier.
        """
        self.check_token(token_bytes)
        given = (np.atleast_1d(np.asarray(x, np.int64)) for x in (channel, group, slot))
        channel, group, slot = np.broadcast_arrays(*given)
        for name, value, limit in (
            ("channel", channel, self.channels),
            ("group", group, self.groups),
            ("slot", slot, self.slots_of_group(token_bytes)),
        ):
            if value.size and not (0 <= value.min() and value.max() < limit):
                raise ConfigError(
                    f"{name} of a token in the format '{self.name}' must be in 0..{limit - 1}, not "
                    f"{int(value.min()) if value.min() < 0 else int(value.max())}"
                )
        place = self.place(slot)
        order = np.arange(self.accesses_of_token(token_bytes))
        out = np.empty((len(slot), len(order)), ACCESS_DTYPE)
        out["channel"], out["group"], out["bank"] = channel[:, None], group[:, None], place.bank[:, None]
        out["row"], out["column"] = self.position(place.index[:, None], order[None, :], token_bytes)
        out["offset"] = order * self.access_bytes
        return out

    def byte_address(self, accesses: np.ndarray) -> np.ndarray:
        """A number for the first byte of each access, unique in a tier."""
        flat = (accesses["channel"].astype(np.int64) * self.groups + accesses["group"]) * self.banks + accesses["bank"]
        return ((flat * self.rows + accesses["row"]) * self.columns + accesses["column"]) * self.access_bytes


def slot_bytes(count: int) -> int:
    """Room of a slot for ``count`` bytes: the next power of two, so that an address stays a choice of bits."""
    return 1 << (count - 1).bit_length()


#: The paper's tiers (Table 1; organisation as in the memory files). The runs follow the stream order of the processing
#: units: K in slices of the query buffer (256 B in HBM, 64 B in DDR), V beat by beat. The eight chips of a DDR rank
#: receive the same commands. In the SSD a token lies in one piece (its unit takes it from the controller's buffer), 32
#: to a page.
TIERS: dict[str, TierFormat] = {
    f.name: f
    for f in (
        TierFormat(
            name="hbm",
            memory="hbm3-5.2",
            channels=16,
            levels={"pseudo_channel": 2, "rank": 2, "bank_group": 4},
            banks=4,
            rows=16384,
            row_bytes=1024,
            access_bytes=32,
            tile_tokens=32,
            key_run=256,
            value_run=32,
        ),
        TierFormat(
            name="ddr",
            memory="ddr4-3200",
            channels=1,
            levels={"rank": 2, "bank_group": 2, "chip": 8},
            lockstep=8,
            banks=4,
            rows=262144,
            row_bytes=1024,
            access_bytes=8,
            tile_tokens=16,
            key_run=64,
            value_run=8,
        ),
        TierFormat(
            name="ssd",
            memory="flash-nand",
            channels=64,
            levels={"channel": 1},
            banks=4,
            rows=4194304,
            row_bytes=16384,
            access_bytes=512,
            tile_tokens=1,
            key_run=16384,
            value_run=16384,
            split=False,
            interleave=32,
        ),
    )
}
