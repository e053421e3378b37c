# amaranth: UnusedElaboratable=no
"""The command ``bankside``. Subcommands import the heavy modules that they need.

Results go to standard output, everything else to standard error. Exit codes: 0 done, 1 a check failed, 2 usage or
configuration, 3 a tool is missing, 130 interrupted.
"""

from __future__ import annotations

import argparse
import functools
import io
import json
import os
import re
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import bankside
from bankside.constraints.core.errors import BanksideError, CheckFailed, ConfigError, nearest

__all__ = ["main"]


class _Parser(argparse.ArgumentParser):
    #: Words of the command line, for a command whose options depend on them.
    words: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        # One line; the nearest command for a mistyped one.
        if "invalid choice" in message and self.prog == "bankside":
            wrong = message.split("'")[1]
            message = nearest("command", wrong, COMMANDS)
        elif "required" in message or "unrecognized" in message:
            message += f" (see {self.prog} --help)"
        raise ConfigError(message)


class _Help(argparse.ArgumentDefaultsHelpFormatter):
    """Help texts with the default, if there is one to show."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        unset = action.default in (None, False, []) or isinstance(action.default, tuple) or not action.option_strings
        switch = action.nargs == 0 and not isinstance(action, argparse.BooleanOptionalAction)
        return action.help if unset or switch else super()._get_help_string(action)


class _Commands(argparse.HelpFormatter):
    """Commands beside their summaries. argparse forgets the commands' indent, so the longest name would not fit."""

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):
            self._action_max_length += self._indent_increment


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    from bankside.constraints.core.workspace import environment, tools_cache

    with environment({"XDG_CACHE_HOME": tools_cache()}):
        return _main(argv)


def _main(argv: Sequence[str] | None) -> int:
    from bankside.constraints.core.workspace import LIMIT, environment

    from ..provenance.envelope import collecting

    debug = bool(os.environ.get("BANKSIDE_DEBUG"))
    try:
        if argv is None and "_ARGCOMPLETE" in os.environ:
            from .completion import complete

            complete(_parser())
        words = sys.argv[1:] if argv is None else list(argv)
        arguments = _parser(words).parse_args(words)
        bound = arguments.max_file_mib
        with environment({LIMIT: None if bound is None else str(bound)}), collecting():
            _check_page(arguments)
            code = arguments.run(arguments)
        if sys.stdout is not None:  # None: the caller closed it
            sys.stdout.flush()
        return code or 0
    except BanksideError as error:
        if debug:
            traceback.print_exc()
        print("bankside: " + " ".join(str(error).splitlines()), file=sys.stderr)
        return error.exit_code
    except ModuleNotFoundError as error:
        if debug or (error.name or "").partition(".")[0] == "bankside":
            raise
        print(f"bankside: package '{error.name}' is not installed: pip install {error.name}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print("bankside: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        if debug:
            raise
        where = f"{error.filename}: " if error.filename else ""
        print(f"bankside: {where}{(error.strerror or str(error)).lower()}", file=sys.stderr)
        try:
            if sys.stdout is not None:
                sys.stdout.flush()
        except OSError:  # or the interpreter fails on it once more when it ends, with another exit code
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2


def _terminate(number: int, frame: Any) -> NoReturn:
    raise KeyboardInterrupt


def entry() -> None:
    """Console script: a termination signal cleans up as Ctrl-C does."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, _terminate)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a path need not be text
    sys.exit(main())


class _Version(argparse.Action):
    """Looks for the version only if it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *rest: Any) -> NoReturn:
        print(f"bankside {bankside.__version__}")
        parser.exit()


def _parser(words: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The parser of these words; it has arguments for their command only."""
    parser = _Parser(
        prog="bankside",
        description="Hardware beside memory for LLM decoding: generate, co-simulate, "
        "synthesise, and evaluate a server built from it.",
        formatter_class=_Commands,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
    for name, (summary, fill, _) in COMMANDS.items():
        sub = commands.add_parser(
            name, help=summary, description=summary[0].upper() + summary[1:] + ".", formatter_class=_Help
        )
        sub.set_defaults(run=COMMANDS[name][2])
        sub.words = words
        if name in words or not words:
            fill(sub)
        sub.add_argument(
            "--max-file-mib",
            metavar="MIB",
            type=positive,
            help="largest file to read, in MiB, in place of the bound of its kind",
        )
    return parser


def emit(arguments: argparse.Namespace, result: dict[str, Any]) -> None:
    """One JSON object on standard output: the result of the command behind the keys that all results have."""
    from ..provenance.envelope import enveloped

    print(json.dumps(enveloped(result, arguments.command), indent=2))


def _check_page(arguments: argparse.Namespace) -> None:
    """Fail at once, before a long command, if its page can't be written."""
    file = getattr(arguments, "html", None)
    if file is not None:
        from pathlib import Path

        from bankside.constraints.core.workspace import write_files

        if os.path.isdir(file):
            raise ConfigError(f"--html: can't write {file}: is a directory")
        write_files(Path(file).parent, {})


def page(arguments: argparse.Namespace, result: dict[str, Any]) -> None:
    """The result as an HTML page, if the command line asks for it."""
    if arguments.html is not None:
        from ..pages import write_page
        from ..provenance.envelope import enveloped

        write_page(arguments.html, enveloped(result, arguments.command), getattr(arguments, "records", None))


def log(text: str) -> None:
    if sys.stderr is not None:  # the caller closed it; print would take standard output instead
        print(text, file=sys.stderr)


# ---- arguments that several commands share --------------------------------------------------------------------------


def _selection_arguments(parser: argparse.ArgumentParser, several: bool = False, target: str = "") -> None:
    """``target``: alternatives to the unit, for a command that tells them apart itself."""
    parser.add_argument(
        "target" if target else "unit",
        metavar=f"UNIT|{target}" if target else "UNIT",
        help="unit (see bankside list)" + (", or a pattern of names: 'fp-*'" if several else ""),
    )
    parser.add_argument(
        "--preset", metavar="P", help="published configuration to start from; the unit's first by default"
    )
    parser.add_argument("--config", metavar="FILE", help="YAML file with configuration keys (and 'preset')")
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        dest="sets",
        help="one configuration key; may be repeated",
    )
    for key, values in (
        ("format", "number format: fp16, bf16, fp32 or eEmF"),
        ("variant", "design of the unit"),
        ("buffering", "aim-channel, programs for AiM devices: single or ping-pong"),
        ("registers", "aim-channel: 2, 32, ..."),
    ):
        parser.add_argument(
            f"--{key}",
            metavar=key[0].upper(),
            dest="sets",
            action="append",
            type=functools.partial("{}={}".format, key),
            help=f"{values}; short for --set {key}=...",
        )
    parser.add_argument(
        "--dry-run", action="store_true", help="print the expanded configuration and its hash, and stop"
    )


def _selected(arguments: argparse.Namespace) -> Any:
    from ..hardware.selection import select

    return select(arguments.unit, preset=arguments.preset, file=arguments.config, sets=arguments.sets)


def _json_argument(parser: argparse.ArgumentParser, page: bool = False) -> None:
    """``page``: the command makes an HTML page too."""
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    if page:
        parser.add_argument("--html", metavar="FILE", help="write the result as an HTML page too")


def _changes_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        dest="changes",
        help="one key of the system's file, such as features.ping_pong=false; may be repeated",
    )


def _records_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--records",
        metavar="DIR",
        help="folder of measurement records; $BANKSIDE_RECORDS or the cache folder by default",
    )


def _dry_run(arguments: argparse.Namespace, selection: Any) -> bool:
    if arguments.dry_run:
        from ..hardware.generate import tool_versions

        emit(
            arguments,
            {
                "schema": 1,
                "unit": selection.unit.name,
                "preset": selection.preset,
                "config_hash": selection.config_hash,
                "config": selection.config.model_dump(mode="json"),
                "tools": tool_versions(),
            },
        )
    return arguments.dry_run


def positive(text: str) -> int:
    """A whole number of at least 1."""
    return _whole(text, 1)


def natural(text: str) -> int:
    """A whole number of at least 0."""
    return _whole(text, 0)


def queries(text: str) -> int:
    """Queries of a group; the limit is far above the group of any model."""
    return _whole(text, 1, 4096)


def _whole(text: str, least: int, most: int = 1 << 40) -> int:
    try:
        value = int(text)
    except ValueError:
        shown = text if len(text) <= 40 else f"{text[:20]}... ({len(text)} characters)"
        raise argparse.ArgumentTypeError(f"must be a whole number, not '{shown}'") from None
    if not least <= value <= most:
        raise argparse.ArgumentTypeError(
            f"must be at least {least}, not {value}" if value < least else f"must be at most {most}, not {value}"
        )
    return value


# ---- doctor ---------------------------------------------------------------------------------------------------------


def _doctor_arguments(parser: argparse.ArgumentParser) -> None:
    _json_argument(parser)


