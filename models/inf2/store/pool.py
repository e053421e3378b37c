"""Work beside the caller: tasks go in, their results come out in the order in which they finish."""

from __future__ import annotations

import queue
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

__all__ = ["Finished", "Pool", "ThreadPool"]

#: A task's own mark, its result, and its error. One of the last two is None.
Finished = tuple[Any, Any, BaseException | None]


class Pool(Protocol):
    """Tasks of a store. All calls come from the thread that uses the store."""

    def submit(self, mark: Any, task: Callable[[], Any]) -> None:
        """Begin ``task``; its result comes with ``mark``."""

    def finished(self, wait: bool) -> Finished | None:
        """A task that has finished. None if there is none; with ``wait``, one that has begun is waited for."""

    def close(self) -> None:
        """Wait for all tasks."""


class ThreadPool:
    """A few threads; a thread that waits for the drive leaves the interpreter to others."""

    def __init__(self, workers: int = 4) -> None:
        self._threads = ThreadPoolExecutor(workers, "spill")
        self._done: queue.SimpleQueue[Finished] = queue.SimpleQueue()
        self._begun = 0

    def submit(self, mark: Any, task: Callable[[], Any]) -> None:
        self._begun += 1
        self._threads.submit(self._run, mark, task)

    def _run(self, mark: Any, task: Callable[[], Any]) -> None:
        try:
            self._done.put((mark, task(), None))
        except BaseException as error:
            self._done.put((mark, None, error))

    def finished(self, wait: bool) -> Finished | None:
        if not self._begun:
            return None
        try:
            done = self._done.get(wait)
        except queue.Empty:
            return None
        self._begun -= 1
        return done

    def close(self) -> None:
        self._threads.shutdown()
