"""AttAcc's controllers and attention layers: the public simulator's cycles, counts, issue logs and traces."""

import hashlib
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.memory import load_memory
from bankside.models.attacc import PLACEMENTS, AttentionLayer, LayerTimer
from bankside.models.attacc.layer import read_interval
from bankside.models.memory import pim_queue_kernel as kernel
from bankside.models.memory.pim_queue import OPERATIONS, QueueController, Requests, read_trace, trace_lines
from bankside.models.program import Program

SIMULATOR = "attacc-simulator"
TIMERS = {limit: LayerTimer(quirks=SIMULATOR, power_limit=limit) for limit in (True, False)}
MACS = {"bank": "MAC_AB", "bank-group": "MAC_SB", "buffer": "MAC_PB"}

# Measured with the AttAcc simulator: tokens, heads of a stack, placement, power limit; cycles, MACs, starts of the softmax
# unit, moves to GEMV buffers, moves to softmax buffers, writes of GEMV buffers.
MEASURED = [
    (129, 1, "bank", True, 297, 36, 1, 8, 24, 8),
    (129, 13, "bank", True, 297, 468, 13, 104, 312, 104),
    (129, 20, "bank", True, 553, 952, 20, 160, 672, 160),
    (129, 39, "bank", True, 853, 1420, 39, 312, 936, 312),
    (256, 1, "bank", True, 465, 64, 1, 8, 24, 8),
    (512, 52, "bank", True, 3711, 7440, 52, 832, 1856, 416),
    (513, 7, "bank", False, 798, 924, 7, 168, 280, 56),
    (513, 20, "bank", False, 1601, 3448, 20, 480, 992, 158),
    (513, 26, "bank", True, 2099, 3844, 26, 624, 1136, 206),
    (513, 154, "bank", True, 11423, 20740, 154, 3696, 6256, 1222),
    (2048, 1, "bank", False, 2818, 512, 1, 64, 80, 8),
    (2048, 39, "bank", True, 12110, 19984, 39, 2496, 3120, 312),
    (2049, 29, "bank", True, 8053, 15754, 29, 2086, 2600, 227),
    (4097, 7, "bank", True, 8208, 7196, 7, 952, 1064, 56),
    (4097, 20, "bank", True, 16529, 26744, 20, 2713, 3232, 145),
    (8193, 1, "bank", True, 16764, 2052, 1, 264, 280, 8),
    (512, 1, "bank-group", True, 3142, 512, 1, 16, 32, 8),
    (513, 20, "bank-group", True, 6955, 13744, 20, 480, 992, 158),
    (2049, 3, "bank-group", True, 13519, 6192, 3, 216, 264, 24),
    (512, 1, "buffer", True, 8765, 4096, 1, 16, 24, 8),
    (513, 20, "buffer", True, 18023, 106928, 20, 338, 596, 145),
    (1024, 1, "buffer", True, 17981, 8192, 1, 32, 40, 8),
]


@pytest.mark.parametrize("row", MEASURED, ids=lambda row: "-".join(map(str, row[:4])))
def test_layers_of_the_simulator(row):
    tokens, heads, placement, limit, cycles, *counts = row
    timing = TIMERS[limit].time(AttentionLayer(tokens, heads, placement, quirks=SIMULATOR))
    names = (MACS[placement], "SFM", "MV_GB", "MV_SB", "WR_GB")
    assert (timing.cycles, *(timing.commands[name] for name in names)) == (cycles, *counts)
    assert timing.time_ns == pytest.approx(cycles * 0.769)


# What the simulator issues to channel 0 for 512 tokens and one head: command, first and last cycle, their distance.
ONE_HEAD = [
    ("WR_GB", 1, 29, 4),
    ("ACTAB", 1, 1, 1),
    ("MAC_AB", 30, 216, 6),
    ("MV_SB", 217, 231, 2),
    ("PREA", 224, 224, 1),
    ("ACTAB", 243, 243, 1),
    ("MAC_AB", 262, 448, 6),
    ("MV_SB", 449, 449, 1),
    ("SFM", 450, 450, 1),
    ("MV_SB", 452, 464, 2),
    ("PREA", 456, 456, 1),
    ("MV_GB", 466, 496, 2),
    ("ACTAB", 475, 475, 1),
    ("MAC_AB", 497, 683, 6),
    ("MV_SB", 684, 698, 2),
    ("PREA", 691, 691, 1),
    ("ACTAB", 710, 710, 1),
    ("MAC_AB", 729, 915, 6),
    ("MV_SB", 916, 930, 2),
]


