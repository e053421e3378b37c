"""The accelerator beside a drive's flash: clocks of its units for a shard.

A shard passes the GEMV engine twice, with a softmax in between. The clocks of both products come from the measurement
record of ``inf2-gemv``, and the clocks of the softmax from the record of ``inf2-softmax``.
"""

from __future__ import annotations

from typing import Any

from ...constraints.records import Record
from ...constraints.systems.inf2 import NearStorageSpec
from ...constraints.units import inf2_gemv, inf2_softmax
from .results import RecordSource
from .units import GemvFigures, MeasuredUnit, Missing, RowFigures, clock_hz

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
        self.softmax = MeasuredUnit(where, inf2_softmax.UNIT, RowFigures, spec.softmax)
        self.measured: tuple[MeasuredUnit[Any, Any], ...] = (self.gemv, self.softmax)

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

    def stages(self, tokens: Any, head_dim: int) -> dict[str, Any]:
        """Seconds of the stages of one query and one shard of ``tokens`` tokens, from operands in DRAM that keeps pace."""
        config, figures, softmax = self.gemv.config, self.gemv.figures, self.softmax
        return {"scores": figures.product_clocks(config, "qk", tokens, head_dim) / clock_hz(config),
                "softmax": softmax.figures.row_clocks(softmax.config, tokens) / clock_hz(softmax.config),
                "output": figures.product_clocks(config, "sv", tokens, head_dim) / clock_hz(config)}

    def shard_seconds(self, tokens: Any, head_dim: int) -> Any:
        """Seconds of one query and one shard: the stages one after the other."""
        return sum(self.stages(tokens, head_dim).values())
