"""Bench of the arithmetic operators: every result bit for bit that of the functional model, or of a file of vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..constraints.errors import ConfigError
from ..constraints.formats import FloatFormat
from ..constraints.units.arith import Operand
from ..models.numerics import is_nan
from ..models.numerics.vectors import operands as operand_sets
from ..models.numerics.vectors import read_vectors
from .request import SimRequest
from .streams import Items, StreamPort, play

__all__ = ["bench", "pack", "stimulus", "unpack_fields"]

#: Operands of up to this many bits are all tried.
EXHAUSTIVE_BITS = 16
#: Items of the runs with stalls.
STRESSED = 4000
#: Differences that are shown.
SHOWN = 20

Columns = Sequence[np.ndarray]


def pack(columns: Columns, fields: Sequence[Operand]) -> np.ndarray:
    """Payloads, least significant byte first: uint8 ``(items, bytes)``.

    A column has shape ``(items,)``, or ``(items, count)`` for a field of several numbers; integers of a signed format
    may be negative.
    """
    bits = []
    for column, field in zip(columns, fields, strict=True):
        width = field.format.width
        values = np.asarray(column, np.int64).reshape(len(column), field.count)
        raw = values.astype("<i8").view(np.uint8).reshape(len(column), field.count, 8)
        unpacked = np.unpackbits(raw, axis=2, bitorder="little")[:, :, :width]
        bits.append(unpacked.reshape(len(column), field.width))
    return np.packbits(np.concatenate(bits, axis=1), axis=1, bitorder="little")


def unpack_fields(payload: np.ndarray, fields: Sequence[Operand]) -> list[np.ndarray]:
    """Columns of payloads: what :func:`pack` takes."""
    bits = np.unpackbits(payload, axis=1, bitorder="little")
    columns, offset = [], 0
    for field in fields:
        width = field.format.width
        part = bits[:, offset:offset + field.width].reshape(len(payload), field.count, width)
        offset += field.width
        signed = getattr(field.format, "signed", False)
        wide = np.zeros((*part.shape[:2], 64), np.uint8)
        wide[:, :, :width] = part
        if signed:
            wide[:, :, width:] = part[:, :, -1:]
        values = np.packbits(wide, axis=2, bitorder="little").view("<i8")[:, :, 0]
        columns.append(values if field.count > 1 else values[:, 0])
    return columns


def stimulus(fields: Mapping[str, Operand], count: int, seed: int) -> list[np.ndarray]:
    """Operands: all of them where that is few, else corners and ``count`` random ones of several kinds."""
    only = list(fields.values())
    if "last" in fields:
        # Corners stand by themselves: as sums of one beat, and as parts of longer ones.
        *factors, _, _ = only
        columns = operand_sets(factors, count, seed)
        rng = np.random.default_rng(seed)
        last = rng.random(len(columns[0])) < np.where(np.arange(len(columns[0])) % 2048 < 1024, 0.6, 0.1)
        last[-1] = True
        # Some sums go on behind a result.
        begins = np.r_[True, last[:-1] & (rng.random(len(last) - 1) < 0.8)]
        return [*columns, begins.astype(np.int64), last.astype(np.int64)]
    if sum(field.width for field in only) <= EXHAUSTIVE_BITS:
        return unpack_fields(np.arange(1 << sum(f.width for f in only), dtype="<u4").view(np.uint8).reshape(-1, 4), only)
    return operand_sets(only, count, seed)


def bench(request: SimRequest) -> dict[str, Any]:
    """Simulate an operator; the result for users."""
    config = request.config
    operands, results = config.operands, config.results
    path, count = request.workload["vectors"], request.workload["count"]
    if path is not None:
        (result,) = results.values() if len(results) == 1 else (None,)
        if result is None or any(field.count > 1 for field in (*operands.values(), result)):
            raise ConfigError(f"{path}: files of vectors are for operators of single numbers with one result")
        columns, wanted = read_vectors(path, [field.format for field in operands.values()], result.format)
        expected = [wanted]
    else:
        columns = stimulus(operands, count, request.seed)
        expected = list(request.model(config, *columns))
    ports = [StreamPort(name, sum(f.width for f in fields.values()), name == "i", _numbers(fields))
             for name, fields in (("i", operands), ("o", results))]
    payload = pack(columns, list(operands.values()))

    def run(name: str, rows: np.ndarray, **options: Any) -> tuple[Any, list[np.ndarray]]:
        request.progress(f"simulating: {name}, {len(rows)} items")
        done = play(request.verilog, request.module, ports, {"i": Items.of(payload[rows])},
                    {"o": np.array([np.count_nonzero(answered[rows])])}, seed=request.seed, **options)
        return done, unpack_fields(done.outputs["o"], list(results.values()))

    request.progress("building the Verilated model")
    rows = np.arange(len(payload))
    # An accumulator's results belong to the rows marked last, and only a beginning of its stream makes sense by itself.
    names = list(operands)
    accumulates = "last" in names
    answered = columns[names.index("last")] == 1 if accumulates else np.ones(len(payload), bool)
    some = np.random.default_rng(request.seed).permutation(len(payload))[:STRESSED]
    if accumulates:
        some = rows[:np.flatnonzero(answered)[:STRESSED // 4][-1] + 1]
    runs = {"full_rate": (rows, *run("an item at every clock", rows, waves=request.waves)),
            "stalls": (some, *run("random stalls and back-pressure", some, stalls={"i": 0.3, "o": 0.4})),
            "lazy_output": (some, *run("an output that waits to be asked", some, stalls={"i": 0.1}, lazy=True))}

    wrong: dict[int, str] = {}
    differing = np.zeros(len(payload), bool)
    faults = 0
    summary = {}
    for name, (chosen, done, received) in runs.items():
        chosen = chosen[answered[chosen]]
        bad = np.zeros(len(chosen), bool)
        place = np.cumsum(answered) - 1
        for (field, spec), got, want_all in zip(results.items(), received, expected, strict=True):
            want = want_all[place]
            differs = _differs(got, want[chosen], spec)
            bad |= differs
            for index in np.flatnonzero(differs)[:SHOWN]:
                row = int(chosen[index])
                what = " ".join(f"{key}={_text(column[row], f)}" for (key, f), column in
                                zip(operands.items(), columns, strict=True))
                wrong.setdefault(row, f"{name}: {what}: {field} {_text(got[index], spec)}, expected "
                                      f"{_text(want[row], spec)}")
        differing[chosen[bad]] = True
        faults += len(done.faults)
        summary[name] = {"vectors": len(chosen), "mismatches": int(bad.sum()) + len(done.faults),
                         "cycles": done.epochs[0].end_cycle + 1, "clocks": done.clocks}
        for fault in done.faults[:SHOWN]:
            wrong.setdefault(-1 - len(wrong), f"{name}: {fault}")
    full = runs["full_rate"][1]
    log = full.epochs[0]
    shown = list(wrong.values())[:SHOWN]
    latency = int(log.end_cycle - log.last["i"].max())
    clocks = sum(done.clocks for _, done, _ in runs.values())
    return {
        "vectors": len(payload),
        "mismatches": int(differing.sum()) + faults,
        "first_mismatch": shown[0] if shown else None,
        "differences": shown,
        "latency_cycles": latency,
        "cycles": summary["full_rate"]["cycles"],
        "items_per_cycle": round(len(payload) / int(log.last["i"].max() - log.first["i"][log.moved["i"] > 0].min() + 1), 6),
        "runs": summary,
        "waves": str(full.waves) if full.waves else None,
        "clocks": clocks,
        "clocks_per_second": round(clocks / sum(done.seconds for _, done, _ in runs.values())),
    }


def _numbers(fields: Mapping[str, Operand]) -> tuple[tuple[str, int, FloatFormat], ...]:
    """Where the numbers of a payload are, for waveforms."""
    found, low = [], 0
    for name, field in fields.items():
        for index in range(field.count):
            if isinstance(field.format, FloatFormat):
                found.append((f"{name}_{index}" if field.count > 1 else name, low, field.format))
            low += field.format.width
    return tuple(found)


def _differs(got: np.ndarray, want: np.ndarray, field: Operand) -> np.ndarray:
    """Where two columns differ. Whatever NaN is expected, the canonical one is right."""
    if isinstance(field.format, FloatFormat):
        want = np.where(is_nan(want, field.format), field.format.nan, want)
    different = got != want
    return different if field.count == 1 else different.any(axis=1)


def _text(value: Any, field: Operand) -> str:
    digits = -(-field.format.width // 4)
    mask = (1 << field.format.width) - 1
    return ",".join(f"{int(x) & mask:0{digits}X}" for x in np.atleast_1d(value))
