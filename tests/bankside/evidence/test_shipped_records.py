"""Records that come with the package: each is valid and exact, and the list of those that are missing can be computed."""

from __future__ import annotations

import hashlib
import json

import pytest

from bankside.constraints.core.records import Measurement, Outcome
from bankside.constraints.core.registry import UNITS
from bankside.cosim.bench.build import LEVEL
from bankside.evidence import side_by_side as measuring
from bankside.evidence.records import SHIPPED, RecordFolder, completed
from bankside.hardware import generate
from bankside.hardware.selection import select
from bankside.studies import inventory


@pytest.fixture
def shipped(tmp_path):
    """The shipped records alone."""
    return RecordFolder(tmp_path / "none", shipped=SHIPPED)


def test_every_shipped_record_is_valid(shipped):
    """It can be read, nothing contradicts it, and its text is what is written today."""
    for path in sorted(SHIPPED.glob("*.json")):
        record = shipped.read(path)
        assert record.unit in UNITS, path.name
        assert (
            path.read_text() == json.dumps(record.model_dump(mode="json"), sort_keys=True, separators=(",", ":")) + "\n"
        )


@pytest.mark.essential
def test_every_shipped_record_is_of_what_is_there_now(shipped):
    """What ``bankside records`` lists as shipped is all that lies there: nothing stale, nothing that nobody asks for."""
    rows = inventory.inventory(shipped, inventory.wanted(shipped))
    assert not [row for row in rows if row.state != "shipped"]
    if list(SHIPPED.glob("*.json")):
        assert {row.name for row in rows if row.name} >= {path.stem for path in SHIPPED.glob("*.json")}


def test_measurements_that_are_wanted(tmp_path):
    """Every preset of every unit both ways, each configuration once, and what systems ask for besides, in full."""
    folder = RecordFolder(tmp_path / "none", shipped=tmp_path / "none")
    wanted = inventory.wanted(folder)
    for unit in UNITS.values():
        for preset in unit.presets:
            for kind in ("sim", "synth"):
                assert completed(Measurement.of(kind, unit.name, select(unit.name, preset=preset).config)) in wanted
    assert len(set(wanted)) == len(wanted) and all(one == completed(one) for one in wanted)
    other = [one for one in wanted if one.unit == "pam-pu" and dict(one.workload).get("head_dim", 128) != 128]
    assert other and all(one.kind == "sim" for one in other)  # models with other heads
    assert {row.state for row in inventory.inventory(folder, wanted)} == {"missing"}


def test_what_is_missing_is_made_and_only_that(tmp_path, monkeypatch, pu_record):
    """Answers lead to further questions, which are made too; --remake makes all."""
    folder = RecordFolder(tmp_path / "own", shipped=tmp_path / "shipped")
    sim, synth, later = (
        completed(pu)
        for pu in (
            Measurement.of(kind, "pam-pu", select("pam-pu", preset="pam-hbm").config, preset="pam-hbm", **more)
            for kind, more in (("sim", {}), ("synth", {}), ("sim", {"tokens": 7}))
        )
    )
    monkeypatch.setattr(inventory, "presets", lambda pattern: [sim, synth])
    monkeypatch.setattr(inventory, "asked", lambda records, papers: [later] if records.find(sim) else [])
    batches = []

    def measure_all(measurements, where, tell, each):
        if measurements:
            batches.append(list(measurements))
        for one in measurements:
            RecordFolder(where).write(pu_record(one.kind, **dict(one.workload)))
            each(one, Outcome("done"))

    monkeypatch.setattr(inventory, "measure_all", measure_all)
    folder.write(pu_record("synth"))
    rows = inventory.make_records(folder)
    assert batches == [[sim], [later]] and {row.state for row in rows} == {"own"} and len(rows) == 3
    inventory.make_records(folder, everything=True)
    assert batches[2:] == [[sim, synth], [later]]


def test_a_measurement_that_is_not_made_is_told(tmp_path, monkeypatch, pu_record, cli):
    """The others are made; the exit code says that one is not."""

    def measure_all(measurements, where, tell, each):
        for one in measurements:
            if one.kind == "sim":
                RecordFolder(where).write(pu_record(preset=one.preset))
            each(one, Outcome("done") if one.kind == "sim" else Outcome("failed", "no such tool", 3))

    monkeypatch.setattr(inventory, "measure_all", measure_all)
    monkeypatch.setattr(inventory, "asked", lambda records, papers: [])
    cli("records", "pam-pu", "--make").failed(
        1, "6 of 12 measurements were not made; `bankside synth pam-pu .*` failed: no such tool"
    )
    listed = cli("records", "pam-pu", "--json").json
    assert [one["state"] for one in listed["measurements"]] == ["own", "missing"] * 6 and listed["differ"] is None


