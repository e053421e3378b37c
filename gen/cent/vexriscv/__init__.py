"""The RISC-V core VexRiscv, RV32IM with caches of 4 KB and a port for a custom-function unit: Verilog by its authors.

Origin: ``pythondata_cpu_vexriscv/verilog/VexRiscv_FullCfu.v`` of the package pythondata-cpu-vexriscv 1.0.1.post407 on
PyPI, written by SpinalHDL 1.7.0a from https://github.com/SpinalHDL/VexRiscv. Licence: MIT, in the file LICENSE beside it.
:data:`SHA256` is the digest of the unchanged file.
"""

from functools import cache
from pathlib import Path

from ...blocks.shared import ForeignVerilog

__all__ = ["SHA256", "vexriscv"]

SHA256 = "04dc3c5c9f906c0f78de6955aaea44f9ba06ec8dff6d6314c4fe141c803cf332"


@cache
def vexriscv():
    """The core's Verilog.

    Its authors leave inputs of the caches open that nothing reads, and write shifts that are wider than their targets.
    """
    text = (Path(__file__).parent / "VexRiscv_FullCfu.v").read_text(encoding="utf-8")
    note = (
        "VexRiscv (VexRiscv_FullCfu.v of pythondata-cpu-vexriscv 1.0.1.post407). MIT License.\n"
        "Copyright (c) 2016 Spinal HDL contributors. The licence's full text is in gen/cent/vexriscv/LICENSE."
    )
    return ForeignVerilog(text, note, waived=("UNDRIVEN", "WIDTHTRUNC"))
