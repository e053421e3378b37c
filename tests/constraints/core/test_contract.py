"""The contract of a unit: packing of payloads, options of workloads, results that are recorded."""

from __future__ import annotations

from enum import IntEnum
from typing import Literal

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import Field as Key

from bankside.constraints.core.contract import Field, Layout, Run, SimResult, Workload, memory_port
from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.formats import FP16, IntegerFormat


@st.composite
def layouts(draw) -> Layout:
    fields = []
    for n in range(draw(st.integers(1, 5))):
        count, bits = draw(st.integers(1, 4)), draw(st.integers(1, 64))
        number = IntegerFormat(bits, True) if bits > 1 and draw(st.booleans()) else None
        fields.append(Field(f"f{n}", count * bits, "", count, number))
    return Layout(tuple(fields))


@given(layouts(), st.integers(0, 1 << 32))
@example(Layout((Field("widest_below_a_word", 63, "", 1, IntegerFormat(63, True)),)), 0)
def test_packed_payloads_are_the_integers_of_their_fields_and_come_apart_again(layout, seed):
    rng = np.random.default_rng(seed)
    columns = {}
    for field in layout.fields:
        least = -(1 << (field.element_bits - 1)) if field.signed else 0
        most = (1 << (field.element_bits - field.signed)) - 1
        shape = (3, field.count) if field.count > 1 else 3
        columns[field.name] = rng.integers(least, min(most, (1 << 63) - 1), shape, endpoint=True)
    rows = layout.pack(columns)
    assert rows.shape == (3, layout.payload_bytes) and rows.dtype == np.uint8
    for item in range(3):
        word = 0
        for low, field in layout.items():
            for n, value in enumerate(np.atleast_1d(columns[field.name][item]).tolist()):
                word |= (value & ((1 << field.element_bits) - 1)) << (low + n * field.element_bits)
        assert int.from_bytes(rows[item].tobytes(), "little") == word
    for name, column in layout.unpack(rows).items():
        assert np.array_equal(column, columns[name])


WIDE = Layout.of(Field("data", 64, "", 4, FP16), Field("kind", 2, ""), Field("last", 1, ""))


def test_a_field_of_elements_takes_elements_or_one_number_in_its_lowest_bits():
    elements = WIDE.pack(data=[[1, 2, 3, 0xFFFF]], kind=2, last=1)
    assert int.from_bytes(elements[0].tobytes(), "little") == 0x6_FFFF_0003_0002_0001
    number = WIDE.pack(data=[0x1234_5678_9ABC], kind=1)
    assert int.from_bytes(number[0].tobytes(), "little") == 1 << 64 | 0x1234_5678_9ABC
    assert WIDE.lowest(number, "data", 32).tolist() == [0x5678_9ABC]
    assert WIDE.word(data=5, last=1) == 5 | 1 << 66
    assert np.array_equal(WIDE.rows([WIDE.word(data=0x1234_5678_9ABC, kind=1)]), number)
    assert WIDE.offset("last") == 66 and WIDE.payload_bytes == 9


def test_rows_may_be_none_and_scalars_are_the_same_in_every_row():
    assert WIDE.pack(data=np.empty((0, 4), np.int64), kind=1).shape == (0, 9)
    assert WIDE.unpack(WIDE.pack(kind=[0, 1, 2], last=1))["last"].tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "columns, message",
    [
        ({"kind": [4]}, r"^kind: numbers must be in 0\.\.3, not 4\.\.4$"),
        ({"kind": [-1]}, r"^kind: numbers must be in 0\.\.3, not -1\.\.-1$"),
        ({"data": [[0, 0, 0, 1 << 16]]}, r"^data: numbers must be in 0\.\.65535, not 0\.\.65536$"),
        ({"kinds": [0]}, r"^Field must be one of \['data', 'kind', 'last'\], not 'kinds'$"),
        ({"kind": [0, 1], "last": [1]}, r"^Columns must be of one length, not of \[1, 2\]$"),
    ],
)
def test_what_does_not_fit_a_payload_is_refused(columns, message):
    with pytest.raises(ValueError, match=message):
        WIDE.pack(columns)


@pytest.mark.parametrize(
    "values, message",
    [
        ({"kind": 4}, r"^kind has 2 bits, not enough for 4$"),
        ({"last": -1}, r"^last has 1 bits, not enough for -1$"),
        ({"first": 1}, r"^Field must be one of \['data', 'kind', 'last'\], not 'first'$"),
    ],
)
def test_what_does_not_fit_a_word_is_refused(values, message):
    with pytest.raises(ValueError, match=message):
        WIDE.word(**values)


class Toy(Workload):
    memory: str = memory_port("hbm3-5.2")
    tokens: int = Key(default=5, ge=1, le=9, description="tokens")
    file: str | None = Key(default=None, description="a file")
    data: Literal["normal", "equal"] = Key(default="normal", description="kind of data")


def test_options_are_the_keys_of_a_workload_with_their_bounds():
    options = Toy.options()
    assert list(options) == ["memory", "tokens", "file", "data"]
    tokens = options["tokens"]
    assert (tokens.flag, tokens.kind, tokens.default, tokens.least, tokens.most) == ("--tokens", int, 5, 1, 9)
    assert options["file"].kind is str and options["file"].default is None
    assert options["data"].choices == ("normal", "equal")


class Colour(IntEnum):
    RED = 0
    GREEN = 1


def test_a_record_holds_what_says_something_of_the_unit():
    result = SimResult(
        vectors=3,
        mismatches=0,
        runs={"full_rate": Run(vectors=3, mismatches=0, clocks=9)},
        clocks=9,
        clocks_per_second=100,
        notes=["a note"],
    )
    assert result.recorded() == {
        "vectors": 3,
        "mismatches": 0,
        "clocks": 9,
        "runs": {"full_rate": {"vectors": 3, "mismatches": 0, "clocks": 9}},
    }
    assert SimResult.model_validate(result.recorded()).mismatches == 0
    assert ("speed", "9 clocks at 100 per second") in result.rows({}, None)


def test_a_name_of_a_value_is_not_lost():
    layout = Layout.of(Field("colour", 1, "", kinds=Colour))
    assert layout.unpack(layout.pack(colour=[Colour.GREEN, Colour.RED]))["colour"].tolist() == [1, 0]


def test_a_unit_has_no_preset_of_another_name():
    from bankside.constraints.pam.pu import UNIT

    assert UNIT.preset(None)[0] == "pam-hbm"
    with pytest.raises(ConfigError, match=r"^unknown preset of pam-pu 'pam-hmb'; did you mean 'pam-hbm'\? "):
        UNIT.preset("pam-hmb")
