"""Simulate a search for common strings: which are found, and which of them users hold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.analyst.display import AnswersShown
from sordino_analysis.analyst.string_estimates import StringEstimate, estimate_strings
from sordino_analysis.analyst.string_plans import StringPlan
from sordino_analysis.analyst.users import Values, codes_of, rows_of
from sordino_analysis.answers.shown import ShownAnswers
from sordino_analysis.answers.table import AnswerTable
from sordino_analysis.arrays import Floats
from sordino_analysis.kinds.drawn_rounds import drawn_reports
from sordino_analysis.kinds.strings_document import true_shares
from sordino_analysis.percentages import percent
from sordino_analysis.vectorized.randomizers import draw_blanket
from sordino_analysis.vectorized.randomness import SeededRandomness


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class StringSimulation(AnswersShown):
    """What is found in the (n, width) `reports` of n users, and the truth, which only a simulation has.

    `held` are the true shares of what users hold, by kind and label. A plan for a shuffler has random reports, too.
    """

    plan: StringPlan
    reports: NDArray[np.uint8]
    held: dict[tuple[str, str], float]

    @property
    def blanket(self) -> int:
        """How many of the reports are random ones of a shuffler."""
        return 0 if self.plan.blanket is None else self.plan.blanket.reports

    @cached_property
    def estimate(self) -> StringEstimate:
        """The certified strings."""
        return estimate_strings(self.plan, self.reports, self.blanket)

    @property
    def truth(self) -> Floats:
        """(m,) the share of the users who hold each listed string; 0 for one that nobody holds."""
        rows = zip(self.estimate.kinds, self.estimate.strings, strict=True)
        return np.array([self.held.get(row, 0.0) for row in rows])

    @property
    def inside(self) -> NDArray[np.bool_]:
        """(m,) whether the interval of each listed string holds its share."""
        low, high = self.estimate.band.T
        return np.asarray((low <= self.truth) & (self.truth <= high))

    @property
    def missed(self) -> dict[str, float]:
        """Strings that are not certified and that more users hold than the share that is found with 90 %.

        Strings that are not shown, since they are below `least_share`, are not missed.
        """
        rows = zip(self.estimate.kinds, self.estimate.strings, self.estimate.certified, strict=True)
        listed = {(kind, label) for kind, label, certified in rows if certified}
        found = max(self.estimate.share_found, self.estimate.least_share)
        missed = {label: share for (kind, label), share in self.held.items() if (kind, label) not in listed}
        return {label: share for label, share in sorted(missed.items(), key=lambda each: -each[1]) if share >= found}

    @property
    def table(self) -> AnswerTable:
        """That of the estimate with `truth`, `error` and `inside`."""
        known: dict[str, list[Any]] = {
            "truth": self.truth.tolist(),
            "error": (self.estimate.uncut - self.truth).tolist(),
            "inside": self.inside.tolist(),
        }
        return self.estimate.table.with_columns(**known)

    def _shown(self) -> ShownAnswers:
        document = replace(self.estimate.document, columns=self.table.columns)
        return (
            replace(self.estimate, document=document)
            ._shown()
            .titled(f"Simulation of {self.plan.analyst.workload}", *self._notes())
        )

    def _notes(self) -> list[str]:
        inside = f"{int(self.inside.sum())} of {len(self.inside)} intervals hold the truth"
        rows = zip(self.estimate.strings, self.truth, self.estimate.certified, strict=True)
        nobody = [label for label, share, certified in rows if certified and not share]
        held = f"listed, and nobody holds: {', '.join(nobody)}" if nobody else "every string listed is held"
        if not self.missed:
            return [inside, held]
        label, share = next(iter(self.missed.items()))
        return [inside, held, f"the most common string that is not listed: {label}, {percent(share, 2)}"]


def simulate_strings(plan: StringPlan, values: Values, *, seed: int, strict: bool) -> StringSimulation:
    """One report of each user through the plan's own randomizer, and what is found in them; raises as `simulate`."""
    rows = rows_of(plan.domain, values)
    codes, randomness = codes_of(plan.domain, rows, strict=strict), SeededRandomness(seed)
    pages = [*drawn_reports(plan.device, codes, randomness)]
    if plan.blanket is not None:
        pages.append(draw_blanket(plan.device.randomizer, plan.blanket.reports, randomness))
    reports = np.concatenate(pages)
    return StringSimulation(plan=plan, reports=reports, held=true_shares(plan.domain, rows))
