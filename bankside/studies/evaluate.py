"""Evaluate a system: resolve names, and make missing measurements on request."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from bankside.constraints.core.errors import ConfigError

from ..evidence.records import RecordFolder
from ..hardware.generate import tool_versions
from ..provenance.sources import note_sources
from ..results.systems import Eval, Split, StepTimeline, evaluated

if TYPE_CHECKING:
    from bankside.models.llm import ModelShape
    from bankside.models.systems import Bound, Evaluation, System

__all__ = [
    "LOAD",
    "OPTIONS",
    "REFUSAL",
    "SYSTEM",
    "asked_system",
    "chosen_splits",
    "evaluate",
    "fastest",
    "measuring",
    "system_changes",
]

Result = TypeVar("Result")


#: Options of every study of a system, what the command line needs by flag.
SYSTEM: dict[str, dict[str, Any]] = {
    "--model": {
        "metavar": "NAME|FILE",
        "help": "language model, or a Hugging Face config.json (default of starc: llama-7b)",
    },
    "--refresh": {"switch": True, "help": "memory timing with refresh"},
    "--split": {
        "metavar": "TPxPP",
        "help": "tensor and pipeline parallelism, such as 8x4; auto tries all and shows the fastest",
    },
    "--measure": {"switch": True, "help": "make measurement records that are missing"},
}

#: Options of a load with the same context for all requests.
LOAD: dict[str, dict[str, Any]] = {
    "--context": {"metavar": "N", "least": 1, "help": "tokens in the KV cache of a request (default: 4096)"},
    "--batch": {
        "metavar": "B",
        "least": 1,
        "help": "requests that decode together (default: 16; of cent, a request for each stage)",
    },
    "--output-tokens": {
        "metavar": "N",
        "least": 1,
        "also": "--decode",
        "help": "tokens to generate; the context grows by one with each (default: 1)",
    },
    "--instances": {"metavar": "I", "least": 1, "help": "copies of the system that share the batch (default: 1)"},
    "--timeline": {"metavar": "FILE", "help": "write the spans of a decode step, for ui.perfetto.dev"},
}

#: Options of :func:`evaluate`, and the error for an option of another study.
OPTIONS = SYSTEM | LOAD
REFUSAL = "{} needs --layer"


def asked_system(system: str, options: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a study of a system, from given options by name (``context``). Options of the kind of system become
    changes of its file.

    Raises
    ------
    :exc:`ConfigError`
        For a key that is also in ``changes``, for an option in place of ``context`` beside it, and if there is no model.
    """
    from bankside.models.systems import kind_of

    if options.get("model") is None and system == "attacc":
        raise ConfigError("attacc needs --layer")
    kind, changes = kind_of(system), dict(changes)
    model = options.pop("model", None) or kind.default_model
    if model is None:
        raise ConfigError("the following arguments are required: --model (see bankside eval --help)")
    for option in kind.options:
        value = options.pop(option.name, None)
        if value is None:
            continue
        if option.key in changes:
            raise ConfigError(f"--set {option.key} and its option can't be combined")
        changes[option.key] = value
        if option.before_context:
            if "context" in options:
                P = option.metavar
                raise ConfigError(f"{option.flag} {P} is --context {P}+1 with a prompt of {P} tokens; give one of them")
            options["context"] = value + 1
    return {"model": model, "changes": changes, **options}


def system_changes(sets: Sequence[str]) -> dict[str, Any]:
    """Values of a system's file by dotted key, from ``KEY=VALUE`` of the command line, with values as in the file.

    Raises
    ------
    :exc:`ConfigError`
        For a text other than ``KEY=VALUE``, or a key that appears twice.
    """
    from bankside.constraints.core.document import parse

    changes: dict[str, Any] = {}
    for text in sets:
        key, equals, value = text.partition("=")
        if not equals or not all(key.split(".")):
            raise ConfigError(
                f"--set {text}: must be KEY=VALUE with a key of the system's file (features.ping_pong=false)"
            )
        if key in changes:
            raise ConfigError(f"--set {key} comes twice")
        changes[key] = parse(value, f"--set {key}", numbered=False)[0]
    return changes


def chosen_splits(system: System, model: ModelShape, split: str | None) -> list[System]:
    """The system with the splits that ``split`` asks for: None for its own, ``auto`` for all that divide the model, or
    ``TPxPP``.

    Raises
    ------
    :exc:`ConfigError`
        For a split in another form or not of the system, or if no split divides the model.
    """
    if split is None:
        return [system]
    if split == "auto":
        found: list[System] = [*system.splits(model)]
        if not found:
            raise ConfigError(f"{model.name} can't be split over {system.devices} devices of {system.name}")
        return found
    match = re.fullmatch(r"([1-9]\d{0,5})x([1-9]\d{0,5})", split)
    if match is None:
        raise ConfigError(f"--split is auto or tensor x pipeline as in 8x4, not '{split}'")
    tensor, pipeline = int(match[1]), int(match[2])
    return [system.requested(tensor, pipeline)]


def fastest(
    systems: Sequence[System], attempt: Callable[[System], Result], rate: Callable[[Result], float]
) -> tuple[System, Result, list[Split]]:
    """The system with the highest rate, its result, and a row for each tried system: its split, and its rate or why it
    has none."""
    from bankside.models.systems import MissingRecord

    found: list[tuple[System, Result]] = []
    tried: list[Split] = []
    problem: ConfigError | None = None
    for one in systems:
        try:
            result = attempt(one)
        except MissingRecord:
            raise
        except ConfigError as error:
            problem = error
            tried.append(Split(tensor=one.tp, pipeline=one.pp, throughput_tok_s=None, why=str(error)))
            continue
        tried.append(Split(tensor=one.tp, pipeline=one.pp, throughput_tok_s=rate(result), why=None))
        found.append((one, result))
    if not found:
        raise problem or ConfigError("no split")
    system, result = max(found, key=lambda each: rate(each[1]))  # the first of equals
    return system, result, tried