def _doctor(arguments: argparse.Namespace) -> int:
    from .cache import contents
    from .doctor import examine

    checks = examine()
    missing = [c for c in checks if c.required and not c.found]
    kept = contents()
    if arguments.json:
        emit(
            arguments,
            {
                "schema": 1,
                "ok": not missing,
                "checks": [c.as_dict() for c in checks],
                "cache": {"folder": kept["folder"], "size_bytes": kept["size_bytes"]},
            },
        )
    else:
        for check in checks:
            state = "ok     " if check.found else "MISSING" if check.required else "absent "
            print(f"{state}  {check.name:<14} {check.found or '':<28} {check.purpose}")
            if not check.found:
                print(f"         {'':<14} fix: {check.fix}")
        print(f"cache    {kept['size_bytes'] / 2**20:.0f} MiB in {kept['folder']} (bankside cache)")
        print("everything that Bankside needs is installed" if not missing else f"{len(missing)} missing")
    return 3 if missing else 0


# ---- list -----------------------------------------------------------------------------------------------------------


def _list_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--memory", metavar="M", help="one memory in full: a name or a YAML file, which is checked")
    _json_argument(parser)


def _list(arguments: argparse.Namespace) -> int:
    if arguments.memory is None and not arguments.json:
        from ..studies.listing import listing

        print(listing())
        return 0
    from bankside.constraints.core.registry import UNITS
    from bankside.constraints.memory import available, load_memory
    from bankside.models.llm import model_names
    from bankside.models.serving.workloads import FORMATS as REQUESTS
    from bankside.models.serving.workloads import workload_names
    from bankside.models.systems import system_names

    from ..hardware.synthesis.libraries import available as libraries
    from ..studies import memories as described
    from ..studies.trace import FORMATS

    if not arguments.json:
        print(described.detailed_text(load_memory(arguments.memory)))
        return 0
    chosen = available() if arguments.memory is None else [arguments.memory]
    memories = {memory.name: described.describe(memory) for memory in map(load_memory, chosen)}
    emit(
        arguments,
        {
            "schema": 1,
            "units": list(UNITS),
            "presets": {u.name: list(u.presets) for u in UNITS.values()},
            "systems": list(system_names()),
            "memories": list(memories),
            "models": list(model_names()),
            "workloads": list(workload_names()),
            "libraries": list(libraries()),
            "memory": memories,
            "formats": {name: {"title": one.title, "example": list(one.example)} for name, one in FORMATS.items()},
            "request_formats": {
                name: {"title": one.title, "example": list(one.example)} for name, one in REQUESTS.items()
            },
        },
    )
    return 0


# ---- gen ------------------------------------------------------------------------------------------------------------


def _gen_arguments(parser: argparse.ArgumentParser) -> None:
    _selection_arguments(parser)
    parser.add_argument("-o", "--output", metavar="DIR", help="folder for the files; out/gen/UNIT-PRESET by default")
    parser.add_argument("--name", metavar="MODULE", help="name of the Verilog module; the unit's by default")
    _json_argument(parser)


def _gen(arguments: argparse.Namespace) -> int:
    import re

    from bankside.constraints.core.workspace import write_files

    from ..hardware.generate import describe, generated_files

    selection = _selected(arguments)
    if arguments.name is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,199}", arguments.name):
        raise ConfigError(f"--name must be a Verilog identifier, not '{arguments.name}'")
    if _dry_run(arguments, selection):
        return 0
    folder = arguments.output or os.path.join("out", "gen", f"{selection.unit.name}-{selection.label}")
    write_files(folder, {})  # fails at once if it can't be written
    paths = write_files(folder, generated_files(selection, arguments.name))
    if arguments.json:
        emit(arguments, {**describe(selection, arguments.name), "files": [str(p) for p in paths]})
    else:
        for path in paths:
            print(path)
    return 0


# ---- sim ------------------------------------------------------------------------------------------------------------


def _sim_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the workload are the unit's if the command names one, else the options of all units."""
    from bankside.constraints.core.registry import UNITS

    _selection_arguments(parser)
    named = UNITS.get(next((word for word in getattr(parser, "words", ()) if word in UNITS), ""))
    group = parser.add_argument_group(
        f"workload of {named.name}"
        if named
        else "workload (bankside sim UNIT --help shows the unit's options and defaults)"
    )
    mine = named.workload.options() if named else {}
    others: dict[str, Any] = {}
    for unit in UNITS.values():
        for name, option in unit.workload.options().items():
            others.setdefault(name, option)
    for name, option in {**others, **mine}.items():
        text = option.description if name in mine or not named else argparse.SUPPRESS
        group.add_argument(
            option.flag,
            metavar=name[0].upper(),
            type=_option_type(option),
            default=None,
            help=text
            if text is argparse.SUPPRESS or name not in mine or option.default is None
            else f"{text} (default: {option.default})",
        )
    parser.add_argument("--seed", metavar="S", type=natural, default=1, help="seed of data and stalls")
    parser.add_argument("--waves", action="store_true", help="write a waveform of the measured step to out/waves")
    _records_argument(parser)
    _json_argument(parser, page=True)
    parser.set_defaults(workload=tuple(others))


def _option_type(option: Any) -> Any:
    if option.kind is int:
        return functools.partial(_whole, least=option.least or 0, most=option.most or 1 << 40)
    return option.kind


def _sim(arguments: argparse.Namespace) -> int:
    from ..evidence.measure import require_equal, simulate
    from ..results.terminal import steps

    selection = _selected(arguments)
    if _dry_run(arguments, selection):
        return 0
    given = {name: getattr(arguments, name) for name in arguments.workload}
    with steps() as tell:
        result = simulate(
            selection,
            seed=arguments.seed,
            waves=arguments.waves,
            records=arguments.records,
            progress=tell,
            **{name: value for name, value in given.items() if value is not None},
        )
    page(arguments, result)
    if arguments.json:
        emit(arguments, result)
    else:
        from ..results.text import simulation_text

        print(simulation_text(result))
    require_equal(result)
    return 0


# ---- synth ----------------------------------------------------------------------------------------------------------


def _synth_arguments(parser: argparse.ArgumentParser) -> None:
    _selection_arguments(parser, several=True)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--library", metavar="NAME", default="generic", help="cell library (see bankside list)")
    which.add_argument("--liberty", metavar="FILE", help="Liberty file")
    which.add_argument(
        "--fpga", metavar="FAMILY", help="family of FPGAs in place of a cell library: xcup (UltraScale+)"
    )
    parser.add_argument(
        "--effort",
        choices=("area", "balanced", "speed"),
        help="aim of technology mapping to a cell library; balanced by default",
    )
    _records_argument(parser)
    _json_argument(parser, page=True)


def _synthesised(arguments: argparse.Namespace, selection: Any, tell: Callable[[str], None]) -> dict[str, Any]:
    """The result of a selected configuration in the library, or in the family of FPGAs, that the command line names."""
    from ..evidence.measure import synthesise, synthesise_fpga

    if arguments.fpga is not None:
        return synthesise_fpga(selection, fpga=arguments.fpga, records=arguments.records, progress=tell)
    return synthesise(
        selection,
        library=arguments.library,
        liberty=arguments.liberty,
        effort=arguments.effort or "balanced",
        records=arguments.records,
        progress=tell,
    )


def _synth(arguments: argparse.Namespace) -> int:
    from ..results.terminal import steps

    if arguments.fpga is not None and arguments.effort is not None:
        raise ConfigError("--effort is for a cell library; --fpga takes none")

    if "*" in arguments.unit:
        return _synth_all(arguments)
    selection = _selected(arguments)
    if _dry_run(arguments, selection):
        return 0
    with steps() as tell:
        result = _synthesised(arguments, selection, tell)
    page(arguments, result)
    if arguments.json:
        emit(arguments, result)
    else:
        from ..results.text import fpga_text, synthesis_text

        print((synthesis_text if arguments.fpga is None else fpga_text)(result))
    return 0


def _synth_all(arguments: argparse.Namespace) -> int:
    """Every preset (or the named one) of all units whose names match: a row each."""
    import fnmatch

    from bankside.constraints.core.registry import UNITS

    from ..hardware.selection import select
    from ..results.terminal import steps
    from ..results.text import fpga_table, synthesis_table

    units = [UNITS[name] for name in fnmatch.filter(UNITS, arguments.unit)]
    if not units:
        raise ConfigError(nearest("unit", arguments.unit, UNITS))
    selections = [
        select(unit.name, preset=preset, file=arguments.config, sets=arguments.sets)
        for unit in units
        for preset in ([arguments.preset] if arguments.preset else unit.presets)
    ]
    unique = list({selection.config_hash: selection for selection in selections}.values())
    if arguments.dry_run:
        emit(arguments, {"schema": 1, "selections": [s.arguments for s in unique]})
        return 0
    with steps() as tell:
        results = [_synthesised(arguments, selection, tell) for selection in unique]
    result = {"schema": 1, "results": results, "tools": results[0]["tools"]}
    page(arguments, result)
    if arguments.json:
        emit(arguments, result)
    else:
        print((synthesis_table if arguments.fpga is None else fpga_table)(results))
    return 0


# ---- time -----------------------------------------------------------------------------------------------------------


