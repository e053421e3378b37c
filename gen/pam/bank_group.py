# amaranth: UnusedElaboratable=no
"""PAM's bank group: processing units beside their banks, and the reduction unit that merges what they find."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...constraints.units.pam_bank_group import PamBankGroupConfig
from ..blocks.broadcast import StreamBroadcast, link
from ..blocks.shared import shared
from .partial_port import partial_layout
from .pu import PamPu
from .reduction_tree import shared_ru
from .ru import PamRu, reduction_layout
from .sequencer import command_layout

__all__ = ["Composition", "PamBankGroup"]

_SELECT = "processing units that get it, a bit for each"


class Composition(wiring.Component):
    """Base of the compositions of processing and reduction units: streams, their descriptions, latencies of the parts.

    Parameters
    ----------
    config : the composition's configuration
    kind : its class
    feeds : mapping of name to shape and description (as in ``PORTS``)
        Input streams that K and V come on; ``kv_N`` for each processing unit by default.
    """

    def __init__(self, config, kind, feeds=None):
        if not isinstance(config, kind):
            raise TypeError(f"Configuration must be a {kind.__name__}, not {config!r}")
        self._config = config
        processing, select = config.processing, config.units
        beat = processing.lanes * processing.io.width
        step = {str(key): field.shape for key, field in command_layout(processing)}
        if feeds is None:
            feeds = {f"kv_{n}": (beat, PamPu.PORTS["kv"]) for n in range(config.units)}
        command = PamPu.PORTS["command"]
        self.PORTS = {
            "command": {"payload": command["payload"], "fields": {**command["fields"], "select": _SELECT}},
            "query": {"payload": "a beat of Q", "fields": {"data": PamPu.PORTS["query"]["payload"], "select": _SELECT}},
            "merge": PamRu.PORTS["command"],
            "result": PamRu.PORTS["result"],
            **{name: ports for name, (_, ports) in feeds.items()},
        }
        super().__init__({
            "command": In(stream.Signature(data.StructLayout({**step, "select": select}))),
            "query": In(stream.Signature(data.StructLayout({"data": beat, "select": select}))),
            "merge": In(stream.Signature(reduction_layout(config.reduction))),
            "result": Out(stream.Signature(partial_layout(config.reduction, config.reduction.lanes))),
            **{name: In(stream.Signature(shape)) for name, (shape, _) in feeds.items()},
        })

    @property
    def config(self):
        return self._config

    @property
    def latency(self):
        """Fixed latencies in cycles, of the parts."""
        return {**PamPu(self._config.processing).latency, **PamRu(self._config.reduction).latency}


class PamBankGroup(Composition):
    """``config.units`` units :class:`PamPu`, each with the data of its bank, and one :class:`PamRu` that takes their
    results.

    A step needs an item on ``merge`` and one on ``command`` for every processing unit (0 tokens for a bank without any).
    Units with equal steps are selected together, as they are when all banks of a channel get the same commands; so are
    those that take the same beat of the query. ``kv_N`` is taken as by :class:`PamPu`.

    The functional model is ``bankside.models.pam.compositions.group_attention``, equal bit for bit.

    Source: PAM (MICRO 2025) section 5.2.2; the broadcast is this project's choice.

    Parameters
    ----------
    config : :class:`PamBankGroupConfig`

    Members
    -------
    command : ``In(stream.Signature(...))``
        A step (``command_layout``) and ``select``.
    query : ``In(stream.Signature(...))``
        ``lanes`` elements of Q and ``select``.
    merge : ``In(stream.Signature(reduction_layout(config.reduction)))``
    kv_0 ... : ``In(stream.Signature(lanes * width))``
    result : ``Out(stream.Signature(partial_layout(config.reduction, lanes)))``
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
            # The beats are alike; a processing unit marks every beat of O of its last tile as final.
            link(m, unit.result, getattr(reduction, f"source_{n}"))
        return m
