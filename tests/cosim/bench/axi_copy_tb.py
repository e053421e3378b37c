"""Runs inside the simulator: the bus models of cocotbext-axi around the copier of ``test_axi_bench.py``."""

import json
import os
import random
from pathlib import Path

import cocotb
from axi_monitor import AxiMonitor
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiResp, AxiSlave, MemoryRegion

JOB = json.loads(Path(os.environ["AXI_JOB"]).read_text())


class Memory(MemoryRegion):
    """Memory with address ranges that fail."""

    def _check(self, address, length):
        if any(first < address + length and address < end for first, end in JOB["bad"]):
            raise ValueError("bad address")

    async def _read(self, address, length, **options):
        self._check(address, length)
        return await super()._read(address, length, **options)

    async def _write(self, address, data, **options):
        self._check(address, len(data))
        await super()._write(address, data, **options)


def pauses(rng, probability):
    while True:
        yield rng.random() < probability


async def watch(dut, prefix, monitor):
    signals = {name[len(prefix) + 1 :]: getattr(dut, name) for name in JOB["ports"] if name.startswith(f"{prefix}_")}
    small = {name: signal for name, signal in signals.items() if name not in ("rdata", "wdata")}
    while True:
        await RisingEdge(dut.clk)
        if dut.rst.value:
            continue
        values = {name: int(signal.value) for name, signal in small.items()}
        for name, valid in (("rdata", "rvalid"), ("wdata", "wvalid")):
            if values[valid]:
                values[name] = int(signals[name].value)
        monitor.step(values)


@cocotb.test()
async def copies(dut):
    rng = random.Random(JOB["seed"])
    inputs = [name for name, way in JOB["ports"].items() if way == "Input"]
    for name in inputs:
        getattr(dut, name).value = 0
    dut.rst.value = 1
    Clock(dut.clk, 10, unit="ns").start()
    contents = rng.randbytes(JOB["memory_bytes"])
    memory = Memory(JOB["memory_bytes"])
    memory[0 : JOB["memory_bytes"]] = contents
    slave = AxiSlave(AxiBus.from_prefix(dut, "m_axi"), dut.clk, dut.rst, target=memory)
    manager = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi"), dut.clk, dut.rst)
    channels = {
        "aw": slave.write_if.aw_channel,
        "w": slave.write_if.w_channel,
        "b": slave.write_if.b_channel,
        "ar": slave.read_if.ar_channel,
        "r": slave.read_if.r_channel,
    }
    for name, channel in channels.items():
        if probability := JOB["stalls"].get(name):
            channel.set_pause_generator(pauses(random.Random(f"{JOB['seed']} {name}"), probability))
    if JOB["stalls"].get("lite"):
        for channel in (
            manager.write_if.aw_channel,
            manager.write_if.w_channel,
            manager.write_if.b_channel,
            manager.read_if.ar_channel,
            manager.read_if.r_channel,
        ):
            channel.set_pause_generator(pauses(rng, JOB["stalls"]["lite"]))
    monitors = {
        "m_axi": AxiMonitor(JOB["word_bytes"], JOB["burst"], JOB["outstanding"]),
        "s_axi": AxiMonitor(4, outstanding=2, lite=True),
    }
    for prefix, monitor in monitors.items():
        cocotb.start_soon(watch(dut, prefix, monitor))
    for _ in range(4):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    await RisingEdge(dut.clk)

    registers = JOB["registers"]

    async def read(name):
        got = await manager.read(registers[name], 4)
        assert got.resp == AxiResp.OKAY
        return int.from_bytes(got.data, "little")

    async def write(name, value, size=4):
        got = await manager.write(registers[name], value.to_bytes(size, "little"))
        assert got.resp == AxiResp.OKAY

    await write("enable", 1)
    for source, destination, count in JOB["copies"]:
        while await read("busy"):
            pass
        await write("source", source, 8)
        await write("destination", destination, 8)
        await write("bytes", count)
        await write("start", 1)
        if rng.random() < 0.2:
            assert (await manager.read(JOB["nowhere"], 4)).resp == AxiResp.SLVERR
            assert (await manager.write(JOB["nowhere"], bytes(4))).resp == AxiResp.SLVERR
    interrupts = 0
    for _ in range(JOB["limit"]):
        if dut.irq.value:
            interrupts += 1
            await write("event", 1)
            if await read("done") == len(JOB["copies"]):
                break
        await RisingEdge(dut.clk)
    results = {name: await read(name) for name in ("done", "failed", "bad_words")}
    for _ in range(100):
        await RisingEdge(dut.clk)
    assert not dut.irq.value
    Path(os.environ["AXI_RESULT"]).write_text(
        json.dumps(
            {
                **results,
                "interrupts": interrupts,
                "before": contents.hex(),
                "after": bytes(memory).hex(),
                "axi_violations": sum(len(monitor.violations) for monitor in monitors.values()),
                "violations": [text for monitor in monitors.values() for text in monitor.violations],
                "clocks": monitors["m_axi"].clock,
                "moved": monitors["m_axi"].moved,
                "stalled": monitors["m_axi"].stalled,
                "most": monitors["m_axi"].most,
                "lite": monitors["s_axi"].moved,
            }
        )
    )
