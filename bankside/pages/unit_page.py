"""Tables of a unit's page, from its contract: parameters, ports, options of its bench, keys of the result, areas.

Tables are Markdown. A table stands in a page between ``<!-- table NAME -->`` and ``<!-- end -->``; :func:`fill` puts it
there. :data:`CONTRACT_TABLES` names the tables that follow from contracts alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import MaxLen
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from bankside.constraints.core.contract import Port, SimResult, Unit
from bankside.constraints.core.registry import UNITS

__all__ = [
    "CONTRACT_TABLES",
    "MARK",
    "areas",
    "contract_tables",
    "fill",
    "keys",
    "parameters",
    "part_text",
    "port_rows",
    "ports",
    "results",
    "table",
    "workload",
]

#: A table in a page: its mark, its name, its text, its end.
MARK = re.compile(r"(<!-- table (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(re.sub(r"(?<!\\)\|", r"\\|", str(cell)) for cell in row) + " |" for row in lines)


def fill(text: str, tables: Mapping[str, str]) -> str:
    """A page's text with these tables at their marks; other tables stay as they are."""
    return MARK.sub(lambda m: f"{m[1]}{tables[m[2]]}\n{m[4]}" if m[2] in tables else m[0], text)


# ---- Parameters ------------------------------------------------------------------------------------------------------


def parameters(unit: Unit) -> str:
    """Every parameter: its value in each preset, its meaning."""
    return table(
        ["parameter", *unit.presets, "meaning"],
        [
            [f"`{name}`", *(_value(getattr(config, name)) for config in unit.presets.values()), key.description]
            for name, key in unit.config.model_fields.items()
        ],
    )


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return part_text(value) if isinstance(value, BaseModel) else str(value)


def part_text(value: BaseModel) -> str:
    """A part of a configuration: the nearest preset of its unit, and the keys that differ from it.

    A part without a unit has its name in its first key.
    """
    found = [
        (len(changes), f"{unit.name} {name}{''.join(f', `{key}` {_value(new)}' for key, new in changes.items())}")
        for unit in UNITS.values()
        if unit.config is type(value)
        for name, preset in unit.presets.items()
        for changes in [
            {
                key: getattr(value, key)
                for key in unit.config.model_fields
                if getattr(value, key) != getattr(preset, key)
            }
        ]
    ]
    return min(found, key=lambda entry: entry[0])[1] if found else _value(next(iter(value))[1])


# ---- Ports -----------------------------------------------------------------------------------------------------------


def ports(unit: Unit) -> str:
    """Every port and its fields: direction, bits in each preset, meaning. Clock and reset are left out.

    A stream is shown by its payload. Numbered ports that are alike are one row with their number.
    """
    presets = [list(config.ports()) for config in unit.presets.values()]
    stems = {_stem(port.name)[0] for found in presets for port in found}
    together = {stem for stem in stems if all(_alike(_numbered(found, stem)) for found in presets)}
    columns = [dict(_rows(found, together)) for found in presets]
    rows: list[list[str]] = []
    for name in _union(columns):
        here = [column.get(name) for column in columns]
        first = next(entry for entry in here if entry)[0]
        counts = [entry[1] if entry else 0 for entry in here]
        label = f"`{first.name}__payload`" if first.stream else f"`{first.name}`"
        rows.append(
            [
                label + (f" …, {_over(counts)} in all" if max(counts) > 1 else ""),
                first.flow,
                _over(entry and entry[0].layout.bits for entry in here),
                _over((entry[0].meaning for entry in here if entry), distinct=True),
            ]
        )
        fields = [
            {}
            if entry is None or entry[0].layout.is_plain
            else {field.name: (low, field) for low, field in entry[0].layout.items()}
            for entry in here
        ]
        for key in _union(fields):
            found = [layout.get(key) for layout in fields]
            rows.append(
                [
                    f"`.{key}`",
                    "",
                    f"{_over(f and f[1].bits for f in found)} at {_over(f and f[0] for f in found)}",
                    _over((f[1].meaning for f in found if f), distinct=True),
                ]
            )
    differ = len(presets) > 1 and any(" / " in row[0] + row[2] for row in rows)
    return table(["port", "direction", f"bits: {' / '.join(unit.presets)}" if differ else "bits", "meaning"], rows)


