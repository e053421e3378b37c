"""Clocks of CENT's units and port from measurement records, on made-up records and by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from pydantic import ValidationError

from bankside.constraints.cent import cxl_port as cent_cxl_port
from bankside.constraints.cent import decoder as cent_decoder
from bankside.constraints.cent import pnm as cent_pnm
from bankside.constraints.cent import riscv as cent_riscv
from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.records import Measurement, Record
from bankside.evidence.records import RecordFolder, completed, made_from
from bankside.models.cent.costs import exchange, measured_clocks, transfers
from bankside.models.cost import buffer_cost, controller_cost, logic_area, unit_area
from bankside.models.llm import load_model
from bankside.models.systems import MissingRecord, load_system
from bankside.models.systems.cent import CentSystem
from bankside.models.systems.units import CoreFigures, PnmFigures
from tests.made_up import SIM, SYNTHESIS


def prepared(records, **changes) -> CentSystem:
    system = load_system("cent", {"device.refresh": False} | changes)
    assert isinstance(system, CentSystem)
    system.prepare(load_model("llama-2-70b"), records, False)
    return system


def test_clocks_of_a_block_by_hand(cent_records) -> None:
    """70B, ten channels, 100 tokens. Ten slots are added 5, 2, 1, 1 at a time, seven of a head 3, 2, 1."""
    system, model = prepared(cent_records), load_model("llama-2-70b")
    found = measured_clocks(system.units, system.spec.pnm, model, 100, 10, residuals=True)
    norm = (4 * 9 + 2 * 9) + (9 + 1) + 60
    head = (9 + 7) + (3 * 9 + 2 * 6)
    inverses = 60 + 7 * 40
    turn = 60 + 71 * 40  # 72 heads of 128 elements are 576 slots, 72 for each core
    assert found.norms == 2 * norm
    assert found.softmax == 64 * head + (9 + 64) + inverses
    assert found.rotary == 2 * turn
    assert found.residuals == 2 * (9 + 2 * 512)
    assert found.core_clocks == 2 * 60 + inverses + 2 * turn
    assert measured_clocks(system.units, system.spec.pnm, model, 100, 10, residuals=False).total == (
        found.total - found.residuals
    )
    theirs = system.with_rules(replace(system.rules, executed=False))
    point = theirs.point(model, 100)
    assert point.acc_s == pytest.approx(3 * found.total / 2e9)  # three stages of a device take turns


def test_a_model_with_means_and_without_rotation(cent_records) -> None:
    system = prepared(cent_records)
    found = measured_clocks(system.units, system.spec.pnm, load_model("gpt-13b"), 100, 10, residuals=False)
    assert found.norms == 4 * (54 + 10 + 60) and found.rotary == 0


def test_transfers_of_the_measured_port(cent_records) -> None:
    """A byte of the vector takes a twentieth of a clock, so 1.6 bytes of the line; 16 GB/s with multicast."""
    system, model = prepared(cent_records), load_model("llama-2-70b")
    port, link = system.units.port, system.spec.link
    assert port.latency_ns == pytest.approx(52 - 64 / 20) and port.line_bytes_per_byte == pytest.approx(1.6)
    sent = transfers(link, model, 1, 32, False, False, port)
    assert sent.seconds == pytest.approx((48.8 + 4 * 30 + 16384 * 1.6 / 16) * 1e-9)
    assert sent.payload_bytes == 16384
    slow = replace(port, line_gb_s=8.0)  # a port that is slower than the line
    assert transfers(link, model, 1, 32, False, False, slow).seconds == pytest.approx((168.8 + 16384 * 1.6 / 8) * 1e-9)
    both = exchange(link, 8192, 32000, 32, False, port)
    assert both == pytest.approx((2 * 168.8 + (16384 + 64000) * 1.6 / 16) * 1e-9)


def test_commands_between_the_measured_ones() -> None:
    """32 banks: a command of 32 slots takes no longer than one of a slot."""
    one = {
        "cycles": 19,
        "cycles_32": 12,
        "cycles_1": 12,
        "ideal_cycles": 8,
        "utilisation": 0.4,
        "stream_cycles": 267,
        "stream_utilisation": 0.9,
        "dependent_cycles": 19,
    }
    figures = PnmFigures.model_validate(SIM["cent-pnm"] | {"commands": dict.fromkeys(("EWADD", "RED", "EXP"), one)})
    assert [figures.command_clocks("EXP", n, 256) for n in (0, 1, 20, 32, 144, 256, 480)] == [
        0,
        12,
        12,
        12,
        15.5,
        19,
        26,
    ]
    short = PnmFigures.model_validate(
        SIM["cent-pnm"]
        | {"commands": dict.fromkeys(("EWADD", "RED", "EXP"), one | {"cycles": 12, "cycles_32": 12, "cycles_1": 5})}
    )
    assert [short.command_clocks("RED", n, 8) for n in (1, 8, 15)] == [5, 12, 19]


def test_records_without_a_figure_are_refused() -> None:
    with pytest.raises(ValidationError, match="no clocks of RED"):
        PnmFigures.model_validate(SIM["cent-pnm"] | {"commands": {"EWADD": SIM["cent-pnm"]["commands"]["EWADD"]}})
    figures = CoreFigures.model_validate(SIM["cent-riscv"] | {"programs": {}})
    with pytest.raises(ConfigError, match="no program 'softmax'"):
        figures.program_clocks(None, "softmax", 1)  # type: ignore[arg-type]


def test_missing_measurements_are_named(tmp_path) -> None:
    model, nothing = load_model("llama-2-7b"), RecordFolder(tmp_path, shipped=tmp_path)
    with pytest.raises(MissingRecord) as missing:
        load_system("cent", {"device.count": 8}).evaluate(model, context=64, batch=32, records=nothing)
    assert [need.command for need in missing.value.needs] == [
        f"bankside sim {unit} --preset cent" for unit in ("cent-pnm", "cent-riscv", "cent-cxl-port")
    ]
    quirks = load_system("cent", {"device.count": 8, "quirks": "cent-simulator"})
    assert quirks.evaluate(model, context=64, batch=32, records=nothing).records == []


def test_another_preset_of_the_units_needs_its_own_record(cent_records) -> None:
    with pytest.raises(MissingRecord, match="cent-pnm --preset cent-1x1"):
        prepared(cent_records, **{"units.pnm": "cent-1x1"})
    with pytest.raises(ConfigError, match="cent-32x33"):
        prepared(cent_records, **{"units.pnm": "cent-32x33"})


MEMORY = {"bits": 524288, "width": 256, "read_ports": 1, "write_ports": 1, "name": "registers.bank_0"}
TINY = {
    "bits": 492,
    "width": 82,
    "read_ports": 1,
    "write_ports": 1,
    "name": "asked.memory",
    "area_um2_estimate": 2880.0,
}
AREA = SYNTHESIS | {
    "area_ge": 1_000_000.0,
    "memory_ge_estimate": 700_000.0,
    "memories": [MEMORY, TINY],
    "nand2_um2": 0.8,
    "fo4_ps": 25.0,
}


@pytest.fixture
def synthesised(tmp_path, cent_records):
    """The made-up simulations, and a synthesis of every unit of the controller."""
    folder = RecordFolder(tmp_path / "all", shipped=tmp_path / "none")
    for unit in (cent_pnm.UNIT, cent_riscv.UNIT, cent_cxl_port.UNIT, cent_decoder.UNIT):
        config = unit.presets["cent"]
        measurement = completed(Measurement.of("synth", unit.name, config, preset="cent"))
        folder.write(Record.of(measurement, made_from=made_from(measurement), verilog="", results=AREA, tools={}))
        simulated = cent_records.find(Measurement.of("sim", unit.name, config, preset="cent"))
        if simulated is not None:
            folder.write(simulated)
    return folder


def test_area_of_small_memories_by_their_gates() -> None:
    """The macro model begins at 512 bits; a smaller memory has 2880 / 0.8 gates."""
    found = unit_area(AREA, "7nm", "7nm")
    assert found.logic_ge == 300_000 and found.logic_mm2 == logic_area(300_000, "7nm")
    assert found.memories_mm2 == pytest.approx(
        buffer_cost(524288, 256, 2, "7nm").mm2 + 3600 * math.sqrt(0.047 * 0.058) * 1e-6
    )
    assert unit_area(AREA, "28nm", "28nm", ports=1).memories_mm2 < unit_area(AREA, "28nm", "28nm").memories_mm2


def test_the_measured_controller_feeds_the_price(synthesised, cent_records) -> None:
    """Four units of one area; 32 dies have it in place of the published 1.02 mm2, and tokens for a dollar follow."""
    model = load_model("llama-2-7b")
    system = load_system("cent", {"device.count": 8, "device.refresh": False})
    assert isinstance(system, CentSystem)
    result = system.evaluate(model, context=64, batch=32, records=synthesised)
    mm2 = 4 * unit_area(AREA, "7nm", "7nm").mm2
    found = result.more["controller"]
    assert found["measured_mm2"] == pytest.approx(mm2) and set(found["units_mm2"]) == {
        "cent-pnm",
        "cent-riscv",
        "cent-cxl-port",
        "cent-decoder",
    }
    assert found["measured_band_mm2"][0] < mm2 < found["measured_band_mm2"][1]
    assert found["die_mm2"] == pytest.approx(18.96 - 1.02 + mm2) and found["published_die_mm2"] == pytest.approx(18.96)
    assert result.more["price_usd"]["controllers"] == pytest.approx(8 * controller_cost(pnm_mm2=mm2).usd)
    # 1.4 ns of a library with an FO4 of 25 ps are 1.4 x 0.26 ns at 7 nm, and 9 % more with wires.
    assert found["slowest_mhz"] == pytest.approx([1e3 / (1.4 * 0.26), 1e3 / (1.4 * 0.26 * 1.09)])
    bare = load_system("cent", {"device.count": 8, "device.refresh": False}).evaluate(
        model, context=64, batch=32, records=cent_records
    )
    assert bare.more["controller"] is None
    assert bare.more["price_usd"]["controllers"] == pytest.approx(8 * controller_cost().usd)
    assert sum("area not measured" in note for note in bare.notes) == 4
    assert (result.more["tokens_per_usd"] > bare.more["tokens_per_usd"]) == (mm2 < 1.02)


def test_a_unit_below_the_clock_is_noted(synthesised) -> None:
    system = load_system("cent", {"device.count": 8, "device.refresh": False, "pnm.clock_ghz": 3.0})
    result = system.evaluate(load_model("llama-2-7b"), context=64, batch=32, records=synthesised)
    assert any("reaches 2520 MHz with wires" in note and "3 GHz" in note for note in result.notes)


def test_under_quirks_the_published_area_counts(synthesised) -> None:
    system = load_system("cent", {"device.count": 8, "quirks": "cent-simulator"})
    result = system.evaluate(load_model("llama-2-7b"), context=64, batch=32, records=synthesised)
    assert result.more["controller"] is None and not any("area" in note for note in result.notes)
    assert result.more["price_usd"]["controllers"] == pytest.approx(8 * controller_cost().usd)
