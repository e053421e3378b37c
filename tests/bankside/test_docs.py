# amaranth: UnusedElaboratable=no
"""The documentation says what the program does: links, commands, JSON keys and tables of parameters are the real ones."""

import contextlib
import dataclasses
import fnmatch
import importlib.util
import json
import re
import shlex
import sys
from functools import cached_property
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from bankside.constraints.core.contract import Field, Layout, Port, Run, SimResult
from bankside.constraints.core.errors import BanksideError, CheckFailed, ConfigError
from bankside.constraints.core.registry import UNITS
from bankside.constraints.libraries.fpga import fpga_families
from bankside.constraints.pam.pu import PRESETS, Step
from bankside.cosim.bench.streams import EpochLog, StreamRun
from bankside.cosim.pam import pu as bench
from bankside.evidence import measure
from bankside.evidence.records import RecordFolder
from bankside.hardware import generate
from bankside.hardware.selection import select
from bankside.models.systems import calibration, kinds
from bankside.models.systems.calibration import Calibration
from bankside.pages import unit_page
from bankside.pages.block_diagram import block_diagram
from bankside.provenance import envelope
from bankside.results import schemas
from bankside.shell import cli
from bankside.shell.reference import command_tables
from tests.made_up_model import write_model

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
COMMANDS = (DOCS / "cli.md").read_text()

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="not a checkout")


def page_id(path):
    return path.relative_to(ROOT).as_posix()


def without_code(text):
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))


def anchors(path):
    """Anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


# ---- Links --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_resolve(page):
    """Relative links lead to files of the repository, and their fragments to headings."""
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, fragment = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        assert path.exists(), f"{target}: no such file"
        assert path.is_relative_to(ROOT), f"{target}: outside of the repository"
        if fragment:
            assert fragment in anchors(path), f"{target}: no such heading"


def test_anchors_are_those_of_github(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A, b: C-d\n```\n# code\n```\n## `x` y\n")
    assert anchors(page) == {"a-b-c-d", "x-y"}


def test_every_page_is_in_the_index():
    linked = set(re.findall(r"\]\(([\w/-]+\.md)\)", (DOCS / "index.md").read_text()))
    assert linked == {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} - {"index.md"}


# ---- Commands -----------------------------------------------------------------------------------------------------------


def commands_in(text):
    """Command lines in code blocks and code spans that are meant to be run: no placeholders, no alternatives."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    lines = [line.strip().removeprefix("$ ") for block in blocks for line in block.splitlines()]
    lines += [line.strip() for line in text.splitlines() if line.startswith("    ")]
    lines += re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))
    for line in lines:
        words = line.split("#")[0].split()
        if words[:1] == ["bankside"] and len(words) > 1 and not re.search(r"[\[\]|…]|\.\.\.|\b[A-Z]{3,}\b", line):
            yield line.split("  #")[0].split(" > ")[0]


#: Commands that need an argument: alone it is their name that is meant.
NAMED = ("gen", "sim", "synth", "time", "eval", "explain", "schema", "sweep", "decode", "capture")


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_commands_parse(page):
    """Every command shown is accepted by the argument parser, and what it selects exists."""
    refused = set(re.findall(r"\$ (bankside .*)\nbankside: ", page.read_text()))  # shown for its error
    for command in commands_in(page.read_text()):
        if len(command.split()) == 2 and command.split()[1] in NAMED:
            continue  # the name of a command
        arguments = cli._parser().parse_args(shlex.split(command)[1:])
        if command in refused:
            if not hasattr(arguments, "unit"):
                continue  # a reader's example file does not exist here
            with pytest.raises(BanksideError):
                select(arguments.unit, preset=arguments.preset, sets=arguments.sets)
        elif "*" in (getattr(arguments, "unit", None) or ""):
            assert fnmatch.filter(UNITS, arguments.unit)
        elif getattr(arguments, "unit", None):
            select(arguments.unit, preset=arguments.preset, sets=arguments.sets)


def test_command_lines_are_found():
    text = (
        "`bankside list`\n```console\n$ bankside gen pam-pu  # why\nbankside: no\n```\n`bankside sim UNIT [x]`\n"
        "    bankside rtl\n"
    )
    assert list(commands_in(text)) == ["bankside gen pam-pu", "bankside rtl", "bankside list"]
    assert len(list(commands_in((ROOT / "README.md").read_text()))) >= 10


