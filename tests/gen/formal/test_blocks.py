# amaranth: UnusedElaboratable=no
"""Every stream block is proved for all time, and every proof finds the defects that are planted in its block."""

from pathlib import Path

import pytest
from amaranth.lib import data

from bankside.gen.blocks import ReplayBuffer, StreamFIFO, StreamRegister
from bankside.gen.blocks import stream as blocks
from bankside.gen.formal import ReplayContract, StreamContract, prove
from tests.planting import planted

SOURCE = Path(blocks.__file__)
QUEUE_COVERS = {
    "i transfers an item",
    "o transfers an item",
    "o is stalled",
    "the queue is full",
    "the followed item is delivered",
}


def messages(places):
    """Without the places in the source."""
    return {place.rpartition(" (")[0] for place in places}


@pytest.mark.parametrize(
    "dut",
    [
        pytest.param(StreamRegister(4), id="register"),
        pytest.param(StreamRegister(data.StructLayout({"number": 3, "last": 1})), id="register-struct"),
        pytest.param(StreamFIFO(4, 1), id="fifo1"),
        pytest.param(StreamFIFO(4, 2), id="fifo2"),
        pytest.param(StreamFIFO(4, 3), id="fifo3"),
        pytest.param(StreamFIFO(4, 4), id="fifo4"),
        pytest.param(StreamFIFO(4, 4, output_register=False), id="fifo4-bare"),
        pytest.param(StreamFIFO(4, 5), id="fifo5"),
        pytest.param(StreamFIFO(4, 5, output_register=False), id="fifo5-bare"),
    ],
)
def test_queue_proved(dut):
    result = prove(StreamContract(dut))
    assert result.status == "proved", result
    assert result.depth >= 20
    assert messages(result.reached) == QUEUE_COVERS
    assert not result.unreached and not result.failing and result.trace is None


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_replay_proved(depth):
    result = prove(ReplayContract(ReplayBuffer(4, depth)))
    assert result.status == "proved", result
    assert result.depth >= 20
    assert messages(result.reached) == {
        "i transfers an item",
        "the buffer is full",
        "an entry is accepted while another is released",
        "an entry is read",
        "an entry is read in the cycle of a release",
    }


REGISTER = ("StreamRegister", lambda unit: StreamContract(unit(4)))
FIFO1 = ("StreamFIFO", lambda unit: StreamContract(unit(4, 1)))
FIFO3 = ("StreamFIFO", lambda unit: StreamContract(unit(4, 3)))
FIFO5 = ("StreamFIFO", lambda unit: StreamContract(unit(4, 5)))
BARE5 = ("StreamFIFO", lambda unit: StreamContract(unit(4, 5, output_register=False)))
REPLAY1 = ("ReplayBuffer", lambda unit: ReplayContract(unit(4, 1)))
REPLAY3 = ("ReplayBuffer", lambda unit: ReplayContract(unit(4, 3)))


