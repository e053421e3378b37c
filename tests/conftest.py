"""Made-up measurements of the units of a LoL-PIM module, for tests of what rests on them."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import settings

from bankside.constraints.records import Record, config_hash
from bankside.constraints.units import dpa_dispatcher, pim_hub
from bankside.cosim.build import LEVEL
from bankside.records import RecordFolder, generator_digest

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

RESULTS = {
    "pim-hub": {"commands": {op: {"words": 32, "cycles": cycles, "clocks_per_word": slope}
                             for op, (cycles, slope) in HUB.items()}},
    "dpa-dispatcher": {"commands_per_clock": 1.0, "start_cycles": 9, "end_cycles": 2},
}


def _record(unit, preset, config):
    return Record(kind="sim", unit=unit, preset=preset, config=config.model_dump(mode="json"),
                  config_hash=config_hash(unit, config), conditions={"seed": 1}, results=RESULTS[unit],
                  tools={"generator": generator_digest()})


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
    folder = RecordFolder(tmp_path_factory.mktemp("module-records"))
    for unit, presets in (("pim-hub", pim_hub.PRESETS), ("dpa-dispatcher", dpa_dispatcher.PRESETS)):
        for preset, config in presets.items():
            folder.write(_record(unit, preset, config))
    return folder
