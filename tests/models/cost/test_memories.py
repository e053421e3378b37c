"""Buffers by the macro model: against published areas, and what it does with size, ports and process."""

from pathlib import Path

import pytest

from bankside.constraints.aim.hub import PRESETS as HUBS
from bankside.constraints.core.errors import ConfigError
from bankside.constraints.libraries import macro_family
from bankside.constraints.libraries.cacti import load_cacti
from bankside.models.cost import PUBLISHED, buffer_cost, load_nodes, register_ports, second_opinion, unit_area
from bankside.models.cost.memories import macro_ports, opinions, table

PAGE = Path(__file__).resolve().parents[3] / "docs" / "synthesis.md"


@pytest.mark.parametrize("published", [one for one in PUBLISHED if one.tolerance], ids=lambda one: one.name)
def test_published_areas(published):
    assert abs(published.error) <= published.tolerance
    low, high = published.cost.band_mm2
    assert low < published.mm2 < high


def test_the_page_shows_every_error():
    text = PAGE.read_text(encoding="utf-8")
    assert table() in text and opinions() in text


def test_cacti_says_what_the_papers_say():
    """2 MB and 64 KB against CENT's 3.33 and 0.11 mm2; 2 KB is a tenth of LoL-PIM's 0.053, so that one has a penalty."""
    cacti = {bits: load_cacti().find(bits, 256, 1, "32nm").mm2 for bits in (2 << 23, 64 << 13, 2048 << 3)}
    assert list(cacti.values()) == [3.44, 0.1006, 0.006832]
    assert load_cacti().find(2 << 23, 256, 1, "14nm") is None
    lol = next(one for one in PUBLISHED if one.name.startswith("LoL"))
    assert lol.cacti_mm2 == pytest.approx(0.06832)


def test_every_array_names_a_process_and_is_there_once():
    points = load_cacti().points
    inputs = [(p.bits, p.width, p.ports, p.node, p.cells) for p in points]
    assert len(set(inputs)) == len(inputs) and all(p.node in load_nodes().nodes for p in points)


def test_banks_by_hand():
    """512 KB at 45 nm: the periphery of a macro is 1285.2 um2 and a bit 0.4614 um2; two ports cost 1.95 times one."""
    family = macro_family("generic")[1]
    slope = (16406.082 - 5065.704) / (32768 - 8192)
    for banks in (1, 8, 16):
        by_hand = banks * (5065.704 + slope * ((4 << 20) // banks - 8192)) * 1e-6
        assert buffer_cost(4 << 20, 256, 1, "45nm", banks=banks).mm2 == pytest.approx(by_hand)
    both = buffer_cost(4 << 20, 256, 2, "45nm").mm2
    assert 0.5 < buffer_cost(4 << 20, 256, 1, "45nm", banks=16).mm2 / both < 0.53
    assert both == pytest.approx(family.area_um2(4 << 20, 2) * 1e-6)
    # An access works in one bank.
    assert buffer_cost(4 << 20, 256, 1, "45nm", banks=8).read_pj == buffer_cost(1 << 19, 256, 1, "45nm").read_pj
    for banks in (0, 3, 1 << 14):
        with pytest.raises(ConfigError):
            buffer_cost(4 << 20, 256, 1, "45nm", banks=banks)


def test_second_opinion_on_the_macros_of_a_synthesis():
    macro = {"bits": 4 << 20, "width": 256, "read_ports": 1, "write_ports": 1}
    count, model, cacti = second_opinion([macro, macro, {**macro, "bits": 544}])
    assert (count, cacti) == (2, 2 * 3.607) and model == pytest.approx(2 * buffer_cost(4 << 20, 256, 2, "45nm").mm2)
    assert second_opinion([{**macro, "bits": 544}]) is None


def test_ports_of_the_banks_of_a_hub():
    """A netlist has two ports for every memory. A bank of the hub's registers has the ports of the configuration."""
    bank = {"name": "registers.bank_0", "bits": 1 << 19, "width": 256, "read_ports": 1, "write_ports": 1}
    queue = {**bank, "name": "transfers.outgoing.memory", "bits": 544, "width": 272}
    banks, both = (
        [macro_ports(m, register_ports(HUBS[name])) for m in (bank, queue)]
        for name in ("lol-pim", "lol-pim-two-ported")
    )
    assert (banks, both, macro_ports(bank, 1), macro_ports(queue)) == ([1, 2], [2, 2], 1, 2)
    count, model, cacti = second_opinion([bank] * 8 + [queue], register_ports(HUBS["lol-pim"]))
    assert (count, cacti) == (8, pytest.approx(8 * 0.1989))
    assert model == pytest.approx(buffer_cost(4 << 20, 256, 1, "45nm", banks=8).mm2)
    results = {"area_ge": 3000.0, "memory_ge_estimate": 1000.0, "memories": [bank] * 8}
    one, two = (unit_area(results, "32nm", "32nm", ports=ports).memories_mm2 for ports in ({"registers.": 1}, None))
    assert one == pytest.approx(buffer_cost(4 << 20, 256, 1, "32nm", banks=8).mm2) and two > 1.9 * one


def test_area_is_that_of_synthesis():
    """At the family's own node the model is the macro itself."""
    family = macro_family("generic")[1]
    for bits, ports in ((4096, 1), (32768, 2), (1 << 24, 1)):
        assert buffer_cost(bits, 32, ports, "45nm").mm2 == pytest.approx(family.area_um2(bits, ports) * 1e-6)


def test_energy():
    family = macro_family("generic")[1]
    for point in family.points:
        assert family.access_pj(point.bits, point.width) == pytest.approx(point.access_pj, rel=0.05)
    # A wider word is macros side by side.
    assert family.access_pj(1 << 16, 128) == pytest.approx(4 * family.access_pj(1 << 14, 32))
    at = [buffer_cost(1 << 15, 32, 1, node) for node in ("45nm", "32nm", "28nm", "14nm")]
    assert all(a.read_pj > b.read_pj and a.mm2 > b.mm2 for a, b in zip(at, at[1:], strict=False))
    assert at[0].read_pj == at[0].write_pj
    # Of caches of 8 KB, 32 KB and 1 MB with 64 bits, 45 nm, tags included: 10, 20, 100 pJ (Horowitz, ISSCC 2014).
    for kilobytes, published in ((8, 10), (32, 20), (1024, 100)):
        assert 0.6 < family.access_pj(kilobytes << 13, 64) / published < 1


@pytest.mark.parametrize(
    "arguments", [(1 << 12, 32, 1, "9nm"), (100, 10, 1, "28nm"), (4096, 32, 0, "28nm"), (4096, 8192, 1, "28nm")]
)
def test_bad_input(arguments):
    with pytest.raises(ConfigError):
        buffer_cost(*arguments)
