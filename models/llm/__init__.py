"""Language models: shapes from Hugging Face ``config.json`` files, and the operators of one decode step."""

from .operators import Operator, embedding_operators, head_operators, layer_operators
from .shape import ROTARY, ModelShape, load_model, model_names
from .simulated import SimulatedShape, simulated_models

__all__ = [
    "ROTARY",
    "ModelShape",
    "Operator",
    "SimulatedShape",
    "embedding_operators",
    "head_operators",
    "layer_operators",
    "load_model",
    "model_names",
    "simulated_models",
]
