"""Selections of tokens (methods), orders of tokens in memory (placements), and what their reads cost."""

from .kmeans import Clustering, cluster
from .methods import METHODS, Method, make_method
from .placement import Fetch, Placement, Selected, fetch, runs

__all__ = [
    "METHODS",
    "Clustering",
    "Fetch",
    "Method",
    "Placement",
    "Selected",
    "cluster",
    "fetch",
    "make_method",
    "runs",
]
