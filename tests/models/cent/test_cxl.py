"""CENT's flits and fabric by hand-computed cases: places of every field, packing, receivers, transfers, deadlocks."""

import numpy as np
import pytest

from bankside.constraints.cent.cxl_link import CxlLinkConfig, MessageClass
from bankside.constraints.cent.cxl_port import PRESETS, CentCxlPortConfig, PortOp
from bankside.constraints.cent.cxl_switch import CentCxlSwitchConfig
from bankside.constraints.core.errors import ConfigError
from bankside.models.cent.cxl import Command, FabricModel, FlitCodec, Flits, Message

RECV = Command(PortOp.RECV_CXL)
CENT = PRESETS["cent"]


def test_places_of_a_flit():
    """A write at the second position, an acknowledgement at the first, credits: every byte of the flit by hand."""
    config = CxlLinkConfig(devices=3, tag_bits=4, address_bits=5)  # node 2 bits, header 1+1+2+4+4+2+5 = 19 bits
    data = np.arange(64, dtype=np.uint8)
    word = config.data_layout.word(
        half=1,
        last=0,
        source=2,
        targets=0b1010,
        tag=9,
        region=1,
        address=21,
        data=int.from_bytes(data.tobytes(), "little"),
    )
    header = 1 | 0 << 1 | 2 << 2 | 0b1010 << 4 | 9 << 8 | 1 << 12 | 21 << 14
    codec = FlitCodec(config)
    messages = np.zeros((1, 3, config.data_layout.payload_bytes), np.uint8)
    messages[0, 1] = config.data_layout.rows([word])[0]
    acks = np.zeros((1, 3, 1), np.uint8)
    acks[0, 0] = 3 | 1 << 2 | 5 << 4
    flits = Flits(
        np.array([[0, MessageClass.RWD + 1, 0]]),
        messages,
        np.array([[True, False, False]]),
        acks,
        np.array([[1, 15, 0, 7]]),
    )
    wanted = bytearray(256)
    wanted[2:6] = ((1 | (3 | 1 << 2 | 5 << 4) << 1) << 21).to_bytes(4, "little")  # behind kind and header
    wanted[80:84] = (2 | header << 2).to_bytes(4, "little")
    wanted[96:160] = data.tobytes()
    wanted[240:242] = (1 | 15 << 4 | 7 << 12).to_bytes(2, "little")
    rows = codec.encode(flits)
    assert rows.tobytes() == bytes(wanted)
    back = codec.decode(rows)
    assert all(np.array_equal(getattr(back, name), getattr(flits, name)) for name in vars(flits))
    assert np.array_equal(back.of(MessageClass.RWD), messages[0, 1:2]) and back.flit_of(MessageClass.NDR).tolist() == [
        0
    ]


def test_bits_of_no_field_are_lost():
    """So a comparison of encoded flits sees them."""
    codec = FlitCodec(CxlLinkConfig())
    row = np.zeros((1, 256), np.uint8)
    row[0, 250] = 1
    assert not np.array_equal(codec.encode(codec.decode(row)), row)


def test_headers_that_do_not_fit():
    with pytest.raises(ValueError, match="a header has 112 bits, but devices, tag_bits and address_bits need 114"):
        CxlLinkConfig(address_bits=40)
    with pytest.raises(ValueError, match="slots must be at most 32 with 5 link.address_bits, not 2048"):
        CentCxlPortConfig(link=CxlLinkConfig(address_bits=5))
    with pytest.raises(ValueError, match="tags must be at most 4"):
        CentCxlPortConfig(link=CxlLinkConfig(tag_bits=2))
    with pytest.raises(ValueError, match="joined must be at most port.link.devices"):
        CentCxlSwitchConfig(port=CentCxlPortConfig(link=CxlLinkConfig(devices=2)), joined=3)


