"""A decoder whose attention is a system's: each backend against the models of its units, and runs against float32."""

import numpy as np
import pytest

from bankside.constraints.cent.device import PRESETS as DEVICES
from bankside.constraints.cent.isa import fields_of
from bankside.constraints.cent.programs import image_for
from bankside.constraints.core.errors import ConfigError
from bankside.constraints.core.formats import BF16, FP16, FP32
from bankside.constraints.inf2.gemv import Gemv, GemvMode
from bankside.constraints.lolpim.module import LolPimModuleConfig
from bankside.cosim.lolpim.module import Session
from bankside.cosim.pam.ru import random_merge
from bankside.hardware.selection import select
from bankside.models.aim.hub import layer_norm, softmax
from bankside.models.cent.device import DeviceModel
from bankside.models.cent.executable import SCALARS
from bankside.models.cent.words import encode_words
from bankside.models.decode import BACKENDS, Backend, Decoder, compare, free_run, make_backend, teacher_forced
from bankside.models.decode.backend import Place, exact_attention, values
from bankside.models.decode.cent import CentBackend
from bankside.models.decode.evaluate import Sampling
from bankside.models.decode.lolpim import LolPimBackend, hub_softmax
from bankside.models.inf2.gemv import gemv
from bankside.models.llm.weights import read_model
from bankside.models.numerics import from_float64
from bankside.models.numerics.softmax import softmax as inf2_softmax
from bankside.models.numerics.sums import Lists
from bankside.models.pam.compositions import slice_attention, tier_merge
from bankside.models.pam.merging import merge_lists
from bankside.models.pam.ru import Partial, reduce_partials
from tests.made_up_model import TEXT, write_model

PLACE = Place(0, 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("model") / "made-up", head_dim=32)


@pytest.fixture(scope="module")
def model(folder):
    return read_model(folder)


@pytest.fixture(scope="module")
def tokens(model):
    return np.array(model.tokenizer.encode(TEXT[:48], add_special_tokens=False).ids)


def data(rng, fmt, queries, tokens, dim):
    return (
        from_float64(rng.normal(size=(n, dim)) * scale, fmt)
        for n, scale in ((queries, dim**-0.5 * 3), (tokens, 1), (tokens, 1))
    )


# Backends against units ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chosen", [False, True], ids=["dense", "some-tokens"])
def test_pam_is_the_composition_of_its_units(model, chosen):
    backend, rng, count, dim = make_backend("pam"), np.random.default_rng(1), 90, 64
    backend.begin(model, count)
    weights = np.tril(rng.random((count, count))).astype(np.float32)
    backend.arrive(weights)
    q, k, v = data(rng, FP16, count, count, dim)
    picked = [np.flatnonzero(rng.random(n + 1) < 0.5) if chosen and n else np.arange(n + 1) for n in range(count)]
    got = backend.attend(PLACE, q, k, v, Lists.of(picked), 0)
    for n in (0, 1, 17, count - 1):
        results, begin = [], 0
        for tier in backend.tiers:
            own = [backend._orders[n][backend._units[n] == begin + unit] for unit in range(tier.units)]
            own = [part[np.isin(part, picked[n])] for part in own]
            begin += tier.units
            results.append(
                slice_attention(tier.slice, q[n], [k[part] for part in own], [v[part] for part in own], normalise=False)
            )
        assert np.array_equal(got[n], tier_merge(backend.merge, results, normalise=True).o), n
    last = np.array(backend.by_tier)
    assert (last.sum(axis=1) == np.arange(1, count + 1)).all() and (last[-1] > 0).all()


@pytest.mark.parametrize("sets", [[], ["format=bf16", "acc_format=bf16", "score_format=bf16"]], ids=["fp32", "bf16"])
def test_merges_of_lists_are_those_of_the_reduction_unit(sets):
    config, rng = select("pam-ru", sets=sets).config, np.random.default_rng(5)
    merges = [
        random_merge(config, rng.integers(1, 4, config.sources).tolist(), 32, rng, normalise=False, kind=kind)
        for kind in ("normal", "spread", "equal", "bits")
    ]
    parts = [merge.partials(config) for merge in merges]
    first = np.concatenate([[0], np.cumsum([len(part.m) for part in parts])])
    partials = Partial(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("m", "scale", "l", "o")))
    for normalise in (False, True):
        got = merge_lists(config, partials, np.arange(first[-1]), first, normalise=normalise)
        for n, part in enumerate(parts):
            want = reduce_partials(config, part, normalise=normalise)
            assert all(np.array_equal(getattr(got, name)[n], getattr(want, name)) for name in ("m", "scale", "l", "o"))


