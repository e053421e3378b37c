"""Operands: what they promise to contain, they do. Files of vectors: every line is read as it stands, or told why not."""

import numpy as np
import pytest

from bankside.constraints.arith.units import Operand
from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.formats import BF16, FP16, FP32, IntegerFormat, float_format
from bankside.models.numerics import add, decode, divide, multiply, to_float64, vector_files, vectors
from bankside.models.numerics.vector_files import read_vectors, vector_blocks, write_vectors
from bankside.models.numerics.vectors import corners, operands

FLOATS = [FP16, BF16, FP32, *(float_format(name) for name in ("e2m1", "e3m2", "e4m3", "e2m27", "e11m1", "e11m27"))]
INTEGERS = [IntegerFormat(width, signed) for width in (1, 2, 8, 31, 32, 63, 64) for signed in (True, False)]
KINDS = 8


def named(formats):
    return [pytest.param(fmt, id=fmt.name) for fmt in formats]


# Operands ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", named(FLOATS))
def test_corners_of_numbers(fmt):
    found = corners(fmt)
    assert found.dtype == np.int64 and (np.diff(found) > 0).all() and len(found) <= 150 + 2 * fmt.fraction_bits
    assert found[0] == 0 and found[-1] == (1 << fmt.width) - 1
    one = fmt.bias << fmt.fraction_bits
    wanted = {
        0,
        1,
        fmt.smallest_normal - 1,
        fmt.smallest_normal,
        fmt.smallest_normal + 1,
        fmt.largest,
        fmt.infinity,
        fmt.nan,
        fmt.infinity + 1,
        one - 1,
        one,
        one + 1,
        one | fmt.smallest_normal >> 1,
    }
    assert {x | sign for x in wanted for sign in (0, fmt.sign_mask)} <= set(found.tolist())


@pytest.mark.parametrize("fmt", named(INTEGERS))
def test_corners_of_integers(fmt):
    found = corners(fmt)
    low = -(1 << (fmt.width - 1)) if fmt.signed else 0
    high = low + (1 << fmt.width) - 1
    values = {int(x) if fmt.signed else int(x) & ((1 << 64) - 1) for x in found}
    assert len(values) == len(found)
    assert {low, high, 0, low + 1, high - 1} <= values and min(values) == low and max(values) == high
    assert all(x in values for n in range(fmt.width) for x in ((1 << n) - 1, 1 << n, (1 << n) + 1) if x <= high)


@pytest.mark.parametrize("fmt", named(FLOATS + INTEGERS))
def test_operands_stay_in_their_format(fmt):
    for fields in ([fmt], [fmt] * 2, [fmt] * 3, [Operand(fmt, 4), Operand(fmt, 4), fmt], [fmt, FP32]):
        columns = operands(fields, 1000, seed=1)
        for column, field in zip(columns, fields, strict=True):
            field = field if isinstance(field, Operand) else Operand(field)
            assert column.dtype == np.int64
            assert column.shape == ((len(columns[0]), field.count) if field.count > 1 else (len(columns[0]),))
            low = -(1 << (fmt.width - 1)) if getattr(field.format, "signed", False) else 0
            if field.format.width < 64 or low:
                assert column.min() >= low and int(column.max()) - low < 1 << field.format.width


def test_operands_are_reproducible():
    for fields in ([FP16], [BF16, BF16], [FP16, FP16, FP32], [IntegerFormat(32, True)]):
        first, again, other = (operands(fields, 500, seed) for seed in (1, 1, 2))
        assert all(np.array_equal(x, y) for x, y in zip(first, again, strict=True))
        assert not all(np.array_equal(x, y) for x, y in zip(first, other, strict=True))
    with pytest.raises(ValueError, match="^Count must be 0 or more, not -1$"):
        operands([FP16], -1)


