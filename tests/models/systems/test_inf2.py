"""INF2 and its baselines: bytes on every link, times by hand, the split of a batch, and inputs that are refused."""

import itertools
import json
import math

import numpy as np
import pytest

from bankside.constraints.core.errors import ConfigError
from bankside.evidence.records import RecordFolder
from bankside.models.inf2.traffic import Block
from bankside.models.llm import load_model
from bankside.models.systems import MissingRecord, evaluate, load_system
from bankside.models.systems.inf2 import Plan
from bankside.models.systems.timeline import MAX_SPANS, chrome_trace
from bankside.models.systems.units import JobFigures

OPT = load_model("opt-30b")
LARGE = load_model("opt-175b")
GROUPED = load_model("llama-2-70b")

#: Near-storage attention alone.
ALONE = {"writeback.delayed": False, "x_cache.use": "off"}
H100 = {"base": "gpu-h100-pcie"}

#: Clocks of a job of 16384 tokens and 128 dimensions: keys, softmax and all other clocks, values (tests/made_up.py).
CLOCKS = {"scores": 4 * 16384, "softmax": 399 + 512, "output": 4 * 16384}
UNITS = sum(CLOCKS.values()) * 5e-9
P2P = 1.16e9
SEQUENCES = 37.7e12
DRAM = 19.2e9

LANE3 = 8 / 8 * 128 / 130 * 1e9
DRIVE, GPU, PAIR = 4 * LANE3, 32 * LANE3, 16 * LANE3


@pytest.fixture(autouse=True, scope="module")
def records(inf2_records):
    """A measurement of the accelerator for all runs of this file."""
    RECORDS.append(inf2_records)
    yield inf2_records
    RECORDS.clear()


RECORDS = []


def run(system="inf2", model=OPT, context=16384, batch=32, output=1, **changes):
    return evaluate(
        system,
        model,
        context=context,
        batch=batch,
        output_tokens=output,
        records=RECORDS[0],
        overrides={key.replace("__", "."): value for key, value in changes.items()},
    )


def ready(model=OPT, **changes):
    """INF2 with its measurements."""
    system = load_system("inf2", {key.replace("__", "."): value for key, value in changes.items()})
    system.prepare(model, RECORDS[0], False)
    return system


def rate(*args, **changes):
    return run(*args, output=64, **changes).more["run_throughput_tok_s"]


# Traffic -------------------------------------------------------------------------------------------------------------


def both(result, link):
    return sum(result.more["traffic_bytes"][link].values())


@pytest.mark.parametrize("model", [OPT, LARGE], ids=lambda model: model.name)
def test_links_carry_what_the_formulas_say(model):
    """6 b h d down, 2 b h d up; 4 (s + i - 1) b h d inside of the drives; half of that for the requests of the X-cache."""
    layers, hd, b, t = model.layers, model.hidden_size, 32, 16384
    alone = run(model=model, **{**ALONE, "weights": "drives"}).more["traffic_bytes"]
    weights = model.weight_bytes
    for link in ("expansion", "pair", "drive"):
        # Each new key and value crosses twice: to the accelerator and to the flash
        assert alone[link] == {
            "down": pytest.approx(layers * (6 + 4) * b * hd),
            "up": pytest.approx(layers * 2 * b * hd + weights),
        }
    assert alone["accelerator"] == {
        "down": pytest.approx(layers * b * hd * (6 + 4 * (t - 1))),
        "up": pytest.approx(layers * 2 * b * hd),
    }
    assert alone["flash"] == {
        "down": pytest.approx(layers * 4 * b * hd),
        "up": pytest.approx(layers * 4 * (t - 1) * b * hd + weights),
    }
    assert alone["gpu"] == {
        "down": pytest.approx(layers * 2 * b * hd + weights),
        "up": pytest.approx(layers * 6 * b * hd),
    }

    result = run(model=model, x_cache__use="auto")
    x = result.more["x_cache_requests"]
    assert x == {"opt-30b": 7, "opt-175b": 4}[model.name]
    # 14 b h d cross the links to the drives with c = 2
    assert both(result, "expansion") == pytest.approx(layers * 14 * (b - x) * hd)
    streamed = {"opt-30b": model.weight_bytes, "opt-175b": model.weight_bytes}[model.name]
    assert result.more["traffic_bytes"]["gpu"]["down"] == pytest.approx(
        streamed + layers * (2 * x * (t - 1) * hd + 2 * (b - x) * hd)
    )


