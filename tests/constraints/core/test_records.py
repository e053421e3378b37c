"""Measurement records and configuration hashes: what identifies a measurement, and nothing else, does."""

import pytest

from bankside.constraints.arith.units import FpFma
from bankside.constraints.core.document import validate
from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.records import SYNTH, Measurement, Record, RecordError, config_hash, record_name
from bankside.constraints.pam.pu import PRESETS, PamPuConfig

MEASUREMENT = Measurement.of("synth", "pam-pu", PamPuConfig(), preset="pam-hbm").completed(SYNTH)
MADE_FROM = {"hardware": "a", "library": "b"}


def record(measurement=MEASUREMENT, made_from=MADE_FROM, results=None, verilog="// one\n// two\nmodule x; endmodule\n"):
    return Record.of(measurement, made_from=made_from, verilog=verilog, results=results or {"area_um2": 1.0}, tools={})


def test_a_fabric_counts_unless_it_is_the_default():
    """Configurations without an FPGA have the hash that they had before there was such a key."""
    assert config_hash("fp-fma", FpFma()) == config_hash("fp-fma", FpFma(fabric="asic")) == "75cfeac404960d86"
    assert config_hash("fp-fma", FpFma(fabric="xilinx")) != config_hash("fp-fma", FpFma())
    assert FpFma.model_validate(FpFma(fabric="xilinx").model_dump(mode="json")).fabric == "xilinx"


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


def test_name():
    """Other sources or results are the same measurement, other conditions or contents of a library are not."""
    name = record().name
    assert name == record_name("synth", "pam-pu", MEASUREMENT.config_hash, SYNTH, MADE_FROM)
    assert name.startswith(f"pam-pu-{MEASUREMENT.config_hash}-synth-") and len(name.rsplit("-", 1)[1]) == 16
    assert record(results={"area_um2": 2.0}).name == record(made_from=MADE_FROM | {"hardware": "c"}).name == name
    fast = Measurement.of("synth", "pam-pu", PamPuConfig(), effort="speed").completed(SYNTH)
    assert len({name, record(fast).name, record(made_from=MADE_FROM | {"library": "c"}).name}) == 3


def test_record():
    """It survives its text, says a file by its name, and the comment at the top of the Verilog does not count."""
    one = record()
    assert validate(one.model_dump(mode="json"), Record, "record") == one and one.preset == "pam-hbm"
    one.check("here")
    assert record(verilog="// other\nmodule x; endmodule\n").verilog_sha256 == one.verilog_sha256
    assert record(verilog="module y; endmodule\n").verilog_sha256 != one.verilog_sha256
    own = Measurement.of(
        "sim", "pam-pu", PamPuConfig(), preset="pam-hbm", changes={"lanes": 16}, memory="a/hbm3-5.2.yaml"
    )
    assert record(own).workload == {"memory": "hbm3-5.2"} and record(own).preset is None


@pytest.mark.parametrize(
    "change, message",
    [
        ({"kind": "time"}, "kind: input should be 'sim' or 'synth', not 'time'"),
        ({"config_hash": "xyz"}, "config_hash: string should match pattern"),
        ({"schema_version": 1}, "schema_version: input should be 2, not 1"),
        ({"result": {}}, "unknown key 'result'; did you mean 'results'?"),
    ],
)
def test_what_is_not_a_record(change, message):
    with pytest.raises(ConfigError) as caught:
        validate(record().model_dump(mode="json") | change, Record, "record.json")
    assert message in str(caught.value), str(caught.value)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"config_hash": "0" * 16}, "here: config_hash 0{16} does not fit its configuration"),
        ({"results": {"area_um2": 2.0}}, "here: the results have been edited"),
    ],
)
def test_a_record_checks_itself(change, message):
    with pytest.raises(RecordError, match=message):
        record().model_copy(update=change).check("here")