def test_every_command_and_option_is_documented():
    for name in cli.COMMANDS:
        section = _section(name) + COMMANDS.split("## Selecting a configuration")[1].split("## JSON")[0]
        parser = cli._Parser()
        cli.command(name).fill(parser)
        for action in parser._actions:
            for option in action.option_strings:
                # A key of a unit's workload is documented on the page of every unit that has it.
                places = [
                    (ROOT / unit.page).read_text()
                    for unit in UNITS.values()
                    if name == "sim" and option in {key.flag for key in unit.workload.options().values()}
                ] or [section]
                for place in places:
                    assert option in ("-h", "--help") or re.search(rf"{option}\b", place), f"{name} {option}"
        assert f"`bankside {name}" in (ROOT / "README.md").read_text()


def _section(command):
    """Text of a command's section in cli.md."""
    match = re.search(rf"^## {command}$(.*?)(?=^## |\Z)", COMMANDS, re.DOTALL | re.MULTILINE)
    assert match, f"cli.md has no section on {command}"
    return match[1]


@pytest.mark.parametrize("number, error", [(1, "CheckFailed"), (2, "ConfigError"), (3, "ToolMissing")])
def test_exit_codes(number, error):
    from bankside.constraints.core import errors

    assert getattr(errors, error).exit_code == number
    assert re.search(rf"^\| {number} \|", COMMANDS, re.MULTILINE)


# ---- The page of commands ----------------------------------------------------------------------------------------------


def test_tables_of_commands_are_current():
    """Options and keys on the page are what parsers and classes say today; `tools/tables.py contract` writes them."""
    assert unit_page.fill(COMMANDS, command_tables(COMMANDS)) == COMMANDS
    named = {mark["name"] for mark in unit_page.MARK.finditer(COMMANDS)}
    shown = {kind.__name__ for kind in schemas.COMMANDS["eval"]} | {"kinds"}
    assert shown <= named and {results[0].__name__ for results in schemas.COMMANDS.values()} - {"DryRun"} <= named


@pytest.mark.parametrize("name", schemas.COMMANDS)
def test_every_key_has_a_meaning(name):
    for kind in schemas.COMMANDS[name]:
        assert [row[0] for row in unit_page.keys(kind) if not row[-1]] == [], kind.__name__


@pytest.mark.parametrize("name", [name for name in kinds() if kinds().own(name)])
def test_every_key_of_a_kind_of_system_has_a_meaning(name):
    own = kinds()[name].result
    assert own is None or [row[0] for row in unit_page.keys(own) if not row[-1]] == []


# ---- JSON keys ----------------------------------------------------------------------------------------------------------


#: Section of the keys that kinds of system add.
OWN = "eval of a kind of system"


def documented(command, system=None):
    """Keys of a command's JSON output with their types; a key of objects counts where it may be null. ``system``: keys of
    its kind alone, in the group that names it."""
    text = _section(command)
    if system is not None:
        groups = re.split(r"^\| \*(.+?)\* .*$", text, flags=re.MULTILINE)
        [text] = [keys for names, keys in zip(groups[1::2], groups[2::2], strict=True) if system in names.split(", ")]
    rows = re.findall(r"^\| `([^`]+)` \|([^|]+)\|[^|]*\|[^|]*\|$", text, re.MULTILINE)
    rows = [(key, text) for key, text in rows if "object" not in text or "null" in text]
    assert rows, command
    return dict(rows)