def test_all_combinations_of_corners_come_first():
    edges = corners(FP16)
    a, b = operands([FP16, FP16], 0)
    assert len(a) == len(edges) ** 2 and len(set(zip(a.tolist(), b.tolist(), strict=True))) == len(edges) ** 2
    assert set(a.tolist()) == set(b.tolist()) == set(edges.tolist())
    many = operands([FP16] * 3, 0)
    assert [len(column) for column in many] == [vectors.CORNER_ROWS] * 3
    assert all(set(column.tolist()) == set(edges.tolist()) for column in many)


def kind_of(fields, number, count=8000, seed=3):
    """Rows of one kind."""
    columns = operands(fields, count * KINDS, seed)
    return [column[-count * KINDS :][number::KINDS] for column in columns]


@pytest.mark.parametrize("fmt", named([FP16, BF16, FP32]))
def test_every_alignment_occurs(fmt):
    a, b = kind_of([fmt, fmt], 1)
    difference = decode(a, fmt).exponent - decode(b, fmt).exponent
    assert set(range(-fmt.precision - 2, fmt.precision + 3)) <= set(difference.tolist())


@pytest.mark.parametrize("fmt", named([FP16, BF16, FP32]))
def test_sums_cancel(fmt):
    a, b = kind_of([fmt, fmt], 3)
    total = add(a, b, fmt)
    lost = decode(a, fmt).exponent - decode(total, fmt).exponent
    assert (total == 0).mean() > 0.3 and ((total != 0) & (lost >= fmt.precision - 3)).mean() > 0.1
    a, b, c = kind_of([fmt, fmt, FP32], 3)
    product, rest = to_float64(a, fmt) * to_float64(b, fmt), to_float64(c, FP32)
    with np.errstate(invalid="ignore"):
        assert (np.abs(product + rest) <= np.abs(product) * 2.0**-20).mean() > 0.5


@pytest.mark.parametrize("fmt", named([FP16, BF16, FP32]))
def test_products_tie(fmt):
    a, b = kind_of([fmt, fmt], 4)
    product = decode(a, fmt).significand * decode(b, fmt).significand
    low = np.where(product >> (2 * fmt.precision - 1) == 1, fmt.precision, fmt.precision - 1)
    rest = product & ((1 << low) - 1)
    offset = rest - (1 << (low - 1))
    for d in (-1, 0, 1):
        assert (offset == d).mean() > 0.04
    assert ((rest <= 1) | (rest == (1 << low) - 1)).mean() > 0.1  # all but exact


@pytest.mark.parametrize("fmt", named([FP16, BF16]))
def test_sums_tie(fmt):
    a, b = kind_of([fmt, fmt], 5)
    value = to_float64(a, fmt) + to_float64(b, fmt)  # exact: 53 bits
    unit = 2.0 ** (decode(b, fmt).exponent - fmt.bias - fmt.fraction_bits)
    part = np.abs(value / unit) % 1
    assert (part == 0.5).mean() > 0.1 and ((part != 0.5) & (np.abs(part - 0.5) < 0.01)).mean() > 0.1


@pytest.mark.parametrize("fmt", named([FP16, BF16, FP32]))
def test_quotients_and_roots_near_the_middle(fmt):
    """As near as d / b, d up to 3, where b is a significand; half an ulp would be a middle anywhere between."""
    near = 8 * 2.0**-fmt.precision

    def off(value):
        """Distance from the middle, in last places."""
        with np.errstate(invalid="ignore"):
            return np.abs(np.frexp(value)[0] * 2.0**fmt.precision % 1 - 0.5)

    a, b = kind_of([fmt, fmt], 6)
    distance = off(to_float64(a, fmt) / to_float64(b, fmt))
    assert (distance < near).mean() > 0.6 and len(np.unique(a)) > 200
    (square,) = kind_of([fmt], 6)
    distance = off(np.sqrt(to_float64(square, fmt)))
    assert (distance < 4 * near).mean() > 0.5 and len(np.unique(square)) > 200


