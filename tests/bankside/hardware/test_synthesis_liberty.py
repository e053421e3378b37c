"""Liberty reading: units, tables, functions and what is refused; the generic library is what its generator writes."""

import importlib.util
import sys
from importlib import resources

import numpy as np
import pytest

from bankside.constraints.core.errors import ConfigError, ToolMissing
from bankside.constraints.libraries import generic_liberty, macro_family
from bankside.hardware.synthesis import available, from_file, get, libraries
from bankside.hardware.synthesis.liberty import parse, truth_table

SMALL = """
/* a comment
   over lines */
library (small) {
  time_unit : "10ps";
  capacitive_load_unit (0.1, pf);
  lu_table_template (t) {
    variable_1 : total_output_net_capacitance; variable_2 : input_net_transition;
    index_1 ("1, 2, 4"); index_2 ("1, 3");
  }
  cell (INV) {
    area : 3 ;
    internal_power () { values ("}", "1") }
    pin (A) { direction : input; capacitance : 0.02; rise_capacitance : 0.03; }
    pin (Y) { direction : output; function : "A'"; max_capacitance : 1.5
      timing () { related_pin : "A";
        cell_rise (t) { values ("1, 2", "3, 4", "5, 6"); }
        cell_fall (t) { index_1 ("0, 1, 2"); values ("1, 2", \\
          "3, 4", "5, 6"); }
        rise_transition (scalar) { values ("7"); }
        fall_transition (scalar) { values ("8"); }
      }
    }
  }
  cell (NAND) { area : 4; pin (A, B) { direction : input; } pin (Y) { direction : output; function : "!(A B)"; } }
  cell (FF) { area : 20; ff (IQ, IQN) { next_state : "D"; clocked_on : "C"; }
    pin (D) { direction : input; } pin (C) { direction : input; clock : true; }
    pin (Q) { direction : output; function : "IQ"; } }
}
"""


def without(text, cell):
    """The library text without one cell."""
    start = text.index(f"cell ({cell})")
    depth, at = 0, text.index("{", start)
    while True:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
        if depth == 0:
            return text[:start] + text[at:]


def test_units_tables_and_pins():
    library = parse(SMALL, "small.lib")
    inverter = library.inverter
    assert inverter.area_um2 == 3
    assert inverter.pins["A"].capacitance_ff == pytest.approx(2.0)
    assert inverter.pins["A"].rise_capacitance_ff == pytest.approx(3.0)
    assert inverter.pins["A"].fall_capacitance_ff == pytest.approx(2.0)
    assert inverter.pins["Y"].max_capacitance_ff == pytest.approx(150.0)
    (arc,) = inverter.pins["Y"].arcs
    assert arc.sense == "negative_unate"  # inferred from the function
    rise = arc.delay["rise"]  # axes swapped to (transition, load): 10 ps and 100 fF units
    assert rise.axis_1 == pytest.approx([0.01, 0.03]) and rise.axis_2 == pytest.approx([100, 200, 400])
    assert rise(0.03, 200) == pytest.approx(0.04)
    assert rise(0.02, 150) == pytest.approx(0.025)
    assert rise(0.05, 600) == pytest.approx(0.09)  # extended: 6 + 2 along the load, + 1 along the transition
    assert arc.delay["fall"].axis_2 == pytest.approx([0, 100, 200])
    assert arc.transition["rise"](0.3, 7.0) == pytest.approx(0.07)
    assert library.nand2.name == "NAND" and library.flip_flop.name == "FF"


def test_flip_flops_are_known_by_what_they_do():
    """Whatever its states are called, and if they have no name. A latch, two flip-flops in a cell, and one with a function
    at its input are none."""
    group = 'ff (IQ, IQN) { next_state : "D"; clocked_on : "C"; }'
    assert SMALL.count(group) == 1
    for states in ("(P0001, P0002)", "()"):
        text = SMALL.replace(group, group.replace("(IQ, IQN)", states))
        (state,) = parse(text, "x.lib").flip_flop.flip_flops
        assert (state.next_state, state.clocked_on, state.clear, state.preset) == ("D", "C", None, None)
    text = SMALL.replace(group, group.replace("}", 'clear : "R\'"; preset : "S"; }'))
    (state,) = parse(text, "x.lib").cells["FF"].flip_flops
    assert (state.clear, state.preset) == ("R'", "S")
    for change in (
        group * 2,
        group.replace('"D"', '"D C"'),
        group.replace('"C"', '"K"'),
        group.replace("ff (", "latch (").replace("next_state", "data_in").replace("clocked_on", "enable"),
    ):
        with pytest.raises(ConfigError, match="flip-flop"):
            parse(SMALL.replace(group, change), "x.lib").flip_flop  # noqa: B018


