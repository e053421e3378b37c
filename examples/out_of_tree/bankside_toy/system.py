"""A toy system: every decode step takes as long as its toy unit needs for the numbers of a request."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bankside.plugin import (
    Assumption,
    Details,
    EnergyRole,
    MeasuredUnit,
    MissingRecord,
    Option,
    Part,
    Role,
    Room,
    Served,
    StepCost,
    Strict,
    System,
    key,
)

from .contract import UNIT, ToyResult

#: Bytes for tokens, of a byte each.
ROOM = 64_000


class ToySpec(Strict):
    """A toy system's file."""

    kind: str
    description: str
    preset: str
    numbers: int


class ToyKeys(Part):
    """Keys of a toy system in the result of ``eval``."""

    adders: int = key("toys that add")
    adding_us: float = key("time in which they add", "µs")


class ToySystem(System):
    """Toys in a row."""

    kind, schema, result = "toy", ToySpec, ToyKeys
    options = (Option("--numbers", "numbers", "N", "numbers of a request", least=1),)
    roles = {"adding": Role.ATTENTION}
    energy_roles = {"adding": EnergyRole.UNITS}
    files = {"toy-row": Path(__file__).with_name("toy-row.yaml")}
    tp = pp = devices = 1

    def __init__(self, description):
        super().__init__(description)
        self.unit = MeasuredUnit(self.name, UNIT, ToyResult, description.spec.preset)

    def prepare(self, model, records, refresh):
        missing = self.unit.look_up(records, numbers=self.description.spec.numbers)
        if missing:
            raise MissingRecord(self.name, missing)

    @property
    def step_s(self):
        return self.unit.figures.cycles / self.unit.config.clock_mhz * 1e-6

    @property
    def records(self):
        return list(self.unit.records.values())

    def rooms(self, model):
        return [Room(ROOM, 0, lambda batch, tokens: batch * tokens)]

    def decode_step(self, model, batch, contexts):
        return StepCost({"adding": np.full(len(contexts), self.step_s)}, {"adding": np.full(len(contexts), 1e9)}, batch)

    def details(self, model, batch, context, cost):
        return Details(more={"adders": self.devices, "adding_us": self.step_s * 1e6})

    def serving(self, model):
        return ToyServed(self, model)

    def assumptions(self):
        return {"adding": Assumption("a step adds a fixed number of numbers", self.description.spec.numbers)}


class ToyServed(Served):
    """The toy as the serving engine takes it."""

    def prefill_seconds(self, tokens, past):
        return 1e-3

    def decode_seconds(self, contexts):
        return self.system.step_s
