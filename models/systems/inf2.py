"""INF2: a GPU whose host has computational drives, which attend beside their flash.

A layer of a decode step: the GPU computes queries, keys and values. They go to the accelerators of the drives, with the
keys and values that the host still keeps. Each accelerator streams its share of the older ones from its own flash through
its DRAM and attends. Outputs go back to the GPU. Meanwhile the GPU attends for a part of the requests. It
computes their keys and values again from the blocks' inputs (X) in the host's memory.

A *shard* is one key/value head of one request. Shards are dealt to the drives: over requests first, then over heads, so
that the busiest drive has ``ceil(requests x heads / drives)``. Drives do not communicate. The formulas are in
``docs/inf2/system.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...constraints.core.errors import ConfigError
from ...constraints.core.records import Record
from ...constraints.systems.inf2 import Inf2SystemSpec
from ..inf2.traffic import Block, WriteBack
from ..llm import ModelShape, Operator, layer_operators
from ..llm.roles import EnergyRole, Role
from .capabilities import Executed
from .description import Description
from .links import HOST, Transfer
from .near_storage import Accelerator
from .platform import MicroBatch
from .results import Capacity, Cost, MissingRecord, RecordSource
from .room import largest
from .storage import GPU, LayerCost, StoragePlatform
from .storage_keys import Inf2Keys
from .system import Assumption
from .timeline import Span, StepTimeline

__all__ = ["Inf2System", "Plan"]

#: Linear operators of a layer before its attention.
BEFORE_ATTENTION = ("attention_norm", "qkv")


@dataclass(frozen=True)
class Plan:
    """Requests of a batch whose inputs the host keeps, and why there are not more.

    Attributes
    ----------
    x_requests : :class:`int`
    bound : :class:`str`
        ``off``; ``larger``: an input is larger than keys and values; ``memory``; ``share``: the file's ``most_percent``;
        ``balance``: the GPU would take longer than the drives.
    """

    x_requests: int
    bound: str


class Inf2System(StoragePlatform):
    """See the module."""

    kind = "inf2"
    result = Inf2Keys
    roles = {
        **StoragePlatform.roles,
        "attention_return": Role.ATTENTION_DATA,
        "kv_write": Role.ATTENTION_DATA,
        "x_cache": Role.ATTENTION,
    }
    energy_roles = {**StoragePlatform.energy_roles, "accelerators": EnergyRole.UNITS}
    schema = Inf2SystemSpec
    parts = ("flash", "accelerator")

    def __init__(self, description: Description[Inf2SystemSpec]) -> None:
        super().__init__(description)
        spec = self.own
        if spec.drive.dram is None:
            raise ConfigError(f"{self.name}: drive.dram: the accelerator of a drive needs a DRAM")
        self.accelerator = Accelerator(self.name, spec.attention)
        self.dram = description.memory(spec.drive.dram)
        self.dram_bytes = self.dram.banks * self.dram.rows * self.dram.row_bytes
        if spec.writeback.interval < 1:
            raise ConfigError(f"{self.name}: writeback.interval must be at least 1 step, not {spec.writeback.interval}")

    def check(self, model: ModelShape) -> None:
        super().check(model)
        self.write_back(model)
        if self.own.x_cache.use == "on":
            Block.of(model).check_x_cache(model.name)

    def prepare(self, model: ModelShape, records: RecordSource, refresh: bool) -> None:
        missing = self.accelerator.look_up(records, model.head_dim)
        if missing:
            raise MissingRecord(f"{self.name} with {model.name}", missing)

    @property
    def records(self) -> list[Record]:
        return self.accelerator.records

    def executed(self, model: ModelShape, tokens: int) -> list[Executed]:
        """Jobs of the accelerator, which runs no program of a memory: clocks that are charged, and that were measured."""
        return self.accelerator.executed(model.head_dim)

    @property
    def steady_w(self) -> dict[str, float]:
        return {"accelerators": len(self.drives) * self.own.attention.power_w}

    def write_back(self, model: ModelShape) -> WriteBack | None:
        """Delayed write-back of a model's entries; None where each step waits for its writes.

        Raises
        ------
        :exc:`ConfigError`
            If the writes of an interval are smaller than the granularity.
        """
        spec = self.own.writeback
        if not spec.delayed:
            return None
        return WriteBack(spec.interval, model.head_dim * model.dtype_bytes, spec.granularity_bytes)

    def check_fits(self, model: ModelShape, context: int, batch: int, output_tokens: int = 1) -> Capacity:
        capacity = super().check_fits(model, context, batch, output_tokens)
        missing = -self.free_host_bytes(model, batch)
        if missing > 0:
            raise ConfigError(
                f"{model.name} on {self.name}: the {self.host_bytes} bytes of the host lack {missing} for "
                f"weights and the delayed write-back of batch {batch}"
            )
        return capacity

    # Attention -------------------------------------------------------------------------------------------------------

    def flash_tokens(self, model: ModelShape, attended: Any) -> Any:
        """Tokens of a request that are read from the flash: all but the new one and the tokens that the host still keeps.
        Their number is the mean over an interval."""
        policy = self.write_back(model)
        return np.maximum(attended - 1 - ((policy.interval - 1) / 2 if policy else 0.0), 0.0)

    def pieces(self, model: ModelShape, attended: Any) -> Any:
        """Parts in which a shard passes the DRAM, which holds two of them: one that is loaded and one that is read."""
        shard = attended * 2 * model.head_dim * model.dtype_bytes
        return np.ceil(shard / (self.dram_bytes / 2))

    @property
    def load_bytes_per_s(self) -> float:
        """Rate at which the DRAM of an accelerator is filled from its flash: of the slowest of flash, links inside of the
        drive, and software."""
        return min(
            self.flash_bytes_per_s,
            self.links.rate(("flash", 0), ("accelerator", 0)),
            self.own.attention.path.gb_s * 1e9,
        )

    def busiest(self, model: ModelShape, requests: int) -> int:
        """Shards of the busiest drive."""
        return -(-requests * model.kv_heads // len(self.drives))

    def piece_seconds(self, model: ModelShape, attended: Any) -> tuple[Any, Any, Any]:
        """Seconds to load a piece of a shard, to attend to it, and for which its load and its reads occupy the DRAM. Each
        query of a key/value head reads the piece."""
        token, parts, queries = (
            2 * model.head_dim * model.dtype_bytes,
            self.pieces(model, attended),
            self.queries_per_head(model),
        )
        load = self.flash_tokens(model, attended) * token / parts / self.load_bytes_per_s
        least = attended * token / parts / self.dram.channel_bytes_per_s
        clocks = self.accelerator.shard_seconds(attended, model.head_dim) / parts
        return load, queries * np.maximum(clocks, least), (1 + queries) * least

    def shard(self, model: ModelShape, attended: int) -> dict[str, Any]:
        """Times of a shard of ``attended`` tokens on its drive, and the longest of them."""
        parts = self.pieces(model, attended)
        load, read, least = (float(value * parts) for value in self.piece_seconds(model, attended))
        stages = {
            f"{name}_us": float(seconds) * 1e6
            for name, seconds in self.accelerator.stages(attended, model.head_dim).items()
        }
        longest = {"load": load, "units": read, "dram": least}
        return {
            "preset": self.own.attention.accelerator,
            "clock_mhz": self.accelerator.unit.config.clock_mhz,
            "load_us": load * 1e6,
            **stages,
            "dram_us": least * 1e6,
            "bound": max(longest, key=lambda name: longest[name]),
        }

    def drive_seconds(self, model: ModelShape, requests: int, attended: Any) -> Any:
        """Seconds in which the busiest drive attends for one layer. While a piece of its shards is read, the next is
        loaded. The DRAM's bandwidth bears the load and every read of a byte."""
        if not requests:
            return np.zeros(np.shape(attended))
        load, read, least = self.piece_seconds(model, attended)
        count = self.busiest(model, requests) * self.pieces(model, attended)
        return load + (count - 1) * np.maximum(np.maximum(load, read), least) + read

    def x_cost(self, model: ModelShape, requests: int, contexts: np.ndarray) -> Cost:
        """The GPU's part of attention for one layer: keys and values of earlier tokens are computed again from their
        inputs, while the next inputs arrive."""
        block, attended = Block.of(model), np.asarray(model.attended(contexts))
        if not requests:
            return Cost(np.zeros(np.shape(attended)))
        rows = requests * (attended - 1)
        size, width = model.dtype_bytes, 2 * block.kv_width
        again = self.sequences.fused(
            Operator(
                "x_cache",
                "gemm",
                rows,
                width,
                block.hidden_size,
                weight_bytes=width * block.hidden_size * size,
                activation_bytes=rows * (block.hidden_size + width) * size,
                flops=block.x_flops(requests, attended),
                dtype_bytes=size,
            )
        )
        own = self.roofline.fused(*(op for op in layer_operators(model, requests, contexts) if op.kind == "attention"))
        load = block.x_read(requests, attended) / self.links.rate(HOST, GPU)
        energy = {
            name: again.energy_pj.get(name, 0.0) + own.energy_pj.get(name, 0.0)
            for name in {**again.energy_pj, **own.energy_pj}
        }
        return Cost(np.maximum(load, again.time_s + own.time_s), energy)

    # X-cache ---------------------------------------------------------------------------------------------------------

    def free_host_bytes(self, model: ModelShape, batch: int) -> int:
        """Bytes of the host's memory for inputs: all but weights and the buffers of delayed write-back."""
        policy = self.write_back(model)
        kept = batch * policy.buffered_entries * model.kv_bytes_per_token if policy else 0
        return self.host_bytes - (model.weight_bytes if self.weights_at(model) == "host" else 0) - kept

    def plan(self, model: ModelShape, batch: int, tokens: int) -> Plan:
        """Split of a batch whose requests end with ``tokens`` tokens. Memory limits the requests from inputs. So does the
        time of the drives for the others, which the GPU's part does not exceed."""
        spec, block = self.own.x_cache, Block.of(model)
        if spec.use == "off":
            return Plan(0, "off")
        if 2 * block.kv_width < block.hidden_size:
            return Plan(0, "larger")
        at = np.array([tokens], np.int64)
        memory = max(self.free_host_bytes(model, batch), 0) // (
            model.layers * int(model.attended(tokens)) * block.x_token_bytes
        )
        share = int(batch * spec.most_percent // 100)

        def balanced(count: int) -> bool:
            return count < batch and float(self.x_cost(model, count, at).time_s[0]) <= float(
                self.drive_seconds(model, batch - count, np.asarray(model.attended(at)))[0]
            )

        bounds = {"memory": int(memory), "share": share, "balance": largest(balanced)}
        bound = min(bounds, key=lambda name: bounds[name])
        return Plan(bounds[bound], bound)

    def write_seconds(self, model: ModelShape, requests: int) -> float:
        """Seconds of a layer's writes in a step: a key and a value of each head of each request; an interval's are one
        write."""
        policy = self.write_back(model)
        return 2 * requests * model.kv_heads * self.own.writeback.write_us * 1e-6 / (policy.interval if policy else 1)

    def requests_with_inputs(self, model: ModelShape, batch: int, tokens: int) -> int:
        return self.plan(model, batch, tokens).x_requests

    # Steps -----------------------------------------------------------------------------------------------------------

    def layer_seconds(self, model: ModelShape, batch: int, contexts: np.ndarray, linear_s: Any) -> LayerCost:
        block, attended = Block.of(model), np.asarray(model.attended(contexts))
        plan, policy = self.plan(model, batch, int(contexts[-1])), self.write_back(model)
        here = batch - plan.x_requests
        step = policy.mean_step(block, here) if policy else block.near_storage(here)
        send = self.between("accelerator", GPU, step.to_drives, back=True)
        back = self.between("accelerator", GPU, step.to_host)
        latency = self.links.latency_s if here else 0.0
        send_s, back_s = (self.links.seconds(one) + latency for one in (send, back))
        drive_s, x_cache = self.drive_seconds(model, here, attended), self.x_cost(model, plan.x_requests, contexts)
        writes_s = self.write_seconds(model, here)
        own = {
            "attention_send": Cost(send_s),
            "attention": Cost(drive_s),
            "attention_return": Cost(back_s),
            "x_cache": Cost(np.maximum(x_cache.time_s - drive_s, 0), x_cache.energy_pj),
            "kv_write": Cost(0.0 if policy else writes_s),
        }
        chain_s = linear_s + sum(np.asarray(cost.time_s) for cost in own.values())
        share = here * self.flash_tokens(model, attended) * block.kv_token_bytes / len(self.drives)
        moved = [
            *send,
            *back,
            *self.weight_transfers(model),
            *(Transfer(("flash", number), ("accelerator", number), share) for _, number in self.drives),
            Transfer(HOST, GPU, block.x_read(plan.x_requests, attended)),
            Transfer(GPU, HOST, plan.x_requests * block.x_token_bytes),
            *self.between("flash", HOST, block.kv_write(here), back=True),
        ]
        least_s = np.maximum(self.transfer_seconds(moved), writes_s)
        return LayerCost(
            {**own, "transfer_wait": Cost(np.maximum(least_s - chain_s, 0))},
            moved,
            self._notes(model, batch, plan, attended),
            {
                "x_cache_requests": plan.x_requests,
                "x_cache_bound": plan.bound,
                "shards_per_drive": self.busiest(model, here),
                "accelerator": self.shard(model, int(attended[-1])),
                "dram_pieces": int(np.max(self.pieces(model, attended))),
            },
        )

    def timeline(self, model: ModelShape, *, context: int, batch: int) -> StepTimeline:
        """GPU, links, and the busiest drive. Its softmax and products fill the time of a read; the rest of that time waits
        for the DRAM. Writes go beside a layer or, without delayed write-back, at its end."""
        contexts = np.array([context], np.int64)
        linear = {
            name: float(np.max(cost.time_s))
            for name, cost in self.layer(model, MicroBatch(batch, batch), contexts, attention=False).items()
        }
        more = self.layer_seconds(model, batch, contexts, sum(linear.values()))
        own = {name: float(np.max(cost.time_s)) for name, cost in more.costs.items()}
        spans: list[Span] = []
        now = 0.0

        def put(track: str, name: str, seconds: float, start_s: float | None = None, **args: Any) -> None:
            if seconds > 0:
                spans.append(Span(track, name, now if start_s is None else start_s, seconds, args))

        before = [name for name in linear if name in BEFORE_ATTENTION]
        for name in before:
            put("GPU", name, linear[name])
            now += linear[name]
        begun = now
        put("links", "queries, keys, values to the accelerators", own["attention_send"])
        now += own["attention_send"]
        plan = self.plan(model, batch, context)
        self._drive_spans(put, model, batch - plan.x_requests, np.asarray(model.attended(context)), now)
        if plan.x_requests:
            cost = self.x_cost(model, plan.x_requests, contexts)
            put(
                "GPU",
                f"keys, values, attention of {plan.x_requests} requests from inputs",
                float(np.max(cost.time_s)),
                requests=plan.x_requests,
            )
        now += own["attention"] + own["x_cache"]
        put("links", "outputs to the GPU", own["attention_return"])
        now += own["attention_return"]
        put("flash: writes", "keys and values of this step", own["kv_write"])
        now += own["kv_write"]
        for name in linear:
            if name not in before:
                put("GPU", name, linear[name])
                now += linear[name]
        put("links", "wait for transfers and writes", own["transfer_wait"])
        now += own["transfer_wait"]
        policy = self.write_back(model)
        if policy:
            put(
                "flash: writes",
                f"spill, its share of {policy.interval} steps",
                self.write_seconds(model, batch - plan.x_requests),
                begun,
            )
        return self.layers_timeline(model, context, batch, spans, now)

    def _drive_spans(
        self, put: Callable[..., None], model: ModelShape, requests: int, attended: np.ndarray, start_s: float
    ) -> None:
        """Loads and stages of each piece on the busiest drive, at the pace of :meth:`drive_seconds`."""
        if not requests:
            return
        load, read, least = (float(value) for value in self.piece_seconds(model, attended))
        stages = self.accelerator.stages(attended, model.head_dim)
        parts, queries = int(self.pieces(model, attended)), self.queries_per_head(model)
        # A stage that waits for the DRAM takes longer than its clocks
        stretch = read * parts / queries / sum(float(value) for value in stages.values())
        pace = max(load, read, least)
        for piece in range(self.busiest(model, requests) * parts):
            where = {"shard": piece // parts, "piece": piece % parts}
            put("drive: P2P into DRAM", "load", load, start_s + piece * pace, **where)
            at = start_s + load + piece * pace
            for query in range(queries):
                for name, seconds in stages.items():
                    took = float(seconds) / parts * stretch
                    put(
                        f"accelerator: {'softmax' if name == 'softmax' else 'GEMV'}",
                        name,
                        took,
                        at,
                        query=query,
                        **where,
                    )
                    at += took

    def _notes(self, model: ModelShape, batch: int, plan: Plan, attended: np.ndarray) -> list[str]:
        notes = []
        if plan.x_requests:
            notes.append(
                f"the GPU attends for {plan.x_requests} of {batch} requests from inputs in the host's memory "
                f"(bound: {plan.bound})"
            )
        if plan.bound == "larger":
            block = Block.of(model)
            notes.append(
                f"no X-cache: an input of a block has {block.x_token_bytes} bytes, keys and values of a token "
                f"have {block.kv_token_bytes}"
            )
        pieces = int(np.max(self.pieces(model, attended)))
        if pieces > 1:
            notes.append(f"keys and values of a head pass the DRAM of a drive in {pieces} pieces")
        most, longest = self.accelerator.unit.config.max_tokens, int(np.max(attended))
        if longest > most:
            notes.append(
                f"a row of {longest} tokens is longer than the {most} that an accelerator takes; its clocks go on "
                "in a straight line"
            )
        return notes

    def assumptions(self) -> dict[str, Assumption]:
        spec = self.own
        policy = (
            f"the host keeps new keys and values for {spec.writeback.interval} steps"
            if spec.writeback.delayed
            else f"each step waits for its writes, {spec.writeback.write_us:g} us each"
        )
        return super().assumptions() | {
            "attention": Assumption(
                f"an accelerator takes the clocks of inf2-accelerator {spec.attention.accelerator} at "
                f"{self.accelerator.unit.config.clock_mhz:g} MHz, or the time of its DRAM if it is longer",
                spec.attention.accelerator,
                spec.attention.source,
            ),
            "drive_path": Assumption(
                f"{spec.attention.path.name} bring {spec.attention.path.gb_s:g} GB/s in each drive",
                spec.attention.path.gb_s,
                spec.attention.path.source,
            ),
            "writeback": Assumption(policy, spec.writeback.model_dump(exclude={"source"}), spec.writeback.source),
            "x_cache": Assumption(
                "no inputs are kept"
                if spec.x_cache.use == "off"
                else "the GPU computes keys and values of some requests again from inputs in the host's memory, of "
                f"{spec.x_cache.most_percent:g} % at most, while the drives attend for the others",
                spec.x_cache.model_dump(exclude={"source"}),
                spec.x_cache.source,
            ),
            "shards": Assumption(
                "requests and heads are dealt to the drives as evenly as can be",
                True,
                "INF2 section 4 (over the batch, then over heads)",
            ),
        }
