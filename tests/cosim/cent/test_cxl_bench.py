"""CENT's CXL units in Verilator: bit for bit the model, planted errors that are seen, the payload of a flit."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from bankside.constraints.cent.cxl_link import MessageClass
from bankside.constraints.core.errors import CheckFailed
from bankside.constraints.core.registry import UNITS
from bankside.cosim.cent import cxl_link as cent_cxl_link
from bankside.cosim.cent import cxl_port as cent_cxl_port
from bankside.gen.blocks.shared import ModuleLibrary
from bankside.gen.cent import cxl_link as link_module
from bankside.gen.cent import cxl_port as port_module
from bankside.gen.cent import cxl_switch as switch_module
from bankside.hardware.generate import verilog
from bankside.hardware.selection import select
from bankside.shell.cli import main
from tests.planting import planted


def small(name, *more):
    """A unit's trial hardware, as configuration and text."""
    selection = select(name, sets=[*UNITS[name].trial.sets, *more])
    return selection.config, verilog(selection)


def fabric(*more, devices=2, port=None, switch=None):
    """Small devices at a switch; ``port`` and ``switch``: other texts of these units."""
    sets = [*more, f"link.devices={devices}"]
    config, text = small("cent-cxl-port", *sets)
    _, joined = small("cent-cxl-switch", *(f"port.{one}" for one in sets), f"joined={devices}")
    _, ends = small("cent-cxl-link", *(one.removeprefix("link.") for one in sets if one.startswith("link.")))
    return cent_cxl_port.Fabric(
        config, devices, (port or text, "cent_cxl_port"), (switch or joined, "cent_cxl_switch"), (ends, "cent_cxl_link")
    )


def text_of(component, name):
    return ModuleLibrary(name, emit_src=False, strip_internal_attrs=True).convert(component, name)


@pytest.mark.slow
@pytest.mark.xdist_group("cxl")
@pytest.mark.parametrize(
    "more",
    [
        pytest.param((), id="least"),
        pytest.param(("beat_bytes=16", "credits_rwd=5", "credits_ndr=20", "flush_clocks=40", "devices=3"), id="narrow"),
        pytest.param(("beat_bytes=32", "credits_ndr=64", "credits_req=3", "address_bits=20"), id="wide"),
    ],
)
def test_link_bit_for_bit(more):
    """Any messages, without and with stalls of streams and line, lazy receivers, random registers with resets."""
    config, text = small("cent-cxl-link", *more)
    rng = np.random.default_rng(1)
    for options in (
        {},
        {"stalls": 0.35},
        {"stalls": 0.1, "lazy": True},
        {"stalls": 0.2, "power_up": "random", "resets": 3},
    ):
        outcome = cent_cxl_link.simulate(config, text, cent_cxl_link.stress(config, rng, 6), **options)
        assert outcome.mismatches == 0, outcome.first_mismatch


@pytest.mark.slow
@pytest.mark.xdist_group("cxl")
@pytest.mark.parametrize(
    ("old", "new", "seen"),
    [
        ("Cat(*headers, *contents).eq(0)", "Cat(*headers).eq(0)", "a place without a message is not empty"),
        (
            "acks[n] & (ack_count > n).replicate(len(acks[n]))",
            "acks[n]",
            "a place without an acknowledgement is not empty",
        ),
        ("contents[n].eq(content)]", "contents[n].eq(Mux(chosen[0], contents[n], content))]", "a REQ with data"),
        (
            "credits[kind].eq(credits[kind] + returned[kind] - used)",
            "credits[kind].eq(credits[kind] + returned[kind])",
            "no end within",
        ),
    ],
)
def test_planted_error_in_the_link_is_reported(old, new, seen):
    """Data and acknowledgements of earlier flits in a flit; data with a request; messages without credits, which overrun
    their queue and are lost."""
    config, _ = small("cent-cxl-link")
    text = text_of(planted(link_module, old, new).CxlLink(config), "cent_cxl_link")
    try:
        work = cent_cxl_link.stress(config, np.random.default_rng(2), 6)
        outcome = cent_cxl_link.simulate(config, text, work, stalls=0.3)
    except CheckFailed as error:
        found = str(error)
    else:
        assert outcome.mismatches
        found = " ".join([outcome.first_mismatch or "", *outcome.notes])
    assert seen in found


@pytest.mark.slow
@pytest.mark.xdist_group("cxl")
@pytest.mark.parametrize(
    ("devices", "more"),
    [
        pytest.param(4, ("slots=64",), id="four"),
        pytest.param(
            3, ("slots=64", "slots_per_message=1", "tags=1", "link.beat_bytes=32", "link.credits_rwd=2"), id="literal"
        ),
    ],
)
def test_fabric_bit_for_bit(devices, more):
    """Transfers, broadcasts and requests with the fewest credits and places, stalls of every stream and line: nothing is
    lost, and nothing waits for ever."""
    rig = fabric(*more, devices=devices)
    rng = np.random.default_rng(3)
    for options in (
        {},
        {"stalls": 0.35},
        {"stalls": 0.7},
        {"stalls": 0.1, "lazy": True},
        {"stalls": 0.2, "power_up": "random", "resets": 2},
    ):
        outcome = cent_cxl_port.simulate(rig, cent_cxl_port.random_session(rig.config, devices, rng, 6), **options)
        assert outcome.mismatches == 0, outcome.first_mismatch


