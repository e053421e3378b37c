"""Time of traces and programs on a memory: formats of files, and their use on the command line."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from bankside.constraints.core.errors import ConfigError, nearest

from ..provenance.sources import note_sources

if TYPE_CHECKING:
    from bankside.constraints.memory import Memory
    from bankside.models.memory.issue_log import IssueLog, Recorder
    from bankside.models.memory.lines import Progress
    from bankside.models.memory.pim_queue import QueueController
    from bankside.models.memory.requests import RequestFrontEnd
    from bankside.models.program import Command, Program

    from ..results.units import Export, TimeTrace, View

__all__ = [
    "EXPORTS",
    "FORMATS",
    "Outputs",
    "Setting",
    "TraceFormat",
    "detect",
    "is_system",
    "time_file",
    "time_system",
    "write_program",
    "write_view",
]

#: Order of the parts of an address by default.
MAPPING = "RoBaRaCoCh"

EXPORTS = ("aim", "ramulator", "program")


@dataclass(frozen=True)
class Setting:
    """Settings of a timing.

    Attributes
    ----------
    memory : name or file; None: the format's own
    quirks : simulator whose quirks are switched on
    mapping, channels : of plain requests: parts of an address, channels that take part
    tokens : tokens of the program's request, if its loops depend on them
    buffering : of AiM devices: ``single`` or ``ping-pong``
    """

    memory: str | None = None
    quirks: str | None = None
    refresh: bool = False
    power_limit: bool = True
    mapping: str | None = None
    channels: int | None = None
    tokens: int | None = None
    buffering: str | None = None


@dataclass
class Timed:
    """Result of a format's timer; ``rows``: hits, misses, conflicts, None if the timer does not count them."""

    memory: Memory
    cycles: int
    commands: dict[str, int]
    lines: int
    requests: int
    rows: tuple[int | None, int | None, int | None]
    stages: dict[str, int] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    program: Program | None = None


@dataclass
class Outputs:
    """Further outputs: files, and cycles that a timeline shows."""

    timeline: str | None = None
    picture: str | None = None
    first: int = 0
    last: int | None = None
    channels: tuple[int, ...] | None = None
    export: str | None = None
    output: str | None = None

    @property
    def log(self) -> bool:
        return self.timeline is not None or self.picture is not None

    def recorder(self, memory: Memory) -> Recorder | None:
        if not self.log:
            return None
        from bankside.models.memory.issue_log import Recorder

        return Recorder(memory, self.first, self.last, channels=self.channels)

    def check(self) -> None:
        """Fail before the timing if a file can't be written."""
        if ((self.first, self.last) != (0, None) or self.channels is not None) and not self.log:
            raise ConfigError("--timeline-cycles and --timeline-channels need --timeline or --picture")
        if (self.export is None) != (self.output is None):
            raise ConfigError("--export FORMAT and --output FILE go together")
        if self.picture is not None:
            from .picture import FORMATS as pictures

            if Path(self.picture).suffix[1:].lower() not in pictures:
                raise ConfigError(f"--picture {self.picture}: must end with .{', .'.join(pictures)}")
        for path in (self.timeline, self.picture, self.output):
            if path is not None:
                folder = Path(path).parent
                if Path(path).is_dir():
                    raise ConfigError(f"{path}: is a directory")
                if folder.exists() and not folder.is_dir():
                    raise ConfigError(f"{folder}: not a directory")


Timer = Callable[[str, Setting, Outputs, "Progress | None"], tuple[Timed, "IssueLog | None"]]


@dataclass(frozen=True)
class TraceFormat:
    """A format of trace files: a new one is an entry in :data:`FORMATS`.

    Attributes
    ----------
    name, title : for people
    memory : the default memory; None if there is no default
    line : pattern of its lines
    needs : further pattern for one of the first lines, if several formats have such lines
    example : some lines
    time : its timer
    options : keys of :data:`OPTIONS` that it has
    """

    name: str
    title: str
    memory: str | None
    line: str
    example: tuple[str, ...]
    time: Timer
    needs: str | None = None
    options: tuple[str, ...] = ()


