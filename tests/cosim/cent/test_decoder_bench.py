"""``cent-decoder`` in Verilator: random and damaged programs, every error, late answers, and a bench that sees errors."""

from __future__ import annotations

import re

import numpy as np
import pytest

from bankside.constraints.cent.isa import DecodeError
from bankside.constraints.core.registry import UNITS
from bankside.cosim.cent import decoder as cent_decoder
from bankside.cosim.cent.decoder import Episode, every_error, late_answers, random_columns, random_episodes, simulate
from bankside.hardware.generate import verilog
from bankside.hardware.selection import select
from bankside.models.cent.decoder import decode

TRIAL = UNITS["cent-decoder"].trial.sets


@pytest.fixture(scope="module")
def unit():
    selection = select("cent-decoder", sets=TRIAL)
    return selection.config, verilog(selection)


@pytest.mark.xdist_group("cent-decoder")
@pytest.mark.parametrize(("damage", "stalls", "lazy"), [(0.0, 0.35, False), (0.0, 0.1, True), (1.0, 0.2, False)])
def test_random_programs(unit, damage, stalls, lazy):
    config, text = unit
    episodes = random_episodes(config, np.random.default_rng(7), 60, damage=damage)
    outcome = simulate(config, text, episodes, stalls=stalls, lazy=lazy)
    assert outcome.mismatches == 0, outcome.first_mismatch
    assert not damage or len(set(outcome.codes)) >= 6


@pytest.mark.xdist_group("cent-decoder")
def test_errors_resets_and_late_answers(unit):
    config, text = unit
    outcome = simulate(config, text, every_error(config), stalls=0.2)
    assert outcome.mismatches == 0, outcome.first_mismatch
    assert set(outcome.codes) == set(DecodeError)
    outcome = simulate(
        config,
        text,
        random_episodes(config, np.random.default_rng(8), 20, damage=0.3),
        stalls=0.2,
        power_up="random",
        resets=3,
    )
    assert outcome.mismatches == 0, outcome.first_mismatch
    outcome = late_answers(config, text)
    assert outcome.mismatches == 0, outcome.first_mismatch


@pytest.mark.xdist_group("cent-decoder")
def test_wrong_expectations_are_reported(unit, monkeypatch):
    """A model that gives a command another slot; and commands that leave before the cycle of an answer."""
    config, text = unit
    episodes = [Episode.of(config.isa, random_columns(config.isa, np.random.default_rng(1), 5, mnemonics=["WR_BIAS"]))]

    def wrong(*arguments):
        found = decode(*arguments)
        found.commands["gpr"][2] ^= 1
        return found

    with monkeypatch.context() as patch:
        patch.setattr(cent_decoder, "decode", wrong)
        outcome = simulate(config, text, episodes)
    assert outcome.mismatches == 1
    assert re.match(r"command 2 \(episode 0\): got 0x[0-9a-f]+, expected 0x[0-9a-f]+$", outcome.first_mismatch)
    # The check takes commands for early if answers come before the cycle that it knows of.
    of = cent_decoder.Items.of
    monkeypatch.setattr(cent_decoder.Items, "of", lambda payload, **options: of(payload, **{**options, "cycle": 0}))
    outcome = late_answers(config, text)
    assert outcome.mismatches == 1 and "before the answer" in outcome.first_mismatch


@pytest.mark.slow
@pytest.mark.xdist_group("cent-decoder")
@pytest.mark.parametrize(
    "sets",
    [
        ["micro_ops=true"],
        ["blocking=none"],
        ["blocking=paper", "buffer_banks=4", "position_bits=8"],
        [
            "channels=32",
            "banks=16",
            "lanes=32",
            "rows=16384",
            "slots=2048",
            "registers=32",
            "devices=256",
            "columns=64",
            "program_words=16384",
            "buffer_banks=1",
        ],
        ["channels=1", "columns=1", "banks=1", "functions=3", "slots=5", "rows=1", "lanes=1", "micro_ops=true"],
    ],
)
def test_other_configurations(sets):
    selection = select("cent-decoder", sets=[*TRIAL, *sets])
    config, text = selection.config, verilog(selection)
    rng = np.random.default_rng(5)
    for damage, stalls in ((0.0, 0.0), (0.0, 0.6), (1.0, 0.3)):
        outcome = simulate(config, text, random_episodes(config, rng, 150, damage=damage), stalls=stalls)
        assert outcome.mismatches == 0, outcome.first_mismatch
    outcome = simulate(config, text, every_error(config), stalls=0.3)
    assert outcome.mismatches == 0, outcome.first_mismatch
    if config.blocking_opcodes:
        outcome = late_answers(config, text, stalls=0.1)
        assert outcome.mismatches == 0, outcome.first_mismatch
