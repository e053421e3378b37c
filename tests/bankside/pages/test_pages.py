"""Pages are self-contained, well-formed and reproducible, hold the figures that they were given, and can be read narrow and
in the dark."""

from __future__ import annotations

import copy
import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bankside.constraints.core.errors import ConfigError
from bankside.pages import page_of, write_page
from bankside.pages.components import bars, short, table
from bankside.pages.decoding import decoded
from bankside.pages.demo import answer, gains, threshold
from bankside.pages.systems import area
from bankside.results.schemas import result_of
from bankside.results.systems import Eval
from bankside.results.text import cosimulation_lines, summary_table
from bankside.shell import cli
from tests.made_up import SIM

#: Keys that all results have.
ENVELOPE = {"schema": 1, "tools": {}, "notes": [], "warnings": [], "inputs": []}


def evaluation(system, **changes):
    assumptions = ["operators run one after the other"]
    out = {
        "config_hash": "0" * 16,
        "system": system,
        "model": "llama-3-70b",
        "context": 4096,
        "batch": 16,
        "output_tokens": 1,
        "tpot_ms": 20.0,
        "throughput_tok_s": 800.0,
        "energy_mj_per_token": 660.0,
        "breakdown_ms": {"qkv": 2.0, "attention": 5.5, "ffn_up": 11.0, "lm_head": 1.0, "surprise": 0.5},
        "energy_breakdown_mj": {"gpu_dram": 600.0, "gpu_caches": 60.0, "host": "not modelled"},
        "capacity": {
            "largest_batch": 406,
            "largest_batch_with_output": 406,
            "available_bytes_per_device": 1,
            "weight_bytes_per_device": 1,
            "kv_bytes_per_device": 1,
        },
        "area": None,
        "unit": None,
        "attention": None,
        "records": [],
        "utilisation_percent": None,
        "gpu_rule": None,
        "tools": {},
        "notes": [],
        "instances": 1,
        "parallelism": {"tensor": 4, "pipeline": 2, "micro_batch": 8},
        "assumptions": assumptions,
    }
    return out | changes


AREA = {
    "unit_ge": 70e3,
    "units_per_die": 64,
    "unit_mm2": [0.0952, 0.21],
    "units_mm2": [6.09, 13.44],
    "die_percent": [5.04, 11.11],
    "with_other_percent": [7.42, 13.49],
    "placed_percent": [9.58, 13.49],
    "other": "16 reduction units of 0.18 mm2",
    "other_mm2": 2.88,
    "published_unit_mm2": 0.13,
    "published_units_percent": 6.88,
    "die_mm2": 121.0,
    "budget_mm2": 11.19,
    "budget_percent": 9.25,
    "logic_node": "14nm",
    "density_penalty": 10.0,
    "source": "a <paper>",
    "reduction_mm2": None,
}


