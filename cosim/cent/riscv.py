"""Bench of ``cent-riscv``: programs of the repository and random ones, every access to the shared buffer compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...constraints.cent.programs import Image, image_for, load_image
from ...constraints.cent.riscv import AHEAD_WORDS, SLOT_ELEMENTS, CentRiscvConfig, CentRiscvResult, ProgramClocks
from ...constraints.cent.rv32 import (
    WINDOW,
    Environment,
    Float,
    Kind,
    b_type,
    custom,
    i_type,
    j_type,
    r_type,
    s_type,
    u_type,
)
from ...constraints.core.formats import BF16
from ...models.cent.riscv import ClusterModel, ClusterRun
from ...models.numerics import from_float64
from ..bench.campaign import Campaign, Played, Stimulus, play_stimulus, streams
from ..bench.request import SimRequest
from ..bench.streams import Items

__all__ = [
    "Episode",
    "Load",
    "Outcome",
    "bench",
    "programs",
    "random_episode",
    "random_program",
    "shared_buffer",
    "simulate",
    "stimulus",
]

#: Returns from a program: ``jalr x0, ra, 0``.
RETURN = i_type(0x67, 0, 0, 1, 0)

#: Words behind a program that are loaded too. The core fetches ahead of a return, and what it finds there costs time: an
#: instruction that flushes the caches does so before the core knows that it is not executed.
AHEAD = [0] * (AHEAD_WORDS - 1)

#: Tag of a start among the commands.
START_TAG = 1


@dataclass(frozen=True)
class Load:
    """Words that the host loads from word ``address`` on, into the cores of a mask (None: all)."""

    words: Sequence[int]
    address: int = 0
    cores: int | None = None


@dataclass(frozen=True, eq=False)
class Episode:
    """Loads, then one start.

    Attributes
    ----------
    pc : word where the program begins
    source, to : slots of source and destination
    buffer : uint16 array of all elements of the shared buffer before the start
    """

    loads: Sequence[Load]
    pc: int
    source: int
    to: int
    opsize: int
    buffer: np.ndarray


@dataclass
class Outcome(Played):
    """Outcome of a simulation of episodes."""

    runs: list[ClusterRun] = field(kw_only=True)

    def cycles(self, number: int) -> int:
        """Clocks of an episode from its accepted start to its accepted end, both included."""
        log = self.run.epochs[number]
        return int(self.run.output_cycles["done"][number]) - int(log.first["command"][START_TAG]) + 1


def shared_buffer(config: CentRiscvConfig, verilog: str, top: str, latency: int) -> tuple[str, str]:
    """Verilog text and top module of the unit with a shared buffer that answers ``latency`` clocks after a read.

    The bench supplies the answers in order. The text only holds each of them back until its read is old enough.
    """
    declared, pins, body = ["input clk", "input rst"], [".clk(clk)", ".rst(rst)"], []
    for port in streams(config):
        here, there = ("input", "output") if port.is_input else ("output", "input")
        declared += [
            f"{here} [{port.width - 1}:0] {port.name}__payload",
            f"{here} {port.name}__valid",
            f"{there} {port.name}__ready",
        ]
        parts = {part: f"{port.name}__{part}" for part in ("payload", "valid", "ready")}
        if port.name.startswith("response_"):
            n = port.name.removeprefix("response_")
            parts.update(valid=f"valid_{n}", ready=f"ready_{n}")
            old = f"asked_{n}" if latency == 1 else f"ages_{n}[{latency - 2}]"
            ages = [] if latency == 1 else [f"  reg [{latency - 2}:0] ages_{n};"]
            aged = f"asked_{n}" if latency == 2 else f"{{ages_{n}[{latency - 3}:0], asked_{n}}}"
            shift = "" if latency == 1 else f" ages_{n} <= {aged};"
            body += [
                f"  wire asked_{n} = request_{n}__valid && request_{n}__ready && "
                f"!request_{n}__payload[{config.request_layout.offset('write')}];",
                *ages,
                f"  reg [7:0] due_{n};",
                f"  wire ready_{n};",
                f"  wire valid_{n} = response_{n}__valid && due_{n} != 0;",
                f"  assign response_{n}__ready = ready_{n} && due_{n} != 0;",
                f"  always @(posedge clk) if (rst) begin due_{n} <= 0;{'' if latency == 1 else f' ages_{n} <= 0;'} end",
                f"  else begin due_{n} <= due_{n} + {{7'd0, {old}}} - {{7'd0, valid_{n} && ready_{n}}};{shift} end",
            ]
        pins += [f".{port.name}__{part}({name})" for part, name in parts.items()]
    # Wires stand before the instance that uses them.
    around = (
        f"\nmodule {top}_buffered ({', '.join(declared)});\n"
        + "\n".join(body)
        + f"\n  {top} dut ({', '.join(pins)});\nendmodule\n"
    )
    return verilog + around, f"{top}_buffered"


def stimulus(
    config: CentRiscvConfig, model: ClusterModel, episodes: Sequence[Episode]
) -> tuple[Stimulus, list[ClusterRun]]:
    """Commands and answers of episodes, the accesses and ends that ``model`` gives for them, and its runs."""
    layout, every = config.command_layout, (1 << config.cores) - 1
    commands: list[Items] = []
    answers: list[list[Items]] = [[] for _ in range(config.cores)]
    requests: list[list[np.ndarray]] = [[] for _ in range(config.cores)]
    runs, work = [], 0
    for number, one in enumerate(episodes):
        loaded = 0
        for load in one.loads:
            model.load(load.words, load.address, load.cores)
            words = np.array(load.words, np.int64)
            rows = layout.pack(
                start=np.zeros(len(words), np.int64),
                address=load.address + np.arange(len(words)),
                data=words,
                cores=every if load.cores is None else load.cores,
            )
            commands.append(Items.of(rows, epoch=number))
            loaded += len(words)
        start = layout.pack(start=np.ones(1, np.int64), address=one.pc, gpr0=one.source, gpr1=one.to, opsize=one.opsize)
        commands.append(Items.of(start, epoch=number, tag=START_TAG))
        buffer = one.buffer.copy()
        run = model.start(one.pc, one.to, one.source, one.opsize, buffer)
        runs.append(run)
        for n, core in enumerate(run.cores):
            answers[n].append(Items.of(_column(core.answers), epoch=number))
            table = np.array(core.accesses, np.int64).reshape(-1, 3)
            requests[n].append(config.request_layout.pack(address=table[:, 0], data=table[:, 1], write=table[:, 2]))
        work = max(work, loaded + max(2 * core.instructions + 2 * len(core.accesses) for core in run.cores))
    done = config.done_layout.pack(
        trapped=np.array([run.trapped for run in runs], np.int64),
        strayed=np.array([run.strayed for run in runs], np.int64),
    )
    cores = range(config.cores)
    return Stimulus(
        {"command": Items.join(commands), **{f"response_{n}": Items.join(answers[n]) for n in cores}},
        {"done": done, **{f"request_{n}": np.concatenate(requests[n]) for n in cores}},
        {
            "done": np.ones(len(episodes), np.int64),
            **{f"request_{n}": np.array([len(rows) for rows in requests[n]], np.int64) for n in cores},
        },
        work=work,
    ), runs


def _column(values: Sequence[int]) -> np.ndarray:
    return np.array(values, "<u2").view(np.uint8).reshape(-1, 2)


def simulate(
    config: CentRiscvConfig,
    verilog: str,
    episodes: Sequence[Episode],
    *,
    top: str = "cent_riscv",
    latency: int = 2,
    **options: Any,
) -> Outcome:
    """Run episodes through the RTL. Every access of every core and every end are compared with the functional model.

    Parameters
    ----------
    verilog : text of the unit, generated for ``config``
    latency : clocks from a read of the shared buffer to its answer
    options : as of :func:`play_stimulus`, and the same errors
    """
    work, runs = stimulus(config, ClusterModel(config), episodes)
    return Outcome(
        **vars(play_stimulus(config, *shared_buffer(config, verilog, top, latency), work, **options)), runs=runs
    )


# Programs of the repository -------------------------------------------------------------------------------------------


def _buffer(config: CentRiscvConfig, rng: np.random.Generator) -> np.ndarray:
    """Positive sums, as softmax and RMSNorm get them, in all elements."""
    return from_float64(np.exp(rng.normal(3, 2, config.window_bytes // 2)), BF16).astype(np.uint16)


def programs(config: CentRiscvConfig, image: Image, elements: int, heads: int) -> dict[str, tuple[int, int]]:
    """Micro-operations of each program in the measured work, and the items on which its clocks are spread."""
    rope = (elements // SLOT_ELEMENTS, elements)
    known = {"rmsnorm": (1, 1), "rope_swap": rope, "rope_split": rope, "rope_join": rope}
    return {name: known.get(name, (heads, heads)) for name in image.entries}


# Random programs ------------------------------------------------------------------------------------------------------

#: Registers that random programs use freely. The others: return address, memory and buffer bases, loop counter.
_FREE = (3, 4, 5, 6, 7, *range(10, 32))
_SP, _WINDOW, _COUNT = 2, 8, 9
#: Words below the stack pointer that a random program loads and stores.
_DATA_WORDS = 64


def random_program(config: CentRiscvConfig, rng: np.random.Generator, units: int = 40) -> list[int]:
    """Words of a random program that ends, with every instruction that the model knows.

    It gives each register a value, does ``units`` things, and stores the registers to its core's part of the shared
    buffer. Then it returns, or ends with an exception.
    """
    part = config.window_bytes // (1 << (config.cores - 1).bit_length())
    reach = min(part, 2048)
    number = rng.integers

    def pick(values: Sequence[Any]) -> Any:
        return values[int(number(len(values)))]

    def register() -> int:
        return int(pick(_FREE)) if rng.random() < 0.95 else 0

    def constant(rd: int, value: int) -> list[int]:
        low = (value & 0xFFF ^ 0x800) - 0x800
        return [u_type(0x37, rd, value - low & 0xFFFFFFFF), i_type(0x13, 0, rd, rd, low)]

    def value() -> int:
        return int(
            pick(
                [
                    lambda: number(1 << 32),
                    lambda: number(-8, 8) & 0xFFFFFFFF,
                    lambda: pick([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F800000, 0x7FC00000]),
                    lambda: np.float32(rng.normal() * 2.0 ** int(number(-20, 20))).view(np.uint32),
                ]
            )()
        )

    def computes() -> list[int]:
        funct3 = int(number(8))
        return [r_type(0x33, funct3, pick([0, 32] if funct3 in (0, 5) else [0]), register(), register(), register())]

    def multiplies() -> list[int]:
        return [r_type(0x33, int(number(8)), 1, register(), register(), register())]

    def immediates() -> list[int]:
        funct3 = int(number(8))
        amount = int(number(-2048, 2048))
        if funct3 in (1, 5):
            amount = amount & 31 | (int(number(2)) << 10 if funct3 == 5 else 0)
        return [i_type(0x13, funct3, register(), register(), amount)]

    def uppers() -> list[int]:
        return [u_type(pick([0x37, 0x17]), register(), int(number(1 << 32)))]

    def accesses() -> list[int]:
        size = int(number(3))
        base, offset = pick(
            [
                (_SP, -4 * _DATA_WORDS + (int(number(4 * _DATA_WORDS)) >> size << size)),
                (_WINDOW, int(number(reach)) >> size << size),
            ]
        )
        if rng.random() < 0.5 and not (base == _WINDOW and size == 0):
            return [s_type(0x23, size, base, register(), offset)]
        return [i_type(0x03, pick([size, size | 4] if size < 2 else [2]), register(), base, offset)]

    def floats() -> list[int]:
        return [custom(Kind.FLOAT, pick(list(Float)), register(), register(), register())]

    def asks() -> list[int]:
        own = [Environment.DESTINATION, Environment.SOURCE, Environment.OPSIZE, Environment.CORE, Environment.CORES]
        return [custom(Kind.ENVIRONMENT, pick(own), register())]

    def queued() -> list[int]:
        count = int(number(1, config.queue + 1))

        def element() -> int:
            return int(number(min(128, part // 2)))

        # Some reads, then something else, then their results: new reads follow while others are under way.
        words, left = [], 0
        for _ in range(count):
            words.append(custom(Kind.READ, element(), register(), _WINDOW))
            left += 1
            if rng.random() < 0.3:
                words += computes()
            if rng.random() < 0.2:
                words.append(custom(Kind.TAKE, int(number(2)), register()))
                left -= 1
        for _ in range(left):
            if rng.random() < 0.3:
                words += pick([computes, floats, multiplies])()
            words.append(
                pick([custom(Kind.TAKE, int(number(2)), register()), custom(Kind.MOVE, element(), register(), _WINDOW)])
            )
        if rng.random() < 0.5:
            words.append(custom(Kind.WRITE, element(), register(), _WINDOW, register()))
        return words

    simple = (computes, multiplies, immediates, uppers, accesses, accesses, floats, asks, queued)

    def skips() -> list[int]:
        inner = [word for _ in range(int(number(1, 4))) for word in pick(simple)()]
        over = 4 * (len(inner) + 1)
        branch = b_type(0x63, pick([0, 1, 4, 5, 6, 7]), register(), register(), over)
        return [pick([branch, j_type(0x6F, register(), over)]), *inner]

    def jumps() -> list[int]:
        inner = computes()
        base = int(pick(_FREE))
        return [u_type(0x17, base, 0), i_type(0x67, 0, register(), base, 4 * (len(inner) + 2) + int(number(2))), *inner]

    def loops() -> list[int]:
        inner = [word for _ in range(int(number(1, 5))) for word in pick((*simple, skips))()]
        turns = int(number(1, 6))
        if 4 * (len(inner) + 1) >= 4096:
            return inner
        return [
            i_type(0x13, 0, _COUNT, 0, turns),
            *inner,
            i_type(0x13, 0, _COUNT, _COUNT, -1),
            b_type(0x63, 1, _COUNT, 0, -4 * (len(inner) + 1)),
        ]

    def pauses() -> list[int]:
        return [0x0FF0000F]  # fence

    # a0 points to the destination slot 0: the beginning of the buffer. Core c's part follows c parts behind it.
    words = [
        *constant(_WINDOW, part),
        r_type(0x33, 0, 1, _WINDOW, _WINDOW, 13),
        r_type(0x33, 0, 0, _WINDOW, _WINDOW, 10),
        custom(Kind.FLOAT, Float.SET_ADDEND, 0, 13),
    ]
    words += [word for one in _FREE for word in constant(one, value())]
    for _ in range(units):
        words += pick((*simple, *simple, skips, jumps, loops, pauses))()
    words += [s_type(0x23, 2, _WINDOW, one, 4 * n) for n, one in enumerate(_FREE) if 4 * n < part]
    bad = [
        0,
        0x0010_0073,
        0x73,
        i_type(0x03, 2, 3, _SP, -3),
        s_type(0x23, 1, _SP, 3, -1),
        i_type(0x67, 0, 0, 0, 2),
        r_type(0x33, 1, 64, 3, 3, 3),
    ]
    astray = [
        [*constant(3, config.memory_bytes), i_type(0x03, 2, 4, 3, 0)],
        [s_type(0x23, 0, _WINDOW, 3, 0)],
        [*constant(3, WINDOW + config.window_bytes), s_type(0x23, 1, 3, 4, 0), i_type(0x03, 5, 4, 3, 0)],
    ]
    if rng.random() < 0.25:
        words += pick(astray)
    return [*words, pick(bad) if rng.random() < 0.2 else RETURN]


def random_episode(config: CentRiscvConfig, rng: np.random.Generator, units: int = 40) -> Episode:
    """A random program at a random place of the memory, its data, and a random shared buffer."""
    words = random_program(config, rng, units)
    while (room := config.memory_bytes // 4 - _DATA_WORDS - len(words) - len(AHEAD)) < 0:
        units //= 2
        words = random_program(config, rng, units)
    pc = int(rng.integers(room + 1))
    data = rng.integers(0, 1 << 32, _DATA_WORDS).tolist()
    return Episode(
        [Load([*words, *AHEAD], pc), Load(data, config.memory_bytes // 4 - _DATA_WORDS)],
        pc,
        int(rng.integers(config.slots)),
        0,
        int(rng.integers(1 << 16)),
        rng.integers(0, 1 << 16, config.window_bytes // 2).astype(np.uint16),
    )


# Bench ----------------------------------------------------------------------------------------------------------------


def bench(request: SimRequest) -> CentRiscvResult:
    """Run the whole bench of ``cent-riscv``:

    - a program that returns at once
    - each program of the repository with empty caches, again with filled caches, and with one micro-operation
    - random programs, also with stalls on every stream
    """
    config, rng, work = request.config, np.random.default_rng(request.seed), request.workload
    image = image_for(config.slot_elements) if work.program is None else load_image(work.program)
    empty = len(image.words)
    buffer = _buffer(config, rng)
    measured = programs(config, image, work.elements, work.heads)
    half = config.slots // 2

    def start(name: str, opsize: int) -> Episode:
        return Episode([], image.entry(name), 0, half, opsize, buffer)

    nothing = Episode([], empty, 0, 0, 0, buffer)
    episodes = [Episode([Load([*image.words, RETURN, *AHEAD])], empty, 0, 0, 0, buffer), nothing]
    for name, (count, _) in measured.items():
        episodes += [start(name, count), start(name, count), start(name, _least(name))]

    campaign = Campaign(
        request,
        lambda episodes, **options: simulate(
            config, request.verilog, episodes, top=request.module, latency=work.buffer_latency, **options
        ),
    )
    full = campaign.run("full_rate", episodes, "programs of the repository", waves=True)
    random = campaign.run(
        "random", [random_episode(config, rng) for _ in range(4 if request.quick else 16)], "random programs"
    )
    campaign.stress(lambda count: [random_episode(config, rng, 20) for _ in range(count)], 8)

    clocks = {}
    for n, (name, (count, items)) in enumerate(measured.items()):
        cold, warm, single = (full.cycles(2 + 3 * n + which) for which in range(3))
        clocks[name] = ProgramClocks(
            micro_operations=count,
            accesses=sum(len(core.accesses) for core in full.runs[3 + 3 * n].cores),
            cycles=warm,
            cold_cycles=cold,
            first_core_cycles=single,
            cycles_per_item=round(warm / items, 4),
        )
    return campaign.result(
        CentRiscvResult,
        programs=clocks,
        start_cycles=full.cycles(1),
        instructions=sum(run.instructions for run in random.runs),
    )


def _least(name: str) -> int:
    """The fewest micro-operations of a program: real and imaginary parts fill a slot each."""
    return 2 if name in ("rope_split", "rope_join") else 1
