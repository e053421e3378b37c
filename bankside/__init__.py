"""Bankside: hardware that sits beside memory for LLM decoding, generated, proven, measured and put into a server.

The parts ``gen``, ``models``, ``cosim``, ``constraints`` and ``rtl`` are folders beside this package in a checkout.
Relative links in this folder make them subpackages for every tool; a wheel holds them as plain folders.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import BanksideError as BanksideError
    from .api import CheckFailed as CheckFailed
    from .api import ConfigError as ConfigError
    from .api import MissingRecord as MissingRecord
    from .api import SystemHandle as SystemHandle
    from .api import ToolMissing as ToolMissing
    from .api import UnitHandle as UnitHandle
    from .api import memory as memory
    from .api import model as model
    from .api import names as names
    from .api import sweep as sweep
    from .api import system as system
    from .api import unit as unit
    from .api import workload as workload

    __version__: str

#: Names of the Python face, in :mod:`bankside.api`.
_FACE = frozenset(
    "BanksideError CheckFailed ConfigError MissingRecord SystemHandle ToolMissing UnitHandle memory model names sweep "
    "system unit workload".split()
)


if not TYPE_CHECKING:  # a checker finds misspelt names

    def __getattr__(name: str) -> Any:
        """``__version__`` and the Python face, found when somebody asks for them."""
        if name in _FACE:
            from . import api

            return getattr(api, name)
        if name == "__version__":
            from .provenance.version import version

            return version()
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_FACE, "__version__"])
