"""System evaluations against sums done by hand, published figures of another simulator, and what must be monotone."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.records import SYNTH, Measurement, Record, config_hash
from bankside.constraints.pam import ru as pam_ru
from bankside.constraints.pam.pu import PRESETS
from bankside.constraints.systems import FILES
from bankside.models.cost import die_area, load_nodes
from bankside.models.llm import load_model
from bankside.models.systems import MissingRecord, evaluate, load_system, sweep, system_names
from tests.made_up import SIM, SYNTHESIS

HASH = config_hash("pam-pu", PRESETS["pam-hbm"])


class Records:
    """A record source with made-up measurements."""

    def __init__(self, unit_hash=HASH, head_dims=(128,), synth=True, **results):
        self.found = []
        self.sim, self.synth = (
            {key: results.get(key, value) for key, value in measured.items()} for measured in (SIM["pam-pu"], SYNTHESIS)
        )
        self.hash, self.head_dims, self.has_synth = unit_hash, head_dims, synth

    def find(self, measurement):
        self.found.append(measurement)
        if measurement.unit != "pam-pu" or measurement.config_hash != self.hash:
            return None
        if measurement.kind == "sim" and dict(measurement.workload)["head_dim"] in self.head_dims:
            return Record.of(measurement, made_from={}, verilog="", results=self.sim, tools={"verilator": "5.48"})
        if measurement.kind == "synth" and self.has_synth:
            return Record.of(measurement, made_from={}, verilog="", results=self.synth, tools={"yosys": "0.70"})
        return None


class NoRecords:
    def find(self, measurement):
        return None


LLAMA = load_model("llama-3-70b")
OPT = load_model("opt-66b")


def run(system="pam-hbm-only", model=LLAMA, context=4096, batch=16, **more):
    return evaluate(system, model, context=context, batch=batch, **({"records": Records()} | more))


# The GPUs alone ------------------------------------------------------------------------------------------------------


def test_gpu_only_by_hand():
    """8 H100 as 4 x 2: each stage has 40 layers, a micro-batch 8 requests, a token two stage times."""
    result = run("gpu-only", records=NoRecords())
    bandwidth = 3352e9 * 0.85
    up = (8192 * 7168 + 8 * 8192 + 8 * 7168) * 2 / bandwidth
    assert result.breakdown_ms["ffn_up"] == pytest.approx(80 * up * 1e3, rel=1e-12)
    # K and V of 8 requests, 2 heads, 4096 tokens, once per group; queries in, outputs out
    attention = (2 * 8 * 2 * 4096 * 128 * 2 + 2 * 8 * 16 * 128 * 2) / bandwidth
    assert result.breakdown_ms["attention"] == pytest.approx(80 * attention * 1e3, rel=1e-12)
    norm = (6.87 + 1.6e-6 * 1555 / 3352 * 3 * 8 * 8192 * 2) * 1e-3
    assert result.breakdown_ms["attention_norm"] == pytest.approx(80 * norm, rel=1e-12)
    reduce = 3 * (6060 + 0.009 * 600 / 900 * 8 * 8192 * 2 / 4) * 1e-6
    assert result.breakdown_ms["ffn_allreduce"] == pytest.approx(80 * reduce, rel=1e-12)
    # The output matrix is on the second stage only, which sends one number per request back
    head = (128256 // 4 * 8192 + 8 * 8192 + 8 * 128256 // 4) * 2 / bandwidth
    assert result.breakdown_ms["lm_head"] == pytest.approx(2 * head * 1e3, rel=1e-12)
    assert result.breakdown_ms["pipeline_transfer"] == pytest.approx(2 * 6060.096e-6, rel=1e-5)
    assert "embedding" not in result.breakdown_ms
    assert result.records == [] and result.area is None


@pytest.mark.parametrize("system", ["gpu-only", "pam-hbm-only"])
def test_sums(system):
    result = run(system)
    assert sum(result.breakdown_ms.values()) == pytest.approx(result.tpot_ms, rel=1e-12)
    assert result.throughput_tok_s == pytest.approx(16 / result.tpot_ms * 1e3, rel=1e-12)
    numbers = [value for value in result.energy_breakdown_mj.values() if not isinstance(value, str)]
    assert sum(numbers) == pytest.approx(result.energy_mj_per_token, rel=1e-12) and min(numbers) > 0
    assert {key for key, value in result.energy_breakdown_mj.items() if isinstance(value, str)} == {
        "gpu_static_power",
        "dram_refresh_and_standby",
        "host",
    }
    assert json.loads(json.dumps(result.to_json()))["tpot_ms"] == result.tpot_ms


def test_compute_bound_gemm():
    """At batch 8192 the GPU's arithmetic limits the FFN."""
    model = load_model("llama-3-8b")
    result = run("gpu-only", model, context=16, batch=8192)
    assert result.breakdown_ms["ffn_up"] == pytest.approx(
        32 * 2 * 4096 * 4096 * 3584 / (989.4e12 * 0.8) * 1e3, rel=1e-12
    )


