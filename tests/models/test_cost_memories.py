"""Buffers by the macro model: against published areas, and what it does with size, ports and process."""

from pathlib import Path

import pytest

from bankside.constraints.errors import ConfigError
from bankside.constraints.libraries import macro_family
from bankside.models.cost import PUBLISHED, buffer_cost
from bankside.models.cost.memories import table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "synthesis.md"


@pytest.mark.parametrize("published", [one for one in PUBLISHED if one.tolerance], ids=lambda one: one.name)
def test_published_areas(published):
    assert abs(published.error) <= published.tolerance
    low, high = published.cost.band_mm2
    assert low < published.mm2 < high


def test_the_page_shows_every_error():
    assert table() in PAGE.read_text(encoding="utf-8")


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


@pytest.mark.parametrize("arguments", [(1 << 12, 32, 1, "9nm"), (100, 10, 1, "28nm"), (4096, 32, 0, "28nm"),
                                       (4096, 8192, 1, "28nm")])
def test_bad_input(arguments):
    with pytest.raises(ConfigError):
        buffer_cost(*arguments)
