"""Find sentences that a reader has to read twice: the checkable part of how pages, help texts and docstrings are written.

    .venv/bin/python tools/english.py README.md docs/cli.md bankside/shell/cli.py

A sentence has at most 25 words, does not begin with "Of", and avoids turns of phrase that hide who does what. A span of
code is one word. Headings, cells of tables and items of lists are sentences of their own. Code blocks and generated tables
are left out. In a Python file the tool reads docstrings, help and descriptions of options and keys, and messages of errors.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

#: Words of a sentence, at most.
MOST_WORDS = 25

#: What a sentence does not say, and what it says instead.
AVOIDED = {
    r"\b(that|those) of\b": "name the thing again",
    r"\bwhat (is|are)\b": "name the thing",
    r"\b(is|are|was|were|be) told\b": "say who writes, prints or sends it",
    r"^Of\b": "begin with the subject",
}

#: A full stop that ends no sentence.
_SHORT = re.compile(r"\b(e\.g|i\.e|vs|cf|etc|Fig|Sec|al|approx|No)\.(?=\s)")
_END = re.compile(r"(?<=[.!?])[\"')\]*_]*\s+(?=[\"'(\[*_`]*[A-Z0-9`])")


def sentences(text: str) -> Iterator[str]:
    """Sentences of a paragraph without markup."""
    text = re.sub(r"\s+", " ", text).strip()
    text = _SHORT.sub(lambda found: found[0].replace(".", "\0"), text)
    for sentence in _END.split(text):
        if sentence:
            yield sentence.replace("\0", ".")


def plain(text: str) -> str:
    """Markdown or reStructuredText without markup: a span of code becomes one word, a link its text."""
    text = re.sub(r":\w+:`[^`]*`", "CODE", text)
    text = re.sub(r"``[^`]+``|`[^`]+`_?", "CODE", text)
    text = re.sub(r"\$[^$\n]+\$", "CODE", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"<[^>\n]+>", "", text)


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs, headings, items and cells of a page with the line on which each begins."""
    gathered: list[str] = []
    began, fence, generated = 0, False, False

    def flush() -> Iterator[tuple[int, str]]:
        if gathered:
            yield began, " ".join(gathered)
            gathered.clear()

    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("```"):
            fence = not fence
            yield from flush()
        elif fence:
            continue
        elif stripped.startswith("<!-- table"):
            generated = True
            yield from flush()
        elif stripped.startswith("<!-- end"):
            generated = False
        elif generated or line.startswith("    ") and not gathered:
            continue
        elif not stripped:
            yield from flush()
        elif stripped.startswith("|"):
            yield from flush()
            for cell in re.split(r"(?<!\\)\|", stripped)[1:-1]:
                if not re.fullmatch(r"[\s:-]*", cell):
                    yield number, cell
        elif re.match(r"#+ ", stripped):
            yield from flush()
            yield number, stripped.lstrip("# ")
        else:
            if re.match(r"([-*+]|\d+\.) ", stripped):
                yield from flush()
                stripped = re.sub(r"^([-*+]|\d+\.) ", "", stripped)
            if not gathered:
                began = number
            gathered.append(stripped)
    yield from flush()


def docstrings(source: str) -> Iterator[tuple[int, str]]:
    """Paragraphs of docstrings; a list of parameters is one of items."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if not (
            node.body
            and isinstance(node.body[0], ast.Expr)
            and isinstance(node.body[0].value, ast.Constant)
            and isinstance(node.body[0].value.value, str)
        ):
            continue
        first = node.body[0].lineno
        literal = False
        gathered: list[str] = []
        began = indent = 0
        for number, line in enumerate([*node.body[0].value.value.splitlines(), ""], first):
            deep = len(line) - len(line.lstrip())
            stripped = line.strip()
            if literal and (not stripped or deep > indent):
                continue
            literal = False
            field = re.match(r"[\w*, `]+ : |-{3,}$|={3,}$|\.\. |[-*] |>>> |:\w+:`\w+`$", stripped)
            if gathered and (not stripped or field or number > first + 1 and deep != indent):
                yield began, " ".join(gathered)
                gathered = []
            if not stripped or field and not stripped.startswith(("-", "*")) or re.match(r"-{3,}$", stripped):
                continue
            if not gathered:
                began = number
            indent = deep if number > first else indent
            gathered.append(re.sub(r"^[-*] ", "", stripped))
            if stripped.endswith("::"):
                literal = True
                yield began, " ".join(gathered)
                gathered = []


def messages(source: str) -> Iterator[tuple[int, str]]:
    """Help of options, descriptions of keys, messages of errors; a value put into a text is one word."""
    for node in ast.walk(ast.parse(source)):
        found: list[ast.expr] = []
        if isinstance(node, ast.Call):
            found = [key.value for key in node.keywords if key.arg in ("help", "description", "epilog")]
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            found = node.exc.args[:1]
        for value in found:
            text = _text(value)
            if text:
                yield value.lineno, text


def _text(value: ast.expr) -> str:
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value
    if isinstance(value, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "CODE" for part in value.values)
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        return _text(value.left) + _text(value.right)
    return ""


def faults(parts: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str, str]]:
    """Line, fault and sentence."""
    for line, part in parts:
        for sentence in sentences(plain(part)):
            words = len([word for word in sentence.split() if re.search(r"\w", word)])
            if words > MOST_WORDS:
                yield line, f"{words} words, at most {MOST_WORDS}", sentence
            for pattern, instead in AVOIDED.items():
                found = re.search(pattern, sentence, re.IGNORECASE if pattern[0] != "^" else 0)
                if found:
                    yield line, f"'{found[0]}': {instead}", sentence


def check(path: Path) -> list[tuple[int, str, str]]:
    """Faults of a page or of a Python file."""
    text = path.read_text()
    if path.suffix == ".py":
        return sorted([*faults(docstrings(text)), *faults(messages(text))])
    return list(faults(paragraphs(text)))


def main(arguments: list[str]) -> int:
    found = 0
    for path in map(Path, arguments):
        for line, fault, sentence in check(path):
            print(f"{path}:{line}: {fault}: {sentence}")
            found += 1
    print(f"{found} sentences")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
