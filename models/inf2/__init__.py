"""INF2: attention beside the flash of computational drives, which keep the KV cache."""
