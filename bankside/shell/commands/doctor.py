"""``bankside doctor``: check the required tools, and show the commands that install missing ones."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..options import json_argument, show

if TYPE_CHECKING:
    from ...results.tool import Doctor

__all__ = ["fill", "run"]


def fill(parser: argparse.ArgumentParser) -> None:
    json_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    from ...results.tool import CacheSize, Doctor
    from ..cache import contents
    from ..doctor import examine

    checks = examine()
    missing = [c for c in checks if c.required and not c.found]
    kept = contents()
    size = CacheSize(folder=kept.folder, size_bytes=kept.size_bytes)
    show(arguments, Doctor(ok=not missing, checks=checks, cache=size), _text)
    return 3 if missing else 0


def _text(result: Doctor) -> str:
    lines = []
    for check in result.checks:
        state = "ok     " if check.found else "MISSING" if check.required else "absent "
        lines.append(f"{state}  {check.name:<14} {check.found or '':<28} {check.purpose}")
        if not check.found:
            lines.append(f"         {'':<14} fix: {check.fix}")
    missing = sum(check.required and not check.found for check in result.checks)
    lines.append(f"cache    {result.cache.size_bytes / 2**20:.0f} MiB in {result.cache.folder} (bankside cache)")
    lines.append("everything that Bankside needs is installed" if result.ok else f"{missing} missing")
    return "\n".join(lines)
