"""Schema of a memory file, and the resolved memory that engines read."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from ..core.document import Strict
from ..core.errors import ConfigError, nearest
from ..core.workspace import kept
from .dramsim3 import read_ini
from .expression import evaluate, resolve
from .layers import Places, layered
from .physics import faults

__all__ = ["Constraint", "Memory", "MemoryCommand", "Refresh", "available", "load_memory", "without_physics"]

FOLDER = Path(__file__).parent

#: A timing is far below this; the limit keeps cycle counts within 64 bits.
MAX_CYCLES = 1_000_000_000

Expression = int | str
RowRule = Literal["none", "needs", "opens", "closes", "closed"]


# The file ----------------------------------------------------------------------------------------------------------


class ClockFile(Strict):
    period_ps: float = Field(gt=0, le=1_000_000, strict=False, description="memory clock period")
    source: str


class OrganisationFile(Strict):
    channels: int = Field(ge=1, le=4096, description="channels of one device (stack, module, chip)")
    levels: dict[str, int] = Field(min_length=1, description="levels within a channel, outermost first; last: banks")
    rows: int = Field(ge=1, le=1 << 30, description="rows of a bank")
    columns: int = Field(ge=1, le=1 << 20, description="column accesses of a row")
    column_bytes: int = Field(ge=1, le=1 << 16, description="bytes that one bank moves in a column access")
    bank_cycles: Expression = Field(description="shortest interval of column accesses of one bank")
    bus: str = Field(description="level that has a data bus of its own: 'channel' or one of `levels`")
    bus_bytes: int = Field(ge=1, description="bytes of one transfer on a data bus")
    bus_cycles: Expression = Field(description="cycles of one transfer on a data bus")
    source: str


class ParametersFile(Strict):
    source: str
    values: dict[str, Expression] = Field(min_length=1)


class CommandFile(Strict):
    scope: str
    kind: Literal["row", "column", "other"]
    row: RowRule = "none"
    activate: str | None = None
    precharge: str | None = None
    auto_precharge: bool = False
    latency: Expression = 1
    bank_bytes: int = Field(default=0, ge=0)
    bus_bytes: int = Field(default=0, ge=0)
    operands: list[str] = []
    returns: bool = Field(default=False, description="whether the host gets data")
    register_mode: bool = Field(
        default=False, description="issues only in register mode; other commands only outside it"
    )
    energy: dict[str, str | float] = Field(default={}, strict=False)
    note: str | None = None


class ConstraintFile(Strict):
    level: str
    from_: list[str] = Field(alias="from", min_length=1)
    to: list[str] = Field(min_length=1)
    cycles: Expression
    window: int = Field(default=1, ge=1, le=64)
    between: Literal["same", "different"] = "same"
    only: str | None = Field(default=None, description="the constraint holds with this quirk only")
    unless: str | None = Field(default=None, description="the constraint does not hold with this quirk")
    source: str | None = None


class WaivedFile(Strict):
    """Pairs of commands that the rules of :mod:`.physics` leave out."""

    from_: list[str] = Field(alias="from", min_length=1)
    to: list[str] = Field(min_length=1)
    reason: str = Field(min_length=10, description="why these commands may issue so close together, with its source")


class RefreshFile(Strict):
    command: str
    interval: Expression
    postpone: int = Field(default=0, ge=0, le=64)
    source: str


class PowerLimitFile(Strict):
    limited: dict[str, Expression]
    unlimited: dict[str, Expression]
    source: str


class EnergyFile(Strict):
    source: str
    values: dict[str, float] = Field(strict=False)


class MemoryFile(Strict):
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")
    source: str
    based_on: str | None = Field(default=None, description="memory or file that gives all keys not stated here")
    clock: ClockFile
    organisation: OrganisationFile
    dual_issue: bool = Field(description="one row and one column command may issue in the same cycle")
    parameters: list[ParametersFile] = Field(min_length=1)
    rounded_separately: str | None = Field(default=None, min_length=1, description="why nRC may be nRAS + nRP - 1")
    power_limit: PowerLimitFile | None = None
    quirks: dict[str, str] = Field(
        default={}, description="simulators whose quirks can be switched on, and their source"
    )
    mode_switch: str | None = Field(default=None, description="command that enters and leaves register mode")
    scopes: dict[str, list[str]] = Field(min_length=1)
    commands: dict[str, CommandFile] = Field(min_length=1)
    sets: dict[str, list[str]] = {}
    constraints: list[ConstraintFile]
    waived: list[WaivedFile] = Field(
        default=[], description="pairs of commands without a constraint that physics asks for, each with its reason"
    )
    refresh: RefreshFile | None = None
    energy: EnergyFile | None = None


# The memory --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MemoryCommand:
    """A command of a memory.

    Attributes
    ----------
    scope : tuple of :class:`str`
        Levels that operands of the command address. At every other level the command acts on all nodes at once. A
        command to one bank names all levels, an all-bank command none.
    kind : ``row``, ``column`` or ``other``
        Command bus that it occupies for one cycle; ``other`` occupies both.
    row : :class:`str`
        ``needs``: operand ``row`` must be open in every bank of the scope, else ``precharge`` and ``activate`` are
        issued first. ``opens``: the command opens the row; open banks are precharged first. ``closes``: it closes the
        row. ``closed``: open banks are precharged first. ``none``: no rule.
    auto_precharge : :class:`bool`
        Whether the rows are closed after the command.
    latency : :class:`int`
        Cycles from issue until the command has finished (the last data has been transferred).
    banks : :class:`int`
        Banks that the command acts on.
    bank_bytes, bus_bytes : :class:`int`
        Bytes moved in each of these banks, and over the external data bus.
    energy_pj : mapping
        Energy of one command by component, in pJ.
    returns : :class:`bool`
        Whether the host gets data and therefore waits for the command's completion.
    register_mode : :class:`bool`
        Whether the command works on registers. The memory's ``mode_switch`` is issued between such commands and others.
    """

    name: str
    scope: tuple[str, ...]
    kind: str
    row: str
    activate: str | None
    precharge: str | None
    auto_precharge: bool
    latency: int
    banks: int
    bank_bytes: int
    bus_bytes: int
    operands: tuple[str, ...]
    energy_pj: dict[str, float]
    returns: bool = False
    register_mode: bool = False

    @property
    def has_row(self) -> bool:
        """Whether it has the operand ``row``."""
        return self.row in ("needs", "opens")


@dataclass(frozen=True)
class Constraint:
    """No command of ``to`` issues earlier than ``cycles`` after the ``window``-th last command of ``from``.

    With ``between`` ``same``, the commands act on a common node of ``level`` (``channel`` or a level of the
    organisation). With ``different``, they act on different nodes with a common parent. ``line`` is the line of the
    file.
    """

    level: str
    from_: frozenset[str]
    to: frozenset[str]
    cycles: int
    window: int
    between: str
    line: int


@dataclass(frozen=True)
class Refresh:
    """``command`` refreshes each of its scopes every ``interval`` cycles; up to ``postpone`` refreshes may be
    postponed."""

    command: str
    interval: int
    postpone: int


@dataclass(frozen=True, eq=False)
class Memory:
    """A memory with all expressions resolved to cycles. Make one with :func:`load_memory`.

    Memories are equal, and have the same hash, if their :attr:`content` is equal. So caches share what was computed for
    equal memories, whichever files they came from.

    Attributes
    ----------
    clock_ps : :class:`float`
        Clock period.
    channels : :class:`int`
        Channels of a device; everything else describes one channel.
    levels : mapping of level to count
        Levels within a channel, outermost first.
    rows, columns, column_bytes : :class:`int`
        Rows of a bank, column accesses of a row, bytes of a column access of one bank.
    parameters : mapping
        Named timings in cycles.
    """

    name: str
    source: str
    file: str
    clock_ps: float
    channels: int
    levels: dict[str, int]
    rows: int
    columns: int
    column_bytes: int
    bank_cycles: int
    bus: str
    bus_bytes: int
    bus_cycles: int
    dual_issue: bool
    parameters: dict[str, int]
    commands: dict[str, MemoryCommand]
    constraints: tuple[Constraint, ...]
    refresh: Refresh | None
    power_limited: bool | None
    unlimited: Memory | None = field(default=None, repr=False)
    mode_switch: str | None = None
    quirks: str | None = None
    variants: dict[str, Memory] = field(default_factory=dict, repr=False)

    @cached_property
    def content(self) -> str:
        """SHA-256 of all values, with the variants. The file, its lines and the order of parameters do not count."""

        def plain(part: Any) -> Any:
            if isinstance(part, Memory):
                return part.content
            if isinstance(part, frozenset):
                return sorted(part)
            return {name: value for name, value in vars(part).items() if name not in ("file", "line")}

        values = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "file"}
        values["parameters"] = sorted(self.parameters.items())
        return hashlib.sha256(json.dumps(values, default=plain).encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Memory) and other.content == self.content)

    def __hash__(self) -> int:
        return hash(self.content)

    @property
    def banks(self) -> int:
        """Banks of a channel."""
        return math.prod(self.levels.values())

    @property
    def row_bytes(self) -> int:
        """Bytes of a row of one bank."""
        return self.columns * self.column_bytes

    @property
    def buses(self) -> int:
        """External data buses of a channel."""
        count = 1
        for level, size in self.levels.items():
            if self.bus == "channel":
                break
            count *= size
            if level == self.bus:
                break
        return count

    @property
    def channel_bytes_per_s(self) -> float:
        """Peak external bandwidth of one channel."""
        return self.buses * self.bus_bytes / (self.bus_cycles * self.clock_ps * 1e-12)

    def at(self, power_limit: bool = True) -> Memory:
        """This memory with or without its power limit; itself if the file states none.

        The memory without its limit does not know the memory with it: keep the result of :func:`load_memory`.
        """
        return self if power_limit or self.unlimited is None else self.unlimited

    def with_quirks(self, name: str | None) -> Memory:
        """This memory as a simulator models it; itself for None. :exc:`ConfigError` if the file has no such quirks."""
        if name is None:
            return self
        if name not in self.variants:
            if not self.variants:
                raise ConfigError(f"{self.name}: the memory has no quirks to switch on, not '{name}'")
            raise ConfigError(f"{self.name}: {nearest('quirks', name, self.variants)}")
        return self.variants[name]

    def command(self, name: str) -> MemoryCommand:
        """The command ``name``; :exc:`ConfigError` if the memory has none."""
        if name not in self.commands:
            raise ConfigError(f"{self.name}: {nearest('command', name, self.commands)}")
        return self.commands[name]


# Reading -----------------------------------------------------------------------------------------------------------


def available() -> list[str]:
    """Names of the memories that come with the package."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def load_memory(memory: str | os.PathLike[str]) -> Memory:
    """Read a memory by name (:func:`available`), by the path of a YAML file, or of an ``.ini`` file of DRAMsim3.

    Raises
    ------
    :exc:`ConfigError`
        The message is ``file:line: fault``. Faults are:

        - a key or value that the schema does not have;
        - an unknown timing, command, level or scope;
        - timings that define each other in a circle;
        - a timing below 1, or tRC < tRAS + tRP;
        - files that are based on each other in a circle;
        - commands that may issue so close together that no memory can do it (:mod:`.physics`), unless
          :func:`without_physics` is active.
    """
    text = os.fspath(memory)
    if not text.endswith((".yaml", ".yml", ".ini")) and os.sep not in text:
        if text not in available():
            raise ConfigError(
                nearest("memory", text, available()) + ", or the path of a .yaml file or of DRAMsim3's .ini"
            )
        return _shipped(text)
    return _read(Path(text))


