"""Locators: our value of a claim from a key of a system, a memory, a unit, a model or the costs."""

import pytest
import yaml

from bankside.constraints.core.document import parse, validate
from bankside.constraints.core.errors import ConfigError
from bankside.models.papers import (
    Checks,
    Evidence,
    Finding,
    Paper,
    PaperPackage,
    Source,
    category_of,
    check_claims,
    checks_of,
    load_paper,
    paper_names,
    run,
)
from bankside.models.papers.locator import FACTORS, Ours


class NoRecords:
    def find(self, measurement):
        return None


def text(ours, value=1, **more):
    claim = {"id": "x-1", "source": "§1", "statement": "s", "quantity": "q", "value": value, "unit": None}
    claim |= {"conditions": None, "kind": "config", "ours": ours, **more}
    return yaml.safe_dump({"name": "x", "title": "X", "claims": [claim]}, sort_keys=False)


@pytest.fixture
def row(tmp_path):
    """The row of a claim of a file with this ``ours``; the file belongs to no installed package."""

    def make(ours, value=1, **more):
        file = tmp_path / "x.yaml"
        file.write_text(text(ours, value, **more))
        return check_claims(load_paper(file), Evidence(NoRecords()))[0]

    return make


@pytest.mark.parametrize(
    "ours, value",
    [
        ("system cent: device.count", 32),
        ("system pam: tiers.ddr.devices_per_gpu * base.gpu.count", 40),
        ("memory hbm3-5.2: channels, banks, nREFI", [16, 64, 5070]),
        ("memory flash-nand: row_bytes / KiB", 16.0),
        ("ns / memory cent:device.memory: nCCDL / clock_ps", 1.0),
        ("memory hbm3-5.2: banks // bank", 16),
        ("unit pam-pu pam-hbm: query_bytes + score_bytes + output_bytes", 512),
        ("unit cent-pnm cent: gpr_bytes * byte // registers", 256),
        ("model qwen1.5-7b: layers", 32),
        ("costs: operation.usd_per_kwh", 0.139),
        ("system inf2: prices.gpu_usd.A100-PCIe-40GB", 7000.0),
        (
            {"value": {"a": {"b": "system cent: pnm.units"}, "c": ["pnm.lanes", None]}},
            {"a": {"b": 32}, "c": [16, None]},
        ),
    ],
)
def test_values(row, ours, value):
    stated = {"a": {"b": 1}, "c": [1, 1]} if isinstance(value, dict) else [1, 1, 1] if isinstance(value, list) else 1
    found = row(ours, stated)
    assert found.ours == value and type(found.ours) is type(value) and found.category == "configuration"


def test_words_of_a_value(row):
    """The basis names the objects by default. Braces hold values of the same object, too."""
    assert row("memory hbm3-5.2: nRP").basis == "nRP of hbm3-5.2"
    assert row("memory starc:memory: banks * rows").basis == "hbm3-5.2"
    assert row("system lol-pim: node.nodes * memory gddr6-aim: banks").basis == "lol-pim and gddr6-aim"
    found = row({"value": "memory hbm3-5.2: nBL", "basis": "b", "why": "{bus_bytes} bytes", "tolerance": 0.25}, 2.5)
    assert (found.basis, found.why, found.tolerance, found.verdict) == ("b", "32 bytes", "25 %", "within")
    reason = row({"why": "needs a wafer"})
    assert (reason.verdict, reason.why, reason.ours) == ("not-checkable", "needs a wafer", None)


@pytest.mark.parametrize(
    "ours, message",
    [
        ("cent: device.count", "'cent: device.count' must name an object and a key, .* memory NAME, unit NAME PRESET"),
        ("device.count", "must name an object and a key, as in 'system cent: device.count'"),
        ("unit pam-pu: lanes", "'unit pam-pu' must be 'unit NAME PRESET'"),
        ("memory hbm3-5.2: nRP * 2", r"'2' is neither a dotted key nor a unit \(valid: byte, KiB"),
        ("memory hbm3-5.2: 19", "'19' is neither a dotted key nor a unit"),
        ("memory hbm3-5.2: nRP - nRAS", "'nRP - nRAS' is neither a dotted key nor a unit"),
        ("KiB / byte", "'KiB / byte' names no key"),
        ("memory hbm3-5.2: nRP + KiB", "'KiB' names no key"),
        (19, r"input should be a valid dictionary or instance of Ours"),
        ({"value": 19}, "19 is no locator, but text, or null"),
        ({"value": {"a": "system cent: device.count", "b": True}}, "b: True is no locator"),
        ({"value": {"a": None}}, "value must hold a locator"),
        ({"value": None, "why": "x", "tolerance": 0.1}, "or give `why` alone"),
        ({"value": "system cent: device.count", "why": "{19}"}, "'19' is neither a dotted key nor a unit"),
        (
            {"value": "system cent: device.count", "tolerance": 0.3},
            "tolerance: input should be less than or equal to 0.25",
        ),
        ({"valu": "system cent: device.count"}, "valu'; did you mean 'value'"),
        ({"value": {"bb": "system cent: device.count"}}, r"unknown part 'ours.value.bb'.* \(valid: a, b\)"),
    ],
)
def test_a_fault_of_the_grammar_is_told_with_its_line(ours, message):
    """Nothing of it is read: neither systems nor units."""
    data, lines = parse(text(ours, {"a": 1, "b": 2}), "x.yaml")
    with pytest.raises(ConfigError, match=rf"^x\.yaml:\d+: (unknown key ')?claims\.0.*{message}"):
        validate(data, Paper, "x.yaml", lines)


