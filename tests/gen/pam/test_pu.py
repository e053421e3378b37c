# amaranth: UnusedElaboratable=no
"""The PU in simulation at small sizes: bit for bit its model under every kind of pressure, and its promised cycles."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from amaranth import *
from amaranth.back import rtlil
from amaranth.sim import Simulator

from bankside.constraints.pam.partials import Kind, ScoringKind
from bankside.constraints.pam.pu import PRESETS, PamPuConfig, Step
from bankside.gen.pam import PamPu
from bankside.models.numerics import from_float64
from bankside.models.pam.pu import key_scores, local_attention

# The bench --------------------------------------------------------------------------------------------------------------


@dataclass
class Log:
    """What happened on the streams, by cycle."""

    kv: list[int] = field(default_factory=list)  # acceptance of each beat
    result: list[int] = field(default_factory=list)  # delivery of each beat
    stalls: dict[int, int] = field(default_factory=dict)  # beat of kv: cycles in which it was offered and not taken
    beats: list[int] = field(default_factory=list)  # payloads of result


def pack(numbers, width):
    """Rows of bit patterns as integers, lane 0 lowest."""
    return [sum(int(x) << (n * width) for n, x in enumerate(row)) for row in numbers]


def draw(rng, config, shape, kind):
    io = config.io
    if kind == "bits":
        return rng.integers(0, 1 << io.width, shape)
    if kind == "corner":
        corner = [
            0,
            1,
            (1 << io.fraction_bits) - 1,
            1 << io.fraction_bits,
            io.bias << io.fraction_bits,
            io.infinity - 1,
            io.infinity,
            io.nan,
        ]
        return rng.choice(corner + [x | io.sign_mask for x in corner], shape)
    value = rng.normal(size=shape)
    if kind == "wide":
        value = value * 2.0 ** rng.uniform(io.lsb_exponent, io.bias - 1, shape)
    return from_float64(value, io)


def stimulus(config, steps, rng, kind):
    """Items of the three input streams, and the payloads that the model says come out."""
    q = [draw(rng, config, (step.queries, step.head_dim), kind) for step in steps]
    k, v = ([draw(rng, config, (step.tokens, step.head_dim), kind) for step in steps] for _ in range(2))
    lanes, width = config.lanes, config.io.width
    tokens_bits, chunk_bits = config.max_tokens.bit_length(), config.max_chunks.bit_length()
    several = config.queries > 1
    command = [
        step.tokens
        | config.chunks(step.head_dim) << tokens_bits
        | step.more << (tokens_bits + chunk_bits)
        | several * step.queries << (tokens_bits + chunk_bits + 1)
        | step.scores << (tokens_bits + chunk_bits + 1 + several * config.queries.bit_length())
        for step in steps
    ]
    query = pack(
        [q[step][one, chunk * lanes : (chunk + 1) * lanes] for step, chunk, one in config.query_order(steps)], width
    )
    kv = pack(
        [
            (v if beat["value"] else k)[beat["step"]][
                beat["token"], beat["chunk"] * lanes : (beat["chunk"] + 1) * lanes
            ]
            for beat in config.beats(steps)
        ],
        width,
    )
    flags = lanes * width
    expected = []
    for number, step in enumerate(steps):
        if step.scores:  # a beat for each token and query; `last` ends a tile, `final` is on the last tile
            found = np.stack([key_scores(config, one, k[number]) for one in q[number]])
            for token in range(step.tokens):
                ends = token % config.tile_tokens == config.tile_tokens - 1 or token == step.tokens - 1
                final = token // config.tile_tokens == (step.tokens - 1) // config.tile_tokens
                kind = ScoringKind.SCORE.value << flags | final << (flags + 3)
                expected += [int(found[n, token]) | kind | n << (flags + 4) for n in range(step.queries)]
                expected[-1] |= ends << (flags + 2)
            continue
        # A pass of the model for each query; the unit gives their partial results tile by tile, O chunk by chunk.
        parts = list(enumerate(local_attention(config, one, k[number], v[number]) for one in q[number]))
        for tile in range(len(parts[0][1].m)):
            for n, part in parts:
                expected += [
                    int(part.m[tile]) | Kind.MAXIMUM.value << flags | n << (flags + 4),
                    int(part.l[tile]) | Kind.SUM.value << flags | n << (flags + 4),
                ]
            chunks = zip(*(pack(part.o[tile].reshape(-1, lanes), width) for _, part in parts), strict=True)
            final = tile == len(parts[0][1].m) - 1
            expected += [
                word | final << (flags + 3) | n << (flags + 4) for words in chunks for n, word in enumerate(words)
            ]
            expected[-1] |= 1 << (flags + 2)
    return {"command": command, "query": query, "kv": kv}, expected


def always(rng, valid):
    return True


def play(config, streams, count, *, chance=None, ready=always, limit=20_000):
    """Run the unit until it delivered ``count`` beats, and 40 cycles more; see :func:`play_all`."""
    return play_all(config, [(streams, count, chance or {}, ready)], limit=limit)[0]


def play_all(config, runs, *, limit=20_000):
    """One run after another on the same unit, without a reset: ``(streams, count, chance, ready)`` each.

    ``chance`` maps inputs to the probability of withholding an item (once offered it stays); ``ready(rng, valid)`` is
    the consumer. Payloads are garbage while not valid, and what is offered on the output must be stable.
    """
    dut, rng, logs = PamPu(config), np.random.default_rng(1), []
    ports = {name: getattr(dut, name) for name in ("command", "query", "kv")}
    payloads = {name: Value.cast(port.payload) for name, port in ports.items()}
    result = Value.cast(dut.result.payload)

    async def testbench(ctx):
        state = {}

        def put(signal, value):  # each assignment costs an evaluation of the design
            if state.get(id(signal)) != value:
                state[id(signal)] = value
                ctx.set(signal, value)

        for streams, count, chance, ready in runs:
            log = Log()
            logs.append(log)
            at, offered, held = dict.fromkeys(ports, 0), dict.fromkeys(ports, False), None
            after = 0
            for cycle in range(limit):
                for name, port in ports.items():
                    if not offered[name]:
                        offered[name] = at[name] < len(streams[name]) and not (
                            name in chance and rng.random() < chance[name]
                        )
                        garbage = (1 << len(payloads[name])) - 1
                        put(payloads[name], streams[name][at[name]] if offered[name] else garbage)
                        put(port.valid, offered[name])
                valid = bool(ctx.get(dut.result.valid))
                taken = bool(ready(rng, valid))
                put(dut.result.ready, taken)
                if valid:
                    word = ctx.get(result)
                    assert held in (None, word), f"result changed while stalled in cycle {cycle}"
                    held = word
                    if taken:
                        log.beats.append(word)
                        log.result.append(cycle)
                        held = None
                else:
                    assert held is None, f"result withdrawn in cycle {cycle}"
                for name, port in ports.items():
                    if offered[name] and ctx.get(port.ready):
                        if name == "kv":
                            log.kv.append(cycle)
                        at[name] += 1
                        offered[name] = False
                    elif offered[name] and name == "kv":
                        log.stalls[at["kv"]] = log.stalls.get(at["kv"], 0) + 1
                await ctx.tick()
                after += len(log.beats) >= count
                if after > 40:
                    assert at == {name: len(items) for name, items in streams.items()}, f"items taken: {at}"
                    break
            else:
                raise AssertionError(f"{len(log.beats)} of {count} beats after {limit} cycles; items taken: {at}")

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(testbench)
    sim.run()
    return logs


def lazy(rng, valid):
    """Consumer that never is ready before it has seen an item."""
    return valid and rng.random() < 0.5


def slow(rng, valid):
    return rng.random() < 0.15


def small(**fields):
    """Two lanes, a query buffer of 4 beats, tiles of 3 tokens, room for 2 beats of output."""
    return PamPuConfig(
        **{
            "lanes": 2,
            "buffer_bytes": 24,
            "query_bytes": 16,
            "tile_tokens": 3,
            "max_head_dim": 16,
            "max_tokens": 63,
            **fields,
        }
    )


CONFIGS = {
    "small": small(),
    "small-bf16": small(format="bf16"),
    "one-bank": small(score_tiles=1),
    "slices": small(query_bytes=8, buffer_bytes=16),
    "slices-one-bank": small(query_bytes=8, buffer_bytes=16, score_tiles=1, score_format="bf16", tile_tokens=5),
    "slices-fp16": small(query_bytes=12, buffer_bytes=20, score_format="fp16", acc_format="fp16", tile_tokens=7),
    "slices-of-one-beat": small(query_bytes=4, buffer_bytes=8, format="bf16", score_format="bf16", acc_format="bf16"),
    "tile-of-one": small(tile_tokens=1),
    "tile-of-one-sliced": small(tile_tokens=1, query_bytes=8, buffer_bytes=20, score_tiles=1, score_accumulators=1),
    "two-in-accumulators": small(tile_tokens=2, query_bytes=8, buffer_bytes=20, score_format="fp16"),
    "three-in-accumulators": small(tile_tokens=4, query_bytes=8, buffer_bytes=20, score_accumulators=3),
    "tile-of-four": small(tile_tokens=4, format="bf16", acc_format="fp16", score_format="fp32"),
    "one-output-beat": small(buffer_bytes=20),
    "skid": small(buffer_bytes=20, output_skid_beats=9),
    "scores-in-buffer": small(
        lanes=4,
        buffer_bytes=64,
        query_bytes=16,
        tile_tokens=4,
        score_storage="buffer",
        score_format="fp16",
        score_tiles=1,
    ),
    "four-lanes": small(lanes=4, buffer_bytes=40, query_bytes=24, tile_tokens=6, guard_bits=1),
    "wide-guard": small(guard_bits=16, format="bf16", score_format="fp16"),
    "fewer-tokens-than-a-tile": small(tile_tokens=16, max_tokens=5),
    "two-queries": small(queries=2, query_bytes=32, buffer_bytes=56, output_skid_beats=4),
    "three-queries-sliced": small(queries=3, query_bytes=24, buffer_bytes=32, tile_tokens=5, score_format="bf16"),
    "four-queries-one-bank": small(
        queries=4, query_bytes=64, buffer_bytes=80, score_tiles=1, score_accumulators=1, format="bf16"
    ),
    "eight-queries": small(
        queries=8, query_bytes=32, buffer_bytes=36, tile_tokens=2, acc_format="fp16", score_format="fp16"
    ),
    "two-multipliers": small(queries=4, multipliers_per_lane=2, query_bytes=64, buffer_bytes=112, output_skid_beats=4),
    "four-multipliers-sliced": small(
        queries=4, multipliers_per_lane=4, query_bytes=32, buffer_bytes=80, tile_tokens=5, score_format="bf16"
    ),
    "six-queries-four-lanes": small(lanes=4, queries=6, query_bytes=96, buffer_bytes=128, tile_tokens=4),
    "scores": small(scores=True),
    "scores-one-bank-sliced": small(scores=True, query_bytes=8, buffer_bytes=16, score_tiles=1, score_format="bf16"),
    "scores-of-three-queries": small(scores=True, queries=3, query_bytes=48, buffer_bytes=72, tile_tokens=5),
    "scores-of-two-multipliers": small(
        scores=True, queries=4, multipliers_per_lane=2, query_bytes=64, buffer_bytes=112, tile_tokens=2
    ),
}


def steps_for(config, rng, count=4):
    """Token counts around tile borders, none among them, all head dimensions, chained with ``more`` or not."""
    tile = config.tile_tokens
    tokens = [n for n in (0, 1, tile - 1, tile, tile + 1, 2 * tile, 3 * tile + 1, 0, 2, tile) if n <= config.max_tokens]
    rng.shuffle(tokens)
    tokens = tokens[:count]
    return [
        Step(
            int(n),
            int(config.lanes * rng.integers(1, config.max_chunks + 1)),
            more=bool(rng.integers(2)) and at < len(tokens) - 1,
            queries=int(rng.integers(1, config.queries + 1)),
            scores=config.scores and bool(rng.integers(2)),
        )
        for at, n in enumerate(tokens)
    ]


# Bits -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CONFIGS)
def test_bit_for_bit(name):
    """Random stalls on every stream, a consumer that waits to be asked, data of every kind."""
    config = CONFIGS[name]
    rng = np.random.default_rng(sum(map(ord, name)))
    runs, wanted = [], []
    for kind, ready, chance in (("bits", lazy, 0.3), ("wide", slow, 0.0), ("corner", always, 0.5)):
        steps = steps_for(config, rng)
        streams, expected = stimulus(config, steps, rng, kind)
        runs.append((streams, len(expected), dict.fromkeys(streams, chance), ready))
        wanted.append((kind, steps, expected))
    for log, (kind, steps, expected) in zip(play_all(config, runs), wanted, strict=True):
        assert log.beats == expected, (kind, steps)


def test_bit_for_bit_at_the_size_of_pam_ddr():
    """The preset itself: its 128-byte buffer with the query in slices of 32 elements and scores in FP16."""
    config = PRESETS["pam-ddr"]
    rng = np.random.default_rng(40)
    steps = [Step(17, 80), Step(1, 64), Step(2, 128)]
    streams, expected = stimulus(config, steps, rng, "normal")
    assert play(config, streams, len(expected)).beats == expected


def test_no_token():
    """A step without tokens takes neither query nor keys nor values, and gives m = -infinity, l = 0, O = 0."""
    for config in (CONFIGS["small"], CONFIGS["slices-one-bank"]):
        steps = [Step(0, 6), Step(0, 2)]
        streams, expected = stimulus(config, steps, np.random.default_rng(41), "normal")
        assert not streams["query"] and not streams["kv"]
        minus_infinity = config.score.negative_infinity
        flag = 1 << 32  # of the kind field's low bit
        last, final = 4 * flag, 8 * flag
        assert expected == [
            minus_infinity | flag,
            2 * flag,
            final,
            final,
            final | last,
            minus_infinity | flag,
            2 * flag,
            final | last,
        ]
        assert play(config, streams, len(expected), ready=lazy).beats == expected


def test_chained_steps_without_tokens():
    """Empty steps between others, chained with ``more``: the V that waits comes all the same."""
    config = CONFIGS["small"]
    rng = np.random.default_rng(42)
    runs, wanted = [], []
    for tokens in ([4, 0, 0, 5], [0, 0, 3], [1, 0, 0], [3, 1, 2, 3, 0]):
        steps = [Step(n, 4, more=at < len(tokens) - 1) for at, n in enumerate(tokens)]
        streams, expected = stimulus(config, steps, rng, "normal")
        runs.append((streams, len(expected), {}, lazy))
        wanted.append(expected)
    assert [log.beats for log in play_all(config, runs)] == wanted


def test_more_has_no_meaning_with_one_tile_of_scores():
    config = CONFIGS["one-bank"]
    steps = [Step(4, 4, more=True), Step(2, 8, more=True)]
    streams, expected = stimulus(config, steps, np.random.default_rng(43), "normal")
    assert play(config, streams, len(expected)).beats == expected


def test_late_operands_and_a_blocked_output():
    """Each stream in turn held back almost always."""
    config = CONFIGS["slices"]
    rng = np.random.default_rng(44)
    steps = [Step(4, 6, more=True), Step(3, 4), Step(1, 10)]
    streams, expected = stimulus(config, steps, rng, "normal")
    runs = [(streams, len(expected), {name: 0.9}, always) for name in streams]
    runs.append((streams, len(expected), {}, lambda rng, valid: rng.random() < 0.05))
    assert [log.beats for log in play_all(config, runs)] == [expected] * 4


def test_steps_of_scores_between_others():
    """Scores before, between and after steps of attention: with and without tokens, chained and not. A V that is due
    comes before the scores, and m and l leave before them."""
    config = CONFIGS["scores"]
    rng = np.random.default_rng(50)
    runs, wanted = [], []
    for parts in ([4, "5", 3, "0", 0, "4"], ["7", 0, 0, "1"], ["0"], [0, "3", 0], ["3", 0, "3"], [1, 1, "2", "9", 1]):
        steps = [Step(int(n), 6, more=at < len(parts) - 1, scores=isinstance(n, str)) for at, n in enumerate(parts)]
        streams, expected = stimulus(config, steps, rng, "normal")
        for ready in (lazy, slow, always):
            runs.append((streams, len(expected), {}, ready))
            wanted.append(expected)
    assert [log.beats for log in play_all(config, runs)] == wanted


# Cycles -----------------------------------------------------------------------------------------------------------------


def phase_starts(config, steps):
    """Index in the stream of the first beat of each phase with beats: ``(step, tile, value)`` to index."""
    starts, at = {}, 0
    for number, tile, value, count in config.phases(steps):
        if count:
            starts[number, tile, value] = at
            at += count * config.chunks(steps[number].head_dim)
    return starts


#: With enough places for output: a tile of 2 tokens gives a beat every 2 clocks, all of them in flight at once.
FAST = {
    name: small(**{"output_skid_beats": 8, **fields})
    for name, fields in {
        "two-banks": {"tile_tokens": 8},
        "one-bank": {"tile_tokens": 8, "score_tiles": 1},
        "sliced": {"tile_tokens": 8, "query_bytes": 8, "buffer_bytes": 16},
        "sliced-beat-by-beat": {"tile_tokens": 16, "query_bytes": 4, "buffer_bytes": 12, "score_format": "fp16"},
        "bf16": {"tile_tokens": 8, "format": "bf16", "score_format": "bf16"},
        "four-lanes": {"lanes": 4, "tile_tokens": 9, "buffer_bytes": 64, "query_bytes": 32, "score_tiles": 1},
    }.items()
}


@pytest.mark.parametrize("name", FAST)
def test_a_beat_at_every_clock(name):
    """Once a phase has begun, one beat of K or V is taken per clock until it ends; only a V phase waits to begin, for its
    softmax, and with two tiles of scores none does: K or V of another tile hides it.

    This needs enough places for output in flight, and full tiles long enough for a partial score to be rounded before
    its token comes back with the next query slice (the last tile here is short enough to stay in accumulators).
    """
    config = FAST[name]
    chunks = config.max_chunks
    steps = [Step(3 * config.tile_tokens + 2, chunks * config.lanes)]
    streams, expected = stimulus(config, steps, np.random.default_rng(45), "normal")
    log = play(config, streams, len(expected))
    assert log.beats == expected
    starts = phase_starts(config, steps)
    first = min(starts.values())
    waits = {phase: log.stalls.get(at, 0) for phase, at in starts.items() if at != first}
    within = {beat: n for beat, n in log.stalls.items() if beat not in starts.values()}
    assert not within
    assert not any(n for (_, _, value), n in waits.items() if not value)
    waiting = {tile for (_, tile, value), n in waits.items() if value and n}
    assert waiting == (set() if config.score_tiles == 2 else {0, 1, 2, 3})
    assert {n for n in waits.values() if n} <= {PamPu.SOFTMAX_GAP - 1}
    # No other cycle is lost.
    assert log.kv[-1] - log.kv[0] + 1 == len(log.kv) + sum(waits.values())


@pytest.mark.parametrize("name", [*FAST, "tile-of-one", "small"])
def test_softmax_gap_and_drain(name):
    """A step of one tile: the V phase begins SOFTMAX_GAP cycles after the last K; the last result leaves as stated."""
    config = {**CONFIGS, **FAST}[name]
    dut = PamPu(config)
    assert dut.latency["last_k_to_first_v"] == PamPu.SOFTMAX_GAP
    rng = np.random.default_rng(46)
    runs, wanted = [], []
    for tokens in sorted({1, config.tile_tokens}):
        steps = [Step(tokens, config.max_head_dim)]
        streams, expected = stimulus(config, steps, rng, "normal")
        runs.append((streams, len(expected), {}, always))
        wanted.append((tokens, steps, expected))
    for log, (tokens, steps, expected) in zip(play_all(config, runs), wanted, strict=True):
        first_v = phase_starts(config, steps)[0, 0, 1]
        assert log.kv[first_v] - log.kv[first_v - 1] == PamPu.SOFTMAX_GAP
        assert log.beats == expected
        if tokens > 3:  # fewer tokens give a beat of output more often than a memory queue delivers its first
            assert log.result[-1] - log.kv[-1] == dut.latency["last_v_to_last_result"]


@pytest.mark.parametrize("queries", [1, 2, 3])
def test_a_multiplication_at_every_clock(queries):
    """A step of g queries takes a burst every g clocks, from the first K to the last V, and its softmax is hidden."""
    config = small(queries=3, query_bytes=96, buffer_bytes=128, tile_tokens=8)
    steps = [Step(3 * config.tile_tokens, 16, queries=queries)]
    streams, expected = stimulus(config, steps, np.random.default_rng(48), "normal")
    log = play(config, streams, len(expected))
    assert log.beats == expected
    assert {n - before for before, n in zip(log.kv, log.kv[1:], strict=False)} == {queries}
    dut = PamPu(config)
    if queries == config.queries:
        assert log.result[-1] - log.kv[-1] == dut.latency["last_v_to_last_result"]


def test_mixed_groups_follow_each_other():
    """Steps of different numbers of queries, chained with ``more``, with and without tokens."""
    config = small(queries=4, query_bytes=64, buffer_bytes=80)
    groups = [(4, 3), (0, 2), (7, 4), (1, 1), (3, 4), (0, 1)]
    steps = [Step(tokens, 6, more=at < len(groups) - 1, queries=queries) for at, (tokens, queries) in enumerate(groups)]
    streams, expected = stimulus(config, steps, np.random.default_rng(49), "bits")
    assert play(config, streams, len(expected)).beats == expected


@pytest.mark.parametrize("name", ["two-banks", "sliced", "one-bank"])
def test_a_key_at_every_clock_of_scores(name):
    """Scores alone of several tiles: no key waits, and the last score leaves as stated."""
    config = PamPuConfig(**{**FAST[name].model_dump(), "scores": True})
    steps = [Step(3 * config.tile_tokens + 2, config.max_head_dim, scores=True)]
    streams, expected = stimulus(config, steps, np.random.default_rng(51), "normal")
    log = play(config, streams, len(expected))
    assert log.beats == expected and len(log.kv) == steps[0].tokens * config.max_chunks
    assert log.kv[-1] - log.kv[0] + 1 == len(log.kv)
    assert log.result[-1] - log.kv[-1] == PamPu(config).latency["last_k_to_last_score"]


def test_chained_steps_hide_the_softmax():
    """Steps of one tile each: every V waits for its softmax; with ``more`` the K of the next step hides it."""
    config = FAST["two-banks"]
    for more, expected_waits in ((False, {0, 1, 2}), (True, set())):
        steps = [Step(8, 16, more), Step(8, 16, more), Step(8, 16)]
        streams, expected = stimulus(config, steps, np.random.default_rng(47), "normal")
        log = play(config, streams, len(expected))
        assert log.beats == expected
        starts = phase_starts(config, steps)
        assert {n for (n, _, value), at in starts.items() if value and log.stalls.get(at, 0)} == expected_waits


# Arguments --------------------------------------------------------------------------------------------------------------


def test_arguments():
    for wrong in ({"lanes": 4}, None, "pam-hbm"):
        with pytest.raises(TypeError, match="Configuration must be a PamPuConfig, not"):
            PamPu(wrong)
    config = CONFIGS["small"]
    assert PamPu(config).config is config


def test_ports():
    """Names and widths of ports are what users connect to."""
    dut = PamPu(PRESETS["pam-ddr"])
    widths = {"__".join(map(str, path)): len(Value.cast(port)) for path, _, port in dut.signature.flatten(dut)}
    assert widths == {
        "command__payload": 21 + 7 + 1,
        "command__valid": 1,
        "command__ready": 1,
        "query__payload": 64,
        "query__valid": 1,
        "query__ready": 1,
        "kv__payload": 64,
        "kv__valid": 1,
        "kv__ready": 1,
        "result__payload": 64 + 2 + 1 + 1,
        "result__valid": 1,
        "result__ready": 1,
    }


def test_the_netlist_is_the_same_every_time():
    config = CONFIGS["slices"]
    first, second = (rtlil.convert(PamPu(config), emit_src=False) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("name", ["small", "slices-one-bank", "scores-in-buffer"])
def test_formal_checks_are_in_proofs_only(name):
    """What is asserted for proofs leaves no trace in the netlist that is synthesised."""
    text = rtlil.convert(PamPu(CONFIGS[name]), emit_src=False)
    assert "$check" not in text and "probe" not in text
