"""What `sim` prints of every kind of result, with numbers made up here: the row that matters is there."""

from __future__ import annotations

import pytest

from bankside.results.text import simulation_text, synthesis_table, synthesis_text
from bankside.results.units import Sim, SynthAll, SynthFpga

COMMON = {
    "preset": "p",
    "config_hash": "0123",
    "config": {},
    "seed": 1,
    "tools": {},
    "mismatches": 0,
    "vectors": 9,
    "clocks": 100,
    "clocks_per_second": 50,
    "runs": {"full_rate": {"vectors": 9, "mismatches": 0, "clocks": 100}},
    "record": "kept",
    "waves": None,
}
ERRORS = {"max_abs_error": 1e-3, "rms_error": 1e-4}
CYCLES = {"cycles": 20, "ideal_cycles": 16, "utilisation": 0.8}
STALLED = {**CYCLES, "stall_cycles": 4}
PACED = {
    "memory": "m",
    "cycles": 40,
    "time_ns": 80.0,
    "memory_time_ns": 70.0,
    "stall_cycles": 3,
    "drain_cycles": 9,
    "utilisation": 0.4,
}

RESULTS = {
    "pam-bank-group": (
        {**ERRORS, **STALLED, "units": 2, "drain_cycles": 8, "memory_timing": PACED},
        "40 cycles (80 ns; the memory takes 70 ns), 3 stall cycles",
    ),
    "aim-channel": (
        {
            **ERRORS,
            **STALLED,
            "memory": "m",
            "works": {"q_k": CYCLES},
            "memory_timing": {"q_k": {"cycles": 40, "memory_cycles": 75, "read_to_result": 6}},
        },
        "20 cycles, ideal 16; at the pace of m 40 cycles, 75 of the memory's",
    ),
    "pim-hub": (
        {
            **ERRORS,
            **STALLED,
            "overlapped_cycles": 400,
            "commands": {
                "SOFTMAX": {**ERRORS, "cycles": 156, "ideal_cycles": 96, "words": 32, "clocks_per_word": 3.0},
                "EWADD": {"cycles": 20, "ideal_cycles": 2, "words": 1, "clocks_per_word": None},
            },
        },
        "156 cycles for 32 words, 3 for each more\nEWADD                20 cycles for 1 words\n",
    ),
    "cent-cxl-port": (
        {
            **CYCLES,
            "devices": 3,
            "payload_percent": 74.4186,
            "literal_cycles": 40,
            "literal_payload_percent": 37.2,
            "broadcast_cycles": 30,
            "exchange_cycles": 25,
            "exchange_payload_percent": 70.0,
            "gather_cycles": 26,
            "send_clocks": 9,
            "receive_clocks": 4,
            "slot_clocks": 25,
            "acknowledge_clocks": 50,
            "switch_clocks": 8,
            "host_read_clocks": 30,
        },
        "20 cycles, ideal 16, utilisation 0.8000; payload 74.42 % of the flits\n",
    ),
    "dpa-dispatcher": (
        {
            **CYCLES,
            "commands": 16,
            "start_cycles": 4,
            "end_cycles": 2,
            "commands_per_clock": 1.0,
            "errors_seen": ["OPCODE"],
            "shapes": {"a loop": {"commands": 8, "clocks": 8}},
        },
        "16 in 20 cycles, the first 4 cycles after START; 1 a clock from there",
    ),
    "cent-riscv": (
        {
            "programs": {
                "rmsnorm": {
                    "micro_operations": 1,
                    "accesses": 17,
                    "cycles": 70,
                    "cold_cycles": 130,
                    "first_core_cycles": 70,
                    "cycles_per_item": 70.0,
                }
            },
            "start_cycles": 18,
            "instructions": 3000,
        },
        "70 cycles for 1 micro-operations, 130 with empty caches, 70 for one; 70 for each item",
    ),
    "cent-device": (
        {
            **ERRORS,
            "devices": 2,
            "flits": 7,
            "instructions": 700,
            "instruction_bytes": 11200,
            "cycles": 20,
            "memory_cycles": 16,
            "steps": [
                {
                    "tokens": 33,
                    "instructions": 700,
                    "cycles": 20,
                    "full_rate_cycles": 18,
                    "memory_cycles": 16,
                    "relative_error": 0.01,
                }
            ],
        },
        "2 devices send 7 flits",
    ),
    "cent-decoder": (
        {
            **CYCLES,
            "instructions": 15,
            "commands": 16,
            "start_cycles": 8,
            "end_cycles": 1,
            "commands_per_clock": 1.0,
            "full_cycles": 64,
            "full_commands_per_clock": 1.0,
            "blocking": {"instructions": 4, "clocks": 9, "clocks_each": 3.0},
            "errors_seen": ["OPCODE"],
        },
        "16 of 15 instructions in 20 cycles, the first after 8; 1 a clock",
    ),
    "lol-pim-module": (
        {
            **ERRORS,
            **STALLED,
            "commands": 5,
            "full_rate_cycles": 18,
            "time_ns": 20.0,
            "memory_time_ns": 16.0,
            "cases": [],
        },
        "20 cycles at the memory's pace (20 ns; its commands alone take 16 ns), 18 with a memory that is always ready",
    ),
}