@pytest.mark.parametrize(
    "ours, message",
    [
        ("system cnt: device.count", "unknown system 'cnt'; did you mean 'cent'"),
        ("system cent: device.cout", "unknown key of system cent 'device.cout'; did you mean 'count'"),
        ("system cent: device", "device of system cent has the keys count, memory"),
        ("system cent: parallelism.pipeline", "parallelism.pipeline of system cent has no value"),
        ("system cent: device.count.more", "unknown key of system cent 'device.count.more' .valid: none"),
        ("memory hbm3: nRP", "unknown memory 'hbm3'"),
        ("memory cent:device.memry: nRP", "unknown key of system cent 'device.memry'"),
        ("unit pam-up pam-hbm: lanes", "unknown unit 'pam-up'; did you mean 'pam-"),
        ("unit pam-pu hbm: lanes", "unknown preset of pam-pu 'hbm'"),
        ("model qwen: layers", "unknown model 'qwen'"),
        (
            "model qwen1.5-7b: name * layers",
            "'model qwen1.5-7b: name . layers' computes with 'qwen1.5-7b', which is no number",
        ),
        ({"value": {"a": "system cent: device.cout"}}, "a: unknown key of system cent 'device.cout'"),
        ({"value": "system cent: device.count", "why": "{device.cout}"}, "unknown key of system cent 'device.cout'"),
    ],
)
def test_a_locator_that_leads_nowhere_names_file_and_claim(row, ours, message):
    with pytest.raises(ConfigError, match=rf"x\.yaml: claim 'x-1': ours: {message}"):
        row(ours, {"a": 1})


def test_a_claim_has_a_check_or_a_locator(tmp_path, monkeypatch):
    """A paper of another package may have both kinds of claims, but not both for one."""
    file = tmp_path / "x.yaml"
    file.write_text(text("system cent: device.count", 32))
    checks = Checks()
    monkeypatch.setattr(run, "paper_packages", lambda: {"x": PaperPackage(file, checks)})
    paper = load_paper(file)
    assert checks_of(paper).sources == {"x-1": {Source.SETTING}} and not checks
    assert check_claims(paper, Evidence(NoRecords()))[0].verdict == "exact"
    checks.of("x-1", by=Source.RUN)(lambda evidence, claim: Finding(1, ""))
    with pytest.raises(ConfigError, match=r"x\.yaml: claim 'x-1' has a check and `ours`; leave out one of them"):
        checks_of(paper)


@pytest.mark.parametrize("name", paper_names())
def test_locators_of_the_papers_lead_to_data(name):
    """Each has a value, in the shape of the claim, with the claim itself out of reach. They are configuration."""
    paper, evidence = load_paper(name), Evidence(NoRecords())
    claims = [claim for claim in paper.claims if claim.ours and claim.ours.sources]
    assert len(claims) >= 5
    for claim in claims:
        assert claim.ours.finding(evidence).ours is not None
        assert category_of(claim, checks_of(name)) == "configuration"


def test_a_locator_follows_the_file(monkeypatch):
    """Another number in the data is another value, so the value is no constant of the locator."""
    evidence = Evidence(NoRecords())
    ours = Ours(value="memory hbm3-5.2: nREFI * clock_ps / ns")
    before = ours.finding(evidence).ours
    monkeypatch.setitem(evidence.memory("hbm3-5.2").parameters, "nREFI", 2 * 5070)
    assert ours.finding(evidence).ours == 2 * before
    assert all(isinstance(factor, int | float) for factor in FACTORS.values())
