"""Synthesis end to end on small designs whose area, registers, memories and paths are known by hand."""

import dataclasses
import json
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bankside.constraints.core.errors import ConfigError
from bankside.cosim.bench.parts import split
from bankside.hardware.synthesis import EFFORTS, flow, from_file, get, netlist, sta, synthesise
from bankside.hardware.synthesis.flow import map_to_cells
from bankside.hardware.synthesis.liberty import parse
from bankside.hardware.synthesis.memories import macro_model

AND_OR = "module and_or (input a, b, c, d, output y); assign y = ~((a & b) | (c & d)); endmodule"
REGISTERS = """
module registers (input clk, rst, en, input [4:0] d, output reg [4:0] q, output reg [2:0] n);
  always @(posedge clk) begin if (en) q <= d; if (rst) n <= 0; else n <= n + 1; end
endmodule
"""
MEMORY = """
module memory #(parameter W = 20, D = 16, A = 4) (input clk, we, input [A-1:0] wa, ra, input [W-1:0] wd,
                                                  output reg [W-1:0] q);
  reg [W-1:0] mem [0:D-1];
  always @(posedge clk) begin if (we) mem[wa] <= wd; q <= mem[ra]; end
endmodule
"""
MULTIPLIER = """
module multiplier (input clk, rst, input [7:0] a, b, output reg [19:0] acc);
  reg [7:0] ra, rb; reg [15:0] p;
  always @(posedge clk) begin ra <= a; rb <= b; p <= ra * rb; acc <= acc + p; if (rst) acc <= 0; end
endmodule
"""
COMBINATIONAL = """
module comb (input [7:0] a, b, c, input s, output [15:0] y, output p);
  assign y = s ? a * b + c : {a ^ b, a + c}; assign p = ^(a ^ c) ^ (a < b);
endmodule
"""


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory):
    """A cache of this module's own, below a folder that the WebAssembly build can't see by its absolute path."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BANKSIDE_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="module")
def generic():
    return get("generic")


def test_and_or_invert_is_one_cell(generic, cache):
    """y = !(ab + cd) is an AOI22: 4 columns per unit of drive and 1, of which a NAND2 (0.8 um2) has 3."""
    stages = []
    result = synthesise(AND_OR, "and_or", generic, progress=stages.append)
    ((name, count),) = result.cells.items()
    kind, _, drive = name.rpartition("_X")
    assert (kind, count) == ("AOI22", 1)
    assert result.area_ge == pytest.approx((4 * int(drive) + 1) / 3, abs=1e-5)
    assert result.area_um2 == pytest.approx(0.8 * result.area_ge)
    assert (result.sequential_ge, result.flip_flops, result.memory_bits) == (0, 0, 0)
    assert list(result.timing.paths) == ["input_to_output"]
    assert result.register_fmax_mhz is None
    arc = generic.cells[name].outputs[0].arcs[0]  # an ideal step at the input; a flip-flop's D, 1.6 fF, at the output
    assert result.critical_path_ns == pytest.approx(arc.delay["rise"](0, 1.6))
    assert "mapping" in stages and stages[-1] == "timing"
    assert [p.name for p in (cache / "synthesis").iterdir() if p.name.startswith(".work")] == []


def test_registers_are_counted(generic):
    result = synthesise(REGISTERS, "registers", generic)
    assert result.flip_flops == 8
    assert result.sequential_ge == pytest.approx(8 * 17 / 3, abs=1e-4)
    assert result.timing.clocks == ("clk",)
    by_hand = sum(generic.cells[name].area_um2 * count for name, count in result.cells.items())
    assert result.area_um2 == result.logic_area_um2 == by_hand
    assert result.area_ge == pytest.approx(result.sequential_ge + result.combinational_ge)


def test_memory_above_the_threshold_stays_a_macro(generic):
    result = synthesise(MEMORY, "memory", generic)  # 320 bits
    (macro,) = result.memories
    assert (macro.depth, macro.width, macro.bits, macro.read_ports, macro.write_ports) == (16, 20, 320, 1, 1)
    assert macro.synchronous_read
    assert result.memory_bits == 320
    assert result.flip_flops == 0
    assert result.area_um2 == pytest.approx(result.logic_area_um2 + macro.area_um2)
    assert result.as_dict()["memories"][0]["bits"] == 320
    assert result.memory_model == "fakeram45"
    # Setup of a macro input, and its clock to output with the load of an output port.
    assert result.timing.paths["input_to_register"].length_ns == pytest.approx(0.05)
    assert result.timing.paths["register_to_output"].length_ns == pytest.approx(0.204)


def test_memory_at_the_threshold_becomes_flip_flops(generic):
    result = synthesise(MEMORY, "memory", generic, memory_threshold_bits=320)
    assert result.memories == ()
    assert result.flip_flops == 320 + 20
    result = synthesise(MEMORY.replace("D = 16, A = 4", "D = 8, A = 3"), "memory", generic)  # 160 bits
    assert (result.flip_flops, result.memory_bits) == (160 + 20, 0)


def test_two_memories_and_an_asynchronous_read(generic):
    text = (
        MEMORY
        + """
    module both (input clk, we, input [5:0] a, input [7:0] d, output [7:0] x, output [19:0] q);
      reg [7:0] mem [0:63];
      always @(posedge clk) if (we) mem[a] <= d;
      assign x = mem[~a];
      memory m (.clk(clk), .we(we), .wa(a[3:0]), .ra(a[4:1]), .wd({d, d, d[3:0]}), .q(q));
    endmodule
    """
    )
    result = synthesise(text, "both", generic)
    assert result.memory_bits == 64 * 8 + 320
    assert sorted((m.bits, m.synchronous_read) for m in result.memories) == [(320, True), (512, False)]
    assert result.timing.paths["input_to_output"].length_ns > 0.204  # through the macro: inverters and access


def test_a_table_of_constants_is_logic(generic):
    rom = (
        "module rom (input [6:0] a, output [3:0] y); reg [3:0] t [0:127]; integer i; initial for (i = 0; i < 128;"
        " i = i + 1) t[i] = i * i >> 3; assign y = t[a]; endmodule"
    )
    result = synthesise(rom, "rom", generic)
    assert result.memory_bits == 0 and result.flip_flops == 0
    assert result.area_ge > 20


def test_a_macro_never_costs_more_than_flip_flops(generic):
    model = macro_model(generic)
    assert model.area_um2(4096, 1, 1) == pytest.approx(3155.026 * 1.95)
    assert model.area_um2(300, 1, 1) == pytest.approx(300 * (17 + 2 * 7) * 0.8 / 3, rel=1e-5)


def test_macros_scale_with_the_library(generic):
    text = generic.text.replace("library (generic)", "library (other)")
    for area in set(re.findall(r"area : ([\d.]+);", text)):
        text = re.sub(rf"area : {re.escape(area)};", f"area : {float(area) * 2:.6f} ;", text)
    result = synthesise(MEMORY.replace("D = 16, A = 4", "D = 256, A = 8"), "memory", parse(text, "other"))
    assert result.memory_model == "fakeram45 (scaled)"
    family = macro_model(generic).family
    assert result.memory_area_um2 == pytest.approx(family.area_um2(5120, 2) * 1.6 / 0.798)
    assert result.timing.paths["register_to_output"].length_ns == pytest.approx(
        family.clock_to_q_ns(5120) * 0.025 / 0.0214, rel=1e-4
    )


def test_heavy_nets_get_buffers(generic):
    """One register enables 64 write bits of a macro, 320 fF: more than its limit, so buffers share the load."""
    text = """
    module wide (input clk, we, input [4:0] a, input [63:0] d, output reg [63:0] q);
      reg [63:0] mem [0:31]; reg w; always @(posedge clk) begin w <= we; if (w) mem[a] <= d; q <= mem[a]; end
    endmodule
    """
    result = synthesise(text, "wide", generic)
    mapped = map_to_cells(text, "wide", generic)
    assert sum(result.cells.values()) > sum(mapped.counts().values())
    added = [i for i in result.netlist.instances if i.name.startswith("buffer$")]
    assert added
    cells = {m.name: macro_model(generic).cell(m) for m in mapped.macros}
    before = sta.analyse(mapped, generic.cells, macro_cells=cells).paths["register_to_register"].length_ns
    after = result.timing.paths["register_to_register"].length_ns
    assert after < before / 2
    load, limit = {}, {}
    for instance in (*result.netlist.instances, *result.netlist.macros):
        cell = cells.get(instance.name) or generic.cells[instance.cell]
        for name, net in instance.pins.items():
            if net < 0 or name in cell.clock_pins or name not in cell.pins:
                continue
            pin = cell.pins[name]
            if pin.direction == "input":
                load[net] = load.get(net, 0) + pin.capacitance_ff
            elif pin.max_capacitance_ff:
                limit[net] = pin.max_capacitance_ff
    assert all(load.get(net, 0) <= most for net, most in limit.items())


def test_same_input_same_bytes(generic, monkeypatch, tmp_path):
    """A fresh run, in another folder, gives the same result as the stored one; a stored one is not run again."""
    first = json.dumps(synthesise(REGISTERS, "registers", generic).as_dict())
    monkeypatch.setattr("bankside.hardware.synthesis.flow._run", None)
    assert json.dumps(synthesise(REGISTERS, "registers", generic).as_dict()) == first
    monkeypatch.undo()
    monkeypatch.setenv("BANKSIDE_CACHE", str(tmp_path))
    assert json.dumps(synthesise(REGISTERS, "registers", generic).as_dict()) == first


def test_two_runs_at_once(generic, monkeypatch, tmp_path):
    monkeypatch.setenv("BANKSIDE_CACHE", str(tmp_path))
    with ThreadPoolExecutor(2) as pool:
        a, b = pool.map(lambda _: synthesise(AND_OR, "and_or", generic), range(2))
    assert a.as_dict() == b.as_dict()
    (folder,) = (tmp_path / "synthesis").iterdir()
    assert [p.name for p in folder.iterdir()] == ["netlist.json.gz"]


def test_damaged_cache_is_rebuilt(generic, monkeypatch, tmp_path):
    monkeypatch.setenv("BANKSIDE_CACHE", str(tmp_path))
    first = synthesise(AND_OR, "and_or", generic).as_dict()
    (stored,) = (tmp_path / "synthesis").glob("*/netlist.json.gz")
    stored.write_bytes(stored.read_bytes()[:-20])
    assert synthesise(AND_OR, "and_or", generic).as_dict() == first


def test_efforts_trade_area_for_delay(generic):
    results = {effort: synthesise(MULTIPLIER, "multiplier", generic, effort=effort) for effort in EFFORTS}
    assert results["area"].area_um2 < results["speed"].area_um2
    assert results["speed"].critical_path_ns < results["area"].critical_path_ns
    assert {r.flip_flops for r in results.values()} == {52}


@pytest.mark.parametrize(
    ("text", "top", "options", "message"),
    [
        (AND_OR, "and_orr", {}, r"^Yosys: .*and_orr"),
        (AND_OR, "and or", {}, r"^top module 'and or' is not a plain Verilog name$"),
        ("module m (input a, output y);\nassign y = a &; endmodule", "m", {}, r"^Yosys: .*\(line 2 of the Verilog\)$"),
        (AND_OR, "and_or", {"effort": "are"}, r"^unknown effort 'are'; did you mean 'area'\? \(valid: area, bal"),
        (AND_OR, "and_or", {"memory_threshold_bits": -1}, r"^memory threshold must be 0 bits or more, not -1$"),
        (
            "module m (input g, d, output reg q); always @* if (g) q = d; endmodule",
            "m",
            {},
            r"^Yosys: .*D latches are not supported$",
        ),
        ("module m (inout a); endmodule", "m", {}, r"^m: port a is bidirectional"),
        (
            "module m (input clk, g, d, output reg q); always @(posedge (clk & g)) q <= d; endmodule",
            "m",
            {},
            r"^m: clock .* comes from logic or is undriven; timing needs clocks from a port$",
        ),
    ],
)
def test_errors_are_one_line(text, top, options, message, generic):
    with pytest.raises(ConfigError, match=message) as caught:
        synthesise(text, top, generic, **options)
    assert "\n" not in str(caught.value)


def test_a_cell_that_the_library_lacks_is_an_error(generic):
    mapped = map_to_cells(AND_OR, "and_or", generic)
    text = json.dumps(
        {"modules": {"and_or": {"ports": {}, "netnames": {}, "cells": {"g1": {"type": "AOI22_X9", "connections": {}}}}}}
    )
    with pytest.raises(ConfigError, match=r"^and_or: not mapped to the library: AOI22_X9 \(first: g1\)$"):
        netlist.read_netlist(text, "and_or", generic.cells)
    assert list(mapped.counts().values()) == [1]


# ---- static timing analysis ----


def chain(cells, top="chain"):
    """A netlist by hand: cells in a row from port a to port y."""
    instances, net = [], 2
    for i, (cell, pin, out) in enumerate(cells):
        instances.append(netlist.Instance(f"g{i}", cell, {pin: net, out: net + 1}))
        net += 1
    ports = (netlist.Port("a", "input", (2,)), netlist.Port("y", "output", (net,)))
    return netlist.Netlist(top, ports, tuple(instances), (), {})


def test_inverter_chain_by_hand(generic):
    """Four inverters, each with the next one's 1.6 fF, the last with 3.2 fF: tau = 5 ps, g = p = 1.

    With the step share s of a stage's delay and an edge of 1.2 steps that costs (1 + 2 0.3) / 6 / 0.6 of itself later.
    """
    ramp, edge = 1.6 / 3.6, 1.2
    step = 1 / (1 + ramp * edge)
    expected, slew = 0.0, 0.0
    for h in (1, 1, 1, 2):
        stage = step * 0.005 * (h + 1)
        expected, slew = expected + stage + ramp * slew, edge * stage
    timing = sta.analyse(chain([("INV_X1", "A", "Y")] * 4), generic.cells, output_load_ff=3.2)
    path = timing.critical
    assert path.length_ns == pytest.approx(expected, rel=1e-4)
    assert (path.kind, path.start, path.end) == ("input_to_output", "a", "y")
    assert [s.instance for s in path.steps] == ["g0", "g1", "g2", "g3"]
    assert sum(s.delay_ps for s in path.steps) == pytest.approx(path.length_ns * 1e3)


UNEQUAL = """
library (unequal) { time_unit : "1ns"; capacitive_load_unit (1, ff);
  cell (N) { area : 1; pin (A, B) { direction : input; capacitance : 1; } pin (Y) { direction : output; function : "!(A B)";
    timing () { related_pin : "A B"; cell_rise (scalar) { values ("10"); } cell_fall (scalar) { values ("1"); }
      rise_transition (scalar) { values ("0"); } fall_transition (scalar) { values ("0"); } } } }
  cell (I) { area : 1; pin (A) { direction : input; capacitance : 1; } pin (Y) { direction : output; function : "!A";
    timing () { related_pin : "A"; cell_rise (scalar) { values ("100"); } cell_fall (scalar) { values ("2"); }
      rise_transition (scalar) { values ("0"); } fall_transition (scalar) { values ("0"); } } } }
  cell (X) { area : 1; pin (A, B) { direction : input; capacitance : 1; } pin (Y) { direction : output; function : "A ^ B";
    timing () { related_pin : "A B"; cell_rise (scalar) { values ("4"); } cell_fall (scalar) { values ("5"); }
      rise_transition (scalar) { values ("0"); } fall_transition (scalar) { values ("0"); } } } }
  cell (F) { area : 1; ff (IQ, IQN) { next_state : "D"; clocked_on : "C"; }
    pin (D) { direction : input; capacitance : 1; timing () { related_pin : "C"; timing_type : setup_rising;
      rise_constraint (scalar) { values ("0.5"); } fall_constraint (scalar) { values ("0.25"); } } }
    pin (C) { direction : input; capacitance : 1; clock : true; }
    pin (Q) { direction : output; function : "IQ"; timing () { related_pin : "C"; timing_type : rising_edge;
      cell_rise (scalar) { values ("20"); } cell_fall (scalar) { values ("30"); }
      rise_transition (scalar) { values ("0"); } fall_transition (scalar) { values ("0"); } } } }
}
"""


def test_edges_follow_the_sense_of_every_gate():
    """Two inverters: a rise ends 2 + 100 later, a fall 100 + 2; after an XOR either edge may come."""
    cells = parse(UNEQUAL, "unequal").cells
    assert sta.analyse(chain([("I", "A", "Y")] * 2), cells).critical.length_ns == 102
    assert sta.analyse(chain([("I", "A", "Y")]), cells).critical.length_ns == 100
    assert (
        sta.analyse(chain([("I", "A", "Y"), ("X", "A", "Y"), ("N", "A", "Y")]), cells).critical.length_ns
        == 100 + 5 + 10
    )
    assert sta.analyse(chain([("I", "A", "Y"), ("N", "A", "Y")]), cells).critical.length_ns == 101


MERGING = """
library (merging) { time_unit : "1ns"; capacitive_load_unit (1, ff);
  lu_table_template (t) { variable_1 : input_net_transition; index_1 ("0, 1"); }
  cell (N) { area : 1; pin (A, B) { direction : input; capacitance : 1; } pin (Y) { direction : output; function : "!(A B)";
    timing () { related_pin : "A"; cell_rise (scalar) { values ("10"); } cell_fall (scalar) { values ("10"); }
      rise_transition (scalar) { values ("1"); } fall_transition (scalar) { values ("1"); } }
    timing () { related_pin : "B"; cell_rise (scalar) { values ("4"); } cell_fall (scalar) { values ("4"); }
      rise_transition (scalar) { values ("3"); } fall_transition (scalar) { values ("3"); } } } }
  cell (I) { area : 1; pin (A) { direction : input; capacitance : 1; } pin (Y) { direction : output; function : "!A";
    timing () { related_pin : "A"; cell_rise (t) { values ("0, 2"); } cell_fall (t) { values ("0, 2"); }
      rise_transition (scalar) { values ("0"); } fall_transition (scalar) { values ("0"); } } } }
  cell (F) { area : 1; ff (IQ, IQN) { next_state : "D"; clocked_on : "C"; } pin (D, C) { direction : input; }
    pin (Q) { direction : output; function : "IQ"; } }
}
"""


def test_the_latest_arrival_and_the_slowest_transition_go_on():
    """A NAND of one net: 10 by the late pin, transition 3 by the other, extended to a delay of 6 in the inverter."""
    merged = dataclasses.replace(
        chain([("I", "A", "Y")] * 2),
        instances=(netlist.Instance("n", "N", {"A": 2, "B": 2, "Y": 3}), netlist.Instance("i", "I", {"A": 3, "Y": 4})),
    )
    path = sta.analyse(merged, parse(MERGING, "merging").cells).critical
    assert path.length_ns == pytest.approx(16)
    assert [s.arc for s in path.steps] == ["A rise -> Y fall", "A fall -> Y rise"]


def registers(inverted):
    """Two flip-flops with an inverter between; the second's clock is inverted or not."""
    n = netlist
    pins = [
        n.Instance("f0", "F", {"D": 3, "C": 2, "Q": 4}),
        n.Instance("g", "I", {"A": 4, "Y": 5}),
        n.Instance("f1", "F", {"D": 5, "C": 7 if inverted else 2, "Q": 6}),
    ]
    if inverted:
        pins.append(n.Instance("ck", "I", {"A": 2, "Y": 7}))
    ports = (n.Port("clk", "input", (2,)), n.Port("d", "input", (3,)), n.Port("q", "output", (6,)))
    return n.Netlist("registers", ports, tuple(pins), (), {5: "between"})


