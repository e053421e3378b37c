"""A worker of pytest-xdist collects its garbage before it reports that it has finished.

The controller ends all workers once the last one has reported. A worker that still runs 5 s later gets SIGINT from
execnet, and pytest collects the garbage twice after the report. With the heap of all generated units that takes longer
on a loaded machine. A finaliser or a callback of the collector then raised :exc:`KeyboardInterrupt`, which pytest showed
as a warning after all tests had passed.
"""

from __future__ import annotations

import gc

import pytest


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workerinput"):
        gc.collect()
        gc.freeze()  # the later collections see only objects that are younger
