"""Programs as words: back again, what cannot be said, and counts by tokens."""

import numpy as np
import pytest

from bankside.constraints.aim.encoding import (
    CENT_COMMANDS,
    COMMANDS,
    DISPATCHER_COMMANDS,
    END,
    HUB_CODES,
    MORE,
    OPERANDS,
    DispatchError,
    operations,
)
from bankside.constraints.core.errors import ConfigError
from bankside.constraints.lolpim.dispatcher import PRESETS, DpaDispatcherConfig
from bankside.cosim.lolpim.dispatcher import random_program, worked_example
from bankside.models.memory import time_program
from bankside.models.memory.aim import INSTRUCTIONS, FrontEnd, channel_mask
from bankside.models.memory.aim_trace import trace_lines
from bankside.models.program import Affine, Command, Loop, Program, Tokens
from bankside.models.program.encoding import canonical, decode_program, encode_program, listing
from bankside.models.program.reader import parse_program

CONFIG = PRESETS["lol-pim"]
CONFIGS = [
    CONFIG,
    DpaDispatcherConfig(
        command_bytes=4096,
        line_words=4,
        mask_bits=8,
        gpr_bits=6,
        opsize_bits=5,
        nesting=2,
        slots=1,
        table_entries=24,
        row_bits=5,
        entry_bits=6,
        stride_bits=9,
    ),
    DpaDispatcherConfig(command_bytes=6144, line_words=12, mask_bits=40, nesting=6, slots=5, table_entries=96),
]


@pytest.mark.parametrize("config", CONFIGS)
def test_back_again(config):
    """What is encoded is decoded, whatever lines it takes."""
    rng = np.random.default_rng(1)
    more = 0
    for _ in range(120):
        program = random_program(config, rng, [9, 0, 300][: config.slots], 16)
        words = encode_program(program, config.encoding)
        assert decode_program(words, config.encoding) == canonical(program)
        assert words[-1, 0] == END
        more += int((words[:, 0] & 63 == MORE).sum())
    assert more


def test_back_again_for_a_layer():
    """A program over the layers is encoded for the current one."""
    program = Program()
    with program.loop(32) as layer, program.loop(Tokens(256)) as step:
        program.command("MAC_ABK", opsize=64, mask=1, row=100 * layer + step, slot=0)
    words = encode_program(program, CONFIG.encoding, layer=True)
    assert len(words) == 2 and decode_program(words, CONFIG.encoding, layers=32) == program
    with pytest.raises(ConfigError, match="^a program of the current layer must be one loop, over the layers$"):
        encode_program(Program([Command("SYNC"), Command("SYNC")]), CONFIG.encoding, layer=True)


def test_commands_are_those_of_the_instruction_set():
    shared = {name: what for name, what in COMMANDS.items() if what.code < HUB_CODES}
    assert list(shared) and set(shared) == set(INSTRUCTIONS)
    assert {name: set(what.fields) for name, what in shared.items()} == {
        name: set(what.fields) for name, what in INSTRUCTIONS.items()
    }
    assert all(set(what.optional) <= set(COMMANDS[name].optional) for name, what in INSTRUCTIONS.items())
    assert set(COMMANDS) == {*DISPATCHER_COMMANDS, *CENT_COMMANDS}
    assert len({what.code for what in COMMANDS.values()} | {0, END, MORE}) == len(COMMANDS) + 3
    places = {place for what in COMMANDS.values() for place in what.places.values()}
    assert places | {"slot"} == set(OPERANDS)
    assert all(len(set(what.places.values())) == len(what.places) for what in COMMANDS.values())  # none twice
    assert all(error.meaning for error in DispatchError)


