# amaranth: UnusedElaboratable=no
"""The hub in Amaranth's simulator: transfers and registers beside a stand-in for the EPU, and a lane of the EPU.

The whole unit is compared bit for bit in ``tests/cosim/aim/test_bench.py``.
"""

import numpy as np
import pytest
from amaranth import *
from amaranth.sim import Simulator

from bankside.constraints.aim.hub import CODES, INNER, MANY, RECEIVING, SENDING, PimHubConfig
from bankside.constraints.core.formats import FP32
from bankside.cosim.pam.pu import special_numbers
from bankside.gen.aim import epu as epu_module
from bankside.gen.aim import hub as hub_module
from bankside.gen.aim.epu import Epu, EpuLane
from bankside.gen.aim.hub import PimHub
from bankside.gen.aim.registers import Client
from bankside.gen.arith import SoftmaxExp
from bankside.gen.pam.lane import delayed
from bankside.models.numerics import convert, fma, from_float64, softmax_exp

CONFIG = PimHubConfig(channels=3, lanes=2, gpr_bytes=128, max_elements=15)


class Adder(Epu):
    """A stand-in: ``gpr + gpr1`` into ``gpr`` of every word, as whole numbers, a word after the other."""

    def __init__(self, config):
        super().__init__(config)
        self.client = Client(latency=1)

    def elaborate(self, platform):
        m = Module()
        first, second, left = (Signal.like(self.command[name]) for name in ("gpr", "gpr1", "opsize"))
        registers = self.registers
        word = Signal.like(registers.read_data)
        m.d.comb += [registers.target.eq(first), registers.result.eq(word + registers.read_data)]
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += [self.ready.eq(1), self.idle.eq(1)]
                m.d.sync += [first.eq(self.command.gpr), second.eq(self.command.gpr1), left.eq(self.command.opsize)]
                with m.If(self.start):
                    m.next = "FIRST"
            with m.State("FIRST"):
                m.d.comb += [registers.read.eq(1), registers.read_address.eq(first)]
                with m.If(registers.grant):
                    m.next = "TAKE"
            with m.State("TAKE"):
                m.d.sync += word.eq(registers.read_data)
                m.next = "SECOND"
            with m.State("SECOND"):
                m.d.comb += [registers.read.eq(1), registers.read_address.eq(second), registers.promise.eq(1)]
                with m.If(registers.grant):
                    m.next = "WRITE"
            with m.State("WRITE"):  # the registers write what was promised
                m.d.sync += [first.eq(first + 1), second.eq(second + 1), left.eq(left - 1)]
                m.next = "FIRST"
                with m.If(left == 1):
                    m.next = "IDLE"
        return m


def program(rng, count):
    """Random commands as dictionaries, the EPU's on the upper half of the registers and transfers, which may overlap with
    them, on the lower half; at first every register is written, at the end every one is read."""
    half = CONFIG.registers // 2
    commands = [{"op": "WR_GPR", "opsize": 8, "gpr": first} for first in range(0, 2 * half, 8)]
    for _ in range(count):
        op = str(rng.choice(["EWADD", "WR_GPR", "RD_GPR", *SENDING, *RECEIVING, "none"]))
        size = int(rng.integers(0, 5))
        if op == "EWADD":
            commands.append({"op": op, "opsize": size, "gpr": half + int(rng.integers(5)), "gpr1": half + 10})
        else:
            commands.append({"op": op, "opsize": size, "gpr": int(rng.integers(half - 5))})
        commands[-1] |= {"mask": int(rng.integers(1 << CONFIG.channels)), "overlap": int(rng.integers(2))}
    commands += [{"op": "RD_GPR", "opsize": 8, "gpr": first} for first in range(0, 2 * half, 8)]
    return [{"gpr1": 0, "mask": 0, "overlap": 0, **command} for command in commands]


def executed(commands, words):
    """Items of every output stream, and how many of every input are taken: commands one after the other."""
    registers, at = [0] * CONFIG.registers, dict.fromkeys(words, 0)
    out = {"host_out": [], **{f"data_{n}": [] for n in range(CONFIG.channels)}}

    def take(name):
        at[name] += 1
        return words[name][at[name] - 1]

    for c in commands:
        op, size, gpr = c["op"], c["opsize"], c["gpr"]
        channels = [n for n in range(CONFIG.channels) if c["mask"] >> (CONFIG.channels - 1 - n) & 1]
        if not size:
            continue
        if op == "EWADD":
            for n in range(size):
                registers[gpr + n] = (registers[gpr + n] + registers[c["gpr1"] + n]) % (1 << CONFIG.word_bits)
        elif op == "WR_GPR":
            registers[gpr : gpr + size] = [take("host_in") for _ in range(size)]
        elif op == "RD_GPR":
            out["host_out"] += registers[gpr : gpr + size]
        elif op in SENDING:
            for n in channels:
                out[f"data_{n}"] += registers[gpr : gpr + (size if op in MANY else 1)]
        elif op in RECEIVING:
            for channel in channels:
                for _ in range(size if op in MANY else 1):
                    registers[gpr] = take(f"result_{channel}")
                    gpr = (gpr + 1) % CONFIG.registers
    return out, at


