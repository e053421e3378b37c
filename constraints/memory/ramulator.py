"""Configurations of Ramulator 2 as memory files: a preset that a shipped file has, or a DDR4 device with all of its figures.

Ramulator's presets are tables in its program, so a file that names one has no figures. A shipped file stands for some of them.
Figures beside a preset replace it, as in Ramulator. Front end, controller and address mapper decide nothing about the memory.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..core.document import Lines, parse, read_text
from ..core.errors import ConfigError, nearest
from .jedec import Device, file_name, memory_document

__all__ = ["converted", "is_ramulator"]

#: For digests of sources (:data:`bankside.provenance.sources.PLUMBING`): a digest has the memory's content itself.
DECIDES_NO_RESULT = True

#: Presets of organisation and timing by device, and the shipped file that has their figures.
PRESETS: dict[tuple[str, str, str], str] = {
    ("DDR4", "DDR4_8Gb_x8", "DDR4_3200AC"): "ddr4-3200-jedec",
    ("DDR4", "DDR4_8Gb_x16", "DDR4_3200AC"): "ddr4-3200-jedec-x16",
    ("GDDR6", "GDDR6_16Gb_x16", "GDDR6_2000_1350mV_quad"): "gddr6-2000",
}

#: Levels with their names here.
LEVELS = {"rank": "rank", "bankgroup": "bank_group", "bank": "bank"}

#: Timings of a DDR4 device in cycles.
TIMINGS = (
    *("nBL", "nCL", "nRCD", "nRP", "nRAS", "nRC", "nWR", "nRTP", "nCWL", "nCCDS", "nCCDL", "nRRDS", "nRRDL"),
    *("nWTRS", "nWTRL", "nFAW", "nRFC", "nREFI", "nCS"),
)

#: Words of a burst in DDR4.
PREFETCH = 8

#: Keys of the memory system and of its device. Only ``DRAM``, and its ``impl``, ``org`` and ``timing``, say what the memory is.
SYSTEM = ("impl", "clock_ratio", "DRAM", "Controller", "AddrMapper")
DEVICE = ("impl", "org", "timing", "drampower_enable", "voltage", "current")


def is_ramulator(document: Any) -> bool:
    """Whether a YAML document is a configuration of Ramulator 2."""
    return isinstance(document, dict) and "MemorySystem" in document


def converted(document: dict[str, Any], lines: Lines, path: Path, folder: Path) -> tuple[dict[str, Any], Lines]:
    """The memory file that a configuration stands for, often ``based_on`` a file in ``folder``, and the lines of its values.

    Raises
    ------
    :exc:`ConfigError`
        For an unknown key, a preset that no shipped file has, or figures that are missing.
    """
    return _Reader(document, lines, path, folder).read()


class _Reader:
    def __init__(self, document: dict[str, Any], lines: Lines, path: Path, folder: Path) -> None:
        self.document, self.lines, self.path, self.folder, self.where = document, lines, path, folder, os.fspath(path)

    def fail(self, message: str, *at: Any) -> ConfigError:
        while at and at not in self.lines:
            at = at[:-1]
        return ConfigError(f"{self.where}:{self.lines.get(at, 1)}: {message}")

    def section(self, *at: str) -> dict[str, Any]:
        value: Any = self.document
        for key in at:
            value = value.get(key) if isinstance(value, dict) else None
        if not isinstance(value, dict):
            raise self.fail(f"{'.'.join(at)} must be a section, without which the memory is unknown", *at)
        return value

    def known(self, what: str, given: dict[str, Any], valid: tuple[str, ...], *at: str) -> None:
        for key in given:
            if key not in valid:
                raise self.fail(nearest(what, str(key), valid), *at, key)

    def whole(self, value: Any, *at: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise self.fail(f"{at[-1]} must be a positive whole number, not {value!r}", *at)
        return value

    def read(self) -> tuple[dict[str, Any], Lines]:
        above = ("MemorySystem", "DRAM")
        self.known("section", self.document, ("Frontend", "MemorySystem"))
        self.known("key of MemorySystem", self.section("MemorySystem"), SYSTEM, "MemorySystem")
        dram = self.section(*above)
        self.known("key of DRAM", dram, DEVICE, *above)
        org, timing = self.section(*above, "org"), self.section(*above, "timing")
        levels = ("channel", *LEVELS)
        self.known(
            "key of org", org, ("preset", *levels, "row", "column", "dq", "channel_width", "density"), *above, "org"
        )
        device = dram.get("impl")
        own = (str(device), str(org.get("preset")), str(timing.get("preset")))
        if "preset" not in org and "preset" not in timing:
            return self.given(str(device), org, timing)
        if own not in PRESETS:
            valid = "; ".join(f"{name}: {one} with {two}" for name, one, two in PRESETS)
            missing = [key for key, table in (("org", org), ("timing", timing)) if "preset" not in table]
            names = " with ".join(str(table["preset"]) for table in (org, timing) if "preset" in table)
            reason = f"; {missing[0]} has no preset" if missing else ""
            raise self.fail(
                f"no shipped memory has the presets {names} of {device}{reason} (valid: {valid}); or state all "
                "figures of org and timing without a preset (DDR4)",
                *above,
                "timing" if "preset" in timing else "org",
                "preset",
            )
        return self.based(PRESETS[own], org, timing)

    def based(self, name: str, org: dict[str, Any], timing: dict[str, Any]) -> tuple[dict[str, Any], Lines]:
        """A file based on a shipped one. A preset has one channel of one rank, unless the file says otherwise."""
        above = ("MemorySystem", "DRAM")
        for key in org:
            if key not in ("preset", "channel", "rank"):
                raise self.fail(
                    f"{key} beside a preset would be another device (valid: channel, rank)", *above, "org", key
                )
        source = f"{self.path.name}, a configuration of Ramulator 2"
        organisation: dict[str, Any] = {
            "channels": self.whole(org.get("channel", 1), *above, "org", "channel"),
            "source": source,
        }
        rank = self.whole(org.get("rank", 1), *above, "org", "rank")
        file = self.folder / f"{name}.yaml"
        below = parse(read_text(file, "a memory file"), str(file))[0]["organisation"]["levels"]
        if "rank" in below:
            organisation["levels"] = {**below, "rank": rank}
        elif rank > 1:
            raise self.fail(f"{name} has no ranks", *above, "org", "rank")
        made: dict[str, Any] = {
            "name": file_name(self.path),
            "source": source,
            "based_on": name,
            "organisation": organisation,
        }
        lines: Lines = {(): 1}
        values = {key: self.whole(value, *above, "timing", key) for key, value in timing.items() if key != "preset"}
        if values:
            made["parameters"] = [{"source": source, "values": values}]
            for key in values:
                lines["parameters", 0, "values", key] = self.lines.get((*above, "timing", key), 1)
        return made, lines

    def given(self, device: str, org: dict[str, Any], timing: dict[str, Any]) -> tuple[dict[str, Any], Lines]:
        """A DDR4 device from its own figures alone. A file has no currents, so the memory has no energy."""
        above = ("MemorySystem", "DRAM")
        if device != "DDR4":
            raise self.fail(f"figures without a preset are known of DDR4, not of {device}", *above, "impl")
        self.known("timing", timing, ("rate", "tCK_ps", *TIMINGS), *above, "timing")
        for section, table, needed in (
            ("org", org, ("dq", "channel", *LEVELS, "row", "column")),
            ("timing", timing, TIMINGS),
        ):
            missing = [key for key in needed if key not in table]
            if missing:
                raise self.fail(
                    f"{section} has no {', '.join(missing)}, without which the memory is unknown", *above, section
                )
        if ("rate" in timing) == ("tCK_ps" in timing):
            raise self.fail("timing must have rate (MT/s) or tCK_ps, and not both", *above, "timing")
        number = {key: self.whole(value, *above, "org", key) for key, value in org.items()}
        cycles = {key: self.whole(value, *above, "timing", key) for key, value in timing.items()}
        bus = number.get("channel_width", 64)
        if bus % number["dq"] or number["column"] % PREFETCH:
            raise self.fail(
                f"channel_width {bus} must be a multiple of dq {number['dq']}, and column a multiple of {PREFETCH}",
                *above,
                "org",
            )
        made = memory_document(
            Device(
                name=file_name(self.path),
                source=f"{self.path.name}, a configuration of Ramulator 2",
                period_ps=float(cycles["tCK_ps"] if "tCK_ps" in cycles else 2_000_000 // cycles["rate"]),
                channels=number["channel"],
                ranks=number["rank"],
                groups=number["bankgroup"],
                banks=number["bank"],
                rows=number["row"],
                columns=number["column"] // PREFETCH,
                column_bytes=bus * PREFETCH // 8,
            ),
            {key: cycles[key] for key in TIMINGS if key != "nRCD"}
            | {"nRCDRD": cycles["nRCD"], "nRCDWR": cycles["nRCD"]},
            {},
        )
        lines: Lines = {(): 1}
        for name in made["parameters"][0]["values"]:
            key = "nRCD" if name.startswith("nRCD") else name
            lines["parameters", 0, "values", name] = self.lines.get((*above, "timing", key), 1)
        return made, lines
