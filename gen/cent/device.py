# amaranth: UnusedElaboratable=no
"""A CENT device: decoder, AiM channels, and a shared buffer with PNM units, RISC-V cores and a CXL port."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In

from ...constraints.cent.cxl_port import PortOp
from ...constraints.cent.device import CentDeviceConfig, CentHubConfig
from ..aim.engine import Engine
from ..aim.module import AimModule
from ..aim.registers import Client
from ..blocks.broadcast import link
from ..blocks.merge import StreamMerge
from ..blocks.ports import members, payload
from ..blocks.stream import StreamFIFO
from .cxl_port import CentCxlPort
from .decoder import CentDecoder
from .pnm import CentPnm
from .riscv import RiscvCluster

__all__ = ["CentDevice", "CentHub", "CoreEngine", "CxlEngine"]


class CoreEngine(Engine):
    """RISC-V cores as an engine of the shared buffer: a command starts a program, and is done when all cores have ended.

    The cores access elements of slots. One access of all cores takes place in a clock. A read gives its element to the core
    in the next clock.

    Members
    -------
    program : ``In(stream.Signature(payload(config.program_layout)))``
        Words for the cores' memories. They wait while a program runs.
    """

    def __init__(self, config):
        self.client = Client(writes=True, elements=config.lanes)
        super().__init__(config, ("RISCV",), {"program": In(stream.Signature(payload(config.program_layout)))})

    def elaborate(self, platform):
        m = Module()
        config, registers = self._config, self.registers
        cores, width = range(config.cores.cores), config.fmt.width
        m.submodules.cluster = cluster = RiscvCluster(config.cores)
        held, waiting, running = Signal(payload(config.command_layout)), Signal(), Signal()

        # ---- Words of programs, and starts -------------------------------------------------------------------------------
        to = cluster.command
        m.d.comb += [
            to.valid.eq(waiting | ~running & self.program.valid),
            to.p.start.eq(waiting),
            to.p.address.eq(Mux(waiting, held.row, self.program.p.address)),
            to.p.data.eq(self.program.p.data),
            to.p.cores.eq(self.program.p.cores),
            to.p.gpr0.eq(held.gpr),
            to.p.gpr1.eq(held.gpr1),
            to.p.opsize.eq(held.opsize),
            self.program.ready.eq(to.ready & ~waiting & ~running),
            cluster.done.ready.eq(1),
        ]
        with m.If(self.start):
            m.d.sync += [held.eq(self.command), waiting.eq(1)]
        with m.If(waiting & to.ready):
            m.d.sync += [waiting.eq(0), running.eq(1)]
        with m.If(running & cluster.done.valid):
            m.d.sync += running.eq(0)

        # ---- Accesses of the cores ---------------------------------------------------------------------------------------
        request = data.StructLayout({"access": payload(config.cores.request_layout), "core": range(max(2, len(cores)))})
        m.submodules.accesses = accesses = StreamMerge(request, len(cores))
        for n in cores:
            link(
                m,
                getattr(cluster, f"request_{n}"),
                getattr(accesses, f"i_{n}"),
                Cat(Value.cast(getattr(cluster, f"request_{n}").payload), Const(n, range(max(2, len(cores))))),
            )
        one = accesses.o.p
        low = (config.lanes - 1).bit_length()
        element, slot = one.access.address[:low], one.access.address[low:]
        read, core, place = Signal(), Signal.like(one.core), Signal.like(element)
        m.d.comb += [
            registers.read.eq(accesses.o.valid & ~one.access.write),
            registers.write.eq(accesses.o.valid & one.access.write),
            registers.read_address.eq(slot),
            registers.write_address.eq(slot),
            registers.write_data.eq(one.access.data.replicate(config.lanes)),
            registers.write_mask.eq(Const(1, config.lanes) << element),
            accesses.o.ready.eq(Mux(one.access.write, registers.write_grant, registers.grant)),
        ]
        m.d.sync += [read.eq(registers.read & registers.grant), core.eq(one.core), place.eq(element)]
        for n in cores:
            response = getattr(cluster, f"response_{n}")  # a core has room for what it asked for
            m.d.comb += [
                response.valid.eq(read & (core == n)),
                response.payload.eq(registers.read_data.word_select(place, width)),
            ]
        busy = Cat(getattr(cluster, f"request_{n}").valid for n in cores).any()
        m.d.comb += [self.ready.eq(~waiting & ~running), self.idle.eq(~waiting & ~running & ~busy & ~read)]
        return m


class CxlEngine(Engine):
    """The CXL port as an engine of the shared buffer.

    SEND_CXL and BCAST_CXL are done when all their slots are read. So the next command may write these slots. RECV_CXL is
    done when a whole transfer of another device is in the shared buffer. Writes and reads of other nodes pass at any time.

    A slot of the device lies in the lowest bits of a slot of the port. The other bits are 0.

    Timing: a read and a write of the shared buffer per clock, behind all other engines.

    Members
    -------
    cxl_memory, cxl_memory_data, cxl_rx, cxl_tx, identity : of :class:`CentCxlPort`
    """

    #: Places for slots on their way to the port.
    PLACES = 4

    client = Client(writes=True)

    def __init__(self, config):
        ports = members(config.cxl_ports)
        super().__init__(config, [op.name for op in PortOp], {"identity": ports.pop("cxl_identity"), **ports})

    def elaborate(self, platform):
        m = Module()
        config, registers, word = self._config, self.registers, self._config.word_bits
        m.submodules.port = port = CentCxlPort(config.cxl)
        for name in self.signature.members:
            if name.startswith("cxl_"):
                wiring.connect(m, getattr(port, name[4:]), wiring.flipped(getattr(self, name)))
        m.d.comb += [port.identity.eq(self.identity), port.acknowledged.ready.eq(1)]

        # ---- Commands ------------------------------------------------------------------------------------------------
        held, offered, receiving = Signal(payload(config.command_layout)), Signal(), Signal()
        m.d.comb += [
            port.command.valid.eq(offered),
            *(port.command.p[name].eq(held[name]) for name in ("op", "opsize", "gpr", "gpr1")),
            port.command.p.device.eq(held.row),
            port.received.ready.eq(1),
            self.ready.eq(~offered & ~receiving),
            self.idle.eq(self.ready & ~port.sending),
        ]
        with m.If(port.command.ready):
            m.d.sync += offered.eq(0)
        with m.If(port.received.valid):
            m.d.sync += receiving.eq(0)
        with m.If(self.start):
            m.d.sync += [held.eq(self.command), offered.eq(1), receiving.eq(self.command.op == PortOp.RECV_CXL)]

        # ---- Slots ---------------------------------------------------------------------------------------------------
        m.submodules.slots = slots = StreamFIFO(word, self.PLACES)
        places, read = Signal(range(self.PLACES + 1), init=self.PLACES), Signal()
        asked = port.slot_read.valid & port.slot_read.ready
        m.d.comb += [
            registers.read.eq(port.slot_read.valid & (places != 0)),
            registers.read_address.eq(port.slot_read.payload),
            port.slot_read.ready.eq(registers.grant),
            slots.i.valid.eq(read),
            slots.i.payload.eq(registers.read_data),
            registers.write.eq(port.slot_write.valid),
            registers.write_address.eq(port.slot_write.p.slot),
            registers.write_data.eq(port.slot_write.p.data),
            port.slot_write.ready.eq(registers.write_grant),
        ]
        link(m, slots.o, port.slot_data)
        m.d.sync += [read.eq(asked), places.eq(places - asked + (slots.o.valid & slots.o.ready))]
        return m


class CentHub(CentPnm):
    """The shared buffer with transfers, PNM units (:class:`CentPnm`), RISC-V cores (:class:`CoreEngine`) and, if the device
    has a CXL port, :class:`CxlEngine`."""

    def __init__(self, config):
        if not isinstance(config, CentHubConfig):
            raise TypeError(f"Configuration must be a CentHubConfig, not {config!r}")
        super().__init__(config)

    def _engines(self, platform):
        engines = {**super()._engines(platform), "cores": CoreEngine(self._config)}
        return {**engines, "cxl": CxlEngine(self._config)} if self._config.network else engines

    def elaborate(self, platform):
        m = super().elaborate(platform)
        if self._config.network:
            m.d.comb += m.submodules.cxl.identity.eq(self.cxl_identity)
        return m


class _FrontEnd(wiring.Component):
    """The decoder without the stream of answers, since no instruction waits for one."""

    def __init__(self, config):
        self._decoder = CentDecoder(config)
        members = dict(self._decoder.signature.members.items())
        del members["finished"]
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        m.submodules.decoder = decoder = self._decoder
        for name, member in self.signature.members.items():
            inside, outside = getattr(decoder, name), getattr(self, name)
            if member.is_port:
                m.d.comb += outside.eq(inside)
            else:
                wiring.connect(m, inside, wiring.flipped(outside))
        m.d.comb += decoder.finished.valid.eq(0)
        return m


class CentDevice(AimModule):
    """An :class:`~bankside.gen.aim.module.AimModule` whose front end is a :class:`CentDecoder`, and whose hub is a
    :class:`CentHub`.

    The functional model is ``bankside.models.cent.device.DeviceModel``, equal bit for bit.

    Source: CENT section 4.

    Parameters
    ----------
    config : :class:`CentDeviceConfig`

    Members
    -------
    host, done, status : of :class:`CentDecoder`
    host_in, host_out : ``In`` and ``Out(stream.Signature(word))``
    program : ``In(stream.Signature(payload(config.hub.program_layout)))``
    cxl_memory, cxl_memory_data, cxl_rx, cxl_tx, cxl_identity : of a device with a CXL port, as of :class:`CxlEngine`
    issued : ``Out(payload(config.issued_layout))``
    memory_0 ... : ``Out(stream.Signature(payload(config.memory_layout)))``
    bank_0 ... : ``In(stream.Signature(banks * word))``
    write_0 ... : ``Out(stream.Signature(payload(config.channel.write_layout)))``
    """

    FRONT_END = "decoder"

    def __init__(self, config):
        if not isinstance(config, CentDeviceConfig):
            raise TypeError(f"Configuration must be a CentDeviceConfig, not {config!r}")
        super().__init__(config)

    @property
    def latency(self):
        """Fixed latencies in cycles: from the host's word to its command, and from there to the memory's port."""
        return {**CentDecoder(self._config.decoder).latency, "command_to_memory": 1}

    def elaborate(self, platform):
        m = super().elaborate(platform)
        if self._config.hub.network:
            m.d.comb += m.submodules.hub.cxl_identity.eq(self.cxl_identity)
        return m

    def _front_end(self):
        return _FrontEnd(self._config.decoder)

    def _hub(self):
        return CentHub(self._config.hub)
