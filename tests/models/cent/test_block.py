"""CENT's programs: cycles that its authors publish, and cycles with open rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bankside.constraints.core.errors import ConfigError
from bankside.models.cent import BlockMapping, block_program, embedding_program, matrices_program
from bankside.models.memory import aim_kernel as kernel
from bankside.models.memory.aim import FrontEnd, channel_mask
from bankside.models.memory.issue_log import LoggedFrontEnd, Recorder
from bankside.models.memory.standby import StandbyFrontEnd

L7, L13, L70 = ((4096, 32, 32, 11008), (5120, 40, 40, 13824), (8192, 64, 8, 28672))

#: Cycles of 0.5 ns in the results of CENT's artifact (simulation_results.csv; 13B: its block totals): shape, channels,
#: devices, tokens.
BLOCKS = [
    ((*L7, 8, 1), 512, 456689),
    ((*L13, 16, 1), 512, 350100),
    ((*L70, 10, 1), 512, 1385050),
    ((*L7, 32, 8), 512, 43094),
    ((*L7, 32, 2), 1024, 83885),
    ((*L70, 32, 32), 1024, 105409),
]

#: Its embedding latencies.
EMBEDDINGS = [((*L7, 8, 1), 475496), ((*L70, 10, 1), 764776), ((*L7, 32, 4), 37213), ((*L70, 32, 32), 20111)]

SMALL = BlockMapping(hidden=512, heads=4, kv_heads=2, ffn=768, channels=5, max_tokens=256)


@pytest.fixture(scope="module")
def simulator() -> StandbyFrontEnd:
    return StandbyFrontEnd(quirks="aim-simulator")


@pytest.mark.parametrize("shape, tokens, cycles", BLOCKS, ids=lambda value: str(value))
def test_cycles_of_blocks_are_the_authors(simulator: StandbyFrontEnd, shape, tokens, cycles) -> None:
    assert simulator.time(block_program(BlockMapping(*shape), tokens)).cycles == cycles


@pytest.mark.parametrize("shape, cycles", EMBEDDINGS, ids=lambda value: str(value))
def test_cycles_of_the_embedding_are_the_authors(simulator: StandbyFrontEnd, shape, cycles) -> None:
    assert simulator.time(embedding_program(BlockMapping(*shape), 32000)).cycles == cycles


def test_cycles_with_open_rows_are_the_authors(simulator: StandbyFrontEnd) -> None:
    """Their standby energies: 0.426583975 mJ and 4.320203116992188 mJ with open rows, at 263.75 mW, of 8 and 27 devices."""
    for shape, devices, energy_mj in (((*L7, 8), 8, 0.426583975), ((*L70, 10), 27, 4.320203116992188)):
        timing = simulator.time(block_program(BlockMapping(*shape), 512))
        assert timing.open_cycles / 32 * 0.5 * 263.75e-9 * devices == pytest.approx(energy_mj, rel=1e-12)


@pytest.mark.parametrize("quirks", [None, "aim-simulator"])
def test_open_rows_against_a_reading_of_the_log(quirks) -> None:
    """Channel by channel and command by command, and the same cycles and commands as without this count."""
    program = block_program(SMALL, 100)
    timing = StandbyFrontEnd(quirks=quirks).time(program)
    front_end = LoggedFrontEnd(quirks=quirks)
    plain = FrontEnd(quirks=quirks).time(program)
    assert (timing.cycles, timing.commands, timing.stages) == (plain.cycles, plain.commands, plain.stages)
    recorder = Recorder(front_end.memory)
    front_end.record_program(program, recorder)
    t = front_end.tables
    total = 0
    rows = np.concatenate(recorder.parts)
    for channel in range(32):
        open_banks: set[int] = set()
        since = 0
        for cycle, members, target, _ in rows.tolist():
            if not members >> channel & 1:
                continue
            acted = t.bank[t.bank_start[target] : t.bank_start[target + 1]].tolist()
            banks = {bank % 4 if quirks else bank for bank in acted}
            before = bool(open_banks)
            if t.rule[target] == 2:
                open_banks |= banks
                since = since if before else cycle
            elif t.rule[target] == 3 or t.auto_precharge[target]:
                open_banks -= banks
                total += cycle - since if before and not open_banks else 0
        total += timing.cycles + 1 - since if open_banks else 0
    assert timing.open_cycles == total > 0


def test_trace_and_program_have_the_same_open_cycles() -> None:
    front_end = StandbyFrontEnd()
    program = block_program(SMALL, 70)
    line_by_line = front_end.run([front_end._unrolled(tuple(program.body)), front_end._encode([("EOC", {})])])
    assert line_by_line.open_cycles == StandbyFrontEnd().time(program).open_cycles
    assert front_end.host[kernel.CLOCK] == line_by_line.cycles


def test_matrices_are_the_products_of_the_block() -> None:
    block, matrices = (program for program in (block_program(SMALL, 9), matrices_program(SMALL)))
    assert [stage.name for stage in matrices.body] == [
        stage.name for stage in block.body if stage.name.startswith("gemv")
    ]
    plain = matrices_program(replace(SMALL, gated=False))
    assert {stage.name for stage in matrices.body} - {stage.name for stage in plain.body} == {"gemv_w3"}


def test_blocks_with_inputs_of_their_own_write_each_input() -> None:
    """Six blocks of five channels: six times as many instructions write inputs, in the same number of writes."""
    own = replace(SMALL, shared_inputs=False)
    masks = [
        {command["mask"] for command in _commands(block_program(mapping, 50), "WR_GB")} for mapping in (SMALL, own)
    ]
    assert masks[1] == {channel_mask(used, 5 * block) for block in range(6) for used in (1, 2, 4, 5)} & masks[1]
    assert max(bin(mask).count("1") for mask in masks[1]) <= 5 < max(bin(mask).count("1") for mask in masks[0])


def _commands(program, op):
    def visit(body):
        for node in body:
            if hasattr(node, "body"):
                yield from visit(node.body)
            elif node.op == op:
                yield {name: value.base for name, value in node.operands}

    return visit(program.body)


def test_without_slips_results_of_the_rotation_are_read() -> None:
    timing = [FrontEnd().time(block_program(replace(SMALL, slips=slips), 20)).commands for slips in (True, False)]
    assert timing[1]["RD"] > timing[0]["RD"] and timing[1]["WR"] < timing[0]["WR"]


@pytest.mark.parametrize("head_dim", [16, 64, 128, 256])
def test_heads_of_any_size_attend_to_all_keys(head_dim: int) -> None:
    """A score takes as many column accesses as its keys have, whatever the size of heads."""
    mapping = BlockMapping(
        hidden=4 * head_dim, heads=4, kv_heads=4, ffn=512, channels=8, max_tokens=512, head_dim=head_dim
    )
    stage = next(stage for stage in block_program(mapping, 256).body if stage.name == "attn_score")
    counts = FrontEnd().time(type(block_program(mapping, 256))([stage])).commands
    assert counts["MAC16"] == 32 * 4 * (head_dim // 16) * 2  # 256 tokens on 128 banks: two turns; 32 channels


@pytest.mark.parametrize(
    "change, message", [({"head_dim": 24}, "head_dim"), ({"channels": 33}, "channels"), ({"kv_heads": 3}, "kv_heads")]
)
def test_a_wrong_mapping_is_refused(change, message) -> None:
    with pytest.raises(ConfigError, match=message):
        replace(SMALL, **change)
