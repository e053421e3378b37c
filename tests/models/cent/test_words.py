"""CENT's instruction words: every legal word comes back, every illegal one is refused with its position."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankside.constraints.aim.encoding import COMMANDS
from bankside.constraints.cent.isa import (
    BY_OPCODE,
    INSTRUCTIONS,
    RESULTS,
    WORD,
    WORD_BITS,
    CentIsa,
    DecodeError,
    fields_of,
)
from bankside.constraints.core.errors import ConfigError
from bankside.cosim.cent.decoder import random_columns
from bankside.models.cent import BlockMapping, block_program, decode_words, encode_words, program_size
from bankside.models.cent.words import joined, unrolled
from bankside.models.program import Program, Tokens

FULL = CentIsa()
SMALL = CentIsa(
    channels=3, banks=4, rows=50, columns=8, lanes=4, slots=40, registers=5, functions=3, devices=4, program_words=30
)


@st.composite
def legal_fields(draw, isa):
    """Fields of a legal word, by the paper's text: each operand drawn within what it may be."""
    one = INSTRUCTIONS[draw(st.sampled_from(sorted(INSTRUCTIONS)))]
    names = [operand.name for operand in one.operands]
    room = [isa.slots] if {"Rs", "Rd"} & set(names) else []
    room += [isa.columns] if {"CO", "GB"} & set(names) else []
    size = draw(st.integers(1, min([*room, (1 << 16) - 1]))) if "OPsize" in names else 1
    mask = draw(st.integers(1, (1 << isa.channels) - 1)) << (32 - isa.channels)
    of = {"opcode": one.opcode}
    for name in names:
        steps = bin(mask).count("1") if one.mnemonic in RESULTS else size
        most = {
            "OPsize": None,
            "CHmask": None,
            "CHid": isa.channels,
            "BK": isa.banks,
            "RO": isa.rows,
            "PC": isa.program_words,
            "CO": isa.columns - size + 1,
            "Rs": isa.slots - size + 1,
            "Rd": isa.slots - steps + 1,
            "AFid": isa.functions,
            "DVid": isa.devices,
            "DVcount": isa.devices,
            "Regid": isa.lanes if one.mnemonic == "WR_ABK" else isa.registers,
            "GB": isa.columns - size + 1,
            "NB": 2,
            "OV": 2,
        }[name]
        if name == "OPsize":
            value = size
        elif name == "CHmask":
            value = mask
        else:
            value = draw(st.integers(int(name == "DVcount"), most - 1))
        if name == "GB":
            value = (value - of["CO"]) % isa.columns
        of[one.by_name[name].field] = value
    return {name: of.get(name, 0) for name in WORD.widths}