def detect(path: str) -> TraceFormat:
    """The format of a file, by its first lines.

    Raises
    ------
    :exc:`ConfigError`
        If it can't be read, is empty, or no format has such lines.
    """
    from bankside.models.memory.lines import first_lines, shown

    if os.path.exists(path) and not os.path.isdir(path) and not os.path.isfile(path):
        raise ConfigError(
            f"{path}: not a file that can be read twice: its format must be named (--format {'|'.join(FORMATS)})"
        )
    lines = first_lines(path)
    if not lines:
        raise ConfigError(f"{path}: an empty file" if not os.path.getsize(path) else f"{path}: nothing but empty lines")
    for most in (len(lines), 1):  # the first line decides the format of a file with a wrong line
        for one in FORMATS.values():
            if all(re.match(one.line, text) for _, text in lines[:most]) and (
                one.needs is None or any(re.match(one.needs, text) for _, text in lines)
            ):
                return one
    number, text = lines[0]
    raise ConfigError(
        f"{path}:{number}: '{shown(text.encode())}' begins no known format (formats: {', '.join(FORMATS)}; "
        "examples: bankside list)"
    )


# ---- Timers ---------------------------------------------------------------------------------------------------------


def _hits(memory: Memory, commands: dict[str, int]) -> int:
    """Accesses to rows that an earlier access has opened: accesses that need a row, less openings of rows."""
    count = {"needs": 0, "opens": 0}
    for name, number in commands.items():
        rule = memory.commands[name].row
        count[rule] = count.get(rule, 0) + number
    return max(count["needs"] - count["opens"], 0)


def _time_aim(
    path: str, setting: Setting, outputs: Outputs, progress: Progress | None
) -> tuple[Timed, IssueLog | None]:
    from bankside.models.memory.aim_trace import read_trace, time_trace
    from bankside.models.memory.issue_log import LoggedFrontEnd

    front_end = LoggedFrontEnd(setting.memory or "gddr6-aim", quirks=setting.quirks, refresh=setting.refresh)
    recorder = outputs.recorder(front_end.memory)
    blocks = read_trace(path, front_end, progress)
    timing = time_trace(front_end, blocks) if recorder is None else front_end.record(blocks, recorder)
    timed = Timed(
        timing.memory,
        timing.cycles,
        timing.commands,
        timing.instructions,
        timing.instructions,
        (_hits(timing.memory, timing.commands), None, None),
    )
    return timed, None if recorder is None else recorder.log(timing.cycles, timing.memory.channels)


def _time_program(
    path: str, setting: Setting, outputs: Outputs, progress: Progress | None
) -> tuple[Timed, IssueLog | None]:
    from bankside.constraints.core.document import read_text
    from bankside.constraints.memory import load_memory
    from bankside.models.program import Loop, Program
    from bankside.models.program.reader import MAX_BYTES, parse_program

    memory = load_memory(setting.memory or _missing_memory("program"))
    text = read_text(path, "a program", MAX_BYTES)
    program = parse_program(text, path)
    if not program.body:
        raise ConfigError(f"{path}: no command in the program")
    program = _bound(program, setting, path)
    machine = _machine(program, memory, setting)

    def check(command: Command, loops: tuple[int, ...]) -> None:
        one: Any = command
        for count in reversed(loops):
            one = Loop(count, (one,))
        for bound, counts in _bound(Program([one]), setting, path).commands():
            machine.check(bound, counts)

    parse_program(text, path, check)  # once more, now that the machine that checks each command is known
    timed, log = machine.time(program, outputs)
    timed.lines = sum(bool(line.split("#", 1)[0].strip()) for line in text.split("\n"))
    return timed, log


