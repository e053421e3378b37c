# amaranth: UnusedElaboratable=no
"""An AiM channel: processing units beside its banks, global buffers, and the control of both, with or without ping-pong."""

from amaranth import *
from amaranth.hdl import Assert
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory

from ...constraints.units.aim_channel import CODES, GROUP, AimChannelConfig
from ..blocks.ports import members, payload
from ..blocks.shared import shared
from ..blocks.stream import StreamFIFO, StreamRegister
from .pu import AimPu, ElementwiseMultiplier

__all__ = ["AimChannel"]


class AimChannel(wiring.Component):
    """Executes the commands of an AiM channel on the data that its banks bring.

    Commands are taken in order of the program. Those that use the banks take items of ``bank``, those that bring data
    items of ``data``, each in order of the program too. With ``buffering`` ``ping-pong`` WR_GB, WR_BIAS and RD_MAC on one
    set go on beside the products on the other (see the page of the unit for sets and hazards); all other commands wait
    for everything before them, and what follows waits for them.

    Timing: a column access in every cycle within a command, and between products that wait for nothing.

    The functional model is ``bankside.models.aim.channel.ChannelModel``, equal bit for bit.

    Source: CENT (ASPLOS 2025) sections 4.1 and 5.4, LoL-PIM sections 2.2 and 6; encoding and control are this project's.

    Parameters
    ----------
    config : :class:`AimChannelConfig`

    Members
    -------
    command : ``In(stream.Signature(payload(config.command_layout)))``
    bank : ``In(stream.Signature(banks * word))``
        A column access of all banks; of a bank that the command does not read the data do not matter.
    data : ``In(stream.Signature(word))``
    write : ``Out(stream.Signature(payload(config.write_layout)))``
    result : ``Out(stream.Signature(word))``
    """

    #: Results that wait for the reader.
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
        """Fixed latencies in cycles: from a command's last column access to its rounded sum in the register, and of AF."""
        pu = AimPu(self._config)
        return {"access_to_register": pu.LATENCY + 1, "activation": pu.ACTIVATION + 1}

    def elaborate(self, platform):
        m = Module()
        config = self._config
        banks, word, width, sets = config.banks, config.word_bits, config.fmt.width, config.sets
        layout = payload(config.command_layout)

        def is_op(command, *names):
            return Cat(command.op == CODES[name] for name in names).any()

        # ---- Parts --------------------------------------------------------------------------------------------------
        pus = []
        for n in range(banks):
            pus.append(AimPu(config))
            m.submodules[f"pu_{n}"] = shared(platform, pus[n], "pu", part=True)
        products = []
        for n in range(config.groups * config.lanes):
            products.append(ElementwiseMultiplier(config))
            m.submodules[f"elementwise_{n}"] = shared(platform, products[n], "elementwise", part=True)
        gb_writes, gb_reads = [], []
        for s in range(sets):
            m.submodules[f"buffer_{s}"] = memory = Memory(shape=word, depth=config.columns, init=[])
            gb_writes.append(memory.write_port())
            gb_reads.append(memory.read_port())

        # ---- Dispatch: in order of the program, to the queue of the host's commands or to that of the products --------
        queued = data.StructLayout({"command": layout, "gb": 1, "set": 1})
        m.submodules.commands = commands = StreamRegister(layout)
        m.submodules.host_queue = host_queue = StreamRegister(queued)
        m.submodules.product_queue = product_queue = StreamRegister(queued)
        wiring.connect(m, command=wiring.flipped(self.command), commands=commands.i)
        command = commands.o.p

        # Commands on each buffer and each set of registers that are dispatched and not done.
        pending = range(config.depth + 8)
        host_gb, host_set, product_gb, product_set = (
            [Signal(pending, name=f"{name}_{s}") for s in range(sets)]
            for name in ("host_gb", "host_set", "product_gb", "product_set"))
        alone = Signal()    # a command that goes alone is under way

        gb, filled, bank_set, begun = Signal(), Signal(), Signal(), Signal()   # the ping-pong bits; the next set is in use
        other_gb, other_set, product_on = Signal(), Signal(), Signal()
        product_from = Signal()
        if sets == 2:
            m.d.comb += [other_gb.eq(~gb), other_set.eq(~bank_set), product_from.eq(gb ^ filled),
                         product_on.eq(bank_set ^ begun)]
        is_fill, is_start, is_read = (is_op(command, name) for name in ("WR_GB", "WR_BIAS", "RD_MAC"))
        is_product = is_op(command, "MAC_ABK", "MAC_SBK")
        known = is_op(command, *CODES) & (command.opsize != 0)
        to_host, to_product, goes_alone, free, idle = (Signal(name=n) for n in
                                                       ("to_host", "to_product", "goes_alone", "free", "idle"))
        busy = [*host_gb, *host_set, *product_gb, *product_set]
        m.d.comb += [
            idle.eq(~Cat(*busy).any() & ~alone),
            goes_alone.eq(~(is_fill | is_start | is_read | is_product)),
            to_product.eq(known & is_product),
            to_host.eq(known & ~is_product),
        ]
        with m.If(alone):
            m.d.comb += free.eq(0)
        with m.Elif(is_fill):       # not while a product uses the buffer
            m.d.comb += free.eq(Array(product_gb)[other_gb] == 0)
        with m.Elif(is_start):
            m.d.comb += free.eq(Array(product_set)[other_set] == 0)
        with m.Elif(is_read):       # waits in its queue
            m.d.comb += free.eq(1)
        with m.Elif(is_product):    # not before its buffer is filled and its registers are written and read
            m.d.comb += free.eq((Array(host_gb)[product_from] == 0) & (Array(host_set)[product_on] == 0))
        with m.Else():
            m.d.comb += free.eq(idle)
        m.d.comb += [
            host_queue.i.valid.eq(commands.o.valid & to_host & free),
            product_queue.i.valid.eq(commands.o.valid & to_product & free),
            host_queue.i.p.command.eq(command),
            host_queue.i.p.gb.eq(Mux(is_op(command, "COPY_GBBK"), product_from, other_gb)),
            host_queue.i.p.set.eq(Mux(is_start, other_set, bank_set)),
            product_queue.i.p.command.eq(command),
            product_queue.i.p.gb.eq(product_from),
            product_queue.i.p.set.eq(product_on),
            commands.o.ready.eq(Mux(known, free & Mux(is_product, product_queue.i.ready, host_queue.i.ready), 1)),
        ]
        host_goes = host_queue.i.valid & host_queue.i.ready
        product_goes = product_queue.i.valid & product_queue.i.ready
        if sets == 2:
            with m.If(host_goes & (is_fill | is_op(command, "COPY_BKGB"))):
                m.d.sync += filled.eq(1)
            with m.If(host_goes & is_start):
                m.d.sync += begun.eq(1)
            with m.If(product_goes):
                m.d.sync += [gb.eq(product_from), bank_set.eq(product_on), filled.eq(0), begun.eq(0)]

        # ---- Products -----------------------------------------------------------------------------------------------
        product, at = product_queue.o.p, Signal(config.opsize_bits)
        beat, beat_last = Signal(), Signal()
        column, enable = Signal(range(config.columns)), Signal(banks)
        m.d.comb += [
            beat.eq(product_queue.o.valid & self.bank.valid),
            beat_last.eq(at == product.command.opsize - 1),
            product_queue.o.ready.eq(beat & beat_last),
            column.eq(product.command.column + at),
        ]
        with m.If(is_op(product.command, "MAC_SBK")):
            m.d.comb += enable.eq(Const(1, banks) << product.command.bank)
        with m.Else():
            m.d.comb += enable.eq(Mux(product.command.neighbour, Const(sum(1 << n for n in range(0, banks, 2)), banks),
                                      (1 << banks) - 1))
        with m.If(beat):
            m.d.sync += at.eq(Mux(beat_last, 0, at + 1))
        # When the sums are in the registers.
        ends, end_sets = [beat & beat_last], [product.set]
        for stage in range(pus[0].LATENCY):
            end, end_set = Signal(name=f"end_s{stage + 1}"), Signal(name=f"end_set_s{stage + 1}")
            m.d.sync += [end.eq(ends[-1]), end_set.eq(end_sets[-1])]
            ends.append(end)
            end_sets.append(end_set)

        # The other factors, a cycle after the beat.
        used_gb, neighbours = Signal(), Signal()
        m.d.sync += [used_gb.eq(product.gb), neighbours.eq(product.command.neighbour & is_op(product.command, "MAC_ABK"))]
        factors = Signal(word)
        m.d.comb += factors.eq(Array(port.data for port in gb_reads)[used_gb])

        # ---- Commands of the host -----------------------------------------------------------------------------------
        m.submodules.results = results = StreamFIFO(word, self.RESULTS)
        write_places = config.multiply_depth + 6
        m.submodules.writes = writes = StreamFIFO(payload(config.write_layout), write_places)
        wiring.connect(m, results=results.o, result=wiring.flipped(self.result))
        wiring.connect(m, writes=writes.o, write=wiring.flipped(self.write))
        result_places = Signal(range(self.RESULTS + 1), init=self.RESULTS)
        places = Signal(range(write_places + 1), init=write_places)
        settle = max(config.multiply_depth, pus[0].ACTIVATION) + 2

        host, step = host_queue.o.p, Signal(config.opsize_bits)
        op, settling = host.command, Signal(range(settle + 1))
        go, single, reads, done, gives = (Signal(name=n) for n in ("go", "single", "reads", "done", "gives"))
        takes_data, takes_bank, stores = Signal(), Signal(), Signal()
        host_column = Signal(range(config.columns))
        fills, starts, waits = is_op(op, "WR_GB"), is_op(op, "WR_BIAS"), is_op(op, "RD_MAC")
        many = is_op(op, "WR_GB", "EWMUL", "COPY_BKGB", "COPY_GBBK")
        m.d.comb += [
            takes_data.eq(is_op(op, "WR_GB", "WR_BIAS", "WR_ABK", "WR_SBK")),
            takes_bank.eq(is_op(op, "EWMUL", "COPY_BKGB", "RD_SBK")),
            gives.eq(is_op(op, "RD_MAC", "RD_AF", "RD_SBK")),
            stores.eq(is_op(op, "EWMUL", "COPY_GBBK", "WR_ABK", "WR_SBK")),
            go.eq(host_queue.o.valid & (settling == 0)
                  & (~takes_data | self.data.valid)
                  & (~takes_bank | self.bank.valid)
                  & (~gives | (result_places != 0))
                  & (~stores | (places != 0))
                  & ~(starts & ends[-1])                                    # the registers are written by the products
                  & ~(waits & (Array(product_set)[host.set] != 0))),
            single.eq(~many | (step == op.opsize - 1)),
            done.eq(go & single),
            host_queue.o.ready.eq(done),
            host_column.eq(op.column + step),
            self.data.ready.eq(go & takes_data),
            self.bank.ready.eq(beat | (go & takes_bank)),
        ]
        with m.If(go):
            m.d.sync += step.eq(Mux(single, 0, step + 1))
        # A command that goes alone is done when all of it has come through the pipelines.
        with m.If(host_goes & goes_alone):
            m.d.sync += alone.eq(1)
        with m.If(done & alone):
            m.d.sync += settling.eq(settle)
        with m.Elif(settling != 0):
            m.d.sync += settling.eq(settling - 1)
            with m.If(settling == 1):
                m.d.sync += alone.eq(0)

        def count(counter, up, down):
            m.d.sync += counter.eq(counter + up - down)

        for s in range(sets):
            count(host_gb[s], host_goes & is_fill & (other_gb == s), done & fills & (host.gb == s))
            count(host_set[s], host_goes & (is_start & (other_set == s) | is_read & (bank_set == s)),
                  done & (starts | waits) & (host.set == s))
            count(product_gb[s], product_goes & (product_from == s), beat & beat_last & (product.gb == s))
            count(product_set[s], product_goes & (product_on == s), ends[-1] & (end_sets[-1] == s))

        # Global buffers.
        chosen = Signal(word)
        m.d.comb += chosen.eq(Array(self.bank.payload.word_select(n, word) for n in range(banks))[op.bank])
        for s in range(sets):
            m.d.comb += [
                gb_writes[s].addr.eq(host_column),
                gb_writes[s].data.eq(Mux(fills, self.data.payload, chosen)),
                gb_writes[s].en.eq(go & is_op(op, "WR_GB", "COPY_BKGB") & (host.gb == s)),
                gb_reads[s].addr.eq(Mux(beat, column, host_column)),
            ]

        # Registers.
        def numbered(register_set, register):
            return Cat(register[:(config.registers_per_set - 1).bit_length()], register_set) if sets == 2 else register

        activates = is_op(op, "AF")
        for n, pu in enumerate(pus):
            m.d.comb += [
                pu.valid.eq(beat & enable[n]),
                pu.last.eq(beat_last),
                pu.add_register.eq(numbered(product.set, product.command.register)),
                pu.data.eq(self.bank.payload.word_select(n, word)),
                pu.operand.eq(factors if n % 2 else Mux(neighbours, pus[n + 1].held, factors)),
                pu.write.eq(go & starts),
                pu.number.eq(self.data.payload.word_select(n, width)),
                pu.write_register.eq(numbered(host.set, op.register)),
                pu.read.eq(go & (waits | activates)),
                pu.read_register.eq(numbered(host.set, op.register)),
                pu.activate.eq(go & activates),
                pu.chosen.eq(op.function),
            ]

        # Results: numbers come a cycle after they are asked for.
        gave, gave_number, gave_activation = Signal(), Signal(), Signal()
        kept = Signal(word, reset_less=True)
        m.d.sync += [gave.eq(go & gives), gave_number.eq(waits), gave_activation.eq(is_op(op, "RD_AF")), kept.eq(chosen)]
        m.d.comb += [
            results.i.valid.eq(gave),
            results.i.payload.eq(Mux(gave_number, Cat(pu.result for pu in pus),
                                     Mux(gave_activation, Cat(pu.activation for pu in pus), kept))),
        ]
        m.d.sync += result_places.eq(result_places + (results.o.valid & results.o.ready) - (go & gives))

        # Writes into the banks: products, or a word a cycle after it was taken.
        m.d.sync += places.eq(places + (writes.o.valid & writes.o.ready) - (go & stores))
        multiplies = is_op(op, "EWMUL")
        multiplied = [Signal(name=f"product_s{stage + 1}") for stage in range(config.multiply_depth)]
        for before, after in zip([go & multiplies, *multiplied], multiplied, strict=False):
            m.d.sync += after.eq(before)
        products_valid = multiplied[-1]
        for n, part in enumerate(products):
            group, lane = divmod(n, config.lanes)
            first = GROUP * group * config.lanes + lane
            m.d.comb += [part.a.eq(self.bank.payload.word_select(first, width)),
                         part.b.eq(self.bank.payload.word_select(first + config.lanes, width))]
        stored, from_gb, stored_gb = Signal(), Signal(), Signal()
        direct = Signal(payload(config.write_layout), reset_less=True)
        own = Signal(word)
        m.d.sync += [
            stored.eq(go & stores & ~multiplies), from_gb.eq(is_op(op, "COPY_GBBK")), stored_gb.eq(host.gb),
            direct.data.eq(self.data.payload),
            direct.banks.eq(Mux(is_op(op, "WR_ABK"), (1 << banks) - 1, Const(1, banks) << op.bank)),
            direct.scatter.eq(is_op(op, "WR_ABK")),
            direct.element.eq(Mux(is_op(op, "WR_ABK"), op.element, 0)),
        ]
        m.d.comb += [
            own.eq(Mux(from_gb, Array(port.data for port in gb_reads)[stored_gb], direct.data[:word])),
            writes.i.valid.eq(products_valid | stored),
        ]
        with m.If(products_valid):
            m.d.comb += [writes.i.p.data.eq(Cat(part.product for part in products)),
                         writes.i.p.banks.eq(sum(1 << (GROUP * n + 2) for n in range(config.groups)))]
        with m.Else():
            # The word of a single bank stands in the place of its group; that of all banks in the lowest.
            m.d.comb += [writes.i.payload.eq(direct), writes.i.p.data.eq(own.replicate(config.groups))]

        if platform == "formal":
            def entries(queue):
                """Valid bits and contents of the places of a queue."""
                m.d.comb += queue.probe.index.eq(1)
                return [(queue.o.valid, queue.o.p), (queue.probe.level == 2, data.View(queued, queue.probe.item))]

            hosts, waiting = entries(host_queue), entries(product_queue)
            lonely = sum(v & ~is_op(e.command, "WR_GB", "WR_BIAS", "RD_MAC") for v, e in hosts) + (settling != 0)
            m.d.comb += [
                Assert(~results.i.valid | results.i.ready, "AimChannel: a result finds a place"),
                Assert(~writes.i.valid | writes.i.ready, "AimChannel: a write finds a place"),
                Assert(result_places + gave + results.level == results.depth,
                       "AimChannel: each place for a result is free, reserved, or taken"),
                Assert(places + stored + sum(multiplied) + writes.level == writes.depth,
                       "AimChannel: each place for a write is free, reserved, or taken"),
                Assert(~(beat & go & takes_bank), "AimChannel: a column access is taken once"),
                Assert(~(stored & multiplied[-1]), "AimChannel: products and other writes never meet"),
                Assert(lonely == alone, "AimChannel: a command that goes alone is under way until it has settled"),
                Assert(~alone | ~Cat(*busy).any(), "AimChannel: nothing is under way beside it"),
            ]
            for s in range(sets):
                m.d.comb += [
                    Assert(host_gb[s] == sum(v & is_op(e.command, "WR_GB") & (e.gb == s) for v, e in hosts),
                           "AimChannel: fills of a buffer are counted"),
                    Assert(host_set[s] == sum(v & is_op(e.command, "WR_BIAS", "RD_MAC") & (e.set == s)
                                                    for v, e in hosts), "AimChannel: uses of a set are counted"),
                    Assert(product_gb[s] == sum(v & (e.gb == s) for v, e in waiting),
                           "AimChannel: products with a buffer are counted"),
                    Assert(product_set[s] == sum(v & (e.set == s) for v, e in waiting)
                           + sum(end & (end_set == s) for end, end_set in zip(ends[1:], end_sets[1:], strict=True)),
                           "AimChannel: products into a set are counted"),
                    Assert((host_gb[s] == 0) | (product_gb[s] == 0), "AimChannel: a buffer is filled or used"),
                    Assert(~(gb_writes[s].en & beat & (product.gb == s)),
                           "AimChannel: no product reads a buffer that is filled"),
                    Assert(~(go & waits & (host.set == s)) | (product_set[s] == 0),
                           "AimChannel: results are read when the products are done"),
                ]
            if sets == 1:
                m.d.comb += [Assert(~v | (~e.gb & ~e.set), "AimChannel: there is one set") for v, e in (*hosts, *waiting)]
                m.d.comb += Assert(~sum(end_sets[1:]).any(), "AimChannel: products go to the one set")
        return m
