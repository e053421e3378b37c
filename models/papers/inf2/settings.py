"""Hardware of sections 7.1 and 7.2, formulas of sections 2.2 and 4, and rules of the system."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from ....constraints.inf2 import gemv as inf2_gemv
from ....constraints.systems.links import LinkEdge
from ...inf2.store import Geometry
from ...inf2.traffic import Block, WriteBack
from ...llm import load_model
from ...systems import load_system
from ..category import Source
from ..evidence import Evidence, Finding
from .common import BATCH, CHECKS, MODELS, OUTPUT, SHORT, ku15p, run, system, taken

GIB = 1 << 30


def pcie(edge: LinkEdge) -> str:
    return f"PCIe{edge.generation}.0x{edge.lanes}"


@CHECKS.of("inf2-hw-dram", "inf2-hw-link", "inf2-hw-exp", "inf2-batch", "inf2-dsmain", "inf2-intbw", by=Source.SETTING)
def hardware(evidence: Evidence, claim: str) -> Finding:
    found = system()
    edges = found.links.edges
    if claim == "inf2-intbw":
        return Finding(
            len(found.drives) * edges["flash"].bytes_per_s * 1e-9, "links of inf2, to all flashes", tolerance=0.01
        )
    if claim == "inf2-dsmain":
        names = ("inf2", "flexgen", "deepspeed-zero", "accelerate")
        counts = {load_system(name).description.spec.devices for name in names}
        return Finding(len(counts) == 1, "devices of the four systems")
    values: dict[str, Any] = {
        "inf2-hw-dram": {"gb": found.dram_bytes / GIB, "type": f"DDR4-{2e6 / found.dram.clock_ps:.0f}"},
        "inf2-hw-link": {"csd": pcie(edges["drive"]), "gpu": pcie(edges["gpu"])},
        "inf2-hw-exp": {
            "links": edges["pair"].count,
            "type": pcie(edges["pair"]),
            "csd_per_link": edges["drive"].count,
        },
        "inf2-batch": {"batch": BATCH, "output": OUTPUT, "host_gb": found.own.server.memory_gb},
    }
    return Finding(values[claim], "file of inf2")


@CHECKS.of("inf2-soft-red", "inf2-soft-fp16", "inf2-soft-pass", by=Source.SETTING)
def softmax(evidence: Evidence, claim: str) -> Finding:
    config = system().accelerator.unit.config.softmax
    values: dict[str, Any] = {
        "inf2-soft-red": f"{config.groups} units of {config.lanes // config.groups}, then {config.groups.bit_length() - 1}-step tree",
        "inf2-soft-fp16": config.rule.acc.name.upper(),
        "inf2-soft-pass": 2 + config.divides,  # the largest score; weights and their sum; quotients
    }
    return Finding(values[claim], f"inf2-accelerator {system().own.attention.accelerator}")


@CHECKS.of("inf2-hw-fpga", by=Source.SETTING)
def device(evidence: Evidence, claim: str) -> Finding:
    """Totals as the paper counts them; the flip-flops of the maker's table are more."""
    device = ku15p()
    return Finding({**device.totals, **device.counted_as}, "table of FPGAs", device.counted_as_source)


@CHECKS.of("inf2-res-lut", "inf2-res-ff", "inf2-res-bram", "inf2-res-uram", "inf2-res-dsp", by=Source.RECORD)
def resources(evidence: Evidence, claim: str) -> Finding:
    kind, whole = claim.rsplit("-", 1)[1], {**ku15p().totals, **ku15p().counted_as}
    return Finding(
        100 * taken(evidence)[kind] / whole[kind],
        "synth of inf2-accelerator for an FPGA",
        "Yosys counts before packing and placement. The paper's figures are of a placed design.",
        tolerance=0.1,
    )


@CHECKS.of("inf2-split", by=Source.RECORD)
def both_products(evidence: Evidence, claim: str) -> Finding:
    """Both products of the same block, bit for bit as the model has them. A tile of K is in its buffer before the first
    column leaves it."""
    preset, config = inf2_gemv.UNIT.preset("inf2")
    found = evidence.record("inf2-gemv", preset, config, "sim").typed(inf2_gemv.Inf2GemvResult)
    return Finding(
        found.mismatches == 0
        and {"qk", "sv"} == {one.mode for one in (found.qk, found.sv)}
        and found.latency_cycles > config.lanes,
        "sim of inf2-gemv",
        "K passes the tile buffer, V goes past it.",
    )