#: Whether memories are read without the rules of physics, and what they would have refused.
_UNCHECKED: ContextVar[bool] = ContextVar("unchecked", default=False)
_UNCHECKED_FOUND: ContextVar[list[str]] = ContextVar("unchecked_found")
_TELL: ContextVar[Callable[[str], None]] = ContextVar("tell")


@contextmanager
def without_physics(tell: Callable[[str], None] = lambda line: None) -> Iterator[list[str]]:
    """Within the block, memories are read without the rules of :mod:`.physics`. The list has a line for each memory that
    they would have refused. ``tell`` is called with each of them."""
    found: list[str] = []
    before = _UNCHECKED.set(True), _UNCHECKED_FOUND.set(found), _TELL.set(tell)
    try:
        yield found
    finally:
        _UNCHECKED.reset(before[0])
        _UNCHECKED_FOUND.reset(before[1])
        _TELL.reset(before[2])


@kept
def _shipped(name: str) -> Memory:
    return _read(FOLDER / f"{name}.yaml")


def _read(path: Path) -> Memory:
    if path.suffix == ".ini":
        values, places = read_ini(path)
        document = MemoryFile.model_validate(values)
    else:
        document, places = layered(path, MemoryFile, FOLDER)
    reader = _Reader(document, os.fspath(path), places)
    plain = reader.limited(None)
    found = faults(plain, reader.waived(plain))
    if found:
        more = f" (and {len(found) - 1} further pairs)" if len(found) > 1 else ""
        if not _UNCHECKED.get():
            raise ConfigError(
                f"{os.fspath(path)}: {found[0]}{more}; state the constraint, or name the pair in 'waived' with a reason"
            )
        told = _UNCHECKED_FOUND.get()
        line = f"{plain.name} is not checked by physics: {found[0]}{more}"
        if line not in told:
            told.append(line)
            _TELL.get()(line)
    quirks = document.quirks
    return replace(plain, variants={name: reader.limited(name) for name in quirks}) if quirks else plain


