"""Kernel records: measured times of operators on GPUs, as files.

A file holds times of one GPU with one serving engine. It has a table for each operator. A table has a grid of times for
each measured *shape*. Times are interpolated along the *axes* of the grid.

The files here were made with ``bankside kernels --from`` out of NVIDIA's ``aiconfigurator-core`` 0.12 (Apache-2.0), which
holds collected kernel times. They keep the points that the built-in language models need on one, two, four or eight GPUs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from ..core.document import Strict

__all__ = ["FILES", "OPERATORS", "KernelFile", "KernelTable", "Layout"]

#: File of each built-in set of kernel records by its name.
FILES: dict[str, Path] = {path.stem: path for path in sorted(Path(__file__).parent.glob("*.json"))}


class Layout(Strict):
    """Names of the numbers that a table's keys and axes hold."""

    shape: tuple[str, ...]
    axes: tuple[str, ...]


#: Tables of a file. A matrix product is ``m x k`` by ``k x n``. Heads are of one GPU. The context of decoding counts the
#: new token. Prompts of an attention kernel all have the same number of tokens. Elements of an all-reduce have 16 bits.
OPERATORS: dict[str, Layout] = {
    "gemm": Layout(shape=("n", "k"), axes=("m",)),
    "attention_decode": Layout(shape=("heads", "kv_heads", "head_dim"), axes=("batch", "context")),
    "attention_prefill": Layout(shape=("heads", "kv_heads", "head_dim"), axes=("batch", "tokens")),
    "all_reduce": Layout(shape=("gpus",), axes=("elements",)),
}

#: Largest number of an axis or a shape.
_MOST = 1 << 32


class KernelTable(Strict):
    """Times of one operator."""

    source: str = Field(description="file of the source that the times are from")
    kernel: str = Field(description="kernel as the source names it")
    axes: dict[str, list[int]] = Field(description="ascending points of each axis")
    us: dict[str, list[Any]] = Field(
        description="microseconds on the grid of the axes for each shape, as in "
        "'8192 x 1024'; null where nothing was measured"
    )

    def shapes(self) -> Iterator[tuple[tuple[int, ...], list[Any]]]:
        """Each shape and its grid."""
        for text, grid in self.us.items():
            yield tuple(map(int, text.split(" x "))), grid


class KernelFile(Strict):
    """Measured times of a GPU's operators."""

    schema_version: Literal[1] = Field(alias="schema")
    gpu: str = Field(description="GPU as the source names it")
    engine: str = Field(description="serving engine whose kernels ran, and its version")
    number_format: Literal["bfloat16"] = Field(description="format of all operands")
    peak_tflops: float = Field(gt=0, strict=False, description="peak of the bound that interpolates shapes of GEMMs")
    bandwidth_gb_s: float = Field(gt=0, strict=False, description="memory bandwidth of that bound")
    source: str
    notice: str = Field(description="copyright and licence of the source")
    tables: dict[Literal["gemm", "attention_decode", "attention_prefill", "all_reduce"], KernelTable]

    @model_validator(mode="after")
    def _check(self) -> KernelFile:
        for name, table in self.tables.items():
            layout = OPERATORS[name]
            if tuple(table.axes) != layout.axes:
                raise ValueError(f"tables.{name}.axes must be {', '.join(layout.axes)}, not {', '.join(table.axes)}")
            for axis, points in table.axes.items():
                if not points or sorted(set(points)) != points or points[0] < 1 or points[-1] > _MOST:
                    raise ValueError(f"tables.{name}.axes.{axis} must be ascending numbers in 1..{_MOST}")
            if not table.us:
                raise ValueError(f"tables.{name}.us has no shape")
            sizes = [len(points) for points in table.axes.values()]
            for text, grid in table.us.items():
                where = f"tables.{name}.us['{text}']"
                if (
                    not re.fullmatch(r"[1-9]\d{0,9}( x [1-9]\d{0,9})*", text)
                    or text.count(" x ") != len(layout.shape) - 1
                ):
                    raise ValueError(f"{where}: a shape is {' x '.join(layout.shape)}")
                _check_grid(grid, sizes, where)
        return self


def _check_grid(grid: Any, sizes: list[int], where: str) -> None:
    if not isinstance(grid, list) or len(grid) != sizes[0]:
        raise ValueError(f"{where} must have {' x '.join(map(str, sizes))} times")
    for value in grid:
        if len(sizes) > 1:
            _check_grid(value, sizes[1:], where)
        elif value is not None and (
            isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9
        ):
            raise ValueError(f"{where}: a time is a number of microseconds greater than 0, or null, not {value!r}")
