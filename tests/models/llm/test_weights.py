"""The reader of a model's weights: every kind of folder that it takes, and the error of every kind that it refuses."""

from __future__ import annotations

import json
import sys

import ml_dtypes
import numpy as np
import pytest

from bankside.constraints.core.errors import ConfigError, ToolMissing
from bankside.models.llm.weights import expected_tensors, read_model
from tests.made_up_model import write_model

QUERY, NORM = "model.layers.1.self_attn.q_proj.weight", "model.norm.weight"


@pytest.fixture
def folder(tmp_path):
    return write_model(tmp_path / "model")


def load(file):
    from safetensors.numpy import load_file

    return load_file(file)


def save(tensors, file):
    from safetensors.numpy import save_file

    save_file(tensors, file)


def change(folder, **tensors):
    """Write the weights with other tensors; None takes one out."""
    file = folder / "model.safetensors"
    save({name: value for name, value in {**load(file), **tensors}.items() if value is not None}, file)


def change_config(folder, **values):
    file = folder / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


def message(folder, name="") -> str:
    """One line that is the error of a folder, or of a path in it; ``F`` stands for the folder."""
    with pytest.raises(ConfigError) as error:
        read_model(folder / name)
    text = str(error.value)
    assert "\n" not in text
    return text.replace(str(folder), "F")


# What is read --------------------------------------------------------------------------------------------------------


def test_weights_are_those_of_the_file_as_float32(folder):
    model, stored = read_model(str(folder)), load(folder / "model.safetensors")
    assert list(model.tensors) == list(expected_tensors(model.shape)) and set(model.tensors) == set(stored)
    for name, tensor in model.tensors.items():
        assert tensor.dtype == np.float32 and np.array_equal(tensor, stored[name])
    assert sum(tensor.size for tensor in model.tensors.values()) == model.shape.parameters
    assert model.output is model.embedding
    layer = model.layer(1)
    assert layer["self_attn.q_proj.weight"] is model.tensors[QUERY] and len(layer) == 9
    assert model.tokenizer.decode(model.tokenizer.encode("a = 1\n").ids) == "a = 1\n"


def test_an_output_matrix_of_its_own(tmp_path):
    folder = write_model(tmp_path / "model", tied=False)
    model = read_model(folder)
    assert np.array_equal(model.output, load(folder / "model.safetensors")["lm_head.weight"])
    assert not np.array_equal(model.output, model.embedding)


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_groups_of_query_heads(tmp_path, kv_heads):
    model = read_model(write_model(tmp_path / "model", kv_heads=kv_heads))
    assert model.layer(0)["self_attn.k_proj.weight"].shape == (kv_heads * 16, 64)
    assert model.shape.group == 4 // kv_heads


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float32, np.float64])
def test_other_element_types(folder, dtype):
    before = load(folder / "model.safetensors")
    change(folder, **{name: tensor.astype(dtype) for name, tensor in before.items()})
    model = read_model(folder)
    for name, tensor in before.items():
        assert np.array_equal(model.tensors[name], tensor.astype(dtype).astype(np.float32))
        assert dtype is not ml_dtypes.bfloat16 or tensor.ndim == 1 or not np.array_equal(model.tensors[name], tensor)


def shard(folder, index=True):
    """Split the weights into two files; the old file stays if an index makes it no part of the model."""
    tensors = load(folder / "model.safetensors")
    names = sorted(tensors)
    parts = {"model-00001-of-00002.safetensors": names[::2], "model-00002-of-00002.safetensors": names[1::2]}
    for file, part in parts.items():
        save({name: tensors[name] for name in part}, folder / file)
    if index:
        save({"other": np.zeros(1, np.float16)}, folder / "model.safetensors")
        (folder / "model.safetensors.index.json").write_text(
            json.dumps({"metadata": {}, "weight_map": {name: file for file, part in parts.items() for name in part}})
        )
    else:
        (folder / "model.safetensors").unlink()
    return parts


@pytest.mark.parametrize("index", [True, False])
def test_several_files(folder, index):
    whole = read_model(folder)
    shard(folder, index)
    parts = read_model(folder)
    assert list(parts.tensors) == list(whole.tensors)
    for name, tensor in whole.tensors.items():
        assert np.array_equal(parts.tensors[name], tensor)


def test_tensors_that_exporters_store_besides_are_left_out(folder):
    embedding = load(folder / "model.safetensors")["model.embed_tokens.weight"]
    change(
        folder, **{"lm_head.weight": embedding, "model.layers.0.self_attn.rotary_emb.inv_freq": np.ones(8, np.float16)}
    )
    assert "lm_head.weight" not in read_model(folder).tensors


