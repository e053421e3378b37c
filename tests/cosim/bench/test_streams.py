"""The bench that every unit shares notices what a stream must not do. A unit with every defect, chosen by its items."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from types import SimpleNamespace

import numpy as np
import pytest

from bankside.constraints.core.errors import CheckFailed
from bankside.constraints.core.workspace import locked
from bankside.cosim.bench import build, streams
from bankside.cosim.bench.build import ALIVE, build_model, without_initial_values
from bankside.cosim.bench.campaign import Campaign
from bankside.cosim.bench.streams import Items, StreamPort, bench_text, play

pytestmark = pytest.mark.xdist_group("streams")

#: A register. The upper byte of an item says what goes wrong with it.
UNIT = """// A banner.
module defects (
  input wire clk, input wire rst,
  input wire i__valid, output wire i__ready, input wire [15:0] i__payload,
  output wire o__valid, input wire o__ready, output wire [15:0] o__payload
);
  reg full, again, refused;
  reg [15:0] item;
  reg [6:0] late;
  wire [7:0] defect = item[15:8];
  assign i__ready = (!full || (o__valid && o__ready && !(defect == 2 && !again))) && !(full && defect == 6);
  assign o__valid = full && defect != 6 && !(defect == 4 && refused) && (defect != 9 || o__ready);
  assign o__payload = {8'h00, item[7:0]} ^ {15'h0, defect == 3 && refused} ^ {15'h0, defect == 5};
  always @(posedge clk) begin
    refused <= o__valid && !o__ready;
    if (o__valid && o__ready) begin
      full <= defect == 2 && !again;
      again <= 1;
      if (defect == 8 && !again) late <= 127;
    end
    if (late != 0) late <= late - 1;
    if (late == 1) full <= 1;
    if (i__valid && i__ready) begin
      full <= i__payload[15:8] != 1;
      again <= 0;
      item <= i__payload;
      if (i__payload[15:8] == 7) $fatal(1, "Error: the unit gave up");
    end
    if (rst) begin full <= 0; again <= 0; refused <= 0; item <= 0; late <= 0; end
  end
endmodule
"""
NONE, LOST, DOUBLED, CHANGED, RETRACTED, WRONG, STUCK, CRASHED, LATE, WAITS = range(10)
PORTS = [StreamPort("i", 16, True), StreamPort("o", 16, False)]


def run(defect=NONE, *, count=100, at=50, target=None, epochs=1, verilog=UNIT, **options):
    """Numbers sent and received, item ``at`` with a defect."""
    sent = np.arange(count) % 256
    marks = np.zeros(count, int)
    marks[at] = defect
    payload = np.stack([sent, marks], axis=1).astype(np.uint8)
    epoch = np.arange(count) * epochs // count
    targets = np.bincount(epoch, minlength=epochs)
    targets[-1] += 0 if target is None else target - count
    items = Items.of(payload, epoch=epoch, cycle=options.pop("cycle", 0), tag=options.pop("tag", 0))
    result = play(verilog, "defects", PORTS, {"i": items}, {"o": targets}, **{"limit": 2000, **options})
    return sent, result.outputs["o"].astype(int) @ (1, 256), result


PRESSURE = {"stalls": {"i": 0.3, "o": 0.5}}


@pytest.fixture(scope="module", autouse=True)
def built():
    """The model that the tests share."""
    run()


@pytest.mark.parametrize("options", [{}, PRESSURE, {**PRESSURE, "seed": 5}, {"lazy": True}], ids=str)
def test_good_stream(options):
    sent, got, result = run(**options)
    assert np.array_equal(sent, got) and result.faults == []
    assert result.epochs[0].moved["i"].tolist() == [100, 0, 0, 0]


def test_stalls_are_random_reproducible_and_as_frequent_as_asked():
    free = run(count=250)[2]
    assert free.epochs[0].end_cycle <= 252 and free.epochs[0].stalled["i"].sum() == 0
    held = [run(count=250, seed=seed, stalls={"i": 0.6, "o": 0.0})[2].epochs[0] for seed in (1, 1, 2)]
    for log in held:
        assert log.stalled["i"].sum() == 0 and 250 / 0.4 * 0.8 < log.end_cycle < 250 / 0.4 * 1.25
    assert held[0].end_cycle == held[1].end_cycle != held[2].end_cycle
    refused = run(count=250, stalls={"o": 0.6})[2].epochs[0]
    assert 250 / 0.4 * 0.8 < refused.end_cycle < 250 / 0.4 * 1.25 and refused.stalled["i"].sum() > 250


def test_payload_that_changes_while_stalled():
    """It is right again when it is taken, and reported all the same: only with pressure can it be seen."""
    _, got, result = run(CHANGED, **PRESSURE, at=slice(40, 60))
    assert result.faults and all(f.startswith("fault o changed while stalled, epoch 0 cycle ") for f in result.faults)
    assert run(CHANGED)[2].faults == []


def test_item_that_is_withdrawn():
    sent, got, result = run(RETRACTED, **PRESSURE, at=slice(40, 60))
    assert np.array_equal(sent, got)
    assert result.faults and "changed while stalled" in result.faults[0]


def test_lost_item():
    with pytest.raises(CheckFailed, match=r"^defects: 0 of 1 epochs finished, then no end within 2000 cycles"):
        run(LOST)
    sent, got, _ = run(LOST, target=99)
    assert np.array_equal(got, np.delete(sent, 50))


@pytest.mark.parametrize("at", [0, 50, 99])
def test_doubled_item(at):
    """The bench listens after the last expected item too."""
    sent, got, _ = run(DOUBLED, at=at)
    assert np.array_equal(got, np.insert(sent, at, sent[at]))


def test_item_that_comes_again_long_after():
    sent, got, _ = run(LATE, at=99)
    assert np.array_equal(got, [*sent, sent[99]])


def test_output_that_waits_for_its_consumer():
    """A consumer that becomes ready only when it is asked never gets it."""
    sent, got, _ = run(WAITS, **PRESSURE)
    assert np.array_equal(sent, got)
    with pytest.raises(CheckFailed, match="no end within 2000 cycles"):
        run(WAITS, lazy=True)


def test_interrupted_simulation_is_stopped(tmp_path, monkeypatch):
    """It would run for hours; the folder it ran in is gone too."""

    def interrupt(number, frame):
        raise KeyboardInterrupt

    run()  # builds
    monkeypatch.setattr("bankside.cosim.bench.streams.cache_folder", lambda: tmp_path)
    handler = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 2)
    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            run(STUCK, limit=(1 << 32) - 1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
    assert time.monotonic() - began < 10 and os.listdir(tmp_path / "runs") == []


def test_wrong_item():
    sent, got, _ = run(WRONG)
    assert np.flatnonzero(sent != got).tolist() == [50]


def test_hang_says_how_far_it_came():
    text = r"^defects: 2 of 4 epochs finished, then no end within 2000 cycles \(limit 2 2000 i:10\)$"
    with pytest.raises(CheckFailed, match=text):
        run(STUCK, epochs=4, at=60)


def test_simulator_that_stops():
    with pytest.raises(CheckFailed, match=r"^the simulation stopped \(exit .*\): .*rror"):
        run(CRASHED)


def test_items_wait_for_their_cycle_and_epoch():
    cycle = np.tile(np.arange(25) * 7, 4)
    sent, got, result = run(epochs=4, cycle=cycle, tag=np.arange(100) % 4)
    assert np.array_equal(sent, got) and len(result.epochs) == 4
    for log in result.epochs:
        assert log.moved["i"].sum() == 25 and log.stalled["i"].sum() == 0
        # Offered in the cycle after the one named at the earliest, and taken at once: nobody waits.
        assert log.first["i"].min() <= 2 and 24 * 7 <= log.last["i"].max() <= 24 * 7 + 1
        assert log.end_cycle - log.last["i"].max() <= 1


def test_counts_by_tag():
    result = run(tag=np.repeat([0, 1, 2, 3], [10, 20, 30, 40]))[2]
    log = result.epochs[0]
    assert log.moved["i"].tolist() == [10, 20, 30, 40]
    assert (log.last["i"] - log.first["i"]).tolist() == [9, 19, 29, 39]


def test_waveform(tmp_path):
    """Builds a second model, with tracing."""
    result = run(count=3, at=0, waves=tmp_path / "wave")[2]
    assert (
        result.waves.parent == tmp_path
        and result.waves.suffix in (".fst", ".vcd")
        and result.waves.stat().st_size > 100
    )


def test_model_is_built_once_for_a_content(monkeypatch):
    text = bench_text("defects", PORTS[:1], PORTS[1:])
    first = build_model(UNIT, "defects", text)
    with monkeypatch.context() as patch:
        patch.setattr("bankside.cosim.bench.build._run", lambda *a: pytest.fail("built again"))
        assert build_model(UNIT, "defects", text) == first
        assert build_model("// Another banner\n" + UNIT.split("\n", 1)[1], "defects", text) == first
    for verilog, bench in ((UNIT.replace("defect == 5", "defect == 8"), text), (UNIT, text + "\n")):
        with pytest.raises(pytest.fail.Exception, match="another content"), monkeypatch.context() as patch:
            patch.setattr("bankside.cosim.bench.build._run", lambda *a: pytest.fail("another content"))
            build_model(verilog, "defects", bench)
    assert sorted(os.listdir(first)) == ["bench", "bench.sv", "bench.vlt", "defects.v"]


def test_design_that_verilator_rejects(tmp_path, monkeypatch):
    monkeypatch.setenv("BANKSIDE_CACHE", str(tmp_path))
    text = bench_text("defects", PORTS[:1], PORTS[1:])
    with pytest.raises(CheckFailed, match=r"^verilator rejected the design: %Error: defects.v:\d+:.*syntax error"):
        build_model(UNIT.replace("endmodule", "end module"), "defects", text)
    with pytest.raises(CheckFailed, match=r"^verilator rejected the design: %.*LATCH"):
        build_model(
            UNIT.replace(
                "  always @(posedge clk) begin", "  reg l; always @* if (clk) l = rst;\n  always @(posedge clk) begin"
            ),
            "defects",
            text,
        )
    assert [p.suffix for p in (tmp_path / "models").iterdir()] == [".lock", ".lock"]


def test_old_folders_are_swept(tmp_path, monkeypatch):
    """A killed build at the next, work of a killed run after a day, a model after a month without use."""
    monkeypatch.setenv("BANKSIDE_CACHE", str(tmp_path))
    day = 86400
    for name, age in (
        ("models/build-a", 120),
        ("models/build-b", 0),
        ("models/build-c", 2 * day),
        ("models/unit-old", 31 * day),
        ("models/unit-used", 29 * day),
        ("runs/run-a", 2 * day),
        ("runs/run-b", 0),
    ):
        (tmp_path / name).mkdir(parents=True)
        os.utime(tmp_path / name, (time.time() - age, time.time() - age))
    monkeypatch.setattr("bankside.cosim.bench.build._run", lambda *a: pytest.fail("built"))
    with locked(tmp_path / "models" / "build-c" / ALIVE), pytest.raises(pytest.fail.Exception):
        os.utime(tmp_path / "models" / "build-c", (time.time() - 2 * day,) * 2)
        build_model(UNIT, "defects", "bench")
    left = {str(p.relative_to(tmp_path)) for p in tmp_path.glob("*/*") if p.is_dir()}
    assert left == {"models/build-b", "models/build-c", "models/unit-used", "runs/run-b"}


#: Two registers one behind the other, written as the generators write parts; ready goes through both.
CHAIN = """module chain_register(i__payload, i__valid, o__ready, clk, rst, i__ready, o__payload, o__valid);
  input clk;
  input rst;
  input [15:0] i__payload;
  input i__valid;
  output i__ready;
  output [15:0] o__payload;
  output o__valid;
  input o__ready;
  reg [15:0] item;
  reg full;
  assign i__ready = !full || o__ready;
  assign o__valid = full;
  assign o__payload = item;
  always @(posedge clk) begin
    if (i__ready) begin full <= i__valid; item <= i__payload + 16'd1; end
    if (rst) full <= 0;
  end
endmodule
module chain(i__payload, i__valid, o__ready, clk, rst, i__ready, o__payload, o__valid);
  input clk;
  input rst;
  input [15:0] i__payload;
  input i__valid;
  output i__ready;
  output [15:0] o__payload;
  output o__valid;
  input o__ready;
  wire [15:0] between;
  wire valid, ready;
  chain_register first (
    .clk(clk), .rst(rst), .i__payload(i__payload), .i__valid(i__valid), .i__ready(i__ready),
    .o__payload(between), .o__valid(valid), .o__ready(ready)
  );
  chain_register second (
    .clk(clk), .rst(rst), .i__payload(between), .i__valid(valid), .i__ready(ready),
    .o__payload(o__payload), .o__valid(o__valid), .o__ready(o__ready)
  );
endmodule
"""


@pytest.mark.essential
def test_model_of_parts_is_that_of_the_whole(monkeypatch, tmp_path):
    """A part compiled once for all its instances gives the same items in the same cycles, with a waveform too."""
    payload = np.stack([np.arange(200) % 256, np.zeros(200, int)], axis=1).astype(np.uint8)
    assert build.repeated_parts(CHAIN, "chain") == []
    runs = []
    for threshold, waves in ((build.REPEATED_TEXT, None), (1, None), (1, tmp_path / "chain")):
        monkeypatch.setattr(build, "REPEATED_TEXT", threshold)
        monkeypatch.setattr(build, "PART_TEXT", threshold)
        runs.append(
            play(CHAIN, "chain", PORTS, {"i": Items.of(payload)}, {"o": np.array([200])}, waves=waves, **PRESSURE)
        )
    assert build.repeated_parts(CHAIN, "chain") == ["chain_register"]
    whole, parts, waved = runs
    assert np.array_equal(whole.outputs["o"].astype(int) @ (1, 256), np.arange(200) % 256 + 2) and whole.faults == []
    for run_of_parts in (parts, waved):
        assert np.array_equal(whole.outputs["o"], run_of_parts.outputs["o"])
        assert np.array_equal(whole.output_cycles["o"], run_of_parts.output_cycles["o"])
    assert waved.waves is not None and waved.waves.stat().st_size > 1000


#: Feeds an item in each of four clocks and prints what comes out.
FEED = """#include <cstdio>
#include "Vtop.h"
#include "verilated.h"
int main(int argc, char** argv) {
    VerilatedContext context;
    context.commandArgs(argc, argv);
    Vtop top{&context};
    for (int n = 0; n < 10; n++) {
        top.rst = n < 2;
        top.valid_in = n >= 2 && n < 6;
        top.payload_in = 7 * n;
        top.clk = 0; top.eval();
        if (top.valid_out) std::printf("%d ", top.payload_out);
        top.clk = 1; top.eval();
    }
    top.final();
}
"""
AROUND = """module bench(input wire clk, input wire rst, input wire valid_in, input wire [15:0] payload_in,
  output wire valid_out, output wire [15:0] payload_out);
  wire ready;
  chain unit(.clk(clk), .rst(rst), .i__payload(payload_in), .i__valid(valid_in), .i__ready(ready), .o__payload(payload_out),
    .o__valid(valid_out), .o__ready(1'b1));
endmodule
"""


@pytest.mark.slow
def test_driver_of_parts_is_that_of_the_whole(monkeypatch):
    """A program of its own, too, gets a part that is compiled once for all its instances."""
    seen = []
    for threshold in (build.REPEATED_TEXT, 1):
        monkeypatch.setattr(build, "REPEATED_TEXT", threshold)
        monkeypatch.setattr(build, "PART_TEXT", threshold)
        folder = build.build_driver(CHAIN, "chain", AROUND, {"feed.cpp": FEED})
        assert ('hier_block -module "chain_register"' in (folder / "bench.vlt").read_text()) is (threshold == 1)
        seen.append(subprocess.run([folder / "bench"], capture_output=True, text=True, check=True).stdout.split())
    assert seen[0] == seen[1] == ["16", "23", "30", "37"]


def test_parts_begin_at_random_too(monkeypatch):
    """A register of a part that reset does not clear, the part compiled once for all its instances."""
    payload = np.stack([np.arange(200) % 256, np.zeros(200, int)], axis=1).astype(np.uint8)
    keeps = CHAIN.replace("reg full;", "reg full;\n  reg [15:0] more = 16'h1;").replace("+ 16'd1", "+ more")
    keeps = keeps.replace("    if (rst)", "    more <= more;\n    if (rst)")
    monkeypatch.setattr(build, "REPEATED_TEXT", 1)
    monkeypatch.setattr(build, "PART_TEXT", 1)
    clears = keeps.replace("full <= 0;", "begin full <= 0; more <= 1; end")
    for text, right in ((CHAIN, True), (keeps, False), (clears, True)):
        run = play(text, "chain", PORTS, {"i": Items.of(payload)}, {"o": np.array([200])}, power_up="random", resets=2)
        assert (run.faults == []) is right, run.faults


#: A register. After every 16th item it pauses. The upper byte of its last item says what reset does not clear.
CARELESS = """module careless (
  input wire clk, input wire rst,
  input wire i__valid, output wire i__ready, input wire [15:0] i__payload,
  output wire o__valid, input wire o__ready, output wire [15:0] o__payload
);
  reg full = 1'h0;
  reg stuck = 1'h0;
  reg [15:0] item;
  reg [3:0] count = 4'h0;
  reg [2:0] gap = 3'h2;
  reg [2:0] left = 3'h0;
  reg [7:0] held [1:0];
  initial begin
    held[0] = 8'h00;
    held[1] = 8'h00;
  end
  wire [7:0] kept = item[15:8];
  wire [7:0] given = i__payload[15:8];
  assign i__ready = (!full || o__ready) && left == 0 && !stuck;
  assign o__valid = full;
  assign o__payload = {8'h00, item[7:0]};
  always @(posedge clk) begin
    if (left != 0) left <= left - 1;
    if (o__ready) full <= 0;
    if (i__valid && i__ready) begin
      full <= 1;
      item <= i__payload + (given == 3 && count == 15 ? {8'h00, held[1]} : 16'h0);
      count <= count + 1;
      if (count == 15) left <= given == 2 ? gap : 3'h5;
    end
    if (rst) begin
      left <= 0;
      if (kept != 1) count <= 0;
      if (kept != 4) full <= 0;
      stuck <= kept == 5 && full;
      gap <= gap;
    end
  end
  always @(posedge clk) begin
    if (count == 0)
      held[count[0]] <= 8'h00;
  end
endmodule
"""
COUNT, GAP, MEMORY, ITEM, HANGS = range(1, 6)


def careless(kept=0, **options):
    payload = np.stack([np.arange(100), np.full(100, kept)], axis=1).astype(np.uint8)
    return play(
        CARELESS, "careless", PORTS, {"i": Items.of(payload)}, {"o": np.array([100])}, **{"limit": 2000, **options}
    )


@pytest.mark.parametrize("options", [{}, PRESSURE], ids=["free", "stalls"])
def test_unit_that_reset_clears(options):
    """Random registers, and resets in the middle of work: the same items in the same cycles."""
    plain = careless(**options)
    for more in ({"power_up": "random"}, {"resets": 5}, {"power_up": "random", "resets": 3, "seed": 7}):
        run = careless(**options, **more)
        assert run.faults == []
        assert np.array_equal(run.outputs["o"], plain.outputs["o"])
        if "seed" not in more:  # which decides the stalls
            assert np.array_equal(run.output_cycles["o"], plain.output_cycles["o"])


@pytest.mark.parametrize(
    ("kept", "options", "message"),
    [
        pytest.param(
            COUNT, {"resets": 2}, r"^after reset 1 at clock \d+: o \d+ \(epoch 0\): 0x00\w\w in cycle ", id="counter"
        ),
        pytest.param(
            GAP, {"power_up": "random"}, "^from random registers: epoch 0 has other cycles: epoch 0 ", id="value"
        ),
        pytest.param(
            MEMORY,
            {"power_up": "random"},
            r"^from random registers: o 15 \(epoch 0\): 0x00\w\w in cycle (\d+) instead of 0x000f in cycle \1$",
            id="memory that nobody wrote",
        ),
        pytest.param(
            ITEM, {"resets": 6, **PRESSURE}, r"^after reset \d at clock \d+: o: \d+ items instead of ", id="item"
        ),
    ],
)
def test_unit_that_reset_does_not_clear(kept, options, message):
    """Each is right from zeros with one reset, and told otherwise."""
    assert careless(kept).faults == []
    assert any(re.search(message, fault) for fault in careless(kept, **options).faults)


def test_unit_that_hangs_after_a_reset():
    with pytest.raises(
        CheckFailed, match=r"^careless: 0 of 1 epochs finished after reset \d, then no end within 2000 cyc"
    ):
        careless(HANGS, resets=4, stalls={"o": 0.9})


def test_power_up_that_is_none():
    with pytest.raises(ValueError, match="^Power-up must be one of zeros, random, not 'ones'$"):
        careless(power_up="ones")


def test_design_without_initial_values():
    text = without_initial_values(CARELESS)
    assert "initial" not in text and "reg [2:0] gap ;" in text and "reg full ;" in text
    table = CARELESS.replace("held[count[0]] <= 8'h00;", "left <= 0;")
    assert "held[1] = 8'h00;" in without_initial_values(table)  # nothing writes it: a circuit
    # The name of a memory in one module says nothing about that in another.
    assert without_initial_values(table.replace("careless", "other") + CARELESS).count("initial") == 1


def test_run_that_fails_stops_the_run_beside_it(tmp_path):
    (tmp_path / "bench").write_text("#!/bin/sh\nexec sleep 600\n")
    (tmp_path / "bench").chmod(0o755)
    said = []

    def simulate(episodes, **options):
        if episodes == "sleeps":
            return streams._simulate(tmp_path, tmp_path, [], 1, False)
        until = time.monotonic() + 60
        while not streams._running and time.monotonic() < until:
            time.sleep(0.01)
        raise CheckFailed("the unit hung")

    campaign = Campaign(SimpleNamespace(progress=said.append, seed=1, quick=False, waves=None), simulate)
    began = time.monotonic()
    with pytest.raises(CheckFailed, match="the unit hung"):
        campaign.side_by_side({"stalls": "sleeps", "power_up": "fails"})
    assert time.monotonic() - began < 60 and not streams._running and not campaign.outcomes
    assert said == [
        "building the Verilated model",
        "simulating: random stalls and back-pressure; random registers and memories at first, resets at random clocks",
    ]
