"""Registers in banks, with arbitration between the engines that use them."""

from dataclasses import dataclass
from typing import Any

from amaranth import *
from amaranth.hdl import Assert
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

__all__ = ["Client", "RegisterFile"]


@dataclass(frozen=True)
class Client:
    """What an engine needs of the registers.

    Attributes
    ----------
    width : words of an access, from consecutive registers
    writes : it writes at any time; each write waits for its grant
    latency : a read may promise a write, which follows the grant after so many clocks; None: no read promises a write
    elements : its writes at any time choose the elements of the register that they change, of so many; 1: all of it
    """

    width: int = 1
    writes: bool = False
    latency: int | None = None
    elements: int = 1

    def signature(self, address, word):
        """Ports of the engine for registers of ``word`` bits with addresses of ``address`` bits.

        - ``read``, ``read_address``: a request; ``grant``: it is taken. ``read_data`` has the words in the next clock.
        - ``lanes``, if an access has several words: the words that are read and written.
        - ``promise``, ``target``: a granted read promises a write from register ``target`` on. The words of this write are
          ``result``, ``latency`` clocks after the grant.
        - ``write``, ``write_address``, ``write_data``: a request; ``write_grant``: it is taken. It has one word.
        - ``write_mask``, if there are ``elements``: the elements that are written, element 0 lowest.
        """
        bits = self.width * word
        members = {"read": Out(1), "read_address": Out(address), "grant": In(1), "read_data": In(bits)}
        if self.width > 1:
            members["lanes"] = Out(self.width)
        if self.latency is not None:
            members |= {"promise": Out(1), "target": Out(address), "result": Out(bits)}
        if self.writes:
            members |= {"write": Out(1), "write_address": Out(address), "write_data": Out(word), "write_grant": In(1)}
            if self.elements > 1:
                members["write_mask"] = Out(self.elements)
        return wiring.Signature(members)


class _Access:
    """Words of an access by bank: whether a bank has one, and its row."""

    def __init__(self, m, name, banks, address, lanes):
        low = (banks - 1).bit_length()
        self.low, self.high = address[:low], address[low:]
        self.mask = Signal(banks, name=f"{name}_banks")
        self.wide = lanes is not None
        if not self.wide:
            m.d.comb += self.mask.eq(Const(1, banks) << self.low if low else 1)
        else:
            turned = Signal(2 * banks, name=f"{name}_turned")
            m.d.comb += [turned.eq(lanes << self.low), self.mask.eq(turned[:banks] | turned[banks:])]

    def row(self, bank):
        """Row of the word in a bank. Words behind the last bank are in the next row."""
        if not self.wide or not len(self.low):
            return self.high
        return (self.high + (bank < self.low))[: len(self.high)]


def _turned(m, words, low, name, *, back=False):
    """Words moved ``low`` places up cyclically, or down with ``back``."""
    count = len(words)
    for s in range(len(low)):
        moved = []
        for n, word in enumerate(words):
            other = words[(n + (1 << s) if back else n - (1 << s)) % count]
            turned = Signal(word.shape(), name=f"{name}_{s}_{n}")
            m.d.comb += turned.eq(Mux(low[s], other, word))
            moved.append(turned)
        words = moved
    return words


