"""Every ``--json`` result says what it is made from; every one satisfies its published schema (see ``conftest.py``)."""

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.registry import UNITS
from bankside.constraints.core.workspace import Input, kept, note_input, noted_inputs, read_bytes
from bankside.evidence.records import SHIPPED, RecordFolder
from bankside.hardware.selection import select
from bankside.provenance import envelope
from bankside.results.schemas import COMMANDS, schema_of
from bankside.shell import cli

KEYS = {"schema", "command", "tools", "inputs", "notes", "warnings"}


@pytest.fixture
def printed(capsys):
    """What a command prints with ``--json``."""

    def run(*words, code=0):
        assert cli.main([str(word) for word in words]) == code, capsys.readouterr().err
        return json.loads(capsys.readouterr().out)

    return run


def inputs(result, kind):
    return {one["name"]: one for one in result["inputs"] if one["kind"] == kind}


REFERENCE = str(Path(__file__).resolve().parents[2] / "models" / "data" / "attacc_reference.csv")
TRACE = "0x0 R\n0x40 R\n0x80 W\n"

CHEAP = {
    "doctor": ["doctor"],
    "list": ["list"],
    "gen": ["gen", "fp-mul", "-o", "made"],
    "gen --dry-run": ["gen", "fp-mul", "--dry-run"],
    "sim --dry-run": ["sim", "fp-mul", "--dry-run"],
    "synth --dry-run": ["synth", "fp-m*", "--dry-run"],
    "time UNIT": ["time", "pam-pu", "--tokens", "64"],
    "time SYSTEM": ["time", "cent:llama-2-7b"],
    "time FILE": ["time", "t.trace", "--memory", "ddr4-2400", "--timeline", "view.json"],
    "eval": ["eval", "pam", "--model", "llama-3-70b"],
    "eval --split": ["eval", "lol-pim", "--model", "llama-2-7b", "--split", "auto"],
    "eval --workload": ["eval", "lol-pim", "--model", "llama-2-7b", "--workload", "qmsum"],
    "eval --layer": ["eval", "attacc", "--layer", "--tokens", "512", "--heads-per-stack", "8"],
    "eval --reference": ["eval", "dgx-attacc", "--reference", REFERENCE],
    "compile": ["compile", "llama-2-7b", "--listing"],
    "asm": ["asm", "x.cent", "-o", "x.bin"],
    "disasm": ["disasm", "x.hex"],
    "serve": ["serve", "lol-pim", "--model", "llama-2-7b", "--workload", "qmsum", "--requests", "8", "--slo", "100"],
    "serve --search": [
        "serve",
        "lol-pim",
        "--model",
        "llama-2-7b",
        "--workload",
        "qmsum",
        "--requests",
        "8",
        "--slo",
        "100",
        "--search",
        "batch",
        "--csv",
        "rows.csv",
    ],
    "repro": ["repro", "lol-pim", "--claims", "lolpim-thr-7b", "--no-measure"],
    "repro --list": ["repro", "--list"],
    "repro PAPER --list": ["repro", "pam", "--list"],
    "records": ["records", "fp-mul"],
    "cache": ["cache"],
}


