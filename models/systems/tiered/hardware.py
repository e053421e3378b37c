"""Hardware of a GPU's share: tiers with memories and measured units, interfaces between them, and links."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....constraints.core.errors import ConfigError
from ....constraints.memory import Memory, available
from ....constraints.pam import interface as pam_interface
from ....constraints.pam import pu as pam_pu
from ....constraints.pam import ru as pam_ru
from ....constraints.pam.interface import PamInterfaceConfig
from ....constraints.pam.layout import TIERS, slot_bytes
from ....constraints.pam.pu import PamPuConfig
from ....constraints.pam.ru import PamRuConfig
from ....constraints.systems import PimTier, TieredSystemSpec
from ...pam.placement import TierShape
from ...pam.tiers import Flash, NearBank, append_cycles, exchange_cycles, page_cycles, together
from ..description import Description
from ..links import LinkTree
from ..reads import read_pj
from ..results import RecordSource
from ..room import GIB
from ..units import Group, InterfaceFigures, MeasuredUnit, Missing, ProcessingFigures, ReductionFigures
from .share import Share

__all__ = ["Hardware", "Tier"]

#: Memory with which units are measured by default.
_MEASURED = pam_pu.UNIT.workload.model_fields["memory"].default


class Tier:
    """A tier of a GPU's share.

    Attributes
    ----------
    spec, name : the tier in the system's file, and its name
    memory, layout : its memory, and the places of tokens in a device
    flash : whether it is SSDs. Channels of flash are controllers, and only the link leads to them.
    unit, reducer : processing units, and reduction units; None where the GPU merges
    link_bytes_per_s, latency_s : path to the GPU. The GPU's own memory has an infinite rate.
    linked : whether there is such a path

    Raises
    ------
    :exc:`ConfigError`
        If memory and layout do not belong together, or units do not exist.
    """

    def __init__(self, system: str, spec: PimTier, memory: Memory, links: LinkTree, merges: bool) -> None:
        where = f"{system}: tier '{spec.name}'"
        self.spec, self.name, self.memory = spec, spec.name, memory
        layout = TIERS[spec.layout]
        if layout.groups % spec.lockstep:
            raise ConfigError(
                f"{where}: lockstep {spec.lockstep} does not divide its {layout.groups} groups of a channel"
            )
        self.layout = layout = together(layout, spec.lockstep).model_copy(update={"channels": spec.channels_per_device})
        if (layout.row_bytes, layout.rows, layout.access_bytes) != (memory.row_bytes, memory.rows, memory.column_bytes):
            raise ConfigError(
                f"{where}: {memory.name} has {memory.rows} rows of {memory.row_bytes} "
                f"bytes in columns of {memory.column_bytes}, its layout {layout.rows} of "
                f"{layout.row_bytes} in columns of {layout.access_bytes}"
            )
        self.flash = spec.layout == "ssd"
        self.linked = spec.name in links.edges
        self.link_bytes_per_s = links.rate((spec.name, 0), ("gpu", 0)) if self.linked else float("inf")
        self.latency_s = links.latency_s if self.linked else 0.0
        self.unit: MeasuredUnit[PamPuConfig, ProcessingFigures] = MeasuredUnit(
            where, pam_pu.UNIT, ProcessingFigures, spec.unit.preset, spec.unit.settings, synth="required"
        )
        self.reducer: MeasuredUnit[PamRuConfig, ReductionFigures] | None = None
        if merges:
            if spec.reduction_preset is None:
                raise ConfigError(f"{where} merges partial results and needs a reduction_preset")
            self.reducer = MeasuredUnit(
                where, pam_ru.UNIT, ReductionFigures, spec.reduction_preset, spec.reduction_settings, synth="wanted"
            )

    # Units -----------------------------------------------------------------------------------------------------------

    def look_up(self, records: RecordSource, head_dim: int) -> Missing:
        """Take the measurements of the processing unit. The unit beside a bank is measured with its bank's memory, the
        unit of an SSD's controller with the default."""
        own = not self.flash and self.spec.memory in set(available()) - {_MEASURED}
        return self.unit.look_up(records, head_dim=head_dim, **({"memory": self.spec.memory} if own else {}))

    @property
    def merged(self) -> int | None:
        """Most queries whose results the reduction units take in a step; None without reduction units."""
        return None if self.reducer is None else self.reducer.config.queries

    def group(self, share: Share) -> Group:
        """How the tier takes the queries of a key/value head. A pass over K and V has no more than its units take, nor more
        than its reduction units take."""
        unit = self.unit
        return unit.figures.group(unit.config, self.memory, share.queries // share.heads, self.merged)

    def merge_s(self, share: Share, partials: int, requests: int, units: int, last: bool = False) -> float:
        """Seconds of ``units`` reduction units to merge the partial results of each query of ``requests`` requests.
        ``partials`` counts the partial results of all requests for one query each. One unit does a whole merge, of all
        queries of a pass."""
        if not requests:
            return 0.0
        assert self.reducer is not None
        group = self.group(share)
        rounds = -(-requests * share.heads * group.passes // units)
        return self.reducer.figures.merge_s(
            self.reducer.config,
            share.model.head_dim,
            partials / requests * rounds,
            rounds,
            last,
            queries=group.together,
        )

    # Room ------------------------------------------------------------------------------------------------------------

    def pages(self, share: Share) -> tuple[int, int, int]:
        """How a token's K and V of one layer lie in flash: number of pages, heads and reserved bytes of each page. With
        ``page_order`` ``token`` a page holds all heads of the share, as far as they fit."""
        size, heads = share.head_token_bytes, share.heads
        if self.spec.page_order == "head":
            return heads, 1, size
        pages = -(-heads * size // self.layout.row_bytes)
        held = -(-heads // pages)
        return pages, held, slot_bytes(size * held)

    def token_bytes(self, share: Share) -> int:
        """Bytes that a token takes in the tier."""
        if not self.flash:
            return share.token_bytes
        pages, _, room = self.pages(share)
        return pages * room * share.layers

    def shape(self, share: Share, used: int) -> TierShape:
        """Groups of the tier and the tokens that they hold beside ``used`` bytes."""
        spec, memory = self.spec, self.memory
        whole = spec.devices_per_gpu * spec.channels_per_device * memory.banks * memory.rows * memory.row_bytes
        room = max(whole - int(spec.reserved_gib * GIB) - used, 0)
        groups = self.layout.groups * spec.channels_per_device
        slots = room // (spec.devices_per_gpu * groups) // self.token_bytes(share)
        return TierShape(self.name, spec.devices_per_gpu, groups, slots)

    # Times -----------------------------------------------------------------------------------------------------------

    def part(self, share: Share, spec: TieredSystemSpec, gpu_memory: Memory, refresh: bool) -> NearBank | Flash:
        """The tier with the share, which finds the work for active tokens."""
        own, dim = self.spec, share.model.head_dim
        if self.flash:
            _, held, room = self.pages(share)
            return Flash(
                self.layout.model_copy(update={"interleave": self.layout.row_bytes // room}),
                self.memory,
                own.devices_per_gpu * own.channels_per_device,
                own.devices_per_gpu,
                share.head_token_bytes * held,
                room,
            )
        group, reducer = self.group(share), self.reducer
        return NearBank(
            self.unit.config,
            self.layout,
            self.memory,
            own.devices_per_gpu,
            dim,
            burst_cycles=group.burst_cycles,
            # Without PAM's attention the softmax is not the unit's.
            gap_cycles=group.gap_cycles if spec.features.pam_attention else 0,
            partial_s=reducer.figures.partial_s(reducer.config, dim) if reducer else 0.0,
            step_s=reducer.figures.step_s(reducer.config) * group.reads_per_query if reducer else 0.0,
            read_pj=read_pj(self.memory, spec.energy.boundary, gpu_memory),
            refresh=refresh and self.memory.refresh is not None,
        )

    @property
    def bytes_per_s(self) -> float:
        """Rate of all devices at their own interfaces."""
        return self.spec.devices_per_gpu * self.spec.channels_per_device * self.memory.channel_bytes_per_s

    @property
    def program_bytes_per_s(self) -> float:
        """Rate at which flash is written when all dies program pages at the same time."""
        dies = self.memory.levels.get("die", 1)
        seconds = self.memory.parameters["nPROG"] * self.memory.clock_ps * 1e-12
        return self.spec.devices_per_gpu * self.spec.channels_per_device * dies * self.memory.row_bytes / seconds

    def append_s(self, share: Share, group: np.ndarray) -> float:
        """Seconds to write one layer's K and V of new tokens, of which each goes to a ``group``."""
        if not len(group):
            return 0.0
        count = len(group) * share.layer_token_bytes
        if self.flash:
            return self.latency_s + max(count / self.link_bytes_per_s, count / self.program_bytes_per_s)
        per_channel = int(np.bincount(group // self.layout.groups).max()) * share.heads
        # A rank's chips take their 8 bytes each in one write; here the write is of one chip.
        cycles = 2 * append_cycles(self.memory, *self._rows(share))
        return self.latency_s + max(count / self.link_bytes_per_s, per_channel * cycles * self.memory.clock_ps * 1e-12)

    def swap_s(self, share: Share, shape: TierShape) -> float:
        """Mean seconds for which a swap occupies a group, for all heads and layers. A swap reads one token and writes
        another in its place. Flash reads a page for each token and programs pages that are full."""
        memory = self.memory
        if self.flash:
            pages, _, room = self.pages(share)
            programs = memory.parameters["nPROG"] / memory.levels.get("die", 1) / (memory.row_bytes // room)
            cycles = pages * (page_cycles(memory, 1) + programs)
        else:
            cycles = share.heads * 2 * exchange_cycles(memory, *self._rows(share))
        return cycles * share.layers * memory.clock_ps * 1e-12 / shape.all_groups

    def _rows(self, share: Share) -> tuple[int, int]:
        """Rows of a DRAM tier in which K of a head's token lies, and its columns in each row; so does V."""
        part = NearBank(self.unit.config, self.layout, self.memory, 1, share.model.head_dim)
        return part.rows, part.columns // part.rows


class Hardware:
    """Tiers of a GPU's share from the fastest to the slowest, and what connects them.

    Attributes
    ----------
    name, spec : of the system
    tiers : list of :class:`Tier`
    links : :class:`LinkTree`
    interfaces : mapping of preset to :class:`MeasuredUnit`
        The interface of each direction, by the sending and the receiving tier.

    Raises
    ------
    :exc:`ConfigError`
        If the parts of the system's file do not belong together.
    """

    def __init__(self, description: Description[TieredSystemSpec]) -> None:
        self.name, self.spec = name, spec = description.name, description.spec
        self.links = LinkTree(spec.links, name)
        self.links.bytes_per_s("gpu")  # there must be one
        for tier in spec.tiers[1:]:
            if spec.links.at(tier.name) is None:
                raise ConfigError(
                    f"{name}: tier '{tier.name}' is not the GPU's own memory and needs a link of its name in "
                    "links.edges"
                )
        if len({tier.name for tier in spec.tiers}) != len(spec.tiers):
            raise ConfigError(f"{name}: two tiers have the same name")
        if [tier.layout == "ssd" for tier in spec.tiers] != [False, False, True]:
            raise ConfigError(f"{name}: tiers must be two of DRAM and then one with the layout ssd")
        self.tiers = [
            Tier(name, tier, description.memory(tier.memory, spec.power_limit), self.links, spec.features.pam_attention)
            for tier in spec.tiers
        ]
        self.interfaces: dict[str, MeasuredUnit[PamInterfaceConfig, InterfaceFigures]] = {}
        if spec.features.kv_scheduling:
            self._connect()

    def _connect(self) -> None:
        """Make the interfaces by which tokens move between neighbours, in both directions."""
        for tier in self.spec.tiers:
            where = f"{self.name}: tier '{tier.name}'"
            if tier.interface is None:
                raise ConfigError(f"{self.name}: tokens of tier '{tier.name}' move: it needs an interface")
            for preset in tier.interface.presets:
                self.interfaces[preset] = MeasuredUnit(
                    where, pam_interface.UNIT, InterfaceFigures, preset, synth="wanted"
                )
        layouts = [tier.layout for tier in self.spec.tiers]
        for first, second in zip(layouts, layouts[1:], strict=False):
            for preset in (f"{first}-{second}", f"{second}-{first}"):
                if preset not in self.interfaces:
                    raise ConfigError(f"{self.name}: no tier has the interface {preset}")

    def rate_fraction(self, sender: Tier, receiver: Tier) -> float:
        """Fraction of the slower memory's own rate that the interface from one tier to another reaches."""
        return self.interfaces[f"{sender.spec.layout}-{receiver.spec.layout}"].figures.rate_fraction

    @property
    def reducers(self) -> list[MeasuredUnit[PamRuConfig, ReductionFigures]]:
        """Reduction units of all tiers; none where the GPU merges."""
        return [tier.reducer for tier in self.tiers if tier.reducer is not None]

    @property
    def measured(self) -> list[MeasuredUnit[Any, Any]]:
        """All units of the share."""
        return [*(tier.unit for tier in self.tiers), *self.reducers, *self.interfaces.values()]

    def look_up(self, records: RecordSource, head_dim: int) -> Missing:
        """Take all measurements, and return those that are missing."""
        missing = [need for tier in self.tiers for need in tier.look_up(records, head_dim)]
        missing += [need for reducer in self.reducers for need in reducer.look_up(records, head_dim=head_dim)]
        return missing + [need for unit in self.interfaces.values() for need in unit.look_up(records)]

    def shapes(self, share: Share, used: int) -> list[TierShape]:
        """Groups of each tier and the tokens that they hold, equal for every GPU. ``used``: bytes of the first tier that
        weights and the GPU's own data take."""
        return [tier.shape(share, 0 if number else used) for number, tier in enumerate(self.tiers)]
