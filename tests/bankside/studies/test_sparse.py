"""The command ``sparse``: figures of selections, pictures, orders of a paper, and errors of one line."""

import hashlib
import json
import re

import numpy as np
import pytest

from bankside.constraints.core.errors import ConfigError
from bankside.models.decode.accuracy import accuracy, heads_of, small_accuracy
from bankside.models.decode.backend import Backend
from bankside.models.decode.decoder import Decoder
from bankside.models.decode.evaluate import perplexity
from bankside.models.llm.captured import read_capture
from bankside.models.llm.weights import read_model
from bankside.models.sparse import METHODS, make_method
from bankside.models.sparse.source import Captured
from bankside.shell import cli
from bankside.studies.sparse import DEFAULT_METHODS, _pairs
from tests.made_up_model import TEXT, write_model

TOKENS, PROMPT = 96, 64
BUDGETS = (48, 32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("model") / "made-up", layers=3, context=128)


@pytest.fixture(scope="module")
def model(folder):
    return read_model(folder)


@pytest.fixture(scope="module")
def tokens(model):
    return np.array(model.tokenizer.encode(TEXT[:TOKENS], add_special_tokens=False).ids)


@pytest.fixture(scope="module")
def found(model, tokens):
    return accuracy(model, [tokens], PROMPT, DEFAULT_METHODS, BUDGETS)


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "story.txt"
    path.write_text(TEXT[:TOKENS])
    return path


@pytest.fixture
def capture(capsys, folder, text, tmp_path):
    assert cli.main(["capture", str(folder), "--text", str(text), "-o", str(tmp_path / "capture")]) == 0
    capsys.readouterr()
    return tmp_path / "capture"


def run(capsys, *arguments):
    code = cli.main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def refused(capsys, message, *arguments):
    code, out, err = run(capsys, *arguments)
    assert code == 2 and not out and err.count("\n") == 1 and re.search(message, err), err


def test_a_budget_of_the_context_is_full_attention_bit_for_bit(model, tokens):
    """No method loses anything: recall 1, error 0, and the same losses in the loop to the last bit."""
    found = accuracy(model, [tokens], PROMPT, DEFAULT_METHODS, [TOKENS])
    for row in found.rows:
        assert row.recall == 1 and row.error == 0 and row.mass == pytest.approx(1, abs=1e-12)
        assert np.array_equal(row.losses, found.dense) and not row.kl_nats.any()
    assert len(found.dense) == found.predicted == TOKENS - PROMPT - 1


def test_full_attention_is_the_reference(found, model, tokens):
    for budget in BUDGETS:
        row = found.row("full", budget)
        assert (row.recall, row.error) == (1, 0) and np.array_equal(row.losses, found.dense)
        assert row.precision == pytest.approx(np.mean([budget / count for count in range(PROMPT + 1, TOKENS + 1)]))
    logits = Decoder(model, Backend(), TOKENS).forward(tokens)
    assert found.row("full", 32).perplexity == pytest.approx(perplexity(logits[PROMPT:], tokens[PROMPT:]), rel=1e-5)