def cycles_window(text: str) -> tuple[int, int | None]:
    """``FIRST:LAST``; either number may be left out."""
    first, colon, last = text.partition(":")
    if not colon:
        raise argparse.ArgumentTypeError(f"must be FIRST:LAST, not '{text[:40]}'")
    window = _whole(first, 0) if first else 0, _whole(last, 0) if last else None
    if window[1] is not None and window[1] < window[0]:
        raise argparse.ArgumentTypeError(f"must be FIRST:LAST with FIRST no larger than LAST, not '{text[:40]}'")
    return window


def channel_numbers(text: str) -> tuple[int, ...]:
    """Numbers of channels with commas between."""
    return tuple(_whole(part, 0, 61) for part in text.split(","))


#: Options of ``time`` that only a unit, a system or a file has; with another target they are an error.
TIME_ONLY: dict[str, tuple[str, ...]] = {
    "unit": ("preset", "config", "head_dim", "queries", "dry_run"),
    "system": ("devices", "stage"),
    "file": ("mapping",),
}


def _time_arguments(parser: argparse.ArgumentParser) -> None:
    _selection_arguments(parser, target="FILE|SYSTEM:MODEL")
    parser.add_argument("--memory", metavar="M", help="memory; by default the usual one for the target")
    parser.add_argument("--quirks", metavar="Q", help="reproduce this simulator, its defects included")
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
        "--channels", metavar="N", type=positive, help="system: channels of a block; file: channels of plain requests"
    )
    parser.add_argument(
        "--devices", metavar="N", type=positive, help="system: devices that share a matrix (default: 1)"
    )
    parser.add_argument("--stage", metavar="NAME", help="system: only this stage of a block")
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
    _json_argument(parser, page=True)


def _time(arguments: argparse.Namespace) -> int:
    from bankside.constraints.core.registry import UNITS

    from ..studies.trace import EXPORTS, Outputs, Setting, is_system, time_file, time_system

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
        result = time_system(
            target,
            setting,
            outputs,
            tokens=tokens,
            channels=arguments.channels,
            devices=arguments.devices or 1,
            stage=arguments.stage,
        )
    else:
        result = time_file(target, formats[-1] if formats else None, setting, outputs)
    _warn_of_end(result)
    page(arguments, result)
    if arguments.json:
        emit(arguments, result)
    else:
        from ..results.text import trace_text

        print(trace_text(result))
    return 0


def _warn_of_end(result: dict[str, Any]) -> None:
    """Warn if a timeline does not show all cycles."""
    from ..provenance.envelope import warn

    shown = result["timeline"]
    if shown and shown["truncated"]:
        warn(
            f"the timeline ends with cycle {shown['last_cycle']} of {result['cycles']}: viewers take no more than its "
            f"{shown['slices']} slices; --timeline-cycles selects other cycles"
        )


def _time_unit(arguments: argparse.Namespace, tokens: int, outputs: Any) -> int:
    from ..studies.step_time import time_step

    arguments.unit = arguments.target
    selection = _selected(arguments)
    if _dry_run(arguments, selection):
        return 0
    if arguments.quirks is not None or arguments.channels is not None:
        raise ConfigError(
            f"--{'channels' if arguments.quirks is None else 'quirks'} is for a file or a system; "
            f"{arguments.target} is a unit"
        )
    result = time_step(
        selection,
        memory=arguments.memory or "hbm3-5.2",
        tokens=tokens,
        head_dim=arguments.head_dim or 128,
        queries=arguments.queries or 1,
        refresh=arguments.refresh,
        power_limit=not arguments.no_power_limit,
        outputs=outputs,
    )
    _warn_of_end(result)
    page(arguments, result)
    if arguments.json:
        emit(arguments, result)
    else:
        from ..results.text import timing_text

        print(timing_text(result))
    return 0


# ---- eval -----------------------------------------------------------------------------------------------------------


#: Options of ``eval`` for a single layer of AttAcc.
EVAL_LAYER: dict[str, dict[str, Any]] = {
    "--tokens": {"metavar": "L", "type": positive, "help": "tokens of K and V"},
    "--heads-per-stack": {"metavar": "N", "type": positive, "help": "heads on the stack"},
    "--placement": {"metavar": "P", "help": "place of the units: bank, bank-group or buffer (default: bank)"},
    "--power-limit": {
        "action": argparse.BooleanOptionalAction,
        "help": "whether the memory's power limit holds (default: yes)",
    },
    "--bytes": {
        "metavar": "B",
        "type": positive,
        "dest": "element_bytes",
        "help": "bytes of an element: 1 or 2 (default: 2)",
    },
    "--head-dim": {"metavar": "D", "type": positive, "help": "head dimension (default: 128)"},
    "--quirks": {
        "metavar": "Q",
        "help": "attacc-simulator (the default) reproduces the public simulator with its "
        "defects; none leaves the defects out. Without --layer, the quirks of a system: cent-simulator",
    },
    "--trace": {"metavar": "FILE", "help": "write the layer as a trace for the public simulator"},
}


#: Options of ``eval`` that are keys of a system's file: flags, key, and what argparse needs.
EVAL_KEYS: dict[str, tuple[str, dict[str, Any]]] = {
    "--devices": ("device.count", {"metavar": "N", "type": positive, "help": "devices of cent"}),
    "--method": (
        "selection.method",
        {
            "metavar": "M",
            "help": "of starc: which tokens heads read; full, window, quest, sparq, infinigen, starc or top",
        },
    ),
    "--budget": ("selection.budget", {"metavar": "B", "type": int, "help": "of starc: tokens of a selection"}),
    "--prefill": (
        "selection.prompt_tokens",
        {
            "metavar": "P",
            "type": positive,
            "help": "of starc: tokens of the prompt; the first step attends to one more",
        },
    ),
}


def _eval_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("system", metavar="SYSTEM", help="system (see bankside list), or attacc with --layer")
    parser.add_argument(
        "--model",
        metavar="NAME|FILE",
        help="language model, or a Hugging Face config.json (default of starc: llama-7b)",
    )
    _changes_argument(parser)
    parser.add_argument(
        "--context", metavar="N", type=positive, help="tokens in the KV cache of a request (default: 4096)"
    )
    parser.add_argument(
        "--batch",
        metavar="B",
        type=positive,
        help="requests that decode together (default: 16; of cent, a request for each stage)",
    )
    for flag, (_, options) in EVAL_KEYS.items():
        parser.add_argument(flag, **options)
    parser.add_argument(
        "--output-tokens",
        "--decode",
        metavar="N",
        type=positive,
        help="tokens to generate; the context grows by one with each (default: 1)",
    )
    parser.add_argument(
        "--instances", metavar="I", type=positive, help="copies of the system that share the batch (default: 1)"
    )
    parser.add_argument(
        "--workload",
        metavar="NAME|FILE",
        help="instead: decode in steady state, with the memory full of requests of a workload",
    )
    parser.add_argument(
        "--reference",
        metavar="FILE",
        help="instead: dgx, dgx-attacc and dgx-cpu against a CSV file of "
        "results of the AttAcc simulator, or GPUs against a YAML file of timed runs",
    )
    parser.add_argument("--refresh", action="store_true", help="memory timing with refresh")
    parser.add_argument(
        "--split",
        metavar="TPxPP",
        help="tensor and pipeline parallelism, such as 8x4; auto tries all and shows the fastest",
    )
    parser.add_argument("--measure", action="store_true", help="make measurement records that are missing")
    parser.add_argument("--timeline", metavar="FILE", help="write the spans of a decode step, for ui.perfetto.dev")
    _records_argument(parser)
    layer = parser.add_argument_group("one attention layer on one stack of AttAcc")
    layer.add_argument("--layer", action="store_true", help="time a layer instead of a system")
    for flags, options in EVAL_LAYER.items():
        layer.add_argument(flags, default=None, **options)
    _json_argument(parser, page=True)


