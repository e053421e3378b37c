"""What papers claim, as data, and our own value beside each claim.

A folder holds all of a paper: ``claims.yaml``, the checks, the figures. Its :class:`PaperPackage` is found by entry point,
so a paper of another package works alike. A check computes our value from memory files, unit configurations, measurement
records and system models; it never sees the value that it is compared with.
"""

from .claims import Claim, Paper, load_paper, paper_names
from .evidence import Checks, Evidence, Finding, NotCheckable
from .figures import Bar, Figure, Panel, SeriesPanel
from .package import PaperPackage, Series
from .run import Row, check_claims, checks_of, figures_of, series_of
from .verdict import VERDICTS, Judgement, judge

__all__ = ["VERDICTS", "Bar", "Checks", "Claim", "Evidence", "Figure", "Finding", "Judgement", "NotCheckable", "Panel",
           "Paper", "PaperPackage", "Row", "Series", "SeriesPanel", "check_claims", "checks_of", "figures_of", "judge",
           "load_paper", "paper_names", "series_of"]
