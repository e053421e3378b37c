"""What a system's file says of activations and scheduling: the source of active tokens, and the scheduler's target."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ....constraints.core.document import load
from ....constraints.core.errors import ConfigError, nearest
from ....constraints.core.workspace import kept
from ....constraints.systems import LOCALITIES, RATIOS, LocalityTable, RatioTable, Scheduling, Sparsity
from ...pam.sparsity import DenseSource, Locality, ReplaySource, SparsitySource, SyntheticSource

__all__ = ["ratios", "source"]


def source(system: str, chosen: Sparsity, place: Callable[[str], Path]) -> SparsitySource:
    """A fresh source of activations. ``place`` gives the path of a file that stands beside the system's.

    Raises
    ------
    :exc:`ConfigError`
        If a part is missing, or there is no such file.
    """
    if chosen.mode == "dense":
        return DenseSource()
    if chosen.mode == "replay":
        if chosen.trace is None:
            raise ConfigError(f"{system}: sparsity.mode 'replay' needs sparsity.trace, a file of attention traces")
        return ReplaySource(_found(chosen.trace, place), chosen.stretch)
    if chosen.mode == "method":
        return _method(system, chosen, place)
    spread, keep = chosen.spread, chosen.keep
    if chosen.locality is not None:
        known = load(LOCALITIES, LocalityTable, "a table of localities").localities
        if chosen.locality not in known:
            raise ConfigError(f"{system}: sparsity.locality: {nearest('locality', chosen.locality, known)}")
        spread, keep = known[chosen.locality].spread, known[chosen.locality].keep
    return SyntheticSource(Locality(chosen.compression, spread, keep, chosen.sink, chosen.recent))


def _found(name: str, place: Callable[[str], Path]) -> Path:
    path = Path(name)
    return path if path.exists() else place(name)


def _method(system: str, chosen: Sparsity, place: Callable[[str], Path]) -> SparsitySource:
    """Activations of a method on the keys of a capture."""
    from ...llm.captured import read_capture
    from ...pam.chosen import Chosen
    from ...sparse import make_method
    from ...sparse.source import Captured

    if chosen.method is None:
        raise ConfigError(f"{system}: sparsity.mode 'method' needs sparsity.method, a method of sparse attention")
    if chosen.capture is None:
        raise ConfigError(f"{system}: sparsity.mode 'method' needs sparsity.capture, a folder of bankside capture")
    folder = _found(chosen.capture, place)
    return Chosen(
        make_method(chosen.method, chosen.budget),
        [Captured(folder, number) for number in range(read_capture(folder).shape.layers)],
    )


@kept
def _table() -> RatioTable:
    return load(RATIOS, RatioTable, "a table of ratios")


def ratios(system: str, chosen: Scheduling, model: str) -> tuple[float, float]:
    """Target of the scheduler, ``x`` and ``y``: the values of the system's file, else the calibrated values of the
    model.

    Raises
    ------
    :exc:`ConfigError`
        If only one is given, or nobody calibrated.
    """
    if chosen.x is not None and chosen.y is not None:
        return chosen.x, chosen.y
    if chosen.x is not None or chosen.y is not None:
        raise ConfigError(f"{system}: scheduling.x and scheduling.y must be given together")
    known = _table().models
    found = known.get(model) or known.get("default")
    if found is None:
        raise ConfigError(
            f"{RATIOS.name} has no ratios for {model} and no default; run `bankside calibrate pam --model {model}`"
        )
    return found.x, found.y
