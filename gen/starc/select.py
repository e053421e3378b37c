"""Selection of key clusters by their scores: a threshold, a pass over the clusters, and a program of reads."""

from amaranth import *
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...constraints.starc.select import StarcSelectConfig
from ..blocks.ports import members
from ..blocks.priority import lowest
from ..blocks.stream import StreamFIFO

__all__ = ["StarcSelect"]

#: Runs of access units that can wait for the program.
RUNS = 4


class _State(enum.Enum, shape=4):
    IDLE = 0  # waits for a command
    FILL = 1  # takes clusters
    SETTLE = 2  # the last cluster enters the list or the counters
    SELECT = 3  # finds the threshold, or the next digit of it
    COUNT = 4  # a pass: tokens by the next digit
    TAKE = 5  # a pass: runs of slots
    RECENT = 6  # the run of the recent tokens
    FLUSH = 7  # the last run
    CLOSE = 8  # the end of the program


class _ProgramWriter(wiring.Component):
    """Lines of a program from runs of access units, a command per row.

    Timing: a command in each cycle, as far as ``o`` takes its beats.

    Members
    -------
    run : ``In(stream.Signature(...))``, first and last unit; or ``end`` of the program, with ``short``
    row, mask : of the selection; stable while the program is written
    o : ``Out(stream.Signature(...))``, the program
    """

    def __init__(self, config):
        self._config = config
        units = range(-(-config.max_tokens // config.unit_tokens) + 1)
        ports = {port.name: port for port in config.ports()}
        operands = config.encoding.operands
        super().__init__(
            {
                "run": In(stream.Signature(data.StructLayout({"first": units, "last": units, "end": 1, "short": 1}))),
                "row": In(operands["row"]),
                "mask": In(operands["mask"]),
                "idle": Out(1),
                "o": members([ports["program"]])["program"],
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self._config
        run, fields = self.run.p, config.encoding.command_fields
        inside = config.row_units.bit_length() - 1

        # The part of the run that lies in one row.
        started, at = Signal(), Signal.like(run.first)
        begin, stop, final, moves = Signal.like(run.first), Signal.like(run.first), Signal(), Signal()
        row_end = Signal.like(run.first)
        m.d.comb += [
            begin.eq(Mux(started, at, run.first)),
            row_end.eq(begin | (config.row_units - 1)),
            final.eq(run.end | (run.last <= row_end)),
            stop.eq(Mux(run.last <= row_end, run.last, row_end)),
            self.run.ready.eq(moves & final),
        ]
        # A command, in registers.
        filled, takes = Signal(), Signal()
        line = Signal(
            data.StructLayout(
                {
                    "row": fields["row"],
                    "column": range(config.row_units * config.unit_columns + 1),
                    "opsize": range(config.row_units * config.unit_columns + 1),
                    "end": 1,
                    "short": 1,
                }
            ),
            reset_less=True,
        )
        m.d.comb += moves.eq(self.run.valid & (~filled | takes))
        with m.If(moves):
            m.d.sync += [
                filled.eq(1),
                started.eq(~final),
                at.eq(row_end + 1),
                line.row.eq(self.row + (begin >> inside)),
                line.column.eq((begin & (config.row_units - 1)) * config.unit_columns),
                line.opsize.eq((stop - begin + 1)[: inside + 1] * config.unit_columns),
                line.end.eq(run.end),
                line.short.eq(run.short),
            ]
        with m.Elif(takes):
            m.d.sync += filled.eq(0)
        words, low = [], 0
        end, dynamic = config.end_line, config.line(0, 0, 0, 0)
        values = {"row": line.row, "column": line.column, "opsize": line.opsize, "mask": self.mask}
        for name, width in fields.items():
            fixed = [Const(number >> low & (1 << width) - 1, width) for number in (end, dynamic)]
            value = Signal(width, name=f"field_{name}")
            m.d.comb += value.eq(Mux(line.end, fixed[0], values.get(name, fixed[1])))
            words.append(value)
            low += width
        text = Signal(config.encoding.line_words * 32)
        m.d.comb += text.eq(Cat(*words))

        # Beats of the line.
        size = config.output_words * 32
        beats = config.encoding.line_words // config.output_words
        beat, last_beat = Signal(range(max(2, beats))), Signal()
        m.d.comb += [
            last_beat.eq(beat == beats - 1),
            self.o.valid.eq(filled),
            self.o.p.data.eq(text.word_select(beat, size) if beats > 1 else text),
            self.o.p.last.eq(line.end & last_beat),
            self.o.p.short.eq(line.short & line.end & last_beat),
            takes.eq(filled & self.o.ready & last_beat),
            self.idle.eq(~filled),
        ]
        with m.If(filled & self.o.ready):
            m.d.sync += beat.eq(Mux(last_beat, 0, beat + 1))
        return m


class StarcSelect(wiring.Component):
    """Select the best clusters of keys of a head, and write the program that reads their access units.

    All clusters enter a store, ``ways`` in a row. The unit then finds the score of the last cluster that the budget
    reaches, by one of two methods:

    - ``list``: a sorted list of the best ``kept`` clusters. Its clusters are counted from the best one on.
    - ``radix``: tokens are counted by the highest digit of the score while clusters come in. The digit at which the
      budget ends is the highest one of the threshold. A pass over the clusters with this digit counts by the next digit.

    The last pass takes clusters above the threshold. Clusters with equal scores are taken in order of their numbers, until
    the budget ends within one of them. Runs of slots become runs of access units: neighbours and shared units join.

    Timing: a cluster in each cycle. A pass takes a cycle for each row of the store, and for each further cluster of a row
    that it wants. The next command is accepted when the runs of the previous one have become commands.

    The functional model is ``bankside.models.starc.select.select``.

    Source: STARC, Algorithm 1; the unit is this project's.

    Parameters
    ----------
    config : :class:`StarcSelectConfig`

    Members
    -------
    command : ``In(stream.Signature(...))``
    cluster : ``In(stream.Signature(...))``
        A cluster without tokens, or with a score of NaN, is never selected.
    program : ``Out(stream.Signature(...))``
    """

    def __init__(self, config):
        if not isinstance(config, StarcSelectConfig):
            raise TypeError(f"Configuration must be a StarcSelectConfig, not {config!r}")
        self.config = config
        super().__init__(members(config.ports()))

    @property
    def latency(self):
        """Fixed latencies in clocks: from a command without clusters and recent tokens to the last beat of its program."""
        return {"empty_program": 5 + self.config.dispatcher.line_words // self.config.output_words}

    def elaborate(self, platform):
        m = Module()
        config = self.config
        key_bits, slot_bits = config.score.width, config.slot_bits
        state = Signal(_State)
        job = Signal(self.command.p.shape(), reset_less=True)
        m.submodules.writer = writer = _ProgramWriter(config)
        m.submodules.runs = runs = StreamFIFO(writer.run.p.shape(), RUNS, output_register=False)
        wiring.connect(m, runs.o, writer.run)
        wiring.connect(m, writer.o, wiring.flipped(self.program))
        m.d.comb += [writer.row.eq(job.row), writer.mask.eq(job.mask)]

        starts = Signal()
        m.d.comb += [
            self.command.ready.eq((state == _State.IDLE) & (runs.level == 0) & writer.idle),
            starts.eq(self.command.valid & self.command.ready),
        ]

        # ---- Clusters come in --------------------------------------------------------------------------------------------
        index, base = Signal(range(config.clusters + 1)), Signal(slot_bits)
        arrives, size, key = Signal(), self.cluster.p.size, Signal(key_bits)
        m.d.comb += [
            self.cluster.ready.eq(state == _State.FILL),
            arrives.eq(self.cluster.valid & self.cluster.ready),
            key.eq(self._key(self.cluster.p.score)),
        ]
        entry_shape = data.StructLayout({"key": key_bits, "size": slot_bits, "base": slot_bits})
        enters, entry = Signal(), Signal(entry_shape, reset_less=True)
        row, way = (
            Signal(range(max(2, config.cluster_rows)), reset_less=True),
            Signal(range(max(2, config.ways)), reset_less=True),
        )
        dead = Signal()
        shift = config.ways.bit_length() - 1
        unit_mask = config.unit_tokens - 1
        room = ((size + unit_mask) & ~Const(unit_mask, slot_bits))[:slot_bits] if config.padded else size
        m.d.comb += dead.eq((key == 0) | (size == 0))
        m.d.sync += [
            enters.eq(arrives),
            entry.key.eq(Mux(dead, 0, key)),
            entry.size.eq(Mux(dead, 0, size)),
            entry.base.eq(base),
            row.eq(index >> shift),
            way.eq(index[:shift] if shift else 0),
        ]
        with m.If(starts):
            m.d.sync += [Value.cast(job).eq(Value.cast(self.command.p)), index.eq(0), base.eq(0)]
        with m.Elif(arrives):
            m.d.sync += [index.eq(index + 1), base.eq(base + room)]

        # ---- Threshold ---------------------------------------------------------------------------------------------------
        # Clusters above it are taken, and of those with its score `left` tokens.
        threshold, left = Signal(key_bits, reset_less=True), Signal(slot_bits, reset_less=True)
        short, found, again = Signal(), Signal(), Signal()
        scan = _Scan(m, config, entry_shape, enters, entry, row, way, index)
        find = self._by_list if config.method == "list" else self._by_radix
        wanted = find(m, state, starts, enters, entry, scan, threshold, left, short, found, again)

        # ---- Passes ------------------------------------------------------------------------------------------------------
        take_pass = Signal()
        m.d.comb += take_pass.eq(state == _State.TAKE)
        m.d.comb += scan.matches.eq(
            Cat((one.key != 0) & Mux(take_pass, one.key >= threshold, wanted(one)) for one in scan.entries)
        )
        m.d.comb += scan.start.eq((state == _State.SELECT) & (found | again))
        scan.build()

        # ---- Runs of slots -----------------------------------------------------------------------------------------------
        unit_shift = config.unit_tokens.bit_length() - 1
        given, given_base, given_size = Signal(), Signal(slot_bits), Signal(slot_bits)
        whole, part = Signal(), Signal(slot_bits)
        held, held_takes = Signal(), Signal()
        held_first, held_last = (
            Signal.like(writer.run.p.first, name=name, reset_less=True) for name in ("held_first", "held_last")
        )
        m.d.comb += [
            whole.eq(scan.entry.key > threshold),
            part.eq(Mux(whole | (scan.entry.size <= left), scan.entry.size, left)),
            scan.ready.eq(~take_pass | ~held | held_takes),
        ]
        with m.If(state == _State.RECENT):
            m.d.comb += [given.eq(job.recent != 0), given_base.eq(base), given_size.eq(job.recent)]
        with m.Elif(take_pass):
            m.d.comb += [given.eq(scan.valid & (part != 0)), given_base.eq(scan.entry.base), given_size.eq(part)]
            with m.If(scan.valid & scan.ready & ~whole):
                m.d.sync += left.eq(left - part)
        open_run, first, last = Signal(), Signal.like(held_first), Signal.like(held_first)
        joins = Signal()
        m.d.comb += [
            joins.eq(held_first <= last + 1),
            held_takes.eq(held & (~open_run | joins | runs.i.ready)),
            runs.i.p.first.eq(first),
            runs.i.p.last.eq(last),
            runs.i.p.short.eq(short),
        ]
        with m.If(given & (~held | held_takes)):
            m.d.sync += [
                held.eq(1),
                held_first.eq(given_base >> unit_shift),
                held_last.eq((given_base + given_size - 1)[: slot_bits + 1] >> unit_shift),
            ]
        with m.Elif(held_takes):
            m.d.sync += held.eq(0)
        with m.If(held_takes):
            m.d.sync += [open_run.eq(1), last.eq(held_last)]
            with m.If(~open_run | ~joins):
                m.d.sync += first.eq(held_first)
        closes = Signal()
        m.d.comb += [
            closes.eq((state == _State.FLUSH) & ~held & open_run),
            runs.i.valid.eq((held & open_run & ~joins) | closes | (state == _State.CLOSE)),
            runs.i.p.end.eq(state == _State.CLOSE),
        ]
        with m.If(closes & runs.i.ready):
            m.d.sync += open_run.eq(0)

        # ---- Order -------------------------------------------------------------------------------------------------------
        with m.Switch(state):
            with m.Case(_State.IDLE):
                with m.If(starts):
                    m.d.sync += state.eq(Mux(self.command.p.clusters == 0, _State.RECENT, _State.FILL))
            with m.Case(_State.FILL):
                with m.If(arrives & (index + 1 == job.clusters)):
                    m.d.sync += state.eq(_State.SETTLE)
            with m.Case(_State.SETTLE):
                m.d.sync += [state.eq(_State.SELECT), left.eq(job.budget)]
            with m.Case(_State.SELECT):
                with m.If(found):
                    m.d.sync += state.eq(_State.TAKE)
                with m.Elif(again):
                    m.d.sync += state.eq(_State.COUNT)
            with m.Case(_State.COUNT):
                with m.If(scan.done):
                    m.d.sync += state.eq(_State.SELECT)
            with m.Case(_State.TAKE):
                with m.If(scan.done):
                    m.d.sync += state.eq(_State.RECENT)
            with m.Case(_State.RECENT):
                with m.If(~given | ~held | held_takes):
                    m.d.sync += state.eq(_State.FLUSH)
            with m.Case(_State.FLUSH):
                with m.If(~held & (~open_run | runs.i.ready)):
                    m.d.sync += state.eq(_State.CLOSE)
            with m.Case(_State.CLOSE):
                with m.If(runs.i.ready):
                    m.d.sync += state.eq(_State.IDLE)
        return m

    def _key(self, score):
        """A number that grows with the score; 0 for NaN. Zeros of both signs have one key."""
        fmt = self.config.score
        magnitude, sign = score[: fmt.width - 1], score[fmt.width - 1]
        infinity = ((1 << fmt.exponent_bits) - 1) << fmt.fraction_bits
        key = Mux(sign & (magnitude != 0), Cat(~magnitude, 0), Cat(magnitude, 1))
        return Mux(magnitude > infinity, 0, key)

    def _by_list(self, m, state, starts, enters, entry, scan, threshold, left, short, found, again):
        """Sorted list: a cluster enters it in each cycle, and the best one leaves it in each cycle."""
        config = self.config
        cells = [
            Signal(data.StructLayout({"key": config.score.width, "size": config.slot_bits}), name=f"cell_{n}")
            for n in range(config.kept)
        ]
        none = Const(0, cells[0].shape().size)
        best = cells[0]
        pops, dropped = Signal(), Signal()
        new = Value.cast(Cat(entry.key, entry.size))
        above = Signal(config.kept)  # the new cluster goes before this cell; a later cluster loses a tie
        m.d.comb += [
            above.eq(Cat(entry.key > cell.key for cell in cells)),
            pops.eq((state == _State.SELECT) & (best.key != 0) & (left != 0)),
            found.eq((state == _State.SELECT) & ~pops),
        ]
        with m.If(starts):
            m.d.sync += [
                *(Value.cast(cell).eq(0) for cell in cells),
                dropped.eq(0),
                short.eq(0),
                threshold.eq(~Const(0, config.score.width)),
            ]
        with m.Elif(enters):
            for n, cell in enumerate(cells):
                with m.If(above[n]):
                    m.d.sync += Value.cast(cell).eq(Mux(above[n - 1], Value.cast(cells[n - 1]), new) if n else new)
            with m.If((entry.key != 0) & (cells[-1].key != 0)):
                m.d.sync += dropped.eq(1)
        with m.Elif(pops):
            for n, cell in enumerate(cells):
                m.d.sync += Value.cast(cell).eq(Value.cast(cells[n + 1]) if n + 1 < config.kept else none)
        # What is left when the first cluster of a score comes is for all clusters of this score.
        tie = Signal(config.slot_bits, reset_less=True)
        with m.If(pops):
            m.d.sync += [left.eq(Mux(best.size < left, left - best.size, 0)), threshold.eq(best.key)]
            with m.If(threshold != best.key):
                m.d.sync += tie.eq(left)
        with m.Elif(found):
            # Nothing was taken if the threshold is still above all scores.
            m.d.sync += [left.eq(Mux(threshold.all(), 0, tie)), short.eq(dropped & (left != 0))]
        return lambda one: Const(0, 1)

    def _by_radix(self, m, state, starts, enters, entry, scan, threshold, left, short, found, again):
        """Counters of tokens by digit. They shift past the comparison with the budget, the highest digit first."""
        config = self.config
        width, digits, values = config.digit_bits, config.digits, 1 << config.digit_bits
        counts = [Signal(config.slot_bits, name=f"count_{n}") for n in range(values)]
        digit, at = Signal(range(digits)), Signal(width)
        prefix = Signal(digits * width)  # digits of the threshold that are known, the others 0
        known = Signal(digits * width)  # ones in their places

        def padded(key):
            return Cat(key, Const(0, digits * width - len(key))) if digits * width > len(key) else key

        def place(key):
            """The digit that is counted."""
            chosen = Signal(width, name=f"digit_of_{len(chosen_names)}")
            chosen_names.append(chosen)
            with m.Switch(digit):
                for n in range(digits):
                    with m.Case(n):
                        m.d.comb += chosen.eq(padded(key).word_select(digits - 1 - n, width))
            return chosen

        chosen_names = []
        adds, added = Signal(), Signal(config.slot_bits)
        value = Signal(width)
        first, later = place(entry.key), place(scan.entry.key)
        m.d.comb += [
            adds.eq(enters | ((state == _State.COUNT) & scan.valid)),
            added.eq(Mux(enters, entry.size, scan.entry.size)),
            value.eq(Mux(enters, first, later)),
        ]
        selecting, fits, ends = Signal(), Signal(), Signal()
        m.d.comb += [
            selecting.eq(state == _State.SELECT),
            fits.eq(selecting & (left <= counts[-1])),
            ends.eq(selecting & ~fits & (at == 0)),  # all clusters together are within the budget
            found.eq((fits & (digit == digits - 1)) | ends),
            again.eq(fits & (digit != digits - 1)),
        ]
        chosen = Signal(digits * width)
        with m.Switch(digit):
            for n in range(digits):
                with m.Case(n):
                    m.d.comb += chosen.eq(at << (digits - 1 - n) * width)
        with m.If(starts | fits | ends):
            m.d.sync += [*(one.eq(0) for one in counts), at.eq(values - 1)]
        with m.Elif(adds):
            for n, one in enumerate(counts):
                with m.If(value == n):
                    m.d.sync += one.eq(one + added)
        with m.Elif(selecting):
            m.d.sync += [
                *(one.eq(counts[n - 1] if n else 0) for n, one in enumerate(counts)),
                at.eq(at - 1),
                left.eq(left - counts[-1]),
            ]
        with m.If(starts):
            m.d.sync += [digit.eq(0), prefix.eq(0), known.eq(0)]
        with m.Elif(ends):
            m.d.sync += threshold.eq(0)
        with m.Elif(fits):
            m.d.sync += [
                prefix.eq(prefix | chosen),
                known.eq((known >> width) | ((values - 1) << (digits - 1) * width)),
                threshold.eq((prefix | chosen)[: config.score.width]),
            ]
            with m.If(digit != digits - 1):
                m.d.sync += digit.eq(digit + 1)
        m.d.comb += short.eq(0)
        return lambda one: (padded(one.key) & known) == prefix


class _Scan:
    """Store of clusters, and passes over it: the clusters that ``matches`` chooses leave in order, one a cycle.

    A row without a chosen cluster takes a cycle.
    """

    def __init__(self, m, config, shape, enters, entry, row, way, count):
        self._m, self._config, self._count = m, config, count
        self.start, self.done = Signal(name="scan_start"), Signal(name="scan_done")
        self.valid, self.ready = Signal(name="scan_valid"), Signal(name="scan_ready")
        self.entry = Signal(shape, name="scan_entry", reset_less=True)
        self.matches = Signal(config.ways, name="scan_matches")
        self._reads, self.entries = [], []
        for n in range(config.ways):
            store = Memory(shape=shape, depth=max(2, config.cluster_rows), init=[])  # a port has at least one bit
            m.submodules[f"store_{n}"] = store
            write, read = store.write_port(), store.read_port()
            m.d.comb += [write.addr.eq(row), write.data.eq(entry), write.en.eq(enters & (way == n))]
            self._reads.append(read)
            self.entries.append(read.data)

    def build(self):
        m, config = self._m, self._config
        ways, rows = config.ways, config.cluster_rows
        address, reading, fetched = Signal(range(rows + 1)), Signal(), Signal()
        fetched_row = Signal(range(rows + 1), reset_less=True)
        step, next_row = Signal(), Signal()
        # Registers behind the store: a row, and which of its clusters are still to leave.
        line = [Signal(self.entry.shape(), name=f"line_{n}", reset_less=True) for n in range(ways)]
        wanted = Signal(ways)
        single, number = Signal(), lowest(m, wanted, "scan")[0]
        leaves = Signal()
        m.d.comb += [
            leaves.eq(wanted.any() & (~self.valid | self.ready)),
            single.eq((wanted & (wanted - 1)[:ways]) == 0),
            next_row.eq(~wanted.any() | (leaves & single)),
            step.eq(~fetched | next_row),
        ]
        inside = Cat(((fetched_row << (ways.bit_length() - 1)) | n) < self._count for n in range(ways))
        with m.If(self.start):
            m.d.sync += [address.eq(0), reading.eq(1)]
        with m.Elif(reading & step):
            m.d.sync += address.eq(address + 1)
            with m.If(((address + 1) << (ways.bit_length() - 1)) >= self._count):
                m.d.sync += reading.eq(0)
        for read in self._reads:
            m.d.comb += [read.addr.eq(address), read.en.eq(reading & step)]
        with m.If(step):
            m.d.sync += [fetched.eq(reading), fetched_row.eq(address)]
        with m.If(next_row):
            m.d.sync += [
                *(one.eq(entry) for one, entry in zip(line, self.entries, strict=True)),
                wanted.eq(Mux(fetched, self.matches & inside, 0)),
            ]
        with m.Elif(leaves):
            m.d.sync += wanted.eq(wanted & (wanted - 1)[:ways])
        with m.If(leaves):
            m.d.sync += [
                self.valid.eq(1),
                Value.cast(self.entry).eq(
                    Array([Value.cast(one) for one in line])[number] if ways > 1 else Value.cast(line[0])
                ),
            ]
        with m.Elif(self.ready):
            m.d.sync += self.valid.eq(0)
        m.d.comb += self.done.eq(~reading & ~fetched & ~wanted.any() & (~self.valid | self.ready))
