"""``python -m bankside``."""

from .shell.cli import entry

entry()
