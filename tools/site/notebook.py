"""Notebooks as pages: cells and stored outputs as Markdown, pictures as files beside the page."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

__all__ = ["page_of"]


def page_of(text: str, name: str) -> tuple[str, dict[str, bytes]]:
    """Markdown of a notebook, and its pictures by file name.

    Parameters
    ----------
    text : :class:`str`
        Contents of the ``.ipynb`` file, with outputs.
    name : :class:`str`
        Beginning of the names of pictures.
    """
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data: dict[str, Any] = output.get("data", {"text/plain": output.get("text", "")})
            if "image/png" in data:
                picture = f"{name}-{len(pictures) + 1}.png"
                pictures[picture] = base64.b64decode("".join(data["image/png"]))
                parts.append(f"![Output of the code above]({picture})")
            elif "text/html" in data:
                parts.append(re.sub(r"<style.*?</style>\s*|\n", "", "".join(data["text/html"]), flags=re.DOTALL))
            else:
                parts.append(f"```text\n{''.join(data['text/plain']).rstrip()}\n```")
    return "\n\n".join(parts) + "\n", pictures
