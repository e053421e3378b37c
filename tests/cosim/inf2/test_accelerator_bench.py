# amaranth: UnusedElaboratable=no
"""``inf2-accelerator`` in Verilator: other configurations, planted errors, wrong expectations, bus models of others."""

from __future__ import annotations

import re

import numpy as np
import pytest

from bankside.constraints.core.errors import CheckFailed
from bankside.constraints.core.registry import UNITS
from bankside.constraints.inf2.accelerator import ADDRESSES, Job, JobError, MaskKind
from bankside.cosim.bench import axi_shell
from bankside.cosim.inf2 import accelerator as inf2_accelerator
from bankside.cosim.inf2.accelerator import Episode, bad_jobs, random_shard, simulate, stress_episodes
from bankside.gen.blocks.shared import ModuleLibrary
from bankside.gen.inf2 import accelerator as accelerator_module
from bankside.gen.inf2 import shuffle as shuffle_module
from bankside.hardware.generate import verilog
from bankside.hardware.selection import select
from bankside.models.inf2.accelerator import attention
from tests.cosim.bench.test_axi import simulate_buses
from tests.planting import planted

TRIAL = UNITS["inf2-accelerator"].trial.sets
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("inf2-accelerator")]


def test_wrong_expectations_are_reported(monkeypatch):
    """A model whose second job has another element 3."""
    selection = select("inf2-accelerator", sets=TRIAL)
    config, rng = selection.config, np.random.default_rng(1)
    shards = [random_shard(config, Job(5, 7), rng), random_shard(config, Job(6, 5, 1), rng)]

    def wrong(config, job, *given):
        out = attention(config, job, *given)
        out[3] ^= job.new_tokens
        return out

    monkeypatch.setattr(inf2_accelerator, "attention", wrong)
    outcome = simulate(config, verilog(selection), [Episode(shards)])
    assert outcome.mismatches == 1
    assert re.match(r"written 2 \(episode 0\): got 0x", outcome.first_mismatch)


@pytest.mark.parametrize(
    "sets",
    [
        ["gemv.blocks=1", "id_bits=0", "outstanding=1"],
        ["gemv.blocks=4", "softmax.lanes=4", "burst=1", "read_words=5"],
        ["gemv.lanes=8", "gemv.max_head_dim=40", "address_bits=64", "burst=16"],
        ["gemv.accumulator=fp32", "softmax.accumulator=fp32", "softmax.division=reciprocal", "gemv.fabric=xilinx"],
    ],
)
def test_other_configurations(sets):
    selection = select("inf2-accelerator", sets=[*TRIAL, *sets])
    config, text = selection.config, verilog(selection)
    for stalls, lazy in ((0.0, False), (0.35, False), (0.1, True)):
        rng = np.random.default_rng(5)
        outcome = simulate(
            config, text, [Episode(bad_jobs(config, rng)), *stress_episodes(config, rng, 12)], stalls=stalls, lazy=lazy
        )
        assert outcome.mismatches == 0, outcome.first_mismatch


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        (accelerator_module, "there.eq(part[0] | (arrived >= asked + rows))", "there.eq(1)"),
        (accelerator_module, "m.d.sync += failed.eq(1)", "pass"),
        (accelerator_module, "turn.eq(turn_sv + groups)", "turn.eq(turn_sv)"),
        (accelerator_module, "filled.eq(0), beat.eq(0)", "beat.eq(0)"),
        (accelerator_module, "r.new_tokens.any()", "0"),
        (accelerator_module, "port.p.address.eq(r.output)", "port.p.address.eq(r.output + 8)"),
        (shuffle_module, "releases.eq((reads & last) << front)", "releases.eq((reads & last_row) << front)"),
    ],
)
def test_errors_in_the_unit_are_found(module, old, new, monkeypatch):
    """Each planted error gives other answers or writes, an early read, or no end."""
    config = select("inf2-accelerator", sets=TRIAL).config
    changed = planted(module, old, new)
    if module is shuffle_module:
        monkeypatch.setattr(accelerator_module, "TileShuffle", changed.TileShuffle)
        changed = accelerator_module
    library = ModuleLibrary("inf2_accelerator", emit_src=False, strip_internal_attrs=True)
    text = library.convert(changed.Inf2Accelerator(config), "inf2_accelerator")
    rng = np.random.default_rng(6)
    try:
        outcome = simulate(
            config,
            "".join([*library.modules.values(), text]),
            [Episode(bad_jobs(config, rng)), *stress_episodes(config, rng, 12)],
            stalls=0.2,
        )
    except CheckFailed:
        return
    assert outcome.mismatches


