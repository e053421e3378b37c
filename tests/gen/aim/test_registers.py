# amaranth: UnusedElaboratable=no
"""The registers of a hub: arbitration and contents, proved for all time, for banks of either kind and engines that promise
writes."""

import pytest
from amaranth import *
from amaranth.hdl import Assert, Cover

from bankside.gen.aim import registers as module
from bankside.gen.aim.registers import Client, RegisterFile
from bankside.gen.formal import StreamProtocol, prove
from tests.planting import planted

#: A client that writes at any time, as the transfers; two with promises of different age, as engines; one that only reads.
CLIENTS = (Client(writes=True), Client(latency=3), Client(latency=1), Client())
MASKED = (Client(writes=True, elements=2), Client(latency=2))
WIDE = (Client(writes=True), Client(width=2, latency=2), Client(width=4, latency=1))


class RegisterContract(StreamProtocol):
    """A read gives the word that was written last, and a request waits only for another access.

    The proof follows the contents of a register that the free input ``pick`` chooses.
    """

    def __init__(self, dut):
        super().__init__(dut)
        self.pick = Signal(dut.address_bits + 1)
        self.ports.append(self.pick)

    def elaborate(self, platform):
        m = super().elaborate(platform)
        dut = self.dut
        faces = [getattr(dut, f"client_{n}") for n in range(len(dut.clients))]
        active, known = Signal(), Signal()
        watched, value = Signal(dut.address_bits), Signal(dut.width)
        with m.If(self.pick[-1] & ~active):
            m.d.sync += [active.eq(1), watched.eq(self.pick)]

        def words(client, address, lanes, data):
            """Whether an access has the register, and its word."""
            for k in range(client.width):
                here = (address + k)[: dut.address_bits] == watched
                yield here & (lanes[k] if client.width > 1 else 1), data.word_select(k, dut.width)

        writes, requests = [], []
        for n, (client, face) in enumerate(zip(dut.clients, faces, strict=True)):
            lanes = face.lanes if client.width > 1 else Const(1)
            requests.append((face.read, face.grant))
            if client.writes:
                requests.append((face.write, face.write_grant))
                mask = face.write_mask if client.elements > 1 else Const((1 << dut.elements) - 1, dut.elements)
                writes += [
                    (face.write_grant & here, word, mask)
                    for here, word in words(Client(), face.write_address, None, face.write_data)
                ]
            if client.latency is not None:
                stages = [(face.grant & face.promise, face.target, lanes)]
                for age in range(1, client.latency + 1):
                    own = (
                        Signal(name=f"own_{n}_{age}"),
                        Signal(dut.address_bits, name=f"own_target_{n}_{age}"),
                        Signal(client.width, name=f"own_lanes_{n}_{age}"),
                    )
                    m.d.sync += [now.eq(before) for now, before in zip(own, stages[-1], strict=True)]
                    stages.append(own)
                    m.d.comb += Assert(
                        ~(own[0] | dut.promises[n][age - 1][0])
                        | Cat(a == b for a, b in zip(own, dut.promises[n][age - 1], strict=True)).all(),
                        "promises are kept",
                    )
                due, target, kept = stages[-1]
                writes += [
                    (due & here, word, Const((1 << dut.elements) - 1, dut.elements))
                    for here, word in words(client, target, kept, face.result)
                ]
            expects, expected = Signal(client.width, name=f"expects_{n}"), Signal(dut.width, name=f"expected_{n}")
            m.d.sync += [
                expects.eq(
                    Cat(
                        face.grant & active & known & here
                        for here, _ in words(client, face.read_address, lanes, face.read_data)
                    )
                ),
                expected.eq(value),
            ]
            for k in range(client.width):
                m.d.comb += Assert(
                    ~expects[k] | (face.read_data.word_select(k, dut.width) == expected),
                    "a read gives the word that was written last",
                )
            m.d.comb += Cover(expects.any() & (expected != 0), f"client {n} reads what was written")
        part = dut.width // dut.elements
        for write, word, mask in writes:
            with m.If(active & write):
                for k in range(dut.elements):
                    with m.If(mask[k]):
                        m.d.sync += value.word_select(k, part).eq(word.word_select(k, part))
                with m.If(mask.all()):  # from then on every element is known
                    m.d.sync += known.eq(1)
        alone = ~Cat(due for stages in dut.promises.values() for due, *_ in stages).any()
        for n, (asks, granted) in enumerate(requests):
            others = Cat(other for k, (other, _) in enumerate(requests) if k != n)
            m.d.comb += [
                Assert(~(asks & alone & ~others.any()) | granted, "a request waits only for another access"),
                Assert(asks | ~granted, "nothing is granted that was not asked for"),
                Cover(granted, f"request {n} is granted"),
            ]
        m.d.comb += Cover(Cat(asks & ~granted for asks, granted in requests).any(), "a request waits")
        m.d.comb += [
            dut.probe_address.eq(watched),
            Assert(~known | active, "the register is chosen before it is known"),
            Assert(~known | (dut.probe_word == value), "a register has the word that was written last"),
        ]
        return m


CONFIGS = [
    pytest.param(CLIENTS[:2], {"banks": 1, "bank_ports": 2}, id="one-memory"),
    pytest.param(CLIENTS, {"banks": 2, "bank_ports": 1}, id="single-ported"),
    pytest.param(CLIENTS, {"banks": 4, "bank_ports": 1, "ports": 3}, id="ports", marks=pytest.mark.slow),
    pytest.param(CLIENTS, {"banks": 2, "bank_ports": 2, "ports": 2}, id="two-ported", marks=pytest.mark.slow),
    pytest.param(MASKED, {"banks": 2, "bank_ports": 1, "width": 2}, id="elements", marks=pytest.mark.slow),
    pytest.param(WIDE, {"banks": 4, "bank_ports": 1, "ports": 2}, id="wide", marks=pytest.mark.slow),
    pytest.param(WIDE, {"banks": 4, "bank_ports": 2}, id="wide-two-ported", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("clients", "fields"), CONFIGS)
def test_proved(clients, fields):
    dut = RegisterFile(**{"width": 1, "registers": 8, "clients": clients, **fields})
    result = prove(RegisterContract(dut), induction=4)
    assert result.status == "proved", result


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "failing"),
    [
        (
            "free = ~_any(go for go, _ in port) & ~(access.mask & taken).any()",
            "free = ~_any(go for go, _ in port)",
            "RegisterFile: one access of a bank at a time",
        ),
        (
            "free = ~_any(go for go, _ in port) & ~(access.mask & taken).any()",
            "free = ~(access.mask & taken).any()",
            "RegisterFile: one read of a port at a time",
        ),
        (
            "yield other, *stages[ahead - 1]",
            "yield other, *stages[ahead]",
            "RegisterFile: promised writes of a clock do not meet",
        ),
        (
            "return (self.high + (bank < self.low))[:len(self.high)]",
            "return self.high",
            "a read gives the word that was written last",
        ),
        (
            "low.eq(_chosen([(go, access.low) for go, access in accesses]))",
            "low.eq(accesses[0][1].low)",
            "a read gives the word that was written last",
        ),
        ("        if single:\n            taken = written\n", "", "RegisterFile: one access of a bank at a time"),
    ],
)
def test_defects_found(old, new, failing):
    clients = Client(writes=True), Client(width=2, latency=3), Client(latency=1)
    result = prove(
        RegisterContract(planted(module, old, new).RegisterFile(1, 8, clients, banks=4, bank_ports=1, ports=2))
    )
    assert result.status == "counterexample", result
    assert failing in {place.rpartition(" (")[0] for place in result.failing}
