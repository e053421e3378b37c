"""Memory files of JEDEC's devices with ranks, bank groups and banks, from an organisation and timings in cycles.

Readers of other simulators' files end here, so that all of them state the same constraints between commands.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Device", "file_name", "memory_document"]

#: For digests of sources (:data:`bankside.provenance.sources.PLUMBING`): a digest has the memory's content itself.
DECIDES_NO_RESULT = True


@dataclass(frozen=True)
class Device:
    """Organisation of a channel.

    Attributes
    ----------
    source : text that says where the figures are from
    period_ps : memory clock
    columns : accesses in a row of a rank
    column_bytes : bytes of an access of a rank
    dual_issue : whether a row and a column command share a cycle
    """

    name: str
    source: str
    period_ps: float
    channels: int
    ranks: int
    groups: int
    banks: int
    rows: int
    columns: int
    column_bytes: int
    dual_issue: bool = False


def file_name(path: Path) -> str:
    """Name of the memory in a file: lower case, as shipped names are."""
    return re.sub(r"[^a-z0-9.-]", "-", path.stem.lower()).lstrip("-.") or "memory"


def memory_document(device: Device, timings: dict[str, Any], energy: dict[str, float]) -> dict[str, Any]:
    """All keys of a memory file.

    Parameters
    ----------
    timings : cycles, or expressions, with the names that shipped files use: ``nBL``, ``nCL``, ``nRCDRD``, ...;
        ``nPPD`` only of devices that have it
    energy : pJ of ``row``, ``read``, ``write`` and ``refresh`` in a rank, named ``row_pj``, ...; empty if unknown
    """
    source, column_bytes = device.source, device.column_bytes
    access = {
        "scope": "bank",
        "kind": "column",
        "row": "needs",
        "activate": "ACT",
        "precharge": "PRE",
        "bank_bytes": column_bytes,
        "bus_bytes": column_bytes,
        "operands": ["column"],
    }
    latency = {"RD": "nCL + nBL", "WR": "nCWL + nBL"}

    def charged(name: str) -> dict[str, Any]:
        return {"energy": {name: f"{name}_pj"}} if energy else {}

    def rule(level: str, before: list[str], behind: list[str], cycles: str, **more: Any) -> dict[str, Any]:
        return {"level": level, "from": before, "to": behind, "cycles": cycles, "source": source, **more}

    reads, writes, closes, accesses = ["RD", "RDA"], ["WR", "WRA"], ["PRE", "PREA"], ["RD", "RDA", "WR", "WRA"]
    apart = {"between": "different"}
    document: dict[str, Any] = {
        "name": device.name,
        "source": source,
        "clock": {"period_ps": device.period_ps, "source": source},
        "organisation": {
            "channels": device.channels,
            "levels": {"rank": device.ranks, "bank_group": device.groups, "bank": device.banks},
            "rows": device.rows,
            "columns": device.columns,
            "column_bytes": column_bytes,
            "bank_cycles": "nCCDL",
            "bus": "channel",
            "bus_bytes": column_bytes,
            "bus_cycles": "nBL",
            "source": source,
        },
        "dual_issue": device.dual_issue,
        "parameters": [{"source": source, "values": timings}],
        "scopes": {"bank": ["rank", "bank_group", "bank"], "rank": ["rank"]},
        "commands": {
            "ACT": {"scope": "bank", "kind": "row", "row": "opens", "precharge": "PRE", **charged("row")},
            "PRE": {"scope": "bank", "kind": "row", "row": "closes"},
            "PREA": {"scope": "rank", "kind": "row", "row": "closes"},
            "REFAB": {
                "scope": "rank",
                "kind": "row",
                "row": "closed",
                "precharge": "PREA",
                "latency": "nRFC",
                **charged("refresh"),
            },
            **{
                name: {
                    **access,
                    "latency": latency[name[:2]],
                    "auto_precharge": name.endswith("A"),
                    **charged("read" if name.startswith("RD") else "write"),
                }
                for name in accesses
            },
        },
        "constraints": [
            rule("channel", reads, reads, "nBL"),
            rule("channel", writes, writes, "nBL"),
            rule("rank", reads, reads, "nBL + nCS", **apart),
            rule("rank", reads, writes, "nCL + nBL + nCS - nCWL", **apart),
            rule("rank", writes, reads, "max(nCWL + nBL + nCS - nCL, 1)", **apart),
            rule("rank", reads, reads, "nCCDS"),
            rule("rank", writes, writes, "nCCDS"),
            rule("bank_group", reads, reads, "nCCDL"),
            rule("bank_group", writes, writes, "nCCDL"),
            rule("rank", reads, writes, "nCL + nBL + nCS - nCWL"),
            rule("rank", writes, reads, "nCWL + nBL + nWTRS"),
            rule("bank_group", writes, reads, "nCWL + nBL + nWTRL"),
            rule("rank", ["ACT"], ["ACT"], "nRRDS"),
            rule("bank_group", ["ACT"], ["ACT"], "nRRDL"),
            rule("rank", ["ACT"], ["ACT"], "nFAW", window=4),
            rule("bank", ["ACT"], ["ACT"], "nRC"),
            rule("bank", ["ACT"], reads, "nRCDRD"),
            rule("bank", ["ACT"], writes, "nRCDWR"),
            rule("bank", ["ACT"], closes, "nRAS"),
            rule("bank", closes, ["ACT"], "nRP"),
            rule("bank", ["RD"], closes, "nRTP"),
            rule("bank", ["WR"], closes, "nCWL + nBL + nWR"),
            rule("bank", ["RDA"], ["ACT", *closes], "nRTP + nRP"),
            rule("bank", ["WRA"], ["ACT", *closes], "nCWL + nBL + nWR + nRP"),
            rule("rank", ["ACT"], ["REFAB"], "nRC"),
            rule("rank", closes, ["REFAB"], "nRP"),
            rule("rank", ["RDA"], ["REFAB"], "nRTP + nRP"),
            rule("rank", ["WRA"], ["REFAB"], "nCWL + nBL + nWR + nRP"),
            rule("rank", ["REFAB"], ["ACT", "REFAB"], "nRFC"),
            *([rule("rank", closes, closes, "nPPD")] if "nPPD" in timings else []),
        ],
        "refresh": {"command": "REFAB", "interval": "nREFI", "source": source},
    }
    if energy:
        document["energy"] = {"source": f"{source}: currents beyond standby", "values": energy}
    return document
