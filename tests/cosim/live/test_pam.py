"""Simulations that stay alive: heads token by token on every unit; differences that are found, named and shown."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest

from bankside.constraints.core.errors import CheckFailed, ConfigError, ToolMissing
from bankside.constraints.pam.pu import Step
from bankside.cosim.bench.build import ARGUMENTS
from bankside.cosim.live.pam import Bank, LivePamPu, Named, PamRequest, RtlMismatch
from bankside.cosim.live.unit import Gather, LiveUnit, _runs
from bankside.cosim.live.units import LiveAimChannel, LiveInf2Gemv, LiveLolPim, LivePamRu
from bankside.cosim.pam.pu import random_episode, result_beats, stimulus
from bankside.cosim.pam.ru import random_merge
from bankside.models.numerics import from_float64, to_float64
from bankside.models.pam.pu import local_attention
from bankside.models.pam.ru import Partial

from .live_parts import pam_part, part_of

DIM = 8


@pytest.fixture(name="pam", scope="module")
def _pam():
    return pam_part()


def draw(rng, fmt, *shape, scale=1.0):
    return from_float64(rng.normal(size=shape) * scale, fmt)


def decode(live, rng, tokens, *, layers=2, heads=4, group=2):
    """Tokens of a model with ``heads`` query heads, ``group`` of which share keys and values. Returns all results."""
    io, out = live.config.io, []
    for token in range(tokens):
        for layer in range(layers):
            for head in range(heads // group):
                live.append(Bank(layer, head), draw(rng, io, DIM), draw(rng, io, DIM))
            out += live.attend(
                [
                    PamRequest(
                        Bank(layer, head // group),
                        draw(rng, io, DIM, scale=DIM**-0.5),
                        live.tokens(Bank(layer, head // group)),
                        Named(token, layer, head),
                    )
                    for head in range(heads)
                ]
            )
    return out


@pytest.mark.essential
def test_heads_of_pam_decode_token_by_token(pam, tmp_path, monkeypatch):
    """Two simulations decode 11 tokens of 8 heads: equal to the model, and to attention in binary64. The bank of each head
    moves to a larger region meanwhile. Then a result is wrong: its token, layer, head and tile are named, and a waveform
    shows it. The processes end."""
    rng = np.random.default_rng(1)
    with LivePamPu(pam, DIM, room=4, count=2, waves=tmp_path) as live:
        results = decode(live, rng, 11)
        assert live.figures.plain() | {"clocks_per_second": 0} == {
            "heads": 8,
            "tokens": 11,
            "clocks": sum(unit.clocks for unit in live.units),
            "clocks_per_second": 0,
            "mismatches": 0,
        }
        assert [len(part.m) for part in results[-8:]] == [3] * 8  # tiles of 4 tokens
        processes = [unit._process for unit in live.units]
        assert all(process.poll() is None for process in processes)
    assert all(process.poll() is not None for process in processes)
    # The first simulation has heads 0 and 1 of both layers, each with a tile of 2 + chunks results for every token.
    each = 2 + DIM // pam.config.lanes
    beat = 4 * each + each + 1  # after token 0 and head 0: m, then l of token 1, layer 0, head 1
    monkeypatch.setenv(ARGUMENTS, f"+wrong={beat}")
    with LivePamPu(pam, DIM, room=4, count=2, waves=tmp_path) as live, pytest.raises(RtlMismatch) as found:
        decode(live, rng, 3)
    message = str(found.value)
    assert message.startswith("pam_pu: token 1, layer 0, head 1, tile 0, l: got 0x"), message
    assert "1 of 8 results of the step differ" in message and "(the step alone gives other results)" in message
    [kept] = tmp_path.iterdir()
    assert str(kept) in message and kept.stat().st_size > 500
    assert live.figures.mismatches == 1 and all(unit._process.poll() is not None for unit in live.units)


def test_streams_of_the_watched_head_are_recorded(pam):
    """The last step that begins with it: transfers are the items that went in and the results that came out."""
    rng = np.random.default_rng(4)
    with LivePamPu(pam, DIM) as live:
        live.watched = (0, 1)
        decode(live, rng, 3, layers=1, heads=2, group=1)
        assert live.waveform is None  # every step begins with head 0
        io, chunks = live.config.io, DIM // live.config.lanes
        q = draw(rng, io, DIM, scale=DIM**-0.5)
        for head in (1, 0):
            (part,) = live.attend([PamRequest(Bank(0, head), q, 3, Named(3, 0, head))])
            if head == 1:
                rows = result_beats(live.config, [part])
        wave = live.waveform
    assert wave.named == Named(3, 0, 1) and set(wave.streams) == {"command", "query", "kv", "result"}
    moved = {name: one.valid & one.ready for name, one in wave.streams.items()}
    assert all(len(one) == wave.clocks for one in moved.values())
    assert {name: int(one.sum()) for name, one in moved.items()} == {
        "command": 1,
        "query": chunks,
        "kv": 2 * 3 * chunks,
        "result": len(rows),
    }
    assert np.array_equal(wave.streams["result"].payload[moved["result"]], rows)
    query = live.config.beat_layout.pack({"": q.reshape(-1, live.config.lanes)})
    assert np.array_equal(wave.streams["query"].payload[moved["query"]], query)
    assert not wave.streams["kv"].payload[~wave.streams["kv"].valid].any()


@pytest.mark.slow
def test_queries_of_a_step_share_no_state(pam, tmp_path, monkeypatch):
    """An error in the first step is shown from that step alone."""
    monkeypatch.setenv(ARGUMENTS, "+wrong=9")
    rng = np.random.default_rng(2)
    with LivePamPu(pam, DIM, waves=tmp_path) as live, pytest.raises(RtlMismatch) as found:
        live.append(Bank(0, 0), draw(rng, live.config.io, 9, DIM), draw(rng, live.config.io, 9, DIM))
        live.attend([PamRequest(Bank(0, 0), draw(rng, live.config.io, DIM), 9, Named(8, 0, 0))])
    assert "token 8, layer 0, head 0, tile 2, l: got" in str(found.value)
    assert "step alone" not in str(found.value)


@pytest.mark.slow
def test_data_at_the_cycles_of_a_memory(pam):
    """Clocks are those of the memory's program, results the same. Tokens that are changed in a bank change the results."""
    rng = np.random.default_rng(3)
    k, v, q = (draw(rng, pam.config.io, *shape) for shape in ((30, DIM), (30, DIM), (DIM,)))
    clocks = {}
    for memory in (None, "hbm3-5.2"):
        with LivePamPu(pam, DIM, memory=memory) as live:
            live.append(Bank(0, 0), k, v)
            [first] = live.attend([PamRequest(Bank(0, 0), q, 30, Named(29, 0, 0))])
            clocks[memory] = live.figures.clocks
            keys, values = k.copy(), v.copy()
            keys[3], values[7] = k[4], v[8]
            assert live.changes(Bank(0, 0), keys, values).tolist() == [3, 7]
            live.hold(Bank(0, 0), keys, values)
            assert not len(live.changes(Bank(0, 0), keys, values)) and live.tokens(Bank(0, 0)) == 30
            [second] = live.attend([PamRequest(Bank(0, 0), q, 30, Named(29, 0, 0))])
            want = local_attention(live.config, q, keys, values)
            assert all(np.array_equal(getattr(second, name), getattr(want, name)) for name in ("m", "l", "o"))
            assert not np.array_equal(first.o, second.o)
    assert clocks["hbm3-5.2"] > clocks[None]


