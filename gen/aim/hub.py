# amaranth: UnusedElaboratable=no
"""The hub of a module of AiM memories: registers, multicast to the channels, results of the channels, and the EPU."""

from amaranth import *
from amaranth.lib import wiring

from ...constraints.aim.hub import PimHubConfig
from ..blocks.ports import members, payload
from ..blocks.stream import StreamRegister
from .engine import is_op
from .epu import Epu, EpuLane
from .registers import RegisterFile
from .transfers import Transfers

__all__ = ["Hub", "PimHub"]


class Hub(wiring.Component):
    """Registers, and engines that each claim commands.

    Commands begin in order. A command begins when all engines are idle. With ``overlap`` it begins when its own engine is
    ready. Commands that no engine claims are dropped, and so are commands with an ``opsize`` of 0.
    :class:`~.registers.RegisterFile` arbitrates between the engines. An earlier engine goes first.

    A subclass defines ``_engines``. Streams of an engine that the unit has too, by name, are streams of the unit.

    Parameters
    ----------
    config : configuration with ``ports()``, ``command_layout``, ``word_bits``, ``registers``, and for the registers
        ``banks``, ``bank_ports`` and ``register_ports``

    Members
    -------
    command : ``In(stream.Signature(payload(config.command_layout)))``
    """

    def __init__(self, config):
        self._config = config
        super().__init__(members(config.ports()))

    @property
    def config(self):
        return self._config

    def _engines(self, platform):
        """Engines by name, in the order of their priority."""
        raise NotImplementedError

    def elaborate(self, platform):
        m = Module()
        config = self._config
        engines = self._engines(platform)
        m.submodules.registers = registers = RegisterFile(
            config.word_bits,
            config.registers,
            [engine.client for engine in engines.values()],
            banks=config.banks,
            bank_ports=config.bank_ports,
            ports=config.register_ports,
        )
        m.submodules.commands = commands = StreamRegister(payload(config.command_layout))
        wiring.connect(m, command=wiring.flipped(self.command), commands=commands.i)
        for n, (name, engine) in enumerate(engines.items()):
            m.submodules[name] = engine
            wiring.connect(m, engine.registers, getattr(registers, f"client_{n}"))
            for member in engine.signature.members:
                if member in self.signature.members and member != "command":
                    wiring.connect(m, getattr(engine, member), wiring.flipped(getattr(self, member)))

        command = commands.o.p
        chosen, every = [], Signal()
        m.d.comb += every.eq(Cat(engine.idle for engine in engines.values()).all())
        for name, engine in engines.items():
            claimed, free = Signal(name=f"claimed_{name}"), Signal(name=f"free_{name}")
            m.d.comb += [
                claimed.eq(is_op(command.op, engine.claims) & (command.opsize != 0)),
                free.eq(Mux(command.overlap, engine.ready, every)),
                engine.command.eq(command),
                engine.start.eq(commands.o.valid & claimed & free),
            ]
            chosen.append(claimed & ~free)
        m.d.comb += commands.o.ready.eq(~Cat(chosen).any())  # no engine is to wait for
        return m


class PimHub(Hub):
    """Executes the hub's part of each command of a module. Its registers hold ``lanes`` elements each.

    Transfers (to and from channels and host) use one engine, and the EPU is another. Transfers have priority for reads.
    The EPU has priority for writes.

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

    def __init__(self, config):
        if not isinstance(config, PimHubConfig):
            raise TypeError(f"Configuration must be a PimHubConfig, not {config!r}")
        super().__init__(config)

    @property
    def latency(self):
        """Fixed latencies in cycles: of a lane of the EPU, and of a scalar step."""
        config = self._config
        return {"lane": EpuLane(config).LATENCY, "scalar_step": max(config.lane_depth, config.scalar_depth) + 2}

    def _engines(self, platform):
        return {"transfers": Transfers(self._config), "epu": Epu(self._config)}
