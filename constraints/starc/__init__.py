"""STARC: selection of clusters and sparse attention."""