def test_words_of_the_worked_example():
    """The listing is what LoL-PIM's Figure 6 shows: a loop of two commands, a modifier for each."""
    lines = list(listing(encode_program(worked_example(), CONFIG.encoding), CONFIG.encoding))
    assert [line.split("  ")[-1] for line in lines] == [
        "Dyn-Loop(tokens/256, 2); Dyn-Modi(row, 1*i0); MAC_ABK opsize=64 mask=4294901760 row=0 column=0 buffer=0 "
        "neighbour=0 register=0 slot=0",
        "Dyn-Modi(gpr, 1*i0); RD_MAC gpr=16 mask=4294901760 register=0 overlap=0",
        "end",
    ]


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([Command("MAC", row=0)], r"unknown command 'MAC'.*"),
        ([Command("RD_MAC", mask=1)], "RD_MAC: needs the operand gpr"),
        ([Command("RD_MAC", mask=1, gpr=0, row=2)], "RD_MAC: unknown operand 'row'.*"),
        ([Command("RD_MAC", mask=1, gpr=0, slot=0)], "RD_MAC: unknown operand 'slot'.*"),
        ([Command("RD_MAC", mask=1, gpr=1 << 14)], "RD_MAC: gpr must begin at 0 to 16383, not 16384"),
        ([Command("RD_MAC", mask=1, gpr=-1)], "RD_MAC: gpr must begin at 0 to 16383, not -1"),
        ([Command("RD_MAC", mask=1, gpr=Affine(0, (1,)))], "RD_MAC: gpr uses the index of a loop that is not open"),
        (
            [Loop(2, (Command("RD_MAC", mask=1, gpr=Affine(0, (1 << 17,))),))],
            "RD_MAC: gpr: a stride must be -131072 to 131071, not 131072",
        ),
        ([Loop((1 << 16) + 1, (Command("SYNC"),))], "a loop must have a count of at most 65536, not 65537"),
        (
            [Loop(Tokens(80), (Command("SYNC"),))],
            "the divisor of a count by tokens must be a power of two up to 1048576, not 80",
        ),
        ([Loop(Tokens(8, 512), (Command("SYNC"),))], "the offset of a count by tokens must be -512 to 511, not 512"),
        ([Loop(Tokens(8, 0, 16), (Command("SYNC"),))], "the slot of a count by tokens must be 0 to 15, not 16"),
        (
            [Loop(1, (Loop(1, (Loop(1, (Loop(1, (Loop(1, (Command("SYNC"),)),)),)),)),))],
            "more than 4 loops within each other",
        ),
        ([Command("SYNC")] * 3072, "the program takes 3073 lines, but the command buffer has 3072"),
    ],
)
def test_what_cannot_be_encoded(nodes, message):
    with pytest.raises(ConfigError, match=f"^{message}$"):
        encode_program(Program(nodes), CONFIG.encoding)


def test_waits_are_refused():
    program = Program()
    program.wait(3)
    with pytest.raises(ConfigError, match="^a dispatcher cannot wait: .*"):
        encode_program(program, CONFIG.encoding)


def test_words_that_are_no_program():
    words = encode_program(worked_example(), CONFIG.encoding)
    with pytest.raises(ConfigError, match="^line 2: program or body of a loop runs beyond the command buffer$"):
        decode_program(words[:2], CONFIG.encoding)
    words[1, 0] = 0
    with pytest.raises(ConfigError, match="^line 1: operation code that no command has.*"):
        decode_program(words, CONFIG.encoding)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"line_words": 4}, "a line must have more than the 4 words of a command, not 4 .*"),
        ({"stride_bits": 24, "nesting": 8, "slots": 1, "line_words": 16}, None),
        ({"entry_bits": 14}, "entry_bits must be more than row_bits .14., not 14"),
        ({"command_bytes": 100}, "command_bytes must be at least two lines .*"),
        (
            {"token_bits": 31, "slots": 256, "command_bytes": 1 << 21},
            "a loop counted by tokens takes more than the 32 bits .*",
        ),
    ],
)
def test_configurations(fields, message):
    if message is None:
        assert DpaDispatcherConfig(**fields).encoding.prefix_words
        return
    with pytest.raises(ValueError, match=message):
        DpaDispatcherConfig(**fields)


def test_preset_has_the_paper_s_buffers():
    """Table 5: 96 KB each, less than 200 KB together."""
    table_bytes = CONFIG.table_entries * CONFIG.entry_bits // 8
    assert CONFIG.command_bytes == table_bytes == 96 << 10
    assert CONFIG.lines * CONFIG.line_words * 4 == CONFIG.command_bytes


# Counts by tokens ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "count"), [(0, 0), (1, 1), (255, 1), (256, 1), (257, 2), (300, 2), (512, 2), (513, 3)]
)
def test_counts_by_tokens(tokens, count):
    assert Tokens(256).at(tokens) == count
    assert worked_example().bind(tokens).counts() == ({"MAC_ABK": count, "RD_MAC": count} if count else {})
    assert Tokens(256, -2).at(tokens) == max(0, count - 2)


def test_a_bound_program_is_timed():
    """Readers take a program once it is bound, and refuse it before; slots and columns are the dispatcher's."""
    program = Program([Loop(Tokens(256), (Command("MAC16", row=Affine(0, (1,)), column=0),))])
    assert time_program(program.bind([300]), "gddr6-aim").commands["MAC16"] == 2
    for read in (
        lambda: time_program(program, "gddr6-aim"),
        program.counts,
        lambda: list(program.expand()),
        lambda: program.operands("MAC16"),
    ):
        with pytest.raises(
            ConfigError, match="^the count of a loop is tokens/256: bind the program to a number of tokens"
        ):
            read()
    with pytest.raises(ConfigError, match="^the count of a loop is tokens/256@1, but slots are 0 to 0$"):
        Program([Loop(Tokens(256, 0, 1), (Command("SYNC"),))]).bind(3)
    with pytest.raises(ConfigError, match="^a count by tokens needs a divisor of at least 1 .*"):
        Tokens(0)


