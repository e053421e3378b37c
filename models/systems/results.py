"""Inputs and results of an evaluation of a system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ...constraints.core.errors import ConfigError
from ...constraints.core.records import Measurement, Record
from ..cost import DieArea

__all__ = ["NOT_MODELLED", "Capacity", "Cost", "Evaluation", "MissingRecord", "NoRecords", "RecordSource"]

#: Stands in place of a number for anything without a figure in this model.
NOT_MODELLED = "not modelled"


@runtime_checkable
class RecordSource(Protocol):
    """A source of measurement records."""

    def find(self, measurement: Measurement) -> Record | None:
        """The record of exactly this measurement, or None if there is none. Keys that its workload leaves out have the
        unit's defaults."""


class NoRecords:
    """A source without any record."""

    def find(self, measurement: Measurement) -> Record | None:
        return None


class MissingRecord(ConfigError):
    """A measurement on which a result would rest has not been made.

    Attributes
    ----------
    needs : tuple of :class:`Measurement`
        The missing measurements, each once.
    stale : mapping of :class:`Measurement` to :class:`str`
        Measurements whose record is of other sources or tools, and what changed since.
    """

    def __init__(
        self, what: str, needs: Iterable[Measurement], stale: Mapping[Measurement, str] = MappingProxyType({})
    ) -> None:
        self.what, self.needs, self.stale = what, tuple(dict.fromkeys(needs)), stale
        yet = "no measurement yet"
        if stale:
            records = "; ".join(f"{need.kind} {need.unit}: {why}" for need, why in stale.items())
            yet = f"measurements are stale ({records})" + (f", {yet} of others" if len(stale) < len(self.needs) else "")
        super().__init__(f"{what}: {yet}; run `{'` and `'.join(self.commands)}`, or give --measure")

    @property
    def commands(self) -> tuple[str, ...]:
        """Commands that make the missing measurements, for people."""
        return tuple(need.command for need in self.needs)


@dataclass(frozen=True)
class Cost:
    """Time on the critical path and energy of one execution of something.

    Attributes
    ----------
    time_s : :class:`float` or array
        Seconds; an array has one value per context.
    energy_pj : mapping of :class:`str` to :class:`float` or array
        By component, over all devices that take part.
    levels_pj : mapping of :class:`str` to :class:`float` or array
        The same energy by level of a device: ``memory``, ``l2``, ``l1``, ``registers``, ``arithmetic``, ``links``. Empty
        where a system does not tell levels apart.
    compute_bound : :class:`bool` or array
        Whether arithmetic takes the time, not memory.
    """

    time_s: Any = 0.0
    energy_pj: Mapping[str, Any] = field(default_factory=dict)
    levels_pj: Mapping[str, Any] = field(default_factory=dict)
    compute_bound: Any = False

    def scaled(self, time: Any, energy: Any) -> Cost:
        """The cost with its time and its energy multiplied."""
        return Cost(
            self.time_s * time,
            {key: value * energy for key, value in self.energy_pj.items()},
            {key: value * energy for key, value in self.levels_pj.items()},
            self.compute_bound,
        )

    def lasting(self, time_s: Any) -> Cost:
        """The cost with another time."""
        return replace(self, time_s=time_s)


@dataclass(frozen=True)
class Capacity:
    """Memory of the fullest device, in bytes.

    ``largest_batch`` is 0 when even one request does not fit.
    """

    available_bytes_per_device: int
    weight_bytes_per_device: int
    kv_bytes_per_device: int
    largest_batch: int
    largest_batch_with_output: int


@dataclass(frozen=True)
class Evaluation:
    """Cost of decoding with one system. Times are means over the output tokens.

    Attributes
    ----------
    context, output_tokens : :class:`int`
        The first of ``output_tokens`` steps attends to ``context`` tokens, the next to one more, and so on.
    tpot_ms : :class:`float`
        Time per output token of a request.
    throughput_tok_s : :class:`float`
        Tokens of all requests per second.
    breakdown_ms : dict
        ``tpot_ms`` by operator; the values add up to it.
    energy_mj_per_token : :class:`float`
        Millijoules per token of all modelled components.
    energy_breakdown_mj : dict
        The same by component. A component that is not modelled has a text that says so instead of a number.
    records : list of :class:`str`
        Names of the records that the result rests on: measurements of units, and kernel records of GPUs.
    utilisation_percent : :class:`float` or None
        For systems of AiM modules alone: operations of decoding over the modules' peak, output matrix not counted.
    gpu_rule : :class:`str` or None
        Rule by which GPUs take their times, in systems with GPUs.
    more : dict
        Further keys of the kind of system; they stand beside the others in JSON.
    """

    system: str
    model: str
    context: int
    batch: int
    output_tokens: int
    tpot_ms: float
    throughput_tok_s: float
    energy_mj_per_token: float
    breakdown_ms: dict[str, float]
    energy_breakdown_mj: dict[str, float | str]
    capacity: Capacity
    parallelism: dict[str, int]
    area: DieArea | None
    unit: dict[str, Any] | None
    attention: dict[str, Any] | None
    records: list[str]
    tools: dict[str, dict[str, str]]
    notes: list[str]
    assumptions: list[str]
    utilisation_percent: float | None = None
    gpu_rule: str | None = None
    more: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        document = asdict(self)
        return _plain(document | document.pop("more"))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    return value
