"""Claims that need data or a model that is not here."""

from __future__ import annotations

from ..evidence import Evidence, Finding, NotCheckable
from .common import CHECKS

#: Reasons by claim.
REASONS: dict[str, str] = {
    "starc-datasets": "LongBench and PG-19 and the model that reads them are not here",
    "starc-ppl-range": "PG-19 is not here, and no model here reads 32,000 tokens",
    "starc-sparsity": "a statement about published methods, of which no results are here",
    "starc-acc-quest": "LongBench and a model that answers it are not here; `bankside sparse` measures bankside-small",
    "starc-acc-ppl": "PG-19 and LongChat-7B are not here; `bankside sparse` measures bankside-small",
    "starc-accq": "LongBench and a model that answers it are not here; `bankside sparse` measures bankside-small",
    "starc-recall": "samples of HotpotQA and LongChat-7B are not here; `bankside sparse` measures bankside-small",
    "starc-imp-page": "LLaMA-3.1-8B is not here; `bankside sparse` measures bankside-small",
}


@CHECKS.of(*REASONS, by=())
def not_here(evidence: Evidence, claim: str) -> Finding:
    raise NotCheckable(REASONS[claim])
