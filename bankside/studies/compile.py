"""``bankside compile``: translates a model to programs for a system's modules."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bankside.constraints.core.errors import ConfigError

from ..results.programs import Compile, Compiled, Operator
from ..results.systems import Parallelism

__all__ = ["compile_result", "compile_text"]


def compile_result(
    model: str,
    system: str,
    *,
    tokens: int = 4096,
    operator: str | None = None,
    listing: bool = False,
    output: str | None = None,
    records: str | None = None,
    changes: Mapping[str, Any] | None = None,
) -> Compile:
    """Programs of a model for the modules of a system. With ``output``, the words of the program are written to that
    file, one line for each line of the command buffer. They are in hexadecimal, as ``$readmemh`` takes them.

    Raises
    ------
    :exc:`ConfigError`
        For an unknown model, system or operator, a system without modules, or a program that does not fit its buffers.
    """
    from dataclasses import asdict

    from bankside.constraints.core.workspace import write_files
    from bankside.models.llm import load_model
    from bankside.models.program.encoding import encode_program
    from bankside.models.program.encoding import listing as lines_of
    from bankside.models.systems import MissingRecord, kinds, load_system, system_names
    from bankside.models.systems.capabilities import Compiles
    from bankside.models.systems.registry import read_spec

    from ..evidence.records import RecordFolder
    from ..provenance.sources import note_sources

    shape = load_model(model)
    loaded = load_system(system, changes)
    if not isinstance(loaded, Compiles):
        able = ", ".join(name for name in system_names() if issubclass(kinds()[read_spec(name)[0]["kind"]], Compiles))
        raise ConfigError(f"{loaded.name} has no modules to compile programs for (systems with modules: {able})")
    note_sources(compile_result, type(loaded))
    if loaded.sharing(shape) > 1:
        raise ConfigError(
            f"{shape.name} on {loaded.name}: programs are compiled for whole heads, and with tensor "
            f"parallelism of {loaded.tp} {loaded.sharing(shape)} modules share a head; it has "
            f"{shape.heads} heads"
        )
    not_measured: list[str] = []
    try:
        loaded.prepare(shape, RecordFolder(records), False)
    except MissingRecord as missing:  # the programs need none
        not_measured = list(missing.commands)
    compiled = loaded.compile(shape, tokens, operator)
    result = Compile(
        model=shape.name,
        system=loaded.name,
        tokens=tokens,
        parallelism=Parallelism(tensor=loaded.tp, pipeline=loaded.pp),
        layers=compiled.layers,
        patterns=compiled.patterns,
        operators=[Operator(**asdict(row)) for row in compiled.rows],
        registers=compiled.registers,
        virtual_rows=compiled.virtual_rows,
        warnings=compiled.warnings,
        not_measured=not_measured,
    )
    if compiled.program.body and (loaded.lazily_allotted() or listing or output is not None):
        config = loaded.dispatching()
        if config is not None:
            if compiled.virtual_rows > config.table_entries:
                raise ConfigError(
                    f"a request of {shape.max_context} tokens needs {compiled.virtual_rows} rows, the "
                    f"table of the dispatcher has {config.table_entries}"
                )
            words = encode_program(compiled.program, config.encoding, layer=True)
            program = Compiled(lines=len(words), bytes=int(words.nbytes), buffer_bytes=config.command_bytes)
            if listing:
                program.listing = list(lines_of(words, config.encoding))
            if output is not None:
                path = Path(output)
                text = "".join(" ".join(f"{int(word):08x}" for word in line) + "\n" for line in words)
                write_files(path.parent, {path.name: text})
                program.file = output
            result.program = program
        elif output is not None:
            raise ConfigError(f"{loaded.name} has no dispatcher that takes the words of a program")
        else:
            result.program = Compiled(listing=str(compiled.program).splitlines())
    return result


def compile_text(result: Compile) -> str:
    """The execution table, and the program on request."""
    split = result.parallelism
    out = [
        f"{result.model} on {result.system}, tensor {split.tensor}, pipeline {split.pipeline}: one layer of "
        f"{result.layers} of a stage, one request of {result.tokens} tokens, one module"
    ]
    out += [f"warning: {text}" for text in result.warnings]
    out += [f"recognised: {'; '.join(result.patterns)}", ""]
    head = ("operator", "where", "shape", "partition", "communication", "commands", "cycles", "us")
    rows = [head]
    for one in result.operators:
        commands = ", ".join(f"{count} {name}" for name, count in one.commands.items())
        cycles = "-" if one.cycles is None else str(one.cycles)
        took = "-" if one.microseconds is None else f"{one.microseconds:.2f}"
        rows.append(
            (one.operator, one.where, one.shape, one.partition, one.communication, commands or "-", cycles, took)
        )
    widths = [max(len(row[k]) for row in rows) for k in range(len(head))]
    for row in rows:
        out.append(
            "  ".join(
                text.rjust(width) if k >= 6 else text.ljust(width)
                for k, (text, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
        )
    missing = [command for command in result.not_measured if "pim-hub" in command]
    if missing and any(one.microseconds is None for one in result.operators):
        out.append(f"time of the hub: not measured yet; {' and '.join(missing)}")
    program = result.program
    if program is not None and program.lines is not None:
        out += [
            "",
            f"program of a layer: {program.lines} lines, {program.bytes} of {program.buffer_bytes} "
            f"bytes of the command buffer; {result.registers} registers; a request of the longest context has "
            f"{result.virtual_rows} rows",
        ]
        if program.file is not None:
            out.append(f"written to {program.file}")
    if program is not None and program.listing is not None:
        out += ["", *program.listing]
    return "\n".join(out)
