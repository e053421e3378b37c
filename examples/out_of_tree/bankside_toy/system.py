"""A toy system: every decode step takes as long as its toy unit needs for the numbers of a request."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bankside.plugin import Assumption, Capacity, ConfigError, MeasuredUnit, MissingRecord, StepCost, Strict, System

from .contract import UNIT, ToyResult

ROOM = 64_000


class ToySpec(Strict):
    """A toy system's file."""

    kind: str
    description: str
    preset: str
    numbers: int


class ToySystem(System):
    """Toys in a row."""

    kind, schema = "toy", ToySpec
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

    def capacity(self, model, context, batch, output_tokens):
        tokens = context + output_tokens - 1
        return Capacity(ROOM, 0, batch * tokens, ROOM // context, ROOM // tokens)

    def check_fits(self, model, context, batch, output_tokens=1):
        found = self.capacity(model, context, batch, output_tokens)
        if batch > found.largest_batch_with_output:
            raise ConfigError(f"{self.name}: the largest batch that fits is {found.largest_batch_with_output}")
        return found

    def kv_capacity_tokens(self, model):
        return ROOM

    def decode_step(self, model, batch, contexts):
        return StepCost({"adding": np.full(len(contexts), self.step_s)}, {"adding": np.full(len(contexts), 1e9)}, batch)

    def serving(self, model):
        return ToyServed(self)

    def assumptions(self):
        return {"adding": Assumption("a step adds a fixed number of numbers", self.description.spec.numbers)}


class ToyServed:
    """The toy as the serving engine takes it."""

    kv_capacity_tokens, kv_block_tokens = ROOM, 16

    def __init__(self, system):
        self.name, self._step_s = system.name, system.step_s

    def prefill_seconds(self, tokens, past):
        return 1e-3

    def decode_seconds(self, contexts):
        return self._step_s
