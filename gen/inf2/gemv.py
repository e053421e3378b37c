# amaranth: UnusedElaboratable=no
"""INF2's GEMV engine: blocks of lanes that hold the outputs, fed with matrix rows and a broadcast vector."""

from amaranth import *
from amaranth.hdl import Assert
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...constraints.inf2.gemv import Inf2GemvConfig
from ..arith import add, convert
from ..arith.lanes import LaneSums, register
from ..blocks.ports import members, payload
from ..blocks.shared import shared
from ..blocks.stream import ReplayBuffer, StreamFIFO, StreamRegister
from ..blocks.transpose import TransposeBuffer

__all__ = ["GemvBlock", "Inf2Gemv"]

#: Commands whose share a block can hold before it begins them.
JOBS = 4


def _job(config):
    """A block's share of a command: output tiles, tiles of products, outputs of the last output tile, products of the last
    tile of products. ``ends``: the last output tile of the command is the block's."""
    lanes, tiles = range(config.lanes + 1), range(config.max_tiles + 1)
    return data.StructLayout(
        {"sv": 1, "outs": tiles, "steps": tiles, "last_outs": lanes, "last_steps": lanes, "ends": 1}
    )


def _tile(config):
    """A tile: its outputs and products, and its place.

    ``first``, ``last``: of the sum of its outputs. ``slot``: where the sums of its outputs are. ``offset``, ``release``:
    its vector, and whether no other tile needs it. ``ends``: its result is the last of the command.
    """
    lanes = range(config.lanes + 1)
    return data.StructLayout(
        {
            "sv": 1,
            "outs": lanes,
            "steps": lanes,
            "first": 1,
            "last": 1,
            "slot": range(max(2, config.slots)),
            "offset": range(config.vector_beats),
            "release": 1,
            "ends": 1,
        }
    )


class _TileWalker(wiring.Component):
    """Names the tiles of jobs in the order in which a block takes them. A tile per cycle."""

    def __init__(self, config):
        self._config = config
        super().__init__({"i": In(stream.Signature(_job(config))), "o": Out(stream.Signature(_tile(config)))})

    def elaborate(self, platform):
        m = Module()
        lanes, job, tile = self._config.lanes, self.i.p, self.o.p
        out, step = (Signal(range(self._config.max_tiles), name=name) for name in ("out", "step"))
        last_out, last_step, moves = Signal(), Signal(), Signal()
        m.d.comb += [
            last_out.eq(out == job.outs - 1),
            last_step.eq(step == job.steps - 1),
            self.o.valid.eq(self.i.valid),
            moves.eq(self.i.valid & self.o.ready),
            self.i.ready.eq(moves & last_out & last_step),
            tile.sv.eq(job.sv),
            tile.outs.eq(Mux(last_out, job.last_outs, lanes)),
            tile.steps.eq(Mux(last_step, job.last_steps, lanes)),
            tile.first.eq(step == 0),
            tile.last.eq(last_step),
            tile.slot.eq(Mux(job.sv, out, 0)),
            # The last output tile that needs a vector frees it. The vectors behind it then move up.
            tile.offset.eq(Mux(job.sv | last_out, 0, step)),
            tile.release.eq(last_out),
            tile.ends.eq(job.ends & last_out & last_step),
        ]
        with m.If(moves):
            with m.If(job.sv):
                m.d.sync += out.eq(Mux(last_out, 0, out + 1))
                with m.If(last_out):
                    m.d.sync += step.eq(Mux(last_step, 0, step + 1))
            with m.Else():
                m.d.sync += step.eq(Mux(last_step, 0, step + 1))
                with m.If(last_step):
                    m.d.sync += out.eq(Mux(last_out, 0, out + 1))
        return m


