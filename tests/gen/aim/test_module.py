# amaranth: UnusedElaboratable=no
"""A module whose front end is a plain stream of commands and whose hub is CENT's: who gets a command; units are hollow."""

import numpy as np
from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from bankside.constraints.aim.channel import AimChannelConfig
from bankside.constraints.aim.encoding import COMMANDS, mask_of, operations
from bankside.constraints.aim.module import CHANNEL_CODES, AimModuleConfig
from bankside.constraints.cent.pnm import CentPnmConfig
from bankside.constraints.core.contract import Field, Layout, Port
from bankside.gen.aim import AimChannel
from bankside.gen.aim import module as module_of
from bankside.gen.aim.module import AimModule
from bankside.gen.blocks.broadcast import link
from bankside.gen.blocks.ports import payload
from bankside.gen.cent.pnm import CentPnm
from bankside.models.aim.hub import HubModel
from bankside.models.aim.module import ModuleModel
from bankside.models.cent.pnm import PnmModel
from bankside.models.numerics import add, from_float64, to_float64


class PlainConfig(AimModuleConfig):
    """Commands come as they are on the stream ``program``."""

    hub: CentPnmConfig = CentPnmConfig(channels=2, lanes=4, gpr_bytes=512)
    channel: AimChannelConfig = AimChannelConfig(banks=4, lanes=4, buffer_bytes=64, table_entries=16, opsize_bits=7)

    @property
    def command_layout(self):
        widths = {
            "op": 6,
            "opsize": 7,
            "mask": 2,
            "row": 4,
            "column": 3,
            "bank": 2,
            "gpr": 6,
            "gpr1": 6,
            "register": 1,
            "overlap": 1,
        }
        return Layout.of(*(Field(name, bits, name) for name, bits in widths.items()))

    def front_ports(self):
        return (
            Port("program", "in", self.command_layout, "a command"),
            Port("busy", "out", Layout.plain(1), "a command is there", stream=False),
        )


class Plain(wiring.Component):
    """The front end: it passes commands on."""

    def __init__(self, config):
        commands = stream.Signature(payload(config.command_layout))
        super().__init__({"program": In(commands), "busy": Out(1), "command": Out(commands)})

    def elaborate(self, platform):
        m = Module()
        link(m, self.program, self.command)
        m.d.comb += self.busy.eq(self.program.valid)
        return m


class PlainModule(AimModule):
    def _front_end(self):
        return Plain(self._config)

    def _hub(self):
        self.hub = hollow(CentPnm)(self._config.hub)
        return self.hub


def hollow(unit, made=None):
    """A unit with nothing in it; instances are added to ``made``."""

    class Hollow(wiring.Component):
        def __init__(self, config):
            self.config = config
            super().__init__(unit(config).signature)
            if made is not None:
                made.append(self)

        def elaborate(self, platform):
            return Module()

    return Hollow


CONFIG = PlainConfig()


def command(op, **fields):
    return {**dict.fromkeys(CONFIG.command_layout.widths, 0), **fields, "op": COMMANDS[op].code}


def test_commands_of_another_front_end(monkeypatch):
    channels = []
    monkeypatch.setattr(module_of, "AimChannel", hollow(AimChannel, channels))
    rng = np.random.default_rng(1)
    names = ["RED", "EXP", "EWADD", "WR_SBK", "RD_SBK", "MAC_ABK", "WR_BIAS", "SYNC", "SOFTMAX"]
    ops = [str(op) for op in rng.choice(names, 60)]
    program = [
        command(
            op,
            opsize=int(rng.integers(5)),
            mask=int(rng.integers(4)),
            gpr=int(rng.integers(64)),
            gpr1=int(rng.integers(64)),
            row=int(rng.integers(16)),
        )
        for op in ops
    ]
    dut, got, memories = PlainModule(CONFIG), [], [[], []]
    simulator = Simulator(dut)

    async def host(ctx):
        for one in program:
            ctx.set(dut.program.payload, one)
            ctx.set(dut.program.valid, 1)
            assert ctx.get(dut.busy)
            await ctx.tick().until(dut.program.ready)
        ctx.set(dut.program.valid, 0)

    async def rest(ctx):
        ports = [dut.hub.command, *(getattr(dut, f"memory_{n}") for n in range(2))]
        lists = [got, *memories]
        for unit in channels:
            ctx.set(unit.command.ready, 1)
        for _ in range(400):
            for port in ports:
                ctx.set(port.ready, rng.random() < 0.7)
            for port, items in zip(ports, lists, strict=True):
                if ctx.get(port.valid) and ctx.get(port.ready):
                    items.append({name: ctx.get(port.payload[name]) for name in ("op", "opsize")})
            await ctx.tick()

    simulator.add_clock(1e-9)
    simulator.add_testbench(host, background=True)
    simulator.add_testbench(rest)
    simulator.run()

    def sent(one, op):
        return {"op": one["op"], "opsize": operations(op, one["opsize"])}

    pairs = list(zip(program, ops, strict=True))
    assert got == [sent(one, op) for one, op in pairs if op in CONFIG.hub.commands]
    for n in range(2):
        assert memories[n] == [
            sent(one, op) for one, op in pairs if op in CHANNEL_CODES and one["mask"] & mask_of([n], 2)
        ]


class PlainModel(ModuleModel):
    def make_hub(self) -> HubModel:
        return PnmModel(self.config.hub)


def test_model_of_another_front_end():
    """Words of a bank come to registers, are added and reduced there, and go to the other channel's bank."""
    rng, fmt = np.random.default_rng(2), CONFIG.hub.fmt
    rows = [{0: from_float64(rng.normal(size=(8, 4, 4)), fmt)} for _ in range(2)]
    before = rows[0][0].copy()
    model = PlainModel(CONFIG, rows)
    for one in (
        command("RD_SBK", opsize=3, mask=2, bank=1, column=2, gpr=4),
        command("RD_SBK", mask=2, bank=3, gpr=8),
        command("EWADD", opsize=1, gpr=4, gpr1=8),
        command("RED", opsize=3, gpr=4, gpr1=12),
        command("WR_SBK", opsize=2, mask=1, bank=2, column=7, gpr=4),
    ):
        model.execute(one)
    total = add(before[2, 1], before[0, 3], fmt)
    assert (model.hub.registers[4] == total).all() and (model.hub.registers[5:7] == before[3:5, 1]).all()
    assert abs(to_float64(model.hub.registers[12, 0], fmt) - to_float64(total, fmt).sum()) < 0.05
    assert not model.hub.registers[12, 1:].any()
    assert (rows[1][0][7, 2] == total).all() and (rows[1][0][0, 2] == before[3, 1]).all()  # columns wrap around
    assert [(c.op, c.steps) for c in model.commands[0]] == [("RD_SBK", 3), ("RD_SBK", 1)]
    assert [(a.column, a.banks) for a in model.written[1]] == [(7, 4), (0, 4)]