def paths(value, prefix=""):
    """Keys of a JSON value in the notation of the tables, with their values."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from paths(item, f"{prefix}.{key}" if prefix else key)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for item in value:
            yield from paths(item, f"{prefix}[]")
    else:
        yield prefix, value


TYPES = {
    "integer": int,
    "number": (int, float),
    "string": str,
    "boolean": bool,
    "list": list,
    "any": object,
    "object": dict,
    "null": type(None),
}


def fits(value, text):
    """Whether a value has a documented type."""
    if isinstance(value, bool) and "boolean" not in text and "any" not in text:
        return False
    if value in ({}, []) and not isinstance(value, bool):
        return True
    words = re.findall(r"\w+", re.sub(r"list of (2 numbers|strings)", "list", text))
    return any(isinstance(value, TYPES[word]) for word in words if word in TYPES)


def compare(command, result, absent=(), system=None):
    """``result`` has the documented keys and types, and no others; ``absent`` are objects that are null or empty in it.
    ``system``: its own keys alone."""
    own, shared = documented(command, system), documented("JSON")
    keys = {**shared, **own}
    found = dict(paths(json.loads(json.dumps(result))))

    def matching(path):
        if path.startswith("inputs") and found[path] in ([], {}):
            return [key for key in keys if key.startswith((f"{path}[].", f"{path}."))]
        inside = tuple(f"{key}{more}" for key, text in keys.items() if text.strip() == "any" for more in (".", "["))
        return [key for key in keys if fnmatch.fnmatchcase(path, key.replace("[]", "[[]]"))] or [
            key.rstrip(".[") for key in inside if path.startswith(key)
        ]

    unknown = [path for path in found if not matching(path) and path not in absent]
    assert not unknown, f"not documented: {unknown}"
    wrong = {
        path: value
        for path, value in found.items()
        if path not in absent and not any(fits(value, keys[key]) for key in matching(path))
    }
    assert not wrong, f"other types than documented: {wrong}"
    used = {key for path in found for key in matching(path)}
    absent = (*absent, *(path for path, value in found.items() if value is None))  # no key of an object that is null
    missing = [
        key
        for key in own
        if key not in used
        and key not in absent
        and "object" not in own[key]
        and not key.startswith(tuple(f"{a}." for a in absent))
        and not key.startswith(tuple(f"{a}[" for a in absent))
    ]
    assert not missing, f"documented but not there: {missing}"


def output(capsys, *arguments):
    assert cli.main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_list_keys(capsys):
    compare("list", output(capsys, "list"))


def test_repro_keys(capsys):
    claims = "pam-hbm-tRP,pam-cap-ddr,pam-proc,pam-pu-hbm-width,pam-hbm-tBL"
    compare("repro", output(capsys, "repro", "pam", "--claims", claims, "--no-measure"))


def test_records_keys(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("bankside.studies.inventory.asked", lambda records, papers: [])
    compare("records", output(capsys, "records", "fp-mul", "--records", str(tmp_path)))


def test_cache_keys(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("BANKSIDE_CACHE", str(tmp_path))
    (tmp_path / "formal").mkdir()
    (tmp_path / "formal" / "proof").write_text("proved")
    compare("cache", output(capsys, "cache", "--prune", "30"))


def test_gen_keys(capsys, tmp_path):
    small = ["--set", "lanes=2", "--set", "query_bytes=4", "--set", "buffer_bytes=8", "--set", "max_head_dim=4"]
    result = output(capsys, "gen", "pam-pu", *small, "-o", str(tmp_path / "out"))
    compare("gen", result)
    described = json.loads((tmp_path / "out" / "pam_pu.json").read_text())
    envelope = {key: result[key] for key in ("command", "tools", "inputs", "notes", "warnings")}
    assert {**described, "files": result["files"], **envelope} == result


def test_calibrate_keys_of_a_trace(capsys, tmp_path):
    """A token that is always active, and one at every other step: it persists as a source without memory does not."""
    path = tmp_path / "trace.jsonl"
    steps = [{"request": 0, "context": 100, "tokens": [40, 50] if k % 2 else [40]} for k in range(4)]
    header = {"format": "bankside-attention-trace", "version": 1, "requests": 1}
    path.write_text("".join(json.dumps(line) + "\n" for line in (header, *steps)))
    result = output(capsys, "calibrate", "pam", "--trace", str(path))
    compare("calibrate of a trace", result)
    assert result["sparsity"]["compression"] == pytest.approx(400 / 6) and result["sparsity"]["recent"] == 16


def test_calibrate_keys(capsys, monkeypatch):
    found = Calibration(240.5, 3.25, {"hbm": 283.1, "ddr": 5943.2, "ssd": 21565.0}, 7, False, "a made-up load")
    monkeypatch.setattr(calibration, "calibrate", lambda *arguments, **options: found)
    compare("calibrate", output(capsys, "calibrate", "pam", "--model", "llama-3-70b"))


def test_time_keys(capsys):
    compare("time", output(capsys, "time", "pam-pu", "--tokens", "33"))
    compare(
        "time",
        output(capsys, "time", "pam-pu", "--memory", "ddr4-3200", "--preset", "pam-ddr"),
        absent=("energy_breakdown_pj",),
    )


def test_time_keys_of_a_system_and_a_file(capsys, tmp_path):
    section = "time of a file or system"
    compare(
        section,
        output(
            capsys,
            "time",
            "cent:llama-2-7b",
            "--tokens",
            "3",
            "--order",
            "authors",
            "--stage",
            "attn_score",
            "--timeline",
            str(tmp_path / "t.json"),
            "--export",
            "aim",
            "--output",
            str(tmp_path / "t.aim"),
        ),
    )
    compare(
        section, output(capsys, "time", str(tmp_path / "t.aim")), absent=("timeline", "export", "stages", "details")
    )


def test_eval_keys_of_a_layer(capsys):
    compare("eval of a layer", output(capsys, "eval", "attacc", "--layer", "--tokens", "33", "--heads-per-stack", "2"))


def test_eval_keys_against_a_reference(capsys):
    reference = ROOT / "tests" / "models" / "data" / "attacc_reference.csv"
    compare("eval against a reference", output(capsys, "eval", "dgx-attacc", "--reference", str(reference)))


def test_eval_keys_of_a_system_without_units(capsys):
    result = output(capsys, "eval", "gpu-only", "--model", "llama-3-70b")
    compare("eval", result, absent=("area", "unit", "attention", "splits", "timeline"))


def test_eval_keys_of_inf2(capsys, tmp_path, inf2_records):
    """The keys of the section are those that the result has beyond those of any system; the baseline has the others."""
    command = ("--model", "opt-30b", "--batch", "4", "--context", "2000", "--records", str(inf2_records.folder))
    view = ("--timeline", str(tmp_path / "step.json"))
    common, inf2, base = (
        output(capsys, "eval", system, *command, *(view if system == "inf2" else ())).keys()
        for system in ("gpu-only", "inf2", "flexgen")
    )
    trace = json.loads((tmp_path / "step.json").read_text())
    assert len(trace["traceEvents"]) > 48 * 14 * 4  # 48 layers, 14 shards, four stages
    told = {key.split(".")[0] for name in ("inf2", "flexgen") for key in documented(OWN, name)} | {"timeline"}
    assert told == (inf2 | base) - common and "kv_at" in base - inf2


def test_eval_keys_of_starc(capsys):
    """The keys of the section are the ones that the result has beyond the keys of any system."""
    command = (
        "--prefill",
        "256",
        "--decode",
        "2",
        "--budget",
        "64",
        "--set",
        "selection.keys.heads=1",
        "--set",
        "selection.selector=null",
    )
    starc = output(capsys, "eval", "starc", *command)
    common = output(capsys, "eval", "dgx-attacc", "--model", "llama-7b", "--context", "257")
    told = {key for key, text in documented(OWN, "starc").items() if "object" not in text}
    told = {key for key in told if not key.startswith("attention.")}  # of the class before it
    parts = {key for key in told if key.startswith("selecting.")}  # null without the unit
    found = {
        re.sub(r"^(clustering\.energy_mj_per_token)\..*", r"\1.*", path)
        for path, _ in paths({key: value for key, value in starc.items() if key not in common})
    }
    assert found == told - parts | {"selecting"} and len(parts) == 6


def test_eval_keys_of_a_system_with_units(capsys, tmp_path, pu_record):
    folder = RecordFolder(tmp_path)
    folder.write(pu_record("sim"))
    folder.write(pu_record("synth", {"fo4_ps": 25.0}))
    result = output(capsys, "eval", "pam-hbm-only", "--model", "llama-3-70b", "--records", str(tmp_path))
    compare(OWN, {key: result.pop(key) for key in ("unit", "attention")}, ("unit.settings",), "pam-hbm-only")
    compare("eval", {**result, "unit": None, "attention": None}, absent=("unit", "attention", "splits", "timeline"))


def test_compile_keys(capsys, tmp_path):
    compare(
        "compile",
        output(
            capsys,
            "compile",
            "qwen1.5-7b",
            "--listing",
            "-o",
            str(tmp_path / "layer.bin"),
            "--records",
            str(tmp_path / "none"),
        ),
        absent=("operators[].commands", "parallelism.micro_batch"),
    )


def test_decode_keys(capsys, tmp_path):
    folder, text = write_model(tmp_path / "made-up", head_dim=32), tmp_path / "text"
    text.write_text("a text of some tokens")
    decoded = output(
        capsys,
        "decode",
        str(folder),
        "--prompt",
        str(text),
        "--system",
        "pam",
        "--tokens",
        "2",
        "--hazards",
        "--compare",
        "cent",
    )
    sparse = output(
        capsys, "decode", str(folder), "--prompt", str(text), "--system", "window-8-cent", "--teacher-forced"
    )
    half = output(capsys, "decode", str(folder), "--prompt", str(text), "--system", "float16", "--teacher-forced")
    compare(
        "decode",
        {
            **decoded,
            **{key: sparse[key] for key in ("details", "attention", "reads")},
            **{
                key: half[key] for key in ("time_per_token_us", "energy_per_token_mj", "time_breakdown_us", "time_line")
            },
        },
        absent=("rtl",),
    )
    compare("capture", output(capsys, "capture", str(folder), "--text", str(text), "-o", str(tmp_path / "trace")))


def test_sparse_keys(capsys, tmp_path):
    folder, text = write_model(tmp_path / "made-up", context=128), tmp_path / "text"
    text.write_text("a text of some tokens, and of a few more " * 3)
    found = output(
        capsys,
        "sparse",
        str(folder),
        "--text",
        str(text),
        "--tokens",
        "96",
        "--methods",
        "full,sparq,quest,infinigen,starc",
        "--budgets",
        "1/2",
        "--picture",
        str(tmp_path / "rows.png"),
    )
    compare("sparse", found)


def test_assembler_keys(capsys, tmp_path):
    text, words = tmp_path / "x.cent", tmp_path / "x.bin"
    text.write_text("SYNC\nEOC\n")
    compare("asm", output(capsys, "asm", str(text), "-o", str(words)))
    printed, written = (output(capsys, "disasm", str(words), *more) for more in ([], ["-o", str(text)]))
    assert "file" not in printed and "text" not in written
    compare("disasm", {**printed, **written})


def test_eval_keys_of_modules(capsys, module_records):
    result = output(capsys, "eval", "lol-pim", "--model", "qwen1.5-7b", "--records", str(module_records.folder))
    compare(OWN, {"attention": result.pop("attention")}, system="lol-pim")
    compare("eval", {**result, "attention": None}, absent=("area", "unit", "attention", "splits", "timeline"))


def test_eval_keys_of_a_workload(capsys, module_records):
    arguments = (
        "eval",
        "lol-pim",
        "--model",
        "qwen1.5-7b",
        "--workload",
        "qmsum",
        "--split",
        "8x4",
        "--set",
        "node.nodes=4",
    )
    result = output(capsys, *arguments, "--records", str(module_records.folder))
    compare("eval of a workload", result, absent=("parallelism.micro_batch",))


def test_sim_keys(monkeypatch, tmp_path):
    """The keys that the bench and the command write, with the simulator replaced by counts as it would give."""

    def simulate(config, verilog, episodes, **options):
        logs = []
        for episode in episodes:
            beats = len(config.beats(episode.steps))
            kv = {
                "moved": [beats // 2 - 1, beats // 2 - 1, 1, 1],
                "stalled": [0] * 4,
                "first": [1, 40, 0, 39],
                "last": [9, 50, 0, 39],
            }
            logs.append(EpochLog(60 + beats, *({"kv": np.array(kv[k])} for k in ("moved", "stalled", "first", "last"))))
        return bench.Outcome(
            StreamRun({}, logs, 100, 1.0),
            5,
            0,
            None,
            config=config,
            episodes=episodes,
            expected=[],
            received=[],
            max_abs_error=1e-5,
            rms_error=1e-6,
        )

    monkeypatch.setattr(bench, "simulate", simulate)
    selection = select("pam-pu", preset="pam-ddr")
    result = measure.simulate(
        selection, memory="hbm3-5.2", tokens=20, head_dim=64, seed=1, records=str(tmp_path)
    ).to_document()
    envelope.enveloped(result, "sim")  # has the keys of the class, and the unit's
    bench_keys = {*UNITS["pam-pu"].result.model_fields, *UNITS["pam-pu"].workload.options()} - {*SimResult.model_fields}
    assert {key for run in result["runs"].values() for key in run} == {*Run.model_fields}
    assert all(f"`{key}`" in (DOCS / "cli.md").read_text() for key in Run.model_fields)
    shared = {key: value for key, value in result.items() if key not in bench_keys}
    compare("sim", {**shared, "runs": {}}, absent=("runs",))


def test_synth_keys(monkeypatch, tmp_path):
    """The keys that synthesis writes, of a design that has everything: logic, registers, a memory above the threshold."""
    text = (
        "module pam_pu(input clk, input [4:0] a, input [31:0] d, input we, output reg [31:0] q);\n"
        "  reg [31:0] memory [0:31];\n"
        "  always @(posedge clk) begin\n    if (we) memory[a] <= d;\n    q <= memory[a] ^ q;\n  end\nendmodule\n"
    )
    monkeypatch.setattr(generate, "verilog", lambda selection: text)
    result = measure.synthesise(select("pam-pu"), records=str(tmp_path))
    assert result.memory_bits == 1024
    envelope.enveloped(result.to_json(), "synth")
    compare("synth", result.to_document())


def test_writeback_keys(capsys, tmp_path):
    result = output(capsys, "writeback", "--tokens", "5", "--prefill", "8", "--dir", str(tmp_path), "--keep")
    compare("writeback", result)
    compare("writeback of a file", output(capsys, "writeback", "--check", result["file"]))


@pytest.mark.slow
def test_synth_keys_of_an_fpga(monkeypatch, tmp_path):
    text = (
        "module pam_pu(input clk, input [4:0] a, input [31:0] d, input we, output reg [31:0] q);\n"
        "  reg [31:0] memory [0:31];\n"
        "  always @(posedge clk) begin\n    if (we) memory[a] <= d;\n    q <= memory[a] ^ q;\n  end\nendmodule\n"
    )
    monkeypatch.setattr(generate, "verilog", lambda selection: text)
    result = measure.synthesise_fpga(select("pam-pu"), fpga="xcup", records=str(tmp_path))
    assert result.memories[0].becomes == "lutram"
    envelope.enveloped(result.to_json(), "synth")
    compare("synth on an FPGA", result.to_document())


def test_totals_of_devices_are_those_of_the_file():
    page = (ROOT / "docs" / "synthesis.md").read_text()
    for family in fpga_families().values():
        for name, device in family.devices.items():
            totals = (device.lut, device.ff, device.bram, device.uram, device.dsp)
            assert f"| `{name}` ({device.title}) | " + " | ".join(f"{total:,}" for total in totals) + " |" in page


@pytest.mark.parametrize(
    "command, change",
    [
        ("list", lambda r: r.pop("units")),
        ("list", lambda r: r.update(extra=1)),
        ("list", lambda r: r.update(schema="1")),
        ("time", lambda r: r["commands"].clear()),
    ],
)
def test_differences_are_found(capsys, command, change):
    """The comparison itself: a key too few, one too many, another type."""
    result = output(capsys, *{"list": ["list"], "time": ["time", "pam-pu", "--tokens", "1"]}[command])
    change(result)
    with pytest.raises(AssertionError):
        compare(command, result)


# ---- Pages of units and generated tables --------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", UNITS.values(), ids=lambda unit: unit.name)
def test_every_unit_has_its_page(unit, monkeypatch, nothing_kept):
    """The page exists and names every preset, parameter, port (a stream by its payload, of many alike the first) and
    latency of the unit, and the paper. No Verilog is made for it."""
    monkeypatch.setattr(
        generate, "_generate", lambda unit, config, name: ("\n  input clk;", unit.load_generator()(config))
    )
    text = (ROOT / unit.page).read_text()
    described = generate.describe(select(unit.name))
    payloads = {re.sub(r"__(valid|ready)$", "__payload", port.name) for port in described.ports}
    ports = {re.sub(r"_\d+__payload$", "_0__payload", name) for name in payloads}
    words = [*unit.presets, *unit.config.model_fields, *ports, *described.latency_cycles, unit.source.split(" (")[0]]
    assert [word for word in words if word not in text] == []
    for heading in (
        "Block diagram",
        "Ports",
        "Protocol",
        "Numerics",
        "Pipeline and latency",
        "Measured",
        "Bench",
        "Differences from the paper",
    ):
        assert re.search(rf"^## {heading}", text, re.MULTILINE), heading


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("tables", ROOT / "tools" / "tables.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["tables"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["tables"]


@pytest.mark.parametrize("page", dict.fromkeys(unit.page for unit in UNITS.values()))
def test_tables_of_contracts_are_current(page):
    """Parameters, ports, options and keys of a page's units are what their contracts say today;
    `tools/tables.py contract` writes them anew."""
    text = (ROOT / page).read_text()
    tables = unit_page.contract_tables([unit for unit in UNITS.values() if unit.page == page], "../diagrams")
    shown = {m["name"]: m["text"] for m in unit_page.MARK.finditer(text)}
    assert {name: shown.get(name) for name in tables} == {name: table + "\n" for name, table in tables.items()}


@pytest.mark.parametrize("unit", UNITS.values(), ids=lambda unit: unit.name)
def test_block_diagrams_are_current(unit):
    """The picture of a unit is drawn from its contract today and shows every port, its bits and its fields."""
    for preset in unit.presets.values():
        for name, found in vars(type(preset)).items():
            if isinstance(found, cached_property):
                getattr(preset, name)  # the configuration keeps it, but it is no part of the unit
    text = (DOCS / "diagrams" / f"{unit.name}.svg").read_text()
    preset = next(iter(unit.presets))
    assert text == block_diagram(unit, preset)
    shown = [
        element.text or "" for element in ElementTree.fromstring(text).iter() if element.tag.endswith(("text", "tspan"))
    ]
    for port, count in unit_page.port_rows(unit.presets[preset].ports()):
        assert port.name in shown and any(line.startswith(f"{port.layout.bits} bit") for line in shown)
        assert count == 1 or any(line.endswith(f"{count} ports") for line in shown)
        for _, one in () if port.layout.is_plain else port.layout.items():
            assert f"{one.name} {one.bits}" in shown


@pytest.mark.parametrize("unit", UNITS.values(), ids=lambda unit: unit.name)
def test_everything_in_a_contract_is_described(unit):
    """Every row of a unit's tables has a meaning."""
    for name, make in unit_page.CONTRACT_TABLES.items():
        rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in make(unit).splitlines()[2:]]
        assert rows and [row[0].strip() for row in rows if not row[-1].strip()] == [], name