@pytest.fixture
def data():
    gpu = evaluation("gpu-only")
    pim = evaluation(
        "pam-hbm-only",
        tpot_ms=16.0,
        throughput_tok_s=1000.0,
        area=AREA,
        records=["pam-pu-0-sim-x=1"],
        breakdown_ms={"qkv": 2.0, "attention": 1.25, "attention_merge": 0.25, "ffn_up": 11.0, "lm_head": 1.5},
        tools={"pam-pu-0-sim-x=1": {"verilator": "5.48"}},
        notes=["a & b"],
        assumptions=[*gpu["assumptions"], "the unit runs at its target clock"],
    )
    sweeps = {
        name: [evaluation(name, batch=b, throughput_tok_s=50.0 * b) for b in (1, 4, 16, 64)]
        for name in ("gpu-only", "pam-hbm-only")
    }
    channel = {key: 1 for key in ("tokens", "banks", "queries", "head_dim", "vectors", "cycles", "clocks")} | {
        "memory": "hbm3-5.2",
        "mismatches": 0,
        "first_mismatch": None,
        "time_ns": 1.0,
        "memory_time_ns": 1.0,
        "stall_cycles": 0,
        "exposed_softmax_cycles": 0,
        "max_abs_error": 0.0,
        "rms_error": 0.0,
    }
    sim = SIM["pam-pu"] | {
        "channel": channel,
        "config": {"lanes": 16, "part": {"depth": 2}},
        "config_hash": "0" * 16,
        "record": "r-1",
        "memory": "hbm3-5.2",
        "unit": "pam-pu",
        "preset": "pam-hbm",
        "vectors": 321,
        "cycles": 8300,
        "ideal_cycles": 8192,
        "stall_cycles": 7,
        "utilisation": 0.987,
        "max_abs_error": 0.00123,
        "seed": 1,
        "tokens": 512,
        "head_dim": 128,
        "tools": {"cocotb": "2.1.0"},
    }
    synth = {
        "unit": "pam-pu",
        "preset": "pam-hbm",
        "config_hash": "0" * 16,
        "config": {"lanes": 16},
        "library": "generic",
        "effort": "balanced",
        "record": "r-1",
        "logic_area_um2": 70e3,
        "memory_area_um2_estimate": 0.0,
        "memory_model": None,
        "memories": [],
        "parts": [],
        "register_fmax_mhz": None,
        "paths_ns": {},
        "critical_path": None,
        "critical_path_sentence": None,
        "clocks": [],
        "nand2_um2": 1.0,
        "fo4_ps": 1.0,
        "process": None,
        "area_um2": 70e3,
        "area_ge": 70e3,
        "sequential_ge": 20e3,
        "combinational_ge": 50e3,
        "flip_flops": 10,
        "memory_ge_estimate": 0.0,
        "memory_bits": 4096,
        "critical_path_ns": 1.4,
        "fmax_mhz": 714.0,
        "target_clock_mhz": 666.0,
        "cells": {"NAND2": 10},
        "tools": {"yosys": "0.70"},
    }
    points = [
        {
            "context": context,
            "without_ms": 20.0,
            "without_attention_ms": 5.5,
            "with_ms": 20.0 / gain,
            "with_attention_ms": 1.5,
        }
        for context, gain in ((1024, 0.9), (4096, 1.1), (16384, 1.3))
    ]
    crossover = {
        "systems": ["gpu-only", "pam-hbm-only"],
        "batch": 16,
        "models": [
            {
                "model": "llama-3-70b",
                "queries_per_kv_head": 8,
                "unit": "pam-hbm-only",
                "queries_per_pass": 4,
                "gpu_rule": "measured",
                "points": points,
            },
            {
                "model": "qwen1.5-72b",
                "queries_per_kv_head": 1,
                "unit": "pam-hbm-only",
                "queries_per_pass": 1,
                "gpu_rule": "roofline",
                "points": points[1:],
            },
        ],
    }
    by_rule: list = [[one | {"gpu_rule": rule} for one in (gpu, pim)] for rule in ("measured", "roofline")]
    return {
        "command": "demo",
        "tools": {"yosys": "0.70"},
        "inputs": [],
        "notes": ["a & b"],
        "warnings": [],
        "crossover": crossover,
        "evaluations": by_rule[0],
        "by_rule": by_rule,
        "sweeps": sweeps,
        "sim": sim,
        "synth": synth,
        "decoding": decoding(),
        "commands": ["bankside demo"],
        "files": [],
        "schema": 1,
    }


