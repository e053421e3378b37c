"""What commands print with ``--json``, against stored outputs: keys, types and order of every command, and values where
nothing is measured. ``pytest tests/bankside/test_outputs.py --write-outputs`` stores them again."""

from __future__ import annotations

import itertools
import json
import math
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from bankside.constraints.core.registry import UNITS
from bankside.constraints.core.workspace import note_input
from bankside.evidence import measure, records
from bankside.evidence.records import SHIPPED, RecordFolder
from bankside.hardware import generate
from bankside.models.systems import system_names
from bankside.shell import cli
from tests.made_up import SIM
from tests.made_up_model import TEXT, write_model

STORED = Path(__file__).with_name("outputs")
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Case:
    """A command line, without ``--json``.

    Attributes
    ----------
    name : of its files
    words : the command line; it runs in a folder that has the files of :func:`given`
    values : whether values are compared; else the form alone is
    text : whether the text for people is compared too
    before : command lines that run first; one with ``>`` keeps its output in a file
    slow : whether it costs more than 2 processor seconds
    json : whether ``--json`` is added
    """

    name: str
    words: str
    values: bool = True
    text: bool = True
    before: tuple[str, ...] = ()
    slow: bool = False
    json: bool = True


def _systems() -> Iterator[Case]:
    """An evaluation of every built-in system."""
    dear = ("attacc", "aimx-pim", "cent", "gpu-lol-pim", "inf2", "l-pim", "pam-hbm-only", "pam")
    for name in (one for one in system_names() if "toy" not in one):
        yield Case(f"eval-{name}", f"eval {name} --model llama-2-7b --context 300 --batch 4", slow=name in dear)


def _form(name: str, words: str, **others: Any) -> Case:
    return Case(name, words, values=False, text=False, **others)


_RUNS = "eval gpu-a100 --reference runs.yaml"
_SERVE = "serve gpu-only --model llama-3-70b --workload requests.jsonl"
_SPARSE = "sparse model --text story.txt --tokens 96 --budgets 1/2 --methods"
_DECODE = "decode model --prompt story.txt"

