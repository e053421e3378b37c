"""Bench of the toy unit: stimulus, expectation, figures."""

import numpy as np

from bankside.plugin import Campaign, Items, Stimulus, layouts, play_stimulus

from .contract import ToyResult


def bench(request):
    """Numbers at every clock, with random stalls, and to a sink that waits to be asked."""
    config, rng = request.config, np.random.default_rng(request.seed)
    ports = layouts(config)

    def simulate(numbers, **options):
        given = ports["i"].pack(number=numbers, last=np.arange(len(numbers)) == len(numbers) - 1)
        expected = ports["o"].pack({"": request.model(config, numbers)})
        return play_stimulus(
            config,
            request.verilog,
            request.module,
            Stimulus({"i": Items.of(given)}, {"o": expected}, {"o": np.array([len(numbers)])}),
            **options,
        )

    campaign = Campaign(request, simulate)
    full = campaign.run("full_rate", rng.integers(0, 1 << config.width, request.workload.numbers), waves=True)
    campaign.stress(lambda count: rng.integers(0, 1 << config.width, 10 * count))
    return campaign.result(ToyResult, cycles=full.run.epochs[0].end_cycle - full.run.epochs[0].first_of(["i"]) + 1)