def _eval(arguments: argparse.Namespace) -> int:
    from ..studies.evaluate import system_changes

    names = {options.get("dest", flag[2:].replace("-", "_")): flag for flag, options in EVAL_LAYER.items()}
    given = {name: getattr(arguments, name) for name in names if getattr(arguments, name) is not None}
    if arguments.reference is not None:
        return _eval_reference(arguments, [names[name] for name in given])
    if arguments.layer:
        if arguments.model is not None:
            raise ConfigError("a layer has no --model: --tokens, --heads-per-stack and --head-dim give its shape")
        from ..studies.attention import evaluate_layer, layer_text

        timed = evaluate_layer(arguments.system, **{"tokens": None, "heads_per_stack": None, **given})
        page(arguments, timed)
        if arguments.json:
            emit(arguments, timed)
        else:
            print(layer_text(timed))
        return 0
    changes = system_changes(arguments.changes)
    if arguments.model is None and arguments.system != "attacc":
        from bankside.models.systems import load_system

        arguments.model = load_system(arguments.system).default_model
    if arguments.model is not None:  # keys of the system's file
        keys = [
            ("quirks", given.pop("quirks", None)),
            *((key, getattr(arguments, flag[2:])) for flag, (key, _) in EVAL_KEYS.items()),
        ]
        for key, value in keys:
            if value is not None:
                if key in changes:
                    raise ConfigError(f"--set {key} and its option can't be combined")
                changes[key] = value
    if arguments.prefill is not None:
        if arguments.context is not None:
            raise ConfigError("--prefill P is --context P+1 with a prompt of P tokens; give one of them")
        arguments.context = arguments.prefill + 1
    if given or (arguments.system == "attacc" and arguments.model is None):
        what = names[next(iter(given))] if given else "attacc"
        raise ConfigError(f"{what} needs --layer")
    if arguments.model is None:
        raise ConfigError("the following arguments are required: --model (see bankside eval --help)")
    from ..results.terminal import steps
    from ..studies.evaluate import evaluate, evaluate_workload

    common = {
        "refresh": arguments.refresh,
        "split": arguments.split,
        "measure": arguments.measure,
        "records": arguments.records,
        "changes": changes,
    }
    load = {
        "context": arguments.context,
        "batch": arguments.batch,
        "output_tokens": arguments.output_tokens,
        "instances": arguments.instances,
    }
    if arguments.workload is not None:
        for name, value in (load | {"timeline": arguments.timeline}).items():
            if value is not None:
                raise ConfigError(f"--{name.replace('_', '-')} can't be combined with --workload, which has its own")
        with steps() as tell:
            result = evaluate_workload(arguments.system, arguments.model, arguments.workload, **common, progress=tell)
    else:
        given = {name: value for name, value in load.items() if value is not None}
        with steps() as tell:
            result = evaluate(
                arguments.system,
                arguments.model,
                **{"context": 4096, "batch": None, **given},
                **common,
                timeline=arguments.timeline,
                progress=tell,
            )
    page(arguments, result)
    if arguments.json:
        emit(arguments, result)
    else:
        from ..results.text import evaluation_text, steady_text

        print(evaluation_text(result) if arguments.workload is None else steady_text(result))
    return 0


def _eval_reference(arguments: argparse.Namespace, others: list[str]) -> int:
    """``others``: options of a layer that were given."""
    from ..studies.attacc_reference import compare_reference, reference_text
    from ..studies.evaluate import system_changes

    words = (
        "model",
        "context",
        "batch",
        "output_tokens",
        "instances",
        "workload",
        "refresh",
        "split",
        "measure",
        "layer",
    )
    others += [f"--{name.replace('_', '-')}" for name in words if getattr(arguments, name) not in (None, False)]
    if others:
        raise ConfigError(f"{others[0]} goes without --reference, whose rows have their own conditions")
    changes = system_changes(arguments.changes)
    if arguments.reference.endswith((".yaml", ".yml")):
        from ..results.terminal import steps
        from ..studies.gpu_reference import compare_gpus, gpus_text

        with steps() as tell:
            result = compare_gpus(arguments.system, arguments.reference, changes, arguments.records, tell)
        text: Callable[[dict[str, Any]], str] = gpus_text
    else:
        result = compare_reference(arguments.system, arguments.reference, changes)
        text = reference_text
    page(arguments, result)
    if arguments.json:
        emit(arguments, result)
    else:
        print(text(result))
    return 0


# ---- serve ----------------------------------------------------------------------------------------------------------


def _above_zero(text: str) -> float:
    """A number above 0."""
    return _real(text, False)


def _not_negative(text: str) -> float:
    """A number of at least 0."""
    return _real(text, True)


def _real(text: str, zero: bool) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not (0 <= value <= 1e9) or value == 0 and not zero:
        raise argparse.ArgumentTypeError(f"must be a number {'of at least' if zero else 'above'} 0, not '{text[:40]}'")
    return value


def _serve_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("system", metavar="SYSTEM", help="system (see bankside list)")
    parser.add_argument(
        "--model", metavar="NAME|FILE", required=True, help="language model, or a Hugging Face config.json"
    )
    _changes_argument(parser)
    work = parser.add_argument_group("requests")
    work.add_argument(
        "--workload",
        metavar="NAME|FILE",
        required=True,
        help="workload by name, its description (YAML), or a file of requests",
    )
    work.add_argument(
        "--format", metavar="F", help="format of the file: jsonl, vidur, tsv or neupims; by its first line if not given"
    )
    work.add_argument(
        "--requests", metavar="N", type=positive, help="requests to draw (1000), or most requests to read (all)"
    )
    work.add_argument(
        "--output-tokens",
        metavar="N",
        type=positive,
        default=128,
        help="output tokens of requests in files without outputs",
    )
    work.add_argument(
        "--rate",
        metavar="R",
        type=_not_negative,
        help="arrivals per second, 0: all at once; by default the workload's arrivals, or all at once if it has none",
    )
    work.add_argument(
        "--burstiness",
        metavar="CV",
        type=_not_negative,
        help="coefficient of variation of the times between arrivals (default: 1, Poisson)",
    )
    work.add_argument("--seed", metavar="S", type=natural, default=1, help="seed of lengths and arrivals")
    how = parser.add_argument_group("scheduling")
    how.add_argument(
        "--batch-limit",
        metavar="B",
        type=positive,
        help="most requests in work at once in an instance (default: 256; 65536 with --search batch)",
    )
    how.add_argument(
        "--token-budget", metavar="N", type=positive, default=8192, help="most tokens of an iteration with prefill"
    )
    how.add_argument("--chunked", action="store_true", help="prefill in pieces, beside decoding")
    how.add_argument("--preemption", metavar="P", default="recompute", help="recompute or reserve")
    how.add_argument("--instances", metavar="I", type=positive, default=1, help="copies of the system")
    how.add_argument("--dispatch", metavar="D", default="round-robin", help="round-robin or least-loaded")
    how.add_argument(
        "--fast",
        metavar="TOLERANCE",
        type=_above_zero,
        help="interpolate decode steps, each within this relative error (0.01)",
    )
    limits = parser.add_argument_group("limits")
    limits.add_argument("--slo", metavar="MS", type=_above_zero, help="limit for the time per output token")
    limits.add_argument("--ttft-slo", metavar="MS", type=_above_zero, help="limit for the time to first token")
    limits.add_argument(
        "--search", choices=("batch", "rate"), help="find the largest batch or arrival rate that meets --slo"
    )
    limits.add_argument(
        "--slo-percentile", metavar="P", type=_above_zero, default=99, help="percentile of TPOT for --search"
    )
    parser.add_argument("--refresh", action="store_true", help="memory timing with refresh")
    parser.add_argument("--measure", action="store_true", help="make measurement records that are missing")
    _records_argument(parser)
    parser.add_argument("--csv", metavar="FILE", help="write a row for each request, with the columns of LLMServingSim")
    parser.add_argument("--plot", metavar="FILE", help="write a picture (.png, .svg or .pdf)")
    parser.add_argument("--timeline", metavar="FILE", help="write iterations and requests, for ui.perfetto.dev")
    parser.add_argument(
        "--write-requests", metavar="FILE", help="write the requests themselves (.jsonl, .csv as vidur, or .tsv)"
    )
    _json_argument(parser, page=True)


def _serve(arguments: argparse.Namespace) -> int:
    from bankside.models.serving import Policy

    from ..studies.evaluate import system_changes
    from ..studies.serve import Outputs, find_workload, run, serving_table

    a = arguments
    if a.slo_percentile > 100:
        raise ConfigError(f"--slo-percentile must be at most 100, not {a.slo_percentile:g}")
    if a.search == "rate" and a.rate is not None:
        raise ConfigError("--search rate chooses the rate: it can't be combined with --rate")
    fast = {} if a.fast is None else {"mode": "fast", "tolerance": a.fast}
    limit = a.batch_limit or (1 << 16 if a.search == "batch" else 256)
    policy = Policy(
        batch_limit=limit,
        token_budget=a.token_budget,
        chunked=a.chunked,
        preemption=a.preemption,
        instances=a.instances,
        dispatch=a.dispatch,
        **fast,
    )
    outputs = Outputs(a.csv, a.plot, a.timeline, a.write_requests)
    searched = a.search == "rate"
    workload = find_workload(
        a.workload,
        form=a.format,
        requests=a.requests,
        rate=0 if searched else a.rate,
        burstiness=None if searched else a.burstiness,
        output_tokens=a.output_tokens,
        seed=a.seed,
    )
    result = run(
        a.system,
        a.model,
        workload,
        policy,
        outputs,
        changes=system_changes(a.changes),
        slo_ms=a.slo,
        ttft_slo_ms=a.ttft_slo,
        search=a.search,
        percentile=a.slo_percentile,
        burstiness=1.0 if a.burstiness is None else a.burstiness,
        seed=a.seed,
        refresh=a.refresh,
        measure=a.measure,
        records=a.records,
        log=log,
    )
    page(arguments, result)
    if a.json:
        emit(arguments, result)
    else:
        from rich.console import Console

        console = Console()
        for part in serving_table(result):
            console.print(part, highlight=False, soft_wrap=isinstance(part, str), markup=False)
    return 0


