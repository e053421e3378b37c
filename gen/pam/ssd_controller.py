# amaranth: UnusedElaboratable=no
"""The attention part of PAM's SSD controller: shared buffer, processing units, reduction units."""

from amaranth import *

from ...constraints.pam.ssd_controller import PamSsdControllerConfig
from ..blocks.broadcast import link
from .bank_group import Composition
from .hbm_slice import connect_groups
from .page_buffer import PageBuffer

__all__ = ["PamSsdController"]


class PamSsdController(Composition):
    """A :class:`PageBuffer` in front of the parts of a :class:`PamSlice`. Each group of units has a flash channel.

    Steps work as in :class:`PamSlice`. The pages of a step arrive on the channels in the order of
    :meth:`PamSsdControllerConfig.pages`.

    The functional model is ``bankside.models.pam.compositions.slice_attention``, equal bit for bit.

    Source: PAM (MICRO 2025) section 5.2. The function of the buffer is this project's choice.

    Parameters
    ----------
    config : :class:`PamSsdControllerConfig`

    Members
    -------
    command, query, merge, result
        See :class:`PamBankGroup`.
    page_0 ..., data_0 ...
        See :class:`PageBuffer`.
    """

    def __init__(self, config):
        super().__init__(config, PamSsdControllerConfig)

    def elaborate(self, platform):
        m = Module()
        config = self._config
        groups = connect_groups(m, platform, config, self)
        m.submodules.buffer = buffer = PageBuffer(config)
        for c, group in enumerate(groups):
            for name in ("page", "data"):
                link(m, getattr(self, f"{name}_{c}"), getattr(buffer, f"{name}_{c}"))
            for n in range(config.reduction.sources):
                link(m, getattr(buffer, f"kv_{c * config.reduction.sources + n}"), getattr(group, f"kv_{n}"))
        return m
