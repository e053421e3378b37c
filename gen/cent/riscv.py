# amaranth: UnusedElaboratable=no
"""RISC-V cores beside CENT's shared buffer: a packaged core, its memory, its custom-function unit, and the cluster."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...constraints.cent.riscv import CentRiscvConfig
from ...constraints.cent.rv32 import BOOT, BOOT_WORDS, WINDOW, Environment, Float, Kind, boot_program
from ...constraints.core.formats import BF16, FP32
from ..arith import convert, fma, maximum, reciprocal, reciprocal_square_root
from ..blocks.broadcast import StreamBroadcast, link
from ..blocks.ports import members, payload
from ..blocks.shared import foreign, shared
from ..blocks.stream import StreamRegister
from .vexriscv import vexriscv

__all__ = ["CustomFunctions", "RiscvCluster", "RiscvCore"]

#: 1.0 and -0.0 in FP32: factors and addends of a sum and of a product.
ONE, MINUS_ZERO = 0x3F80_0000, 0x8000_0000


def core_layout(config):
    """A command to one core: the cluster's command, the core's number in place of the mask."""
    layout = payload(config.command_layout)
    return data.StructLayout({**{name: field.shape for name, field in layout if name != "cores"}, "core": range(32)})


class CustomFunctions(wiring.Component):
    """The custom-function unit of a core: FP32 operators, start and end of programs, reads and writes of elements.

    One operation at a time. An operator's result follows its operands after ``float_depth + 2`` clocks, a maximum's and
    every other operation's after one clock.

    Parameters
    ----------
    config : :class:`CentRiscvConfig`

    Members
    -------
    cmd, rsp : the core's port
    start, start_valid, start_ready : the command at the head of the queue, if it is a start
    end, end_valid, end_ready : status of the program that ends
    access, access_valid, access_ready : an access to the shared buffer
    read, read_valid, read_ready : what came back
    may_read : whether another read may begin
    """

    def __init__(self, config):
        self._config = config
        # At ``cmd`` ready depends on valid, because the core wants it so: it is no stream of this project's kind.
        super().__init__(
            {
                "cmd": In(stream.Signature(data.StructLayout({"function": 10, "a": 32, "b": 32}))),
                "rsp": Out(stream.Signature(32)),
                "start": In(stream.Signature(core_layout(config))),
                "end": Out(stream.Signature(1)),
                "access": Out(stream.Signature(payload(config.request_layout))),
                "read": In(stream.Signature(16)),
                "may_read": In(1),
            }
        )

    @property
    def latency(self):
        """Clocks from the operands of an operator to its result."""
        return self._config.float_depth + 2

    def elaborate(self, platform):
        m = Module()
        config, depth = self._config, self._config.float_depth
        cmd, rsp = self.cmd.p, self.rsp
        kind, function = cmd.function[:3], cmd.function[3:]

        started = Signal(core_layout(config))
        slow, waiting, fires, may = Signal(), Signal(range(depth + 2)), Signal(), Signal()
        a, b, addend = (Signal(32, name=name, reset_less=True) for name in ("a", "b", "addend"))
        operator, fast = Signal(3), Signal(32)

        def is_kind(one):
            return kind == one

        def is_environment(one):
            return is_kind(Kind.ENVIRONMENT) & (function == one)

        def is_float(*ones):
            return is_kind(Kind.FLOAT) & Cat(function[:3] == one for one in ones).any()

        # ---- Operators -----------------------------------------------------------------------------------------------
        slow_ones = [
            Float.MULTIPLY,
            Float.ADD,
            Float.MULTIPLY_ADD,
            Float.RECIPROCAL,
            Float.RECIPROCAL_SQUARE_ROOT,
            Float.TO_BF16,
        ]
        one, zero = Const(ONE, 32), Const(MINUS_ZERO, 32)
        factor, term, operand, product_term = Signal(32), Signal(32), Signal(32), Signal(32)
        m.d.comb += [
            slow.eq(is_float(*slow_ones)),
            factor.eq(Mux(operator == Float.ADD, one, b)),
            product_term.eq(Mux(operator == Float.MULTIPLY, zero, addend)),
            term.eq(Mux(operator == Float.ADD, b, product_term)),
            operand.eq(a),
        ]
        results = {
            **dict.fromkeys(
                (Float.MULTIPLY, Float.ADD, Float.MULTIPLY_ADD),
                fma(m, operand, factor, term, fmt=FP32, depth=depth, name="fma_"),
            ),
            Float.RECIPROCAL: reciprocal(m, operand, fmt=FP32, depth=depth, name="reciprocal_"),
            Float.RECIPROCAL_SQUARE_ROOT: reciprocal_square_root(m, operand, fmt=FP32, depth=depth, name="root_"),
            Float.TO_BF16: convert(m, operand, source=FP32, target=BF16, depth=depth, name="bf16_"),
        }
        result = Signal(32)
        with m.Switch(operator):
            for name, value in results.items():
                with m.Case(name):
                    m.d.comb += result.eq(value)
        larger = Signal(32)
        m.d.comb += larger.eq(maximum(m, cmd.a, cmd.b, fmt=FP32, name="larger_"))

        # ---- Which operation may begin -------------------------------------------------------------------------------
        element = Signal(self.access.p.address.shape())
        m.d.comb += element.eq(cmd.a[1:] + function)
        accesses, reads = Signal(), Signal()
        moves, takes = is_kind(Kind.MOVE), is_kind(Kind.TAKE)
        writes = is_kind(Kind.WRITE)
        m.d.comb += [
            may.eq(1),
            reads.eq(is_kind(Kind.READ)),
            accesses.eq(reads & self.may_read | moves & self.read.valid | writes),
        ]
        with m.If(is_environment(Environment.START)):
            m.d.comb += may.eq(self.start.valid)
        with m.If(is_environment(Environment.DONE)):
            m.d.comb += may.eq(self.end.ready)
        with m.If(reads | moves | writes):
            m.d.comb += may.eq(accesses & self.access.ready)
        with m.If(takes):
            m.d.comb += may.eq(self.read.valid)
        # VexRiscv repeats a command if the port is not ready when an operation, long accepted, leaves its stage. So the
        # port is ready whenever nothing is offered.
        free = (waiting == 0) & (~rsp.valid | rsp.ready)
        m.d.comb += [
            self.cmd.ready.eq(~self.cmd.valid | free & may),
            fires.eq(self.cmd.valid & free & may),
            self.start.ready.eq(fires & is_environment(Environment.START)),
            self.end.valid.eq(self.cmd.valid & free & is_environment(Environment.DONE)),
            self.end.payload.eq(cmd.a[0]),
            self.access.valid.eq(self.cmd.valid & free & accesses),
            self.access.p.address.eq(element),
            self.access.p.data.eq(Mux(writes, cmd.b[:16], Mux(moves, self.read.payload, 0))),
            self.access.p.write.eq(~reads),
            self.read.ready.eq(fires & (takes | moves)),
        ]

        # ---- Fast results --------------------------------------------------------------------------------------------
        slot = 2 * config.slot_elements
        with m.Switch(kind):
            with m.Case(Kind.FLOAT):
                m.d.comb += fast.eq(Mux(is_float(Float.MAXIMUM), larger, addend))
            with m.Case(Kind.ENVIRONMENT):
                with m.Switch(function):
                    with m.Case(Environment.START):
                        m.d.comb += fast.eq(self.start.p.address << 2)
                    with m.Case(Environment.DESTINATION):
                        m.d.comb += fast.eq(WINDOW | started.gpr1 * slot)
                    with m.Case(Environment.SOURCE):
                        m.d.comb += fast.eq(WINDOW | started.gpr0 * slot)
                    with m.Case(Environment.OPSIZE):
                        m.d.comb += fast.eq(started.opsize)
                    with m.Case(Environment.CORE):
                        m.d.comb += fast.eq(started.core)
                    with m.Case(Environment.CORES):
                        m.d.comb += fast.eq(config.cores)
            with m.Case(Kind.TAKE):  # 16 bits; with function 1 as FP32
                m.d.comb += fast.eq(Mux(function[0], self.read.payload << 16, self.read.payload))

        with m.If(rsp.ready):
            m.d.sync += rsp.valid.eq(0)
        with m.If(fires):
            m.d.sync += [a.eq(cmd.a), b.eq(cmd.b), operator.eq(function)]
            with m.If(slow):
                m.d.sync += waiting.eq(depth + 1)
            with m.Else():
                m.d.sync += [rsp.payload.eq(fast), rsp.valid.eq(1)]
            with m.If(is_float(Float.SET_ADDEND)):
                m.d.sync += addend.eq(cmd.a)
            with m.If(is_environment(Environment.START)):
                m.d.sync += started.eq(self.start.p)
        with m.If(waiting != 0):
            m.d.sync += waiting.eq(waiting - 1)
            with m.If(waiting == 1):
                m.d.sync += [rsp.payload.eq(result), rsp.valid.eq(1)]
        return m


class RiscvCore(wiring.Component):
    """A core with its memory: VexRiscv, custom functions, and a bridge from the core's data bus to the shared buffer.

    Addresses: the memory from 0 on; the shared buffer from :data:`WINDOW` on; the boot program at :data:`BOOT`, for
    instructions only. The core waits in its boot program until a start comes. While words are loaded the core is in
    reset, so that its caches forget them.

    A store instruction of 16 bits is one access to the shared buffer, of 32 bits two. A load instruction reads both
    elements of its word, because the core's bus does not say which it wants. READ and TAKE read one element.

    Members
    -------
    command : ``In(stream.Signature(core_layout(config)))``
    done : ``Out(stream.Signature(2))``: trapped, strayed
    request : ``Out(stream.Signature(payload(config.request_layout)))``
    response : ``In(stream.Signature(16))``
    """

    def __init__(self, config):
        self.config = config
        super().__init__(
            {
                "command": In(stream.Signature(core_layout(config))),
                "done": Out(stream.Signature(2)),
                "request": Out(stream.Signature(payload(config.request_layout))),
                "response": In(stream.Signature(16)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        words = config.memory_bytes // 4
        m.submodules.memory = memory = Memory(shape=32, depth=words, init=[])
        write, read = memory.write_port(granularity=8), memory.read_port()
        m.submodules.commands = commands = StreamRegister(core_layout(config))
        m.submodules.requests = requests = StreamRegister(payload(config.request_layout))
        m.submodules.ends = ends = StreamRegister(2)
        reset, running = Signal(init=1), Signal()
        functions = CustomFunctions(config)
        m.submodules.functions = ResetInserter(reset)(functions)
        wiring.connect(m, command=wiring.flipped(self.command), commands=commands.i)
        wiring.connect(m, requests=requests.o, request=wiring.flipped(self.request))
        wiring.connect(m, ends=ends.o, done=wiring.flipped(self.done))

        # ---- The core ------------------------------------------------------------------------------------------------
        i_stb, i_ack, i_adr, i_cti, i_data = Signal(), Signal(), Signal(30), Signal(3), Signal(32)
        d_stb, d_ack, d_adr, d_cti, d_data = Signal(), Signal(), Signal(30), Signal(3), Signal(32)
        d_we, d_sel, d_out = Signal(), Signal(4), Signal(32)
        cmd, rsp = functions.cmd, functions.rsp
        # In the clock of its reset the core still shows what it was doing.
        i_offers, d_offers, cmd_offers = Signal(), Signal(), Signal()
        m.d.comb += [i_stb.eq(i_offers & ~reset), d_stb.eq(d_offers & ~reset), cmd.valid.eq(cmd_offers & ~reset)]
        m.submodules.cpu = foreign(
            platform,
            vexriscv(),
            "VexRiscv",
            inside="core",
            i_clk=ClockSignal(),
            i_reset=reset,
            i_externalResetVector=Const(BOOT, 32),
            i_timerInterrupt=Const(0),
            i_softwareInterrupt=Const(0),
            i_externalInterruptArray=Const(0, 32),
            o_CfuPlugin_bus_cmd_valid=cmd_offers,
            i_CfuPlugin_bus_cmd_ready=cmd.ready,
            o_CfuPlugin_bus_cmd_payload_function_id=cmd.p.function,
            o_CfuPlugin_bus_cmd_payload_inputs_0=cmd.p.a,
            o_CfuPlugin_bus_cmd_payload_inputs_1=cmd.p.b,
            i_CfuPlugin_bus_rsp_valid=rsp.valid,
            o_CfuPlugin_bus_rsp_ready=rsp.ready,
            i_CfuPlugin_bus_rsp_payload_outputs_0=rsp.payload,
            o_iBusWishbone_CYC=Signal(name="i_cyc"),
            o_iBusWishbone_STB=i_offers,
            i_iBusWishbone_ACK=i_ack,
            o_iBusWishbone_WE=Signal(name="i_we"),
            o_iBusWishbone_ADR=i_adr,
            i_iBusWishbone_DAT_MISO=i_data,
            o_iBusWishbone_DAT_MOSI=Signal(32, name="i_out"),
            o_iBusWishbone_SEL=Signal(4, name="i_sel"),
            i_iBusWishbone_ERR=Const(0),
            o_iBusWishbone_CTI=i_cti,
            o_iBusWishbone_BTE=Signal(2, name="i_bte"),
            o_dBusWishbone_CYC=Signal(name="d_cyc"),
            o_dBusWishbone_STB=d_offers,
            i_dBusWishbone_ACK=d_ack,
            o_dBusWishbone_WE=d_we,
            o_dBusWishbone_ADR=d_adr,
            i_dBusWishbone_DAT_MISO=d_data,
            o_dBusWishbone_DAT_MOSI=d_out,
            o_dBusWishbone_SEL=d_sel,
            i_dBusWishbone_ERR=Const(0),
            o_dBusWishbone_CTI=d_cti,
            o_dBusWishbone_BTE=Signal(2, name="d_bte"),
        )

        # ---- Start, end, and words of programs -----------------------------------------------------------------------
        # A program ends when the shared buffer has taken all its accesses.
        head, strayed, stray = commands.o, Signal(), Signal()
        loads, quiet = Signal(), Signal()
        m.d.comb += [
            loads.eq(head.valid & ~head.p.start & ~running),
            functions.start.valid.eq(head.valid & head.p.start & ~running),
            functions.start.payload.eq(head.payload),
            head.ready.eq(~running & (~head.p.start | functions.start.ready)),
            quiet.eq(~d_stb & ~requests.o.valid),
            ends.i.valid.eq(functions.end.valid & quiet),
            ends.i.payload.eq(Cat(functions.end.payload, strayed | stray)),
            functions.end.ready.eq(ends.i.ready & quiet),
        ]
        m.d.sync += reset.eq(loads)
        with m.If(functions.start.valid & functions.start.ready):
            m.d.sync += running.eq(1)
        with m.If(functions.end.valid & functions.end.ready):
            m.d.sync += [running.eq(0), strayed.eq(0)]
        with m.Elif(stray):
            m.d.sync += strayed.eq(1)

        # ---- The memory: data first, then instructions, a word per clock ---------------------------------------------
        # A read's word comes in the clock after its address. The word after it is read in that clock if the burst goes on.
        of_data, of_code = Signal(), Signal()  # a word for data or instructions comes in this clock
        d_here, i_here, i_boot = Signal(), Signal(), Signal()
        bits = range(30)[(words - 1).bit_length() :]
        d_outside, i_outside = (Cat(address[n] for n in bits).any() for address in (d_adr, i_adr))
        d_window = d_adr[29]
        d_reads, i_reads, d_writes, d_goes_on, i_goes_on = Signal(), Signal(), Signal(), Signal(), Signal()
        incremented = 2
        m.d.comb += [
            d_here.eq(~d_outside),
            i_here.eq(~i_outside),
            i_boot.eq(i_adr[:30] >> (BOOT_WORDS - 1).bit_length() == BOOT >> 2 >> (BOOT_WORDS - 1).bit_length()),
            d_writes.eq(d_stb & d_here & d_we),
            d_goes_on.eq(of_data & (d_cti == incremented)),
            i_goes_on.eq(of_code & (i_cti == incremented)),
            d_reads.eq(d_stb & d_here & ~d_we & (~of_data | d_goes_on) & ~i_goes_on),
            i_reads.eq(i_stb & i_here & (~of_code | i_goes_on) & ~d_reads),
            read.addr.eq(Mux(d_reads, d_adr + d_goes_on, i_adr + i_goes_on)),
            read.en.eq(d_reads | i_reads),
            write.addr.eq(Mux(loads, head.p.address, d_adr)),
            write.data.eq(Mux(loads, head.p.data, d_out)),
            write.en.eq(Mux(loads, 0xF, Mux(d_writes, d_sel, 0))),
        ]
        m.d.sync += [of_data.eq(d_reads), of_code.eq(i_reads)]

        # ---- Instructions: boot program and memory. Elsewhere a word is 0, which is no instruction. ---------------------
        program = Array([*boot_program(config.memory_bytes), *[0] * BOOT_WORDS][:BOOT_WORDS])
        m.d.comb += [
            i_ack.eq(i_stb & (of_code | ~i_here)),
            i_data.eq(Mux(i_here, read.data, Mux(i_boot, program[i_adr[: (BOOT_WORDS - 1).bit_length()]], 0))),
        ]

        # ---- The shared buffer ---------------------------------------------------------------------------------------
        # Reads that were requested and have not been taken, and those whose answer has not come.
        level = range(config.queue + 3)
        taken, comes, asks = Signal(), Signal(), Signal()
        untaken, missing = Signal(level), Signal(level)
        places = [Signal(16, name=f"place_{n}", reset_less=True) for n in range(max(config.queue, 2))]
        first, last = Signal(range(len(places))), Signal(range(len(places)))

        def following(place):
            return Mux(place == len(places) - 1, 0, place + 1)

        m.d.comb += [self.response.ready.eq(missing != 0), comes.eq(self.response.valid & self.response.ready)]
        m.d.sync += [untaken.eq(untaken + asks - taken), missing.eq(missing + asks - comes)]
        with m.If(comes):
            m.d.sync += [Array(places)[last].eq(self.response.payload), last.eq(following(last))]
        with m.If(taken):
            m.d.sync += first.eq(following(first))
        stored = Signal()  # whether an answer has come that was not taken
        answer = Signal(16)
        m.d.comb += [stored.eq(untaken != missing), answer.eq(Array(places)[first])]

        # Stores and loads on the data bus come before custom operations: they are older. Stores to the shared buffer may
        # wait behind a store to the memory.
        window_access = d_stb & d_window
        inside = Signal()
        beyond = range(29)[(config.window_bytes // 4 - 1).bit_length() :]
        m.d.comb += inside.eq(~Cat(d_adr[n] for n in beyond).any())
        upper = Signal()  # the second of two accesses
        halves = Cat(d_sel[:2].all(), d_sel[2:].all())
        partly = Cat(d_sel[:2].xor(), d_sel[2:].xor()).any()
        both = halves.all() | ~d_we
        half = Mux(both, upper, halves[1])
        asked = Signal()  # both elements of a load were requested
        low = Signal(16)  # the lower element of a load
        got = Signal()  # it has come
        bridge_valid, bridge_ready, window_ack = Signal(), Signal(), Signal()
        sound = inside & ~(d_we & partly)
        m.d.comb += [
            bridge_valid.eq(window_access & sound & Mux(d_we, 1, ~asked & (upper | (untaken == 0)))),
            functions.may_read.eq(untaken < config.queue),
            functions.read.valid.eq(stored & ~d_stb),
            functions.read.payload.eq(answer),
            requests.i.valid.eq(Mux(d_stb, bridge_valid, functions.access.valid)),
            requests.i.p.address.eq(Mux(window_access, Cat(half, d_adr), functions.access.p.address)),
            requests.i.p.data.eq(
                Mux(window_access, Mux(d_we, Mux(half, d_out[16:], d_out[:16]), 0), functions.access.p.data)
            ),
            requests.i.p.write.eq(Mux(window_access, d_we, functions.access.p.write)),
            bridge_ready.eq(window_access & requests.i.ready),
            functions.access.ready.eq(~d_stb & requests.i.ready),
            asks.eq(requests.i.valid & requests.i.ready & ~requests.i.p.write),
            taken.eq(Mux(window_access, ~d_we & stored & (upper | asked), functions.read.valid & functions.read.ready)),
        ]
        last_half = ~both | upper
        with m.If(window_access):
            with m.If(~sound):
                m.d.comb += window_ack.eq(1)
            with m.Elif(d_we):
                m.d.comb += window_ack.eq(bridge_ready & last_half)
            with m.Else():
                m.d.comb += window_ack.eq(stored & got)
        with m.If(window_ack):
            m.d.sync += [upper.eq(0), asked.eq(0), got.eq(0)]
        with m.Else():
            with m.If(bridge_valid & bridge_ready):
                m.d.sync += [upper.eq(1), asked.eq(upper & ~d_we)]
            with m.If(taken & window_access):
                m.d.sync += [low.eq(answer), got.eq(1)]

        m.d.comb += [
            stray.eq(d_stb & d_ack & ~d_here & ~(d_window & sound)),
            d_ack.eq(window_ack | d_stb & ~d_window & (d_writes | of_data | ~d_here)),
            d_data.eq(Mux(d_window, Mux(sound, Cat(low, answer), 0), Mux(d_here, read.data, 0))),
        ]
        return m


class RiscvCluster(wiring.Component):
    """The cores of a device.

    A start begins the same program on all cores; each knows its number, and how many there are. The end is reported when
    all have ended. Words of programs go to the cores of a mask. Commands are executed in order: what comes behind a start
    waits for its end.

    The functional model is ``bankside.models.cent.riscv.ClusterModel``. It does not count clocks.

    Source: CENT section 4.2. Parameters, protocol and custom operations are this project's choice.

    Parameters
    ----------
    config : :class:`CentRiscvConfig`

    Members
    -------
    command : ``In(stream.Signature(payload(config.command_layout)))``
    done : ``Out(stream.Signature(payload(config.done_layout)))``
    request_0 ... : ``Out(stream.Signature(payload(config.request_layout)))``
    response_0 ... : ``In(stream.Signature(16))``
    """

    def __init__(self, config: CentRiscvConfig):
        self._config = config
        super().__init__(members(config.ports()))

    @property
    def latency(self):
        """``operator``: clocks from the operands of an FP32 operator to its result."""
        return {"operator": CustomFunctions(self._config).latency}

    def elaborate(self, platform):
        m = Module()
        config = self._config
        layout = core_layout(config)
        m.submodules.commands = commands = StreamBroadcast(layout.size, config.cores)
        command, item = self.command.p, Signal(layout)
        m.d.comb += [getattr(item, name).eq(getattr(command, name)) for name, _ in layout if name != "core"]
        link(m, self.command, commands.i, Cat(item, command.cores | command.start.replicate(config.cores)))
        m.submodules.ends = ends = StreamRegister(payload(config.done_layout))
        wiring.connect(m, ends=ends.o, done=wiring.flipped(self.done))
        cores = []
        for n in range(config.cores):
            core = RiscvCore(config)
            m.submodules[f"core_{n}"] = shared(platform, core, "core")
            cores.append(core)
        for n, core in enumerate(cores):
            given = getattr(commands, f"o_{n}")
            own = Signal(layout, name=f"command_{n}")
            m.d.comb += [own.eq(given.payload), own.core.eq(n)]
            link(m, given, core.command, own)
            link(m, core.request, getattr(self, f"request_{n}"))
            link(m, getattr(self, f"response_{n}"), core.response)
        return self._join(m, cores, ends)

    def _join(self, m, cores, ends):
        m.d.comb += [
            ends.i.valid.eq(Cat(core.done.valid for core in cores).all()),
            ends.i.p.trapped.eq(Cat(core.done.payload[0] for core in cores)),
            ends.i.p.strayed.eq(Cat(core.done.payload[1] for core in cores)),
            *(core.done.ready.eq(ends.i.valid & ends.i.ready) for core in cores),
        ]
        return m