# ---- repro ----------------------------------------------------------------------------------------------------------


def _repro_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paper", metavar="PAPER", nargs="?", help="paper; --list without PAPER lists all papers")
    parser.add_argument("--claims", metavar="ID,...", help="compute only these claims; all by default")
    parser.add_argument(
        "--list", action="store_true", help="list the claims, or without PAPER the papers; compute nothing"
    )
    parser.add_argument("--figure", metavar="NAME", help="draw a figure of the paper with our values beside it")
    parser.add_argument("--output", metavar="FILE.png", help="the figure's file; out/repro/PAPER-NAME.png by default")
    parser.add_argument(
        "--results",
        metavar="FILE.csv",
        help="write the results of the paper's own evaluation, in the columns of its artifact (cent)",
    )
    parser.add_argument(
        "--no-measure", action="store_false", dest="measure", help="do not make measurement records that are missing"
    )
    parser.add_argument(
        "--measure-limit",
        metavar="S",
        type=positive,
        default=540,
        help="most seconds for all missing measurements together",
    )
    _records_argument(parser)
    _json_argument(parser, page=True)


def _repro(arguments: argparse.Namespace) -> int:
    from bankside.models.papers import load_paper

    from ..studies import repro

    if arguments.figure is None and arguments.output is not None:
        raise ConfigError("--output needs --figure")
    if arguments.paper is None:
        if not arguments.list or arguments.figure is not None or arguments.claims is not None:
            raise ConfigError(
                "the following arguments are required: PAPER, or --list alone (see bankside repro --help)"
            )
        listed = repro.papers()
        page(arguments, listed)
        if arguments.json:
            emit(arguments, listed)
        else:
            print(repro.papers_text(listed))
        return 0
    if arguments.results is not None:
        from ..results.terminal import steps

        for option in ("claims", "list", "figure"):
            if getattr(arguments, option):
                raise ConfigError(f"--results writes a table alone: it can't be combined with --{option}")
        with steps() as tell:
            written = repro.results(arguments.paper, arguments.results, tell)
        if arguments.json:
            emit(arguments, written)
        else:
            print(f"{written['rows']} rows: {written['file']}")
        return 0
    if arguments.figure is not None:
        from ..studies.repro_figures import draw

        for option in ("claims", "list"):
            if getattr(arguments, option):
                raise ConfigError(f"--figure draws its own claims: it can't be combined with --{option}")
        drawn = draw(
            arguments.paper,
            arguments.figure,
            arguments.output,
            records=arguments.records,
            measure=arguments.measure,
            limit_s=arguments.measure_limit,
        )
        page(arguments, drawn)
        if arguments.json:
            emit(arguments, drawn)
        else:
            print(drawn["figure"])
        repro.require_measured(drawn)
        return 0
    if arguments.list:
        paper = load_paper(arguments.paper)
        claims = repro.chosen_claims(paper, arguments.claims)
        listed = repro.listing(paper, claims)
        page(arguments, listed)
        if arguments.json:
            emit(arguments, listed)
        else:
            print(repro.listing_text(listed))
        return 0
    result = repro.repro(
        arguments.paper,
        claims=arguments.claims,
        records=arguments.records,
        measure=arguments.measure,
        limit_s=arguments.measure_limit,
    )
    page(arguments, result)
    if arguments.json:
        emit(arguments, result)
    else:
        print(repro.repro_text(result))
    repro.require_measured(result)
    return 0


# ---- calibrate ------------------------------------------------------------------------------------------------------


def _calibrate_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("system", metavar="SYSTEM", help="system that moves tokens between tiers (pam), or its file")
    parser.add_argument("--model", metavar="NAME|FILE", help="language model")
    _changes_argument(parser)
    parser.add_argument(
        "--trace",
        metavar="FILE",
        help="instead: find parameters of synthetic activations that reproduce an attention trace",
    )
    parser.add_argument("--context", metavar="N", type=positive, help="tokens of each request (default: 738)")
    parser.add_argument("--rounds", metavar="N", type=positive, help="most rounds (default: 10)")
    parser.add_argument("--output", metavar="FILE", help="add the result to this table of ratios")
    parser.add_argument("--measure", action="store_true", help="make measurement records that are missing")
    _records_argument(parser)
    _json_argument(parser, page=True)


def _calibrate(arguments: argparse.Namespace) -> int:
    from ..results.terminal import steps
    from ..studies.evaluate import calibrate, fit_activations, system_changes

    changes = system_changes(arguments.changes)
    if arguments.trace is not None:
        for name in ("model", "context", "rounds", "output"):
            if getattr(arguments, name) is not None:
                raise ConfigError(f"--trace fits activations, not ratios: it can't be combined with --{name}")
        fitted = fit_activations(arguments.system, arguments.trace, changes=changes)
        page(arguments, fitted)
        if arguments.json:
            emit(arguments, fitted)
        else:
            print(" ".join(f"--set sparsity.{key}={value:g}" for key, value in fitted["sparsity"].items()))
        return 0
    if arguments.model is None:
        raise ConfigError("the following arguments are required: --model, or --trace (see bankside calibrate --help)")
    with steps() as tell:
        result = calibrate(
            arguments.system,
            arguments.model,
            context=arguments.context or 738,
            rounds=arguments.rounds or 10,
            output=arguments.output,
            measure=arguments.measure,
            records=arguments.records,
            changes=changes,
            progress=tell,
        )
    page(arguments, result)
    if arguments.json:
        emit(arguments, result)
    else:
        verdict = (
            "the tiers take equal time" if result["equal"] else "no ratios make the tiers equal; these come nearest"
        )
        print(f"x {result['x']:g}, y {result['y']:g}: {verdict} ({result['conditions']})")
    return 0


# ---- records --------------------------------------------------------------------------------------------------------


def _record_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "pattern", metavar="PATTERN", nargs="?", default="*", help="only units whose names match: 'pam-*'"
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--make", action="store_true", help="make the missing, stale and refused records")
    what.add_argument("--remake", action="store_true", help="make all records again")
    what.add_argument("--check", action="store_true", help="measure again and compare: exit code 1 if anything differs")
    _records_argument(parser)
    _json_argument(parser)


def _record_inventory(arguments: argparse.Namespace) -> int:
    from ..evidence.records import RecordFolder
    from ..studies import inventory

    folder = RecordFolder(arguments.records)
    differ: list[dict[str, Any]] = []
    if arguments.make or arguments.remake:
        rows = inventory.make_records(folder, pattern=arguments.pattern, everything=arguments.remake, tell=log)
    else:
        rows = inventory.inventory(folder, inventory.wanted(folder, arguments.pattern))
        if arguments.check:
            differ = inventory.check_records(
                folder, [row.measurement for row in rows if row.state in ("own", "shipped")], log
            )
    if arguments.json:
        emit(
            arguments,
            {
                "schema": 1,
                "folder": str(folder.folder),
                "shipped": str(folder.shipped),
                "measurements": [
                    {"command": row.measurement.command, "state": row.state, "record": row.name, "why": row.why}
                    for row in rows
                ],
                "differ": differ if arguments.check else None,
            },
        )
    else:
        print(inventory.inventory_text(rows))
        for one in differ:
            print(f"differs  {one['command']}  ({', '.join(one['differs'])})")
    if differ:
        raise CheckFailed(f"{len(differ)} records differ from new measurements; the first: {differ[0]['record']}")
    return 0


# ---- explain --------------------------------------------------------------------------------------------------------


def _explain_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT.json", help="output of a command with --json")
    _records_argument(parser)
    _json_argument(parser)


def _explain(arguments: argparse.Namespace) -> int:
    from ..evidence.explain import explain, explain_tree

    result = explain(arguments.result, arguments.records)
    if arguments.json:
        emit(arguments, result)
        return 0
    from rich.console import Console

    console = Console() if sys.stdout is not None and sys.stdout.isatty() else Console(width=1000)
    console.print(explain_tree(result), highlight=False)
    console.print(
        "nothing has changed since"
        if result["unchanged"]
        else f"changed since, gone or unknown: {', '.join(result['changed'])}",
        highlight=False,
        markup=False,
    )
    return 0


# ---- schema ---------------------------------------------------------------------------------------------------------


def _schema_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("of", metavar="COMMAND", help="command that has --json")


def _schema(arguments: argparse.Namespace) -> int:
    from ..results.schemas import schema_of

    print(json.dumps(schema_of(arguments.of), indent=2))
    return 0


# ---- cache ----------------------------------------------------------------------------------------------------------


def _cache_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--prune",
        metavar="DAYS",
        type=_not_negative,
        help="remove files that were not used for this many days; records stay",
    )
    _json_argument(parser)


def _cache(arguments: argparse.Namespace) -> int:
    from .cache import cache_text, contents, prune

    result = contents() if arguments.prune is None else prune(arguments.prune)
    if arguments.json:
        emit(arguments, result)
    else:
        print(cache_text(result))
    return 0


# ---- kernels --------------------------------------------------------------------------------------------------------


