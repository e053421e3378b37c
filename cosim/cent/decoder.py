"""Bench of ``cent-decoder``: commands and ends of programs, compared one by one with the model, and clocks.

An answer to a blocking instruction is offered from the beginning of its epoch, unless a run says otherwise. The unit
takes it when the instruction waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...constraints.cent.decoder import BLOCKING, CentDecoderConfig, CentDecoderResult, Wait
from ...constraints.cent.isa import INSTRUCTIONS, RESULTS, WORD, WORD_BYTES, CentIsa, DecodeError
from ...models.cent.decoder import Decoded, decode
from ..bench.campaign import Campaign, Played, Stimulus, play_stimulus
from ..bench.request import SimRequest
from ..bench.streams import Items

__all__ = [
    "Episode",
    "Outcome",
    "bench",
    "every_error",
    "late_answers",
    "random_columns",
    "random_episodes",
    "simulate",
    "stimulus",
]

#: Cycle of its epoch in which an answer comes that is late.
LATE = 40


def random_columns(
    isa: CentIsa,
    rng: np.random.Generator,
    count: int,
    *,
    damage: float = 0.0,
    mnemonics: Sequence[str] | None = None,
    most: int | None = None,
) -> dict[str, np.ndarray]:
    """Fields of random legal words, of all instructions but EOC by default, with an OPsize of at most ``most``.

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
        room = min(
            [
                *([isa.slots] if {"Rs", "Rd"} & set(has) else []),
                *([isa.columns] if {"CO", "GB"} & set(has) else []),
                (1 << WORD.widths["OPsize"]) - 1,
                *([most] if most else []),
            ]
        )
        size = np.where(rng.random(n) < 0.8, np.minimum(rng.integers(1, 9, n), room), rng.integers(1, room + 1, n))
        if "OPsize" not in has:
            size = np.ones(n, np.int64)
        mask = rng.integers(1, 1 << isa.channels, n)
        steps = np.array([int(m).bit_count() for m in mask.tolist()], np.int64) if name in RESULTS else size
        out["opcode"][at] = one.opcode
        for operand in one.operands:
            limits: dict[str, Any] = {
                "CHid": isa.channels,
                "BK": isa.banks,
                "RO": isa.rows,
                "PC": isa.program_words,
                "Regid": isa.lanes if name == "WR_ABK" else isa.registers,
                "AFid": isa.functions,
                "DVid": isa.devices,
                "DVcount": isa.devices,
                "NB": 2,
                "OV": 2,
                "CO": isa.columns - size + 1,
                "GB": isa.columns - size + 1,
                "Rs": isa.slots - size + 1,
                "Rd": isa.slots - steps + 1,
            }
            if operand.name == "OPsize":
                value = size
            elif operand.name == "CHmask":
                value = mask << (32 - isa.channels)
            else:
                value = rng.integers(int(operand.name == "DVcount"), limits[operand.name], n)
            if operand.name == "GB":
                value = (value - out["CO"][at]) % isa.columns
            out[operand.field][at] = value
    changed = np.flatnonzero(rng.random(count) < damage)
    fields = rng.integers(len(WORD.fields), size=len(changed))
    for number, (name, width) in enumerate(WORD.widths.items()):
        at = changed[fields == number]
        anything = rng.integers(0, 1 << width, len(at))
        near = (out[name][at] + rng.integers(0, 1 << min(width, 6), len(at))) & ((1 << width) - 1)
        out[name][at] = np.where(rng.random(len(at)) < 0.3, anything, near)
    return out


# Items of the host -------------------------------------------------------------------------------------------------------


@dataclass
class Episode:
    """Items of the host, and answers to blocking instructions.

    Attributes
    ----------
    words, clear : items: words, uint8 of shape ``(items, 16)``, and whether each is a CLEAR instead
    wrong_answers : blocking instructions of the episode, by number, whose answer is of another instruction
    answer_cycle : cycle of the epoch before which no answer is offered
    """

    words: np.ndarray
    clear: np.ndarray
    wrong_answers: tuple[int, ...] = ()
    answer_cycle: int = 0

    @classmethod
    def of(
        cls, isa: CentIsa, columns: dict[str, np.ndarray], *, clear: bool = False, end: bool = True, **options: Any
    ) -> Episode:
        """Words of fields, which need not be legal.

        Parameters
        ----------
        end : an EOC follows
        clear : then a CLEAR and an EOC, so that the episode ends when all its items are taken, even if they are dropped
        """
        last = isa.pack({"opcode": [INSTRUCTIONS["EOC"].opcode]})
        words = np.concatenate([WORD.pack(columns), *([last] if end else []), *([0 * last, last] if clear else [])])
        flags = np.zeros(len(words), bool)
        flags[-2:-1] = clear
        return cls(words, flags, **options)


