"""Errors planted into a unit's Verilog, one at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator

#: What a clock edge loads, and what a wire is: everything on the right of it is turned over.
_LOADED = re.compile(r"^( +(?:\S+|\\\S+ ) *<= )(?!\d+'h0+;)(.+);$", re.MULTILINE)
_DRIVEN = re.compile(r"^( +assign (?:\S+|\\\S+ )(?:\[[\d:]+\])? *= )(.+);$", re.MULTILINE)


def planted(verilog: str, count: int = 4) -> Iterator[str]:
    """The text with one assignment inverted, ``count`` times, at places spread over it: registers where it has any."""
    places = list(_LOADED.finditer(verilog)) or list(_DRIVEN.finditer(verilog))
    for number in range(1, count + 1):
        place = places[number * len(places) // (count + 1)]
        yield f"{verilog[:place.start()]}{place[1]}~({place[2]});{verilog[place.end():]}"
