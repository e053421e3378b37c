"""``cent-riscv`` in Verilator at other parameters than the presets', and a bench that sees errors."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from bankside.constraints.cent.riscv import CentRiscvConfig
from bankside.constraints.cent.rv32 import WINDOW, Kind, custom, i_type, s_type, u_type
from bankside.constraints.core.errors import ConfigError
from bankside.cosim.bench.campaign import play_stimulus
from bankside.cosim.cent.riscv import RETURN, Episode, Load, random_episode, shared_buffer, simulate, stimulus
from bankside.hardware.generate import verilog
from bankside.hardware.selection import select
from bankside.models.cent.riscv import ClusterModel
from bankside.shell.cli import main

#: Three cores, one read under way, operators with one register, little memory, a small buffer.
SETS = ["cores=3", "memory_bytes=4096", "window_bytes=1024", "queue=1", "float_depth=1"]


@pytest.mark.slow
def test_small_unit():
    """Random programs with a fast and a slow shared buffer, with stalls, from random registers with resets. Then words that
    go to some cores only, exceptions, stray accesses, and a bench that sees an access elsewhere."""
    selection = select("cent-riscv", sets=SETS)
    config, text, rng = selection.config, verilog(selection), np.random.default_rng(2)
    for options in (
        {"latency": 1},
        {"latency": 7, "stalls": 0.35},
        {"latency": 3, "stalls": 0.1, "lazy": True, "power_up": "random", "resets": 3},
    ):
        outcome = simulate(config, text, [random_episode(config, rng, 20) for _ in range(12)], **options)
        assert outcome.mismatches == 0, outcome.first_mismatch
    buffer = rng.integers(0, 1 << 16, config.window_bytes // 2).astype(np.uint16)
    # a0 + 4 a3: each core's own place. Then core 1 does something else than its neighbours.
    place = [i_type(0x13, 1, 3, 13, 2), 0x00A181B3, s_type(0x23, 1, 3, 13, 0)]
    ends = [
        [RETURN],
        [0],
        [s_type(0x23, 0, 3, 3, 0), RETURN],
        [i_type(0x03, 2, 4, 2, 0), RETURN],
        [i_type(0x03, 2, 4, 3, 1)],
        [u_type(0x37, 4, WINDOW + 0x1000), s_type(0x23, 2, 4, 4, 0), RETURN],
        [i_type(0x67, 0, 0, 3, 2)],
    ]
    episodes = [
        Episode([Load([*place, RETURN], 8), Load([*place, *end], 8, 0b010)], 8, 1, 2, 3, buffer) for end in ends
    ]
    # A single word while the core waits, then a start at once.
    episodes += [Episode([Load([RETURN], 9)], 9, 0, 0, 0, buffer), Episode([Load([0], 9, 0b100)], 9, 0, 0, 0, buffer)]
    outcome = simulate(config, text, episodes)
    assert outcome.mismatches == 0, outcome.first_mismatch
    assert [run.trapped for run in outcome.runs] == [0, 2, 0, 0, 2, 0, 2, 0, 4]
    assert [run.strayed for run in outcome.runs] == [0, 0, 2, 2, 0, 2, 0, 0, 0]
    # The unit gets another program than the model: its accesses are mismatches.
    other, _ = stimulus(
        config,
        ClusterModel(config),
        [dataclasses.replace(episodes[0], loads=[Load([*place, custom(Kind.WRITE, 1, 0, 3), RETURN], 8)])],
    )
    right, _ = stimulus(config, ClusterModel(config), episodes[:1])
    mixed = dataclasses.replace(right, items={**right.items, "command": other.items["command"]})
    assert play_stimulus(config, *shared_buffer(config, text, "cent_riscv", 2), mixed).mismatches


def test_work_that_is_too_large_is_told_before_anything_is_built(tmp_path, capsys):
    large = tmp_path / "large.json"
    large.write_text(json.dumps({"words": ["00000013"] * 20000, "entries": {"f": 0}, "parameters": {}}))
    assert main(["sim", "cent-riscv", "--program", str(large)]) == 2
    assert capsys.readouterr().err == (
        "bankside: a program of 80000 bytes does not fit into a core's memory, which has room for 65468\n"
    )
    for text, message in (
        ("memory_bytes=5000", "memory_bytes must be a power of two"),
        ("window_bytes=256", "window_bytes must be at least 128 for each core"),
    ):
        with pytest.raises(ConfigError, match=message):
            select("cent-riscv", sets=[text])
    selection = select("cent-riscv", sets=["window_bytes=1024"])
    for work, message in (
        ({"elements": 48}, "elements must be a multiple of 32"),
        ({"heads": 17}, "do not fit into the 32 slots"),
    ):
        workload = selection.unit.workload(**{"elements": 32, "heads": 1, **work})
        with pytest.raises(ConfigError, match=message):
            workload.check(selection.config)


def test_ports_follow_the_parameters():
    config = CentRiscvConfig(cores=2, memory_bytes=8192, window_bytes=2048)
    assert {name: config.command_layout.widths[name] for name in ("address", "cores", "gpr0")} == {
        "address": 11,
        "cores": 2,
        "gpr0": 6,
    }
    assert config.request_layout.widths == {"address": 10, "data": 16, "write": 1}
