"""Made-up measurements of the units of a LoL-PIM module, for tests of what rests on them."""

from __future__ import annotations

import pytest

from bankside.constraints.records import Measurement, Record
from bankside.constraints.units import dpa_dispatcher, pim_hub
from bankside.records import RecordFolder, completed, made_from

#: Clocks of a command of the hub on 32 words, and of a further word.
HUB = {"SOFTMAX": (156, 3.0), "LAYERNORM": (206, 3.0), "RMSNORM": (141, 2.0), "EWADD": (83, 2.0), "GPR_MUL": (83, 2.0)}

RESULTS = {
    "pim-hub": {"commands": {op: {"words": 32, "cycles": cycles, "clocks_per_word": slope}
                             for op, (cycles, slope) in HUB.items()}},
    "dpa-dispatcher": {"commands_per_clock": 1.0, "start_cycles": 9, "end_cycles": 2},
}


def _record(unit, preset, config):
    measurement = completed(Measurement.of("sim", unit, config, preset=preset))
    return Record.of(measurement, made_from=made_from(measurement), verilog="", results=RESULTS[unit], tools={})


@pytest.fixture(scope="session")
def module_records(tmp_path_factory):
    """A folder with a measurement of every preset of the hub and of the dispatcher."""
    folder = RecordFolder(tmp_path_factory.mktemp("module-records"), shipped=tmp_path_factory.mktemp("none-shipped"))
    for unit, presets in (("pim-hub", pim_hub.PRESETS), ("dpa-dispatcher", dpa_dispatcher.PRESETS)):
        for preset, config in presets.items():
            folder.write(_record(unit, preset, config))
    return folder
