"""GPUs with AttAcc's units: attention beside the banks, on AttAcc's controllers.

The units are in the GPUs' own HBM, or in ``stacks`` of an AttAcc device beside each GPU. Queries, keys and values then go
over a link, and outputs come back. The energy of the units is a ratio to the energy of
their reads, or the energy of their commands.

AttAcc's units take one query per read. With ``queries`` above 1, each read of K or V meets that many queries of a
group. The unit takes its time for each of them. Tokens of a group are spread over the channels that would otherwise
idle.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...constraints.systems import AttAccSystemSpec
from ..attacc.layer import READS, AttentionLayer, LayerTimer, read_interval, shared_timer
from ..llm import ModelShape
from ..llm.operators import SOFTMAX_FLOPS
from ..memory.pim_queue import QueueTiming
from .attacc_keys import AttAccKeys
from .description import Description
from .gpu_serving import GridServed
from .overlap import NearMemory
from .platform import GpuPlatform, MicroBatch
from .reads import access_pj
from .results import Cost
from .system import GIB, Assumption, Details, StepCost

__all__ = ["AttAccSystem", "LayerWork", "Selected", "work_values"]

#: Runs of access units of each head: first units and lengths.
Selected = Sequence[tuple[np.ndarray, np.ndarray]]

#: Commands by what they move: reads of banks, writes into buffers, moves between buffers.
_MACS, _WRITES, _MOVES = tuple(READS.values()), ("WR_GB",), ("MV_SB", "MV_GB")

#: Contexts at which layers are timed, at most. Between them values lie on straight lines.
_SAMPLES = 16


class LayerWork:
    """An attention layer of one stack.

    Attributes
    ----------
    values : array
        Seconds, pJ by the memory file, and counts of reads, writes into buffers and moves between buffers.
    """

    def __init__(self, values: np.ndarray) -> None:
        self.values = values
        self.seconds, self.read_pj, self.reads, self.writes, self.moves = values


def work_values(timing: QueueTiming) -> np.ndarray:
    """Values of a :class:`LayerWork`."""
    counts = [sum(timing.commands.get(name, 0) for name in names) for names in (_MACS, _WRITES, _MOVES)]
    return np.array([timing.time_ns * 1e-9, timing.energy_pj["total"], *counts], float)


class AttAccSystem(GpuPlatform):
    """See the module."""

    kind = "attacc"
    result = AttAccKeys
    schema = AttAccSystemSpec

    def __init__(self, description: Description[AttAccSystemSpec]) -> None:
        self.pim = spec = description.spec
        super().__init__(description)
        self.memory = description.memory(spec.memory, spec.power_limit)
        # The file's memory: the one without a power limit knows of no quirks.
        self.whole_memory = description.memory(spec.memory)
        self.stacks_per_gpu = (spec.stacks or self.spec.memory).stacks_per_gpu
        if spec.transfers is not None:
            self.transfers = ("attention_send", "attention_receive")
        if spec.softmax is not None:
            self.hidden = ("attention_softmax",)
        #: Whether a vector lies in the banks of two groups.
        self.wide = False

    def units_bandwidth(self) -> NearMemory:
        stated, stacks = self.pim.bandwidth, self.pim.stacks or self.spec.memory
        assert stated is not None  # the schema sees to it
        times = (stated.limited if self.pim.power_limit else stated.unlimited).at(self.pim.placement)
        bytes_per_s = stated.stack_gb_s * 1e9 * stacks.stacks_per_gpu * times
        return NearMemory(bytes_per_s, bytes_per_s / (self.spec.gpu.bandwidth_gb_s * 1e9))

    def kv_room(self, model: ModelShape) -> int | None:
        stacks = self.pim.stacks
        return (
            None
            if stacks is None
            else int((stacks.stacks_per_gpu * stacks.stack_gib - stacks.reserved_gib_per_gpu) * GIB)
        )

    # Attention -------------------------------------------------------------------------------------------------------

    def together(self, model: ModelShape) -> tuple[int, int]:
        """Passes over K and V for the queries of a group, and the most queries of a pass."""
        queries = self.queries_per_head(model)
        passes = -(-queries // self.pim.queries)
        return passes, -(-queries // passes)

    def heads(self, model: ModelShape, batch: int) -> int:
        """Heads on the busiest stack. Each pass over the keys and values of a request's head counts, with keys and values
        to itself. Where units take one query, these are the query heads."""
        count = (
            model.heads // self.tp
            if self.pim.queries == 1
            else max(model.kv_heads // self.tp, 1) * self.together(model)[0]
        )
        return -(-batch * count // self.stacks_per_gpu)

    def spread(self, model: ModelShape, heads: int) -> int:
        """Channels over which the tokens of a head are spread. AttAcc gives each query head a channel. Groups that share
        reads are fewer than their queries, so each takes the channels that would idle."""
        return 1 if self.together(model)[1] == 1 else max(1, self.memory.channels // heads)

    def read_cycles(self, queries: int) -> int:
        """Memory cycles for which a unit works with a read that meets so many queries; 0 where it keeps up with any
        memory."""
        each = self.pim.query_cycles
        if each is None:
            each = read_interval(self.whole_memory, self.pim.placement) if queries > 1 else 0
        return queries * each

    def timer(self, queries: int) -> LayerTimer:
        """Timer of layers whose reads meet so many queries."""
        cycles = self.read_cycles(queries)
        return shared_timer(
            self.whole_memory,
            self.pim.quirks,
            self.pim.power_limit,
            {READS[self.pim.placement]: cycles} if cycles else None,
        )

    def stack_layer(
        self, model: ModelShape, tokens: int, heads: int, selected: Selected | None = None
    ) -> AttentionLayer:
        """One layer of a stack; ``selected``: runs of access units that heads read."""
        return AttentionLayer(
            tokens,
            heads,
            self.pim.placement,
            model.dtype_bytes,
            model.stored_head_dim,
            quirks=self.pim.quirks,
            memory=self.memory,
            queries=self.together(model)[1],
            selected=selected,
            wide=self.wide,
        )

    def timing(self, model: ModelShape, tokens: int, heads: int) -> QueueTiming:
        """Cycles and commands of one layer of a stack."""
        return self.timer(self.together(model)[1]).time(self.stack_layer(model, tokens, heads))

    def layer_work(self, model: ModelShape, tokens: int, heads: int) -> LayerWork:
        """Work of one layer of a stack. With the simulator's quirks all heads are timed. Without, each pair of rounds
        beyond two adds as much as the second pair added to the first."""

        def timed(count: int) -> np.ndarray:
            return work_values(self.timing(model, tokens, count))

        pair = 2 * self.memory.channels
        if heads <= 2 * pair or self.pim.quirks:
            return LayerWork(timed(heads))
        one, two = timed(pair), timed(2 * pair)
        rounds, more = -(-heads // self.memory.channels) / 2 - 2, heads / pair - 2
        return LayerWork(two + np.array([rounds, more, more, more, more]) * (two - one))

    def work(self, model: ModelShape, micro: MicroBatch, contexts: np.ndarray) -> tuple[LayerWork, np.ndarray]:
        """Work of one layer of the busiest stack, and the tokens that a head reads, for each context."""
        heads = self.heads(model, micro.size)
        attended = np.broadcast_to(model.attended(contexts), np.shape(contexts))
        values, where = np.unique(attended, return_inverse=True)
        chosen = values[np.unique(np.linspace(0, len(values) - 1, min(len(values), _SAMPLES)).round().astype(int))]
        spread = self.spread(model, heads)
        sampled = np.array(
            [self.layer_work(model, -(-int(tokens) // spread), heads * spread).values for tokens in chosen]
        )
        return LayerWork(
            np.stack([np.interp(values, chosen, column)[where].reshape(np.shape(attended)) for column in sampled.T])
        ), attended

    def attention(self, model: ModelShape, micro: MicroBatch, contexts: np.ndarray) -> dict[str, Cost]:
        spec = self.pim
        work, read = self.work(model, micro, contexts)
        own, others = model.heads // self.tp, max(model.kv_heads // self.tp, 1)
        out: dict[str, Cost] = {}
        if spec.transfers is not None:
            out["attention_send"] = self._transfer(micro.size * model.columns(own + 2 * others) * model.dtype_bytes)
        out["attention"] = Cost(work.seconds, *self._energy(model, micro, read, work))
        if spec.softmax is not None:
            out["attention_softmax"] = self._softmax(model, micro, read)
        if spec.transfers is not None:
            out["attention_receive"] = self._transfer(micro.size * model.columns(own) * model.dtype_bytes)
        return out

    def _transfer(self, count: float) -> Cost:
        """Cost of a transfer between a GPU and its stacks. Each direction has half of the link's bandwidth."""
        link = self.pim.transfers
        assert link is not None
        energy = {"links": count * link.pj_per_byte * self.tp}
        return Cost(count / (link.both_ways_gb_s * 1e9 / 2), energy, energy)

    def _energy(
        self, model: ModelShape, micro: MicroBatch, attended: np.ndarray, work: LayerWork
    ) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Energy of the units at all GPUs, by component and by level."""
        stacks, constants = self.tp * self.stacks_per_gpu, self.pim.command_energy
        size, levels, place = self.memory.column_bytes, self.memory.levels, self.pim.placement
        banks = (
            self.memory.banks
            // {"bank": 1, "bank-group": levels["bank"], "buffer": self.memory.banks // levels["pseudo_channel"]}[place]
        )
        if constants is None:
            assert self.pim.energy is not None
            command = self.memory.command(READS[place])
            own = sum(command.energy_pj.values())
            # access: all of a read in place of its way to the units
            column = banks * access_pj(self.memory) if self.pim.energy.boundary == "access" else own
            read = (work.read_pj + work.reads * (column - own)) * stacks
            # The ratio is of reading a column that meets one query.
            met = self.queries_per_head(model) / self.together(model)[0]
            return {
                "pim_cell_reads": read,
                "pu_compute": work.reads * column * stacks * self.pim.energy.unit_power_ratio * met,
            }, {}
        cells = work.reads * size * banks * constants.cell_pj_per_byte.at(place) * stacks
        inside = constants.tsv_pj_per_byte + constants.gio_mux_pj_per_byte + constants.bg_mux_pj_per_byte
        moved = (work.writes * (constants.interposer_pj_per_byte + inside) + work.moves * inside) * size * stacks
        # The simulator counts the arithmetic of scores and forgets that of outputs.
        products = 1 if self.pim.quirks else 2
        macs = products * micro.size * (model.heads // self.tp) * attended * model.head_dim * constants.mac_pj * self.tp
        return (
            {"pim_cell_reads": cells, "pim_buffers": moved, "pu_compute": macs},
            {"memory": cells + moved, "arithmetic": macs},
        )

    def _softmax(self, model: ModelShape, micro: MicroBatch, attended: np.ndarray) -> Cost:
        units, constants = self.pim.softmax, self.pim.command_energy
        assert units is not None
        elements = attended * float(micro.size * (model.heads // self.tp))
        flops, count = SOFTMAX_FLOPS * elements, 2 * elements * model.dtype_bytes
        speed = self.stacks_per_gpu * 1e9 * (2 if model.dtype_bytes == 1 else 1)
        seconds = np.maximum(
            flops / (units.gflops_per_stack * speed), count / (units.gb_s_per_stack * 1e9 * self.stacks_per_gpu)
        )
        if constants is None:
            return Cost(seconds)
        buffers = count * constants.softmax_pj_per_byte * self.tp
        arithmetic = flops / 2 * constants.mac_pj * self.tp
        return Cost(
            seconds, {"pim_buffers": buffers, "pu_compute": arithmetic}, {"memory": buffers, "arithmetic": arithmetic}
        )

    def kv_write_seconds(self, model: ModelShape, tokens: int) -> float:
        link = self.pim.transfers
        return 0.0 if link is None else tokens * self.kv_token_bytes(model) / (link.both_ways_gb_s * 1e9 / 2)

    def serving(self, model: ModelShape) -> GridServed:
        return GridServed(self, model)

    # Result ----------------------------------------------------------------------------------------------------------

    def details(self, model: ModelShape, batch: int, context: int, cost: StepCost) -> Details:
        passes, together = self.together(model)
        takes = "one at a time" if self.pim.queries == 1 else f"at most {self.pim.queries} at a time"
        notes = (
            []
            if passes == 1
            else [
                f"{self.queries_per_head(model)} queries share each key/value head and AttAcc's units take {takes}, so K and "
                f"V are read {passes} times"
            ]
        )
        return Details(
            attention={
                "memory": self.memory.name,
                "placement": self.pim.placement,
                "heads_per_stack": self.heads(model, cost.micro_batch),
                "channels_per_head": self.spread(model, self.heads(model, cost.micro_batch)),
                "queries_per_pass": together,
                "passes": passes,
                "unit_burst_memory_cycles": self.read_cycles(together),
            },
            notes=notes,
        )

    def assumptions(self) -> dict[str, Assumption]:
        cycles = "with the defects of its simulator" if self.pim.quirks else "without the defects of its simulator"
        beside = "" if self.pipelining != "none" else " and do not overlap with GEMMs"
        return super().assumptions() | {
            "attention": Assumption(
                f"attention is AttAcc's on its controllers, {cycles}; heads are dealt out evenly to stacks{beside}",
                self.pim.placement,
                self.pim.source,
            ),
            "queries": Assumption(
                "AttAcc's units take one query per read of K or V"
                if self.pim.queries == 1
                else f"a read of K or V meets up to {self.pim.queries} queries of a group, which AttAcc's units do not do; a "
                f"unit works {self.read_cycles(2) // 2} memory cycles for each",
                self.pim.queries,
            ),
            "kv_kept": Assumption(
                "KV must fit HBM: nothing is offloaded"
                if self.pim.stacks is None
                else "KV must fit AttAcc's stacks: nothing is offloaded",
                "all",
            ),
        }
