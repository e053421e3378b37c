"""Tables 1, 2, 4, 5 and 7, and sections 2.2, 4 and 8.1: hardware, models, workloads, partitioning."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....constraints.aim.encoding import COMMANDS
from ....constraints.lolpim.dispatcher import DpaDispatcherConfig
from ...aim.operators import Context, Module, Score
from ...llm import load_model
from ...lolpim.allocation import Allocator
from ...lolpim.compiler import compile_model
from ...lolpim.dispatcher import dispatch
from ...lolpim.host import load, set_request, start
from ...lolpim.timing import lockstep
from ...program import Program
from ...program.encoding import encode_program
from ...program.nodes import Tokens
from ...systems import load_system
from ..category import Source
from ..evidence import Evidence, Finding, NotCheckable
from .common import CHECKS, MODELS, system_of


@CHECKS.of("lolpim-hw-pu", "lolpim-hw-dot", "lolpim-spec-pim", "lolpim-hw-outreg", by=Source.SETTING)
def module(evidence: Evidence, claim: str) -> Finding:
    system = system_of(evidence, "lol-pim")
    spec, one, memory = system.spec, system.module, system.memory
    # A column access of all units every nCCDL cycles.
    per_s = 1e12 / (memory.parameters["nCCDL"] * memory.clock_ps)
    unit_gflops = 2 * one.lanes * per_s * 1e-9
    units = one.units * spec.node.modules
    values: dict[str, tuple[Any, str]] = {
        "lolpim-hw-pu": (unit_gflops, "16 lanes at a column access every nCCDL"),
        "lolpim-hw-dot": (one.lanes, "lol-pim"),
        "lolpim-hw-outreg": (
            {"registers": 2 if spec.features.ping_pong else 1, "bytes_each": 2},
            "lol-pim: one register per set",
        ),
        "lolpim-spec-pim": (
            {"tflops": units * unit_gflops * 1e-3, "internal_tbs": units * one.lanes * 2 * per_s * 1e-12},
            "2048 units of a node",
        ),
    }
    value, basis = values[claim]
    return Finding(value, basis, tolerance=0.01)


@CHECKS.of("lolpim-hw-epu", by=Source.RUN)
def hub(evidence: Evidence, claim: str) -> Finding:
    """Functions of the hub that the operators of a model need."""
    needed = {"softmax": "softmax", "norms": "layernorm", "residuals": "ewadd", "ffn_gate_product": "ewmul"}
    rows = compile_model(system_of(evidence, "lol-pim"), load_model("qwen1.5-7b"), 4096).rows
    found = {row.operator for row in rows if row.where == "hub"}
    return Finding(
        [name for operator, name in needed.items() if operator in found],
        "the hub's operators in the execution table of qwen1.5-7b",
        "The hub computes rotary positions as products and sums.",
    )


@CHECKS.of("lolpim-ctx-lim", by=Source.SETTING)
def contexts(evidence: Evidence, claim: str) -> Finding:
    """The name of MPT writes 65k for 65536 tokens; the other model cards count in units of 1024."""
    thousand = {name: 1000 if name == "MPT-7B-story" else 1024 for name in MODELS}
    return Finding(
        {name: f"{load_model(file).max_context // thousand[name]}K" for name, file in MODELS.items()},
        "max_position_embeddings of the built-in shapes",
    )


@CHECKS.of("lolpim-task-qmsum", "lolpim-task-hotpot", "lolpim-task-musique", "lolpim-ctxrange", by=Source.SETTING)
def workloads(evidence: Evidence, claim: str) -> Finding:
    from ...serving.workloads import draw

    names = {"lolpim-task-qmsum": "qmsum", "lolpim-task-hotpot": "hotpotqa", "lolpim-task-musique": "musique"}
    drawn = {
        name: evidence.once(("prompts", name), lambda name=name: draw(name, 200_000).prompt)  # type: ignore[misc]
        for name in names.values()
    }
    if claim == "lolpim-ctxrange":
        return Finding(
            [int(min(p.min() for p in drawn.values())), int(max(p.max() for p in drawn.values()))],
            "shortest and longest of 200000 draws of each workload",
            tolerance=0.06,
        )
    prompts = drawn[names[claim]]
    return Finding(
        {
            "mean": float(prompts.mean()),
            "std": float(prompts.std()),
            "max": int(prompts.max()),
            "min": int(prompts.min()),
        },
        "200000 draws",
        tolerance=0.02,
    )


@CHECKS.of("lolpim-cmd-set", "lolpim-dpa-set", by=Source.SETTING)
def commands(evidence: Evidence, claim: str) -> Finding:
    if claim == "lolpim-cmd-set":
        return Finding([code.paper for code in COMMANDS.values() if code.paper], "commands of the program encoding")
    encoding = DpaDispatcherConfig().encoding
    loop = ["LB", "LE"] if {"value", "length"} <= encoding.loop_fields.keys() else []
    change = ["Target", "Coefficient"] if {"target", "stride"} <= encoding.modifier_fields.keys() else []
    return Finding(
        {"Dyn-Loop": loop, "Dyn-Modi": change}, "fields of the prefix words: value and length, target and stride"
    )


@CHECKS.of("lolpim-dpa-row", by=Source.RUN)
def row_of_a_token(evidence: Evidence, claim: str) -> Finding:
    score = Score(Module(), "token", 1 << 15, heads=8)
    same = all(score.place(token)[2] == token // 256 for token in range(0, 1 << 15, 17))
    return Finding("floor(T_cur/256)" if same else "another", "row of a token's key, eight heads of 128 on a module")


@CHECKS.of("lolpim-dpa-example", "lolpim-dpa-example1", by=Source.RUN)
def example(evidence: Evidence, claim: str) -> Finding:
    """Section 5 on the dispatcher's model: requests of 256 and 300 tokens."""
    config = DpaDispatcherConfig()
    p = Program()
    with p.loop(Tokens(256)) as step:
        p.command("MAC_ABK", opsize=8, mask=0xFFFF0000, row=step, slot=0)
        p.command("RD_MAC", gpr=16 * step, mask=0xFFFF0000)
    writes = [
        *load(config, encode_program(p, config.encoding)),
        *set_request(config, 0, 1, 256, 0, [22]),
        *set_request(config, 1, 2, 300, 1, [33, 34]),
        start(config, 0, 0),
        start(config, 0, 1),
    ]
    issued, done = dispatch(config, writes)
    if any(end.code for end in done):
        raise NotCheckable("the dispatcher's model ended with an error")
    rows = [
        (request, row)
        for op, request, row in zip(*(issued.column(name).tolist() for name in ("op", "request", "row")), strict=True)
        if op == COMMANDS["MAC_ABK"].code
    ]
    by = {request: {str(n): row for n, row in enumerate(row for r, row in rows if r == request)} for request in (1, 2)}
    if claim == "lolpim-dpa-example1":
        return Finding({"req1": by[1]}, "dispatcher's model")
    return Finding(
        {"T_cur": 300, "LB": len(by[2]), "rows": list(by[2].values()), "va2pa": {"req2": by[2]}},
        "dispatcher's model",
        "LE is not compared: a loop body here has two commands, which include their modifiers. The paper "
        "counts commands and modifiers: four.",
    )