def by_hand(model, tokens, method, budget):
    """Recall, mass and error of the layers behind the first, query by query."""
    decoder = Decoder(model, Backend(), len(tokens), capture=True)
    decoder.forward(tokens)
    recall, mass, error = [], [], []
    for layer, heads in list(enumerate(heads_of(decoder)))[1:]:
        for head in range(model.shape.heads):
            k, v = heads.k[head // 2], heads.v[head // 2]
            made = make_method(method, budget, **({"prefill": PROMPT} if method == "starc" else {}))
            wrong = norm = 0.0
            mine = slice(head // 2 * 2, head // 2 * 2 + 2)  # the heads that share keys
            queries, ahead = (one[mine, PROMPT:].reshape(-1, model.shape.head_dim) for one in (heads.q, heads.ahead))
            counts = np.tile(np.arange(PROMPT, len(tokens)) + 1, 2)
            lists = made.choose(queries, k, counts, layer=layer, hint=ahead)
            for at in range(PROMPT, len(tokens)):
                q = heads.q[head, at : at + 1]
                place = head % 2 * (len(tokens) - PROMPT) + at - PROMPT
                chosen = set(lists.tokens[lists.first[place] : lists.first[place + 1]].tolist())
                scores = (q @ k[: at + 1].T)[0].astype(np.float64)
                weights = np.exp((scores - scores.max()) * model.shape.head_dim**-0.5)
                best = set(np.argsort(-scores, kind="stable")[:budget].tolist())
                recall.append(len(chosen & best) / budget)
                mine = sorted(chosen)
                mass.append(weights[mine].sum() / weights.sum())
                want = weights @ v[: at + 1] / weights.sum()
                got = weights[mine] @ v[mine] / weights[mine].sum()
                wrong, norm = wrong + np.square(got - want).sum(), norm + np.square(want).sum()
            error.append((wrong / norm) ** 0.5)
    return np.mean(recall), np.mean(mass), np.mean(error)


@pytest.mark.parametrize("method", ["quest", "sparq", "infinigen", "starc", "top"])
def test_figures_are_those_of_a_loop_over_queries(found, model, tokens, method):
    row = found.row(method, 32)
    assert (row.recall, row.mass, row.error) == pytest.approx(by_hand(model, tokens, method, 32), rel=1e-4)


def test_figures_have_their_bounds_and_grow_with_the_budget(found):
    for method in DEFAULT_METHODS:
        large, small = (found.row(method, budget) for budget in BUDGETS)
        assert 0 < small.mass <= large.mass <= 1 + 1e-9 and 0 <= large.error <= small.error < 1
        assert small.tokens <= large.tokens
        for row in (large, small):
            assert row.mass <= found.row("top", row.budget).mass + 1e-9 or method in ("full", "starc")
            assert row.recall * row.budget == pytest.approx(row.precision * row.tokens, rel=0.2)
    assert found.row("top", 32).recall == 1 and found.layers == [1, 2] and found.queries == 32
    assert found.row("starc", 32).tokens > 32  # recent tokens come on top
    assert 1 <= found.important[32] <= found.important[48] <= 16


def test_perplexity_is_that_of_token_by_token_decoding(model, tokens, found):
    """All tokens at once in :func:`accuracy`; one by one here."""
    backend = Backend()
    begun = Decoder(model, backend, TOKENS)
    begun.forward(tokens[:PROMPT])
    backend = Backend("quest")
    backend.selection = make_method("quest", 32, full_layers=1)
    decoder = begun.branch(backend)
    logits = np.concatenate([decoder.forward(tokens[at : at + 1]) for at in range(PROMPT, TOKENS)])
    assert found.row("quest", 32).perplexity == pytest.approx(perplexity(logits, tokens[PROMPT:]), rel=1e-5)
    again = begun.branch(Backend()).forward(tokens[PROMPT:])
    assert np.allclose(again, Decoder(model, Backend(), TOKENS).forward(tokens)[PROMPT:], atol=1e-4)


def test_tokens_that_are_not_clustered_can_count_towards_the_budget(model, tokens):
    found = accuracy(model, [tokens], PROMPT, ["starc"], [32], options={"starc": {"inside": True}}, in_loop=False)
    assert found.row("starc", 32).tokens == 32 and not len(found.row("starc", 32).losses) and not found.predicted


def test_a_capture_gives_the_figures_of_its_text(capsys, folder, text, capture):
    options = ("--methods", "quest,infinigen,starc", "--budgets", "32", "--prompt", PROMPT, "--json")
    code, out, _ = run(capsys, "sparse", folder, "--capture", capture, *options)
    ours = json.loads(out)
    assert code == 0 and ours["capture"] == str(capture) and ours["text"] is None and ours["tokens"] == TOKENS
    theirs = json.loads(run(capsys, "sparse", folder, "--text", text, *options)[1])
    for one, other in zip(ours["rows"], theirs["rows"], strict=True):  # float16 beside float32
        assert one["recall"] == pytest.approx(other["recall"], abs=0.02)
        assert one["error"] == pytest.approx(other["error"], rel=0.02) and one["perplexity"] == other["perplexity"]
    source = Captured(capture, 1)
    query, ahead = source.queries(TOKENS)
    assert ahead.shape == query.shape and Captured(capture, 0).queries(TOKENS)[1] is None


def test_text_pictures_and_orders(capsys, folder, text, tmp_path):
    options = (folder, "--text", text, "--budgets", "1/2,32", "--prompt", PROMPT)
    code, out, err = run(
        capsys,
        "sparse",
        *options,
        "--plot",
        tmp_path / "plot.svg",
        "--picture",
        tmp_path / "rows.png",
        "--head",
        "2.3",
        "--json",
    )
    result = json.loads(out)
    assert code == 0 and not err and result["budgets"] == [48, 32]
    assert (tmp_path / "plot.svg").read_text().count("budget (tokens)") >= 1
    assert (tmp_path / "rows.png").read_bytes()[:4] == b"\x89PNG"
    touched = result["touched"]
    assert (touched["layer"], touched["head"], touched["budget"]) == (2, 3, 32)
    quest = touched["selections"][1]
    assert quest["method"] == "quest" and quest["fetched"] == quest["wanted"] == 32 and quest["units"] == 4
    rows = {(row["method"], row["budget"]): row for row in result["rows"]}
    assert {one["claim"] for one in result["orders"]} == {"starc-acc-quest", "starc-acc-ppl", "starc-recall"}
    for one in result["orders"]:
        pair = [rows[one[name], one["budget"]][one["figure"]] for name in ("better", "worse")]
        assert pair == [one["better_value"], one["worse_value"]]
        assert one["holds"] == (pair[0] > pair[1] if one["figure"] == "recall" else pair[0] <= pair[1])
        start = (
            f"{one['claim']} does not hold at a budget of {one['budget']}: {one['figure']} of {one['better']} "
            f"{one['better_value']:.4f}, of {one['worse']} "
        )
        told = [note for note in result["notes"] if note.startswith(start)]
        assert bool(told) == (not one["holds"])
    code, out, _ = run(capsys, "sparse", *options, "--no-perplexity", "--methods", "full,starc")
    assert code == 0 and "recall" in out and "full" in out and "no position is sampled" in " ".join(out.split())


def test_chains_of_methods():
    assert list(_pairs("SparQ<=STARC<Quest,InfiniGen (perplexity)")) == [
        ("sparq", "<=", "starc"),
        ("starc", "<", "quest"),
        ("starc", "<", "infinigen"),
    ]
    assert list(_pairs("STARC>Quest")) == [("starc", ">", "quest")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--budgets", "0"],
            "argument --budgets: a budget must be a number of tokens of at least 1, or a share such as 1/8, not '0'",
        ),
        (["--budgets", "3/2"], "not '3/2'"),
        (["--budgets", "16,16"], "budget 16 appears twice"),
        (
            ["--budgets", "16", "--methods", "starc"],
            "the budget of starc must be at least one cluster of 32 tokens, not 16",
        ),
        (["--budgets", "15", "--methods", "quest"], "the budget of quest must be at least 16 tokens, not 15"),
        (
            ["--interval", "0", "--methods", "starc", "--budgets", "32"],
            "the interval between two clusterings must be at least 1 token, not 0",
        ),
        (["--tokens-per-cluster", "0", "--methods", "starc"], "tokens of a cluster must be at least 1, not 0"),
        (["--methods", "stark"], "unknown method of sparse attention 'stark'; did you mean 'starc'"),
        (["--methods", "top,top"], "method top appears twice"),
        (["--tokens", "200"], "200 tokens are beyond the 128 positions that made-up was made for"),
        (["--tokens", "97"], "story.txt: 96 tokens; 1 times 97 are needed"),
        (["--windows", "97"], "story.txt: 96 tokens; 97 times 1 are needed"),
        (["--prompt", "95", "--methods", "top"], "a text of 96 tokens needs at least two behind the prompt of 95"),
        (["--full-layers", "3", "--methods", "top"], "layers that attend to all tokens must be 0 to 2, not 3"),
        (["--head", "3.0"], r"head 3\.0 does not exist: made-up has layers 0 to 2 with heads 0 to 3"),
        (["--head", "3"], r"a head must be LAYER\.HEAD"),
        (["--plot", "x.gif"], r"--plot: a picture ends with \.png"),
        (["--capture", "there"], "a text and a capture can't be used together"),
    ],
)
def test_wrong_requests(capsys, folder, text, options, message):
    refused(capsys, message, "sparse", folder, "--text", text, *options)