def test_register_paths_by_hand():
    """Fall of Q at 30, through the inverter at 130 rising, setup 0.5; the other way 20 + 2 + 0.25."""
    timing = sta.analyse(registers(False), parse(UNEQUAL, "unequal").cells)
    lengths = {kind: path.length_ns for kind, path in timing.paths.items()}
    assert lengths == {"register_to_register": 130.5, "input_to_register": 0.5, "register_to_output": 30}
    path = timing.critical
    assert [(s.instance, s.arc, s.delay_ps) for s in path.steps] == [
        ("f0", "C -> Q fall", 30e3),
        ("g", "A fall -> Y rise", 100e3),
        ("f1", "D rise setup to C", 500),
    ]
    assert path.steps[1].net == "between"


def test_a_path_is_told_in_the_names_of_the_source():
    """A register of two bits of the source's names; on the way one gate meets two bits of another register."""
    n = netlist
    pins = [
        n.Instance("$1", "F", {"D": 3, "C": 2, "Q": 4}),
        n.Instance("$2", "N", {"A": 4, "B": 8, "Y": 5}),
        n.Instance("$3", "N", {"A": 5, "B": 9, "Y": 10}),
        n.Instance("$4", "F", {"D": 10, "C": 2, "Q": 6}),
    ]
    ports = (
        n.Port("clk", "input", (2,)),
        n.Port("d", "input", (3,)),
        n.Port("e", "input", (8, 9)),
        n.Port("q", "output", (6,)),
    )
    names = {4: "part.from[1]", 6: "part.into_3", 8: "held_0[0]", 9: "held_12[1]"}
    path = sta.analyse(n.Netlist("registers", ports, tuple(pins), (), names), parse(UNEQUAL, "unequal").cells).paths[
        "register_to_register"
    ]
    assert (path.start, path.end) == ("part.from[1]", "part.into_3")
    assert [step.beside for step in path.steps] == [(), ("held_0[0]",), ("held_12[1]",), ()]
    assert path.sentence == "from part.from[1] to part.into_3 through 2 gates, beside held_* (2)"
    bare = sta.analyse(registers(False), parse(UNEQUAL, "unequal").cells).critical
    assert bare.sentence == "from f0 to f1 through 1 gate"


