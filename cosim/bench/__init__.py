"""The machinery of benches: build, streams, campaigns, vectors, mutation."""