def decoding():
    """A result of ``decode`` with sparse attention, a head in RTL and a time line."""
    tokens = 12
    figures = {
        "perplexity": 4.5,
        "bits_per_byte": 0.9,
        "agreement": 0.75,
        "first_difference": 9,
        "kl_mean_nats": 0.001,
        "max_abs_logit_error": 0.25,
    }
    reads = {name: [1.0, 2.0, 2.5] for name in ("wanted", "units", "rows", "units_in_order", "rows_in_order")}
    spans = [
        {"track": track, "name": name, "start_us": start, "us": us}
        for track, name, start, us in (
            ("qkv", "qkv", 0.0, 3.0),
            ("attention", "attention", 3.0, 9.0),
            ("hbm: links", "queries", 3.0, 1.0),
            ("hbm: units", "local attention", 4.0, 6.5),
            ("hbm: links", "results", 10.5, 1.5),
            ("lm head", "lm head", 12.0, 2.0),
        )
    ]
    streams = [
        {
            "stream": "command",
            "input": True,
            "valid": [[0, 1]],
            "ready": [[0, 1], [180, 20]],
            "payloads": {"0": "00ab"},
        },
        {"stream": "kv", "input": True, "valid": [[2, 160]], "ready": [[3, 70], [80, 90]], "payloads": {"3": "1c2d"}},
        {"stream": "result", "input": False, "valid": [[170, 10]], "ready": [[0, 200]], "payloads": {"170": "77ff"}},
    ]
    return {
        "schema": 1,
        "command": "decode",
        "tools": {"numpy": "2"},
        "inputs": [],
        "notes": [],
        "warnings": [],
        "model": "made-up",
        "folder": "made",
        "model_sha256": "0" * 64,
        "system": "quest-32-pam",
        "mode": "free",
        "interrupted": False,
        "prompt_tokens": 8,
        "temperature": 0.0,
        "seed": 1,
        "tokens": list(range(tokens)),
        "pieces": list("def f(x):\n r"),
        "text": "def f(x):\n r",
        "agrees": [True] * 9 + [False] + [True] * 2,
        **figures,
        "reference": {"perplexity": 4.4, "bits_per_byte": 0.8},
        "attention_error": [[1e-3, 2e-3], [0.0, 1e-4]],
        "attention": {"dense": [[1.0, 0.0], [0.5, 0.5]], "selected": [[1.0, 0.0], [1.0, 0.0]]},
        "reads": {
            **reads,
            "unit_tokens": 16,
            "row_tokens": 256,
            "tokens": [4, 8, 12],
            "units_of_all": [1, 2, 3],
            "rows_of_all": [1, 1, 1],
        },
        "placement": {"tiers": ["hbm", "ddr", "ssd"], "tokens": [[1, 0, 0], [1, 1, 0], [1, 1, 1]]},
        "details": {"scores": 78},
        "compared": [{"system": "cent", **figures, "attention_error_mean": 0.01}],
        "hazards": [
            {
                "name": "masks",
                "with_it": "inf2",
                "without_it": "inf2 without",
                "perplexity": 4.5,
                "perplexity_without": 4.25,
                "figures": {"max_abs_logit_difference": 0.5},
            }
        ],
        "rtl": {
            "heads": 1,
            "tokens": 5,
            "clocks": 1234,
            "clocks_per_second": 1e5,
            "mismatches": 0,
            "waveform": {
                "unit": "pam_pu",
                "token": 11,
                "layer": 0,
                "head": 1,
                "clock_mhz": 666.0,
                "clocks": 250,
                "cycles": 200,
                "windows": [[0, 48], [146, 194]],
                "streams": streams,
            },
        },
        "time_per_token_us": 14.0,
        "energy_per_token_mj": 2.5,
        "time_breakdown_us": {"qkv": 3.0, "attention": 9.0, "lm_head": 2.0},
        "time_line": {"layers": 1, "of_layers": 2, "spans": spans},
        "records": [],
    }


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


def sound(text):
    """A page that loads nothing, whose links lead somewhere, whose charts have their numbers; its words and cells."""
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    for link in page.links:
        if link.startswith("data:image/png;base64,"):
            continue  # a map of colours within a chart
        assert re.search(r"#", link), link
        assert re.search(r"#([^)\"]+)", link)[1] in page.ids, link
    assert not re.search(r"<(script|link|iframe|img|object)|@import|src=", text)
    assert "DOCTYPE svg" not in text and "<metadata" not in text and "`" not in "".join(page.words)
    assert text.count('<div class="wide"><svg') == text.count('<div class="narrow"><svg') == text.count("<svg") / 2
    for section in re.findall(r"<section.*?</section>", text, re.DOTALL):
        assert "<svg" not in section or "<table" in section
    # What follows the page's colours has no colour of its own, or it would vanish in the dark.
    charts = "".join(re.findall(r"<svg.*?</svg>", text, re.DOTALL))
    assert not re.search(r"#1d2330|#5b6475|#e6e9ef|fill: #ffffff; stroke: #ffffff", charts)
    assert "prefers-color-scheme: dark" in text and "max-width: 640px" in text
    assert text.count('class="scroll"') == text.count("<table")
    return page


# What commands write -----------------------------------------------------------------------------------------------------

REFERENCE = str(Path(__file__).resolve().parents[2] / "models" / "data" / "attacc_reference.csv")

