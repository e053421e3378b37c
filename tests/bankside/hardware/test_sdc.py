"""Design constraints: commands that tools share, ports that the unit has, numbers of its clock; OpenSTA reads them all."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from bankside.constraints.core.registry import UNITS
from bankside.hardware.generate import describe, generated_files
from bankside.hardware.selection import select
from bankside.hardware.synthesis import get, netlist, synthesise

ROOT = Path(__file__).resolve().parents[3]
PUBLISHED = sorted((ROOT / "rtl").glob("*/*/*.sdc"))

#: Commands of SDC 2.1 and of Tcl that the files may use. Sets of ports have no common command: ports are named.
ALLOWED = {
    "set_units",
    "create_clock",
    "set_clock_uncertainty",
    "set_input_delay",
    "set_output_delay",
    "set_driving_cell",
    "set_input_transition",
    "set_load",
    "get_ports",
    "get_clocks",
    "all_outputs",
    "set",
    "if",
    "else",
    "info",
}


def commands(text):
    """Words of Tcl at which a command begins: of a line, after an opening bracket, after an opening brace of a block."""
    text = re.sub(r"\[get_ports \{[^{}]*\}\]", "[get_ports ports]", re.sub(r"^\s*#.*$", "", text, flags=re.M))
    found = re.findall(r"(?:^|[\[;{}])[ \t]*([A-Za-z_:]\w*)", text, flags=re.M)
    return set(found) | {"["} if text.count("[") != text.count("]") else set(found)


def check(text, ports):
    """A file has allowed commands alone, constrains each port once as its direction says, and the clock of the unit."""
    assert commands(text) <= ALLOWED
    names = re.search(r"^set data_inputs \[get_ports \{\n(.*?)^\}\]$", text, re.M | re.S)[1].split()
    clocked = "clk" in {port["name"] for port in ports}
    assert names == [
        port["name"] + "[*]" * (port["width"] > 1)
        for port in ports
        if port["direction"] == "in" and port["name"] not in ("clk", "rst")
    ]
    assert ("[get_ports rst]" in text, "[get_ports clk]" in text) == (clocked, clocked)


def number(text, command):
    return float(re.search(rf"^ *{command} (\S+)", text, re.M)[1])


@pytest.mark.parametrize("file", PUBLISHED, ids=lambda path: path.parent.parent.name + "-" + path.parent.name)
def test_published_constraints(file):
    text, described = file.read_text(), json.loads(file.with_suffix(".json").read_text())
    check(text, described["ports"])
    period = 1e3 / described["target_clock_mhz"]
    assert number(text, "create_clock -name clk -period") == pytest.approx(period, abs=1e-4)
    for command, share in (
        ("set_clock_uncertainty -setup", 0.05),
        ("set_clock_uncertainty -hold", 0.02),
        ("set_input_delay", 0.2),
        ("set_output_delay", 0.2),
        ("set_input_transition", 0.05),
    ):
        assert number(text, command) == pytest.approx(share * period, abs=1e-4)
    assert number(text, "set_load") == 10


def test_other_commands_are_found():
    """The command that OpenSTA lacks, others after a semicolon or in a block, and words in lists that are no commands."""
    assert commands("set_input_delay 1 [remove_from_collection [all_inputs] [get_ports clk]]") - ALLOWED == {
        "remove_from_collection",
        "all_inputs",
    }
    assert commands("set a 1; foreach_in_collection b\nif {[info exists ::c]} {\n exec d\n} else { e }") - ALLOWED == {
        "foreach_in_collection",
        "exec",
        "e",
    }
    assert commands("# remove_x\nset a [get_ports {\n  b[*]\n  c\n}]\n") == {"set", "get_ports"}


def test_constraints_of_a_unit_with_another_name():
    """The name of the module is in no line: ports are the unit's."""
    tiny = select("fp-add", preset="bf16")
    assert generated_files(tiny)["fp_add.sdc"] == generated_files(tiny, "other")["other.sdc"]


# OpenSTA ---------------------------------------------------------------------------------------------------------------


def shell(module, ports):
    """A netlist of cells of the built-in library with these ports: a register at each bit of one, or, without a clock, a
    gate from the first input to every output."""
    clocked = "clk" in {port["name"] for port in ports}
    lines, cells, first = [], [], ""
    for port in ports:
        high = f"[{port['width'] - 1}:0] " if port["width"] > 1 else ""
        lines.append(f"  {port['direction']}put {high}{port['name']};")
        bits = [f"{port['name']}[{k}]" for k in range(port["width"])] if high else [port["name"]]
        if port["direction"] == "in" and port["name"] != "clk":
            first = first or bits[0]
            cells += [f"DFF_X1 ({{}}.CK(clk), .D({bit}));" for bit in bits if clocked]
        elif port["direction"] == "out":
            cells += [
                f"DFF_X1 ({{}}.CK(clk), .D(rst), .Q({bit}));" if clocked else f"INV_X1 ({{}}.A({first}), .Y({bit}));"
                for bit in bits
            ]
    body = [f"  {cell.replace(' ({}', f' c{k}(')}" for k, cell in enumerate(cells)]
    return "\n".join([f"module {module}({', '.join(port['name'] for port in ports)});", *lines, *body, "endmodule", ""])