# One decode step in the AttAcc simulator (github.com/scale-snu/attacc_simulator, run with an empty cache), 8 GPUs,
# tensor parallel; per token in ms: all linear layers, attention, all-reduces, activation, norms; context lin + 1.
ATTACC = [
    ("opt-66b", "A100a", 2048, 1, 6.0389, 2.5662, 5.4483, 0.5308, 0.8846),
    ("opt-66b", "A100a", 2048, 16, 6.3, 5.1323, 5.727, 0.5345, 0.9634),
    ("opt-66b", "A100a", 2048, 64, 7.1498, 15.3969, 6.6188, 0.5462, 1.2156),
    ("opt-175b", "H100", 2048, 1, 16.1817, 4.7046, 8.1694, 0.7963, 1.3295),
    ("opt-175b", "H100", 2048, 16, 17.1327, 9.4092, 8.541, 0.8037, 1.4872),
    ("opt-175b", "H100", 2048, 64, 20.9354, 28.2277, 9.7301, 0.8272, 1.9915),
]


@pytest.mark.parametrize("name, gpu, lin, batch, linear, attention, reduce, activation, norm", ATTACC)
def test_components_agree_with_attacc(name, gpu, lin, batch, linear, attention, reduce, activation, norm):
    """All-reduces, norms and activations follow the same formulas. Its GEMMs and its attention are slower by the
    processors that its last wave of tiles leaves idle; attention by exactly that, GEMMs by 5 to 35 %."""
    settings = {"parallelism.tensor": 8, "parallelism.pipeline": 1, "memory.stack_gib": 64}
    cores = 132
    if gpu == "A100a":
        settings |= {"gpu.peak_tflops": 312, "link.both_ways_gb_s": 600}
        cores = 108
    model = load_model(name)
    ms = run("gpu-only", model, context=lin + 1, batch=batch, overrides=settings).breakdown_ms
    assert ms["attention_allreduce"] + ms["ffn_allreduce"] == pytest.approx(reduce, rel=1e-4)
    # AttAcc calls GPT-175B what has OPT-175B's shape, with GELU: the same bytes.
    assert ms["ffn_activation"] == pytest.approx(activation, rel=1e-3)
    assert ms["attention_norm"] + ms["ffn_norm"] == pytest.approx(norm, rel=1e-4)
    ours = ms["qkv"] + ms["out_projection"] + ms["ffn_up"] + ms["ffn_down"]
    assert 1.05 <= linear / ours <= {1: 1.06, 16: 1.12, 64: 1.35}[batch]
    heads = model.heads // 8 * batch
    idle = math.ceil(heads / cores) * cores / heads
    assert ms["attention"] * idle == pytest.approx(attention, rel=0.02)


def test_between_the_bound_and_a_measured_server():
    """DGX-H100, Llama-2-70B: 24,525 tokens/s offline in MLPerf Inference v4.1, with FP8 weights and prefill included
    (closed/NVIDIA). 16-bit decoding alone at the mean context of that data set is of that order."""
    model = load_model("llama-2-70b")
    result = run("gpu-only", model, context=450, batch=1024)
    assert 0.5 < result.throughput_tok_s / 24_525 < 2


# The units beside the banks ------------------------------------------------------------------------------------------


