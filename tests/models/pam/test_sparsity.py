"""Sources of activations: their statistics, what a fit finds again, and traces with every kind of broken line."""

from __future__ import annotations

import numpy as np
import pytest

from bankside.constraints.core.errors import ConfigError
from bankside.models.pam.placement import KvTable, TierShape
from bankside.models.pam.sparsity import (
    DenseSource,
    Locality,
    ReplaySource,
    SyntheticSource,
    TraceStep,
    fit,
    read_trace,
    write_trace,
)

HEADER = '{"format": "bankside-attention-trace", "version": 1, "requests": 1}\n'


def table_of(*contexts, room=0):
    table = KvTable([TierShape("all", 1, 8, 1 << 16)], run_tokens=16)
    table.add(contexts, np.array(contexts) + room)
    return table


def trace_of(locality, requests=12, context=900, steps=14, seed=3):
    """Steps of a synthetic source as a trace."""
    table = table_of(*[context] * requests)
    source = SyntheticSource(locality, seed)
    source.added(table, np.arange(requests))
    out = [[] for _ in range(requests)]
    for _ in range(steps):
        active = source.step(table).active
        for number in range(requests):
            mine = active[(active >= number * context) & (active < (number + 1) * context)] - number * context
            out[number].append(TraceStep(number, context, mine))
    return out


def test_one_token_in_eight_on_average():
    """Claim pam-compress, whatever the context; sinks and the latest tokens always."""
    for context in (200, 738, 4000):
        table = table_of(*[context] * 40)
        source = SyntheticSource(seed=2)
        source.added(table, np.arange(40))
        share = []
        for _ in range(6):
            active = source.step(table).active
            share.append(len(active) / table.tokens)
            assert np.all(np.diff(active) > 0)
            position = set((active % context).tolist())
            assert set(range(4)) <= position and set(range(context - 16, context)) <= position
        assert np.mean(share) == pytest.approx(1 / 8, rel=0.03)


def test_a_token_tends_to_stay_as_it_was():
    """Locality in time: far more of the active tokens are active again than by chance, and more with a higher keep."""

    def again(keep):
        table = table_of(4000)
        source = SyntheticSource(Locality(keep=keep, spread=0.5, sink=0, recent=0))
        source.added(table, np.array([0]))
        first, second = source.step(table).active, source.step(table).active
        return len(np.intersect1d(first, second)) / len(first)

    assert again(0.0) < 0.3 and again(0.8) > 0.75


def test_importance_approaches_a_tokens_probability():
    """Settled importance is what the moving average of equation 7 fluctuates around."""
    table = table_of(3000)
    source = SyntheticSource()
    source.added(table, np.array([0]))
    mean = np.zeros(3000)
    for _ in range(400):
        mean[source.step(table).active] += 1 / 400
    source.settle(table)
    assert np.abs(mean - table.importance[:3000]).mean() < 0.03
    assert table.importance[0] == 1


@pytest.mark.parametrize("locality", [Locality(), Locality(4, 0.7, 0.5, 4, 16), Locality(16, 2.0, 0.9, 2, 8)])
def test_fit_finds_the_parameters_again(locality, tmp_path):
    path = tmp_path / "trace.jsonl"
    steps = trace_of(locality, 16, 1500, 24)
    write_trace(path, [step for turn in zip(*steps, strict=True) for step in turn])
    found = fit(path, sink=locality.sink, recent=locality.recent)
    assert found.compression == pytest.approx(locality.compression, rel=0.06)
    assert found.keep == pytest.approx(locality.keep, abs=0.06)
    assert found.spread == pytest.approx(locality.spread, abs=0.25)


def test_fit_needs_steps():
    with pytest.raises(ConfigError, match="three steps"):
        fit([[TraceStep(0, 100, np.arange(50))]])


def test_new_tokens_take_part():
    table = table_of(100, room=5)
    source = SyntheticSource()
    source.added(table, np.array([0]))
    source.appended(table, table.append(np.array([0])))
    assert 100 in source.step(table).active


