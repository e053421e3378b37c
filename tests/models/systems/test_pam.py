"""PAM's system model: timing of tiers against the engine and literal counts, whole steps against sums done by hand."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.records import Measurement, Record, config_hash
from bankside.constraints.memory import load_memory
from bankside.constraints.pam.layout import TIERS
from bankside.constraints.pam.pu import PRESETS as PU_PRESETS
from bankside.constraints.pam.pu import Step
from bankside.constraints.pam.ru import PRESETS as RU_PRESETS
from bankside.constraints.systems import FILES, RATIOS, RatioTable
from bankside.evidence.records import RecordFolder
from bankside.models.llm import load_model
from bankside.models.memory import time_program
from bankside.models.pam.placement import KvTable, TierShape
from bankside.models.pam.program import attention_program
from bankside.models.pam.tiers import Flash, NearBank, append_cycles, page_cycles, row_tile, tile_cycles, together
from bankside.models.systems import MissingRecord, evaluate, load_system
from bankside.models.systems.calibration import calibrate, table_text, with_ratios
from bankside.models.systems.latency import GridLatency, spread_contexts
from bankside.models.systems.reads import move_pj_per_byte, read_pj
from bankside.models.systems.units import ProcessingFigures
from tests.made_up import SIM, SYNTHESIS

HBM, DDR, NAND = (load_memory(name) for name in ("hbm3-5.2", "ddr4-3200", "flash-nand"))
LLAMA, OPT = load_model("llama-3-70b"), load_model("opt-175b")
SYSTEMS = ("pam", "ls-pim", "l-pim", "attacc", "vllm-offload")


MEASURED = SIM | {"pam-pu": SIM["pam-pu"] | {"softmax_gap_cycles": 20, "drain_cycles": 10}}


class Records:
    """Made-up measurements of every unit."""

    def find(self, measurement):
        results = MEASURED[measurement.unit] if measurement.kind == "sim" else SYNTHESIS | {"fmax_mhz": 1200.0}
        return Record.of(measurement, made_from={}, verilog="", results=results, tools={})


class NoRecords:
    def find(self, measurement):
        return None


def run(system="pam", model=OPT, context=2048, batch=16, **more):
    return evaluate(system, model, context=context, batch=batch, **({"records": Records()} | more))


def attention_ms(result):
    return sum(
        result.breakdown_ms.get(name, 0.0)
        for name in ("attention", "attention_merge", "attention_kv_append", "attention_softmax", "kv_fetch")
    )


# Tiers -------------------------------------------------------------------------------------------------------------


@settings(max_examples=15)
@given(
    st.sampled_from(["hbm", "ddr"]),
    st.sampled_from([64, 128, 256]),
    st.lists(st.integers(1, 4), min_size=2, max_size=12),
    st.sampled_from([0, 20, 64]),
    st.sampled_from([0, 9]),
)
def test_cycles_of_tiles_are_the_compiled_program(tier, dim, active, gap, pace):
    """The program of any sequence of tiles takes the sum of their cycles, to the cycle. Only the program's two ends differ
    from a long sequence, so the tiles come between others. A softmax that nothing hides depends on the tiles around it."""
    memory = {"hbm": HBM, "ddr": DDR}[tier]
    config = row_tile(PU_PRESETS[f"pam-{tier}"], memory, dim)
    active = [min(count, config.tile_tokens) for count in active]
    gap = gap if config.score_tiles == 1 or gap <= 20 else 20

    def cycles(tiles):
        steps = [Step(count, dim, more=n < len(tiles) - 1) for n, count in enumerate(tiles)]
        program = attention_program(config, memory, steps, gap_cycles=gap, burst_cycles=pace)
        return time_program(program, memory).cycles

    ends = [1, 1, 1]
    between = sum(tile_cycles(config, memory, count, dim, gap_cycles=gap, burst_cycles=pace) for count in active)
    assert cycles([*ends, *active, *ends]) - cycles([*ends, *ends]) == between


def test_tiles_by_hand():
    """HBM: a row of K and one of V take tRCD 19 + (8 n - 1) x 6 + tRTP 8 + tRP 19 each, at least tRAS + tRP. A slow unit
    paces the reads. DDR has one tile of scores, so its softmax counts in full beyond the opening of the row of V."""
    hbm, ddr = (row_tile(PU_PRESETS[f"pam-{tier}"], memory, 128) for tier, memory in (("hbm", HBM), ("ddr", DDR)))
    assert hbm.tile_tokens == ddr.tile_tokens == 4
    for tokens in (1, 2, 4):
        reads = 8 * tokens
        assert tile_cycles(hbm, HBM, tokens, 128) == 2 * max(45 + 19, 19 + (reads - 1) * 6 + 8 + 19)
        assert tile_cycles(hbm, HBM, tokens, 128, burst_cycles=20) >= 2 * 20 * reads
        assert tile_cycles(hbm, HBM, tokens, 128, gap_cycles=40) == tile_cycles(hbm, HBM, tokens, 128)
    row = 24 + 31 * 8 + 12 + 24
    assert tile_cycles(ddr, DDR, 1, 128) == 2 * row
    assert 2 * row < tile_cycles(ddr, DDR, 1, 128, gap_cycles=100) <= 2 * row + 100
    assert tile_cycles(hbm, HBM, 1, 128, refresh=True) > 1.08 * tile_cycles(hbm, HBM, 1, 128)


@pytest.mark.parametrize("dim, tokens", [(16, 32), (64, 8), (128, 4), (256, 2)])
def test_a_tile_is_a_row_of_every_bank(dim, tokens):
    """1024 bytes of K of 16-bit elements, at most the unit's own tile."""
    assert row_tile(PU_PRESETS["pam-hbm"], HBM, dim).tile_tokens == tokens
    assert row_tile(PU_PRESETS["pam-ddr"], DDR, dim).tile_tokens == min(tokens, PU_PRESETS["pam-ddr"].tile_tokens)


def test_pages_by_hand():
    """Four dies of 30 us give a page every 7.5 us until the bus is the limit: 32 columns of 512 bytes at 2.4 GB/s."""
    assert page_cycles(NAND, 1) == page_cycles(NAND, 16) == 72_000 / 4
    bus = 32 * 512 * NAND.clock_ps * 1e-6
    assert bus < page_cycles(NAND, 32) * NAND.clock_ps * 1e-6 < 1.6 * bus


