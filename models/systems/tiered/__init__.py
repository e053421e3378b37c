"""Parts of the systems that attend in tiers: hardware, a GPU's share of a model, steps, moves, state of a batch, report."""
