"""Maps of PAM's tiers, the interface's functional model and its order of commands, and the modelled CPU path."""

import numpy as np
import pytest
from pydantic import ValidationError

from bankside.constraints.core.errors import ConfigError
from bankside.constraints.memory import load_memory
from bankside.constraints.pam.cpu_path import cpu_path
from bankside.constraints.pam.interface import PRESETS, SIDES, MemorySide, PamInterfaceConfig
from bankside.constraints.pam.layout import TIERS
from bankside.constraints.pam.pu import BEAT_DTYPE
from bankside.constraints.pam.pu import PRESETS as PU
from bankside.models.pam.interface import Image, SchedulerModel, Tokens, replay, transfer

every_tier = pytest.mark.parametrize("tier", TIERS.values(), ids=TIERS)


# Maps ------------------------------------------------------------------------------------------------------------------


@every_tier
def test_organisation_is_that_of_the_memory_file(tier):
    memory = load_memory(tier.memory)
    assert (tier.channels, tier.rows, tier.columns, tier.access_bytes) == (
        memory.channels,
        memory.rows,
        memory.columns,
        memory.column_bytes,
    )
    assert tier.groups * tier.banks == np.prod(list(memory.levels.values()))
    # Table 1 of PAM: 16 GB a stack, 32 GB a DIMM, 64 channels of 256 GB.
    want = {"hbm": 16 << 30, "ddr": 32 << 30, "ssd": 64 * (256 << 30)}[tier.name]
    assert tier.tokens_of_device(512) * 512 == want


@every_tier
def test_no_two_bytes_share_a_place_and_every_place_is_used(tier):
    """All tokens of a corner of a bank group: distinct addresses, which fill whole tiles without a hole."""
    count = tier.banks * tier.tile_tokens * tier.interleave * 2
    accesses = tier.accesses(0, 0, np.arange(count), 512)
    address = tier.byte_address(accesses)
    assert len(np.unique(address)) == address.size == count * 512 // tier.access_bytes
    for bank in range(tier.banks):
        mine = accesses[accesses["bank"] == bank]
        for part in range(tier.parts()):
            rows = mine[(mine["row"] >= part * tier.region_rows()) & (mine["row"] < (part + 1) * tier.region_rows())]
            linear = np.sort((rows["row"] - part * tier.region_rows()) * tier.columns + rows["column"])
            assert (linear == np.arange(len(linear))).all()
    place = tier.place(np.arange(count))
    assert (tier.slot(place.bank, place.index) == np.arange(count)).all()


@pytest.mark.parametrize("name", ["hbm", "ddr"])
def test_tokens_lie_in_the_order_in_which_the_processing_unit_streams_them(name):
    tier, unit = TIERS[name], PU[f"pam-{name}"]
    chunks = 128 // unit.lanes
    index = np.arange(3 * unit.tile_tokens + 1)[:, None]
    for value in (0, 1):
        beats = np.zeros((len(index), chunks), BEAT_DTYPE)
        beats["value"], beats["tile"], beats["token"] = value, index // unit.tile_tokens, index
        beats["chunk"] = np.arange(chunks)
        row, column = tier.position(index, value * chunks + np.arange(chunks), 512)
        assert (unit.address(beats, 128) == (row - value * tier.region_rows()) * tier.columns + column).all()


def test_same_row_and_column_in_every_bank_of_a_group():
    """PAM section 6.1: consecutive slots go round the banks, at identical row and column."""
    for name in ("hbm", "ddr"):
        accesses = TIERS[name].accesses(0, 3, np.arange(8, 12), 512)
        assert (accesses["bank"] == np.arange(4)[:, None]).all()
        assert all((accesses[field] == accesses[field][0]).all() for field in ("row", "column"))
    pages = TIERS["ssd"].accesses(5, 0, np.arange(128), 512)  # 32 tokens of 512 bytes to a page of 16 KiB
    assert (pages["bank"][:, 0] == np.repeat(np.arange(4), 32)).all() and (pages["row"] == 0).all()


def test_groups_by_level():
    assert {k: v.tolist() for k, v in TIERS["hbm"].split_group([0, 5, 15]).items()} == {
        "pseudo_channel": [0, 0, 1],
        "rank": [0, 1, 1],
        "bank_group": [0, 1, 3],
    }
    # Chips of a rank share their commands.
    assert len(set(TIERS["ddr"].bank_state(np.arange(8), 2).tolist())) == 1 and TIERS["ddr"].bank_states == 16


