"""``bankside writeback``: spill keys and values to a drive with delayed writeback: bytes, writes, speed; check a spill file."""

from __future__ import annotations

import argparse
import functools
import os
from typing import Any

from bankside.constraints.core.errors import ConfigError

from ..options import json_argument, natural, not_negative, positive, show, whole

__all__ = ["fill", "run"]


#: Options of ``writeback`` that describe work; with ``--check`` they are an error.
WRITEBACK: dict[str, dict[str, Any]] = {
    "--requests": {"metavar": "B", "type": positive, "help": "requests that decode together (default: 4)"},
    "--heads": {"metavar": "H", "type": positive, "help": "heads of a request (default: 8)"},
    "--prefill": {
        "metavar": "S",
        "type": natural,
        "help": "tokens that are written before the first step (default: 0)",
    },
    "--tokens": {"metavar": "N", "type": positive, "help": "decode steps (default: 256)"},
    "--head-dim": {"metavar": "D", "type": positive, "help": "head dimension (default: 128)"},
    "--bytes": {"metavar": "B", "type": positive, "help": "bytes of an element: 1, 2 or 4 (default: 2)"},
    "--interval": {
        "metavar": "C",
        "type": positive,
        "help": "tokens that are written together; a write of C rows must be a multiple of the granularity (default: 2)",
    },
    "--granularity": {
        "metavar": "B",
        "type": positive,
        "help": "smallest direct write of the drive in bytes, a power of two (default: 512)",
    },
    "--extent-tokens": {
        "metavar": "N",
        "type": positive,
        "help": "tokens for which an extent has room (default: all of a request)",
    },
    "--slots": {
        "metavar": "N",
        "type": positive,
        "help": "intervals that the host buffer holds for each request and head (default: 2)",
    },
    "--workers": {
        "metavar": "N",
        "type": functools.partial(whole, least=1, most=256),
        "help": "threads that write (default: 4)",
    },
    "--step-ms": {
        "metavar": "T",
        "type": not_negative,
        "help": "least time of a step in ms; the drive writes in that time (default: 0)",
    },
    "--seed": {"metavar": "S", "type": natural, "help": "seed of the rows (default: 1)"},
    "--dir": {"metavar": "DIR", "help": "folder of the file, on the drive to measure (default: out/writeback)"},
    "--sync": {
        "action": "store_true",
        "default": None,
        "help": "hold rows in the host buffer until the drive confirms them, so that they outlive a loss of power",
    },
    "--keep": {"action": "store_true", "default": None, "help": "leave the file writeback.spill in its folder"},
}


def fill(parser: argparse.ArgumentParser) -> None:
    for flag, options in WRITEBACK.items():
        parser.add_argument(flag, **options)
    parser.add_argument(
        "--check", metavar="FILE", help="instead: list the contents of a spill file, and compare its checksums"
    )
    json_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    from ...results.terminal import steps
    from ...studies import writeback

    given = {
        name: value
        for flag in WRITEBACK
        if (value := getattr(arguments, name := flag[2:].replace("-", "_"))) is not None
    }
    if arguments.check is not None:
        if given:
            raise ConfigError(f"--{next(iter(given)).replace('_', '-')} describes work, which --check does not do")
        show(arguments, writeback.check_result(arguments.check), writeback.check_text)
        return 0
    names = {"prefill": "prefill_tokens", "bytes": "element_bytes", "granularity": "granularity_bytes"}
    given = {names.get(name, name): value for name, value in given.items()}

    def take(**defaults: Any) -> dict[str, Any]:
        return {name: given.get(name, default) for name, default in defaults.items()}

    job = writeback.Job(**{name: given[name] for name in writeback.Job.__dataclass_fields__ if name in given})
    geometry = writeback.geometry_of(
        job, **take(head_dim=128, element_bytes=2, interval=2, granularity_bytes=512, extent_tokens=None)
    )
    with steps() as tell:
        result = writeback.writeback_result(
            job,
            given.get("dir", os.path.join("out", "writeback")),
            geometry,
            **take(sync=False, workers=4, slots=2, keep=False, seed=1),
            progress=tell,
        )
    show(arguments, result, writeback.writeback_text)
    writeback.require_same_rows(result)
    return 0
