# amaranth: UnusedElaboratable=no
"""A bounded proof of ``pam-interface`` for small memories, of the first 20 clocks from reset: the stream rules, and
that every byte of any token is written once, at the address of the destination's map, before its tag is given."""

import numpy as np
import pytest
from amaranth import *
from amaranth.hdl import Assert, Assume, Cover

from bankside.constraints.pam.interface import MemorySide, PamInterfaceConfig
from bankside.gen.formal import StreamProtocol, prove
from bankside.gen.pam import interface as interface_module
from bankside.gen.pam.interface import PamInterface
from tests.planting import planted


def side(**fields):
    """A bank with rows for two tokens of two bytes."""
    return MemorySide(
        **{
            "format": "tiny",
            "port_bytes": 1,
            "groups": 1,
            "lockstep": 1,
            "banks": 1,
            "rows": 2,
            "row_bytes": 2,
            "access_bytes": 1,
            "tile_tokens": 1,
            "key_run": 1,
            "value_run": 1,
            "split": True,
            "interleave": 1,
            "windows": 1,
            "read_bank_cycles": 1,
            "write_bank_cycles": 1,
            "read_recovery_cycles": 1,
            "write_recovery_cycles": 1,
            "activate_cycles": 1,
            "window_cycles": 0,
            **fields,
        }
    )


def config(source, destination, **fields):
    return PamInterfaceConfig(
        source=source,
        destination=destination,
        **{
            "token_bytes": 2,
            "buffer_tokens": 2,
            "reorder_depth": 2,
            "write_depth": 1,
            "reads_in_flight": 2,
            "tag_bits": 1,
            "hit_limit": 1,
            **fields,
        },
    )


RUN = side(split=False, access_bytes=2)  # a token in one access of two beats


