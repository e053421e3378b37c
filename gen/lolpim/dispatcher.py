# amaranth: UnusedElaboratable=no
"""LoL-PIM's dispatcher: executes programs of memory commands. Token counts set loop counts; a table maps rows."""

from typing import Any, NamedTuple

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory

from ...constraints.aim.encoding import OPERANDS, DispatchError, Host, Slot, bits
from ...constraints.lolpim.dispatcher import DpaDispatcherConfig
from ..blocks.ports import members, payload
from ..blocks.stream import StreamRegister
from .banks import BankedMemory
from .lines import slot_layout
from .sequencer import ItemKind, LoopSequencer, item_layout

__all__ = ["DpaDispatcher"]


#: Bits of a part of an index. One clock multiplies all parts by the stride, the next one adds the products.
PART = 7


class _Memories(NamedTuple):
    """The sequencer, the ports of its command buffer, and the Va2Pa table."""

    sequencer: LoopSequencer
    buffer_write: Any
    buffer_read: Any
    table: BankedMemory


class _State(NamedTuple):
    """Registers of the unit.

    Attributes
    ----------
    slots, layer, layers : values that the host has written
    en : the pipeline moves
    busy, failed : a run has not sent its ``done``; the last run failed
    stopping, kill : the host has requested a stop; the run is over
    releasing, release_slot : table entries of a released slot are being invalidated; number of the slot
    """

    slots: data.View
    layer: Signal
    layers: Signal
    en: Signal
    busy: Signal
    failed: Signal
    stopping: Signal
    kill: Signal
    releasing: Signal
    release_slot: Signal

    @property
    def each_slot(self):
        return [self.slots[s] for s in range(len(self.slots))]


class _Write(NamedTuple):
    """A write of the host.

    Attributes
    ----------
    does : the write takes place in this clock
    index, written : address among the addresses of its kind; data
    is_entry, is_word : it writes the table; it writes the command buffer
    release, begin, refused : it releases a slot; it starts a run; it may not start a run
    done_out : queue of messages to the host
    """

    does: Value
    index: Value
    written: Value
    is_entry: Value
    is_word: Value
    release: Signal
    begin: Signal
    refused: Signal
    done_out: StreamRegister


class _Release(NamedTuple):
    """The table entry that is invalidated, if ``clears`` is 1."""

    clears: Signal
    entry: Signal


class _Stage(NamedTuple):
    """A line in the pipeline: whether there is one, its head, and its operands as computed so far."""

    valid: Signal
    line: data.View
    operands: data.View


class _Owner(NamedTuple):
    """The request that owns a virtual row: its name, its first table entry, and its number of entries."""

    request: Signal
    base: Signal
    size: Signal


class _Pipeline:
    """Creates the pipeline stages of a line. All stages move with ``en``."""

    _HEAD = ("kind", "code", "line", "op", "virtual")

    def __init__(self, m, en, config):
        self.m, self.en, self.valids = m, en, []
        encoding = config.encoding
        self._head = data.StructLayout(
            {"kind": 2, "code": 4, "line": bits(config.lines + 1), "op": encoding.command_fields["op"], "virtual": 1}
        )
        self._operands = data.StructLayout(encoding.operands)

    def stage(self, name, before, valid=None, *, keep=True):
        """Registers for a line, behind stage ``before``. Only with ``keep`` they include the operands."""
        m = self.m
        is_there, there = Signal(name=f"{name}_valid"), Signal(self._head, name=name)
        kept = Signal(self._operands, name=f"{name}_operands")
        with m.If(self.en):
            m.d.sync += [
                is_there.eq(before.valid if valid is None else valid),
                *(there[field].eq(before.line[field]) for field in self._HEAD),
            ]
            if keep:
                m.d.sync += kept.eq(before.operands)
        self.valids.append(is_there)
        return _Stage(is_there, there, kept)


