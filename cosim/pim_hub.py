"""Bench of ``pim-hub``: commands of the hub, bit for bit against the functional model, in cycles against the ideal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..constraints.program_encoding import channels_of
from ..constraints.units.pim_hub import CODES, EPU_COMMANDS, RECEIVING, PimHubConfig
from ..models.aim.hub import HubCommand, HubModel
from ..models.numerics import to_float64
from .aim_channel import KINDS, integer_rows, number_rows, numbers
from .request import SimRequest
from .streams import Items, StreamPort, StreamRun, compare, play, verdict

__all__ = ["HubStep", "Outcome", "bench", "error", "exact", "ports", "random_steps", "simulate", "vector_steps"]


@dataclass(frozen=True, eq=False)
class HubStep:
    """A command with the words that it takes from the host or from channels."""

    command: HubCommand
    words: np.ndarray | None = None


@dataclass
class Outcome:
    """What a simulation of episodes (lists of steps) showed."""

    config: PimHubConfig
    episodes: list[list[HubStep]]
    run: StreamRun
    vectors: int
    mismatches: int
    first_mismatch: str | None
    given: list[np.ndarray]
    notes: list[str] = field(default_factory=list)

    def cycles(self, number: int) -> int:
        """Of an episode: from its first accepted command to its last output, both included."""
        log = self.run.epochs[number]
        return log.end_cycle - int(log.first["command"][0]) + 1


def ports(config: PimHubConfig) -> list[StreamPort]:
    """The unit's streams."""
    word = config.word_bits
    return [StreamPort("command", sum(config.field_bits().values()), True), StreamPort("host_in", word, True),
            *(StreamPort(f"result_{n}", word, True) for n in range(config.channels)), StreamPort("host_out", word, False),
            *(StreamPort(f"data_{n}", word, False) for n in range(config.channels))]


def command_word(config: PimHubConfig, command: HubCommand) -> int:
    """Bits of a command."""
    word, low = 0, 0
    for name, width in config.field_bits().items():
        word |= (CODES[command.op] if name == "op" else getattr(command, name)) << low
        low += width
    return word


def simulate(config: PimHubConfig, verilog: str, episodes: Sequence[Sequence[HubStep]], *, top: str = "pim_hub",
             stalls: float = 0.0, lazy: bool = False, seed: int = 1, waves: Path | None = None, **options: Any) -> Outcome:
    """Run episodes through the RTL and compare every word to host and channels with the functional model.

    Parameters
    ----------
    verilog : text of the unit, generated for ``config``
    episodes : lists of steps that follow each other; each must end with RD_GPR
    stalls : probability that an input is withheld, or an output refused, in a clock
    options : ``power_up`` and ``resets`` of :func:`~.streams.play`

    Raises
    ------
    :exc:`CheckFailed`
        If the simulation crashed or hung. Wrong results do not raise: see ``mismatches``.
    """
    streams = ports(config)
    sizes = {port.name: port.payload_bytes for port in streams}
    names = [port.name for port in streams if not port.is_input]
    model = HubModel(config)
    blocks: dict[str, list[Items]] = {port.name: [] for port in streams if port.is_input}
    targets = []
    for number, steps in enumerate(episodes):
        parts: dict[str, list[np.ndarray]] = {name: [np.zeros((0, size), np.uint8)] for name, size in sizes.items()}
        before = [len(model.given), *(len(words) for words in model.sent)]
        for step in steps:
            model.execute(step.command, step.words)
            if step.words is None or not step.command.opsize:
                continue
            if step.command.op in RECEIVING:
                for channel, word in zip(channels_of(step.command.mask, config.channels), step.words, strict=True):
                    parts[f"result_{channel}"].append(number_rows(word[None]))
            else:
                parts["host_in"].append(number_rows(step.words))
        parts["command"].append(integer_rows([command_word(config, step.command) for step in steps], sizes["command"]))
        for name, block in blocks.items():
            block.append(Items.of(np.concatenate(parts[name]), epoch=number))
        targets.append(np.array([len(model.given), *(len(words) for words in model.sent)]) - before)
    items = {name: Items.join(parts) for name, parts in blocks.items()}
    expected = {name: number_rows(np.array(words, np.int64).reshape(-1, config.lanes))
                for name, words in zip(names, [model.given, *model.sent], strict=True)}
    work = sum(len(block.payload) for block in items.values()) + sum(step.command.opsize for e in episodes for step in e)
    slack = 1.0 if not stalls else 4.0 / (1.0 - stalls) ** 2
    run = play(verilog, top, streams, items, {name: np.array([t[n] for t in targets]) for n, name in enumerate(names)},
               stalls={port.name: stalls for port in streams}, lazy=lazy, seed=seed,
               limit=int(work * 12 * slack + 200 * sum(len(e) for e in episodes) + 100_000), waves=waves,
               **options)
    mismatches, first, notes = compare(run, items, expected, dict(zip(names, np.transpose(targets), strict=True)))
    return Outcome(config, [list(e) for e in episodes], run, sum(len(rows) for rows in expected.values()), mismatches,
                   first, model.given, notes)


