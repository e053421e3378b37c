# amaranth: UnusedElaboratable=no
"""The blocks of AXI between bus models of others, those of cocotbext-axi: a copier of memory that is built from the blocks.

A processor programs the copier over AXI4-Lite. The copier reads and writes memory over AXI4. The memory and the processor
stall at random, requests are not aligned, and some addresses answer with errors.
"""

import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from amaranth import *
from amaranth.back import verilog
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bankside.cosim.bench.build import build_model, simulator_environment, without_initial_values
from bankside.gen.blocks.axi import AxiLiteRegisters, AxiLiteSignature, AxiMemoryPort, Field, bus_ports, request_layout
from bankside.gen.blocks.stream import StreamFIFO

from .axi_monitor import CHANNELS, AxiMonitor

HERE = Path(__file__).parent
MEMORY_BYTES = 1 << 18
REGISTERS = (
    Field("source", 0x00, 64, "rw"),
    Field("destination", 0x08, 64, "rw"),
    Field("bytes", 0x10, 32, "rw"),
    Field("start", 0x14, 1, "pulse"),
    Field("busy", 0x14, 1, "ro", low=1),
    Field("done", 0x18, 32, "ro"),
    Field("failed", 0x28, 32, "ro"),
    Field("bad_words", 0x1C, 32, "ro"),
    Field("event", 0x20, 1, "w1c"),
    Field("enable", 0x24, 1, "rw"),
)


