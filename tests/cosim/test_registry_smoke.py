"""Every unit that is registered, at its smallest: it elaborates, lints flat, runs bit-exact, and an error in it is found.

No unit is named here: a new one is tested as soon as it is found.
"""

from __future__ import annotations

import pytest

from bankside.constraints.core.registry import UNITS
from bankside.cosim.bench import build
from bankside.cosim.bench.planted import with_planted
from bankside.evidence.measure import run_bench
from bankside.hardware import generate
from bankside.hardware.selection import select
from bankside.studies.check import found_errors, port_faults


def trial(unit):
    return select(unit.name, sets=unit.trial.sets)


@pytest.mark.essential
@pytest.mark.parametrize("unit", UNITS.values(), ids=lambda unit: unit.name)
def test_unit_is_right_and_is_found_broken(unit, monkeypatch):
    selection = trial(unit)
    monkeypatch.setattr(build, "REPEATED_TEXT", 1 << 40)  # in one piece, so that the build lints the flat design
    workload = unit.workload(**unit.trial.workload)
    text = with_planted(generate.verilog(selection))
    result, _ = run_bench(selection, workload, verilog=text, quick=True)
    assert result.mismatches == 0 and result.vectors > 0, result.first_mismatch
    assert unit.result.model_validate(result.recorded()).vectors == result.vectors
    assert all(len(name) and len(shown) for name, shown in result.rows(workload.model_dump(), None))
    assert next(found_errors(selection, workload, text), None), "none of the planted errors was found"


@pytest.mark.parametrize("unit", UNITS.values(), ids=lambda unit: unit.name)
def test_ports_of_the_contract_are_those_of_the_generator(unit):
    for config in {**dict(list(unit.presets.items())[:1]), "trial": trial(unit).config}.values():
        assert port_faults(unit, config) == []


def test_units_are_told_by_their_names():
    assert all(name == unit.name and unit.presets and unit.page for name, unit in UNITS.items())
