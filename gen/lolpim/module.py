# amaranth: UnusedElaboratable=no
"""A LoL-PIM module: a dispatcher sends commands to channels and a hub, which exchange data."""

from ...constraints.lolpim.module import LolPimModuleConfig
from ..aim.module import AimModule
from .dispatcher import DpaDispatcher

__all__ = ["LolPimModule"]


class LolPimModule(AimModule):
    """An :class:`~bankside.gen.aim.module.AimModule` whose front end is a :class:`DpaDispatcher`.

    The functional model is ``bankside.models.lolpim.module.LolPimModel``, equal bit for bit.

    Source: LoL-PIM section 2.2, Figure 5.

    Parameters
    ----------
    config : :class:`LolPimModuleConfig`

    Members
    -------
    host : ``In(stream.Signature(payload(config.dispatcher.host_layout)))``
    done : ``Out(stream.Signature(payload(config.dispatcher.done_layout)))``
    status : ``Out(3)``
    host_in, host_out : ``In`` and ``Out(stream.Signature(word))``
    issued : ``Out(payload(config.issued_layout))``
    memory_0 ... : ``Out(stream.Signature(payload(config.memory_layout)))``
    bank_0 ... : ``In(stream.Signature(banks * word))``
    write_0 ... : ``Out(stream.Signature(payload(config.channel.write_layout)))``
    """

    FRONT_END = "dispatcher"

    def __init__(self, config):
        if not isinstance(config, LolPimModuleConfig):
            raise TypeError(f"Configuration must be a LolPimModuleConfig, not {config!r}")
        super().__init__(config)

    @property
    def latency(self):
        """Fixed latencies in cycles: of the dispatcher, and from its command port to the memory's port."""
        return {**DpaDispatcher(self._config.dispatcher).latency, "command_to_memory": 1}

    def _front_end(self):
        return DpaDispatcher(self._config.dispatcher)
