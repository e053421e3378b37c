# amaranth: UnusedElaboratable=no
"""CENT's decoder: a buffer of instruction words that the host refills, and the commands that the words stand for."""

from typing import Any, NamedTuple

from amaranth import *
from amaranth.lib import data, enum, wiring

from ...constraints.cent.decoder import CentDecoderConfig
from ...constraints.cent.isa import BY_OPCODE, INSTRUCTIONS, RESULTS, WORD, DecodeError
from ..blocks.ports import members, payload
from ..blocks.stream import StreamRegister
from .ring import InterleavedFIFO

__all__ = ["CentDecoder"]

#: Operands by name, each with the instructions that have it.
_OPERANDS = {
    name: [one for one in INSTRUCTIONS.values() if name in one.by_name]
    for name in dict.fromkeys(operand.name for one in INSTRUCTIONS.values() for operand in one.operands)
}


class _State(enum.Enum, shape=2):
    """What the end of the pipeline does: issues commands, waits for an answer, reports an end, or drops all words."""

    RUN = 0
    WAIT = 1
    TELL = 2
    FAILED = 3


class _Class(NamedTuple):
    """What a stage knows of an instruction: flags that follow from its operation code."""

    known: Signal
    has: dict[str, Signal]
    results: Signal
    element: Signal

    @property
    def all(self):
        return [self.known, *self.has.values(), self.results, self.element]


def _classes(name):
    return _Class(
        Signal(name=f"{name}_known"),
        {one: Signal(name=f"{name}_has_{one}") for one in _OPERANDS},
        Signal(name=f"{name}_results"),
        Signal(name=f"{name}_element"),
    )


def _is_one_of(opcode, instructions):
    """Whether an operation code is of one of the instructions."""
    return Cat(opcode == one.opcode for one in instructions).any()


