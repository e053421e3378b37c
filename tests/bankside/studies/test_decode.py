"""The commands ``decode`` and ``capture``: results, pages, files, and errors of one line."""

import json
import re

import numpy as np
import pytest

from bankside.constraints.core.errors import CheckFailed, ConfigError
from bankside.models.decode import Decoder, Place, free_run, make_backend, teacher_forced
from bankside.models.decode.backend import exact_attention
from bankside.models.decode.checked import answered, parse_heads
from bankside.models.llm.captured import layers_of
from bankside.models.llm.weights import read_model
from bankside.models.numerics.sums import Lists
from bankside.models.pam.sparsity import fit, read_trace
from bankside.shell import cli
from tests.made_up_model import TEXT, write_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("model") / "made-up", head_dim=32, context=128)


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "prompt.txt"
    path.write_text(TEXT[:60])
    return path


def run(capsys, *arguments):
    code = cli.main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.slow
def test_teacher_forced(capsys, folder, text, tmp_path):
    """The functions have the same figures; the page has the text with a mark for each difference, and loads nothing."""
    page = tmp_path / "report.html"
    code, out, _ = run(
        capsys,
        "decode",
        folder,
        "--prompt",
        text,
        "--system",
        "pam",
        "--teacher-forced",
        "--tokens",
        40,
        "--compare",
        "cent-taylor,quest-16-lol-pim",
        "--html",
        page,
        "--json",
    )
    result = json.loads(out)
    assert code == 0 and result["tokens"] == list(result["tokens"]) and len(result["tokens"]) == 40
    assert result["text"] == TEXT[:40] == "".join(result["pieces"])
    model = read_model(folder)
    want = teacher_forced(model, make_backend("pam"), np.array(result["tokens"]))
    assert np.allclose(result["attention_error"], want.error, rtol=1e-9)
    assert 0 < result["max_abs_logit_error"] < 0.1 and result["agreement"] > 0.9
    assert result["perplexity"] == pytest.approx(result["reference"]["perplexity"], rel=0.01)
    assert sum(result["placement"]["tokens"][-1]) == 40 and result["attention"]["selected"] is None
    assert [one["system"] for one in result["compared"]] == ["cent-taylor", "quest-16-lol-pim"]
    assert result["rtl"] is None and result["hazards"] is None and result["reads"] is None
    html = page.read_text()
    assert "Tokens by tier" in html and "Maps of attention" in html
    marked = re.search(r'<pre class="running">(.*?)</pre>', html, re.DOTALL)[1]
    assert marked.count('class="bad"') == sum(not same for same in result["agrees"][:-1])
    assert not re.search(r"(src|href)=\"https?:", html) and "@import" not in html


def test_free_decoding_and_its_page(capsys, folder, text, tmp_path):
    page = tmp_path / "report.html"
    code, out, _ = run(
        capsys, "decode", folder, "--prompt", text, "--system", "quest-32-inf2", "--tokens", 6, "--html", page, "--json"
    )
    result = json.loads(out)
    assert code == 0 and result["prompt_tokens"] == 60 and len(result["tokens"]) == 66 and result["mode"] == "free"
    size = len(result["attention"]["dense"])
    assert size == 48 and np.array(result["attention"]["selected"]).shape == (48, 48)
    assert np.allclose(np.sum(result["attention"]["dense"], axis=1), 1, atol=1e-3)
    assert page.read_text().count('class="prompt"') == 60 and "Rows touched" in page.read_text()
    reads = result["reads"]
    assert reads["tokens"][-6:] == list(range(61, 67)) and reads["wanted"][-1] <= 32 and reads["units_of_all"][-1] == 5
    assert reads["units"] == reads["units_in_order"] and max(reads["units"]) <= 2  # pages are access units
    code, out, _ = run(capsys, "decode", folder, "--prompt", text, "--system", "float32", "--tokens", 3)
    assert code == 0 and "perplexity" in out and "100.00 %" in out


def test_hazards(capsys, folder, text):
    code, out, _ = run(
        capsys, "decode", folder, "--prompt", text, "--teacher-forced", "--tokens", 24, "--hazards", "--json"
    )
    found = {one["name"]: one for one in json.loads(out)["hazards"]}
    assert code == 0 and len(found) == 5
    taylor = found["Taylor exponential of CENT without maximum"]["figures"]
    assert taylor["scores"] == 2 * 4 * 24 * 25 // 2 and taylor["smallest_score"] < taylor["largest_score"]
    scores = found["BF16 scores"]["figures"]
    assert 0 < scores["largest_score_error"] <= scores["largest_score"] / 256
    assert found["masks of -1e4"]["figures"]["max_abs_logit_difference"] == 0
    assert found["FP16 sums of INF2"]["figures"]["max_abs_logit_difference"] > 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--system", "pan"], r"unknown system 'pan'; did you mean 'pam'\?"),
        (["--compare", "pam,ints2"], r"unknown system 'ints2'; did you mean 'inf2'\?"),
        (["--tokens", "100"], r"prompt.txt: 60 tokens and 100 behind it are beyond the 128 positions that made-up"),
        (["--tokens", "1", "--teacher-forced"], r"prompt.txt: a text of one token predicts nothing"),
    ],
)
def test_wrong_requests(capsys, folder, text, change, message):
    code, out, err = run(capsys, "decode", folder, "--prompt", text, *change)
    assert code == 2 and not out and err.count("\n") == 1 and re.search(message, err), err


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (b"", r"prompt.txt: is empty; a prompt needs at least one character"),
        (b"ab\xff", r"prompt.txt: not UTF-8 text \(byte 2\)"),
        (b"x" * 129, r"prompt.txt: 129 tokens and 64 behind it are beyond the 128 positions"),
    ],
)
def test_unusable_prompts(capsys, folder, text, contents, message):
    text.write_bytes(contents)
    code, out, err = run(capsys, "decode", folder, "--prompt", text)
    assert code == 2 and not out and err.count("\n") == 1 and re.search(message, err), err


