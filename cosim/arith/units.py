"""Bench of the arithmetic operators. Every result must equal the functional model, or a file of vectors, bit for
bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...constraints.arith.units import Operand, OperatorConfig, OperatorResult, operand_layout
from ...constraints.core.errors import ConfigError
from ...constraints.core.formats import FloatFormat
from ...models.numerics import is_nan
from ...models.numerics.vector_files import read_vectors
from ...models.numerics.vectors import operands as operand_sets
from ..bench.campaign import Campaign, Played, streams
from ..bench.request import SimRequest
from ..bench.streams import Items, play

__all__ = ["Case", "Outcome", "bench", "stimulus"]

#: All operands are tried if they have at most this many bits.
EXHAUSTIVE_BITS = 16
#: Number of items of the runs with stalls.
STRESSED = 4000
#: Number of differences that are shown.
SHOWN = 20


def stimulus(fields: Mapping[str, Operand], count: int, seed: int) -> list[np.ndarray]:
    """Operands: all of them if they are few, else corner cases and ``count`` random ones of several kinds."""
    layout = operand_layout(fields)
    only = list(fields.values())
    if "last" in fields:
        # Corners stand by themselves: as sums of one beat, and as parts of longer ones.
        *factors, _, _ = only
        columns = operand_sets(factors, count, seed)
        rng = np.random.default_rng(seed)
        last = rng.random(len(columns[0])) < np.where(np.arange(len(columns[0])) % 2048 < 1024, 0.6, 0.1)
        last[-1] = True
        # Some sums continue after a result.
        begins = np.r_[True, last[:-1] & (rng.random(len(last) - 1) < 0.8)]
        return [*columns, begins.astype(np.int64), last.astype(np.int64)]
    if sum(field.width for field in only) <= EXHAUSTIVE_BITS:
        every = np.arange(1 << layout.bits, dtype="<u4").view(np.uint8).reshape(-1, 4)[:, : layout.payload_bytes]
        return list(layout.unpack(every).values())
    return operand_sets(only, count, seed)


@dataclass
class Outcome(Played):
    """Outcome of a run: the rows that differ, and texts of the first differences."""

    rows: np.ndarray = field(kw_only=True)
    wrong: np.ndarray = field(kw_only=True)
    differences: dict[int, str] = field(kw_only=True)

    def run_figures(self) -> dict[str, int]:
        return {"cycles": self.run.epochs[0].end_cycle + 1}


@dataclass
class Case:
    """Operands as columns, their packed payloads, the expected results, and a mark for operands that get an answer."""

    config: OperatorConfig
    columns: list[np.ndarray]
    expected: list[np.ndarray]

    def __post_init__(self) -> None:
        names = list(self.config.operands)
        given, self.result_layout = (port.layout for port in self.config.ports())
        self.payload = given.pack({one.name: column for one, column in zip(given.fields, self.columns, strict=True)})
        # An accumulator's results belong to the rows marked last.
        self.accumulates = "last" in names
        self.answered = self.columns[names.index("last")] == 1 if self.accumulates else np.ones(len(self.payload), bool)

    def some(self, seed: int) -> np.ndarray:
        """Rows for a run with stalls. For an accumulator only a beginning of its stream makes sense by itself."""
        if self.accumulates:
            return np.arange(np.flatnonzero(self.answered)[: STRESSED // 4][-1] + 1)
        return np.random.default_rng(seed).permutation(len(self.payload))[:STRESSED]

    def simulate(self, verilog: str, top: str, rows: np.ndarray, *, stalls: float = 0.0, **options: Any) -> Outcome:
        """Play rows of operands to the RTL and compare every result. Errors are as of :func:`play`."""
        ports = streams(self.config)
        done = play(
            verilog,
            top,
            ports,
            {"i": Items.of(self.payload[rows])},
            {"o": np.array([np.count_nonzero(self.answered[rows])])},
            stalls={port.name: stalls for port in ports},
            **options,
        )
        received = self.result_layout.unpack(done.outputs["o"]).values()
        chosen = rows[self.answered[rows]]
        bad, place = np.zeros(len(chosen), bool), np.cumsum(self.answered) - 1
        found: dict[int, str] = {}
        for (name, spec), got, want_all in zip(self.config.results.items(), received, self.expected, strict=True):
            want = want_all[place]
            differs = _differs(got, want[chosen], spec)
            bad |= differs
            for index in np.flatnonzero(differs)[:SHOWN]:
                row = int(chosen[index])
                what = " ".join(
                    f"{key}={_text(column[row], f)}"
                    for (key, f), column in zip(self.config.operands.items(), self.columns, strict=True)
                )
                found.setdefault(row, f"{what}: {name} {_text(got[index], spec)}, expected {_text(want[row], spec)}")
        first = next(iter(found.values()), done.faults[0] if done.faults else None)
        return Outcome(
            done,
            len(chosen),
            int(bad.sum()) + len(done.faults),
            first,
            list(done.faults),
            rows=chosen,
            wrong=bad,
            differences=found,
        )


def bench(request: SimRequest) -> OperatorResult:
    """Simulate an operator with an item at every clock, with random stalls, and with an output that is ready only after
    it was valid."""
    config, path = request.config, request.workload.vectors
    operands, results = config.operands, config.results
    if path is not None:
        (result,) = results.values() if len(results) == 1 else (None,)
        if result is None or any(one.count > 1 for one in (*operands.values(), result)):
            raise ConfigError(f"{path}: files of vectors are for operators of single numbers with one result")
        columns, wanted = read_vectors(path, [one.format for one in operands.values()], result.format)
        case = Case(config, columns, [wanted])
    else:
        columns = stimulus(operands, request.workload.count, request.seed)
        case = Case(config, columns, list(request.model(config, *columns)))
    campaign = Campaign(
        request, lambda rows, **options: case.simulate(request.verilog, request.module, rows, **options)
    )
    full = campaign.run("full_rate", np.arange(len(case.payload)), waves=True)
    some = case.some(request.seed)
    campaign.stress(lambda _: some)

    differing = np.zeros(len(case.payload), bool)
    shown: list[str] = []
    for name, outcome in campaign.outcomes.items():
        shown += [f"{name}: {text}" for row, text in outcome.differences.items() if not differing[row]]
        shown += [f"{name}: {fault}" for fault in outcome.notes[:SHOWN]]
        differing[outcome.rows[outcome.wrong]] = True
    log = full.run.epochs[0]
    first, last = int(log.first["i"][log.moved["i"] > 0].min()), int(log.last["i"].max())
    return campaign.result(
        OperatorResult,
        vectors=len(case.payload),
        mismatches=int(differing.sum()) + sum(len(one.notes) for one in campaign.outcomes.values()),
        first_mismatch=shown[0] if shown else None,
        notes=[],
        differences=shown[:SHOWN],
        latency_cycles=int(log.end_cycle - last),
        cycles=log.end_cycle + 1,
        items_per_cycle=round(len(case.payload) / (last - first + 1), 6),
    )


def _differs(got: np.ndarray, want: np.ndarray, field: Operand) -> np.ndarray:
    """Rows in which two columns differ. Where a NaN is expected, only the canonical NaN is right."""
    if isinstance(field.format, FloatFormat):
        want = np.where(is_nan(want, field.format), field.format.nan, want)
    different = got != want
    return different if field.count == 1 else different.any(axis=1)


def _text(value: Any, field: Operand) -> str:
    digits = -(-field.format.width // 4)
    mask = (1 << field.format.width) - 1
    return ",".join(f"{int(x) & mask:0{digits}X}" for x in np.atleast_1d(value))
