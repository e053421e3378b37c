# amaranth: UnusedElaboratable=no
"""Whom a module's commands go to, in Amaranth's simulator: the dispatcher and the way from there, other units hollow."""

import random

import numpy as np
import pytest
from amaranth import Module
from amaranth.lib import wiring
from amaranth.sim import Simulator

from bankside.constraints.aim.encoding import COMMANDS, HUB_CODES, mask_of, operations
from bankside.constraints.aim.module import CHANNEL_CODES, PLAIN
from bankside.constraints.lolpim.module import LolPimModuleConfig
from bankside.cosim.lolpim.dispatcher import random_runs
from bankside.gen.aim import AimChannel, PimHub
from bankside.gen.aim import module as module_of
from bankside.gen.lolpim import LolPimModule
from bankside.models.lolpim import dispatch

#: Three channels of a mask of five; a dispatcher with few rows.
CONFIG = LolPimModuleConfig.model_validate(
    {
        "dispatcher": {
            "command_bytes": 4096,
            "table_entries": 64,
            "slots": 3,
            "mask_bits": 5,
            "column_bits": 3,
            "bank_bits": 2,
            "gpr_bits": 7,
            "opsize_bits": 9,
            "register_bits": 1,
        },
        "channel": {"banks": 4, "lanes": 4, "buffer_bytes": 64, "table_entries": 16, "opsize_bits": 9},
        "hub": {"channels": 3, "lanes": 4, "gpr_bytes": 1024, "max_elements": 256},
    }
)


def hollow(unit, made):
    """A unit with nothing in it; the instances that are made are kept."""

    class Hollow(wiring.Component):
        def __init__(self, config):
            self.config = config
            super().__init__(unit(config).signature)
            made.append(self)

        def elaborate(self, platform):
            return Module()

    return Hollow


def run(monkeypatch, epochs, stall):
    """Commands that hub, channels and memories got, fields by name, each with the clock."""
    hubs, channels = [], []
    monkeypatch.setattr(module_of, "PimHub", hollow(PimHub, hubs))
    monkeypatch.setattr(module_of, "AimChannel", hollow(AimChannel, channels))
    dut, rng, runs = LolPimModule(CONFIG), random.Random(1), len(epochs)
    simulator = Simulator(dut)
    hub, ends = hubs[0], []
    streams = {
        "hub": (hub.command, CONFIG.hub.command_layout.widths),
        **{f"channel_{n}": (unit.command, CONFIG.channel.command_layout.widths) for n, unit in enumerate(channels)},
        **{f"memory_{n}": (getattr(dut, f"memory_{n}"), CONFIG.memory_layout.widths) for n in range(CONFIG.channels)},
    }
    seen = {name: [] for name in streams}

    async def host(ctx):
        for number, epoch in enumerate(epochs):
            for address, data in epoch:
                ctx.set(dut.host.payload, {"address": address, "data": data})
                ctx.set(dut.host.valid, 1)
                await ctx.tick().until(dut.host.ready)
                ctx.set(dut.host.valid, 0)
            while len(ends) <= number:
                await ctx.tick()

    async def rest(ctx):
        ctx.set(dut.done.ready, 1)
        clock, quiet = 0, 0
        while quiet < 200:
            for stream, _ in streams.values():
                ctx.set(stream.ready, rng.random() >= stall)
            values = await ctx.tick().sample(
                dut.done.valid,
                *(part for stream, _ in streams.values() for part in (stream.valid, stream.ready, stream.payload)),
            )
            _, _, done, *parts = values
            ends.extend([clock] * done)
            for (name, (_, fields)), valid, ready, payload in zip(
                streams.items(), *(parts[k::3] for k in range(3)), strict=True
            ):
                if valid and ready:
                    seen[name].append((clock, {field: payload[field] for field in fields}))
                    quiet = 0
            clock, quiet = clock + 1, quiet + 1 if len(ends) == runs else 0
            assert clock < 60_000

    simulator.add_clock(1e-9)
    simulator.add_testbench(host)
    simulator.add_testbench(rest)
    simulator.run()
    return seen


@pytest.mark.parametrize("stall", [0.0, 0.4])
def test_who_gets_a_command(monkeypatch, stall):
    """Random programs: everybody gets the commands that are for them, in order, with their operands where they belong; no
    channel gets one before its memory."""
    epochs, _ = random_runs(CONFIG.dispatcher, np.random.default_rng(3), 30, most=60)
    issued, _ = dispatch(CONFIG.dispatcher, [write for epoch in epochs for write in epoch])
    seen = run(monkeypatch, epochs, stall)
    expected = {name: [] for name in seen}
    names = {command.code: name for name, command in COMMANDS.items()}
    for values in issued.values.tolist():
        c = dict(zip(issued.fields, values, strict=True))
        op = names[c["op"]]
        c["opsize"] = operations(op, c["opsize"])
        if op in CONFIG.hub.commands:
            expected["hub"].append(
                {**{name: c[name] for name in ("op", "opsize", "gpr", "gpr1", "overlap")}, "mask": c["mask"] >> 2}
            )
        for n in range(CONFIG.channels):
            addressed = bool(c["mask"] & mask_of([n], 5)) if op in CHANNEL_CODES else op in PLAIN and c["gpr1"] == n
            if addressed:
                expected[f"memory_{n}"].append({name: c[name] for name in CONFIG.memory_layout.widths})
            if addressed and op in CHANNEL_CODES:
                expected[f"channel_{n}"].append(
                    {
                        **{name: c[name] for name in ("op", "opsize", "bank", "register")},
                        "column": c["column"] if op == "WR_GB" else c["gpr"] % 8,
                        "element": c["gpr1"] % 4,
                        "function": c["gpr1"] % 8,
                        "neighbour": c["gpr1"] % 2,
                    }
                )
    for name, commands in expected.items():
        assert [command for _, command in seen[name]] == commands, name
    assert all(len(commands) > 10 for commands in expected.values())
    assert any(command["op"] >= HUB_CODES for command in expected["hub"])
    for n in range(CONFIG.channels):
        told = [clock for clock, command in seen[f"memory_{n}"] if names[command["op"]] not in PLAIN]
        assert all(at < got for at, (got, _) in zip(told, seen[f"channel_{n}"], strict=True))