@pytest.mark.slow
def test_contents_behind_the_back_are_found(pam):
    """Memory contents that no write port wrote: the first wrong tile is named."""
    rng = np.random.default_rng(4)
    with LivePamPu(pam, DIM) as live:
        live.append(Bank(1, 0), draw(rng, live.config.io, 13, DIM), draw(rng, live.config.io, 13, DIM))
        live._banks[Bank(1, 0)].k[9, 0] ^= 1 << 14
        with pytest.raises(RtlMismatch, match="token 12, layer 1, head 1, tile 2, "):
            live.attend([PamRequest(Bank(1, 0), draw(rng, live.config.io, DIM), 13, Named(12, 1, 1))])


@pytest.mark.slow
def test_server_ends_with_one_line(pam):
    """A step that hangs, items that the unit does not take, a crash, and addresses that hold nothing."""
    config, rng = pam.config, np.random.default_rng(5)
    episode = random_episode(config, [Step(5, DIM)], rng)
    made = stimulus(config, [episode], episode.partials(config))
    count = len(made.expected["result"])
    with LiveUnit(config, pam.verilog, pam.module) as unit:
        got = unit.step(made.items, {"result": count})
        assert (
            np.array_equal(got.outputs["result"], made.expected["result"]) and (np.diff(got.cycles["result"]) > 0).all()
        )
        with pytest.raises(
            CheckFailed, match=r"^pam_pu: step 1 has no end within 500 clocks, which delivered \d+ of 99"
        ):
            unit.step(made.items, {"result": 99}, limit=500)
        with pytest.raises(CheckFailed, match="simulation stopped"):
            unit.step(made.items, {"result": count})
    with (
        LiveUnit(config, pam.verilog, pam.module) as unit,
        pytest.raises(CheckFailed, match="^pam_pu: step 0 ended before the unit took 1 of command, "),
    ):
        unit.step(made.items, {"result": 0})
    for what in ("crash", "addresses"):
        with LiveUnit(config, pam.verilog, pam.module) as unit:
            items = dict(made.items)
            if what == "crash":
                os.kill(unit._process.pid, 9)
            else:
                items["kv"] = Gather(np.arange(len(items["kv"].payload)))  # of a memory without contents
            with pytest.raises(CheckFailed, match="^pam_pu: the simulation stopped"):
                unit.step(items, {"result": count})
            assert not Path(unit._folder.name).exists()


