"""Synthesis for an FPGA: designs whose resources are known by hand, and logic depth against a flat search."""

import random

import pytest

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.libraries.fpga import FpgaDevice, fpga_families
from bankside.hardware.synthesis import fpga
from bankside.hardware.synthesis.levels import depths

#: Every module is a part with known resources. `pair` has two instances of equal modules, written twice.
DESIGN = """
module \\all.wide (input [5:0] a, output y);
  assign y = &a;
endmodule
module \\all.adder (input clk, input [7:0] a, b, output reg [7:0] s);
  always @(posedge clk) s <= a + b;
endmodule
module \\all.product (input clk, input [10:0] a, b, output reg [21:0] p);
  reg [10:0] x, y; reg [21:0] m;
  always @(posedge clk) begin x <= a; y <= b; m <= x * y; p <= m; end
endmodule
module \\all.product_now (input [10:0] a, b, output [21:0] p);
  assign p = a * b;
endmodule
module \\all.block (input clk, we, input [9:0] wa, ra, input [35:0] d, output reg [35:0] q);
  reg [35:0] mem [0:1023];
  always @(posedge clk) begin if (we) mem[wa] <= d; q <= mem[ra]; end
endmodule
module \\all.ultra (input clk, we, input [11:0] wa, ra, input [71:0] d, output reg [71:0] q);
  reg [71:0] mem [0:4095];
  always @(posedge clk) begin if (we) mem[wa] <= d; q <= mem[ra]; end
endmodule
module \\all.luts (input clk, we, input [4:0] wa, ra, input [13:0] d, output [13:0] q);
  reg [13:0] mem [0:31];
  always @(posedge clk) if (we) mem[wa] <= d;
  assign q = mem[ra];
endmodule
module \\all.wrong (input clk, we, wf, input [4:0] wa, wb, ra, input [15:0] d, e, output [15:0] q);
  reg [15:0] mem [0:31];
  always @(posedge clk) begin if (we) mem[wa] <= d; if (wf) mem[wb] <= e; end
  assign q = mem[ra];
endmodule
module \\all.delay (input clk, d, output q);
  reg [9:0] r;
  always @(posedge clk) r <= {r[8:0], d};
  assign q = r[9];
endmodule
module \\all.lane_0 (input [5:0] a, output y);
  assign y = ^a;
endmodule
module \\all.lane_1 (input [5:0] a, output y);
  assign y = ^a;
endmodule
module all (input clk, we, wf, d, input [5:0] n, input [9:0] wa, ra, input [11:0] ua, input [10:0] a, b, input [71:0] w,
            output y, q, lanes, output [7:0] s, output [21:0] p, now, output [35:0] block, output [71:0] ultra,
            output [13:0] luts, output [15:0] wrong);
  wire inner;
  \\all.wide  wide (.a(n), .y(y));
  \\all.adder  adder (.clk(clk), .a(a[7:0]), .b(b[7:0]), .s(s));
  \\all.product  product (.clk(clk), .a(a), .b(b), .p(p));
  \\all.product_now  product_now (.a(a), .b(b), .p(now));
  \\all.block  block_ (.clk(clk), .we(we), .wa(wa), .ra(ra), .d(w[35:0]), .q(block));
  \\all.ultra  ultra_ (.clk(clk), .we(we), .wa(ua), .ra({ra, n[1:0]}), .d(w), .q(ultra));
  \\all.luts  luts_ (.clk(clk), .we(we), .wa(wa[4:0]), .ra(ra[4:0]), .d(w[13:0]), .q(luts));
  \\all.wrong  wrong_ (.clk(clk), .we(we), .wf(wf), .wa(wa[4:0]), .wb(wa[9:5]), .ra(ra[4:0]), .d(w[15:0]), .e(w[31:16]),
                       .q(wrong));
  \\all.delay  delay (.clk(clk), .d(d), .q(q));
  \\all.lane_0  lane_0 (.a(n), .y(inner));
  \\all.lane_1  lane_1 (.a({n[4:0], inner}), .y(lanes));
endmodule
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BANKSIDE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield fpga.synthesise("\n".join(line for line in DESIGN.splitlines() if line) + "\n", "all")


def resources(found, module):
    [part] = [part for part in found.parts if part.module == f"all.{module}"]
    return {name: count for name, count in vars(part.resources).items() if count}


@pytest.mark.slow
def test_resources_of_each_module_are_those_known_by_hand(found):
    assert resources(found, "wide") == {"lut": 1}
    assert resources(found, "adder") == {"lut": 8, "carry4": 2, "ff": 8}
    assert resources(found, "product") == {"dsp": 1, "ff": 66}  # Yosys leaves three stages of registers outside
    assert resources(found, "product_now") == {"dsp": 1}
    assert resources(found, "block") == {"bram36": 1}
    assert resources(found, "ultra") == {"uram": 1}
    assert resources(found, "luts") == {"lutram": 8}
    assert resources(found, "wrong")["ff"] == 512
    assert resources(found, "delay")["srl"] == 1
    lanes = [part for part in found.parts if "lane" in part.module]
    assert [(part.module, part.count, part.resources.lut) for part in lanes] == [("all.lane_0", 2, 1)]


@pytest.mark.slow
def test_the_whole_is_the_sum_of_parts_times_instances(found):
    for name, total in vars(found.resources).items():
        assert total == sum(getattr(part.resources, name) * part.count for part in found.parts)
    assert (found.resources.dsp, found.resources.bram36, found.resources.uram) == (2, 1, 1)
    assert found.cells["DSP48E2"] == 2


@pytest.mark.slow
def test_memories_and_the_one_that_became_flip_flops(found):
    assert {m.module.removeprefix("all."): (m.becomes, m.depth, m.width, m.misplaced) for m in found.memories} == {
        "block": ("bram", 1024, 36, False),
        "ultra": ("uram", 4096, 72, False),
        "luts": ("lutram", 32, 14, False),
        "wrong": ("flip-flops", 32, 16, True),
    }
    [wrong] = [m for m in found.memories if m.misplaced]
    assert (wrong.read_ports, wrong.write_ports, wrong.synchronous_read) == (1, 2, False)


@pytest.mark.slow
def test_depth_counts_luts_and_blocks_but_no_carry_chain(found):
    alone = {part.module.removeprefix("all."): part.depth for part in found.parts}
    assert (alone["wide"].levels, alone["wide"].carry4) == (1, 0)
    assert (alone["adder"].levels, alone["adder"].carry4) == (1, 2)
    assert (alone["product"].levels, alone["product"].dsp) == (1, 1)
    assert (alone["product_now"].levels, alone["product_now"].dsp) == (1, 1)
    assert alone["luts"].levels == 1  # read without a clock
    assert alone["lane_0"].levels == 1
    assert found.depth.levels == max(alone["wrong"].levels, 2)  # `lanes` passes both


@pytest.mark.slow
def test_latches_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("BANKSIDE_CACHE", str(tmp_path))
    with pytest.raises(ConfigError, match=r"^the Verilog has latches \(LDCE\); synthesis for an FPGA takes flip-flops"):
        fpga.synthesise("module m (input g, d, output reg q); always @* if (g) q = d; endmodule\n", "m")


def test_unknown_family_and_cells_are_one_line():
    with pytest.raises(ConfigError, match=r"^unknown FPGA family 'xc7'; did you mean 'xcup'\? \(valid: xcup\)$"):
        fpga.synthesise("", "m", "xc7")
    with pytest.raises(ConfigError, match="^Yosys left a cell of the type MULT18, which is no primitive of the FPGA$"):
        fpga.Resources.of({"LUT6": 1, "MULT18": 1})


def test_equal_modules_are_mapped_once():
    ports = "(a, y);\n  input a;\n  output y;\n"
    lanes = "".join(
        f"module \\t.l{k} {ports}  \\t.l{k}.in  in (.a(a), .y(y));\nendmodule\n"
        f"module \\t.l{k}.in {ports}  assign y = {'~' if k < 3 else ''}a;\nendmodule\n"
        for k in range(4)
    )
    top = "".join(f"  \\t.l{k}  l{k} (.a(a), .y(y{k}));\n" for k in range(4))
    text = fpga._each_once(f"module t (a);\n  input a;\n{top}endmodule\n{lanes}", "t")
    assert text.count("endmodule") == 5  # the top, and two kinds of lanes with a module inside
    assert [text.count(f"  \\t.l{k}  l") for k in range(4)] == [3, 0, 0, 1]


# Depth -----------------------------------------------------------------------------------------------------------------


def made_up(seed):
    """A netlist of LUTs, carry pieces and flip-flops without loops, in modules inside each other."""
    draw = random.Random(seed)
    modules = {}

    def lut(inputs, out):
        return {
            "type": f"LUT{len(inputs)}",
            "connections": {**{f"I{k}": [b] for k, b in enumerate(inputs)}, "O": [out]},
            "port_directions": {**{f"I{k}": "input" for k in range(len(inputs))}, "O": "output"},
            "parameters": {},
        }

    def register(d, q):
        return {
            "type": "FDRE",
            "connections": {"C": [0], "D": [d], "Q": [q]},
            "port_directions": {"C": "input", "D": "input", "Q": "output"},
            "parameters": {},
        }

    for number in range(3):
        inputs, cells, known = [1, 2, 3], {}, [1, 2, 3]
        for k in range(draw.randint(4, 14)):
            kind, out = draw.random(), 100 + 10 * k
            if kind < 0.25:
                cells[f"r{k}"] = register(draw.choice(known), out)
            elif kind < 0.45 and number:
                ports = {"a": [draw.choice(known), draw.choice(known), draw.choice(known)], "y": [out, out + 1]}
                cells[f"m{k}"] = {
                    "type": f"module_{draw.randrange(number)}",
                    "connections": ports,
                    "port_directions": {"a": "input", "y": "output"},
                    "parameters": {},
                }
                known.append(out + 1)
            else:
                cells[f"l{k}"] = lut(draw.sample(known, draw.randint(1, 3)), out)
            known.append(out)
        modules[f"module_{number}"] = {
            "ports": {"a": {"direction": "input", "bits": inputs}, "y": {"direction": "output", "bits": known[-2:]}},
            "netnames": {},
            "cells": cells,
        }
    return modules


def flat_depth(modules, top):
    """Longest path of the flattened design, by a search that knows nothing of modules."""
    edges, starts, ends = {}, set(), set()
    wires = {}

    def root(wire):
        while wire in wires:
            wire = wires[wire]
        return wire

    def flatten(name, path, outer):
        for port, entry in modules[name]["ports"].items():
            for place, bit in enumerate(entry["bits"]):
                if outer is not None:
                    inner, outside = root((path, bit)), root(outer[port][place])
                    if inner != outside:
                        wires[inner] = outside
        for instance, cell in modules[name]["cells"].items():
            bits = {port: [(path, b) for b in some] for port, some in cell["connections"].items()}
            if cell["type"] in modules:
                flatten(cell["type"], (*path, instance), bits)
            elif cell["type"] == "FDRE":
                starts.add(bits["Q"][0])
                ends.add(bits["D"][0])
            else:
                edges.setdefault(bits["O"][0], []).extend(bits[f"I{k}"][0] for k in range(len(bits) - 1))

    flatten(top, (), None)
    for entry in modules[top]["ports"].values():
        (starts if entry["direction"] == "input" else ends).update(((), b) for b in entry["bits"])
    joined = {}
    for target, sources in edges.items():
        joined.setdefault(root(target), []).extend(map(root, sources))
    first = {root(one) for one in starts}

    def longest(bit):
        ways = [1 + way for way in map(longest, joined.get(bit, ())) if way is not None]
        return max([*ways, *([0] if bit in first else [])], default=None)

    return max((way for way in (longest(root(bit)) for bit in ends) if way is not None), default=0)


@pytest.mark.parametrize("seed", range(60))
def test_depth_over_modules_is_that_of_the_flat_design(seed):
    modules = made_up(seed)
    found = depths(modules, "module_2")
    whole = max([found["module_2"].alone, *(one.inside for one in found.values())])
    assert whole.levels == flat_depth(modules, "module_2")


@pytest.mark.parametrize(
    ("registers", "through", "before", "behind"),
    [("", 1, None, None), ("P", None, 1, 0), ("AB", None, 0, 1), ("M", None, 1, 1), ("ABMP", None, 0, 0)],
)
def test_depth_of_a_dsp_block_with_registers_of_its_own(registers, through, before, behind):
    """A level if a path goes through, else a level on each side that the multiplier is part of."""
    parameters = {f"{name}REG": f"{int(name in registers):032b}" for name in "ABCDMP"}
    block = {
        "type": "DSP48E2",
        "connections": {"CLK": [0], "A": [2], "B": [3], "P": [4]},
        "parameters": parameters,
        "port_directions": {"CLK": "input", "A": "input", "B": "input", "P": "output"},
    }
    ports = {
        "a": {"direction": "input", "bits": [2]},
        "b": {"direction": "input", "bits": [3]},
        "p": {"direction": "output", "bits": [4]},
    }
    found = depths({"m": {"ports": ports, "cells": {"x": block}, "netnames": {}}}, "m")["m"]
    levels = [
        None if way is None else way >> 40
        for way in (
            found.through.get(("p", 0), {}).get(("a", 0)),
            *(
                side[port, 0].length if (port, 0) in side else None
                for side, port in ((found.inward, "a"), (found.outward, "p"))
            ),
        )
    ]
    assert levels == [through, before, behind]


def test_a_loop_is_an_error():
    lut = {
        "type": "LUT1",
        "connections": {"I0": [2], "O": [2]},
        "port_directions": {"I0": "input", "O": "output"},
        "parameters": {},
    }
    with pytest.raises(ConfigError, match="^m: a combinational loop goes through w$"):
        depths({"m": {"ports": {}, "cells": {"l": lut}, "netnames": {"w": {"bits": [2], "hide_name": 0}}}}, "m")


# Devices ---------------------------------------------------------------------------------------------------------------


def test_every_family_has_devices():
    assert fpga_families().keys() == fpga.FAMILIES.keys()


def test_percent_of_a_device_and_of_a_papers_total():
    device = fpga_families()["xcup"].devices["ku15p"]
    used = {
        "lut": 200_000,
        "srl": 40_000,
        "lutram": 7_000,
        "ff": 334_000,
        "bram36": 400,
        "bram18": 126,
        "uram": 12,
        "dsp": 261,
    }
    share = device.percent(used)  # the figures of INF2, Table 2
    assert {name: round(value, 1) for name, value in share.items()} == {
        "lut": 47.3,
        "ff": 32.0,
        "bram": 47.1,
        "uram": 9.4,
        "dsp": 13.3,
        "ff_counted": 32.7,
    }


def test_a_device_without_ultraram_has_no_share_of_it():
    device = FpgaDevice(title="small", lut=10, ff=20, bram=1, uram=0, dsp=1, source="made up")
    assert device.percent({name: 1 for name in vars(fpga.Resources())})["uram"] is None


def test_a_total_needs_a_known_resource_and_a_source():
    for extra, message in (
        ({"counted_as": {"alm": 1}, "counted_as_source": "x"}, "not alm: 1"),
        ({"counted_as": {"ff": 1}}, "needs counted_as_source"),
    ):
        with pytest.raises(ValueError, match=message):
            FpgaDevice(title="small", lut=10, ff=20, bram=1, uram=0, dsp=1, source="made up", **extra)
