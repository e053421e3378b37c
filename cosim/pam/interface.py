"""Bench of ``pam-interface``: the unit between two memories whose controllers keep the constraints of their files.

The memories are C++ beside the Verilated unit. Each has a controller that takes commands in order and opens rows of
later commands ahead of their turn. It issues every command at the first cycle that the timing engine's tables of that
memory allow. The written data are compared byte by byte with the model, and the order of all commands with the
schedulers' model.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...constraints.core.errors import CheckFailed, ConfigError
from ...constraints.core.workspace import cache_folder
from ...constraints.memory import load_memory
from ...constraints.pam.cpu_path import cpu_path
from ...constraints.pam.interface import (
    MemorySide,
    PamInterfaceConfig,
    PamInterfaceResult,
    PatternFigures,
    TransferWorkload,
)
from ...constraints.pam.layout import TIERS
from ...models.memory.tables import make_image, make_tables
from ...models.pam.interface import Image, SchedulerModel, Tokens, bundles, replay, transfer
from ...models.pam.transfer import CONTROLLER_QUEUE, complete_latency
from ..bench.build import build_driver, model_arguments
from ..bench.campaign import Campaign, Played
from ..bench.request import SimRequest
from ..bench.streams import StreamRun, reset_clocks
from ..bench.vectors import _render

__all__ = ["PATTERNS", "Outcome", "bench", "migrate", "own_ns", "pattern", "simulate"]


@dataclass
class Outcome(Played):
    """Outcome of a run. Times are in ns, from the first descriptor offered to the last write in the memory."""

    config: PamInterfaceConfig = field(kw_only=True)
    tokens: int = field(kw_only=True)
    time_ns: float = field(kw_only=True)
    source_own_ns: float = field(kw_only=True)
    destination_own_ns: float = field(kw_only=True)
    first_done_ns: float = field(kw_only=True)
    read_openings: int = field(kw_only=True)
    write_openings: int = field(kw_only=True)
    written: Image = field(kw_only=True)

    def run_figures(self) -> dict[str, int]:
        return {"cycles": self.run.clocks}

    @property
    def bytes(self) -> int:
        return self.tokens * self.config.token_bytes

    @property
    def bytes_per_ns(self) -> float:
        return self.bytes / self.time_ns if self.time_ns else 0.0

    @property
    def fraction(self) -> float:
        """Throughput as a fraction of the slower memory's own rate for the same accesses in its best order."""
        return max(self.source_own_ns, self.destination_own_ns) / self.time_ns if self.time_ns else 0.0

    @property
    def cpu_ns(self) -> float:
        """Modelled time of the same transfer by the CPU."""
        return cpu_path().time_ns(self.source_own_ns, self.destination_own_ns)


# Patterns --------------------------------------------------------------------------------------------------------------

#: Patterns from row hits to row conflicts, with the number of tokens in a run. A run takes consecutive slots, and runs
#: follow each other. In ``spread`` the descriptors take a token of every run in turn, as a host does that knows the
#: groups. ``one-bank`` puts every token in another row of the same bank. If a command reaches several chips, a run is
#: that many slots of all chips, and bundles come in turn. In ``random`` each token is by itself.
PATTERNS: dict[str, int] = {"sequential": 256, "spread": 64, "runs-32": 32, "runs-8": 8, "random": 1, "one-bank": 0}