def module(channels=1):
    return LolPimModuleConfig.model_validate(
        {
            "dispatcher": {
                "command_bytes": 4096,
                "table_entries": 64,
                "slots": 3,
                "row_bits": 6,
                "entry_bits": 8,
                "mask_bits": channels,
                "column_bits": 3,
                "bank_bits": 2,
                "gpr_bits": 7,
                "opsize_bits": 9,
                "register_bits": 1,
            },
            "channel": {
                "banks": 4,
                "lanes": 4,
                "buffer_bytes": 64,
                "max_beats": 1024,
                "table_entries": 16,
                "opsize_bits": 9,
            },
            "hub": {"channels": channels, "lanes": 4, "gpr_bytes": 1024, "max_elements": 256},
        }
    )


@pytest.mark.parametrize("kind", ["normal", "dominant", "equal", "extreme"])
def test_lol_pim_is_its_program_on_a_module(kind):
    session = Session(module(2), 8, 16, np.random.default_rng(2))
    backend = LolPimBackend("lol-pim", module(2))
    k, v, q = session.data(14, 5, kind)
    session.admit(0, 7, k[:14], v[:14])
    for step in range(5):
        session.decode(0, q[step], k[14 + step], v[14 + step], kind)
        want = np.array(session.model.given[session.decoded[-1].results]).reshape(-1)
        got = backend.unit(PLACE, q[step : step + 1], k, v, Lists.of([np.arange(15 + step)]))
        assert np.array_equal(got[0], want), step


@pytest.mark.parametrize("special", [0.0, 0.3])
def test_softmax_and_norm_of_the_hub(model, special):
    backend, rng = LolPimBackend("lol-pim"), np.random.default_rng(3)
    backend.model = model
    lists = Lists.of([np.arange(n) for n in (1, 2, 15, 16, 17, 100)])
    scores = from_float64(rng.normal(size=lists.first[-1]) * 4, BF16)
    scores = np.where(rng.random(len(scores)) < special, rng.integers(0, 1 << 16, len(scores)), scores)
    got = hub_softmax(backend.hub, scores, lists)
    for n in range(len(lists.sizes)):
        part = slice(lists.first[n], lists.first[n + 1])
        assert np.array_equal(got[part], softmax(backend.hub, scores[part])), n
    x = from_float64(rng.normal(size=(5, 72)), BF16)
    one = np.full(72, BF16.bias << BF16.fraction_bits)
    normed = backend.norm(values(x, BF16), values(one, BF16))
    want = [layer_norm(backend.hub, row, centred=False) for row in x]
    assert np.array_equal(normed, values(np.array(want), BF16))


@pytest.mark.parametrize("maximum", [False, True], ids=["scores-as-they-come", "less-the-maximum"])
def test_cent_is_its_program_on_a_device(tmp_path, maximum):
    """A block token by token: products, norms, rotary positions, softmax, SwiGLU and sums have the device's bits."""
    model = read_model(write_model(tmp_path / "one", layers=1, ffn=100))
    backend = CentBackend("cent", "faithful", maximum, DEVICES["cent-small"])
    tokens = np.array([5, 200, 17, 33, 90, 5, 61])
    decoder = Decoder(model, backend, len(tokens))
    logits = decoder.forward(tokens)
    block, w = backend.block_shape, model.layer(0)
    names = {
        "wq": "self_attn.q_proj",
        "wk": "self_attn.k_proj",
        "wv": "self_attn.v_proj",
        "wo": "self_attn.o_proj",
        "w1": "mlp.gate_proj",
        "w3": "mlp.up_proj",
        "w2": "mlp.down_proj",
    }
    contents = block.contents(
        {short: from_float64(w[f"{name}.weight"], BF16) for short, name in names.items()},
        [from_float64(w[f"{name}.weight"], BF16) for name in ("input_layernorm", "post_attention_layernorm")],
        int(from_float64(np.array(model.shape.head_dim**-0.5), BF16)),
        np.zeros((block.regions["end"], block.channels, 8, 4, 4), np.int64),
    )
    rows = [{row: columns[n] for row, columns in contents.items()} for n in range(2)]
    device = DeviceModel(DEVICES["cent-small"], rows)
    image = image_for(4).with_parameters(
        inverse_length=int(from_float64(np.array(1 / 64), FP32)),
        epsilon=int(from_float64(np.array(model.norm_eps), FP32)),
    )
    device.load(image.words)
    isa = DEVICES["cent-small"].decoder.isa

    def put(name, numbers):
        device.hub.store(block.slot(name), from_float64(np.asarray(numbers, np.float32), BF16).reshape(-1, block.lanes))

    put("zero", np.zeros(4))
    put("one", np.ones(4))
    for position, token in enumerate(tokens):
        angles = np.tile(position * model.rotary, 2)
        put("x", model.embedding[token])
        put("cos", np.cos(angles))
        put("sin", np.sin(angles) * np.repeat([-1, 1], 8))
        words = encode_words(block.program(position + 1, {name: image.entry(name) for name in SCALARS}), isa)
        commands = {**isa.commands(fields_of(words)), "position": np.arange(len(words))}
        device.run(np.stack([commands[name] for name in device.config.command_layout.widths], axis=1))
        x = values(device.hub.words("", block.slot("x"), 16).reshape(1, -1), BF16)
        want = backend.gemv("lm_head", backend.norm(x, model.tensors["model.norm.weight"]), model.output)
        assert np.array_equal(logits[position], want[0]), position


