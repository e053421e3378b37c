"""The PU's parameters: the paper's presets, sizes that follow from them, and what can't be built."""

import pytest

from bankside.constraints.core.document import load, validate
from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.records import config_hash
from bankside.constraints.pam.pu import PRESETS, PamPuConfig, Step


def test_presets_are_the_papers():
    """Lanes, buffer and clocks of PAM (MICRO 2025), section 5.2.1 and section 7.1."""
    assert {name: (c.lanes, c.buffer_bytes, c.clock_mhz) for name, c in PRESETS.items() if c.queries == 1} == {
        "pam-hbm": (16, 512, 666.0),
        "pam-ddr": (4, 128, 500.0),
        "pam-ssd": (16, 512, 1000.0),
    }
    for config in PRESETS.values():
        assert (config.format, config.acc_format) == ("fp16", "fp32")
        for dim in (64, 80, 96, 128, 160, 192, 256):
            config.check_step(Step(1, dim))


def test_the_small_buffer_holds_query_slice_scores_and_output():
    """128 bytes: 32 elements of the query, 16 scores of 16 bits, 16 elements of output."""
    config = PRESETS["pam-ddr"]
    assert (config.query_bytes, config.score_bytes, config.output_bytes) == (64, 32, 32)
    assert config.query_bytes + config.score_bytes + config.output_bytes == config.buffer_bytes
    assert (config.beat_bytes, config.query_beats, config.output_beats) == (8, 8, 4)
    assert config.query_slices(128) == [8, 8, 8, 8] and config.query_slices(80) == [8, 8, 4]


def test_the_large_buffer_holds_a_query_of_128_elements():
    config = PRESETS["pam-hbm"]
    assert config.query_slices(128) == [8] and config.query_slices(256) == [8, 8]
    assert config.query_beats * config.lanes * 2 == config.query_bytes
    assert config.score_bytes == 0 and config.output_bytes == config.buffer_bytes - config.query_bytes


@pytest.mark.parametrize("queries", [4, 8])
def test_presets_of_several_queries_are_pam_hbm_with_a_query_buffer_each(queries):
    config, single = PRESETS[f"pam-hbm-gqa{queries}"], PRESETS["pam-hbm"]
    changed = {"queries": queries, "query_bytes": 256 * queries, "buffer_bytes": 256 * (queries + 1)}
    assert config == PamPuConfig(**{**single.model_dump(), **changed})
    assert (config.slice_beats, config.output_beats) == (single.slice_beats, single.output_beats)
    config.check_step(Step(1, 128, queries=queries))
    for wrong in (0, queries + 1):
        with pytest.raises(ConfigError, match=rf"queries of a step must be in 1\.\.{queries}, not {wrong}"):
            config.check_step(Step(1, 128, queries=wrong))


def test_several_multipliers_per_lane_are_units_side_by_side():
    config, core = PRESETS["pam-hbm-gqa8-m2"], PRESETS["pam-hbm-gqa4"]
    assert config.core == core and (config.slice_beats, config.max_chunks) == (core.slice_beats, core.max_chunks)
    assert [config.burst_clocks(n) for n in (1, 2, 3, 8)] == [1, 1, 2, 4]
    assert [core.burst_clocks(n) for n in (1, 2, 3, 4)] == [1, 2, 3, 4]
    assert "multipliers_per_lane" not in core.model_dump()


def test_one_query_stands_in_no_document():
    """A record of the unit before it had the parameter stays a record of the same configuration."""
    assert "queries" not in PRESETS["pam-hbm"].model_dump() and PRESETS["pam-hbm-gqa4"].model_dump()["queries"] == 4
    assert config_hash("pam-pu", PRESETS["pam-hbm"]) == "a6d9fe248b2dc19b"
    assert PamPuConfig(queries=1) == PamPuConfig()


@pytest.mark.parametrize(
    ("tile_tokens", "score_tiles", "score_format", "expected"),
    [(16, 1, "fp16", 32), (16, 2, "fp16", 64), (16, 2, "fp32", 128), (5, 1, "bf16", 10)],
)
def test_scores_in_the_buffer(tile_tokens, score_tiles, score_format, expected):
    config = PamPuConfig(
        lanes=2,
        score_storage="buffer",
        tile_tokens=tile_tokens,
        score_tiles=score_tiles,
        score_format=score_format,
        buffer_bytes=512 + expected % 4,
    )
    assert config.score_bytes == expected
    assert config.output_bytes == config.buffer_bytes - config.query_bytes - expected


