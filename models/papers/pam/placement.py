"""Section 6: mapping of KV tokens by activation, importance and Algorithm 2, on small tables of the real class."""

from __future__ import annotations

import math

import numpy as np

from ....constraints.pam.layout import TIERS
from ...pam.placement import KvTable, TierShape
from ...pam.sparsity import Locality, SyntheticSource
from ..category import Source
from ..evidence import Evidence, Finding
from .common import CHECKS, MEMORY, system_of

KIB = 1024


def hbm_of_a_gpu(evidence: Evidence) -> TierShape:
    """The bank groups of 80 GB of HBM."""
    tier = TIERS["hbm"]
    stacks = system_of(evidence, "gpu-only").spec.memory.stacks_per_gpu
    return TierShape("hbm", stacks, tier.groups * tier.channels, 64)


@CHECKS.of("pam-bg-total", by=Source.SETTING)
def bank_groups(evidence: Evidence, claim: str) -> Finding:
    return Finding(hbm_of_a_gpu(evidence).all_groups, "groups of the HBM tier's map x channels x stacks of a GPU")


@CHECKS.of("pam-bg-id", by=Source.SETTING)
def group_numbers(evidence: Evidence, claim: str) -> Finding:
    table = KvTable([hbm_of_a_gpu(evidence)])
    count, size = table.tiers[0].all_groups, table.group.itemsize
    return Finding(
        count * size / KIB,
        f"{count} group numbers of {8 * size} bits in the block table, KiB",
        f"{math.ceil(math.log2(count))} bits are enough to number {count} bank groups; our block table uses "
        f"{8 * size}. The paper's size corresponds to 18 bits for each group, which the paper does not explain.",
        0.05,
    )


@CHECKS.of("pam-bg-track", by=Source.SETTING)
def counters(evidence: Evidence, claim: str) -> Finding:
    return Finding(
        {"max_kb": KvTable([hbm_of_a_gpu(evidence)]).tracking_bytes / KIB},
        "activation counters of the block table for the bank groups of a GPU, KiB",
    )


@CHECKS.of("pam-window", by=Source.SETTING)
def window(evidence: Evidence, claim: str) -> Finding:
    return Finding(KvTable([hbm_of_a_gpu(evidence)]).windows[0].shape[0], "steps that the block table's counters cover")


@CHECKS.of("pam-alloc", by=Source.RUN)
def lowest_activation(evidence: Evidence, claim: str) -> Finding:
    """Compare the groups of new tokens with activation counts that this function keeps for ten steps."""
    random = np.random.default_rng(1)
    right = True
    for _ in range(40):
        groups = int(random.integers(2, 40))
        table = KvTable([TierShape("hbm", 1, groups, 4096)], run_tokens=1)
        requests = table.add([400, 300], room=[500, 400])
        history = []
        for _ in range(int(random.integers(1, 25))):
            active = np.sort(random.choice(table.places(), 90, replace=False))
            history.append(np.bincount(table.group[active], minlength=groups))
            table.record(active)
        expected = int(np.sum(history[-10:], axis=0).argmin())
        right &= int(table.group[table.append(requests[:1])][0]) == expected
    return Finding(
        right,
        "a token appended to each of 40 block tables with random activations: its group compared with "
        "the lowest sum over the last 10 steps",
        "" if right else "The block table chose another group.",
    )


def literal_schedule(importance: np.ndarray, tier: np.ndarray, x: float, y: float, most: int) -> np.ndarray:
    """Algorithm 2 swap by swap, with its guards; returns the tier of each token."""
    tier, importance = tier.copy(), importance.astype(np.float64)

    def score(k: int) -> float:
        return float(importance[tier == k].mean())

    for fast, slow, below in (
        (1, 2, lambda: score(0) + score(1) < (x + y) * score(2)),
        (0, 1, lambda: score(0) * y < score(1) * x),
    ):
        while most and below():
            here, there = np.flatnonzero(tier == fast), np.flatnonzero(tier == slow)
            down, up = here[importance[here].argmin()], there[importance[there].argmax()]
            if importance[up] <= importance[down]:
                break
            tier[down], tier[up] = slow, fast
            most -= 1
    return tier


@CHECKS.of("pam-alg2", by=Source.RUN)
def algorithm_2(evidence: Evidence, claim: str) -> Finding:
    random = np.random.default_rng(1)
    right = True
    for _ in range(60):
        sizes = random.integers(5, 60, 3)
        table = KvTable(
            [TierShape(name, 1, 1, int(size)) for name, size in zip(("hbm", "ddr", "ssd"), sizes, strict=True)]
        )
        table.add([int(sizes.sum())])
        table.importance[:] = random.random(len(table.importance), np.float32)
        x, y = np.exp(random.uniform(0, 2.5, 2))
        most = int(random.integers(1, 200))
        expected = literal_schedule(table.importance, table.tier, float(max(x, y)), float(min(x, y)), most)
        table.schedule(float(max(x, y)), float(min(x, y)), most)
        right &= bool((table.tier == expected).all())
    return Finding(
        right,
        "tiers of all tokens after 60 random schedules, compared with the printed loops swap by swap",
        "Two guards that the listing lacks are added: a swap without improvement ends a loop, and the number of "
        "swaps is limited.",
    )


@CHECKS.of("pam-eq8", by=Source.RUN)
def device_score(evidence: Evidence, claim: str) -> Finding:
    """Tiers whose mean importances have exactly the wanted ratio need no swap, although their sums differ from it."""
    table = KvTable([TierShape("hbm", 1, 1, 40), TierShape("ddr", 1, 1, 20), TierShape("ssd", 1, 1, 10)])
    table.add([70])
    for k, mean in enumerate((4.0, 2.0, 1.0)):
        table.importance[table.tier == k] = mean
    still = not any(len(moves) for moves in table.schedule(4.0, 2.0, 100).values())
    moved = any(len(moves) for moves in table.schedule(1e3, 2.0, 100).values()) or not len(
        np.flatnonzero(table.importance[table.tier == 2] > 1.0)
    )
    return Finding(
        "IS = sum(I)/n" if still and moved else "other",
        "the scheduler leaves tiers of 40, 20 and 10 tokens unchanged if their mean importances have the wanted ratio",
    )


@CHECKS.of("pam-compress", by=Source.SETTING)
def compression(evidence: Evidence, claim: str) -> Finding:
    table = KvTable([TierShape("hbm", 1, 64, 4096)])
    source = SyntheticSource(Locality(), seed=1)
    source.added(table, table.add([738] * 100))
    active = [len(source.step(table).active) for _ in range(40)]
    return Finding(
        {"ratio": table.tokens / float(np.mean(active)), "max_acc_loss_percent": None},
        "tokens divided by active tokens; 40 steps of 100 requests of 738 tokens from the synthetic source",
        "Draws are random. The loss of accuracy is not checked, because it needs the language models.",
        0.02,
    )


def entry_bytes() -> float:
    """Bytes of the block table per token."""
    table = KvTable([TierShape("hbm", 1, 1, 256)])
    table.add([256])
    return table.table_bytes / table.tokens


def memory_bytes(evidence: Evidence, tier: str) -> int:
    """Bytes of one device of a tier."""
    memory = evidence.memory(MEMORY[tier])
    return memory.channels * memory.banks * memory.rows * memory.row_bytes
