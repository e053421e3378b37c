"""One attention layer on AttAcc's HBM: the result of ``bankside eval attacc --layer``."""

from __future__ import annotations

from typing import Any

from bankside.constraints.core.errors import ConfigError, nearest

from ..provenance.sources import note_sources
from ..results.systems import EvalLayer, Layer

__all__ = ["OPTIONS", "REFUSAL", "SIMULATOR", "evaluate_layer", "layer_text"]

#: Quirks that are on by default, so that cycles equal the public simulator's.
SIMULATOR = "attacc-simulator"

#: Options of the study beside ``--layer``, what the command line needs by flag, and the error for any other option.
OPTIONS: dict[str, dict[str, Any]] = {
    "--tokens": {"metavar": "L", "least": 1, "help": "tokens of K and V"},
    "--heads-per-stack": {"metavar": "N", "least": 1, "help": "heads on the stack"},
    "--placement": {"metavar": "P", "help": "place of the units: bank, bank-group or buffer (default: bank)"},
    "--power-limit": {"switch": "either", "help": "whether the memory's power limit holds (default: yes)"},
    "--bytes": {
        "metavar": "B",
        "least": 1,
        "dest": "element_bytes",
        "help": "bytes of an element: 1 or 2 (default: 2)",
    },
    "--head-dim": {"metavar": "D", "least": 1, "help": "head dimension (default: 128)"},
    "--quirks": {
        "metavar": "Q",
        "help": "attacc-simulator (the default) reproduces the public simulator with its "
        "defects; none leaves the defects out. Without --layer, the quirks of a system: cent-simulator",
    },
    "--trace": {"metavar": "FILE", "help": "write the layer as a trace for the public simulator"},
}
REFUSAL = "a layer has no {}: --tokens, --heads-per-stack and --head-dim give its shape"


def evaluate_layer(
    system: str,
    *,
    tokens: int | None = None,
    heads_per_stack: int | None = None,
    placement: str = "bank",
    power_limit: bool = True,
    element_bytes: int = 2,
    head_dim: int = 128,
    quirks: str = SIMULATOR,
    trace: str | None = None,
) -> EvalLayer:
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
    return EvalLayer(
        system="attacc",
        layer=Layer(
            tokens=tokens, heads_per_stack=heads_per_stack, head_dim=head_dim, bytes=element_bytes, placement=placement
        ),
        memory=timing.memory.name,
        power_limit=power_limit,
        quirks=named,
        cycles=timing.cycles,
        time_ns=round(timing.time_ns, 3),
        commands=timing.commands,
        row_hits=timing.row_hits,
        energy_pj=parts.pop("total", None),
        energy_breakdown_pj=parts or None,
    )


def layer_text(r: EvalLayer) -> str:
    """The result for people to read."""
    layer = r.layer
    what = (
        f"attacc, one attention layer on one stack: {layer.tokens} tokens, {layer.heads_per_stack} heads, "
        f"head dimension {layer.head_dim}, {layer.bytes} bytes, placement {layer.placement}"
    )
    quirks = (
        f"as in the public simulator ({r.quirks}); --quirks none leaves out its defects"
        if r.quirks
        else "without the public simulator's defects"
    )
    rows = [
        ("time", f"{r.cycles} cycles, {r.time_ns / 1e3:.3f} us"),
        ("memory", f"{r.memory}, power limit {'on' if r.power_limit else 'off'}"),
        ("commands", ", ".join(f"{count} {name}" for name, count in r.commands.items())),
        ("row hits", str(r.row_hits)),
        (
            "energy (pJ)",
            ", ".join(f"{name} {value:.0f}" for name, value in (r.energy_breakdown_pj or {}).items()) or "not modelled",
        ),
        ("controller", quirks),
    ]
    return what + "\n" + "\n".join(f"  {name:<12} {value}" for name, value in rows)
