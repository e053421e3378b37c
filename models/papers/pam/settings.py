"""Sections 2.2, 4 and 7.1: platform, models and workloads of the evaluation."""

from __future__ import annotations

import numpy as np

from ...llm import load_model
from ..category import Source
from ..evidence import Evidence, Finding
from .common import CHECKS, config_of

#: Language models by the names of the claims.
MODELS = {"qwen2.5-32b": "qwen2.5-32b", "llama3-70b": "llama-3-70b", "opt-175b": "opt-175b"}

GIB = 1 << 30


@CHECKS.of("pam-models", by=Source.SETTING)
def models(evidence: Evidence, claim: str) -> Finding:
    """The paper's name of each model that loads and has 16-bit values."""
    spelt = {"qwen2.5-32b": "Qwen2.5-32B", "llama3-70b": "LLaMA3-70B", "opt-175b": "OPT-175B"}
    return Finding(
        [spelt[name] for name, file in MODELS.items() if load_model(file).dtype_bytes * 8 == config_of("hbm").io.width],
        "built-in shapes with weights and KV of 16 bits",
    )


@CHECKS.of("pam-mot-kv", by=Source.SETTING)
def kv_of_requests(evidence: Evidence, claim: str) -> Finding:
    return Finding(256 * 2048 * load_model("opt-175b").kv_bytes_per_token / GIB, "shape of opt-175b, GiB")


def lengths(evidence: Evidence, workload: str) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and outputs of many requests of a workload."""
    from ...serving.workloads import draw

    def drawn() -> tuple[np.ndarray, np.ndarray]:
        requests = draw(workload, 100_000)
        return requests.prompt, requests.output

    return evidence.once(("lengths", workload), drawn)


@CHECKS.of("pam-workload-online", by=Source.SETTING)
def online_lengths(evidence: Evidence, claim: str) -> Finding:
    means = [[float(part.mean()) for part in lengths(evidence, name)] for name in ("sharegpt", "wildchat", "humaneval")]
    return Finding(
        {"in": float(np.mean([m[0] for m in means])), "out": float(np.mean([m[1] for m in means]))},
        "means of 100,000 requests of sharegpt, wildchat and humaneval",
        "Lengths are drawn at random. Each set has the paper's context and the same share of outputs; HumanEval "
        "has the context that the means over all sets leave.",
        0.03,
    )


@CHECKS.of("pam-workload-ctx", by=Source.SETTING)
def online_contexts(evidence: Evidence, claim: str) -> Finding:
    return Finding(
        {name: float(sum(part.mean() for part in lengths(evidence, name))) for name in ("wildchat", "sharegpt")},
        "mean input plus output of 100,000 requests",
        "Lengths are drawn at random from a distribution with the stated mean.",
        0.03,
    )


@CHECKS.of("pam-workload-off", by=Source.SETTING)
def offline_lengths(evidence: Evidence, claim: str) -> Finding:
    total = np.add(*lengths(evidence, "write_doc"))
    return Finding(
        [int(total.min()), int(total.max())],
        "shortest and longest of 100,000 requests of write_doc",
        "Lengths are drawn at random.",
        0.03,
    )
