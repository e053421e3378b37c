"""The accelerator beside a drive's flash: clocks of a job, which attends to a shard with one query.

A job passes the GEMV engine twice, with a softmax in between, and reads keys and values through one port. Its clocks come
from the measurement record of ``inf2-accelerator``.
"""

from __future__ import annotations

from typing import Any

from ...constraints.core.records import Record
from ...constraints.inf2 import accelerator as inf2_accelerator
from ...constraints.systems.inf2 import NearStorageSpec
from .capabilities import Executed
from .results import RecordSource
from .units import JobFigures, MeasuredUnit, Missing, clock_hz

__all__ = ["Accelerator"]


class Accelerator:
    """The accelerator of a drive. :meth:`look_up` comes before all times.

    Parameters
    ----------
    where : :class:`str`
        Name of the system, for messages.
    spec
        Part of the system's file.
    """

    def __init__(self, where: str, spec: NearStorageSpec) -> None:
        self.unit = MeasuredUnit(where, inf2_accelerator.UNIT, JobFigures, spec.accelerator)

    def look_up(self, records: RecordSource, head_dim: int) -> Missing:
        """Take the measurement from ``records``, and return it if it is missing. A head dimension that the default
        workload does not cover needs a measurement of its own.

        Raises
        ------
        :exc:`ConfigError`
            If the accelerator does not take this head dimension.
        """
        missing = self.unit.look_up(records)
        if not missing and not self.unit.figures.covers(self.unit.config, head_dim):
            missing = self.unit.look_up(records, head_dim=head_dim)
        return missing

    @property
    def records(self) -> list[Record]:
        return list(self.unit.records.values())

    def stages(self, tokens: Any, head_dim: int) -> dict[str, Any]:
        """Seconds of the stages of one query and one shard of ``tokens`` tokens, from operands in DRAM that keeps pace:
        see :meth:`JobFigures.job_clocks`."""
        config = self.unit.config
        return {
            name: clocks / clock_hz(config)
            for name, clocks in self.unit.figures.job_clocks(config, tokens, head_dim).items()
        }

    def executed(self, head_dim: int) -> list[Executed]:
        """Clocks of the measured jobs, as the system charges them and as the RTL took them.

        The system's clocks lie on a line through the shortest and the longest job of whole tiles, so those two are equal by
        themselves. The line does not rest on the other jobs: none of them may be charged fewer clocks than the RTL took.
        """
        config, figures = self.unit.config, self.unit.figures
        known = {one.tokens: one.cycles for one in figures.points if (one.head_dim, one.mask) == (head_dim, "none")}
        whole = [tokens for tokens in known if tokens % config.lanes == 0]
        ends = (min(whole), max(whole))
        parts = []
        for tokens, took in sorted(known.items()):
            charged = round(sum(float(clocks) for clocks in figures.job_clocks(config, tokens, head_dim).values()))
            part = f"job of {tokens} tokens of {head_dim} elements"
            if tokens in ends:
                parts.append(Executed(part, f"{charged} clocks", f"{took} clocks", "the line rests on it"))
            else:
                least = f"no fewer than {took} clocks"
                parts.append(
                    Executed(part, least if charged >= took else f"{charged} clocks", least, f"{charged} charged")
                )
        return parts

    def shard_seconds(self, tokens: Any, head_dim: int) -> Any:
        """Seconds of one query and one shard: the stages one after the other."""
        return sum(self.stages(tokens, head_dim).values())