def test_a_model_of_your_own_needs_a_text(capsys, folder):
    refused(capsys, "needs --text or --capture", "sparse", folder)


def changed(capture, **changes):
    path = capture / "capture.json"
    head = json.loads(path.read_text())
    for key, value in changes.items():
        head[key] = {**head[key], **value} if isinstance(value, dict) else value
    path.write_text(json.dumps(head))


def sealed(capture, number, data):
    """Another file of a layer, with the digest that ``capture.json`` then needs."""
    (capture / f"layer-{number:02}.safetensors").write_bytes(data)
    changed(capture, files={f"layer-{number:02}.safetensors": hashlib.sha256(data).hexdigest()})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"model_sha256": "0" * 64},
            "capture.json: does not fit .*made-up: model_sha256 is 000000000000, and the model has",
        ),
        ({"model": {"kv_heads": 4}}, "capture.json: does not fit .*made-up: kv_heads is 4, and the model has 2"),
        (
            {"model": {"layers": 2}},
            "capture.json: 'files' must have a digest for each of layer-00.safetensors to layer-01.safetensors",
        ),
        ({"model": {"layers": "many"}}, "capture.json: model: layers: "),
        ({"tokens": [1, 999]}, "'tokens' must be a list of "),
        ({"version": 9}, "not a capture"),
        ({"model_sha256": 7}, "'model_sha256' must be a digest"),
        (
            {"tokens": list(range(TOKENS + 1))},
            r"layer-00.safetensors: tensor q is float16 of shape 4 x 96 x 16; capture.json "
            r"asks for float16 of shape 4 x 97 x 16",
        ),
    ],
)
def test_captures_that_do_not_fit(capsys, folder, capture, change, message):
    changed(capture, **change)
    refused(capsys, message, "sparse", folder, "--capture", capture, "--budgets", "32")