CASES = [
    _form("doctor", "doctor"),
    _form("list", "list"),
    Case("list-memory", "list --memory hbm3-5.2"),
    _form("gen", "gen fp-mul --format e4m3 -o made"),
    *(
        Case(f"{command}-dry-run", f"{command} {unit} --dry-run", text=False, json=False)
        for command, unit in (("gen", "pam-pu"), ("sim", "fp-dot"), ("synth", "pam-ru"), ("time", "pam-pu"))
    ),
    Case("synth-all-dry-run", "synth fp-m* --dry-run", text=False, json=False),
    *(Case(f"sim-{unit}", f"sim {unit}") for unit in SIM),
    _form("sim-measured", "sim fp-mul --format e4m3 --count 20", slow=True),
    _form("synth", "synth fp-mul --format e4m3"),
    _form("synth-all", "synth fp-mu* --preset fp16 --format e4m3", slow=True),
    _form("synth-fpga", "synth fp-mul --format e4m3 --fpga xcup", slow=True),
    Case("time-unit", "time pam-pu --tokens 33"),
    Case("time-unit-ddr", "time pam-pu --preset pam-ddr --memory ddr4-3200"),
    Case("time-system", "time cent:llama-2-7b --tokens 3", slow=True),
    Case(
        "time-stage",
        "time cent:llama-2-7b --tokens 3 --order authors --stage attn_score --timeline t.json --export aim --output t.aim",
    ),
    Case("time-aim", "time trace.aim"),
    Case("time-requests", "time trace.requests --memory hbm3-5.2", slow=True),
    Case("time-attacc", "time trace.attacc --quirks attacc-simulator"),
    Case("time-program", "time trace.program --memory hbm3-5.2"),
    Case(
        "time-words", "time layer.bin --tokens 300", before=("compile qwen1.5-7b --tokens 300 -o layer.bin",), slow=True
    ),
    *_systems(),
    Case("eval-pam-hbm-only-steps", "eval pam-hbm-only --model llama-3-70b --context 512 --batch 4 --output-tokens 3"),
    Case("eval-steps-of-starc", "eval starc --prefill 256 --decode 2 --budget 64", slow=True),
    Case("eval-instances", "eval gpu-only --model llama-3-70b --instances 2"),
    Case("eval-split", "eval gpu-only --model llama-3-70b --split auto"),
    Case("eval-timeline", "eval gpu-only --model llama-3-70b --timeline step.json"),
    Case("eval-workload", "eval lol-pim --model qwen1.5-7b --workload qmsum --split 8x4 --set node.nodes=4"),
    Case("eval-layer", "eval attacc --layer --tokens 33 --heads-per-stack 2"),
    Case("eval-layer-trace", "eval attacc --layer --tokens 33 --heads-per-stack 2 --quirks none --trace layer.trace"),
    _form("eval-reference", "eval dgx-attacc --reference reference.csv"),
    Case("eval-runs", _RUNS),
    Case("compile", "compile qwen1.5-7b --tokens 300"),
    Case("compile-operator", "compile qwen1.5-7b --tokens 300 --operator attention_score --listing"),
    _form("compile-listing", "compile qwen1.5-7b --tokens 300 --listing -o layer.bin"),
    _form("decode", f"{_DECODE} --system pam --tokens 2 --compare cent --hazards", slow=True),
    _form("decode-forced", f"{_DECODE} --system float16 --teacher-forced"),
    _form("decode-sparse", f"{_DECODE} --system window-8-cent --teacher-forced"),
    Case("capture", "capture model --text story.txt -o captured"),
    _form("sparse", f"{_SPARSE} full,sparq,quest,infinigen,starc,window,top"),
    _form("sparse-picture", f"{_SPARSE} full,starc --no-perplexity --picture rows.svg", slow=True),
    Case("asm", "asm block.cent -o block.hex"),
    Case("disasm", "disasm block.hex", before=("asm block.cent -o block.hex",)),
    Case("disasm-file", "disasm block.hex -o again.cent", before=("asm block.cent -o block.hex",)),
    Case("serve", _SERVE),
    Case("serve-workload", "serve gpu-only --model llama-3-70b --workload sharegpt --requests 20 --rate 2 --slo 50"),
    Case("serve-chunked", f"{_SERVE} --chunked --instances 2 --ttft-slo 900 --csv rows.csv --write-requests r.tsv"),
    Case("serve-batch", f"{_SERVE} --search batch --slo 50"),
    Case("serve-rate", f"{_SERVE} --search rate --slo 50"),
    Case("repro-papers", "repro --list"),
    *(Case(f"repro-{paper}-list", f"repro {paper} --list") for paper in ("cent", "inf2", "lol-pim", "pam", "starc")),
    *(
        Case(f"repro-{paper}", f"repro {paper} --no-measure --claims {claims}")
        for paper, claims in (
            ("cent", "cent-pu-mac,cent-batch,cent-table1-aim"),
            ("inf2", "inf2-hw-csd,inf2-hw-fpga,inf2-res-lut"),
            ("lol-pim", "lolpim-hw-mod,lolpim-hw-freq,lolpim-dpa-row,lolpim-dpa-example"),
            ("pam", "pam-hbm-tRP,pam-cap-ddr,pam-proc,pam-pu-hbm-width,pam-hbm-tBL"),
            ("starc", "starc-banks,starc-access,starc-metric"),
        )
    ),
    Case("sweep", "sweep gpu-only context=512,1024 --model llama-3-70b --output rows.csv --workers 1"),
    Case(
        "sweep-pareto",
        "sweep gpu-only batch=1,8 --model llama-3-70b --output rows.jsonl --workers 1"
        " --pareto tpot_ms,throughput_tok_s --picture front.svg",
        slow=True,
    ),
    Case(
        "sweep-serving",
        "sweep gpu-only rate=1,2 --model llama-3-70b --workload sharegpt --requests 20 --output rows.csv --workers 1",
    ),
    _form("sweep-unit", "sweep fp-mul format=e3m2,e4m3 --output rows.csv --workers 1", slow=True),
    Case("calibrate", "calibrate pam --model opt-175b --rounds 1", slow=True),
    Case("calibrate-trace", "calibrate pam --trace attention.jsonl"),
    _form("rtl", "rtl -o made"),
    _form("records", "records fp-mul"),
    _form("check", "check fp-compare"),
    _form("explain", "explain result.json", before=("eval gpu-only --model llama-2-7b --json > result.json",)),
    _form("kernels", "kernels"),
    _form("cache", "cache"),
    _form("cache-prune", "cache --prune 1000000"),
    _form("writeback", "writeback --tokens 5 --prefill 8 --dir spilled --keep"),
    _form(
        "writeback-check",
        "writeback --check spilled/SPILL",
        before=("writeback --tokens 5 --prefill 8 --dir spilled --keep",),
    ),
    _form("bench", "bench"),
]

