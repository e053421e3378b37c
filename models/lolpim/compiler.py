"""Compile a model's shape for a LoL-PIM module: operators are recognised, partitioned and written as programs.

The modules of a stage run the same program on their shares. Rows of weights are physical, one layer after the other.
Rows of keys and values are numbered within the request, and the dispatcher looks them up. A request that grows adds
rows at the end. Keys have the order ``((row step x groups of heads + group) x layers + layer)``. Values lie behind the
keys of the longest context, in the order ``((run x heads + head) x layers + layer)``.

The table has the work of the hub and the links. The program leaves it out, because the paper gives no commands for it.
The program also leaves out the write of the new key and value. Loops cannot express its row, which follows from the
token, so the host issues this write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...constraints.core.errors import ConfigError, nearest
from ..aim.operators import Append, Context, Score, ceil
from ..llm import ROTARY, ModelShape
from ..program import Affine, Command, Loop, Program, Stage
from ..program.nodes import Node, shift, simplified

__all__ = ["Compiled", "Row", "compile_model", "patterns"]


@dataclass(frozen=True)
class Row:
    """A row of the execution table: an operator of one layer, for one request, on one module.

    Attributes
    ----------
    where : ``channels``, ``hub`` or ``links``
    shape : sizes of the computation
    partition : how the work is divided over modules, and over the channels and banks of a module
    communication : bytes that move into and out of channels, or over links
    commands : number of commands in the program, by name; a command for several channels counts once
    cycles : cycles of the memory's clock; None for work outside the channels
    microseconds : None for the hub while its clocks have not been measured
    """

    operator: str
    where: str
    shape: str
    partition: str
    communication: str
    commands: Mapping[str, int]
    cycles: int | None
    microseconds: float | None


@dataclass
class Compiled:
    """A model on a system.

    Attributes
    ----------
    patterns : patterns recognised in the model
    layers : layers of the fullest stage
    rows : execution table of one layer
    program : program of one layer for one request; its outermost loop is over the layers; with lazy allocation, loops
        count by tokens
    registers : hub registers that the program uses, 16 elements each
    virtual_rows : virtual rows of a request of the longest context
    """

    patterns: list[str]
    layers: int
    rows: list[Row]
    program: Program
    registers: int
    virtual_rows: int
    warnings: list[str] = field(default_factory=list)


def patterns(model: ModelShape) -> list[str]:
    """Properties of a model that decide how it is compiled."""
    out = [
        "multi-head attention"
        if model.group == 1
        else f"GQA: {model.group} queries share a key/value head"
        if model.kv_heads > 1
        else "multi-query attention"
    ]
    if model.gated:
        out.append(
            "SwiGLU: product of two projections"
            if model.activation in ("silu", "swish")
            else f"gated {model.activation}: product of two projections"
        )
    else:
        out.append(f"FFN of two matrices with {model.activation}, by the units' table")
    if model.sliding_window:
        out.append(f"sliding window of {model.sliding_window} tokens")
    return out


def _moved(
    body: Sequence[Node], depth: int, offsets: Mapping[tuple[str, str], Affine], zero: int | None = None
) -> tuple[Node, ...]:
    """``body`` below ``depth`` loops, with ``offsets`` added to operands, by command and operand. The register ``zero``
    stays where it is."""

    def moved(op: str, name: str, value: Affine) -> Affine:
        fixed = name == "gpr" and zero is not None and value == Affine(zero)
        return value if fixed or (op, name) not in offsets else value + offsets[op, name]

    def visit(nodes: Sequence[Node]) -> tuple[Node, ...]:
        out: list[Node] = []
        for node in nodes:
            if isinstance(node, Command):
                out.append(Command(node.op, {name: moved(node.op, name, value) for name, value in node.operands}))
            elif isinstance(node, Loop):
                out.append(Loop(node.count, visit(node.body)))
            elif isinstance(node, Stage):
                out.append(Stage(node.name, visit(node.body)))
        return tuple(out)

    return visit(tuple(shift(body, depth, {})))


def _bytes(vectors: int) -> str:
    return f"{2 * vectors} B"


def compile_model(system: Any, model: ModelShape, tokens: int, operator: str | None = None) -> Compiled:
    """Compile ``model`` for a system of modules (:class:`bankside.models.systems.lol_pim.LolPimSystem`).

    The table has the hub's times only after the system has been prepared with measurements.

    Parameters
    ----------
    tokens : tokens of the request that the table describes, the new token included
    operator : gives only this operator's row and part of the program

    Raises
    ------
    :exc:`ConfigError`
        If the model can't be split as the system says, or does not fit the system with such a request. Also if there is
        no such operator, or if the program needs more registers than the hub has.
    """
    system.check(model)
    system.check_fits(model, tokens, 1)
    unit, module, spec = system.unit, system.module, system.spec
    timer = unit.timer
    heads, group = system.heads(model)
    layers = max(system.stages(model))
    attended = int(model.attended(tokens))
    warnings = []
    if tokens > model.max_context:
        warnings.append(f"{tokens} tokens exceed the {model.max_context} positions that {model.name} was made for")
    lazy = spec.features.lazy_allocation and unit.partition == "token"
    rows: list[Row] = []
    parts: list[tuple[str, tuple[Node, ...]]] = []
    tp = system.tp
    hidden, dim = model.hidden_size, model.head_dim

    def add_hub(name: str, shape: str, seconds: Callable[[], float], counts: dict[str, int] | None = None) -> None:
        partition = (
            "each module"
            if name in ("norms", "residuals", "partial_sums")
            else "by head"
            if name in ("rotary", "softmax")
            else "by column"
        )
        rows.append(
            Row(
                name,
                "hub",
                shape,
                partition,
                "none",
                counts or {},
                None,
                None if unit.hub.sim is None else seconds() * 1e6,
            )
        )

    def add(
        name: str, op: Any, shape: str, partition: str, communication: str, times: int = 1, single: bool = False
    ) -> None:
        timed = timer.time(op, single)
        counts = {key: times * count for key, count in op.bound.counts().items()}
        rows.append(
            Row(
                name,
                "channels",
                shape,
                partition,
                communication,
                counts,
                times * timed.cycles,
                times * timed.seconds * 1e6,
            )
        )

    # Registers of the hub: input vector, results of linear layers, queries, scores, results, zeros, and the partial
    # result of a further piece or run.
    source, target = 0, ceil(hidden, module.lanes)
    gemvs = dict(system.gemvs(model))
    weight_rows = sum(one.rows for one in gemvs.values())
    widest = max(one.result_words for one in gemvs.values())
    queries = target
    scores = target + widest
    together = 1 if unit.partition == "token" else min(heads, module.channels)
    score, context = unit.operators(model, heads, group, attended, together)
    if unit.partition == "token":
        results = scores + group * score.query_registers
    else:
        results = scores + ceil(module.units * ceil(attended, module.units) * group, module.lanes)
    passes = ceil(dim, module.units if unit.partition == "token" else module.banks)
    second = results + module.channels * heads * group * passes  # second of the two projections that are multiplied
    zero = second + (widest if model.gated else 0)
    partial = zero + 1
    registers = partial + max(widest, module.channels * heads * group * passes)

    def gemv(name: str) -> None:
        one = gemvs[name]
        whole = "rows (outputs)" if name in ("qkv", "ffn_gate", "ffn_up") else "columns (inputs)"
        parts.append(
            (
                name,
                _moved(
                    replace(
                        one,
                        source=source if whole.startswith("rows") else results,
                        partial=partial,
                        zero=zero,
                        target=second if name == "ffn_up" and model.gated else target,
                    ).program.body,
                    1,
                    {("MAC_ABK", "row"): Affine(0, (weight_rows,))},
                ),
            )
        )
        add(
            name,
            one,
            f"{one.inputs} x {one.outputs}",
            f"1/{tp} of {whole}; outputs over {module.units} banks",
            f"in {_bytes(one.inputs)}, out {_bytes(one.outputs)} x {one.spans} spans",
        )

    add_hub("norms", f"2 x {hidden}", lambda: system.norms_seconds(model))
    gemv("qkv")
    turned = heads * (group + 1)
    if model.family in ROTARY:
        add_hub("rotary", f"{turned} x {dim}", lambda: unit.rotary_seconds(turned * dim))
    append = Append(module, unit.partition, 1, dim, 1, heads)
    add(
        "kv_append",
        append,
        f"2 x {heads} x {dim}",
        "key to one bank, value over banks",
        f"in {_bytes(2 * heads * dim)}",
        single=True,
    )
    turns = ceil(heads, together)
    by = "keys by token" if unit.partition == "token" else "a head per channel, keys by token over its banks"
    add(
        "attention_score",
        score,
        f"{heads} x ({group} x {dim}) x {attended}",
        by,
        f"in {_bytes(heads * group * dim)}, out {_bytes(heads * group * attended)}",
        turns,
    )
    add_hub(
        "softmax",
        f"{heads * group} x {attended}",
        lambda: unit.hub_seconds("SOFTMAX", attended, heads * group),
        {"SOFTMAX": heads * group} if unit.partition == "token" else None,
    )
    by = (
        "values by dimension" + (f", tokens in {context.parts} parts" if context.parts > 1 else "")
        if unit.partition == "token"
        else "a head per channel, values by dimension over its banks"
    )
    add(
        "attention_context",
        context,
        f"{heads} x ({group} x {attended}) x {dim}",
        by,
        f"in {_bytes(heads * group * attended)}, out {_bytes(heads * group * dim)}",
        turns,
    )
    virtual_rows = 0
    if unit.partition == "token":
        registers_of = {"queries": queries, "scores": scores, "results": results, "partial": partial, "zero": zero}
        attention, virtual_rows = _attention(unit, model, heads, group, attended, layers, lazy, registers_of, operator)
        parts.append((operator if operator in ("attention_score", "attention_context") else "attention", attention))
    else:
        # The loop repeats one turn. The host issues each turn and advances its rows and registers.
        ends = ((score, queries, scores), (context, scores, results))
        parts += [
            (
                name,
                (
                    Loop(
                        turns,
                        _moved(
                            replace(part, source=first, target=last, partial=partial, zero=zero).program.body, 2, {}
                        ),
                    ),
                ),
            )
            for name, (part, first, last) in zip(("attention_score", "attention_context"), ends, strict=True)
        ]

    def reduce(name: str) -> None:
        if tp > 1:
            seconds = system.all_reduce_seconds(hidden * 2)
            rows.append(
                Row(
                    name,
                    "links",
                    f"{hidden}",
                    f"{tp} modules",
                    f"sum of {_bytes(hidden)} each",
                    {},
                    None,
                    seconds * 1e6,
                )
            )

    gemv("out_projection")
    reduce("attention_allreduce")
    for name in ("ffn_gate", "ffn_up"):
        if name in gemvs:
            gemv(name)
    if model.gated:
        add_hub(
            "ffn_gate_product",
            f"{model.intermediate_size // tp}",
            lambda: unit.hub_seconds("GPR_MUL", model.intermediate_size // tp),
        )
    gemv("ffn_down")
    reduce("ffn_allreduce")
    add_hub("residuals", f"2 x {hidden}", lambda: unit.hub_seconds("EWADD", hidden, 2))
    pieces = {name: one.spans - 1 + system.bias(model, name) for name, one in gemvs.items()}
    add_hub(
        "partial_sums",
        f"{sum(pieces.values())} of linear layers, {heads} of contexts",
        lambda: (
            sum(
                unit.sums_seconds(one, system.bias(model, name), timer.time(one).seconds)[1]
                for name, one in gemvs.items()
            )
            + heads
            / together
            * sum(
                unit.hub_seconds("EWADD", words * module.lanes, times) for sums in context.sums for times, words in sums
            )
        ),
    )

    if operator is not None:
        names = [row.operator for row in rows]
        if operator not in names:
            raise ConfigError(nearest("operator", operator, names))
        rows = [row for row in rows if row.operator == operator]
        parts = [part for part in parts if part[0] == operator]
    most = unit.hub.config.registers
    if registers > most:
        raise ConfigError(
            f"{model.name} with {tokens} tokens needs {registers} registers of the hub, 32 bytes each; it has {most}"
        )
    stages = [Stage(name, simplified(body, (0,))) for name, body in parts if body]
    return Compiled(
        patterns(model),
        layers,
        rows,
        Program([Loop(layers, tuple(stages))] if stages else []),
        registers,
        virtual_rows,
        warnings,
    )


def _attention(
    unit: Any,
    model: ModelShape,
    heads: int,
    group: int,
    tokens: int,
    layers: int,
    lazy: bool,
    registers: Mapping[str, int],
    only: str | None,
) -> tuple[tuple[Node, ...], int]:
    """Score and context of each head of a module, below the loop over layers; and virtual rows of the longest request.

    The scores of a head take the same registers as the scores of the heads before. ``only``: one of the two operators.
    """
    queries, scores, results = (registers[name] for name in ("queries", "scores", "results"))
    module, dim = unit.module, model.head_dim
    run = unit.run(dim)
    common = {"by_tokens": lazy, "zero": registers["zero"], "double": unit.spec.features.ping_pong, "run": run}
    fit = module.row // dim
    longest = Score(module, "token", int(model.attended(model.max_context)), dim, group, heads)
    groups = ceil(heads, fit)
    key_rows = longest.rows * layers
    packed = max(module.row // run, 1)
    if packed != fit and not packed >= heads <= fit:  # heads that share a row must be the heads of the loops
        packed = 1
    value_groups = ceil(heads, packed)
    score = Score(
        module, "token", tokens, dim, group, heads, stride=groups * layers, source=queries, target=scores, **common
    )
    context = Context(
        module,
        "token",
        tokens,
        dim,
        group,
        heads,
        base=key_rows,
        stride=value_groups * layers,
        source=scores,
        target=results,
        **common,
    )
    value_rows = (
        ceil(int(model.attended(model.max_context)), context.parts * run) * context.passes * value_groups * layers
    )
    per_head = score.columns * score.steps_per_row

    size = min(fit, heads)

    def below(
        program: Program, before: int, row: tuple[int, int], column: int, step: int, *own: tuple[str, str]
    ) -> tuple[Node, ...]:
        """A head's program below the loops over layers, groups of heads and heads.

        ``before`` is the number of groups done before. ``own`` names registers by command and operand; each head has
        ``step`` of them.
        """
        return _moved(
            program.body,
            3,
            {
                ("MAC_ABK", "row"): Affine(before * row[0], (1, *row)),
                ("MAC_ABK", "column"): Affine(0, (0, 0, column)),
                **dict.fromkeys(own, Affine(before * size * step, (0, size * step, step))),
            },
            registers["zero"],
        )

    softmax = Program()
    with softmax.loop(group) as query:
        at = scores + score.query_registers * query
        softmax.command("SOFTMAX", opsize=softmax.newest() + 1 if lazy else tokens, gpr0=at, gpr1=at)

    value_row = (layers, 0) if packed > 1 else (size * layers, layers)
    out: list[Node] = []
    whole, rest = divmod(heads, size)
    for count, before, inside in ((whole, 0, size), (1 if rest else 0, whole, rest)):
        nodes: tuple[Node, ...] = ()
        if only != "attention_context":
            nodes += below(score.program, before, (layers, 0), per_head, group * score.columns, ("WR_GB", "gpr"))
        if only is None:
            nodes += _moved(softmax.body, 3, {})
        if only != "attention_score":
            nodes += below(
                context.program,
                before,
                value_row,
                run // module.lanes if packed > 1 else 0,
                group * module.channels * context.passes,
                ("RD_MAC", "gpr"),
                ("EWADD", "gpr0"),
                ("EWADD", "gpr1"),
            )
        out.append(Loop(count, (Loop(inside, nodes),)))
    return tuple(out), key_rows + value_rows
