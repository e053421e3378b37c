"""Time of transfers through PAM's interface: its schedulers between the memories' controllers, without RTL.

The unit takes the same clocks as ``gen.pam.interface``. The controllers behave like the controllers of its bench. They
execute column commands in order and open the rows of later commands ahead of their turn. Every command issues in the
first cycle that the timing engine's tables allow. There is no refresh.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np

from ...constraints.memory import Memory, load_memory
from ...constraints.pam.interface import MemorySide, PamInterfaceConfig
from ...constraints.pam.layout import TIERS
from ..memory.tables import earliest, issue, make_image, make_tables, next_command
from .interface import SchedulerModel, Tokens, bundles

__all__ = ["CONTROLLER_QUEUE", "Controller", "Transfer", "complete_latency", "transfer_time"]

#: Commands that a memory's controller holds.
CONTROLLER_QUEUE = 32

#: Write commands whose data are not all read from the buffer.
JOBS = 2
#: Clocks from the read of a beat from the buffer until the beat leaves.
READ_TO_DATA = 2

_NEVER = 1 << 60


@dataclass(frozen=True)
class Command:
    """A column access: its bank, its row, the beats that must have arrived before it (writes), and its owner."""

    bank: int
    row: int
    needs: int
    owner: int


@dataclass
class Controller:
    """A memory with its controller; cycles are the memory's.

    ``openings``: number of rows opened, by bank. ``free_rows``: rows need not be opened at all.
    """

    memory: Memory
    writes: bool
    free_rows: bool = False
    queue: deque[Command] = field(default_factory=deque)
    results: deque[tuple[float, int]] = field(default_factory=deque)  # time in ps and owner, in order
    arrived: int = 0
    cycle: int = 0
    next: int = 0
    columns: int = 0
    end: int = 0

    def __post_init__(self) -> None:
        tables, numbering = make_tables(self.memory)
        self._image, self._latency = make_image(tables), tables.latency
        self._targets = numbering.targets["WR" if self.writes else "RD"].ravel().tolist()
        self._last = np.full(numbering.slots, -_NEVER, np.int64)
        self._rings = np.full(max(1, numbering.ring_times), -_NEVER, np.int64)
        self._rows = np.full(int(tables.bank.max()) + 1, -1, np.int64)
        self.openings = dict.fromkeys(range(len(self._targets)), 0)

    @property
    def room(self) -> bool:
        return len(self.queue) < CONTROLLER_QUEUE

    def _wanted(self, command: Command) -> int:
        """The command that ``command`` needs next: a precharge or an activation for its row, or itself."""
        target = self._targets[command.bank]
        return target if self.free_rows else int(next_command(self._image, self._rows, target, command.row, False))

    def _tick(self) -> int:
        """Run one cycle; returns the next cycle in which a command can issue if nothing new arrives."""
        soonest, issued = _NEVER, False
        if self.queue:
            head = self.queue[0]
            target = self._targets[head.bank]
            if self._wanted(head) == target and head.needs <= self.arrived:
                soonest = int(earliest(self._image, self._last, self._rings, target))
                if soonest <= self.cycle:
                    issue(self._image, self._last, self._rings, self._rows, target, -1, self.cycle)
                    self.queue.popleft()
                    self.end = self.cycle + int(self._latency[target])
                    self.results.append((self.end * self.memory.clock_ps, head.owner))
                    self.columns += 1
                    issued = True
        if not issued or self.memory.dual_issue:
            seen: set[int] = set()
            for command in self.queue:
                if command.bank in seen:
                    continue
                seen.add(command.bank)
                wanted = self._wanted(command)
                if wanted == self._targets[command.bank]:
                    continue
                when = int(earliest(self._image, self._last, self._rings, wanted))
                soonest = min(soonest, when)
                if when <= self.cycle:
                    before = self._rows.copy()
                    issue(self._image, self._last, self._rings, self._rows, wanted, command.row, self.cycle)
                    self.openings[command.bank] += bool((self._rows > before).any())
                    issued = True
                    break
        self.cycle += 1
        return self.cycle if issued else max(self.cycle, soonest)

    def until(self, ps: float) -> None:
        """Run all cycles up to a time."""
        while self.cycle * self.memory.clock_ps <= ps:
            self.next = self._tick()
            self.cycle = max(self.cycle, min(self.next, int(ps / self.memory.clock_ps) + 1))


@dataclass(frozen=True)
class Transfer:
    """Time from the first descriptor to the last write in the memory, and rows opened by bank of each side."""

    time_ns: float
    read_openings: dict[int, int]
    write_openings: dict[int, int]


def complete_latency(config: PamInterfaceConfig) -> int:
    """Cycles from a token's last data beat to its offer to the receiver: queue of complete tokens, then its target."""
    return {1: 1, 2: 1, 3: 2}.get(config.bundles, 3) + 1


def _scheduler(config: PamInterfaceConfig, side: MemorySide, depth: int, bank: int, recovery: int) -> SchedulerModel:
    return SchedulerModel(side.commands, config.token_bytes, depth, bank, recovery, config.hit_limit)