#: Commands that are not compared: code for a shell, descriptions of results, and minutes of measurements.
NOT_COMPARED = {"completion", "schema", "demo"}


# ---- What commands read -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("model") / "model", head_dim=32, context=128)


def given(folder: Path, model: Path) -> None:
    """Write the files that the command lines of :data:`CASES` name."""
    text = {
        "story.txt": TEXT[:100],
        "trace.aim": "AiM WR_GB 64 0 0xffff0000\nAiM MAC_ABK 64 0xffff0000 12\nAiM EOC\n",
        "trace.requests": "LD 0x00001000\nST 4160\n",
        "trace.attacc": "PIM_WR_GB 0x00000000\nPIM_MAC_AB 0x00000020\nPIM_BARRIER 0x00000000\n",
        "trace.program": "loop i0 < 8\n  loop i1 < 32\n    MAC_AB row=4+i0 column=i1\n  wait 12\n",
        "block.cent": "SYNC\nEOC\n",
        "runs.yaml": (
            "cent_gpu_measured:\n  latency_s_batch1: {Llama2-7B: [42.969, 1]}\n  llama2_70b_batch_latency_s: {1: 127}\n"
        ),
        "requests.jsonl": "".join(
            json.dumps({"input_toks": 100 + 30 * k, "output_toks": 20 + k, "arrival_time_ns": k * 10**8}) + "\n"
            for k in range(8)
        ),
        "attention.jsonl": "".join(
            json.dumps(line) + "\n"
            for line in (
                {"format": "bankside-attention-trace", "version": 1, "requests": 1},
                *({"request": 0, "context": 100, "tokens": [40, 50] if k % 2 else [40]} for k in range(4)),
            )
        ),
    }
    for name, contents in text.items():
        (folder / name).write_text(contents)
    (folder / "model").symlink_to(model)
    (folder / "reference.csv").symlink_to(ROOT / "tests" / "models" / "data" / "attacc_reference.csv")


@pytest.fixture
def place(tmp_path, model, monkeypatch):
    """The working folder. Figures of shipped records count whatever their sources are today, and benches say what
    nobody measured: what is compared does not depend on a simulator or on the age of a record."""
    given(tmp_path, model)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BANKSIDE_RECORDS", str(tmp_path / "records"))
    monkeypatch.setenv("COLUMNS", "160")
    look = RecordFolder.look

    def trusting(self, measurement):
        found = look(self, measurement)
        usable = found.state == "stale" and found.why.startswith("changed") and found.path.is_relative_to(SHIPPED)
        if not usable:
            return found
        note_input(records._as_input(measurement, found.record))
        return replace(found, state="shipped")

    monkeypatch.setattr(RecordFolder, "look", trusting)
    return tmp_path


