"""A paper about toys: its claims are in ``claims.yaml``, and a check gives our value for each that needs one."""

from __future__ import annotations

from pathlib import Path

from bankside.plugin import Bar, Checks, Evidence, Figure, Finding, Panel, PaperPackage, Source

from .contract import UNIT

CHECKS = Checks()


@CHECKS.of("toy-rate", by=Source.RECORD)
def rate(evidence: Evidence, claim: str) -> Finding:
    """Numbers per clock of the measured run."""
    record = evidence.record(UNIT.name, "narrow", UNIT.presets["narrow"], "sim", numbers=200)
    why = "the first sum appears a clock after its number"
    return Finding(200 / record.results["cycles"], "record of toy-adder", why, tolerance=0.01)


RATE = Figure("A row of toys, Figure 1", (Panel("rate", "numbers per clock", (Bar("adder", "toy-rate"),)),))
PAPER = PaperPackage(Path(__file__).with_name("claims.yaml"), CHECKS, {"1": RATE})
