"""GPUs with AttAcc: the simulator's results row by row, points worked by hand, and overlaps of other systems.

``data/attacc_reference.csv`` has 39 of 219 runs of the public AttAcc simulator (commit c1540de) with an empty cache: its
conditions, the cycles of a layer, and its own output columns.
"""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.records import Record
from bankside.constraints.systems import FILES, TileSpec
from bankside.models.attacc import AttentionLayer, LayerTimer
from bankside.models.llm import load_model, simulated_models
from bankside.models.systems import load_system
from bankside.models.systems.attacc_reference import COMPONENTS, CONDITIONS, compare, read_reference
from bankside.models.systems.overlap import NearMemory, Parts, feed_forward, interleaved, pipelined
from bankside.models.systems.platform import MicroBatch
from bankside.models.systems.results import Cost
from bankside.models.systems.tiles import find_tiling
from bankside.shell import cli
from bankside.studies.attacc_reference import compare_reference
from tests.made_up import SIM, SYNTHESIS

REFERENCE = Path(__file__).parents[1] / "data" / "attacc_reference.csv"

#: Energies with reads of units on the logic die, which the simulator counts by what it ran before.
OF_HISTORY = {"g_energy (nJ)", "g_dram_energy", "g_attn_mem_energy"}


# The simulator's own results ---------------------------------------------------------------------------------------------


def test_every_component_of_the_simulator():
    result = compare_reference("dgx-attacc", str(REFERENCE))
    assert len(result.rows) == 39 and result.exact_cycles == result.cycle_rows == 26
    assert set(result.components) == set(COMPONENTS) and max(result.worst_relative_error.values()) < 1e-12
    assert set(result.not_compared) == OF_HISTORY
    assert {(row.system, row.gpu, row.pim) for row in result.rows} >= {
        ("dgx", "A100a", ""),
        ("dgx", "H100", ""),
        ("dgx-attacc", "H100", "bank"),
        ("dgx-attacc", "A100a", "bg"),
        ("dgx-attacc", "A100a", "buffer"),
    }


def test_the_default_rule_differs():
    """Without tiles and waves, projections are up to a half too fast; what is no product stays exact."""
    worst = compare_reference("dgx-attacc", str(REFERENCE), {"gpu.gemm": "least-traffic"}).worst_relative_error
    assert 0.3 < worst["g_qkv_time"] < 0.6 and worst["g_ff_time"] > 0.1
    assert all(worst[column] < 1e-12 for column in ("pim_cycles", "g_matmul", "g2g_comm", "g_act", "g_lnorm"))


def run(tmp_path, **conditions):
    """All components of one run of the given conditions."""
    row = {
        "system": "dgx",
        "gpu": "A100a",
        "pim": "",
        "powerlimit": "True",
        "ffopt": "False",
        "pipeopt": "False",
        "model": "GPT-175B",
        "Lin": 512,
        "Lout": 2,
        "bs": 1,
        "dtype": "W16A16",
        "cores": 8,
    } | conditions
    columns = [column for column in COMPONENTS if row["system"] == "dgx-attacc" or not column.startswith("pim_")]
    path = tmp_path / "one.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*row, *columns])
        writer.writeheader()
        writer.writerow(row | dict.fromkeys(columns, 1))
    return next(compare(read_reference(path)))


# Points worked by hand ---------------------------------------------------------------------------------------------------

BANDWIDTH = 3352e9 * 0.85


def test_mt_530b_by_hand(tmp_path):
    """105 layers, 16 heads of 160 on a GPU: products of one token read their weights, waves are of 108 processors."""
    found = run(tmp_path, model="MT-530B", Lin=512)
    score = (160 + 513 * 160 + 513) * 2 * 16 / (BANDWIDTH * 16 / 108)
    assert found["g_matmul"] == pytest.approx(105e3 * 2 * score, rel=1e-12)
    assert found["g_lnorm"] == pytest.approx(105 * 2 * (6.87 + 1.6e-6 * 1555 / 3352 * 3 * 20480 * 2) * 1e-3, rel=1e-12)
    assert found["g_act"] == pytest.approx(105 * (8.29 + 4.47e-7 * 1555 / 3352 * 2 * 10240 * 2) * 1e-3, rel=1e-12)
    assert found["g2g_comm"] == pytest.approx(105e3 * 2 * 7 * (6060 + 0.009 * 20480 * 2 / 8) * 1e-9, rel=1e-12)
    # 20480 x 2560 in tiles of 1 x 192: 107 of 108 processors; 1 x 64 would be 320 of 324, read more often
    weights = (2560 + 20480 * 2560 + 20480) * 2
    assert found["g_prj_time"] == pytest.approx(105e3 * weights / (BANDWIDTH * 107 / 108), rel=1e-12)
    assert found["g_flops"] == pytest.approx(
        8 * 105 * (2 * 20480 * 20480 / 8 * 12 + 16 * 513 * (4 * 160 + 5) + 10 * 20480 + 8 * 10240), rel=1e-12
    )


