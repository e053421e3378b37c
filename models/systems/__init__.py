"""Whole systems that serve a language model: time per token, throughput, energy, capacity, area.

A new system is one YAML file in ``constraints/systems`` and, if its ``kind`` is new, one class here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from ...constraints.errors import ConfigError, nearest
from ...constraints.systems import FILES
from ..llm import ModelShape
from .baselines import AttAccSystem, OffloadSystem
from .gpu import GpuSystem, read_spec
from .lol_pim import LolPimHybridSystem, LolPimSystem
from .pam import TieredPimSystem
from .pam_hbm import PamHbmSystem
from .results import NOT_MODELLED, Capacity, Cost, Evaluation, MissingRecord, RecordSource

__all__ = ["KINDS", "NOT_MODELLED", "Capacity", "Cost", "Evaluation", "MissingRecord", "RecordSource", "evaluate",
           "load_system", "sweep", "system_names"]

#: Class of each kind of system.
KINDS: dict[str, Any] = {cls.kind: cls for cls in (GpuSystem, PamHbmSystem, TieredPimSystem, OffloadSystem, AttAccSystem,
                                                   LolPimSystem, LolPimHybridSystem)}

#: Groups of a GPU system; an override of one of these reaches the base of a system that has a base.
_BASE_GROUPS = ("gpu", "parallelism", "link", "nodes", "network")


def system_names() -> list[str]:
    """Names of the built-in systems."""
    return list(FILES)


def load_system(name_or_path: str | os.PathLike[str], overrides: Mapping[str, Any] | None = None) -> GpuSystem:
    """A built-in system, or one from a YAML file, with ``overrides`` such as ``{"parallelism.tensor": 8}`` applied.

    ``base.KEY`` reaches the GPU system that another one is built on, as do ``gpu.``, ``parallelism.`` and ``link.``.

    Raises
    ------
    :exc:`ConfigError`
        If there is no such system, or its file does not satisfy the schema (with file and line).
    """
    document, lines, where, name = read_spec(name_or_path)
    kind = document.get("kind")
    if kind not in KINDS:
        line = f":{lines['kind',]}" if ("kind",) in lines else ""
        problem = nearest("kind", str(kind), KINDS) if "kind" in document else \
            f"missing key 'kind' (valid: {', '.join(KINDS)})"
        raise ConfigError(f"{where}{line}: {problem}")
    own: dict[str, Any] = {}
    base: dict[str, Any] = {}
    for key, value in (overrides or {}).items():
        if "base" in document and key.startswith("base."):
            base[key.removeprefix("base.")] = value
        elif "base" in document and key.split(".")[0] in _BASE_GROUPS:
            base[key] = value
        else:
            own[key] = value
    if own:
        document, lines, where, name = read_spec(name_or_path, own)
    return KINDS[kind].from_document(document, lines, where, name, base_overrides=base)


def evaluate(system: str | os.PathLike[str], model: ModelShape, *, context: int, batch: int, output_tokens: int = 1,
             records: RecordSource, refresh: bool = False, overrides: Mapping[str, Any] | None = None) -> Evaluation:
    """Cost of decoding ``output_tokens`` tokens for each of ``batch`` requests that begin at ``context`` tokens.

    Every one of the growing contexts is evaluated; times and energies are means over them.

    Parameters
    ----------
    system
        Name of a built-in system or path of its YAML file.
    context : :class:`int`
        Tokens attended to in the first step, the token being processed included.
    records
        Where measurements of units are looked up; systems without units need none.
    refresh : :class:`bool`
        Whether the timing of near-bank work includes DRAM refresh.
    overrides
        Values of the system file to replace, by dotted key.

    Raises
    ------
    :exc:`ConfigError`
        If the system or its file is wrong, the model can't be split as it says, or batch and context do not fit; the
        message then says what is needed, what is there and the largest batch that fits.
    :exc:`MissingRecord`
        If a measurement is missing, with the command that makes it.
    """
    return load_system(system, overrides).evaluate(model, context=context, batch=batch, output_tokens=output_tokens,
                                                   records=records, refresh=refresh)


def sweep(system: str | os.PathLike[str], model: ModelShape, *, context: int, batches: Iterable[int],
          output_tokens: int = 1, records: RecordSource, refresh: bool = False,
          overrides: Mapping[str, Any] | None = None) -> list[Evaluation]:
    """:func:`evaluate` for each batch, up to the largest that fits; those beyond it are left out.

    Raises
    ------
    :exc:`ConfigError`
        As :func:`evaluate`; also if not one of the batches fits.
    """
    loaded = load_system(system, overrides)
    batches = sorted(set(batches))
    if not batches:
        raise ConfigError("a sweep needs at least one batch")
    most = loaded.capacity(model, context, 1, output_tokens).largest_batch_with_output
    fitting = [batch for batch in batches if batch <= most] or batches[:1]
    return [loaded.evaluate(model, context=context, batch=batch, output_tokens=output_tokens, records=records,
                            refresh=refresh) for batch in fitting]
