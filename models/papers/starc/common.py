"""Objects that several checks of STARC share: runs of the system, and the reads of a real model's heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....constraints.core.errors import ConfigError, ToolMissing
from ...llm import load_model
from ...sparse.methods import make_method
from ...sparse.source import Held, KeySource, Synthetic
from ...sparse.steps import select_steps
from ...systems import Evaluation, evaluate, load_system
from ...systems.starc import StarcSystem
from ..evidence import Checks, Evidence, NotCheckable

__all__ = [
    "ATTENTION",
    "BUDGET",
    "BY_ROW",
    "CHECKS",
    "DECODES",
    "METHODS",
    "MODEL",
    "PREFILL",
    "TOKEN_WISE",
    "attention_mj",
    "batch",
    "reads",
    "real_heads",
    "reduction",
    "run",
    "shares",
    "system",
]

CHECKS = Checks()

#: The paper's PIM runs (section VI-C).
MODEL, BUDGET, PREFILL, DECODES = "llama-7b", 1024, 2048, (2048, 4096, 8192)

#: Methods that the paper compares, and the ones of them that choose single tokens.
METHODS = ("full", "sparq", "infinigen", "quest", "starc")
TOKEN_WISE = ("sparq", "infinigen")

#: Components of energy that are of attention.
ATTENTION = ("pim_cell_reads", "pim_buffers", "pu_compute")

#: Energy of reads as the memory file has it: an activation costs the same whatever is read of its row. The units' share is
#: AttAcc's 0.32 pJ for a product over the 7.04 pJ of the cells of its element.
BY_ROW: dict[str, Any] = {
    "command_energy": None,
    "energy": {
        "unit_power_ratio": 0.045,
        "source": "AttAcc simulator, src/config.py: 0.32 pJ a product, 3.52 pJ a byte of cells",
    },
}

#: Tokens of the real text: all positions of the model of the package.
TEXT_TOKENS = 2048


def system(**changes: Any) -> StarcSystem:
    """STARC as its file has it."""
    found = load_system("starc", changes)
    assert isinstance(found, StarcSystem)
    return found


def batch() -> int:
    """Requests of our runs: as many as fit at the end of the longest run. The paper states none."""
    return system().capacity(load_model(MODEL), PREFILL + 1, 1, DECODES[-1]).largest_batch_with_output


def run(evidence: Evidence, method: str, decode: int, *, requests: int | None = None, **changes: Any) -> Evaluation:
    """A run of the paper's kind; keys of ``changes`` have dots."""
    count = batch() if requests is None else requests
    key = ("starc", method, decode, count, tuple(sorted((name, str(value)) for name, value in changes.items())))
    evidence.progress(f"STARC: {method}, {decode} steps")
    return evidence.once(
        key,
        lambda: evaluate(
            "starc",
            load_model(MODEL),
            context=PREFILL + 1,
            batch=count,
            output_tokens=decode,
            records=evidence.records,
            overrides={"selection.method": method, "selection.budget": BUDGET, "selection.prompt_tokens": PREFILL}
            | changes,
        ),
    )


def reduction(new: float, old: float) -> float:
    """Per cent by which ``new`` is below ``old``."""
    return 100 * (1 - new / old)


def attention_mj(result: Evaluation) -> float:
    """Energy of attention of a token, in mJ."""
    return sum(float(result.energy_breakdown_mj.get(name, 0.0)) for name in ATTENTION)


# Real heads --------------------------------------------------------------------------------------------------------------


def real_heads(evidence: Evidence) -> Held:
    """Queries and keys of all heads of the model of the package, on its excerpt of held-out text.

    Raises
    ------
    :exc:`NotCheckable`
        If the packages that read the model are not installed.
    """

    def make() -> Held:
        from ...decode.backend import Backend
        from ...decode.decoder import Decoder
        from ...llm.weights import SMALL, read_model

        evidence.progress("STARC: keys of the model of the package")
        try:
            model = read_model(SMALL)
        except ToolMissing as missing:
            raise NotCheckable(str(missing)) from None
        assert model.tokenizer is not None
        text = (SMALL / "heldout.txt").read_text(encoding="utf-8")[: 16 * TEXT_TOKENS]
        ids = np.array(model.tokenizer.encode(text, add_special_tokens=False).ids[:TEXT_TOKENS])
        decoder = Decoder(model, Backend(), len(ids), capture=True)
        decoder.forward(ids)
        q, k = (np.concatenate([layer[part].swapaxes(0, 1) for layer in decoder.captured]) for part in (0, 1))
        return Held(q, k, model.shape.name)

    return evidence.once(("starc", "real heads"), make)


def reads(evidence: Evidence, source: str, method: str, share: float, unit: int = 8) -> float:
    """Tokens that a head fetches, over the tokens of the context, mean over heads and some steps. ``source``: ``real`` or
    ``synthetic``; ``share``: budget over context."""

    def make() -> float:
        heads: KeySource = real_heads(evidence) if source == "real" else Synthetic(heads=16)
        contexts = np.arange(TEXT_TOKENS - 3 * 37, TEXT_TOKENS + 1, 37)
        budget = round(share * TEXT_TOKENS)
        options = {"prefill": TEXT_TOKENS // 2} if method == "starc" else {}
        found = select_steps(make_method(method, budget, **options), heads, contexts, unit)
        return float(np.mean([step.fetch.fetched / step.context for step in found]))

    return evidence.once(("starc", "reads", source, method, share, unit), make)


def shares(evidence: Evidence, method: str, share: float) -> str:
    """What heads fetch of a context, of made-up keys and of a real model's, in words."""
    parts: Sequence[tuple[str, str]] = (("made-up keys", "synthetic"), ("heads of bankside-small", "real"))
    told = []
    for words, source in parts:
        try:
            told.append(f"{words} {100 * reads(evidence, source, method, share):.0f} %")
        except (NotCheckable, ConfigError):
            continue
    return ", ".join(told)
