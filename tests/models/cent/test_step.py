"""What is timed is what runs: the program of a block that ``eval`` times, and the one that a device executes."""

from __future__ import annotations

import numpy as np
import pytest

from bankside.constraints.cent.device import PRESETS
from bankside.constraints.cent.isa import CentIsa, fields_of
from bankside.constraints.cent.programs import image_for
from bankside.cosim.aim.module import memory_program
from bankside.models.cent.executable import SCALARS, ExecutableBlock, memory_commands
from bankside.models.cent.step import block_work, near_activity, near_clocks, output_work
from bankside.models.cent.words import encode_words
from bankside.models.llm import load_model
from bankside.models.memory.aim import FrontEnd
from bankside.models.systems import load_system

ENTRIES = dict.fromkeys(SCALARS, 0)


class Clocks:
    """Clocks by hand: a command takes 10 and a clock for each slot, a program 100 for each micro-operation."""

    def command(self, op, slots):
        return 10 + slots

    def program(self, name, micro_operations):
        return 100 * micro_operations

    def alone(self, name, slots):
        return 1000


@pytest.mark.parametrize("head_dim, kv_heads, heads", [(64, 4, 8), (128, 4, 8), (256, 2, 4)])
@pytest.mark.parametrize("tokens", [512, 4096])
def test_program_that_is_timed_is_the_program_that_the_device_decodes(head_dim, kv_heads, heads, tokens):
    """The words of the instruction buffer, decoded into commands, take the cycles of the program that ``eval`` times."""
    block = ExecutableBlock(1024, heads, kv_heads, head_dim, 2048, 8, max_tokens=4096)
    program = block.program(tokens, {name: 4 * n for n, name in enumerate(SCALARS)})
    work = block_work(block, tokens)
    assert list(memory_commands(program).body) == list(work.memory.body)
    isa = CentIsa()
    commands = isa.commands(fields_of(encode_words(program, isa)))
    device, count = Device(), len(commands["op"])
    commands["position"] = np.arange(count)
    issued = np.stack([np.broadcast_to(commands[name], count) for name in device.command_layout.widths], axis=1)
    found = FrontEnd("gddr6-aim").time(memory_program(device, issued.tolist()))
    assert found.cycles == FrontEnd("gddr6-aim").time(work.memory).cycles
    assert count == work.instructions


class Device:
    """What the bench's timing reads of a device of 32 channels."""

    mask_bits = 32
    command_layout = PRESETS["cent-small"].command_layout


def test_work_near_memory_by_hand():
    """Two heads of 32 elements on one channel of 16 banks, 20 tokens: two words of scores for each head."""
    block = ExecutableBlock(64, 2, 2, 32, 64, 1, max_tokens=64)
    work = block_work(block, 20)
    assert {key: times for key, times in work.near.items() if key[0] == "attention"} == {
        ("attention", "EXP", 2): 2,
        ("attention", "softmax", 2): 1,
    }
    assert work.near["norm1", "rmsnorm", 1] == work.near["norm1", "RED", 1] == 1
    assert work.near["output", "EWADD", 4] == 1  # the residual of 64 elements
    # Scores of two heads in two turns, context of two parts and a sum for each head.
    assert work.results == block_work(block, 36).results - 2
    clocks = near_clocks(work, Clocks(), 2.0)
    assert clocks.softmax == 2 * 12 + 200
    assert clocks.residuals == 2 * 14
    assert clocks.results == work.results
    assert clocks.core_clocks == 2 * 100 + 200
    found = near_activity(work, clocks)
    assert found.exponentials == 4 and found.calls == 2 + 1 and found.slots == 2 + 2


def test_output_matrix_in_groups_of_the_slots():
    block = ExecutableBlock(64, 2, 2, 32, 64, 1, slots=128, max_tokens=64)
    work = output_work(block, 16 * 100)
    assert work.results == 100 + 1  # of the product, and of the norm
    assert work.near["norm", "rmsnorm", 1] == 1


@pytest.mark.parametrize("name", ["llama-2-7b", "llama-2-70b", "llama-3-8b"])
def test_system_times_the_program_of_the_device(name, cent_records):
    """Cycles of ``eval`` are the cycles of the block on all channels of a device."""
    model, system = load_model(name), load_system("cent", {"device.refresh": False})
    bound = system.bind(model, cent_records).system
    block = bound.order.shape(model, 1000)
    image = image_for(16)
    program = block.program(1000, {name: image.entry(name) for name in SCALARS})
    assert bound.point(model, 1000).pim_cycles == FrontEnd("gddr6-aim").time(memory_commands(program)).cycles


@pytest.mark.parametrize("devices", [2, 4, 8, 32])
def test_devices_share_the_heads_of_a_block(devices, cent_records):
    """Each has its part of all matrices, and with more devices than heads of keys and values the head of its queries."""
    model = load_model("llama-2-70b")
    system = load_system("cent", {"parallelism.tensor": devices, "parallelism.pipeline": 32 // devices})
    block = system.bind(model, cent_records).system.order.shape(model, 4096)
    assert block.heads * devices == 64 and block.kv_heads == max(8 // devices, 1)
    assert block.ffn * devices == 28672 and block.devices == devices
    program = block.program(100, ENTRIES)
    words = encode_words(program, CentIsa())
    assert len(words) and program.counts()["BCAST_CXL"] == 2 * -(-512 // block.piece)