def test_tiles():
    config = PamPuConfig(tile_tokens=5)
    assert (
        config.tiles(0) == [0] and config.tiles(1) == [1] and config.tiles(5) == [5] and config.tiles(11) == [5, 5, 1]
    )
    assert config.keeps_scores(config.score_accumulators) and not config.keeps_scores(config.score_accumulators + 1)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"lanes": 12}, "lanes must be a power of two, not 12"),
        ({"lanes": 128}, "lanes: input should be less than or equal to 64, not 128"),
        ({"lanes": 1}, "lanes: input should be greater than or equal to 2, not 1"),
        ({"lanes": "16"}, "lanes: input should be a valid integer, not '16'"),
        ({"lane": 16}, "unknown key 'lane'; did you mean 'lanes'?"),
        ({"format": "fp32"}, "format: input should be 'fp16' or 'bf16', not 'fp32'"),
        ({"acc_format": "fp8"}, "acc_format: input should be 'fp32', 'fp16' or 'bf16', not 'fp8'"),
        ({"score_tiles": 3}, "score_tiles: input should be 1 or 2, not 3"),
        ({"query_bytes": 100}, "query_bytes must be a multiple of the 32 bytes of a beat, not 100"),
        (
            {"buffer_bytes": 256},
            "buffer_bytes 256 leaves 0 bytes for output; query_bytes 256 and 0 bytes of scores need at least 288",
        ),
        (
            {"score_storage": "buffer", "tile_tokens": 1024},
            "leaves -7936 bytes for output; query_bytes 256 and 8192 bytes of scores need at least 8480",
        ),
        ({"buffer_bytes": 500}, "buffer_bytes must leave a multiple of 32 bytes for output, not 244"),
        ({"max_head_dim": 250}, "max_head_dim must be a multiple of lanes (16), not 250"),
        ({"queries": 9}, "queries: input should be less than or equal to 8, not 9"),
        ({"queries": 0}, "queries: input should be greater than or equal to 1, not 0"),
        ({"queries": 3}, "query_bytes must be a multiple of the 96 bytes of a beat of each of 3 queries, not 256"),
        ({"queries": 8, "score_storage": "buffer"}, "query_bytes 256 and 2048 bytes of scores need at least 2336"),
        ({"multipliers_per_lane": 2}, "queries must be a multiple of multipliers_per_lane (2), not 1"),
        ({"multipliers_per_lane": 3, "queries": 3}, "multipliers_per_lane must be a power of two, not 3"),
        ({"queries": 2, "multipliers_per_lane": 2, "buffer_bytes": 288}, "0 bytes of scores need at least 320"),
        ({"tile_tokens": 0}, "tile_tokens: input should be greater than or equal to 1, not 0"),
        ({"clock_mhz": 0}, "clock_mhz: input should be greater than 0, not 0"),
        ({"clock_mhz": "fast"}, "clock_mhz: input should be a valid number"),
        ({"guard_bits": 0}, "guard_bits: input should be greater than or equal to 1, not 0"),
        ({"max_tokens": 1 << 31}, "max_tokens: input should be less than or equal to 1073741824"),
    ],
)
def test_what_can_not_be_built(fields, message):
    with pytest.raises(ConfigError) as caught:
        validate(fields, PamPuConfig, "config")
    assert message in str(caught.value), str(caught.value)


def test_a_configuration_file(tmp_path):
    path = tmp_path / "pu.yaml"
    path.write_text("lanes: 4\nquery_bytes: 64\nbuffer_bytes: 128\nclock_mhz: 500\n")
    assert load(path, PamPuConfig) == PamPuConfig(lanes=4, query_bytes=64, buffer_bytes=128, clock_mhz=500.0)
    path.write_text("lanes: 4\nquery_byte: 64\n")
    with pytest.raises(ConfigError, match=r"pu\.yaml:2: unknown key 'query_byte'; did you mean 'query_bytes'\?"):
        load(path, PamPuConfig)


def test_every_parameter_is_described():
    assert all(field.description for field in PamPuConfig.model_fields.values())