@pytest.mark.parametrize("isa", [FULL, SMALL])
def test_every_legal_word_comes_back(isa):
    @settings(max_examples=60)
    @given(st.lists(legal_fields(isa), min_size=1, max_size=30))
    def check(rows):
        rows = [*rows, dict.fromkeys(WORD.widths, 0) | {"opcode": INSTRUCTIONS["SYNC"].opcode}]
        columns = {name: np.array([row[name] for row in rows]) for name in WORD.widths}
        words = isa.pack(columns)
        assert words.shape == (len(rows), WORD_BITS // 8)
        back = fields_of(words)
        assert all((back[name] == columns[name]).all() for name in WORD.widths)
        program = decode_words(words, isa)
        again = encode_words(program, isa, join=False)
        assert (again[:-1] == words).all() and again[-1].tolist() == [INSTRUCTIONS["EOC"].opcode] + [0] * 15
        for row, word in zip(rows, words, strict=True):  # by hand, in Python's integers
            number, low = 0, 0
            for name, width in WORD.widths.items():
                number |= row[name] << low
                low += width
            assert number == int.from_bytes(word.tobytes(), "little")

    check()


@pytest.mark.parametrize("isa", [FULL, SMALL])
def test_any_word_is_legal_or_refused(isa):
    """Random fields: a word whose operands are all within their ranges is legal, and every other one is refused by the
    code that its operand has; hardware and text share these codes."""
    count = 20000
    columns = random_columns(isa, np.random.default_rng(3), count, damage=0.8)
    codes = isa.problems(columns)
    assert {*DecodeError} - {DecodeError.ANSWER} == set(np.unique(codes).tolist()), "every code is seen"
    for at in range(0, count, 23):
        one = {name: int(column[at]) for name, column in columns.items()}
        instruction = BY_OPCODE.get(one["opcode"])
        if instruction is None:
            assert codes[at] == DecodeError.OPCODE
            continue
        stray = any(one[name] for name in WORD.widths if name != "opcode" and name not in instruction.fields)
        wrong = any(isa.fault(instruction, operand, one) for operand in instruction.operands)
        assert (codes[at] != 0) == (stray or wrong) and (codes[at] == DecodeError.FORMAT) == stray
        word = WORD.pack({name: np.array([value]) for name, value in one.items()})
        if codes[at]:
            with pytest.raises(ConfigError, match=rf"^word 1 \({instruction.mnemonic}\): "):
                decode_words(np.concatenate([encode_words(Program(), isa), word]), isa)
        else:
            decode_words(word, isa)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"opcode": 99}, "word 0 (?): no instruction has the operation code 99"),
        ({"opcode": 24, "BK": 3}, "word 0 (SYNC): does not use BK, which must be 0, not 3"),
        ({"opcode": 24, "unused": 1}, "word 0 (SYNC): does not use unused, which must be 0, not 1"),
        ({"opcode": 55, "OPsize": 0}, "word 0 (EXP): OPsize must be 1 to 65535, not 0"),
        (
            {"opcode": 55, "OPsize": 4, "Rs": 2045},
            "word 0 (EXP): Rs is 2045, so 4 from there on end behind the last, 2047",
        ),
        (
            {"opcode": 12, "CHmask": 0xFFFFFFFF, "Rd": 2017},
            "word 0 (RD_MAC): Rd is 2017, so 32 from there on end behind the last, 2047",
        ),
        (
            {"opcode": 12},
            "word 0 (RD_MAC): CHmask must name channels 0 to 31 (channel 0 is the highest of 32 bits), not 0x00000000",
        ),
        ({"opcode": 20, "CHmask": 32, "OPsize": 1}, "word 0 (WR_SBK): CHid must be 0 to 31, not 32"),
        (
            {"opcode": 10, "CHmask": 1, "OPsize": 2, "CO": 63},
            "word 0 (MAC_ABK): CO is 63, so 2 from there on end behind the last, 63",
        ),
        (
            {"opcode": 10, "CHmask": 1, "OPsize": 2, "CO": 2, "Rs": 61},
            "word 0 (MAC_ABK): GB is 63, so 2 from there on end behind the last, 63",
        ),
        (
            {"opcode": 10, "CHmask": 1, "OPsize": 1, "Rs": 64},
            "word 0 (MAC_ABK): GB must be within 64 columns of CO, not 64 behind it",
        ),
        ({"opcode": 59, "OPsize": 1}, "word 0 (BCAST_CXL): DVcount must be 1 to 255, not 0"),
    ],
)
def test_refused_words(fields, text):
    word = WORD.pack({name: np.array([value]) for name, value in fields.items()})
    with pytest.raises(ConfigError) as error:
        decode_words(word, FULL)
    assert str(error.value) == text


