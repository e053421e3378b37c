"""Import of measured kernel times out of ``aiconfigurator-core``, and the list of the kernel records that are here.

The package holds tables of collected kernel times as Parquet files. It is no dependency: the extra ``gpu`` installs it.
"""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from bankside.constraints.errors import ConfigError, ToolMissing, nearest
from bankside.constraints.kernels import FILES, OPERATORS, KernelFile
from bankside.constraints.workspace import write_files

__all__ = ["SOURCE", "import_kernels", "kernel_list"]

#: Package with the tables, and the version whose layout this module reads.
SOURCE, VERSION = "aiconfigurator-core", "0.12"

NOTICE = ("Copyright (c) 2025-2026 NVIDIA CORPORATION & AFFILIATES. All rights reserved. Licensed under the Apache License, "
          "Version 2.0 (https://www.apache.org/licenses/LICENSE-2.0). Selected from the tables of the source, rounded to five "
          "digits, in another layout.")

#: Degrees of tensor parallelism whose shapes an import keeps.
SPLITS = (1, 2, 4, 8)

def kernel_list() -> list[dict[str, Any]]:
    """Each built-in set of kernel records: name, GPU, engine, and number of points by operator."""
    from bankside.models.systems.kernels import load_kernels

    out = []
    for name in FILES:
        file = load_kernels(name).file
        points = {operator: int(sum(np.count_nonzero(~np.isnan(np.array(grid, float))) for _, grid in table.shapes()))
                  for operator, table in file.tables.items()}
        out.append({"name": name, "gpu": file.gpu, "engine": file.engine, "number_format": file.number_format,
                    "points": points, "source": file.source})
    return out


def import_kernels(origin: str, output: str, *, whole: bool = False,
                   progress: Callable[[str], None] = lambda text: None) -> dict[str, Any]:
    """Write kernel records from ``origin``, ``GPU/ENGINE`` or ``GPU/ENGINE/VERSION`` as in the package's folders. Without
    a version the newest is taken. Shapes that no built-in language model needs are left out, except with ``whole``.

    Raises
    ------
    :exc:`ToolMissing`
        If the package is not installed.
    :exc:`ConfigError`
        If the package has another version, no such tables, or tables of another layout.
    """
    pandas, data, found = _package()
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
        frame = pandas.read_parquet(at / f"{file}.parquet")
        missing = {"latency", "device", "kernel_source", *_COLUMNS[operator]} - set(frame.columns)
        if missing:
            raise ConfigError(f"{at / file}.parquet: no column {', '.join(sorted(missing))}; this is another layout")
        names |= set(frame["device"])
        tables[operator] = _table(operator, frame, wanted, f"{at.relative_to(data)}/{file}.parquet")
    document = {"schema": 1, "gpu": " / ".join(sorted(names)), "engine": f"{engine} {version}",
                "number_format": "bfloat16", **bound, "source": f"{SOURCE} {found} (PyPI)", "notice": NOTICE,
                "tables": tables}
    KernelFile.model_validate(document)
    path = Path(output)
    write_files(path.parent, {path.name: _text(document)})
    return {"schema": 1, "file": output, "gpu": document["gpu"], "engine": document["engine"],
            "shapes": {operator: len(table["us"]) for operator, table in tables.items()}}


#: Folder and file of each operator's table, and its columns for the shape and the axes.
_FILES = {"gemm": ("gemm", "gemm_perf"), "attention_decode": ("attention", "generation_attention_perf"),
          "attention_prefill": ("attention", "context_attention_perf"), "all_reduce": ("comm", "custom_allreduce_perf")}
_HEADS = ("num_heads", "num_key_value_heads", "head_dim")
_COLUMNS = {"gemm": ("n", "k", "m"), "attention_decode": (*_HEADS, "batch_size", "step"),
            "attention_prefill": (*_HEADS, "batch_size", "isl"), "all_reduce": ("num_gpus", "message_size")}
#: Columns that must have one of these values, where a table has them.
_FORMATS = {"gemm_dtype": ("bfloat16", "float16"), "attn_dtype": ("bfloat16", "float16"),
            "kv_cache_dtype": ("bfloat16", "float16"), "allreduce_dtype": ("bfloat16", "float16", "half"),
            "beam_width": (1,), "window_size": (0,)}


def _package() -> tuple[Any, Path, str]:
    """Pandas, the folder of tables, and the version of the package."""
    try:
        found = importlib.metadata.version(SOURCE)
        import pandas
    except (importlib.metadata.PackageNotFoundError, ImportError):
        raise ToolMissing(f"{SOURCE} {VERSION} is not installed; `pip install 'bankside[gpu]'` installs it") from None
    if not found.startswith(f"{VERSION}."):
        raise ConfigError(f"{SOURCE} {found}: the import reads version {VERSION}; `pip install '{SOURCE}=={VERSION}.*'`")
    files = importlib.metadata.files(SOURCE) or []
    first = next(path for path in files if path.as_posix().endswith("systems/h100_sxm.yaml"))
    return pandas, Path(str(first.locate())).parent / "data", found