def _columns(mnemonic: str, count: int = 1, **fields: Any) -> dict[str, np.ndarray]:
    """Fields of the same instruction several times; the others are 0."""
    given = {"opcode": INSTRUCTIONS[mnemonic].opcode, **fields}
    return {name: np.broadcast_to(np.asarray(given.get(name, 0), np.int64), count) for name in WORD.widths}


def _joined(*parts: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: np.concatenate([part[name] for part in parts]) for name in WORD.widths}


def random_episodes(
    config: CentDecoderConfig, rng: np.random.Generator, count: int, *, damage: float = 0.0, most: int = 40
) -> list[Episode]:
    """Programs of up to ``most`` random instructions, some of them several programs in a row.

    ``damage`` is the chance that an episode has wrong words or wrong answers.
    """
    out = []
    for _ in range(count):
        bad = rng.random() < damage
        columns = random_columns(
            config.isa,
            rng,
            int(rng.integers(0, most + 1)),
            damage=0.15 if bad and rng.random() < 0.7 else 0.0,
            mnemonics=list(INSTRUCTIONS) if rng.random() < 0.3 else None,
            most=16 if config.micro_ops else None,
        )
        wrong = tuple(rng.integers(0, 6, 1).tolist()) if bad and rng.random() < 0.5 else ()
        out.append(Episode.of(config.isa, columns, clear=damage > 0, wrong_answers=wrong))
    return out


def every_error(config: CentDecoderConfig) -> list[Episode]:
    """A program for each code, each after a right one, and followed by words that are dropped."""
    isa = config.isa
    full = ((1 << isa.channels) - 1) << (32 - isa.channels)
    right = _columns("WR_BIAS", CHmask=full, Rs=isa.slots - 1)
    wrong = [
        _columns("SYNC", opcode=0),
        _columns("SYNC", opcode=255),
        _columns("SYNC", unused=1),
        _columns("SYNC", BK=1),
        _columns("EXP", OPsize=0),
        _columns("RD_MAC"),
        _columns("EXP", OPsize=isa.slots, Rs=1),
        _columns("WR_SBK", OPsize=1, CHmask=isa.channels),
        _columns("WR_SBK", OPsize=1, CHmask=1 << 31),
        _columns("MAC_ABK", CHmask=full, OPsize=2, CO=isa.columns - 1),
        _columns("MAC_ABK", CHmask=full, OPsize=2, CO=0, Rs=isa.columns - 1),
        _columns("BCAST_CXL", OPsize=1),
        _columns("MAC_ABK", CHmask=full, OPsize=isa.columns + 1),
    ]
    if isa.channels > 1:
        wrong.append(_columns("RD_MAC", CHmask=full, Rd=isa.slots - isa.channels + 1))
    if isa.channels < 32:
        wrong.append(_columns("RD_MAC", CHmask=full | 1))
    for mnemonic, name, limit in (
        ("MAC_SBK", "BK", isa.banks),
        ("MAC_SBK", "RO", isa.rows),
        ("RD_MAC", "Regid", isa.registers),
        ("WR_ABK", "Regid", isa.lanes),
        ("AF", "AFid", isa.functions),
        ("SEND_CXL", "DV", isa.devices),
        ("RISCV", "RO", isa.program_words),
        ("RD_GPR", "Rs", isa.slots),
        ("WR_GPR", "Rd", isa.slots),
    ):
        if limit < 1 << WORD.widths[name]:
            one = INSTRUCTIONS[mnemonic].by_name
            wrong.append(
                _columns(mnemonic, **{name: limit}, OPsize=int("OPsize" in one), CHmask=full if "CHmask" in one else 0)
            )
    out = [Episode.of(isa, _joined(right, one, right), clear=True) for one in wrong]
    if config.blocking_opcodes:
        blocking = [
            _columns(name, CHmask=full if "CHmask" in INSTRUCTIONS[name].by_name else 0)
            for name in BLOCKING[config.blocking]
        ]
        out += [Episode.of(isa, _joined(right, one, right), clear=True, wrong_answers=(0,)) for one in blocking]
    return [*out, Episode.of(isa, right, clear=True)]


