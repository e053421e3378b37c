"""LoL-PIM's systems: places of keys and values, programs, room, time of a step, splits."""

import collections
import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.records import Record
from bankside.constraints.memory import load_memory
from bankside.models.aim.operators import Append, Context, Gemv, Module, Score
from bankside.models.llm import load_model
from bankside.models.lolpim.allocation import Allocator
from bankside.models.lolpim.peak import utilisation
from bankside.models.lolpim.timing import ModuleTimer, lockstep
from bankside.models.memory.aim import FrontEnd, channel_mask
from bankside.models.memory.aim_pingpong import PingPong
from bankside.models.program import Program
from bankside.models.serving.splits import best, decode, search
from bankside.models.systems import MissingRecord, evaluate, load_system
from bankside.models.systems.lol_pim import pipelined
from tests.made_up import SYNTHESIS, hub_figures

MODULE = Module()


@pytest.fixture(scope="module")
def timers():
    memory = load_memory("gddr6-aim")
    return [ModuleTimer(memory, MODULE, ping_pong=two) for two in (False, True)]


# Places ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "partition,heads,dim,tokens",
    [
        ("token", 32, 128, 700),
        ("token", 3, 128, 5000),
        ("token", 16, 64, 300),
        ("head", 40, 128, 700),
        ("head", 5, 64, 300),
    ],
)
def test_keys_have_places_of_their_own(partition, heads, dim, tokens):
    score = Score(MODULE, partition, tokens, dim, heads=heads)
    places = [score.place(token, head) for token in range(tokens) for head in range(heads)]
    assert len(set(places)) == len(places)
    for channel, bank, _, column in places:
        assert channel < 16 and bank < 16 and column % score.columns == 0 and column + score.columns <= 64
    rows = {row for _, _, row, _ in places}
    assert max(rows) < score.rows * (-(-heads // 16) if partition == "head" else 1)
    if partition == "head":  # each head in one channel
        assert all(len({score.place(t, h)[0] for t in range(tokens)}) == 1 for h in range(heads))
    else:  # 256 tokens in a row step, one in each bank
        assert len({score.place(t, 1)[:2] for t in range(256)}) == 256


@pytest.mark.parametrize(
    "partition,heads,dim,run",
    [
        ("token", 6, 128, 1024),
        ("token", 8, 128, 128),
        ("token", 3, 64, 256),
        ("token", 2, 256, 1024),
        ("head", 18, 128, 1024),
    ],
)
def test_values_have_places_of_their_own(partition, heads, dim, run):
    context = Context(MODULE, partition, 2500, dim, heads=heads, run=run)
    tokens = [*range(0, 2500, 61), *range(1016, 1032)]
    places = {context.place(t, k, h) for t in tokens for k in range(dim) for h in range(heads)}
    assert len(places) == len(set(tokens)) * dim * heads
    assert all(c < 16 and b < 16 and at < 1024 for c, b, _, at in places)
    # All dimensions of a token are read by one command of every bank.
    if partition == "token":
        assert len({context.place(9, k)[:2] for k in range(dim)}) == min(dim, 256)


@st.composite
def operators(draw):
    """A score and a context of a request in a small module, at any base."""
    size = draw(st.sampled_from([2, 4]))  # as many lanes as banks: a result of each bank is a register
    module = Module(draw(st.integers(1, 4)), size, size, size * draw(st.sampled_from([2, 4, 8])), 1 << 10)
    dim, run = (size * draw(st.integers(1, module.columns)) for _ in range(2))
    shape = draw(st.sampled_from(["head", "token"])), draw(st.integers(1, 60)), dim
    fields = {"group": draw(st.integers(1, 3)), "heads": draw(st.integers(1, 7)), "base": draw(st.integers(0, 4))}
    return Score(module, *shape, **fields), Context(module, *shape, **fields, run=run)


@given(operators())
@settings(max_examples=80)
def test_places_of_any_request(pair):
    """No two elements of any heads share a place. All lie in the banks, and in the reserved rows, from first to last."""
    score, context = pair
    module = score.module
    each = range(score.tokens), range(score.heads)
    keys = [score.place(*which) for which in itertools.product(*each)]
    values = [context.place(token, dim, head) for token, head, dim in itertools.product(*each, range(score.head_dim))]
    last = [column + score.columns - 1 for *_, column in keys]
    assert max(last) < module.columns and all(column % score.columns == 0 for *_, column in keys)
    assert max(element for *_, element in values) < module.row
    turns = -(-score.heads // module.channels) if score.partition == "head" else 1
    for operator, places in ((score, keys), (context, values)):
        assert len(set(places)) == len(places)
        assert {place[:2] for place in places} <= {*itertools.product(range(module.channels), range(module.banks))}
        rows = [place[2] for place in places]
        assert (min(rows), max(rows) + 1) == (operator.base, operator.base + operator.rows * turns)


@given(operators())
@settings(max_examples=80)
def test_results_are_sums_of_all_runs_and_parts(pair):
    """The context's program, executed with lists of rows for numbers. The result of every dimension is a sum over the rows
    in which the first head has its values, each once, and, without parts, as far as it has tokens there. Runs of ``head``
    are whole rows."""
    context = replace(pair[1], target=100, partial=500, heads=1)
    if context.partition == "head":
        context = replace(context, run=context.module.row)
    module, registers = context.module, collections.defaultdict(list)
    sums = [[] for _ in range(module.channels)]
    for op, at in context.program.expand():
        chosen = [c for c in range(module.channels) if at.get("mask", 0) >> (31 - c) & 1]
        if op == "WR_BIAS":
            for channel in chosen:
                sums[channel] = []
        elif op == "MAC_ABK":
            for channel in chosen:
                sums[channel] = [*sums[channel], (channel, at["row"], at["opsize"] * module.lanes)]
        elif op == "RD_MAC":
            registers |= {at["gpr"] + channel: sums[channel] for channel in chosen}
        elif op == "EWADD":
            for n in range(at["opsize"]):
                registers[at["gpr0"] + n] = registers[at["gpr0"] + n] + registers[at["gpr1"] + n]
    for query, dim in itertools.product(range(context.group), range(context.head_dim)):
        places = [context.place(token, dim) for token in range(context.tokens)]
        one = dim // (module.units if context.partition == "token" else module.banks)
        register = context.target + module.channels * (context.passes * query + one) + places[0][0]
        got = registers[register]
        ends = {}
        for channel, _, row, element in places:
            ends[channel, row] = max(ends.get((channel, row), 0), element % context.run)
        sizes = {row[:2]: row[2] for row in got}
        assert sizes.keys() >= ends.keys() and len(sizes) == len(got)
        if context.parts == 1:
            assert all(end < sizes[row] < end + 1 + module.lanes for row, end in ends.items())


@pytest.mark.parametrize("partition", ["token", "head"])
def test_products_are_with_the_rows_of_the_keys(partition):
    """The rows that a program opens are those of one head's keys (in its channel), each as often as it holds tokens."""
    score = Score(MODULE, partition, 3000, 128, heads=16, together=1 if partition == "token" else 16)
    wanted = {}
    for token in range(3000):
        channel, bank, row, column = score.place(token)
        if (channel, bank) == (0, 0):
            wanted[row] = wanted.get(row, 0) + 1
    rows = [at["row"] for op, at in score.program.expand() if op == "MAC_ABK" and at["opsize"] > 1]
    assert {row: rows.count(row) for row in set(rows)} == wanted


@pytest.mark.parametrize("inputs,outputs", [(4096, 4096), (1376, 4096), (128, 1000), (1024, 255), (2500, 300)])
def test_matrix_products_read_every_weight_once(inputs, outputs):
    gemv = Gemv(MODULE, inputs, outputs)
    seen = set()
    columns = 0
    for op, at in gemv.program.expand():
        if op == "WR_GB":
            columns += at["opsize"]
        elif op == "MAC_ABK":
            first = at.get("column", 0)
            for column in range(first, first + at["opsize"]):
                assert column < 64 and (at["row"], column) not in seen
                seen.add((at["row"], column))
    assert columns == -(-inputs // 16)
    assert len(seen) == -(-inputs // 16) * -(-outputs // 256)
    assert {row for row, _ in seen} == set(range(gemv.rows))


# Time --------------------------------------------------------------------------------------------------------------------


def test_programs_are_timed_by_the_engine(timers):
    """The timer adds nothing to the machine's cycles; inputs of some channels take the path of all."""
    p = Program()
    p.command("WR_BIAS", gpr=0, mask=MODULE.mask)
    for part in (0, 8):
        p.command("WR_GB", opsize=64, gpr=64 * part, mask=channel_mask(8, part))
    p.command("MAC_ABK", opsize=64, mask=MODULE.mask, row=3)
    p.command("RD_MAC", gpr=0, mask=MODULE.mask)
    context = Context(MODULE, "token", 2048)
    assert lockstep(context.program, MODULE.mask).counts() == p.counts()
    for timer, machine in zip(timers, (FrontEnd(), PingPong(FrontEnd())), strict=True):
        own = Program(p.body[:1])
        own.command("WR_GB", opsize=128, gpr=0, mask=MODULE.mask)
        own.extend(Program(p.body[3:]))
        timed = timer.time(context)
        assert timed.cycles == machine.time(own).cycles
        assert timed.seconds == pytest.approx(timed.cycles * 0.5e-9)
        assert timed.commands["WRGB"] == 64 * 16  # each channel got 64
        assert timed.energy_pj["io"] == 32 * 44 * (64 * 16 + 16 + 16)


def test_what_two_sets_of_buffers_gain(timers):
    """Shapes of Qwen1.5-7B at 16384 tokens; figures of the documentation."""
    gains = []
    for op in (
        Score(MODULE, "token", 16384, heads=32),
        Context(MODULE, "token", 16384, heads=32),
        Gemv(MODULE, 4096, 11008),
        Gemv(MODULE, 11008, 4096),
    ):
        one, two = (timer.time(replace(op, double=timer.ping_pong)).cycles for timer in timers)
        gains.append(1 - two / one)
    assert np.round(gains, 3).tolist() == [0.346, 0.476, 0.21, 0.213]


def test_a_head_after_the_other():
    """Against every event in order."""
    rng = np.random.default_rng(1)
    for turns in (1, 2, 3, 7):
        score, softmax, context = rng.random(3)
        order = sorted(
            [(("s", i), (2 * i, 0)) for i in range(turns)] + [(("c", i), (2 * i + 2, 1)) for i in range(turns)],
            key=lambda entry: entry[1],
        )
        channel, hub, done = 0.0, 0.0, {}
        for (kind, i), _ in order:
            if kind == "s":
                channel += score
                hub = done[i] = max(hub, channel) + softmax
            else:
                channel = max(channel, done[i]) + context
        assert pipelined(turns, score, softmax, context) == pytest.approx(channel)
    assert (
        pipelined(5, 1.0, 0.5, 2.0) == 5 * 3.0
    )  # hidden, but for nothing: the next head's score is before the context
    assert pipelined(1, 1.0, 0.5, 2.0) == 3.5


def test_a_step_is_the_sum_of_its_parts(module_records):
    model = load_model("qwen1.5-7b")
    for name in ("lol-pim", "aimx-pim"):
        result = evaluate(name, model, context=5000, batch=20, output_tokens=3, records=module_records)
        assert sum(result.breakdown_ms.values()) == pytest.approx(result.tpot_ms)
        assert result.throughput_tok_s == pytest.approx(20 / result.tpot_ms * 1e3)
        system = load_system(name)
        system.prepare(model, module_records, False)
        assert result.tpot_ms == pytest.approx(
            1e3
            * np.mean(
                [
                    system.choose(model, 20, 5001)[0]
                    / system.stage_seconds(model, result.parallelism["micro_batch"], 5001)
                    * system.stage_seconds(model, result.parallelism["micro_batch"], t)
                    for t in (5000, 5001, 5002)
                ]
            )
        )
        energy = sum(v for v in result.energy_breakdown_mj.values() if not isinstance(v, str))
        assert energy == pytest.approx(result.energy_mj_per_token)


def test_linear_layers_of_a_step(timers, module_records):
    """One layer of 2 of a stage, tensor 8: matrices of 1/8, from the timer; pipeline full with one request a stage."""
    model = load_model("qwen1.5-7b")
    result = evaluate("lol-pim", model, context=4096, batch=16, records=module_records)
    shapes = {"qkv": (4096, 1536), "out_projection": (512, 4096), "ffn_gate": (4096, 1376), "ffn_down": (1376, 4096)}
    for name, shape in shapes.items():
        cycles = timers[1].time(Gemv(MODULE, *shape, double=True)).cycles
        assert result.breakdown_ms[name] == pytest.approx(16 * 2 * cycles * 0.5e-6)
    # 4096 numbers of 2 bytes: a module's link, and between nodes the node's; in rings over 8 modules.
    assert result.breakdown_ms["pipeline_transfer"] == pytest.approx(16 * 1e3 * 8192 * (1 / 64e9 + 1 / 10e9))
    assert result.breakdown_ms["ffn_allreduce"] == pytest.approx(16 * 2 * 1e3 * 8192 * 2 * 7 / 8 / 64e9)
    append = timers[0].time(Append(MODULE, "token", 1, heads=4)).cycles
    assert result.breakdown_ms["kv_append"] == pytest.approx(16 * 2 * append * 0.5e-6)


def test_bubbles(module_records):
    model = load_model("qwen1.5-7b")
    few, full = (evaluate("lol-pim", model, context=4096, batch=batch, records=module_records) for batch in (4, 16))
    assert few.tpot_ms == full.tpot_ms and "12 of 16 steps of the pipeline are bubbles" in few.notes[0]


@pytest.mark.parametrize("feature", ["token_parallel", "ping_pong"])
def test_each_technique_helps_where_heads_are_few(feature, module_records):
    model = load_model("qwen1.5-72b")
    overrides = {f"features.{name}": False for name in ("token_parallel", "lazy_allocation", "ping_pong")}
    base, own = (
        evaluate("lol-pim", model, context=16384, batch=8, records=module_records, overrides=overrides | change)
        for change in ({}, {f"features.{feature}": True})
    )
    assert own.tpot_ms < base.tpot_ms


def test_contexts_of_their_own(module_records):
    """Equal contexts on the grid give the evaluation's time; a longer one among them holds up its step of the pipeline."""
    system, model = load_system("lol-pim"), load_model("qwen1.5-7b")
    system.prepare(model, module_records, False)
    even = system.step_seconds(model, np.full(16, 8192))
    assert even == pytest.approx(
        evaluate("lol-pim", model, context=8192, batch=16, records=module_records).tpot_ms * 1e-3
    )
    assert system.step_seconds(model, np.r_[np.full(15, 8192), 16384]) == pytest.approx(
        system.step_seconds(model, np.full(16, 16384))
    )


def test_a_step_of_the_pipeline_takes_its_longest_stage(module_records):
    """Twenty micro-batches of one request in sixteen stages: at each of twenty shifts the longest of sixteen neighbours
    decides. Four micro-batches: at each of sixteen shifts the longest of all."""
    system = load_system("lol-pim", {"parallelism.micro_batch": 1})
    model = load_model("qwen1.5-7b")
    system.prepare(model, module_records, False)
    stages = 16
    for batch in (4, 16, 20, 37):
        contexts = 1024 * np.r_[np.random.default_rng(batch).integers(1, 4, batch - 3), 1, 1, 4]  # on the grid
        slots = [system.stage_seconds(model, 1, int(tokens)) for tokens in contexts]
        slots += [0.0] * (stages - batch)
        shifts = [max(slots[(first + n) % len(slots)] for n in range(stages)) for first in range(len(slots))]
        assert system.step_seconds(model, contexts) == pytest.approx(sum(shifts))


@pytest.mark.parametrize("name, split", [("lol-pim", (8, 16)), ("aimx-pim", (8, 16)), ("lol-pim", (128, 1))])
def test_a_run_is_its_steps(name, split, module_records, monkeypatch):
    """Steps at once take the times of each alone, also where the size of micro-batches changes: at a mean of 1024."""
    model = load_model("qwen1.5-7b")
    system = load_system(name).with_split(*split)
    system.prepare(model, module_records, False)
    served = system.serving(model)
    contexts = np.random.default_rng(5).integers(900, 1000, 37)
    for _ in range(2):
        run = system.run_seconds(model, contexts, 200)
        assert run.tolist() == pytest.approx([system.step_seconds(model, contexts + k) for k in range(200)])
        assert served.decode_run(contexts, 3).tolist() == run[:3].tolist()
        system.prepare(model, module_records, False)
        monkeypatch.setattr(system, "choose", lambda model, batch, tokens: (0.0, 3 if tokens <= 1024 else 5))
    assert abs(run[100] / run[0] - 1) > 0.01


# More modules than heads -------------------------------------------------------------------------------------------------


#: Four modules for each of 32 heads.
SHARED = {"parallelism.tensor": 128, "parallelism.pipeline": 1}


def shared(module_records, name="lol-pim", **changes):
    system, model = load_system(name, SHARED | changes), load_model("qwen1.5-7b")
    system.prepare(model, module_records, False)
    return system, model


def test_modules_that_share_a_head_split_its_matrices(module_records):
    """128 dimensions on four modules: 32 columns each of queries, keys and values, and 32 rows of the projection."""
    system, model = shared(module_records)
    assert system.sharing(model) == 4 and system.heads(model) == (1, 1)
    assert {name: (gemv.inputs, gemv.outputs) for name, gemv in system.gemvs(model)} == {
        "qkv": (4096, 96),
        "out_projection": (32, 4096),
        "ffn_gate": (4096, 86),
        "ffn_up": (4096, 86),
        "ffn_down": (86, 4096),
    }
    one = load_system("lol-pim", {"parallelism.tensor": 32, "parallelism.pipeline": 4})
    assert one.sharing(model) == 1 and dict(one.gemvs(model))["qkv"].outputs == 384
    assert system.sharing(load_model("llama-3.1-70b")) == 2 and system.heads(load_model("llama-3.1-70b")) == (1, 1)


@pytest.mark.parametrize("name", ["lol-pim", "aimx-pim"])
def test_requests_are_dealt_to_the_modules_of_a_head(name, module_records):
    """Six requests on four modules: two on the fullest. Attention and positions are of these two. Each brings in three
    quarters of 3 x 128 numbers of 2 bytes. It sends three quarters of 128 back, at 64 GB/s."""
    system, model = shared(module_records, name)
    layer = system.layer(model, 6, 9000)
    own = system.unit.attention(model, 2, 1, 1, 9000)
    assert float(layer["attention_score"].time_s) == own.score and float(layer["kv_append"].time_s) == own.append
    assert float(layer["head_exchange"].time_s) == pytest.approx(2 * 0.75 * 4 * 128 * 2 / 64e9)
    assert float(layer["rotary"].time_s) == pytest.approx(2 * system.unit.rotary_seconds(2 * 128))
    assert float(layer["norms"].time_s) == pytest.approx(6 * system.norms_seconds(model))
    alone = load_system(name, {"parallelism.tensor": 32, "parallelism.pipeline": 4})
    alone.prepare(model, module_records, False)
    assert "head_exchange" not in alone.layer(model, 6, 9000)
    if name == "lol-pim":  # one head after the other: the work of six requests, wherever it is
        for component, pj in alone.layer(model, 6, 9000)["attention_context"].energy_pj.items():
            assert layer["attention_context"].energy_pj[component] == pytest.approx(pj)
    assert system.layer_seconds(model, 5, 9000) < system.layer_seconds(model, 9, 9000)


def test_a_head_on_several_nodes_uses_their_links(module_records):
    """Four modules for a head on nodes of two: half of what the two modules of a node exchange leaves it, at 10 GB/s."""
    system, model = shared(module_records, **{"node.modules": 2, "node.nodes": 64})
    each = 3 * 4 * 128 * 2
    assert system.exchange_seconds(model, 3) == pytest.approx(0.75 * each / 64e9 + 2 * 0.5 * each / 10e9)


def test_the_fullest_module_of_a_head_decides_the_room(module_records):
    system, model = shared(module_records)
    one = 16384 * 2 * 128 * 2 * 32  # K and V of a head, all layers
    assert [system.capacity(model, 16384, batch, 1).kv_bytes_per_device for batch in (4, 5, 8)] == [
        one,
        2 * one,
        2 * one,
    ]
    largest = system.capacity(model, 16384, 1, 1).largest_batch
    assert largest % 4 == 0 and largest == 4 * (
        ((8 << 30) - system.capacity(model, 16384, 1, 1).weight_bytes_per_device) // one
    )


def test_the_slowest_module_of_a_head_decides_the_step(module_records):
    """Eight requests on the grid, dealt in turn to four modules: 0 and 4, 1 and 5, ... A module takes the mean of its
    two."""
    system, model = shared(module_records, **{"parallelism.micro_batch": 8})
    contexts = 1024 * np.array([4, 4, 4, 9, 4, 4, 4, 7])
    each = [system.stage_seconds(model, 8, int(tokens)) for tokens in contexts]
    assert system.step_seconds(model, contexts) == pytest.approx((each[3] + each[7]) / 2)
    # A head in a channel: both requests of a module are worked on at once, and the longer one decides.
    system, model = shared(module_records, "aimx-pim", **{"parallelism.micro_batch": 8})
    assert system.step_seconds(model, contexts) == pytest.approx(system.stage_seconds(model, 8, 9 * 1024))


def test_idle_modules_are_told(module_records):
    model = load_model("qwen1.5-7b")
    for batch, note in (
        (2, "2 requests of a micro-batch on the 4 modules that share a head: 2 of 4 modules have none"),
        (6, "6 requests of a micro-batch on the 4 modules that share a head: 2 of 4 modules have one less"),
    ):
        result = evaluate(
            "lol-pim",
            model,
            context=4096,
            batch=batch,
            records=module_records,
            overrides=SHARED | {"parallelism.micro_batch": batch},
        )
        assert note in result.notes and result.attention["modules_per_head"] == 4
    full = evaluate("lol-pim", model, context=4096, batch=8, records=module_records, overrides=SHARED)
    assert not any("share a head" in note for note in full.notes)


def test_splits_go_beyond_the_heads():
    system = load_system("aimx-pim").sized(1024)
    assert [one.tp for one in system.splits(load_model("qwen1.5-7b"))] == [4, 8, 16, 32, 64, 128]
    assert [one.tp for one in system.splits(load_model("qwen1.5-14b"))] == [4, 8]  # 40 heads
    assert [one.tp for one in system.splits(load_model("llama-3.1-70b"))] == [2, 4, 8, 16, 32, 64, 128]


# Room --------------------------------------------------------------------------------------------------------------------


def test_chunks_come_with_tokens():
    allocator = Allocator(4, 256)
    assert allocator.grow(1, 300) and allocator.grow(2, 256)
    assert allocator.grow(1, 512) and allocator.table[1] == [0, 1] and not allocator.grow(3, 257)
    assert allocator.grow(1, 513) and allocator.table[1] == [0, 1, 3]  # not one after the other
    assert not allocator.grow(2, 257) and allocator.table[2] == [2]
    allocator.release(1)
    assert allocator.grow(2, 257) and sorted(allocator.free + allocator.table[2]) == [0, 1, 2, 3]


def test_room_is_counted_in_rows():
    system, model = load_system("lol-pim"), load_model("qwen1.5-7b")
    capacity = system.capacity(model, 16384, 1, 1)
    rows = 2 * sum(gemv.rows for _, gemv in system.gemvs(model))  # two layers of a stage
    assert capacity.available_bytes_per_device == 8 << 30 and capacity.weight_bytes_per_device == rows * (512 << 10)
    one = 16384 * 2 * 4 * 128 * 2 * 2  # K and V, 4 heads, 2 layers
    assert capacity.kv_bytes_per_device == one
    assert capacity.largest_batch == (capacity.available_bytes_per_device - capacity.weight_bytes_per_device) // one
    # Static allocation reserves the 32768 tokens of the model: half the requests.
    # And a head's share of a layer is in one channel: 16 of them, two requests, at a time.
    turn = 16 * 32768 * 2 * 128 * 2
    assert load_system("aimx-pim").capacity(model, 16384, 1, 1).largest_batch == 2 * (
        (capacity.available_bytes_per_device - capacity.weight_bytes_per_device) // turn
    )


def test_lazy_allocation_takes_more_requests(module_records):
    model = load_model("qwen1.5-7b")
    lazy, static = (
        decode(load_system(name, {"features.ping_pong": False}), model, "qmsum", requests=100, records=module_records)
        for name in ("lol-pim", "aimx-pim")
    )
    assert lazy.batch > 1.8 * static.batch
    assert static.batch == load_system("aimx-pim").capacity(model, 16384, 1, 1).largest_batch


# Splits ------------------------------------------------------------------------------------------------------------------


def test_utilisation_is_that_of_table_8():
    """The paper's rates give its percentages."""
    table = {
        ("qwen1.5-7b", 4): ((1833, 15.1), (2455, 20.2), (3668, 30.1)),
        ("qwen1.5-14b", 5): ((1309, 15.4), (1737, 20.5), (2553, 30.1)),
        ("qwen1.5-72b", 16): ((737, 12.8), (1211, 21.1), (1740, 30.3)),
    }
    for (model, nodes), pairs in table.items():
        for rate, percent in pairs:
            assert 100 * utilisation(load_model(model), rate, nodes, 16362) == pytest.approx(percent, abs=0.051)


def test_all_splits_are_tried(module_records):
    model = load_model("qwen1.5-14b")
    system = load_system("lol-pim").sized(320)
    splits = [(one.tp, one.pp) for one in system.splits(model)]
    assert splits == [(1, 40), (2, 20), (4, 10), (8, 5)]  # 5, 10, 20 and 40 do not divide the FFN
    found = search(system, model, "musique", requests=32, records=module_records)
    assert sorted(one.parallelism for one in found) == splits
    assert [one.tokens_per_s for one in found] == sorted((one.tokens_per_s for one in found), reverse=True)


def test_systems_of_a_size(module_records):
    model = load_model("qwen1.5-7b")
    assert load_system("lol-pim").sized(256).modules == 32 and load_system("gpu-gddr").sized(256).spec.gpu.count == 4
    hybrid = load_system("gpu-lol-pim").sized(256)
    assert hybrid.spec.gpu.count == 2 and hybrid.modules_per_gpu == 8
    rates = [
        best(system, model, "musique", requests=32, records=module_records).tokens_per_s
        for system in (hybrid, load_system("gpu-aimx-pim").sized(256))
    ]
    assert rates[0] > rates[1]
    for name in ("lol-pim", "gpu-lol-pim", "gpu-gddr", "pam"):
        with pytest.raises(ConfigError, match=rf"^{name} can't have 100 GB$"):
            load_system(name).sized(100)


# Errors ------------------------------------------------------------------------------------------------------------------


def test_what_does_not_fit_is_told(tmp_path, module_records):
    big, small = load_model("qwen1.5-72b"), load_model("qwen1.5-7b")
    two_nodes = {"node.nodes": 2, "parallelism.tensor": 8, "parallelism.pipeline": 2}
    cases = [
        (
            "lol-pim",
            big,
            {"context": 100, "batch": 1},
            two_nodes,
            r"^qwen1.5-72b on lol-pim: the weights need \d+ bytes \(8.\d GiB\) on the fullest of 16 modules, 8589934592 ",
        ),
        (
            "aimx-pim",
            small,
            {"context": 16384, "batch": 500},
            {},
            r"room for 32768 tokens is reserved for each request\); the largest batch that fits is 6\d$",
        ),
        (
            "lol-pim",
            small,
            {"context": 16384, "batch": 1},
            {"parallelism.tensor": 3},
            r"^lol-pim: tensor 3 times pipeline 16 must be the 128 modules$",
        ),
        (
            "lol-pim",
            small,
            {"context": 16384, "batch": 1},
            {"parallelism.tensor": 2, "parallelism.pipeline": 64},
            r"^pipeline parallelism of 64 exceeds the model's 32 layers$",
        ),
        (
            "lol-pim",
            load_model("qwen1.5-14b"),
            {"context": 16384, "batch": 1},
            {"parallelism.tensor": 128, "parallelism.pipeline": 1},
            r"^tensor parallelism of 128 is no multiple of the model's 40 attention heads$",
        ),
        (
            "lol-pim",
            load_model("longchat-13b"),
            {"context": 16384, "batch": 1},
            {"node.nodes": 10, "parallelism.tensor": 80, "parallelism.pipeline": 1},
            r"^tensor parallelism of 80 does not divide the model's 13824 FFN columns$",
        ),
        (
            "lol-pim",
            small,
            {"context": 16384, "batch": 1},
            {"node.nodes": 12, "parallelism.tensor": 96, "parallelism.pipeline": 1},
            r"^tensor parallelism of 96 gives a head 3 modules, neither a part nor a multiple of a node's 8$",
        ),
        (
            "lol-pim",
            small,
            {"context": 16384, "batch": 1},
            {"node.modules": 6, "parallelism.tensor": 96, "parallelism.pipeline": 1},
            r"^tensor parallelism of 96 gives a head 3 modules, which do not divide its 128 dimensions$",
        ),
        ("lol-pim", small, {"context": 0, "batch": 1}, {}, r"^context must be a whole number in 1\.\."),
        (
            "gpu-aimx-pim",
            big,
            {"context": 16384, "batch": 100},
            {},
            r"does not fit the modules \(room for 32768 tokens",
        ),
    ]
    for system, model, load, overrides, message in cases:
        with pytest.raises(ConfigError, match=message):
            evaluate(system, model, records=module_records, overrides=overrides, **load)
    result = evaluate("lol-pim", small, context=40000, batch=1, records=module_records)
    assert "context 40000 exceeds the 32768 positions that qwen1.5-7b was made for" in result.notes
    path = tmp_path / "config.json"
    card = {
        "model_type": "llama",
        "hidden_size": 1024,
        "num_hidden_layers": 16,
        "num_attention_heads": 8,
        "intermediate_size": 4096,
        "vocab_size": 1000,
        "max_position_embeddings": 4096,
        "torch_dtype": "float32",
    }
    path.write_text(json.dumps(card))
    with pytest.raises(ConfigError, match=r"the units take numbers of 2 bytes"):
        evaluate("lol-pim", load_model(path), context=10, batch=1, records=module_records)


def test_it_can_be_served(module_records):
    from bankside.models.serving.engine import Policy, serve
    from bankside.models.serving.systems import served_system
    from bankside.models.serving.workloads import draw

    model = load_model("qwen1.5-7b")
    for name in ("lol-pim", "gpu-lol-pim"):
        system = served_system(name, model, records=module_records)
        done = serve(system, draw("musique", 3, 1), Policy())
        assert len(done.finished_s) == 3 and np.all(done.finished_s > 0), name


def test_every_combination_of_techniques_runs(module_records):
    model = load_model("llama-3.1-8b")
    for token, lazy, two in itertools.product((False, True), repeat=3):
        overrides = {"features.token_parallel": token, "features.lazy_allocation": lazy, "features.ping_pong": two}
        result = evaluate(
            "lol-pim", model, context=3000, batch=4, records=module_records, overrides=overrides, refresh=True
        )
        assert result.tpot_ms > 0


# Measurements ------------------------------------------------------------------------------------------------------------


class Without:
    """Records without those of some units."""

    def __init__(self, source, *units):
        self.source, self.units = source, units

    def find(self, measurement):
        return None if measurement.unit in self.units else self.source.find(measurement)


def test_times_of_hub_and_dispatcher_come_from_records(module_records):
    """RMSNORM and product of 4096 numbers are 256 words: of 32 measured ones 141 and 83 clocks, a further word 2."""
    model = load_model("qwen1.5-7b")
    result = evaluate("lol-pim", model, context=4096, batch=16, records=module_records)
    step = 16 * 2 * 1e-6  # 16 steps of two layers, in ms of a clock
    assert result.breakdown_ms["norms"] == pytest.approx(step * 2 * (141 + 83 + 2 * 2 * 224))
    assert result.breakdown_ms["residuals"] == pytest.approx(step * 2 * (83 + 2 * 224))
    assert result.breakdown_ms["ffn_gate_product"] == pytest.approx(step * (83 + 2 * (86 - 32)))
    assert result.breakdown_ms["rotary"] == pytest.approx(step * 3 * (83 + 2 * 32))
    assert result.breakdown_ms["dispatch"] == pytest.approx(step * 11)
    # Sums of four pieces of qkv, gate and up, 96 words each, and of two of down, 256: the last of each waits; so does the
    # bias of qkv, which is one more term.
    assert result.breakdown_ms["partial_sums"] == pytest.approx(step * (3 * (83 + 2 * 64) + 83 + 2 * 224))
    assert [name.split("-sim")[0].rsplit("-", 1)[0] for name in result.records] == ["pim-hub", "dpa-dispatcher"]
    assert "dispatch" not in evaluate("aimx-pim", model, context=4096, batch=16, records=module_records).breakdown_ms


@pytest.mark.parametrize(
    "system,absent,commands",
    [
        ("lol-pim", ("pim-hub",), ["bankside sim pim-hub --preset lol-pim"]),
        (
            "lol-pim",
            ("pim-hub", "dpa-dispatcher"),
            ["bankside sim pim-hub --preset lol-pim", "bankside sim dpa-dispatcher --preset lol-pim"],
        ),
        ("gpu-lol-pim", ("dpa-dispatcher",), ["bankside sim dpa-dispatcher --preset lol-pim"]),
        ("aimx-pim", ("dpa-dispatcher",), []),
    ],
)
def test_missing_measurements_are_told(system, absent, commands, module_records):
    model, source = load_model("qwen1.5-7b"), Without(module_records, *absent)
    if not commands:
        assert evaluate(system, model, context=100, batch=1, records=source).records
        return
    with pytest.raises(MissingRecord) as told:
        evaluate(system, model, context=100, batch=1, records=source)
    assert list(told.value.commands) == commands
    with pytest.raises(MissingRecord):
        search(load_system(system), model, "qmsum", records=source)


def test_a_clock_that_is_missed_is_told(module_records):
    class Synthesised:
        def find(self, measurement):
            if measurement.kind == "sim":
                return module_records.find(measurement)
            results = SYNTHESIS | {"fmax_mhz": 500.0 if measurement.unit == "pim-hub" else 1001.0}
            return Record.of(measurement, made_from={}, verilog="", results=results, tools={})

    notes = evaluate("lol-pim", load_model("qwen1.5-7b"), context=100, batch=16, records=Synthesised()).notes
    assert notes == [
        "pim-hub reaches 500 MHz as synthesised, below its target of 1000 MHz; results take the target for granted"
    ]


def test_a_record_without_what_is_needed_is_told(module_records):
    class Old:
        def find(self, measurement):
            record = module_records.find(measurement)
            if (measurement.unit, measurement.kind) != ("pim-hub", "sim"):
                return record
            commands = {op: one | {"clocks_per_word": None} for op, one in record.results["commands"].items()}
            return record.model_copy(update={"results": record.results | {"commands": commands}})

    with pytest.raises(ConfigError, match=r"commands\.\w+\.clocks_per_word is None; measure again$"):
        evaluate("lol-pim", load_model("qwen1.5-7b"), context=100, batch=1, records=Old())


def test_sums_of_partial_results():
    """Beside products while the hub is faster; behind them what is left."""
    gemv = Gemv(MODULE, 4096, 4096)
    system = load_system("lol-pim")
    unit = system.unit
    unit.hub.sim = hub_figures(words=256, cycles=500, clocks_per_word=1.0)
    assert gemv.result_words == 256 and gemv.spans == 4
    assert unit.sums_seconds(gemv, False, 8e-6) == pytest.approx((0.5e-6, 1.5e-6))
    assert unit.sums_seconds(gemv, False, 0.8e-6) == pytest.approx(
        (0.4e-6 + 1.5e-6 - 0.8e-6, 1.5e-6)
    )  # the hub is slower
    assert unit.sums_seconds(gemv, True, 0.8e-6) == pytest.approx((0.2e-6 + 2e-6 - 0.8e-6, 2e-6))
    assert unit.sums_seconds(Gemv(MODULE, 1024, 4096), False, 1e-6) == (0, 0)
    assert pipelined(3, 1.0, 0.5, 2.0, 1.0, 0.25) == pytest.approx(3 * 3.0 + 0.25)
    assert pipelined(1, 1.0, 0.5, 2.0, 3.0, 0.25, 9.0) == pytest.approx(1.5 + 3.0 + 0.25)
    assert pipelined(2, 1.0, 2.5, 1.0, sent=1.0) == pytest.approx(1.0 + 2.5 + 2.5 + 1.0 + 1.0)  # of the second head
    # Two halves of 128 dimensions for each query. Sums of all runs stay in registers.
    assert Context(MODULE, "token", 16384).sums == ((), ((1, 8),))
    assert Context(MODULE, "token", 16384, group=4).sums == ((), ((4, 8),))
    assert Context(MODULE, "head", 16384, together=16).sums == (((14, 128),), ((1, 128),))


def test_utilisation_of_an_evaluation(module_records):
    model = load_model("qwen1.5-7b")
    result = evaluate(
        "lol-pim",
        model,
        context=16362,
        batch=16,
        records=module_records,
        overrides={"node.nodes": 4, "parallelism.pipeline": 4},
    )
    assert result.utilisation_percent == pytest.approx(100 * utilisation(model, result.throughput_tok_s, 4, 16362))
    assert evaluate("gpu-gddr", model, context=100, batch=1, records=module_records).utilisation_percent is None