def pattern(
    side: MemorySide, token_bytes: int, name: str, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Groups and slots of ``count`` tokens (fewer in ``one-bank`` if it has fewer rows). No place occurs twice. Runs
    lie anywhere in the memory."""
    layout = side.layout
    chips = 1 if name == "random" else side.chips
    slots = layout.slots_of_group(token_bytes)
    if count > slots * side.groups:
        raise ConfigError(f"{count} tokens do not fit the {slots * side.groups} places of '{side.format}'")
    if name == "one-bank":
        # Tokens of different tiles never share a row.
        stride = max(side.tile_tokens, side.row_bytes // layout.part_bytes(token_bytes))
        room = layout.slots_of_bank(token_bytes) // stride
        index = rng.choice(room, min(-(-count // chips), room), replace=False) * stride
        places = layout.slot(0, index)[:, None]
    else:
        run = min(max(1, PATTERNS[name] // chips), slots)
        start = rng.choice(slots * side.groups // chips // run, -(-count // (run * chips)), replace=False)
        places = start[:, None] * run + np.arange(run)
        places = (places.T if name == "spread" else places).reshape(-1, 1)
    group = (places // slots * chips + np.arange(chips)).ravel()[:count]
    return group, np.repeat(places % slots, chips)[:count]


# The program -----------------------------------------------------------------------------------------------------------


def _wrapper(config: PamInterfaceConfig, top: str) -> str:
    ports, pins = ["input clk", "input rst"], [".clk(clk)", ".rst(rst)"]
    for port in config.ports():
        there, back = ("input", "output") if port.is_input else ("output", "input")
        ports += [
            f"{there} [{port.layout.bits - 1}:0] {port.name}_payload",
            f"{there} {port.name}_valid",
            f"{back} {port.name}_ready",
        ]
        pins += [f".{port.name}__{part}({port.name}_{part})" for part in ("payload", "valid", "ready")]
    return f"module bench ({', '.join(ports)});\n  {top} dut ({', '.join(pins)});\nendmodule\n"


def _program(config: PamInterfaceConfig, verilog: str, top: str, waves: bool = False) -> Path:
    driver = _render("interface.cpp.j2", top=top)
    return build_driver(verilog, top, _wrapper(config, top), {"driver.cpp": driver}, waves=waves) / "bench"


def _numbers(path: Path, values: Any) -> None:
    np.asarray(values, "<i8").tofile(path)


def _memory_files(folder: Path, config: PamInterfaceConfig, name: str) -> None:
    """Write the tables of a side's memory, and the places of the fields in its commands. A side that is none of the
    tiers takes one access in every cycle of the unit's clock."""
    side: MemorySide = getattr(config, name)
    commands = config.read_layout if name == "source" else config.write_layout
    tier = TIERS.get(side.format)
    timed = tier is not None and tier.bank_states >= side.bank_states and tier.lockstep == side.lockstep
    if timed and tier is not None:
        memory = load_memory(tier.memory)
        tables, numbering = make_tables(memory)
        image = make_image(tables)
        targets = {way: numbering.targets[command] for way, command in (("read", "RD"), ("write", "WR"))}
        sizes = [
            numbering.slots,
            numbering.ring_times,
            int(tables.bank.max()) + 1,
            CONTROLLER_QUEUE,
            round(memory.clock_ps * 1000),
            int(memory.dual_issue),
            0,
        ]
    else:
        image, targets = np.zeros(1), {"read": np.zeros(1), "write": np.zeros(1)}
        sizes = [0, 0, 0, CONTROLLER_QUEUE, 1_000_000, 0, 20]
    _numbers(folder / f"{name}_tables.bin", image)
    for way, target in targets.items():
        _numbers(folder / f"{name}_{way}_targets.bin", target)
    _numbers(folder / f"{name}_memory.bin", sizes)

    seen = side.commands
    places = {field.name: (low, field.bits) for low, field in commands.items()}
    _numbers(
        folder / f"{name}_side.bin",
        [
            *(number for part in ("group", "bank", "row", "column", "chips") for number in places.get(part, (0, 0))),
            seen.lockstep,
            side.banks,
            side.rows,
            side.columns,
            side.beats,
            side.port_bytes * side.chips,
        ],
    )


@contextmanager
def _folder() -> Iterator[Path]:
    base = cache_folder() / "runs"
    base.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="run-", dir=base) as name:
        yield Path(name)


def _run(command: list[str], top: str) -> dict[str, float]:
    process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    lines = process.stdout.splitlines()
    if process.returncode:
        raise CheckFailed(f"{top}: the simulation stopped (exit {process.returncode}): {(lines or ['no output'])[-1]}")
    return {key: float(value) for key, value in (line.split() for line in lines)}


