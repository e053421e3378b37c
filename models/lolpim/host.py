"""Writes of a host to a DPA dispatcher: programs, requests, mappings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ...constraints.aim.encoding import Host, Slot
from ...constraints.core.errors import ConfigError
from ...constraints.lolpim.dispatcher import DpaDispatcherConfig

__all__ = ["Write", "load", "map_rows", "release", "set_layer", "set_request", "set_size", "set_tokens", "start"]

#: Address and data of a write.
Write = tuple[int, int]


def load(config: DpaDispatcherConfig, words: np.ndarray, first: int = 0) -> list[Write]:
    """Writes of the lines of an encoded program into the command buffer, from line ``first`` on."""
    if first + len(words) > config.lines:
        raise ConfigError(f"{len(words)} lines from line {first} on do not fit the command buffer of {config.lines}")
    return [
        (config.command_address(line, place), int(word))
        for line, row in enumerate(words, first)
        for place, word in enumerate(row)
    ]


def map_rows(config: DpaDispatcherConfig, entry: int, rows: Iterable[int]) -> list[Write]:
    """Writes of physical rows into the table, from ``entry`` on."""
    return [(config.table_address(entry + n), 1 << config.entry_bits - 1 | row) for n, row in enumerate(rows)]


def set_tokens(config: DpaDispatcherConfig, slot: int, tokens: int) -> Write:
    return config.slot_address(slot, Slot.TOKENS), tokens


def set_size(config: DpaDispatcherConfig, slot: int, rows: int) -> Write:
    """Set the number of virtual rows of a request. The dispatcher never looks up rows beyond it."""
    return config.slot_address(slot, Slot.SIZE), rows


def set_request(
    config: DpaDispatcherConfig, slot: int, request: int, tokens: int, base: int, rows: Sequence[int]
) -> list[Write]:
    """Put a request into a slot: first its rows into the table from entry ``base`` on, last the valid bit."""
    return [
        *map_rows(config, base, rows),
        (config.slot_address(slot, Slot.BASE), base),
        set_size(config, slot, len(rows)),
        set_tokens(config, slot, tokens),
        (config.slot_address(slot, Slot.REQUEST), 1 << 31 | request),
    ]


def set_layer(config: DpaDispatcherConfig, layer: int, layers: int) -> Write:
    return config.host_address(Host.LAYER), layers << 16 | layer


def release(config: DpaDispatcherConfig, slot: int) -> Write:
    """Release a slot after its request is complete; the rows of the request are no longer mapped."""
    return config.host_address(Host.RELEASE), slot


def start(config: DpaDispatcherConfig, line: int = 0, slot: int = 0) -> Write:
    return config.host_address(Host.START), slot << 16 | line