def test_dense_is_everything():
    table = table_of(5, 7, room=2)
    assert DenseSource().step(table).active.tolist() == [*range(5), *range(7, 14)]
    table.remove([0])
    assert DenseSource().step(table).active.tolist() == list(range(7, 14))


def test_replay_gives_back_what_was_recorded(tmp_path):
    """Requests of a batch take those of the trace in turn; steps start over at the end."""
    path = tmp_path / "trace.jsonl"
    write_trace(path, [TraceStep(0, 10, [1, 9], [0.25, 0.75]), TraceStep(1, 6, [0]), TraceStep(0, 10, [2])])
    assert [len(steps) for steps in read_trace(path)] == [2, 1]
    table, source = table_of(10, 6, 10), ReplaySource(path)
    first = source.step(table)
    assert first.active.tolist() == [1, 9, 10, 17, 25]
    assert first.scores.tolist() == [0.5, 1.5, 1, 0.5, 1.5]  # 1 is an active token of average weight
    assert source.step(table).active.tolist() == [2, 10, 18]
    assert source.step(table).active.tolist() == first.active.tolist()


def test_other_contexts_need_stretching(tmp_path):
    steps = [[TraceStep(0, 10, np.array([1, 9]))]]
    with pytest.raises(
        ConfigError, match=r"request 0 has 10 tokens in its context, the batch has 20; sparsity.stretch"
    ):
        ReplaySource(steps).step(table_of(20))
    assert ReplaySource(steps, stretch=True).step(table_of(20)).active.tolist() == [2, 18]


@pytest.mark.parametrize(
    "text, message",
    [
        ("", r": is empty"),
        (HEADER, r": has a header and no step"),
        ('{"format": "x"}\n', r":1: the first line must have "),
        (HEADER + "{\n", r":2: not valid JSON: expecting property name"),
        (HEADER + "[1]\n", r":2: a line is an object of keys and values, not list$"),
        (HEADER + '{"request": 0, "tokens": []}\n', r":2: 'context' must be a whole number in 1\..*, not None$"),
        (HEADER + '{"request": 0, "context": 4, "tokens": [4]}\n', r":2: token 4 is outside the context of 4$"),
        (HEADER + '{"request": 0, "context": 4, "tokens": [1, 1]}\n', r":2: a token appears twice$"),
        (HEADER + '{"request": 0, "context": 4, "tokens": [1.5]}\n', r":2: 'tokens' must be a list of whole numbers$"),
        (
            HEADER + '{"request": 0, "context": 4, "tokens": [1], "scores": []}\n',
            r":2: 'scores' must be a list as long",
        ),
        (HEADER + '{"request": 0, "context": 4, "tokens": [1], "scores": [-1]}\n', r":2: a score must be a number"),
        (HEADER + '{"request": 0, "context": 4, "tokens": [], "weight": 1}\n', r":2: unknown key 'weight' \(valid: "),
        (
            HEADER + '{"request": 0, "context": 4, "tokens": []}\n\n{"request": 0, "context": 3, "tokens": []}\n',
            r":4: the context of request 0 shrinks from 4 to 3$",
        ),
    ],
)
def test_broken_traces_are_told_with_line(tmp_path, text, message):
    path = tmp_path / "trace.jsonl"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message) as error:
        read_trace(path)
    assert "\n" not in str(error.value)


def test_missing_trace():
    with pytest.raises(ConfigError, match="no such file"):
        read_trace("nowhere.jsonl")


@pytest.mark.parametrize("settings", [{"compression": 0.5}, {"keep": 1.0}, {"spread": -1}, {"sink": -1}])
def test_parameters_out_of_range(settings):
    with pytest.raises(ConfigError, match=rf"^{next(iter(settings))} of the synthetic sparsity must be in"):
        Locality(**settings)
