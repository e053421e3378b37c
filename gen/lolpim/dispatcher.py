# amaranth: UnusedElaboratable=no
"""LoL-PIM's dispatcher: programs for a memory's commands, with loops counted by tokens and rows looked up in a table."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory

from ...constraints.program_encoding import OPERANDS, DispatchError, Host, Slot, bits
from ...constraints.units.dpa_dispatcher import DpaDispatcherConfig
from ..blocks.ports import members, payload
from ..blocks.stream import StreamRegister
from .banks import BankedMemory
from .lines import slot_layout
from .sequencer import ItemKind, LoopSequencer, item_layout

__all__ = ["DpaDispatcher"]


#: Bits of an index that are multiplied with a stride in a clock; the products of its parts are added up in the next.
PART = 7


class DpaDispatcher(wiring.Component):
    """Executes programs of its command buffer for the requests of its configuration.

    The host writes programs, requests and the Va2Pa table, at any time, and starts a run: a program from a line on, for a
    slot of the configuration. Every line is decoded in a clock; its loops take no clock of their own. A command's operands
    are its own plus what its modifiers say; a virtual row is looked up in the table. At the end of a run, which may be an
    error, and when all its commands have been taken, ``done`` has a message. Nothing behind an error is issued, everything
    before it is; the host then clears it.

    Timing: one command per clock, ``latency`` cycles after the start. A loop with a count of 0 takes two clocks; a command
    with more loops and modifiers than a line has prefix words takes further lines, a clock each. Any stall of ``command``
    stops all of it, in the same state.

    The functional model is ``bankside.models.lolpim.dispatcher``.

    Source: LoL-PIM section 5.3, Tables 3 to 5, Figure 6.

    Parameters
    ----------
    config : :class:`DpaDispatcherConfig`

    Members
    -------
    host : ``In(stream.Signature(payload(config.host_layout)))``
        Writes, executed in order.
    command : ``Out(stream.Signature(payload(config.command_layout)))``
        Commands.
    done : ``Out(stream.Signature(payload(config.done_layout)))``
        Ends of runs.
    status : ``Out(3)``
        Registers: a run is under way; an error is to be cleared; a released slot's entries are being invalidated.
    """

    def __init__(self, config):
        if not isinstance(config, DpaDispatcherConfig):
            raise TypeError(f"Configuration must be a DpaDispatcherConfig, not {config!r}")
        self._config = config
        super().__init__(members(config.ports()))

    @property
    def config(self):
        return self._config

    @property
    def latency(self):
        """Cycles between events of a unit at rest, with all streams ready."""
        return {"start_to_command": 17, "end_to_done": 2}

    def elaborate(self, platform):
        m = Module()
        config, encoding = self._config, self._config.encoding
        low = config.address_bits - 2

        m.submodules.sequencer = sequencer = LoopSequencer(config)
        m.submodules.buffer = buffer = Memory(shape=32 * config.line_words, depth=config.lines, init=[])
        buffer_write, buffer_read = buffer.write_port(granularity=32), buffer.read_port()
        m.submodules.table = table = BankedMemory(config.entry_bits, config.table_entries, config.table_banks)
        slots = Signal(data.ArrayLayout(slot_layout(config), config.slots), init=[{"tokens": -1}] * config.slots)
        slots_now = [slots[s] for s in range(config.slots)]
        layer, layers = Signal(config.layer_bits), Signal(config.layer_bits)

        en = Signal()                               # the pipeline moves
        busy, failed = Signal(), Signal()           # a run has not had its `done`; the last one failed
        stopping = Signal()
        kill = Signal()

        # ---- Host ----------------------------------------------------------------------------------------------------
        m.submodules.host_in = host_in = StreamRegister(payload(config.host_layout))
        m.submodules.done_out = done_out = StreamRegister(payload(config.done_layout))
        wiring.connect(m, outside=wiring.flipped(self.host), host_in=host_in.i)
        wiring.connect(m, done_out=done_out.o, outside=wiring.flipped(self.done))
        write = host_in.o
        index, written = write.p.address[:low], write.p.data
        is_register, is_entry, is_word = (write.p.address[low:] == kind for kind in range(3))
        names = {name: is_register & (index == config.host_address(name)) for name in Host}
        first, for_slot = written[:16], written[16:]
        # A released request's entries are invalidated, one a clock. Until then nothing is written that could give them, or
        # its slot, to another request.
        releasing, release_slot = Signal(), Signal(range(max(2, config.slots)))
        release_entry, release_left = Signal(config.size_bits), Signal(config.size_bits)
        to_slot = is_register & (index < 4 * config.slots)
        release = Signal()
        begin, refused = Signal(), Signal()
        waits = Signal()
        m.d.comb += [
            waits.eq((releasing & (is_entry | names[Host.RELEASE] | (to_slot & (index[2:] == release_slot))))
                     | (names[Host.START] & (busy | (failed & ~done_out.i.ready)))),
            write.ready.eq(~waits),
        ]
        does = write.valid & ~waits
        m.d.comb += [
            release.eq(does & names[Host.RELEASE] & (written < config.slots)),
            begin.eq(does & names[Host.START] & ~failed),
            refused.eq(does & names[Host.START] & failed),
            sequencer.start.eq(begin),
            sequencer.first.eq(Mux(first < config.lines, first, config.lines)),
            sequencer.slot.eq(Mux(for_slot < config.slots, for_slot, config.slots)),
        ]
        with m.If(does):
            with m.If(names[Host.LAYER]):
                m.d.sync += [layer.eq(written[:16]), layers.eq(written[16:])]
            with m.If(names[Host.STOP] & busy):
                m.d.sync += stopping.eq(1)
            with m.If(names[Host.CLEAR]):
                m.d.sync += failed.eq(0)
            for s, slot in enumerate(slots_now):
                with m.If(is_register & (index == config.slot_address(s, Slot.REQUEST))):
                    m.d.sync += [slot.valid.eq(written[31]), slot.request.eq(written)]
                with m.If(is_register & (index == config.slot_address(s, Slot.TOKENS))):
                    m.d.sync += slot.tokens.eq(written[:config.token_bits] - 1)
                with m.If(is_register & (index == config.slot_address(s, Slot.BASE))):
                    m.d.sync += slot.base.eq(written)
                with m.If(is_register & (index == config.slot_address(s, Slot.SIZE))):
                    m.d.sync += slot.size.eq(written)
        with m.If(release):
            m.d.sync += [releasing.eq(1), release_slot.eq(written)]
            for s, slot in enumerate(slots_now):
                with m.If(written == s):
                    m.d.sync += [slot.valid.eq(0), release_entry.eq(slot.base), release_left.eq(slot.size)]
        clears = Signal()
        m.d.comb += clears.eq(releasing & (release_left != 0) & (release_entry < config.table_entries))
        with m.If(clears):
            m.d.sync += [release_entry.eq(release_entry + 1), release_left.eq(release_left - 1)]
        with m.Elif(releasing):
            m.d.sync += releasing.eq(0)

        line, place = index[bits(config.line_words):], index[:bits(config.line_words)]
        m.d.comb += [
            table.write_en.eq(clears | (does & is_entry & (index < config.table_entries))),
            table.write_addr.eq(Mux(clears, release_entry, index)),
            table.write_data.eq(Mux(clears, 0, written)),
            buffer_write.data.eq(written.replicate(config.line_words)),
        ]
        m.d.comb += buffer_write.addr.eq(line)
        with m.If(does & is_word & (line < config.lines) & (place < config.line_words)):
            m.d.comb += buffer_write.en.eq(1 << place)

        m.d.comb += self.status.eq(Cat(busy, failed, releasing))

        # ---- Lines ---------------------------------------------------------------------------------------------------
        m.d.comb += [
            buffer_read.en.eq(sequencer.read),
            buffer_read.addr.eq(sequencer.address),
            sequencer.words.eq(buffer_read.data),
            sequencer.en.eq(en),
            sequencer.stop.eq(stopping),
            sequencer.kill.eq(kill),
            sequencer.slots.eq(slots),
            sequencer.layer.eq(layer),
            sequencer.layers.eq(layers),
        ]

        # ---- Products of strides and indices -------------------------------------------------------------------------
        width = encoding.stride_bits + max(config.count_bits, config.layer_bits, config.token_bits)
        head = data.StructLayout({"kind": 2, "code": 4, "line": bits(config.lines + 1), "op": len(sequencer.item.op),
                                  "virtual": 1})

        def take_head(register, source):
            return [register[name].eq(source[name]) for name in ("kind", "code", "line", "op", "virtual")]

        decoded_valid, decoded = Signal(), Signal(item_layout(config))
        with m.If(en):
            m.d.sync += [decoded_valid.eq(sequencer.valid), decoded.eq(sequencer.item)]
        valids = [decoded_valid]
        operands = data.StructLayout(encoding.operands)

        def stage(name, valid, source, values):
            """Registers for a line behind ``valid``: whether there is one, its head and its operands as they are so far."""
            is_there, there = Signal(name=f"{name}_valid"), Signal(head, name=name)
            kept = Signal(operands, name=f"{name}_operands")
            with m.If(en):
                m.d.sync += [is_there.eq(valid), *take_head(there, source)]
                if values is not None:
                    m.d.sync += kept.eq(values)
            valids.append(is_there)
            return is_there, there, kept

        modifiers = range(encoding.prefix_words)
        parted_valid, parted, parted_operands = stage("parted", decoded_valid, decoded, decoded.operands)
        grown_valid, grown, grown_operands = stage("grown", parted_valid, parted, parted_operands)
        products, targets = [], []
        for j in modifiers:
            change = decoded.modifiers[j]
            target = Signal(encoding.modifier_fields["target"], name=f"target_{j}")
            product, parts = Signal(signed(width), name=f"product_{j}"), []
            for low in range(0, len(change.index), PART):
                piece = change.index[low:low + PART]
                part = Signal(signed(encoding.stride_bits + len(piece)), name=f"part_{j}_{low}")
                with m.If(en):
                    m.d.sync += part.eq(Mux(change.valid, change.stride * piece, 0))
                parts.append(part << low)
            parted_target = Signal.like(target, name=f"parted_target_{j}")
            with m.If(en):
                m.d.sync += [parted_target.eq(change.target), target.eq(parted_target), product.eq(sum(parts))]
            products.append(product)
            targets.append(target)

        # ---- Operands: their own value, the products, and those of lines before without a command ---------------------
        # A sum is exact: so many modifiers as a command can have do not overflow it.
        most = max(*encoding.operand_bits, width + bits(encoding.prefix_words + 1)) + 2 + config.nesting
        changed_valid, changed, changed_operands = stage("changed", grown_valid, grown, grown_operands)
        summed_valid, summed, _ = stage("summed", changed_valid & (changed.kind != ItemKind.MORE), changed, None)
        summed_operands = Signal(operands)
        outside = Signal(len(OPERANDS))
        for t, name in enumerate(OPERANDS):
            pending = Signal(signed(most), name=f"pending_{name}")
            change, total = Signal(signed(most), name=f"change_{name}"), Signal(signed(most), name=f"total_{name}")
            with m.If(en):
                m.d.sync += [change.eq(sum(Mux(targets[j] == t, products[j], 0) for j in modifiers)),
                             total.eq(pending + change + changed_operands[name])]
            with m.If(en & changed_valid):
                m.d.sync += pending.eq(Mux(changed.kind == ItemKind.MORE, pending + change, 0))
            with m.If(begin):
                m.d.sync += pending.eq(0)
            m.d.comb += [summed_operands[name].eq(total),
                         outside[t].eq(total[encoding.operands[name]:].any())]  # the sign is one of these

        # ---- The request of a virtual row -----------------------------------------------------------------------------
        whose = Signal(bits(config.slots) + 2)
        owner = Signal(slot_layout(config))
        owned_valid, owned, owned_operands = stage("owned", summed_valid, summed, summed_operands)
        owned_slot, owned_request = Signal(range(max(2, config.slots))), Signal(config.request_bits)
        owned_base, owned_size = Signal(config.virtual_bits), Signal(config.size_bits)
        m.d.comb += whose.eq(sequencer.run_slot + summed_operands.slot)
        for s, slot in enumerate(slots_now):
            with m.If(whose == s):
                m.d.comb += owner.eq(slot)
        with m.If(en):
            m.d.sync += [owned_slot.eq(whose), owned_request.eq(owner.request), owned_base.eq(owner.base),
                         owned_size.eq(owner.size)]
            with m.If(summed.kind == ItemKind.COMMAND):
                # A request that is being released in this clock is gone.
                with m.If(summed.virtual & (~owner.valid | (release & (whose == written)))):
                    m.d.sync += [owned.kind.eq(ItemKind.END), owned.code.eq(DispatchError.SLOT)]
                with m.If(outside.any() | (~summed.virtual & (summed_operands.row >> config.row_bits != 0))):
                    m.d.sync += [owned.kind.eq(ItemKind.END), owned.code.eq(DispatchError.RANGE)]
        # So is one that is released while its command waits to be looked up: the table may soon have other rows there.
        with m.If(~en & release & owned.virtual & (owned.kind == ItemKind.COMMAND) & (owned_slot == written)):
            m.d.sync += [owned.kind.eq(ItemKind.END), owned.code.eq(DispatchError.SLOT)]

        # ---- Table ----------------------------------------------------------------------------------------------------
        entry = Signal(config.size_bits + 1)
        read_valid, read, read_operands = stage("read", owned_valid, owned, owned_operands)
        found_valid, found, found_operands = stage("found", read_valid, read, read_operands)
        read_request, found_request = Signal(config.request_bits), Signal(config.request_bits)
        passed, passed_entry, looked_up = Signal(), Signal(config.entry_bits), Signal(config.entry_bits)
        m.d.comb += [
            entry.eq(owned_base + owned_operands.row),
            table.read_en.eq(en),
            table.read_addr.eq(entry),
        ]
        with m.If(en):
            m.d.sync += [
                read_request.eq(Mux(owned.virtual, owned_request, 0)), found_request.eq(read_request),
                # An entry that is written in the clock in which it is read is taken from the write.
                passed.eq(table.write_en & (table.write_addr == entry)), passed_entry.eq(table.write_data),
                looked_up.eq(Mux(passed, passed_entry, table.read_data)),
            ]
            with m.If((owned.kind == ItemKind.COMMAND) & owned.virtual
                      & ((owned_operands.row >= owned_size) | (entry >= config.table_entries))):
                m.d.sync += [read.kind.eq(ItemKind.END), read.code.eq(DispatchError.VIRTUAL)]

        # ---- Out ------------------------------------------------------------------------------------------------------
        m.submodules.command_out = command_out = StreamRegister(payload(config.command_layout))
        wiring.connect(m, command_out=command_out.o, outside=wiring.flipped(self.command))
        issues, over, code = Signal(), Signal(), Signal(4)
        m.d.comb += code.eq(found.code)
        with m.If(found_valid):
            with m.If(found.kind == ItemKind.END):
                m.d.comb += over.eq(1)
            with m.Elif(found.virtual & ~looked_up[-1]):
                m.d.comb += [over.eq(1), code.eq(DispatchError.UNMAPPED)]
            with m.Else():
                m.d.comb += issues.eq(1)
        ends = over & ~command_out.o.valid & done_out.i.ready
        m.d.comb += [
            en.eq(Mux(over, ~command_out.o.valid & done_out.i.ready, ~issues | command_out.i.ready)),
            command_out.i.valid.eq(issues),
            command_out.i.p.op.eq(found.op),
            command_out.i.p.line.eq(found.line),
            command_out.i.p.request.eq(found_request),
            command_out.i.p.row.eq(Mux(found.virtual, looked_up[:config.row_bits], found_operands.row)),
            *(command_out.i.p[name].eq(found_operands[name]) for name in OPERANDS if name not in ("row", "slot")),
            done_out.i.valid.eq(ends | refused),
            done_out.i.p.code.eq(Mux(refused, DispatchError.NOT_CLEARED, code)),
            done_out.i.p.line.eq(Mux(refused, sequencer.first, found.line)),
            kill.eq(ends),
        ]
        with m.If(begin):
            m.d.sync += busy.eq(1)
        with m.If(ends):
            m.d.sync += [busy.eq(0), stopping.eq(0)]
            m.d.sync += failed.eq((code != DispatchError.NONE) & (code != DispatchError.STOPPED))
            m.d.sync += [valid.eq(0) for valid in valids]
        return m
