"""Sweeps: every combination once, side by side, resumable, the same on a Dask cluster; bad input is one line."""

import csv
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankside.constraints.core.errors import CheckFailed, ConfigError, ToolMissing
from bankside.shell import cli
from bankside.studies import sweep

SYSTEM = ["pam-hbm-only", "context=1024,4096", "batch=4,5000", "--model", "llama-3-70b"]


def run(capsys, *words, code=0):
    assert cli.main(["sweep", *map(str, words), "--json"]) == code
    return json.loads(capsys.readouterr().out)


def jobs(*axes, target="pam-hbm-only", **settings):
    return sweep.jobs_of(target, axes, settings={"model": "llama-3-70b", **settings}, records=None, measure=False)


def test_rows_of_a_system(capsys, tmp_path):
    """As `eval` says; what does not fit has its reason; the rows are in the order of the values."""
    out = tmp_path / "deep" / "rows.csv"
    result = run(capsys, *SYSTEM, "--output", out, "--workers", "1", "--pareto", "tpot_ms,throughput_tok_s")
    assert [row["point"] for row in result["rows"]] == [
        {"context": context, "batch": batch} for context in ("1024", "4096") for batch in ("4", "5000")
    ]
    assert (
        cli.main(["eval", "pam-hbm-only", "--model", "llama-3-70b", "--context", "1024", "--batch", "4", "--json"]) == 0
    )
    alone = json.loads(capsys.readouterr().out)
    first = result["rows"][0]
    assert first["values"]["tpot_ms"] == alone["tpot_ms"] and first["records"] == alone["records"]
    assert first["values"]["breakdown_ms.qkv"] == alone["breakdown_ms"]["qkv"] and "context" not in first["values"]
    assert result["refused"] == 2 and "the largest batch that fits is 813" in result["rows"][1]["error"]
    assert len(result["warnings"]) == 1 and result["warnings"][0].startswith("2 of 4 combinations were refused")
    assert {one["name"] for one in alone["inputs"]} <= {one["name"] for one in result["inputs"]}
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert [float(row["tpot_ms"]) for row in rows if not row["error"]] == [
        row["values"]["tpot_ms"] for row in result["rows"] if not row["error"]
    ]
    assert sorted(path.name for path in out.parent.iterdir()) == ["rows.csv", "rows.csv.png"]
    assert result["front"] == [0] and (out.parent / "rows.csv.png").read_bytes().startswith(b"\x89PNG")


def test_processes_and_one_process_give_the_same(capsys, tmp_path):
    words = ["pam-hbm-only", "context=1024,4096", "batch=4,16", "--model", "llama-3-70b", "--output"]
    one = run(capsys, *words, tmp_path / "a.jsonl", "--workers", "1")
    two = run(capsys, *words, tmp_path / "b.jsonl", "--workers", "2")
    assert one["rows"] == two["rows"] and one["inputs"] == two["inputs"]
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    assert [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()] == one["rows"]