@pytest.mark.parametrize("interval", [2, 3, 5])
def test_delayed_write_back_on_the_links(interval):
    result = run(x_cache__use="off", writeback__interval=interval)
    assert both(result, "expansion") == pytest.approx(OPT.layers * (2 * interval + 10) * 32 * OPT.hidden_size)


def test_equation_3_is_the_ratio_of_two_systems():
    """Without the accelerators' copy of new keys and values, which the paper leaves out."""
    for context in (2, 1000, 16385):
        near, base = run(context=context, **ALONE), run("flexgen", context=context, kv="drives")
        written = OPT.layers * 32 * Block.of(OPT).kv_token_bytes
        assert both(base, "expansion") / (both(near, "expansion") - written) == pytest.approx(context / 2)


# Times ---------------------------------------------------------------------------------------------------------------


def test_near_storage_attention_by_hand():
    """30B, 32 requests on 16 drives: 112 heads of 16384 tokens, 512 bytes each, on each drive. A unit takes 131,983 clocks
    of 5 ns for a head, its DRAM 437 us to be read."""
    result = run(**ALONE)
    assert result.more["shards_per_drive"] == 112 and result.more["dram_pieces"] == 1
    flash = load_system("inf2").flash_bytes_per_s
    assert flash == pytest.approx(DRIVE * 4096 / (4096 + 16 * 24))
    assert UNITS > 16384 * 512 / DRAM
    seconds = OPT.layers * (112 * 16383 * 512 / P2P + UNITS)
    assert result.breakdown_ms["attention"] == pytest.approx(seconds * 1e3)
    shard = result.more["accelerator"]
    assert shard["bound"] == "load" and shard["load_us"] == pytest.approx(16383 * 512 / P2P * 1e6)
    assert [shard[f"{name}_us"] for name in CLOCKS] == pytest.approx([clocks * 5e-3 for clocks in CLOCKS.values()])
    # Without the software's limit, the flash is
    fast = run(attention__path__gb_s=50.0, **ALONE)
    assert fast.breakdown_ms["attention"] == pytest.approx(OPT.layers * 1e3 * (112 * 16383 * 512 / flash + UNITS))
    # The links inside of a drive count too
    narrow = run(attention__path__gb_s=50.0, links__edges__accelerator__lanes=1, **ALONE).breakdown_ms["attention"]
    assert narrow == pytest.approx(OPT.layers * 1e3 * (112 * 16383 * 512 / LANE3 + UNITS))
    # So does the DRAM, which takes and gives every byte, if the links are wider
    wide = run(attention__path__gb_s=50.0, drive__dram="nvme-smartssd", **ALONE)
    slow = flash  # as a memory beside the accelerator, it bears the load and the read
    assert (
        wide.breakdown_ms["attention"]
        == pytest.approx(OPT.layers * 1e3 * 512 * (16383 / flash + 111 * 2 * 16384 / slow + 16384 / slow))
        and wide.more["accelerator"]["bound"] == "dram"
    )


def test_units_that_are_slow_bound_a_drive(monkeypatch):
    """A softmax of which a beat of 128 results leaves every 2,000 clocks."""
    own = JobFigures.job_clocks
    monkeypatch.setattr(
        JobFigures,
        "job_clocks",
        lambda figures, config, tokens, dims: (
            own(figures, config, tokens, dims) | {"softmax": 2000 * tokens / config.softmax.lanes}
        ),
    )
    slow = run(attention__path__gb_s=50.0, **ALONE)
    softmax = 2000 * 128
    clocks = CLOCKS["scores"] + softmax + CLOCKS["output"]
    load = 16383 * 512 / load_system("inf2").flash_bytes_per_s
    least = 16384 * 512 / DRAM
    assert least < clocks * 5e-9 < load
    assert slow.more["accelerator"]["softmax_us"] == pytest.approx(softmax * 5e-3)
    assert slow.breakdown_ms["attention"] == pytest.approx(OPT.layers * 1e3 * (112 * load + clocks * 5e-9))


