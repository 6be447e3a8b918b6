"""The queries of a published plan that have a figure each, and those of them whose answers an estimate lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.building import build_workload
from sordino_analysis.questions.linear.operators import Indices
from sordino_analysis.questions.linear.widths import CharacterMap
from sordino_shared.protocol import DevicePart

# 333,312 answers are a document of 144 MB, which takes 2 GB to write; 8,192 are all marginals of up to two of 64 bits.
MOST_PUBLISHED_QUERIES = 1 << 16
# Queries that are looked at one by one where there are too many.
_LISTED = 1 << 13


def listed_workload(device: DevicePart, analyst: AnalystPart) -> Workload:
    """All queries of the plan, or those that are listed where they are too many, in the order of its answers."""
    return PublishedQueries.of(device, analyst).workload


def published_queries(workload: Workload) -> Indices:
    """(m,) numbers of the queries whose answers an estimate lists: all of up to 2^16, else 2^13 of them.

    Of parities and marginals these are the first, so those of the fewest attributes; others are spread evenly. They do
    not depend on the answers, so that an interval is one of a question that was fixed before.
    """
    if workload.queries <= MOST_PUBLISHED_QUERIES:
        return np.arange(workload.queries)
    if isinstance(workload.operator, CharacterMap):
        return np.arange(_LISTED)
    return np.linspace(0, workload.queries - 1, _LISTED).astype(np.intp)


@dataclass(frozen=True, eq=False)
class PublishedQueries:
    """Of the `asked` queries of a plan those of `workload` have a figure each, and `numbers` (m,) of these are listed.

    One band holds all queries of `workload` at once, listed or not.
    """

    asked: int
    workload: Workload
    numbers: Indices

    @classmethod
    def of(cls, device: DevicePart, analyst: AnalystPart) -> Self:
        """Of the plan of these two parts."""
        whole = build_workload(device.domain, analyst.queries, analyst.workload)
        workload = for_randomizer(device.randomizer).listed(whole)
        return cls(whole.asked, workload, published_queries(workload))

    @property
    def unlisted(self) -> int:
        """Queries that are asked and not listed."""
        return self.asked - len(self.numbers)

    @property
    def note(self) -> tuple[str, ...]:
        """One sentence where queries are left out: which are listed, how to ask for others, what the band holds."""
        if not self.unlisted:
            return ()
        first = isinstance(self.workload.operator, CharacterMap)
        return (
            f"{'the first ' if first else ''}{len(self.numbers):,} of {self.asked:,} queries are listed"
            f"{'' if first else ', spread evenly over all'}: ask for any other one by its values; the band holds "
            f"{self.workload.queries:,} answers at once, "
            + ("listed or not" if self.workload.queries == self.asked else "those that are listed"),
        )
