"""Places of the pages: the sections of the documentation site, and where a file of the repository lies on it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = ["API", "FILES", "HOME", "SECTIONS", "navigation", "place"]

#: The page that opens the site.
HOME = "README.md"

#: Folders of the generated pages: the API, and files of the repository that pages link to.
API, FILES = "api", "files"

#: Pages of each section with their titles in the navigation. A page that does not exist is left out.
SECTIONS = {
    "Start": {
        HOME: "Bankside",
        "docs/index.md": "All pages",
        "docs/tutorial.md": "Tutorial",
        "docs/gallery.md": "Gallery",
        "docs/glossary.md": "Glossary",
    },
    "For architects": {
        "docs/architects.md": "Guide for architects",
        "docs/memory.md": "Programs and memories",
        "docs/timing.md": "Time of traces",
    },
    "For RTL engineers": {
        "docs/rtl-engineers.md": "Guide for RTL engineers",
        "docs/streams.md": "Streams",
        "docs/axi.md": "AXI ports",
        "docs/cosim.md": "Co-simulation",
        "docs/synthesis.md": "Synthesis",
    },
    "For serving engineers": {
        "docs/serving-engineers.md": "Guide for serving engineers",
        "docs/decode.md": "Decoding",
        "docs/llm.md": "Models with weights",
        "docs/starc/system.md": "Sparse attention",
        "docs/serving.md": "Serving",
        "docs/workloads.md": "Workloads",
    },
    "Python": {
        "docs/python.md": "Python",
        "docs/notebooks/unit.ipynb": "A unit in a server",
        "docs/notebooks/memory.ipynb": "A memory of one's own",
        "docs/notebooks/serving.ipynb": "A log of requests",
    },
    "Units": {
        "docs/pam/pu.md": "pam-pu",
        "docs/pam/ru.md": "pam-ru",
        "docs/pam/interface.md": "pam-interface",
        "docs/pam/compositions.md": "PAM's compositions",
        "docs/lolpim/dispatcher.md": "dpa-dispatcher",
        "docs/aim/channel.md": "aim-channel",
        "docs/aim/hub.md": "pim-hub",
        "docs/cent/pnm.md": "cent-pnm",
        "docs/lolpim/module.md": "lol-pim-module",
        "docs/cent/cxl_port.md": "cent-cxl-port",
        "docs/cent/riscv.md": "cent-riscv",
        "docs/cent/decoder.md": "cent-decoder",
        "docs/cent/device.md": "cent-device",
        "docs/inf2/gemv.md": "inf2-gemv",
        "docs/inf2/softmax.md": "inf2-softmax",
        "docs/inf2/accelerator.md": "inf2-accelerator",
        "docs/starc/select.md": "starc-select",
        "docs/starc/attention.md": "starc-attention",
        "docs/arith/units.md": "Arithmetic",
    },
    "Systems": {
        "docs/systems.md": "Systems",
        "docs/gpu.md": "GPUs",
        "docs/pam/system.md": "PAM as a system",
        "docs/lolpim/system.md": "LoL-PIM as a system",
        "docs/cent/system.md": "CENT as a system",
        "docs/inf2/writeback.md": "Delayed writeback",
        "docs/inf2/system.md": "INF² as a system",
    },
    "Papers": {
        "docs/repro.md": "Papers",
        "docs/check-a-claim.md": "Check a claim",
        "docs/repro-pam.md": "PAM, claim by claim",
        "docs/repro-lol-pim.md": "LoL-PIM, claim by claim",
        "docs/repro-cent.md": "CENT, claim by claim",
        "docs/repro-inf2.md": "INF², claim by claim",
        "docs/repro-starc.md": "STARC, claim by claim",
    },
    "Reference": {
        "docs/cli.md": "Command line",
        "docs/numerics.md": "Numerics",
        "docs/architecture.md": "Architecture",
    },
    "Decisions": {
        "docs/decisions/index.md": "Decisions",
        "docs/decisions/engine-jumps.md": "Jumps of the timing engine",
        "docs/decisions/record-digests.md": "Digests of records",
        "docs/decisions/pam-block-table.md": "PAM's block table",
        "docs/decisions/timing-analysis.md": "Timing analysis and Liberty",
    },
}

#: Pages that have another name on the site: the site opens with the README, so the index of the folder makes room.
_RENAMED = {HOME: "index.md", "docs/index.md": "contents.md"}


def place(path: str, root: Path) -> str | None:
    """Source path on the site of a file of the repository, or None if the site does not show it.

    Parameters
    ----------
    path : :class:`str`
        Path of the file from the root of the repository.
    root : :class:`Path`
        Root of the repository.
    """
    if path in _RENAMED:
        return _RENAMED[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/").replace(".ipynb", ".md")
    file = root / path
    return f"{FILES}/{path}.md" if not file.exists() or _is_text(file) else None


def _is_text(file: Path) -> bool:
    """Whether a page can show the file."""
    try:
        return file.is_file() and len(file.read_text()) < 200_000
    except UnicodeDecodeError:
        return False


def navigation(existing: Iterable[str], root: Path) -> list[dict[str, Any]]:
    """Sections with titles and source paths of their pages, as the site generator reads them.

    Parameters
    ----------
    existing : iterable of :class:`str`
        Paths of all pages from the root of the repository.

    Raises
    ------
    :exc:`ValueError`
        If an existing page is in no section, or in two.
    """
    listed = [page for pages in SECTIONS.values() for page in pages]
    there = set(existing)
    if twice := sorted({page for page in listed if listed.count(page) > 1}):
        raise ValueError(f"a page must be in one section, not in several: {', '.join(twice)}")
    if missing := sorted(there - set(listed)):
        raise ValueError(f"every page must be in a section of {Path(__file__).relative_to(root)}: {', '.join(missing)}")
    return [
        {section: [{title: place(page, root)} for page, title in pages.items() if page in there]}
        for section, pages in SECTIONS.items()
    ]
