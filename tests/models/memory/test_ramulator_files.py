"""Configurations of Ramulator 2 as memories: presets of shipped files, figures of the user's own, and one line for the rest."""

from __future__ import annotations

import numpy as np
import pytest

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.memory import load_memory
from bankside.models.memory.requests import Controller, RequestFrontEnd, Requests

PRESET = """\
Frontend:
  impl: LoadStoreTrace
MemorySystem:
  impl: GenericDRAM
  clock_ratio: 1
  DRAM:
    impl: DDR4
    org:
      preset: DDR4_8Gb_x8
      channel: 1
      rank: 2
    timing:
      preset: DDR4_3200AC
  Controller:
    impl: Generic
    Scheduler:
      impl: FRFCFS
  AddrMapper:
    impl: RoBaRaCoCh
"""

FIGURES = """\
MemorySystem:
  DRAM:
    impl: DDR4
    org: {dq: 8, channel: 1, rank: 2, bankgroup: 4, bank: 4, row: 65536, column: 1024}
    timing:
      {rate: 3200, nBL: 4, nCL: 24, nRCD: 24, nRP: 24, nRAS: 52, nRC: 76, nWR: 24, nRTP: 12, nCWL: 16, nCCDS: 4,
       nCCDL: 8, nWTRS: 4, nWTRL: 12, nRRDS: 4, nRRDL: 8, nFAW: 34, nCS: 2, nREFI: 12480, nRFC: 576}
"""


@pytest.fixture
def loaded(tmp_path):
    def load(text):
        path = tmp_path / "server.yaml"
        path.write_text(text)
        return load_memory(path)

    return load


def time(memory, refresh=True):
    """Cycles and commands of random reads and writes."""
    rng = np.random.default_rng(3)
    requests = Requests(64 * rng.integers(0, 1 << 20, 4000), rng.random(4000) < 0.3)
    found = RequestFrontEnd(memory, Controller(refresh=refresh)).run(requests)
    return found.cycles, found.commands


def test_presets_are_the_shipped_memory(loaded):
    memory, shipped = loaded(PRESET), load_memory("ddr4-3200-jedec")
    assert memory.name == "server"
    assert memory.source == "server.yaml, a configuration of Ramulator 2"
    assert time(memory) == time(shipped)
    assert memory.commands["RD"].energy_pj == shipped.commands["RD"].energy_pj


def test_figures_without_a_preset_give_the_same_times_as_the_shipped_file(loaded):
    """Both state JEDEC's constraints, written independently of one another."""
    assert time(loaded(FIGURES)) == time(load_memory("ddr4-3200-jedec"))


def test_a_figure_beside_a_preset_replaces_it(loaded):
    slower = loaded(PRESET.replace("preset: DDR4_3200AC", "preset: DDR4_3200AC\n      nRCD: 40"))
    assert time(slower)[0] > time(load_memory("ddr4-3200-jedec"))[0]
    assert {one.cycles for one in slower.constraints if "ACT" in one.from_ and "RD" in one.to} == {40}


def test_a_preset_has_one_channel_of_one_rank_like_ramulator(loaded):
    memory = loaded(PRESET.replace("      channel: 1\n      rank: 2\n", ""))
    assert (memory.channels, memory.levels["rank"]) == (1, 1)
    assert loaded(PRESET.replace("channel: 1", "channel: 4")).channels == 4


def test_a_gddr6_preset(loaded):
    text = PRESET.replace("DDR4\n", "GDDR6\n").replace("DDR4_8Gb_x8", "GDDR6_16Gb_x16").replace("      rank: 2\n", "")
    memory = loaded(text.replace("DDR4_3200AC", "GDDR6_2000_1350mV_quad"))
    assert (memory.channels, memory.clock_ps) == (1, 570)


@pytest.mark.parametrize(
    "text, old, new, message",
    [
        (
            PRESET,
            "DDR4_3200AC",
            "DDR4_2400R",
            r"server.yaml:13: no shipped memory has the presets .*DDR4_2400R of DDR4",
        ),
        (PRESET, "impl: DDR4\n", "impl: HBM3\n", r"server.yaml:13: no shipped memory has the presets .* of HBM3"),
        (PRESET, "      preset: DDR4_8Gb_x8\n", "", r"DDR4_3200AC of DDR4; org has no preset"),
        (PRESET, "rank: 2", "rank: 2\n      row: 5", r"server.yaml:12: row beside a preset would be another device"),
        (PRESET, "rank: 2", "rank: two", r"server.yaml:11: rank must be a positive whole number, not 'two'"),
        (PRESET, "rank: 2", "ranks: 2", r"server.yaml:11: unknown key of org 'ranks'; did you mean 'rank'\?"),
        (PRESET, "clock_ratio", "clock_ration", r"server.yaml:5: unknown key of MemorySystem 'clock_ration'"),
        (PRESET, "    impl: DDR4\n", "    impl: DDR4\n    RFM: {}\n", r"server.yaml:8: unknown key of DRAM 'RFM'"),
        (PRESET, "Frontend", "Frontends", r"server.yaml:1: unknown section 'Frontends'"),
        (
            PRESET,
            "preset: DDR4_3200AC",
            "preset: DDR4_3200AC\n      nRDC: 3",
            r"server.yaml:14: unknown timing 'nRDC'.*not one of the memory",
        ),
        (FIGURES, "nFAW: 34, ", "", r"server.yaml:5: timing has no nFAW"),
        (FIGURES, "row: 65536, ", "", r"server.yaml:4: org has no row"),
        (FIGURES, "rate: 3200, ", "", r"timing must have rate \(MT/s\) or tCK_ps"),
        (
            FIGURES,
            "impl: DDR4",
            "impl: DDR5",
            r"server.yaml:3: figures without a preset are known of DDR4, not of DDR5",
        ),
        (FIGURES, "nRFC: 576", "tRFC: 360", r"unknown timing 'tRFC'; did you mean 'nRFC'\?"),
        (FIGURES, "nCCDL: 8", "nCCDL: 8.5", r"nCCDL must be a positive whole number"),
        (FIGURES, "dq: 8", "dq: 7", r"channel_width 64 must be a multiple of dq 7"),
    ],
)
def test_one_line_says_what_is_wrong(loaded, text, old, new, message):
    assert old in text
    with pytest.raises(ConfigError, match=message) as raised:
        loaded(text.replace(old, new, 1))
    assert "\n" not in str(raised.value)