def test_linear_delays():
    text = SMALL.replace('cell_rise (t) { values ("1, 2", "3, 4", "5, 6"); }', "")
    start, end = text.index("cell_fall (t)"), text.index("    }\n  }\n  cell (NAND)")
    text = text[:start] + "intrinsic_rise : 2; rise_resistance : 3; intrinsic_fall : 1; }\n" + text[end:]
    (arc,) = parse(text, "linear.lib").inverter.pins["Y"].arcs
    assert arc.delay["rise"](0.5, 250.0) == pytest.approx(0.02 + 0.03 * 2.5)
    assert arc.delay["fall"](0.5, 250.0) == pytest.approx(0.01)
    assert arc.transition["rise"](0.5, 250.0) == 0


@pytest.mark.parametrize(
    ("expression", "table"),
    # ^ binds closer than &: the fourth is (A ^ B') & A
    [("A B", 0b1000), ("!(A*B)", 0b0111), ("A'+B", 0b1101), ("A ^ B' & A", 0b1000), ("(A | B)'", 0b0001)],
)
def test_functions(expression, table):
    assert truth_table(expression, ("A", "B")) == table


@pytest.mark.parametrize("expression", ["A +", "(A", "A % B", "C", "A)"])
def test_bad_functions(expression):
    with pytest.raises(ValueError):
        truth_table(expression, ("A", "B"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("module x; endmodule", r"^x\.lib:1: not a Liberty file \(at 'module x; endmodule'\)$"),
        ("cell (a) { }", r"^x\.lib:1: not a Liberty file \(must begin with 'library \(NAME\) \{'\)$"),
        ("", r"^x\.lib: is empty$"),
        ("library (a) {\n cell (b) {\n area : 1;\n", r"^x\.lib:4: file ends inside cell \(b\); is it cut short\?$"),
        ("library (a) { }\n }", r"^x\.lib:2: not a Liberty file \(unexpected '\}'\)$"),
        ("library (a) {\n %% }", r"^x\.lib:2: not a Liberty file \(at '%% \}'\)$"),
        ("library (a) { }", r"lacks an inverter and a two-input NAND and a D flip-flop \(found 0 cells\)$"),
        (without(SMALL, "NAND"), r"^x\.lib: library 'small' lacks a two-input NAND \(found 2 cells: FF, INV\)$"),
        (without(SMALL, "FF"), r"^x\.lib: library 'small' lacks a D flip-flop \(found 2 cells: INV, NAND\)$"),
        (SMALL.replace('"10ps"', '"1 hour"'), r"^x\.lib: time_unit '1 hour' is not understood"),
        (
            SMALL.replace('"1, 2", "3, 4"', '"1, 2", "3"'),
            r"^x\.lib: cell INV: cell_\w+ has 5 values for axes of 3 x 2$",
        ),
        (SMALL.replace('"1, 2, 4"', '"1, 2, 2"'), r"^x\.lib: cell INV: cell_rise has an axis that does not ascend$"),
        (
            SMALL.replace('values ("7")', 'values ("seven")'),
            r"^x\.lib: cell INV: rise_transition has a value that is no",
        ),
        (SMALL.replace("cell (FF)", "cell (INV)"), r"^x\.lib: cell 'INV' appears twice$"),
        (SMALL.replace("area : 4", "area : 0"), r"^x\.lib: area of NAND is 0\.0; must be positive$"),
    ],
)
def test_bad_files_are_refused_in_one_line(text, message):
    with pytest.raises(ConfigError, match=message) as caught:
        parse(text, "x.lib")
    assert "\n" not in str(caught.value)


def test_missing_file(tmp_path):
    with pytest.raises(ConfigError, match="no such file"):
        from_file(tmp_path / "none.lib")