@pytest.mark.slow
@pytest.mark.xdist_group("cxl")
@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        (port_module, "self._transfer.eq(stored & ~of_host & now.last)", "self._transfer.eq(stored & now.last)"),
        (port_module, "wanted.header.last.eq(count == 1)", "wanted.header.last.eq(1)"),
        (port_module, "receivers.eq(sum((bit for bit in mask[2:]), mask[1]))", "receivers.eq(1)"),
        (port_module, "queue.i.p.target.eq(now.source)", "queue.i.p.target.eq(now.source ^ 3)"),
        (switch_module, "select = got.p.targets[:config.nodes]", "select = got.p.targets[:config.nodes - 1]"),
    ],
    ids=["host-counts", "early", "one-ack", "other-ack", "last-node"],
)
def test_planted_error_in_the_fabric_is_reported(module, old, new):
    """Writes of the host count as transfers; every message counts; one acknowledgement is enough; acknowledgements go to
    another node; the last device gets nothing."""
    rig = fabric("slots=64", devices=3)
    copy = planted(module, old, new)
    if module is port_module:
        rig = dataclasses.replace(rig, port=(text_of(copy.CentCxlPort(rig.config), "cent_cxl_port"), "cent_cxl_port"))
    else:
        config = select(
            "cent-cxl-switch",
            sets=[*UNITS["cent-cxl-switch"].trial.sets, "port.slots=64", "port.link.devices=3", "joined=3"],
        ).config
        library = ModuleLibrary("cent_cxl_switch", emit_src=False, strip_internal_attrs=True)
        top = library.convert(copy.CentCxlSwitch(config), "cent_cxl_switch")
        rig = dataclasses.replace(rig, switch=("".join([*library.modules.values(), top]), "cent_cxl_switch"))
    session = cent_cxl_port.random_session(rig.config, 3, np.random.default_rng(4), 6)
    try:
        outcome = cent_cxl_port.simulate(rig, session, stalls=0.3)
    except CheckFailed as error:
        assert "no end within" in str(error)
    else:
        assert outcome.mismatches


@pytest.mark.slow
@pytest.mark.xdist_group("cxl")
def test_command_line(capsys, tmp_path, monkeypatch):
    """The share of the payload follows from the flits: 16 messages with two slots take 6 flits. Credits of so few messages
    need no flit of their own."""
    monkeypatch.setenv("BANKSIDE_RECORDS", str(tmp_path / "records"))
    words = [word for key in UNITS["cent-cxl-port"].trial.sets for word in ("--set", key)]
    more = [
        "--set",
        "slots=64",
        "--set",
        "link.credits_rwd=64",
        "--set",
        "link.credits_ndr=64",
        "--set",
        "tags=16",
        "--set",
        "link.flush_clocks=255",
        "--set",
        "link.beat_bytes=16",
    ]
    assert main(["sim", "cent-cxl-port", *words, *more, "--bytes", "1024", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["mismatches"] == 0 and result["payload_percent"] == pytest.approx(100 * 1024 / (6 * 256), abs=1e-3)
    assert result["cycles"] > result["ideal_cycles"] == 6 * 16


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--bytes", "65536"], "bytes must be at most half the shared buffer, 32768"),
        (["--bytes", "100"], "64"),
        (["--set", "slots=100"], "slots must be a power of two"),
    ],
)
def test_bad_input(words, message, capsys):
    assert main(["sim", "cent-cxl-port", *words]) == 2
    assert message in capsys.readouterr().err


def test_random_sessions_have_no_races():
    """Each slot has one writer in an episode, nothing that is written is read, and every kind of work occurs."""
    config = select("cent-cxl-port", sets=[*UNITS["cent-cxl-port"].trial.sets, "slots=64"]).config
    session = cent_cxl_port.random_session(config, 2, np.random.default_rng(5), 40)
    kinds = set()
    for episode in session.episodes:
        for device in range(2):
            written = {int(slot) for slot in np.flatnonzero(session.owners(episode, device) >= 0)}
            read = {
                (one.gpr + k) % 64
                for one in episode.commands[device]
                if one.op != 58
                for k in range(one.opsize)
                if one.op in (57, 59) and session.model.targets(device, one)
            }
            assert not written & read
            kinds |= {one.op for one in episode.commands[device]}
        kinds |= {(one.kind, one.region == 0, len(one.targets)) for one in episode.requests}
    assert {57, 58, 59} < kinds and (MessageClass.RWD, True, 2) in kinds and (MessageClass.REQ, False, 1) in kinds
