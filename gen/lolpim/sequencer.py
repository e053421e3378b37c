# amaranth: UnusedElaboratable=no
"""Which line of the command buffer is decoded in which clock, and with which loop indices."""

from amaranth import *
from amaranth.hdl import Assert
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...constraints.program_encoding import COMMANDS, END, MORE, OPERANDS, DispatchError, bits
from ...constraints.units.dpa_dispatcher import DpaDispatcherConfig

__all__ = ["ItemKind", "LoopSequencer", "item_layout", "line_layout", "slot_layout"]


class ItemKind:
    """What a decoded line is."""

    COMMAND, MORE, END = range(3)   # END: of the run, by its program or by an error


def line_layout(encoding):
    """A line of the command buffer."""
    command = data.StructLayout(encoding.command_fields)
    fill = 32 * encoding.command_words - sum(encoding.command_fields.values())
    return data.StructLayout({"command": command, "fill": fill, "prefix": data.ArrayLayout(32, encoding.prefix_words)})


def slot_layout(config):
    """Registers of a request. ``tokens`` is one less than the number of tokens, signed."""
    return data.StructLayout({"valid": 1, "request": config.request_bits, "tokens": signed(config.token_bits + 1),
                              "base": config.virtual_bits, "size": config.size_bits})


def item_layout(config):
    """A decoded line: its command, and the modifiers that are in use with the values of their indices."""
    encoding = config.encoding
    modifier = data.StructLayout({"valid": 1, "target": encoding.modifier_fields["target"],
                                  "stride": signed(encoding.stride_bits),
                                  "index": max(config.count_bits, config.layer_bits, config.token_bits)})
    return data.StructLayout({
        "kind": 2, "code": 4, "line": bits(config.lines + 1),
        "op": encoding.command_fields["op"], "virtual": 1,
        "operands": data.StructLayout(encoding.operands),
        "modifiers": data.ArrayLayout(modifier, encoding.prefix_words),
    })