def test_queries_that_share_a_head_read_it_one_after_the_other():
    """LLaMA-2-70B: eight queries a head. Reads of 64 requests' heads bind, not loads. Narrow DRAM bears a load as well."""
    flash = load_system("inf2").flash_bytes_per_s
    result = run(model=GROUPED, context=4096, attention__path__gb_s=50.0, **ALONE)
    read = (2 * 4 * 4096 + 399 + 128) * 5e-9
    assert result.more["accelerator"]["bound"] == "units"
    assert result.breakdown_ms["attention"] == pytest.approx(
        GROUPED.layers * 1e3 * (4095 * 512 / flash + 16 * 8 * read)
    )
    result = run(model=GROUPED, context=4096, attention__path__gb_s=50.0, drive__dram="nvme-smartssd", **ALONE)
    shard = 4096 * 512 / flash
    assert result.more["accelerator"]["bound"] == "dram" and shard > read
    assert result.breakdown_ms["attention"] == pytest.approx(
        GROUPED.layers * 1e3 * (4095 * 512 / flash + 15 * 9 * shard + 8 * shard)
    )


def test_times_of_units_come_from_their_record(records, tmp_path):
    """Without a record, the measurement that is missing is named. A head dimension that the record lacks needs its own."""
    with pytest.raises(
        MissingRecord,
        match=r"^inf2 with opt-30b: no measurement yet; run `bankside sim "
        r"inf2-accelerator --preset inf2`",
    ):
        evaluate("inf2", OPT, context=100, batch=1, records=RecordFolder(tmp_path, shipped=tmp_path))
    assert run(context=100).records == [record.name for record in ready().records]
    other = load_model("gpt2-xl")
    assert other.head_dim == 64
    shard = run(model=other, context=512, writeback__interval=4).more["accelerator"]
    assert shard["scores_us"] == shard["output_us"] == pytest.approx(512 * 2 * 5e-3)
    with pytest.raises(MissingRecord, match="--head-dim 160"):
        run(model=load_model("mt-1008b"), context=100, batch=1, weights="drives")
    with pytest.raises(ConfigError, match="^inf2: unknown preset of inf2-accelerator 'inf3'"):
        run(attention__accelerator="inf3")


def test_jobs_of_the_measured_accelerator(tmp_path):
    """The shipped record: its jobs of whole tiles, a clock for a word and the rest. Clocks of a last tile that is not full
    are an upper bound with 128 dimensions, and within 3 % with others."""
    system = load_system("inf2")
    system.prepare(OPT, RecordFolder(tmp_path), False)
    figures, config = system.accelerator.unit.figures, system.accelerator.unit.config
    job = {one.tokens: one.cycles for one in figures.points if one.mask == "none"}
    ours = {tokens: sum(figures.job_clocks(config, tokens, 128).values()) for tokens in job}
    assert sorted(job) == [1, 31, 32, 33, 1024]
    assert [ours[tokens] for tokens in (32, 1024)] == pytest.approx([job[tokens] for tokens in (32, 1024)])
    assert all(0 <= ours[tokens] - job[tokens] <= 5 for tokens in (31, 33)) and job[1] < ours[1] < 1.5 * job[1]
    # A job of 32,768 tokens, which docs/inf2/accelerator.md has too
    assert sum(figures.job_clocks(config, 32768, 128).values()) == pytest.approx(262_806, rel=1e-4)
    for model in ("gpt2-xl", "mt-1008b"):
        dims = load_model(model).head_dim
        system.prepare(load_model(model), RecordFolder(tmp_path), False)
        figures = system.accelerator.unit.figures
        for one in figures.points:
            if one.mask == "none" and one.tokens >= 32:
                assert sum(figures.job_clocks(config, one.tokens, dims).values()) == pytest.approx(
                    one.cycles, rel=1e-6 if one.tokens % 32 == 0 else 0.03
                ), (model, one.tokens)
    system.prepare(OPT, RecordFolder(tmp_path), False)
    # The port of 512 bits is slower than the DRAM, and a drive brings its tokens more slowly still
    load, read, least = (float(value) for value in system.piece_seconds(OPT, 1024))
    assert read == pytest.approx(job[1024] / (config.clock_mhz * 1e6)) and least < 2 * read < load