def test_bytes_halve_traffic_and_double_operations(tmp_path):
    """W8A8: prompts of 8 x 512 tokens are limited by operations, single tokens by bytes."""
    two, one = (run(tmp_path, model="GPT-13B", gpu="H100", bs=8, dtype=form) for form in ("W16A16", "W8A8"))
    assert one["s_matmul"] == pytest.approx(two["s_matmul"] / 2, rel=1e-12)
    assert one["g_matmul"] == pytest.approx(two["g_matmul"] / 2, rel=1e-12)
    assert one["g_lnorm"] == pytest.approx(40 * 2 * (6.87 + 1.6e-6 * 1555 / 3352 * 3 * 8 * 5120) * 1e-3, rel=1e-12)
    assert one["g_attn_mem_energy"] == pytest.approx(two["g_attn_mem_energy"] / 2, rel=1e-12)
    assert one["g_reg_energy"] < two["g_reg_energy"] and one["g_alu_energy"] == two["g_alu_energy"]


def test_units_of_bytes_by_hand(tmp_path):
    found = run(tmp_path, system="dgx-attacc", pim="bank", model="GPT-89B", bs=8, dtype="W8A8", ffopt="True")
    heads = math.ceil(12 * 8 / 5)
    timing = LayerTimer(quirks="attacc-simulator").time(
        AttentionLayer(513, heads, "bank", 1, quirks="attacc-simulator")
    )
    assert found["pim_cycles"] == timing.cycles
    assert found["g_matmul"] == pytest.approx(48 * timing.time_ns * 1e-6, rel=1e-12)
    # Transfers hide behind all heads but one of 12: 3 x 1536 columns there, 1536 back, 300 GB/s
    assert found["c2g_comm"] == pytest.approx(48e3 * 8 * 4 * 1536 / 300e9 / 12, rel=1e-12)
    # 9 times the GPU's bandwidth for 8 requests
    alone = run(tmp_path, system="dgx", model="GPT-89B", bs=8, dtype="W8A8")
    assert found["g_ff_time"] == pytest.approx(alone["g_ff_time"] / (1 + 9 / 8), rel=1e-12)
    commands = timing.commands
    cells = commands["MAC_AB"] * 32 * 64 * 4.4
    moved = 32 * (commands["WR_GB"] * 3.04 + (commands["MV_SB"] + commands["MV_GB"]) * 2.74)
    softmax = 2 * 513 * 96 * 0.0034 * 8
    assert found["g_attn_mem_energy"] == pytest.approx(48e-3 * (40 * (cells + moved) + softmax), rel=1e-12)
    assert found["g_attn_comp_energy"] == pytest.approx(48e-3 * 8 * 96 * 513 * (128 + 2.5) * 0.32, rel=1e-12)


def test_models_whose_heads_are_not_those_of_the_units(tmp_path):
    """MT-76B has heads of 256, and the simulator times its units with 128."""
    found = run(tmp_path, system="dgx-attacc", pim="bank", model="MT-76B")
    layer = AttentionLayer(513, 1, quirks="attacc-simulator")
    assert found["pim_cycles"] == LayerTimer(quirks="attacc-simulator").time(layer).cycles
    assert simulated_models()["MT-146B"].columns(30) == 4608 and simulated_models()["MT-146B"].head_dim == 153
    assert simulated_models()["LLAMA-7B"].ffn_share(8) == 8 / 3 * 512


@pytest.mark.parametrize("gpu, bandwidth, link", [("A100a", 200e9, 128e9), ("H100", 563.2e9, 256e9)])
def test_attention_on_the_host_by_hand(tmp_path, gpu, bandwidth, link):
    """12 heads of 16 requests on a processor, which reads K and V once; nothing overlaps."""
    found = run(tmp_path, system="dgx-cpu", gpu=gpu, bs=16, Lin=2048, pipeopt="True", ffopt="True")
    half = (128 + 2049 * 128 + 2049) * 2 * 192 / (bandwidth * 0.85)
    assert found["g_matmul"] == pytest.approx(96e3 * 2 * half, rel=1e-12)
    assert found["g_softmax"] == pytest.approx(96e3 * 2 * 2049 * 192 * 2 / (bandwidth * 0.85), rel=1e-12)
    assert found["c2g_comm"] == pytest.approx(96e3 * 16 * 4 * 1536 * 2 / link, rel=1e-12)
    alone = run(tmp_path, gpu=gpu, bs=16, Lin=2048)
    assert all(
        found[column] == alone[column] for column in ("g_qkv_time", "g_prj_time", "g_ff_time", "g2g_comm", "s_time")
    )
    assert found["g_attn_mem_energy"] == 0 and found["g_fc_mem_energy"] == alone["g_fc_mem_energy"]


# Tiles -------------------------------------------------------------------------------------------------------------------

TILES = load_system("dgx").spec.gpu.tiles


