"""Bankside: hardware that sits beside memory for LLM decoding, generated, proven, measured and put into a server.

The parts ``gen``, ``models``, ``cosim``, ``constraints`` and ``rtl`` are folders beside this package in a checkout.
Relative links in this folder make them subpackages for every tool; a wheel holds them as plain folders.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    __version__: str

#: Version of a checkout that is not installed. The version of an installation comes from the tags of git.
_UNTAGGED = "0.1.0"


def __getattr__(name: str) -> str:
    """``__version__``, found when somebody asks for it."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("bankside")
    except PackageNotFoundError:
        return _UNTAGGED
