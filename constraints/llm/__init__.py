"""Shapes of published language models, as the ``config.json`` files of their public model cards.

Only keys that the cards have are here. OPT-175B has no public ``config.json``. Its file follows the layout of the other
OPT cards with the sizes of Table 1 of the OPT paper (Zhang et al., 2022). LongChat-13B is LLaMA-13B with positions
condensed to reach 16K. Its file has the sizes of LLaMA-13B, whose layers and heads agree with LoL-PIM's Table 1. Its
context is from the same table. The table also marks grouped queries; LLaMA-13B has none.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["MODELS"]

#: File of each built-in model by its name.
MODELS: dict[str, Path] = {path.stem: path for path in sorted(Path(__file__).parent.glob("*.json"))}
