# amaranth: UnusedElaboratable=no
"""The hub of a module of AiM memories: registers, multicast to the channels, results of the channels, and the EPU."""

from amaranth import *
from amaranth.hdl import Assert
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory

from ...constraints.units.pim_hub import CODES, EPU_COMMANDS, RECEIVING, SENDING, PimHubConfig
from ..blocks.broadcast import StreamBroadcast, link
from ..blocks.ports import members, payload
from ..blocks.stream import StreamFIFO, StreamRegister
from .epu import Epu, EpuLane

__all__ = ["PimHub"]


class PimHub(wiring.Component):
    """Executes the hub's part of each command of a module. Its registers hold ``lanes`` elements each.

    Commands begin in order. Transfers (to and from channels and host) use one engine, and the EPU is another. A command
    begins when both engines are free. With ``overlap`` it begins when its own engine is free. The engines share the
    registers' write port and read port. The EPU has priority for writes, transfers have priority for reads.

    Timing: one register per cycle is sent, received or passed through the EPU. :class:`Epu` lists the passes.

    The functional model is ``bankside.models.aim.hub.HubModel``, equal bit for bit.

    Source: LoL-PIM section 2.2 and Table 5. Everything else is this project's choice.

    Parameters
    ----------
    config : :class:`PimHubConfig`

    Members
    -------
    command : ``In(stream.Signature(payload(config.command_layout)))``
    host_in : ``In(stream.Signature(word))``
    host_out : ``Out(stream.Signature(word))``
    result_0 ... : ``In(stream.Signature(word))``
    data_0 ... : ``Out(stream.Signature(word))``
    """

    #: Places for registers on their way to the channels, and as many for registers on their way to the host.
    PLACES = 4

    def __init__(self, config):
        if not isinstance(config, PimHubConfig):
            raise TypeError(f"Configuration must be a PimHubConfig, not {config!r}")
        self._config = config
        super().__init__(members(config.ports()))

    @property
    def config(self):
        return self._config

    @property
    def latency(self):
        """Fixed latencies in cycles: of a lane of the EPU, and of a scalar step."""
        config = self._config
        return {"lane": EpuLane(config).LATENCY, "scalar_step": max(config.lane_depth, config.scalar_depth) + 2}

    def elaborate(self, platform):
        m = Module()
        config = self._config
        word, channels = config.word_bits, config.channels
        layout = payload(config.command_layout)

        def is_op(command, *names):
            return Cat(command.op == CODES[name] for name in names).any()

        m.submodules.registers = memory = Memory(shape=word, depth=config.registers, init=[])
        write, read = memory.write_port(), memory.read_port()
        m.submodules.epu = epu = Epu(config)
        m.submodules.commands = commands = StreamRegister(layout)
        wiring.connect(m, command=wiring.flipped(self.command), commands=commands.i)

        # ---- Dispatch -------------------------------------------------------------------------------------------------
        command = commands.o.p
        transfer, busy, step = Signal(layout), Signal(), Signal.like(command.opsize)
        command_mask, transfer_mask = (Cat(reversed(one.mask)) for one in (command, transfer))     # channel 0 lowest
        to_epu, to_transfer, free = Signal(), Signal(), Signal()
        m.d.comb += [
            to_epu.eq(is_op(command, *EPU_COMMANDS)),
            to_transfer.eq(is_op(command, *SENDING, *RECEIVING, "WR_GPR", "RD_GPR") & (command.opsize != 0)),
            free.eq(Mux(command.overlap, Mux(to_epu, epu.ready, ~busy), ~busy & epu.ready)),
            commands.o.ready.eq(free | ~(to_epu | to_transfer)),
            epu.start.eq(commands.o.valid & to_epu & free),
            epu.op.eq(command.op), epu.opsize.eq(command.opsize), epu.gpr.eq(command.gpr), epu.gpr1.eq(command.gpr1),
        ]
        with m.If(commands.o.valid & to_transfer & free):
            m.d.sync += [transfer.eq(command), busy.eq(1), step.eq(0)]

        # ---- Transfers ------------------------------------------------------------------------------------------------
        sends, receives = is_op(transfer, *SENDING), is_op(transfer, *RECEIVING)
        loads, gives = is_op(transfer, "WR_GPR"), is_op(transfer, "RD_GPR")
        sent = data.StructLayout({"item": word, "select": channels})
        m.submodules.outgoing = outgoing = StreamFIFO(sent, self.PLACES)
        m.submodules.host_words = host_words = StreamFIFO(word, self.PLACES)
        m.submodules.multicast = multicast = StreamBroadcast(word, channels)
        wiring.connect(m, outgoing=outgoing.o, multicast=multicast.i)
        wiring.connect(m, host_words=host_words.o, host_out=wiring.flipped(self.host_out))
        for n in range(channels):
            link(m, getattr(multicast, f"o_{n}"), getattr(self, f"data_{n}"))
        places = Signal(range(self.PLACES + 1), init=self.PLACES)
        host_places = Signal(range(self.PLACES + 1), init=self.PLACES)

        results = [getattr(self, f"result_{n}") for n in range(channels)]
        left = Signal(channels)       # channels whose result has not arrived
        lowest = left & -left
        got, got_word, last = Signal(), Signal(word), Signal()
        reads, takes, moves = Signal(), Signal(), Signal()
        m.d.comb += [
            got.eq((Cat(r.valid for r in results) & lowest[:channels]).any()),
            got_word.eq(Mux(loads, self.host_in.payload, 0)),
            reads.eq(busy & (sends & (places != 0) | gives & (host_places != 0))),
            takes.eq(busy & ~epu.write & Mux(loads, self.host_in.valid, receives & got)),
            moves.eq(reads | takes),
            self.host_in.ready.eq(takes & loads),
        ]
        for n, result in enumerate(results):
            m.d.comb += result.ready.eq(takes & receives & lowest[n])
            with m.If(receives & lowest[n]):
                m.d.comb += got_word.eq(result.payload)
        many = is_op(transfer, "WR_GB", "WR_GPR", "RD_GPR")
        m.d.comb += last.eq(Mux(receives, (left & ~lowest[:channels]) == 0, ~many | (step == transfer.opsize - 1)))
        with m.If(commands.o.valid & to_transfer & free):
            m.d.sync += left.eq(command_mask)
        with m.If(moves):
            m.d.sync += [step.eq(step + 1), left.eq(left & ~lowest[:channels])]
        with m.If(busy & (moves & last | receives & (left == 0))):     # a command without channels is done at once
            m.d.sync += busy.eq(0)

        # ---- Registers ------------------------------------------------------------------------------------------------
        address = Signal(range(config.registers))
        m.d.comb += [
            address.eq(transfer.gpr + step),
            epu.grant.eq(~reads),
            read.addr.eq(Mux(reads, address, epu.read_address)),
            epu.read_data.eq(read.data),
            write.en.eq(epu.write | takes),
            write.addr.eq(Mux(epu.write, epu.write_address, address)),
            write.data.eq(Mux(epu.write, epu.write_data, got_word)),
        ]
        was_sent, was_given, was_mask = Signal(), Signal(), Signal(channels, reset_less=True)
        m.d.sync += [was_sent.eq(reads & sends), was_given.eq(reads & gives), was_mask.eq(transfer_mask)]
        m.d.comb += [
            outgoing.i.valid.eq(was_sent), outgoing.i.p.item.eq(read.data), outgoing.i.p.select.eq(was_mask),
            host_words.i.valid.eq(was_given), host_words.i.payload.eq(read.data),
        ]
        m.d.sync += [
            places.eq(places + (outgoing.o.valid & outgoing.o.ready) - (reads & sends)),
            host_places.eq(host_places + (host_words.o.valid & host_words.o.ready) - (reads & gives)),
        ]
        if platform == "formal":
            m.d.comb += [
                Assert(~was_sent | outgoing.i.ready, "PimHub: what is sent finds a place"),
                Assert(~was_given | host_words.i.ready, "PimHub: what is read finds a place"),
                Assert(~(epu.write & takes), "PimHub: one write at a time"),
                Assert(places + was_sent + outgoing.level == outgoing.depth,
                       "PimHub: each place for what is sent is free, reserved, or taken"),
                Assert(host_places + was_given + host_words.level == host_words.depth,
                       "PimHub: each place for what the host reads is free, reserved, or taken"),
            ]
        return m