def test_biases_of_qwen2_and_norms_of_qwen3(folder):
    rng = np.random.default_rng(1)

    def add(name, size):
        change(
            folder, **{f"model.layers.{n}.self_attn.{name}": rng.normal(size=size).astype(np.float16) for n in range(2)}
        )

    change_config(folder, model_type="qwen2")
    names = [f"model.layers.0.self_attn.{name}_proj.bias" for name in "qk"]
    assert f"6 missing ({', '.join(names)} and 4 more)" in message(folder)
    for name, size in (("q", 64), ("k", 32), ("v", 32)):
        add(f"{name}_proj.bias", size)
    assert read_model(folder).layer(1)["self_attn.v_proj.bias"].shape == (32,)
    change_config(folder, model_type="qwen3")
    assert "4 missing" in message(folder) and "6 too many" in message(folder)
    change(folder, **{name: None for name in load(folder / "model.safetensors") if name.endswith("bias")})
    for name in "qk":
        add(f"{name}_norm.weight", 16)
    model = read_model(folder)
    assert model.layer(0)["self_attn.k_norm.weight"].shape == (16,)
    assert sum(tensor.size for tensor in model.tensors.values()) == model.shape.parameters


def test_a_folder_without_tokenizer(folder):
    (folder / "tokenizer.json").unlink()
    assert read_model(folder).tokenizer is None


# Rotary frequencies --------------------------------------------------------------------------------------------------


def test_rotary_frequencies(folder):
    plain = 10_000.0 ** (-np.arange(8) / 8)
    assert np.allclose(read_model(folder).rotary, plain, rtol=1e-15)
    change_config(folder, rope_scaling={"type": "linear", "factor": 4.0})
    assert np.allclose(read_model(folder).rotary, plain / 4, rtol=1e-15)
    change_config(folder, rope_parameters={"rope_type": "default", "rope_theta": 500_000.0}, rope_scaling=None)
    assert np.allclose(read_model(folder).rotary, 500_000.0 ** (-np.arange(8) / 8), rtol=1e-15)


def test_rotary_frequencies_of_llama_3_1(folder):
    """Computed here as the method is described: by the wave length of each pair, one after another."""
    rule = {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 512,
    }
    change_config(folder, rope_scaling=rule, rope_theta=10_000.0)
    expected = []
    for pair in range(8):
        turn = 10_000.0 ** (-pair / 8)
        wave = 2 * np.pi / turn
        if wave > 512 / 1.0:
            expected.append(turn / 8.0)
        elif wave < 512 / 4.0:
            expected.append(turn)
        else:
            smooth = (512 / wave - 1.0) / (4.0 - 1.0)
            expected.append((1 - smooth) * turn / 8.0 + smooth * turn)
    got = read_model(folder).rotary
    assert np.allclose(got, expected, rtol=1e-12)
    kept = got * 10_000.0 ** (np.arange(8) / 8)
    assert kept[0] == 1 and np.isclose(kept[-1], 1 / 8) and any(0.13 < share < 0.99 for share in kept)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"rope_scaling": {"type": "yarn", "factor": 4.0}}, "F/config.json: unknown rope_type 'yarn'"),
        ({"rope_scaling": {"type": "linear"}}, "F/config.json: factor must be a positive number, not null"),
        ({"rope_scaling": [4]}, "F/config.json: rope_scaling must be a mapping, not [4]"),
        ({"rope_theta": -1}, "F/config.json: rope_theta must be a positive number, not -1"),
        ({"rms_norm_eps": "small"}, 'F/config.json: rms_norm_eps must be a positive number, not "small"'),
        ({"rms_norm_eps": True}, "F/config.json: rms_norm_eps must be a positive number, not true"),
        (
            {
                "rope_scaling": {
                    "rope_type": "llama3",
                    "factor": 8,
                    "low_freq_factor": 4,
                    "high_freq_factor": 4,
                    "original_max_position_embeddings": 512,
                }
            },
            "F/config.json: high_freq_factor 4 must be above low_freq_factor 4",
        ),
        ({"hidden_act": "gelu"}, "F/config.json: hidden_act 'gelu' can't be decoded (valid: silu)"),
        ({"model_type": "gemma"}, "unknown model_type 'gemma'"),
        ({"head_dim": 15}, "F/config.json: head_dim 15 must be even for rotary positions"),
        ({"vocab_size": 200}, "tensor model.embed_tokens.weight has shape 256x64; config.json asks for 200x64"),
        (
            {"num_hidden_layers": 3},
            "F: the weights don't match config.json: 9 missing (model.layers.2.input_layernorm.weight, ",
        ),
        ({"num_hidden_layers": 1}, "F: the weights don't match config.json: 9 too many ("),
        ({"tie_word_embeddings": False}, "F: the weights don't match config.json: 1 missing (lm_head.weight)"),
    ],
)
def test_values_of_config_json(folder, values, text):
    change_config(folder, **values)
    assert text in message(folder)


