# amaranth: UnusedElaboratable=no
"""The last level of PAM's attention: merges the results of HBM, DDR and SSD."""

from amaranth import *
from amaranth.lib import data, wiring

from ...constraints.core.formats import FORMATS
from ...constraints.pam.tier_merge import PamTierMergeConfig
from ..arith import convert
from ..blocks.broadcast import link
from ..blocks.ports import members
from .partial_port import PartialKind
from .reduction_tree import shared_ru
from .ru import PamRu

__all__ = ["PamTierMerge"]


class PamTierMerge(wiring.Component):
    """One :class:`PamRu` that merges the tiers' results, each with m in the format of its tier.

    m is widened to the unit's format, which is exact. Everything else works as in :class:`PamRu`.

    The functional model is ``bankside.models.pam.compositions.tier_merge``, equal bit for bit.

    Source: PAM (MICRO 2025) Algorithm 1: Reduce over the three devices.

    Parameters
    ----------
    config : :class:`PamTierMergeConfig`

    Members
    -------
    merge, source_0, source_1, source_2, result
        See :func:`merger_ports`. The sources are HBM, DDR and SSD. The scale lies above m, with m in the tier's width.
    """

    def __init__(self, config):
        if not isinstance(config, PamTierMergeConfig):
            raise TypeError(f"Configuration must be a PamTierMergeConfig, not {config!r}")
        self._config = config
        super().__init__(members(config.ports()))

    @property
    def config(self):
        return self._config

    @property
    def latency(self):
        """Fixed latencies of the unit, in cycles."""
        return PamRu(self._config.unit).latency

    def elaborate(self, platform):
        m = Module()
        config = self._config.unit
        unit, m.submodules.unit = shared_ru(platform, config)
        link(m, self.merge, unit.command)
        wiring.connect(m, unit=unit.result, result=wiring.flipped(self.result))
        for n, name in enumerate(self._config.score_formats):
            source, fmt = getattr(self, f"source_{n}"), FORMATS[name]
            widened = Signal(
                data.StructLayout({"m": config.score.width, "scale": config.scale_bits}), name=f"widened_{n}"
            )
            score = source.p.data[: fmt.width]
            m.d.comb += [
                widened.m.eq(
                    score
                    if fmt == config.score
                    else convert(m, score, source=fmt, target=config.score, name=f"score_{n}_")
                ),
                widened.scale.eq(source.p.data[fmt.width :]),
            ]
            link(
                m,
                source,
                getattr(unit, f"source_{n}"),
                Cat(
                    Mux(source.p.kind == PartialKind.MAXIMUM, widened.as_value(), source.p.data),
                    source.p.kind,
                    source.p.last,
                    source.p.final,
                    *([source.p.query] if config.queries > 1 else []),
                ),
            )
        return m
