"""The page is self-contained, well-formed and reproducible, and holds the figures that it was given."""

from __future__ import annotations

import copy
import json
import os
import re
from html.parser import HTMLParser

import pytest

from bankside.constraints.errors import ConfigError
from bankside.report import render_report, summary_table, write_report
from tests.made_up import SIM


def evaluation(system, **changes):
    assumptions = ["operators run one after the other"]
    out = {
        "system": system, "model": "llama-3-70b", "context": 4096, "batch": 16, "output_tokens": 1, "tpot_ms": 20.0,
        "throughput_tok_s": 800.0, "energy_mj_per_token": 660.0,
        "breakdown_ms": {"qkv": 2.0, "attention": 5.5, "ffn_up": 11.0, "lm_head": 1.0, "surprise": 0.5},
        "energy_breakdown_mj": {"gpu_dram": 600.0, "gpu_caches": 60.0, "host": "not modelled"},
        "capacity": {"largest_batch": 406, "largest_batch_with_output": 406, "available_bytes_per_device": 1,
                     "weight_bytes_per_device": 1, "kv_bytes_per_device": 1},
        "area": None, "unit": None, "attention": None, "records": [], "tools": {}, "notes": [],
        "assumptions": assumptions}
    return out | changes


AREA = {"unit_ge": 70e3, "units_per_die": 64, "unit_mm2": [0.0952, 0.21], "units_mm2": [6.09, 13.44],
        "die_percent": [5.04, 11.11], "with_other_percent": [7.42, 13.49], "other": "16 reduction units of 0.18 mm2",
        "other_mm2": 2.88, "published_unit_mm2": 0.13, "published_units_percent": 6.88, "die_mm2": 121.0,
        "budget_mm2": 11.19, "budget_percent": 9.25, "logic_node": "14nm", "density_penalty": 10.0, "source": "a <paper>"}


@pytest.fixture
def data():
    gpu = evaluation("gpu-only")
    pim = evaluation("pam-hbm-only", tpot_ms=16.0, throughput_tok_s=1000.0, area=AREA, records=["pam-pu-0-sim-x=1"],
                     breakdown_ms={"qkv": 2.0, "attention": 1.25, "attention_merge": 0.25, "ffn_up": 11.0, "lm_head": 1.5},
                     tools={"pam-pu-0-sim-x=1": {"verilator": "5.48"}}, notes=["a & b"],
                     assumptions=[*gpu["assumptions"], "the unit runs at its target clock"])
    sweeps = {name: [{"batch": b, "throughput_tok_s": 50.0 * b, "tpot_ms": 20.0, "capacity": {"largest_batch": 406}}
                     for b in (1, 4, 16, 64)] for name in ("gpu-only", "pam-hbm-only")}
    sim = SIM["pam-pu"] | {
        "unit": "pam-pu", "preset": "pam-hbm", "vectors": 321, "cycles": 8300, "ideal_cycles": 8192, "stall_cycles": 7,
        "utilisation": 0.987, "max_abs_error": 0.00123, "seed": 1, "tokens": 512, "head_dim": 128,
        "tools": {"cocotb": "2.1.0"}}
    synth = {"unit": "pam-pu", "preset": "pam-hbm", "config_hash": "0" * 16, "config": {"lanes": 16}, "library": "generic",
             "area_um2": 70e3, "area_ge": 70e3, "sequential_ge": 20e3, "memory_bits": 4096, "critical_path_ns": 1.4,
             "fmax_mhz": 714.0, "target_clock_mhz": 666.0, "cells": {"NAND2": 10}, "tools": {"yosys": "0.70"}}
    return {"evaluations": [gpu, pim], "sweeps": sweeps, "sim": sim, "synth": synth, "commands": ["bankside demo"]}


