"""Software models: numerics, programs, memory timing, language models, whole systems. Nothing here imports Amaranth."""