@pytest.mark.parametrize(("most", "messages", "flits"), [(2, 256, 86), (1, 512, 171)])
def test_messages_of_a_vector(most, messages, flits):
    """16 KB: 192 of the 256 bytes of a flit with two slots in a message, half of that with one."""
    model = FabricModel(CENT.model_copy(update={"slots_per_message": most}), 2)
    sent = model.messages(0, Command(PortOp.SEND_CXL, 512, 0, 1024, 1), 3)
    assert len(sent) == messages and FlitCodec(CENT.link).fewest(messages) == flits
    assert [one.last for one in sent] == [False] * (messages - 1) + [True]
    assert {one.targets for one in sent} == {(2,)}
    assert [one.address for one in sent[:3]] == [1024, 1024 + most, 1024 + 2 * most]


def test_receivers():
    """A broadcast reaches the devices behind the sender; their numbers do not wrap."""
    model = FabricModel(CENT, 4)
    assert model.targets(1, Command(PortOp.BCAST_CXL, device=2)) == (3, 4)
    assert model.targets(30, Command(PortOp.BCAST_CXL, device=255)) == (32,)
    assert model.targets(31, Command(PortOp.BCAST_CXL, device=5)) == ()
    assert model.targets(2, Command(PortOp.SEND_CXL, device=0)) == (1,)
    assert model.targets(2, Command(PortOp.SEND_CXL, device=32)) == ()


def test_gather_and_forward():
    """Two devices send to a third one; it waits for both and sends the sum of their places on; odd slots, a wrap."""
    model = FabricModel(CENT, 3)
    model.buffers[:] = np.random.default_rng(1).integers(0, 256, model.buffers.shape, np.uint8)
    first, second = model.buffers[0, 2047].copy(), model.buffers[1, [5, 6, 7]].copy()
    done = model.run(
        [
            [Command(PortOp.SEND_CXL, 1, 2047, 100, 2)],
            [Command(PortOp.SEND_CXL, 3, 5, 2046, 2), RECV],
            [RECV, RECV, Command(PortOp.SEND_CXL, 1, 100, 9, 1)],
        ]
    )
    assert np.array_equal(model.buffers[2, 100], first) and np.array_equal(model.buffers[2, [2046, 2047, 0]], second)
    assert np.array_equal(model.buffers[1, 9], first)
    assert done.received == [0, 1, 2] and done.acknowledged == [[0], [0], [0]]
    assert [len(acks) for acks in done.acks] == [0, 0, 1, 3]


def test_a_transfer_that_nobody_sends():
    with pytest.raises(ConfigError, match="command 0 of device 1 waits for a transfer that nobody sends"):
        FabricModel(CENT, 2).run([[], [RECV]])
    with pytest.raises(ConfigError, match="goes to device 2, but there are 2"):
        FabricModel(CENT, 2).run([[Command(PortOp.SEND_CXL, 1, device=2)], []])


def test_requests_of_the_host():
    """A write to both devices, reads of a slot and of memory; a last write of the host is no transfer."""
    model = FabricModel(CENT, 2)
    data = np.arange(64, dtype=np.uint8)
    model.run(
        [[], []],
        [
            Message(MessageClass.RWD, (1, 2), 8, 1, last=True, data=data),
            Message(MessageClass.RWD, (1,), 77, 2, region=1, data=data),
        ],
    )
    done = model.run(
        [[], []],
        [
            Message(MessageClass.REQ, (2,), 9, 5, half=True),
            Message(MessageClass.REQ, (1,), 77, 6, region=1),
            Message(MessageClass.REQ, (1,), 78, 7, region=1),
        ],
    )
    slot, (word, nothing) = done.sent[2], done.sent[1]
    assert np.array_equal(slot[0].data[:32], data[32:]) and not slot[0].data[32:].any() and slot[0].tag == 5
    assert np.array_equal(word.data, data) and not nothing.data.any()
    with pytest.raises(ConfigError, match="nobody sends"):
        model.run([[RECV], []])
