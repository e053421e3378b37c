# amaranth: UnusedElaboratable=no
"""Which line of the command buffer is decoded in which clock, and with which loop indices."""

from amaranth import *
from amaranth.hdl import Assert
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...constraints.program_encoding import OPERANDS, DispatchError, bits
from ...constraints.units.dpa_dispatcher import DpaDispatcherConfig
from .lines import AHEAD, LineStream, entry_layout, line_layout, loop_layout, modifier_layout, slot_layout

__all__ = ["ItemKind", "LoopSequencer", "item_layout"]


def _sooner(place):
    """A place in a body, of which those behind the lines that are kept are one."""
    return Mux(place > AHEAD, AHEAD + 1, place)


class ItemKind:
    """What a decoded line is."""

    COMMAND, MORE, END = range(3)   # END: of the run, by its program or by an error


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

    A loop whose count is 0 is passed over, its lines a clock each, and takes at least two clocks: one for the line that it
    begins with, one for the loops that end where it does. A line without a command (``MORE``) takes a clock as any other.

    Lines come ready decoded from a :class:`LineStream`, which reads them in their order and is :data:`AHEAD` clocks behind
    when it is sent elsewhere. So each open loop keeps the first ``AHEAD`` lines of its body. A loop that begins anew goes
    on with these; if its body is longer, the stream is sent to the line behind them at the same time, and has it when they
    are used up. The stream stands at the first line that no open loop keeps.

    Members
    -------
    en : ``In(1)``
        Otherwise nothing moves but lines that are read ahead.
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
        Current layer and number of layers; these, the numbers of tokens and which slots hold a request are sampled at the
        start.
    address, read : ``Out``
        Line to be read at the next edge, if ``read``.
    words : ``In``
        Line that was read last.
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
            "address": Out(bits(config.lines)), "read": Out(1), "words": In(line_layout(config.encoding)),
            "valid": Out(1), "item": Out(item_layout(config)),
        })

    def elaborate(self, platform):
        m = Module()
        config, encoding = self._config, self._config.encoding
        levels, prefixes, lines = config.nesting, encoding.prefix_words, config.lines

        line = Signal(range(lines + 1))       # that is decoded
        fetched = Signal()                    # `now` is that line
        now = Signal(entry_layout(config))
        passing, pass_end = Signal(), Signal(range(lines))  # the line is in a loop that is left out, which ends there
        annul = Signal()                      # the line ends a loop that was left out; only the loops around it matter
        base = Signal(range(levels + 1))      # loops around the first loop of the line
        skip = Signal(range(prefixes + 1))    # loops of the line that are open already
        depth = Signal(range(levels + prefixes + 1))
        m.d.comb += depth.eq(base + skip)
        idle = annul | passing
        # `kept` of the first lines of the body are in `heads`; `place` is where the line behind the current one is in the
        # body, `resume` the first line that is never kept, `places` those of the second line in the bodies around.
        loops = [Signal(data.StructLayout({
            "line": range(lines + 1), "base": range(levels + 1), "skip": range(prefixes + 1), "end": range(lines),
            "last": config.count_bits, "index": config.count_bits, "final": 1, "long": 1,
            "resume": range(lines + AHEAD + 2), "place": range(AHEAD + 2), "kept": range(AHEAD + 1),
            **({"places": data.ArrayLayout(range(AHEAD + 2), k)} if k else {})}), name=f"loop_{k}") for k in range(levels)]
        heads = [[Signal(entry_layout(config), name=f"head_{k}_{n}") for n in range(AHEAD)] for k in range(levels)]

        # What the host writes for the next run while this one is under way does not change it.
        tokens = Signal(data.ArrayLayout(signed(config.token_bits + 1), config.slots))
        owned = Signal(config.slots)
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
            m.d.sync += [owned[s].eq(self.slots[s].valid) for s in range(config.slots)]

        m.submodules.stream = stream = LineStream(config)
        m.d.comb += [
            self.address.eq(stream.address),
            self.read.eq(stream.read),
            stream.words.eq(self.words),
            stream.run_slot.eq(self.run_slot),
            stream.tokens.eq(tokens),
            stream.owned.eq(owned),
        ]

        # ---- Loops that begin: level k is the loop word k - base -----------------------------------------------------
        begun, changed, is_end, is_more = now.begun, now.changed, now.is_end, now.is_more
        header = Signal(4)
        with m.If(line >= lines):
            m.d.comb += header.eq(DispatchError.BEYOND)
        with m.Else():
            m.d.comb += header.eq(now.code)
        opens, news, faults, nothing, singles = [], [], [], [], []
        around = lines  # end of the loop around
        for k in range(levels):
            opening = Signal(name=f"opening_{k}")
            number = Signal(range(max(levels, prefixes) + 1), name=f"number_{k}")
            word = Signal(loop_layout(config), name=f"word_{k}")
            m.d.comb += [
                number.eq(k - base),
                opening.eq((k >= depth) & (k - base < begun)),
                word.eq(Array([now.prefix[j] for j in range(prefixes)])[number]),
            ]
            end = Signal(range(2 * lines + 2), name=f"end_{k}")
            single = Signal(name=f"single_{k}")
            m.d.comb += [end.eq(line + word.length - 1), single.eq(word.length == 1)]
            fault = Signal(4, name=f"fault_{k}")
            with m.If(word.length == 0):
                m.d.comb += fault.eq(DispatchError.BODY)
            with m.Elif(end >= lines):
                m.d.comb += fault.eq(DispatchError.BEYOND)
            with m.Elif(end > around):
                m.d.comb += fault.eq(DispatchError.BODY)
            with m.Elif(word.no_slot):
                m.d.comb += fault.eq(DispatchError.SLOT)
            with m.Elif(word.too_many):
                m.d.comb += fault.eq(DispatchError.COUNT)
            # The loop as it is once this line is decoded.
            new = Signal.like(loops[k], name=f"new_{k}")
            later = Signal(name=f"later_{k}")  # nothing of the line is left for its iterations
            m.d.comb += [
                later.eq(is_more & (changed == 0) & (number == begun - 1) & ~single),
                new.eq(loops[k]),
            ]
            with m.If(opening):
                m.d.comb += [
                    new.line.eq(line + later), new.base.eq(Mux(later, k + 1, base)), new.skip.eq(Mux(later, 0, number + 1)),
                    new.end.eq(end), new.last.eq(word.last), new.index.eq(0), new.final.eq(word.last == 0),
                    new.long.eq(word.length > AHEAD + later), new.resume.eq(line + AHEAD + later), new.place.eq(~later),
                    *(new.places[j].eq(_sooner(news[j].place + later)) for j in range(k)),
                ]
            around = Mux(opening, end, Mux(k < depth, loops[k].end, lines))
            opens.append(opening)
            news.append(new)
            faults.append(fault)
            nothing.append(word.none)
            singles.append(single)

        # The first loop that is at fault or has nothing to do keeps the line from being decoded any further. Where it goes
        # on after a fault does not matter, so the next line does not wait for what finds faults.
        trouble = Signal(4)
        # Nothing to do: its end and level, and whether it is one line.
        left_out, left_end, out_base, left_line = Signal(), Signal(range(lines)), Signal.like(base), Signal()
        within = Signal(range(levels + prefixes + 1))
        deep = Signal()
        m.d.comb += [within.eq(base + begun), deep.eq(within > levels)]
        for k in reversed(range(levels)):
            with m.If(opens[k] & nothing[k]):
                m.d.comb += [left_out.eq(1), left_end.eq(news[k].end), out_base.eq(k), left_line.eq(singles[k])]
            with m.If(opens[k] & (nothing[k] | (faults[k] != 0))):
                m.d.comb += trouble.eq(faults[k])

        # ---- Modifiers -----------------------------------------------------------------------------------------------
        wrong, by_layer, by_newest = Signal(prefixes), Signal(prefixes), Signal(prefixes)
        for j in range(prefixes):
            word = data.View(modifier_layout(encoding), now.prefix[j][:modifier_layout(encoding).size])
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
        with m.Elif(idle):
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
            ends.eq((code != 0) | (is_end & ~idle)),
            self.valid.eq(decodes & (ends | ~(idle | left_out))),
            self.item.kind.eq(Mux(ends, ItemKind.END, Mux(is_more, ItemKind.MORE, ItemKind.COMMAND))),
            self.item.code.eq(code),
            self.item.line.eq(line),
            self.item.op.eq(now.op),
            self.item.virtual.eq(now.virtual),
            self.item.operands.eq(now.operands),
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
                here.eq(Mux(opens[k] & ~annul, singles[k], loops[k].end == line)),
                final.eq(Mux(annul, loops[k].final, news[k].final)),
                back[k].eq(inner & is_open & here & ~final),
                stay[k].eq(inner & is_open & ~here),
            ]
            outer = Signal(name=f"outer_{k}")
            m.d.comb += outer.eq(inner & (~is_open | (here & final)))
            inner = outer

        # It goes on with the line that it begins with, which may be this one. Any other is the one behind this.
        again, heads_first = Signal(), Signal(levels)
        follows = Signal()
        next_line, next_base, next_skip = Signal.like(line), Signal.like(base), Signal.like(skip)
        m.d.comb += [next_line.eq(line + 1), next_base.eq(0), next_skip.eq(0)]
        for k in range(levels):
            with m.If(stay[k]):
                m.d.comb += next_base.eq(k + 1)
            with m.If(back[k]):
                m.d.comb += [next_line.eq(Mux(annul, loops[k].line, news[k].line)),
                             next_base.eq(Mux(annul, loops[k].base, news[k].base)),
                             next_skip.eq(Mux(annul, loops[k].skip, news[k].skip))]
                with m.If((opens[k] & ~annul) | (loops[k].place == 1)):
                    m.d.comb += again.eq(1)
                with m.Else():
                    m.d.comb += heads_first[k].eq(1)
        with m.If(~annul & (left_out | passing)):
            m.d.comb += [next_line.eq(line + 1), again.eq(0), heads_first.eq(0)]
            with m.If(passing):
                m.d.comb += [next_base.eq(base), next_skip.eq(0)]
            with m.Else():
                m.d.comb += [next_base.eq(out_base), next_skip.eq(0), again.eq(left_line)]
                with m.If(left_line):
                    m.d.comb += next_line.eq(line)
        m.d.comb += follows.eq(~(again | heads_first.any()))

        # ---- The next line's words -----------------------------------------------------------------------------------
        kept, behind = Signal(), Signal.like(now)
        for k in range(levels):
            with m.If((k < depth) & (loops[k].place < loops[k].kept)):
                m.d.comb += [kept.eq(1), behind.eq(Array(heads[k])[loops[k].place])]
        moves = self.en & self.running & fetched
        m.d.comb += stream.take.eq(self.en & self.running & Mux(fetched, follows & ~kept & ~ends, 1))
        with m.If(moves & ~ends):
            for k in range(levels):
                with m.If(heads_first[k] & loops[k].long):
                    m.d.comb += [stream.send.eq(1), stream.target.eq(loops[k].resume)]
        with m.If(self.start):
            m.d.comb += [stream.send.eq(1), stream.target.eq(self.first)]

        with m.If(self.en & self.running & ~fetched):
            m.d.sync += [fetched.eq(stream.valid), now.eq(stream.entry)]
        with m.If(moves):
            m.d.sync += [line.eq(next_line), base.eq(next_base), skip.eq(next_skip)]
            last_passed = Mux(passing, pass_end, left_end) == next_line
            m.d.sync += [annul.eq(~annul & (left_out | passing) & last_passed),
                         passing.eq(~annul & (left_out | passing) & ~last_passed)]
            with m.If(~passing):
                m.d.sync += pass_end.eq(left_end)
            with m.If(follows):
                m.d.sync += [now.eq(Mux(kept, behind, stream.entry)), fetched.eq(kept | stream.valid)]
            for k in range(levels):
                with m.If(heads_first[k]):
                    m.d.sync += now.eq(heads[k][0])
            for k in range(levels):
                loop = Signal.like(loops[k], name=f"is_{k}")
                opening = opens[k] & ~idle
                m.d.comb += loop.eq(loops[k])
                with m.If(opening):
                    m.d.comb += loop.eq(news[k])
                # The line is kept, if it is one of the first of the body.
                for n in range(AHEAD):
                    with m.If(((k < depth) | opening) & (loop.place == n + 1)):
                        m.d.sync += heads[k][n].eq(now)
                kept_now = Signal.like(loop.kept, name=f"kept_{k}")
                with m.If(opening):
                    m.d.comb += kept_now.eq(loop.place)
                with m.Elif((loop.place == loop.kept + 1) & (loop.place <= AHEAD)):
                    m.d.comb += kept_now.eq(loop.place)
                with m.Else():
                    m.d.comb += kept_now.eq(loop.kept)
                m.d.sync += [loops[k].eq(loop), loops[k].kept.eq(kept_now)]
                with m.If(follows):
                    m.d.sync += loops[k].place.eq(_sooner(loop.place + 1))
                for outer in range(k):
                    with m.If(heads_first[k]):
                        m.d.sync += loops[outer].place.eq(loop.places[outer])
                with m.If(heads_first[k]):
                    m.d.sync += loops[k].place.eq(1)
                with m.If(back[k] & (annul | ~(left_out | passing))):
                    index = loop.index + 1
                    m.d.sync += [loops[k].index.eq(index), loops[k].final.eq(index == loop.last)]
            with m.If(ends):
                m.d.sync += self.running.eq(0)
        with m.If(self.start):
            m.d.sync += [self.running.eq(1), self.run_slot.eq(self.slot), line.eq(self.first), fetched.eq(0), annul.eq(0),
                         passing.eq(0), base.eq(0), skip.eq(0)]
        with m.If(self.kill):
            m.d.sync += self.running.eq(0)

        if platform == "formal":
            proper = [(depth <= levels, "no more loops are open than there are levels"),
                      (line <= lines, "the line exists, or is the one behind the last"),
                      (~passing | ((line < pass_end) & (pass_end < lines)), "a loop that is left out has an end"),
                      (~annul | ((line < lines) & ~passing), "it is passed over, or at its end")]
            for k, loop in enumerate(loops):
                outer = loops[k - 1] if k else None
                proper += [((k >= depth) | what, f"loop {k} {name}") for what, name in (
                    (loop.end >= line, "ends at or behind the line"),
                    (loop.end < lines, "ends in the buffer"),
                    (~passing | (loop.end >= pass_end), "ends at or behind what is left out"),
                    (loop.line <= line, "began at or before the line"),
                    (loop.index <= loop.last, "has an iteration left"),
                    (loop.final == (loop.index == loop.last), "knows its last iteration"),
                    (loop.base + loop.skip == k + 1, "begins anew with the loops around it open"),
                    (Const(1) if outer is None else (loop.end <= outer.end) & (loop.line >= outer.line),
                     "lies within the one around it"))]
            m.d.comb += [Assert(~self.running | what, f"LoopSequencer: {name}") for what, name in proper]
        return m