@pytest.mark.parametrize(
    "place, message",
    [
        ((0, 16, 0), r"^group of a token in the format 'hbm' must be in 0\.\.15, not 16$"),
        ((0, 0, -1), r"^slot of a token in the format 'hbm' must be in 0\.\.131071, not -1$"),
        ((16, 0, 0), r"^channel of a token in the format 'hbm' must be in 0\.\.15, not 16$"),
    ],
)
def test_places_outside_a_tier(place, message):
    with pytest.raises(ConfigError, match=message):
        TIERS["hbm"].accesses(*place, 512)


@pytest.mark.parametrize(
    "size, message", [(500, "must be a power of two, not 500"), (32, "is too small for the format 'hbm'")]
)
def test_tokens_that_no_map_has(size, message):
    with pytest.raises(ConfigError, match=message):
        TIERS["hbm"].accesses(0, 0, 0, size)


# Configuration ---------------------------------------------------------------------------------------------------------


def test_guards_are_the_times_of_the_memory_files():
    for name, side in SIDES.items():
        memory = load_memory(TIERS[name].memory)
        n = memory.parameters

        def clocks(cycles, period=memory.clock_ps):
            return int(np.ceil(cycles * period / 1e3 - 1e-6))

        if name == "ssd":
            page = clocks(n["nCOL"] * memory.columns)
            assert (side.read_bank_cycles, side.write_recovery_cycles) == (clocks(n["nR"]), page)
            continue
        close = n["nRP"]
        assert side.read_bank_cycles == side.write_bank_cycles == clocks(n["nRC"])
        assert side.read_recovery_cycles == clocks(n.get("nRTPL", n.get("nRTP")) + close)
        assert side.write_recovery_cycles == clocks(n["nCWL"] + n["nBL"] + n["nWR"] + close)
        assert side.activate_cycles == clocks(n["nRRDS"]) and side.window_cycles == clocks(n["nFAW"])


def test_every_pair_is_a_preset():
    assert sorted(PRESETS) == ["ddr-hbm", "ddr-ssd", "hbm-ddr", "hbm-ssd", "ssd-ddr", "ssd-hbm"]
    hbm = SIDES["hbm"].fragments(512)  # K in one row, V in eight
    assert [len(f.accesses) for f in hbm] == [8] + 8 * [1] and hbm[0].part == 0
    assert [len(f.accesses) for f in SIDES["ddr"].fragments(512)] == 8 * [8]
    assert [f.accesses for f in SIDES["ssd"].fragments(512)] == [(0,)]


def test_a_side_by_name_or_with_changes():
    wide = {"format": "ddr", "access_bytes": 64, "port_bytes": 16}
    config = PamInterfaceConfig.model_validate({"source": "ssd", "destination": wide})
    assert config.source == SIDES["ssd"] and config.destination.beats == 4 and config.word_bytes == 32
    for values, message in (
        ({"source": "hmb"}, "'hmb' is no known format \\(valid: hbm, ddr, ssd\\)"),
        ({"source": {"format": "hbm", "banks": 3}}, "banks of 'hbm' must be a power of two, not 3"),
        ({"source": {"format": "hbm", "port_bytes": 64}}, "port_bytes of .hbm. must be at most its access_bytes .32."),
        ({"token_bytes": 48}, "token_bytes must be a power of two, not 48"),
    ):
        with pytest.raises(ValidationError, match=message):
            PamInterfaceConfig.model_validate(values)


# What is moved, and in which order ---------------------------------------------------------------------------------------


def test_transfer_keeps_the_bytes_of_tokens():
    config = PRESETS["hbm-ddr"]
    rng = np.random.default_rng(1)
    data = rng.integers(0, 256, (50, 512), np.uint8)
    tokens = Tokens(
        rng.integers(0, 16, 50),
        rng.permutation(1000)[:50],
        rng.integers(0, 32, 50),
        rng.permutation(1000)[:50],
        np.arange(50),
    )
    image = Image.of(config.source, 512, tokens.source_group, tokens.source_slot, data)
    assert image.block.shape == (50 * 16, 32)
    moved = transfer(config, image, tokens)
    assert moved.block.shape == (50 * 64, 8) and (np.diff(moved.address) > 0).all()
    assert (moved.tokens(config.destination, 512, tokens.destination_group, tokens.destination_slot) == data).all()
    with pytest.raises(ConfigError, match="holds no token"):
        image.tokens(config.source, 512, np.array([0]), np.array([5000]))
    with pytest.raises(ConfigError, match="two tokens have the same place in 'hbm'"):
        Image.of(config.source, 512, np.zeros(2, int), np.zeros(2, int), data[:2])


