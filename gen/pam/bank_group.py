# amaranth: UnusedElaboratable=no
"""PAM's bank group: processing units beside their banks, and the reduction unit that merges their results."""

from amaranth import *
from amaranth.lib import wiring

from ...constraints.pam.bank_group import PamBankGroupConfig
from ..blocks.broadcast import StreamBroadcast, link
from ..blocks.ports import members
from ..blocks.shared import shared
from .pu import PamPu
from .reduction_tree import shared_ru
from .ru import PamRu

__all__ = ["Composition", "PamBankGroup"]


class Composition(wiring.Component):
    """Base class of all compositions of processing and reduction units: ports, and latencies of the parts.

    Parameters
    ----------
    config : configuration of the composition
    kind : class of the configuration
    """

    def __init__(self, config, kind):
        if not isinstance(config, kind):
            raise TypeError(f"Configuration must be a {kind.__name__}, not {config!r}")
        self._config = config
        super().__init__(members(config.ports()))

    @property
    def config(self):
        return self._config

    @property
    def latency(self):
        """Fixed latencies of the parts, in cycles."""
        return {**PamPu(self._config.processing).latency, **PamRu(self._config.reduction).latency}


class PamBankGroup(Composition):
    """``config.units`` units :class:`PamPu`, one per bank, and one :class:`PamRu` that merges their results.

    A step needs one item on ``merge``, and an item on ``command`` for every processing unit. A bank without tokens gets
    a command with 0 tokens. One item on ``command`` may select several units with equal steps, for example when all
    banks of a channel get the same commands. One beat of the query may also select several units. ``kv_N`` works as in
    :class:`PamPu`.

    The functional model is ``bankside.models.pam.compositions.group_attention``, equal bit for bit.

    Source: PAM (MICRO 2025) section 5.2.2; the broadcast is this project's choice.

    Parameters
    ----------
    config : :class:`PamBankGroupConfig`

    Members
    -------
    command, query, merge, result, kv_0 ...
        See :meth:`PamBankGroupConfig.ports`.
    """

    def __init__(self, config):
        super().__init__(config, PamBankGroupConfig)

    def elaborate(self, platform):
        m = Module()
        config, units = self._config, self._config.units
        reduction, m.submodules.reduction = shared_ru(platform, config.reduction)
        link(m, self.merge, reduction.command)
        wiring.connect(m, reduction=reduction.result, result=wiring.flipped(self.result))
        streams = {}
        for name in ("command", "query"):
            source = getattr(self, name)
            m.submodules[name] = streams[name] = StreamBroadcast(len(Value.cast(source.payload)) - units, units)
            link(m, source, streams[name].i)
        for n in range(units):
            unit = PamPu(config.processing)
            m.submodules[f"unit_{n}"] = shared(platform, unit, "pu")
            for name, broadcast in streams.items():
                link(m, getattr(broadcast, f"o_{n}"), getattr(unit, name))
            link(m, getattr(self, f"kv_{n}"), unit.kv)
            # Both kinds of beats have the same fields. A processing unit marks all O beats of its last tile as final.
            link(m, unit.result, getattr(reduction, f"source_{n}"))
        return m