@pytest.mark.parametrize("kind", ["sim", "synth"])
def test_record_of_the_same_verilog_is_renewed(tmp_path, pu_record, kind):
    """Other sources of the hardware, which write what was measured: the results stay, and their origin is of today. The
    record stays stale if the Verilog, a latency that the bench takes, or anything else differs."""
    selection = select("pam-pu", preset="pam-hbm")
    folder = RecordFolder(tmp_path / "own", shipped=tmp_path / "none")
    plain = pu_record(kind)
    digest = hashlib.sha256(generate.verilog(selection).split("\n", 3)[3].encode()).hexdigest()
    latency = generate.latency(selection) if kind == "sim" else {}
    measurement = Measurement.of(kind, "pam-pu", selection.config, preset="pam-hbm")

    def renewed(change=(), **keys):
        origin = {**plain.made_from, "hardware": "0" * 32, **dict(change)}
        folder.write(
            plain.model_copy(update={"made_from": origin, "verilog_sha256": digest, "latency": latency, **keys})
        )
        return inventory.renew(folder, measurement)

    assert not renewed({"flow": "0" * 32} if kind == "synth" else {"bench": "0" * 32})
    assert not renewed(verilog_sha256="0" * 64) and not renewed(latency={"more": 1})
    assert folder.find(measurement) is None
    assert renewed()
    found = folder.find(measurement)
    assert found.made_from == plain.made_from and found.results == plain.results
    assert not inventory.renew(folder, measurement)  # it is not stale


def test_listing(cli, monkeypatch, pu_record, tmp_path):
    monkeypatch.setattr(inventory, "asked", lambda records, papers: [])
    folder = RecordFolder()
    broken, stale = folder.write(pu_record()), pu_record("synth")
    folder.write(stale.model_copy(update={"made_from": {**stale.made_from, "flow": "0" * 32}}))
    broken.write_text("{}")
    lines = cli("records", "pam-pu").out.splitlines()
    assert lines[0].startswith("refused  bankside sim pam-pu --preset pam-hbm  (") and str(broken) in lines[0]
    assert lines[1] == "stale    bankside synth pam-pu --preset pam-hbm  (changed: flow)"
    assert lines[-1] == "12 measurements: 1 stale, 10 missing, 1 refused"
    cli("records", "pam-pv").failed(2, "did you mean 'pam-pu'")
    cli("records", "--make", "--check").failed(2, "not allowed with")


def test_check_measures_again(cli, monkeypatch, pu_record):
    """What differs is named, and nothing is written."""
    monkeypatch.setattr(inventory, "asked", lambda records, papers: [])
    folder = RecordFolder()
    paths = [folder.write(pu_record(kind)) for kind in ("sim", "synth")]
    before = [path.read_bytes() for path in paths]
    changes = {}

    def measure_all(measurements, where, tell):
        assert where != str(folder.folder)
        for one in measurements:
            RecordFolder(where).write(pu_record(one.kind, changes.get(one.kind)))

    monkeypatch.setattr(inventory, "measure_all", measure_all)
    assert cli("records", "pam-pu", "--check", "--json").json["differ"] == []
    changes["synth"] = {"area_ge": 1.0}
    done = cli("records", "pam-pu", "--check")
    assert done.code == 1 and "differs  bankside synth pam-pu --preset pam-hbm  (results.area_ge)" in done.out
    assert [path.read_bytes() for path in paths] == before


def test_asking_notes_everything(tmp_path, pu_record):
    """What is looked up counts, found or not."""
    folder = RecordFolder(tmp_path, shipped=tmp_path)
    folder.write(pu_record())
    asking = inventory.Asking(folder)
    sim, synth = (Measurement.of(kind, "pam-pu", select("pam-pu").config) for kind in ("sim", "synth"))
    assert asking.find(sim) is not None and asking.find(synth) is None
    assert list(asking.measurements) == [completed(sim), completed(synth)]
    (tmp_path / f"{pu_record().name}.json").write_text("{}")
    assert asking.find(sim) is None  # it is listed as refused, and made again


@pytest.mark.slow
def test_a_small_unit_for_real(tmp_path):
    """Made by two processes, found again, and the same when it is measured again."""
    folder = RecordFolder(tmp_path / "own", shipped=tmp_path / "shipped")
    config = select("fp-mul", preset="bf16").config
    wanted = [
        Measurement.of("sim", "fp-mul", config, preset="bf16", count=1000),
        Measurement.of("synth", "fp-mul", config),
    ]
    told = []
    made = measuring.measure_all(wanted, str(folder.folder), told.append)
    assert [outcome.state for outcome in made.values()] == ["done", "done"] and len(told) == 4
    assert all(folder.look(one).state == "own" for one in wanted)
    assert inventory.check_records(folder, wanted) == []


@pytest.mark.slow
def test_every_shipped_record_measured_again_is_the_same(shipped, monkeypatch):
    """All of them, more than an hour: circuits, cycles, errors and areas are what the records say."""
    monkeypatch.setenv(LEVEL, "1")  # these simulations are long: a fast model is worth its compiler
    assert inventory.check_records(shipped, inventory.wanted(shipped)) == []


def test_errors_may_differ_in_their_last_digits_and_nothing_else():
    def same(one, other):
        return inventory._same("", one, other)

    before, now = 4.848897476542377e-05, 4.848897476542331e-05  # of one measurement, on two processors
    assert same(
        {"rms_error": before, "n": 3, "cases": [{"max_abs_error": before}]},
        {"rms_error": now, "n": 3, "cases": [{"max_abs_error": now}]},
    )
    assert not same({"time_ns": before}, {"time_ns": now}) and not same({"area_ge": [before]}, {"area_ge": [now]})
    for other in ({"rms_error": 1.0 + 1e-9}, {"rms_error": 1.0, "more": 1}, {"rms_error": None}, {}):
        assert not same({"rms_error": 1.0}, other)
    assert not same([1, 2], [1, 3]) and not same([1], [1, 2]) and not same("a", "b") and same(None, None)
