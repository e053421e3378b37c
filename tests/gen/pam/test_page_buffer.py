# amaranth: UnusedElaboratable=no
"""The shared page buffer in Amaranth's simulator: every page to its unit, in the unit's order, under any stalls."""

import numpy as np
import pytest
from amaranth import *
from amaranth.sim import Simulator

from bankside.constraints.pam.pu import PamPuConfig
from bankside.constraints.pam.ru import PamRuConfig
from bankside.constraints.pam.ssd_controller import PamSsdControllerConfig
from bankside.gen.pam.page_buffer import PageBuffer

FORMATS = {"format": "bf16", "acc_format": "bf16", "score_format": "bf16"}


def controller(groups, sources, channel_pages):
    return PamSsdControllerConfig(
        processing=PamPuConfig(
            lanes=4,
            buffer_bytes=48,
            query_bytes=32,
            tile_tokens=3,
            score_tiles=1,
            max_head_dim=16,
            max_tokens=15,
            **FORMATS,
        ),
        reduction=PamRuConfig(
            lanes=4, source_lanes=4, sources=sources, max_head_dim=16, scratch_bytes=32, log_format="bf16", **FORMATS
        ),
        groups=groups,
        channel_pages=channel_pages,
    )


def play(config, pages, chance, rng):
    """Beats of each unit and the cycles in which they left, and the cycles in which beats of each channel came.

    ``pages``: (unit, tokens, chunks) of each page of each channel; a beat names its channel, page and position.
    ``chance``: of valid and of ready."""
    dut = PageBuffer(config)
    beats = [
        [
            channel << 24 | page << 12 | at
            for page, (_, tokens, chunks) in enumerate(mine)
            for at in range(2 * tokens * chunks)
        ]
        for channel, mine in enumerate(pages)
    ]
    out, left, came = [[] for _ in range(config.units)], [[] for _ in range(config.units)], [[] for _ in pages]

    async def bench(ctx):
        sources = [
            (getattr(dut, f"{name}_{c}"), items, came[c] if name == "data" else [])
            for c in range(config.groups)
            for name, items in (("page", pages[c]), ("data", beats[c]))
        ]
        at, offered = [0] * len(sources), [False] * len(sources)
        for cycle in range(4000):
            for n, (port, items, _) in enumerate(sources):
                offered[n] = offered[n] or (at[n] < len(items) and rng.random() < chance)
                ctx.set(port.valid, offered[n])
                if offered[n]:
                    item = items[at[n]]
                    if isinstance(item, tuple):
                        item = {"unit": item[0], "tokens": item[1], "chunks": item[2]}
                    ctx.set(port.payload, item)
            for unit in range(config.units):
                port, ready = getattr(dut, f"kv_{unit}"), rng.random() < chance
                ctx.set(port.ready, ready)
                if ready and ctx.get(port.valid):
                    out[unit].append(ctx.get(port.payload))
                    left[unit].append(cycle)
            for n, (port, _, seen) in enumerate(sources):
                if offered[n] and ctx.get(port.ready):
                    at[n], offered[n] = at[n] + 1, False
                    seen.append(cycle)
            if sum(map(len, out)) == sum(map(len, beats)):
                return
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return out, left, came


@pytest.mark.parametrize("groups, sources, channel_pages, chance", [(1, 1, 1, 1.0), (2, 2, 2, 0.6), (3, 1, 3, 0.8)])
def test_pages_leave_in_the_order_of_their_units(groups, sources, channel_pages, chance):
    config, rng = controller(groups, sources, channel_pages), np.random.default_rng(groups)
    lanes = config.processing.lanes
    pages = [
        [(int(rng.integers(sources)), int(rng.integers(1, 4)), int(rng.integers(1, 5))) for _ in range(7)]
        + [(0, 3, 4)] * 2
        for _ in range(groups)
    ]
    expected = [[] for _ in range(config.units)]
    for channel, mine in enumerate(pages):
        for page, (unit, tokens, chunks) in enumerate(mine):
            expected[channel * sources + unit] += [
                channel << 24 | page << 12 | int(at) for at in config.page_order(tokens, chunks * lanes)
            ]
    assert play(config, pages, chance, rng)[0] == expected


def test_a_page_leaves_five_clocks_after_it_came():
    """And the next one comes meanwhile: a beat in and one out every clock."""
    config = controller(1, 1, 2)
    _, (left,), (came,) = play(config, [[(0, 3, 4)] * 4], 1.0, np.random.default_rng(1))
    assert left[0] - came[23] == 5
    assert left[23] - left[0] <= 4 * 23 and came[47] - came[24] <= 24