# Simulation --------------------------------------------------------------------------------------------------------------


@dataclass
class Outcome(Played):
    """Outcome of a simulation, and the codes with which programs ended."""

    codes: list[DecodeError] = field(kw_only=True)
    decoded: Decoded = field(kw_only=True)


def stimulus(config: CentDecoderConfig, episodes: Sequence[Episode]) -> tuple[Stimulus, Decoded]:
    """Items of a host and answers, and what the model makes of them. An episode is an epoch."""
    words = np.concatenate([one.words for one in episodes])
    clear = np.concatenate([one.clear for one in episodes])
    of = np.repeat(np.arange(len(episodes)), [len(one.words) for one in episodes])
    waits = decode(config, words, clear).answer_items
    number = np.arange(len(waits)) - np.searchsorted(of[waits], of[waits])
    refused = [
        item
        for item, n, e in zip(waits.tolist(), number.tolist(), of[waits].tolist(), strict=True)
        if n in episodes[e].wrong_answers
    ]
    found = decode(config, words, clear, refused)
    answers = np.where(np.isin(found.answer_items, refused), found.answers ^ 1, found.answers)
    packed = np.zeros((len(words), config.host_layout.payload_bytes), np.uint8)
    packed[:, :WORD_BYTES], packed[:, WORD_BYTES] = words, clear
    late = np.array([one.answer_cycle for one in episodes], np.int64)
    answered = of[found.answer_items]
    items = {
        "host": Items.of(packed, epoch=of),
        "finished": Items.of(config.finished_layout.pack(op=answers), epoch=answered, cycle=late[answered]),
    }
    expected = {
        "command": config.command_layout.pack(found.commands),
        "done": config.done_layout.pack(code=found.codes, position=found.positions),
    }
    targets = {
        "command": np.bincount(of[found.command_items], minlength=len(episodes)),
        "done": np.bincount(of[found.done_items], minlength=len(episodes)),
    }
    return Stimulus(items, expected, targets, work=len(words) + config.depth + len(found.command_items)), found


def simulate(
    config: CentDecoderConfig, verilog: str, episodes: Sequence[Episode], *, top: str = "cent_decoder", **options: Any
) -> Outcome:
    """Let a host send its items; compare every command and every message with the model.

    Parameters
    ----------
    options : as of :func:`play_stimulus`, and the same errors
    """
    given, found = stimulus(config, episodes)
    played = play_stimulus(config, verilog, top, given, **options)
    return Outcome(**vars(played), codes=[DecodeError(code) for code in found.codes.tolist()], decoded=found)


def late_answers(
    config: CentDecoderConfig, verilog: str, *, top: str = "cent_decoder", rounds: int = 6, **options: Any
) -> Outcome:
    """Blocking instructions whose answers come late, each with commands behind it that must wait.

    Epoch e begins with the answer to the instruction of the epoch before, in cycle :data:`LATE`. No command may leave
    before it. A configuration without blocking instructions has nothing to wait for.
    """
    isa = config.isa
    full = ((1 << isa.channels) - 1) << (32 - isa.channels)
    names = BLOCKING[config.blocking][:2] + BLOCKING[config.blocking][3:]
    kinds = [names[n % len(names)] for n in range(rounds)]
    wait = [_columns(name, CHmask=full if "CHmask" in INSTRUCTIONS[name].by_name else 0) for name in kinds]
    behind = _columns("WR_BIAS", 3, CHmask=full, Rs=np.arange(3) % isa.slots)
    episodes = [Episode.of(isa, _joined(one, behind), end=False) for one in wait]
    episodes.append(Episode.of(isa, _columns("EOC"), end=False))
    given, found = stimulus(config, episodes)
    host, answers = given.items["host"], given.items["finished"]
    answers = Items.of(answers.payload, epoch=np.arange(1, rounds + 2), cycle=LATE)
    count = rounds + 2
    commands = np.array([1] + [4] * rounds + [0])
    moved = Stimulus(
        {"host": host, "finished": answers},
        given.expected,
        {"command": commands, "done": np.array([0] * (count - 1) + [1])},
        work=LATE + 64,
    )
    played = play_stimulus(config, verilog, top, moved, **options)
    if not played.mismatches:
        starts = np.cumsum(commands) - commands
        first = played.run.output_cycles["command"][starts[1:-1]]
        played.require(
            bool((first > LATE).all()), "a command left before the answer to the blocking instruction before it"
        )
    return Outcome(**vars(played), codes=[DecodeError(code) for code in found.codes.tolist()], decoded=found)