class RegisterFile(wiring.Component):
    """Registers of ``width`` bits in ``banks`` memories, for several clients. Register r is in bank r modulo ``banks``.

    Each memory takes a read or a write in a clock (``bank_ports`` 1), or a read and a write (``bank_ports`` 2). A *port*
    makes one read and one write in a clock. Client n has port n, and the last port serves all further clients. An access
    waits while its port or one of its banks is in use. Requests of one clock have this order:

    1. promised writes, which never wait;
    2. writes, in the order of the clients;
    3. reads, in the order of the clients. A read that promises a write also waits while the port or a bank of that write
       will be in use then by a promise made earlier.

    Timing: a granted read gives its words in the next clock. A write is done in the clock of its grant.

    Parameters
    ----------
    width : bits of a register
    registers, banks, bank_ports, ports : numbers; ``banks`` is a power of two, and ``registers`` is a multiple of two banks
    clients : list of :class:`Client`; an access has at most ``banks`` words

    Members
    -------
    client_0 ... : ``In(client.signature(...))``
    """

    def __init__(self, width, registers, clients, *, banks=1, bank_ports=2, ports=1):
        if banks & (banks - 1) or registers % (2 * banks):
            raise ValueError(f"Banks must be a power of two and divide half of {registers} registers, not {banks}")
        if any(client.width > banks for client in clients):
            raise ValueError(f"An access must have at most {banks} words, one of each bank")
        self.width, self.registers, self.clients = width, registers, tuple(clients)
        self.banks, self.bank_ports, self.ports = banks, bank_ports, ports
        #: Parts of a register that are written apart from each other.
        self.elements = max(client.elements for client in self.clients)
        if any(client.elements not in (1, self.elements) for client in self.clients) or width % self.elements:
            raise ValueError(f"Clients must have equal elements, which divide {width} bits")
        self.address_bits = (registers - 1).bit_length()
        #: For each client with promises: whether there is one, its target and its lanes, by age. The last age is the clock
        #: of the write.
        self.promises = {
            n: [
                (
                    Signal(name=f"promised_{n}_{age}"),
                    Signal(self.address_bits, name=f"promised_{n}_{age}_target", reset_less=True),
                    Signal(client.width, name=f"promised_{n}_{age}_lanes", reset_less=True),
                )
                for age in range(1, client.latency + 1)
            ]
            for n, client in enumerate(self.clients)
            if client.latency is not None
        }
        #: For a proof, which drives the address: a register and its word.
        self.probe_address, self.probe_word = Signal(self.address_bits), Signal(width)
        super().__init__(
            {f"client_{n}": In(client.signature(self.address_bits, width)) for n, client in enumerate(self.clients)}
        )

    def _port(self, n):
        return min(n, self.ports - 1)

    def elaborate(self, platform):
        m = Module()
        banks, single = self.banks, self.bank_ports == 1
        faces = [getattr(self, f"client_{n}") for n in range(len(self.clients))]
        ends = {n: self._promised(m, n, faces[n]) for n in self.promises}

        # ---- Grants, in order of priority ----------------------------------------------------------------------------
        # Each access is (whether it takes place, its banks, and of a write its words and elements), by port.
        writes: Any = [[] for _ in range(self.ports)]
        reads: Any = [[] for _ in range(self.ports)]
        written, taken = Const(0, banks), Const(0, banks)
        for n, stages in ends.items():
            due, access = stages[-1]
            writes[self._port(n)].append((due, access, faces[n].result, Const((1 << self.elements) - 1)))
            written = written | access.mask & due.replicate(banks)
        for n, client in enumerate(self.clients):
            if not client.writes:
                continue
            face, port = faces[n], writes[self._port(n)]
            access = _Access(m, f"write_{n}", banks, face.write_address, None)
            m.d.comb += face.write_grant.eq(face.write & ~_any(go for go, *_ in port) & ~(access.mask & written).any())
            mask = face.write_mask if client.elements > 1 else Const((1 << self.elements) - 1)
            port.append((face.write_grant, access, face.write_data, mask))
            written = written | access.mask & face.write_grant.replicate(banks)
        if single:
            taken = written
        now: Any = []  # promises of this clock
        for n, client in enumerate(self.clients):
            face, port = faces[n], reads[self._port(n)]
            lanes = face.lanes if client.width > 1 else None
            access = _Access(m, f"read_{n}", banks, face.read_address, lanes)
            free = ~_any(go for go, _ in port) & ~(access.mask & taken).any()
            if client.latency is not None:
                target = _Access(m, f"target_{n}", banks, face.target, lanes)
                free &= ~(face.promise & _any(self._meets(n, target, *other) for other in self._rivals(n, ends, now)))
                now.append((n, face.grant & face.promise, target))
            m.d.comb += face.grant.eq(face.read & free)
            port.append((face.grant, access))
            taken = taken | access.mask & face.grant.replicate(banks)

        # ---- Memories -------------------------------------------------------------------------------------------------
        rows = self.registers // banks
        memories = []
        sources = [self._selected(m, f"writer_{p}", accesses) for p, accesses in enumerate(writes)]
        for b in range(banks):
            m.submodules[f"bank_{b}"] = memory = Memory(shape=self.width, depth=rows, init=[])
            write = memory.write_port(granularity=self.width // self.elements if self.elements > 1 else None)
            read = memory.read_port()
            puts = [(go & access.mask[b], access.row(b)) for accesses in writes for go, access, *_ in accesses]
            masks = [
                (go & access.mask[b]).replicate(self.elements) & mask
                for accesses in writes
                for go, access, _, mask in accesses
            ]
            gets = [(go & access.mask[b], access.row(b)) for accesses in reads for go, access in accesses]
            m.d.comb += [
                write.en.eq(_or(masks)),
                read.en.eq(_any(go for go, _ in gets)),
                write.data.eq(
                    sources[0][b]
                    if self.ports == 1
                    else _or(
                        _any(go & access.mask[b] for go, access, *_ in accesses).replicate(self.width) & source[b]
                        for accesses, source in zip(writes, sources, strict=True)
                    )
                ),
            ]
            if single:  # one address, since only one access takes place
                address = Signal(range(rows), name=f"address_{b}")
                m.d.comb += [address.eq(_chosen([*puts, *gets])), write.addr.eq(address), read.addr.eq(address)]
            else:
                m.d.comb += [write.addr.eq(_chosen(puts)), read.addr.eq(_chosen(gets))]
            memories.append((memory, read, write))

        # ---- Words that were read ------------------------------------------------------------------------------------
        for p, accesses in enumerate(reads):
            of_port = [n for n in range(len(self.clients)) if self._port(n) == p]
            if not of_port:
                continue
            words = [read.data for _, read, _ in memories]
            if banks > 1:
                low = Signal(range(banks), name=f"was_low_{p}", reset_less=True)
                m.d.sync += low.eq(_chosen([(go, access.low) for go, access in accesses]))
                words = (
                    [Array(words)[low]]
                    if max(self.clients[n].width for n in of_port) == 1
                    else _turned(m, words, low, f"read_{p}", back=True)
                )
            for n in of_port:
                m.d.comb += faces[n].read_data.eq(Cat(words[: self.clients[n].width]))

        if platform == "formal":
            self._check(m, memories, writes, reads, ends)
        return m

    def _promised(self, m, n, face):
        """Promises of a client by age: whether there is one, and its words by bank."""
        wide = self.clients[n].width > 1
        last = face.grant & face.promise, face.target, face.lanes if wide else 1
        stages = []
        for age, stage in enumerate(self.promises[n], 1):
            m.d.sync += [now.eq(before) for now, before in zip(stage, last, strict=True)]
            last = stage
            due, target, lanes = stage
            stages.append((due, _Access(m, f"promised_{n}_{age}", self.banks, target, lanes if wide else None)))
        return stages

    def _rivals(self, n, ends, now):
        """Promises of other clients whose write is in the same clock as one that client ``n`` promises now."""
        latency = self.clients[n].latency
        for other, stages in ends.items():
            ahead = self.clients[other].latency - latency
            if ahead > 0:
                yield other, *stages[ahead - 1]
        yield from ((other, *promise) for other, *promise in now if self.clients[other].latency == latency)

    def _meets(self, n, access, other, due, theirs):
        """Whether two writes of one clock need the same port or bank."""
        return due if self._port(n) == self._port(other) else due & (access.mask & theirs.mask).any()

    def _selected(self, m, name, accesses):
        """Words of a port's write by bank."""
        if not accesses:
            return [Const(0, self.width)] * self.banks
        most = max(len(data) for _, _, data, _ in accesses)
        words = Signal(most, name=name)
        m.d.comb += words.eq(_chosen([(go, data) for go, _, data, _ in accesses]))
        if most == self.width:
            return [words] * self.banks
        words = [
            words.word_select(n, self.width) if n < most // self.width else Const(0, self.width)
            for n in range(self.banks)
        ]
        low = Signal(range(self.banks), name=f"{name}_low")
        m.d.comb += low.eq(_chosen([(go, access.low) for go, access, *_ in accesses]))
        return _turned(m, words, low, name)

    def _check(self, m, memories, writes, reads, ends):
        probes = []
        low = (self.banks - 1).bit_length()
        for b, (memory, _, _) in enumerate(memories):
            probe = memory.read_port(domain="comb")
            m.d.comb += probe.addr.eq(self.probe_address[low:])
            probes.append(probe.data)
            for what, accesses in (("write", writes), ("read", reads)):
                uses = [go & access.mask[b] for port in accesses for go, access, *_ in port]
                m.d.comb += Assert(_most_one(uses), f"RegisterFile: one {what} of a bank at a time")
            if self.bank_ports == 1:
                uses = [go & access.mask[b] for port in (*writes, *reads) for go, access, *_ in port]
                m.d.comb += Assert(_most_one(uses), "RegisterFile: one access of a bank at a time")
        m.d.comb += self.probe_word.eq(Array(probes)[self.probe_address[:low]] if low else probes[0])
        for what, accesses in (("write", writes), ("read", reads)):
            for port in accesses:
                m.d.comb += Assert(_most_one([go for go, *_ in port]), f"RegisterFile: one {what} of a port at a time")
        # Promises whose writes fall into one clock never meet.
        for n, stages in ends.items():
            for other, others in ends.items():
                ahead = len(others) - len(stages)
                if other == n or ahead < 0 or (ahead == 0 and other < n):
                    continue
                for age, (due, access) in enumerate(stages):
                    m.d.comb += Assert(
                        ~(due & self._meets(n, access, other, *others[age + ahead])),
                        "RegisterFile: promised writes of a clock do not meet",
                    )


def _or(values):
    result = None
    for value in values:
        result = value if result is None else result | value
    return Const(0) if result is None else result


def _any(values):
    """Whether one of the bits is 1."""
    return _or(values)[0]


def _most_one(bits):
    return ~_or(a & b for n, a in enumerate(bits) for b in bits[:n])[0]


def _chosen(options):
    """Value of the one option whose bit is 1; of the last one if there is none."""
    result = None
    for go, value in reversed(options):
        result = value if result is None else Mux(go, value, result)
    return Const(0) if result is None else result