def _bound(program: Program, setting: Setting, path: str) -> Program:
    """The program for the tokens of a request; unchanged if its loops do not depend on them."""
    if setting.tokens is not None:
        return program.bind(setting.tokens)
    try:
        return program.bind(())
    except (ConfigError, IndexError):
        raise ConfigError(f"{path}: loops of the program depend on the tokens of a request: give --tokens") from None


def _time_words(
    path: str, setting: Setting, outputs: Outputs, progress: Progress | None
) -> tuple[Timed, IssueLog | None]:
    """Time of lines of a dispatcher's command buffer, which are a layer's program."""
    import numpy as np

    from bankside.constraints.core.document import read_text
    from bankside.constraints.lolpim.dispatcher import DpaDispatcherConfig
    from bankside.constraints.memory import load_memory
    from bankside.models.program.encoding import decode_program
    from bankside.models.program.reader import MAX_BYTES

    encoding = DpaDispatcherConfig().encoding
    rows = []
    for number, line in enumerate(read_text(path, "a program", MAX_BYTES).split("\n"), 1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        if len(words) != encoding.line_words or not all(re.fullmatch(r"[0-9a-fA-F]{8}", word) for word in words):
            raise ConfigError(
                f"{path}:{number}: a line of the command buffer is {encoding.line_words} words of 8 hexadecimal digits"
            )
        rows.append([int(word, 16) for word in words])
    if not rows:
        raise ConfigError(f"{path}: no command in the program")
    try:
        program = decode_program(np.array(rows, np.uint32), encoding, layers=1)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    program = _bound(program, setting, path)
    machine = _machine(program, load_memory(setting.memory or "gddr6-aim"), setting)
    for command, loops in program.commands():
        machine.check(command, loops)
    timed, log = machine.time(program, outputs)
    timed.lines = len(rows)
    return timed, log


class _Machine(Protocol):
    """Something that executes a program: it checks a command with the counts of the loops around it, and times the
    whole."""

    def check(self, command: Command, loops: tuple[int, ...]) -> None: ...

    def time(self, program: Program, outputs: Outputs) -> tuple[Timed, IssueLog | None]: ...

    def ramulator(self, program: Program, setting: Setting) -> Iterator[str]: ...


def _machine(program: Program, memory: Memory, setting: Setting) -> _Machine:
    """The machine for a program. Instructions of an AiM device need its host. Requests with a barrier or a mask of
    channels need AttAcc's channel controllers. All others need one channel, commands in order."""
    from bankside.models.memory.aim_trace import is_aim

    commands = [command for command, loops in program.commands() if all(loops)]
    if commands and all(is_aim(c.op) and c.op not in memory.commands for c in commands):
        return _AimMachine(memory, setting)
    if setting.buffering is not None:
        raise ConfigError("--buffering is for instructions of an AiM device")
    if any(c.op == "BARRIER" or {"mask", "offset"} & set(c.names) for c in commands):
        return _QueueMachine(memory, setting)
    return _ChannelMachine(memory, setting)


class _AimMachine:
    def __init__(self, memory: Memory, setting: Setting) -> None:
        from bankside.models.memory.aim_pingpong import PingPong
        from bankside.models.memory.issue_log import LoggedFrontEnd

        self.front_end = LoggedFrontEnd(memory, quirks=setting.quirks, refresh=setting.refresh)
        if setting.buffering not in (None, "single", "ping-pong"):
            raise ConfigError(nearest("--buffering", setting.buffering, ("single", "ping-pong")))
        self.double = PingPong(self.front_end) if setting.buffering == "ping-pong" else None

    def check(self, command: Command, loops: tuple[int, ...]) -> None:
        from bankside.models.memory.aim_trace import check_command

        if all(loops):
            check_command(self.front_end, command.op, [(name, value.bounds(loops)) for name, value in command.operands])

    def time(self, program: Program, outputs: Outputs) -> tuple[Timed, IssueLog | None]:
        from bankside.models.memory.aim_trace import memory_view

        program = memory_view(program, self.front_end.memory.rows)
        if self.double is not None and outputs.log:
            raise ConfigError("--timeline and --picture are not available with two sets of buffers")
        whole = (self.double or self.front_end).time(program)
        channels = whole.memory.channels
        timed = Timed(
            whole.memory,
            whole.cycles,
            whole.commands,
            0,
            whole.instructions,
            (_hits(whole.memory, whole.commands), None, None),
            whole.stages,
            program=program,
        )
        recorder = outputs.recorder(whole.memory)
        if recorder is None:
            return timed, None
        self.front_end.record_program(program, recorder)
        return timed, recorder.log(whole.cycles, channels)

    def ramulator(self, program: Program, setting: Setting) -> Iterator[str]:
        raise ConfigError("--export ramulator: not for instructions of an AiM device; --export aim writes their trace")


class _QueueMachine:
    def __init__(self, memory: Memory, setting: Setting) -> None:
        from bankside.models.memory.pim_queue import QueueController

        self.controller = QueueController(
            memory, quirks=setting.quirks, power_limit=setting.power_limit, refresh=setting.refresh
        )

    def check(self, command: Command, loops: tuple[int, ...]) -> None:
        from bankside.models.memory.pim_queue import KINDS

        memory = self.controller.memory
        if command.op not in KINDS:
            raise ConfigError(f"{memory.name}: {nearest('request', command.op, KINDS)}")
        sizes = {
            **memory.levels,
            "row": memory.rows,
            "column": memory.columns,
            "offset": memory.column_bytes,
            "mask": 1 << memory.channels,
        }
        for name, value in command.operands:
            if name not in sizes:
                raise ConfigError(f"{memory.name}: {command.op}: {nearest('operand', name, sizes)}")
            low, high = value.bounds(loops) if all(loops) else (0, 0)
            if not 0 <= low <= high < sizes[name]:
                raise ConfigError(
                    f"{memory.name}: {command.op}: {name} must be 0 to {sizes[name] - 1}, not "
                    f"{low if low < 0 else high}"
                )

    def time(self, program: Program, outputs: Outputs) -> tuple[Timed, IssueLog | None]:
        controller = self.controller
        timing = controller.time(program)
        timed = Timed(
            timing.memory,
            timing.cycles,
            timing.commands,
            0,
            timing.requests,
            (timing.row_hits, None, None),
            program=program,
        )
        return timed, _queue_log(controller, controller.requests(program), timing.cycles, outputs)

    def ramulator(self, program: Program, setting: Setting) -> Iterator[str]:
        from bankside.models.memory.pim_queue import trace_lines

        for requests in self.controller.requests(program):
            yield from (line.rstrip() for line in trace_lines(requests, self.controller))


class _ChannelMachine:
    def __init__(self, memory: Memory, setting: Setting) -> None:
        from bankside.models.memory.engine import Engine

        self.setting = setting
        self.memory = memory.with_quirks(setting.quirks)
        self.engine = Engine(self.memory.at(setting.power_limit), refresh=setting.refresh)

    def check(self, command: Command, loops: tuple[int, ...]) -> None:
        if all(loops):
            self.engine.step(command, loops)

    def time(self, program: Program, outputs: Outputs) -> tuple[Timed, IssueLog | None]:
        from bankside.models.memory import time_program
        from bankside.models.memory.issue_log import engine_log

        refresh = self.setting.refresh
        timing = time_program(program, self.memory, refresh=refresh, power_limit=self.setting.power_limit)
        timed = Timed(
            timing.memory,
            timing.cycles,
            timing.commands,
            0,
            sum(program.counts().values()),
            (timing.row_hits, timing.row_misses, timing.row_conflicts),
            timing.stages,
            program=program,
            details={"bank_utilisation": round(timing.bank_utilisation, 6)},
        )
        timed.details |= {f"{bus}_bus_utilisation": round(share, 6) for bus, share in timing.bus_utilisation.items()}
        if not outputs.log:
            return timed, None
        return timed, engine_log(program, timing.memory, timing.cycles, outputs.first, outputs.last, refresh=refresh)

    def ramulator(self, program: Program, setting: Setting) -> Iterator[str]:
        from bankside.models.memory.request_trace import program_lines

        return program_lines(program, self.memory, setting.mapping or MAPPING)


def _queue_log(controller: QueueController, blocks: Iterable[Any], cycles: int, outputs: Outputs) -> IssueLog | None:
    from bankside.models.memory.issue_log import record_queue

    recorder = outputs.recorder(controller.memory)
    if recorder is None:
        return None
    record_queue(controller, blocks, recorder)
    return recorder.log(cycles, controller.memory.channels)


def _time_attacc(
    path: str, setting: Setting, outputs: Outputs, progress: Progress | None
) -> tuple[Timed, IssueLog | None]:
    from bankside.models.memory.pim_queue import QueueController, read_trace

    controller = QueueController(
        setting.memory or "hbm3-5.2", quirks=setting.quirks, power_limit=setting.power_limit, refresh=setting.refresh
    )
    timing = controller.run(read_trace(path, controller, progress))
    timed = Timed(
        timing.memory, timing.cycles, timing.commands, timing.requests, timing.requests, (timing.row_hits, None, None)
    )
    return timed, _queue_log(controller, read_trace(path, controller), timing.cycles, outputs)


def _time_requests(
    path: str, setting: Setting, outputs: Outputs, progress: Progress | None
) -> tuple[Timed, IssueLog | None]:
    from bankside.constraints.memory import load_memory
    from bankside.models.memory.request_reader import read_requests
    from bankside.models.memory.requests import CONTROLLERS, RequestFrontEnd

    memory = load_memory(setting.memory or _missing_memory("requests"))
    known = {name for name in CONTROLLERS if name != "default"}
    if setting.quirks is not None and setting.quirks not in known:
        raise ConfigError(nearest("quirks", setting.quirks, known))
    if setting.refresh and memory.refresh is None:
        raise ConfigError(f"{memory.name}: the memory states no refresh")
    if setting.channels is not None and setting.channels > memory.channels:
        raise ConfigError(
            f"--channels must be 1 to {memory.channels}, the channels of {memory.name}, not {setting.channels}"
        )
    controller = replace(CONTROLLERS[setting.quirks or "default"], refresh=setting.refresh)
    front_end = RequestFrontEnd(
        memory.at(setting.power_limit), controller, setting.mapping or MAPPING, channels=setting.channels
    )
    recorder = outputs.recorder(front_end.memory)
    requests = read_requests(path, front_end, progress=progress)
    timing = front_end.run(requests, log=None if recorder is None else recorder.add)
    lines = timing.reads + timing.writes
    timed = Timed(
        timing.memory,
        timing.cycles,
        timing.commands,
        lines,
        lines,
        (timing.row_hits, timing.row_misses, timing.row_conflicts),
        details={
            "reads": timing.reads,
            "writes": timing.writes,
            "forwarded": timing.forwarded,
            "read_latency_cycles": round(timing.read_latency, 3) if timing.reads else None,
            "gb_per_s": round(timing.bytes_per_s / 1e9, 6),
            "percent_of_peak": round(
                100 * timing.bytes_per_s / (front_end.channels * front_end.memory.channel_bytes_per_s), 2
            ),
            "mapping": setting.mapping or MAPPING,
            "channels": front_end.channels,
        },
    )
    timed.details |= _faster_mapping(path, front_end)
    return timed, None if recorder is None else recorder.log(timing.cycles, front_end.channels)


#: Requests that compare mappings.
_COMPARED = 8192


def _faster_mapping(path: str, front_end: RequestFrontEnd) -> dict[str, Any]:
    """The named mapping that moves most bytes of a trace's first requests, if it moves 5 % more than the mapping in use.

    Requests with cycles come when they come, so nothing is compared for them.
    """
    from bankside.models.memory.mapping import MAPPINGS
    from bankside.models.memory.request_reader import read_requests
    from bankside.models.memory.requests import RequestFrontEnd, Requests

    block = next(iter(read_requests(path, front_end)), None)
    if block is None or block.cycles is not None:
        return {}
    first = Requests(block.addresses[:_COMPARED], block.writes[:_COMPARED])
    cycles: dict[str | None, int] = {}
    for name in dict.fromkeys((None, *MAPPINGS)):
        try:
            other = (
                front_end
                if name is None
                else RequestFrontEnd(front_end.memory, front_end.controller, name, channels=front_end.channels)
            )
            cycles[name] = other.run(first).cycles
        except ConfigError:  # a mapping for other levels, or an address that its channels do not have
            continue
    best = min(cycles, key=lambda name: cycles[name])
    if best is None or cycles[best] * 1.05 > cycles[None]:
        return {}
    moved = len(first.addresses) * front_end.mapping.access_bytes
    return {
        "faster_mapping": best,
        "faster_gb_per_s": round(moved / (cycles[best] * front_end.memory.clock_ps * 1e-12) / 1e9, 6),
    }


def _missing_memory(form: str) -> str:
    from bankside.constraints.memory import available

    raise ConfigError(f"a file of the format {form} needs --memory (valid: {', '.join(available())}, or a .yaml file)")


#: A vector of 128 elements to the global buffers, its product with four rows, and a read of the results after each row.
EXAMPLE = (
    "00010008 7fff8000 00000000 00000000 00000000 00000000 00000000 00000000",
    "0001024a ffff8000 00000001 00000000 00008004 00000082 00000000 00000000",
    "0000020c 7fff8000 10000000 00000000 00000805 00000000 00000000 00000000",
    "00000001 00000000 00000000 00000000 00000000 00000000 00000000 00000000",
)

#: Formats by name, in the order in which they are tried.
FORMATS: dict[str, TraceFormat] = {
    f.name: f
    for f in (
        TraceFormat(
            "aim",
            "instructions of an AiM device's host (AiM simulator, CENT): 32 channels, one instruction a cycle",
            "gddr6-aim",
            r"(AiM\s|[WR]\s+(MEM|GPR|CFR)\b)",
            ("AiM WR_GB 64 0 0xffff0000", "AiM MAC_ABK 64 0xffff0000 12", "W MEM 0 3 12", "AiM EOC"),
            _time_aim,
        ),
        TraceFormat(
            "requests",
            "plain reads and writes (Ramulator, DRAMsim): also R and W, or 0x1000 READ; # begins a comment",
            None,
            r"(?i:(LD|ST|R|W)\s+(0x[0-9a-f]+|\d+)$|(0x[0-9a-f]+|\d+)\s+(READ|WRITE|R|W)\b)",
            ("LD 0x00001000", "ST 4160"),
            _time_requests,
            options=("mapping", "channels"),
        ),
        TraceFormat(
            "attacc",
            "requests to AttAcc's HBM (AttAcc simulator): near-bank commands, plain accesses, barriers",
            "hbm3-5.2",
            r"(PIM_\w+|LD|ST)\s",
            ("PIM_WR_GB 0x00000000", "PIM_MAC_AB 0x00000020", "PIM_BARRIER 0x00000000"),
            _time_attacc,
            needs=r"PIM_",
        ),
        TraceFormat(
            "program",
            "a loop nest of commands on one channel, or of AiM instructions, as Bankside prints it",
            None,
            r"(loop\s+i\d+\s*<|stage\s+\S|wait\s+\d+$|[A-Za-z_]\w*(\s+[A-Za-z_]\w*=\S+)*$)",
            ("loop i0 < 8", "  loop i1 < 32", "    MAC_AB row=4+i0 column=i1", "  wait 12"),
            _time_program,
            options=("mapping", "tokens", "buffering"),
        ),
        TraceFormat(
            "words",
            "a layer's program as lines of a dispatcher's command buffer, as bankside compile writes it",
            "gddr6-aim",
            r"(?i:[0-9a-f]{8}(\s+[0-9a-f]{8}){7})\s*$",
            EXAMPLE,
            _time_words,
            options=("tokens", "buffering"),
        ),
    )
}

#: Options that only some formats have.
OPTIONS = ("mapping", "channels", "tokens", "buffering")


# ---- The command ----------------------------------------------------------------------------------------------------


def time_file(path: str, form: str | None, setting: Setting, outputs: Outputs) -> TimeTrace:
    """Time of a file."""
    if form is not None and form not in FORMATS:
        raise ConfigError(nearest("format", form, FORMATS))
    outputs.check()
    what = detect(path) if form is None else FORMATS[form]
    if outputs.export is not None and what.name not in ("program", "words"):
        raise ConfigError(f"{path}: --export writes programs, but this is a trace of the format {what.name}")
    for option in OPTIONS:
        if getattr(setting, option) is not None and option not in what.options:
            raise ConfigError(f"{path}: a file of the format {what.name} has no --{option}")
    note_sources(time_file, what.time)
    with _progress(path) as progress:
        timed, log = what.time(path, setting, outputs, progress)
    return _result(timed, log, setting, outputs, os.path.basename(path), file=path, format=what.name)


SYSTEMS = ("cent",)


def is_system(text: str) -> bool:
    """Whether a target is ``SYSTEM:MODEL``."""
    return ":" in text and text.split(":", 1)[0] in SYSTEMS


def time_system(
    target: str,
    setting: Setting,
    outputs: Outputs,
    *,
    tokens: int,
    channels: int | None,
    devices: int,
    stage: str | None,
    order: str | None = None,
) -> TimeTrace:
    """Time of one token through a block of ``SYSTEM:MODEL``.

    ``order``: ``executed`` for the program that the RTL executes, ``authors`` for the order of the authors' generator. None
    is the latter under quirks, else the former.
    """
    from bankside.constraints.memory import load_memory
    from bankside.models.cent import BlockMapping, block_program
    from bankside.models.cent.step import block_work
    from bankside.models.llm import ROTARY, load_model
    from bankside.models.program import Program
    from bankside.models.systems.cent_orders import block_of

    outputs.check()
    note_sources(time_system)
    model = load_model(target.split(":", 1)[1])
    if order is None:
        order = "executed" if setting.quirks is None else "authors"
    if order == "executed":
        channels = channels or 32
        program = block_work(block_of(model, devices, channels, max(tokens, 4096)), tokens).memory
    else:
        if channels is None:
            channels = 32 // min(-(-model.layers // 32), 32)
        mapping = BlockMapping(
            model.hidden_size,
            model.heads,
            model.kv_heads,
            model.intermediate_size,
            channels,
            devices,
            max(tokens, 4096),
            model.head_dim,
            gated=model.gated,
            rotary=model.family in ROTARY,
        )
        program = block_program(mapping, tokens)
    if stage is not None:
        names = [node.name for node in program.body]  # type: ignore[union-attr]
        if stage not in names:
            raise ConfigError(nearest("stage", stage, names))
        program = Program(node for node in program.body if node.name == stage)  # type: ignore[union-attr]
    memory = load_memory(setting.memory or "gddr6-aim")
    timed, log = _machine(program, memory, setting).time(program, outputs)
    timed.details = {"channels": channels, "devices": devices, "order": order}
    title = f"{target}, {tokens} tokens" + (f", {stage}" if stage else "")
    return _result(timed, log, setting, outputs, title, system=target, tokens=tokens)


def _result(
    timed: Timed, log: IssueLog | None, setting: Setting, outputs: Outputs, title: str, **target: Any
) -> TimeTrace:
    from bankside.models.memory.energy import energy_pj

    from ..results.units import TimeTrace

    memory = timed.memory
    energy = energy_pj(timed.commands, memory)
    # A precharge is charged with the activation that it follows.
    silent = [
        name for name in timed.commands if not memory.commands[name].energy_pj and memory.commands[name].row != "closes"
    ]
    hits, misses, conflicts = timed.rows
    program = None if outputs.export is None else timed.program
    return TimeTrace(
        **{"file": None, "format": None, "system": None, "tokens": None, **target},
        lines=timed.lines or None,
        memory=memory.name,
        quirks=setting.quirks,
        refresh=setting.refresh,
        power_limit=setting.power_limit,
        cycles=int(timed.cycles),
        time_ns=round(timed.cycles * memory.clock_ps * 1e-3, 3),
        requests=timed.requests,
        commands={name: int(n) for name, n in timed.commands.items()},
        row_hits=hits,
        row_misses=misses,
        row_conflicts=conflicts,
        energy_pj=energy.get("total"),
        energy_breakdown_pj={k: v for k, v in energy.items() if k != "total"} or None,
        energy_not_modelled=[*silent, "standby"] if energy else ["all"],
        stages={name: int(cycles) for name, cycles in timed.stages.items()} or None,
        details=timed.details or None,
        timeline=None if log is None else write_view(log, title, outputs),
        export=None if program is None else write_program(program, outputs, memory, setting),
    )


# ---- Files that are written -----------------------------------------------------------------------------------------


def write_view(log: IssueLog, title: str, outputs: Outputs) -> View:
    """Write the timeline and the picture of a log; returns their description."""
    from bankside.models.memory.timeline import chrome_trace, timeline

    from ..results.units import View

    view = timeline(log, title)
    if outputs.timeline is not None:
        _write(outputs.timeline, chrome_trace(view))
    if outputs.picture is not None:
        from .picture import render

        _write(outputs.picture, render(view, Path(outputs.picture).suffix[1:].lower()))
    return View(file=outputs.timeline, picture=outputs.picture, **view.as_dict())


def write_program(program: Program, outputs: Outputs, memory: Memory, setting: Setting) -> Export:
    """Write a program in the format of a simulator, line by line, because it may be longer than the computer's
    memory."""
    from ..results.units import Export

    assert outputs.export is not None and outputs.output is not None
    if outputs.export == "program":
        lines: Iterable[str] = str(program).split("\n")
    elif outputs.export == "aim":
        from bankside.models.memory.aim_trace import trace_lines

        lines = trace_lines(program)
    else:
        lines = _machine(program, memory, setting).ramulator(program, setting)
    return Export(file=outputs.output, format=outputs.export, lines=_write_lines(outputs.output, lines))


def _write(path: str, content: str | bytes) -> None:
    from bankside.constraints.core.workspace import write_files

    target = Path(path)
    write_files(target.parent, {target.name: content})


def _write_lines(path: str, lines: Iterable[str]) -> int:
    """Write lines, the file whole or not at all. Returns their number."""
    from bankside.constraints.core.workspace import writing

    count = 0
    with writing(path) as file:
        for line in lines:
            file.write(line.encode() + b"\n")
            count += 1
    return count


# ---- Progress -------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _progress(path: str) -> Iterator[Progress | None]:
    """A progress bar on standard error, if that is a terminal and the work takes longer than a second."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    began, bar, task = time.monotonic(), None, None

    def tell(done: int, size: int) -> None:
        nonlocal bar, task
        if bar is None:
            if time.monotonic() - began < 1:
                return
            from rich.console import Console
            from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

            bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                DownloadColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            bar.start()
            task = bar.add_task(os.path.basename(path), total=size or None)
        assert task is not None
        bar.update(task, completed=done)

    try:
        yield tell
    finally:
        if bar is not None:
            bar.stop()
