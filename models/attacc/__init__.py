"""Attention layers on AttAcc's HBM with units beside its banks, bank groups or on its logic die."""

from .layer import PLACEMENTS, AttentionLayer, LayerTimer

__all__ = ["PLACEMENTS", "AttentionLayer", "LayerTimer"]