def test_a_job_that_is_charged_too_few_clocks_is_found(monkeypatch):
    """The line rests on two measured jobs. The check also looks at the others."""
    model = load_model("opt-6.7b")
    system = load_system("inf2").bind(model, RecordFolder("no such folder")).system
    parts = system.executed(model, 500)
    assert len(parts) > 2 and all(part.timed == part.executed for part in parts)
    charged = JobFigures.job_clocks
    monkeypatch.setattr(
        JobFigures,
        "job_clocks",
        lambda self, config, tokens, dim: {
            **charged(self, config, tokens, dim),
            "output": 0 if tokens % config.lanes else tokens * config.gemv.tiles(dim),
        },
    )
    wrong = [part for part in system.executed(model, 500) if part.timed != part.executed]
    assert wrong and all(part.executed.startswith("no fewer than") for part in wrong)


def test_transfers_of_a_layer_by_hand():
    result = run(**ALONE)
    b, hd = 32, OPT.hidden_size
    # Queries, keys and values leave the GPU over one link; each drive gets a 16th
    send = max(6 * b * hd / GPU, 6 * b * hd / 16 / DRIVE) + 2e-6
    assert result.breakdown_ms["attention_send"] == pytest.approx(OPT.layers * send * 1e3)
    assert result.breakdown_ms["attention_return"] == pytest.approx(OPT.layers * 1e3 * (2 * b * hd / GPU + 2e-6))
    narrow = run(links__edges__pair__generation=1, links__edges__pair__lanes=1, **ALONE)
    assert narrow.breakdown_ms["attention_send"] == pytest.approx(OPT.layers * 1e3 * (6 * b * hd / 8 / 0.25e9 + 2e-6))
    # Two writes of each head of each request, one after the other
    assert result.breakdown_ms["kv_write"] == pytest.approx(OPT.layers * 2 * 32 * 56 * 37e-3)
    assert run(x_cache__use="off").breakdown_ms["kv_write"] == 0
    assert sum(result.breakdown_ms.values()) == pytest.approx(result.tpot_ms)


def test_slow_writes_bound_a_step_with_delayed_write_back():
    """An interval of 2 has half of the writes, which go beside the step until they take longer than it."""
    slow = run(x_cache__use="off", writeback__write_us=1e5)
    assert slow.tpot_ms == pytest.approx(OPT.layers * 2 * 32 * 56 / 2 * 100, rel=1e-4)
    assert slow.breakdown_ms["transfer_wait"] > 0


def test_weights_are_streamed_from_where_they_are():
    """Fast accelerators, one token: the weights take all of the step."""
    where = {}
    for place in ("gpu", "host", "drives"):
        result = run(
            context=2, batch=1, weights=place, attention__path__gb_s=1e6, writeback__write_us=0, **H100, **ALONE
        )
        assert result.more["weights_at"] == place
        where[place] = result.tpot_ms
    assert where["host"] == pytest.approx(OPT.weight_bytes / GPU * 1e3, rel=0.03)
    assert where["drives"] == pytest.approx(max(OPT.weight_bytes / GPU, OPT.weight_bytes / 16 / DRIVE) * 1e3, rel=0.03)
    assert where["gpu"] < where["host"] / 10
    two = run(context=2, batch=1, weights="drives", devices=2, attention__path__gb_s=1e6, **ALONE)
    assert two.tpot_ms == pytest.approx(OPT.weight_bytes / 2 / load_system("inf2").flash_bytes_per_s * 1e3, rel=0.03)


@pytest.mark.parametrize(
    "model, changes, place",
    [(OPT, {}, "host"), (OPT, H100, "gpu"), (LARGE, {}, "host"), (LARGE, {"server.memory_gb": 300}, "drives")],
)
def test_automatic_place_of_weights(model, changes, place):
    assert run(model=model, **changes).more["weights_at"] == place


def test_shards_larger_than_the_dram_pass_it_in_pieces():
    """A head of 10 million tokens has 5.12 GB of keys and values; the DRAM of 4 GiB holds two pieces of 2 GiB."""
    result = run(context=10_000_000, batch=1, devices=8, **ALONE)
    assert result.more["dram_pieces"] == math.ceil(10**7 * 512 / 2**31) == 3 and result.more["shards_per_drive"] == 7
    assert any("pass the DRAM of a drive in 3 pieces" in note for note in result.notes)
    assert any("a row of 10000000 tokens is longer than the 131072 that" in note for note in result.notes)
    piece = (8 * 10**7 + 399 + 10**7 / 32) * 5e-9 / 3
    load = (10**7 - 1) * 512 / 3 / P2P
    assert result.breakdown_ms["attention"] == pytest.approx(OPT.layers * (21 * load + piece) * 1e3)


