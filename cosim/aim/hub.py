"""Bench of ``pim-hub``: the hub's commands, compared bit for bit with the functional model and in cycles with the
ideal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...constraints.aim.encoding import COMMANDS, channels_of
from ...constraints.aim.hub import (
    MANY,
    RECEIVING,
    TRANSFERS,
    EpuCommand,
    EpuVectorCommand,
    HubConfig,
    PimHubConfig,
    PimHubResult,
)
from ...constraints.cent.pnm import CentPnmConfig
from ...models.aim.hub import HubCommand, HubModel
from ...models.numerics import to_float64
from ..bench.campaign import Campaign, Played, Stimulus, layouts, play_stimulus, streams
from ..bench.request import SimRequest
from ..bench.streams import Items
from .channel import KINDS, command_rows, number_rows, numbers

__all__ = ["HubStep", "Outcome", "bench", "error", "exact", "random_steps", "simulate", "stimulus", "vector_steps"]


@dataclass(frozen=True, eq=False)
class HubStep:
    """A command with the words that it takes from the host or from channels."""

    command: HubCommand
    words: np.ndarray | None = None


@dataclass
class Outcome(Played):
    """Outcome of a simulation of episodes (lists of steps); ``given``: registers that the host received."""

    given: list[np.ndarray] = field(kw_only=True)

    def cycles(self, number: int) -> int:
        """Cycles of an episode, from its first accepted command to its last output, both included."""
        log = self.run.epochs[number]
        return log.end_cycle - int(log.first["command"][0]) + 1


#: Clocks that a command of the EPU may take beside its words, divided by the clocks of an item.
SCALAR_WORK = 20


def stimulus(config: HubConfig, model: HubModel, episodes: Sequence[Sequence[HubStep]]) -> Stimulus:
    """Commands and words of episodes, and the expected words to host and channels. ``model`` executes the commands."""
    inputs = [port.name for port in streams(config) if port.is_input]
    outputs = [port.name for port in streams(config) if not port.is_input]
    layout = layouts(config)
    codes = {op: COMMANDS[op].code for op in config.commands}
    blocks: dict[str, list[Items]] = {name: [] for name in inputs}

    def ends() -> list[int]:
        return [len(model.given), *(len(words) for words in model.sent)]

    counts = [ends()]
    for number, steps in enumerate(episodes):
        words: dict[str, list[np.ndarray]] = {name: [] for name in inputs}
        for step in steps:
            model.execute(step.command, step.words)
            if step.words is None or not step.command.opsize:
                continue
            if step.command.op in RECEIVING:
                channels = channels_of(step.command.mask, config.channels)
                count = step.command.opsize if step.command.op in MANY else 1
                for channel, own in zip(channels, step.words.reshape(len(channels), count, config.lanes), strict=True):
                    words[f"result_{channel}"].append(own)
            else:
                words["host_in"].append(step.words)
        for name, block in blocks.items():
            payload = (
                command_rows(config.command_layout, codes, [step.command for step in steps])
                if name == "command"
                else number_rows(layout[name], words[name])
            )
            block.append(Items.of(payload, epoch=number))
        counts.append(ends())
    items = {name: Items.join(parts) for name, parts in blocks.items()}
    expected = {
        name: number_rows(layout[name], sent) for name, sent in zip(outputs, [model.given, *model.sent], strict=True)
    }
    work = sum(len(block.payload) for block in items.values()) + sum(
        step.command.opsize + SCALAR_WORK for steps in episodes for step in steps
    )
    return Stimulus(items, expected, dict(zip(outputs, np.diff(np.array(counts), axis=0).T, strict=True)), work=work)


def simulate(
    config: HubConfig,
    verilog: str,
    episodes: Sequence[Sequence[HubStep]],
    *,
    top: str = "pim_hub",
    kind: type[HubModel] = HubModel,
    **options: Any,
) -> Outcome:
    """Run episodes through the RTL and compare every word to host and channels with the functional model.

    Parameters
    ----------
    verilog : text of the unit, generated for ``config``
    episodes : lists of steps that follow each other; each must end with RD_GPR
    kind : class of the functional model
    options : as of :func:`play_stimulus`, and the same errors
    """
    model = kind(config)
    return Outcome(
        **vars(play_stimulus(config, verilog, top, stimulus(config, model, episodes), **options)), given=model.given
    )


# Stimulus -------------------------------------------------------------------------------------------------------------

#: Largest number of words in a vector of a random command.
LONGEST = 128

#: Commands whose ``opsize`` counts elements.
VECTORS = ("SOFTMAX", "LAYERNORM", "RMSNORM")


def vector_steps(config: PimHubConfig, op: str, x: np.ndarray) -> list[HubStep]:
    """Load a vector, do ``op`` on it in place, read it."""
    count = -(-len(x) // config.lanes)
    words = np.zeros((count, config.lanes), np.int64)
    words.reshape(-1)[: len(x)] = x
    return [
        HubStep(HubCommand("WR_GPR", count), words),
        HubStep(HubCommand(op, len(x))),
        HubStep(HubCommand("RD_GPR", count)),
    ]


def random_steps(
    config: PimHubConfig | CentPnmConfig, rng: np.random.Generator, count: int, kind: str = "normal"
) -> list[HubStep]:
    """Writes of all registers that commands reach, random commands, and then reads of these registers. Each command
    follows the commands before it, except transfers among themselves. In a large hub the commands reach only some of
    its registers, somewhere in them. Vectors then have at most :data:`LONGEST` words."""
    room = min(config.registers, config.beats, LONGEST)
    whole = config.registers <= min(4 * room, config.most_opsize)
    reach = config.registers if whole else min(4 * room, config.most_opsize)
    base = 0 if whole else int(rng.integers(config.registers))
    written = config.registers if whole else 4 * room
    steps = [
        HubStep(
            HubCommand("WR_GPR", size, (base + at) % config.registers),
            numbers(config.fmt, (size, config.lanes), kind, rng),
        )
        for at in range(0, written, room)
        for size in [min(room, written - at)]
    ]
    for _ in range(count):
        op = str(rng.choice(list(config.commands)))
        mask = int(rng.integers(0, 1 << config.channels))
        most = room * config.lanes if op in VECTORS else room
        size = int(rng.integers(0, min(most, config.most_opsize) + 1)) if rng.random() < 0.9 else 1
        first, second = ((base + int(x)) % config.registers for x in rng.integers(0, reach if whole else room, 2))
        words = None
        if op not in TRANSFERS:
            # Operands and results are the same registers or others.
            count = -(-size // config.lanes) if op in VECTORS else size
            free = config.registers - 2 * count if whole else room
            second = first
            if free >= 0 and rng.random() < 0.5:
                second = (first + count + int(rng.integers(free + 1))) % config.registers
        if op == "RD_SBK":
            size = min(size, room // config.channels)
        command = HubCommand(op, size, first, second, mask)
        if op in RECEIVING:
            words = numbers(config.fmt, (mask.bit_count() * (size if op in MANY else 1), config.lanes), kind, rng)
        elif op == "WR_GPR":
            words = numbers(config.fmt, (size, config.lanes), kind, rng)
        steps.append(HubStep(command, words))
    return [*steps, HubStep(HubCommand("RD_GPR", reach, base)), HubStep(HubCommand("RD_GPR", 1, base, overlap=1))]


def stress(
    config: PimHubConfig | CentPnmConfig, rng: np.random.Generator, count: int, size: int = 12
) -> list[list[HubStep]]:
    """Random episodes of every kind of data."""
    return [random_steps(config, rng, size, KINDS[n % len(KINDS)]) for n in range(count)]


def overlapped_steps(config: PimHubConfig, rng: np.random.Generator) -> list[HubStep]:
    """The EPU works on one half of the registers while words move from and to the other half."""
    half, word = config.registers // 2, config.lanes
    count = min(half, config.beats, 8 * LONGEST)
    load = [
        HubStep(HubCommand("WR_GPR", count, at), numbers(config.fmt, (count, word), "normal", rng)) for at in (0, half)
    ]
    every = (1 << config.channels) - 1
    steps = [*load, HubStep(HubCommand("SOFTMAX", count * word - 1))]
    for n in range(4):
        received = numbers(config.fmt, (config.channels, word), "normal", rng)
        steps += [
            HubStep(HubCommand("WR_GB", count, half, mask=every, overlap=1)),
            HubStep(HubCommand("RD_MAC", 1, half + n, mask=every, overlap=1), received),
        ]
    return [*steps, HubStep(HubCommand("EWADD", count, 0, half)), HubStep(HubCommand("RD_GPR", count))]


# Accuracy -------------------------------------------------------------------------------------------------------------


def exact(op: str, x: np.ndarray, epsilon: float) -> np.ndarray:
    """Result of SOFTMAX, LAYERNORM or RMSNORM in binary64."""
    if op == "SOFTMAX":
        p = np.exp(x - x.max())
        return p / p.sum()
    y = x - x.mean() if op == "LAYERNORM" else x
    return y / np.sqrt(np.mean(y * y) + epsilon)


def error(config: PimHubConfig, op: str, x: np.ndarray, got: np.ndarray) -> np.ndarray:
    """Absolute errors of bits against binary64 on the same bits."""
    return np.abs(to_float64(got, config.fmt) - exact(op, to_float64(x, config.fmt), config.epsilon))


# Bench ----------------------------------------------------------------------------------------------------------------

#: Passes over a vector: how often each word of a command goes through the EPU, a clock each.
PASSES = {"SOFTMAX": 3, "LAYERNORM": 3, "RMSNORM": 2, "EWADD": 2, "GPR_MUL": 2}


def bench(request: SimRequest) -> PimHubResult:
    """Run the whole bench of ``pim-hub``:

    - each command of the EPU on a vector of ``tokens`` elements and on a vector of half that length
    - the EPU beside transfers
    - random commands with all kinds of data and stalls on every stream
    - the same with outputs that become ready only after they were valid
    """
    config, rng = request.config, np.random.default_rng(request.seed)
    tokens = request.workload.tokens
    count = -(-tokens // config.lanes)
    vectors = {op: numbers(config.fmt, (tokens,), "normal", rng) for op in PASSES}

    def steps(op: str, x: np.ndarray) -> list[HubStep]:
        words = -(-len(x) // config.lanes)
        load, _, read = own = vector_steps(config, op, x)
        return own if op not in ("EWADD", "GPR_MUL") else [load, HubStep(HubCommand(op, words)), read]

    def alone(x: np.ndarray) -> list[HubStep]:
        """The transfers around a command."""
        load, _, read = vector_steps(config, "EWADD", x)
        return [load, HubStep(HubCommand("EWADD", 0)), read]

    half = max(count // 2, 1)
    episodes = [steps(op, x[:size]) for size in (tokens, half * config.lanes) for op, x in vectors.items()]
    plain = [alone(vectors["EWADD"][:size]) for size in (tokens, half * config.lanes)]

    campaign = Campaign(
        request, lambda episodes, **options: simulate(config, request.verilog, episodes, top=request.module, **options)
    )
    full = campaign.run("full_rate", [*episodes, *plain], "every command of the EPU", waves=True)
    beside = campaign.run("overlapped", [overlapped_steps(config, rng)], "EPU beside transfers")
    campaign.stress(lambda count: stress(config, rng, count), 12)

    kinds = len(vectors)
    cycles, short = (
        {op: full.cycles(n + which * kinds) - full.cycles(2 * kinds + which) for n, op in enumerate(vectors)}
        for which in (0, 1)
    )
    ideal = {op: passes * count for op, passes in PASSES.items()}
    commands: dict[str, EpuCommand] = {}
    for n, (op, x) in enumerate(vectors.items()):
        known = {
            "words": count,
            "cycles": cycles[op],
            "ideal_cycles": ideal[op],
            "clocks_per_word": (cycles[op] - short[op]) / (count - half) if count > half else None,
        }
        if op in VECTORS:
            e = error(config, op, x, np.concatenate(full.given[n * count : (n + 1) * count])[:tokens])
            commands[op] = EpuVectorCommand(
                **known, max_abs_error=float(e.max()), rms_error=float(np.sqrt(np.mean(e**2)))
            )
        else:
            commands[op] = EpuCommand(**known)
    softmax = commands["SOFTMAX"]
    assert isinstance(softmax, EpuVectorCommand)
    return campaign.result(
        PimHubResult,
        cycles=softmax.cycles,
        ideal_cycles=softmax.ideal_cycles,
        stall_cycles=softmax.cycles - softmax.ideal_cycles,
        utilisation=round(softmax.ideal_cycles / softmax.cycles, 6),
        commands=commands,
        overlapped_cycles=beside.cycles(0),
        max_abs_error=softmax.max_abs_error,
        rms_error=softmax.rms_error,
    )
