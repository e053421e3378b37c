"""``bankside repro``: rows, table, figures, and errors in one line."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bankside.constraints.core.errors import CheckFailed
from bankside.constraints.core.records import Measurement
from bankside.constraints.pam.pu import PRESETS
from bankside.evidence import side_by_side as measuring
from bankside.evidence.side_by_side import Measurer
from bankside.models.papers import CATEGORIES, VERDICTS, category_of, checks_of, figures_of, load_paper, paper_names
from bankside.results.papers import ClaimRow, Repro
from bankside.shell import cli
from bankside.studies import repro, repro_figures

ROOT = Path(__file__).resolve().parents[3]
IDS = "pam-hbm-tRP,pam-hbm-tBL,pam-proc,pam-cap-ddr"


@pytest.fixture(autouse=True)
def nothing_shipped(monkeypatch, tmp_path):
    """Measurements are missing here, whatever comes with the package."""
    monkeypatch.setattr("bankside.evidence.records.SHIPPED", tmp_path / "shipped")


def row(**given):
    """A row whose other keys are empty."""
    texts = dict.fromkeys(("id", "source", "statement", "kind", "tolerance", "why", "basis"), "")
    rest = dict.fromkeys(("conditions", "paper", "ours", "unit", "ratio", "difference"))
    return ClaimRow(**{**texts, **rest, **given})


def result(rows, counts=None):
    return Repro(paper="pam", title="PAM", published=None, claims=rows, counts=counts or {})


def run(capsys, *arguments):
    code = cli.main(["repro", *arguments])
    out = capsys.readouterr()
    return code, out.out, out.err


def test_json(capsys):
    code, out, _ = run(capsys, "pam", "--claims", IDS, "--json", "--no-measure")
    result = json.loads(out)
    assert code == 0
    assert [row["id"] for row in result["claims"]] == IDS.split(",")
    assert [row["verdict"] for row in result["claims"]] == ["exact", "off", "not-checkable", "within"]
    assert {"id", "source", "paper", "ours", "unit", "ratio", "verdict", "why"} <= set(result["claims"][0])
    assert list(result["counts"]) == ["result", "behaviour", "configuration"]  # apart, and results first
    assert result["counts"]["configuration"] == {
        "exact": 1,
        "within": 1,
        "bound": 0,
        "off": 1,
        "not-checkable": 1,
        "not-measured": 0,
        "failed": 0,
        "timed-out": 0,
    }
    assert not sum([*result["counts"]["result"].values(), *result["counts"]["behaviour"].values()])
    row = result["claims"][1]
    assert (row["ours"], row["ratio"], row["category"]) == (2, 0.5, "configuration") and row["why"]
    assert row["difference"] == {
        "cause": "design",
        "ours": 2,
        "needed": 4,
        "unit": "tCK",
        "number": "clock cycles of a burst; ours takes half of them on twice the pins",
    }
    assert {one["difference"] is None for one in result["claims"] if one["verdict"] != "off"} == {True}


def test_table(capsys):
    code, out, err = run(capsys, "pam", "--claims", IDS, "--no-measure")
    assert code == 0 and not err
    assert out.splitlines()[-1] == "Configuration: 4 claims: 1 exact, 1 within, 1 off, 1 not-checkable"
    assert all(name in out for name in (*IDS.split(","), "foundry", "Cause: a difference"))


def test_categories_are_apart_in_the_table_and_results_come_first(capsys):
    """A result that is off says its cause, and no line adds categories up."""
    claims = "pam-hbm-tRP,pam-alg2,pam-attacc-bw,pam-alg1-exact,pam-ssd-ifc"
    _, out, _ = run(capsys, "pam", "--claims", claims, "--no-measure")
    at = [
        out.index(name)
        for name in (
            ": results",
            "pam-attacc-bw",
            ": behaviour",
            "pam-alg2",
            ": configuration",
            "pam-hbm-tRP",
            "pam-ssd-ifc",
        )
    ]
    assert at == sorted(at)
    assert out.splitlines()[-3:] == [
        "Results: 1 claim: 1 within",
        "Behaviour: 2 claims: 1 exact, 1 bound",
        "Configuration: 2 claims: 2 exact",
    ]


def test_a_result_that_is_off_must_say_its_cause():
    bad = {"id": "x-1", "category": "result", "verdict": "off"}
    cause = {"cause": "design", "number": "gates of a unit", "ours": 2.0, "needed": 1.0, "unit": None}
    for change in ({"category": "configuration"}, {"verdict": "within"}, {"difference": cause}):
        repro.require_causes(result([row(**bad | change)]))
    with pytest.raises(CheckFailed, match=r"^1 results of pam are off without a cause: x-1$"):
        repro.require_causes(result([row(**bad)]))


def test_claims_may_be_given_once_and_with_spaces(capsys):
    _, out, _ = run(capsys, "pam", "--claims", "pam-hbm-tRP, pam-hbm-tRP", "--json")
    assert len(json.loads(out)["claims"]) == 1


def test_list(capsys):
    code, out, _ = run(capsys, "cent", "--list")
    assert code == 0 and len(out.splitlines()) == 95
    _, out, _ = run(capsys, "pam", "--list", "--json", "--claims", "pam-slo")
    claim = load_paper("pam").claim("pam-slo")
    assert json.loads(out)["claims"] == [{**claim.model_dump(mode="json"), "category": "configuration"}]


def test_list_of_papers(capsys):
    code, out, _ = run(capsys, "--list")
    assert code == 0
    assert re.search(
        r"^starc +38 claims, +38 with a check \(result 14, behaviour 8, configuration 16\)  Sparse", out, re.M
    )
    listed = json.loads(run(capsys, "--list", "--json")[1])["papers"]
    assert [one["paper"] for one in listed] == ["cent", "inf2", "lol-pim", "pam", "starc"]
    assert (listed[3]["claims"], listed[3]["checks"], len(listed[3]["figures"])) == (134, 134, 6)


def test_a_paper_that_has_no_checks(capsys, tmp_path):
    claims = (ROOT / "models" / "papers" / "starc" / "claims.yaml").read_text()
    file = tmp_path / "other.yaml"
    file.write_text(claims.replace("name: starc", "name: other", 1))
    code, out, _ = run(capsys, str(file), "--json")
    counts = json.loads(out)["counts"]
    assert code == 0 and [counts[group]["not-checkable"] for group in counts] == [14, 0, 19]  # locators need none
    assert sum(n for some in counts.values() for n in some.values()) == 38


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["pan"], "unknown paper 'pan'; did you mean 'pam'? (valid: cent, inf2, lol-pim, pam, starc)"),
        (
            ["pam", "--claims", "pam-slu"],
            "unknown claim of pam 'pam-slu'; did you mean 'pam-slo'? (valid: 134 ids, see bankside repro pam --list)",
        ),
        (["pam", "--claims", ","], "--claims needs at least one id (see bankside repro PAPER --list)"),
        (
            ["pam", "--figure", "table3"],
            "unknown figure of pam 'table3'; did you mean 'table2'? (valid: 10, 11, 12, 13, 9, table2)",
        ),
        (["starc", "--figure", "bars"], "unknown figure of starc 'bars' (valid: 11, 12, clumps, reads, sensitivity)"),
        (["pam", "--figure", "table2", "--output", "x.gif"], "--output: a figure is .png, .svg or .pdf, not 'x.gif'"),
        (["pam", "--output", "x.png"], "--output needs --figure"),
        ([], "the following arguments are required: PAPER, or --list alone (see bankside repro --help)"),
        (
            ["--list", "--claims", "a"],
            "the following arguments are required: PAPER, or --list alone (see bankside repro --help)",
        ),
        (["pam", "--figure", "9", "--list"], "--figure draws its own claims: it can't be combined with --list"),
    ],
)
def test_errors(capsys, arguments, message):
    code, out, err = run(capsys, *arguments)
    assert (code, out, err) == (2, "", f"bankside: {message}\n")


def test_a_missing_measurement_names_its_command(capsys, tmp_path):
    """Without measuring, and no record in an empty folder."""
    _, out, _ = run(capsys, "pam", "--claims", "pam-pu-freq-hbm", "--json", "--no-measure", "--records", str(tmp_path))
    row = json.loads(out)["claims"][0]
    assert row["verdict"] == "not-measured" and "`bankside synth pam-pu --preset pam-hbm`" in row["why"]


class Tool:
    """Stands for a process that measures: says something, takes some looks at it, and ends with a code and an answer."""

    pid, looks, code, said, answer = 1 << 30, 0, 0, "", "{}"
    started: list

    def __init__(self, words, stdin, stdout, stderr, **options):
        assert options["start_new_session"]  # what it has started can be ended with it
        assert words[1:] == ["-m", "bankside.evidence.side_by_side"]
        self.started.append(json.load(stdin))
        stderr.write(self.said)
        stdout.write(self.answer)
        self.returncode = None

    def poll(self):
        self.looks -= 1
        self.returncode = None if self.looks >= 0 else self.code
        return self.returncode

    def wait(self):
        self.returncode = -15


def fake_tool(monkeypatch, **attributes):
    tool = type("Fake", (Tool,), attributes | {"started": []})
    monkeypatch.setattr("bankside.evidence.side_by_side.subprocess.Popen", tool)
    monkeypatch.setattr(measuring, "POLL_S", 0.001)
    return tool


def measurement(kind, preset="pam-hbm"):
    return Measurement.of(kind, "pam-pu", PRESETS[preset], preset=preset)


def test_a_measurement_that_fails_is_told_in_its_own_words(capsys, monkeypatch, tmp_path):
    """A process gets the measurement and the folder of records; what it says last is the reason if it fails. The claim is
    never called not checkable, and the exit code is 1."""
    tool = fake_tool(monkeypatch, code=3, looks=2, said="generating\nbankside: no such tool\n")
    code, out, err = run(capsys, "pam", "--claims", "pam-pu-freq-hbm", "--json", "--records", str(tmp_path))
    assert [one["records"] for one in tool.started] == [str(tmp_path)]
    assert measuring.from_json(tool.started[0]["measurement"]) == measurement("synth")
    assert err.splitlines()[:2] == [
        "measuring (1 of 1): bankside synth pam-pu --preset pam-hbm",
        "failed after 0 s: bankside synth pam-pu --preset pam-hbm: no such tool",
    ]
    (row,) = json.loads(out)["claims"]
    assert (row["verdict"], row["why"]) == ("failed", "`bankside synth pam-pu --preset pam-hbm` failed: no such tool")
    assert code == 1 and err.splitlines()[2:] == [
        f"bankside: 1 of 1 claims lack a measurement; pam-pu-freq-hbm: {row['why']}"
    ]


def test_a_measurement_that_runs_out_of_time_is_told_in_its_own_words(capsys, monkeypatch, tmp_path):
    fake_tool(monkeypatch, looks=10**9)
    monkeypatch.setattr("os.killpg", lambda group, signal: None)
    code, out, err = run(
        capsys, "pam", "--claims", "pam-pu-freq-hbm", "--measure-limit", "1", "--records", str(tmp_path)
    )
    assert code == 1 and out.splitlines()[-1] == "Behaviour: 1 claim: 1 timed-out" and "not-checkable" not in out
    assert err.splitlines()[-1].startswith(
        "bankside: 1 of 1 claims lack a measurement; pam-pu-freq-hbm: `bankside synth "
    )
    assert "timed-out: not done within the 1 s for measurements" in err.splitlines()[-1]


def test_two_measurements_at_once_and_the_important_ones_first(monkeypatch):
    tool, told = fake_tool(monkeypatch, looks=1, answer='{"area_ge": 7}'), []
    monkeypatch.setattr(measuring, "at_once", lambda: 2)
    synths, last = [measurement("synth", preset) for preset in ("pam-hbm", "pam-ddr", "pam-ssd")], measurement("sim")
    with Measurer(told.append, None, 60, lambda one: one.kind == "synth") as measurer:
        measurer.start(synths[:1])
        assert measurer.ended() == {}
        measurer.start([*synths[1:], last])
        ended = {}
        while len(ended) < 4:
            assert len(measurer._running) <= 2
            ended |= measurer.ended(wait=True)
    assert [measuring.from_json(one["measurement"]) for one in tool.started] == [synths[0], last, *synths[1:]]
    assert {outcome.state for outcome in ended.values()} == {"done"} and ended[last].result == {"area_ge": 7}
    assert told[0] == "measuring (1 of 1): bankside synth pam-pu --preset pam-hbm"


@pytest.mark.parametrize("cores, pages, at_once", [(16, 16 << 20, 16), (16, 5 << 18, 2), (1, 16 << 20, 1), (4, 1, 1)])
def test_one_measurement_a_core_as_far_as_the_memory_reaches(monkeypatch, cores, pages, at_once):
    """Pages have 4 KiB; a measurement may need 2 GiB."""
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(cores)), raising=False)
    monkeypatch.setattr("os.sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": pages}.__getitem__)
    assert measuring.at_once() == at_once


def test_measurements_have_a_limit(monkeypatch):
    """What takes longer is stopped, what has not begun by then is not; the reason is told."""
    killed = []
    fake_tool(monkeypatch, looks=10**9)
    monkeypatch.setattr("os.killpg", lambda group, signal: killed.append(group))
    monkeypatch.setattr(measuring, "at_once", lambda: 2)
    asked = [measurement("synth", preset) for preset in ("pam-hbm", "pam-ddr", "pam-ssd")]
    with Measurer(lambda text: None, None, 0.01) as measurer:
        measurer.start(asked)
        ended = measurer.ended(wait=True)
    assert killed == [Tool.pid] * 2 and set(ended) == set(asked)
    assert {outcome.state for outcome in ended.values()} == {"timed-out"}
    assert ended[asked[0]].why.startswith("not done within the 0.01 s for measurements")
    assert ended[asked[2]].why.startswith("not begun within the 0.01 s")


def test_a_measurement_that_is_killed_or_answers_nonsense_has_failed(monkeypatch):
    for attributes, why in (
        ({"code": -9}, "ended by signal 9"),
        ({"code": 2}, "exit code 2"),
        ({"answer": "{"}, "its result can't be read"),
    ):
        fake_tool(monkeypatch, **attributes)
        with Measurer(lambda text: None, None) as measurer:
            measurer.start([measurement("sim")])
            (outcome,) = measurer.ended(wait=True).values()
        assert (outcome.state, outcome.why) == ("failed", why)


def test_an_interrupted_run_leaves_no_measurement_behind(monkeypatch):
    killed = []
    fake_tool(monkeypatch, looks=10**9)
    monkeypatch.setattr("os.killpg", lambda group, signal: killed.append(group))
    with pytest.raises(KeyboardInterrupt), Measurer(lambda text: None, None, 60) as measurer:
        measurer.start([measurement("sim")])
        raise KeyboardInterrupt
    assert killed == [Tool.pid]


def test_a_process_that_measures():
    """What is wrong is one line and its exit code; for real, without a measurement."""
    asked = {
        "measurement": measuring.to_json(Measurement.of("sim", "pam-pu", PRESETS["pam-hbm"], memory="no-such")),
        "records": None,
    }
    done = subprocess.run(
        [sys.executable, "-m", "bankside.evidence.side_by_side"],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.startswith("bankside: unknown memory 'no-such'")
    assert len(done.stderr.splitlines()) == 1


def test_instances_in_the_published_verilog():
    names, ports = repro.published_modules("pam-pu", "pam-ddr")
    assert names.count("exp") == 1 and sum(name.startswith("output_rounder_") for name in names) == 4
    assert ports["kv__payload"] == 64


@pytest.mark.parametrize(
    "value, text",
    [
        (1.23456, "1.235"),
        (1.6e12, "1.6e+12"),
        (True, "yes"),
        (None, "-"),
        (5070, "5070"),
        (2048000, "2,048,000"),
        ({"a": [1, 2.5], "b": None}, "a [1, 2.5], b -"),
    ],
)
def test_values_as_text(value, text):
    assert repro.short(value) == text


# The page --------------------------------------------------------------------------------------------------------------


def claims_page():
    spec = importlib.util.spec_from_file_location("claims_page", ROOT / "tools" / "claims_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check_page(text, paper="pam"):
    """One line a claim with the paper's value and a verdict, and a reason for each that differs."""
    tool = claims_page()
    for claim in load_paper(paper).claims:
        (line,) = re.findall(rf"^\| `{claim.id}` \| (.*) \|$", text, re.MULTILINE)
        cells = re.split(r"(?<!\\) \| ", line)
        assert cells[0] == claim.source and cells[2] == tool.cell(claim.value, claim.unit), claim.id
        assert cells[-1] in VERDICTS
        assert (cells[-1] not in ("exact", "within", "bound")) == bool(
            re.search(rf"^\* `{claim.id}` \({cells[-1]}\): \S", text, re.MULTILINE)
        ), claim.id


