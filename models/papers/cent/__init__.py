"""Claims of CENT (ASPLOS 2025), and its results."""

from pathlib import Path

from ..package import PaperPackage
from .table import results

__all__ = ["PAPER"]

PAPER = PaperPackage(Path(__file__).with_name("claims.yaml"), results=results)
