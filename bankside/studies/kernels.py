"""Import of measured kernel times out of ``aiconfigurator-core``, and the list of the kernel records that are here.

The package holds tables of collected kernel times as Parquet files. It is no dependency: the extra ``gpu`` installs it.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from bankside.constraints.core.errors import ConfigError, ToolMissing, nearest
from bankside.constraints.core.workspace import write_files
from bankside.constraints.kernels import FILES, OPERATORS, KernelFile

from ..results.decoding import Kernels, KernelSet

#: Columns of a table by name.
Table = dict[str, np.ndarray]

__all__ = ["SOURCE", "import_kernels", "kernel_list", "kernels_text"]

#: Package with the tables, and the version whose layout this module reads.
SOURCE, VERSION = "aiconfigurator-core", "0.12"

NOTICE = (
    "Copyright (c) 2025-2026 NVIDIA CORPORATION & AFFILIATES. All rights reserved. Licensed under the Apache "
    "License, Version 2.0 (https://www.apache.org/licenses/LICENSE-2.0). Selected from the tables of the source, "
    "rounded to five digits, in another layout."
)

#: Degrees of tensor parallelism whose shapes an import keeps.
SPLITS = (1, 2, 4, 8)


def kernel_list() -> Kernels:
    """The built-in kernel records."""
    return Kernels(kernels=[_described(name) for name in FILES], file=None)


def _described(name_or_path: str) -> KernelSet:
    from bankside.models.systems.kernels import load_kernels

    file = load_kernels(name_or_path).file
    points: dict[str, int] = {
        operator: int(sum(np.count_nonzero(~np.isnan(np.array(grid, float))) for _, grid in table.shapes()))
        for operator, table in file.tables.items()
    }
    return KernelSet(
        name=name_or_path,
        gpu=file.gpu,
        engine=file.engine,
        number_format=file.number_format,
        shapes={operator: len(table.us) for operator, table in file.tables.items()},
        points=points,
        source=file.source,
    )


def kernels_text(result: Kernels) -> str:
    """The records for a person, one line each."""
    return "\n".join(
        f"{one.name:<18} {one.gpu}, {one.engine}: {sum(one.points.values()):,} times, from {one.source}"
        for one in result.kernels
    )


def import_kernels(
    origin: str, output: str, *, whole: bool = False, progress: Callable[[str], None] = lambda text: None
) -> Kernels:
    """Write kernel records from ``origin``, ``GPU/ENGINE`` or ``GPU/ENGINE/VERSION`` as in the package's folders. Without
    a version the newest is taken. Shapes that no built-in language model needs are left out, except with ``whole``.

    Raises
    ------
    :exc:`ToolMissing`
        If the package is not installed.
    :exc:`ConfigError`
        If the package has another version, no such tables, or tables of another layout.
    """
    data, found = _package()
    gpu, engine, version = _origin(data, origin)
    bound = _bound(data.parent / f"{gpu}.yaml")
    wanted = None if whole else _wanted()
    tables: dict[str, Any] = {}
    names: set[str] = set()
    for operator, (family, file) in _FILES.items():
        folder = data / gpu / family / engine
        at = _newest(folder, version)
        if at is None and family == "comm":  # links are measured less often than an engine changes its version
            at = _newest(folder, None)
        if at is None or not (at / f"{file}.parquet").is_file():
            raise ConfigError(f"{SOURCE} {found} has no table {file} for {gpu}/{engine}/{version}")
        progress(f"reading {at.relative_to(data)}/{file}.parquet")
        frame = _columns(at / f"{file}.parquet")
        missing = {"latency", "device", "kernel_source", *_COLUMNS[operator]} - set(frame)
        if missing:
            raise ConfigError(f"{at / file}.parquet: no column {', '.join(sorted(missing))}; this is another layout")
        names |= set(frame["device"].tolist())
        tables[operator] = _table(operator, frame, wanted, f"{at.relative_to(data)}/{file}.parquet")
    document = {
        "schema": 1,
        "gpu": " / ".join(sorted(names)),
        "engine": f"{engine} {version}",
        "number_format": "bfloat16",
        **bound,
        "source": f"{SOURCE} {found} (PyPI)",
        "notice": NOTICE,
        "tables": tables,
    }
    KernelFile.model_validate(document)
    path = Path(output)
    write_files(path.parent, {path.name: _text(document)})
    return Kernels(kernels=[_described(str(path.absolute()))], file=output)


#: Folder and file of each operator's table, and its columns for the shape and the axes.
_FILES = {
    "gemm": ("gemm", "gemm_perf"),
    "attention_decode": ("attention", "generation_attention_perf"),
    "attention_prefill": ("attention", "context_attention_perf"),
    "all_reduce": ("comm", "custom_allreduce_perf"),
}
_HEADS = ("num_heads", "num_key_value_heads", "head_dim")
_COLUMNS = {
    "gemm": ("n", "k", "m"),
    "attention_decode": (*_HEADS, "batch_size", "step"),
    "attention_prefill": (*_HEADS, "batch_size", "isl"),
    "all_reduce": ("num_gpus", "message_size"),
}
#: Columns that must have one of these values, where a table has them.
_FORMATS = {
    "gemm_dtype": ("bfloat16", "float16"),
    "attn_dtype": ("bfloat16", "float16"),
    "kv_cache_dtype": ("bfloat16", "float16"),
    "allreduce_dtype": ("bfloat16", "float16", "half"),
    "beam_width": (1,),
    "window_size": (0,),
}


def _package() -> tuple[Path, str]:
    """The folder of tables, and the version of the package."""
    try:
        found = importlib.metadata.version(SOURCE)
    except importlib.metadata.PackageNotFoundError:
        raise ToolMissing(f"{SOURCE} {VERSION} is not installed; `pip install 'bankside[gpu]'` installs it") from None
    if not found.startswith(f"{VERSION}."):
        raise ConfigError(
            f"{SOURCE} {found}: the import reads version {VERSION}; `pip install '{SOURCE}=={VERSION}.*'`"
        )
    files = importlib.metadata.files(SOURCE) or []
    first = next(path for path in files if path.as_posix().endswith("systems/h100_sxm.yaml"))
    return Path(str(first.locate())).parent / "data", found


def _columns(path: Path) -> Table:
    """Columns of a Parquet file."""
    from pyarrow.parquet import read_table

    return {name: np.array(values) for name, values in read_table(path).to_pydict().items()}


def _origin(data: Path, origin: str) -> tuple[str, str, str]:
    gpu, *rest = origin.split("/")
    gpus = sorted(path.name for path in data.iterdir() if (path / "gemm").is_dir())
    if gpu not in gpus:
        raise ConfigError(f"--from {origin}: {nearest('GPU', gpu, gpus)}")
    engines = sorted(path.name for path in (data / gpu / "gemm").iterdir())
    if len(rest) not in (1, 2) or rest[0] not in engines:
        raise ConfigError(
            f"--from {origin}: must be GPU/ENGINE or GPU/ENGINE/VERSION; engines of {gpu}: " + ", ".join(engines)
        )
    folder = data / gpu / "gemm" / rest[0]
    at = _newest(folder, rest[1] if len(rest) == 2 else None)
    if at is None:
        raise ConfigError(f"--from {origin}: {nearest('version', rest[1], (path.name for path in folder.iterdir()))}")
    return gpu, rest[0], at.name


def _newest(folder: Path, version: str | None) -> Path | None:
    """The folder of ``version``, or of the version with the highest numbers."""
    if not folder.is_dir():
        return None
    if version is not None:
        return folder / version if (folder / version).is_dir() else None
    numbered = [path for path in folder.iterdir() if any(path.glob("*_perf.parquet"))]
    return max(numbered, default=None, key=lambda path: [int(part) for part in re.findall(r"\d+", path.name)])


def _bound(path: Path) -> dict[str, float]:
    from bankside.constraints.core.document import parse, read_text

    gpu = parse(read_text(path), str(path))[0]["gpu"]
    return {"peak_tflops": gpu["bfloat16_tc_flops"] / 1e12, "bandwidth_gb_s": gpu["mem_bw"] / 1e9}


def _wanted() -> dict[str, set[tuple[int, ...]]]:
    """Shapes that the built-in language models need, by operator; tables without an entry are kept whole."""
    from bankside.constraints.llm import MODELS
    from bankside.models.llm import head_operators, layer_operators, load_model
    from bankside.models.llm.operators import embedding_operators

    matrices: set[tuple[int, ...]] = set()
    heads: set[tuple[int, ...]] = set()
    for name in MODELS:
        model = load_model(name)
        for tensor in SPLITS:
            try:
                ops = [
                    *layer_operators(model, 1, 1, tensor),
                    *embedding_operators(model, 1),
                    *head_operators(model, 1, tensor),
                ]
            except ConfigError:
                continue
            matrices |= {(int(op.n * op.merged), int(op.k)) for op in ops if op.kind == "gemm"}
            heads.add((model.heads // tensor, max(model.kv_heads // tensor, 1), model.head_dim))
    return {"gemm": matrices, "attention_decode": heads, "attention_prefill": heads}


def _table(operator: str, frame: Table, wanted: dict[str, set[tuple[int, ...]]] | None, source: str) -> dict[str, Any]:
    """The table of one operator."""
    keep = np.ones(len(frame["latency"]), bool)
    for column, values in _FORMATS.items():
        if column in frame:
            keep &= np.isin(frame[column], values)
    if operator == "all_reduce":  # decoding runs inside a CUDA graph
        graph = np.char.endswith(frame["kernel_source"].astype(str), "_graph")
        keep &= graph | ~graph.any()
    if not keep.any():
        raise ConfigError(f"{source}: no 16-bit times")
    frame = {name: values[keep] for name, values in frame.items()}
    columns = _COLUMNS[operator]
    shape, axes = columns[: len(OPERATORS[operator].shape)], columns[len(OPERATORS[operator].shape) :]
    points = {name: frame[name].astype(np.int64) for name in columns}
    if operator == "attention_decode":  # the source counts the cached tokens, and the new ones apart
        points["step"] = points["step"] + frame["isl"].astype(np.int64)
    shapes = list(zip(*(points[name].tolist() for name in shape), strict=True))
    kept = set(_selected(operator, sorted(set(shapes)), wanted))
    chosen = np.array([each in kept for each in shapes])
    grid_points = [sorted(set(points[name][chosen].tolist())) for name in axes]
    grids = {each: np.full([len(one) for one in grid_points], np.nan) for each in sorted(kept)}
    for place in np.flatnonzero(chosen)[::-1]:  # a point may have several kernels; the source takes the first
        at = tuple(int(np.searchsorted(one, points[name][place])) for one, name in zip(grid_points, axes, strict=True))
        grids[shapes[place]][at] = frame["latency"][place] * 1e3
    return {
        "source": source,
        "kernel": " / ".join(sorted(set(frame["kernel_source"].tolist()))),
        "axes": dict(zip(OPERATORS[operator].axes, grid_points, strict=True)),
        "us": {" x ".join(map(str, each)): _plain(grid) for each, grid in grids.items()},
    }


def _selected(
    operator: str, shapes: list[tuple[int, ...]], wanted: dict[str, set[tuple[int, ...]]] | None
) -> Iterable[tuple[int, ...]]:
    """The shapes of a table that are kept: those wanted, and for matrices the measured ones around."""
    from bankside.models.systems.kernels import neighbours

    if wanted is None or operator not in wanted:
        return shapes
    if operator != "gemm":
        return [shape for shape in shapes if shape in wanted[operator]]
    matrices = np.array(shapes)
    least, most = matrices.min(axis=0), matrices.max(axis=0)
    inside = [each for each in wanted[operator] if (least <= each).all() and (each <= most).all()]
    return sorted({shapes[place] for n, k in inside for place in neighbours(matrices, n, k)[0]})


def _plain(grid: np.ndarray) -> list[Any]:
    if grid.ndim > 1:
        return [_plain(part) for part in grid]
    return [None if np.isnan(value) else float(f"{value:.5g}") for value in grid]


def _text(document: dict[str, Any]) -> str:
    """JSON with one line for each shape."""

    def row(value: Any) -> str:
        return json.dumps(value, separators=(",", ":"))

    lines = ["{"]
    for key, value in document.items():
        if key != "tables":
            lines.append(f" {row(key)}: {row(value)},")
    lines.append(' "tables": {')
    for place, (operator, table) in enumerate(document["tables"].items()):
        lines.append(f"  {row(operator)}: {{")
        lines += [f"   {row(key)}: {row(value)}," for key, value in table.items() if key != "us"]
        lines.append('   "us": {')
        lines.append(",\n".join(f"    {row(shape)}: {row(grid)}" for shape, grid in table["us"].items()))
        lines.append("   }\n  }" + ("," if place < len(document["tables"]) - 1 else ""))
    return "\n".join([*lines, " }", "}", ""])
