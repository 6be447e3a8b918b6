"""From a first round that estimates everything roughly to a second that asks one query: T = g(u) + 2λ(A − U_W).

The first round gives U, ĥ and so the query s = Wĥ. Every second answer is unbiased for it with variance V₂; their mean
A estimates h₂ᵀWĥ. One step of Newton's method would be λ = 1; the λ that is fixed with the plan weighs the errors

    Var = (1 − λ)²a + (1 − 2λ)²b + λ²c + (1 − f − λ)²e,   a = 4ζ/n₁, b = 2tr(ΣWΣW)/n₁², c = 4V₂/n₂

where e = 4Var_h(q)/(f(1 − f)n) is for users who are in one of the two rounds only, a share f in the first: the
statistic is that of all of them. So is what the split adds to b, where noise is small and few are in the first round:

    ((2 − 2f − (4 − 2f)λ)/(1 − f))²·(1 − f)tr(ΣWCW)/n₁² + ((1 − f − 2λ)/(1 − f))²·2(1 − f)²tr(CWCW)/n₁²

for the users' own covariance C = diag(h) − hhᵀ. If all are in both rounds, these are 0. With λ fixed before the first
round T is unbiased.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.pairwise.decoded_reports import DecodedReports
from sordino_analysis.pairwise.estimators import (
    LEVEL,
    LinearisedForm,
    PairwiseEstimate,
    assembled,
    both_errors,
    linearised,
    own_pairs,
    slope_variance,
)
from sordino_analysis.pairwise.quadratic_error import QuadraticError
from sordino_analysis.questions.pairwise import PairwiseStatistic


@dataclass(frozen=True)
class StepTerms:
    """a, b, c and e of the variance, of one population or added over several, and f, the share of the first round.

    `crossed` and `sampled` are what the split adds to b, of both noise and sampling and of sampling alone.
    """

    linear: float
    quadratic: float
    answers: float
    split: float
    first_share: float
    crossed: float = 0.0
    sampled: float = 0.0

    def variance(self, step: float) -> float:
        """Var for λ = `step`."""
        return (
            (1 - step) ** 2 * self.linear
            + (1 - 2 * step) ** 2 * self.quadratic
            + step**2 * self.answers
            + (1 - self.first_share - step) ** 2 * self.split
            + split_quadratic(self.first_share, step, self.crossed, self.sampled)
        )

    def best_step(self) -> float:
        """λ* of the least variance, which is a parabola in λ."""
        start, half, whole = self.variance(0.0), self.variance(0.5), self.variance(1.0)
        curvature = 2 * (start + whole - 2 * half)
        return (curvature - (whole - start)) / (2 * curvature)

    def __add__(self, other: StepTerms) -> StepTerms:
        return replace(
            self,
            linear=self.linear + other.linear,
            quadratic=self.quadratic + other.quadratic,
            answers=self.answers + other.answers,
            split=self.split + other.split,
            crossed=self.crossed + other.crossed,
            sampled=self.sampled + other.sampled,
        )


def split_quadratic(share: float, step: float, crossed: float, sampled: float) -> float:
    """What a split of the users adds to the quadratic part, for λ = `step`."""
    noise_and_split = (2 * (1 - share) - (4 - 2 * share) * step) / (1 - share)
    split_alone = (1 - share - 2 * step) / (1 - share)
    return noise_and_split**2 * crossed + split_alone**2 * sampled


def split_terms(noise: Floats, matrix: Floats, histogram: Floats, users: tuple[float, float]) -> tuple[float, float]:
    """(1 − f)tr(ΣWCW)/n₁² and 2(1 − f)²tr(CWCW)/n₁² for Σ = `noise` and n₁, n₂ = `users`."""
    first, second = users
    other = second / (first + second)
    own = matrix * histogram - np.outer(matrix @ histogram, histogram)
    crossed = float(((matrix @ noise) * own.T).sum())
    return other * max(crossed, 0.0) / first**2, 2 * other**2 * float((own * own.T).sum()) / first**2


@dataclass(frozen=True, eq=False)
class Answers:
    """The second round: `mean` A of n₂ = `users` answers, V₂ by type (k,), and whether the same users gave both."""

    mean: float
    variances: Floats
    users: int
    same_users: bool


def one_step_estimate(
    statistic: PairwiseStatistic,
    reports: DecodedReports,
    answers: Answers,
    step: float,
    *,
    target: str,
    protocol: str,
    level: float = LEVEL,
) -> PairwiseEstimate:
    """T and its intervals, for λ = `step`; raises NoStatistic as one round does."""
    users = reports.users if answers.same_users else reports.users + answers.users
    found = linearised(statistic, reports, target, level, users)
    pairs = _of_pairs(found.matrix, reports, answers) - reports.form(found.matrix)
    counted = 1.0 if target == "pairs" else (users - 1) / users
    value = found.value + 2 * step * counted * pairs
    return assembled(
        statistic,
        found,
        value,
        _errors(found, reports, answers, step),
        level,
        target=target,
        protocol=protocol,
        users=(reports.users, answers.users),
        warnings=(),
    )


def _of_pairs(matrix: Floats, reports: DecodedReports, answers: Answers) -> float:
    """A over pairs of different users: where the same users answer, their own pairs are taken out."""
    if not answers.same_users:
        return answers.mean
    return (reports.users * answers.mean - own_pairs(matrix, reports)) / (reports.users - 1)


def _errors(
    found: LinearisedForm, reports: DecodedReports, answers: Answers, step: float
) -> tuple[QuadraticError, QuadraticError]:
    """About the users who reported, and about the population."""
    own, population = both_errors(found.matrix, reports)
    first, second = reports.users, answers.users
    spread = 4.0 * slope_variance(found.matrix, reports)
    answered = step**2 * 4.0 * float(reports.plausible @ answers.variances) / second
    if answers.same_users:
        # Who skipped the second round is missing from h₂ by chance.
        split = step**2 * spread * max(1.0 / second - 1.0 / first, 0.0)
        sampled = spread / first + split
    else:
        share = first / (first + second)
        terms = split_terms(reports.covariance, found.matrix, reports.plausible, (first, second))
        split = (1 - share - step) ** 2 * spread * (1.0 / first + 1.0 / second)
        split += split_quadratic(share, step, *terms)
        sampled = spread * ((1 - step) ** 2 / first + step**2 / second)
        # 4λ²tr((Σ + C)WCW)/(n₁n₂): users of the second round are a sample of their own.
        crossed, alone = terms[0] * (1 + first / second), terms[1] * (1 + first / second) ** 2 / 2
        sampled += 4 * step**2 * (crossed + alone) * first / second
    turned = replace(own, turn=1 - 2 * step, stretch=1 - step)
    return (
        replace(turned, independent=answered + split),
        replace(
            turned, quadratic=population.quadratic, covariance=population.covariance, independent=answered + sampled
        ),
    )
