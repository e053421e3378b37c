"""Claims of STARC; no model of its hardware checks them."""

from pathlib import Path

from ..package import PaperPackage

__all__ = ["PAPER"]

PAPER = PaperPackage(Path(__file__).with_name("claims.yaml"))
