"""Bench of ``cent-pnm``: accumulations, reductions, exponentials and transfers, compared bit for bit with the functional
model and in cycles with the ports of the registers."""

from __future__ import annotations

import numpy as np

from ...constraints.cent.pnm import KINDS, CentPnmConfig, CentPnmResult, PnmCommand
from ...models.aim.hub import HubCommand
from ...models.cent.pnm import PnmModel
from ..aim.channel import KINDS as DATA
from ..aim.channel import numbers
from ..aim.hub import HubStep, simulate, stress
from ..bench.campaign import Campaign
from ..bench.request import SimRequest

__all__ = ["bench", "beside_steps", "command_steps", "dependent_steps"]

#: Commands of a stream, and of a chain in which each command needs the results of the one before.
STREAM, CHAIN = 32, 4
#: Places of a stream: so many commands in a row have slots of their own, if there are so many slots.
PLACES = 4


def command_steps(
    config: CentPnmConfig, op: str | None, slots: int, rng: np.random.Generator, times: int = 1, own: bool = True
) -> list[HubStep]:
    """Load slots, do ``op`` on them in ``times`` commands (None: not at all), and read the results.

    With ``own`` no command needs results of the commands before it, as far as there are slots: PLACES commands in a row
    use other slots. Otherwise each command works in place on what the one before has written.
    """
    places = min(PLACES, config.registers // (2 * slots), times) if own else 1
    steps = [
        HubStep(HubCommand("WR_GPR", slots, n * slots), numbers(config.fmt, (slots, config.lanes), "normal", rng))
        for n in range(2 * places)
    ]
    for n in range(times if op else 0):
        source, target = n % places * slots, (places + n % places) * slots
        if op == "EWADD":
            steps.append(HubStep(HubCommand(op, slots, target, source)))
        else:
            steps.append(HubStep(HubCommand(str(op), slots, source if own else target, target)))
    last = [(times - 1 - n) % places for n in range(places)]  # what is written last is read first
    return [*steps, *(HubStep(HubCommand("RD_GPR", slots, (places + n) * slots)) for n in last)]


#: Slots that commands of :func:`dependent_steps` use beside two groups of the widest engine, and weights of its commands.
REGION = 24
WEIGHTS = {"EWADD": 5, "RED": 2, "EXP": 2, "WR_GPR": 3, "RD_GPR": 3, "WR_GB": 2, "RD_MAC": 2}


def dependent_steps(config: CentPnmConfig, rng: np.random.Generator, count: int) -> list[HubStep]:
    """Random commands, most of them short, on so few slots that many need results of those just before them, or overwrite
    what these still read. Commands overlap only if the protocol allows it. Episodes end with a read of all these slots."""
    reach = min(config.registers, 2 * max(config.group_of(op) for op in KINDS) + REGION)
    base = int(rng.integers(config.registers))

    def words(size: int) -> np.ndarray:
        return numbers(config.fmt, (size, config.lanes), "normal", rng)

    weights = np.array(list(WEIGHTS.values())) / sum(WEIGHTS.values())
    read: set[int] = set()  # by the last command without overlap, and the commands behind it
    written = set(range(reach))
    steps = [HubStep(HubCommand("WR_GPR", reach, base), words(reach))]
    for _ in range(count):
        op = str(rng.choice(list(WEIGHTS), p=weights))
        size = int(rng.integers(1, (3 if rng.random() < 0.5 else max(reach // 2, 1)) + 1))
        mask = 0
        if op == "RD_MAC":
            mask = int(rng.integers(1 << min(config.channels, reach)))
            size = max(mask.bit_count(), 1)
        size = min(size, reach)
        first = int(rng.integers(reach - size + 1))
        second = first
        if rng.random() < 0.7:  # operands and results are the same slots or others
            other = [at for at in range(reach - size + 1) if abs(at - first) >= size]
            second = int(rng.choice(other)) if other else first
        if op == "WR_GB":
            mask = int(rng.integers(1 << config.channels))
        here, there = set(range(first, first + size)), set(range(second, second + size))
        reads = {"EWADD": here | there, "WR_GPR": set(), "RD_MAC": set()}.get(op, here)
        writes = {"RED": there, "EXP": there, "RD_GPR": set(), "WR_GB": set()}.get(op, here)
        overlap = not written & (reads | writes) and not read & writes and rng.random() < 0.5
        read, written = (read | reads, written | writes) if overlap else (reads, writes)
        command = HubCommand(
            op,
            1 if op == "RD_MAC" else size,
            (base + first) % config.registers,
            (base + second) % config.registers,
            mask,
            overlap=int(overlap),
        )
        given = {"RD_MAC": mask.bit_count(), "WR_GPR": size}.get(op)
        steps.append(HubStep(command, None if given is None else words(given)))
    return [*steps, HubStep(HubCommand("RD_GPR", reach, base))]


def beside_steps(config: CentPnmConfig, rng: np.random.Generator) -> list[HubStep]:
    """All engines at once, each with slots of its own: short commands that overlap, of every length and alignment."""
    part, word = config.registers // 8, config.lanes
    steps = [
        HubStep(HubCommand("WR_GPR", part, n * part), numbers(config.fmt, (part, word), "normal", rng))
        for n in range(8)
    ]
    every = (1 << config.channels) - 1
    for _ in range(24):
        for op, (source, target) in {"EWADD": (0, 1), "RED": (2, 3), "EXP": (4, 5)}.items():
            size = int(rng.integers(1, min(part, 40) + 1))
            first, second = (int(rng.integers(part - size + 1)) for _ in range(2))
            steps.append(
                HubStep(HubCommand(op, size, source * part + first, target * part + second, overlap=int(op != "EWADD")))
            )
        size = int(rng.integers(1, min(part, 8) + 1))
        steps.append(HubStep(HubCommand("WR_GB", size, 6 * part, mask=every, overlap=1)))
        steps.append(
            HubStep(HubCommand("WR_GPR", size, 7 * part, overlap=1), numbers(config.fmt, (size, word), "normal", rng))
        )
    return [*steps, *(HubStep(HubCommand("RD_GPR", part, n * part)) for n in range(8))]


def bench(request: SimRequest) -> CentPnmResult:
    """Run the whole bench of ``cent-pnm``:

    - each command on ``slots`` slots, on 32 slots and on one; streams and chains of commands
    - all engines at once
    - short commands that need each other's results
    - random commands with all kinds of data and stalls on every stream
    - the same with outputs that become ready only after they were valid
    """
    config, rng = request.config, np.random.default_rng(request.seed)
    slots = request.workload.slots
    sizes = [slots, min(slots, 32), 1]
    works: dict[tuple[str | None, int, int, bool], list[HubStep]] = {}
    for size in sizes:
        for op in (None, *KINDS):
            works[op, size, 1, True] = command_steps(config, op, size, rng)
    for op in (None, *KINDS):
        for times, own in ((STREAM, True), (CHAIN, False)):
            works[op, slots, times, own] = command_steps(config, op, slots, rng, times, own)

    campaign = Campaign(
        request,
        lambda episodes, **options: simulate(
            config, request.verilog, episodes, top=request.module, kind=PnmModel, **options
        ),
    )
    full = campaign.run("full_rate", list(works.values()), "every command", waves=True)
    campaign.run("beside", [beside_steps(config, rng)], "all engines at once")
    campaign.run(
        "dependent", [dependent_steps(config, rng, 200) for _ in range(2)], "commands that need each other's results"
    )
    campaign.stress(
        lambda count: [
            *stress(config, rng, count - count // 3),
            *(dependent_steps(config, rng, 40) for _ in range(count // 3)),
        ],
        3 * len(DATA),
    )

    at = {key: full.cycles(n) for n, key in enumerate(works)}

    def alone(op: str, size: int, times: int = 1, own: bool = True) -> int:
        return at[op, size, times, own] - at[None, size, times, own]

    commands = {}
    for op in KINDS:
        cycles, ideal, stream = alone(op, slots), config.least_clocks(op, slots), alone(op, slots, STREAM)
        commands[op] = PnmCommand(
            cycles=cycles,
            ideal_cycles=ideal,
            utilisation=round(ideal / cycles, 6),
            cycles_32=alone(op, sizes[1]),
            cycles_1=alone(op, 1),
            stream_cycles=stream,
            stream_utilisation=round(STREAM * ideal / stream, 6),
            dependent_cycles=round((alone(op, slots, CHAIN, False) - cycles) / (CHAIN - 1)),
        )
    exp = commands["EXP"]
    return campaign.result(
        CentPnmResult,
        cycles=exp.cycles,
        ideal_cycles=exp.ideal_cycles,
        stall_cycles=exp.cycles - exp.ideal_cycles,
        utilisation=exp.utilisation,
        commands=commands,
    )