def log_of(heads):
    controller = TIMERS[True].controller
    return [
        issue
        for issue in controller.issues([AttentionLayer(512, heads, quirks=SIMULATOR).requests()])
        if issue.channel == 0
    ]


def digest(log):
    lines = (f"{i.cycle} {i.command} {' '.join(map(str, i.address.values()))}\n" for i in log)
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:16]


def test_issue_logs_of_the_simulator():
    """Every command of channel 0 with cycle and address: 192 for one head, 386 for two rounds of 16."""
    log = log_of(1)
    expected = sorted(
        (cycle, command) for command, first, last, step in ONE_HEAD for cycle in range(first, last + 1, step)
    )
    assert sorted((i.cycle, i.command) for i in log) == expected
    assert (len(log), digest(log)) == (192, "1af6e8a566b7baca")
    log = log_of(32)
    assert (len(log), digest(log)) == (386, "27791bd09cdd1e36")
    shown = {(i.cycle, i.command): tuple(i.address.values()) for i in log}
    assert shown[20, "MAC_AB"] == (0, 0, 0, 0, 0, 0) and shown[241, "WR_GB"] == (0, 0, 0, 2, 8, 0)
    assert shown[456, "PREA"] == (0, 0, 0, 0, 8, 0) and shown[707, "ACTAB"] == (0, 0, 0, 0, 9, 0)


def test_the_simulators_trace(tmp_path):
    """Line for line what its generator writes, in closed form for the first lines; read back the same requests."""
    layer = AttentionLayer(512, 32, quirks=SIMULATOR)
    path = tmp_path / "layer.trace"
    layer.write_trace(path)
    text = path.read_text()
    lines = text.splitlines()
    assert lines[:17] == [f"PIM_WR_GB 0x{channel << 30:08x}" for channel in range(16)] + ["PIM_WR_GB 0x00000001"]
    assert (len(lines), hashlib.sha256(text.encode()).hexdigest()[:16]) == (6080, "9b6fe866e04ef62f")
    controller = TIMERS[True].controller
    blocks = list(read_trace(path, controller))
    assert "".join(line for block in blocks for line in trace_lines(block, controller)) == text
    assert controller.run(blocks).cycles == TIMERS[True].time(layer).cycles == 1855


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize(
    "tokens, heads, element_bytes, head_dim", [(40, 3, 2, 128), (300, 37, 1, 96), (257, 20, 2, 80)]
)
def test_program_and_requests_are_the_same(placement, tokens, heads, element_bytes, head_dim):
    for quirks in (None, SIMULATOR):
        layer = AttentionLayer(tokens, heads, placement, element_bytes, head_dim, quirks)
        controller = QueueController(quirks=quirks)
        a, b = controller.time(layer.program()), controller.time(layer.requests())
        assert (a.cycles, a.commands, a.requests) == (b.cycles, b.commands, b.requests)


