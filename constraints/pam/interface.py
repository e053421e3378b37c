"""Parameters of PAM's interface for transfers of KV tokens between two memory tiers, and the presets of its six pairs.

Source: PAM (MICRO 2025) section 6.2 and Figure 8d: a command-reorder unit, a dual-port re-layout buffer and an
address-generation unit. The paper gives no sizes; those here are this project's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from pydantic import Field as Key
from pydantic import model_validator

from ..core.contract import Field, Layout, Port, Row, SimResult, Trial, Unit, UnitConfig, Workload, verdict_text
from ..core.document import Strict
from ..core.errors import ConfigError
from .layout import TIERS, TierFormat

__all__ = [
    "PRESETS",
    "SIDES",
    "UNIT",
    "Fragment",
    "MemorySide",
    "PamInterfaceConfig",
    "PamInterfaceResult",
    "PatternFigures",
    "TransferWorkload",
]


@dataclass(frozen=True)
class Fragment:
    """Accesses of a token that lie in one row.

    Attributes
    ----------
    part : region: 0 K (or the whole token), 1 V
    accesses : numbers of the accesses, in the order in which they are made
    """

    part: int
    accesses: tuple[int, ...]


class MemorySide(Strict):
    """One memory as the interface sees it: its map (as :class:`TierFormat`), its data port, and when its banks are ready.

    A mapping with a known ``format`` needs only the keys that differ from it.
    """

    format: str = Key(pattern=r"^[a-z][a-z0-9-]{0,31}$", description="name of the format: hbm, ddr, ssd, or a new one")
    port_bytes: int = Key(description="bytes of a beat of the data port, of each chip; an access is one or more beats")
    groups: int = Key(le=1 << 16, description="groups that the interface reaches, of all its channels")
    lockstep: int = Key(description="neighbouring groups that share commands and open rows")
    chips: int = Key(
        default=1,
        description="neighbouring groups that every command reaches, each with bytes of its own: "
        "the chips of a rank (then as many as lockstep), or 1",
    )
    banks: int = Key(le=64, description="banks (dies) of a group")
    rows: int = Key(le=1 << 32, description="rows (pages) of a bank")
    row_bytes: int = Key(le=1 << 24, description="bytes of a row (page)")
    access_bytes: int = Key(le=1 << 16, description="bytes of one command, in each chip")
    tile_tokens: int = Key(le=1 << 16, description="tokens of a tile")
    key_run: int = Key(le=1 << 20, description="bytes of a K that lie together")
    value_run: int = Key(le=1 << 20, description="bytes of a V that lie together")
    split: bool = Key(description="K and V in different halves of the rows")
    interleave: int = Key(le=1 << 16, description="slots in a bank before the next bank's turn")
    windows: int = Key(description="ranks: sets of neighbouring banks for which activations are counted")
    read_bank_cycles: int = Key(ge=1, le=1 << 20, description="clocks between openings in a bank, for reads (tRC)")
    write_bank_cycles: int = Key(ge=1, le=1 << 20, description="the same for writes")
    read_recovery_cycles: int = Key(
        ge=1, le=1 << 20, description="clocks from a row's last read to another row (tRTP, tRP)"
    )
    write_recovery_cycles: int = Key(ge=1, le=1 << 20, description="the same for writes (tCWL, burst, tWR, tRP)")
    activate_cycles: int = Key(ge=1, le=255, description="clocks between openings in a rank (tRRD)")
    window_cycles: int = Key(ge=0, le=1023, description="clocks in which a rank opens at most four rows (tFAW); 0: any")

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        if isinstance(value, str):
            value = {"format": value}
        if isinstance(value, dict) and isinstance(value.get("format"), str):
            if value["format"] in _SIDES:
                return {**_SIDES[value["format"]], **value}
            if len(value) == 1:
                raise ValueError(f"'{value['format']}' is no known format (valid: {', '.join(_SIDES)})")
        return value

    @model_validator(mode="after")
    def _check(self) -> MemorySide:
        for name in (
            "port_bytes",
            "groups",
            "lockstep",
            "banks",
            "rows",
            "row_bytes",
            "access_bytes",
            "tile_tokens",
            "key_run",
            "value_run",
            "interleave",
            "windows",
        ):
            value = getattr(self, name)
            if value < 1 or value & (value - 1):
                raise ValueError(f"{name} of '{self.format}' must be a power of two, not {value}")
        if self.rows < 2:
            raise ValueError(f"rows of '{self.format}' must be at least 2, not {self.rows}")
        if self.port_bytes > self.access_bytes:
            raise ValueError(
                f"port_bytes of '{self.format}' must be at most its access_bytes ({self.access_bytes}), "
                f"not {self.port_bytes}"
            )
        if self.chips not in (1, self.lockstep):
            raise ValueError(f"chips of '{self.format}' must be 1 or its lockstep ({self.lockstep}), not {self.chips}")
        if self.windows > self.bank_states:
            raise ValueError(
                f"windows of '{self.format}' must be at most its {self.bank_states} banks, not {self.windows}"
            )
        _ = self.layout  # its own conditions
        return self

    @property
    def layout(self) -> TierFormat:
        """The map. All groups are in one channel of it."""
        return TierFormat(
            name=self.format,
            memory=self.format,
            channels=1,
            levels={"group": self.groups},
            lockstep=self.lockstep,
            banks=self.banks,
            rows=self.rows,
            row_bytes=self.row_bytes,
            access_bytes=self.access_bytes,
            tile_tokens=self.tile_tokens,
            key_run=self.key_run,
            value_run=self.value_run,
            split=self.split,
            interleave=self.interleave,
        )

    @property
    def commands(self) -> MemorySide:
        """The same memory as commands see it: groups that one command reaches together are one group."""
        return self.model_copy(
            update={"groups": self.groups // self.chips, "lockstep": self.lockstep // self.chips, "chips": 1}
        )

    @property
    def bank_states(self) -> int:
        """Banks with a row of their own."""
        return max(1, self.groups // self.lockstep) * self.banks

    @property
    def columns(self) -> int:
        return self.row_bytes // self.access_bytes

    @property
    def beats(self) -> int:
        """Beats of one access."""
        return self.access_bytes // self.port_bytes

    @property
    def location_layout(self) -> Layout:
        """Place of an access."""
        return Layout.of(
            Field(
                "group",
                _bits(self.groups),
                "group (HBM: pseudo-channel, rank, bank group; DDR: rank, bank group; SSD: channel)",
            ),
            Field("bank", _bits(self.banks), "bank (die) in the group"),
            Field("row", _bits(self.rows), "row (page)"),
            Field("column", _bits(self.columns), "access within the row"),
        )

    def place_fields(self, token_bytes: int, prefix: str = "", what: str = "it is at") -> tuple[Field, Field]:
        """Where a token lies: its group and its slot there."""
        return (
            Field(f"{prefix}group", _bits(self.groups), f"group that {what}"),
            Field(f"{prefix}slot", _bits(self.layout.slots_of_group(token_bytes)), "its number in that group"),
        )

    def fragments(self, token_bytes: int) -> list[Fragment]:
        """The rows of a token in ascending order, each with its accesses."""
        return _fragments(self, token_bytes)


def _bits(size: int) -> int:
    """Bits of a field with values below ``size``."""
    return max(1, (size - 1).bit_length())


def _fragments(side: MemorySide, token_bytes: int) -> list[Fragment]:
    layout = side.layout
    count = layout.part_accesses(token_bytes)
    order = np.arange(layout.parts() * count)
    row, _ = layout.position(0, order, token_bytes)
    return [Fragment(int(order[row == r][0]) // count, tuple(order[row == r].tolist())) for r in np.unique(row)]


def _side(name: str, **more: Any) -> dict[str, Any]:
    tier = TIERS[name]
    same = {
        key: getattr(tier, key)
        for key in (
            "lockstep",
            "banks",
            "rows",
            "row_bytes",
            "access_bytes",
            "tile_tokens",
            "key_run",
            "value_run",
            "split",
            "interleave",
        )
    }
    return {"format": name, "groups": tier.groups, **same, **more}


#: One channel of each tier. Cycles are the times of the memory files at 1 GHz, rounded up: HBM nRC 63 (48.4 ns), nRRDS
#: 2 (1.5 ns), nFAW 39 (30.0 ns), nRTPL + nRP 27 (20.8 ns), nCWL + nBL + nWR + nRP 48 (36.9 ns); DDR nRC 76 (47.5 ns),
#: nRRDS 4 (2.5 ns), nFAW 26 (16.25 ns), nRTP + nRP 36 (22.5 ns), nCWL + nBL + nWR + nRP 68 (42.5 ns); flash tR 30 us
#: from page to page when reading. A page of flash is programmed (200 us) when another page of its die is asked for.
#: That request waits until no token has come for the page in the time that a whole page takes at the bus (16 KiB at 2.4
#: GB/s).
_SIDES: dict[str, dict[str, Any]] = {
    "hbm": _side(
        "hbm",
        port_bytes=32,
        windows=4,
        read_bank_cycles=49,
        write_bank_cycles=49,
        read_recovery_cycles=21,
        write_recovery_cycles=37,
        activate_cycles=2,
        window_cycles=30,
    ),
    "ddr": _side(
        "ddr",
        port_bytes=8,
        chips=8,
        windows=2,
        read_bank_cycles=48,
        write_bank_cycles=48,
        read_recovery_cycles=23,
        write_recovery_cycles=43,
        activate_cycles=3,
        window_cycles=17,
    ),
    "ssd": _side(
        "ssd",
        port_bytes=32,
        windows=1,
        read_bank_cycles=30_000,
        write_bank_cycles=1,
        read_recovery_cycles=1,
        write_recovery_cycles=6827,
        activate_cycles=1,
        window_cycles=0,
    ),
}

SIDES: dict[str, MemorySide] = {name: MemorySide.model_validate(values) for name, values in _SIDES.items()}


class PamInterfaceConfig(UnitConfig):
    """Parameters of the generator ``pam-interface``: KV tokens from the memory ``source`` to the memory ``destination``."""

    source: MemorySide = Key(default=SIDES["hbm"], description="memory that is read: a name or a mapping")
    destination: MemorySide = Key(default=SIDES["ddr"], description="memory that is written: a name or a mapping")
    token_bytes: int = Key(default=512, le=1 << 20, description="bytes of a KV token: K and V of one head")
    buffer_tokens: int = Key(default=128, ge=1, le=1024, description="tokens that the re-layout buffer holds")
    reorder_depth: int = Key(
        default=16,
        ge=1,
        le=64,
        description="reads among which the next is chosen: tokens, or bundles of tokens that share their commands",
    )
    write_depth: int = Key(default=16, ge=1, le=64, description="the same for writes")
    hit_limit: int = Key(default=64, ge=1, le=4096, description="row hits in succession while a row could be opened")
    reads_in_flight: int = Key(default=64, ge=1, le=4096, description="read commands whose data have not all come")
    tag_bits: int = Key(default=16, ge=1, le=64, description="width of the name that a descriptor gives its token")
    clock_mhz: float = Key(default=1000.0, gt=0, le=10000, strict=False, description="target clock")

    @model_validator(mode="after")
    def _check(self) -> PamInterfaceConfig:
        if self.source.chips > 1 and self.destination.chips > 1:
            raise ValueError("chips must be 1 of the source or of the destination")
        if self.buffer_tokens % self.chips:
            raise ValueError(f"buffer_tokens must be a multiple of the {self.chips} chips, not {self.buffer_tokens}")
        for side in (self.source, self.destination):
            try:
                side.layout.check_token(self.token_bytes)
            except ConfigError as error:
                raise ValueError(str(error)) from None
            rows = len(side.fragments(self.token_bytes))
            if rows > 64:
                raise ValueError(
                    f"a token of {self.token_bytes} bytes lies in {rows} rows of '{side.format}'; "
                    "at most 64 are handled"
                )
        return self

    @property
    def chips(self) -> int:
        """Tokens of a bundle: tokens at the same slot of groups that share their commands."""
        return max(self.source.chips, self.destination.chips)

    @property
    def bundles(self) -> int:
        """Bundles that the re-layout buffer holds."""
        return self.buffer_tokens // self.chips

    @property
    def word_bytes(self) -> int:
        """Width of the re-layout buffer for each chip: the width of the wider port."""
        return max(self.source.port_bytes, self.destination.port_bytes)

    @property
    def token_words(self) -> int:
        return self.token_bytes // self.word_bytes

    @property
    def buffer_bytes(self) -> int:
        return self.buffer_tokens * self.token_bytes

    # Ports ------------------------------------------------------------------------------------------------------------

    @property
    def descriptor_layout(self) -> Layout:
        """One token to move: its place in the source, its place in the destination, and a name for its completion."""
        more = (
            Field(
                "more", 1, "the next descriptor is of the same bundle: same commands in the memory with several chips"
            ),
        )
        return Layout.of(
            *self.source.place_fields(self.token_bytes, "source_", "it is read from"),
            *self.destination.place_fields(self.token_bytes, "destination_", "it is written to"),
            Field("tag", self.tag_bits, "name for its completion"),
            *(more if self.chips > 1 else ()),
        )

    @property
    def read_layout(self) -> Layout:
        """Place of a read."""
        return self.source.commands.location_layout

    @property
    def write_layout(self) -> Layout:
        """Place of a write, with its chips if a command reaches several."""
        side = self.destination
        chips = (Field("chips", side.chips, "chips that are written"),) if side.chips > 1 else ()
        return Layout.of(*side.commands.location_layout.fields, *chips)

    @property
    def beat_layout(self) -> Layout:
        """Beat of the data to write."""
        side = self.destination
        return Layout.of(
            Field("data", 8 * side.port_bytes * side.chips, "bytes, the first lowest"),
            Field("last", 1, "last beat of its command"),
        )

    def ports(self) -> tuple[Port, ...]:
        return (
            Port("descriptor", "in", self.descriptor_layout, "a KV token to move"),
            Port("read", "out", self.read_layout, "a read command"),
            Port(
                "read_data",
                "in",
                Layout.plain(8 * self.source.port_bytes * self.source.chips),
                "data read, first byte lowest, in the order of the commands",
            ),
            Port("write", "out", self.write_layout, "a write command"),
            Port("write_data", "out", self.beat_layout, "data to write, in the order of the commands"),
            Port("done", "out", Layout.plain(self.tag_bits), "tag of a token whose last beat has left"),
        )


#: Entries among which the schedulers choose. A token of HBM opens eight rows of one bank one after the other, so the
#: rate of a channel needs many tokens. Sixteen bundles fill the buffer. A page of flash has 32 tokens.
_DEPTH = {"hbm": 32, "ddr": 16, "ssd": 32}

#: Every ordered pair of tiers.
PRESETS: dict[str, PamInterfaceConfig] = {
    f"{a}-{b}": PamInterfaceConfig(
        source=SIDES[a], destination=SIDES[b], reorder_depth=_DEPTH[a], write_depth=_DEPTH[b]
    )
    for a, b in permutations(("hbm", "ddr", "ssd"), 2)
}


class TransferWorkload(Workload):
    """Transfers in several patterns."""

    tokens: int = Key(
        default=512, ge=1, le=1 << 20, description="tokens of each pattern; fewer where the memory is slow"
    )


class PatternFigures(Strict):
    """A pattern at full speed; times from the first descriptor offered to the last write in the memory."""

    tokens: int = Key(description="moved")
    time_ns: float = Key(description="from the first descriptor offered to the last write")
    gb_per_s: float = Key(description="throughput: bytes of the tokens over the time")
    source_own_ns: float = Key(description="the same accesses on the source alone, in its best order")
    destination_own_ns: float = Key(description="the same for the destination")
    fraction: float = Key(description="throughput as a share of the slower memory's own rate")
    first_done_ns: float = Key(description="until the first token is done")
    read_openings: int = Key(description="rows that were opened for reads")
    write_openings: int = Key(description="rows that were opened for writes")
    cpu_ns: float = Key(description="modelled time of the same transfer by the CPU")
    cpu_ratio: float = Key(description="`cpu_ns` over `time_ns`")


class PamInterfaceResult(SimResult):
    """Measurements of the bench of ``pam-interface``."""

    cycles: int = Key(description="of the pattern sequential")
    utilisation: float = Key(description="fraction of the pattern sequential")
    rate_fraction: float = Key(
        description="fraction of the pattern random, at most 1; a scheduler swaps tokens at random places"
    )
    patterns: dict[str, PatternFigures] = Key(description="each pattern of places, at full speed")
    cpu_quoted_ratio: float = Key(description="quoted time of the CPU path over the time of the pattern sequential")

    def figures(self, workload: Mapping[str, Any]) -> list[Row]:
        verdict = verdict_text(self, "every byte right, every command in the model's order", "DIFFER")
        return [
            ("compared", f"{self.vectors} writes in {len(self.runs)} runs: {verdict}"),
            *(
                (
                    name,
                    f"{p.tokens} tokens in {p.time_ns:.0f} ns, {p.gb_per_s:.3f} GB/s, {p.fraction:.3f} of the slower "
                    f"memory's own rate; the CPU path takes {p.cpu_ratio:.1f} times as long",
                )
                for name, p in self.patterns.items()
            ),
        ]


UNIT = Unit(
    "pam-interface",
    "transfer of KV tokens between memory tiers of different layout",
    "PAM (MICRO 2025) section 6.2",
    module="pam_interface",
    config=PamInterfaceConfig,
    presets=PRESETS,
    generator="bankside.gen.pam.interface:PamInterface",
    model="bankside.models.pam.interface:transfer",
    bench="bankside.cosim.pam.interface:bench",
    page="docs/pam/interface.md",
    workload=TransferWorkload,
    result=PamInterfaceResult,
    published=("ddr-ssd",),
    trial=Trial(
        {
            "source.groups": 2,
            "source.windows": 1,
            "destination.groups": 16,
            "destination.windows": 1,
            "reorder_depth": 8,
            "write_depth": 4,
            "buffer_tokens": 32,
            "reads_in_flight": 16,
        },
        {"tokens": 8},
    ),
)
