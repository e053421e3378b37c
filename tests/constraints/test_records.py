"""Measurement records and configuration hashes: what identifies a measurement, and nothing else, does."""

import pytest

from bankside.constraints.document import validate
from bankside.constraints.errors import ConfigError
from bankside.constraints.records import Record, config_hash
from bankside.constraints.units.pam_pu import PRESETS, PamPuConfig

RECORD = {"kind": "synth", "unit": "pam-pu", "config": {"lanes": 16}, "config_hash": "0123456789abcdef",
          "conditions": {"library": "generic", "effort": 1}, "results": {"area_um2": 1.0}, "tools": {"yosys": "0.70"}}


def test_hash_is_of_the_expanded_configuration():
    default = config_hash("pam-pu", PamPuConfig())
    assert len(default) == 16 and int(default, 16) >= 0
    assert config_hash("pam-pu", PamPuConfig(lanes=16, guard_bits=PamPuConfig().guard_bits)) == default
    assert config_hash("other", PamPuConfig()) != default
    hashes = {config_hash("pam-pu", config) for config in PRESETS.values()}
    assert len(hashes) == len(PRESETS)


@pytest.mark.parametrize("change", [{"lanes": 8}, {"guard_bits": 9}, {"clock_mhz": 667.0}, {"output_skid_beats": 1}])
def test_every_parameter_changes_the_hash(change):
    assert config_hash("pam-pu", PamPuConfig(**change)) != config_hash("pam-pu", PamPuConfig())


def test_record():
    record = validate(RECORD, Record, "record")
    assert record.schema_version == 1 and record.preset is None
    assert record.name == "pam-pu-0123456789abcdef-synth-effort=1-library=generic"
    # The same conditions in another order are the same measurement; other results too; other conditions are not.
    same = RECORD | {"conditions": {"effort": 1, "library": "generic"}, "results": {}}
    assert validate(same, Record, "").name == record.name
    assert validate(RECORD | {"conditions": {"library": "x", "effort": 1}}, Record, "").name != record.name
    assert validate(record.model_dump(), Record, "record") == record


@pytest.mark.parametrize(("change", "message"), [
    ({"kind": "time"}, "kind: input should be 'sim' or 'synth', not 'time'"),
    ({"config_hash": "xyz"}, "config_hash: string should match pattern"),
    ({"schema_version": 2}, "schema_version: input should be 1, not 2"),
    ({"result": {}}, "unknown key 'result'; did you mean 'results'?"),
])
def test_what_is_not_a_record(change, message):
    with pytest.raises(ConfigError) as caught:
        validate(RECORD | change, Record, "record.json")
    assert message in str(caught.value), str(caught.value)
