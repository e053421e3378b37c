"""Measurement records: what is written is found again, and nothing else is; what is missing is measured."""

from __future__ import annotations

import json
import os
import shlex

import pytest

from bankside import cli as command_line
from bankside import evaluate, records
from bankside.constraints.errors import ConfigError
from bankside.constraints.records import Record
from bankside.constraints.units.pam_pu import PRESETS
from bankside.records import RecordFolder, generator_digest
from bankside.selection import select

HASH = select("pam-pu", preset="pam-hbm").config_hash
CONFIG = PRESETS["pam-hbm"].model_dump(mode="json")
MODEL = ("--model", "llama-3-70b")
SIM = {"beats_per_clock": 1.0, "softmax_gap_cycles": 48, "drain_cycles": 20}
SYNTH = {"area_ge": 70_000.0, "fmax_mhz": 700.0}


def record(kind="sim", results=SIM, generator=None, config_hash=HASH, **conditions):
    return Record(kind=kind, unit="pam-pu", preset="pam-hbm", config=CONFIG, config_hash=config_hash,
                  conditions=conditions or {"head_dim": 128, "memory": "hbm3-5.2", "tokens": 512, "seed": 1},
                  results=dict(results), tools={"verilator": "5.48", "generator": generator or generator_digest()})


def synth(results=SYNTH, **conditions):
    return record("synth", results, **(conditions or {"library": "generic", "effort": "area"}))


@pytest.fixture
def folder(tmp_path):
    return RecordFolder(tmp_path / "records")


def test_round_trip(folder):
    path = folder.write(record())
    assert path.parent == folder.folder and path.name == record().name + ".json"
    assert folder.find("pam-pu", HASH, "sim") == folder.read(path) == record()
    assert os.listdir(folder.folder) == [path.name]


def test_absent(folder):
    assert folder.find("pam-pu", HASH, "sim") is None
    folder.write(record())
    assert folder.find("pam-pu", HASH, "synth") is None
    assert folder.find("pam-pu", "0" * 16, "sim") is None
    assert folder.find("pam", HASH, "sim") is None


def test_conditions_filter(folder):
    for head_dim in (64, 128):
        folder.write(record(results={**SIM, "drain_cycles": head_dim}, head_dim=head_dim, tokens=512))
    assert folder.find("pam-pu", HASH, "sim", head_dim=64).results["drain_cycles"] == 64
    assert folder.find("pam-pu", HASH, "sim", head_dim=128, tokens=512).results["drain_cycles"] == 128
    assert folder.find("pam-pu", HASH, "sim", head_dim=96) is None
    assert folder.find("pam-pu", HASH, "sim", head_dim=128, tokens=1) is None
    assert folder.find("pam-pu", HASH, "sim", unheard_of=1) is None


def test_newest_wins_whatever_its_name(folder):
    paths = [folder.write(record(results={**SIM, "drain_cycles": n}, head_dim=128, tokens=n)) for n in (3, 1, 2)]
    for order in ((0, 1, 2), (2, 1, 0), (0, 2, 1)):
        for age, which in enumerate(order):
            os.utime(paths[which], ns=(10**18 + age, 10**18 + age))  # a nanosecond apart
        newest = (3, 1, 2)[order[-1]]
        assert folder.find("pam-pu", HASH, "sim", head_dim=128).results["drain_cycles"] == newest


def test_same_conditions_replace(folder):
    assert folder.write(record()) == folder.write(record(results={**SIM, "drain_cycles": 9}))
    assert len(os.listdir(folder.folder)) == 1
    assert folder.find("pam-pu", HASH, "sim").results["drain_cycles"] == 9


def test_record_of_other_generators_is_not_found(folder):
    folder.write(record(generator="0" * 16, head_dim=128, tokens=1))
    assert folder.find("pam-pu", HASH, "sim") is None
    folder.write(record(head_dim=128, tokens=2))
    assert folder.find("pam-pu", HASH, "sim").conditions["tokens"] == 2