def test_layout_is_as_wide_as_the_device_needs():
    """Widths of gap G-CENT-8: 118 bits, and the two flags of this project."""
    wanted = {
        "opcode": 8,
        "CHmask": 32,
        "OPsize": 16,
        "BK": 4,
        "RO": 14,
        "CO": 6,
        "Rs": 11,
        "Rd": 11,
        "Regid": 5,
        "AFid": 3,
        "DV": 8,
    }
    assert {name: WORD.widths[name] for name in wanted} == wanted
    assert WORD.bits == WORD_BITS
    assert all(low // 64 == (low + field.bits - 1) // 64 for low, field in WORD.items())
    paper = [one.mnemonic for one in INSTRUCTIONS.values() if one.source.startswith("CENT")]
    assert paper == [
        "MAC_ABK",
        "EW_MUL",
        "AF",
        "EXP",
        "RED",
        "ACC",
        "RISCV",
        "SEND_CXL",
        "RECV_CXL",
        "BCAST_CXL",
        "WR_SBK",
        "RD_SBK",
        "WR_ABK",
        "COPY_BKGB",
        "COPY_GBBK",
        "WR_BIAS",
        "RD_MAC",
        "WR_GB",
    ]


# Programs ----------------------------------------------------------------------------------------------------------------


def micro_operations(program):
    """Every micro-operation of a program: accesses of single banks and of slots one by one."""
    out = []
    for op, of in program.expand():
        size = of.get("opsize", 1)
        if op not in ("WR_SBK", "RD_SBK", "EWADD", "EXP", "RED", "EWMUL", "COPY_BKGB", "COPY_GBBK", "WR_GB", "WR_GPR"):
            out.append((op, tuple(sorted((name, value) for name, value in of.items() if value))))
            continue
        for k in range(size):
            moved = {
                name: value + k * (name in ("column", "gpr", "gpr0", "gpr1", "buffer"))
                for name, value in of.items()
                if name != "opsize"
            }
            if op in ("WR_SBK", "RD_SBK", "COPY_BKGB", "COPY_GBBK", "EWMUL"):
                moved["column"] = of.get("column", 0) + k
            if op in ("COPY_BKGB", "COPY_GBBK", "WR_GB"):
                moved["buffer"] = of.get("buffer", 0) + k
            out.append((op, tuple(sorted((name, value) for name, value in moved.items() if value))))
    return out


def without_overlap(operations):
    return [(op, tuple(one for one in operands if one[0] != "overlap")) for op, operands in operations]


@settings(max_examples=60)
@given(st.data())
def test_random_programs_keep_their_micro_operations(data):
    program = Program()
    pick = data.draw
    for _ in range(pick(st.integers(1, 4))):
        with program.loop(pick(st.integers(0, 4))) as i, program.loop(pick(st.integers(1, 5))) as j:
            for _ in range(pick(st.integers(1, 3))):
                overlap = {"overlap": 1} if pick(st.booleans()) else {}
                kind = pick(st.integers(0, 5))
                if kind == 0:
                    program.command(
                        pick(st.sampled_from(["WR_SBK", "RD_SBK"])),
                        mask=0x80000000 >> pick(st.integers(0, 3)),
                        bank=i,
                        row=3,
                        column=j + pick(st.integers(0, 9)),
                        gpr=j + 7,
                        **overlap,
                    )
                elif kind == 1:
                    program.command(
                        pick(st.sampled_from(["EWADD", "EXP", "RED"])),
                        opsize=pick(st.integers(0, 3)),
                        gpr0=10 + j * pick(st.integers(0, 2)),
                        gpr1=12 + j,
                        **overlap,
                    )
                elif kind == 2:
                    program.command("MAC_ABK", opsize=4, mask=0xFFFF0000, row=i, column=4 * j, buffer=4 * i, register=j)
                elif kind == 3:
                    program.command("WR_GB", opsize=2, gpr=2 * j, mask=0x80000000, buffer=2 * j)
                elif kind == 4:
                    program.command("COPY_BKGB", opsize=1, mask=0x80000000, bank=2, row=i, column=j, buffer=j + 1)
                else:
                    program.command("RD_MAC", gpr=40 * i + j, mask=0xFFFFFFFF, register=j, **overlap)
    wanted = micro_operations(program)
    for join in (True, False):
        words = encode_words(program, FULL, join=join)
        decoded = decode_words(words, FULL)
        found = micro_operations(decoded)
        assert without_overlap(found) == without_overlap(wanted)
        # OV is the first access's of an instruction. An access that would not have waited may follow one that does.
        for got, asked in zip(found, wanted, strict=True):
            assert got == asked or (join and ("overlap", 1) in asked[1] and ("overlap", 1) not in got[1])
        assert (encode_words(decoded, FULL, join=join) == words).all()


def test_neighbouring_accesses_become_one_instruction():
    def sizes(*commands):
        columns = joined(unrolled(Program(commands_of(commands)), FULL))
        return columns["OPsize"].tolist()

    def commands_of(commands):
        program = Program()
        for op, operands in commands:
            program.command(op, **operands)
        return program.body

    bank = {"mask": 1 << 31, "bank": 2, "row": 5}
    write = [("WR_SBK", {**bank, "column": c, "gpr": 7 + c}) for c in range(8)]
    assert sizes(*write) == [8]
    assert sizes(*write[:4], *write[5:]) == [4, 3]
    assert sizes(write[0], ("WR_SBK", {**bank, "column": 1, "gpr": 7})) == [1, 1], "the same slot again"
    assert sizes(write[0], ("WR_SBK", {**bank, "bank": 3, "column": 1, "gpr": 8})) == [1, 1], "another bank"
    assert sizes(*[("EWADD", {"opsize": 2, "gpr0": 2 * k, "gpr1": 100 + 2 * k}) for k in range(3)]) == [6]
    chain = [("EWADD", {"opsize": 1, "gpr0": k + 1, "gpr1": k}) for k in range(4)]
    assert sizes(*chain) == [1] * 4, "each reads what the one before writes"
    mac = [("MAC_ABK", {"opsize": 4, "mask": 1, "row": 0, "column": 4 * k, "buffer": 4 * k}) for k in range(2)]
    assert sizes(*mac) == [4, 4], "sums are rounded, so products stay as they are"
    first, second = ("EXP", {"opsize": 1, "gpr0": 0, "gpr1": 9}), ("EXP", {"opsize": 1, "gpr0": 1, "gpr1": 10})
    waits, overlaps = ({**one[1], "overlap": flag} for one, flag in ((second, 0), (first, 1)))
    assert sizes(first, second) == [2]
    assert sizes(("EXP", overlaps), ("EXP", waits)) == [1, 1], "the second waits for others too"


def test_masks_and_channels():
    """A mask of a program is as wide as it says; one instruction of a single channel for each channel."""
    program = Program()
    program.command("RD_SBK", mask=0b101, bank=1, row=2, gpr=9)
    program.command("WR_ABK", mask=0b110, row=2, gpr=4, element=3)
    words = encode_words(program, SMALL, mask_bits=3)
    columns = fields_of(words)
    assert columns["CHmask"].tolist() == [0, 2, 0, 1, 0]
    assert columns["Rd"].tolist() == [9, 10, 0, 0, 0] and columns["Rs"].tolist() == [0, 0, 4, 4, 0]
    assert columns["Regid"].tolist() == [0, 0, 3, 3, 0]
    assert [of["mask"] for _, of in decode_words(words, SMALL, mask_bits=3).expand()] == [0b100, 0b001, 0b100, 0b010]


@pytest.mark.parametrize(
    ("op", "operands", "text"),
    [
        ("SOFTMAX", {"opsize": 1, "gpr0": 0, "gpr1": 0}, "SOFTMAX: CENT has no such instruction"),
        ("W_MEM", {"channel": 0, "bank": 0, "row": 0}, "W_MEM: an access of the host, not an instruction"),
        ("EXPP", {}, "unknown command 'EXPP'; did you mean 'EXP'?"),
        ("EXP", {"opsize": 1, "gpr0": 1}, "EXP: needs the operand gpr1"),
        ("EXP", {"opsize": 1, "gpr0": 1, "gpr1": 1, "row": 1}, "EXP: unknown operand 'row'"),
        ("MAC_ABK", {"opsize": 1, "mask": 1, "row": 0, "slot": 1}, "MAC_ABK: unknown operand 'slot'"),
        (
            "MAC_ABK",
            {"opsize": 1, "mask": 1, "row": 20000},
            "instruction 0 (MAC_ABK): RO must be 0 to 16383, not 20000",
        ),
        (
            "EWMUL",
            {"opsize": 65, "mask": 1, "row": 0},
            "instruction 0 (EW_MUL): CO is 0, so 65 from there on end behind the last, 63",
        ),
        ("WR_SBK", {"mask": 0, "bank": 0, "row": 0, "gpr": 0}, "instruction 0 (WR_SBK): names no channel"),
        (
            "RD_SBK",
            {"mask": 3, "bank": 0, "row": 0, "gpr": 0, "opsize": 2},
            "instruction 0 (RD_SBK): several accesses of several channels have no order",
        ),
    ],
)
def test_refused_programs(op, operands, text):
    program = Program()
    program.command(op, **operands)
    with pytest.raises(ConfigError) as error:
        encode_words(program, FULL)
    assert str(error.value).startswith(text)


def test_programs_without_numbers_and_waits_are_refused():
    program = Program()
    with program.loop(Tokens(16)):
        program.command("SYNC")
    with pytest.raises(ConfigError, match="bind the program"):
        encode_words(program, FULL)
    waiting = Program()
    waiting.wait(3)
    with pytest.raises(ConfigError, match="a decoder cannot wait"):
        encode_words(waiting, FULL)
    assert len(encode_words(program.bind(40), FULL)) == 4


@pytest.mark.parametrize("bad", [{"channels": 33}, {"columns": 24}, {"slots": 4096}, {"rows": 0}])
def test_a_device_that_does_not_fit_the_word(bad):
    with pytest.raises(ConfigError, match=next(iter(bad))):
        CentIsa(**bad)


def test_instructions_have_commands():
    """Every operand of an instruction is one of its command, and all that a command needs is there."""
    for one in INSTRUCTIONS.values():
        command = COMMANDS[one.command]
        assert set(command.fields) <= {operand.command for operand in one.operands}
        assert {operand.command for operand in one.operands} <= {*command.places, "opsize"}


# Size --------------------------------------------------------------------------------------------------------------------


def test_size_of_a_block_of_the_largest_model():
    """Against the program's own counts, and the matrices by hand; a bank's accesses become few instructions."""
    mapping = BlockMapping(8192, 64, 8, 28672, 10)
    program = block_program(mapping, 4096)
    counts = program.counts()
    size = program_size(program)
    assert size.instructions == sum(counts.values()) and size.bytes == 16 * size.instructions
    assert size.by_mnemonic["WR_SBK"] == counts["W_MEM"] and size.by_mnemonic["RD_SBK"] == counts["R_MEM"]
    assert size.buffers() > 2, "access by access, a block does not fit the buffer"
    fewer = program_size(program, gather=True)
    assert fewer.buffers() < 0.25
    for name in ("MAC_ABK", "RD_MAC", "WR_GB", "SYNC", "EW_MUL"):
        assert fewer.by_mnemonic[name] == size.by_mnemonic[name]
    # Q: 52 outputs of each of 160 banks in 2 groups, 8 rows of inputs: 8 (WR_GB + 52 (WR_BIAS, MAC_ABK, RD_MAC)).
    assert size.by_stage["gemv_wq"] == fewer.by_stage["gemv_wq"] == 8 * (1 + 3 * 52)
    # Norm: 160 banks / 4 have 13 columns of each copy, 320 / ... ; one instruction for each bank, copy and replica.
    norm = fewer.by_stage["rmsnorm1"] - (3 + 2 + 8 + 1)
    assert norm == 3 * 10 * (8 + 8 + 4 + 4 + 4)


def test_millions_of_instructions_take_seconds():
    program = Program()
    with program.loop(1000) as i, program.loop(500) as j:
        program.command("WR_SBK", mask=1, bank=3, row=i, column=0, gpr=2 * j)
        program.command("RD_MAC", mask=1, gpr=j, register=1)
    words = encode_words(program, FULL)
    assert words.shape == (1_000_001, 16)
    assert (fields_of(words[:-1])["RO"][::2] == np.repeat(np.arange(1000), 500)).all()
