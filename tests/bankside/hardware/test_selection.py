"""Presets, files and single keys: each over the one before."""

from __future__ import annotations

import shlex

import pytest

from bankside.constraints.core.discovery import entries
from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.records import config_hash
from bankside.constraints.core.registry import UNITS
from bankside.constraints.pam.pu import PRESETS
from bankside.hardware.selection import select


@pytest.mark.parametrize("preset", PRESETS)
def test_preset(preset):
    chosen = select("pam-pu", preset=preset)
    assert chosen.preset == chosen.label == preset and chosen.config == PRESETS[preset]
    assert chosen.config_hash == config_hash("pam-pu", PRESETS[preset])


def test_first_preset_is_the_default():
    assert select("pam-pu").preset == next(iter(PRESETS)) == "pam-hbm"


def test_file_over_preset_and_keys_over_file(tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text("preset: pam-ddr\nmax_tokens: 1000\nguard_bits: 5\n")
    chosen = select("pam-pu", file=str(file), sets=["guard_bits=9"])
    assert chosen.config == PRESETS["pam-ddr"].model_copy(update={"max_tokens": 1000, "guard_bits": 9})
    assert chosen.preset is None and chosen.label == chosen.config_hash
    # A preset on the command line is over that of the file; the rest of the file stays.
    assert select("pam-pu", preset="pam-ssd", file=str(file)).config == PRESETS["pam-ssd"].model_copy(
        update={"max_tokens": 1000, "guard_bits": 5}
    )


def test_last_key_wins():
    assert select("pam-pu", sets=["guard_bits=7", "guard_bits=9"]).config.guard_bits == 9


def test_json_file(tmp_path):
    file = tmp_path / "c.json"
    file.write_text('{"tile_tokens": 16, "clock_mhz": 700}')
    config = select("pam-pu", file=str(file)).config
    assert (config.tile_tokens, config.clock_mhz) == (16, 700.0)


def test_values_are_written_as_in_a_file():
    assert select("pam-pu", sets=["lanes=0x8", "clock_mhz=1e3", "format=bf16"]).config.model_dump() == {
        **PRESETS["pam-hbm"].model_dump(),
        "lanes": 8,
        "clock_mhz": 1000.0,
        "format": "bf16",
    }


def test_keys_that_restate_the_preset_are_the_preset():
    assert select("pam-pu", sets=["lanes=16"]).preset == "pam-hbm"
    assert select("pam-pu", preset="pam-hbm", sets=["clock_mhz=1000"]).config == PRESETS["pam-ssd"]
    # It was asked for under another name: it is not called by this one.
    assert select("pam-pu", preset="pam-hbm", sets=["clock_mhz=1000"]).preset is None
    assert select("pam-pu", sets=["clock_mhz=1000"]).preset == "pam-ssd"


def test_keys_are_checked_together():
    for key in ("lanes=32", "query_bytes=192"):
        select("pam-pu", sets=[key])
    with pytest.raises(ConfigError, match="^--set: query_bytes must be a multiple of the 64 bytes of a beat, not 96$"):
        select("pam-pu", sets=["lanes=32", "query_bytes=96"])
    assert select("pam-pu", sets=["query_bytes=512", "buffer_bytes=1024"]).config.output_bytes == 512


@pytest.mark.parametrize(
    "sets",
    [
        [],
        ["guard_bits=9"],
        ["format=bf16", "score_format=bf16"],
        ["lanes=4", "buffer_bytes=256", "query_bytes=64", "clock_mhz=333.3"],
    ],
)
def test_arguments_select_the_same_configuration(sets):
    chosen = select("pam-pu", preset="pam-ddr" if not sets else None, sets=sets)
    name, *words = shlex.split(chosen.arguments)
    again = select(name, preset=words[1], sets=words[3::2])
    assert words[0] == "--preset" and again.config == chosen.config and again.config_hash == chosen.config_hash


def test_hash_is_of_every_key_and_of_the_unit():
    base = select("pam-pu").config_hash
    others = {
        select("pam-pu", sets=[key]).config_hash
        for key in (
            "lanes=8",
            "format=bf16",
            "acc_format=fp16",
            "score_format=fp16",
            "buffer_bytes=1024",
            "query_bytes=128",
            "tile_tokens=16",
            "score_tiles=1",
            "score_accumulators=4",
            "output_skid_beats=1",
            "max_head_dim=128",
            "max_tokens=100",
            "guard_bits=9",
            "clock_mhz=667",
        )
    }
    assert len(others) == 14 and base not in others
    assert config_hash("other-unit", PRESETS["pam-hbm"]) != base


def test_hash_is_stable():
    """Records are found by it: a change makes every measurement anew. Fails if a key is added, as it should."""
    import hashlib
    import json

    config = PRESETS["pam-ddr"].model_dump(mode="json")
    text = json.dumps({"config": config, "unit": "pam-pu"}, sort_keys=True)
    assert select("pam-pu", preset="pam-ddr").config_hash == hashlib.sha256(text.encode()).hexdigest()[:16]


COMPOSITIONS = ("pam-bank-group", "pam-hbm-slice", "pam-reduction-tree", "pam-ssd-controller", "pam-tier-merge")


def test_keys_of_parts():
    """A key of a part is set by itself, the rest stays the preset's; the command line that says so gives the same."""
    chosen = select("pam-bank-group", preset="pam-ddr", sets=["processing.tile_tokens=8", "reduction.staging_beats=4"])
    assert (chosen.config.processing.tile_tokens, chosen.config.processing.lanes) == (8, 4)
    words = chosen.arguments.split()
    again = select(words[0], preset=words[2], sets=words[4::2])
    assert again == chosen and words[3::2] == ["--set"] * 2


def test_every_unit_has_its_five_parts():
    for unit in UNITS.values():
        assert unit.presets and all(isinstance(c, unit.config) for c in unit.presets.values())
        assert callable(unit.load_generator()) and callable(unit.load_bench())
        module, name = unit.model.split(":")
        assert callable(getattr(__import__(module, fromlist=[name]), name))


#: Units of one family, whose part of this kind is one file: the file that each has instead of its own.
FAMILIES = {
    "arith": dict.fromkeys(("contract", "generator", "model", "bench", "page"), "units"),
    "pam-composition": {"model": "compositions", "bench": "compositions", "page": "compositions"},
    "cent-cxl": {"model": "cxl", "bench": "cxl_port", "page": "cxl_port"},
}


def family_of(name):
    return "arith" if name.startswith("fp-") else "pam-composition" if name in COMPOSITIONS else name[:8]


def test_a_unit_has_one_path_in_every_part():
    """``pam-pu`` is ``pam/pu``: contract, generator, model, bench and page. A family may share a file of the folder."""
    designs = {"dpa": "lolpim", "lol": "lolpim", "pim": "aim", "fp": "arith"}
    found = {}
    for entry, unit in entries("bankside.units").items():
        prefix, _, rest = entry.removeprefix("lol-").partition("-")
        design = designs.get(entry.partition("-")[0], prefix)
        own = rest.replace("-", "_")
        places = {
            "contract": unit.value.partition(":")[0].removeprefix("bankside.constraints."),
            "generator": UNITS[entry].generator.partition(":")[0].removeprefix("bankside.gen."),
            "model": UNITS[entry].model.partition(":")[0].removeprefix("bankside.models."),
            "bench": UNITS[entry].bench.partition(":")[0].removeprefix("bankside.cosim."),
            "page": UNITS[entry].page.removeprefix("docs/").removesuffix(".md").replace("/", "."),
        }
        family = FAMILIES.get(family_of(entry), {})
        for part, place in places.items():
            if place not in (f"{design}.{own}", f"{design}.{family.get(part, own)}"):
                found[entry, part] = place
    assert found == ELSEWHERE


#: Parts that other units use too, and so lie with what they share.
ELSEWHERE = {("inf2-softmax", "model"): "numerics.softmax"}
