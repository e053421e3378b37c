"""The system ``starc``: attention to selections on an AttAcc device, and what is stated beside it."""

import json
from pathlib import Path

import numpy as np
import pytest

from bankside.constraints.core.errors import ConfigError
from bankside.evidence.records import RecordFolder
from bankside.models.llm import load_model
from bankside.models.sparse import METHODS, make_method
from bankside.models.sparse.source import Held, Synthetic
from bankside.models.sparse.steps import sampled_contexts, select_steps
from bankside.models.systems import evaluate, load_system
from bankside.shell import cli

MODEL = load_model("llama-7b")

#: A small run: a prompt of 256 tokens, 2 heads of keys, no record.
SMALL = {
    "selection.keys.heads": 2,
    "selection.prompt_tokens": 256,
    "selection.budget": 64,
    "selection.steps": 4,
    "selection.selector": None,
}


class NoRecords:
    def find(self, measurement):
        return None


def run(method="starc", *, context=300, batch=4, output_tokens=8, **changes):
    overrides = SMALL | {"selection.method": method} | {key.replace("__", "."): value for key, value in changes.items()}
    return evaluate(
        "starc",
        MODEL,
        context=context,
        batch=batch,
        output_tokens=output_tokens,
        records=NoRecords(),
        overrides=overrides,
    )


# All tokens ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 40])
def test_all_tokens_in_units_of_16_are_dgx_attacc_component_by_component(batch):
    """40 requests are 160 heads of a GPU, two rounds and a part of one on each stack."""
    ours = run("full", batch=batch, selection__unit_tokens=16)
    theirs = evaluate(
        "dgx-attacc",
        MODEL,
        context=300,
        batch=batch,
        output_tokens=8,
        records=NoRecords(),
        overrides={"base": "dgx-h100"},
    )
    assert ours.breakdown_ms == theirs.breakdown_ms and ours.energy_breakdown_mj == theirs.energy_breakdown_mj
    assert not ours.more["synthetic"] and ours.more["clustering"] is ours.more["selecting"] is None


def test_layers_that_attend_to_all_tokens_count_with_their_share():
    none, some, every = (run(selection__full_layers=count).more["attention_us"] for count in (0, 8, 32))
    assert some == pytest.approx(0.75 * none + 0.25 * every) and every == pytest.approx(
        run("full").more["attention_us"]
    )


def test_infinigen_attends_to_all_tokens_in_the_first_layer():
    assert run("infinigen").more["full_layers"] == 1 and run("sparq").more["full_layers"] == 0


# Selections ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [name for name in METHODS if name != "full"])
def test_counts_of_a_selection_agree(method):
    result = run(method)
    more = result.more
    assert more["overfetch"] == pytest.approx(more["fetched"] - more["wanted"]) and more["overfetch"] >= 0
    assert more["fetched"] == pytest.approx(8 * more["units"]) and more["runs"] <= more["units"]
    assert 0 <= more["waiting"] < 1 and more["rows"] <= 2 and more["synthetic"]
    assert any(note.startswith("synthetic:") for note in result.notes)
    assert more["attention_us"] == pytest.approx(result.breakdown_ms["attention"] * 1e3)


def test_a_page_of_whole_units_is_fetched_exactly():
    """Contexts of 304 to 311 end within a page. At 304 all pages are whole."""
    assert run("quest", context=304, output_tokens=1).more["fetched"] == 64
    assert run("quest", context=304, output_tokens=1, selection__unit_tokens=16).more["fetched"] == 64


def test_recent_tokens_come_on_top_of_the_budget():
    assert [run(context=context, output_tokens=1).more["wanted"] for context in (256 + 128, 256 + 129, 256 + 255)] == [
        64,
        65,
        64 + 127,
    ]


def test_a_context_within_the_prompt_is_a_shorter_prompt():
    more = run(context=200, output_tokens=1).more
    assert (more["prompt_tokens"], more["wanted"]) == (199, 65)


def test_scattered_tokens_cost_more_than_a_sequence_of_as_many():
    """Long enough for several rows."""
    runs, count = (
        run("sparq", context=2000, output_tokens=1, selection__reads=kind, selection__budget=256)
        for kind in ("runs", "count")
    )
    assert runs.more["fetched"] == count.more["fetched"] and runs.more["attention_us"] > count.more["attention_us"]


