"""Serving against schedules done by hand, closed forms, and a plain engine that works token by token."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankside.constraints.core.errors import CheckFailed, ConfigError
from bankside.constraints.core.records import Record
from bankside.constraints.workloads import ArrivalSpec
from bankside.models.llm import load_model
from bankside.models.serving import (
    CSV_COLUMNS,
    Policy,
    ServedSystem,
    Workload,
    draw,
    largest_batch,
    largest_rate,
    serve,
    served_system,
)
from bankside.models.serving.results import weighted_percentile
from bankside.models.serving.steady import SteadyState, best_within, steady_state
from bankside.models.systems import evaluate, load_system
from bankside.models.systems.gpu import GpuSystem
from bankside.models.systems.gpu_serving import GridServed
from tests.made_up import SIM, SYNTHESIS


class Plain:
    """A system with round numbers: a prefill takes 10 ms and 1 ms a token, a decode step ``fixed`` + ``each`` a request +
    ``token`` for each token attended to."""

    name = "plain"

    def __init__(self, capacity=1 << 20, block=1, fixed=1.0, each=0.0, token=0.0, window=None):
        self.kv_capacity_tokens, self.kv_block_tokens, self.kv_window = capacity, block, window
        self.fixed, self.each, self.token = fixed, each, token
        self.held, self.most, self.events = {}, 0, []

    def prefill_seconds(self, tokens, past):
        return 0.010 + 0.001 * float(tokens.sum())

    def decode_seconds(self, contexts):
        return self.fixed + self.each * len(contexts) + self.token * float(contexts.sum())

    def on_admit(self, request, tokens):
        self.events.append(("admit", request, tokens))

    def on_finish(self, request):
        self.events.append(("finish", request))

    def on_preempt(self, request):
        self.events.append(("preempt", request))


class Vectored(Plain):
    """The same with runs of steps in one call."""

    def decode_run(self, contexts, steps):
        return np.array([self.decode_seconds(contexts + k) for k in range(steps)])


def requests(*rows):
    """Requests as (arrival, prompt, output)."""
    arrival, prompt, output = zip(*rows, strict=True)
    return Workload("test", np.array(arrival, float), np.array(prompt), np.array(output), timed=True)


# By hand -------------------------------------------------------------------------------------------------------------


def test_one_request():
    """TTFT is the prefill; every further token is a step; the context counts the token being made."""
    r = serve(Plain(fixed=0.0, token=1.0), requests((2.0, 10, 4)))
    assert r.ttft_s[0] == pytest.approx(0.020) and r.queueing_s[0] == 0
    assert r.latency_s[0] == pytest.approx(0.020 + 11 + 12 + 13)
    assert r.tpot_s[0] == pytest.approx(12)
    assert [t.tolist() for t in r.token_times()] == [pytest.approx([2.02, 13.02, 25.02, 38.02])]
    assert r.makespan_s == pytest.approx(36.02) and r.throughput_tok_s == pytest.approx(4 / 36.02)


def test_one_token_needs_no_decode_step():
    r = serve(Plain(), requests((0, 10, 1), (0, 10, 1)))
    assert r.finished_s.tolist() == pytest.approx([0.030, 0.030]) and np.isnan(r.tpot_s).all()
    assert len(r.logs[0].step_end_s) == 0 and r.summary()["tpot_ms"] is None


def test_prefill_first_by_hand():
    """0 and 1 arrive together, 2 during their second step: decoding stands still for its prefill."""
    r = serve(Plain(), requests((0, 40, 4), (0, 50, 2), (1.5, 90, 2)))
    # 0.1 prefill of both; step to 1.1 (ends 1); step to 2.1; prefill of 2 to 2.2; steps to 3.2 (ends 0 and 2)
    assert r.first_token_s.tolist() == pytest.approx([0.1, 0.1, 2.2])
    assert r.finished_s.tolist() == pytest.approx([3.2, 1.1, 3.2])
    assert r.queueing_s.tolist() == pytest.approx([0, 0, 0.6])
    log = r.logs[0]
    assert log.kind == ["prefill", "decode", "decode", "prefill", "decode"] and log.batch.tolist() == [0, 2, 1, 1, 2]
    values, counts = r.itl()
    assert sorted(np.repeat(values, counts).tolist()) == pytest.approx([1, 1, 1, 1, 1.1])


def test_chunked_by_hand():
    """A budget of 8 tokens: the prompt of 20 goes in pieces of 8, 8, 4; the one that follows has what is left."""
    policy = Policy(token_budget=8, chunked=True)
    r = serve(Plain(), requests((0, 20, 3), (0, 3, 2)), policy)
    # pieces 8 (0.018), 8 (0.036), 4 and 3 (0.053), then steps of 1 s
    assert r.first_token_s.tolist() == pytest.approx([0.053, 0.053])
    assert r.finished_s.tolist() == pytest.approx([2.053, 1.053])
    r = serve(Plain(), requests((0, 4, 3), (0, 20, 2)), policy)
    # 4 and 4 (0.018); a step with 7, a step with 7 (0.017 each), which end request 0; the last 2
    assert r.finished_s[0] == pytest.approx(0.018 + 2 * 1.017)
    assert r.first_token_s[1] == pytest.approx(0.018 + 2 * 1.017 + 0.012)


def test_preemption_by_hand():
    """Room for 12 tokens: two requests of 5 grow to 6 and 6; the later one goes, and is prefilled again with its tokens."""
    system = Plain(capacity=12)
    r = serve(system, requests((0, 5, 4), (0, 5, 4)), Policy(watermark=0))
    assert r.preemptions.tolist() == [0, 1]
    assert system.events == [
        ("admit", 0, 5),
        ("admit", 1, 5),
        ("preempt", 1),
        ("finish", 0),
        ("admit", 1, 7),
        ("finish", 1),
    ]
    # prefill 0.02, step 1.02, then 0 alone 2.02, 3.02; 1 again with 7 tokens: its third token at 3.037
    assert r.finished_s.tolist() == pytest.approx([3.02, 4.037])
    times = [t.tolist() for t in r.token_times()]
    assert times[1] == pytest.approx([0.02, 1.02, 3.037, 4.037])
    reserved = serve(Plain(capacity=12), requests((0, 5, 4), (0, 5, 4)), Policy(preemption="reserve"))
    assert reserved.preemptions.sum() == 0 and reserved.finished_s.tolist() == pytest.approx([3.015, 6.03])


def test_watermark_keeps_blocks_free():
    system = Plain(capacity=100, block=10)
    r = serve(system, requests((0, 50, 2), (0, 50, 2)), Policy(watermark=0.01))
    assert r.started_s[1] == pytest.approx(r.finished_s[0])
    assert serve(Plain(capacity=100, block=10), requests((0, 50, 2), (0, 40, 2)), Policy()).started_s[1] == 0


def test_token_budget_splits_prefills():
    r = serve(Plain(), requests((0, 60, 1), (0, 60, 1), (0, 300, 1)), Policy(token_budget=100))
    assert r.first_token_s.tolist() == pytest.approx([0.07, 0.14, 0.45])


def test_sliding_window_bounds_the_cache():
    r = serve(Plain(capacity=8, window=8), requests((0, 100, 50)), Policy(watermark=0))
    assert r.logs[0].blocks.max() == 8 and r.preemptions.sum() == 0


def test_dispatch():
    """Round robin deals in order of arrival; least-loaded sends the third to the instance that is free again."""
    rows = [(0, 10, 9), (0.5, 10, 2), (4, 10, 2)]
    assert serve(Plain(), requests(*rows), Policy(instances=2)).instance.tolist() == [0, 1, 0]
    least = serve(Plain(), requests(*rows), Policy(instances=2, dispatch="least-loaded"))
    assert least.instance.tolist() == [0, 1, 1]


# Closed forms --------------------------------------------------------------------------------------------------------


def test_queue_with_fixed_service():
    """One at a time, 1 s each: Pollaczek and Khinchine's mean wait of M/D/1, rho / 2 (1 - rho) services."""

    class Server(Plain):
        def prefill_seconds(self, tokens, past):
            return 1.0

    w = Workload("md1", np.zeros(8_000), np.ones(8_000, int), np.ones(8_000, int))
    for rho in (0.3, 0.6):
        r = serve(Server(), w.arriving(ArrivalSpec(rate=rho), seed=3), Policy(batch_limit=1, token_budget=1))
        assert r.queueing_s.mean() == pytest.approx(rho / (2 * (1 - rho)), rel=0.08)
        assert r.summary()["utilisation"] == pytest.approx(rho, rel=0.03)