def test_attention_beside_the_banks_by_hand():
    """OPT-66B, batch 64: 32 x 18 heads on 80 channels are 8 on the busiest, of 32 tokens in each bank: 8 rows of K and
    8 of V a head, 31 intervals of 6 cycles and 46 to the next row each."""
    result = run(model=OPT, context=2048, batch=64)
    per_layer = 8 * 16 * (31 * 6 + 46)
    assert result.attention["cycles_per_layer"] == pytest.approx(per_layer, rel=0.03)
    assert result.attention["reads_per_layer"] == 8 * 16 * 32
    cycles = result.attention["cycles_per_layer"] * 0.769e-6
    assert result.breakdown_ms["attention"] == pytest.approx(64 * (cycles + 20 / 666e3), rel=1e-12)
    # A partial result per bank and head: 128 elements of 2 bytes, m and l of 4
    channel = 2 * 32 / (2 * 0.769e-9) * 0.85
    assert result.breakdown_ms["attention_merge"] == pytest.approx(64 * 8 * 64 * 264 / channel * 1e3, rel=1e-12)
    assert result.breakdown_ms["attention_query_write"] == pytest.approx(64 * 8 * 256 / channel * 1e3, rel=1e-12)
    # Everything else is the GPUs'
    gpu = run("gpu-only", OPT, context=2048, batch=64)
    for name, value in gpu.breakdown_ms.items():
        if name != "attention":
            assert result.breakdown_ms[name] == pytest.approx(value, rel=1e-12)
    assert result.tpot_ms < gpu.tpot_ms


def test_bank_energy_by_hand():
    """Reading a row of 1 KiB costs 0.88 pJ/byte to open and 3.52 pJ/byte to read; the unit three times the latter."""
    result = run(model=OPT, context=2048, batch=64)
    heads = 64 * 72 * 64
    rows = heads * 64 * 16
    assert result.energy_breakdown_mj["pim_cell_reads"] == pytest.approx(rows * 1024 * 4.4 * 1e-9 / 64, rel=1e-9)
    assert result.energy_breakdown_mj["pu_compute"] == pytest.approx(rows * 1024 * 3 * 3.52 * 1e-9 / 64, rel=1e-9)


def test_queries_of_a_group_pass_one_after_the_other():
    """Llama-3-70B has 8 queries a head: reads are 8 times those of one query, and a note says what that costs."""
    grouped = run()
    own = LLAMA.model_copy(update={"kv_heads": 64})
    assert grouped.attention["queries_per_instance"] == 8
    single = run(model=own)
    assert single.attention["queries_per_instance"] == 1 and single.attention["instances"] == 8 * 16
    assert grouped.attention["reads_per_layer"] == 8 * 13 * 8 * 2
    assert any(note.startswith("8 queries share each key/value head") for note in grouped.notes)
    assert not any("queries share" in note for note in single.notes)
    # On the GPU the group reads K and V once
    gpu, gpu_own = run("gpu-only"), run("gpu-only", own)
    assert gpu_own.breakdown_ms["attention"] > 7 * gpu.breakdown_ms["attention"]


@pytest.mark.parametrize("preset, queries, passes, burst", [("pam-hbm-gqa8", 8, 1, 16), ("pam-hbm-gqa4", 4, 2, 8)])
def test_a_pass_serves_several_queries_of_a_group(preset, queries, passes, burst):
    """K and V are read once per pass. A burst meets 8 queries in 8 clocks of 1.502 ns, that is in ceil(15.6) memory
    cycles, and 4 in 8 cycles. Computing takes as much for every query as alone."""
    records = Records(unit_hash=config_hash("pam-pu", PRESETS[preset]), queries=queries, beats_per_clock=1 / queries)
    grouped = run(records=records, overrides={"unit.preset": preset})
    assert (grouped.attention["queries_per_pass"], grouped.attention["passes"]) == (queries, passes)
    assert grouped.attention["reads_per_layer"] == passes * 13 * 8 * 2
    assert grouped.attention["unit_burst_memory_cycles"] == burst
    energy, single = grouped.energy_breakdown_mj, run().energy_breakdown_mj
    assert energy["pu_compute"] == pytest.approx(single["pu_compute"], rel=1e-9)
    assert energy["pim_cell_reads"] == pytest.approx(single["pim_cell_reads"] * passes / 8, rel=0.05)
    assert any("the unit, not the memory, limits attention" in note for note in grouped.notes)
    assert any("queries share" in note for note in grouped.notes) == (passes > 1)


