# amaranth: UnusedElaboratable=no
"""The transposing buffer: every element where it belongs, no lost cycle, and a proof of both for small sizes."""

import numpy as np
import pytest
from amaranth import *
from amaranth.hdl import Assert, Assume, Cover
from amaranth.sim import Simulator

from bankside.gen.blocks import transpose as transpose_module
from bankside.gen.blocks.transpose import TransposeBuffer
from bankside.gen.formal import StreamProtocol, prove
from tests.gen.pam.test_pu_formal import messages
from tests.planting import planted


def columns_of(dut, tiles, *, stalls=(0.0, 0.0), seed=0):
    """Columns that leave for tiles given as ``(array of rows, number of columns)``, and the cycles in which they do."""
    size, rng = dut.size, np.random.default_rng(seed)
    rows = [(row.tolist(), columns, n == len(tile) - 1) for tile, columns in tiles for n, row in enumerate(tile)]
    wanted = sum(columns for _, columns in tiles)
    got, cycles = [], []

    async def feed(ctx):
        for row, columns, last in rows:
            while rng.random() < stalls[0]:
                await ctx.tick()
            ctx.set(dut.i.payload, {"row": row, "columns": columns, "last": last})
            ctx.set(dut.i.valid, 1)
            await ctx.tick().until(dut.i.ready)
            ctx.set(dut.i.valid, 0)

    async def take(ctx):
        cycle = 0
        while len(got) < wanted:
            ctx.set(dut.o.ready, int(rng.random() >= stalls[1]))
            _, _, valid, ready, item = await ctx.tick().sample(dut.o.valid, dut.o.ready, dut.o.payload)
            cycle += 1
            if valid and ready:
                got.append(([int(item.column[n]) for n in range(size)], int(item.rows), int(item.last)))
                cycles.append(cycle)

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(feed)
    simulator.add_testbench(take)
    simulator.run_until(1e-6 * 200 * (len(rows) + wanted))
    return got, cycles


def expected(size, tiles):
    out = []
    for tile, columns in tiles:
        whole = np.zeros((size, size), int)
        whole[: len(tile)] = tile
        out += [(whole[:, n].tolist(), len(tile), int(n == columns - 1)) for n in range(columns)]
    return out


def random_tiles(size, count, rng):
    def some():
        return size if rng.random() < 0.4 else int(rng.integers(1, size + 1))

    return [(rng.integers(0, 256, (some(), size)), some()) for _ in range(count)]


@pytest.mark.parametrize("size", [2, 4, 8])
@pytest.mark.parametrize("stalls", [(0.0, 0.0), (0.5, 0.0), (0.0, 0.5), (0.4, 0.4)])
def test_columns_of_tiles_of_any_size(size, stalls):
    tiles = random_tiles(size, 24, np.random.default_rng(size))
    got, _ = columns_of(TransposeBuffer(8, size), tiles, stalls=stalls, seed=3)
    assert got == expected(size, tiles)


def test_whole_tiles_cost_no_cycle():
    """Tiles of 8 rows and columns leave at a column per cycle. The first one leaves after its rows and the latency."""
    rng = np.random.default_rng(1)
    tiles = [(rng.integers(0, 256, (8, 8)), 8) for _ in range(6)]
    got, cycles = columns_of(TransposeBuffer(8, 8), tiles)
    assert got == expected(8, tiles)
    assert cycles == list(range(8 + TransposeBuffer.LATENCY, 8 + TransposeBuffer.LATENCY + 48))


@pytest.mark.parametrize(("rows", "columns", "period"), [(3, 8, 8), (8, 3, 8), (3, 5, 5), (5, 3, 5)])
def test_partial_tiles_cost_their_rows_or_columns(rows, columns, period):
    rng = np.random.default_rng(2)
    tiles = [(rng.integers(0, 256, (rows, 8)), columns) for _ in range(9)]
    _, cycles = columns_of(TransposeBuffer(8, 8), tiles)
    starts = cycles[::columns]
    assert (np.diff(starts)[2:] == period).all()


@pytest.mark.parametrize("size", [0, 1, 3, 12])
def test_sizes_that_do_not_work(size):
    with pytest.raises(ValueError, match="power of two from 2 on"):
        TransposeBuffer(8, size)