def test_digest_is_of_what_shapes_the_hardware(tmp_path, monkeypatch):
    import shutil
    from importlib import resources

    copies = {name: tmp_path / name.split(".")[1] for name in ("bankside.gen", "bankside.constraints")}
    for name, copy in copies.items():
        shutil.copytree(resources.files(name), copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(records.resources, "files", copies.__getitem__)

    def digest():
        generator_digest.cache_clear()
        return generator_digest()

    try:
        first = digest()
        for path, matters in (("gen/pam/pu.py", True), ("gen/arith/aligned.py", True), ("gen/blocks/stream.py", True),
                              ("constraints/units/pam_pu.py", True), ("constraints/arithmetic.py", True),
                              ("constraints/memory/hbm3-5.2.yaml", False), ("constraints/systems/gpu-only.yaml", False)):
            file = tmp_path / path
            before = file.read_bytes()
            file.write_bytes(before + b"\n# changed\n")
            assert (digest() != first) == matters, path
            file.write_bytes(before)
        assert digest() == first
    finally:
        generator_digest.cache_clear()


@pytest.mark.parametrize("content, problem", [
    (b"{", "not a measurement record: Expecting"), (b"", "not a measurement record"), (b"\xff\xfe", "not a measurement"),
    (b"[]", "must be a mapping"), (b"{}", "missing key 'kind'"),
    (json.dumps({**record().model_dump(mode="json"), "extra": 1}).encode(), "unknown key 'extra'"),
    (json.dumps({**record().model_dump(mode="json"), "schema_version": 2}).encode(), "schema_version")])
def test_broken_record_is_named(folder, content, problem, cli):
    path = folder.write(record())
    path.write_bytes(content)
    with pytest.raises(ConfigError) as error:
        folder.find("pam-pu", HASH, "sim")
    assert str(error.value).startswith(f"{path}: ") and problem in str(error.value)
    cli("eval", "pam-hbm-only", *MODEL, "--records", str(folder.folder)).failed(2, "records/pam-pu-.*json: ")


def test_name_of_a_library_need_not_be_a_file_name(folder):
    odd = synth(library="../../odd:tt/0.9 V", effort="area")
    path = folder.write(odd)
    assert path.parent == folder.folder and os.listdir(folder.folder) == [path.name]
    assert folder.find("pam-pu", HASH, "synth", library="../../odd:tt/0.9 V") == odd


def test_folder_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("BANKSIDE_RECORDS", str(tmp_path / "a"))
    assert RecordFolder().folder == tmp_path / "a"
    assert RecordFolder(tmp_path / "b").folder == tmp_path / "b"
    monkeypatch.delenv("BANKSIDE_RECORDS")
    monkeypatch.setenv("BANKSIDE_CACHE", str(tmp_path / "c"))
    assert RecordFolder().folder == tmp_path / "c" / "records"


def test_folder_that_can_not_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="^can't write to "):
        RecordFolder(tmp_path / "file").prepare()
    with pytest.raises(ConfigError, match="^can't write to "):
        RecordFolder(tmp_path / "file" / "below").write(record())


# ---- eval -----------------------------------------------------------------------------------------------------------


def test_evaluation_names_its_records(folder, cli):
    folder.write(record())
    folder.write(synth())
    result = cli("eval", "pam-hbm-only", *MODEL, "--records", str(folder.folder), "--json")
    assert result.code == 0, result.err
    data = result.json
    assert data["records"] == [record().name, synth().name]
    assert all((folder.folder / f"{name}.json").is_file() for name in data["records"])
    assert data["unit"]["config_hash"] == HASH
    assert data["tools"][record().name]["verilator"] == "5.48"
    text = cli("eval", "pam-hbm-only", *MODEL, "--records", str(folder.folder)).out
    assert record().name in text and synth().name in text


def test_evaluation_rests_on_what_was_measured(folder, cli):
    folder.write(synth())
    times = []
    for beats in (1.0, 0.05):
        folder.write(record(results={**SIM, "beats_per_clock": beats}))
        times.append(cli("eval", "pam-hbm-only", *MODEL, "--records", str(folder.folder), "--json").json["breakdown_ms"])
    assert times[1]["attention"] > times[0]["attention"] and times[1]["qkv"] == times[0]["qkv"]


def test_missing_measurements_are_made(folder, cli, monkeypatch):
    made = []

    def measure(command):
        made.append(command)
        words = shlex.split(command)
        assert words[0] == "bankside" and words[words.index("--records") + 1] == str(folder.folder)
        assert {"sim", "synth"} >= {words[1]} and words[2:5] == ["pam-pu", "--preset", "pam-hbm"]
        folder.write(record() if words[1] == "sim" else synth())

    monkeypatch.setattr(command_line, "run_arguments", measure)
    arguments = ("eval", "pam-hbm-only", *MODEL, "--records", str(folder.folder), "--json")
    missing = cli(*arguments).failed(2, "no measurement yet; run `.* sim .*` and `.* synth .*`, or give --measure")
    result = cli(*arguments, "--measure")
    assert result.code == 0 and result.json["records"] == [record().name, synth().name]
    # What the error says to run is what --measure runs.
    assert [command.split(" --records")[0] for command in made] == missing.split("`")[1:4:2]
    assert result.err.count("measuring: ") == 2
    # Nothing is missing now; and only what is missing is made.
    assert cli(*arguments, "--measure").code == 0 and len(made) == 2
    (folder.folder / f"{synth().name}.json").unlink()
    assert cli(*arguments, "--measure").code == 0 and made[2].startswith("bankside synth ") and len(made) == 3


def test_measurement_that_fails_is_told(folder, cli, monkeypatch):
    """The commands are run as the command line runs them: their errors are errors of ``eval``, their text is not its."""
    def fail(selection, **options):
        assert selection.preset == "pam-hbm" and options["records"] == str(folder.folder) and options["head_dim"] == 128
        return {"mismatches": 3, "vectors": 9, "first_mismatch": "beat 4: got 1"}

    monkeypatch.setattr("bankside.measure.simulate", fail)
    monkeypatch.setattr("bankside.text.simulation_text", lambda result: "text")
    cli("eval", "pam-hbm-only", *MODEL, "--records", str(folder.folder), "--measure").failed(
        1, "3 of 9 results differ; first: beat 4: got 1", progress=True)


def test_evaluation_from_python(folder, monkeypatch):
    monkeypatch.setenv("BANKSIDE_RECORDS", str(folder.folder))
    folder.write(record())
    folder.write(synth())
    result = evaluate.evaluate("pam-hbm-only", "llama-3-70b", context=4096, batch=16)
    assert result["records"] == [record().name, synth().name] and json.dumps(result)


@pytest.mark.slow
def test_measuring_for_real(cli):
    arguments = ("eval", "pam-hbm-only", *MODEL, "--json")
    result = cli(*arguments, "--measure")
    assert result.code == 0, result.err
    assert len(result.json["records"]) == 2
    assert cli(*arguments).out == result.out
