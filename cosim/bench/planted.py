"""Errors planted into a unit's Verilog, all in one text; an argument of the simulation turns one of them on."""

from __future__ import annotations

import re

#: What a clock edge loads, and what a wire is: everything on the right of it is turned over.
_LOADED = re.compile(r"^( +(?:\S+|\\\S+ ) *<= )(?!\d+'h0+;)(.+);$", re.MULTILINE)
_DRIVEN = re.compile(r"^( +assign (?:\S+|\\\S+ )(?:\[[\d:]+\])? *= )(.+);$", re.MULTILINE)
_MODULE = re.compile(r"^endmodule\b", re.MULTILINE)

#: Argument of a simulation (`+planted=NUMBER`): the error that is on, from 1.
PLANTED = "planted"


def with_planted(verilog: str, count: int = 4) -> str:
    """The text with ``count`` assignments, spread over it, that are inverted if their number is given: registers where it
    has any. Without the argument it is the same unit."""
    places = list(_LOADED.finditer(verilog)) or list(_DRIVEN.finditer(verilog))
    chosen = dict.fromkeys(number * len(places) // (count + 1) for number in range(1, count + 1))
    pieces, end, there = [], 0, False
    for module_end in [match.start() for match in _MODULE.finditer(verilog)]:
        for number, place in enumerate((places[at] for at in chosen), 1):
            if end <= place.start() < module_end:
                pieces += [
                    verilog[end : place.start()],
                    f"{place[1]}{PLANTED} == {number} ? ~({place[2]}) : ({place[2]});",
                ]
                end, there = place.end(), True
        if there:
            pieces += [
                verilog[end:module_end],
                f'  integer {PLANTED};\n  initial if (!$value$plusargs("{PLANTED}=%d", {PLANTED})) {PLANTED} = 0;\n',
            ]
            end, there = module_end, False
    return "".join([*pieces, verilog[end:]])
