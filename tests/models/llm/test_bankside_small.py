"""The model that comes with the package: what its weights reach, and that its card says so."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from bankside.models.decode.backend import Backend
from bankside.models.decode.decoder import Decoder
from bankside.models.llm.weights import SMALL, read_model

ROOT = Path(__file__).resolve().parents[3]
TOOL = ROOT / "tools" / "train_small.py"

pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="not a checkout")

spec = importlib.util.spec_from_file_location("train_small", TOOL)
tool = importlib.util.module_from_spec(spec)
sys.modules["train_small"] = tool
if TOOL.exists():
    spec.loader.exec_module(tool)


@pytest.fixture(scope="module")
def model():
    return read_model()


@pytest.fixture(scope="module")
def text():
    return (SMALL / "heldout.txt").read_text()


@pytest.fixture(scope="module")
def checks():
    return json.loads((SMALL / "checks.json").read_text())


def run(model, row):
    """Nats of each token of a row but the first, and the likeliest token in its place."""
    logits = Decoder(model, Backend(), len(row) - 1).forward(row[:-1]).astype(np.float64)
    top = logits.max(axis=-1)
    total = top + np.log(np.exp(logits - top[:, None]).sum(axis=-1))
    return total - np.take_along_axis(logits, row[1:, None], 1)[:, 0], logits.argmax(axis=-1)


def bits_per_byte(model, rows, sizes):
    return sum(run(model, row)[0].sum() for row in rows) / np.log(2) / sizes.sum()


def copy_nats(model, rows, distance):
    """Nats per token of the second time of random segments."""
    return np.mean([run(model, row)[0][distance - 1 :].mean() for row in tool.copy_probe(rows, distance, 1024)])


def lookup_accuracy(model, text, rows, distance):
    probe, answers = tool.lookup_probe(model.tokenizer, text, rows, distance)
    return np.mean(
        [np.array_equal(run(model, row)[1][at - 1], row[at]) for row, at in zip(probe, answers, strict=True)]
    )


# What the weights reach ----------------------------------------------------------------------------------------------


def test_a_part_of_the_text_at_a_quarter_of_the_context(model, text):
    rows, sizes = tool.held_out_rows(model.tokenizer, text, 512)
    chosen = slice(None, None, len(rows) // 5)
    assert 0.5 < bits_per_byte(model, rows[chosen], sizes[chosen]) <= tool.TARGETS["bits_per_byte"]


def test_copying_over_half_the_distance(model):
    nats = run(model, tool.copy_probe(1, 512, 1024)[0])[0]
    assert nats[:511].mean() > np.log(1024)  # nothing is known the first time
    assert nats[511:].mean() <= tool.TARGETS["copy_nats"]


def test_look_ups_over_half_the_distance(model, text):
    assert lookup_accuracy(model, text, 4, 700) >= 0.75


def test_attention_reaches_far(model):
    """The same tokens once more, behind others than the first time: copying looks back, not at a position."""
    rng = np.random.default_rng(3)
    segment = rng.integers(1, 1024, 64)
    row = np.concatenate([[0], rng.integers(1, 1024, 100), segment, rng.integers(1, 1024, 400), segment])
    nats = run(model, row)[0]
    assert nats[-60:].mean() < 1.5 < 6 < nats[-400:-64].mean()


@pytest.mark.slow
def test_text_at_the_whole_context(model, text, checks):
    """PyTorch measured the figure of the card; NumPy has the same."""
    rows, sizes = tool.held_out_rows(model.tokenizer, text, 2048)
    part = checks["excerpt"]
    rows, sizes = rows[: part["rows"]], sizes[: part["rows"]]
    reached = bits_per_byte(model, rows, sizes)
    assert (part["context"], part["bytes"], part["rows"]) == (2048, sizes.sum(), 16)
    assert reached == pytest.approx(part["bits_per_byte"], abs=2e-5)
    assert reached <= tool.TARGETS["bits_per_byte"]


@pytest.mark.slow
def test_copying_at_the_whole_distance(model, checks):
    nats = copy_nats(model, checks["excerpt"]["probes"], tool.COPY_DISTANCE)
    assert nats <= tool.TARGETS["copy_nats"]
    assert nats == pytest.approx(checks["excerpt"]["copy_nats"], abs=1e-4)
    assert abs(nats - checks["figures"]["copy_nats"]) < 0.05


@pytest.mark.slow
def test_look_ups_at_the_whole_distance(model, text, checks):
    share = lookup_accuracy(model, text, 16, tool.LOOKUP_DISTANCE)
    assert share >= tool.TARGETS["lookup_accuracy"]
    assert abs(share - checks["figures"]["lookup_accuracy"]) < 0.15


# Files and card ------------------------------------------------------------------------------------------------------


def test_the_recorded_figures_are_the_targets_of_the_model(checks):
    assert checks["targets"] == tool.TARGETS == {"bits_per_byte": 1.40, "copy_nats": 1.0, "lookup_accuracy": 0.80}
    figures = checks["figures"]
    assert checks["reached"] and tool.reached(figures)
    assert (figures["context"], figures["copy_distance"], figures["lookup_distance"]) == (2048, 1024, 1500)
    for name, worse in (("bits_per_byte", 1.41), ("copy_nats", 1.01), ("lookup_accuracy", 0.79)):
        assert not tool.reached({**figures, name: worse})


def test_size_and_shape(model):
    shape = model.shape
    assert (shape.layers, shape.hidden_size, shape.heads, shape.kv_heads, shape.head_dim) == (4, 256, 4, 2, 128)
    assert (shape.intermediate_size, shape.vocab_size, shape.max_context) == (704, 1024, 2048)
    assert shape.parameters == 4_000_000 and shape.tied_embeddings and shape.dtype == "float16"
    assert json.loads((SMALL / "config.json").read_text()) == json.loads(json.dumps(tool.Sizes().config("float16")))
    assert model.tokenizer.get_vocab_size() == 1024
    assert sum(path.stat().st_size for path in SMALL.iterdir()) < 8_500_000


def test_the_tokenizer_gives_every_text_back(model):
    for sample in ("def f(x):\n    return x\n", "ä€\U0001f600\t\r\n\0", (SMALL / "heldout.txt").read_text()[:20_000]):
        ids = model.tokenizer.encode(sample, add_special_tokens=False).ids
        assert model.tokenizer.decode(ids) == sample and max(ids) < 1024


def test_the_card_has_the_recorded_figures_and_the_hashes_of_the_files(tmp_path, checks):
    """``card`` writes the shipped files once more from records, text and Python's licence."""
    notice = (SMALL / "heldout-LICENSE.txt").read_text()
    data, out = tmp_path / "data", tmp_path / "out"
    for folder in (data, out):
        folder.mkdir()
    (data / "data.json").write_bytes((SMALL / "data.json").read_bytes())
    (data / "excerpt.txt").write_bytes((SMALL / "heldout.txt").read_bytes())
    (data / "LICENSE.txt").write_text(notice.partition("The licence of Python covers them:\n\n")[2])
    for name in ("model.safetensors", "config.json", "tokenizer.json", "checks.json", "curve.jsonl"):
        (out / name).write_bytes((SMALL / name).read_bytes())
    tool.main(["card", str(data), str(out), "--licence", str(data / "LICENSE.txt")])
    assert {path.name for path in out.iterdir()} == {path.name for path in SMALL.iterdir()}
    for path in out.iterdir():
        assert path.read_bytes() == (SMALL / path.name).read_bytes(), path.name
    card = (SMALL / "model-card.md").read_text()
    for figure in (
        f"{checks['figures']['bits_per_byte']:.3f}",
        f"{checks['excerpt']['bits_per_byte']:.3f}",
        f"{100 * checks['figures']['lookup_accuracy']:.1f} %",
    ):
        assert f" {figure} |" in card
    for name in ("model.safetensors", "config.json", "tokenizer.json", "heldout.txt"):
        assert f"| `{name}` | {hashlib.sha256((SMALL / name).read_bytes()).hexdigest()} |" in card


