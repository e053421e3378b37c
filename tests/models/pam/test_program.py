"""The compiled program reads exactly the columns that the unit's stream order asks for, in that order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.memory import load_memory
from bankside.constraints.pam.pu import PRESETS, PamPuConfig, Step
from bankside.models.memory import time_program
from bankside.models.pam.program import append_program, attention_program, burst_arrivals, mac_interval, tile_rows
from bankside.models.program import Loop, Program, Wait

HBM = load_memory("hbm3-5.2")


def reads_wanted(config, memory, steps, key_row, value_row):
    """(step, tile, value, row, column) of every read, straight from beats() and address(); and that of each beat."""
    per_row, per_column = memory.row_bytes // config.beat_bytes, memory.column_bytes // config.beat_bytes
    reads, of_beat = [], []
    beats = config.beats(steps)
    for number, step in enumerate(steps):
        chosen = beats["step"] == number
        part = beats[chosen]
        # Tiles that don't fill their last row leave the rest of it unused.
        size = config.tile_tokens * config.chunks(step.head_dim)
        rows = -(-size // per_row)
        within = config.address(part, step.head_dim) - part["tile"].astype(np.int64) * size
        row = np.where(part["value"], value_row, key_row) + part["tile"] * rows + within // per_row
        column = within % per_row // per_column
        for place, beat, r, c in zip(np.flatnonzero(chosen), part, row, column, strict=True):
            of_beat.append((place, (number, int(beat["tile"]), int(beat["value"]), int(r), int(c))))
    for _, read in sorted(of_beat):
        if not reads or reads[-1] != read:
            reads.append(read)
    return reads, [read for _, read in sorted(of_beat)]


def reads_of(program):
    out = []
    for item in program.expand():
        if not isinstance(item, Wait):
            assert item[0] == "MAC_AB"
            out.append((item[1]["row"], item[1]["column"]))
    return out


@st.composite
def workloads(draw):
    lanes = draw(st.sampled_from([2, 4, 8, 16]))
    config = PamPuConfig(
        lanes=lanes,
        tile_tokens=draw(st.sampled_from([1, 2, 3, 5, 8, 13, 16, 32])),
        score_tiles=draw(st.sampled_from([1, 2])),
        query_bytes=draw(st.sampled_from([64, 96, 256])),
        buffer_bytes=512,
    )
    dims = st.sampled_from([d for d in (64, 80, 96, 128, 160, 192, 256) if d % lanes == 0])
    # Few dims and sizes, so that equal steps, which the compiler folds into a loop, are common.
    dim, tokens = draw(dims), draw(st.integers(0, 70))
    steps = []
    count = draw(st.integers(0, 5))
    for number in range(count):
        if draw(st.integers(0, 3)) == 0:
            dim, tokens = draw(dims), draw(st.integers(0, 70))
        steps.append(Step(tokens, dim, number < count - 1 and draw(st.booleans())))
    return config, steps


@settings(max_examples=150)
@given(workloads())
def test_reads_are_those_of_the_stream_order(workload):
    config, steps = workload
    key_row, value_row = 7, 9000
    program = attention_program(config, HBM, steps, key_row=key_row, value_row=value_row, gap_cycles=11)
    wanted, of_beat = reads_wanted(config, HBM, steps, key_row, value_row)
    assert reads_of(program) == [read[3:] for read in wanted]

    class Timing:
        def issue_cycles(self, op):
            return 1000 + 5 * np.arange(len(wanted))

    # Each beat arrives with the read that brings it: one that differs from the read before starts a new one.
    arrivals = burst_arrivals(config, HBM, steps, Timing())
    new = [0, *(int(a != b) for a, b in zip(of_beat, of_beat[1:], strict=False))][: len(of_beat)]
    assert arrivals.tolist() == (1000 + 5 * np.cumsum(new) + HBM.command("MAC_AB").latency).tolist()


@settings(max_examples=100)
@given(workloads(), st.integers(0, 400), st.sampled_from([0, 3, 6, 9, 40]))
def test_reads_wait_for_the_softmax(workload, gap, pace):
    """Reading as fast as program and memory allow, no V comes before the softmax of its tile is done, and no wait is
    longer than that needs (checked where nothing else hides the softmax)."""
    config, steps = workload
    program = attention_program(config, HBM, steps, gap_cycles=gap, burst_cycles=pace)
    phases = config.phases(steps)
    wanted, _ = reads_wanted(config, HBM, steps, 0, 9000)
    interval = mac_interval(HBM)
    time, wait, issue = 0, 0, []
    for item in program.expand():
        if isinstance(item, Wait):
            wait += item.cycles
        else:
            time = time + max(interval, wait) if issue else wait
            wait = 0
            issue.append(time)
    assert all(b - a >= max(pace, interval) for a, b in zip(issue, issue[1:], strict=False))
    span = {}
    for read, cycle in zip(wanted, issue, strict=True):
        span.setdefault(read[:3], [cycle, cycle])[1] = cycle
    softmax_done = 0
    for number, (step, tile, value, count) in enumerate(phases):
        if value and count:
            key = next(end for (s, t, v), (_, end) in span.items() if (s, t, v) == (step, tile, 0))
            softmax_done = max(key, softmax_done) + gap
            start = span[step, tile, 1][0]
            assert start >= softmax_done
            if phases[number - 1][:3] == (step, tile, 0) and (number < 2 or not phases[number - 2][2]):
                assert start - key == max(gap, pace, interval)


@pytest.mark.parametrize("preset", ["pam-hbm", "pam-ddr", "pam-ssd"])
def test_text_does_not_grow_with_tokens_or_queries(preset):
    config = PRESETS[preset]

    def nodes(body):
        return sum(1 + (nodes(node.body) if isinstance(node, Loop) else 0) for node in body)

    def size(tokens, queries):
        steps = [Step(tokens, 128, number < queries - 1) for number in range(queries)]
        return nodes(attention_program(config, HBM, steps, gap_cycles=50).body)

    assert size(32 * 5 + 7, 8) == size(32 * 100 + 7, 8) == size(32 * 100 + 7, 80) < 150


def test_full_tiles_are_sequential():
    """A full tile of the HBM preset at head dimension 128 is 256 bursts: 8 whole rows, K and V alike."""
    config = PRESETS["pam-hbm"]
    assert tile_rows(config, HBM, 128) == 8
    program = attention_program(config, HBM, [Step(64, 128)], key_row=100)
    sequential = [(row, column) for row in range(32) for column in range(32)]
    k0, k1, v0, v1 = (sequential[n * 256 : (n + 1) * 256] for n in range(4))
    assert reads_of(program) == [(100 + r, c) for r, c in [*k0, *k1, *v0, *v1]]


def test_wait_of_a_single_tile():
    program = attention_program(PRESETS["pam-hbm"], HBM, [Step(32, 128)], gap_cycles=77)
    waits = [item.cycles for item in program.expand() if isinstance(item, Wait)]
    assert waits == [77]


def test_long_key_phase_hides_the_softmax():
    """256 bursts every 6 cycles hide 77 cycles: queries that share K and V need one wait, at the very end."""
    steps = [Step(32, 128, more=True)] * 3 + [Step(32, 128)]
    program = attention_program(PRESETS["pam-hbm"], HBM, steps, gap_cycles=77)
    assert not any(isinstance(item, Wait) for item in program.expand())
    lone = attention_program(PRESETS["pam-ddr"], HBM, [Step(32, 128)], gap_cycles=77)
    assert [item.cycles for item in lone.expand() if isinstance(item, Wait)] == [77, 77]


def test_no_steps_no_program():
    assert attention_program(PRESETS["pam-hbm"], HBM, []) == Program()
    assert attention_program(PRESETS["pam-hbm"], HBM, [Step(0, 128)]).counts() == {}


@pytest.mark.parametrize(
    "arguments, message",
    [
        (dict(steps=[Step(32, 128)], key_row=16380), r"^hbm3-5\.2: the key region needs rows 16380\.\.16387"),
        (
            dict(steps=[Step(64, 128)], value_row=15),
            r"^key rows from 0 and value rows from 15 overlap; each .* 16 rows$",
        ),
        (dict(steps=[Step(1, 100)]), r"^head dimension must be a multiple of 16 \(lanes\) in 16\.\.256, not 100$"),
        (
            dict(steps=[Step(1, 128, True)]),
            r"^the last step must not have 'more': nothing would come before the V of its",
        ),
        (dict(steps=[], gap_cycles=-1), r"^gap and burst cycles must be at least 0, not -1$"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ConfigError, match=message):
        attention_program(PRESETS["pam-hbm"], HBM, **arguments)


def test_burst_must_be_whole_beats():
    with pytest.raises(ConfigError, match=r"^hbm3-5\.2: a column burst of 32 bytes is no multiple of .* beat of 64"):
        attention_program(PamPuConfig(lanes=32), HBM, [Step(1, 128)])


def test_timing_of_other_steps_is_refused():
    class Timing:
        def issue_cycles(self, op):
            return np.arange(3)

    with pytest.raises(ConfigError, match=r"^the timing has 3 reads, the steps need 16$"):
        burst_arrivals(PRESETS["pam-hbm"], HBM, [Step(1, 128)], Timing())


@pytest.mark.parametrize("preset", ["pam-hbm", "pam-ddr"])
def test_append_writes_where_attention_reads(preset):
    """The columns written for tokens 0 to n - 1 are exactly those that attention over n tokens reads."""
    config, tokens = PRESETS[preset], 37
    bank = dict(pseudo_channel=1, rank=0, bank_group=2, bank=3)
    written = set()
    for token in range(tokens):
        program = append_program(config, HBM, token, 128, bank=bank, key_row=5, value_row=4000)
        for op, operands in program.expand():
            assert op == "WR" and operands.items() >= bank.items()
            written.add((operands["row"], operands["column"]))
    assert written == set(reads_of(attention_program(config, HBM, [Step(tokens, 128)], key_row=5, value_row=4000)))


@pytest.mark.parametrize("preset", ["pam-hbm", "pam-ddr"])
def test_scores_read_keys_alone(preset):
    """A step of scores reads each K once; the V that waits for it comes first, also after ``more``."""
    config = PamPuConfig(**{**PRESETS[preset].model_dump(), "scores": True})
    steps = [Step(40, 128, more=True), Step(70, 128, scores=True), Step(9, 128)]
    beats = config.beats(steps)
    mine = beats[beats["step"] == 1]
    assert len(mine) == 70 * config.chunks(128) and not mine["value"].any()
    first = np.flatnonzero(beats["step"] == 1)[0]
    assert (beats["step"][:first] == 0).all() and (beats["step"][first + len(mine) :] == 2).all()
    timing = time_program(attention_program(config, HBM, steps), HBM)
    arrival = burst_arrivals(config, HBM, steps, timing)
    assert len(arrival) == len(beats) and (np.diff(arrival) >= 0).all()


def test_scores_need_their_parameter():
    with pytest.raises(ConfigError, match="a step of scores alone needs the parameter scores"):
        attention_program(PRESETS["pam-hbm"], HBM, [Step(4, 128, scores=True)])