def test_record_of_another_number_of_queries():
    records = Records(unit_hash=config_hash("pam-pu", PRESETS["pam-hbm-gqa8"]), queries=4)
    with pytest.raises(ConfigError, match="the record of pam-pu is of a step of 4 queries, its configuration has 8"):
        run(records=records, overrides={"unit.preset": "pam-hbm-gqa8"})


def test_few_instances_are_spread_over_channels():
    place = load_system("pam-hbm-only").placement(LLAMA, 8)
    assert (place.instances, place.spread, place.per_channel) == (16, 5, 1)
    assert place.tokens_per_bank(4096) == 13
    place = load_system("pam-hbm-only").placement(OPT, 32)
    assert (place.instances, place.spread, place.per_channel) == (576, 1, 8)


def test_slow_unit_limits_attention():
    """At a tenth of a beat per clock a burst takes ceil(15.02 ns / 0.769 ns) = 20 cycles instead of 6."""
    slow, fast = run(records=Records(beats_per_clock=0.1)), run()
    assert slow.attention["unit_burst_memory_cycles"] == 20
    assert slow.attention["cycles_per_layer"] >= 20 * slow.attention["reads_per_layer"]
    assert fast.attention["cycles_per_layer"] < 10 * fast.attention["reads_per_layer"]
    assert any("the unit, not the memory, limits attention" in note for note in slow.notes)


def test_gap_and_drain_count():
    """One query at a time with one tile: the softmax is exposed, cycle for cycle."""
    base, gap = (run(model=OPT, context=2048, batch=2, records=Records(softmax_gap_cycles=g)) for g in (100, 300))
    # 100 and 300 clocks of 1/666 us are 196 and 586 memory cycles, rounded up
    assert gap.attention["cycles_per_layer"] - base.attention["cycles_per_layer"] == 586 - 196
    drain = run(model=OPT, context=2048, batch=2, records=Records(softmax_gap_cycles=100, drain_cycles=686))
    assert drain.breakdown_ms["attention"] - base.breakdown_ms["attention"] == pytest.approx(64e-3, rel=1e-9)


def test_queries_of_a_group_hide_each_others_softmax():
    """104 bursts of K or V every 6 cycles hide 586 cycles of softmax, of every query but those that stand alone."""
    short, long = (run(records=Records(softmax_gap_cycles=g)).attention["cycles_per_layer"] for g in (0, 300))
    assert short == long


def test_refresh_and_power_limit():
    base = run(model=OPT, context=2048, batch=64)
    refreshed = run(model=OPT, context=2048, batch=64, refresh=True)
    # 456 of 5070 cycles, and rows to open again
    assert 1.07 < refreshed.attention["cycles_per_layer"] / base.attention["cycles_per_layer"] < 1.2
    free = run(model=OPT, context=2048, batch=64, overrides={"power_limit": False})
    assert free.attention["cycles_per_layer"] == pytest.approx(8 * 16 * (31 * 4 + 46), rel=0.05)


@pytest.mark.parametrize("system", ["gpu-only", "pam-hbm-only"])
def test_monotone(system):
    """More context or more requests never make a token faster, nor a request smaller."""
    for model in (OPT, LLAMA):
        times = [run(system, model, context=context, batch=14).tpot_ms for context in (1, 64, 500, 2000, 4096, 16000)]
        assert times == sorted(times)
        times = [run(system, model, context=1024, batch=batch).tpot_ms for batch in (1, 2, 5, 16, 40, 64, 100)]
        assert times == sorted(times)
        larger = [run(system, model, context=context, batch=1).capacity.largest_batch for context in (512, 4096, 16384)]
        assert larger == sorted(larger, reverse=True)


