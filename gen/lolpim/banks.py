# amaranth: UnusedElaboratable=no
"""A large memory made of smaller ones."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...constraints.aim.encoding import bits

__all__ = ["BankedMemory"]


class BankedMemory(wiring.Component):
    """Memory with a write port and a read port, divided into banks. Each bank has every ``banks``-th row.

    Timing: ``read_data`` is valid in the clock after ``read_en``. It takes the access of a bank and a selection among
    the banks.

    Parameters
    ----------
    width, depth : :class:`int`
        Bits of a row; number of rows.
    banks : :class:`int`

    Members
    -------
    write_en, write_addr, write_data : ``In``
        Row to be written at the next edge.
    read_en, read_addr : ``In``
        Row to be read at the next edge. If the same row is written in this clock, the data read are unspecified.
    read_data : ``Out(width)``
        The row that was read last.
    """

    def __init__(self, width, depth, banks):
        self._width, self._depth = width, depth
        self._banks = 1 << (min(banks, depth) - 1).bit_length()
        super().__init__(
            {
                "write_en": In(1),
                "write_addr": In(bits(depth)),
                "write_data": In(width),
                "read_en": In(1),
                "read_addr": In(bits(depth)),
                "read_data": Out(width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        low = self._banks.bit_length() - 1
        read = []
        for b in range(self._banks):
            m.submodules[f"bank_{b}"] = bank = Memory(shape=self._width, depth=-(-self._depth // self._banks), init=[])
            write_port, read_port = bank.write_port(), bank.read_port()
            chosen = Signal(name=f"chosen_{b}")
            m.d.comb += [
                write_port.en.eq(self.write_en & (self.write_addr[:low] == b)),
                write_port.addr.eq(self.write_addr[low:]),
                write_port.data.eq(self.write_data),
                read_port.en.eq(self.read_en & (self.read_addr[:low] == b)),
                read_port.addr.eq(self.read_addr[low:]),
            ]
            with m.If(self.read_en):
                m.d.sync += chosen.eq(self.read_addr[:low] == b)
            read.append(Mux(chosen, read_port.data, 0))
        value = read[0]
        for other in read[1:]:
            value |= other
        m.d.comb += self.read_data.eq(value)
        return m
