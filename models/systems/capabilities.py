"""Capabilities that some kinds of system have beyond the steps of all. A kind has one if it has its methods."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from ..llm import ModelShape
from .results import RecordSource

if TYPE_CHECKING:
    from ...constraints.lolpim.dispatcher import DpaDispatcherConfig
    from ..lolpim.compiler import Compiled
    from ..pam.sparsity import Locality
    from .gpu_reference import Run

__all__ = [
    "Calibrates",
    "Calibration",
    "ComparesRuns",
    "Compiles",
    "Executed",
    "Executes",
    "FitsActivations",
    "PlacesTokens",
]


@dataclass(frozen=True)
class Calibration:
    """Result of a calibration.

    Attributes
    ----------
    x, y : :class:`float`
    tier_us : mapping
        Time of a layer's attention by tier at these ratios, in microseconds.
    rounds : :class:`int`
        Number of the round whose ratios these are, counted from 1.
    equal : :class:`bool`
        Whether the slowest tier takes at most a tenth longer than the fastest.
    sorted : :class:`bool`
        Whether the tokens are sorted by importance at these ratios, so that no higher ratios make a tier faster.
    conditions : :class:`str`
    """

    x: float
    y: float
    tier_us: dict[str, float]
    rounds: int
    equal: bool
    conditions: str
    sorted: bool = False


@runtime_checkable
class Calibrates(Protocol):
    """Moves tokens between tiers, by ratios of importance that can be found."""

    def calibrate(
        self,
        model: ModelShape,
        records: RecordSource,
        *,
        context: int = 738,
        rounds: int = 10,
        progress: Callable[[str], None] = lambda text: None,
    ) -> Calibration:
        """The ratios at which the tiers take equal time. See :func:`bankside.models.systems.calibration.calibrate`."""


@runtime_checkable
class FitsActivations(Protocol):
    """Reads the tokens that a source of activations chooses."""

    def fit_activations(self, trace: str) -> Locality:
        """Parameters of the synthetic source that reproduces a trace of attention."""


@runtime_checkable
class PlacesTokens(Protocol):
    """Places each token of a batch in a tier; ``pim`` is the system's file."""

    pim: Any

    def bind(self, model: ModelShape, records: RecordSource, *, refresh: bool = False) -> Any:
        """See :meth:`System.bind`."""

    def node(self, model: ModelShape, contexts: np.ndarray, growth: int = 8) -> Any:
        """The state of a batch whose requests have ``contexts`` tokens, with room for ``growth`` steps."""

    def ratios(self, model: ModelShape) -> tuple[float, float]:
        """Target of the scheduler: importance of a token in the first and second tier over one in the last."""


@runtime_checkable
class Compiles(Protocol):
    """Has modules that execute programs."""

    def sharing(self, model: ModelShape) -> int:
        """Modules that share an attention head."""

    def compile(self, model: ModelShape, tokens: int, operator: str | None = None) -> Compiled:
        """Program of a layer for one request of ``tokens`` tokens; ``operator`` names one of its operators."""

    def lazily_allotted(self) -> bool:
        """Whether rows are allotted while a program runs."""

    def dispatching(self) -> DpaDispatcherConfig | None:
        """The dispatcher that takes the words of a program; None if there is none."""


@dataclass(frozen=True)
class Executed:
    """A part of a step, as the system times it and as its RTL executes it.

    Attributes
    ----------
    part : :class:`str`
        What it is, with its size.
    timed, executed : :class:`str`
        The two in the same words: digest and cycles of a program, or clocks of a call. They must be equal.
    beside : :class:`str`
        Time of the RTL that neither has, such as a drain.
    """

    part: str
    timed: str
    executed: str
    beside: str = ""


@runtime_checkable
class Executes(Protocol):
    """Can say which program its units execute for what it times. Measurements are looked up before."""

    def executed(self, model: ModelShape, tokens: int) -> list[Executed]:
        """Each part of a step that units of the system execute, at a context of ``tokens``."""


def digest_of(commands: Iterable[Any]) -> str:
    """Short digest of the commands of a program."""
    return hashlib.sha256(repr(list(commands)).encode()).hexdigest()[:12]


@runtime_checkable
class ComparesRuns(Protocol):
    """Has a time for runs of a serving engine on GPUs alone."""

    def compare_runs(
        self, runs: Sequence[Run], records: RecordSource, progress: Callable[[str], None] = lambda text: None
    ) -> list[dict[str, Any]]:
        """See :func:`bankside.models.systems.gpu_reference.compare_runs`."""