@pytest.mark.parametrize("stalls", [0.0, 0.5])
def test_bus_models_of_others(stalls, tmp_path):
    """Jobs of every kind of mask and error between memory and manager of cocotbext-axi."""
    pytest.importorskip("cocotbext.axi", reason="cocotbext-axi is not installed")
    selection = select("inf2-accelerator", sets=TRIAL)
    config, rng = selection.config, np.random.default_rng(7)
    address = {one.name: one.offset for one in config.registers}
    shards = [random_shard(config, Job(13 + kind, 9, 4, kind, 6 if kind else 0), rng) for kind in MaskKind]
    shards += bad_jobs(config, rng)[-8:] + bad_jobs(config, rng)[:4]
    room, jobs, outputs = 1 << 12, [], []
    for shard in shards:
        plan = inf2_accelerator._plan(config, Episode([shard]), room, 0, rng, 0.0)
        writes = [(one.address, one.value) for one in plan.steps if one.operation == "write"][:-1]
        given = dict(writes)
        words = (
            [
                row.tobytes()
                for row in axi_shell.AxiRig(config.ports(), room, 1, 1)
                .written_layout.unpack(np.concatenate(plan.written))["data"]
                .astype(np.uint8)
            ]
            if plan.written
            else []
        )
        fails = inf2_accelerator._error(config, shard) is JobError.WRITE
        first = 0 if fails else given[address["output"]] // 8 * 8
        size = 0 if fails or not words else 2 * shard.job.head_dim
        outputs.append(b"".join(words)[:size].hex())
        jobs.append(
            {
                "writes": writes,
                "output": [first, first + size],
                "loads": [
                    (int(place) * 8, row.tobytes().hex())
                    for places, rows in zip(plan.places, plan.words, strict=True)
                    for place, row in zip(places, rows, strict=True)
                ],
            }
        )
    got = simulate_buses(
        tmp_path,
        verilog(selection),
        "inf2_accelerator",
        {port.name: (port.layout.bits, f"{port.flow.capitalize()}put") for port in config.ports()},
        "axi_attention_tb",
        {
            "seed": 3,
            "stalls": stalls,
            "bad": [(room * 8, 1 << 40)],
            "jobs": jobs,
            "limit": 20_000,
            "memory_bytes": room * 8,
            "word_bytes": 8,
            "burst": config.burst,
            "outstanding": config.outstanding,
            "error": address["error"],
            "events": address["events"],
        },
    )
    assert got["violations"] == []
    assert got["errors"] == [int(inf2_accelerator._error(config, shard)) for shard in shards]
    assert got["outputs"] == outputs
    assert {JobError.READ, JobError.WRITE, JobError.NONE, JobError.ADDRESS} <= set(got["errors"])
    assert got["stalled"]["r"] == 0 and (not stalls or got["stalled"]["ar"])
    assert set(ADDRESSES) <= set(address)


def test_pace_of_a_memory():
    """As many words in a refresh period as a stream moves."""
    from bankside.constraints.memory import load_memory
    from bankside.models.memory.streams import stream_share

    memory = load_memory("ddr4-2400")
    pace = axi_shell.memory_pace(memory, 64, 200.0)
    assert len(pace) == 1560
    share = pace.mean() * 64 * 200e6 / memory.channel_bytes_per_s
    assert share == pytest.approx(stream_share(memory), abs=0.01)
