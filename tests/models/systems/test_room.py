"""Room of a system's memories: what fits follows from it for every kind."""

from __future__ import annotations

import pytest

from bankside.constraints.core.errors import ConfigError
from bankside.models.llm import load_model
from bankside.models.systems import Room, load_system, system_names
from bankside.models.systems.room import Load, largest, largest_batch

QWEN = load_model("qwen1.5-7b")


def test_the_fullest_device_decides():
    """Of 100 bytes, 40 and 10 are left; requests take 2 and 1 bytes a token, padded to 16 in the second room."""
    rooms = [
        Room(100, 60, lambda batch, tokens: 2 * batch * tokens),
        Room(100, 90, lambda batch, tokens: batch * tokens, lambda batch, tokens: -(-batch * tokens // 16) * 16),
    ]
    assert largest_batch(rooms[:1], 4) == 5 and largest_batch(rooms[:1], 40) == 0
    assert not rooms[1].holds(1, 1) and largest_batch(rooms, 1) == 0
    assert rooms[0].holds(20, 1) and not rooms[0].holds(21, 1)


@pytest.mark.parametrize("most", [0, 1, 2, 3, 1000, 1 << 20])
def test_the_largest_count_is_found(most):
    assert largest(lambda count: count <= most) == most


@pytest.mark.parametrize("name", system_names())
def test_a_batch_fits_up_to_the_largest(name):
    """The largest batch fits, one more does not, and one message says so."""
    system = load_system(name)
    try:
        system.check(QWEN)
    except ConfigError:
        system = system.splits(QWEN)[0]
    most = system.capacity(QWEN, 2000, 1, 49).largest_batch_with_output
    assert system.fits(QWEN, most, 2048) and not system.fits(QWEN, most + 1, 2048)
    with pytest.raises(ConfigError, match=rf"^qwen1\.5-7b on {name}: batch {most + 1} at [^\n]*{most}\b[^\n]*$"):
        system.check_fits(QWEN, 2000, most + 1, 49)
    block = system.kv_block_tokens(QWEN)
    assert 0 <= system.kv_capacity_tokens(QWEN) // block - system.capacity(QWEN, block, 1, 1).largest_batch <= 1


def test_a_load_in_words():
    assert str(Load(10, 3)) == "batch 3 at context 10" and Load(10, 3, 4).last == 13
    assert str(Load(10, 3, 4)) == "batch 3 at context 10 plus 4 output tokens"


def test_weights_that_do_not_fit_the_first_tier_are_refused():
    """Room in the slower tiers does not help: weights stay in the GPUs' own memory."""
    with pytest.raises(
        ConfigError, match=r"^mt-1008b on pam: the weights alone need \d+ bytes of the \d+ that a GPU's tier 'hbm' has$"
    ):
        load_system("pam").check_fits(load_model("mt-1008b"), 100, 2)
