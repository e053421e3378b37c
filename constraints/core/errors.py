"""The errors a user can cause. The command line prints each as one line and leaves with its exit code."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["BanksideError", "CheckFailed", "ConfigError", "ToolMissing", "nearest"]

#: For digests of sources (:data:`bankside.provenance.sources.PLUMBING`).
DECIDES_NO_RESULT = True


class BanksideError(Exception):
    """An error that fits in one line: the fault, its place, and the valid values."""

    exit_code = 2


class ConfigError(BanksideError):
    """Bad usage, configuration or input file (exit code 2)."""

    exit_code = 2


class CheckFailed(BanksideError):
    """The command ran, and its check failed (exit code 1)."""

    exit_code = 1


class ToolMissing(BanksideError):
    """A tool that the command needs is not installed (exit code 3); the message says how to get it."""

    exit_code = 3


def nearest(what: str, name: str, valid: Iterable[str], *, within: str = "") -> str:
    """Message for an unknown name: ``unknown WHAT 'NAME'; did you mean 'X'? (valid: ...)``.

    ``within`` is a prefix that is shown with the name but not compared.
    """
    valid = sorted(valid)
    close = difflib.get_close_matches(str(name), valid, 1, 0.5)
    hint = f"; did you mean '{close[0]}'?" if close else ""
    return f"unknown {what} '{within}{name}'{hint} (valid: {', '.join(valid) if valid else 'none'})"