def test_the_page_of_claims():
    """A page of made-up verdicts has a part for each category. The documentation's pages have a line for each claim."""
    verdicts = ("exact", "within", "bound", "off", "not-checkable")
    cause = {"cause": "contradiction", "number": "units of a die", "ours": 64, "needed": 75, "unit": None}
    rows = [
        row(
            id=claim.id,
            source=claim.source,
            statement=claim.statement,
            kind=claim.kind,
            category=category_of(claim, checks_of("pam")),
            paper=claim.value,
            unit=claim.unit,
            ours=None if k % 5 == 4 else claim.value,
            ratio=None if k % 5 == 4 else 1.0,
            verdict=verdicts[k % 5],
            why="because" if k % 5 > 2 else "",
            difference=cause if k % 5 == 3 else None,
        )
        for k, claim in enumerate(load_paper("pam").claims)
    ]
    counts = {
        group: {verdict: sum((one.category, one.verdict) == (group, verdict) for one in rows) for verdict in verdicts}
        for group in CATEGORIES
    }
    text = claims_page().page(result(rows, counts))
    check_page(text)
    assert re.findall("^## (.*)$", text, re.MULTILINE) == ["Results", "Behaviour", "Configuration"]
    assert "Number: units of a die. Ours is 64. The paper's value needs 75. because" in text
    assert f"* Results: {sum(counts['result'].values())} claims: {counts['result']['exact']} exact, " in text
    for paper in ("pam", "lol-pim"):
        page = ROOT / "docs" / f"repro-{paper}.md"
        if page.exists():
            check_page(page.read_text(), paper)