class Page(HTMLParser):
    """Tables, ids and text of a page; every element must be closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.cells, self.words = [], [], [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.handle_startendtag(tag, attributes)
        if tag not in ("meta", "br"):
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_startendtag(self, tag, attributes):
        for key, value in attributes:
            if key == "id":
                self.ids.append(value)
            if key in ("href", "src", "xlink:href") or "url(" in (value or ""):
                self.links.append(value)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        self.words.append(text)
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1] += text


def test_page_is_well_formed_and_loads_nothing(data):
    text = render_report(data)
    page = Page(text)
    assert len(page.ids) == len(set(page.ids)) and text.count("<svg") == 4
    for link in page.links:
        assert re.search(r"#f\d-", link), link
        target = re.search(r"#([^)\"]+)", link)[1]
        assert target in page.ids
    assert not re.search(r"<(script|link|iframe|img|object)|@import|src=", text)
    assert "DOCTYPE svg" not in text and "<metadata" not in text


def test_every_figure_has_its_numbers_in_a_table(data):
    text = render_report(data)
    page = Page(text)
    for section in re.findall(r"<section.*?</section>", text, re.DOTALL):
        assert "<svg" not in section or "<table" in section
    for value in ("2.0000", "5.5000", "1.2500", "0.2500", "20.0000", "600.000", "not modelled", "800.0", "3200.0",
                  "6.09 to 13.44 mm²", "9.25 %", "321 results in 1 runs: bit-exact",
                  "8300 cycles, ideal 8192, utilisation 0.9870", "16", "pam-pu-0-sim-x=1",
                  "5.48", "2.1.0", "0.70", "bankside demo"):
        assert value in page.cells, value
    # Text of figures stays text
    assert "time per output token (ms)" in page.words and "full at 406  " in page.words


def test_groups_cover_the_whole_time(data):
    """An operator that no group names is drawn as 'other', so bars end at the time per token."""
    page = Page(render_report(data))
    assert "20.0 ms" in page.words and "16.0 ms" in page.words and "other" in page.words


def test_text_is_escaped(data):
    data["evaluations"][1]["notes"] = ["<script>alert(1)</script>"]
    data["title"] = "A & <b>"
    text = render_report(data)
    assert "<script>" not in text and "A &amp; &lt;b&gt;" in text and "a &lt;paper&gt;" in text


def test_page_is_reproducible_and_holds_no_date(data):
    first = render_report(copy.deepcopy(data))
    assert first == render_report(data)
    assert not re.search(r"20[2-9]\d-\d\d-\d\d", first)


def test_page_says_when_something_is_wrong(data):
    data["sim"]["mismatches"] = 3
    data["synth"]["fmax_mhz"] = 600.0
    text = render_report(data)
    assert 'class="bad">3 mismatches' in text and 'class="bad">70.0 kGE' in text
    assert "600 MHz (target 666 MHz)" in text


@pytest.mark.parametrize("low, high, words", [(5, 9, "within the budget"), (7, 12, "the band straddles the budget"),
                                              (10, 20, "over the budget")])
def test_verdict_on_area(data, low, high, words):
    data["evaluations"][1]["area"] = AREA | {"with_other_percent": [low, high]}
    assert f"Area against the budget: {words}" in render_report(data)


def test_parts_are_optional(data):
    minimal = {"evaluations": [data["evaluations"][0]]}
    page = Page(render_report(minimal))
    assert "Throughput against batch" not in page.words and "Where the time of a token goes" in page.words
    assert "none" in page.cells


def test_assumptions_common_to_all_are_told_once(data):
    text = render_report(data)
    assert text.count("operators run one after the other") == 1
    assert "pam-hbm-only: the unit runs at its target clock" in text


def test_written_whole_or_not_at_all(data, tmp_path):
    path = tmp_path / "new" / "index.html"
    write_report(path, data)
    assert path.read_text() == render_report(data)
    assert [p.name for p in path.parent.iterdir()] == ["index.html"]
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(ConfigError, match=r"^can't write to "):
        write_report(blocked / "index.html", data)
    if os.geteuid():
        path.parent.chmod(0o500)
        with pytest.raises(ConfigError, match=r"^can't write to "):
            write_report(path.parent / "other.html", data)
    with pytest.raises(ConfigError, match=r"^a report needs at least one evaluation$"):
        write_report(tmp_path / "x.html", {"evaluations": []})
    assert not (tmp_path / "x.html").exists()


def test_data_are_plain_json(data):
    assert render_report(json.loads(json.dumps(data))) == render_report(data)


def test_summary_for_the_terminal(data):
    from rich.console import Console

    console = Console(width=120, record=True, file=open(os.devnull, "w", encoding="utf-8"))
    console.print(summary_table(data))
    console.file.close()
    text = console.export_text()
    for value in ("20.000 ms", "16.000 ms", "5.500 ms", "1.500 ms", "14.500 ms", "800.0 tokens/s", "406",
                  "6.09 to 13.44 mm²", "9.25 %", "70.0 kGE, 714 MHz (target 666 MHz)", "utilisation 0.9870"):
        assert value in text, value
    with pytest.raises(ConfigError, match=r"^a summary needs at least one evaluation$"):
        summary_table({})
