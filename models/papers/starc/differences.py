"""Why our values of STARC's claims are off: a cause for each, and the number that would change the verdict."""

from __future__ import annotations

from typing import Any

from ..difference import Difference
from ..evidence import Evidence
from ..verdict import Judgement
from .common import CHECKS, DECODES, attention_mj, batch, reduction, run, system

#: Requests that are tried for a claim about whole tokens.
REQUESTS = (16, 32, 48, 64, 96)


def paper_end(ours: Any, judged: Judgement) -> tuple[int, float]:
    """Length of the run of the end of an interval that is farthest off, and the paper's value of it."""
    place = int(judged.part.strip("[]"))
    assert judged.ratio
    return DECODES[0] if place == 0 else DECODES[-1], ours[place] / judged.ratio


@CHECKS.off("starc-sys")
def capacity(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    stacks = system().pim.stacks
    assert stacks is not None
    return Difference(
        cause="unpublished-input",
        number="capacity of a stack beside the GPUs",
        ours=stacks.stack_gib,
        needed=32.0,
        unit="GB",
    )


@CHECKS.off("starc-lat-tok", "starc-en-tok")
def clumping(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    """Tokens with which single tokens would take as much as the paper says, on the line between both runs."""
    decode, wanted = paper_end(ours, judged)
    own, other = (run(evidence, name, decode) for name in ("starc", "sparq"))
    value = attention_mj if claim == "starc-en-tok" else (lambda one: float(one.more["attention_us"]))
    slope = (other.more["fetched"] - own.more["fetched"]) / (value(other) - value(own))
    needed = own.more["fetched"] + slope * (value(own) / (1 - wanted / 100) - value(own))
    return Difference(
        cause="unpublished-input",
        number=f"tokens that a head fetches for single tokens in a step of the run of {decode:,} steps",
        ours=other.more["fetched"],
        needed=needed,
        unit="tokens",
    )


@CHECKS.off("starc-lat-full", "starc-eff")
def fetched(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    own = run(evidence, "starc", DECODES[-1]).more["fetched"]
    return Difference(
        cause="unpublished-input",
        number="tokens that a head fetches in a step of the longest run",
        ours=own,
        unit="tokens",
    )


@CHECKS.off("starc-en-full")
def fixed(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    """The paper's energy falls less than its latency, so a part of it does not follow the tokens."""
    decode, wanted = paper_end(ours, judged)
    own, whole = (attention_mj(run(evidence, name, decode)) for name in ("starc", "full"))
    return Difference(
        cause="unpublished-input",
        number="share of the energy of attention to all tokens that does not "
        f"follow the fetched tokens, run of {decode:,} steps",
        ours=0.0,
        needed=100 * (1 - wanted / 100 - own / whole) / (1 - own / whole),
        unit="%",
    )


@CHECKS.off("starc-tot-lat", "starc-tot-en", "starc-tok-40")
def requests(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    """The share of attention in a token grows with the requests. The smallest number tried with the paper's value."""
    needed = None
    if claim == "starc-tot-en":
        decode, wanted = paper_end(ours, judged)
        for count in REQUESTS:
            own, other = (
                run(evidence, name, decode, requests=count).energy_mj_per_token for name in ("starc", "sparq")
            )
            if reduction(own, other) >= wanted:
                needed = float(count)
                break
    return Difference(
        cause="unpublished-input", number="requests of a run", ours=float(batch()), needed=needed, unit="requests"
    )


@CHECKS.off("starc-page-best")
def rows(evidence: Evidence, claim: str, ours: Any, judged: Judgement) -> Difference:
    pages, clusters = (run(evidence, name, DECODES[-1]).more["rows"] for name in ("quest", "starc"))
    return Difference(
        cause="design",
        number="rows that a head opens for K with pages, which the paper does not count",
        ours=pages,
        needed=clusters,
        unit="rows",
    )