def plain(**more):
    values = {
        "format": "plain",
        "port_bytes": 4,
        "groups": 1,
        "lockstep": 1,
        "banks": 2,
        "rows": 64,
        "row_bytes": 8,
        "access_bytes": 4,
        "tile_tokens": 1,
        "key_run": 8,
        "value_run": 8,
        "split": False,
        "windows": 1,
        "interleave": 1,
        "read_bank_cycles": 10,
        "write_bank_cycles": 10,
        "read_recovery_cycles": 1,
        "write_recovery_cycles": 1,
        "activate_cycles": 1,
        "window_cycles": 0,
        **more,
    }
    return MemorySide(**values)


def order(side, slots, *, token_bytes=4, depth=4, hit_limit=64):
    """(slot, cycle in which its first access was offered) with an output that is always ready."""
    model = SchedulerModel(side, token_bytes, depth, side.read_bank_cycles, side.read_recovery_cycles, hit_limit)
    todo, out, given = list(slots), [], []
    while len(out) < len(slots) * token_bytes // side.access_bytes:
        if model.offered:
            out.append((slots[model.offered.token], model.cycle))
        item = (0, todo[0]) if todo else None
        if item and model.ready:
            given.append((model.cycle, *item))
            todo.pop(0)
        model.step(item, True)
    again = SchedulerModel(side, token_bytes, depth, side.read_bank_cycles, side.read_recovery_cycles, hit_limit)
    accesses = replay(again, given, [cycle for _, cycle in out])
    assert [slots[a.token] for a in accesses] == [slot for slot, _ in out]
    return out


def test_row_hits_overtake():
    """Two banks, two tokens to a row. Slots 0 and 2 share a row of bank 0, slot 4 is in its next row, slot 1 in bank 1."""
    # The first is chosen in cycle 1, when it alone is there; slot 2 then hits its row, although 4 came before it. Bank 1 is
    # ready at once, bank 0's next row ten cycles after the first.
    assert order(plain(), [0, 4, 2, 1]) == [(0, 3), (2, 5), (1, 6), (4, 13)]
    # Without hits, by age.
    assert [slot for slot, _ in order(plain(read_bank_cycles=1), [0, 5, 8, 13])] == [0, 5, 8, 13]


def test_the_limits_of_a_rank():
    """A fifth row opens ``window_cycles`` after the first, the others ``activate_cycles`` apart."""
    side = plain(banks=8, row_bytes=4, activate_cycles=3, window_cycles=25)
    assert [cycle for _, cycle in order(side, list(range(6)), depth=8)] == [3, 6, 9, 12, 28, 31]


def test_a_bank_rests_after_its_last_access():
    side = plain(banks=1, row_bytes=4, read_bank_cycles=1, read_recovery_cycles=7)
    assert [cycle for _, cycle in order(side, [0, 1, 2])] == [3, 11, 19]


def test_hits_do_not_starve():
    slots = [0, 1, *range(2, 40, 2)]  # bank 0 is hit for ever; slot 1 is in bank 1
    side = plain(row_bytes=128, tile_tokens=32, rows=8, activate_cycles=6)
    late = [slot for slot, _ in order(side, slots)].index(1)
    soon = [slot for slot, _ in order(side, slots, hit_limit=1)].index(1)
    assert soon < late


def test_two_groups_take_turns():
    side = plain(groups=2, banks=1, row_bytes=16)
    model = SchedulerModel(side, 16, 4, 10, 1, 64)
    seen = []
    for cycle in range(20):
        if model.offered:
            seen.append(model.offered.group)
        model.step((cycle, 0) if cycle < 2 else None, True)
    assert seen == [0, 0, 1, 0, 1, 0, 1, 1]


def test_cpu_path_adds_its_passes():
    path = cpu_path()
    assert path.time_ns(100.0, 50.0) == pytest.approx(path.start_us * 1e3 + 150 / path.share_of_bandwidth)
