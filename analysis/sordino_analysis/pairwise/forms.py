"""A statistic as its protocols see it: rebuilt from a plan, as linear queries, and as one form at each reference."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.protocol_plan import ProtocolPlan
from sordino_analysis.pairwise.estimators import linear_form
from sordino_analysis.pairwise.form_kernel import Aim
from sordino_analysis.pairwise.references import reference_histograms
from sordino_analysis.pairwise.sealing import RoundQueries
from sordino_analysis.questions.pairwise import PairwiseStatistic, parse_statistic

# Eigenvalues below this share of the largest are rounding.
_NOTHING = 1e-12


def planned_statistic(plan: ProtocolPlan) -> PairwiseStatistic:
    """The statistic that the plan was made for."""
    return parse_statistic(plan.statistic).build()


def aims(statistic: PairwiseStatistic) -> tuple[Aim, ...]:
    """The form that an error of the statistic is to first order, at every reference histogram."""
    return tuple(aim_at(statistic, histogram) for histogram in reference_histograms(statistic.domain))


def aim_at(statistic: PairwiseStatistic, histogram: Floats) -> Aim:
    """The form that an error of the statistic is to first order, at this histogram (k,)."""
    values = np.array([histogram @ form.matrix @ histogram for form in statistic.forms])
    return Aim(linear_form(statistic, values), histogram)


def form_queries(statistic: PairwiseStatistic) -> RoundQueries:
    """The rows of all forms; where they are more than types, as many combinations of them as tell as much."""
    rows = np.vstack([form.matrix for form in statistic.forms])
    labels = tuple(f"{form.name}: row {cell + 1}" for form in statistic.forms for cell in range(statistic.size))
    if len(rows) > statistic.size:
        values, vectors = scipy.linalg.eigh(rows.T @ rows)
        kept = values > _NOTHING * values.max()
        rows = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
        labels = tuple(f"combination {number + 1} of the forms' rows" for number in range(len(rows)))
    return RoundQueries(statistic.name, statistic.domain, rows, labels)
