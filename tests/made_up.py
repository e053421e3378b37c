"""Results of benches and of a synthesis that nobody measured, for tests of what rests on measurements."""

from __future__ import annotations

from bankside.models.systems.units import HubFigures

#: Clocks of a command of the hub on 32 words, and of a further word.
HUB = {"SOFTMAX": (156, 3.0), "LAYERNORM": (206, 3.0), "RMSNORM": (141, 2.0), "EWADD": (83, 2.0), "GPR_MUL": (83, 2.0)}

#: What every bench says.
_SIM = {
    "vectors": 9,
    "mismatches": 0,
    "runs": {"full_rate": {"vectors": 9, "mismatches": 0, "clocks": 99}},
    "clocks": 99,
}
_CYCLES = {**_SIM, "cycles": 90, "ideal_cycles": 80, "utilisation": 0.9}
_ERRORS = {"max_abs_error": 0.01, "rms_error": 0.001}

#: Jobs of INF2's accelerator alone: 128 and 64 dimensions.
JOBS = [
    {
        "tokens": tokens,
        "head_dim": dim,
        "mask": "none",
        "cycles": words + 399 + tokens // 32,
        "ideal_cycles": words,
        "utilisation": 0.9,
        **dict.fromkeys(("port_share", "dram_share", "latency_share", "p2p_share", "unit_share"), 0.2),
    }
    for dim in (128, 64)
    for tokens in (32, 1024)
    for words in (tokens * dim // 16,)
]

#: Commands of INF2's GEMV engine by mode.
GEMV = {
    mode: {
        "mode": mode,
        "tokens": 1024,
        "head_dim": 128,
        "commands": 4,
        "cycles": 4096 + tail,
        "row_cycles": 4096,
        "ideal_cycles": 4096,
        "utilisation": 0.9,
        "steady": 1.0,
    }
    for mode, tail in (("qk", 86), ("sv", 53))
}

#: Results of benches by unit.
SIM = {
    "pam-pu": {
        **_CYCLES,
        **_ERRORS,
        "stall_cycles": 0,
        "key_stall_cycles": 0,
        "value_stall_cycles": 0,
        "exposed_softmax_cycles": 0,
        "queries": 1,
        "beats_per_clock": 1.0,
        "softmax_gap_cycles": 48,
        "drain_cycles": 20,
        "memory_timing": {
            "memory": "hbm3-5.2",
            "cycles": 95,
            "time_ns": 142.0,
            "memory_cycles": 185,
            "memory_time_ns": 142.3,
            "commands": {"MAC": 8},
            "energy_pj": 12.0,
            "stall_cycles": 0,
            "exposed_softmax_cycles": 0,
            "burst_utilisation": 1.0,
            "utilisation": 0.8,
        },
    },
    # 16 partial results of 8 beats: a step begins 2 clocks after the last beat of the one before and 40 later if it
    # divides, 14 of which are the longer drain.
    "pam-ru": {
        **_CYCLES,
        **_ERRORS,
        "stall_cycles": 32,
        "merge_utilisation": 0.8,
        "merge_cycles": 160,
        "cycles": 213,
        "drain_cycles": 53,
        "partial_drain_cycles": 39,
        "two_steps_cycles": 413,
    },
    "pam-interface": {
        **_SIM,
        "cycles": 90,
        "utilisation": 0.9,
        "rate_fraction": 0.9,
        "patterns": {},
        "cpu_quoted_ratio": 5.0,
    },
    "pim-hub": {
        **_CYCLES,
        **_ERRORS,
        "stall_cycles": 0,
        "overlapped_cycles": 400,
        "commands": {
            op: {"words": 32, "cycles": cycles, "ideal_cycles": 32, "clocks_per_word": slope}
            for op, (cycles, slope) in HUB.items()
        },
    },
    # A slot a clock behind 9 clocks, two with two operands; a round of eight cores takes 40 clocks behind 20.
    "cent-pnm": {
        **_CYCLES,
        "stall_cycles": 10,
        "commands": {
            op: {
                "cycles": 9 + each * 256,
                "cycles_32": 9 + each * 32,
                "cycles_1": 9 + each,
                "ideal_cycles": each * 256,
                "utilisation": 0.9,
                "stream_cycles": 9 + each * 8192,
                "stream_utilisation": 0.9,
                "dependent_cycles": 9 + each * 256,
            }
            for op, each in (("EWADD", 2), ("RED", 1), ("EXP", 1))
        },
    },
    "cent-riscv": {
        **_SIM,
        "start_cycles": 18,
        "instructions": 9,
        "programs": {
            name: {
                "micro_operations": count,
                "accesses": 9,
                "cycles": 20 + 40 * -(-count // 8),
                "cold_cycles": 999,
                "first_core_cycles": 60,
                "cycles_per_item": 1.0,
            }
            for name, count in (
                ("rmsnorm", 1),
                ("softmax", 32),
                ("rope_split", 256),
                ("rope_join", 256),
                ("tail", 32),
                ("repeat", 32),
                ("largest_of_all", 32),
            )
        },
    },
    # A message of two slots takes 30 clocks, each of the further 16,320 bytes of the vector a twentieth.
    "cent-cxl-port": {
        **_SIM,
        "devices": 3,
        "cycles": 846,
        "ideal_cycles": 688,
        "utilisation": 0.8,
        "payload_percent": 74.4,
        "literal_cycles": 1400,
        "literal_payload_percent": 37.2,
        "broadcast_cycles": 1200,
        "exchange_cycles": 846,
        "exchange_payload_percent": 71.1,
        "gather_cycles": 846,
        "send_clocks": 11,
        "receive_clocks": 4,
        "slot_clocks": 30,
        "acknowledge_clocks": 52,
        "switch_clocks": 9,
        "host_read_clocks": 46,
    },
    "inf2-gemv": {
        **_SIM,
        **_ERRORS,
        "cycles": 4182,
        "ideal_cycles": 4096,
        "utilisation": 0.979436,
        "stall_cycles": 20,
        "latency_cycles": 115,
        **GEMV,
        "points": [],
        "memory_timing": [],
    },
    # A job has a word a clock and 399 clocks more, and one for each tile of 32 tokens.
    "inf2-accelerator": {
        **_CYCLES,
        **_ERRORS,
        "axi_violations": 0,
        "early_reads": 0,
        "errors": 9,
        "points": JOBS,
        "memory_timing": {
            **JOBS[0],
            "memory": "nvme-smartssd",
            "dram": "ddr4-2400",
            "time_ns": 9e3,
            "memory_time_ns": 8e3,
            "stall_cycles": 9,
        },
    },
    "dpa-dispatcher": {
        **_CYCLES,
        "commands": 9,
        "commands_per_clock": 1.0,
        "start_cycles": 9,
        "end_cycles": 2,
        "shapes": {},
        "errors_seen": [],
    },
}

#: Results of a synthesis.
SYNTHESIS = {
    "library": "generic",
    "effort": "balanced",
    "area_um2": 56_000.0,
    "area_ge": 70_000.0,
    "sequential_ge": 9e3,
    "memory_bits": 4096,
    "critical_path_ns": 1.4,
    "fmax_mhz": 700.0,
    "cells": {"INV_X1": 3},
}


def hub_figures(words: int, cycles: int, clocks_per_word: float) -> HubFigures:
    """Figures of a hub whose commands all take the same."""
    one = {"words": words, "cycles": cycles, "ideal_cycles": cycles, "clocks_per_word": clocks_per_word}
    return HubFigures.model_validate(SIM["pim-hub"] | {"commands": dict.fromkeys(HUB, one)})