def test_a_full_batch_takes_whole_rounds():
    """Equal requests, all at once: rounds of the batch limit."""
    w = requests(*[(0, 10, 11)] * 64)
    r = serve(Plain(), w, Policy(batch_limit=16))
    assert r.makespan_s == pytest.approx(4 * (0.17 + 10))
    assert r.summary()["batch"]["mean"] == 16


# Against an engine that works token by token ---------------------------------------------------------------------------


def token_by_token(system, w, policy):
    """The prefill-first policy, one instance, as plainly as it can be written."""

    def blocks(tokens):
        return -(-tokens // system.kv_block_tokens)

    total = system.kv_capacity_tokens // system.kv_block_tokens
    spare = math.ceil(policy.watermark * total) if policy.preemption == "recompute" else 0
    n, clock = len(w), 0.0
    made, kept = [0] * n, {}
    first, finished, preempted, most = [None] * n, [None] * n, [0] * n, 0
    waiting, running = sorted(range(n), key=lambda i: w.arrival_s[i]), []
    reserve = policy.preemption == "reserve"

    def used():
        return sum(blocks(int(w.prompt[i] + w.output[i]) - 1) if reserve else blocks(kept[i]) for i in running)

    while waiting or running:
        arrived = [i for i in waiting if w.arrival_s[i] <= clock]
        if not arrived and not running:
            clock = float(w.arrival_s[waiting[0]])
            continue
        batch, tokens, free = [], 0, total - used()
        for i in arrived:
            prompt = int(w.prompt[i]) + made[i]
            need = blocks(int(w.prompt[i] + w.output[i]) - 1 if reserve else prompt)
            if (
                len(running) + len(batch) == policy.batch_limit
                or tokens >= policy.token_budget
                or (batch and tokens + prompt > policy.token_budget)
                or need > free - (spare if running or batch else 0)
            ):
                break
            batch.append(i)
            tokens, free = tokens + prompt, free - need
        if batch:
            sizes = np.array([int(w.prompt[i]) + made[i] for i in batch])
            clock += system.prefill_seconds(sizes, 0 * sizes)
            for i, size in zip(batch, sizes.tolist(), strict=True):
                waiting.remove(i)
                made[i] += 1
                kept[i] = size
                first[i] = clock if first[i] is None else first[i]
                running.append(i)
        else:
            while not reserve and sum(blocks(kept[i] + 1) for i in running) > total:
                preempted[running[-1]] += 1
                waiting.insert(0, running.pop())
            clock += system.decode_seconds(np.array([kept[i] + 1 for i in running]))
            for i in running:
                made[i] += 1
                kept[i] += 1
        most = max(most, used())
        for i in list(running):
            if made[i] == w.output[i]:
                running.remove(i)
                finished[i] = clock
    return first, finished, preempted, most, total


@st.composite
def loads(draw):
    # No sum of steps is such an arrival: which of the two is first may not depend on how sums are rounded.
    count = draw(st.integers(1, 12))
    rows = [
        (
            draw(st.integers(0, 30)) * draw(st.sampled_from([0.0, 0.3700713])),
            draw(st.integers(1, 40)),
            draw(st.integers(1, 25)),
        )
        for _ in range(count)
    ]
    block = draw(st.sampled_from([1, 4, 16]))
    least = max(-(-(p + o) // block) for _, p, o in rows) * block
    system = {
        "capacity": least + draw(st.integers(0, 120)),
        "block": block,
        "fixed": draw(st.sampled_from([0.1, 1.0])),
        "each": draw(st.sampled_from([0, 0.01])),
        "token": draw(st.sampled_from([0, 0.003])),
    }
    policy = {
        "batch_limit": draw(st.integers(1, 8)),
        "token_budget": draw(st.sampled_from([8, 64, 1024])),
        "preemption": draw(st.sampled_from(["recompute", "reserve"])),
        "watermark": draw(st.sampled_from([0, 0.05])),
    }
    return rows, system, policy


@settings(max_examples=100)
@given(loads(), st.sampled_from([Plain, Vectored]))
def test_same_as_token_by_token(load, kind):
    rows, system, policy = load
    w, policy = requests(*rows), Policy(**policy)
    r = serve(kind(**system), w, policy)
    first, finished, preempted, most, total = token_by_token(Plain(**system), w, policy)
    assert r.first_token_s.tolist() == pytest.approx(first)
    assert r.finished_s.tolist() == pytest.approx(finished)
    assert r.preemptions.tolist() == preempted and most <= total


@settings(max_examples=100)
@given(loads(), st.booleans(), st.integers(1, 3), st.sampled_from(["round-robin", "least-loaded"]))
def test_nothing_is_lost(load, chunked, instances, dispatch):
    """Every request ends with all its tokens, in order, one hook call each; the cache is never over-full; the gaps are
    those of the tokens."""
    rows, parameters, policy = load
    w, system = requests(*rows), Plain(**parameters)
    r = serve(system, w, Policy(**policy, chunked=chunked, instances=instances, dispatch=dispatch))
    times = list(r.token_times())
    assert [len(t) for t in times] == w.output.tolist()
    assert all((np.diff(t) > 0).all() for t in times)
    assert [t[0] for t in times] == r.first_token_s.tolist() and [t[-1] for t in times] == r.finished_s.tolist()
    assert (r.queueing_s >= 0).all() and (r.ttft_s > 0).all()
    values, counts = r.itl()
    assert counts.sum() == (w.output - 1).sum()
    assert sorted(np.repeat(values, counts)) == pytest.approx(sorted(np.concatenate([np.diff(t) for t in times])))
    names = [event[0] for event in system.events]
    assert names.count("finish") == len(w) and names.count("admit") == len(w) + names.count("preempt")
    assert names.count("preempt") == r.preemptions.sum()
    blocks = parameters["capacity"] // parameters["block"]
    for log in r.logs:
        assert log.blocks.max(initial=0) <= blocks and log.batch.max(initial=0) <= policy["batch_limit"]
        assert (log.start_s[1:] >= log.start_s[:-1] + log.seconds[:-1] - 1e-9).all()
    assert 0 < r.summary()["utilisation"] <= 1 + 1e-9


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.just(0.0), st.integers(1, 50), st.integers(1, 400)), min_size=1, max_size=10),
    st.sampled_from([0.3, 0.01, 0.0001]),
    st.sampled_from([0.0, 0.01, 0.5]),
)
def test_fast_mode_keeps_its_bound(rows, tolerance, token):
    """All at once, the schedule does not depend on times: every step, hence every time, is within the tolerance."""
    w = requests(*rows)
    exact = serve(Plain(token=token), w, Policy(batch_limit=4))
    fast = serve(Plain(token=token), w, Policy(batch_limit=4, mode="fast", tolerance=tolerance))
    assert fast.preemptions.tolist() == exact.preemptions.tolist()
    for a, b in ((exact.finished_s, fast.finished_s), (exact.first_token_s, fast.first_token_s)):
        assert (np.abs(a - b) <= tolerance * a + 1e-9).all()
    steps = [np.concatenate(([0], r.logs[0].step_end_s)) for r in (exact, fast)]
    assert len(steps[0]) == len(steps[1])


