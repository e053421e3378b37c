"""What is timed is what runs: the operators that the system times are the programs that the dispatcher executes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bankside.constraints.aim.channel import AimChannelConfig
from bankside.constraints.aim.hub import PRESETS as HUBS
from bankside.constraints.lolpim.module import LolPimModuleConfig
from bankside.cosim.aim.module import NAMES
from bankside.models.llm import load_model
from bankside.models.lolpim.dispatcher import Dispatcher
from bankside.models.lolpim.head import Head
from bankside.models.lolpim.host import load, set_request, start
from bankside.models.memory.aim import INSTRUCTIONS
from bankside.models.program.encoding import encode_program
from bankside.models.systems import load_system

#: A module of the paper: 16 channels, two sets of buffers.
MODULE = LolPimModuleConfig(
    channel=AimChannelConfig(buffering="ping-pong", opsize_bits=18),
    hub=HUBS["lol-pim"].model_copy(update={"channels": 16}),
)


def steps(commands):
    """What decides the time of commands of the memory; rows are numbered as they come."""
    rows, out = {}, []
    for op, at in commands:
        if op in INSTRUCTIONS and INSTRUCTIONS[op].command is not None:
            row = rows.setdefault(at["row"], len(rows)) if "row" in INSTRUCTIONS[op].fields else None
            out.append((op, at["opsize"] if "opsize" in INSTRUCTIONS[op].fields else 1, at["mask"], row))
    return out


def issued(head, tokens):
    """Commands that the dispatcher issues for the attention of a request, from the words of its program."""
    config = MODULE.dispatcher
    dispatcher = Dispatcher(config)
    rows = 2 * -(-tokens // head.chunk)
    writes = [
        *load(config, encode_program(head.attend, config.encoding)),
        *set_request(config, 0, 7, tokens, 0, range(100, 100 + rows)),
        start(config),
    ]
    for address, data in writes:
        dispatcher.write(address, data)
    found = [dict(zip(config.command_layout.widths, values, strict=True)) for values in dispatcher.issued]
    return [(NAMES[one["op"]], one) for one in found]


@pytest.mark.parametrize("group", [1, 4])
@pytest.mark.parametrize("tokens", [512, 4096])
@pytest.mark.parametrize("head_dim", [64, 128, 256])
def test_system_times_the_program_of_the_dispatcher(head_dim, tokens, group, module_records):
    """Commands of a head's attention on the module of the system, from the words of its program, are those of the two
    operators that ``eval`` times."""
    head = Head(MODULE, head_dim, group)
    model = load_model("qwen1.5-7b").model_copy(update={"head_dim": head_dim})
    system = load_system("lol-pim", {"allocation.chunk_tokens": head.chunk})
    score, context = system.bind(load_model("qwen1.5-7b"), module_records).system.unit.operators(
        model, 1, group, tokens
    )
    timed = [*score.bound.expand(), *replace(context, base=1 << 12).bound.expand()]
    assert steps(issued(head, tokens)) == steps(timed)


@pytest.mark.parametrize("name, heads", [("qwen1.5-7b", 1), ("llama-3-8b", 1)])
@pytest.mark.parametrize("tokens", [300, 2048, 5000])
def test_compiled_layer_has_the_operators_that_are_timed(name, heads, tokens, module_records):
    """Attention of one head of the compiled program has the cycles that ``eval`` charges for it."""
    model = load_model(name)
    tensor = model.kv_heads
    changes = {"node.nodes": 4 * tensor, "parallelism.tensor": tensor, "parallelism.pipeline": 32}
    bound = load_system("lol-pim", changes).bind(model, module_records).system
    assert bound.heads(model)[0] == heads
    for operator, part in zip(
        ("attention_score", "attention_context"), bound.unit.operators(model, *bound.heads(model), tokens), strict=True
    ):
        program = bound.compile(model, tokens, operator).program.bind(tokens)
        assert bound.unit.timer.program(program).cycles == bound.unit.time(part).cycles