def test_fewer_requests_than_drives_split_by_heads():
    assert run(batch=1, **ALONE).more["shards_per_drive"] == math.ceil(56 / 16)
    assert run(batch=17, **ALONE).more["shards_per_drive"] == math.ceil(17 * 56 / 16)


def test_prefill_takes_the_longest_of_its_parts():
    system = load_system("inf2")
    tokens, past = np.full(32, 4096), np.zeros(32, np.int64)
    compute = system.prompt_seconds(OPT, tokens, past)
    ideal = 32 * 4096 * 2 * OPT.layers * OPT.layer_parameters / SEQUENCES
    assert ideal < compute < 1.1 * ideal
    # The GPU's usual share, which decode steps have
    fast = load_system("inf2", {"sequences.tflops": 1000}).prompt_seconds(OPT, tokens, past)
    assert fast == load_system("inf2", {"sequences.tflops": 0.8 * 312}).prompt_seconds(OPT, tokens, past)
    assert compute / 7 < fast < compute / 5
    # With one drive, writing of keys and values takes longer
    one = load_system("inf2", {"devices": 1, "sequences.tflops": 1000})
    written = 32 * 4096 * OPT.kv_bytes_per_token / one.flash_write_bytes_per_s
    assert one.flash_write_bytes_per_s == pytest.approx(2e9, rel=0.01)
    assert one.prompt_seconds(OPT, tokens, past) == pytest.approx(written, rel=1e-3)
    # Less where the host keeps the inputs of half of the requests
    assert one.prompt_seconds(OPT, tokens, past, 16) == pytest.approx(written / 2, rel=1e-3)
    narrow = load_system("inf2", {"links.edges.gpu.lanes": 1, "sequences.tflops": 1000})
    inputs = 32 * 4096 * OPT.kv_bytes_per_token / 2  # inputs have half the bytes
    assert narrow.prompt_seconds(OPT, tokens, past, 32) == pytest.approx(inputs / (2 * LANE3), rel=0.01)
    # With one token, the weights do
    assert system.prompt_seconds(OPT, np.array([1]), np.array([0])) == pytest.approx(OPT.weight_bytes / GPU, rel=0.01)


def test_a_run_has_its_prefill():
    result = run(context=1000, output=10)
    seconds = result.more["prefill_s"] + 10 * result.tpot_ms * 1e-3
    assert result.more["run_throughput_tok_s"] == pytest.approx(320 / seconds)


# X-cache -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model, batch, tokens, changes, expected",
    [
        (OPT, 32, 16384, {}, Plan(7, "balance")),
        (OPT, 32, 16384, {"x_cache__most_percent": 10}, Plan(3, "share")),
        (OPT, 32, 16384, {"x_cache__use": "off"}, Plan(0, "off")),
        (GROUPED, 32, 16384, {}, Plan(0, "larger")),
        (LARGE, 32, 16384, {"sequences__tflops": 1000}, Plan(4, "memory")),
        (OPT, 32, 16384, {"sequences__tflops": 1000}, Plan(20, "balance")),
        (OPT, 1, 16384, {"attention__path__gb_s": 0.001}, Plan(0, "balance")),
        (LARGE, 32, 16384, {"server__memory_gb": 351}, Plan(0, "memory")),
    ],
)
def test_split_of_a_batch(model, batch, tokens, changes, expected):
    """A whole batch is never the GPU's: nothing would be left for the drives to balance."""
    assert ready(model, **changes).plan(model, batch, tokens) == expected


def test_memory_for_inputs():
    """512 GB less the weights and 4 entries of each head: 161 GB hold 4 requests of 38.7 GB."""
    system = load_system("inf2")
    free = system.free_host_bytes(LARGE, 32)
    assert free == 512 * 10**9 - LARGE.weight_bytes - 32 * 4 * LARGE.kv_bytes_per_token
    assert free // (96 * 16384 * 12288 * 2) == 4
    assert load_system("inf2", ALONE).free_host_bytes(LARGE, 32) == 512 * 10**9 - LARGE.weight_bytes


