# amaranth: UnusedElaboratable=no
"""A buffer that turns the rows of tiles into columns, one a clock."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .stream import StreamRegister

__all__ = ["TransposeBuffer", "TransposeProbe"]


class TransposeProbe:
    """The state of the buffer, for a proof. The proof drives ``row`` and ``column``.

    Attributes
    ----------
    row, column : the element that the proof asks for
    read, written : this element of the tile whose columns are read, and of the tile whose rows come
    active, reading, rows, columns : of the first tile: it is there; the next column; its size
    full, writing, next_rows, next_columns : of the other: it is whole; the next row; its size if it is whole
    reads : a column is read in this cycle
    stage : stream of the columns that have been read
    """

    def __init__(self, shape, size, stage):
        index, count = range(size), range(size + 1)
        for name, of in {
            "row": index,
            "column": index,
            "read": shape,
            "written": shape,
            "active": 1,
            "reading": index,
            "rows": count,
            "columns": count,
            "full": 1,
            "writing": index,
            "next_rows": count,
            "next_columns": count,
            "reads": 1,
        }.items():
            setattr(self, name, Signal(of, name=f"probe_{name}"))
        self.stage = stage


class TransposeBuffer(wiring.Component):
    """Takes the rows of a tile, and gives its columns. The next tile takes the places that the columns leave.

    A tile has up to ``size`` rows and columns. Its elements lie in ``size`` memories: element (r, c) is in memory (r + c)
    modulo ``size``. Elements of the same row or column therefore never share a memory. The address is r in one tile and c
    in the next. So row j of a tile takes exactly the places of column j of the tile before.

    Timing: a row and a column per cycle. Whole tiles follow each other without a lost cycle. The first column of a tile
    is offered 3 cycles after its last row was accepted. Row j waits until column j of the tile before has been read. A
    tile takes as many cycles as it has rows or as the tile before has columns, whichever is more.

    Parameters
    ----------
    shape : :class:`ShapeLike`
        Shape of an element.
    size : :class:`int`
        Most rows and columns of a tile: a power of two, at least 2.

    Members
    -------
    i : ``In(stream.Signature(...))``
        ``row``: ``size`` elements. ``last``: the tile has no further row. ``columns``: number of columns of the tile, 1 to
        ``size``; it counts with the last row.
    o : ``Out(stream.Signature(...))``
        ``column``: ``size`` elements, 0 behind the last row. ``rows``: number of rows of the tile. ``last``: its last
        column.

    Raises
    ------
    :exc:`ValueError`
        If ``size`` is no power of two, or less than 2.
    """

    #: Cycles from accepting the last row of a tile to offering its first column.
    LATENCY = 3

    def __init__(self, shape, size):
        if size < 2 or size & (size - 1):
            raise ValueError(f"Size must be a power of two from 2 on, not {size!r}")
        self._shape, self._size = Shape.cast(shape), size
        elements = data.ArrayLayout(shape, size)
        self._output = data.StructLayout({"column": elements, "rows": range(size + 1), "last": 1})
        self._stage = StreamRegister(self._output)
        self.probe = TransposeProbe(self._shape, size, self._stage.i)
        super().__init__(
            {
                "i": In(stream.Signature(data.StructLayout({"row": elements, "columns": range(size + 1), "last": 1}))),
                "o": Out(stream.Signature(self._output)),
            }
        )

    @property
    def size(self):
        return self._size

    def elaborate(self, platform):
        m = Module()
        size = self._size
        index, count = range(size), range(size + 1)

        # The tile whose columns are read.
        active, order = Signal(), Signal()  # order 0: the address of an element is its row
        column, columns, rows = Signal(index), Signal(count), Signal(count)
        # The tile whose rows come. Its order is the other one.
        row, full = Signal(index), Signal()
        next_rows, next_columns = Signal(count), Signal(count)

        m.submodules.output = output = self._stage
        wiring.connect(m, output.o, wiring.flipped(self.o))
        waits, waits_rows, waits_last, turned = Signal(), Signal(count), Signal(), Signal(index)
        read, accept, ends, closes = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            read.eq(active & (~waits | output.i.ready)),
            # A row takes the places of a column that has been read, at the earliest one that is being read.
            self.i.ready.eq(~full & (~active | (row < column) | ((row == column) & read) | (row >= columns))),
            accept.eq(self.i.valid & self.i.ready),
            ends.eq(read & (column == columns - 1)),
            closes.eq(accept & (self.i.p.last | (row == size - 1))),
        ]
        with m.If(accept):
            m.d.sync += row.eq(row + 1)
        with m.If(read):
            m.d.sync += column.eq(column + 1)
        with m.If(closes):
            m.d.sync += [full.eq(1), next_rows.eq(row + 1), next_columns.eq(self.i.p.columns)]
        with m.If(ends | ~active):
            # The tile that is full, or whose last row comes now, is read next.
            m.d.sync += active.eq(0)
            with m.If(full | closes):
                m.d.sync += [
                    active.eq(1),
                    order.eq(~order),
                    full.eq(0),
                    row.eq(0),
                    column.eq(0),
                    rows.eq(Mux(full, next_rows, row + 1)),
                    columns.eq(Mux(full, next_columns, self.i.p.columns)),
                ]

        # A row is written a cycle after it was accepted, so that no place is written while it is read.
        writes, write_row, write_order = Signal(), Signal(index), Signal()
        written = Signal(data.ArrayLayout(self._shape, size))
        m.d.sync += [writes.eq(accept), write_row.eq(row), write_order.eq(~order)]
        with m.If(accept):
            m.d.sync += written.eq(self.i.p.row)
        rotated = _rotated(m, written, write_row, "rotated")
        m.d.sync += waits.eq(read | (waits & ~output.i.ready))
        with m.If(read):
            m.d.sync += [turned.eq(column), waits_rows.eq(rows), waits_last.eq(column == columns - 1)]

        found = []
        for bank in range(size):
            m.submodules[f"bank_{bank}"] = memory = Memory(shape=self._shape, depth=size, init=[])
            write_port, read_port = memory.write_port(), memory.read_port()
            m.d.comb += [
                write_port.en.eq(writes),
                write_port.data.eq(rotated[bank]),
                write_port.addr.eq(Mux(write_order, Const(bank, size.bit_length() - 1) - write_row, write_row)),
                read_port.en.eq(read),
                read_port.addr.eq(Mux(order, column, Const(bank, size.bit_length() - 1) - column)),
            ]
            # The last row of a tile is being written when its first column is read.
            meets, ahead = Signal(name=f"meets_{bank}"), Signal(self._shape, name=f"ahead_{bank}")
            with m.If(read):
                m.d.sync += [meets.eq(writes & (write_port.addr == read_port.addr)), ahead.eq(rotated[bank])]
            found.append(Mux(meets, ahead, Value.cast(read_port.data)))
            if platform == "formal":
                self._show(m, memory, bank, order, writes, write_port, rotated[bank])
        elements = _rotated(m, Cat(*found), -turned, "column", self._shape, size)
        m.d.comb += [
            output.i.valid.eq(waits),
            output.i.p.rows.eq(waits_rows),
            output.i.p.last.eq(waits_last),
            *(output.i.p.column[n].eq(Mux(waits_rows > n, elements[n], 0)) for n in range(size)),
        ]
        if platform == "formal":
            m.d.comb += [
                self.probe.reading.eq(column),
                self.probe.writing.eq(row),
                self.probe.full.eq(full),
                self.probe.active.eq(active),
                self.probe.rows.eq(rows),
                self.probe.columns.eq(columns),
                self.probe.next_rows.eq(next_rows),
                self.probe.next_columns.eq(next_columns),
                self.probe.reads.eq(read),
            ]
        return m

    def _show(self, m, memory, bank, order, writes, write_port, coming):
        """Show the probe's element, if it is in this memory. A row that is being written counts as written."""
        probe, bits = self.probe, self._size.bit_length() - 1
        with m.If((probe.row + probe.column)[:bits] == bank):
            for shown, own_order in ((probe.read, order), (probe.written, ~order)):
                port = memory.read_port(domain="comb")
                address = Signal(bits, name=f"shown_{bank}_{shown.name}")
                m.d.comb += [address.eq(Mux(own_order, probe.column, probe.row)), port.addr.eq(address)]
                m.d.comb += shown.eq(Mux(writes & (write_port.addr == address), coming, port.data))


def _rotated(m, values, by, name, shape=None, size=None):
    """Elements moved up by ``by`` places, cyclically: element n is found at place n + ``by``. One level for each bit."""
    if shape is None:
        layout = values.shape()
        shape, size = Shape.cast(layout.elem_shape), layout.length
    width = Shape.cast(shape).width
    bits = Value.cast(values)
    items = [bits[n * width : (n + 1) * width] for n in range(size)]
    for level in range(size.bit_length() - 1):
        step = 1 << level
        moved = []
        for n in range(size):
            item = Signal(shape, name=f"{name}_{level}_{n}")
            m.d.comb += item.eq(Mux(by[level], items[(n - step) % size], items[n]))
            moved.append(item)
        items = moved
    return items
