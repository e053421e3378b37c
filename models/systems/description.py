"""Checked contents of a system's files: the system, the GPUs that it is built on, and the memories that both name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from ...constraints.core.document import Strict, validate
from ...constraints.core.errors import ConfigError, nearest
from ...constraints.core.workspace import kept
from ...constraints.memory import Memory, load_memory
from ...constraints.systems import GpuSystemSpec
from .kernels import Kernels, load_kernels

__all__ = ["Description", "apart", "put"]

Spec = TypeVar("Spec", bound=Strict, covariant=True)

#: Groups of a GPU system; a change of one of these reaches the base of a system that has a base.
BASE_GROUPS = ("gpu", "parallelism", "link", "nodes", "network", "host")


def apart(changes: Mapping[str, Any], based: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split changes, by dotted key, into changes of the system's own file and changes of its base. Keys of the base are
    ``base.KEY`` and the groups of GPUs."""
    own: dict[str, Any] = {}
    base: dict[str, Any] = {}
    for key, value in changes.items():
        if based and key.startswith("base."):
            base[key.removeprefix("base.")] = value
        elif based and key.split(".")[0] in BASE_GROUPS:
            base[key] = value
        else:
            own[key] = value
    return own, base


def put(document: dict[str, Any], key: str, value: Any, told: str) -> tuple[str | int, ...]:
    """Set the value at a dotted key of a system's plain data. An entry of a list goes by its ``name``: ``tiers.hbm.unit``.

    Returns
    -------
    tuple
        The place of the value, with the number of each entry of a list.

    Raises
    ------
    :exc:`ConfigError`
        If a part of the key is a plain value, or a list has no entry of that name. ``told`` begins the message.
    """
    at: Any = document
    place: list[str | int] = []
    *parents, last = key.split(".")
    for parent in parents:
        if isinstance(at, list):
            at, number = _entry(at, parent, told)
            place.append(number)
            continue
        at = at.setdefault(parent, {})
        place.append(parent)
        if not isinstance(at, dict) and not (isinstance(at, list) and at and all(isinstance(one, dict) for one in at)):
            raise ConfigError(f"{told}: '{parent}' is a plain value, not a group")
    if isinstance(at, list):
        _, number = _entry(at, last, told)
        at[number] = value
        return (*place, number)
    at[last] = value
    return (*place, last)


def _entry(entries: list[dict[str, Any]], name: str, told: str) -> tuple[dict[str, Any], int]:
    """The entry of this name, and its number."""
    names = [str(one.get("name")) for one in entries]
    if name not in names:
        raise ConfigError(f"{told}: {nearest('entry', name, names)}")
    return entries[names.index(name)], names.index(name)


@dataclass(frozen=True)
class Description(Generic[Spec]):
    """A system as its files describe it.

    Attributes
    ----------
    name : :class:`str`
    spec : :class:`Strict`
        The system's own file, of the schema of its kind.
    where : :class:`str`
        Path of that file. Relative paths in the file begin at its folder.
    gpus : :class:`GpuSystemSpec` or None
        The GPUs that the system is built on, if its file names a base.
    """

    name: str
    spec: Spec
    where: str
    gpus: GpuSystemSpec | None = None

    @property
    def parts(self) -> tuple[Strict, ...]:
        """The specifications from all files of the system."""
        return (self.spec,) if self.gpus is None else (self.gpus, self.spec)

    def changed(self, changes: Mapping[str, Any]) -> Description[Spec]:
        """This description with other values, by dotted key.

        Raises
        ------
        :exc:`ConfigError`
            If a value does not satisfy the schema.
        """
        own, base = apart(changes, self.gpus is not None)
        return replace(
            self,
            spec=_changed(self.spec, own, self.name),
            gpus=None if self.gpus is None else _changed(self.gpus, base, self.name),
        )

    def path(self, name: str) -> Path:
        """Path of a file that the system's own file names. A relative path begins at the folder of the system's own
        file."""
        path = Path(name)
        return path if path.is_absolute() else Path(self.where).parent / path

    def kernels(self, name: str) -> Kernels:
        """Kernel records that are built in, or of a file.

        Raises
        ------
        :exc:`ConfigError`
            If there are none of that name, or the file is wrong.
        """
        try:
            return load_kernels(str(self.path(name)) if "/" in name or name.endswith(".json") else name)
        except ConfigError as error:
            raise ConfigError(f"{self.where}: gpu.kernels: {error}") from None

    def memory(self, name: str, power_limit: bool = True) -> Memory:
        """A built-in memory, or a memory from a file. The same file gives the same object, so timings are looked up
        rather than made again."""
        path = str(self.path(name)) if name.endswith((".yaml", ".yml", ".ini")) else name
        stamp = Path(path).stat().st_mtime if Path(path).is_file() else 0.0
        return _memory(path, stamp, power_limit)


@kept
def _memory(path: str, stamp: float, power_limit: bool) -> Memory:
    return load_memory(path).at(power_limit)


Part = TypeVar("Part", bound=Strict)


def _changed(spec: Part, changes: Mapping[str, Any], where: str) -> Part:
    if not changes:
        return spec
    document = spec.model_dump()
    for key, value in changes.items():
        put(document, key, value, f"{where}: '{key}'")
    return validate(document, type(spec), where)
