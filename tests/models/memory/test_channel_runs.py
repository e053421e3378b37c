"""Channel programs of CENT and PAM that read runs of access units: one run is dense, commands follow from the places."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.memory import load_memory
from bankside.constraints.pam.pu import PRESETS, PamPuConfig, Step
from bankside.evidence.records import RecordFolder
from bankside.models.cent import BlockMapping, block_program
from bankside.models.llm import load_model
from bankside.models.llm.weights import SMALL as SMALL_MODEL
from bankside.models.memory import time_program
from bankside.models.memory.aim import FrontEnd
from bankside.models.pam.program import attention_program
from bankside.models.pam.selected import selected_program, unit_reads, unit_tokens
from bankside.models.program import Program, Wait
from bankside.models.program.selected import units_of
from bankside.models.sparse import make_method
from bankside.models.sparse.recorded import Recorded, StepSelection
from bankside.models.systems import load_system

HBM = load_memory("hbm3-5.2")

#: 5 channels, 2 heads of K and V with 2 queries each, with a shared input and without; 7 channels, 9 heads on two turns.
SMALL = BlockMapping(hidden=512, heads=4, kv_heads=2, ffn=768, channels=5, max_tokens=4096)
OWN = replace(SMALL, shared_inputs=False)
WIDE = BlockMapping(hidden=1152, heads=9, kv_heads=9, ffn=1024, channels=7, max_tokens=4096, shared_inputs=False)
ATTENTION = ("attn_score", "softmax_scale", "attn_output")


def pair(starts, lengths):
    return np.array(starts, np.int64), np.array(lengths, np.int64)


def stage(program, name):
    return Program([next(node for node in program.body if node.name == name)])


def commands(program, op):
    """Opsize (or 1), channels and row of every command of a kind, in order."""
    return [
        (values.get("opsize", 1), [c for c in range(32) if values["mask"] >> 31 - c & 1], values.get("row"))
        for name, values in program.expand()
        if name == op
    ]


def openings(program):
    """Rows opened by products, in all channels: a row of a channel stays open until another one is read."""
    open_rows, count = {}, 0
    for _, channels, row in commands(program, "MAC_ABK"):
        for channel in channels:
            count += open_rows.get(channel) != row
            open_rows[channel] = row
    return count


@st.composite
def lists(draw, most, number):
    """Runs of ``number`` lists on a placement of ``most`` units, with splits into neighbours."""
    out = []
    for _ in range(number):
        units = np.array(sorted(draw(st.sets(st.integers(0, most - 1), min_size=1, max_size=most))))
        cuts = (np.diff(units) != 1) | np.array([draw(st.booleans()) for _ in units[1:]], bool)
        starts = np.concatenate([[0], np.flatnonzero(cuts) + 1]).astype(np.int64)
        out.append((units[starts], np.diff(np.append(starts, len(units)))))
    return out


def joined(starts, lengths):
    """The same units in the fewest runs."""
    units = units_of(starts, lengths)
    first = np.flatnonzero(np.diff(units, prepend=-2) != 1)
    return units[first], np.diff(np.append(first, len(units)))


# CENT ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mapping", [SMALL, WIDE], ids=["small", "wide"])
@pytest.mark.parametrize("tokens", [1, 130, 1100])
def test_one_run_of_all_units_is_the_dense_block(mapping, tokens) -> None:
    units = -(-tokens // 16)
    dense = block_program(mapping, tokens)
    one = block_program(mapping, tokens, [pair([0], [units])])
    split = block_program(mapping, tokens, [pair(range(units), [1] * units)] * mapping.heads)
    for program in (one, split):
        assert [node.name for node in program.body] == [node.name for node in dense.body]
        assert all(list(stage(program, name).expand()) == list(stage(dense, name).expand()) for name in ATTENTION)


def test_the_dense_block_takes_the_same_cycles() -> None:
    front_end = FrontEnd(quirks="aim-simulator")
    dense, one = block_program(SMALL, 1100), block_program(SMALL, 1100, [pair([0, 60], [60, 9])])
    first, second = front_end.time(dense), front_end.time(one)
    assert (first.cycles, first.commands, first.stages) == (second.cycles, second.commands, second.stages)


@settings(max_examples=15)
@given(lists(69, 1), st.booleans())
def test_splitting_a_run_changes_no_command(selected, other) -> None:
    mapping = WIDE if other else SMALL
    each = mapping.heads if other else 1
    split, whole = (block_program(mapping, 1100, own * each) for own in (selected, [joined(*selected[0])]))
    assert all(list(stage(split, name).expand()) == list(stage(whole, name).expand()) for name in ATTENTION)


@settings(max_examples=15)
@given(st.data())
def test_commands_of_a_block_follow_from_the_units(data) -> None:
    """Products and rows that they open, in closed form. A turn opens a row of keys once for all heads and queries that read
    it. A row of values is opened once for each query and each part of the value."""
    mapping = data.draw(st.sampled_from([OWN, WIDE]))
    queries = data.draw(st.sampled_from([mapping.kv_heads, mapping.heads]))
    selected = data.draw(lists(69, queries))
    units = [units_of(*own) for own in selected for _ in range(mapping.heads // queries)]
    if all(np.array_equal(units[0], own) for own in units):
        return  # one list for all, which works in channels without a head too
    program = block_program(mapping, 1100, selected)
    score, context = (stage(program, name) for name in ("attn_score", "attn_output"))
    columns, per_row, total = mapping.head_dim // 16, 1024 // mapping.head_dim, sum(map(len, units))
    copies = mapping.replicas
    assert sum(size * len(channels) for size, channels, _ in commands(score, "MAC_ABK")) == copies * total * columns
    each = per_row * mapping.group
    spans = [units[first : first + each] for first in range(0, len(units), each)]
    assert openings(score) == copies * sum(len(np.unique(np.concatenate(own))) for own in spans)
    assert (
        sum(size * len(channels) for size, channels, _ in commands(context, "MAC_ABK"))
        == copies * total * mapping.value_parts
    )
    rows = [np.unique(own // 64) for own in units]
    assert openings(context) == copies * mapping.value_parts * sum(map(len, rows))
    # Every unit of every query is read once for each part of its values, at its row and nowhere else.
    read = {}
    for size, channels, row in commands(context, "MAC_ABK"):
        for channel in channels:
            read[channel, row] = read.get((channel, row), 0) + size
    wanted = {}
    stride, base = mapping.max_tokens // 1024, mapping.regions()["cache_v"]
    for query, own in enumerate(units):
        channel, turn = divmod(query // mapping.group, mapping.value_heads)
        for part in range(mapping.value_parts):
            for row, count in zip(*np.unique(own // 64, return_counts=True), strict=True):
                for copy in range(copies):
                    key = (
                        channel + mapping.channels * copy,
                        base + (turn * mapping.value_parts + part) * stride + int(row),
                    )
                    wanted[key] = wanted.get(key, 0) + int(count)
    assert read == wanted


def test_the_timing_engine_counts_the_same_commands() -> None:
    selected = [pair([3, 40], [9, 2]), pair([0, 66], [1, 3])]
    program = block_program(SMALL, 1100, selected)
    front_end = FrontEnd()
    for name in ("attn_score", "attn_output"):
        alone = stage(program, name)
        counts = front_end.time(alone).commands
        assert counts["MAC16"] == sum(size * len(channels) for size, channels, _ in commands(alone, "MAC_ABK"))
        assert counts["ACT16"] == openings(alone)
    dense = front_end.time(block_program(SMALL, 1100)).stages
    sparse = front_end.time(program).stages
    assert all(sparse[name] < dense[name] for name in ATTENTION) and sparse["gemv_w2"] == dense["gemv_w2"]


def test_softmax_takes_the_columns_of_the_head_with_the_most_units() -> None:
    program = block_program(SMALL, 1100, [pair([3, 40], [9, 2]), pair([0, 66], [1, 3])])
    assert {size for size, _, _ in commands(stage(program, "softmax_scale"), "EWMUL")} == {11}


@pytest.mark.parametrize(
    "selected, message",
    [
        ([pair([60], [10])], "head 0: the run of access units 60 to 69 is outside the placement of 69 units"),
        (
            [pair([0], [1]), pair([-1], [2])],
            "head 1: the run of access units -1 to 0 is outside the placement of 69 units",
        ),
        ([pair([4, 2], [1, 1])], "head 0: runs must be ascending, without overlap"),
        ([pair([4, 5], [2, 1])], "head 0: runs must be ascending, without overlap"),
        ([pair([0], [1])] * 3, "runs must be for all heads together or for each of 2 or 4, not for 3"),
    ],
)
def test_wrong_runs_of_a_block_are_named(selected, message) -> None:
    with pytest.raises(ConfigError) as caught:
        block_program(SMALL, 1100, selected)
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("method", ["quest", "starc"])
def test_selections_of_the_last_token_are_kept_slot_by_slot(method) -> None:
    """Query by query, in the order in which the method places tokens. The lists are the method's own."""
    numbers = np.random.default_rng(3).standard_normal((2, 300, 16)).astype(np.float32)
    own, kept = make_method(method, 64), Recorded(make_method(method, 64))
    assert kept.step is None
    counts = np.tile(np.arange(299, 301), 2)
    for head, keys in enumerate(numbers):
        queries = keys[:4] + 1
        lists = kept.choose(queries, keys, counts, layer=1, head=head, group=2)
        assert np.array_equal(lists.tokens, own.choose(queries, keys, counts, layer=1, head=head, group=2).tokens)
        kept.choose(queries, keys, counts, layer=0, head=head, group=2)
        last = [lists.tokens[lists.first[n] : lists.first[n + 1]] for n in (1, 3)]
        order = own.placement(keys, 300, 1, head)
        assert kept.step is not None and kept.step.room == 300
        assert [slots.tolist() for slots in kept.step.slots[1][2 * head : 2 * head + 2]] == [
            order.of(tokens).tolist() for tokens in last
        ]
    step = kept.step
    assert len(step.slots) == 2 and len(step.slots[0]) == 4
    assert step.fetched(1, 16) == 16 * -(-sum(int(lengths.sum()) for _, lengths in step.runs(1, 16)) // 4)


@pytest.fixture(scope="module")
def small_step():
    """A step of CENT with a small model at 600 tokens: the system, the model, and its time without a selection."""
    shape = load_model(SMALL_MODEL)
    system = load_system("cent").with_split(1, shape.layers)
    return system, shape, system.evaluate(shape, context=600, batch=1, records=RecordFolder())


def test_a_selection_of_all_slots_takes_cents_dense_step(small_step) -> None:
    system, shape, dense = small_step
    system.selected = StepSelection(((np.arange(600),) * shape.heads,) * shape.layers, 600)
    same = system.evaluate(shape, context=600, batch=1, records=RecordFolder())
    assert same.tpot_ms == pytest.approx(dense.tpot_ms, rel=1e-3)
    assert same.energy_mj_per_token == pytest.approx(dense.energy_mj_per_token, rel=1e-3)


def test_cents_step_follows_the_places_of_a_selection(small_step) -> None:
    """64 slots in all 38 access units take the time of all slots, and 64 slots side by side less."""
    system, shape, dense = small_step
    found = []
    for slots in (np.arange(64), np.unique(np.arange(64) * 599 // 63)):
        system.selected = StepSelection(((slots,) * shape.heads,) * shape.layers, 600)
        found.append(system.evaluate(shape, context=600, batch=1, records=RecordFolder()))
    assert found[0].tpot_ms < found[1].tpot_ms == pytest.approx(dense.tpot_ms, rel=1e-3)
    assert found[0].energy_mj_per_token < found[1].energy_mj_per_token
    assert any("selection" in meaning for meaning in found[0].assumptions)
    system.selected = StepSelection(((np.arange(64),) * shape.heads,), 600)
    with pytest.raises(ConfigError, match="selections are of 1 layers"):
        system.evaluate(shape, context=600, batch=1, records=RecordFolder())


def test_pams_step_follows_the_places_of_a_selection() -> None:
    """Slots that share tiles of the banks, and as many slots in all tiles of every group."""
    shape, found = load_model(SMALL_MODEL), []
    for slots in (np.arange(4096), np.arange(512), np.arange(512) * 8 % 4096 + np.arange(512) // 64 % 8):
        system = load_system("pam")
        system.selected = StepSelection(((np.sort(slots),) * shape.heads,) * shape.layers, 4096)
        found.append(system.evaluate(shape, context=4096, batch=1, records=RecordFolder()))
    every, near, far = (one.breakdown_ms["attention"] for one in found)
    assert near < every and near <= far <= every
    assert found[1].attention["active_tokens"] == 512 and found[0].attention["active_tokens"] == 4096
    assert found[1].energy_mj_per_token <= found[2].energy_mj_per_token < found[0].energy_mj_per_token


# PAM -------------------------------------------------------------------------------------------------------------------


@st.composite
def steps(draw):
    lanes = draw(st.sampled_from([4, 8, 16]))
    config = PamPuConfig(
        lanes=lanes,
        tile_tokens=draw(st.sampled_from([1, 3, 8, 13, 32])),
        buffer_bytes=512,
        score_tiles=draw(st.sampled_from([1, 2])),
        query_bytes=draw(st.sampled_from([64, 256])),
    )
    dim, tokens, count = draw(st.sampled_from([64, 96, 128])), draw(st.integers(1, 70)), draw(st.integers(1, 4))
    return config, [Step(tokens, dim, number < count - 1 and draw(st.booleans())) for number in range(count)]


@settings(max_examples=25)
@given(steps(), st.sampled_from([0, 9, 300]), st.sampled_from([0, 9]), st.data())
def test_all_units_of_a_bank_are_the_dense_program(work, gap, pace, data) -> None:
    """Reads and waits alike, in however many runs."""
    config, own = work
    every = own[0].tokens
    cut = data.draw(st.integers(0, every - 1))
    selected = [pair([0, cut], [cut, every - cut]) if cut else pair([0], [every])]
    if data.draw(st.booleans()):
        selected *= len(own)
    given_ = {"key_row": 5, "value_row": 9000, "gap_cycles": gap, "burst_cycles": pace}
    dense, same = attention_program(config, HBM, own, **given_), selected_program(config, HBM, own, selected, **given_)
    assert plain(same) == plain(dense)
    assert time_program(same, HBM).cycles == time_program(dense, HBM).cycles if gap == pace == 9 else True


def plain(program):
    """Commands and waits in order; waits that follow each other added up."""
    out = []
    for item in program.expand():
        if isinstance(item, Wait) and out and isinstance(out[-1], int):
            out[-1] += item.cycles
        else:
            out.append(item.cycles if isinstance(item, Wait) else (item[0], item[1]["row"], item[1]["column"]))
    return out


@settings(max_examples=25)
@given(st.data())
def test_units_of_banks_are_read_where_they_lie(data) -> None:
    """One tile of pam-hbm at head dimension 128: 8 columns of K and of V for each token of a bank. Four keys share a row,
    and so do the 16 elements of a chunk of all values of a tile."""
    config = PRESETS["pam-hbm"]
    own = data.draw(lists(96, 1))
    units = units_of(*own[0])
    if len(units) > config.tile_tokens:
        units = units[: config.tile_tokens]
    program = selected_program(config, HBM, [Step(96, 128)], [(units, np.ones(len(units), np.int64))], value_row=1000)
    split = selected_program(
        config, HBM, [Step(96, 128)], [joined(units, np.ones(len(units), np.int64))], value_row=1000
    )
    reads = [item[1:] for item in plain(program)]
    assert plain(split) == plain(program)
    assert len(reads) == 16 * len(units)
    keys, values = reads[: 8 * len(units)], reads[8 * len(units) :]
    assert keys == [(u // 4, 8 * (u % 4) + column) for u in units.tolist() for column in range(8)]
    assert values == [(1000 + 8 * (u // 32) + chunk, u % 32) for chunk in range(8) for u in units.tolist()]
    counts = time_program(program, HBM).commands
    assert counts["MAC_AB"] == 16 * len(units)
    opened = len({u // 4 for u in units.tolist()}) + 8 * len({u // 32 for u in units.tolist()})
    assert counts[HBM.command("MAC_AB").activate] == opened


def test_tiles_of_the_unit_are_full_whatever_tiles_of_memory_they_come_from() -> None:
    """40 tokens of a bank from three tiles of memory: two tiles of the unit, with the softmax of the first hidden."""
    config = PRESETS["pam-hbm"]
    selected = [pair([0, 40, 90], [10, 20, 10])]
    program = selected_program(config, HBM, [Step(100, 128)], selected, gap_cycles=77)
    assert [item for item in plain(program) if isinstance(item, int)] == [
        item for item in plain(attention_program(config, HBM, [Step(40, 128)], gap_cycles=77)) if isinstance(item, int)
    ]
    assert len(unit_reads(config, HBM, units_of(*selected[0])[32:], True, 128)) == 8 * 8
    assert unit_tokens(HBM) == 64


def test_queries_of_a_group_have_runs_of_their_own() -> None:
    own = [Step(64, 128, True), Step(64, 128)]
    program = selected_program(PRESETS["pam-hbm"], HBM, own, [pair([0], [4]), pair([8], [8])])
    assert program.counts()["MAC_AB"] == 16 * (4 + 8)


@pytest.mark.parametrize(
    "selected, message",
    [
        ([pair([60], [5])], "head 0: the run of access units 60 to 64 is outside the placement of 64 units"),
        ([pair([3, 2], [1, 1])], "head 0: runs must be ascending"),
        ([pair([0], [1])] * 3, "runs must be for all heads together or for each of 2, not for 3"),
    ],
)
def test_wrong_runs_of_banks_are_named(selected, message) -> None:
    with pytest.raises(ConfigError) as caught:
        selected_program(PRESETS["pam-hbm"], HBM, [Step(64, 128)] * 2, selected)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_no_selection_is_the_dense_program() -> None:
    own = [replace(Step(64, 128), tokens=70)]
    assert selected_program(PRESETS["pam-hbm"], HBM, own) == attention_program(PRESETS["pam-hbm"], HBM, own)
