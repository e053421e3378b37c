# amaranth: UnusedElaboratable=no
"""A module of AiM channels: a front end sends commands to channels and a hub, which exchange data."""

from amaranth import *
from amaranth.lib import wiring

from ...constraints.aim.encoding import COMMANDS
from ...constraints.aim.module import CHANNEL_CODES, PLAIN
from ..blocks.broadcast import StreamBroadcast, link
from ..blocks.ports import members, payload
from ..blocks.shared import shared
from ..blocks.stream import StreamFIFO, StreamRegister
from .channel import AimChannel
from .engine import is_op
from .hub import PimHub

__all__ = ["AimModule"]


class AimModule(wiring.Component):
    """A front end, an :class:`AimChannel` for each channel, and a hub (:class:`~.hub.Hub`).

    The front end is anything with a stream ``command`` of ``config.command_layout``. Its other members are members of the
    module.

    The code of a command decides its receivers: the hub, the channels of its mask, or both. Each receiver takes the
    command when it is ready. The next command follows when all receivers have it. A channel gets a command in the clock
    in which its memory takes it. So the memory decides when commands issue. Commands without a receiver (SYNC, EOC,
    GPR, CFR) are dropped.

    The hub sends data words to the channels, and the channels send results to the hub. The banks are outside the
    module. They receive every command of their channel, and answer with column accesses in the order of the commands.

    The functional model is ``bankside.models.aim.module.ModuleModel``, equal bit for bit.

    Parameters
    ----------
    config : :class:`AimModuleConfig`

    Members
    -------
    members of the front end without ``command``
    host_in, host_out : ``In`` and ``Out(stream.Signature(word))``
    issued : ``Out(payload(config.issued_layout))``
    memory_0 ... : ``Out(stream.Signature(payload(config.memory_layout)))``
    bank_0 ... : ``In(stream.Signature(banks * word))``
    write_0 ... : ``Out(stream.Signature(payload(config.channel.write_layout)))``
    """

    #: Name of the front end in the module.
    FRONT_END = "front_end"

    def __init__(self, config):
        self._config = config
        super().__init__(members(config.ports()))

    @property
    def config(self):
        return self._config

    def _front_end(self):
        raise NotImplementedError

    def _hub(self):
        return PimHub(self._config.hub)

    def elaborate(self, platform):
        m = Module()
        config = self._config
        channels = range(config.channels)
        m.submodules[self.FRONT_END] = front_end = self._front_end()
        m.submodules.hub = hub = self._hub()
        units = [AimChannel(config.channel) for _ in channels]
        for name, member in front_end.signature.members.items():
            inside = getattr(front_end, name)
            if name == "command":
                continue
            if member.is_port:
                outside = getattr(self, name)
                m.d.comb += outside.eq(inside) if member.flow is wiring.Out else inside.eq(outside)
            else:
                wiring.connect(m, inside, wiring.flipped(getattr(self, name)))
        for port in ("host_in", "host_out", *(port.name for port in config.hub_ports())):
            wiring.connect(m, getattr(hub, port), wiring.flipped(getattr(self, port)))

        # ---- Receivers of a command ----------------------------------------------------------------------------------
        layout = payload(config.command_layout)
        command = front_end.command.p
        m.submodules.broadcast = broadcast = StreamBroadcast(layout.size, 1 + config.channels)
        m.d.comb += [
            self.issued.valid.eq(front_end.command.valid & front_end.command.ready),
            *(self.issued[name].eq(command[name]) for name in config.command_layout.widths),
        ]

        by_mask, plain = is_op(command.op, CHANNEL_CODES), is_op(command.op, PLAIN)
        # Commands without the operand `opsize` do one operation.
        own = [name for name in COMMANDS if name in (*CHANNEL_CODES, *config.hub.commands, *PLAIN)]
        sent = Signal(layout)
        m.d.comb += sent.eq(command)
        without, optional = (
            [name for name in own if "opsize" not in COMMANDS[name].places],
            [name for name in own if "opsize" in COMMANDS[name].optional],
        )
        with m.If(is_op(command.op, without) | is_op(command.op, optional) & (command.opsize == 0)):
            m.d.comb += sent.opsize.eq(1)
        select = [is_op(command.op, config.hub.commands)]
        select += [by_mask & command.mask[config.mask_bits - 1 - n] | plain & (command.gpr1 == n) for n in channels]
        link(m, front_end.command, broadcast.i, Cat(sent, *select))

        # ---- Hub -----------------------------------------------------------------------------------------------------
        m.submodules.queue = queue = StreamFIFO(layout, config.queue)
        link(m, broadcast.o_0, queue.i)
        m.d.comb += [
            hub.command.valid.eq(queue.o.valid),
            queue.o.ready.eq(hub.command.ready),
            hub.command.p.mask.eq(queue.o.p.mask[-config.channels :]),
            *(hub.command.p[name].eq(queue.o.p[name]) for name in config.hub.command_layout.widths if name != "mask"),
        ]

        # ---- Channels: a command goes to the unit and to its memory in the same clock --------------------------------
        for n, unit in enumerate(units):
            m.submodules[f"channel_{n}"] = shared(platform, unit, "channel")
            m.submodules[f"commands_{n}"] = commands = StreamRegister(layout)
            source, memory = getattr(broadcast, f"o_{n + 1}"), getattr(self, f"memory_{n}")
            given = Signal(layout, name=f"given_{n}")
            alone = Signal(name=f"alone_{n}")  # for the memory only
            m.d.comb += [
                given.eq(source.payload),
                alone.eq(is_op(given.op, PLAIN)),
                memory.valid.eq(source.valid & (alone | commands.i.ready)),
                *(memory.p[name].eq(given[name]) for name in config.memory_layout.widths),
                commands.i.valid.eq(source.valid & ~alone & memory.ready),
                commands.i.payload.eq(given),
                source.ready.eq(memory.ready & (alone | commands.i.ready)),
            ]
            taken, to_unit = commands.o.p, unit.command.p
            m.d.comb += [
                unit.command.valid.eq(commands.o.valid),
                commands.o.ready.eq(unit.command.ready),
                *(to_unit[name].eq(taken[name]) for name in ("op", "opsize", "bank", "register")),
                # In WR_GB, `column` is the buffer's. Otherwise `column` is the row's, and `gpr` is the buffer's column.
                to_unit.column.eq(Mux(is_op(taken.op, ["WR_GB"]), taken.column, taken.gpr)),
                to_unit.element.eq(taken.gpr1),
                to_unit.function.eq(taken.gpr1),
                to_unit.neighbour.eq(taken.gpr1),
            ]
            link(m, getattr(hub, f"data_{n}"), unit.data)
            link(m, unit.result, getattr(hub, f"result_{n}"))
            link(m, getattr(self, f"bank_{n}"), unit.bank)
            link(m, unit.write, getattr(self, f"write_{n}"))
        return m