def _origin(data: Path, origin: str) -> tuple[str, str, str]:
    gpu, *rest = origin.split("/")
    gpus = sorted(path.name for path in data.iterdir() if (path / "gemm").is_dir())
    if gpu not in gpus:
        raise ConfigError(f"--from {origin}: {nearest('GPU', gpu, gpus)}")
    engines = sorted(path.name for path in (data / gpu / "gemm").iterdir())
    if len(rest) not in (1, 2) or rest[0] not in engines:
        raise ConfigError(f"--from {origin}: must be GPU/ENGINE or GPU/ENGINE/VERSION; engines of {gpu}: {', '.join(engines)}")
    folder = data / gpu / "gemm" / rest[0]
    at = _newest(folder, rest[1] if len(rest) == 2 else None)
    if at is None:
        raise ConfigError(f"--from {origin}: {nearest('version', rest[1], (path.name for path in folder.iterdir()))}")
    return gpu, rest[0], at.name


def _newest(folder: Path, version: str | None) -> Path | None:
    """The folder of ``version``, or the newest version that has no suffix."""
    if not folder.is_dir():
        return None
    if version is not None:
        return folder / version if (folder / version).is_dir() else None
    numbered = [path for path in folder.iterdir() if any(path.glob("*_perf.parquet"))]
    return max(numbered, key=lambda path: [int(part) if part.isdigit() else -1 for part in path.name.split(".")], default=None)


def _bound(path: Path) -> dict[str, float]:
    from bankside.constraints.document import parse, read_text

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
                ops = [*layer_operators(model, 1, 1, tensor), *embedding_operators(model, 1), *head_operators(model, 1, tensor)]
            except ConfigError:
                continue
            matrices |= {(int(op.n * op.merged), int(op.k)) for op in ops if op.kind == "gemm"}
            heads.add((model.heads // tensor, max(model.kv_heads // tensor, 1), model.head_dim))
    return {"gemm": matrices, "attention_decode": heads, "attention_prefill": heads}


def _table(operator: str, frame: Any, wanted: dict[str, set[tuple[int, ...]]] | None, source: str) -> dict[str, Any]:
    """The table of one operator."""
    for column, values in _FORMATS.items():
        if column in frame:
            frame = frame[frame[column].isin(values)]
    if operator == "all_reduce":  # decoding runs inside a CUDA graph
        graph = frame["kernel_source"].str.endswith("_graph")
        frame = frame[graph] if graph.any() else frame
    columns = list(_COLUMNS[operator])
    if frame.empty:
        raise ConfigError(f"{source}: no 16-bit times")
    if operator == "attention_decode":  # the source counts the cached tokens, and the new ones apart
        frame = frame.assign(step=frame["step"] + frame["isl"])
    shape, axes = columns[:len(OPERATORS[operator].shape)], columns[len(OPERATORS[operator].shape):]
    # A shape may have several kernels; the source takes the first.
    frame = frame.drop_duplicates(columns)
    every = {tuple(map(int, key if isinstance(key, tuple) else (key,))): part for key, part in frame.groupby(shape)}
    kept = _selected(operator, list(every), wanted)
    points = [sorted({int(value) for key in kept for value in every[key][axis]}) for axis in axes]
    grids = {}
    for key in sorted(kept):
        grid = np.full([len(each) for each in points], np.nan)
        part = every[key]
        places = tuple(np.searchsorted(each, part[axis]) for each, axis in zip(points, axes, strict=True))
        grid[places] = part["latency"] * 1e3
        grids[" x ".join(map(str, key))] = _plain(grid)
    return {"source": source, "kernel": " / ".join(sorted(set(frame["kernel_source"]))),
            "axes": dict(zip(OPERATORS[operator].axes, points, strict=True)), "us": grids}


def _selected(operator: str, shapes: list[tuple[int, ...]], wanted: dict[str, set[tuple[int, ...]]] | None
              ) -> Iterable[tuple[int, ...]]:
    """The shapes of a table that are kept: those wanted, and for matrices the measured ones around."""
    from bankside.models.systems.kernels import neighbours

    if wanted is None or operator not in wanted:
        return shapes
    if operator != "gemm":
        return [shape for shape in shapes if shape in wanted[operator]]
    matrices = np.array(shapes)
    inside = [each for each in wanted[operator] if (matrices.min(axis=0) <= each).all() and (each <= matrices.max(axis=0)).all()]
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