@pytest.mark.parametrize("system", ["gpu-only", "pam-hbm-only"])
@pytest.mark.parametrize("context, tokens", [(4000, 130), (1, 20), (8190, 1)])
def test_output_tokens_are_the_mean_over_contexts(system, context, tokens):
    whole = run(system, context=context, output_tokens=tokens)
    every = [run(system, context=context + n) for n in range(tokens)]
    assert whole.tpot_ms == pytest.approx(np.mean([part.tpot_ms for part in every]), rel=1e-12)
    assert whole.energy_mj_per_token == pytest.approx(np.mean([part.energy_mj_per_token for part in every]), rel=1e-12)


def test_uneven_batches():
    """Batch 5 on two stages is 3 + 2: a stage takes the time of 3, energy is that of both."""
    three, two = run("gpu-only", batch=6), run("gpu-only", batch=4)
    five = run("gpu-only", batch=5)
    assert five.tpot_ms == three.tpot_ms and five.parallelism["micro_batch"] == 3
    assert five.energy_mj_per_token * 5 == pytest.approx(
        three.energy_mj_per_token * 3 + two.energy_mj_per_token * 2, rel=1e-12
    )


def test_speed(least_s):
    """A first point well under 0.3 s of processor time, everything included but imports."""
    model = load_model("llama-3-70b")
    assert least_s(lambda call: run(model=model, context=4099 + call, batch=22, overrides={"power_limit": False})) < 0.6


# Capacity ------------------------------------------------------------------------------------------------------------


def test_capacity_by_hand():
    """Second stage: 40 layers and the output matrix on 4 GPUs of 80 GiB."""
    capacity = run("gpu-only").capacity
    weights = (40 * LLAMA.layer_parameters + LLAMA.head_parameters) * 2 // 4
    assert capacity.available_bytes_per_device == 80 * 2**30
    # First and second stage differ by the final norm: 8192 parameters
    assert capacity.weight_bytes_per_device == weights
    per_request = 4096 * 320 * 1024 // 8
    assert capacity.kv_bytes_per_device == 16 * per_request
    assert capacity.largest_batch == (80 * 2**30 - weights) // per_request
    assert capacity.largest_batch_with_output == capacity.largest_batch
    longer = run("gpu-only", output_tokens=4097).capacity
    assert longer.largest_batch == capacity.largest_batch
    assert longer.largest_batch_with_output == (80 * 2**30 - weights) // (2 * per_request)


@pytest.mark.parametrize("system", ["gpu-only", "pam-hbm-only"])
def test_largest_batch_is_the_largest(system):
    most = run(system).capacity.largest_batch
    assert run(system, batch=most).batch == most
    with pytest.raises(
        ConfigError,
        match=rf"needs \d+ bytes \([\d.]+ GiB\) on the fullest device, 85899345920 \(80\.0 "
        rf"GiB\) are available; the largest batch that fits is {most}$",
    ):
        run(system, batch=most + 1)


def test_tied_embedding_is_held_at_both_ends():
    weights = load_system("gpu-only").weight_bytes_per_device(OPT)
    embedding = 50272 * 9216
    assert sum(weights) * 4 // 2 == pytest.approx(OPT.parameters + embedding, abs=16)


def test_model_or_context_that_never_fits():
    with pytest.raises(ConfigError, match=r"; the weights alone need \d+$"):
        run("gpu-only", load_model("opt-175b"), overrides={"memory.stack_gib": 1})
    with pytest.raises(ConfigError, match=r"; not even one request fits, the longest context .* has \d{7} tokens$"):
        run("gpu-only", context=10_000_000, batch=1)


# Records, area -------------------------------------------------------------------------------------------------------


def test_missing_records_say_how_to_make_them():
    with pytest.raises(MissingRecord) as error:
        run(records=NoRecords())
    assert error.value.commands == (
        "bankside sim pam-pu --preset pam-hbm --head-dim 128",
        "bankside synth pam-pu --preset pam-hbm",
    )
    assert str(error.value) == (
        "pam-hbm-only with llama-3-70b: no measurement yet; run `bankside sim pam-pu --preset pam-hbm --head-dim 128` "
        "and `bankside synth pam-pu --preset pam-hbm`, or give --measure"
    )
    with pytest.raises(MissingRecord) as error:
        run(records=Records(synth=False))
    assert error.value.commands == ("bankside synth pam-pu --preset pam-hbm",)
    with pytest.raises(MissingRecord) as error:
        run(overrides={"unit.settings": {"tile_tokens": 16}})
    assert error.value.commands[1] == "bankside synth pam-pu --preset pam-hbm --set tile_tokens=16"


