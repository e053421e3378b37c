"""Files for tools that put a unit with AXI buses into an FPGA: a FuseSoC core, and a kernel for Vivado and XRT.

A unit has these files if its contract has a memory port ``m_axi`` and registers at ``s_axi``. None of these tools was at
hand: the tests read the files, and lint the kernel's Verilog.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from bankside.constraints.core.axi import Register

from ..provenance.version import version as installed_version
from .selection import Selection

__all__ = ["fpga_files"]

#: Buses of a unit that can be a kernel.
MEMORY, REGISTERS = "m_axi", "s_axi"

#: The FPGA of a SmartSSD.
PART = "xcku15p-ffve1760-2-e"


def fpga_files(selection: Selection, module: str) -> dict[str, str]:
    """Files of a unit by name; none if the unit has no AXI buses."""
    ports = selection.config.ports()
    names = {port.name for port in ports}
    registers: Sequence[Register] = getattr(selection.config, "registers", ())
    if not registers or not {f"{MEMORY}_araddr", f"{REGISTERS}_awaddr"} <= names:
        return {}
    return {
        f"{module}.core": _core(selection, module),
        f"{module}_kernel.v": _kernel(ports, module),
        f"{module}_kernel.xml": _kernel_xml(selection.config, module, registers),
        f"{module}_kernel.tcl": _script(selection, module, registers),
    }


def _release() -> str:
    """The three numbers of the version; catalogues of IP take no other form."""
    return ".".join((installed_version().split("+")[0].split(".") + ["0", "0"])[:3])


def _core(selection: Selection, module: str) -> str:
    return f"""CAPI=2:
# {selection.unit.name} {selection.label}
name: bankside:{selection.unit.name}:{module}:{_release()}
description: {json.dumps(selection.unit.summary)}
filesets:
  rtl:
    files:
      - {module}.v
    file_type: verilogSource
  kernel:
    files:
      - {module}_kernel.v
    file_type: verilogSource
targets:
  default:
    filesets: [rtl]
  lint:
    default_tool: verilator
    filesets: [rtl]
    tools:
      verilator:
        mode: lint-only
        verilator_options: [-Wno-PROCASSINIT, -Wno-CASEINCOMPLETE, -Wno-WIDTHEXPAND, -Wno-WIDTHTRUNC, -Wno-MULTITOP]
    toplevel: {module}
  kernel:
    default_tool: vivado
    filesets: [rtl, kernel]
    tools:
      vivado:
        part: {PART}
    toplevel: {module}_kernel
"""


def _kernel(ports: Sequence[Any], module: str) -> str:
    """Module with the names that XRT expects of clock, reset and interrupt."""
    heads, pins = ["input wire ap_clk", "input wire ap_rst_n"], [".clk(ap_clk)", ".rst(rst)"]
    for port in ports:
        name = "interrupt" if port.name == "irq" else port.name
        width = f"[{port.layout.bits - 1}:0] " if port.layout.bits > 1 else ""
        heads.append(f"{'input' if port.is_input else 'output'} wire {width}{name}")
        pins.append(f".{port.name}({name})")
    head, pin = ",\n  ".join(heads), ",\n    ".join(pins)
    return f"""// {module} as a kernel of XRT: clock, reset and interrupt have the names that its tools expect.
module {module}_kernel (
  {head}
);
  // The reset reaches the unit a clock later, from a register.
  reg rst = 1'b1;
  always @(posedge ap_clk) rst <= !ap_rst_n;
  {module} unit (
    {pin}
  );