# Figures ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("paper", [paper for paper in paper_names() if figures_of(paper)])
def test_figures_show_values_of_the_paper(paper):
    """Every bar leads to a number, or to the ends of an interval, of a claim."""
    claims = {claim.id: claim for claim in load_paper(paper).claims}
    for figure in figures_of(paper).values():
        for panel in figure.panels:
            for bar in getattr(panel, "bars", ()):
                ends = repro_figures._ends(repro_figures._part(claims[bar.claim].value, bar.key))
                assert ends is not None and ends[0] <= ends[1], bar


@pytest.mark.parametrize("paper, name", [(paper, name) for paper in paper_names() for name in figures_of(paper)])
def test_every_figure_draws(paper, name):
    """Some values, some of ours missing, some a loss of ours where the scale is logarithmic."""
    figure = figures_of(paper)[name]
    paper = load_paper(paper)
    changes = (lambda value: _scaled(value, 0.1), lambda value: None, lambda value: value)
    rows = [
        row(
            id=i,
            paper=paper.claim(i).value,
            ours=changes[k % 3](paper.claim(i).value),
            category="result",
            verdict="off",
        )
        for k, i in enumerate(figure.claims)
    ]
    series = {name: {"one": {"1": 2.0, "2": None}, "other": {"2": 3.0}} for name in figure.series}
    assert repro_figures.picture(figure, rows, dpi=30, series=series)[:8] == b"\x89PNG\r\n\x1a\n"