@CHECKS.of("lolpim-axis", "lolpim-no72", by=Source.RUN)
def sizes(evidence: Evidence, claim: str) -> Finding:
    if claim == "lolpim-axis":
        return Finding(
            [
                size
                for size in (128, 256, 512, 1024)
                if load_system("lol-pim").sized(size).splits(load_model("qwen1.5-7b"))
            ],
            "sizes at which lol-pim can be split for Qwen1.5-7B",
        )
    model = load_model("qwen1.5-72b")
    tried: list[Any] = [*load_system("aimx-pim").sized(128).splits(model)]
    least = min(max(split.weight_bytes(model)) / split.module.bytes for split in tried)
    return Finding(least > 1, f"weights take {100 * least:.0f} % of the fullest module at the best split")


@CHECKS.of(
    "lolpim-itpp-k",
    "lolpim-hfa",
    "lolpim-hfa-fc",
    "lolpim-bcast-path",
    "lolpim-pp-hw",
    "lolpim-lazy-noncontig",
    by=Source.RUN,
)
def rules(evidence: Evidence, claim: str) -> Finding:
    one = Module()
    if claim == "lolpim-itpp-k":
        score, context = Score(one, "token", 4096, heads=8), Context(one, "token", 4096, heads=8)
        ok = (
            len({score.place(t)[:2] for t in range(256)}) == one.units
            and len({context.place(0, k)[:2] for k in range(128)}) == 128
        )
        return Finding(ok, "places of keys and values of lol-pim")
    if claim == "lolpim-hfa":
        score, context = Score(one, "head", 4096), Context(one, "head", 4096)
        ok = all(
            len({score.place(t, h)[0] for t in range(4096)} | {context.place(t, 5, h)[0] for t in range(4096)}) == 1
            for h in range(32)
        )
        return Finding(ok, "places of keys and values of aimx-pim")
    if claim == "lolpim-hfa-fc":
        whole, shared = (
            dict(split.gemvs(load_model("qwen1.5-7b")))
            for split in (system_of(evidence, "aimx-pim").with_split(t, 128 // t) for t in (4, 8))
        )
        out = all(whole[name].outputs == 2 * shared[name].outputs for name in ("qkv", "ffn_gate", "ffn_up"))
        into = all(whole[name].inputs == 2 * shared[name].inputs for name in ("out_projection", "ffn_down"))
        return Finding(out and into, "linear layers of aimx-pim with tensor 4 and 8")
    if claim == "lolpim-bcast-path":
        context = Context(one, "token", 2048)
        return Finding(
            lockstep(context.program, one.mask).operands("WR_GB")["mask"].tolist() == [one.mask] * 2,
            "inputs for half of the channels occupy the path that all channels share",
        )
    if claim == "lolpim-pp-hw":
        timer = system_of(evidence, "lol-pim").unit.timer
        score = Score(one, "token", 4096, heads=8)
        return Finding(
            timer.time(score).cycles < timer.time(score, single=True).cycles,
            "one set of each pair fills or drains while the other is used",
        )
    allocator = Allocator(4, 256)
    allocator.grow(1, 256), allocator.grow(2, 256), allocator.grow(1, 512)
    return Finding(
        bool(np.any(np.diff(allocator.table[1]) != 1)), "chunks of a request that grows while another one grows"
    )
