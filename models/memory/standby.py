"""Cycles in which an AiM device's channels have open rows: they decide the power in standby."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...constraints.memory import Memory
from ..program import Program
from . import aim_kernel as kernel
from .aim import CHANNELS, FrontEnd, FrontEndTiming, Instructions, _State
from .compiled import compiled
from .tables import CLOSES, OPENS

__all__ = ["StandbyFrontEnd", "StandbyTiming"]

_NAME = "open rows"


@dataclass
class StandbyTiming(FrontEndTiming):
    """Time of a program or trace, with what standby depends on.

    Attributes
    ----------
    open_cycles : cycles with an open row, summed over the channels
    """

    open_cycles: int = 0


@compiled
def _follow(log, size, banks, rules, opened, since):
    """Banks that are open in each channel after the commands of a log. Returns cycles with an open row, up to the last
    command that closed one.

    ``banks``: for each target the banks that it acts on, as a mask. ``rules``: 1 opens, 2 closes. ``since``: cycle from
    which a channel has had an open row.
    """
    cycles = 0
    for n in range(size):
        target = log[n, 2]
        if rules[target] == 0:
            continue
        for channel in range(len(opened)):
            if not log[n, 1] >> channel & 1:
                continue
            before = opened[channel]
            if rules[target] == 1:
                opened[channel] = before | banks[target]
                if before == 0:
                    since[channel] = log[n, 0]
            else:
                opened[channel] = before & ~banks[target]
                if before != 0 and opened[channel] == 0:
                    cycles += log[n, 0] - since[channel]
    return cycles


class StandbyFrontEnd(FrontEnd):
    """Host and channels of an AiM device that also count cycles with an open row.

    Parts of a program are looked up as in
    :class:`FrontEnd`: open banks are a part of the state.

    With the quirks of the AiM simulator, commands to one bank stand for the banks of this number in all bank groups. A
    precharge of one of them counts for all.
    """

    def __init__(self, memory: Memory | str = "gddr6-aim", *, quirks: str | None = None, refresh: bool = False) -> None:
        self._opened = np.zeros(CHANNELS, np.int64)
        super().__init__(memory, quirks=quirks, refresh=refresh)
        t = self.tables
        groups = self.memory.banks // self.memory.levels["bank_group"]
        number = t.bank % groups if quirks is not None else t.bank
        masks = np.bitwise_or.reduceat(np.append(1 << number, 0), np.minimum(t.bank_start[:-1], len(number)))
        self._bank_masks = np.where(t.bank_start[:-1] < t.bank_start[1:], masks, 0)
        closes = (t.rule == CLOSES) | (t.auto_precharge != 0)
        self._rules = np.where(t.rule == OPENS, 1, np.where(closes, 2, 0)).astype(np.int64)
        self.names = [*self.names, _NAME]
        self._log = np.zeros((1 << 12, 4), np.int64)

    def _pack(self) -> _State:
        shape, rows, due = super()._pack()
        shape += self._opened.astype(np.uint16).tobytes()
        return _State(self.shapes.setdefault(shape, shape), rows, due)

    def _unpack(self, shape: bytes, rows: Sequence[int], due: int) -> None:
        super()._unpack(shape[: -2 * CHANNELS], rows, due)
        self._opened = np.frombuffer(shape[-2 * CHANNELS :], np.uint16).astype(np.int64)

    def _advance(self, code: Instructions, counts: np.ndarray, log: np.ndarray | None = None) -> None:
        began = int(self.host[kernel.CLOCK])
        since = np.full(CHANNELS, began + 1, np.int64)
        cycles = 0
        while len(code.kinds):
            self.host[kernel.LOGGED] = 0
            super()._advance(code, counts, self._log)
            cycles += _follow(
                self._log, int(self.host[kernel.LOGGED]), self._bank_masks, self._rules, self._opened, since
            )
            code = Instructions(*(column[self.host[kernel.HEAD] :] for column in code))
        now = int(self.host[kernel.CLOCK])
        counts[-1] += cycles + int((now + 1 - since[self._opened != 0]).sum())

    def time(self, program: Program) -> StandbyTiming:
        return _with_standby(super().time(program))

    def run(self, blocks: Iterator[Instructions] | Sequence[Instructions]) -> StandbyTiming:
        return _with_standby(super().run(blocks))


def _with_standby(timing: FrontEndTiming) -> StandbyTiming:
    commands = dict(timing.commands)
    count = commands.pop(_NAME, 0)
    return StandbyTiming(timing.memory, timing.cycles, commands, timing.instructions, timing.stages, count)
