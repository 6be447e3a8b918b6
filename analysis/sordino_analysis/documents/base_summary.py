"""What the summary of any plan has: its JSON, and which kind it is of."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from sordino_analysis.documents.summary_parts import SummaryPart

if TYPE_CHECKING:
    from sordino_analysis.documents.plan_summary import LinearSummary, PairwiseSummary
    from sordino_analysis.documents.strings_summary import StringsSummary


class BaseSummary(SummaryPart):
    """What the summaries of all kinds of plans have."""

    def text(self) -> str:
        """JSON with the fields in order; those that the request did not ask for are left out."""
        return json.dumps(self.model_dump(mode="json"), ensure_ascii=False, allow_nan=False)

    @property
    def linear(self) -> LinearSummary | None:
        """The summary, if it is of one mechanism for linear queries."""
        return None

    @property
    def pairwise(self) -> PairwiseSummary | None:
        """The summary, if it is of a protocol for a pairwise statistic."""
        return None

    @property
    def strings(self) -> StringsSummary | None:
        """The summary, if it is of a plan that finds strings."""
        return None

    @property
    def first_share(self) -> float:
        """The share of the devices that answers all queries: of the first round, if there are several."""
        return 1.0