@pytest.mark.parametrize("name", ["inf2", "inf2-fp32"])
def test_inf2_is_its_engine_and_its_softmax(name):
    backend, rng = make_backend(name), np.random.default_rng(4)
    q, k, v = data(rng, FP16, 3, 140, 64)
    got = backend.unit(PLACE, q, k, v, Lists.prefixes([1, 130, 140]))
    for n, count in enumerate((1, 130, 140)):
        scores = gemv(backend.config, Gemv(GemvMode.QK, count, 64), q[n], k[:count])[:count]
        p = inf2_softmax(scores, None, backend.rule)
        assert np.array_equal(got[n], gemv(backend.config, Gemv(GemvMode.SV, count, 64), p, v[:count])[:64]), count


# Runs ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [*(name for name in BACKENDS if name != "cent-taylor"), "window-16-pam", "quest-32-lol-pim"]
)
def test_a_text_is_the_same_whole_and_token_by_token(model, tokens, name):
    """Attention of the units has the same bits; products of float32 differ in their last bits."""
    whole = teacher_forced(model, make_backend(name), tokens[:24])
    backend, exact = make_backend(name), Decoder(model, Backend(), 24, watch=True)
    decoder, out = Decoder(model, backend, 24), []
    for token in tokens[:24]:
        exact.forward(np.array([token]))
        backend.arrive(exact.seen.weights)
        out.append(decoder.forward(np.array([token])))
    tolerance = {"float32": 1e-5, "float16": 0.05, "lol-pim": 0, "cent": 0, "cent-maximum": 0}.get(name, 0.05)
    assert np.abs(np.concatenate(out) - whole.logits).max() <= tolerance


def test_figures_of_a_run(model, tokens):
    """Perplexity, bytes, divergence and agreement against their definitions in binary64."""
    run = teacher_forced(model, make_backend("lol-pim"), tokens)
    found = compare(model, run)
    p, r = (np.exp(x.astype(float)) for x in (run.logits, run.reference))
    p, r = (x / x.sum(axis=1, keepdims=True) for x in (p, r))
    at = np.arange(len(tokens) - 1)
    nats = -np.log(p[at, tokens[1:]])
    assert found.perplexity == pytest.approx(np.exp(nats.mean()))
    assert found.bits_per_byte == pytest.approx(nats.sum() / np.log(2) / (len(tokens) - 1))  # a token is a byte
    assert found.reference_perplexity == pytest.approx(np.exp(-np.log(r[at, tokens[1:]]).mean()))
    assert found.kl_mean_nats == pytest.approx((r * np.log(r / p)).sum(axis=1).mean())
    same = run.logits.argmax(axis=1) == run.reference.argmax(axis=1)
    assert found.agreement == same.mean()
    assert found.first_difference == (None if same.all() else int(np.argmin(same)))
    assert found.max_abs_logit_error == np.abs(run.logits - run.reference).max() > 0


def test_attention_error_is_of_the_head_that_is_wrong(model, tokens):
    class OneHead(Backend):
        def attention(self, place, q, k, v, lists):
            out = exact_attention(q, k, v, lists)[0]
            return out * (1.5 if place == Place(1, 0) else 1)

    error = teacher_forced(model, OneHead(), tokens).error
    assert error[1, :2] == pytest.approx([0.5, 0.5]) and not error[0].any() and not error[1, 2:].any()


