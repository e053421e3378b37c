"""The available cell libraries: the built-in generic library, libraries of installed packages and PDKs, and any Liberty
file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from bankside.constraints.core.errors import ConfigError, ToolMissing, nearest
from bankside.constraints.libraries import generic_liberty

from .liberty import Library, parse, read

__all__ = ["LibrarySummary", "available", "from_file", "get"]

QFLOW = Path("/usr/share/qflow/tech")
_SKY130 = Path("sky130A/libs.ref/sky130_fd_sc_hd/lib/sky130_fd_sc_hd__tt_025C_1v80.lib")
# Isolation, probe and delay cells are AND gates and buffers to a mapper; flip-flops with enable leave nets unbuffered.
_SKY130_DONT_USE = ("*lpflow*", "*probe*", "*dlymetal*", "*clkdly*", "*edf*")


@dataclass(frozen=True)
class LibrarySummary:
    """A library that can be used by name; ``path`` is None for the built-in one."""

    name: str
    title: str
    path: Path | None


_PACKAGED = {
    "osu018": ("OSU 180 nm, typical", QFLOW / "osu018/osu018_stdcells.lib", "qflow-tech-osu018"),
    "osu035": ("OSU 350 nm, typical", QFLOW / "osu035/osu035_stdcells.lib", "qflow-tech-osu035"),
    "osu050": ("OSU 500 nm, typical", QFLOW / "osu050/osu05_stdcells.lib", "qflow-tech-osu050"),
}


def _sky130_path() -> Path | None:
    root = os.environ.get("PDK_ROOT")
    roots = [Path(root)] if root else [Path.home() / ".ciel", Path.home() / ".volare"]
    return next((r / _SKY130 for r in roots if (r / _SKY130).is_file()), None)


def available() -> dict[str, LibrarySummary]:
    """The libraries that :func:`get` can read on this machine, by name."""
    out = {"generic": LibrarySummary("generic", "built in, 45 nm class, from logical effort", None)}
    for name, (title, path, _) in _PACKAGED.items():
        if path.is_file():
            out[name] = LibrarySummary(name, title, path)
    sky130 = _sky130_path()
    if sky130:
        out["sky130hd"] = LibrarySummary("sky130hd", "SkyWater 130 nm high density, typical 25 C 1.8 V", sky130)
    return out


def get(name: str) -> Library:
    """The library ``name``.

    Raises
    ------
    :exc:`ConfigError`
        If there is no library of that name.
    :exc:`ToolMissing`
        If the library is known but not installed.
    """
    if name == "generic":
        return parse(generic_liberty(), "generic")
    found = available()
    if name in found and found[name].path is not None:
        return from_file(found[name].path, _SKY130_DONT_USE if name == "sky130hd" else ())
    if name in _PACKAGED:
        raise ToolMissing(
            f"library '{name}' is not installed: apt install {_PACKAGED[name][2]}, or give a Liberty file"
        )
    if name == "sky130hd":
        raise ToolMissing(f"library 'sky130hd' is not installed: set PDK_ROOT to the folder with {_SKY130}")
    raise ConfigError(nearest("library", name, found) + "; any other is given as a Liberty file")


def from_file(path: str | os.PathLike[str] | None, dont_use: tuple[str, ...] = ()) -> Library:
    """The library in the Liberty file ``path``; raises :exc:`ConfigError` if it is unusable (see ``liberty.read``)."""
    if path is None:
        raise ConfigError("a Liberty file is needed")
    return read(path, dont_use)
