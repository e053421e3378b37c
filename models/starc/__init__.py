"""STARC: selection of clusters of keys in hardware."""
