"""CXL-PNM: bandwidth and capacity of its memory, a roofline, and what is not published."""

from __future__ import annotations

import pytest

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.memory import load_memory
from bankside.models.llm import load_model
from bankside.models.memory.streams import stream_share
from bankside.models.systems import evaluate, load_system
from bankside.models.systems.cxl_pnm import CxlPnmSystem


def system(**changes) -> CxlPnmSystem:
    found = load_system("cxl-pnm", changes)
    assert isinstance(found, CxlPnmSystem)
    return found


def test_bandwidth_and_capacity_are_the_memorys() -> None:
    """64 channels of 16 pins; 512 GB; about a tenth of the stream waits for refresh (docs/memory.md: 88.6 %)."""
    one, memory = system(), load_memory("lpddr5x-8533")
    assert one.spec.gpu.bandwidth_gb_s == pytest.approx(64 * 2 * 8533.33e-3, rel=1e-5)
    assert one.available_bytes_per_device == 512 << 30
    assert one.spec.gpu.memory_utilisation == stream_share(memory) == pytest.approx(0.886, abs=1e-3)
    without = system(**{"device.refresh": False})
    assert without.spec.gpu.memory_utilisation == stream_share(memory, refresh=False) > 0.99


def test_one_request_takes_the_time_of_its_bytes() -> None:
    """Batch 1: all weights and the request's keys and values once through the memory, plus what operators move beside."""
    model, one = load_model("opt-66b"), system()
    result = evaluate("cxl-pnm", model, context=576, batch=1, records=None)  # type: ignore[arg-type]
    rate = one.spec.gpu.bandwidth_gb_s * 1e9 * one.spec.gpu.memory_utilisation
    moved = 2 * (model.layers * model.layer_parameters + model.vocab_size * model.hidden_size)
    moved += 2 * 2 * 576 * model.layers * model.kv_heads * model.head_dim
    assert result.tpot_ms == pytest.approx(moved / rate * 1e3, rel=0.005)
    assert result.records == []


def test_the_processor_limits_large_batches() -> None:
    model = load_model("opt-66b")
    some = {
        peak: evaluate(
            "cxl-pnm",
            model,
            context=576,
            batch=64,
            records=None,  # type: ignore[arg-type]
            overrides={"processor.peak_tflops": peak},
        ).breakdown_ms["qkv"]
        for peak in (4, 8)
    }
    assert some[4] == pytest.approx(2 * some[8])
    qkv = 64 * 2 * 64 * 9216 * 3 * 9216
    assert some[8] == pytest.approx(qkv / (8e12 * 0.8) * 1e3, rel=1e-3)


def test_several_devices_share_a_model() -> None:
    four = system(**{"device.count": 4, "parallelism.tensor": 4})
    assert four.devices == 4 and four.with_split(2, 2).pp == 2
    assert {(one.tp, one.pp) for one in four.splits(load_model("opt-66b"))} == {(1, 4), (2, 2), (4, 1)}
    assert system().sized(1024).devices == 2
    with pytest.raises(ConfigError, match="can't have 500 GB"):
        system().sized(500)
    with pytest.raises(ConfigError, match="must be the 3 GPUs"):
        system(**{"device.count": 3})


def test_a_memory_without_plain_reads_is_refused() -> None:
    with pytest.raises(ConfigError, match="device.memory 'flash-nand' has no plain reads"):
        system(**{"device.memory": "flash-nand"})


def test_what_is_not_published_is_an_assumption() -> None:
    found = system().assumptions()
    for key in ("processor", "links", "energy"):
        assert "not published" in found[key].meaning and found[key].source.startswith("assumption"), key
