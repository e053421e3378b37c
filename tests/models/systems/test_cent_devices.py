"""A LLaMA block over several CENT devices: parts of the matrices, sums through the switch, results against binary64."""

from dataclasses import replace

import numpy as np
import pytest

from bankside.constraints.cent.device import PRESETS, LlamaBlock
from bankside.constraints.cent.isa import fields_of
from bankside.constraints.core.errors import ConfigError
from bankside.cosim.cent.device import Mixes, Session
from bankside.models.cent.device import DeviceModel, DevicesModel
from bankside.models.cent.executable import MATRICES, SUMMED, ExecutableBlock
from bankside.models.cent.words import encode_words
from bankside.models.numerics import to_float64
from bankside.models.program import Program

SMALL = PRESETS["cent-small"]


@pytest.mark.parametrize(
    ("devices", "shape"),
    [
        (2, {}),
        (2, {"maximum": True, "score_range": 60.0}),
        (3, {"heads": 6, "kv_heads": 3, "head_dim": 8, "ffn": 36}),
        (4, {"heads": 8, "kv_heads": 4, "head_dim": 8, "ffn": 48}),
    ],
)
def test_block_over_devices_against_binary64(devices, shape):
    """Every device has the same result, which is near the exact one."""
    whole = {"hidden": 32, "heads": 4, "kv_heads": 2, "head_dim": 16, "ffn": 80, "tokens": 2, "past": 9}
    work = LlamaBlock(**{**whole, **shape}, devices=devices)
    session = Session(SMALL, work, np.random.default_rng(2))
    for one in session.decoded:
        results = [np.array(model.given[one.results]) for model in session.models]
        assert all(np.array_equal(result, results[0]) for result in results)
        got = to_float64(results[0].reshape(-1), session.fmt)
        assert np.linalg.norm(got - one.exact) < 0.03 * np.linalg.norm(one.exact)


def test_parts_of_the_matrices_are_the_whole():
    """Outputs are divided, or inputs if the results are summed: all parts together are the matrix."""
    first = ExecutableBlock(
        32, 2, 1, 8, 40, 2, banks=4, lanes=4, columns=8, registers=8, slots=256, max_tokens=4, devices=2
    )
    for name in MATRICES:
        inputs, outputs = first.matrix(name)
        shape = (outputs, 2 * inputs) if name in SUMMED else (2 * outputs, inputs)
        matrix = np.arange(np.prod(shape)).reshape(shape)
        parts = [block.share(name, matrix) for block in (first, replace(first, device=1))]
        assert np.array_equal(np.concatenate(parts, axis=int(name in SUMMED)), matrix)


def test_sums_that_pass_the_switch():
    """Every device but the first sends its sums of two matrices; the first broadcasts. A message holds two slots."""
    session = Session(
        SMALL,
        LlamaBlock(hidden=32, heads=4, kv_heads=4, head_dim=8, ffn=48, tokens=1, past=2, devices=4),
        np.random.default_rng(3),
    )
    passed = session.episodes[2].passed
    messages = 2 * (32 // 4 // 2)
    assert [len(sent) for sent in passed.sent] == [0, *[messages] * 4]
    assert [len(sent[0].targets) for sent in passed.sent[1:]] == [3, 1, 1, 1]
    assert passed.received == [6, 2, 2, 2]


def commands(model, *instructions):
    program = Program()
    for op, operands in instructions:
        program.command(op, **operands)
    words = encode_words(program, SMALL.decoder.isa)
    columns = {**SMALL.decoder.isa.commands(fields_of(words)), "position": np.arange(len(words))}
    return np.stack([columns[name] for name in model.config.command_layout.widths], axis=1)


def two_devices():
    return DevicesModel([DeviceModel(SMALL.joined, [{}] * SMALL.channels) for _ in range(2)])


def test_neighbouring_transfers_stay_apart():
    """RECV_CXL counts transfers, so two of them are not one."""
    joined = two_devices()
    joined.models[0].hub.store(0, np.ones((4, 4), np.int64))
    one = commands(
        joined.models[0], *(("SEND_CXL", {"opsize": 2, "gpr0": at, "gpr1": at, "device": 1}) for at in (0, 2))
    )
    other = commands(joined.models[1], ("RECV_CXL", {}), ("RECV_CXL", {}))
    assert joined.run_programs([one, other]).received == [0, 2]
    assert joined.models[1].hub.known[:4].all() and joined.models[1].hub.registers[:4].all()


@pytest.mark.parametrize(
    ("instructions", "message"),
    [
        ([("RECV_CXL", {})], "instruction 0 of device 0 waits for a transfer that nobody sends"),
        (
            [("SEND_CXL", {"opsize": 1, "gpr0": 3, "gpr1": 0, "device": 1})],
            "slot 3 of device 0 is sent, but was never written",
        ),
        (
            [("WR_GPR", {"opsize": 1, "gpr": 0}), ("SEND_CXL", {"opsize": 1, "gpr0": 0, "gpr1": 0, "device": 3})],
            "a message of node 1 goes to device 3, but there are 2",
        ),
    ],
)
def test_programs_that_are_wrong(instructions, message):
    joined = two_devices()
    joined.models[0].host_words.append(np.zeros(4, np.int64))
    with pytest.raises(ConfigError, match=message):
        joined.run_programs([commands(joined.models[0], *instructions), commands(joined.models[1])])


def test_device_alone_sends_nothing():
    model = DeviceModel(SMALL.joined, [{}] * SMALL.channels)
    with pytest.raises(ConfigError, match="RECV_CXL: the device is joined with no other one"):
        model.run(commands(model, ("RECV_CXL", {})))


def test_random_transfers_have_every_kind():
    """Sends, broadcasts to one and to several devices, transfers to itself, of one slot and of many."""
    session = Mixes(SMALL, 4, 8, np.random.default_rng(1), 30)
    sent = [one for episode in session.episodes for messages in episode.passed.sent[1:] for one in messages]
    assert {len(one.targets) for one in sent} == {1, 2, 3} and {one.half for one in sent} == {True, False}
    assert any(one.source in one.targets for one in sent)