def transfer_time(
    config: PamInterfaceConfig,
    tokens: Tokens,
    *,
    source: Controller | None = None,
    destination: Controller | None = None,
) -> Transfer:
    """Simulate transfers in which only the memories cause stalls.

    Parameters
    ----------
    config : its sides are tiers of :data:`bankside.constraints.pam.layout.TIERS`
    source, destination : controllers not used before; by default, controllers of the tiers' memories
    """
    near, far = config.source, config.destination
    source = source or Controller(load_memory(TIERS[near.format].memory), False)
    destination = destination or Controller(load_memory(TIERS[far.format].memory), True)
    sender = _scheduler(config, near, config.reorder_depth, near.read_bank_cycles, near.read_recovery_cycles)
    receiver = _scheduler(config, far, config.write_depth, far.write_bank_cycles, far.write_recovery_cycles)
    clock_ps = 1e6 / config.clock_mhz
    number = bundles(config, tokens).tolist()
    members: list[list[int]] = [[] for _ in range(number[-1] + 1)]
    for token, bundle in enumerate(number):
        members[bundle].append(token)
    # Items that a scheduler orders: bundles where commands reach several chips, else tokens.
    read = members if near.chips > 1 else [[token] for token in range(len(tokens))]
    unread, unwritten = [len(them) for them in members], [1 if far.chips > 1 else len(them) for them in members]
    read_beats = near.layout.accesses_of_token(config.token_bytes) * near.beats
    commands = (len(members) if far.chips > 1 else len(tokens)) * far.layout.accesses_of_token(config.token_bytes)

    cycle = described = places = in_flight = sent = 0
    entered = -1  # the bundle that has places in the buffer already
    came = [0] * len(read)  # beats
    answers: deque[int] = deque()
    offers: deque[tuple[int, int, int, int]] = deque()  # from which cycle, group, slot, bundle
    receiving: list[int] = []  # bundle of each item that the receiver took
    jobs: deque[int] = deque()  # cycle in which the last beat of each command is read
    taken = -1  # the last of these cycles
    leaving: deque[int] = deque()  # cycle in which each beat leaves
    freeing: list[tuple[int, int]] = []  # cycle from which places are free again, and how many
    while destination.columns < commands:
        source.until(cycle * clock_ps)
        destination.until(cycle * clock_ps)
        while source.results and source.results[0][0] <= cycle * clock_ps:
            answers.extend([source.results.popleft()[1]] * near.beats)
        destination.results.clear()
        while freeing and freeing[0][0] <= cycle:
            places -= heappop(freeing)[1]
        while jobs and jobs[0] < cycle:
            jobs.popleft()

        item = None
        if described < len(tokens):
            bundle = number[described]
            asks = near.chips == 1 or described == members[bundle][-1]
            if (entered == bundle or places + config.chips <= config.buffer_tokens) and (sender.ready or not asks):
                places += config.chips * (entered != bundle)
                entered = bundle
                if asks:
                    item = int(tokens.source_group[described]) // near.chips, int(tokens.source_slot[described])
                described += 1
        access = sender.offered
        reads = access is not None and source.room and in_flight < config.reads_in_flight
        if access and reads:
            state = int(near.commands.layout.bank_state(access.group, access.bank))
            source.queue.append(Command(state, access.row, 0, access.token))
            in_flight += 1
        sender.step(item, reads)

        if answers:
            owner = answers.popleft()
            came[owner] += 1
            in_flight -= came[owner] % near.beats == 0
            for token in read[owner] if came[owner] == read_beats else ():
                bundle = number[token]
                unread[bundle] -= 1
                if far.chips == 1 or not unread[bundle]:
                    offers.append(
                        (
                            cycle + complete_latency(config),
                            int(tokens.destination_group[token]) // far.chips,
                            int(tokens.destination_slot[token]),
                            bundle,
                        )
                    )
        offer = None
        if offers and offers[0][0] <= cycle and receiver.ready:
            _, *place, bundle = offers.popleft()
            offer = place[0], place[1]
            receiving.append(bundle)
        access = receiver.offered
        writes = access is not None and destination.room and len(jobs) < JOBS
        if access and writes:
            sent += far.beats
            state = int(far.commands.layout.bank_state(access.group, access.bank))
            destination.queue.append(Command(state, access.row, sent, access.token))
            start = max(cycle, taken) + 1
            taken = start + far.beats - 1
            jobs.append(taken)
            leaving.extend(range(start + READ_TO_DATA, taken + READ_TO_DATA + 1))
            bundle = receiving[access.token]
            unwritten[bundle] -= access.last
            if access.last and not unwritten[bundle]:
                # A place is free when its last beat is read; a place of a bundle is free when the last tag is read.
                after = 1 if far.chips == 1 else READ_TO_DATA + len(members[bundle]) + 1
                heappush(freeing, (taken + after, config.chips))
        receiver.step(offer, writes)
        if leaving and leaving[0] <= cycle:
            leaving.popleft()
            destination.arrived += 1
        cycle += 1
        held = sender.offered is None or not source.room or in_flight >= config.reads_in_flight
        full = (
            described == len(tokens)
            or not sender.ready
            or (entered != number[described] and places + config.chips > config.buffer_tokens)
        )
        if held and full and not answers and not leaving and receiver.offered is None:
            known = (offers[0][0] if offers else _NEVER, freeing[0][0] if freeing else _NEVER)
            cycle = _pass(cycle, clock_ps, (sender, receiver), (source, destination), min(known))
    return Transfer(destination.end * destination.memory.clock_ps / 1e3, source.openings, destination.openings)


def _pass(
    cycle: int,
    clock_ps: float,
    schedulers: tuple[SchedulerModel, SchedulerModel],
    memories: tuple[Controller, Controller],
    limit: int,
) -> int:
    """Skip cycles in which nothing happens; returns the cycle to go on with."""
    for memory in memories:
        if memory.queue:
            limit = min(limit, math.ceil(memory.next * memory.memory.clock_ps / clock_ps))
        if memory.results:
            limit = min(limit, math.ceil(memory.results[0][0] / clock_ps))
    limit = min(limit, *(scheduler.due(limit) for scheduler in schedulers))
    if not cycle < limit < _NEVER:
        return cycle
    for scheduler in schedulers:
        scheduler.skip(limit)
    return limit