def evaluate(
    system: str,
    model: str | os.PathLike[str] | ModelShape,
    *,
    context: int = 4096,
    batch: int | None = None,
    output_tokens: int = 1,
    instances: int = 1,
    refresh: bool = False,
    split: str | None = None,
    measure: bool = False,
    records: str | None = None,
    changes: Mapping[str, Any] | None = None,
    timeline: str | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> Eval:
    """Result of ``bankside eval``, with the keys of the kind of system. ``config_hash`` covers the whole request: the
    system's description, the model's shape, the load. The hash of a unit's configuration is in ``unit``.

    With ``split`` (``TPxPP`` or ``auto``), ``splits`` has each split that was tried, and the other keys belong to the
    fastest split. Each of several ``instances`` is the whole system and has its share of the batch. Keys that are no
    sum or mean over instances belong to an instance with the largest share. ``changes``: values of the system's file
    that are replaced, by dotted key. ``timeline``: a file for the spans of the first step.

    Raises
    ------
    :exc:`MissingRecord`
        If the result needs a measurement that has not been made (and ``measure`` is off).
    :exc:`ConfigError`
        For an unknown system or model, or a load that does not fit.
    """
    from bankside.models.llm import load_model
    from bankside.models.systems import load_system

    shape, loaded = load_model(model), load_system(system, changes)
    note_sources(evaluate, type(loaded))
    folder = RecordFolder(records)
    splits = chosen_splits(loaded, shape, split)
    batch = splits[0].default_batch(shape) if batch is None else batch
    load = {"context": context, "batch": batch, "output_tokens": output_tokens, "refresh": refresh}
    if instances > 1:
        load["instances"] = instances
    least, more = divmod(batch, instances)
    if not least:
        raise ConfigError(f"--instances {instances}: a batch of {batch} has no request for each")
    shares = {share: count for share, count in ((least + 1, more), (least, instances - more)) if count}

    def attempt(one: System) -> Evaluation:
        return measuring(
            lambda: _together(
                {
                    share: (
                        count,
                        one.evaluate(
                            shape,
                            context=context,
                            batch=share,
                            output_tokens=output_tokens,
                            records=folder,
                            refresh=refresh,
                        ),
                    )
                    for share, count in shares.items()
                }
            ),
            measure,
            records,
            progress,
        )

    best, result, tried = fastest(splits, attempt, lambda one: one.throughput_tok_s)
    beside: dict[str, Any] = {} if split is None else {"splits": tried}
    if timeline is not None:
        beside["timeline"] = _write_timeline(best.bind(shape, folder, refresh=refresh), context, max(shares), timeline)
    asked = [part.model_dump(mode="json") for part in (*best.description.parts, shape)]
    digest = hashlib.sha256(json.dumps([asked, load], sort_keys=True).encode()).hexdigest()[:16]
    values = result.to_json()
    tools = {**tool_versions(), **values.pop("tools")}
    return evaluated(type(best), {**values, **beside, "config_hash": digest, "instances": instances, "tools": tools})


def _write_timeline(bound: Bound[System], context: int, batch: int, file: str) -> StepTimeline:
    """Write the spans of a step; returns the description of the file."""
    from pathlib import Path

    from bankside.constraints.core.workspace import write_files
    from bankside.models.systems.timeline import chrome_trace

    view, path = bound.timeline(context=context, batch=batch), Path(file)
    write_files(path.parent, {path.name: chrome_trace(view)})
    return StepTimeline(file=file, spans=len(view.spans), layers=view.layers, of_layers=view.of_layers)


def _together(each: Mapping[int, tuple[int, Any]]) -> Any:
    """The evaluation of all instances: an instance with the largest share of the batch, with the tokens of all and
    their mean energy. ``each`` has, for each share, the number of instances and their evaluation."""
    batch = sum(share * count for share, (count, _) in each.items())

    def mean(value: Callable[[Any], float]) -> float:
        return sum(share * count * value(one) for share, (count, one) in each.items()) / batch

    largest = each[max(each)][1]
    energy = {
        name: mean(lambda one, name=name: one.energy_breakdown_mj[name])  # type: ignore[misc]
        if isinstance(value, int | float)
        else value
        for name, value in largest.energy_breakdown_mj.items()
    }
    return replace(
        largest,
        batch=batch,
        throughput_tok_s=sum(count * one.throughput_tok_s for count, one in each.values()),
        energy_mj_per_token=mean(lambda one: one.energy_mj_per_token),
        energy_breakdown_mj=energy,
    )


def measuring(attempt: Callable[[], Any], measure: bool, records: str | None, progress: Callable[[str], None]) -> Any:
    """The result of ``attempt``. With ``measure``, measurements that it lacks are made first, side by side, as long as
    it asks for new ones.

    Raises
    ------
    :exc:`MissingRecord`
        Without ``measure``, or if a measurement leaves no record for the request.
    :exc:`CheckFailed`, :exc:`ConfigError` or :exc:`ToolMissing`
        If a measurement is not made; the message names it and says why.
    """
    from bankside.models.systems import MissingRecord

    made: set[Any] = set()
    while True:
        try:
            return attempt()
        except MissingRecord as missing:
            if not measure or made & set(missing.needs):
                found = {need: RecordFolder(records).look(need) for need in missing.needs}
                stale = {need: one.why for need, one in found.items() if one.state == "stale"}
                raise MissingRecord(missing.what, missing.needs, stale) from None
            from ..evidence.side_by_side import measure_all

            measure_all(missing.needs, records, progress)
            made |= set(missing.needs)
