"""A LLaMA block on CENT's device: places, instruction words, and results against binary64."""

from dataclasses import replace

import numpy as np
import pytest

from bankside.constraints.cent.device import PRESETS
from bankside.constraints.cent.isa import WORD_BYTES, CentIsa, fields_of
from bankside.constraints.cent.programs import image_for
from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.formats import BF16, FP32
from bankside.models.cent.device import DeviceModel
from bankside.models.cent.executable import MATRICES, SCALARS, ExecutableBlock
from bankside.models.cent.reference import EPSILON, Reference, rotary
from bankside.models.cent.words import encode_words
from bankside.models.numerics import from_float64, to_float64
from bankside.models.program.selected import runs

SMALL = PRESETS["cent-small"]
ENTRIES = dict.fromkeys(SCALARS, 0)


def small(hidden=64, heads=4, kv_heads=2, head_dim=16, ffn=160, channels=2, **other):
    return ExecutableBlock(
        hidden,
        heads,
        kv_heads,
        head_dim,
        ffn,
        channels,
        banks=4,
        lanes=4,
        columns=8,
        registers=8,
        slots=other.pop("slots", 256),
        **{"max_tokens": 40, **other},
    )


def bits(values):
    return from_float64(np.asarray(values, float), BF16)


class Device:
    """Blocks on a device, each with weights and inputs of its own."""

    def __init__(self, blocks, seed=0, image=None):
        self.rng, self.blocks = np.random.default_rng(seed), blocks
        rows = [{} for _ in range(SMALL.channels)]
        self.references = []
        for block in blocks:
            matrices = {
                name: self.numbers(block.matrix(name)[::-1], block.matrix(name)[0] ** -0.5) for name in MATRICES
            }
            norms = [self.numbers((block.hidden,), 0.1) + 1 for _ in range(2)]
            norms = [to_float64(bits(norm), BF16) for norm in norms]
            contents = block.contents(
                {name: bits(matrix) for name, matrix in matrices.items()},
                [bits(n) for n in norms],
                int(bits(block.head_dim**-0.5)),
                bits(self.rng.normal(size=(block.regions["end"], block.channels, 8, 4, 4))),
            )
            for n in range(block.channels):
                rows[block.first + n].update({row: columns[n] for row, columns in contents.items()})
            self.references.append(Reference(block, matrices, norms))
        self.model = DeviceModel(SMALL, rows)
        image = image_for(4).with_parameters(
            inverse_length=int(from_float64(np.array(1 / blocks[0].hidden), FP32)),
            epsilon=int(from_float64(np.array(EPSILON), FP32)),
        )
        self.entries = {name: image.entry(name) for name in SCALARS}
        self.model.load(image.words)
        for block in blocks:
            self.put(block, "zero", np.zeros(block.lanes))
            self.put(block, "one", np.ones(block.lanes))

    def numbers(self, shape, scale):
        return to_float64(bits(self.rng.normal(size=shape) * scale), BF16)

    def put(self, block, name, values):
        self.model.hub.store(block.slot(name), bits(values).reshape(-1, block.lanes))

    def fill(self, number, keys, values):
        """Keys and values of the first tokens of a block."""
        block, reference = self.blocks[number], self.references[number]
        own = self.model.rows[block.first : block.first + block.channels]
        rows = {row: np.stack([channel[row] for channel in own]) for row in own[0]}
        block.fill_caches(rows, bits(keys), bits(values))
        for n, channel in enumerate(own):
            channel.update({row: columns[n] for row, columns in rows.items()})
        reference.keys, reference.values = list(keys), list(values)

    def step(self, number, selected=None):
        """A token through a block; returns result and exact result. ``selected``: words that each head reads."""
        block, reference = self.blocks[number], self.references[number]
        x, position = self.numbers((block.hidden,), 1.0), len(reference.keys)
        if selected is not None:
            tokens = np.array([np.isin(np.arange(position) // block.lanes, words) for words in selected])
            reference = Masked(block, reference, tokens)
            selected = [runs(np.array(words) * block.lanes, block.lanes) for words in selected]
        for name, values in (("x", x), *zip(("cos", "sin"), rotary(block.head_dim, position), strict=True)):
            self.put(block, name, values)
        isa = SMALL.decoder.isa
        words = encode_words(block.program(position + 1, self.entries, selected), isa)
        commands = {**isa.commands(fields_of(words)), "position": np.arange(len(words))}
        self.model.run(np.stack([commands[name] for name in SMALL.command_layout.widths], axis=1))
        got = self.model.hub.words("", block.slot("x"), block.hidden // block.lanes)
        return to_float64(got.reshape(-1), BF16), reference.step(x)


class Masked:
    """A block whose query heads attend to some tokens only: ``read`` has a row of truth values for each list."""

    def __init__(self, block, reference, read):
        self.block, self.reference, self.read = block, reference, read

    def step(self, x):
        shape, reference, position = self.block, self.reference, len(self.reference.keys)
        out = []
        for head in range(shape.heads):
            # A block of one query head, with only the keys and values that the head reads.
            own = self.read[head * len(self.read) // shape.heads]
            kv, dim = head // shape.group, shape.head_dim
            one = replace(shape, heads=1, kv_heads=1)
            part = dict(reference.matrices)
            for name, number in (("wq", head), ("wk", kv), ("wv", kv)):
                part[name] = part[name][number * dim : (number + 1) * dim]
            part["wo"] = np.eye(shape.hidden, dim)
            part["w2"] = np.zeros_like(part["w2"])
            alone = Reference(one, part, reference.norms)
            alone.keys = [key[kv : kv + 1] for key, read in zip(reference.keys, own, strict=True) if read]
            alone.values = [value[kv : kv + 1] for value, read in zip(reference.values, own, strict=True) if read]
            out.append((alone.step(x, position) - x)[:dim])
        full, norm = reference.matrices, reference._norm
        y = x + full["wo"] @ np.concatenate(out)
        gate = full["w1"] @ norm(y, 1)
        return y + full["w2"] @ (gate / (1 + np.exp(-gate)) * (full["w3"] @ norm(y, 1)))


def error(got, exact):
    return np.linalg.norm(got - exact) / np.linalg.norm(exact)


@pytest.mark.parametrize("maximum", [False, True], ids=["scores-as-they-come", "less-the-maximum"])
def test_block_against_binary64(maximum):
    device = Device([small(hidden=32, heads=2, kv_heads=1, head_dim=8, ffn=40, subtract_maximum=maximum)])
    for _ in range(3):
        assert error(*device.step(0)) < 0.02


@pytest.mark.parametrize(
    "shape", [(64, 4, 2, 16, 160, 2), (48, 6, 3, 8, 52, 2), (32, 8, 2, 16, 36, 1), (96, 3, 3, 24, 100, 1)]
)
def test_shapes_against_binary64(shape):
    device = Device([small(*shape)])
    for _ in range(6):
        assert error(*device.step(0)) < 0.02


@pytest.mark.parametrize("maximum", [False, True])
def test_tokens_over_the_border_of_a_row(maximum):
    device = Device(
        [small(hidden=16, heads=2, kv_heads=1, head_dim=8, ffn=16, max_tokens=36, subtract_maximum=maximum)]
    )
    for _ in range(35):
        assert error(*device.step(0)) < 0.03


@pytest.mark.parametrize("size", [20.0, 60.0])
@pytest.mark.parametrize("maximum", [False, True])
def test_large_scores(size, maximum):
    """Scores up to 60 stay below the exponential's overflow in BF16, which begins above 88."""
    block = small(hidden=32, heads=2, kv_heads=1, head_dim=8, ffn=40, subtract_maximum=maximum)
    device = Device([block])
    reference = device.references[0]
    keys, values = (device.numbers((5, 1, 8), 1.0) for _ in range(2))
    x = np.random.default_rng(0)
    scores = np.abs(keys[:, 0] @ reference.query(x.normal(size=32), 5).T / 8**0.5).max()
    keys = to_float64(bits(keys * size / scores), BF16)
    device.fill(0, keys, values)
    assert error(*device.step(0)) < 0.05


def test_two_blocks_of_a_device_have_inputs_of_their_own():
    shape = {"hidden": 16, "heads": 2, "kv_heads": 1, "head_dim": 8, "ffn": 16, "channels": 1, "slots": 128}
    device = Device([small(**shape), small(**shape, first=1, first_slot=128)])
    for number in (0, 1, 1, 0):
        assert error(*device.step(number)) < 0.02


@pytest.mark.parametrize(
    "block", [small(), small(48, 6, 3, 8, 52), ExecutableBlock(1040, 4, 2, 128, 1104, 2, max_tokens=64)]
)
def test_every_weight_has_a_place_of_its_own(block):
    names = list(MATRICES)
    for name in names:
        inputs, outputs = block.matrix(name)
        rows = block.rows_of(name, 1 + np.arange(outputs * inputs, dtype=np.int64).reshape(outputs, inputs))
        placed = np.concatenate([row.reshape(-1) for row in rows.values()])
        assert np.array_equal(np.sort(placed[placed > 0]), 1 + np.arange(outputs * inputs))
        first = block.regions[name]
        assert min(rows) == first and max(rows) < min([at for at in block.regions.values() if at > first])
        assert block.gemv(name).rows == len(rows)


def test_keys_and_values_have_places_of_their_own():
    block = small()
    shape = (40, block.kv_heads, block.head_dim)
    count = int(np.prod(shape))
    rows = {row: np.zeros((2, 8, 4, 4), np.int64) for row in range(block.regions["end"])}
    block.fill_caches(rows, 1 + np.arange(count).reshape(shape), 1 + count + np.arange(count).reshape(shape))
    placed = np.concatenate([rows[row].reshape(-1) for row in rows if row >= block.regions["keys"]])
    assert np.array_equal(np.sort(placed[placed > 0]), 1 + np.arange(2 * count))
    present = np.stack([rows[row] for row in range(block.regions["present"], block.regions["keys"])])
    # A one for each token, in the places of its values: every bank of every channel.
    assert np.count_nonzero(present) == 40 * block.channels * block.banks


@pytest.mark.parametrize("past", [70, 95, 99, 126])
@pytest.mark.parametrize("channels", [1, 2])
def test_fewer_slots_change_the_program_but_not_what_it_computes(channels, past):
    """With few slots, few tokens and heads attend at a time. Their sums stay in registers, so bits are the same."""
    shape = {"hidden": 16, "heads": 6, "kv_heads": 3, "head_dim": 8, "ffn": 20, "channels": channels, "max_tokens": 128}
    results, programs = [], []
    for slots in (46, 256):
        device = Device([small(**shape, slots=slots)], seed=3)
        keys, values = (device.numbers((past, 3, 8), 1.0) for _ in range(2))
        device.fill(0, keys, values)
        got, exact = device.step(0)
        assert error(got, exact) < 0.02
        results.append(got)
        programs.append(device.blocks[0].program(past + 1, device.entries))
    assert np.array_equal(*results)
    assert programs[0].counts() != programs[1].counts()


@pytest.mark.parametrize("lists", [1, 3, 6])
@pytest.mark.parametrize("slots", [46, 256])
def test_attention_reads_the_words_that_are_selected(slots, lists):
    """One list for all heads, one for each head of keys and values, and one for each query."""
    block = small(hidden=16, heads=6, kv_heads=3, head_dim=8, ffn=20, slots=slots, max_tokens=128)
    device, rng = Device([block], seed=3), np.random.default_rng(lists)
    device.fill(0, *(device.numbers((101, 3, 8), 1.0) for _ in range(2)))
    selected = [np.append(np.sort(rng.choice(25, 12, replace=False)), 25) for _ in range(lists)]
    assert error(*device.step(0, selected)) < 0.02


def test_all_words_selected_give_the_same_bits():
    block = small(hidden=16, heads=6, kv_heads=3, head_dim=8, ffn=20, slots=64, max_tokens=128)
    results = []
    for selected in (None, [np.arange(26)]):
        device = Device([block], seed=3)
        device.fill(0, *(device.numbers((101, 3, 8), 1.0) for _ in range(2)))
        results.append(device.step(0, selected)[0])
    assert np.array_equal(*results)


def test_block_of_the_largest_model_fits_buffer_and_rows():
    block = ExecutableBlock(8192, 64, 8, 128, 28672, 10)
    words = encode_words(block.program(4096, ENTRIES), CentIsa())  # every operand is legal
    assert len(words) * WORD_BYTES < 2 << 20
    assert block.regions["end"] <= 16384


def test_a_block_needs_fewer_bias_writes_than_the_generator_of_the_authors():
    """Sums stay in their registers over all pieces of an input, so each output of a bank takes one WR_BIAS."""
    block = ExecutableBlock(4096, 32, 32, 128, 11008, 8, max_tokens=1)
    counts = block.program(1, ENTRIES).counts()
    outputs = sum(block.gemv(name).per_unit for name in MATRICES)
    assert counts["WR_BIAS"] == outputs + 2 + 32 + 4 * (8 + 1)


@pytest.mark.parametrize(
    "change,message",
    [
        ({"head_dim": 12}, "head_dim must be a multiple of 8 up to 32, not 12"),
        ({"kv_heads": 3}, r"heads \(4\) must be a multiple of kv_heads \(3\)"),
        ({"hidden": 62}, "hidden must be a multiple of 4, not 62"),
        ({"ffn": 161}, "ffn must be a multiple of 4, not 161"),
        ({"slots": 60}, "60 slots are too few for hidden 64: [0-9]+ are needed"),
        ({"registers": 5}, "a head of 16 elements needs 6 registers of a bank, not 5"),
        ({"first": 31}, "channels 31 to 32 are beyond the device's 32"),
        ({"banks": 8}, r"banks must equal lanes \(4\), not 8"),
    ],
)
def test_sizes_that_do_not_fit(change, message):
    with pytest.raises(ConfigError, match=message):
        replace(small(), **change)


def test_tokens_beyond_the_caches():
    with pytest.raises(ConfigError, match="tokens must be 1 to 40, not 41"):
        small().program(41, ENTRIES)


def test_slot_that_nothing_wrote():
    device = Device([small(hidden=16, heads=2, kv_heads=1, head_dim=8, ffn=16)])
    device.model.hub.known[:] = False
    isa = SMALL.decoder.isa
    commands = {
        **isa.commands(fields_of(encode_words(device.blocks[0].program(1, device.entries), isa))),
        "position": np.arange(1),
    }
    names = list(SMALL.command_layout.widths)
    with pytest.raises(ConfigError, match="WR_SBK: register [0-9]+ was never written"):
        device.model.run(np.stack([np.broadcast_to(commands[name], len(commands["op"])) for name in names], axis=1))
