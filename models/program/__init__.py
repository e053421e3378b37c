"""The program of a near-memory device: loops over commands whose operands advance by a stride.

Compilers write it; the functional models, the timing and energy models, dispatchers and benches read it.
"""

from .nodes import Affine, Command, Loop, Newest, Node, Stage, Tokens, Wait
from .program import Index, Program

__all__ = ["Affine", "Command", "Index", "Loop", "Newest", "Node", "Program", "Stage", "Tokens", "Wait"]