class TransposeContract(StreamProtocol):
    """Every column of every tile leaves once, in order, with its elements; element (r, c) stands for any element.

    The proof follows two free numbers. It keeps the element of the tile whose rows come, of the tile whose columns are
    read, and of the column that has been read. What leaves the memories passes a stream register, which has a proof of
    its own.
    """

    def __init__(self, dut):
        super().__init__(dut, covers={"a tile begins": dut.probe.reads & (dut.probe.reading == 0)})
        size = dut.size
        self.element = Signal(range(size)), Signal(range(size))
        self.ports += self.element

    def elaborate(self, platform):
        m = super().elaborate(platform)
        dut, size, probe = self.dut, self.dut.size, self.dut.probe
        r, c = self.element
        before, started = Signal(2 * len(r)), Signal()
        m.d.sync += [before.eq(Cat(r, c)), started.eq(1)]
        m.d.comb += [
            probe.row.eq(r),
            probe.column.eq(c),
            Assume(~started | (before == Cat(r, c)), "the element stays the same"),
        ]
        i = dut.i.p
        m.d.comb += Assume(~dut.i.valid | ((i.columns != 0) & (i.columns <= size)), "a tile has 1 to size columns")

        accept = dut.i.valid & dut.i.ready
        count = range(size + 1)
        come, whole, rows, columns = Signal(count), Signal(), Signal(count), Signal(count)
        value = Signal.like(probe.read)
        reading, left, read_rows, read_value = Signal(), Signal(count), Signal(count), Signal.like(value)
        column = Signal(range(size))
        held, held_rows, held_last, held_hit, held_value = (
            Signal(),
            Signal(count),
            Signal(),
            Signal(),
            Signal.like(value),
        )
        stage = probe.stage

        closes = accept & (i.last | (come == size - 1))
        now_value = Mux(accept & (come == r), Value.cast(i.row).word_select(c, len(value)), value)
        with m.If(accept):
            m.d.sync += [come.eq(come + 1), value.eq(now_value)]
        with m.If(closes):
            m.d.sync += [whole.eq(1), rows.eq(come + 1), columns.eq(i.columns)]
        ends = probe.reads & (left == 1)
        with m.If(probe.reads):
            m.d.sync += [left.eq(left - 1), column.eq(column + 1)]
        with m.If(ends | ~reading):
            m.d.sync += reading.eq(0)
            with m.If(whole | closes):
                m.d.sync += [
                    reading.eq(1),
                    whole.eq(0),
                    come.eq(0),
                    column.eq(0),
                    read_value.eq(now_value),
                    left.eq(Mux(whole, columns, i.columns)),
                    read_rows.eq(Mux(whole, rows, come + 1)),
                ]
        with m.If(probe.reads):
            m.d.sync += [
                held.eq(1),
                held_rows.eq(read_rows),
                held_last.eq(left == 1),
                held_hit.eq(column == c),
                held_value.eq(read_value),
            ]
        with m.Elif(stage.ready):
            m.d.sync += held.eq(0)

        item = stage.p
        m.d.comb += [
            Assert(~probe.reads | reading, "a column that is read belongs to a whole tile"),
            Assert(~probe.reads | ~held | stage.ready, "no column is overwritten"),
            Assert(stage.valid == held, "a column that was read is offered until it leaves"),
            Assert(
                ~held | ((item.rows == held_rows) & (item.last == held_last)),
                "a column has its tile's rows, and an end",
            ),
            Assert(
                ~(held & held_hit)
                | (Value.cast(item.column).word_select(r, len(value)) == Mux(r < held_rows, held_value, 0)),
                "an element is where it belongs",
            ),
            Assert(~(reading & (held == 0)) | probe.reads, "a column is read as soon as there is room"),
            # The same machine seen from the inside, for induction.
            Assert(probe.active == reading, "inside: a tile is read"),
            Assert(
                ~reading
                | (
                    (probe.reading == column)
                    & (probe.columns == column + left)
                    & (left != 0)
                    & (probe.rows == read_rows)
                    & (probe.columns <= size)
                ),
                "inside: the tile that is read",
            ),
            Assert(probe.full == whole, "inside: the next tile is whole"),
            Assert(probe.writing == come[: len(probe.writing)], "inside: the next row"),
            Assert(whole | (come < size), "inside: a tile that is not whole has room"),
            Assert(
                ~whole
                | (
                    (probe.next_rows == rows)
                    & (probe.next_columns == columns)
                    & (come == rows)
                    & (rows <= size)
                    & (columns != 0)
                    & (columns <= size)
                ),
                "inside: the next tile",
            ),
            Assert(~whole | reading, "inside: a whole tile waits for another"),
            Assert(
                ~reading
                | (come <= column)
                | (come > column) & (column + left <= come)
                | (come == 0)
                | (column + left < size),
                "inside: rows take places that are free",
            ),
            Assert(
                ~(reading & (r < read_rows) & (c >= column) & (c < column + left)) | (probe.read == read_value),
                "inside: the element of the tile that is read",
            ),
            Assert(~(r < come) | (probe.written == value), "inside: the element of the tile that comes"),
        ]
        m.d.comb += Cover(ends & closes, "a tile ends in the cycle in which the next one is whole")
        return m


@pytest.mark.parametrize("size", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_proved(size):
    result = prove(TransposeContract(TransposeBuffer(2, size)))
    assert result.status == "proved", result
    assert not result.unreached


@pytest.mark.parametrize(
    ("old", "new", "failing"),
    [
        ("(row == column) & read", "(row == column)", "inside: rows take places that are free"),
        (
            "Mux(meets, ahead, Value.cast(read_port.data))",
            "Value.cast(read_port.data)",
            "an element is where it belongs",
        ),
        ("order.eq(~order), full.eq(0)", "full.eq(0)", "inside: the element of the tile that is read"),
        ("Mux(waits_rows > n, elements[n], 0)", "elements[n]", "an element is where it belongs"),
    ],
)
def test_planted_errors(old, new, failing):
    result = prove(TransposeContract(planted(transpose_module, old, new).TransposeBuffer(2, 2)))
    assert result.status == "counterexample", result
    assert failing in messages(result.failing)
