"""Parts that all benches share: streams of a contract, a comparison with the model, and the runs of a campaign.

A bench defines its inputs and the expected outputs (:class:`Stimulus`), and the figures that it reads off the runs. The
campaign plays the stimulus to the RTL in several runs:

- at full rate
- at the memory's pace
- with random stalls
- to a receiver that is ready only after an output was valid
- from random registers, with resets at random clocks
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from ...constraints.core.contract import Field, Layout, Port, Run, SimResult
from ...constraints.core.errors import CheckFailed
from ...constraints.core.formats import FloatFormat
from .request import SimRequest
from .streams import Items, StreamPort, StreamRun, compare, play, stop_simulations

__all__ = ["Campaign", "Played", "Stimulus", "layouts", "play_stimulus", "streams"]

#: Number of random episodes of a quick check.
QUICK = 4

#: Clocks that an item may take at full rate before an epoch counts as hung.
CLOCKS_PER_ITEM = 12

#: Further clocks before an epoch counts as hung.
PATIENCE = 20_000


class Contracted(Protocol):
    """Anything with ports: the configuration of a unit, or of several units that a bench connects."""

    def ports(self) -> tuple[Port, ...]: ...


def streams(config: Contracted) -> list[StreamPort]:
    """The unit's streams as the stream player takes them, inputs first."""
    return [
        StreamPort(port.name, port.layout.bits, port.is_input, _numbers(port.layout))
        for port in sorted(config.ports(), key=lambda port: not port.is_input)
        if port.stream
    ]


def streams_alone(config: Contracted, verilog: str, top: str) -> tuple[str, str]:
    """Verilog text and top module of a wrapper with the unit's streams alone, since the player connects only
    streams."""
    signals = [port for port in config.ports() if not port.stream]
    if not signals:
        return verilog, top
    declared = ["input clk", "input rst"]
    pins = [".clk(clk)", ".rst(rst)", *(f".{one.name}({one.name})" for one in signals)]
    for port in streams(config):
        here, there = ("input", "output") if port.is_input else ("output", "input")
        declared += [
            f"{here} [{port.width - 1}:0] {port.name}__payload",
            f"{here} {port.name}__valid",
            f"{there} {port.name}__ready",
        ]
        pins += [f".{port.name}__{part}({port.name}__{part})" for part in ("payload", "valid", "ready")]
    wires = "".join(f"  wire [{one.layout.bits - 1}:0] {one.name};\n" for one in signals)
    around = f"\nmodule {top}_streams ({', '.join(declared)});\n{wires}  {top} dut ({', '.join(pins)});\nendmodule\n"
    return verilog + around, f"{top}_streams"


def layouts(config: Contracted) -> dict[str, Layout]:
    """Layouts of the unit's streams by name."""
    return {port.name: port.layout for port in config.ports() if port.stream}


def _numbers(layout: Layout) -> tuple[tuple[str, int, FloatFormat], ...]:
    """Places of the floating-point numbers in a payload, for waveforms."""

    def name(one: Field, n: int) -> str:
        return "_".join([part for part in (one.name, str(n) if one.count > 1 else "") if part]) or "number"

    return tuple(
        (name(one, n), low + n * one.element_bits, one.number)
        for low, one in layout.items()
        if isinstance(one.number, FloatFormat)
        for n in range(one.count)
    )


@dataclass
class Stimulus:
    """Items that are played to a unit, and the answers that it must give.

    Attributes
    ----------
    items : of every input stream
    expected : payloads of every output stream, uint8 ``(items, payload_bytes)``
    targets : for every output stream, the number of payloads that end each epoch
    work : largest number of items that an epoch moves; by default all items together
    part : names a payload for people: called with the stream, the epoch and the payload's number in it
    held : streams that random stalls hold up; by default all streams
    """

    items: Mapping[str, Items]
    expected: Mapping[str, np.ndarray]
    targets: Mapping[str, np.ndarray]
    work: int | None = None
    part: Callable[[str, int, int], str] | None = None
    held: Sequence[str] | None = None

    def limit(self, stalls: float) -> int:
        """Clocks after which an epoch counts as hung."""
        work = sum(len(block.payload) for block in self.items.values()) if self.work is None else self.work
        latest = max((int(block.cycle.max(initial=0)) for block in self.items.values()), default=0)
        slack = 1.0 if not stalls else 4.0 / (1.0 - stalls) ** 2
        answers = max((int(np.max(counts, initial=0)) for counts in self.targets.values()), default=0)
        return int(latest + (work + answers) * CLOCKS_PER_ITEM * slack + PATIENCE)


@dataclass
class Played:
    """A run that was compared with the model. Every bench's outcome has these figures."""

    run: StreamRun
    vectors: int
    mismatches: int
    first_mismatch: str | None
    notes: list[str] = field(default_factory=list)

    def require(self, right: bool, otherwise: str) -> None:
        """Check the run beyond the comparison. ``otherwise`` is the message if the check fails."""
        if not right:
            self.mismatches += 1
            self.first_mismatch = self.first_mismatch or otherwise

    def run_figures(self) -> dict[str, int]:
        """Figures of this unit beside the figures of every run (keys of :class:`Run`)."""
        return {}


