"""``bankside doctor``: check the required tools, and show the commands that install missing ones."""

from __future__ import annotations

import argparse

from ..options import emit, json_argument

__all__ = ["fill", "run"]


def fill(parser: argparse.ArgumentParser) -> None:
    json_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    from ..cache import contents
    from ..doctor import examine

    checks = examine()
    missing = [c for c in checks if c.required and not c.found]
    kept = contents()
    if arguments.json:
        emit(
            arguments,
            {
                "schema": 1,
                "ok": not missing,
                "checks": [c.as_dict() for c in checks],
                "cache": {"folder": kept["folder"], "size_bytes": kept["size_bytes"]},
            },
        )
    else:
        for check in checks:
            state = "ok     " if check.found else "MISSING" if check.required else "absent "
            print(f"{state}  {check.name:<14} {check.found or '':<28} {check.purpose}")
            if not check.found:
                print(f"         {'':<14} fix: {check.fix}")
        print(f"cache    {kept['size_bytes'] / 2**20:.0f} MiB in {kept['folder']} (bankside cache)")
        print("everything that Bankside needs is installed" if not missing else f"{len(missing)} missing")
    return 3 if missing else 0
