# amaranth: UnusedElaboratable=no
"""Decides which line of the command buffer is decoded in which clock, and with which loop indices."""

from typing import Any, NamedTuple

from amaranth import *
from amaranth.hdl import Assert
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...constraints.aim.encoding import OPERANDS, DispatchError, bits
from ...constraints.lolpim.dispatcher import DpaDispatcherConfig
from .lines import AHEAD, LineStream, entry_layout, line_layout, loop_layout, modifier_layout, slot_layout

__all__ = ["ItemKind", "LoopSequencer", "item_layout"]


def _sooner(place):
    """A place in a body. All places behind the kept lines count as one place."""
    return Mux(place > AHEAD, AHEAD + 1, place)


class ItemKind:
    """Kinds of decoded lines."""

    COMMAND, MORE, END = range(3)  # END: end of the run, by its program or by an error


def item_layout(config):
    """A decoded line: its command, and its used modifiers with the values of their indices."""
    encoding = config.encoding
    modifier = data.StructLayout(
        {
            "valid": 1,
            "target": encoding.modifier_fields["target"],
            "stride": signed(encoding.stride_bits),
            "index": max(config.count_bits, config.layer_bits, config.token_bits),
        }
    )
    return data.StructLayout(
        {
            "kind": 2,
            "code": 4,
            "line": bits(config.lines + 1),
            "op": encoding.command_fields["op"],
            "virtual": 1,
            "operands": data.StructLayout(encoding.operands),
            "modifiers": data.ArrayLayout(modifier, encoding.prefix_words),
        }
    )


class _Place(NamedTuple):
    """Position of the run.

    Attributes
    ----------
    line : number of the line to decode
    fetched, now : whether ``now`` has the content of that line; its content
    passing, pass_end : the line is in a skipped loop; last line of this loop
    annul : the line ends a skipped loop; only the loops around that loop matter
    base, skip : loops around the first loop of the line; loops of the line that are already open
    depth : number of open loops, ``base + skip``
    idle : the line is not decoded
    loops, heads : state of the loop, and its kept lines, by level
    """

    line: Signal
    fetched: Signal
    now: data.View
    passing: Signal
    pass_end: Signal
    annul: Signal
    base: Signal
    skip: Signal
    depth: Signal
    idle: Value
    loops: list
    heads: list


class _Sampled(NamedTuple):
    """Values sampled at the start. ``newest`` is the number of the newest token of the run's request."""

    tokens: data.View
    owned: Signal
    layer: Signal
    layers: Signal
    newest: Signal
    has_newest: Signal


class _Begin(NamedTuple):
    """A level at the current line.

    Attributes
    ----------
    opening, loop : a loop begins; state of the loop after this line is decoded
    end, single : last line of the loop; the loop has one line
    nothing : the loop has no iteration
    fault : error code of the loop
    """

    opening: Signal
    loop: data.View
    end: Signal
    single: Signal
    nothing: Value
    fault: Signal


class _LeftOut(NamedTuple):
    """Loops of the line that are skipped, and errors.

    Attributes
    ----------
    left_out : a loop of the line has no iteration
    end, base, is_line : end and level of the first such loop; whether it has one line
    trouble : error code of the first loop with an error
    within, deep : number of loops around the command; whether it exceeds the number of levels
    """

    left_out: Signal
    end: Signal
    base: Signal
    is_line: Signal
    trouble: Signal
    within: Signal
    deep: Signal


class _Modifiers(NamedTuple):
    """One bit per modifier: it is wrong; its index is the layer; its index is the newest token."""

    wrong: Signal
    by_layer: Signal
    by_newest: Signal


class _Next(NamedTuple):
    """The next line.

    Attributes
    ----------
    line, base, skip : as in :class:`_Place`
    back : by level, whether the loop starts a new iteration
    heads_first : by level, whether the loop's first line, which it keeps, comes next
    follows : the line behind the current one comes next
    """

    line: Signal
    base: Signal
    skip: Signal
    back: Signal
    heads_first: Signal
    follows: Signal