@pytest.mark.parametrize("unit", RESULTS)
def test_text_of_a_simulation(unit):
    result, row = RESULTS[unit]
    text = simulation_text(Sim.model_validate({"unit": unit, **COMMON, **result}))
    assert text.splitlines()[0] == f"{unit} p, configuration 0123"
    assert row in text and "9 results in 1 runs: bit-exact" in text
    assert "2 MISMATCHES" in simulation_text(Sim.model_validate({"unit": unit, **COMMON, **result, "mismatches": 2}))


USED = {"lut": 9200, "ff": 50, "carry4": 3, "bram36": 1, "bram18": 1, "uram": 0, "dsp": 2, "srl": 4, "lutram": 8}
FPGA = {
    "unit": "pam-pu",
    "preset": "p",
    "config_hash": "0123",
    "config": {},
    "target_clock_mhz": None,
    "tools": {},
    "cells": {},
    "family": "xcup",
    "fpga": USED,
    "lut_levels": 7,
    "path_carry4": 1,
    "path_dsp": 1,
    "longest_path": {"start": "a", "end": "b"},
    "record": "kept",
    "percent": {"ku15p": {"lut": 1.76, "uram": None, "ff_counted": 0.25}},
    "parts": [],
    "memories": [
        {
            "module": "m",
            "name": "rows",
            "count": 1,
            "synchronous_read": False,
            "becomes": "flip-flops",
            "depth": 64,
            "width": 32,
            "bits": 2048,
            "read_ports": 1,
            "write_ports": 2,
            "misplaced": misplaced,
        }
        for misplaced in (True, False)
    ],
}


def test_text_of_a_synthesis_for_an_fpga():
    lines = synthesis_text(SynthFpga(**FPGA)).splitlines()
    assert "9200 LUTs before packing" in lines[2]
    assert [line.split(None, 1)[1] for line in lines if line.startswith("warning")] == [
        "the memory rows of m (64 x 32 bits, 1 read and 2 write ports) takes 2048 flip-flops"
    ]
    assert any(line.endswith("1.76 % LUT, 0.25 % FF as a paper counts") for line in lines)
    assert any(
        line.endswith("7 LUT levels, 1 carry chains of 4 bits, 1 of the levels in DSP blocks, from a to b")
        for line in lines
    )
    depth = {"lut_levels": 3, "path_carry4": 0, "path_dsp": 0}
    parts = [{"module": f"m{k}", "count": k, **USED, **depth} for k in range(9)]
    text = synthesis_text(SynthFpga(**{**FPGA, "parts": parts}))
    assert "8 x m8: 9200 LUTs" in text and "m2:" not in text


def test_table_of_syntheses_for_an_fpga():
    head, row = synthesis_table(SynthAll(results=[SynthFpga(**FPGA)], tools={})).splitlines()[1:]
    assert head.split()[2:] == [*USED, "levels"] and row.split()[2:] == [*map(str, USED.values()), "7"]