def test_library_by_name(monkeypatch, tmp_path):
    assert get("generic").name == "generic"
    assert "generic" in available()
    with pytest.raises(ConfigError, match="unknown library 'genric'; did you mean 'generic'"):
        get("genric")
    monkeypatch.setenv("PDK_ROOT", str(tmp_path))
    with pytest.raises(ToolMissing, match="set PDK_ROOT"):
        get("sky130hd")
    path = tmp_path / libraries._SKY130
    path.parent.mkdir(parents=True)
    path.write_text(SMALL)
    assert available()["sky130hd"].path == path
    assert get("sky130hd").name == "small"


def test_cells_marked_or_matched_are_not_used():
    assert parse(SMALL, "x", ("F*x",)).flip_flop.name == "FF"
    with pytest.raises(ConfigError, match="lacks a D flip-flop"):
        parse(SMALL, "x", ("F*",))
    with pytest.raises(ConfigError, match="lacks a D flip-flop"):
        parse(SMALL.replace("area : 20;", "area : 20; dont_use : true;"), "x")


# ---- the generic library ----


def generator():
    path = resources.files("bankside.constraints.libraries").joinpath("make_generic.py")
    spec = importlib.util.spec_from_file_location("make_generic", str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_generic"] = module
    spec.loader.exec_module(module)
    return module


def test_the_generic_library_is_what_its_generator_writes():
    assert generator().text() == generic_liberty()


def test_generic_inverter_chain_has_the_delay_of_logical_effort():
    library = get("generic")
    assert library.fo4_ns == pytest.approx(0.025, rel=1e-4)  # 5 tau
    assert library.ge_um2 == 0.8
    areas = {
        name: round(library.cells[name].area_um2 / library.ge_um2, 2)
        for name in ("INV_X1", "NOR2_X1", "NAND3_X1", "AOI22_X1", "XOR2_X1", "MUX2_X1", "DFF_X1")
    }
    assert areas == {
        "INV_X1": 0.67,
        "NOR2_X1": 1.0,
        "NAND3_X1": 1.33,
        "AOI22_X1": 1.67,
        "XOR2_X1": 2.0,
        "MUX2_X1": 2.33,
        "DFF_X1": 5.67,
    }


@pytest.mark.parametrize(("name", "g", "p"), [("NAND2_X2", 4 / 3, 2), ("NAND4_X1", 2, 4), ("NOR3_X4", 7 / 3, 3)])
def test_generic_gates_have_their_logical_effort(name, g, p):
    """In a chain of itself with electrical effort h, a gate takes tau (g h + p)."""
    cell = get("generic").cells[name]
    arc = cell.outputs[0].arcs[0]
    slew = delay = 0.0
    for _ in range(30):
        load = 3 * cell.inputs[0].capacitance_ff
        delay, slew = arc.delay["rise"](slew, load), arc.transition["rise"](slew, load)
    assert delay == pytest.approx(0.005 * (3 * g + p), rel=1e-4)


def test_generic_senses_match_the_functions():
    """Every arc's stated sense is possible for the cell's function, under its condition where it has one."""
    for cell in get("generic").cells.values():
        if cell.function is None:
            continue
        names = [p.name for p in cell.inputs]
        for arc in cell.outputs[0].arcs:
            bit = 1 << names.index(arc.related_pin)
            changes = {
                (cell.function >> (k | bit) & 1) - (cell.function >> k & 1)
                for k in range(1 << len(names))
                if not k & bit
            }
            assert (1 if arc.sense == "positive_unate" else -1) in changes, (cell.name, arc)


# ---- memory macros ----


def test_macro_family_by_library_and_interpolation():
    name, family, scaled = macro_family("generic")
    assert (name, scaled) == ("fakeram45", False)
    assert family.area_um2(4096, 1) == pytest.approx(3155.026)
    assert family.area_um2(6144, 1) == pytest.approx((3155.026 + 5065.704) / 2)
    assert family.area_um2(4096, 2) == pytest.approx(3155.026 * 1.95)
    assert family.clock_to_q_ns(1024) == pytest.approx(0.204)
    assert family.clock_to_q_ns(4 * 32768) == pytest.approx(0.309 + (0.309 - 0.235) * 2)  # twice the root of 32768
    assert family.clock_to_q_ns(8 * 32768, 256) == family.clock_to_q_ns(32768, 32) == pytest.approx(0.309)
    assert macro_family("osu018_stdcells")[2]
    assert macro_family("sky130_fd_sc_hd__tt_025C_1v80")[0] == "sg13g2_sram"
    areas = [family.area_um2(b, 1) for b in range(256, 40000, 97)]
    assert np.all(np.diff(areas) > 0)
