"""Bench of ``aim-channel``: commands, compared bit for bit with the functional model and in cycles with the ideal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...constraints.aim.channel import CODES, GROUP, AimChannelConfig, AimChannelResult, AimPacedWork, AimWork
from ...constraints.core.contract import Layout
from ...constraints.core.formats import FloatFormat
from ...constraints.memory import load_memory
from ...models.aim.channel import BANK_COMMANDS, ChannelModel, Operation, Write
from ...models.aim.program import Step, gemv, memory_program
from ...models.memory.aim import FrontEnd
from ...models.memory.aim_pingpong import PingPong
from ...models.memory.issue_log import LoggedFrontEnd, Recorder
from ...models.numerics import from_float64, to_float64
from ...models.numerics.vectors import corners
from ..bench.campaign import Campaign, Played, Stimulus, play_stimulus
from ..bench.request import SimRequest
from ..bench.streams import Items

__all__ = [
    "KINDS",
    "Arrival",
    "Outcome",
    "arrivals",
    "attention_steps",
    "bench",
    "command_rows",
    "first_writes",
    "number_rows",
    "numbers",
    "random_steps",
    "simulate",
    "stimulus",
    "stress",
]

#: Kinds of random data, see :func:`numbers`.
KINDS = ("normal", "bits", "corners", "small", "large", "cancel")


@dataclass
class Arrival:
    """Earliest cycles at which the unit gets commands, column accesses and words of data: one entry for each."""

    commands: np.ndarray
    accesses: np.ndarray
    words: np.ndarray


@dataclass
class Outcome(Played):
    """Outcome of a simulation of episodes (lists of steps, one after the other on the same channel)."""

    episodes: Sequence[Sequence[Step]] = field(kw_only=True)
    results: list[np.ndarray] = field(kw_only=True)

    def cycles(self, number: int) -> int:
        """Cycles of an episode, from its first accepted command to its last output, both included."""
        log = self.run.epochs[number]
        return log.end_cycle - int(log.first["command"][0]) + 1

    def result_cycles(self, number: int) -> np.ndarray:
        """Cycles of an episode in which its results were taken."""
        counts = np.cumsum([0, *(sum(s.operation.steps for s in steps if _gives(s)) for steps in self.episodes)])
        return self.run.output_cycles["result"][counts[number] : counts[number + 1]]


def _gives(step: Step) -> bool:
    return step.operation.op in ("RD_MAC", "RD_AF", "RD_SBK") and step.operation.opsize > 0


def number_rows(layout: Layout, arrays: Iterable[np.ndarray]) -> np.ndarray:
    """Payloads that consist of numbers alone. Each array holds the numbers of any number of payloads."""
    count = layout.fields[0].count
    return layout.pack(
        {"": np.concatenate([np.zeros((0, count), np.int64), *(one.reshape(-1, count) for one in arrays)])}
    )


def command_rows(layout: Layout, codes: Mapping[str, int], commands: Sequence[Any]) -> np.ndarray:
    """Payloads of commands. A command has the fields as attributes, and the name of its operation in ``op``."""
    columns = {
        name: [codes[one.op] if name == "op" else getattr(one, name) for one in commands] for name in layout.widths
    }
    return layout.pack({name: np.array(column, np.int64) for name, column in columns.items()})


def write_rows(config: AimChannelConfig, writes: Sequence[Write]) -> np.ndarray:
    """Payloads of writes into the banks."""
    data = np.zeros((len(writes), config.groups, config.lanes), np.int64)
    for words, write in zip(data, writes, strict=True):
        if write.element >= 0:
            # Element b of the lowest word goes to bank b.
            words[:, : config.banks] = write.words[:, write.element]
        elif write.banks.bit_count() == 1:
            words[:] = write.words[write.banks.bit_length() - 1]
        else:
            words[:] = write.words[2::GROUP]
    elements = np.array([write.element for write in writes], np.int64)
    return config.write_layout.pack(
        data=data,
        banks=np.array([write.banks for write in writes], np.int64),
        scatter=elements >= 0,
        element=np.maximum(elements, 0),
    )


def stimulus(
    config: AimChannelConfig,
    model: ChannelModel,
    episodes: Sequence[Sequence[Step]],
    arrival: Sequence[Arrival | None] | None = None,
) -> Stimulus:
    """Commands and data of episodes, and the expected results and writes of ``model``, which executes them."""
    blocks: dict[str, list[Items]] = {name: [] for name in ("command", "bank", "data")}
    ends = [(0, 0)]
    for number, steps in enumerate(episodes):
        when = arrival[number] if arrival else None
        for step in steps:
            model.execute(step.operation, step.accesses, step.words)
        payloads = {
            "command": command_rows(config.command_layout, CODES, [step.operation for step in steps]),
            "bank": number_rows(
                config.column_layout,
                [step.accesses for step in steps if step.operation.accesses and step.accesses is not None],
            ),
            "data": number_rows(
                config.word_layout, [step.words for step in steps if step.operation.words and step.words is not None]
            ),
        }
        cycles: tuple[Any, ...] = (when.commands, when.accesses, when.words) if when else (0, 0, 0)
        for (name, payload), cycle in zip(payloads.items(), cycles, strict=True):
            blocks[name].append(Items.of(payload, epoch=number, cycle=cycle))
        ends.append((len(model.results), len(model.writes)))
    results, writes = np.diff(np.array(ends), axis=0).T
    return Stimulus(
        {name: Items.join(parts) for name, parts in blocks.items()},
        {"result": number_rows(config.word_layout, model.results), "write": write_rows(config, model.writes)},
        {"result": results, "write": writes},
    )


def simulate(
    config: AimChannelConfig,
    verilog: str,
    episodes: Sequence[Sequence[Step]],
    *,
    top: str = "aim_channel",
    arrival: Sequence[Arrival | None] | None = None,
    **options: Any,
) -> Outcome:
    """Run episodes through the RTL and compare every result and every write with the functional model.

    Parameters
    ----------
    verilog : text of the unit, generated for ``config``
    episodes : lists of steps that follow each other on one channel; each must end with RD_MAC
    arrival : cycles from which commands and data of an episode are available; None: from the beginning
    options : as of :func:`play_stimulus`, and the same errors
    """
    model = ChannelModel(config)
    played = play_stimulus(config, verilog, top, stimulus(config, model, episodes, arrival), **options)
    return Outcome(**vars(played), episodes=episodes, results=model.results)


# Stimulus -------------------------------------------------------------------------------------------------------------


def numbers(fmt: FloatFormat, shape: tuple[int, ...], kind: str, rng: np.random.Generator) -> np.ndarray:
    """Random bits of one ``kind``:

    - ``normal``
    - ``bits`` (any pattern)
    - ``corners`` (zeros, subnormals, largest, infinities, NaN)
    - ``small`` (around the smallest numbers: products below the range)
    - ``large`` (near the largest: sums overflow)
    - ``cancel`` (plus and minus a few values, so that sums are 0 or nearly)
    """
    if kind == "bits":
        return rng.integers(0, 1 << fmt.width, shape)
    if kind == "corners":
        return rng.choice(corners(fmt), shape)
    if kind == "small":
        return rng.integers(0, 3 << fmt.fraction_bits, shape) | rng.integers(0, 2, shape) * fmt.sign_mask
    if kind == "large":
        return fmt.infinity - rng.integers(1, 2 << fmt.fraction_bits, shape) | rng.integers(0, 2, shape) * fmt.sign_mask
    if kind == "cancel":
        return from_float64(rng.choice([-3.0, -1.0, 1.0, 3.0], shape), fmt)
    return from_float64(rng.normal(size=shape), fmt)


def random_steps(config: AimChannelConfig, rng: np.random.Generator, count: int, kind: str = "normal") -> list[Step]:
    """Random commands with all their operands. Every place of the channel must hold something already. The last command
    is RD_MAC."""
    steps = []
    names = (*CODES, *("WR_GB", "WR_BIAS", "MAC_ABK", "RD_MAC") * 4)
    for _ in range(count):
        most = min(int(rng.choice([3, 8, 2 * config.columns])), (1 << config.opsize_bits) - 1)
        operation = Operation(
            str(rng.choice(names)),
            int(rng.integers(0, most + 1)),
            int(rng.integers(config.columns)),
            int(rng.integers(config.banks)),
            int(rng.integers(config.registers_per_set)),
            int(rng.integers(config.lanes)),
            int(rng.integers(len(config.tables))),
            int(rng.random() < 0.2),
        )
        steps.append(_with_data(config, operation, kind, rng))
    return [*steps, Step(Operation("RD_MAC"))]


def first_writes(config: AimChannelConfig, kind: str, rng: np.random.Generator) -> list[Step]:
    """Writes of every buffer, register and activation. After power-up these hold anything, and no command may use
    them."""
    most, steps = (1 << config.opsize_bits) - 1, []
    for _ in range(config.sets):
        operations = [
            Operation("WR_GB", min(most, config.columns - column), column) for column in range(0, config.columns, most)
        ]
        operations += [Operation("WR_BIAS", register=register) for register in range(config.registers_per_set)]
        steps += [_with_data(config, operation, kind, rng) for operation in (*operations, Operation("MAC_ABK"))]
    return [*steps, Step(Operation("AF"))]


def _with_data(config: AimChannelConfig, operation: Operation, kind: str, rng: np.random.Generator) -> Step:
    return Step(
        operation,
        numbers(config.fmt, (operation.accesses, config.banks, config.lanes), kind, rng),
        numbers(config.fmt, (operation.words, config.lanes), kind, rng),
    )


def stress(config: AimChannelConfig, rng: np.random.Generator, count: int, size: int = 24) -> list[list[Step]]:
    """Random episodes of every kind of data, and matrix-vector products between them. The first begins with
    :func:`first_writes`."""
    episodes = []
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        steps = [] if number else first_writes(config, kind, rng)
        steps += random_steps(config, rng, size, kind)
        if number % 2:
            shape = int(rng.integers(1, 4 * config.banks)), int(rng.integers(1, 2 * config.lanes * config.columns))
            steps += gemv(config, numbers(config.fmt, shape, kind, rng), numbers(config.fmt, shape[1:], kind, rng))
        episodes.append(steps)
    return episodes


def attention_steps(
    config: AimChannelConfig, tokens: int, head_dim: int, rng: np.random.Generator
) -> tuple[list[Step], list[Step], np.ndarray, np.ndarray]:
    """Q K^T and S V of one head on a channel, with random numbers, and their exact values.

    The probabilities are the softmax of the scores in binary64, rounded. The softmax is the hub's part, which has a
    bench of its own.
    """
    q = rng.normal(size=head_dim) / np.sqrt(head_dim)
    k, v = rng.normal(size=(2, tokens, head_dim))
    q, k, v = (from_float64(x, config.fmt) for x in (q, k, v))
    scores = to_float64(k, config.fmt) @ to_float64(q, config.fmt)
    p = np.exp(scores - scores.max())
    p = from_float64(p / p.sum(), config.fmt)
    rows = -(-tokens // config.banks)
    values = to_float64(v, config.fmt).T @ to_float64(p, config.fmt)
    return gemv(config, k, q), gemv(config, v.T, p, base=rows), scores, values


# Memory timing --------------------------------------------------------------------------------------------------------


def arrivals(config: AimChannelConfig, steps: Sequence[Step], memory: str) -> tuple[Arrival, np.ndarray, int]:
    """Cycles at which commands and data come if the memory issues the commands of ``steps`` as its timing allows.

    A command comes when the memory issues the first of its own commands, or the first of a later command's. With two
    sets the memory issues a fill before the products that precede it in the program. Column accesses and words come
    with their own commands. Latencies of the memory's arrays, which shift all of it, are left out.

    Returns
    -------
    arrival; cycles of the unit in which the memory issues the reads of results; cycles of the memory for all of it
    """
    device = load_memory(memory)
    program, names = memory_program(steps), [step.operation.op for step in steps]
    if config.sets == 2:
        double = PingPong(FrontEnd(device))
        issues, end = double.issues(program), int(double.time(program).cycles)
    else:
        front_end = LoggedFrontEnd(device)
        recorder = Recorder(front_end.memory, channels=[0])
        end = int(front_end.record_program(program, recorder).cycles)
        log = recorder.log(end)
        logged = np.array(list(device.commands))[log.commands]
        column = {"WR_GB": "WRGB", "WR_BIAS": "WRMAC16", "MAC_ABK": "MAC16", "RD_MAC": "RDMAC16", "MAC_SBK": "MAC"}
        places = {name: iter(log.cycles[logged == name]) for name in set(column.values())}
        issues = [
            np.array([next(places[column[name]]) for _ in range(step.operation.steps)])
            for name, step in zip(names, steps, strict=True)
        ]
    cycles = [np.ceil(at * device.clock_ps * config.clock_mhz * 1e-6 - 1e-9).astype(np.int64) for at in issues]
    kinds = [0 if name in BANK_COMMANDS else 2 if name == "RD_MAC" else 1 for name in names]
    accesses, words, reads = (
        np.concatenate([np.zeros(0, np.int64), *(at for at, kind in zip(cycles, kinds, strict=True) if kind == wanted)])
        for wanted in range(3)
    )
    commands = np.minimum.accumulate(np.array([at[0] for at in cycles], np.int64)[::-1])[::-1]
    return Arrival(commands, accesses, words), reads, end


# Bench ----------------------------------------------------------------------------------------------------------------


def bench(request: SimRequest) -> AimChannelResult:
    """Run the whole bench of ``aim-channel``:

    - Q K^T, S V, and a matrix-vector product whose inputs fill the buffer twice, at full rate
    - the same with commands and data at the cycles of the memory
    - random commands with all kinds of data and stalls on every stream
    - the same with outputs that become ready only after they were valid
    """
    config, workload, rng = request.config, request.workload, np.random.default_rng(request.seed)
    scores, values, *exact = attention_steps(config, workload.tokens, workload.head_dim, rng)
    fill = config.lanes * config.columns
    shape = (4 * config.banks, 2 * fill)
    product = gemv(config, numbers(config.fmt, shape, "normal", rng), numbers(config.fmt, shape[1:], "normal", rng))
    works = {"q_k": scores, "s_v": values, "gemv": product}

    campaign = Campaign(
        request, lambda episodes, **options: simulate(config, request.verilog, episodes, top=request.module, **options)
    )
    full = campaign.run("full_rate", list(works.values()), waves=True)
    timed = {name: arrivals(config, steps, workload.memory) for name, steps in works.items()}
    paced = campaign.run("memory", list(works.values()), arrival=[t[0] for t in timed.values()])
    campaign.stress(lambda count: stress(config, rng, count), 12)

    cycles = {name: full.cycles(n) for n, name in enumerate(works)}
    ideal = {name: sum(step.operation.accesses for step in steps) for name, steps in works.items()}
    attention, products = cycles["q_k"] + cycles["s_v"], ideal["q_k"] + ideal["s_v"]
    errors = _errors(config, full, exact)
    return campaign.result(
        AimChannelResult,
        cycles=attention,
        ideal_cycles=products,
        stall_cycles=attention - products,
        utilisation=round(products / attention, 6),
        works={
            name: AimWork(
                cycles=cycles[name], ideal_cycles=ideal[name], utilisation=round(ideal[name] / cycles[name], 6)
            )
            for name in works
        },
        memory_timing={
            name: AimPacedWork(
                memory_cycles=memory, cycles=paced.cycles(n), read_to_result=int((paced.result_cycles(n) - reads).max())
            )
            for n, (name, (_, reads, memory)) in enumerate(timed.items())
        },
        max_abs_error=float(errors.max(initial=0.0)),
        rms_error=float(np.sqrt(np.mean(errors**2))),
    )


def _errors(config: AimChannelConfig, outcome: Outcome, exact: Sequence[np.ndarray]) -> np.ndarray:
    """Absolute errors of the results of Q K^T and S V against binary64 on the same bits."""
    found, at = [], 0
    for values in exact:
        count = -(-len(values) // config.banks)
        got = to_float64(np.array(outcome.results[at : at + count])[:, : config.banks], config.fmt).reshape(-1)[
            : len(values)
        ]
        found.append(np.abs(got - values))
        at += count
    return np.concatenate(found)
