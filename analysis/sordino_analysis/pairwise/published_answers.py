"""The estimate of one form by the protocols of vectors and noisy numbers, with intervals by the law of its error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.protocol_plan import ProtocolPlan
from sordino_analysis.estimation.consistency import RELATIVE_GAP, nearest_histogram
from sordino_analysis.pairwise.error_moments import ErrorMoments
from sordino_analysis.pairwise.forms import planned_statistic
from sordino_analysis.pairwise.quadratic_error import QuadraticError
from sordino_analysis.pairwise.statistic_estimate import LEVEL, PairwiseEstimate, Provenance, Spread, published
from sordino_analysis.questions.linear.operators import Dense


@dataclass(frozen=True, eq=False, kw_only=True)
class PublishedAnswer:
    """A value of the form called `form`, and its error about the users who reported and about the population.

    `bias_bound` is what no histogram's bias exceeds, None where it is not known.
    """

    form: str
    value: float
    own: ErrorMoments
    population: ErrorMoments
    users: tuple[int, ...]
    bias_bound: float | None
    clipped: str | None = None


def publish_answer(plan: ProtocolPlan, answer: PublishedAnswer) -> PairwiseEstimate:
    """The estimate with intervals at the usual level, widened by the bias bound and cut to what can be."""
    bias = answer.bias_bound or 0.0
    own, population = (
        Spread.of(answer.value, QuadraticError(each), LEVEL, bias) for each in (answer.own, answer.population)
    )
    provenance = Provenance(
        target=plan.target,
        protocol=plan.protocol,
        users=answer.users,
        bias_bound=answer.bias_bound,
        clipped=answer.clipped,
    )
    forms = ((answer.form, answer.value),)
    return published(planned_statistic(plan), (own, population), forms, LEVEL, provenance)


def histogram_variance(matrix: Floats, histogram: Floats) -> float:
    """Var_h(q) for q = Wh. `matrix` W (k, k), `histogram` h (k,)."""
    values = matrix @ histogram
    return float(histogram @ values**2 - (histogram @ values) ** 2)


def plausible_histogram(operator: Floats, answers: Floats, noise: float) -> Floats:
    """The histogram h whose `operator` A·h (r, k) is nearest to the answers (r,) of total error variance `noise`."""
    return nearest_histogram(Dense(np.asarray(operator)), answers, RELATIVE_GAP * noise).histogram