class GemvBlock(wiring.Component):
    """A block: ``lanes`` multiply-accumulate units, a transposing tile buffer, and the outputs that are being built.

    K passes the tile buffer: its rows are tokens, and a column has an element of every output. V bypasses it: its rows
    have an element of every output already. A tile's products are summed by the lanes and rounded. The sums of a tile are
    then added to the outputs one after the other, while the lanes work on the next tile.

    Timing: a matrix row in every cycle. A tile takes at least ``sum_clocks`` cycles.

    Parameters
    ----------
    config : :class:`Inf2GemvConfig`

    Members
    -------
    job : ``In(stream.Signature(...))``, share of a command (see :func:`_job`)
    vector, matrix : ``In(stream.Signature(lanes * width))``
    result : ``Out(stream.Signature(...))``, as of :class:`Inf2Gemv`
    """

    def __init__(self, config):
        self.config = config
        beat = payload(config.beat_layout)
        super().__init__(
            {
                "job": In(stream.Signature(_job(config))),
                "vector": In(stream.Signature(beat)),
                "matrix": In(stream.Signature(beat)),
                "result": Out(stream.Signature(payload(config.result_layout))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.jobs = jobs = StreamFIFO(_job(config), JOBS)
        m.submodules.walker = walker = _TileWalker(config)
        # Tiles whose rows come, and the same tiles for the lanes, which may be two tiles behind.
        m.submodules.loads = loads = StreamFIFO(_tile(config), 2)
        m.submodules.tiles = tiles = StreamFIFO(_tile(config), 3)
        wiring.connect(m, wiring.flipped(self.job), jobs.i)
        wiring.connect(m, jobs.o, walker.i)
        m.d.comb += [
            loads.i.payload.eq(walker.o.payload),
            tiles.i.payload.eq(walker.o.payload),
            loads.i.valid.eq(walker.o.valid & tiles.i.ready),
            tiles.i.valid.eq(walker.o.valid & loads.i.ready),
            walker.o.ready.eq(loads.i.ready & tiles.i.ready),
        ]
        columns, rows = self._load(m, loads.o)
        m.submodules.lanes = lanes = LaneSums(
            config.io, config.window, config.lanes, tag=self._tag, fabric=config.fabric
        )
        self._multiply(m, tiles.o, columns, rows, lanes)
        if platform == "formal":
            turn, sums, results = (m.submodules[name] for name in ("transpose", "sums", "results"))
            m.d.comb += [
                Assert(
                    ~turn.i.valid | ((turn.i.p.columns != 0) & (turn.i.p.columns <= config.lanes)),
                    "GemvBlock: a tile of the buffer has columns",
                ),
                Assert(~sums.i.valid | sums.i.ready, "GemvBlock: the sums of a tile find a place"),
                Assert(~results.i.valid | results.i.ready, "GemvBlock: finished outputs find a place"),
            ]
        return m

    @property
    def _tag(self):
        """What accompanies the sums of a tile."""
        return data.StructLayout({"slot": range(max(2, self.config.slots)), "first": 1, "last": 1, "ends": 1})

    def _load(self, m, tile):
        """Rows of K go to the tile buffer, rows of V past it. Returns the streams of columns and of rows."""
        config = self.config
        width = config.io.width
        m.submodules.transpose = turn = TransposeBuffer(width, config.lanes)
        m.submodules.bypass = bypass = StreamRegister(config.lanes * width)
        row, last, moves = Signal(range(config.lanes)), Signal(), Signal()
        sv, given = tile.p.sv, self.matrix.valid & tile.valid
        m.d.comb += [
            last.eq(row == Mux(sv, tile.p.steps, tile.p.outs) - 1),
            turn.i.valid.eq(given & ~sv),
            Value.cast(turn.i.p.row).eq(self.matrix.payload),
            turn.i.p.columns.eq(tile.p.steps),
            turn.i.p.last.eq(last),
            bypass.i.valid.eq(given & sv),
            # Elements behind the head dimension are not of V.
            bypass.i.payload.eq(
                Cat(Mux(tile.p.outs > n, self.matrix.payload.word_select(n, width), 0) for n in range(config.lanes))
            ),
            self.matrix.ready.eq(tile.valid & Mux(sv, bypass.i.ready, turn.i.ready)),
            moves.eq(self.matrix.valid & self.matrix.ready),
            tile.ready.eq(moves & last),
        ]
        with m.If(moves):
            m.d.sync += row.eq(Mux(last, 0, row + 1))
        return turn.o, bypass.o

    def _multiply(self, m, tile, columns, rows, lanes):
        """Give the lanes a row and an element of the vector in each clock."""
        config = self.config
        width = config.io.width
        m.submodules.vectors = vectors = ReplayBuffer(config.lanes * width, config.vector_beats)
        wiring.connect(m, wiring.flipped(self.vector), vectors.i)

        # The vector of the next tile is read while the lanes work on this one.
        fetched, fetch, takes = Signal(), Signal(), Signal()
        fetched_tile = Signal(_tile(config), reset_less=True)
        m.d.comb += [
            fetch.eq(tile.valid & (vectors.available > tile.p.offset) & (~fetched | takes)),
            tile.ready.eq(fetch),
            vectors.read.eq(fetch),
            vectors.offset.eq(tile.p.offset),
            vectors.release.eq(fetch & tile.p.release),
        ]
        with m.If(fetch):
            m.d.sync += [fetched.eq(1), fetched_tile.eq(tile.p)]
        with m.Elif(takes):
            m.d.sync += fetched.eq(0)

        active, now = Signal(), Signal(_tile(config), reset_less=True)
        vector, element = (
            Signal(bits, reset_less=True, name=name)
            for bits, name in ((config.lanes * width, "beat"), (width, "element"))
        )
        step, last, issue, done, free = Signal(range(config.lanes)), Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            last.eq(step == now.steps - 1),
            issue.eq(active & Mux(now.sv, rows.valid, columns.valid) & (~last | free)),
            rows.ready.eq(issue & now.sv),
            columns.ready.eq(issue & ~now.sv),
            done.eq(issue & last),
            takes.eq(fetched & (~active | done)),
        ]
        with m.If(takes):
            m.d.sync += [active.eq(1), now.eq(fetched_tile), vector.eq(vectors.data), step.eq(0)]
        with m.Else():
            with m.If(done):
                m.d.sync += active.eq(0)
            with m.If(issue):
                m.d.sync += [vector.eq(vector >> width), step.eq(step + 1)]
        m.d.sync += element.eq(vector[:width])
        m.d.comb += [
            lanes.valid.eq(issue),
            lanes.first.eq(step == 0),
            lanes.last.eq(last),
            lanes.element.eq(element),
            lanes.data.eq(Mux(now.sv, rows.payload, Value.cast(columns.p.column))),
            lanes.tag_in.slot.eq(now.slot),
            lanes.tag_in.first.eq(now.first),
            lanes.tag_in.last.eq(now.last),
            lanes.tag_in.ends.eq(now.ends),
        ]
        self._add(m, lanes, done, free)

    def _add(self, m, lanes, begins, free):
        """Add the sums of a tile to the outputs, one lane after the other. The last tile of an output sends the result.

        ``begins``: the last product of a tile enters the lanes. ``free``: there is a place for its sums.
        """
        config = self.config
        acc, io, count, depth = config.acc, config.io, config.lanes, config.add_depth
        sums_bits = count * acc.width
        # Sums that pass the lanes must have a place behind them.
        places = 3 + -(-(LaneSums.LATENCY + 4) // count)
        m.submodules.sums = sums = StreamFIFO(
            data.StructLayout({"sums": sums_bits, "tag": self._tag}), places, output_register=False
        )
        held = Signal(range(places + 1))
        m.d.comb += [
            sums.i.valid.eq(lanes.output_valid),
            sums.i.p.sums.eq(lanes.output),
            sums.i.p.tag.eq(lanes.tag),
            free.eq(held != places),
        ]
        m.d.sync += held.eq(held + begins - (sums.o.valid & sums.o.ready))

        lane, enough, moves, within = Signal(range(config.sum_clocks)), Signal(), Signal(), Signal()
        tag = sums.o.p.tag
        m.d.comb += [
            moves.eq(sums.o.valid & ((lane != 0) | ~tag.last | enough)),
            within.eq(moves & (lane < count)),
            sums.o.ready.eq(moves & (lane == config.sum_clocks - 1)),
        ]
        with m.If(moves):
            m.d.sync += lane.eq(Mux(sums.o.ready, 0, lane + 1))

        index = lane[: (count - 1).bit_length()]
        m.submodules.outputs = outputs = Memory(shape=acc.width, depth=config.slots * count, init=[])
        read, write = outputs.read_port(), outputs.write_port()
        address = Cat(index, tag.slot)[: len(read.addr)]
        m.d.comb += [read.en.eq(within & ~tag.first), read.addr.eq(address)]
        value = Signal(acc.width, reset_less=True)
        m.d.sync += value.eq(sums.o.p.sums.word_select(index, acc.width))
        # -0 is the number that changes no other.
        old = Mux(register(m, tag.first, "sum_first"), acc.sign_mask, read.data)
        total = add(m, value, old, fmt=acc, depth=depth, name="total_", fabric=config.fabric)
        valid = register(m, within, "sum_valid", 1 + depth, keep=True)
        last = register(m, tag.last, "sum_last", 1 + depth)
        ends = register(m, tag.ends, "sum_ends", 1 + depth)
        final = register(m, lane == count - 1, "sum_final", 1 + depth)
        m.d.comb += [
            write.en.eq(valid & ~last),
            write.addr.eq(register(m, address, "sum_address", 1 + depth)),
            write.data.eq(total),
        ]

        # Results leave when all their lanes are there. A place is kept for them from their first lane on.
        m.submodules.results = results = StreamFIFO(
            payload(config.result_layout), config.result_beats, output_register=False
        )
        wiring.connect(m, results.o, wiring.flipped(self.result))
        waiting, starts = Signal(range(config.result_beats + 1)), Signal()
        m.d.comb += [starts.eq(within & (lane == 0) & tag.last), enough.eq(waiting != config.result_beats)]
        m.d.sync += waiting.eq(waiting + starts - (self.result.valid & self.result.ready))
        shown, shown_valid = total, valid & last
        if acc != io:
            shown = convert(m, total, source=acc, target=io, depth=1, name="result_", fabric=config.fabric)
            shown_valid = register(m, shown_valid, "result_valid", keep=True)
            ends, final = register(m, ends, "result_ends"), register(m, final, "result_final")
        beat = Signal(count * io.width, reset_less=True)
        with m.If(shown_valid):
            m.d.sync += beat.eq(Cat(beat[io.width :], shown))
        m.d.comb += [
            results.i.valid.eq(register(m, shown_valid & final, "beat_valid", keep=True)),
            results.i.p.data.eq(beat),
            results.i.p.last.eq(register(m, ends, "beat_ends")),
        ]


class Inf2Gemv(wiring.Component):
    """Products of a vector and a matrix of stored K or V: scores (QK) and attention output (SV).

    Output tiles go to the blocks in turn, over all commands. Every block takes its own rows and vectors, so blocks may
    work on different commands. Results leave in the order of output tiles.

    Timing: every block takes a row in each cycle in which it is offered one, except where a tile has fewer rows than
    lanes. The first column of a tile of K leaves the tile buffer ``transpose`` cycles after the tile's last row came. The
    sums of a tile leave the lanes ``lanes`` cycles after its last product.

    The functional model is ``bankside.models.inf2.gemv.gemv``.

    Source: INF2, accelerator; streams, split and order of sums are this project's choice.

    Parameters
    ----------
    config : :class:`Inf2GemvConfig`

    Members
    -------
    command : ``In(stream.Signature(...))``
        A command without tokens or head dimension has no effect.
    vector_0, matrix_0 ... : ``In(stream.Signature(lanes * width))``, of every block
    result : ``Out(stream.Signature(...))``
    """

    def __init__(self, config):
        if not isinstance(config, Inf2GemvConfig):
            raise TypeError(f"Configuration must be an Inf2GemvConfig, not {config!r}")
        self._config = config
        super().__init__(members(config.ports()))

    @property
    def config(self):
        return self._config

    @property
    def latency(self):
        """Fixed latencies in clocks: of the tile buffer and of the lanes."""
        return {"transpose": TransposeBuffer.LATENCY, "lanes": LaneSums.LATENCY}

    def elaborate(self, platform):
        m = Module()
        config = self._config
        blocks = [GemvBlock(config) for _ in range(config.blocks)]
        for n, block in enumerate(blocks):
            m.submodules[f"block_{n}"] = shared(platform, block, "block")
            for name in ("vector", "matrix"):
                wiring.connect(m, wiring.flipped(getattr(self, f"{name}_{n}")), getattr(block, name))
        self._share(m, blocks)
        self._collect(m, blocks)
        return m

    def _share(self, m, blocks):
        """Give every block its share of a command."""
        config = self._config
        lanes, bits = config.lanes, (config.blocks - 1).bit_length()
        shift = lanes.bit_length() - 1
        m.submodules.commands = commands = StreamRegister(payload(config.command_layout))
        wiring.connect(m, wiring.flipped(self.command), commands.i)
        command = commands.o.p
        size = range(max(config.max_tokens, config.max_head_dim) + lanes)
        outs, steps, all_outs, all_steps = (
            Signal(size, name=name) for name in ("outs", "steps", "all_outs", "all_steps")
        )
        fires = Signal()
        sv = Value.cast(command.mode)
        some = command.tokens.any() & command.head_dim.any()
        m.d.comb += [
            all_outs.eq(Mux(sv, command.head_dim, command.tokens)),
            all_steps.eq(Mux(sv, command.tokens, command.head_dim)),
            outs.eq(Mux(some, (all_outs + lanes - 1) >> shift, 0)),
            steps.eq((all_steps + lanes - 1) >> shift),
        ]
        turn = Signal(bits, name="turn") if bits else Const(0, 1)
        idle = []
        for n, block in enumerate(blocks):
            rank, selected, job = Signal(max(bits, 1), name=f"rank_{n}"), Signal(name=f"selected_{n}"), block.job.p
            m.d.comb += [
                rank.eq(n - turn),
                selected.eq(outs > rank),
                job.sv.eq(sv),
                job.outs.eq((outs + (config.blocks - 1) - rank) >> bits),
                job.steps.eq(steps),
                job.ends.eq((outs - 1)[:bits] == rank),
                job.last_outs.eq(Mux(job.ends, _rest(all_outs, shift), lanes)),
                job.last_steps.eq(_rest(all_steps, shift)),
                block.job.valid.eq(fires & selected),
            ]
            idle.append(block.job.ready | ~selected)
        m.d.comb += [fires.eq(commands.o.valid & Cat(idle).all()), commands.o.ready.eq(Cat(idle).all())]
        if bits:
            with m.If(fires):
                m.d.sync += turn.eq(turn + outs)

    def _collect(self, m, blocks):
        """Take results from the blocks in turn."""
        m.submodules.results = results = StreamRegister(payload(self._config.result_layout))
        wiring.connect(m, results.o, wiring.flipped(self.result))
        turn = Signal((len(blocks) - 1).bit_length(), name="turn") if len(blocks) > 1 else Const(0, 1)
        with m.Switch(turn):
            for n, block in enumerate(blocks):
                with m.Case(n):
                    m.d.comb += [
                        results.i.valid.eq(block.result.valid),
                        results.i.payload.eq(block.result.payload),
                        block.result.ready.eq(results.i.ready),
                    ]
        if len(blocks) > 1:
            with m.If(results.i.valid & results.i.ready):
                m.d.sync += turn.eq(turn + 1)


def _rest(size, shift):
    """Items of the last tile: 1 to ``2**shift``."""
    return Cat((size - 1)[:shift], Const(0, 1)) + 1
