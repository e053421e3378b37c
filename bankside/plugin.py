"""Everything that a package with units, systems or papers of its own imports from Bankside.

The names of this module stay while :data:`VERSION` does; modules behind it may move. A name is imported when it is
first asked for, so contracts need neither Amaranth nor a simulator.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bankside.constraints.core.discovery import CONTRACT as VERSION
from bankside.constraints.core.errors import ConfigError

if TYPE_CHECKING:
    from bankside.constraints.core.contract import Field as Field
    from bankside.constraints.core.contract import Layout as Layout
    from bankside.constraints.core.contract import Port as Port
    from bankside.constraints.core.contract import Row as Row
    from bankside.constraints.core.contract import SimResult as SimResult
    from bankside.constraints.core.contract import Unit as Unit
    from bankside.constraints.core.contract import UnitConfig as UnitConfig
    from bankside.constraints.core.contract import Workload as Workload
    from bankside.constraints.core.contract import verdict_text as verdict_text
    from bankside.constraints.core.document import Strict as Strict
    from bankside.constraints.core.result import Part as Part
    from bankside.constraints.core.result import key as key
    from bankside.constraints.memory import Memory as Memory
    from bankside.constraints.memory import load_memory as load_memory
    from bankside.cosim.bench.campaign import Campaign as Campaign
    from bankside.cosim.bench.campaign import Stimulus as Stimulus
    from bankside.cosim.bench.campaign import layouts as layouts
    from bankside.cosim.bench.campaign import play_stimulus as play_stimulus
    from bankside.cosim.bench.streams import Items as Items
    from bankside.gen.blocks.ports import members as members
    from bankside.models.papers.package import PaperPackage as PaperPackage
    from bankside.models.systems import Assumption as Assumption
    from bankside.models.systems import Capacity as Capacity
    from bankside.models.systems import Details as Details
    from bankside.models.systems import MissingRecord as MissingRecord
    from bankside.models.systems import StepCost as StepCost
    from bankside.models.systems import System as System
    from bankside.models.systems.units import MeasuredUnit as MeasuredUnit

_PLACES = {
    "constraints.core.contract": "Field Layout Port Row SimResult Unit UnitConfig Workload verdict_text",
    "constraints.core.document": "Strict",
    "constraints.core.result": "Part key",
    "constraints.memory": "Memory load_memory",
    "cosim.bench.campaign": "Campaign Stimulus layouts play_stimulus",
    "cosim.bench.streams": "Items",
    "gen.blocks.ports": "members",
    "models.papers.package": "PaperPackage",
    "models.systems": "Assumption Capacity Details MeasuredUnit MissingRecord StepCost System",
}
_HOME = {name: place for place, names in _PLACES.items() for name in names.split()}

__all__ = [
    "Assumption",
    "Campaign",
    "Capacity",
    "ConfigError",
    "Details",
    "Field",
    "Items",
    "Layout",
    "MeasuredUnit",
    "Memory",
    "MissingRecord",
    "PaperPackage",
    "Part",
    "Port",
    "Row",
    "SimResult",
    "StepCost",
    "Stimulus",
    "Strict",
    "System",
    "Unit",
    "UnitConfig",
    "VERSION",
    "Workload",
    "key",
    "layouts",
    "load_memory",
    "members",
    "play_stimulus",
    "require",
    "verdict_text",
]


def require(version: int) -> None:
    """Raise :exc:`ConfigError` unless the contracts have this version."""
    if version != VERSION:
        raise ConfigError(f"written for version {version} of the contracts, this is version {VERSION}")


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"bankside.{_HOME[name]}"), name)
