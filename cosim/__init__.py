"""Co-simulation: benches, stream players, the build cache and the runner."""
