"""Why our values of STARC's claims are off: a cause for each, and the number that would change the verdict."""

from __future__ import annotations

from typing import Any

from ...llm import load_model
from ..difference import Difference
from ..evidence import Evidence
from ..verdict import Judgement
from .common import CHECKS, DECODES, MODEL, attention_mj, batch, run, system

#: Mean context of the longest run, and what the paper's reductions imply for it if latency follows the fetched tokens.
CONTEXT = 6144
STARC_SHARE, TOKEN_SHARE = 0.26, 0.26 / 0.69


@CHECKS.off("starc-sys")
def capacity(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    stacks = system().pim.stacks
    assert stacks is not None
    return Difference(cause="unpublished-input", number="capacity of a stack beside the GPUs", ours=stacks.stack_gib,
                      needed=32.0, unit="GB")


@CHECKS.off("starc-lat-tok", "starc-en-tok")
def clumping(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    """The clusters of the paper's runs fetch more, as its reductions against all tokens say."""
    own = run(evidence, "starc", DECODES[-1]).more["fetched"]
    return Difference(cause="unpublished-input", number="tokens that a head fetches in a step of the longest run with "
                      "clusters", ours=own, needed=STARC_SHARE * CONTEXT, unit="tokens")


@CHECKS.off("starc-lat-full", "starc-eff")
def fetched(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    own = run(evidence, "starc", DECODES[-1]).more["fetched"]
    return Difference(cause="unpublished-input", number="tokens that a head fetches in a step of the longest run",
                      ours=own, needed=STARC_SHARE * CONTEXT, unit="tokens")


@CHECKS.off("starc-en-full")
def fixed(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    """The paper's energy falls less than its latency, so a part of it does not follow the tokens."""
    own = run(evidence, "starc", DECODES[-1])
    whole = run(evidence, "full", DECODES[-1])
    share = (attention_mj(own) / attention_mj(whole) - own.more["fetched"] / whole.more["fetched"])
    return Difference(cause="unpublished-input", number="share of the energy of attention that does not follow the fetched "
                      "tokens", ours=100 * max(share, 0.0), needed=100 * (0.33 - STARC_SHARE) / (1 - STARC_SHARE), unit="%")


@CHECKS.off("starc-tot-lat", "starc-tot-en", "starc-tok-40")
def requests(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    """The share of attention in a token grows with the requests."""
    largest = system(**{"stacks.stack_gib": 32.0}).capacity(load_model(MODEL), 1, 1, 1 << 13)
    return Difference(cause="unpublished-input", number="requests of a run; with stacks of 32 GB, "
                      f"{largest.largest_batch_with_output} fit", ours=float(batch()), needed=None, unit="requests")


@CHECKS.off("starc-page-best")
def rows(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    pages, clusters = (run(evidence, name, DECODES[-1]).more["rows"] for name in ("quest", "starc"))
    return Difference(cause="design", number="rows that a head opens for K with pages, which the paper does not count",
                      ours=pages, needed=clusters, unit="rows")
