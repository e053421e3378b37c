"""What the engines of a hub have in common: the commands that they claim, and their ports."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...constraints.aim.encoding import COMMANDS
from ..blocks.ports import payload

__all__ = ["Engine", "is_op"]


def is_op(op, names):
    """Whether an operation code is one of the commands ``names``."""
    return Cat(op == COMMANDS[name].code for name in names).any()


class Engine(wiring.Component):
    """A part of a hub that executes the commands that it claims, beside the other engines.

    A subclass has the attribute ``client`` (:class:`~.registers.Client`): its use of the registers.

    Parameters
    ----------
    config : configuration of the hub
    claims : names of commands
    members : further members of the signature

    Members
    -------
    start : ``In(1)``; command : ``In(payload(config.command_layout))``
        A command that the engine claims, with an ``opsize`` other than 0; only while ``ready`` is 1.
    ready, idle : ``Out(1)``
        The engine may start in this clock; nothing that it began is under way, results included. An engine that compares
        slots may be idle earlier: when ``command``, of whatever engine, may begin beside what this engine has under way.
    registers : ``Out(client.signature(...))``
    """

    client = None

    def __init__(self, config, claims, members=None):
        self._config, self.claims = config, tuple(claims)
        super().__init__(
            {
                "start": In(1),
                "command": In(payload(config.command_layout)),
                "ready": Out(1),
                "idle": Out(1),
                "registers": Out(self.client.signature(config.register_bits, config.word_bits)),
                **(members or {}),
            }
        )

    @property
    def config(self):
        return self._config
