"""The program representation: building, reading in closed form, and errors."""

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankside.constraints.core.errors import ConfigError
from bankside.models.program import Affine, Command, Loop, Program, Stage, Wait


def score(base=4):
    p = Program()
    with p.stage("score"):
        with p.loop(3) as t:
            with p.loop(2) as c:
                p.command("MAC_AB", row=base + 2 * t, column=c)
            p.wait(12)
            p.command("MV_SB", bank=0)
    return p


def test_the_builder_reads_like_the_algorithm():
    assert score().body == (
        Stage(
            "score",
            (
                Loop(
                    3,
                    (
                        Loop(2, (Command("MAC_AB", row=Affine(4, (2,)), column=Affine(0, (0, 1))),)),
                        Wait(12),
                        Command("MV_SB", bank=0),
                    ),
                ),
            ),
        ),
    )
    assert (
        str(score())
        == """\
stage score
  loop i0 < 3
    loop i1 < 2
      MAC_AB column=i1 row=4+2*i0
    wait 12
    MV_SB bank=0"""
    )


def test_counts_operands_and_expansion():
    p = score()
    assert p.counts() == {"MAC_AB": 6, "MV_SB": 3}
    assert p.operands("MAC_AB")["row"].tolist() == [4, 4, 6, 6, 8, 8]
    assert p.operands("MAC_AB")["column"].tolist() == [0, 1, 0, 1, 0, 1]
    assert list(p.expand())[:4] == [
        ("MAC_AB", {"column": 0, "row": 4}),
        ("MAC_AB", {"column": 1, "row": 4}),
        Wait(12),
        ("MV_SB", {"bank": 0}),
    ]
    assert [(command.op, loops) for command, loops in p.commands()] == [("MAC_AB", (3, 2)), ("MV_SB", (3,))]


def test_counts_do_not_unroll():
    p = Program()
    with p.loop(10**12), p.loop(10**6):
        p.command("RD")
    assert p.counts() == {"RD": 10**18}


def test_index_arithmetic():
    p = Program()
    with p.loop(4) as a, p.loop(4) as b:
        p.command("X", p=a + b, q=3 - 2 * a, r=-(b - 5) * np.int64(2), s=a - a, t=np.int32(7) + b)
    assert p.body[0].body[0].body[0] == Command(
        "X", p=Affine(0, (1, 1)), q=Affine(3, (-2,)), r=Affine(10, (0, -2)), s=0, t=Affine(7, (0, 1))
    )
    assert [str(Affine(*v)) for v in ((0,), (0, (1,)), (-3, (0, -2)), (0, (-1, 2)), (5, (1, -1)))] == [
        "0",
        "i0",
        "-3-2*i1",
        "-i0+2*i1",
        "5+i0-i1",
    ]


def test_equality_ignores_how_it_was_written():
    assert score() == Program(score().body)
    assert score() != score(base=5)
    assert Affine(3, (1, 0, 0)) == Affine(3, (1,))
    assert hash(score().body) == hash(score().body)
    with pytest.raises(TypeError, match="unhashable"):
        hash(score())


def test_extend_moves_a_program_below_a_loop():
    p = Program()
    with p.loop(2) as head:
        p.extend(score(base=0), row=100 * head + 1)
    rows = p.operands("MAC_AB")["row"].tolist()
    assert rows == [1, 1, 3, 3, 5, 5, 101, 101, 103, 103, 105, 105]
    assert p.counts() == {op: 2 * n for op, n in score().counts().items()}


def test_loops_of_no_iterations():
    p = Program()
    with p.loop(0):
        p.command("RD", row=0)
    assert p.counts() == {} and list(p.expand()) == []
    assert p.operands("RD")["row"].tolist() == []


@st.composite
def bodies(draw, depth=0):
    out = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["command", "command", "loop", "stage", "wait"] if depth < 3 else ["command"]))
        if kind == "loop":
            out.append(Loop(draw(st.integers(0, 4)), draw(bodies(depth=depth + 1))))
        elif kind == "stage":
            out.append(Stage("s", draw(bodies(depth=depth))))
        elif kind == "wait":
            out.append(Wait(draw(st.integers(0, 9))))
        else:
            strides = draw(st.lists(st.integers(-3, 3), max_size=depth))
            out.append(Command(draw(st.sampled_from("AB")), row=Affine(draw(st.integers(-5, 5)), tuple(strides)), k=1))
    return tuple(out)


@settings(max_examples=200)
@given(bodies())
def test_closed_forms_equal_the_expansion(body):
    p = Program(body)
    steps = [step for step in p.expand() if not isinstance(step, Wait)]
    assert p.counts() == {op: n for op in "AB" if (n := sum(step[0] == op for step in steps))}
    for op in {command.op for command, _ in p.commands()}:
        values = p.operands(op)
        for name in ("row", "k"):
            assert values[name].dtype == np.int64
            assert values[name].tolist() == [step[1][name] for step in steps if step[0] == op]
    for command, loops in p.commands():
        if prod(loops):
            own = [step[1]["row"] for step in Program(rebuilt(command, loops)).expand()]
            assert command["row"].bounds(loops) == (min(own), max(own))


def rebuilt(command, loops):
    body = (command,)
    for count in reversed(loops):
        body = (Loop(count, body),)
    return body


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: Loop(-1, ()), ConfigError, "a loop must have a count of at least 0, not -1"),
        (lambda: Loop(2.0, ()), TypeError, "count of a loop must be an integer, not 2.0"),
        (lambda: Loop(True, ()), TypeError, "count of a loop must be an integer, not True"),
        (lambda: Wait(-3), ConfigError, "a wait must have at least 0 cycles, not -3"),
        (lambda: Command("a b"), ConfigError, "the name of a command must be an identifier, not 'a b'"),
        (lambda: Command("RD", row=1.5), TypeError, "RD: operand row must be an integer, not 1.5"),
        (lambda: Stage("", ()), ConfigError, "the name of a stage must be text, not ''"),
        (lambda: Program([3]), TypeError, "a program holds Command, Wait, Loop and Stage, not int"),
        (lambda: score().operands("RD"), ConfigError, "the program has no command RD"),
        (
            lambda: Program([Command("A", x=1), Command("A", y=1)]).operands("A"),
            ConfigError,
            "the commands A of a program must have the same operands",
        ),
    ],
)
def test_errors(make, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        make()


def test_errors_of_the_builder():
    p = Program()
    with p.loop(2) as t:
        with pytest.raises(ConfigError, match="inside the `with` block"):
            p.counts()
        with pytest.raises(TypeError, match="the product of two loop indices is not affine"):
            p.command("RD", row=t * t)
        with pytest.raises(TypeError, match="a stride must be an integer, not 0.5"):
            p.command("RD", row=t * 0.5)
    with pytest.raises(ConfigError, match="^RD: operand row uses the index of a loop that is closed$"):
        p.command("RD", row=t)
    with pytest.raises(KeyError):
        with p.loop(3):
            raise KeyError
    assert p.body == (Loop(2, ()),)