def test_the_balance_is_as_good_as_any_other_split():
    system = ready()
    plan = system.plan(OPT, 32, 16384)
    at = np.array([16384])

    def longest(x):
        return max(float(system.x_cost(OPT, x, at).time_s[0]), float(system.drive_seconds(OPT, 32 - x, at)[0]))

    times = [longest(x) for x in range(33)]
    assert times[plan.x_requests] <= 1.1 * min(times)
    assert times == sorted(times[: plan.x_requests + 1], reverse=True) + sorted(times[plan.x_requests + 1 :])


def test_x_cache_by_hand():
    """A request of 16384 tokens: 235 MB of inputs over the link, 3.4 TFLOP, then attention in the GPU's memory."""
    system = load_system("inf2")
    seconds = float(system.x_cost(OPT, 1, np.array([16384])).time_s[0])
    load, compute = 2 * 16383 * 7168 / GPU, 4 * 16383 * 7168**2 / SEQUENCES
    assert load < compute / 5
    assert seconds == pytest.approx(compute + 4 * 16384 * 7168 / (1555e9 * 0.85), rel=0.01)
    slow = load_system("inf2", {"links.edges.gpu.lanes": 1, "sequences.tflops": 1000})
    assert float(slow.x_cost(OPT, 1, np.array([16384])).time_s[0]) == pytest.approx(2 * 16383 * 7168 / (2 * LANE3))


def test_grouped_queries_have_no_x_cache():
    result = run(model=GROUPED)
    assert (result.more["x_cache_requests"], result.more["x_cache_bound"]) == (0, "larger")
    assert any(note.startswith("no X-cache: an input of a block has 16384 bytes") for note in result.notes)
    with pytest.raises(ConfigError, match="^llama-2-70b: no X-cache: an input has 16384 bytes"):
        run(model=GROUPED, x_cache__use="on")
    assert run(model=load_model("llama-2-7b"), x_cache__use="on").more["x_cache_requests"] == 10


# Baselines -----------------------------------------------------------------------------------------------------------


def test_flexgen_by_hand():
    read, written = 4 * 16383 * 32 * 7168, 4 * 32 * 7168
    result = run("flexgen")
    assert result.tpot_ms == pytest.approx(48 * (read + written) / 6.55e9 * 1e3, rel=1e-3)
    assert result.breakdown_ms["attention"] == pytest.approx(48 * read / (409.6e9 * 0.85) * 1e3)
    flash = load_system("flexgen").flash_bytes_per_s
    assert run("flexgen", devices=1).tpot_ms == pytest.approx(48 * read / flash * 1e3, rel=1e-3)
    # Two drives are beyond the path already
    assert run("flexgen", devices=2).tpot_ms == pytest.approx(result.tpot_ms)
    # A batch that fits stays in the host's memory
    small = run("flexgen", batch=2)
    assert small.more["kv_at"] == "host" and small.more["traffic_bytes"]["flash"] == {"down": 0, "up": 0}
    assert run("flexgen", batch=2, kv="drives").more["kv_at"] == "drives"


def test_attention_on_the_gpu_fetches_over_its_link():
    result = run("accelerate")
    assert result.more["traffic_bytes"]["gpu"]["down"] == pytest.approx(OPT.weight_bytes + 48 * 4 * 16383 * 32 * 7168)
    small = run("accelerate", batch=2)
    assert small.more["kv_at"] == "host"
    assert small.breakdown_ms["transfer_wait"] == pytest.approx(
        (OPT.weight_bytes + 48 * 4 * 16383 * 2 * 7168) / GPU * 1e3
    )
    # Nothing overlaps
    assert run("accelerate", batch=2, overlap=True).tpot_ms < small.tpot_ms


def test_fitted_constants_meet_their_points():
    """One printed point for each constant; claims have all others."""
    one = {"server.memory_gb": 1000, **H100}
    assert rate("flexgen", LARGE, 32768, **one) == pytest.approx(0.034, rel=0.002)
    flexgen = rate("flexgen", LARGE)
    assert rate("inf2", LARGE) / flexgen == pytest.approx(2.3, rel=0.005)
    assert flexgen / rate("deepspeed-zero", LARGE) == pytest.approx(5, rel=0.01)
    for model in (OPT, LARGE):
        assert rate("inf2", model, x_cache__use="off") / rate("inf2", model, **ALONE) == pytest.approx(1.11, rel=0.01)
    whole = run("flexgen", LARGE, output=64)
    wait_s = whole.breakdown_ms["transfer_wait"] * 64e-3
    assert wait_s / (32 * 64 / whole.more["run_throughput_tok_s"]) == pytest.approx(0.80, abs=0.003)


