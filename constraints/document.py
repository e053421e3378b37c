"""Configuration files: YAML or JSON text to a validated pydantic model, with errors that name file, line and key."""

from __future__ import annotations

import os
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from .errors import ConfigError, nearest

__all__ = ["Strict", "load", "parse", "read_text", "validate"]

MAX_BYTES = 1 << 20
MAX_NODES = 20_000
MAX_DEPTH = 32


class Strict(BaseModel):
    """Base of every schema: unknown keys, infinities and silent conversions are errors; objects are immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True)


Model = TypeVar("Model", bound=BaseModel)
Lines = dict[tuple[Any, ...], int]


def load(path: str | os.PathLike[str], model: type[Model]) -> Model:
    """Read the file ``path`` as ``model``.

    Raises
    ------
    :exc:`ConfigError`
        If it can't be read, is not YAML, or does not satisfy the schema; with ``file:line``.
    """
    document, lines = parse(read_text(path), os.fspath(path))
    return validate(document, model, os.fspath(path), lines)


def read_text(path: str | os.PathLike[str], what: str = "a configuration file", limit: int = MAX_BYTES) -> str:
    """Text of a file that a user named; no more than ``limit`` bytes of it are ever read.

    Raises
    ------
    :exc:`ConfigError`
        If it can't be read, is too large for ``what`` it should be, or is not UTF-8.
    """
    try:
        with open(path, "rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise ConfigError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    if len(data) > limit:
        raise ConfigError(f"{path}: {what} has at most {limit} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text (byte {error.start})") from None


def parse(text: str, where: str) -> tuple[Any, Lines]:
    """Plain data of a YAML text, and the line of every key path; ``where`` names the text in errors."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}" if mark else ""
        raise ConfigError(f"{where}{line}: not valid YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"{where}: not valid YAML: {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise ConfigError(f"{where}: nested too deeply (at most {MAX_DEPTH} levels)") from None
    if root is None:
        raise ConfigError(f"{where}: is empty")
    lines: Lines = {}
    count = 0

    def build(node: yaml.Node, at: tuple[Any, ...], depth: int) -> Any:
        nonlocal count
        count += 1
        line = node.start_mark.line + 1
        if count > MAX_NODES or depth > MAX_DEPTH:
            raise ConfigError(f"{where}:{line}: more than {MAX_NODES} values or {MAX_DEPTH} levels")
        lines.setdefault(at, line)
        if isinstance(node, yaml.MappingNode):
            if node.tag != "tag:yaml.org,2002:map":
                raise ConfigError(f"{where}:{line}: tag {node.tag} is not allowed")
            out: dict[str, Any] = {}
            for key_node, value_node in node.value:
                key = key_node.value
                key_line = key_node.start_mark.line + 1
                if not isinstance(key_node, yaml.ScalarNode):
                    raise ConfigError(f"{where}:{key_line}: a key must be plain text")
                if key in out:
                    raise ConfigError(f"{where}:{key_line}: key '{key}' appears twice")
                lines[(*at, key)] = key_line
                out[key] = build(value_node, (*at, key), depth + 1)
            return out
        if isinstance(node, yaml.SequenceNode):
            if node.tag != "tag:yaml.org,2002:seq":
                raise ConfigError(f"{where}:{line}: tag {node.tag} is not allowed")
            return [build(child, (*at, i), depth + 1) for i, child in enumerate(node.value)]
        if len(node.value) > 4000:
            raise ConfigError(f"{where}:{line}: a value of {len(node.value)} characters")
        loader = yaml.SafeLoader("")
        try:
            if node.tag == "tag:yaml.org,2002:timestamp":
                return node.value
            return loader.construct_object(node)
        except (yaml.YAMLError, ValueError):
            raise ConfigError(f"{where}:{line}: '{node.value}' is not a valid value") from None

    return build(root, (), 0), lines


def validate(document: Any, model: type[Model], where: str, lines: Lines | None = None) -> Model:
    """Check plain data against ``model``; all errors are told at once, one clause each."""
    if not isinstance(document, dict):
        raise ConfigError(f"{where}: must be a mapping of keys to values, not {type(document).__name__}")
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise ConfigError("; ".join(_explain(error, model, where, lines or {}))) from None


def _explain(error: ValidationError, model: type[BaseModel], where: str, lines: Lines) -> list[str]:
    problems = error.errors(include_url=False)
    unknown = [p for p in problems if p["type"] == "extra_forbidden"]
    out = []
    for problem in problems:
        at = tuple(problem["loc"])
        path = at
        while path and path not in lines:
            path = path[:-1]
        place = f"{where}:{lines[path]}" if path in lines else where
        key = ".".join(str(part) for part in at)
        if problem["type"] == "extra_forbidden":
            siblings = _fields_at(model, at[:-1])
            within = key.removesuffix(str(at[-1]))
            out.append(f"{place}: {nearest('key', str(at[-1]), siblings, within=within)}")
        elif problem["type"] == "missing":
            if any(_close(at[-1], u["loc"][-1]) for u in unknown if u["loc"][:-1] == at[:-1]):
                continue
            out.append(f"{place}: missing key '{key}'")
        else:
            message = problem["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
            value = problem.get("input")
            told = problem["type"] in ("value_error", "assertion_error") and repr(value) in message  # our own words
            shown = "" if isinstance(value, (dict, list)) or told else f", not {value!r}"
            head = f"{place}: {key}: " if key else f"{place}: "
            out.append(f"{head}{message[0].lower() + message[1:]}{shown}")
    return out


def _close(a: Any, b: Any) -> bool:
    import difflib

    return bool(difflib.get_close_matches(str(a), [str(b)], 1, 0.5))


def _fields_at(model: Any, at: tuple[Any, ...]) -> list[str]:
    """Names of the fields of the sub-model that ``at`` leads to (best effort, for a hint)."""
    for part in at:
        fields = getattr(model, "model_fields", {})
        annotation = fields[part].annotation if part in fields else None
        for candidate in (annotation, *getattr(annotation, "__args__", ())):
            if hasattr(candidate, "model_fields"):
                model = candidate
                break
    return list(getattr(model, "model_fields", {}))
