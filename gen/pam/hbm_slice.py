# amaranth: UnusedElaboratable=no
"""Several bank groups of PAM and the tree that merges their results: an HBM channel or a DIMM."""

from amaranth import *

from ...constraints.pam.hbm_slice import PamSliceConfig
from ..blocks.broadcast import StreamBroadcast, link
from ..blocks.shared import shared
from .bank_group import Composition, PamBankGroup
from .reduction_tree import PamReductionTree, inner

__all__ = ["PamSlice", "connect_groups"]


def connect_groups(m, platform, config, top):
    """Connect the bank groups and the tree to the streams that all compositions have.

    Unit n of group g is unit ``g * sources + n`` of the composition. Returns the groups; the caller connects their
    ``kv_N``.
    """
    each = config.reduction.sources
    groups = [PamBankGroup(config.group) for _ in range(config.groups)]
    for g, group in enumerate(groups):
        m.submodules[f"group_{g}"] = shared(platform, group, "group")
    for name in ("command", "query"):
        source = getattr(top, name)
        payload = Value.cast(source.payload)
        width = len(payload) - config.units
        m.submodules[name] = broadcast = StreamBroadcast(len(payload), config.groups)
        chosen = [payload[width + g * each : width + (g + 1) * each] for g in range(config.groups)]
        link(m, source, broadcast.i, Cat(payload, (part.any() for part in chosen)))
        for g, group in enumerate(groups):
            o = getattr(broadcast, f"o_{g}")
            link(
                m, o, getattr(group, name), Cat(o.payload[:width], o.payload[width + g * each : width + (g + 1) * each])
            )

    # With one group, the group normalises. Otherwise the last unit of the tree does.
    m.submodules.tree = tree = PamReductionTree(config.tree)
    m.submodules.steps = steps = StreamBroadcast(config.reduction.command_layout.bits, config.groups + 1)
    link(m, top.merge, steps.i, Cat(top.merge.payload, Const((1 << config.groups + 1) - 1, config.groups + 1)))
    for g, group in enumerate(groups):
        step = getattr(steps, f"o_{g}")
        link(m, step, group.merge, None if config.groups == 1 else inner(step))
        link(m, group.result, getattr(tree, f"source_{g}"))
    link(m, getattr(steps, f"o_{config.groups}"), tree.merge)
    link(m, tree.result, top.result)
    return groups


class PamSlice(Composition):
    """``config.groups`` units :class:`PamBankGroup` and a :class:`PamReductionTree` for their results, on one clock.

    Streams and steps work as in :class:`PamBankGroup`, for all ``config.units`` processing units.

    The functional model is ``bankside.models.pam.compositions.slice_attention``, equal bit for bit.

    Source: PAM (MICRO 2025) section 5.2: 64 processing and 16 reduction units beside the banks of a channel, others in
    the logic die. One clock for both is this project's choice.

    Parameters
    ----------
    config : :class:`PamSliceConfig`

    Members
    -------
    command, query, merge, kv_0 ..., result
        See :class:`PamBankGroup`.
    """

    def __init__(self, config):
        super().__init__(config, PamSliceConfig)

    def elaborate(self, platform):
        m = Module()
        groups = connect_groups(m, platform, self._config, self)
        each = self._config.reduction.sources
        for n in range(self._config.units):
            link(m, getattr(self, f"kv_{n}"), getattr(groups[n // each], f"kv_{n % each}"))
        return m