@settings(max_examples=40)
@given(st.sampled_from(["hbm", "ddr"]), st.sampled_from([64, 128, 256]), st.sampled_from([1, 8]), st.integers(0, 1000))
def test_near_bank_work_is_the_literal_count(name, dim, lockstep, seed):
    """Rows, reads, cycles and pairs against loops over tokens that ask the layout for every single access. The layout is
    the one whose tile is a row: a token has one row of K and one of V."""
    layout, memory = together(TIERS[name], lockstep).model_copy(update={"channels": 2}), HBM if name == "hbm" else DDR
    part = NearBank(PU_PRESETS[f"pam-{name}"], layout, memory, 1, dim, partial_s=1.0, step_s=100.0)
    layout = layout.model_copy(update={"tile_tokens": part.config.tile_tokens})
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 40))
    group, slot = random.integers(0, part.groups, count), random.integers(0, 60, count)
    _, first = np.unique(group * 100 + slot, return_index=True)
    group, slot = group[first], slot[first]
    request = np.sort(random.integers(0, 4, len(group)))
    work = part.work(request, group, slot)

    rows, size = {}, 4 * dim
    for r, g, s in zip(request.tolist(), group.tolist(), slot.tolist(), strict=True):
        bank = int(layout.place(s).bank)
        for access in range(layout.accesses_of_token(size)):
            row, _ = layout.position(layout.place(s).index, access, size)
            banks = rows.setdefault((r, g, int(row)), {})
            banks[bank] = banks.get(bank, 0) + 1
    busy = np.zeros(part.groups)
    for (_, where, _), banks in rows.items():
        busy[where] += tile_cycles(part.config, memory, max(banks.values()) // part.columns, dim) / 2
    assert work.local_s == pytest.approx(busy.max() * part.memory.clock_ps * 1e-12, rel=1e-9)
    assert work.rows == len(rows) * layout.banks
    assert work.reads == len(request) * layout.accesses_of_token(size)
    bank, tile = layout.place(slot).bank, layout.place(slot).index // layout.tile_tokens
    results = {}
    for r, g, b, t in zip(request.tolist(), group.tolist(), bank.tolist(), tile.tolist(), strict=True):
        results.setdefault(g, {}).setdefault(r, {}).setdefault(b, set()).add(t)
    merged = [
        sum(100 + sum(max(1, len(banks.get(b, ()))) for b in range(layout.banks)) for banks in one.values())
        for one in results.values()
    ]
    assert work.reduce_s == max(merged)
    assert work.partials == sum(len(t) for one in results.values() for banks in one.values() for t in banks.values())
    pairs = set(zip(request.tolist(), group.tolist(), bank.tolist(), strict=True))
    assert work.bank_pairs == len(pairs)
    assert work.group_pairs == len({pair[:2] for pair in pairs})
    assert work.channel_pairs == len({(r, g // layout.groups) for r, g, _ in pairs})
    assert work.requests == len(set(request.tolist()))
    assert work.imbalance == pytest.approx(busy.max() / busy.mean())


def test_flash_reads_a_page_once_for_all_requests():
    flash = Flash(TIERS["ssd"], NAND, 8, 1, 512)
    both = flash.work(np.array([0, 1]), np.array([3, 3]), np.array([5, 6]))
    one = flash.work(np.array([0]), np.array([3]), np.array([5]))
    assert both.key_s == one.key_s == pytest.approx(7.5e-6) and both.rows == 1
    other = flash.work(np.array([0, 1]), np.array([3, 3]), np.array([5, 6 + 4 * 32]))
    assert other.rows == 2 and other.key_s == pytest.approx(15e-6)


def test_pages_hold_whole_tokens():
    """Llama-3-70B: two heads of a share are 1 KiB, 16 tokens a page. OPT-175B: 24 heads are 12 KiB in the room of 16. With
    48 heads (tensor parallelism of 2) a token takes two pages. Sparse attention then reads far fewer pages."""
    system = load_system("pam")
    ssd, wide = system.hardware.tiers[2], system.with_split(2, 4)
    assert [ssd.pages(system.share(model)) for model in (LLAMA, OPT)] == [(1, 2, 1024), (1, 24, 16384)]
    assert wide.hardware.tiers[2].pages(wide.share(OPT)) == (2, 24, 16384)
    assert [tier.token_bytes(system.share(OPT)) for tier in system.hardware.tiers] == [
        48 * 12288,
        48 * 12288,
        48 * 16384,
    ]
    system.prepare(OPT, Records(), False)
    flash = system.timer(OPT).parts[2]
    work = flash.work(np.zeros(5, int), np.zeros(5, int), np.arange(5))
    # Five pages on four dies, 24 columns of each
    assert work.rows == 5 and work.reads == 5 * 24
    assert work.key_s == pytest.approx(5 * page_cycles(NAND, 24) * NAND.clock_ps * 1e-12)
    rows = {}
    for order in ("head", "token"):
        ordered = system.changed({"tiers.ssd.page_order": order}).bind(OPT, Records()).system
        rows[order] = ordered.measure(OPT, np.full(256, 2048)).tiers["ssd"].local_s
    assert rows["token"] < rows["head"] / 3


def test_appending_a_token():
    """A row of K and one of V, each opened, written in eight columns and closed."""
    per_row = 19 + 7 * 4 + 6 + 2 + 21 + 19
    assert append_cycles(HBM, 2, 8) == pytest.approx(2 * per_row, rel=0.05)


# Whole steps -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("system", SYSTEMS)
def test_sums(system):
    result = run(system, LLAMA, 700, 12)
    assert sum(result.breakdown_ms.values()) == pytest.approx(result.tpot_ms, rel=1e-9)
    numbers = [value for value in result.energy_breakdown_mj.values() if not isinstance(value, str)]
    assert sum(numbers) == pytest.approx(result.energy_mj_per_token, rel=1e-9) and min(numbers) >= 0
    assert json.loads(json.dumps(result.to_json()))["tpot_ms"] == result.tpot_ms
    gpu = run("gpu-only", LLAMA, 700, 12)
    for name in ("qkv", "ffn_up", "lm_head"):
        assert result.breakdown_ms[name] == pytest.approx(gpu.breakdown_ms[name], rel=1e-9)


def test_who_is_faster_when_the_kv_fills_three_tiers():
    """OPT-175B, 256 requests of 2048 tokens: 2304 GiB of KV (claim pam-energy-kv). PAM before LS-PIM before L-PIM before
    offloading; without attention in the tiers, or without scheduling, PAM is slower; AttAcc has no room."""
    times = {name: attention_ms(run(name, batch=256)) for name in ("pam", "ls-pim", "l-pim", "vllm-offload")}
    assert times["pam"] < times["ls-pim"] < times["l-pim"] < times["vllm-offload"]
    for feature in ("pam_attention", "kv_scheduling"):
        assert attention_ms(run(batch=256, overrides={f"features.{feature}": False})) > 1.3 * times["pam"]
    with pytest.raises(ConfigError, match="largest batch that fits is 34$"):
        run("attacc", batch=256)


def test_what_does_not_fit_is_fetched():
    """Of the 2304 GiB of 256 requests, HBM keeps its free room by default. A small batch stays there as a whole."""
    own = load_system("vllm-offload").kv_tiers(OPT)[0]

    def fetched(batch, **overrides):
        result = run("vllm-offload", batch=batch, overrides=overrides)
        return sum(result.attention["fetched_bytes_per_gpu_and_step"].values())

    whole = 2304 * 2**30 / 8
    assert load_system("vllm-offload").offload.keeps == "part"
    assert fetched(256) + own == pytest.approx(whole)
    assert fetched(256, keeps="nothing") == fetched(256, keeps="batch") == pytest.approx(whole)
    for keeps, share in (("part", 0), ("batch", 0), ("nothing", 1)):
        assert fetched(16, keeps=keeps) == pytest.approx(share * whole / 16)


def test_what_is_fetched_is_hidden_behind_a_whole_stage():
    """A stage takes the longer of its computation and its fetches, or both one after the other."""
    beside, after = (
        run("vllm-offload", LLAMA, 738, 256, overrides={"overlap": overlap, "keeps": "nothing"})
        for overlap in (True, False)
    )
    fetch, compute = after.breakdown_ms["kv_fetch"], beside.tpot_ms - beside.breakdown_ms["kv_fetch"]
    assert fetch > compute and beside.tpot_ms == pytest.approx(fetch)
    assert after.tpot_ms == pytest.approx(fetch + compute, rel=0.01)  # the stages differ by the last matrix
    short = run("vllm-offload", LLAMA, 8, 256, overrides={"keeps": "nothing"})
    assert short.breakdown_ms["kv_fetch"] == 0 and sum(short.attention["fetched_bytes_per_gpu_and_step"].values()) > 0


def test_active_tokens_go_up():
    """The scheduler leaves few of the active tokens in the SSD; static placement leaves them where they fell."""
    shares = {}
    for name in ("pam", "ls-pim"):
        tiers = run(name, batch=256).attention["tiers"]
        shares[name] = tiers["ssd"]["active_percent"]
        assert sum(tier["tokens"] for tier in tiers.values()) == pytest.approx(256 * 2048, abs=600)
    assert shares["pam"] < 5 < 25 < shares["ls-pim"]


def test_attention_of_one_tier_by_hand():
    """One request that fits HBM: queries to its channels, the busiest bank group, the last merge."""
    system = load_system("pam")
    system.prepare(LLAMA, Records(), False)
    step = system.measure(LLAMA, np.array([64]))
    tier = step.tiers["hbm"]
    work, passes = tier.work, 16
    assert step.tiers["ddr"].total_s == step.tiers["ssd"].total_s == 0
    channel = 2 * 32 / (2 * 0.769e-9) * 0.85
    assert tier.query_s == pytest.approx(passes * 256 * work.busiest_channel_pairs / channel)
    assert tier.local_s == pytest.approx(passes * work.local_s + 10 / 666e6)
    assert tier.total_s == pytest.approx(tier.query_s + max(tier.local_s, tier.reduce_s))
    assert tier.reduce_s == pytest.approx(passes * work.reduce_s)
    # 16 queries on 640 reduction units, one round: four sources, of which the tier's one device is one
    assert work.device_pairs == 1 and step.merge_s == pytest.approx((4 * 8 / 0.8 + 40) / 666e6)
    assert step.moves == {"ssd-ddr": 0, "ddr-hbm": 0}


def test_time_line_of_a_step():
    """Parts follow each other up to the time of a token; the tiers' spans lie within attention, each as long as its
    times."""
    system = load_system("pam")
    result = system.evaluate(OPT, context=2048, batch=16, records=Records())
    view = system.bind(OPT, Records()).timeline(context=2048, batch=16)
    own = [span for span in view.spans if ":" not in span.track]
    assert view.layers == view.of_layers == OPT.layers
    assert max(span.end_s for span in own) == pytest.approx(result.tpot_ms * 1e-3)
    assert all(a.end_s == pytest.approx(b.start_s) for a, b in zip(own, own[1:], strict=False))
    for name, ms in result.breakdown_ms.items():
        assert 1e3 * sum(span.seconds for span in own if span.name == name.replace("_", " ")) == pytest.approx(ms)
    first = next(span for span in own if span.name == "attention")
    tiers = [span for span in view.spans if ":" in span.track and span.args["layer"] == 0]
    times = result.attention["tiers"]
    assert {span.track.split(":")[0] for span in tiers} == {name for name, one in times.items() if one["total_us"]}
    assert max(span.end_s for span in tiers) == pytest.approx(first.end_s)
    assert min(span.start_s for span in tiers) >= first.start_s
    local = sum(span.seconds for span in tiers if span.track == "hbm: units")
    assert local == pytest.approx(times["hbm"]["local_us"] * 1e-6)


class Several(Records):
    """Made-up measurements of processing and reduction units of several queries: a clock for each query of a beat."""

    def find(self, measurement):
        found, presets = super().find(measurement), {"pam-pu": PU_PRESETS, "pam-ru": RU_PRESETS}.get(measurement.unit)
        if presets is None or measurement.kind != "sim":
            return found
        queries = next(
            (one.queries for one in presets.values() if config_hash(measurement.unit, one) == measurement.config_hash),
            1,
        )
        pace = {"beats_per_clock": 1 / queries} if measurement.unit == "pam-pu" else {}
        return found.model_copy(update={"results": found.results | {"queries": queries} | pace})


GQA8 = {"tiers.hbm.unit.preset": "pam-hbm-gqa8"}


def one_tier(system, changes, records, contexts=(2048,) * 4):
    loaded = load_system(system, changes)
    loaded.prepare(LLAMA, records, False)
    return loaded, loaded.measure(LLAMA, np.array(contexts))


def hbm_group(system):
    return system.hardware.tiers[0].group(system.share(LLAMA))


def test_a_tier_reads_once_for_the_queries_of_a_pass():
    """Two heads with 8 queries each: two passes rather than 16. A column meets 8 queries in ceil(8 x 1.502 / 0.769) = 16
    memory cycles. Its K and V are read once, and computing takes as much energy as before."""
    single, before = one_tier("ls-pim", {}, Several())
    shared, after = one_tier("ls-pim", GQA8, Several())
    assert (hbm_group(single).passes, hbm_group(shared).passes) == (8, 1)
    assert (hbm_group(shared).together, hbm_group(shared).burst_cycles) == (8, 16)
    a, b = before.tiers["hbm"], after.tiers["hbm"]
    assert b.local_s == pytest.approx(2 * b.work.local_s + 10 / 666e6)
    assert a.local_s == pytest.approx(16 * a.work.local_s + 10 / 666e6)
    assert a.work.reads == b.work.reads and a.local_s > 2 * b.local_s
    assert b.energy_pj["pim_cell_reads"] == pytest.approx(a.energy_pj["pim_cell_reads"] / 8)
    assert b.energy_pj["pu_compute"] == pytest.approx(a.energy_pj["pu_compute"])
    assert (a.query_s, a.return_s, a.scores_s) == (b.query_s, b.return_s, b.scores_s)


def test_a_pass_has_no_more_queries_than_the_reduction_units_take():
    """A reduction unit of one query keeps the passes of one query. Units of both of 8 take two passes."""
    loaded, step = one_tier("pam", GQA8, Several())
    assert hbm_group(loaded).passes == 8
    plain = one_tier("pam", {}, Several())[1]
    assert step.tiers["hbm"].local_s == plain.tiers["hbm"].local_s
    notes = run("pam", LLAMA, 2048, 4, records=Several(), overrides=GQA8).notes
    assert any("take 8 queries a pass and its reduction units merge 1, so a pass has 1" in note for note in notes)
    whole, step = one_tier("pam", GQA8 | {"tiers.hbm.reduction_preset": "pam-hbm-gqa8"}, Several())
    tier, work = step.tiers["hbm"], step.tiers["hbm"].work
    assert hbm_group(whole).passes == 1 and tier.local_s == pytest.approx(2 * work.local_s + 10 / 666e6)
    assert plain.tiers["hbm"].local_s > 1.5 * tier.local_s
    # Two merges of each of 4 requests on 640 units, of 8 queries: each source sends 8 partial results of 8 beats.
    assert step.merge_s == pytest.approx((4 * 8 * 8 / 0.8 + 40) / 666e6)


def test_more_queries_per_pass_are_never_slower():
    """One tier with units of 1, 4 and 8 queries: passes and reads fall, and so does the time of attention."""
    steps = [
        one_tier("ls-pim", {"tiers.hbm.unit.preset": preset}, Several())[1]
        for preset in ("pam-hbm", "pam-hbm-gqa4", "pam-hbm-gqa8")
    ]
    times = [step.tiers["hbm"].total_s for step in steps]
    reads = [step.tiers["hbm"].energy_pj["pim_cell_reads"] for step in steps]
    assert times == sorted(times, reverse=True) and reads == sorted(reads, reverse=True)


def test_a_tier_with_the_record_of_another_number_of_queries():
    with pytest.raises(
        ConfigError,
        match=r"^pam: tier 'hbm': the record of pam-pu is of a step of 1 queries, its "
        r"configuration has 8$",
    ):
        run("pam", LLAMA, 300, 6, overrides=GQA8)


@pytest.mark.parametrize(
    "changes, message",
    [
        (
            {"tiers.hmb.unit.preset": "pam-hbm-gqa8"},
            r"override 'tiers\.hmb\.unit\.preset': unknown entry 'hmb'; did you mean ",
        ),
        ({"tiers.hbm.layout.x": 1}, r"override 'tiers\.hbm\.layout\.x': 'layout' is a plain value, not a group$"),
        (
            {"tiers.hbm.unit.settings": {"queries": 8, "buffer_bytes": 256}},
            r"tier 'hbm': unit.settings: .*need at least 288$",
        ),
        (
            {"tiers.hbm.unit.settings": {"queries": 8, "query_bytes": 128}},
            r"tier 'hbm': unit.settings: .*multiple of the 256 bytes of a beat of each of 8 queries, not 128$",
        ),
        ({"tiers.hbm.reduction_settings": {"quries": 8}}, r"tier 'hbm': unit.settings: unknown key 'quries'"),
    ],
)
def test_wrong_units_of_a_tier(changes, message):
    with pytest.raises(ConfigError, match=message) as error:
        load_system("pam", changes)
    assert "\n" not in str(error.value)


def test_an_entry_of_a_list_goes_by_its_name():
    loaded = load_system("pam", GQA8)
    assert [tier.unit.config.queries for tier in loaded.hardware.tiers] == [8, 1, 1]
    again = load_system("pam").changed({"tiers.hbm.unit.preset": "pam-hbm-gqa8"})
    assert again.pim == loaded.pim and "reduction_settings" not in loaded.pim.model_dump()["tiers"][0]


def test_migration_by_hand():
    """A thousand tokens between SSD and DDR: up at the SSD's link, down at the rate of programming."""
    system = load_system("pam")
    system.prepare(LLAMA, Records(), False)
    size = 2 * 40 * 512  # two heads, 40 layers
    seconds, energy = system.migration(LLAMA).transfer({"ssd-ddr": 1000, "ddr-hbm": 0})
    assert seconds == pytest.approx(1000 * size / (8 * 4 * 16384 / 200e-6 * 0.9))
    assert energy == pytest.approx(2 * 1000 * size * (2 * 28.72 + 40))
    seconds, _ = system.migration(LLAMA).transfer({"ssd-ddr": 0, "ddr-hbm": 1000})
    assert seconds == pytest.approx(1000 * size / (63e9 * 0.9))


class Other(Records):
    """Other measurements of one unit; no record of what is ``gone``."""

    def __init__(self, unit, kind, gone=False, **results):
        self.what, self.gone, self.results = (unit, kind), gone, results

    def find(self, measurement):
        found = super().find(measurement)
        if (measurement.unit, measurement.kind) != self.what:
            return found
        return None if self.gone else found.model_copy(update={"results": found.results | self.results})


def test_reduction_by_measured_clocks():
    """Beats at the measured rate, and the clocks between steps; the last level waits for the division too."""
    plain = run("pam", LLAMA, 300, 6)
    slow = run("pam", LLAMA, 300, 6, records=Other("pam-ru", "sim", merge_utilisation=0.4))
    # Six requests on 640 units: each query is one round of at least four partial results
    assert plain.breakdown_ms["attention_merge"] == pytest.approx(80 * (4 * 8 / 0.8 + 40) / 666e6 * 1e3)
    assert slow.breakdown_ms["attention_merge"] == pytest.approx(80 * (4 * 8 / 0.4 + 40) / 666e6 * 1e3)
    assert sum(name.startswith("pam-ru") for name in plain.records) == 6
    for key, value in (("merge_utilisation", 0), ("two_steps_cycles", None)):
        with pytest.raises(ConfigError, match=rf"^record pam-ru-[^ ]+: {key}: [^;]+, not {value!r}; measure again$"):
            run("pam", LLAMA, 300, 6, records=Other("pam-ru", "sim", **{key: value}))


def test_transfers_of_partial_results_and_share_of_reduction():
    """Dense: every bank of a group has tokens, so three of four partial results stay in the array. The share is of what
    nothing hides."""
    dense = run("pam", LLAMA, 3000, 16, overrides={"sparsity.mode": "dense"}).attention
    one = dense["tiers"]["hbm"]["partial_results"]
    assert one["saved_percent"]["group_to_device"] == pytest.approx(75, abs=1)
    assert one["saved_percent"]["device"] == pytest.approx(37.5, abs=0.5)
    assert one["central_bytes"]["group_to_device"] == one["tree_bytes"]["bank_to_group"]
    assert 0 < dense["reduction"]["share_percent"] < 5 and dense["tiers"]["ssd"]["partial_results"] == {}
    slow = run("pam", LLAMA, 3000, 16, records=Other("pam-ru", "sim", merge_utilisation=0.01)).attention
    assert slow["reduction"]["exposed_us"] > 0 and slow["reduction"]["share_percent"] > 50
    assert run("ls-pim", LLAMA, 300, 6).attention["reduction"] is None


def test_areas_are_measured_or_unknown():
    """Sixteen reduction units of 70 kGE beside 64 units of 70 kGE on the die, ten times less dense; the interface on a
    logic die; the published areas stand beside them and never for them."""
    tiers = run("pam", LLAMA, 300, 6).attention["tiers"]
    hbm = tiers["hbm"]
    assert hbm["reduction_mm2"] == pytest.approx((16 * 70e3 * 0.136e-6 * 10, 16 * 70e3 * 0.21e-6 / 0.7 * 10))
    assert np.array(hbm["with_other_percent"]) == pytest.approx(np.array(hbm["die_percent"]) * 80 / 64)
    assert hbm["interface_mm2"] == pytest.approx((16 * 70e3 * 0.136e-6, 16 * 70e3 * 0.21e-6 / 0.7))
    assert tiers["ddr"]["interface_ge"] == 2 * 70e3 and hbm["interface_published_mm2"] == 0.85
    unknown = run("pam", LLAMA, 300, 6, records=Other("pam-ru", "synth", gone=True))
    hbm = unknown.attention["tiers"]["hbm"]
    assert hbm["reduction_mm2"] is None and hbm["with_other_percent"] == hbm["die_percent"]
    assert "area not measured: run `bankside synth pam-ru --preset pam-hbm`" in unknown.notes
    assert unknown.tpot_ms == run("pam", LLAMA, 300, 6).tpot_ms
    unknown = run("pam", LLAMA, 300, 6, records=Other("pam-interface", "synth", gone=True))
    assert unknown.attention["tiers"]["hbm"]["interface_mm2"] is None


def test_moves_fit_beside_a_step():
    """A swap reads and writes a token in a bank of each DRAM tier (40 layers, 2 heads, a row of K and one of V), reads
    a page a layer of flash and programs a 16th of one. What a step may move leaves every tier time for its attention."""
    system = load_system("pam")
    system.prepare(LLAMA, Records(), False)
    hbm, _, ssd = system.migration(LLAMA).swap_s
    read, write = 19 + 7 * 4 + 8 + 19, 19 + 7 * 4 + 6 + 2 + 21 + 19
    assert hbm == pytest.approx(2 * 80 * (read + write) * 0.769e-9 / 1280, rel=0.05)
    assert ssd == pytest.approx(40 * (7.5e-6 + 200e-6 / 4 / 16) / 8, rel=1e-6)
    node = system.node(OPT, np.full(256, 2048), 3)
    node.settle()
    step = node.step()
    assert 0 < step.moves["ssd-ddr"] < 1000
    linear = float(np.max(system.linear_seconds(OPT, 256)))
    whole = 2 * (linear + 48 * (step.attention_s + step.merge_s + step.append_s))
    assert system.least_s(OPT, step) <= whole * 1.001
    assert system.migration(OPT).occupied({})["ssd"] == 0


def test_capacity_by_hand():
    """Tokens of HBM are what the weights leave, in whole slots of 1280 groups."""
    system = load_system("pam")
    shapes = system.tier_shapes(LLAMA)
    left = 80 * 2**30 - max(system.weight_bytes_per_device(LLAMA))
    assert shapes[0].capacity == left // 1280 // (40 << 10) * 1280
    assert shapes[1].capacity == (159 << 30) // 160 // (40 << 10) * 160
    assert shapes[2].all_groups == 8 and shapes[2].capacity == pytest.approx(2**41 / (40 << 10), rel=1e-6)
    capacity = run("pam", LLAMA, 700, 12).capacity
    assert capacity.largest_batch == sum(shape.capacity for shape in shapes) // 700


@pytest.mark.parametrize(("batch", "left"), [(300, 0), (300, 299), (300, 300), (300, 600), (300, 601), (40_000, 0)])
def test_a_full_node_takes_a_step(batch, left):
    """The steps before the one that is timed need room for their tokens too."""
    system = load_system("pam")
    system.prepare(OPT, Records(), False)
    capacity = system.kv_capacity_tokens(OPT)
    contexts = spread_contexts(batch, capacity - left, 0.5)
    assert contexts.sum() == capacity - left
    before = system._with_room(OPT, contexts, 2)
    assert before.sum() + 2 * batch <= capacity and (contexts - before).max() <= 2
    assert (before == contexts).all() == (left > 2 * batch)
    if (batch, left) in ((300, 0), (300, 300)):
        assert 0 < system.attention_seconds(OPT, contexts)[0] < 1


@pytest.mark.parametrize("system", SYSTEMS)
def test_too_large_a_batch_says_what_is_missing(system):
    pattern = {
        "attacc": r"the largest batch that fits is \d+$",
        "vllm-offload": r"the largest batch that fits is \d+; a GPU's tiers hold hbm .*, ddr .*, 'ssd' lacks "
        r"[\d.]+ GiB$",
    }
    with pytest.raises(
        ConfigError,
        match=pattern.get(
            system,
            r"has 40960000 KV tokens, the tiers hold hbm \d+, ddr \d+, ssd \d+; the last tier 'ssd' lacks \d+ "
            r"tokens \([\d.]+ GiB on each GPU\); the largest batch that fits is \d+$",
        ),
    ) as error:
        run(system, batch=20_000, records=NoRecords())
    assert "\n" not in str(error.value)


def test_missing_records_name_all_units():
    with pytest.raises(MissingRecord) as error:
        run(records=NoRecords())
    units = [
        f"bankside {what} pam-pu --preset {preset}{more}"
        for preset in ("pam-hbm", "pam-ddr", "pam-ssd")
        for what, more in (("sim", " --head-dim 128" + " --memory ddr4-3200" * (preset == "pam-ddr")), ("synth", ""))
    ]
    pairs = [f"bankside sim pam-interface --preset {pair}" for pair in ("hbm-ddr", "ddr-hbm", "ddr-ssd", "ssd-ddr")]
    # Of reduction units and interfaces the area alone would come from synthesis
    beside = [
        command.replace("pam-pu", "pam-ru").split(" --memory")[0] for command in units if "bankside sim" in command
    ]
    assert error.value.commands == (*units, *beside, *pairs)
    with pytest.raises(MissingRecord) as error:  # its scores are merged on the GPU, and nothing moves
        run("ls-pim", records=NoRecords())
    assert error.value.commands == tuple(units)


@pytest.mark.parametrize(
    "old, new, message",
    [
        (
            "{name: ddr, gb_s: 63}",
            "{name: ddr, gb_s: 0}",
            r":\d+: links\.edges\.1\.gb_s: input should be greater than 0",
        ),
        ("{name: gpu, gb_s: 63}", "{name: card, gb_s: 63}", r"links\.edges: unknown link 'gpu'"),
        ("  decay: 0.6\n", "  decay: 0.6\n  x: 0\n", r":\d+: scheduling\.x: input should be greater than 0, not 0$"),
        ("  decay: 0.6\n", "  decay: 0.6\n  y: -2\n", r":\d+: scheduling\.y: input should be greater than 0, not -2$"),
        (
            "  mode: synthetic\n",
            "  mode: magic\n",
            r":\d+: sparsity\.mode: input should be 'synthetic', 'dense', 'replay' or 'method'",
        ),
        ("    memory: ddr4-3200\n", "    memory: hbm3-5.2\n", r"tier 'ddr': hbm3-5\.2 has 16384 rows of 1024 bytes"),
        ("    lockstep: 1\n", "    lockstep: 3\n", r"tier 'ddr': lockstep 3 does not divide its 32 groups"),
        ("    layout: ssd\n", "    layout: sdd\n", r":\d+: tiers\.2\.layout: input should be 'hbm', 'ddr' or 'ssd'"),
    ],
)
def test_wrong_files(tmp_path, old, new, message):
    text = FILES["pam"].read_text()
    assert old in text
    path = tmp_path / "mine.yaml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ConfigError, match=message):
        load_system(path)


def test_a_named_locality_gives_spread_and_keep():
    before, named = (
        load_system("pam", changes).source().locality for changes in ({}, {"sparsity.locality": "bankside-small"})
    )
    assert (before.spread, before.keep) == (1.5, 0.8) and named == replace(before, spread=1.0802, keep=0.0596)
    with pytest.raises(ConfigError, match=r"^pam: sparsity\.locality: unknown locality 'small'"):
        load_system("pam", {"sparsity.locality": "small"}).source()


@pytest.mark.parametrize(
    "overrides, message",
    [
        ({"scheduling.x": 3.0}, r"scheduling\.x and scheduling\.y must be given together$"),
        ({"sparsity.mode": "replay"}, r"sparsity\.mode 'replay' needs sparsity\.trace"),
        ({"sparsity.mode": "replay", "sparsity.trace": "nowhere.jsonl"}, r"nowhere\.jsonl: no such file or directory$"),
        ({"sparsity.mode": "method"}, r"sparsity\.mode 'method' needs sparsity\.method, a method of sparse attention$"),
        (
            {"sparsity.mode": "method", "sparsity.method": "quest"},
            r"needs sparsity\.capture, a folder of bankside capture$",
        ),
        (
            {"sparsity.mode": "method", "sparsity.method": "quest", "sparsity.capture": "nowhere"},
            r"nowhere/capture\.json: no such file or directory$",
        ),
    ],
)
def test_wrong_settings(overrides, message):
    with pytest.raises(ConfigError, match=message):
        run("pam", LLAMA, 100, 2, overrides=overrides)


def test_another_split_is_the_system_made_with_it():
    """Whichever kind of system; what was remembered of the old split is not used."""
    for name in ("pam", "vllm-offload", "attacc", "gpu-only", "pam-hbm-only"):
        system = load_system(name)
        here = system.evaluate(LLAMA, context=700, batch=12, records=Records())
        there = system.with_split(8, 1).evaluate(LLAMA, context=700, batch=12, records=Records())
        made = run(name, LLAMA, 700, 12, overrides={"parallelism.tensor": 8, "parallelism.pipeline": 1})
        assert there == made != here
        with pytest.raises(ConfigError, match=f"^{name}: tensor 8 times pipeline 2 must be the 8 GPUs$"):
            system.with_split(8, 2)


def test_a_tier_behind_the_host_needs_a_link():
    edges = [{"name": "gpu", "gb_s": 63}, {"name": "ssd", "gb_s": 7.88}]
    with pytest.raises(
        ConfigError, match=r"tier 'ddr' is not the GPU's own memory and needs a link of its name in links"
    ):
        load_system("pam", {"links.edges": edges})
    with pytest.raises(ConfigError, match=r"vllm-offload: tier 'ddr' needs a link of its name in links\.edges$"):
        load_system("vllm-offload", {"links.edges": edges})


def test_vllm_without_bandwidth(tmp_path):
    (tmp_path / "mine.yaml").write_text(FILES["vllm-offload"].read_text().replace("ssd, gb_s: 5}", "ssd, gb_s: 0}"))
    with pytest.raises(ConfigError, match=r"mine\.yaml:\d+: links\.edges\.2\.gb_s: input should be greater than 0"):
        load_system(tmp_path / "mine.yaml")


def test_dense_attention_reads_everything():
    sparse, dense = run("pam", LLAMA, 3000, 64), run("pam", LLAMA, 3000, 64, overrides={"sparsity.mode": "dense"})
    assert dense.attention["active_tokens"] == 64 * 3001 and sparse.attention["active_tokens"] < 64 * 3001 / 6
    assert attention_ms(dense) > attention_ms(sparse)


def test_more_output_tokens_are_the_mean():
    whole = run("pam", LLAMA, 500, 4, output_tokens=3)
    every = [run("pam", LLAMA, 500 + k, 4).tpot_ms for k in range(3)]
    assert whole.tpot_ms == pytest.approx(np.mean(every), rel=1e-9)


# Parallelism -------------------------------------------------------------------------------------------------------


def test_an_all_reduce_between_nodes_by_hand():
    """16 GPUs on two nodes: 7 transfers of an eighth over NVLink, then that eighth's halves to the other node and back, 50
    GB/s and 5 us each; stages send an eighth each and share it over NVLink."""
    one, two = (
        load_system("gpu-only").roofline,
        load_system("gpu-only", {"nodes": 2, "parallelism.tensor": 16, "parallelism.pipeline": 1}).roofline,
    )
    count = 1 << 23
    between = 2 * (5e-6 + count / 16 / 50e9)
    assert two.all_reduce(count, 16).time_s == pytest.approx(one.all_reduce(count, 8).time_s + between)
    assert two.all_reduce(count, 8).time_s == one.all_reduce(count, 8).time_s
    assert two.transfer_time(count) == pytest.approx(5e-6 + count / 8 / 50e9 + one.transfer_time(count))
    assert two.all_reduce(count, 16).energy_pj["network"] == pytest.approx(count / 8 * 100)


def test_nodes_add_throughput():
    """Twice the nodes at twice the requests, tensor or pipeline parallelism between them: nearly twice the tokens; the
    memories are there twice."""

    def tokens(nodes, tensor, pipeline, batch):
        return run(
            "pam",
            LLAMA,
            700,
            batch,
            overrides={"nodes": nodes, "parallelism.tensor": tensor, "parallelism.pipeline": pipeline},
        ).throughput_tok_s

    base = tokens(1, 4, 2, 512)
    assert 1.7 * base < tokens(2, 4, 4, 1024) < 2.3 * base and 1.3 * base < tokens(2, 8, 2, 1024) < 2.3 * base
    one, two = load_system("pam"), load_system("pam", {"nodes": 2, "parallelism.pipeline": 4})
    assert two.tier_shapes(OPT)[1].capacity == 2 * one.tier_shapes(OPT)[1].capacity


@pytest.mark.parametrize(
    "overrides, message",
    [
        ({"parallelism.tensor": 3}, r"^pam: tensor 3 times pipeline 2 must be the 8 GPUs$"),
        ({"nodes": 2}, r"^pam: tensor 4 times pipeline 2 must be the 16 GPUs$"),
        (
            {"nodes": 3, "parallelism.tensor": 3, "parallelism.pipeline": 8},
            r"^pam: tensor 3 must divide or be a multiple of the 8 GPUs of a node$",
        ),
        (
            {"nodes": 2, "parallelism.pipeline": 4, "network.gb_s_per_gpu": 0},
            r"2 nodes need a network with gb_s_per_gpu",
        ),
        ({"nodes": 0}, r"nodes: input should be greater than or equal to 1, not 0$"),
        (
            {"nodes": 16, "parallelism.tensor": 128, "parallelism.pipeline": 1},
            r"^tensor parallelism of 128 does not divide",
        ),
        (
            {"nodes": 16, "parallelism.tensor": 1, "parallelism.pipeline": 128},
            r"^pipeline parallelism of 128 exceeds the mod",
        ),
    ],
)
def test_wrong_parallelism(overrides, message):
    with pytest.raises(ConfigError, match=message):
        run("pam", LLAMA, 100, 256, overrides=overrides)


# Serving and calibration -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("system", SYSTEMS)
def test_step_latency(system, least_s):
    """Equal to the evaluation on the grid, close to it between, never less with more requests; prefill grows."""
    loaded = load_system(system)
    loaded.prepare(LLAMA, Records(), False)
    latency = GridLatency(loaded, LLAMA)
    assert latency.step_latency(np.full(16, 512)) == pytest.approx(run(system, LLAMA, 512, 16).tpot_ms / 1e3, rel=1e-9)
    times = [latency.step_latency(np.full(batch, 600)) for batch in (1, 8, 64, 300)]
    assert times == sorted(times)
    times = [latency.prefill_latency(tokens) for tokens in (1, 100, 2000, 8000)]
    assert times == sorted(times) and times[0] > 0
    with pytest.raises(ConfigError):
        latency.step_latency(np.array([latency.kv_capacity_tokens + 2048]))
    with pytest.raises(ConfigError, match="contexts must be"):
        latency.step_latency(np.array([]))
    assert least_s(lambda call: [latency.step_latency(np.full(batch, 600 + call)) for batch in range(200, 300)]) < 1


@pytest.mark.parametrize("system, model, batch", [("pam", LLAMA, 1000), ("ls-pim", LLAMA, 300), ("pam", OPT, 375)])
def test_step_latency_of_unequal_contexts(system, model, batch):
    """Contexts of a wide log-normal distribution, between the points of the grid, against the system evaluated with these
    very contexts."""
    contexts = 40 + np.random.default_rng(5).lognormal(5.9, 0.8, batch).astype(int)
    loaded = load_system(system)
    loaded.prepare(model, Records(), False)
    latency = GridLatency(loaded, model)
    step = loaded.measure(model, contexts)
    attention = step.attention_s + step.merge_s + step.append_s + step.gather_s
    direct = loaded.pp * float(np.max(loaded.linear_seconds(model, batch) + np.array(loaded.stages(model)) * attention))
    assert latency.step_latency(contexts) == pytest.approx(max(direct, loaded.least_s(model, step)), rel=0.06)
    assert latency.step_latency(contexts[::-1]) == latency.step_latency(contexts)


@pytest.mark.parametrize("variation", [0, 0.5, 2])
def test_quantiles_of_contexts(variation):
    for batch, tokens in ((1, 1), (7, 7), (300, 200_000), (3000, 1_900_001)):
        contexts = spread_contexts(batch, tokens, variation)
        assert len(contexts) == batch and contexts.sum() == tokens and contexts.min() >= 1
    assert contexts.std() / contexts.mean() == pytest.approx(variation, rel=0.2, abs=0.01)


def test_calibration_brings_the_tiers_together():
    system = load_system("pam")
    first = calibrate(system, OPT, Records(), rounds=1)
    last = calibrate(system, OPT, Records(), rounds=4)
    assert max(last.tier_us.values()) <= 1.05 * max(first.tier_us.values())
    assert last.x > 0 and last.y > 0 and last.rounds <= 4
    table = with_ratios(RatioTable(source="a test", models={}), "opt-175b", last)
    import yaml

    assert yaml.safe_load(table_text(table))["models"]["opt-175b"]["x"] == pytest.approx(last.x, rel=1e-4)
    assert set(yaml.safe_load(RATIOS.read_text())["models"]) >= {"default"}
    with pytest.raises(ConfigError, match="l-pim moves no tokens between tiers"):
        calibrate(load_system("l-pim"), OPT, Records())


def test_speed_and_memory_of_a_large_step(least_s):
    """8192 requests of 738 tokens: placement, importance, scheduling and timing in under half a second of processor time;
    the arrays of six million tokens take less than a tenth of a gigabyte."""
    system = load_system("pam")
    system.prepare(LLAMA, Records(), False)
    node = system.node(LLAMA, np.full(8192, 738))
    node.settle()
    node.step()
    steps = []
    assert least_s(lambda _: steps.append(node.step())) < 0.5
    step, table = steps[-1], node.table
    assert table.tokens == 8192 * 742 and sum(step.tokens) == table.tokens
    assert (
        sum(array.nbytes for array in (table.tier, table.group, table.slot, table.importance, *table.extra.values()))
        < 1.2e8
    )
    assert sum(step.moves.values()) <= 0.007 * table.tokens and math.isfinite(step.attention_s)


@pytest.mark.parametrize(
    "boundary, hbm, ddr", [("cells", 32 * 3.52, 8 * 43.5 * 3.52 / 27.84), ("access", 32 * 27.84, 8 * 43.5)]
)
def test_one_boundary_for_the_reads_of_all_memories(boundary, hbm, ddr):
    """HBM: 32 bytes at 3.52 pJ a byte in the cells and 27.84 in all; DDR: 8 bytes of a whole read of 43.5 pJ a byte."""
    assert (read_pj(HBM, boundary), read_pj(DDR, boundary, HBM)) == pytest.approx((hbm, ddr), rel=1e-9)
    if boundary == "cells":
        with pytest.raises(
            ConfigError, match="no file tells the energy of cells apart; energy.boundary must be access$"
        ):
            read_pj(DDR, boundary)


@pytest.mark.parametrize("name", ["pam", "l-pim", "attacc", "pam-hbm-only"])
def test_a_boundary_holds_in_every_system(name):
    """Between the two boundaries lie 24.32 pJ for each byte that HBM's units read; a small batch is in HBM alone. A unit
    takes three times the energy of the columns that it reads, whatever it costs to open their rows."""
    cells, access = (
        run(name, OPT, 512, 8, overrides={"energy.boundary": what}).energy_breakdown_mj for what in ("cells", "access")
    )
    columns = access["pim_cell_reads"] - cells["pim_cell_reads"]
    assert columns > 0
    for boundary, pj_per_byte in ((cells, 3.52), (access, 27.84)):
        assert boundary["pu_compute"] == pytest.approx(3 * columns * pj_per_byte / 24.32, rel=1e-9)
        assert boundary["pu_compute"] < 3 * boundary["pim_cell_reads"]


def test_results_of_groups_stay_in_their_device():
    """From a bank group to the logic die: both multiplexers and the TSVs. A DIMM has a whole read without the cells."""
    assert move_pj_per_byte(HBM, HBM) == pytest.approx(8.08 + 9.84 + 4)
    assert move_pj_per_byte(DDR, HBM) == pytest.approx(43.5 * (1 - 3.52 / 27.84))


def test_banks_of_groups_in_lockstep_share_the_tokens():
    """All groups of an HBM channel as one: 64 banks, of which consecutive slots fill one after the other."""
    channel = together(TIERS["hbm"], 16)
    assert (channel.groups, channel.banks, channel.lockstep) == (1, 64, 1)
    assert channel.place(np.arange(66)).bank.tolist() == [*range(64), 0, 1]


def test_l_pim_in_hbm_takes_the_time_of_attacc():
    """L-PIM works like AttAcc. Where all KV fits HBM, attention of the two differs by less than a sixth."""
    ours, attacc = (attention_ms(run(name, LLAMA, 738, 1024)) for name in ("l-pim", "attacc"))
    assert ours == pytest.approx(attacc, rel=1 / 6)


def test_blocks_leave_groups_to_few_requests():
    """Without mapping, consecutive tokens of a request lie in one group. Each group has as many tokens as with turns."""
    groups = {}
    for mapping in ("blocks", "turn"):
        table = KvTable([TierShape("hbm", 1, 8, 4096)], run_tokens=16, mapping=mapping)
        table.add([512] * 4)
        groups[mapping] = table.group[table.places()].reshape(4, 512)
        assert np.bincount(groups[mapping].ravel()).tolist() == [256] * 8
    assert [len(np.unique(one)) for one in groups["blocks"]] == [2] * 4
    assert [len(np.unique(one)) for one in groups["turn"]] == [8] * 4
    with pytest.raises(ConfigError, match="^unknown mapping 'block'; did you mean 'blocks'"):
        KvTable([TierShape("hbm", 1, 8, 4096)], mapping="block")


@pytest.mark.parametrize(
    "tier, memory, width, more", [("hbm", HBM, 128, 0), ("ddr", DDR, 128, 0.02), ("hbm", HBM, 64, 0)]
)
def test_the_simulated_program_is_the_one_evaluated(tier, memory, width, more):
    """A bank full of one request. The program of ``sim pam-pu`` has the cycles of the shipped record of that simulation.
    The same compiler gives the system's program, whose tiles are rows, with the same commands. In HBM it takes the same
    cycles. In DDR the softmax of every row counts, in place of every fourth one's."""
    config = PU_PRESETS[f"pam-{tier}"]
    record = RecordFolder(None).find(
        Measurement.of("sim", "pam-pu", config, preset=f"pam-{tier}", memory=memory.name, head_dim=width)
    )
    timing, workload = record.results["memory_timing"], record.workload
    assert (workload["tokens"], workload["head_dim"], timing["memory"]) == (512, width, memory.name)
    figures = record.typed(ProcessingFigures)
    layout = load_system("pam").hardware.tiers[("hbm", "ddr").index(tier)].layout
    part = NearBank(
        config,
        layout,
        memory,
        1,
        width,
        burst_cycles=figures.burst_cycles(config, memory),
        gap_cycles=figures.gap_cycles(config, memory),
    )
    slots = np.arange(512 * layout.banks)
    work = part.work(np.zeros(len(slots), int), np.zeros(len(slots), int), slots)

    def cycles(unit):
        program = attention_program(
            unit, memory, [Step(512, width)], gap_cycles=part.gap_cycles, burst_cycles=part.burst_cycles
        )
        return time_program(program, memory).cycles

    assert cycles(config) == timing["memory_cycles"]
    own = cycles(part.config)
    measured = timing["memory_cycles"]
    assert measured < own < (1 + more) * measured if more else own == measured
    # The evaluated sequence is longer than the program by the closing of its last row.
    assert 0 <= work.local_s / part.clock_s - own
    assert work.local_s / part.clock_s == pytest.approx(own, rel=0.002)
    assert work.reads == timing["commands"]["MAC_AB"] * layout.banks
    assert work.rows == timing["commands"]["ACTAB"] * layout.banks
    assert 1 <= figures.stretch < 1.001


def test_the_rates_of_the_paper_hold_in_every_tier():
    """OPT-175B, a share of 12 heads and passes: 4 x 128 operations for each active token and query, at 1600, 204 and 18
    GFLOPS a device."""
    result = run(batch=256, overrides={"rate": "paper"})
    for name, rate in (("hbm", 5 * 1600e9), ("ddr", 5 * 204e9), ("ssd", 18e9)):
        tier = result.attention["tiers"][name]
        ours = tier["local_us"] * 1e-6 * rate / (4 * 128 * 24)
        assert 0.4 * tier["active_tokens"] < ours < 0.7 * tier["active_tokens"]  # of one of two micro-batches
    with pytest.raises(ConfigError, match=r"rate: paper needs paper_gflops in every tier; hbm has none$"):
        load_system(
            "pam",
            {
                "rate": "paper",
                "tiers": [
                    tier.model_dump(exclude={"paper_gflops"} if tier.name == "hbm" else None, exclude_none=True)
                    for tier in load_system("pam").pim.tiers
                ],
            },
        )
