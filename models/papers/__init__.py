"""Claims of papers, as data, and our own value beside each claim.

A folder has everything about one paper: ``claims.yaml``, checks and figures. An entry point names its
:class:`PaperPackage`, so other packages add papers in the same way. A check computes our value from memory files, unit
configurations, measurement records and system models. It never sees the value that it is compared with.
"""

from .ahead import Ahead, work_ahead
from .category import CATEGORIES, Source, category
from .claims import Claim, Paper, load_paper, paper_names
from .difference import CAUSES, Difference
from .evidence import MAX_TOLERANCE, Checks, Evidence, Finding, NotCheckable
from .figures import Bar, Figure, Panel, SeriesPanel
from .package import PaperPackage, Series, paper_packages
from .run import Row, category_of, check_claims, checks_of, figures_of, series_of
from .verdict import VERDICTS, Judgement, judge

__all__ = [
    "CATEGORIES",
    "CAUSES",
    "MAX_TOLERANCE",
    "VERDICTS",
    "Ahead",
    "Bar",
    "Checks",
    "Claim",
    "Difference",
    "Evidence",
    "Figure",
    "Finding",
    "Judgement",
    "NotCheckable",
    "Panel",
    "Paper",
    "PaperPackage",
    "Row",
    "Series",
    "SeriesPanel",
    "Source",
    "category",
    "category_of",
    "check_claims",
    "checks_of",
    "figures_of",
    "judge",
    "load_paper",
    "paper_names",
    "paper_packages",
    "series_of",
    "work_ahead",
]
