"""Functional model of CENT's PNM units: sums, reductions and exponentials of slots against binary64, and configurations."""

from __future__ import annotations

import numpy as np
import pytest

from bankside.constraints.cent.pnm import PRESETS, CentPnmConfig, SlotWorkload
from bankside.constraints.core.errors import ConfigError
from bankside.models.aim.hub import HubCommand
from bankside.models.cent.pnm import PnmModel, exponentials, reduced
from bankside.models.numerics import add, from_float64, to_float64

SMALL = CentPnmConfig(channels=2, lanes=4, gpr_bytes=256)


def test_commands_on_slots():
    model, rng, fmt = PnmModel(SMALL), np.random.default_rng(1), SMALL.fmt
    slots = from_float64(rng.normal(size=(6, 4)), fmt)
    model.execute(HubCommand("WR_GPR", 6, 0), slots)
    model.execute(HubCommand("RED", 2, 0, 10))
    model.execute(HubCommand("EXP", 2, 4, 30))  # runs over the last slot
    model.execute(HubCommand("EWADD", 2, 0, 2))
    assert (model.registers[10:12, 0] == reduced(SMALL, slots[:2])).all() and not model.registers[10:12, 1:].any()
    assert (model.registers[[30, 31]] == exponentials(SMALL, slots[4:])).all()
    assert (model.registers[:2] == add(slots[:2], slots[2:4], fmt)).all()
    with pytest.raises(ConfigError, match="^EXP: register 6 was never written$"):
        model.execute(HubCommand("EXP", 3, 4, 0))
    with pytest.raises(ConfigError, match=r"^unknown command of the hub 'SOFTMAX'.*EXP"):
        model.execute(HubCommand("SOFTMAX", 3, 4, 0))


def test_reductions():
    """A fused sum is the exact one, rounded once. A tree loses what its partial sums do."""
    rng = np.random.default_rng(2)
    fused, tree = PRESETS["cent"], PRESETS["cent-taylor"]
    x = from_float64(rng.normal(size=(500, 16)), fused.fmt)
    exact = to_float64(x, fused.fmt).sum(axis=1)
    assert (reduced(fused, x) == from_float64(exact, fused.fmt)).all()
    assert (reduced(tree, x) != reduced(fused, x)).any()
    cancel = np.tile(from_float64(np.array([256.0, 1.0, -256.0, 1.0]), fused.fmt), (1, 4))
    assert to_float64(reduced(fused, cancel), fused.fmt) == 8
    nan, high = fused.fmt.nan, fused.fmt.infinity
    special = np.zeros((3, 16), np.int64)
    special[0, 3], special[1, 4], special[2, 5:7] = nan, high, (high, fused.fmt.negative_infinity)
    for config in (fused, tree):
        assert reduced(config, special).tolist() == [nan, high, nan]


def test_exponentials():
    """Faithful ones hold everywhere; the series by itself only near 0, as published figures of CENT's order 10 say."""
    x = from_float64(np.linspace(-20, 20, 800), SMALL.fmt)
    exact = np.exp(to_float64(x, SMALL.fmt))
    errors = {}
    for kind in ("faithful", "taylor", "taylor-reduced"):
        got = to_float64(exponentials(CentPnmConfig(exponential=kind), x), SMALL.fmt)
        errors[kind] = np.abs(got / exact - 1)
    assert errors["faithful"].max() < 2.0**-7 and errors["taylor-reduced"].max() < 2.0**-7
    wide = to_float64(x, SMALL.fmt)
    assert errors["taylor"][np.abs(wide) < 1].max() < 0.02 and errors["taylor"][wide < -6].min() > 100


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"exp_units": 12}, "exp_units must be a power of two, not 12"),
        ({"banks": 3}, "banks must be a power of two, and at most half of the 2048 registers, not 3"),
        ({"gpr_bytes": 1000}, "gpr_bytes must be a power of two times a register"),
    ],
)
def test_configurations_that_are_wrong(fields, message):
    with pytest.raises(ValueError, match=message):
        CentPnmConfig(**fields)


def test_least_clocks():
    """What the ports of the registers need: 44 and 66 clocks of the authors are 32 and 64 of these, and latencies."""
    one, wide = PRESETS["cent"], PRESETS["cent-32x32"]
    assert [one.least_clocks(op, 32) for op in ("EXP", "RED", "EWADD")] == [32, 32, 64]
    assert [wide.least_clocks(op, 32) for op in ("EXP", "RED", "EWADD")] == [1, 1, 2]
    single = CentPnmConfig(banks=32, bank_ports=1)
    assert [single.least_clocks(op, 64) for op in ("EXP", "EWADD")] == [4, 6]
    assert CentPnmConfig(bank_ports=1).least_clocks("EXP", 32) == 64


def test_workload_that_does_not_fit():
    with pytest.raises(ConfigError, match="^slots must be at most 1024 for this configuration, not 1025$"):
        SlotWorkload(slots=1025).check(PRESETS["cent"])
