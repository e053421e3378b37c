"""Origin of results: digests of sources, and the keys that every result has."""