def test_damaged_captures(capsys, folder, capture):
    from safetensors.numpy import load, save

    file = capture / "layer-01.safetensors"
    whole = file.read_bytes()
    command = ("sparse", folder, "--capture", capture, "--budgets", "32")
    file.write_bytes(whole[:-100])
    refused(capsys, r"layer-01\.safetensors: has another digest than capture\.json says$", *command)
    sealed(capture, 1, whole[:-100])
    refused(capsys, r"layer-01\.safetensors: not a safetensors file: ", *command)
    tensors = load(whole)
    sealed(capture, 1, save({name: part for name, part in tensors.items() if name != "v"}))
    refused(capsys, r"layer-01\.safetensors: tensor v is missing; ", *command)
    sealed(capture, 1, save({**tensors, "k": tensors["k"].astype(np.float32)}))
    refused(capsys, r"tensor k is float32 of shape 2 x 96 x 16; capture\.json asks for float16", *command)
    for value in (np.nan, np.inf):
        bad = tensors["k"].copy()
        bad[1, 33, 5] = value
        sealed(capture, 1, save({**tensors, "k": bad}))
        refused(capsys, r"layer 1, head 1, token 33: k has NaN or an infinity$", *command)
    file.unlink()
    refused(capsys, r"layer-01\.safetensors: ", *command)
    with pytest.raises(ConfigError, match=r"has layers 0 to 2, not 3$"):
        read_capture(capture).layer(3)
    refused(capsys, "a capture is one text of 96 tokens", *command, "--windows", "2")


@pytest.mark.slow
def test_the_package_s_model_orders_methods_as_the_paper_does_by_recall():
    found = small_accuracy(["quest", "sparq", "infinigen", "starc"], budgets=[512], in_loop=False)
    recall = {row.method: row.recall for row in found.rows}
    assert recall["sparq"] > recall["starc"] > max(recall["quest"], recall["infinigen"]) and set(recall) < set(METHODS)
