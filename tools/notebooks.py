"""Runs the notebooks in ``docs/notebooks`` and stores their outputs; with ``--check``, compares texts with the stored ones.

``python tools/notebooks.py [--check] [NAME ...]`` needs the extra ``notebooks``. Each notebook runs in an empty folder,
with an empty folder of records.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "notebooks"


def run(path: Path) -> nbformat.NotebookNode:
    """The notebook with outputs of a new run. A cell that fails raises its error."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["BANKSIDE_RECORDS"] = str(Path(folder, "records"))
        NotebookClient(notebook, timeout=600, record_timing=False, resources={"metadata": {"path": folder}}).execute()
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return notebook


def texts(notebook: nbformat.NotebookNode) -> list[list[str]]:
    """Texts that each cell wrote, pictures apart."""
    return [
        [one.get("text") or one["data"]["text/plain"] for one in cell.get("outputs", ())] for cell in notebook.cells
    ]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare outputs, write nothing")
    parser.add_argument("names", nargs="*", help="notebooks (default: all)")
    chosen = parser.parse_args(arguments)
    different = []
    for path in [FOLDER / f"{name}.ipynb" for name in chosen.names] or sorted(FOLDER.glob("*.ipynb")):
        made = run(path)
        if not chosen.check:
            nbformat.write(made, path)
            continue
        before, now = texts(nbformat.read(path, as_version=4)), texts(made)
        different += [
            f"{path.name}, cell {number}: stored {old}, now {new}"
            for number, (old, new) in enumerate(zip(before, now, strict=True))
            if old != new
        ]
    print(*different, sep="\n", file=sys.stderr, end="\n" if different else "")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