@CHECKS.of("inf2-layout", by=Source.SETTING)
def layout(evidence: Evidence, claim: str) -> Finding:
    """Places of the rows of a request and head in a spill file."""
    model = load_model("opt-30b")
    row = model.head_dim * model.dtype_bytes
    geometry = Geometry(head_dim=model.head_dim, extent_tokens=SHORT + OUTPUT, extents=1)
    places = [[geometry.place(0, kind, number) for number in range(SHORT + OUTPUT)] for kind in (0, 1)]
    whole = all(later - earlier == row for one in places for earlier, later in itertools.pairwise(one))
    return Finding(
        whole and places[1][0] == places[0][-1] + row,
        "models/inf2/store",
        "An array of keys and one of values for each request and head, with room for the output.",
    )


def coefficient(count: Callable[[int, int], Any], what: str) -> str:
    """``a WHAT`` with the number of bytes that ``count`` has for each unit of a product; two products must agree."""
    first, second = count(1, 64), count(3, 128)
    assert 3 * 2 * first == second
    return f"{first / 64:g} {what}"


@CHECKS.of(
    "inf2-t-prefill",
    "inf2-t-read",
    "inf2-t-write",
    "inf2-t-ansr",
    "inf2-t-answ",
    "inf2-eq3",
    "inf2-wb-mean",
    "inf2-xcache",
    "inf2-kvbytes",
    by=Source.SETTING,
)
def formulas(evidence: Evidence, claim: str) -> Finding:
    def block(width: int) -> Block:
        return Block(width, width, width)

    basis = "models/inf2/traffic.py"
    if claim == "inf2-kvbytes":
        return Finding(
            {
                key: [load_model(name).kv_bytes_per_token * BATCH * tokens * 1e-12 for name in MODELS]
                for key, tokens in (("16K", 1 << 14), ("32K", 1 << 15))
            },
            "shapes of the models",
            tolerance=0.01,
        )
    if claim == "inf2-xcache":
        return Finding(block(64).x_token_bytes / block(64).kv_token_bytes, basis)
    if claim == "inf2-eq3":
        first, second = (block(64).traffic_ratio(s + 1) for s in (10, 20))
        slope = 10 / (second - first)
        return Finding(
            f"(s+{first * slope - 10:g})/{slope:g}",
            basis,
            "Later steps have (s + i) / 2. New keys and values that go to the flash too are not counted.",
        )
    if claim == "inf2-wb-mean":
        two, three = (WriteBack(c, 256).mean_bytes(block(64), 1) / 64 for c in (2, 3))
        return Finding(f"({three - two:g}c+{3 * two - 2 * three:g}) b h d", basis)
    texts = {
        "inf2-t-prefill": coefficient(lambda b, hd: block(hd).kv_write_of_prompt(b, 1), "s b h d"),
        "inf2-t-read": coefficient(lambda b, hd: block(hd).kv_read(b, 2), "(s+i-1) b h d"),
        "inf2-t-write": coefficient(lambda b, hd: block(hd).kv_write(b), "b h d"),
        "inf2-t-ansr": coefficient(lambda b, hd: block(hd).near_storage(b).to_host, "b h d"),
        "inf2-t-answ": coefficient(lambda b, hd: block(hd).near_storage(b).to_drives, "b h d"),
    }
    return Finding(texts[claim], basis)


@CHECKS.of("inf2-par", "inf2-gqa", by=(Source.RUN, Source.RECORD))
def rules(evidence: Evidence, claim: str) -> Finding:
    if claim == "inf2-gqa":
        grouped, whole = (run(evidence, "inf2", name, 1 << 14, output=1).more for name in ("llama-2-70b", "llama-2-7b"))
        return Finding(
            grouped["x_cache_bound"] == "larger" and whole["x_cache_requests"] > 0,
            "inf2 with LLaMA-2-70B and LLaMA-2-7B",
        )
    model = load_model("opt-30b")
    shards = {
        batch: run(evidence, "inf2", model.name, 1000, batch=batch, output=1, **{"x_cache.use": "off"}).more
        for batch in (1, 16)
    }
    traffic = shards[16]["traffic_bytes"]
    own = traffic["accelerator"]["down"] - traffic["drive"]["down"] + traffic["flash"]["down"]
    return Finding(
        shards[16]["shards_per_drive"] == model.heads
        and shards[1]["shards_per_drive"] == -(-model.heads // 16)
        and abs(own / traffic["flash"]["up"] - 1) < 1e-9,
        "inf2 with OPT-30B: all that reaches an accelerator is from its own flash or the GPU",
    )
