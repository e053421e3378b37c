"""Limits of the pattern ``spread`` of pam-interface: its time with one limit removed at a time.

    python tools/interface_causes.py hbm-ddr ddr-hbm
    python tools/interface_causes.py --tokens 203 hbm-ssd ddr-ssd

The tokens come from the bench of ``bankside sim pam-interface``. Times come from ``bankside.models.pam.transfer`` and
equal the RTL's.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
from collections.abc import Iterator

import numpy as np

from bankside.constraints.memory import Memory, load_memory
from bankside.constraints.pam.interface import PRESETS, PamInterfaceConfig
from bankside.constraints.pam.layout import TIERS
from bankside.cosim.pam.interface import random_data, random_tokens
from bankside.models.pam.interface import Tokens
from bankside.models.pam.transfer import Controller, transfer_time

ROWS, OPENINGS, COLUMNS = "rows of a bank one after the other", "openings in a rank", "accesses of a bank group"


def spread(config: PamInterfaceConfig, count: int, seed: int) -> Tokens:
    """The tokens of the bench's second pattern, ``count`` of its 512."""
    rng = np.random.default_rng(seed)
    random_tokens(config, "sequential", 512, rng)
    random_data(count, config, rng)
    tokens = random_tokens(config, "spread", 512, rng)
    return Tokens(*(values[:count] for values in vars(tokens).values()))


def in_groups(config: PamInterfaceConfig, tokens: Tokens, groups: list[int]) -> Tokens:
    """The same tokens with the runs of HBM in chosen bank groups, one after the other."""
    way = "source" if config.source.format == "hbm" else "destination"
    place, run = np.divmod(np.arange(len(tokens)), 8)
    chosen = {f"{way}_group": np.array(groups)[run % len(groups)], f"{way}_slot": run * 64 + place}
    return dataclasses.replace(tokens, **chosen)


def without(memory: Memory, *limits: str) -> Memory:
    """The memory without some limits."""
    closing = {name for name, command in memory.commands.items() if command.row == "closes"}
    kept = []
    for c in memory.constraints:
        both = c.from_ & c.to
        rows = c.level == "bank" and ("ACT" in c.from_ | c.to or c.to & closing)
        if OPENINGS in limits and "ACT" in both and c.level != "bank":
            continue
        if ROWS in limits and rows:
            c = dataclasses.replace(c, cycles=1)
        if COLUMNS in limits and c.level in ("bank_group", "bank") and not rows and both & {"RD", "WR"}:
            c = dataclasses.replace(c, cycles=memory.parameters["nCCDS"])
        kept.append(c)
    return dataclasses.replace(memory, constraints=tuple(kept))


def cases(config: PamInterfaceConfig) -> Iterator[tuple[str, PamInterfaceConfig, tuple[str, ...], tuple[str, ...]]]:
    """Names, configurations, and limits that are removed at the source and at the destination."""
    yield "as it is", config, (), ()
    limits = (ROWS, OPENINGS, COLUMNS)
    for way, side in (("source", config.source), ("destination", config.destination)):
        if side.format == "ssd":
            continue
        verb = "read" if way == "source" else "write"
        for gone in (*((limit,) for limit in limits), limits):
            free = side.model_copy(
                update=(
                    ({f"{verb}_bank_cycles": 1, f"{verb}_recovery_cycles": 1} if ROWS in gone else {})
                    | ({"activate_cycles": 1, "window_cycles": 0} if OPENINGS in gone else {})
                )
            )
            name = f"{side.format} without: " + (gone[0] if len(gone) == 1 else "all three")
            yield (name, config.model_copy(update={way: free}), *((gone, ()) if way == "source" else ((), gone)))
    for key, factor in (
        ("buffer_tokens", 8),
        ("reads_in_flight", 8),
        ("reorder_depth", 2),
        ("write_depth", 2),
        ("reorder_depth", 8),
        ("write_depth", 8),
    ):
        if factor == 8 and key.endswith("depth") and "ssd" not in (config.source.format, config.destination.format):
            continue
        more = {key: getattr(config, key) * factor} | ({"buffer_tokens": 1024} if factor == 8 else {})
        yield f"{key} {more[key]}", config.model_copy(update=more), (), ()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("presets", nargs="+", choices=PRESETS)
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--groups", help="bank groups of HBM's eight runs, such as 0,4,8,12; removes no limit")
    options = parser.parse_args()
    print("| preset | changed | time, ns | rows opened to read | to write |\n| --- | --- | --- | --- | --- |")
    for preset in options.presets:
        tokens = spread(PRESETS[preset], options.tokens, options.seed)
        listed = cases(PRESETS[preset])
        if options.groups:
            tokens = in_groups(PRESETS[preset], tokens, [int(group) for group in options.groups.split(",")])
            listed = itertools.islice(listed, 1)
        for name, config, source, destination in listed:
            memories = [
                without(load_memory(TIERS[side.format].memory), *gone)
                for side, gone in ((config.source, source), (config.destination, destination))
            ]
            told = transfer_time(
                config, tokens, source=Controller(memories[0], False), destination=Controller(memories[1], True)
            )
            opened = (sum(side.values()) for side in (told.read_openings, told.write_openings))
            print(f"| {preset} | {name} | {told.time_ns:.0f} | " + " | ".join(map(str, opened)) + " |", flush=True)


if __name__ == "__main__":
    main()
