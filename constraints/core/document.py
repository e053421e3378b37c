"""Configuration files: YAML or JSON text to a validated pydantic model, with errors that name file, line and key.

YAML is read by the core schema of version 1.2: ``yes`` and ``on`` are text, ``0o17`` is octal, a number has no colons.
A decimal number that begins with 0 is refused, because versions of YAML read it differently.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from .errors import ConfigError, nearest
from .workspace import read_bytes

__all__ = ["Strict", "load", "parse", "parse_json", "read_text", "validate"]

#: For digests of sources (:data:`bankside.provenance.sources.PLUMBING`).
DECIDES_NO_RESULT = True

MAX_BYTES = 1 << 20
MAX_NODES = 20_000
MAX_DEPTH = 32

#: Most problems of a file that one error lists.
MAX_PROBLEMS = 5


class Strict(BaseModel):
    """Base of every schema: unknown keys, infinities and silent conversions are errors; objects are immutable."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, strict=True, defer_build=True
    )  # built when first used: a command uses few schemas


Model = TypeVar("Model", bound=BaseModel)
Lines = dict[tuple[Any, ...], int]


def load(path: str | os.PathLike[str], model: type[Model], what: str = "a configuration file") -> Model:
    """Read the file ``path`` as ``model``; errors and the inputs of a result call it ``what``.

    Raises
    ------
    :exc:`ConfigError`
        If the file can't be read, is not YAML, or does not satisfy the schema; the message names ``file:line``.
    """
    document, lines = parse(read_text(path, what), os.fspath(path))
    return validate(document, model, os.fspath(path), lines)


def read_text(path: str | os.PathLike[str], what: str = "a configuration file", limit: int = MAX_BYTES) -> str:
    """Text of a file that a user named, UTF-8 with or without a byte order mark; at most ``limit`` bytes of it are read.

    Raises
    ------
    :exc:`ConfigError`
        If the file can't be read, is no regular file, is too large, or is not UTF-8. The message calls it ``what``.
    """
    data = read_bytes(path, what, limit)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text (byte {error.start})") from None


class _Loader(yaml.SafeLoader):
    """A YAML loader that leaves plain scalars without a type; :func:`_scalar` gives them one."""

    yaml_implicit_resolvers: Any = {}


if yaml.__with_libyaml__:

    class _FastLoader(yaml.composer.Composer, yaml.CSafeLoader):
        """The same loader with the scanner and parser of libyaml. The composer is Python's, because libyaml's composer
        calls itself in C for every level without a limit."""

        yaml_implicit_resolvers: Any = {}

        def __init__(self, stream: str) -> None:
            yaml.CSafeLoader.__init__(self, stream)
            yaml.composer.Composer.__init__(self)


def _compose(text: str) -> yaml.Node | None:
    """The tree of a YAML text. If libyaml refuses a text, Python's own parser reads it again, because its errors are
    clearer."""
    if yaml.__with_libyaml__:
        with contextlib.suppress(yaml.YAMLError, ValueError, RecursionError):
            fast: yaml.Node | None = yaml.compose(text, Loader=_FastLoader)
            return fast
    root: yaml.Node | None = yaml.compose(text, Loader=_Loader)
    return root


_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}


