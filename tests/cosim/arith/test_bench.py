# amaranth: UnusedElaboratable=no
"""Operators as units: bit-exact in Verilog, with vectors of a file, and errors that are told."""

import json
import re

import numpy as np
import pytest
from amaranth import Value

from bankside.constraints.arith.units import Operand, operand_layout
from bankside.constraints.core.formats import BF16, FP16, FP32, IntegerFormat, float_format
from bankside.constraints.core.registry import UNITS
from bankside.cosim.arith.units import stimulus
from bankside.hardware.selection import select
from bankside.shell.cli import main

#: Known sums: operands, result, flags as TestFloat writes them.
LINES = """\
3C00 3C00 4000 00
0001 0001 0002 00
7BFF 7BFF 7C00 05
FC00 7C00 7E00 10
7D01 3C00 7F01 10
8000 8000 8000 00
3C00 1000 3C00 01
3C00 1001 3C01 01
"""


@pytest.fixture
def bankside(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("BANKSIDE_RECORDS", str(tmp_path / "records"))
    monkeypatch.chdir(tmp_path)

    def run(*words):
        code = main(list(words))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_payloads_are_packed_and_unpacked():
    rng = np.random.default_rng(0)
    fields = [
        Operand(float_format("e4m3")),
        Operand(FP16, 3),
        Operand(IntegerFormat(7, True)),
        Operand(FP32),
        Operand(IntegerFormat(64, False)),
    ]
    columns = [
        rng.integers(0, 256, 50),
        rng.integers(0, 65536, (50, 3)),
        rng.integers(-64, 64, 50),
        rng.integers(0, 1 << 32, 50),
        rng.integers(-(1 << 62), 1 << 62, 50),
    ]
    layout = operand_layout({f"f{n}": field for n, field in enumerate(fields)})
    payload = layout.pack({f"f{n}": column for n, column in enumerate(columns)})
    assert payload.shape == (50, -(-(8 + 48 + 7 + 32 + 64) // 8))
    assert payload[0, 0] == columns[0][0] and int.from_bytes(payload[3, 1:3].tobytes(), "little") == columns[1][3, 0]
    for got, want in zip(layout.unpack(payload).values(), columns, strict=True):
        assert np.array_equal(got, want)


def test_all_operands_where_they_are_few():
    (all_of_them,) = stimulus({"a": Operand(BF16)}, 10, 1)
    assert np.array_equal(all_of_them, np.arange(1 << 16))
    a, b = stimulus({"a": Operand(float_format("e4m3")), "b": Operand(float_format("e4m3"))}, 10, 1)
    assert len({(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)}) == 1 << 16


@pytest.mark.parametrize(
    "words",
    [
        ("fp-add", "--format", "e4m3"),
        ("fp-mul", "--format", "e4m3", "--set", "depth=2"),
        ("fp-dot", "--preset", "fp16-accumulate", "--set", "lanes=4", "--count", "3000"),
        ("fp-div", "--format", "e5m2", "--variant", "iterative"),
        ("fp-exp", "--format", "e4m3"),
        ("fp-compare", "--format", "e3m2"),
        ("fp-convert", "--format", "i8", "--set", "target=e4m3"),
        ("fp-vector", "--variant", "mac", "--format", "e4m3", "--set", "lanes=2", "--count", "2000"),
    ],
    ids=" ".join,
)
def test_unit_is_bit_exact(bankside, words):
    code, out, err = bankside("sim", *words, "--json")
    result = json.loads(out)
    assert code == 0 and result["mismatches"] == 0 and result["differences"] == [] and result["record"]
    assert result["vectors"] == result["runs"]["full_rate"]["vectors"] or "accumulate" in words[2]
    selection = select(
        words[0],
        preset=words[2] if words[1] == "--preset" else None,
        sets=[
            f"{k[2:]}={v}" if k != "--set" else v
            for k, v in zip(words[1::2], words[2::2], strict=True)
            if k in ("--format", "--variant", "--set")
        ],
    )
    assert result["config_hash"] == selection.config_hash
    if "iterative" not in words and "accumulate" not in words[2]:
        assert result["latency_cycles"] == selection.config.depth and result["items_per_cycle"] == 1


def test_vectors_of_a_file(bankside, tmp_path):
    """TestFloat's own NaN (a payload) is as good as the canonical one; flags are not looked at and may be missing."""
    (tmp_path / "v.txt").write_text(LINES + "3C00 BC00 0000\n")
    code, out, _ = bankside("sim", "fp-add", "--format", "fp16", "--vectors", "v.txt", "--json")
    result = json.loads(out)
    assert code == 0 and (result["vectors"], result["mismatches"], result["record"]) == (9, 0, None)
    assert result["vectors_file"] == "v.txt"


def test_differences_are_listed_and_counted(bankside, tmp_path):
    (tmp_path / "v.txt").write_text(LINES.replace("0001 0001 0002", "0001 0001 0003").replace("7C00 05", "7BFF 05"))
    code, out, err = bankside("sim", "fp-add", "--vectors", "v.txt", "--json")
    result = json.loads(out)
    assert code == 1 and result["mismatches"] == 2 and result["record"] is None
    assert result["differences"] == [
        "full_rate: a=0001 b=0001: result 0002, expected 0003",
        "full_rate: a=7BFF b=7BFF: result 7C00, expected 7BFF",
    ]
    assert err.splitlines()[-1] == f"bankside: 2 of 8 results differ; first: {result['first_mismatch']}"
    text = bankside("sim", "fp-add", "--vectors", "v.txt")[1]
    assert "2 DIFFER" in text and "expected 0003" in text


def test_planted_error_is_found(bankside, monkeypatch):
    """A result bit stuck at 0."""
    from bankside.hardware import generate

    good = generate.verilog(select("fp-add", sets=["format=e4m3"]))
    bad, count = re.subn(r"(assign o__payload = )([^;]*);", r"\1(\2) & 8'hfe;", good)
    assert count == 1
    monkeypatch.setattr("bankside.hardware.generate.verilog", lambda s: bad)
    code, out, err = bankside("sim", "fp-add", "--format", "e4m3", "--json")
    result = json.loads(out)
    assert code == 1 and result["mismatches"] > 10_000 and len(result["differences"]) == 20
    assert "Traceback" not in err


BAD_FILES = {
    "no such file": (None, r"v.txt: no such file or directory"),
    "empty": ("", r"v.txt: no vectors"),
    "words": (LINES + "3C00 4000\n", r"v.txt:9: 2 words; a line has 2 operands, a result and perhaps flags"),
    "no number": (LINES + "3C00 4000 xyz 00\n", r"v.txt:9: .*xyz.* is not hexadecimal"),
    "too wide": ("3C00 14000 3C00 00\n", r"v.txt:1: '14000' has more than the 16 bits of fp16"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_vectors_are_told(bankside, tmp_path, name):
    text, pattern = BAD_FILES[name]
    if text is not None:
        (tmp_path / "v.txt").write_text(text)
    code, out, err = bankside("sim", "fp-add", "--vectors", "v.txt")
    assert code == 2 and out == "" and re.fullmatch(f"bankside: {pattern}", err.splitlines()[-1]), err


@pytest.mark.parametrize(
    ("words", "pattern"),
    [
        ("sim fp-add --tokens 3", r"sim fp-add takes no --tokens \(valid: --vectors, --count\)"),
        ("sim pam-pu --vectors x", r"sim pam-pu takes no --vectors \(valid: --memory, --tokens, --head-dim\)"),
        ("sim fp-dot --vectors x", r"x: files of vectors are for operators of single numbers with one result"),
        (
            "gen fp-mul --format fp17",
            r".*unknown format 'fp17'; did you mean 'fp16'\?.* eEmF with E in 2..11 and F in 1..27.*",
        ),
        ("gen fp-mul --set depth=65", r".*depth: .*64, not 65"),
        ("gen fp-div --variant radix", r".*variant: .*'pipelined' or 'iterative', not 'radix'"),
        (
            "gen fp-convert --format i16 --set target=u8",
            r".*format and target must not both be integers, not i16 and u8.*",
        ),
        ("gen fp-convert --format i99", r".*integers must have 2..64 bits, not 99.*"),
        ("gen fp-dot --variant accumulate", r".*depth must be 1 or more with variant accumulate.*"),
        ("gen fp-activation --set entries=100", r".*entries must be a power of two, not 100.*"),
        ("gen pam-pu --variant x", r".*unknown key 'variant'.*"),
        ("synth fq-*", r"unknown unit 'fq-\*'.*"),
    ],
)
def test_wrong_options_are_told(bankside, words, pattern):
    code, out, err = bankside(*words.split())
    assert code == 2 and re.fullmatch(f"bankside: {pattern}", err.splitlines()[-1]), err


def test_synthesis_of_many_units(bankside):
    code, out, _ = bankside("synth", "fp-co*", "--format", "e3m2", "--effort", "area", "--json", "--dry-run")
    chosen = json.loads(out)["selections"]
    assert (
        code == 0 and any(text.startswith("fp-compare") for text in chosen) and any("fp-convert" in t for t in chosen)
    )
    code, out, _ = bankside("synth", "fp-comp*", "--preset", "fp16", "--effort", "area")
    lines = out.splitlines()
    assert code == 0 and lines[0] == "generic, effort area" and lines[2].split()[:2] == ["fp-compare", "fp16"]
    assert 30 < int(lines[2].split()[2]) < 1000


def test_waveform_has_numbers(bankside, tmp_path):
    code, out, _ = bankside("sim", "fp-mul", "--format", "e4m3", "--set", "depth=1", "--waves", "--json")
    assert code == 0
    wave = json.loads(out)["waves"]
    assert wave and (tmp_path / "out" / "waves").is_dir()


def test_every_preset_is_generated_and_described():
    for unit in UNITS.values():
        if unit.name.startswith("fp-"):
            for name, config in unit.presets.items():
                component = unit.load_generator()(config)
                component._MustUse__silence = True  # looked at, not built
                assert component.latency["result"] >= 0, (unit.name, name)
                for port in config.ports():
                    assert len(Value.cast(getattr(component, port.name).payload)) == port.layout.bits, (unit.name, name)