def numbers(count, bits=8, meaning="number of source {}"):
    return [
        Port(f"i_{n}", "in", Layout.of(Field("a", bits, "a"), Field("b", 2, "b")), meaning.format(n))
        for n in range(count)
    ]


class Ports:
    """As much of a configuration as a table of ports needs."""

    def __init__(self, *ports):
        self.ports = lambda: ports


@pytest.mark.parametrize(
    "first, second, rows",
    [
        # One row for ports that are alike in each preset; fields with offsets.
        (
            numbers(2),
            numbers(3, 4),
            [
                "`i_0__payload` …, 2 / 3 in all | in | 10 / 6 | number of source 0",
                "`.a` |  | 8 / 4 at 0 | a",
                "`.b` |  | 2 at 8 / 4 | b",
            ],
        ),
        # A row for each if they differ in more than their numbers: bits, meaning.
        (
            numbers(1),
            [*numbers(1), *numbers(2, 16)[1:]],
            [
                "`i_0__payload` | in | 10 | number of source 0",
                "`.a` |  | 8 at 0 | a",
                "`.b` |  | 2 at 8 | b",
                "`i_1__payload` | in | - / 18 | number of source 1",
                "`.a` |  | - / 16 at - / 0 | a",
                "`.b` |  | - / 2 at - / 16 | b",
            ],
        ),
        (
            numbers(2, meaning="as {}"),
            [*numbers(1, meaning="as {}"), *numbers(2, meaning="unlike {}")[1:]],
            [
                "`i_0__payload` | in | 10 | as 0",
                "`.a` |  | 8 at 0 | a",
                "`.b` |  | 2 at 8 | b",
                "`i_1__payload` | in | 10 | as 1 / unlike 1",
                "`.a` |  | 8 at 0 | a",
                "`.b` |  | 2 at 8 | b",
            ],
        ),
        # A port without handshake; one that a preset lacks.
        ([Port("s", "out", Layout.plain(3), "state", stream=False)], [], ["`s` | out | 3 / - | state"]),
    ],
)
def test_rows_of_ports(first, second, rows):
    unit = dataclasses.replace(UNITS["pam-ru"], presets={"x": Ports(*first), "y": Ports(*second)})
    assert [line[2:-2] for line in unit_page.ports(unit).splitlines()[2:]] == rows


