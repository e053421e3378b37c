"""``bankside list``: units, presets, systems, memories, models, workloads, libraries, formats of traces."""

from __future__ import annotations

import argparse

from ..options import emit, json_argument

__all__ = ["fill", "run"]


def fill(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--memory",
        metavar="M",
        help="one memory in full, checked: a name, a YAML file or an .ini file of DRAMsim3; with --json, memories lists it alone",
    )
    json_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.memory is None and not arguments.json:
        from ...studies.listing import listing

        print(listing())
        return 0
    from bankside.constraints.core.registry import UNITS
    from bankside.constraints.memory import available, load_memory
    from bankside.models.llm import model_names
    from bankside.models.serving.workloads import FORMATS as REQUESTS
    from bankside.models.serving.workloads import workload_names
    from bankside.models.systems import system_names

    from ...hardware.synthesis.libraries import available as libraries
    from ...results.units import Format, List
    from ...studies import memories as described
    from ...studies.trace import FORMATS

    if not arguments.json:
        print(described.detailed_text(load_memory(arguments.memory)))
        return 0
    chosen = available() if arguments.memory is None else [arguments.memory]
    memories = {memory.name: described.describe(memory) for memory in map(load_memory, chosen)}
    formats, request_formats = (
        {name: Format(title=one.title, example=list(one.example)) for name, one in them.items()}
        for them in (FORMATS, REQUESTS)
    )
    result = List(
        units=list(UNITS),
        presets={u.name: list(u.presets) for u in UNITS.values()},
        systems=list(system_names()),
        memories=list(memories),
        models=list(model_names()),
        workloads=list(workload_names()),
        libraries=list(libraries()),
        memory=memories,
        formats=formats,
        request_formats=request_formats,
    )
    emit(arguments, result)
    return 0
