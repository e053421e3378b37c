"""INF2's units."""