def test_parts_are_named_by_unit_and_preset():
    """A part of a configuration is shown as the nearest preset of its unit and what differs."""
    unit = UNITS["pam-bank-group"]
    config = select(unit.name, sets=["processing.score_tiles=1"]).config
    shown = unit_page.parameters(dataclasses.replace(unit, presets={"x": config}))
    assert "| `processing` | pam-pu pam-hbm, `score_tiles` 1 | each processing unit |" in shown


def test_tables_are_put_at_their_marks():
    text = "a\n<!-- table x -->\nold\n<!-- end -->\n<!-- table y -->\nstays\n<!-- end -->\n"
    made = unit_page.table(["h"], [["1 | 2"]])
    assert made == "| h |\n| --- |\n| 1 \\| 2 |"
    assert unit_page.fill(text, {"x": made}) == text.replace("old", made)


@pytest.mark.parametrize(
    "name",
    [
        "windows",
        "exponential",
        "interface_memories",
        *(f"dispatcher_{part}" for part in ("words", "commands", "errors", "registers")),
        *(f"cent_{part}" for part in ("words", "instructions", "errors")),
    ],
)
def test_tables_of_the_tool_are_current(tool, name):
    """What needs no measurement is compared; `tools/tables.py` writes all tables anew."""
    shown = [
        m["text"] for page in tool.PAGES for m in tool.MARK.finditer((ROOT / page).read_text()) if m["name"] == name
    ]
    assert shown == [tool.tables()[name][1]() + "\n"]


