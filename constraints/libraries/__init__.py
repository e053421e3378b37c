"""Cell libraries as data: the built-in generic library, and figures of memories, which Liberty files do not have."""

from __future__ import annotations

import math
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

import numpy as np
from pydantic import Field, model_validator

from ..core.document import Strict, load, read_text
from ..core.workspace import kept

__all__ = ["MacroFamily", "MacroPoint", "generic_liberty", "macro_family"]


class MacroPoint(Strict):
    """One memory macro of a family: size and width of a word in bits, area in um2. ``clock_to_q_ns`` is the time from
    clock to data out, and ``access_pj`` the energy of an access to a word."""

    bits: int = Field(gt=0)
    width: int = Field(gt=0)
    area_um2: float = Field(gt=0)
    clock_to_q_ns: float = Field(gt=0)
    access_pj: float = Field(gt=0)


class MacroFamily(Strict):
    """Memory macros of one process; see ``memory_macros.yaml`` for the model and the sources.

    Attributes
    ----------
    libraries
        Patterns for names of Liberty libraries that the family fits without scaling.
    nand2_um2, fo4_ns, inverter_ff
        Figures of the cell library at the macros' own node, for scaling to other libraries; given for the default
        family.
    points
        Macros with one port, ascending in bits, two at least.
    transition_ns, transition_ns_per_ff
        Transition of a data output: constant, and per fF of load.
    extra_port_factor
        Fraction of the one-port area that every further port adds.
    widest_fitted
        Widest word of a single macro, in bits; a wider one is several side by side.
    """

    source: str
    energy_source: str
    widest_fitted: int = Field(gt=0)
    libraries: tuple[str, ...] = Field(strict=False)
    default: bool
    nand2_um2: float | None = Field(default=None, gt=0)
    fo4_ns: float | None = Field(default=None, gt=0)
    inverter_ff: float | None = Field(default=None, gt=0)
    points: tuple[MacroPoint, ...] = Field(min_length=2, strict=False)
    setup_ns: float = Field(ge=0)
    input_capacitance_ff: float = Field(ge=0)
    clock_capacitance_ff: float = Field(ge=0)
    transition_ns: float = Field(ge=0)
    transition_ns_per_ff: float = Field(ge=0)
    extra_port_factor: float = Field(ge=0)
    extra_port_source: str

    @model_validator(mode="after")
    def _consistent(self) -> MacroFamily:
        bits = [p.bits for p in self.points]
        if any(b <= a for a, b in zip(bits, bits[1:], strict=False)):
            raise ValueError("points must ascend in bits")
        if self.default and None in (self.nand2_um2, self.fo4_ns, self.inverter_ff):
            raise ValueError("the default family needs nand2_um2, fo4_ns and inverter_ff")
        return self

    def area_um2(self, bits: int, ports: int) -> float:
        """Area of a macro at the family's own node, um2: linear in the bits, more for every port after the first."""
        return self._linear(bits, [p.area_um2 for p in self.points]) * (1 + self.extra_port_factor * max(0, ports - 1))

    def clock_to_q_ns(self, bits: int, width: int = 1) -> float:
        """Clock to data out at the family's own node, ns. Macros below the smallest one take its time. Beyond the
        largest one, the time grows with the root of the bits. A word wider than ``widest_fitted`` is equal macros side
        by side."""
        bits = max(bits // -(-width // self.widest_fitted), self.points[0].bits)
        times = [p.clock_to_q_ns for p in self.points]
        low, high = (math.sqrt(p.bits) for p in self.points[-2:])
        if bits > self.points[-1].bits:
            return times[-1] + (times[-1] - times[-2]) / (high - low) * (math.sqrt(bits) - high)
        return self._linear(bits, times)

    def access_pj(self, bits: int, width: int) -> float:
        """Energy of reading or writing a word of ``width`` bits in a macro of ``bits``, pJ. It is an estimate at the
        family's own node and voltage: ``a sqrt(bits) + b width``, fitted to the points. A word wider than
        ``widest_fitted`` is equal macros side by side."""
        parts = -(-width // self.widest_fitted)
        root, word = self._energy_terms
        return parts * (root * math.sqrt(bits / parts) + word * width / parts)

    @cached_property
    def _energy_terms(self) -> tuple[float, float]:
        terms = np.array([[math.sqrt(p.bits), p.width] for p in self.points])
        root, word = np.linalg.lstsq(terms, np.array([p.access_pj for p in self.points]), rcond=None)[0]
        return float(root), float(word)

    def _linear(self, bits: int, values: list[float]) -> float:
        sizes = [p.bits for p in self.points]
        i = int(np.clip(np.searchsorted(sizes, bits) - 1, 0, len(sizes) - 2))
        slope = (values[i + 1] - values[i]) / (sizes[i + 1] - sizes[i])
        return values[i] + slope * (bits - sizes[i])


class _Families(Strict):
    families: dict[str, MacroFamily]

    @model_validator(mode="after")
    def _one_default(self) -> _Families:
        if sum(f.default for f in self.families.values()) != 1:
            raise ValueError("exactly one family must be the default")
        return self


@kept
def _families() -> dict[str, MacroFamily]:
    return load(Path(__file__).with_name("memory_macros.yaml"), _Families, "a table of memory macros").families


def macro_family(library: str) -> tuple[str, MacroFamily, bool]:
    """Memory macros for the Liberty library named ``library``: their name, the data, and whether it must be scaled."""
    for name, family in _families().items():
        if any(fnmatchcase(library, pattern) for pattern in family.libraries):
            return name, family, False
    return next((name, family, True) for name, family in _families().items() if family.default)


def generic_liberty() -> str:
    """Text of the built-in generic library (``generic.lib``)."""
    return read_text(Path(__file__).with_name("generic.lib"), "a Liberty file")
