"""What `sim` prints of every kind of result, with numbers made up here: the row that matters is there."""

from __future__ import annotations

import pytest

from bankside.text import simulation_text

COMMON = {"unit": "u", "preset": "p", "config_hash": "0123", "mismatches": 0, "vectors": 9, "runs": {"full_rate": {}},
          "clocks": 100, "clocks_per_second": 50, "record": "kept", "waves": None}
ERRORS = {"max_abs_error": 1e-3, "rms_error": 1e-4}
CYCLES = {"cycles": 20, "ideal_cycles": 16, "utilisation": 0.8}
PACED = {"memory": "m", "cycles": 40, "time_ns": 80.0, "memory_time_ns": 70.0, "stall_cycles": 3}

RESULTS = {
    "composition": ({**ERRORS, **CYCLES, "memory_timing": PACED},
                    "40 cycles (80 ns; the memory takes 70 ns), 3 stall cycles"),
    "channel": ({**ERRORS, **CYCLES, "memory": "m", "works": {"q_k": CYCLES}, "memory_timing": {
        "q_k": {"cycles": 40, "memory_cycles": 75}}},
                "20 cycles, ideal 16; at the pace of m 40 cycles, 75 of the memory's"),
    "hub": ({**ERRORS, **CYCLES, "commands": {"SOFTMAX": {"cycles": 156, "words": 32, "clocks_per_word": 3.0}}},
            "156 cycles for 32 words, 3 for each more"),
    "dispatcher": ({**CYCLES, "commands": 16, "start_cycles": 4, "commands_per_clock": 1.0, "errors_seen": ["OPCODE"]},
                   "16 in 20 cycles, the first 4 cycles after START; 1 a clock from there"),
    "module": ({**ERRORS, **CYCLES, "commands": 5, "full_rate_cycles": 18, "time_ns": 20.0, "memory_time_ns": 16.0},
               "20 cycles at the memory's pace (20 ns; its commands alone take 16 ns), 18 with a memory that is always "
               "ready"),
}


@pytest.mark.parametrize("kind", RESULTS)
def test_text_of_a_simulation(kind):
    result, row = RESULTS[kind]
    text = simulation_text({**COMMON, **result})
    assert text.splitlines()[0] == "u p, configuration 0123"
    assert row in text and "9 results in 1 runs: bit-exact" in text
    assert "2 MISMATCHES" in simulation_text({**COMMON, **result, "mismatches": 2})