class InterfaceContract(StreamProtocol):
    """The unit between memories: a source whose every byte is its own address, and a destination that is watched.

    One token is followed: any whose destination is the constant ``goal`` and whose tag the constant ``tag``, both free. No
    other token has either. In ``addresses`` is, for each place of a memory, where the token's accesses go, from the map of
    ``constraints``, not that of the unit. ``config`` is what the unit should be, if not what it is.
    """

    def __init__(self, dut, config=None):
        super().__init__(dut)
        self.config = config or dut.config
        self.goal, self.tag = Signal(8), Signal(dut.config.tag_bits)
        self.ports += [self.goal, self.tag]

    @staticmethod
    def addresses(side, token_bytes):
        """Number of each access of each place, as (bank, row, column) in one number with the chip highest."""
        layout = side.layout
        slots = layout.slots_of_group(token_bytes)
        places = np.arange(side.groups * slots)
        accesses = layout.accesses(0, places // slots, places % slots, token_bytes)
        return layout.byte_address(accesses) // side.access_bytes

    def elaborate(self, platform):
        m = super().elaborate(platform)
        dut, config = self.dut, self.config
        source, destination, size = config.source, config.destination, config.token_bytes

        def number(side, place):
            """Of a command; the same numbers as those of ``addresses`` in the first chip."""
            bank = place.group * side.chips * side.banks + place.bank
            return (bank * side.rows + place.row) * side.columns + place.column

        def place(side, group, slot):
            return group * side.layout.slots_of_group(size) + slot

        def moves(port):
            return port.valid & port.ready

        # The constants are constant.
        goal, tag, first = Signal.like(self.goal), Signal.like(self.tag), Signal(init=1)
        m.d.sync += [goal.eq(self.goal), tag.eq(self.tag), first.eq(0)]
        m.d.comb += Assume(first | ((goal == self.goal) & (tag == self.tag)), "constants")
        descriptor = dut.descriptor.p
        target = place(destination, descriptor.destination_group, descriptor.destination_slot)
        mine, described = Signal(), Signal()
        m.d.comb += [
            mine.eq(target == self.goal),
            Assume(self.goal < destination.groups * destination.layout.slots_of_group(size), "the goal is a place"),
            Assume(
                (descriptor.source_group < source.groups) & (descriptor.destination_group < destination.groups),
                "places",
            ),
            Assume(~moves(dut.descriptor) | ((descriptor.tag == self.tag) == mine), "the tag is that of one token"),
            Assume(~moves(dut.descriptor) | ~mine | ~described, "nobody else writes there"),
        ]
        came_from = Signal(8)
        with m.If(moves(dut.descriptor) & mine):
            m.d.sync += [described.eq(1), came_from.eq(place(source, descriptor.source_group, descriptor.source_slot))]
        if config.chips > 1:
            # Tokens of a bundle share their slot and differ in their chips.
            before, used, more = Signal(8), Signal(config.chips), Signal()
            at = source if source.chips > 1 else destination
            group, slot = (
                (descriptor.source_group, descriptor.source_slot)
                if source.chips > 1
                else (descriptor.destination_group, descriptor.destination_slot)
            )
            chip = group[: config.chips.bit_length() - 1]
            shared = place(at.commands, group >> len(chip), slot)
            m.d.comb += Assume(
                ~more | ~moves(dut.descriptor) | ((shared == before) & ~used.bit_select(chip, 1)), "bundles"
            )
            with m.If(moves(dut.descriptor)):
                m.d.sync += [more.eq(descriptor.more), before.eq(shared), used.eq(Mux(more, used, 0) | (1 << chip))]

        # The source answers in order; what a byte holds is its address.
        depth = config.reads_in_flight + 1
        asked, level = Array(Signal(8, name=f"asked_{n}") for n in range(depth + 1)), Signal(range(depth + 2))
        answered, beat = Signal(), Signal(range(source.beats + 1))
        m.d.comb += answered.eq(moves(dut.read_data) & (beat == source.beats - 1))
        with m.If(moves(dut.read_data)):
            m.d.sync += beat.eq(Mux(answered, 0, beat + 1))
        m.d.sync += level.eq(level + moves(dut.read) - answered)
        with m.If(answered):
            m.d.sync += [one.eq(following) for one, following in zip(asked[:-1], asked[1:], strict=True)]
        with m.If(moves(dut.read)):
            m.d.sync += asked[(level - answered)[: len(level)]].eq(number(source, dut.read.p))
        held = Cat(
            (
                ((asked[0] + chip * source.banks * source.rows * source.columns) * source.beats + beat)
                * source.port_bytes
                + byte
            )[:8]
            for chip in range(source.chips)
            for byte in range(source.port_bytes)
        )
        m.d.comb += [
            Assume(~dut.read_data.valid | ((level != 0) & (dut.read_data.payload == held)), "the source's contents"),
            Assert(level <= depth, "no more reads are in flight than allowed"),
        ]

        # The followed token's accesses at the destination, and what is to be written there.
        to, chips = self.addresses(destination, size), destination.chips
        per_chip = destination.banks * destination.rows * destination.columns
        table = Array([Array(row) for row in (to % per_chip + to // per_chip // chips * chips * per_chip).tolist()])
        chip_of = Array((to[:, 0] // per_chip % chips).tolist())
        contents = Array(
            [
                int.from_bytes(
                    bytes(int(a) * source.access_bytes + k & 255 for a in row for k in range(source.access_bytes)),
                    "little",
                )
                for row in self.addresses(source, size)
            ]
        )
        accesses = destination.layout.accesses_of_token(size)
        wanted = Signal(8 * size)
        m.d.comb += wanted.eq(contents[came_from])
        enabled = dut.write.p.chips.bit_select(chip_of[self.goal], 1) if chips > 1 else Const(1)
        hit, written, commanded = Signal(accesses), Signal(accesses), Signal(accesses)
        m.d.comb += [
            hit[k].eq(moves(dut.write) & enabled & (number(destination, dut.write.p) == table[self.goal][k]))
            for k in range(accesses)
        ]
        m.d.sync += commanded.eq(commanded | hit)
        m.d.comb += [
            Assert(~hit.any() | described, "nothing is written where no token goes"),
            Assert((hit & commanded) == 0, "no address is written twice"),
        ]

        # Data follow the commands in order.
        room = 6
        due, waiting = Array(Signal(accesses, name=f"due_{n}") for n in range(room + 1)), Signal(range(room + 2))
        out_beat, out_last = Signal(range(destination.beats + 1)), Signal()
        m.d.comb += out_last.eq(moves(dut.write_data) & dut.write_data.p.last)
        with m.If(moves(dut.write_data)):
            m.d.sync += out_beat.eq(Mux(out_last, 0, out_beat + 1))
        m.d.sync += waiting.eq(waiting + moves(dut.write) - out_last)
        with m.If(out_last):
            m.d.sync += [one.eq(following) for one, following in zip(due[:-1], due[1:], strict=True)]
            m.d.sync += written.eq(written | due[0])
        with m.If(moves(dut.write)):
            m.d.sync += due[(waiting - out_last)[: len(waiting)]].eq(hit)
        width = 8 * destination.port_bytes
        got = dut.write_data.p.data.word_select(chip_of[self.goal], width)
        m.d.comb += [
            Assert(waiting <= room, "commands do not run ahead of their data"),
            Assert(~dut.write_data.valid | (waiting != 0), "data come after their command"),
            Assert(
                ~dut.write_data.valid | (dut.write_data.p.last == (out_beat == destination.beats - 1)),
                "last is on the last beat",
            ),
            *(
                Assert(
                    ~(dut.write_data.valid & due[0][k])
                    | (got == wanted.word_select((k * destination.beats + out_beat)[:8], width)),
                    "what is written are the token's bytes",
                )
                for k in range(accesses)
            ),
        ]

        ended = Signal()
        m.d.comb += [
            Assert(
                ~(dut.done.valid & (dut.done.payload == self.tag)) | (written.all() & ~ended),
                "the tag comes once, after every byte",
            ),
            Cover(moves(dut.done) & (dut.done.payload == self.tag), "the followed token is done"),
        ]
        with m.If(moves(dut.done) & (dut.done.payload == self.tag)):
            m.d.sync += ended.eq(1)
        return m


#: Two chips that every command reaches, so that two tokens at the same slot are a bundle.
RANK = side(groups=2, lockstep=2, chips=2, split=False, access_bytes=2)

CONFIGS = {"bytes-to-run": config(side(), RUN), "run-to-rank": config(RUN, RANK), "rank-to-run": config(RANK, RUN)}


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFIGS)
def test_bounded_proof(name):
    """Tokens by themselves; bundles at the receiver; bundles at the sender."""
    result = prove(InterfaceContract(PamInterface(CONFIGS[name])), depth=20, induction=1, timeout_s=900)
    assert result.status in ("bounded", "proved") and result.depth >= 20, result
    assert not result.unreached


@pytest.mark.slow
def test_a_wrong_row_is_found():
    """A unit that looks for K and V of a token in two rows, of a memory that has them in one: the bit that should be the
    column is the row, and the other way round."""
    right = config(side(split=False), RUN)
    result = prove(InterfaceContract(PamInterface(CONFIGS["bytes-to-run"]), right), depth=20, induction=1)
    assert result.status == "counterexample", result
    assert any("what is written are the token's bytes" in one for one in result.failing)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "old", "new", "failing"),
    [
        (
            "run-to-rank",
            "self.write.p.chips.eq(places.held[receiver.o.p.ref.place.bundle])",
            "self.write.p.chips.eq(-1)",
            "nothing is written where no token goes",
        ),
        ("rank-to-run", "[following.chip.eq(chip), complete", "[complete", ""),
    ],
)
def test_errors_in_bundles_are_found(name, old, new, failing):
    """Chips that are written though the bundle has no token for them; tokens of a bundle that all go where one does."""
    unit = planted(interface_module, old, new).PamInterface(CONFIGS[name])
    result = prove(InterfaceContract(unit), depth=20, induction=1, timeout_s=900)
    assert result.status == "counterexample", result
    assert any(failing in one for one in result.failing), result
