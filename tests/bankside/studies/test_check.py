"""``bankside check``: what is right passes, and each fault of a unit, a system or a paper is named in a line."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bankside.constraints.core.contract import Port
from bankside.constraints.core.registry import UNITS
from bankside.models import serving
from bankside.models.papers import Finding, Source
from bankside.models.papers.evidence import Checks
from bankside.models.systems.system import Served
from bankside.pages import page_of
from bankside.studies import check as checking
from bankside.studies.check import check, check_paper, check_system, check_unit, port_faults, wrong_sources

ADD = UNITS["fp-add"]


def lines(points):
    return {point.name.partition(": ")[2]: (point.ok, point.detail) for point in points}


@pytest.mark.essential
def test_a_right_unit_passes(cli):
    done = cli("check", "fp-compare", "--json")
    assert done.code == 0
    result = json.loads(done.out)
    assert result["ok"] and [one["name"] for one in result["checks"]] == [
        "fp-compare: ports",
        "fp-compare: results",
        "fp-compare: random power-up",
        "fp-compare: planted errors",
    ]


def test_a_wrong_model_and_a_bench_without_power_up_are_named(monkeypatch):
    load = type(ADD).load_bench

    def bench(request):
        result = load(ADD)(request)
        runs = {name: run for name, run in result.runs.items() if name != "power_up"}
        return result.model_copy(update={"runs": runs, "mismatches": wrong, "first_mismatch": "item 3"})

    wrong = 0
    monkeypatch.setattr(type(ADD), "load_bench", lambda self: bench)
    found = lines(check_unit(ADD))
    assert found["results"][0] and found["random power-up"] == (
        False,
        "no run from random registers (runs: full_rate, stalls, lazy_output)",
    )
    wrong = 2
    found = lines(check_unit(ADD))
    assert found["results"] == (False, "2 mismatches; the first: item 3")
    assert found["planted errors"] == (False, "the results differ, or the bench did not run")


@pytest.mark.parametrize(
    "change, fault",
    [
        (lambda port: replace(port, name="other"), "the contract has other"),
        (lambda port: replace(port, stream=False), "is a stream on one side alone"),
        (lambda port: replace(port, meaning=""), "lacks a meaning"),
    ],
)
def test_ports_that_differ_are_named(monkeypatch, change, fault):
    config = next(iter(ADD.presets.values()))
    ports = config.ports()
    assert isinstance(ports[0], Port)
    monkeypatch.setattr(type(config), "ports", lambda self: (change(ports[0]), *ports[1:]))
    assert fault in "; ".join(port_faults(ADD, config))


def test_a_system_passes_and_one_whose_serving_differs_does_not(monkeypatch):
    right = lines(check_system("gpu-only", model="llama-3-8b", page_of=page_of))
    assert right.keys() == {"evaluation", "serving", "page", "basis"} and all(ok for ok, _ in right.values())
    made = serving.served_system

    def slower(*arguments, **options) -> Served:
        one = made(*arguments, **options)
        step = one.decode_seconds
        one.decode_seconds = lambda contexts: 1.01 * step(contexts)
        return one

    monkeypatch.setattr(serving, "served_system", slower)
    ok, detail = lines(check_system("gpu-only", model="llama-3-8b"))["serving"]
    assert not ok and detail.startswith("a step of 1 requests at a context of 500 takes")


def test_a_system_without_its_measurements_says_what_to_run(tmp_path, monkeypatch):
    monkeypatch.setattr("bankside.evidence.records.SHIPPED", tmp_path)
    found = check_system("pam-hbm-only", model="llama-3-8b", records=tmp_path)
    assert [point.ok for point in found] == [False] and "run `bankside sim pam-pu" in found[0].detail


def test_a_source_that_is_declared_and_not_read_is_named(monkeypatch):
    """A constant that is declared as a measurement: the category of its claim would be wrong."""
    checks = Checks()
    checks.of("made-up", by=Source.RECORD)(lambda evidence, claim: Finding(4.25, "made up"))
    checks.of("honest", by=Source.SETTING)(lambda evidence, claim: Finding(4.25, "a setting"))
    monkeypatch.setattr("bankside.models.papers.checks_of", lambda name: checks)
    assert wrong_sources("x").keys() == {"made-up"}
    [point] = check_paper("x")
    assert (point.ok, point.detail) == (False, "made-up declares record, but reads nothing")


def test_the_command_checks_pages_too(cli):
    done = cli("check", "gpu-only", "--model", "llama-3-8b", "--json")
    assert done.code == 0
    names = [one["name"] for one in json.loads(done.out)["checks"]]
    assert names == [f"gpu-only: {what}" for what in ("evaluation", "serving", "page", "basis")]


def test_names_that_nothing_has_are_refused(cli):
    cli("check", "fp-ad").failed(2, "unknown unit, system, paper or package 'fp-ad'; did you mean 'fp-add'?")


def test_a_failed_check_is_the_exit_code(cli, monkeypatch):
    monkeypatch.setattr(
        checking, "check_unit", lambda unit, progress: [checking.CheckedPoint(name="a: b", ok=False, detail="c")]
    )
    done = cli("check", "fp-add")
    assert done.code == 1 and "FAILED  a: b  c" in done.out and "1 of 1 checks failed; the first: a: b" in done.err
    assert check("fp-add").ok is False
