"""Runs inside the simulator: the bus models of cocotbext-axi around ``inf2-accelerator``."""

import json
import os
import random
from pathlib import Path

import cocotb
from axi_copy_tb import JOB, Memory, pauses, watch
from axi_monitor import AxiMonitor
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiResp, AxiSlave


@cocotb.test()
async def jobs(dut):
    rng = random.Random(JOB["seed"])
    for name in (name for name, way in JOB["ports"].items() if way == "Input"):
        getattr(dut, name).value = 0
    dut.rst.value = 1
    Clock(dut.clk, 10, unit="ns").start()
    memory = Memory(JOB["memory_bytes"])
    memory[0 : JOB["memory_bytes"]] = rng.randbytes(JOB["memory_bytes"])
    slave = AxiSlave(AxiBus.from_prefix(dut, "m_axi"), dut.clk, dut.rst, target=memory)
    manager = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi"), dut.clk, dut.rst)
    channels = (
        slave.write_if.aw_channel,
        slave.write_if.w_channel,
        slave.write_if.b_channel,
        slave.read_if.ar_channel,
        slave.read_if.r_channel,
        manager.write_if.aw_channel,
        manager.write_if.w_channel,
        manager.write_if.b_channel,
        manager.read_if.ar_channel,
        manager.read_if.r_channel,
    )
    for number, channel in enumerate(channels):
        if JOB["stalls"]:
            channel.set_pause_generator(pauses(random.Random(f"{JOB['seed']} {number}"), JOB["stalls"]))
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

    errors, outputs = [], []
    for job in JOB["jobs"]:
        for place, contents in job["loads"]:
            memory[place : place + len(contents) // 2] = bytes.fromhex(contents)
        before = bytes(memory)
        for address, value in job["writes"]:
            assert (await manager.write(address, value.to_bytes(4, "little"))).resp == AxiResp.OKAY
        for _ in range(JOB["limit"]):
            if dut.irq.value:
                break
            await RisingEdge(dut.clk)
        else:
            raise AssertionError("no interrupt came")
        got = await manager.read(JOB["error"], 4)
        errors.append(int.from_bytes(got.data, "little"))
        await manager.write(JOB["events"], b"\3\0\0\0")
        after = bytes(memory)
        changed = [n for n in range(len(after)) if after[n] != before[n]]
        first, end = job["output"]
        assert all(first <= n < end for n in changed), "a byte outside of the output was written"
        outputs.append(after[first:end].hex())
        while dut.irq.value:
            await RisingEdge(dut.clk)
    Path(os.environ["AXI_RESULT"]).write_text(
        json.dumps(
            {
                "errors": errors,
                "outputs": outputs,
                "moved": monitors["m_axi"].moved,
                "stalled": monitors["m_axi"].stalled,
                "violations": [text for monitor in monitors.values() for text in monitor.violations],
            }
        )
    )
