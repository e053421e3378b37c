"""One attention layer on AttAcc's HBM: the result of ``bankside eval attacc --layer``."""

from __future__ import annotations

from typing import Any

from bankside.constraints.core.errors import ConfigError, nearest

from ..provenance.sources import note_sources

__all__ = ["SIMULATOR", "evaluate_layer", "layer_text"]

#: Quirks that are on by default, so that cycles equal the public simulator's.
SIMULATOR = "attacc-simulator"


def evaluate_layer(
    system: str,
    *,
    tokens: int | None,
    heads_per_stack: int | None,
    placement: str = "bank",
    power_limit: bool = True,
    element_bytes: int = 2,
    head_dim: int = 128,
    quirks: str = SIMULATOR,
    trace: str | None = None,
) -> dict[str, Any]:
    """Cycles, time and commands of the layer on one stack; ``quirks`` is a name or ``none``.

    Raises :exc:`ConfigError` for another system, a missing option, or a layer that does not fit.
    """
    from bankside.models.attacc import AttentionLayer, LayerTimer

    if system != "attacc":
        raise ConfigError(f"--layer: only attacc has single layers, not '{system}'")
    for flag, value in (("--tokens", tokens), ("--heads-per-stack", heads_per_stack)):
        if value is None:
            raise ConfigError(f"--layer needs {flag}")
    if quirks not in (SIMULATOR, "none"):
        raise ConfigError(nearest("quirks", quirks, [SIMULATOR, "none"]))
    note_sources(evaluate_layer)
    named = None if quirks == "none" else quirks
    assert tokens is not None and heads_per_stack is not None
    layer = AttentionLayer(tokens, heads_per_stack, placement, element_bytes, head_dim, named)
    timing = LayerTimer(quirks=named, power_limit=power_limit).time(layer)
    parts = timing.energy_pj
    if trace is not None:
        layer.write_trace(trace)
    return {
        "schema": 1,
        "system": system,
        "layer": {
            "tokens": tokens,
            "heads_per_stack": heads_per_stack,
            "head_dim": head_dim,
            "bytes": element_bytes,
            "placement": placement,
        },
        "memory": timing.memory.name,
        "power_limit": power_limit,
        "quirks": named,
        "cycles": timing.cycles,
        "time_ns": round(timing.time_ns, 3),
        "commands": timing.commands,
        "row_hits": timing.row_hits,
        "energy_pj": parts.pop("total", None),
        "energy_breakdown_pj": parts or None,
    }


def layer_text(r: dict[str, Any]) -> str:
    """The result for people to read."""
    layer = r["layer"]
    what = (
        f"attacc, one attention layer on one stack: {layer['tokens']} tokens, {layer['heads_per_stack']} heads, "
        f"head dimension {layer['head_dim']}, {layer['bytes']} bytes, placement {layer['placement']}"
    )
    quirks = (
        f"as in the public simulator ({r['quirks']}); --quirks none leaves out its defects"
        if r["quirks"]
        else "without the public simulator's defects"
    )
    rows = [
        ("time", f"{r['cycles']} cycles, {r['time_ns'] / 1e3:.3f} us"),
        ("memory", f"{r['memory']}, power limit {'on' if r['power_limit'] else 'off'}"),
        ("commands", ", ".join(f"{count} {name}" for name, count in r["commands"].items())),
        ("row hits", str(r["row_hits"])),
        (
            "energy (pJ)",
            ", ".join(f"{name} {value:.0f}" for name, value in (r["energy_breakdown_pj"] or {}).items())
            or "not modelled",
        ),
        ("controller", quirks),
    ]
    return what + "\n" + "\n".join(f"  {name:<12} {value}" for name, value in rows)