def test_records_are_looked_up_by_configuration_and_named():
    """Conditions are exact: the head dimension of the model, else the unit's defaults; the built-in library."""
    records = Records()
    result = run(records=records)
    asked = [
        Measurement.of("sim", "pam-pu", PRESETS["pam-hbm"], head_dim=128),
        Measurement.of("synth", "pam-pu", PRESETS["pam-hbm"]),
    ]
    assert records.found[:2] == asked
    assert result.records == [records.find(one).name for one in asked]
    assert [name.rsplit("-", 1)[0] for name in result.records] == [f"pam-pu-{HASH}-{kind}" for kind in ("sim", "synth")]
    assert result.tools[result.records[0]] == {"verilator": "5.48"}
    assert result.unit["config_hash"] == HASH and result.unit["library"] == SYNTH["library"]


def test_too_large_a_batch_is_told_before_a_missing_record():
    with pytest.raises(ConfigError, match="largest batch that fits"):
        run(batch=100_000, records=NoRecords())


@pytest.mark.parametrize(
    "key, value", [("beats_per_clock", 0), ("area_ge", "70k"), ("softmax_gap_cycles", -1), ("fmax_mhz", None)]
)
def test_records_must_make_sense(key, value):
    with pytest.raises(ConfigError, match=rf"^record pam-pu-[^ ]+: {key}: [^;]+, not {value!r}; measure again$"):
        run(records=Records(**{key: value}))


def test_clock_that_is_not_met_is_told_not_scaled():
    result = run(records=Records(fmax_mhz=500.0))
    assert not result.unit["meets_clock"] and result.tpot_ms == run().tpot_ms
    assert (
        "the unit reaches 500 MHz as synthesised, below its target of 666 MHz; results take the target for granted (at "
        "500 MHz a burst would take 3 memory cycles, the memory gives one every 6)"
    ) in result.notes


def test_clock_that_is_not_met_in_its_own_process_is_told():
    """1.4 ns with FO4 of 25 ps are 1.512 ns in a 14 nm DRAM process: 661 MHz, below 666, where the library's are above."""
    records = Records()
    records.synth["fo4_ps"] = 25.0
    result = run(records=records)
    own = result.unit["process"]
    assert result.unit["meets_clock"] and own["verdict"] == "misses"
    note = next(note for note in result.notes if note.startswith("the unit reaches 700 MHz as synthesised, above its"))
    assert own["sentence"] in note and own["fmax_mhz"][0] == pytest.approx(1e3 / 1.512)
    assert run().unit["process"] is None  # a record without FO4


def test_reduction_units_have_their_measured_area():
    """Sixteen of 140 kGE are as much as half of the 64 units; without a measurement their published area, and a note."""
    reducer = Measurement.of("synth", "pam-ru", pam_ru.PRESETS["pam-hbm"])

    class Both(Records):
        def find(self, measurement):
            if measurement != reducer:
                return super().find(measurement)
            return Record.of(
                measurement, made_from={}, verilog="", results=SYNTHESIS | {"area_ge": 140_000.0}, tools={}
            )

    result, before = run(records=Both()), run()
    assert np.array(result.area.with_other_percent) == pytest.approx(np.array(result.area.die_percent) * 1.5)
    assert result.records[2].startswith("pam-ru-") and result.tpot_ms == before.tpot_ms
    told = "area of reduction units is the published one: run `bankside synth pam-ru --preset pam-hbm`"
    assert told in before.notes and told not in result.notes