def test_tables_of_shipped_records_are_current(tool, monkeypatch, tmp_path):
    """A table of measurements says what the records say, if all of its records come with the package."""

    def refuse(measurement, *_):
        raise CheckFailed(measurement.command)

    monkeypatch.setenv("BANKSIDE_RECORDS", str(tmp_path))
    monkeypatch.setattr(RecordFolder, "find", lambda self, measurement: self.look(measurement).record)
    monkeypatch.setattr(measure, "make", refuse)
    same = {}
    for page in tool.PAGES:
        for mark in tool.MARK.finditer((ROOT / page).read_text()):
            sources = {line.split()[0] for line in (mark["declaration"] or "").splitlines() if line.strip()}
            if sources & {"synth", "sim", "sweep"} and not sources & {"rows", "eval", "unit"}:
                with contextlib.suppress(CheckFailed):
                    same[mark["name"]] = tool.made(mark["declaration"], mark["text"]) + "\n" == mark["text"]
    assert [name for name, equal in same.items() if not equal] == [] and len(same) >= 40


def test_a_table_says_what_is_wrong(tool):
    """A fault in a comment is one line that names the word, the key or the columns."""
    head = "| preset | kGE |\n| --- | --- |\n"
    for comment, message in (
        ("synth pam-pu preset=pam-hbm\n| {preset} | {area_gee} |", "'area_gee'"),
        ("synt pam-pu preset=pam-hbm\n| {preset} | 1 |", "did you mean 'synth'"),
        ("unit pam-pu preset=pam-hbm\n| {preset} |", "the heading has 2"),
        ("unit pam-pu presett=pam-hbm\n| {preset} | @areass |", "areas"),
        ("unit pam-pu preset=pam-hbm\nlet x = config.lanez\n| {preset} | {x} |", "config.lanez"),
    ):
        with pytest.raises(ConfigError, match=re.escape(message)) as error:
            tool.made(comment, head)
        assert "\n" not in str(error.value)