def _scaled(value, factor):
    if isinstance(value, dict):
        return {key: _scaled(item, factor) for key, item in value.items()}
    return [_scaled(item, factor) for item in value] if isinstance(value, list) else value * factor


def test_figure_command(capsys, monkeypatch, tmp_path):
    file = tmp_path / "deep" / "t.svg"
    asked = ["pam", "--figure", "13", "--output", str(file), "--no-measure", "--records", str(tmp_path)]
    shown = row(id="pam-scale", category="result", paper=[6, 17], verdict="not-measured")
    monkeypatch.setattr(repro_figures, "repro", lambda *arguments, **options: result([shown]))
    code, out, _ = run(capsys, *asked)
    assert (code, out) == (0, f"{file}\n") and file.read_text().startswith("<?xml")
    assert "<!-- Results: 1 not-measured. -->" in file.read_text()
    code, out, _ = run(capsys, *asked, "--json")
    assert json.loads(out)["figure"] == str(file)


def test_the_same_figure_gives_the_same_bytes():
    figure, paper = figures_of("pam")["11"], load_paper("pam")
    rows = [
        row(id=i, paper=paper.claim(i).value, category=group, verdict="off")
        for i, group in zip(figure.claims, ("result", "configuration", "result"), strict=True)
    ]
    assert repro_figures.caption(rows) == "Results: 2 off. Configuration: 1 off."
    assert repro_figures.picture(figure, rows, "svg") == repro_figures.picture(figure, rows, "svg")


