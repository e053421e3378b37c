"""AiM modules that decode: LoL-PIM, the AiMX cards it is built on, and both beside GPUs.

Everything but embedding and output matrix runs on the modules, split over them by tensor and pipeline parallelism.
Linear layers and attention take the cycles of their programs on the AiM memory (:mod:`bankside.models.lolpim`). The hub
does norms, positions, softmax, sums of partial results and element-wise products. These take the clocks of the hub's
commands in its measurement record. The dispatcher's record sets the least time of a command. ``docs/lolpim/system.md``
has the formulas.

With more tensor parallelism than heads, several modules share a head. Each of them computes a part of its queries, keys,
values and projection. Requests are dealt to them in turn, and a request's head is whole on its module. So its parts of
queries, keys and values go to this module, and the parts of the result go back.

A step of the pipeline lasts as long as its slowest stage, since the host starts the stages together. A batch has
``ceil(batch / m)`` micro-batches of ``m`` requests; fewer than stages leave bubbles. A token of every request takes
``max(stages, micro-batches)`` steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...constraints.aim import hub as pim_hub
from ...constraints.aim.channel import AimChannelConfig
from ...constraints.core.errors import ConfigError
from ...constraints.core.records import Record
from ...constraints.lolpim import dispatcher as dpa_dispatcher
from ...constraints.lolpim.module import LolPimModuleConfig
from ...constraints.memory import Memory
from ...constraints.systems.lol_pim import LolPimHybridSpec, LolPimSystemSpec
from ..aim.operators import Append, Context, Gemv, Module, Score, ceil
from ..llm import ROTARY, ModelShape, Operator, layer_operators
from ..llm.roles import EnergyRole, Role
from ..lolpim.peak import NODE_UNITS, utilisation
from ..lolpim.timing import ModuleTimer, Timed, module_timer
from .capabilities import Executed, digest_of
from .description import Description
from .gpu_serving import GpuServed, GridServed
from .lol_pim_keys import HybridKeys, ModuleKeys
from .memo import kept
from .platform import GpuPlatform, MicroBatch
from .results import Capacity, Cost, MissingRecord, RecordSource
from .room import GIB, Load, Room
from .system import Assumption, Details, Served, StepCost, System
from .units import DispatcherFigures, HubFigures, MeasuredUnit, clock_hz

if TYPE_CHECKING:
    from ..lolpim.compiler import Compiled

__all__ = ["LolPimHybridSystem", "LolPimSystem"]

#: Number of contexts of a series of output tokens that are evaluated; times between them lie on straight lines.
SAMPLES = 33

#: Tokens between the contexts at which :meth:`LolPimSystem.run_seconds` evaluates a layer whose programs no dispatcher
#: counts by tokens.
GRID = 1024

#: Contexts of requests and steps that :meth:`LolPimSystem.run_seconds` takes at once.
_BLOCK = 1 << 18

#: Matrices of a layer whose columns are split over modules; the other ones are split by rows.
_BY_COLUMN = ("qkv", "ffn_gate", "ffn_up")


@dataclass(frozen=True)
class AttentionTime:
    """Seconds of one layer's attention on one module: in total, on the channels and in the hub.

    Attributes
    ----------
    score, context, append : channels
    softmax : hub
    sums : hub, of partial results
    total : all of it; the hub's work for a head overlaps with the products of other heads
    energy_pj : of the channels, by component
    """

    score: float
    context: float
    append: float
    softmax: float
    sums: float
    total: float
    energy_pj: Mapping[str, float]


@lru_cache(maxsize=1 << 14)
def pipelined(
    turns: int, score: float, softmax: float, context: float, beside: float = 0.0, last: float = 0.0, sent: float = 0.0
) -> float:
    """Seconds of ``turns`` heads one after the other. Channels do scores one head ahead of contexts. The hub does the
    softmax of a head when its scores are there, and the head's context waits for its softmax. The hub sums partial
    contexts for ``beside`` seconds while the context is made, and for ``last`` seconds afterwards. A softmax stands
    still for ``sent`` seconds, while the inputs of the context before it are read from the same registers."""
    channel = hub = 0.0
    ready: list[float] = []

    def finish(turn: int) -> None:
        nonlocal channel, hub
        begun = max(channel, ready[turn])
        channel = begun + context
        hub = max(max(hub, begun) + beside, channel) + last

    for turn in range(turns):
        channel += score
        hub = max(hub, channel) + softmax + (sent if turn else 0.0)
        ready.append(hub)
        if turn:
            finish(turn - 1)
    finish(turns - 1)
    return hub


class AttentionUnit:
    """Attention on the modules of a system, with the partition, timer and hub of its specification."""

    def __init__(self, name: str, spec: LolPimSystemSpec | LolPimHybridSpec, memory: Memory) -> None:
        self.name, self.spec, self.memory = name, spec, memory
        self.module = Module(spec.module.channels, memory.banks, 16, memory.row_bytes // 2, memory.rows)
        self.partition: Any = "token" if spec.features.token_parallel else "head"
        self.refresh = False
        self.hub = MeasuredUnit(name, pim_hub.UNIT, HubFigures, spec.hub.preset, synth="wanted")
        # Without lazy allocation rows are known beforehand, and the host issues the commands.
        own = MeasuredUnit(name, dpa_dispatcher.UNIT, DispatcherFigures, spec.dispatcher.preset, synth="wanted")
        self.dispatcher = own if spec.features.lazy_allocation else None
        self._known: dict[Any, AttentionTime] = {}

    def prepare(self, records: RecordSource, refresh: bool) -> None:
        """Look up the measurements of the hub and the dispatcher.

        Raises
        ------
        :exc:`MissingRecord`
            If a measurement is missing. The message has the commands that make it.
        """
        self.refresh = refresh
        self._known.clear()
        missing = [need for unit in self.measured for need in unit.look_up(records)]
        if missing:
            raise MissingRecord(self.name, missing)

    @property
    def measured(self) -> list[MeasuredUnit[Any, Any]]:
        """Units on whose measurements the times rest."""
        return [unit for unit in (self.hub, self.dispatcher) if unit is not None]

    @property
    def records(self) -> list[Record]:
        """Measurements on which the times rest."""
        return [unit.records["sim"] for unit in self.measured if "sim" in unit.records]

    @property
    def dispatched(self) -> bool:
        """Whether the dispatcher's programs count by tokens, so that a step of a program is whole."""
        return self.partition == "token" and self.spec.features.lazy_allocation

    def hub_seconds(self, op: str, elements: float, times: float = 1) -> float:
        """Seconds of ``times`` commands of the hub on a vector of ``elements``."""
        return self.hub.figures.seconds(self.hub.config, op, elements, times)

    @property
    def command_seconds(self) -> float:
        """Least time of a command."""
        own = self.dispatcher
        return 0.0 if own is None else own.figures.command_s(own.config)

    @property
    def run_seconds(self) -> float | None:
        """Time of a program beside its commands; None if the host issues them."""
        own = self.dispatcher
        return None if own is None else own.figures.run_s(own.config)

    @property
    def timer(self) -> ModuleTimer:
        return module_timer(self.memory, self.module, self.spec.features.ping_pong, self.refresh)

    def time(self, operator: Any, single: bool = False) -> Timed:
        """Time of an operator's program. Commands are issued no faster than the dispatcher can issue them."""
        timed = self.timer.time(operator, single)
        least = self.command_seconds * timed.instructions
        return timed if least <= timed.seconds else replace(timed, seconds=least)

    def norm_seconds(self, model: ModelShape, elements: int, times: float = 1) -> float:
        """Seconds of a norm in the hub: root mean square, or mean and variance. A product with its weights and a sum
        with its offsets follow."""
        rms = model.family in ROTARY
        vectors = 1 if elements != model.hidden_size else max(model.norm_vectors // 2, 0)
        steps = ["RMSNORM" if rms else "LAYERNORM", *("GPR_MUL", "EWADD")[:vectors]]
        return sum(self.hub_seconds(op, elements, times) for op in steps)

    def rotary_seconds(self, elements: int) -> float:
        """Seconds of rotary positions in the hub: a product with cosines, a product of the exchanged halves with sines,
        and their sum."""
        return self.hub_seconds("GPR_MUL", elements, 2) + self.hub_seconds("EWADD", elements)

    def sums_seconds(self, gemv: Gemv, bias: bool, seconds: float) -> tuple[float, float]:
        """Seconds of the hub's sums for a matrix product that takes ``seconds``: the part after the last product, and
        all of them. The sums add partial results; the bias is one of the terms."""
        sums = gemv.vectors * (gemv.spans - 1 + bias)
        if not sums:
            return 0.0, 0.0
        one = self.hub_seconds("EWADD", gemv.result_words * self.module.lanes)
        span = seconds / gemv.vectors / gemv.spans
        return max(one, span * (1 if bias else 2) + sums * one - seconds), sums * one

    def run(self, head_dim: int) -> int:
        """Number of tokens whose values share a row of a bank."""
        parts = max(self.module.units // head_dim, 1) if self.partition == "token" else 1
        if not self.spec.features.lazy_allocation:
            return self.module.row
        chunk = max(self.spec.allocation.chunk_tokens // parts, self.module.lanes)
        return min(self.module.row, 1 << (chunk.bit_length() - 1))

    def operators(
        self, model: ModelShape, heads: int, group: int, tokens: int, together: int = 1
    ) -> tuple[Score, Context]:
        """Score and context of ``together`` heads at once."""
        more = {"double": self.spec.features.ping_pong, "by_tokens": self.dispatched, "run": self.run(model.head_dim)}

        def operator(kind: Any, end: int) -> Any:
            """For as many tokens as end a step of the program: its time is the same for all tokens of the step."""
            shape = (self.module, self.partition, ceil(tokens, end) * end, model.head_dim, group, heads, together)
            return kind(*shape, **more)

        word = self.module.lanes
        if not self.dispatched:
            return operator(Score, word), operator(Context, word)
        score, context = operator(Score, word), operator(Context, word)
        return (
            operator(Score, score.keys_per_row * self.module.units),
            operator(Context, context.parts * context.run) if context.parts > 1 else context,
        )

    def attention(self, model: ModelShape, requests: int, heads: int, group: int, tokens: int) -> AttentionTime:
        """Attention of one layer for ``requests`` requests with ``heads`` key/value heads each on a module."""
        key = (model, requests, heads, group, int(tokens))
        return kept(self._known, key, lambda: self._attention(*key), 1 << 14)

    def _attention(self, model: ModelShape, requests: int, heads: int, group: int, tokens: int) -> AttentionTime:
        channels = self.module.channels
        append = self.time(Append(self.module, self.partition, 1, model.head_dim, 1, heads), single=True)
        parts: list[tuple[int, int]]  # turns, heads at once
        if self.partition == "token":
            parts = [(requests * heads, 1)]
        else:
            whole, rest = divmod(requests * heads, channels)
            parts = [(count, size) for count, size in ((whole, channels), (1, rest)) if count and size]
        energy: dict[str, float] = {name: value * requests for name, value in append.energy_pj.items()}
        score_s = context_s = softmax_s = sums_s = total = 0.0
        for turns, together in parts:
            operators = self.operators(model, heads, group, tokens, together)
            score, context = (self.time(op) for op in operators)
            softmax = self.hub_seconds("SOFTMAX", tokens, together * group)
            beside, last = (
                sum(self.hub_seconds("EWADD", words * self.module.lanes, times) for times, words in sums)
                for sums in operators[1].sums
            )
            score_s, context_s = score_s + turns * score.seconds, context_s + turns * context.seconds
            softmax_s, sums_s = softmax_s + turns * softmax, sums_s + turns * (beside + last)
            # Token-parallel: one request after the other, whatever the context of each.
            times, each = (requests, heads) if self.partition == "token" else (1, turns)
            sent = context.inputs / clock_hz(self.hub.config)  # the registers have one port to read
            total += times * pipelined(each, score.seconds, softmax, context.seconds, beside, last, sent)
            for timed in (score, context):
                for name, value in timed.energy_pj.items():
                    energy[name] = energy.get(name, 0.0) + turns * value
        append_s = append.seconds * requests
        return AttentionTime(score_s, context_s, append_s, softmax_s, sums_s, total + append_s, energy)

    def kv_bytes(self, model: ModelShape, heads: int, tokens: int) -> int:
        """Bytes that are allotted on a module for one layer of a request of ``tokens`` tokens."""
        if self.spec.features.lazy_allocation:
            chunk = self.spec.allocation.chunk_tokens
            tokens = ceil(tokens, chunk) * chunk
        else:
            tokens = max(self.spec.allocation.reserve_tokens or model.max_context, tokens)
        return int(model.attended(tokens)) * heads * 2 * model.head_dim * 2

    def taken_bytes(self, model: ModelShape, layers: int, requests: int, heads: int, tokens: int) -> int:
        """Bytes that keys and values take of a module. If a head is in one channel, its layers are dealt to the channels
        in turn, and the fullest channel decides."""
        one = self.kv_bytes(model, heads, tokens)
        if self.partition == "token":
            return requests * layers * one
        channels = self.module.channels
        return ceil(requests * layers * heads, channels) * channels * (one // heads)

    def notes(self, model: ModelShape, heads: int, requests: int) -> list[str]:
        """Notes for the reader of a result."""
        out = []
        if self.partition == "head" and requests * heads % self.module.channels:
            out.append(
                f"{requests * heads} heads on {self.module.channels} channels of a module, one channel each: "
                "some channels are idle"
            )
        for unit in self.measured:
            if unit.below_target:
                out.append(f"{unit.unit.name} {unit.below_target}")
        return out

    def room(self) -> str:
        allocation = self.spec.allocation
        if self.spec.features.lazy_allocation:
            return f"allotted {allocation.chunk_tokens} tokens at a time"
        tokens = allocation.reserve_tokens
        return "reserved for " + (f"{tokens} tokens a request" if tokens else "the model's longest context")

    @property
    def block_tokens(self) -> int | None:
        """Tokens of a request that are allotted together; None for the model's longest context."""
        allocation = self.spec.allocation
        return allocation.chunk_tokens if self.spec.features.lazy_allocation else allocation.reserve_tokens

    def reserved(self, model: ModelShape) -> str:
        """The room that each request has from its beginning, for messages."""
        if self.spec.features.lazy_allocation:
            return ""
        return f" (room for {self.block_tokens or model.max_context} tokens is reserved for each request)"

    def assumptions(self) -> dict[str, Assumption]:
        f, hub, spec = self.spec.features, self.hub.config, self.spec
        out = {
            "attention": Assumption(
                "attention: programs of commands on the AiM memory, each operator from closed rows; a module's channels "
                "are in lock step and share one input path",
                "programs",
                spec.module.source,
            ),
            "partition": Assumption(
                "keys by token, values by head dimension over all channels"
                if f.token_parallel
                else "a request's head in one channel, 16 heads at a time",
                self.partition,
                f.source,
            ),
            "buffers": Assumption(
                "two sets of buffers: host and units work beside each other, without changes of mode; a set changes hands "
                "in the time of a change of mode"
                if f.ping_pong
                else "one set of buffers: input, product and result one after the other, with changes of mode between",
                2 if f.ping_pong else 1,
                f.source,
            ),
            "hub": Assumption(
                f"softmax, norms, element-wise work and sums of partial results take the measured clocks of pim-hub at "
                f"{hub.clock_mhz:g} MHz; softmax and sums beside products that do not wait for them",
                {"clock_mhz": hub.clock_mhz},
                spec.hub.source,
            ),
            "activation_functions": Assumption(
                "activation functions are the channels' tables, as results are read", "tables"
            ),
            "allocation": Assumption(
                f"room for keys and values is {self.room()}",
                {"lazy": f.lazy_allocation, "tokens": self.block_tokens},
                spec.allocation.source,
            ),
            "refresh": Assumption(
                "refresh " + ("is" if self.refresh else "is not") + " part of the timing", self.refresh
            ),
        }
        if self.dispatcher is not None:
            clock = self.dispatcher.config.clock_mhz
            out["dispatcher"] = Assumption(
                f"commands are issued as fast as dpa-dispatcher was measured to at {clock:g} MHz; a program a layer and "
                "request",
                {"clock_mhz": clock},
                spec.dispatcher.source,
            )
        return out


class LolPimSystem(System):
    """A system of modules alone.

    Attributes
    ----------
    tp, pp : tensor and pipeline parallelism over modules
    unit : attention on a module
    """

    kind = "lol-pim"
    result = ModuleKeys
    roles = {
        **System.roles,
        "kv_append": Role.ATTENTION_DATA,
        "norms": Role.VECTOR,
        "rotary": Role.VECTOR,
        "residuals": Role.VECTOR,
        "ffn_gate_product": Role.FEED_FORWARD,
        "partial_sums": Role.COMMUNICATION,
    }
    energy_roles = {**System.energy_roles, "row": EnergyRole.BANKS, "cell": EnergyRole.BANKS}
    schema = LolPimSystemSpec
    not_modelled = ("hub", "links", "dram_refresh_and_standby", "host")
    longest = 1 << 24
    part_gb = 64

    def __init__(self, description: Description[LolPimSystemSpec]) -> None:
        super().__init__(description)
        self.spec = spec = description.spec
        self.memory = description.memory(spec.module.memory)
        self.tp, self.pp = spec.parallelism.tensor, spec.parallelism.pipeline
        self.modules = spec.node.nodes * spec.node.modules
        self.unit = AttentionUnit(self.name, spec, self.memory)
        self.module = self.unit.module
        self._layers: dict[Any, dict[str, Cost]] = {}
        self._seconds: dict[tuple[ModelShape, int, int], float] = {}
        self._slowest: dict[tuple[ModelShape, int], tuple[int, int, float]] = {}
        self._chosen: dict[tuple[ModelShape, int, int], int] = {}

    @property
    def devices(self) -> int:
        return self.modules

    def several(self, count: int) -> dict[str, int]:
        """Nodes."""
        return {"node.nodes": count, "parallelism.tensor": count * self.spec.node.modules}

    @property
    def records(self) -> list[Record]:
        return self.unit.records

    def prepare(self, model: ModelShape, records: RecordSource, refresh: bool) -> None:
        """Check the split, and look up the measurements on which times rest. :exc:`MissingRecord` says which have not
        been made."""
        self.check(model)
        self.unit.prepare(records, refresh)
        for known in (self._layers, self._seconds, self._slowest, self._chosen):
            known.clear()

    def executed(self, model: ModelShape, tokens: int) -> list[Executed]:
        """Attention of one head, from the words of its program as the dispatcher issues them. Without a dispatcher, the host
        issues the commands, and no RTL executes them."""
        unit = self.unit
        if not unit.dispatched:
            return [Executed("attention of a head", "commands of the host", "nothing: the RTL has a dispatcher")]
        from ..lolpim.head import Head, dispatched, issued_steps

        _, group = self.heads(model)
        config = LolPimModuleConfig(
            channel=AimChannelConfig(
                buffering="ping-pong" if self.spec.features.ping_pong else "single",
                opsize_bits=unit.hub.config.most_opsize.bit_length(),
            ),
            hub=unit.hub.config.model_copy(update={"channels": self.module.channels}),
        )
        head = Head(config, model.head_dim, group)
        score, context = unit.operators(model, 1, group, tokens)
        timed = [*score.bound.expand(), *replace(context, base=1 << 12).bound.expand()]
        ours, theirs = (
            f"{len(steps)} commands, digest {digest_of(steps)}"
            for steps in (issued_steps(timed), issued_steps(dispatched(head, tokens)))  # type: ignore[arg-type]
        )
        part = f"attention of a head of {model.name} at {tokens} tokens"
        return [Executed(part, ours, theirs, "softmax of the hub")]

    # Shapes ----------------------------------------------------------------------------------------------------------

    def check(self, model: ModelShape) -> None:
        if self.tp * self.pp != self.modules:
            raise ConfigError(
                f"{self.name}: tensor {self.tp} times pipeline {self.pp} must be the {self.modules} modules"
            )
        super().check(model)
        self.check_numbers(model, 2)

    def check_tensor(self, model: ModelShape) -> None:
        if self.tp <= model.heads:
            super().check_tensor(model)
            return
        sharing, here = self.sharing(model), self.spec.node.modules
        if self.tp % model.heads:
            raise ConfigError(
                f"tensor parallelism of {self.tp} is no multiple of the model's {model.heads} attention heads"
            )
        if max(sharing, here) % min(sharing, here):
            raise ConfigError(
                f"tensor parallelism of {self.tp} gives a head {sharing} modules, neither a part nor a "
                f"multiple of a node's {here}"
            )
        if model.head_dim % sharing:
            raise ConfigError(
                f"tensor parallelism of {self.tp} gives a head {sharing} modules, which do not divide its "
                f"{model.head_dim} dimensions"
            )
        model.ffn_share(self.tp)
        self._whole_heads(model)

    def compile(self, model: ModelShape, tokens: int, operator: str | None = None) -> Compiled:
        """Program of a layer for one request of ``tokens`` tokens; ``operator`` names one of its operators."""
        from ..lolpim.compiler import compile_model

        return compile_model(self, model, tokens, operator)

    def lazily_allotted(self) -> bool:
        """Whether rows are allotted while a program runs."""
        return self.spec.features.lazy_allocation

    def dispatching(self) -> dpa_dispatcher.DpaDispatcherConfig | None:
        """The dispatcher that takes the words of a program; None where heads have a channel each."""
        if self.unit.partition != "token":
            return None
        return dpa_dispatcher.PRESETS[self.spec.dispatcher.preset]

    def sharing(self, model: ModelShape) -> int:
        """Modules that share an attention head."""
        return max(self.tp // model.heads, 1)

    def _whole_heads(self, model: ModelShape) -> list[Operator]:
        """Operators of a layer on the modules that share a head, or on one module."""
        return layer_operators(model, 1, 1, self.tp // self.sharing(model))

    def requests(self, model: ModelShape, vectors: int) -> int:
        """Requests of a micro-batch that the fullest module attends for."""
        return ceil(vectors, self.sharing(model))

    def heads(self, model: ModelShape) -> tuple[int, int]:
        """Key/value heads of a request on a module, and queries to each."""
        heads = max(model.kv_heads // self.tp, 1)
        return heads, max(model.heads // self.tp // heads, 1)

    def gemvs(self, model: ModelShape, vectors: int = 1) -> list[tuple[str, Gemv]]:
        """Linear layers of one layer on a module; the matrices lie one after the other."""
        out, base, sharing = [], 0, self.sharing(model)
        for op in self._whole_heads(model):
            if op.kind == "gemm":
                inputs, outputs = (op.k, op.n // sharing) if op.name in _BY_COLUMN else (op.k // sharing, op.n)
                gemv = Gemv(self.module, inputs, outputs, vectors, base, double=self.spec.features.ping_pong)
                out.append((op.name, gemv))
                base += gemv.rows
        return out

    def head_gemv(self, model: ModelShape, vectors: int = 1) -> Gemv:
        return Gemv(
            self.module,
            model.hidden_size,
            -(-model.vocab_size // self.tp),
            vectors,
            double=self.spec.features.ping_pong,
        )

    def weight_bytes(self, model: ModelShape) -> list[int]:
        """Bytes of weights on a module of each stage. Weights take whole rows of all its banks."""
        rows = sum(gemv.rows for _, gemv in self.gemvs(model))
        head = self.head_gemv(model).rows if self.spec.features.lm_head else 0
        return [
            (layers * rows + (head if stage == self.pp - 1 else 0)) * self.module.step_bytes
            for stage, layers in enumerate(self.stages(model))
        ]

    # Links -----------------------------------------------------------------------------------------------------------

    def all_reduce_seconds(self, count: int) -> float:
        """Seconds to sum ``count`` bytes over the modules of a stage, in rings: within a node, then between nodes."""
        node = self.spec.node
        inside = min(self.tp, node.modules)
        between = -(-self.tp // node.modules)
        return (
            2
            * count
            * (
                (inside - 1) / inside / (self.spec.module.interface_gb_s * 1e9)
                + (between - 1) / between / (node.link_gb_s * 1e9)
            )
        )

    def exchange_seconds(self, model: ModelShape, requests: int) -> float:
        """Seconds in which the modules that share a head bring queries, keys and values of ``requests`` requests to each
        of them, and return the results. The modules of a node have their links at the same time; all that goes to other
        nodes takes the node's link."""
        sharing, node = self.sharing(model), self.spec.node
        each = requests * 4 * model.head_dim * model.dtype_bytes
        nodes = max(sharing // node.modules, 1)
        return each * (
            (sharing - 1) / sharing / (self.spec.module.interface_gb_s * 1e9)
            + node.modules * (nodes - 1) / nodes / (node.link_gb_s * 1e9)
        )

    def hop_seconds(self, stage: int, count: int) -> float:
        """Seconds to send ``count`` bytes from a stage to the next. The host's transfer from the last stage to the
        first counts as one too."""
        crosses = (stage + 1) * self.tp % self.spec.node.modules == 0 or self.tp > self.spec.node.modules
        between = crosses and self.spec.node.nodes > 1
        seconds = count / (self.spec.module.interface_gb_s * 1e9)
        return seconds + count / (self.spec.node.link_gb_s * 1e9) if between else seconds

    # Time ------------------------------------------------------------------------------------------------------------

    def layer(self, model: ModelShape, vectors: int, tokens: int) -> dict[str, Cost]:
        """Cost of one layer for a micro-batch of ``vectors`` requests that attend to ``tokens`` each. Energies are of
        all its modules."""
        unit, heads, requests = self.unit, self.heads(model), self.requests(model, vectors)
        attention = unit.attention(model, requests, *heads, int(model.attended(tokens)))
        channels = attention.score + attention.context
        out = dict(self._linear(model, vectors))
        size = vectors * model.hidden_size * model.dtype_bytes
        exposed = attention.total - attention.append - channels
        busy = self.tp / self.sharing(model) * vectors / requests  # modules' worth of work
        energy = {name: value * busy for name, value in attention.energy_pj.items()}
        own = {
            "kv_append": Cost(attention.append),
            "attention_score": Cost(attention.score),
            "softmax": Cost(exposed),
            "attention_context": Cost(attention.context, energy),
        }
        if unit.run_seconds is not None:
            own["dispatch"] = Cost(vectors * unit.run_seconds)
        if self.sharing(model) > 1:
            own["head_exchange"] = Cost(self.exchange_seconds(model, requests))
        reduce = self.all_reduce_seconds(size)
        if self.tp > 1:
            own |= {"attention_allreduce": Cost(reduce), "ffn_allreduce": Cost(reduce)}
        return out | own

    def _linear(self, model: ModelShape, vectors: int) -> dict[str, Cost]:
        key = (model, vectors)
        if key not in self._layers:
            unit = self.unit
            out: dict[str, Cost] = {}
            sums = 0.0
            for name, gemv in self.gemvs(model, vectors):
                timed = unit.time(gemv)
                out[name] = Cost(timed.seconds, {k: v * self.tp for k, v in timed.energy_pj.items()})
                sums += unit.sums_seconds(gemv, self.bias(model, name), timed.seconds)[0]
            out["partial_sums"] = Cost(sums)
            (heads, group), requests = self.heads(model), self.requests(model, vectors)
            out["norms"] = Cost(vectors * self.norms_seconds(model))
            if model.family in ROTARY:
                out["rotary"] = Cost(requests * unit.rotary_seconds(heads * (group + 1) * model.head_dim))
            # The unit's table gives the activation function while results are read; the hub multiplies for a gated
            # one.
            if model.gated:
                out["ffn_gate_product"] = Cost(
                    vectors * unit.hub_seconds("GPR_MUL", model.intermediate_size // self.tp)
                )
            out["residuals"] = Cost(vectors * unit.hub_seconds("EWADD", model.hidden_size, 2))
            self._layers[key] = out
        return self._layers[key]

    def norms_seconds(self, model: ModelShape) -> float:
        """Seconds of a layer's norms for a request, norms of queries and keys included."""
        heads, group = self.heads(model)
        both = 2 * self.unit.norm_seconds(model, model.hidden_size)
        return both + (self.unit.norm_seconds(model, model.head_dim, heads * (group + 1)) if model.qk_norm else 0.0)

    @staticmethod
    def bias(model: ModelShape, name: str) -> bool:
        """Whether a linear layer adds a bias."""
        return {"qkv": model.qkv_bias, "out_projection": model.out_bias}.get(name, model.ffn_bias)

    def ends(self, model: ModelShape, stage: int, vectors: int) -> dict[str, Cost]:
        """Costs of a stage beside its layers."""
        out: dict[str, Cost] = {}
        last = stage == self.pp - 1
        if last and self.spec.features.lm_head:
            gemv = self.head_gemv(model, vectors)
            timed = self.unit.time(gemv)
            seconds = timed.seconds + self.unit.sums_seconds(gemv, False, timed.seconds)[0]
            out["lm_head"] = Cost(seconds, {k: v * self.tp for k, v in timed.energy_pj.items()})
        if self.pp > 1 or last:
            count = vectors * model.hidden_size * model.dtype_bytes
            out["pipeline_transfer"] = Cost(self.hop_seconds(stage, count))
        return out

    def slowest(self, model: ModelShape, vectors: int) -> tuple[int, int, float]:
        """The slowest stage, its number of layers, and its seconds beside them."""
        if (model, vectors) not in self._slowest:
            layer = self.layer_seconds(model, vectors, 1)
            each = [
                (layers, sum(float(cost.time_s) for cost in self.ends(model, stage, vectors).values()))
                for stage, layers in enumerate(self.stages(model))
            ]
            stage = max(range(self.pp), key=lambda s: each[s][0] * layer + each[s][1])
            self._slowest[model, vectors] = stage, *each[stage]
        return self._slowest[model, vectors]

    def layer_seconds(self, model: ModelShape, vectors: int, tokens: int) -> float:
        return kept(
            self._seconds,
            (model, vectors, tokens),
            lambda: sum(float(cost.time_s) for cost in self.layer(model, vectors, tokens).values()),
        )

    def stage_seconds(self, model: ModelShape, vectors: int, tokens: int) -> float:
        """Seconds of the slowest stage with a micro-batch of requests of equal context."""
        _, layers, ends = self.slowest(model, vectors)
        return layers * self.layer_seconds(model, vectors, tokens) + ends

    def micro_batches(self, batch: int) -> list[int]:
        """Sizes of micro-batches that are worth trying for a batch."""
        fixed = self.spec.parallelism.micro_batch
        if fixed is not None:
            return [min(fixed, batch)]
        most = -(-batch // self.pp)
        return sorted({1, most, *(1 << k for k in range(most.bit_length()))} - {0})

    def choose(self, model: ModelShape, batch: int, tokens: int) -> tuple[float, int]:
        """Seconds in which every request of a batch gets a token, and the size of micro-batches that takes the least
        time."""
        return min(
            (max(self.pp, -(-batch // size)) * self.stage_seconds(model, size, tokens), size)
            for size in self.micro_batches(batch)
            if size <= batch
        )

    def step_seconds(self, model: ModelShape, contexts: Any) -> float:
        """Seconds of a decode step in which requests attend to ``contexts`` tokens each, in the order of the pipeline."""
        return float(self.run_seconds(model, np.asarray(contexts), 1)[0])

    def run_seconds(self, model: ModelShape, contexts: np.ndarray, steps: int) -> np.ndarray:
        """Seconds of each of ``steps`` decode steps. In the first, requests attend to ``contexts`` tokens each, in the
        order of the pipeline; contexts grow by one with each step.

        A step of the pipeline takes as long as the longest micro-batch in it. The size of micro-batches is chosen at
        multiples of :data:`GRID` tokens, or at the context of all requests if it is the same.
        """
        first, batch = np.asarray(contexts, np.int64), len(contexts)
        out = np.empty(steps)
        block = max(_BLOCK // batch, 1)
        for begin in range(0, steps, block):
            ahead = np.arange(begin, min(begin + block, steps))
            attended = np.asarray(model.attended(first + ahead[:, None]))
            alike = steps == 1 and attended.min() == attended.max()
            around = (attended[:, 0] if alike else -(-attended.mean(axis=1) // GRID) * GRID).astype(np.int64)
            sizes = (
                np.array([self._size(model, batch, int(tokens)) for tokens in around.tolist()])
                if around[0] != around[-1]
                else np.full(len(ahead), self._size(model, batch, int(around[0])))
            )
            for size in np.unique(sizes).tolist():
                out[ahead[sizes == size]] = self._steps(model, attended[sizes == size], size)
        return out

    def _size(self, model: ModelShape, batch: int, tokens: int) -> int:
        """Size of micro-batches, as :meth:`choose` has it."""
        return kept(self._chosen, (model, batch, tokens), lambda: self.choose(model, batch, tokens)[1])

    def _steps(self, model: ModelShape, attended: np.ndarray, size: int) -> np.ndarray:
        """Seconds of decode steps with micro-batches of ``size``; a row has the tokens that requests attend to in a
        step."""
        (steps, batch), sharing = attended.shape, self.sharing(model)
        _, layers, ends = self.slowest(model, size)
        one = self._layers_seconds(model, size, attended)
        count, requests = -(-batch // size), self.requests(model, size)
        # Micro-batches; requests of a micro-batch are dealt to the modules that share a head.
        padded = np.zeros((steps, count, requests * sharing))
        places = np.arange(batch) // size, np.arange(batch) % size
        padded[:, *places] = one
        # Heads of several requests share a round of channels, which takes as long as the longest; else times add up.
        if self.unit.partition == "head" and self.heads(model)[0] % self.module.channels:
            micro = padded.max(axis=2)
        else:
            held = np.zeros(padded.shape[1:])
            held[places] = 1
            shape = (count, requests, sharing)
            micro = (padded.reshape(steps, *shape).sum(axis=2) / np.maximum(held.reshape(shape).sum(axis=1), 1)).max(
                axis=2
            )
        slots = np.zeros((steps, max(self.pp, count)))
        slots[:, :count] = layers * micro + ends
        if self.pp >= count:
            return np.asarray(self.pp * slots.max(axis=1), float)
        around = np.concatenate((slots, slots[:, : self.pp - 1]), axis=1)
        windows = np.lib.stride_tricks.sliding_window_view(around, self.pp, axis=1)
        return np.asarray(windows.max(axis=2).sum(axis=1), float)

    def _layers_seconds(self, model: ModelShape, size: int, attended: np.ndarray) -> np.ndarray:
        """Seconds of a layer for each of these contexts. The dispatcher's programs and the hub take as long for all tokens of
        a word. Other programs are evaluated at multiples of :data:`GRID` tokens, and their times lie on straight lines."""
        lanes = self.module.lanes
        if self.unit.dispatched or attended.min() == attended.max():
            words, where = np.unique(-(-attended // lanes), return_inverse=True)
            each = [self.layer_seconds(model, size, max(int(word) * lanes, 1)) for word in words]
            return np.array(each)[where].reshape(attended.shape)
        grid = np.arange(int(attended.min()) // GRID, int(attended.max()) // GRID + 2) * GRID
        return np.interp(attended, grid, [self.layer_seconds(model, size, max(int(tokens), 1)) for tokens in grid])

    # Capacity --------------------------------------------------------------------------------------------------------

    def rooms(self, model: ModelShape) -> list[Room]:
        """Memory of the fullest module of each stage."""
        heads, unit = self.heads(model)[0], self.unit

        def room(weights: int, layers: int) -> Room:
            return Room(
                self.module.bytes,
                weights,
                lambda batch, tokens: self.requests(model, batch) * layers * unit.kv_bytes(model, heads, tokens),
                lambda batch, tokens: unit.taken_bytes(model, layers, self.requests(model, batch), heads, tokens),
            )

        return [room(*stage) for stage in zip(self.weight_bytes(model), self.stages(model), strict=True)]

    def lacks(self, model: ModelShape, load: Load, capacity: Capacity) -> str:
        return (
            f"batch {load.batch} at context {load.last} needs "
            f"{capacity.weight_bytes_per_device + capacity.kv_bytes_per_device} bytes on the fullest module, "
            f"{capacity.available_bytes_per_device} are there{self.unit.reserved(model)}"
        )

    def lacks_weights(self, model: ModelShape, load: Load, capacity: Capacity) -> str:
        need, there = capacity.weight_bytes_per_device, capacity.available_bytes_per_device
        return (
            f"the weights need {need} bytes ({need / GIB:.1f} GiB) on the fullest of {self.modules} modules, "
            f"{there} ({there / GIB:.1f} GiB) are there"
        )

    def kv_block_tokens(self, model: ModelShape) -> int:
        """Tokens that are allotted together."""
        return self.unit.block_tokens or model.max_context

    # Results ---------------------------------------------------------------------------------------------------------

    def decode_step(self, model: ModelShape, batch: int, contexts: np.ndarray) -> StepCost:
        """Cost of a decode step. At most :data:`SAMPLES` contexts are evaluated; times and energies between them lie on
        straight lines."""
        first, last = int(contexts[0]), int(contexts[-1])
        chosen = np.unique(np.linspace(first, last, min(len(contexts), SAMPLES)).round().astype(np.int64))
        size = self.choose(model, batch, int(contexts.mean()))[1]
        steps = self.pipeline_steps(batch, size)
        stage, layers, _ = self.slowest(model, size)
        costs = [self.layer(model, size, int(tokens)) for tokens in chosen]

        def over(values: list[float]) -> np.ndarray:
            return np.interp(contexts, chosen, values)

        seconds = {name: steps * layers * over([float(cost[name].time_s) for cost in costs]) for name in costs[0]}
        for name, cost in self.ends(model, stage, size).items():
            seconds[name] = np.full(len(contexts), steps * float(cost.time_s))
        energy: dict[str, np.ndarray] = {}
        for name in costs[0]:
            for component in costs[0][name].energy_pj:
                pj = over([float(cost[name].energy_pj[component]) for cost in costs]) * model.layers * batch / size
                energy[component] = energy.get(component, 0.0) + pj
        return StepCost(seconds, energy, size)

    def pipeline_steps(self, batch: int, size: int) -> int:
        """Steps of the pipeline in which every request gets a token, with micro-batches of ``size``."""
        return max(self.pp, -(-batch // size))

    def details(self, model: ModelShape, batch: int, context: int, cost: StepCost) -> Details:
        size = cost.micro_batch
        heads, group = self.heads(model)
        timed = self.unit.attention(model, 1, heads, group, int(model.attended(context)))
        sharing, own = self.sharing(model), self.requests(model, size)
        notes = self.unit.notes(model, heads, own)
        if size % sharing:
            notes.append(
                f"{size} request{'s' if size > 1 else ''} of a micro-batch on the {sharing} modules that share a "
                f"head: {sharing - size if size < sharing else own * sharing - size} of {sharing} modules "
                + ("have none" if size < sharing else "have one less")
            )
        micro, steps = -(-batch // size), self.pipeline_steps(batch, size)
        if steps > micro:
            notes.append(
                f"{micro} micro-batch{'es' if micro > 1 else ''} in {self.pp} stages: {steps - micro} of {steps} "
                "steps of the pipeline are bubbles"
            )
        return Details(
            attention={
                "memory": self.memory.name,
                "partition": self.unit.partition,
                "ping_pong": self.spec.features.ping_pong,
                "kv_heads_per_module": heads,
                "queries_per_head": group,
                "modules_per_head": sharing,
                "score_us_per_layer": timed.score * 1e6,
                "context_us_per_layer": timed.context * 1e6,
                "softmax_us_per_layer": timed.softmax * 1e6,
                "sums_us_per_layer": timed.sums * 1e6,
                "kv_append_us_per_layer": timed.append * 1e6,
            },
            notes=notes,
        )

    def utilisation_percent(self, model: ModelShape, tokens_per_s: float, context: float) -> float | None:
        nodes = self.modules * self.module.units / NODE_UNITS
        return 100 * utilisation(model, tokens_per_s, nodes, context)

    def assumptions(self) -> dict[str, Assumption]:
        link, lm_head = self.spec.node.link_gb_s, self.spec.features.lm_head
        return self.unit.assumptions() | {
            "gemm": Assumption(
                "linear layers: one input after the other, each read of the weights serves one request", 1
            ),
            "parallelism": Assumption(
                f"{self.tp}-way tensor and {self.pp}-way pipeline parallelism over modules; the host starts all stages "
                "together",
                {"tensor": self.tp, "pipeline": self.pp},
                self.spec.parallelism.source,
            ),
            "links": Assumption(
                "links have bandwidth and no latency; transfers overlap with nothing",
                {"gb_s": link, "latency_us": 0},
                self.spec.node.source,
            ),
            "ends": Assumption(
                "embedding is the host's" + ("" if lm_head else ", and so are the output matrix and its time"),
                {"lm_head": lm_head},
                self.spec.features.source,
            ),
            "left_out": Assumption(
                "decoding in steady state: prefill, sampling, scheduling and host time are not included",
                ("prefill", "sampling", "scheduling", "host time"),
            ),
        }

    # Serving ---------------------------------------------------------------------------------------------------------

    def serving(self, model: ModelShape) -> LolPimServed:
        return LolPimServed(self, model)


class LolPimServed(Served):
    """A system of modules as the serving engine sees it. A prompt goes through the modules token by token."""

    system: LolPimSystem

    def decode_seconds(self, contexts: np.ndarray) -> float:
        return self.system.step_seconds(self.model, contexts)

    def decode_run(self, contexts: np.ndarray, steps: int) -> np.ndarray:
        return self.system.run_seconds(self.model, contexts, steps)

    def prefill_seconds(self, tokens: np.ndarray, past: np.ndarray) -> float:
        """Seconds of a prefill. Tokens follow one after the other, each in a stage of its own."""
        total = 0.0
        for count, before in zip(np.asarray(tokens).tolist(), np.asarray(past).tolist(), strict=True):
            middle = max(int(round((before + (count + 1) / 2) / GRID)) * GRID, 1)
            total += (count + self.system.pp - 1) * self.system.stage_seconds(self.model, 1, middle)
        return total


class LolPimHybridSystem(GpuPlatform):
    """GPUs with AiM modules: attention on the modules, everything else on the GPUs. The modules are shared out evenly."""

    kind = "lol-pim-hybrid"
    result = HybridKeys
    roles = {**GpuPlatform.roles, "module_transfer": Role.ATTENTION_DATA}
    energy_roles = {**GpuPlatform.energy_roles, "row": EnergyRole.BANKS, "cell": EnergyRole.BANKS}
    schema = LolPimHybridSpec
    transfers = ("module_transfer",)
    part_gb = 128
    tells_longest = False

    def __init__(self, description: Description[LolPimHybridSpec]) -> None:
        super().__init__(description)
        self.pim = spec = description.spec
        name, base = self.name, self.spec
        self.unit = AttentionUnit(name, spec, description.memory(spec.module.memory))
        modules = spec.node.nodes * spec.node.modules
        if modules % base.gpu.count:
            raise ConfigError(f"{name}: {modules} modules can't be shared out evenly to {base.gpu.count} GPUs")
        self.modules_per_gpu = modules // base.gpu.count

    def several(self, count: int) -> dict[str, int]:
        """A node of 64 GB and a GPU each."""
        return {"node.nodes": count, "gpu.count": count, "parallelism.tensor": count}

    @property
    def records(self) -> list[Record]:
        return self.unit.records

    def prepare(self, model: ModelShape, records: RecordSource, refresh: bool) -> None:
        self.check_numbers(model, 2)
        self.unit.prepare(records, refresh)

    def share(self, model: ModelShape, batch: int) -> tuple[int, int, int]:
        """Load of the fullest module: requests, key/value heads of each request, queries to a head."""
        heads = max(model.kv_heads // self.tp, 1)
        each = max(heads // self.modules_per_gpu, 1)
        return -(-batch * heads // (each * self.modules_per_gpu)), each, model.heads // self.tp // heads

    def attention(self, model: ModelShape, micro: MicroBatch, contexts: np.ndarray) -> dict[str, Cost]:
        batch = micro.size
        requests, heads, group = self.share(model, batch)
        attended = np.broadcast_to(model.attended(contexts), np.shape(contexts))
        values, where = np.unique(attended, return_inverse=True)
        chosen = values[np.unique(np.linspace(0, len(values) - 1, min(len(values), SAMPLES)).round().astype(int))]
        timed = [self.unit.attention(model, requests, heads, group, int(tokens)) for tokens in chosen]
        count = requests * heads * (2 * group + 2) * model.head_dim * model.dtype_bytes
        busy = batch * max(model.kv_heads // self.tp, 1) / (requests * heads)  # modules' worth of work on a GPU
        energy = {
            name: np.interp(values, chosen, [one.energy_pj[name] for one in timed])[where] * busy * self.tp
            for name in timed[0].energy_pj
        }
        total = np.interp(values, chosen, [one.total for one in timed])[where]
        return {
            "attention": Cost(total, energy),
            "module_transfer": Cost(count / (self.pim.module.interface_gb_s * 1e9)),
        }

    def serving(self, model: ModelShape) -> GpuServed:
        if self.pipelining != "none":
            return GridServed(self, model)
        return HybridServed(self, model)

    def kv_room(self, model: ModelShape) -> int:
        return self.modules_per_gpu * self.unit.module.bytes

    def kv_bytes_per_device(self, model: ModelShape, batch: int, tokens: int, layers: int) -> int:
        requests, heads, _ = self.share(model, batch)
        return self.modules_per_gpu * requests * self.unit.kv_bytes(model, heads, tokens) * layers

    def rooms(self, model: ModelShape) -> list[Room]:
        """Memory of a GPU and its modules. Weights are in the GPUs' memory, keys and values in the modules' memory."""

        def taken(batch: int, tokens: int) -> int:
            requests, heads, _ = self.share(model, batch)
            return self.modules_per_gpu * self.unit.taken_bytes(model, max(self.stages(model)), requests, heads, tokens)

        return [replace(room, taken=taken) for room in super().rooms(model)]

    def lacks(self, model: ModelShape, load: Load, capacity: Capacity) -> str:
        return f"batch {load.batch} at context {load.last} does not fit the modules{self.unit.reserved(model)}"

    def lacks_weights(self, model: ModelShape, load: Load, capacity: Capacity) -> str:
        need, there = capacity.weight_bytes_per_device, capacity.available_bytes_per_device
        return f"the weights need {need} bytes ({need / GIB:.1f} GiB) on the fullest GPU, {there} ({there / GIB:.1f} GiB) are there"

    def kv_block_tokens(self, model: ModelShape) -> int:
        return self.unit.block_tokens or model.max_context

    def details(self, model: ModelShape, batch: int, context: int, cost: StepCost) -> Details:
        requests, heads, group = self.share(model, cost.micro_batch)
        return Details(
            attention={
                "memory": self.unit.memory.name,
                "partition": self.unit.partition,
                "ping_pong": self.pim.features.ping_pong,
                "modules_per_gpu": self.modules_per_gpu,
                "requests_per_module": requests,
                "kv_heads_per_module": heads,
                "queries_per_head": group,
            },
            notes=self.unit.notes(model, heads, requests),
        )

    def assumptions(self) -> dict[str, Assumption]:
        return (
            super().assumptions()
            | self.unit.assumptions()
            | {
                "module_transfer": Assumption(
                    "queries, new keys and values, and results cross each module's link"
                    + ("; attention does not overlap with GEMMs" if self.pipelining == "none" else ""),
                    {"gb_s": self.pim.module.interface_gb_s},
                    self.pim.module.source,
                )
            }
        )


class HybridServed(GpuServed):
    """GPUs with AiM modules.

    A step of requests with unequal contexts takes a mean time and energy over the requests, each counted with its own
    context. Contexts are evaluated at multiples of :data:`GRID` tokens and one token behind them, where further rows
    begin. Values between them lie on straight lines.
    """

    system: LolPimHybridSystem

    def __init__(self, system: LolPimHybridSystem, model: ModelShape) -> None:
        super().__init__(system, model)
        self._known: dict[tuple[int, int], float] = {}
        self._energies: dict[tuple[int, int], dict[str, float]] = {}

    @staticmethod
    def _grid(contexts: np.ndarray, steps: int) -> np.ndarray:
        """Contexts at which attention is evaluated."""
        whole = np.arange(int(contexts.min()) // GRID, (int(contexts.max()) + steps - 1) // GRID + 2) * GRID
        return np.sort(np.concatenate((whole, whole + 1)))

    def _at(self, micro: int, tokens: int) -> float:
        """Seconds of one layer's attention for ``micro`` requests of this context."""

        def seconds() -> float:
            costs = self.system.attention(self.model, MicroBatch(micro, micro * self.pp), np.array([max(tokens, 1)]))
            return sum(float(np.max(cost.time_s)) for cost in costs.values())

        return kept(self._known, (micro, tokens), seconds)

    def _attention(self, micro: int, contexts: np.ndarray, steps: int) -> np.ndarray:
        grid = self._grid(contexts, steps)
        table = [self._at(micro, tokens) for tokens in grid.tolist()]
        return np.array([np.interp(contexts + step, grid, table).mean() for step in range(steps)])

    def decode_energy_pj(self, contexts: np.ndarray, steps: int) -> dict[str, float]:
        grid, batch = self._grid(contexts, steps), len(contexts)
        for tokens in grid.tolist():
            if (batch, tokens) not in self._energies:
                self._energies[batch, tokens] = self._energy_at(batch, max(tokens, 1))
        each = [self._energies[batch, tokens] for tokens in grid.tolist()]
        middle = contexts + (steps - 1) / 2
        return {name: steps * float(np.interp(middle, grid, [one[name] for one in each]).mean()) for name in each[0]}
