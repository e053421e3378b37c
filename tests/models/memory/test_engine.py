"""The timing engine: jumping equals stepping, and stepping equals a brute-force reading of the constraints."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.memory import Constraint, Memory, MemoryCommand, Refresh, available, load_memory
from bankside.models.memory import time_program
from bankside.models.memory.engine import Engine
from bankside.models.program import Affine, Command, Loop, Program, Stage, Wait

QUICK = settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


# Random small memories ---------------------------------------------------------------------------------------------


def command(name, scope, kind="column", row="none", activate=None, precharge=None, auto=False, latency=1, banks=1):
    return MemoryCommand(name, scope, kind, row, activate, precharge, auto, latency, banks, 0, 0, (), {})


def commands(levels):
    every, last = tuple(levels), tuple(levels)[-1:]
    return {
        c.name: c
        for c in [
            command("ACT", every, "row", "opens", precharge="PRE"),
            command("PRE", every, "row", "closes"),
            command("ACTAB", (), "row", "opens", precharge="PREA"),
            command("PREA", (), "row", "closes"),
            command("ACTSB", last, "row", "opens", precharge="PREA"),
            command("RD", every, row="needs", activate="ACT", precharge="PRE", latency=7),
            command("RDA", every, row="needs", activate="ACT", precharge="PRE", auto=True),
            command("MACAB", (), row="needs", activate="ACTAB", precharge="PREA"),
            command("MACSB", last, row="needs", activate="ACTSB", precharge="PREA"),
            command("BUF", every[:1]),
            command("MODE", (), "other"),
            command("REF", every[:1], "row", "closed", precharge="PREA"),
        ]
    }


@st.composite
def memories(draw):
    shapes = [{"bank": 1}, {"bank": 3}, {"rank": 2, "bank": 2}, {"rank": 2, "group": 2, "bank": 2}]
    levels = draw(st.sampled_from(shapes))
    table = commands(levels)
    names = st.lists(st.sampled_from(sorted(table)), min_size=1, max_size=4, unique=True).map(frozenset)
    constraints = []
    for line in range(draw(st.integers(1, 8))):
        between = draw(st.sampled_from(["same", "same", "same", "different"]))
        level = draw(st.sampled_from([*([] if between == "different" else ["channel"]), *levels]))
        window = 1 if between == "different" else draw(st.sampled_from([1, 1, 1, 2, 4]))
        constraints.append(Constraint(level, draw(names), draw(names), draw(st.integers(1, 25)), window, between, line))
    refresh = Refresh("REF", draw(st.integers(300, 700)), draw(st.integers(0, 2)))
    return Memory(
        name="random",
        source="",
        file="",
        clock_ps=1.0,
        channels=1,
        levels=levels,
        rows=1 << 20,
        columns=8,
        column_bytes=1,
        bank_cycles=1,
        bus="channel",
        bus_bytes=1,
        bus_cycles=1,
        dual_issue=draw(st.booleans()),
        parameters={},
        commands=table,
        constraints=tuple(constraints),
        refresh=refresh,
        power_limited=None,
    )


@st.composite
def programs(draw, memory, counts, depth=3, around=()):
    """Bodies of nested loops, within the loops ``around`` them, whose addresses stay in range."""

    def node(loops):
        kinds = ["command"] * 4 + ["wait", "stage"] + ["loop"] * 3 * (len(loops) < depth)
        kind = draw(st.sampled_from(kinds))
        if kind == "wait":
            return Wait(draw(st.sampled_from([0, 1, 3, 17, 60])))
        if kind == "stage":
            return Stage(draw(st.sampled_from("ab")), body(loops))
        if kind == "loop":
            count = draw(counts)
            return Loop(count, body((*loops, count)))
        op = memory.commands[draw(st.sampled_from(sorted(memory.commands)))]
        operands = {}
        for level in op.scope:
            size = memory.levels[level]
            strides = [0] * len(loops)
            for k, count in enumerate(loops):
                if 1 < count <= size and draw(st.integers(0, 3)) == 0:
                    strides[k] = 1
                    break
            reach = sum(s * (count - 1) for s, count in zip(strides, loops, strict=True))
            operands[level] = Affine(draw(st.integers(0, size - 1 - reach)), tuple(strides))
        if op.has_row:
            strides = [draw(st.sampled_from([0, 0, 0, 1, 1, 2, -1])) for _ in loops]
            operands["row"] = Affine(1000 + draw(st.integers(0, 12)), tuple(strides))
        return Command(op.name, operands)

    def body(loops):
        return tuple(node(loops) for _ in range(draw(st.integers(1, 3))))

    return Program(body(tuple(around)))


@st.composite
def cases(draw, counts, depth=3):
    memory = draw(memories())
    return memory, draw(programs(memory, counts, depth)), draw(st.booleans())


def nested(draw, memory, depth):
    """Loops of two or three iterations around each other, each with a few nodes before and after the one inside."""

    def level(loops):
        if len(loops) == depth:
            return draw(programs(memory, st.just(2), depth, loops)).body
        count = draw(st.sampled_from([2, 2, 2, 3]))
        around = [draw(st.sampled_from([(), (Wait(1),), (Wait(7),), (Wait(60),)])) for _ in range(2)]
        if draw(st.integers(0, 3)) == 0:
            around[draw(st.integers(0, 1))] = draw(programs(memory, st.just(2), len(loops), loops)).body
        return (*around[0], Loop(count, level((*loops, count))), *around[1])

    return Program(level(()))


@st.composite
def nests(draw):
    memory = draw(memories())
    return memory, nested(draw, memory, draw(st.integers(3, 6))), draw(st.booleans())


SHORT = st.sampled_from([0, 1, 2, 2, 3, 3, 4])
LONG = st.sampled_from([1, 2, 3, 5, 9, 14])


# Brute force -------------------------------------------------------------------------------------------------------


class Oracle:
    """Every command ever issued is kept, every constraint is looked up against all of them, node by node."""

    def __init__(self, memory, refresh):
        self.memory = memory
        self.history = []
        self.rows = {}
        self.floor = 0
        self.interval = memory.refresh.interval * (memory.refresh.postpone + 1) if memory.refresh else 0
        self.due = self.interval if refresh else None

    def nodes(self, name, at, level):
        scope = self.memory.commands[name].scope
        above = list(self.memory.levels)
        above = [] if level == "channel" else above[: above.index(level) + 1]
        return set(product(*([at[x]] if x in scope else range(self.memory.levels[x]) for x in above)))

    def banks(self, name, at):
        return self.nodes(name, at, list(self.memory.levels)[-1])

    def earliest(self, name, at):
        table = self.memory.commands
        times = [0]
        for other, _, time in self.history:
            buses = [{"row", "column"} if table[x].kind == "other" else {table[x].kind} for x in (name, other)]
            times.append(time + (not self.memory.dual_issue or bool(buses[0] & buses[1])))
        for c in self.memory.constraints:
            if name not in c.to:
                continue
            mine = self.nodes(name, at, c.level)
            past = [
                (self.nodes(other, where, c.level), time) for other, where, time in self.history if other in c.from_
            ]
            if c.between == "different":
                times += [
                    time + c.cycles
                    for theirs, time in past
                    if any(a != b and a[:-1] == b[:-1] for a in mine for b in theirs)
                ]
            else:
                for n in mine:
                    met = [time for theirs, time in past if n in theirs]
                    if len(met) >= c.window:
                        times.append(met[-c.window] + c.cycles)
        return max(times)

    def put(self, name, at, time, row=None):
        self.history.append((name, at, time))
        rule = self.memory.commands[name]
        for bank in self.banks(name, at):
            if rule.row == "opens":
                self.rows[bank] = row
            elif rule.row == "closes" or rule.auto_precharge:
                self.rows.pop(bank, None)

    def next(self, name, at, row):
        """Command to issue now so that ``name`` can be executed."""
        rule = self.memory.commands[name]
        state = {self.rows.get(bank) for bank in self.banks(name, at)}
        if rule.row == "needs" and state != {row}:
            return rule.activate if state == {None} else rule.precharge
        return rule.precharge if rule.row in ("opens", "closed") and state != {None} else name

    def execute(self, name, at, row):
        while True:
            todo = self.next(name, at, row)
            time = max(self.floor, self.earliest(todo, at))
            if self.due is not None and time >= self.due:
                self.refresh()
                continue
            self.put(todo, at, time, row)
            if todo == name:
                return

    def refresh(self):
        levels, command = self.memory.levels, self.memory.refresh.command
        scope = self.memory.commands[command].scope
        places = [dict(zip(scope, at, strict=True)) for at in product(*(range(levels[x]) for x in scope))]
        for at in places:
            todo = self.next(command, at, None)
            if todo != command:
                self.put(todo, at, max(self.due, self.earliest(todo, at)))
        for _ in range(self.memory.refresh.postpone + 1):
            for at in places:
                self.put(command, at, max(self.due, self.earliest(command, at)))
        self.due += self.interval

    def run(self, program):
        for step in program.expand():
            if isinstance(step, Wait):
                last = self.history[-1][2] if self.history else 0
                self.floor = max(self.floor, last) + step.cycles
            else:
                name, operands = step
                self.execute(name, operands, operands.get("row"))
        return self.history


def size(program):
    return sum(1 for _ in program.expand())


@QUICK
@given(cases(SHORT))
def test_stepping_equals_a_brute_force_reading_of_the_constraints(case):
    memory, program, refresh = case
    if size(program) > 60:
        program = Program(program.body[:1])
    if size(program) > 60:
        return
    history = Oracle(memory, refresh).run(program)
    timing = time_program(program, memory, refresh=refresh, mode="step")
    assert [
        (timing.schedule.names[op % len(timing.schedule.names)], at)
        for op, at in zip(timing.schedule.ops, timing.schedule.cycles, strict=True)
    ] == [(name, at) for name, _, at in history]


@pytest.mark.parametrize("name", available())
def test_the_memories_that_ship_equal_the_brute_force_reading(name):
    memory = load_memory(name)

    @settings(QUICK, max_examples=40)
    @given(programs(memory, SHORT), st.booleans() if memory.refresh else st.just(False))
    def check(program, refresh):
        if size(program) <= 40:
            history = Oracle(memory, refresh).run(program)
            timing = time_program(program, memory, refresh=refresh)
            for op in memory.commands:
                assert timing.issue_cycles(op).tolist() == [time for at, _, time in history if at == op]

    check()


# Jump and step -----------------------------------------------------------------------------------------------------


def difference(case, jumping=Engine):
    """What differs between jumping and stepping, over every command."""
    memory, program, refresh = case
    if sum(program.counts().values()) > 3000:
        return None
    a = jumping(memory, refresh=refresh).run(program)
    b = Engine(memory, refresh=refresh, jump=False).run(program)
    for op in memory.commands:
        if not np.array_equal(a.issue_cycles(op), b.issue_cycles(op)):
            return op
    if a != b:
        return "totals"
    return None


@settings(QUICK, max_examples=400)
@given(cases(LONG))
def test_jumping_equals_stepping_on_every_command(case):
    assert difference(case) is None


@settings(QUICK, max_examples=100)
@given(cases(st.sampled_from([1, 2, 40, 150])))
def test_jumping_equals_stepping_in_longer_loops(case):
    assert difference(case) is None


@settings(QUICK, max_examples=200)
@given(nests())
def test_loops_that_are_entered_again_do_what_stepping_does(case):
    assert difference(case) is None


class ForgetsTimes(Engine):
    part = 0

    def state(self, level):
        state = super().state(level)
        return (*state[: self.part], None, *state[self.part + 1 :])


class ForgetsWindows(ForgetsTimes):
    part = 1


class ForgetsWaits(ForgetsTimes):
    part = 3

    @property
    def origin(self):
        return self.channel.now


class ForgetsWaitsThatHoldUpRefresh(Engine):
    @property
    def origin(self):
        return self.ready


class ForgetsRows(ForgetsTimes):
    part = 4


class NeverAsks(Engine):
    """Takes it that rows with different strides never meet."""

    @staticmethod
    def constant(questions, level, length, most):
        return most


class ForgetsHalfOfEachTime(Engine):
    """Drops a timer too early: when half of its time has passed."""

    def state(self, level):
        channel, now = self.channel, self.origin
        keep = channel.last, channel.horizon
        channel.horizon = [horizon // 2 for horizon in channel.horizon]
        channel.last = [
            last if now - last < half else last - 1000 for last, half in zip(channel.last, channel.horizon, strict=True)
        ]
        try:
            return super().state(level)
        finally:
            channel.last, channel.horizon = keep


class ForgetsPlaces(Engine):
    """Takes a loop that is entered again to be at the places where it was."""

    def compile(self, body, loops):
        out = super().compile(body, loops)
        for node in out:
            if hasattr(node, "nests"):
                node.strides = []
        return out


class ChangesAgain(Engine):
    def again(self, effect):
        return super().again(replace(effect, **self.change(effect)))


class ForgetsOpenRows(ChangesAgain):
    change = staticmethod(lambda effect: {"rows": {}})


class ForgetsQuestions(ChangesAgain):
    change = staticmethod(lambda effect: {"asked": {}})


class ForgetsRings(ChangesAgain):
    change = staticmethod(lambda effect: {"rings": []})


class ForgetsStages(ChangesAgain):
    change = staticmethod(lambda effect: {"stages": {}})


class MissesRefresh(Engine):
    """Repeats a loop even if a refresh comes in between."""

    def again(self, effect):
        due = self.due
        if not effect.refreshes:
            self.due = None if due is None else 1 << 60
        try:
            return super().again(effect)
        finally:
            if not effect.refreshes:
                self.due = due


@pytest.mark.parametrize(
    "broken, where",
    [
        *(
            pytest.param(broken, cases(LONG), id=broken.__name__)
            for broken in (ForgetsTimes, ForgetsWindows, ForgetsWaits, ForgetsRows, NeverAsks, ForgetsHalfOfEachTime)
        ),
        *(
            pytest.param(broken, nests(), id=broken.__name__ + "-again")
            for broken in (
                ForgetsTimes,
                ForgetsPlaces,
                ForgetsOpenRows,
                ForgetsQuestions,
                ForgetsRings,
                ForgetsStages,
                MissesRefresh,
            )
        ),
    ],
)
def test_the_property_finds_planted_bugs(broken, where):
    hunt = settings(QUICK, max_examples=3000, phases=[Phase.generate], derandomize=True)  # found or not, not by chance
    case = find(where, lambda case: difference(case, broken) is not None, settings=hunt)
    assert difference(case) is None


# Directed ----------------------------------------------------------------------------------------------------------


def test_a_refresh_that_a_wait_has_held_up_looks_at_the_command_before_the_wait():
    """A loop is entered 40 and 297 cycles after a command, both times 26 after a refresh was due, which has to come 25 or
    more after the command: at entry nothing else tells the two apart."""
    table = commands({"bank": 2})
    memory = Memory(
        name="two-banks",
        source="",
        file="",
        clock_ps=1.0,
        channels=1,
        levels={"bank": 2},
        rows=8,
        columns=8,
        column_bytes=1,
        bank_cycles=1,
        bus="channel",
        bus_bytes=1,
        bus_cycles=1,
        dual_issue=False,
        parameters={},
        commands=table,
        constraints=(Constraint("channel", frozenset(["BUF"]), frozenset(["REF"]), 25, 1, "same", 0),),
        refresh=Refresh("REF", 300, 0),
        power_limited=None,
    )
    inner = Loop(2, (Loop(2, (Command("BUF", bank=0),)),))
    case = memory, Program((Wait(280), Loop(3, (Loop(2, (inner, Wait(40))), Wait(257))))), True
    assert difference(case) is None and difference(case, ForgetsWaitsThatHoldUpRefresh) == "REF"


@pytest.mark.parametrize("depth, refresh, cycles", [(56, False, 540431955284459533), (18, True, 2178170)])
def test_two_iterations_around_two_iterations_do_not_double_the_work(depth, refresh, cycles):
    body = (Command("MAC_AB", row=0, column=0),)
    for _ in range(depth):
        body = (Loop(2, (*body, Wait(3))),)
    timing = time_program(Program(body), "hbm3-5.2", refresh=refresh)
    assert timing.cycles == cycles and timing.commands["MAC_AB"] == 2**depth
    assert len(timing.schedule.ops) < 5_000
    assert timing.issue_cycle("MAC_AB", -1) == cycles - 3 * depth


def test_a_loop_that_only_waits():
    body = Loop(10**12, (Stage("idle", (Wait(7),)), Loop(10**3, (Wait(1),))))
    for refresh in (False, True):
        timing = time_program(Program((body,)), "hbm3-5.2", refresh=refresh)
        assert timing.cycles == 1007 * 10**12 and timing.stages == {"idle": 7 * 10**12} and not timing.commands


def rows(count, stride=1, base=0, op="MAC_AB"):
    p = Program()
    with p.loop(count) as t, p.loop(32) as c:
        p.command(op, row=base + stride * t, column=c)
    return p


def test_a_million_iterations_are_jumped():
    timing = time_program(rows(16_384), "hbm3-5.2")
    assert timing.cycles == 232 * 16_384 - 46 + 20 - 1 + 1
    assert len(timing.schedule.ops) < 100
    p = Program()
    with p.loop(1_000_000):
        p.command("MAC_AB", row=0, column=0)
    timing = time_program(p, "hbm3-5.2")
    assert timing.cycles == 19 + 6 * 999_999 + 1
    assert len(timing.schedule.ops) < 20
    assert timing.issue_cycle("MAC_AB", 777_777) == 19 + 6 * 777_777
    assert timing.issue_cycle("MAC_AB", -1) == timing.cycles - 1
    assert timing.commands == {"ACTAB": 1, "MAC_AB": 1_000_000}
    assert timing.row_hits == 999_999 and timing.row_misses == 1


def test_a_row_that_meets_a_fixed_one_in_the_middle_of_a_loop():
    """The moving row equals the fixed one in iteration 700: a hit that the jump must not pass over."""
    p = Program()
    with p.loop(1000) as t:
        p.command("MAC_AB", row=t, column=0)
        p.command("MAC_AB", row=700, column=0)
    a, b = (time_program(p, "hbm3-5.2", mode=mode) for mode in ("jump", "step"))
    assert a == b and a.row_hits == 2  # iteration 700: both
    assert np.array_equal(a.issue_cycles("MAC_AB"), b.issue_cycles("MAC_AB"))
    assert len(a.schedule.ops) < 60


def test_refresh_with_whole_refresh_periods_jumped():
    memory = load_memory("hbm3-5.2")
    for postpone in (0, 3):
        m = replace(memory, refresh=replace(memory.refresh, postpone=postpone))
        p = rows(3000)
        a, b = (time_program(p, m, refresh=True, mode=mode) for mode in ("jump", "step"))
        assert a == b
        assert np.array_equal(a.issue_cycles("MAC_AB"), b.issue_cycles("MAC_AB"))
        refreshes = a.issue_cycles("REFAB")
        # Each pseudo channel is refreshed once per interval, and late at most by one command and its rows.
        assert len(refreshes) == 2 * (postpone + 1) * (a.cycles // (5070 * (postpone + 1)))
        late = refreshes[:: 2 * (postpone + 1)] % (5070 * (postpone + 1))
        assert late.max() <= memory.parameters["nRAS"] + memory.parameters["nRP"] + 2


def test_a_wait_does_not_hold_up_refresh():
    p = Program()
    p.command("MAC_AB", row=0, column=0)
    p.wait(5070 * 3)
    p.command("MAC_AB", row=0, column=1)
    timing = time_program(p, "hbm3-5.2", refresh=True)
    assert timing.issue_cycles("REFAB").tolist() == [5070 + 19, 5070 + 20, 10140, 10141, 15210, 15211]
    assert timing.issue_cycles("MAC_AB").tolist() == [19, 15211 + 456 + 19]


def test_waits_add_up_and_count_from_the_command_before():
    p = Program()
    p.command("MAC_AB", row=0, column=0)
    p.wait(30)
    p.wait(10)
    p.command("MAC_AB", row=0, column=1)
    p.wait(5)
    timing = time_program(p, "hbm3-5.2")
    assert timing.issue_cycles("MAC_AB").tolist() == [19, 59]
    assert timing.cycles == 64


def test_stages_are_the_parts_of_the_whole():
    p = Program()
    with p.loop(5) as t:
        with p.stage("read"):
            with p.loop(32) as c:
                p.command("MAC_AB", row=t, column=c)
        with p.stage("move"), p.loop(4) as r:
            p.command("MV_SB", pseudo_channel=0, rank=0, bank_group=r, bank=0)
    timing = time_program(p, "hbm3-5.2")
    assert timing.stages["move"] == 5 * (1 + 3 * 2)  # the next column slot, then every nCCDS
    assert sum(timing.stages.values()) + 1 == timing.cycles


def test_the_empty_program_takes_no_time():
    timing = time_program(Program(), "hbm3-5.2")
    assert (timing.cycles, timing.commands, timing.energy_pj["total"]) == (0, {}, 0)
    assert timing.issue_cycles("RD").tolist() == []


@pytest.mark.parametrize(
    "node, message",
    [
        (Command("MAC_ALL", row=0), r"hbm3-5\.2: unknown command 'MAC_ALL'; did you mean 'MAC_AB'\?"),
        (Command("MAC_AB"), r"hbm3-5\.2: MAC_AB: needs the operand row"),
        (Command("MAC_AB", row=0, colum=3), r"hbm3-5\.2: MAC_AB: unknown operand 'colum'; did you mean 'column'\?"),
        (Command("MAC_AB", row=0, column=32), r"hbm3-5\.2: MAC_AB: column must be 0 to 31, not 32"),
        (Loop(9, (Command("MAC_AB", row=Affine(2, (-1,))),)), r"hbm3-5\.2: MAC_AB: row must be 0 to 16383, not -6"),
        (Command("RD", row=0, rank=0), r"hbm3-5\.2: RD: needs the operand pseudo_channel"),
    ],
)
def test_errors_name_the_command_and_what_is_valid(node, message):
    with pytest.raises(ConfigError, match="^" + message):
        time_program(Program([node]), "hbm3-5.2")


def test_programs_beyond_64_bits():
    p = Program()
    with p.loop(10**15), p.loop(10**6):
        p.command("MAC_AB", row=0, column=0)
    with pytest.raises(ConfigError, match=r"^a program of more than 2\^62 cycles$"):
        time_program(p, "hbm3-5.2")
    timing = time_program(Program([Loop(10**9, (Command("MAC_AB", row=0, column=0),))]), "hbm3-5.2")
    with pytest.raises(ConfigError, match="^MAC_AB is issued 1000000000 times; an array holds 268435456"):
        timing.issue_cycles("MAC_AB")
    assert timing.issue_cycle("MAC_AB", -1) == 19 + 6 * (10**9 - 1)
    nested = (Wait(1),)
    for _ in range(65):
        nested = (Loop(1, nested),)
    with pytest.raises(ConfigError, match="^a program of more than 64 nested loops$"):
        time_program(Program(nested), "hbm3-5.2")


def test_errors_of_the_call():
    with pytest.raises(ConfigError, match="unknown mode 'jmp'; did you mean 'jump'"):
        time_program(Program(), "hbm3-5.2", mode="jmp")
    with pytest.raises(ConfigError, match="random: the memory states no refresh"):
        time_program(
            Program(), replace(load_memory("hbm3-5.2"), name="random", refresh=None, unlimited=None), refresh=True
        )
    timing = time_program(rows(1), "hbm3-5.2")
    with pytest.raises(ConfigError, match="unknown command 'MACAB'; did you mean 'MAC_AB'"):
        timing.issue_cycles("MACAB")
    with pytest.raises(ConfigError, match="MAC_AB number 32: the program issues 32"):
        timing.issue_cycle("MAC_AB", 32)
