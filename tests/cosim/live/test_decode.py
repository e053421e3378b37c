"""Heads of a decoder in RTL: the bits go on, other heads stay with the model, and differences are named."""

from __future__ import annotations

import dataclasses
import json
import re

import numpy as np
import pytest

from bankside.constraints.cent.device import PRESETS as DEVICES
from bankside.constraints.core.errors import ConfigError, ToolMissing
from bankside.constraints.core.registry import UNITS, unit
from bankside.cosim.bench.build import ARGUMENTS
from bankside.cosim.bench.request import Part
from bankside.cosim.live.decode import RtlHeads
from bankside.cosim.live.pam import RtlMismatch
from bankside.hardware.generate import latency, verilog
from bankside.hardware.selection import Selection, select
from bankside.models.decode import free_run, make_backend, teacher_forced
from bankside.models.decode.cent import CentBackend
from bankside.models.decode.checked import answered
from bankside.models.decode.lolpim import LolPimBackend
from bankside.models.decode.pam import PamBackend, Tier
from bankside.models.llm.weights import read_model
from bankside.shell.cli import main
from tests.made_up_model import TEXT, write_model

from .live_parts import pam_part

DIM = 8


@pytest.fixture(name="model", scope="module")
def _model(tmp_path_factory):
    return read_model(write_model(tmp_path_factory.mktemp("live") / "made-up", head_dim=DIM, hidden=32, ffn=32))


def trial(name):
    return select(name, sets=UNITS[name].trial.sets).config


def part(name, config):
    selection = Selection(unit(name), None, config)
    return Part(config, verilog(selection), selection.unit.module, latency(selection))


def small_pam():
    """Three tiers of the smallest units: two bank groups, one, and one."""
    config = trial("pam-hbm-slice")
    tiers = [
        Tier(name, config.model_copy(update={"groups": groups}), share)
        for name, groups, share in (("hbm", 2, 2), ("ddr", 1, 1), ("ssd", 1, 1))
    ]
    backend = PamBackend("pam", tiers)
    backend.merge = trial("pam-tier-merge")
    return backend


def small(name):
    if name == "cent":
        return CentBackend("cent", "faithful", device=DEVICES["cent-small"])
    if name == "lol-pim":
        return LolPimBackend("lol-pim", trial("lol-pim-module"))
    backend = make_backend("inf2")
    backend.accelerator = trial("inf2-accelerator")
    backend.config, backend.io = backend.accelerator.gemv, backend.accelerator.gemv.io
    backend.rule = backend.accelerator.softmax.rule
    return backend


def tokens_of(model, count):
    return np.array(model.tokenizer.encode(TEXT[:count], add_special_tokens=False).ids)


@pytest.mark.slow
def test_pam_heads_in_rtl_give_the_same_text(model, tmp_path, monkeypatch):
    """A free run with two of eight heads in RTL beside three tiers, whose tokens change places. Then all heads of a text,
    and one wrong result."""
    plain = free_run(model, small_pam(), tokens_of(model, 30), 6)
    pam = pam_part()
    backend = small_pam()
    heads = {(0, 1), (1, 2)}
    merge = part("pam-ru", backend.tiers[0].slice.reduction)
    with RtlHeads(
        backend,
        model.shape,
        heads,
        36,
        lambda name, config: pam if name == "pam-pu" else merge,
        first=29,
        merge=True,
        waves=tmp_path,
    ) as rtl:
        assert [(place.layer, place.head) for place in rtl.places] == [(0, 0), (1, 1)]
        run = free_run(model, answered(backend, rtl.places, rtl), tokens_of(model, 30), 6)
        figures = rtl.figures()
    assert np.array_equal(run.tokens, plain.tokens) and np.array_equal(run.logits, plain.logits)
    assert (figures["heads"], figures["tokens"], figures["mismatches"]) == (2, 7, 0)  # the prompt's last token and six
    merges = [live.unit.steps for live in rtl._merges.values()]
    assert merges == [2 * 7 * 2, 2 * 7, 2 * 7]  # heads, tokens, bank groups
    assert figures["clocks"] > 0 and figures["clocks_per_second"] > 0
    text = tokens_of(model, 20)
    backend = small_pam()
    with RtlHeads(backend, model.shape, heads, 20, lambda name, config: pam) as rtl:
        whole = teacher_forced(model, answered(backend, rtl.places, rtl), text)
        assert rtl.figures()["tokens"] == 20
    assert np.array_equal(whole.logits, teacher_forced(model, small_pam(), text).logits)
    # Without tokens in the other tiers they have no simulations.
    backend = PamBackend(
        "pam", [dataclasses.replace(tier, share=int(tier.name == "hbm")) for tier in small_pam().tiers]
    )
    backend.merge = trial("pam-tier-merge")
    with RtlHeads(backend, model.shape, heads, 20, lambda name, config: pam) as rtl:
        hbm = teacher_forced(model, answered(backend, rtl.places, rtl), text[:9])
        assert list(rtl._live) == ["hbm"] and rtl.figures()["tokens"] == 9
    assert hbm.details["tokens_by_tier"][-1] == [9, 0, 0]
    monkeypatch.setenv(ARGUMENTS, "+wrong=100")
    backend = small_pam()
    with (
        RtlHeads(backend, model.shape, heads, 20, lambda name, config: pam) as rtl,
        pytest.raises(RtlMismatch, match=r"^pam_pu: token \d+, layer 0, head 1, tile 0.*: got 0x"),
    ):
        teacher_forced(model, answered(backend, rtl.places, rtl), text)
    assert rtl.figures()["mismatches"] == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("cent", {}),
        ("lol-pim", {}),
        ("inf2", {}),
        ("inf2", {"accelerator": True}),
        ("inf2", {"accelerator": True, "memory": "ddr4-2400"}),
    ],
)
def test_heads_of_other_systems_in_rtl(model, name, more):
    plain = free_run(model, small(name), tokens_of(model, 10), 3)
    backend = small(name)
    with RtlHeads(backend, model.shape, [(1, 3)], 13, part, first=9, **more) as rtl:
        run = free_run(model, answered(backend, rtl.places, rtl), tokens_of(model, 10), 3)
        figures = rtl.figures()
    assert np.array_equal(run.tokens, plain.tokens) and np.array_equal(run.logits, plain.logits)
    assert run.details == plain.details
    assert (figures["heads"], figures["tokens"], figures["mismatches"]) == (1, 4, 0)