def test_fewer_tokens_take_less_time_and_energy_and_other_operators_stay():
    full, starc = run("full", context=2000), run(context=2000, selection__prompt_tokens=1024)
    assert starc.more["attention_us"] < full.more["attention_us"]
    assert starc.energy_breakdown_mj["pim_cell_reads"] < full.energy_breakdown_mj["pim_cell_reads"]
    for name in ("ffn_up", "attention_allreduce", "attention_send"):
        assert starc.breakdown_ms[name] == full.breakdown_ms[name]


@pytest.mark.parametrize("interval", [1, 16, 128])
@pytest.mark.parametrize("first, last, most", [(257, 512, 16), (257, 8448, 16), (1, 5, 16), (1000, 4000, 7)])
def test_sampled_contexts_come_one_from_each_part(first, last, most, interval):
    found = sampled_contexts(first, last, most, interval, origin=256)
    assert len(found) == min(most, last - first + 1) and (np.diff(found) > 0).all()
    assert found[0] >= first and found[-1] <= last
    if len(found) == most and (last - first + 1) // most >= interval:
        part = (found - first) * most // (last - first + 1)
        assert part.tolist() == list(range(most))


def test_sampled_contexts_have_all_numbers_of_recent_tokens_alike():
    """64 parts of one interval each: the mean number of recent tokens is that of all steps."""
    found = sampled_contexts(2049, 2048 + 64 * 128, 64, 128, origin=2048)
    assert np.mean((found - 2048) % 128) == pytest.approx(63.5, abs=1)


def test_steps_of_real_keys_are_those_of_the_method():
    random = np.random.default_rng(5)
    q, k = (random.standard_normal((heads, 300, 16)).astype(np.float32) for heads in (4, 2))
    source = Held(q, k, "text")
    found = select_steps(make_method("top", 32), source, [200, 300], 8)
    assert [step.context for step in found] == [200, 300] and len(found[0].runs) == source.heads == 4
    scores = k[1, :300] @ q[3, 299]
    units = np.unique(np.sort(np.argsort(-scores)[:32]) // 8)
    starts, lengths = found[1].runs[3]
    assert (
        np.concatenate([np.arange(a, a + n) for a, n in zip(starts, lengths, strict=True)]).tolist() == units.tolist()
    )
    with pytest.raises(ConfigError, match="text: has 300 tokens, and 301 are needed"):
        select_steps(make_method("top", 32), source, [301], 8)


def test_later_tokens_do_not_move_earlier_clusters():
    keys = Synthetic(heads=1, head_dim=16).keys(400)[0]
    method = make_method("starc", 64, prefill=128)
    many = method.placements(keys, np.array([128, 200, 400]))
    for count, one in zip((128, 200, 400), many, strict=True):
        assert np.array_equal(one.slot, method.placement(keys[:count], count).slot)


# Beside the step -------------------------------------------------------------------------------------------------------


def test_clustering_is_stated_apart_and_together():
    """STARC moves 128 keys and values of 256 bytes for each head and interval; 4 clusters, 15 iterations."""
    result = run(batch=4)
    found = result.more["clustering"]
    assert found["write_bytes"] == 64 << 10 and found["interval_flops"] == 2 * 128 * 4 * 128 * 15
    assert found["prompt_flops"] == 2 * 256 * 8 * 128 * 15
    heads = 4 * 4 * 32  # requests, heads of a GPU, layers
    assert found["write_us_per_step"] == pytest.approx(heads * (64 << 10) / 300e9 / 128 * 1e6)
    assert found["us_per_step"] == pytest.approx(found["gpu_us_per_step"] + found["write_us_per_step"])
    assert found["tpot_ms_with"] == pytest.approx(result.tpot_ms + found["us_per_step"] * 1e-3)
    assert run("quest").more["clustering"] is None


def test_the_selecting_unit_has_the_clocks_of_its_record(tmp_path):
    folder = RecordFolder(tmp_path)
    result = evaluate(
        "starc",
        MODEL,
        context=300,
        batch=4,
        output_tokens=2,
        records=folder,
        overrides=SMALL | {"selection.selector": "radix"},
    )
    found = result.more["selecting"]
    record = next(iter(load_prepared(folder).records))
    assert result.records == [record.name] and found["unit"] == "starc-select radix"
    assert found["tail_us"] == pytest.approx(record.results["tail_cycles"] / record.config["clock_mhz"])
    assert found["measured_share"] == record.results["share_of_attention"]


def load_prepared(folder):
    system = load_system("starc", SMALL | {"selection.selector": "radix"})
    system.prepare(MODEL, folder, False)
    return system


@pytest.mark.parametrize(
    "method, vectors",
    [("full", 0), ("quest", 300 / 8), ("sparq", 75), ("starc", 300 / 32), ("infinigen", 300 * 38 / 128), ("top", 300)],
)
def test_vectors_that_scores_need(method, vectors):
    assert make_method(method, 64).scored(300, 128) == pytest.approx(vectors)


# Errors ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--budget", "0"], "selection.budget: input should be greater than or equal to 1, not 0"),
        (["--budget", "31"], "starc: selection: the budget of starc must be at least one cluster of 32 tokens, not 31"),
        (
            ["--method", "quest", "--budget", "15"],
            "starc: selection: the budget of quest must be at least 16 tokens, not 15",
        ),
        (["--method", "quets"], "starc: selection: unknown method of sparse attention 'quets'; did you mean 'quest'?"),
        (["--set", "selection.interval=0"], "selection.interval: input should be greater than or equal to 1, not 0"),
        (["--set", "selection.unit_tokens=4"], "selection.unit_tokens: input should be 8 or 16, not 4"),
        (["--set", "selection.bugdet=5"], "unknown key 'selection.bugdet'; did you mean 'budget'?"),
        (["--set", "queries=8"], "queries must be 1, not 8: each query has a selection of its own"),
        (["--set", "placement=buffer"], "placement buffer needs selection.unit_tokens 16"),
        (
            ["--method", "quest", "--set", "selection.method=starc"],
            "--set selection.method and its option can't be combined",
        ),
        (
            ["--prefill", "64", "--context", "65"],
            "--prefill P is --context P+1 with a prompt of P tokens; give one of them",
        ),
        (["--set", "selection.keys.capture=nowhere", "--set", "selection.selector=null"], "nowhere"),
    ],
)
def test_bad_input_gives_one_line(capsys, arguments, message):
    length = [] if "--context" in arguments else ["--context", "64"]
    assert cli.main(["eval", "starc", *arguments, *length]) == 2
    err = capsys.readouterr().err
    assert message in err and err.count("\n") == 1 and "Traceback" not in err