def _scalar(node: yaml.Node) -> Any:
    """The value of a scalar by the core schema of YAML 1.2; :exc:`ValueError` if the text is no value."""
    text = node.value
    if node.tag != "tag:yaml.org,2002:str":
        raise ValueError(f"tag {node.tag} is not allowed")
    if getattr(node, "style", None):  # in quotes
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
    if _NUMBER.fullmatch(text):
        if re.match(r"[-+]?0[0-9]", text):
            raise ValueError(
                f"'{text}' begins with 0: octal is 0o{text.lstrip('+-0') or '0'}, decimal has no 0 in front"
            )
        value = float(text)
        if not math.isfinite(value):
            raise ValueError(f"'{text}' is beyond every number")
        return value
    if re.fullmatch(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", text):
        raise ValueError(f"'{text}' is not a finite number")
    return text


def parse_json(text: str, where: str, *, numbered: bool = True) -> Any:
    """Plain data of a JSON text. Errors call the text ``where`` and, if ``numbered``, name the line.

    Raises
    ------
    :exc:`ConfigError`
        If the text is not JSON or nested too deeply, a key appears twice in an object, or a number is not finite.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        out = dict(pairs)
        if len(out) != len(pairs):
            twice = next(key for n, (key, _) in enumerate(pairs) if any(key == other for other, _ in pairs[:n]))
            places = [match.start() for match in re.finditer(re.escape(json.dumps(twice)) + r"\s*:", text)]
            line = f":{text.count(chr(10), 0, places[1]) + 1}" if numbered and len(places) > 1 else ""
            raise ConfigError(f"{where}{line}: key '{twice}' appears twice")
        return out

    def finite(number: str) -> float:
        value = float(number)
        if not math.isfinite(value):
            raise ConfigError(f"{where}: {number} is beyond every number")
        return value

    def constant(name: str) -> Any:
        raise ConfigError(f"{where}: {name} is not a number of JSON")

    try:
        return json.loads(text, object_pairs_hook=unique, parse_float=finite, parse_constant=constant)
    except json.JSONDecodeError as error:
        line = f":{error.lineno}" if numbered else ""
        raise ConfigError(f"{where}{line}: not valid JSON: {error.msg.lower()}") from None
    except RecursionError:
        raise ConfigError(f"{where}: not valid JSON: nested too deeply") from None
    except ValueError as error:  # a number of thousands of digits
        raise ConfigError(f"{where}: not valid JSON: {str(error).splitlines()[0]}") from None


def parse(text: str, where: str, *, numbered: bool = True) -> tuple[Any, Lines]:
    """Plain data of a YAML text, and the line of every key path. Errors call the text ``where`` and, if ``numbered``,
    name the line; the value of an option has no line."""

    def at_line(line: int) -> str:
        return f"{where}:{line}" if numbered else where

    try:
        root = _compose(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = at_line(mark.line + 1) if mark else where
        raise ConfigError(f"{place}: not valid YAML: {error.problem or error.context}") from None
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
        # The two parsers disagree on the line of a document without a value.
        line = node.start_mark.line + 1 if at or node.value else 1
        if count > MAX_NODES or depth > MAX_DEPTH:
            raise ConfigError(f"{at_line(line)}: more than {MAX_NODES} values or {MAX_DEPTH} levels")
        lines.setdefault(at, line)
        if isinstance(node, yaml.MappingNode):
            if node.tag != "tag:yaml.org,2002:map":
                raise ConfigError(f"{at_line(line)}: tag {node.tag} is not allowed")
            out: dict[str, Any] = {}
            for key_node, value_node in node.value:
                key = key_node.value
                key_line = key_node.start_mark.line + 1
                if not isinstance(key_node, yaml.ScalarNode):
                    raise ConfigError(f"{at_line(key_line)}: a key must be plain text")
                if key in out:
                    raise ConfigError(f"{at_line(key_line)}: key '{key}' appears twice")
                lines[(*at, key)] = key_line
                out[key] = build(value_node, (*at, key), depth + 1)
            return out
        if isinstance(node, yaml.SequenceNode):
            if node.tag != "tag:yaml.org,2002:seq":
                raise ConfigError(f"{at_line(line)}: tag {node.tag} is not allowed")
            return [build(child, (*at, i), depth + 1) for i, child in enumerate(node.value)]
        if len(node.value) > 4000:
            raise ConfigError(f"{at_line(line)}: a value of {len(node.value)} characters")
        try:
            return _scalar(node)
        except ValueError as error:
            raise ConfigError(f"{at_line(line)}: {error}") from None

    return build(root, (), 0), lines


def validate(document: Any, model: type[Model], where: str, lines: Lines | None = None) -> Model:
    """Check plain data against ``model``; one error lists several problems, one clause each."""
    if not isinstance(document, dict):
        raise ConfigError(f"{where}: must be a mapping of keys to values, not {type(document).__name__}")
    try:
        return model.model_validate(document)
    except ValidationError as error:
        problems = _explain(error, model, where, lines or {})
        more = [f"and {len(problems) - MAX_PROBLEMS} more"] if len(problems) > MAX_PROBLEMS else []
        raise ConfigError("; ".join([*problems[:MAX_PROBLEMS], *more])) from None


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
