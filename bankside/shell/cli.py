# amaranth: UnusedElaboratable=no
"""The command ``bankside``. Subcommands import the heavy modules that they need.

Results go to standard output, everything else to standard error. Exit codes: 0 done, 1 a check failed, 2 usage or
configuration, 3 a tool is missing, 130 interrupted.
"""

from __future__ import annotations

import argparse
import gc
import io
import os
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

import bankside
from bankside.constraints.core.errors import BanksideError, ConfigError, nearest

from .options import positive

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


@contextmanager
def _physics(arguments: argparse.Namespace) -> Iterator[None]:
    """With ``--no-physics``, memory files are not checked, and each that would be refused is a warning of the result."""
    if not getattr(arguments, "no_physics", False):
        yield
        return
    from bankside.constraints.memory import without_physics

    from ..provenance.envelope import warn

    with without_physics(warn):
        yield


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
            with _physics(arguments):
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
    gc.set_threshold(200_000)  # a command ends soon, and nearly all objects that it makes live until then
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


def command(name: str) -> ModuleType:
    """The module of a command."""
    return import_module(f".commands.{name}", __package__)


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
    for name, summary in COMMANDS.items():
        sub = commands.add_parser(
            name, help=summary, description=summary[0].upper() + summary[1:] + ".", formatter_class=_Help
        )
        sub.words = words
        if name in words or not words:
            module = command(name)
            module.fill(sub)
            sub.set_defaults(run=module.run)
        sub.add_argument(
            "--max-file-mib",
            metavar="MIB",
            type=positive,
            help="largest file to read, in MiB, in place of the bound of its kind",
        )
    return parser


def _check_page(arguments: argparse.Namespace) -> None:
    """Fail at once, before a long command, if its page can't be written."""
    file = getattr(arguments, "html", None)
    if file is not None:
        from pathlib import Path

        from bankside.constraints.core.workspace import write_files

        if os.path.isdir(file):
            raise ConfigError(f"--html: can't write {file}: is a directory")
        write_files(Path(file).parent, {})


#: Summary of each command by its name; its module in :mod:`bankside.shell.commands` has the same name.
COMMANDS: dict[str, str] = {
    "doctor": "check the required tools, and show the commands that install missing ones",
    "list": "units, presets, systems, memories, models, workloads, libraries, formats of traces",
    "gen": "write Verilog, constraints (SDC) and a JSON description of a unit",
    "sim": "co-simulate a unit against its functional model, with real memory timing or vectors",
    "synth": "area, cells and critical path of a unit",
    "time": "memory timing of a trace, a program, a system's block, or a unit's decode step",
    "eval": "evaluate a server built from the units with a language model",
    "compile": "compile a language model to programs for the memory modules of a system",
    "decode": "decode with a model whose attention a system computes; perplexity and agreement beside float32",
    "capture": "write queries, keys and values of a text, and its trace of attention",
    "sparse": "recall, mass, error and perplexity of sparse attention on a text, by method and budget",
    "asm": "translate instructions of a CENT device from text to words",
    "disasm": "translate words of a CENT device to text",
    "serve": "serve requests on a system: arrivals, continuous batching, latencies, limits",
    "repro": "claims of a paper, with our value beside each claim",
    "sweep": "evaluate a unit, a system or a workload at every combination of values; draw a Pareto picture",
    "calibrate": "find ratios of importance at which the tiers of a system take equal time",
    "demo": "run the whole loop once: generate, co-simulate, synthesise, evaluate, write a page",
    "rtl": "rebuild the generated Verilog of all published configurations",
    "records": "list the measurement records of the package and missing ones; make or check them",
    "check": "check a unit, a system, a paper, or everything that a package adds",
    "explain": "show the basis of a result, down to Verilog and memory, and changes since then",
    "schema": "JSON Schema of a command's output with --json",
    "cache": "show the contents of the cache folder; prune it",
    "kernels": "list measured kernel times of GPUs; import them",
    "writeback": "spill keys and values to a drive with delayed writeback: bytes, writes, speed; check a spill file",
    "completion": "code for a shell that completes names and options",
    "bench": "measure the speed of the tool itself",
}


if __name__ == "__main__":
    entry()
