"""Functional model of an AiM channel: sums, what belongs to which set, element-wise products, copies, activation."""

from __future__ import annotations

import numpy as np
import pytest

from bankside.constraints.aim.channel import PRESETS, AimChannelConfig
from bankside.constraints.core.errors import ConfigError
from bankside.models.aim.channel import ChannelModel, Operation
from bankside.models.aim.program import execute, gemv, memory_program
from bankside.models.memory.aim import FrontEnd
from bankside.models.numerics import dot_stream, from_float64, interpolate, multiply, to_float64


def random(config, rng, *shape):
    return from_float64(rng.normal(size=shape), config.fmt)


def result_of(config, weights, inputs):
    model = ChannelModel(config)
    execute(model, gemv(config, weights, inputs))
    return np.array(model.results)[:, : config.banks].reshape(-1)[: len(weights)]


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("shape", [(16, 16), (37, 100), (40, 2100)])
def test_matrix_vector_product(name, shape):
    """The aligned sum of all products, rounded once; more outputs than registers, more inputs than the buffer holds."""
    config, rng = PRESETS[name], np.random.default_rng(1)
    weights, inputs = random(config, rng, *shape), random(config, rng, shape[1])
    got = result_of(config, weights, inputs)
    words = -(-shape[1] // config.lanes)
    padded = np.zeros((2, shape[0], words * config.lanes), np.int64)
    padded[0, :, : shape[1]], padded[1, :, : shape[1]] = weights, inputs
    beats = padded.reshape(2, shape[0] * words, config.lanes)
    at = np.arange(shape[0] * words) % words
    assert (
        got
        == dot_stream(
            *beats,
            at == 0,
            at == words - 1,
            fmt=config.fmt,
            result=config.fmt,
            window=config.window.bits,
            beats=config.max_beats,
        )
    ).all()
    exact = to_float64(weights, config.fmt) @ to_float64(inputs, config.fmt)
    assert np.abs(to_float64(got, config.fmt) - exact).max() <= 2.0**-config.fmt.precision * np.abs(exact).max()


def test_order_with_two_sets_gives_the_same_numbers():
    single, double = PRESETS["aim"], PRESETS["aim-ping-pong"]
    rng = np.random.default_rng(2)
    weights, inputs = random(single, rng, 70, 2100), random(single, rng, 2100)
    assert (result_of(single, weights, inputs) == result_of(double, weights, inputs)).all()
    steps = gemv(double, weights, inputs)
    kinds = [step.operation.op for step in steps]
    first = kinds.index("MAC_ABK")
    assert kinds[first + 1] == "WR_GB"  # the next inputs come before anything else


def test_what_is_written_is_read():
    config = AimChannelConfig(registers=4)
    model, rng = ChannelModel(config), np.random.default_rng(3)
    words = [rng.integers(0, 1 << 16, (1, 16)) for _ in range(4)]
    for register, word in enumerate(words):
        model.execute(Operation("WR_BIAS", register=register), words=word)
    for register in range(4):
        model.execute(Operation("RD_MAC", register=register))
    assert (np.array(model.results) == np.concatenate(words)).all()


def test_sum_goes_on_behind_its_result():
    """A second command adds to the aligned sum, not to the rounded number."""
    config = AimChannelConfig()
    model, fmt = ChannelModel(config), config.fmt
    one, small = (from_float64(np.array(x), fmt) for x in (1.0, 2.0**-9))
    model.execute(Operation("WR_GB"), words=np.full((1, 16), one))
    model.execute(Operation("WR_BIAS"), words=np.full((1, 16), one))
    access = np.zeros((1, 16, 16), np.int64)
    access[..., 0] = small
    for _ in range(4):  # 1 + 2**-9 is 1 again, 1 + 4 * 2**-9 = 1 + 2**-7 is not
        model.execute(Operation("MAC_ABK"), access)
        model.execute(Operation("RD_MAC"))
    assert to_float64(np.array(model.results)[:, 0], fmt).tolist() == [1.0, 1.0, 1 + 2.0**-7, 1 + 2.0**-7]


def test_sets():
    """WR_GB and WR_BIAS go to the sets that the last product did not use; RD_MAC reads the set of the last product."""
    config = PRESETS["aim-ping-pong"]
    model, fmt = ChannelModel(config), config.fmt

    def number(x):
        return np.full((1, 16), from_float64(np.array(x), fmt))

    access = np.zeros((1, 16, 16), np.int64)
    access[..., 0] = number(1.0)[0, 0]
    model.execute(Operation("WR_GB"), words=number(2.0))
    model.execute(Operation("WR_BIAS"), words=number(10.0))
    model.execute(Operation("MAC_ABK"), access)  # 12
    model.execute(Operation("WR_GB"), words=number(3.0))
    model.execute(Operation("WR_BIAS"), words=number(20.0))
    model.execute(Operation("RD_MAC"))
    model.execute(Operation("MAC_ABK"), access)  # 23
    model.execute(Operation("MAC_ABK"), access)  # 26: no new set without a write
    model.execute(Operation("RD_MAC"))
    assert to_float64(np.array(model.results)[:, 0], fmt).tolist() == [12.0, 26.0]


def test_neighbours_and_single_banks():
    config, rng = AimChannelConfig(), np.random.default_rng(4)
    model = ChannelModel(config)
    access = random(config, rng, 1, 16, 16)
    model.execute(Operation("WR_BIAS"), words=np.zeros((1, 16), np.int64))
    model.execute(Operation("MAC_ABK", neighbour=1), access)
    model.execute(Operation("RD_MAC"))
    values = to_float64(access[0], config.fmt)
    exact = (values[0::2] * values[1::2]).sum(axis=1)
    got = to_float64(model.results[0], config.fmt)
    assert np.abs(got[0::2] - exact).max() < 0.05 and not got[1::2].any()
    model.execute(Operation("WR_GB"), words=random(config, rng, 1, 16))
    model.execute(Operation("MAC_SBK", bank=5), access)
    model.execute(Operation("RD_MAC"))
    assert np.flatnonzero(model.results[1] != model.results[0]).tolist() == [5]


def test_elementwise_copies_activation():
    config, rng = AimChannelConfig(activations="sigmoid,gelu"), np.random.default_rng(5)
    model = ChannelModel(config)
    access = random(config, rng, 3, 16, 16)
    model.execute(Operation("EWMUL", opsize=3), access)
    for write, word in zip(model.writes, access, strict=True):
        assert write.banks == 0x4444 and (write.words[2::4] == multiply(word[0::4], word[1::4], config.fmt)).all()
    model.execute(Operation("COPY_BKGB", opsize=3, column=62, bank=7), access)  # runs over the last column
    model.execute(Operation("COPY_GBBK", opsize=3, column=62, bank=6))
    assert [write.banks for write in model.writes[3:]] == [1 << 6] * 3
    assert (np.array([write.words[6] for write in model.writes[3:]]) == access[:, 7]).all()
    word = random(config, rng, 1, 16)
    model.execute(Operation("WR_ABK", element=3), words=word)
    assert (model.writes[-1].words[:, 3] == word[0]).all() and model.writes[-1].element == 3
    model.execute(Operation("WR_BIAS"), words=word)
    for function in range(2):
        model.execute(Operation("AF", function=function))
        model.execute(Operation("RD_AF"))
        assert (model.results[-1] == interpolate(word[0], config.tables[function])).all()


@pytest.mark.parametrize(
    ("before", "operation", "message"),
    [
        ([], "MAC_ABK", "register 0 of set 0 was never written; WR_BIAS begins every sum"),
        ([], "MAC_SBK", "register 0 of set 0 was never written; WR_BIAS begins every sum"),
        (["WR_GB", "WR_BIAS", "MAC_ABK", "WR_GB"], "RD_MAC", None),
        (["WR_GB"], "RD_MAC", "register 0 of set 0 was never written; WR_BIAS begins every sum"),
        (
            ["WR_BIAS"],
            "AF",
            "register 0 of set 0 was never written; WR_BIAS begins every sum",
        ),  # the set of the last product
        (["WR_BIAS"], "MAC_ABK", "column 0 of the global buffer 0 was never written; WR_GB and COPY_BKGB write it"),
        (["WR_GB", "WR_BIAS", "MAC_ABK", "COPY_BKGB", "WR_BIAS"], "MAC_ABK", None),
        ([], "COPY_GBBK", "column 0 of the global buffer 0 was never written; WR_GB and COPY_BKGB write it"),
        (["WR_GB", "WR_BIAS", "MAC_ABK"], "RD_AF", "no activation was computed; AF does that"),
        (["WR_GB", "WR_BIAS", "MAC_ABK", "AF"], "RD_AF", None),
    ],
)
def test_what_nothing_has_written_is_not_used(before, operation, message):
    """It holds anything after power-up."""
    config = PRESETS["aim-ping-pong"]
    model = ChannelModel(config)

    def execute_one(op):
        one = Operation(op)
        model.execute(one, np.zeros((one.accesses, 16, 16), np.int64), np.zeros((one.words, 16), np.int64))

    for op in before:
        execute_one(op)
    if message is None:
        execute_one(operation)
    else:
        with pytest.raises(ConfigError, match=f"^{operation}: {message}$"):
            execute_one(operation)


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (Operation("MAC_ABC"), r"^unknown command of a channel 'MAC_ABC'.*MAC_ABK"),
        (Operation("RD_MAC", register=2), r"^RD_MAC: register must be 0 to 1, not 2$"),
        (Operation("WR_GB", column=64), r"^WR_GB: column must be 0 to 63, not 64$"),
        (Operation("AF", function=1), r"^AF: function must be 0 to 0, not 1$"),
    ],
)
def test_commands_that_are_wrong(operation, message):
    with pytest.raises(ConfigError, match=message):
        ChannelModel(AimChannelConfig()).execute(operation)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"banks": 6}, "banks must be a multiple of 4, not 6"),
        ({"banks": 16, "lanes": 8}, r"banks must be at most lanes \(8\)"),
        ({"buffer_bytes": 100}, "buffer_bytes must be a power of two times 32"),
        ({"registers": 1, "buffering": "ping-pong"}, "registers must be a power of two from 2 on, not 1"),
        ({"activations": "sigmod"}, "sigmod.*sigmoid"),
    ],
)
def test_configurations_that_are_wrong(fields, message):
    with pytest.raises(ValueError, match=message):
        AimChannelConfig(**fields)


def test_program_of_the_memory():
    """The commands are those that the timing of the memory knows, with the operations of each."""
    config, rng = PRESETS["cent"], np.random.default_rng(6)
    steps = gemv(config, random(config, rng, 100, 1100), random(config, rng, 1100), base=5)
    timing = FrontEnd().time(memory_program(steps))
    products = [step for step in steps if step.operation.op == "MAC_ABK"]
    assert timing.commands["MAC16"] == sum(step.operation.opsize for step in products)
    assert timing.commands["RDMAC16"] == 7 and len({step.row for step in products}) == 14
