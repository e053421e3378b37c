# amaranth: UnusedElaboratable=no
"""A CENT device: decoder, AiM channels, and a shared buffer with PNM units and RISC-V cores."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In

from ...constraints.units.cent_device import CentDeviceConfig, CentHubConfig
from ..aim.engine import Engine
from ..aim.module import AimModule
from ..aim.registers import Client
from ..blocks.broadcast import link
from ..blocks.merge import StreamMerge
from ..blocks.ports import payload
from .decoder import CentDecoder
from .pnm import CentPnm
from .riscv import RiscvCluster

__all__ = ["CentDevice", "CentHub", "CoreEngine"]


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
            to.p.gpr0.eq(held.gpr), to.p.gpr1.eq(held.gpr1), to.p.opsize.eq(held.opsize),
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
            link(m, getattr(cluster, f"request_{n}"), getattr(accesses, f"i_{n}"),
                 Cat(Value.cast(getattr(cluster, f"request_{n}").payload), Const(n, range(max(2, len(cores))))))
        one = accesses.o.p
        low = (config.lanes - 1).bit_length()
        element, slot = one.access.address[:low], one.access.address[low:]
        read, core, place = Signal(), Signal.like(one.core), Signal.like(element)
        m.d.comb += [
            registers.read.eq(accesses.o.valid & ~one.access.write),
            registers.write.eq(accesses.o.valid & one.access.write),
            registers.read_address.eq(slot), registers.write_address.eq(slot),
            registers.write_data.eq(one.access.data.replicate(config.lanes)),
            registers.write_mask.eq(Const(1, config.lanes) << element),
            accesses.o.ready.eq(Mux(one.access.write, registers.write_grant, registers.grant)),
        ]
        m.d.sync += [read.eq(registers.read & registers.grant), core.eq(one.core), place.eq(element)]
        for n in cores:
            response = getattr(cluster, f"response_{n}")     # a core has room for what it asked for
            m.d.comb += [response.valid.eq(read & (core == n)),
                         response.payload.eq(registers.read_data.word_select(place, width))]
        busy = Cat(getattr(cluster, f"request_{n}").valid for n in cores).any()
        m.d.comb += [self.ready.eq(~waiting & ~running), self.idle.eq(~waiting & ~running & ~busy & ~read)]
        return m


class CentHub(CentPnm):
    """The shared buffer with transfers, PNM units (:class:`CentPnm`) and RISC-V cores (:class:`CoreEngine`)."""

    def __init__(self, config):
        if not isinstance(config, CentHubConfig):
            raise TypeError(f"Configuration must be a CentHubConfig, not {config!r}")
        super().__init__(config)

    def _engines(self, platform):
        return {**super()._engines(platform), "cores": CoreEngine(self._config)}


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

    def _front_end(self):
        return _FrontEnd(self._config.decoder)

    def _hub(self):
        return CentHub(self._config.hub)
