"""Every constraint of every memory that ships is tight: refused one cycle early, accepted on time."""

from dataclasses import replace
from itertools import product

import pytest

from bankside.constraints.memory import available, load_memory
from bankside.models.memory.channel import Channel

MEMORIES = {name: load_memory(name) for name in available()}
#: All lines but those between nodes of a level that has one node: they are for files based on this one.
LINES = [
    (name, number)
    for name, memory in MEMORIES.items()
    for number, line in enumerate(memory.constraints)
    if line.between == "same" or memory.levels[line.level] > 1
]


def addresses(memory, op):
    """Addresses of a command: at each level that it names, the first node and the last."""
    scope = memory.commands[op].scope
    return list(product(*([0, size - 1] if level in scope else [None] for level, size in memory.levels.items())))


def gap(memory, constraint, first, second, at, then):
    """First legal cycle of ``second`` after ``window`` times ``first``, relative to the first of them."""
    channel = Channel(memory)
    target = channel.target(first, at)
    channel.target(second, then)
    for k in range(constraint.window):
        channel.issue(target, 1000 + k)
    return channel.earliest(channel.target(second, then)) - 1000


@pytest.mark.parametrize(
    "name, number", LINES, ids=[f"{name}:{MEMORIES[name].constraints[number].line}" for name, number in LINES]
)
def test_every_line_is_refused_one_cycle_early_and_accepted_on_time(name, number):
    """A two-command program per line: the second issues exactly on the line's cycles, and the line is what holds it."""
    memory = MEMORIES[name]
    constraint = memory.constraints[number]
    lines = list(memory.constraints)
    lines[number] = replace(constraint, cycles=constraint.cycles + 1)
    longer = replace(memory, constraints=tuple(lines))
    for first, second in product(sorted(constraint.from_), sorted(constraint.to)):
        for at, then in product(addresses(memory, first), addresses(memory, second)):
            if (
                gap(memory, constraint, first, second, at, then) == constraint.cycles
                and gap(longer, constraint, first, second, at, then) == constraint.cycles + 1
            ):
                return
    pytest.fail("this line never decides anything")
