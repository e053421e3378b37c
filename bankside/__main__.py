"""``python -m bankside``."""

from .cli import entry

entry()