def test_opposite_clock_edges_leave_half_the_period():
    timing = sta.analyse(registers(True), parse(UNEQUAL, "unequal").cells)
    assert timing.paths["register_to_register"].length_ns == 261
    assert timing.clocks == ("clk",)


def test_loops_and_shorts_are_errors():
    cells = parse(UNEQUAL, "unequal").cells
    loop = dataclasses.replace(
        chain([("I", "A", "Y")] * 2),
        instances=(netlist.Instance("a", "N", {"A": 2, "B": 4, "Y": 3}), netlist.Instance("b", "I", {"A": 3, "Y": 4})),
    )
    with pytest.raises(ConfigError, match=r"^chain: logic forms a loop through net net [34]$"):
        sta.analyse(loop, cells)
    short = dataclasses.replace(
        loop, instances=(netlist.Instance("a", "I", {"A": 2, "Y": 4}), netlist.Instance("b", "I", {"A": 2, "Y": 4}))
    )
    with pytest.raises(ConfigError, match="has two drivers"):
        sta.analyse(short, cells)


# ---- against OpenSTA ----

OSU018 = Path("/usr/share/qflow/tech/osu018/osu018_stdcells.lib")
LIBRARIES = ["generic", pytest.param("osu018", marks=pytest.mark.skipif(not OSU018.is_file(), reason="no OSU018"))]
DESIGNS = {"comb": COMBINATIONAL, "multiplier": MULTIPLIER, "memory": MEMORY, "registers": REGISTERS}


