"""Bench of ``cent-pnm``: accumulations, reductions, exponentials and transfers, compared bit for bit with the functional
model and in cycles with the ports of the registers."""

from __future__ import annotations

import numpy as np

from ..constraints.units.cent_pnm import KINDS, CentPnmConfig, CentPnmResult, PnmCommand
from ..models.aim.hub import HubCommand
from ..models.cent.pnm import PnmModel
from .aim_channel import KINDS as DATA
from .aim_channel import numbers
from .campaign import Campaign
from .pim_hub import HubStep, simulate, stress
from .request import SimRequest

__all__ = ["bench", "beside_steps", "command_steps"]

#: Commands that follow each other with overlap, for the clocks of a further command.
FURTHER = 4


def command_steps(config: CentPnmConfig, op: str | None, slots: int, rng: np.random.Generator,
                  times: int = 1) -> list[HubStep]:
    """Load slots, do ``op`` on them in place in ``times`` commands (None: not at all), read them. Each command has slots of
    its own, so they may overlap."""
    words = [numbers(config.fmt, (slots, config.lanes), "normal", rng) for _ in range(2)]
    steps = [HubStep(HubCommand("WR_GPR", slots, at), part) for at, part in zip((0, slots), words, strict=True)]
    own = slots // times
    for n in range(times if op else 0):
        first, other = n * own, slots + n * own
        command = HubCommand(str(op), own, first, other if op == "EWADD" else first, overlap=int(n > 0))
        steps.append(HubStep(command))
    return [*steps, HubStep(HubCommand("RD_GPR", slots))]


def beside_steps(config: CentPnmConfig, rng: np.random.Generator) -> list[HubStep]:
    """All engines at once, each with slots of its own: short commands that overlap, of every length and alignment."""
    part, word = config.registers // 8, config.lanes
    steps = [HubStep(HubCommand("WR_GPR", part, n * part), numbers(config.fmt, (part, word), "normal", rng))
             for n in range(8)]
    every = (1 << config.channels) - 1
    for _ in range(24):
        for op, (source, target) in {"EWADD": (0, 1), "RED": (2, 3), "EXP": (4, 5)}.items():
            size = int(rng.integers(1, min(part, 40) + 1))
            first, second = (int(rng.integers(part - size + 1)) for _ in range(2))
            steps.append(HubStep(HubCommand(op, size, source * part + first, target * part + second,
                                            overlap=int(op != "EWADD"))))
        size = int(rng.integers(1, min(part, 8) + 1))
        steps.append(HubStep(HubCommand("WR_GB", size, 6 * part, mask=every, overlap=1)))
        steps.append(HubStep(HubCommand("WR_GPR", size, 7 * part, overlap=1),
                             numbers(config.fmt, (size, word), "normal", rng)))
    return [*steps, *(HubStep(HubCommand("RD_GPR", part, n * part)) for n in range(8))]


def bench(request: SimRequest) -> CentPnmResult:
    """Run the whole bench of ``cent-pnm``:

    - each command on ``slots`` slots, on 32 slots and on one, and several that overlap
    - all engines at once
    - random commands with all kinds of data and stalls on every stream
    - the same with outputs that become ready only after they were valid
    """
    config, rng = request.config, np.random.default_rng(request.seed)
    slots = request.workload.slots
    sizes = [slots, min(slots, 32), 1]
    works: dict[tuple[str | None, int, int], list[HubStep]] = {}
    for size in sizes:
        for op in (None, *KINDS):
            works[op, size, 1] = command_steps(config, op, size, rng)
    times = min(FURTHER, slots)
    for op in KINDS:
        works[op, slots, times] = command_steps(config, op, slots, rng, times)
        works[op, slots // times, 1] = command_steps(config, op, slots // times, rng)
    works[None, slots // times, 1] = command_steps(config, None, slots // times, rng)

    campaign = Campaign(request, lambda episodes, **options: simulate(
        config, request.verilog, episodes, top=request.module, kind=PnmModel, **options))
    full = campaign.run("full_rate", list(works.values()), "every command", waves=True)
    campaign.run("beside", [beside_steps(config, rng)], "all engines at once")
    campaign.stress(lambda count: stress(config, rng, count), 2 * len(DATA))

    at = {key: full.cycles(n) for n, key in enumerate(works)}

    def alone(op: str, size: int, count: int = 1) -> int:
        return at[op, size, count] - at[None, size, 1]

    commands = {}
    for op in KINDS:
        cycles, ideal = alone(op, slots), config.least_clocks(op, slots)
        own = slots // times
        further = (alone(op, slots, times) - alone(op, own)) // (times - 1) if times > 1 else cycles
        commands[op] = PnmCommand(cycles=cycles, ideal_cycles=ideal, utilisation=round(ideal / cycles, 6),
                                  cycles_32=alone(op, sizes[1]), cycles_1=alone(op, 1), further_cycles=further)
    exp = commands["EXP"]
    return campaign.result(
        CentPnmResult,
        cycles=exp.cycles,
        ideal_cycles=exp.ideal_cycles,
        stall_cycles=exp.cycles - exp.ideal_cycles,
        utilisation=exp.utilisation,
        commands=commands)