def port_rows(found: Sequence[Port]) -> list[tuple[Port, int]]:
    """Rows of ports with the number of ports in each: ports that differ only in their numbers are one row, the first of
    them."""
    stems = {_stem(port.name)[0] for port in found}
    return [row for _, row in _rows(found, {stem for stem in stems if _alike(_numbered(found, stem))})]


def _stem(name: str) -> tuple[str, str]:
    """A port's name without its number, and the number."""
    match = re.fullmatch(r"(.+)_(\d+)", name)
    return (match[1], match[2]) if match else (name, "")


def _numbered(found: Sequence[Port], stem: str) -> list[Port]:
    return [port for port in found if _stem(port.name)[0] == stem and _stem(port.name)[1]]


def _alike(numbered: Sequence[Port]) -> bool:
    """Whether ports differ only in the numbers of their names and meanings."""

    def words(port: Port) -> list[tuple[str, str]]:
        return [(word, word if word != _stem(port.name)[1] else "N") for word in re.split(r"\b", port.meaning)]

    first = numbered[0] if numbered else None
    return first is None or all(
        (port.flow, port.stream, port.layout) == (first.flow, first.stream, first.layout)
        and len(words(port)) == len(words(first))
        and all({*one} & {*other} for one, other in zip(words(port), words(first), strict=True))
        for port in numbered
    )


def _rows(found: Sequence[Port], together: set[str]) -> Iterator[tuple[str, tuple[Port, int]]]:
    """Ports by the name of their row: the first port of each row, with the number of ports that share the row."""
    told = set()
    for port in found:
        stem, number = _stem(port.name)
        if not number or stem not in together:
            yield port.name, (port, 1)
        elif stem not in told:
            told.add(stem)
            yield f"{stem}_", (port, len(_numbered(found, stem)))


def _union(columns: Iterable[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for column in columns for name in column))


def _over(values: Iterable[Any], distinct: bool = False) -> str:
    """Values of all presets: one value if they are equal, ``-`` for a preset without a value. With ``distinct``, each
    value once."""
    texts = ["-" if value is None else str(value) for value in values]
    return " / ".join(dict.fromkeys(texts) if distinct or len(set(texts)) == 1 else texts)


# ---- Workload and result ---------------------------------------------------------------------------------------------


def workload(unit: Unit) -> str:
    """The options of ``bankside sim`` for this unit's bench."""
    rows = []
    for option in unit.workload.options().values():
        valid = ", ".join(option.choices)
        if option.least is not None or option.most is not None:
            valid = " to ".join(str(bound) for bound in (option.least, option.most) if bound is not None)
        rows.append([f"`{option.flag}`", "" if option.default is None else option.default, valid, option.description])
    return table(["option", "default", "valid", "meaning"], rows)


def results(unit: Unit) -> str:
    """The unit's own keys in ``bankside sim --json``; keys of every bench are left out."""
    return table(
        ["key", "type", "meaning"],
        [
            [key, kind, meaning]
            for key, kind, _, meaning in keys(unit.result)
            if key.strip("`").split(".")[0] not in SimResult.model_fields
        ],
    )


_TYPES = {Any: "any", bool: "boolean", int: "integer", float: "number", str: "string", NoneType: "null"}


def keys(model: type[BaseModel], prefix: str = "", closed: Collection[str] = ()) -> Iterator[list[str]]:
    """Key, type, unit and meaning of each value of a result. Parts follow the key that holds them, but for the keys
    ``closed``."""
    for name, key in model.model_fields.items():
        if key.exclude:
            continue
        text, path, parts = _kind(key.annotation, prefix + (key.alias or name))
        extra = key.json_schema_extra
        unit = str(extra.get("unit", "")) if isinstance(extra, dict) else ""
        open_parts = [] if name in closed else [part for part in parts if part is not model]
        shown = prefix + (key.alias or name) if parts else path
        yield [f"`{shown}`", _lengths(key, text), unit, key.description or ""]
        told: dict[str, list[str]] = {}
        for part in open_parts:
            told |= {row[0]: row for row in keys(part, f"{path}.") if row[0] not in told}
        yield from told.values()


