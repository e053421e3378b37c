"""The dispatcher's model: the paper's example, programs against their own expansion, every way in which a run ends."""

import numpy as np
import pytest

from bankside.constraints.aim.encoding import DispatchError, Host
from bankside.constraints.core.errors import ConfigError
from bankside.constraints.lolpim.dispatcher import PRESETS, DpaDispatcherConfig
from bankside.cosim.lolpim.dispatcher import every_error, growth, random_runs, score_program, worked_example
from bankside.models.lolpim import Dispatcher, Done, dispatch
from bankside.models.lolpim.host import load, release, set_layer, set_request, set_tokens, start
from bankside.models.program import Program
from bankside.models.program.encoding import encode_program

CONFIG = PRESETS["lol-pim"]
SMALL = DpaDispatcherConfig(command_bytes=4096, table_entries=64, slots=3)


def test_worked_example():
    """LoL-PIM section 5.1: request 1 has row 22; request 2, with 300 tokens, rows 33 and 34."""
    writes = [
        *load(CONFIG, encode_program(worked_example(), CONFIG.encoding)),
        *set_request(CONFIG, 0, 1, 256, 0, [22]),
        *set_request(CONFIG, 1, 2, 300, 1, [33, 34]),
    ]
    for slot, tokens, expected in (
        (0, 256, [("DOT", 22), ("OUT", 16)]),
        (0, 1, [("DOT", 22), ("OUT", 16)]),
        (1, 300, [("DOT", 33), ("OUT", 16), ("DOT", 34), ("OUT", 17)]),
        (1, 256, [("DOT", 33), ("OUT", 16)]),
        (1, 257, [("DOT", 33), ("OUT", 16), ("DOT", 34), ("OUT", 17)]),
        (1, 0, []),
    ):
        issued, done = dispatch(CONFIG, [*writes, set_tokens(CONFIG, slot, tokens), start(CONFIG, 0, slot)])
        told = [
            ("DOT", row) if op == 10 else ("OUT", gpr)
            for op, row, gpr in zip(*(issued.column(name).tolist() for name in ("op", "row", "gpr")), strict=True)
        ]
        assert told == expected and done == [Done(DispatchError.NONE, 2)]
        assert set(issued.column("request")[issued.column("op") == 10]) <= {slot + 1}


@pytest.mark.parametrize(
    "config",
    [
        SMALL,
        DpaDispatcherConfig(
            command_bytes=7680, line_words=10, mask_bits=40, nesting=6, slots=5, table_entries=96, row_bits=9
        ),
    ],
)
def test_random_programs_are_their_expansion(config):
    epochs, expected = random_runs(config, np.random.default_rng(2), 100)
    issued, done = dispatch(config, sum(epochs, []))
    assert {end.code for end in done} == {DispatchError.NONE} and len(done) == 100
    assert (issued.values[:, :-1] == np.concatenate(expected)[:, :-1]).all()


def test_errors():
    """What is before the error is issued, nothing behind it; the next run is refused until the error is cleared."""
    unit = Dispatcher(SMALL)
    seen = []
    for writes in every_error(SMALL):
        for write in writes:
            unit.write(*write)
        seen.append(unit.done[-1].code)
    assert seen[1::3] == [DispatchError.NOT_CLEARED] * (len(seen) // 3)
    assert seen[2::3] == [DispatchError.NONE] * (len(seen) // 3)
    stopped = {DispatchError.NONE, DispatchError.STOPPED, DispatchError.NOT_CLEARED}
    assert set(seen[::3]) == set(DispatchError) - stopped


def test_growth_over_the_border_of_a_chunk():
    """At 257 tokens the second row is used, which the host mapped in between; the slot's new request has its own rows."""
    issued, done = dispatch(SMALL, growth(SMALL, np.random.default_rng(1), 8))
    rows, request = issued.column("row"), issued.column("request")
    of = {name: rows[(request == name) & (issued.column("op") == 10)] for name in (1, 2, 3)}
    assert all(end.code == DispatchError.NONE for end in done)
    # Steps with 252 to 256 tokens use a row, those with 257 to 260 two.
    assert of[1].tolist() == [of[1][0]] * 5 + [of[1][0], of[1][6]] * 4 and of[1][0] != of[1][6]
    assert len(set(of[2])) == 1 and len(set(of[3])) == 2 and not set(of[2]) & set(of[3])


def test_release_takes_rows_and_slot():
    writes = [
        *load(SMALL, encode_program(worked_example(), SMALL.encoding)),
        *set_request(SMALL, 0, 1, 256, 3, [7]),
        release(SMALL, 0),
    ]
    unit = Dispatcher(SMALL)
    for write in [*writes, start(SMALL)]:
        unit.write(*write)
    assert unit.done == [Done(DispatchError.SLOT, 0)] and not unit.issued and not unit.table.any()


def test_current_layer():
    """A layer's rows lie one after the other in a request's virtual rows."""
    program = Program()
    with program.loop(4) as layer, program.loop(2) as step:
        program.command("MAC_ABK", opsize=1, mask=1, row=2 * layer + step, slot=0)
    words = encode_program(program, SMALL.encoding, layer=True)
    rows = list(range(50, 58))
    writes = [*load(SMALL, words), *set_request(SMALL, 2, 1, 0, 8, rows)]
    for now in range(4):
        writes += [set_layer(SMALL, now, 4), start(SMALL, 0, 2)]
    issued, done = dispatch(SMALL, writes)
    assert issued.column("row").tolist() == rows and len(done) == 4
    *_, end = dispatch(SMALL, [*writes, set_layer(SMALL, 4, 4), start(SMALL, 0, 2)])[1]
    assert end == Done(DispatchError.LAYER, 0)


def test_writes_to_nowhere():
    unit = Dispatcher(SMALL)
    for address in (
        SMALL.table_address(SMALL.table_entries),
        SMALL.command_address(SMALL.lines, 0),
        SMALL.host_address(Host.RELEASE) + 1,
        (1 << SMALL.address_bits) - 1,
    ):
        unit.write(address, 0xFFFFFFFF)
    unit.write(*release(SMALL, SMALL.slots))
    assert not unit.table.any() and not unit.words.any() and not unit.done
    unit.write(*start(SMALL, SMALL.lines + 5))
    assert unit.done == [Done(DispatchError.BEYOND, SMALL.lines)]


def test_scores_of_all_heads():
    issued, done = dispatch(
        CONFIG,
        [
            *load(CONFIG, encode_program(score_program(CONFIG, 8), CONFIG.encoding)),
            *set_request(CONFIG, 0, 1, 1000, 0, [4, 9, 2, 5]),
            start(CONFIG),
        ],
    )
    dot = issued.column("op") == 10
    assert len(issued.values) == 8 * (1 + 2 * 4) and done[0].code == DispatchError.NONE
    assert issued.column("row")[dot].tolist() == [4, 9, 2, 5] * 8
    assert issued.column("column")[dot].tolist() == [8 * head for head in range(8) for _ in range(4)]


def test_what_does_not_fit_the_buffer():
    words = encode_program(worked_example(), SMALL.encoding)
    with pytest.raises(ConfigError, match="^3 lines from line 126 on do not fit the command buffer of 128$"):
        load(SMALL, words, 126)
    with pytest.raises(ConfigError, match="^the program takes 3 lines, but the command buffer has 2$"):
        encode_program(worked_example(), SMALL.encoding, first=126)