class LoopSequencer(wiring.Component):
    """Walks through a program: one line per clock, whatever loops begin, end or start a new iteration at the line.

    A loop with a count of 0 is skipped. This takes one clock per line of the loop, and at least two clocks. The first
    is for the first line of the loop, the second for the loops that end with it. A line without a command (``MORE``)
    takes one clock like any other line.

    A :class:`LineStream` reads lines in order and decodes them. When it is sent to another line, it needs :data:`AHEAD`
    clocks. So each open loop keeps the first ``AHEAD`` lines of its body, and a new iteration begins with these lines.
    If the body is longer, the stream is sent to the line behind them at the same time. It has this line when the kept
    lines are used up. The stream stands at the first line that no open loop keeps.

    Members
    -------
    en : ``In(1)``
        The sequencer moves. If 0, only reading ahead continues.
    start, first, slot : ``In``
        Strobe: begin at line ``first`` for the slot. It is allowed only while ``running`` is 0. It does not wait for
        ``en``.
    stop : ``In(1)``
        The next line to be decoded ends the run instead.
    kill : ``In(1)``
        Strobe: the run is over at once.
    running : ``Out(1)``
        The end of the run has not been decoded.
    run_slot : ``Out``
        Start slot of the run.
    slots : ``In``
        Configuration, an array of :func:`slot_layout`.
    layer, layers : ``In``
        Current layer and number of layers. They are sampled at the start, as are the token counts, and which slots hold
        a request.
    address, read : ``Out``
        Line to be read at the next edge, if ``read``.
    words : ``In``
        Line that was read last.
    valid, item : ``Out``
        Decoded line. It is taken at the edge with ``en``.
    """

    def __init__(self, config):
        if not isinstance(config, DpaDispatcherConfig):
            raise TypeError(f"Configuration must be a DpaDispatcherConfig, not {config!r}")
        self._config = config
        lines = bits(config.lines + 1)
        super().__init__(
            {
                "en": In(1),
                "start": In(1),
                "first": In(lines),
                "slot": In(bits(config.slots) + 1),
                "stop": In(1),
                "kill": In(1),
                "running": Out(1),
                "run_slot": Out(bits(config.slots) + 1),
                "slots": In(data.ArrayLayout(slot_layout(config), config.slots)),
                "layer": In(config.layer_bits),
                "layers": In(config.layer_bits),
                "address": Out(bits(config.lines)),
                "read": Out(1),
                "words": In(line_layout(config.encoding)),
                "valid": Out(1),
                "item": Out(item_layout(config)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        place = self._place(m)
        run = self._sampled_at_start(m)
        stream = self._stream(m, run)
        header = self._header_code(m, place)
        begin = self._loops_that_begin(m, place)
        out = self._left_out(m, place, begin)
        modifiers = self._modifiers(m, place, run, begin, out)
        ends = self._decoded(m, place, run, header, out, modifiers)
        back, stay = self._loops_that_end(m, place, begin, out)
        after = self._next_line(m, place, begin, out, back, stay)
        kept, behind = self._kept_line(m, place)
        self._read_on(m, stream, place, ends, after, kept)
        self._advance(m, stream, place, begin, out, ends, after, kept, behind)
        if platform == "formal":
            _check(m, self.running, place, self._config.lines)
        return m

    def _place(self, m):
        """Registers of the position of the run. The start of a run writes their initial values."""
        config = self._config
        levels, prefixes, lines = config.nesting, config.encoding.prefix_words, config.lines

        line = Signal(range(lines + 1))
        fetched = Signal()
        now = Signal(entry_layout(config))
        passing, pass_end = Signal(), Signal(range(lines))
        annul = Signal()
        base = Signal(range(levels + 1))
        skip = Signal(range(prefixes + 1))
        depth = Signal(range(levels + prefixes + 1))
        m.d.comb += depth.eq(base + skip)
        # `heads` holds the first `kept` lines of the body. `place` is the next line's place in the body. `resume` is
        # the first line that is never kept. `places` are the places of the second line in the bodies around.
        loops = [
            Signal(
                data.StructLayout(
                    {
                        "line": range(lines + 1),
                        "base": range(levels + 1),
                        "skip": range(prefixes + 1),
                        "end": range(lines),
                        "last": config.count_bits,
                        "index": config.count_bits,
                        "final": 1,
                        "long": 1,
                        "resume": range(lines + AHEAD + 2),
                        "place": range(AHEAD + 2),
                        "kept": range(AHEAD + 1),
                        **({"places": data.ArrayLayout(range(AHEAD + 2), k)} if k else {}),
                    }
                ),
                name=f"loop_{k}",
            )
            for k in range(levels)
        ]
        heads = [[Signal(entry_layout(config), name=f"head_{k}_{n}") for n in range(AHEAD)] for k in range(levels)]
        return _Place(line, fetched, now, passing, pass_end, annul, base, skip, depth, annul | passing, loops, heads)

    def _sampled_at_start(self, m):
        """Sample the configuration at the start. Later writes of the host do not change the current run."""
        config = self._config
        tokens = Signal(data.ArrayLayout(signed(config.token_bits + 1), config.slots))
        owned = Signal(config.slots)
        layer, layers = Signal(config.layer_bits), Signal(config.layer_bits)
        newest, has_newest = Signal(config.token_bits), Signal()
        with m.If(self.start):
            m.d.sync += has_newest.eq(0)
            for s in range(config.slots):
                with m.If(self.slot == s):
                    m.d.sync += [
                        newest.eq(self.slots[s].tokens),
                        has_newest.eq(self.slots[s].valid & (self.slots[s].tokens >= 0)),
                    ]
            m.d.sync += [layer.eq(self.layer), layers.eq(self.layers)]
            m.d.sync += [tokens[s].eq(self.slots[s].tokens) for s in range(config.slots)]
            m.d.sync += [owned[s].eq(self.slots[s].valid) for s in range(config.slots)]
        return _Sampled(tokens, owned, layer, layers, newest, has_newest)

    def _stream(self, m, run):
        """The stream of lines. Other methods drive ``send`` and ``take``."""
        m.submodules.stream = stream = LineStream(self._config)
        m.d.comb += [
            self.address.eq(stream.address),
            self.read.eq(stream.read),
            stream.words.eq(self.words),
            stream.run_slot.eq(self.run_slot),
            stream.tokens.eq(run.tokens),
            stream.owned.eq(run.owned),
        ]
        return stream

    def _header_code(self, m, place):
        """Error code of the line itself, without its loops and modifiers."""
        header = Signal(4)
        with m.If(place.line >= self._config.lines):
            m.d.comb += header.eq(DispatchError.BEYOND)
        with m.Else():
            m.d.comb += header.eq(place.now.code)
        return header

    def _loops_that_begin(self, m, place):
        """Loops that begin at the line: a list of :class:`_Begin` by level. The loop word of level k is k - base."""
        levels, lines = self._config.nesting, self._config.lines
        begin: Any = []
        around = lines  # end of the enclosing loop
        for k in range(levels):
            begin.append(self._loop_that_begins(m, k, place, begin, around))
            around = Mux(begin[k].opening, begin[k].end, Mux(k < place.depth, place.loops[k].end, lines))
        return begin

    def _loop_that_begins(self, m, k, place, outside, around):
        """Level ``k`` inside the levels ``outside``. The innermost enclosing loop ends at line ``around``."""
        config = self._config
        levels, prefixes, lines = config.nesting, config.encoding.prefix_words, config.lines
        line, now, base, loops = place.line, place.now, place.base, place.loops

        opening = Signal(name=f"opening_{k}")
        number = Signal(range(max(levels, prefixes) + 1), name=f"number_{k}")
        word = Signal(loop_layout(config), name=f"word_{k}")
        m.d.comb += [
            number.eq(k - base),
            opening.eq((k >= place.depth) & (k - base < now.begun)),
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
        # State of the loop after this line is decoded.
        new = Signal.like(loops[k], name=f"new_{k}")
        later = Signal(name=f"later_{k}")  # its iterations need nothing of this line
        m.d.comb += [later.eq(now.is_more & (now.changed == 0) & (number == now.begun - 1) & ~single), new.eq(loops[k])]
        with m.If(opening):
            m.d.comb += [
                new.line.eq(line + later),
                new.base.eq(Mux(later, k + 1, base)),
                new.skip.eq(Mux(later, 0, number + 1)),
                new.end.eq(end),
                new.last.eq(word.last),
                new.index.eq(0),
                new.final.eq(word.last == 0),
                new.long.eq(word.length > AHEAD + later),
                new.resume.eq(line + AHEAD + later),
                new.place.eq(~later),
                *(new.places[j].eq(_sooner(outside[j].loop.place + later)) for j in range(k)),
            ]
        return _Begin(opening, new, end, single, word.none, fault)

    def _left_out(self, m, place, begin):
        """Find the first loop with an error or without iterations. It ends the decoding of the line.

        The next line after an error does not matter, so it does not depend on the logic that finds errors.
        """
        levels, prefixes, lines = self._config.nesting, self._config.encoding.prefix_words, self._config.lines
        base = place.base
        trouble = Signal(4)
        left_out, left_end, out_base, left_line = Signal(), Signal(range(lines)), Signal.like(base), Signal()
        within = Signal(range(levels + prefixes + 1))
        deep = Signal()
        m.d.comb += [within.eq(base + place.now.begun), deep.eq(within > levels)]
        for k, one in reversed(list(enumerate(begin))):
            with m.If(one.opening & one.nothing):
                m.d.comb += [left_out.eq(1), left_end.eq(one.loop.end), out_base.eq(k), left_line.eq(one.single)]
            with m.If(one.opening & (one.nothing | (one.fault != 0))):
                m.d.comb += trouble.eq(one.fault)
        return _LeftOut(left_out, left_end, out_base, left_line, trouble, within, deep)

    def _modifiers(self, m, place, run, begin, out):
        """The modifiers of the item, with the values of their indices."""
        encoding, now = self._config.encoding, place.now
        prefixes = encoding.prefix_words
        wrong, by_layer, by_newest = Signal(prefixes), Signal(prefixes), Signal(prefixes)
        for j in range(prefixes):
            word = data.View(modifier_layout(encoding), now.prefix[j][: modifier_layout(encoding).size])
            used = Signal(name=f"used_{j}")
            m.d.comb += [
                used.eq((j >= now.begun) & (j < now.begun + now.changed)),
                by_layer[j].eq(used & (word.level == encoding.layer_level)),
                by_newest[j].eq(used & (word.level == encoding.newest_level)),
                wrong[j].eq(
                    used
                    & ((word.target >= len(OPERANDS)) | (~by_layer[j] & ~by_newest[j] & (word.level >= out.within)))
                ),
                self.item.modifiers[j].valid.eq(used),
                self.item.modifiers[j].target.eq(word.target),
                self.item.modifiers[j].stride.eq(word.stride),
                self.item.modifiers[j].index.eq(run.layer),
            ]
            for k, one in enumerate(begin):
                with m.If(word.level == k):
                    m.d.comb += self.item.modifiers[j].index.eq(one.loop.index)
            with m.If(word.level == encoding.newest_level):
                m.d.comb += self.item.modifiers[j].index.eq(
                    run.newest >> word.shift if "shift" in encoding.modifier_fields else run.newest
                )
        return _Modifiers(wrong, by_layer, by_newest)

    def _decoded(self, m, place, run, header, out, modifiers):
        """The item made from the line, and whether it ends the run."""
        idle, now = place.idle, place.now
        code = Signal(4)
        with m.If(self.stop):
            m.d.comb += code.eq(DispatchError.STOPPED)
        with m.Elif(idle):
            m.d.comb += code.eq(0)
        with m.Elif(header != 0):
            m.d.comb += code.eq(header)
        with m.Elif(out.trouble != 0):
            m.d.comb += code.eq(out.trouble)
        with m.Elif(out.left_out):
            m.d.comb += code.eq(0)
        with m.Elif(out.deep):
            m.d.comb += code.eq(DispatchError.NESTING)
        with m.Elif(modifiers.wrong.any()):
            m.d.comb += code.eq(DispatchError.MODIFIER)
        with m.Elif(modifiers.by_layer.any() & (run.layer >= run.layers)):
            m.d.comb += code.eq(DispatchError.LAYER)
        with m.Elif(modifiers.by_newest.any() & ~run.has_newest):
            m.d.comb += code.eq(DispatchError.NEWEST)
        with m.Elif(now.is_end & (out.within != 0)):
            m.d.comb += code.eq(DispatchError.BODY)
        decodes, ends = Signal(), Signal()
        m.d.comb += [
            decodes.eq(self.running & place.fetched),
            ends.eq((code != 0) | (now.is_end & ~idle)),
            self.valid.eq(decodes & (ends | ~(idle | out.left_out))),
            self.item.kind.eq(Mux(ends, ItemKind.END, Mux(now.is_more, ItemKind.MORE, ItemKind.COMMAND))),
            self.item.code.eq(code),
            self.item.line.eq(place.line),
            self.item.op.eq(now.op),
            self.item.virtual.eq(now.virtual),
            self.item.operands.eq(now.operands),
        ]
        return ends

    def _loops_that_end(self, m, place, begin, out):
        """Loops that end at this line.

        The innermost loop that ends here and has an iteration left starts a new iteration (``back``). The run continues
        within the innermost loop that does not end here (``stay``).
        """
        levels, annul, loops = self._config.nesting, place.annul, place.loops
        open_levels = Signal.like(out.within)
        m.d.comb += open_levels.eq(Mux(annul, place.depth, out.within))
        back, stay = Signal(levels), Signal(levels)
        inner = Const(1)  # all loops further inside are over
        for k in reversed(range(levels)):
            is_open, here, final = Signal(name=f"open_{k}"), Signal(name=f"here_{k}"), Signal(name=f"final_{k}")
            m.d.comb += [
                is_open.eq(k < open_levels),
                here.eq(Mux(begin[k].opening & ~annul, begin[k].single, loops[k].end == place.line)),
                final.eq(Mux(annul, loops[k].final, begin[k].loop.final)),
                back[k].eq(inner & is_open & here & ~final),
                stay[k].eq(inner & is_open & ~here),
            ]
            outer = Signal(name=f"outer_{k}")
            m.d.comb += outer.eq(inner & (~is_open | (here & final)))
            inner = outer
        return back, stay

    def _next_line(self, m, place, begin, out, back, stay):
        """Find the next line.

        A new iteration continues with the first line of its loop, which may be this line. In all other cases the line
        behind this one is next.
        """
        levels, annul, loops = self._config.nesting, place.annul, place.loops
        line, base, skip, passing = place.line, place.base, place.skip, place.passing
        again, heads_first = Signal(), Signal(levels)
        follows = Signal()
        next_line, next_base, next_skip = Signal.like(line), Signal.like(base), Signal.like(skip)
        m.d.comb += [next_line.eq(line + 1), next_base.eq(0), next_skip.eq(0)]
        for k in range(levels):
            with m.If(stay[k]):
                m.d.comb += next_base.eq(k + 1)
            with m.If(back[k]):
                new = begin[k].loop
                m.d.comb += [
                    next_line.eq(Mux(annul, loops[k].line, new.line)),
                    next_base.eq(Mux(annul, loops[k].base, new.base)),
                    next_skip.eq(Mux(annul, loops[k].skip, new.skip)),
                ]
                with m.If((begin[k].opening & ~annul) | (loops[k].place == 1)):
                    m.d.comb += again.eq(1)
                with m.Else():
                    m.d.comb += heads_first[k].eq(1)
        with m.If(~annul & (out.left_out | passing)):
            m.d.comb += [next_line.eq(line + 1), again.eq(0), heads_first.eq(0)]
            with m.If(passing):
                m.d.comb += [next_base.eq(base), next_skip.eq(0)]
            with m.Else():
                m.d.comb += [next_base.eq(out.base), next_skip.eq(0), again.eq(out.is_line)]
                with m.If(out.is_line):
                    m.d.comb += next_line.eq(line)
        m.d.comb += follows.eq(~(again | heads_first.any()))
        return _Next(next_line, next_base, next_skip, back, heads_first, follows)

    def _kept_line(self, m, place):
        """The line behind this one, if a loop keeps it."""
        kept, behind = Signal(), Signal.like(place.now)
        for k, loop in enumerate(place.loops):
            with m.If((k < place.depth) & (loop.place < loop.kept)):
                m.d.comb += [kept.eq(1), behind.eq(Array(place.heads[k])[loop.place])]
        return kept, behind

    def _read_on(self, m, stream, place, ends, after, kept):
        """Take the next line from the stream if no loop keeps it. Send the stream to the line behind the kept lines."""
        m.d.comb += stream.take.eq(self.en & self.running & Mux(place.fetched, after.follows & ~kept & ~ends, 1))
        with m.If(self.en & self.running & place.fetched & ~ends):
            for k, loop in enumerate(place.loops):
                with m.If(after.heads_first[k] & loop.long):
                    m.d.comb += [stream.send.eq(1), stream.target.eq(loop.resume)]
        with m.If(self.start):
            m.d.comb += [stream.send.eq(1), stream.target.eq(self.first)]

    def _advance(self, m, stream, place, begin, out, ends, after, kept, behind):
        """Step to the next line."""
        now, annul, passing = place.now, place.annul, place.passing
        with m.If(self.en & self.running & ~place.fetched):
            m.d.sync += [place.fetched.eq(stream.valid), now.eq(stream.entry)]
        with m.If(self.en & self.running & place.fetched):
            m.d.sync += [place.line.eq(after.line), place.base.eq(after.base), place.skip.eq(after.skip)]
            last_passed = Mux(passing, place.pass_end, out.end) == after.line
            m.d.sync += [
                annul.eq(~annul & (out.left_out | passing) & last_passed),
                passing.eq(~annul & (out.left_out | passing) & ~last_passed),
            ]
            with m.If(~passing):
                m.d.sync += place.pass_end.eq(out.end)
            with m.If(after.follows):
                m.d.sync += [now.eq(Mux(kept, behind, stream.entry)), place.fetched.eq(kept | stream.valid)]
            for k, heads in enumerate(place.heads):
                with m.If(after.heads_first[k]):
                    m.d.sync += now.eq(heads[0])
            for k in range(self._config.nesting):
                self._advance_loop(m, k, place, begin[k], out, after)
            with m.If(ends):
                m.d.sync += self.running.eq(0)
        with m.If(self.start):
            m.d.sync += [
                self.running.eq(1),
                self.run_slot.eq(self.slot),
                place.line.eq(self.first),
                place.fetched.eq(0),
                annul.eq(0),
                passing.eq(0),
                place.base.eq(0),
                place.skip.eq(0),
            ]
        with m.If(self.kill):
            m.d.sync += self.running.eq(0)

    def _advance_loop(self, m, k, place, begin, out, after):
        """Update the registers of level ``k`` in a step to the next line."""
        loops, heads_first = place.loops, after.heads_first
        loop = Signal.like(loops[k], name=f"is_{k}")
        opening = begin.opening & ~place.idle
        m.d.comb += loop.eq(loops[k])
        with m.If(opening):
            m.d.comb += loop.eq(begin.loop)
        # Keep the line if it is among the first lines of the body.
        for n in range(AHEAD):
            with m.If(((k < place.depth) | opening) & (loop.place == n + 1)):
                m.d.sync += place.heads[k][n].eq(place.now)
        kept_now = Signal.like(loop.kept, name=f"kept_{k}")
        with m.If(opening):
            m.d.comb += kept_now.eq(loop.place)
        with m.Elif((loop.place == loop.kept + 1) & (loop.place <= AHEAD)):
            m.d.comb += kept_now.eq(loop.place)
        with m.Else():
            m.d.comb += kept_now.eq(loop.kept)
        m.d.sync += [loops[k].eq(loop), loops[k].kept.eq(kept_now)]
        with m.If(after.follows):
            m.d.sync += loops[k].place.eq(_sooner(loop.place + 1))
        for outer in range(k):
            with m.If(heads_first[k]):
                m.d.sync += loops[outer].place.eq(loop.places[outer])
        with m.If(heads_first[k]):
            m.d.sync += loops[k].place.eq(1)
        with m.If(after.back[k] & (place.annul | ~(out.left_out | place.passing))):
            index = loop.index + 1
            m.d.sync += [loops[k].index.eq(index), loops[k].final.eq(index == loop.last)]


def _check(m, running, place, lines):
    """Invariants of the registers of a run."""
    line, depth, loops, passing, pass_end = place.line, place.depth, place.loops, place.passing, place.pass_end
    levels = len(loops)
    proper = [
        (depth <= levels, "no more loops are open than there are levels"),
        (line <= lines, "the line exists, or is the one behind the last"),
        (~passing | ((line < pass_end) & (pass_end < lines)), "a loop that is left out has an end"),
        (~place.annul | ((line < lines) & ~passing), "it is passed over, or at its end"),
    ]
    for k, loop in enumerate(loops):
        outer = loops[k - 1] if k else None
        proper += [
            ((k >= depth) | what, f"loop {k} {name}")
            for what, name in (
                (loop.end >= line, "ends at or behind the line"),
                (loop.end < lines, "ends in the buffer"),
                (~passing | (loop.end >= pass_end), "ends at or behind what is left out"),
                (loop.line <= line, "began at or before the line"),
                (loop.index <= loop.last, "has an iteration left"),
                (loop.final == (loop.index == loop.last), "knows its last iteration"),
                (loop.base + loop.skip == k + 1, "begins anew with the loops around it open"),
                (
                    Const(1) if outer is None else (loop.end <= outer.end) & (loop.line >= outer.line),
                    "lies within the one around it",
                ),
            )
        ]
    m.d.comb += [Assert(~running | what, f"LoopSequencer: {name}") for what, name in proper]