def _lengths(key: FieldInfo, text: str) -> str:
    """The type of a list with the number of its values, if that is fixed."""
    fixed = next((one.max_length for one in key.metadata if isinstance(one, MaxLen)), None)
    return text if fixed is None else text.replace("list of ", f"list of {fixed} ")


def _kind(kind: Any, path: str) -> tuple[str, str, list[type[BaseModel]]]:
    """Type of a key's value in words, the path of its inner values, and their models."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        kinds = [_kind(part, path) for part in inner]
        models = [model for part in kinds for model in part[2]]
        kinds = [part for part in kinds if not models or part[2] or part[1] == path]  # a mapping: of installed packages
        inside = max((part[1] for part in kinds), key=len)
        texts = dict.fromkeys(part[0] for part in kinds)
        if {int, float} <= {*inner}:
            texts.pop("integer")  # a whole number is a number
        if inside != path and not models:
            texts.pop("null", None)  # the key may be null, not its values
        return ", ".join(texts), inside, models
    if origin is Annotated:
        return _kind(inner[0], path)
    if origin is Literal:
        return _TYPES[type(inner[0])], path, []
    if origin is dict:
        text, path, models = _kind(inner[1], f"{path}.*")
        return "objects by name" if models else text, path, models
    if origin is list:
        text, items, models = _kind(inner[0], f"{path}[]")
        objects = models or items != f"{path}[]"
        return "list of objects" if objects else f"list of {_many(text)}", items if objects else path, models
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return "object", path, [kind]
    return _TYPES[kind], path, []


def _many(text: str) -> str:
    return "values" if text == "any" else "lists" if text.startswith("list") else f"{text.split(', ')[0]}s"


# ---- Tables of a page ------------------------------------------------------------------------------------------------

#: Tables that follow from a unit's contract alone, by the name of their mark.
CONTRACT_TABLES: Mapping[str, Callable[[Unit], str]] = {
    function.__name__: function for function in (parameters, ports, workload, results)
}


#: Most units of a page that shows their pictures; a page of more units has links to them.
MOST_PICTURES = 6


def contract_tables(units: Sequence[Unit], pictures: str | None = None) -> dict[str, str]:
    """The contract's tables by name for a page of these units. Units with the same table share it.

    ``pictures``: folder of block diagrams beside the page, ``UNIT.svg`` each. With it, ``pictures`` is one more table.
    """
    out = {}
    for name, function in CONTRACT_TABLES.items():
        sharing: dict[str, list[str]] = {}
        for unit in units:
            sharing.setdefault(function(unit), []).append(f"`{unit.name}`")
        out[name] = "\n\n".join(
            text if len(sharing) == 1 else f"{', '.join(names)}:\n\n{text}" for text, names in sharing.items()
        )
    if pictures is not None:
        links = [
            (f"Ports of {unit.name}" if len(units) <= MOST_PICTURES else unit.name, f"{pictures}/{unit.name}.svg")
            for unit in units
        ]
        out["pictures"] = (
            "\n\n".join(f"![{text}]({path})" for text, path in links)
            if len(units) <= MOST_PICTURES
            else "Pictures: " + ", ".join(f"[{text}]({path})" for text, path in links) + "."
        )
    return out


def areas(rows: Iterable[tuple[str, Any, Mapping[str, Any]]]) -> str:
    """Area and clock of configurations: label, configuration, results of the record of its synthesis."""
    return table(
        [
            "preset",
            "area, kGE",
            "flip-flops, kGE",
            "logic, kGE",
            "memories, kGE (estimate)",
            "flip-flops",
            "critical path, ns",
            "frequency, MHz",
            "target, MHz",
        ],
        [
            [
                label,
                *(
                    f"{r[key] / 1e3:.1f}"
                    for key in ("area_ge", "sequential_ge", "combinational_ge", "memory_ge_estimate")
                ),
                r["flip_flops"],
                f"{r['critical_path_ns']:.3f}",
                f"{r['fmax_mhz']:.0f}",
                f"{config.clock_mhz:g}",
            ]
            for label, config, r in rows
        ],
    )