def test_fast_mode_evaluates_less():
    class Counted(Plain):
        calls = 0

        def decode_seconds(self, contexts):
            type(self).calls += 1
            return super().decode_seconds(contexts)

    serve(Counted(token=0.0001), requests((0, 100, 4000)), Policy(mode="fast"))
    assert Counted.calls < 200


# What is told ---------------------------------------------------------------------------------------------------------


def test_summary_csv_and_trace():
    w = requests((0, 40, 4), (0, 50, 2), (1.5, 90, 2))
    r = serve(Plain(), w, model="m,odel")
    s = json.loads(json.dumps(r.summary(slo_ms=1005, ttft_slo_ms=500)))
    assert s["tpot_ms"]["mean"] == pytest.approx((1033.333333 + 1000 + 1000) / 3)
    assert s["slo"]["met"] == pytest.approx(1 / 3) and s["slo"]["goodput_tok_s"] == pytest.approx(2 / 3.2)
    assert len(s["batch"]["series"]) == 200
    assert np.mean([n for _, n in s["batch"]["series"]]) == pytest.approx((2 + 1 + 0.1 + 2) / 3.2)
    lines = list(r.csv_lines())
    assert lines[0] == ",".join(CSV_COLUMNS)
    assert (
        lines[3] == '0,2,"m,odel",90,2,1500000000,3200000000,1700000000,600000000,700000000,1000000000,"[1000000000]"'
    )
    trace = json.loads(r.chrome_trace())
    assert {"b", "e", "X", "C", "M"} == {event["ph"] for event in trace["traceEvents"]}