def said(unit: str) -> Any:
    """What a bench of the unit would say."""

    class MadeUp(UNITS[unit].result):
        def recorded(self) -> dict[str, Any]:
            return SIM[unit]

        def document(self) -> dict[str, Any]:
            return {**SIM[unit], "first_mismatch": None, "notes": [], "waves": None, "clocks_per_second": 1}

    return MadeUp.model_validate({**SIM[unit], "clocks_per_second": 1})


# ---- Outputs ----------------------------------------------------------------------------------------------------------


def run(case: Case, place: Path, capsys: Any, monkeypatch: Any, as_json: bool) -> str:
    """Standard output of a case."""
    if case.name.startswith("sim-") and case.name[4:] in SIM:
        monkeypatch.setattr(measure, "run_bench", lambda selection, *_, **__: (said(selection.unit.name), ""))
        monkeypatch.setattr(generate, "latency", lambda selection: {})  # only a record has it
    if case.name.startswith("cache"):
        monkeypatch.setenv("BANKSIDE_CACHE", str(place / "cache"))
        (place / "cache" / "formal").mkdir(parents=True)
        (place / "cache" / "formal" / "proof").write_text("proved")
    if case.name == "records":
        monkeypatch.setattr("bankside.studies.inventory.asked", lambda records, papers: [])  # papers take long
    if case.name == "rtl":
        monkeypatch.setattr("bankside.hardware.published.rebuild", lambda folder: [Path(folder, "manifest.json")])
    if case.name == "bench":
        figures = [("a benchmark", lambda: [("its figure", 2.5, "ms")])]
        monkeypatch.setattr("bankside.studies.benchmark._benchmarks", lambda: figures)
    for line in case.before:
        words, _, file = line.partition(" > ")
        assert cli.main(shlex.split(words)) == 0, line
        if file:
            (place / file).write_text(capsys.readouterr().out)
    capsys.readouterr()
    words = [
        str(next((place / "spilled").iterdir())) if word.endswith("SPILL") else word for word in shlex.split(case.words)
    ]
    code = cli.main([*words, *(["--json"] if as_json and case.json else [])])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    return printed.out.replace(str(place), "PLACE").replace(str(ROOT), "ROOT")


def document(text: str) -> Any:
    """The JSON object; a table may stand before it."""
    return json.loads(text[text.index("{\n") :])


#: Keys with times, versions, and digests of sources.
VARYING = ("seconds", "clocks_per_second", "tools", "record", "records", "wall_s", "cpu_s", "python")


def steady(value: Any, key: str = "") -> Any:
    """The value without what differs between machines and versions: its form stands there instead."""
    if key in VARYING:
        return form(value)
    if key == "inputs" and isinstance(value, list):
        return sorted({f"{one['kind']}: {', '.join(one)}" for one in value})
    if isinstance(value, dict):
        return {name: steady(one, name) for name, one in value.items()}
    return [steady(one) for one in value] if isinstance(value, list) else value


def form(value: Any) -> Any:
    """Keys in order with the names of types; a list has the union of the forms of its elements."""
    if isinstance(value, dict):
        return {key: form(one) for key, one in value.items()}
    if isinstance(value, list):
        joined: Any = None
        for one in value:
            joined = form(one) if joined is None else union(joined, form(one))
        return [] if joined is None else [joined]
    return "null" if value is None else type(value).__name__


def union(one: Any, other: Any) -> Any:
    """A form that both have; keys that only one has end with ``?``."""
    if one == other:
        return one
    if isinstance(one, dict) and isinstance(other, dict) and not ("|" in one or "|" in other):
        plain = {key.removesuffix("?"): key for key in one}, {key.removesuffix("?"): key for key in other}
        out = {}
        for key in dict.fromkeys(itertools.chain(*plain)):
            both = [made[names[key]] for made, names in zip((one, other), plain, strict=True) if key in names]
            optional = len(both) == 1 or any(names[key].endswith("?") for names in plain)
            out[key + "?" * optional] = both[0] if len(both) == 1 else union(*both)
        return out
    if isinstance(one, list) and isinstance(other, list):
        return [union(one[0], other[0])] if one and other else one or other
    choices: dict[str, Any] = {}
    for made in (one, other):
        for each in made["|"] if isinstance(made, dict) and "|" in made else [made]:
            kind = "list" if isinstance(each, list) else "object" if isinstance(each, dict) else each
            choices[kind] = union(choices[kind], each) if kind in choices else each
    return {"|": [choices[kind] for kind in sorted(choices)]}