endmodule
"""


def _pointers(config: Any, registers: Sequence[Register]) -> list[Register]:
    """Registers that hold an address of the memory."""
    return [one for one in registers if one.name in config.pointers]


def _kernel_xml(config: Any, module: str, registers: Sequence[Register]) -> str:
    from xml.sax.saxutils import quoteattr  # imports a client of HTTP

    size = 1 << max(one.offset for one in registers).bit_length()
    pointers = {one.name for one in _pointers(config, registers)}
    arguments: list[str] = []
    for one in registers:
        if one.access != "rw":
            continue
        pointer = one.name in pointers
        bytes_ = -(-one.bits // 32) * 4
        arguments.append(
            "      <arg "
            + " ".join(
                f"{name}={quoteattr(str(value))}"
                for name, value in {
                    "name": one.name,
                    "addressQualifier": int(pointer),
                    "id": len(arguments),
                    "port": MEMORY if pointer else REGISTERS,
                    "size": f"{bytes_:#x}",
                    "offset": f"{one.offset:#x}",
                    "hostOffset": "0x0",
                    "hostSize": f"{bytes_:#x}",
                    "type": "void*" if pointer else "uint",
                }.items()
            )
            + "/>"
        )
    listed = "\n".join(arguments)
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<root versionMajor="1" versionMinor="6">
  <kernel name="{module}_kernel" language="ip_c" vlnv="bankside:kernel:{module}_kernel:{_release()}" attributes=""
          preferredWorkGroupSizeMultiple="0" workGroupSize="1" interrupt="true" hwControlProtocol="user_managed">
    <ports>
      <port name="{MEMORY}" mode="master" range="0xFFFFFFFFFFFFFFFF" dataWidth="{8 * config.word_bytes}" \
portType="addressable" base="0x0"/>
      <port name="{REGISTERS}" mode="slave" range="{size:#x}" dataWidth="32" portType="addressable" base="0x0"/>
    </ports>
    <args>
{listed}
    </args>
  </kernel>
</root>
"""


def _script(selection: Selection, module: str, registers: Sequence[Register]) -> str:
    """Script for Vivado: packs the unit as an IP, and as a kernel of XRT."""
    lines = [
        f"# {selection.unit.name} {selection.label}: an IP and a kernel of XRT. Run: vivado -mode batch -source "
        f"{module}_kernel.tcl",
        f"set part {PART}",
        "set here [file dirname [file normalize [info script]]]",
        f"create_project -force {module}_kernel $here/{module}_vivado -part $part",
        f"add_files -norecurse [list $here/{module}.v $here/{module}_kernel.v]",
        f"set_property top {module}_kernel [current_fileset]",
        "update_compile_order -fileset sources_1",
        f"ipx::package_project -root_dir $here/{module}_ip -vendor bankside -library kernel -taxonomy /KernelIP "
        "-import_files -set_current false",
        f"ipx::open_ipxact_file $here/{module}_ip/component.xml",
        "set core [ipx::current_core]",
        f"set_property name {module}_kernel $core",
        f"set_property version {_release().rpartition('.')[0]} $core",
        "set_property sdx_kernel true $core",
        "set_property sdx_kernel_type rtl $core",
        *(f"ipx::associate_bus_interfaces -busif {bus} -clock ap_clk $core" for bus in (MEMORY, REGISTERS)),
        f"set block [ipx::get_address_blocks reg0 -of_objects [ipx::get_memory_maps {REGISTERS} -of_objects $core]]",
    ]
    pointers = _pointers(selection.config, registers)
    for one in registers:
        lines += [
            f"set register [ipx::add_register {one.name} $block]",
            f"set_property address_offset {one.offset:#x} $register",
            f"set_property size {-(-one.bits // 32) * 32} $register",
        ]
        if one in pointers:
            lines += [
                "ipx::add_register_parameter ASSOCIATED_BUSIF $register",
                f"set_property value {MEMORY} [ipx::get_register_parameters ASSOCIATED_BUSIF -of_objects $register]",
            ]
    lines += [
        "ipx::create_xgui_files $core",
        "ipx::update_checksums $core",
        "ipx::save_core $core",
        "close_project",
        f"package_xo -force -xo_path $here/{module}_kernel.xo -kernel_name {module}_kernel -ip_directory "
        f"$here/{module}_ip -kernel_xml $here/{module}_kernel.xml -ctrl_protocol user_managed",
    ]
    return "\n".join(lines) + "\n"