# Papers of other packages ----------------------------------------------------------------------------------------------

TOY = """
from pathlib import Path

from bankside.models.papers import Bar, Checks, Difference, Figure, Finding, Panel, PaperPackage, SeriesPanel, Source

CHECKS = Checks()


@CHECKS.of("toy-banks", by=Source.SETTING)
def banks(evidence, claim):
    return Finding(evidence.memory("hbm3-5.2").channels, "hbm3-5.2")


@CHECKS.of("toy-double", by=Source.RUN)
def double(evidence, claim):
    return Finding(2 * evidence.memory("hbm3-5.2").channels, "hbm3-5.2")


@CHECKS.off("toy-double")
def why(evidence, claim, ours, judged):
    return Difference(cause="contradiction", number="channels", ours=16, needed=ours / judged.ratio / 2)


FIGURE = Figure("Toy", (Panel("banks", "banks", (Bar("all", "toy-banks"),)), SeriesPanel("ours", "x", "line", "n")))
PAPER = PaperPackage(Path(__file__).with_name("claims.yaml"), CHECKS, {"1": FIGURE},
                     {"line": lambda evidence: {"a": {"1": 1.0, "2": None}}})
MISNAMED = PaperPackage(Path(__file__).with_name("claims.yaml"))
NOT_A_PAPER = "PAPER"
"""