@pytest.mark.slow
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("top", DESIGNS)
def test_longest_path_agrees_with_opensta(top, library, tmp_path):
    """Same netlist, same assumptions, to 3 % (in fact to the digits it prints); memories as flip-flops."""
    assert shutil.which("sta"), "OpenSTA is not installed: apt-get install opensta"
    cells = from_file(OSU018) if library == "osu018" else get(library)
    result = synthesise(DESIGNS[top], top, cells, memory_threshold_bits=10**6)
    (tmp_path / "cells.lib").write_text(cells.text)
    (tmp_path / "top.v").write_text(netlist.write_verilog(result.netlist))
    clock = "create_clock -name clk -period 1000"
    (tmp_path / "run.tcl").write_text(f"""
        read_liberty cells.lib
        read_verilog top.v
        link_design {top}
        {clock} {"[get_ports clk]" if result.timing.clocks else ""}
        set ports {{}}
        foreach port [all_inputs] {{ if {{[get_property $port full_name] ne "clk"}} {{ lappend ports $port }} }}
        set_input_delay 0 -clock clk $ports
        set_output_delay 0 -clock clk [all_outputs]
        report_checks -path_delay max -digits 6
        exit
    """)
    run = subprocess.run(["sta", "-no_splash", "-no_init", "run.tcl"], cwd=tmp_path, capture_output=True, text=True)
    arrival = re.search(r"(\d+\.\d+)\s+data arrival time", run.stdout)
    assert arrival, run.stdout + run.stderr
    setup = re.search(r"(-?\d+\.\d+)\s+\S+\s+library setup time", run.stdout)
    length = float(arrival[1]) - (float(setup[1]) if setup else 0.0)
    timing = sta.analyse(result.netlist, cells.cells)  # without the load on the ports
    assert timing.critical.length_ns == pytest.approx(length, rel=0.03)


