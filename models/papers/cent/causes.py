"""From the authors' numbers to ours: one rule after the other, each with what it changes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...llm import load_model
from ...systems import RecordSource
from ...systems.cent import RULES, SIMULATOR, Point, Rules
from .table import NAMES, Configuration, system_of

__all__ = ["CAUSES", "Cause", "causes"]

#: The causes in words, in their order.
CAUSES = {
    "bank_timing": "constraints of each bank, and the window of four activations",
    "refresh": "refresh",
    "mended": "the generator's three slips mended",
    "own_inputs": "an input for each block of a device",
    "own_keys": "keys on the device that attends",
    "lookup": "the embedding is looked up",
    "whole_blocks": "whole blocks in a stage",
    "spread_output": "output matrix on all devices, which stop for it",
    "links": "lanes and latency of the paper, hops between stages only",
    "residuals": "sums of residuals in the units near memory",
    "measured": "measured clocks of the units near memory",
    "ports": "measured latency and pace of ports and switch",
    "all_standby": "standby of all channels and all devices",
    "executed": "the program that the RTL executes, blocks of a device by turns",
}

assert tuple(CAUSES) == RULES


@dataclass(frozen=True)
class Cause:
    """The system after one more rule.

    Attributes
    ----------
    name : the rule; ``simulator`` for the first row
    pim_cycles, tokens_per_s, token_ms, energy_mj : with this rule and all before it
    """

    name: str
    pim_cycles: int
    tokens_per_s: float
    token_ms: float
    energy_mj: float


def _row(name: str, point: Point) -> Cause:
    return Cause(name, point.pim_cycles, 1 / point.period_s, point.token_s * 1e3, sum(point.energy_pj.values()) * 1e-9)


def causes(one: Configuration, tokens: int, records: RecordSource) -> list[Cause]:
    """Rows from the authors' simulator to the system as it is, with measurements from ``records``.

    Raises
    ------
    :exc:`MissingRecord`
        If a measurement has not been made.
    """
    simulator, model = system_of(one), load_model(NAMES[one.model])
    system = simulator.with_rules(Rules())
    system.prepare(model, records, False)
    rules, out = SIMULATOR, [_row("simulator", simulator.point(model, tokens))]
    for name in RULES:
        rules = replace(rules, **{name: True})
        out.append(_row(name, system.with_rules(rules).point(model, tokens)))
    return out
