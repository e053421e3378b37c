"""STARC: GPUs with AttAcc's units, whose heads attend to selected tokens.

All but attention is ``dgx-attacc``'s. A head reads the access units of its selected tokens, as a program on AttAcc's
controllers. Selections are computed at some contexts of a run, for the heads of a source of keys. All heads of all requests
take them in turn. Values of other contexts lie on straight lines between. Layers that attend to all tokens count with their
share, so that attention is the mean over layers.

Reading keys or means to score them, choosing, clustering and moving clustered tokens are no part of attention. The result
states them apart. Source: STARC, Algorithm 1 and sections IV to VI.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, TypeVar

import numpy as np

from ...constraints.core.errors import ConfigError
from ...constraints.core.records import Record
from ...constraints.starc import select as starc_select
from ...constraints.starc.select import StarcSelectConfig, StarcSelectResult
from ...constraints.systems.starc import KeysSpec, SelectionSpec, StarcSystemSpec
from ..llm import ModelShape
from ..memory.pim_queue import QueueTiming
from ..sparse.methods import Method, Starc, make_method
from ..sparse.source import Captured, KeySource, Synthetic
from ..sparse.steps import StepSelection, sampled_contexts, select_steps
from .attacc import AttAccSystem, LayerWork, work_values
from .description import Description
from .platform import MicroBatch
from .results import MissingRecord, RecordSource
from .starc_keys import StarcKeys
from .system import Assumption, Details, StepCost
from .units import MeasuredUnit, clock_hz

__all__ = ["StarcSystem"]

Value = TypeVar("Value")


class _Grown:
    """A source whose keys are made once."""

    def __init__(self, source: KeySource) -> None:
        self._source, self.synthetic, self.heads = source, source.synthetic, source.heads
        self._keys: np.ndarray | None = None

    def keys(self, tokens: int) -> np.ndarray:
        if self._keys is None or self._keys.shape[1] < tokens:
            self._keys = self._source.keys(tokens)
        return self._keys[:, :tokens]

    def queries(self, context: int) -> tuple[np.ndarray, np.ndarray | None]:
        return self._source.queries(context)


#: Made-up sources that systems share, the latest ones.
_SOURCES: OrderedDict[Any, KeySource] = OrderedDict()

#: Selections from them: steps of runs, by everything that decides them.
_STEPS: OrderedDict[Any, list[StepSelection]] = OrderedDict()


def _kept(memo: OrderedDict[Any, Value], most: int, key: Any, make: Callable[[], Value]) -> Value:
    """The value of a key, made if it is not among the latest ones."""
    if key in memo:
        memo.move_to_end(key)
    else:
        memo[key] = make()
        while len(memo) > most:
            memo.popitem(last=False)
    return memo[key]


def _method(spec: SelectionSpec, prompt: int) -> Method:
    """The method of a run with a prompt of so many tokens."""
    options: dict[str, dict[str, Any]] = {
        "starc": {
            "prefill": prompt,
            "interval": spec.interval,
            "tokens_per_cluster": spec.tokens_per_cluster,
            "iterations": spec.iterations,
            "seed": spec.seed,
            "pad": spec.padding,
        },
        "sparq": {"parts": spec.query_parts},
        "infinigen": {"share": spec.key_share},
    }
    return make_method(spec.method, spec.budget, **options.get(spec.method, {}))


class StarcSystem(AttAccSystem):
    """See the module.

    Raises
    ------
    :exc:`ConfigError`
        For an unknown method, or a budget that is too small for it.
    """

    kind = "starc"
    result = StarcKeys
    schema = StarcSystemSpec  # type: ignore[assignment]
    default_model = "llama-7b"

    def __init__(self, description: Description[StarcSystemSpec]) -> None:
        super().__init__(description)
        self.chosen = spec = description.spec.selection
        try:
            method = _method(spec, spec.prompt_tokens)
        except ConfigError as error:
            raise ConfigError(f"{self.name}: selection: {error}") from None
        self.wide = spec.unit_tokens == 8
        self.selector: MeasuredUnit[StarcSelectConfig, StarcSelectResult] | None = None
        if isinstance(method, Starc) and spec.selector is not None:
            self.selector = MeasuredUnit(self.name, starc_select.UNIT, StarcSelectResult, spec.selector)
        # A first layer has no previous one whose input could be used.
        self._full_layers = max(spec.full_layers, int(method.ahead))
        self._all = spec.method == "full"
        # A captured text is a file, which can be another one the next time.
        shared = spec.keys.capture is None
        self._sources: OrderedDict[Any, KeySource] = _SOURCES if shared else OrderedDict()
        self._steps: OrderedDict[Any, list[StepSelection]] = _STEPS if shared else OrderedDict()

    # Measurements ----------------------------------------------------------------------------------------------------

    def prepare(self, model: ModelShape, records: RecordSource, refresh: bool) -> None:
        super().prepare(model, records, refresh)
        if model.sliding_window is not None and not self._all:
            raise ConfigError(
                f"{self.name}: selections need all tokens of a context; {model.name} attends to the last "
                f"{model.sliding_window} only"
            )
        missing = [] if self.selector is None else self.selector.look_up(records)
        if missing:
            raise MissingRecord(f"{self.name} with {model.name}", missing)

    @property
    def records(self) -> list[Record]:
        return [] if self.selector is None else list(self.selector.records.values())

    # Selections ------------------------------------------------------------------------------------------------------

    def source(self, head_dim: int) -> KeySource:
        """The source of keys and queries."""
        keys = self.chosen.keys

        def make() -> KeySource:
            return _Grown(self._source(keys, head_dim))

        return _kept(self._sources, 2, (keys.model_dump_json(), head_dim), make)

    def _source(self, keys: KeysSpec, head_dim: int) -> KeySource:
        if keys.capture is not None:
            return Captured(self.description.path(keys.capture), keys.layer)
        return Synthetic(heads=keys.heads, head_dim=head_dim, seed=keys.seed, **keys.synthetic.model_dump())

    def prompt(self, contexts: np.ndarray) -> int:
        """Tokens of the prompt of a run whose steps have these contexts."""
        return max(min(self.chosen.prompt_tokens, int(contexts[0]) - 1), 1)

    def steps(self, model: ModelShape, contexts: np.ndarray) -> list[StepSelection]:
        """Selections at some of the contexts of a run."""
        spec, prompt = self.chosen, self.prompt(contexts)
        at = sampled_contexts(int(contexts[0]), int(contexts[-1]), spec.steps, spec.interval, prompt)
        key = (
            spec.model_dump_json(exclude={"full_layers", "reads", "selector", "source"}),
            prompt,
            model.head_dim,
            at.tobytes(),
        )
        return _kept(
            self._steps,
            64,
            key,
            lambda: select_steps(_method(spec, prompt), self.source(model.head_dim), at, spec.unit_tokens),
        )

    def selected_timing(self, model: ModelShape, step: StepSelection, heads: int) -> QueueTiming:
        """Cycles and commands of one layer of a stack whose heads take the selections in turn."""
        timer = self.timer(1)
        if self.chosen.reads == "count":
            return timer.time(self.stack_layer(model, max(round(step.fetch.fetched), 1), heads))
        runs = [step.runs[head % len(step.runs)] for head in range(heads)]
        return timer.time(self.stack_layer(model, step.slots, heads, runs))

    def full_share(self, model: ModelShape) -> float:
        """Share of the layers that attend to all tokens."""
        return 1.0 if self._all else min(self._full_layers, model.layers) / model.layers

    def work(self, model: ModelShape, micro: MicroBatch, contexts: np.ndarray) -> tuple[LayerWork, np.ndarray]:
        share = self.full_share(model)
        whole, attended = super().work(model, micro, contexts) if share else (None, np.zeros(np.shape(contexts)))
        if self._all:
            assert whole is not None
            return whole, attended
        steps, heads = self.steps(model, contexts), self.heads(model, micro.size)
        at = [step.context for step in steps]
        sampled = np.array(
            [[*work_values(self.selected_timing(model, step, heads)), step.fetch.fetched] for step in steps]
        )
        found = np.stack([np.interp(contexts, at, column) for column in sampled.T])
        if whole is None:
            return LayerWork(found[:-1]), found[-1]
        return LayerWork(share * whole.values + (1 - share) * found[:-1]), share * attended + (1 - share) * found[-1]

    # Result ----------------------------------------------------------------------------------------------------------

    def details(self, model: ModelShape, batch: int, context: int, cost: StepCost) -> Details:
        found = super().details(model, batch, context, cost)
        spec, contexts = self.chosen, context + np.arange(len(cost.total_s))
        method = _method(spec, self.prompt(contexts))
        more: dict[str, Any] = {
            "method": spec.method,
            "budget": spec.budget,
            "prompt_tokens": self.prompt(contexts),
            "unit_tokens": spec.unit_tokens,
            "full_layers": self._full_layers,
        }
        notes = list(found.notes)
        if self._all:
            tokens = contexts.astype(float)
            units = np.ceil(contexts / spec.unit_tokens)
            counts = {
                "wanted": tokens,
                "fetched": units * spec.unit_tokens,
                "units": units,
                "runs": np.ones(len(contexts)),
                "rows": np.ceil(contexts / 256),
                "overfetch": units * spec.unit_tokens - tokens,
            }
            more |= {name: float(values.mean()) for name, values in counts.items()} | {
                "waiting": 0.0,
                "synthetic": False,
                "steps": 0,
            }
        else:
            steps, heads = self.steps(model, contexts), self.heads(model, cost.micro_batch)
            at, source = [step.context for step in steps], self.source(model.head_dim)
            for name in asdict(steps[0].fetch):
                values = [getattr(step.fetch, name) for step in steps]
                more[name] = float(np.interp(contexts, at, values).mean())
            waits = [
                self.stack_layer(
                    model, step.slots, heads, [step.runs[head % len(step.runs)] for head in range(heads)]
                ).waiting
                for step in steps
            ]
            more |= {
                "waiting": float(np.interp(contexts, at, waits).mean()),
                "synthetic": source.synthetic,
                "steps": len(steps),
            }
            if source.synthetic:
                notes.append(
                    f"synthetic: selections are of {source.heads} heads of made-up keys, at {len(steps)} of "
                    f"{len(contexts)} steps"
                )
            else:
                notes.append(
                    f"selections are of {source.heads} heads of {spec.keys.capture}, layer {spec.keys.layer}, at "
                    f"{len(steps)} of {len(contexts)} steps"
                )
        more["attention_us"] = float(cost.seconds["attention"].mean()) * 1e6
        more["scored"] = float(np.mean(method.scored(contexts, model.head_dim)))
        seconds = float(cost.total_s.mean())
        more["clustering"] = self._clustering(method, model, batch, cost.micro_batch, seconds)
        more["selecting"] = self._selecting(model, cost, seconds)
        return Details(found.area, found.unit, found.attention, notes, {**found.more, **more})

    def _clustering(
        self, method: Method, model: ModelShape, batch: int, micro: int, seconds: float
    ) -> dict[str, Any] | None:
        """Clustering on the GPUs, and the move of clustered tokens to their places, each step's share of them."""
        if not isinstance(method, Starc):
            return None
        gpu, link, interval = self.spec.gpu, self.pim.transfers, method.interval
        heads = batch * max(model.kv_heads // self.tp, 1) * max(self.stages(model))
        vector = model.head_dim * model.dtype_bytes
        prompt, each = (method.clustering_flops(tokens, model.head_dim) for tokens in (method.prefill, interval))

        def gpu_seconds(flops: float, tokens: int) -> float:
            return (
                max(
                    flops / (gpu.peak_tflops * 1e12 * gpu.compute_utilisation),
                    tokens * vector / (gpu.bandwidth_gb_s * 1e9 * gpu.memory_utilisation),
                )
                * heads
            )

        moved = 2 * interval * vector
        write = 0.0 if link is None else moved * heads / (link.both_ways_gb_s * 1e9 / 2)
        cluster = gpu_seconds(each, interval)
        step = (cluster + write) / interval
        energy = {
            "gpu_arithmetic": each / 2 * self.spec.energy.mac_pj,
            "links": 0.0 if link is None else moved * link.pj_per_byte,
        }
        # Of all heads of a token, in mJ.
        energy = {
            name: pj * max(model.kv_heads, self.tp) * model.layers / interval * 1e-9 for name, pj in energy.items()
        }
        return {
            "prompt_flops": prompt,
            "interval_flops": each,
            "write_bytes": moved,
            "prompt_gpu_ms": gpu_seconds(prompt, method.prefill) * 1e3,
            "gpu_us_per_step": cluster / interval * 1e6,
            "write_us_per_step": write / interval * 1e6,
            "us_per_step": step * 1e6,
            "tpot_ms_with": (seconds + step) * 1e3,
            "energy_mj_per_token": energy | {"total": sum(energy.values())},
        }

    def _selecting(self, model: ModelShape, cost: StepCost, seconds: float) -> dict[str, Any] | None:
        """The unit that selects, as measured: once a layer if it hides behind the attention of other heads."""
        if self.selector is None:
            return None
        figures, config = self.selector.figures, self.selector.config
        tail = figures.tail_cycles / clock_hz(config)
        layers = max(self.stages(model)) * self.pp
        return {
            "unit": f"starc-select {self.selector.preset}",
            "clusters": int(figures.ideal_cycles),
            "tail_us": tail * 1e6,
            "share_of_attention": tail * layers / float(cost.seconds["attention"].mean()),
            "measured_share": figures.share_of_attention,
            "tpot_ms_with": (seconds + tail * layers) * 1e3,
        }

    def assumptions(self) -> dict[str, Assumption]:
        spec = self.chosen
        reads = "a shorter sequence of as many tokens" if spec.reads == "count" else "the access units of these tokens"
        text = json.loads(spec.model_dump_json(exclude={"keys", "source"}))
        return super().assumptions() | {
            "selection": Assumption(
                f"heads read {reads}; {spec.method} with a budget of {spec.budget} tokens, access "
                f"units of {spec.unit_tokens}",
                text,
                spec.source,
            ),
            "not_in_attention": Assumption(
                "reads for scores, selecting, clustering and moves of clustered tokens are "
                "stated apart and are not in the step",
                False,
            ),
            "keys": Assumption(
                "heads of all requests and layers take the selections of a few heads in turn",
                spec.keys.capture or "synthetic",
                spec.keys.source,
            ),
        }