def test_rows_of_a_group_repeat_cells(tool):
    rows = "unit pam-pu preset=pam-hbm lanes=8,16 # of PAM\ngroup preset\n"
    comment = rows + "| {label} | * {config.lanes} |\n| {every[1].lanes} | 1 | 2 |"
    assert tool.made(comment, "| a | b | c |\n| --- | --- | --- |\n| old |").splitlines()[2:] == [
        "| of PAM | 8 | 16 |",
        "| 16 | 1 | 2 |",
    ]


def test_no_table_is_empty(tool):
    held = [m for page in tool.PAGES for m in tool.MARK.finditer((ROOT / page).read_text())]
    contracts = {*unit_page.CONTRACT_TABLES, "pictures", "registers", *command_tables(COMMANDS)}
    assert {m["name"] for m in held} == {*tool.tables(), *contracts}
    assert [m["name"] for m in held if not m["text"].strip()] == []


def test_latencies_on_the_page_are_the_units():
    """The page states the unit's latencies as numbers."""
    latency = generate.describe(select("pam-pu")).latency_cycles
    text = (DOCS / "pam" / "pu.md").read_text()
    for name, cycles in latency.items():
        assert re.search(rf"\(`{name}`\) \| {cycles} \|", text), name


#: How a page states what the bench of a preset compares, with the defaults of its workload.
COMPARED = re.compile(r"`bankside sim ([\w-]+) --preset ([\w-]+)` compares ([\d,]+) [\w, ]+; 0 mismatches\.")


