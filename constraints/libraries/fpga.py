"""Resources of FPGAs, as data (``fpga.yaml``)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import Field, model_validator

from ..core.document import Strict, load
from ..core.workspace import kept

__all__ = ["FpgaDevice", "FpgaFamily", "fpga_families"]


class FpgaDevice(Strict):
    """One device: its resources, and totals that a paper counts in their place."""

    title: str
    lut: int = Field(gt=0, description="LUTs with six inputs, those that can be memory included")
    ff: int = Field(gt=0, description="flip-flops")
    bram: int = Field(gt=0, description="block RAMs of 36 Kbit; one holds two of 18 Kbit")
    uram: int = Field(ge=0, description="UltraRAMs of 288 Kbit")
    dsp: int = Field(gt=0, description="DSP blocks")
    source: str
    counted_as: dict[str, int] = Field(default={}, description="totals in a paper, by resource")
    counted_as_source: str = ""

    @model_validator(mode="after")
    def _known(self) -> FpgaDevice:
        for name, total in self.counted_as.items():
            if name not in ("lut", "ff", "bram", "uram", "dsp") or total <= 0:
                raise ValueError(f"counted_as has a positive total for lut, ff, bram, uram or dsp, not {name}: {total}")
        if self.counted_as and not self.counted_as_source:
            raise ValueError("counted_as needs counted_as_source")
        return self

    @staticmethod
    def taken(used: Mapping[str, int]) -> dict[str, float]:
        """What ``used`` (see :meth:`percent`) takes of a device: LUTs with those that are memory or shift registers, and
        block RAMs of 36 Kbit."""
        return {
            "lut": used["lut"] + used["srl"] + used["lutram"],
            "ff": used["ff"],
            "bram": used["bram36"] + used["bram18"] / 2,
            "uram": used["uram"],
            "dsp": used["dsp"],
        }

    @property
    def totals(self) -> dict[str, int]:
        return {"lut": self.lut, "ff": self.ff, "bram": self.bram, "uram": self.uram, "dsp": self.dsp}

    def percent(self, used: Mapping[str, int]) -> dict[str, float | None]:
        """Shares of the device in per cent.

        Parameters
        ----------
        used : mapping
            Counts by resource: ``lut``, ``srl`` and ``lutram`` (all are LUTs of the device), ``ff``, ``bram36`` and
            ``bram18`` (half a block RAM), ``uram``, ``dsp``.

        Returns
        -------
        dict
            ``lut``, ``ff``, ``bram``, ``uram``, ``dsp``, and for a total of ``counted_as`` a second share, such as
            ``ff_counted``. None: the device has no such resource.
        """
        parts = self.taken(used)
        shares = {name: round(100 * parts[name] / total, 3) if total else None for name, total in self.totals.items()}
        return {
            **shares,
            **{f"{name}_counted": round(100 * parts[name] / total, 3) for name, total in self.counted_as.items()},
        }


class FpgaFamily(Strict):
    """A family of FPGAs, for which Yosys maps."""

    title: str
    devices: dict[str, FpgaDevice] = Field(min_length=1)


class _Families(Strict):
    families: dict[str, FpgaFamily] = Field(min_length=1)


@kept
def fpga_families() -> dict[str, FpgaFamily]:
    """The families by the names that Yosys has for them."""
    return load(Path(__file__).with_name("fpga.yaml"), _Families, "a table of FPGAs").families
