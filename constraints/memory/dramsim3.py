"""Configuration files of DRAMsim3 as memory files: organisation, timing and currents of DDR3, DDR4, LPDDR and HBM devices.

The keys come from DRAMsim3 (University of Maryland). Its constraints between commands are JEDEC's. This module states them
with the names of :mod:`.memory`, so :mod:`.physics` judges them as in any file. A key that is missing has no default here.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from ..core.document import read_text
from ..core.errors import ConfigError, nearest
from .jedec import Device, file_name, memory_document
from .layers import Places

__all__ = ["read_ini"]

#: For digests of sources (:data:`bankside.provenance.sources.PLUMBING`): a digest has the memory's content itself.
DECIDES_NO_RESULT = True

#: Protocols, and whether a column is twice as wide as the device (HBM prefetches two beats).
PROTOCOLS = {"DDR3": 1, "DDR4": 1, "LPDDR": 1, "LPDDR3": 1, "LPDDR4": 1, "HBM": 2, "HBM2": 2}

#: Keys by section that decide the memory.
USED = {
    "dram_structure": ("protocol", "bankgroups", "banks_per_group", "rows", "columns", "device_width", "BL"),
    "timing": (
        *("tCK", "AL", "CL", "CWL", "tRCD", "tRCDRD", "tRCDWR", "tRP", "tRAS", "tRFC", "tREFI", "tRRD_S", "tRRD_L"),
        *("tWTR_S", "tWTR_L", "tFAW", "tWR", "tRTP", "tRTP_L", "tCCD_S", "tCCD_L", "tRTRS", "tPPD"),
    ),
    "power": ("VDD", "IDD0", "IDD2N", "IDD3N", "IDD4W", "IDD4R", "IDD5AB"),
    "system": ("channel_size", "channels", "bus_width"),
}

#: Keys that are known and decide nothing here: controllers, power-down, per-bank refresh, output, heat.
IGNORED = {
    "dram_structure": ("num_dies", "hbm_dual_cmd"),
    "timing": (
        *("tRFC2", "tRFC4", "tRFCb", "tREFIb", "tRPRE", "tWPRE", "tWR2", "tCKE", "tCKESR", "tCKSRE", "tXS", "tXP"),
        *("tRTP_S", "t32AW", "ideal_memory_latency", "tRRD", "tWTR", "tRREFD"),
    ),
    "power": ("IPP0", "IDD1", "IDD2P", "IDD3P", "IDD5PB", "IDD6x"),
    "system": (
        *("address_mapping", "queue_structure", "refresh_policy", "row_buf_policy"),
        *("cmd_queue_size", "trans_queue_size"),
        *("unified_queue", "write_buf_size", "enable_self_refresh", "sref_threshold", "mega_tick"),
        "aggressive_precharging_enabled",
    ),
    "other": ("epoch_period", "output_level", "output_prefix"),
    "thermal": None,
    "hmc": None,
}


class _Ini:
    """Values of a file by section and key, each with its line."""

    def __init__(self, path: Path) -> None:
        self.where = os.fspath(path)
        self.values: dict[tuple[str, str], tuple[str, int]] = {}
        self.sections: dict[str, int] = {}
        section = ""
        for number, line in enumerate(read_text(path, "a memory file").splitlines(), 1):
            text = re.split(r"[#;]", line, maxsplit=1)[0].strip()
            if not text:
                continue
            if text.startswith("["):
                section = text.strip("[] ")
                self.sections[section] = number
                continue
            key, equals, value = (part.strip() for part in text.partition("="))
            if not equals or not section:
                raise self.fail("must be [SECTION] or KEY = VALUE in a section", number)
            if (section, key) in self.values:
                raise self.fail(f"{key} appears twice", number)
            self.values[section, key] = value, number

    def judge(self) -> None:
        """Refuse sections and keys of other names."""
        for section, line in self.sections.items():
            self.known("section", section, {*USED, *IGNORED}, line)
        for (section, key), (_, line) in self.values.items():
            ignored = IGNORED.get(section, ())
            if ignored is not None:
                self.known(f"key of [{section}]", key, {*USED.get(section, ()), *ignored}, line)

    def fail(self, message: str, line: int) -> ConfigError:
        return ConfigError(f"{self.where}:{line}: {message}")

    def known(self, what: str, name: str, valid: set[str], line: int) -> None:
        if name not in valid:
            raise self.fail(nearest(what, name, sorted(valid)), line)

    def text(self, section: str, *keys: str) -> tuple[str, int]:
        """Value and line of the first of these keys that is there."""
        for key in keys:
            if (section, key) in self.values:
                return self.values[section, key]
        raise ConfigError(f"{self.where}: [{section}] has no {' or '.join(keys)}, without which the memory is unknown")

    def number(self, section: str, *keys: str, whole: bool = True) -> Any:
        text, line = self.text(section, *keys)
        try:
            value = int(text) if whole else float(text)
        except ValueError:
            raise self.fail(f"{keys[0]} must be a {'whole ' * whole}number, not '{text}'", line) from None
        if value <= 0 and keys != ("AL",):
            raise self.fail(f"{keys[0]} must be positive, not {text}", line)
        return value

    def has(self, section: str, key: str) -> bool:
        return (section, key) in self.values


def read_ini(path: Path) -> tuple[dict[str, Any], Places]:
    """The memory file that a configuration file of DRAMsim3 stands for, and the line of each of its timings.

    Raises
    ------
    :exc:`ConfigError`
        For an unknown key, a missing key, or a protocol whose bursts or constraints are others (GDDR5, HMC).
    """
    ini = _Ini(path)
    protocol, line = ini.text("dram_structure", "protocol")
    if protocol not in PROTOCOLS:
        raise ini.fail(nearest("protocol", protocol, list(PROTOCOLS)), line)
    ini.judge()

    def structure(key: str) -> int:
        return int(ini.number("dram_structure", key))

    def timing(*keys: str) -> int:
        return int(ini.number("timing", *keys))

    burst, width = structure("BL"), structure("device_width")
    bus = int(ini.number("system", "bus_width"))
    if bus % width or burst % 2:
        raise ini.fail(f"bus_width {bus} must be a multiple of device_width {width}, and BL {burst} even", 1)
    devices, columns = bus // width, structure("columns") * PROTOCOLS[protocol]
    rows, groups, banks = (structure(key) for key in ("rows", "bankgroups", "banks_per_group"))
    rank_mib = rows * columns * width // 8 * groups * banks * devices >> 20
    size_mib, at = int(ini.number("system", "channel_size")), ini.text("system", "channel_size")[1]
    if not rank_mib or size_mib % rank_mib or columns % burst:
        raise ini.fail(
            f"channel_size {size_mib} must be a multiple of a rank's {rank_mib} MiB, and columns a multiple of BL {burst}",
            at,
        )
    ranks = size_mib // rank_mib
    source = f"{Path(ini.where).name}, a configuration of DRAMsim3"
    early = int(ini.number("timing", "AL")) if ini.has("timing", "AL") else 0  # columns issue that long before tRCD
    near = "_L" if groups > 1 else "_S"  # one bank group has no longer spacing
    names = {
        "nBL": burst // 2,
        "nCL": timing("CL") + early,
        "nCWL": timing("CWL") + early,
        "nRCDRD": timing("tRCDRD", "tRCD") - early,
        "nRCDWR": timing("tRCDWR", "tRCD") - early,
        "nRP": timing("tRP"),
        "nRAS": timing("tRAS"),
        "nRC": "nRAS + nRP",
        "nWR": timing("tWR"),
        "nRTP": timing("tRTP", "tRTP_L") + early,
        "nCCDS": timing("tCCD_S"),
        "nCCDL": timing(f"tCCD{near}"),
        "nWTRS": timing("tWTR_S"),
        "nWTRL": timing(f"tWTR{near}"),
        "nRRDS": timing("tRRD_S"),
        "nRRDL": timing(f"tRRD{near}"),
        "nFAW": timing("tFAW"),
        "nRFC": timing("tRFC"),
        "nREFI": timing("tREFI"),
        # One rank has no other to wait for: DRAMsim3 turns its bus in 2 cycles then.
        "nCS": timing("tRTRS") if ranks > 1 or ini.has("timing", "tRTRS") else 2,
    }
    if ini.has("timing", "tPPD"):  # LPDDR4: from precharge to precharge
        names["nPPD"] = timing("tPPD")
    lines = {"nRCDRD": ("tRCDRD", "tRCD"), "nRCDWR": ("tRCDWR", "tRCD"), "nRTP": ("tRTP", "tRTP_L"), "nCS": ("tRTRS",)}
    places: Places = {(): (ini.where, 1)}
    for name in names:
        keys = lines.get(
            name, (name.replace("n", "t", 1), name[1:], re.sub(r"([SL])$", r"_\1", name.replace("n", "t", 1)))
        )
        found = [ini.values["timing", key][1] for key in keys if ini.has("timing", key)]
        places["parameters", 0, "values", name] = (ini.where, found[0] if found else 1)
    period_ns = float(ini.number("timing", "tCK", whole=False))
    device = Device(
        name=file_name(path),
        source=source,
        period_ps=period_ns * 1000,
        channels=int(ini.number("system", "channels")),
        ranks=ranks,
        groups=groups,
        banks=banks,
        rows=rows,
        columns=columns // burst,
        column_bytes=bus * burst // 8,
        dual_issue=protocol.startswith("HBM"),
    )
    return memory_document(device, names, _energy(ini, names, period_ns, devices)), places


def _energy(ini: _Ini, names: dict[str, Any], period_ns: float, devices: int) -> dict[str, float]:
    """Energies of a rank beyond standby, in pJ, from currents in mA; empty if a current is missing."""
    if not all(ini.has("power", key) for key in USED["power"]):
        return {}
    volts, idd0, idd2n, idd3n, idd4w, idd4r, idd5 = (ini.number("power", key, whole=False) for key in USED["power"])
    row = idd0 * (names["nRAS"] + names["nRP"]) - idd3n * names["nRAS"] - idd2n * names["nRP"]
    cycles = {
        "row_pj": row,
        "read_pj": (idd4r - idd3n) * names["nBL"],
        "write_pj": (idd4w - idd3n) * names["nBL"],
        "refresh_pj": (idd5 - idd3n) * names["nRFC"],
    }
    return {name: round(max(value, 0.0) * volts * period_ns * devices, 3) for name, value in cycles.items()}