class Copier(wiring.Component):
    """Copies bytes of memory. Source and destination have the same place within a word."""

    def __init__(self, **parameters):
        self.port = AxiMemoryPort(address_bits=64, length_bits=32, **parameters)
        self.registers = AxiLiteRegisters(REGISTERS, address_bits=8, interrupts={"event": "enable"})
        super().__init__(
            {"m_axi": Out(self.port.m_axi.signature), "s_axi": In(AxiLiteSignature(address_bits=8)), "irq": Out(1)}
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.port = port = self.port
        m.submodules.registers = registers = self.registers
        layout = request_layout(64, 32)
        m.submodules.reads = reads = StreamFIFO(layout, 8)
        m.submodules.writes = writes = StreamFIFO(layout, 8)
        wiring.connect(m, port.m_axi, wiring.flipped(self.m_axi))
        wiring.connect(m, wiring.flipped(self.s_axi), registers.s_axi)
        wiring.connect(m, reads.o, port.read_request)
        wiring.connect(m, writes.o, port.write_request)
        m.d.comb += [
            self.irq.eq(registers.irq),
            registers.busy.eq(~(reads.i.ready & writes.i.ready)),
            *(fifo.i.valid.eq(registers.start) for fifo in (reads, writes)),
            reads.i.p.address.eq(registers.source),
            writes.i.p.address.eq(registers.destination),
            *(fifo.i.p.bytes.eq(registers.bytes) for fifo in (reads, writes)),
            # An item that keeps no byte stands for a request without bytes: the writer has no word for it.
            port.write_data.payload.eq(port.read_data.p.data),
            port.write_data.valid.eq(port.read_data.valid & port.read_data.p.keep.any()),
            port.read_data.ready.eq(port.write_data.ready | ~port.read_data.p.keep.any()),
            port.write_status.ready.eq(1),
            registers.event_set.eq(port.write_status.valid),
        ]
        with m.If(port.write_status.valid):
            m.d.sync += [
                registers.done.eq(registers.done + 1),
                registers.failed.eq(registers.failed + port.write_status.p.error),
            ]
        with m.If(port.read_data.valid & port.read_data.ready):
            m.d.sync += registers.bad_words.eq(registers.bad_words + port.read_data.p.error)
        return m


def simulate(folder, job, **parameters):
    """Results of a run."""
    dut = Copier(**parameters)
    ports = bus_ports(dut)
    text = verilog.convert(dut, name="copier", ports=ports, emit_src=False, strip_internal_attrs=True)
    job |= {
        "registers": {field.name: field.offset for field in REGISTERS},
        "nowhere": 0x80,
        "limit": 50_000,
        "memory_bytes": MEMORY_BYTES,
        "word_bytes": parameters["data_bits"] // 8,
        "burst": parameters["burst"],
        "outstanding": parameters["outstanding"],
    }
    return simulate_buses(
        folder,
        text,
        "copier",
        {name: (len(value), way.name) for name, (value, way) in ports.items()},
        "axi_copy_tb",
        job,
    )


def simulate_buses(folder, text, top, ports, bench_module, job):
    """Results of a module between the bus models of a cocotb test ``bench_module``, which reads ``job``.

    ``ports``: width and direction (``Input``, ``Output``) of every port but clock and reset.
    """
    from cocotb_tools import config
    from cocotb_tools.check_results import get_results
    from find_libpython import find_libpython

    heads = [f"{way.lower()} wire [{width - 1}:0] {name}" for name, (width, way) in ports.items()]
    heads = [f"{head} /* verilator public_flat_rw */" for head in (*heads, "input wire clk", "input wire rst")]
    bench = f"module bench (\n  {', '.join(heads)}\n);\n  {top} {top} (.*);\nendmodule\n".replace(", ", ",\n  ")
    model = build_model(without_initial_values(text), top, bench)
    (folder / "job.json").write_text(json.dumps(job | {"ports": {name: way for name, (_, way) in ports.items()}}))
    env = simulator_environment()
    env |= {
        "PATH": env["PATH"] + os.pathsep + str(config.libs_dir),
        "PYTHONPATH": os.pathsep.join([str(HERE), *(p for p in sys.path if p)]),
        "PYGPI_PYTHON_BIN": sys.executable,
        "GPI_USERS": f"{find_libpython()};{config.pygpi_entry_point()}",
        "COCOTB_TOPLEVEL": "bench",
        "COCOTB_TEST_MODULES": bench_module,
        "TOPLEVEL_LANG": "verilog",
        "COCOTB_RANDOM_SEED": str(job["seed"]),
        "COCOTB_RESULTS_FILE": str(folder / "results.xml"),
        "COCOTB_LOG_LEVEL": "WARNING",
        "AXI_JOB": str(folder / "job.json"),
        "AXI_RESULT": str(folder / "result.json"),
    }
    command = [str(model / "bench"), "+verilator+rand+reset+2", f"+verilator+seed+{job['seed'] + 1}"]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    assert (folder / "results.xml").exists(), done.stdout[-2000:] + done.stderr[-2000:]
    assert get_results(folder / "results.xml") == (1, 0), done.stdout[-4000:]
    return json.loads((folder / "result.json").read_text())


#: Ranges that fail: words of sources, then of destinations.
BAD = [(0x8000, 0x8100), (0x2_8000, 0x2_8100)]


def some_copies(rng, count, size, most_words):
    """Sources in the lower half of the memory, destinations in the upper half, often across 4 KiB and into bad ranges."""
    for number in range(count):
        offset = rng.randrange(size)
        source, destination = (
            rng.choice([near, rng.randrange(0, 0x18000)]) // size * size + offset
            for near in (0x8000 - 2 * size, 0x8000 + size)
        )
        words = 0 if number % 7 == 3 else rng.choice([1, 2, rng.randrange(1, most_words)])
        yield source, destination + 0x2_0000, max(0, words * size - rng.randrange(size)) if words else 0


def check(folder, stalls, seed, *, count=24, **parameters):
    """Run copies, and compare memory, counters and rules. Returns the results."""
    size = parameters["data_bits"] // 8
    rng = random.Random(seed)
    copies = list(some_copies(rng, count, size, 3 * parameters["burst"]))
    got = simulate(folder, {"seed": seed, "stalls": stalls, "bad": BAD, "copies": copies}, **parameters)
    memory = bytearray.fromhex(got["before"])
    bad_words = failed = 0
    for source, destination, amount in copies:
        fails = False
        for here in range(source // size * size, source + amount, size) if amount else ():
            bad = any(first < here + size and here < end for first, end in BAD)
            bad_words += bad
            first, end = max(here, source), min(here + size, source + amount)
            target = destination + first - source
            if any(low < target + end - first and target < high for low, high in BAD):
                fails = True
                continue
            memory[target : target + end - first] = bytes(end - first) if bad else memory[first:end]
        failed += fails
    assert got["axi_violations"] == 0, got["violations"][:5]
    assert bytes(memory).hex() == got["after"]
    assert (got["done"], got["failed"], got["bad_words"]) == (count, failed, bad_words)
    assert failed and bad_words and got["interrupts"]
    assert max(got["most"].values()) <= parameters["outstanding"]
    assert got["stalled"]["r"] == 0  # the reader has reserved room for every word
    return got


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(("bits", "burst", "outstanding"), [(512, 16, 4), (32, 256, 2)])
def test_copies(bits, burst, outstanding, seed, tmp_path):
    pytest.importorskip("cocotbext.axi", reason="cocotbext-axi is not installed")
    parameters = {"data_bits": bits, "burst": burst, "outstanding": outstanding, "depth": 2 * burst}
    none = check(tmp_path, {}, seed, **parameters)
    some = check(tmp_path, dict.fromkeys(("aw", "w", "b", "ar", "r", "lite"), 0.5), seed, **parameters)
    late = check(tmp_path, {"aw": 0.9, "ar": 0.9}, seed, **parameters)
    assert none["moved"] == some["moved"] == late["moved"]
    assert some["clocks"] > none["clocks"] and all(some["stalled"][name] for name in ("aw", "w", "ar"))
    assert none["most"]["ar"] > 1 and none["moved"]["r"] > 100


IDLE = {f"{channel}{member}": 0 for channel, members in CHANNELS.items() for member in (*members, "valid", "ready")}
AW = {"awvalid": 1, "awready": 1, "awaddr": 0xFF0, "awlen": 1, "awsize": 3, "awburst": 1}
AR = {"arvalid": 1, "arready": 1, "araddr": 0xFF0, "arlen": 1, "arsize": 3, "arburst": 1}
W = {"wvalid": 1, "wready": 1, "wdata": 5, "wstrb": 255}
B = {"bvalid": 1, "bready": 1}
R = {"rvalid": 1, "rready": 1}


@pytest.mark.parametrize(
    ("steps", "violation"),
    [
        ([AW, W, {**W, "wlast": 1}, B], None),
        ([W, {**W, "wlast": 1}, AW, B], None),
        ([{**AW, "awready": 0}, AW, {**AR, **W}, {**W, **R, "wlast": 1}, {**R, "rlast": 1, **B}], None),
        ([{**AW, "awready": 0}, {}], "aw was withdrawn"),
        ([{**AR, "arready": 0}, {**AR, "araddr": 0}], "ar changed while it was stalled"),
        ([{**W, "wready": 0}, {**W, "wstrb": 1}], "w changed while it was stalled"),
        ([{**AR, "araddr": 0xFF8}], "ar has a burst of 2 words at 0xff8, across 4 KiB"),
        ([{**AR, "araddr": 0, "arlen": 4}], "ar has a burst of 5 words"),
        ([{**AR, "arsize": 2}], "ar has a burst of another kind"),
        ([AR, AR, AR], "ar has 3 bursts under way"),
        ([AW, {**W, "wlast": 1}], "a burst has 1 words, and its address says 2"),
        ([AW, W, W, W], "a burst has words without an end"),
        ([AW, W, B], "B answers no write"),
        ([W, {**W, "wlast": 1}, B], "B answers no write"),
        ([AW, W, {**W, **B, "wlast": 1}], "B answers no write"),
        ([R], "R answers no read"),
        ([AR, {**R, "rlast": 1}], "rlast is not at the last word"),
        ([AR, R, R], "rlast is not at the last word"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_monitor(steps, violation):
    """It accepts what the rules allow, and names each violation."""
    monitor = AxiMonitor(8, burst=4, outstanding=2)
    for step in steps:
        monitor.step({**IDLE, **step})
    assert [re.sub(r"^clock \d+: ", "", text) for text in monitor.violations[:1]] == ([violation] if violation else [])
    assert not violation or len(monitor.violations) == 1
