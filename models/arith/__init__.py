"""Functional models of the operators that are units of their own."""
