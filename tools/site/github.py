"""Pages as GitHub reads them, rewritten for the site: links into the repository, lists, bars in tables."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator

__all__ = ["links", "python_markdown", "relink"]

_FENCE = re.compile(r" *(`{3,}|~{3,})")

#: Code in blocks, and in spans that end in their paragraph.
_CODE = re.compile(
    r"""
    ^\ *(?P<fence>`{3,}|~{3,}) .*? ^\ *(?P=fence)[`~]*\ *$
  | (?<!`)(?P<span>`+)(?!`) (?:(?!\n\ *\n).)+? (?<!`)(?P=span)(?!`)
    """,
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)

#: A link or an image. Its text may hold images.
_LINK = re.compile(
    r"""
    (?P<image>!?) \[ (?P<text>(?:[^\[\]]|!?\[[^\[\]]*\])*) \]
    \( (?P<target>[^()\s]+) (?P<title>\s+"[^"]*")? \)
    """,
    re.VERBOSE,
)

_ITEM = re.compile(r"([-*+]|\d{1,9}[.)]) +(?=\S)")


def links(text: str, page: str) -> Iterator[str]:
    """Paths, from the root of the repository, of the files that a page links to."""
    for found in _LINK.finditer(_without_code(text)[0]):
        if path := _path(page, found["target"]):
            yield path


def relink(text: str, page: str, place: Callable[[str], str | None]) -> str:
    """A page with links between places on the site. A link to a file that the site does not show becomes its text.

    Parameters
    ----------
    text : :class:`str`
        The page.
    page : :class:`str`
        Path of the page from the root of the repository.
    place : callable
        Place on the site of a file of the repository, or None.
    """
    folder = posixpath.dirname(place(page) or "")

    def moved(found: re.Match[str]) -> str:
        text, target = _LINK.sub(moved, found["text"]), found["target"]
        if path := _path(page, target):
            there = place(path)
            if there is None:
                return text
            fragment = target.partition("#")[2]
            target = posixpath.relpath(there, folder or ".") + (f"#{fragment}" if fragment else "")
        return f"{found['image']}[{text}]({target}{found['title'] or ''})"

    bare, code = _without_code(text)
    return re.sub(r"\0(\d+)\0", lambda mark: code[int(mark[1])], _LINK.sub(moved, bare))


def _without_code(text: str) -> tuple[str, list[str]]:
    """A page with a mark in the place of each piece of code, and the pieces."""
    code: list[str] = []

    def mark(found: re.Match[str]) -> str:
        code.append(found[0])
        return f"\0{len(code) - 1}\0"

    return _CODE.sub(mark, text), code


def _path(page: str, target: str) -> str | None:
    """Path of the file that a link of a page leads to, or None if the link leaves the repository or stays on the page."""
    name = target.partition("#")[0]
    if not name or re.match(r"[a-z][a-z0-9+.-]*:|/", name):
        return None
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), name))


def python_markdown(text: str) -> str:
    """A page that Python-Markdown shows as GitHub shows the original."""
    return "\n".join(_bars(line) for line in _lists(text.splitlines())) + "\n"


def _bars(line: str) -> str:
    r"""A row of a table with ``|`` for ``\|`` in its code, where Python-Markdown would show the backslash."""
    if not line.lstrip().startswith("|"):
        return line
    return re.sub(r"`[^`]+`", lambda span: span[0].replace(r"\|", "|"), line)


def _lists(lines: list[str]) -> Iterator[str]:
    """Lines in which each level of a list is four columns deeper, and a list begins after an empty line."""
    open_items: list[int] = []  # the column at which the content of each begins
    before = fence = ""
    loose = False  # whether the list has empty lines
    for line in lines:
        line = line if line.strip() else ""
        indent = len(line) - len(line.lstrip(" "))
        item = None if fence else _ITEM.match(line, indent)
        began = not open_items
        # A line that goes on with a paragraph may have any indentation.
        if line and not fence and (item or not before or _FENCE.match(line)):
            while open_items and indent < open_items[-1]:
                open_items.pop()
        column = open_items[-1] if open_items else 0
        loose = bool(open_items or item) and (loose or not line and not fence)
        if item and indent < column + 4:
            if before and (began or loose):
                yield ""
            yield "    " * len(open_items) + line[indent:]
            open_items.append(item.end())
        else:
            yield line and "    " * len(open_items) + line[min(indent, column) :]
        if found := _FENCE.match(line):
            fence = "" if fence and found[1].startswith(fence) else fence or found[1]
        before = line.strip()