def test_the_excerpt_is_held_out_text_with_its_notice():
    about, notice = json.loads((SMALL / "data.json").read_text()), (SMALL / "heldout-LICENSE.txt").read_text()
    content = (SMALL / "heldout.txt").read_bytes()
    assert hashlib.sha256(content).hexdigest() == about["excerpt"]["sha256"] and len(content) <= 256_000
    assert hashlib.sha256((SMALL / "tokenizer.json").read_bytes()).hexdigest() == about["tokenizer_sha256"]
    assert set(about["excerpt"]["names"]) <= set(about["held_out"]["names"])
    assert all(
        tool.hash_of(name)[0] < tool.HELD_OUT and f"  Lib/{name}\n" in notice for name in about["excerpt"]["names"]
    )
    words = " ".join(notice.split())
    for part in ("PYTHON SOFTWARE FOUNDATION LICENSE VERSION 2", "Python Software Foundation; All Rights Reserved"):
        assert part in words


@pytest.mark.slow
def test_the_named_locality_is_the_fit_to_a_captured_text(model, text, tmp_path):
    """Float32 sums differ between processors, so a few tokens at the edge of the active ones may too."""
    from bankside.constraints.core.document import load
    from bankside.constraints.systems import LOCALITIES, LocalityTable
    from bankside.models.decode.capture import capture, trace_of
    from bankside.models.pam.sparsity import fit

    tokens = np.array(model.tokenizer.encode(text, add_special_tokens=False).ids)[:2048]
    capture(model, tokens, tmp_path / "trace", "")
    assert trace_of(tmp_path / "trace", tmp_path / "attention.jsonl") == 1024
    found = fit(tmp_path / "attention.jsonl")
    named = load(LOCALITIES, LocalityTable, "a table of localities").localities["bankside-small"]
    assert (found.spread, found.keep) == pytest.approx((named.spread, named.keep), abs=0.01)
