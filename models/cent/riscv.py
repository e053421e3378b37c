"""Functional model of CENT's RISC-V cores: it executes the same words, and gives every access to the shared buffer.

RV32IM without compressed instructions, and the custom operations of :mod:`bankside.constraints.cent.rv32`. FP32 operators
come from :mod:`bankside.models.numerics`. The model has no clock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from ...constraints.cent.programs import Image
from ...constraints.cent.riscv import CentRiscvConfig
from ...constraints.cent.rv32 import BOOT, CUSTOM, WINDOW, Environment, Float, Kind, boot_program
from ...constraints.core.errors import ConfigError
from ...constraints.core.formats import BF16, FP32
from ..numerics import convert, fma, maximum, reciprocal, reciprocal_square_root

__all__ = ["ClusterModel", "ClusterRun", "CoreModel", "CoreRun", "float_result"]

#: Instructions after which a program counts as endless.
MOST_INSTRUCTIONS = 20_000_000

ONE, MINUS_ZERO = 0x3F80_0000, 0x8000_0000
_M = 0xFFFF_FFFF
_RA, _SP, _T0, _A0 = 1, 2, 5, 10
#: What the boot program puts into a0 to a4.
_GIVEN = (Environment.DESTINATION, Environment.SOURCE, Environment.OPSIZE, Environment.CORE, Environment.CORES)


@lru_cache(maxsize=1 << 16)
def float_result(operation: Float, a: int, b: int, addend: int) -> int:
    """Result of an FP32 operator, as bits."""

    def bits(function: object, *operands: int, **options: object) -> int:
        return int(function(*(np.array([x], np.int64) for x in operands), **options)[0])  # type: ignore[operator]

    match operation:
        case Float.MULTIPLY:
            return bits(fma, a, b, MINUS_ZERO, fmt=FP32)
        case Float.ADD:
            return bits(fma, a, ONE, b, fmt=FP32)
        case Float.MULTIPLY_ADD:
            return bits(fma, a, b, addend, fmt=FP32)
        case Float.RECIPROCAL:
            return bits(reciprocal, a, fmt=FP32)
        case Float.RECIPROCAL_SQUARE_ROOT:
            return bits(reciprocal_square_root, a, fmt=FP32)
        case Float.TO_BF16:
            return bits(convert, a, source=FP32, target=BF16)
        case Float.MAXIMUM:
            return bits(maximum, a, b, fmt=FP32)
    return addend


@dataclass
class CoreRun:
    """A program on one core.

    Attributes
    ----------
    trapped : whether it ended with an exception
    strayed : whether it accessed an address without memory, or wrote a single byte to the shared buffer
    accesses : element, value that was written, and whether it was a write, of each access to the shared buffer
    answers : values that were read
    instructions : number of executed instructions
    """

    trapped: bool = False
    strayed: bool = False
    accesses: list[tuple[int, int, bool]] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    instructions: int = 0


class _Trap(Exception):
    """An exception of the core."""


def _signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value


def _multiplied(funct3: int, a: int, b: int) -> int:
    """Result of the M extension."""
    x, y = _signed(a), _signed(b)
    match funct3:
        case 0:
            return x * y & _M
        case 1:
            return x * y >> 32 & _M
        case 2:
            return x * b >> 32 & _M
        case 3:
            return a * b >> 32
        case 4:
            return _M if not b else (abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)) & _M
        case 5:
            return _M if not b else a // b
        case 6:
            return a if not b else (abs(x) % abs(y) * (-1 if x < 0 else 1)) & _M
        case _:
            return a if not b else a % b


def _computed(funct3: int, other: bool, a: int, b: int) -> int:
    """Result of an integer operation; ``other``: subtraction, or an arithmetic shift."""
    match funct3:
        case 0:
            return (a - b if other else a + b) & _M
        case 1:
            return a << (b & 31) & _M
        case 2:
            return int(_signed(a) < _signed(b))
        case 3:
            return int(a < b)
        case 4:
            return a ^ b
        case 5:
            return (_signed(a) >> (b & 31) if other else a >> (b & 31)) & _M
        case 6:
            return a | b
        case _:
            return a & b


def _taken(funct3: int, a: int, b: int) -> bool:
    match funct3 >> 1:
        case 0:
            met = a == b
        case 2:
            met = _signed(a) < _signed(b)
        case 3:
            met = a < b
        case _:
            raise _Trap
    return met != bool(funct3 & 1)


class CoreModel:
    """One core: registers, memory, custom functions.

    Registers and the operators' addend keep their values from program to program. They are 0 before the first.
    """

    def __init__(self, config: CentRiscvConfig, number: int = 0) -> None:
        self.config, self.number = config, number
        self.memory = bytearray(config.memory_bytes)
        self.registers = [0] * 32
        self._addend = 0
        self._queue: deque[int] = deque()
        self._environment: dict[int, int] = {}
        boot = boot_program(config.memory_bytes)
        #: Where a program returns to: behind the call in the boot program.
        self._home = BOOT + 4 * (next(n for n, word in enumerate(boot) if word & 0x7F == 0x67) + 1)

    def load(self, words: Sequence[int], address: int = 0) -> None:
        """Put words into the memory from word ``address`` on; :exc:`ConfigError` if they do not fit."""
        Image(tuple(words), {}, {}).check_fits(self.config.memory_bytes - 4 * address)
        raw = np.array(words, "<u4").tobytes()
        self.memory[4 * address : 4 * address + len(raw)] = raw

    def run(self, pc: int, to: int, source: int, opsize: int, buffer: np.ndarray) -> CoreRun:
        """Run the program at word ``pc`` until it returns or traps.

        Parameters
        ----------
        to, source : slots of destination and source
        buffer : uint16 array of all elements of the shared buffer; writes change it

        Raises
        ------
        :exc:`ConfigError`
            If the program does not end, waits for ever, or uses an instruction that is not modelled.
        """
        run, x = CoreRun(), self.registers
        slot = 2 * self.config.slot_elements
        x[_RA], x[_SP], x[_T0] = self._home, self.config.memory_bytes, 4 * pc
        given = [WINDOW + to * slot, WINDOW + source * slot, opsize, self.number, self.config.cores]
        x[_A0 : _A0 + 5] = given
        self._environment = dict(zip(_GIVEN, given, strict=True))
        at = 4 * pc
        try:
            while at != self._home:
                if run.instructions == MOST_INSTRUCTIONS:
                    raise ConfigError(
                        f"core {self.number}: the program at word {pc} has not ended after "
                        f"{MOST_INSTRUCTIONS} instructions"
                    )
                run.instructions += 1
                at = self._step(at, run, buffer)
        except _Trap:
            run.trapped = True
            x[_T0] = 1
        if self._queue:
            raise ConfigError(
                f"core {self.number}: the program at word {pc} ends with {len(self._queue)} reads not taken"
            )
        return run

    def _step(self, at: int, run: CoreRun, buffer: np.ndarray) -> int:
        """Execute the instruction at byte ``at``. Returns the address of the next."""
        if at + 4 > len(self.memory):
            if at >> 7 == BOOT >> 7:
                raise ConfigError(f"core {self.number}: a program jumps into the boot program")
            raise _Trap
        word = int.from_bytes(self.memory[at : at + 4], "little")
        opcode, rd, funct3 = word & 0x7F, word >> 7 & 31, word >> 12 & 7
        rs1, rs2, funct7 = word >> 15 & 31, word >> 20 & 31, word >> 25
        x = self.registers
        a, b = x[rs1], x[rs2]
        immediate = _signed(word) >> 20
        following = at + 4
        result: int
        if opcode == 0x13:
            if funct3 in (1, 5) and funct7 not in ((0, 32) if funct3 == 5 else (0,)):
                raise _Trap
            result = _computed(funct3, funct3 == 5 and funct7 == 32, a, immediate & _M)
        elif opcode == 0x33:
            if funct7 == 1:
                result = _multiplied(funct3, a, b)
            elif funct7 == 0 or funct7 == 32 and funct3 in (0, 5):
                result = _computed(funct3, funct7 == 32, a, b)
            else:
                raise _Trap
        elif opcode == 0x03:
            result = self._load(funct3, (a + immediate) & _M, run, buffer)
        elif opcode == 0x23:
            offset = (_signed(word) >> 25 << 5) | rd
            self._store(funct3, (a + offset) & _M, b, run, buffer)
            return following
        elif opcode == 0x63:
            offset = _signed(word) >> 31 << 12 | (word >> 7 & 1) << 11 | (word >> 25 & 63) << 5 | (word >> 8 & 15) << 1
            if not _taken(funct3, a, b):
                return following
            if (at + offset) & 3:
                raise _Trap
            return (at + offset) & _M
        elif opcode == 0x37:
            result = word & 0xFFFFF000
        elif opcode == 0x17:
            result = (at + (word & 0xFFFFF000)) & _M
        elif opcode in (0x6F, 0x67):
            if opcode == 0x6F:
                offset = (
                    _signed(word) >> 31 << 20
                    | (word >> 12 & 0xFF) << 12
                    | (word >> 20 & 1) << 11
                    | (word >> 21 & 0x3FF) << 1
                )
                target = (at + offset) & _M
            elif funct3:
                raise _Trap
            else:
                target = (a + immediate) & _M & ~1
            if target & 3:
                raise _Trap
            result, following = following, target
        elif opcode == CUSTOM:
            result = self._custom(funct3, funct7, a, b, run, buffer)
        elif opcode == 0x0F and funct3 == 0:
            return following
        elif word in (0x73, 0x0010_0073):
            raise _Trap
        elif opcode in (0x0F, 0x73):
            raise ConfigError(f"core {self.number}: instruction {word:08x} at address {at} is not modelled")
        else:
            raise _Trap
        if rd:
            x[rd] = result
        return following

    # Memory -----------------------------------------------------------------------------------------------------------

    def _load(self, funct3: int, address: int, run: CoreRun, buffer: np.ndarray) -> int:
        if funct3 not in (0, 1, 2, 4, 5):
            raise _Trap
        size = 1 << (funct3 & 3)
        if address % size:
            raise _Trap
        if address < len(self.memory):
            value = int.from_bytes(self.memory[address : address + size], "little")
        elif WINDOW <= address < WINDOW + self.config.window_bytes:
            if self._queue:
                raise ConfigError(
                    f"core {self.number}: a load from the shared buffer waits for reads that are not taken"
                )
            element = address - WINDOW >> 2 << 1
            low, high = (self._read(element + n, run, buffer) for n in (0, 1))
            value = (high << 16 | low) >> 8 * (address & 3) & (1 << 8 * size) - 1
        else:
            run.strayed = True
            value = 0
        return value - (1 << 8 * size) & _M if funct3 < 3 and value >> 8 * size - 1 else value

    def _store(self, funct3: int, address: int, value: int, run: CoreRun, buffer: np.ndarray) -> None:
        if funct3 > 2:
            raise _Trap
        size = 1 << funct3
        if address % size:
            raise _Trap
        if address < len(self.memory):
            self.memory[address : address + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
        elif WINDOW <= address < WINDOW + self.config.window_bytes and size > 1:
            for n in range(size // 2):
                self._write((address - WINDOW >> 1) + n, value >> 16 * n & 0xFFFF, run, buffer)
        else:
            run.strayed = True

    def _read(self, element: int, run: CoreRun, buffer: np.ndarray) -> int:
        value = int(buffer[element])
        run.accesses.append((element, 0, False))
        run.answers.append(value)
        return value

    @staticmethod
    def _write(element: int, value: int, run: CoreRun, buffer: np.ndarray) -> None:
        run.accesses.append((element, value, True))
        buffer[element] = value

    # Custom functions -------------------------------------------------------------------------------------------------

    def _custom(self, kind: int, function: int, a: int, b: int, run: CoreRun, buffer: np.ndarray) -> int:
        element = (a >> 1) + function & self.config.window_bytes // 2 - 1
        if kind == Kind.FLOAT:
            operation = Float(function & 7)
            before = self._addend
            if operation is Float.SET_ADDEND:
                self._addend = a
            return float_result(operation, a, b, before)
        if kind == Kind.ENVIRONMENT:
            if function in (Environment.START, Environment.DONE):
                raise ConfigError(f"core {self.number}: START and DONE belong to the boot program")
            return self._environment.get(function, 0)
        if kind == Kind.READ:
            if len(self._queue) == self.config.queue:
                raise ConfigError(
                    f"core {self.number}: more than {self.config.queue} reads of the shared buffer under way"
                )
            self._queue.append(self._read(element, run, buffer))
        elif kind == Kind.TAKE:
            return self._next() << 16 * (function & 1)
        elif kind == Kind.MOVE:
            self._write(element, self._next(), run, buffer)
        elif kind == Kind.WRITE:
            self._write(element, b & 0xFFFF, run, buffer)
        return 0

    def _next(self) -> int:
        if not self._queue:
            raise ConfigError(f"core {self.number}: the program takes an element that it has not begun to read")
        return self._queue.popleft()


@dataclass(frozen=True)
class ClusterRun:
    """A program on all cores; bit n of ``trapped`` and ``strayed`` is core n."""

    cores: tuple[CoreRun, ...]

    @property
    def trapped(self) -> int:
        return sum(run.trapped << n for n, run in enumerate(self.cores))

    @property
    def strayed(self) -> int:
        return sum(run.strayed << n for n, run in enumerate(self.cores))

    @property
    def instructions(self) -> int:
        return sum(run.instructions for run in self.cores)


class ClusterModel:
    """All cores of a device.

    Parameters
    ----------
    config : :class:`CentRiscvConfig`
    """

    def __init__(self, config: CentRiscvConfig) -> None:
        self.config = config
        self.cores = [CoreModel(config, n) for n in range(config.cores)]

    def load(self, words: Sequence[int], address: int = 0, cores: int | None = None) -> None:
        """Put words into the memories of the masked cores (None: all); :exc:`ConfigError` if they do not fit."""
        for n, core in enumerate(self.cores):
            if cores is None or cores >> n & 1:
                core.load(words, address)

    def start(self, pc: int, to: int, source: int, opsize: int, buffer: np.ndarray) -> ClusterRun:
        """Run the program at word ``pc`` on all cores.

        Parameters
        ----------
        to, source : slots of destination (``gpr1``) and source (``gpr0``)
        buffer : uint16 array of all elements of the shared buffer; writes change it

        Raises
        ------
        :exc:`ConfigError`
            As :meth:`CoreModel.run`, and if a core accesses what another core writes: the result would depend on time.
        """
        runs = tuple(core.run(pc, to, source, opsize, buffer) for core in self.cores)
        owner = np.full(len(buffer), -1)
        for n, run in enumerate(runs):
            owner[[element for element, _, write in run.accesses if write]] = n
        for n, run in enumerate(runs):
            for element, _, _ in run.accesses:
                if owner[element] not in (-1, n):
                    raise ConfigError(
                        f"cores {n} and {owner[element]} both access element {element} of the shared buffer, "
                        "and one writes it"
                    )
        return ClusterRun(runs)
