"""``cent-device`` in Verilator: a block at the width of CENT's channels, devices at a switch, planted errors."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bankside.constraints.cent.device import PRESETS, UNIT, LlamaBlock, wide
from bankside.constraints.memory import load_memory
from bankside.cosim.bench.build import LEVEL
from bankside.cosim.cent.cxl_port import settings
from bankside.cosim.cent.device import Mixes, Session, Wires, simulate
from bankside.gen.blocks.shared import ModuleLibrary
from bankside.gen.cent import device as device_module
from bankside.hardware.generate import verilog
from bankside.hardware.selection import select
from bankside.shell.cli import main
from tests.planting import planted

SMALL = PRESETS["cent-small"].joined
TRIAL = {**UNIT.trial.workload, "kv_heads": 2}
ROWS = 16


def text_of(name, config, *more):
    return verilog(select(name, sets=[*settings(config.model_dump()), *more]))


def wires(devices, config=SMALL):
    """Switch and link for devices."""
    cxl = config.hub.cxl
    switch = verilog(select("cent-cxl-switch", sets=[*settings(cxl.model_dump(), "port."), f"joined={devices}"]))
    return Wires((switch, "cent_cxl_switch"), (text_of("cent-cxl-link", cxl.link), "cent_cxl_link"))


def error(outcome, one):
    return np.linalg.norm(outcome.result(one) - one.exact) / np.linalg.norm(one.exact)


@pytest.mark.slow
@pytest.mark.xdist_group("device")
def test_block_at_the_width_of_the_channels(monkeypatch):
    """Two channels of 16 banks and 16 lanes, hidden 256, 4 heads of 64 on 2, FFN 704, 96 tokens: every command, column,
    write and result as the model says. Against binary64 with and without a maximum, and with scores up to 60."""
    monkeypatch.setenv(LEVEL, "1")
    config = wide(2)
    text = text_of("cent-device", config)
    shape = {"hidden": 256, "heads": 4, "kv_heads": 2, "head_dim": 64, "ffn": 704, "tokens": 1, "past": 95}
    for more, least, options in (
        ({}, 0.02, {"memory": load_memory("gddr6-aim")}),
        ({"maximum": True}, 0.02, {}),
        ({"score_range": 60.0}, 0.05, {"stalls": 0.35}),
        ({"score_range": 60.0, "maximum": True}, 0.05, {}),
    ):
        session = Session(config, LlamaBlock(**shape, **more), np.random.default_rng(1))
        outcome = simulate(session, text, **options)
        assert outcome.mismatches == 0, outcome.first_mismatch
        assert [one.tokens for one in session.decoded] == [96]
        assert error(outcome, session.decoded[0]) < least


@pytest.mark.slow
@pytest.mark.xdist_group("devices")
def test_block_over_two_devices(capsys, tmp_path, monkeypatch):
    """The command line: every result and every word of the lines, at the memory's pace, at full rate, with stalls of host
    and lines, and random transfers."""
    monkeypatch.setenv("BANKSIDE_RECORDS", str(tmp_path / "records"))
    words = [word for key, value in TRIAL.items() for word in (f"--{key.replace('_', '-')}", str(value))]
    assert main(["sim", "cent-device", "--devices", "2", *words, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["mismatches"] == 0 and list(result["runs"]) == ["memory", "full_rate", "stalls", "transfers"]
    assert result["steps"][0]["relative_error"] < 0.03 and result["cycles"] > result["memory_cycles"]


@pytest.mark.slow
@pytest.mark.xdist_group("device")
def test_device_alone_with_a_port():
    """Nothing passes the port, and the block is the same."""
    session = Session(SMALL, LlamaBlock(**UNIT.trial.workload), np.random.default_rng(1))
    outcome = simulate(session, text_of("cent-device", SMALL), stalls=0.2)
    assert outcome.mismatches == 0, outcome.first_mismatch
    assert {"cxl_tx", "cxl_memory"} <= set(outcome.run.outputs) and not len(outcome.run.outputs["cxl_tx"])


@pytest.mark.slow
@pytest.mark.xdist_group("devices")
def test_four_devices():
    """A block over four devices, and random transfers with broadcasts to one, two and three of them."""
    text, between = text_of("cent-device", SMALL), wires(4)
    session = Session(
        SMALL,
        LlamaBlock(devices=4, hidden=16, heads=4, kv_heads=4, head_dim=8, ffn=16, tokens=1, past=2),
        np.random.default_rng(1),
    )
    outcome = simulate(session, text, wires=between, stalls=0.35)
    assert outcome.mismatches == 0, outcome.first_mismatch
    assert error(outcome, session.decoded[0]) < 0.03
    rows = session.rows
    for seed, options in enumerate(({}, {"stalls": 0.5})):
        outcome = simulate(Mixes(SMALL, 4, rows, np.random.default_rng(seed), 12), text, wires=between, **options)
        assert outcome.mismatches == 0, outcome.first_mismatch


@pytest.mark.slow
@pytest.mark.xdist_group("devices")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("self.idle.eq(self.ready & ~port.sending)", "self.idle.eq(self.ready)"),
        ("receiving.eq(self.command.op == PortOp.RECV_CXL)", "receiving.eq(0)"),
    ],
    ids=["does-not-wait-for-reads", "does-not-wait-for-transfers"],
)
def test_planted_error_in_the_engine_is_reported(old, new):
    """The command behind SEND_CXL changes its slots; RECV_CXL is done at once."""
    library = ModuleLibrary("cent_device", emit_src=False, strip_internal_attrs=True)
    top = library.convert(planted(device_module, old, new).CentDevice(SMALL), "cent_device")
    text = "".join([*library.modules.values(), top])
    outcome = simulate(Mixes(SMALL, 2, ROWS, np.random.default_rng(1), 8), text, wires=wires(2), stalls=0.2)
    assert outcome.mismatches


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--devices", "5"], "--devices: must be at most 4, not 5"),
        (["--devices", "2", "--heads", "3"], "heads must be a multiple of the 2 devices, not 3"),
        (["--devices", "2", "--heads", "2", "--kv-heads", "1"], "kv_heads must be a multiple of the 2 devices, not 1"),
        (["--devices", "2", "--ffn", "164"], "ffn must be a multiple of 8, 4 lanes for each of 2 devices, not 164"),
        (["--devices", "2", "--set", "hub.cxl.slots=128"], "hub.cxl.slots must be hub.registers, 256, not 128"),
        (
            ["--devices", "4", "--set", "decoder.devices=2", "--kv-heads", "4"],
            "devices must be at most 2 for this configuration, not 4",
        ),
        (
            ["--set", "hub.network=true", "--set", "hub.cxl.link.devices=2"],
            "hub.cxl.link.devices must be decoder.devices, 4, not 2",
        ),
    ],
)
def test_bad_input(words, message, capsys):
    assert main(["sim", "cent-device", *words]) == 2
    err = capsys.readouterr().err
    assert message in err and len(err.strip().splitlines()) == 1
