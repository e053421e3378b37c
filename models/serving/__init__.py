"""Serving of requests: workloads, continuous batching, latencies that users see, and the largest load within a
limit."""

from __future__ import annotations

from ..systems.system import ServedSystem
from .engine import serve
from .policy import DISPATCH, PREEMPTION, Policy
from .results import CSV_COLUMNS, ServingResult
from .search import SearchResult, largest_batch, largest_rate
from .systems import served_system
from .workloads import (
    FORMATS,
    Workload,
    arrival_times,
    draw,
    load_workload,
    read_requests,
    workload_names,
    write_requests,
)

__all__ = [
    "CSV_COLUMNS",
    "DISPATCH",
    "FORMATS",
    "PREEMPTION",
    "Policy",
    "SearchResult",
    "ServedSystem",
    "ServingResult",
    "Workload",
    "arrival_times",
    "draw",
    "largest_batch",
    "largest_rate",
    "load_workload",
    "read_requests",
    "serve",
    "served_system",
    "workload_names",
    "write_requests",
]