class _Reader:
    """Checks that the schema cannot make: names, values of expressions, relations."""

    def __init__(self, file: MemoryFile, where: str, places: Places) -> None:
        self.file = file
        self.where = where
        self.places = places

    def place(self, *at: Any) -> tuple[str, int]:
        """File and line of a value; a memory that is based on another has several files."""
        while at and at not in self.places:
            at = at[:-1]
        return self.places.get(at, (self.where, 1))

    def fail(self, message: str, *at: Any) -> ConfigError:
        where, line = self.place(*at)
        return ConfigError(f"{where}:{line}: {message}")

    def cycles(self, text: Expression, *at: Any) -> int:
        """Value of an expression over the parameters, at least 1."""

        def lookup(name: str) -> int:
            if name not in self.parameters:
                raise ValueError(nearest("timing", name, self.parameters))
            return self.parameters[name]

        try:
            value = evaluate(text, lookup)
        except ValueError as error:
            raise self.fail(str(error), *at) from None
        if not 1 <= value <= MAX_CYCLES:
            raise self.fail(f"'{text}' is {value} cycles; must be 1 to {MAX_CYCLES}", *at)
        return int(value)

    def known(self, what: str, name: str, valid: Iterable[str], *at: Any) -> str:
        if name not in valid:
            raise self.fail(nearest(what, name, valid), *at)
        return name

    def limited(self, quirks: str | None) -> Memory:
        """The memory with the power limit, if the file states one. It contains the memory without the limit."""
        limit = self.file.power_limit
        if limit is None:
            return self.build({}, quirks)
        unlimited = replace(self.build(limit.unlimited, quirks), power_limited=False)
        return replace(self.build(limit.limited, quirks), power_limited=True, unlimited=unlimited)

    def build(self, overrides: dict[str, Expression], quirks: str | None = None) -> Memory:
        file = self.file
        values: dict[str, Expression] = {}
        origin: dict[str, tuple[Any, ...]] = {}
        for number, group in enumerate(file.parameters):
            for name, value in group.values.items():
                at = ("parameters", number, "values", name)
                if not name.isidentifier() or name in ("min", "max"):
                    raise self.fail(f"'{name}' is not a name", *at)
                if name in values:
                    raise self.fail(f"timing '{name}' appears twice", *at)
                values[name], origin[name] = value, at
        for name, value in overrides.items():
            which = "limited" if overrides is (file.power_limit and file.power_limit.limited) else "unlimited"
            self.known("timing", name, values, "power_limit", which, name)
            values[name], origin[name] = value, ("power_limit", which, name)
        self.parameters = resolve(values, "timing", lambda name, text: self.fail(f"{name}: {text}", *origin[name]))
        for name, value in self.parameters.items():
            if not 1 <= value <= MAX_CYCLES:
                raise self.fail(f"{name} is {value} cycles; must be 1 to {MAX_CYCLES}", *origin[name])
        if {"nRC", "nRAS", "nRP"} <= self.parameters.keys():
            # One cycle less is real if a table converts each nanosecond value to cycles by itself; the file has to say
            # so.
            cycle, whole = self.parameters["nRC"], self.parameters["nRAS"] + self.parameters["nRP"]
            least = whole - (file.rounded_separately is not None)
            if cycle < least:
                hint = ""
                if cycle == whole - 1:
                    hint = "; if each was rounded by itself, say so with 'rounded_separately: REASON'"
                raise self.fail(
                    f"nRC {cycle} is less than nRAS + nRP{' - 1' * (least < whole)} = {least}{hint}", *origin["nRC"]
                )
        levels = dict(file.organisation.levels)
        for name, count in levels.items():
            if not name.isidentifier() or name in ("channel", "row", "column"):
                raise self.fail(f"'{name}' cannot be the name of a level", "organisation", "levels", name)
            if not 1 <= count <= 1024:
                raise self.fail(f"{name} must be 1 to 1024, not {count}", "organisation", "levels", name)
        if math.prod(levels.values()) > 4096:
            raise self.fail(f"a channel of {math.prod(levels.values())} banks; at most 4096", "organisation", "levels")
        self.levels = levels
        self.known("level", file.organisation.bus, ["channel", *levels], "organisation", "bus")
        for name, scope in file.scopes.items():
            for number, level in enumerate(scope):
                self.known("level", level, levels, "scopes", name, number)
        commands = {name: self.command(name) for name in file.commands}
        for name, command in commands.items():
            self.row_commands(name, command, commands)
        constraints = []
        for number, entry in enumerate(file.constraints):
            for key in ("only", "unless"):
                if getattr(entry, key) is not None:
                    self.known("quirks", getattr(entry, key), file.quirks, "constraints", number, key)
            constraint = self.constraint(number, commands)
            if entry.only in (None, quirks) and (entry.unless is None or entry.unless != quirks):
                constraints.append(constraint)
        if file.mode_switch is not None:
            self.known("command", file.mode_switch, commands, "mode_switch")
        for name, given in file.commands.items():
            if given.register_mode and file.mode_switch is None:
                raise self.fail(
                    "a command of the mode of registers needs 'mode_switch'", "commands", name, "register_mode"
                )
        return Memory(
            name=file.name,
            source=file.source,
            file=self.where,
            clock_ps=file.clock.period_ps,
            channels=file.organisation.channels,
            levels=levels,
            rows=file.organisation.rows,
            columns=file.organisation.columns,
            column_bytes=file.organisation.column_bytes,
            bank_cycles=self.cycles(file.organisation.bank_cycles, "organisation", "bank_cycles"),
            bus=file.organisation.bus,
            bus_bytes=file.organisation.bus_bytes,
            bus_cycles=self.cycles(file.organisation.bus_cycles, "organisation", "bus_cycles"),
            dual_issue=file.dual_issue,
            parameters=self.parameters,
            commands=commands,
            constraints=tuple(constraints),
            refresh=self.refresh(commands, constraints),
            power_limited=None,
            mode_switch=file.mode_switch,
            quirks=quirks,
        )

    def command(self, name: str) -> MemoryCommand:
        file, at = self.file.commands[name], ("commands", name)
        if not name.isidentifier():
            raise self.fail(f"'{name}' cannot be the name of a command", *at)
        scope = self.file.scopes[self.known("scope", file.scope, self.file.scopes, *at, "scope")]
        ordered = tuple(level for level in self.levels if level in scope)
        banks = math.prod(count for level, count in self.levels.items() if level not in scope)
        if file.row == "needs" and file.kind == "row":
            raise self.fail("a row command cannot need an open row", *at, "row")
        organisation = self.file.organisation
        names: dict[str, float] = {
            "banks": banks,
            "bank_bytes": file.bank_bytes,
            "bus_bytes": file.bus_bytes,
            "row_bytes": organisation.columns * organisation.column_bytes,
            **(self.file.energy.values if self.file.energy else {}),
        }

        def lookup(key: str) -> float:
            if key not in names:
                raise ValueError(nearest("energy", key, names))
            return names[key]

        energy: dict[str, float] = {}
        for component, text in file.energy.items():
            try:
                energy[component] = float(evaluate(text, lookup, exact=False))
            except ValueError as error:
                raise self.fail(str(error), *at, "energy", component) from None
            if not energy[component] >= 0:
                raise self.fail(f"'{text}' is {energy[component]} pJ; at least 0", *at, "energy", component)
        return MemoryCommand(
            name,
            ordered,
            file.kind,
            file.row,
            file.activate,
            file.precharge,
            file.auto_precharge,
            self.cycles(file.latency, *at, "latency"),
            banks,
            file.bank_bytes,
            file.bus_bytes,
            tuple(file.operands),
            energy,
            file.returns,
            file.register_mode,
        )

    def row_commands(self, name: str, command: MemoryCommand, commands: dict[str, MemoryCommand]) -> None:
        at = ("commands", name)
        wanted = {"needs": ("activate", "precharge"), "opens": ("precharge",), "closed": ("precharge",)}
        for role, rule in (("activate", "opens"), ("precharge", "closes")):
            other = getattr(command, role)
            if role not in wanted.get(command.row, ()):
                if other is not None:
                    raise self.fail(f"row rule '{command.row}' has no {role}", *at, role)
                continue
            if other is None:
                raise self.fail(f"row rule '{command.row}' needs the key '{role}'", *at)
            self.known("command", other, commands, *at, role)
            if commands[other].row != rule:
                raise self.fail(f"{role} {other} must have the row rule '{rule}'", *at, role)
            if role == "activate" and set(commands[other].scope) != set(command.scope):
                raise self.fail(f"activate {other} must have the scope of {name}", *at, role)
            if not set(commands[other].scope) <= set(command.scope):
                raise self.fail(f"{role} {other} must act on every bank of {name}", *at, role)

    def names(self, entries: list[str], commands: dict[str, MemoryCommand], *at: Any) -> frozenset[str]:
        out: set[str] = set()
        for number, entry in enumerate(entries):
            if entry in self.file.sets:
                for member, name in enumerate(self.file.sets[entry]):
                    out.add(self.known("command", name, commands, "sets", entry, member))
            else:
                out.add(self.known("command or set", entry, [*commands, *self.file.sets], *at, number))
        return frozenset(out)

    def constraint(self, number: int, commands: dict[str, MemoryCommand]) -> Constraint:
        for name, members in self.file.sets.items():
            for member, command in enumerate(members):
                self.known("command", command, commands, "sets", name, member)
        file, at = self.file.constraints[number], ("constraints", number)
        self.known("level", file.level, ["channel", *self.levels], *at, "level")
        if file.between == "different" and (file.level == "channel" or file.window > 1):
            raise self.fail("'between: different' needs a level within the channel and no window", *at, "between")
        return Constraint(
            file.level,
            self.names(file.from_, commands, *at, "from"),
            self.names(file.to, commands, *at, "to"),
            self.cycles(file.cycles, *at, "cycles"),
            file.window,
            file.between,
            self.place(*at)[1],
        )

    def waived(self, memory: Memory) -> dict[tuple[str, str], str]:
        """Reason of each pair of commands that the file leaves out."""
        return {
            (first, second): entry.reason
            for number, entry in enumerate(self.file.waived)
            for first in self.names(entry.from_, memory.commands, "waived", number, "from")
            for second in self.names(entry.to, memory.commands, "waived", number, "to")
        }

    def refresh(self, commands: dict[str, MemoryCommand], constraints: list[Constraint]) -> Refresh | None:
        file = self.file.refresh
        if file is None:
            return None
        command = commands[self.known("command", file.command, commands, "refresh", "command")]
        if command.row != "closed":
            raise self.fail(f"refresh command {command.name} must have the row rule 'closed'", "refresh", "command")
        interval = self.cycles(file.interval, "refresh", "interval")
        if command.latency >= interval:
            raise self.fail(
                f"refresh command {command.name} takes {command.latency} cycles, its interval is {interval}",
                "refresh",
                "interval",
            )
        longest = max((c.cycles for c in constraints), default=1)
        scopes = math.prod(self.levels[level] for level in command.scope)
        # Between two refreshes there must be time to close rows, refresh, and open rows again.
        least = (file.postpone + 1) * longest * 2 + 4 * longest + scopes
        if interval * (file.postpone + 1) < least:
            raise self.fail(
                f"a refresh interval of {interval} cycles leaves no time for commands between refreshes",
                "refresh",
                "interval",
            )
        return Refresh(command.name, interval, file.postpone)
