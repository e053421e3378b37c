"""The toy package through the Python face of Bankside; it must be installed: ``pip install -e .``"""

from __future__ import annotations

import numpy as np
import pytest
from bankside_toy.contract import UNIT
from bankside_toy.model import add

import bankside as bs
from bankside import plugin

LOAD = {"model": "qwen1.5-7b", "context": 1000, "batch": 4}


@pytest.fixture
def records(tmp_path):
    """A folder for records, which is empty at first."""
    return str(tmp_path)


def test_it_is_written_for_this_version_of_the_contracts():
    import bankside_toy

    plugin.require(bankside_toy.BANKSIDE_CONTRACT)


def test_the_model_drops_the_carry():
    assert add(UNIT.presets["narrow"], np.array([0, 254])).tolist() == [3, 1]


def test_the_hardware_equals_the_model_and_the_system_rests_on_its_measurement(records):
    system = bs.system("toy-row")
    with pytest.raises(bs.MissingRecord, match="bankside sim toy-adder --preset narrow --numbers 200"):
        system.evaluate(**LOAD, records=records)
    measured = bs.unit("toy-adder").simulate(numbers=200, records=records)
    assert measured.cycles == 201
    done = system.evaluate(**LOAD, records=records)
    assert done.tpot_ms == pytest.approx(201 / 500e6 * 1e3)