def opensta(folder, module, verilog, constraints, before=""):
    """What OpenSTA says of a netlist with constraints: complaints about them, and paths."""
    assert shutil.which("sta"), "OpenSTA is not installed: apt-get install opensta"
    for name, text in (
        ("cells.lib", get("generic").text),
        ("top.v", verilog),
        ("top.sdc", constraints),
        (
            "run.tcl",
            f"""
            read_liberty cells.lib
            read_verilog top.v
            link_design {module}
            {before}
            read_sdc top.sdc
            check_setup -verbose
            report_checks -from $data_inputs -path_delay min_max -format full_clock -digits 4
            puts reset
            if {{[get_ports -quiet rst] ne ""}} {{ report_checks -from [get_ports rst] -digits 4 }}
            puts "read to the end"
            exit""",
        ),
    ):
        (folder / name).write_text(text)
    done = subprocess.run(["sta", "-no_splash", "-no_init", "run.tcl"], cwd=folder, capture_output=True, text=True)
    return done.stdout + done.stderr


def check_read(said, period, clocked):
    assert "read to the end" in said and not re.search("error|warning|no path|unknown|invalid", said, re.I), said
    data, reset = said.split("reset\n", 1)
    for value, meaning in ((0.2, "external delay"), (-0.05, "clock uncertainty"), (0.02, "clock uncertainty")):
        assert re.search(rf"^ +{value * period:.4f} .*{meaning}$", data, re.M), data
    assert data.count("data required time") == 4  # two paths, each in two lines
    if clocked:
        assert re.search(r"^ +0\.0000 +0\.0000 \S input external delay$", reset, re.M) and "slack" in reset


@pytest.mark.slow
@pytest.mark.parametrize("file", PUBLISHED, ids=lambda path: path.parent.parent.name + "-" + path.parent.name)
def test_opensta_reads_published_constraints(file, tmp_path):
    described = json.loads(file.with_suffix(".json").read_text())
    said = opensta(tmp_path, described["module"], shell(described["module"], described["ports"]), file.read_text())
    check_read(said, 1e3 / described["target_clock_mhz"], "clk" in {port["name"] for port in described["ports"]})


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit, preset",
    [(unit.name, preset) for unit in UNITS.values() for preset in unit.presets if preset not in unit.published_presets],
)
def test_opensta_reads_the_constraints_of_every_other_preset(unit, preset, tmp_path):
    selection = select(unit, preset=preset)
    described, module = describe(selection).to_json(), selection.unit.module
    text = generated_files(selection)[f"{module}.sdc"]
    check(text, described["ports"])
    said = opensta(tmp_path, module, shell(module, described["ports"]), text)
    check_read(said, 1e3 / described["target_clock_mhz"], "clk" in {port["name"] for port in described["ports"]})


@pytest.mark.slow
def test_opensta_times_a_netlist_with_its_constraints(tmp_path):
    """A mapped unit; a driving cell of the library takes the place of the transition; other commands are refused."""
    selection = select(
        "pam-pu",
        sets=[
            "lanes=2",
            "tile_tokens=4",
            "max_head_dim=16",
            "buffer_bytes=64",
            "query_bytes=32",
            "max_tokens=64",
            "acc_format=fp16",
            "score_format=fp16",
        ],
    )
    files = generated_files(selection)
    mapped = synthesise(files["pam_pu.v"], "pam_pu", get("generic"), memory_threshold_bits=10**6)
    cells, text = netlist.write_verilog(mapped.netlist), files["pam_pu.sdc"]
    period = 1e3 / describe(selection).target_clock_mhz
    said = opensta(tmp_path, "pam_pu", cells, text)
    check_read(said, period, True)
    driven = opensta(tmp_path, "pam_pu", cells, text, "set driving_cell BUF_X2")
    check_read(driven, period, True)
    assert driven != said
    wrong = text.replace("[get_ports rst]", "[remove_from_collection [all_inputs] [get_ports clk]]")
    with pytest.raises(AssertionError, match='invalid command name "remove_from_collection"'):
        check_read(opensta(tmp_path, "pam_pu", cells, wrong), period, True)
