"""Rewrite the tables of docs/pam/system.md from results of ``bankside eval``. This takes a few minutes and needs the
measurement records of the systems (``bankside eval pam --model llama-3-70b`` names missing ones).

    .venv/bin/python tools/system_tables.py [NAME ...]           rewrites these tables, all by default
    .venv/bin/python tools/system_tables.py --print [NAME ...]   prints them instead
    .venv/bin/python tools/system_tables.py --calibrate          first finds constraints/pam_ratios.yaml anew

A table stands in the page between ``<!-- table NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from bankside.constraints.core.document import load
from bankside.constraints.core.errors import BanksideError, ConfigError
from bankside.constraints.core.workspace import write_files
from bankside.constraints.systems import RATIOS, RatioTable
from bankside.models.systems.calibration import table_text
from bankside.pages.unit_page import fill, table
from bankside.studies.calibrate import calibrate
from bankside.studies.evaluate import evaluate

ROOT = Path(__file__).resolve().parent.parent

PAGE = "docs/pam/system.md"

#: Model, requests, tokens of each: all in HBM; HBM full and most of DDR4; three tiers.
LOADS = (("llama-3-70b", 1024, 738), ("llama-3-70b", 8192, 738), ("opt-175b", 256, 2048))

MODELS = ("llama-3-70b", "qwen2.5-32b", "opt-175b")


def named(of: tuple[str, int, int]) -> str:
    model, batch, context = of
    return f"{model}, {batch} x {context}"


@cache
def _evaluated(system: str, model: str, batch: int, context: int, changes: tuple[tuple[str, Any], ...]) -> Any:
    try:
        return evaluate(system, model, context=context, batch=batch, changes=dict(changes)).to_json()
    except ConfigError as error:
        if "largest batch that fits" in str(error):
            return None
        raise


def run(system: str, of: tuple[str, int, int], **changes: Any) -> Any:
    """Result of ``bankside eval SYSTEM --set KEY=VALUE ...``, with ``__`` in a key for a dot; None if it does not fit."""
    return _evaluated(system, *of, tuple((key.replace("__", "."), value) for key, value in sorted(changes.items())))


def attention_ms(result: Any) -> float:
    return sum(
        ms
        for name, ms in result["breakdown_ms"].items()
        if name
        in ("attention", "kv_fetch", "attention_merge", "attention_softmax", "attention_kv_append", "migration_exposed")
    )


def figure(value: float) -> str:
    """Three digits, more if it is a whole number of four or five."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def ratios() -> str:
    found = load(RATIOS, RatioTable).models
    rows = []
    for model in MODELS:
        times = [part.split()[1] for part in found[model].conditions.split(": ", 1)[1].split(", ")]
        rows.append([model, figure(found[model].x), figure(found[model].y), ", ".join(figure(float(t)) for t in times)])
    return table(["model", "x", "y", "HBM, DDR, SSD in us a layer"], rows)


def other_ratios() -> str:
    rows = []
    for of in (("llama-3-70b", 8690, 738), LOADS[2]):
        for what, changes in (
            ("stored", {}),
            ("25.5 : 2.5", {"scheduling__x": 25.5, "scheduling__y": 2.5}),
            ("12 : 1.2", {"scheduling__x": 12, "scheduling__y": 1.2}),
        ):
            result = run("pam", of, **changes)
            tiers = result["attention"]["tiers"]
            rows.append(
                [named(of), what, *(figure(tier["total_us"]) for tier in tiers.values()), figure(attention_ms(result))]
            )
    return table(["load", "x : y", "HBM, us a layer", "DDR", "SSD", "attention, ms"], rows)


def areas() -> str:
    result = run("pam", LOADS[0])
    tiers = result["attention"]["tiers"]
    rows = []
    for name, die, units, budget in (
        ("hbm", "HBM, 121 mm2, 14 nm x 10", "64, 16", "9.25 %"),
        ("ddr", "DDR chip, 100 mm2, 28 nm x 10", "8, 2", "5.04 %"),
        ("ssd", "SSD controller, 107.5 mm2, 14 nm", "64, 8", "7.592 %"),
    ):
        low, high = tiers[name]["with_other_percent"]
        rows.append([die, units, f"{low:.1f} to {high:.1f} %", budget])
    pairs = [tiers[name]["interface_mm2"] for name in ("hbm", "ddr", "ssd")]
    rows.append(
        [
            "interface at HBM, at DDR (two), at SSD",
            "",
            ", ".join("not measured" if pair is None else f"{pair[0]:.3f} to {pair[1]:.3f}" for pair in pairs) + " mm2",
            "0.85 mm2 each",
        ]
    )
    return table(["die", "units, reduction units", "measured", "PAM"], rows)


def what_comes_out() -> str:
    variants: list[tuple[str, str, dict[str, Any]]] = [
        *((name, name, {}) for name in ("pam", "ls-pim", "l-pim", "attacc", "vllm-offload")),
        *((f"vllm-offload, `keeps={keeps}`", "vllm-offload", {"keeps": keeps}) for keeps in ("batch", "nothing")),
        ("pam without its attention", "pam", {"features__pam_attention": False}),
        ("pam without the mapping", "pam", {"features__kv_mapping": False}),
        ("pam without scheduling", "pam", {"features__kv_scheduling": False}),
        ("pam, dense", "pam", {"sparsity__mode": "dense"}),
    ]
    rows = []
    for label, system, changes in variants:
        found = [run(system, of, **changes) for of in LOADS]
        rows.append(
            [
                label,
                *(
                    "does not fit" if one is None else f"{figure(one['tpot_ms'])} ({figure(attention_ms(one))})"
                    for one in found
                ),
            ]
        )
    return table(["ms", *(named(of) for of in LOADS)], rows)


