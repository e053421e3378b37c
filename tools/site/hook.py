"""Events of the site generator: pages from outside ``docs/``, the navigation, Markdown as GitHub reads it.

``make docs`` builds the site. Pages stay as GitHub shows them; nothing in ``docs/`` is written for the site.
"""

from __future__ import annotations

import re
import sys
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from mkdocs.exceptions import PluginError  # noqa: E402
from mkdocs.structure.files import File, Files  # noqa: E402
from pymdownx.slugs import slugify  # noqa: E402

from tools.site.api import api_navigation, api_pages, modules  # noqa: E402
from tools.site.github import links, python_markdown, relink  # noqa: E402
from tools.site.notebook import page_of  # noqa: E402
from tools.site.pages import API, FILES, HOME, navigation, place  # noqa: E402

#: Letters of a cell of a table, and of its heading, above which it holds a sentence.
_MOST = {"td": 40, "th": 16}


def on_config(config: Any) -> None:
    config.mdx_configs["toc"]["slugify"] = slugify(case="lower")


def on_files(files: Files, config: Any) -> None:
    """Adds the pages that are not in ``docs/`` and makes the navigation of all."""
    notebooks = {path.relative_to(ROOT).as_posix(): path for path in sorted((ROOT / "docs").rglob("*.ipynb"))}
    pages = [HOME, *(f"docs/{file.src_uri}" for file in files.documentation_pages()), *notebooks]
    texts = {page: (ROOT / page).read_text() for page in pages if page not in notebooks}
    for page, path in notebooks.items():
        texts[page], pictures = page_of(path.read_text(), path.stem)
        there = str(place(page, ROOT))
        files.append(File.generated(config, there, content=texts[page]))
        for name, content in pictures.items():
            files.append(File.generated(config, str(Path(there).with_name(name)), content=content))
    moved = {page: there for page in [HOME, "docs/index.md"] if (there := place(page, ROOT))}
    for page in moved:
        if file := files.get_file_from_path(page.removeprefix("docs/")):
            files.remove(file)
    for page, there in moved.items():
        files.append(File.generated(config, there, abs_src_path=str(ROOT / page)))
    for path in sorted({path for page in pages for path in links(texts[page], page)}):
        there = place(path, ROOT)
        if there and there.startswith(f"{FILES}/") and (ROOT / path).is_file():
            files.append(File.generated(config, there, content=_listing(path)))
    package = modules(ROOT / "bankside")
    for there, text in api_pages(package):
        files.append(File.generated(config, there, content=text))
    try:
        config["nav"] = [*navigation(pages, ROOT), {"API": api_navigation(package)}]
    except ValueError as error:
        raise PluginError(str(error)) from error


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str | None:
    if page.file.src_uri.startswith((f"{API}/", f"{FILES}/")):
        return None
    source = page.file.abs_src_path  # None for a notebook
    path = Path(source).relative_to(ROOT).as_posix() if source else f"docs/{page.file.src_uri.replace('.md', '.ipynb')}"
    return python_markdown(relink(markdown, path, partial(place, root=ROOT)))


def on_page_content(html: str, **_: Any) -> str:
    """Marks what keeps a width in tables on a narrow screen: sentences, and names that lines do not end in."""

    def cell(found: re.Match[str]) -> str:
        tag, text = found["tag"], found["text"]
        kind = ' class="sentence"' if len(re.sub(r"<[^>]+>", "", text)) > _MOST[tag] else ""
        text = re.sub(r"<code>([^<\s]{1,32})</code>", r'<code class="name">\1</code>', text)
        return f"<{tag}{kind}{found['style']}>{text}</{tag}>"

    return re.sub(r"<(?P<tag>t[hd])(?P<style>(?: style=[^>]*)?)>(?P<text>.*?)</t[hd]>", cell, html, flags=re.DOTALL)


def _listing(path: str) -> str:
    """Page with a file of the repository."""
    text = (ROOT / path).read_text()
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 0)
    language = Path(path).suffix[1:] or "text"
    return f"---\nsearch:\n  exclude: true\nhide: [toc]\n---\n# {path}\n\n{fence}{language}\n{text.rstrip()}\n{fence}\n"