def test_die_area_by_hand():
    """70 kGE in 14 nm NAND2s of 0.136 to 0.21 um2 (placed at 70 %), 10 times less dense in DRAM, 64 on 121 mm2."""
    area = run().area
    assert area.unit_mm2 == pytest.approx((70e3 * 0.136e-6 * 10, 70e3 * 0.21e-6 / 0.7 * 10), rel=1e-12)
    assert area.die_percent == pytest.approx((64 * 0.0952 / 1.21, 64 * 0.21 / 1.21), rel=1e-12)
    assert np.subtract(area.with_other_percent, area.die_percent) == pytest.approx(288 / 121)
    # Both ends at 70 %: the measured units grow at the low end, the published reduction units do not.
    assert area.placed_percent == pytest.approx((64 * 0.136 / 1.21 + 288 / 121, area.with_other_percent[1]), rel=1e-12)
    assert area.verdict == "undecided"
    # The paper's own unit: 0.13 mm2, 11.2 mm2 with the reduction units, which is 9.25 % and some rounding
    assert area.published_units_percent + 100 * area.other_mm2 / 121 == pytest.approx(9.25, abs=0.02)
    budget = load_system("pam-hbm-only").pim.area
    assert die_area(10_000, budget).verdict == "within" and die_area(200_000, budget).verdict == "over"
    with pytest.raises(ConfigError, match=r"^unknown logic node '15nm'.*valid: 14nm, 28nm, 32nm, 45nm, 7nm, saed32"):
        die_area(1, budget.model_copy(update={"logic_node": "15nm"}))
    assert all(node.nand2_um2.low <= node.nand2_um2.high and node.source for node in load_nodes().nodes.values())


# Files ---------------------------------------------------------------------------------------------------------------


def test_built_in_systems():
    assert system_names() == [
        "accelerate",
        "aimx-pim",
        "attacc",
        "cent",
        "cxl-pnm",
        "deepspeed-zero",
        "dgx-attacc",
        "dgx-cpu",
        "dgx-h100",
        "dgx",
        "flexgen",
        "gpu-a100-pcie",
        "gpu-a100",
        "gpu-aimx-pim",
        "gpu-gddr-8",
        "gpu-gddr",
        "gpu-h100-pcie",
        "gpu-hbm",
        "gpu-lol-pim",
        "gpu-only",
        "inf2",
        "l-pim",
        "lol-pim",
        "ls-pim",
        "neupims-npu",
        "neupims",
        "pam-hbm-only",
        "pam",
        "starc",
        "vllm-offload",
    ]
    for name in system_names():
        assert load_system(name).name == name and load_system(name.upper()).name == name
        assert load_system(FILES[name]).name == name
    with pytest.raises(ConfigError, match=r"^unknown system 'gpu-olny'; did you mean 'gpu-only'\?.*YAML file$"):
        load_system("gpu-olny")


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("kind: gpu", "kind: gpus", r":1: unknown kind 'gpus'; did you mean 'gpu'\?"),
        (
            "kind: gpu\n",
            "",
            r": missing key 'kind' \(valid: attacc, cent, cxl-pnm, gpu, gpu-cpu, gpu-offload, inf2, lol-pim, ",
        ),
        ("  count: 8", "  cuont: 8", r":5: unknown key 'gpu\.cuont'; did you mean 'count'\?"),
        ("  count: 8", "  count: eight", r":5: gpu\.count: input should be a valid integer, not 'eight'$"),
        ("  peak_tflops: 989.4", "  peak_tflops: -1", r":6: gpu\.peak_tflops: input should be greater than 0, not -1$"),
        ("  tensor: 4", "  tensor: 5", r"^mine: tensor 5 times pipeline 2 must be the 8 GPUs$"),
        ("  stack_gib: 16", "  stack_gib: 16\n  stack_gib: 16", r":29: key 'stack_gib' appears twice$"),
        ("kind: gpu", "kind: [", r": not valid YAML: "),
    ],
)
def test_wrong_files_are_told_with_line(tmp_path, old, new, message):
    text = FILES["gpu-only"].read_text()
    assert old in text
    path = tmp_path / "mine.yaml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ConfigError, match=message) as error:
        load_system(path)
    assert "\n" not in str(error.value)