def _kernels_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--from",
        dest="origin",
        metavar="GPU/ENGINE",
        help="import from aiconfigurator-core, as h100_sxm/vllm or h100_sxm/vllm/0.24.0; needs -o",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="file for the imported kernel records")
    parser.add_argument(
        "--whole", action="store_true", help="import all shapes, also those that no built-in language model needs"
    )
    _json_argument(parser)


def _kernels(arguments: argparse.Namespace) -> int:
    from ..results.terminal import steps
    from ..studies.kernels import import_kernels, kernel_list, kernels_text

    if (arguments.origin is None) != (arguments.output is None):
        raise ConfigError("--from and -o come together")
    if arguments.origin is None:
        result = kernel_list()
    else:
        with steps() as tell:
            result = import_kernels(arguments.origin, arguments.output, whole=arguments.whole, progress=tell)
    if arguments.json:
        emit(arguments, result)
    else:
        print(kernels_text(result))
    return 0


# ---- writeback ------------------------------------------------------------------------------------------------------


#: Options of ``writeback`` that describe work; with ``--check`` they are an error.
WRITEBACK: dict[str, dict[str, Any]] = {
    "--requests": {"metavar": "B", "type": positive, "help": "requests that decode together (default: 4)"},
    "--heads": {"metavar": "H", "type": positive, "help": "heads of a request (default: 8)"},
    "--prefill": {
        "metavar": "S",
        "type": natural,
        "help": "tokens that are written before the first step (default: 0)",
    },
    "--tokens": {"metavar": "N", "type": positive, "help": "decode steps (default: 256)"},
    "--head-dim": {"metavar": "D", "type": positive, "help": "head dimension (default: 128)"},
    "--bytes": {"metavar": "B", "type": positive, "help": "bytes of an element: 1, 2 or 4 (default: 2)"},
    "--interval": {"metavar": "C", "type": positive, "help": "tokens that are written together (default: 2)"},
    "--granularity": {
        "metavar": "B",
        "type": positive,
        "help": "smallest direct write of the drive in bytes (default: 512)",
    },
    "--extent-tokens": {
        "metavar": "N",
        "type": positive,
        "help": "tokens for which an extent has room (default: all of a request)",
    },
    "--slots": {
        "metavar": "N",
        "type": positive,
        "help": "intervals that the host buffer holds for a head (default: 2)",
    },
    "--workers": {
        "metavar": "N",
        "type": functools.partial(_whole, least=1, most=256),
        "help": "threads that write (default: 4)",
    },
    "--step-ms": {"metavar": "T", "type": _not_negative, "help": "least time of a step in ms (default: 0)"},
    "--seed": {"metavar": "S", "type": natural, "help": "seed of the rows (default: 1)"},
    "--dir": {"metavar": "DIR", "help": "folder of the file, on the drive to measure (default: out/writeback)"},
    "--sync": {
        "action": "store_true",
        "default": None,
        "help": "hold rows until the drive confirms them, against a loss of power",
    },
    "--keep": {"action": "store_true", "default": None, "help": "leave the file in its folder"},
}


def _writeback_arguments(parser: argparse.ArgumentParser) -> None:
    for flag, options in WRITEBACK.items():
        parser.add_argument(flag, **options)
    parser.add_argument(
        "--check", metavar="FILE", help="instead: list the contents of a spill file, and compare its checksums"
    )
    _json_argument(parser)


def _writeback(arguments: argparse.Namespace) -> int:
    from ..results.terminal import steps
    from ..studies.writeback import Job, check_result, geometry_of, require_same_rows, writeback_result, writeback_text

    given = {
        name: value
        for flag in WRITEBACK
        if (value := getattr(arguments, name := flag[2:].replace("-", "_"))) is not None
    }
    if arguments.check is not None:
        if given:
            raise ConfigError(f"--{next(iter(given)).replace('_', '-')} describes work, which --check does not do")
        result = check_result(arguments.check)
    else:
        names = {"prefill": "prefill_tokens", "bytes": "element_bytes", "granularity": "granularity_bytes"}
        given = {names.get(name, name): value for name, value in given.items()}

        def take(**defaults: Any) -> dict[str, Any]:
            return {name: given.get(name, default) for name, default in defaults.items()}

        job = Job(**{name: given[name] for name in Job.__dataclass_fields__ if name in given})
        geometry = geometry_of(
            job, **take(head_dim=128, element_bytes=2, interval=2, granularity_bytes=512, extent_tokens=None)
        )
        with steps() as tell:
            result = writeback_result(
                job,
                given.get("dir", os.path.join("out", "writeback")),
                geometry,
                **take(sync=False, workers=4, slots=2, keep=False, seed=1),
                progress=tell,
            )
    if arguments.json:
        emit(arguments, result)
    else:
        print(writeback_text(result))
    require_same_rows(result)
    return 0


# ---- completion -----------------------------------------------------------------------------------------------------


def _completion_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", help="bash, zsh or fish")


def _completion(arguments: argparse.Namespace) -> int:
    from .completion import SHELLS, shell_code

    if arguments.shell not in SHELLS:
        raise ConfigError(nearest("shell", arguments.shell, SHELLS))
    print(shell_code(arguments.shell))
    return 0


# ---- sweep ----------------------------------------------------------------------------------------------------------


def _columns(text: str) -> tuple[str, str]:
    """Two names with a comma between."""
    first, comma, second = text.partition(",")
    if not first or not comma or not second or "," in second:
        raise argparse.ArgumentTypeError(f"must be two columns, X,Y, not '{text[:60]}'")
    return first, second


def _sweep_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="UNIT|SYSTEM", help="unit or system to sweep (see bankside list)")
    parser.add_argument(
        "axes",
        metavar="KEY=A,B,C",
        nargs="+",
        help="values of a key: of the unit's configuration or "
        "workload, of the system's file, or a setting of eval or serve (context=1024,4096)",
    )
    parser.add_argument("--output", metavar="FILE", required=True, help="file for the rows (.csv or .jsonl)")
    fixed = parser.add_argument_group("settings of all combinations")
    fixed.add_argument("--preset", metavar="P", help="unit: published configuration to start from")
    fixed.add_argument("--sim", action="store_true", help="unit: co-simulate too, beside the synthesis")
    fixed.add_argument("--model", metavar="NAME|FILE", help="system: language model")
    fixed.add_argument("--context", metavar="N", type=positive, help="system: tokens in the KV cache (4096)")
    fixed.add_argument("--batch", metavar="B", type=positive, help="system: requests that decode together (16)")
    fixed.add_argument("--output-tokens", metavar="N", type=positive, help="system: tokens to generate (1)")
    fixed.add_argument("--instances", metavar="I", type=positive, help="system: copies of the system (1)")
    fixed.add_argument("--split", metavar="TPxPP", help="system: tensor and pipeline parallelism")
    fixed.add_argument("--workload", metavar="NAME|FILE", help="system: serve requests of a workload instead")
    fixed.add_argument("--requests", metavar="N", type=positive, help="requests of the workload (1000)")
    fixed.add_argument("--rate", metavar="R", type=_not_negative, help="arrivals per second, 0: all at once")
    fixed.add_argument(
        "--batch-limit", metavar="B", type=positive, help="most requests in work at once in an instance (256)"
    )
    fixed.add_argument(
        "--token-budget", metavar="N", type=positive, help="most tokens of an iteration with prefill (8192)"
    )
    fixed.add_argument("--slo", metavar="MS", type=_above_zero, help="limit for the time per output token")
    parser.add_argument(
        "--pareto",
        metavar="X,Y",
        type=_columns,
        help="draw these two columns, and mark the rows that no other row beats",
    )
    parser.add_argument(
        "--picture", metavar="FILE", help="file for --pareto (.png, .svg or .pdf); OUTPUT.png by default"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--workers", metavar="N", type=positive, help="processes; one per core by default")
    where.add_argument("--dask", metavar="ADDRESS", help="Dask scheduler whose workers compute the rows")
    parser.add_argument(
        "--no-measure", action="store_false", dest="measure", help="do not make measurement records that are missing"
    )
    _records_argument(parser)
    _json_argument(parser)


def _sweep(arguments: argparse.Namespace) -> int:
    from pathlib import Path

    from bankside.constraints.core.workspace import write_files

    from ..results.terminal import counting
    from ..studies import sweep

    a = arguments
    if a.picture is not None and a.pareto is None:
        raise ConfigError("--picture needs --pareto")
    shown = Path(a.picture or f"{a.output}.png")
    if a.pareto is not None and shown.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ConfigError(f"--picture: a picture is .png, .svg or .pdf, not '{shown.name}'")
    names = ("preset", "sim", *sweep.LOAD, *sweep.SERVING)
    jobs = sweep.jobs_of(
        a.target, a.axes, settings={name: getattr(a, name) for name in names}, records=a.records, measure=a.measure
    )
    with counting("combinations") as tell:
        result = sweep.sweep(jobs, a.output, workers=a.workers, dask=a.dask, progress=tell)
    result |= {"pareto": None, "picture": None, "front": None}
    if a.pareto is not None:
        data, front = sweep.picture(result["rows"], a.pareto, shown.suffix.lower()[1:])
        write_files(shown.parent, {shown.name: data})
        result |= {"pareto": list(a.pareto), "picture": str(shown), "front": front}
    if a.json:
        emit(arguments, result)
    else:
        from ..results.text import sweep_text

        print(sweep_text(result))
    return 0


# ---- demo, rtl, bench -----------------------------------------------------------------------------------------------


def _demo_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", metavar="DIR", default=os.path.join("out", "demo"), help="folder for the page"
    )
    _json_argument(parser)


