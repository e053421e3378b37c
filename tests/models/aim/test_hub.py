"""Functional model of the hub: softmax and norms against binary64, special values, registers and transfers."""

from __future__ import annotations

import numpy as np
import pytest

from bankside.constraints.aim.hub import PRESETS, PimHubConfig
from bankside.constraints.core.errors import ConfigError
from bankside.models.aim.hub import HubCommand, HubModel, layer_norm, softmax
from bankside.models.numerics import add, from_float64, multiply, to_float64

SMALL = PimHubConfig(channels=4, lanes=4, gpr_bytes=256, max_elements=64)


@pytest.mark.parametrize("config", PRESETS.values(), ids=PRESETS)
@pytest.mark.parametrize("count", [1, 15, 16, 1000])
@pytest.mark.parametrize("scale", [0.5, 8])
def test_accuracy(config, count, scale):
    """Results are within 0.6 ulp of the exact ones: little more than one rounding to the format. A norm loses as many bits
    of FP32 as the mean is larger than the deviation."""
    rng, fmt = np.random.default_rng(count), config.fmt
    x = from_float64(rng.normal(size=count) * scale + 2, fmt)
    wide = to_float64(x, fmt)
    p = np.exp(wide - wide.max())
    y = wide - wide.mean()
    factor, root = (1 / np.sqrt(np.mean(z * z) + config.epsilon) for z in (y, wide))
    for got, exact, more in (
        (softmax(config, x), p / p.sum(), 0),
        (layer_norm(config, x), y * factor, factor),
        (layer_norm(config, x, centred=False), wide * root, 0),
    ):
        ulp = 2.0 ** (np.floor(np.log2(np.maximum(np.abs(exact), 2.0 ** (1 - fmt.bias)))) - fmt.fraction_bits)
        assert (np.abs(to_float64(got, fmt) - exact) <= 0.6 * ulp + 2.0**-21 * more * np.abs(wide).max()).all()


def test_special_values():
    config, fmt = SMALL, SMALL.fmt
    nan, low, high = fmt.nan, fmt.negative_infinity, fmt.infinity
    one = int(from_float64(np.array(1.0), fmt))
    assert softmax(config, np.array([low, one, low])).tolist() == [0, one, 0]
    assert softmax(config, np.array([one, nan, one])).tolist() == [nan] * 3
    assert softmax(config, np.array([low, low])).tolist() == [nan] * 2  # 0 / 0
    assert softmax(config, np.array([one, high])).tolist() == [nan] * 2  # infinity minus infinity
    assert softmax(config, np.array([fmt.largest, fmt.largest | fmt.sign_mask])).tolist() == [one, 0]
    assert layer_norm(config, np.array([one] * 5)).tolist() == [0] * 5
    assert layer_norm(config, np.array([one, nan])).tolist() == [nan] * 2


def test_registers_and_transfers():
    config, rng = SMALL, np.random.default_rng(1)
    model = HubModel(config)
    words = from_float64(rng.normal(size=(5, 4)), config.fmt)
    model.execute(HubCommand("WR_GPR", 5, 30), words)  # runs over the last register
    model.execute(HubCommand("WR_GB", 2, 31, mask=0b1010))
    assert [len(words) for words in model.sent] == [2, 0, 2, 0] and (np.array(model.sent[2]) == words[1:3]).all()
    results = from_float64(rng.normal(size=(2, 4)), config.fmt)
    model.execute(HubCommand("RD_MAC", 1, 8, mask=0b0101), results)
    model.execute(HubCommand("EWADD", 2, 8, 30))
    assert (model.registers[8:10] == add(results, words[:2], config.fmt)).all()
    model.execute(HubCommand("GPR_MUL", 1, 8, 0))
    assert (model.registers[8] == multiply(add(results[0], words[0], config.fmt), words[2], config.fmt)).all()
    model.execute(HubCommand("SOFTMAX", 6, 30, 12))
    assert (model.registers[12:14].reshape(-1)[:6] == softmax(config, words.reshape(-1)[:6])).all()
    assert not model.registers[13, 2:].any()  # behind the vector
    model.execute(HubCommand("RD_GPR", 2, 12))
    assert (np.array(model.given) == model.registers[12:14]).all()


@pytest.mark.parametrize(
    "command",
    [
        HubCommand("WR_GB", 2, 3, mask=1),
        HubCommand("WR_BIAS", 1, 4),
        HubCommand("RD_GPR", 1, 4),
        HubCommand("EWADD", 2, 3, 2),
        HubCommand("EWADD", 1, 2, 4),
        HubCommand("SOFTMAX", 5, 3),
        HubCommand("LAYERNORM", 4, 4),
    ],
)
def test_registers_that_nothing_has_written_are_not_used(command):
    """They hold anything after power-up."""
    model = HubModel(SMALL)
    model.execute(HubCommand("WR_GPR", 2, 2), np.zeros((2, 4), np.int64))
    with pytest.raises(ConfigError, match=f"^{command.op}: register 4 was never written$"):
        model.execute(command)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (HubCommand("SOFTMIN"), r"^unknown command of the hub 'SOFTMIN'.*SOFTMAX"),
        (HubCommand("SOFTMAX", 65), r"^SOFTMAX: opsize must be 0 to 64, not 65$"),
        (HubCommand("WR_GB", 1, 32), r"^WR_GB: gpr must be 0 to 31, not 32$"),
        (HubCommand("RD_MAC", mask=16), r"^RD_MAC: mask must be 0 to 15, not 16$"),
    ],
)
def test_commands_that_are_wrong(command, message):
    with pytest.raises(ConfigError, match=message):
        HubModel(SMALL).execute(command)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"lanes": 12}, "lanes must be a power of two, not 12"),
        ({"gpr_bytes": 1000}, "gpr_bytes must be a power of two times a register"),
    ],
)
def test_configurations_that_are_wrong(fields, message):
    with pytest.raises(ValueError, match=message):
        PimHubConfig(**fields)
