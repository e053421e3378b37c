"""Missing measurements, made side by side as processes of this tool while others go on."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import IO

__all__ = ["Measurer"]

#: Seconds between two looks at what runs.
POLL_S = 0.2


@dataclass(frozen=True)
class _Run:
    process: subprocess.Popen[str]
    said: IO[str]
    began: float

    def stop(self) -> None:
        """End it and what it has started; they are a group of processes of their own."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait()

    def last_line(self) -> str:
        self.said.seek(0)
        lines = [line for line in self.said.read().splitlines() if line.strip()]
        self.said.close()
        return lines[-1].removeprefix("bankside: ") if lines else f"exit code {self.process.returncode}"


class Measurer:
    """Runs commands of this tool, as many at once as there are cores, two at most; those that are asked for first and
    matter to most come first. What they write goes to the folder of records, so a later run finds it.

    Parameters
    ----------
    tell : callable
        Told what is begun and what has ended.
    records
        Folder of records; the default one if None.
    limit_s : :class:`float`
        Seconds for all of them together, from the first on; what has not ended by then is stopped and not made.
    rank : callable
        Smaller numbers first.
    """

    def __init__(self, tell: Callable[[str], None], records: str | None, limit_s: float,
                 rank: Callable[[str], int] = lambda command: 0) -> None:
        self._tell, self._records, self._limit_s, self._rank = tell, records, limit_s, rank
        self._queue: list[str] = []
        self._running: dict[str, _Run] = {}
        self._ended: dict[str, str | None] = {}
        self._deadline: float | None = None
        self._asked = self._done = 0

    def __enter__(self) -> Measurer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for run in self._running.values():  # interrupted: none of them goes on by itself
            run.stop()
            run.said.close()
        self._running.clear()

    def start(self, commands: Iterable[str]) -> None:
        """Queue commands (``bankside ...``); they begin as soon as there is a core for them."""
        new = list(commands)
        self._asked += len(new)
        self._queue = sorted([*self._queue, *new], key=self._rank)
        self._advance()

    def ended(self, wait: bool = False) -> dict[str, str | None]:
        """Commands that have ended since the last call, and why if one has failed; ``wait``: at least one, if any runs."""
        self._advance()
        while wait and not self._ended and self._running:
            time.sleep(POLL_S)
            self._advance()
        out, self._ended = self._ended, {}
        return out

    def _advance(self) -> None:
        now = time.monotonic()
        late = self._deadline is not None and now >= self._deadline
        for command, run in list(self._running.items()):
            code = run.process.poll()
            if code is None:
                if not late:
                    continue
                run.stop()
            del self._running[command]
            last = run.last_line()
            self._end(command, None if code == 0 else self._late("not done") if code is None else last, now - run.began)
        if late:
            for command in self._queue:
                self._end(command, self._late("not begun"), None)
            self._queue.clear()
        while self._queue and len(self._running) < min(2, os.cpu_count() or 1):
            self._begin(self._queue.pop(0))

    def _begin(self, command: str) -> None:
        words = shlex.split(command)[1:] + ([] if self._records is None else ["--records", self._records])
        if self._deadline is None:
            self._deadline = time.monotonic() + self._limit_s
        self._tell(f"measuring ({self._done + len(self._running) + 1} of {self._asked}): {command}")
        said = tempfile.TemporaryFile("w+", errors="replace")  # a pipe that nobody reads could fill up
        process = subprocess.Popen([sys.executable, "-m", "bankside", *words], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=said, text=True, start_new_session=True)
        self._running[command] = _Run(process, said, time.monotonic())

    def _end(self, command: str, reason: str | None, seconds: float | None) -> None:
        self._done += 1
        self._ended[command] = reason
        if seconds is not None:
            self._tell(f"{'measured' if reason is None else 'not measured'} after {seconds:.0f} s: {command}"
                       + ("" if reason is None else f": {reason}"))

    def _late(self, what: str) -> str:
        return (f"{what} within the {self._limit_s:g} s for measurements; run it by itself, or give more with "
                "--measure-limit")
