"""GPUs with near-memory attention in three tiers, HBM, DDR and SSD: PAM, and the systems that lack parts of it.

Everything but attention runs on the GPUs. The tiers are shared out evenly: every GPU has its stacks, DIMMs and SSDs,
with the key/value heads and layers that it works on. Tokens of all requests are placed one by one
(``models.pam.placement``). A step activates some of the tokens (``models.pam.sparsity``). Each tier takes the time that
its busiest part needs for them (``models.pam.tiers``). Then the partial results are merged. ``docs/pam/system.md`` has
the formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...constraints.core.document import load
from ...constraints.core.errors import ConfigError, nearest
from ...constraints.core.formats import FORMATS
from ...constraints.core.records import Record
from ...constraints.memory import available
from ...constraints.pam import interface as pam_interface
from ...constraints.pam import pu as pam_pu
from ...constraints.pam import ru as pam_ru
from ...constraints.pam.interface import PamInterfaceConfig
from ...constraints.pam.layout import TIERS, TierFormat, slot_bytes
from ...constraints.pam.pu import PamPuConfig
from ...constraints.pam.ru import PamRuConfig
from ...constraints.systems import LOCALITIES, RATIOS, LocalityTable, RatioTable, TieredSystemSpec
from ..cost import DieArea, die_area, logic_area
from ..llm import ModelShape
from ..pam.placement import KvTable, Moves, TierShape
from ..pam.program import mac_interval
from ..pam.sparsity import Activation, DenseSource, Locality, ReplaySource, SparsitySource, SyntheticSource, fit
from ..pam.tiers import Flash, NearBank, TierWork, append_cycles, exchange_cycles, page_cycles, together
from .description import Description
from .gpu_serving import GridServed
from .links import LinkTree
from .pam_keys import TierKeys
from .platform import GpuPlatform, MicroBatch
from .reads import move_pj_per_byte, read_pj
from .results import Capacity, Cost, MissingRecord, RecordSource
from .system import GIB, Assumption, Details, StepCost
from .timeline import Span
from .units import Group, InterfaceFigures, MeasuredUnit, ProcessingFigures, ReductionFigures, clock_hz, partial_bytes

if TYPE_CHECKING:
    from ..sparse.recorded import StepSelection
    from .calibration import Calibration

__all__ = ["Node", "Step", "TieredPimSystem", "TierTimes"]

#: Memory with which units are measured by default.
_MEASURED = pam_pu.UNIT.workload.model_fields["memory"].default

#: Contexts of a long output that are evaluated; times between them are interpolated.
SAMPLES = 5


@dataclass(frozen=True)
class TierTimes:
    """One layer's attention of a micro-batch in one tier, in seconds.

    Attributes
    ----------
    query_s : queries to the tier
    local_s : units, from rows opened to partial results
    reduce_s : reduction in the arrays, transfer to the place where a device's results come together, merge there
        (overlaps with ``local_s``)
    return_s : results to the GPU's side
    scores_s : scores to the GPU and probabilities back, where the tier has no softmax
    total_s : sum of these times, with overlapping times counted once
    """

    query_s: float = 0.0
    local_s: float = 0.0
    reduce_s: float = 0.0
    return_s: float = 0.0
    scores_s: float = 0.0
    first_s: float = 0.0
    second_s: float = 0.0
    total_s: float = 0.0
    energy_pj: Mapping[str, float] = field(default_factory=dict)
    work: TierWork = TierWork()


@dataclass(frozen=True)
class Step:
    """One decode step of the whole batch.

    Attributes
    ----------
    tiers : times of one layer by tier, for the slowest micro-batch
    attention_s, merge_s, append_s, gather_s : :class:`float`
        Attention of one layer: time of the slowest tier, merge of the tiers, writing new tokens' K and V, softmax on
        the GPU.
    moves : swaps by pair of tiers
    migration_s : time of the transfers between tiers, beside the step
    moving_s : mean time by tier for which these transfers occupy a bank group or channel
    energy_pj : energy of one layer, all micro-batches and one share, by component
    migration_pj : energy of a step's transfers, of one share
    active, tokens : tokens by tier
    """

    tiers: dict[str, TierTimes]
    attention_s: float
    merge_s: float
    append_s: float
    gather_s: float
    moves: dict[str, int]
    migration_s: float
    moving_s: dict[str, float]
    energy_pj: dict[str, float]
    migration_pj: float
    active: list[int]
    tokens: list[int]


class Node:
    """The state of one batch: block table, source of activations, and its decode steps.

    Parameters
    ----------
    system, model
    contexts : integer array
        Tokens of each request before the first step, at least 1.
    growth : :class:`int`
        Steps for whose tokens there must be room.
    """

    def __init__(
        self,
        system: TieredPimSystem,
        model: ModelShape,
        contexts: np.ndarray,
        growth: int = 8,
        source: SparsitySource | None = None,
    ) -> None:
        self.system, self.model = system, model
        place, features = system.pim.placement, system.pim.features
        self.table = KvTable(
            system.tier_shapes(model),
            window=place.window,
            run_tokens=place.run_tokens,
            mapping="activation" if features.kv_mapping else place.unmapped,
        )
        self.source = source or system.source()
        attended = np.asarray(model.attended(np.asarray(contexts, np.int64)), np.int64)
        # New tokens find room in the first tier, as they would with requests that come and go.
        first = self.table.tiers[0].capacity
        spare = max(int(place.reserve_percent / 100 * first), min(growth * len(attended), first // 4))
        self.requests = self.table.add(attended, attended + growth, spare)
        self.source.added(self.table, self.requests)
        self.source.settle(self.table)

    def settle(self) -> None:
        """Move tokens until Algorithm 2 has nothing left to do. Many steps with their limited budget would reach the
        same state."""
        if self.system.pim.features.kv_scheduling and self.source.weighs:
            x, y = self.system.ratios(self.model)
            self.table.schedule(x, y, self.table.tokens)

    def step(self) -> Step:
        """One decode step: activation, importance, attention in every tier, moves, the new tokens."""
        table, system = self.table, self.system
        activation = self.source.step(table)
        self._score(activation)
        table.record(activation.active)
        timed = system.time_step(self.model, table, activation.active, self.requests)
        active = np.bincount(table.tier[activation.active], minlength=3).tolist()
        moves: dict[str, Moves] = {}
        if system.pim.features.kv_scheduling:
            x, y = system.ratios(self.model)
            budget = int(system.pim.scheduling.budget_percent / 100 * table.tokens)
            moves = table.schedule(x, y, budget, system.move_limits(self.model, len(self.requests), timed))
        if np.all(table.length[self.requests] < table.room[self.requests]):
            self.source.appended(table, table.append(self.requests))
        migration_s, migration_pj = system.migration(self.model, {pair: len(m) for pair, m in moves.items()})
        return Step(
            moves={pair: len(m) for pair, m in moves.items()},
            migration_s=migration_s,
            migration_pj=migration_pj,
            moving_s=system.moving(self.model, table, moves),
            active=active,
            tokens=table.used(),
            **timed,
        )

    def time_only(self) -> dict[str, TierTimes]:
        """Times of the tiers for the next activation; nothing moves."""
        activation = self.source.step(self.table)
        return self.system.time_step(self.model, self.table, activation.active, self.requests)["tiers"]

    def _score(self, activation: Activation) -> None:
        """Equation 7: importance = lambda score + (1 - lambda) importance before."""
        if not self.source.weighs:
            return
        decay = np.float32(self.system.pim.scheduling.decay)
        importance = self.table.importance[: self.table.size]
        importance *= 1 - decay
        importance[activation.active] += decay if activation.scores is None else decay * activation.scores


class TieredPimSystem(GpuPlatform):
    """See the module."""

    kind = "tiered-pim"
    result = TierKeys
    schema = TieredSystemSpec
    transfers = ("attention_kv_append", "attention_merge")
    spread_matters = True
    reads_runs = True

    def __init__(self, description: Description[TieredSystemSpec]) -> None:
        super().__init__(description)
        self.pim = spec = description.spec
        name = self.name
        self.memories = [description.memory(tier.memory, spec.power_limit) for tier in spec.tiers]
        self.layouts: list[TierFormat] = []
        for tier, memory in zip(spec.tiers, self.memories, strict=True):
            if spec.links.at(tier.name) is None and tier is not spec.tiers[0]:
                raise ConfigError(
                    f"{name}: tier '{tier.name}' is not the GPU's own memory and needs a link of its name in "
                    "links.edges"
                )
            layout = TIERS[tier.layout]
            if layout.groups % tier.lockstep:
                raise ConfigError(
                    f"{name}: tier '{tier.name}': lockstep {tier.lockstep} does not divide its "
                    f"{layout.groups} groups of a channel"
                )
            layout = together(layout, tier.lockstep).model_copy(update={"channels": tier.channels_per_device})
            if (layout.row_bytes, layout.rows, layout.access_bytes) != (
                memory.row_bytes,
                memory.rows,
                memory.column_bytes,
            ):
                raise ConfigError(
                    f"{name}: tier '{tier.name}': {memory.name} has {memory.rows} rows of {memory.row_bytes} "
                    f"bytes in columns of {memory.column_bytes}, its layout {layout.rows} of "
                    f"{layout.row_bytes} in columns of {layout.access_bytes}"
                )
            self.layouts.append(layout)
        self.links = LinkTree(spec.links, name)
        self.links.bytes_per_s("gpu")  # there must be one
        if len({tier.name for tier in spec.tiers}) != len(spec.tiers):
            raise ConfigError(f"{name}: two tiers have the same name")
        if [tier.layout == "ssd" for tier in spec.tiers] != [False, False, True]:
            raise ConfigError(f"{name}: tiers must be two of DRAM and then one with the layout ssd")
        self.units = [
            MeasuredUnit(
                f"{name}: tier '{tier.name}'",
                pam_pu.UNIT,
                ProcessingFigures,
                tier.unit.preset,
                tier.unit.settings,
                synth="required",
            )
            for tier in spec.tiers
        ]
        self.reducers: list[MeasuredUnit[PamRuConfig, ReductionFigures]] = []
        #: Interface of each direction, by preset: the sending and the receiving tier.
        self.interfaces: dict[str, MeasuredUnit[PamInterfaceConfig, InterfaceFigures]] = {}
        for tier in spec.tiers if spec.features.pam_attention else ():
            if tier.reduction_preset is None:
                raise ConfigError(f"{name}: tier '{tier.name}' merges partial results and needs a reduction_preset")
            self.reducers.append(
                MeasuredUnit(
                    f"{name}: tier '{tier.name}'",
                    pam_ru.UNIT,
                    ReductionFigures,
                    tier.reduction_preset,
                    tier.reduction_settings,
                    synth="wanted",
                )
            )
        for tier in spec.tiers if spec.features.kv_scheduling else ():
            if tier.interface is None:
                raise ConfigError(f"{name}: tokens of tier '{tier.name}' move: it needs an interface")
            for preset in tier.interface.presets:
                self.interfaces[preset] = MeasuredUnit(
                    f"{name}: tier '{tier.name}'", pam_interface.UNIT, InterfaceFigures, preset, synth="wanted"
                )
        layouts = [tier.layout for tier in spec.tiers]
        for first, second in zip(layouts, layouts[1:], strict=False) if spec.features.kv_scheduling else ():
            for preset in (f"{first}-{second}", f"{second}-{first}"):
                if preset not in self.interfaces:
                    raise ConfigError(f"{name}: no tier has the interface {preset}")
        self._refresh = False
        self._steps: dict[tuple[str, int, int], Step] = {}
        self._ratio_table: RatioTable | None = None

    # Settings ----------------------------------------------------------------------------------------------------

    def source(self) -> SparsitySource:
        """A fresh source of activations, as the system file says."""
        chosen = self.pim.sparsity
        if chosen.mode == "dense":
            return DenseSource()
        if chosen.mode == "replay":
            if chosen.trace is None:
                raise ConfigError(
                    f"{self.name}: sparsity.mode 'replay' needs sparsity.trace, a file of attention traces"
                )
            path = Path(chosen.trace)
            return ReplaySource(path if path.exists() else self.description.path(chosen.trace), chosen.stretch)
        if chosen.mode == "method":
            return self._chosen()
        spread, keep = chosen.spread, chosen.keep
        if chosen.locality is not None:
            known = load(LOCALITIES, LocalityTable, "a table of localities").localities
            if chosen.locality not in known:
                raise ConfigError(f"{self.name}: sparsity.locality: {nearest('locality', chosen.locality, known)}")
            spread, keep = known[chosen.locality].spread, known[chosen.locality].keep
        return SyntheticSource(Locality(chosen.compression, spread, keep, chosen.sink, chosen.recent))

    def node(self, model: ModelShape, contexts: np.ndarray, growth: int = 8) -> Node:
        """The state of a batch whose requests have ``contexts`` tokens, with room for ``growth`` steps."""
        return Node(self, model, contexts, growth)

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

    def _chosen(self) -> SparsitySource:
        """Activations of a method on the keys of a capture."""
        from ..llm.captured import read_capture
        from ..pam.chosen import Chosen
        from ..sparse import make_method
        from ..sparse.source import Captured

        chosen = self.pim.sparsity
        if chosen.method is None or chosen.capture is None:
            lacking = (
                "method, a method of sparse attention"
                if chosen.method is None
                else "capture, a folder of bankside capture"
            )
            raise ConfigError(f"{self.name}: sparsity.mode 'method' needs sparsity.{lacking}")
        path = Path(chosen.capture)
        folder = path if path.exists() else self.description.path(chosen.capture)
        return Chosen(
            make_method(chosen.method, chosen.budget),
            [Captured(folder, number) for number in range(read_capture(folder).shape.layers)],
        )

    def ratios(self, model: ModelShape) -> tuple[float, float]:
        """Target of the scheduler, ``x`` and ``y``: the values of the system file, else the calibrated values of the
        model."""
        chosen = self.pim.scheduling
        if chosen.x is not None and chosen.y is not None:
            return chosen.x, chosen.y
        if chosen.x is not None or chosen.y is not None:
            raise ConfigError(f"{self.name}: scheduling.x and scheduling.y must be given together")
        if self._ratio_table is None:
            self._ratio_table = load(RATIOS, RatioTable, "a table of ratios")
        known = self._ratio_table.models
        found = known.get(model.name) or known.get("default")
        if found is None:
            raise ConfigError(
                f"{RATIOS.name} has no ratios for {model.name} and no default; run `bankside calibrate pam "
                f"--model {model.name}`"
            )
        return found.x, found.y

    def prepare(self, model: ModelShape, records: RecordSource, refresh: bool) -> None:
        missing = []
        for tier, unit in zip(self.pim.tiers, self.units, strict=True):
            io = FORMATS[unit.config.format].width // 8
            if model.dtype_bytes != io:
                raise ConfigError(
                    f"{self.name}: the unit takes {unit.config.format} ({io} bytes), {model.name} has "
                    f"{model.dtype} ({model.dtype_bytes} bytes)"
                )
            # The unit beside a bank is measured with its bank's memory, the unit of an SSD's controller with the default.
            own = tier.layout != "ssd" and tier.memory in set(available()) - {_MEASURED}
            missing += unit.look_up(records, head_dim=model.head_dim, **({"memory": tier.memory} if own else {}))
        for reducer in self.reducers:
            missing += reducer.look_up(records, head_dim=model.head_dim)
        for interface in self.interfaces.values():
            missing += interface.look_up(records)
        if missing:
            raise MissingRecord(f"{self.name} with {model.name}", missing)
        self._refresh = refresh
        self._steps.clear()

    @property
    def records(self) -> list[Record]:
        units: list[MeasuredUnit[Any, Any]] = [*self.units, *self.reducers, *self.interfaces.values()]
        return list({record.name: record for unit in units for record in unit.records.values()}.values())

    def _rate_fraction(self, sender: int, receiver: int) -> float:
        """Fraction of the slower memory's own rate that the interface from one tier to another reaches."""
        names = [tier.layout for tier in self.pim.tiers]
        return self.interfaces[f"{names[sender]}-{names[receiver]}"].figures.rate_fraction

    # Capacity ----------------------------------------------------------------------------------------------------

    def heads_per_gpu(self, model: ModelShape) -> int:
        return max(model.kv_heads // self.tp, 1)

    def head_token_bytes(self, model: ModelShape) -> int:
        """Bytes of K and V of a token, for one head and layer."""
        return 2 * model.head_dim * model.dtype_bytes

    def share_token_bytes(self, model: ModelShape) -> int:
        """Bytes of K and V of a token on one GPU's share, for the stage with the most layers."""
        return self.head_token_bytes(model) * self.heads_per_gpu(model) * max(self.stages(model))

    def pages(self, model: ModelShape) -> tuple[int, int, int]:
        """How a token's K and V of one layer and share lie in flash: number of pages, heads and reserved bytes of each
        page. With ``page_order`` ``token`` a page holds all heads of the share, as far as they fit."""
        tier, size, heads = self.pim.tiers[2], self.head_token_bytes(model), self.heads_per_gpu(model)
        if tier.page_order == "head":
            return heads, 1, size
        pages = -(-heads * size // self.layouts[2].row_bytes)
        together = -(-heads // pages)
        return pages, together, slot_bytes(size * together)

    def tier_token_bytes(self, model: ModelShape) -> list[int]:
        """Bytes that a token takes in each tier of a share."""
        pages, _, room = self.pages(model)
        return [*[self.share_token_bytes(model)] * 2, pages * room * max(self.stages(model))]

    def tier_bytes(self, model: ModelShape) -> list[int]:
        """Bytes of each tier of a share that can hold KV. HBM counts without the weights."""
        out = []
        for number, (tier, memory) in enumerate(zip(self.pim.tiers, self.memories, strict=True)):
            whole = tier.devices_per_gpu * tier.channels_per_device * memory.banks * memory.rows * memory.row_bytes
            whole -= int(tier.reserved_gib * GIB)
            if number == 0:
                whole -= max(self.weight_bytes_per_device(model)) + int(self.spec.memory.reserved_gib_per_gpu * GIB)
            out.append(max(whole, 0))
        return out

    def tier_shapes(self, model: ModelShape) -> list[TierShape]:
        """Groups of each tier and the tokens that they hold; equal for every GPU."""
        out = []
        for tier, layout, count, size in zip(
            self.pim.tiers, self.layouts, self.tier_bytes(model), self.tier_token_bytes(model), strict=True
        ):
            groups = layout.groups * tier.channels_per_device
            slots = count // (tier.devices_per_gpu * groups) // size
            out.append(TierShape(tier.name, tier.devices_per_gpu, groups, slots))
        return out

    def capacity(self, model: ModelShape, context: int, batch: int, output_tokens: int) -> Capacity:
        shapes, size = self.tier_shapes(model), self.share_token_bytes(model)
        weights = max(self.weight_bytes_per_device(model))
        tokens = sum(shape.capacity for shape in shapes)
        last = context + output_tokens - 1
        return Capacity(
            weights + tokens * size,
            weights,
            batch * int(model.attended(last)) * size,
            tokens // int(model.attended(context)),
            tokens // int(model.attended(last)),
        )

    def kv_capacity_tokens(self, model: ModelShape) -> int:
        return sum(shape.capacity for shape in self.tier_shapes(model))

    def kv_tiers_tokens(self, model: ModelShape) -> dict[str, int]:
        return {shape.name: int(shape.capacity) for shape in self.tier_shapes(model)}

    def too_large(
        self, model: ModelShape, context: int, batch: int, output_tokens: int, capacity: Capacity, need: int
    ) -> str:
        shapes, size = self.tier_shapes(model), self.share_token_bytes(model)
        available = self.available_bytes_per_device
        if capacity.weight_bytes_per_device > available:
            return (
                f"{model.name} on {self.name}: the weights alone need {capacity.weight_bytes_per_device} bytes of the "
                f"{available} that a GPU's tier '{shapes[0].name}' has"
            )
        where = f"context {context}" + (f" plus {output_tokens} output tokens" if output_tokens > 1 else "")
        tokens = capacity.kv_bytes_per_device // size
        held = ", ".join(f"{shape.name} {shape.capacity}" for shape in shapes)
        missing = tokens - sum(shape.capacity for shape in shapes)
        lacks = missing * self.tier_token_bytes(model)[-1]
        text = (
            f"{model.name} on {self.name}: batch {batch} at {where} has {tokens} KV tokens, the tiers hold {held}; "
            f"the last tier '{shapes[-1].name}' lacks {missing} tokens ({lacks / GIB:.1f} GiB on each GPU)"
        )
        most = capacity.largest_batch_with_output
        return (
            f"{text}; the largest batch that fits is {most}"
            if most
            else f"{text}; not even one request fits, the longest context that does has {sum(s.capacity for s in shapes)} tokens"
        )

    # One step ----------------------------------------------------------------------------------------------------

    def _parts(self, model: ModelShape) -> list[NearBank | Flash]:
        out: list[NearBank | Flash] = []
        size = self.head_token_bytes(model)
        for number, (tier, layout, memory, unit) in enumerate(
            zip(self.pim.tiers, self.layouts, self.memories, self.units, strict=True)
        ):
            if tier.layout == "ssd":
                _, together, room = self.pages(model)
                layout = layout.model_copy(update={"interleave": layout.row_bytes // room})
                out.append(
                    Flash(
                        layout,
                        memory,
                        tier.devices_per_gpu * tier.channels_per_device,
                        tier.devices_per_gpu,
                        size * together,
                        room,
                    )
                )
                continue
            partial_s = step_s = 0.0
            group = self.group(number, model)
            if self.reducers:
                reducer = self.reducers[number]
                partial_s = reducer.figures.partial_s(reducer.config, model.head_dim)
                step_s = reducer.figures.step_s(reducer.config) * group.reads_per_query
            # Without PAM's attention the softmax is not the unit's.
            gap = group.gap_cycles if self.pim.features.pam_attention else 0
            out.append(
                NearBank(
                    unit.config,
                    layout,
                    memory,
                    tier.devices_per_gpu,
                    model.head_dim,
                    burst_cycles=group.burst_cycles,
                    gap_cycles=gap,
                    partial_s=partial_s,
                    step_s=step_s,
                    read_pj=read_pj(memory, self.pim.energy.boundary, self.memories[0]),
                    refresh=self._refresh and memory.refresh is not None,
                )
            )
        return out

    def time_step(self, model: ModelShape, table: KvTable, active: np.ndarray, requests: np.ndarray) -> dict[str, Any]:
        """Times of one layer, of the slowest micro-batch, and the energy of all micro-batches."""
        parts = self._parts(model)
        owner, tier = table.owners()[active], table.tier[active]
        # Requests are dealt out to micro-batches in turn. So each has an equal part of the early requests, which came
        # to the faster tiers.
        number = min(self.pp, len(requests))
        turn = np.zeros(int(requests.max()) + 1, np.int32)
        turn[requests] = np.arange(len(requests)) % number
        best: dict[str, Any] | None = None
        energy: dict[str, float] = {}
        for which in range(number):
            micro, chosen = requests[which::number], turn[owner] == which
            timed = self._micro(model, parts, table, active[chosen], owner[chosen], tier[chosen], micro)
            for component, pj in timed.pop("energy_pj").items():
                energy[component] = energy.get(component, 0.0) + pj
            if best is None or sum(timed[k] for k in ("attention_s", "merge_s", "append_s", "gather_s")) > sum(
                best[k] for k in ("attention_s", "merge_s", "append_s", "gather_s")
            ):
                best = timed
        assert best is not None
        return {**best, "energy_pj": energy}

    def _micro(
        self,
        model: ModelShape,
        parts: list[NearBank | Flash],
        table: KvTable,
        active: np.ndarray,
        owner: np.ndarray,
        tier: np.ndarray,
        micro: np.ndarray,
    ) -> dict[str, Any]:
        times: dict[str, TierTimes] = {}
        energy: dict[str, float] = {}
        new = table.start[micro] + table.length[micro] - 1
        new_tier = table.tier[new]
        append_s = 0.0
        for number, part in enumerate(parts):
            mine = tier == number
            places = active[mine]
            work = part.work(owner[mine], table.group[places], table.slot[places])
            timed = self._tier(number, model, part, work)
            times[self.pim.tiers[number].name] = timed
            for component, pj in timed.energy_pj.items():
                energy[component] = energy.get(component, 0.0) + pj
            append_s = max(append_s, self._append(number, model, table.group[new[new_tier == number]]))
        gather_s = 0.0
        if self.pim.features.pam_attention:
            attention_s = max(t.total_s for t in times.values())
            # The last merge, of the devices' partial results, in the first tier's reduction units.
            partials = sum(t.work.device_pairs for t in times.values())
            first = self.pim.tiers[0]
            merge_s = self._merge(
                0, model, partials, len(micro), first.device_reduction_units * first.devices_per_gpu, last=True
            )
        else:
            attention_s = max(t.first_s for t in times.values()) + max(t.second_s for t in times.values())
            tokens = sum(t.work.tokens for t in times.values()) * self._queries(model)
            outputs = sum(t.work.group_pairs for t in times.values()) * self._queries(model)
            gather_s = self.roofline.memory_time(2 * tokens * model.dtype_bytes)
            merge_s = self.roofline.memory_time(outputs * model.head_dim * model.dtype_bytes)
        return {
            "tiers": times,
            "attention_s": attention_s,
            "merge_s": merge_s,
            "append_s": append_s,
            "gather_s": gather_s,
            "energy_pj": energy,
        }

    def _merge(
        self, number: int, model: ModelShape, partials: int, requests: int, units: int, last: bool = False
    ) -> float:
        """Seconds of ``units`` reduction units of a tier to merge the partial results of each query of ``requests``
        requests. ``partials`` counts the partial results of all requests for one query each. One unit does a whole
        merge, of all queries of a pass."""
        if not requests:
            return 0.0
        reducer, group = self.reducers[number], self.group(number, model)
        rounds = -(-requests * self.heads_per_gpu(model) * group.passes // units)
        return reducer.figures.merge_s(
            reducer.config, model.head_dim, partials / requests * rounds, rounds, last, queries=group.together
        )

    def group(self, number: int, model: ModelShape) -> Group:
        """How a tier takes the queries of a key/value head. A pass over K and V has no more than its units take, nor more
        than its reduction units take."""
        unit = self.units[number]
        return unit.figures.group(
            unit.config, self.memories[number], self.queries_per_head(model), self._merged(number)
        )

    def _merged(self, number: int) -> int | None:
        """Most queries whose results a tier's reduction units take in a step; None without reduction units."""
        return self.reducers[number].config.queries if self.reducers else None

    def _queries(self, model: ModelShape) -> int:
        """Queries of a share that read the keys and values of a token."""
        return model.heads // self.tp

    def _channel_rate(self, number: int) -> float:
        """Bytes per second of one channel's own interface. Channels of flash are controllers, reached by their link."""
        return self.memories[number].channel_bytes_per_s * self.spec.gpu.memory_utilisation

    def _link(self, number: int) -> tuple[float, float]:
        """Bytes per second and latency of the path between a share's GPU and a tier. The GPU's own memory has an
        infinite rate."""
        tier = self.pim.tiers[number]
        if tier.name not in self.links.edges:
            return float("inf"), 0.0
        return self.links.rate((tier.name, 0), ("gpu", 0)), self.links.latency_s

    def _tier(self, number: int, model: ModelShape, part: NearBank | Flash, work: TierWork) -> TierTimes:
        """Attention of a micro-batch in one tier, one layer."""
        if not work.tokens:
            return TierTimes()
        tier, unit, features = self.pim.tiers[number], self.units[number], self.pim.features
        queries, dim, size = self._queries(model), model.head_dim, model.dtype_bytes
        passes = self.heads_per_gpu(model) * self.group(number, model).passes
        partial = partial_bytes(unit.config, dim)
        link, latency = self._link(number)
        channel = self._channel_rate(number) if isinstance(part, NearBank) else float("inf")
        query_s = latency + queries * dim * size * max(work.busiest_channel_pairs / channel, work.requests / link)
        # K and V
        scale = passes if isinstance(part, NearBank) else self.pages(model)[0]
        key_s, value_s = scale * work.key_s, scale * work.value_s
        devices = tier.devices_per_gpu
        if isinstance(part, Flash):
            # Units take the page from the controller's buffer: K and V of every active token, for every query.
            units = (tier.units_per_device or 1) * devices
            beats = 2 * dim / unit.config.lanes * work.tokens * queries
            rate = unit.figures.beats_per_clock * unit.figures.queries  # a beat meets one query after the other
            key_s = max(key_s, beats / (units * clock_hz(unit.config) * rate))
        drain_s = unit.figures.drain_s(unit.config)
        stretch = unit.figures.stretch if isinstance(part, NearBank) else 1.0
        key_s, value_s = key_s * stretch, value_s * stretch
        if self.pim.rate == "paper":
            assert tier.paper_gflops is not None  # the schema sees to it
            key_s = value_s = 2 * dim * work.tokens * queries / (tier.paper_gflops * 1e9 * devices)
        local_s = key_s + value_s + drain_s

        ratio = self.pim.energy.unit_power_ratio
        if isinstance(part, NearBank):
            # A unit takes its multiple of the energy of reading columns, for each query that meets them; opening rows is
            # the bank's alone.
            rows_pj, columns_pj = part.energy_pj(work)
            energy = {"pim_cell_reads": passes * (rows_pj + columns_pj), "pu_compute": ratio * queries * columns_pj}
        else:
            energy = {
                "flash_reads": work.rows * scale * (tier.page_pj or 0.0),
                "pu_compute": ratio * 2 * dim * work.tokens * queries * self.spec.energy.mac_pj,
            }
        per_byte = self.spec.energy.dram_pj_per_byte
        if tier.name in self.links.edges:
            per_byte += self.pim.links.pj_per_byte
        if features.pam_attention:
            inside = work.busiest_group_pairs * queries * partial / channel
            together = self._merge(
                number, model, work.group_pairs, work.device_pairs, tier.device_reduction_units * devices
            )
            reduce_s = max(queries * work.reduce_s, inside, together)
            return_s = latency + work.device_pairs * queries * partial / link
            total = query_s + max(local_s, reduce_s) + return_s
            # Groups' results stay in the device: they pass neither cells nor the device's own interface.
            inside_pj = move_pj_per_byte(self.memories[number], self.memories[0]) if isinstance(part, NearBank) else 0.0
            moved = queries * (dim * size * work.channel_pairs + partial * work.device_pairs)
            energy["transfers"] = moved * per_byte + queries * partial * work.group_pairs * inside_pj
            energy["reduction"] = work.partials * queries * dim * self.spec.energy.mac_pj
            return TierTimes(query_s, local_s, reduce_s, return_s, 0.0, total, 0.0, total, energy, work)
        # Scores leave, probabilities come back, and each group's sum of outputs leaves: no softmax and no merge in the
        # tier. As in AttAcc, the banks of a group add up on the way.
        scores_s = latency + queries * size * max(work.busiest_channel_tokens / channel, work.tokens / link)
        return_s = latency + queries * dim * size * max(work.busiest_group_pairs / channel, work.group_pairs / link)
        again_s = value_s or key_s  # a page is read anew for V
        first = query_s + key_s + scores_s
        second = scores_s + again_s + drain_s + return_s
        moved = queries * size * (dim * work.channel_pairs + 2 * work.tokens + dim * work.group_pairs)
        energy["transfers"] = moved * per_byte
        if isinstance(part, Flash):
            energy["flash_reads"] *= 2
        return TierTimes(
            query_s, key_s + again_s + drain_s, 0.0, return_s, 2 * scores_s, first, second, first + second, energy, work
        )

    def _append(self, number: int, model: ModelShape, group: np.ndarray) -> float:
        """Seconds to write one layer's K and V of a micro-batch's new tokens in this tier."""
        if not len(group):
            return 0.0
        memory, layout = self.memories[number], self.layouts[number]
        heads, size = self.heads_per_gpu(model), self.head_token_bytes(model)
        count = len(group) * heads * size
        link, latency = self._link(number)
        if self.pim.tiers[number].layout == "ssd":
            return latency + max(count / link, count / self._program_rate(number))
        per_channel = int(np.bincount(group // layout.groups).max()) * heads
        # A rank's chips take their 8 bytes each in one write; here the write is of one chip.
        cycles = 2 * append_cycles(memory, *self._rows(number, model))
        return latency + max(count / link, per_channel * cycles * memory.clock_ps * 1e-12)

    def _rows(self, number: int, model: ModelShape) -> tuple[int, int]:
        """Rows of a DRAM tier in which K of a head's token lies, and its columns in each row; so does V."""
        part = NearBank(self.units[number].config, self.layouts[number], self.memories[number], 1, model.head_dim)
        return part.rows, part.columns // part.rows

    def _program_rate(self, number: int) -> float:
        """Bytes per second that a share's flash channels write when all dies program pages at the same time."""
        memory, tier = self.memories[number], self.pim.tiers[number]
        dies = memory.levels.get("die", 1)
        seconds = memory.parameters["nPROG"] * memory.clock_ps * 1e-12
        return tier.devices_per_gpu * tier.channels_per_device * dies * memory.row_bytes / seconds

    def migration(self, model: ModelShape, moves: Mapping[str, int]) -> tuple[float, float]:
        """Seconds and energy (pJ, one share) of a step's moves. Each pair of tiers has an interface that works in both
        directions at once. It reaches a fraction of the slower side's rate."""
        size = self.share_token_bytes(model)
        worst, energy = 0.0, 0.0
        for pair, count in moves.items():
            if not count:
                continue
            slow, fast = (2, 1) if pair == "ssd-ddr" else (1, 0)
            rates = [self._external(fast), self._external(slow), self._link(slow)[0]]
            up = count * size / (min(rates) * self._rate_fraction(slow, fast))
            if slow == 2:
                rates.append(self._program_rate(2))
            down = count * size / (min(rates) * self._rate_fraction(fast, slow))
            worst = max(worst, up, down)
            energy += 2 * count * size * (2 * self.spec.energy.dram_pj_per_byte + self.pim.links.pj_per_byte)
        return worst, energy

    def moving(self, model: ModelShape, table: KvTable, moves: Mapping[str, Moves]) -> dict[str, float]:
        """Seconds for which the moves made in a step occupy a bank group (in flash: a channel) of each tier. Moves are
        a queue that continues from step to step, so the mean over the groups counts."""
        count = {pair: len(made) for pair, made in moves.items()}
        swaps = (count.get("ddr-hbm", 0), count.get("ddr-hbm", 0) + count.get("ssd-ddr", 0), count.get("ssd-ddr", 0))
        return {
            tier.name: number * each
            for tier, number, each in zip(self.pim.tiers, swaps, self._move_seconds(model), strict=True)
        }

    def _move_seconds(self, model: ModelShape) -> list[float]:
        """Mean seconds for which a swap occupies a group of each tier, for all heads and layers of a share. A swap
        reads one token and writes another in its place. Flash reads a page for each token and programs pages that are
        full."""
        heads, layers = self.heads_per_gpu(model), max(self.stages(model))
        out = []
        for number, (memory, shape) in enumerate(zip(self.memories, self.tier_shapes(model), strict=True)):
            if self.pim.tiers[number].layout == "ssd":
                pages, _, room = self.pages(model)
                programs = memory.parameters["nPROG"] / memory.levels.get("die", 1) / (memory.row_bytes // room)
                cycles = pages * (page_cycles(memory, 1) + programs)
            else:
                cycles = heads * 2 * exchange_cycles(memory, *self._rows(number, model))
            out.append(cycles * layers * memory.clock_ps * 1e-12 / shape.all_groups)
        return out

    def move_limits(self, model: ModelShape, batch: int, timed: Mapping[str, Any]) -> dict[str, int]:
        """Number of swaps between two tiers for which a step has time. Transfers run beside the step. Both tiers read
        and write tokens while they do not attend."""
        attention = sum(timed[part] for part in ("attention_s", "merge_s", "append_s", "gather_s"))
        step_s = self.pp * float(np.max(self.linear_seconds(model, batch) + np.array(self.stages(model)) * attention))
        spare = [step_s - self._busy(model, tier) for tier in timed["tiers"].values()]
        each, out = self._move_seconds(model), {}
        for pair, fast, slow in (("ssd-ddr", 1, 2), ("ddr-hbm", 0, 1)):
            transfer = self.migration(model, {pair: 1})[0]
            out[pair] = max(0, int(min(step_s / transfer, spare[fast] / each[fast], spare[slow] / each[slow])))
            spare[slow] -= out[pair] * each[slow]
            spare[fast] -= out[pair] * each[fast]
        return out

    def _external(self, number: int) -> float:
        """Bytes per second of a share's tier at its own interface."""
        tier, memory = self.pim.tiers[number], self.memories[number]
        return tier.devices_per_gpu * tier.channels_per_device * memory.channel_bytes_per_s

    def kv_write_seconds(self, model: ModelShape, tokens: int) -> float:
        return tokens * self.heads_per_gpu(model) * self.head_token_bytes(model) / self._link(1)[0]

    # Composition -------------------------------------------------------------------------------------------------

    def measure(self, model: ModelShape, contexts: np.ndarray, steps: int = 2) -> Step:
        """The last of ``steps`` steps from a settled state."""
        node = Node(self, model, contexts, steps)
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
            return self._selected_step(model, self.selected)
        if key not in self._steps:
            if len(self._steps) > 4096:
                self._steps.clear()
            shapes = self.tier_shapes(model)
            # The state is settled before the step: a full node has no room for the tokens of two steps.
            room = sum(shape.capacity for shape in shapes) - batch * int(model.attended(context))
            before = max(context - 1, 1) if room < 2 * batch else context
            self._steps[key] = self.measure(model, np.full(batch, before, np.int64))
        return self._steps[key]

    def _selected_step(self, model: ModelShape, selected: StepSelection) -> Step:
        """A step in which each head of K and V reads the slots of its queries. Times are means over heads and layers;
        tiers are the slowest head's. Slots are the tokens of the block table in its order, and nothing moves."""
        if len(selected.slots) != model.layers:
            raise ConfigError(f"selections are of {len(selected.slots)} layers, {model.name} has {model.layers}")
        node = Node(self, model, np.array([selected.room]), source=DenseSource())
        table, first = node.table, int(node.table.start[node.requests[0]])
        places = [
            first + np.unique(np.concatenate(layer[head : head + model.group]))
            for layer in selected.slots
            for head in range(0, model.heads, model.group)
        ]
        timed = [self.time_step(model, table, each, node.requests) for each in places]
        slowest = max(timed, key=lambda one: float(one["attention_s"]))
        means = {
            name: float(np.mean([one[name] for one in timed]))
            for name in ("attention_s", "merge_s", "append_s", "gather_s")
        }
        energy = {
            name: float(np.mean([one["energy_pj"].get(name, 0.0) for one in timed]))
            for name in sorted({name for one in timed for name in one["energy_pj"]})
        }
        active = np.bincount(np.concatenate([table.tier[each] for each in places]), minlength=3) / len(places)
        return Step(
            slowest["tiers"],
            **means,
            moves={},
            migration_s=0.0,
            moving_s=self.moving(model, table, {}),
            energy_pj=energy,
            migration_pj=0.0,
            active=active.round().astype(int).tolist(),
            tokens=table.used(),
        )

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
        out = {
            "attention": Cost(over([step.attention_s for step in steps]), energy),
            "attention_merge": Cost(over([step.merge_s for step in steps])),
            "attention_kv_append": Cost(
                over([step.append_s for step in steps]),
                {
                    "gpu_dram": np.full(
                        len(contexts),
                        batch
                        * self.heads_per_gpu(model)
                        * self.head_token_bytes(model)
                        * self.spec.energy.dram_pj_per_byte
                        * self.tp,
                    )
                },
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
        return self.coupled_seconds(model, self.micro_batches(len(contexts))[0], attended), self._least(model, step)

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

    def _least(self, model: ModelShape, step: Step) -> float:
        """Least time of a step with its moves. It is the longest of their transfers and, for each tier, of its moves
        plus its attention, which goes first."""
        if not self.pim.features.kv_scheduling:
            return 0.0
        return max(step.migration_s, *(step.moving_s[name] + self._busy(model, t) for name, t in step.tiers.items()))

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
        least = np.interp(contexts, span, [self._least(model, one) for one in (first, last)])
        energy = np.interp(contexts, span, [first.migration_pj, last.migration_pj]) * batch / whole * self.tp
        for stage in stages:
            busy = sum(np.broadcast_to(cost.time_s, contexts.shape) for cost in stage.values()) * self.pp
            stage["migration_exposed"] = Cost(np.maximum(least - busy, 0) / self.pp, {"migration": energy})
        return stages

    def _busy(self, model: ModelShape, tier: TierTimes) -> float:
        """Seconds of a step in which a tier attends."""
        return tier.local_s * max(self.stages(model)) * self.pp

    # Result ------------------------------------------------------------------------------------------------------

    def areas(self) -> dict[str, DieArea]:
        """Area of the units on a die of each tier, from measured gate equivalents, with the published budgets."""
        out = {}
        for number, (tier, unit) in enumerate(zip(self.pim.tiers, self.units, strict=True)):
            merging = self.reducers[number].synth if self.reducers else None
            area = die_area(unit.synthesis.area_ge, tier.area, reduction_ge=merging.area_ge if merging else 0.0)
            if merging is None:
                area = replace(
                    area,
                    reduction_mm2=None,
                    other="nothing: no area of reduction units is measured"
                    if self.reducers
                    else "nothing: no reduction units",
                )
            out[tier.name] = area
        return out

    def _interface_area(self, number: int) -> dict[str, Any]:
        """Measured area of a device's interfaces on their logic die, and the published area. A measured interface serves
        one channel."""
        budget = self.pim.tiers[number].interface
        if budget is None or not self.interfaces:
            return {}
        made = [self.interfaces[preset].synth for preset in budget.presets]
        published = {
            "interface_published_mm2": budget.published_mm2,
            "interface_published_percent": budget.published_percent,
        }
        if None in made:
            return {"interface_ge": None, "interface_mm2": None, "interface_percent": None, **published}
        ge = sum(one.area_ge for one in made if one is not None) * self.pim.tiers[number].channels_per_device
        mm2 = logic_area(ge, budget.logic_node)
        return {
            "interface_ge": ge,
            "interface_mm2": mm2,
            "interface_percent": tuple(100 * a / budget.die_mm2 for a in mm2),
            **published,
        }

    def _transfers(self, number: int, model: ModelShape, work: TierWork) -> dict[str, Any]:
        """Bytes of partial results on their way through a tier, for one layer of a micro-batch. ``tree`` has reduction
        units in the arrays; ``central`` has one place of reduction in each device."""
        size = partial_bytes(self.units[number].config, model.head_dim) * self._queries(model)
        inside, between, out = (size * count for count in (work.partials, work.group_pairs, work.device_pairs))
        if not inside:
            return {}
        return {
            "tree_bytes": {"bank_to_group": inside, "group_to_device": between, "device_out": out},
            "central_bytes": {"bank_to_group": inside, "group_to_device": inside, "device_out": out},
            "saved_percent": {
                "group_to_device": 100 * (1 - between / inside),
                "device": 100 * (1 - (inside + between) / (2 * inside)),
            },
        }

    def _reduction(self, step: Step) -> dict[str, float]:
        """Times of the reduction, and their percentages of attention's time."""
        slowest = max(step.tiers.values(), key=lambda t: t.total_s)
        whole = step.attention_s + step.merge_s
        exposed = max(slowest.reduce_s - slowest.local_s, 0.0)
        return {
            "exposed_us": exposed * 1e6,
            "merge_us": step.merge_s * 1e6,
            "share_percent": 100 * (exposed + step.merge_s) / whole if whole else 0.0,
            "hidden_percent": 100 * min(slowest.reduce_s, slowest.local_s) / whole if whole else 0.0,
        }

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
        for name, t in step.tiers.items():
            begun = t.query_s
            done = begun + max(t.local_s, t.reduce_s)
            for track, what, start_s, took_s in (
                ("links", "queries", 0.0, t.query_s),
                ("units", "local attention", begun, t.local_s),
                ("reduction", "merge in the tier", begun, t.reduce_s),
                ("links", "results", done, t.return_s),
            ):
                if took_s > 0:
                    spans.append(Span(f"{name}: {track}", what, whole.start_s + start_s * scale, took_s * scale))
        return spans

    def details(self, model: ModelShape, batch: int, context: int, cost: StepCost) -> Details:
        step = self.step_at(model, batch, context)
        shapes = self.tier_shapes(model)
        areas = self.areas()
        total = sum(step.active)
        tiers: dict[str, Any] = {}
        for number, (tier, shape) in enumerate(zip(self.pim.tiers, shapes, strict=True)):
            t, group = step.tiers[tier.name], self.group(number, model)
            area = areas[tier.name]
            tiers[tier.name] = {
                "tokens": step.tokens[number],
                "capacity_tokens": shape.capacity,
                "active_tokens": step.active[number],
                "active_percent": 100 * step.active[number] / total if total else 0.0,
                "query_us": t.query_s * 1e6,
                "local_us": t.local_s * 1e6,
                "reduce_us": t.reduce_s * 1e6,
                "return_us": t.return_s * 1e6,
                "scores_us": t.scores_s * 1e6,
                "total_us": t.total_s * 1e6,
                "queries_per_pass": group.together,
                "passes": group.passes,
                "imbalance": t.work.imbalance,
                "moving_ms": step.moving_s[tier.name] * 1e3,
                "busy_ms": self._busy(model, t) * 1e3,
                "units_mm2": area.units_mm2,
                "reduction_mm2": area.reduction_mm2,
                "published_percent": area.budget_percent,
                "die_percent": area.die_percent,
                "with_other_percent": area.with_other_percent,
                **self._interface_area(number),
                "partial_results": self._transfers(number, model, t.work) if self.reducers else {},
            }
        notes = []
        slowest = max(step.tiers, key=lambda name: step.tiers[name].total_s)
        notes.append(
            f"tier '{slowest}' takes the longest: {step.tiers[slowest].total_s * 1e6:.1f} us a layer for "
            f"{100 * step.active[list(step.tiers).index(slowest)] / max(total, 1):.1f} % of the active tokens"
        )
        for number, tier in enumerate(self.pim.tiers):
            reached: list[tuple[str, MeasuredUnit[PamPuConfig, Any] | MeasuredUnit[PamRuConfig, Any]]] = [
                ("unit", self.units[number]),
                *(("reduction unit", one) for one in self.reducers[number : number + 1]),
            ]
            notes += [
                f"the {what} of tier '{tier.name}' {one.below_target}" for what, one in reached if one.below_target
            ]
            notes += self._group_notes(number, model)
        beside: list[MeasuredUnit[Any, Any]] = [*self.reducers, *self.interfaces.values()]
        notes += [f"area not measured: run `{need.command}`" for one in beside for need in one.unmeasured]
        tokens = sum(step.tokens)
        entry = 11  # bytes of a token in the block table: see KvTable.table_bytes
        x, y = self.ratios(model) if self.pim.features.kv_scheduling else (None, None)
        attention = {
            "tiers": tiers,
            "micro_batch": cost.micro_batch,
            "refresh": self._refresh,
            "kv_tokens": tokens,
            "active_tokens": total,
            "queries_per_instance": model.group,
            "moves": step.moves,
            "moved_percent": 100 * sum(step.moves.values()) / max(tokens, 1),
            "migration_ms": step.migration_s * 1e3,
            "block_table_bytes": tokens * entry,
            "x": x,
            "y": y,
            "interface_rate_fraction": {pair: unit.figures.rate_fraction for pair, unit in self.interfaces.items()},
            "reduction": self._reduction(step) if self.reducers else None,
        }
        hbm = self.units[0]
        synthesis = hbm.synthesis
        return Details(
            area=areas[self.pim.tiers[0].name],
            unit={
                "unit": hbm.unit.name,
                "preset": hbm.preset,
                "settings": dict(hbm.changes),
                "config_hash": hbm.hash,
                "clock_mhz": hbm.config.clock_mhz,
                "fmax_mhz": synthesis.fmax_mhz,
                "meets_clock": synthesis.fmax_mhz >= hbm.config.clock_mhz,
                "area_ge": synthesis.area_ge,
                "process": hbm.process.as_dict() if hbm.process else None,
            },
            attention=attention,
            notes=notes,
        )

    def _group_notes(self, number: int, model: ModelShape) -> list[str]:
        """What limits a tier whose units take several queries of a group."""
        tier, memory, takes = self.pim.tiers[number], self.memories[number], self.units[number].config.queries
        group, merged = self.group(number, model), self._merged(number)
        if takes == 1 or group.queries == 1 or tier.layout == "ssd":
            return []
        notes = []
        if merged is not None and merged < min(takes, group.queries):
            notes.append(
                f"the units of tier '{tier.name}' take {takes} queries a pass and its reduction units merge "
                f"{merged}, so a pass has {group.together}"
            )
        interval = mac_interval(memory)
        if group.burst_cycles > interval:
            notes.append(
                f"the unit, not the memory, limits attention of tier '{tier.name}': {group.burst_cycles} memory "
                f"cycles a burst of {group.together} queries against {interval}"
            )
        return notes

    def assumptions(self) -> dict[str, Assumption]:
        sparse, features, scheduling = self.pim.sparsity, self.pim.features, self.pim.scheduling
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
                if all(unit.config.queries == 1 for unit in self.units)
                else "a pass over K and V serves as many queries of a group as the unit and the reduction unit of its tier "
                "take; the unit takes a clock for each query and beat",
                {tier.name: unit.config.queries for tier, unit in zip(self.pim.tiers, self.units, strict=True)},
            ),
            "unit_clock": Assumption(
                "the units run at their target clocks; cycles per beat, softmax and drain are measured on their RTL",
                {tier.name: unit.config.clock_mhz for tier, unit in zip(self.pim.tiers, self.units, strict=True)},
            ),
        }