def own_ns(program: Path, config: PamInterfaceConfig, name: str, tokens: Tokens) -> float:
    """Time of the commands of tokens on one memory alone, in the best of these orders:

    - as the tokens come
    - accesses of a row together, the rows of different banks one after the other
    - the same with an access of each group's row in turn
    """
    whole: MemorySide = getattr(config, name)
    group, slot = getattr(tokens, f"{name}_group"), getattr(tokens, f"{name}_slot")
    if whole.chips > 1:
        first = np.unique(bundles(config, tokens), return_index=True)[1]
        group, slot = group[first] // whole.chips, slot[first]
    side = whole.commands
    accesses = side.layout.accesses(0, group, slot, config.token_bytes).ravel()
    flat = side.layout.byte_address(accesses) // side.access_bytes
    state = side.layout.bank_state(accesses["group"], accesses["bank"])
    row = accesses["row"]
    by_row = np.lexsort((row, state))

    def rank(starts: np.ndarray, counted: np.ndarray) -> np.ndarray:
        """Number of ``counted`` since the last start, along ``by_row``, in the order of the accesses."""
        total = np.cumsum(counted)
        out = np.empty(len(by_row), np.int64)
        out[by_row] = total - np.maximum.accumulate(np.where(starts, total, 0))
        return out

    new_bank = np.r_[True, np.diff(state[by_row]) != 0]
    new_row = new_bank | np.r_[True, np.diff(row[by_row]) != 0]
    turn = rank(new_bank, new_row)  # number of the row among those of its bank
    place = rank(new_row, np.ones(len(by_row), np.int64))  # number of the access in its row
    bank, unit = state % side.banks, state // side.banks
    orders = (np.arange(len(flat)), np.lexsort((place, state, turn)), np.lexsort((unit, place, bank, turn)))
    times = []
    with _folder() as folder:
        _memory_files(folder, config, name)
        for chosen in orders:
            _numbers(folder / "order.bin", np.stack([flat[chosen], state[chosen], row[chosen]], axis=1))
            times.append(_run([str(program), "own", name, str(folder)], name)["ps"] / 1e3)
    return min(times)


