# amaranth: UnusedElaboratable=no
"""A tree of PAM's reduction units."""

from amaranth import *
from amaranth.lib import wiring

from ...constraints.pam.reduction_tree import PamReductionTreeConfig, merger
from ..blocks.broadcast import StreamBroadcast, link
from ..blocks.ports import members
from ..blocks.shared import shared
from .ru import PamRu

__all__ = ["PamReductionTree", "inner", "shared_ru"]


def shared_ru(platform, config):
    """A reduction unit, and its instance of the Verilog module that equal units share."""
    unit = PamRu(config)
    return unit, shared(platform, unit, f"ru_{config.sources}_{config.source_lanes}")


def inner(step):
    """The payload of a step for a unit that is not the last one: it does not normalise."""
    others = Value.cast(step.payload)[1:]
    return Cat(Const(0, 1), others) if len(others) else Const(0, 1)


class PamReductionTree(wiring.Component):
    """Merges the partial results of ``config.inputs`` streams into one, level by level, with units :class:`PamRu`.

    An item on ``merge`` starts a step and goes to all units. Only the last unit normalises. Each source sends its
    partial results as for :class:`PamRu`.

    The functional model is ``bankside.models.pam.compositions.reduction_tree``, equal bit for bit.

    Source: PAM (MICRO 2025) section 5.2.2: reduction units in the logic die and in the central buffer.

    Parameters
    ----------
    config : :class:`PamReductionTreeConfig`

    Members
    -------
    merge, source_0 ..., result
        See :func:`merger_ports`.
    """

    def __init__(self, config):
        if not isinstance(config, PamReductionTreeConfig):
            raise TypeError(f"Configuration must be a PamReductionTreeConfig, not {config!r}")
        self._config = config
        super().__init__(members(config.ports()))

    @property
    def config(self):
        return self._config

    @property
    def latency(self):
        """Fixed latencies of each unit, in cycles."""
        return PamRu(self._config.unit).latency

    def elaborate(self, platform):
        m = Module()
        config = self._config
        step_bits = config.unit.command_layout.bits
        m.submodules.steps = steps = StreamBroadcast(step_bits, max(config.units, 1))
        link(m, self.merge, steps.i, Cat(self.merge.payload, Const((1 << config.units) - 1, max(config.units, 1))))
        heads, unit_number = [wiring.flipped(getattr(self, f"source_{n}")) for n in range(config.inputs)], 0
        for level, sizes in enumerate(config.levels):
            merged, first = [], 0
            for place, size in enumerate(sizes):
                if size == 1:
                    merged.append(heads[first])
                else:
                    unit, m.submodules[f"level_{level}_{place}"] = shared_ru(platform, merger(config.unit, size))
                    step = getattr(steps, f"o_{unit_number}")
                    last = level == len(config.levels) - 1
                    link(m, step, unit.command, None if last else inner(step))
                    for n in range(size):
                        wiring.connect(m, head=heads[first + n], source=getattr(unit, f"source_{n}"))
                    merged.append(unit.result)
                    unit_number += 1
                first += size
            heads = merged
        wiring.connect(m, head=heads[0], result=wiring.flipped(self.result))
        return m