def test_weighted_percentile_is_that_of_repeated_values():
    values, weights = np.array([3.0, 1.0, 2.0]), np.array([1, 8, 1])
    repeated = np.sort(np.repeat(values, weights))
    for share in (1, 50, 80, 81, 90, 91, 100):
        assert weighted_percentile(values, weights, np.array([share]))[0] == np.percentile(
            repeated, share, method="inverted_cdf"
        )


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"batch_limit": 0}, "batch limit must be 1 to"),
        ({"dispatch": "round"}, "did you mean 'round-robin'"),
        ({"preemption": "swap"}, "unknown preemption 'swap'"),
        ({"tolerance": 0}, "tolerance must be more than 0"),
        ({"watermark": 1}, "watermark must be"),
        ({"instances": 0}, "instances must be"),
        ({"mode": "slow"}, "unknown mode"),
    ],
)
def test_wrong_policies(wrong, message):
    with pytest.raises(ConfigError, match=message):
        Policy(**wrong)


def test_what_never_fits_is_told_first():
    with pytest.raises(ConfigError, match="request 1 needs 109 tokens of KV cache, plain has room for 64 .* 45 tok"):
        serve(Plain(capacity=64), requests((0, 10, 10), (0, 100, 10)))
    with pytest.raises(ConfigError, match="no request"):
        serve(Plain(), Workload("none", np.zeros(0), np.zeros(0, int), np.zeros(0, int)))