def simulate(
    config: PamInterfaceConfig,
    verilog: str,
    tokens: Tokens,
    data: np.ndarray,
    *,
    top: str = "pam_interface",
    stalls: float = 0.0,
    seed: int = 1,
    order: bool = True,
    waves: Path | None = None,
    power_up: str = "zeros",
    resets: int = 0,
) -> Outcome:
    """Move tokens through the RTL; compare every byte written, every tag, and the order of all commands.

    With ``power_up="random"`` or ``resets`` everything is first simulated from zeros, with no further reset. From other
    states the unit must behave the same in every clock. Every difference is a mismatch.

    Parameters
    ----------
    data : bytes of the tokens, uint8 of shape ``(tokens, token_bytes)``
    stalls : chance that an input is withheld, or an output refused, in a clock
    order : whether to compare the order of commands
    waves : file for a waveform (the suffix is set by the format: ``.fst`` or ``.vcd``)
    power_up, resets : as of :func:`~.streams.play`

    Raises
    ------
    :exc:`CheckFailed`
        If the simulation crashed. Wrong results and an unfinished transfer do not raise: see ``mismatches``.
    """
    program = _program(config, verilog, top, waves is not None)
    source, destination = config.source, config.destination
    image = Image.of(source, config.token_bytes, tokens.source_group, tokens.source_slot, data)
    expected = transfer(config, image, tokens)
    own = {name: own_ns(program, config, name, tokens) for name in ("source", "destination")}
    accesses = len(expected.address)
    commands = (
        int(bundles(config, tokens)[-1]) + 1 if destination.chips > 1 else len(tokens)
    ) * destination.layout.accesses_of_token(config.token_bytes)
    clock_ns = 1e3 / config.clock_mhz
    slack = 1.0 if not stalls else 8.0 / (1.0 - stalls) ** 2
    guards = len(tokens) * (
        (source.read_bank_cycles + source.read_recovery_cycles) * len(source.fragments(config.token_bytes))
        + (destination.write_bank_cycles + destination.write_recovery_cycles)
        * len(destination.fragments(config.token_bytes))
    )
    limit = int((sum(own.values()) / clock_ns * 4 + guards) * slack + 100_000)
    with _folder() as folder:
        for name in ("source", "destination"):
            _memory_files(folder, config, name)
        addresses, content = _by_command(source, image)
        _numbers(folder / "addresses.bin", addresses)
        _bytes(folder / "content.bin", content)
        descriptors = _descriptors(config, tokens)
        _bytes(folder / "descriptors.bin", descriptors)

        def run(random: bool, cuts: Sequence[int]) -> tuple[dict[str, float], list[dict[str, np.ndarray]]]:
            _numbers(
                folder / "run.bin",
                [
                    round(1e9 / config.clock_mhz),
                    seed,
                    min(int(stalls * 2**32), 2**32 - 1),
                    limit,
                    commands,
                    random,
                    descriptors.shape[1],
                    config.beat_layout.offset("last"),
                ],
            )
            _numbers(folder / "resets.bin", cuts)
            told = _run([str(program), "unit", *model_arguments(), str(folder)], top)
            logs = [
                {
                    name: np.fromfile(folder / f"{name}.{part}.out", "u1" if name == "data" else "<i8").reshape(
                        -1, size
                    )
                    for name, size in LOGS.items()
                }
                for part in range(len(cuts) + 1)
            ]
            return told, [{**log, "data": _meant(destination, log["writes"], log["data"])} for log in logs]

        differences: list[str] = []
        began = time.perf_counter()
        told, (logs,) = run(False, [])
        if power_up != "zeros" or resets:
            plain, cuts = logs, reset_clocks(int(told["cycles"]), resets, seed)
            told, played = run(power_up == "random", cuts)
            for part, (logs, clock) in enumerate(zip(played, (*cuts, None), strict=True)):
                where = f"after reset {part} at clock {cuts[part - 1]}" if part else f"from {power_up} registers"
                differences += [f"{where}: {what}" for what in _differences(plain, logs, clock)]
        seconds = time.perf_counter() - began
        kept = None
        for dump in folder.glob("waves.*"):
            if waves is not None:
                kept = waves.with_suffix(dump.suffix)
                kept.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(dump, kept)

    notes: list[str] = differences
    wrong = len(differences)

    def check(right: bool, note: str) -> int:
        if not right:
            notes.append(note)
        return int(not right)

    wrong += check(
        told["done"] == len(tokens), f"{int(told['done'])} of {len(tokens)} tokens done in {int(told['cycles'])} cycles"
    )
    wrong += check(told["faults"] == 0, f"{int(told['faults'])} breaches of the stream contract")
    wrong += check(told["unknown"] == 0, f"{int(told['unknown'])} reads of places that hold no token")
    tags = logs["done"]
    wrong += check(
        bool((np.sort(tags[:, 1]) == np.sort(tokens.tag)).all()) if len(tags) == len(tokens) else False,
        "the tags done are not those of the tokens, each once",
    )
    written = logs["writes"]
    addresses, blocks = _by_chip(destination, written, logs["data"].ravel())
    by_address = np.argsort(addresses, kind="stable")
    addresses, blocks = addresses[by_address], blocks[by_address]
    first = None
    if len(addresses) != accesses or len(written) != commands or (addresses != expected.address).any():
        right, twice = len(np.intersect1d(addresses, expected.address)), len(addresses) - len(np.unique(addresses))
        wrong += check(
            False,
            f"{len(written)} writes with {len(addresses)} data, {right} of the {accesses} addresses "
            f"expected, {twice} more than once",
        )
    else:
        bad = np.flatnonzero((blocks != expected.block).any(axis=1))
        wrong += len(bad)
        if len(bad):
            k = int(bad[0])
            got, want = (part[k].tobytes()[::-1].hex()[-32:] for part in (blocks, expected.block))
            first = f"address {int(addresses[k])} of '{destination.format}': got 0x{got}, expected 0x{want}"
    if order and not wrong:
        note = _compare_order(config, tokens, logs)
        wrong += check(not note, note)
    first = first or (notes[0] if notes else None)
    done = tags[:, 0]
    return Outcome(
        StreamRun({}, [], int(told["cycles"]), seconds, kept),
        accesses,
        wrong,
        first,
        notes,
        config=config,
        tokens=len(tokens),
        time_ns=told["ps"] / 1e3,
        source_own_ns=own["source"],
        destination_own_ns=own["destination"],
        first_done_ns=float(done.min() * clock_ns) if len(done) else 0.0,
        read_openings=int(told["read_openings"]),
        write_openings=int(told["write_openings"]),
        written=Image(addresses, blocks),
    )


