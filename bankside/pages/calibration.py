"""Pages of calibrations."""

from __future__ import annotations

from ..results.calibration import Calibrate, FittedActivations
from .components import Card, Page, Part, bars, plain, table

__all__ = ["calibration", "fitted"]


def fitted(result: FittedActivations) -> Page:
    """Parameters of activations fitted to a trace."""
    rows = [(name.replace("_", " "), plain(value)) for name, value in result.sparsity]
    return Page(
        f"{result.system}: activations that reproduce {result.trace}",
        "A synthetic source with these parameters has the trace's fraction of active tokens and their persistence.",
        (),
        (Part("Parameters", tables=(table(("parameter", "value"), rows),)),),
    )


def calibration(result: Calibrate) -> Page:
    """Ratios of importance, and the times of the tiers with them."""
    verdict = "the tiers take equal time" if result.equal else "no ratios make the tiers equal; these come nearest"
    times = [(tier.upper(), time_us) for tier, time_us in result.tier_us.items()]
    balance, state = ("equal", "good") if result.equal else ("not equal", "bad")
    return Page(
        f"{result.system}: ratios of importance for {result.model}",
        f"With x = {result.x:g} and y = {result.y:g} {verdict} ({result.conditions}).",
        (
            Card("x", f"{result.x:g}", "importance of a token in HBM over one in the SSD"),
            Card("y", f"{result.y:g}", "importance of a token in DDR over one in the SSD"),
            Card("balance", balance, f"times of the tiers, round {result.rounds}", state),
        ),
        (
            Part(
                "Time of a layer's attention by tier",
                bars(times, "µs"),
                (table(("tier", "µs"), [(tier, plain(time_us)) for tier, time_us in times]),),
            ),
        ),
    )