def play_stimulus(
    config: Contracted, verilog: str, top: str, stimulus: Stimulus, *, stalls: float = 0.0, **options: Any
) -> Played:
    """Play a stimulus to the RTL and compare every payload.

    Parameters
    ----------
    verilog, top : text and module of the unit, generated for ``config``
    stalls : probability that an input is withheld, or an output refused, in a clock
    options : ``lazy``, ``seed``, ``waves`` and more, see :func:`bankside.cosim.bench.streams.play`

    Raises
    ------
    :exc:`CheckFailed`
        If the simulation crashed or hung. Wrong results do not raise: see ``mismatches``.
    """
    ports = streams(config)
    held = [port.name for port in ports] if stimulus.held is None else stimulus.held
    run = play(
        *streams_alone(config, verilog, top),
        ports,
        stimulus.items,
        stimulus.targets,
        stalls=dict.fromkeys(held, stalls),
        limit=stimulus.limit(stalls),
        **options,
    )
    mismatches, first, notes = compare(run, stimulus.items, stimulus.expected, stimulus.targets, part=stimulus.part)
    return Played(run, sum(len(rows) for rows in stimulus.expected.values()), mismatches, first, notes)


@dataclass(frozen=True)
class _Kind:
    """A kind of run in campaigns: its description and its options."""

    text: str
    options: Mapping[str, Any]


#: Runs by name, in the order of a campaign.
RUNS: dict[str, _Kind] = {
    "full_rate": _Kind("an item at every clock", {}),
    "memory": _Kind("data at the cycles of the memory", {}),
    "stalls": _Kind("random stalls and back-pressure", {"stalls": 0.35}),
    "lazy_output": _Kind("outputs that wait to be asked", {"stalls": 0.1, "lazy": True}),
    "power_up": _Kind(
        "random registers and memories at first, resets at random clocks",
        {"stalls": 0.1, "power_up": "random", "resets": 2},
    ),
}

Outcome = TypeVar("Outcome", bound=Played)
Result = TypeVar("Result", bound=SimResult)


class Campaign(Generic[Outcome]):
    """The runs of a bench.

    Parameters
    ----------
    request : the request to the bench
    simulate : called with episodes and the options of :func:`play_stimulus`; returns the unit's outcome
    """

    def __init__(self, request: SimRequest, simulate: Callable[..., Outcome]) -> None:
        self._request, self._simulate = request, simulate
        self.outcomes: dict[str, Outcome] = {}
        request.progress("building the Verilated model")

    def run(self, name: str, episodes: Any, text: str | None = None, *, waves: bool = False, **options: Any) -> Outcome:
        """Simulate one run of the campaign. ``name`` is a run of :data:`RUNS`, or a run of the unit's own with
        ``text``.

        Parameters
        ----------
        waves : whether this is the run whose waveform is kept, if one was asked for
        """
        kind = RUNS[name] if name in RUNS else _Kind(text or name, {})
        self._request.progress(f"simulating: {text or kind.text}")
        outcome = self._simulate(
            episodes,
            seed=self._request.seed,
            waves=self._request.waves if waves else None,
            **{**kind.options, **options},
        )
        return self.add(name, outcome)

    def side_by_side(self, runs: Mapping[str, Any]) -> None:
        """Simulate runs of :data:`RUNS` that do not depend on each other, two at a time. ``runs``: episodes by name."""
        self._request.progress("simulating: " + "; ".join(RUNS[name].text for name in runs))

        def simulate(name: str) -> Outcome:
            return self._simulate(runs[name], seed=self._request.seed, waves=None, **RUNS[name].options)

        # The last run of a campaign, with resets, takes longest and begins first.
        with ThreadPoolExecutor(2) as threads:
            started = {name: threads.submit(copy_context().run, simulate, name) for name in reversed(list(runs))}
            try:
                wait(started.values(), return_when=FIRST_EXCEPTION)
                for one in started.values():
                    if one.done():
                        one.result()
            except BaseException:
                for one in started.values():
                    one.cancel()
                stop_simulations()
                raise
        for name in runs:
            self.add(name, started[name].result())

    def add(self, name: str, outcome: Outcome) -> Outcome:
        """Add a run that was simulated elsewhere."""
        self.outcomes[name] = outcome
        if self._request.quick and outcome.mismatches:
            raise CheckFailed(f"{name}: {outcome.first_mismatch}")
        return outcome

    def stress(self, episodes: Callable[[int], Any], count: int = 24) -> None:
        """Simulate the runs with which every campaign ends. ``episodes(n)`` draws n random episodes."""
        if self._request.quick:
            self.run("stalls", episodes(min(count, QUICK)))
            return
        self.side_by_side(
            {
                "stalls": episodes(count),
                "lazy_output": episodes(max(count // 2, 1)),
                "power_up": episodes(max(count // 4, 1)),
            }
        )

    def result(self, kind: type[Result], **figures: Any) -> Result:
        """The bench's result: figures over all runs, and the unit's ``figures``."""
        wrong = [f"{name}: {one.first_mismatch}" for name, one in self.outcomes.items() if one.mismatches]
        clocks = sum(one.run.clocks for one in self.outcomes.values())
        waves = [one.run.waves for one in self.outcomes.values() if one.run.waves]
        return kind.model_validate(
            {
                "vectors": sum(one.vectors for one in self.outcomes.values()),
                "mismatches": sum(one.mismatches for one in self.outcomes.values()),
                "first_mismatch": wrong[0] if wrong else None,
                "notes": [f"{name}: {note}" for name, one in self.outcomes.items() for note in one.notes][:20],
                "runs": {
                    name: Run(
                        vectors=one.vectors, mismatches=one.mismatches, clocks=one.run.clocks, **one.run_figures()
                    )
                    for name, one in self.outcomes.items()
                },
                "waves": str(Path(waves[0])) if waves else None,
                "clocks": clocks,
                "clocks_per_second": round(clocks / sum(one.run.seconds for one in self.outcomes.values())),
                **figures,
            }
        )