@pytest.mark.parametrize(
    "fields", [{}, {"banks": 4, "bank_ports": 1}, {"banks": 2, "bank_ports": 1, "register_ports": 2}]
)
@pytest.mark.parametrize("chance", [1.0, 0.6])
def test_transfers_and_registers(monkeypatch, chance, fields):
    """Every command, each register where it belongs, beside the EPU and under stalls."""
    monkeypatch.setattr(hub_module, "Epu", Adder)
    rng = np.random.default_rng(8)
    commands = program(rng, 80)
    words = {
        name: [int(x) for x in rng.integers(0, 1 << CONFIG.word_bits, 400)]
        for name in ("host_in", *(f"result_{n}" for n in range(CONFIG.channels)))
    }
    expected, taken = executed(commands, words)
    unused = next(code for code in range(64) if code not in CODES.values())
    inputs = {"command": [{**c, "op": CODES.get(c["op"], unused)} for c in commands], **words}
    dut, got, at = PimHub(CONFIG.model_copy(update=fields)), {name: [] for name in expected}, dict.fromkeys(inputs, 0)

    async def bench(ctx):
        offered = dict.fromkeys(inputs, False)
        for _ in range(4000):
            for name, items in inputs.items():
                port = getattr(dut, name)
                offered[name] = offered[name] or (at[name] < len(items) and rng.random() < chance)
                ctx.set(port.valid, offered[name])
                if offered[name]:
                    ctx.set(port.payload, items[at[name]])
            for name, items in got.items():
                port, ready = getattr(dut, name), rng.random() < chance
                ctx.set(port.ready, ready)
                if ready and ctx.get(port.valid):
                    items.append(ctx.get(port.payload))
            for name in inputs:
                if offered[name] and ctx.get(getattr(dut, name).ready):
                    at[name], offered[name] = at[name] + 1, False
            await ctx.tick()
            if all(len(items) == len(expected[name]) for name, items in got.items()) and at["command"] == len(commands):
                break

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert got == expected
    assert {name: at[name] for name in taken} == taken


def lane_results(config, top, factor, addend, streams):
    """``result`` and ``inner`` of a lane for elements that come one a clock."""
    dut, got, count = EpuLane(config), ([], []), len(streams["x"])

    async def bench(ctx):
        for port, value in ((dut.top, top), (dut.factor, factor), (dut.addend, addend)):
            ctx.set(port, int(value))
        for cycle in range(count + dut.LATENCY):
            if cycle < count:
                for name, values in streams.items():
                    ctx.set(getattr(dut, name), int(values[cycle]))
            if cycle >= dut.LATENCY:
                got[0].append(ctx.get(dut.result))
                got[1].append(ctx.get(dut.inner))
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return list(got)


def flags(rng, count):
    return {
        name: rng.random(count) < share for name, share in (("exp", 0.4), ("add", 0.4), ("multiply", 0.4), ("off", 0.2))
    }


class Difference(SoftmaxExp):
    """A stand-in for the exponential: the difference of the bits."""

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.result.eq(delayed(m, self.value - self.maximum, "difference", self.LATENCY))
        return m


@pytest.mark.parametrize("lane_depth", [1, 5])
def test_a_lane_keeps_its_elements_apart(monkeypatch, lane_depth):
    """Whole numbers for arithmetic, another kind of element in every clock. Each meets its own operands, and comes out
    after the lane's latency."""
    monkeypatch.setattr(epu_module, "SoftmaxExp", Difference)
    monkeypatch.setattr(epu_module, "convert", lambda m, x, *, source, target, name: x[: target.width])
    monkeypatch.setattr(
        epu_module, "fma", lambda m, a, b, c, *, fmt, depth, name: delayed(m, (a + (b << 3) + c)[:32], "total", depth)
    )
    config = PimHubConfig(channels=1, lanes=2, gpr_bytes=16, max_elements=2, lane_depth=lane_depth)
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 1 << 16, (2, 200))
    flag, top, factor, addend = flags(rng, 200), 999, 0x123, 0x4567
    inner = (1 << INNER.width) - 1
    total = (
        np.where(flag["exp"], (x - top) & inner, x)
        + (np.where(flag["multiply"], y, factor) << 3)
        + np.where(flag["add"], y, addend)
    )
    expected = [np.where(flag["off"], 0, total & mask).tolist() for mask in (0xFFFF, inner)]
    assert lane_results(config, top, factor, addend, {"x": x, "y": y, **flag}) == expected


@pytest.mark.slow
@pytest.mark.parametrize("format, lane_depth", [("bf16", 2), ("fp16", 1)])
def test_lane_bit_for_bit(format, lane_depth):
    config = PimHubConfig(channels=1, lanes=2, format=format, gpr_bytes=16, max_elements=2, lane_depth=lane_depth)
    fmt, rng, count = config.fmt, np.random.default_rng(2), 100
    x, y = (from_float64(rng.normal(size=count) * 2, fmt) for _ in range(2))
    x[::5] = rng.choice(special_numbers(fmt), len(x[::5]))
    flag, top = flags(rng, count), from_float64(3.0, fmt)
    factor, addend = from_float64(-0.7, FP32), from_float64(0.3, FP32)
    # Nothing is above the maximum.
    x = np.where(flag["exp"] & (convert(x, fmt, FP32) > 0x40400000) & (convert(x, fmt, FP32) < 1 << 31), top, x)
    element = np.where(
        flag["exp"], convert(softmax_exp(np.full(count, top), x, fmt, config.table), INNER, FP32), convert(x, fmt, FP32)
    )
    other = convert(y, fmt, FP32)
    total = fma(element, np.where(flag["multiply"], other, factor), np.where(flag["add"], other, addend), FP32)
    expected = [np.where(flag["off"], 0, convert(total, FP32, target)).tolist() for target in (fmt, INNER)]
    assert lane_results(config, top, factor, addend, {"x": x, "y": y, **flag}) == expected
