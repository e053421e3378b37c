"""``bankside time``: memory timing of a trace, a program, a system's block, or a unit's decode step."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from bankside.constraints.core.errors import ConfigError, nearest

from ..options import (
    dry_run,
    json_argument,
    natural,
    physics_argument,
    positive,
    queries,
    selected,
    selection_arguments,
    show,
    whole,
)

if TYPE_CHECKING:
    from ...results.units import TimeTrace, TimeUnit

__all__ = ["fill", "run"]


def cycles_window(text: str) -> tuple[int, int | None]:
    """``FIRST:LAST``; either number may be left out."""
    first, colon, last = text.partition(":")
    if not colon:
        raise argparse.ArgumentTypeError(f"must be FIRST:LAST, not '{text[:40]}'")
    window = whole(first, 0) if first else 0, whole(last, 0) if last else None
    if window[1] is not None and window[1] < window[0]:
        raise argparse.ArgumentTypeError(f"must be FIRST:LAST with FIRST no larger than LAST, not '{text[:40]}'")
    return window


def channel_numbers(text: str) -> tuple[int, ...]:
    """Numbers of channels with commas between."""
    return tuple(whole(part, 0, 61) for part in text.split(","))


#: Options of ``time`` that only a unit, a system or a file has; with another target they are an error.
TIME_ONLY: dict[str, tuple[str, ...]] = {
    "unit": ("preset", "config", "head_dim", "queries", "dry_run"),
    "system": ("devices", "stage", "order"),
    "file": ("mapping",),
}


def fill(parser: argparse.ArgumentParser) -> None:
    selection_arguments(parser, target="FILE|SYSTEM:MODEL")
    parser.add_argument(
        "--memory",
        metavar="M",
        help="name, or file: YAML (also Ramulator 2's), .ini of DRAMsim3; by default a unit's own, hbm3-5.2 for AttAcc's "
        "traces, gddr6-aim for AiM's traces and cent",
    )
    parser.add_argument(
        "--quirks",
        metavar="Q",
        help="reproduce this simulator, its defects included: aim-simulator, attacc-simulator or ramulator",
    )
    parser.add_argument("--refresh", action="store_true", help="memory timing with refresh")
    parser.add_argument("--no-power-limit", action="store_true", help="lift the power limit on all-bank commands")
    parser.add_argument(
        "--tokens",
        metavar="N",
        type=natural,
        help="unit: tokens in each bank; system: tokens in the KV "
        "cache (default: 512); file: tokens of the request, for programs whose loops depend on them",
    )
    parser.add_argument("--head-dim", metavar="D", type=positive, help="unit: head dimension (default: 128)")
    parser.add_argument(
        "--queries", metavar="Q", type=queries, help="unit: queries that share the keys and values (default: 1)"
    )
    parser.add_argument(
        "--channels",
        metavar="N",
        type=positive,
        help="system: channels of a block; file: channels of plain requests (default: all)",
    )
    parser.add_argument(
        "--devices", metavar="N", type=positive, help="system: devices that share a matrix (default: 1)"
    )
    parser.add_argument("--stage", metavar="NAME", help="system: only this stage of a block")
    parser.add_argument(
        "--order",
        choices=("executed", "authors"),
        help="system: the program that the RTL executes, or the order of the authors' generator (default: executed, and "
        "authors under quirks)",
    )
    parser.add_argument(
        "--mapping", metavar="ORDER", help="file: order of address parts in plain requests, high to low"
    )
    parser.add_argument("--timeline", metavar="FILE", help="write the issue time of every command, for ui.perfetto.dev")
    parser.add_argument("--picture", metavar="FILE", help="write the timeline as a picture (.png, .svg or .pdf)")
    parser.add_argument(
        "--timeline-cycles",
        metavar="FIRST:LAST",
        type=cycles_window,
        default=(0, None),
        help="cycles that timeline and picture show (default: all)",
    )
    parser.add_argument(
        "--timeline-channels",
        metavar="N,N",
        type=channel_numbers,
        help="channels that timeline and picture show (default: all)",
    )
    parser.add_argument("--export", metavar="F", help="write the program as a trace: aim, ramulator, or program (text)")
    parser.add_argument("--output", metavar="FILE", help="file for --export")
    physics_argument(parser)
    json_argument(parser, page=True)


def run(arguments: argparse.Namespace) -> int:
    from bankside.constraints.core.registry import UNITS

    from ...studies.trace import EXPORTS, Outputs, Setting, is_system, time_file, time_system

    target = arguments.target
    formats, buffering = (
        [text.partition("=")[2] for text in arguments.sets if text.startswith(f"{key}=")]
        for key in ("format", "buffering")
    )
    kind = "unit" if target in UNITS else "system" if is_system(target) else "file"
    if kind == "file" and not os.path.lexists(target) and not any(c in target for c in "./\\"):
        raise ConfigError(nearest("unit", target, UNITS) + "; nor is there such a file")
    tokens = 512 if arguments.tokens is None else arguments.tokens
    for other, options in TIME_ONLY.items():
        for name in options:
            if other != kind and getattr(arguments, name):
                raise ConfigError(f"--{name.replace('_', '-')} is for a {other}; {target} is a {kind}")
    if kind != "unit" and len(arguments.sets) > (len(formats) + len(buffering) if kind == "file" else 0):
        raise ConfigError(
            f"--set, --variant and --format are for a unit; {target} is a {kind}"
            if kind == "system"
            else f"--set and --variant are for a unit; {target} is a file"
        )
    if arguments.export is not None and arguments.export not in EXPORTS:
        raise ConfigError(nearest("format of --export", arguments.export, EXPORTS))
    first, last = arguments.timeline_cycles
    outputs = Outputs(
        arguments.timeline,
        arguments.picture,
        first,
        last,
        arguments.timeline_channels,
        arguments.export,
        arguments.output,
    )
    setting = Setting(
        arguments.memory,
        arguments.quirks,
        arguments.refresh,
        not arguments.no_power_limit,
        arguments.mapping,
        arguments.channels,
        *((arguments.tokens, *buffering[-1:]) if kind == "file" else ()),
    )
    if kind == "unit":
        return _time_unit(arguments, tokens, outputs)
    if kind == "system":
        result: TimeTrace = time_system(
            target,
            setting,
            outputs,
            tokens=tokens,
            channels=arguments.channels,
            devices=arguments.devices or 1,
            stage=arguments.stage,
            order=arguments.order,
        )
    else:
        result = time_file(target, formats[-1] if formats else None, setting, outputs)
    return _shown(arguments, result)


def _shown(arguments: argparse.Namespace, result: TimeUnit | TimeTrace) -> int:
    """The result, and a warning if a timeline does not show all cycles."""
    from ...provenance.envelope import warn
    from ...results.text import timing_text

    view = result.timeline
    if view and view.truncated:
        warn(
            f"the timeline ends with cycle {view.last_cycle} of {result.cycles}: viewers take no more than its "
            f"{view.slices} slices; --timeline-cycles selects other cycles"
        )
    show(arguments, result, timing_text)
    return 0


def _time_unit(arguments: argparse.Namespace, tokens: int, outputs: Any) -> int:
    from ...studies.step_time import own_memory, time_step

    arguments.unit = arguments.target
    selection = selected(arguments)
    if dry_run(arguments, selection):
        return 0
    if arguments.quirks is not None or arguments.channels is not None:
        raise ConfigError(
            f"--{'channels' if arguments.quirks is None else 'quirks'} is for a file or a system; "
            f"{arguments.target} is a unit"
        )
    result = time_step(
        selection,
        memory=arguments.memory or own_memory(selection),
        tokens=tokens,
        head_dim=arguments.head_dim or 128,
        queries=arguments.queries or 1,
        refresh=arguments.refresh,
        power_limit=not arguments.no_power_limit,
        outputs=outputs,
    )
    return _shown(arguments, result)
