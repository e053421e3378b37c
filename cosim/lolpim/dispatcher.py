"""Bench of ``dpa-dispatcher``: issued commands, compared one by one with the model, and clocks, compared with the
commands.

The host's writes are a list. A started run ends before the next run starts. So writes behind a start arrive while the
run is under way, but the model ends a run at once. The model's commands are right as long as the run does not depend on
these writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...constraints.aim.encoding import COMMANDS, DISPATCHER_COMMANDS, DispatchError, Host, bits, pack
from ...constraints.core.errors import ConfigError
from ...constraints.lolpim.dispatcher import TOKENS_PER_ROW, DpaDispatcherConfig, DpaDispatcherResult, Shape
from ...models.lolpim import Dispatcher
from ...models.lolpim.host import Write, load, map_rows, release, set_layer, set_request, set_size, set_tokens, start
from ...models.program import Affine, Command, Loop, Newest, Node, Program, Tokens, Wait
from ...models.program.encoding import encode_program
from ..bench.campaign import Campaign, Played, Stimulus, play_stimulus
from ..bench.request import SimRequest
from ..bench.streams import Items, StreamRun

__all__ = [
    "Outcome",
    "bench",
    "clear",
    "damaged",
    "expanded",
    "random_program",
    "score_program",
    "shapes",
    "simulate",
    "stimulus",
    "worked_example",
]

#: Tags of the host's writes.
WRITE, START = range(2)


def clear(config: DpaDispatcherConfig) -> Write:
    return config.host_address(Host.CLEAR), 0


# Programs ----------------------------------------------------------------------------------------------------------------


def worked_example() -> Program:
    """The example of LoL-PIM's section 5.1 and Figure 6: a row of keys for every 256 tokens, whose scores are read
    out."""
    program = Program()
    with program.loop(Tokens(TOKENS_PER_ROW)) as step:
        program.command("MAC_ABK", opsize=64, mask=0xFFFF0000, row=step, slot=0)
        program.command("RD_MAC", gpr=16 + step, mask=0xFFFF0000)
    return program


def score_program(config: DpaDispatcherConfig, heads: int) -> Program:
    """Scores of a request's heads, whose keys share rows: query to the global buffer, then a row for every 256 tokens."""
    columns = max(1, (1 << config.column_bits) // heads)
    mask = (1 << config.mask_bits) - 1
    program = Program()
    with program.loop(heads) as head:
        program.command("WR_GB", opsize=columns, gpr=head, mask=mask)
        with program.loop(Tokens(TOKENS_PER_ROW)) as step:
            program.command("MAC_ABK", opsize=columns, mask=mask, row=step, column=columns * head, slot=0)
            program.command("RD_MAC", gpr=heads + head, mask=mask)
    return program


def shapes(config: DpaDispatcherConfig) -> dict[str, Program]:
    """Programs that show the cost of a line, a loop and a modifier."""
    prefix, levels = config.encoding.prefix_words, config.nesting

    def nest(counts: Sequence[int], modifiers: int) -> Program:
        node: Node = Command(
            "EWADD",
            opsize=Affine(0, (1,) * min(modifiers, len(counts))),
            gpr0=Affine(0, (1,) * max(0, min(modifiers - len(counts), len(counts)))),
            gpr1=1,
        )
        for count in reversed(counts):
            node = Loop(count, (node,))
        return Program([node])

    program: dict[str, Program] = {"one loop of a command": nest([60], 1)}
    within = max(1, min(levels, prefix - 1))
    program["loops and modifiers that fill a line"] = nest([3] * within, min(prefix - within, 2 * within))
    if levels > 1:
        sync = Command("SYNC")
        pair = Loop(2, (sync, sync))
        program["a loop around single commands and loops"] = Program(
            [Loop(5, (sync, Loop(3, (sync,)), sync, pair, pair))]
        )
        program["a loop of count 0 in a loop"] = Program([Loop(10, (sync, Loop(0, (sync,))))])
    if 2 * levels > prefix:
        program["modifiers beyond a line"] = Program(
            [
                Loop(
                    10,
                    (
                        Command("SYNC"),
                        nest([2] * (levels - 1), 0).body[0] if levels > 1 else Command("SYNC"),
                        _many(prefix),
                    ),
                )
            ]
        )
        program["loops and modifiers beyond a line"] = nest([3] * levels, min(2 * levels, prefix + 1))
    return program


def _many(prefix: int) -> Command:
    """A command in one loop, with one modifier more than a line has room for, if it has enough operands."""
    names = ("opsize", "mask", "bank", "row", "column", "register")
    return Command("MAC_SBK", {name: Affine(0, (1,)) if k <= prefix else 0 for k, name in enumerate(names)})


def random_program(config: DpaDispatcherConfig, rng: np.random.Generator, tokens: Sequence[int], rows: int) -> Program:
    """A legal program of random loops, commands and strides.

    Parameters
    ----------
    tokens : tokens of the slots, from the slot that the run starts with on. Each slot has ``rows`` virtual rows
    """
    encoding = config.encoding
    half = 1 << (encoding.stride_bits - 1)

    def pick(values: Sequence[Any]) -> Any:
        return values[int(rng.integers(len(values)))]

    def count() -> tuple[Any, int]:
        if rng.random() < 0.35:
            slot = int(rng.integers(len(tokens)))
            by = Tokens(1 << int(rng.integers(0, 10)), int(rng.integers(-2, 3)), slot)
            if by.at(tokens[slot]) <= 6 and by.divisor.bit_length() - 1 <= config.token_bits:
                return by, by.at(tokens[slot])
        number = int(pick([0, 1, 1, 2, 2, 3, 4]))
        return number, number

    def newest(value: Affine, size: int, counts: Sequence[int]) -> Affine:
        """The operand. It also depends on the newest token if there is one and the operand stays within its field."""
        low, high = value.bounds([max(1, turns) for turns in counts])
        divisor = 1 << int(rng.integers(0, min(8, 1 << encoding.modifier_fields.get("shift", 0))))
        by = (tokens[0] - 1) // divisor
        times = int(rng.integers(-2, 3))
        if by < 0 or not times or low + times * by < 0 or high + times * by >= size or abs(times) >= half:
            return value
        return Affine(Newest(value.base, ((divisor, times),)), value.strides)  # type: ignore[arg-type]

    def operand(size: int, counts: Sequence[int]) -> Affine:
        strides = [0] * len(counts)
        for level, turns in enumerate(counts):
            if rng.random() < 0.45:
                most = min((size - 1) // max(1, turns), half - 1)
                strides[level] = int(rng.integers(-most, most + 1)) if rng.random() < 0.5 else int(rng.integers(-1, 2))
        low, high = Affine(0, tuple(strides)).bounds([max(1, turns) for turns in counts])
        if high - low >= size:
            return Affine(int(rng.integers(size)))
        return Affine(int(rng.integers(-low, size - high)), tuple(strides))

    def command(counts: Sequence[int]) -> Command:
        op = pick(list(DISPATCHER_COMMANDS))
        what = COMMANDS[op]
        names = [*what.fields, *(name for name in what.optional if rng.random() < 0.5)]
        values = {}
        virtual = what.has_row and rng.random() < 0.6
        for name in names:
            place = what.places[name]
            size = 1 << min(62, encoding.operands[place])
            if place == "row":
                size = rows if virtual else 1 << config.row_bits
            values[name] = operand(size, counts)
            if rng.random() < 0.1:
                values[name] = newest(values[name], size, counts)
        if virtual:
            values["slot"] = operand(len(tokens), counts)
        return Command(op, values)

    def body(counts: tuple[int, ...]) -> tuple[Node, ...]:
        nodes: list[Node] = []
        for _ in range(int(rng.integers(1, 4))):
            if len(counts) < encoding.nesting and rng.random() < 0.5:
                times, bound = count()
                nodes.append(Loop(times, body((*counts, bound))))
            else:
                nodes.append(command(counts))
        return tuple(nodes)

    return Program(body(()))


def expanded(
    config: DpaDispatcherConfig, program: Program, requests: Sequence[tuple[int, int, Sequence[int]]]
) -> np.ndarray:
    """Commands that a program must issue, by its own expansion: rows as in ``Issued``, with 0 as the line (the last
    column).

    ``requests``: name, tokens and physical rows of each request, from the slot on that the run starts with.
    """
    fields = list(config.command_layout.widths)
    out = []
    for item in program.bind([tokens for _, tokens, _ in requests]).expand():
        assert not isinstance(item, Wait)
        op, operands = item
        values = dict.fromkeys(fields, 0) | {"op": COMMANDS[op].code}
        for name, value in operands.items():
            if name != "slot":
                values[COMMANDS[op].places[name]] = value
        if "slot" in operands:
            values["request"], _, rows = requests[operands["slot"]]
            values["row"] = rows[operands["row"]]
        out.append([values[name] for name in fields])
    return np.array(out, np.int64).reshape(-1, len(fields))


def damaged(config: DpaDispatcherConfig, words: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """An encoded program with a field, a bit or a line changed at random."""
    encoding = config.encoding
    words = words.copy()
    line = int(rng.integers(len(words)))
    kind = rng.integers(4)
    if kind == 0:
        words[line] = words[int(rng.integers(len(words)))]
    elif kind == 1:  # a modifier of anything
        place = encoding.command_words + int(rng.integers(encoding.prefix_words))
        words[line, place] = pack(
            encoding.modifier_fields,
            target=int(rng.integers(16)),
            level=int(rng.integers(8)),
            stride=int(rng.integers(-40, 40)),
        )
    elif kind == 2:  # a loop of anything, but not too long
        place = encoding.command_words + int(rng.integers(encoding.prefix_words))
        words[line, place] = pack(
            encoding.loop_fields,
            by_tokens=int(rng.integers(2)),
            length=int(rng.integers(0, 5)),
            value=int(rng.integers(0, 4)),
        )
    else:
        word = int(rng.integers(encoding.line_words))
        words[line, word] ^= np.uint32(1 << int(rng.integers(32 if word else 13)))
    return words


# Simulation --------------------------------------------------------------------------------------------------------------


@dataclass
class Outcome(Played):
    """Outcome of a simulation.

    ``runs`` has, for every run, its number of commands and three numbers of clocks:

    - from the acceptance of its start (by the port) to its first command
    - from its first to its last command
    - from its last command to ``done``

    Without commands all clocks but the last are 0. An outcome with mismatches has no ``runs``.
    """

    runs: list[dict[str, int]] = field(kw_only=True)
    codes: list[DispatchError] = field(kw_only=True)


def stimulus(config: DpaDispatcherConfig, model: Dispatcher, epochs: Sequence[Sequence[Write]]) -> Stimulus:
    """Writes of a host, and the expected commands and ends of runs of ``model``, which gets the writes.

    Raises
    ------
    :exc:`ConfigError`
        If writes of an epoch do not end with a start.
    """
    first = config.host_address(Host.START)
    counts = [(0, 0)]
    for writes in epochs:
        if not writes or writes[-1][0] != first:
            raise ConfigError("writes of an epoch must end with a start")
        for write in writes:
            model.write(*write)
        counts.append((len(model.issued), len(model.done)))
    address, data = np.array([write for writes in epochs for write in writes], np.int64).T
    items = Items.of(
        config.host_layout.pack(address=address, data=data),
        tag=np.where(address == first, START, WRITE),
        epoch=np.repeat(np.arange(len(epochs)), [len(writes) for writes in epochs]),
    )
    layout = config.command_layout
    commands = np.array(model.issued, np.int64).reshape(-1, len(layout.fields))
    done = config.done_layout.pack(
        code=np.array([end.code for end in model.done], np.int64),
        line=np.array([end.line for end in model.done], np.int64),
    )
    issued, ended = np.diff(np.array(counts), axis=0).T
    # A line without a command takes a clock too, and so does an entry of the table that is cleared.
    columns = dict(zip(layout.widths, commands.T, strict=True))
    return Stimulus(
        {"host": items},
        {"command": layout.pack(columns), "done": done},
        {"command": issued, "done": ended},
        work=len(address) + 4 * len(commands) + config.table_entries,
    )


def simulate(
    config: DpaDispatcherConfig,
    verilog: str,
    epochs: Sequence[Sequence[Write]],
    *,
    top: str = "dpa_dispatcher",
    expansion: np.ndarray | None = None,
    **options: Any,
) -> Outcome:
    """Let a host make its writes; compare every command and every end of a run with the model.

    Parameters
    ----------
    epochs : lists of writes. A list begins when the runs of the list before are over, so each must end with a start
    expansion : commands that programs must issue by :func:`expanded`; the model is compared with them
    options : as of :func:`play_stimulus`, and the same errors
    """
    model = Dispatcher(config)
    given = stimulus(config, model, epochs)
    played = play_stimulus(config, verilog, top, given, **options)
    if expansion is not None:
        issued = np.array(model.issued, np.int64).reshape(-1, len(config.command_layout.fields))
        played.require(
            np.array_equal(issued[:, :-1], expansion[:, :-1]), "what was issued is not the programs' expansion"
        )
    runs = [] if played.mismatches else _runs(played.run, given.targets)
    return Outcome(**vars(played), runs=runs, codes=[end.code for end in model.done])


def _runs(run: StreamRun, targets: Mapping[str, np.ndarray]) -> list[dict[str, int]]:
    """Clocks of the runs of epochs with one run each."""
    out = []
    at = ended = 0
    for log, commands, ends in zip(run.epochs, targets["command"].tolist(), targets["done"].tolist(), strict=True):
        cycles = run.output_cycles["command"][at : at + commands]
        if ends == 1:
            begin, end = int(log.first["host"][START]), int(run.output_cycles["done"][ended])
            first, last = (int(cycles[0]), int(cycles[-1])) if commands else (begin, begin)
            out.append(
                {
                    "commands": commands,
                    "start": first - begin,
                    "commands_clocks": last - first + bool(commands),
                    "end": end - last,
                }
            )
        at, ended = at + commands, ended + ends
    return out


# The bench ---------------------------------------------------------------------------------------------------------------


@dataclass
class _Requests:
    """Requests in the slots of a unit, each with equally many consecutive entries of the table."""

    config: DpaDispatcherConfig
    rows: list[list[int]]
    tokens: list[int]

    @classmethod
    def random(cls, config: DpaDispatcherConfig, rng: np.random.Generator, rows: int) -> _Requests:
        rows = min(rows, config.table_entries // config.slots)
        return cls(
            config,
            [rng.integers(0, 1 << config.row_bits, rows).tolist() for _ in range(config.slots)],
            rng.integers(0, min(1 << config.token_bits, 40), config.slots).tolist(),
        )

    def name(self, slot: int) -> int:
        return (slot * 7 + 1) & ((1 << self.config.request_bits) - 1)

    def writes(self) -> list[Write]:
        size = len(self.rows[0])
        return [
            write
            for slot, rows in enumerate(self.rows)
            for write in set_request(self.config, slot, self.name(slot), self.tokens[slot], slot * size, rows)
        ]

    def seen_from(self, slot: int) -> list[tuple[int, int, list[int]]]:
        return [(self.name(s), self.tokens[s], self.rows[s]) for s in range(slot, self.config.slots)]


def random_runs(
    config: DpaDispatcherConfig, rng: np.random.Generator, programs: int, *, damage: float = 0.0, most: int = 2000
) -> tuple[list[list[Write]], list[np.ndarray]]:
    """Random requests and programs, one epoch for each program, and the programs' own expansions.

    Programs go to the two halves of the buffer in turn, so that one may be written while the one before runs.
    ``damage`` is the chance that a program is changed after it was encoded; its expansion is then an empty array.
    Programs have at most ``most`` commands. Damaged programs pass at most ten times as many lines.
    """
    requests = _Requests.random(config, rng, 9)
    # A damaged program may run on into lines that no other program has written.
    cleared = [(config.command_address(line, 0), 0) for line in range(config.lines if damage else 0)]
    epochs: list[list[Write]] = [[*cleared, *requests.writes()]]
    expected: list[np.ndarray] = []
    half = config.lines // 2
    while len(expected) < programs:
        line = half * (len(expected) % 2)
        slot = int(rng.integers(config.slots))
        seen = requests.seen_from(slot)[:3]
        program = random_program(config, rng, [tokens for _, tokens, _ in seen], len(requests.rows[0]))
        if sum(program.bind([tokens for _, tokens, _ in seen]).counts().values()) > most:
            continue
        try:
            words = encode_program(program, config.encoding, first=config.lines - half)
        except ConfigError:  # too long
            continue
        bad = rng.random() < damage
        if bad:
            words = damaged(config, words, rng)
            trial = Dispatcher(config, most_lines=10 * most)
            try:
                for write in [*requests.writes(), *load(config, words), start(config, 0, slot)]:
                    trial.write(*write)
            except ConfigError:  # runs for too long
                continue
        nothing = np.empty((0, len(config.command_layout.fields)), np.int64)
        expected.append(nothing if bad else expanded(config, program, seen))
        epochs[-1] += [*load(config, words, line), *([clear(config)] if damage else []), start(config, line, slot)]
        epochs.append([])
    return epochs[:-1], expected


def growth(config: DpaDispatcherConfig, rng: np.random.Generator, steps: int) -> list[Write]:
    """Writes for a request that decodes over the border of a chunk. While a step runs, the host maps the row that the
    next step needs, anywhere in the memory, and adds a token. The step after the border has one row more. A second
    request ends on the way: its rows are released, and a third request takes its slot."""
    first = TOKENS_PER_ROW - steps // 2
    rows = rng.permutation(1 << config.row_bits)[:6].tolist()
    words = encode_program(worked_example(), config.encoding)
    writes = [*load(config, words), *set_request(config, 0, 1, first, 0, rows[:1])]
    other = config.slots > 1
    if other:
        writes += set_request(config, 1, 2, first, 4, rows[1:2])
    for step in range(steps):
        if other:
            writes.append(start(config, 0, 1))
        writes.append(start(config, 0, 0))
        tokens = first + step + 1
        if tokens == TOKENS_PER_ROW + 1:
            writes += [*map_rows(config, 1, [rows[2]]), set_size(config, 0, 2)]
            if other:
                writes += [release(config, 1), *set_request(config, 1, 3, 2 * TOKENS_PER_ROW, 5, rows[3:5])]
        writes.append(set_tokens(config, 0, tokens))
    return [*writes, start(config, 0, 0)]


def every_error(config: DpaDispatcherConfig) -> list[list[Write]]:
    """Runs that end with each of the errors that a program or its request can cause. A legal run follows each of
    them."""
    encoding = config.encoding
    good = encode_program(worked_example(), encoding)
    mask = (1 << min(config.mask_bits, 32)) - 1

    def encoded(*nodes: Node) -> np.ndarray:
        return encode_program(Program(nodes), encoding)

    def changed(words: np.ndarray, line: int, word: int, value: int) -> np.ndarray:
        words = words.copy()
        words[line, word] = value
        return words

    looped = encoded(Loop(2, (Command("SYNC"), Command("SYNC"))))
    prefix = encoding.command_words
    many = (1 << config.token_bits) - 1
    row = Command("MAC_ABK", opsize=1, mask=mask, row=0, slot=0)
    tries: list[tuple[np.ndarray, int, int]] = [  # words, slot, line
        (changed(looped, 1, 0, 0), 0, 0),
        (changed(looped, 2, 0, 1 | 1 << 6), 0, 0),
        (looped[:2], 0, config.lines - 2),
        (changed(looped, 0, prefix, pack(encoding.loop_fields, length=config.lines, value=2)), 0, 1),
        (changed(looped, 0, prefix, pack(encoding.loop_fields, length=0, value=2)), 0, 0),
        (changed(looped, 0, prefix, pack(encoding.loop_fields, length=4, value=2)), 0, 0),
        (
            np.array(
                [
                    [pack(encoding.command_fields, op=2, loops=1)]
                    + [0] * (prefix - 1)
                    + [pack(encoding.loop_fields, length=config.nesting + 2 - k, value=1)]
                    + [0] * (encoding.prefix_words - 1)
                    for k in range(config.nesting + 1)
                ],
                np.uint32,
            ),
            0,
            0,
        ),
        (
            encoded(
                Command("EWADD", opsize=0, gpr0=(1 << config.gpr_bits) - 1, gpr1=0),
                Loop(2, (Command("EWADD", opsize=0, gpr0=Affine((1 << config.gpr_bits) - 1, (1,)), gpr1=0),)),
            ),
            0,
            0,
        ),
        (encoded(Loop(2, (Command("EWADD", opsize=0, gpr0=Affine(0, (-1,)), gpr1=0),))), 0, 0),
        (encoded(Command("SYNC"), Command("MAC_ABK", opsize=1, mask=mask, row=0, slot=config.slots - 1)), 1, 0),
        (
            encoded(Command("SYNC"), Loop(3, (Command("MAC_ABK", opsize=1, mask=mask, row=Affine(0, (1,)), slot=0),))),
            0,
            0,
        ),
        (encoded(row, Command("MAC_ABK", opsize=1, mask=mask, row=2, slot=0)), 0, 0),
        (encoded(row, Command("MAC_ABK", opsize=1, mask=mask, row=1, slot=0)), 0, 0),
    ]
    if config.token_bits > config.count_bits:
        tries.append((encoded(Command("SYNC"), Loop(Tokens(1), (Command("SYNC"),))), 0, 0))  # type: ignore[arg-type]
    add = Command("EWADD", opsize=Affine(0, (1,)), gpr0=0, gpr1=0)
    layered = encode_program(Program([Loop(4, (Command("SYNC"), add))]), encoding, layer=True)
    tries.append((layered, 0, 0))
    newest = Affine(Newest(0, ((1, 1),)))  # type: ignore[arg-type]
    tries.append((encoded(Command("SYNC"), Command("EWADD", opsize=newest, gpr0=0, gpr1=0)), config.slots, 0))
    if encoding.prefix_words > 1 and config.nesting > 1:  # a modifier by a loop that is not open
        modified = changed(looped, 0, prefix + 1, pack(encoding.modifier_fields, target=0, level=1, stride=1))
        one = 1 << 6 + bits(encoding.prefix_words + 1)
        tries.append((changed(modified, 0, 0, int(modified[0, 0]) | one), 0, 0))
    unmapped = (config.table_address(1), 0)
    setting = [*set_request(config, 0, 5, many, 0, [3]), unmapped, set_size(config, 0, 2), set_layer(config, 3, 3)]
    epochs = []
    for words, slot, line in tries:
        epochs.append([*setting, *load(config, words, line), start(config, line, slot)])
        setting = []
        epochs.append([start(config, line, slot)])
        epochs.append([clear(config), *load(config, good), set_tokens(config, 0, 1), start(config, 0, 0)])
        setting = [set_tokens(config, 0, many)]
    return epochs


def bench(request: SimRequest) -> DpaDispatcherResult:
    """Run the whole bench of ``dpa-dispatcher``:

    - scores of a request of ``tokens`` at full speed, and the shapes of :func:`shapes`
    - random programs for random requests with random stalls
    - random programs with an output that waits to be asked
    - a request that grows over the border of a chunk while it runs
    - every error, and random damage to programs
    - the paper's worked example

    All runs are compared with the model, random programs also with their own expansion.
    """
    config, rng = request.config, np.random.default_rng(request.seed)
    tokens = request.workload.tokens
    heads = max(1, min(8, (1 << config.gpr_bits) // 2))
    rows = rng.integers(0, 1 << config.row_bits, -(-tokens // TOKENS_PER_ROW)).tolist()
    requests = set_request(config, 0, 1, tokens, 0, rows)
    main = [[*requests, *load(config, encode_program(score_program(config, heads), config.encoding)), start(config)]]
    names = shapes(config)
    main += [[*load(config, encode_program(program, config.encoding)), start(config)] for program in names.values()]

    campaign = Campaign(
        request, lambda epochs, **options: simulate(config, request.verilog, epochs, top=request.module, **options)
    )
    full = campaign.run("full_rate", main, "scores and shapes at full speed", waves=True)
    random, expected = random_runs(config, rng, 60)
    # In one epoch: the host writes the next program while one runs.
    campaign.run("stalls", [sum(random, [])], "random programs with stalls", expansion=np.concatenate(expected))
    campaign.run("lazy_output", random_runs(config, rng, 20)[0])
    campaign.run("growth", [growth(config, rng, 8)], "a request that grows", stalls=0.2)
    campaign.run("errors", every_error(config), stalls=0.2)
    campaign.run("damaged", random_runs(config, rng, 60, damage=1.0)[0], "damaged programs", stalls=0.1)
    campaign.run("power_up", random_runs(config, rng, 10)[0])
    campaign.run("worked_example", [_worked_writes(config)], "the worked example")

    score, *others = full.runs or [{"commands": 0, "start": 0, "commands_clocks": 0, "end": 0}] * (1 + len(names))
    cycles = score["start"] + score["commands_clocks"] + score["end"]
    return campaign.result(
        DpaDispatcherResult,
        commands=score["commands"],
        cycles=cycles,
        ideal_cycles=score["commands"],
        utilisation=round(score["commands"] / cycles, 6) if cycles else 0.0,
        commands_per_clock=round(score["commands"] / score["commands_clocks"], 6) if cycles else 0.0,
        start_cycles=score["start"],
        end_cycles=score["end"],
        shapes={
            name: Shape(commands=r["commands"], clocks=r["commands_clocks"])
            for name, r in zip(names, others, strict=True)
        },
        errors_seen=sorted({code.name for one in campaign.outcomes.values() for code in one.codes if code}),
    )


def _worked_writes(config: DpaDispatcherConfig) -> list[Write]:
    """Request 1 with one row (22), request 2 with two (33, 34) and 300 tokens; a run for each."""
    second = min(1, config.slots - 1)
    mine = [*load(config, encode_program(worked_example(), config.encoding)), *set_request(config, 0, 1, 256, 0, [22])]
    return [*mine, start(config, 0, 0), *set_request(config, second, 2, 300, 1, [33, 34]), start(config, 0, second)]
