"""Costs against the data behind CENT's figures 12a and 12b and its Table 6."""

from __future__ import annotations

import pytest

from bankside.constraints.core.errors import ConfigError
from bankside.models.cost import controller_cost, development_usd, hourly_usd, load_costs, system_usd, tokens_per_usd


@pytest.mark.parametrize("millions, nre", [(1, 24.376611), (2, 12.1883055), (3, 8.125537), (5, 4.8753222)])
def test_a_controller_costs_what_figure_12a_shows(millions, nre) -> None:
    cost = controller_cost(volume=millions * 1e6)
    assert cost.area_mm2 == pytest.approx(18.96)
    assert cost.die_usd == pytest.approx(2.6892438605815463, rel=1e-12)
    assert cost.package_usd == pytest.approx(1.0984235486882372, rel=1e-12)
    assert cost.nre_usd == pytest.approx(nre, rel=1e-12)


def test_development_by_part_is_figure_12b() -> None:
    parts = list(development_usd(load_costs().nre).values())
    assert parts == pytest.approx([13755000, 3111250, 340600, 3766250, 3069461, 137550, 196500])
    assert sum(parts) == pytest.approx(24376611)


def test_a_system_costs_what_table_6_shows() -> None:
    price = system_usd(32, 512)
    assert [round(value, 1) for value in price.values()] == [2128, 11873, 381.2, 490]  # the paper prints 381.3
    assert sum(price.values()) == pytest.approx(14873, rel=1e-4)
    assert hourly_usd(42128, 1107) == pytest.approx(1.757, abs=1e-3)
    assert tokens_per_usd(100, 0.36) == 1e6


def test_a_larger_controller_costs_more() -> None:
    """A square millimetre more is about a twentieth of the die, and less than a tenth more cost."""
    one, two = controller_cost(), controller_cost(pnm_mm2=2.02)
    assert two.area_mm2 - one.area_mm2 == pytest.approx(1) and 1.05 < two.die_usd / one.die_usd < 1.07
    assert two.nre_usd == one.nre_usd and two.good < one.good


def test_a_die_that_fits_no_wafer_is_refused() -> None:
    with pytest.raises(ConfigError, match="does not fit a wafer"):
        controller_cost(pnm_mm2=80000)
    with pytest.raises(ConfigError, match="volume"):
        controller_cost(volume=0)