@pytest.mark.parametrize("fmt", named([FP16, BF16, FP32]))
def test_results_around_the_ends_of_the_range(fmt):
    a, b = kind_of([fmt, fmt], 7)
    for result in (multiply(a, b, fmt), divide(a, b, fmt)):
        magnitude = result & (fmt.sign_mask - 1)
        assert (magnitude == fmt.infinity).mean() > 0.05
        assert ((magnitude > 0) & (magnitude < fmt.smallest_normal)).mean() > 0.05
        assert ((magnitude < fmt.infinity) & (magnitude >= fmt.infinity - 4 * fmt.smallest_normal)).mean() > 0.01


def test_integers_of_every_length():
    (a,) = operands([IntegerFormat(32, True)], 4000)
    lengths = {int(abs(x)).bit_length() for x in a[-4000:]}
    assert lengths >= set(range(32)) and (a[-4000:] < 0).mean() > 0.3


# Files -------------------------------------------------------------------------------------------------------------


def test_lines_as_testfloat_prints_them(tmp_path):
    path = tmp_path / "f16_add.txt"
    path.write_text("87FF E850 E850 01\n4FED B41F 4FDD 01\n7C00 FC00 7E00 10\n")
    (a, b), result = read_vectors(path, [FP16, FP16], FP16)
    assert a.dtype == np.int64 and a.tolist() == [0x87FF, 0x4FED, 0x7C00]
    assert b.tolist() == [0xE850, 0xB41F, 0xFC00] and result.tolist() == [0xE850, 0x4FDD, 0x7E00]
    np.testing.assert_array_equal(add(a, b, FP16), result)


@pytest.mark.parametrize(
    "text",
    [
        "1 2 3\n4 5 6\n",
        "1 2 3 00\n4 5 6 1F\n",
        "0001 0002 0003\n0004 0005 0006",
        "1 2 3\r\n4 5 6\r\n",
        "1 2 3 00\n4 5 6\n",
        "  1   2 3\n\t4 5 0006 0\n",
        "1 2 3\n4 5 6\r\n",
    ],
)
def test_lines_of_any_look(tmp_path, text):
    path = tmp_path / "v.txt"
    path.write_bytes(text.encode())
    (a, b), result = read_vectors(path, [FP16, FP16], FP16)
    assert [a.tolist(), b.tolist(), result.tolist()] == [[1, 4], [2, 5], [3, 6]]


def test_letters_of_either_case_and_other_results(tmp_path):
    path = tmp_path / "v.txt"
    path.write_text("abCD 1 00\n00Ef 0 00\n")
    (a,), flag = read_vectors(path, [FP16], IntegerFormat(1, False))
    assert a.tolist() == [0xABCD, 0xEF] and flag.tolist() == [1, 0]
    path.write_text("80000000 FFFFFFFF\n7FFFFFFF 00000001\n")
    (a,), result = read_vectors(path, [IntegerFormat(32, True)], FP32)
    assert a.tolist() == [-(2**31), 2**31 - 1] and result.tolist() == [2**32 - 1, 1]
    path.write_text("FFFFFFFFFFFFFFFF 8000000000000000\n")
    (a,), result = read_vectors(path, [IntegerFormat(64, True)], IntegerFormat(64, False))
    assert a.tolist() == [-1] and result.tolist() == [-(2**63)]


@pytest.mark.parametrize("last", [b"", b"8001 0002 7E00\n", b"1 2 3 4\n"])
def test_blocks(tmp_path, monkeypatch, last):
    """Lines are whole wherever a block ends, and their numbers right."""
    monkeypatch.setattr(vector_files, "CHUNK", 64)
    rng = np.random.default_rng(1)
    columns = rng.integers(0, 1 << 16, (3, 500))
    path = tmp_path / "v.txt"
    write_vectors(path, columns, [FP16] * 3)
    path.write_bytes(path.read_bytes() + last)
    blocks = list(vector_blocks(path, [FP16, FP16], FP16))
    assert len(blocks) > 50 and max(len(result) for _, result in blocks) < 10
    (a, b), result = read_vectors(path, [FP16, FP16], FP16)
    assert len(a) == 500 + bool(last)
    np.testing.assert_array_equal(np.stack([a, b, result])[:, :500], columns)
    path.write_bytes(path.read_bytes() + b"1 2 x 4\n")
    with pytest.raises(ConfigError, match=rf":{len(a) + 1}: 'x' is not hexadecimal$"):
        read_vectors(path, [FP16, FP16], FP16)


