"""INF2: near-storage accelerators that keep the KV cache."""
