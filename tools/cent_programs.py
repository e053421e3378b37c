"""Compile C programs for the unit cent-riscv to an image, with the C compiler of the package ziglang.

    pip install ziglang==0.17.1
    python tools/cent_programs.py
    python tools/cent_programs.py --elements 4 -o constraints/cent/programs/programs-4.json
    python tools/cent_programs.py mine.c -o mine.json

The first command compiles programs.c of constraints/cent_programs to programs.json there. The second one is for slots of
four elements.

Every function of the file is a program, every volatile variable a parameter. Sources include ``cent.h``.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "constraints" / "cent_programs"
#: Version whose output the repository holds. Another version may write other words.
ZIG = "0.17.1"
OPTIONS = [
    "-target",
    "riscv32-freestanding-none",
    "-mcpu=generic_rv32+m",
    "-O2",
    "-fomit-frame-pointer",
    "-ffreestanding",
    "-nostdlib",
    "-fno-sanitize=all",
    "-fno-stack-protector",
    "-falign-functions=32",
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-Wall",
    "-Werror",
    "-I",
    str(FOLDER),
]
#: Bytes of a line of the core's caches.
LINE = 32
#: Code first, then constants and variables; all in one piece from address 0.
LINKER = """SECTIONS {
  . = 0;
  .text : { KEEP(*(.text .text.*)) }
  .data : ALIGN(32) { KEEP(*(.rodata .rodata.* .srodata .srodata.* .data .data.* .sdata .sdata.*))
                      KEEP(*(.bss .bss.* .sbss .sbss.*)) }
  /DISCARD/ : { *(.comment .note.* .riscv.attributes .eh_frame*) }
}
"""


def compiled(source: Path, elements: int = 16) -> bytes:
    """The linked ELF file for slots of ``elements`` elements; exits with one line if the compiler is
    missing or refuses the source."""
    if importlib.util.find_spec("ziglang") is None:
        sys.exit(f"error: compiling needs the C compiler of ziglang: pip install ziglang=={ZIG}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "link.ld").write_text(LINKER)
        zig = [sys.executable, "-m", "ziglang", "cc", *OPTIONS]
        for command in (
            [*zig, f"-DELEMENTS={elements}", "-c", str(source), "-o", str(folder / "program.o")],
            [
                *zig,
                "-Wl,-T," + str(folder / "link.ld"),
                "-Wl,-e,0",
                str(folder / "program.o"),
                "-o",
                str(folder / "program.elf"),
            ],
        ):
            done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
            if done.returncode:
                lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()[-1:]
                sys.exit(f"error: {source}: {lines[0].strip() if lines else 'the compiler stopped'}")
        return (folder / "program.elf").read_bytes()


def image(elf: bytes) -> dict[str, object]:
    """Words, entries and parameters of a 32-bit ELF file."""
    (sections_at,) = struct.unpack_from("<I", elf, 32)
    size, count, _ = struct.unpack_from("<HHH", elf, 46)
    sections = [struct.unpack_from("<10I", elf, sections_at + n * size) for n in range(count)]
    memory = bytearray()
    for _, kind, flags, address, offset, length, *_ in sections:
        if flags & 2 and length:  # it is loaded
            memory.extend(bytes(max(0, address + length - len(memory))))
            if kind != 8:  # 8: all zeros
                memory[address : address + length] = elf[offset : offset + length]
    memory.extend(bytes(-len(memory) % LINE + 2 * LINE))  # the core fetches ahead: what it finds there is defined
    entries: dict[str, int] = {}
    parameters: dict[str, int] = {}
    for _, kind, _, _, offset, length, link, *_ in sections:
        if kind != 2:  # 2: symbols
            continue
        strings = sections[link][4]
        for at in range(offset, offset + length, 16):
            text, value, _, info, _, index = struct.unpack_from("<IIIBBH", elf, at)
            name = elf[strings + text : elf.index(b"\0", strings + text)].decode()
            if info >> 4 == 1 and index and info & 15 in (1, 2):  # global, defined; 1: variable, 2: function
                (entries if info & 15 == 2 else parameters)[name] = value
    return {
        "compiler": f"ziglang {ZIG}",
        "entries": dict(sorted(entries.items())),
        "parameters": dict(sorted(parameters.items())),
        "words": [f"{word:08x}" for word in struct.unpack(f"<{len(memory) // 4}I", memory)],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", nargs="?", type=Path, default=FOLDER / "programs.c", help="C file")
    parser.add_argument("-o", "--output", type=Path, default=None, help="image; default: the source's name, .json")
    parser.add_argument("--elements", type=int, default=16, help="elements of a slot (default: 16)")
    options = parser.parse_args()
    if not options.source.is_file():
        sys.exit(f"error: {options.source}: no such file")
    text = json.dumps(image(compiled(options.source.resolve(), options.elements)), indent=1)
    text = re.sub(r'\n  "(\w{8})"(?=,?\n)', r' "\1"', text)
    text = re.sub(r'((?: "\w{8}",){8})', r"\1\n ", text)
    (options.output or options.source.with_suffix(".json")).write_text(text + "\n")


if __name__ == "__main__":
    main()
