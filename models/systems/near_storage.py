"""The accelerator beside a drive's flash: clocks of its units for a shard.

A shard passes the GEMV engine twice, with a softmax in between. The clocks of both products come from the measurement
record of ``inf2-gemv``. :attr:`Accelerator.measured` lists the units that have a record; a unit that is added there is
looked up with the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...constraints.records import Record
from ...constraints.systems.inf2 import NearStorageSpec
from ...constraints.units import inf2_gemv
from .results import RecordSource
from .units import GemvFigures, MeasuredUnit, Missing, clock_hz

__all__ = ["Accelerator"]


class Accelerator:
    """Units of an accelerator. :meth:`look_up` comes before all times.

    Parameters
    ----------
    where : :class:`str`
        Name of the system, for messages.
    spec
        Part of the system's file.
    """

    def __init__(self, where: str, spec: NearStorageSpec) -> None:
        self.spec = spec
        self.gemv = MeasuredUnit(where, inf2_gemv.UNIT, GemvFigures, spec.gemv)
        self.measured: tuple[MeasuredUnit[Any, Any], ...] = (self.gemv,)

    def look_up(self, records: RecordSource, head_dim: int) -> Missing:
        """Take the measurements from ``records``, and return those that are missing. A head dimension that the default
        workload does not cover needs a measurement of its own.

        Raises
        ------
        :exc:`ConfigError`
            If the engine does not take this head dimension.
        """
        missing = [need for unit in self.measured for need in unit.look_up(records)]
        if not missing and not self.gemv.figures.covers(head_dim):
            missing = self.gemv.look_up(records, head_dim=head_dim)
        return missing

    @property
    def records(self) -> list[Record]:
        return [record for unit in self.measured for record in unit.records.values()]

    def softmax_clocks(self, tokens: Any) -> Any:
        """Clocks of the softmax of a row of scores: passes one after the other. No unit has been measured, so these are
        the clocks of the paper's design."""
        return self.spec.softmax.passes * np.ceil(np.asarray(tokens) / self.spec.softmax.elements)

    def stages(self, tokens: Any, head_dim: int) -> dict[str, Any]:
        """Seconds of the stages of one query and one shard of ``tokens`` tokens, from operands in DRAM that keeps pace."""
        config, figures = self.gemv.config, self.gemv.figures
        clocks = {"scores": figures.product_clocks(config, "qk", tokens, head_dim), "softmax": self.softmax_clocks(tokens),
                  "output": figures.product_clocks(config, "sv", tokens, head_dim)}
        return {name: count / clock_hz(config) for name, count in clocks.items()}

    def shard_seconds(self, tokens: Any, head_dim: int) -> Any:
        """Seconds of one query and one shard: the stages one after the other."""
        return sum(self.stages(tokens, head_dim).values())
