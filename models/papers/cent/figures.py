"""Figures of CENT whose values its text, its tables or the data of its artifact give."""

from __future__ import annotations

from ..figures import Bar, Figure, Panel

__all__ = ["FIGURES"]

_NAMES = (("7B", "7b"), ("13B", "13b"), ("70B", "70b"))


def _phases(claim: str) -> tuple[Bar, ...]:
    return tuple(
        Bar(f"{name}\n{phase}", claim, f"{key}/{place}")
        for key, phase in (("prefill", "prefill"), ("decode", "decoding"), ("e2e", "all"))
        for place, (name, _) in enumerate(_NAMES)
    )


#: By name.
FIGURES = {
    "12": Figure(
        "CENT, Figure 12: cost of a controller",
        (
            Panel(
                "3 million units",
                "$",
                (
                    Bar("die", "cent-r-die", "0"),
                    Bar("package", "cent-r-die", "1"),
                    Bar("development", "cent-r-die", "2"),
                ),
            ),
        ),
    ),
    "13": Figure(
        "CENT, Figure 13: against GPUs",
        (
            Panel(
                "latency of GPUs over CENT",
                "times",
                tuple(Bar(name, "cent-r-lat", key) for name, key in _NAMES),
                False,
                1.0,
            ),
            Panel("throughput over GPUs", "times", _phases("cent-r-thr"), False, 1.0),
            Panel(
                "tokens per dollar over GPUs",
                "times",
                tuple(Bar(name, "cent-r-tokdollar", key) for name, key in _NAMES),
                False,
                1.0,
            ),
        ),
    ),
    "14": Figure(
        "CENT, Figure 14: contexts and latency, Llama2-70B",
        (
            Panel(
                "decoding over GPUs",
                "times",
                tuple(Bar(name, "cent-r-ctx", str(k)) for k, name in enumerate(("4K", "8K", "16K", "32K"))),
                False,
                1.0,
            ),
            Panel(
                "latency of a query, 80 stages",
                "min",
                tuple(Bar(name, "cent-r-break", str(k)) for k, name in enumerate(("PIM", "CXL", "PNM", "CPU"))),
                True,
            ),
        ),
    ),
    "15": Figure(
        "CENT, Figure 15: power and energy",
        (
            Panel(
                "power, Llama2-70B",
                "W",
                tuple(Bar(name, "cent-r-power", str(k)) for k, name in enumerate(("prefill", "decoding", "all"))),
            ),
            Panel("tokens per joule over GPUs", "times", _phases("cent-r-energy"), False, 1.0),
        ),
    ),
    "scaling": Figure(
        "CENT, section 7.4: devices",
        (
            Panel(
                "Llama2-70B",
                "tokens/s",
                (Bar("16", "cent-scale", "16_devices"), Bar("128", "cent-scale", "128_devices")),
            ),
        ),
    ),
}
