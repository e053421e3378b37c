"""The clock of a unit in its own process: factors by hand, verdicts at their edges, and the table of processes."""

import json
from pathlib import Path

import pytest

from bankside.constraints.core.document import load
from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.registry import UNITS
from bankside.constraints.systems import NODES, Nodes
from bankside.models.cost import clock_in_process, delay_factor, load_nodes, process_clock, process_of


@pytest.mark.parametrize(
    "process, factor, node",
    [
        ("logic-32", 0.67, "32nm"),
        ("logic-14", 0.36, "14nm"),
        ("dram-1z", 3 * 0.36, "14nm"),
        ("dram-2x", 3 * 0.67, "32nm"),
    ],
)
def test_factors_by_hand(process, factor, node):
    """Stillmaker and Baas: 0.67 and 0.36; three times as slow in DRAM; 28 nm has none, and 32 nm stands in."""
    assert delay_factor(process) == (pytest.approx(factor), node)


def test_factors_follow_from_the_published_fits():
    """Fits of delay by voltage, a V^3 + b V^2 + c V + d (Stillmaker and Baas, 2017)."""
    fits = {
        "45nm": (1.0, (-501.6, 1567, -1619, 566.1)),
        "32nm": (0.9, (-1047, 2982, -2797, 873.5)),
        "14nm": (0.8, (-40.66, 109.2, -100.6, 35.92)),
    }
    delay = {
        node: sum(k * volts**power for k, power in zip(fit, (3, 2, 1, 0), strict=True))
        for node, (volts, fit) in fits.items()
    }
    for node, value in delay.items():
        assert load_nodes().nodes[node].delay_factor == pytest.approx(value / delay["45nm"], abs=0.005)


def test_a_path_by_hand():
    """1.25 ns are 50 FO4 of 25 ps. In 14 nm DRAM they are 1.35 ns, with 9 % of wires 1.4715 ns."""
    own = clock_in_process(1.25, 25.0, 700, "dram-1z")
    assert own.critical_path_ns == pytest.approx((1.35, 1.4715)) and own.fmax_mhz == pytest.approx((740.741, 679.579))
    assert own.verdict == "undecided" and own.dram and own.logic_node == "14nm"
    assert own.sentence == "741 MHz, 680 with wires, in its DRAM process (estimate, 14nm): wires decide on 700 MHz"
    # Another library's nanoseconds count in its own FO4.
    assert clock_in_process(2.5, 50.0, 700, "dram-1z").critical_path_ns == own.critical_path_ns


@pytest.mark.parametrize("mhz, verdict", [(679, "meets"), (680, "undecided"), (740, "undecided"), (741, "misses")])
def test_verdicts_at_their_edges(mhz, verdict):
    assert clock_in_process(1.25, 25.0, mhz, "dram-1z").verdict == verdict


def test_a_node_without_a_factor_is_told():
    own = clock_in_process(1.0, 25.0, 500, "dram-2x")
    assert own.delay_node == "32nm" and "delay of 32nm" in own.sentence and "28 nm" in own.source


def test_processes_name_real_presets_and_agree_with_systems():
    """Every unit and preset of the table exists, and a tier's area is judged in the process of its unit."""
    from bankside.models.systems import load_system

    nodes = load_nodes()
    for unit, presets in nodes.units.items():
        assert set(presets) <= set(UNITS[unit].presets)
    for tier in load_system("pam").pim.tiers:
        process = nodes.processes[process_of("pam-pu", tier.unit.preset)]
        assert (process.logic_node, process.dram) == (tier.area.logic_node, tier.area.density_penalty > 1)


def test_unknown_things():
    assert process_of("pam-pu", None) is None and process_of("toy", "toy") is None
    assert process_clock("fp-add", "fp16", {"critical_path_ns": 1.0, "fo4_ps": 25.0}, 500) is None
    assert process_clock("pam-pu", "pam-hbm", {"critical_path_ns": 1.0}, 500) is None
    with pytest.raises(ConfigError, match=r"^unknown process 'dram-1x'.*valid: dram-1y, dram-1z"):
        delay_factor("dram-1x")


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("delay_stand_in: 32nm", "delay_stand_in: 20nm", "must be a node with a delay_factor, not '20nm'"),
        ("delay_factor: 0.67", "delay_factor: null", "either a delay_factor or a delay_stand_in"),
        (
            "pim-hub: {lol-pim: logic-32",
            "pim-hub: {lol-pim: logic-31",
            "process of pim-hub lol-pim must be a key of processes",
        ),
    ],
)
def test_a_table_with_holes_is_refused(tmp_path, old, new, message):
    text = Path(NODES).read_text()
    assert old in text
    path = tmp_path / "nodes.yaml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ConfigError, match=message) as caught:
        load(path, Nodes, "a table of process nodes")
    assert "\n" not in str(caught.value) and json.dumps(str(caught.value))


def test_text_shows_the_clock_and_the_second_opinion_beside_ours():
    """A result of the hub: both clocks, and CACTI's area of its 512 KB beside the model's."""
    from bankside.results.text import synthesis_text
    from bankside.results.units import ProcessClock, Synth

    macro = {"name": "registers", "bits": 4 << 20, "width": 256, "read_ports": 1, "write_ports": 1}
    macro |= {"depth": 1 << 14, "synchronous_read": True, "area_um2_estimate": 1.0}
    results = {"critical_path_ns": 1.3, "fo4_ps": 25.0}
    result = {
        "unit": "pim-hub",
        "preset": "lol-pim",
        "config_hash": "0",
        "config": {},
        "tools": {},
        **dict.fromkeys(("logic_area_um2", "memory_area_um2_estimate", "nand2_um2"), 1.0),
        **dict.fromkeys(("memory_model", "register_fmax_mhz", "critical_path_sentence")),
        **{"paths_ns": {}, "clocks": [], "parts": []},
        "library": "generic",
        "effort": "balanced",
        "area_um2": 1.0,
        "area_ge": 1.0,
        "sequential_ge": 1.0,
        "combinational_ge": 1.0,
        "flip_flops": 1,
        "memory_bits": 4 << 20,
        "memory_ge_estimate": 1.0,
        "memories": [macro],
        "fmax_mhz": 769.2,
        "target_clock_mhz": 1000.0,
        "critical_path": None,
        "cells": {},
        "record": "r",
        **results,
        "process": ProcessClock(**process_clock("pim-hub", "lol-pim", results, 1000.0).as_dict()),
    }
    text = synthesis_text(Synth(**result))
    assert "1.300 ns, 769 MHz (target 1000 MHz)" in text
    assert "3.607 mm2 at 45 nm for 1 of 1 macros; the model 3.777 mm2" in text
    assert "1148 MHz, 1053 with wires, in its logic process (estimate, 32nm): meets 1000 MHz" in text
    assert "CACTI" not in synthesis_text(Synth(**result | {"memories": [], "process": None}))