def test_free_decoding(model, tokens):
    """Greedy tokens are the most probable ones; a seed repeats a sample; float32 agrees with itself."""
    run = free_run(model, Backend(), tokens[:5], 12)
    assert len(run.tokens) == 17 and run.prompt == 5
    assert (run.logits[4:-1].argmax(axis=1) == run.tokens[5:]).all()
    assert compare(model, run).agreement == 1 and compare(model, run).first_difference is None
    first, again, other = (free_run(model, Backend(), tokens[:5], 12, Sampling(1.0, seed)).tokens for seed in (3, 3, 4))
    assert np.array_equal(first, again) and not np.array_equal(first, other)


def test_budgets_that_hold_everything_select_everything(model, tokens):
    dense = teacher_forced(model, make_backend("inf2"), tokens)
    for name in ("window-100-inf2", "quest-512-inf2"):
        assert np.array_equal(teacher_forced(model, make_backend(name), tokens).logits, dense.logits)


def test_quest_takes_the_page_of_the_largest_key(model):
    chosen = make_backend("quest-32-float32").selection
    k = np.zeros((64, 4), np.float32)
    k[20] = 5.0
    lists = chosen.choose(np.ones((1, 4), np.float32), k, np.array([60]))
    assert lists.tokens.tolist() == [*range(16, 32), *range(48, 60)]
    window = make_backend("window-8-float32").selection
    assert window.choose(k[:1], k, np.array([60])).tokens.tolist() == [0, 1, 2, 3, 56, 57, 58, 59]


def test_reads_of_a_window_by_hand(model):
    """At 40 tokens: the first four and the last twelve, 28 to 39, so units 0, 1 and 2 of 16. At 39: 27 to 38."""
    tokens = np.array(model.tokenizer.encode(TEXT[:40], add_special_tokens=False).ids)
    run = free_run(model, make_backend("window-16-float32"), tokens[:39], 1)
    assert run.reads[-2:].tolist() == [[39, 16, 3, 1, 3, 1], [40, 16, 3, 1, 3, 1]]
    assert run.reads[:39, 0].tolist() == list(range(1, 40)) and run.reads[9].tolist() == [10, 10, 1, 1, 1, 1]
    assert run.reads[33].tolist() == [34, 16, 3, 1, 3, 1] and run.reads[36].tolist() == [37, 16, 3, 1, 3, 1]
    assert run.reads[27].tolist() == [28, 16, 2, 1, 2, 1]
    assert teacher_forced(model, Backend(), tokens).reads is None


def test_reads_of_clusters_are_counted_where_the_method_places_them(model, tokens):
    """The last position of a text: the means of what each head's selection fetches."""
    backend = make_backend("starc-32-float32")
    backend.selection.interval = backend.selection.prefill = 16
    seen, attention = [], backend.attention

    def noted(place, q, k, v, lists):
        placed = backend.selection.placement(k, len(k), place.layer, place.head)
        for n in (len(tokens) - 1, 2 * len(tokens) - 1):  # two queries share keys
            mine = lists.tokens[lists.first[n] : lists.first[n + 1]]
            seen.append((len(mine), len(np.unique(placed.of(mine) // 16)), len(np.unique(mine // 16))))
        return attention(place, q, k, v, lists)

    backend.attention = noted
    run = teacher_forced(model, backend, tokens)
    wanted, placed, ordered = np.mean(seen, axis=0)
    assert len(seen) == 2 * 4 and run.reads[-1, [0, 1, 2, 4]] == pytest.approx([len(tokens), wanted, placed, ordered])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("pan", r"^unknown system 'pan'.*did you mean 'pam'"),
        ("qest-64-pam", r"^unknown method of sparse attention 'qest'.*did you mean 'quest'"),
        ("quest-8-pam", r"^the budget of quest must be at least 16 tokens, not 8$"),
    ],
)
def test_wrong_names(name, message):
    with pytest.raises(ConfigError, match=message):
        make_backend(name)


@pytest.mark.parametrize(
    ("name", "head_dim", "message"),
    [
        ("pam", 24, r"head dimension"),
        ("lol-pim", 24, r"^head dimension must be a power of two from 16"),
        ("cent", 24, r"^head_dim must be a multiple of 32 up to 1024, not 24$"),
        ("inf2", 512, r"^head_dim must be in 1\.\.256, not 512$"),
    ],
)
def test_head_dimensions_that_a_unit_does_not_take(tmp_path, name, head_dim, message):
    model = read_model(write_model(tmp_path / "odd", head_dim=head_dim, layers=1))
    with pytest.raises(ConfigError, match=message):
        Decoder(model, make_backend(name), 8)