# Stimulus -------------------------------------------------------------------------------------------------------------

#: Words of the vectors of random commands at most.
LONGEST = 128


def vector_steps(config: PimHubConfig, op: str, x: np.ndarray) -> list[HubStep]:
    """Load a vector, do ``op`` on it in place, read it."""
    count = -(-len(x) // config.lanes)
    words = np.zeros((count, config.lanes), np.int64)
    words.reshape(-1)[:len(x)] = x
    return [HubStep(HubCommand("WR_GPR", count), words), HubStep(HubCommand(op, len(x))),
            HubStep(HubCommand("RD_GPR", count))]


def random_steps(config: PimHubConfig, rng: np.random.Generator, count: int, kind: str = "normal") -> list[HubStep]:
    """Writes of all registers that are reached; random commands, each after those before it but for transfers among
    themselves; then what they reach is read. Of a large hub that is a part of its registers, somewhere in them, and vectors
    are no longer than :data:`LONGEST` words."""
    room = min(config.registers, config.beats, LONGEST)
    whole = config.registers <= min(4 * room, config.max_elements)
    reach = config.registers if whole else min(4 * room, config.max_elements)
    base = 0 if whole else int(rng.integers(config.registers))
    written = config.registers if whole else 4 * room
    steps = [HubStep(HubCommand("WR_GPR", size, (base + at) % config.registers),
                     numbers(config.fmt, (size, config.lanes), kind, rng))
             for at in range(0, written, room) for size in [min(room, written - at)]]
    for _ in range(count):
        op = str(rng.choice(list(CODES)))
        mask = int(rng.integers(0, 1 << config.channels))
        most = room * config.lanes if op in ("SOFTMAX", "LAYERNORM", "RMSNORM") else room
        size = int(rng.integers(0, min(most, config.max_elements) + 1)) if rng.random() < 0.9 else 1
        first, second = ((base + int(x)) % config.registers for x in rng.integers(0, reach if whole else room, 2))
        words = None
        if op in EPU_COMMANDS:
            # Operands and results are the same registers or others.
            count = size if op in ("EWADD", "GPR_MUL") else -(-size // config.lanes)
            free = config.registers - 2 * count if whole else room
            second = first
            if free >= 0 and rng.random() < 0.5:
                second = (first + count + int(rng.integers(free + 1))) % config.registers
        command = HubCommand(op, size, first, second, mask)
        if op in RECEIVING:
            words = numbers(config.fmt, (mask.bit_count(), config.lanes), kind, rng)
        elif op == "WR_GPR":
            words = numbers(config.fmt, (size, config.lanes), kind, rng)
        steps.append(HubStep(command, words))
    return [*steps, HubStep(HubCommand("RD_GPR", reach, base)), HubStep(HubCommand("RD_GPR", 1, overlap=1))]


def stress(config: PimHubConfig, rng: np.random.Generator, count: int, size: int = 12) -> list[list[HubStep]]:
    """Random episodes of every kind of data."""
    return [random_steps(config, rng, size, KINDS[n % len(KINDS)]) for n in range(count)]


def overlapped_steps(config: PimHubConfig, rng: np.random.Generator) -> list[HubStep]:
    """The EPU on one half of the registers while words move from and to the other half."""
    half, word = config.registers // 2, config.lanes
    count = min(half, config.beats, 8 * LONGEST)
    load = [HubStep(HubCommand("WR_GPR", count, at), numbers(config.fmt, (count, word), "normal", rng)) for at in (0, half)]
    every = (1 << config.channels) - 1
    steps = [*load, HubStep(HubCommand("SOFTMAX", count * word - 1))]
    for n in range(4):
        received = numbers(config.fmt, (config.channels, word), "normal", rng)
        steps += [HubStep(HubCommand("WR_GB", count, half, mask=every, overlap=1)),
                  HubStep(HubCommand("RD_MAC", 1, half + n, mask=every, overlap=1), received)]
    return [*steps, HubStep(HubCommand("EWADD", count, 0, half)), HubStep(HubCommand("RD_GPR", count))]


# Accuracy -------------------------------------------------------------------------------------------------------------


def exact(op: str, x: np.ndarray, epsilon: float) -> np.ndarray:
    """What SOFTMAX, LAYERNORM or RMSNORM means, in binary64."""
    if op == "SOFTMAX":
        p = np.exp(x - x.max())
        return p / p.sum()
    y = x - x.mean() if op == "LAYERNORM" else x
    return y / np.sqrt(np.mean(y * y) + epsilon)


def error(config: PimHubConfig, op: str, x: np.ndarray, got: np.ndarray) -> np.ndarray:
    """Absolute errors of bits against binary64 on the same bits."""
    return np.abs(to_float64(got, config.fmt) - exact(op, to_float64(x, config.fmt), config.epsilon))


# Bench ----------------------------------------------------------------------------------------------------------------

#: Passes over a vector: words of each command that go through the EPU, a clock each.
PASSES = {"SOFTMAX": 3, "LAYERNORM": 3, "RMSNORM": 2, "EWADD": 2, "GPR_MUL": 2}


def bench(request: SimRequest) -> dict[str, Any]:
    """Run the whole bench of ``pim-hub``.

    Each command of the EPU on a vector of ``tokens`` elements and on one of half of them; the EPU beside transfers; random
    commands with all kinds of data and stalls on every stream; the same with outputs that become ready only after they were
    asked to.

    Returns
    -------
    dict with the keys of ``bankside sim --json`` that depend on the unit. ``cycles``, ``ideal_cycles`` and ``utilisation``
    are of the softmax alone: words of its three passes, one a clock. Of each command, ``clocks_per_word`` are the clocks of
    a further word: the difference of both vectors.
    """
    config, rng = request.config, np.random.default_rng(request.seed)
    tokens = request.workload["tokens"]
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

    def run(name: str, episodes: list[list[HubStep]], **options: Any) -> Outcome:
        request.progress(f"simulating: {name}")
        return simulate(config, request.verilog, episodes, top=request.module, seed=request.seed, **options)

    request.progress("building the Verilated model")
    full = run("every command of the EPU", [*episodes, *plain], waves=request.waves)
    outcomes = {"full_rate": full, "overlapped": run("EPU beside transfers", [overlapped_steps(config, rng)]),
                "stalls": run("random stalls and back-pressure", stress(config, rng, 12), stalls=0.35),
                "lazy_outputs": run("outputs that wait to be asked", stress(config, rng, 6), stalls=0.1, lazy=True)}
    kinds = len(vectors)
    long, short = ({op: full.cycles(n + which * kinds) - full.cycles(2 * kinds + which) for n, op in enumerate(vectors)}
                   for which in (0, 1))
    cycles = long
    slope = {op: (long[op] - short[op]) / (count - half) if count > half else None for op in vectors}
    errors = {}
    at = 0
    for op, x in vectors.items():
        got = np.concatenate(full.given[at:at + count])[:tokens]
        at += count
        if op in ("SOFTMAX", "LAYERNORM", "RMSNORM"):
            e = error(config, op, x, got)
            errors[op] = {"max_abs_error": float(e.max()), "rms_error": float(np.sqrt(np.mean(e**2)))}
    clocks = sum(o.run.clocks for o in outcomes.values())
    ideal = {op: passes * count for op, passes in PASSES.items()}
    return {
        **verdict(outcomes),
        "cycles": cycles["SOFTMAX"],
        "ideal_cycles": ideal["SOFTMAX"],
        "stall_cycles": cycles["SOFTMAX"] - ideal["SOFTMAX"],
        "utilisation": round(ideal["SOFTMAX"] / cycles["SOFTMAX"], 6),
        "commands": {op: {"words": count, "cycles": cycles[op], "ideal_cycles": ideal[op],
                          "clocks_per_word": slope[op], **errors.get(op, {})} for op in PASSES},
        "max_abs_error": errors["SOFTMAX"]["max_abs_error"],
        "rms_error": errors["SOFTMAX"]["rms_error"],
        "runs": {name: {"vectors": o.vectors, "mismatches": o.mismatches, "clocks": o.run.clocks}
                 for name, o in outcomes.items()},
        "waves": str(full.run.waves) if full.run.waves else None,
        "clocks": clocks,
        "clocks_per_second": round(clocks / sum(o.run.seconds for o in outcomes.values())),
    }
