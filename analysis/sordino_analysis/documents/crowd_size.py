"""Small crowds: how far answers may be off with few reports, and what to do before a campaign is opened."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from pydantic import Field

from sordino_analysis.documents.summary_parts import SummaryPart
from sordino_analysis.percentages import percent
from sordino_shared.quantities import quantity

# An answer that may be off by a tenth of its scale in either direction tells nobody which of two numbers is larger.
LARGEST_HALF_WIDTH = 0.10
# The level of every interval that a page or a table shows.
_LEVEL = 0.95
_Z = NormalDist().inv_cdf((1 + _LEVEL) / 2)
ADVICE = (
    "ask one yes/no question, or about wider bins; take a larger ε; or collect for longer, in a series over windows of "
    "several periods"
)
# Above it a number of reports says only that no crowd is large enough.
_MOST_REPORTS = 2**53


class CrowdFigures(SummaryPart):
    """What the half width of the worst answer's interval is made of, as a share of the answer's scale.

    The scale of an answer is its largest entry less its least: 1 for a share of users. The interval is about the
    population that the users are an independent sample of.
    """

    variance: float = Field(description="Largest of one report, sampling of users included, over the squared scale.")
    bias: float = Field(description="Largest bias over the scale.")
    blanket: float = Field(description="Variance that all random reports of a shuffler add to a sum; 0 without one.")

    def half_width(self, reports: int) -> float:
        """z·√(V/n + m·v/n²) + b: half of the interval of 95 % with `reports` reports, at least 1."""
        return _Z * math.sqrt(self.variance / reports + self.blanket / reports**2) + self.bias

    def needed(self, margin: float) -> int | None:
        """The least number of reports whose half width is at most `margin`; None where none is, or more than 2^53."""
        room = margin - self.bias
        if room <= 0:
            return None
        wanted = (_Z / room) ** 2
        reports = (wanted * self.variance + math.sqrt((wanted * self.variance) ** 2 + 4 * wanted * self.blanket)) / 2
        return math.ceil(reports) if reports < _MOST_REPORTS else None

    def crowd(self, reports: int) -> CrowdSize:
        """What so many reports tell."""
        return CrowdSize(reports=reports, half_width=self.half_width(reports), needed=self.needed(LARGEST_HALF_WIDTH))

    @property
    def hint(self) -> str:
        """The reports that tell anything, where nobody said how many will come."""
        needed = self.needed(LARGEST_HALF_WIDTH)
        if needed is None:
            return f"no number of reports gives each answer within {_MARGIN}: its bias is larger"
        return f"each answer within {_MARGIN} ({percent(_LEVEL)}, of the population) takes {quantity(needed, 'report')}"


@dataclass(frozen=True, kw_only=True)
class CrowdSize:
    """Half of the widest interval of 95 % from `reports` reports, and the reports that ± 10 % of the scale take.

    `needed` is None where no number does.
    """

    reports: int
    half_width: float
    needed: int | None

    @property
    def too_few(self) -> bool:
        """Whether an interval reaches further than a tenth of the scale to either side."""
        return self.half_width > LARGEST_HALF_WIDTH

    @property
    def sentence(self) -> str:
        """How far the worst answer may be off, and what tells more where that is too far."""
        width = f"± {percent(min(self.half_width, 1.0), 1)} of its scale"
        said = f"with {quantity(self.reports, 'report')} an answer may be off by {width} ({percent(_LEVEL)})"
        if not self.too_few:
            return said
        if self.needed is None:
            return f"{said}: too few to tell, and no number of reports is enough, as its bias is larger"
        return f"{said}: too few to tell. ± 10 % takes {quantity(self.needed, 'report')}: {ADVICE}"


_MARGIN = f"± {percent(LARGEST_HALF_WIDTH)} of its scale"