class CentDecoder(wiring.Component):
    """Holds instructions and issues them as commands, in order.

    The host sends words at any time. They go into a ring of ``config.depth`` words, whose memories have one write port
    and one read port with a register each. The host waits while the ring is full. So a program may be longer than the
    buffer.

    Every word is checked. A legal one leaves as a command. Behind a blocking instruction no command leaves until the
    answer on ``finished`` has its operation code. EOC ends a program with a message on ``done``, and the next program may
    follow. A wrong word ends a program in the same way, with a code and its position. Commands before it have left, and
    no command leaves behind it. From then on words are dropped, in the ring and from the host, until a CLEAR of the
    host. CLEAR also sets the position back to 0. It waits until the words before it are done.

    Timing: a command per clock. From the host's word to its command, if nothing is before it, ``latency["word"]``
    clocks. An instruction with ``micro_ops`` takes ``OPsize`` clocks. ``host.ready`` and all outputs depend on registers
    alone.

    The functional model is ``bankside.models.cent.decoder.decode``, equal bit for bit.

    Source: CENT section 4.1 and Tables 2, 3. The paper gives no encoding and no pipeline.

    Parameters
    ----------
    config : :class:`CentDecoderConfig`

    Members
    -------
    host : ``In(stream.Signature(payload(config.host_layout)))``
    finished : ``In(stream.Signature(payload(config.finished_layout)))``
    command : ``Out(stream.Signature(payload(config.command_layout)))``
    done : ``Out(stream.Signature(payload(config.done_layout)))``
    status : ``Out(payload(config.status_layout))``
    """

    #: Registers from the buffer to the command port: class of the word, first checks, sums, command.
    STAGES = 4

    def __init__(self, config):
        if not isinstance(config, CentDecoderConfig):
            raise TypeError(f"Configuration must be a CentDecoderConfig, not {config!r}")
        self._config = config
        super().__init__(members(config.ports()))

    @property
    def config(self):
        return self._config

    @property
    def latency(self):
        """Fixed latencies in cycles: from a word of the host to its command, with an empty buffer."""
        buffer = InterleavedFIFO(WORD.bits, self._config.depth, self._config.buffer_banks)
        buffer._MustUse__silence = True
        return {"word": 1 + buffer.latency + self.STAGES}

    def elaborate(self, platform):
        m = Module()
        config = self._config
        m.submodules.words = words = StreamRegister(payload(config.host_layout))
        m.submodules.buffer = buffer = InterleavedFIFO(payload(WORD), config.depth, config.buffer_banks)
        m.submodules.commands = commands = StreamRegister(payload(config.command_layout))
        wiring.connect(m, outside=wiring.flipped(self.host), words=words.i)
        wiring.connect(m, commands=commands.o, outside=wiring.flipped(self.command))

        state = Signal(_State)
        moves = Signal()  # all stages before the last move
        position = Signal(config.position_bits)

        # ---- Words and CLEAR ---------------------------------------------------------------------------------------------
        failed, idle, cleared = Signal(), Signal(), Signal()
        m.d.comb += [
            failed.eq(state == _State.FAILED),
            cleared.eq(words.o.valid & words.o.p.clear & idle),
            buffer.i.valid.eq(words.o.valid & ~words.o.p.clear & ~failed),
            Value.cast(buffer.i.payload).eq(words.o.p.word),
            words.o.ready.eq(Mux(words.o.p.clear, idle, failed | buffer.i.ready)),
            buffer.o.ready.eq(moves | failed),
        ]

        classed = self._classify(m, buffer, moves, failed, position)
        checked = self._check(m, classed, moves)
        self._sum(m, checked, moves)
        last = self._last
        m.d.comb += idle.eq(
            (buffer.level == 0) & Mux(failed, 1, ~classed.valid & ~checked.valid & ~last.valid & (state == _State.RUN))
        )
        self._issue(m, state, moves, commands, last)
        with m.If(cleared):
            m.d.sync += position.eq(0)
            with m.If(failed):
                m.d.sync += state.eq(_State.RUN)
        with m.If(failed):
            m.d.sync += [classed.valid.eq(0), checked.valid.eq(0), last.valid.eq(0)]
        m.d.comb += [
            self.status.level.eq(buffer.level),
            self.status.waiting.eq(state == _State.WAIT),
            self.status.failed.eq(failed),
        ]
        return m

    # Stages ---------------------------------------------------------------------------------------------------------------

    def _classify(self, m, buffer, moves, failed, position):
        """First stage: the word, its position, and flags of its operation code."""
        stage = _Word(
            Signal(name="classed_valid"),
            Signal(payload(WORD), name="classed"),
            Signal.like(position, name="classed_position"),
            _classes("classed"),
        )
        opcode, kind = buffer.o.p.opcode, stage.kind
        with m.If(moves):
            m.d.sync += [
                stage.valid.eq(buffer.o.valid & ~failed),
                stage.word.eq(buffer.o.payload),
                stage.position.eq(position),
                kind.known.eq(_is_one_of(opcode, BY_OPCODE.values())),
                *(flag.eq(_is_one_of(opcode, _OPERANDS[name])) for name, flag in kind.has.items()),
                kind.results.eq(_is_one_of(opcode, [INSTRUCTIONS[name] for name in RESULTS])),
                kind.element.eq(opcode == INSTRUCTIONS["WR_ABK"].opcode),
            ]
            with m.If(buffer.o.valid & ~failed):
                m.d.sync += position.eq(position + 1)
        return stage

    def _check(self, m, before, moves):
        """Second stage: all checks without sums; the number of slots; the column of the global buffer."""
        isa = self._config.isa
        word, kind = before.word, before.kind
        stage = _Word(
            Signal(name="checked_valid"),
            Signal(payload(WORD), name="checked"),
            Signal.like(before.position, name="checked_position"),
            _classes("checked"),
        )
        size, results = Signal(WORD.widths["OPsize"], name="size"), Signal(range(isa.channels + 1), name="channels")
        buffer = Signal(range(max(2, isa.columns)), name="buffer_column")
        faults = {
            code: Signal(name=f"fault_{code.name.lower()}")
            for code in DecodeError
            if code not in (DecodeError.NONE, DecodeError.ANSWER)
        }
        has = kind.has

        def beyond(field, limit):
            """A field is at or above a limit; a limit that the field can't reach is never passed."""
            return field >= limit if limit < 1 << len(field) else Const(0)

        used: Any = {name: [] for name in WORD.widths}
        for name, instructions in _OPERANDS.items():
            used[instructions[0].by_name[name].field].append(has[name])
        stray = [
            field
            for name, flags in used.items()
            if name != "opcode"
            for field in [Cat(word[name]).any() & ~Cat(flags).any() if flags else Cat(word[name]).any()]
        ]
        low = 32 - isa.channels
        no_mask = (word.CHmask == 0) | (word.CHmask[:low].any() if low else 0)
        sum_bits = len(buffer) if isa.columns > 1 else 0
        with m.If(moves):
            m.d.sync += [
                stage.valid.eq(before.valid),
                stage.word.eq(word),
                stage.position.eq(before.position),
                *(new.eq(old) for new, old in zip(stage.kind.all, kind.all, strict=True)),
                size.eq(Mux(has["OPsize"], word.OPsize, 1)),
                results.eq(sum(word.CHmask[low + n] for n in range(isa.channels))),
                buffer.eq((word.CO + word.Rs)[:sum_bits]),
                faults[DecodeError.OPCODE].eq(~kind.known),
                faults[DecodeError.FORMAT].eq(Cat(stray).any()),
                faults[DecodeError.SIZE].eq(has["OPsize"] & (word.OPsize == 0)),
                faults[DecodeError.CHANNEL].eq(
                    has["CHmask"] & no_mask | has["CHid"] & beyond(word.CHmask, isa.channels)
                ),
                faults[DecodeError.ADDRESS].eq(
                    has["BK"] & beyond(word.BK, isa.banks)
                    | has["RO"] & beyond(word.RO, isa.rows)
                    | has["GB"] & beyond(word.Rs, isa.columns)
                ),
                faults[DecodeError.SLOT].eq(0),
                faults[DecodeError.REGISTER].eq(
                    has["Regid"] & Mux(kind.element, beyond(word.Regid, isa.lanes), beyond(word.Regid, isa.registers))
                    | has["AFid"] & beyond(word.AFid, isa.functions)
                ),
                faults[DecodeError.DEVICE].eq(
                    (has["DVid"] | has["DVcount"]) & beyond(word.DV, isa.devices)
                    | has["DVcount"] & (word.DV == 0)
                    | has["PC"] & beyond(word.RO, isa.program_words)
                ),
            ]
        return _Checked(*stage, size, results, buffer, faults)

    def _sum(self, m, before, moves):
        """Third stage: checks of sums, the code of a wrong word, and the command of a right one."""
        config, isa = self._config, self._config.isa
        word, has, size = before.word, before.kind.has, before.size
        last = self._last = _Last(
            Signal(name="last_valid"),
            Signal(4, name="last_code"),
            Signal(payload(config.command_layout), name="last"),
            Signal(name="last_blocks"),
            Signal(name="last_ends"),
            Signal.like(size, name="left"),
            {name: Signal(name=f"{name}_grows") for name in ("column", "gpr", "gpr1")},
        )
        slots = Mux(before.kind.results, before.results, size)
        faults = dict(before.faults)
        faults[DecodeError.ADDRESS] = (
            faults[DecodeError.ADDRESS]
            | has["CO"] & (word.CO + size > isa.columns)
            | has["GB"] & (before.buffer + size > isa.columns)
        )
        faults[DecodeError.SLOT] = has["Rs"] & (word.Rs + size > isa.slots) | has["Rd"] & (word.Rd + slots > isa.slots)
        code = Signal(4)
        m.d.comb += code.eq(DecodeError.NONE)
        for one in reversed(faults):
            with m.If(faults[one]):
                m.d.comb += code.eq(one)
        values = self._places(word, before.buffer)
        whole = word.opcode == INSTRUCTIONS["RISCV"].opcode
        with m.If(moves):
            m.d.sync += [
                last.valid.eq(before.valid),
                last.code.eq(code),
                last.command.op.eq(word.opcode),
                last.command.position.eq(before.position),
                last.command.opsize.eq(size),
                *(last.command[place].eq(value) for place, value in values.items()),
                last.blocks.eq(Cat(word.opcode == one for one in config.blocking_opcodes).any()),
                last.ends.eq(word.opcode == INSTRUCTIONS["EOC"].opcode),
            ]
            if config.micro_ops:
                m.d.sync += [
                    last.left.eq(Mux(whole, 0, size - 1)),
                    last.command.opsize.eq(Mux(whole, size, 1)),
                    *(
                        flag.eq(_is_one_of(word.opcode, [one for one in INSTRUCTIONS.values() if _grows(one, place)]))
                        for place, flag in last.grows.items()
                    ),
                ]

    def _places(self, word, buffer):
        """Operands of the command by place, from the fields of the word."""
        isa = self._config.isa
        sources: Any = {}
        for one in INSTRUCTIONS.values():
            for operand in one.operands:
                if operand.name != "OPsize":
                    sources.setdefault(one.place(operand), {}).setdefault(operand.name, []).append(one)
        low = 32 - isa.channels
        special = {
            "CHmask": word.CHmask[low:],
            "CHid": Cat(word.CHmask == isa.channels - 1 - n for n in range(isa.channels)),
            "GB": buffer,
        }
        out = {}
        for place, names in sources.items():
            value = Const(0, 1)
            for name, instructions in names.items():
                source = special.get(name, word[instructions[0].by_name[name].field])
                value = Mux(_is_one_of(word.opcode, instructions), source, value)
            out[place] = value
        return out

    def _issue(self, m, state, moves, commands, last):
        """Issue commands; wait for an answer; report an end."""
        config = self._config
        code, position, op, ends = Signal(4), Signal(config.position_bits), Signal(6), Signal()
        issues, taken = Signal(), Signal()
        right = last.code == DecodeError.NONE
        m.d.comb += [
            issues.eq(last.valid & right & (state == _State.RUN)),
            commands.i.valid.eq(issues),
            commands.i.payload.eq(last.command),
            taken.eq(issues & commands.i.ready & (last.left == 0)),
            moves.eq(~last.valid | taken),
            self.finished.ready.eq((state == _State.WAIT) & ~commands.o.valid),
            self.done.valid.eq((state == _State.TELL) & ~commands.o.valid),
            self.done.p.code.eq(code),
            self.done.p.position.eq(position),
        ]
        if config.micro_ops:
            with m.If(issues & commands.i.ready & ~taken):
                m.d.sync += [
                    last.left.eq(last.left - 1),
                    *(last.command[name].eq(last.command[name] + grows) for name, grows in last.grows.items()),
                ]
        with m.Switch(state):
            with m.Case(_State.RUN):
                with m.If(last.valid):
                    m.d.sync += [
                        position.eq(last.command.position),
                        op.eq(last.command.op),
                        ends.eq(last.ends),
                        code.eq(last.code),
                    ]
                with m.If(last.valid & ~right):
                    m.d.sync += state.eq(_State.TELL)
                with m.Elif(taken & last.blocks):
                    m.d.sync += state.eq(_State.WAIT)
                with m.Elif(taken & last.ends):
                    m.d.sync += state.eq(_State.TELL)
            with m.Case(_State.WAIT):
                with m.If(self.finished.valid & self.finished.ready):
                    m.d.sync += state.eq(Mux(ends, _State.TELL, _State.RUN))
                    with m.If(self.finished.p.op != op):
                        m.d.sync += [state.eq(_State.TELL), code.eq(DecodeError.ANSWER)]
            with m.Case(_State.TELL):
                with m.If(self.done.valid & self.done.ready):
                    m.d.sync += state.eq(Mux(code == DecodeError.NONE, _State.RUN, _State.FAILED))


class _Word(NamedTuple):
    """A word in the pipeline, its position and its class."""

    valid: Signal
    word: data.View
    position: Signal
    kind: _Class


class _Checked(NamedTuple):
    """A word after the first checks: number of accesses, of channels, column of the global buffer, faults by code."""

    valid: Signal
    word: data.View
    position: Signal
    kind: _Class
    size: Signal
    results: Signal
    buffer: Signal
    faults: dict[DecodeError, Signal]


class _Last(NamedTuple):
    """The instruction that is next to leave: code of its fault, command, further micro-operations."""

    valid: Signal
    code: Signal
    command: data.View
    blocks: Signal
    ends: Signal
    left: Signal
    grows: dict[str, Signal]


def _grows(instruction, place):
    """Whether an operand of the command grows from micro-operation to micro-operation."""
    return "OPsize" in instruction.by_name and any(
        instruction.place(one) == place and one.field in ("CO", "Rs", "Rd") for one in instruction.operands
    )
