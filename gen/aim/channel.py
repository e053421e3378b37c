# amaranth: UnusedElaboratable=no
"""An AiM channel: processing units beside its banks, global buffers and control, with or without ping-pong."""

from typing import Any, NamedTuple

from amaranth import *
from amaranth.hdl import Assert
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory

from ...constraints.aim.channel import CODES, GROUP, AimChannelConfig
from ..blocks.ports import members, payload
from ..blocks.shared import shared
from ..blocks.stream import StreamFIFO, StreamRegister
from .pu import AimPu, ElementwiseMultiplier

__all__ = ["AimChannel"]


class _Buffer(NamedTuple):
    """A global buffer's ports."""

    write: Any
    read: Any


class _Queues(NamedTuple):
    """Queues of received commands, of dispatched host commands, and of dispatched products."""

    commands: StreamRegister
    host: StreamRegister
    products: StreamRegister


class _UnderWay(NamedTuple):
    """Commands in progress: dispatched and not done.

    Attributes
    ----------
    host_gb, host_set : host commands in progress, per global buffer and per set of registers
    product_gb, product_set : products in progress, per global buffer and per set of registers
    alone : a command that runs alone is in progress
    settling : cycles until that command has left the pipelines
    """

    host_gb: list
    host_set: list
    product_gb: list
    product_set: list
    alone: Signal
    settling: Signal

    def any(self):
        return Cat(*self.host_gb, *self.host_set, *self.product_gb, *self.product_set).any()


class _PingPong(NamedTuple):
    """The buffer and the set of registers that each kind of command uses. All fields are 0 if there is one of each.

    Attributes
    ----------
    gb, bank_set : buffer and set of the last dispatched product
    filled, begun : the other buffer is filled; the other set is written; the next product switches to it
    other_gb, other_set : buffer of the next WR_GB; set of the next WR_BIAS
    product_from, product_on : buffer and set of the next product
    """

    gb: Signal
    filled: Signal
    bank_set: Signal
    begun: Signal
    other_gb: Signal
    other_set: Signal
    product_from: Signal
    product_on: Signal


class _Goes(NamedTuple):
    """A dispatched command.

    Attributes
    ----------
    host, product : it enters the host queue; it enters the product queue
    is_fill, is_start, is_read : it is WR_GB; WR_BIAS; RD_MAC
    alone : it runs alone
    """

    host: Value
    product: Value
    is_fill: Value
    is_start: Value
    is_read: Value
    alone: Signal


class _Products(NamedTuple):
    """A column access of a product.

    Attributes
    ----------
    command : the command at the head of the product queue
    beat, last : the access takes place; it is the command's last access
    column : column of the global buffer
    enable : processing units that use the access
    ends, end_sets : per pipeline stage, whether a command ends, and its set; its sum is ready after the last stage
    """

    command: data.View
    beat: Signal
    last: Signal
    column: Signal
    enable: Signal
    ends: list
    end_sets: list


class _Places(NamedTuple):
    """Queues of results and of writes, and the number of their free places: neither taken nor reserved."""

    results: StreamFIFO
    writes: StreamFIFO
    for_results: Signal
    for_writes: Signal


class _Host(NamedTuple):
    """A step of a host command.

    Attributes
    ----------
    command : the command at the head of the host queue
    go, done : a step takes place; it is the last step
    fills, starts, waits : the command is WR_GB; WR_BIAS; RD_MAC
    gives, stores, takes_bank : it gives a result; writes into the banks; takes a column access
    column : column of the global buffer
    """

    command: data.View
    go: Signal
    done: Signal
    fills: Value
    starts: Value
    waits: Value
    gives: Signal
    stores: Signal
    takes_bank: Signal
    column: Signal


