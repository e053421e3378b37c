# amaranth: UnusedElaboratable=no
"""The control of an AiM channel and of the hub, proved for all time: streams, places, and the hazards of the two sets.

The units in the proof are the generated ones with the arithmetic cut off: what the processing units, the element-wise
multipliers and the EPU put out is free in every cycle. Bits are the subject of other tests.
"""

import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from bankside.constraints.aim.channel import CODES, AimChannelConfig
from bankside.constraints.aim.hub import PimHubConfig
from bankside.gen.aim import channel as channel_module
from bankside.gen.aim import hub as hub_module
from bankside.gen.aim import registers as registers_module
from bankside.gen.aim import transfers as transfers_module
from bankside.gen.aim.epu import Epu
from bankside.gen.aim.pu import AimPu, ElementwiseMultiplier
from bankside.gen.aim.registers import Client
from bankside.gen.formal import StreamProtocol, prove
from tests import planting


def messages(places):
    """Without the places in the source."""
    return {place.rpartition(" (")[0] for place in places}


class Cut(wiring.Component):
    """A part with its ports, whose outputs are free in every cycle."""

    ports: list[Signal] = []  # of the harness

    def __init__(self, part):
        super().__init__(part.signature)
        self._free = []
        for _, member, port in self.signature.flatten(self):
            if member.flow is Out:
                self._free.append((Value.cast(port), Signal(len(Value.cast(port)), name=f"free_{len(Cut.ports)}")))
                Cut.ports.append(self._free[-1][1])

    def elaborate(self, platform):
        m = Module()
        m.d.comb += [port.eq(free) for port, free in self._free]
        return m


@pytest.fixture
def cut(monkeypatch):
    """Cuts the arithmetic off the units that are made and elaborated in the test."""

    class CutPu(Cut):
        def __init__(self, config):
            part = AimPu(config)
            super().__init__(part)
            self.LATENCY, self.ACTIVATION = part.LATENCY, part.ACTIVATION

    class CutEpu(Cut):
        """Its writes follow the reads sooner, so that the proof has fewer registers."""

        def __init__(self, config):
            part = Epu(config)
            super().__init__(part)
            self.client, self.claims = Client(latency=2), part.claims

    monkeypatch.setattr(Cut, "ports", [])
    for module in (channel_module, hub_module):
        for name, part in (
            ("AimPu", CutPu),
            ("ElementwiseMultiplier", lambda c: Cut(ElementwiseMultiplier(c))),
            ("Epu", CutEpu),
        ):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, part)


class Contract(StreamProtocol):
    """The contract of the unit's streams, and what the unit asserts about itself (see its source)."""

    def __init__(self, dut, **options):
        super().__init__(dut, **options)
        Cut.ports = self.ports  # those of the parts that are made when the unit is elaborated

    def elaborate(self, platform):
        m = super().elaborate(platform)
        return m


def planted(module, old, new):
    """Copy of a module with the only occurrence of ``old`` in its source replaced; its cut parts stay."""
    copy = planting.planted(module, old, new)
    for name in ("AimPu", "ElementwiseMultiplier", "Epu"):
        if hasattr(module, name):
            setattr(copy, name, getattr(module, name))
    return copy


def channel_config(**fields):
    return AimChannelConfig(
        **{
            "banks": 4,
            "lanes": 4,
            "buffer_bytes": 32,
            "opsize_bits": 4,
            "depth": 2,
            "multiply_depth": 1,
            "activation_depth": 1,
            **fields,
        }
    )


def channel_contract(module, config):
    dut = module.AimChannel(config)
    covers = {}
    if config.sets == 2:
        fills = dut.data.valid & dut.data.ready
        covers["a buffer is filled beside a product"] = fills & dut.bank.valid & dut.bank.ready
    return Contract(
        dut,
        covers=covers,
        assumptions={"commands that a program has": Cat(dut.command.p.op == code for code in CODES.values()).any()},
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "config",
    [pytest.param(channel_config(), id="single"), pytest.param(channel_config(buffering="ping-pong"), id="ping-pong")],
)
def test_channel_proved(cut, config):
    result = prove(channel_contract(channel_module, config), induction=6)
    assert result.status == "proved", result
    assert not result.unreached
    assert messages(result.reached) >= {"result is stalled", "write is stalled", "bank transfers an item"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "failing"),
    [
        ("free.eq(Array(product_gb)[other_gb] == 0)", "free.eq(1)", "AimChannel: a buffer is filled or used"),
        (
            "free.eq((Array(host_gb)[product_from] == 0) & (Array(host_set)[product_on] == 0))",
            "free.eq(Array(host_set)[product_on] == 0)",
            "AimChannel: a buffer is filled or used",
        ),
        (
            "                  & (~gives | (result_places != 0))\n",
            "",
            "AimChannel: each place for a result is free, reserved, or taken",
        ),
        ("m.d.comb += free.eq(idle)", "m.d.comb += free.eq(1)", "AimChannel: nothing is under way beside it"),
        (
            "                  & ~(waits & (Array(product_set)[host.set] != 0))",
            "                  ",
            "AimChannel: results are read when the products are done",
        ),
    ],
)
def test_channel_defects_found(cut, old, new, failing):
    config = channel_config(buffering="ping-pong")
    result = prove(channel_contract(planted(channel_module, old, new), config))
    assert result.status == "counterexample", result
    assert failing in messages(result.failing)


def hub_config(**fields):
    return PimHubConfig(**{"channels": 2, "lanes": 2, "gpr_bytes": 8, "max_elements": 4, "lane_depth": 1, **fields})


BANKS = {"gpr_bytes": 16, "banks": 2, "bank_ports": 1, "register_ports": 2}


@pytest.mark.slow
@pytest.mark.parametrize("fields", [pytest.param({}, id="one-memory"), pytest.param(BANKS, id="banks")])
def test_hub_proved(cut, fields):
    result = prove(Contract(hub_module.PimHub(hub_config(**fields))))
    assert result.status == "proved", result
    assert not result.unreached


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "module", "old", "new", "failing"),
    [
        (
            "Transfers",
            transfers_module,
            "sends & (places != 0) | gives",
            "sends | gives",
            "Transfers: each place for what is sent is free, reserved, or taken",
        ),
        (
            "RegisterFile",
            registers_module,
            "face.write & ~_any(go for go, *_ in port) & ~(access.mask & written).any()",
            "face.write",
            "RegisterFile: one write of a bank at a time",
        ),
    ],
)
def test_hub_defects_found(cut, monkeypatch, part, module, old, new, failing):
    monkeypatch.setattr(hub_module, part, getattr(planted(module, old, new), part))
    result = prove(Contract(hub_module.PimHub(hub_config(**BANKS))))
    assert result.status == "counterexample", result
    assert failing in messages(result.failing)
