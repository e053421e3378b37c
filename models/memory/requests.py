"""Streams of plain reads and writes on a memory, scheduled by its controllers out of order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...constraints.core.errors import ConfigError, nearest
from ...constraints.memory import Memory, load_memory
from . import request_kernel as kernel
from .answer import TraceTiming
from .compiled import brief
from .mapping import AddressMapping, Location, address_mapping
from .plan import make_plan
from .tables import make_tables

__all__ = ["CONTROLLERS", "Controller", "RequestFrontEnd", "RequestTiming", "Requests"]


@dataclass(frozen=True)
class Controller:
    """Scheduling of a channel's controller. Numbers are numbers of requests unless stated otherwise.

    Attributes
    ----------
    reads, writes, opened :
        Room of the queues of reads, of writes, and of requests that have opened their row and wait for their access.
    high, low :
        Writes are served when no read waits. They are also served once ``high`` writes are queued, until ``low`` are
        left.
    per_cycle :
        Requests that the front end sends in a cycle; None: all that the queues take.
    order :
        ``fr-fcfs``: commands that are ready first, then by age. ``in-order``: only the oldest request of a queue.
    protect_hits :
        A row stays open while a queued request hits it, unless the oldest request needs another row.
    forward :
        A queued write answers a read of its address in the next cycle.
    refresh :
        Whether the memory refreshes. A due refresh goes before queued requests. Each scope of the refresh command
        refreshes by itself.
    dual_issue :
        Whether a row and a column command may issue in one cycle; None: as the memory says.
    drain :
        Whether time ends when all requests are through, or already when the last request is accepted.
    quirks :
        ``ramulator``: quirks of Ramulator 2.0. A precharge that may not be issued takes the cycle. Answers leave one a
        cycle. Writes are done when issued. ``attacc-simulator``: also quirks of AttAcc's HBM3 controller. The second
        command of a cycle must be the scheduler's next choice. A refresh closes rows that requests wait for, in the
        whole channel. If the memory has quirks of this name, they are switched on too.
    """

    reads: int = 32
    writes: int = 32
    opened: int = 32
    high: int = 26
    low: int = 6
    per_cycle: int | None = None
    order: str = "fr-fcfs"
    protect_hits: bool = True
    forward: bool = True
    refresh: bool = True
    dual_issue: bool | None = None
    drain: bool = True
    quirks: str | None = None

    def __post_init__(self) -> None:
        for name in ("reads", "writes", "opened", "per_cycle"):
            value = getattr(self, name)
            if value is not None and not 1 <= value <= 4096:
                raise ConfigError(f"controller: {name} must be 1 to 4096, not {value}")
        if not 0 <= self.low < self.high <= self.writes:
            raise ConfigError(
                f"controller: low {self.low}, high {self.high}, writes {self.writes}: must be 0 <= low < high <= writes"
            )
        if self.order not in ("fr-fcfs", "in-order"):
            raise ConfigError(f"controller: {nearest('order', self.order, ['fr-fcfs', 'in-order'])}")
        if self.quirks not in (None, "ramulator", "attacc-simulator"):
            raise ConfigError(f"controller: {nearest('quirks', self.quirks, ['ramulator', 'attacc-simulator'])}")


#: Controllers with a name. ``ramulator``: Ramulator 2.0's generic controller with its load/store front end;
#: ``attacc-simulator``: HBM3 controller and front end of the AttAcc simulator. Queues of both take one entry more than
#: their size of 32.
CONTROLLERS: dict[str, Controller] = {
    "default": Controller(),
    "ramulator": Controller(
        33, 33, 33, per_cycle=1, protect_hits=False, dual_issue=False, drain=False, quirks="ramulator"
    ),
    "attacc-simulator": Controller(33, 33, 33, dual_issue=True, quirks="attacc-simulator"),
}


class Requests(NamedTuple):
    """Requests in order: addresses in bytes, whether they write, and the first cycle in which each may go (or None)."""

    addresses: np.ndarray
    writes: np.ndarray
    cycles: np.ndarray | None = None


@dataclass
class RequestTiming(TraceTiming):
    """Time of a stream. Without `Controller.drain`, it ends when the last request is accepted.

    Attributes
    ----------
    reads, writes : accepted requests
    row_hits, row_misses, row_conflicts :
        requests served with a command that found their row open, their bank closed, another row open
    forwarded : reads answered from queued writes
    read_latency : mean cycles from acceptance to the last data, over the answered reads (0 without such reads)
    """

    reads: int
    writes: int
    row_hits: int
    row_misses: int
    row_conflicts: int
    forwarded: int
    read_latency: float
    access_bytes: int

    @property
    def bytes(self) -> int:
        """Bytes of the accepted requests."""
        return (self.reads + self.writes) * self.access_bytes

    @property
    def bytes_per_s(self) -> float:
        return self.bytes / (self.time_ns * 1e-9) if self.cycles else 0.0


#: Greatest number of requests in a block; longer blocks are divided.
BLOCK = 1 << 17

_LOG_LINES = 1 << 16


class RequestFrontEnd:
    """The channels of a memory behind a front end that sends reads and writes in order.

    Parameters
    ----------
    memory : :class:`Memory` or name
        Memory with the commands ``RD`` and ``WR``.
    controller : :class:`Controller` or a name of :data:`CONTROLLERS`
    mapping : :class:`AddressMapping`, or an order as :func:`address_mapping` takes it
    channels : number of channels that take part; None: all channels of the memory
    """

    def __init__(
        self,
        memory: Memory | str,
        controller: Controller | str = "default",
        mapping: AddressMapping | str = "RoBaRaCoCh",
        *,
        channels: int | None = None,
    ) -> None:
        memory = load_memory(memory) if isinstance(memory, str) else memory
        if isinstance(controller, str):
            if controller not in CONTROLLERS:
                raise ConfigError(nearest("controller", controller, CONTROLLERS))
            controller = CONTROLLERS[controller]
        if channels is not None and not 1 <= channels <= 4096:
            raise ConfigError(f"{memory.name}: channels must be 1 to 4096, not {channels}")
        if controller.quirks in memory.variants:
            memory = memory.with_quirks(controller.quirks)
        for name in ("RD", "WR"):
            if name not in memory.commands or memory.commands[name].row != "needs":
                raise ConfigError(f"{memory.name}: no plain accesses: no command {name} with the row rule 'needs'")
        if memory.commands["RD"].scope != memory.commands["WR"].scope:
            raise ConfigError(f"{memory.name}: RD and WR must have the same scope")
        self.memory = memory
        self.controller = controller
        self.mapping = address_mapping(memory, mapping, channels=channels) if isinstance(mapping, str) else mapping
        self.channels = self.mapping.sizes["channel"]
        tables, numbering = make_tables(memory)
        self.targets = numbering.targets
        self.names = list(memory.commands)
        refresh = memory.refresh if controller.refresh else None
        refreshes = self.targets[refresh.command] if refresh else np.zeros(1, np.int64)
        used = np.concatenate([self.targets["RD"], self.targets["WR"], *([refreshes] if refresh else [])])
        used = np.unique(np.concatenate([used, tables.activate[used], tables.precharge[used]]))
        self.plan, groups = make_plan(tables, used[used >= 0])
        quirks, attacc = controller.quirks is not None, controller.quirks == "attacc-simulator"
        self.interval = refresh.interval if refresh else 0
        self.options = kernel.make_options(
            {
                "protects_hits": controller.protect_hits,
                "in_order": controller.order == "in-order",
                "forwards": controller.forward,
                "wastes_turns": quirks,
                "answers_in_order": quirks,
                "pairs_strictly": attacc,
                "refreshes_ruthlessly": attacc,
            },
            {
                "reads": controller.reads,
                "writes": controller.writes,
                "opened": controller.opened,
                "high": controller.high,
                "low": controller.low,
                "rate": controller.per_cycle or 1 << 60,
                "interval": self.interval,
                "dual": memory.dual_issue if controller.dual_issue is None else controller.dual_issue,
                "drain": controller.drain,
            },
            refreshes,
            memory.banks,
            groups,
            numbering.ring_times,
        )

    def run(
        self, blocks: Requests | Iterable[Requests], *, log: Callable[[np.ndarray], object] | None = None
    ) -> RequestTiming:
        """Time of a stream that comes in blocks, from an idle memory with all rows closed.

        ``log`` receives the issued commands in order, as int64 rows: cycle, channels (bit k: channel k), target, row. A
        target is a command at an address, with a number from :func:`make_tables`.

        Raises
        ------
        :exc:`ConfigError`
            For an address outside the memory.
        """
        if log is not None and self.channels > 64:
            raise ConfigError(f"{self.memory.name}: a log of {self.channels} channels; at most 64")
        state, host = kernel.fresh_state(self.channels, self.options, len(self.names))
        lines = np.zeros((_LOG_LINES + 2 * self.channels if log is not None else 0, 5), np.int64)
        reads, writes = 0, 0

        def advance(requests: Requests, where: Location, finish: bool) -> None:
            write = np.ascontiguousarray(requests.writes, np.int64)
            targets = np.where(write != 0, self.targets["WR"][where.bank], self.targets["RD"][where.bank])
            cycles = (
                np.zeros(0, np.int64) if requests.cycles is None else np.ascontiguousarray(requests.cycles, np.int64)
            )
            address = np.asarray(requests.addresses, np.int64) // self.mapping.access_bytes
            steps = len(write) + (int(cycles.max(initial=0)) // self.interval if self.interval else 0)
            host[kernel.HEAD] = 0
            while True:
                with brief(steps):
                    kernel.advance(
                        *self.plan,
                        state,
                        self.options,
                        host,
                        write,
                        where.channel,
                        targets,
                        where.row,
                        address,
                        cycles,
                        finish,
                        lines,
                    )
                if log is not None and host[kernel.LOGGED]:
                    issued = lines[: host[kernel.LOGGED], :4].copy()
                    issued[:, 1] = 1 << issued[:, 1]
                    log(issued)
                    host[kernel.LOGGED] = 0
                if host[kernel.STUCK]:
                    raise ConfigError(f"{self.memory.name}: the controller waits for ever")
                if host[kernel.ENDED] or (not finish and host[kernel.HEAD] == len(write)):
                    return

        for block in [blocks] if isinstance(blocks, Requests) else blocks:
            for first in range(0, len(block.addresses), BLOCK):
                part = Requests(*(None if column is None else column[first : first + BLOCK] for column in block))  # type: ignore
                low, high = int(part.addresses.min()), int(part.addresses.max())
                if low < 0 or high >= self.mapping.bytes:
                    raise ConfigError(
                        f"{self.memory.name}: address {low if low < 0 else high:#x} is outside the memory of "
                        f"{self.mapping.bytes:#x} bytes"
                    )
                wrote = int(np.count_nonzero(part.writes))
                reads += len(part.addresses) - wrote
                writes += wrote
                advance(part, self.mapping.locations(part.addresses), False)
        nothing = np.zeros(0, np.int64)
        advance(Requests(nothing, nothing), Location(nothing, nothing, nothing, nothing), True)
        answered = int(host[kernel.ANSWERED])
        return RequestTiming(
            self.memory,
            int(host[kernel.CLOCK]),
            {name: int(n) for name, n in zip(self.names, host[kernel.COMMANDS :], strict=True) if n},
            reads,
            writes,
            int(host[kernel.HITS]),
            int(host[kernel.MISSES]),
            int(host[kernel.CONFLICTS]),
            int(host[kernel.FORWARDED]),
            int(host[kernel.WAITED]) / answered if answered else 0.0,
            self.mapping.access_bytes,
        )
