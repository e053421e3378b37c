"""``bankside repro``: rows, table, figures, and errors in one line."""

import json

import pytest
from bankside.models.papers import load_paper

from bankside import cli, repro, repro_figures

IDS = "pam-hbm-tRP,pam-hbm-tBL,pam-proc,pam-cap-ddr"


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
    assert result["counts"] == {"exact": 1, "within": 1, "off": 1, "not-checkable": 1}
    assert (result["claims"][1]["ours"], result["claims"][1]["ratio"]) == (2, 0.5) and result["claims"][1]["why"]


def test_table(capsys):
    code, out, err = run(capsys, "pam", "--claims", IDS, "--no-measure")
    assert code == 0 and not err
    assert out.splitlines()[-1] == "4 claims: 1 exact, 1 within, 1 off, 1 not-checkable"
    assert all(name in out for name in (*IDS.split(","), "foundry"))


def test_claims_may_be_given_once_and_with_spaces(capsys):
    _, out, _ = run(capsys, "pam", "--claims", "pam-hbm-tRP, pam-hbm-tRP", "--json")
    assert len(json.loads(out)["claims"]) == 1


def test_list(capsys):
    code, out, _ = run(capsys, "cent", "--list")
    assert code == 0 and len(out.splitlines()) == 95
    _, out, _ = run(capsys, "pam", "--list", "--json", "--claims", "pam-slo")
    claim = load_paper("pam").claim("pam-slo")
    assert json.loads(out)["claims"] == [claim.model_dump(mode="json")]


def test_a_paper_that_has_no_checks(capsys):
    code, out, _ = run(capsys, "starc", "--json")
    assert code == 0 and json.loads(out)["counts"] == {"exact": 0, "within": 0, "off": 0, "not-checkable": 38}


@pytest.mark.parametrize("arguments, message", [
    (["pan"], "unknown paper 'pan'; did you mean 'pam'? (valid: cent, inf2, lol-pim, pam, starc)"),
    (["pam", "--claims", "pam-slu"],
     "unknown claim of pam 'pam-slu'; did you mean 'pam-slo'? (valid: 126 ids, see bankside repro pam --list)"),
    (["pam", "--claims", ","], "--claims needs at least one id (see bankside repro PAPER --list)"),
    (["pam", "--figure", "table3"],
     "unknown figure of pam 'table3'; did you mean 'table2'? (valid: 10, 11, 12, 13, 9, table2)"),
    (["cent", "--figure", "1"], "unknown figure of cent '1' (valid: none)"),
    (["pam", "--figure", "table2", "--output", "x.gif"], "--output: a figure is .png, .svg or .pdf, not 'x.gif'"),
    (["pam", "--output", "x.png"], "--output needs --figure"),
    (["pam", "--figure", "9", "--list"], "--figure draws its own claims: it goes without --list"),
])
def test_errors(capsys, arguments, message):
    code, out, err = run(capsys, *arguments)
    assert (code, out, err) == (2, "", f"bankside: {message}\n")


def test_a_missing_measurement_names_its_command(capsys, tmp_path):
    """Without measuring, and no record in an empty folder."""
    _, out, _ = run(capsys, "pam", "--claims", "pam-pu-freq-hbm", "--json", "--no-measure", "--records", str(tmp_path))
    row = json.loads(out)["claims"][0]
    assert row["verdict"] == "not-checkable" and "`bankside synth pam-pu --preset pam-hbm`" in row["why"]


def test_measurements_go_to_the_folder_of_records(capsys, monkeypatch, tmp_path):
    """A measurement is a process of this tool; what it says last is the reason if it fails."""
    started = []

    class Process:
        returncode = 3

        def __init__(self, words, **options):
            started.append(words[1:])

        def communicate(self, timeout=None):
            return None, "generating\nbankside: no such tool\n"

        def poll(self):
            return self.returncode

    monkeypatch.setattr("subprocess.Popen", Process)
    _, out, err = run(capsys, "pam", "--claims", "pam-pu-freq-hbm", "--json", "--records", str(tmp_path))
    assert started == [["-m", "bankside", "synth", "pam-pu", "--preset", "pam-hbm", "--records", str(tmp_path)]]
    assert "measuring: bankside synth pam-pu --preset pam-hbm" in err
    assert json.loads(out)["claims"][0]["why"] == "`bankside synth pam-pu --preset pam-hbm`: no such tool"