PAGES = {
    "eval": (
        ["eval", "pam", "--model", "llama-3-70b"],
        ["Tiers of memory", "Energy of a token", "Measurement records"],
    ),
    "eval of units": (["eval", "pam-hbm-only", "--model", "llama-3-70b"], ["The processing unit"]),
    "eval --split": (["eval", "lol-pim", "--model", "llama-2-7b", "--split", "auto"], ["Splits that were tried"]),
    "eval --workload": (["eval", "lol-pim", "--model", "llama-2-7b", "--workload", "qmsum"], ["preempted"]),
    "eval --layer": (
        ["eval", "attacc", "--layer", "--tokens", "512", "--heads-per-stack", "8"],
        ["Commands", "MAC_AB"],
    ),
    "eval --reference": (["eval", "dgx-attacc", "--reference", REFERENCE], ["Errors by component", "g_time (ms)"]),
    "serve": (
        [
            "serve",
            "lol-pim",
            "--model",
            "llama-2-7b",
            "--workload",
            "qmsum",
            "--requests",
            "8",
            "--slo",
            "100",
            "--search",
            "batch",
        ],
        ["Requests in work", "Search", "time to first token"],
    ),
    "time of a unit": (["time", "pam-pu", "--tokens", "64"], ["Commands", "tile tokens"]),
    "time of a system": (["time", "cent:llama-2-7b"], ["Stages", "gemv wq"]),
    "repro": (
        ["repro", "pam", "--claims", "pam-hbm-tRP,pam-hbm-tBL,pam-proc,pam-attacc-bw", "--no-measure"],
        ["Results", "Configuration", "exact", "off", "Cause: a difference of design"],
    ),
    "repro --list": (["repro", "--list"], ["Papers"]),
    "repro PAPER --list": (["repro", "lol-pim", "--list"], ["Claims"]),
}


@pytest.mark.parametrize(("words", "expected"), PAGES.values(), ids=PAGES)
def test_page_of_a_command(words, expected, tmp_path, capsys):
    path = tmp_path / "deep" / "page.html"
    assert cli.main([*words, "--json", "--html", str(path)]) == 0
    document = json.loads(capsys.readouterr().out)
    text = path.read_text()
    page = sound(text)
    for word in (*expected, "What this rests on", "bankside"):
        assert any(word in one for one in (*page.words, *page.cells)), word
    assert page_of(document) == text
    for one in document["inputs"]:
        assert one["name"] in page.words, one["name"]
        if one["kind"] == "measurement record":
            assert f"record-{one['name']}" in page.ids