# Limits ----------------------------------------------------------------------------------------------------------------


def test_largest_batch_by_hand():
    """A step takes 10 ms and 1 ms a request; requests are equal, prefill is free: 30 ms is a batch of 20."""

    class Free(Plain):
        def prefill_seconds(self, tokens, past):
            return 0.0

    system, w = Free(fixed=0.010, each=0.001), requests(*[(0, 10, 50)] * 400)
    found = largest_batch(system, w, 30.0001)
    assert (found.value, found.bounded) == (20, True)
    assert [value for value, *_ in found.tried] == [1, 2, 4, 8, 16, 32, 24, 20, 22, 21]
    assert largest_batch(system, w, 30.0001, Policy(batch_limit=7)).value == 7
    few = largest_batch(system, requests(*[(0, 10, 50)] * 5), 30)
    assert (few.value, few.bounded) == (5, False)
    with pytest.raises(
        CheckFailed, match="no batch limit meets a p99 TPOT of 5 ms; the best reachable is 11.00 ms, at batch limit 1"
    ):
        largest_batch(system, w, 5)


def test_largest_rate_is_between_a_met_and_a_missed_one():
    system, w = Plain(fixed=0.010, each=0.001), draw("humaneval", 50)
    found = largest_rate(system, w, 50, percentile=90)
    assert found.bounded and found.result.tpot_percentile_s(90) <= 0.050
    missed = [value for value, _, ok in found.tried if not ok and value != math.inf]
    assert found.value < min(missed) <= found.value * 1.021
    with pytest.raises(CheckFailed, match="no arrival rate meets .* the best reachable is"):
        largest_rate(system, w, 5)
    assert largest_rate(system, w, 1e6).value == math.inf


# Systems ---------------------------------------------------------------------------------------------------------------


class NoRecords:
    def find(self, measurement):
        return None


@pytest.mark.parametrize("model", ["llama-3-70b", "opt-66b", "mistral-7b"])
@pytest.mark.parametrize("batch", [1, 3, 16])
def test_gpu_step_is_that_of_eval(model, batch):
    shape = load_model(model)
    system = served_system("gpu-only", shape, records=NoRecords())
    assert isinstance(system, ServedSystem)
    run = system.decode_run(np.full(batch, 4090), 10)
    for k in (0, 9):
        expected = evaluate("gpu-only", shape, context=4090 + k, batch=batch, records=NoRecords()).tpot_ms
        assert run[k] * 1e3 == pytest.approx(expected, rel=1e-12)
        assert system.decode_seconds(np.full(batch, 4090 + k)) == pytest.approx(run[k], rel=1e-12)
    # Contexts that are not equal: the bytes add up
    assert system.decode_seconds(np.array([1000, 3000])) == pytest.approx(system.decode_seconds(np.array([2000, 2000])))


def test_gpu_prefill_by_hand():
    """Twice the parameters of the layers for each token, at 0.8 of the peak of four GPUs, is most of it."""
    shape = load_model("llama-3-70b")
    system = served_system("gpu-only", shape, records=NoRecords())
    seconds = system.prefill_seconds(np.array([8000]), np.array([0]))
    gemm = 2 * 8000 * shape.layers * shape.layer_parameters / (4 * 989.4e12 * 0.8)
    attention = shape.layers * 4 * shape.heads * shape.head_dim * 8000 * 8001 / 2 / (4 * 989.4e12 * 0.8)
    assert gemm + attention < seconds < 1.5 * (gemm + attention)  # all-reduces, norms and activations
    # Pieces attend to what was before: the pairs are the same
    from bankside.models.systems.roofline import causal_pairs

    for window in (None, 3000):
        whole = causal_pairs(np.array([8000]), np.array([0]), window)
        assert whole == sum(causal_pairs(np.array([1000]), np.array([1000 * k]), window) for k in range(8))
        assert whole == sum(min(k, window or k) for k in range(1, 8001))


def test_gpu_capacity_is_that_of_eval():
    """As many requests of whole blocks as the largest batch."""
    shape = load_model("llama-3-70b")
    system = served_system("gpu-only", shape, records=NoRecords())
    largest = evaluate("gpu-only", shape, context=4096, batch=1, records=NoRecords()).capacity.largest_batch
    assert system.kv_capacity_tokens // 4096 == largest
    with pytest.raises(ConfigError, match="the weights need"):
        served_system("gpu-only", load_model("opt-175b").model_copy(update={"layers": 300}), records=NoRecords())


