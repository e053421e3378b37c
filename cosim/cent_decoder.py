"""Bench of ``cent-decoder``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..constraints.cent_isa import INSTRUCTIONS, RESULTS, WORD, CentIsa

__all__ = ["random_columns"]


def random_columns(isa: CentIsa, rng: np.random.Generator, count: int, *, damage: float = 0.0,
                   mnemonics: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    """Fields of random legal words, of all instructions but EOC by default.

    ``damage`` is the chance that a word gets another number in one field, near its limit or anywhere. Such a word may
    be illegal.
    """
    names = [name for name in INSTRUCTIONS if name != "EOC"] if mnemonics is None else list(mnemonics)
    kinds = rng.integers(len(names), size=count)
    out = {name: np.zeros(count, np.int64) for name in WORD.widths}
    for kind, name in enumerate(names):
        at = np.flatnonzero(kinds == kind)
        one, n = INSTRUCTIONS[name], len(at)
        has = one.by_name
        room = min([*([isa.slots] if {"Rs", "Rd"} & set(has) else []), *([isa.columns] if {"CO", "GB"} & set(has) else []),
                    (1 << WORD.widths["OPsize"]) - 1])
        size = np.where(rng.random(n) < 0.8, np.minimum(rng.integers(1, 9, n), room), rng.integers(1, room + 1, n))
        if "OPsize" not in has:
            size = np.ones(n, np.int64)
        mask = rng.integers(1, 1 << isa.channels, n)
        steps = np.array([int(m).bit_count() for m in mask.tolist()], np.int64) if name in RESULTS else size
        out["opcode"][at] = one.opcode
        for operand in one.operands:
            limit = {"CHid": isa.channels, "BK": isa.banks, "RO": isa.rows, "PC": isa.program_words,
                     "Regid": isa.lanes if name == "WR_ABK" else isa.registers, "AFid": isa.functions, "DVid": isa.devices,
                     "DVcount": isa.devices, "NB": 2, "OV": 2, "CO": isa.columns - size + 1, "GB": isa.columns - size + 1,
                     "Rs": isa.slots - size + 1, "Rd": isa.slots - steps + 1}.get(operand.name)
            if operand.name == "OPsize":
                value = size
            elif operand.name == "CHmask":
                value = mask << (32 - isa.channels)
            else:
                assert limit is not None
                value = rng.integers(int(operand.name == "DVcount"), limit, n)
            if operand.name == "GB":
                value = (value - out["CO"][at]) % isa.columns
            out[operand.field][at] = value
    changed = np.flatnonzero(rng.random(count) < damage)
    fields = rng.integers(len(WORD.fields), size=len(changed))
    for number, field in enumerate(WORD.fields):
        at = changed[fields == number]
        anything = rng.integers(0, 1 << field.bits, len(at))
        near = (out[field.name][at] + rng.integers(0, 1 << min(field.bits, 6), len(at))) & ((1 << field.bits) - 1)
        out[field.name][at] = np.where(rng.random(len(at)) < 0.3, anything, near)
    return out