def test_what_can_not_be_in_rtl(model, tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match="^float32 has no unit that could be in RTL$"):
        RtlHeads(make_backend("float32"), model.shape, [(0, 0)], 10, part)
    with pytest.raises(ConfigError, match="^float16 has no unit"):
        RtlHeads(make_backend("float16"), model.shape, [(0, 0)], 10, part)
    with pytest.raises(ConfigError, match="^inf2: data come to the unit at once, not at the cycles of hbm3-5.2$"):
        RtlHeads(make_backend("inf2"), model.shape, [(0, 0)], 10, part, memory="hbm3-5.2")
    with pytest.raises(ConfigError, match="^pam has no accelerator$"):
        RtlHeads(make_backend("pam"), model.shape, [(0, 0)], 10, part, accelerator=True)
    with pytest.raises(ConfigError, match=r"^head dimension must be a multiple of 16 \(lanes\) in 16..256, not 8$"):
        RtlHeads(make_backend("pam"), model.shape, [(0, 0)], 10, part)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissing, match="^co-simulation needs g"):
        RtlHeads(small("inf2"), model.shape, [(0, 0)], 10, part)


@pytest.mark.parametrize(
    ("heads", "said"),
    [("2.0", "head 2.0 does not exist"), ("0.4", "head 0.4 does not exist"), ("first", "heads must be LAYER.HEAD")],
)
def test_command_refuses_heads_in_one_line(model, tmp_path, capsys, heads, said):
    prompt = tmp_path / "prompt.txt"
    prompt.write_text(TEXT[:10])
    assert (
        main(["decode", str(model.folder), "--prompt", str(prompt), "--system", "inf2", "--rtl", heads, "--json"]) == 2
    )
    out, err = capsys.readouterr()
    assert not out and said in err and len(err.strip().splitlines()) == 1


@pytest.mark.slow
def test_command_has_figures_of_rtl(model, tmp_path, capsys, monkeypatch):
    """``--rtl`` with a published unit."""
    prompt = tmp_path / "prompt.txt"
    prompt.write_text(TEXT[:10])
    monkeypatch.chdir(tmp_path)
    command = ["decode", str(model.folder), "--prompt", str(prompt), "--system", "inf2", "--tokens", "2"]
    assert main([*command, "--rtl", "0.0,1.3", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    wave = result["rtl"].pop("waveform")
    assert result["rtl"] | {"clocks": 0, "clocks_per_second": 0} == {
        "heads": 2,
        "tokens": 3,
        "clocks": 0,
        "clocks_per_second": 0,
        "mismatches": 0,
    }
    # The output of the last query that float32 chose: every value meets a probability.
    assert (wave["unit"], wave["token"], wave["layer"], wave["head"]) == ("inf2_gemv", 11, 0, 0)
    assert wave["cycles"] == wave["clocks"] < result["rtl"]["clocks"]
    results = next(one for one in wave["streams"] if one["stream"] == "result")
    assert not results["input"] and set(results["payloads"]) == {
        str(clock) for first, length in results["valid"] for clock in range(first, first + length)
    }
    assert main([*command, "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert plain["rtl"] is None and plain["tokens"] == result["tokens"] and plain["perplexity"] == result["perplexity"]
    assert main([*command, "--rtl", "all"]) == 0
    assert re.search(r"in RTL +8 heads, 3 tokens, \d+ clocks, [\d,]+ clocks/s, 0 mismatches", capsys.readouterr().out)
