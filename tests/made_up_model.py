"""A small LLaMA folder with random weights, written by tests."""

import json
import string
from pathlib import Path

import numpy as np


def write_model(
    folder: Path,
    *,
    seed=1,
    hidden=64,
    layers=2,
    heads=4,
    kv_heads=2,
    head_dim=16,
    ffn=96,
    vocabulary=256,
    context=512,
    tied=True,
    sharp=3.0,
    **config,
):
    """Write ``config.json``, ``model.safetensors`` in FP16 and a byte-level ``tokenizer.json``.

    ``sharp`` scales queries and keys, so that attention is not flat.
    """
    from safetensors.numpy import save_file

    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    values = {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": head_dim,
        "intermediate_size": ffn,
        "vocab_size": vocabulary,
        "max_position_embeddings": context,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "hidden_act": "silu",
        "tie_word_embeddings": tied,
        "torch_dtype": "float16",
        **config,
    }
    (folder / "config.json").write_text(json.dumps(values))
    tensors = {
        "model.embed_tokens.weight": rng.normal(size=(vocabulary, hidden)) * 0.2,
        "model.norm.weight": 1 + 0.1 * rng.normal(size=hidden),
    }
    if not tied:
        tensors["lm_head.weight"] = rng.normal(size=(vocabulary, hidden)) * hidden**-0.5
    for n in range(layers):
        p = f"model.layers.{n}."
        for name, rows, columns, scale in (
            ("self_attn.q_proj", heads * head_dim, hidden, sharp),
            ("self_attn.k_proj", kv_heads * head_dim, hidden, 1),
            ("self_attn.v_proj", kv_heads * head_dim, hidden, 1),
            ("self_attn.o_proj", hidden, heads * head_dim, 1),
            ("mlp.gate_proj", ffn, hidden, 1),
            ("mlp.up_proj", ffn, hidden, 1),
            ("mlp.down_proj", hidden, ffn, 1),
        ):
            tensors[f"{p}{name}.weight"] = rng.normal(size=(rows, columns)) * scale * columns**-0.5
        for name in ("input_layernorm", "post_attention_layernorm"):
            tensors[f"{p}{name}.weight"] = 1 + 0.1 * rng.normal(size=hidden)
    save_file({name: tensor.astype(np.float16) for name, tensor in tensors.items()}, folder / "model.safetensors")
    if vocabulary >= 256:
        write_tokenizer(folder / "tokenizer.json")
    return folder


def write_tokenizer(path: Path):
    """A byte-level tokenizer without merges: a token for every byte."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({text: number for number, text in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(path))


#: A text of as many bytes as wanted.
TEXT = "".join(string.printable[(7 * n * n + n) % 95] for n in range(4096))
