"""The base of every system: room for keys and values, splits of a model, cost of a step by component, and assumptions.

A kind of system is a subclass of :class:`System` that an entry point of the group ``bankside.systems`` names. Its name
is the ``kind`` in the system's YAML file. :meth:`System.bind` looks up the measurements for a model; the :class:`Bound`
that it returns has the steps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, Protocol, Self, TypeVar, runtime_checkable

import numpy as np

from ...constraints.core.document import Strict
from ...constraints.core.errors import ConfigError
from ...constraints.core.records import Measurement, Record
from ...constraints.core.result import Part
from ..cost import DieArea
from ..llm import ModelShape, layer_operators
from ..llm.roles import ENERGY_ROLES, ROLES, EnergyRole, Role
from .description import Description
from .results import NOT_MODELLED, Capacity, Evaluation, MissingRecord, NoRecords, RecordSource
from .room import BLOCK_TOKENS, GIB, Load, Room, largest, largest_batch
from .timeline import MAX_SPANS, Span, StepTimeline

if TYPE_CHECKING:
    from ..sparse.recorded import StepSelection

__all__ = ["Assumption", "Bound", "Details", "Option", "Served", "ServedSystem", "StepCost", "System"]

#: Output tokens are evaluated one by one, as one array.
MAX_OUTPUT_TOKENS = 1 << 20

#: Bound systems that a system keeps, the latest ones.
MAX_BOUND = 8


@dataclass(frozen=True)
class Option:
    """An option of the command line that sets a key of the file of a kind of system.

    Attributes
    ----------
    flag, key, metavar, help : :class:`str`
        The option, the dotted key, the name of its value in the help, and its meaning.
    type : :class:`type`
        Type of the value, a text by default.
    least : :class:`int` or None
        Least value of a whole number.
    before_context : :class:`bool`
        Whether the value is a number of tokens before the first step, which attends to one more. The option stands in
        place of ``--context``.
    """

    flag: str
    key: str
    metavar: str
    help: str
    type: type = str
    least: int | None = None
    before_context: bool = False

    @property
    def name(self) -> str:
        """The option without dashes."""
        return self.flag[2:].replace("-", "_")

    def needs(self) -> dict[str, Any]:
        """What the command line needs."""
        kind = {"type": self.type} if self.least is None else {"least": self.least}
        return {"metavar": self.metavar, "help": self.help, **kind}


@dataclass(frozen=True)
class Assumption:
    """An assumption behind a system's figures.

    Attributes
    ----------
    meaning : :class:`str`
        A sentence for a reader.
    value
        The assumed value, as data: a number, a name, or whether something is modelled.
    source : :class:`str`
        Source of the value; empty for a simplification of this model itself.
    """

    meaning: str
    value: Any = True
    source: str = ""


@dataclass(frozen=True)
class StepCost:
    """A decode step of all requests of a batch, at each of several contexts.

    Attributes
    ----------
    seconds : mapping of component to array
        One value per context. The components of a context add up to the time of the step.
    energy_pj : mapping of component to array
        Energy of all requests and devices, one value per context.
    micro_batch : :class:`int`
        Requests that pass a stage of the pipeline together.
    """

    seconds: Mapping[str, np.ndarray]
    energy_pj: Mapping[str, np.ndarray]
    micro_batch: int

    @property
    def total_s(self) -> np.ndarray:
        """Time of the step, one value per context."""
        return np.asarray(sum(self.seconds.values()), float)


@dataclass(frozen=True)
class Details:
    """Results of a kind of system beyond costs: area of its units, the unit, its attention, notes, further keys."""

    area: DieArea | None = None
    unit: dict[str, Any] | None = None
    attention: dict[str, Any] | None = None
    notes: list[str] = field(default_factory=list)
    more: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class ServedSystem(Protocol):
    """The interface that the serving engine needs. It covers one instance of a system with all its devices, pipeline
    and tensor parallelism included.

    The engine also uses these attributes and methods if a system has them:

    ``kv_window`` : int or None
        Tokens of a request that are kept at most.
    ``interpolated`` : float
        Largest relative difference of a step from the one that ``eval`` times, where steps lie between evaluated ones. 0
        without: every step is evaluated.
    ``kv_tiers`` : mapping of name to tokens
        Memories of the KV cache, fastest first, for messages about a request that does not fit.
    ``decode_run(contexts, steps)``
        Seconds of each of ``steps`` decode steps, as an array; contexts grow by one with each. The values must equal
        ``decode_seconds`` of each step.
    ``prefill_between_seconds(tokens, past)``
        Seconds by which a prefill delays running requests, if that is less than the time of a prefill alone.
    ``mixed_seconds(contexts, tokens, past)``
        Seconds of an iteration that decodes and prefills. Without this method the engine adds the two times.
    ``decode_energy_pj(contexts, steps)``, ``prefill_energy_pj(tokens, past)``
        Energy by component, in pJ: of ``steps`` decode steps together, and of a prefill.
    ``on_admit(request, tokens)``, ``on_finish(request)``, ``on_preempt(request)``
        The engine calls ``on_admit`` before the iteration that first works on a request, which prefills ``tokens``
        tokens. It calls ``on_finish`` when the request has ended, and ``on_preempt`` when its KV cache is dropped. The
        requests of ``contexts`` are in the order in which their prefills ended.
    """

    name: str
    kv_capacity_tokens: int
    kv_block_tokens: int

    def prefill_seconds(self, tokens: np.ndarray, past: np.ndarray) -> float:
        """Seconds to prefill ``tokens[i]`` tokens of each of some requests, after the ``past[i]`` tokens that precede
        them."""

    def decode_seconds(self, contexts: np.ndarray) -> float:
        """Seconds of a decode step; a request attends to ``contexts[i]`` tokens, the new one included."""


class Served:
    """What every instance for the serving engine has.

    Attributes
    ----------
    name, kv_window, kv_tiers, kv_block_tokens, kv_capacity_tokens
        See :class:`ServedSystem`.
    parallelism : mapping of ``tensor`` and ``pipeline`` to devices and stages
    """

    #: See :class:`ServedSystem`.
    interpolated: float = 0.0

    def __init__(self, system: System, model: ModelShape) -> None:
        self.system, self.model, self.name = system, model, system.name
        self.kv_window, self.kv_tiers = model.sliding_window, system.kv_tiers_tokens(model)
        self.kv_block_tokens, self.kv_capacity_tokens = system.kv_block_tokens(model), system.kv_capacity_tokens(model)
        self.parallelism = {"tensor": system.tp, "pipeline": system.count(model)}


class _Noting:
    """A source that keeps what was found in another."""

    def __init__(self, records: RecordSource) -> None:
        self.records = records
        self.found: dict[Measurement, Record | None] = {}

    def find(self, measurement: Measurement) -> Record | None:
        self.found[measurement] = record = self.records.find(measurement)
        return record


class System(ABC):
    """A system that decodes with a language model split over its devices.

    Attributes
    ----------
    kind : :class:`str`
        Name of the class in system files.
    schema : :class:`type`
        Schema of such a file. The field ``base``, if the schema has one, names the GPUs that the system is built on.
    files : mapping of name to path
        System files that come with the class.
    not_modelled : tuple of :class:`str`
        Components of energy that exist but have no figure in this model.
    longest : :class:`int`
        Largest context, in tokens.
    reads_runs : :class:`bool`
        Whether a step can read the runs of a selection.
    selected : :class:`StepSelection` or None
        What attention reads at contexts of as many tokens as the selection has slots; None: all tokens.
    roles : mapping of part of a step to :class:`Role`
        Roles of the parts of :meth:`decode_step`; results are classified by them. A part without a role is in the layers.
    energy_roles : mapping of component to :class:`EnergyRole`
        Roles of components of energy.
    options : tuple of :class:`Option`
        Options of ``bankside eval`` for keys of the kind's file.
    result : :class:`type` of a :class:`Part`, or None
        The kind's own keys in the result of ``eval``, with the keys of :attr:`Details.more`. ``attention`` and ``unit`` of
        this class replace the keys that all systems have. A method ``text_lines`` gives their lines for people.
    default_model : :class:`str` or None
        Model of the published system, which ``bankside eval`` takes if the user names none.
    part_gb : :class:`int` or None
        GB of a part of which a larger system has more; None for a kind of one size.
    tells_longest : :class:`bool`
        Whether a message about a request that does not fit tells the longest context that does.
    tp, pp : :class:`int`
        Devices that share every layer, and stages of layers in series.

    Parameters
    ----------
    description
        The system's files.

    Raises
    ------
    :exc:`ConfigError`
        If the files contradict each other or ask for something that does not exist.
    """

    kind: ClassVar[str]
    schema: ClassVar[type[Strict]]
    files: ClassVar[Mapping[str, Path]] = {}
    not_modelled: ClassVar[tuple[str, ...]] = ("dram_refresh_and_standby", "host")
    longest: ClassVar[int] = 1 << 30
    reads_runs: ClassVar[bool] = False
    selected: StepSelection | None = None
    roles: ClassVar[Mapping[str, Role]] = ROLES
    energy_roles: ClassVar[Mapping[str, EnergyRole]] = ENERGY_ROLES
    options: ClassVar[tuple[Option, ...]] = ()
    result: ClassVar[type[Part] | None] = None
    default_model: ClassVar[str | None] = None
    tells_longest: ClassVar[bool] = False
    part_gb: int | None = None
    tp: int
    pp: int

    def __init__(self, description: Description[Any]) -> None:
        self.description = description
        self.name = description.name
        self._bound: dict[Any, tuple[Bound[Any], Mapping[Measurement, Record | None]]] = {}

    # Splits --------------------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def devices(self) -> int:
        """Devices over which a model is split."""

    def with_split(self, tensor: int, pipeline: int) -> Self:
        """The same system with another split, without measurements.

        Raises
        ------
        :exc:`ConfigError`
            If the split does not fit the system's devices.
        """
        return self.changed({"parallelism.tensor": tensor, "parallelism.pipeline": pipeline})

    def requested(self, tensor: int, pipeline: int) -> Self:
        """The same system with the split ``--split TPxPP``.

        Raises
        ------
        :exc:`ConfigError`
            If the split does not fit the system's devices.
        """
        if tensor * pipeline != self.devices:
            raise ConfigError(
                f"--split {tensor}x{pipeline}: tensor times pipeline must be the {self.devices} devices of {self.name}"
            )
        return self.with_split(tensor, pipeline)

    def default_batch(self, model: ModelShape) -> int:
        """Requests that ``bankside eval`` takes if the user says nothing."""
        return 16

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """The same system with other values of its files, by dotted key, without measurements.

        Raises
        ------
        :exc:`ConfigError`
            If a value is not allowed.
        """
        return type(self)(self.description.changed(changes))

    def splits(self, model: ModelShape) -> list[Self]:
        """This system with each split that divides the model, in ascending order of tensor parallelism."""
        total, out = self.devices, []
        for tensor in range(1, total + 1):
            if total % tensor or total // tensor > model.layers:
                continue
            try:
                split = self.with_split(tensor, total // tensor)
                split.check_tensor(model)
            except ConfigError:
                continue
            out.append(split)
        return out

    def sized(self, gigabytes: int) -> Self:
        """This system scaled to ``gigabytes`` GB of memory, for comparisons of systems with equal memory.

        Raises
        ------
        :exc:`ConfigError`
            If the system's parts do not add up to that size.
        """
        count, rest = divmod(gigabytes, self.part_gb or gigabytes + 1)
        if rest or not count:
            raise ConfigError(f"{self.name} can't have {gigabytes} GB")
        return self.changed({**self.several(count), "parallelism.pipeline": 1})

    def several(self, count: int) -> dict[str, int]:
        """Changes that make a system of so many parts, tensor parallelism included."""
        return {}

    def stages(self, model: ModelShape) -> list[int]:
        """Layers of each pipeline stage; the first stages take the remainder."""
        count = self.count(model)
        if count > model.layers:
            raise ConfigError(f"pipeline parallelism of {count} exceeds the model's {model.layers} layers")
        whole, rest = divmod(model.layers, count)
        return [whole + (stage < rest) for stage in range(count)]

    def count(self, model: ModelShape) -> int:
        """Stages of the pipeline."""
        return self.pp

    def check(self, model: ModelShape) -> None:
        """Raise :exc:`ConfigError` unless the model can be split as the system's files say."""
        self.check_tensor(model)
        self.stages(model)

    def check_numbers(self, model: ModelShape, size: int, takes: str = "the units take numbers of 2 bytes") -> None:
        """Raise :exc:`ConfigError` unless the model's numbers have ``size`` bytes."""
        if model.dtype_bytes != size:
            raise ConfigError(f"{self.name}: {takes}, {model.name} has {model.dtype} ({model.dtype_bytes} bytes)")

    def check_tensor(self, model: ModelShape) -> None:
        """Raise :exc:`ConfigError` unless tensor parallelism divides the model."""
        layer_operators(model, 1, 1, self.tp)

    # Measurements --------------------------------------------------------------------------------------------------------

    def bind(self, model: ModelShape, records: RecordSource, *, refresh: bool = False) -> Bound[Self]:
        """This system with ``model`` and its measurements from ``records``. It never changes; a system that is bound
        again to the same measurements gives the same object.

        Parameters
        ----------
        refresh : :class:`bool`
            Whether the timing of near-bank work includes DRAM refresh.

        Raises
        ------
        :exc:`MissingRecord`
            If a measurement has not been made.
        :exc:`ConfigError`
            If the model can't be split as the system says, or the units do not take its number format.
        """
        self.check(model)
        key = (model, refresh, self.selected)
        known, found = self._bound.get(key, (None, {}))
        if known is not None and all(records.find(need) == record for need, record in found.items()):
            return known
        own, source = self.unbound(), _Noting(records)
        own.prepare(model, source, refresh)
        vars(own)["prepare"] = _refuse
        if len(self._bound) >= MAX_BOUND:
            self._bound.pop(next(iter(self._bound)))
        bound = Bound(own, model, refresh)
        self._bound[key] = bound, source.found
        return bound

    def unbound(self) -> Self:
        """A copy without measurements."""
        own = type(self)(self.description)
        own.selected = self.selected
        return own

    def prepare(self, model: ModelShape, records: RecordSource, refresh: bool) -> None:  # noqa: B027 - most need nothing
        """Take the measurements on which figures for ``model`` rest. A kind of system with units defines it;
        :meth:`bind` calls it. ``refresh``: whether the timing of near-bank work includes DRAM refresh.

        Raises
        ------
        :exc:`MissingRecord`
            If a measurement has not been made.
        :exc:`ConfigError`
            If the units do not take the model's number format.
        """

    def needs(self, model: ModelShape) -> tuple[Any, ...]:
        """Measurements without which figures for ``model`` are missing, as in :attr:`MissingRecord.needs`."""
        try:
            self.unbound().prepare(model, NoRecords(), False)
        except MissingRecord as missing:
            return missing.needs
        return ()

    @property
    def records(self) -> list[Record]:
        """Measurements on which figures rest, of a system that is bound."""
        return []

    @property
    def sources(self) -> dict[str, dict[str, str]]:
        """Names of the records on which figures rest, with the tools that made each."""
        return {record.name: dict(record.tools) for record in self.records}

    # Room ----------------------------------------------------------------------------------------------------------------

    @abstractmethod
    def rooms(self, model: ModelShape) -> list[Room]:
        """Memory of the fullest device of each stage."""

    def capacity(self, model: ModelShape, context: int, batch: int, output_tokens: int) -> Capacity:
        """Memory that the fullest device needs, and the largest batches that fit at ``context`` and at the last
        token."""
        rooms, last = self.rooms(model), context + output_tokens - 1
        full = max(rooms, key=lambda room: room.weights + room.kv(batch, last))
        most = (largest_batch(rooms, tokens) for tokens in (context, last))
        return Capacity(full.available, full.weights, full.kv(batch, last), *most)

    def fits(self, model: ModelShape, batch: int, tokens: int) -> bool:
        """Whether the weights and ``batch`` requests of ``tokens`` tokens fit."""
        return all(room.holds(batch, tokens) for room in self.rooms(model))

    def check_fits(self, model: ModelShape, context: int, batch: int, output_tokens: int = 1) -> Capacity:
        """The capacity, if the weights and a batch fit. Otherwise a :exc:`ConfigError` says how much is missing."""
        load = Load(context, batch, output_tokens)
        if not self.fits(model, batch, load.last):
            raise ConfigError(self.too_large(model, load))
        return self.capacity(model, context, batch, output_tokens)

    def check_weights(self, model: ModelShape) -> None:
        """Raise :exc:`ConfigError` unless the weights and a request fit."""
        self.check_fits(model, 1, 1)

    def too_large(self, model: ModelShape, load: Load) -> str:
        """Message about a batch that does not fit."""
        capacity, start = (
            self.capacity(model, load.context, load.batch, load.output_tokens),
            f"{model.name} on {self.name}",
        )
        if capacity.weight_bytes_per_device > capacity.available_bytes_per_device:
            return f"{start}: {self.lacks_weights(model, load, capacity)}"
        most, text = capacity.largest_batch_with_output, f"{start}: {self.lacks(model, load, capacity)}"
        if most:
            return f"{text}; the largest batch that fits is {most}"
        longest = f", the longest context that does has {largest(lambda n: self.fits(model, 1, n))} tokens"
        return f"{text}; not even one request fits{longest if self.tells_longest else ''}"

    def lacks(self, model: ModelShape, load: Load, capacity: Capacity) -> str:
        """The memory that a batch needs, and the memory of the device."""
        available = capacity.available_bytes_per_device
        need = capacity.weight_bytes_per_device + capacity.kv_bytes_per_device
        return (
            f"{load} needs {need} bytes ({need / GIB:.1f} GiB) on the fullest device, {available} "
            f"({available / GIB:.1f} GiB) are available"
        )

    def lacks_weights(self, model: ModelShape, load: Load, capacity: Capacity) -> str:
        """The same where the weights alone do not fit."""
        return f"{self.lacks(model, load, capacity)}; the weights alone need {capacity.weight_bytes_per_device}"

    def kv_block_tokens(self, model: ModelShape) -> int:
        """Tokens of a request's keys and values that are allotted together."""
        return BLOCK_TOKENS

    def kv_capacity_tokens(self, model: ModelShape) -> int:
        """Tokens of all requests together that fit beside the weights, in whole blocks."""
        block = self.kv_block_tokens(model)
        return block * largest_batch(self.rooms(model), block)

    def kv_tiers_tokens(self, model: ModelShape) -> dict[str, int]:
        """Tokens that each memory for keys and values holds, if there are several."""
        return {}

    # Steps ---------------------------------------------------------------------------------------------------------------

    @abstractmethod
    def decode_step(self, model: ModelShape, batch: int, contexts: np.ndarray) -> StepCost:
        """Cost of a decode step of ``batch`` requests that attend to ``contexts[i]`` tokens each, for every ``i``.
        Contexts are ascending whole numbers. :meth:`Bound.step` calls it."""

    @abstractmethod
    def serving(self, model: ModelShape) -> ServedSystem:
        """An instance for the serving engine. :meth:`Bound.serve` calls it."""

    def served(self, model: ModelShape, records: RecordSource, refresh: bool = False) -> ServedSystem:
        """An instance for the serving engine, whose requests have contexts of their own.

        Raises
        ------
        :exc:`ConfigError`
            If the model can't be split as the system says, or the weights do not fit.
        :exc:`MissingRecord`
            If a measurement is missing.
        """
        # First what needs no measurement
        self.check(model)
        self.check_weights(model)
        return self.bind(model, records, refresh=refresh).serve()

    # Results -------------------------------------------------------------------------------------------------------------

    @abstractmethod
    def assumptions(self) -> dict[str, Assumption]:
        """Assumptions behind the figures, by key. A kind of system that works differently replaces the entry of that
        key."""

    def details(self, model: ModelShape, batch: int, context: int, cost: StepCost) -> Details:
        """Results beyond the ``cost`` of decoding ``batch`` requests from ``context`` tokens on."""
        return Details()

    def timeline(self, model: ModelShape, *, context: int, batch: int) -> StepTimeline:
        """Spans of one decode step. :meth:`Bound.timeline` calls it.

        The parts of :meth:`decode_step` follow each other, in their order. A part of the layers has the same time in each.
        """
        cost = self.decode_step(model, batch, np.array([context], np.int64))
        seconds = {name: float(np.ravel(value)[0]) for name, value in cost.seconds.items()}
        by_role = {role: {n: s for n, s in seconds.items() if self.roles.get(n) is role} for role in Role}
        before = {name: s for role, parts in by_role.items() if role.before_layers for name, s in parts.items()}
        behind = {name: s for role, parts in by_role.items() if role.behind_layers for name, s in parts.items()}
        own = {name: s / model.layers for name, s in seconds.items() if name not in before and name not in behind}
        layer = self.layer_spans(model, context, batch, own)
        return self.layers_timeline(model, context, batch, layer, sum(own.values()), in_turn(before), in_turn(behind))

    def layers_timeline(
        self,
        model: ModelShape,
        context: int,
        batch: int,
        layer: Sequence[Span],
        layer_s: float,
        before: Sequence[Span] = (),
        behind: Sequence[Span] = (),
    ) -> StepTimeline:
        """A timeline of equal layers. Spans of a layer begin with it and last ``layer_s`` seconds together. Those behind all
        layers begin with their end."""
        begun = before[-1].end_s if before else 0.0
        shown = max(min(model.layers, MAX_SPANS // max(len(layer), 1)), 1)
        every = [
            *before,
            *(span.later(begun + number * layer_s, layer=number) for number in range(shown) for span in layer),
            *(span.later(begun + model.layers * layer_s) for span in behind),
        ]
        title = f"{self.name}, {model.name}: a decode step of {batch} requests with {context} tokens"
        return StepTimeline(title, every, shown, model.layers)

    def layer_spans(self, model: ModelShape, context: int, batch: int, seconds: Mapping[str, float]) -> list[Span]:
        """Spans of a layer from its beginning on. ``seconds``: of its parts. A kind of system may add spans within them."""
        return in_turn(seconds)

    def utilisation_percent(self, model: ModelShape, tokens_per_s: float, context: float) -> float | None:
        """Operations of decoding over the peak of the devices, for kinds of system that have this figure."""
        return None

    @property
    def gpu_rule(self) -> str | None:
        """Rule by which GPUs take their times; None for a system without GPUs."""
        return None

    def evaluate(
        self,
        model: ModelShape,
        *,
        context: int,
        batch: int,
        output_tokens: int = 1,
        records: RecordSource,
        refresh: bool = False,
    ) -> Evaluation:
        """See :func:`bankside.models.systems.evaluate`."""
        # Before anything is looked up: a model that can't be split or does not fit needs no measurement.
        capacity = self._room(model, context, batch, output_tokens)
        return self.bind(model, records, refresh=refresh)._evaluated(context, batch, output_tokens, capacity)

    def _room(self, model: ModelShape, context: int, batch: int, output_tokens: int) -> Capacity:
        """The capacity, if the load is one and fits."""
        for what, value, most in (
            ("context", context, self.longest),
            ("batch", batch, 1 << 24),
            ("output tokens", output_tokens, MAX_OUTPUT_TOKENS),
        ):
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 1 <= value <= most:
                raise ConfigError(f"{what} must be a whole number in 1..{most}, not {value!r}")
        self.check(model)
        return self.check_fits(model, context, batch, output_tokens)


Kind = TypeVar("Kind", bound=System)


@dataclass(frozen=True, eq=False)
class Bound(Generic[Kind]):
    """A system with a language model and all measurements on which its figures rest. :meth:`System.bind` makes it.

    Attributes
    ----------
    system : :class:`System`
        A copy that nothing else has; it takes no other measurements.
    model : :class:`ModelShape`
    refresh : :class:`bool`
        Whether the timing of near-bank work includes DRAM refresh.
    """

    system: Kind
    model: ModelShape
    refresh: bool = False

    @property
    def records(self) -> list[Record]:
        """Measurements on which figures rest."""
        return self.system.records

    @property
    def sources(self) -> dict[str, dict[str, str]]:
        """Names of the records on which figures rest, with the tools that made each."""
        return self.system.sources

    def capacity(self, context: int, batch: int, output_tokens: int = 1) -> Capacity:
        """See :meth:`System.capacity`."""
        return self.system.capacity(self.model, context, batch, output_tokens)

    def step(self, batch: int, contexts: np.ndarray) -> StepCost:
        """Cost of a decode step of ``batch`` requests that attend to ``contexts[i]`` tokens each, for every ``i``.
        Contexts are ascending whole numbers."""
        return self.system.decode_step(self.model, batch, np.asarray(contexts))

    def serve(self) -> ServedSystem:
        """An instance for the serving engine, whose requests have contexts of their own.

        Raises
        ------
        :exc:`ConfigError`
            If the weights do not fit.
        """
        self.system.check_weights(self.model)
        return self.system.serving(self.model)

    def timeline(self, *, context: int, batch: int) -> StepTimeline:
        """Spans of one decode step."""
        return self.system.timeline(self.model, context=context, batch=batch)

    def details(self, batch: int, context: int, cost: StepCost) -> Details:
        """Results beyond the ``cost`` of decoding ``batch`` requests from ``context`` tokens on."""
        return self.system.details(self.model, batch, context, cost)

    def evaluate(self, *, context: int, batch: int, output_tokens: int = 1) -> Evaluation:
        """Cost of decoding ``output_tokens`` tokens for each of ``batch`` requests that begin at ``context`` tokens.

        Raises
        ------
        :exc:`ConfigError`
            If a number is out of range, or the batch does not fit.
        """
        capacity = self.system._room(self.model, context, batch, output_tokens)
        return self._evaluated(context, batch, output_tokens, capacity)

    def _evaluated(self, context: int, batch: int, output_tokens: int, capacity: Capacity) -> Evaluation:
        system, model = self.system, self.model
        last = context + output_tokens - 1
        contexts = np.arange(context, last + 1, dtype=np.int64)
        cost = self.step(batch, contexts)
        tpot_s = float(cost.total_s.mean())
        energy: dict[str, float | str] = {name: float(pj.mean()) * 1e-9 / batch for name, pj in cost.energy_pj.items()}
        total = sum(float(value) for value in energy.values())
        details = self.details(batch, context, cost)
        notes = list(details.notes)
        if last > model.max_context:
            notes.insert(0, f"context {last} exceeds the {model.max_context} positions that {model.name} was made for")
        if model.sliding_window is not None and context > model.sliding_window:
            notes.insert(0, f"attention reads the last {model.sliding_window} tokens only (sliding window)")
        return Evaluation(
            system=system.name,
            model=model.name,
            context=context,
            batch=batch,
            output_tokens=output_tokens,
            tpot_ms=tpot_s * 1e3,
            throughput_tok_s=batch / tpot_s,
            energy_mj_per_token=total,
            breakdown_ms={name: float(seconds.mean()) * 1e3 for name, seconds in cost.seconds.items()},
            energy_breakdown_mj=energy | dict.fromkeys(system.not_modelled, NOT_MODELLED),
            capacity=capacity,
            parallelism={"tensor": system.tp, "pipeline": len(system.stages(model)), "micro_batch": cost.micro_batch},
            area=details.area,
            unit=details.unit,
            attention=details.attention,
            records=list(self.sources),
            tools=self.sources,
            notes=notes,
            assumptions=[one.meaning for one in system.assumptions().values()],
            utilisation_percent=system.utilisation_percent(model, batch / tpot_s, float(contexts.mean())),
            gpu_rule=system.gpu_rule,
            more=dict(details.more),
        )


def _refuse(*_: Any) -> NoReturn:
    """Stands in place of :meth:`System.prepare` in a system that is bound."""
    raise ConfigError("a bound system keeps its measurements: bind the system that it was made from")


def in_turn(seconds: Mapping[str, float]) -> list[Span]:
    """Spans of parts that follow each other, each on a track of its own. Parts without time have none."""
    out, now = [], 0.0
    for name, value in seconds.items():
        if value > 0:
            out.append(Span(name.replace("_", " "), name.replace("_", " "), now, value))
            now += value
    return out
