# amaranth: UnusedElaboratable=no
"""The tree that finds the first request: equal to the plain chain for every pattern of few requests, and shallow."""

import random

import pytest
from amaranth.hdl import Const, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from bankside.gen.blocks.priority import lowest


class Both(wiring.Component):
    """The tree, and beside it the chain that it replaces."""

    def __init__(self, count):
        super().__init__(
            {
                "requests": In(count),
                "tree": Out(range(max(2, count))),
                "found": Out(1),
                "chain": Out(range(max(2, count))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        number, found = lowest(m, self.requests, "tree")
        m.d.comb += [self.tree.eq(number), self.found.eq(found)]
        for n in reversed(range(len(self.requests))):
            with m.If(self.requests[n]):
                m.d.comb += self.chain.eq(n)
        return m


def check(count, patterns):
    dut = Both(count)

    async def bench(ctx):
        for pattern in patterns:
            ctx.set(dut.requests, pattern)
            chain = ctx.get(dut.chain)
            assert (ctx.get(dut.tree), ctx.get(dut.found)) == (chain, pattern != 0), f"{pattern:b}"
            assert not pattern or pattern & -pattern == 1 << chain

    simulator = Simulator(dut)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize("count", range(1, 10))
def test_every_pattern(count):
    check(count, range(1 << count))


@pytest.mark.parametrize("count", [128, 100])
def test_many_requests(count):
    """Each request as the first one, alone and before all others and before random ones."""
    rng = random.Random(1)
    every = (1 << count) - 1
    check(
        count,
        [
            pattern
            for n in range(count)
            for pattern in (1 << n, every >> n << n, (rng.getrandbits(count) | 1) << n & every)
        ]
        + [0],
    )


@pytest.mark.parametrize("count", [2, 9, 100, 128])
def test_size_of_the_tree(count):
    """The number has a bit for each level of the tree, so there are as many levels as bits."""
    number, found = lowest(Module(), Const(0, count), "tree")
    assert len(number) == (count - 1).bit_length() and len(found) == 1


def test_nothing_to_choose_among():
    with pytest.raises(ValueError, match=r"^Requests must have at least one bit$"):
        lowest(Module(), Const(0, 0), "tree")