# The bench ---------------------------------------------------------------------------------------------------------------


def bench(request: SimRequest) -> CentDecoderResult:
    """Run the whole bench of ``cent-decoder``:

    - one instruction alone, a program of ``instructions``, blocking instructions, a program of twice the buffer
    - random programs with random stalls, to a receiver that waits, and from random registers with resets
    - every error, and programs with random wrong words and wrong answers
    - answers that come late
    """
    config, rng = request.config, np.random.default_rng(request.seed)
    isa, top = config.isa, request.module
    full = ((1 << isa.channels) - 1) << (32 - isa.channels)
    blocking = {one.opcode for one in INSTRUCTIONS.values()} & set(config.blocking_opcodes)
    plain = [name for name, one in INSTRUCTIONS.items() if one.opcode not in blocking and name != "EOC"]
    alone = Episode.of(isa, _columns("WR_BIAS", CHmask=full), end=False)
    count = request.workload.instructions
    program = Episode.of(isa, random_columns(isa, rng, count, mnemonics=plain, most=8 if config.micro_ops else None))
    waits = 64
    results = Episode.of(isa, _columns("RD_MAC", waits, CHmask=full), end=False)
    held = "RECV_CXL" if blocking else "WR_BIAS"
    first = _columns(held, CHmask=0 if blocking else full)
    long = Episode.of(
        isa,
        _joined(first, _columns("WR_BIAS", 2 * config.depth, CHmask=full)),
        end=False,
        answer_cycle=config.depth + 100,
    )

    campaign = Campaign(
        request, lambda episodes, **options: simulate(config, request.verilog, episodes, top=top, **options)
    )
    rate = campaign.run("full_rate", [alone, program, results, long], "programs at full speed", waves=True)
    campaign.stress(lambda n: random_episodes(config, rng, 4 * n))
    campaign.run("errors", every_error(config), "every error", stalls=0.2)
    campaign.run("damaged", random_episodes(config, rng, 100, damage=1.0), "wrong words and wrong answers", stalls=0.1)
    if blocking:
        campaign.add("late_answers", late_answers(config, request.verilog, top=top, seed=request.seed))

    figures = {
        "commands": 0,
        "cycles": 0,
        "start": 0,
        "first_last": 0,
        "end": 0,
        "waits": 0,
        "full": 0,
        "full_commands": 0,
    }
    if not rate.mismatches:
        command, done = rate.run.output_cycles["command"], rate.run.output_cycles["done"]
        of = np.searchsorted(
            np.cumsum([len(one.words) for one in (alone, program, results, long)]),
            rate.decoded.command_items,
            side="right",
        )
        own, answered, filled = (command[of == n] for n in (1, 2, 3))
        logs = rate.run.epochs
        figures = {
            "commands": len(own),
            "cycles": int(done[0]) - logs[1].first_of(["host"]),
            "start": int(command[0]) - logs[0].first_of(["host"]),
            "first_last": int(own[-1] - own[0]) + 1,
            "end": int(done[0] - own[-1]),
            "waits": int(answered[-1] - answered[0]),
            "full": int(filled[-1] - filled[1]) + 1,
            "full_commands": len(filled) - 1,
        }
    return campaign.result(
        CentDecoderResult,
        instructions=count,
        commands=figures["commands"],
        cycles=figures["cycles"],
        ideal_cycles=figures["commands"],
        utilisation=_ratio(figures["commands"], figures["cycles"]),
        commands_per_clock=_ratio(figures["commands"], figures["first_last"]),
        start_cycles=figures["start"],
        end_cycles=figures["end"],
        full_cycles=figures["full"],
        full_commands_per_clock=_ratio(figures["full_commands"], figures["full"]),
        blocking=Wait(instructions=waits, clocks=figures["waits"], clocks_each=_ratio(figures["waits"], waits - 1)),
        errors_seen=sorted({code.name for one in campaign.outcomes.values() for code in one.codes if code}),
    )


def _ratio(a: int, b: int) -> float:
    return round(a / b, 6) if b else 0.0
