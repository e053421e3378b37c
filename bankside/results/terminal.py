"""Output for people in a terminal: steps with their time, and tables that never cut a number."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

__all__ = ["FittingTable", "counting", "steps"]


#: Columns of a terminal that no table needs.
_ANY_WIDTH = 1 << 20


class FittingTable:
    """A table for rich that leaves out columns if there is no room, and names them. Columns that are justified to the
    right hold numbers, which stay whole; words wrap.

    Parameters
    ----------
    columns : heads, each with options of :meth:`rich.table.Table.add_column`
    rows : the cells of each row, in the order of the heads; None draws a line
    drop : places of columns that may be left out, in this order
    options : of :class:`rich.table.Table`
    """

    def __init__(
        self,
        columns: Sequence[tuple[str, Mapping[str, Any]]],
        rows: Sequence[Sequence[str] | None],
        drop: Sequence[int],
        **options: Any,
    ) -> None:
        self.columns, self.rows, self.drop, self.options = columns, rows, drop, options

    def table(self, left_out: Sequence[int] = ()) -> Any:
        """The table without these columns."""
        from rich.table import Table

        table = Table(**self.options)
        places = [place for place in range(len(self.columns)) if place not in left_out]
        for head, options in (self.columns[place] for place in places):
            table.add_column(head, **{"overflow": "fold", "no_wrap": options.get("justify") == "right", **options})
        for row in self.rows:
            if row is None:
                table.add_section()
            else:
                table.add_row(*(row[place] for place in places))
        return table

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        from rich.measure import Measurement
        from rich.text import Text

        for hidden in range(len(self.drop) + 1):
            left_out = self.drop[:hidden]
            table = self.table(left_out)
            if Measurement.get(console, options.update(max_width=_ANY_WIDTH), table).minimum <= options.max_width:
                break
        yield table
        if left_out:
            yield Text(f"no room for: {', '.join(self.columns[place][0] for place in left_out)}", style="dim")


class _Steps:
    """One step at a time on a terminal, with a spinner and its seconds; it stays as a line with its time."""

    def __init__(self, stream: IO[str]) -> None:
        from rich.console import Console

        self.console = Console(file=stream)
        self.text: str | None = None

    def share(self, done: int, count: int) -> None:
        """Show how many files of a simulator are compiled, and their total, within the present step."""
        if self.text is not None:
            share = f": compiling, {done} of {count} files, {100 * done // count} %" if done < count else ""
            self.bar.update(self.task, description=self.text + share)

    def __call__(self, text: str) -> None:
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        self.end()
        self.text, self.began = text, time.monotonic()
        self.bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self.task = self.bar.add_task(text, total=None)
        self.bar.start()

    def end(self) -> None:
        if self.text is not None:
            self.bar.stop()
            self.console.print(
                f"{self.text}  {time.monotonic() - self.began:.1f} s", markup=False, highlight=False, soft_wrap=True
            )
            self.text = None


@contextlib.contextmanager
def steps(stream: IO[str] | None = None) -> Iterator[Any]:
    """Reports the steps of a command on standard error: with the time of each on a terminal, as plain lines elsewhere.
    On a terminal the value has a method ``share``, which shows how many files are compiled, and their total."""
    stream = sys.stderr if stream is None else stream
    if stream is None:  # the caller closed it; print would take standard output instead
        yield lambda text: None
        return
    if not stream.isatty():
        yield lambda text: print(text, file=stream)
        return
    told = _Steps(stream)
    try:
        yield told
    finally:
        told.end()


@contextlib.contextmanager
def counting(what: str, stream: IO[str] | None = None) -> Iterator[Any]:
    """Counts finished things on standard error: a bar with times on a terminal, nothing elsewhere. The value is called
    with the number of finished things and their total."""
    stream = sys.stderr if stream is None else stream
    if stream is None or not stream.isatty():
        yield lambda done, count: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(file=stream), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, count: bar.update(task, completed=done, total=count)
