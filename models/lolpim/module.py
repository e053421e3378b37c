"""Functional model of a LoL-PIM module: the effect of its dispatcher's commands on hub, channels and rows.

The model is bit-exact with the RTL and has no timing. Commands take effect in the order of the dispatcher.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ...constraints.lolpim.module import LolPimModuleConfig
from ..aim.module import ModuleModel
from .dispatcher import Dispatcher

__all__ = ["LolPimModel"]


@dataclass
class LolPimModel(ModuleModel):
    """State of a module between writes of the host. A run ends before the next write takes effect."""

    config: LolPimModuleConfig
    dispatcher: Dispatcher = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.dispatcher = Dispatcher(self.config.dispatcher)

    def write(self, address: int, data: int) -> None:
        """Take a write of the host, and execute the commands that it issues."""
        before = len(self.dispatcher.issued)
        self.dispatcher.write(address, data)
        for values in self.dispatcher.issued[before:]:
            self.execute(dict(zip(self.config.command_layout.widths, values, strict=True)))
