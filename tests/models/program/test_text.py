"""The text of a program: reading is the opposite of printing, and every mistake has its line."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankside.constraints.core.errors import ConfigError
from bankside.models.program import Affine, Command, Loop, Program, Stage, Wait
from bankside.models.program.reader import parse_program, read_program

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True).filter(
    lambda n: n not in ("loop", "stage", "wait")
)
titles = (
    st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), min_size=1, max_size=12)
    .map(lambda t: " ".join(t.split()))
    .filter(lambda t: t and "#" not in t)
)
numbers = st.integers(-(10**18), 10**18)


@st.composite
def bodies(draw, depth=0, level=3):
    def node():
        kind = draw(st.sampled_from(["command"] * 3 + ["wait", "loop", "stage"] if level else ["command"]))
        if kind == "command":
            values = draw(st.dictionaries(names, st.tuples(numbers, st.lists(numbers, max_size=depth)), max_size=3))
            return Command(
                draw(names), {name: Affine(base, tuple(strides)) for name, (base, strides) in values.items()}
            )
        if kind == "wait":
            return Wait(draw(st.integers(0, 10**18)))
        if kind == "loop":
            return Loop(draw(st.integers(0, 10**18)), draw(bodies(depth + 1, level - 1)))
        return Stage(draw(titles), draw(bodies(depth, level - 1)))

    return tuple(node() for _ in range(draw(st.integers(0, 3))))


@given(body=bodies())
@settings(max_examples=200)
def test_what_is_printed_is_read(body):
    program = Program(body)
    text = str(program)
    assert parse_program(text) == program
    # With comments, empty lines, another indentation and other ends of lines.
    changed = "\n\r\n".join(
        line.replace("  ", "     ") + ("" if "stage" in line else " # a comment") for line in text.split("\n")
    )
    assert parse_program(changed) == program


def test_commands_are_told_with_their_loops():
    seen = []
    parse_program(
        "A\nloop i0 < 3\n  stage s\n    loop i1 < 0\n      B x=i1-2*i0\n  C",
        check=lambda command, loops: seen.append((str(command), loops)),
    )
    assert seen == [("A", ()), ("B x=-2*i0+i1", (3, 0)), ("C", (3,))]


BAD = {
    "count": ("loop i0 < x", r"t:1: the count of a loop must be a whole number, not 'x'$"),
    "negative count": ("loop i0 < -1", r"t:1: the count of a loop must be a whole number, not '-1'$"),
    "no count": ("A\nloop i0", r"t:2: a loop is 'loop i0 < COUNT'$"),
    "index": ("loop i0 < 2\n  loop i0 < 2", r"t:2: the index of this loop is i1, not i0$"),
    "stage": ("stage", r"t:1: a stage needs a name$"),
    "wait": ("wait", r"t:1: a wait is 'wait CYCLES'$"),
    "cycles": ("wait 1.5", r"t:1: the cycles of a wait must be a whole number, not '1.5'$"),
    "name": ("1st row=2", r"t:1: '1st' is not the name of a command$"),
    "operand": ("RD row", r"t:1: RD: an operand is NAME=VALUE, not 'row'$"),
    "operand twice": ("RD row=1 row=2", r"t:1: RD: operand row appears twice$"),
    "value": ("loop i0 < 2\n  RD row=i0*i0", r"t:2: RD: operand row must be like 4\+2\*i0, not 'i0\*i0'$"),
    "nothing": ("RD row=", r"t:1: RD: an operand is NAME=VALUE, not 'row='$"),
    "closed loop": ("loop i0 < 2\n  A\nRD row=i0", r"t:3: RD: operand row uses i0, but no loop is here$"),
    "inner loop": ("loop i0 < 2\n  RD row=i1", r"t:2: RD: operand row uses i1, but the loops here are i0 to i0$"),
    "indentation": ("A\n  B", r"t:2: the line is indented, but belongs to no loop or stage$"),
    "less indentation": ("loop i0 < 2\n    A\n  B", r"t:3: the line is indented, but belongs to no loop or stage$"),
    "first indentation": ("  A", r"t:1: the line is indented, but belongs to no loop or stage$"),
    "tab": ("loop i0 < 2\n  A\n\twait 2", r"t:3: a line is indented with spaces, not with tabs$"),
    "tab after spaces": ("loop i0 < 2\n  \tA", r"t:2: a line is indented with spaces, not with tabs$"),
    "long number": ("RD row=" + "9" * 5000, r"t:1: RD: operand row must be like .*\(5000 characters\)'$"),
    "deep": ("\n".join(" " * k + f"loop i{k} < 1" for k in range(100)), r"t:65: more than 64 loops and stages"),
}


@pytest.mark.parametrize("case", BAD)
def test_mistakes_have_their_line(case):
    text, message = BAD[case]
    with pytest.raises(ConfigError, match=message):
        parse_program(text, "t")


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere: no such file"):
        read_program(tmp_path / "nowhere")
    (tmp_path / "binary").write_bytes(bytes(range(128, 255)))
    with pytest.raises(ConfigError, match=r"binary: not UTF-8 text"):
        read_program(tmp_path / "binary")
    (tmp_path / "p").write_text("loop i0 < 2\n  A\n")
    assert read_program(tmp_path / "p") == Program([Loop(2, (Command("A"),))])
