"""Put tables into the pages. A comment in the page says which rows and columns a table has.

Usage::

    .venv/bin/python tools/tables.py                 every table (minutes: missing measurements are made)
    .venv/bin/python tools/tables.py cycles errors   only these tables
    .venv/bin/python tools/tables.py contract        tables of contracts and commands, and the block diagrams
    .venv/bin/python tools/tables.py --print cycles  on standard output instead
    .venv/bin/python tools/tables.py --calibrate ratios   first finds constraints/pam/ratios.yaml anew

A table stands in a page between its comment and ``<!-- end -->``. Its comment holds its name and what fills it::

    <!-- table pnm_cycles
    sim cent-pnm preset=cent,cent-32x32
    each commands
    | {preset} | `{key}` | {ideal_cycles} | {utilisation:.4f} |
    -->
    | preset | command | ports, clocks | utilisation |
    | --- | --- | --- | --- |
    <!-- end -->

The table keeps its heading. A line that begins with a blank continues the line before it. These lines say which rows there are:

``unit``, ``synth``, ``sim``, ``sweep`` UNIT,UNIT KEY=A,B ...
    Combinations as of ``bankside sweep``. ``synth`` has the keys of the record of synthesis, ``sim`` of co-simulation, ``sweep``
    both, ``unit`` none. ``preset=*`` stands for all presets. ``config`` is the configuration, ``target`` the unit, and ``sets``
    names the values. ``# TEXT`` behind it is the ``label`` of these rows.
``eval`` SYSTEM model=M KEY=A,B ...
    Combinations as of ``bankside sweep``, with the keys of results of ``bankside eval``.
``rows`` NAME KEY=A,B ...
    Rows of a function of ``tools/table_rows.py``, or ``key`` and ``item`` of each item of ``MODULE:NAME``.
``each`` EXPRESSION
    A row for each ``item`` of a part of the row, with its keys. ``key`` is its name or number.
``let`` NAME = EXPRESSION, ``where`` EXPRESSION, ``sort`` EXPRESSION
    A value for the lines that follow; which rows stay; their order.
``group`` EXPRESSION
    Rows of an equal value make one row of the table. It has the keys of the first, and all of them in ``every``.
``refused`` TEXT
    The cell of a load that does not fit.

A line in bars makes a row of the table of each row; several make several. A cell holds Python expressions with formats,
``{cycles / 2:.1f}``; ``this`` is the row, keys of parts are ``{memory_timing.cycles}``, and None is shown as nothing. Cells that
begin with ``*`` repeat together for each row of the group. ``@NAME`` stands for text of ``tools/tables.yaml``. After lines in
bars, other lines may begin anew with rows of another kind.
"""

from __future__ import annotations

import re
import string
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from itertools import chain, groupby, product
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent))

import table_rows

from bankside.constraints.core.document import parse
from bankside.constraints.core.errors import BanksideError, ConfigError, nearest
from bankside.constraints.core.records import Kind
from bankside.constraints.core.registry import UNITS
from bankside.constraints.core.workspace import write_files
from bankside.pages.block_diagram import block_diagram
from bankside.pages.unit_page import MARK, contract_tables, fill
from bankside.shell.reference import command_tables
from bankside.studies import sweep

