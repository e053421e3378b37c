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
    from bankside.cosim.bench.request import SimRequest as SimRequest
    from bankside.cosim.bench.streams import Items as Items
    from bankside.gen.blocks.ports import members as members
    from bankside.models.llm.roles import EnergyRole as EnergyRole
    from bankside.models.llm.roles import Role as Role
    from bankside.models.papers import Bar as Bar
    from bankside.models.papers import Checks as Checks
    from bankside.models.papers import Difference as Difference
    from bankside.models.papers import Evidence as Evidence
    from bankside.models.papers import Figure as Figure
    from bankside.models.papers import Finding as Finding
    from bankside.models.papers import NotCheckable as NotCheckable
    from bankside.models.papers import Panel as Panel
    from bankside.models.papers import PaperPackage as PaperPackage
    from bankside.models.papers import SeriesPanel as SeriesPanel
    from bankside.models.papers import Source as Source
    from bankside.models.systems import Assumption as Assumption
    from bankside.models.systems import Capacity as Capacity
    from bankside.models.systems import Details as Details
    from bankside.models.systems import MissingRecord as MissingRecord
    from bankside.models.systems import Option as Option
    from bankside.models.systems import Room as Room
    from bankside.models.systems import Served as Served
    from bankside.models.systems import StepCost as StepCost
    from bankside.models.systems import System as System
    from bankside.models.systems.units import MeasuredUnit as MeasuredUnit

_PLACES = {
    "constraints.core.contract": "Field Layout Port Row SimResult Unit UnitConfig Workload verdict_text",
    "constraints.core.document": "Strict",
    "constraints.core.result": "Part key",
    "constraints.memory": "Memory load_memory",
    "cosim.bench.campaign": "Campaign Stimulus layouts play_stimulus",
    "cosim.bench.request": "SimRequest",
    "cosim.bench.streams": "Items",
    "gen.blocks.ports": "members",
    "models.llm.roles": "EnergyRole Role",
    "models.papers": (
        "Bar Checks Difference Evidence Figure Finding NotCheckable Panel PaperPackage SeriesPanel Source"
    ),
    "models.systems": "Assumption Capacity Details MeasuredUnit MissingRecord Option Room Served StepCost System",
}
_HOME = {name: place for place, names in _PLACES.items() for name in names.split()}

__all__ = [
    "Assumption",
    "Bar",
    "Campaign",
    "Capacity",
    "Checks",
    "ConfigError",
    "Details",
    "Difference",
    "EnergyRole",
    "Evidence",
    "Field",
    "Figure",
    "Finding",
    "Items",
    "Layout",
    "MeasuredUnit",
    "Memory",
    "MissingRecord",
    "NotCheckable",
    "Option",
    "Panel",
    "PaperPackage",
    "Part",
    "Port",
    "Role",
    "Room",
    "Row",
    "Served",
    "SeriesPanel",
    "SimRequest",
    "SimResult",
    "Source",
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


if not TYPE_CHECKING:  # a checker finds misspelt names

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"bankside.{_HOME[name]}"), name)
