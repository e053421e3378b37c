"""Checks of LoL-PIM's claims: which there are, and what those that need no long run find."""

from types import SimpleNamespace

import pytest

from bankside.constraints.aim.channel import PRESETS as CHANNELS
from bankside.constraints.core.records import config_hash as channel_hash
from bankside.models.cost import buffer_cost
from bankside.models.papers import Evidence, check_claims, checks_of, load_paper
from bankside.models.serving.splits import Decoding

#: Claims about rules of the paper that a model of ours shows.
BEHAVIOUR = {
    "lolpim-hw-epu",
    "lolpim-dpa-row",
    "lolpim-dpa-example",
    "lolpim-dpa-example1",
    "lolpim-itpp-k",
    "lolpim-hfa",
    "lolpim-hfa-fc",
    "lolpim-lazy-noncontig",
    "lolpim-pp-hw",
    "lolpim-bcast-path",
}


class NoRecords:
    """A folder without measurements."""

    def find(self, measurement):
        return None


class Synthesised(NoRecords):
    """Areas of an imagined dispatcher, and of channels that have 20 or 21 kGE of logic and one or two buffers."""

    def find(self, measurement):
        memory = {"bits": 1 << 19, "width": 256, "read_ports": 1, "write_ports": 1}
        if measurement.unit == "dpa-dispatcher":
            results = {"area_ge": 950_000.0, "memory_ge_estimate": 900_000.0, "memories": [memory]}
        else:
            sets = 2 if measurement.config_hash == channel_hash("aim-channel", CHANNELS["aim-ping-pong"]) else 1
            buffer = {"bits": 1 << 14, "width": 256, "read_ports": 1, "write_ports": 0}
            results = {
                "area_ge": 19_000.0 + 11_000 * sets,
                "memory_ge_estimate": 10_000.0 * sets,
                "memories": [buffer] * sets,
            }
        return SimpleNamespace(results=results)


@pytest.fixture(scope="module")
def rows(module_records):
    paper = load_paper("lol-pim")
    wanted = [
        claim
        for claim in paper.claims
        if claim.id.startswith(
            (
                "lolpim-hw",
                "lolpim-spec",
                "lolpim-dpa-set",
                "lolpim-dpa-row",
                "lolpim-dpa-ex",
                "lolpim-cmd",
                "lolpim-io",
                "lolpim-t7b",
                "lolpim-util",
                "lolpim-no72",
                "lolpim-itpp",
                "lolpim-hfa",
                "lolpim-lazy",
                "lolpim-pp",
                "lolpim-bcast",
                "lolpim-acc",
            )
        )
    ]
    return {row.claim.id: row for row in check_claims(paper, Evidence(module_records), wanted)}


def test_every_check_is_of_a_claim():
    assert set(checks_of("lol-pim")) <= {claim.id for claim in load_paper("lol-pim").claims}


def test_settings_are_the_papers(rows):
    for name, row in rows.items():
        if row.claim.kind == "config":
            assert row.verdict in ("exact", "within") or (name, row.verdict) == ("lolpim-hw-dispbuf", "bound"), name
            assert row.category == ("behaviour" if name in BEHAVIOUR else "configuration"), name
    assert rows["lolpim-dpa-example"].ours["rows"] == [33, 34]


def test_numbers_of_the_paper_alone_are_not_checked(rows):
    """Arithmetic on the paper's own rates and scores says nothing of ours."""
    for name in ("lolpim-util-formula", "lolpim-acc-drop"):
        assert (rows[name].verdict, rows[name].ours) == ("not-checkable", None), name


def test_what_differs_says_so(rows):
    assert rows["lolpim-io-qk"].verdict == rows["lolpim-io-sv"].verdict == "within"
    for name in ("lolpim-io-over", "lolpim-io-ffn1", "lolpim-io-ffn2"):
        assert rows[name].verdict == "off" and rows[name].why and rows[name].category == "result"
        assert rows[name].difference.cause == "unpublished-input" and rows[name].difference.needed > 0


def test_table_8(rows):
    """Techniques add up as in the paper; its figures within a quarter."""
    row = rows["lolpim-t7b"]
    rates = [row.ours[name][0] for name in ("pim", "arch_dpa", "arch_dpa_io")]
    assert rates == sorted(rates) and row.verdict == "within"


def test_areas_from_records():
    paper = load_paper("lolpim")
    wanted = [paper.claim(f"lolpim-{name}") for name in ("area-gb", "io-area", "area-disp")]
    gb, io, disp = check_claims(paper, Evidence(Synthesised()), wanted)
    assert gb.verdict == "within" and "logic process" in gb.why
    cell, buffer = 1.525e-6 / 0.7**0.5, buffer_cost(1 << 14, 256, 1, "32nm").mm2
    assert io.ours == pytest.approx(100 * ((21_000 * cell + 2 * buffer) / (20_000 * cell + buffer) - 1))
    assert "it is 36.7 %" in io.why
    # Logic of 50 kGE in SAED32, between bare cells and a utilisation of 0.7, and one macro of two ports.
    macro = buffer_cost(1 << 19, 256, 2, "32nm").mm2
    assert disp.ours["mm2"] == pytest.approx(macro + 50_000 * 1.525e-6 / 0.7**0.5)
    assert [row.verdict for row in check_claims(paper, Evidence(NoRecords()), wanted)] == ["within"] + 2 * [
        "not-measured"
    ]


def test_baselines_have_the_most_tensor_parallelism():
    """LoL-PIM's best split over splits of the baselines with the most tensor parallelism that gives a head to one module.
    The reason has the other readings, modules that share a head among them. A gain that is off has the baseline's rate."""

    def found(**rates):
        return sorted(
            (
                Decoding(rate, 1.0, 1.0, 1, 1, 0, tuple(int(part) for part in split[1:].split("x")))
                for split, rate in rates.items()
            ),
            key=lambda one: -one.tokens_per_s,
        )

    paper, evidence = load_paper("lolpim"), Evidence(NoRecords())
    for system, changes, rates in (
        ("lol-pim", "", {"s8x16": 1200.0, "s128x1": 100.0}),
        ("gpu-gddr", "", {"s4x4": 600.0, "s16x1": 400.0}),
        ("gpu-gddr", "gpu.rule roofline", {"s4x4": 800.0, "s16x1": 700.0}),
        ("aimx-pim", "", {"s4x32": 1000.0, "s32x4": 500.0, "s64x2": 320.0, "s128x1": 240.0}),
    ):
        evidence.once(("lol-pim", system, 1024, "qwen1.5-7b", changes), lambda rates=rates: found(**rates))
    (row,) = check_claims(paper, evidence, [paper.claim("lolpim-thr-7b")])
    assert row.ours == {"vs_gpu_gddr": pytest.approx(3.0), "vs_pim": pytest.approx(2.4)}
    assert "At 1024 GB they are 2.00, 1.50, 5.00, 1.20." in row.why
    assert "gpu-gddr 400 (16 x 1), aimx-pim 500 (32 x 4)" in row.basis
    assert (row.verdict, row.difference.cause) == ("off", "unpublished-input")
    assert row.difference.ours == 500 and row.difference.needed == pytest.approx(
        1200 / row.claim.value["vs_pim"], rel=1e-6
    )
