"""Parts of a design that are worth mapping or compiling only once: modules with many instances."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

__all__ = ["PartText", "split"]

_MODULE = re.compile(r"^module (\\\S+|\w+)")
_INSTANCE = re.compile(r"^  (\w+) (?:\\\S+ |\w+)\s*\(", re.MULTILINE)
_PORT = re.compile(r"^  (?:input|output) (?:\[\d+:0\] )?(\w+);$", re.MULTILINE)
_MARK = re.compile(r"^\(\* keep_hierarchy \*\)$", re.MULTILINE)
_STREAM = re.compile(r"__(payload|valid|ready)$")


@dataclass(frozen=True)
class PartText:
    """A part of a design.

    Attributes
    ----------
    name : name of its top module
    text : its Verilog, with the parts inside it as black boxes
    boxes : names of these parts
    count : number of its instances in the design
    """

    name: str
    text: str
    boxes: frozenset[str]
    count: int


def split(verilog: str, top: str) -> list[PartText]:
    """Parts of a design written by Amaranth, the design's own module first.

    A module with a plain name, besides ``top``, has many instances. (The names of its submodules have dots behind its
    own name.) It is a part of its own if it has the attribute ``keep_hierarchy``. It is also a part of its own if all
    its ports belong to streams, except a clock and a reset.
    """
    modules: dict[str, list[str]] = {}
    text: list[str] = []
    for line in verilog.splitlines(keepends=True):
        text.append(line)
        if line.startswith("endmodule"):
            name = next(m[1] for m in map(_MODULE.match, text) if m)
            modules.setdefault(name.lstrip("\\").split(".")[0], []).append("".join(text))
            text = []
    if top not in modules:
        return [PartText(top, verilog, frozenset(), 1)]
    texts = {name: "".join(part) for name, part in modules.items()}

    def header(name: str) -> str:
        return next(
            part for part in modules[name] if re.search(rf"^module {re.escape(name)}(?!\S*\.)", part, re.MULTILINE)
        )

    uses = {
        name: Counter(kind for kind in _INSTANCE.findall(part) if kind in texts and kind != name)
        for name, part in texts.items()
    }
    parts = {
        name
        for name in texts
        if name != top
        and (
            _MARK.search(header(name))
            or all(port in ("clk", "rst") or _STREAM.search(port) for port in _PORT.findall(header(name)))
        )
    }

    def inner(name: str) -> tuple[dict[str, None], Counter[str]]:
        """Modules that belong to a part, itself first, and the parts it holds."""
        own: dict[str, None] = {name: None}
        held: Counter[str] = Counter()
        for kind, number in uses[name].items():
            if kind in parts:
                held[kind] += number
            else:
                more, below = inner(kind)
                own |= more
                held += Counter({k: n * number for k, n in below.items()})
        return own, held

    def stub(name: str) -> str:
        module = header(name)
        start = module[module.index(f"module {name}") :]
        ports = "".join(m[0] + "\n" for m in _PORT.finditer(module))
        return f"(* blackbox *)\n{start[: start.index(';')]};\n{ports}endmodule\n"

    counts: Counter[str] = Counter({top: 1})
    out: dict[str, tuple[str, frozenset[str]]] = {}

    def visit(name: str, number: int) -> None:
        own, held = inner(name)
        out.setdefault(name, ("".join(texts[k] for k in own) + "".join(map(stub, held)), frozenset(held)))
        for kind, times in held.items():
            counts[kind] += number * times
            visit(kind, number * times)

    visit(top, 1)
    return [PartText(name, part, boxes, counts[name]) for name, (part, boxes) in out.items()]
