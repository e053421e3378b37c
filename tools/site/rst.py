"""Docstrings in the markup of the site: roles and literal blocks of reStructuredText become Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["docstring", "markdown", "one_line"]

_ROLE = re.compile(r":(?P<role>[a-z]+(?::[a-z]+)?):`(?P<target>[^`]+)`")

_SECTION = re.compile(r"^(Parameters|Members|Attributes|Raises|Returns|Yields|Notes)\n-{3,}(?:\n|$)", re.MULTILINE)


def markdown(text: str, link: Callable[[str, str], str] | None = None) -> str:
    """Text of a docstring, without sections, as Markdown.

    Parameters
    ----------
    text : :class:`str`
        The text.
    link : callable
        Markdown for a role, from its target and from the name that a reader sees. By default that name is shown as code.
    """

    def role(found: re.Match[str]) -> str:
        shown = _label(found)
        return link(found["target"], shown) if link and not found["role"].startswith("py") else f"`{shown}`"

    text = re.sub(r"^ *::\n", "", _ROLE.sub(role, text), flags=re.MULTILINE)
    return re.sub(r"::$", ":", text, flags=re.MULTILINE)


def one_line(text: str) -> str:
    """Text of a docstring for a cell of a table."""
    pieces = re.split(r"(`+[^`]+`+)", " ".join(markdown(text).split()))
    return "".join(piece if piece.startswith("`") else piece.replace("|", r"\|") for piece in pieces)


def docstring(text: str, link: Callable[[str, str], str] | None = None) -> str:
    """A docstring with sections in the style of NumPy, for a parser that expects Markdown in them.

    The parser does not know members and notes. Members become attributes. Notes become text before the sections, and so
    do parameters that are described in a sentence.
    """
    first, *parts = _SECTION.split(text)
    sections = list(zip(parts[::2], parts[1::2], strict=True))
    notes = [f"**{name}**\n\n{markdown(body, link)}" for name, body in sections if _is_prose(name, body)]
    fields = [_section(name, body, link) for name, body in sections if not _is_prose(name, body)]
    return "\n\n".join([part.strip("\n") for part in (markdown(first, link), *notes, *fields)]).strip()


def _label(role: re.Match[str]) -> str:
    """Name that a reader sees: the whole target, or its last part if it begins with a tilde."""
    target = role["target"]
    return target.rpartition(".")[2] if target.startswith("~") else target.lstrip(".")


def _is_prose(name: str, body: str) -> bool:
    return name == "Notes" or name in ("Parameters", "Attributes") and not re.search(r" : |^ ", body, re.MULTILINE)


def _section(name: str, body: str, link: Callable[[str, str], str] | None) -> str:
    """A section with names and types as plain text and descriptions as Markdown.

    The parser reads each line without indentation as a type. A result that has no type gets an empty one.
    """
    name = "Attributes" if name == "Members" else name
    lines = body.rstrip().splitlines()
    if name in ("Returns", "Yields") and not any(line.startswith(" ") for line in lines):
        lines = [" :", *(f"    {line}" for line in lines)]
    lines = [
        markdown(line, link) if line.startswith(" ") else _ROLE.sub(_label, line).replace("`", "") for line in lines
    ]
    return "\n".join([name, "-" * len(name), *lines])