CLAIMS = """name: toy
title: A toy
claims:
  - {id: toy-banks, source: §1, statement: Channels, quantity: n, value: 16, unit: null, conditions: null, kind: config}
  - {id: toy-double, source: §2, statement: Twice, quantity: n, value: 30, unit: null, conditions: null, kind: derived}
  - {id: toy-rate, source: §3, statement: Rate, quantity: n, value: 1, unit: x, conditions: null, kind: measured-by-paper}
"""

ENTRIES = """[bankside.papers]
toy = toy_paper:PAPER
broken = toy_paper:NOT_THERE
wrong = toy_paper:NOT_A_PAPER
other = toy_paper:MISNAMED
pam = toy_paper:PAPER
"""


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """A folder with an installed package that adds a paper, three broken ones, and one with a name that is taken."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "toy_paper").mkdir()
    (folder / "toy_paper" / "__init__.py").write_text(TOY)
    (folder / "toy_paper" / "claims.yaml").write_text(CLAIMS)
    (folder / "toy_package-1.dist-info").mkdir()
    (folder / "toy_package-1.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: toy-package\nVersion: 1\n"
    )
    (folder / "toy_package-1.dist-info" / "entry_points.txt").write_text(ENTRIES)
    return folder


def with_toy(toy, *words):
    path = os.pathsep.join((str(toy), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])))
    return subprocess.run(
        [sys.executable, "-m", "bankside", "repro", *words],
        cwd=toy,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )


TAKEN = (
    "bankside: skipped paper 'pam' of package 'toy-package' (toy_paper:PAPER): package 'bankside' has a paper of this "
    "name\n"
)
SKIPPED = (
    "bankside: skipped paper 'broken' of package 'toy-package' (toy_paper:NOT_THERE): module 'toy_paper' has no "
    "attribute 'NOT_THERE'\n"
    "bankside: skipped paper 'wrong' of package 'toy-package' (toy_paper:NOT_A_PAPER): must be a PaperPackage, not "
    "str\n"
)


def test_a_paper_of_another_package_is_listed_and_broken_ones_are_named(toy):
    done = with_toy(toy, "--list")
    assert (done.returncode, [line.split()[0] for line in done.stdout.splitlines()]) == (
        0,
        ["cent", "inf2", "lol-pim", "pam", "starc", "toy"],
    )
    assert "134 claims" in done.stdout
    assert "3 claims,   2 with a check (result 1, behaviour 1, configuration 1)  A toy" in done.stdout
    assert done.stderr == TAKEN + SKIPPED + (
        f"bankside: skipped paper 'other': {toy}/toy_paper/claims.yaml: name must be 'other' as in the entry point, not "
        "'toy'\n"
    )


def test_a_paper_of_another_package_is_checked_and_drawn(toy):
    done = with_toy(toy, "Toy", "--json")
    assert (done.returncode, done.stderr) == (0, TAKEN + SKIPPED)
    found = {row["id"]: row for row in json.loads(done.stdout)["claims"]}
    assert {name: (row["ours"], row["verdict"], row["category"]) for name, row in found.items()} == {
        "toy-banks": (16, "exact", "configuration"),
        "toy-double": (32, "off", "behaviour"),
        "toy-rate": (None, "not-checkable", "result"),
    }
    assert found["toy-double"]["difference"]["needed"] == 15
    done = with_toy(toy, "toy", "--figure", "1", "--output", str(toy / "one.svg"))
    assert (done.returncode, done.stdout) == (0, f"{toy}/one.svg\n") and (toy / "one.svg").read_text().startswith(
        "<?xml"
    )
    done = with_toy(toy, "toi")
    assert done.returncode == 2 and done.stderr == TAKEN + SKIPPED + (
        "bankside: unknown paper 'toi'; did you mean 'toy'? (valid: cent, inf2, lol-pim, other, pam, starc, toy)\n"
    )