def test_a_model_with_a_window_is_refused(capsys, tmp_path):
    shape = json.loads((Path(__file__).parents[3] / "constraints" / "llm" / "mistral-7b.json").read_text())
    file = tmp_path / "windowed.json"
    file.write_text(json.dumps(shape | {"sliding_window": 4096}))
    assert cli.main(["eval", "starc", "--model", str(file), "--context", "64"]) == 2
    err = capsys.readouterr().err
    assert "starc: selections need all tokens of a context; windowed attends to the last 4096 only" in err
    assert err.count("\n") == 1


def test_command(capsys):
    sets = [
        text
        for key, value in SMALL.items()
        if key not in ("selection.budget", "selection.prompt_tokens")
        for text in ("--set", f"{key}={json.dumps(value)}")
    ]
    assert (
        cli.main(
            [
                "eval",
                "starc",
                "--method",
                "quest",
                "--budget",
                "64",
                "--prefill",
                "256",
                "--decode",
                "4",
                *sets,
                "--json",
            ]
        )
        == 0
    )
    result = json.loads(capsys.readouterr().out)
    assert [result[key] for key in ("model", "context", "output_tokens", "prompt_tokens")] == ["llama-7b", 257, 4, 256]
    assert (result["method"], result["budget"], result["clustering"]) == ("quest", 64, None)
    assert {"fetched", "wanted", "overfetch", "rows", "attention_us", "energy_mj_per_token"} <= result.keys()
    assert cli.main(["eval", "starc", "--prefill", "256", "--decode", "2", "--budget", "64", *sets]) == 0
    out = capsys.readouterr().out
    assert "selection" in out and "synthetic" in out