@pytest.mark.parametrize(
    "formats",
    [
        [FP16],
        [BF16, FP32],
        [float_format("e4m3"), float_format("e2m2"), FP16],
        [IntegerFormat(33, True), FP32],
        [IntegerFormat(64, False)],
    ],
    ids=str,
)
def test_written_files_are_read_again(tmp_path, formats):
    columns = operands(formats, 3000, seed=5)
    path = tmp_path / "v.txt"
    write_vectors(path, [*columns, columns[0]], [*formats, formats[0]])
    read, result = read_vectors(path, formats, formats[0])
    for column, again in zip([*columns, columns[0]], [*read, result], strict=True):
        np.testing.assert_array_equal(column, again)
    lengths = {len(line) for line in path.read_text().splitlines()}
    assert lengths == {sum(-(-fmt.width // 4) for fmt in formats) + -(-formats[0].width // 4) + len(formats)}


@pytest.mark.parametrize(
    "text,message",
    [
        (b"", ": no vectors"),
        (b"1 2\n", ":1: 2 words; a line has 2 operands, a result and perhaps flags"),
        (b"1 2 3\n1 2 3 4 5\n", ":2: 5 words; a line has 2 operands, a result and perhaps flags"),
        (b"1 2 3\n\n1 2 3\n", ":2: 0 words; a line has 2 operands, a result and perhaps flags"),
        (b"1 2 3\n1 2 3\n1 -2 3\n", ":3: '-2' is not hexadecimal"),
        (b"1 2 3\n1 g 3\n", ":2: 'g' is not hexadecimal"),
        (b"1 2 3 zz\n", ":1: 'zz' is not hexadecimal"),
        (b"1 1_0 3\n", ":1: '1_0' is not hexadecimal"),
        (b"1 2 3\n1 0x2 3\n", ":2: '0x2' is not hexadecimal"),
        (b"1 2 3\n10000 2 3\n", ":2: '10000' has more than the 16 bits of fp16"),
        (b"00001 00002 1FFFF\n", ":1: '1FFFF' has more than the 16 bits of fp16"),
        (b"\xff\xfe\x00\x01 1 2\n", ":1: '��\\x00\\x01' is not hexadecimal"),
        (b"1 2 3\n" + b"1" * 5000, ":2: more than 4096 bytes; a line is one case"),
    ],
)
def test_malformed_files(tmp_path, text, message):
    path = tmp_path / "v.txt"
    path.write_bytes(text)
    with pytest.raises(ConfigError) as error:
        read_vectors(path, [FP16, FP16], FP16)
    assert str(error.value) == f"{path}{message}"


def test_one_operand_is_told_as_one(tmp_path):
    path = tmp_path / "v.txt"
    path.write_text("1 2 3 4\n")
    with pytest.raises(ConfigError, match=r":1: 4 words; a line has 1 operand, a result and perhaps flags$"):
        read_vectors(path, [FP16], FP16)


def test_files_that_can_not_be_opened(tmp_path):
    with pytest.raises(ConfigError, match="missing.txt: no such file or directory$"):
        read_vectors(tmp_path / "missing.txt", [FP16], FP16)
    with pytest.raises(ConfigError, match="is a directory$"):
        read_vectors(tmp_path, [FP16], FP16)
    with pytest.raises(ConfigError, match="is a directory$"):
        write_vectors(tmp_path, [np.zeros(1, int)], [FP16])
    with pytest.raises(ValueError, match="^Columns must have one format each and equal lengths, not "):
        write_vectors(tmp_path / "v.txt", [np.zeros(1, int), np.zeros(2, int)], [FP16, FP16])
