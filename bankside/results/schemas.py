"""JSON Schemas of the output of commands with ``--json``: ``bankside schema COMMAND``.

Each class is a kind of result. Undeclared keys are errors, so the schemas list all keys. The measurements of a unit and
the breakdowns of a system are open, because installed packages add their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Any, Literal

from pydantic import BaseModel, Field, TypeAdapter, create_model

from bankside.constraints.core.errors import ConfigError, nearest
from bankside.constraints.core.registry import UNITS
from bankside.models.systems import kinds

from ..provenance.envelope import SCHEMA
from .calibration import Calibrate, FittedActivations
from .decoding import Capture, Decode, Kernels, Sparse, Writeback, WritebackCheck
from .demo import Demo
from .papers import Claims, Figure, Papers, Repro, ReproResults
from .programs import Asm, Compile, Disasm
from .result import Part as _Part
from .result import key as _key
from .serving import Serve, Sweep
from .systems import Eval, EvalLayer, EvalReference, EvalRuns, EvalWorkload, eval_of
from .tool import Bench, Cache, Checked, Doctor, Explain
from .units import DryRun, DryRuns, Gen, List, Records, Rtl, Sim, Synth, SynthAll, SynthFpga, TimeTrace, TimeUnit

__all__ = ["COMMANDS", "Envelope", "result_of", "schema_of"]


# ---- What all results have ------------------------------------------------------------------------------------------


class Input(_Part):
    """A file, a record or sources from which a result is made."""

    kind: str = _key("`memory file`, `system file`, `measurement record`, `sources`, `Verilog` and others")
    name: str = _key(
        "Path of a file as the command received it; a file of the package begins with `bankside/`. "
        "For records and sources, their name"
    )
    sha256: str = _key(
        "Digest of the contents. A digest of sources has 32 digits and covers "
        "[definitions](architecture.md#measurement-records), not text"
    )
    command: str | None = _key("record: the command that makes it again", default=None)
    made_from: dict[str, str] | None = _key("record: digests and versions from which it was made", default=None)
    verilog_sha256: str | None = _key("record: digest of the measured Verilog", default=None)
    tools: dict[str, str] | None = _key("record: versions of the tools that made the measurement", default=None)


class Envelope(_Part):
    """Keys of every result."""

    version: Literal[1] = Field(
        alias="schema", description="version of the keys, 1; it changes when a key changes its meaning"
    )
    command: str = _key("the command that made the result")
    tools: dict[str, str] = _key("version of each tool that affects the result")
    notes: list[str] = _key("remarks for readers of the figures")
    warnings: list[str] = _key("possible mistakes in the command's options and inputs; also on standard error")
    inputs: list[Input] = _key("every file, record and source from which the result was made")


#: Kinds of results of each command.
COMMANDS: Mapping[str, tuple[type[BaseModel], ...]] = {
    "doctor": (Doctor,),
    "list": (List,),
    "gen": (Gen, DryRun),
    "sim": (Sim, DryRun),
    "synth": (Synth, SynthFpga, SynthAll, DryRun, DryRuns),
    "time": (TimeUnit, TimeTrace, DryRun),
    "eval": (Eval, EvalWorkload, EvalLayer, EvalReference, EvalRuns),
    "compile": (Compile,),
    "serve": (Serve,),
    "decode": (Decode,),
    "capture": (Capture,),
    "sparse": (Sparse,),
    "asm": (Asm,),
    "disasm": (Disasm,),
    "repro": (Repro, Papers, Claims, Figure, ReproResults),
    "calibrate": (Calibrate, FittedActivations),
    "demo": (Demo,),
    "rtl": (Rtl,),
    "sweep": (Sweep,),
    "records": (Records,),
    "explain": (Explain,),
    "check": (Checked,),
    "cache": (Cache,),
    "kernels": (Kernels,),
    "writeback": (Writeback, WritebackCheck),
    "bench": (Bench,),
}


def _sim(name: str) -> type[BaseModel]:
    """Result of ``sim`` of a unit as it is printed: the options of its workload and the fields of its result."""
    unit = UNITS[name]
    workload: dict[str, Any] = {
        "vectors_file" if key == "vectors" else key: (option.kind | None, _key(option.description, default=None))
        for key, option in unit.workload.options().items()
    }
    found = {**Sim.model_fields, **unit.result.model_fields}
    fields: dict[str, Any] = {
        key: (field.annotation, field)
        for key, field in found.items()
        if not field.exclude and key not in Envelope.model_fields
    }
    title = "".join(part.capitalize() for part in name.split("-"))
    fields = {**workload, **fields, "unit": (Literal[name], ...)}
    kind: type[BaseModel] = create_model(f"Sim{title}", __base__=Envelope, **fields)
    return kind


def _printed(kind: type[BaseModel]) -> type[BaseModel]:
    """A kind of result with the keys that all results have before its own."""
    if issubclass(kind, Envelope):
        return kind
    keys: dict[str, Any] = {name: (field.annotation, field) for name, field in Envelope.model_fields.items()}
    made: type[BaseModel] = create_model(kind.__name__, __base__=(kind, Envelope), __doc__=kind.__doc__, **keys)
    return made


def _adapter(command: str, *, units: bool) -> TypeAdapter[Any]:
    """All results of a command. With ``units``, co-simulation has a class for each unit."""
    results = COMMANDS[command]
    if command == "eval":
        results = (*dict.fromkeys(eval_of(kind) for kind in kinds().values()), *results[1:])
    split = units and command == "sim"
    found: list[Any] = [_printed(kind) for kind in results if not (split and kind is Sim)]
    return TypeAdapter(reduce(or_, [*(map(_sim, UNITS) if split else ()), *found]))


def result_of(document: Mapping[str, Any]) -> Any:
    """The typed result of a command, from its output with ``--json``."""
    return _adapter(document["command"], units=False).validate_python(document)


def schema_of(command: str) -> dict[str, Any]:
    """JSON Schema (2020-12) of the results of a command.

    Raises
    ------
    :exc:`ConfigError`
        If there is no such command, or it has no ``--json``.
    """
    if command not in COMMANDS:
        raise ConfigError(nearest("command with --json", command, COMMANDS))
    schema = {
        key: value for key, value in _adapter(command, units=True).json_schema(by_alias=True).items() if key != "title"
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"bankside {command} --json, schema {SCHEMA}",
        **schema,
    }
