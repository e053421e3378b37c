"""Functional model of CENT's decoder: instructions and answers in, commands and ends of programs out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...constraints.cent.decoder import CentDecoderConfig
from ...constraints.cent.isa import INSTRUCTIONS, WORD_BYTES, DecodeError, fields_of

__all__ = ["Decoded", "advancing", "decode"]


@dataclass(frozen=True)
class Decoded:
    """What the decoder gives for the items of a host. Items are counted from 0.

    Attributes
    ----------
    commands : issued commands by field of ``config.command_layout``
    command_items : number of the item of each command
    codes, positions, done_items : of every message on ``done``, with the item that caused it
    answers, answer_items : operation code of every command that waits for an answer, and its item
    """

    commands: dict[str, np.ndarray]
    command_items: np.ndarray
    codes: np.ndarray
    positions: np.ndarray
    done_items: np.ndarray
    answers: np.ndarray
    answer_items: np.ndarray


def advancing(place: str) -> list[int]:
    """Operation codes whose operand at ``place`` grows from micro-operation to micro-operation."""
    return [
        one.opcode
        for one in INSTRUCTIONS.values()
        if "OPsize" in one.by_name
        and one.mnemonic != "RISCV"
        and any(one.place(operand) == place and operand.field in ("CO", "Rs", "Rd") for operand in one.operands)
    ]


def decode(
    config: CentDecoderConfig,
    words: np.ndarray,
    clear: np.ndarray | None = None,
    refused: Sequence[int] | np.ndarray = (),
) -> Decoded:
    """The commands of a host's items, and the ends of its programs.

    Parameters
    ----------
    words : items of the host, uint8 of shape ``(items, 16)``
    clear : items that are CLEAR; by default none
    refused : numbers of items whose answer, if they wait for one, is of another instruction
    """
    words = np.asarray(words, np.uint8).reshape(-1, WORD_BYTES)
    clears = np.zeros(len(words), bool) if clear is None else np.asarray(clear, bool)
    columns = fields_of(words)
    faults = np.where(clears, 0, config.isa.problems(columns))
    index = np.arange(len(clears))
    begin = np.maximum.accumulate(np.where(clears, index + 1, 0))
    position = (index - begin) & ((1 << config.position_bits) - 1)
    unanswered = np.zeros(len(words), bool)
    unanswered[np.asarray(refused, np.int64)] = True
    unanswered &= (faults == 0) & ~clears & np.isin(columns["opcode"], config.blocking_opcodes)
    # The first item since the last CLEAR that is dropped: the first wrong one, or the one behind a wrong answer.
    cut = np.full(len(clears) + 1, len(clears) + 1)
    for items in (np.flatnonzero(faults), np.flatnonzero(unanswered)):
        np.minimum.at(cut, begin[items], items + unanswered[items])
    kept = ~clears & (index < cut[begin])
    unanswered &= kept
    codes = np.where(~clears & (index == cut[begin]) & ~np.r_[False, unanswered][:-1], faults, 0)
    codes[unanswered] = int(DecodeError.ANSWER)
    ends = kept & (columns["opcode"] == INSTRUCTIONS["EOC"].opcode)
    told = np.flatnonzero(ends | (codes != 0))
    items = np.flatnonzero(kept)
    chosen = {name: column[items] for name, column in columns.items()}
    commands = config.isa.commands(chosen)
    commands["position"] = position[items]
    if config.micro_ops:
        whole = chosen["opcode"] == INSTRUCTIONS["RISCV"].opcode
        repeats = np.where(whole, 1, commands["opsize"])
        commands["opsize"] = np.where(whole, commands["opsize"], 1)
        step = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        items = np.repeat(items, repeats)
        commands = {name: np.repeat(column, repeats) for name, column in commands.items()}
        for place in ("column", "gpr", "gpr1"):
            commands[place] += np.where(np.isin(commands["op"], advancing(place)), step, 0)
    blocking = np.isin(commands["op"], config.blocking_opcodes)
    return Decoded(commands, items, codes[told], position[told], told, commands["op"][blocking], items[blocking])
