"""Shapes of published language models, as the ``config.json`` files of their public model cards.

Only keys that the cards have are here. OPT-175B has no public ``config.json``. Its file follows the layout of the other
OPT cards with the sizes of Table 1 of the OPT paper (Zhang et al., 2022). LongChat-13B is LLaMA-13B with positions
condensed to reach 16K. Its file has the sizes of LLaMA-13B, whose layers and heads agree with LoL-PIM's Table 1. Its
context is from the same table. The table also marks grouped queries; LLaMA-13B has none.

The GPT and MT models have no cards. Files of GPT have the sizes of Table 2.1 of the GPT-3 paper (Brown et al., 2020). For
40 heads of 128 the table prints 5140; the file has 5120. Files of MT have the sizes of Table 1 of Narayanan et al.
(SC 2021), with its vocabulary of 51,200 and 2048 positions. LLaMA-65B has the sizes
of Table 2 of the LLaMA paper (Touvron et al., 2023).
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["MODELS", "SIMULATED"]

#: File of each built-in model by its name.
MODELS: dict[str, Path] = {path.stem: path for path in sorted(Path(__file__).parent.glob("*.json"))}

#: Decoders as the AttAcc simulator has them.
SIMULATED = Path(__file__).parent / "attacc_models.yaml"
