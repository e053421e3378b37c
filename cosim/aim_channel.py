"""Bench of ``aim-channel``: commands, bit for bit against the functional model, in cycles against the ideal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..constraints.formats import FloatFormat
from ..constraints.memory import load_memory
from ..constraints.units.aim_channel import CODES, GROUP, AimChannelConfig
from ..models.aim.channel import BANK_COMMANDS, ChannelModel, Operation, Write
from ..models.aim.program import Step, gemv, memory_program
from ..models.memory.aim import FrontEnd
from ..models.memory.aim_pingpong import PingPong
from ..models.memory.issue_log import LoggedFrontEnd, Recorder
from ..models.numerics import from_float64, to_float64
from ..models.numerics.vectors import corners
from .request import SimRequest
from .streams import Items, StreamPort, StreamRun, compare, play, verdict

__all__ = ["KINDS", "Arrival", "Outcome", "arrivals", "attention_steps", "bench", "first_writes",
           "integer_rows", "number_rows", "numbers", "ports", "random_steps", "simulate", "stress"]

#: Kinds of random data, see :func:`numbers`.
KINDS = ("normal", "bits", "corners", "small", "large", "cancel")


@dataclass
class Arrival:
    """Cycles before which the unit gets a command, column accesses and words of data, one each for all of them."""

    commands: np.ndarray
    accesses: np.ndarray
    words: np.ndarray


@dataclass
class Outcome:
    """What a simulation of episodes (lists of steps, one after the other on the same channel) showed."""

    config: AimChannelConfig
    episodes: list[list[Step]]
    run: StreamRun
    vectors: int
    mismatches: int
    first_mismatch: str | None
    results: list[np.ndarray]
    notes: list[str] = field(default_factory=list)

    def cycles(self, number: int) -> int:
        """Of an episode: from its first accepted command to its last output, both included."""
        log = self.run.epochs[number]
        return log.end_cycle - int(log.first["command"][0]) + 1

    def result_cycles(self, number: int) -> np.ndarray:
        """Cycles of an episode in which its results were taken."""
        counts = np.cumsum([0, *(sum(1 for s in steps if _gives(s)) for steps in self.episodes)])
        return self.run.output_cycles["result"][counts[number]:counts[number + 1]]


def _gives(step: Step) -> bool:
    return step.operation.op in ("RD_MAC", "RD_AF", "RD_SBK") and step.operation.opsize > 0


def ports(config: AimChannelConfig) -> list[StreamPort]:
    """The unit's streams (widths follow from the configuration as in the generator's layouts)."""
    word = config.word_bits
    return [StreamPort("command", sum(config.field_bits().values()), True), StreamPort("bank", config.banks * word, True),
            StreamPort("data", word, True),
            StreamPort("write", config.groups * word + config.banks + 1 + config.field_bits()["element"], False),
            StreamPort("result", word, False)]


def number_rows(elements: np.ndarray) -> np.ndarray:
    """Rows of 16-bit numbers as rows of bytes."""
    flat = elements.reshape(len(elements), int(np.prod(elements.shape[1:])))
    return np.ascontiguousarray(flat.astype("<u2")).view(np.uint8)


def integer_rows(values: Sequence[int], size: int) -> np.ndarray:
    raw = b"".join(value.to_bytes(size, "little") for value in values)
    return np.frombuffer(raw, np.uint8).reshape(len(values), size)


def command_word(config: AimChannelConfig, operation: Operation) -> int:
    """Bits of a command."""
    word, low = 0, 0
    for name, width in config.field_bits().items():
        value = CODES.get(operation.op, 0) if name == "op" else getattr(operation, name)
        word |= value << low
        low += width
    return word


def _write_word(config: AimChannelConfig, write: Write) -> int:
    if write.element >= 0:
        # Element b of the lowest word goes to bank b.
        low = np.zeros(config.lanes, np.int64)
        low[:config.banks] = write.words[:, write.element]
        groups = [low] * config.groups
    elif write.banks.bit_count() == 1:
        groups = [write.words[write.banks.bit_length() - 1]] * config.groups
    else:
        groups = list(write.words[2::GROUP])
    word = int.from_bytes(number_rows(np.concatenate(groups)[None])[0].tobytes(), "little")
    word |= write.banks << (config.groups * config.word_bits)
    if write.element >= 0:
        word |= (1 | write.element << 1) << (config.groups * config.word_bits + config.banks)
    return word


def simulate(config: AimChannelConfig, verilog: str, episodes: Sequence[Sequence[Step]], *, top: str = "aim_channel",
             arrival: Sequence[Arrival | None] | None = None, stalls: float = 0.0, lazy: bool = False, seed: int = 1,
             waves: Path | None = None, **options: Any) -> Outcome:
    """Run episodes through the RTL and compare every result and every write with the functional model.

    Parameters
    ----------
    verilog : text of the unit, generated for ``config``
    episodes : lists of steps that follow each other on one channel; each must end with RD_MAC
    arrival : when commands and data of an episode are there; None: from the beginning
    stalls : probability that an input is withheld, or an output refused, in a clock
    options : ``power_up`` and ``resets`` of :func:`~.streams.play`

    Raises
    ------
    :exc:`CheckFailed`
        If the simulation crashed or hung. Wrong results do not raise: see ``mismatches``.
    """
    sizes = {port.name: port.payload_bytes for port in ports(config)}
    model = ChannelModel(config)
    blocks: dict[str, list[Items]] = {name: [] for name in ("command", "bank", "data")}
    targets: dict[str, list[int]] = {"result": [], "write": []}
    for number, steps in enumerate(episodes):
        before = len(model.results), len(model.writes)
        when = arrival[number] if arrival else None
        parts: dict[str, list[np.ndarray]] = {"bank": [np.zeros((0, sizes["bank"]), np.uint8)],
                                              "data": [np.zeros((0, sizes["data"]), np.uint8)]}
        for step in steps:
            model.execute(step.operation, step.accesses, step.words)
            if step.operation.accesses and step.accesses is not None:
                parts["bank"].append(number_rows(step.accesses))
            if step.operation.words and step.words is not None:
                parts["data"].append(number_rows(step.words))
        commands = integer_rows([command_word(config, step.operation) for step in steps], sizes["command"])
        cycles: tuple[Any, ...] = (when.commands, when.accesses, when.words) if when else (0, 0, 0)
        for name, payload, cycle in zip(blocks, (commands, *(np.concatenate(parts[n]) for n in ("bank", "data"))), cycles,
                                        strict=True):
            blocks[name].append(Items.of(payload, epoch=number, cycle=cycle))
        targets["result"].append(len(model.results) - before[0])
        targets["write"].append(len(model.writes) - before[1])
    items = {name: Items.join(parts) for name, parts in blocks.items()}
    expected = {"result": number_rows(np.array(model.results, np.int64).reshape(-1, config.lanes)),
                "write": integer_rows([_write_word(config, w) for w in model.writes], sizes["write"])}
    work = sum(len(block.payload) for block in items.values())
    latest = max(int(block.cycle.max(initial=0)) for block in items.values())
    slack = 1.0 if not stalls else 4.0 / (1.0 - stalls) ** 2
    run = play(verilog, top, ports(config), items, {name: np.array(count) for name, count in targets.items()},
               stalls={port.name: stalls for port in ports(config)}, lazy=lazy, seed=seed,
               limit=int(latest + work * 12 * slack + 100_000), waves=waves, **options)
    mismatches, first, notes = compare(run, items, expected, targets)
    return Outcome(config, [list(e) for e in episodes], run, len(expected["result"]) + len(expected["write"]), mismatches,
                   first, model.results, notes)


# Stimulus -------------------------------------------------------------------------------------------------------------


def numbers(fmt: FloatFormat, shape: tuple[int, ...], kind: str, rng: np.random.Generator) -> np.ndarray:
    """Random bits. ``kind``: ``normal``; ``bits`` (any pattern); ``corners`` (zeros, subnormals, largest, infinities, NaN);
    ``small`` (around the smallest numbers: products below the range); ``large`` (near the largest: sums overflow);
    ``cancel`` (plus and minus a few values, so that sums are 0 or nearly)."""
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
    """Random commands with all their operands, for a channel that holds something everywhere; the last one is RD_MAC."""
    steps = []
    names = (*CODES, *("WR_GB", "WR_BIAS", "MAC_ABK", "RD_MAC") * 4)
    for _ in range(count):
        most = min(int(rng.choice([3, 8, 2 * config.columns])), (1 << config.opsize_bits) - 1)
        operation = Operation(
            str(rng.choice(names)), int(rng.integers(0, most + 1)), int(rng.integers(config.columns)),
            int(rng.integers(config.banks)), int(rng.integers(config.registers_per_set)), int(rng.integers(config.lanes)),
            int(rng.integers(len(config.tables))), int(rng.random() < 0.2))
        steps.append(_with_data(config, operation, kind, rng))
    return [*steps, Step(Operation("RD_MAC"))]


def first_writes(config: AimChannelConfig, kind: str, rng: np.random.Generator) -> list[Step]:
    """Writes of every buffer, register and activation: after power-up they hold anything, and no command may use them."""
    most, steps = (1 << config.opsize_bits) - 1, []
    for _ in range(config.sets):
        operations = [Operation("WR_GB", min(most, config.columns - column), column)
                      for column in range(0, config.columns, most)]
        operations += [Operation("WR_BIAS", register=register) for register in range(config.registers_per_set)]
        steps += [_with_data(config, operation, kind, rng) for operation in (*operations, Operation("MAC_ABK"))]
    return [*steps, Step(Operation("AF"))]


def _with_data(config: AimChannelConfig, operation: Operation, kind: str, rng: np.random.Generator) -> Step:
    return Step(operation, numbers(config.fmt, (operation.accesses, config.banks, config.lanes), kind, rng),
                numbers(config.fmt, (operation.words, config.lanes), kind, rng))


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


def attention_steps(config: AimChannelConfig, tokens: int, head_dim: int,
                    rng: np.random.Generator) -> tuple[list[Step], list[Step], np.ndarray, np.ndarray]:
    """Q K^T and S V of one head on a channel, with random numbers, and their exact values.

    The probabilities are the softmax of the scores in binary64, rounded: the hub's part, which has a bench of its own.
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
    """When commands and data come if the memory issues the commands of ``steps`` as its timing allows.

    A command comes when the memory issues the first of its own, or of one behind it: with two sets the memory issues a fill
    before the products that precede it in the program. Column accesses and words come with theirs. Latencies of the
    memory's arrays, which shift all of it, are left out.

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
        issues = [np.array([next(places[column[name]]) for _ in range(step.operation.steps)])
                  for name, step in zip(names, steps, strict=True)]
    cycles = [np.ceil(at * device.clock_ps * config.clock_mhz * 1e-6 - 1e-9).astype(np.int64) for at in issues]
    kinds = [0 if name in BANK_COMMANDS else 2 if name == "RD_MAC" else 1 for name in names]
    accesses, words, reads = (
        np.concatenate([np.zeros(0, np.int64), *(at for at, kind in zip(cycles, kinds, strict=True) if kind == wanted)])
        for wanted in range(3))
    commands = np.minimum.accumulate(np.array([at[0] for at in cycles], np.int64)[::-1])[::-1]
    return Arrival(commands, accesses, words), reads, end


# Bench ----------------------------------------------------------------------------------------------------------------


def bench(request: SimRequest) -> dict[str, Any]:
    """Run the whole bench of ``aim-channel``.

    Q K^T, S V, and a matrix-vector product whose inputs fill the buffer twice, at full rate and with commands and data at
    the cycles of the memory; random commands with all kinds of data and stalls on every stream; the same with outputs that
    become ready only after they were asked to.

    Returns
    -------
    dict with the keys of ``bankside sim --json`` that depend on the unit. ``cycles``, ``ideal_cycles`` and ``utilisation``
    are of the attention of the head at full rate: column accesses of the products, one a clock.
    """
    config, rng = request.config, np.random.default_rng(request.seed)
    tokens, head_dim = request.workload["tokens"], request.workload["head_dim"]
    scores, values, *exact = attention_steps(config, tokens, head_dim, rng)
    fill = config.lanes * config.columns
    shape = (4 * config.banks, 2 * fill)
    product = gemv(config, numbers(config.fmt, shape, "normal", rng), numbers(config.fmt, shape[1:], "normal", rng))
    works = {"q_k": scores, "s_v": values, "gemv": product}

    def run(name: str, episodes: list[list[Step]], **options: Any) -> Outcome:
        request.progress(f"simulating: {name}")
        return simulate(config, request.verilog, episodes, top=request.module, seed=request.seed, **options)

    request.progress("building the Verilated model")
    full = run("commands and data at every clock", list(works.values()), waves=request.waves)
    timed = {name: arrivals(config, steps, request.workload["memory"]) for name, steps in works.items()}
    paced = run("commands and data at the memory's cycles", list(works.values()), arrival=[t[0] for t in timed.values()])
    outcomes = {"full_rate": full, "memory": paced}
    outcomes["stalls"] = run("random stalls and back-pressure", stress(config, rng, 12), stalls=0.35)
    outcomes["lazy_outputs"] = run("outputs that wait to be asked", stress(config, rng, 6), stalls=0.1, lazy=True)
    cycles = {name: full.cycles(n) for n, name in enumerate(works)}
    ideal = {name: sum(step.operation.accesses for step in steps) for name, steps in works.items()}
    clocks = sum(o.run.clocks for o in outcomes.values())
    attention = cycles["q_k"] + cycles["s_v"]
    errors = _errors(config, full, exact)
    return {
        **verdict(outcomes),
        "cycles": attention,
        "ideal_cycles": ideal["q_k"] + ideal["s_v"],
        "stall_cycles": attention - ideal["q_k"] - ideal["s_v"],
        "utilisation": round((ideal["q_k"] + ideal["s_v"]) / attention, 6),
        "works": {name: {"cycles": cycles[name], "ideal_cycles": ideal[name],
                         "utilisation": round(ideal[name] / cycles[name], 6)} for name in works},
        "memory_timing": {name: {"memory_cycles": memory, "cycles": paced.cycles(n),
                                 "read_to_result": int((paced.result_cycles(n) - reads).max())}
                          for n, (name, (_, reads, memory)) in enumerate(timed.items())},
        "max_abs_error": float(errors.max(initial=0.0)),
        "rms_error": float(np.sqrt(np.mean(errors**2))),
        "runs": {name: {"vectors": o.vectors, "mismatches": o.mismatches, "clocks": o.run.clocks}
                 for name, o in outcomes.items()},
        "waves": str(full.run.waves) if full.run.waves else None,
        "clocks": clocks,
        "clocks_per_second": round(clocks / sum(o.run.seconds for o in outcomes.values())),
    }


def _errors(config: AimChannelConfig, outcome: Outcome, exact: Sequence[np.ndarray]) -> np.ndarray:
    """Absolute errors of the results of Q K^T and S V against binary64 on the same bits."""
    found, at = [], 0
    for values in exact:
        count = -(-len(values) // config.banks)
        got = to_float64(np.array(outcome.results[at:at + count])[:, :config.banks], config.fmt).reshape(-1)[:len(values)]
        found.append(np.abs(got - values))
        at += count
    return np.concatenate(found)