def _demo(arguments: argparse.Namespace) -> int:
    from .demo import run

    result = run(arguments.output, log)
    if arguments.json:
        emit(arguments, result)
    return 0


def _rtl_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="DIR", default="rtl", help="folder that holds one folder per preset")
    parser.add_argument("--check", action="store_true", help="only compare: exit code 1 if anything differs")
    _json_argument(parser)


def _rtl(arguments: argparse.Namespace) -> int:
    from ..hardware.generate import tool_versions
    from ..hardware.published import differing, rebuild, require_same

    written = [] if arguments.check else [str(path) for path in rebuild(arguments.output)]
    differ = differing(arguments.output) if arguments.check else []
    if arguments.json:
        emit(
            arguments,
            {"schema": 1, "folder": arguments.output, "files": written, "differ": differ, "tools": tool_versions()},
        )
    elif arguments.check:
        require_same(arguments.output, differ)
        print(f"{arguments.output}: equal to the output of the generators")
    else:
        print("\n".join(written))
    require_same(arguments.output, differ)
    return 0


def _bench_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "pattern", metavar="PATTERN", nargs="?", default="*", help="only benchmarks whose names match: 'deco*'"
    )
    parser.add_argument(
        "--keep", action="store_true", help="add the run to the history: date, version, commit, machine, figures"
    )
    parser.add_argument(
        "--compare", action="store_true", help="show how many times as fast this run is as the last run in the history"
    )
    parser.add_argument(
        "--history",
        metavar="FILE",
        help="file of runs, one a line (docs/bench-history.jsonl of a checkout, else bench-history.jsonl)",
    )
    _json_argument(parser)


def _bench(arguments: argparse.Namespace) -> int:
    from ..studies.benchmark import HISTORY, compared, entry_of, keep, last, lines, run

    history = arguments.history or HISTORY
    before = last(history) if arguments.compare else None
    if arguments.keep:
        keep(history)  # a file that is no history is found before minutes of measuring
    result = run(
        log, arguments.pattern, (lambda line: None) if arguments.json else functools.partial(print, flush=True)
    )
    entry = entry_of(result["results"])
    if arguments.keep:
        keep(history, entry)
        log(f"added to {history}")
    if before and arguments.json:
        result |= {"before": before.model_dump(exclude={"results"}), "comparison": compared(before, entry)}
    elif before:
        print("\n".join(lines(before, entry)))
    if arguments.json:
        emit(arguments, result)
    return 0


# ---- compile --------------------------------------------------------------------------------------------------------


def _compile_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="NAME|FILE", help="language model, or a Hugging Face config.json")
    parser.add_argument(
        "--system", metavar="SYSTEM", default="lol-pim", help="system of modules: lol-pim, aimx-pim or a file"
    )
    _changes_argument(parser)
    parser.add_argument(
        "--tokens", metavar="N", type=positive, default=4096, help="tokens of the request, the new one included"
    )
    parser.add_argument("--operator", metavar="OP", help="only this operator of the table")
    parser.add_argument("--listing", action="store_true", help="print the commands too")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write the words of the program for the dispatcher; bankside time FILE times them",
    )
    _records_argument(parser)
    _json_argument(parser)


def _compile(arguments: argparse.Namespace) -> int:
    from ..studies.compile import compile_result, compile_text
    from ..studies.evaluate import system_changes

    result = compile_result(
        arguments.model,
        arguments.system,
        tokens=arguments.tokens,
        operator=arguments.operator,
        listing=arguments.listing,
        output=arguments.output,
        records=arguments.records,
        changes=system_changes(arguments.changes),
    )
    if arguments.json:
        emit(arguments, result)
    else:
        print(compile_text(result))
    return 0


# ---- decode, capture -------------------------------------------------------------------------------------------------


def system_names(text: str) -> list[str]:
    """Names of systems with commas between."""
    return text.split(",")


def _decode_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        nargs="?",
        help="model: a local Hugging Face folder of the LLaMA architecture; the model of the package by default",
    )
    parser.add_argument(
        "--prompt", metavar="FILE", required=True, help="text to begin with; with --teacher-forced, the text itself"
    )
    parser.add_argument(
        "--system",
        metavar="S",
        default="float32",
        help="what computes the attention: float32, float16, "
        "pam, pam-hbm, lol-pim, cent, cent-maximum, cent-taylor, inf2 or inf2-fp32; sparse attention "
        "before it as in quest-256-pam or window-256-cent",
    )
    parser.add_argument(
        "--tokens",
        metavar="N",
        type=positive,
        help="tokens to generate (default: 64); with --teacher-forced, tokens of the text to use (default: all)",
    )
    parser.add_argument("--teacher-forced", action="store_true", help="evaluate the text itself; generate nothing")
    parser.add_argument(
        "--compare", metavar="S,S", type=system_names, default=[], help="further systems, on the same tokens"
    )
    parser.add_argument(
        "--temperature", metavar="T", type=_not_negative, default=0.0, help="of sampling; 0: the most probable token"
    )
    parser.add_argument("--seed", metavar="N", type=natural, default=1, help="of sampling")
    parser.add_argument("--hazards", action="store_true", help="measure what formats and orders of sums do to the text")
    parser.add_argument(
        "--rtl",
        metavar="LAYER.HEAD,...|all",
        help="query heads that the Verilog of the system's unit "
        "computes, from the prompt's last token on; its bits are compared with the model's",
    )
    parser.add_argument(
        "--rtl-memory", metavar="NAME", help="with --rtl: keys and values come to the unit at the cycles of this memory"
    )
    parser.add_argument(
        "--rtl-merge",
        action="store_true",
        help="with --rtl: the reduction units of PAM's bank groups are in Verilog too",
    )
    parser.add_argument(
        "--rtl-accelerator",
        action="store_true",
        help="with --rtl: INF2's whole accelerator is in Verilog, with its softmax",
    )
    _records_argument(parser)
    _json_argument(parser, page=True)


def _decode(arguments: argparse.Namespace) -> int:
    from ..results.terminal import counting
    from ..studies.decode import decode_result, decode_text

    with counting("tokens") as tell:
        result = decode_result(
            arguments.folder,
            arguments.prompt,
            arguments.system,
            tokens=arguments.tokens,
            forced=arguments.teacher_forced,
            compared=arguments.compare,
            temperature=arguments.temperature,
            seed=arguments.seed,
            measured=arguments.hazards,
            records=arguments.records,
            rtl=arguments.rtl,
            rtl_memory=arguments.rtl_memory,
            rtl_merge=arguments.rtl_merge,
            rtl_accelerator=arguments.rtl_accelerator,
            count=tell,
        )
    page(arguments, result)
    if arguments.json:
        emit(arguments, result)
    else:
        print(decode_text(result))
    return 130 if result["interrupted"] else 0


def _capture_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="MODEL_FOLDER", help="local Hugging Face folder of the LLaMA architecture")
    parser.add_argument("--text", metavar="FILE", required=True, help="text that the model reads")
    parser.add_argument("--tokens", metavar="N", type=positive, help="tokens of the text to use (default: all)")
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="folder for the files")
    _json_argument(parser)


def _capture(arguments: argparse.Namespace) -> int:
    from ..studies.decode import capture_result

    result = capture_result(arguments.folder, arguments.text, arguments.output, tokens=arguments.tokens)
    if arguments.json:
        emit(arguments, result)
    else:
        print(
            f"{result['folder']}: {result['tokens']} tokens, {result['layers']} layers, {result['heads']} heads on "
            f"{result['kv_heads']} of keys and values; {result['steps']} steps of attention in {result['trace']}"
        )
    return 0


# ---- sparse ----------------------------------------------------------------------------------------------------------


def budgets(text: str) -> list[Any]:
    """Tokens or shares of the context with commas between: 1024,1/4."""
    from fractions import Fraction

    out: list[Any] = []
    for word in text.split(","):
        whole = re.fullmatch(r"\d{1,12}", word)
        share = re.fullmatch(r"(\d{1,6})/(\d{1,6})", word)
        if whole and int(word):
            out.append(int(word))
        elif share and 0 < int(share[1]) <= int(share[2]):
            out.append(Fraction(int(share[1]), int(share[2])))
        else:
            raise argparse.ArgumentTypeError(
                f"a budget must be a number of tokens of at least 1, or a share such as 1/8, not '{word:.40}'"
            )
    return out


def head_of(text: str) -> tuple[int, int]:
    """A query head as LAYER.HEAD."""
    found = re.fullmatch(r"(\d{1,6})\.(\d{1,6})", text)
    if not found:
        raise argparse.ArgumentTypeError(f"a head must be LAYER.HEAD, such as 2.1, not '{text:.40}'")
    return int(found[1]), int(found[2])