# ---- Designs of parts ---------------------------------------------------------------------------------------------------

#: As Amaranth writes it: two stages of a stream with a helper of no stream ports, one in a group, two in the top.
PARTS = r"""
module top_half(a, y);
  input [7:0] a;
  output [7:0] y;
  assign y = a + 8'd77;
endmodule

module \top_stage.inner (d, q);
  input [7:0] d;
  output [7:0] q;
  assign q = d ^ (d << 3);
endmodule

module top_stage(i__payload, i__valid, clk, o__payload, o__valid);
  input [7:0] i__payload;
  input i__valid;
  input clk;
  output [7:0] o__payload;
  output o__valid;
  reg [7:0] o__payload;
  reg o__valid;
  wire [7:0] h, k;
  top_half half (
    .a(i__payload), .y(h)
  );
  \top_stage.inner  inner (
    .d(h), .q(k)
  );
  always @(posedge clk) begin o__valid <= i__valid; if (i__valid) o__payload <= k - (i__payload >> 1); end
endmodule

module top_group(i__payload, i__valid, clk, o__payload, o__valid);
  input [7:0] i__payload;
  input i__valid;
  input clk;
  output [7:0] o__payload;
  output o__valid;
  wire [7:0] p;
  wire v;
  top_stage stage_0 (
    .i__payload(i__payload), .i__valid(i__valid), .clk(clk), .o__payload(p), .o__valid(v)
  );
  top_stage stage_1 (
    .i__payload(p), .i__valid(v), .clk(clk), .o__payload(o__payload), .o__valid(o__valid)
  );
endmodule

module top(i__payload, i__valid, clk, o__payload, o__valid);
  input [7:0] i__payload;
  input i__valid;
  input clk;
  output [7:0] o__payload;
  output o__valid;
  wire [7:0] p, q;
  wire v, w;
  reg [7:0] r;
  top_group group_0 (
    .i__payload(i__payload), .i__valid(i__valid), .clk(clk), .o__payload(p), .o__valid(v)
  );
  top_stage \stage.1  (
    .i__payload(p ^ r), .i__valid(v), .clk(clk), .o__payload(q), .o__valid(w)
  );
  always @(posedge clk) r <= q;
  assign o__payload = q;
  assign o__valid = w;
endmodule
"""