def test_more_batch_more_throughput_and_longer_steps():
    system = served_system("gpu-only", load_model("llama-3-70b"), records=NoRecords())
    w = draw("sharegpt", 300)
    results = [serve(system, w, Policy(batch_limit=limit)) for limit in (1, 8, 64)]
    rates = [r.throughput_tok_s for r in results]
    assert rates == sorted(rates) and rates[2] > 10 * rates[0]
    medians = [float(np.nanmedian(r.tpot_s)) for r in results]
    assert medians == sorted(medians)


class Records:
    """Made-up measurements of the unit."""

    def find(self, measurement):
        results = SIM["pam-pu"] if measurement.kind == "sim" else SYNTHESIS
        return Record.of(measurement, made_from={}, verilog="", results=results, tools={})


@pytest.mark.parametrize("batch", [1, 16, 110])
def test_steps_beside_the_banks_are_those_of_eval(batch):
    """Equal contexts give the time of ``eval``; unequal ones the mean of the attention, so the time lies between."""
    shape = load_model("opt-66b")
    system = served_system("pam-hbm-only", shape, records=Records())
    assert system.kv_block_tokens == 64 * 32
    run = system.decode_run(np.full(batch, 1020), 9)
    for k in (0, 4, 5, 8):  # across the boundary at 1024 tokens
        expected = evaluate("pam-hbm-only", shape, context=1020 + k, batch=batch, records=Records()).tpot_ms
        assert run[k] * 1e3 == pytest.approx(expected, rel=1e-12)
        assert system.decode_seconds(np.full(batch, 1020 + k)) == pytest.approx(run[k], rel=1e-12)
    if batch > 1:
        mixed = np.resize([500, 1500], batch)
        short, long = (system.decode_seconds(np.full(batch, n)) for n in (500, 1500))
        assert short < system.decode_seconds(mixed) < long


def test_the_cache_beside_the_banks_is_that_of_eval():
    shape = load_model("opt-66b")
    system = served_system("pam-hbm-only", shape, records=Records())
    largest = evaluate("pam-hbm-only", shape, context=2048, batch=16, records=Records()).capacity.largest_batch
    assert system.kv_capacity_tokens // 2048 == largest
    r = serve(system, draw("sharegpt", 60), Policy(batch_limit=32))
    assert r.summary()["kv"]["peak"] <= 1 and r.tpot_s[~np.isnan(r.tpot_s)].min() > 0


def test_a_system_may_bring_its_own():
    class Mine:
        name, kind = "mine", "mine"

        def served(self, model, records, refresh):
            return Plain()

    system = served_system(Mine(), load_model("opt-66b"), records=NoRecords())
    assert serve(system, requests((0, 5, 2))).tpot_s[0] == pytest.approx(1)


class Stepwise(GpuSystem):
    """GPUs whose keys and values go elsewhere, with latencies of their own."""

    kind = "stepwise"

    def kv_capacity_tokens(self, model):
        return 5000

    def serving(self, model):
        alone, served = super().serving(model), GridServed(self, model)

        class Latency:
            def step_latency(self, contexts):
                return 0.001 * len(contexts) + 1e-6 * float(contexts.sum())

            def prefill_latency(self, tokens):
                return alone.prefill_seconds(np.array([tokens]), np.array([0])) + 1e-4 * tokens

        served.latency = Latency()
        return served


def test_a_system_with_latencies_of_its_own():
    """Steps are its own; prompts together take the GPUs' time and each what is its own; pieces add up to the whole."""
    model = load_model("llama-3-70b")
    system = served_system(Stepwise(load_system("gpu-only").description), model, records=NoRecords())
    gpu = served_system("gpu-only", model, records=NoRecords())
    assert system.kv_capacity_tokens == 5000
    assert system.decode_run(np.array([10, 20]), 2).tolist() == pytest.approx([0.00203, 0.002032])
    tokens, none = np.array([300, 500, 200]), np.zeros(3, int)
    assert system.prefill_seconds(tokens, none) == pytest.approx(gpu.prefill_seconds(tokens, none) + 0.1)
    piece = np.array([100]), np.array([400])
    assert system.prefill_seconds(*piece) == pytest.approx(gpu.prefill_seconds(*piece) + 0.01)
    assert system.mixed_seconds(np.array([10]), *piece) == pytest.approx(0.00101 + system.prefill_seconds(*piece))
    r = serve(system, draw("sharegpt_turns", 40), Policy(batch_limit=16))
    assert r.preemptions.sum() > 0 and r.summary()["kv"]["peak"] <= 1
    serve(system, draw("sharegpt_turns", 10), Policy(batch_limit=16, chunked=True, mode="fast"))


