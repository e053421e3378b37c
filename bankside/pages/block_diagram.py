"""Block diagram of a unit as SVG, from its contract: its ports with fields and bits, and the units inside it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from pydantic import BaseModel

from bankside.constraints.core.contract import Port, Unit

from .unit_page import part_text, port_rows

__all__ = ["block_diagram"]

#: Pixels. Text is set in a font whose characters have about these widths.
_SIDE, _BOX, _MARGIN, _ROW, _CELL, _CHARACTER = 330, 240, 16, 20, 18, 6.4

_INK, _EDGE, _FILL, _PART, _FIELD = "#222", "#34506e", "#eef3f9", "#fdf5e3", "#fff"


@dataclass
class _Block:
    """A port on a side of the box: its first line, and cells of fields by row."""

    port: Port
    label: str
    cells: list[list[tuple[str, float]]] = field(default_factory=list)

    @property
    def height(self) -> int:
        return _ROW + 8 + _CELL * len(self.cells) + 10


def block_diagram(unit: Unit, preset: str) -> str:
    """SVG of the unit with this preset: inputs on the left, outputs on the right, parts inside.

    A stream is a thick line, a signal a thin one. Cells below a line are the fields of the payload with their bits, the
    lowest first. Ports that differ in their number only are one line.
    """
    config = unit.presets[preset]
    found = [_block(port, count) for port, count in port_rows(config.ports())]
    sides = [[one for one in found if one.port.is_input], [one for one in found if not one.port.is_input]]
    heading = [*textwrap.wrap(unit.summary, 32), *textwrap.wrap(f"preset {preset}", 36)]
    parts = [
        (name, textwrap.wrap(part_text(value).replace("`", ""), 34))
        for name in type(config).model_fields
        for value in [getattr(config, name)]
        if isinstance(value, BaseModel) and part_text(value)
    ]
    inside = 34 + 15 * len(heading) + sum(34 + 14 * len(lines) for _, lines in parts)
    height = max(inside, *(sum(one.height for one in side) for side in sides)) + 2 * _MARGIN
    width = 2 * _SIDE + _BOX + 2 * _MARGIN
    title = f"Ports of {unit.name}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img" aria-labelledby="title description" font-family="Helvetica, Arial, sans-serif" font-size="12">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="description">{escape(_description(sides))}</desc>',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        f'<rect x="{_MARGIN + _SIDE}" y="{_MARGIN}" width="{_BOX}" height="{height - 2 * _MARGIN}" rx="6" fill="{_FILL}" '
        f'stroke="{_EDGE}" stroke-width="1.5"/>',
        *_inside(unit.name, heading, parts),
    ]
    for side, blocks in enumerate(sides):
        at = _MARGIN
        for one in blocks:
            lines += _drawn(one, side, at)
            at += one.height
    return "\n".join([*lines, "</svg>"]) + "\n"


def _block(port: Port, count: int) -> _Block:
    bits = port.layout.bits
    label = f"{bits} bit{'s' * (bits != 1)}" + (f", {count} ports" if count > 1 else "")
    block = _Block(port, label)
    if port.layout.is_plain:
        return block
    room = 0.0
    for _, one in port.layout.items():
        text = f"{one.name} {one.bits}"
        width = len(text) * _CHARACTER + 10
        if not block.cells or room + width > _SIDE - 40:
            block.cells.append([])
            room = 0
        block.cells[-1].append((text, width))
        room += width
    return block


def _description(sides: Sequence[Sequence[_Block]]) -> str:
    return " ".join(
        f"{word}: {', '.join(f'{one.port.name} ({one.label})' for one in blocks)}."
        for word, blocks in zip(("Inputs", "Outputs"), sides, strict=True)
        if blocks
    )


def _inside(name: str, heading: Sequence[str], parts: Sequence[tuple[str, Sequence[str]]]) -> Iterator[str]:
    left, middle, y = _MARGIN + _SIDE, _MARGIN + _SIDE + _BOX / 2, _MARGIN + 24
    yield (
        f'<text x="{middle:g}" y="{y}" text-anchor="middle" font-size="15" font-weight="bold" fill="{_INK}">'
        f"{escape(name)}</text>"
    )
    for line in heading:
        y += 15
        yield f'<text x="{middle:g}" y="{y}" text-anchor="middle" fill="{_INK}">{escape(line)}</text>'
    for part, text in parts:
        y += 10
        high = 24 + 14 * len(text)
        yield (
            f'<rect x="{left + 10}" y="{y}" width="{_BOX - 20}" height="{high}" rx="4" fill="{_PART}" '
            'stroke="#8a6d1f"/>'
        )
        y += 17
        yield f'<text x="{left + 18}" y="{y}" font-weight="bold" fill="{_INK}">{escape(part)}</text>'
        for line in text:
            y += 14
            yield f'<text x="{left + 18}" y="{y}" fill="{_INK}">{escape(line)}</text>'
        y += 7


def _drawn(one: _Block, side: int, top: int) -> Iterator[str]:
    """A port on the left (0) or the right (1) with its name, its bits and its fields."""
    port, line = one.port, top + _ROW + 4
    start = _MARGIN if side == 0 else _MARGIN + _SIDE + _BOX
    stop, thick = start + _SIDE, 4 if port.stream else 1.5
    text = start + (4 if side == 0 else 14)
    yield (
        f'<text x="{text}" y="{top + _ROW - 4}" fill="{_INK}"><tspan font-weight="bold">{escape(port.name)}</tspan>'
        f'<tspan dx="8">{escape(one.label)}</tspan></text>'
    )
    yield f'<path d="M{start} {line} H{stop - 8}" stroke="{_EDGE}" stroke-width="{thick:g}" fill="none"/>'
    yield f'<path d="M{stop - 10} {line - 5} L{stop} {line} L{stop - 10} {line + 5} z" fill="{_EDGE}"/>'
    y = line + 6
    for cells in one.cells:
        x = float(text)
        for name, width in cells:
            yield (
                f'<rect x="{x:g}" y="{y}" width="{width:g}" height="{_CELL - 2}" fill="{_FIELD}" stroke="{_EDGE}" '
                'stroke-width="0.7"/>'
            )
            yield f'<text x="{x + 5:g}" y="{y + 12}" font-size="11" fill="{_INK}">{escape(name)}</text>'
            x += width
        y += _CELL
