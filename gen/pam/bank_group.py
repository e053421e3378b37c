# amaranth: UnusedElaboratable=no
"""PAM's bank group: processing units beside their banks, and the reduction unit that merges what they find."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...constraints.units.pam_bank_group import PamBankGroupConfig
from .partial_port import partial_layout
from .pu import PamPu
from .ru import PamRu, reduction_layout
from .sequencer import command_layout

__all__ = ["PamBankGroup"]


class PamBankGroup(wiring.Component):
    """``banks`` units :class:`PamPu`, each with its own streams, and one :class:`PamRu` that takes their results.

    A step needs a command for every processing unit (0 tokens for a bank without any) and one for the reduction unit.
    The functional model is that of the parts: ``local_attention`` of every bank, then ``reduce_partials``.

    Source: PAM (MICRO 2025) section 5.2.2.

    Parameters
    ----------
    config : :class:`PamBankGroupConfig`

    Members
    -------
    command : ``In(stream.Signature(reduction_layout))``
        Of the reduction unit.
    command_0 ..., query_0 ..., kv_0 ... : ``In(stream.Signature(...))``
        Of the processing units.
    result : ``Out(stream.Signature(partial_layout(config.reduction, lanes)))``
    """

    def __init__(self, config):
        if not isinstance(config, PamBankGroupConfig):
            raise TypeError(f"Configuration must be a PamBankGroupConfig, not {config!r}")
        self._config = config
        processing, reduction = config.processing, config.reduction
        beat = processing.lanes * processing.io.width
        shapes = {"command": command_layout(processing), "query": beat, "kv": beat}
        self.PORTS = {"command": PamRu.PORTS["command"], "result": PamRu.PORTS["result"],
                      **{f"{name}_{n}": PamPu.PORTS[name] for n in range(config.banks) for name in shapes}}
        super().__init__({
            "command": In(stream.Signature(reduction_layout(reduction))),
            **{f"{name}_{n}": In(stream.Signature(shape)) for n in range(config.banks) for name, shape in shapes.items()},
            "result": Out(stream.Signature(partial_layout(reduction, reduction.lanes))),
        })

    @property
    def config(self):
        return self._config

    @property
    def latency(self):
        """Fixed latencies in cycles, of the parts."""
        return {**PamPu(self._config.processing).latency, **PamRu(self._config.reduction).latency}

    def elaborate(self, platform):
        m = Module()
        m.submodules.reduction = reduction = PamRu(self._config.reduction)
        wiring.connect(m, command=wiring.flipped(self.command), reduction=reduction.command)
        wiring.connect(m, reduction=reduction.result, result=wiring.flipped(self.result))
        for n in range(self._config.banks):
            m.submodules[f"bank_{n}"] = unit = PamPu(self._config.processing)
            for name in ("command", "query", "kv"):
                wiring.connect(m, outside=wiring.flipped(getattr(self, f"{name}_{n}")), unit=getattr(unit, name))
            # The beats are alike; a processing unit marks every beat of O of its last tile as final.
            source = getattr(reduction, f"source_{n}")
            m.d.comb += [
                source.valid.eq(unit.result.valid),
                Value.cast(source.payload).eq(Value.cast(unit.result.payload)),
                unit.result.ready.eq(source.ready),
            ]
        return m