def test_numbers_need_a_source(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(
        "\n".join(
            line for line in FILES["gpu-only"].read_text().splitlines() if not line.startswith("  source: PAM Table 1")
        )
    )
    with pytest.raises(ConfigError, match=r"missing key 'memory\.source'$"):
        load_system(path)


def test_own_system_on_own_base(tmp_path):
    """A new system is one file; its base may be a file beside it."""
    (tmp_path / "four.yaml").write_text(
        FILES["gpu-only"].read_text().replace("count: 8", "count: 4").replace("pipeline: 2", "pipeline: 1")
    )
    path = tmp_path / "mine.yaml"
    path.write_text(FILES["pam-hbm-only"].read_text().replace("base: gpu-only", "base: four.yaml"))
    result = run(path)
    assert result.system == "mine" and result.parallelism == {"tensor": 4, "pipeline": 1, "micro_batch": 16}
    with pytest.raises(ConfigError, match=r"a stack of hbm3-5\.2 has 16 GiB, the base system states 24$"):
        run(path, overrides={"base.memory.stack_gib": 24})


@pytest.mark.parametrize(
    "overrides, message",
    [
        ({"parallelism.tensr": 8}, r"unknown key 'parallelism\.tensr'"),
        (
            {"parallelism.tensor": 8},
            r"^gpu-only: tensor 8 times pipeline 2 must be the 8 GPUs$|^pam-hbm-only: tensor 8",
        ),
        ({"description.x": 1}, r"override 'description\.x': 'description' is a plain value, not a group$"),
    ],
)
@pytest.mark.parametrize("system", ["gpu-only", "pam-hbm-only"])
def test_wrong_overrides(system, overrides, message):
    with pytest.raises(ConfigError, match=message):
        load_system(system, overrides)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (dict(batch=0), r"^batch must be a whole number in 1\.\.16777216, not 0$"),
        (dict(context=0), r"^context must be a whole number in 1\.\.1073741824, not 0$"),
        (dict(output_tokens=1.5), r"^output tokens must be a whole number in 1\.\.1048576, not 1\.5$"),
        (dict(batch=True), r"^batch must be a whole number"),
        (dict(model=LLAMA.model_copy(update={"dtype": "float32"})), r"takes fp16 \(2 bytes\), llama-3-70b has float32"),
        (dict(model=LLAMA.model_copy(update={"head_dim": 100})), r"^head dimension must be a multiple of 16"),
        (
            dict(model=LLAMA.model_copy(update={"layers": 1})),
            r"^pipeline parallelism of 2 exceeds the model's 1 layers$",
        ),
        (dict(overrides={"unit.preset": "pam-hmb"}), r"unknown preset of pam-pu 'pam-hmb'; did you mean 'pam-hbm'\?"),
        (
            dict(overrides={"unit.settings": {"lanez": 8}}),
            r"unit\.settings: unknown key 'lanez'; did you mean 'lanes'\?",
        ),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ConfigError, match=message):
        run(**arguments)


def test_context_beyond_the_models_is_noted():
    notes = run("gpu-only", OPT, context=4000, output_tokens=10).notes
    assert notes[0] == "context 4009 exceeds the 2048 positions that opt-66b was made for"


def test_sweep_stops_at_the_capacity():
    results = sweep("pam-hbm-only", LLAMA, context=4096, batches=[1, 16, 64, 256, 100_000], records=Records())
    assert [result.batch for result in results] == [1, 16, 64, 256]
    assert results[1] == run(batch=16)
    with pytest.raises(ConfigError, match="largest batch that fits"):
        sweep("pam-hbm-only", LLAMA, context=4096, batches=[100_000], records=Records())
    with pytest.raises(ConfigError, match=r"^a sweep needs at least one batch$"):
        sweep("pam-hbm-only", LLAMA, context=4096, batches=[], records=Records())


def test_sliding_window_bounds_attention_and_memory():
    model = LLAMA.model_copy(update={"sliding_window": 1024})
    for system in ("gpu-only", "pam-hbm-only", "vllm-offload", "attacc"):
        windowed, whole = run(system, model), run(system, context=1024)
        assert windowed.tpot_ms == whole.tpot_ms
        assert windowed.capacity.kv_bytes_per_device == whole.capacity.kv_bytes_per_device
