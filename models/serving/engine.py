"""Continuous batching of requests on one or more instances of a served system, iteration by iteration.

An iteration is a prefill of some prompts, one decode step of all running requests, or (chunked) both. Events are the
end of a request, the arrival of a request that could be taken in, and a full KV cache. The batch does not change
between two events, so the steps in between are timed as one array.

In exact mode each of these steps is evaluated. In fast mode some steps are evaluated, and times between them lie on
straight lines. For a system whose steps do not get faster as contexts grow, the relative error of a step is at most
``tolerance``.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from ...constraints.core.errors import ConfigError
from ..systems.system import ServedSystem
from .policy import Policy
from .results import Segment, ServingResult, StepLog
from .workloads import Workload

__all__ = ["Instance", "Requests", "kept", "serve"]

#: Number of decode steps that exact mode times together, at first.
_CHUNK = 32


def serve(
    system: ServedSystem,
    workload: Workload,
    policy: Policy | None = None,
    *,
    model: str = "",
    progress: Callable[[int, int], None] | None = None,
) -> ServingResult:
    """Serve ``workload`` until its last request has ended.

    ``progress`` receives the number of requests that have ended, and the number of all requests.

    Raises
    ------
    :exc:`ConfigError`
        If there is no request, or one needs more KV cache than the system has.
    """
    policy = policy or Policy()
    if not len(workload):
        raise ConfigError(f"{workload.name}: no request")
    blocks = int(system.kv_capacity_tokens) // int(system.kv_block_tokens)
    _check_fits(system, workload, blocks)
    table = Requests(workload)
    instances = [Instance(number, system, policy, table, blocks) for number in range(policy.instances)]
    order = np.argsort(workload.arrival_s, kind="stable").tolist()

    def told() -> None:
        if progress is not None:
            progress(table.ended, len(workload))

    if policy.dispatch == "round-robin" or policy.instances == 1:
        for place, request in enumerate(order):
            instances[place % policy.instances].expect(request)
        for instance in instances:
            while instance.busy:
                instance.iterate(math.inf)
                told()
    else:
        for request in order:
            now = float(workload.arrival_s[request])
            for instance in instances:
                instance.advance(now)
            min(instances, key=lambda one: one.outstanding).expect(request)
            told()
        for instance in instances:
            while instance.busy:
                instance.iterate(math.inf)
                told()
    return ServingResult(
        system=system.name,
        model=model,
        workload=workload,
        policy=policy,
        kv_capacity_tokens=blocks * system.kv_block_tokens,
        kv_block_tokens=system.kv_block_tokens,
        instance=table.instance,
        started_s=table.started,
        first_token_s=table.first,
        finished_s=table.finished,
        preemptions=table.preemptions,
        segments=[one.segments for one in instances],
        logs=[one.log.closed() for one in instances],
    )


def _check_fits(system: ServedSystem, workload: Workload, blocks: int) -> None:
    need = kept(workload.prompt + workload.output - 1, getattr(system, "kv_window", None))
    too_large = np.flatnonzero(-(-need // system.kv_block_tokens) > blocks)
    if len(too_large):
        worst = int(too_large[np.argmax(need[too_large])])
        room = blocks * system.kv_block_tokens
        tiers = getattr(system, "kv_tiers", None) or {}
        held = f" ({', '.join(f'{name} {tokens}' for name, tokens in tiers.items())})" if tiers else ""
        where = f" in the last tier '{list(tiers)[-1]}'" if tiers else ""
        others = f" ({len(too_large)} of {len(workload)} requests are too long)" if len(too_large) > 1 else ""
        raise ConfigError(
            f"{workload.name}: request {worst} needs {int(need[worst])} tokens of KV cache, {system.name} "
            f"has room for {room}{held} beside the weights; {int(need[worst]) - room} tokens are "
            f"missing{where}{others}"
            if room
            else f"{system.name} has no room for a KV cache beside the weights"
        )


def kept(tokens: Any, window: int | None) -> Any:
    return tokens if window is None else np.minimum(tokens, window)


class Requests:
    """State of each request, of all instances."""

    def __init__(self, workload: Workload) -> None:
        count = len(workload)
        self.arrival = workload.arrival_s
        self.prompt, self.output = workload.prompt, workload.output
        self.generated = np.zeros(count, np.int64)
        self.instance = np.zeros(count, np.int32)
        self.started = np.full(count, np.nan)
        self.first = np.full(count, np.nan)
        self.finished = np.full(count, np.nan)
        self.preemptions = np.zeros(count, np.int32)
        self.paused = np.zeros(count)  # when a preempted request had its last token
        self.ended = 0


class Instance:
    """One instance: its queue, its batch, its clock.

    ``cached``: keys and values of prompts are in the cache, except for the last token of each prompt. Nothing is
    prefilled, and decode steps make the first token of a request too.

    Running requests are rows of arrays that a decode step does not change. A request has ``base`` plus the number of
    decode steps so far as tokens in the KV cache. ``last_step`` is the number of the step that ends it.
    """

    def __init__(
        self, number: int, system: ServedSystem, policy: Policy, table: Requests, blocks: int, cached: bool = False
    ) -> None:
        self.cached = cached
        self.number, self.system, self.policy, self.table = number, system, policy, table
        self.blocks, self.block = blocks, int(system.kv_block_tokens)
        self.window = getattr(system, "kv_window", None)
        self.reserve = policy.preemption == "reserve"
        self.spare = 0 if self.reserve else math.ceil(policy.watermark * blocks)
        self.clock = 0.0
        self.steps = 0
        self.expected: deque[int] = deque()  # not arrived yet, in order of arrival
        self.queue: deque[int] = deque()  # waiting
        self.filling: list[list[int]] = []  # chunked: request, tokens that are in, tokens to be in
        self.ids = self.base = self.last_step = self.since = np.zeros(0, np.int64)
        self.began = np.zeros(0)
        self.attended = 0  # tokens that requests have attended to in decode steps
        self.longest = 0  # most tokens that one of them has
        self.entered: list[tuple[float, int]] = []  # prefills since the last decode step: when ended, requests
        self.last_end = 0.0
        self.segments = Segment.table()
        self.log = StepLog()
        self._admit_hook, self._finish_hook, self._preempt_hook = (
            getattr(system, name, None) for name in ("on_admit", "on_finish", "on_preempt")
        )
        self._run_hook = getattr(system, "decode_run", None)
        self._between_hook = getattr(system, "prefill_between_seconds", None)
        self._mixed_hook = getattr(system, "mixed_seconds", None)
        self._decode_energy, self._prefill_energy = (
            getattr(system, name, None) for name in ("decode_energy_pj", "prefill_energy_pj")
        )

    def without_energy(self) -> None:
        """Do not add up energy."""
        self._decode_energy = self._prefill_energy = None

    # What the outside sees -------------------------------------------------------------------------------------------

    def expect(self, request: int) -> None:
        self.expected.append(request)
        self.table.instance[request] = self.number

    @property
    def outstanding(self) -> int:
        return len(self.expected) + len(self.queue) + len(self.filling) + len(self.ids)

    @property
    def busy(self) -> bool:
        return self.outstanding > 0

    def advance(self, until: float) -> None:
        """Begin every iteration that begins before ``until``."""
        while self.clock < until and self.busy:
            self.iterate(until)

    # One iteration, or a run of decode steps -------------------------------------------------------------------------

    def iterate(self, until: float) -> None:
        arrival, expected = self.table.arrival, self.expected
        if not (self.queue or self.filling or len(self.ids)):
            self.clock = max(self.clock, float(arrival[expected[0]]))
            if self.clock >= until:
                return
        while expected and arrival[expected[0]] <= self.clock:
            self.queue.append(expected.popleft())
        if self.policy.chunked:
            self._make_room(1)
            chunks = self._chunks()
            if chunks:
                self._mixed(chunks)
                return
        else:
            prompts = self._admitted(self.policy.token_budget)
            if prompts:
                self._prefill(prompts)
                return
        self._decode(until)

    # Taking in -------------------------------------------------------------------------------------------------------

    def _need(self, tokens: Any) -> Any:
        """Number of blocks for ``tokens`` tokens."""
        return -(-kept(tokens, self.window) // self.block)

    def _used(self, steps: int = 0) -> int:
        """Number of blocks in use after ``steps`` more decode steps."""
        table = self.table
        if self.reserve:
            requests = np.concatenate((self.ids, [one[0] for one in self.filling])).astype(np.int64)
            return int(self._need(table.prompt[requests] + table.output[requests] - 1).sum())
        used = int(self._need(self.base + (self.steps + steps)).sum())
        return used + sum(int(self._need(total)) for _, _, total in self.filling)

    def _admitted(self, budget: int) -> list[tuple[int, int]]:
        """Waiting requests that are taken in now, in order, with the tokens to prefill."""
        out: list[tuple[int, int]] = []
        if not self.queue or len(self.ids) + len(self.filling) >= self.policy.batch_limit:
            return out
        table = self.table
        room = self.policy.batch_limit - len(self.ids) - len(self.filling)
        free = self.blocks - self._used(1 if self.policy.chunked else 0)  # with the decode step of the same iteration
        empty = not len(self.ids) and not self.filling
        while self.queue and len(out) < room and budget > 0:
            request = self.queue[0]
            tokens = int(table.prompt[request] + table.generated[request])
            if not self.policy.chunked and tokens > budget and out:
                break
            whole = int(table.prompt[request] + table.output[request]) - 1
            need = int(self._need(whole if self.reserve else tokens))
            if need > free - (0 if empty and not out else self.spare):
                break
            free -= need
            budget -= tokens
            out.append((self.queue.popleft(), tokens))
        return out

    def _start(self, request: int, tokens: int) -> None:
        if math.isnan(self.table.started[request]):
            self.table.started[request] = self.clock
        if self._admit_hook is not None:
            self._admit_hook(request, tokens)

    def _prefill(self, prompts: list[tuple[int, int]]) -> None:
        for request, tokens in prompts:
            self._start(request, tokens)
        sizes = np.array([tokens for _, tokens in prompts], np.int64)
        if self.cached:
            self._join(np.array([request for request, _ in prompts], np.int64), sizes - 1)
            return
        prefill = (self._between_hook if len(self.ids) else None) or self.system.prefill_seconds
        seconds = float(prefill(sizes, np.zeros_like(sizes)))
        self.log.iteration(
            self.clock,
            seconds,
            len(self.ids),
            self._used() + int(self._need(sizes).sum()),
            "prefill",
            len(prompts),
            int(sizes.sum()),
        )
        if self._prefill_energy is not None:
            self.log.energy("prefill", self._prefill_energy(sizes, np.zeros_like(sizes)))
        self.clock += seconds
        self._enter([request for request, _ in prompts], sizes)

    def _enter(self, requests: list[int], tokens: np.ndarray) -> None:
        """Take requests into the batch whose prefill has ended and has made a token of each."""
        table = self.table
        ids = np.array(requests, np.int64)
        new = table.generated[ids] == 0
        table.first[ids[new]] = self.clock
        if not new.all():
            for request in ids[~new].tolist():
                self.log.gaps(np.array([self.clock - table.paused[request]]), 1)
        table.generated[ids] += 1
        self._join(ids, tokens)
        left = self.last_step[-len(ids) :] - self.steps
        if left.min() == 0:
            self._leave()
        stay = int(np.count_nonzero(left))
        if stay:
            self.entered.append((self.clock, stay))

    def _join(self, ids: np.ndarray, tokens: np.ndarray) -> None:
        """Requests with ``tokens`` tokens in the cache begin to decode."""
        count, left = len(ids), self.table.output[ids] - self.table.generated[ids]
        self.ids = np.concatenate((self.ids, ids))
        self.base = np.concatenate((self.base, tokens - self.steps))
        self.last_step = np.concatenate((self.last_step, left + self.steps))
        self.since = np.concatenate((self.since, np.full(count, self.steps)))
        self.began = np.concatenate((self.began, np.full(count, self.clock)))

    def _leave(self) -> None:
        """Take out the requests that have ended."""
        stay = self.last_step > self.steps
        out = ~stay
        ended = self.ids[out]
        self.table.finished[ended] = self.clock
        self.table.generated[ended] = self.table.output[ended]
        self.table.ended += len(ended)
        self._cut(out)
        if self._finish_hook is not None:
            for request in ended.tolist():
                self._finish_hook(request)
        self._keep(stay)

    def _cut(self, out: Any) -> None:
        self.segments.add(self.ids[out], self.began[out], self.since[out], self.steps - self.since[out])

    def _keep(self, stay: Any) -> None:
        self.ids, self.base, self.last_step = self.ids[stay], self.base[stay], self.last_step[stay]
        self.since, self.began = self.since[stay], self.began[stay]

    # Decoding --------------------------------------------------------------------------------------------------------

    def _make_room(self, steps: int) -> None:
        """Preempt requests until there is room for ``steps`` decode steps."""
        if self.reserve:
            return
        while len(self.ids) and self._used(steps) > self.blocks:
            table = self.table
            if self.filling:
                request = self.filling.pop()[0]
            else:
                request = int(self.ids[-1])
                table.generated[request] = table.output[request] - (self.last_step[-1] - self.steps)
                self._cut(slice(-1, None))
                table.paused[request] = self.last_end
                if self.since[-1] == self.steps:  # it has made no step since its prefill
                    table.paused[request] = self.began[-1]
                    if not self.cached:
                        self._unenter()
                self._keep(slice(None, -1))
            table.preemptions[request] += 1
            self.queue.appendleft(request)
            if self._preempt_hook is not None:
                self._preempt_hook(request)

    def _unenter(self) -> None:
        when, count = self.entered.pop()
        if count > 1:
            self.entered.append((when, count - 1))

    def _decode(self, until: float) -> None:
        self._make_room(1)
        if not len(self.ids):
            return
        steps = int(self.last_step.min()) - self.steps
        start_used = self._used()
        if (
            not self.reserve
            and start_used + len(self.ids) * (steps // self.block + 1) > self.blocks
            and self._used(steps) > self.blocks
        ):
            low, high = 1, steps
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if self._used(middle) <= self.blocks else (low, middle)
            steps = low
        stop = until
        # While the head of the queue can't be taken in, requests behind it do not matter.
        if not self.queue and self.expected and len(self.ids) < self.policy.batch_limit:
            stop = min(stop, float(self.table.arrival[self.expected[0]]))
        seconds = self._durations(self.base + (self.steps + 1), steps, stop - self.clock)
        ends = self.clock + np.cumsum(seconds)
        # A step begins if the step before it ended before the stop.
        steps = min(len(ends), 1 + int(np.searchsorted(ends[:-1], stop)))
        seconds, ends = seconds[:steps], ends[:steps]
        if self._decode_energy is not None:
            self.log.energy("decode", self._decode_energy(self.base + (self.steps + 1), steps))
        self._attend(steps)
        self._gaps(float(ends[0]))
        self.log.gaps(seconds[1:], len(self.ids))
        self.log.steps(ends)
        self.steps += steps
        self.log.iteration(
            self.clock,
            float(ends[-1]) - self.clock,
            len(self.ids),
            (start_used + self._used()) / 2,
            "decode",
            steps,
            steps * len(self.ids),
        )
        self.clock = float(ends[-1])
        self.last_end = self.clock
        if self.last_step.min() == self.steps:
            self._leave()

    def _attend(self, steps: int) -> None:
        """Count the tokens that the next steps attend to."""
        first, count = self.base + (self.steps + 1), len(self.ids)
        self.attended += steps * int(first.sum()) + count * (steps * (steps - 1) // 2)
        self.longest = max(self.longest, int(first.max()) + steps - 1)

    def _gaps(self, end: float) -> None:
        """Log the times between tokens that end with the next step."""
        new = 0
        for when, count in self.entered:
            self.log.gaps(np.array([end - when]), count)
            new += count
        self.entered.clear()
        if len(self.ids) > new:
            self.log.gaps(np.array([end - self.last_end]), len(self.ids) - new)

    def _durations(self, contexts: np.ndarray, steps: int, room: float) -> np.ndarray:
        """Seconds of the next steps: at least one step, at most ``steps``, and no more than needed to fill ``room``
        seconds."""
        system = self.system
        first = float(system.decode_seconds(contexts))
        if steps == 1 or first >= room:
            return np.array([first])
        if self.policy.mode == "fast":
            if room < math.inf:
                steps = min(steps, int(room / first) + 2) if first > 0 else steps
            return _interpolated(
                lambda k: float(system.decode_seconds(contexts + k)), first, steps, self.policy.tolerance
            )
        parts, done, total, chunk = [np.array([first])], 1, first, _CHUNK
        while done < steps and total < room:
            count = min(chunk, steps - done)
            if self._run_hook is not None:
                part = np.asarray(self._run_hook(contexts + done, count), float)
            else:
                part = np.array([float(system.decode_seconds(contexts + (done + k))) for k in range(count)])
            parts.append(part)
            done, total, chunk = done + count, total + float(part.sum()), 2 * chunk
        return np.concatenate(parts)

    # Both in one iteration -------------------------------------------------------------------------------------------

    def _chunks(self) -> list[tuple[list[int], int]]:
        """Pieces of prompts for this iteration: each request that is being prefilled, and its number of tokens."""
        budget = max(self.policy.token_budget - len(self.ids), 1)
        out = []
        for one in self.filling:
            take = min(one[2] - one[1], budget)
            if take > 0:
                out.append((one, take))
                budget -= take
        for request, tokens in self._admitted(budget):
            one = [request, 0, tokens]
            self.filling.append(one)
            self._start(request, tokens)
            take = min(tokens, budget)
            out.append((one, take))
            budget -= take
        return out

    def _mixed(self, chunks: list[tuple[list[int], int]]) -> None:
        tokens = np.array([take for _, take in chunks], np.int64)
        past = np.array([one[1] for one, _ in chunks], np.int64)
        contexts = self.base + (self.steps + 1)
        if not len(contexts):
            seconds = float(self.system.prefill_seconds(tokens, past))
        elif self._mixed_hook is not None:
            seconds = float(self._mixed_hook(contexts, tokens, past))
        else:
            seconds = float(self.system.decode_seconds(contexts)) + float(self.system.prefill_seconds(tokens, past))
        self.log.iteration(
            self.clock,
            seconds,
            len(self.ids),
            self._used(1 if len(self.ids) else 0),
            "mixed" if len(self.ids) else "prefill",
            len(chunks),
            int(tokens.sum()),
        )
        if self._prefill_energy is not None:
            self.log.energy("prefill", self._prefill_energy(tokens, past))
        if self._decode_energy is not None and len(contexts):
            self.log.energy("decode", self._decode_energy(contexts, 1))
        self.clock += seconds
        if len(self.ids):
            self._attend(1)
            self._gaps(self.clock)
            self.log.steps(np.array([self.clock]))
            self.steps += 1
            self.last_end = self.clock
            if self.last_step.min() == self.steps:
                self._leave()
        for one, take in chunks:
            one[1] += take
        whole = [one for one in self.filling if one[1] == one[2]]
        if whole:
            self.filling = [one for one in self.filling if one[1] < one[2]]
            self._enter([one[0] for one in whole], np.array([one[2] for one in whole], np.int64))


def _interpolated(at: Callable[[int], float], first: float, steps: int, tolerance: float) -> np.ndarray:
    """Times of ``steps`` steps, from evaluations of some of them. Two evaluated neighbours differ by no more than the
    tolerance. Steps do not get shorter, so the error of a straight line between them is no larger."""
    known = {0: first, steps - 1: at(steps - 1)}
    open_ = [(0, steps - 1)]
    while open_:
        a, b = open_.pop()
        if b - a > 1 and known[b] - known[a] > tolerance * known[a]:
            middle = (a + b) // 2
            known[middle] = at(middle)
            open_ += [(a, middle), (middle, b)]
    places = sorted(known)
    return np.interp(np.arange(steps), places, [known[k] for k in places])