def slowly(spec, m, n, k, count, size, split):
    """The search as AttAcc's simulator describes it, tile by tile."""
    best, chosen = math.inf, None
    for rows in spec.sizes:
        for columns in spec.sizes:
            tm, tn = min(rows, m), min(columns, n)
            if (tm + tn) * spec.l1_depth * size + tm * tn * size > spec.l1_kib * 1024:
                continue
            traffic = (math.ceil(n / tn) * m * k + math.ceil(m / tm) * n * k + m * n) * size * count
            blocks = math.ceil(m / tm) * math.ceil(n / tn) * count if split else count
            busy = blocks / (math.ceil(blocks / spec.processors) * spec.processors)
            if traffic / busy**2 < best * (1 - 1e-12):
                best, chosen = traffic / busy**2, (tm, tn, traffic, busy)
    tm, tn, shared, busy = chosen
    least = math.inf
    for high in [*(tm * i for i in range(1, int(m / tm) + 1)), m]:
        for wide in [*(tn * i for i in range(1, int(n / tn) + 1)), n]:
            held = (high + wide) * (k / spec.l2_parts) * size + high * wide * size
            if held <= spec.l2_mib * 2**20 or (high, wide) == (tm, tn):
                least = min(least, (math.ceil(m / high) * n * k + math.ceil(n / wide) * m * k + m * n) * size)
    return least * count, shared, busy


@settings(max_examples=60)
@given(
    m=st.integers(1, 3000),
    n=st.integers(1, 6000),
    k=st.integers(1, 20000),
    count=st.integers(1, 300),
    size=st.sampled_from([1, 2]),
    split=st.booleans(),
    l2=st.sampled_from([0.1, 2.0, 40.0]),
)
def test_tiles_are_those_of_a_plain_search(m, n, k, count, size, split, l2):
    spec = TILES.model_copy(update={"l2_mib": l2})
    found = find_tiling(spec, m, n, k, count, size, split=split)
    memory, shared, busy = slowly(spec, m, n, k, count, size, split)
    assert float(found.shared_bytes) / float(found.busy) ** 2 == pytest.approx(shared / busy**2, rel=1e-9)
    if float(found.shared_bytes) == pytest.approx(shared) and float(found.busy) == pytest.approx(busy):
        assert float(found.memory_bytes) == pytest.approx(memory, rel=1e-9)


def test_many_contexts_at_once_are_each_alone():
    contexts = np.arange(1, 9000, 37)
    for split in (False, True):
        together = find_tiling(TILES, 8, contexts, 128, 24, 2, split=split)
        alone = [find_tiling(TILES, 8, int(n), 128, 24, 2, split=split) for n in contexts]
        assert together.memory_bytes.tolist() == [float(one.memory_bytes) for one in alone]
        assert together.busy.tolist() == [float(one.busy) for one in alone]


def test_attention_per_head_leaves_processors_idle():
    """12 heads on 108 processors take as long as 108: flat in the batch until all work."""
    system, model = load_system("dgx"), load_model("opt-175b")
    times = {
        batch: system.layer(model, MicroBatch(batch, batch), np.array([2048]))["attention_score"].time_s[0]
        for batch in (1, 9, 10)
    }
    assert times[1] == pytest.approx(times[9]) and times[10] == pytest.approx(2 * times[1])
    fused = load_system("dgx", {"gpu.attention": "fused"})
    cost = fused.layer(model, MicroBatch(1, 1), np.array([2048]))
    assert "attention_score" not in cost and cost["attention"].time_s[0] < 2 * times[1] / 8.9


def test_tiles_of_whole_products_do_not_depend_on_their_number():
    """An array of contexts is searched once; each value is the one of a search with this number."""
    contexts = np.array([100, 1000, 5000])
    for count in (7, 216, 1000):
        together = find_tiling(TILES, 4, contexts, 128, count, 2, split=False)
        alone = [find_tiling(TILES, 4, int(n), 128, count, 2, split=False) for n in contexts]
        for name in ("memory_bytes", "shared_bytes", "busy"):
            assert getattr(together, name).tolist() == [float(getattr(one, name)) for one in alone]


# Prompts -----------------------------------------------------------------------------------------------------------------


def prompt_s(system, tokens, past=(0,), window=None, heads=4, kv_heads=4):
    return system.roofline.prompt_attention(heads, kv_heads, 128, 2, np.array(tokens), np.array(past), window)


def test_prompts_per_head_are_those_of_the_simulator():
    """LLaMA-7B with 8 GPUs, a prompt of 128 and of 512 tokens: columns s_matmul and s_softmax of the simulator, in ms of 32
    layers."""
    for tokens, matmul, softmax in (
        (128, 0.23848001123122284, 0.07949333707707426),
        (512, 1.9078400898497827, 1.2718933932231882),
    ):
        assert 32e3 * prompt_s(load_system("dgx"), [tokens]) == pytest.approx(matmul + softmax)