@pytest.mark.parametrize(
    "block, old, new, failing",
    [
        pytest.param(
            REGISTER,
            "self.i.ready.eq(~spare_valid)",
            "self.i.ready.eq(1)",
            "the probe counts the items held",
            id="register-drops-when-full",
        ),
        pytest.param(
            REGISTER,
            "Mux(spare_valid, spare, self.i.payload)",
            "self.i.payload",
            "the k-th item offered is the k-th accepted",
            id="register-forgets-spare",
        ),
        pytest.param(
            REGISTER,
            "            m.d.sync += spare_valid.eq(0)\n",
            "",
            "the probe counts the items held",
            id="register-duplicates",
        ),
        pytest.param(
            REGISTER,
            "with m.Elif(self.i.valid & self.i.ready):",
            "with m.Else():",
            "an item is accepted whenever fewer than depth are held",
            id="register-spares-nothing",
        ),
        pytest.param(
            FIFO1,
            "m.d.comb += self.i.ready.eq(self.o.ready | ~self.o.valid)",
            "m.d.comb += self.i.ready.eq(~self.o.valid)",
            "an item is accepted in every cycle without stalls",
            id="fifo1-half-throughput",
        ),
        pytest.param(
            FIFO3,
            "3: [StreamRegister, _Stage]",
            "3: [StreamRegister, StreamRegister]",
            "no more than depth items are held",
            id="fifo3-too-large",
        ),
        pytest.param(
            FIFO5,
            "self.level != self._depth)",
            "self.level != self._depth - 1)",
            "an item is accepted whenever fewer than depth are held",
            id="fifo-too-small",
        ),
        pytest.param(
            FIFO5,
            "self.level != self._depth)",
            "1)",
            "StreamFIFO: no row is read and written in one cycle",
            id="fifo-drops-when-full",
        ),
        pytest.param(
            FIFO5,
            "take_fetched.eq(self.o.ready | ~self.o.valid)",
            "take_fetched.eq(1)",
            "o is stable while stalled",
            id="fifo-changes-while-stalled",
        ),
        pytest.param(
            FIFO5,
            "take_fetched.eq(self.o.ready | ~self.o.valid)",
            "take_fetched.eq(self.o.ready)",
            "an item is offered after latency cycles at the latest",
            id="fifo-waits-for-ready",
        ),
        pytest.param(
            FIFO5,
            "fetch.eq((stored != 0) & (~fetched | take_fetched))",
            "fetch.eq((stored != 0) & ~fetched)",
            "an item is offered after latency cycles at the latest",
            id="fifo-bubble",
        ),
        pytest.param(
            FIFO5,
            "fetch.eq((stored != 0) & (~fetched | take_fetched))",
            "fetch.eq(stored != 0)",
            "the probe counts the items held",
            id="fifo-loses",
        ),
        pytest.param(
            FIFO5,
            "return Mux(address == rows - 1, 0, address + 1)",
            "return address + 1",
            "StreamFIFO: the rows in use are those from the read to the write address",
            id="fifo-no-wrap",
        ),
        pytest.param(
            BARE5,
            "take_fetched.eq(self.o.ready)",
            "take_fetched.eq(1)",
            "o is stable while stalled",
            id="bare-drops-while-stalled",
        ),
        pytest.param(
            BARE5,
            "comb += self.o.payload.eq(read_port.data)",
            "comb += self.o.payload.eq(self.i.payload)",
            "the k-th item offered is the k-th accepted",
            id="bare-passes-through",
        ),
        pytest.param(
            REPLAY1,
            "if self._depth == 1:",
            "if self._depth < 1:",
            "an entry is accepted while the only one is released",
            id="replay1-bubble",
        ),
        pytest.param(
            REPLAY1,
            "return max(2, self._depth)",
            "return max(1, self._depth)",
            "ReplayBuffer: no entry present is overwritten while it is read",
            id="replay1-overwrites",
        ),
        pytest.param(
            REPLAY3,
            "self.available != self._depth)",
            "1)",
            "ReplayBuffer: no entry present is overwritten while it is read",
            id="replay-overwrites",
        ),
        pytest.param(
            REPLAY3,
            "pop.eq(self.release & (self.available != 0))",
            "pop.eq(self.release)",
            "available counts the entries present",
            id="replay-releases-nothing",
        ),
        pytest.param(
            REPLAY3,
            "read_port.en.eq(self.read)",
            "read_port.en.eq(1)",
            "data is the entry at the position read",
            id="replay-reads-always",
        ),
    ],
)
def test_planted_defect_found(block, old, new, failing, tmp_path):
    name, contract = block
    result = prove(contract(getattr(planted(blocks, old, new), name)), trace_dir=tmp_path)
    assert result.status == "counterexample", result
    assert failing in messages(result.failing)
    assert not result
    assert result.trace.parent == tmp_path and result.trace.stat().st_size