def test_counts_by_tokens_as_text():
    program = Program([Loop(Tokens(256), (Loop(Tokens(16, -1, 2), (Command("SYNC"),)), Loop(3, (Command("EOC"),))))])
    assert str(program).splitlines()[:2] == ["loop i0 < tokens/256", "  loop i1 < tokens/16-1@2"]
    assert parse_program(str(program)) == program


# Operands by the newest token ---------------------------------------------------------------------------------------------


def test_operands_by_the_newest_token():
    """Bank, column and row of the newest of 300 tokens, number 299, where 16 banks have 8 tokens of a row each."""
    program = Program()
    with program.loop(8) as column:
        program.command(
            "WR_SBK",
            gpr=column,
            mask=1,
            bank=program.newest(1, 16),
            row=2 * program.newest(128),
            slot=0,
            column=8 * program.newest(16, 8) + column,
        )
    words = encode_program(program, CONFIG.encoding)
    assert "Dyn-Modi(bank, -16*t/16)" in "".join(listing(words, CONFIG.encoding))
    assert decode_program(words, CONFIG.encoding) == program and parse_program(str(program)) == program
    assert "bank=t/1-16*t/16" in str(program)
    at = dict(list(program.bind(300).expand())[3][1])
    assert (at["bank"], at["row"], at["column"]) == (299 % 16, 2 * (299 // 128), 8 * (299 // 16 % 8) + 3)
    message = "^an operand is .*t/16: bind the program to a number of tokens first$"
    with pytest.raises(ConfigError, match=message):
        program.operands("WR_SBK")
    with pytest.raises(ConfigError, match="but the request has no token$"):
        program.bind(0)
    with pytest.raises(ConfigError, match="^the newest token is divided by powers of two, not by 3$"):
        program.command("SYNC", opsize=program.newest(3))


def test_commands_of_other_units_are_refused():
    """A dispatcher has no engine for them: neither a program nor a line may have them."""
    for op in CENT_COMMANDS:
        with pytest.raises(ConfigError, match=f"^unknown command '{op}'"):
            encode_program(Program([Command(op, dict.fromkeys(COMMANDS[op].fields, 0))]), CONFIG.encoding)
        words = encode_program(Program([Command("SYNC")]), CONFIG.encoding)
        words[0, 0] += COMMANDS[op].code - COMMANDS["SYNC"].code
        with pytest.raises(ConfigError, match=DispatchError.OPCODE.meaning.partition(" (")[0]):
            decode_program(words, CONFIG.encoding)


def test_opsize_that_is_left_out_is_one_operation():
    given = ("WR_SBK", 0), ("RD_SBK", 0), ("WR_SBK", 5), ("WR_BIAS", 7), ("MAC_ABK", 0), ("MAC_ABK", 3)
    assert [operations(op, size) for op, size in given] == [1, 1, 5, 1, 0, 3]
    given = {"gpr": 1, "mask": 1, "bank": 2, "row": 3}
    programs = [
        Program([Command("WR_SBK", more | given)]) for more in ({}, {"opsize": 0}, {"opsize": 1}, {"opsize": 4})
    ]
    words = [encode_program(program, CONFIG.encoding) for program in programs]
    assert (words[0] == words[1]).all() and (words[0] != words[2]).any()
    assert decode_program(words[3], CONFIG.encoding) == programs[3]
    times = [
        FrontEnd().time(_accesses(op, size, count)).commands
        for op in ("WR_SBK", "RD_SBK")
        for size, count in ((0, 1), (1, 1), (8, 1), (0, 8))
    ]
    assert times[0] == times[1] and times[2] == times[3] and times[2]["WR"] == 8
    assert times[4] == times[5] and times[6] == times[7] and times[6]["RD"] == 8


def _accesses(op, size, count):
    """``count`` commands of ``size`` accesses each to a row of a bank."""
    program = Program()
    for _ in range(count):
        program.command(op, gpr=0, mask=channel_mask(1), bank=1, row=2, **({"opsize": size} if size else {}))
    return program


def test_opsize_in_a_trace():
    """A trace has no such operand: it has a line for each access."""
    lines = list(trace_lines(_accesses("WR_SBK", 3, 1)))
    assert lines == ["AiM WR_SBK 0 0x80000000 1 2"] * 3 + ["AiM EOC"]
