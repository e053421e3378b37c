#!/usr/bin/env python3
"""Trains ``bankside-small``, the language model that comes with Bankside, on the Python standard library's own sources::

    python tools/train_small.py data out/small-data
    python tools/train_small.py train out/small-data out/small --tokens 200000000 --check-every 20
    python tools/train_small.py check out/small-data out/small
    python tools/train_small.py check out/small-data out/small --text excerpt.txt --rows 16 --probes 4
    python tools/train_small.py card out/small-data out/small

``data`` assigns files to training or held-out text by a hash of their path, trains a byte-level BPE of 1,024 tokens and
writes token arrays. ``train`` takes two stages: contexts of 512 tokens, then of 2,048. Some rows are copying and look-up
tasks, so that attention reaches far. The learning rate rises for a moment and then falls to 0 with the last token. With
``--tokens`` a run repeats exactly on one machine; with ``--minutes`` the speed of the machine decides the number of tokens.
A run that was stopped goes on from its checkpoint. ``check`` measures the three figures that the model must reach, and
``card`` writes the model card. Needs ``bankside[train]``; a GPU is used if there is one.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import lzma
import math
import os
import platform
import re
import sys
import sysconfig
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

SEED = 20_261_126
END = "<|endoftext|>"
CELL = 16  # tokens between places of a look-up row
HELD_OUT = 10  # of 256 files
HELD_OUT_BYTES = 100_000  # the largest file that can be held out, so that none outweighs the others
EXCERPT_BYTES = 256_000
TARGETS = {"bits_per_byte": 1.40, "copy_nats": 1.0, "lookup_accuracy": 0.80}
COPY_DISTANCE, LOOKUP_DISTANCE = 1024, 1500


@dataclass(frozen=True)
class Sizes:
    """Sizes of the model, named as in a LLaMA ``config.json``."""

    vocab_size: int = 1024
    hidden_size: int = 256
    num_hidden_layers: int = 4
    num_attention_heads: int = 4
    num_key_value_heads: int = 2
    head_dim: int = 128
    intermediate_size: int = 704
    max_position_embeddings: int = 2048
    rope_theta: float = 10_000.0
    rms_norm_eps: float = 1e-5

    def config(self, dtype: str) -> dict:
        """Text of ``config.json``."""
        return {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            **asdict(self),
            "hidden_act": "silu",
            "tie_word_embeddings": True,
            "attention_bias": False,
            "mlp_bias": False,
            "bos_token_id": 0,
            "eos_token_id": 0,
            "torch_dtype": dtype,
        }


# Text ----------------------------------------------------------------------------------------------------------------


def sources(folder: Path) -> dict[str, str]:
    """UTF-8 Python files below ``folder`` by their path, packages that were installed later left out."""
    found = {}
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder).as_posix()
        if {"site-packages", "dist-packages", "__pycache__"} & set(path.parts):
            continue
        with contextlib.suppress(UnicodeDecodeError):
            text = path.read_bytes().decode("utf-8").replace("\r\n", "\n").strip("\n")
            if text:
                found[name] = text + "\n"
    return found


def hash_of(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()


def data(args: argparse.Namespace) -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    out = Path(args.folder)
    out.mkdir(parents=True, exist_ok=True)
    folder = Path(args.source or sysconfig.get_paths()["stdlib"])
    files = sources(folder)
    if len(files) < 20:
        sys.exit(f"train_small: {folder}: {len(files)} Python files; the source must have at least 20")
    held = sorted(
        (name for name, text in files.items() if hash_of(name)[0] < HELD_OUT and len(text.encode()) <= HELD_OUT_BYTES),
        key=hash_of,
    )
    train = [name for name in files if name not in set(held)]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        (files[name] for name in train),
        trainers.BpeTrainer(
            vocab_size=Sizes.vocab_size,
            special_tokens=[END],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tokenizer.save(str(out / "tokenizer.json"))
    ids: list[int] = [0]
    for encoded in tokenizer.encode_batch([files[name] for name in train], add_special_tokens=False):
        ids += encoded.ids + [0]
    np.savez_compressed(out / "train.npz", tokens=np.array(ids, np.uint16))
    keys, values = word_pools(tokenizer, "".join(files[name] for name in train))
    np.savez_compressed(out / "words.npz", keys=keys, values=values)
    text = "".join(files[name] for name in held)
    (out / "heldout.txt").write_text(text, newline="\n")
    excerpt, taken = "", []
    for name in held:
        if len((excerpt + files[name]).encode()) <= EXCERPT_BYTES:
            excerpt, taken = excerpt + files[name], [*taken, name]
    (out / "excerpt.txt").write_text(excerpt, newline="\n")
    size = len(text.encode())
    packed = len(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
    about = {
        "source": f"Python {platform.python_version()} standard library" if args.source is None else folder.name,
        "train": {
            "files": len(train),
            "bytes": sum(len(files[name].encode()) for name in train),
            "tokens": len(ids),
            "sha256": digest("".join(files[name] for name in train)),
        },
        "held_out": {
            "files": len(held),
            "bytes": size,
            "sha256": digest(text),
            "names": held,
            "xz_bits_per_byte": round(8 * packed / size, 4),
        },
        "excerpt": {"files": len(taken), "bytes": len(excerpt.encode()), "sha256": digest(excerpt), "names": taken},
        "words": len(keys),
        "tokenizer_sha256": digest((out / "tokenizer.json").read_text()),
    }
    (out / "data.json").write_text(json.dumps(about, indent=1) + "\n")
    print(json.dumps({key: value for key, value in about.items() if key not in ("held_out", "excerpt")}))
    print(
        f"held out: {len(held)} files, {size} bytes, xz {about['held_out']['xz_bits_per_byte']} bits per byte; "
        f"excerpt {about['excerpt']['bytes']} bytes of {len(taken)} files"
    )


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# Tasks ---------------------------------------------------------------------------------------------------------------


def word_pools(tokenizer, text: str, limit: int = 2048) -> tuple[np.ndarray, np.ndarray]:
    """Token pairs of lower-case words: keys as they begin a line, values as they follow a space, (words, 2) each.

    The words of ``text`` that have two tokens in either place are taken, in the order of a hash of the word.
    """
    words = sorted({word for word in re.findall(r"\b[a-z]{4,10}\b", text, re.ASCII)}, key=hash_of)
    bare, spaced = (
        [entry.ids for entry in tokenizer.encode_batch([space + word for word in words], add_special_tokens=False)]
        for space in ("", " ")
    )
    pairs = [(a, b) for a, b in zip(bare, spaced, strict=True) if len(a) == len(b) == 2][:limit]
    return np.array([a for a, _ in pairs], np.int64), np.array([b for _, b in pairs], np.int64)


def lookup_lines(tokenizer) -> tuple[list[int | None], list[int | None]]:
    """Tokens of a definition and of a question; None where the key (2), then the value (2) stands."""

    def ids(text: str) -> list[int | None]:
        return list(tokenizer.encode(text, add_special_tokens=False).ids)

    gap: list[int | None] = [None, None]
    return (
        ids("\n") + gap + ids(" =") + gap + ids("\n"),
        ids("\n") + ids("assert") + ids("(") + gap + ids(" ==") + gap + ids(")") + ids("\n"),
    )


def copy_probe(rows: int, distance: int, vocabulary: int, seed: int = SEED) -> np.ndarray:
    """Rows of ``distance`` random tokens, and the same again: (rows, 2 * distance)."""
    first = np.random.Generator(np.random.PCG64(seed)).integers(1, vocabulary, (rows, distance))
    return np.concatenate([first, first], axis=1)


def lookup_probe(
    tokenizer, text: str, rows: int, distance: int, definitions: int = 8, seed: int = SEED
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of ``text`` with definitions early on, the question about one of them after ``distance`` tokens.

    Returns the token rows, and in each row the positions of the answer, (rows, 2). The answer is ``distance`` tokens
    behind the value that was defined. The definitions are ``CELL`` tokens apart.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    keys, values = word_pools(tokenizer, text)
    define, ask = lookup_lines(tokenizer)
    base = np.array(tokenizer.encode(text, add_special_tokens=False).ids)
    gaps = [[index for index, token in enumerate(line) if token is None] for line in (define, ask)]
    length = definitions * CELL + distance + len(ask)
    result, where = np.zeros((rows, length), np.int64), np.zeros((rows, 2), np.int64)
    for row in range(rows):
        start = int(rng.integers(0, len(base) - length))
        tokens = base[start : start + length].copy()
        chosen = rng.choice(len(keys), definitions, replace=False), rng.choice(len(values), definitions, replace=False)
        asked = int(rng.integers(definitions))
        at_value = asked * CELL + gaps[0][2] + distance
        places = [(index * CELL, define, gaps[0], index) for index in range(definitions)]
        places.append((at_value - gaps[1][2], ask, gaps[1], asked))
        for at, line, gap, index in places:
            filled = list(line)
            for place, token in zip(gap, [*keys[chosen[0][index]], *values[chosen[1][index]]], strict=True):
                filled[place] = int(token)
            tokens[at : at + len(line)] = filled
        result[row], where[row] = tokens, (at_value, at_value + 1)
    return result, where


def held_out_rows(tokenizer, text: str, context: int) -> tuple[np.ndarray, np.ndarray]:
    """Token rows of ``context + 1``, each beginning with the last token of the one before, and bytes of the tokens."""
    ids = np.array([0, *tokenizer.encode(text, add_special_tokens=False).ids])
    count = (len(ids) - 1) // context
    rows = np.stack([ids[row * context : row * context + context + 1] for row in range(count)])
    sizes = np.array([0] + [len(tokenizer.id_to_token(token)) for token in range(1, tokenizer.get_vocab_size())])
    return rows, sizes[rows[:, 1:]]


# Model ---------------------------------------------------------------------------------------------------------------


def build(sizes: Sizes, seed: int = SEED):
    """A LLaMA in PyTorch, its parameters named as Hugging Face names them."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Norm(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(sizes.hidden_size))

        def forward(self, x):
            x = x.float()
            return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + sizes.rms_norm_eps) * self.weight

    def linear(inputs: int, outputs: int) -> nn.Linear:
        return nn.Linear(inputs, outputs, bias=False)

    def rotate(x, cos, sin):
        low, high = x.chunk(2, -1)
        return torch.cat([low * cos - high * sin, high * cos + low * sin], -1)

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            d, n = sizes.hidden_size, sizes.head_dim
            self.q_proj = linear(d, sizes.num_attention_heads * n)
            self.k_proj = linear(d, sizes.num_key_value_heads * n)
            self.v_proj = linear(d, sizes.num_key_value_heads * n)
            self.o_proj = linear(sizes.num_attention_heads * n, d)

        def forward(self, x, cos, sin):
            rows, length, _ = x.shape
            heads, kv = sizes.num_attention_heads, sizes.num_key_value_heads
            together = torch.cat([self.q_proj.weight, self.k_proj.weight, self.v_proj.weight])  # one product is faster
            y = F.linear(x, together).view(rows, length, heads + 2 * kv, sizes.head_dim).transpose(1, 2)
            q, k, v = y.split([heads, kv, kv], 1)
            q, k = (rotate(part, cos, sin).to(v.dtype) for part in (q, k))
            k, v = (part.repeat_interleave(heads // kv, 1) for part in (k, v))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.o_proj(y.transpose(1, 2).reshape(rows, length, heads * sizes.head_dim))

    class MLP(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate_proj = linear(sizes.hidden_size, sizes.intermediate_size)
            self.up_proj = linear(sizes.hidden_size, sizes.intermediate_size)
            self.down_proj = linear(sizes.intermediate_size, sizes.hidden_size)

        def forward(self, x):
            gate, up = F.linear(x, torch.cat([self.gate_proj.weight, self.up_proj.weight])).chunk(2, -1)
            return self.down_proj(F.silu(gate) * up)

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.input_layernorm, self.self_attn = Norm(), Attention()
            self.post_attention_layernorm, self.mlp = Norm(), MLP()

        def forward(self, x, cos, sin):
            x = x + self.self_attn(self.input_layernorm(x), cos, sin)
            return x + self.mlp(self.post_attention_layernorm(x))

    class Decoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed_tokens = nn.Embedding(sizes.vocab_size, sizes.hidden_size)
            self.layers = nn.ModuleList(Layer() for _ in range(sizes.num_hidden_layers))
            self.norm = Norm()
            turns = sizes.rope_theta ** (-torch.arange(0, sizes.head_dim, 2, dtype=torch.float64) / sizes.head_dim)
            angles = torch.arange(sizes.max_position_embeddings, dtype=torch.float64)[:, None] * turns
            self.register_buffer("cos", angles.cos().float(), persistent=False)
            self.register_buffer("sin", angles.sin().float(), persistent=False)

    class Llama(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = Decoder()

        def forward(self, tokens):
            """Logits, (rows, length, vocabulary)."""
            body = self.model
            x = body.embed_tokens(tokens)
            cos, sin = body.cos[: tokens.shape[1]], body.sin[: tokens.shape[1]]
            for layer in body.layers:
                x = layer(x, cos, sin)
            return F.linear(body.norm(x), body.embed_tokens.weight)

    torch.manual_seed(seed)
    model = Llama()
    for name, parameter in model.named_parameters():
        if parameter.ndim == 2:
            narrow = name.endswith(("o_proj.weight", "down_proj.weight"))
            nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * sizes.num_hidden_layers) if narrow else 0.02)
    return model


def export(model, sizes: Sizes, folder: Path, tokenizer_file: Path) -> None:
    """Writes the model as a Hugging Face folder, weights in FP16."""
    import torch
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: value.detach().to("cpu", torch.float16).contiguous() for name, value in model.state_dict().items()}
    save_file(tensors, folder / "model.safetensors.part", {"format": "pt"})
    (folder / "model.safetensors.part").chmod(0o644)
    os.replace(folder / "model.safetensors.part", folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(sizes.config("float16"), indent=2) + "\n")
    if tokenizer_file.resolve() != (folder / "tokenizer.json").resolve():
        (folder / "tokenizer.json").write_bytes(tokenizer_file.read_bytes())


# Rows of a step ------------------------------------------------------------------------------------------------------


class Rows:
    """Makes the rows of each step on the device, from nothing but seed and step number."""

    def __init__(self, folder: Path, tokenizer, device: str, seed: int) -> None:
        import torch

        self.torch, self.device, self.seed = torch, device, seed
        self.tokens = torch.from_numpy(np.load(folder / "train.npz")["tokens"].astype(np.int32)).to(device)
        words = np.load(folder / "words.npz")
        self.keys, self.values = (torch.from_numpy(words[name]).to(device) for name in ("keys", "values"))
        self.define, self.ask = lookup_lines(tokenizer)
        self.vocabulary = Sizes.vocab_size
        assert len(self.ask) <= CELL

    def make(self, step: int, rows: int, context: int, tasks: int):
        """Tokens, and weights of the loss, (rows, context + 1) each.

        The last ``tasks`` rows are tasks, half of them copies.
        """
        torch = self.torch
        rng = torch.Generator(self.device)
        rng.manual_seed(self.seed * 1_000_003 + step)
        length = context + 1
        at = torch.arange(length, device=self.device)
        begin = torch.randint(len(self.tokens) - length, (rows, 1), generator=rng, device=self.device)
        tokens = self.tokens[begin + at].long()
        weights = torch.ones(rows, length, device=self.device)
        copies, lookups = tasks - tasks // 2, tasks // 2
        if copies:
            part = slice(rows - tasks, rows - lookups)
            tokens[part], weights[part] = self._copies(tokens[part], at, rng)
        if lookups:
            tokens[rows - lookups :], weights[rows - lookups :] = self._lookups(tokens[rows - lookups :], rng)
        return tokens, weights

    def _copies(self, text, at, rng):
        """Random tokens that repeat: in half of the rows over and over, in the others once within text.

        What can't be known (the first time) has no weight.
        """
        torch = self.torch
        rows, length = text.shape

        def uniform(low, high):
            """Whole numbers from low to high - 1, one a row."""
            share = torch.rand(rows, 1, generator=rng, device=self.device)
            return (low + share * (high - low)).long()

        noise = torch.randint(1, self.vocabulary, (rows, length), generator=rng, device=self.device)
        period = uniform(16, 3 * length // 4)
        over = noise.gather(1, at % period)
        size = uniform(16, length // 4)
        first = uniform(0, length - 2 * size)
        second = uniform(first + size, length - size + 1)
        in_first, in_second = ((at >= start) & (at < start + size) for start in (first, second))
        offset = torch.where(in_second, at - second, at - first).clamp(0, length - 1)
        within = torch.where(in_first | in_second, noise.gather(1, offset), text)
        repeated = (torch.arange(rows, device=self.device) % 2 == 0)[:, None]
        return (
            torch.where(repeated, over, within),
            torch.where(repeated, at >= period, ~in_first & (at != second)).float(),
        )

    def _lookups(self, text, rng):
        """Definitions and later questions in a quarter of a row's places each. Answers weigh 4, what can't be known 0."""
        torch = self.torch
        rows, length = text.shape
        places = length // CELL
        pairs = max(1, places // 4)

        def order(count, taken):
            return torch.rand(rows, count, generator=rng, device=self.device).argsort(1)[:, :taken]

        chosen = order(places, 2 * pairs)
        a, b = chosen[:, :pairs], chosen[:, pairs:]
        ordered = chosen.sort(1).values
        far = (torch.arange(rows, device=self.device) % 2 == 0)[:, None]  # definitions all before the questions
        define = torch.where(far, ordered[:, :pairs], torch.minimum(a, b))
        ask = torch.where(far, ordered[:, pairs:].gather(1, order(pairs, pairs)), torch.maximum(a, b))
        keys = self.keys[order(len(self.keys), pairs)]
        values = self.values[torch.randint(len(self.values), (rows, pairs), generator=rng, device=self.device)]
        filled = torch.cat([keys, values], -1)
        tokens, weights = text.clone(), torch.ones(rows, length, device=self.device)
        for cells, line, answer in ((define, self.define, 0.0), (ask, self.ask, 4.0)):
            gaps = [index for index, token in enumerate(line) if token is None]
            known = torch.tensor([token or 0 for token in line], device=self.device)
            block = known.expand(rows, pairs, -1).clone()
            block[..., gaps] = filled
            weight = torch.ones(len(line), device=self.device)
            weight[gaps[:2]], weight[gaps[2:]] = 0.0, answer
            where = (cells[..., None] * CELL + torch.arange(len(line), device=self.device)).flatten(1)
            tokens.scatter_(1, where, block.flatten(1))
            weights.scatter_(1, where, weight.expand(rows, pairs, -1).flatten(1))
        return tokens, weights


# Figures -------------------------------------------------------------------------------------------------------------


def measure(
    model,
    tokenizer,
    text: str,
    context: int,
    device: str,
    *,
    probes: int = 64,
    rows: int | None = None,
    autocast: bool = False,
) -> dict:
    """Bits per byte of ``text``, nats per token of the second time of random segments, share of right look-ups.

    Distances are ``COPY_DISTANCE`` and ``LOOKUP_DISTANCE`` at a context of 2,048, and in proportion otherwise.
    """
    import torch
    from torch.nn import functional as F

    copy_distance, lookup_distance = (
        max(8, distance * context // 2048) for distance in (COPY_DISTANCE, LOOKUP_DISTANCE)
    )
    copies = copy_probe(probes, copy_distance, tokenizer.get_vocab_size())
    lookups, answers = lookup_probe(tokenizer, text, probes, lookup_distance, min(8, context // 64))
    held, sizes = held_out_rows(tokenizer, text, context)
    held, sizes = held[:rows], sizes[:rows]
    batch = max(1, 16 * 2048 // context) if device == "cuda" else 2

    @torch.no_grad()
    def nats(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Nats of each token but the first, and the likeliest token in its place."""
        losses, best = [], []
        for start in range(0, len(array), batch):
            tokens = torch.from_numpy(array[start : start + batch]).to(device)
            with torch.autocast(device, torch.bfloat16, enabled=autocast):
                logits = model(tokens[:, :-1])
            losses.append(F.cross_entropy(logits.float().transpose(1, 2), tokens[:, 1:], reduction="none").cpu())
            best.append(logits.argmax(-1).cpu())
        return torch.cat(losses).numpy(), torch.cat(best).numpy()

    model.eval()
    text_nats, _ = nats(held)
    copy_nats, _ = nats(copies)
    _, best = nats(lookups)
    model.train()
    right = np.take_along_axis(best, answers - 1, 1) == np.take_along_axis(lookups, answers, 1)
    return {
        "context": context,
        "bits_per_byte": float(text_nats.sum(dtype=np.float64) / math.log(2) / sizes.sum()),
        "nats_per_token": float(text_nats.mean(dtype=np.float64)),
        "bytes": int(sizes.sum()),
        "rows": len(held),
        "copy_distance": copy_distance,
        "copy_nats": float(copy_nats[:, copy_distance - 1 :].mean(dtype=np.float64)),
        "lookup_distance": lookup_distance,
        "lookup_accuracy": float(right.all(1).mean()),
        "probes": probes,
    }


def reached(figures: dict) -> bool:
    return (
        figures["bits_per_byte"] <= TARGETS["bits_per_byte"]
        and figures["copy_nats"] <= TARGETS["copy_nats"]
        and figures["lookup_accuracy"] >= TARGETS["lookup_accuracy"]
    )


# Training ------------------------------------------------------------------------------------------------------------


def train(args: argparse.Namespace) -> None:
    begun = time.monotonic()
    if args.smoke:
        args.minutes, args.tokens, args.warmup, args.every, args.check_rows = None, 24 * args.batch, 4, 4, 2
        args.second_share, args.probes, args.final_probes, args.check_every, args.save_every = 0.5, 8, 8, 0, 0
    import torch
    from tokenizers import Tokenizer
    from torch.nn import functional as F

    folder, out = Path(args.data), Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    checkpoint = Path(args.checkpoint) if args.checkpoint else out / "checkpoint.pt"
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_float32_matmul_precision("high")
    sizes = Sizes()
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    held = (folder / "heldout.txt").read_text()
    source = Rows(folder, tokenizer, device, args.seed)
    model = build(sizes, args.seed).to(device)
    matrices = [p for p in model.parameters() if p.ndim == 2]
    optimizer = torch.optim.AdamW(
        [
            {"params": matrices, "weight_decay": args.decay},
            {"params": [p for p in model.parameters() if p.ndim < 2], "weight_decay": 0.0},
        ],
        lr=args.rate,
        betas=(0.9, 0.95),
        fused=device == "cuda",
    )
    lengths = args.context, sizes.max_position_embeddings if args.second_context is None else args.second_context
    rows = [max(1, args.batch // length) for length in lengths]
    tasks = [
        min(count, max(2, round(count * share)))
        for count, share in zip(rows, (args.tasks, args.second_tasks), strict=True)
    ]

    def losses(tokens, weights):
        """Loss, and its sums over each row: of weighted nats, of weights."""
        with torch.autocast(device, torch.bfloat16):
            logits = model(tokens[:, :-1])
        nats = F.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten(), reduction="none")
        weights = weights[:, 1:]
        weighted = nats.view(weights.shape) * weights
        return weighted.sum() / weights.sum(), weighted.sum(1).detach(), weights.sum(1)

    compiled = torch.compile(losses, dynamic=False) if args.compile else losses

    def gradient(step: int, stage: int):
        nonlocal compiled
        tokens, weights = source.make(step, rows[stage], lengths[stage], tasks[stage])
        try:
            result = compiled(tokens, weights)
        except Exception as error:
            if compiled is losses:
                raise
            print(
                f"torch.compile failed ({type(error).__name__}: {str(error).splitlines()[0][:200]}); going on without",
                flush=True,
            )
            compiled = losses
            result = compiled(tokens, weights)
        result[0].backward()
        return result

    def synchronize() -> float:
        if device == "cuda":
            torch.cuda.synchronize()
        return time.monotonic()

    state = {"step": 0, "tokens": 0, "stage": 0, "spent_s": 0.0, "total": args.tokens or 0, "scale": 1.0, "shift": 0}
    if checkpoint.is_file() and not args.fresh:
        saved = torch.load(checkpoint, map_location=device, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        state = saved["state"]
        print(f"going on from step {state['step']} ({checkpoint})", flush=True)
    state["total"] = args.tokens or state["total"]
    before_s = state["spent_s"]

    def spent() -> float:
        return before_s + time.monotonic() - begun

    curve = (out / "curve.jsonl").open("a" if state["step"] else "w")

    def note(kind: str, **values) -> None:
        line = json.dumps(
            {
                "kind": kind,
                **{key: round(value, 6) if isinstance(value, float) else value for key, value in values.items()},
            }
        )
        print(line, file=curve, flush=True)
        print(line, flush=True)

    def save() -> None:
        state["spent_s"] = spent()
        part = checkpoint.with_suffix(".part")
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "state": state}, part)
        os.replace(part, checkpoint)
        export(model, sizes, out, folder / "tokenizer.json")

    # Both shapes are compiled and timed before the first step, so that the plan of a timed run is right from the start.
    speed = []
    for stage in (0, 1):
        gradient(0, stage)
        started = synchronize()
        repeats = 8 if device == "cuda" else 1
        for repeat in range(repeats):
            gradient(repeat, stage)
        seconds = (synchronize() - started) / repeats
        optimizer.zero_grad(set_to_none=True)
        speed.append(rows[stage] * lengths[stage] / seconds / 1.05)
    machine = torch.cuda.get_device_name() if device == "cuda" else platform.machine()
    note(
        "start",
        device=machine,
        torch=torch.__version__,
        rows=rows,
        context=list(lengths),
        tasks=tasks,
        seed=args.seed,
        parameters=sum(p.numel() for p in model.parameters()),
        rate=args.rate,
        decay=args.decay,
        warmup=args.warmup,
        second_share=args.second_share,
        tokens_per_second=speed,
        ready_s=time.monotonic() - begun,
        step=state["step"],
        compiled=compiled is not losses,
    )

    first_share = 1 - args.second_share
    end = None if args.minutes is None else args.minutes * 60 - args.reserve
    pause = math.inf if args.pause is None else before_s + args.pause * 60

    def plan() -> None:
        """Tokens of the whole run that end at the budget, at the speed so far."""
        if end is None:
            return
        left, done = max(0.0, end - spent()), state["tokens"]
        if state["stage"] == 0:
            total = (left + done / speed[0]) / (first_share / speed[0] + args.second_share / speed[1])
        else:
            total = done + left * speed[1]
        state["total"] = max(1, int(total))

    plan()
    good = None
    noted_tokens, noted_at, sums = state["tokens"], synchronize(), []
    saved_at = checked_at = time.monotonic()
    model.train()
    paused = False
    while state["tokens"] < state["total"]:
        if spent() >= pause:
            paused = True
            break
        if end is not None and spent() >= end:
            break
        if state["stage"] == 0 and state["tokens"] >= first_share * state["total"]:
            state["stage"] = 1
            note("stage", stage=1, step=state["step"], tokens=state["tokens"], seconds=spent())
            noted_tokens, noted_at, sums = state["tokens"], synchronize(), []
        stage, step = state["stage"], state["step"]
        rate = args.rate * state["scale"] * min(1.0, (step + 1) / args.warmup) * (1 - state["tokens"] / state["total"])
        for group in optimizer.param_groups:
            group["lr"] = rate
        _, row_nats, row_weights = gradient(step + state["shift"], stage)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        sums.append(torch.stack([row_nats, row_weights]))
        state["step"] += 1
        state["tokens"] += rows[stage] * lengths[stage]
        if state["step"] % args.every and state["tokens"] < state["total"]:
            continue
        now = synchronize()
        nats, weights = torch.stack(sums).double().sum(0).cpu()
        parts = {}
        for name, part in (
            ("text", slice(0, rows[stage] - tasks[stage])),
            ("copy", slice(rows[stage] - tasks[stage], rows[stage] - tasks[stage] // 2)),
            ("lookup", slice(rows[stage] - tasks[stage] // 2, rows[stage])),
        ):
            if weights[part].sum() > 0:
                parts[name] = float(nats[part].sum() / weights[part].sum())
        measured = (state["tokens"] - noted_tokens) / max(1e-9, now - noted_at)
        speed[stage] = 0.7 * speed[stage] + 0.3 * measured
        plan()
        note(
            "step",
            step=state["step"],
            stage=stage,
            tokens=state["tokens"],
            total=state["total"],
            seconds=spent(),
            rate=rate,
            tokens_per_second=round(measured),
            **parts,
        )
        if not all(math.isfinite(value) for value in parts.values()):
            if good is None or state["scale"] < 0.1:
                raise SystemExit("train_small: the loss is no number, even at a lower rate")
            model.load_state_dict(good["model"])
            optimizer.load_state_dict(good["optimizer"])
            state.update(scale=state["scale"] / 2, shift=state["shift"] + 1_000_000)
            note("restored", step=state["step"], scale=state["scale"])
        if time.monotonic() - checked_at > args.check_every:
            note(
                "check",
                step=state["step"],
                tokens=state["tokens"],
                **measure(
                    model,
                    tokenizer,
                    held,
                    lengths[stage],
                    device,
                    rows=args.check_rows,
                    probes=args.probes,
                    autocast=True,
                ),
            )
            checked_at = time.monotonic()
        if time.monotonic() - saved_at > args.save_every:
            save()
            good = {
                "model": {key: value.clone() for key, value in model.state_dict().items()},
                "optimizer": _copy(optimizer.state_dict()),
            }
            saved_at = time.monotonic()
        noted_tokens, noted_at, sums = state["tokens"], synchronize(), []
    save()
    note("paused" if paused else "end", step=state["step"], tokens=state["tokens"], seconds=spent())
    if not paused:
        # The figures of the weights as they are shipped: FP16 values, float32 arithmetic.
        model.load_state_dict({name: value.half().float() for name, value in model.state_dict().items()})
        torch.set_float32_matmul_precision("highest")
        figures = measure(
            model,
            tokenizer,
            held,
            sizes.max_position_embeddings,
            device,
            rows=None if device == "cuda" else args.check_rows,
            probes=args.final_probes,
        )
        note("final", step=state["step"], tokens=state["tokens"], **figures)
        write_checks(
            out,
            figures,
            {
                "device": machine,
                "torch": torch.__version__,
                "seed": args.seed,
                "steps": state["step"],
                "tokens": state["tokens"],
                "seconds": round(spent(), 1),
                "rows": rows,
                "task_rows": tasks,
                "context": list(lengths),
                "second_share": args.second_share,
                "learning_rate": args.rate,
                "weight_decay": args.decay,
                "warmup_steps": args.warmup,
                "restored": state["shift"] // 1_000_000,
            },
        )
    curve.close()


def _copy(value):
    """Optimiser state that later steps leave as it is."""
    if isinstance(value, dict):
        return {key: _copy(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_copy(entry) for entry in value]
    return value.clone() if hasattr(value, "clone") else value


def write_checks(out: Path, figures: dict, run: dict | None = None, name: str = "figures") -> None:
    path = out / "checks.json"
    checks = json.loads(path.read_text()) if path.is_file() else {}
    checks.update({name: figures, "targets": TARGETS})
    if name == "figures":
        checks["reached"] = reached(figures)
    if run is not None:
        checks["run"] = run
    path.write_text(json.dumps(checks, indent=1) + "\n")
    print("reached" if reached(figures) else "NOT reached", json.dumps(figures), flush=True)


def check(args: argparse.Namespace) -> None:
    import torch
    from safetensors.torch import load_file
    from tokenizers import Tokenizer

    folder, out = Path(args.data), Path(args.out)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    config = json.loads((out / "config.json").read_text())
    sizes = Sizes(**{name: config[name] for name in asdict(Sizes())})
    model = build(sizes)
    model.load_state_dict({name: value.float() for name, value in load_file(out / "model.safetensors").items()})
    write_checks(
        out,
        measure(
            model.to(device),
            Tokenizer.from_file(str(out / "tokenizer.json")),
            (folder / args.text).read_text(),
            args.context,
            device,
            rows=args.rows,
            probes=args.probes,
        ),
        name="excerpt" if args.text == "excerpt.txt" else "figures",
    )


# Model card ----------------------------------------------------------------------------------------------------------


def card(args: argparse.Namespace) -> None:
    """Writes ``model-card.md``, the held-out excerpt, its notice and ``data.json`` beside the weights."""
    folder, out = Path(args.data), Path(args.out)
    about, checks = json.loads((folder / "data.json").read_text()), json.loads((out / "checks.json").read_text())
    if args.other:
        checks["other_runs"] = [
            {"tokens": int(float(tokens)), "bits_per_byte": float(bits)}
            for tokens, _, bits in (entry.partition("=") for entry in args.other)
        ]
        (out / "checks.json").write_text(json.dumps(checks, indent=1) + "\n")
    if "excerpt" not in checks:
        sys.exit("train_small: checks.json has no figures of the excerpt; 'check --text excerpt.txt' measures them")
    (out / "data.json").write_bytes((folder / "data.json").read_bytes())
    run, figures = checks["run"], checks["figures"]
    points = [json.loads(line) for line in (out / "curve.jsonl").read_text().splitlines()]
    steps = [point for point in points if point["kind"] == "step"]
    shown = [steps[index] for index in sorted({round(i * (len(steps) - 1) / 15) for i in range(16)})]
    held = {point["step"]: point for point in points if point["kind"] == "check"}
    (out / "heldout.txt").write_bytes((folder / "excerpt.txt").read_bytes())
    (out / "heldout-LICENSE.txt").write_text(
        f"heldout.txt joins these source files of the {about['source']}. Empty lines at the start and the end of a file\n"
        "are left out, and each line ends as on Unix. Nothing else is changed.\n\n"
        + "".join(f"  Lib/{name}\n" for name in about["excerpt"]["names"])
        + "\nThe licence of Python covers them:\n\n"
        + Path(args.licence).read_text()
    )
    hashes = {
        name: hashlib.sha256((out / name).read_bytes()).hexdigest()
        for name in ("model.safetensors", "config.json", "tokenizer.json", "heldout.txt")
    }
    sizes = Sizes()

    def table(head: list[str], rows: list[list]) -> str:
        return "\n".join(
            "| " + " | ".join(str(cell) for cell in row) + " |" for row in [head, ["---"] * len(head), *rows]
        )

    numbers = [
        [name, f"{value:g}" if isinstance(value, float) else f"{value:,}"] for name, value in asdict(sizes).items()
    ]
    loss = table(
        ["step", "tokens", "context", "learning rate", "text", "copy", "look-up"],
        [
            [
                point["step"],
                f"{point['tokens']:,}",
                run["context"][point["stage"]],
                f"{point['rate']:.2e}",
                *(f"{point[name]:.3f}" if name in point else "" for name in ("text", "copy", "lookup")),
            ]
            for point in shown
        ],
    )
    progress = table(
        ["step", "tokens", "context", "bits per byte", "copy, nats", "distance", "look-up", "distance"],
        [
            [
                point["step"],
                f"{point['tokens']:,}",
                point["context"],
                f"{point['bits_per_byte']:.3f}",
                f"{point['copy_nats']:.3f}",
                point["copy_distance"],
                f"{100 * point['lookup_accuracy']:.0f} %",
                point["lookup_distance"],
            ]
            for point in held.values()
        ],
    )
    part = checks["excerpt"]
    limits = f"--rows {part['rows']} --probes {part['probes']}"
    reach = table(
        ["figure", "reached", "target"],
        [
            [
                f"bits per byte, held-out files ({figures['bytes']:,} bytes, context {figures['context']:,})",
                f"{figures['bits_per_byte']:.3f}",
                f"≤ {TARGETS['bits_per_byte']:.2f}",
            ],
            [
                f"bits per byte, first {part['bytes']:,} bytes of `heldout.txt`, context {part['context']:,}",
                f"{part['bits_per_byte']:.3f}",
                "",
            ],
            [
                f"nats per token, second time of random segments, distance {figures['copy_distance']:,}",
                f"{figures['copy_nats']:.3f}",
                f"≤ {TARGETS['copy_nats']:.1f}",
            ],
            [
                f"right look-ups, distance {figures['lookup_distance']:,}",
                f"{100 * figures['lookup_accuracy']:.1f} %",
                f"≥ {100 * TARGETS['lookup_accuracy']:.0f} %",
            ],
        ],
    )
    digests = table(
        ["file or text", "SHA-256"],
        [
            ["training text", about["train"]["sha256"]],
            ["held-out text", about["held_out"]["sha256"]],
            *([f"`{name}`", value] for name, value in hashes.items()),
        ],
    )
    settings = table(
        ["setting", "value"],
        [
            [name.replace("_", " "), f"{value:,}" if isinstance(value, int) and name != "seed" else value]
            for name, value in run.items()
        ],
    )
    lengths = sorted(
        [*checks.get("other_runs", []), {"tokens": run["tokens"], "bits_per_byte": figures["bits_per_byte"]}],
        key=lambda entry: entry["tokens"],
    )
    others = table(
        ["tokens, million", "times through the text, about", "bits per byte, held-out files"],
        [
            [
                f"{entry['tokens'] / 1e6:,.0f}{' (this model)' * (entry['tokens'] == run['tokens'])}",
                f"{entry['tokens'] / about['train']['tokens']:.0f}",
                f"{entry['bits_per_byte']:.3f}",
            ]
            for entry in lengths
        ],
    )
    known = [
        f"--other {entry['tokens'] / 1e6:g}e6={entry['bits_per_byte']:g}" for entry in checks.get("other_runs", [])
    ]
    trained, held_out, excerpt = (about[key] for key in ("train", "held_out", "excerpt"))
    (out / "model-card.md").write_text(f"""# bankside-small

A language model of the LLaMA architecture, small enough to come with Bankside. It writes Python and attends over its
whole context. It exists to feed hardware models with real queries, keys and values. It is no assistant.

{table(["size", "value"], numbers)}

Embeddings are tied. The weights are FP16. `tools/train_small.py` made all files in this folder.

## Figures

Measured on the FP16 weights with float32 arithmetic.

{reach}

`xz` needs {held_out["xz_bits_per_byte"]:.3f} bits per byte for the held-out files.

## Data

Text: the .py files of the {about["source"]}. Files whose path has a SHA-256 hash with a first byte below {HELD_OUT}
are held out; files of more than {HELD_OUT_BYTES:,} bytes never are.

{
        table(
            ["part", "files", "bytes"],
            [
                ["training", f"{trained['files']:,}", f"{trained['bytes']:,}"],
                ["held out", held_out["files"], f"{held_out['bytes']:,}"],
                ["`heldout.txt`, of the held-out files", excerpt["files"], f"{excerpt['bytes']:,}"],
            ],
        )
    }

The training text has {trained["tokens"]:,} tokens. Task rows: {run["task_rows"][0]} of {
        run["rows"][0]
    } in the first stage,
{run["task_rows"][1]} of {run["rows"][1]} in the second. Half of them repeat random tokens. The other half define words
(`key = value`) and ask for them later (`assert(key == value)`).

{digests}

## Training

{settings}

AdamW with betas 0.9 and 0.95, gradients clipped to a norm of 1, bfloat16 autocast. The rate falls linearly to 0. On a GPU
the order of sums can differ between two runs. On a CPU a run with `--tokens` repeats exactly.

Loss of the rows in training (nats per token):

{loss}

Held-out figures during training (bfloat16, part of the files):

{progress}

Runs of other lengths, the rest alike. A longer run learns its text by heart and is worse on held-out files:

{others}

These commands made the folder. They take minutes on a data-centre GPU:

```sh
pip install 'bankside[train]'
python tools/train_small.py data out/small-data
python tools/train_small.py train out/small-data out/small --tokens {round(run["tokens"], -6)} --check-every 20
python tools/train_small.py check out/small-data out/small --text excerpt.txt {limits}
python tools/train_small.py card out/small-data out/small{" ".join(["", *known])}
```

## Licence

The weights, like Bankside, are under the Apache License 2.0. Python's licence covers `heldout.txt`; see
`heldout-LICENSE.txt`.
""")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="train_small", description=(__doc__ or "").split("\n\n")[0])
    commands = parser.add_subparsers(required=True)
    p = commands.add_parser("data", help="collect text, train the tokenizer, write token arrays")
    p.add_argument("folder")
    p.add_argument("--source", metavar="FOLDER", help="Python files below it (default: this Python's standard library)")
    p.set_defaults(run=data)

    p = commands.add_parser("train", help="train, or go on training")
    p.add_argument("data", metavar="DATA")
    p.add_argument("out", metavar="OUT")
    budget = p.add_mutually_exclusive_group(required=True)
    budget.add_argument("--minutes", type=float, help="wall time of the whole run, start and last check included")
    budget.add_argument("--tokens", type=int, help="tokens of the whole run")
    p.add_argument("--pause", type=float, metavar="MINUTES", help="stop after so long; the same command goes on later")
    p.add_argument("--checkpoint", help="file (default: OUT/checkpoint.pt)")
    p.add_argument("--fresh", action="store_true", help="don't go on from a checkpoint")
    p.add_argument("--seed", type=int, default=SEED)
    p.add_argument("--batch", type=int, default=131_072, help="tokens of a step")
    p.add_argument("--context", type=int, default=512, help="of the first stage")
    p.add_argument("--second-context", type=int, help="of the second stage (default: the model's)")
    p.add_argument("--second-share", type=float, default=0.15, help="share of tokens in the second stage")
    p.add_argument("--tasks", type=float, default=1 / 8, help="share of task rows in the first stage")
    p.add_argument("--second-tasks", type=float, default=1 / 4, help="share of task rows in the second stage")
    p.add_argument("--rate", type=float, default=3e-3)
    p.add_argument("--decay", type=float, default=0.3)
    p.add_argument("--warmup", type=int, default=200, metavar="STEPS")
    p.add_argument("--every", type=int, default=50, metavar="STEPS", help="between lines of the curve")
    p.add_argument("--check-every", type=float, default=60, metavar="SECONDS")
    p.add_argument("--save-every", type=float, default=60, metavar="SECONDS")
    p.add_argument("--check-rows", type=int, default=64, help="rows of held-out text in a check during training")
    p.add_argument("--probes", type=int, default=64, help="rows of each task in a check during training")
    p.add_argument("--final-probes", type=int, default=512)
    p.add_argument("--reserve", type=float, default=25, metavar="SECONDS", help="kept for the last check and export")
    p.add_argument("--smoke", action="store_true", help="a few steps of each stage")
    p.add_argument("--no-compile", dest="compile", action="store_false")
    p.set_defaults(run=train)

    p = commands.add_parser("check", help="measure the figures of finished weights")
    p.add_argument("data", metavar="DATA")
    p.add_argument("out", metavar="OUT")
    p.add_argument("--text", default="heldout.txt")
    p.add_argument("--context", type=int, default=Sizes.max_position_embeddings)
    p.add_argument("--rows", type=int, help="of held-out text (default: all)")
    p.add_argument("--probes", type=int, default=512)
    p.set_defaults(run=check)

    p = commands.add_parser("card", help="write model-card.md, the excerpt and its notice")
    p.add_argument("data", metavar="DATA")
    p.add_argument("out", metavar="OUT")
    p.add_argument("--other", action="append", metavar="TOKENS=BITS", help="bits per byte of a run of another length")
    p.add_argument(
        "--licence", default=str(Path(sysconfig.get_paths()["stdlib"]) / "LICENSE.txt"), help="Python's licence"
    )
    p.set_defaults(run=card)
    args = parser.parse_args(argv)
    args.run(args)


if __name__ == "__main__":
    main()