ROOT = Path(__file__).resolve().parent.parent
PAGES = ["README.md", *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md")))]


class Row(dict[str, Any]):
    """A row, or a part of it: keys are attributes too."""

    def __getattr__(self, key: str) -> Any:
        try:
            return self[key]
        except KeyError:
            raise AttributeError(nearest("key", key, list(map(str, self)))) from None


def row_of(value: Any) -> Any:
    """A result whose parts are rows."""
    if isinstance(value, Mapping):
        return Row({key: row_of(item) for key, item in value.items()})
    return [row_of(item) for item in value] if isinstance(value, list) else value


#: Tables of a library that does not come with the package.
ON_REQUEST = {"operators_nangate45"}

#: Cells and texts that tables share, and what an expression sees beside a row.
SHARED = yaml.safe_load((ROOT / "tools" / "tables.yaml").read_text())
SCOPE = {name: getattr(table_rows, name) for name in table_rows.__all__} | row_of(SHARED["texts"])
SCOPE["results"] = lambda *given, **workload: row_of(table_rows.results(*given, **workload))


# Rows ------------------------------------------------------------------------------------------------------------------


def point_of(point: Mapping[str, str]) -> Row:
    """The keys of a combination, with ``_`` in place of a dot."""
    return Row({key.replace(".", "_"): parse(value, key, numbered=False)[0] for key, value in point.items()})


#: Records of each kind of row.
KINDS: dict[str, tuple[Kind, ...]] = {"unit": (), "synth": ("synth",), "sim": ("sim",), "sweep": ("synth", "sim")}


def units(kind: str, targets: str, axes: Sequence[str]) -> Iterator[Row]:
    """Rows of :data:`KINDS`."""
    for target in targets.split(","):
        presets = ",".join(UNITS[target].presets if target in UNITS else ())
        asked = [f"preset={presets}" if axis == "preset=*" else axis for axis in axes]
        for job in sweep.jobs_of(target, asked, settings={"sim": kind != "synth"}, records=None, measure=True):
            selection, records = sweep.measured(job, KINDS[kind])
            point, found = point_of(job.point), Row()
            for record in records:
                found |= row_of(record.results)
            sets = ", ".join(
                f"`{key}={value}`" for key, value in job.point.items() if key not in ("preset", *sweep.FLOW)
            )
            workload = {key: value for record in records for key, value in record.workload.items()}
            yield Row(workload | point | found, config=selection.config, target=target, sets=sets)


@cache
def evaluated(target: str, axes: tuple[str, ...]) -> list[Row]:
    """Rows of ``eval``. A load that does not fit has the key ``refused``."""
    rows = []
    for job in sweep.jobs_of(target, axes, settings={}, records=None, measure=False):
        try:
            found = row_of(sweep.evaluated(job).to_json())
        except ConfigError as error:
            if "largest batch that fits" not in str(error):
                raise
            found = Row(refused=True)
        rows.append(Row(point_of(job.point) | found))
    return rows


def others(_: str, name: str, axes: Sequence[str]) -> Iterator[Row]:
    """Rows of ``rows``."""
    module, colon, path = name.partition(":")
    if not colon:
        if not callable(function := getattr(table_rows, name, None)):
            raise ConfigError(f"tools/table_rows.py has no function '{name}'")
        asked = {key: text.split(",") for key, _, text in (axis.partition("=") for axis in axes)}
        given = {key: [parse(one, key, numbered=False)[0] for one in texts] for key, texts in asked.items()}
        return map(row_of, function(**given))
    found = import_module(f"bankside.{module}")
    for part in path.split("."):
        found = getattr(found, part)
    return (Row(key=key, item=item) for key, item in items(found))


def items(found: Any) -> Iterator[tuple[Any, Any]]:
    return iter(found.items()) if hasattr(found, "items") else enumerate(found)


SOURCES: dict[str, Callable[[str, str, Sequence[str]], Iterable[Row]]] = {
    **dict.fromkeys(KINDS, units),
    "eval": lambda _, target, axes: evaluated(target, tuple(axes)),
    "rows": others,
}


# Tables ----------------------------------------------------------------------------------------------------------------


def value(expression: str, row: Row) -> Any:
    try:
        return row_of(eval(expression.strip(), {**row, **SCOPE, "this": row}))
    except (ArithmeticError, LookupError, NameError, AttributeError, TypeError, ValueError, SyntaxError) as error:
        raise ConfigError(f"'{expression.strip()}': {error}") from None


def text(template: str, row: Row) -> str:
    """The text of a cell, with the values of its expressions."""
    out = ""
    for literal, expression, form, _ in string.Formatter().parse(template):
        found = None if expression is None else value(expression, row)
        out += literal + ("" if found is None else format(found, form or ""))
    return out


def line(cells: Sequence[str], group: Sequence[Row], refused: str) -> str:
    """A line of the table."""
    first, out = Row(group[0], every=group), []
    for repeated, run in groupby(cells, lambda cell: cell.startswith("* ")):
        for row, cell in product(group, [*run]) if repeated else ((first, cell) for cell in run):
            out.append(refused if "refused" in row and repeated else text(cell.removeprefix("* "), row))
    return "| " + " | ".join(re.sub(r"(?<!\\)\|", r"\\|", cell) for cell in out) + " |"


def lines(said: Sequence[str]) -> list[str]:
    """Lines of the table of rows of one kind: what its comment says about the rows, then lines in bars."""
    groups: list[list[Row]] = []
    refused, templates = "", []
    for statement in said:
        word, _, rest = statement.partition(" ")
        rows = [row for group in groups for row in group]
        if word in SOURCES:
            source, _, label = rest.partition(" # ")
            name, *axes = source.split()
            rows += [Row({"label": label} | row) for row in SOURCES[word](word, name, axes)]
        elif word == "each":
            found = ((row, key, item) for row in rows for key, item in items(value(rest, row)))
            rows = [Row(row, **(item if isinstance(item, Row) else {}), key=key, item=item) for row, key, item in found]
        elif word == "let":
            name, _, expression = rest.partition(" = ")
            for group in groups:
                for row in group:
                    row[name] = value(expression, Row(row, every=group))
        elif word == "where":
            rows = [row for row in rows if value(rest, row)]
        elif word == "sort":
            rows.sort(key=lambda row: value(rest, row))
        elif word == "refused":
            refused = rest
        elif word.startswith("|"):
            templates.append([cell.strip() for cell in re.split(r"(?<!\\)\|", statement[1:-1])])
        elif word != "group":
            raise ConfigError(nearest("word", word, [*SOURCES, "each", "let", "where", "sort", "refused", "group"]))
        if word == "group":
            by: dict[Any, list[Row]] = {}
            for row in rows:
                by.setdefault(value(rest, row), []).append(row)
            groups = [*by.values()]
        elif word in (*SOURCES, "each", "where", "sort"):
            groups = [[row] for row in rows]
    return [line(cells, group, refused) for group in groups for cells in templates]


def expanded(line: str) -> Iterator[str]:
    """A line with shared cells in place of their names; a line for each text of a shared list."""
    if (match := re.search(r"@(\w+)", line)) is None:
        yield line
        return
    if match[1] not in SHARED["cells"]:
        raise ConfigError(nearest("cells", match[1], SHARED["cells"]))
    found = SHARED["cells"][match[1]]
    for one in found if isinstance(found, list) else [found]:
        yield from expanded(line[: match.start()] + one + line[match.end() :])


def made(declaration: str, old: str) -> str:
    """The text of a table, with the heading of its old text."""
    kinds: list[list[str]] = [[]]
    for one in chain(*map(expanded, re.sub(r"\n\s+(?=\S)", " ", declaration.strip()).splitlines())):
        if kinds[-1] and kinds[-1][-1].startswith("|") and not one.startswith("|"):
            kinds.append([])
        kinds[-1].append(one)
    found = [*old.splitlines()[:2], *(one for kind in kinds for one in lines(kind))]
    counts = [len(re.findall(r"(?<!\\)\|", one)) - 1 for one in found]
    if len(found) < 3 or set(counts) != {counts[0]}:
        raise ConfigError(f"lines have {', '.join(map(str, sorted(set(counts))))} columns; the heading has {counts[0]}")
    return "\n".join(found)


def tables() -> dict[str, tuple[str, Callable[[], str]]]:
    """Page of each table that a comment or a function fills, and what makes its text."""
    found: dict[str, tuple[str, Callable[[], str]]] = {}
    for page in PAGES:
        for mark in MARK.finditer((ROOT / page).read_text()):
            if declaration := mark["declaration"]:
                found[mark["name"]] = page, partial(made, declaration, mark["text"])
            elif mark["name"] in table_rows.TEXTS:
                found[mark["name"]] = page, table_rows.TEXTS[mark["name"]]
    return found


def put(page: str, texts: Mapping[str, str]) -> None:
    write_files(ROOT, {page: fill((ROOT / page).read_text(), texts)})


def put_contract_tables() -> None:
    for page in dict.fromkeys(unit.page for unit in UNITS.values()):
        put(page, contract_tables([unit for unit in UNITS.values() if unit.page == page], "../diagrams"))
    put("docs/cli.md", command_tables((ROOT / "docs" / "cli.md").read_text()))
    write_files(
        ROOT / "docs" / "diagrams",
        {f"{unit.name}.svg": block_diagram(unit, next(iter(unit.presets))) for unit in UNITS.values()},
    )


def main(arguments: Sequence[str]) -> None:
    show, known = "--print" in arguments, tables()
    names = [argument for argument in arguments if argument not in ("--print", "--calibrate")]
    for name in names:
        if name not in (*known, "contract"):
            raise ConfigError(nearest("table", name, [*known, "contract"]))
    if "--calibrate" in arguments:
        table_rows.calibrated()
    if not show and (not names or "contract" in names):
        put_contract_tables()
    for name in (
        [name for name in names if name != "contract"] if names else [name for name in known if name not in ON_REQUEST]
    ):
        page, make = known[name]
        print(f"{page}: {name}", file=sys.stderr)
        try:
            made_text = make()
        except ConfigError as error:
            raise ConfigError(f"{page}: table {name}: {error}") from None
        if show:
            print(f"{made_text}\n")
        else:
            put(page, {name: made_text})


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except BanksideError as error:
        raise SystemExit(f"tables: {error}") from None