def _sparse_arguments(parser: argparse.ArgumentParser) -> None:
    from ..studies.sparse import DEFAULT_METHODS

    parser.add_argument(
        "folder",
        metavar="FOLDER",
        nargs="?",
        help="model: a local Hugging Face folder of the LLaMA architecture; the model of the package by default",
    )
    parser.add_argument("--text", metavar="FILE", help="text; the held-out text of the package's model by default")
    parser.add_argument("--capture", metavar="DIR", help="in place of a text: a capture of the model")
    parser.add_argument(
        "--tokens", metavar="N", type=positive, help="tokens of the text (default: 2048, or as many as there are)"
    )
    parser.add_argument(
        "--windows", metavar="N", type=positive, default=1, help="so many texts that follow each other in the file"
    )
    parser.add_argument(
        "--prompt", metavar="N", type=positive, help="first tokens that attend to all (default: three quarters)"
    )
    parser.add_argument(
        "--methods",
        metavar="M,M",
        type=system_names,
        default=list(DEFAULT_METHODS),
        help=f"of {', '.join(DEFAULT_METHODS)} (default: all)",
    )
    parser.add_argument(
        "--budgets",
        metavar="B,B",
        type=budgets,
        default="1/2,1/4,1/8,1/16",
        help="tokens that a method may select, or shares of the text",
    )
    parser.add_argument(
        "--full-layers", metavar="N", type=natural, default=1, help="first layers that attend to all tokens"
    )
    parser.add_argument(
        "--interval", metavar="N", type=natural, default=128, help="of starc: tokens between two clusterings"
    )
    parser.add_argument("--tokens-per-cluster", metavar="N", type=natural, default=32, help="of starc, on average")
    parser.add_argument(
        "--recent-inside",
        action="store_true",
        help="of starc: tokens that are not clustered yet count towards the budget",
    )
    parser.add_argument("--pooled", action="store_true", help="of starc: queries that share keys share a selection")
    parser.add_argument("--seed", metavar="N", type=natural, default=1, help="of k-means")
    parser.add_argument("--no-perplexity", action="store_true", help="leave out decoding with the selection")
    parser.add_argument("--plot", metavar="FILE", help="write the figures by budget as a picture (.png, .svg or .pdf)")
    parser.add_argument(
        "--picture",
        metavar="FILE",
        help="write the rows of memory that selections of the last token "
        "touch, with the smallest budget (.png, .svg or .pdf)",
    )
    parser.add_argument(
        "--head",
        metavar="LAYER.HEAD",
        type=head_of,
        help="query head of that picture (default: the first one that selects)",
    )
    _json_argument(parser)


def _sparse(arguments: argparse.Namespace) -> int:
    from ..results.terminal import counting
    from ..studies.sparse import sparse_result, sparse_table

    a = arguments
    starc = {
        "interval": a.interval,
        "tokens_per_cluster": a.tokens_per_cluster,
        "inside": a.recent_inside,
        "pooled": a.pooled,
        "seed": a.seed,
    }
    with counting("selections") as tell:
        result = sparse_result(
            a.folder,
            text=a.text,
            captured=a.capture,
            methods=a.methods,
            budgets=a.budgets,
            tokens=a.tokens,
            prompt=a.prompt,
            windows=a.windows,
            full_layers=a.full_layers,
            options={"starc": starc},
            in_loop=not a.no_perplexity,
            head=a.head,
            plot=a.plot,
            picture=a.picture,
            count=tell,
        )
    if a.json:
        emit(arguments, result)
    else:
        from rich.console import Console

        console = Console()
        for part in sparse_table(result):
            console.print(part, markup=False, highlight=False)
    return 0


# ---- asm, disasm -----------------------------------------------------------------------------------------------------


def _device_arguments(parser: argparse.ArgumentParser) -> None:
    """The device whose instructions a text has: a configuration of its decoder."""
    parser.add_argument(
        "--preset", metavar="P", help="configuration of cent-decoder, whose device decides about legal operands"
    )
    parser.add_argument("--config", metavar="FILE", help="YAML file with configuration keys (and 'preset')")
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        dest="sets",
        help="one configuration key; may be repeated",
    )


def _device(arguments: argparse.Namespace) -> Any:
    from ..hardware.selection import select

    return select("cent-decoder", preset=arguments.preset, file=arguments.config, sets=arguments.sets).config


def _asm_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="text: an instruction on each line")
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help="file for the words")
    parser.add_argument(
        "--format", choices=("bin", "hex"), help="of OUT; by default hex for .hex, .mem and .txt, else bin"
    )
    parser.add_argument(
        "--written",
        metavar="SLOTS",
        action="append",
        default=[],
        help="slots that are written before the program, such as 0-511; may be repeated",
    )
    _device_arguments(parser)
    _json_argument(parser)


def _asm(arguments: argparse.Namespace) -> int:
    from ..studies.assemble import assemble_result, size_text

    result = assemble_result(
        arguments.file, _device(arguments), arguments.output, form=arguments.format, written=arguments.written
    )
    if arguments.json:
        emit(arguments, result)
    else:
        print(size_text(result))
    return 0


def _disasm_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="words, binary or in hexadecimal")
    parser.add_argument("-o", "--output", metavar="OUT", help="file for the text; standard output by default")
    parser.add_argument(
        "--format", choices=("bin", "hex"), help="of FILE; by default hex for .hex, .mem and .txt, else bin"
    )
    _device_arguments(parser)
    _json_argument(parser)


def _disasm(arguments: argparse.Namespace) -> int:
    from ..studies.assemble import disassemble_result, size_text

    result = disassemble_result(arguments.file, _device(arguments), form=arguments.format, output=arguments.output)
    if arguments.json:
        emit(arguments, result)
    else:
        print(size_text(result) if "file" in result else "\n".join(result["text"]))
    return 0


COMMANDS: dict[str, tuple[str, Any, Any]] = {
    "doctor": ("check the required tools, and show the commands that install missing ones", _doctor_arguments, _doctor),
    "list": (
        "units, presets, systems, memories, models, workloads, libraries, formats of traces",
        _list_arguments,
        _list,
    ),
    "gen": ("write Verilog, constraints (SDC) and a JSON description of a unit", _gen_arguments, _gen),
    "sim": (
        "co-simulate a unit against its functional model, with real memory timing or vectors",
        _sim_arguments,
        _sim,
    ),
    "synth": ("area, cells and critical path of a unit", _synth_arguments, _synth),
    "time": ("memory timing of a trace, a program, a system's block, or a unit's decode step", _time_arguments, _time),
    "eval": ("evaluate a server built from the units with a language model", _eval_arguments, _eval),
    "compile": (
        "compile a language model to programs for the memory modules of a system",
        _compile_arguments,
        _compile,
    ),
    "decode": (
        "decode with a model whose attention a system computes; perplexity and agreement beside float32",
        _decode_arguments,
        _decode,
    ),
    "capture": ("write queries, keys and values of a text, and its trace of attention", _capture_arguments, _capture),
    "sparse": (
        "recall, mass, error and perplexity of sparse attention on a text, by method and budget",
        _sparse_arguments,
        _sparse,
    ),
    "asm": ("translate instructions of a CENT device from text to words", _asm_arguments, _asm),
    "disasm": ("translate words of a CENT device to text", _disasm_arguments, _disasm),
    "serve": ("serve requests on a system: arrivals, continuous batching, latencies, limits", _serve_arguments, _serve),
    "repro": ("claims of a paper, with our value beside each claim", _repro_arguments, _repro),
    "sweep": (
        "evaluate a unit, a system or a workload at every combination of values; draw a Pareto picture",
        _sweep_arguments,
        _sweep,
    ),
    "calibrate": (
        "find ratios of importance at which the tiers of a system take equal time",
        _calibrate_arguments,
        _calibrate,
    ),
    "demo": (
        "run the whole loop once: generate, co-simulate, synthesise, evaluate, write a page",
        _demo_arguments,
        _demo,
    ),
    "rtl": ("rebuild the generated Verilog of all published configurations", _rtl_arguments, _rtl),
    "records": (
        "list the measurement records of the package and missing ones; make or check them",
        _record_arguments,
        _record_inventory,
    ),
    "explain": (
        "show the basis of a result, down to Verilog and memory, and changes since then",
        _explain_arguments,
        _explain,
    ),
    "schema": ("JSON Schema of a command's output with --json", _schema_arguments, _schema),
    "cache": ("show the contents of the cache folder; prune it", _cache_arguments, _cache),
    "kernels": ("list measured kernel times of GPUs; import them", _kernels_arguments, _kernels),
    "writeback": (
        "spill keys and values to a drive with delayed writeback: bytes, writes, speed; check a spill file",
        _writeback_arguments,
        _writeback,
    ),
    "completion": ("code for a shell that completes names and options", _completion_arguments, _completion),
    "bench": ("measure the speed of the tool itself", _bench_arguments, _bench),
}


if __name__ == "__main__":
    entry()