def test_prompts_per_head_by_hand():
    """A softmax of 4 heads on 4 of 108 processors reads and writes 4 n^2 elements; products of long prompts are limited by
    operations. Prompts of unequal length: the mean of two pairs of equal ones."""
    system, n = load_system("gpu-gddr"), 4096
    share = 4 / 108
    softmax = 2 * 2 * 4 * n * n / (4096e9 * 0.85 * share)
    products = 2 * 2 * n * n * 128 * 4 / (312e12 * 0.8 * share)
    assert prompt_s(system, [n]) == pytest.approx(softmax + products, rel=0.02)
    pairs = [prompt_s(system, [length, length], [0, 0]) for length in (n, n // 4)]
    assert prompt_s(system, [n, n // 4], [0, 0]) == pytest.approx(np.mean(pairs))
    assert pairs[0] == pytest.approx(prompt_s(system, [n]))  # 8 heads: twice the processors
    # A piece behind 3072 tokens multiplies with all 4096; a window of 1024 leaves at most 2047 of them.
    piece, windowed = prompt_s(system, [1024], [3072]), prompt_s(system, [1024], [3072], 1024)
    assert piece == pytest.approx(prompt_s(system, [n]) / 4, rel=0.05) and windowed == pytest.approx(
        piece / 2, rel=0.05
    )
    # Four queries to a key/value head share its processor.
    assert prompt_s(system, [n], heads=16) == pytest.approx(4 * prompt_s(system, [n]), rel=0.05)
    fused = load_system("gpu-gddr", {"gpu.rule": "roofline"})
    assert prompt_s(fused, [n]) < prompt_s(system, [n]) / 20


def test_served_prompts_follow_the_rule_of_attention():
    """Time and energy of a prefill: per head takes longer and moves scores through memory."""
    model, prompts = load_model("qwen1.5-7b"), (np.array([4096, 1000]), np.array([0, 0]))
    rules = [load_system("gpu-gddr", {"gpu.attention": kind}).served(model, None) for kind in ("per-head", "fused")]
    times, energies = (
        [getattr(one, what)(*prompts) for one in rules] for what in ("prefill_seconds", "prefill_energy_pj")
    )
    assert times[0] > 1.2 * times[1]
    assert energies[0]["gpu_dram"] > energies[1]["gpu_dram"] and energies[0].keys() == energies[1].keys()


# Overlaps ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "attention, moved, linear, projections, expected",
    [
        (8.0, 4.0, (3.0, 1.0), True, (0.75, 0.25, 1.0)),  # attention hides all but a head's share of both
        (2.0, 4.0, (3.0, 1.0), False, (3.0, 1.0, 2.5)),  # a part of the transfers
        (2.0, 1.0, (3.0, 1.0), True, (3 - 1.5 * 0.75, 1 - 1.5 * 0.25, 0.25)),  # a part of the projections
        (2.0, 5.0, (3.0, 1.0), True, (0.75, 0.25, 3.5)),  # transfers are longest
        (8.0, 4.0, (3.0, 1.0), False, (3.0, 1.0, 1.0)),
    ],
)
def test_pipelining_of_four_heads_by_hand(attention, moved, linear, projections, expected):
    costs = {
        "qkv": Cost(linear[0]),
        "send": Cost(moved / 4),
        "attention": Cost(np.array([attention])),
        "softmax": Cost(0.0),
        "receive": Cost(moved * 3 / 4),
        "out_projection": Cost(linear[1]),
    }
    parts = Parts({"qkv": 3.0, "out_projection": 1.0}, ("send", "receive"), ("attention", "softmax"), ("softmax",))
    out = pipelined(costs, parts, 0.25, projections=projections)
    found = [float(np.max(out[name].time_s)) for name in ("qkv", "out_projection")]
    assert (*found, float(np.max(out["send"].time_s + out["receive"].time_s))) == pytest.approx(expected)
    assert float(np.max(out["attention"].time_s)) == attention and list(out) == list(costs)


@pytest.mark.parametrize(
    "attention, expected",
    [
        (4.0, 0.0),  # hidden: 2.5 behind the small half's 3 on the GPU, 1.5 behind the large half's 5
        (6.0, 0.75),  # the large half attends for 3.75, the small half's 3 on the GPU hide all but 0.75
        (16.0, 7.0 + 1.0),
    ],
)  # 10 less 3, 6 less 5
def test_sub_batches_by_hand(attention, expected):
    """Five of eight requests take 5 on the GPU, three take 3; each has its share of attention."""
    halves = [
        {"qkv": Cost(4.0, {"gpu": 2.0}), "ffn": Cost(1.0, {"gpu": 1.0})},
        {"qkv": Cost(2.0, {"gpu": 2.0}), "ffn": Cost(1.0, {"gpu": 1.0})},
    ]
    attended = {"attention": Cost(np.array([attention * 0.75]), {"unit": 7.0}), "softmax": Cost(attention * 0.25)}
    linear, left = interleaved(halves, attended, [5, 3])
    assert {name: cost.time_s for name, cost in linear.items()} == {"qkv": 6.0, "ffn": 2.0}
    assert linear["qkv"].energy_pj == {"gpu": 4.0} and left["attention"].energy_pj == {"unit": 7.0}
    assert float(np.max(left["attention"].time_s + left["softmax"].time_s)) == pytest.approx(expected)
    assert interleaved(halves, {}, [5, 3])[1] == {}


def test_feed_forward_by_hand():
    """Units of 9 times the bandwidth: for 3 requests they do as much as 3 GPUs; of 200 operations a second, two thirds."""
    units = NearMemory(200.0, 9.0)
    shared = {"gpu_flops_per_s": 100.0, "batch": 3, "element_bytes": 2}
    assert feed_forward(Cost(1.0, compute_bound=False), units, **shared).time_s == pytest.approx(1 / 4)
    assert feed_forward(Cost(1.0, compute_bound=True), units, **shared).time_s == pytest.approx(1 / 3)


OVERLAPS = {"pipelining": "heads", "source": "a test"}


class MadeUp:
    """Made-up measurements of every unit."""

    def find(self, measurement):
        results = SIM[measurement.unit] if measurement.kind == "sim" else SYNTHESIS
        return Record.of(measurement, made_from={}, verilog="", results=results, tools={})


@pytest.mark.parametrize(
    "name, near",
    [("attacc", 1e-9), ("dgx-attacc", 1e-9), ("gpu-lol-pim", 1e-9), ("pam-hbm-only", 1e-9), ("l-pim", 0.02)],
)
def test_overlaps_of_systems_with_units(name, near):
    """Pipelined systems are faster by what they hide; the serving engine has the same step, from a grid for tiers."""
    model = load_model("qwen1.5-7b")
    steps = {}
    for pipelining in ("none", "transfers", "heads", "sub-batches"):
        system = load_system(name, {"overlaps": OVERLAPS | {"pipelining": pipelining}})
        system.prepare(model, MadeUp(), False)
        assert (system.assumptions()["overlap"].value is None) == (pipelining == "none")
        steps[pipelining] = system.decode_step(model, 16, np.array([1024, 4096]))
        served = system.served(model, MadeUp())
        assert served.decode_seconds(np.full(16, 4096)) == pytest.approx(steps[pipelining].total_s[1], rel=near)
    assert all(steps["none"].total_s >= steps["transfers"].total_s)
    assert all(steps["transfers"].total_s > steps["heads"].total_s)
    # Each half of the requests reads the weights, so products take longer, and attention is behind them or shorter.
    assert all(steps["sub-batches"].seconds["qkv"] > steps["none"].seconds["qkv"])
    assert all(steps["sub-batches"].seconds["attention"] < steps["none"].seconds["attention"])
    assert all(np.all(steps["heads"].energy_pj[key] == pj) for key, pj in steps["none"].energy_pj.items())


def test_no_overlap_unless_the_file_says_so():
    model = load_model("llama-3-70b")
    for name in ("attacc", "gpu-only"):
        assert load_system(name).pipelining == "none"
    plain, none = (
        load_system("attacc", changes).decode_step(model, 16, np.array([4096]))
        for changes in ({}, {"overlaps": {"source": "a test"}})
    )
    assert plain.seconds.keys() == none.seconds.keys() and plain.total_s == none.total_s


# Groups of queries, unequal contexts, room ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["dgx", "dgx-attacc", "dgx-cpu"])
def test_a_served_system_takes_the_step_of_eval(name):
    model = load_model("llama-3-70b")
    system = load_system(name)
    step = system.decode_step(model, 16, np.array([4096])).total_s[0]
    served = system.served(model, None)
    assert served.decode_seconds(np.full(16, 4096)) == pytest.approx(step)
    assert served.kv_capacity_tokens == system.kv_capacity_tokens(model)


def test_unequal_contexts_take_the_mean_of_each():
    model, system = load_model("llama-3-70b"), load_system("dgx")
    contexts = np.random.default_rng(5).integers(10, 6000, 24)
    each = [system.decode_step(model, 24, np.array([tokens])).total_s[0] for tokens in contexts]
    served = system.served(model, None)
    assert served.decode_seconds(contexts) == pytest.approx(np.mean(each))
    later = served.decode_run(contexts, 3)
    assert later[2] == pytest.approx(served.decode_seconds(contexts + 2)) and later[0] < later[2]


def test_a_group_reads_keys_once_on_gpus_and_once_a_query_beside_banks():
    grouped, single = load_model("llama-3-70b"), load_model("llama-3-70b").model_copy(update={"kv_heads": 64})
    micro, contexts = MicroBatch(16, 16), np.array([4096])
    gpu, units = load_system("dgx"), load_system("dgx-attacc")
    bytes_of = [
        gpu.layer(model, micro, contexts)["attention_score"].levels_pj["memory"][0] for model in (grouped, single)
    ]
    assert bytes_of[1] / bytes_of[0] == pytest.approx(8, rel=0.1)
    times = [units.attention(model, micro, contexts) for model in (grouped, single)]
    assert times[0]["attention"].time_s == times[1]["attention"].time_s
    assert times[1]["attention_send"].time_s / times[0]["attention_send"].time_s == pytest.approx(3 * 64 / (64 + 2 * 8))


SHARED = {"queries": 8}


def test_shared_reads_by_hand():
    """Llama-3-70b, 16 requests: two key/value heads of a GPU are 7 heads of a stack rather than 52, over two channels each.
    Under the power limit a read takes 8 x 4 cycles of the unit rather than 6 of the memory. Computing takes the energy of
    one query a read."""
    model, micro, contexts = load_model("llama-3-70b"), MicroBatch(16, 16), np.array([4096])
    single, shared = load_system("attacc"), load_system("attacc", SHARED)
    assert (single.heads(model, 16), shared.heads(model, 16)) == (52, 7)
    assert (single.together(model), shared.together(model)) == ((8, 1), (1, 8))
    assert [system.spread(model, heads) for system, heads in ((single, 4), (shared, 4), (shared, 7), (shared, 60))] == [
        1,
        4,
        2,
        1,
    ]
    assert (single.read_cycles(1), shared.read_cycles(1), shared.read_cycles(8)) == (0, 0, 32)
    one, more = (
        system.timing(model, tokens, heads) for system, tokens, heads in ((single, 4096, 52), (shared, 2048, 14))
    )
    # 256 and 128 groups of 16 tokens, two columns of K and of V each; the first pair of rounds reads once more.
    assert one.commands["MAC_AB"] == 52 * 2 * 512 + 16 and more.commands["MAC_AB"] == 14 * 2 * 256
    assert 32 * 512 < more.cycles < 32 * 512 + 4000
    a, b = (system.attention(model, micro, contexts)["attention"] for system in (single, shared))
    # A unit takes three times the energy of a column, for each query that meets it.
    stacks = single.tp * single.stacks_per_gpu
    column_pj = sum(single.memory.command("MAC_AB").energy_pj.values())
    for cost, timed, times in ((a, one, 3), (b, more, 24)):
        columns_pj = timed.commands["MAC_AB"] * column_pj * stacks
        assert cost.energy_pj["pu_compute"] == pytest.approx(times * columns_pj, rel=1e-12)
        # The default boundary counts every command of the layer; columns are its cells' part.
        assert cost.energy_pj["pim_cell_reads"] == pytest.approx(timed.energy_pj["total"] * stacks, rel=1e-12)
        assert timed.energy_pj["cell"] == pytest.approx(timed.commands["MAC_AB"] * column_pj, rel=1e-12)
    assert b.time_s == pytest.approx(more.time_ns * 1e-9)
    assert b.energy_pj["pim_cell_reads"] < a.energy_pj["pim_cell_reads"] / 4
    faster = load_system("attacc", {**SHARED, "query_cycles": 2})
    assert faster.read_cycles(8) == 16 and 16 * 512 < faster.timing(model, 2048, 14).cycles < more.cycles


@pytest.mark.parametrize("name", ["attacc", "dgx-attacc"])
def test_shared_reads_are_faster_and_fewer(name):
    """With 2, 4 and 8 queries a read, attention takes less time, and reads fall with each. A group of one query gains
    nothing."""
    model, micro, contexts = load_model("llama-3-70b"), MicroBatch(16, 16), np.array([2048])
    costs = [load_system(name, {"queries": n}).attention(model, micro, contexts)["attention"] for n in (1, 2, 4, 8)]
    times, reads = [one.time_s[0] for one in costs], [one.energy_pj["pim_cell_reads"][0] for one in costs]
    assert max(times[1:]) < 0.8 * times[0]
    assert reads == sorted(reads, reverse=True) and reads[0] > 4 * reads[-1]
    alone = load_model("opt-66b")
    one, more = (load_system(name, changes).attention(alone, micro, contexts)["attention"] for changes in ({}, SHARED))
    assert one.time_s == more.time_s and one.energy_pj == more.energy_pj


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"queries": 0}, r": queries: .*greater than or equal to 1, not 0"),
        ({"queries": 65}, r": queries: .*less than or equal to 64, not 65"),
        ({"query_cycles": 0}, r": query_cycles: .*greater than or equal to 1, not 0"),
    ],
)
def test_wrong_numbers_of_shared_queries(changes, message):
    with pytest.raises(ConfigError, match=message) as error:
        load_system("attacc", changes)
    assert "\n" not in str(error.value)


