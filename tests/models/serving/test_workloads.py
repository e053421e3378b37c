"""Workloads: what is drawn has the stated statistics, files round trip, and a broken line is told by its number."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankside.constraints.core.document import parse, validate
from bankside.constraints.core.errors import ConfigError
from bankside.constraints.workloads import FILES, ArrivalSpec, Beta, LogNormal, Quantiles, WorkloadSpec
from bankside.models.serving.workloads import (
    FORMATS,
    Workload,
    arrival_times,
    draw,
    load_workload,
    read_requests,
    sample_lengths,
    workload_names,
    write_requests,
)

# Drawing -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", workload_names())
def test_means_and_ranges_are_the_stated_ones(name):
    """To the error of 40,000 draws, and of straight lines between quantiles; the file says where its numbers are from."""
    spec, w = load_workload(name), draw(name, 40_000, seed=2)
    assert len(spec.source) > 20 and w.synthetic == spec.synthetic and w.timed == (spec.arrivals is not None)
    for what, length, values in (("input", spec.input, w.prompt), ("output", spec.output, w.output)):
        low, high = (
            (length.points[0][1], length.points[-1][1]) if isinstance(length, Quantiles) else (length.low, length.high)
        )
        assert round(low) <= values.min() <= values.max() <= round(high)
        if hasattr(length, "mean"):
            measured = isinstance(length, Quantiles)
            assert values.mean() == pytest.approx(length.mean, rel=0.08 if measured else 0.03), what
        if isinstance(length, Beta):
            assert values.std() == pytest.approx(length.sd, rel=0.02)
    if spec.total_at_most:
        assert (w.prompt + w.output).max() <= spec.total_at_most


def test_quantiles_come_back():
    spec = load_workload("azure_conv").input
    values = sample_lengths(spec, 200_000, np.random.default_rng(1))
    for share, tokens in spec.points:
        if 0.01 <= share <= 0.99:
            assert np.quantile(values, share) == pytest.approx(tokens, rel=0.1, abs=2)


@pytest.mark.parametrize(
    "mean, sd, low, high", [(300, 0.9, 4, 2048), (5, 2, 1, 6), (2000, 0.1, 4, 2048), (10, 3, 9, 5000)]
)
def test_a_cut_log_normal_has_its_mean(mean, sd, low, high):
    spec = LogNormal(kind="lognormal", mean=mean, ln_sd=sd, low=low, high=high)
    values = sample_lengths(spec, 200_000, np.random.default_rng(1))
    assert values.mean() == pytest.approx(mean, rel=0.02) and low <= values.min() <= values.max() <= high


def test_the_same_seed_gives_the_same_requests():
    a, b, c = draw("sharegpt", 100, 7), draw("sharegpt", 100, 7), draw("sharegpt", 100, 8)
    assert (a.prompt == b.prompt).all() and (a.output == b.output).all() and (a.prompt != c.prompt).any()
    # Arrivals do not disturb lengths, nor a longer list its beginning
    assert (a.arriving(ArrivalSpec(rate=1), 7).prompt == a.prompt).all()
    assert (draw("sharegpt", 500, 7).prompt[:100] == a.prompt).all()
    assert draw("arxiv-sum", 5, 7).prompt.tolist() == draw("arxiv_sum", 5, 7).prompt.tolist()


def test_nothing_changes_from_version_to_version():
    """Streams of the generator are fixed; these are the first requests of seed 1."""
    w = draw("wildchat", 4)
    assert (w.prompt.tolist(), w.output.tolist()) == GOLDEN


GOLDEN = ([157, 948, 47, 930], [232, 434, 345, 140])


@pytest.mark.parametrize("cv", [0.5, 1, 4])
def test_arrivals_have_rate_and_variation(cv):
    gaps = np.diff(arrival_times(200_000, ArrivalSpec(rate=5, cv=cv), 3), prepend=0)
    assert gaps.mean() == pytest.approx(0.2, rel=0.03) and gaps.std() / gaps.mean() == pytest.approx(cv, rel=0.05)
    assert (gaps >= 0).all()


def test_regular_arrivals():
    assert arrival_times(3, ArrivalSpec(rate=4, cv=0)).tolist() == [0.25, 0.5, 0.75]


@pytest.mark.parametrize(
    "text, message",
    [
        ("input: {kind: quantiles, mean: 3, points: [[0, 1], [0.5, 4]]}", "must begin at share 0 and end at share 1"),
        ("input: {kind: quantiles, mean: 3, points: [[0, 5], [1, 4]]}", "tokens must not shrink"),
        ("input: {kind: quantiles, mean: 3, points: [[0, 1], [0, 2], [1, 4]]}", "shares must grow"),
        ("input: {kind: uniform, low: 5, high: 5}", "low 5 must be less than high 5"),
        ("input: {kind: lognormal, mean: 50, ln_sd: 1, low: 1, high: 40}", "mean 50 must be between"),
        ("input: {kind: beta, mean: 5, sd: 5, low: 1, high: 9}", "sd 5 must be less than 4"),
        ("input: {kind: fixed, tokens: 0}", "greater than or equal to 1"),
        ("input: {kind: zipf}", "input"),
    ],
)
def test_descriptions_that_are_wrong(text, message):
    text = f"description: d\nsynthetic: true\nsource: s\noutput: {{kind: fixed, tokens: 1}}\n{text}\n"
    document, lines = parse(text, "w.yaml")
    with pytest.raises(ConfigError, match=rf"^w.yaml:5: .*{message}"):
        validate(document, WorkloadSpec, "w.yaml", lines)


def test_unknown_workload():
    with pytest.raises(ConfigError, match="unknown workload 'sharegtp'; did you mean 'sharegpt'"):
        draw("sharegtp", 1)
    with pytest.raises(ConfigError, match="requests must be 1 to"):
        draw("sharegpt", 0)
    assert set(FILES) == set(workload_names())


# Files -------------------------------------------------------------------------------------------------------------------

rows = st.lists(
    st.tuples(st.integers(0, 10**15), st.integers(1, 1 << 24), st.integers(1, 1 << 24), st.integers(0, 31)),
    min_size=1,
    max_size=20,
)


@settings(max_examples=60)
@given(rows, st.sampled_from(list(FORMATS)), st.booleans())
def test_round_trip(tmp_path_factory, rows, form, packed):
    """What a format has a place for comes back as it was: arrivals to the nanosecond, lengths, channels."""
    arrival, prompt, output, channel = (np.array(column) for column in zip(*rows, strict=True))
    w = Workload("w", arrival / 1e9, prompt, output, channel, timed=True)
    path = tmp_path_factory.mktemp("w") / "requests"
    data = b"".join(write_requests(w, form))
    path.write_bytes(gzip.compress(data) if packed else data)
    for named in (None, form):
        back = read_requests(path, named, output_tokens=5)
        assert back.prompt.tolist() == prompt.tolist()
        assert back.output.tolist() == ([5] * len(w) if form == "neupims" else output.tolist())
        assert back.timed == (form in ("jsonl", "vidur"))
        if back.timed:
            assert back.arrival_s.tolist() == w.arrival_s.tolist()
        if form == "neupims":
            assert back.channel is not None and back.channel.tolist() == channel.tolist()


@pytest.mark.parametrize("form", FORMATS)
def test_examples_are_of_their_format(tmp_path, form):
    path = tmp_path / "requests"
    path.write_text("\n".join(FORMATS[form].example))
    w = read_requests(path)
    assert len(w) == 1 and w.source.endswith(f"({form})") and w.prompt[0] in (183, 482)


def test_what_files_of_the_simulators_look_like(tmp_path):
    """Token ids beside lengths; a table with more columns in another order; lengths without arrivals; no header."""
    path = tmp_path / "requests"
    request = {"input_toks": 3, "output_toks": 2, "arrival_time_ns": 5, "input_tok_ids": [1] * 9000}
    path.write_text(json.dumps(request) + "\n\n")
    assert read_requests(path).arrival_s.tolist() == [5e-9]
    path.write_text("id,num_decode_tokens,num_prefill_tokens,arrived_at\r\n0,2,3,0.5\r\n1,4.0,5,1.5\r\n")
    w = read_requests(path)
    assert (w.prompt.tolist(), w.output.tolist(), w.arrival_s.tolist()) == ([3, 5], [2, 4], [0.5, 1.5])
    path.write_text("num_prefill_tokens,num_decode_tokens,pd_ratio\n3,2,1.5\n")
    assert not read_requests(path).timed
    path.write_text("7\t8\n9\t10\n")
    assert read_requests(path).output.tolist() == [8, 10]
    assert read_requests(path, limit=1).output.tolist() == [8]


@pytest.mark.parametrize(
    "text, line, message",
    [
        ('{"input_toks": 1, "output_toks": 1}\n{"input_toks": 1', 2, "not valid JSON"),
        ('{"input_toks": 1, "output_toks": 1}\n\n[1]\n', 3, "a request is an object"),
        ('{"input_toks": 1, "output_tokens": 1}', 1, "no key 'output_toks'; found input_toks, output_tokens"),
        ('{"input_toks": 1.5, "output_toks": 1}', 1, "input_toks must be a whole number, not '1.5'"),
        ('{"input_toks": true, "output_toks": 1}', 1, "input_toks must be a whole number, not 'true'"),
        ('{"input_toks": 0, "output_toks": 1}', 1, "input tokens must be 1 to 16777216, not 0"),
        ('{"input_toks": 1, "output_toks": 0}', 1, "output tokens must be 1 to"),
        (
            '{"input_toks": 1, "output_toks": 1, "arrival_time_ns": -4}',
            1,
            "arrival_time_ns must not be negative, not -4",
        ),
        ('{"input_toks": 1, "output_toks": 1, "arrival_time_ns": 1e40}', 1, "arrival_time_ns must be a number, not"),
        ('{"input_toks": 1, "output_toks": 1, "arrival_time_ns": NaN}', 1, "NaN is not a number of JSON"),
        (
            '{"input_toks": 1, "output_toks": 1, "arrival_time_ns": 4}\n{"input_toks": 1, "output_toks": 1}',
            2,
            "or none",
        ),
        ('{"input_toks": 1' + "0" * 400 + ', "output_toks": 1}', 1, "input_toks must be a whole number, not '1000"),
        ('{"input_toks": 1' + "0" * 5000 + ', "output_toks": 1}', 1, "not valid JSON"),
        ('{"input_toks": "1", "output_toks": 1}', 1, "input_toks must be a whole number"),
        ("[" * 100_000, 1, "of no known format"),
        ('{"a": ' * 100_000, 1, "not valid JSON"),
        ('{"session_id": 1, "sub_requests": []}', 1, "sessions of sub_requests are not supported"),
        (
            "arrived_at,num_prefill_tokens\n1,2\n",
            1,
            "no column 'num_decode_tokens' in the header; found 'arrived_at', 'num_",
        ),
        ('"num_prefill_tokens,' + "x" * 5000 + "\n1,2\n", 1, r"found 'num_prefill_tokens,x+\.\.\.'$"),
        ("arrived_at,num_prefill_tokens,num_decode_tokens\n1,2\n", 2, "2 columns, the header has 3"),
        (
            "arrived_at,num_prefill_tokens,num_decode_tokens\n1,2,3\nx,2,3",
            3,
            "arrived_at must be a number of seconds, not 'x'",
        ),
        ("arrived_at,num_prefill_tokens,num_decode_tokens\ninf,2,3", 2, "arrived_at must be a number"),
        ("arrived_at,num_prefill_tokens,num_decode_tokens\n-2,2,3", 2, "arrived_at must not be negative"),
        ("arrived_at,num_prefill_tokens,num_decode_tokens\n-1,2,3", 2, "arrived_at must not be negative"),
        ("seq_len,ch_idx\n12,one\n", 2, "ch_idx must be a whole number, not 'one'"),
        ("seq_len,ch_idx\n12,-1\n", 2, "ch_idx must not be negative"),
        ("seq_len,ch_idx\n0,1\n", 2, "input tokens must be 1 to"),
        ("1\t2\n3 4\n", 2, "a line is input tokens, a tab, output tokens, not '3 4'"),
        ("1\t2\n3\t-1\n", 2, "output tokens must be 1 to"),
        ("1\t2\n3\t99999999999999999999\n", 2, "output tokens must be a whole number"),
        ("hello\n", 1, "of no known format: 'hello' .valid: jsonl, vidur, neupims, tsv"),
        ("\n\n1\t2\n\xff\n", 4, "not UTF-8 text"),
        (
            '{"input_toks": 1, "output_toks": 1, "arrival_time_ns": 1e17}',
            1,
            "arrival must be 0 to 4e.06 seconds, not 1e.08",
        ),
    ],
    ids=lambda value: repr(value)[:60],
)
def test_a_broken_line_is_told_by_its_number(tmp_path, text, line, message):
    path = tmp_path / "requests"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError, match=message) as error:
        read_requests(path)
    told = str(error.value)
    assert told.startswith(f"{path}:{line}: ") and len(told) < len(str(path)) + 500 and told.isprintable()


def test_files_that_are_not_there_or_empty(tmp_path):
    with pytest.raises(ConfigError, match="no such file"):
        read_requests(tmp_path / "none")
    for text in ("", "\n \n", "seq_len,ch_idx\n"):
        (tmp_path / "empty").write_text(text)
        with pytest.raises(ConfigError, match="no request in the file"):
            read_requests(tmp_path / "empty")
    (tmp_path / "cut").write_bytes(gzip.compress(b"1\t2\n" * 1000)[:-9])
    with pytest.raises(ConfigError, match="not a whole gzip file"):
        read_requests(tmp_path / "cut")
    with pytest.raises(ConfigError, match="unknown format of requests 'json'; did you mean 'jsonl'"):
        read_requests(tmp_path / "none", "json")


def test_wrong_workloads():
    one = np.ones(1, int)
    with pytest.raises(ConfigError, match="equally many"):
        Workload("w", np.zeros(2), one, one)
    with pytest.raises(ConfigError, match="prompt tokens must be 1 to"):
        Workload("w", np.zeros(1), one - 1, one)
    with pytest.raises(ConfigError, match="arrivals must be 0 to"):
        Workload("w", np.array([-1.0]), one, one)
