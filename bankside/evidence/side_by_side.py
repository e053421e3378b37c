"""Measurements made side by side, each in its own process.

The one way to make measurements for other results: ``--measure``, ``repro``, ``demo`` and ``bankside records`` use it.
``python -m bankside.evidence.side_by_side`` is such a process: it reads a measurement as JSON and writes its result as JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Any, NoReturn

from bankside.constraints.core.errors import BanksideError, CheckFailed, ConfigError, ToolMissing
from bankside.constraints.core.records import Measurement, Outcome

from .records import completed

__all__ = ["Measurer", "failure", "from_json", "measure_all", "to_json"]

#: Seconds between two checks of the running processes.
POLL_S = 0.2

#: Memory that one measurement may need, GiB: a C++ compiler at work on a large model.
_NEEDS_GIB = 2


def at_once() -> int:
    """Measurements to run side by side: one for every core that this process may use, as far as the memory reaches."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (AttributeError, ValueError, OSError):  # a system that does not say
        return min(cores, 2)
    return max(1, min(cores, int(memory_gib / _NEEDS_GIB)))


@dataclass(frozen=True)
class _Run:
    process: subprocess.Popen[str]
    said: IO[str]
    answer: IO[str]
    began: float

    def stop(self) -> None:
        """End the process and all processes that it started; they are one process group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait()

    def outcome(self) -> Outcome:
        """The outcome of a process that has ended."""
        code = self.process.returncode
        self.said.seek(0)
        self.answer.seek(0)
        lines = [line for line in self.said.read().splitlines() if line.strip()]
        if code:
            ended = f"ended by signal {-code}" if code < 0 else f"exit code {code}"
            return Outcome("failed", lines[-1].removeprefix("bankside: ") if lines else ended, code)
        try:
            return Outcome("done", result=json.loads(self.answer.read()))
        except ValueError:
            return Outcome("failed", "its result can't be read", 1)

    def close(self) -> None:
        self.said.close()
        self.answer.close()


class Measurer:
    """Makes measurements, one per core but two at most at once. The order is by ``rank``, then by request. Records go
    to the folder of records, so a later run finds them.

    Parameters
    ----------
    tell : callable
        Called with a text when a measurement begins and when it ends.
    records
        Folder of records; the default one if None.
    limit_s : :class:`float` or None
        Seconds for all of them together, from the first on. Measurements that have not ended by then are stopped and
        not made.
    rank : callable
        Smaller numbers first.
    """

    def __init__(
        self,
        tell: Callable[[str], None],
        records: str | None,
        limit_s: float | None = None,
        rank: Callable[[Measurement], int] = lambda measurement: 0,
    ) -> None:
        self._tell, self._records, self._limit_s, self._rank = tell, records, limit_s, rank
        self._at_once = at_once()
        self._queue: list[Measurement] = []
        self._running: dict[Measurement, _Run] = {}
        self._ended: dict[Measurement, Outcome] = {}
        self._deadline: float | None = None
        self._asked = self._done = 0

    def __enter__(self) -> Measurer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for run in self._running.values():  # interrupted: no process continues alone
            run.stop()
            run.close()
        self._running.clear()

    def start(self, measurements: Iterable[Measurement]) -> None:
        """Queue measurements; each begins as soon as a core is free."""
        new = list(measurements)
        self._asked += len(new)
        self._queue = sorted([*self._queue, *new], key=self._rank)
        self._advance()

    def ended(self, wait: bool = False) -> dict[Measurement, Outcome]:
        """Measurements that have ended since the last call, with their outcomes. With ``wait``, at least one if any
        runs."""
        self._advance()
        while wait and not self._ended and self._running:
            time.sleep(POLL_S)
            self._advance()
        out, self._ended = self._ended, {}
        return out

    def _advance(self) -> None:
        now = time.monotonic()
        late = self._deadline is not None and now >= self._deadline
        for measurement, run in list(self._running.items()):
            if run.process.poll() is None:
                if not late:
                    continue
                run.stop()
                outcome = self._late("not done")
            else:
                outcome = run.outcome()
            run.close()
            del self._running[measurement]
            self._end(measurement, outcome, now - run.began)
        if late:
            for measurement in self._queue:
                self._end(measurement, self._late("not begun"), None)
            self._queue.clear()
        while self._queue and len(self._running) < self._at_once:
            self._begin(self._queue.pop(0))

    def _begin(self, measurement: Measurement) -> None:
        if self._deadline is None and self._limit_s is not None:
            self._deadline = time.monotonic() + self._limit_s
        self._tell(f"measuring ({self._done + len(self._running) + 1} of {self._asked}): {measurement.command}")
        said, answer, asked = (tempfile.TemporaryFile("w+", errors="replace") for _ in range(3))  # pipes could fill up
        json.dump({"measurement": to_json(measurement), "records": self._records}, asked)
        asked.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-m", "bankside.evidence.side_by_side"],
            stdin=asked,
            stdout=answer,
            stderr=said,
            text=True,
            start_new_session=True,
        )
        asked.close()
        self._running[measurement] = _Run(process, said, answer, time.monotonic())

    def _end(self, measurement: Measurement, outcome: Outcome, seconds: float | None) -> None:
        self._done += 1
        self._ended[measurement] = outcome
        if seconds is not None:
            self._tell(
                f"{'measured' if outcome.state == 'done' else outcome.state} after {seconds:.0f} s: "
                f"{measurement.command}" + (f": {outcome.why}" if outcome.why else "")
            )

    def _late(self, what: str) -> Outcome:
        return Outcome(
            "timed-out",
            f"{what} within the {self._limit_s:g} s for measurements; run it alone, or raise --measure-limit",
            1,
        )


def failure(code: int) -> type[BanksideError]:
    """The error of a process of Bankside that ended with an exit code."""
    return {2: ConfigError, 3: ToolMissing}.get(code, CheckFailed)


def measure_all(
    measurements: Iterable[Measurement],
    records: str | None,
    tell: Callable[[str], None],
    limit_s: float | None = None,
    each: Callable[[Measurement, Outcome], None] | None = None,
) -> dict[Measurement, Outcome]:
    """Make measurements and wait for all of them; equal measurements are made once.

    ``each`` is called with every measurement as it ends. Without it, the first measurement that fails is an error:

    Raises
    ------
    :exc:`CheckFailed`, :exc:`ConfigError` or :exc:`ToolMissing`
        By the exit code of the measurement; the message names it and says why.
    """
    asked = list(dict.fromkeys(completed(one) for one in measurements))
    made: dict[Measurement, Outcome] = {}
    with Measurer(tell, records, limit_s) as measurer:
        measurer.start(asked)
        while len(made) < len(asked):
            for measurement, outcome in measurer.ended(wait=True).items():
                made[measurement] = outcome
                if each is not None:
                    each(measurement, outcome)
                elif outcome.state != "done":
                    raise failure(outcome.code)(f"`{measurement.command}` {outcome.state}: {outcome.why}")
    return made


# A process that measures -----------------------------------------------------------------------------------------------


def to_json(measurement: Measurement) -> dict[str, Any]:
    """A measurement as plain data."""
    return {
        "kind": measurement.kind,
        "unit": measurement.unit,
        "preset": measurement.preset,
        "changes": dict(measurement.changes),
        "config": measurement.config.model_dump(mode="json"),
        "workload": dict(measurement.workload),
    }


def from_json(document: dict[str, Any]) -> Measurement:
    """The measurement of :func:`to_json`."""
    from bankside.constraints.core.registry import unit

    config = unit(document["unit"]).config.model_validate_json(json.dumps(document["config"]))
    return Measurement.of(
        document["kind"],
        document["unit"],
        config,
        preset=document["preset"],
        changes=document["changes"],
        **document["workload"],
    )


def _terminate(number: int, frame: Any) -> NoReturn:
    raise KeyboardInterrupt


def _worker() -> int:
    """Make the measurement from standard input, and write its result, or one line with the reason why it failed."""
    from .measure import make

    signal.signal(signal.SIGTERM, _terminate)  # also ends the processes that it started
    asked = json.load(sys.stdin)
    try:
        result = make(from_json(asked["measurement"]), asked["records"], lambda text: print(text, file=sys.stderr))
    except BanksideError as error:
        print("bankside: " + " ".join(str(error).splitlines()), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("bankside: interrupted", file=sys.stderr)
        return 130
    json.dump(result.to_document(), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(_worker())