def test_measurements_have_a_limit(monkeypatch):
    """What takes longer is stopped, what has not begun by then is not; the reason is told."""
    import subprocess

    class Slow:
        returncode = None

        def __init__(self, words, **options):
            self.stopped = False

        def communicate(self, timeout=None):
            if not self.stopped:
                raise subprocess.TimeoutExpired("x", timeout)
            return None, ""

        def terminate(self):
            self.stopped = True

        def poll(self):
            return 0

    monkeypatch.setattr("subprocess.Popen", Slow)
    failed = repro._measurer(lambda text: None, None, 0.01)(["bankside synth pam-ru --preset pam-hbm"])
    assert "not made within the 0.01 s" in failed["bankside synth pam-ru --preset pam-hbm"]


def test_instances_in_the_published_verilog():
    names, ports = repro.published_modules("pam-pu", "pam-ddr")
    assert names.count("exp") == 1 and sum(name.startswith("output_rounder_") for name in names) == 4
    assert ports["kv__payload"] == 64


@pytest.mark.parametrize("value, text", [(1.23456, "1.235"), (1.6e12, "1.6e+12"), (True, "yes"), (None, "-"),
                                         (5070, "5070"), (2048000, "2,048,000"),
                                         ({"a": [1, 2.5], "b": None}, "a [1, 2.5], b -")])
def test_values_as_text(value, text):
    assert repro.short(value) == text


# Figures ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("paper", list(repro_figures.FIGURES))
def test_figures_show_values_of_the_paper(paper):
    """Every bar leads to a number, or to the ends of an interval, of a claim."""
    claims = {claim.id: claim for claim in load_paper(paper).claims}
    for figure in repro_figures.FIGURES[paper].values():
        for panel in figure.panels:
            for bar in panel.bars:
                ends = repro_figures._ends(repro_figures._part(claims[bar.claim].value, bar.key))
                assert ends is not None and ends[0] <= ends[1], bar


@pytest.mark.parametrize("name", repro_figures.figure_names("pam"))
def test_every_figure_draws(name):
    """Some values, some of ours missing, some a loss of ours where the scale is logarithmic."""
    figure = repro_figures.FIGURES["pam"][name]
    paper = load_paper("pam")
    changes = (lambda value: _scaled(value, 0.1), lambda value: None, lambda value: value)
    rows = [{"id": i, "paper": paper.claim(i).value, "ours": changes[k % 3](paper.claim(i).value)}
            for k, i in enumerate(figure.claims)]
    assert repro_figures.picture(figure, rows, dpi=30)[:8] == b"\x89PNG\r\n\x1a\n"


def _scaled(value, factor):
    if isinstance(value, dict):
        return {key: _scaled(item, factor) for key, item in value.items()}
    return [_scaled(item, factor) for item in value] if isinstance(value, list) else value * factor


def test_figure_command(capsys, monkeypatch, tmp_path):
    file = tmp_path / "deep" / "t.svg"
    asked = ["pam", "--figure", "13", "--output", str(file), "--no-measure", "--records", str(tmp_path)]
    monkeypatch.setattr(repro_figures, "repro", lambda *arguments, **options: {"claims": [
        {"id": "pam-scale", "paper": [6, 17], "ours": None}]})
    code, out, _ = run(capsys, *asked)
    assert (code, out) == (0, f"{file}\n") and file.read_text().startswith("<?xml")
    code, out, _ = run(capsys, *asked, "--json")
    assert json.loads(out)["figure"] == str(file)


def test_the_same_figure_gives_the_same_bytes():
    figure, paper = repro_figures.FIGURES["pam"]["11"], load_paper("pam")
    rows = [{"id": i, "paper": paper.claim(i).value, "ours": None} for i in figure.claims]
    assert repro_figures.picture(figure, rows, "svg") == repro_figures.picture(figure, rows, "svg")
