"""The version of Bankside, and the place of its package."""

from __future__ import annotations

from pathlib import Path

__all__ = ["PACKAGE", "UNTAGGED", "version"]

#: Folder of the package.
PACKAGE = Path(__file__).resolve().parents[1]

#: Version of a checkout that is not installed. The version of an installation comes from the tags of git.
UNTAGGED = "0.1.0"


def version() -> str:
    """Version of the installed package."""
    from importlib import metadata

    try:
        return metadata.version("bankside")
    except metadata.PackageNotFoundError:
        return UNTAGGED
