"""Sections IV and VI-A: platform, parameters of the method, runs."""

from __future__ import annotations

from typing import Any

from ....constraints.memory import load_memory
from ...attacc import AttentionLayer
from ...llm import load_model
from ...sparse.methods import Quest
from ..category import Source
from ..evidence import Evidence, Finding, NotCheckable
from .common import BUDGET, CHECKS, DECODES, PREFILL, run, system


@CHECKS.of("starc-access", "starc-gu", "starc-sys", by=Source.SETTING)
def platform(evidence: Evidence, claim: str) -> Finding:
    found = system()
    memory, spec = load_memory(found.pim.memory), found.pim
    if claim == "starc-access":
        layer = AttentionLayer(PREFILL, 1, wide=found.wide, memory=memory)
        return Finding(
            {"values": memory.banks * memory.column_bytes // 2, "vectors": layer.unit_tokens},
            f"{memory.name} and selection.unit_tokens",
            "AttAcc's simulator has 16 tokens in two accesses; selection.unit_tokens 16 takes them.",
        )
    if claim == "starc-gu":
        if spec.placement != "bank":
            raise NotCheckable("the units are not at the banks")
        return Finding(1, "placement of starc")
    assert spec.stacks is not None
    gpus = found.spec.gpu.count
    own, beside = (gpus * one.stacks_per_gpu for one in (found.spec.memory, spec.stacks))
    return Finding(
        {
            "gpus": gpus,
            "hbm_gpu": own,
            "hbm_attacc": beside,
            "tb_each": beside * spec.stacks.stack_gib * (1 << 30) * 1e-12,
            "gbps_pin": 4e3 / memory.clock_ps,
        },
        "file of starc",
        "40 stacks of 16 GiB are 0.69 TB. The capacity decides only how many requests fit.",
        tolerance=0.001,
    )


@CHECKS.of("starc-first2", "starc-quest-page", "starc-lens", "starc-base-opts", "starc-model", by=Source.SETTING)
def parameters(evidence: Evidence, claim: str) -> Finding:
    found = system()
    if claim == "starc-base-opts":
        overlaps = found.pim.overlaps
        assert overlaps is not None
        names = {
            "head-level pipelining": overlaps.pipelining == "heads",
            "feedforward co-processing": overlaps.feed_forward,
        }
        return Finding([name for name, there in names.items() if there], "overlaps of starc")
    if claim == "starc-model":
        assert found.default_model is not None
        model = load_model(found.default_model)
        return Finding(
            f"{model.name.replace('llama', 'LLaMA').replace('b', 'B')} FP{8 * model.dtype_bytes}",
            "default model of starc",
        )
    values: dict[str, Any] = {
        "starc-first2": system(**{"selection.full_layers": 2}).chosen.full_layers,
        "starc-quest-page": Quest.PAGE,
        "starc-lens": [[PREFILL, count] for count in DECODES],
    }
    why = {
        "starc-first2": "An option; the runs of latency and energy have none, as the paper names it for accuracy only."
    }
    return Finding(values[claim], "file of starc", why.get(claim, ""))


@CHECKS.of("starc-ideal", by=Source.SETTING)
def bound(evidence: Evidence, claim: str) -> Finding:
    return Finding(
        {str(count): 100 * (1 - BUDGET / count) for count in (3072, 4096, 6144)}, "budget over context", tolerance=0.001
    )


@CHECKS.of("starc-eff", by=(Source.RUN, Source.RECORD))
def fetched(evidence: Evidence, claim: str) -> Finding:
    """Tokens that would be fetched if latency followed them, the condition of the claim. Contexts are the means of the
    shortest and the longest run."""
    ends = {"3072": DECODES[0], "6144": DECODES[-1]}
    ours = {name: run(evidence, "starc", count).more for name, count in ends.items()}
    implied = {
        name: int(name) * more["attention_us"] / run(evidence, "full", ends[name]).more["attention_us"]
        for name, more in ours.items()
    }
    return Finding(
        implied,
        "starc, runs of 2,048 and 8,192 steps, synthetic keys",
        f"Heads fetch {ours['3072']['fetched']:.0f} and {ours['6144']['fetched']:.0f} tokens. A part of the "
        "time does not follow them: rows that are opened, queries, moves.",
        tolerance=0.25,
    )
