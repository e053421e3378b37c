"""``bankside asm`` and ``bankside disasm``: files, formats, warnings, and every wrong input in one line."""

import json

import pytest

from bankside.constraints.cent.isa import CentIsa
from bankside.models.cent.assembly import assemble
from bankside.shell import cli

TEXT = """\
# the vector, then a product
WR_GB 0xffffffff 8 0 4
WR_BIAS 0xffffffff, 0  # zeros
MAC_ABK CHmask=0xffffffff OPsize=8 RO=5 CO=0 Regid=3
RD_MAC 0xffffffff 64 3
EOC
"""


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*words):
        code = cli.main(list(words))
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_round_trip_of_files(run, tmp_path):
    (tmp_path / "x.cent").write_text(TEXT)
    code, out, err = run("asm", "x.cent", "-o", "out/x.bin", "--written", "0-11")
    assert (code, err) == (0, "") and out.splitlines() == [
        "5 instructions, 80 of 2097152 bytes of the instruction buffer: 1 WR_GB, 1 WR_BIAS, 1 MAC_ABK, 1 RD_MAC, 1 EOC",
        "written to out/x.bin",
    ]
    isa = CentIsa()
    assert (tmp_path / "out" / "x.bin").read_bytes() == isa.pack(assemble(TEXT, isa).columns).tobytes()
    assert run("asm", "x.cent", "-o", "x.hex", "--written", "0-11")[0] == 0
    assert (tmp_path / "x.hex").read_text().splitlines()[-1] == f"{27:032x}"
    listed = [run("disasm", name)[1] for name in ("out/x.bin", "x.hex")]
    assert (
        listed[0] == listed[1] and listed[0].splitlines()[2] == "MAC_ABK CHmask=0xffffffff OPsize=8 RO=5 CO=0 Regid=3"
    )
    code, out, _ = run("disasm", "x.hex", "-o", "again.cent")
    assert code == 0 and out.splitlines()[1] == "written to again.cent"
    assert run("asm", "again.cent", "-o", "again", "--format", "hex", "--written", "0-11")[0] == 0
    assert (tmp_path / "again").read_text() == (tmp_path / "x.hex").read_text()
    assert run("disasm", "again", "--format", "hex")[1] == listed[0]


def test_slots_that_nothing_wrote_are_warned_of(run, tmp_path):
    (tmp_path / "x.cent").write_text(TEXT)
    code, out, err = run("asm", "x.cent", "-o", "x.bin", "--json")
    assert code == 0 and err.splitlines() == [
        "warning: x.cent:2: WR_GB reads slots 4 to 11, which nothing before it has written",
        "warning: x.cent:3: WR_BIAS reads slot 0, which nothing before it has written",
    ]
    result = json.loads(out)
    assert result["unwritten_reads"] == 2 and len(result["warnings"]) == 2 and result["instructions"] == 5
    (tmp_path / "many.cent").write_text("WR_BIAS 1 7\n" * 30)
    err = run("asm", "many.cent", "-o", "x.bin")[2].splitlines()
    assert len(err) == 21 and err[-1] == (
        "warning: many.cent: 10 further instructions read slots that nothing before them has written"
    )


def test_the_device_decides_what_is_legal(run, tmp_path):
    (tmp_path / "x.cent").write_text("SYNC\nRD_MAC 0xc0000000 126 0\n")
    assert run("asm", "x.cent", "-o", "x.bin", "--preset", "cent-small")[0] == 0
    assert run("asm", "x.cent", "-o", "y.bin", "--preset", "cent-small", "--set", "slots=127") == (
        2,
        "",
        "bankside: x.cent:2:19: RD_MAC: Rd is 126, so 2 from there on end behind the last, 126\n",
    )
    assert not (tmp_path / "y.bin").exists()
    code, _, err = run("disasm", "x.bin", "--preset", "cent-small", "--set", "slots=127")
    assert code == 2 and err == (
        "bankside: x.bin: word 1 (RD_MAC): Rd is 126, so 2 from there on end behind the last, 126\n"
    )


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("asm", "bad.cent", "-o", "x"), "bad.cent:2:8: SYNC takes 0 operands without a name, not '5'"),
        (("asm", "none.cent", "-o", "x"), "none.cent: no such file or directory"),
        (("asm", "latin.cent", "-o", "x"), "latin.cent: not UTF-8 text (byte 0)"),
        (("asm", "good.cent"), "the following arguments are required: -o/--output (see bankside asm --help)"),
        (("asm", "good.cent", "-o", "."), "can't write"),
        (("asm", "good.cent", "-o", "x", "--preset", "big"), "unknown preset of cent-decoder 'big'"),
        (
            ("asm", "good.cent", "-o", "x", "--written", "5-"),
            "--written 5-: must be a slot or a range of slots, such as 0-511",
        ),
        (
            ("asm", "good.cent", "-o", "x", "--written", "9-5"),
            "--written 9-5: slots must be 0 to 2047, the first one first",
        ),
        (
            ("asm", "good.cent", "-o", "x", "--written", "2048"),
            "--written 2048: slots must be 0 to 2047, the first one first",
        ),
        (("asm", "good.cent", "-o", "x", "--format", "elf"), "argument --format: invalid choice: 'elf' (choose from "),
        (
            ("disasm", "odd.bin"),
            "odd.bin: 17 bytes are not whole words of 16 bytes (a file in hexadecimal ends with .hex, or "
            "needs --format hex)",
        ),
        (("disasm", "zero.bin"), "zero.bin: word 0 (?): no instruction has the operation code 0"),
        (("disasm", "bad.hex"), "bad.hex:1:1: a word is 32 hexadecimal digits, not 'zz'"),
    ],
)
def test_wrong_input_is_one_line(run, tmp_path, words, text):
    (tmp_path / "good.cent").write_text("EOC\n")
    (tmp_path / "bad.cent").write_text("SYNC\n  SYNC 5\n")
    (tmp_path / "latin.cent").write_bytes(b"\xff\xfe")
    (tmp_path / "odd.bin").write_bytes(bytes(17))
    (tmp_path / "zero.bin").write_bytes(bytes(16))
    (tmp_path / "bad.hex").write_text("zz\n")
    before = sorted(tmp_path.iterdir())
    code, out, err = run(*words)
    assert (code, out) == (2, "") and err.startswith("bankside: ") and err.count("\n") == 1
    assert text in err
    assert sorted(tmp_path.iterdir()) == before, "nothing is written"


def test_an_empty_program(run, tmp_path):
    (tmp_path / "empty.cent").write_text("# nothing\n")
    assert run("asm", "empty.cent", "-o", "e.bin")[1].startswith("0 instructions, 0 of 2097152 bytes")
    assert run("disasm", "e.bin", "--json")[0] == 0
