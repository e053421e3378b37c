"""The PNM units in Verilator: commands that need each other's results, and planted errors in the comparison of slots."""

from __future__ import annotations

import numpy as np
import pytest

from bankside.constraints.cent.pnm import CentPnmConfig
from bankside.cosim.aim.hub import simulate
from bankside.cosim.cent.pnm import dependent_steps
from bankside.gen.blocks.shared import ModuleLibrary
from bankside.gen.cent import pnm as pnm_module
from bankside.models.cent.pnm import PnmModel
from tests.planting import planted

SHAPES = [
    pytest.param({}, id="one-memory"),
    pytest.param({"banks": 4, "acc_units": 2, "red_units": 4, "exp_units": 8}, id="groups"),
    pytest.param({"banks": 2, "bank_ports": 1, "register_ports": 2, "acc_units": 2}, id="single-ported"),
]


def config_of(**fields):
    return CentPnmConfig(
        **{"channels": 2, "lanes": 2, "gpr_bytes": 256, "acc_units": 1, "red_units": 1, "exp_units": 1, **fields}
    )


def played(config, unit, seed=1, **options):
    library = ModuleLibrary("cent_pnm", emit_src=False, strip_internal_attrs=True)
    top = library.convert(unit(config), "cent_pnm")
    text = "".join([*library.modules.values(), top])
    rng = np.random.default_rng(seed)
    return simulate(
        config, text, [dependent_steps(config, rng, 120) for _ in range(4)], top="cent_pnm", kind=PnmModel, **options
    )


@pytest.mark.slow
@pytest.mark.parametrize("fields", SHAPES)
def test_results_are_those_of_one_command_at_a_time(fields):
    """Also with stalls, lazy receivers, random registers and resets."""
    config = config_of(**fields)
    for options in (
        {},
        {"stalls": 0.35},
        {"stalls": 0.1, "lazy": True},
        {"stalls": 0.2, "power_up": "random", "resets": 3},
    ):
        outcome = played(config, pnm_module.CentPnm, **options)
        assert outcome.mismatches == 0, outcome.first_mismatch


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("use.known, ~owes & ~overtakes, ~self.busy", "use.known, ~overtakes, ~self.busy"),
        ("use.known, ~owes & ~overtakes, ~self.busy", "use.known, ~owes, ~self.busy"),
        ("done = ends[-1]", "done = ends[-2]"),
        ("| looks & slots_meet(at, size, use.second, use.size))", ")"),
        ("                running & slots_meet(", "                0 & slots_meet("),
        ("                | waiting & slots_meet(", "                | 0 & slots_meet("),
        ("m.d.comb += inner.p.overlap.eq(0)", "pass"),
    ],
)
def test_planted_error_is_found(old, new):
    """Results read too early or too late, operands overwritten, commands that leave early, overlap that counts too much."""
    outcome = played(config_of(), planted(pnm_module, old, new).CentPnm)
    assert outcome.mismatches