def test_counts_of_compared_results_are_those_of_the_records():
    """A page says so in one form only, and the shipped record of the preset says the same."""
    stated = {}
    for page in dict.fromkeys(unit.page for unit in UNITS.values()):
        text = (ROOT / page).read_text()
        found = COMPARED.findall(text)
        assert len(found) == text.count("0 mismatches"), page
        stated |= {(unit, preset): int(count.replace(",", "")) for unit, preset, count in found}
    assert len(stated) >= 9
    records = RecordFolder("no such folder")
    measured = {
        (unit, preset): records.look(measure.measurement_of("sim", select(unit, preset=preset))).record
        for unit, preset in stated
    }
    assert stated == {key: record and record.results["vectors"] for key, record in measured.items()}


def test_order_of_the_examples():
    """The worked examples of the unit's page are the order that the configuration gives."""
    hbm = PRESETS["pam-hbm"]
    assert [(t, v, n * hbm.chunks(128)) for _, t, v, n in hbm.phases([Step(70, 128)])] == [
        (0, 0, 256),
        (1, 0, 256),
        (0, 1, 256),
        (2, 0, 48),
        (1, 1, 256),
        (2, 1, 48),
    ]
    ddr = PRESETS["pam-ddr"]
    assert [(t, v, n * ddr.chunks(128)) for _, t, v, n in ddr.phases([Step(40, 128)])] == [
        (0, 0, 512),
        (0, 1, 512),
        (1, 0, 512),
        (1, 1, 512),
        (2, 0, 256),
        (2, 1, 256),
    ]
    first = ddr.beats([Step(40, 128)])[:512]
    some = [(int(b["token"]), int(b["chunk"])) for b in first[[0, 7, 8, 127, 128]]]
    assert some == [(0, 0), (0, 7), (1, 0), (15, 7), (0, 8)]


def test_nothing_is_left_to_fill_in():
    for page in PAGES:
        assert not re.search(r"@@|TODO|FIXME|XXX", page.read_text()), page_id(page)


def test_the_picture_is_an_svg_with_a_background():
    import xml.etree.ElementTree as ET

    root = ET.parse(DOCS / "loop.svg").getroot()
    assert isinstance(root, ET.Element) and root.tag.endswith("svg")
    background = root.find("{*}rect")
    assert background is not None and background.get("fill") == "#fff"
    assert isinstance(root.find("{*}title"), ET.Element)