# Prices and energy ---------------------------------------------------------------------------------------------------


def test_price_of_a_server():
    """The paper's 98,400 dollars have an H100 and 16 computational drives."""
    result = run(context=100, **H100).more
    assert result["price_usd"] == {"gpu": 30_000, "server": 20_000, "expansion": 10_000, "drives": 16 * 2400}
    assert sum(result["price_usd"].values()) == 98_400
    assert result["tok_s_per_usd"] == pytest.approx(result["run_throughput_tok_s"] / 98_400)
    plain = run("flexgen", context=100, devices=2).more
    assert plain["price_usd"]["drives"] == 800 and plain["price_usd"]["gpu"] == 7000
    other = run(context=100, gpu__name="A100-SXM").more
    assert other["price_usd"] is None and other["tok_s_per_usd"] is None


def test_energy_of_accelerators():
    """16 of 14.21 W for the time of a step, over the requests of a batch."""
    result = run()
    assert result.energy_breakdown_mj["accelerators"] == pytest.approx(16 * 14.21 * result.tpot_ms / 32)
    assert "accelerators" not in run("flexgen").energy_breakdown_mj
    assert run(devices=8).energy_breakdown_mj["accelerators"] == pytest.approx(8 * 14.21 * run(devices=8).tpot_ms / 32)


# Timeline ------------------------------------------------------------------------------------------------------------


def by_track(view, layer=0):
    found = {}
    for span in view.spans:
        if span.args["layer"] == layer:
            found.setdefault(span.track, []).append(span)
    return found


@pytest.mark.parametrize(
    "model, batch, changes",
    [(OPT, 32, {}), (OPT, 4, ALONE), (GROUPED, 16, {"attention__path__gb_s": 50.0})],
    ids=["inf2", "alone", "grouped"],
)
def test_timeline_of_a_step(model, batch, changes):
    system = ready(model, **{key.replace(".", "__"): value for key, value in changes.items()})
    view = system.timeline(model, context=16384, batch=batch)
    result = run(model=model, batch=batch, **changes)
    layer_s = (
        (
            result.tpot_ms
            - sum(
                result.breakdown_ms[name]
                for name in result.breakdown_ms
                if name in ("embedding", "position_embedding", "final_norm", "lm_head")
            )
        )
        / model.layers
        * 1e-3
    )
    tracks = by_track(view)
    assert {"GPU", "links", "drive: P2P into DRAM", "accelerator: GEMV", "accelerator: softmax"} <= tracks.keys()
    assert max(span.end_s for spans in tracks.values() for span in spans) == pytest.approx(layer_s)
    # A track does one thing at a time, and the second layer begins where the first ends
    for spans in tracks.values():
        assert all(b.start_s >= a.end_s - 1e-9 for a, b in itertools.pairwise(spans))
    assert min(span.start_s for spans in by_track(view, 1).values() for span in spans) == pytest.approx(layer_s)
    # Each shard is loaded, then scores, softmax and output for each of its queries follow each other
    loads = tracks["drive: P2P into DRAM"]
    assert len(loads) == result.more["shards_per_drive"]
    stages = sorted(tracks["accelerator: GEMV"] + tracks["accelerator: softmax"], key=lambda span: span.start_s)
    queries = model.heads // model.kv_heads
    assert [span.name for span in stages] == ["scores", "softmax", "output"] * queries * len(loads)
    for load, first in zip(loads, stages[:: 3 * queries], strict=True):
        assert first.start_s >= load.end_s - 1e-9 and first.args["shard"] == load.args["shard"]
    last = max(span.end_s for span in stages)
    assert last - loads[0].start_s == pytest.approx(result.breakdown_ms["attention"] * 1e-3 / model.layers)
    writes = tracks["flash: writes"]
    assert [span.name.split()[0] for span in writes] == ["keys" if changes is ALONE else "spill,"]


