"""One module a command: ``fill`` adds its options to a parser, ``run`` runs it and returns the exit code."""
