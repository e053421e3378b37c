"""Methods: which tokens a step of sparse attention selects."""

from .kmeans import Clustering, cluster
from .methods import METHODS, Method, make_method

__all__ = ["METHODS", "Clustering", "Method", "cluster", "make_method"]
