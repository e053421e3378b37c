"""``bankside completion``: code for a shell that completes names and options."""

from __future__ import annotations

import argparse

from bankside.constraints.core.errors import ConfigError, nearest

__all__ = ["fill", "run"]


def fill(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", help="bash, zsh or fish")


def run(arguments: argparse.Namespace) -> int:
    from ..completion import SHELLS, shell_code

    if arguments.shell not in SHELLS:
        raise ConfigError(nearest("shell", arguments.shell, SHELLS))
    print(shell_code(arguments.shell))
    return 0
