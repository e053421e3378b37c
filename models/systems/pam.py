"""GPUs with near-memory attention in three tiers, HBM, DDR and SSD: PAM, and the systems that lack parts of it.

Everything but attention runs on the GPUs. The tiers are shared out evenly: every GPU has its stacks, DIMMs and SSDs,
with the key/value heads and layers that it works on. Tokens of all requests are placed one by one
(``models.pam.placement``). A step activates some of the tokens (``models.pam.sparsity``). Each tier takes the time that
its busiest part needs for them (:mod:`bankside.models.systems.tiered.step`). Then the partial results are merged.
``docs/pam/system.md`` has the formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ...constraints.core.formats import FORMATS
from ...constraints.core.records import Record
from ...constraints.systems import TieredSystemSpec
from ..llm import ModelShape
from ..llm.roles import EnergyRole, Role
from ..pam.placement import TierShape
from ..pam.sparsity import DenseSource, Locality, SparsitySource, fit
from .capabilities import Executed
from .description import Description
from .gpu_serving import GridServed
from .memo import kept
from .pam_keys import TierKeys
from .platform import GpuPlatform, MicroBatch
from .results import Capacity, Cost, MissingRecord, RecordSource
from .room import GIB, Load
from .system import Assumption, Details, StepCost
from .tiered import settings
from .tiered.hardware import Hardware
from .tiered.moves import Migration
from .tiered.node import Node, Step, selected_step
from .tiered.report import TOKEN_ENTRY_BYTES, Report
from .tiered.share import Share
from .tiered.step import LayerTimer, TierTimes
from .timeline import Span

if TYPE_CHECKING:
    from .calibration import Calibration
from .units import executed_step

__all__ = ["TieredPimSystem"]

#: Contexts of a long output that are evaluated; times between them are interpolated.
SAMPLES = 5


class TieredPimSystem(GpuPlatform):
    """See the module."""

    kind = "tiered-pim"
    result = TierKeys
    roles = {**GpuPlatform.roles, "migration_exposed": Role.ATTENTION_DATA}
    energy_roles = {
        **GpuPlatform.energy_roles,
        "reduction": EnergyRole.UNITS,
        "transfers": EnergyRole.LINKS,
        "migration": EnergyRole.LINKS,
    }
    schema = TieredSystemSpec
    transfers = ("attention_kv_append", "attention_merge")
    spread_matters = True
    reads_runs = True

    def __init__(self, description: Description[TieredSystemSpec]) -> None:
        super().__init__(description)
        self.pim = description.spec
        self.hardware = Hardware(description)
        self._refresh = False
        self._steps: dict[tuple[str, int, int], Step] = {}

    # Settings ----------------------------------------------------------------------------------------------------

    def source(self) -> SparsitySource:
        """A fresh source of activations, as the system file says."""
        return settings.source(self.name, self.pim.sparsity, self.description.path)

    def ratios(self, model: ModelShape) -> tuple[float, float]:
        """Target of the scheduler, ``x`` and ``y``: the values of the system file, else the calibrated values of the
        model."""
        return settings.ratios(self.name, self.pim.scheduling, model.name)

    def calibrate(
        self,
        model: ModelShape,
        records: RecordSource,
        *,
        context: int = 738,
        rounds: int = 10,
        progress: Callable[[str], None] = lambda text: None,
    ) -> Calibration:
        """See :func:`bankside.models.systems.calibration.calibrate`."""
        from .calibration import calibrate

        return calibrate(self, model, records, context=context, rounds=rounds, progress=progress)

    def fit_activations(self, trace: str) -> Locality:
        """Parameters of the synthetic source that reproduces a trace. The system's file has the tokens that are always
        active."""
        return fit(trace, sink=self.pim.sparsity.sink, recent=self.pim.sparsity.recent)

    def prepare(self, model: ModelShape, records: RecordSource, refresh: bool) -> None:
        for tier in self.hardware.tiers:
            io = FORMATS[tier.unit.config.format].width // 8
            self.check_numbers(model, io, f"the unit takes {tier.unit.config.format} ({io} bytes)")
        missing = self.hardware.look_up(records, model.head_dim)
        if missing:
            raise MissingRecord(f"{self.name} with {model.name}", missing)
        self._refresh = refresh
        self._steps.clear()

    @property
    def records(self) -> list[Record]:
        units = self.hardware.measured
        return list({record.name: record for unit in units for record in unit.records.values()}.values())

    # Parts with a model ------------------------------------------------------------------------------------------

    def share(self, model: ModelShape) -> Share:
        """The part of a model that one GPU and its tiers work on, for the stage with the most layers."""
        return Share(model, self.tp, max(self.stages(model)))

    def timer(self, model: ModelShape) -> LayerTimer:
        """Times of one layer's attention."""
        return LayerTimer(self.hardware, self.share(model), self.roofline, self._refresh)

    def migration(self, model: ModelShape) -> Migration:
        """Times of moves between tiers."""
        return Migration(self.hardware, self.share(model), self.tier_shapes(model), self.spec.energy.dram_pj_per_byte)

    def node(
        self, model: ModelShape, contexts: np.ndarray, growth: int = 8, source: SparsitySource | None = None
    ) -> Node:
        """The state of a batch whose requests have ``contexts`` tokens, with room for ``growth`` steps. ``source`` stands
        in place of the file's."""
        return Node(
            self.pim,
            self.timer(model),
            self.migration(model),
            source or self.source(),
            contexts,
            growth=growth,
            micro_batches=self.pp,
            ratios=self.ratios(model) if self.pim.features.kv_scheduling else None,
            step_s=lambda batch, layer_s: self.step_s(model, batch, layer_s),
        )

    def tier_shapes(self, model: ModelShape) -> list[TierShape]:
        """Groups of each tier and the tokens that they hold, equal for every GPU. HBM counts without the weights."""
        used = max(self.weight_bytes_per_device(model)) + int(self.spec.memory.reserved_gib_per_gpu * GIB)
        return self.hardware.shapes(self.share(model), used)

    # Room --------------------------------------------------------------------------------------------------------

    def kv_tiers_tokens(self, model: ModelShape) -> dict[str, int]:
        return {shape.name: int(shape.capacity) for shape in self.tier_shapes(model)}

    def kv_capacity_tokens(self, model: ModelShape) -> int:
        return sum(self.kv_tiers_tokens(model).values())

    def kv_room(self, model: ModelShape) -> int:
        return self.kv_capacity_tokens(model) * self.share(model).token_bytes

    def lacks(self, model: ModelShape, load: Load, capacity: Capacity) -> str:
        held, tokens = self.kv_tiers_tokens(model), capacity.kv_bytes_per_device // self.share(model).token_bytes
        missing = tokens - sum(held.values())
        lacks = missing * self.hardware.tiers[-1].token_bytes(self.share(model))
        return (
            f"{load} has {tokens} KV tokens, the tiers hold {', '.join(f'{name} {count}' for name, count in held.items())}; "
            f"the last tier '{[*held][-1]}' lacks {missing} tokens ({lacks / GIB:.1f} GiB on each GPU)"
        )

    def lacks_weights(self, model: ModelShape, load: Load, capacity: Capacity) -> str:
        return (
            f"the weights alone need {capacity.weight_bytes_per_device} bytes of the "
            f"{self.available_bytes_per_device} that a GPU's tier '{self.pim.tiers[0].name}' has"
        )

    def kv_write_seconds(self, model: ModelShape, tokens: int) -> float:
        return tokens * self.kv_token_bytes(model) / self.hardware.tiers[1].link_bytes_per_s

    # Composition -------------------------------------------------------------------------------------------------

    def measure(self, model: ModelShape, contexts: np.ndarray, steps: int = 2) -> Step:
        """The last of ``steps`` steps from a settled state."""
        node = self.node(model, contexts, steps)
        node.settle()
        for _ in range(steps - 1):
            node.step()
        return node.step()

    def step_at(self, model: ModelShape, batch: int, context: int) -> Step:
        """A step of ``batch`` requests of the same context, from the settled state. Results are remembered.

        A single request that has as many tokens as there are slots in :attr:`selected` reads its selections.
        """
        key = (model.name, batch, context)
        if self.selected is not None and (batch, context) == (1, self.selected.room):
            node = self.node(model, np.array([context]), source=DenseSource())
            return selected_step(node, self.selected)
        # The state is settled before the step: a full node has no room for the tokens of two steps.
        room = self.kv_capacity_tokens(model) - batch * int(model.attended(context))
        before = max(context - 1, 1) if room < 2 * batch else context
        return kept(self._steps, key, lambda: self.measure(model, np.full(batch, before, np.int64)), 4096)

    def attention(self, model: ModelShape, micro: MicroBatch, contexts: np.ndarray) -> dict[str, Cost]:
        batch, whole = micro.size, micro.whole
        contexts = np.atleast_1d(contexts)
        chosen = np.unique(np.linspace(0, len(contexts) - 1, min(len(contexts), SAMPLES)).round().astype(int))
        steps = [self.step_at(model, whole, int(contexts[k])) for k in chosen]
        share = batch / whole

        def over(values: list[float]) -> np.ndarray:
            return np.interp(contexts, contexts[chosen], values)

        components = sorted({name for step in steps for name in step.energy_pj})
        # Energies of a step are of one share and all micro-batches; the devices of a stage have one share each.
        energy = {
            name: over([step.energy_pj.get(name, 0.0) for step in steps]) * share * self.tp for name in components
        }
        written = batch * self.kv_token_bytes(model)
        out = {
            "attention": Cost(over([step.attention_s for step in steps]), energy),
            "attention_merge": Cost(over([step.merge_s for step in steps])),
            "attention_kv_append": Cost(
                over([step.append_s for step in steps]),
                {"gpu_dram": np.full(len(contexts), written * self.spec.energy.dram_pj_per_byte * self.tp)},
            ),
        }
        if not self.pim.features.pam_attention:
            out["attention_softmax"] = Cost(over([step.gather_s for step in steps]))
        return out

    def attention_seconds(self, model: ModelShape, contexts: np.ndarray) -> tuple[float, float]:
        step = self.measure(model, self._with_room(model, np.asarray(contexts), 2))
        attended = {
            "attention": Cost(step.attention_s),
            "attention_merge": Cost(step.merge_s),
            "attention_kv_append": Cost(step.append_s),
            "attention_softmax": Cost(step.gather_s),
        }
        return self.coupled_seconds(model, self.micro_batches(len(contexts))[0], attended), self.least_s(model, step)

    def _with_room(self, model: ModelShape, contexts: np.ndarray, steps: int) -> np.ndarray:
        """Contexts before ``steps`` steps that lead to the given ones. They stay unchanged unless the node is too full
        for the tokens that the steps add. Then all are shorter by the same number of tokens: by one token for a step
        without room."""
        free = self.kv_capacity_tokens(model) - steps * len(contexts)
        shorter, least = contexts, 0 if int(model.attended(contexts).sum()) < free else 1
        for less in range(least, int(contexts.max())):
            shorter = np.maximum(contexts - less, 1)
            if int(model.attended(shorter).sum()) <= free:
                break
        return shorter

    def knees(self, model: ModelShape) -> list[int]:
        hbm, ddr = (shape.capacity for shape in self.tier_shapes(model)[:2])
        return [hbm - int(self.pim.placement.reserve_percent / 100 * hbm), hbm, hbm + ddr]

    def least_s(self, model: ModelShape, step: Step) -> float:
        """Least time of a step with its moves. It is the longest of their transfers and, for each tier, of its moves
        plus its attention, which goes first."""
        if not self.pim.features.kv_scheduling:
            return 0.0
        return max(step.migration_s, *(step.moving_s[name] + self.busy_s(model, t) for name, t in step.tiers.items()))

    def stage_costs(
        self, model: ModelShape, micro: MicroBatch, contexts: np.ndarray, attention: bool = True
    ) -> list[dict[str, Cost]]:
        stages = super().stage_costs(model, micro, contexts, attention)
        if not attention or not self.pim.features.kv_scheduling:
            return stages
        batch, whole = micro.size, micro.whole
        contexts = np.atleast_1d(contexts)
        first = self.step_at(model, whole, int(contexts[0]))
        last = self.step_at(model, whole, int(contexts[-1]))
        span = contexts[[0, -1]] if len(contexts) > 1 else np.array([contexts[0], contexts[0] + 1])
        least = np.interp(contexts, span, [self.least_s(model, one) for one in (first, last)])
        energy = np.interp(contexts, span, [first.migration_pj, last.migration_pj]) * batch / whole * self.tp
        for stage in stages:
            busy = sum(np.broadcast_to(cost.time_s, contexts.shape) for cost in stage.values()) * self.pp
            stage["migration_exposed"] = Cost(np.maximum(least - busy, 0) / self.pp, {"migration": energy})
        return stages

    def busy_s(self, model: ModelShape, tier: TierTimes) -> float:
        """Seconds of a step in which a tier attends."""
        return tier.local_s * max(self.stages(model)) * self.pp

    def step_s(self, model: ModelShape, batch: int, layer_s: float) -> float:
        """Seconds of a step whose attention takes ``layer_s`` seconds a layer, without moves."""
        return self.pp * float(np.max(self.linear_seconds(model, batch) + np.array(self.stages(model)) * layer_s))

    # Result ------------------------------------------------------------------------------------------------------

    def executed(self, model: ModelShape, tokens: int) -> list[Executed]:
        """The measured step of each tier's unit."""
        return [executed_step(tier.unit) for tier in self.hardware.tiers]

    def serving(self, model: ModelShape) -> GridServed:
        return GridServed(self, model)

    def layer_spans(self, model: ModelShape, context: int, batch: int, seconds: Mapping[str, float]) -> list[Span]:
        """The tiers work at the same time, each on tracks of its own below attention."""
        spans, step = super().layer_spans(model, context, batch, seconds), self.step_at(model, batch, context)
        whole = next((span for span in spans if span.name == "attention"), None)
        if whole is None or not self.pim.features.pam_attention:
            return spans
        # A step of several stages has each stage's time.
        scale = whole.seconds / step.attention_s
        return [*spans, *(span for name, t in step.tiers.items() for span in t.spans(name, whole.start_s, scale))]

    def details(self, model: ModelShape, batch: int, context: int, cost: StepCost) -> Details:
        step, hardware = self.step_at(model, batch, context), self.hardware
        report, tokens = Report(hardware, self.share(model), step), sum(step.tokens)
        x, y = self.ratios(model) if self.pim.features.kv_scheduling else (None, None)
        attention = {
            "tiers": {
                tier.name: report.tier(tier, shape, self.busy_s(model, step.tiers[tier.name]))
                for tier, shape in zip(hardware.tiers, self.tier_shapes(model), strict=True)
            },
            "micro_batch": cost.micro_batch,
            "refresh": self._refresh,
            "kv_tokens": tokens,
            "active_tokens": sum(step.active),
            "queries_per_instance": model.group,
            "moves": step.moves,
            "moved_percent": 100 * sum(step.moves.values()) / max(tokens, 1),
            "migration_ms": step.migration_s * 1e3,
            "block_table_bytes": tokens * TOKEN_ENTRY_BYTES,
            "x": x,
            "y": y,
            "interface_rate_fraction": {pair: unit.figures.rate_fraction for pair, unit in hardware.interfaces.items()},
            "reduction": report.reduction(),
        }
        return Details(
            area=report.areas[hardware.tiers[0].name], unit=report.unit(), attention=attention, notes=report.notes()
        )

    def assumptions(self) -> dict[str, Assumption]:
        sparse, features, scheduling = self.pim.sparsity, self.pim.features, self.pim.scheduling
        units = {tier.name: tier.unit for tier in self.hardware.tiers}
        return super().assumptions() | {
            "attention": Assumption(
                "attention of a tier takes the time of its busiest part; visits to rows at the timing engine's rate, row "
                "after row; banks of a group open rows together and read their own columns",
                "busiest part",
            ),
            "contexts": Assumption(
                "all requests have the same context; a token's K and V of all layers and heads move together and lie at "
                "the same group and slot in every share",
                "equal",
            ),
            "placement": Assumption(
                "the step begins from the settled state of the scheduler"
                if features.kv_scheduling
                else "tokens stay where they were placed: the fastest tier with space",
                "settled" if features.kv_scheduling else "fixed",
                features.source,
            ),
            "activation": Assumption(
                "activation: the slots of each head's selections; a step takes the mean of heads and layers", "selected"
            )
            if self.selected is not None
            else Assumption(
                f"activation: {sparse.mode}"
                + (
                    f", {sparse.compression:g} times compression"
                    if sparse.mode == "synthetic"
                    else f", {sparse.method} with {sparse.budget} tokens a head"
                    if sparse.mode == "method"
                    else ""
                ),
                {"mode": sparse.mode, "compression": sparse.compression},
                sparse.source,
            ),
            "rates": Assumption(
                "a tier attends at the rate of the timing engine and of its units"
                if self.pim.rate == "timing"
                else "a tier attends at the rate that the paper states for its devices",
                self.pim.rate,
            ),
            "transfers": Assumption(
                "queries reach a tier before its units start; results leave when they are done", "before and after"
            ),
            "moves": Assumption(
                "moves between tiers run beside the step, in the time for which their tiers do not attend, and count where "
                "they need more",
                "beside the step",
                scheduling.source,
            ),
            "queries": Assumption(
                "a unit takes one query per pass, so the queries of a group read the same K and V one after the other"
                if all(unit.config.queries == 1 for unit in units.values())
                else "a pass over K and V serves as many queries of a group as the unit and the reduction unit of its tier "
                "take; the unit takes a clock for each query and beat",
                {name: unit.config.queries for name, unit in units.items()},
            ),
            "unit_clock": Assumption(
                "the units run at their target clocks; cycles per beat, softmax and drain are measured on their RTL",
                {name: unit.config.clock_mhz for name, unit in units.items()},
            ),
        }