class AimChannel(wiring.Component):
    """Executes the commands of an AiM channel on data from its banks.

    The unit takes commands in program order. Commands that use the banks take items of ``bank``. Commands with data
    take items of ``data``. Both streams follow program order too. With ``buffering`` ``ping-pong``, WR_GB, WR_BIAS and
    RD_MAC on one set overlap with products on the other set. The page of the unit defines sets and hazards. Every other
    command waits for all earlier commands, and later commands wait for it.

    Timing: one column access per cycle within a command, and between products that wait for nothing.

    The functional model is ``bankside.models.aim.channel.ChannelModel``, equal bit for bit.

    Source: CENT (ASPLOS 2025) sections 4.1 and 5.4, LoL-PIM sections 2.2 and 6; encoding and control are this project's.

    Parameters
    ----------
    config : :class:`AimChannelConfig`

    Members
    -------
    command : ``In(stream.Signature(payload(config.command_layout)))``
    bank : ``In(stream.Signature(banks * word))``
        A column access of all banks. The data of a bank that the command does not read do not matter.
    data : ``In(stream.Signature(word))``
    write : ``Out(stream.Signature(payload(config.write_layout)))``
    result : ``Out(stream.Signature(word))``
    """

    #: Places for results that wait for the reader.
    RESULTS = 4

    def __init__(self, config):
        if not isinstance(config, AimChannelConfig):
            raise TypeError(f"Configuration must be an AimChannelConfig, not {config!r}")
        self._config = config
        super().__init__(members(config.ports()))

    @property
    def config(self):
        return self._config

    @property
    def latency(self):
        """Fixed latencies in cycles: from a command's last column access to its sum in the register, and of AF."""
        pu = AimPu(self._config)
        return {"access_to_register": pu.LATENCY + 1, "activation": pu.ACTIVATION + 1}

    def elaborate(self, platform):
        m = Module()
        config = self._config
        pus, products = self._units(m, platform)
        buffers = self._buffers(m)
        queues = self._queues(m)
        settle = max(config.multiply_depth, pus[0].ACTIVATION) + 2  # cycles until a command has left the pipelines
        under_way = self._under_way(settle)
        ahead = self._ping_pong(m)
        goes = self._dispatch(m, queues, under_way, ahead)
        product = self._products(m, queues.products, pus[0].LATENCY)
        factors, neighbours = self._factors(m, product.command, buffers)
        places = self._places(m)
        host = self._host(m, queues.host, under_way, product, places)
        self._go_alone(m, under_way, goes, host, settle)
        self._count(m, under_way, ahead, goes, product, host)
        chosen = self._global_buffers(m, buffers, product, host)
        self._registers(m, pus, product, host, factors, neighbours)
        gave = self._results(m, pus, places, host, chosen)
        stored, multiplied = self._writes(m, products, places, host, buffers)
        if platform == "formal":
            self._check(m, queues, under_way, product, places, host, buffers, gave, stored, multiplied)
        return m

    def _units(self, m, platform):
        """Create the processing units of the banks and the multipliers of EWMUL."""
        config = self._config
        pus = []
        for n in range(config.banks):
            pus.append(AimPu(config))
            m.submodules[f"pu_{n}"] = shared(platform, pus[n], "pu", part=True)
        products = []
        for n in range(config.groups * config.lanes):
            products.append(ElementwiseMultiplier(config))
            m.submodules[f"elementwise_{n}"] = shared(platform, products[n], "elementwise", part=True)
        return pus, products

    def _buffers(self, m):
        """The global buffer of each set: its write port and its read port."""
        config = self._config
        buffers = []
        for s in range(config.sets):
            m.submodules[f"buffer_{s}"] = memory = Memory(shape=config.word_bits, depth=config.columns, init=[])
            buffers.append(_Buffer(memory.write_port(), memory.read_port()))
        return buffers

    # ---- Dispatch in program order, to the host queue or to the product queue ----------------------------------------

    def _queues(self, m):
        """Queues of received commands, and of dispatched commands with their buffer and set of registers."""
        layout = payload(self._config.command_layout)
        m.submodules.commands = commands = StreamRegister(layout)
        m.submodules.host_queue = host_queue = StreamRegister(_queued_layout(self._config))
        m.submodules.product_queue = product_queue = StreamRegister(_queued_layout(self._config))
        wiring.connect(m, command=wiring.flipped(self.command), commands=commands.i)
        return _Queues(commands, host_queue, product_queue)

    def _under_way(self, settle):
        """Counters of commands in progress: dispatched and not done."""
        pending = range(self._config.depth + 8)
        host_gb, host_set, product_gb, product_set = (
            [Signal(pending, name=f"{name}_{s}") for s in range(self._config.sets)]
            for name in ("host_gb", "host_set", "product_gb", "product_set")
        )
        alone = Signal()
        settling = Signal(range(settle + 1))
        return _UnderWay(host_gb, host_set, product_gb, product_set, alone, settling)

    def _ping_pong(self, m):
        """The buffer and the set of registers that the next command of each kind uses."""
        gb, filled, bank_set, begun = Signal(), Signal(), Signal(), Signal()
        other_gb, other_set, product_on = Signal(), Signal(), Signal()
        product_from = Signal()
        if self._config.sets == 2:
            m.d.comb += [
                other_gb.eq(~gb),
                other_set.eq(~bank_set),
                product_from.eq(gb ^ filled),
                product_on.eq(bank_set ^ begun),
            ]
        return _PingPong(gb, filled, bank_set, begun, other_gb, other_set, product_from, product_on)

    def _dispatch(self, m, queues, under_way, ahead):
        """Dispatch the next command as soon as no command in progress conflicts with it."""
        commands, host_queue, product_queue = queues
        command = commands.o.p
        is_fill, is_start, is_read = (_is_op(command, name) for name in ("WR_GB", "WR_BIAS", "RD_MAC"))
        is_product = _is_op(command, "MAC_ABK", "MAC_SBK")
        known = _is_op(command, *CODES) & (command.opsize != 0)
        to_host, to_product, goes_alone, free, idle = (
            Signal(name=n) for n in ("to_host", "to_product", "goes_alone", "free", "idle")
        )
        host_gb, host_set, product_gb, product_set, alone, _ = under_way
        other_gb, other_set, product_from, product_on = ahead[4:]
        m.d.comb += [
            idle.eq(~under_way.any() & ~alone),
            goes_alone.eq(~(is_fill | is_start | is_read | is_product)),
            to_product.eq(known & is_product),
            to_host.eq(known & ~is_product),
        ]
        with m.If(alone):
            m.d.comb += free.eq(0)
        with m.Elif(is_fill):  # not while a product uses the buffer
            m.d.comb += free.eq(Array(product_gb)[other_gb] == 0)
        with m.Elif(is_start):
            m.d.comb += free.eq(Array(product_set)[other_set] == 0)
        with m.Elif(is_read):  # it waits in the host queue
            m.d.comb += free.eq(1)
        with m.Elif(is_product):  # not before its buffer is filled and its registers are written and read
            m.d.comb += free.eq((Array(host_gb)[product_from] == 0) & (Array(host_set)[product_on] == 0))
        with m.Else():
            m.d.comb += free.eq(idle)
        m.d.comb += [
            host_queue.i.valid.eq(commands.o.valid & to_host & free),
            product_queue.i.valid.eq(commands.o.valid & to_product & free),
            host_queue.i.p.command.eq(command),
            host_queue.i.p.gb.eq(Mux(_is_op(command, "COPY_GBBK"), product_from, other_gb)),
            host_queue.i.p.set.eq(Mux(is_start, other_set, ahead.bank_set)),
            product_queue.i.p.command.eq(command),
            product_queue.i.p.gb.eq(product_from),
            product_queue.i.p.set.eq(product_on),
            commands.o.ready.eq(Mux(known, free & Mux(is_product, product_queue.i.ready, host_queue.i.ready), 1)),
        ]
        host_goes = host_queue.i.valid & host_queue.i.ready
        product_goes = product_queue.i.valid & product_queue.i.ready
        if self._config.sets == 2:
            with m.If(host_goes & (is_fill | _is_op(command, "COPY_BKGB"))):
                m.d.sync += ahead.filled.eq(1)
            with m.If(host_goes & is_start):
                m.d.sync += ahead.begun.eq(1)
            with m.If(product_goes):
                m.d.sync += [
                    ahead.gb.eq(product_from),
                    ahead.bank_set.eq(product_on),
                    ahead.filled.eq(0),
                    ahead.begun.eq(0),
                ]
        return _Goes(host_goes, product_goes, is_fill, is_start, is_read, goes_alone)

    # ---- Products -----------------------------------------------------------------------------------------------------

    def _products(self, m, queue, latency):
        """Column accesses of the products, one per cycle, and the time at which the registers have their sums."""
        config = self._config
        banks = config.banks
        product, at = queue.o.p, Signal(config.opsize_bits)
        beat, beat_last = Signal(), Signal()
        column, enable = Signal(range(config.columns)), Signal(banks)
        m.d.comb += [
            beat.eq(queue.o.valid & self.bank.valid),
            beat_last.eq(at == product.command.opsize - 1),
            queue.o.ready.eq(beat & beat_last),
            column.eq(product.command.column + at),
        ]
        with m.If(_is_op(product.command, "MAC_SBK")):
            m.d.comb += enable.eq(Const(1, banks) << product.command.bank)
        with m.Else():
            m.d.comb += enable.eq(
                Mux(product.command.neighbour, Const(sum(1 << n for n in range(0, banks, 2)), banks), (1 << banks) - 1)
            )
        with m.If(beat):
            m.d.sync += at.eq(Mux(beat_last, 0, at + 1))
        ends, end_sets = [beat & beat_last], [product.set]
        for stage in range(latency):
            end, end_set = Signal(name=f"end_s{stage + 1}"), Signal(name=f"end_set_s{stage + 1}")
            m.d.sync += [end.eq(ends[-1]), end_set.eq(end_sets[-1])]
            ends.append(end)
            end_sets.append(end_set)
        return _Products(product, beat, beat_last, column, enable, ends, end_sets)

    def _factors(self, m, product, buffers):
        """The second factors, a cycle after the beat: a word of the global buffer, or the neighbour's data."""
        used_gb, neighbours = Signal(), Signal()
        m.d.sync += [
            used_gb.eq(product.gb),
            neighbours.eq(product.command.neighbour & _is_op(product.command, "MAC_ABK")),
        ]
        factors = Signal(self._config.word_bits)
        m.d.comb += factors.eq(Array(buffer.read.data for buffer in buffers)[used_gb])
        return factors, neighbours

    # ---- Host commands -----------------------------------------------------------------------------------------------

    def _places(self, m):
        """Queues of results and of writes into the banks, with counters of their free places."""
        config = self._config
        m.submodules.results = results = StreamFIFO(config.word_bits, self.RESULTS)
        write_places = config.multiply_depth + 6
        m.submodules.writes = writes = StreamFIFO(payload(config.write_layout), write_places)
        wiring.connect(m, results=results.o, result=wiring.flipped(self.result))
        wiring.connect(m, writes=writes.o, write=wiring.flipped(self.write))
        result_places = Signal(range(self.RESULTS + 1), init=self.RESULTS)
        places = Signal(range(write_places + 1), init=write_places)
        return _Places(results, writes, result_places, places)

    def _host(self, m, queue, under_way, product, places):
        """Execute the first command of the host queue. Each step waits for its data and a place for its output."""
        config = self._config
        host, step = queue.o.p, Signal(config.opsize_bits)
        op = host.command
        go, single, reads, done, gives = (Signal(name=n) for n in ("go", "single", "reads", "done", "gives"))
        takes_data, takes_bank, stores = Signal(), Signal(), Signal()
        host_column = Signal(range(config.columns))
        fills, starts, waits = _is_op(op, "WR_GB"), _is_op(op, "WR_BIAS"), _is_op(op, "RD_MAC")
        many = _is_op(op, "WR_GB", "EWMUL", "COPY_BKGB", "COPY_GBBK", "WR_SBK", "RD_SBK")
        ends, beat, settling, product_set = product.ends, product.beat, under_way.settling, under_way.product_set
        result_places, places = places.for_results, places.for_writes
        m.d.comb += [
            takes_data.eq(_is_op(op, "WR_GB", "WR_BIAS", "WR_ABK", "WR_SBK")),
            takes_bank.eq(_is_op(op, "EWMUL", "COPY_BKGB", "RD_SBK")),
            gives.eq(_is_op(op, "RD_MAC", "RD_AF", "RD_SBK")),
            stores.eq(_is_op(op, "EWMUL", "COPY_GBBK", "WR_ABK", "WR_SBK")),
            go.eq(
                queue.o.valid
                & (settling == 0)
                & (~takes_data | self.data.valid)
                & (~takes_bank | self.bank.valid)
                & (~gives | (result_places != 0))
                & (~stores | (places != 0))
                & ~(starts & ends[-1])  # a product writes the registers now
                & ~(waits & (Array(product_set)[host.set] != 0))
            ),
            single.eq(~many | (step == op.opsize - 1)),
            done.eq(go & single),
            queue.o.ready.eq(done),
            host_column.eq(op.column + step),
            self.data.ready.eq(go & takes_data),
            self.bank.ready.eq(beat | (go & takes_bank)),
        ]
        with m.If(go):
            m.d.sync += step.eq(Mux(single, 0, step + 1))
        return _Host(host, go, done, fills, starts, waits, gives, stores, takes_bank, host_column)

    def _go_alone(self, m, under_way, goes, host, settle):
        """A command that runs alone is done ``settle`` cycles after its last step, when it has left the pipelines."""
        alone, settling = under_way.alone, under_way.settling
        with m.If(goes.host & goes.alone):
            m.d.sync += alone.eq(1)
        with m.If(host.done & alone):
            m.d.sync += settling.eq(settle)
        with m.Elif(settling != 0):
            m.d.sync += settling.eq(settling - 1)
            with m.If(settling == 1):
                m.d.sync += alone.eq(0)

    def _count(self, m, under_way, ahead, goes, product, host):
        """Count commands in progress: a dispatched command counts up, a finished command counts down."""

        def count(counter, up, down):
            m.d.sync += counter.eq(counter + up - down)

        for s in range(self._config.sets):
            count(
                under_way.host_gb[s],
                goes.host & goes.is_fill & (ahead.other_gb == s),
                host.done & host.fills & (host.command.gb == s),
            )
            count(
                under_way.host_set[s],
                goes.host & (goes.is_start & (ahead.other_set == s) | goes.is_read & (ahead.bank_set == s)),
                host.done & (host.starts | host.waits) & (host.command.set == s),
            )
            count(
                under_way.product_gb[s],
                goes.product & (ahead.product_from == s),
                product.beat & product.last & (product.command.gb == s),
            )
            count(
                under_way.product_set[s],
                goes.product & (ahead.product_on == s),
                product.ends[-1] & (product.end_sets[-1] == s),
            )

    def _global_buffers(self, m, buffers, product, host):
        """Write the buffers, and read them for products and copies. Returns the word of the command's bank."""
        config, op = self._config, host.command.command
        word = config.word_bits
        chosen = Signal(word)
        m.d.comb += chosen.eq(Array(self.bank.payload.word_select(n, word) for n in range(config.banks))[op.bank])
        for s, buffer in enumerate(buffers):
            m.d.comb += [
                buffer.write.addr.eq(host.column),
                buffer.write.data.eq(Mux(host.fills, self.data.payload, chosen)),
                buffer.write.en.eq(host.go & _is_op(op, "WR_GB", "COPY_BKGB") & (host.command.gb == s)),
                buffer.read.addr.eq(Mux(product.beat, product.column, host.column)),
            ]
        return chosen

    def _registers(self, m, pus, product, host, factors, neighbours):
        """Connect the processing units: products, and commands that write or read registers."""
        config, op = self._config, host.command.command
        word, width = config.word_bits, config.fmt.width

        def numbered(register_set, register):
            if config.sets == 1:
                return register
            return Cat(register[: (config.registers_per_set - 1).bit_length()], register_set)

        activates = _is_op(op, "AF")
        for n, pu in enumerate(pus):
            m.d.comb += [
                pu.valid.eq(product.beat & product.enable[n]),
                pu.last.eq(product.last),
                pu.add_register.eq(numbered(product.command.set, product.command.command.register)),
                pu.data.eq(self.bank.payload.word_select(n, word)),
                pu.operand.eq(factors if n % 2 else Mux(neighbours, pus[n + 1].held, factors)),
                pu.write.eq(host.go & host.starts),
                pu.number.eq(self.data.payload.word_select(n, width)),
                pu.write_register.eq(numbered(host.command.set, op.register)),
                pu.read.eq(host.go & (host.waits | activates)),
                pu.read_register.eq(numbered(host.command.set, op.register)),
                pu.activate.eq(host.go & activates),
                pu.chosen.eq(op.function),
            ]

    def _results(self, m, pus, places, host, chosen):
        """Put results into their queue, a cycle after the step that asks for them. Returns the strobe of that cycle."""
        go, gives, results, result_places = host.go, host.gives, places.results, places.for_results
        gave, gave_number, gave_activation = Signal(), Signal(), Signal()
        kept = Signal(self._config.word_bits, reset_less=True)
        m.d.sync += [
            gave.eq(go & gives),
            gave_number.eq(host.waits),
            gave_activation.eq(_is_op(host.command.command, "RD_AF")),
            kept.eq(chosen),
        ]
        m.d.comb += [
            results.i.valid.eq(gave),
            results.i.payload.eq(
                Mux(
                    gave_number,
                    Cat(pu.result for pu in pus),
                    Mux(gave_activation, Cat(pu.activation for pu in pus), kept),
                )
            ),
        ]
        m.d.sync += result_places.eq(result_places + (results.o.valid & results.o.ready) - (go & gives))
        return gave

    def _writes(self, m, products, places, host, buffers):
        """Writes into the banks: products, or a word one cycle after its step.

        Returns the strobe of the word, and the strobes of the products in the pipeline.
        """
        config, go, op = self._config, host.go, host.command.command
        banks, word, width = config.banks, config.word_bits, config.fmt.width
        writes = places.writes
        m.d.sync += places.for_writes.eq(places.for_writes + (writes.o.valid & writes.o.ready) - (go & host.stores))
        multiplies = _is_op(op, "EWMUL")
        multiplied = [Signal(name=f"product_s{stage + 1}") for stage in range(config.multiply_depth)]
        for before, after in zip([go & multiplies, *multiplied], multiplied, strict=False):
            m.d.sync += after.eq(before)
        products_valid = multiplied[-1]
        for n, part in enumerate(products):
            group, lane = divmod(n, config.lanes)
            first = GROUP * group * config.lanes + lane
            m.d.comb += [
                part.a.eq(self.bank.payload.word_select(first, width)),
                part.b.eq(self.bank.payload.word_select(first + config.lanes, width)),
            ]
        stored, from_gb, stored_gb = Signal(), Signal(), Signal()
        direct = Signal(payload(config.write_layout), reset_less=True)
        own = Signal(word)
        m.d.sync += [
            stored.eq(go & host.stores & ~multiplies),
            from_gb.eq(_is_op(op, "COPY_GBBK")),
            stored_gb.eq(host.command.gb),
            direct.data.eq(self.data.payload),
            direct.banks.eq(Mux(_is_op(op, "WR_ABK"), (1 << banks) - 1, Const(1, banks) << op.bank)),
            direct.scatter.eq(_is_op(op, "WR_ABK")),
            direct.element.eq(Mux(_is_op(op, "WR_ABK"), op.element, 0)),
        ]
        m.d.comb += [
            own.eq(Mux(from_gb, Array(buffer.read.data for buffer in buffers)[stored_gb], direct.data[:word])),
            writes.i.valid.eq(products_valid | stored),
        ]
        with m.If(products_valid):
            m.d.comb += [
                writes.i.p.data.eq(Cat(part.product for part in products)),
                writes.i.p.banks.eq(sum(1 << (GROUP * n + 2) for n in range(config.groups))),
            ]
        with m.Else():
            # A word for one bank stands in the place of its group. A word for all banks stands in the lowest place.
            m.d.comb += [writes.i.payload.eq(direct), writes.i.p.data.eq(own.replicate(config.groups))]
        return stored, multiplied

    def _check(self, m, queues, under_way, product, places, host, buffers, gave, stored, multiplied):
        def entries(queue):
            """Valid bit and content of each place of a queue."""
            m.d.comb += queue.probe.index.eq(1)
            return [
                (queue.o.valid, queue.o.p),
                (queue.probe.level == 2, data.View(_queued_layout(self._config), queue.probe.item)),
            ]

        host_gb, host_set, product_gb, product_set, alone, settling = under_way
        results, writes, result_places, write_places = places
        hosts, waiting = entries(queues.host), entries(queues.products)
        lonely = sum(v & ~_is_op(e.command, "WR_GB", "WR_BIAS", "RD_MAC") for v, e in hosts) + (settling != 0)
        m.d.comb += [
            Assert(~results.i.valid | results.i.ready, "AimChannel: a result finds a place"),
            Assert(~writes.i.valid | writes.i.ready, "AimChannel: a write finds a place"),
            Assert(
                result_places + gave + results.level == results.depth,
                "AimChannel: each place for a result is free, reserved, or taken",
            ),
            Assert(
                write_places + stored + sum(multiplied) + writes.level == writes.depth,
                "AimChannel: each place for a write is free, reserved, or taken",
            ),
            Assert(~(product.beat & host.go & host.takes_bank), "AimChannel: a column access is taken once"),
            Assert(~(stored & multiplied[-1]), "AimChannel: products and other writes never meet"),
            Assert(lonely == alone, "AimChannel: a command that goes alone is under way until it has settled"),
            Assert(~alone | ~under_way.any(), "AimChannel: nothing is under way beside it"),
        ]
        ends, end_sets = product.ends[1:], product.end_sets[1:]
        for s, buffer in enumerate(buffers):
            m.d.comb += [
                Assert(
                    host_gb[s] == sum(v & _is_op(e.command, "WR_GB") & (e.gb == s) for v, e in hosts),
                    "AimChannel: fills of a buffer are counted",
                ),
                Assert(
                    host_set[s] == sum(v & _is_op(e.command, "WR_BIAS", "RD_MAC") & (e.set == s) for v, e in hosts),
                    "AimChannel: uses of a set are counted",
                ),
                Assert(
                    product_gb[s] == sum(v & (e.gb == s) for v, e in waiting),
                    "AimChannel: products with a buffer are counted",
                ),
                Assert(
                    product_set[s]
                    == sum(v & (e.set == s) for v, e in waiting)
                    + sum(end & (end_set == s) for end, end_set in zip(ends, end_sets, strict=True)),
                    "AimChannel: products into a set are counted",
                ),
                Assert((host_gb[s] == 0) | (product_gb[s] == 0), "AimChannel: a buffer is filled or used"),
                Assert(
                    ~(buffer.write.en & product.beat & (product.command.gb == s)),
                    "AimChannel: no product reads a buffer that is filled",
                ),
                Assert(
                    ~(host.go & host.waits & (host.command.set == s)) | (product_set[s] == 0),
                    "AimChannel: results are read when the products are done",
                ),
            ]
        if len(buffers) == 1:
            m.d.comb += [Assert(~v | (~e.gb & ~e.set), "AimChannel: there is one set") for v, e in (*hosts, *waiting)]
            m.d.comb += Assert(~sum(end_sets).any(), "AimChannel: products go to the one set")


def _queued_layout(config):
    """A dispatched command with its buffer and set of registers."""
    return data.StructLayout({"command": payload(config.command_layout), "gb": 1, "set": 1})


def _is_op(command, *names):
    return Cat(command.op == CODES[name] for name in names).any()