def test_a_file_without_shared_reads_is_the_file_before():
    """The keys with their defaults stand in no document, so results keep their hashes."""
    for name in ("attacc", "dgx-attacc"):
        assert not {"queries", "query_cycles"} & load_system(name).pim.model_dump().keys()
        assert load_system(name, {"queries": 1}).pim == load_system(name).pim


def test_room_beside_the_weights_or_apart():
    """An AttAcc device has 80 GiB for keys and values, a GPU's share of the host 256 GiB."""
    model = load_model("llama-7b")
    token = 2 * 32 * 4096 * 2 // 8
    assert load_system("dgx-attacc").kv_capacity_tokens(model) == 80 * 2**30 // token
    assert load_system("dgx-cpu").kv_capacity_tokens(model) == 256 * 2**30 // token
    weights = max(load_system("dgx").weight_bytes_per_device(model))
    assert load_system("dgx").kv_capacity_tokens(model) == (80 * 2**30 - weights) // token // 16 * 16
    most = 80 * 2**30 // token // 4096
    with pytest.raises(ConfigError, match=rf"the largest batch that fits is {most}$"):
        load_system("dgx-attacc").check_fits(model, 4096, most + 1)


def test_a_processor_of_the_host_is_shared_without_quirks():
    model, micro, contexts = load_model("llama-7b"), MicroBatch(4, 4), np.array([1024])
    own, shared = (
        load_system("dgx-cpu", changes).attention(model, micro, contexts) for changes in ({}, {"quirks": None})
    )
    assert all(shared[name].time_s == pytest.approx(4 * cost.time_s) for name, cost in own.items())


