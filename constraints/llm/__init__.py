"""Shapes of published language models, as the ``config.json`` files of their public model cards.

Only keys that the cards have are here. OPT-175B has no public ``config.json``; its file follows the layout of the other
OPT cards with the sizes of Table 1 of the OPT paper (Zhang et al., 2022).
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["MODELS"]

#: File of each built-in model by its name.
MODELS: dict[str, Path] = {path.stem: path for path in sorted(Path(__file__).parent.glob("*.json"))}
