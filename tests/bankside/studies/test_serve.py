"""``bankside serve``: what it prints and writes, and one line for what is wrong."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from bankside.evidence.records import RecordFolder

DOCS = Path(__file__).parents[3] / "docs"
BASE = ("serve", "gpu-only", "--model", "llama-3-70b", "--workload")


def test_table(cli):
    result = cli(*BASE, "sharegpt", "--requests", "50", "--rate", "20", "--slo", "100")
    assert result.code == 0 and result.err == ""
    for text in ("50 requests of sharegpt", "time to first token", "throughput", "goodput", "TPOT 100 ms", "synthetic"):
        assert text in result.out


def test_json_has_the_documented_keys(cli, tmp_path):
    """Every key is documented in cli.md, and every documented key is there."""
    result = cli(
        *BASE,
        "sharegpt",
        "--requests",
        "20",
        "--slo",
        "100",
        "--ttft-slo",
        "5000",
        "--search",
        "batch",
        "--csv",
        str(tmp_path / "r.csv"),
        "--json",
    ).json
    sections = re.findall(r"^## (?:JSON|serve)$(.*?)(?=^## )", (DOCS / "cli.md").read_text(), re.DOTALL | re.MULTILINE)
    assert len(sections) == 2
    rows = re.findall(r"^\| `([a-z0-9_.*\[\]]+)` \|([^|]+)\|", "".join(sections), re.MULTILINE)
    documented = {key for key, text in rows if "object" not in text} - {"parallelism.micro_batch"}  # of other systems

    def paths(value, prefix=""):
        if isinstance(value, dict) and value:
            for key, item in value.items():
                yield from paths(item, f"{prefix}.{key}" if prefix else key)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            yield from paths(value[0], f"{prefix}[]")
        else:
            yield prefix

    # What every result says of its inputs is compared where those of all kinds are (test_envelope.py).
    documented = {key for key in documented if not key.startswith("inputs")}
    result.pop("inputs")
    groups = "tools|files|energy.components_j_per_token"
    found = {re.sub(rf"^({groups})\..*", r"\1.*", path) for path in paths(result)}
    assert found == documented


def test_files(cli, place):
    result = cli(
        *BASE,
        "humaneval",
        "--requests",
        "30",
        "--rate",
        "5",
        "--burstiness",
        "3",
        "--csv",
        "r.csv",
        "--plot",
        "r.png",
        "--timeline",
        "t.json",
        "--write-requests",
        "w.jsonl",
        "--json",
    )
    assert set(result.json["files"]) == {"csv", "plot", "timeline", "requests"}
    rows = list(csv.DictReader((place / "r.csv").read_text().splitlines()))
    assert len(rows) == 30 and list(rows[0])[-3:] == ["TTFT", "TPOT", "ITL"]
    for row in rows:
        gaps = json.loads(row["ITL"])
        assert len(gaps) == int(row["output"]) - 1
        assert int(row["TTFT"]) + sum(gaps) == pytest.approx(int(row["latency"]), abs=len(gaps) + 2)
    assert (place / "r.png").read_bytes()[:4] == b"\x89PNG"
    assert json.loads((place / "t.json").read_text())["traceEvents"]
    # The requests that were written, served again, give the same
    again = cli(*BASE, "w.jsonl", "--json").json
    for key in ("makespan_s", "throughput_tok_s"):
        assert again[key] == pytest.approx(result.json[key], rel=1e-6)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl"])
def test_formats(cli, place, suffix):
    cli(*BASE, "alpaca", "--requests", "5", "--write-requests", f"w.{suffix}")
    result = cli(*BASE, f"w.{suffix}", "--rate", "0", "--json").json
    assert result["workload"]["requests"] == 5 and not result["workload"]["timed"]


def test_the_same_seed_gives_the_same_output(cli):
    one, two, other = (
        cli(*BASE, "wildchat", "--requests", "40", "--rate", "9", "--seed", seed, "--json").json
        for seed in ("3", "3", "4")
    )
    for result in (one, two, other):
        del result["seconds"]
    assert one == two != other


def test_search(cli):
    result = cli(*BASE, "sharegpt", "--requests", "60", "--slo", "20", "--search", "batch", "--json").json
    found = result["search"]
    assert found["what"] == "batch" and result["policy"]["batch_limit"] == found["value"]
    assert [one["meets"] for one in found["tried"] if one["value"] == found["value"]] == [True]
    table = cli(*BASE, "sharegpt", "--requests", "60", "--slo", "17.5", "--search", "rate", "--slo-percentile", "50")
    assert "largest arrival rate with p50 TPOT within 17.5 ms" in table.out and "misses 17.5 ms" in table.err


def test_a_limit_that_nothing_meets(cli):
    cli(*BASE, "sharegpt", "--requests", "9", "--slo", "5", "--search", "batch").failed(
        1,
        r"no batch limit meets a p99 TPOT of 5 ms; the best reachable is 1\d\.\d\d ms, at batch limit 1$",
        progress=True,
    )


def test_a_workload_of_ones_own(cli, place):
    (place / "w.yaml").write_text(
        "description: d\nsynthetic: true\nsource: mine\ninput: {kind: fixed, tokens: 100}\n"
        "output: {kind: uniform, low: 5, high: 9}\narrivals: {rate: 50}\n"
    )
    result = cli(*BASE, "w.yaml", "--requests", "10", "--json").json
    assert result["workload"]["input_tokens"] == 1000 and result["workload"]["timed"]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("sharegtp",), "unknown workload 'sharegtp'; did you mean 'sharegpt'"),
        (("none.jsonl",), "none.jsonl: no such file"),
        (("bad.tsv",), "bad.tsv:2: output tokens must be a whole number, not 'x'"),
        (("long.tsv",), "request 0 needs 9000001 tokens of KV cache, gpu-only has room for"),
        (("good.tsv", "--format", "jsonl"), "good.tsv:1: a request is an object|good.tsv:1: not valid JSON"),
        (("good.tsv", "--format", "csv"), "unknown format of requests 'csv'"),
        (("sharegpt", "--format", "tsv"), "--format is for a file"),
        (("sharegpt", "--rate", "-1"), "--rate: must be a number of at least 0, not '-1'"),
        (("sharegpt", "--rate", "nan"), "--rate: must be a number of at least 0, not 'nan'"),
        (("sharegpt", "--slo", "0"), "--slo: must be a number above 0"),
        (("sharegpt", "--search", "batch"), "--search needs --slo"),
        (("sharegpt", "--search", "rate", "--slo", "5", "--rate", "5"), "can't be combined with --rate"),
        (("sharegpt", "--slo-percentile", "101"), "must be at most 100"),
        (("sharegpt", "--burstiness", "2"), "--burstiness needs --rate"),
        (("sharegpt", "--rate", "1", "--burstiness", "200"), "less than or equal to 100"),
        (("sharegpt", "--preemption", "swap"), "unknown preemption 'swap'"),
        (("sharegpt", "--dispatch", "random"), "unknown dispatch 'random'"),
        (("sharegpt", "--requests", "0"), "--requests: must be at least 1"),
        (("sharegpt", "--fast", "2"), "tolerance must be"),
        (("sharegpt", "--plot", "x.gif"), "--plot: a picture ends with"),
        (("sharegpt", "--write-requests", "x.txt"), "a file of requests ends with"),
        (("sharegpt", "--csv", "."), "is a directory"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(cli, place, arguments, message):
    (place / "bad.tsv").write_text("1\t2\n3\tx\n")
    (place / "good.tsv").write_text("1\t2\n")
    (place / "long.tsv").write_text("9000000\t2\n")
    cli(*BASE, *arguments).failed(2, message)


def test_missing_records_and_systems(cli):
    cli("serve", "pam-hbm-only", "--model", "opt-66b", "--workload", "alpaca").failed(
        2, "no measurement yet; run `bankside sim"
    )
    cli("serve", "gpu-olny", "--model", "opt-66b", "--workload", "alpaca").failed(2, "did you mean 'gpu-only'")
    cli("serve", "gpu-only", "--workload", "alpaca").failed(2, "required: --model")


def test_records_are_named(cli, place, tmp_path, pu_record):
    """Measurements made elsewhere; the result says on which it rests."""
    folder = RecordFolder(tmp_path / "records")
    folder.write(pu_record("sim"))
    folder.write(pu_record("synth"))
    arguments = (
        "serve",
        "pam-hbm-only",
        "--model",
        "opt-66b",
        "--workload",
        "alpaca",
        "--requests",
        "5",
        "--records",
        str(tmp_path / "records"),
    )
    names = cli(*arguments, "--json").json["records"]
    assert len(names) == 2 and all(name.startswith("pam-pu-") for name in names)
    assert f"rests on      {names[0]}, {names[1]}" in cli(*arguments).out