#: Logs that the program writes of a run, and the numbers in an entry. The first number is the clock cycle, except in
#: the log of bytes written.
LOGS = {"accept": 1, "reads": 2, "writes": 3, "arrive": 1, "done": 2, "data": 1}


def _meant(side: MemorySide, written: np.ndarray, data: np.ndarray) -> np.ndarray:
    """Bytes written. Chips that a write (cycle, address, chips) does not reach may get any bytes, which are set to 0
    here."""
    at = np.arange(len(data))
    command = at // (side.access_bytes * side.chips)
    meant = written[np.minimum(command, len(written) - 1), 2] >> at // side.port_bytes % side.chips & 1
    return np.where((meant | (command >= len(written)))[:, None], data, 0) if len(written) else data


def _differences(plain: dict[str, np.ndarray], logs: dict[str, np.ndarray], clock: int | None) -> list[str]:
    """Differences between the logs until ``clock`` (None: to the end) and the beginning of ``plain``."""
    found = []
    for name, got in logs.items():
        want = plain[name]
        if clock is not None:
            want = want[: len(got)] if name == "data" else want[want[:, 0] < clock]
        both = min(len(got), len(want))
        wrong = np.flatnonzero((got[:both] != want[:both]).any(axis=1))
        if len(wrong) or len(got) != len(want):
            at = int(wrong[0]) if len(wrong) else both
            pair = [rows[at].tolist() if at < len(rows) else "nothing" for rows in (got, want)]
            found.append(f"{name} {at}: {pair[0]} instead of {pair[1]}")
    return found


def _bytes(path: Path, values: np.ndarray) -> None:
    raw = np.ascontiguousarray(values).tobytes()
    path.write_bytes(raw + bytes(-len(raw) % 8))


