"""Functional models of the units of AiM memories."""
