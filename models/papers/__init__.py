"""What papers claim, as data, and our own value beside each claim.

One YAML file per paper holds its claims; one module ``NAME_*.py`` per part of it holds the checks. A check computes our
value from memory files, unit configurations, measurement records and system models; it never sees the paper's value.
"""

from .claims import Claim, Paper, load_paper, paper_names
from .evidence import Evidence, Finding, NotCheckable
from .run import CHECKED, Row, check_claims, checks_of, series_of
from .verdict import VERDICTS, Judgement, judge

__all__ = ["CHECKED", "VERDICTS", "Claim", "Evidence", "Finding", "Judgement", "NotCheckable", "Paper", "Row",
           "check_claims", "checks_of", "judge", "load_paper", "paper_names", "series_of"]
