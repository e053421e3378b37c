"""Contract of a toy unit: it adds a constant to every number of a stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field as Key

from bankside.plugin import Field, Layout, Port, Row, SimResult, Strict, Unit, Workload, verdict_text


class ToyConfig(Strict):
    """Parameters of the toy."""

    width: int = Key(default=8, ge=2, le=32, description="bits of a number")
    step: int = Key(default=3, ge=0, le=255, description="what is added")
    clock_mhz: float = Key(default=500.0, gt=0, le=10000, strict=False, description="target clock")

    def ports(self) -> tuple[Port, ...]:
        return (
            Port(
                "i",
                "in",
                Layout.of(Field("number", self.width, "a number"), Field("last", 1, "last of its run")),
                "a number to add to",
            ),
            Port("o", "out", Layout.plain(self.width), "the sum, without its carry"),
        )


class ToyWorkload(Workload):
    """Numbers to add to."""

    numbers: int = Key(default=100, ge=1, le=10_000, description="numbers of the measured run")


class ToyResult(SimResult):
    """What the bench measured."""

    cycles: int = Key(description="from the first number to the last sum")

    def figures(self, workload: Mapping[str, Any]) -> list[Row]:
        return [
            ("compared", f"{self.vectors} sums: {verdict_text(self)}"),
            ("adding", f"{workload['numbers']} numbers in {self.cycles} cycles"),
        ]


UNIT = Unit(
    "toy-adder",
    "adds a constant",
    "nowhere",
    module="toy_adder",
    config=ToyConfig,
    presets={"narrow": ToyConfig(), "wide": ToyConfig(width=16, step=200)},
    generator="bankside_toy.hardware:ToyAdder",
    model="bankside_toy.model:add",
    bench="bankside_toy.bench:bench",
    workload=ToyWorkload,
    result=ToyResult,
    page="README.md",
    published=(),
)
