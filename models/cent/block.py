"""A transformer block on AiM channels, as CENT maps it: one token's decoding as a program for the host's front end.

Source: CENT (ASPLOS 2025) and the trace generator of its artifact. The program follows the generator's order of
instructions and rows, oddities included. They decide the cycles that CENT's authors publish:

- the second norm writes its copy into the row of the vector itself,
- the rotated queries and keys are written once more instead of being read,
- the gate takes all of its vectors from one row.

Two keys of :class:`BlockMapping` change that. ``slips`` decides about these three. The generator gives one input to all
blocks of a device; ``shared_inputs`` decides about it.

Attention reads *access units* of 16 slots, one slot for each bank of a channel. The keys of a unit lie in the 16 banks of
one channel, at the same row and columns. Unit ``u`` is on channel ``u % channels``, in turn ``u // channels``, among the
channels that have keys. A turn has a row for each 1,024 elements of all heads of K. So a row of a bank has one slot, and
the keys of up to 8 heads of 128 elements for it. Values are transposed. A head is in one channel, and its dimensions are
spread over the 16 banks. A unit is one column of each bank, 64 units are a row, and a head has a row for each 16 of its
dimensions.

Scores of the units that a query reads lie side by side, a column for each. So does its softmax. Without a selection, this
is one run of all units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

import numpy as np

from ...constraints.core.errors import ConfigError
from ..memory.aim import ALL_CHANNELS, CHANNELS, channel_mask
from ..program import Affine, Loop, Node, Program, Stage
from ..program.nodes import shift
from ..program.program import Operand
from ..program.selected import Selected, check_runs, units_of

__all__ = ["BlockMapping", "block_program", "embedding_program", "matrices_program", "output_program"]

BANKS = 16
LANES = 16  # BF16 numbers of a column access
ROW = 1024  # and of a row
COLUMNS = ROW // LANES
LATCHES = 32  # accumulators of a bank
AF_LATCHES = 16  # of them with the activation function


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


@dataclass(frozen=True)
class BlockMapping:
    """Shape of a model's block, and the channels that it is spread over.

    Attributes
    ----------
    hidden, heads, kv_heads, ffn : shape of the block
    channels : channels that hold one block; a device has ``32 // channels`` blocks that run in lock step
    devices : devices that share the matrices of a block (tensor parallelism); attention is on one
    max_tokens : tokens that the KV cache has room for
    gated : whether the feed-forward network has a gate, so that three matrices
    rotary : whether positions rotate queries and keys
    slips : whether the program has the generator's slips
    shared_inputs : whether one write of a vector serves all blocks of a device. Blocks in a pipeline have vectors of
        their own; without, each block's vector is written to its channels
    keys_apart : whether keys are spread over all devices that share a block, though one device attends
    """

    hidden: int
    heads: int
    kv_heads: int
    ffn: int
    channels: int
    devices: int = 1
    max_tokens: int = 4096
    head_dim: int = 128
    gated: bool = True
    rotary: bool = True
    slips: bool = True
    shared_inputs: bool = True
    keys_apart: bool = True

    def __post_init__(self) -> None:
        if not 1 <= self.channels <= CHANNELS:
            raise ConfigError(f"channels of a block must be 1 to {CHANNELS}, not {self.channels}")
        if self.heads % self.kv_heads:
            raise ConfigError(f"heads ({self.heads}) must be a multiple of kv_heads ({self.kv_heads})")
        if self.head_dim % LANES or ROW % self.head_dim:
            raise ConfigError(f"head_dim must be a multiple of {LANES} that divides {ROW}, not {self.head_dim}")

    @property
    def banks(self) -> int:
        """Banks of a block on one device."""
        return BANKS * self.channels

    @property
    def matrix_banks(self) -> int:
        """Banks over which the rows of a matrix are spread."""
        return self.banks * self.devices

    @property
    def key_banks(self) -> int:
        """Banks over which the keys are spread."""
        return self.matrix_banks if self.keys_apart else self.banks

    @property
    def replicas(self) -> int:
        """Blocks that run in lock step."""
        return CHANNELS // self.channels

    @property
    def mask(self) -> int:
        """All channels in use."""
        return channel_mask(self.replicas * self.channels)

    @property
    def kv_width(self) -> int:
        return self.kv_heads * self.head_dim

    @property
    def group(self) -> int:
        """Queries that share a head's keys and values."""
        return self.heads // self.kv_heads

    @property
    def score_rows(self) -> int:
        """Heads that each group of four banks holds the scores of."""
        return _ceil(self.heads, 4 * self.channels)

    @property
    def value_heads(self) -> int:
        """Value heads of a channel."""
        return _ceil(self.kv_heads, self.channels)

    @property
    def value_parts(self) -> int:
        """Parts of a value, each of one element a bank."""
        return self.head_dim // BANKS

    def lockstep(self, used: int) -> int:
        """Mask of the channels that work if each block uses ``used`` of its channels. With a shared input, as many
        groups of ``used`` channels as the devices have room for."""
        if self.shared_inputs:
            covered = CHANNELS * self.devices // used * used
            return channel_mask(covered) if 0 < covered < CHANNELS else ALL_CHANNELS
        used = min(used, self.channels)
        return sum(channel_mask(used, self.channels * replica) for replica in range(self.replicas))

    def key_mask(self, used: np.ndarray) -> int:
        """Mask of the channels that work in a turn. ``used``: for each channel with keys, whether a unit there is read."""
        count = int(used.sum())
        if not count:
            return 0
        if count == len(used):
            return self.mask
        if used[:count].all():
            return self.lockstep(count)
        return self._channels(np.unique(np.flatnonzero(used) % self.channels).tolist())

    def _channels(self, channels: Sequence[int]) -> int:
        """Mask of channels of a block, in all blocks of the device."""
        return sum(
            channel_mask(1, channel + self.channels * replica)
            for replica in range(self.replicas)
            for channel in channels
        )

    def value_mask(self, kv_heads: Sequence[int]) -> int:
        """Mask of the channels that hold the values of these heads."""
        return self._channels([head // self.value_heads for head in kv_heads])

    def inputs(self, mask: int) -> list[int]:
        """Masks of the channels that take the same vector, of those in ``mask``."""
        if self.shared_inputs:
            return [mask]
        return [mask & channel_mask(self.channels, self.channels * replica) for replica in range(self.replicas)]

    def regions(self) -> dict[str, int]:
        """First row of each region of a bank."""

        def weight(inputs: int, outputs: int) -> int:
            return _ceil(outputs, self.matrix_banks) * _ceil(inputs, ROW)

        d, kv, f = self.hidden, self.kv_width, self.ffn
        spans = _ceil(self.max_tokens, ROW)
        keys = _ceil(self.max_tokens, self.key_banks) * _ceil(kv, ROW)
        sizes = {
            "x": 1,
            "x_copy": 1,
            "norm1": 1,
            "wq": weight(d, d),
            "wk": weight(d, kv),
            "wv": weight(d, kv),
            "q": 1,
            "k": 1,
            "cache_k": keys,
            "scores": spans * self.score_rows,
            "cache_v": spans * self.value_heads * self.value_parts,
            "output": 1,
            "wo": weight(d, d),
            "attention": 1,
            "copy": 1,
            "norm2": 1,
            "w1": weight(d, f),
            "w3": weight(d, f) if self.gated else 0,
            "gate": 1,
            "gate_copy": 1,
            "sigmoid": 1,
            "ffn": 1,
            "w2": weight(f, d),
            "result": 1,
        }
        first, out = 0, {}
        for name, size in sizes.items():
            out[name] = first
            first += size
        return out


@lru_cache(maxsize=64)
def _regions(mapping: BlockMapping) -> dict[str, int]:
    return mapping.regions()


#: Access units that queries read, ascending: one list for all of them, or a list for each, head of K and V by head.
_Lists = Sequence[np.ndarray]


def _pieces(units: np.ndarray) -> list[np.ndarray]:
    """Units in pieces whose probabilities fit the global buffer. All units of a row are in one piece."""
    _, first = np.unique(units // COLUMNS, return_index=True)
    ends = np.append(first[1:], len(units)).tolist()
    cuts = [0]
    for low, high in zip(first.tolist(), ends, strict=True):
        if high - cuts[-1] > COLUMNS:
            cuts.append(low)
    return [units[low:high] for low, high in zip(cuts, [*cuts[1:], len(units)], strict=True)]


def _row_runs(units: np.ndarray) -> list[tuple[int, int]]:
    """Row and number of columns of each run of neighbouring units in a row."""
    new = (np.diff(units) != 1) | (units[1:] % COLUMNS == 0)
    starts = [0, *(np.flatnonzero(new) + 1).tolist()]
    return [
        (int(units[low]) // COLUMNS, high - low) for low, high in zip(starts, [*starts[1:], len(units)], strict=True)
    ]


class _Builder:
    """Appends the parts of a block to a program."""

    def __init__(self, mapping: BlockMapping) -> None:
        self.m = mapping
        self.rows = _regions(mapping)
        self.p = Program()

    def each_bank(self, op: str, bursts: int, first: int, step: int, row: int, slots: int | None = None) -> None:
        """``bursts`` times: one access to every ``step``-th bank of every channel and replica, the host's own traffic.

        ``slots``: only the first so many of these banks.
        """
        per_channel = len(range(first, BANKS, step))
        total = self.m.channels * per_channel if slots is None else min(slots, self.m.channels * per_channel)
        whole, rest = divmod(total, per_channel)
        p, m = self.p, self.m
        with p.loop(bursts):
            with p.loop(whole) as channel:
                with p.loop(per_channel) as bank:
                    with p.loop(m.replicas) as replica:
                        p.command(op, channel=channel + m.channels * replica, bank=first + step * bank, row=row)
            with p.loop(rest) as bank:
                with p.loop(m.replicas) as replica:
                    p.command(op, channel=whole + m.channels * replica, bank=first + step * bank, row=row)

    def gemv(self, inputs: int, outputs: int, base: int, activation: bool = False) -> None:
        """Matrix times vector: the vector in pieces of a row, outputs in groups of as many as there are latches."""
        p, m = self.p, self.m
        per_bank = _ceil(outputs, m.matrix_banks)
        spans = _ceil(inputs, ROW)
        size = _ceil(per_bank, _ceil(per_bank, AF_LATCHES if activation else LATCHES))
        used = _ceil(_ceil(outputs, per_bank), BANKS)
        mask = m.lockstep(used)

        def part(span: Operand, columns: int, last: bool) -> None:
            self.input(columns, mask)
            for first in range(0, per_bank, size):
                count = min(size, per_bank - first)
                with p.loop(count):
                    p.command("WR_BIAS", gpr=0, mask=mask)
                with p.loop(count) as v:
                    p.command("MAC_ABK", opsize=columns, mask=mask, row=base + first * spans + v * spans + span)
                if activation and last:
                    with p.loop(count):
                        p.command("AF", mask=mask)
                        p.command("RD_AF", gpr=0, mask=mask)
                with p.loop(count):
                    p.command("RD_MAC", gpr=0, mask=mask)

        with p.loop(spans - 1) as span:
            part(span, COLUMNS, False)
        part(spans - 1, _ceil(inputs - ROW * (spans - 1), LANES), True)

    def input(self, columns: int, mask: int) -> None:
        """Write a vector into the buffers of the channels of ``mask``."""
        for part in self.m.inputs(mask):
            self.p.command("WR_GB", opsize=columns, gpr=0, mask=part)

    def norm(self, x: int, copy: int, out: int, written: bool = True) -> None:
        """Root mean square norm: the sum of squares by a multiply-accumulate, then two element-wise products.

        ``written``: whether the host writes the vector, once for each of them; else it is there.
        """
        p, m = self.p, self.m
        pairs = _ceil(_ceil(m.hidden, m.banks // 2), LANES)
        quads = _ceil(_ceil(m.hidden, m.banks // 4), LANES)
        if written:
            self.each_bank("W_MEM", pairs, 0, 2, x)
            self.each_bank("W_MEM", pairs, 1, 2, x)
        p.command("WR_BIAS", gpr=0, mask=m.mask)
        p.command("MAC_ABK", opsize=pairs, mask=m.mask, row=x)
        p.command("RD_MAC", gpr=0, mask=m.mask)
        if written:
            self.each_bank("W_MEM", quads, 0, 4, copy)
        self.each_bank("W_MEM", quads, 1, 4, copy)
        p.command("EWMUL", opsize=quads, mask=m.mask, row=copy)
        self.copies(quads, copy, out)
        p.command("EWMUL", opsize=quads, mask=m.mask, row=out)
        self.each_bank("R_MEM", quads, 2, 4, out)
        p.command("SYNC")

    def copies(self, columns: int, source: int, target: int) -> None:
        """Results of an element-wise product (third bank of each group) to where the next one takes them."""
        p, m = self.p, self.m
        with p.loop(4) as group:
            p.command("COPY_BKGB", opsize=columns, mask=m.mask, bank=4 * group + 2, row=source)
            p.command("COPY_GBBK", opsize=columns, mask=m.mask, bank=4 * group + 1, row=target)

    def rotary(self) -> None:
        p, m, rows = self.p, self.m, self.rows
        quarter = _ceil(m.hidden, m.banks // 4)
        both = ((_ceil(2 * quarter, LANES), rows["q"]), (_ceil(2 * (quarter // m.group), LANES), rows["k"]))
        for bursts, row in both:
            self.each_bank("W_MEM", bursts, 1, 4, row)
        p.command("EWMUL", opsize=m.hidden // LANES, mask=m.mask, row=rows["q"])
        p.command("EWMUL", opsize=m.hidden // m.group // LANES, mask=m.mask, row=rows["k"])
        for bursts, row in both:
            self.each_bank("W_MEM" if m.slips else "R_MEM", bursts, 2, 4, row)
        if not m.slips:
            p.command("SYNC")

    def append_key(self, bank: int) -> None:
        """Into the first row of a bank's keys."""
        p, m = self.p, self.m
        spans = _ceil(m.kv_width, ROW)
        with p.loop(spans) as span:
            with p.loop(m.replicas) as replica:
                with p.loop(COLUMNS):
                    p.command(
                        "W_MEM",
                        channel=bank // BANKS + m.channels * replica,
                        bank=bank % BANKS,
                        row=self.rows["cache_k"] + span,
                    )

    def append_value(self, number: int) -> None:
        """Append the value of token ``number`` to every head's rows of values."""
        p, m = self.p, self.m
        stride = _ceil(m.max_tokens, ROW)
        for head in range(m.value_heads):
            with p.loop(m.value_parts) as part:
                for channel in range(_ceil(m.kv_heads - head, m.value_heads)):
                    for replica in range(1 if m.shared_inputs else m.replicas):
                        p.command(
                            "WR_ABK",
                            gpr=0,
                            mask=channel_mask(1, channel + m.channels * replica),
                            row=self.rows["cache_v"] + number + (head * m.value_parts + part) * stride,
                        )

    def scores(self, lists: _Lists) -> None:
        """Products with the keys: a turn for as many slots as there are banks. In a turn, a channel works for the heads
        that read a unit of it."""
        p, m = self.p, self.m
        spans = _ceil(m.kv_width, ROW)
        channels = m.key_banks // BANKS
        used = np.zeros((len(lists), max(int(units[-1]) for units in lists) // channels + 1, channels), bool)
        for own, units in zip(used, lists, strict=True):
            own.reshape(-1)[units] = True
        per_row = ROW // m.head_dim
        whole, others = divmod(m.kv_heads, per_row)

        def query(masks: Sequence[int], row: Operand) -> None:
            reading = [mask for mask in masks if mask]
            if not reading:
                return
            self.input(_ceil(len(reading) * m.head_dim, LANES), int(np.bitwise_or.reduce(reading)))
            for mask, heads in groupby(reading):
                with p.loop(len(list(heads))):
                    p.command("WR_BIAS", gpr=0, mask=mask)
                    p.command("MAC_ABK", opsize=m.head_dim // LANES, mask=mask, row=row)
                    p.command("RD_MAC", gpr=0, mask=mask)

        def span(number: Operand, first: int, heads: int) -> None:
            # Of shape (queries of the group, heads, turns, channels); one list is for all.
            mine = used if len(used) == 1 else used[m.group * first : m.group * (first + heads)]
            mine = mine.reshape(-1, 1 if len(used) == 1 else m.group, *mine.shape[1:]).swapaxes(0, 1)
            changes = (mine[:, :, 1:] != mine[:, :, :-1]).any(axis=(0, 1, 3))
            starts = [0, *(np.flatnonzero(changes) + 1).tolist()]
            for low, high in zip(starts, [*starts[1:], mine.shape[2]], strict=True):
                masks = [[m.key_mask(own) for own in of_query[:, low]] for of_query in mine]
                if not any(map(any, masks)):
                    continue
                if len(used) == 1:
                    masks = [masks[0] * heads]
                with p.loop(high - low) as turn:
                    row = self.rows["cache_k"] + (low + turn) * spans + number
                    for alike, times in groupby(masks * (m.group // len(masks))):
                        with p.loop(len(list(times))):
                            query(alike, row)

        if len(lists) == 1:
            with p.loop(whole) as number:
                span(number, 0, per_row)
        else:
            for place in range(whole):
                span(place, place * per_row, per_row)
        if others:
            span(whole, whole * per_row, others)

    def softmax(self, lists: _Lists) -> None:
        """Scaling of all scores, and again by the sum of their exponentials (which the host computes). Heads whose scores
        are worked on together take as many columns as the head with the most units."""
        p, m = self.p, self.m
        stride = _ceil(m.max_tokens, ROW)
        each = 4 * m.channels
        sizes = [len(units) for units in lists] * (m.heads // len(lists))
        with p.loop(2):
            for bank in (0, 1, None, 2):
                for head in range(m.score_rows):
                    words = max(sizes[head * each : (head + 1) * each])
                    for number, first in enumerate(range(0, words, COLUMNS)):
                        columns = min(COLUMNS, words - first)
                        row = self.rows["scores"] + head * stride + number
                        if bank is None:
                            p.command("EWMUL", opsize=columns, mask=m.mask, row=row)
                        else:
                            self.each_bank(
                                "R_MEM" if bank == 2 else "W_MEM", columns, bank, 4, row, m.heads - head * each
                            )
            p.command("SYNC")

    def output(self, lists: _Lists) -> None:
        """Probabilities times values. A channel takes the probabilities of a piece of the units (:func:`_pieces`). Then it
        reads the runs of the piece, for each part of the values. Channels with other units work beside each other, and
        wait for the longest when results are read."""
        p, m = self.p, self.m
        stride = _ceil(m.max_tokens, ROW)
        if len(lists) == 1:
            pieces = _pieces(lists[0])
            with p.loop(m.value_heads) as head:
                with p.loop(m.group):
                    for piece in pieces:
                        self._values([(m.mask, piece)], m.value_parts * stride * head, stride)
            return
        for turn in range(m.value_heads):
            heads = range(turn, m.kv_heads, m.value_heads)
            for query in range(m.group):
                alike: dict[bytes, list[int]] = {}
                for own_head in heads:
                    alike.setdefault(lists[own_head * m.group + query].tobytes(), []).append(own_head)
                all_pieces = [
                    (m.value_mask(own), _pieces(np.frombuffer(units, np.int64))) for units, own in alike.items()
                ]
                for number in range(max(len(pieces) for _, pieces in all_pieces)):
                    self._values(
                        [(mask, pieces[number]) for mask, pieces in all_pieces if number < len(pieces)],
                        m.value_parts * stride * turn,
                        stride,
                    )

    def _values(self, pieces: Sequence[tuple[int, np.ndarray]], base: Operand, stride: int) -> None:
        """One piece of the units of each mask of channels, for each part of the values."""
        p, m = self.p, self.m
        for mask, units in pieces:
            self.input(len(units), mask)
        reads = [(mask, _row_runs(units)) for mask, units in pieces]
        everyone = int(np.bitwise_or.reduce([mask for mask, _ in pieces]))
        with p.loop(m.value_parts) as part:
            p.command("WR_BIAS", gpr=0, mask=everyone)
            for number in range(max(len(own) for _, own in reads)):
                for mask, own in reads:
                    if number < len(own):
                        row, columns = own[number]
                        p.command(
                            "MAC_ABK", opsize=columns, mask=mask, row=self.rows["cache_v"] + base + stride * part + row
                        )
            p.command("RD_MAC", gpr=0, mask=everyone)

    def gate(self) -> None:
        """Product of the two projections, one of them with the activation function."""
        p, m, rows = self.p, self.m, self.rows
        columns = _ceil(_ceil(m.ffn, m.banks // 4), LANES)
        row, out = (rows["gate"], rows["gate"]) if m.slips else (rows["sigmoid"], rows["ffn"])
        self.each_bank("W_MEM", columns, 0, 4, row)
        self.each_bank("W_MEM", columns, 1, 4, row)
        p.command("EWMUL", opsize=columns, mask=m.mask, row=row)
        self.copies(columns, row, out)
        self.each_bank("W_MEM", columns, 0, 4, out)
        p.command("EWMUL", opsize=columns, mask=m.mask, row=out)
        self.each_bank("R_MEM", columns, 2, 4, out)
        p.command("SYNC")


#: Stages that read access units.
_ATTENTION = ("attn_score", "softmax_scale", "attn_output")

#: Stages of the gate.
_GATE = ("gemv_w3", "activation")

#: Stages of a block in order: name, whether it depends on the tokens so far.
_STAGES = (
    ("rmsnorm1", False),
    ("gemv_wq", False),
    ("gemv_wk", False),
    ("gemv_wv", False),
    ("rotary_kvstore", True),
    ("attn_score", True),
    ("softmax_scale", True),
    ("attn_output", True),
    ("gemv_wo", False),
    ("residual_rmsnorm2", False),
    ("gemv_w1_af", False),
    ("gemv_w3", False),
    ("activation", False),
    ("gemv_w2", False),
    ("tail", False),
)


@lru_cache(maxsize=1 << 10)
def _part(mapping: BlockMapping, name: str, which: int) -> tuple[Node, ...]:
    """Part of the stage of rotation and cache: the first is always the same, the last the same for many tokens."""
    b = _Builder(mapping)
    if name == "rotary":
        if mapping.rotary:
            b.rotary()
    elif name == "append_key":
        b.append_key(which)
    else:
        b.append_value(which)
    return (Loop(1, tuple(shift(b.p.body, 1, {}))),)


def _attention(mapping: BlockMapping, name: str, lists: _Lists) -> Stage:
    b = _Builder(mapping)
    {"attn_score": b.scores, "softmax_scale": b.softmax, "attn_output": b.output}[name](lists)
    return Stage(name, b.p.body)


@lru_cache(maxsize=1 << 10)
def _stage(mapping: BlockMapping, name: str, tokens: int) -> Stage:
    if name == "rotary_kvstore":
        turn, bank = divmod(tokens - 1, mapping.key_banks)
        turns = {"row": Affine(turn * _ceil(mapping.kv_width, ROW))}
        key = shift(_part(mapping, "append_key", bank % mapping.banks), 0, turns)
        return Stage(name, (*_part(mapping, "rotary", 0), *key, *_part(mapping, "append_value", (tokens - 1) // ROW)))
    b = _Builder(mapping)
    m, rows = mapping, b.rows
    if name == "rmsnorm1":
        b.norm(rows["x"], rows["x_copy"], rows["norm1"])
    elif name in ("gemv_wq", "gemv_wo"):
        b.gemv(m.hidden, m.hidden, rows[name[5:]])
    elif name in ("gemv_wk", "gemv_wv"):
        b.gemv(m.hidden, m.kv_width, rows[name[5:]])
    elif name in _ATTENTION:
        return _attention(mapping, name, [np.arange(_ceil(tokens, LANES))])
    elif name == "residual_rmsnorm2":
        b.p.command("EWADD", opsize=m.hidden // LANES, gpr0=0, gpr1=0)
        b.norm(rows["attention"], rows["attention" if m.slips else "copy"], rows["norm2"])
    elif name in ("gemv_w1_af", "gemv_w3"):
        b.gemv(m.hidden, m.ffn, rows[name[5:7]], activation=name == "gemv_w1_af")
    elif name == "activation":
        b.gate()
    elif name == "gemv_w2":
        b.gemv(m.ffn, m.hidden, rows["w2"])
    else:
        b.p.command("EWADD", opsize=m.hidden // LANES, gpr0=0, gpr1=0)
    return Stage(name, b.p.body)


def block_program(mapping: BlockMapping, tokens: int, selected: Selected | None = None) -> Program:
    """One token through one block, with ``tokens`` slots of the KV cache in use, this token's included.

    Parameters
    ----------
    selected : runs of access units of 16 slots, ascending, as :func:`bankside.models.sparse.runs` has them: one pair of
        first units and lengths for all queries, one for each head of K and V, or one for each query, head by head.
        None: all units. The module says where a unit lies.

    Raises
    ------
    :exc:`ConfigError`
        If the cache has no room for so many tokens, or a run is outside its placement.
    """
    if not 1 <= tokens <= mapping.max_tokens:
        raise ConfigError(f"tokens must be 1 to {mapping.max_tokens}, not {tokens}")
    # What a stage depends on is coarser than the number of tokens: stages that are the same are one object.
    seen = {"rotary_kvstore": tokens, **dict.fromkeys(_ATTENTION, _ceil(tokens, LANES) * LANES)}
    lists = None if selected is None else _lists(mapping, tokens, selected)
    return Program(
        _attention(mapping, name, lists)
        if lists is not None and name in _ATTENTION
        else _stage(mapping, name, seen.get(name, 0))
        for name, _ in _STAGES
        if mapping.gated or name not in _GATE
    )


def _lists(mapping: BlockMapping, tokens: int, selected: Selected) -> _Lists:
    """Units of each query; of all together, if they read the same."""
    check_runs(selected, [mapping.kv_heads, mapping.heads], _ceil(tokens, LANES))
    units = [units_of(*own) for own in selected]
    if all(np.array_equal(units[0], own) for own in units[1:]):
        return units[:1]
    return [own for own in units for _ in range(mapping.heads // len(units))]


def matrices_program(mapping: BlockMapping) -> Program:
    """The matrices of a block: the program of the devices beside the one that holds its attention."""
    return Program(
        _stage(mapping, name, 0)
        for name, _ in _STAGES
        if name.startswith("gemv_") and (mapping.gated or name not in _GATE)
    )


@lru_cache(maxsize=64)
def embedding_program(mapping: BlockMapping, vocabulary: int) -> Program:
    """Once a token: the embedding as a product with a vector of the vocabulary, the last norm, the output matrix."""
    b = _Builder(mapping)
    rows = _ceil(mapping.hidden, mapping.matrix_banks) * _ceil(vocabulary, ROW)
    with b.p.stage("embedding"):
        b.gemv(vocabulary, mapping.hidden, 3)
    with b.p.stage("norm"):
        b.norm(0, 1, 2, written=False)
    with b.p.stage("output"):
        b.gemv(mapping.hidden, vocabulary, 3 + rows)
    return b.p


@lru_cache(maxsize=64)
def output_program(mapping: BlockMapping, vocabulary: int) -> Program:
    """Once a token: the last norm and the output matrix. The host reads the row of the embedding."""
    b = _Builder(mapping)
    with b.p.stage("norm"):
        b.norm(0, 1, 2)
    with b.p.stage("output"):
        b.gemv(mapping.hidden, vocabulary, 3)
    return b.p
