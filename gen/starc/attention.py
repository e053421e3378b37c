# amaranth: UnusedElaboratable=no
"""A processing unit and the selection of key clusters by its scores."""

from amaranth import *
from amaranth.lib import wiring

from ...constraints.starc.attention import StarcAttentionConfig
from ..blocks.broadcast import link
from ..blocks.ports import kinds, members
from ..blocks.shared import shared
from ..blocks.stream import StreamFIFO
from ..pam.pu import PamPu
from .select import StarcSelect

__all__ = ["StarcAttention"]


class StarcAttention(wiring.Component):
    """Attention over clusters of keys that the scores of their centroids select.

    A step of scores with ``selects`` gives the scores of the next clusters of ``selection``. Each score meets an item of
    ``size``. All other results leave on ``result``. A memory controller reads the tokens of ``program``, and then a step of
    attention takes them.

    Timing: as :class:`PamPu` and :class:`StarcSelect`. A score passes from one to the other without delay. Scores wait in
    the processing unit while the program of the previous selection is written.

    The functional model is ``bankside.models.starc.attention.sparse_attention``, equal bit for bit.

    Source: STARC, Algorithm 1; the composition is this project's.

    Parameters
    ----------
    config : :class:`StarcAttentionConfig`

    Members
    -------
    command, query, kv, selection, size, result, program
        See :meth:`StarcAttentionConfig.ports`.
    """

    def __init__(self, config):
        if not isinstance(config, StarcAttentionConfig):
            raise TypeError(f"Configuration must be a StarcAttentionConfig, not {config!r}")
        self._config = config
        super().__init__(members(config.ports()))

    @property
    def config(self):
        return self._config

    @property
    def latency(self):
        """Fixed latencies of the parts, in cycles."""
        return {**PamPu(self._config.processing).latency, **StarcSelect(self._config.selection).latency}

    def elaborate(self, platform):
        m = Module()
        config = self._config
        unit, select = PamPu(config.processing), StarcSelect(config.selection)
        m.submodules.processing = shared(platform, unit, "pu")
        m.submodules.select = shared(platform, select, "select")
        # Where the scores of each step go, oldest step first. A step without tokens has none.
        m.submodules.places = places = StreamFIFO(1, config.steps, output_register=False)
        command, fields = self.command.p, [field.name for field in config.processing.command_layout.fields]
        placed = Signal()
        m.d.comb += [
            placed.eq(command.scores & (command.tokens != 0)),
            places.i.valid.eq(self.command.valid & placed & unit.command.ready),
            places.i.payload.eq(command.selects),
            unit.command.valid.eq(self.command.valid & (~placed | places.i.ready)),
            self.command.ready.eq(unit.command.ready & (~placed | places.i.ready)),
            *(getattr(unit.command.p, name).eq(getattr(command, name)) for name in fields),
        ]
        link(m, self.query, unit.query)
        link(m, self.kv, unit.kv)
        link(m, self.selection, select.command)
        wiring.connect(m, select.program, wiring.flipped(self.program))

        result, cluster = unit.result, select.cluster
        score, selects = Signal(), Signal()
        m.d.comb += [
            score.eq(result.valid & (result.p.kind == kinds(config.processing.kinds, 2).SCORE)),
            selects.eq(score & places.o.payload),
            cluster.valid.eq(selects & self.size.valid),
            cluster.p.score.eq(result.p.data),
            cluster.p.size.eq(self.size.p.size),
            self.size.ready.eq(selects & cluster.ready),
            self.result.valid.eq(result.valid & ~selects),
            Value.cast(self.result.payload).eq(Value.cast(result.payload)),
            result.ready.eq(Mux(selects, self.size.valid & cluster.ready, self.result.ready)),
            places.o.ready.eq(score & result.ready & result.p.last & result.p.final),
        ]
        return m
