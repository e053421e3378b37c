"""What ``bankside eval`` does beyond a system's own evaluation."""

from __future__ import annotations

import json

import pytest

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.records import Record
from bankside.shell.cli import main
from bankside.studies.evaluate import evaluate
from tests.made_up import SIM, SYNTHESIS


def test_instances_share_the_batch():
    """Rates and energies are of all, the rest of an instance with the largest share."""
    asked = {"context": 700, "output_tokens": 2}
    three, two, one = (
        evaluate("gpu-only", "llama-3-70b", batch=batch, instances=count, **asked)
        for batch, count in ((8, 3), (3, 1), (2, 1))
    )
    assert three.instances == 3 and three.batch == 8 and three.tpot_ms == two.tpot_ms
    assert three.throughput_tok_s == pytest.approx(2 * two.throughput_tok_s + one.throughput_tok_s)
    joules = [6 * two.energy_mj_per_token, 2 * one.energy_mj_per_token]
    assert three.energy_mj_per_token == pytest.approx(sum(joules) / 8)
    parts = [value for value in three.energy_breakdown_mj.values() if not isinstance(value, str)]
    assert sum(parts) == pytest.approx(three.energy_mj_per_token)
    assert three.config_hash != evaluate("gpu-only", "llama-3-70b", batch=8, **asked).config_hash
    with pytest.raises(ConfigError, match="^--instances 3: a batch of 2 has no request for each$"):
        evaluate("gpu-only", "llama-3-70b", batch=2, instances=3, **asked)


class MadeUp:
    """Made-up measurements of every unit."""

    def find(self, measurement):
        results = SIM[measurement.unit] if measurement.kind == "sim" else SYNTHESIS
        return Record.of(measurement, made_from={}, verilog="", results=results, tools={})


def test_a_calibration_satisfies_its_schema(capsys, monkeypatch):
    """The round of the best ratios as a number, and the times of the tiers; ``conftest.py`` compares with the schema."""
    monkeypatch.setattr("bankside.studies.evaluate.RecordFolder", lambda records: MadeUp())
    assert main(["calibrate", "pam", "--model", "opt-175b", "--rounds", "1", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["rounds"] == 1 and list(result["tier_us"]) == ["hbm", "ddr", "ssd"]
    assert min(result["x"], result["y"], *result["tier_us"].values()) > 0 and result["file"] is None