@pytest.mark.essential
def test_dask_gives_the_same(capsys, tmp_path):
    distributed = pytest.importorskip("distributed")
    words = ["pam-hbm-only", "context=1024,4096", "batch=4,5000", "--model", "llama-3-70b", "--output"]
    one = run(capsys, *words, tmp_path / "a.csv", "--workers", "1")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        two = run(capsys, *words, tmp_path / "b.csv", "--dask", cluster.scheduler_address)
    assert one["rows"] == two["rows"] and one["inputs"] == two["inputs"]
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_unreachable_dask_is_one_line(capsys, tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")

    def client(address, timeout):
        raise TimeoutError

    monkeypatch.setattr(distributed, "Client", client)
    assert cli.main(["sweep", *SYSTEM, "--output", str(tmp_path / "r.csv"), "--dask", "tcp://127.0.0.1:1"]) == 2
    assert "--dask tcp://127.0.0.1:1: no scheduler answers" in capsys.readouterr().err


def test_a_killed_sweep_goes_on(tmp_path, monkeypatch):
    """Rows that are there are not made again; a line that was cut off is. Rows of another sweep are left alone."""
    asked, out = jobs("context=1024,2048,4096"), tmp_path / "r.jsonl"
    made = []

    def dies(job):
        if len(made) == 2:
            raise KeyboardInterrupt
        made.append(job.point["context"])
        return plain(job)

    plain = sweep.make_row
    monkeypatch.setattr(sweep, "make_row", dies)
    with pytest.raises(KeyboardInterrupt):
        sweep.sweep(asked, str(out), workers=1)
    partial = tmp_path / "r.jsonl.partial"
    assert not out.exists() and len(partial.read_text().splitlines()) == 2
    partial.write_text(partial.read_text() + '{"key": "0"}\n{"key": "cut o')
    monkeypatch.setattr(sweep, "make_row", lambda job: made.append(job.point["context"]) or plain(job))
    result = sweep.sweep(asked, str(out), workers=1)
    assert made == ["1024", "2048", "4096"] and result.resumed == 2 and not partial.exists()
    assert len(out.read_text().splitlines()) == 3
    assert {job.key for job in asked}.isdisjoint(job.key for job in jobs("context=1024", batch=4))


def test_rows_of_other_inputs_are_made_again(tmp_path, monkeypatch):
    """A row that rests on what has changed since, and one that was refused, are not taken over."""
    asked, out = jobs("context=1024,2048,4096"), tmp_path / "r.jsonl"
    rows = [sweep.make_row(job) for job in asked]
    rows[1].inputs[0]["sha256"] = "0" * 64
    rows[2].error = "no measurement yet"
    (tmp_path / "r.jsonl.partial").write_text("".join(json.dumps(row.model_dump()) + "\n" for row in rows))
    made, plain = [], sweep.make_row
    monkeypatch.setattr(sweep, "make_row", lambda job: made.append(job.point["context"]) or plain(job))
    result = sweep.sweep(asked, str(out), workers=1)
    assert made == ["2048", "4096"] and result.resumed == 1 and not result.refused


def test_a_missing_tool_ends_the_sweep(monkeypatch):
    def missing(job):
        raise ToolMissing("no compiler")

    monkeypatch.setattr(sweep, "_system", missing)
    with pytest.raises(ToolMissing):
        sweep.make_row(jobs("context=1")[0])


def test_a_workload_is_checked_as_sim_checks_it():
    (job,) = sweep.jobs_of("pam-pu", ["tokens=many"], settings={"sim": True}, records=None, measure=False)
    assert "sim pam-pu: tokens: " in sweep.make_row(job).error


def test_units_are_measured_once(tmp_path, monkeypatch, pu_record):
    """From records; a missing one is made, or refused with `--no-measure`."""
    from bankside.evidence import measure
    from bankside.evidence.records import RecordFolder

    folder = RecordFolder(tmp_path / "records")
    folder.write(pu_record("synth"))
    made = []

    def make(measurement, records):
        made.append(measurement.kind)
        folder.write(pu_record("sim", tokens=64))

    monkeypatch.setattr(measure, "make", make)
    asked = {"settings": {"sim": True, "preset": "pam-hbm"}, "records": str(folder.folder)}
    (refused,) = sweep.jobs_of("pam-pu", ["tokens=64"], **asked, measure=False)
    assert "no measurement yet: bankside sim pam-pu --preset pam-hbm --tokens 64" in sweep.make_row(refused).error
    other = pu_record("sim", tokens=64)
    folder.write(other.model_copy(update={"made_from": other.made_from | {"bench": "0" * 32}}))
    assert "stale measurement (changed: bench): bankside sim pam-pu --preset pam-hbm" in sweep.make_row(refused).error
    (job,) = sweep.jobs_of("pam-pu", ["tokens=64"], **asked, measure=True)
    row = sweep.make_row(job)
    assert row.error is None and made == ["sim"] and len(row.records) == 2
    assert {"area_ge", "fmax_mhz", "cycles", "memory_timing.cycles"} <= row.values.keys()
    monkeypatch.setattr(measure, "make", lambda measurement, records: (_ for _ in ()).throw(CheckFailed("differs")))
    (job,) = sweep.jobs_of("pam-pu", ["tokens=65"], **asked, measure=True)
    assert sweep.make_row(job).error == "differs"


def test_requests_are_served(tmp_path):
    (first, second) = sweep.jobs_of(
        "lol-pim",
        ["rate=1,100"],
        settings={"model": "llama-2-7b", "workload": "qmsum", "requests": 8, "slo": 100},
        records=None,
        measure=False,
    )
    slow, fast = sweep.make_row(first), sweep.make_row(second)
    assert slow.error is None and slow.values["ttft_ms.p99"] < fast.values["ttft_ms.p99"]
    assert "slo.met" in slow.values and slow.records


BAD = [
    (["pam-puu", "a=1"], "unknown unit or system 'pam-puu'; did you mean 'pam-pu'"),
    (["pam-pu", "lanez=1"], "unknown key of pam-pu 'lanez'; did you mean 'lanes'"),
    (["pam-pu", "lanes"], "lanes: must be KEY=VALUE,VALUE"),
    (["pam-pu", "lanes=1,,2"], "must be KEY=VALUE"),
    (["pam-pu", "lanes=1,1"], "a value comes twice"),
    (["pam-pu", "lanes=1", "lanes=2"], "key 'lanes' comes twice"),
    (["pam-pu", "tokens=1"], "tokens is a key of the workload: it needs --sim"),
    (["pam-pu", "lanes=1", "--context", "2"], "--context is for a system; pam-pu is a unit"),
    (["pam", "context=1"], "needs --model"),
    (["pam", "context=1", "--model", "m", "--sim"], "--sim is for a unit"),
    (["pam", "context=1", "--model", "m", "--context", "2"], "--context: 'context' changes in the sweep"),
    (["pam", "rate=1", "--model", "m"], "rate is for requests: it needs --workload"),
    (
        ["pam-pu", f"lanes={','.join(map(str, range(400)))}", f"tiles={','.join(map(str, range(400)))}"],
        "160000 combinations",
    ),
    (["pam-pu", "lanes=4", "--output", "x.txt"], "rows are written as .csv or .jsonl, not 'x.txt'"),
    (["pam-pu", "lanes=4", "--pareto", "a"], "must be two columns"),
    (["pam-pu", "lanes=4", "--picture", "a.png"], "needs --pareto"),
    (["pam-pu", "lanes=4", "--pareto", "a,b", "--picture", "a.gif"], "a picture is .png, .svg or .pdf, not 'a.gif'"),
]


@pytest.mark.parametrize(("words", "message"), BAD, ids=[" ".join(words)[:40] for words, _ in BAD])
def test_bad_input_is_one_line(words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["sweep", "--output", "r.csv", *words]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1 and not list(tmp_path.iterdir())


def test_unknown_column_is_told_when_the_rows_are_there(capsys, tmp_path):
    out = tmp_path / "r.csv"
    assert (
        cli.main(
            [
                "sweep",
                "pam-hbm-only",
                "batch=4",
                "--model",
                "llama-3-70b",
                "--output",
                str(out),
                "--workers",
                "1",
                "--pareto",
                "tpot_m,throughput_tok_s",
            ]
        )
        == 2
    )
    assert "unknown column 'tpot_m'; did you mean 'tpot_ms'" in capsys.readouterr().err and out.exists()


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=30), st.booleans(), st.booleans())
def test_front_is_what_none_beats(points, larger_x, larger_y):
    def beats(a, b):
        pairs = [(p, q) if not larger else (-p, -q) for p, q, larger in zip(a, b, (larger_x, larger_y), strict=True)]
        return all(p <= q for p, q in pairs) and any(p < q for p, q in pairs)

    wanted = {k for k, point in enumerate(points) if not any(beats(other, point) for other in points)}
    assert set(sweep.front(points, (larger_x, larger_y))) == wanted


def test_whole_numbers_and_keys():
    with pytest.raises(ConfigError, match="context must be a whole number of at least 1, not '1.5'"):
        sweep._whole("context", "1.5")
    assert sweep.make_row(jobs("context=x")[0]).error == "context must be a whole number of at least 1, not 'x'"
    assert [sweep.better_large(name) for name in ("throughput_tok_s", "fmax_mhz", "tpot_ms", "area_ge")] == [
        True,
        True,
        False,
        False,
    ]
