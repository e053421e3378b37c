"""Files for FuseSoC, Vivado and XRT: whole, consistent with the unit, and only for units with AXI buses."""

import re
import shutil
import subprocess
from xml.etree import ElementTree

import pytest
import yaml

from bankside.constraints.core.registry import UNITS
from bankside.cosim.bench.build import lint
from bankside.hardware.generate import generated_files
from bankside.hardware.packaging import fpga_files
from bankside.hardware.selection import select


@pytest.fixture(scope="module")
def unit():
    selection = select("inf2-accelerator", sets=UNITS["inf2-accelerator"].trial.sets)
    return selection, fpga_files(selection, "acc")


def test_only_units_with_buses_have_them(unit):
    assert sorted(unit[1]) == ["acc.core", "acc_kernel.tcl", "acc_kernel.v", "acc_kernel.xml"]
    assert not fpga_files(select("inf2-gemv"), "gemv")
    assert set(unit[1]) < set(generated_files(unit[0], "acc"))


def test_core_names_files_that_are_written(unit):
    text = unit[1]["acc.core"]
    assert text.startswith("CAPI=2:\n")
    core = yaml.safe_load(text.replace("CAPI=2:", "", 1))
    assert re.fullmatch(r"bankside:inf2-accelerator:acc:\d+\.\d+\.\d+", core["name"])
    files = [name for one in core["filesets"].values() for name in one["files"]]
    assert set(files) <= {*unit[1], "acc.v"}
    for target in core["targets"].values():
        assert set(target["filesets"]) <= set(core["filesets"])


def test_kernel_description_has_the_registers(unit):
    selection, files = unit
    kernel = ElementTree.fromstring(files["acc_kernel.xml"].partition("?>")[2]).find("kernel")
    assert kernel.get("hwControlProtocol") == "user_managed"
    given = {one.get("name"): int(one.get("offset"), 16) for one in kernel.iter("arg")}
    registers = {one.name: one for one in selection.config.registers}
    assert given == {name: one.offset for name, one in registers.items() if one.access == "rw"}
    pointers = [one.get("name") for one in kernel.iter("arg") if one.get("addressQualifier") == "1"]
    assert pointers == ["q", "k", "v", "new_k", "new_v", "output", "mask"]
    assert kernel.find("ports/port[@name='m_axi']").get("dataWidth") == str(selection.config.data_bits)


def test_script_adds_every_register_once(unit):
    selection, files = unit
    added = re.findall(r"add_register (\w+) ", files["acc_kernel.tcl"])
    assert added == [one.name for one in selection.config.registers]
    assert files["acc_kernel.tcl"].count("{") == files["acc_kernel.tcl"].count("}")
    if shutil.which("tclsh"):
        done = subprocess.run(
            ["tclsh"], input=f"puts [info complete {{{files['acc_kernel.tcl']}}}]", text=True, capture_output=True
        )
        assert done.stdout == "1\n"


@pytest.mark.slow
def test_kernel_lints(unit):
    """The kernel connects every port of the unit, with its width. XRT wants a port of the name ``interrupt``."""
    selection, _ = unit
    files = generated_files(selection, "acc")
    found = lint(files["acc.v"] + files["acc_kernel.v"], "acc_kernel")
    assert found == ["SYMRSVDWORD: Symbol matches C++ common word: 'interrupt'"]