def test_parts_of_a_design():
    own, group, stage = split(PARTS, "top")
    assert [(p.name, p.count, p.boxes) for p in (own, group, stage)] == [
        ("top", 1, {"top_group", "top_stage"}),
        ("top_group", 1, {"top_stage"}),
        ("top_stage", 3, set()),
    ]
    assert stage.text.count("endmodule") == 3 and "module top_half" in stage.text
    assert "(* blackbox *)" not in stage.text and group.text.count("(* blackbox *)") == 1
    assert [p.name for p in split(REGISTERS, "registers")] == ["registers"]
    marked = PARTS.replace("module top_half(", "(* keep_hierarchy *)\nmodule top_half(")
    assert [(p.name, p.count) for p in split(marked, "top")] == [
        ("top", 1),
        ("top_group", 1),
        ("top_stage", 3),
        ("top_half", 3),
    ]


def test_a_design_of_parts_is_the_sum_of_them(generic):
    """Three stages are mapped once. Against the flat design: the same flip-flops, and the area within what sizing does:
    gates are sized for the longest path of each part. Paths that end or begin in a part are seen whole."""
    parts = synthesise(PARTS, "top", generic)
    flat = flow._flat(PARTS, "top", generic, "area", 256, None)
    assert [(p.module, p.count, p.flip_flops) for p in parts.parts] == [
        ("top", 1, 8),
        ("top_group", 1, 0),
        ("top_stage", 3, 9),
    ]
    assert parts.flip_flops == flat.flip_flops == 35
    assert parts.area_um2 == pytest.approx(sum(p.area_um2 * p.count for p in parts.parts))
    assert parts.area_um2 == pytest.approx(sum(generic.cells[name].area_um2 * n for name, n in parts.cells.items()))
    assert parts.area_um2 == pytest.approx(flat.area_um2, rel=0.15)
    assert parts.critical_path_ns == max(p.critical_path_ns for p in parts.parts)
    own, _, stage = parts.parts
    assert own.critical_path_ns > stage.critical_path_ns  # through the exclusive or in front of the second stage
    assert parts.critical_path_ns == pytest.approx(flat.critical_path_ns, rel=0.15)
    path = parts.timing.critical
    assert path.kind == "register_to_register" and path.steps[-1].arc == "into the part"
    assert path.length_ns == pytest.approx(sum(s.delay_ps for s in path.steps) * 1e-3)
