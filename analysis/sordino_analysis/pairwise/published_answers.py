"""An answer with a normal interval, as the protocols of vectors and noisy values give it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.consistency import RELATIVE_GAP, nearest_histogram
from sordino_analysis.estimation.intervals import normal_quantile
from sordino_analysis.pairwise.protocol_plan import ProtocolPlan
from sordino_analysis.pairwise.statistic_estimate import LEVEL, PairwiseEstimate
from sordino_analysis.questions.linear.operators import Dense


@dataclass(frozen=True, eq=False)
class Answer:
    """A value of the form called `form`, and the law of its error.

    `variance` is that of what the randomizers added, `spread` Var_h(q) of q = Wh, with which one more user of a sample
    adds 4·spread/n about the population; `bias_bound` is what no histogram's bias exceeds, None where it is not known.
    """

    form: str
    value: float
    variance: float
    spread: float
    users: tuple[int, ...]
    bias_bound: float | None
    clipped: str | None = None


def publish_answer(plan: ProtocolPlan, answer: Answer) -> PairwiseEstimate:
    """The estimate with normal intervals at the usual level, widened by the bias bound."""
    quantile = normal_quantile(LEVEL)
    error = math.sqrt(answer.variance)
    in_population = math.sqrt(answer.variance + 4 * max(answer.spread, 0.0) / min(answer.users))
    bias = answer.bias_bound or 0.0
    own, population = (quantile * deviation + bias for deviation in (error, in_population))
    return PairwiseEstimate(
        value=answer.value,
        standard_error=error,
        lower=answer.value - own,
        upper=answer.value + own,
        population_standard_error=in_population,
        population_lower=answer.value - population,
        population_upper=answer.value + population,
        level=LEVEL,
        target=plan.target,
        protocol=plan.protocol,
        users=answer.users,
        forms=((answer.form, answer.value),),
        bias_bound=answer.bias_bound,
        clipped=answer.clipped,
        warnings=(),
    )


def histogram_variance(matrix: Floats, histogram: Floats) -> float:
    """Var_h(q) for q = Wh."""
    values = matrix @ histogram
    return float(histogram @ values**2 - (histogram @ values) ** 2)


def plausible_histogram(operator: Floats, answers: Floats, noise: float) -> Floats:
    """The histogram h whose `operator` A·h (r, k) is nearest to the answers (r,) of total error variance `noise`."""
    return nearest_histogram(Dense(np.asarray(operator)), answers, RELATIVE_GAP * noise).histogram