@pytest.mark.parametrize("words", CHEAP.values(), ids=CHEAP)
def test_result_has_the_envelope(words, printed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.trace").write_text(TRACE)
    (tmp_path / "x.cent").write_text("SYNC\nEOC\n")
    (tmp_path / "x.hex").write_text(f"{24:032x}\n")
    result = printed(*words, "--json")
    assert result.keys() >= KEYS and result["command"] == words[0]
    assert list(result)[:3] == ["schema", "command", "tools"]
    for one in result["inputs"]:
        assert len(one["sha256"]) == (32 if one["kind"] == "sources" else 64), one
        file = envelope.file_of(one["name"])
        if "/" in one["name"]:
            assert hashlib.sha256(file.read_bytes()).hexdigest() == one["sha256"], one["name"]


def test_every_command_with_json_has_a_schema():
    offered = set()
    for name in cli.COMMANDS:
        parser = cli._Parser(prog=name)
        cli.command(name).fill(parser)
        if any("--json" in action.option_strings for action in parser._actions):
            offered.add(name)
    assert offered == set(COMMANDS)
    assert all(schema_of(name)["$schema"].endswith("2020-12/schema") for name in COMMANDS)
    with pytest.raises(ConfigError, match="unknown command with --json 'evla'; did you mean 'eval'"):
        schema_of("evla")


def test_schemas_forbid_what_they_do_not_declare(printed):
    with pytest.raises(pytest.fail.Exception, match="cache: "):
        envelope.enveloped({"folder": "x", "parts": [], "size_bytes": 1, "size_mib": 1}, "cache")
    with pytest.raises(pytest.fail.Exception, match="cache: .*'size_bytes' is a required property"):
        envelope.enveloped({"folder": "x", "parts": []}, "cache")


@pytest.mark.parametrize("name", UNITS)
def test_measured_results_of_every_unit_satisfy_the_schemas(name):
    """As ``sim`` and ``synth`` print them, from the records of the first preset."""
    unit = UNITS[name]
    selection = select(name)
    for path in SHIPPED.glob(f"{name}-{selection.config_hash}-*.json"):
        record = RecordFolder.read(path)
        own = {
            "unit": name,
            "preset": selection.preset,
            "config_hash": selection.config_hash,
            "config": record.config,
            "record": record.name,
            "tools": record.tools,
        }
        if record.kind == "synth":
            shares = {"percent": {}} if "fpga" in record.workload else {}  # of the devices that there are today
            envelope.enveloped({**own, **record.workload, **record.results, "target_clock_mhz": 1.0, **shares}, "synth")
        else:
            workload = {option: record.workload.get(option) for option in unit.workload.options()}
            workload.pop("vectors", None)
            figures = {**record.results, "first_mismatch": None, "notes": [], "waves": None, "clocks_per_second": 1}
            document = envelope.enveloped({**own, **workload, "seed": 1, **figures}, "sim")
            with pytest.raises(pytest.fail.Exception):
                envelope.enveloped({**document, "cycles_": 1}, "sim")


# Inputs ----------------------------------------------------------------------------------------------------------------


def test_inputs_reach_down_to_verilog_and_memory(printed):
    result = printed("eval", "pam", "--model", "llama-3-70b", "--json")
    assert {name.rpartition("/")[2] for name in inputs(result, "memory file")} == {
        "hbm3-5.2.yaml",
        "ddr4-3200.yaml",
        "flash-nand.yaml",
    }
    assert set(inputs(result, "measurement record")) == set(result["records"])
    for one in inputs(result, "measurement record").values():
        assert one["command"].startswith("bankside ")
        assert len(one["verilog_sha256"]) == 64 and "hardware" in one["made_from"]
    assert "bankside.models.systems.pam:TieredPimSystem" in inputs(result, "sources")


def test_inputs_of_the_second_command_of_a_process_are_whole(printed):
    """What the first has read and kept is an input of the second too."""
    words = ("eval", "pam", "--model", "llama-3-70b", "--json")
    assert printed(*words)["inputs"] == printed(*words)["inputs"]
    words = ("time", "pam-pu", "--tokens", "16", "--json")
    assert printed(*words)["inputs"] == printed(*words)["inputs"]


def test_own_files_are_inputs_as_they_were_named(printed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.trace").write_text(TRACE)
    (tmp_path / "mine.yaml").write_text("based_on: hbm3-5.2\nname: mine\nsource: a test\n")
    result = printed("time", "t.trace", "--memory", "mine.yaml", "--json")
    memories = inputs(result, "memory file")
    assert set(memories) == {"mine.yaml", "bankside/constraints/memory/hbm3-5.2.yaml"}
    assert inputs(result, "trace")["t.trace"]["sha256"] == hashlib.sha256(TRACE.encode()).hexdigest()


def test_kept_answers_count_their_files_again(tmp_path):
    file = tmp_path / "a"
    file.write_text("1")
    read = []

    @kept
    def number(scale):
        read.append(scale)
        return scale * int(read_bytes(file, "a number", 10))

    for _ in range(2):
        with noted_inputs() as outer:
            note_input(Input("sources", "m:f", "0"))
            assert number(2) == 2
        assert [one.kind for one in outer.values()] == ["sources", "number"]
    assert read == [2]


def test_warning_is_in_the_result_and_on_standard_error(printed, tmp_path, capsys, monkeypatch):
    from bankside.models.memory import timeline

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(timeline, "MAX_SLICES", 4)
    assert cli.main(["time", "pam-pu", "--tokens", "64", "--timeline", "v.json", "--json"]) == 0
    told = capsys.readouterr()
    [warning] = json.loads(told.out)["warnings"]
    assert warning.startswith("the timeline ends with cycle ") and told.err == f"warning: {warning}\n"


# explain ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def result(printed, tmp_path, monkeypatch):
    """A result that rests on a memory of its own and on records."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text("based_on: hbm3-5.2\nname: mine\nsource: a test\n")
    document = printed("time", "pam-pu", "--tokens", "16", "--memory", "mine.yaml", "--json")
    (tmp_path / "r.json").write_text(json.dumps(document))
    return tmp_path / "r.json"


def test_nothing_has_changed_at_once(result, printed, capsys):
    assert printed("explain", result, "--json")["unchanged"]
    assert cli.main(["explain", str(result)]) == 0
    text = capsys.readouterr().out
    assert "memory file mine.yaml" in text and text.rstrip().endswith("nothing has changed since")


def test_verilog_is_that_of_its_sources(printed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    document = printed("gen", "fp-mul", "-o", "made", "--json")
    (tmp_path / "r.json").write_text(json.dumps(document))
    assert printed("explain", "r.json", "--json")["unchanged"]
    for one in document["inputs"]:
        one["sha256"] = "0" * 32 if one["name"] == "fp-mul hardware" else one["sha256"]
    (tmp_path / "r.json").write_text(json.dumps(document))
    verilog = f"Verilog fp-mul {document['config_hash']}"
    assert printed("explain", "r.json", "--json")["changed"] == [verilog, "sources fp-mul hardware"]


def test_changed_and_missing_files_are_told(result, printed, tmp_path):
    (tmp_path / "mine.yaml").write_text("based_on: hbm3-5.2\nname: mine\nsource: another\n")
    found = printed("explain", result, "--json")
    assert found["changed"] == ["memory file mine.yaml"] and not found["unchanged"]
    (tmp_path / "mine.yaml").unlink()
    states = {one["name"]: one["state"] for one in printed("explain", result, "--json")["rests_on"]}
    assert states["mine.yaml"] == "gone" and states["bankside/constraints/memory/hbm3-5.2.yaml"] == "same"


def test_inputs_that_are_no_regular_files_are_gone(result, printed, tmp_path):
    """A FIFO is not waited for, a device not read to its end."""
    document = json.loads(result.read_text())
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "/dev/zero", "."):
        document["inputs"].append({"kind": "trace", "name": name, "sha256": "0" * 64})
    result.write_text(json.dumps(document))
    states = {one["name"]: one["state"] for one in printed("explain", result, "--json")["rests_on"]}
    assert states["pipe"] == states["/dev/zero"] == states["."] == "gone"


def test_record_of_a_configuration_that_is_gone(result, printed, monkeypatch):
    """The unit's keys have changed since."""
    document = printed("eval", "pam-hbm-only", "--model", "llama-3-70b", "--json")
    result.write_text(json.dumps(document))
    named = RecordFolder.named

    def older(folder, name, digest=""):
        record = named(folder, name, digest)
        return record.model_copy(update={"config": {**record.config, "gone": 1}})

    monkeypatch.setattr(RecordFolder, "named", older)
    found = [one for one in printed("explain", result, "--json")["rests_on"] if one["kind"] == "measurement record"]
    assert found and all(one["rests_on"][0]["state"] == "unknown" for one in found)
    assert "no longer has such a configuration" in json.dumps(found)


def test_other_tools_and_sources_are_told(result, printed):
    document = json.loads(result.read_text())
    document["tools"]["amaranth"] = "0.4.0"
    document["tools"]["bankside"] = "0.0.9.dev7+g0123456"  # another commit; its sources decide, not its name
    for one in document["inputs"]:
        if one["name"] == "bankside.studies.step_time:time_step":
            one["sha256"] = "0" * 32
    result.write_text(json.dumps(document))
    assert set(printed("explain", result, "--json")["changed"]) == {
        "tool amaranth",
        "sources bankside.studies.step_time:time_step",
    }


def test_records_are_told_down_to_their_parts(printed, tmp_path, monkeypatch):
    """A record whose Verilog came of another generator, one that is gone, and one that was measured again."""
    words = ("eval", "pam-hbm-only", "--model", "llama-3-70b", "--json")
    document = printed(*words)
    file = tmp_path / "r.json"
    file.write_text(json.dumps(document))
    assert printed("explain", file, "--json")["unchanged"]
    records = [one for one in document["inputs"] if one["kind"] == "measurement record"]
    records[0]["made_from"]["hardware"] = "0" * 32
    records[1]["sha256"] = "0" * 64
    gone = dict(records[0], name="pam-pu-0000000000000000-sim-0000000000000000")
    document["inputs"].append(gone)
    file.write_text(json.dumps(document))
    found = {one["name"]: one for one in printed("explain", file, "--json")["rests_on"]}
    verilog = found[records[0]["name"]]["rests_on"][0]
    assert verilog["kind"] == "Verilog" and verilog["state"] == "changed"
    assert (
        found[records[1]["name"]]["state"] == "changed" and found[records[1]["name"]]["why"] == "measured again since"
    )
    assert found[gone["name"]]["state"] == "gone"


def test_a_stale_record_in_front_of_the_one_that_was_used_is_no_change(printed, tmp_path):
    """The user's folder may have an older record of the same name, which nothing rests on."""
    folder = tmp_path / "records"
    folder.mkdir()
    words = ("eval", "pam-hbm-only", "--model", "llama-3-70b", "--records", folder, "--json")
    name = next(name for name in printed(*words)["records"] if "-synth-" in name)
    old = RecordFolder.read(SHIPPED / f"{name}.json")
    stale = old.model_copy(update={"made_from": {**old.made_from, "hardware": "0" * 32}})
    (folder / f"{name}.json").write_text(json.dumps(stale.model_dump(mode="json")))
    file = tmp_path / "r.json"
    file.write_text(json.dumps(printed(*words)))
    assert printed("explain", file, "--records", folder, "--json")["unchanged"]


def test_record_of_a_damaged_folder_is_told(printed, tmp_path):
    document = printed("eval", "pam-hbm-only", "--model", "llama-3-70b", "--json")
    file, folder = tmp_path / "r.json", tmp_path / "records"
    file.write_text(json.dumps(document))
    name = next(one["name"] for one in document["inputs"] if one["kind"] == "measurement record")
    folder.mkdir()
    shutil.copy(SHIPPED / f"{name}.json", folder)
    (folder / f"{name}.json").write_text("{}")
    document["inputs"] = [{**one, "sha256": "0" * 64} for one in document["inputs"]]
    file.write_text(json.dumps(document))
    found = {one["name"]: one for one in printed("explain", file, "--records", folder, "--json")["rests_on"]}
    assert found[name]["state"] == "changed" and found[name]["why"] == "measured again since"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "must be a mapping"),
        ("{}", "not what a command prints with --json: missing key 'schema'"),
        ("{", "not valid JSON"),
        ('{"schema": 9, "command": "eval", "tools": {}, "inputs": []}', "schema 9 is of another version"),
        ('{"schema": 1, "command": "eval", "tools": {}, "inputs": [{"kind": 1}]}', "inputs.0.kind"),
    ],
)
def test_what_is_no_result_is_one_line(text, message, tmp_path, capsys):
    file = tmp_path / "r.json"
    file.write_text(text)
    assert cli.main(["explain", str(file)]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