def mapping() -> str:
    rows = []
    for count in (1, 16, 32):
        for what, on, unmapped in (
            ("by activation", True, "turn"),
            ("in turn", False, "turn"),
            ("in blocks", False, "blocks"),
        ):
            found = [
                run("pam", of, placement__run_tokens=count, features__kv_mapping=on, placement__unmapped=unmapped)
                for of in LOADS
            ]
            rows.append(
                [count, what, *(f"{figure(attention_ms(one))} ({', '.join(_imbalance(one))})" for one in found)]
            )
    return table(["tokens of a run", "groups", *(named(of) for of in LOADS)], rows)


def _imbalance(result: Any) -> list[str]:
    return [f"{tier['imbalance']:.2f}" for tier in result["attention"]["tiers"].values() if tier["active_tokens"]]


def page_order() -> str:
    from bankside.models.systems import load_system

    system: Any = load_system("pam")
    rows = []
    for order in ("token", "head"):
        tiers = [
            tier.model_dump(mode="json") | ({"page_order": order} if tier.layout == "ssd" else {})
            for tier in system.pim.tiers
        ]
        result = evaluate(
            "pam", LOADS[2][0], batch=LOADS[2][1], context=LOADS[2][2], changes={"tiers": tiers}
        ).to_json()
        rows.append(
            [
                order,
                figure(result["attention"]["tiers"]["ssd"]["total_us"]),
                figure(attention_ms(result)),
                result["attention"]["moves"]["ssd-ddr"],
            ]
        )
    return table(["page_order", "SSD, us a layer", "attention, ms", "swaps SSD-DDR a step"], rows)


def moves() -> str:
    rows = []
    for of in LOADS[1:]:
        result = run("pam", of)
        attention = result["attention"]
        rows.append(
            [
                named(of),
                figure(result["tpot_ms"]),
                ", ".join(f"{name} {count:,}" for name, count in attention["moves"].items()),
                figure(attention["migration_ms"]),
                *(f"{figure(tier['moving_ms'])}, {figure(tier['busy_ms'])}" for tier in attention["tiers"].values()),
            ]
        )
    return table(["load", "step, ms", "swaps", "transfers, ms", "HBM: moves, attention, ms", "DDR", "SSD"], rows)


def reduction() -> str:
    rows = []
    for mode in ("synthetic", "dense"):
        for of in LOADS:
            attention = run("pam", of, sparsity__mode=mode)["attention"]
            kept = [
                one["partial_results"].get("saved_percent", {}).get("group_to_device")
                for one in (attention["tiers"]["hbm"], attention["tiers"]["ddr"])
            ]
            rows.append(
                [
                    named(of) + (", dense" if mode == "dense" else ""),
                    f"{attention['reduction']['share_percent']:.2g} %",
                    *("" if value is None else f"{value:.1f} %" for value in kept),
                ]
            )
    return table(["", "share", "HBM", "DDR"], rows)


def nodes() -> str:
    rows = []
    splits = (1, 4, 2), (1, 8, 1), (2, 4, 4), (2, 8, 2), (2, 16, 1), (4, 4, 8), (4, 8, 4), (4, 32, 1)
    for count, tensor, pipeline in splits:
        changes = {"nodes": count, "parallelism__tensor": tensor, "parallelism__pipeline": pipeline}
        rates = [
            run("pam", ("llama-3-70b", batch, context), **changes)["throughput_tok_s"]
            for batch, context in ((512 * count, 738), (1024, 4500))
        ]
        rows.append(
            [f"{count} node{'s' if count > 1 else ''}, {tensor} x {pipeline}", *(f"{rate:,.0f}" for rate in rates)]
        )
    return table(["pam, llama-3-70b, tokens/s", "512 a node x 738", "1024 x 4500"], rows)


TABLES: dict[str, Callable[[], str]] = {
    f.__name__: f for f in (ratios, other_ratios, areas, what_comes_out, mapping, page_order, moves, reduction, nodes)
}


def calibrated() -> None:
    """Find the ratios of all models of the table. The ratios of the first model are also the default."""
    for model in MODELS:
        print(f"calibrating: {model}", file=sys.stderr)
        calibrate("pam", model, context=738, rounds=10, output=str(RATIOS))
    found = load(RATIOS, RatioTable)
    write_files(
        Path(RATIOS).parent,
        {
            Path(RATIOS).name: table_text(
                found.model_copy(update={"models": {**found.models, "default": found.models[MODELS[0]]}})
            )
        },
    )


def main(arguments: Sequence[str]) -> None:
    names = [argument for argument in arguments if not argument.startswith("--")]
    for name in names:
        if name not in TABLES:
            raise SystemExit(f"unknown table '{name}' (valid: {', '.join(TABLES)})")
    if "--calibrate" in arguments:
        calibrated()
    for name in names or TABLES:
        print(f"evaluating: {name}", file=sys.stderr)
        text = TABLES[name]()
        if "--print" in arguments:
            print(f"{text}\n")
            continue
        write_files(ROOT, {PAGE: fill((ROOT / PAGE).read_text(), {name: text})})


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except BanksideError as error:
        raise SystemExit(f"system_tables: {error}") from None
