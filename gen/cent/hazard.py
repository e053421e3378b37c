"""Which slots a command of the PNM units uses, and whether two ranges of slots have one in common."""

from amaranth import *

from ...constraints.aim.hub import MANY, RECEIVING, TRANSFERS
from ...constraints.cent.pnm import KINDS
from ..aim.engine import is_op

__all__ = ["Use", "slots_meet"]


def slots_meet(first, count, other, others):
    """Whether ``count`` slots from ``first`` on and ``others`` slots from ``other`` on have a slot in common.

    Ranges wrap around to slot 0 behind the last slot. Neither is empty, and neither is longer than all slots.
    """
    ahead = (other - first)[: len(first)]
    return (ahead < count) | (ahead + others > 1 << len(first))


class Use:
    """Slots that a command reads and writes: a range from ``gpr`` on and, of an engine that computes, one from ``gpr1`` on.

    Both have ``size`` slots. A command that takes results of channels may use fewer: its size counts all channels.

    Attributes
    ----------
    known : whether the ranges are known; commands of other engines may use any slots
    size : slots of a range
    first, second : first slots
    two : whether the second range is used
    writes : whether slots are written
    target : first of the slots that are written
    """

    def __init__(self, m, config, command):
        op, opsize, every = command.op, command.opsize, config.registers
        once = is_op(op, [name for name in RECEIVING if name not in MANY])
        many = is_op(op, [name for name in RECEIVING if name in MANY])
        shift = (config.channels - 1).bit_length()
        self.known = is_op(op, [*KINDS, *TRANSFERS])
        self.size = Signal.like(opsize, name="size_of_use")
        m.d.comb += self.size.eq(
            Mux(
                once,
                min(config.channels, every),
                Mux(many, Mux(opsize << shift > every, every, opsize << shift), opsize),
            )
        )
        self.first, self.second = command.gpr, command.gpr1
        self.two = is_op(op, KINDS)
        to_second = is_op(op, [name for name in KINDS if name != "EWADD"])
        self.writes = is_op(op, [*KINDS, *RECEIVING, "WR_GPR"])
        self.target = Mux(to_second, self.second, self.first)
        self.to_second = to_second