@pytest.mark.parametrize("placement", PLACEMENTS)
@given(
    tokens=st.integers(1, 700),
    heads=st.integers(1, 70),
    element_bytes=st.sampled_from((1, 2)),
    head_dim=st.sampled_from((16, 64, 80, 128)),
)
@settings(max_examples=25)
def test_work_of_a_layer_without_quirks(placement, tokens, heads, element_bytes, head_dim):
    """Each head has its query, K, softmax, probabilities and V; a pair of rounds one access more."""
    commands = TIMERS[True].controller.memory.commands
    timing = QUIET.time(AttentionLayer(tokens, heads, placement, element_bytes, head_dim))
    lanes = 32 // element_bytes
    units, parts = {"bank": (16, 4), "bank-group": (16, 1), "buffer": (2, 1)}[placement]
    groups, columns = -(-tokens // units), -(-head_dim // (parts * lanes))
    steps = -(-groups // 16)
    moves = {"bank": (8, 8), "bank-group": (8, 2), "buffer": (1, 1)}[placement]
    assert timing.commands[MACS[placement]] == heads * 2 * groups * columns + 16 * (heads > 16)
    assert timing.commands["WR_GB"] == heads * columns * parts
    assert timing.commands["SFM"] == heads
    assert timing.commands["MV_GB"] == heads * -(-tokens // (units * lanes)) * (1 if placement == "buffer" else 8)
    assert timing.commands["MV_SB"] == heads * (steps * moves[0] + columns * moves[1])
    assert set(timing.commands) <= commands.keys() and 0 <= timing.row_hits
    assert timing.cycles >= -(-heads // 16) * 2 * groups * columns * (2 if placement == "buffer" else 6)


QUIET = LayerTimer()


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("tokens, heads, queries", [(40, 3, 2), (300, 37, 5), (257, 20, 8)])
def test_queries_share_reads_and_nothing_else(placement, tokens, heads, queries):
    """K and V are read as often as for one query. Queries, softmax, scores, probabilities and results go once each."""
    one, more = (AttentionLayer(tokens, heads, placement, queries=n) for n in (1, queries))
    single, shared = (QUIET.time(layer).commands for layer in (one, more))
    assert shared[MACS[placement]] == single[MACS[placement]]
    for name in ("WR_GB", "SFM", "MV_GB", "MV_SB"):
        assert shared[name] == queries * single[name]
    assert QUIET.time(one).cycles < QUIET.time(more).cycles
    program = QueueController().time(more.program())
    assert (program.cycles, program.commands) == (QUIET.time(more).cycles, shared)


def test_a_slow_unit_paces_its_reads():
    """One head of 16 tokens reads twice for K and twice for V. Each pair takes 32 cycles rather than 6."""
    layer = AttentionLayer(16, 1, "bank", queries=8)
    fast, slow = QueueController(), QueueController(paces={"MAC_AB": 32})
    for controller, least in ((fast, 6), (slow, 32)):
        at = [issue.cycle for issue in controller.issues([layer.requests()]) if issue.command == "MAC_AB"]
        assert len(at) == 4 and at[1] - at[0] == at[3] - at[2] == least
    # A pace below the memory's own changes nothing.
    assert QueueController(paces={"MAC_AB": 5}).time(layer.requests()).cycles == fast.time(layer.requests()).cycles
    assert read_interval(load_memory("hbm3-5.2"), "bank") == 4 and read_interval(load_memory("hbm3-5.2"), "buffer") == 2


# The queues ------------------------------------------------------------------------------------------------------------

REQUEST = st.tuples(
    st.sampled_from(
        ["MAC_AB", "MAC_AB", "MAC_SB", "MAC_PB", "WR_GB", "MV_SB", "MV_GB", "SFM", "SET_HEAD", "BARRIER", "RD", "WR"]
    ),
    st.sampled_from([0xFFFF, 0xFFFF, 1, 0x00F0, 0x8001]),
    st.integers(0, 3),
    st.integers(0, 2),
    st.integers(1, 40),
)


def program_of(requests, quirks=None):
    """In the simulator, MACs of different kinds may close each other's rows for ever: there only one kind."""
    p = Program()
    kind = next((op for op, *_ in requests if op.startswith("MAC")), "MAC_AB")
    for op, mask, bank, row, count in requests:
        operands = {} if op == "BARRIER" else {"bank": bank, "row": row, "rank": bank % 2}
        if quirks and op.startswith("MAC"):
            op = kind
        if quirks and op in ("RD", "WR"):
            continue
        with p.loop(count if op.startswith(("MAC", "BARRIER")) else 1 + count % 9) as i:
            if op.startswith("MAC") and count <= 32:
                operands["column"] = i
            p.command(op, mask=mask, **operands)
    return p


@given(st.lists(REQUEST, min_size=1, max_size=12), st.sampled_from([None, SIMULATOR]))
@settings(max_examples=60)
def test_runs_and_classes_change_nothing(requests, quirks):
    """Equal requests as segments, cycles skipped, channels together: the log of requests one by one has the same commands,
    and a channel gives the same whether or not it is alone in its class."""
    controller = CONTROLLERS[quirks]
    program = program_of(requests, quirks)
    blocks = list(controller.requests(program))
    timing = controller.run(blocks)
    log = list(controller.issues(blocks))
    counted = {}
    for issue in log:
        counted[issue.command] = counted.get(issue.command, 0) + 1
    assert counted == timing.commands and timing.requests == sum(block.total for block in blocks)
    assert not log or max(i.cycle for i in log) <= timing.cycles
    one_by_one = [Requests(*(np.array([x]) for x in row)) for block in blocks for row in zip(*block, strict=True)]
    again = controller.run(one_by_one)
    assert (again.cycles, again.commands) == (timing.cycles, timing.commands)
    # At most one command of each bus a cycle and channel.
    buses = [(i.cycle, i.channel, controller.memory.commands[i.command].kind) for i in log]
    assert len(set(buses)) == len(buses)


@given(st.lists(REQUEST, min_size=1, max_size=8))
@settings(max_examples=30)
def test_queues_are_never_overfull(requests):
    controller = CONTROLLERS[None]
    controller._reset(separate=False)
    for block in controller.requests(program_of(requests)):
        for row in zip(*block, strict=True):
            controller._advance(Requests(*(np.array([x]) for x in row)), False, np.zeros((0, 4), np.int64))
            classes = controller.host[kernel.CLASSES]
            held = controller.state[:classes, [2, 5, 8, 11]]
            assert (held >= 0).all() and (held <= kernel.CAPACITY).all()
            assert np.bitwise_or.reduce(controller.members[:classes]) == 0xFFFF
            assert sum(int(m).bit_count() for m in controller.members[:classes]) == 16


CONTROLLERS = {quirks: QueueController(quirks=quirks) for quirks in (None, SIMULATOR)}


def test_interpreted_is_compiled():
    """The same in an interpreter without compiled code."""
    code = (
        "from bankside.models.attacc import *\n"
        "for q in (None, 'attacc-simulator'):\n"
        "    timer = LayerTimer(quirks=q)\n"
        "    for a in ((200, 20, 'bank'), (90, 3, 'bank-group'), (33, 17, 'buffer')):\n"
        "        t = timer.time(AttentionLayer(*a, quirks=q))\n"
        "        print(t.cycles, t.commands)\n"
    )
    import os

    texts = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **more}
        ).stdout
        for more in ({}, {"BANKSIDE_INTERPRETED": "1"})
    ]
    assert texts[0] == texts[1] and texts[0].count("\n") == 6


def test_a_barrier_holds_accesses_and_not_rows():
    """Behind the barrier the row of other requests is opened early; their access comes after the last one before it."""
    p = Program()
    p.command("MAC_SB", bank=0)
    p.command("BARRIER")
    p.command("MAC_SB", bank=1)
    log = [i for i in CONTROLLERS[None].issues(CONTROLLERS[None].requests(p)) if i.channel == 0]
    # Activations 2 cycles apart, MACs 6.
    assert [(i.cycle, i.command) for i in log] == [(1, "ACTSB"), (3, "ACTSB"), (20, "MAC_SB"), (26, "MAC_SB")]


def test_quirk_of_buffer_commands():
    """A move out of a bank of which a row is read: at once, beside the activation; in the simulator behind the last MAC
    that hits the row, though the move needs none. From another bank at once in both."""
    for group, expected in ((0, {None: 1, SIMULATOR: 33}), (1, {None: 1, SIMULATOR: 1})):
        p = Program()
        with p.loop(3) as i:
            p.command("MAC_AB", column=i)
        p.command("MV_SB", bank_group=group)
        for quirks, controller in CONTROLLERS.items():
            log = {i.command: i.cycle for i in controller.issues(controller.requests(p)) if i.channel == 0}
            assert log == {"ACTAB": 1, "MAC_AB": 32, "MV_SB": expected[quirks]}


def test_refresh():
    """Each interval both pseudo channels, as soon as the row may be closed."""
    p = Program()
    with p.loop(500) as row, p.loop(32) as column:
        p.command("MAC_AB", row=row, column=column)
    with_, without = QueueController(quirks=SIMULATOR), QueueController(quirks=SIMULATOR, refresh=False)
    a, b = with_.time(p), without.time(p)
    assert b.cycles == 1 + 19 + 31 * 6 + 499 * 232 and "REFAB" not in b.commands
    times = a.commands["REFAB"] // 32
    # A precharge and an activation anyway; closing a row for it costs 438 cycles more, in the simulator.
    assert a.commands["REFAB"] == 32 * times and times == a.cycles // 5070 and a.cycles - b.cycles == 438 * times


def test_reads_and_writes():
    """Plain accesses of a trace: latency of a read, a read answered from a queued write."""
    controller = CONTROLLERS[SIMULATOR]
    p = Program()
    p.command("RD", mask=1)
    timing = controller.time(p)
    assert (timing.cycles, timing.commands) == (1 + 19 + 19 + 2, {"ACT": 1, "RD": 1})
    p = Program()
    p.command("WR", mask=1)
    p.command("RD", mask=1)
    assert controller.time(p).commands == {"ACT": 1, "WR": 1}


# Bad input -------------------------------------------------------------------------------------------------------------

BAD_TRACES = {
    "unknown": (
        b"PIM_MAC_AB 0x0\nPIM_MAC_AC 0x0\n",
        r"t.trace:2: unknown operation 'PIM_MAC_AC'; did you mean 'PIM_MAC_AB'\?",
    ),
    "no address": (b"PIM_SFM\n", r"t.trace:1: PIM_SFM has an address, not 0 operands$"),
    "two addresses": (b"\n# comment\nLD 0x0 0x20\n", r"t.trace:3: LD has an address, not 2 operands$"),
    "no number": (b"ST 0xg\n", r"t.trace:1: the address must be a number, not '0xg'$"),
    "beyond": (
        b"PIM_BARRIER 0x0\nST 0x400000000\n",
        r"t.trace:2: address 0x400000000 is beyond the device \(0x400000000 bytes\)$",
    ),
    "negative": (b"ST -32\n", r"t.trace:1: address -32 is beyond the device"),
    "huge": (b"ST 0x" + b"f" * 40 + b"\n", r"t.trace:1: address '0xf.* is beyond the device"),
    "binary": (bytes(range(128, 256)) * 20, r"t.trace:1: unknown operation "),
    "long line": (b"x" * 3_000_000, r"t.trace:1: more than 4096 bytes in a line; not a trace$"),
    "empty": (b"", r"t.trace: no request in the file; lines of an AttAcc trace are like PIM_MAC_AB 0x00000000$"),
    "comments": (b"# nothing\n\n", r"t.trace: no request in the file"),
    "cut off": (b"PIM_SFM 0x0\nPIM_BAR", r"t.trace:2: unknown operation 'PIM_BAR'"),
}


@pytest.mark.parametrize("name", BAD_TRACES)
def test_bad_traces_are_told(tmp_path, name):
    text, message = BAD_TRACES[name]
    path = tmp_path / "t.trace"
    path.write_bytes(text)
    with pytest.raises(ConfigError, match=message):
        list(read_trace(path, CONTROLLERS[None]))


def test_a_trace_in_pieces(tmp_path, monkeypatch):
    """Blocks, comments, carriage returns and a missing end of line change nothing."""
    from bankside.models.memory import lines

    layer = AttentionLayer(100, 20)
    path, changed = tmp_path / "t.trace", tmp_path / "u.trace"
    layer.write_trace(path)
    changed.write_bytes(b"# layer\r\n\r\n" + path.read_bytes().replace(b"\n", b"\r\n")[:-2])
    controller = CONTROLLERS[None]
    expected = controller.run(read_trace(path, controller))
    monkeypatch.setattr(lines, "BLOCK", 500)
    assert controller.run(read_trace(changed, controller)) == expected == controller.time(layer.requests())


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((0, 1), r"^tokens must be 1 to 1073741824, not 0$"),
        ((1, 0), r"^heads per stack must be 1 to 1073741824, not 0$"),
        ((1, 1, "bnk"), r"^unknown placement 'bnk'; did you mean 'bank'\?"),
        ((1, 1, "bank", 4), r"^bytes of an element must be 1 or 2, not 4$"),
        ((1, 1, "bank", 2, -1), r"^head dimension must be 1 to 1073741824, not -1$"),
        (
            (1, 1, "bank", 2, 128, "aim-simulator"),
            r"^unknown quirks 'aim-simulator'; did you mean 'attacc-simulator'\?",
        ),
        (
            (1 << 22, 1),
            r"^hbm3-5.2: K of 4194304 tokens and 1 heads of a channel needs 16384 rows; half of a bank has 8192$",
        ),
    ],
)
def test_bad_layers_are_told(arguments, message):
    with pytest.raises(ConfigError, match=message):
        AttentionLayer(*arguments)


