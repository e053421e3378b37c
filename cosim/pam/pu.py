"""Bench of ``pam-pu``: local attention, compared bit for bit with the functional model and in cycles with the ideal."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ...constraints.core.contract import AttentionWorkload
from ...constraints.core.formats import FloatFormat
from ...constraints.memory import Memory, load_memory
from ...constraints.pam.pu import PamPuConfig, PamPuResult, PamPuTiming, Step
from ...models.memory import time_program
from ...models.numerics import from_float64, to_float64
from ...models.pam.program import attention_program, burst_arrivals
from ...models.pam.pu import Partials, attention, group_partials, key_scores, merge
from ..bench.campaign import Campaign, Played, Stimulus, play_stimulus
from ..bench.request import SimRequest
from ..bench.streams import Items
from .partials import beat_name, partial_beats

__all__ = [
    "Episode",
    "Outcome",
    "burst_cycles",
    "kv_items",
    "measured_timing",
    "random_episode",
    "result_beats",
    "score_beats",
    "simulate",
    "special_numbers",
    "stimulus",
]

#: Tags of K/V beats: within a phase, and the first beat of a phase (which may have to wait for the phase before it).
KEY, VALUE, KEY_FIRST, VALUE_FIRST = range(4)


@dataclass
class Episode:
    """Steps that follow each other, from an idle unit until its last result.

    Attributes
    ----------
    steps : the steps
    q : per step, int64 bits of shape ``(head_dim,)``, or ``(queries, head_dim)`` with several queries
    k, v : per step, int64 bits of shape ``(tokens, head_dim)``
    arrival : optional integer array, one entry per K/V beat: first clock cycle in which it may be offered
    """

    steps: list[Step]
    q: list[np.ndarray]
    k: list[np.ndarray]
    v: list[np.ndarray]
    arrival: np.ndarray | None = None

    def partials(self, config: PamPuConfig) -> list[Partials]:
        """Partial results of the model, step by step and query by query. A step of scores has none."""
        return [
            part
            for step, q, k, v in zip(self.steps, self.q, self.k, self.v, strict=True)
            if not step.scores
            for part in group_partials(config, np.atleast_2d(q), k, v)
        ]

    def scores(self, config: PamPuConfig) -> list[np.ndarray]:
        """Scores of the model for each step of scores, of shape ``(queries, tokens)``."""
        return [
            np.stack([key_scores(config, one, k) for one in np.atleast_2d(q)])
            for step, q, k in zip(self.steps, self.q, self.k, strict=True)
            if step.scores
        ]


@dataclass
class Outcome(Played):
    """Outcome of a simulation of episodes.

    ``cycles`` of an episode count from its first accepted K/V beat to its last result beat. ``stall_cycles`` are clocks
    in which a K or V beat was offered within a phase and not taken. ``exposed_softmax_cycles`` are clocks in which the
    first V beat of a tile waited for the tile's softmax. Both include clocks in which the beat before meets its further
    queries.
    """

    config: PamPuConfig = field(kw_only=True)
    episodes: list[Episode] = field(kw_only=True)
    expected: list[Partials] = field(kw_only=True)
    received: list[Partials] = field(kw_only=True)
    max_abs_error: float = field(kw_only=True)
    rms_error: float = field(kw_only=True)

    def run_figures(self) -> dict[str, int]:
        return {"cycles": self.cycles, "stall_cycles": self.stall_cycles}

    def _total(self, kind: str, tags: Sequence[int]) -> int:
        return int(sum(getattr(log, kind)["kv"][list(tags)].sum() for log in self.run.epochs))

    @property
    def ideal_cycles(self) -> int:
        """Cycles at one column burst and query per clock and multiplier."""
        return sum(
            len(self.config.beats([step])) * self.config.burst_clocks(step.queries)
            for episode in self.episodes
            for step in (dataclasses.replace(one, more=False) for one in episode.steps)
        )

    @cached_property
    def cycles(self) -> int:
        return sum(log.end_cycle - log.first_of(["kv"]) + 1 for log in self.run.epochs)

    @property
    def stall_cycles(self) -> int:
        return self._total("stalled", (KEY, VALUE))

    @property
    def key_stall_cycles(self) -> int:
        return self._total("stalled", (KEY,))

    @property
    def value_stall_cycles(self) -> int:
        return self._total("stalled", (VALUE,))

    @property
    def exposed_softmax_cycles(self) -> int:
        return self._total("stalled", (VALUE_FIRST,))

    @property
    def drain_cycles(self) -> int:
        """Longest time from the last V beat of an episode to its last result beat."""
        return max((log.end_cycle - log.last_of(["kv"]) for log in self.run.epochs if log.moved["kv"].any()), default=0)

    @property
    def utilisation(self) -> float:
        return self.ideal_cycles / self.cycles if self.ideal_cycles else 0.0


def kv_items(config: PamPuConfig, episode: Episode, number: int) -> Items:
    """K and V of an episode with their tags. ``number`` is the episode's epoch."""
    beats, lanes = config.beats(episode.steps), config.lanes
    data = np.empty((len(beats), lanes), np.int64)
    for step in range(len(episode.steps)):
        for value, source in ((0, episode.k[step]), (1, episode.v[step])):  # steps of scores have no beat of V
            mine = np.flatnonzero((beats["step"] == step) & (beats["value"] == value))
            if len(mine):
                chunked = source.reshape(len(source), source.shape[1] // lanes, lanes)
                data[mine] = chunked[beats["token"][mine], beats["chunk"][mine]]
    tag = np.where(beats["value"] == 1, VALUE, KEY)
    key = np.stack([beats["step"], beats["tile"], beats["value"]])
    starts = np.ones(len(beats), bool)
    starts[1:] = (key[:, 1:] != key[:, :-1]).any(axis=0)
    return Items.of(
        config.beat_layout.pack({"": data}),
        epoch=number,
        tag=np.where(starts, tag + 2, tag),
        cycle=0 if episode.arrival is None else episode.arrival,
    )


def stimulus(
    config: PamPuConfig, episodes: Sequence[Episode], partials: Sequence[Partials], scores: Sequence[np.ndarray] = ()
) -> Stimulus:
    """Commands, queries, keys and values of episodes. The expected beats are ``partials`` and ``scores``, the model's
    results of all their steps."""
    lists: dict[str, list[Items]] = {"command": [], "query": [], "kv": []}
    targets = []
    lanes = config.lanes
    for number, episode in enumerate(episodes):
        tokens, dims, more = (
            np.array([[s.tokens, s.head_dim, s.more] for s in episode.steps], np.int64).reshape(-1, 3).T
        )
        several = {"queries": np.array([s.queries for s in episode.steps], np.int64)} if config.queries > 1 else {}
        if config.scores:
            several["scores"] = np.array([s.scores for s in episode.steps], np.int64)
        commands = config.command_layout.pack(tokens=tokens, chunks=dims // lanes, more=more, **several)
        lists["command"].append(Items.of(commands, epoch=number))

        order = config.query_order(episode.steps)
        queries = [np.atleast_2d(q).reshape(len(np.atleast_2d(q)), -1, lanes) for q in episode.q]
        rows = np.stack([queries[s][one, c] for s, c, one in order]) if len(order) else np.empty((0, lanes), np.int64)
        lists["query"].append(Items.of(config.beat_layout.pack({"": rows}), epoch=number))

        lists["kv"].append(kv_items(config, episode, number))
        targets.append(sum(_step_beats(config, s) for s in episode.steps))

    def part(_: str, number: int, at: int) -> str:
        return _beat_name(config, episodes[number].steps, at)

    items = {name: Items.join(parts) for name, parts in lists.items()}
    counts = np.diff(np.r_[0, np.searchsorted(items["kv"].epoch, np.arange(len(episodes)), side="right")])
    left, alone, results = iter(partials), iter(scores), []
    for episode in episodes:
        results += [
            score_beats(config, next(alone))
            if step.scores
            else result_beats(config, [next(left) for _ in range(step.queries)])
            for step in episode.steps
        ]
    none = np.zeros((0, config.result_layout.payload_bytes), np.uint8)
    return Stimulus(
        items,
        {"result": np.concatenate([none, *results])},
        {"result": np.array(targets)},
        work=int(counts.max(initial=0)) * config.queries,
        part=part,
    )


def _step_beats(config: PamPuConfig, step: Step) -> int:
    """Beats of the results of a step."""
    if step.scores:
        return step.tokens * step.queries
    return len(config.tiles(step.tokens)) * (2 + config.chunks(step.head_dim)) * step.queries


def _beat_name(config: PamPuConfig, steps: Sequence[Step], at: int) -> str:
    """Name of beat ``at`` of the results of steps."""
    for n, step in enumerate(steps):
        chunks, count = config.chunks(step.head_dim), _step_beats(config, step)
        if at < count and step.scores:
            token, query = divmod(at, step.queries)
            return f"step {n} (scores of {step.tokens} tokens, head dimension {step.head_dim}), token {token}" + (
                f", query {query}" if step.queries > 1 else ""
            )
        if at < count:
            tile, at = divmod(at, (2 + chunks) * step.queries)
            name = f"step {n} ({step.tokens} tokens, head dimension {step.head_dim}), tile {tile}"
            return beat_name([(name, step.queries, chunks)], at)
        at -= count
    raise IndexError(at)


def _result_order(queries: int, chunks: int) -> np.ndarray:
    """Order of the beats of a tile: m and l query by query, then O chunk by chunk. An array of (beat of the query's partial
    result, query)."""
    query, scalar = np.divmod(np.arange(2 * queries), 2)
    chunk, other = np.divmod(np.arange(chunks * queries), queries)
    return np.concatenate([np.stack([scalar, query], axis=1), np.stack([2 + chunk, other], axis=1)])


def result_beats(config: PamPuConfig, parts: Sequence[Partials]) -> np.ndarray:
    """Payloads of the partial results of a step's queries as the unit must send them."""
    m, total, o = (np.stack([getattr(part, name) for part in parts], axis=1) for name in ("m", "l", "o"))
    return partial_beats(config.result_layout, m, total, o)


def score_beats(config: PamPuConfig, scores: np.ndarray) -> np.ndarray:
    """Payloads of the scores of a step, of shape ``(queries, tokens)``, as the unit must send them."""
    queries, tokens = scores.shape
    token, query = np.divmod(np.arange(tokens * queries), queries)
    tile, layout = config.tile_tokens, config.result_layout
    final = token // tile == max(tokens - 1, 0) // tile
    last = (query == queries - 1) & ((token % tile == tile - 1) | (token == tokens - 1))
    several = {"query": query} if config.queries > 1 else {}
    return layout.pack(data=scores[query, token], kind=config.kinds["SCORE"], last=last, final=final, **several)


def simulate(
    config: PamPuConfig, verilog: str, episodes: Sequence[Episode], *, top: str = "pam_pu", **options: Any
) -> Outcome:
    """Run episodes through the RTL and compare every result beat with the functional model. ``options`` and errors are
    as of :func:`play_stimulus`."""
    partials = [part for episode in episodes for part in episode.partials(config)]
    scores = [one for episode in episodes for one in episode.scores(config)]
    played = play_stimulus(config, verilog, top, stimulus(config, episodes, partials, scores), **options)
    received = (
        partials
        if played.mismatches
        else _received(
            config, partials, [step for episode in episodes for step in episode.steps], played.run.outputs["result"]
        )
    )
    steps = (
        (e, s, q) for e in episodes for s, step in enumerate(e.steps) if not step.scores for q in range(step.queries)
    )
    errors = (_error(config, part, *step) for part, step in zip(received, steps, strict=True))
    error = np.concatenate([np.empty(0), *errors])
    return Outcome(
        **vars(played),
        config=config,
        episodes=list(episodes),
        expected=partials,
        received=received,
        max_abs_error=float(error.max(initial=0.0)),
        rms_error=float(np.sqrt(np.mean(error**2))) if len(error) else 0.0,
    )


def _received(
    config: PamPuConfig, shapes: Sequence[Partials], steps: Sequence[Step], got: np.ndarray
) -> list[Partials]:
    """Partial results from the RTL (equal to the model's, once compared)."""
    out: list[Partials] = []
    at, layout = 0, config.result_layout
    for one_step in steps:
        queries = one_step.queries
        if one_step.scores:
            at += _step_beats(config, one_step)
            continue
        tiles, dim = shapes[len(out)].o.shape
        chunks = config.chunks(dim)
        step = got[at : at + tiles * (2 + chunks) * queries].reshape(tiles, (2 + chunks) * queries, -1)
        at += tiles * (2 + chunks) * queries
        row, query = _result_order(queries, chunks).T
        for one in range(queries):
            mine = np.flatnonzero(query == one)
            block = np.ascontiguousarray(step[:, mine[np.argsort(row[mine])]]).reshape(tiles * (2 + chunks), -1)
            data = layout.unpack(block)["data"].reshape(tiles, 2 + chunks, config.lanes)
            m, total = (
                layout.lowest(block[beat :: 2 + chunks], "data", fmt.width)
                for beat, fmt in ((0, config.score), (1, config.acc))
            )
            out.append(Partials(m, total, data[:, 2:].reshape(tiles, dim)))
    return out


def _error(config: PamPuConfig, part: Partials, episode: Episode, step: int, query: int) -> np.ndarray:
    """Absolute error of the merged, normalised output against binary64 attention; empty unless both are finite."""
    if not len(episode.k[step]):
        return np.empty(0)
    with np.errstate(all="ignore"):
        _, total, output = merge(config, part)
        reference = attention(config, np.atleast_2d(episode.q[step])[query], episode.k[step], episode.v[step])
        error = np.abs(output / total - reference)
    return error if np.isfinite(error).all() else np.empty(0)


def special_numbers(fmt: FloatFormat) -> np.ndarray:
    """Zeros, subnormals, the largest and smallest numbers, one, infinities and NaN, both signs."""
    positive = np.array(
        [
            0,
            1,
            (1 << fmt.fraction_bits) - 1,
            1 << fmt.fraction_bits,
            fmt.bias << fmt.fraction_bits,
            fmt.infinity - 1,
            fmt.infinity,
            fmt.nan,
        ],
        np.int64,
    )
    return np.concatenate([positive, positive | fmt.sign_mask])


def random_episode(
    config: PamPuConfig, steps: list[Step], rng: np.random.Generator, *, kind: str = "normal"
) -> Episode:
    """Random data for steps, of one ``kind``:

    - ``normal`` (as in a language model: unit-variance keys and values, query scaled by 1/sqrt(head_dim))
    - ``wide`` (magnitudes over the whole range)
    - ``bits`` (any bit pattern, NaN and infinities included)
    - ``special`` (corner values only)
    - ``equal`` (all keys equal, so all scores are)
    - ``dominant`` (one key far above the rest)
    """
    io = config.io

    def draw(shape: tuple[int, ...], scale: float = 1.0) -> np.ndarray:
        if kind == "bits":
            return rng.integers(0, 1 << io.width, shape)
        if kind == "special":
            return rng.choice(special_numbers(io), shape)
        value = rng.normal(size=shape) * scale
        if kind == "wide":
            value = value * 2.0 ** rng.uniform(1 - io.bias - io.fraction_bits, io.bias, shape)
        return from_float64(value, io)

    q, k, v = [], [], []
    for step in steps:
        q.append(draw((step.head_dim,) if step.queries == 1 else (step.queries, step.head_dim), step.head_dim**-0.5))
        keys = draw((step.tokens, step.head_dim))
        if step.tokens and kind == "equal":
            keys = np.broadcast_to(keys[0], keys.shape).copy()
        if step.tokens and kind == "dominant":
            along = to_float64(np.atleast_2d(q[-1])[0], io)
            keys[rng.integers(step.tokens)] = from_float64(16 * step.head_dim**0.5 * along, io)
        k.append(keys)
        v.append(draw((step.tokens, step.head_dim)))
    return Episode(steps, q, k, v)


def burst_cycles(config: PamPuConfig, device: Memory, steps: Sequence[Step]) -> int:
    """Memory cycles in which the unit takes a burst. Near-bank units can't hold back their memory: the controller sends no
    burst before the unit has taken the last one."""
    beats = (
        device.column_bytes / config.beat_bytes * max((config.burst_clocks(step.queries) for step in steps), default=1)
    )
    return int(np.ceil(beats / config.clock_mhz * 1e6 / device.clock_ps - 1e-9))


def measured_timing(
    config: PamPuConfig,
    memory: str,
    steps: Sequence[Step],
    *,
    gap_cycles: int = 0,
    power_limit: bool = True,
    refresh: bool = False,
) -> tuple[Any, np.ndarray]:
    """Timing of the memory program of ``steps``, and the unit's clock cycle in which each beat has arrived."""
    device = load_memory(memory)
    program = attention_program(
        config, device, steps, gap_cycles=gap_cycles, burst_cycles=burst_cycles(config, device, steps)
    )
    timing = time_program(program, device, refresh=refresh, power_limit=power_limit)
    arrival_ps = burst_arrivals(config, device, steps, timing) * device.clock_ps
    return timing, np.ceil(arrival_ps * config.clock_mhz / 1e6 - 1e-9).astype(np.int64)


def stress_episodes(config: PamPuConfig, rng: np.random.Generator, count: int) -> list[Episode]:
    """Small random steps of every kind of data: token counts around tile borders, all head dimensions, chained or not."""
    tile = config.tile_tokens
    sizes = sorted({0, 1, 2, 3, max(tile - 1, 1), tile, tile + 1, 2 * tile + 3})
    sizes = [n for n in sizes if n <= min(192, config.max_tokens)]
    dims = sorted(
        {
            d
            for d in (config.lanes, 64, 80, 96, 128, 160, 192, 256, config.max_head_dim)
            if d % config.lanes == 0 and d <= config.max_head_dim
        }
    )
    kinds = ("normal", "wide", "bits", "special", "equal", "dominant")
    episodes = []
    for number in range(count):
        length = int(rng.integers(1, 5))
        steps = [
            Step(
                int(rng.choice(sizes)),
                int(rng.choice(dims)),
                bool(rng.integers(2)) and place < length - 1,
                int(rng.integers(1, config.queries + 1)) if config.queries > 1 else 1,
                config.scores and bool(rng.integers(2)),
            )
            for place in range(length)
        ]
        if not steps[-1].tokens:  # the results of the last step come after all inputs
            steps[-1] = dataclasses.replace(steps[-1], scores=False)
        episodes.append(random_episode(config, steps, rng, kind=kinds[number % len(kinds)]))
    return episodes


def bench(request: SimRequest) -> PamPuResult:
    """Run the whole bench of ``pam-pu``. Each run is compared beat by beat:

    - the measured step with data at every clock
    - the same with data at the cycles that the memory's timing gives
    - small random steps of all kinds of data with random stalls on every stream
    - the same with an output that becomes ready only after it was valid
    """
    config, rng = request.config, np.random.default_rng(request.seed)
    workload: AttentionWorkload = request.workload
    memory, tokens, head_dim = workload.memory, workload.tokens, workload.head_dim
    device = load_memory(memory)
    queries = config.queries
    step = Step(tokens, head_dim, queries=queries)
    config.check_step(step)
    attention_program(config, device, [step])  # fails before the long part if the step does not fit the memory
    # The softmax of a single tile is not hidden behind other work: it shows the latency.
    probe = Step(min(config.tile_tokens, config.max_tokens), head_dim, queries=queries)
    main = random_episode(config, [step], rng)

    campaign = Campaign(
        request, lambda episodes, **options: simulate(config, request.verilog, episodes, top=request.module, **options)
    )
    full = campaign.run("full_rate", [main, random_episode(config, [probe], rng)])
    log, tile = full.run.epochs[0], full.run.epochs[1]
    gap = int(tile.first["kv"][VALUE_FIRST] - tile.last["kv"][[KEY, KEY_FIRST]].max())
    drain = tile.end_cycle - tile.last_of(["kv"])
    gap_cycles = int(np.ceil(gap / config.clock_mhz * 1e6 / device.clock_ps))
    timing, arrival = measured_timing(config, memory, [step], gap_cycles=gap_cycles)
    paced = campaign.run(
        "memory", [Episode([step], main.q, main.k, main.v, arrival)], f"data at the cycles of {device.name}", waves=True
    )
    campaign.stress(lambda count: stress_episodes(config, rng, count))

    one = dataclasses.replace(full, run=dataclasses.replace(full.run, epochs=[log]), episodes=[main])
    moved = log.moved["kv"].sum()
    # A beat that is offered at every clock waits while the beat before meets its further queries.
    clocks = config.burst_clocks(queries)
    held = (clocks - 1) * log.moved["kv"]
    exposed = one.exposed_softmax_cycles - int(held[VALUE_FIRST])
    streaming = log.last_of(["kv"]) - log.first_of(["kv"]) + clocks - exposed if moved else 0
    paced_ns = paced.cycles / config.clock_mhz * 1e3
    own_pace = time_program(attention_program(config, device, [step]), device)
    return campaign.result(
        PamPuResult,
        cycles=one.cycles if moved else 0,
        ideal_cycles=one.ideal_cycles,
        stall_cycles=one.stall_cycles - int(held[KEY] + held[VALUE]),
        key_stall_cycles=one.key_stall_cycles - int(held[KEY]),
        value_stall_cycles=one.value_stall_cycles - int(held[VALUE]),
        exposed_softmax_cycles=exposed,
        queries=queries,
        utilisation=round(one.utilisation, 6) if moved else 0.0,
        beats_per_clock=round(float(moved / streaming), 6) if moved else 0.0,
        softmax_gap_cycles=gap,
        drain_cycles=drain,
        max_abs_error=paced.max_abs_error,
        rms_error=paced.rms_error,
        memory_timing=PamPuTiming(
            memory=device.name,
            cycles=paced.cycles if moved else 0,
            time_ns=round(paced_ns, 3) if moved else 0.0,
            memory_cycles=int(timing.cycles),
            memory_time_ns=round(float(timing.time_ns), 3),
            commands={k: int(v) for k, v in timing.commands.items()},
            energy_pj=timing.energy_pj.get("total"),
            stall_cycles=paced.stall_cycles,
            exposed_softmax_cycles=paced.exposed_softmax_cycles,
            burst_utilisation=round(float(own_pace.time_ns) / paced_ns, 6) if moved else 0.0,
            utilisation=round(paced.utilisation, 6),
        ),
    )


def simulate_channel(
    config: PamPuConfig,
    verilog: str,
    *,
    memory: str,
    tokens: int,
    banks: int,
    queries: int,
    head_dim: int,
    gap_cycles: int,
    seed: int = 1,
    top: str = "pam_pu",
) -> dict[str, Any]:
    """One KV head's decode step. Its tokens are spread evenly over the banks of a channel: token t lies in bank t
    modulo ``banks``. All banks read the same rows and columns, so their data arrive at the same cycles. The units are
    independent, so one simulated unit does their work, bank after bank.

    Parameters
    ----------
    queries : queries of the group that share the head's K and V
    gap_cycles : the unit's softmax latency in memory cycles

    Returns
    -------
    dict: figures of the comparison, the channel's time, and the error of every query's merged result against attention
    over all tokens in binary64.
    """
    rng = np.random.default_rng(seed)
    io = config.io
    q = [from_float64(rng.normal(size=head_dim) * head_dim**-0.5, io) for _ in range(queries)]
    k, v = (from_float64(rng.normal(size=(tokens, head_dim)), io) for _ in range(2))
    episodes = []
    shares = [np.arange(bank, tokens, banks) for bank in range(banks)]
    longest = max(len(share) for share in shares)
    timing, arrival = measured_timing(
        config, memory, config.group_steps(longest, head_dim, queries), gap_cycles=gap_cycles
    )
    for share in shares:
        steps = config.group_steps(len(share), head_dim, queries)
        # A bank with one token less reads the same columns as its neighbours and drops the last token's data. Its unit
        # gets the other data at their usual time.
        here = arrival if len(share) == longest else measured_timing(config, memory, steps, gap_cycles=gap_cycles)[1]
        groups = np.split(np.stack(q), np.cumsum([step.queries for step in steps])[:-1])
        episodes.append(Episode(steps, groups, [k[share]] * len(steps), [v[share]] * len(steps), here))
    outcome = simulate(config, verilog, episodes, top=top, seed=seed)
    worst, squares = 0.0, []
    for query in range(queries):
        parts = [outcome.received[bank * queries + query] for bank in range(banks)]
        _, total, output = merge(
            config, Partials(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("m", "l", "o")))
        )
        error = np.abs(output / total - attention(config, q[query], k, v))
        worst = max(worst, float(error.max()))
        squares.append(float(np.mean(error**2)))
    slowest = max(log.end_cycle for log in outcome.run.epochs) + 1
    return {
        "memory": memory,
        "tokens": tokens,
        "banks": banks,
        "queries": queries,
        "head_dim": head_dim,
        "vectors": outcome.vectors,
        "mismatches": outcome.mismatches,
        "first_mismatch": outcome.first_mismatch,
        "cycles": slowest,
        "time_ns": round(slowest / config.clock_mhz * 1e3, 3),
        "memory_time_ns": round(float(timing.time_ns), 3),
        "stall_cycles": outcome.stall_cycles,
        "exposed_softmax_cycles": outcome.exposed_softmax_cycles,
        "max_abs_error": worst,
        "rms_error": float(np.sqrt(np.mean(squares))),
        "clocks": outcome.run.clocks,
    }
