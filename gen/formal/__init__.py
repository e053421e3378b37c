"""Proofs about generated units: properties of streams and operators, and provers that need only Python packages."""

from ..blocks.probe import QueueProbe
from .axi import AxiLiteContract, AxiReadContract, AxiWriteContract, BurstContract
from .contracts import ReplayContract, StreamContract, StreamProtocol
from .pipelines import PipelineProof, check_stream_operator, prove_pipeline, prove_pipelines, prove_stream_reference
from .prover import Result, prove
from .smt import Verdict, prove_operator, prove_operators
from .symmetry import SymmetryProof, prove_lane_order

__all__ = [
    "AxiLiteContract",
    "AxiReadContract",
    "AxiWriteContract",
    "BurstContract",
    "PipelineProof",
    "QueueProbe",
    "ReplayContract",
    "Result",
    "StreamContract",
    "StreamProtocol",
    "SymmetryProof",
    "Verdict",
    "check_stream_operator",
    "prove",
    "prove_lane_order",
    "prove_operator",
    "prove_operators",
    "prove_pipeline",
    "prove_pipelines",
    "prove_stream_reference",
]