def test_other_memories_and_programs_are_refused():
    with pytest.raises(ConfigError, match=r"^gddr6-aim: not an AttAcc device: no command MAC_AB$"):
        QueueController("gddr6-aim")
    with pytest.raises(ConfigError, match=r"^hbm3-5.2: unknown quirks 'attacc'; did you mean 'attacc-simulator'\?"):
        QueueController(quirks="attacc")
    controller = CONTROLLERS[None]
    for operands, message in (
        ({"op": "MAC"}, r"unknown request 'MAC'"),
        ({"op": "MAC_AB", "rows": 1}, r"unknown operand 'rows'"),
        ({"op": "MAC_AB", "row": 16384}, r"MAC_AB: row must be 0 to 16383, not 16384$"),
        ({"op": "MAC_AB", "mask": 1 << 16}, r"mask beyond 0xffff$"),
    ):
        p = Program()
        p.command(operands.pop("op"), **operands)
        with pytest.raises(ConfigError, match=message):
            controller.time(p)
    p = Program()
    p.wait(3)
    with pytest.raises(ConfigError, match=r"cannot wait$"):
        controller.time(p)


def test_operations_have_commands():
    assert {name for name in OPERATIONS.values() if name} <= CONTROLLERS[None].memory.commands.keys()


# The command -----------------------------------------------------------------------------------------------------------


