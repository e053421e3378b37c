"""Model shapes and operators against published parameter counts and sums done by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bankside.constraints.core.errors import ConfigError
from bankside.models.llm import embedding_operators, head_operators, layer_operators, load_model, model_names


def card(**changes):
    return {
        "model_type": "llama",
        "hidden_size": 4096,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "intermediate_size": 14336,
        "vocab_size": 128256,
        "torch_dtype": "bfloat16",
        "max_position_embeddings": 8192,
        "tie_word_embeddings": False,
        **changes,
    }


def write(tmp_path, value, name="config.json"):
    path = tmp_path / name
    path.write_text(value if isinstance(value, str) else json.dumps(value, indent=2))
    return path


# Parameter counts of the published checkpoints (their safetensors indices and model cards), biases and norms included.
@pytest.mark.parametrize(
    "name, parameters",
    [
        ("llama-3-8b", 8_030_261_248),
        ("llama-3-70b", 70_553_706_496),
        ("llama-2-7b", 6_738_415_616),
        ("llama-2-13b", 13_015_864_320),
        ("llama-2-70b", 68_976_648_192),
        ("mistral-7b", 7_241_732_096),
        ("qwen2.5-32b", 32_763_876_352),
        ("opt-6.7b", 6_658_473_984),
        ("gpt2-xl", 1_557_611_200),
        ("mpt-7b-storywriter", 6_649_286_656),
    ],
)
def test_parameters_of_published_checkpoints(name, parameters):
    model = load_model(name)
    assert model.parameters == parameters
    assert model.weight_bytes == 2 * parameters


# Billions, as Table 1 of Narayanan et al. (SC 2021), the GPT-3 paper and the LLaMA paper print them.
@pytest.mark.parametrize(
    "name, billions",
    [
        ("mt-76b", 76.1),
        ("mt-146b", 145.6),
        ("mt-310b", 310.1),
        ("mt-530b", 529.6),
        ("mt-1008b", 1008.0),
        ("gpt-175b", 174.6),
        ("llama-65b", 65.3),
    ],
)
def test_parameters_of_published_tables(name, billions):
    assert round(load_model(name).parameters / 1e9, 1) == billions


def test_elements_of_a_byte(tmp_path):
    """A card may say int8: half the bytes of everything."""
    model = load_model(write(tmp_path, card(torch_dtype="int8")))
    assert model.dtype_bytes == 1 and model.weight_bytes == model.parameters


# 2 (K, V) x layers x key/value heads x head dimension x 2 bytes
@pytest.mark.parametrize(
    "name, kib",
    [
        ("llama-3-70b", 320),
        ("opt-175b", 4608),
        ("llama-2-7b", 512),
        ("llama-3-8b", 128),
        ("opt-66b", 2304),
        ("qwen2.5-32b", 256),
    ],
)
def test_kv_bytes_per_token(name, kib):
    assert load_model(name).kv_bytes_per_token == kib * 1024


def test_llama_3_70b():
    model = load_model("llama-3-70b")
    assert (model.layers, model.hidden_size, model.heads, model.kv_heads, model.head_dim, model.group) == (
        80,
        8192,
        64,
        8,
        128,
        8,
    )
    assert (model.intermediate_size, model.vocab_size, model.max_context, model.gated, model.dtype) == (
        28672,
        128256,
        8192,
        True,
        "bfloat16",
    )


def test_every_builtin_model_loads_and_says_its_size():
    """The number of billions in a name is that of its parameters, roughly."""
    assert len(model_names()) >= 16
    for name in model_names():
        model = load_model(name)
        assert model.heads * model.head_dim == model.hidden_size
        words = [word for word in name.split("-") if word.endswith("b") and word[:-1].replace(".", "").isdigit()]
        for word in words:
            assert model.parameters / 1e9 == pytest.approx(float(word[:-1]), rel=0.11)  # Qwen1.5-7B: 7.72


@pytest.mark.parametrize("alias", ["LLaMA-3-70B", "Meta-Llama-3-70B", "llama3-70b", "Llama_3_70B"])
def test_names_are_read_generously(alias):
    assert load_model(alias).name == "llama-3-70b"


def test_a_name_with_a_slash_is_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models" / "llama-2-7b").mkdir(parents=True)
    for name in ("meta-llama/Llama-2-7b", "/no/such/dir/llama-2-7b"):
        with pytest.raises(ConfigError, match=f"^{name}: no such file or directory; the built-in model is called "):
            load_model(name)
    with pytest.raises(ConfigError, match=r"^models/llama-2-7b/config\.json: no such file or directory$"):
        load_model("models/llama-2-7b")
    (tmp_path / "llama-2-7b").write_text("{}")  # a bare name is the built-in model
    assert load_model("llama-2-7b").layers == 32


@pytest.mark.parametrize(
    "kinds, window",
    [
        (["full_attention"] * 2, None),
        (["sliding_attention"] * 2, 64),
        (["full_attention", "sliding_attention"], "different"),
        (["other"], "unknown layer type 'other'"),
        ("full_attention", "must be a list"),
    ],
)
def test_windows_by_layer(tmp_path, kinds, window):
    """Layers that differ are refused: a window of some is none of all."""
    path = write(tmp_path, card(model_type="mistral", sliding_window=64, layer_types=kinds))
    if isinstance(window, str):
        with pytest.raises(ConfigError, match=window):
            load_model(path)
    else:
        assert load_model(path).sliding_window == window


def test_config_json_of_a_user(tmp_path):
    model = load_model(write(tmp_path, card()))
    builtin = load_model("llama-3-8b")
    assert model == builtin.model_copy(update={"name": tmp_path.name})
    assert load_model(tmp_path) == model


def test_head_dim_is_respected(tmp_path):
    model = load_model(write(tmp_path, card(head_dim=160)))
    assert model.head_dim == 160
    assert model.kv_bytes_per_token == 2 * 32 * 8 * 160 * 2


def test_optional_keys(tmp_path):
    values = card(dtype="float16", torch_dtype=None, sliding_window=4096, mlp_bias=True, attention_bias=True)
    del values["num_key_value_heads"], values["tie_word_embeddings"]
    model = load_model(write(tmp_path, values))
    assert (model.kv_heads, model.dtype, model.tied_embeddings, model.sliding_window) == (32, "float16", False, 4096)
    plain = load_model(write(tmp_path, {**values, "mlp_bias": False, "attention_bias": False}))
    assert model.layer_parameters - plain.layer_parameters == 3 * 4096 + 4096 + 2 * 14336 + 4096
    assert np.array_equal(model.attended(np.array([1, 4096, 5000])), [1, 4096, 4096])


def test_model_type_from_architecture(tmp_path):
    values = card(architectures=["MistralForCausalLM"])
    del values["model_type"]
    assert load_model(write(tmp_path, values)).family == "mistral"


def test_opt_with_narrow_embedding(tmp_path):
    """OPT-350M projects between 512 and 1024, has its norms behind, and 331 million parameters."""
    values = {
        "model_type": "opt",
        "hidden_size": 1024,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "ffn_dim": 4096,
        "vocab_size": 50272,
        "max_position_embeddings": 2048,
        "word_embed_proj_dim": 512,
        "do_layer_norm_before": False,
        "torch_dtype": "float16",
    }
    model = load_model(write(tmp_path, values))
    assert model.parameters == 331_196_416
    names = [op.name for op in embedding_operators(model, 1) + head_operators(model, 1)]
    assert names == ["embedding", "embedding_projection", "head_projection", "lm_head"]


# Errors --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content, message",
    [
        ({"name": "x", "version": 1}, r"not a model's config\.json: no key 'model_type'; found name, version$"),
        ({}, r"not a model's config\.json: no key 'model_type'; found no key$"),
        ([1, 2], r"not a model's config\.json: a list of keys and values is needed, not list$"),
        ('{\n  "a": 1,\n}', r"config\.json:[23]: not valid JSON: "),
        ("", r"config\.json:1: not valid JSON: expecting value$"),
        (card(model_type="lama"), r"config\.json:2: unknown model_type 'lama'; did you mean 'llama'\?"),
        (card(hidden_size=None, hiden_size=4096), r"'llama' needs key 'hidden_size' \(did you mean 'hiden_size'\?\);"),
        (card(num_hidden_layers="32"), r"config\.json:4: num_hidden_layers must be a positive whole number, not '32'$"),
        (card(num_hidden_layers=True), r"num_hidden_layers must be a positive whole number, not True$"),
        (card(vocab_size=-5), r"vocab_size must be a positive whole number, not -5$"),
        (card(num_attention_heads=33), r"4096 is not a multiple of num_attention_heads 33, and there is no head_dim$"),
        (card(num_key_value_heads=5), r"32 attention heads can't share 5 key/value heads evenly$"),
        (card(torch_dtype="bfloat61"), r"unknown torch_dtype 'bfloat61'; did you mean 'bfloat16'\?"),
        (card(num_local_experts=8), r"key 'num_local_experts': mixture-of-experts models are not supported$"),
        (card(quantization_config={"bits": 4}), r"key 'quantization_config': quantised weights are not supported$"),
        (card(model_type="qwen2", use_sliding_window=True), r"use_sliding_window is not supported$"),
        (card(tie_word_embeddings="no"), r"tie_word_embeddings must be true or false, not 'no'$"),
        (card(hidden_size=1 << 30, head_dim=128), r"hidden_size: Input should be less than or equal to 16777216$"),
    ],
)
def test_what_is_not_a_model_is_told_in_one_line(tmp_path, content, message):
    path = write(tmp_path, content)
    with pytest.raises(ConfigError, match=message) as error:
        load_model(path)
    assert str(error.value).startswith(str(path)) and "\n" not in str(error.value)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ConfigError, match=r"unknown model 'llama-3-71b'; did you mean 'llama-3-70b'\?.*config\.json$"):
        load_model("llama-3-71b")
    with pytest.raises(ConfigError, match=r"missing\.json: no such file or directory$"):
        load_model(tmp_path / "missing.json")
    with pytest.raises(ConfigError, match=r"config\.json: no such file or directory$"):
        load_model(tmp_path)
    path = tmp_path / "binary.json"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"not UTF-8 text \(byte 0\)$"):
        load_model(path)


# Operators -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["llama-3-70b", "opt-66b", "qwen2.5-32b", "mpt-7b-storywriter"])
@pytest.mark.parametrize("tp", [1, 4])
def test_weights_of_the_operators_are_those_of_the_model(name, tp):
    """Matrices are split over the devices; norms, and the biases of what is split by columns, are on each."""
    model = load_model(name)
    weights = tp * sum(op.weight_bytes for op in layer_operators(model, 3, 100, tp))
    copies = model.norm_vectors * model.hidden_size + (model.out_bias + model.ffn_bias) * model.hidden_size
    assert weights == 2 * (model.layer_parameters + (tp - 1) * copies)


def test_operators_of_llama_3_70b_by_hand():
    """Batch 16, context 4096, 4 devices: 16 query and 2 key/value heads on each."""
    ops = {op.name: op for op in layer_operators(load_model("llama-3-70b"), 16, 4096, 4)}
    assert list(ops) == [
        "attention_norm",
        "qkv",
        "attention_score",
        "attention_context",
        "out_projection",
        "attention_allreduce",
        "ffn_norm",
        "ffn_gate",
        "ffn_up",
        "ffn_activation",
        "ffn_down",
        "ffn_allreduce",
    ]
    assert (ops["qkv"].m, ops["qkv"].n, ops["qkv"].k) == (16, (16 + 2 + 2) * 128, 8192)
    assert (ops["out_projection"].n, ops["out_projection"].k) == (8192, 16 * 128)
    assert (ops["ffn_gate"].n, ops["ffn_gate"].k) == (28672 // 4, 8192)
    assert (ops["ffn_down"].n, ops["ffn_down"].k) == (8192, 28672 // 4)
    # K once per group of 8 queries: 16 requests x 2 heads x 4096 tokens x 128 x 2 bytes
    score, context = ops["attention_score"], ops["attention_context"]
    assert (score.m, score.n, score.k, score.count) == (8, 4096, 128, 32)
    assert score.kv_bytes == context.kv_bytes == 16 * 2 * 4096 * 128 * 2
    assert context.flops == 2 * 16 * 16 * 4096 * 128
    assert ops["ffn_up"].flops == 2 * 16 * 7168 * 8192
    assert ops["ffn_allreduce"].bytes == 16 * 8192 * 2


def test_group_reads_k_and_v_once(tmp_path):
    """With 8 times the key/value heads and the same queries, attention moves 8 times the bytes at the same flops."""
    shared, own = (load_model(write(tmp_path, card(num_key_value_heads=heads))) for heads in (4, 32))
    for one, eight in zip(layer_operators(shared, 2, 1000), layer_operators(own, 2, 1000), strict=True):
        if one.kind == "attention":
            assert eight.kv_bytes == 8 * one.kv_bytes and eight.flops == one.flops


def test_fewer_key_value_heads_than_devices_are_copied(tmp_path):
    model = load_model(write(tmp_path, card(num_key_value_heads=2)))
    ops = {op.name: op for op in layer_operators(model, 1, 10, 8)}
    assert ops["qkv"].n == (32 // 8 + 2) * 128
    assert ops["attention_score"].m == 4


def test_context_may_be_an_array():
    model, contexts = load_model("llama-3-8b"), np.array([1, 100, 4096])
    many = layer_operators(model, 3, contexts)
    for number, context in enumerate(contexts):
        for op, one in zip(many, layer_operators(model, 3, int(context)), strict=True):
            assert np.broadcast_to(op.bytes, 3)[number] == one.bytes
            assert np.broadcast_to(op.flops, 3)[number] == one.flops


@pytest.mark.parametrize(
    "tp, message",
    [
        (3, r"^tensor parallelism of 3 does not divide the model's 64 attention heads$"),
        (128, r"^tensor parallelism of 128 does not divide the model's 64 attention heads$"),
    ],
)
def test_model_that_does_not_split(tp, message):
    with pytest.raises(ConfigError, match=message):
        layer_operators(load_model("llama-3-70b"), 1, 1, tp)