def test_an_architecture_that_can_not_be_decoded(tmp_path):
    (tmp_path / "config.json").write_text(
        json.dumps(
            {"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_layer": 2, "n_positions": 128, "vocab_size": 256}
        )
    )
    assert (
        message(tmp_path) == "F/config.json: architecture 'gpt2' can't be decoded (valid: llama, mistral, qwen2, qwen3)"
    )


# Files ---------------------------------------------------------------------------------------------------------------


def test_folders_that_are_none(folder):
    assert (
        message(folder, "no") == "F/no: a model is a folder with config.json and *.safetensors; there is no such folder"
    )
    assert message(folder, "config.json") == (
        "F/config.json: a model is a folder with config.json and *.safetensors; this is a file"
    )


def test_files_that_are_not_there(folder):
    weights = folder / "model.safetensors"
    weights.rename(folder / "model.bin")
    assert message(folder) == "F: no weights: there is no *.safetensors file"
    weights.symlink_to(folder / "blob")
    assert message(folder) == "F/model.safetensors: No such file or directory"
    (folder / "config.json").unlink()
    assert message(folder) == "F: no config.json; a model is a folder with config.json and *.safetensors"


@pytest.mark.parametrize(
    "content", [b"", b"version https://git-lfs.github.com/spec/v1\n", b"\xff" * 64], ids=["empty", "pointer", "noise"]
)
def test_files_that_hold_no_weights(folder, content):
    (folder / "model.safetensors").write_bytes(content)
    assert message(folder).startswith("F/model.safetensors: not a safetensors file: ")


def test_a_file_that_was_cut_off(folder):
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    assert message(folder).startswith("F/model.safetensors: not a safetensors file: ")


def test_indexes_that_do_not_fit(folder):
    parts = shard(folder)
    index = folder / "model.safetensors.index.json"
    last = sorted(parts)[1]
    (folder / last).unlink()
    assert message(folder) == f"F: no file {last}, which model.safetensors.index.json names"
    for wrong in ({}, {"weight_map": {}}, {"weight_map": {"a": 1}}, {"weight_map": {"a": "../a.safetensors"}}, []):
        index.write_text(json.dumps(wrong))
        assert message(folder) == (
            "F/model.safetensors.index.json: 'weight_map' must give the file in this folder of each tensor"
        )
    index.write_text("{")
    assert message(folder).startswith("F/model.safetensors.index.json:")


def test_a_tensor_in_two_files(folder):
    save({NORM: np.ones(64, np.float16)}, folder / "model2.safetensors")
    assert message(folder) == f"F/model2.safetensors: tensor {NORM} is in model.safetensors too"


# Tensors -------------------------------------------------------------------------------------------------------------


def test_missing_and_superfluous_tensors(folder):
    change(folder, **{QUERY: None})
    assert message(folder) == f"F: the weights don't match config.json: 1 missing ({QUERY})"
    change(folder, surplus=np.ones(3, np.float16))
    assert message(folder) == f"F: the weights don't match config.json: 1 missing ({QUERY}); 1 too many (surplus)"


@pytest.mark.parametrize(
    ("tensor", "shape"),
    [(np.ones((32, 64), np.float16), "32x64"), (np.ones(64, np.float16), "64"), (np.ones((), np.float16), "scalar")],
)
def test_a_misshapen_tensor(folder, tensor, shape):
    change(folder, **{QUERY: tensor})
    assert message(folder) == f"F/model.safetensors: tensor {QUERY} has shape {shape}; config.json asks for 64x64"


def test_elements_of_another_kind(folder):
    change(folder, **{NORM: np.ones(64, np.int8)})
    assert message(folder) == f"F/model.safetensors: tensor {NORM} has elements I8 (valid: F16, BF16, F32, F64)"


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        ([np.nan], "1 element that is no finite float32 number"),
        ([np.inf], "1 element that is no finite float32 number"),
        ([-np.inf, np.nan], "2 elements that are no finite float32 number"),
        ([1e300], "1 element that is no finite float32 number"),
    ],
)
def test_numbers_that_are_not_finite(folder, bad, text):
    values = np.ones(64)
    values[3 : 3 + len(bad)] = bad
    change(folder, **{NORM: values})
    assert message(folder) == f"F/model.safetensors: tensor {NORM} has {text}"


# Tokenizer and packages ----------------------------------------------------------------------------------------------


def test_tokenizers_that_do_not_fit(folder):
    file = folder / "tokenizer.json"
    values = json.loads(file.read_text())
    values["model"]["vocab"]["more"] = 256
    file.write_text(json.dumps(values))
    assert message(folder) == "F/tokenizer.json: a vocabulary of 257 tokens; config.json has 256"
    for content in ("{}", "", "{"):
        file.write_text(content)
        assert message(folder).startswith("F/tokenizer.json: not a tokenizer: ")


@pytest.mark.parametrize("name", ["safetensors", "tokenizers"])
def test_without_the_extra(folder, monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ToolMissing, match=rf"the package {name}; this installs it: pip install 'bankside\[llm\]'$"):
        read_model(folder)