def differences(stored: Any, found: Any, where: str = "$") -> Iterator[str]:
    """What differs, with its place. Numbers of binary floating point may differ by 1e-12 of their value."""
    if type(stored) is not type(found):
        yield f"{where}: {found!r:.80} ({type(found).__name__}) was {stored!r:.80} ({type(stored).__name__})"
    elif isinstance(stored, dict):
        if list(stored) != list(found):
            yield f"{where}: keys {list(found)} were {list(stored)}"
        for key in stored.keys() & found.keys():
            yield from differences(stored[key], found[key], f"{where}.{key}")
    elif isinstance(stored, list):
        if len(stored) != len(found):
            yield f"{where}: {len(found)} elements were {len(stored)}"
        for number, (one, other) in enumerate(zip(stored, found, strict=False)):
            yield from differences(one, other, f"{where}[{number}]")
    elif not (math.isclose(stored, found, rel_tol=1e-12) if isinstance(stored, float) else stored == found):
        yield f"{where}: {found!r:.80} was {stored!r:.80}"


def cases(chosen: Any) -> Any:
    return pytest.mark.parametrize(
        "case", [pytest.param(one, id=one.name, marks=[pytest.mark.slow] * one.slow) for one in CASES if chosen(one)]
    )


@cases(lambda case: True)
def test_json_is_what_it_was(case, place, capsys, monkeypatch, request):
    """Keys, types and order of every command; values of commands that measure nothing."""
    printed = document(run(case, place, capsys, monkeypatch, True))
    found = steady(printed) if case.values else form({**printed, "inputs": steady(printed.get("inputs", []), "inputs")})
    file = STORED / f"{case.name}.json"
    if request.config.getoption("write_outputs"):
        STORED.mkdir(exist_ok=True)
        file.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    assert list(differences(json.loads(file.read_text()), found)) == []


@cases(lambda case: case.text)
def test_text_is_what_it_was(case, place, capsys, monkeypatch, request):
    """What people read, of the commands whose text is the same in every run."""
    found = run(case, place, capsys, monkeypatch, False)
    file = STORED / f"{case.name}.txt"
    if request.config.getoption("write_outputs"):
        STORED.mkdir(exist_ok=True)
        file.write_text(found)
    assert found == file.read_text()


def test_every_command_is_compared():
    """Each has a case in the fast tier, and no stored output is left over."""
    of = {case.words.split()[0]: [] for case in CASES}
    for case in CASES:
        of[case.words.split()[0]].append(case)
    assert of.keys() == cli.COMMANDS.keys() - NOT_COMPARED
    assert [name for name, made in of.items() if all(case.slow for case in made)] == []
    names = [f"{case.name}.json" for case in CASES] + [f"{case.name}.txt" for case in CASES if case.text]
    assert sorted(names) == sorted(path.name for path in STORED.iterdir())


@pytest.mark.parametrize(
    "stored, found",
    [
        ({"a": 1}, {"a": 1.0}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": [1, 2]}, {"a": [1]}),
        ({"a": 1.0}, {"a": 1.0 + 1e-11}),
        ({"a": None}, {}),
        ([True], [1]),
    ],
)
def test_differences_are_told(stored, found):
    assert len(list(differences(stored, found))) == 1 and not list(differences(stored, stored))


def test_forms_of_lists():
    """One form for all elements: keys that some lack, and types of each key."""
    assert form([{"a": 1, "b": []}, {"a": None, "c": 1.0}]) == [{"a": {"|": ["int", "null"]}, "b?": [], "c?": "float"}]
