"""CENT: functional models of its units."""