# Bad input ---------------------------------------------------------------------------------------------------------------


#: The lines of the group in its file.
TILES_GROUP = re.search(r"  tiles:\n(?:    .*\n)+", FILES["gpu-hbm"].read_text())[0]


@pytest.mark.parametrize(
    "system, old, new, message",
    [
        (
            "dgx",
            "  rule: attacc-simulator",
            "  rule: tiled",
            r":12: gpu\.rule: input should be 'measured', 'roofline' or 'attacc-simulator', not 'tiled'$",
        ),
        (
            "dgx",
            "  rule: attacc-simulator",
            "  attention: all",
            r":12: gpu\.attention: input should be 'fused' or 'per-head', not",
        ),
        (
            "dgx",
            "  rule: attacc-simulator",
            "  gemm: tilde",
            r":12: gpu\.gemm: input should be 'least-traffic' or 'tiled', not 'tilde'$",
        ),
        ("dgx", "  rule: attacc-simulator", "  rule: measured", r":3: gpu: rule measured needs the key 'kernels'$"),
        (
            "gpu-only",
            "  kernels: h100-sxm-sglang",
            "  kernels: h100-sxm-vllm\n  rule: measured\n  gemm: tiled",
            r":3: gpu: gemm tiled: the rule measured has its own; leave it out$",
        ),
        (
            "gpu-only",
            "  kernels: h100-sxm-sglang",
            "  kernels: h100-sxm\n  rule: measured",
            r"unknown kernel records 'h100-sxm'; did you mean 'h100-sxm-",
        ),
        ("dgx", "    l1_kib: 192", "    l1_kib: 1", r":13: gpu\.tiles: a tile of 8 x 8 does not fit l1_kib 1$"),
        ("dgx", "    sizes: [8,", "    sizes: [0,", r":13: gpu\.tiles: sizes must be 1 to 1048576, not \[0, "),
        ("gpu-hbm", TILES_GROUP, "", r":3: gpu: tiled products need the group 'tiles' \(rule attacc-simulator\)$"),
        (
            "gpu-hbm",
            "  rule: attacc-simulator\n" + TILES_GROUP,
            "  attention: per-head\n",
            r":3: gpu: attention per head needs the group 'tiles' \(rule roofline\)$",
        ),
        (
            "dgx-attacc",
            "  pipelining: heads",
            "  pipelining: head",
            r": overlaps\.pipelining: input should be 'none', 'transfers', 'heads' or 'sub-batches', not 'head'",
        ),
        (
            "dgx-attacc",
            "command_energy:",
            "comand_energy:",
            r": unknown key 'comand_energy'; did you mean 'command_energy'",
        ),
        ("attacc", "energy:\n  unit_power_ratio: 3\n  source: t", "extra: t", r"unknown key 'extra'"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path, system, old, new, message):
    text = FILES[system].read_text()
    assert old in text
    path = tmp_path / "mine.yaml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ConfigError, match=message) as error:
        load_system(path)
    assert str(error.value).startswith(str(path)) and "\n" not in str(error.value)


def test_what_a_system_lacks_is_told():
    with pytest.raises(ConfigError, match=r"^dgx-cpu: the GPU system 'gpu-only' has no group 'host'; dgx has one$"):
        load_system("dgx-cpu", {"base": "gpu-only"})
    with pytest.raises(ConfigError, match=r"overlaps\.feed_forward needs the group 'bandwidth'$"):
        load_system("attacc", {"overlaps": {"feed_forward": True, "source": "a test"}})
    with pytest.raises(ConfigError, match=r"^gpu-lol-pim: overlaps\.feed_forward needs units whose bandwidth"):
        load_system("gpu-lol-pim", {"overlaps": {"feed_forward": True, "source": "a test"}})
    with pytest.raises(ConfigError, match=r"needs one of the groups 'energy' and 'command_energy'$"):
        load_system("dgx-attacc", {"energy": {"unit_power_ratio": 3, "source": "a test"}})


HEADER = ",".join([*CONDITIONS, "g_fc"])
ROW = "dgx,A100a,,True,True,True,LLAMA-7B,128,2,1,W16A16,8,1.5"

BAD = {
    "another layout": (
        "L,nhead,dhead\n1,2,3\n",
        r":1: not a reference of the AttAcc simulator: no column 'system' \(needed: ",
    ),
    "empty": ("", r":1: not a reference of the AttAcc simulator"),
    "no results": (
        HEADER.removesuffix(",g_fc") + "\n" + ROW.removesuffix(",1.5"),
        r":1: no column with results \(valid: pim_cyc",
    ),
    "no rows": (HEADER + "\n", r":1: no row with results$"),
    "twice": (HEADER + ",bs\n" + ROW + ",1", r":1: column 'bs' comes twice$"),
    "short": (HEADER + "\n" + ROW + "\ndgx,A100a\n", r":3: 2 values where the header has 13 columns$"),
    "system": (
        HEADER + "\n" + ROW.replace("dgx", "dgz"),
        r":2: column 'system': unknown system 'dgz'; did you mean 'dgx'",
    ),
    "model": (
        HEADER + "\n" + ROW.replace("7B", "8B"),
        r":2: column 'model': unknown model 'LLAMA-8B'; did you mean 'LLAMA-",
    ),
    "gpu": (
        HEADER + "\n" + ROW.replace("A100a", "A100"),
        r":2: column 'gpu': unknown gpu 'A100'; did you mean 'A100a'",
    ),
    "flag": (
        HEADER + "\n" + ROW.replace("True", "yes", 1),
        r":2: column 'powerlimit': unknown powerlimit 'yes' \(valid: False, T",
    ),
    "count": (
        HEADER + "\n" + ROW.replace("128,2", "128,1"),
        r":2: column 'Lout': must be a whole number in 2\.\.4096, not '1'$",
    ),
    "number": (HEADER + "\n" + ROW.replace("1.5", "nan"), r":2: column 'g_fc': must be a number, not 'nan'$"),
    "units": (
        HEADER + "\n" + ROW.replace("A100a,", "A100a,bank"),
        r":2: column 'pim': dgx has no units: must be empty, not 'bank'$",
    ),
    "no units": (
        HEADER + "\n" + ROW.replace("dgx", "dgx-attacc"),
        r":2: column 'pim': dgx-attacc needs one of bank, bg, buffer$",
    ),
    "split": (HEADER + "\n" + ROW.removesuffix("8,1.5") + "7,1.5", r":2: tensor parallelism of 7 does not divide"),
    "quote": (HEADER + "\n" + ROW.replace("dgx", '"d"gx'), r":2: not CSV: "),
}


@pytest.mark.parametrize("text, message", BAD.values(), ids=BAD)
def test_a_wrong_reference_is_one_line(tmp_path, text, message, capsys):
    path = tmp_path / "reference.csv"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message) as error:
        list(compare(read_reference(path)))
    assert str(error.value).startswith(str(path))
    assert cli.main(["eval", "dgx-attacc", "--reference", str(path), "--json"]) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.count("\n") == 1 and "Traceback" not in told.err


@pytest.mark.parametrize(
    "words, message",
    [
        (
            ["attacc"],
            "--reference: unknown system 'attacc'; did you mean 'dgx-attacc'? (valid: dgx, dgx-attacc, dgx-cpu)",
        ),
        (["dgx", "--model", "llama-7b"], "--model goes without --reference"),
        (["dgx", "--tokens", "5"], "--tokens goes without --reference"),
        (["dgx", "--refresh"], "--refresh goes without --reference"),
        (["dgx", "--set", "gpu.gemm=tilde"], "gpu.gemm: input should be 'least-traffic' or 'tiled', not 'tilde'"),
    ],
)
def test_what_goes_without_a_reference(words, message, capsys):
    assert cli.main(["eval", *words, "--reference", str(REFERENCE)]) == 2
    told = capsys.readouterr().err
    assert message in told and told.count("\n") == 1


def test_the_comparison_in_words(capsys):
    assert cli.main(["eval", "dgx", "--reference", str(REFERENCE)]) == 0
    text = capsys.readouterr().out
    assert "39 rows of" in text and "cycles exact in 26 of 26 rows" in text
    assert "not compared, units on the logic die" in text


def test_tile_sizes_are_data():
    """One size alone: waves follow from it."""
    spec = TileSpec(processors=4, l1_kib=64, l2_mib=1, sizes=[16], l1_depth=8, l2_parts=4, source="a test")
    found = find_tiling(spec, 16, 80, 64, 1, 2, split=True)
    assert float(found.busy) == 5 / 8 and float(found.shared_bytes) == (5 * 16 * 64 + 80 * 64 + 16 * 80) * 2


# NeuPIMs -----------------------------------------------------------------------------------------------------------------


def test_neupims_interleaves_from_256_requests_on():
    model, system = load_model("opt-30b"), load_system("neupims")
    few, many = (system.decode_step(model, batch, np.array([376])) for batch in (255, 256))
    plain = load_system("neupims", {"overlaps.pipelining": "none"}).decode_step(model, 255, np.array([376]))
    assert few.total_s == plain.total_s and few.seconds.keys() == plain.seconds.keys()
    assert many.seconds["attention"] == 0 < few.seconds["attention"]  # hidden behind products of the other half
    # The products of 128 requests are limited by the weights, which each half reads.
    assert many.seconds["ffn_up"] == pytest.approx(
        2 * system.decode_step(model, 128, np.array([376])).seconds["ffn_up"]
    )


def test_neupims_attends_at_the_pace_of_its_memory():
    """Its HBM2: a column of all 32 banks every two cycles. A head of 128 elements and 8,192 tokens has 2 x 2 MB."""
    model, system = load_model("gpt-175b"), load_system("neupims")
    heads = 32  # one a channel
    work = system.layer_work(model, 8192, heads)
    assert work.reads == heads * 2 * 8192 * 128 * 2 / (32 * 32)
    assert work.seconds > work.reads / 32 * 2e-9  # rows are opened, and scores move
    assert work.seconds < 2 * work.reads / 32 * 2e-9
    assert system.available_bytes_per_device == 80 << 30


def test_what_neupims_does_not_state_is_an_assumption():
    own, base = load_system("neupims").description.parts[::-1]
    for source in (
        own.energy.source,
        base.memory.source,
        base.parallelism.source,
        base.link.source,
        base.energy.source,
    ):
        assert source.startswith("assumption")
