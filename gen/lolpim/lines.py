# amaranth: UnusedElaboratable=no
"""Reads lines of the command buffer ahead, in order, and decodes all parts that do not depend on loops."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...constraints.aim.encoding import DISPATCHER_COMMANDS, END, MORE, OPERANDS, DispatchError, bits

__all__ = ["AHEAD", "LineStream", "entry_layout", "line_layout", "loop_layout", "modifier_layout", "slot_layout"]

#: Lines that a reader must have itself when it sends the stream to another line.
AHEAD = 6


def line_layout(encoding):
    """A line of the command buffer."""
    command = data.StructLayout(encoding.command_fields)
    fill = 32 * encoding.command_words - sum(encoding.command_fields.values())
    rest = {"fill": fill} if fill else {}  # no field of zero bits: some tools cannot read its Verilog
    return data.StructLayout({"command": command, **rest, "prefix": data.ArrayLayout(32, encoding.prefix_words)})


def slot_layout(config):
    """Registers of a request. ``tokens`` is the number of tokens minus one, signed."""
    return data.StructLayout(
        {
            "valid": 1,
            "request": config.request_bits,
            "tokens": signed(config.token_bits + 1),
            "base": config.virtual_bits,
            "size": config.size_bits,
        }
    )


def loop_layout(config):
    """A loop that begins: its length in lines and its largest index, or flags for the reason why it has none."""
    return data.StructLayout(
        {
            "length": config.encoding.loop_fields["length"],
            "last": config.count_bits,
            "none": 1,
            "no_slot": 1,
            "too_many": 1,
        }
    )


def modifier_layout(encoding):
    """The word of a modifier."""
    return data.StructLayout({**encoding.modifier_fields, "stride": signed(encoding.stride_bits)})


def entry_layout(config):
    """A decoded line. A prefix word is a :func:`loop_layout` or a :func:`modifier_layout`."""
    encoding = config.encoding
    fields = encoding.command_fields
    size = max(loop_layout(config).size, modifier_layout(encoding).size)
    return data.StructLayout(
        {
            "code": 4,
            "is_end": 1,
            "is_more": 1,
            "virtual": 1,
            "begun": fields["loops"],
            "changed": fields["modifiers"],
            "op": fields["op"],
            "operands": data.StructLayout(encoding.operands),
            "prefix": data.ArrayLayout(unsigned(size), encoding.prefix_words),
        }
    )


class LineStream(wiring.Component):
    """Reads consecutive lines and decodes them: operation code, counts of loops.

    Timing: one line per clock. After ``send``, the target line is ready :data:`AHEAD` clocks later, and stays until it
    is taken.

    Members
    -------
    send, target : ``In``
        Strobe: continue at line ``target``. Lines read so far are discarded.
    address, read, words : ``Out``, ``Out``, ``In``
        Line to be read at the next edge, if ``read``; the line that was read last.
    run_slot, tokens, owned : ``In``
        Start slot of the run; for every slot the tokens minus one, and whether it holds a request.
    valid, entry : ``Out``
        The next line. Further lines of arbitrary content follow the last line of the buffer.
    take : ``In(1)``
        Strobe: go on to the next line. It is ignored while ``valid`` is 0.
    """

    def __init__(self, config):
        self._config = config
        lines = bits(config.lines + AHEAD + 2)
        super().__init__(
            {
                "send": In(1),
                "target": In(lines),
                "address": Out(bits(config.lines)),
                "read": Out(1),
                "words": In(line_layout(config.encoding)),
                "run_slot": In(bits(config.slots) + 1),
                "owned": In(config.slots),
                "tokens": In(data.ArrayLayout(signed(config.token_bits + 1), config.slots)),
                "valid": Out(1),
                "entry": Out(entry_layout(config)),
                "take": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, encoding = self._config, self._config.encoding
        prefixes = encoding.prefix_words
        value_bits = encoding.loop_fields["value"]
        by_tokens = data.StructLayout({**encoding.tokens_fields, "offset": signed(encoding.offset_bits)})

        moves = Signal()  # all stages move; they wait only for `spare`
        line = Signal(len(self.target))
        active, reads = Signal(), Signal()
        m.d.comb += [self.address.eq(line), self.read.eq(moves)]
        with m.If(moves):
            m.d.sync += [line.eq(line + 1), reads.eq(active)]

        raw_valid, raw = Signal(), Signal(line_layout(encoding))
        with m.If(moves):
            m.d.sync += [raw_valid.eq(reads), raw.eq(self.words)]

        # ---- Token counts of loops, divided; whether the command exists ----------------------------------------------
        command = raw.command
        is_end, is_more, known = Signal(), Signal(), Signal()
        m.d.comb += [
            is_end.eq(command.op == END),
            is_more.eq(command.op == MORE),
            known.eq(Cat(command.op == what.code for what in DISPATCHER_COMMANDS.values()).any() | is_end | is_more),
        ]
        part_valid, part = Signal(), Signal(entry_layout(config))
        words = [Signal(32, name=f"word_{j}") for j in range(prefixes)]
        divided = [Signal(signed(config.token_bits + 1), name=f"divided_{j}") for j in range(prefixes)]
        missing = Signal(prefixes)
        with m.If(moves):
            m.d.sync += [
                part_valid.eq(raw_valid),
                part.code.eq(0),
                part.is_end.eq(is_end),
                part.is_more.eq(is_more),
                part.virtual.eq(command.virtual),
                part.begun.eq(command.loops),
                part.changed.eq(command.modifiers),
                part.op.eq(command.op),
                *(part.operands[name].eq(command[name]) for name in OPERANDS),
            ]
            with m.If(~known):
                m.d.sync += part.code.eq(DispatchError.OPCODE)
            with m.Elif(
                (command.loops + command.modifiers > prefixes) | (is_end & (command.loops + command.modifiers != 0))
            ):
                m.d.sync += part.code.eq(DispatchError.FORMAT)
            for j in range(prefixes):
                by = data.View(by_tokens, data.View(data.StructLayout(encoding.loop_fields), raw.prefix[j]).value)
                whose = Signal(bits(config.slots) + 2, name=f"whose_{j}")
                many = Signal(signed(config.token_bits + 1), name=f"many_{j}")
                has = Signal(name=f"has_{j}")
                m.d.comb += whose.eq(self.run_slot + by.slot)
                for s in range(config.slots):
                    with m.If(whose == s):
                        m.d.comb += [many.eq(self.tokens[s]), has.eq(self.owned[s])]
                m.d.sync += [words[j].eq(raw.prefix[j]), divided[j].eq(many >> by.shift), missing[j].eq(~has)]

        # ---- Counts --------------------------------------------------------------------------------------------------
        ready_valid, ready = Signal(), Signal(entry_layout(config))
        with m.If(moves):
            m.d.sync += [ready_valid.eq(part_valid), ready.eq(part)]
            for j in range(prefixes):
                word = data.View(data.StructLayout(encoding.loop_fields), words[j])
                by = data.View(by_tokens, word.value)
                width = max(config.token_bits + 1, value_bits, config.count_bits + 1) + 2
                last = Signal(signed(width), name=f"last_{j}")
                m.d.comb += last.eq(Mux(word.by_tokens, divided[j] + by.offset, word.value - 1))
                loop = Signal(loop_layout(config), name=f"loop_{j}")
                m.d.comb += [
                    loop.length.eq(word.length),
                    loop.last.eq(last),
                    loop.none.eq(last < 0),
                    loop.no_slot.eq(word.by_tokens & missing[j]),
                    loop.too_many.eq(last >= encoding.most_iterations),
                ]
                m.d.sync += ready.prefix[j].eq(Mux(j < part.begun, loop.as_value(), words[j]))

        # ---- Output: two entries, so that no earlier stage depends on `take` within a clock --------------------------
        spare_valid, spare = Signal(), Signal(entry_layout(config))
        m.d.comb += moves.eq(~spare_valid | ~ready_valid)
        with m.If(self.take | ~self.valid):
            m.d.sync += [
                self.valid.eq(ready_valid | spare_valid),
                self.entry.eq(Mux(spare_valid, spare, ready)),
                spare_valid.eq(0),
            ]
        with m.Elif(ready_valid & ~spare_valid):
            m.d.sync += [spare_valid.eq(1), spare.eq(ready)]

        with m.If(self.send):
            m.d.sync += [line.eq(self.target), active.eq(1)]
            m.d.sync += [flag.eq(0) for flag in (reads, raw_valid, part_valid, ready_valid, self.valid, spare_valid)]
        return m
