# amaranth: UnusedElaboratable=no
"""AiM's processing unit beside a bank: multiplier tree, accumulation registers, activation function."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..arith import interpolate, multiply
from ..arith.dot import DotRegisters

__all__ = ["AimPu", "ElementwiseMultiplier"]


class AimPu(wiring.Component):
    """Adds products of a bank's data and a second operand to one of several registers.

    A register holds the aligned sum and a number of ``format``. The number is the sum, rounded after each command
    (``last``), or a number that was written. After a write, the next command on the register begins a new sum with the
    written number.

    Timing: one beat per cycle, on any register. The rounded sum is in its register ``LATENCY`` cycles after the strobe
    of the ``last`` beat. No number may be written in that cycle.

    Members
    -------
    valid, last : ``In(1)``
        Strobe of a beat; it is the command's last beat.
    add_register : ``In(...)``
        Register of the beat.
    data, operand : ``In(word)``
        Elements of the bank, with the strobe; the second factors, one cycle later, from a memory. Lane 0 is lowest.
    write, number, write_register : ``In``
        Strobe, number and register of a write.
    read, read_register : ``In``
        ``result`` gives the register's number in the next cycle.
    activate, chosen : ``In``
        With ``read``: the activation register gets function ``chosen`` of the number, ``ACTIVATION`` cycles later.
    result, activation : ``Out(width)``
    held : ``Out(word)``
        ``data`` of the previous cycle.
    """

    def __init__(self, config):
        self.config = config
        #: Cycles from a last beat's strobe to the write of its rounded sum.
        self.LATENCY = 1 + config.depth
        #: Cycles from ``activate`` until the activation register has changed.
        self.ACTIVATION = 2 + config.activation_depth
        registers = range(max(config.registers, 2))
        fmt = config.fmt
        super().__init__(
            {
                "valid": In(1),
                "last": In(1),
                "add_register": In(registers),
                "data": In(config.word_bits),
                "operand": In(config.word_bits),
                "write": In(1),
                "number": In(fmt.width),
                "write_register": In(registers),
                "read": In(1),
                "read_register": In(registers),
                "activate": In(1),
                "chosen": In(3),
                "result": Out(fmt.width),
                "activation": Out(fmt.width),
                "held": Out(config.word_bits),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, fmt = self.config, self.config.fmt
        count = max(config.registers, 2)

        m.submodules.numbers = numbers = Memory(shape=fmt.width, depth=count, init=[])
        write, start, read = numbers.write_port(), numbers.read_port(), numbers.read_port()
        m.d.comb += [
            start.addr.eq(self.add_register),
            read.addr.eq(self.read_register),
            read.en.eq(self.read),
            self.result.eq(read.data),
        ]

        # Cycle 1: all operands. A sum begins with the written number as one more product, later beats have -0 instead.
        written = Signal(count)
        valid, last, first = Signal(), Signal(), Signal()
        register, word = Signal.like(self.add_register, name="register"), Signal(config.word_bits, reset_less=True)
        m.d.sync += [
            valid.eq(self.valid),
            last.eq(self.last),
            first.eq(written.bit_select(self.add_register, 1)),
            register.eq(self.add_register),
            word.eq(self.data),
        ]
        m.d.comb += self.held.eq(word)
        with m.If(self.valid):
            m.d.sync += written.bit_select(self.add_register, 1).eq(0)
        with m.If(self.write):
            m.d.sync += written.bit_select(self.write_register, 1).eq(1)
        m.submodules.dot = sums = DotRegisters(
            fmt,
            config.lanes + 1,
            registers=count,
            result=fmt,
            window=config.window.bits,
            beats=config.max_beats,
            depth=config.depth,
        )
        m.d.comb += [
            sums.valid.eq(valid),
            sums.first.eq(first),
            sums.last.eq(last),
            sums.register.eq(register),
            sums.a.eq(Cat(word, Mux(first, start.data, fmt.sign_mask))),
            sums.b.eq(Cat(self.operand, Const(fmt.bias << fmt.fraction_bits, fmt.width))),
            write.en.eq(self.write | sums.o_valid),
            write.addr.eq(Mux(sums.o_valid, sums.o_register, self.write_register)),
            write.data.eq(Mux(sums.o_valid, sums.o, self.number)),
        ]

        strobes, functions = [self.activate], [self.chosen]
        for stage in range(self.ACTIVATION - 1):
            strobe, function = Signal(name=f"activate_s{stage + 1}"), Signal(3, name=f"function_s{stage + 1}")
            m.d.sync += [strobe.eq(strobes[-1]), function.eq(functions[-1])]
            strobes.append(strobe)
            functions.append(function)
        values = [
            interpolate(m, read.data, table=table, depth=config.activation_depth, name=f"{table.function}_")
            for table in config.tables
        ]
        held = Signal(fmt.width, reset_less=True)
        with m.If(strobes[-1]):
            m.d.sync += held.eq(Array(values)[functions[-1]])
        m.d.comb += self.activation.eq(held)
        return m


class ElementwiseMultiplier(wiring.Component):
    """Multiplies two numbers. The product follows ``config.multiply_depth`` cycles later, rounded to ``format``."""

    def __init__(self, config):
        self.config = config
        width = config.fmt.width
        super().__init__({"a": In(width), "b": In(width), "product": Out(width)})

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.product.eq(multiply(m, self.a, self.b, fmt=self.config.fmt, depth=self.config.multiply_depth))
        return m