def test_a_page_that_cant_be_written_is_told_at_once(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("bankside.studies.evaluate.evaluate", lambda *arguments, **options: pytest.fail("computed"))
    (tmp_path / "file").write_text("")
    for name, message in (("", "is a directory"), ("file/p.html", "can't write to ")):
        assert cli.main(["eval", "pam", "--model", "llama-3-70b", "--html", str(tmp_path / name)]) == 2
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1


def test_page_of_a_calibration(tmp_path, capsys):
    path = tmp_path / "trace.jsonl"
    steps = [{"request": 0, "context": 100, "tokens": [40, 50] if k % 2 else [40]} for k in range(4)]
    header = {"format": "bankside-attention-trace", "version": 1, "requests": 1}
    path.write_text("".join(json.dumps(line) + "\n" for line in (header, *steps)))
    assert cli.main(["calibrate", "pam", "--trace", str(path), "--html", str(tmp_path / "p.html")]) == 0
    assert "compression" in sound((tmp_path / "p.html").read_text()).cells
    ratios = {
        "command": "calibrate",
        "system": "pam",
        "model": "m",
        "x": 3.0,
        "y": 2.5,
        "equal": False,
        "sorted": False,
        "conditions": "c",
        "tier_us": {"hbm": 12.5, "ddr": 40.25, "ssd": 0.125},
        "rounds": 4,
        "file": None,
    }
    page = sound(page_of(ENVELOPE | ratios))
    assert "not equal" in page.words and {"HBM", "DDR", "40.25"} <= set(page.cells)


@pytest.mark.parametrize("mismatches", [0, 3])
def test_page_of_a_simulation(data, mismatches):
    del data["sim"]["channel"]
    sim = (
        ENVELOPE
        | data["sim"]
        | {"command": "sim", "mismatches": mismatches, "first_mismatch": "o: 1, not 2" if mismatches else None}
    )
    page = sound(page_of(sim))
    assert ("bit-exact" in page.words) == (not mismatches) and "part depth" in page.cells
    assert any("o: 1, not 2" in word for word in page.words) == bool(mismatches)


def test_page_of_a_synthesis(data):
    memory = {"name": "m", "depth": 4, "width": 8, "bits": 32, "read_ports": 1, "write_ports": 1}
    part = {"count": 2, "area_ge": 10.0, "flip_flops": 1, "memory_ge_estimate": 0.0, "critical_path_ns": 0.5}
    synth = data["synth"] | {
        "critical_path_sentence": "from a to b",
        "critical_path": {
            "kind": "register_to_register",
            "start": "a",
            "end": "b",
            "steps": [{"instance": "i", "cell": "X", "arc": "A rise", "delay_ps": 3.0, "net": None}],
        },
        "memories": [memory | {"synchronous_read": False, "area_um2_estimate": 1.0}],
        "parts": [{"module": name, **part} for name in "pq"],
    }
    page = sound(page_of(ENVELOPE | synth | {"command": "synth"}))
    assert {"Modules", "The longest path", "Memories", "714 MHz"} <= set(page.words) and "NAND2" in page.cells
    several = [synth, synth | {"unit": "fp-mul", "fmax_mhz": None}]
    page = sound(page_of(ENVELOPE | {"command": "synth", "results": several}))
    assert "Synthesis of 2 configurations" in page.words and "–" in page.cells


def test_page_of_a_synthesis_for_an_fpga(data):
    used = {"lut": 9200, "ff": 50, "carry4": 3, "bram36": 1, "bram18": 1, "uram": 0, "dsp": 2, "srl": 4, "lutram": 8}
    depth = {"lut_levels": 7, "path_carry4": 1, "path_dsp": 1}
    memory = {
        "module": "pam_pu.m",
        "name": "rows",
        "count": 2,
        "depth": 64,
        "width": 32,
        "bits": 2048,
        "read_ports": 1,
        "write_ports": 2,
        "synchronous_read": False,
        "becomes": "flip-flops",
        "misplaced": True,
    }
    fpga = {key: data["synth"][key] for key in ("unit", "preset", "config_hash", "config")} | {
        "tools": {},
        "family": "xcup",
        "fpga": used,
        **depth,
        "longest_path": {"start": "a", "end": "b"},
        "percent": {"ku15p": {"lut": 1.76, "ff": 0.005, "bram": 0.15, "uram": None, "dsp": 0.1, "ff_counted": 0.006}},
        "memories": [memory],
        "cells": {"LUT6": 9200},
        "target_clock_mhz": 500.0,
        "record": "r-1",
        "parts": [{"module": name, "count": 2, **used, **depth} for name in "pq"],
    }
    page = sound(page_of(ENVELOPE | fpga | {"command": "synth"}))
    assert {"Resources", "Modules", "Memories", "7 LUT levels", "1.5"} <= set(page.words)
    assert {"flip-flops", "ff as a paper counts", "1.76"} <= set(page.cells)
    page = sound(page_of(ENVELOPE | {"command": "synth", "results": [fpga, fpga | {"unit": "fp-mul"}]}))
    assert "2 configurations on an FPGA" in page.words and "9,200" in page.cells


# The demo ----------------------------------------------------------------------------------------------------------------


def test_demo_page_holds_its_figures(data):
    text = page_of(data)
    page = sound(text)
    for value in (
        "2.0000",
        "5.5000",
        "1.2500",
        "0.2500",
        "20.0000",
        "600.000",
        "not modelled",
        "800.0",
        "3200.0",
        "6.09 to 13.44 mm²",
        "9.25 %",
        "321 results in 1 runs: bit-exact",
        "8300 cycles, ideal 8192, utilisation 0.9870",
        "16",
    ):
        assert value in page.cells, value
    assert "bankside demo" in page.words
    assert {"A model that decodes with these units", "A head in RTL", "Perplexity by system"} <= set(page.words)
    assert {"4.5000", "4.4000", "cent"} <= set(page.cells) and 'class="bad">' in text
    # Text of figures stays text; an operator that no group names is drawn as 'other', so bars end at the time per token
    for word in (
        "time per output token (ms)",
        "full at 406  ",
        "20.0 ms",
        "16.0 ms",
        "other",
        "times as fast with the units",
    ):
        assert word in page.words, word


def test_decoded_page_has_a_part_for_every_figure():
    """Reads, time line and waveform have their numbers; a part without its figures is left out."""
    result = decoding()
    page = sound(page_of(result))
    for title in (
        "Rows touched",
        "Time line of a step",
        "A head in RTL",
        "Hazards",
        "Tokens by tier",
        "Maps of attention",
    ):
        assert title in page.words, title
    # command: 1 transfer; kv: valid in 2 to 161, taken in 3 to 72 and 80 to 161; result: 10
    for cells in (
        ["command ▸", "1", "0", "0", "0"],
        ["kv ▸", "152", "8", "3", "161"],
        ["result ◂", "10", "0", "170", "179"],
        ["hbm: links", "2", "3.000", "2.500", "queries, results"],
        ["all tokens", "3.00", "1.00"],
    ):
        at = page.cells.index(cells[0])
        assert page.cells[at : at + len(cells)] == cells
    assert any(
        "the step of token 11, layer 0, head 1, 250 clocks, the first 200 of them recorded" in word
        for word in page.words
    )
    assert "ab" in page.words and "2d" in page.words  # digits of payloads
    plain = result | {"reads": None, "rtl": None, "time_line": None, "hazards": None, "placement": None}
    assert {part.title for part in decoded(result_of(plain)).parts} == {
        "Text",
        "Perplexity by system",
        "Error of attention by layer",
        "Maps of attention",
        "A token's step",
        "Further figures",
    }


def test_demo_answers_first(data):
    """8 queries: from 0.9 to 1.1 over two doublings, so 1 lies in the middle; one query: from the first point on."""
    crossover = result_of(data).crossover
    assert threshold(gains(crossover.models[0].points)) == pytest.approx(2048)
    assert answer(crossover) == [
        "llama-3-70b (8 queries per KV head), 4 queries a pass, GPU measured: the units begin to win at about 2,000 tokens "
        "of context, and reach 1.30 times at 16,384.",
        "qwen1.5-72b (1 query per KV head), 1 query a pass, GPU at its roofline: the units win from 4,096 tokens of "
        "context on, up to 1.30 times at 16,384.",
    ]
    text = page_of(data)
    assert text.index("begin to win at about") < text.index("<table")
    assert threshold({1: 0.5, 2: 0.9}) is None and threshold({1: 1.2, 2: 0.9, 4: 1.1}) == pytest.approx(2 * 2**0.5)
    data["crossover"]["models"][0]["points"] = data["crossover"]["models"][0]["points"][:1]
    assert "never win up to 1,024 tokens" in answer(result_of(data).crossover)[
        0
    ] and 'class="bad">0.90 times' in page_of(data)


def test_a_page_of_two_units_shows_the_area_and_clock_of_each(data):
    """The second unit has twice the area. Bars, columns and the verdict name both."""
    more = copy.deepcopy(data["evaluations"][1]) | {"system": "pam-hbm-only, gqa8"}
    one = data["evaluations"][1]["area"]
    more["area"] = one | {
        key: [2 * value for value in one[key]] for key in ("units_mm2", "die_percent", "with_other_percent")
    }
    unit = {"unit": "pam-pu", "area_ge": 70e3, "fmax_mhz": 714.0, "clock_mhz": 666.0, "process": None, "config": {}}
    data["evaluations"][1]["unit"], more["unit"] = unit, unit | {"area_ge": 140e3, "fmax_mhz": 690.0}
    for group in data["by_rule"]:
        group.append(copy.deepcopy(more) | {"gpu_rule": group[0]["gpu_rule"]})
    page = sound(page_of(data))
    assert {"6.09 to 13.44 mm²", "12.18 to 26.88 mm²"} <= set(page.cells)
    assert any(
        word.startswith("Area against the budget: pam-hbm-only, ") and "pam-hbm-only, gqa8, over" in word
        for word in page.words
    )
    from rich.console import Console

    console = Console(width=130, record=True, file=open(os.devnull, "w", encoding="utf-8"))
    console.print(summary_table(result_of(data)))
    console.file.close()
    assert all(value in console.export_text(clear=False) for value in ("70.0 kGE", "140.0 kGE", "690 MHz", "gqa8"))


def test_text_is_escaped(data):
    data["notes"] = ["<script>alert(1)</script> and `code`", "an odd ` stays"]
    data["evaluations"][0]["assumptions"] = ["A & <b>"]
    text = page_of(data)
    assert "<script>" not in text and "A &amp; &lt;b&gt;" in text and "a &lt;paper&gt;" in text
    assert "<code>code</code>" in text and "an odd ` stays" in text


def test_page_is_reproducible_and_holds_no_date(data):
    first = page_of(copy.deepcopy(data))
    assert first == page_of(json.loads(json.dumps(data)))
    assert not re.search(r"20[2-9]\d-\d\d-\d\d", first)


def test_page_says_when_something_is_wrong(data):
    data["sim"]["mismatches"] = 3
    data["synth"]["fmax_mhz"] = 600.0
    data["warnings"] = ["look out"]
    text = page_of(data)
    assert 'class="bad">3 mismatches' in text and 'class="bad">70.0 kGE' in text and "<li>look out</li>" in text
    assert "600 MHz (target 666 MHz)" in text


@pytest.mark.parametrize(
    "low, high, words",
    [(5, 9, "within the budget"), (7, 12, "the band straddles the budget"), (10, 20, "over the budget")],
)
def test_verdict_on_area(data, low, high, words):
    one, other = data["evaluations"]
    part = area([Eval(**one), Eval(**other | {"area": AREA | {"with_other_percent": [float(low), float(high)]}})])
    assert part.title.startswith(f"Area against the budget: {words}")


def test_assumptions_common_to_all_are_told_once(data):
    text = page_of(data)
    assert text.count("operators run one after the other") == 1
    assert "pam-hbm-only: the unit runs at its target clock" in text


def test_written_whole_or_not_at_all(tmp_path):
    path, data = tmp_path / "new" / "index.html", ENVELOPE | {"command": "repro", "papers": []}
    write_page(path, data)
    assert path.read_text() == page_of(data)
    assert [p.name for p in path.parent.iterdir()] == ["index.html"]
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(ConfigError, match=r"^can't write to "):
        write_page(blocked / "index.html", data)


# Components --------------------------------------------------------------------------------------------------------------


def test_numbers_keep_their_kind():
    assert [short(value) for value in (0, 7, 1234, 0.0, 0.004, 0.25, 12.34, 1234.5)] == [
        "0",
        "7",
        "1,234",
        "0",
        "0.004",
        "0.25",
        "12.3",
        "1,234",
    ]
    assert table(("", "a", "b"), [("x", "1,2", "y"), ("z", "–", "1")]).numeric == {1}


def test_chart_without_values_is_drawn():
    page = ENVELOPE | {
        "command": "time",
        "unit": "u",
        "preset": None,
        "config_hash": "0" * 16,
        "head_dim": 128,
        "queries": 1,
        "timeline": None,
        "export": None,
        "memory": "m",
        "tokens": 0,
        "cycles": 0,
        "time_ns": 0.0,
        "commands": {},
        "energy_pj": None,
        "energy_breakdown_pj": None,
        "refresh": False,
        "power_limit": True,
        "config": {},
    }
    assert "not modelled" in sound(page_of(page)).words
    assert bars([("a", 0)], "x").height > 0


def test_summary_for_the_terminal(data):
    from rich.console import Console

    console = Console(width=80, record=True, file=open(os.devnull, "w", encoding="utf-8"))
    console.print(summary_table(result_of(data)))
    console.file.close()
    text = console.export_text()
    for value in (
        "20.000 ms",
        "16.000 ms",
        "5.500 ms",
        "1.500 ms",
        "14.500 ms",
        "800.0 tokens/s",
        "406",
        "gpu-only",
        "6.09 to 13.44 mm²",
        "9.25 %",
        "70.0 kGE",
        "714 MHz",
        "clock, target 666 MHz",
    ):
        assert value in text, value
    assert any("utilisation 0.9870" in line for line in cosimulation_lines(result_of(data).sim))
    with pytest.raises(ConfigError, match=r"^a summary needs at least one evaluation$"):
        summary_table(result_of(data | {"evaluations": []}))