@pytest.mark.slow
def test_ctrl_c_leaves_no_process(pam, monkeypatch):
    rng = np.random.default_rng(6)
    with pytest.raises(KeyboardInterrupt), LivePamPu(pam, DIM, count=2) as live:
        processes = [unit._process for unit in live.units]
        live.append(Bank(0, 0), *(draw(rng, live.config.io, 4, DIM) for _ in range(2)))
        monkeypatch.setattr(LiveUnit, "finish", lambda unit: (_ for _ in ()).throw(KeyboardInterrupt))
        live.attend([PamRequest(Bank(0, 0), draw(rng, live.config.io, DIM), 4, Named(3, 0, 0))])
    deadline = time.monotonic() + 60
    while any(process.poll() is None for process in processes):
        assert time.monotonic() < deadline


def test_what_does_not_fit_is_refused(pam, monkeypatch, tmp_path):
    with pytest.raises(ConfigError, match=r"^head dimension must be a multiple of 4 \(lanes\) in 4..16, not 18$"):
        LivePamPu(pam, 18)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissing, match="^co-simulation needs g\\+\\+, make, perl: apt-get install"):
        LivePamPu(pam, DIM)


def test_runs_of_addresses():
    first, length = _runs(np.array([5, 6, 7, 0, 1, 9]))
    assert first.tolist() == [5, 0, 9] and length.tolist() == [3, 2, 1]
    assert [len(part) for part in _runs(np.zeros(0, np.int64))] == [0, 0]


# Other units -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_reduction_unit_merges():
    part = part_of("pam-ru")
    rng = np.random.default_rng(1)
    with LivePamRu(part) as live:
        for normalise in (False, True, True):
            counts = rng.integers(1, 4, part.config.sources)
            merge = random_merge(part.config, counts.tolist(), 2 * part.config.lanes, rng, normalise=normalise)
            result = live.merge(merge.sources, Named(0, 0, 0), normalise=normalise)
            assert np.array_equal(result.o, merge.result(part.config).o)
        assert live.unit.steps == 3 and not live.figures.mismatches
        with pytest.raises(ConfigError, match="^head dimension must be"):
            live.merge(
                [Partial(*(np.zeros(1, np.int64),) * 3, np.zeros((1, 3), np.int64))], Named(0, 0, 0), normalise=True
            )


def softmax_of(fmt):
    def softmax(scores):
        x = to_float64(scores, fmt)
        p = np.exp(x - x.max())
        return from_float64(p / p.sum(), fmt)

    return softmax


def close(bits, fmt, k, v, q, tolerance):
    """Whether a result is attention of the same bits."""
    q, k, v = (to_float64(x, fmt) for x in (q, k, v))
    p = np.exp(k @ q - (k @ q).max())
    return np.abs(to_float64(bits, fmt) - p @ v / p.sum()).max() < tolerance


@pytest.mark.slow
@pytest.mark.parametrize("name", ["aim-channel", "inf2-gemv"])
def test_products_with_heads_in_memory(name):
    """Scores and outputs of two layers, token by token, beyond a round of the banks and a tile."""
    kind = {"aim-channel": LiveAimChannel, "inf2-gemv": LiveInf2Gemv}[name]
    part = part_of(name)
    rng, io = np.random.default_rng(1), part.config.fmt if name == "aim-channel" else part.config.io
    with kind(part, 6, room=20) as live:
        for layer in range(2):
            live.append(Bank(layer, 0), draw(rng, io, 9, 6), draw(rng, io, 9, 6))
        for token in range(9, 20, 5):
            for layer in range(2):
                bank = Bank(layer, 0)
                k, v = draw(rng, io, token + 1, 6), draw(rng, io, token + 1, 6)
                live.hold(bank, k, v)
                q = draw(rng, io, 6, scale=6**-0.5)
                got = live.attend(bank, q, token + 1, Named(token, layer, 0), softmax_of(io))
                assert close(got, io, k, v, q, 0.2)
        assert live.unit.steps == 12
        with pytest.raises(ConfigError, match="^21 tokens are more than the 20"):
            live.append(Bank(0, 0), draw(rng, io, 6), draw(rng, io, 6))
        live._banks[Bank(1, 0)].v[2, 1] ^= 1 << io.fraction_bits + 2
        with pytest.raises(RtlMismatch, match="token 30, layer 1, head 0, "):
            live.attend(Bank(1, 0), q, 20, Named(30, 1, 0), softmax_of(io))


@pytest.mark.slow
def test_module_of_lol_pim_answers_token_by_token():
    """The module stores new tokens itself. Two queries that share keys and values, then other tokens in their place."""
    part = part_of("lol-pim-module")
    rng, io = np.random.default_rng(1), part.config.channel.fmt
    with LiveLolPim(part, DIM, room=20, heads=2) as live:
        k, v = draw(rng, io, 14, DIM), draw(rng, io, 14, DIM)
        for count in (10, 11, 14, 12):
            if count == 12:
                k = draw(rng, io, 12, DIM)
            live.hold(Bank(0, 0), k[:count], v[:count])
            assert live.tokens(Bank(0, 0)) == count
            for _ in range(2):
                q = draw(rng, io, DIM, scale=DIM**-0.5)
                assert close(live.attend(Bank(0, 0), q, Named(count, 0, 0)), io, k[:count], v[:count], q, 0.3)
        assert live.unit.steps == 8 and not live.figures.mismatches