def test_tiers_that_lack_room_are_named():
    class Tiered(Plain):
        kv_tiers = {"hbm": 40, "ssd": 24}

    with pytest.raises(ConfigError, match=r"64 \(hbm 40, ssd 24\) .* 45 tokens are missing in the last tier 'ssd'"):
        serve(Tiered(capacity=64), requests((0, 100, 10)))


# Energy --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, batch, context", [("gpu-only", 7, 1500), ("vllm-offload", 64, 700), ("vllm-offload", 900, 4000)]
)
def test_a_step_is_that_of_eval_in_time_and_energy(name, batch, context):
    """Also where keys and values are fetched, from one tier or from two; unequal contexts are those of the mean."""
    shape = load_model("llama-3-70b")
    system = served_system(name, shape, records=NoRecords())
    expected = evaluate(name, shape, context=context, batch=batch, records=NoRecords())
    uneven = np.full(batch, context) + np.where(np.arange(batch) % 2, 300, -300) * (np.arange(batch) < batch // 2 * 2)
    for contexts in (np.full(batch, context), uneven):
        assert system.decode_seconds(contexts) * 1e3 == pytest.approx(expected.tpot_ms, rel=1e-9)
        energy = system.decode_energy_pj(contexts, 1)
        for component, mj in expected.energy_breakdown_mj.items():
            if isinstance(mj, float):
                assert energy[component] * 1e-9 / batch == pytest.approx(mj, rel=1e-3)
    ten = system.decode_energy_pj(uneven, 11)
    assert sum(ten.values()) == pytest.approx(11 * sum(system.decode_energy_pj(uneven + 5, 1).values()), rel=1e-6)


def test_energy_of_a_prefill_by_hand():
    """Every weight multiplies every token; a lone token costs what a decode step without attention to others does."""
    shape = load_model("llama-3-70b")
    system = served_system("gpu-only", shape, records=NoRecords())
    energy = system.prefill_energy_pj(np.array([3000, 1000]), np.array([0, 0]))
    macs = 4000 * shape.layers * shape.layer_parameters + 2 * shape.head_parameters
    pairs = shape.layers * 2 * shape.heads * shape.head_dim * (3000 * 3001 + 1000 * 1001) / 2
    assert energy["gpu_compute"] == pytest.approx((0.32 + 3 * 0.0675) * (macs + pairs), rel=0.02)
    one, step = system.prefill_energy_pj(np.array([1]), np.array([0])), system.decode_energy_pj(np.array([1]), 1)
    assert sum(one.values()) == pytest.approx(sum(step.values()), rel=0.05)  # tiles of 16 tokens


def test_energy_of_a_run_is_the_sum_of_its_iterations():
    shape = load_model("llama-3-70b")
    system = served_system("gpu-only", shape, records=NoRecords())
    for chunked in (False, True):
        r = serve(system, requests((0.0, 100, 3)), Policy(chunked=chunked))
        steps = [system.decode_energy_pj(np.array([100 + k]), 1) for k in (1, 2)]
        prefill = system.prefill_energy_pj(np.array([100]), np.array([0]))
        told = r.summary()["energy"]
        assert told["j_per_token"] * 3e12 == pytest.approx(sum(sum(part.values()) for part in (*steps, prefill)))
        assert told["prefill_j_per_token"] * 3e12 == pytest.approx(sum(prefill.values()))
        assert sum(told["components_j_per_token"].values()) == pytest.approx(told["j_per_token"])
    assert serve(Plain(), requests((0.0, 1, 1))).summary()["energy"] is None


# A server that has been running --------------------------------------------------------------------------------------


def test_a_prefill_between_decode_steps_finds_the_pipeline_full():
    """Two stages: one prompt takes one stage's time then, and both stages' when the pipeline is empty."""
    system = served_system("gpu-only", load_model("llama-3-70b"), records=NoRecords())
    tokens, past = np.array([500]), np.array([0])
    assert system.prefill_between_seconds(tokens, past) == pytest.approx(system.prefill_seconds(tokens, past) / 2)


def test_steady_state_by_hand():
    """Every request takes 4 decode steps of 1 s, 8 are in work: two end and are replaced at each step on the average."""
    lengths = Workload("test", np.zeros(50), np.full(50, 90), np.full(50, 5))
    state = steady_state(Plain(), lengths, 8)
    # 10 ms and 90 ms a prompt; six of the eight wait for it
    turn = 1 + 0.01 + 2 * 0.09
    assert state.batch == 8 and state.step_s == pytest.approx(1)
    assert state.tpot_s == pytest.approx((8 + 6 * (turn - 1)) / 8, rel=0.01)
    assert state.tokens_per_s == pytest.approx((8 + 2) / turn, rel=0.01)
    assert state.prefill_share == pytest.approx(1 - 1 / turn, rel=0.02)
    full = steady_state(Plain(capacity=500), lengths, 64)
    assert 4 < full.batch < 6 and full.limit == 64


def test_steady_state_is_the_middle_of_a_long_run():
    """Tokens per second and time per token of many requests served from an empty server, without its beginning and end."""
    system, lengths = served_system("gpu-only", load_model("llama-3-70b"), records=NoRecords()), draw("sharegpt", 4000)
    state = steady_state(system, lengths, 128)
    log = serve(system, lengths, Policy(batch_limit=128)).logs[0]
    middle = (log.start_s > 0.3 * log.start_s[-1]) & (log.start_s < 0.7 * log.start_s[-1])
    decode = middle & (np.array(log.kind) == "decode")
    tokens = log.tokens[decode].sum()
    made = tokens + log.count[middle & ~decode].sum()
    assert made / log.seconds[middle].sum() == pytest.approx(state.tokens_per_s, rel=0.03)
    assert (log.batch * log.seconds)[middle].sum() / tokens == pytest.approx(state.tpot_s, rel=0.03)


def test_every_token_of_a_cached_prompt_takes_a_step():
    """8 requests in work make 8 tokens in a step of 1 s, none of them behind a prefill; room for 5 and blocks of a whole
    request change the batch alone."""
    lengths = Workload("test", np.zeros(50), np.full(50, 90), np.full(50, 5))
    state = steady_state(Plain(), lengths, 8, cached=True)
    assert state.batch == 8 and state.tokens_per_s == pytest.approx(8) and state.prefill_share == 0
    assert 91 < state.context < 93 and state.longest_context == 94 and state.largest_batch == 8
    full = steady_state(Plain(capacity=500), lengths, None, Policy(watermark=0), cached=True)
    assert 5 <= full.batch < 5.6 and full.tokens_per_s == pytest.approx(full.batch)
    static = steady_state(Plain(capacity=500, block=100), lengths, None, Policy(watermark=0), cached=True)
    assert static.batch == static.largest_batch == 5 and static.preempted == 0


def test_decoding_is_that_of_an_engine_that_goes_token_by_token():
    """Requests of a workload are taken in as long as there is room, each of their output tokens is a step; counted long
    after the beginning."""
    lengths = draw("qmsum", 4000, 3, timed=False)
    capacity, block, each = 1 << 20, 16, 1e-6
    state = steady_state(
        Plain(capacity, block, fixed=0.01, token=each), lengths, None, Policy(watermark=0), cached=True
    )
    rng = np.random.default_rng(1)
    free, tokens, held_s = capacity // block, 0, 0.0
    work: dict[int, list[int]] = {}
    waiting = iter(rng.permutation(len(lengths)).tolist())
    head = next(waiting)
    for step in range(1500):
        while (need := -(-int(lengths.prompt[head]) // block)) <= free:
            done = int(rng.integers(lengths.output[head])) if step == 0 else 0
            work[head] = [int(lengths.prompt[head]) + done, int(lengths.output[head]) - done, need + 10]
            free -= need + 10  # room to grow, as most of them need
            head = next(waiting)
        if step >= 500:
            tokens += len(work)
            held_s += 0.01 + each * sum(one[0] for one in work.values())
        for request, one in list(work.items()):
            one[0], one[1] = one[0] + 1, one[1] - 1
            if not one[1]:
                free += work.pop(request)[2]
    assert state.tokens_per_s == pytest.approx(tokens / held_s, rel=0.015)


def test_the_best_batch_within_a_limit():
    """A time per token that grows slowly and jumps at 100 requests; above it a larger batch has fewer tokens per second."""
    ran = []

    def run(batch):
        ran.append(batch)
        tpot = 0.010 + batch * 1e-5 + (0.1 if batch > 100 else 0)
        return SteadyState(batch, batch, 1.0, tpot, batch / tpot, tpot, 0.0, {})

    found = best_within(run, (0.005, 0.0105, 0.05, 0.2), most=150)
    assert found[0.005] is None and 49 <= found[0.0105].limit <= 50 and 97 <= found[0.05].limit <= 100
    assert found[0.2].limit == found[0.05].limit and len(ran) == len(set(ran)) < 20
    ran.clear()
    found = best_within(
        lambda batch: SteadyState(batch, batch, 1.0, batch * 1e-3, batch**0.5, 1.0, 0.1, {}),
        (0.003, 0.1),
        precision=None,
    )
    assert [found[limit].limit for limit in (0.003, 0.1)] == [3, 100]
    assert found[0.1].tokens_per_s == pytest.approx(10)
