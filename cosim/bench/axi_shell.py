"""Surroundings of a unit with a memory port of AXI4 and registers of AXI4-Lite, for benches: memory, drive and host.

The memory answers after a latency, at the pace of credits, with random stalls on every channel. Words come from outside
into it, as from a drive. The host writes and reads registers, and waits for the interrupt. A checker in the same module
counts violations of AXI's rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import resources
from typing import Any, NamedTuple

import numpy as np

from ...constraints.core.contract import Field, Layout, Port
from ...constraints.memory import Memory
from ...models.memory.streams import stream_arrivals
from .campaign import streams

__all__ = ["HOST_OPERATIONS", "AxiRig", "HostStep", "Report", "memory_pace"]

#: Operations of the host, by code: write or read a register, wait for the interrupt, wait for loaded words.
HOST_OPERATIONS = ("write", "read", "interrupt", "loaded")

#: Most clocks of a pattern of credits, and clocks of the pattern of a memory without refresh.
MOST_PATTERN, PATTERN = 1 << 16, 1 << 12

#: Channels that stalls hold up.
CHANNELS = ("ar", "r", "aw", "w", "b", "lite")

#: Channels whose payload must stay while they wait, with the members of their payload.
_ADDRESS = ("addr", "len", "size", "burst")
_STABLE = {
    ("m_axi", "ar"): _ADDRESS,
    ("m_axi", "aw"): _ADDRESS,
    ("m_axi", "w"): ("data", "strb", "last"),
    ("s_axi", "b"): ("resp",),
    ("s_axi", "r"): ("data", "resp"),
}


class HostStep(NamedTuple):
    """A step of the host. ``value``: data to write, or words that must have been loaded."""

    operation: str
    address: int = 0
    value: int = 0


class Report(NamedTuple):
    """What the surroundings counted until an interrupt.

    Attributes
    ----------
    cycles : clocks of the job
    port : of them, with a word on the memory port
    memory : in which a word waited for a credit
    latency : in which a read was under way otherwise
    load : without a read, in which words were still being loaded
    unit : the rest
    violations, early : violations of AXI's rules, and reads of words that had not come
    """

    cycles: int
    port: int
    memory: int
    latency: int
    load: int
    unit: int
    violations: int
    early: int


def memory_pace(memory: Memory, word_bytes: int, clock_mhz: float) -> np.ndarray:
    """Words that a memory can move in each clock of a refresh period, in a stream of whole rows: int64 array."""
    interval = memory.refresh.interval if memory.refresh else None
    clocks = PATTERN if interval is None else round(interval * memory.clock_ps * clock_mhz * 1e-6)
    clocks = min(max(clocks, 1), MOST_PATTERN)
    most = memory.channel_bytes_per_s / clock_mhz / 1e6 / word_bytes
    came = stream_arrivals(memory, int(3 * clocks * most) + 64, word_bytes)
    at = np.floor((came - came[0]) * clock_mhz * 1e-6).astype(np.int64)
    return np.bincount(at, minlength=2 * clocks)[clocks : 2 * clocks]


@lru_cache
def _template() -> Any:
    import jinja2

    text = resources.files(__package__).joinpath("axi_shell.sv.j2").read_text()
    return jinja2.Environment(
        trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    ).from_string(text)


@dataclass(frozen=True)
class AxiRig:
    """A unit with its surroundings.

    Attributes
    ----------
    unit : ports of the unit: buses ``m_axi`` and ``s_axi``, and ``irq``
    words : words of the memory, a power of two
    burst, outstanding : most words of a burst, most bursts under way
    start : address of the register that starts a job
    """

    unit: tuple[Port, ...]
    words: int
    burst: int
    outstanding: int
    start: int = 0

    def _bits(self, name: str) -> int:
        return next((port.layout.bits for port in self.unit if port.name == name), 0)

    @property
    def data_bits(self) -> int:
        return self._bits("m_axi_rdata")

    @property
    def place_bits(self) -> int:
        return max(1, (self.words - 1).bit_length())

    @cached_property
    def setup_layout(self) -> Layout:
        return Layout.of(
            *(Field(f"stall_{name}", 8, "chance of a stall in 256") for name in CHANNELS),
            Field("unlimited", 1, "no credits are needed"),
            Field("pattern_clocks", 32, "length of the pattern of credits"),
            Field("latency", 16, "clocks of the memory"),
            Field("loads", 32, "words that will be loaded"),
            Field("seed", 32, "of the stalls, not 0"),
        )

    @cached_property
    def load_layout(self) -> Layout:
        bits = self.data_bits // 8
        return Layout.of(Field("data", self.data_bits, "a word", bits), Field("place", self.place_bits, "its place"))

    @cached_property
    def host_layout(self) -> Layout:
        return Layout.of(
            Field("address", self._bits("s_axi_awaddr"), "of a register"),
            Field("value", 32, "data"),
            Field("operation", 2, "index into HOST_OPERATIONS"),
        )

    @cached_property
    def answer_layout(self) -> Layout:
        return Layout.of(Field("data", 32, "of a read"), Field("response", 2, "of the bus"))

    @cached_property
    def written_layout(self) -> Layout:
        bits = self.data_bits // 8
        return Layout.of(
            Field("data", self.data_bits, "a word, 0 where it is not written", bits),
            Field("strobes", bits, "bytes that are written", bits),
            Field("address", self._bits("m_axi_awaddr"), "of its first byte"),
        )

    @cached_property
    def report_layout(self) -> Layout:
        return Layout.of(*(Field(name, 32, "count") for name in Report._fields))

    def ports(self) -> tuple[Port, ...]:
        return (
            Port("setup", "in", self.setup_layout, "an episode begins"),
            Port("load", "in", self.load_layout, "a word from outside"),
            Port("pace", "in", Layout.plain(8), "words that the memory can move in a clock of the pattern"),
            Port("host", "in", self.host_layout, "a step of the host"),
            Port("answer", "out", self.answer_layout, "answer to a write or a read of a register"),
            Port("written", "out", self.written_layout, "a word that the unit writes"),
            Port("report", "out", self.report_layout, "counts of a job"),
        )

    def verilog(self, unit: str, top: str) -> str:
        """Text of module ``top``_bench, with the ``unit`` of module ``top`` in it."""
        layout = self.setup_layout
        checks = []
        for (bus, channel), parts in _STABLE.items():
            names = [f"{bus}_{channel}{part}" for part in parts]
            checks.append(
                (
                    f"{bus}_{channel}",
                    sum(map(self._bits, names)),
                    f"{bus}_{channel}valid",
                    f"{bus}_{channel}ready",
                    "{" + ", ".join(names) + "}",
                )
            )
        return str(
            unit
            + _template().render(
                top=top,
                ports=streams(self),
                wires=[(port.name, port.layout.bits, not port.is_input) for port in self.unit],
                words=self.words,
                pattern=MOST_PATTERN,
                word_bytes=self.data_bits // 8,
                shift=(self.data_bits // 8).bit_length() - 1,
                place_bits=self.place_bits,
                burst=self.burst,
                outstanding=self.outstanding,
                data_bits=self.data_bits,
                address_bits=self._bits("m_axi_araddr"),
                id_bits=self._bits("m_axi_arid"),
                lite_bits=self._bits("s_axi_awaddr"),
                start=self.start,
                checks=checks,
                watched=[(name, bits) for name, bits, *_ in checks],
                setup=[(field.name, field.bits, low) for low, field in layout.items()],
                seed_low=layout.offset("seed"),
            )
        )

    # Payloads --------------------------------------------------------------------------------------------------------

    def setup(
        self, *, seed: int, loads: int, latency: int = 0, stalls: float = 0.0, pattern_clocks: int = 0
    ) -> np.ndarray:
        """An item that begins an episode.

        Parameters
        ----------
        seed : of the stalls
        loads : words that a drive will have loaded in the end; 0 without a drive
        latency : clocks from the address of a burst to its first word, at least
        stalls : chance of a stall on every channel of the buses
        pattern_clocks : items of ``pace`` that the episode has; 0: the memory moves any number of words in a clock
        """
        chance = min(int(stalls * 256), 255)
        return self.setup_layout.pack(
            seed=1 + seed % (2**31 - 1),
            loads=loads,
            latency=latency,
            unlimited=int(not pattern_clocks),
            pattern_clocks=pattern_clocks,
            **{f"stall_{name}": chance for name in CHANNELS},
        )

    def host(self, steps: Iterable[HostStep]) -> np.ndarray:
        given = [*steps]
        return self.host_layout.pack(
            operation=np.array([HOST_OPERATIONS.index(one.operation) for one in given], np.int64),
            address=np.array([one.address for one in given], np.int64),
            value=np.array([one.value for one in given], np.int64),
        )

    def loads(self, places: np.ndarray, data: np.ndarray) -> np.ndarray:
        """Words to load: ``data`` of bytes, shape ``(words, bytes)``."""
        return self.load_layout.pack(place=places, data=data)

    def answers(self, answers: Sequence[tuple[int, int]]) -> np.ndarray:
        """Answers of the registers: response and data."""
        table = np.array(answers, np.int64).reshape(-1, 2)
        return self.answer_layout.pack(response=table[:, 0], data=table[:, 1])

    def reports(self, rows: np.ndarray) -> list[Report]:
        columns = self.report_layout.unpack(rows)
        return [Report(*(int(columns[name][n]) for name in Report._fields)) for n in range(len(rows))]