def _by_command(side: MemorySide, image: Image) -> tuple[np.ndarray, np.ndarray]:
    """Contents of a memory as its commands see it: addresses in commands, and the bytes of each command beat by beat.
    The bytes of the first chip come first in each beat. Chips that hold nothing there have 0."""
    rest, inner = np.divmod(image.address // side.access_bytes, side.banks * side.rows * side.columns)
    group, chip = np.divmod(rest, side.chips)
    addresses, at = np.unique(group * (side.banks * side.rows * side.columns) + inner, return_inverse=True)
    out = np.zeros((len(addresses), side.beats, side.chips, side.port_bytes), np.uint8)
    out[at, :, chip] = image.block.reshape(-1, side.beats, side.port_bytes)
    return addresses, out


def _by_chip(side: MemorySide, written: np.ndarray, data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Inverse of :func:`_by_command` for writes (cycle, address, chips): addresses and bytes of the data written in
    each chip."""
    size = side.access_bytes * side.chips
    whole = min(len(written), len(data) // size)
    group, inner = np.divmod(written[:whole, 1], side.banks * side.rows * side.columns)
    blocks = data[: whole * size].reshape(whole, side.beats, side.chips, side.port_bytes).transpose(0, 2, 1, 3)
    command, chip = np.nonzero(written[:whole, 2, None] >> np.arange(side.chips) & 1)
    addresses = (group[command] * side.chips + chip) * (side.banks * side.rows * side.columns) + inner[command]
    return addresses * side.access_bytes, blocks[command, chip].reshape(-1, side.access_bytes)


def _descriptors(config: PamInterfaceConfig, tokens: Tokens) -> np.ndarray:
    """Payloads of descriptors in whole words of 64 bits: uint8, shape ``(tokens, bytes)``."""
    layout = config.descriptor_layout
    more = {"more": np.r_[np.diff(bundles(config, tokens)) == 0, False]} if config.chips > 1 else {}
    rows = layout.pack({**vars(tokens), **more})
    return np.pad(rows, ((0, 0), (0, -layout.payload_bytes % 8)))


def _compare_order(config: PamInterfaceConfig, tokens: Tokens, logs: dict[str, np.ndarray]) -> str:
    """The first command that differs from the order of the schedulers' model, as text; empty if there is none."""

    def flat(side: MemorySide, a: Any) -> int:
        return ((a.group * side.banks + a.bank) * side.rows + a.row) * side.columns + a.column

    def model_of(side: MemorySide, depth: int, bank: int, recovery: int) -> SchedulerModel:
        return SchedulerModel(side.commands, config.token_bytes, depth, bank, recovery, config.hit_limit)

    def first_wrong(what: str, log: np.ndarray, chosen: list[Any], side: MemorySide) -> str:
        for k, (got, want) in enumerate(zip(log[:, 1].tolist(), chosen, strict=False)):
            if got != flat(side, want):
                return f"{what} command {k}: address {got}, the model's choice is {flat(side, want)}"
        return (
            "" if len(chosen) == len(log) else f"{what} command {len(chosen)}: at a cycle in which the model has none"
        )

    source, destination = config.source, config.destination
    reads, writes = logs["reads"], logs["writes"]
    number = bundles(config, tokens)
    members: list[list[int]] = [[] for _ in range(int(number[-1]) + 1)]  # tokens of each bundle
    for token, bundle in enumerate(number.tolist()):
        members[bundle].append(token)
    # The sender orders bundles, each from the cycle on in which its last token is described.
    read_as = members if source.chips > 1 else [[token] for token in range(len(tokens))]
    arrivals = (
        (
            int(logs["accept"][them[-1], 0]),
            int(tokens.source_group[them[0]]) // source.chips,
            int(tokens.source_slot[them[0]]),
        )
        for them in read_as
    )
    model = model_of(source, config.reorder_depth, source.read_bank_cycles, source.read_recovery_cycles)
    chosen = replay(model, arrivals, reads[:, 0].tolist())
    if note := first_wrong("read", reads, chosen, source):
        return note
    # A token is complete with the last beat of its last access; it or its bundle is at the receiver a fixed time later.
    came = logs["arrive"].reshape(-1, source.beats)[:, -1]
    offers, left = [], [len(them) for them in members]
    for cycle, access in zip(came.tolist(), chosen, strict=True):
        for token in read_as[access.token] if access.last else ():
            left[number[token]] -= 1
            if destination.chips == 1 or not left[number[token]]:
                offers.append(
                    (
                        cycle + complete_latency(config),
                        int(tokens.destination_group[token]) // destination.chips,
                        int(tokens.destination_slot[token]),
                    )
                )
    model = model_of(destination, config.write_depth, destination.write_bank_cycles, destination.write_recovery_cycles)
    return first_wrong("write", writes, replay(model, offers, writes[:, 0].tolist()), destination)


def random_data(count: int, config: PamInterfaceConfig, rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 256, (count, config.token_bytes), np.uint8)


def random_tokens(
    config: PamInterfaceConfig, name: str, count: int, rng: np.random.Generator, destination: str | None = None
) -> Tokens:
    """Tokens of a pattern (another one at the destination if given)."""
    source = pattern(config.source, config.token_bytes, name, count, rng)
    target = pattern(config.destination, config.token_bytes, destination or name, count, rng)
    size = min(len(source[0]), len(target[0]))
    tags = rng.permutation(min(1 << config.tag_bits, 1 << 20))
    tags = np.resize(tags, size)
    return Tokens(source[0][:size], source[1][:size], target[0][:size], target[1][:size], tags)


def migrate(
    stages: Sequence[tuple[PamInterfaceConfig, str]],
    count: int,
    *,
    stalls: float = 0.0,
    seed: int = 1,
    top: str = "pam_interface",
    kind: str = "runs-8",
) -> list[Outcome]:
    """Move tokens through several interfaces, one after the other. Each interface reads the data that the one before
    wrote.

    The destination of each stage is the source of the next. The last memory's tokens are compared with the first's.
    """
    rng = np.random.default_rng(seed)
    first = stages[0][0]
    data = random_data(count, first, rng)
    place = pattern(first.source, first.token_bytes, kind, count, rng)
    outcomes = []
    held = data
    for config, verilog in stages:
        target = pattern(config.destination, config.token_bytes, kind, count, rng)
        tokens = Tokens(*place, *target, np.resize(np.arange(1 << min(config.tag_bits, 20)), count))
        outcome = simulate(config, verilog, tokens, held, top=top, stalls=stalls, seed=seed)
        if not outcome.mismatches:
            held = outcome.written.tokens(config.destination, config.token_bytes, *target)
        outcomes.append(outcome)
        place = target
    if (held != data).any() and not any(o.mismatches for o in outcomes):
        outcomes[-1].mismatches += 1
        outcomes[-1].first_mismatch = "the tokens are not what they were"
    return outcomes


#: Longest time in ns that a measured pattern may take on the slower memory. A page of flash takes 30 us to read and
#: 200 us to write, for one token or for many.
MEASURED_NS = 1_000_000.0


def bench(request: SimRequest) -> PamInterfaceResult:
    """Run the whole bench of ``pam-interface``.

    Every pattern of :data:`PATTERNS` runs at full speed (with fewer tokens if the memory is slow), then with random
    stalls on every stream. Each run is compared byte by byte and command by command.
    """
    config, rng = request.config, np.random.default_rng(request.seed)
    workload: TransferWorkload = request.workload
    campaign = Campaign(
        request, lambda work, **options: simulate(config, request.verilog, *work, top=request.module, **options)
    )
    program = _program(config, request.verilog, request.module)
    patterns: dict[str, PatternFigures] = {}
    for name in PATTERNS:
        tokens = random_tokens(config, name, workload.tokens, rng)
        slow = max(own_ns(program, config, side, tokens) for side in ("source", "destination"))
        fewer = len(tokens) if slow <= MEASURED_NS else min(len(tokens), max(4, int(len(tokens) * MEASURED_NS / slow)))
        tokens = Tokens(*(values[:fewer] for values in vars(tokens).values()))
        data = random_data(fewer, config, rng)
        outcome = campaign.run(name, (tokens, data), waves=name == "sequential")
        patterns[name] = PatternFigures(
            tokens=fewer,
            time_ns=round(outcome.time_ns, 1),
            gb_per_s=round(outcome.bytes_per_ns, 4),
            source_own_ns=round(outcome.source_own_ns, 1),
            destination_own_ns=round(outcome.destination_own_ns, 1),
            fraction=round(outcome.fraction, 4),
            first_done_ns=round(outcome.first_done_ns, 1),
            read_openings=outcome.read_openings,
            write_openings=outcome.write_openings,
            cpu_ns=round(outcome.cpu_ns, 1),
            cpu_ratio=round(outcome.cpu_ns / outcome.time_ns, 2),
        )
        if not outcome.mismatches:
            few = Tokens(*(values[: max(1, fewer // 8)] for values in vars(tokens).values()))
            campaign.run(f"{name}, stalls", (few, data[: len(few)]), stalls=0.4)
            if name == "sequential":
                campaign.run("power_up", (few, data[: len(few)]))
    main = campaign.outcomes["sequential"]
    quoted = cpu_path().quoted_ms_per_mib * 1e6 * main.bytes / (1 << 20)
    return campaign.result(
        PamInterfaceResult,
        cycles=main.run.clocks,
        utilisation=round(main.fraction, 6),
        rate_fraction=min(1.0, patterns["random"].fraction),
        patterns=patterns,
        cpu_quoted_ratio=round(quoted / main.time_ns, 1),
    )
