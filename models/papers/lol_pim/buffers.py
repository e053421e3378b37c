"""Section 6 and Table 6: transfers and the gain of two sets of buffers, from the timing engine."""

from __future__ import annotations

from typing import Any

from ...aim.operators import Context, Gemv, Module, Score
from ...llm import load_model
from ...lolpim.timing import ModuleTimer
from ...program import Command, Loop, Program
from ...program.nodes import Node
from ..category import Source
from ..evidence import Evidence, Finding, NotCheckable
from .common import CHECKS, system_of

#: Tokens of the heads and heads of the module for which section 6 is checked: near Musique's mean, Qwen1.5-7B.
TOKENS, HEADS = 16384, 32

#: Inputs and outputs of the matrices of Table 6.
SHAPES = ((4096, 8192), (4096, 16384), (8192, 4096), (12288, 12288))


def operators(double: bool = False) -> dict[str, Any]:
    """Programs for one set of buffers, or for two."""
    model, module = load_model("qwen1.5-7b"), Module()
    return {
        "qk": Score(module, "token", TOKENS, model.head_dim, heads=HEADS, double=double),
        "sv": Context(module, "token", TOKENS, model.head_dim, heads=HEADS, double=double),
        "ffn1": Gemv(module, model.hidden_size, model.intermediate_size, double=double),
        "ffn2": Gemv(module, model.intermediate_size, model.hidden_size, double=double),
    }


def timers(evidence: Evidence) -> tuple[ModuleTimer, ModuleTimer]:
    """Timers with one set of buffers and with two sets."""
    memory = system_of(evidence, "lol-pim").memory
    return evidence.once(
        "lol-pim timers",
        lambda: (ModuleTimer(memory, Module(), ping_pong=False), ModuleTimer(memory, Module(), ping_pong=True)),
    )


def without_transfers(program: Program) -> Program:
    """The program without its transfers: only the products remain."""

    def visit(body: tuple[Node, ...]) -> tuple[Node, ...]:
        return tuple(
            Loop(node.count, visit(node.body)) if isinstance(node, Loop) else node
            for node in body
            if not isinstance(node, Command) or node.op == "MAC_ABK"
        )

    return Program(visit(program.body))


def share(evidence: Evidence, operator: Any) -> float:
    """Percentage of the time with one set of buffers that the products alone do not take."""
    one = timers(evidence)[0]
    return 100 * (1 - one.program(without_transfers(operator.program)).cycles / one.time(operator).cycles)


@CHECKS.of("lolpim-io-over", by=Source.RUN)
def overhead(evidence: Evidence, claim: str) -> Finding:
    shares = {name: share(evidence, op) for name, op in operators().items() if name in ("qk", "sv")}
    # As in the baseline: sixteen heads, each in a channel.
    shape = (Module(), "head", TOKENS, 128, 1, HEADS, 16)
    qk, sv = (share(evidence, operator(*shape)) for operator in (Score, Context))  # type: ignore[arg-type]
    return Finding(
        {"min_percent": min(shares.values())},
        f"one head over all channels, {TOKENS} tokens, one set of buffers",
        f"Transfers take {shares['qk']:.1f} % of QK^T and {shares['sv']:.1f} % of SV. QK^T opens a row for "
        "eight products; opening it takes longer than reading the result. With a head in each channel the "
        f"percentages are {qk:.1f} % and {sv:.1f} %.",
    )


@CHECKS.of("lolpim-io-qk", "lolpim-io-sv", "lolpim-io-ffn1", "lolpim-io-ffn2", by=Source.RUN)
def gain(evidence: Evidence, claim: str) -> Finding:
    name = claim.removeprefix("lolpim-io-")
    one, two = (timer.time(operators(timer.ping_pong)[name]).cycles for timer in timers(evidence))
    why = "The timings of AiM are from CENT, because the paper prints none."
    if "ffn" in name:
        matrix, first = operators()[name], timers(evidence)[0]
        rows, ns = matrix.spans * matrix.per_unit, first.memory.clock_ps * 1e-3
        alone = first.program(without_transfers(matrix.program)).cycles
        why = (
            f"A row of weights takes {alone / rows * ns:.0f} ns. Its result takes {(one - alone) / rows * ns:.0f} ns, "
            f"both mode changes included, which bounds the gain. {why}"
        )
    return Finding(
        100 * (1 - two / one),
        f"{one} and {two} cycles of 0.5 ns; Qwen1.5-7B on one module, {TOKENS} tokens",
        why,
        tolerance=0.2,
    )


@CHECKS.of("lolpim-val-sim", by=())
def vendor(evidence: Evidence, claim: str) -> Finding:
    one, two = timers(evidence)
    cycles = [
        (one.time(Gemv(Module(), *shape)).cycles, two.time(Gemv(Module(), *shape, double=True)).cycles)
        for shape in SHAPES
    ]
    told = ", ".join(
        f"`{rows} x {columns}` {a / 2000:.2f} / {b / 2000:.2f}"
        for (rows, columns), (a, b) in zip(SHAPES, cycles, strict=True)
    )
    raise NotCheckable(
        "The check needs the library of the vendor's card. Times of our module in us with one / two sets of "
        f"buffers: {told}."
    )