def test_folders_without_a_model(capsys, tmp_path, text):
    write_model(tmp_path / "mute", vocabulary=64)
    for name, message in (
        ("", r"no config\.json"),
        ("mute", r"no tokenizer\.json, which turns text into tokens"),
        ("gone", r"there is no such folder"),
    ):
        code, _, err = run(capsys, "decode", tmp_path / name, "--prompt", text)
        assert code == 2 and re.search(message, err) and err.count("\n") == 1, err


def test_an_interrupted_run_leaves_its_report(capsys, folder, text, tmp_path, monkeypatch):
    from bankside.models.decode import decoder

    page, forward, steps = tmp_path / "report.html", decoder.Decoder.forward, []

    def interrupted(self, tokens):
        steps.append(tokens)
        if len(steps) == 8:
            raise KeyboardInterrupt
        return forward(self, tokens)

    monkeypatch.setattr(decoder.Decoder, "forward", interrupted)
    code, out, _ = run(capsys, "decode", folder, "--prompt", text, "--tokens", 20, "--html", page, "--json")
    result = json.loads(out)
    assert code == 130 and result["interrupted"] and len(result["tokens"]) == 62
    assert "The run was interrupted" in page.read_text()


def test_capture_and_its_trace(capsys, folder, text, tmp_path):
    """The tensors are queries, keys and values of float32; the trace has the tokens with the largest weights."""
    output = tmp_path / "trace"
    code, out, _ = run(capsys, "capture", folder, "--text", text, "-o", output, "--json")
    result = json.loads(out)
    assert code == 0 and result["steps"] == 30 and {path.name for path in output.iterdir()} == set(result["files"])
    model = read_model(folder)
    decoder = Decoder(model, make_backend("float32"), 60, watch=True, capture=True)
    decoder.forward(np.array(json.loads((output / "capture.json").read_text())["tokens"]))
    for layer, parts in zip(layers_of(output), decoder.captured, strict=True):
        for name, part in zip("qkv", parts, strict=True):
            assert np.array_equal(layer[name], part.swapaxes(0, 1).astype(np.float16))
    (steps,) = read_trace(output / "attention.jsonl")
    assert [step.context for step in steps] == list(range(31, 61))
    last = decoder.seen.weights[-1]
    assert set(steps[-1].tokens) == set(np.argsort(-last)[:8]) and steps[-1].scores.sum() < 1
    assert fit(output / "attention.jsonl").compression == pytest.approx(8, rel=0.1)
    (output / "layer-00.safetensors").write_bytes(b"other")
    with pytest.raises(ConfigError, match=r"layer-00\.safetensors: has another digest than capture\.json says$"):
        list(layers_of(output))


def test_something_else_answers_for_a_head(folder):
    """Equal bits go on; a wrong bit stops the run with its layer and head."""
    model, calls = read_model(folder), []
    tokens = np.arange(40, 60)
    plain = teacher_forced(model, make_backend("pam"), tokens)
    own = make_backend("pam").local

    def right(place, *arguments):
        calls.append(place)
        assert arguments[-1] is not None  # the model's own bits come last
        return own(place, *arguments[:-1])

    chosen = [Place(1, 0)]
    run = teacher_forced(model, answered(make_backend("pam"), chosen, right), tokens)
    assert np.array_equal(run.logits, plain.logits) and set(calls) == set(chosen) and len(calls) == 3

    def wrong(place, *arguments):
        out = own(place, *arguments[:-1])
        out.o[3, 1] ^= 1
        return out

    with pytest.raises(CheckFailed, match=r"^layer 1, head 0 of keys and values: o\[3, 1\] is 0x"):
        free_run(model, answered(make_backend("pam"), chosen, wrong), tokens, 1)
    with pytest.raises(ConfigError, match=r"^float32 has no unit"):
        answered(make_backend("float32"), chosen, right)


def test_heads_by_name(folder):
    shape = read_model(folder).shape
    assert parse_heads("0.1,1.3", shape) == [(0, 1), (1, 3)] and len(parse_heads("all", shape)) == 8
    for text, message in (
        ("2.0", r"^head 2\.0 does not exist: made-up has layers 0 to 1 with heads 0 to 3$"),
        ("0.4", r"^head 0\.4 does not exist"),
        ("0", r"^heads must be LAYER\.HEAD"),
    ):
        with pytest.raises(ConfigError, match=message):
            parse_heads(text, shape)


def test_attention_of_lists_is_that_of_masks():
    rng = np.random.default_rng(1)
    q, k, v = (rng.normal(size=(n, 8)).astype(np.float32) for n in (3, 20, 20))
    chosen = [np.array([0, 5, 19]), np.array([7]), np.arange(20)]
    out, weights = exact_attention(q, k, v, Lists.of(chosen))
    for n, tokens in enumerate(chosen):
        p = np.exp(q[n] @ k[tokens].T * 8**-0.5)
        assert np.allclose(out[n], p / p.sum() @ v[tokens], atol=1e-6)
        assert set(np.flatnonzero(weights[n])) == set(tokens)
