# amaranth: UnusedElaboratable=no
"""A bank group in Amaranth's simulator: two processing units and a reduction unit, bit for bit the models of the parts."""

import numpy as np
import pytest
from amaranth import *
from amaranth.sim import Simulator
from bankside.constraints.units.pam_bank_group import PRESETS, PamBankGroupConfig
from bankside.constraints.units.pam_pu import PamPuConfig, Step
from bankside.constraints.units.pam_ru import PamRuConfig
from bankside.cosim.pam_ru import partial_beats
from bankside.gen.pam.bank_group import PamBankGroup
from bankside.models.numerics import from_float64
from bankside.models.pam.pu import local_attention
from bankside.models.pam.ru import Partial, in_order, reduce_partials
from pydantic import ValidationError

FORMATS = {"format": "bf16", "acc_format": "bf16", "score_format": "bf16"}
CONFIG = PamBankGroupConfig(
    processing=PamPuConfig(lanes=4, buffer_bytes=48, query_bytes=32, tile_tokens=2, max_head_dim=8, max_tokens=15,
                           **FORMATS),
    reduction=PamRuConfig(lanes=4, source_lanes=4, sources=2, max_head_dim=8, scratch_bytes=16, log_format="bf16",
                          **FORMATS))


def test_bit_for_bit():
    """Five tokens in one bank, none, one or three in the other; both levels; random stalls."""
    pu, ru, dim = CONFIG.processing, CONFIG.reduction, 8
    rng = np.random.default_rng(1)
    streams = {f"{name}_{n}": [] for n in range(2) for name in ("command", "query", "kv")} | {"command": []}
    expected = []
    for tokens, normalise in (((5, 3), True), ((5, 0), False), ((1, 0), True)):
        q = from_float64(rng.normal(size=dim), pu.io)
        sources = []
        streams["command"].append(int(normalise))
        for bank, count in enumerate(tokens):
            k, v = (from_float64(rng.normal(size=(count, dim)), pu.io) for _ in range(2))
            step = [Step(count, dim)]
            part = local_attention(pu, q, k, v)
            sources.append(Partial(part.m, np.zeros_like(part.m), part.l, part.o))

            def word(row, chunk):
                return sum(int(x) << (16 * lane) for lane, x in enumerate(row[chunk * 4:chunk * 4 + 4]))

            streams[f"command_{bank}"].append(count | 2 << pu.max_tokens.bit_length())
            streams[f"query_{bank}"] += [word(q, chunk) for _, chunk in pu.query_order(step)]
            streams[f"kv_{bank}"] += [word((v if b["value"] else k)[b["token"]], b["chunk"]) for b in pu.beats(step)]
        r = reduce_partials(ru, in_order(ru, sources), normalise=normalise)
        one = Partial(*(np.asarray(x)[None] for x in (r.m, r.scale, r.l, r.o)))
        beats = partial_beats(one, lanes=4, io=ru.io, score=ru.score, scale_bits=ru.scale_bits, final_beats=True,
                              scalars=np.atleast_1d(r.log_sum if normalise else r.l), kind=3 if normalise else 2)
        expected += [int.from_bytes(bytes(row), "little") for row in beats]
    dut, got = PamBankGroup(CONFIG), []

    async def testbench(ctx):
        at = dict.fromkeys(streams, 0)
        offered = dict.fromkeys(streams, False)
        for _ in range(1500):
            for name, items in streams.items():
                port = getattr(dut, name)
                if not offered[name]:
                    offered[name] = at[name] < len(items) and rng.random() < 0.8
                    ctx.set(port.valid, offered[name])
                    if offered[name]:
                        ctx.set(Value.cast(port.payload), items[at[name]])
            ready = rng.random() < 0.7
            ctx.set(dut.result.ready, ready)
            if ready and ctx.get(dut.result.valid):
                got.append(ctx.get(Value.cast(dut.result.payload)))
            for name in streams:
                if offered[name] and ctx.get(getattr(dut, name).ready):
                    at[name], offered[name] = at[name] + 1, False
            if len(got) == len(expected):
                break
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(testbench)
    sim.run()
    assert got == expected


def test_parts_must_fit():
    with pytest.raises(ValidationError, match="processing.lanes 16 must be reduction.source_lanes, which is 4"):
        PamBankGroupConfig(processing=PRESETS["pam-hbm"].processing, reduction=PRESETS["pam-ddr"].reduction)
    assert [config.banks for config in PRESETS.values()] == [4, 4, 8]
    assert [config.max_head_dim for config in PRESETS.values()] == [128] * 3
