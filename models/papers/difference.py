"""Why our value of a claim is off: one of four causes, and the number that would change the verdict."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ...constraints.core.document import Strict

__all__ = ["CAUSES", "Difference"]

#: Causes in words.
CAUSES = {
    "our-error": "our error",
    "contradiction": "the paper contradicts itself",
    "unpublished-input": "an input that nobody published",
    "design": "a difference of design",
}


class Difference(Strict):
    """Cause of a difference."""

    cause: Literal["our-error", "contradiction", "unpublished-input", "design"] = Field(
        description="our error, a contradiction of the paper, an input that nobody published, or a difference of design"
    )
    number: str = Field(
        min_length=3, pattern=r"[^.\s]$", description="the number that would change the verdict, in words"
    )
    ours: float = Field(strict=False, description="our value of this number, in `unit`")
    needed: float | None = Field(
        default=None, strict=False, description="value with which ours would be the paper's; null if nothing tells it"
    )
    unit: str | None = Field(default=None, description="unit of `ours` and `needed`")

    def text(self) -> str:
        """Cause and number, in words."""
        needed = "" if self.needed is None else f" The paper's value needs {self._amount(self.needed)}."
        return f"Cause: {CAUSES[self.cause]}. Number: {self.number}. Ours is {self._amount(self.ours)}.{needed}"

    def _amount(self, value: float) -> str:
        return (f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}") + (f" {self.unit}" if self.unit else "")
