"""Spans of a decode step, for ui.perfetto.dev."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["MAX_SPANS", "Span", "StepTimeline", "chrome_trace"]

#: Most spans of a timeline, roughly; some 30 MB of JSON.
MAX_SPANS = 200_000


@dataclass(frozen=True)
class Span:
    """Work on a track.

    Attributes
    ----------
    track : name of the part that works
    name : name of the work
    start_s, seconds
        From the beginning of the step.
    args
        Further plain values that a viewer shows.
    """

    track: str
    name: str
    start_s: float
    seconds: float
    args: Mapping[str, Any] = field(default_factory=dict)

    @property
    def end_s(self) -> float:
        return self.start_s + self.seconds

    def later(self, seconds: float, **args: Any) -> Span:
        """The same span ``seconds`` later, with further values."""
        return Span(self.track, self.name, self.start_s + seconds, self.seconds, {**self.args, **args})


@dataclass(frozen=True)
class StepTimeline:
    """Spans of the first ``layers`` layers of a step.

    Attributes
    ----------
    title : :class:`str`
    spans : sequence of :class:`Span`
    layers, of_layers : layers that have spans, and layers of the model
    """

    title: str
    spans: Sequence[Span]
    layers: int
    of_layers: int


def chrome_trace(view: StepTimeline) -> str:
    """JSON in Chrome's trace format, one event a line: a thread for each track."""
    tracks = {name: number for number, name in enumerate(dict.fromkeys(span.track for span in view.spans), 1)}
    events = [{"ph": "M", "pid": 1, "name": "process_name", "args": {"name": view.title}}]
    for name, number in tracks.items():
        events += [
            {"ph": "M", "pid": 1, "tid": number, "name": "thread_name", "args": {"name": name}},
            {"ph": "M", "pid": 1, "tid": number, "name": "thread_sort_index", "args": {"sort_index": number}},
        ]
    events += [
        {
            "ph": "X",
            "pid": 1,
            "tid": tracks[span.track],
            "ts": round(span.start_s * 1e6, 6),
            "dur": round(span.seconds * 1e6, 6),
            "name": span.name,
            "cat": "step",
            "args": dict(span.args),
        }
        for span in view.spans
    ]
    head = {
        "displayTimeUnit": "ms",
        "otherData": {"title": view.title, "layers": view.layers, "layers_of_the_model": view.of_layers},
    }
    return json.dumps(head)[:-1] + ',\n"traceEvents": [\n' + ",\n".join(map(json.dumps, events)) + "\n]}\n"