def test_layer_from_the_command_line(capsys, tmp_path):
    import json

    from bankside.shell import cli

    layer = ["eval", "attacc", "--layer", "--tokens", "513", "--heads-per-stack", "20"]
    assert cli.main([*layer, "--no-power-limit", "--json", "--trace", str(tmp_path / "t")]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["cycles"], result["time_ns"], result["commands"]["WR_GB"]) == (1601, 1231.169, 158)
    assert (tmp_path / "t").read_text().startswith("PIM_WR_GB 0x00000000\n")
    assert cli.main([*layer, "--placement", "bank-group", "--bytes", "1", "--quirks", "none"]) == 0
    assert "placement bank-group\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["attacc"], "attacc needs --layer"),
        (["attacc", "--layer", "--tokens", "5"], "--layer needs --heads-per-stack"),
        (
            ["attacc", "--layer", "--tokens", "0", "--heads-per-stack", "1"],
            "argument --tokens: must be at least 1, not 0",
        ),
        (["attacc", "--layer", "--tokens", "5", "--heads-per-stack", "1", "--model", "m"], "a layer has no --model: "),
        (["attacc", "--layer", "--tokens", "5", "--heads-per-stack", "1", "--quirks", "no"], "unknown quirks 'no'"),
        (["gpu-only", "--layer", "--tokens", "5", "--heads-per-stack", "1"], "--layer: only attacc has single layers"),
        (["gpu-only", "--placement", "bank", "--model", "llama-3-70b"], "--placement needs --layer"),
    ],
)
def test_wrong_layers_from_the_command_line(capsys, arguments, message):
    from bankside.shell import cli

    assert cli.main(["eval", *arguments]) == 2
    assert capsys.readouterr().err.startswith(f"bankside: {message}")
