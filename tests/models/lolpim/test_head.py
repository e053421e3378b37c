"""Attention of a head as a program: the module's model executes its words, against attention in binary64."""

import numpy as np
import pytest

from bankside.constraints.aim.encoding import DispatchError
from bankside.constraints.core.errors import ConfigError
from bankside.constraints.lolpim.module import PRESETS, LolPimModuleConfig
from bankside.cosim.lolpim.module import KINDS, Session, decode_steps
from bankside.models.lolpim.head import Head
from bankside.models.numerics import to_float64
from bankside.models.program import Affine
from bankside.models.program.encoding import decode_program, encode_program


def module(channels=1, **channel):
    """Four banks, four lanes, rows of eight columns."""
    return LolPimModuleConfig.model_validate(
        {
            "dispatcher": {
                "command_bytes": 4096,
                "table_entries": 64,
                "slots": 3,
                "row_bits": 6,
                "entry_bits": 8,
                "mask_bits": channels,
                "column_bits": 3,
                "bank_bits": 2,
                "gpr_bits": 7 if channels < 4 else 9,
                "opsize_bits": 9,
                "register_bits": 2 if channel.get("registers") == 4 and "buffering" not in channel else 1,
            },
            "channel": {
                "banks": 4,
                "lanes": 4,
                "buffer_bytes": 64,
                "max_beats": 1024,
                "table_entries": 16,
                "opsize_bits": 9,
                **channel,
            },
            "hub": {"channels": channels, "lanes": 4, "gpr_bytes": 1024 if channels < 4 else 4096, "max_elements": 256},
        }
    )


@pytest.mark.parametrize(
    "config",
    [
        module(),
        module(2),
        module(registers=4),
        module(buffering="ping-pong"),
        module(2, buffering="ping-pong", registers=4),
        module(4),
        module(4, buffering="ping-pong"),
    ],
    ids=[
        "single",
        "two channels",
        "registers",
        "ping-pong",
        "two channels, ping-pong",
        "two parts of the tokens",
        "two parts, ping-pong",
    ],
)
@pytest.mark.parametrize("group", [1, 3], ids=["a query", "three queries"])
def test_decode_steps(config, group):
    """Requests of different lengths, from the first token on and over the border of chunks; rows are scattered."""
    session = Session(config, 8, 16, np.random.default_rng(3), group=group)
    chunk = session.head.chunk
    decode_steps(session, [(chunk - 2, 4, "normal"), (0, 3, "normal"), (2 * chunk - 1, 2, "normal")], 4)
    decode_steps(session, [(chunk, 1, kind) for kind in KINDS[1:]], 1)
    model = session.model
    assert {end.code for end in model.dispatcher.done} == {DispatchError.NONE}
    assert [tuple(row[:-1]) for row in model.dispatcher.issued] == [row[:-1] for row in session.expanded]
    assert [one.tokens for one in session.decoded[:9]] == [
        chunk - 1,
        1,
        2 * chunk,
        chunk,
        2,
        2 * chunk + 1,
        chunk + 1,
        3,
        chunk + 2,
    ]
    for one in session.decoded:
        got = to_float64(np.array(model.given[one.results]).reshape(-1), session.fmt)
        # Scores, probabilities and result are rounded to the format.
        assert np.abs(got - one.exact).max() <= 0.04, (one.tokens, one.kind)
    assert any(np.diff(rows) != 1 for rows in session.physical[:4])


def test_words_are_the_program():
    """Every program of a head is encoded and decoded; the compiled text is small, whatever the number of tokens."""
    config = PRESETS["lol-pim-channel"]
    head = Head(config, 128)
    for program in (head.append(0), head.attend):
        words = encode_program(program, config.dispatcher.encoding)
        assert decode_program(words, config.dispatcher.encoding) == program and len(words) < 20
    assert (head.chunk, head.passes, head.most_tokens) == (128, 8, 131072)
    softmax = next(command for command, _ in head.attend.commands() if command.op == "SOFTMAX")
    assert str(softmax["opsize"]) == "1+t/1" and softmax["gpr0"] == Affine(head.scores)


def test_places_are_used_once():
    head = Head(module(2), 8)
    keys = {
        (channel, bank, row, column + word)
        for token in range(3 * head.chunk)
        for channel, bank, row, column in [head.place_key(token)]
        for word in range(head.words)
    }
    values = {head.place_value(token, dim) for token in range(3 * head.chunk) for dim in range(8)}
    assert len(keys) == 3 * head.chunk * head.words and len(values) == 3 * head.chunk * 8
    assert {row for _, _, row, _ in keys} == {0, 2, 4} and {row for _, _, row, _, _ in values} == {1, 3, 5}
    assert max(column for *_, column in keys) < head.columns and max(place[3] for place in values) < head.columns


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hub": {"channels": 1, "lanes": 8, "gpr_bytes": 1024, "max_elements": 256}}, "hub.lanes must be equal"),
        (
            {"channel": {"banks": 4, "lanes": 4, "buffer_bytes": 64, "opsize_bits": 9, "format": "fp16"}},
            "channel.format must be the hub's, bf16, not fp16",
        ),
        ({"channel": {"banks": 4, "lanes": 4, "buffer_bytes": 64, "opsize_bits": 12}}, "channel.opsize_bits must be 9"),
        (
            {"channel": {"banks": 4, "lanes": 4, "buffer_bytes": 128, "opsize_bits": 9}},
            "dispatcher.column_bits must be 4",
        ),
        ({"hub": {"channels": 1, "lanes": 4, "gpr_bytes": 2048, "max_elements": 256}}, "dispatcher.gpr_bits must be 8"),
        (
            {"hub": {"channels": 2, "lanes": 4, "gpr_bytes": 1024, "max_elements": 256}},
            "at least the hub's channels, 2, not 1",
        ),
    ],
)
def test_units_that_do_not_fit(change, message):
    with pytest.raises(ValueError, match=message):
        LolPimModuleConfig.model_validate({**module().model_dump(), **change})


def test_heads_that_do_not_fit():
    with pytest.raises(
        ConfigError,
        match="^head dimension must be a power of two from 4, the banks of a channel, to 32, "
        "the elements of a row, not 2$",
    ):
        Head(module(), 2)
    session = Session(module(), 8, 16, np.random.default_rng(1))
    with pytest.raises(ConfigError, match="^tokens must be at most 160 for this configuration, not 161$"):
        decode_steps(session, [(161, 1, "normal")], 1)
    with pytest.raises(ConfigError, match="^16 rows of the banks are too few$"):
        decode_steps(session, [(100, 1, "normal"), (100, 1, "normal")], 1)
