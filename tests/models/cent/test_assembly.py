"""CENT's instructions as text: round trip of every legal word, every error with its line and column, slots unwritten."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankside.constraints.cent.isa import INSTRUCTIONS, WORD, CentIsa
from bankside.constraints.core.errors import ConfigError
from bankside.cosim.cent.decoder import random_columns
from bankside.models.cent.assembly import assemble, disassemble, hex_words, parse_hex, unwritten

ISA = CentIsa()
SMALL = CentIsa(
    channels=3, banks=4, rows=50, columns=8, lanes=4, slots=40, registers=5, functions=3, devices=4, program_words=30
)

#: Lowest bit of each field of a word.
LOWEST = {
    "code": 0,
    "mask": 8,
    "size": 40,
    "reg": 56,
    "af": 61,
    "rs": 64,
    "rd": 75,
    "ro": 86,
    "co": 100,
    "bk": 106,
    "dv": 110,
    "nb": 118,
    "ov": 119,
}

#: Each instruction of the paper's tables, and the fields of its word.
GOLDEN = {
    "WR_GB CHmask=0xffffffff OPsize=8 CO=3 Rs=4": {"code": 8, "mask": 0xFFFFFFFF, "size": 8, "co": 3, "rs": 4},
    "MAC_ABK 0xffffffff, 8, 5, 2, Regid=3": {"code": 10, "mask": 0xFFFFFFFF, "size": 8, "ro": 5, "co": 2, "reg": 3},
    "MAC_ABK 0xffffffff 8 5 8 3 GB=0 NB=1": {
        "code": 10,
        "mask": 0xFFFFFFFF,
        "size": 8,
        "ro": 5,
        "co": 8,
        "reg": 3,
        "rs": 56,
        "nb": 1,
    },
    "EW_MUL 0x80000000, 64, 16383, 0": {"code": 15, "mask": 1 << 31, "size": 64, "ro": 16383},
    "AF CHmask=1 AFid=7 Regid=31": {"code": 13, "mask": 1, "af": 7, "reg": 31},
    "EXP 2 Rd=2046 Rs=1": {"code": 55, "size": 2, "rd": 2046, "rs": 1},
    "RED OPsize=0b11 Rd=0x10 Rs=0 OV=1": {"code": 54, "size": 3, "rd": 16, "ov": 1},
    "ACC 5 200 100": {"code": 16, "size": 5, "rd": 200, "rs": 100},
    "RISCV OPsize=8 PC=16383 Rd=7 Rs=0": {"code": 56, "size": 8, "ro": 16383, "rd": 7},
    "SEND_CXL DVid=255 Rs=1 Rd=2": {"code": 57, "size": 1, "dv": 255, "rs": 1, "rd": 2},
    "RECV_CXL": {"code": 58},
    "BCAST_CXL 31 0 0 OPsize=512": {"code": 59, "size": 512, "dv": 31},
    "WR_SBK 31 1 15 1 2 3": {"code": 20, "mask": 31, "size": 1, "bk": 15, "ro": 1, "co": 2, "rs": 3},
    "RD_SBK 0 1 0 0 0 3": {"code": 21, "size": 1, "rd": 3},
    "WR_ABK CHid=1 RO=4 CO=0 Rs=0 Regid=15": {"code": 19, "mask": 1, "ro": 4, "reg": 15},
    "COPY_BKGB 1 2 3 4 5": {"code": 17, "mask": 1, "size": 2, "bk": 3, "ro": 4, "co": 5},
    "COPY_GBBK CHmask=1 OPsize=2 BK=3 RO=4 CO=5 GB=3": {
        "code": 18,
        "mask": 1,
        "size": 2,
        "bk": 3,
        "ro": 4,
        "co": 5,
        "rs": 62,
    },
    "WR_BIAS CHmask=1 Rs=9": {"code": 9, "mask": 1, "rs": 9},
    "RD_MAC CHmask=0xffff_ffff Rd=100 Regid=3": {"code": 12, "mask": 0xFFFFFFFF, "rd": 100, "reg": 3},
}


def test_words_written_by_hand():
    words = ISA.pack(assemble("\n".join(GOLDEN), ISA).columns)
    for (line, fields), word in zip(GOLDEN.items(), words, strict=True):
        wanted = sum(value << LOWEST[name] for name, value in fields.items())
        assert int.from_bytes(word.tobytes(), "little") == wanted, line
    assert {line.split()[0] for line in GOLDEN} == {
        one.mnemonic for one in INSTRUCTIONS.values() if one.source.startswith("CENT")
    }
    assert hex_words(words[12:13]) == f"{int.from_bytes(words[12].tobytes(), 'little'):032x}\n"


@pytest.mark.parametrize("isa", [ISA, SMALL])
def test_every_legal_word_comes_back_as_text(isa):
    @settings(max_examples=30)
    @given(st.integers(0, 2**32 - 1))
    def check(seed):
        columns = random_columns(isa, np.random.default_rng(seed), 60, mnemonics=list(INSTRUCTIONS))
        words = isa.pack(columns)
        lines = disassemble(words, isa)
        assert (isa.pack(assemble("\n".join(lines), isa).columns) == words).all()
        spaced = [f"\t{line.replace(' ', '   ')}  # {n}\r" for n, line in enumerate(lines)]
        assert (isa.pack(assemble("\n\n".join(spaced), isa).columns) == words).all()
        bare = [
            " , ".join(part.split("=")[1] for part in line.split()[1:] if part.split("=")[0] in needed(line))
            + " "
            + " ".join(part for part in line.split()[1:] if part.split("=")[0] not in needed(line))
            for line in lines
        ]
        bare = [f"{line.split()[0]} {text}" for line, text in zip(lines, bare, strict=True)]
        assert (isa.pack(assemble("\n".join(bare), isa).columns) == words).all()
        assert (parse_hex(hex_words(words)) == words).all()

    def needed(line):
        return [one.name for one in INSTRUCTIONS[line.split()[0]].operands if one.default is None]

    check()


@pytest.mark.parametrize(
    ("line", "place", "text"),
    [
        ("mac_abk 1", 2, "unknown mnemonic 'mac_abk'; did you mean 'MAC_ABK'?"),
        ("MAC_ABX 1", 2, "unknown mnemonic 'MAC_ABX'; did you mean 'MAC_ABK'? (valid: ACC, AF, BCAST_CXL,"),
        ("12 3", 2, "unknown mnemonic '12' (valid: ACC,"),
        ("x" * 200, 2, "unknown mnemonic 'xxxxxxxxxxxxxxxxxxxx... (200 characters)' (valid:"),
        (", SYNC", 2, "a comma stands between two operands"),
        ("RD_MAC, 1 2 3", 8, "a comma stands between two operands"),
        ("RD_MAC 1,, 2, 3", 11, "a comma stands between two operands"),
        ("RD_MAC 1, 2, 3,", 16, "a comma stands between two operands"),
        ("MAC_ABK 1 2 3 4 5 6", 20, "MAC_ABK takes 5 operands without a name (CHmask OPsize RO CO Regid), not '6'"),
        ("SYNC 1", 7, "SYNC takes 0 operands without a name, not '1'"),
        ("RD_MAC Rd=5 Regid=1", 2, "RD_MAC: needs the operand CHmask (CHmask Rd Regid)"),
        (
            "RD_MAC Chmask=1 2 3",
            9,
            "RD_MAC: unknown operand 'Chmask'; did you mean 'CHmask'? (valid: CHmask, OV, Rd, Regid)",
        ),
        ("RD_MAC CHmask=1 5 Regid=0", 18, "an operand without a name may not follow operands with names"),
        ("EXP 1 2 3 Rd=4", 12, "EXP: operand Rd appears twice"),
        ("RD_MAC CHmask=0x1g Rd=5 Regid=0", 16, "RD_MAC: CHmask must be a number, not '0x1g'"),
        ("RD_MAC CHmask=0x_ Rd=5 Regid=0", 16, "RD_MAC: CHmask must be a number, not '0x_'"),
        ("RD_MAC CHmask= Rd=5 Regid=0", 16, "RD_MAC: CHmask must be a number, not ''"),
        ("RD_MAC CHmask=-1 Rd=5 Regid=0", 16, "RD_MAC: CHmask must be a number, not '-1'"),
        ("RD_MAC CHmask=٣ Rd=5 Regid=0", 16, "RD_MAC: CHmask must be a number, not '٣'"),
        (
            "RD_MAC 0x100000000 5 0",
            9,
            "RD_MAC: CHmask must name channels 0 to 31 (channel 0 is the highest of 32 bits), not 0x100000000",
        ),
        ("RD_MAC 0 5 0", 9, "RD_MAC: CHmask must name channels 0 to 31"),
        ("RD_MAC 0xffffffff 2017 0", 20, "RD_MAC: Rd is 2017, so 32 from there on end behind the last, 2047"),
        ("RD_MAC 1 2048 0", 11, "RD_MAC: Rd must be 0 to 2047, not 2048"),
        ("RD_MAC 1 5 32", 13, "RD_MAC: Regid must be 0 to 31, not 32"),
        ("WR_SBK 32 1 0 0 0 0", 9, "WR_SBK: CHid must be 0 to 31, not 32"),
        ("WR_SBK 3 0 0 0 0 0", 11, "WR_SBK: OPsize must be 1 to 65535, not 0"),
        ("WR_SBK 3 1 16 0 0 0", 13, "WR_SBK: BK must be 0 to 15, not 16"),
        ("WR_SBK 3 1 0 16384 0 0", 15, "WR_SBK: RO must be 0 to 16383, not 16384"),
        ("WR_SBK 3 1 0 0 99999999999999999999 0", 17, "WR_SBK: CO must be 0 to 63, not 99999999999999999999"),
        ("WR_ABK 3 0 0 0 Regid=16", 23, "WR_ABK: Regid must be 0 to 15, not 16"),
        ("EW_MUL 1 512 0 0", 17, "EW_MUL: CO is 0, so 512 from there on end behind the last, 63"),
        ("AF 1 8 0", 7, "AF: AFid must be 0 to 7, not 8"),
        ("COPY_BKGB 1 8 0 0 0 GB=60", 25, "COPY_BKGB: GB is 60, so 8 from there on end behind the last, 63"),
        ("COPY_BKGB 1 8 0 0 0 GB=64", 25, "COPY_BKGB: GB must be 0 to 63, not 64"),
        ("MAC_ABK 1 8 0 0 0 NB=2", 23, "MAC_ABK: NB must be 0 to 1, not 2"),
        ("SEND_CXL 256 0 0", 11, "SEND_CXL: DVid must be 0 to 255, not 256"),
        ("BCAST_CXL 0 0 0", 12, "BCAST_CXL: DVcount must be 1 to 255, not 0"),
        ("RISCV 1 16384 0 0", 10, "RISCV: PC must be 0 to 16383, not 16384"),
    ],
)
def test_errors_have_line_and_column(line, place, text):
    with pytest.raises(ConfigError) as error:
        assemble(f"SYNC\n# text\n {line}\nSYNC", ISA, "x.cent")
    assert str(error.value).startswith(f"x.cent:3:{place}: {text}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("00", "x:1:1: a word is 32 hexadecimal digits, not '00'"),
        ("\n  " + "0" * 31 + "g", "x:2:3: a word is 32 hexadecimal digits, not '0000000000000000000000000000000g'"),
        ("0" * 33, "x:1:1: a word is 32 hexadecimal digits, not '0000000000000000000... (33 characters)'"[:52]),
    ],
)
def test_errors_of_hexadecimal_words(text, message):
    with pytest.raises(ConfigError) as error:
        parse_hex(text, "x")
    assert str(error.value).startswith(message)


def test_hexadecimal_words_with_comments():
    word = "0" * 30 + "18"
    assert parse_hex(f"# all\n\n{word} // SYNC\n").tolist() == [[24] + [0] * 15]
    assert parse_hex("").shape == (0, 16)


# Slots that nothing wrote ------------------------------------------------------------------------------------------------


def reads(text, given=()):
    found = unwritten(assemble(text, ISA).columns, ISA, given)
    return [(one.instruction, one.mnemonic, one.first, one.last) for one in found]


def test_slots_that_nothing_wrote():
    text = "RD_MAC 0xc0000000 10 0\nWR_GB 1 2 0 10\nWR_GB 1 3 0 10\nEXP 1 20 11\nACC 1 20 11\nACC 1 21 11\n"
    assert reads(text) == [(2, "WR_GB", 10, 12), (5, "ACC", 21, 21)]
    assert reads(text, [(12, 12), (21, 30)]) == []
    assert reads("SEND_CXL 1 0 7\nWR_BIAS 1 7\n") == [(0, "SEND_CXL", 0, 0), (1, "WR_BIAS", 7, 7)]
    assert reads("MAC_ABK 1 4 0 4 0 GB=0\n") == [], "a column of the global buffer is no slot"
    assert reads("RECV_CXL\nWR_BIAS 1 7\n") == [], "another device has written slots"
    assert reads("RISCV 1 0 8 7\nWR_BIAS 1 9\n") == [(0, "RISCV", 7, 7)]
    assert reads("EXP 4 Rd=0 Rs=0") == [(0, "EXP", 0, 3)]
    assert reads("") == []


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_slots_that_nothing_wrote_one_by_one(seed):
    """Against a set of the written slots."""
    rng = np.random.default_rng(seed)
    names = ["WR_GB", "RD_MAC", "EXP", "ACC", "RD_SBK", "WR_SBK", "WR_BIAS", "WR_GPR", "SEND_CXL", "MAC_ABK"]
    columns = random_columns(SMALL, rng, 25, mnemonics=names)
    written = set(range(5))
    wanted = []
    for at, line in enumerate(disassemble(SMALL.pack(columns), SMALL)):
        mnemonic, *operands = line.split()
        of = {name: int(value, 0) for name, value in (part.split("=") for part in operands)}
        size = of.get("OPsize", 1)
        for name in ["Rs"] * ("Rs" in of) + ["Rd"] * (mnemonic == "ACC"):
            if not set(range(of[name], of[name] + size)) <= written:
                wanted.append((at, of[name], of[name] + size - 1))
        if "Rd" in of and mnemonic != "SEND_CXL":
            size = of["CHmask"].bit_count() if mnemonic == "RD_MAC" else size
            written |= set(range(of["Rd"], of["Rd"] + size))
    found = [(one.instruction, one.first, one.last) for one in unwritten(columns, SMALL, [(0, 4)])]
    assert sorted(found) == sorted(wanted)


def test_every_field_has_an_operand():
    used = {operand.field for one in INSTRUCTIONS.values() for operand in one.operands}
    assert used == set(WORD.widths) - {"unused", "opcode"}
