"""The RISC-V cores of CENT: instruction formats, address map, the operations of the custom-function unit, boot program.

Source of the instructions: The RISC-V Instruction Set Manual, RV32I 2.1 and M 2.0. Addresses and custom operations are
this project's choice: CENT only says that a core sees the shared buffer as bytes through 16-bit accesses.
"""

from __future__ import annotations

from enum import IntEnum

__all__ = [
    "BOOT",
    "BOOT_WORDS",
    "CUSTOM",
    "WINDOW",
    "Environment",
    "Float",
    "Kind",
    "b_type",
    "boot_program",
    "custom",
    "i_type",
    "j_type",
    "r_type",
    "s_type",
    "u_type",
]

#: First byte of the boot program. It lies behind the programs' cache lines, so that short programs share no line with it.
BOOT = 0x4000_0F80
#: Words of the boot program's memory.
BOOT_WORDS = 32
#: First byte of the shared buffer. Bit 31 makes an access bypass the core's data cache.
WINDOW = 0x8000_0000
#: Opcode of the operations of the custom-function unit.
CUSTOM = 0x0B
#: Control register whose highest bit switches the custom-function unit on.
_CFU_SWITCH = 0xBC0
_TRAP_VECTOR = 0x305


class Kind(IntEnum):
    """Kinds of custom operations: the field ``funct3`` of the instruction."""

    FLOAT = 0
    ENVIRONMENT = 1
    READ = 2
    TAKE = 3
    MOVE = 4
    WRITE = 5


class Float(IntEnum):
    """Operations on FP32 numbers: the field ``funct7`` of kind FLOAT. They round as the units of :mod:`gen.arith`."""

    MULTIPLY = 0
    ADD = 1
    MULTIPLY_ADD = 2
    RECIPROCAL = 3
    RECIPROCAL_SQUARE_ROOT = 4
    TO_BF16 = 5
    MAXIMUM = 6
    SET_ADDEND = 7


class Environment(IntEnum):
    """Operations between a core and its host: the field ``funct7`` of kind ENVIRONMENT."""

    START = 0
    DESTINATION = 1
    SOURCE = 2
    OPSIZE = 3
    CORE = 4
    CORES = 5
    DONE = 6


# Formats --------------------------------------------------------------------------------------------------------------


def r_type(opcode: int, funct3: int, funct7: int, rd: int, rs1: int, rs2: int) -> int:
    return funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode


def i_type(opcode: int, funct3: int, rd: int, rs1: int, immediate: int) -> int:
    return (immediate & 0xFFF) << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode


def s_type(opcode: int, funct3: int, rs1: int, rs2: int, immediate: int) -> int:
    value = immediate & 0xFFF
    return (value >> 5) << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | (value & 31) << 7 | opcode


def b_type(opcode: int, funct3: int, rs1: int, rs2: int, offset: int) -> int:
    value = offset & 0x1FFF
    return (
        value >> 12 << 31
        | (value >> 5 & 63) << 25
        | rs2 << 20
        | rs1 << 15
        | funct3 << 12
        | (value >> 1 & 15) << 8
        | (value >> 11 & 1) << 7
        | opcode
    )


def u_type(opcode: int, rd: int, value: int) -> int:
    return (value & 0xFFFFF000) | rd << 7 | opcode


def j_type(opcode: int, rd: int, offset: int) -> int:
    value = offset & 0x1FFFFF
    return (
        value >> 20 << 31
        | (value >> 1 & 0x3FF) << 21
        | (value >> 11 & 1) << 20
        | (value >> 12 & 0xFF) << 12
        | rd << 7
        | opcode
    )


def custom(kind: Kind, function: int = 0, rd: int = 0, rs1: int = 0, rs2: int = 0) -> int:
    """An operation of the custom-function unit."""
    return r_type(CUSTOM, kind, function, rd, rs1, rs2)


def boot_program(memory_bytes: int) -> list[int]:
    """Words from :data:`BOOT` on, where a core begins after reset.

    It switches the custom-function unit on, and waits for a start. It calls the program with the stack at the end of the
    memory, and with destination, source, opsize, core and cores in a0 to a4. When the program returns, it reports the
    end with status 0. A trap reports the end with status 1.
    """
    ra, sp, t0 = 1, 2, 5
    environment = [Environment.DESTINATION, Environment.SOURCE, Environment.OPSIZE, Environment.CORE, Environment.CORES]
    head = [u_type(0x37, t0, WINDOW), i_type(0x73, 1, 0, t0, _CFU_SWITCH), u_type(0x17, t0, 0)]
    loop = [
        custom(Kind.ENVIRONMENT, Environment.START, t0),
        u_type(0x37, sp, memory_bytes),
        *(custom(Kind.ENVIRONMENT, name, 10 + n) for n, name in enumerate(environment)),
        i_type(0x67, 0, ra, t0, 0),
        custom(Kind.ENVIRONMENT, Environment.DONE),
    ]
    # From the third word, which takes its own address, to the handler: two more words, the loop, and its jump.
    head += [i_type(0x13, 0, t0, t0, 4 * (3 + len(loop) + 1)), i_type(0x73, 1, 0, t0, _TRAP_VECTOR)]
    loop.append(j_type(0x6F, 0, -4 * len(loop)))
    handler = [
        i_type(0x13, 0, t0, 0, 1),
        custom(Kind.ENVIRONMENT, Environment.DONE, 0, t0),
        j_type(0x6F, 0, -4 * (len(loop) + 2)),
    ]
    return [*head, *loop, *handler]
