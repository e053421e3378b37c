"""Splits of a model over the modules or GPUs of a system, and the one that decodes most tokens."""

from __future__ import annotations

import re
from typing import Any

from ...constraints.errors import ConfigError
from ..llm import ModelShape, layer_operators
from .allocation import Decoding, decode

__all__ = ["NODE_UNITS", "best", "chosen_splits", "legal_splits", "nodes", "search", "sized", "utilisation",
           "with_features"]

#: Units of a node of LoL-PIM, and the peak of one: 16 multiply-accumulates a nanosecond.
NODE_UNITS, UNIT_FLOPS = 2048, 32e9


def nodes(system: Any) -> float:
    """Nodes of 2048 units that a system of modules alone is worth; 0 for others."""
    return system.modules * system.module.units / NODE_UNITS if system.kind == "lol-pim" else 0.0


def sized(system: str, gigabytes: int) -> Any:
    """A system of :mod:`bankside.models.systems` as large as nodes with that much memory, 64 GB each: so many nodes or GPUs
    (those with HBM have 80 GB each), or half as many of both.

    Raises
    ------
    :exc:`ConfigError`
        If the memory is no multiple of a node's or GPU's.
    """
    from ..systems import load_system

    loaded: Any = load_system(system)
    if loaded.kind == "lol-pim":
        nodes, rest = divmod(gigabytes, 64)
        changes = {"node.nodes": nodes, "parallelism.tensor": nodes * loaded.spec.node.modules, "parallelism.pipeline": 1}
    elif loaded.kind == "lol-pim-hybrid":
        nodes, rest = divmod(gigabytes, 128)
        changes = {"node.nodes": nodes, "gpu.count": nodes, "parallelism.tensor": nodes, "parallelism.pipeline": 1}
    else:
        nodes, rest = divmod(gigabytes, 64)
        changes = {"gpu.count": nodes, "parallelism.tensor": nodes, "parallelism.pipeline": 1}
    if rest or not nodes:
        raise ConfigError(f"{loaded.name} can't have {gigabytes} GB")
    return load_system(system, changes)


def with_features(system: Any, **features: bool) -> Any:
    """A system of modules with techniques switched on or off."""
    spec = system.spec
    return type(system)(system.name, spec.model_copy(update={"features": spec.features.model_copy(update=features)}),
                        system.memory)


def _devices(system: Any) -> int:
    """Modules or GPUs that are split."""
    devices: int = system.modules if system.kind == "lol-pim" else system.tp * system.pp
    return devices


def legal_splits(system: Any, model: ModelShape) -> list[Any]:
    """The system with each split that divides the model; tensor parallelism ascending."""
    total, out = _devices(system), []
    for tensor in range(1, total + 1):
        if total % tensor or total // tensor > model.layers:
            continue
        try:
            layer_operators(model, 1, 1, tensor)
            out.append(system.split(tensor, total // tensor))
        except ConfigError:
            continue
    return out


def chosen_splits(system: Any, model: ModelShape, split: str) -> list[Any]:
    """The system with the splits that ``split`` asks for: ``auto`` for all that divide the model, or ``TPxPP``.

    Raises
    ------
    :exc:`ConfigError`
        For a split that is written otherwise or is not of the system, or none that divides the model.
    """
    if split == "auto":
        found = legal_splits(system, model)
        if not found:
            raise ConfigError(f"{model.name} can't be split over {_devices(system)} devices of {system.name}")
        return found
    match = re.fullmatch(r"([1-9]\d{0,5})x([1-9]\d{0,5})", split)
    if match is None:
        raise ConfigError(f"--split is auto or tensor x pipeline as in 8x4, not '{split}'")
    tensor, pipeline = int(match[1]), int(match[2])
    if tensor * pipeline != _devices(system):
        raise ConfigError(f"--split {split}: tensor times pipeline must be the {_devices(system)} devices of "
                          f"{system.name}")
    return [system.split(tensor, pipeline)]


def search(system: Any, model: ModelShape, workload: str, **options: Any) -> list[Decoding]:
    """Decoding with each legal split on which a request fits, the fastest first; ``options`` of :func:`decode`.

    Raises
    ------
    :exc:`ConfigError`
        If there is none.
    :exc:`MissingRecord`
        As :func:`decode`.
    """
    from ..systems import MissingRecord

    out = []
    problem: ConfigError | None = None
    for split in legal_splits(system, model):
        try:
            out.append(decode(split, model, workload, **options))
        except MissingRecord:
            raise
        except ConfigError as error:
            problem = error
    if not out:
        raise problem or ConfigError(f"{model.name} can't be split over {_devices(system)} devices of {system.name}")
    return sorted(out, key=lambda one: -one.tokens_per_s)


def best(system: Any, model: ModelShape, workload: str, **options: Any) -> Decoding:
    """The fastest of :func:`search`."""
    return search(system, model, workload, **options)[0]


def utilisation(model: ModelShape, tokens_per_s: float, nodes: float, context: float) -> float:
    """Share of the peak of ``nodes`` nodes that the operations of decoding take, output matrix not counted.

    ``2 P + 4 n d T`` operations a token: ``P`` parameters of the layers' matrices, ``n`` layers, ``d`` the width of all
    queries, ``T`` the mean context. It gives all nine figures of LoL-PIM's Table 8 to 0.05 points.
    """
    matrices = model.layers * sum(op.n * op.k for op in layer_operators(model, 1, 1) if op.kind == "gemm")
    attention = 4 * model.layers * model.heads * model.head_dim * context
    return tokens_per_s * (2 * matrices + attention) / (nodes * NODE_UNITS * UNIT_FLOPS)
