# amaranth: UnusedElaboratable=no
"""A switch between a host and devices."""

from amaranth import *
from amaranth.lib import wiring

from ...constraints.cent.cxl_link import MessageClass
from ...constraints.cent.cxl_switch import CentCxlSwitchConfig
from ..blocks.broadcast import StreamBroadcast, link
from ..blocks.merge import StreamMerge
from ..blocks.ports import members, payload
from ..blocks.shared import shared
from .cxl_link import CxlLink

__all__ = ["CentCxlSwitch"]


class CentCxlSwitch(wiring.Component):
    """Joins the links of a host and of devices. It sends every message to the nodes that its header names.

    Each link ends in a :class:`CxlLink`. Each class of messages has its own buffers, and each output takes messages of
    a class from all inputs in turn. A broadcast goes to each receiver when the receiver has a credit for it. The next
    message of that class and input follows when all receivers have the broadcast. Messages of one class keep their
    order from one node to another.

    No class waits for another class. A node always accepts acknowledgements and data responses, and it needs only
    those to finish a request. So the classes cannot wait for each other in a circle.

    Nodes that the switch does not join are left out. A message to no other node is dropped.

    Timing: two cycles from a received message to its output, without contention.

    The functional model is ``bankside.models.cent.cxl.FabricModel``.

    Source: CENT sections 4.2 and 6; the structure is this project's choice.

    Parameters
    ----------
    config : :class:`CentCxlSwitchConfig`

    Members
    -------
    rx_0, tx_0 : ``In`` and ``Out(stream.Signature(8 * beat_bytes))``, link of the host
    rx_1, tx_1 ... : the same, links of devices 0, 1, ...
    """

    def __init__(self, config):
        if not isinstance(config, CentCxlSwitchConfig):
            raise TypeError(f"Configuration must be a CentCxlSwitchConfig, not {config!r}")
        self._config = config
        super().__init__(members(config.ports()))

    @property
    def config(self):
        return self._config

    @property
    def latency(self):
        """Fixed latencies in clocks: of the links at each side, and of the way between them."""
        return {**CxlLink(self._config.link).latency, "cross": 1}

    def elaborate(self, platform):
        m = Module()
        config = self._config
        nodes = range(config.nodes)
        ends = [CxlLink(config.link) for _ in nodes]
        for node, end in enumerate(ends):
            m.submodules[f"link_{node}"] = shared(platform, end, "link")
            link(m, getattr(self, f"rx_{node}"), end.rx)
            link(m, end.tx, getattr(self, f"tx_{node}"))
        for kind in MessageClass:
            name, shape = kind.name.lower(), payload(config.link.layout(kind))
            merges = []
            for node in nodes:
                m.submodules[f"{name}_to_{node}"] = merge = StreamMerge(shape, config.nodes)
                link(m, merge.o, getattr(ends[node], f"send_{name}"))
                merges.append(merge)
            for source in nodes:
                m.submodules[f"{name}_from_{source}"] = split = StreamBroadcast(shape.size, config.nodes)
                got = getattr(ends[source], f"got_{name}")
                if kind is MessageClass.NDR:
                    select = Cat(got.p.target == node for node in nodes)
                else:
                    select = got.p.targets[: config.nodes]
                link(m, got, split.i, Cat(got.payload, select))
                for node in nodes:
                    link(m, getattr(split, f"o_{node}"), getattr(merges[node], f"i_{source}"))
        return m