class DpaDispatcher(wiring.Component):
    """Executes programs of its command buffer for the requests of its configuration.

    The host writes programs, requests and the Va2Pa table at any time. It starts a run: a program from a given line on,
    for a slot of the configuration. The unit decodes one line per clock. Loops take no clocks of their own. The
    modifiers of a command add to its operands. The table maps virtual rows to physical rows. A run ends with its
    program or with an error. When all commands of the run have been taken, ``done`` sends a message. The unit issues
    all commands before an error, and no commands behind it. The host then clears the error.

    Timing: one command per clock; the first follows the start after the cycles in ``latency``. A loop with a count of 0
    takes two clocks. A command with more loops and modifiers than a line has prefix words needs further lines, one
    clock each. A stall of ``command`` stops the whole unit without a change of state.

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
        Messages at the end of runs.
    status : ``Out(3)``
        Three registers: a run is in progress; an error is not cleared yet; entries of a released slot are being
        invalidated.
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
        """Cycles between events of an idle unit, with all streams ready."""
        return {"start_to_command": 17, "end_to_done": 2}

    def elaborate(self, platform):
        m = Module()
        memories = self._memories(m)
        state = self._state()
        host = self._host(m, memories.sequencer, state)
        release = self._release(m, state, host)
        self._write(m, memories, state, host, release)
        self._lines(m, memories, state)
        pipeline = _Pipeline(m, state.en, self._config)
        decoded = self._decoded(m, memories.sequencer, pipeline)
        grown, products = self._products(m, pipeline, decoded)
        summed, outside = self._operands(m, pipeline, grown, products, host.begin)
        owned, owner = self._owner(m, memories.sequencer, pipeline, state, summed, outside, host)
        found, looked_up, request = self._look_up(m, memories.table, pipeline, owned, owner)
        self._issue(m, memories.sequencer, pipeline, state, host, found, looked_up, request)
        return m

    def _memories(self, m):
        """The command buffer, the sequencer that reads it, and the Va2Pa table."""
        config = self._config
        m.submodules.sequencer = sequencer = LoopSequencer(config)
        m.submodules.buffer = buffer = Memory(shape=32 * config.line_words, depth=config.lines, init=[])
        buffer_write, buffer_read = buffer.write_port(granularity=32), buffer.read_port()
        m.submodules.table = table = BankedMemory(config.entry_bits, config.table_entries, config.table_banks)
        return _Memories(sequencer, buffer_write, buffer_read, table)

    def _state(self):
        """Registers that the host writes, and registers of the state of a run."""
        config = self._config
        slots = Signal(data.ArrayLayout(slot_layout(config), config.slots), init=[{"tokens": -1}] * config.slots)
        layer, layers = Signal(config.layer_bits), Signal(config.layer_bits)
        en = Signal()
        busy, failed = Signal(), Signal()
        stopping = Signal()
        kill = Signal()
        releasing, release_slot = Signal(), Signal(range(max(2, config.slots)))
        return _State(slots, layer, layers, en, busy, failed, stopping, kill, releasing, release_slot)

    # ---- Host ---------------------------------------------------------------------------------------------------------

    def _host(self, m, sequencer, state):
        """Decode a write of the host, and decide whether it can take place now. Starts runs."""
        config = self._config
        low = config.address_bits - 2
        m.submodules.host_in = host_in = StreamRegister(payload(config.host_layout))
        m.submodules.done_out = done_out = StreamRegister(payload(config.done_layout))
        wiring.connect(m, outside=wiring.flipped(self.host), host_in=host_in.i)
        wiring.connect(m, done_out=done_out.o, outside=wiring.flipped(self.done))
        write = host_in.o
        index, written = write.p.address[:low], write.p.data
        is_register, is_entry, is_word = (write.p.address[low:] == kind for kind in range(3))
        names = {name: is_register & (index == config.host_address(name)) for name in Host}
        first, for_slot = written[:16], written[16:]
        # The entries of a released request are invalidated, one per clock. Until then, writes that could give the
        # entries or the slot to another request wait.
        to_slot = is_register & (index < 4 * config.slots)
        release = Signal()
        begin, refused = Signal(), Signal()
        waits = Signal()
        m.d.comb += [
            waits.eq(
                (state.releasing & (is_entry | names[Host.RELEASE] | (to_slot & (index[2:] == state.release_slot))))
                | (names[Host.START] & (state.busy | (state.failed & ~done_out.i.ready)))
            ),
            write.ready.eq(~waits),
        ]
        does = write.valid & ~waits
        m.d.comb += [
            release.eq(does & names[Host.RELEASE] & (written < config.slots)),
            begin.eq(does & names[Host.START] & ~state.failed),
            refused.eq(does & names[Host.START] & state.failed),
            sequencer.start.eq(begin),
            sequencer.first.eq(Mux(first < config.lines, first, config.lines)),
            sequencer.slot.eq(Mux(for_slot < config.slots, for_slot, config.slots)),
        ]
        with m.If(does):
            with m.If(names[Host.LAYER]):
                m.d.sync += [state.layer.eq(written[:16]), state.layers.eq(written[16:])]
            with m.If(names[Host.STOP] & state.busy):
                m.d.sync += state.stopping.eq(1)
            with m.If(names[Host.CLEAR]):
                m.d.sync += state.failed.eq(0)
            for s, slot in enumerate(state.each_slot):
                with m.If(is_register & (index == config.slot_address(s, Slot.REQUEST))):
                    m.d.sync += [slot.valid.eq(written[31]), slot.request.eq(written)]
                with m.If(is_register & (index == config.slot_address(s, Slot.TOKENS))):
                    m.d.sync += slot.tokens.eq(written[: config.token_bits] - 1)
                with m.If(is_register & (index == config.slot_address(s, Slot.BASE))):
                    m.d.sync += slot.base.eq(written)
                with m.If(is_register & (index == config.slot_address(s, Slot.SIZE))):
                    m.d.sync += slot.size.eq(written)
        return _Write(does, index, written, is_entry, is_word, release, begin, refused, done_out)

    def _release(self, m, state, host):
        """Go through the entries of a released request, one per clock."""
        config = self._config
        release_entry, release_left = Signal(config.size_bits), Signal(config.size_bits)
        with m.If(host.release):
            m.d.sync += [state.releasing.eq(1), state.release_slot.eq(host.written)]
            for s, slot in enumerate(state.each_slot):
                with m.If(host.written == s):
                    m.d.sync += [slot.valid.eq(0), release_entry.eq(slot.base), release_left.eq(slot.size)]
        clears = Signal()
        m.d.comb += clears.eq(state.releasing & (release_left != 0) & (release_entry < config.table_entries))
        with m.If(clears):
            m.d.sync += [release_entry.eq(release_entry + 1), release_left.eq(release_left - 1)]
        with m.Elif(state.releasing):
            m.d.sync += state.releasing.eq(0)
        return _Release(clears, release_entry)

    def _write(self, m, memories, state, host, release):
        """Write the table and the command buffer."""
        config, index, written = self._config, host.index, host.written
        clears, table, buffer_write = release.clears, memories.table, memories.buffer_write
        line, place = index[bits(config.line_words) :], index[: bits(config.line_words)]
        m.d.comb += [
            table.write_en.eq(clears | (host.does & host.is_entry & (index < config.table_entries))),
            table.write_addr.eq(Mux(clears, release.entry, index)),
            table.write_data.eq(Mux(clears, 0, written)),
            buffer_write.data.eq(written.replicate(config.line_words)),
        ]
        m.d.comb += buffer_write.addr.eq(line)
        with m.If(host.does & host.is_word & (line < config.lines) & (place < config.line_words)):
            m.d.comb += buffer_write.en.eq(1 << place)

        m.d.comb += self.status.eq(Cat(state.busy, state.failed, state.releasing))

    # ---- Lines --------------------------------------------------------------------------------------------------------

    def _lines(self, m, memories, state):
        sequencer, buffer_read = memories.sequencer, memories.buffer_read
        m.d.comb += [
            buffer_read.en.eq(sequencer.read),
            buffer_read.addr.eq(sequencer.address),
            sequencer.words.eq(buffer_read.data),
            sequencer.en.eq(state.en),
            sequencer.stop.eq(state.stopping),
            sequencer.kill.eq(state.kill),
            sequencer.slots.eq(state.slots),
            sequencer.layer.eq(state.layer),
            sequencer.layers.eq(state.layers),
        ]

    def _decoded(self, m, sequencer, pipeline):
        """The line that the sequencer has decoded."""
        decoded_valid, decoded = Signal(), Signal(item_layout(self._config))
        with m.If(pipeline.en):
            m.d.sync += [decoded_valid.eq(sequencer.valid), decoded.eq(sequencer.item)]
        pipeline.valids.append(decoded_valid)
        return _Stage(decoded_valid, decoded, decoded.operands)

    def _products(self, m, pipeline, decoded):
        """Multiply strides by indices, in two stages. Returns the line after them, and each product with its target."""
        encoding = self._config.encoding
        en = pipeline.en
        parted = pipeline.stage("parted", decoded)
        grown = pipeline.stage("grown", parted)
        products = []
        for j in range(encoding.prefix_words):
            change = decoded.line.modifiers[j]
            target = Signal(encoding.modifier_fields["target"], name=f"target_{j}")
            product, parts = Signal(signed(_product_bits(self._config)), name=f"product_{j}"), []
            for low in range(0, len(change.index), PART):
                piece = change.index[low : low + PART]
                part = Signal(signed(encoding.stride_bits + len(piece)), name=f"part_{j}_{low}")
                with m.If(en):
                    m.d.sync += part.eq(Mux(change.valid, change.stride * piece, 0))
                parts.append(part << low)
            parted_target = Signal.like(target, name=f"parted_target_{j}")
            with m.If(en):
                m.d.sync += [parted_target.eq(change.target), target.eq(parted_target), product.eq(sum(parts))]
            products.append((target, product))
        return grown, products

    def _operands(self, m, pipeline, grown, products, begin):
        """Compute operands: own value, plus products of this line and of preceding lines without a command."""
        config, encoding = self._config, self._config.encoding
        en = pipeline.en
        # A sum is exact: it does not overflow with as many modifiers as a command can have.
        most = max(*encoding.operand_bits, _product_bits(config) + bits(encoding.prefix_words + 1)) + 2 + config.nesting
        changed = pipeline.stage("changed", grown)
        summed = pipeline.stage("summed", changed, changed.valid & (changed.line.kind != ItemKind.MORE), keep=False)
        summed_operands = Signal(data.StructLayout(encoding.operands))
        outside = Signal(len(OPERANDS))
        for t, name in enumerate(OPERANDS):
            pending = Signal(signed(most), name=f"pending_{name}")
            change, total = Signal(signed(most), name=f"change_{name}"), Signal(signed(most), name=f"total_{name}")
            with m.If(en):
                m.d.sync += [
                    change.eq(sum(Mux(target == t, product, 0) for target, product in products)),
                    total.eq(pending + change + changed.operands[name]),
                ]
            with m.If(en & changed.valid):
                m.d.sync += pending.eq(Mux(changed.line.kind == ItemKind.MORE, pending + change, 0))
            with m.If(begin):
                m.d.sync += pending.eq(0)
            m.d.comb += [
                summed_operands[name].eq(total),
                outside[t].eq(total[encoding.operands[name] :].any()),
            ]  # the sign is one of these
        return summed._replace(operands=summed_operands), outside

    def _owner(self, m, sequencer, pipeline, state, summed, outside, host):
        """Find the request that owns a virtual row, and check operands for their range."""
        config, en = self._config, pipeline.en
        whose = Signal(bits(config.slots) + 2)
        owner = Signal(slot_layout(config))
        owned = pipeline.stage("owned", summed)
        owned_slot, owned_request = Signal(range(max(2, config.slots))), Signal(config.request_bits)
        owned_base, owned_size = Signal(config.virtual_bits), Signal(config.size_bits)
        m.d.comb += whose.eq(sequencer.run_slot + summed.operands.slot)
        for s, slot in enumerate(state.each_slot):
            with m.If(whose == s):
                m.d.comb += owner.eq(slot)
        line, before = owned.line, summed.line
        with m.If(en):
            m.d.sync += [
                owned_slot.eq(whose),
                owned_request.eq(owner.request),
                owned_base.eq(owner.base),
                owned_size.eq(owner.size),
            ]
            with m.If(before.kind == ItemKind.COMMAND):
                # A request that is released in this clock counts as gone.
                with m.If(before.virtual & (~owner.valid | (host.release & (whose == host.written)))):
                    m.d.sync += [line.kind.eq(ItemKind.END), line.code.eq(DispatchError.SLOT)]
                with m.If(outside.any() | (~before.virtual & (summed.operands.row >> config.row_bits != 0))):
                    m.d.sync += [line.kind.eq(ItemKind.END), line.code.eq(DispatchError.RANGE)]
        # The same holds for a release while its command waits for the table, which may soon have other rows there.
        with m.If(~en & host.release & line.virtual & (line.kind == ItemKind.COMMAND) & (owned_slot == host.written)):
            m.d.sync += [line.kind.eq(ItemKind.END), line.code.eq(DispatchError.SLOT)]
        return owned, _Owner(owned_request, owned_base, owned_size)

    def _look_up(self, m, table, pipeline, owned, owner):
        """Look up a virtual row in the table. Returns the line, the entry and the request, two stages later."""
        config, en = self._config, pipeline.en
        entry = Signal(config.size_bits + 1)
        read = pipeline.stage("read", owned)
        found = pipeline.stage("found", read)
        read_request, found_request = Signal(config.request_bits), Signal(config.request_bits)
        passed, passed_entry, looked_up = Signal(), Signal(config.entry_bits), Signal(config.entry_bits)
        m.d.comb += [entry.eq(owner.base + owned.operands.row), table.read_en.eq(en), table.read_addr.eq(entry)]
        with m.If(en):
            m.d.sync += [
                read_request.eq(Mux(owned.line.virtual, owner.request, 0)),
                found_request.eq(read_request),
                # If an entry is written in the clock in which it is read, the written value is used.
                passed.eq(table.write_en & (table.write_addr == entry)),
                passed_entry.eq(table.write_data),
                looked_up.eq(Mux(passed, passed_entry, table.read_data)),
            ]
            with m.If(
                (owned.line.kind == ItemKind.COMMAND)
                & owned.line.virtual
                & ((owned.operands.row >= owner.size) | (entry >= config.table_entries))
            ):
                m.d.sync += [read.line.kind.eq(ItemKind.END), read.line.code.eq(DispatchError.VIRTUAL)]
        return found, looked_up, found_request

    def _issue(self, m, sequencer, pipeline, state, host, found, looked_up, request):
        """Issue a command, or end the run. While a command or an end can't leave, the whole pipeline waits."""
        config, line, done_out = self._config, found.line, host.done_out
        m.submodules.command_out = command_out = StreamRegister(payload(config.command_layout))
        wiring.connect(m, command_out=command_out.o, outside=wiring.flipped(self.command))
        issues, over, code = Signal(), Signal(), Signal(4)
        m.d.comb += code.eq(line.code)
        with m.If(found.valid):
            with m.If(line.kind == ItemKind.END):
                m.d.comb += over.eq(1)
            with m.Elif(line.virtual & ~looked_up[-1]):
                m.d.comb += [over.eq(1), code.eq(DispatchError.UNMAPPED)]
            with m.Else():
                m.d.comb += issues.eq(1)
        ends = over & ~command_out.o.valid & done_out.i.ready
        m.d.comb += [
            state.en.eq(Mux(over, ~command_out.o.valid & done_out.i.ready, ~issues | command_out.i.ready)),
            command_out.i.valid.eq(issues),
            command_out.i.p.op.eq(line.op),
            command_out.i.p.line.eq(line.line),
            command_out.i.p.request.eq(request),
            command_out.i.p.row.eq(Mux(line.virtual, looked_up[: config.row_bits], found.operands.row)),
            *(command_out.i.p[name].eq(found.operands[name]) for name in OPERANDS if name not in ("row", "slot")),
            done_out.i.valid.eq(ends | host.refused),
            done_out.i.p.code.eq(Mux(host.refused, DispatchError.NOT_CLEARED, code)),
            done_out.i.p.line.eq(Mux(host.refused, sequencer.first, line.line)),
            state.kill.eq(ends),
        ]
        with m.If(host.begin):
            m.d.sync += state.busy.eq(1)
        with m.If(ends):
            m.d.sync += [state.busy.eq(0), state.stopping.eq(0)]
            m.d.sync += state.failed.eq((code != DispatchError.NONE) & (code != DispatchError.STOPPED))
            m.d.sync += [valid.eq(0) for valid in pipeline.valids]


def _product_bits(config):
    """Bits of a stride times an index."""
    return config.encoding.stride_bits + max(config.count_bits, config.layer_bits, config.token_bits)