def test_timeline_as_a_file():
    view = ready().timeline(OPT, context=16384, batch=32)
    assert view.layers == view.of_layers == 48
    trace = json.loads(chrome_trace(view))
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert len(events) == len(view.spans)
    names = {event["tid"]: event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "thread_name"}
    assert [names[event["tid"]] for event in events] == [span.track for span in view.spans]
    assert events[-1]["ts"] + events[-1]["dur"] == pytest.approx(view.spans[-1].end_s * 1e6)
    # A step of many requests shows some layers only
    many = ready().timeline(OPT, context=1000, batch=1000)
    assert 1 <= many.layers < 48 and len(many.spans) <= MAX_SPANS


# Refused -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "system, changes, message",
    [
        ("inf2", {"devices": 17}, r"^inf2: 17 drives: the links have ports for 1 to 16$"),
        ("flexgen", {"devices": 0}, r"^flexgen: 0 drives: the links have ports for 1 to 16$"),
        ("inf2", {"writeback.interval": 0}, r"^inf2: writeback\.interval must be at least 1 step, not 0$"),
        ("inf2", {"writeback.interval": 1}, r"a write of 1 x 256 = 256 bytes is below the 512 of a direct write"),
        (
            "inf2",
            {"weights": "host", "server.memory_gb": 50},
            r"weights 'host': they need 59949080576 bytes, 50000000000 are",
        ),
        ("inf2", {"weights": "gpu"}, r"weights 'gpu': they need 59949080576 bytes, 42949672960 are there$"),
        (
            "inf2",
            {"gpu.count": 2, "parallelism.tensor": 2},
            r"^inf2: the links have one GPU, gpu\.count times nodes is 2$",
        ),
        ("inf2", {"drive.memory": "ddr4-2400"}, r"^inf2: drive\.memory: ddr4-2400 is no flash, it has no nPROG$"),
        ("inf2", {"drive.dram": None}, r"^inf2: drive\.dram: the accelerator of a drive needs a DRAM$"),
        ("inf2", {"links.edges.accelerator.name": "fpga"}, r"^inf2: links\.edges: unknown link 'accelerator'"),
        ("inf2", {"links.edges.flash.count": 2}, r"^inf2: links\.edges: 'flash' must be below 'drive', once$"),
        (
            "inf2",
            {"x_cache.most_percent": 101},
            r"x_cache\.most_percent: input should be less than or equal to 100, not 101$",
        ),
        ("inf2", {"attention.path.gb_s": 0}, r"attention\.path\.gb_s: input should be greater than 0, not 0$"),
        ("inf2", {"sequences.tflops": 0}, r"sequences\.tflops: input should be greater than 0"),
        ("inf2", {"attention.accelerator": "inf3"}, r"unknown preset of inf2-accelerator 'inf3'"),
        ("inf2", {"prices.drive_usd": -1}, r"prices\.drive_usd: input should be greater than or equal to 0"),
    ],
)
def test_settings_that_are_refused(system, changes, message):
    with pytest.raises(ConfigError, match=message) as error:
        run(system, **changes)
    assert len(str(error.value).splitlines()) == 1


def test_batches_that_do_not_fit():
    """A drive of 4 TB holds 177 requests of 22.5 GB."""
    assert run(devices=1, batch=177).capacity.largest_batch == 177
    with pytest.raises(
        ConfigError,
        match=r"opt-30b on inf2: batch 178 at context 16384 needs \d+ bytes .*, 1 drives have "
        r"\d+ .*; the largest batch that fits is 177$",
    ):
        run(devices=1, batch=178)
    # Four entries of each head of 32 requests have 176 MB
    with pytest.raises(
        ConfigError,
        match=r"the 100000000 bytes of the host lack 76160768 for weights and the delayed "
        r"write-back of batch 32$",
    ):
        run(server__memory_gb=0.1)
    with pytest.raises(ConfigError, match="not even one request fits$"):
        run(devices=1, batch=1, context=1 << 22)


def test_served_steps_are_those_of_eval():
    """With weights on the drives, prompts and their keys and values have the room beside them."""
    bound = load_system("inf2", {"weights": "drives", "devices": 2}).bind(OPT, RECORDS[0])
    system, served = bound.system, bound.serve()
    assert served.kv_capacity_tokens == (2 * system.drive_bytes - OPT.weight_bytes) // OPT.kv_bytes_per_token // 16 * 16
    assert served.decode_seconds(np.array([100, 300])) == bound.step(2, np.array([200])).total_s[0]
    assert served.prefill_seconds(np.array([100]), np.array([0])) == system.prompt_seconds(
        OPT, np.array([100]), np.array([0])
    )