class LoopSequencer(wiring.Component):
    """Walks through a program: a line in every clock, whatever loops begin with it, end with it or begin anew.

    A loop whose count is 0 takes two clocks: one for the line that it begins with, which is not decoded any further, and
    one for the loops that end with it. A line without a command (``MORE``) takes a clock as any other.

    The address of the next line is found in the clock in which a line is decoded, and goes to the buffer in the same clock:
    ends and last iterations of open loops are compared in registers, only loops that begin with the line wait for its
    words.

    Members
    -------
    en : ``In(1)``
        Otherwise nothing moves, and the buffer must hold what it put out.
    start, first, slot : ``In``
        Strobe: begin at line ``first`` for the slot. Only while ``running`` is 0; does not wait for ``en``.
    stop : ``In(1)``
        The line that would be decoded next ends the run instead.
    kill : ``In(1)``
        Strobe: the run is over, whatever is under way.
    running : ``Out(1)``
        The end of the run has not been decoded.
    run_slot : ``Out``
        Slot that the run was started with.
    slots : ``In``
        Configuration, an array of :func:`slot_layout`.
    layer, layers : ``In``
        Current layer and number of layers; these and the numbers of tokens are sampled at the start.
    address : ``Out``
        Line to be read at the next edge with ``en``.
    words : ``In``
        Line that was read.
    valid, item : ``Out``
        Decoded line, to be taken at the edge with ``en``.
    """

    def __init__(self, config):
        if not isinstance(config, DpaDispatcherConfig):
            raise TypeError(f"Configuration must be a DpaDispatcherConfig, not {config!r}")
        self._config = config
        lines = bits(config.lines + 1)
        super().__init__({
            "en": In(1), "start": In(1), "first": In(lines), "slot": In(bits(config.slots) + 1), "stop": In(1),
            "kill": In(1), "running": Out(1), "run_slot": Out(bits(config.slots) + 1),
            "slots": In(data.ArrayLayout(slot_layout(config), config.slots)),
            "layer": In(config.layer_bits), "layers": In(config.layer_bits),
            "address": Out(bits(config.lines)), "words": In(line_layout(config.encoding)),
            "valid": Out(1), "item": Out(item_layout(config)),
        })

    def elaborate(self, platform):
        m = Module()
        config, encoding = self._config, self._config.encoding
        levels, prefixes, lines = config.nesting, encoding.prefix_words, config.lines
        command, prefix = self.words.command, self.words.prefix

        line = Signal(range(lines + 1))       # that is decoded
        fetched = Signal()                    # `words` are those of the line
        annul = Signal()                      # the line ends a loop that was left out; only the loops around it matter
        base = Signal(range(levels + 1))      # loops around the first loop of the line
        skip = Signal(range(prefixes + 1))    # loops of the line that are open already
        depth = Signal(range(levels + prefixes + 1))
        m.d.comb += depth.eq(base + skip)
        loops = [Signal(data.StructLayout({
            "line": range(lines + 1), "base": range(levels + 1), "skip": range(prefixes + 1), "end": range(lines),
            "last": config.count_bits, "index": config.count_bits, "final": 1}), name=f"loop_{k}") for k in range(levels)]

        # What the host writes for the next run while this one is under way does not change it.
        tokens = [Signal(signed(config.token_bits + 1), name=f"tokens_{s}") for s in range(config.slots)]
        layer, layers = Signal(config.layer_bits), Signal(config.layer_bits)
        newest, has_newest = Signal(config.token_bits), Signal()    # of the run's request: number of its newest token
        with m.If(self.start):
            m.d.sync += has_newest.eq(0)
            for s in range(config.slots):
                with m.If(self.slot == s):
                    m.d.sync += [newest.eq(self.slots[s].tokens), has_newest.eq(self.slots[s].valid
                                                                                & (self.slots[s].tokens >= 0))]
            m.d.sync += [layer.eq(self.layer), layers.eq(self.layers)]
            m.d.sync += [tokens[s].eq(self.slots[s].tokens) for s in range(config.slots)]

        # ---- The command ---------------------------------------------------------------------------------------------
        is_end, is_more = Signal(), Signal()
        known = Signal()
        header = Signal(4)
        m.d.comb += [
            is_end.eq(command.op == END),
            is_more.eq(command.op == MORE),
            known.eq(Cat(command.op == what.code for what in COMMANDS.values()).any() | is_end | is_more),
        ]
        begun, changed = command.loops, command.modifiers
        with m.If(line >= lines):
            m.d.comb += header.eq(DispatchError.BEYOND)
        with m.Elif(~known):
            m.d.comb += header.eq(DispatchError.OPCODE)
        with m.Elif((begun + changed > prefixes) | (is_end & (begun + changed != 0))):
            m.d.comb += header.eq(DispatchError.FORMAT)

        # ---- Loops that begin: level k is the loop word k - base -----------------------------------------------------
        loop_word = data.StructLayout(encoding.loop_fields)
        by_tokens = data.StructLayout({**encoding.tokens_fields, "offset": signed(encoding.offset_bits)})
        opens, news, faults, nothing = [], [], [], []
        around = lines  # end of the loop around
        for k in range(levels):
            opening = Signal(name=f"opening_{k}")
            number = Signal(range(max(levels, prefixes) + 1), name=f"number_{k}")
            word = Signal(loop_word, name=f"word_{k}")
            m.d.comb += [
                number.eq(k - base),
                opening.eq((k >= depth) & (k - base < begun)),
                word.eq(Array([prefix[j] for j in range(prefixes)])[number]),
            ]
            by = Signal(by_tokens, name=f"by_{k}")
            whose = Signal(bits(config.slots) + 1 + 1, name=f"whose_{k}")
            many = Signal(signed(config.token_bits + 1), name=f"many_{k}")
            owned = Signal(name=f"owned_{k}")
            last = Signal(signed(max(config.token_bits + 1, len(word.value), config.count_bits + 1) + 2), name=f"last_{k}")
            end = Signal(range(2 * lines + 2), name=f"end_{k}")
            m.d.comb += [
                by.eq(word.value),
                whose.eq(self.run_slot + by.slot),
                last.eq(Mux(word.by_tokens, (many >> by.shift) + by.offset, word.value - 1)),
                end.eq(line + word.length - 1),
            ]
            for s in range(config.slots):
                with m.If(whose == s):
                    m.d.comb += [many.eq(tokens[s]), owned.eq(self.slots[s].valid)]
            fault = Signal(4, name=f"fault_{k}")
            with m.If(word.length == 0):
                m.d.comb += fault.eq(DispatchError.BODY)
            with m.Elif(end >= lines):
                m.d.comb += fault.eq(DispatchError.BEYOND)
            with m.Elif(end > around):
                m.d.comb += fault.eq(DispatchError.BODY)
            with m.Elif(word.by_tokens & ~owned):
                m.d.comb += fault.eq(DispatchError.SLOT)
            with m.Elif(last >= encoding.most_iterations):
                m.d.comb += fault.eq(DispatchError.COUNT)
            none = Signal(name=f"none_{k}")
            m.d.comb += none.eq(last[-1])
            # The loop as it is once this line is decoded.
            new = Signal.like(loops[k], name=f"new_{k}")
            later = Signal(name=f"later_{k}")  # nothing of the line is left for its iterations
            m.d.comb += [
                later.eq(is_more & (changed == 0) & (number == begun - 1) & (word.length != 1)),
                new.eq(loops[k]),
            ]
            with m.If(opening):
                m.d.comb += [
                    new.line.eq(line + later), new.base.eq(Mux(later, k + 1, base)), new.skip.eq(Mux(later, 0, number + 1)),
                    new.end.eq(end), new.last.eq(last), new.index.eq(0), new.final.eq(last == 0),
                ]
            around = Mux(opening, end, Mux(k < depth, loops[k].end, lines))
            opens.append(opening)
            news.append(new)
            faults.append(fault)
            nothing.append(none)

        # The first loop that is at fault or has nothing to do keeps the line from being decoded any further. Where it goes
        # on after a fault does not matter, so the next line does not wait for what finds faults.
        trouble = Signal(4)
        left_out, left_end, out_base = Signal(), Signal(range(lines)), Signal.like(base)  # nothing to do: its end and level
        within = Signal(range(levels + prefixes + 1))
        deep = Signal()
        m.d.comb += [within.eq(base + begun), deep.eq(within > levels)]
        for k in reversed(range(levels)):
            with m.If(opens[k] & nothing[k]):
                m.d.comb += [left_out.eq(1), left_end.eq(news[k].end), out_base.eq(k)]
            with m.If(opens[k] & (nothing[k] | (faults[k] != 0))):
                m.d.comb += trouble.eq(faults[k])

        # ---- Modifiers -----------------------------------------------------------------------------------------------
        modifier = data.StructLayout({**encoding.modifier_fields, "stride": signed(encoding.stride_bits)})
        wrong, by_layer, by_newest = Signal(prefixes), Signal(prefixes), Signal(prefixes)
        for j in range(prefixes):
            word = data.View(modifier, prefix[j][:modifier.size])
            used = Signal(name=f"used_{j}")
            m.d.comb += [
                used.eq((j >= begun) & (j < begun + changed)),
                by_layer[j].eq(used & (word.level == encoding.layer_level)),
                by_newest[j].eq(used & (word.level == encoding.newest_level)),
                wrong[j].eq(used & ((word.target >= len(OPERANDS))
                                    | (~by_layer[j] & ~by_newest[j] & (word.level >= within)))),
                self.item.modifiers[j].valid.eq(used),
                self.item.modifiers[j].target.eq(word.target),
                self.item.modifiers[j].stride.eq(word.stride),
                self.item.modifiers[j].index.eq(layer),
            ]
            for k in range(levels):
                with m.If(word.level == k):
                    m.d.comb += self.item.modifiers[j].index.eq(news[k].index)
            with m.If(word.level == encoding.newest_level):
                m.d.comb += self.item.modifiers[j].index.eq(
                    newest >> word.shift if "shift" in encoding.modifier_fields else newest)

        # ---- What becomes of the line --------------------------------------------------------------------------------
        code = Signal(4)
        with m.If(self.stop):
            m.d.comb += code.eq(DispatchError.STOPPED)
        with m.Elif(annul):
            m.d.comb += code.eq(0)
        with m.Elif(header != 0):
            m.d.comb += code.eq(header)
        with m.Elif(trouble != 0):
            m.d.comb += code.eq(trouble)
        with m.Elif(left_out):
            m.d.comb += code.eq(0)
        with m.Elif(deep):
            m.d.comb += code.eq(DispatchError.NESTING)
        with m.Elif(wrong.any()):
            m.d.comb += code.eq(DispatchError.MODIFIER)
        with m.Elif(by_layer.any() & (layer >= layers)):
            m.d.comb += code.eq(DispatchError.LAYER)
        with m.Elif(by_newest.any() & ~has_newest):
            m.d.comb += code.eq(DispatchError.NEWEST)
        with m.Elif(is_end & (within != 0)):
            m.d.comb += code.eq(DispatchError.BODY)
        decodes, ends = Signal(), Signal()
        m.d.comb += [
            decodes.eq(self.running & fetched),
            ends.eq((code != 0) | (is_end & ~annul)),
            self.valid.eq(decodes & (ends | ~(annul | left_out))),
            self.item.kind.eq(Mux(ends, ItemKind.END, Mux(is_more, ItemKind.MORE, ItemKind.COMMAND))),
            self.item.code.eq(code),
            self.item.line.eq(line),
            self.item.op.eq(command.op),
            self.item.virtual.eq(command.virtual),
            *(self.item.operands[name].eq(command[name]) for name in OPERANDS),
        ]

        # ---- The next line: the innermost loop that ends here and has an iteration left begins anew ------------------
        open_levels = Signal.like(within)
        m.d.comb += open_levels.eq(Mux(annul, depth, within))
        back, stay = Signal(levels), Signal(levels)
        inner = Const(1)  # all loops further inside are over
        for k in reversed(range(levels)):
            is_open, here, final = Signal(name=f"open_{k}"), Signal(name=f"here_{k}"), Signal(name=f"final_{k}")
            m.d.comb += [
                is_open.eq(k < open_levels),
                here.eq(Mux(annul, loops[k].end, news[k].end) == line),
                final.eq(Mux(annul, loops[k].final, news[k].final)),
                back[k].eq(inner & is_open & here & ~final),
                stay[k].eq(inner & is_open & ~here),
            ]
            outer = Signal(name=f"outer_{k}")
            m.d.comb += outer.eq(inner & (~is_open | (here & final)))
            inner = outer

        next_line, next_base, next_skip = Signal.like(line), Signal.like(base), Signal.like(skip)
        m.d.comb += [next_line.eq(line + 1), next_base.eq(0), next_skip.eq(0)]
        for k in range(levels):
            with m.If(stay[k]):
                m.d.comb += next_base.eq(k + 1)
            with m.If(back[k]):
                m.d.comb += [next_line.eq(Mux(annul, loops[k].line, news[k].line)),
                             next_base.eq(Mux(annul, loops[k].base, news[k].base)),
                             next_skip.eq(Mux(annul, loops[k].skip, news[k].skip))]
        # After a loop that is left out come those that end where it would have.
        with m.If(~annul & left_out):
            m.d.comb += [next_line.eq(left_end), next_base.eq(out_base), next_skip.eq(0)]
        m.d.comb += self.address.eq(Mux(fetched, next_line, line))

        with m.If(self.en & self.running):
            m.d.sync += fetched.eq(1)
            with m.If(fetched):
                m.d.sync += [line.eq(next_line), base.eq(next_base), skip.eq(next_skip), annul.eq(~annul & left_out)]
                for k in range(levels):
                    with m.If(~annul):
                        m.d.sync += loops[k].eq(news[k])
                    with m.If(back[k] & (annul | ~left_out)):
                        index = Mux(annul, loops[k].index, news[k].index) + 1
                        m.d.sync += [loops[k].index.eq(index),
                                     loops[k].final.eq(index == Mux(annul, loops[k].last, news[k].last))]
                with m.If(ends):
                    m.d.sync += self.running.eq(0)
        with m.If(self.start):
            m.d.sync += [self.running.eq(1), self.run_slot.eq(self.slot), line.eq(self.first), fetched.eq(0), annul.eq(0),
                         base.eq(0), skip.eq(0)]
        with m.If(self.kill):
            m.d.sync += self.running.eq(0)

        if platform == "formal":
            proper = [(depth <= levels, "no more loops are open than there are levels"),
                      (line <= lines, "the line exists, or is the one behind the last"),
                      (fetched | (depth == 0), "a run begins outside of all loops")]
            for k, loop in enumerate(loops):
                outer = loops[k - 1] if k else None
                proper += [((k >= depth) | what, f"loop {k} {name}") for what, name in (
                    (loop.end >= line, "ends at or behind the line"),
                    (loop.end < lines, "ends in the buffer"),
                    (loop.line <= line, "began at or before the line"),
                    (loop.index <= loop.last, "has an iteration left"),
                    (loop.final == (loop.index == loop.last), "knows its last iteration"),
                    (loop.base + loop.skip == k + 1, "begins anew with the loops around it open"),
                    (Const(1) if outer is None else (loop.end <= outer.end) & (loop.line >= outer.line),
                     "lies within the one around it"))]
            m.d.comb += [Assert(~self.running | what, f"LoopSequencer: {name}") for what, name in proper]
        return m
