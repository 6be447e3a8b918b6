"""A shuffler's random reports in the law of an answer: their types are drawn, and their truth does not move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.estimation.normality import predicted_coverage
from sordino_analysis.evaluation.contribution_law import ContributionLaw, Cumulants, Moments
from sordino_analysis.panel.exact_ends import Term, coverage_of_terms, cumulants_of_sum

# Laws whose spread differs by less are the same but for rounding.
_SAME = 1e-6


@dataclass(frozen=True, eq=False)
class RandomReports:
    """What `reports` random reports add to each answer: `laws` (Q,), with their mean moved to 0."""

    reports: int
    laws: Sequence[ContributionLaw | Moments]

    @classmethod
    def of(cls, estimator: LinearEstimator) -> RandomReports:
        """Those of a shuffled round: as reports of even types, stretched to their exact variance where it is another.

        Reports of tables and sets are those of even types; others have an even output of a drawn coin.
        """
        types = estimator.workload.operator.shape[1]
        laws = estimator.contribution_laws(np.full(types, 1 / types))
        variances = estimator.law.blanket().variance.tolist()
        return cls(estimator.blanket, [_centred(law, one) for law, one in zip(laws, variances, strict=True)])

    def term(self, query: int, weight: float, users: int) -> Term | None:
        """Their part of the answer to a query, (Σ of them)/users, times a weight; None where no law is listed."""
        law = self.laws[query]
        if not isinstance(law, ContributionLaw):
            return None
        return Term(weight * self.reports / users, self.reports, law, fixed=True)

    def error(self, query: int, users: int, of_report: Cumulants) -> Cumulants:
        """Of an answer of so many users, of each of whom `of_report` is known, with the random reports."""
        law = self.laws[query]
        moments = law if isinstance(law, Moments) else law.moments
        return cumulants_of_sum([(1.0, users, of_report), (self.reports / users, self.reports, moments.of_population)])


def _centred(law: ContributionLaw | Moments, variance: float) -> ContributionLaw | Moments:
    if isinstance(law, Moments):
        return law
    weights = law.chances @ (law.shares / law.shares.sum())
    values = law.values - float(law.values @ weights)
    own = float(values**2 @ weights)
    stretch = float(np.sqrt(variance / own)) if own > 0 and abs(variance / own - 1) > _SAME else 1.0
    truth: Floats = law.truth - float(law.truth @ law.shares / law.shares.sum())
    return ContributionLaw(stretch * values, law.chances, law.shares, stretch * truth)


def coverage_of_error(
    terms: Sequence[Term] | None, error: Cumulants, width: float, scatter: float, *, sampled: bool
) -> float:
    """How often an error with these cumulants, the sum of the `terms` if they are listed, is within ± `width`."""
    if error.variance <= 0:
        return 1.0
    if terms is not None:
        return coverage_of_terms(terms, np.array([-width, width]), sampled=sampled, scatter=scatter)
    return float(predicted_coverage(width / np.sqrt(error.variance), error.skewness, error.excess_kurtosis))
